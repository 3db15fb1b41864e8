#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest timeout=240
"""Driver and scheduler go the moment that load ends, readers at work, 8 times (GPUMON_DEEP=1: 20): nothing of
theirs stays.
"""
import os
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from gpumon_netlink import Gpumon
from lab import (DEBUGFS, DROPS, STATS, account, check, equal, load_gpumon, load_mock,
                 load_scheduler, loaded, probes, read, rings, rmmod, stats, step, submitter, until)

ROUNDS = 20 if os.environ.get("GPUMON_DEEP") else 8
RINGS = {("mock_gpu.%d" % d, "ring%d" % r) for d in (0, 1) for r in (0, 1)}
looks = 0
failure = []
stop = False


def reader():
    """gpumon stays loaded, so every read must succeed and make sense."""
    global looks
    g = Gpumon()
    try:
        while not stop:
            for row in rings().values():
                for column in ("queue_depth", "hw_depth"):
                    check(row[column] is None or row[column] < 1 << 20, "%s: %r" % (column, row))
            read(DEBUGFS + "/gpumon/histograms")
            for row in g.rings():
                if "hw_depth" in row:
                    check(row["hw_depth"] < 1 << 20, "hw-depth: %r" % row)
            g.histograms()
            g.processes()
            g.groups()
            looks += 1
    except BaseException as e:
        failure.append(e)


def remove(name):
    """Unload it as soon as possible: a program that is about to end may still hold it."""
    end = time.monotonic() + 30
    while subprocess.run(["rmmod", name], stderr=subprocess.DEVNULL).returncode:
        check(time.monotonic() < end, "%s cannot be unloaded" % name)


load_scheduler()
load_gpumon()
g = Gpumon()
readers = [threading.Thread(target=reader, daemon=True) for _ in range(2)]
for r in readers:
    r.start()
counted = 0
for i in range(ROUNDS):
    load_mock(devices=2, rings=2, completion=("timer", "inline")[i % 2], flush_ms=20)
    g.event_ring_set(i % 2)
    load = [submitter("-d", "all", "-r", "all", "-n", 400, "-b", 4, "-p", 2, "--fail", "run",
                      "--fail-every", 20) for _ in range(2)]
    killed = submitter("-n", 200, "-b", 200, "-s", 1000000, "--linger")
    until(lambda: sum(r["done"] for r in account().values()) > 50, "jobs run")
    if i % 4 < 2:
        # Submitters are killed while their jobs are queued.
        for p in load + [killed]:
            p.kill()
    else:
        killed.kill()
    for p in load + [killed]:
        p.wait(60)
        p.stdin.close()
        p.stdout.close()
    # Jobs in flight belong to the driver, which waits for them when it is unloaded.
    remove("mock_gpu")
    if i % 2:
        # The scheduler does not go at once: the rings of the driver that has gone can be read.
        kept = rings()
        check(RINGS <= set(kept), "rings in round %d: %s" % (i, sorted(kept)))
        for key, row in kept.items():
            equal((row["live"], row["hw_depth"], row["queue_depth"]), (0, 0, 0),
                  "live and depths of %s in round %d" % (key, i))
        seen = sum(p["seen"] for p in probes().values())
        check(seen > counted, "nothing was counted in round %d" % i)
        counted = seen
    remove("gpu_sched")
    check(not failure, "a reader failed: %r" % (failure,))
    equal([row["state"] for row in stats()["groups"] if row["group"] == "drm_sched"], ["waiting"],
          "state in round %d" % i)
    equal((rings(), probes()), ({}, {}), "rings and probes without the scheduler in round %d" % i)
stop = True
for r in readers:
    r.join(30)
    check(not r.is_alive(), "a reader hangs")
check(not failure, "a reader failed: %r" % (failure,))
check(looks > ROUNDS, "only %d looks" % looks)
step("%d rounds, %d looks, %d events" % (ROUNDS, looks, counted))
check(not loaded("gpu_sched"), "gpu_sched is held")
# Probes count on where they were.
load_scheduler()
check(sum(p["seen"] for p in probes().values()) >= counted, "what was seen before is forgotten")
for p in probes().values():
    equal(p["seen"], p["recorded"] + sum(p[cause] for cause in DROPS),
          "seen of " + p["probe"])
rmmod("gpumon")
check(not os.path.exists(STATS), "stats is left")
step("done")
