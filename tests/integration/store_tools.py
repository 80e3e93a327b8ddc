#!/usr/bin/env python3
"""`tern store verify` and `repair` on a store that ternd has written and that is damaged behind its back.

    store_tools.py TERND TERN
"""
import asyncio, hashlib, json, os, shutil, subprocess, sys, tempfile

import nats

from peer import Server, api, describe, make_stream, populate, store


def run(tern, *arguments, expect=0):
    done = subprocess.run([tern, "store", *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    if done.returncode != expect:
        sys.exit(f"tern store {' '.join(arguments)} ended with {done.returncode}, not {expect}:\n{done.stdout}{done.stderr}")
    return done


def files_of(directory):
    found = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            with open(os.path.join(folder, name), "rb") as f:
                found[os.path.join(folder, name)] = hashlib.sha256(f.read()).hexdigest()
    return found


def flip(directory, needle):
    """Flips a bit of these bytes in the segment that has them."""
    for path in files_of(directory):
        if not path.endswith(".seg"):
            continue
        with open(path, "r+b") as f:
            content = f.read()
            at = content.find(needle)
            if at >= 0:
                f.seek(at + 3)
                f.write(bytes([content[at + 3] ^ 4]))
                return path, at
    sys.exit(f"no segment has {needle}")


async def main():
    ternd, tern = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    directory = tempfile.mkdtemp(prefix="tern-store.")
    try:
        server = Server(ternd, directory)
        where = f"{directory}/store"
        async with await nats.connect(server.url) as nc:
            names = await populate(nc)
            before = {name: await describe(nc, name) for name in names}
        assert "in use" in run(tern, "verify", where, expect=1).stderr
        server.stop()

        whole = json.loads(run(tern, "verify", where, "-j").stdout)
        assert whole["whole"] and not whole["damaged"], whole
        counts = {line["stream"]: line["messages"] for line in whole["streams"]}
        assert counts == {name: len(before[name]["messages"]) for name in names}, counts

        victims = {}
        for number in (17, 120, 121, 250):
            path, at = flip(where, b"order %d " % number)
            victims[number] = (path, at)
        state = files_of(where)
        report = json.loads(run(tern, "verify", where, "-j", expect=1).stdout)
        assert files_of(where) == state, "verify has changed something"
        assert not report["whole"] and report["damaged_messages"] == 4, report
        for line in report["damaged"]:
            path, at = victims[line["first_seq"]]
            assert line["stream"] == "ORDERS" and line["file"] == path, line
            assert line["offset"] < at < line["offset"] + line["size"], (line, at)
            assert line["subject"] == f"orders.{line['first_seq'] % 7}", line
        people = run(tern, "verify", where, expect=1)
        assert "damaged: $G > ORDERS sequence 17 (orders.3)" in people.stdout and "4 messages" in people.stderr, people

        repaired = json.loads(run(tern, "repair", where, "-j").stdout)
        assert repaired["damaged_messages"] == 4 and os.path.isdir(repaired["copies"]), repaired
        copies = files_of(repaired["copies"])
        for path, _ in victims.values():
            kept = repaired["copies"] + path[len(f"{where}/jetstream"):]
            assert copies[kept] == state[path], kept
        again = json.loads(run(tern, "verify", where, "-j").stdout)
        assert again["whole"], again
        assert any(line["lost_before"] for line in again["streams"]), again

        server.start()
        async with await nats.connect(server.url) as nc:
            lost = (await api(nc, "STREAM.INFO.ORDERS"))["state"]["lost"]["msgs"]
            assert lost == sorted(victims), lost
            for name in names:
                expected = before[name]["messages"]
                for number, message in expected.items():
                    if name == "ORDERS" and number in victims:
                        continue
                    got = (await api(nc, f"STREAM.MSG.GET.{name}", {"seq": number}))["message"]
                    assert got == message, (name, number, got)
            await store(nc, "orders.1", b"and on it goes")
        server.stop()

        os.remove(f"{where}/jetstream/streams/$G/WORK/" + os.listdir(f"{where}/jetstream/streams/$G/WORK")[0] + "/state.a")
        assert "is made anew" in run(tern, "verify", where).stdout
        assert "no store" in run(tern, "verify", directory + "/nowhere", expect=1).stderr
        print("verify and repair: as they say")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    asyncio.run(main())
