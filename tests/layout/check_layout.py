#!/usr/bin/env python3
"""Keeps the house in order: arrows between rooms, the four seams, and the shape of files.

    check_layout.py arrows      no #include crosses an arrow that src/CMakeLists.txt does not declare
    check_layout.py seams       no clock, socket, file, randomness or environment outside src/runtime
    check_layout.py style       files of bearable length, no sleeping tests, nothing left to do
    check_layout.py columns     lines longer than .clang-format allows; for people, no test of the suite
    check_layout.py self-test   each rule finds its offender and lets the innocent pass

Every mode runs its own rules' self-test first, so that a rule which has gone blind cannot pass for a clean tree.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CODE = (".hpp", ".cpp")
FILE_LINES_MAX = 500
LINE_COLUMNS_MAX = 120

# --- reading ---------------------------------------------------------------------------------------------------------


def read_tree(root, folders, suffixes):
    """Yields (path relative to root, text), sorted."""
    for folder in folders:
        for directory, below, names in os.walk(os.path.join(root, folder)):
            below[:] = sorted(name for name in below if name not in ("node_modules", "__pycache__", "build"))
            for name in sorted(names):
                if name.endswith(suffixes):
                    path = os.path.join(directory, name)
                    with open(path, encoding="utf-8", errors="replace") as file:
                        yield os.path.relpath(path, root), file.read()


def code_only(text):
    """The text with comments, strings and characters blanked, line structure kept. Include lines keep their file."""
    pattern = re.compile(
        r'(?P<include>^[ \t]*#[ \t]*include[^\n]*)'
        r'|(?P<comment>//[^\n]*|/\*.*?\*/)'
        r'|(?P<raw>R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)")'
        r'|(?P<string>"(?:\\.|[^"\\\n])*")'
        r"|(?P<character>(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+')",
        re.S | re.M)

    def blank(found):
        if found.group("include"):
            return found.group(0)
        return re.sub(r"[^\n]", " ", found.group(0))

    return pattern.sub(blank, text)


def is_test_code(path):
    return path.startswith("tests/") or path.endswith("_test.cpp") or "/test_" in path


# --- arrows ----------------------------------------------------------------------------------------------------------

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"(?P<quoted>[^"]+)"|<(?P<angled>[^>]+)>)', re.M)


def parse_rooms(cmake):
    """{room: set of rooms that it may include} from the tern_room(...) calls."""
    rooms = {}
    cmake = re.sub(r"#[^\n]*", "", cmake)
    for call in re.findall(r"\btern_room\s*\(([^)]*)\)", cmake):
        words = call.split()
        name, arrows, section = words[0], set(), None
        for word in words[1:]:
            if word in ("ARROWS", "LIBRARIES"):
                section = word
            elif section == "ARROWS":
                arrows.add(word)
        rooms[name] = arrows
    return rooms


def check_rooms(rooms, folders):
    problems = []
    for room, arrows in rooms.items():
        for unknown in sorted(arrows - set(rooms)):
            problems.append(f"src/CMakeLists.txt: {room} has an arrow to {unknown}, which is no room")
    for folder in sorted(set(folders) - set(rooms)):
        problems.append(f"src/{folder}: a folder that src/CMakeLists.txt does not declare as a room")
    done, path = set(), []

    def walk(room):
        if room in path:
            problems.append("src/CMakeLists.txt: the arrows form a cycle: " + " -> ".join(path[path.index(room):] + [room]))
            return
        if room in done:
            return
        path.append(room)
        for next_room in sorted(rooms.get(room, ())):
            walk(next_room)
        path.pop()
        done.add(room)

    for room in sorted(rooms):
        walk(room)
    return problems


def check_includes(path, text, rooms):
    parts = path.split("/")
    public = path.startswith("include/tern/")
    room = parts[1] if path.startswith("src/") and len(parts) > 2 else None
    if public and len(parts) > 3 and parts[2] not in rooms:
        return [f"{path}: {parts[2]} is no room"]
    problems = []
    for found in INCLUDE.finditer(code_only(text)):
        place = f"{path}:{text.count(chr(10), 0, found.start()) + 1}"
        quoted, angled = found.group("quoted"), found.group("angled")
        if angled:
            target = angled.split("/")
            if target[0] == "tern" and len(target) > 2 and target[1] not in rooms:
                problems.append(f"{place}: <{angled}> belongs to no room")
            continue
        target = quoted.split("/")[0]
        if public:
            problems.append(f'{place}: a public header includes the private "{quoted}"')
        elif path.startswith("examples/") and target in rooms:
            problems.append(f'{place}: an example includes the private "{quoted}"; users have public headers only')
        elif room is None:
            continue  # programs and tests may look into every room
        elif "/" not in quoted or target not in rooms:
            problems.append(f'{place}: "{quoted}" does not start with the name of a room')
        elif target not in {room, "base"} | rooms.get(room, set()):
            problems.append(f'{place}: {room} includes "{quoted}" without an arrow to {target}')
    return problems


def run_arrows(root):
    with open(os.path.join(root, "src/CMakeLists.txt"), encoding="utf-8") as file:
        rooms = parse_rooms(file.read())
    folders = [entry for entry in os.listdir(os.path.join(root, "src")) if os.path.isdir(os.path.join(root, "src", entry))]
    problems = check_rooms(rooms, folders)
    for path, text in read_tree(root, ["src", "include", "examples"], CODE):
        problems += check_includes(path, text, rooms)
    return problems


def self_test_arrows(expect):
    rooms = parse_rooms("# tern_room(ghost)\ntern_room(base)\ntern_room(low LIBRARIES x::y)\n"
                        "tern_room(high ARROWS low other\n  LIBRARIES z::z)\ntern_room(other)")
    expect(rooms == {"base": set(), "low": set(), "high": {"low", "other"}, "other": set()}, "rooms and arrows are read")
    expect(not check_rooms(rooms, ["base", "low", "high", "other"]), "a clean house")
    expect(check_rooms({"a": {"nowhere"}}, ["a"]), "an arrow to an unknown room")
    expect(check_rooms({"a": set()}, ["a", "b"]), "an undeclared folder")
    expect(check_rooms({"a": {"b"}, "b": {"c"}, "c": {"a"}}, "abc"), "a cycle")
    good = '#include "high/own.hpp"\n#include "low/x.hpp"\n#include "base/y.hpp"\n#include <tern/other/z.hpp>\n#include <map>\n'
    expect(not check_includes("src/high/own.cpp", good, rooms), "includes along the arrows")
    for offender, why in (('#include "high/x.hpp"', "against the arrow"), ('#include "other/x.hpp"', "without an arrow"),
                          ('  #  include "x.hpp"', "without a room"), ('#include "nowhere/x.hpp"', "an unknown room"),
                          ("#include <tern/nowhere/x.hpp>", "an unknown public room")):
        expect(check_includes("src/low/own.cpp", offender, rooms), "an include " + why)
    expect(not check_includes("src/low/own.cpp", '// #include "high/x.hpp"', rooms), "an include in a comment")
    expect(check_includes("include/tern/low/own.hpp", '#include "low/own.hpp"', rooms), "a public header that includes a private one")
    expect(not check_includes("include/tern/low/own.hpp", "#include <tern/high/own.hpp>", rooms), "a public header of another room")
    expect(check_includes("include/tern/nowhere/own.hpp", "", rooms), "a public header of no room")
    expect(check_includes("examples/a.cpp", '#include "low/x.hpp"', rooms), "an example that looks inside")


# --- seams -----------------------------------------------------------------------------------------------------------

# A call of the global function, not of a member or of another namespace.
def global_call(names):
    return r"(?<![\w>)])::\s*(?:" + names + r")\s*\("


def plain_call(names):
    return r"(?<![\w.>:~])(?:std\s*::\s*|::\s*)?(?:" + names + r")\s*\("


SEAM_RULES = [
    # (what it is, pattern over code without comments and strings, offenders, innocents)
    ("reads a clock", r"\b\w*_?clock\s*::\s*now\b",
     ["auto t = std::chrono::steady_clock::now();", "using c = std::chrono::system_clock; c::time_point x = system_clock :: now();"],
     ["shard.now();", "real_clock clock; clock.now();"]),
    ("reads a clock", plain_call("clock_gettime|gettimeofday|timespec_get|localtime|localtime_r"),
     ["clock_gettime(CLOCK_MONOTONIC, &t);", "::gettimeofday(&t, nullptr);"], ["my_clock_gettime(1);"]),
    ("reads a clock", r"(?<![\w.>:~])(?:std\s*::\s*|::\s*)?time\s*\(\s*(?:nullptr|NULL|0|&\w+)\s*\)",
     ["auto t = time(nullptr);", "t = std::time(0);", "::time(&now);"], ["loop.time();", "loop->time(0);", "expiry_time(0);"]),
    ("waits", r"\bthis_thread\s*::\s*sleep_\w+|" + plain_call("usleep|nanosleep|sleep"),
     ["std::this_thread::sleep_for(1s);", "usleep(5);", "::sleep(1);"], ["will_sleep(1);", "x.sleep(1);"]),
    ("uses a socket", global_call("socket|connect|accept4?|bind|listen|send|sendto|sendmsg|recv|recvfrom|recvmsg|shutdown|"
                                  "getaddrinfo|setsockopt|getsockopt|epoll_\\w+|poll|select|pipe2?|eventfd"),
     ["int s = ::socket(AF_INET, SOCK_STREAM, 0);", "return ::recv(s, p, n, 0);"],
     ["client::connect(url);", "transport->connect(to);", "std::bind(f);"]),
    ("uses a socket", r"#\s*include\s*<(?:sys/(?:socket|epoll|un|select|eventfd)|netinet/\w+|arpa/inet|netdb|poll|ifaddrs)\.h>",
     ["#include <sys/socket.h>", "# include <netdb.h>"], ["#include <sys/types.h>"]),
    ("uses a socket or timer of Asio", r"\basio\s*::\s*(?:ip|local|posix|generic)\s*::|"
     r"\b(?:steady_timer|system_timer|high_resolution_timer|deadline_timer|signal_set|basic_waitable_timer)\b",
     ["boost::asio::ip::tcp::socket s;", "asio::steady_timer timer(context);", "signal_set set(context);"],
     ["boost::asio::awaitable<void> f();", "boost::asio::post(context, f);"]),
    ("uses a file", plain_call("fopen|freopen|opendir|readdir|mkstemp|mkdtemp|realpath|statvfs|fsync|fdatasync|pread|pwrite|"
                               "preadv|pwritev|ftruncate|fallocate|mmap"),
     ["FILE* f = fopen(p, m);", "std::fopen(p, m);", "::fsync(fd);"], ["disk.fsync(fd);", "my_fopen(1);"]),
    ("uses a file", global_call("open|openat|creat|read|write|writev|readv|close|lseek|rename|unlink|mkdir|rmdir|stat|fstat|lstat|"
                                "access|chmod|flock"),
     ["int fd = ::open(path, O_RDONLY);", "::unlink(p);"], ["disk::open(path);", "store->read(x);", "file.close();"]),
    ("uses a file", r"\bstd\s*::\s*(?:basic_)?[io]?fstream\b|\bstd\s*::\s*filesystem\b|\bstd\s*::\s*rename\s*\(|"
     r"#\s*include\s*<(?:fstream|filesystem|fcntl\.h|dirent\.h|sys/stat\.h|sys/mman\.h)>",
     ["std::ifstream in(path);", "std::filesystem::path p;", "#include <fstream>", "std::rename(a, b);"],
     ["std::ostringstream out;", "disk_op::rename{a, b};"]),
    ("draws randomness", r"\brandom_device\b|" + plain_call("getrandom|getentropy|s?rand|[dlm]rand48|random_shuffle|arc4random\\w*") +
     r"|\bRAND_(?:priv_)?bytes\b|\brandombytes_\w+",
     ["std::random_device device;", "int x = rand();", "std::srand(1);", "RAND_bytes(p, n);", "randombytes_buf(p, n);"],
     ["brand(1);", "seeded_random r(1);", "source.rand();"]),
    ("looks at the environment or the process", plain_call("(?:secure_)?getenv|setenv|putenv") +
     r"|" + global_call("getpid|getuid|kill|fork|execv?p?e?|raise|signal|sigaction|gethostname|sysconf|getrusage|uname") +
     r"|\bstd\s*::\s*(?:system|signal|raise)\s*\(|" + plain_call("popen"),
     ["std::getenv(name);", "getenv(name);", "::getpid();", "std::signal(SIGTERM, f);", "popen(c, m);"],
     ["config.getenv(x);", "host::signal(x);", "boost::signal(x);"]),
]


def seams_apply_to(path):
    if path.startswith("src/runtime/") or is_test_code(path):
        return False
    return not path.endswith(("_bench.cpp", "_fuzz.cpp"))  # measuring and fuzzing drive the code from outside


def check_seams(path, text):
    code = code_only(text)
    problems = []
    for what, pattern, _, _ in SEAM_RULES:
        for found in re.finditer(pattern, code):
            line = code.count("\n", 0, found.start()) + 1
            problems.append(f"{path}:{line}: {what} past the seams of src/runtime: {found.group(0).strip()}")
    return problems


def run_seams(root):
    problems = []
    for path, text in read_tree(root, ["src", "include", "apps"], CODE):
        if seams_apply_to(path):
            problems += check_seams(path, text)
    return problems


def self_test_seams(expect):
    for what, pattern, offenders, innocents in SEAM_RULES:
        for offender in offenders:
            expect(re.search(pattern, code_only(offender)), f"{what}: {offender}")
        for innocent in innocents:
            expect(not re.search(pattern, code_only(innocent)), f"must pass: {innocent}")
            expect(not check_seams("src/server/x.cpp", innocent), f"must pass every rule: {innocent}")
    expect(not check_seams("src/server/x.cpp", '// time(nullptr)\n/* ::open( */ auto s = "getenv(x)";'), "comments and strings")
    expect(not check_seams("src/server/x.cpp", 'auto s = R"x(getenv("a"))x"; auto n = 1\'000\'000;'), "raw strings and digits")
    expect(check_seams("src/server/x.cpp", "auto n = 1'000; getenv(x); auto m = 2'000;"), "code between digit separators")
    expect(seams_apply_to("src/server/x.cpp") and seams_apply_to("apps/ternd/main.cpp"), "rooms and programs are checked")
    for free in ("src/runtime/clock.cpp", "src/runtime/host/log.cpp", "src/server/x_test.cpp", "tests/sim/a.cpp", "src/base/x_bench.cpp"):
        expect(not seams_apply_to(free), free + " is free")


# --- style -----------------------------------------------------------------------------------------------------------

SLEEP = re.compile(r"\bthis_thread\s*::\s*sleep_\w+|(?<![\w.>:])(?:::\s*)?(?:usleep|nanosleep|sleep)\s*\(")
LEFT_TO_DO = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b|\bnot (?:yet )?implemented\b", re.I)
COMMENT = re.compile(r"^\s*(?://|#|\*|/\*)")


def check_style(path, text):
    problems = []
    lines = text.splitlines()
    if len(lines) > FILE_LINES_MAX and not any(COMMENT.match(line) and "Length:" in line for line in lines):
        problems.append(f"{path}: {len(lines)} lines; split it, or say why not in a comment with \"Length:\"")
    if not path.endswith(CODE):
        return problems
    for number, (line, code) in enumerate(zip(lines, code_only(text).splitlines()), 1):
        if is_test_code(path) and SLEEP.search(code):
            problems.append(f"{path}:{number}: a test sleeps; wait for the event, or move a paused clock")
        if COMMENT.match(line) and not re.match(r"\s*#", line) and LEFT_TO_DO.search(line):
            problems.append(f"{path}:{number}: something is left to do: {line.strip()}")
    return problems


def check_columns(path, text):
    return [f"{path}:{number}: {len(line)} columns; {LINE_COLUMNS_MAX} fit" for number, line in enumerate(text.splitlines(), 1)
            if len(line) > LINE_COLUMNS_MAX and not re.match(r"\s*(//\s*)?\S+$", line)]


def run_columns(root):
    problems = []
    for path, text in read_tree(root, ["src", "include", "apps", "examples", "bench", "tests"], CODE):
        problems += check_columns(path, text)
    return problems


def self_test_columns(expect):
    expect(check_columns("src/a/x.cpp", "int x; " * 20), "a long line")
    expect(not check_columns("src/a/x.cpp", "// https://" + "x" * 200), "a long address")


def run_style(root):
    problems = []
    for path, text in read_tree(root, ["src", "include", "apps", "examples", "bench", "tests", "tools"],
                                CODE + (".py", ".mjs", ".js", ".go", ".sh")):
        problems += check_style(path, text)
    return problems


def self_test_style(expect):
    long = "int x;\n" * (FILE_LINES_MAX + 1)
    expect(check_style("src/a/x.cpp", long), "a long file")
    expect(check_style("src/a/x.cpp", 'auto s = "Length: no comment";\n' + long), "a reason that is no comment")
    expect(not check_style("src/a/x.cpp", "// Length: one table.\n" + long), "a long file with its reason")
    expect(not check_style("src/a/x.cpp", "int x;\n" * FILE_LINES_MAX), "a file of bearable length")
    for offender in ("std::this_thread::sleep_for(1ms);", "  usleep(10);", "::sleep(1);"):
        expect(check_style("src/a/x_test.cpp", offender), "a sleeping test: " + offender)
        expect(check_style("tests/sim/x.cpp", offender), "a sleeping test in tests/: " + offender)
    expect(not check_style("src/a/x_test.cpp", '// never sleep(1)\nauto s = "sleep(1)";'), "a test that talks of sleep")
    expect(check_style("src/a/x.cpp", "// TO" + "DO: later"), "something left to do")
    expect(not check_style("src/a/x.cpp", "// What is to do comes next."), "an innocent comment")


# --- running ---------------------------------------------------------------------------------------------------------

MODES = {
    "arrows": (run_arrows, self_test_arrows),
    "seams": (run_seams, self_test_seams),
    "style": (run_style, self_test_style),
    "columns": (run_columns, self_test_columns),
}


def self_test(names):
    blind = []

    def expect(held, what):
        if not held:
            blind.append(what)

    for name in names:
        MODES[name][1](lambda held, what, name=name: expect(held, f"{name}: {what}"))
    return blind


def main(arguments):
    mode = arguments[0] if arguments else ""
    root = os.path.abspath(arguments[1]) if len(arguments) > 1 else ROOT
    if mode != "self-test" and mode not in MODES:
        print(__doc__)
        return 2
    blind = self_test(MODES if mode == "self-test" else [mode])
    for what in blind:
        print(f"self-test failed: {what}")
    if blind or mode == "self-test":
        return 1 if blind else 0
    problems = MODES[mode][0](root)
    for problem in problems:
        print(problem)
    if problems:
        print(f"{len(problems)} problem(s) of {mode}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
