#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest own-boot kernels=sanitised timeout=240
"""drm_vblank on the kernel's display without hardware, vkms (which Debian does not build): rate,
intervals and counts equal those of the kernel's own trace, requested events are joined, and page
flips, which are not queued, are still delivered.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import kms
import lab
import vblank
import vblank_trace as trace
from gpumon_netlink import Gpumon

FLIPS = 40

trace.begin()
with Gpumon() as g:
    card, device = trace.load_driver("vkms")
    with kms.Screen(card) as screen:
        lab.step("%s on %s, %d x %d" % (device, card, screen.width, screen.height))
        client = vblank.Client(screen.row())
        row = trace.compare(g, device, client)
        lab.check(row["queued"] > 50, "only %d vblanks were asked for in three seconds" %
                  row["queued"])

        lab.step("page flips")

        def flip():
            for i in range(FLIPS):
                screen.flip(user_data=i)
                lab.equal(screen.flipped(), i, "the flip that came")

        row, _, counts, _ = trace.observe(g, device, flip)
        lab.equal((row["vblanks"], row["queued"], row["delivered"]),
                  tuple(counts[e] for e in trace.EVENTS),
                  "vblanks, queued and delivered, and in ftrace")
        lab.check(row["vblanks"] >= FLIPS, "%d vblanks for %d flips" % (row["vblanks"], FLIPS))
        lab.equal((row["queued"], row["delivered"]), (0, FLIPS), "queued and delivered of flips")
        lab.equal(row["queue_to_delivery_ns"]["count"], 0, "joined, where nothing was queued")
    if lab.loaded("vkms"):
        lab.step("vkms goes while gpumon watches")
        lab.rmmod("vkms")
    lab.check_sums()
lab.rmmod("gpumon")
