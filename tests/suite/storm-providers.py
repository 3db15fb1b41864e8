#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel tool own-boot timeout=600 deep-timeout=3000
"""gpu_sched and its user, amdgpu, i915, NVIDIA's and displays come and go while gpumon's probes
fire and readers read: what each says of itself is what gpumon counted more, in every cycle, and
nothing of theirs stays.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import lab
import storm
from storm_drivers import Drivers, Nvidia, Scheduler, Vblank, remove
from storm_gpumon import Control, EventReader, Looker, Records, insmod, known_work, unload


def test():
    insmod()
    records = Records()
    providers = [Scheduler(compared=1), Nvidia(compared=1), Vblank(compared=1), Drivers(compared=1)]
    # No resets, and no groups are switched off here: gpumon stays attached.
    control = Control(records, resets=False)
    storm.rage(storm.seconds(8), providers + [control],
               last=[EventReader(records, records=50), EventReader(records), Looker()])
    control.check()
    # amdgpu may still have used it when the mock GPU was unloaded.
    if lab.loaded("gpu_sched"):
        remove("gpu_sched")
    lab.step("all drivers are gone, and nothing is on its way")
    for group in lab.stats()["groups"]:
        lab.check(group["state"] in ("waiting", "off") or group["group"] == "drm_vblank",
                  "state of %(group)s: %(state)s" % group)
    for key, row in lab.rings().items():
        lab.equal((row["live"], row["hw_depth"] or 0, row["queue_depth"] or 0), (0, 0, 0),
                  "live and depths of %s" % (key,))
    lab.check_sums()
    unload()
    known_work()


storm.main(test)
