#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest
"""gpumon comes while jobs are on their way: those are counted, but never as a negative depth."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import events
import lab
from gpumon_netlink import Gpumon

RING = "mock_gpu.0", "ring0"
lab.load_mock(devices=1, rings=2, hw_limit=4, service_ns=50000, timeout_ms=0)

lab.step("30 jobs queued, 4 of them on the hardware, then gpumon is loaded")
process = lab.held("-n", 30, "-b", 30)
lab.until(lambda: lab.account()[RING]["hw_depth"] == 4, "4 on the hardware")
lab.load_gpumon()
lab.equal(lab.rings(), {}, "rings before an event")
with Gpumon() as g:
    g.event_ring_set(enabled=1)
lab.release(process)
lab.wait_idle()

row = lab.rings()[RING]
# It saw the 26 in the queue run, and the 30 done.
lab.equal((row["queued"], row["run"], row["done"]), (0, 26, 30), "counts")
lab.equal(row["untracked"], 56, "untracked")
lab.equal(tuple(row[c] for c in ("queue_depth", "queue_depth_max", "hw_depth", "hw_depth_max")),
          (None,) * 4, "depths without a baseline")
lab.equal(tuple(row[c] for c in ("queue_ns_p50", "run_ns_p50")), (None,) * 2, "latencies")
with Gpumon() as g:
    told = g.rings()[0]
    for name in "queue_depth", "queue_depth_max", "hw_depth", "hw_depth_max":
        lab.check(name not in told, "%s is in netlink" % name)
    lab.equal([h["count"] for h in g.histograms()], [0] * 2, "values in the histograms")
lab.check_sums()
reader = events.Reader()
found = reader.drain()
lab.equal(len(found), 56, "events")
lab.equal({(e.queue_depth, e.hw_depth) for e in found}, {(events.UNKNOWN,) * 2},
          "depths of events without a baseline")

lab.step("then it knows")
lab.submit("-n", 10, "-w")
lab.wait_idle()
lab.equal([e for e in reader.drain() if events.UNKNOWN in (e.queue_depth, e.hw_depth)], [],
          "events without depths")
reader.close()
row = lab.rings()[RING]
lab.equal((row["queued"], row["run"], row["done"], row["untracked"]), (10, 36, 40, 56), "counts")
lab.equal((row["queue_depth"], row["hw_depth"]), (0, 0), "depths")
lab.rmmod("gpumon")

lab.step("old and new jobs on one ring")
process = lab.held("-n", 30, "-b", 30)
lab.until(lambda: lab.account()[RING]["hw_depth"] == 4, "4 on the hardware")
lab.load_gpumon()
# At exit its jobs would be killed.
new = lab.submitter("-n", 8, "-b", 8, "--linger")
lab.until(lambda: lab.account()[RING]["queued"] == 78, "8 more queued")
row = lab.rings()[RING]
lab.equal((row["queue_depth"], row["hw_depth"]), (8, 0), "depths count the new ones only")
lab.release(process)
lab.wait_idle()
new.kill()
new.wait(30)
row = lab.rings()[RING]
lab.equal((row["queued"], row["run"], row["done"], row["untracked"]), (8, 34, 38, 56), "counts")
lab.equal((row["queue_depth"], row["hw_depth"]), (0, 0), "depths")
lab.check(row["queue_depth_max"] == 8 and row["hw_depth_max"] <= 4, "highest depths %r" % row)
lab.rmmod("gpumon")

lab.step("again and again under load, looked at all the time")
load = lab.submitter("-r", "0,1", "-n", 1000000, "-b", 4, "-p", 2, "--sync")
for turn in range(6):
    lab.load_gpumon()
    for _ in range(12):
        for key, row in lab.rings().items():
            for depth in "queue_depth", "queue_depth_max", "hw_depth", "hw_depth_max":
                lab.within(row[depth] or 0, 0, 16, "%s of %s" % (depth, key))
    lab.rmmod("gpumon")
lab.equal(load.poll(), None, "the load's exit status")
lab.load_gpumon()
load.terminate()
load.wait(30)
