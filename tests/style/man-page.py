#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The pages of gpumon-user have what the tool takes and says: man-page.py [TREE]

Each command has a page, gpumon-user-COMMAND.1 of Documentation/man, which has the long options that cmd_COMMAND.c
names; options that commands share are in one of the pages. Each option in a page has to be one of the tool's.
So is each variable of the environment that user/ and inject/ read. Each line of doctor has to be in the table of
Documentation/user/troubleshooting.md. Prints a line for each that is not, and fails.
"""
import os
import re
import sys

MAN = "Documentation/man"
DOCTOR_PAGE = "Documentation/user/troubleshooting.md"
DOCTOR = re.compile(r'gpumon_doctor_add\(\s*\w+,\s*\w+,\s*"([\w-]+)"')
# Names that follow from a table: what is not seen.
BLIND = re.compile(r'{ "/(?:sys|dev)/[^"]*", "([\w-]+)",')
OPTION = re.compile(r'(?:GPUMON_OPTION\w*|GPUMON_RECORD_BITS|GPUMON_SHOW_TREE_FLAG)\([\s\\]*(?:\w+, )?"([a-z][a-z-]+)"')
VARIABLE = re.compile(r'(?:getenv\("|"(?=GPUMON_))([A-Z][A-Z0-9_]*[A-Z0-9])=?"')
# Not a user's: of other programs, of every program, or for measurements (injection.md has those).
ELSEWHERE = {"PATH", "TERM", "HOME", "SUDO_UID", "SUDO_GID", "SUDO_USER", "GPUMON_LAUNCHES", "GPUMON_NO_INTERNAL",
             "GPUMON_LATE"}


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def files(tree, *folders):
    """(name, text) of each C file."""
    for folder in folders:
        for place, _, names in os.walk(os.path.join(tree, folder)):
            for name in names:
                if name.endswith((".c", ".h")) and "/obj" not in place:
                    yield name, read(place, name)


def sources(tree, *folders):
    return (text for _, text in files(tree, *folders))


def has(page, option):
    return re.search(r"--%s\b(?!-)" % re.escape(option), page)


def commands(tree, pages):
    """What the pages of the commands lack."""
    found = 0
    for name, text in files(tree, "user"):
        command = re.fullmatch(r"cmd_(\w+)\.c", name)
        if command:
            found += 1
            page = f"{MAN}/gpumon-user-{command[1]}.1"
            if page not in pages:
                yield f"{page} is not there"
                continue
            for option in sorted(set(OPTION.findall(text))):
                if not has(pages[page], option):
                    yield f"{page}: --{option} of the command is not there"
    if found < 5:
        yield "the files cmd_COMMAND.c of user/ are not found"


def main():
    tree = sys.argv[1] if len(sys.argv) > 1 else "."
    pages = {f"{MAN}/{name}": read(tree, MAN, name).replace("\\-", "-")
             for name in os.listdir(os.path.join(tree, MAN)) if name.startswith("gpumon-user")}
    said = sorted(commands(tree, pages))
    options = {name for text in sources(tree, "user") for name in OPTION.findall(text)}
    if len(options) < 20:
        said.append("the tables of options in user/ are not found")
    said += [f"{MAN}: --{name} of the tool is in no page" for name in sorted(options)
             if not any(has(page, name) for page in pages.values())]
    said += [f"{path}: --{name} is no option of the tool" for path, page in sorted(pages.items())
             for name in sorted(set(re.findall(r"--([a-z][a-z-]+)", page)) - options - {"help", "version"})]
    variables = {name for text in sources(tree, "user", "inject")
                 for name in VARIABLE.findall(text)} - ELSEWHERE
    said += [f"{MAN}: {name}, which the tool or the library reads, is in no page"
             for name in sorted(variables) if not any(name in page for page in pages.values())]
    table = read(tree, DOCTOR_PAGE)
    lines = {name for text in sources(tree, "user/cmd")
             for name in DOCTOR.findall(text) + BLIND.findall(text)}
    if len(lines) < 10:
        said.append("the lines of doctor in user/cmd are not found")
    said += [f"{DOCTOR_PAGE}: doctor's line {name} is not in the table" for name in sorted(lines)
             if not re.search(r"^\|.*`%s`.*\|.*\|.*\|$" % re.escape(name), table, re.MULTILINE)]
    print("\n".join(said), end="\n" if said else "")
    return bool(said)


if __name__ == "__main__":
    sys.exit(main())
