"""nats-py over TLS, with a certificate of its own where the server demands one, which may name its user (core 1.5, 3.7)."""
import asyncio
import json
import ssl
import sys

import nats


def context(with_certificate):
    made = ssl.create_default_context(cafile="ca.pem")
    if with_certificate:
        made.load_cert_chain("client.pem", "client.key")
    return made


def maps():
    return "verify_and_map: true" in open("server.conf").read()


async def talk(url, tls):
    errors = []

    async def on_error(error):
        errors.append(type(error).__name__)

    connection = await nats.connect(url, tls=tls, tls_hostname="localhost", error_cb=on_error, max_reconnect_attempts=0,
                                    allow_reconnect=False, connect_timeout=5)
    done = asyncio.get_running_loop().create_future()
    received = []

    async def on_message(message):
        received.append(len(message.data))
        if len(received) == 3:
            done.set_result(None)

    if maps():
        told = json.loads((await connection.request("$SYS.REQ.USER.INFO", timeout=5)).data)["data"]
        print("user", told["user"], "of", told["account"])
    await connection.subscribe("t.*", cb=on_message)
    for size in (0, 10, 900_000):
        await connection.publish("t.x", b"x" * size)
    await asyncio.wait_for(done, 20)
    print("received", received)
    stream = connection.jetstream()
    await stream.add_stream(name="S", subjects=["s.>"])
    print("stored", (await stream.publish("s.a", b"1")).seq)
    await connection.close()
    print("closed", errors)


async def main():
    url = sys.argv[1].replace("nats://", "tls://")
    demanded = maps() or "verify: true" in open("server.conf").read()
    if demanded:
        try:
            await talk(url, context(False))
            print("connected without a certificate")
        except Exception as error:
            print("refused without a certificate")
    await talk(url, context(demanded))
    try:
        await talk(url, ssl.create_default_context())
        print("trusted a stranger")
    except Exception as error:
        print("does not trust a stranger")


asyncio.run(main())
