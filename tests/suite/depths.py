#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel
"""Depths and busy time equal the mock's, also while its rings are held; depths go back to 0."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import files
import lab

# Of one busy time, in nanoseconds: the CPU may be taken away between the two clock readings.
SLACK = 20000000 * lab.SLOWER

lab.load(devices=1, rings=2, hw_limit=4, service_ns=50000, timeout_ms=0)
START = time.monotonic_ns()


def depths(row):
    return tuple(row[c] for c in ("queue_depth", "queue_depth_max", "hw_depth", "hw_depth_max"))


def check(key, should):
    """Both agree, once the scheduler has handed over all that it can."""
    lab.until(lambda: lab.account()[key]["hw_depth"] == should[2], "jobs on the hardware")
    mock = lab.account()[key]
    lab.equal((mock["queue_depth"], mock["hw_depth"]), (should[0], should[2]), "the mock's depths")
    lab.until(lambda: depths(lab.rings()[key])[2] == should[2], "hw_depth of %s" % (key,))
    is_ = depths(lab.rings()[key])
    lab.equal((is_[0], is_[2]), (should[0], should[2]), "depths of %s" % (key,))
    # The highest queue depth depends on how fast the scheduler took the first jobs. The mock counts
    # a job from before the push until run_job(). The tracepoints are within that time, so it may
    # have one more at either end.
    lab.within(is_[1], should[0], should[0] + should[2], "queue_depth_max of %s" % (key,))
    lab.within(is_[1], mock["queue_depth_max"] - 2, mock["queue_depth_max"],
               "queue_depth_max of %s against the mock's" % (key,))
    lab.equal(is_[3], mock["hw_depth_max"], "hw_depth_max of %s" % (key,))


first, second = ("mock_gpu.0", "ring0"), ("mock_gpu.0", "ring1")

lab.step("fewer jobs than the hardware takes")
process = lab.held("-r", 0, "-n", 3, "-b", 3)
check(first, (0, None, 3, None))
lab.release(process)
mock = lab.wait_idle()
lab.check_counts(mock)

lab.step("more jobs than the hardware takes, on two rings at once")
process = lab.held("-r", "0,1", "-n", 60, "-b", 1)
check(first, (26, None, 4, None))
check(second, (26, None, 4, None))
lab.release(process)
mock = lab.wait_idle()
ours = lab.check_counts(mock)

lab.step("the highest depths stay")
for key in first, second:
    is_ = depths(ours[key])
    lab.equal((is_[0], is_[2], is_[3]), (0, 0, 4), "depths of %s at the end" % (key,))
    lab.within(is_[1], 26, 30, "queue_depth_max of %s at the end" % (key,))


def busy(key):
    return lab.rings()[key]["busy_ns"]


def busy_as(key, mock, slack):
    """(least, most) nanoseconds that a ring was busy by the mock, which counts from run_job() on. On one
    processor other tasks run between the tracepoint and run_job(), and the ring is busy until then.
    """
    most = mock[key]["busy_ns"] + slack if os.sysconf("SC_NPROCESSORS_ONLN") > 1 else time.monotonic_ns() - START
    return mock[key]["busy_ns"] - slack, most


lab.step("busy time of jobs that overlap, on two rings")
for key in first, second:
    lab.within(busy(key), *busy_as(key, mock, SLACK), "busy_ns of %s" % (key,))

lab.step("busy time goes on while a job runs, also over a reset; an idle ring has none")
idle = busy(second)
with files.gpumon() as g:
    process = lab.held("-r", 0, "-n", 3, "-b", 3)
    lab.until(lambda: lab.rings()[first]["hw_depth"] == 3, "3 on the hardware")
    before, begin = busy(first), time.monotonic_ns()
    lab.until(lambda: time.monotonic_ns() - begin > 5 * SLACK, "some time has passed")
    passed, more = time.monotonic_ns() - begin, busy(first) - before
    lab.within(more, passed - SLACK, time.monotonic_ns() - begin + SLACK, "busy_ns of a held ring")
    lab.equal(busy(second), idle, "busy_ns of an idle ring")
    reset = g.reset()
    lab.check(busy(first) < 10 * SLACK, "a reset divides the busy time")
    lab.release(process)
    mock = lab.wait_idle()
    if not lab.CORE:
        closed = {(r["device"], r["name"]): r for r in g.rings(reset["closed"])}[first]["busy_ns"]
        lab.check(closed >= before + more, "the closed period has the busy time until then")
        lab.within(busy(first) + closed, *busy_as(first, mock, 3 * SLACK), "both periods")
    after = busy(first)
lab.equal(busy(first), after, "busy_ns of a ring that has become idle")
