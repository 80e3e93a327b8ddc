#!/usr/bin/env python3
"""Clients that mean ill, at every listener of ternd: memory stays bounded, others are served, nothing is left behind.

    hostile_clients.py TERND [PART OF AN ATTACK'S NAME]

One server without TLS and one with; each attack runs while well-behaved clients measure how long a round trip takes.
"""
import json, os, random, shutil, socket, ssl, subprocess, sys, tempfile, threading, time, urllib.request, zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../interop"))
from run_both import make_certificates, free_port

CROWD = 200  # connections of one attack
MEMORY_MAX = 96 << 20  # more than before the attacks
ROUND_TRIP_MAX = 1.5  # seconds, on a machine that has other things to do
UPGRADE = ("GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{}\r\n")
HELLO = bytes.fromhex("1603010200010001fc0303") + bytes(range(256))


class Server:
    def __init__(self, program, directory, secure):
        self.client, self.web, self.http = free_port(), free_port(), free_port()
        self.leaf = free_port()
        self.ports = (self.client, self.web, self.http, self.leaf)
        self.secure = secure
        tls = f'tls {{ cert_file: "{directory}/server.pem", key_file: "{directory}/server.key", timeout: 1 }}'
        config = [f'websocket {{ listen: "127.0.0.1:{self.web}", compression: true, handshake_timeout: "1s", '
                  + (tls if secure else "no_tls: true") + " }", "ping_interval: 60",
                  f'leafnodes {{ listen: "127.0.0.1:{self.leaf}", {tls if secure else ""} }}']
        if secure:
            config += [tls, f"https_port: {self.http}"]
        else:
            config += [f"http_port: {self.http}"]
        name = os.path.join(directory, f"{'secure' if secure else 'plain'}.conf")
        with open(name, "w") as file:
            file.write("\n".join(config) + "\n")
        self.log = open(name + ".log", "w+")
        # A sanitizer keeps what was freed, 256 MiB of it unless told otherwise: that is not the server's memory.
        environment = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=4")
        self.process = subprocess.Popen([program, "-a", "127.0.0.1", "-p", str(self.client), "-c", name],
                                        stdout=self.log, stderr=subprocess.STDOUT, env=environment)
        self.context = ssl.create_default_context(cafile=f"{directory}/ca.pem")
        while True:
            try:
                for port in self.ports:
                    self.dial(port).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    self.log.seek(0)
                    sys.exit("the server ended at once:\n" + self.log.read())

    def dial(self, port):
        made = socket.create_connection(("127.0.0.1", port), 10)
        made.settimeout(10)
        return made

    def memory(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmRSS"))

    def connections(self):
        scheme, context = ("https", self.context) if self.secure else ("http", None)
        with urllib.request.urlopen(f"{scheme}://localhost:{self.http}/connz", context=context, timeout=20) as answer:
            return json.load(answer)["num_connections"]


class Witness(threading.Thread):
    """A client that behaves, and remembers its slowest round trip."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.socket = server.dial(server.client)
        self.socket.recv(4096)
        if server.secure:
            self.socket = server.context.wrap_socket(self.socket, server_hostname="localhost")
        self.socket.sendall(b'CONNECT {"verbose":false}\r\n')
        self.slowest, self.trips, self.over = 0.0, 0, False

    def run(self):
        while not self.over:
            begin = time.monotonic()
            self.socket.sendall(b"PING\r\n")
            got = b""
            while b"PONG" not in got:
                piece = self.socket.recv(4096)
                if not piece:
                    self.slowest = float("inf")
                    return
                if b"PING" in piece:
                    self.socket.sendall(b"PONG\r\n")
                got += piece
            self.slowest = max(self.slowest, time.monotonic() - begin)
            self.trips += 1
            threading.Event().wait(0.01)


def pour(stream, piece, most):
    """Sends until the other side has had enough."""
    sent = 0
    try:
        while sent < most:
            stream.sendall(piece)
            sent += len(piece)
    except OSError:
        pass
    return sent


def quietly(action):
    try:
        return action()
    except (OSError, ValueError):
        return None


def crowd(server, port, first_bytes):
    """Many at once who begin and do not go on; until the server ends them or a while has passed."""
    streams = [server.dial(port) for _ in range(CROWD)]
    for number, stream in enumerate(streams):
        quietly(lambda: stream.sendall(first_bytes(number)))
    until = time.monotonic() + 2.5
    for stream in streams:
        stream.settimeout(max(0.01, until - time.monotonic()))
        while quietly(lambda: stream.recv(65536)):
            pass
    for stream in streams:
        stream.close()


def frame(opcode, payload, final=True, compressed=False, length=None):
    head = bytes([(0x80 if final else 0) | (0x40 if compressed else 0) | opcode])
    size = len(payload) if length is None else length
    head += bytes([0x80 | size]) if size < 126 else bytes([0x80 | 126]) + size.to_bytes(2, "big") if size < 65536 else (
        bytes([0x80 | 127]) + size.to_bytes(8, "big"))
    return head + b"\0\0\0\0" + payload


def upgraded(server, extra=""):
    stream = server.dial(server.web)
    if server.secure:
        stream = server.context.wrap_socket(stream, server_hostname="localhost")
    stream.sendall(UPGRADE.format(extra).encode())
    stream.recv(4096)
    return stream


# --- attacks: name, and what is done ------------------------------------------------------------------------------------

def silent_crowds(server):
    for port in server.ports:
        crowd(server, port, lambda number: b"")


def crowds_that_stop_in_the_middle(server):
    crowd(server, server.client, lambda number: b"CONNECT {\"verb")
    crowd(server, server.web, lambda number: UPGRADE.format("").encode()[:number % 100])
    crowd(server, server.http, lambda number: b"GET /varz HTTP/1.1\r\nHost:")


def stalled_handshakes(server):
    for port in server.ports:
        crowd(server, port, lambda number: HELLO[:number % len(HELLO)])


def half_closed(server):
    for port in server.ports:
        streams = [server.dial(port) for _ in range(CROWD)]
        for stream in streams:
            quietly(lambda: stream.shutdown(socket.SHUT_WR))
        for stream in streams:
            stream.settimeout(5)
            while quietly(lambda: stream.recv(65536)):
                pass
            stream.close()


def endless_lines(server):
    for port in server.ports:
        for begin in (b"PUB ", b"CONNECT {", b"GET /", b"X: "):
            stream = server.dial(port)
            quietly(lambda: stream.sendall(begin))
            assert pour(stream, b"a" * 65536, 160 << 20) < 160 << 20, f"port {port} reads a line without end"
            stream.close()


def random_bytes(server):
    source = random.Random(7)
    for port in server.ports:
        for _ in range(100):
            stream = server.dial(port)
            pour(stream, source.randbytes(source.randrange(1, 5000)), 20_000)
            stream.close()


def random_bytes_within_tls(server):
    if not server.secure:
        return
    source = random.Random(8)
    for _ in range(50):
        stream = server.dial(server.client)
        stream.recv(4096)
        stream = quietly(lambda: server.context.wrap_socket(stream, server_hostname="localhost"))
        if stream is not None:
            pour(stream, source.randbytes(3000), 6000)
            stream.close()


def frames_that_promise_much(server):
    streams = [upgraded(server) for _ in range(50)]
    for stream in streams:
        quietly(lambda: stream.sendall(frame(2, b"PUB a 5\r\n", length=(1 << 62))))
    for stream in streams:
        stream.close()


def pings_without_reading(server):
    stream = upgraded(server)
    stream.settimeout(3)
    pour(stream, frame(9, b"p" * 125) * 500, 30 << 20)
    stream.close()


def crumbs(server):
    stream = upgraded(server)
    pour(stream, b"".join(frame(2, bytes([byte])) for byte in b"PING\r\n") * 1000, 2_000_000)
    stream.close()


def bombs(server):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(b"PUB a 1048576\r\n" + bytes(200 << 20)) + packer.flush(zlib.Z_SYNC_FLUSH)
    for _ in range(5):
        stream = upgraded(server, "Sec-WebSocket-Extensions: permessage-deflate\r\n")
        quietly(lambda: stream.sendall(frame(2, packed[:-4], compressed=True)))
        stream.settimeout(5)
        while quietly(lambda: stream.recv(65536)):
            pass
        stream.close()


def publishes_that_nobody_may_send(server):
    stream = server.dial(server.client)
    stream.recv(4096)
    if server.secure:
        stream = server.context.wrap_socket(stream, server_hostname="localhost")
    pour(stream, b"PUB a 999999999\r\n" + b"x" * 65536, 64 << 20)
    stream.close()


ATTACKS = [silent_crowds, crowds_that_stop_in_the_middle, stalled_handshakes, half_closed, endless_lines, random_bytes,
           random_bytes_within_tls, frames_that_promise_much, pings_without_reading, crumbs, bombs,
           publishes_that_nobody_may_send]


def main():
    program, wanted = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    directory, failures = tempfile.mkdtemp(prefix="tern-hostile."), []
    make_certificates(directory)
    try:
        for secure in (False, True):
            server = Server(program, directory, secure)
            witness = Witness(server)
            witness.start()
            before = server.memory()
            for attack in ATTACKS:
                if wanted not in attack.__name__:
                    continue
                name = f"{attack.__name__}{' (TLS)' if secure else ''}"
                witness.slowest = 0.0
                try:
                    attack(server)
                except Exception as error:
                    failures.append(f"{name}: {type(error).__name__}: {error}")
                grown = server.memory() - before
                if server.process.poll() is not None:
                    sys.exit(f"{name}: the server ended with code {server.process.returncode}")
                print(f"{name}: slowest round trip {witness.slowest * 1000:.0f} ms, memory +{grown >> 10} KiB")
                if witness.slowest > ROUND_TRIP_MAX:
                    failures.append(f"{name}: a well-behaved client waited {witness.slowest:.1f} s")
                if grown > MEMORY_MAX:
                    failures.append(f"{name}: {grown >> 20} MiB more memory")
            until = time.monotonic() + 10
            while server.connections() > 1 and time.monotonic() < until:
                threading.Event().wait(0.05)
            if server.connections() != 1:
                failures.append(f"{server.connections() - 1} connections are left behind")
            witness.over = True
            witness.join(5)
            server.process.terminate()
            if server.process.wait(20) != 0:
                failures.append(f"the server ended with code {server.process.returncode}")
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    print("\n".join(["FAILED"] + failures) if failures else "all attacks survived")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
