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


def switches():
    """How often this task was preempted."""
    return int(re.search(r"nonvoluntary_ctxt_switches:\s+(\d+)",
                         lab.read("/proc/self/status")).group(1))


lab.load_gpumon(max_processes=65536, max_rings=1024)
os.sched_setaffinity(0, [0])
other = subprocess.Popen(["sh", "-c", "while :; do :; done"])
try:
    with Gpumon(timeout=120) as g:
        most = 0
        for _ in range(5):
            before, began = switches(), time.process_time()
            g.reset()
            most = max(most, switches() - before)
            print("    %.3f s, %d switches" % (time.process_time() - began, most))
finally:
    other.kill()
    other.wait()
# One is that of the system call's end.
lab.check(most >= 3, "only %d switches during a reset" % most)
lab.rmmod("gpumon")
