#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""tap.py PREFIX PROGRAM...: run programs that print TAP; one verdict line for each of their tests.

A test's name is PREFIX/PROGRAM: TEST. A program that dies, hangs, or ends before all the tests
that it planned is a failure of its own.
"""
import os
import re
import signal
import subprocess
import sys
import time

import verdict

LIMIT = 600
LOG_MAX = 60
RESULT = re.compile(r"(ok|not ok)\b *\d* *(?:- )?(.*?)(?: *# SKIP *(.*))?$")
PLAN = re.compile(r"1\.\.(\d+)")


def call(command, directory):
    """How the program ends, and its lines."""
    environment = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP", NO_COLOR="", LC_ALL="C.UTF-8")
    with subprocess.Popen(command, cwd=directory, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          start_new_session=True) as process:
        try:
            out = process.communicate(timeout=LIMIT * verdict.SLOWER)[0]
            end = f"exit status {process.returncode}"
            if process.returncode < 0:
                end = f"ended by signal {-process.returncode}"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, end = process.communicate()[0], f"it hangs after {LIMIT * verdict.SLOWER} s"
    return end, out.decode("utf-8", "replace").splitlines()


def run(name, command, directory=None):
    """Print the verdicts of a program; its exit status."""
    begin = time.monotonic()
    try:
        end, lines = call(command, directory)
    except OSError as error:
        verdict.report(name, why=error)
        return 1
    plan, results, log = None, [], []
    for line in lines:
        if match := RESULT.match(line):
            results.append((*match.groups(), log, []))
            log = []
        elif match := PLAN.match(line):
            plan = int(match[1])
        elif line.startswith("# ") and results and not log:
            # cmocka's description of a failure follows.
            results[-1][-1].append(line[2:])
        else:
            log.append(line)
    failed = False
    for word, title, skipped, before, after in results:
        if skipped is not None:
            # cmocka repeats the test's name there. The reason is the test's output.
            reason = skipped if title else " ".join(before + after)
            verdict.report(f"{name}: {title or skipped}", skipped=reason or "no reason is given")
        elif word == "ok":
            verdict.report(f"{name}: {title}")
        else:
            failed = True
            verdict.report(f"{name}: {title}", why=" ".join(after), log=before[-LOG_MAX:])
    why = None
    if len(results) != plan:
        why = f"{end}, {len(results)} of {plan or '?'} tests ended"
    elif end != "exit status 0" and not failed:
        why = f"{end}, although no test failed"
    if why:
        verdict.report(name, time.monotonic() - begin, why, log=log[-LOG_MAX:])
    return 1 if failed or why else 0


def main():
    prefix, programs = sys.argv[1], sys.argv[2:]
    failed = False
    for program in programs:
        failed |= run(f"{prefix}/{os.path.basename(program)}", [os.path.abspath(program)])
    return failed


if __name__ == "__main__":
    sys.exit(main())
