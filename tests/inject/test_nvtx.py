# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Windows that NVTX ranges open, and names that ranges have."""
import collections
import os

import harness
import recorder as rec
from harness import LIMIT, Run, compare_all
from test_captures import attach, stop
from verdict import check, equal, until


def run(scenario, **more):
    return Run(command=[f"{harness.objects}/nvtx_windows", scenario],
               environment={"NVTX_INJECTION64_PATH": f"{harness.objects}/libgpumon-inject.so"},
               **more)


def kernels(records):
    return dict(collections.Counter(records["strings"][k.name] for k in records["kernel"]))


def window(scenario, inside):
    done = run(scenario, window=rec.RANGE, name="wanted")
    equal((done.status, done.errors), (0, ""), "exit status")
    records = done.only().records()
    done.check_rules()
    equal(kernels(records), {"inside": inside}, "kernels")
    equal(len(records["launch"]), inside, "launches")
    return records


def test_nvtx_window_overlap():
    """a window is open until the last of the ranges that opened it ends"""
    records = window("overlap", 5)
    equal(len(records["window"]), 6, "begins and ends")


def test_nvtx_errno():
    """errno is the program's, also where a range opens and closes a window"""
    window("errors", 1)


def test_nvtx_window_domains():
    """a pop ends the last range of its domain"""
    window("domains", 1)


def test_nvtx_window_threads():
    """no opening is lost if another thread closes at the same time"""
    window("threads", 4000)


def test_nvtx_names():
    """as many names as there is room for, and each lost one is counted"""
    done = run("names", record=rec.DEFAULT | rec.RANGES, blocks=2000)
    records = done.only().records()
    marks = [records["strings"].get(r.text) for r in records["range"]]
    equal(len(marks), 12000, "marks")
    lost = done.only().totals()["lost"]
    equal(marks.count(None), lost.get(6, 0), "names without a text are counted")
    equal({name: count for name, count in lost.items() if name != 6}, {}, "other losses")
    equal(lost.get(6, 0), 0, "lost names")


def test_nvtx_window_again():
    """a range that an earlier capture saw open does not keep the window of a later one shut"""
    environment = {"NVTX_INJECTION64_PATH": f"{harness.objects}/libgpumon-inject.so"}
    sleeping = Run(recorded=False, wait=False, environment=environment,
                   command=["sh", "-c", f"exec {harness.objects}/nvtx_windows again <$0",
                            fifo(harness.objects)])
    process = sleeping.process
    with open(fifo(harness.objects), "w", encoding="ascii") as go:
        equal(process.stdout.readline(), "ready\n", "first line")
        for inside in (1, 2):
            target = attach(process, window=rec.RANGE, name="wanted")
            # What is mapped is written when CUPTI is ready.
            until(lambda target=target: target.records()["mapping"], "it has begun")
            go.write("\n")
            go.flush()
            equal(process.stdout.readline(), "done\n", "its answer")
            stop(target)
            equal(kernels(target.records()), {"inside": inside}, f"kernels of capture {inside}")
    process.communicate(timeout=LIMIT)
    sleeping.check_rules()


def test_nvtx_before_fork():
    """a child that uses CUDA, and its parent only NVTX: its threads are its own, as are their ranges"""
    done = run("child", record=rec.DEFAULT | rec.RANGES)
    equal((done.status, done.errors), (0, ""), "exit status")
    target = done.only()
    records = compare_all(done, target)
    equal([launch.tid == target.pid for launch in records["launch"]], [True, False], "threads of launches")
    equal([(records["strings"][r.text], r.tid) for r in records["range"]], [("of the parent", target.pid)],
          "ranges that are open")


def fifo(folder):
    path = os.path.join(folder, f"go-{os.getpid()}")
    if not os.path.exists(path):
        os.mkfifo(path)
    return path
