#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest timeout=120
"""A full ring table: the first rings stay exact, what the others did is in one row."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from gpumon_netlink import Gpumon
from lab import (account, check, check_sums, equal, load, load_mock, probe, probes, rings, rmmod,
                 stats, step, submit, until, wait_idle)

load(devices=1, rings=4, gpumon={"max_rings": 2})
g = Gpumon()
PER_RING = 60


def drive():
    for ring in range(4):
        submit("-r", ring, "-n", PER_RING, "-w")
    submit("-r", "0,1,2,3", "-n", 4 * PER_RING, "-b", 5, "-w")
    submit("-r", "2,3", "-n", 20, "--fail", "fence", "-w")
    submit("-r", "0", "-n", 10, "--fail", "fence", "-w")


step("four rings, room for two: the others are one row")
drive()
mock = wait_idle()
sections = stats()
ours = rings(sections)
# "-" is read as unknown.
OTHER = None, "other"
equal(set(ours), {OTHER, ("mock_gpu.0", "ring0"), ("mock_gpu.0", "ring1")}, "rows in the table")
for key, row in ours.items():
    theirs = [mock[key]] if key != OTHER else [r for k, r in mock.items() if k not in ours]
    for column in ("queued", "run", "done", "errors", "killed"):
        equal(row[column], sum(r[column] for r in theirs), "%s of %s" % (column, key))
    equal((row["queue_depth"], row["hw_depth"], row["untracked"], row["live"]),
          (0, 0, 0, len(theirs)), "depths and schedulers of %s" % (key,))
total = {c: sum(r[c] for r in mock.values()) for c in ("queued", "run", "done", "errors")}
check(ours[OTHER]["queued"] >= 4 * PER_RING, "nothing was too much")
check(ours[OTHER]["errors"] >= 20, "no error was too much")
for role, column in (("queue", "queued"), ("run", "run"), ("done", "done")):
    p = probe(role, probes(sections))
    equal((p["seen"], p["recorded"], p["table_full"]), (total[column], total[column], 0),
          "seen, recorded, table_full of the %s probe" % role)
check_sums(sections)
equal(sum(r["jobs"] for r in sections["processes"]) + sections["gpumon"]["jobs_exited"],
      total["queued"], "jobs of processes")

step("netlink says the same")
info = g.info()
equal((info["rings"], info["max_rings"]), (2, 2), "rings, max_rings")
equal({(r["device"], r["name"]): r["queued"] for r in g.rings()},
      {(key[0] or "-", key[1]): row["queued"] for key, row in ours.items()}, "rings of netlink")
group, = [one for one in g.groups() if one["name"] == "drm_sched"]
equal(sum(p["dropped"]["table_full"] for p in group["probe"]), 0, "table_full")

step("the driver goes, other rings come: there is room again")
rmmod("mock_gpu")
load_mock(devices=1, rings=1)
g.reset()


def learned():
    """Housekeeping makes room when it runs."""
    submit("-n", 1, "-w")
    return ("mock_gpu.0", "ring0") in rings()


until(learned, "the ring of the reloaded driver is in the table")
rmmod("mock_gpu")
load_mock(devices=3, rings=1)


def device2():
    submit("-d", 2, "-n", 1, "-w")
    return ("mock_gpu.2", "ring0") in rings()


until(device2, "a ring of another name got the place of one that is gone")
wait_idle()
first = account()["mock_gpu.2", "ring0"]["queued"]
row = rings()["mock_gpu.2", "ring0"]
check(row["queued"] <= first, "more jobs than there were")
submit("-d", 2, "-n", 30, "-w")
wait_idle()
after = rings()["mock_gpu.2", "ring0"]
equal((after["queued"] - row["queued"], after["run"] - row["run"], after["done"] - row["done"],
       after["queue_depth"], after["hw_depth"]), (30, 30, 30, 0, 0), "jobs of the ring that came")
check(g.info()["rings_retired"] >= 1, "rings_retired")
# Housekeeping may have made room by now.
check(g.info()["rings"] in (1, 2), "rings: %d" % g.info()["rings"])
check_sums()
step("done")
