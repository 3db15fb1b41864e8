#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest own-boot cpus=8 memory=512 kernels=6.1,6.12,7 timeout=120
# vm: not-sanitised=these VMs have the memory that is to be lacking; fault-allocations lets it fail there
"""A larger event ring than there is memory for, or than may be pinned of it: it is refused with a
reason, and the old one can still be read.
"""
import errno
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from gpumon_netlink import Gpumon, NetlinkError
from lab import EVENTS, check, equal, fail, load, step, submit, wait_idle

load(devices=1, rings=2)
g = Gpumon()
g.event_ring_set(1, 64)
submit("-n", 20, "-w")
wait_idle()
g.event_ring_set(0)
before = g.event_ring()
equal((before["enabled"], before["size_kib"], before["pending"]), (0, 64, 60), "the old ring")

for mib in 64, 8:
    step("%d MiB for each of 8 processors, of 512 MiB" % mib)
    try:
        g.event_ring_set(1, mib << 10)
        fail("it is not refused")
    except NetlinkError as e:
        equal(errno.errorcode[e.errno], "ENOMEM", "the refusal")
        check("size-kib" in e.message, "the refusal says %r" % e.message)
    equal(g.event_ring(), before, "the ring afterwards")
with open(EVENTS, "rb", buffering=0) as f:
    equal(len(f.read(1 << 16)), 60 * 88, "bytes of the events that it had")

step("a smaller one can be had")
g.event_ring_set(1)
submit("-n", 20, "-w")
wait_idle()
equal(g.event_ring()["pending"], 60, "events of the new ring")
step("done")
