#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest timeout=240
"""Drivers reloaded with other devices and rings: old rings give way, memory stays flat."""
import mmap
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from memory import parts
from gpumon_netlink import Gpumon
from lab import (account, check, check_sums, equal, load_gpumon, load_mock, load_scheduler, probes,
                 rings, rmmod, stats, step, submit, until, wait_idle, within)

ROOM = 8
# devices, rings: some names come back, others are new each time.
SHAPES = [(4, 2), (1, 8), (2, 4), (8, 1), (1, 1), (1, 8), (4, 2)]

load_scheduler()
load_gpumon(max_rings=ROOM)
g = Gpumon()
memory = g.info()["memory_bytes"]
parts_before = parts()
tables = parts_before["drm_sched"]
retired = 0
names = set()
for turn, (devices, count) in enumerate(SHAPES):
    step("%d devices with %d rings" % (devices, count))
    load_mock(devices=devices, rings=count)
    wanted = {("mock_gpu.%d" % d, "ring%d" % r) for d in range(devices) for r in range(count)}
    names |= wanted

    def learned():
        submit("-d", "all", "-r", "all", "-n", len(wanted), "-w")
        return wanted <= set(rings())

    until(learned, "every ring of the driver is in the table", pause=0.2)
    wait_idle()
    info = g.info()
    equal(info["rings"], len([key for key in rings() if key[1] != "other"]), "rings")
    check(info["rings"] <= ROOM, "%d rings where %d fit" % (info["rings"], ROOM))
    # A reset takes memory for what it finds and had none: rings, with that for all others, probes,
    # processes.
    held = parts()
    grown = {name: held[name] - parts_before[name] for name in held}
    # Of each ring, and of each process on each ring.
    within(grown.pop("drm_sched"), 0, (ROOM + 1) * 3 * mmap.PAGESIZE, "bytes for rings")
    within(grown.pop("probes"), 0, 4 * mmap.PAGESIZE, "bytes for probes")
    within(grown.pop("processes"), 0, 256 * info["processes"], "bytes for processes")
    equal(set(grown.values()), {0}, "growth of the other parts")
    check(info["rings_retired"] >= retired, "rings_retired went back")
    retired = info["rings_retired"]
    for row in g.rings():
        equal(row["live"], int((row["device"], row["name"]) in wanted),
              "live of %s %s" % (row["device"], row["name"]))

    # Rings without a row of their own were counted in the row for all others, so none is dropped.
    equal(sum(p["table_full"] for p in probes().values()), 0, "events that were dropped")

    g.reset()
    start = account()
    submit("-d", "all", "-r", "all", "-n", 5 * len(wanted), "-p", 2, "-w")
    mock = wait_idle()
    ours = rings()
    for key in wanted:
        for column in ("queued", "run", "done", "errors", "killed"):
            equal(ours[key][column], mock[key][column] - start[key][column],
                  "%s of %s" % (column, key))
        equal((ours[key]["queue_depth"], ours[key]["hw_depth"], ours[key]["untracked"]), (0, 0, 0),
              "depths of %s" % (key,))
    check_sums()
    if turn % 2:
        # An open file of the driver does not keep its rings.
        stats()
    rmmod("mock_gpu")
    equal([r["live"] for r in g.rings() if r["live"]], [], "live rings without a driver")
check(len(names) > ROOM, "no more names than fit")
check(retired >= len(names) - ROOM, "only %d rings of %d retired" % (retired, len(names)))
rmmod("gpu_sched")
check(parts()["drm_sched"] < mmap.PAGESIZE < tables, "%d bytes of it are left" % parts()["drm_sched"])
within(g.info()["memory_bytes"], 0, memory - tables + 8 * mmap.PAGESIZE, "memory_bytes in the end")
step("done, %d rings retired" % retired)
