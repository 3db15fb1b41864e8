#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel tool own-boot cpus=3 timeout=600 deep-timeout=3000
"""All storms at once: gpumon and drivers come and go, groups and the event ring are switched, all
is reset and read, CPUs go, memory is short, the machine sleeps. Then an ordinary load is exact.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import lab
import storm
from storm_drivers import Drivers, Nvidia, Scheduler, Vblank
from storm_gpumon import Control, EventReader, Loads, Looker, Records, known_work
from storm_machine import HELPER, Cpus, Pressure, Sleeps, prepare_sleep

GROUPS = ("drm_sched", "amdgpu", "amdgpu_registers", "drm_vblank", "i915", "nvidia", "nvidia_uvm")


def test():
    records = Records()
    # All wait for amdgpu.ko, half of the time. It comes in storm-providers, too.
    drivers = ("amdgpu", "i915") if storm.DEEP else ("i915",)
    storms = [Loads(), Scheduler(exact=False), Nvidia(exact=False), Vblank(exact=False),
              Drivers(drivers, exact=False), Control(None, GROUPS, steady=False), Cpus(off=1),
              Pressure((64, 128))]
    ways = prepare_sleep()
    if ways:
        sleeps = Sleeps(ways)
        # So that a driver has time to load: each suspend takes seconds under TCG.
        sleeps.pause = 2.0, 6.0
        storms.append(sleeps)
    storm.rage(storm.seconds(10), storms,
               last=[EventReader(records, steady=False), EventReader(records, steady=False),
                     Looker(steady=False), Looker(steady=False, tool=False)])
    lab.check_sums()
    known_work()
    if ways:
        lab.rmmod(HELPER)


storm.main(test)
