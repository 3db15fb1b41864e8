#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest timeout=500
"""500 schedulers of one device: those with numbers like xe's become one row for each class of engines;
where names do not say that, a full table has a row for all others. Nothing is dropped, no count is lost.
"""
import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from gpumon_netlink import Gpumon
from lab import (account, check, check_sums, equal, load, probes, rings, rmmod, stats, step, submit,
                 wait_idle, within)

QUEUES = 500
# "-" is read as unknown.
OTHER = None, "other"
COUNTS = ("queued", "run", "done", "errors", "killed")


def drive(queues=QUEUES):
    submit("-r", "all", "-n", 2 * queues, "-w", timeout=600)
    submit("-r", "all", "-n", queues, "-p", 2, "-w", timeout=600)
    submit("-r", "0,1,%d" % (queues - 1), "-n", 30, "--fail", "fence", "-w")


def check_all(class_of):
    """Rows are the sums of the mock's by class, and no event was dropped."""
    mock = wait_idle(120)
    sections = stats()
    should = collections.defaultdict(collections.Counter)
    for (device, name), row in mock.items():
        should[class_of(device, name)].update({c: row[c] for c in COUNTS})
    ours = collections.defaultdict(collections.Counter)
    for (device, name), row in rings(sections).items():
        key = class_of(device, name) if (device, name) != OTHER else OTHER
        ours[key].update({c: row[c] for c in COUNTS if row[c]})
    equal(ours, {key: +row for key, row in should.items()}, "rows")
    for p in probes(sections).values():
        equal((p["table_full"], p["recursion"]), (0, 0), "dropped by " + p["probe"])
    check_sums(sections)
    for row in rings(sections).values():
        equal((row["queue_depth"] or 0, row["hw_depth"] or 0, row["untracked"]), (0, 0, 0), "depths")


def classes():
    """Rings without a number, and how many jobs others have."""
    named = [key for key in rings() if not key[1][-1].isdigit()]
    return sorted(named), sum(r["queued"] for key, r in rings().items() if key not in named)


step("xe with %d queues: a row for each class" % QUEUES)
load(devices=1, rings=QUEUES, names="xe", timeout_ms=60000)
drive()
check_all(lambda device, name: (device, name.rstrip("0123456789")))
named, apart = classes()
equal(named, [("mock_gpu.0", name) for name in ("bcs", "ccs", "rcs", "vcs")], "classes")
check(len(rings()) <= 4 * 8, "%d rings" % len(rings()))
submit("-r", "all", "-n", 2 * QUEUES, "-w", timeout=600)
wait_idle()
equal(classes(), (named, apart), "classes, and jobs of others, after more jobs")
# A scheduler has eight places in a table of four times as many: hardly ever are all taken.
within(sum(r["live"] for r in rings().values()), QUEUES - 3, QUEUES, "live")
rmmod("mock_gpu")
equal(sum(r["live"] for r in rings().values()), 0, "live without the driver")
rmmod("gpumon")

step("amdxdna: hardware contexts are one row")
load(devices=1, rings=20, names="amdxdna", timeout_ms=60000)
drive(20)
check_all(lambda device, name: (device, name.split(".")[0]))
equal(sorted(rings()), [("mock_gpu.0", "hwctx")], "classes")
rmmod("mock_gpu", "gpumon")

step("and more than are remembered by their address: looked up by name")
load(devices=1, rings=QUEUES, names="amdxdna", timeout_ms=60000, gpumon={"max_rings": 4})
drive()
check_all(lambda device, name: (device, name.split(".")[0]))
check(sum(r["live"] for r in rings().values()) < QUEUES, "all are remembered: nothing is shown")
rmmod("mock_gpu", "gpumon")

step("%d names, room for 64 rings: the others are one row" % QUEUES)
load(devices=1, rings=QUEUES, timeout_ms=60000)
drive()
known = set(rings())
equal(len(known), 65, "rows")
check(OTHER in known, "no row for the others")
check_all(lambda device, name: (device, name) if (device, name) in known else OTHER)
with Gpumon() as g:
    equal(g.info()["rings"], 64, "rings in the table")
before = account()
submit("-r", "all", "-n", QUEUES, "-w", timeout=600)
wait_idle()
check(all(account()[key]["queued"] > before[key]["queued"] for key in before), "no more jobs")
check_all(lambda device, name: (device, name) if (device, name) in known else OTHER)
rmmod("mock_gpu")
equal({k: r["live"] for k, r in rings().items() if r["live"]}, {}, "live without the driver")
rmmod("gpumon")

step("%d names, room for 2, neither known by address" % QUEUES)
load(devices=1, rings=QUEUES, timeout_ms=60000, gpumon={"max_rings": 2})
drive()
known = set(rings())
equal(len(known), 3, "rows")
check_all(lambda device, name: (device, name) if (device, name) in known else OTHER)
step("done")
