#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=full tool own-boot memory=1024 timeout=400 deep-timeout=3000 append=mem=1500M
"""Memory is short, and processes that allocate are killed: gpumon reports what it could not get,
leaves nothing behind, and works the next time.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import lab
import storm
from storm_drivers import Jobs
from storm_gpumon import known_work, insmod, unload
from storm_machine import Pressure, Short


def test():
    lab.load_mock(devices=1, rings=2, service_ns=20000)
    # Once before, so that first-time allocations do not count as a leak.
    insmod()
    unload()
    before = storm.quiet_memory()
    short = Short()
    storm.rage(storm.seconds(6), [short, Pressure(), Jobs(1, memory=False)])
    now = storm.quiet_memory()
    lab.step("memory before %r, after %d turns %r" % (before, short.counts["turns"], now))
    storm.check_memory(before, now, short.counts["turns"])
    known_work()


storm.main(test)
