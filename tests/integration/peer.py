"""What the tests of backup and import share: servers of both kinds, streams worth moving, and what a stream is made of.

No test sleeps: it asks until the answer is there.
"""
import asyncio, base64, json, os, shutil, signal, socket, subprocess, sys, tempfile

TOOLS = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../build/tools"))
NATS = f"{TOOLS}/bin/nats"


def reference_server():
    found = shutil.which("nats-server", path=f"{TOOLS}/venv/bin:" + os.environ["PATH"])
    if found is None:
        sys.exit("nats-server is missing: run tools/setup test")
    return found


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A server with JetStream in a directory of its own. `jetstream`: further lines of that block."""

    def __init__(self, binary, directory, jetstream="", domain=None):
        self.binary, self.directory, self.jetstream = binary, directory, jetstream
        os.makedirs(directory, exist_ok=True)
        self.start()

    def start(self):
        self.port = free_port()
        config = os.path.join(self.directory, "server.conf")
        with open(config, "w") as f:
            f.write(f'listen: "127.0.0.1:{self.port}"\nmax_payload: 4MB\n'
                    f'jetstream {{ store_dir: "{self.directory}/store"\n{self.jetstream}\n}}\n')
        self.log = open(os.path.join(self.directory, "server.log"), "a+")
        self.process = subprocess.Popen([self.binary, "-c", config], stdout=self.log, stderr=subprocess.STDOUT)
        for _ in range(400_000):
            try:
                with socket.create_connection(("127.0.0.1", self.port), 10) as s:
                    assert s.recv(4) == b"INFO"
                    return
            except ConnectionRefusedError:
                if self.process.poll() is not None:
                    self.log.seek(0)
                    sys.exit(f"the server ended at once:\n{self.log.read()}")
                os.sched_yield()
        sys.exit("the server does not listen")

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait(60)
        self.log.close()

    @property
    def url(self):
        return f"nats://127.0.0.1:{self.port}"

    def nats(self, *arguments):
        done = subprocess.run([NATS, "-s", self.url, *arguments], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120,
                              env=dict(os.environ, XDG_CONFIG_HOME=self.directory, HOME=self.directory))
        if done.returncode != 0:
            sys.exit(f"nats {' '.join(arguments)} failed:\n{done.stdout}")
        return done.stdout


async def api(nc, operation, body=None):
    reply = await nc.request("$JS.API." + operation, b"" if body is None else json.dumps(body).encode(), timeout=30)
    answer = json.loads(reply.data)
    if "error" in answer:
        raise RuntimeError(f"{operation}: {answer['error']}")
    return answer


async def make_stream(nc, name, subjects, **config):
    await api(nc, f"STREAM.CREATE.{name}", {"name": name, "subjects": subjects, **config})


async def store(nc, subject, payload=b"", headers=None):
    reply = await nc.request(subject, payload, timeout=30, headers=headers)
    answer = json.loads(reply.data)
    assert "error" not in answer, answer
    return answer["seq"]


async def make_consumer(nc, stream, name, **config):
    config = {"durable_name": name, "name": name, "ack_policy": "explicit", **config}
    await api(nc, f"CONSUMER.CREATE.{stream}.{name}", {"stream_name": stream, "config": config, "action": "create"})


async def pull(nc, stream, consumer, batch):
    inbox = nc.new_inbox()
    sub = await nc.subscribe(inbox)
    await nc.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}",
                     json.dumps({"batch": batch, "expires": 10_000_000_000}).encode(), reply=inbox)
    got = [await sub.next_msg(timeout=20) for _ in range(batch)]
    await sub.unsubscribe()
    return got


async def populate(nc, memory=False, limits=True):
    """Streams of every kind. Returns their names."""
    await make_stream(nc, "ORDERS", ["orders.>"], duplicate_window=120_000_000_000)
    for n in range(1, 301):
        headers = {"Nats-Msg-Id": f"id-{n}", "Kind": "a: b"} if n % 3 == 0 else None
        await store(nc, f"orders.{n % 7}", b"order %d " % n + b"x" * (n % 50), headers)
    await store(nc, "orders.empty")
    await store(nc, "orders.large", os.urandom(700_000))
    await store(nc, "orders.large", b"repeats " * 90_000)
    for n in (1, 2, 5, 50, 51, 52, 53, 200, 303):
        await api(nc, "STREAM.MSG.DELETE.ORDERS", {"seq": n, "no_erase": n % 2 == 0})
    await make_consumer(nc, "ORDERS", "worker", ack_wait=3600_000_000_000, max_deliver=5, description="half way")
    got = await pull(nc, "ORDERS", "worker", 20)
    for at, message in enumerate(got):
        if at < 5 or at in (7, 9):
            await nc.request(message.reply, b"+ACK", timeout=10)
        elif at == 11:
            await nc.request(message.reply, b"+TERM", timeout=10)
        elif at in (6, 8):
            await nc.request(message.reply, b"-NAK", timeout=10)
    for message in await pull(nc, "ORDERS", "worker", 2):
        await nc.request(message.reply, b"+WPI", timeout=10)
    await make_consumer(nc, "ORDERS", "filtered", filter_subjects=["orders.1", "orders.2"], deliver_policy="last_per_subject")
    await make_consumer(nc, "ORDERS", "fresh", filter_subject="orders.3")
    await make_consumer(nc, "ORDERS", "none", ack_policy="none")
    await pull(nc, "ORDERS", "none", 30)
    await make_consumer(nc, "ORDERS", "all", ack_policy="all", ack_wait=3600_000_000_000)
    await nc.request((await pull(nc, "ORDERS", "all", 12))[8].reply, b"+ACK", timeout=10)

    await make_stream(nc, "WORK", ["work.*"], retention="workqueue")
    for n in range(40):
        await store(nc, f"work.{n % 2}", b"job %d" % n)
    await make_consumer(nc, "WORK", "even", filter_subject="work.0", ack_wait=3600_000_000_000)
    for at, message in enumerate(await pull(nc, "WORK", "even", 12)):
        if at not in (0, 3, 4):
            await nc.request(message.reply, b"+ACK", timeout=10)

    await make_stream(nc, "INTEREST", ["interest.*"], retention="interest")
    await make_consumer(nc, "INTEREST", "one", filter_subject="interest.1", ack_wait=3600_000_000_000)
    await make_consumer(nc, "INTEREST", "every", ack_wait=3600_000_000_000)
    for n in range(30):
        await store(nc, f"interest.{n % 3}", b"event %d" % n)
    for consumer, acked in (("one", 6), ("every", 14)):
        for message in (await pull(nc, "INTEREST", consumer, 9 if consumer == "one" else 20))[:acked]:
            await nc.request(message.reply, b"+ACK", timeout=10)

    await make_stream(nc, "KV_profile", ["$KV.profile.>"], max_msgs_per_subject=5, discard="new", allow_rollup_hdrs=True,
                      deny_delete=True, allow_direct=True)
    for n in range(90):
        await store(nc, f"$KV.profile.key{n % 9}", b"value %d" % n)
    await store(nc, "$KV.profile.key3", b"", {"KV-Operation": "DEL"})
    await store(nc, "$KV.profile.key4", b"", {"KV-Operation": "PURGE", "Nats-Rollup": "sub"})

    await make_stream(nc, "OBJ_files", ["$O.files.C.>", "$O.files.M.>"], allow_rollup_hdrs=True, allow_direct=True,
                      discard="new")
    for part in range(9):
        await store(nc, "$O.files.C.one", bytes([part]) * 128_000)
    await store(nc, "$O.files.M.b25l", b'{"name":"one"}', {"Nats-Rollup": "sub"})

    await make_stream(nc, "SHORT", ["short"], allow_msg_ttl=True)
    for n in range(10):
        await store(nc, "short", b"lives %d" % n, {"Nats-TTL": "1h" if n % 2 else "never"})

    await make_stream(nc, "EMPTIED", ["emptied"])
    for n in range(12):
        await store(nc, "emptied", b"gone")
    await api(nc, "STREAM.PURGE.EMPTIED")
    names = ["ORDERS", "WORK", "INTEREST", "KV_profile", "OBJ_files", "SHORT", "EMPTIED"]
    if limits:
        await make_stream(nc, "LIMITED", ["limited.>"], max_msgs=25)
        for n in range(60):
            await store(nc, f"limited.{n}", b"%d" % n)
        await api(nc, "STREAM.MSG.DELETE.LIMITED", {"seq": 45})
        names.append("LIMITED")
    if memory:
        await make_stream(nc, "MEMORY", ["memory"], storage="memory")
        for n in range(20):
            await store(nc, "memory", b"m%d" % n)
        await api(nc, "STREAM.MSG.DELETE.MEMORY", {"seq": 7})
        await make_consumer(nc, "MEMORY", "reader", ack_wait=3600_000_000_000)
        for message in (await pull(nc, "MEMORY", "reader", 6))[:3]:
            await nc.request(message.reply, b"+ACK", timeout=10)
        names.append("MEMORY")
    return names


async def describe(nc, name):
    """All that a stream is: configuration, state, messages, consumers."""
    info = await api(nc, f"STREAM.INFO.{name}", {"deleted_details": True})
    config, state = info["config"], info["state"]
    config["metadata"] = {k: v for k, v in config.get("metadata", {}).items() if k == "_nats.req.level"}
    deleted = set(state.get("deleted") or [])
    messages = {}
    for n in range(state["first_seq"], state["last_seq"] + 1):
        if n not in deleted:
            messages[n] = (await api(nc, f"STREAM.MSG.GET.{name}", {"seq": n}))["message"]
    consumers = {}
    for one in (await api(nc, f"CONSUMER.LIST.{name}"))["consumers"] or []:
        consumers[one["name"]] = {
            "config": {k: v for k, v in one["config"].items() if k != "metadata"},
            "delivered": {k: one["delivered"][k] for k in ("consumer_seq", "stream_seq")},
            "ack_floor": {k: one["ack_floor"][k] for k in ("consumer_seq", "stream_seq")},
            **{k: one[k] for k in ("num_ack_pending", "num_redelivered", "num_pending")}}
    return {"config": config, "state": {k: v for k, v in state.items() if k != "lost"}, "messages": messages,
            "consumers": consumers}


def differences(expected, got, path="", ignore=()):
    """Lines that say where two descriptions differ."""
    if path in ignore:
        return []
    if isinstance(expected, dict) and isinstance(got, dict):
        return [line for key in sorted(set(expected) | set(got), key=str)
                for line in differences(expected.get(key, "<absent>"), got.get(key, "<absent>"), f"{path}.{key}", ignore)]
    return [] if expected == got else [f"{path}: {str(expected)[:200]} became {str(got)[:200]}"]


async def snapshot(nc, name, **request):
    """The bytes of a backup by the protocol itself, for what the command does not offer."""
    inbox, chunks, ended = nc.new_inbox(), [], asyncio.get_running_loop().create_future()

    async def on_chunk(message):
        if not message.data:
            return ended.set_result(dict(message.headers or {}))
        chunks.append(message.data)
        if message.reply:
            await nc.publish(message.reply)
    await nc.subscribe(inbox, cb=on_chunk)
    answer = await api(nc, f"STREAM.SNAPSHOT.{name}", {"deliver_subject": inbox, **request})
    return answer, b"".join(chunks if await asyncio.wait_for(ended, 60) is not None else [])


async def restore(nc, name, answer, archive, chunk=100_000):
    to = (await api(nc, f"STREAM.RESTORE.{name}", {"config": answer["config"], "state": answer["state"]}))["deliver_subject"]
    for at in range(0, len(archive), chunk):
        reply = await nc.request(to, archive[at:at + chunk], timeout=30)
        assert not reply.data, reply.data
    return json.loads((await nc.request(to, b"", timeout=30)).data)
