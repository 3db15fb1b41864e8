#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel
"""Events during the end of a scheduler do not make it known again: the next one at its address,
with its device and name address, is another ring. No ended scheduler stays alive.
"""
import atexit
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from lab import (DEBUGFS, check, check_sums, equal, insmod, load_gpumon, load_scheduler, read, rings,
                 rmmod, stats, step, until)

# CHURN_FLIGHT of the mock.
FLIGHT = 64

COLUMNS = {"queue": "queued", "run": "run", "done": "done", "wait": "dependency_waits",
           "killed": "killed"}


def churn(line):
    with open(DEBUGFS + "/churn_gpu/command", "w") as f:
        f.write(line)


def account():
    return {k: int(v) for k, v in (line.split() for line in
                                   read(DEBUGFS + "/churn_gpu/account").splitlines())}


atexit.register(subprocess.run, ["rmmod", "churn_gpu"], stderr=subprocess.DEVNULL, check=False)
load_scheduler()
insmod("fire_gpu")
insmod("churn_gpu")
load_gpumon(max_rings=512)

step("rings one after the other at the same address")
churn("storm jobs=4000 rings=1 ring_jobs=100")
now = account()
check(now["rings_ended"] >= 20, "only %d rings ended" % now["rings_ended"])
sections = stats()
ours = rings(sections)
# The last one has begun, and has no job yet.
equal(len(ours), now["rings_ended"], "rows")
for event, column in COLUMNS.items():
    equal(sum(row[column] for row in ours.values()), now[event], "%s of all" % column)
for key, row in ours.items():
    equal((row["queued"], row["live"]), (100, 0), "jobs and schedulers of %s" % (key,))
check_sums(sections)
rmmod("gpumon")

step("jobs that never end are over with their scheduler: no entry stays, rows are free again")
load_gpumon(max_rings=4, max_jobs=128)
churn("storm jobs=6400 rings=1 ring_jobs=100 hung=%d" % FLIGHT)
now = account()
check(now["queue"] - now["done"] - now["killed"] >= 30 * FLIGHT, "no job hung")
for row in rings().values():
    equal((row["queue_depth"], row["hw_depth"], row["live"], row["jobs_table_full"]), (0, 0, 0, 0),
          "in flight, schedulers, and jobs without an entry of %s" % row["ring"])


def has_row():
    before = set(rings())
    churn("storm jobs=1 rings=1")
    return any(key[1] != "other" for key in set(rings()) - before)


until(has_row, "a ring that comes has a row")
check_sums()
rmmod("churn_gpu", "gpumon")

step("numbered rings that come and go while their driver stays are one, of its device")
load_gpumon(max_rings=8)
insmod("churn_gpu")
churn("storm jobs=2500 rings=1 ring_jobs=100 numbered=1")
ours = rings()
equal(list(ours), [("churn_gpu", "queue")], "rings")
now = account()
for event, column in COLUMNS.items():
    equal(ours["churn_gpu", "queue"][column], now[event], column)

step("with others that stay, these join it")
rmmod("churn_gpu", "gpumon")
load_gpumon(max_rings=8)
insmod("churn_gpu")
churn("storm jobs=4000 rings=4 ring_jobs=100 numbered=1")
ours, now = rings(), account()
check(len(ours) <= 4 and ("churn_gpu", "queue") in ours, "rings %s" % sorted(ours))
for event, column in COLUMNS.items():
    equal(sum(row[column] for row in ours.values()), now[event], column)
apart = sum(row["queued"] for key, row in ours.items() if key[1] != "queue")
check(apart < 200, "%d jobs in rings of their own" % apart)
equal(sum(row["queue_depth"] or 0 for row in ours.values()), 0, "depths")
check_sums()
rmmod("churn_gpu", "fire_gpu", "gpumon")
step("done")
