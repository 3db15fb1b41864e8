#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest tool icount cpus=2 timeout=300
"""The DRM scheduler by BPF, with more jobs than the table has room for: what is lost is counted."""
import contextlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import source_bpf
import tracefs
from source_sched import until_lossless


@contextlib.contextmanager
def slowed(function):
    """Every call of a kernel function costs a stack trace."""
    tracefs.write("kprobe_events", "p:slowed %s\n" % function)
    tracefs.write("options/stacktrace", "1")
    tracefs.enable("kprobes/slowed")
    try:
        yield
        lab.check("slowed:" in tracefs.read(), "%s was traced" % function)
    finally:
        tracefs.enable("kprobes/slowed", False)
        tracefs.write("options/stacktrace", "0")
        tracefs.write("kprobe_events", "")


def more_than_fit():
    before = lab.wait_idle()
    process = lab.held("-d", 1, "-r", 0, "-n", 20)
    counting = source_bpf.Counting()
    lab.submit("-d", 0, "-r", 0, "-n", 20000, "-b", 50, "--inline", "-w", timeout=120)
    holder = [lab.held("-d", 0, "-r", 1, "-n", 6000, wait=False) for _ in range(3)]
    for process in [process] + holder:
        lab.release(process)
    lab.wait_idle()
    return counting.end(), before


source_bpf.need()
lab.load_mock(devices=2, rings=3, hw_limit=4, service_ns=100000, timeout_ms=100000)

lab.step("more jobs in flight than fit: all are counted, some are not followed")
document, before = until_lossless(more_than_fit)
row = source_bpf.rings(document)["mock_gpu.0", "ring1"]
mock = lab.account()["mock_gpu.0", "ring1"]
for column in "queued", "run", "done":
    lab.equal(row[column], mock[column] - before["mock_gpu.0", "ring1"][column], column)
lab.check(row["jobs_table_full"] >= 18000 - 16384, "jobs that found no room: %s" % row)
row = source_bpf.rings(document)["mock_gpu.0", "ring0"]
lab.equal((row["queued"], row["run"], row["done"]), (20000, 20000, 20000), "jobs that end at once")
lab.equal(row["untracked"], 2 * row["jobs_table_full"], "runs and ends of those without room")
lab.equal(row["queue_ns"]["count"] + row["jobs_table_full"], 20000, "latencies of the others")

lab.step("others look for room between the two programs of an event")
# The slow part is a helper that all programs call. Hitting it takes luck.
for _ in range(3 if os.environ.get("GPUMON_DEEP") else 1):
    before = lab.account()["mock_gpu.0", "ring0"]
    counting = source_bpf.Counting()
    holder = [lab.held("-d", 0, "-r", 1, "-n", 5350, wait=False) for _ in range(3)]
    with slowed("bpf_ktime_get_ns"):
        lab.submit("-d", 0, "-r", 0, "-n", 3000, "-t", 4, "-b", 50, "--inline", "-w", timeout=120)
    for process in holder:
        lab.release(process)
    after = lab.wait_idle()["mock_gpu.0", "ring0"]
    document = counting.end()
    row = source_bpf.rings(document)["mock_gpu.0", "ring0"]
    lab.check(row["jobs_table_full"], "jobs that found no room: %s" % row)
    # This slow, a program and its twin may both be skipped, if a third task preempts the two of
    # others.
    lost = sum(p["dropped"]["recursion"] for p in source_bpf.probes(document, "drm_sched").values())
    counts = [row[column] for column in ("queued", "run", "done")]
    happened = [after[column] - before[column] for column in ("queued", "run", "done")]
    print("    lost: %d; counted %r of %r" % (lost, counts, happened))
    lab.check(all(c <= h for c, h in zip(counts, happened)), "nothing is counted twice")
    lab.equal(sum(happened) - sum(counts), lost, "events that are missing, and those lost")
