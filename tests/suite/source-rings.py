#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel tool icount cpus=2 timeout=300
"""Rings by BPF make room for others when they are gone, as in the module: the oldest leaves the table
with its counts, once a second. No event is lost by that, and rings in use stay.
"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import source_bpf
from source_sched import STEPS, against_mock, until_lossless

# Room of the table, and rings that end, with so many jobs each.
ROOM, ENDS, JOBS = 128, 150, 100
QUEUES = 20
OTHER = "-", "other"


def churn(line):
    with open(lab.DEBUGFS + "/churn_gpu/command", "w") as f:
        f.write(line)


def account():
    return {k: int(v) for k, v in (line.split() for line in
                                   lab.read(lab.DEBUGFS + "/churn_gpu/account").splitlines())}


def rings_that_leave():
    """The document, what the mock and churn_gpu did, and names of rings that came late."""
    # Again, so that their numbers begin with 1.
    for name in "churn_gpu", "mock_gpu":
        if lab.loaded(name):
            lab.rmmod(name)
    lab.load_mock(devices=1, rings=3, timeout_ms=100000)
    lab.insmod("churn_gpu")
    counting = source_bpf.Counting()
    lab.submit("-r", "all", "-n", 30, "-w")
    # The oldest of those that end is that of all queues.
    churn("storm jobs=%d rings=1 ring_jobs=%d numbered=1" % (JOBS * QUEUES, JOBS))
    churn("storm jobs=%d rings=1 ring_jobs=%d" % (JOBS * ENDS, JOBS))
    # The first one has left after two or three.
    time.sleep(12)
    churn("storm jobs=%d rings=1 numbered=1" % JOBS)
    churn("storm jobs=%d rings=1" % JOBS)
    late = "ring%dx" % account()["rings_begun"]
    # Killed jobs of made-up fences are not known from those of others until it ends.
    churn("end")
    lab.submit("-r", "all", "-n", 30, "-w")
    lab.wait_idle()
    return counting.end(), account(), late


source_bpf.need()
lab.load_scheduler()
lab.insmod("fire_gpu")

lab.step("rings that are gone leave a full table, those that come have a row")
document, happened, late = until_lossless(rings_that_leave)
rows, retired = source_bpf.rings(document), document["gpumon"]["rings_retired"]
print("    %d rows, %d have left" % (len(rows), retired))
lab.within(retired, 4, 20, "rings that have left")
lab.check(OTHER in rows, "some found no room")
lab.within(len(rows) - 1, ROOM * 3 // 4, ROOM, "rings in the table")
lab.equal(document["gpumon"]["rings"], len(rows) - 1, "their number")
for name in late, "queue":
    lab.equal(rows["churn_gpu", name]["queued"], JOBS, "jobs of %s, which came late" % name)
lab.check(("churn_gpu", "ring%dx" % (QUEUES + 3)) not in rows, "an early one is still there")
against_mock(document)

lab.step("what has left is all that rows lack")
left = JOBS * QUEUES + JOBS * (retired - 1)
lab.equal(sum(row["queued"] for key, row in rows.items() if key[0] != "mock_gpu.0") + left,
          happened["queue"], "jobs of rows, and of rings that have left")
queue = [p for name, p in source_bpf.probes(document, "drm_sched").items()
         if name in STEPS["queued"] and p["state"] == "attached"]
lab.equal([p["recorded"] for p in queue],
          [happened["queue"] + sum(row["queued"] for row in lab.account().values())], "recorded")
for key, row in rows.items():
    if key[0] == "churn_gpu":
        lab.equal((row["queue_depth"]["now"], row["hw_depth"]["now"], row["live"]), (0, 0, 0),
                  "levels and schedulers of %s" % key[1])
lab.rmmod("churn_gpu", "fire_gpu", "mock_gpu")
