# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Processes that run already: with the library dormant in them, and without it, by uprobes."""
import json
import os
import subprocess
import time

import answers
from programs import (CAPTURES, GPUMON, LIBRARY, SCRATCH, call, environment, profile_of, program,
                      size_of)
from steps import check, equal, figure, note, skip


class Live:
    """A test program that says when it is ready. It ends with the block."""

    def __init__(self, words, name, **more):
        self.prefix = os.path.join(SCRATCH, name + ".account")
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=environment(KNOWN_ACCOUNT=self.prefix,
                                                                   **more))
        self.pid = int(self.process.stdout.readline().split()[1])

    def __enter__(self):
        return self

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def account(self):
        self.process.wait(60)
        with open(f"{self.prefix}.{self.pid}", encoding="utf-8") as file:
            return json.load(file)

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def step_dormant():
    """record -p, twice, of a process in which the library is dormant."""
    with Live([program("known"), "steady", "8"], "dormant",
              CUDA_INJECTION64_PATH=LIBRARY) as live:
        for turn in (1, 2):
            label = f"live process, turn {turn}"
            folder = os.path.join(SCRATCH, f"dormant-{turn}")
            result = call([GPUMON, "record", "-p", str(live.pid), "-d",
                           "1500ms" if turn == 1 else "300ms", "-o", folder], 30,
                          environment(False))
            if not check(result.returncode == 0, f"{label}: record -p", result.stderr[-300:]):
                continue
            profile = profile_of(folder)
            wrong = answers.complaints(profile)
            check(not wrong, f"{label}: matched and unmatched are all there is", "; ".join(wrong))
            sums, wrong = answers.stacks(profile)
            check(sums["wrong"] == [0, 0] and sums["right"][0] > 200,
                  f"{label}: 0 ns on a wrong stack, {sums['right'][1]} ns on the right one",
                  wrong or "")
            launches = profile["missing"]["launches"]
            check(launches["without_work"] < 20 and sums["without"][0] < 20,
                  f"{label}: launches and kernels go together", launches)
            check(not answers.lost(profile), f"{label}: nothing lost", answers.lost(profile) or "")
            figure(f"live.{turn}", {"launches": launches, "stacks": sums})
        check(live.process.poll() is None, "live process: goes on")
        live.process.wait(30)
        equal(live.process.returncode, 0, "live process: its exit status")


ROUNDS = 25
REPLAYED = {name: answers.PLACES[name] | {"replay"} for name in ("kernel<8>", "kernel<9>")}


def come_and_go(graph_threads):
    label = f"recorders come and go, {graph_threads} threads with graphs"
    with Live([program("known"), "crowd", "8", str(graph_threads)], f"crowd-{graph_threads}",
              CUDA_INJECTION64_PATH=LIBRARY) as live:
        kernels, wrong = [], []
        for turn in range(ROUNDS):
            folder = os.path.join(SCRATCH, f"crowd-{turn}")
            result = call([GPUMON, "record", "-p", str(live.pid), "-d", "200ms", "-o", folder], 30,
                          environment(False))
            if result.returncode or live.process.poll() is not None:
                wrong.append(f"round {turn}: {result.returncode} {result.stderr[-200:]}")
                break
            profile = profile_of(folder)
            # A graph from before the capture: its nodes have the stack that launched it.
            sums, off = answers.stacks(profile, {**answers.PLACES, **REPLAYED})
            wrong += [f"round {turn}: {text}" for text in answers.complaints(profile)]
            if sums["wrong"] != [0, 0]:
                wrong.append(f"round {turn}: {sums['wrong'][0]} kernels on a wrong stack: {off}")
            kernels.append(sums["right"][0])
            call(["rm", "-rf", folder], 10)
        check(not wrong, f"{label}: {len(kernels)} captures", "; ".join(wrong))
        check(len(kernels) == ROUNDS and min(kernels) > 100,
              f"{label}: each has kernels on the right stack", kernels)
        figure(f"live.come_and_go.{graph_threads}", {"kernels": kernels})
        if check(live.process.poll() is None, f"{label}: the program goes on"):
            live.process.stdin.close()
            equal(live.process.wait(30), 0, f"{label}: its exit status")


def step_come_and_go():
    """Recorders start and stop while eight threads launch, and CUPTI is loaded and unloaded with
    them.
    """
    come_and_go(0)
    come_and_go(1)


CUT = "[stack cut off]"


def hits_by_place(profile):
    """Calls by the innermost known function above them, or CUT."""
    result = {}
    for number, node in enumerate(profile["nodes"]):
        if not node["count"]:
            continue
        by = answers.launcher(profile, number)
        if by is None and answers.reason(profile, number) == CUT:
            by = CUT
        result[by] = result.get(by, 0) + node["count"]
    return result


def uprobes(name):
    label = f"uprobes, {name}"
    folder = os.path.join(CAPTURES, f"uprobes-{name}")
    count = 100
    os.makedirs(CAPTURES, exist_ok=True)
    words_path = os.path.join(SCRATCH, f"uprobes-{name}.err")
    with Live([program(name), "told", str(count)], f"uprobes-{name}") as live, \
            open(words_path, "w", encoding="utf-8") as words, \
            subprocess.Popen([GPUMON, "record", "-p", str(live.pid), "-o", folder],
                             stdout=words, stderr=words, env=environment(False)) as recorder:
        try:
            # Wait until it reports that it is attached. Errors come at once.
            until = time.monotonic() + 20
            while recorder.poll() is None and os.path.getsize(words_path) == 0 and \
                    time.monotonic() < until:
                time.sleep(0.05)
            if recorder.poll() is None:
                live.go()
                live.account()
            recorder.wait(20)
        finally:
            if recorder.poll() is None:
                recorder.kill()
    with open(words_path, encoding="utf-8") as file:
        err = file.read()
    if recorder.returncode == 77:
        lines = err.strip().splitlines()
        equal(len(lines), 1, f"{label}: a refusal is one line")
        skip(label, err.strip())
        figure(f"uprobes.{name}", {"refused": err.strip()})
        return
    if not check(recorder.returncode == 0, f"{label}: record -p", err[-500:]):
        return
    note(err.strip().replace("\n", " | "))
    account = live.account()
    should = {next(iter(answers.PLACES[f"kernel<{k}>"])): v["launched"]
              for k, v in account["kernels"].items()}
    # Launched before it was told to start.
    should.pop("place<2>")
    profile = profile_of(folder, "--cpu-only")
    by = hits_by_place(profile)
    figure(f"uprobes.{name}", {"by": by, "lost": answers.lost(profile), "bytes": size_of(folder)})
    check(not answers.lost(profile), f"{label}: nothing lost", answers.lost(profile) or "")
    if name == "known-stripped":
        launched = sum(v for v in by.values())
        check(launched >= sum(should.values()), f"{label}: {sum(should.values())} launches",
              launched)
        return
    # Stacks are truncated until gpumon-user has sent the unwind rules for code that was just seen.
    cut = by.get(CUT, 0)
    is_ = {k: v for k, v in by.items() if k in should}
    check(all(is_.get(k, 0) <= v for k, v in should.items()) and
          0 <= sum(should.values()) - sum(is_.values()) <= cut < sum(should.values()),
          f"{label}: {sum(should.values())} launches, each on the stack that made it, or cut off",
          f"{is_}, {cut} cut off, waits too")


def step_uprobes():
    for name in ("known", "known-static", "known-stripped"):
        uprobes(name)


def step_refusals():
    """What cannot be recorded is refused in one line, with the documented exit status."""
    folder = os.path.join(SCRATCH, "refused")
    for label, words, status, part in (
            ("no such program", ["/nowhere/program"], (1, 2, 127), "/nowhere/program"),
            ("a program without CUDA", ["true"], (0,), "no process used CUDA")):
        result = call([GPUMON, "record", "-o", folder, "--", *words], 30, environment(False))
        check(result.returncode in status and part in result.stderr and
              len(result.stderr.strip().splitlines()) <= 2, f"refusals: {label}",
              f"{result.returncode}: {result.stderr.strip()}")
        call(["rm", "-rf", folder], 10)
    # Another subscriber of CUPTI came first: nothing breaks, and the capture reports it.
    result = call([GPUMON, "record", "-o", folder, "--", program("known"), "mixed", "20"], 60,
                  environment(GPUMON_CUPTI="/nowhere/libcupti.so"))
    check(result.returncode == 77 and "no CUPTI found" in result.stderr,
          "refusals: GPUMON_CUPTI names no file, the program runs", f"{result.returncode}: {result.stderr[-300:]}")


STEPS = [("dormant", step_dormant, 60), ("come-and-go", step_come_and_go, 120),
         ("uprobes", step_uprobes, 100),
         ("refusals", step_refusals, 60)]
