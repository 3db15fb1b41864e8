#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Links of the pages lead somewhere: links.py FILE...

For each .md file, every relative link must name a file or folder that exists, and its #anchor a
heading of that page, and each path in `backquotes` below kmod/, user/, inject/, bpf/ or tests/ must be there
(* and {a,b} as in a shell; a word in capitals stands for any). Pages of develop/ name no C file that is nowhere.
MAINTAINERS' files must be there, too. In every file, a path that begins with Documentation/ and ends in .md or in a
man page's section must exist. Prints a line for each that does not, and fails if there is one.
"""
import glob
import os
import re
import sys

# ![text](target "title") and [text](target); code spans and blocks are taken out before.
LINK = re.compile(r'\]\(\s*<?([^)\s>]*)>?(?:\s+"[^"]*")?\s*\)')
PATH = re.compile(r"\bDocumentation/[\w./-]+?\.(?:md|svg|png|yaml|[18])\b")
# At the beginning of a line: such a file is made of the block below, see tests/build/page-blocks.py.
MADE = re.compile(r"^`([\w./-]+)`", re.MULTILINE)
CODE = re.compile(r"(?<=.)`((?:kmod|user|inject|bpf|tests)/[\w./*{},-]+)(?=[ `])")
SOURCE = re.compile(r"(?<=.)`([\w./-]+\.[ch])`")
FILES = re.compile(r"^F:\t(.*)$", re.MULTILINE)
BUILT = re.compile(r"user/gpumon-user$|inject/(obj|libgpumon|gpumon-preload)|tests/nvidia/nvidia_calls$")
ANY = re.compile(r"(?<![A-Z])(?!README)[A-Z]{3,}(?![A-Z])")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")
# Of the kernel's tree, which has a Documentation/ too.
KERNEL = re.compile(r"Documentation/(?:bpf|netlink/(?!specs/gpumon)|admin-guide|process)/?")


def anchors(text):
    """The anchors that the usual renderers give to the headings of a page."""
    found = set()
    for line in re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE).splitlines():
        heading = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if not heading:
            continue
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).replace("`", "")
        name = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        count = 0
        while (f"{name}-{count}" if count else name) in found:
            count += 1
        found.add(f"{name}-{count}" if count else name)
    return found


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except UnicodeDecodeError:
        return ""


def there(pattern):
    """Is there a file of this name, in which * and {a,b} are a shell's?"""
    choice = re.search(r"{([^{}]*)}", pattern)
    if choice:
        return all(there(pattern[:choice.start()] + one + pattern[choice.end():])
                   for one in choice[1].split(","))
    return bool(glob.glob(ANY.sub("*", pattern)))


def broken(path):
    """A line for each link of this file that leads nowhere."""
    text = read(path)
    if path == "Documentation/MAINTAINERS":
        for name in " ".join(FILES.findall(text)).split():
            if not there(name):
                yield f"{path}: {name} is not there"
    made = MADE.findall(text) if path.endswith(".md") else ()
    for match in PATH.finditer(text):
        if not KERNEL.match(match[0]) and match[0] not in made and not os.path.exists(match[0]):
            yield f"{path}: {match[0]} is not there"
    if not path.endswith(".md"):
        return
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    prose = re.sub(r"^(?: {4}|\t).*$", "", prose, flags=re.MULTILINE)
    for name in CODE.findall(prose) if not path.startswith("tests/results/") else ():
        if not BUILT.match(name) and not there(name):
            yield f"{path}: {name} is not there"
    if path.startswith("Documentation/develop/"):
        for name in SOURCE.findall(prose):
            if not ANY.search(name) and not any(("/" + one).endswith("/" + name) for one in sys.argv):
                yield f"{path}: {name} is nowhere"
    prose = re.sub(r"`[^`\n]*`", "``", prose)
    for match in LINK.finditer(prose):
        target, _, anchor = match[1].partition("#")
        if ELSEWHERE.match(match[1]):
            continue
        page = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        if not os.path.exists(page):
            yield f"{path}: {match[1]} is not there"
        elif anchor and page.endswith(".md") and anchor not in anchors(read(page)):
            yield f"{path}: {match[1]}: no such heading"


def main():
    found = [line for path in sys.argv[1:] for line in broken(path)]
    print("\n".join(found), end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
