# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Programs that run and were not prepared: the library is brought into them (record -p)."""
import os
import statistics

import answers
from attach import Recorder, Subject
from checks_live import Live
from checks_torch import python_share, torch_version
from programs import CAPTURES, GPUMON, HERE, LIBRARY, PYTHON, SCRATCH, call, environment, profile_of, program
from steps import Skip, check, equal, figure

WORKLOADS = os.path.join(HERE, "workloads.py")
TIMES = 20
PROCESSES = 4


def libraries(pid):
    """Inodes of the library's copies in a process."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        return {line.split()[4] for line in file if "libgpumon-inject.so" in line}


def record(name, pids, *options, keep=False):
    """The profile of a recording of running processes, None if there is none."""
    folder = os.path.join(CAPTURES if keep else SCRATCH, name)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    words = [word for pid in pids for word in ("-p", str(pid))]
    result = call([GPUMON, "record", "-o", folder, *words, *options], 30, environment(False, GPUMON_INJECT=LIBRARY))
    if not check(result.returncode == 0 and "uprobes" not in result.stderr, f"{name}: record -p",
                 f"{result.returncode}: {result.stderr[-500:]}"):
        return None
    return profile_of(folder)


def is_whole(name, profile):
    """Everything that was launched has a stack, and nothing is lost."""
    missing = profile["missing"]
    figure(f"attach.{name}", missing)
    check(not answers.complaints(profile), f"{name}: matched and unmatched are all there is",
          "; ".join(answers.complaints(profile)))
    check(not answers.lost(profile), f"{name}: nothing lost", answers.lost(profile) or "")
    with_work, without = missing["launches"]["with_work"], missing["launches"]["without_work"]
    check(with_work > 200 and without < 20, f"{name}: launches and kernels go together", missing["launches"])
    check(not any(missing["works"]["no_stack"].values()), f"{name}: all have a stack", missing["works"])


def attach_known():
    """Several processes at once, all unprepared; each kernel is below the function that launched it."""
    lives = [Live([program("known"), "steady", "5"], f"attach-{i}") for i in range(PROCESSES)]
    try:
        equal([libraries(live.pid) for live in lives], [set()] * PROCESSES, "attach: libraries before")
        for turn in (1, 2):
            name = f"attach-known-{turn}"
            profile = record(name, [live.pid for live in lives], "-d", "800ms", keep=turn == 1)
            if not profile:
                break
            is_whole(name, profile)
            sums, wrong = answers.stacks(profile)
            check(sums["wrong"] == [0, 0] and sums["right"][0] > 200,
                  f"{name}: 0 ns on a wrong stack, {sums['right'][1]} ns on the right one", wrong or "")
            equal([len(libraries(live.pid)) for live in lives], [1] * PROCESSES, f"{name}: libraries")
        for live in lives:
            check(live.process.poll() is None, "attach: the program goes on")
            live.process.wait(30)
            equal(live.process.returncode, 0, "attach: the program's exit status")
    finally:
        for live in lives:
            live.__exit__()


def attach_torch():
    """PyTorch trains: 20 recordings while it does; then it is as fast as before."""
    torch_version()
    with open(os.path.join(SCRATCH, "attach-torch.err"), "w+", encoding="utf-8") as errors, \
            Subject([PYTHON, WORKLOADS, "train-small"], False, errors) as subject:
        before = [subject.segment(steps=10) for _ in range(8)][2:]
        recorders = []
        for _ in range(TIMES):
            with Recorder(subject.pid, []) as recorder:
                subject.segment(steps=4)
            recorders.append(recorder)
        launches = [sum(one for one, _, _ in recorder.counts) for recorder in recorders]
        check(min(launches) > 500, f"attach, PyTorch: {TIMES} recordings, each with launches", launches)
        check(all(r.has_stacks and r.has_python for r in recorders), "attach, PyTorch: all have stacks of Python",
              [(r.has_stacks, r.has_python) for r in recorders])
        check(not any(r.errors for r in recorders), "attach, PyTorch: nothing lost",
              [r.errors for r in recorders if r.errors])
        equal(len(libraries(subject.pid)), 1, "attach, PyTorch: copies of the library")
        after = [subject.segment(steps=10) for _ in range(8)][2:]
        ratio = min(after) / min(before)
        figure("attach.torch", {"before_ns": before, "after_ns": after, "launches": launches})
        check(ratio < 1.25, f"attach, PyTorch: a step takes {ratio:.3f} of before, when recordings have ended",
              f"medians {statistics.median(before):.0f}, {statistics.median(after):.0f}")
        attach_torch_whole(subject)
    equal(subject.process.returncode, 0, "attach, PyTorch: exit status")


def attach_torch_whole(subject):
    """A capture that is kept, with its call paths."""
    subject.process.stdin.write("plain 150\n")
    subject.process.stdin.flush()
    profile = record("attach-torch", [subject.pid], "-d", "600ms", keep=True)
    subject.line(60)
    if not profile:
        return
    is_whole("attach-torch", profile)
    share = python_share(profile)
    # PyTorch launches the backward pass in a thread without Python.
    check(share > 0.3, f"attach, PyTorch: {share:.3f} of GPU time is below functions of Python")


def step_attach_live():
    attach_known()
    try:
        attach_torch()
    except Skip as reason:
        check(False, f"attach, PyTorch: {reason}")


STEPS = [("attach-live", step_attach_live, 90)]
