#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=full kernels=6.1,6.12 append=preempt=voluntary
"""A reset of large tables lets other tasks of its processor run before it is over.

Newer kernels preempt by themselves.
"""
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
from gpumon_netlink import Gpumon


RESETS = 40


def switches():
    """How often this task was preempted."""
    return int(re.search(r"nonvoluntary_ctxt_switches:\s+(\d+)",
                         lab.read("/proc/self/status")).group(1))


lab.load_gpumon(max_processes=65536, max_rings=1024)
os.sched_setaffinity(0, [0])
other = subprocess.Popen(["sh", "-c", "while :; do :; done"])
try:
    with Gpumon(timeout=120) as g:
        before, began = switches(), time.process_time()
        for _ in range(RESETS):
            g.reset()
        during, took = switches() - before, time.process_time() - began
finally:
    other.kill()
    other.wait()
print("    %d resets took %.3f s, %d switches" % (RESETS, took, during))
# One is that of a system call's end, in each of them.
lab.check(during >= RESETS * 3 / 2, "only %d switches during %d resets" % (during, RESETS))
lab.rmmod("gpumon")
