"""Two servers and a raw connection to each, for scripts that hold ternd against nats-server."""
import json, shutil, socket, subprocess, tempfile, time


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A server with JetStream in a directory of its own and a connection to it."""

    def __init__(self, binary):
        self.directory, self.port, self.binary = tempfile.mkdtemp(prefix="tern-differential."), free_port(), binary
        self.start()

    def start(self):
        with open(self.directory + "/log", "a") as log:
            self.process = subprocess.Popen([self.binary, "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd",
                                             self.directory + "/js"], stdout=log, stderr=subprocess.STDOUT)
        end = time.monotonic() + 20
        while True:
            try:
                self.connection = Connection(self.port)
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise SystemExit(f"{self.binary} did not start")
                time.sleep(0.02)

    def stop(self):
        self.process.terminate()
        self.process.wait(20)

    def end(self):
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)


class Connection:
    """Frames are tuples: sid, subject, reply, header block, payload. Requests are answered on sid R."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), 10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer, self.frames, self.pongs, self.requests = b"", [], 0, 0
        self.line()
        self.send(b'CONNECT {"verbose":false,"headers":true,"no_responders":true}\r\nSUB _R.* R\r\n')
        self.sync()

    def send(self, data):
        self.socket.sendall(data)

    def fill(self, seconds=10.0):
        """False when nothing came in time."""
        self.socket.settimeout(seconds)
        try:
            data = self.socket.recv(1 << 16)
        except (TimeoutError, socket.timeout):
            return False
        if not data:
            raise EOFError("the server closed the connection")
        self.buffer += data
        return True

    def line(self):
        while b"\r\n" not in self.buffer:
            self.fill()
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line.decode("latin1")

    def take(self, size):
        while len(self.buffer) < size + 2:
            self.fill()
        data, self.buffer = self.buffer[:size], self.buffer[size + 2:]
        return data.decode("latin1")

    def read_frame(self):
        line = self.line()
        words = line.split(" ")
        if words[0] == "PING":
            self.send(b"PONG\r\n")
        elif words[0] == "PONG":
            self.pongs += 1
        elif words[0] == "MSG":
            self.frames.append((words[2], words[1], words[3] if len(words) == 5 else "", "", self.take(int(words[-1]))))
        elif words[0] == "HMSG":
            head, body = int(words[-2]), self.take(int(words[-1]))
            self.frames.append((words[2], words[1], words[3] if len(words) == 6 else "", body[:head], body[head:]))
        else:
            self.frames.append(("line", line, "", "", ""))

    def has_frame(self):
        if b"\r\n" not in self.buffer:
            return False
        line = self.buffer.split(b"\r\n", 1)[0]
        words = line.split(b" ")
        return words[0] not in (b"MSG", b"HMSG") or len(self.buffer) >= len(line) + 4 + int(words[-1])

    def sync(self):
        seen = self.pongs
        self.send(b"PING\r\n")
        while self.pongs == seen:
            self.read_frame()

    def collect(self, seconds, until=lambda: False):
        """Reads frames for so long, or until it is told that this is enough."""
        end = time.monotonic() + seconds
        while not until():
            if self.has_frame():
                self.read_frame()
            elif time.monotonic() >= end or not self.fill(max(0.001, end - time.monotonic())):
                return

    def publish(self, subject, body="", reply=""):
        data = body.encode("latin1")
        self.send(f"PUB {subject} {reply} {len(data)}\r\n".encode() + data + b"\r\n")

    def send_request(self, subject, body=""):
        self.requests += 1
        reply = f"_R.{self.requests}"
        self.publish(subject, body, reply)
        return reply

    def answered(self, reply):
        return any(frame[1] == reply for frame in self.frames)

    def request(self, subject, body="", seconds=10.0):
        """The answer as JSON; None when there was none."""
        reply = self.send_request(subject, body)
        self.collect(seconds, lambda: self.answered(reply))
        for at, frame in enumerate(self.frames):
            if frame[1] == reply:
                del self.frames[at]
                return json.loads(frame[4]) if frame[4] else {}
        return None

    def api(self, what, body=None):
        return self.request("$JS.API." + what, "" if body is None else json.dumps(body))
