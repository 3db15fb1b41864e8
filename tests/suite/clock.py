#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel icount cpus=2
"""Whatever the kernel keeps time by, and when that changes: latencies stay those of the mock."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
from gpumon_netlink import Gpumon

CLOCKSOURCE = "/sys/devices/system/clocksource/clocksource0/"
JOBS = 60
SERVICE = 2000000
# Mean nanoseconds between two readings of a clock. They are further apart on a slow CPU.
SLACK = 400000 * lab.SLOWER


def duration_clock():
    return lab.stats()["gpumon"]["duration_clock"]


def latencies(g, clock):
    """Both histograms against the mock's account, since the reset."""
    lab.equal(duration_clock(), clock, "duration_clock")
    g.reset()
    before = lab.wait_idle()["mock_gpu.0", "ring0"]
    lab.submit("-n", JOBS, "-b", JOBS, "-s", SERVICE, "-w")
    mock = lab.wait_idle()["mock_gpu.0", "ring0"]
    for h in g.histograms():
        if h["name"] not in ("queue_ns", "run_ns"):
            continue
        total = mock[h["name"] + "_sum"] - before[h["name"] + "_sum"]
        lab.equal(h["count"], JOBS, "count of %s" % h["name"])
        lab.within(h["sum"], total - JOBS * SLACK, total + JOBS * SLACK,
                   "sum of %s by %s" % (h["name"], clock))
    row = lab.rings()["mock_gpu.0", "ring0"]
    busy = mock["busy_ns"] - before["busy_ns"]
    lab.within(row["busy_ns"], busy - JOBS * SLACK, busy + JOBS * SLACK, "busy_ns by %s" % clock)
    lab.equal((row["clock_backwards"], row["queue_depth"], row["hw_depth"]), (0, 0, 0),
              "clock_backwards, depths")


with open(CLOCKSOURCE + "available_clocksource") as f:
    sources = f.read().split()
with open(CLOCKSOURCE + "current_clocksource") as f:
    first = f.read().strip()
others = [name for name in sources if name != "tsc"]
# Only x86 has several, and the TSC.
changes = [others[0], "tsc", others[-1], first] if others and "tsc" in sources else []


def keep_time_by(name):
    with open(CLOCKSOURCE + "current_clocksource", "w") as f:
        f.write(name)


def expected(name):
    return "tsc" if name == "tsc" else "monotonic"


lab.load(devices=1, rings=1, hw_limit=1, completion="timer", timeout_ms=0)
with Gpumon() as g:
    lab.step("as it is: %s" % first)
    latencies(g, expected(first))
    try:
        for name in changes:
            lab.step("by %s" % name)
            keep_time_by(name)
            lab.until(lambda: duration_clock() == expected(name), "gpumon follows to %s" % name)
            latencies(g, expected(name))
    finally:
        keep_time_by(first)
    lab.check_sums()
