#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest icount cpus=2 timeout=240
# vm: not-arm64=it compares times, which without icount are those of a busy host
"""Events of rings that find the largest table full cost what those of others do: nothing is searched
for again and again. The guest's time is counted in its instructions.
"""
import atexit
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from lab import (DEBUGFS, check, check_sums, equal, insmod, load_gpumon, load_scheduler, probes,
                 rings, rmmod, stats, step)

ROOM, JOBS = 1024, 20000


def churn(line):
    begin = time.monotonic()
    with open(DEBUGFS + "/churn_gpu/command", "w") as f:
        f.write(line)
    return time.monotonic() - begin


def job_ns():
    """Time of jobs on the existing rings; the shortest, since other activity only adds to it."""
    return min(churn("here jobs=%d" % JOBS) for _ in range(3)) / JOBS * 1e9


atexit.register(subprocess.run, ["rmmod", "churn_gpu"], stderr=subprocess.DEVNULL, check=False)
load_scheduler()
insmod("fire_gpu")
insmod("churn_gpu")
load_gpumon(max_rings=ROOM)

step("every ring has its row")
churn("storm jobs=4000 rings=%d" % (ROOM // 2))
known = job_ns()
equal([key for key in rings() if key[1] == "other"], [], "others")

step("half of them have none")
churn("storm jobs=8000 rings=%d" % ROOM)
full = job_ns()
sections = stats()
others = rings(sections)[None, "other"]
check(others["queued"] > JOBS, "only %d jobs of other rings" % others["queued"])
equal(sum(p["table_full"] for p in probes(sections).values()), 0, "events dropped")
check_sums(sections)
print("a job takes %.0f ns where all rings are known, %.0f ns where half of them are not" %
      (known, full))
check(full < 1.5 * known, "%.1f times as long" % (full / known))
rmmod("churn_gpu", "fire_gpu", "gpumon")
step("done")
