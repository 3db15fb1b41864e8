# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Programs that forbid themselves system calls end as they do alone, and are recorded."""
import os
import platform
import signal
import subprocess
import sys
import time

import capture
from capture import LIMIT, Capture, Skip, check, contains, equal, until
from listening import wait_listening

# By number, x86-64: what the program itself needs in its sandbox, with threads also memory for malloc().
FUTEX, WRITE, EXIT_GROUP, FOR_THREADS, FOR_FORK = 202, 1, 231, (9, 10, 11, 12), (14, 56, 61, 273, 334)
# Read, readlink, newfstatat, poll, close, getpid, gettid, nanosleep and the like are not there.
STRICT = (FUTEX, WRITE, EXIT_GROUP)


def need_numbers():
    if platform.machine() != "x86_64":
        raise Skip("numbers of calls are those of x86-64")
    if os.environ.get("SANITIZE"):
        raise Skip("a sanitizer makes calls of its own")


def program():
    return f"{capture.objects}/program_sandbox"


def alone(*words):
    done = subprocess.run([program(), *map(str, words)], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          text=True, check=False, env=capture.environment(), timeout=LIMIT)
    equal((done.returncode, done.stdout), (7, "refused 0\n"), f"alone, {words}")


def recorded(*words, launches):
    """As alone, and with all launches."""
    alone(*words)
    run = Capture(*words, program=[program()], status=7)
    equal(run.output, "refused 0\n", f"calls that were refused, {words}")
    equal(len(run["launch"]), launches, f"launches, {words}")
    return run


def test_sandbox():
    """none but three calls are allowed: killed, trapped or refused; with threads that launch first in it"""
    need_numbers()
    run = recorded("kill", "exit", 0, *STRICT, launches=80)
    equal(len(run["kernel"]), 80, "kernels")
    contains(run.summary(), "forbade itself system calls (seccomp)", "summary")
    for action in ("trap", "errno"):
        run = recorded(action, "exit", 4, *STRICT, *FOR_THREADS, launches=240)
        equal(len(run["kernel"]), 240, "kernels")
        run.all_have_stacks()


def test_sandbox_ends():
    """the program ends by _exit(), or forks, in its sandbox"""
    need_numbers()
    recorded("kill", "_exit", 0, *STRICT, launches=80)
    recorded("kill", "fork", 2, *STRICT, *FOR_THREADS, *FOR_FORK, launches=160)


# Starts a program with calls forbidden, as containers and services do: ACTION NUMBER,... PROGRAM...
FILTERED = """
import ctypes, os, struct, sys
action, numbers = int(sys.argv[1], 16), [int(number) for number in sys.argv[2].split(",")]
lines = [(0x20, 0, 0, 0)]
for number in numbers:
    lines += [(0x15, 0, 1, number), (0x06, 0, 0, action)]
lines.append((0x06, 0, 0, 0x7fff0000))
filter = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
program = struct.pack("HxxxxxxQ", len(lines), ctypes.addressof(filter))
prctl = ctypes.CDLL(None, use_errno=True).prctl
if prctl(38, 1, 0, 0, 0) or prctl(22, 2, program):
    sys.exit("no filter")
os.execv(sys.argv[3], sys.argv[3:])
"""
KILL, TRAP, REFUSE = "80000000", "30000", "50001"
POLL, MADVISE, SOCKET, CLOSE_RANGE = 7, 28, 41, 436


def filtered(action, *numbers):
    return [sys.executable, "-c", FILTERED, action, ",".join(map(str, numbers))]


# A call that does not exist: nothing is refused.
NOTHING = "-9999"


def test_closed():
    """a program closes all descriptors, the library's socket among them: it is recorded to its end"""
    need_numbers()
    # As in old container runtimes, close_range() is refused.
    for words in ([], filtered(REFUSE, CLOSE_RANGE)):
        run = Capture("errno", "close", 0, NOTHING, program=[*words, program()], status=7)
        equal((len(run["launch"]), len(run["kernel"])), (80, 80), f"launches and kernels, {words[:1]}")
        contains(run.summary(), "Nothing is missing", "summary")


def test_sandbox_from_start():
    """a filter that was there first would end the process for a call of the library: it makes none"""
    need_numbers()
    for action, number in ((KILL, POLL), (TRAP, SOCKET), (KILL, MADVISE)):
        run = Capture("errno", "exit", 1, NOTHING, program=[*filtered(action, number), program()], status=7, expect=0)
        equal(run.output, "refused 0\n", "calls that were refused")
        contains(run.done.stderr, "nothing was recorded", "what record says")


def on_this_clock(*before):
    """Kernels of a program with another clock ran while it did."""
    begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    run = Capture("errno", "exit", 0, NOTHING, program=[*before, program()], status=None)
    end = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    if run.done.returncode == 1 and "unshare" in run.done.stderr:
        raise Skip("no time namespace of one's own")
    equal(run.done.returncode, 7, "exit status")
    equal(len(run["kernel"]), 80, "kernels")
    for work in run.works():
        check(begin < work.start_ns <= work.end_ns < end, f"it ran at {work.start_ns}, not from {begin} to {end}")
    process, = run["process"]
    check(begin - 1e9 < process.start_ns < end, f"the process began at {process.start_ns}, not after {begin}")


def test_other_clocks():
    """in a time namespace, and with clocks that a preloaded library moves"""
    on_this_clock("unshare", "-T", "--monotonic", "1000000", "--boottime", "2000000")
    if not os.environ.get("SANITIZE"):
        on_this_clock("/usr/bin/env", f"LD_PRELOAD={capture.objects}/libother_clock.so")


def started(*words):
    """Dormant, and before its sandbox."""
    process = subprocess.Popen([program(), *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env=capture.environment(OPENCL_LAYERS=f"{capture.objects}/libgpumon-inject.so"))
    wait_listening(process.pid)
    return process


def go_on(process):
    process.stdin.write("\n")
    process.stdin.flush()


def is_in_sandbox(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        return "\nSeccomp:\t2" in file.read()


def blocked_signals(process):
    """Of the library's threads."""
    for task in os.listdir(f"/proc/{process.pid}/task"):
        with open(f"/proc/{process.pid}/task/{task}/status", encoding="ascii") as file:
            lines = dict(line.rstrip("\n").split(":\t", 1) for line in file)
        if lines["Name"] == "gpumon":
            mask = int(lines["SigBlk"], 16)
            yield {number for number in range(1, 65) if mask >> (number - 1) & 1}


def test_signals():
    """the library's threads block the program's signals, and none of their own faults"""
    faults = {signal.SIGSYS, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP}
    with started("errno", "wait", 0, NOTHING) as process:
        # The one that looks at waiting threads comes when the recording has begun.
        found = until(lambda: len(found := list(blocked_signals(process))) == 2 and found, "two threads of the library")
        for blocked in found:
            equal(blocked & faults, set(), "faults that are blocked")
            check({signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD, 40} <= blocked,
                  f"only these are blocked: {blocked}")
        ended(process)


def ended(process):
    equal((process.communicate(timeout=LIMIT)[0], process.returncode), ("refused 0\n", 7), "how the program ended")


def test_sandbox_attach():
    """record -p leaves a program in a sandbox alone; one that goes into it during the recording goes on"""
    need_numbers()
    with started("kill", "wait", 0, *STRICT, 0) as process:
        go_on(process)
        until(lambda: is_in_sandbox(process), "its sandbox")
        folder = f"{capture.objects}/gpumon-opencl-sandbox-{process.pid}"
        done = subprocess.run([capture.tool, "record", "-o", folder, "--no-driver", "-p", str(process.pid), "-d", "0.2"],
                              stderr=subprocess.PIPE, text=True, check=False, env=capture.environment())
        contains(done.stderr, "seccomp", "what the recorder says")
        check(process.poll() is None, "the program has ended")
        ended(process)
    with started("kill", "wait", 0, *STRICT, 0) as process:
        path = f"{capture.objects}/gpumon-opencl-during-{process.pid}"
        with subprocess.Popen([capture.tool, "record", "-o", path, "--no-driver", "-p", str(process.pid)],
                              stderr=subprocess.PIPE, text=True, env=capture.environment()) as recorder:
            until(lambda: os.path.isdir(path) and any(name.startswith("process") for name in os.listdir(path)),
                  "it is recorded")
            go_on(process)
            until(lambda: is_in_sandbox(process), "its sandbox")
            recorder.send_signal(signal.SIGINT)
            contains(recorder.communicate(timeout=LIMIT)[1], "1 process", "what the recorder says")
        check(process.poll() is None, "the program has ended")
        ended(process)
