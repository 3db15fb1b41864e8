# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What looks at waiting threads add to recording: a program that decodes and never pauses, recorded with and
without looks in turns, in one process.
"""
import os
import time

import attach
import pairs
import programs
from programs import HERE, PYTHON
from checks_torch import torch_version
from steps import check, figure, note, say

WORKLOAD = "decode"
# The rate with which it is recorded by default.
LOOKS_HZ = 50
SEGMENT_S, MEASURED_S = 0.3, 36
LEAST, MOST = 8, 40
SEED = 51


class Recorder(attach.Recorder):
    """With this many looks a second, and how long it recorded."""

    def __init__(self, pid, looks_hz):
        super().__init__(pid, ["--window", "profiler", "--wait-samples", str(looks_hz)])
        self.seconds = 0

    def __enter__(self):
        self.seconds -= time.monotonic()
        return super().__enter__()

    def __exit__(self, *exception):
        self.seconds += time.monotonic()
        super().__exit__(*exception)

    def wrong(self, has_waits):
        """Unlike complaints(), captures need not be alike: each has what its program did meanwhile."""
        wrong = list(self.errors)
        if not self.counts or any(not launches or not kernels for launches, kernels, _ in self.counts):
            wrong.append(f"captures have {dict(self.counts)} launches, kernels, copies")
        if not self.has_stacks or not self.has_python:
            wrong.append("no stacks, or no functions of Python")
        if self.has_waits != has_waits:
            wrong.append(f"{'' if self.has_waits else 'no '}looks at threads")
        return wrong

    def share(self):
        """Percent of a processor that the library's threads took."""
        return 100 * self.library_ns / max(1, self.seconds * 1e9)


def measure(subject, recorders, seconds):
    """Pairs in which "recorded" is with looks, and "bare" without."""
    def segment(has_looks):
        with recorders[has_looks]:
            # What a capture does once.
            subject.segment(window=True, steps=4)
            return subject.segment(window=True)
    # What each of them does once in a process.
    segment(True)
    segment(False)
    until = time.monotonic() + seconds
    return pairs.measure(segment, MOST, SEED,
                         lambda count: count >= LEAST and time.monotonic() >= until)


def report(measured, recorders):
    for has_looks, recorder in recorders.items():
        wrong = recorder.wrong(has_looks)
        check(not wrong, f"{WORKLOAD} {'with' if has_looks else 'without'} looks: what was recorded",
              "; ".join(wrong))
    s = pairs.summary(measured)
    shares = {name: recorders[has_looks].share() for name, has_looks in (("with", True), ("without", False))}
    say(f"{WORKLOAD}, {LOOKS_HZ} looks a second : none: median {s['median']:.3f}, quartiles {s['q1']:.3f} to "
        f"{s['q3']:.3f}, 95 % {pairs.sure_text(s)}, best : best {s['best']:.3f}, {s['pairs']} pairs; a step "
        f"{pairs.time_text(s['bare'], s['bare'])} without, added {pairs.time_text(s['added'], s['bare'])}")
    note(f"threads of the library: {shares['with']:.2f} % of a processor with looks, {shares['without']:.2f} % "
         "without")
    goal = pairs.goal_line(WORKLOAD, "looks", s, None)
    check(not goal.endswith("MISSED"), goal)
    figure(f"slow-cost.{WORKLOAD}", {"summary": s, "library_percent": shares, "pairs": measured})


def step():
    torch_version()
    words = [PYTHON, os.path.join(HERE, "workloads.py"), WORKLOAD]
    with attach.Subject(words, False, CUDA_INJECTION64_PATH=programs.LIBRARY) as subject:
        subject.calibrate(SEGMENT_S)
        recorders = {has_looks: Recorder(subject.pid, LOOKS_HZ if has_looks else 0)
                     for has_looks in (True, False)}
        measured = measure(subject, recorders, MEASURED_S)
    report(measured, recorders)


STEPS = [(f"slow-cost-{WORKLOAD}", step, 120)]
