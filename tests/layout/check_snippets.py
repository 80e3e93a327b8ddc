#!/usr/bin/env python3
"""The C++ of the README and the guides compiles: the blocks of a page, one behind the other, are one program.

    check_snippets.py COMPILER [FLAG...]     for example: check_snippets.py g++ -std=c++23 -Iinclude
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def program_of(path):
    """The blocks of a page with #line, so that the compiler names the page; nothing when there are none."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    program = ""
    for block in re.finditer(r"^```cpp\n(.*?)^```", text, re.S | re.M):
        line = text.count("\n", 0, block.start(1)) + 1
        program += f'#line {line} "{os.path.relpath(path, ROOT)}"\n{block.group(1)}'
    return program


def compiles(command, program):
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "page.cpp")
        with open(source, "w", encoding="utf-8") as file:
            file.write(program)
        done = subprocess.run([*command, "-fsyntax-only", source], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stderr


def main():
    command = sys.argv[1:]
    if not command:
        sys.exit(__doc__)
    guide = os.path.join(ROOT, "docs", "guide")
    pages = [os.path.join(ROOT, "README.md")]
    pages += [os.path.join(guide, name) for name in sorted(os.listdir(guide)) if name.endswith(".md")]
    programs = {path: program for path in pages if (program := program_of(path))}
    if not programs or compiles(command, "int main() { return undeclared; }\n")[0]:
        sys.exit("check_snippets: it would find nothing")
    failed = 0
    for path, program in programs.items():
        good, complaints = compiles(command, program)
        print(f"{os.path.relpath(path, ROOT)}: {'compiles' if good else 'does not compile'}")
        if not good:
            print(complaints)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
