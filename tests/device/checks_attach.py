# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Programs that run and were not prepared: the library is brought into them (record -p)."""
import json
import os
import shutil
import statistics
import subprocess
import time

import answers
from attach import FRAME, STACK, Recorder, Subject
from checks_live import Live
from checks_torch import python_share, torch_version
from programs import CAPTURES, GPUMON, HERE, LIBRARY, PYTHON, SCRATCH, call, environment, profile_of, program
from steps import Skip, check, equal, figure, note

WORKLOADS = os.path.join(HERE, "workloads.py")
TIMES = 200
PROCESSES = 4
SERVERS = 8


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


def files(pid):
    """How many descriptors of each kind a process has; names of sockets and pipes differ."""
    folder = f"/proc/{pid}/fd"
    return sorted(os.readlink(f"{folder}/{fd}").split("[")[0] for fd in os.listdir(folder))


class Server:
    """server.cu, and a client of eight threads that keeps it busy for some seconds."""

    def __init__(self, words, box=None):
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [*(box or []), *words, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment())
        _, inner, port = self.process.stdout.readline().split()
        # In a PID namespace of its own it is the last child, and does not know its number out here.
        self.pid = self.process.pid
        while box and (children := self.children(self.pid)):
            self.pid = children[0]
        self.inner, self.port = int(inner), port
        self.client = None

    @staticmethod
    def children(pid):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]

    def load(self, seconds):
        self.client = subprocess.Popen(  # pylint: disable=consider-using-with
            [program("server"), "load", self.port, str(seconds), "8"], stdout=subprocess.PIPE, text=True, env=environment())

    def loaded(self):
        return json.loads(self.client.communicate(timeout=60)[0])

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait(30)


def check_server(name, server, keep=False):
    """Recorded under load, from 1 s to some 2 s of 4 s. Returns the ratio of answers a second after and before."""
    before = files(server.pid)
    server.load(4)
    time.sleep(1)
    profile = record(name, [server.pid], "-d", "400ms", keep=keep)
    answers_of = server.loaded()
    equal((answers_of["wrong"], answers_of["ended"]), (0, 0), f"{name}: answers that are wrong, connections that ended")
    left = [kind for kind in files(server.pid) if kind not in before]
    check(not left, f"{name}: descriptors that are new in the server", left or "")
    if profile:
        is_whole(name, profile)
        sums, wrong = answers.stacks(profile)
        check(sums["wrong"] == [0, 0] and sums["right"][0] > 200,
              f"{name}: 0 ns on a wrong stack, {sums['right'][1]} ns on the right one", wrong or "")
        for text in profile["recording"]["notes"]:
            note(f"{name}: note: {text}")
    # In each 20 ms. Not those in which the client connects, nor the last, which are cut off.
    usual, after = (statistics.median(answers_of["answers"][part]) for part in (slice(10, 45), slice(-50, -3)))
    slowest = min(answers_of["answers"][45:-3])
    note(f"{name}: {usual:.0f} answers in 20 ms before, at least {slowest} while the recording began and ended, {after:.0f} after")
    return after / usual


def attach_server():
    """Eight servers of C++, one after the other, each under load when the library comes in."""
    ratios = []
    for number in range(SERVERS):
        server = Server([program("server")])
        try:
            ratios.append(check_server(f"attach-server-{number}", server, keep=number == 0))
        finally:
            equal(server.end(), 0, f"attach-server-{number}: the server's exit status")
    figure("attach.server", ratios)
    check(statistics.median(ratios) > 0.9, f"attach, server: answers a second after : before, median of {SERVERS}",
          ", ".join(f"{ratio:.3f}" for ratio in ratios))


def attach_container():
    """A server with a PID and a mount namespace of its own, in which the folder of gpumon is not to be seen."""
    box = os.path.join(SCRATCH, "box")
    os.makedirs(box, exist_ok=True)
    shutil.copy(program("server"), box)
    server = Server([os.path.join(box, "server")], ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c",
                                                    f'mount -t tmpfs none {os.path.dirname(LIBRARY)} && "$@"', "sh"])
    try:
        check(server.inner != server.pid, f"attach, container: process {server.inner} there is {server.pid} here")
        check(not os.path.exists(f"/proc/{server.pid}/root{LIBRARY}"), "attach, container: no library in it")
        ratio = check_server("attach-container", server)
        check(ratio > 0.8, "attach, container: answers a second after : before", f"{ratio:.3f}")
    finally:
        equal(server.end(), 0, "attach, container: exit status")


def attach_torch():
    """PyTorch trains: 200 recordings while it does; then it is as fast as before."""
    torch_version()
    with open(os.path.join(SCRATCH, "attach-torch.err"), "w+", encoding="utf-8") as errors, \
            Subject([PYTHON, WORKLOADS, "train-small"], False, errors) as subject:
        before = [subject.segment(steps=10) for _ in range(8)][2:]
        recorders, open_before = [], files(subject.pid)
        for _ in range(TIMES):
            with Recorder(subject.pid, []) as recorder:
                subject.segment(steps=1)
            recorders.append(recorder)
        launches = [sum(one for one, _, _ in recorder.counts) for recorder in recorders]
        check(min(launches) > 500, f"attach, PyTorch: {TIMES} recordings, each with launches",
              f"{min(launches)} to {max(launches)}")
        equal(files(subject.pid), open_before, "attach, PyTorch: open files")
        without = [number for number, r in enumerate(recorders) if not {STACK, FRAME} <= r.kinds]
        check(not without, "attach, PyTorch: all have stacks of Python", f"not recordings {without}")
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


def step_attach_server():
    attach_server()
    attach_container()


STEPS = [("attach-live", step_attach_live, 300), ("attach-server", step_attach_server, 120)]
