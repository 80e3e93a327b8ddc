#!/usr/bin/env python3
"""Holds a server against the collection of recorded conversations and fails when fewer pass than before.

    check_counts.py SERVER COLLECTION [--update] [FILE ...]

COLLECTION is the folder with the `wire` tool and the *.wire files; it is no part of this project. The counts stand in
docs/reference/conformance.md; --update writes them there when none has fallen.
"""
import os, re, shutil, subprocess, sys, tempfile

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/reference/conformance.md")
ROW = re.compile(r"^\| `([\w-]+)` \| (\d+) \| (\d+) \|(.*)$")


def known():
    counts = {}
    with open(PAGE) as page:
        for line in page:
            if match := ROW.match(line):
                counts[match[1]] = (int(match[2]), int(match[3]))
    return counts


def run(server, collection, name):
    done = subprocess.run([os.path.join(collection, "wire"), "check", "-j", "4", server, os.path.join(collection, name + ".wire")],
                          capture_output=True, text=True, timeout=900)
    match = re.search(r"(\d+) passed, (\d+) failed", done.stdout.strip().splitlines()[-1])
    return int(match[1]), int(match[2]), done.stdout


def main():
    arguments = [a for a in sys.argv[1:] if a != "--update"]
    server, collection = os.path.abspath(arguments[0]), os.path.abspath(arguments[1])
    before = known()
    names = arguments[2:] or sorted(before)
    fallen, seen = [], {}
    with tempfile.TemporaryDirectory(prefix="tern-wire.") as directory:
        link = os.path.join(directory, "nats-server")  # some conversations know the server by that name
        os.symlink(server, link)
        for name in names:
            passed, failed, output = run(link, collection, name)
            if passed < before.get(name, (0, 0))[0]:  # a loaded machine misses deadlines: a fall counts when it repeats
                again = run(link, collection, name)
                if again[0] > passed:
                    passed, failed, output = again
            seen[name] = (passed, passed + failed)
            was = before.get(name, (0, 0))[0]
            print(f"{name:32} {passed:4} of {passed + failed:4}   before {was:4}{'   FALLEN' if passed < was else ''}", flush=True)
            if passed < was:
                fallen.append(name)
                print(output)
    if "--update" in sys.argv and not fallen:
        update(seen)
    passed = sum(p for p, _ in seen.values())
    print(f"{passed} of {sum(t for _, t in seen.values())} conversations in {len(seen)} files")
    sys.exit(f"fewer pass than before in: {', '.join(fallen)}" if fallen else 0)


def update(seen):
    with open(PAGE) as page:
        lines = page.readlines()
    with open(PAGE, "w") as page:
        for line in lines:
            match = ROW.match(line)
            if match and match[1] in seen:
                passed, total = seen[match[1]]
                line = f"| `{match[1]}` | {passed} | {total} |{match[4]}\n"
            page.write(line)


if __name__ == "__main__":
    main()
