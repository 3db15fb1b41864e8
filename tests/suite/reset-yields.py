#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=full kernels=6.1,6.12 icount cpus=2 append=preempt=voluntary
"""A reset of large tables lets a task that wakes up on its processor run before it is over.

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
# It runs at once when it wakes up, unless the kernel is within something that does not yield.
other = subprocess.Popen([sys.executable, "-c", """
import os, time
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
while True:
    time.sleep(0.0005)
"""])
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
# Without a yield there is one for each, at the end of its system call.
lab.check(during >= RESETS * 3 / 2, "only %d switches during %d resets" % (during, RESETS))
lab.rmmod("gpumon")
