#!/usr/bin/env python3
"""The same load on two servers, turn by turn: messages per CPU second of the server, and the ratio.

    side_by_side.py TERN_COMMAND SERVER_A SERVER_B [-r ROUNDS] [-s SCENARIO,...] [--a-config FILE] [--b-config FILE]

TERN_COMMAND is the `tern` program, which makes the load; both servers listen on loopback with a fresh store. Each scenario runs
A B A B ...; the line shows the medians and B/A with its range over the rounds. CPU time is that of the server process (user and
system), so the figures say little about latency and nothing about the client. Each line names the durability of what was
acknowledged. On a shared machine trust the ratios of one run.
"""
import argparse, os, shutil, socket, statistics, subprocess, tempfile

SCENARIOS = {  # name: (arguments of `tern bench`, messages)
    "publish-16": (["pub", "bench", "--size", "16", "--msgs", "2000000"], 2_000_000),
    "publish-128": (["pub", "bench", "--size", "128", "--msgs", "1000000"], 1_000_000),
    "stream-file": (["js", "pub", "bench.file", "--create", "--size", "128", "--msgs", "200000", "--batch", "500"], 200_000),
    "stream-file-1": (["js", "pub", "bench.file", "--create", "--size", "128", "--msgs", "3000", "--batch", "1"], 3_000),
    "stream-memory": (["js", "pub", "bench.memory", "--create", "--storage", "memory", "--size", "128", "--msgs", "300000"], 300_000),
}


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def once(tern, server, config, arguments, messages):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    directory = tempfile.mkdtemp(prefix="tern-bench.")
    extra = ["-c", config] if config else []
    process = subprocess.Popen([server, "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", directory] + extra,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        url = f"nats://127.0.0.1:{port}"
        while subprocess.run([tern, "-s", url, "rtt"], capture_output=True).returncode != 0:
            if process.poll() is not None:
                raise RuntimeError(f"{server} ended at once")
        before = cpu_seconds(process.pid)
        done = subprocess.run([tern, "-s", url, "bench"] + arguments, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)
        durability = next((line.split(":", 1)[1].strip() for line in done.stdout.splitlines() if "urability" in line and ":" in line), "nothing is stored")
        return messages / max(cpu_seconds(process.pid) - before, 0.01), durability
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(directory, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tern"), parser.add_argument("a"), parser.add_argument("b")
    parser.add_argument("-r", type=int, default=3)
    parser.add_argument("-s", default=",".join(SCENARIOS))
    parser.add_argument("--a-config"), parser.add_argument("--b-config")
    asked = parser.parse_args()
    print(f"{'scenario':16} {'A msg/cpu_s':>12} {'B msg/cpu_s':>12} {'B/A':>6}  range")
    for name in asked.s.split(","):
        arguments, messages = SCENARIOS[name]
        rounds = [(once(asked.tern, asked.a, asked.a_config, arguments, messages), once(asked.tern, asked.b, asked.b_config, arguments, messages))
                  for _ in range(asked.r)]
        ratios = sorted(b[0] / a[0] for a, b in rounds)
        a, b = (statistics.median(each[side][0] for each in rounds) for side in (0, 1))
        print(f"{name:16} {a:12.0f} {b:12.0f} {statistics.median(ratios):6.2f}  {ratios[0]:.2f}-{ratios[-1]:.2f}"
              f"   A: {rounds[0][0][1]}; B: {rounds[0][1][1]}", flush=True)


if __name__ == "__main__":
    main()
