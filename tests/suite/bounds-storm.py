#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest timeout=400 deep-timeout=7200
"""Events by the million, rings and processes that come and go: memory is flat, counts are exact,
tables make room again, and what did not fit is in the row of all others.

GPUMON_DEEP=1: 100 million events. GPUMON_EVENTS=N: so many. GPUMON_SEED=N: another seed.
"""
import atexit
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from gpumon_netlink import Gpumon
from lab import (BUILD, DEBUGFS, KERNEL, check, check_sums, equal, insmod, load_gpumon, load_scheduler,
                 probe, probes, read, rings, rmmod, run, stats, step, until, within)

DEEP = bool(os.environ.get("GPUMON_DEEP"))
SEED = int(os.environ.get("GPUMON_SEED") or 1)
EVENTS = int(os.environ.get("GPUMON_EVENTS") or (100000000 if DEEP else 1200000))
# Queue, run, done, and a wait for one job in eight.
EVENTS_A_JOB = 3.1
CPUS = os.cpu_count()
COMMAND = DEBUGFS + "/churn_gpu/command"
CHURN_EVENTS = ("queue", "run", "done", "wait", "killed")
COLUMNS = {"queue": "queued", "run": "run", "done": "done", "wait": "dependency_waits",
           "killed": "killed"}


def churn(verb, **options):
    line = " ".join([verb] + ["%s=%d" % o for o in options.items()])
    begin = time.monotonic()
    with open(COMMAND, "w") as f:
        f.write(line)
    return time.monotonic() - begin


def account():
    return {k: int(v) for k, v in (line.split() for line in
                                   read(DEBUGFS + "/churn_gpu/account").splitlines())}


def churn_rings():
    lines = read(DEBUGFS + "/churn_gpu/rings").splitlines()[1:]
    return {line.split()[0]: dict(zip(CHURN_EVENTS, map(int, line.split()[1:]))) for line in lines}


def check_probes(before, sections, exact=False):
    """Every event fired since was seen, and is recorded or dropped by cause."""
    now, rows = account(), probes(sections)
    seen = {role: probe(role, rows) for role in ("queue", "run", "done", "wait")}
    seen["killed"] = rows["drm_sched_entity_kill_jobs_work"]
    for role, row in seen.items():
        equal(row["seen"], now[role] - before[role], "seen of %s against what was fired" % role)
        equal(row["recursion"] + row["unreadable"] + row["missed"], 0, "other drops of " + role)
        if exact:
            equal(row["recorded"], row["seen"], "recorded of " + role)
    check_sums(sections)
    return seen


def check_rings(sections):
    """The existing rings, one by one, with nothing in flight."""
    ours = {ring: row for (device, ring), row in rings(sections).items() if device == "churn_gpu"}
    for name, counts in churn_rings().items():
        if not any(counts.values()):
            continue
        check(name in ours, "ring %s is not in stats" % name)
        for event, column in COLUMNS.items():
            equal(ours[name][column], counts[event], "%s of %s" % (column, name))
        equal((ours[name]["untracked"], ours[name]["jobs_table_full"]), (0, 0), "losses of " + name)
    for name, row in ours.items():
        # A row whose schedulers are gone stays until housekeeping runs; a reset empties it.
        depth = 0 if row["live"] else None
        check((row["queue_depth"], row["hw_depth"]) in ((0, 0), (depth, depth)), "depths of %s" % name)
    return ours


def check_processes(sections, queued):
    """Every recorded job belongs to a process, or is counted as unattributed."""
    head = sections["gpumon"]
    jobs = sum(row["jobs"] for row in sections["processes"])
    equal(jobs + head["jobs_exited"] + head["jobs_unattributed"], queued,
          "jobs of processes %d + exited %d + unattributed %d against recorded" %
          (jobs, head["jobs_exited"], head["jobs_unattributed"]))


def allocations():
    """gpumon's own, as the kernel lists them, and all memory of the same kind, in KiB."""
    own = sorted(re.sub(r"^0x\S+ +", "", line) for line in read("/proc/vmallocinfo").splitlines()
                 if "[gpumon]" in line)
    fields = dict(re.findall(r"(?m)^(\w+):\s+(\d+)", read("/proc/meminfo")))
    return own, sum(int(fields[k]) for k in ("SUnreclaim", "VmallocUsed", "Percpu"))


def settle():
    run("sync")
    with open("/proc/sys/vm/drop_caches", "w") as f:
        f.write("3")
    time.sleep(0.5)


class Flat:
    """Memory is the same at the end of the block as at its beginning, within 2 MiB for all of
    the kernel, and to the byte in gpumon's own account."""

    def __init__(self, what):
        self.what = what

    def __enter__(self):
        settle()
        self.bytes, self.parts = stats()["gpumon"]["memory_bytes"], stats()["memory"]
        self.own, self.all = allocations()

    def __exit__(self, kind, error, traceback):
        if kind:
            return
        settle()
        own, everything = allocations()
        equal(stats()["gpumon"]["memory_bytes"], self.bytes, "memory_bytes after " + self.what)
        equal(stats()["memory"], self.parts, "parts of it after " + self.what)
        equal(own, self.own, "gpumon's entries in vmallocinfo after " + self.what)
        print("    memory_bytes %d as before; the kernel's accounts %+d KiB" %
              (self.bytes, everything - self.all))
        # KASAN keeps freed memory for a while.
        if "kasan" not in KERNEL:
            within(everything - self.all, -8192, 2048, "KiB that the kernel's accounts grew by")


def fired(before):
    now = account()
    return sum(now[e] - before[e] for e in CHURN_EVENTS)


# Other modules that it leaves after a failure can be unloaded once this one is gone.
atexit.register(subprocess.run, ["rmmod", "churn_gpu"], stderr=subprocess.DEVNULL, check=False)
print("seed %d: GPUMON_SEED=%d GPUMON_EVENTS=%d" % (SEED, SEED, EVENTS))
load_scheduler()
insmod("fire_gpu")
insmod("churn_gpu")
# First-time allocations stay for good, which is not growth.
churn("storm", jobs=2000, rings=4, ring_jobs=50, threads=CPUS)
churn("end")

step("a thousand rings at once, on every processor: room for all of them, every count exact")
load_gpumon(max_rings=1024, max_processes=1024)
before = account()
with Flat("a thousand rings"):
    jobs = max(20000, int(EVENTS / EVENTS_A_JOB * 0.2 / CPUS))
    took = churn("storm", jobs=jobs, rings=1000 // CPUS, pids=300, threads=CPUS, seed=SEED)
    print("    %d events in %.1f s" % (fired(before), took))
    sections = stats()
    seen = check_probes(before, sections, exact=True)
    equal(len(check_rings(sections)), 1000 // CPUS * CPUS, "rings in stats")
    check_processes(sections, seen["queue"]["recorded"])
    equal(sections["gpumon"]["jobs_unattributed"], 0, "jobs_unattributed")
    equal(len([row for row in sections["processes"] if row["jobs"]]), 300 * CPUS, "processes")
    churn("end")
rmmod("gpumon")

step("short-lived processes, real ones, one after the other")
PROCESSES = 10000 if DEEP else 600
load_gpumon(max_rings=64, max_processes=256)
churn("storm", jobs=1, rings=4)
before = account()
base = probe("queue")["recorded"]
with Flat("%d processes" % PROCESSES):
    begin = time.monotonic()
    run(BUILD + "/churn_fork", str(PROCESSES), "2", timeout=600)
    print("    %d processes in %.1f s" % (PROCESSES, time.monotonic() - begin))
    sections = stats()
    equal(account()["queue"] - before["queue"], 2 * PROCESSES, "jobs that they queued")
    equal(probe("queue", probes(sections))["recorded"] - base, 2 * PROCESSES, "jobs recorded")
    check_processes(sections, probe("queue", probes(sections))["recorded"])
    head = sections["gpumon"]
    check(head["processes"] <= 256, "more processes than there is room for")
    # More than fit: ended ones made room, or the rest is counted as unattributed.
    check(head["processes_exited"] + head["jobs_unattributed"] / 2 >= PROCESSES - 256,
          "processes that are nowhere: %s" % head)
churn("end")
rmmod("gpumon")

step("the storm: more rings and processes than fit, all the time others")
load_gpumon(max_rings=64, max_processes=128, max_jobs=1024)
g = Gpumon()
jobs = int(EVENTS / EVENTS_A_JOB * 0.8 / CPUS)
PARTS = 10 if DEEP else 1
sizes = []
before = account()
# The first part shows the final size of the tables.
churn("storm", jobs=max(jobs // 100, 2000), rings=4, ring_jobs=500, pids=400, pid_jobs=100,
      threads=CPUS, seed=SEED)
churn("end")
with Flat("the storm"):
    begin = time.monotonic()
    for part in range(PARTS):
        if part:
            # One per second: some of the new rings find room.
            until(lambda: g.info()["rings"] < 48, "rings that are gone made room", timeout=60)
        churn("storm", jobs=jobs // PARTS, rings=12, ring_jobs=max(jobs // PARTS // 200, 200),
              pids=400, pid_jobs=max(jobs // PARTS // 5000, 20), threads=CPUS, seed=SEED + part + 1)
        sections = stats()
        seen = check_probes(before, sections, exact=True)
        check_processes(sections, seen["queue"]["recorded"])
        head = sections["gpumon"]
        check(head["rings"] <= 64 and head["processes"] <= 128, "a table beyond its bound: %s" % head)
        sizes.append(head["memory_bytes"])
    took = time.monotonic() - begin
    now = account()
    print("    %d events in %.1f s, %.0f a second; %d rings came and %d ended; retired %d" %
          (fired(before), took, fired(before) / took, now["rings_begun"] - before["rings_begun"],
           now["rings_ended"] - before["rings_ended"], head["rings_retired"]))
    others = rings(sections).get((None, "other"), {}).get("queued", 0)
    print("    processes aged out %d; jobs: exited %d, unattributed %d, of other rings %d of %d" %
          (head["processes_exited"], head["jobs_exited"], head["jobs_unattributed"], others,
           seen["queue"]["recorded"]))
    equal(set(sizes), {sizes[0]}, "memory_bytes after each part")
    check(others > 0, "the ring table was never full")
    check(head["jobs_unattributed"] > 0, "the process table was never full")
    churn("end")

step("it is over: tables make room, new ones are counted exactly")


def room(key, most):
    """Housekeeping runs once a second."""
    return g.info()[key] <= most


until(lambda: room("processes", 96), "processes that are gone made room")
until(lambda: room("rings", 48), "rings that are gone made room", timeout=60)
check(g.info()["rings_retired"] > 0 and g.info()["processes_exited"] > 0, "nothing was reclaimed")
g.reset()
before = account()
churn("storm", jobs=3000, rings=8, pids=16, seed=SEED)
sections = stats()
ours = check_rings(sections)
seen = probe("queue", probes(sections))
equal(sum(row["queued"] for row in ours.values()), account()["queue"] - before["queue"],
      "jobs of rings that came after the storm")
check_processes(sections, 3000)
equal(sections["gpumon"]["jobs_unattributed"], 0, "jobs_unattributed after the storm")
g.close()
churn("end")
rmmod("churn_gpu")
rmmod("fire_gpu")
rmmod("gpumon")
step("done")
