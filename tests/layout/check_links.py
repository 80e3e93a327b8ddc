#!/usr/bin/env python3
"""No dead links in the Markdown of the project: every relative link names a file that is there, every #anchor a heading.

    check_links.py [ROOT]

Code blocks and inline code are not looked at. Runs its own self-test first, so that a rule which has gone blind cannot
pass for clean pages.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIPPED = {".git", "build", "node_modules", "__pycache__"}
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def prose_of(text):
    """The text without fenced blocks and inline code, which may hold anything."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    return re.sub(r"`[^`\n]*`", "code", text)


def anchors_of(text):
    """The anchors of a page's headings: lower case, without punctuation, blanks as dashes."""
    headings = re.findall(r"^#+[ \t]+(.+?)[ \t]*$", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_links(pages, exists):
    """Complaints about `pages`, a map from path to text; `exists` tells of a path whether something is there."""
    found = []
    for path, text in sorted(pages.items()):
        for target in LINK.findall(prose_of(text)):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            there = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
            if not exists(there):
                found.append(f"{path}: {target}: there is no such file")
            elif anchor and there in pages and anchor not in anchors_of(pages[there]):
                found.append(f"{path}: {target}: there is no such heading")
    return found


def self_test():
    pages = {
        "a.md": "# The `x` way\n[b](docs/b.md) [here](#the-x-way) [web](https://example.org) `[no](link.md)`\n"
                "```\n[no](link.md)\n```\n",
        "docs/b.md": "## What it is\n[up](../a.md#the-x-way) [folder](../docs)\n",
    }
    there = lambda path: path in pages or path == "docs"
    assert dead_links(pages, there) == [], dead_links(pages, there)
    for wrong in ("[x](c.md)", "[x](docs/b.md#what)", "[x](#nothing)", "[x](../a.md)"):
        assert len(dead_links({**pages, "a.md": pages["a.md"] + wrong}, there)) == 1, wrong


def pages_below(root):
    pages = {}
    for directory, below, names in os.walk(root):
        below[:] = [name for name in below if name not in SKIPPED]
        for name in names:
            if name.endswith(".md"):
                path = os.path.join(directory, name)
                with open(path, encoding="utf-8") as file:
                    pages[os.path.relpath(path, root)] = file.read()
    return pages


def main():
    self_test()
    root = sys.argv[1] if len(sys.argv) > 1 else ROOT
    pages = pages_below(root)
    complaints = dead_links(pages, lambda path: os.path.exists(os.path.join(root, path)))
    for line in complaints:
        print(line)
    print(f"{len(pages)} pages, {len(complaints)} dead links")
    return 1 if complaints or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
