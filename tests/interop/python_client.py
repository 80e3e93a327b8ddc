"""nats-py: Core, request-reply, a queue group, a stream, a pull consumer with every kind of acknowledgement."""
import asyncio, sys

import nats
from nats.errors import NoRespondersError, TimeoutError
from nats.js.api import AckPolicy, ConsumerConfig, StreamConfig
from nats.js.errors import APIError, NotFoundError


async def core(nc):
    sub = await nc.subscribe("greet.*")
    await nc.publish("greet.joe", b"hello", headers={"Lang": "en"})
    await nc.flush()
    message = await sub.next_msg(timeout=5)
    print("core", message.subject, message.data, dict(message.headers))

    async def answer(request):
        await request.respond(b"re:" + request.data)
    await nc.subscribe("service", cb=answer)
    print("request", (await nc.request("service", b"one", timeout=5)).data)
    try:
        await nc.request("nobody", b"", timeout=5)
    except NoRespondersError:
        print("no responders")

    got, all_there = [0, 0, 0], asyncio.Event()

    def worker(n):
        async def take(_):
            got[n] += 1
            if sum(got) == 60:
                all_there.set()
        return take
    for n in range(3):
        await nc.subscribe("jobs", queue="workers", cb=worker(n))
    await nc.flush()
    for n in range(60):
        await nc.publish("jobs", str(n).encode())
    await asyncio.wait_for(all_there.wait(), 5)
    print("queue group", sum(got), all(n > 0 for n in got))


async def jetstream(nc):
    js = nc.jetstream(timeout=5)
    await js.add_stream(StreamConfig(name="ORDERS", subjects=["orders.>"]))
    for n in range(1, 7):
        ack = await js.publish(f"orders.{n}", f"order {n}".encode(), headers={"Nats-Msg-Id": f"id-{n}"})
        print("stored", ack.stream, ack.seq, bool(ack.duplicate))
    again = await js.publish("orders.1", b"order 1", headers={"Nats-Msg-Id": "id-1"})
    print("duplicate", again.seq, again.duplicate)
    try:
        await js.publish("orders.1", b"x", headers={"Nats-Expected-Last-Sequence": "3"})
    except APIError as problem:
        print("refused", problem.code, problem.err_code, problem.description)

    info = await js.stream_info("ORDERS")
    print("stream", info.state.messages, info.state.first_seq, info.state.last_seq, info.state.bytes)
    stored = await js.get_msg("ORDERS", 3)
    print("message 3", stored.subject, stored.data, stored.headers)

    await js.add_consumer("ORDERS", ConsumerConfig(durable_name="work", ack_policy=AckPolicy.EXPLICIT, max_deliver=3))
    pull = await js.pull_subscribe_bind("work", "ORDERS")
    one, two, three, four, five, six = await pull.fetch(6, timeout=5)
    await one.ack()
    await two.ack_sync(timeout=5)
    await three.nak()
    await four.term()
    await five.in_progress()
    await six.nak(delay=0.05)
    again = await pull.fetch(1, timeout=5)
    print("redelivered", again[0].subject, again[0].metadata.num_delivered)
    await again[0].ack_sync()
    later = await pull.fetch(1, timeout=5)
    print("redelivered later", later[0].subject, later[0].metadata.num_delivered, later[0].metadata.num_pending)
    await later[0].ack_sync()
    await five.ack_sync()
    state = await js.consumer_info("ORDERS", "work")
    print("consumer", state.num_ack_pending, state.num_pending, state.num_redelivered, state.ack_floor.stream_seq)
    try:
        await pull.fetch(1, timeout=0.2)
    except TimeoutError:
        print("nothing more")

    print("deleted", await js.delete_consumer("ORDERS", "work"), await js.purge_stream("ORDERS"))
    print("streams", [s.config.name for s in await js.streams_info()])
    await js.delete_stream("ORDERS")
    try:
        await js.stream_info("ORDERS")
    except NotFoundError as problem:
        print("gone", problem.code, problem.err_code, problem.description)


async def main():
    nc = await nats.connect(sys.argv[1], connect_timeout=5)
    await core(nc)
    await jetstream(nc)
    await nc.flush()  # a drain would wait for somebody to take what the workers hold
    await nc.close()
    print("closed")


asyncio.run(main())
