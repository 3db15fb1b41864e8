# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Captures of a process that has run already: one after the other, and what each of them has."""
import os
import re
import signal
import socket
import sys

import harness
import recorder as rec
from harness import LIMIT, SANITIZED, Run, Skip, check, equal, notes, until
from test_records import PYTHON


def test_recorder_dies():
    """a recorder that goes away: the program runs on, and the next one may come"""
    run = Run("steady", 10 ** 9, 10 ** 9, wait=False)
    process = run.process
    equal(process.stdout.readline(), "ready\n", "first line")
    until(lambda: run.targets() and run.targets()[0].totals()["launches"] > 200, "it is recorded")
    first = run.targets()[0]
    first.connection.shutdown(socket.SHUT_RDWR)
    run.recorder.close()
    second = attach(process)
    until(lambda: second.totals()["launches"] > 200, "it is recorded again")
    process.send_signal(signal.SIGUSR1)
    process.communicate(timeout=LIMIT)
    equal(process.returncode, 0, "exit status")
    check(second.done.wait(LIMIT), "the second capture does not end")
    run.check_rules()
    for target in (first, second):
        records = target.records()
        check(len(records["launch"]) > 50, "launches")
        for launch in records["launch"]:
            check(launch.stack in records["stacks"] and launch.function in records["strings"],
                  "a capture lacks what the one before had")
    ids = [{r.correlation for r in t.records()["launch"]} for t in (first, second)]
    check(not ids[0] & ids[1], "a launch is in both captures")


def filters():
    """Of system calls, in a container: their number is in the address."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        number = re.search(r"^Seccomp_filters:\s*([1-9]\d*)$", file.read(), re.MULTILINE)
    return "-" + number[1] if number else ""


def attach(process, path=None, **settings):
    """Connect as soon as the library listens."""
    address = path or f"\0gpumon-{os.geteuid()}-{process.pid}{filters()}"

    def connected():
        try:
            return rec.attach(address, **{"flush_ms": 50, **settings})
        except ConnectionError:
            return None
    return until(connected, "the library listens")


def stop(target):
    """End a capture."""
    target.stop()
    check(target.done.wait(LIMIT), "it does not stop")
    target.connection.close()


def complete(records):
    """A capture has all that it refers to, whatever an earlier one of the process had."""
    equal(len(records["process"]), 1, "process records")
    check(records["device"] and records["context"], "what was made before is not there")
    equal({launch.tid for launch in records["launch"]} - {t.tid for t in records["thread"]}, set(),
          "threads that are not there")
    names = {r.function for r in records["launch"]} | {r.name for r in records["kernel"]}
    equal(names - set(records["strings"]), set(), "names that are not there")
    frames = {f.id: f for f in records["frame"]}
    for launch in records["launch"]:
        for address in records["stacks"][launch.stack]:
            if address >> 63:
                frame = frames[address & ~(1 << 63)]
                check(frame.function in records["strings"] and frame.file in records["strings"],
                      "a function of Python has no name")
            else:
                check(any(m.start <= address < m.end for m in records["mapping"]),
                      f"no mapping has {address:#x}")


def test_dormant():
    """dormant without a recorder; switched on and off, twice; the window is said"""
    run = Run("steady", 10 ** 9, 100, recorded=False, wait=False)
    process = run.process
    equal(process.stdout.readline(), "ready\n", "first line")
    equal(process.stdout.readline(), "half\n", "second line")
    captures = []
    for _ in range(2):
        target = attach(process)
        # Its begin is written after the first launches.
        until(lambda target=target: target.records()["window"], "the window begins")
        begun = target.totals()["launches"]
        until(lambda: target.totals()["launches"] - begun > 2000, "launches are counted")
        stop(target)
        equal(target.ended_by, "stop", "how it ended")
        equal(len(run.account(harness.DETACHED)), len(captures) + 1, "captures that left CUPTI")
        captures.append(target)
    process.terminate()
    process.communicate(timeout=LIMIT)
    run.check_rules()
    entries = {e.correlation: e for e in run.account(harness.LAUNCH)}
    kernels = {e.correlation: e for e in run.account(harness.KERNEL)}
    for target in captures:
        records = target.records()
        begin, end = records["window"]
        equal(records["strings"][begin.reason], "attach", "why it began")
        equal(records["strings"][end.reason], "stop", "why it ended")
        launched = {r.correlation for r in records["launch"]}
        # Switching on and off takes time, especially on a busy machine: it is off before the end is
        # reported. Some kinds are already off for the last launches.
        last = sorted(r.start_ns for r in records["launch"])[-50]
        check(end.time_ns - last < 10e9, "the end is said late")
        inside = {c for c, e in entries.items() if begin.time_ns + 150e6 < e.start and e.end < last}
        check(len(inside) > 100, "too few launches to say anything")
        check(inside <= launched, f"{len(inside - launched)} launches in the window are missing")
        told = {k.correlation for k in records["kernel"]}
        check({c for c in inside if c in kernels} <= told, "kernels in the window are missing")
        complete(records)
        equal(target.totals()["launches"], len(launched), "launches in all")


def test_left_with_a_waiting_thread():
    """CUPTI is left while a thread comes back from synchronisations: it is not in a callback then"""
    run = Run("waiting-threads", 1, recorded=False, wait=False)
    equal(run.process.stdout.readline(), "ready\n", "first line")
    for count in range(1, 7):
        target = attach(run.process)
        until(lambda target=target: target.totals()["launches"] > 300, "launches are recorded")
        stop(target)
        equal(len(run.account(harness.DETACHED)), count, "captures that left CUPTI")
    run.process.send_signal(signal.SIGUSR1)
    equal((run.process.communicate(timeout=LIMIT)[1], run.process.returncode), ("", 0), "the program's errors and status")
    run.check_rules()


def test_stays_with_long_synchronisations():
    """CUPTI is not left while a thread is in a call that had a callback; the program and later captures go on"""
    run = Run("waiting-threads", 1, recorded=False, wait=False,
              environment={"MOCK_WAIT_US": "700000", "MOCK_IMPATIENT": "1"})
    equal(run.process.stdout.readline(), "ready\n", "first line")
    for _ in range(3):
        target = attach(run.process)
        until(lambda target=target: target.totals()["launches"] > 2, "launches are recorded")
        stop(target)
    run.process.send_signal(signal.SIGUSR1)
    equal((run.process.communicate(timeout=LIMIT)[1], run.process.returncode), ("", 0), "the program's errors and status")
    run.check_rules()
    check(len(run.account(harness.DETACHED)) < 3, "CUPTI was left each time, with a thread that waits nearly always")


def buffer_sizes(run):
    """In KiB, as they change."""
    sizes = [entry.other >> 10 for entry in run.account(harness.BUFFER)]
    return [size for before, size in zip([None] + sizes, sizes) if size != before]


def capture_with_buffers(run, kib):
    """Notes of a capture of a live process."""
    target = attach(run.process, kib=kib)
    until(lambda: target.totals()["kernels"] > 500, "kernels are recorded")
    stop(target)
    return notes(target.records())


def test_buffers():
    """CUPTI's buffers have the size that the recorder says, another one in each capture"""
    run = Run("steady", 10 ** 9, 100, recorded=False, wait=False)
    for kib in 64, 0, 2048, 1, 10 ** 6:
        equal(capture_with_buffers(run, kib), [], f"notes with {kib}")
    run.process.kill()
    run.process.communicate(timeout=LIMIT)
    run.check_rules()
    # Of 16 MiB, each has at most a fourth.
    equal(buffer_sizes(run), [64, 512, 2048, 16, 4096], "sizes")


def test_kept_buffers():
    """a size that cannot be had, since CUPTI has not given back all buffers, is noted"""
    run = Run("steady", 10 ** 9, 100, recorded=False, wait=False,
              environment={"MOCK_KEEPS_BUFFERS": "1"})
    equal([capture_with_buffers(run, kib) for kib in (0, 64, 0)],
          [[], ["CUPTI's buffers are those of the capture before, of which it has not given all "
                "back"], []], "notes")
    run.process.kill()
    run.process.communicate(timeout=LIMIT)
    equal(buffer_sizes(run), [512], "sizes")


def test_python_again():
    """a second capture of a process has its functions of Python, too"""
    if SANITIZED:
        raise Skip("python3 is not built with the sanitizer")
    run = Run(PYTHON, f"{harness.objects}/libcudart.so.13", 10 ** 9, 0.001,
              command=["/usr/bin/python3", "-c"], recorded=False, wait=False)
    for _ in range(2):
        target = attach(run.process)
        until(lambda target=target: target.totals()["launches"] > 50, "launches are counted")
        stop(target)
        complete(target.records())
        check(target.records()["frame"], "functions of Python")
    run.process.kill()
    run.process.communicate(timeout=LIMIT)


def test_cupti_stays():
    """CUPTI stays loaded before CUDA 12.6, which refuses to unload it, with graphs, and with several threads"""
    for what, environment in ((("steady", 10 ** 9), {"MOCK_VERSION": "23"}),
                              (("steady", 10 ** 9), {"MOCK_FAIL": "cuptiFinalize:999"}),
                              (("steady-graph", 10 ** 9), {}),
                              (("waiting-threads", 4), {})):
        run = Run(*what, 100, recorded=False, wait=False, environment=environment)
        run.process.stdout.readline()
        for _ in range(2):
            target = attach(run.process)
            until(lambda target=target: target.totals()["kernels"] > 20, "kernels are counted")
            stop(target)
            check(target.records()["kernel"], "kernels")
        run.process.terminate()
        run.process.communicate(timeout=LIMIT)
        run.check_rules()
        equal(run.account(harness.DETACHED), [], f"times that CUPTI was left: {what} {environment}")


def test_dormant_file():
    """a dormant library listens at a file if configured, for its own user only"""
    folder = os.path.join(harness.objects, "listen")
    os.makedirs(folder, exist_ok=True)
    run = Run("steady", 10 ** 9, 10, recorded=False, wait=False,
              environment={"GPUMON_LISTEN": folder})
    run.process.stdout.readline()
    path = f"{folder}/gpumon-{os.geteuid()}-{run.process.pid}.sock"
    until(lambda: os.path.exists(path), "the socket is there")
    equal(os.stat(path).st_mode & 0o777, 0o600, "mode")
    target = attach(run.process, path)
    until(lambda: target.totals()["launches"] > 200, "it is recorded")
    run.process.send_signal(signal.SIGUSR1)
    run.process.communicate(timeout=LIMIT)
    check(target.done.wait(LIMIT), "the capture does not end")
    check(len(target.records()["launch"]) > 100, "launches")
    check(not os.path.exists(path), "the file is left behind")


# Has a file of another kind, or a socket, where the library would make its own, and becomes the program.
TAKE_NAME = """
import os, socket, sys
what, folder, *program = sys.argv[1:]
path = f"{folder}/gpumon-{os.geteuid()}-{os.getpid()}.sock"
if what == "file":
    open(path, "w").close()
else:
    taken = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    taken.bind(path)
    taken.listen()
    taken.set_inheritable(what == "listener")
os.execv(program[0], program)
"""


def test_dormant_files_of_others():
    """a dormant library removes no file that it did not make, neither when it begins nor at its end"""
    folder = os.path.join(harness.objects, "listen")
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(harness.objects, "program")
    for what, stays in (("file", True), ("listener", True), ("left", False), ("replaced", True)):
        command = [program] if what == "replaced" else [sys.executable, "-c", TAKE_NAME, what, folder, program]
        run = Run("steady", 10 ** 9, 10, recorded=False, wait=False, command=command,
                  environment={"GPUMON_LISTEN": folder})
        run.process.stdout.readline()
        path = f"{folder}/gpumon-{os.geteuid()}-{run.process.pid}.sock"
        until(lambda path=path: os.path.exists(path), "the name is taken")
        if what == "left":
            target = attach(run.process, path)
            until(lambda target=target: target.totals()["launches"] > 200, "it is recorded")
        if what == "replaced":
            os.unlink(path)
            open(path, "w", encoding="utf-8").close()
        run.process.send_signal(signal.SIGUSR1)
        run.process.communicate(timeout=LIMIT)
        equal(run.status, 0, f"exit status ({what})")
        equal(os.path.exists(path), stays, f"the file is there ({what})")
        if stays:
            os.unlink(path)
