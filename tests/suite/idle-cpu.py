#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=full own-boot timeout=240
"""A sleeping CPU does not keep tables from making room: gpumon is loaded on a CPU that is idle
from then on, and all activity is on the other.
"""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from gpumon_netlink import Gpumon
from lab import DEBUGFS, check, equal, insmod, load_gpumon, load_scheduler, rmmod, step, until

ROOM = 64


def churn(line):
    with open(DEBUGFS + "/churn_gpu/command", "w") as f:
        f.write(line)


load_scheduler()
insmod("fire_gpu")
insmod("churn_gpu")
busy, idle = sorted(os.sched_getaffinity(0))[0], sorted(os.sched_getaffinity(0))[-1]
check(busy != idle, "this needs two CPUs")

step("gpumon is loaded on CPU %d, which has nothing to do from then on" % idle)
os.sched_setaffinity(0, {idle})
load_gpumon(max_rings=ROOM)
# Move everything else to the busy CPU, for good.
os.sched_setaffinity(0, {busy})
subprocess.run("for t in /proc/[0-9]*; do taskset -p -c %d ${t##*/}; done" % busy, shell=True,
               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
with Gpumon() as g:
    churn("storm jobs=2000 rings=%d threads=1" % ROOM)
    equal(g.info()["rings"], ROOM, "rings while they are there")
    churn("end")
    begin = time.monotonic()
    # One per second makes 17 s. With a timer that waits until its CPU wakes up it was 52 s.
    until(lambda: g.info()["rings"] < ROOM * 3 // 4, "rings that are gone made room", timeout=30)
    step("room after %.1f s" % (time.monotonic() - begin))
rmmod("gpumon")
rmmod("churn_gpu")
rmmod("fire_gpu")
