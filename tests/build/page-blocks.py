#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""page-blocks.py PAGE TREE: does in a tree what the blocks of a page say

A line that begins with a path in `backquotes` names the file of the next block. A block of code is that file. A
block of diff has hunks, with an empty line between: lines that have to be there (" "), that are taken out ("-")
and that come ("+"). All of what a hunk takes has to stand together in one place.
"""
import os
import re
import sys


def blocks(text):
    """(path, language, lines) of each block that has a path."""
    for match in re.finditer(r"^`([\w./-]+)`[^\n]*\n\n```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        yield match[1], match[2], match[3].splitlines()


def hunks(lines):
    """Lists of lines; an empty line ends one."""
    found = [[]]
    for line in lines:
        if line:
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return [hunk for hunk in found if hunk]


def patched(path, text, lines):
    for hunk in hunks(lines):
        old = "".join(line[1:] + "\n" for line in hunk if line[0] in " -")
        new = "".join(line[1:] + "\n" for line in hunk if line[0] in " +")
        if text.count(old) != 1:
            sys.exit(f"{path}: {text.count(old)} places have this:\n{old}")
        text = text.replace(old, new)
    return text


def main():
    page, tree = sys.argv[1:]
    with open(page, encoding="utf-8") as file:
        found = list(blocks(file.read()))
    if not found:
        sys.exit(f"{page}: no block with a path")
    for path, language, lines in found:
        place = os.path.join(tree, path)
        if language == "diff":
            with open(place, encoding="utf-8") as file:
                text = patched(path, file.read(), lines)
        else:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            text = "\n".join(lines) + "\n"
        with open(place, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
