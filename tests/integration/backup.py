#!/usr/bin/env python3
"""`nats stream backup` and `restore` between ternd and nats-server, both ways, and from each to itself.

    backup.py TERND

Sequences, times, headers, interior deletes, and consumers with what is pending and was redelivered must come over.
"""
import asyncio, os, shutil, sys, tempfile

import nats

import legacy
from peer import Server, api, describe, differences, populate, pull, reference_server, restore, snapshot, store


async def publish_meanwhile(nc, stop):
    sent = 0
    while not stop.is_set():
        await store(nc, "orders.meanwhile", b"while it runs")
        sent += 1
    return sent


async def move(source, target, names, folder):
    async with await nats.connect(source.url) as nc:
        before = {name: await describe(nc, name) for name in names}
    for name in names:
        if name == "MEMORY":  # which the command does not back up
            async with await nats.connect(source.url) as one, await nats.connect(target.url) as other:
                done = await restore(other, name, *await snapshot(one, name, chunk_size=1024))
                assert "error" not in done, done
            continue
        source.nats("stream", "backup", name, f"{folder}/{name}", "--no-progress", "--consumers")
        target.nats("stream", "restore", f"{folder}/{name}", "--no-progress")
    problems = []
    async with await nats.connect(target.url) as nc:
        for name in names:
            # The peer does not keep the time of a last message that was deleted.
            state = before[name]["state"]
            ignore = {".state.last_ts"} if state["last_seq"] not in before[name]["messages"] else set()
            problems += [name + line for line in differences(before[name], await describe(nc, name), ignore=ignore)]
        # The consumers work on: what was pending comes again with its count, then what is new.
        again = await pull(nc, "WORK", "even", 1)
        assert again[0].data.startswith(b"job"), again[0]
    return problems


async def consistent_while_publishing(server, other, folder):
    """Publishes during a backup stay out of it; what was there before is all in it."""
    async with await nats.connect(server.url) as nc:
        state = (await api(nc, "STREAM.INFO.ORDERS"))["state"]
        stop = asyncio.Event()
        publishing = asyncio.create_task(publish_meanwhile(nc, stop))
        await asyncio.to_thread(server.nats, "stream", "backup", "ORDERS", f"{folder}/busy", "--no-progress")
        stop.set()
        assert await publishing > 0
    other.nats("stream", "restore", f"{folder}/busy", "--no-progress")
    async with await nats.connect(other.url) as nc:
        restored = (await api(nc, "STREAM.INFO.ORDERS"))["state"]
    assert restored["first_seq"] == state["first_seq"] and restored["last_seq"] >= state["last_seq"], restored
    gaps = restored["last_seq"] - restored["first_seq"] + 1 - restored["messages"]
    assert gaps == state["last_seq"] - state["first_seq"] + 1 - state["messages"], (restored, state)


async def older_backups(ternd, peer, directory):
    """Backups of servers before 2.15, of which the directory of a stream is the content."""
    source = Server(peer, f"{directory}/source")
    async with await nats.connect(source.url) as nc:
        names = await populate(nc)
        before = {name: await describe(nc, name) for name in names}
    source.stop()
    problems = []
    for binary, with_index in ((ternd, True), (ternd, False), (peer, True)):
        target = Server(binary, f"{directory}/{os.path.basename(binary)}-{with_index}")
        async with await nats.connect(target.url) as nc:
            for name in names:
                if not with_index and name in ("LIMITED", "KV_profile"):
                    continue  # what limits removed is told by the index alone
                archive = legacy.archive(f"{source.directory}/store/jetstream/$G/streams/{name}", with_index)
                answer = {"config": before[name]["config"], "state": {}}
                done = await restore(nc, name, answer, archive)
                assert "error" not in done, (binary, name, done)
                ignore = {".state.last_ts"} if not before[name]["messages"] or name == "ORDERS" else set()
                lines = differences(before[name], await describe(nc, name), ignore=ignore)
                if binary != peer:
                    problems += [name + line for line in lines]
        target.stop()
    print(f"older backups: {len(names)} streams, {len(problems)} differences")
    for line in problems:
        print("   ", line)
    return bool(problems)


async def main():
    ternd, peer = os.path.abspath(sys.argv[1]), reference_server()
    directory = tempfile.mkdtemp(prefix="tern-backup.")
    failed = False
    try:
        failed |= await older_backups(ternd, peer, f"{directory}/older")
        for number, (first, second) in enumerate([(ternd, peer), (peer, ternd), (ternd, ternd)]):
            source = Server(first, f"{directory}/{number}/source")
            target = Server(second, f"{directory}/{number}/target")
            async with await nats.connect(source.url) as nc:
                names = await populate(nc, memory=True)
            problems = await move(source, target, names, f"{directory}/{number}")
            print(f"{os.path.basename(first)} to {os.path.basename(second)}: {len(names)} streams, {len(problems)} differences")
            for line in problems:
                print("   ", line)
            failed |= bool(problems)
            target.nats("stream", "rm", "ORDERS", "-f")
            await consistent_while_publishing(source, target, f"{directory}/{number}")
            # What was restored survives a restart.
            async with await nats.connect(target.url) as nc:
                before = {name: await describe(nc, name) for name in names if name != "MEMORY"}
            target.stop()
            target.start()
            async with await nats.connect(target.url) as nc:
                for name, expected in before.items():
                    for line in differences(expected, await describe(nc, name)):
                        print("    after a restart", name + line)
                        failed = True
            source.stop()
            target.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    sys.exit(failed)


if __name__ == "__main__":
    asyncio.run(main())
