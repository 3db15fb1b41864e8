# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A program that is measured in segments, and its recorder."""
import collections
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

from programs import GPUMON, LIBRARY, SCRATCH, TOP, environment, program

sys.path.insert(0, os.path.join(TOP, "tests/capture"))
import reference  # noqa: E402

# Bytes at the beginning of a capture with new stacks and functions.
LOOKED_AT = 8 << 20
# Kinds of records (user/abi/format.h).
FRAME, STACK, WAIT, STALLS, SAMPLES = 6, 7, 25, 48, 51


class Subject:
    """
    Runs segments of steps on request: workloads.py, or known.cu. errors: a file for its messages, and
    those of a recorder that starts it.
    """

    def __init__(self, words, own, errors=None, **variables):
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=errors, text=True, env=environment(own, **variables))
        self.steps = 1
        self.median_step = self.yardstick = None
        try:
            word, pid, *self.version = self.line(180).split()
        except BaseException:
            self.end()
            raise
        if word != "ready":
            raise RuntimeError(f"{words}: says {word}")
        self.pid = int(pid)

    def line(self, seconds):
        """One line of its output. It is killed if it takes too long."""
        timer = threading.Timer(seconds, self.process.kill)
        timer.start()
        try:
            text = self.process.stdout.readline()
        finally:
            timer.cancel()
        if not text:
            raise RuntimeError(f"the program ended: {self.process.wait(10)}")
        return text

    def segment(self, window=False, steps=None):
        """
        ns for a step; window: between cudaProfilerStart and cudaProfilerStop. median_step, yardstick: as
        workloads.py says them, None of other programs.
        """
        steps = steps or self.steps
        self.process.stdin.write(f"{'window' if window else 'plain'} {steps}\n")
        self.process.stdin.flush()
        taken, *more = map(float, self.line(60).split())
        self.median_step, self.yardstick = more if more else (None, None)
        return taken / steps

    def calibrate(self, seconds):
        """Warm up, and choose the number of steps for the wanted segment length."""
        for _ in range(4):
            self.segment(steps=8)
        taken = 0
        while taken < seconds / 2 and self.steps < 1 << 24:
            # A single one may be slow for any reason.
            taken = min(self.segment() for _ in range(3)) * 1e-9 * self.steps
            self.steps = max(1, round(self.steps * min(64, seconds / taken)))
        for _ in range(4):
            self.segment()

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def cpu_ns(path):
    """Processor time of a process or thread by its path below /proc, in steps of a tick."""
    with open(f"/proc/{path}/stat", encoding="utf-8") as file:
        user, system = map(int, file.read().rsplit(")", 1)[1].split()[11:13])
    return (user + system) * 1000000000 // os.sysconf("SC_CLK_TCK")


def thread_ns(pid, tid):
    """Processor time of a thread: exactly, where the kernel says so."""
    try:
        with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="utf-8") as file:
            return int(file.read().split()[0])
    except (FileNotFoundError, IndexError):
        return cpu_ns(f"{pid}/task/{tid}")


def library_ns(pid):
    """Processor time of the library's threads in a process: they pass on what CUPTI delivers, and look at
    threads that wait.
    """
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{tid}/comm", encoding="utf-8") as file:
                if file.read() == "gpumon\n":
                    total += thread_ns(pid, tid)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return total


class Recorder:
    """`gpumon-user record -p` on a process with the library asleep, while each block runs."""

    def __init__(self, pid, options):
        self.pid, self.options = pid, options
        self.folder = os.path.join(SCRATCH, f"bench-{pid}")
        self.process = None
        self.counts = collections.Counter()
        self.kinds = set()
        self.errors = []
        self.bytes = self.cpu_ns = self.library_ns = 0

    def channels(self):
        """
        Inodes of the channels that the library has mapped. The files do not say whether it records:
        a ring has none before the first record.
        """
        with open(f"/proc/{self.pid}/maps", encoding="utf-8") as file:
            return {line.split()[4] for line in file if "memfd:gpumon-channel" in line}

    def written(self):
        """Files of records: of the capture, or of the last one of a ring."""
        captures = sorted(glob.glob(os.path.join(self.folder, "capture-*")))
        return glob.glob(os.path.join((captures or [self.folder])[-1], "process-*.records"))

    def __enter__(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        before = self.channels()
        self.library_ns -= library_ns(self.pid)
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(
            [GPUMON, "record", "-o", self.folder, "--no-driver", "--no-names", *self.options,
             "-p", str(self.pid)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, env=environment(False, GPUMON_INJECT=LIBRARY))
        until = time.monotonic() + 30
        while not self.channels() - before:
            if self.process.poll() is not None or time.monotonic() > until:
                late = self.process.poll() is None
                self.process.kill()
                raise RuntimeError(f"record -p: {'nothing recorded after 30 s ' if late else ''}"
                                   f"{self.process.stderr.read()[-300:]}")
            time.sleep(0.01)
        return self

    def __exit__(self, *_):
        self.cpu_ns += cpu_ns(self.process.pid)
        self.library_ns += library_ns(self.pid)
        self.process.send_signal(signal.SIGINT)
        try:
            errors = self.process.communicate(timeout=60)[1]
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.take(errors)
        self.look()
        self.bytes += sum(os.path.getsize(path) for path in self.written())
        shutil.rmtree(self.folder, ignore_errors=True)

    def take(self, errors):
        """
        From the recorder's last lines: how much it recorded and lost, and whether buffers were not
        those that it asked for.
        """
        match = re.search(r"(\d+) launches, (\d+) kernels, (\d+) copies", errors)
        self.counts[tuple(map(int, match.groups())) if match else (0, 0, 0)] += 1
        self.errors += [line for line in errors.splitlines() if "lost" in line or "buffers" in line]

    def look(self):
        """What kinds of records there are."""
        for path in self.written():
            with open(path, "rb") as file:
                data = file.read(LOOKED_AT)
            self.kinds |= {kind for kind, _, _ in reference.all_records(data)}

    def costs(self):
        """What a launch costs besides the time of the program's threads: room on disk, and time."""
        launches = max(1, sum(one * number for (one, _, _), number in self.counts.items()))
        return (f"{self.bytes / launches:.1f} bytes a launch, {self.cpu_ns / launches:.0f} ns of the "
                f"recorder's processor time, {self.library_ns / launches:.0f} ns of the library's "
                "threads")

    def complaints(self, segments, stacks, python, exact=True):
        """
        What is wrong with captures that should all have the same segments, or a kernel or a copy
        for each launch. Not exact: some records come at any time.
        """
        wrong = []
        if len(self.counts) != 1:
            wrong.append(f"captures that are alike have {dict(self.counts)}")
        for launches, kernels, copies in self.counts:
            alike = not (launches % segments or kernels % segments)
            if not launches or not kernels or exact and not alike and launches != kernels + copies:
                wrong.append(f"{launches} launches, {kernels} kernels, {copies} copies and sets in "
                             f"{segments} segments")
        if (STACK in self.kinds) != stacks:
            wrong.append(f"{'no ' if stacks else ''}stacks")
        if python is not None and (FRAME in self.kinds) != python:
            wrong.append(f"{'no ' if python else ''}functions of Python")
        # What runs behind the end of a window is counted as lost, as it has to be.
        return wrong + [text for text in self.errors if exact or "at the end of a window" not in text]


class Uprobe:
    """The uprobe of the common approach, on a library, while the block runs."""

    def __init__(self, library):
        self.library = library
        self.process = None
        self.seen = self.lost = 0

    def __enter__(self):
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(
            [program("launch_uprobe"), program("launch_uprobe.bpf.o"), self.library,
             "cudaLaunchKernel"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=environment(False))
        if self.process.stdout.readline().strip() != "ready":
            self.process.wait(10)
            raise PermissionError(" ".join(self.process.stderr.read().split())[-400:])
        return self

    def __exit__(self, *_):
        try:
            numbers = self.process.communicate("", timeout=20)[0].split()
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        seen, lost = map(int, numbers)
        self.seen += seen
        self.lost += lost
