# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The pages print what the tool prints.

A block of a page that follows a comment

    <!-- printed by, with N columns: correlate --rows 5 CAPTURE -->

is a part of that output: its lines are there in this order, except those that are only "..." and
those that begin with "$ ".
"""
import pathlib
import re
import shlex

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(r"<!-- printed by, with (\d+) columns: ([^\n]*) -->\n+```\n(.*?)^```$",
                   re.DOTALL | re.MULTILINE)


def blocks():
    """(page, columns, words, lines)"""
    for page in [TOP / "README.md", *sorted((TOP / "Documentation").glob("*/*.md"))]:
        for match in BLOCK.finditer(page.read_text(encoding="utf-8")):
            yield (page.relative_to(TOP), int(match[1]), shlex.split(match[2]),
                   [line.rstrip() for line in match[3].splitlines()])


def captures():
    return {words[-1] for _, _, words, _ in blocks()}


def agree(harness):
    """Every line of every block is in the output, in the same order."""
    found = list(blocks())
    assert found, "no page has a block of output"
    for page, columns, words, lines in found:
        command = [*words[:-1], harness.directory / words[-1]]
        printed = harness.run(*command, columns=columns).decode("utf-8").splitlines()
        at = 0
        for line in lines:
            if not line or line == "..." or line.startswith("$ "):
                continue
            try:
                at = [one.rstrip() for one in printed].index(line, at) + 1
            except ValueError:
                raise AssertionError(f"{page}: {' '.join(words)} with {columns} columns does not "
                                     f"print this any more, or not there: {line}") from None
