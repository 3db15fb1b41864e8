# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What an option adds to recording: a program that never pauses, recorded with it and without in turns, in one
process.
"""
import functools
import os
import time
from typing import NamedTuple

import attach
import pairs
import programs
from programs import HERE, PYTHON, program
from checks_torch import torch_version
from steps import check, figure, note, say

# GPUMON_MEASURED_S: longer, for a narrower interval.
SEGMENT_S, MEASURED_S = 0.3, float(os.environ.get("GPUMON_MEASURED_S", "36"))
LEAST, MOST = 8, round(MEASURED_S)
LIMIT_S = round(MEASURED_S + 114)
SEED = 51
# A program in C that only launches: what each launch takes more.
LOOP = "loop"


class Addition(NamedTuple):
    """Options of `record` that are measured, those of the recording beside it, and records that only the first has."""
    name: str
    options: list
    without: list
    kinds: set


# The rate with which threads are looked at by default.
LOOKS = Addition("looks", ["--wait-samples", "50"], ["--wait-samples", "0"], {attach.WAIT})
# CUPTI does one of them at a time.
SAMPLED = (Addition("stalls", ["--stalls"], [], {attach.STALLS}),
           Addition("metrics", ["--gpu-metrics"], [], {attach.SAMPLES}))


class Recorder(attach.Recorder):
    """With the addition or without, and how long it recorded."""

    def __init__(self, pid, addition, is_with, is_python):
        window = ["--window", "profiler"] if is_python else []
        super().__init__(pid, [*window, *(addition.options if is_with else addition.without)])
        self.addition, self.is_with, self.is_python = addition, is_with, is_python
        self.seconds = 0

    def __enter__(self):
        self.seconds -= time.monotonic()
        return super().__enter__()

    def __exit__(self, *exception):
        self.seconds += time.monotonic()
        super().__exit__(*exception)

    def wrong(self):
        """Unlike complaints(), captures need not be alike: each has what its program did meanwhile."""
        wrong = list(self.errors)
        if not self.counts or any(not launches or not kernels for launches, kernels, _ in self.counts):
            wrong.append(f"captures have {dict(self.counts)} launches, kernels, copies")
        if attach.STACK not in self.kinds or (self.is_python and attach.FRAME not in self.kinds):
            wrong.append("no stacks, or no functions of Python")
        if self.kinds & self.addition.kinds != (self.addition.kinds if self.is_with else set()):
            wrong.append(f"records of {self.addition.name}: {sorted(self.kinds & self.addition.kinds)}")
        return wrong

    def share(self):
        """Percent of a processor that the library's threads took."""
        return 100 * self.library_ns / max(1, self.seconds * 1e9)


def measure(subject, recorders, seconds):
    """
    Pairs in which "recorded" is with the addition, and "bare" without: of whole segments, of the median steps
    in them, which a pause of the machine does not change, and of segments by how fast the machine was meanwhile.
    The last ones do not see what the library's threads take from the whole machine.
    """
    medians, scaled = [], []

    def segment(is_with):
        with recorders[is_with]:
            # What a capture does once.
            subject.segment(window=True, steps=4)
            taken = subject.segment(window=True)
            medians.append(subject.median_step)
            scaled.append(taken * subject.steps / (subject.yardstick or 1))
            return taken
    # What each of them does once in a process.
    segment(True)
    segment(False)
    medians.clear()
    scaled.clear()
    until = time.monotonic() + seconds
    whole = pairs.measure(segment, MOST, SEED,
                          lambda count: count >= LEAST and time.monotonic() >= until)

    def same_pairs(values):
        in_order = iter(values)
        return pairs.measure(lambda _: next(in_order), len(whole), SEED)
    return {"whole": whole, **({"median steps": same_pairs(medians)} if subject.median_step else {}),
            **({"by the yardstick": same_pairs(scaled)} if subject.yardstick else {})}


def report(workload, addition, measured, recorders):
    for is_with, recorder in recorders.items():
        wrong = recorder.wrong()
        check(not wrong, f"{workload} {'with' if is_with else 'without'} {addition.name}: what was recorded",
              "; ".join(wrong))
    summaries = {name: pairs.summary(of) for name, of in measured.items()}
    s = summaries["whole"]
    shares = {"with": recorders[True].share(), "without": recorders[False].share()}
    say(f"{workload}, with {addition.name} : without, {s['pairs']} pairs; a step "
        f"{pairs.time_text(s['bare'], s['bare'])} without, added {pairs.time_text(s['added'], s['bare'])}")
    for name, one in summaries.items():
        say(f"{workload}, {name}: median {one['median']:.3f}, quartiles {one['q1']:.3f} to {one['q3']:.3f}, "
            f"95 % {pairs.sure_text(one)}, best : best {one['best']:.3f}")
    note(f"threads of the library: {shares['with']:.2f} % of a processor with {addition.name}, "
         f"{shares['without']:.2f} % without")
    goal = pairs.goal_line(workload, addition.name, summaries.get("by the yardstick", s), None)
    check(not goal or not goal.endswith("MISSED"), goal or f"{workload}: no goal")
    figure(f"cost.{addition.name}.{workload}", {"summaries": summaries, "library_percent": shares, "pairs": measured})


def step(workload, addition):
    is_python = workload != LOOP
    if is_python:
        torch_version()
        words = [PYTHON, os.path.join(HERE, "workloads.py"), workload]
    else:
        words = [program("known"), "segments"]
    with attach.Subject(words, not is_python, CUDA_INJECTION64_PATH=programs.LIBRARY) as subject:
        subject.calibrate(SEGMENT_S)
        recorders = {is_with: Recorder(subject.pid, addition, is_with, is_python)
                     for is_with in (True, False)}
        measured = measure(subject, recorders, MEASURED_S)
    report(workload, addition, measured, recorders)


STEPS = [("slow-cost-decode", functools.partial(step, "decode", LOOKS), LIMIT_S)]
SAMPLED_STEPS = [(f"sampled-cost-{addition.name}-{workload}", functools.partial(step, workload, addition), LIMIT_S)
                 for workload in ("train", "decode", LOOP) for addition in SAMPLED]
