#!/usr/bin/env python3
"""Replays conversations with a server: what clients send, what the server must answer, line by line.

    replay.py SERVER FILE...            every conversation must come out as written
    replay.py SERVER --record FILE...   writes the answers of a server that is trusted into the files

A conversation starts with `== title`. `config: TEXT` lines make a configuration file, `flags: TEXT` adds flags. `A> TEXT` sends
a line on connection A (opened by its first use; INFO is read and dropped, unless the first line is `A: keep INFO`);
`A+ SUBJECT REPLY | PAYLOAD` and `A+ SUBJECT REPLY | KEY: VALUE; KEY: VALUE | PAYLOAD` publish with the lengths worked out (REPLY `-`:
none); `A< TEXT` expects the next line from it, JSON is compared as JSON; `A: closed` expects the end of the stream. \\r \\n \\t \\xNN are escapes. In expectations `<any>`
stands for anything without a blank and `<rest>` for anything at all. Connections speak raw NATS: payload lines are lines.
While recording, `A: read until TEXT` is replaced by the lines that came, that one included. `restart` stops the server with
SIGTERM and starts it again on the same store; connections are gone.
"""
import json, os, re, signal, socket, subprocess, sys, tempfile, shutil

VOLATILE = [  # what differs from run to run, in recorded answers
    (re.compile(r"\b[A-Za-z0-9]{22}\b"), "<any>"),
    (re.compile(r'"\d{4}-\d\d-\d\dT[^"]*Z"'), '"<any>"'),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]*Z"), "<any>"),
    (re.compile(r"(?<=\.)1[789]\d{17}(?=\.)"), "<any>"),  # nanoseconds in ack subjects
]


def unescape(text):
    return re.sub(r"\\(x[0-9a-fA-F]{2}|.)", lambda m: {"r": "\r", "n": "\n", "t": "\t", "\\": "\\"}.get(m[1]) or chr(int(m[1][1:], 16)), text)


def pattern_of(text):
    parts = re.split(r"(<any>|<rest>)", text)
    return re.compile("".join({"<any>": r"\S*?", "<rest>": ".*"}.get(p, re.escape(p)) for p in parts) + r"\Z")


def same(expected, got):
    """Lines are compared as text with stand-ins, JSON objects member by member in any order."""
    if expected.startswith("{") and got.startswith("{"):
        try:
            return same_json(json.loads(expected), json.loads(got))
        except ValueError:
            pass  # cut short by <rest>
    return bool(pattern_of(expected).match(got))


def same_json(expected, got):
    if isinstance(expected, dict):
        return isinstance(got, dict) and expected.keys() == got.keys() and all(same_json(v, got[k]) for k, v in expected.items())
    if isinstance(expected, list):
        return isinstance(got, list) and len(expected) == len(got) and all(map(same_json, expected, got))
    if isinstance(expected, str):
        return isinstance(got, str) and bool(pattern_of(expected).match(got))
    return expected == got


class Connection:
    def __init__(self, port, keep_info):
        self.socket = socket.create_connection(("127.0.0.1", port), 5)
        self.file = self.socket.makefile("rb")
        if not keep_info:
            assert self.line().startswith("INFO ")

    def send(self, text):
        self.socket.sendall(unescape(text).encode("latin-1") + b"\r\n")

    def publish(self, text):
        head, *parts = text.split(" | ")
        subject, reply = head.split()
        payload = unescape(parts[-1]).encode("latin-1")
        reply = "" if reply == "-" else reply + " "
        if len(parts) == 1:
            self.socket.sendall(f"PUB {subject} {reply}{len(payload)}\r\n".encode() + payload + b"\r\n")
            return
        block = ("NATS/1.0\r\n" + "".join(h.strip() + "\r\n" for h in parts[0].split(";")) + "\r\n").encode("latin-1")
        self.socket.sendall(f"HPUB {subject} {reply}{len(block)} {len(block) + len(payload)}\r\n".encode() + block + payload + b"\r\n")

    def line(self):
        line = self.file.readline()
        if not line:
            raise EOFError("the server closed the connection")
        return line.decode("latin-1").rstrip("\r\n").replace("\t", "\\t")

    def close(self):
        self.file.close()
        self.socket.close()


class Server:
    def __init__(self, binary, config, flags):
        self.binary, self.flags = binary, flags
        self.directory = tempfile.mkdtemp(prefix="tern-replay.")
        self.config = os.path.join(self.directory, "server.conf")
        with open(self.config, "w") as file:
            file.write("\n".join(config) + "\n")
        self.start()

    def start(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.log = open(os.path.join(self.directory, "log"), "a+")
        self.process = subprocess.Popen([self.binary, "-a", "127.0.0.1", "-p", str(self.port), "-c", self.config, "-sd", self.directory] + self.flags,
                                        stdout=self.log, stderr=self.log)
        while True:  # refused until it listens; asked again at once
            try:
                socket.create_connection(("127.0.0.1", self.port), 5).close()
                return
            except ConnectionRefusedError:
                if self.process.poll() is not None:
                    self.log.seek(0)
                    raise RuntimeError("the server ended at once: " + self.log.read())
                os.sched_yield()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(20)
        self.log.close()
        if code not in (0, 1):
            raise RuntimeError(f"the server ended with code {code}")

    def remove(self):
        if self.process.poll() is None:
            self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)


def play(binary, lines, record):
    """Returns the lines as played: the same, or with recorded answers."""
    config = [l[8:] for l in lines if l.startswith("config: ")]
    flags = [f for l in lines if l.startswith("flags: ") for f in l[7:].split()]
    server, connections, played = Server(binary, config, flags), {}, []

    def connection(name, keep_info=False):
        if name not in connections:
            connections[name] = Connection(server.port, keep_info)
        return connections[name]

    try:
        for line in lines:
            match = re.match(r"([A-Z])(>|<|:|\+) ?(.*)$", line)
            if line == "restart":
                for each in connections.values():
                    each.close()
                connections.clear()
                server.stop()
                server.start()
            elif match and match[2] == ">":
                connection(match[1]).send(match[3])
            elif match and match[2] == "+":
                connection(match[1]).publish(match[3])
            elif match and match[2] == "<":
                got = connection(match[1]).line()
                if not same(match[3], got):
                    raise AssertionError(f"expected: {line}\n       got: {match[1]}< {got}")
            elif match and match[3] == "keep INFO":
                connection(match[1], True)
            elif match and match[3] == "closed":
                try:
                    raise AssertionError(f"{match[1]} should be closed, but: {connection(match[1]).line()}")
                except (EOFError, ConnectionResetError):
                    pass
            elif match and match[3].startswith("read until") and record:
                last = match[3][11:]
                while True:
                    got = connection(match[1]).line()
                    shown = got
                    for volatile, stand_in in VOLATILE:
                        shown = volatile.sub(stand_in, shown)
                    if got.startswith("{") and played and re.match(r"[A-Z]< H?MSG ", played[-1]):
                        played[-1] = re.sub(r" \d+$", " <any>", played[-1])  # the length of a JSON text is nobody's business
                    played.append(f"{match[1]}< {shown}")
                    if pattern_of(last).match(got):
                        break
                continue
            elif match:
                raise AssertionError(f"unknown step: {line}")
            played.append(line)
        return played
    finally:
        for each in connections.values():
            each.close()
        server.remove()


def conversations(path):
    """(title, lines) pairs; what stands before the first title has the title None."""
    title, lines = None, []
    for line in open(path, encoding="utf-8").read().split("\n"):
        if line.startswith("== "):
            yield title, lines
            title, lines = line[3:], []
        else:
            lines.append(line)
    yield title, lines


def main():
    record = "--record" in sys.argv
    binary, *paths = [a for a in sys.argv[1:] if a != "--record"]
    passed = failed = 0
    for path in paths:
        text = []
        for title, lines in conversations(path):
            steps = [l for l in lines if l and not l.startswith("#")]
            if title is None or not steps:
                text += ([] if title is None else ["== " + title]) + lines
                continue
            try:
                played = play(os.path.abspath(binary), steps, record)
                text += ["== " + title] + played + [""]
                passed += 1
            except (AssertionError, EOFError, OSError, RuntimeError) as problem:
                text += ["== " + title] + lines
                failed += 1
                print(f"{os.path.basename(path)}: {title}\n{problem}\n")
        if record:
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(text).rstrip("\n") + "\n")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
