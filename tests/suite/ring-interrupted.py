#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest timeout=120
"""A job belongs to its own ring, also where an interrupt with a job of another ring comes in the
middle of its probe: what the CPU remembers of rings is the same after it.
"""
import copy
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from fire import Fire
from lab import (check, equal, load_gpumon, load_scheduler, probe, rings, rmmod, step)

JOBS, ROUNDS, MS = 100, 20, 100
# Of jobs in the task, and of ends in interrupts.
ENOUGH = 200000

load_scheduler()
load_gpumon()
f = Fire()
device = f.device("made_up")
QUEUE, RUN, DONE = (probe(role)["probe"] for role in ("queue", "run", "done"))


def jobs_of(ring, context):
    """Jobs of a ring: (jobs, their entity, their fences)."""
    scheduler = f.new("gpu_sched", "struct drm_gpu_scheduler", name=f.string(ring), dev=device)
    return f.scheduler_jobs(scheduler, context, JOBS)


def interrupts():
    """Ends of jobs whose queueing was not seen, and whose ring has to be found by the scheduler.
    """
    while not enough.is_set():
        ended.append(other.fire("gpu_sched", DONE, fences, cpu=0, irq=True, ms=MS, times=JOBS).calls)


jobs, entity, ours = jobs_of("task", 1000)
_, _, fences = jobs_of("interrupt", 2000)
f.flush()
other = copy.copy(f)
other.reopen()
ended, queued, enough = [], 0, threading.Event()

step("jobs of one ring in a task, interrupted by those of another")
thread = threading.Thread(target=interrupts)
thread.start()
os.sched_setaffinity(threading.get_native_id(), {0})
while thread.is_alive() and (queued < ENOUGH or sum(ended) < ENOUGH):
    for _ in range(ROUNDS):
        f.fire("gpu_sched", QUEUE, jobs, entity, times=JOBS)
        f.fire("gpu_sched", RUN, jobs, entity, times=JOBS)
        f.fire("gpu_sched", DONE, ours, times=JOBS)
        queued += JOBS
enough.set()
thread.join()
step("%d jobs in the task, %d ends in interrupts" % (queued, sum(ended)))
check(min(queued, sum(ended)) >= ENOUGH, "too few")
rows = rings()
columns = "queued", "run", "done", "untracked", "queue_depth", "hw_depth"
for ring, wanted in (("task", (queued, queued, queued, 0, 0, 0)),
                     ("interrupt", (0, 0, sum(ended), sum(ended), None, None))):
    row = rows["made_up", ring]
    equal(tuple(row[c] for c in columns), wanted, "%s of ring %s" % (", ".join(columns), ring))
os.close(other.fd)
rmmod("gpumon")
f.close()
