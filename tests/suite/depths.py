#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel
"""Depths equal the mock's while its rings are held, and go back to 0."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab

lab.load(devices=1, rings=2, hw_limit=4, service_ns=50000, timeout_ms=0)


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
