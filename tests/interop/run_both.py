#!/usr/bin/env python3
"""Runs one client script against ternd and against nats-server and demands the same output.

    run_both.py TERND SCRIPT [CONFIG]

SCRIPT runs in a directory of its own, gets the URL of a fresh server with JetStream as its only argument and prints what
its client saw, one fact a line, nothing that differs from run to run. With CONFIG the server reads that file, in which
$DIR is the directory (with ca.pem, server.pem, server.key, client.pem, client.key in it) and $WEBSOCKET a free port, which
the script finds in its environment under WEBSOCKET_PORT. A missing client or reference server is a failure,
not a skip: tools/setup test installs all of them.
"""
import difflib, os, shutil, socket, subprocess, sys, tempfile

RUNNERS = {".py": ["python3"], ".mjs": ["node"], ".sh": ["bash"]}
TOOLS = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../build/tools"))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def make_certificates(directory):
    """An authority and what it signs, as files."""
    def openssl(*words, **more):
        subprocess.run(["openssl", *words], cwd=directory, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, **more)
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *new_key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "30", "-subj", "/CN=Tern Test CA")
    for name, alternative in (("server", "DNS:localhost,IP:127.0.0.1"), ("client", "DNS:alice.example")):
        openssl("req", "-new", *new_key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/O=Tern/CN={name}")
        with open(os.path.join(directory, "names"), "w") as file:
            file.write(f"subjectAltName={alternative}\n")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days",
                "30", "-extfile", "names", "-out", f"{name}.pem")


def run(server, script, config=None):
    port, directory = free_port(), tempfile.mkdtemp(prefix="tern-interop.")
    log = open(os.path.join(directory, "server.log"), "w+")
    words, websocket = [server, "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", directory], free_port()
    if config is not None:
        make_certificates(directory)
        with open(config) as template, open(os.path.join(directory, "server.conf"), "w") as file:
            file.write(template.read().replace("$DIR", directory).replace("$WEBSOCKET", str(websocket)))
        words += ["-c", os.path.join(directory, "server.conf")]
    process = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_until_ready(process, port, log)
        runner = RUNNERS[os.path.splitext(script)[1]]
        environment = dict(os.environ, NODE_PATH=f"{TOOLS}/node/node_modules", TERN_NODE_MODULES=f"{TOOLS}/node/node_modules",
                           XDG_CONFIG_HOME=directory, HOME=directory, WEBSOCKET_PORT=str(websocket),
                           NODE_EXTRA_CA_CERTS=os.path.join(directory, "ca.pem") if config else "", NATS_URL=f"nats://127.0.0.1:{port}")
        environment["PATH"] = f"{TOOLS}/venv/bin:{TOOLS}/bin:" + environment["PATH"]
        done = subprocess.run(runner + [script, f"nats://127.0.0.1:{port}"], env=environment, text=True, cwd=directory,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        return done.returncode, done.stdout
    finally:
        process.terminate()
        if process.wait(20) != 0:
            print(f"{server} ended with code {process.returncode}")
        log.close()
        shutil.rmtree(directory, ignore_errors=True)


def wait_until_ready(process, port, log):
    # The server says INFO to whoever connects once it listens; refused connections are tried again at once.
    for _ in range(200_000):
        try:
            with socket.create_connection(("127.0.0.1", port), 10) as s:
                assert s.recv(4) == b"INFO"
                return
        except ConnectionRefusedError:
            if process.poll() is not None:
                log.seek(0)
                sys.exit(f"the server ended at once:\n{log.read()}")
            os.sched_yield()
    sys.exit("the server does not listen")


def main():
    ternd, script = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    config = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else None
    reference = shutil.which("nats-server", path=f"{TOOLS}/venv/bin:" + os.environ["PATH"])
    if reference is None:
        sys.exit("nats-server is missing: run tools/setup test")
    expected_code, expected = run(reference, script, config)
    code, got = run(ternd, script, config)
    if expected_code != 0:
        sys.exit(f"the script fails against nats-server with code {expected_code}:\n{expected}")
    if code != 0 or got != expected:
        sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), got.splitlines(True), "nats-server", "ternd"))
        sys.exit(f"outputs differ (code {code})")
    print(f"{len(expected.splitlines())} lines, the same from both servers")


if __name__ == "__main__":
    main()
