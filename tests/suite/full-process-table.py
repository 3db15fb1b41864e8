#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest timeout=120
"""A full process table: every job is some process's, an exited one's or counted as nobody's."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import fire
from gpumon_netlink import Gpumon
from lab import (account, check, check_counts, equal, held, load, mock_processes, probe, release,
                 stats, step, submit, submitter, until, wait_idle)

PROCESSES, JOBS, ROOM = 40, 10, 8

load(devices=1, rings=2, timeout_ms=60000, gpumon={"max_processes": ROOM})
g = Gpumon()


def balance(sections, what):
    """Jobs by process; they must add up to all jobs."""
    queued = sum(r["queued"] for r in sections["drm_sched.rings"])
    jobs = {r["pid"]: r["jobs"] for r in sections["processes"]}
    head = sections["gpumon"]
    equal(sum(jobs.values()) + head["jobs_exited"] + head["jobs_unattributed"], queued,
          "%s: processes %d + exited %d + unattributed %d against queued" %
          (what, sum(jobs.values()), head["jobs_exited"], head["jobs_unattributed"]))
    return jobs


step("%d processes at once, room for %d" % (PROCESSES, ROOM))
holder = held("-n", JOBS, "-r", "0,1")
others = submitter("-p", PROCESSES - 1, "-n", JOBS, "-r", "0,1", "-w")
until(lambda: sum(r["queued"] for r in account().values()) == PROCESSES * JOBS, "all jobs queued")
sections = stats()
jobs = balance(sections, "with all of them alive")
equal(len(jobs), ROOM, "processes in the table")
equal(sections["gpumon"]["jobs_unattributed"], (PROCESSES - ROOM) * JOBS, "jobs_unattributed")
theirs = mock_processes()
for pid, count in jobs.items():
    equal((count, theirs[pid][0]), (JOBS, JOBS), "jobs of process %d" % pid)
check(all(r["alive"] == 1 for r in sections["processes"]), "a process that is alive is not said so")
info = g.info()
equal((info["processes"], info["max_processes"], info["jobs_unattributed"]),
      (ROOM, ROOM, (PROCESSES - ROOM) * JOBS), "netlink")
release(holder)
equal(others.wait(60), 0, "exit status of the other processes")
wait_idle()
# A full process table does not affect the rings.
check_counts()

step("all exited: their jobs are summed up, there is room again")


def aged():
    submit("-n", 1, "-w")
    return g.info()["processes_exited"] >= ROOM


until(aged, "exited processes were aged out")
wait_idle()
before = stats()
balance(before, "after ageing")
unattributed = before["gpumon"]["jobs_unattributed"]
until(lambda: submit("-n", 1, "-w") and g.info()["processes"] < 6, "room again")
at = stats()["gpumon"]["jobs_unattributed"]
submit("-n", 25, "--comm", "later", "-w")
wait_idle()
sections = stats()
balance(sections, "with a later one")
equal([r["jobs"] for r in sections["processes"] if r["comm"] == "later"], [25],
      "jobs of a later process")
equal(sections["gpumon"]["jobs_unattributed"], at, "jobs_unattributed with room")

step("many short ones, one after the other, and a reset in between")
for i in range(30):
    submit("-n", 3, "-r", i % 2)
    if i == 15:
        wait_idle()
        g.reset()
        equal(g.info()["jobs_unattributed"], 0, "jobs_unattributed of a new period")
wait_idle()
balance(stats(), "after a reset")
check_sum = sum(r["queued"] for r in g.rings())
equal(check_sum, 14 * 3, "jobs since the reset")

step("jobs queued in interrupts, of an idle CPU and of this task's: they are no process's")
IRQ_JOBS = 60
f = fire.Fire()
scheduler = f.new("gpu_sched", "struct drm_gpu_scheduler", name=f.string("of_timer"),
                  dev=f.device("made_up"))
queue = probe("queue")["probe"]
for cpu, context in (1, 3000), (0, 4000):
    os.sched_setaffinity(0, {0})
    jobs, entity, _ = f.scheduler_jobs(scheduler, context, IRQ_JOBS)
    before = stats()["gpumon"]["jobs_unattributed"]
    f.fire("gpu_sched", queue, jobs, entity, cpu=cpu, irq=True, times=IRQ_JOBS)
    sections = stats()
    balance(sections, "with jobs of CPU %d" % cpu)
    equal(sections["gpumon"]["jobs_unattributed"] - before, IRQ_JOBS, "jobs_unattributed")
    check(all(r["pid"] for r in sections["processes"]), "the idle task is taken for a process")
f.close()
step("done")
