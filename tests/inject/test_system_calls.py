# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Which system calls the library makes in the program's launches, as develop/injection.md says."""
import collections
import os
import re
import subprocess

import harness
from harness import Run, need
from verdict import Skip, check, equal


def need_strace():
    need("strace")
    if subprocess.run(["strace", "-k", "-o", "/dev/null", "true"], stderr=subprocess.DEVNULL,
                      check=False).returncode:
        raise Skip("strace cannot trace here, or does not show stacks")


def by_function(*words):
    """System calls of the library in the main thread, with the function that makes them. Without -f the others
    run untraced: the stack of each call takes strace a millisecond.
    """
    log = os.path.join(harness.objects, f"strace-{os.getpid()}")
    run = Run(command=["strace", "-k", "-o", log, f"{harness.objects}/program", *words], blocks=2000)
    equal((run.status, run.errors), (0, ""), "exit status and errors")
    with open(log, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    os.unlink(log)
    calls, name = collections.Counter(), None
    for line in lines:
        if not line.startswith(" > "):
            name = re.match(r"\w+", line)
            name = name and name[0]
        elif name and "libgpumon-inject" in line:
            calls[name, line.split("(")[1].split("+")[0]] += 1
            name = None
    check(calls, "strace shows no stacks of the library")
    return calls


def test_system_calls_of_launches():
    """launches from a known place make no system calls, but to wake a thread for a full buffer"""
    need_strace()
    for what in ("loop", "graph"):
        few, many = by_function(what, "50"), by_function(what, "250")
        more = {call: many[call] - few[call] for call in many if many[call] > few[call]}
        wakes = more.pop(("futex", "inject_wake"), 0)
        # Once for a thread: it reads /proc/self/maps, which is not always as long.
        for where in ("inject_stack_thread_new", "ask_stack"):
            more.pop(("read", where), 0)
        # At the capture's begin and end, and where the program has waited for the GPU, it waits for a
        # thread, unless that is there, or done, already.
        waits = more.get(("futex", "inject_wake_ask"), 0)
        check(waits < 10, f"{waits} waits for the thread by 200 more launches of {what}")
        for where in ("inject_with_own_descriptors", "inject_recorder_start", "wait_in_state",
                      "inject_worker_start", "inject_worker_finish", "inject_wake_ask"):
            more.pop(("futex", where), 0)
        equal(more, {}, f"system calls of 200 more launches of {what}")
        check(wakes < 100, f"{wakes} wakes by 200 more launches of {what}")
