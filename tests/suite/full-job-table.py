#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest timeout=120
"""A full table of jobs in flight: counters stay exact, depths never go below zero."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from gpumon_netlink import Gpumon
from lab import (account, check, check_sums, equal, held, load, release, rings, stats, step,
                 submit, submitter, until, wait_idle)

# There is room for twice max_jobs (drivers/drm_sched.md), and with so few, a job may be anywhere.
MAX_JOBS, JOBS, HARDWARE = 8, 100, 4
ROOM = 2 * MAX_JOBS
KEY = ("mock_gpu.0", "ring0")

load(devices=1, rings=2, hw_limit=HARDWARE, timeout_ms=60000, gpumon={"max_jobs": MAX_JOBS})
g = Gpumon()


def counters(row):
    return tuple(row[c] for c in ("queued", "run", "done", "untracked", "jobs_table_full",
                                  "queue_depth", "hw_depth"))


def sane(sections=None):
    """A depth below zero would be a very large one, of 32 or 64 bits."""
    for key, row in rings(sections).items():
        for column in ("queue_depth", "hw_depth", "queue_depth_max", "hw_depth_max"):
            value = row[column]
            check(value is None or 0 <= value <= ROOM, "%s of %s is %r" % (column, key, value))


step("%d jobs stand, room for %d" % (JOBS, ROOM))
holder = held("-n", JOBS)
until(lambda: account()[KEY]["hw_depth"] == HARDWARE, "the hardware is full")
equal(counters(rings()[KEY]), (JOBS, HARDWARE, 0, 0, JOBS - ROOM, ROOM - HARDWARE, HARDWARE),
      "queued, run, done, untracked, jobs_table_full, depths")
equal(g.rings()[0]["jobs_table_full"], JOBS - ROOM, "jobs-table-full by netlink")

step("they go: run and done of those that were not tracked are counted and said so")
release(holder)
wait_idle()
equal(counters(rings()[KEY]), (JOBS, JOBS, JOBS, 2 * (JOBS - ROOM), JOBS - ROOM, 0, 0),
      "queued, run, done, untracked, jobs_table_full, depths")
histograms = {h["name"]: h["count"] for h in g.histograms()}
equal((histograms["queue_ns"], histograms["run_ns"]), (ROOM, ROOM), "latencies: of tracked jobs")
check_sums()

step("there is room again: later jobs are tracked")
before = rings()[KEY]
for _ in range(10):
    submit("-n", ROOM // 2, "-w")
    wait_idle()
after = rings()[KEY]
equal((after["queued"] - before["queued"], after["untracked"], after["jobs_table_full"]),
      (10 * ROOM // 2, before["untracked"], before["jobs_table_full"]), "later jobs")
equal({h["name"]: h["count"] for h in g.histograms()}["run_ns"], ROOM + 10 * ROOM // 2,
      "latencies of later jobs")

step("under load, with killed and failed ones: never below zero, nothing stays behind")
g.reset()
start = account()


def load():
    return [submitter("-p", 2, "-r", "0,1", "-n", 4000, "-b", 7),
            submitter("-r", 1, "-n", 300, "-b", 3, "--fail", "fence", "--fail-every", 3)]


load_ = load()
killed = submitter("-n", 300, "-b", 300, "-s", 3000000, "--linger")
killed.stdout.readline()
looks = 0
while looks < 3 or any(p.poll() is None for p in load_):
    # On a fast machine, or with slow reading, everything may end before three readings.
    if all(p.poll() is not None for p in load_):
        load_ += load()
    sane()
    looks += any(p.poll() is None for p in load_)
    if looks == 3:
        killed.kill()
for p in load_ + [killed]:
    p.wait(60)
mock = wait_idle()
sections = stats()
ours = rings(sections)
sane(sections)
for key, row in mock.items():
    for column in ("queued", "run", "done", "errors"):
        equal(ours[key][column], row[column] - start[key][column], "%s of %s" % (column, key))
    equal((ours[key]["queue_depth"], ours[key]["hw_depth"]), (0, 0), "depths of %s" % (key,))
check(sum(r["killed"] - start[k]["killed"] for k, r in mock.items()) > 0, "no job was killed")
check(sum(r["jobs_table_full"] for r in ours.values()) > 0, "the table was never full")
check_sums(sections)
step("done")
