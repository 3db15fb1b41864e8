# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Processes that outlive the program are recorded to their end, or the output says that they are
not.
"""
import os
import signal

from check_missing import nothing_is_missing
from kit import contains, equal, test

AWAY = ">/dev/null 2>&1 </dev/null &"
# While a process executes a program, its environment cannot be read, and it is not seen.
READY = "while [ ! -e ready ]; do sleep 0.02; done;"
WAITS = b"still run"


def told(process):
    """Wait until it says that it waits for background processes."""
    line = process.stderr.readline()
    contains(line.decode(), WAITS.decode(), "what it waits for")
    return line


@test
def recorded_already(kit):
    process = kit.start("record", "-o", "capture", "--", "sh", "-c",
                        f"{kit.player} record touch=ready await=go record {AWAY} "
                        f"{READY} exit 3")
    contains(told(process).decode(), "--wait=first", "how not to wait")
    kit.touch("go")
    done = kit.end(process)
    equal(done.returncode, 3, "the program's status")
    # It sends a new hello each time.
    kit.capture().check(2, 200)
    equal(nothing_is_missing(kit, "capture"), True, "all of it is there")


@test
def not_using_cuda_yet(kit):
    process = kit.start("record", "-o", "capture", "--", "sh", "-c",
                        f"{kit.player} touch=ready await=go record {AWAY} {READY} exit 0")
    told(process)
    kit.touch("go")
    equal(kit.end(process).returncode, 0, "status")
    kit.capture().check(1, 100)


@test
def grandchildren(kit):
    """In their own sessions, and with a parent that has exited."""
    process = kit.start("record", "-o", "capture", "--", "sh", "-c",
                        f"setsid sh -c '{kit.player} touch=ready await=go children=3 record {AWAY}' "
                        f"{AWAY} {READY} exit 0")
    told(process)
    kit.touch("go")
    equal(kit.end(process).returncode, 0, "status")
    kit.capture().check(3, 300)


@test
def first(kit):
    """Neither recorded nor recordable processes are waited for. Both are reported."""
    for number, (before, part) in enumerate((("record touch=ready0 stop", "--wait=all waits"),
                                             ("touch=ready1", "no process used CUDA"))):
        name = f"capture{number}"
        done = kit.run("record", "--wait=first", "-o", name, "--", "sh", "-c",
                       f"{kit.player} {before} sleep=100000 {AWAY} "
                       f"while [ ! -e ready{number} ]; do sleep 0.02; done; echo $!; exit 4")
        os.kill(int(done.stdout), signal.SIGKILL)
        equal(done.returncode, 4, "status")
        contains(done.stderr.decode(), part, name)
        contains(done.stderr.decode(), "1 process that the program started still ran", name)
        equal(nothing_is_missing(kit, name), False, name)


@test
def interrupted(kit):
    """A signal ends the wait, and the output says that something was cut off."""
    process = kit.start("record", "-o", "capture", "--", "sh", "-c",
                        f"{kit.player} record touch=ready stop sleep=100000 {AWAY} "
                        f"{READY} echo $!")
    told(process)
    done = kit.end(process, signal.SIGINT)
    os.kill(int(done.stdout), signal.SIGKILL)
    equal(done.returncode, 0, "status")
    contains(done.stderr.decode(), "still ran when recording ended", "message")
    kit.capture().check(1, 100)
    equal(nothing_is_missing(kit, "capture"), False, "the rest")


@test
def wrong_word(kit):
    done = kit.run("record", "--wait=some", "--", "true")
    equal(done.returncode, 2, "status")
    contains(done.stderr.decode(), "neither all nor first", "message")
