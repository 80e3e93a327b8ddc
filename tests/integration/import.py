#!/usr/bin/env python3
"""`tern store import`: directories of nats-server under several configurations become a store of ternd.

    import.py TERND TERN

What nats-server said about its streams, or says when it is started again on its directory, is what ternd must say.
"""
import asyncio, json, os, shutil, signal, subprocess, sys, tempfile

import nats

from peer import Server, api, describe, differences, make_stream, populate, reference_server, store

KEY = "a key that nobody would guess"


def run(tern, *arguments, expect=0):
    done = subprocess.run([tern, "store", *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    if done.returncode != expect:
        sys.exit(f"tern store {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


async def fill(url, compress):
    async with await nats.connect(url) as nc:
        names = await populate(nc)
        if compress:  # blocks are compressed when they are full
            await make_stream(nc, "SQUEEZED", ["squeezed.>"], compression="s2", max_bytes=50_000_000)
            for n in range(900):
                await store(nc, f"squeezed.{n % 5}", (b"the same words again and again, number %d. " % n) * 900)
            for n in range(100, 140):
                await api(nc, "STREAM.MSG.DELETE.SQUEEZED", {"seq": n, "no_erase": True})
            names.append("SQUEEZED")
    return names


async def snapshot_of(server, names):
    async with await nats.connect(server.url) as nc:
        return {name: await describe(nc, name) for name in names}


async def case(title, ternd, tern, directory, jetstream="", how=signal.SIGTERM, key=None, compress=False, tear=False):
    source = Server(reference_server(), f"{directory}/source", jetstream)
    names = await fill(source.url, compress)
    before = await snapshot_of(source, names)
    source.stop(how)
    if tear:  # the last record of a block was cut in the middle
        blocks = f"{source.directory}/store/jetstream/$G/streams/ORDERS/msgs"
        last = max((f for f in os.listdir(blocks) if f.endswith(".blk")), key=lambda f: int(f[:-4]))
        with open(f"{blocks}/{last}", "ab") as f:
            f.write(b"\x50\x00\x00\x00half a record")
    restarted = before
    if how != signal.SIGTERM:  # what it makes of its own directory, which it changes: a copy
        shutil.copytree(source.directory, f"{directory}/again")
        again = Server(reference_server(), f"{directory}/again", jetstream)
        restarted = await snapshot_of(again, names)
        again.stop()
    arguments = [f"{source.directory}/store", *(["--key", key] if key else [])]
    run(tern, "import", *arguments, "--check")
    lines = run(tern, "import", *arguments, "--to", f"{directory}/target/store", "-j").stdout.splitlines()
    reported = {line["stream"]: line for line in map(json.loads, lines)}
    assert set(reported) == set(names), reported.keys()
    target = Server(ternd, f"{directory}/target")
    after = await snapshot_of(target, names)
    target.stop()
    problems = []
    for name in names:
        ignore = {".state.last_ts"} if before[name]["state"]["last_seq"] not in before[name]["messages"] else set()
        # After a kill a limit's removals are nowhere on its disk. It must be as it was, or as nats-server makes it.
        different = differences(before[name], after[name], ignore=ignore)
        if different and differences(restarted[name], after[name], ignore=ignore):
            problems += [name + line for line in different]
        if reported[name]["messages"] < len(before[name]["messages"]):
            problems.append(f"{name}: reported {reported[name]['messages']} messages of {len(before[name]['messages'])}")
    if tear and not reported["ORDERS"]["problems"]:
        problems.append("the torn record was not told")
    print(f"{title}: {len(names)} streams, {len(problems)} differences")
    for line in problems:
        print("   ", line)
    return bool(problems), source


async def main():
    ternd, tern = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    directory = tempfile.mkdtemp(prefix="tern-import.")
    failed = False
    try:
        chacha, aes = f'key: "{KEY}"\ncipher: chachapoly', f'key: "{KEY}"\ncipher: aes'
        cases = [("plain", dict()), ("killed", dict(how=signal.SIGKILL)), ("killed in a write", dict(how=signal.SIGKILL, tear=True)),
                 ("compressed", dict(compress=True)), ("ChaCha20", dict(jetstream=chacha, key=KEY, compress=True)),
                 ("AES", dict(jetstream=aes, key=KEY)), ("AES, killed", dict(jetstream=aes, key=KEY, how=signal.SIGKILL))]
        for number, (title, how) in enumerate(cases):
            bad, source = await case(title, ternd, tern, f"{directory}/{number}", **how)
            failed |= bad
            if how.get("key"):
                wrong = run(tern, "import", f"{source.directory}/store", "--check", expect=1)
                assert "is encrypted" in wrong.stdout, wrong.stdout
                wrong = run(tern, "import", f"{source.directory}/store", "--check", "--key", "another", expect=1)
                assert "the key does not open it" in wrong.stdout, wrong.stdout
            if number:
                shutil.rmtree(f"{directory}/{number}")
        # What cannot be imported says why, and leaves the store as it was.
        again = run(tern, "import", f"{directory}/0/source/store", "--to", f"{directory}/0/target/store", expect=1)
        assert "has a stream of this name" in again.stdout, again.stdout
        assert "is a store of Tern" in run(tern, "import", f"{directory}/0/target/store", "--check", expect=2).stderr
        assert "holds no streams" in run(tern, "import", directory, "--check", expect=1).stderr
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    sys.exit(failed)


if __name__ == "__main__":
    asyncio.run(main())
