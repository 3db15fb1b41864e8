#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=full tool own-boot timeout=300 deep-timeout=3000
"""The machine suspends and resumes under load, as far as it can: no event is lost."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import lab
import storm
from storm_drivers import Jobs
from storm_gpumon import Control, EventReader, Looker, Records, insmod, known_work
from storm_machine import HELPER, Sleeps, prepare_sleep, sleep


def test():
    ways = prepare_sleep()
    if not ways:
        lab.skip("this kernel has no /sys/power/pm_test (CONFIG_PM_DEBUG)")
    lab.load_mock(devices=2, rings=2, service_ns=20000, distribution="exponential")
    insmod()
    possible = []
    for state, level in ways:
        error = sleep(state, level)
        lab.step("%s, %s: %s" % (state, "a real sleep" if level == "none" else "up to " + level,
                                 os.strerror(error) if error else "slept and woke up"))
        if not error:
            possible.append((state, level))
    lab.check(possible, "the machine cannot sleep at all")
    records = Records()
    control = Control(records, read_out=1)
    sleeps = Sleeps(possible, slept=2)
    storm.rage(storm.seconds(4), [Jobs(2), sleeps, control],
               last=[EventReader(records), EventReader(records, blocking=True), Looker(tool=False)])
    control.check(lab.wait_idle(120))
    known_work()
    lab.rmmod(HELPER)


storm.main(test)
