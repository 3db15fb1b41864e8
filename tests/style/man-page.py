#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The pages of gpumon-user have what the tool takes and says: man-page.py [TREE]

Each long option of user/ and each variable of the environment that user/ and inject/ read has to be
in Documentation/man/gpumon-user.1, and each option in the page has to be one of the tool's. Each line of
doctor has to be in the table of Documentation/user/troubleshooting.md. Prints a line for each that is not, and fails.
"""
import os
import re
import sys

PAGE = "Documentation/man/gpumon-user.1"
DOCTOR_PAGE = "Documentation/user/troubleshooting.md"
DOCTOR = re.compile(r'gpumon_doctor_add\(\s*\w+,\s*\w+,\s*"([\w-]+)"')
# Names that follow from a table: what is not seen.
BLIND = re.compile(r'{ "/(?:sys|dev)/[^"]*", "([\w-]+)",')
OPTION = re.compile(r'(?:GPUMON_OPTION\w*|GPUMON_RECORD_BITS|GPUMON_SHOW_TREE_FLAG)\([\s\\]*(?:\w+, )?"([a-z][a-z-]+)"')
VARIABLE = re.compile(r'(?:getenv\("|"(?=GPUMON_))([A-Z][A-Z0-9_]*[A-Z0-9])=?"')
# Not a user's: of other programs, of every program, or for measurements (injection.md has those).
ELSEWHERE = {"PATH", "TERM", "HOME", "SUDO_UID", "SUDO_GID", "SUDO_USER", "GPUMON_LAUNCHES", "GPUMON_NO_INTERNAL",
             "GPUMON_LATE"}


def sources(tree, *folders):
    for folder in folders:
        for place, _, names in os.walk(os.path.join(tree, folder)):
            for name in names:
                if name.endswith((".c", ".h")) and "/obj" not in place:
                    with open(os.path.join(place, name), encoding="utf-8") as file:
                        yield file.read()


def main():
    tree = sys.argv[1] if len(sys.argv) > 1 else "."
    with open(os.path.join(tree, PAGE), encoding="utf-8") as file:
        page = file.read().replace("\\-", "-")
    said = []
    options = {name for text in sources(tree, "user") for name in OPTION.findall(text)}
    if len(options) < 20:
        said.append("the tables of options in user/ are not found")
    said += [f"{PAGE}: --{name} of the tool is not there" for name in sorted(options)
             if not re.search(r"--%s\b(?!-)" % re.escape(name), page)]
    said += [f"{PAGE}: --{name} is no option of the tool"
             for name in sorted(set(re.findall(r"--([a-z][a-z-]+)", page)) - options - {"help", "version"})]
    variables = {name for text in sources(tree, "user", "inject")
                 for name in VARIABLE.findall(text)} - ELSEWHERE
    said += [f"{PAGE}: {name}, which the tool or the library reads, is not there"
             for name in sorted(variables) if name not in page]
    with open(os.path.join(tree, DOCTOR_PAGE), encoding="utf-8") as file:
        table = file.read()
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
