# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Which system calls the library makes in the program's launches, as develop/injection.md says."""
import collections
import os
import re
import subprocess

import harness
from harness import WAIT, Run, need
from verdict import Skip, check, equal


def need_strace():
    need("strace")
    if subprocess.run(["strace", "-k", "-o", "/dev/null", "true"], stderr=subprocess.DEVNULL,
                      check=False).returncode:
        raise Skip("strace cannot trace here, or does not show stacks")


def by_function(*words, **settings):
    """System calls of the library in the main thread, with the function that makes them. Without -f the others
    run untraced: the stack of each call takes strace a millisecond.
    """
    log = os.path.join(harness.objects, f"strace-{os.getpid()}")
    run = Run(command=["strace", "-k", "-o", log, f"{harness.objects}/program", *words], blocks=2000,
              **settings)
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
    equal(WAIT in run.only().records()["unknown"], settings["wait_hz"] > 0, "looks at threads")
    return calls


def test_system_calls_of_launches():
    """launches from a known place make no system calls, but to wake a thread for a full buffer, also while
    another thread looks which threads wait, and while kernels are sampled
    """
    need_strace()
    readable = ("futex", "inject_stack_readable")
    most_readable = 0
    for what, looks, stalls in (("graph", 0, 0), ("loop", 0, 0), ("loop", 50, 0), ("loop", 0, 16)):
        few, many = (by_function(what, n, wait_hz=looks, stalls=stalls) for n in ("50", "250"))
        more = {call: many[call] - few[call] for call in many if many[call] > few[call]}
        wakes = more.pop(("futex", "inject_wake"), 0)
        # A rule for a place is made once, by the main thread or by the one that looks: the faster one.
        if looks and many[readable] <= most_readable:
            more.pop(readable, 0)
        most_readable = many[readable]
        # Once for a thread: it reads /proc/self/maps, which is not always as long.
        for where in ("inject_stack_thread_new", "ask_stack"):
            more.pop(("read", where), 0)
        # At the capture's begin and end, and where the program has waited for the GPU, it waits for a
        # thread, unless that is there, or done, already.
        waits = more.get(("futex", "inject_wake_ask"), 0)
        check(waits < 10, f"{waits} waits for the thread by 200 more launches of {what}")
        for where in ("inject_threads_run_unshared", "inject_recorder_start", "wait_in_state",
                      "inject_worker_start", "inject_worker_finish", "inject_wake_ask"):
            more.pop(("futex", where), 0)
        # The thread that looks holds the lock of rules while it makes one, and the main thread may come just then.
        meets = more.pop(("futex", "inject_rule_lock"), 0) if looks else 0
        check(meets < 10, f"{meets} waits for rules by 200 more launches of {what}")
        equal(more, {}, f"system calls of 200 more launches of {what}, {looks} looks, stalls {stalls}")
        check(wakes < 100, f"{wakes} wakes by 200 more launches of {what}")
