#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""tap.py reads what programs say: nothing that failed, was left out or did not run passes."""
import contextlib
import io
import re
import sys

import tap
import verdict

# What a program prints, and its exit status: verdicts, and whether the whole fails.
CASES = {
    "all pass": ("1..2\nok 1 - a\nok 2 - b\n", 0, ["ok p: a", "ok p: b"], 0),
    "one fails": ("1..2\nok 1 - a\nnot ok 2 - b\n# why\n", 1, ["ok p: a", "not ok p: b: why"], 1),
    "left out": ("1..2\nok 1 - a # SKIP not here\nok 2 - b\n", 0,
                 ["skip p: a: not here", "ok p: b"], 0),
    "left out, as cmocka says it": ("1..1\nnot here\nnot ok 1 # SKIP a\n", 0, ["skip p: a: not here"], 0),
    "left out without a reason": ("1..1\nok 1 # SKIP a\n", 0, ["skip p: a: no reason is given"], 0),
    "one is missing": ("1..2\nok 1 - a\n", 0,
                       ["ok p: a", "not ok p: exit status 0, 1 of 2 tests ended"], 1),
    "no plan": ("ok 1 - a\n", 0, ["ok p: a", "not ok p: exit status 0, 1 of ? tests ended"], 1),
    "nothing at all": ("", 0, ["not ok p: exit status 0, 0 of ? tests ended"], 1),
    "it fails behind its tests": ("1..1\nok 1 - a\n", 3,
                                  ["ok p: a", "not ok p: exit status 3, although no test failed"], 1),
}


def try_case(text, status, expected, fails):
    said = io.StringIO()
    script = f"import sys; sys.stdout.write({text!r}); sys.exit({status})"
    with contextlib.redirect_stdout(said):
        failed = tap.run("p", [sys.executable, "-c", script])
    # A slow machine's lines end with the seconds.
    lines = [re.sub(r" \([0-9.]+ s\)$", "", line) for line in said.getvalue().splitlines()
             if not line.startswith("    ")]
    verdict.equal((lines, bool(failed)), (expected, bool(fails)))


def killed():
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        failed = tap.run("p", ["/bin/sh", "-c", "echo 1..1; echo ok 1 - a; kill -9 $$"])
    text = re.sub(r" \([0-9.]+ s\)$", "", said.getvalue(), flags=re.MULTILINE)
    verdict.equal((text, failed), ("ok p: a\nnot ok p: ended by signal 9, although no test failed\n", 1))


if __name__ == "__main__":
    tests = [(name.replace(",", "").replace(" ", "-"), lambda case=case: try_case(*case)) for name, case in CASES.items()]
    sys.exit(verdict.run([*tests, ("killed", killed)], "user/tap"))
