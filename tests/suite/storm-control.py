#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest tool timeout=300 deep-timeout=3000
"""Groups are switched, all is reset, the event ring is switched and resized, and several readers
read: the books balance, to the event.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import lab
import storm
from gpumon_netlink import Gpumon
from storm_drivers import Jobs, NvidiaWork
from storm_gpumon import (Control, EventReader, Looker, Records, insmod, known_work)

GROUPS = "amdgpu", "amdgpu_registers", "drm_vblank", "i915", "nvidia", "nvidia_uvm"


def round_trip(groups, exact):
    records = Records()
    control = Control(records, groups, read_out=1)
    # Some sleep in read(), some in poll(), some do not sleep.
    readers = [EventReader(records), EventReader(records),
               EventReader(records, blocking=True), Looker(), Looker(tool=False)]
    readers[0].least["records"] = 100
    storm.rage(storm.seconds(3), [Jobs(3), NvidiaWork(), control], last=readers)
    control.check(lab.wait_idle(120) if exact else None)
    with Gpumon() as g:
        lab.equal([row["name"] for row in g.groups() if not row["enabled"]],
                  [], "groups that are still off")


def test():
    lab.load_mock(devices=2, rings=2, service_ns=20000, distribution="exponential")
    insmod()
    lab.step("drm_sched stays on: it has what the mock says, over all resets")
    round_trip(GROUPS, True)
    lab.step("drm_sched goes off and on as well")
    round_trip(("drm_sched",) + GROUPS, False)
    known_work()


storm.main(test)
