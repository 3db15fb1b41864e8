#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel icount cpus=2 timeout=120
"""GPU time, waiting, jobs and errors of each process on each ring are the mock's; on a ring that runs
one job after the other the processes' GPU time is its busy time. What ended processes used stays.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import files
import lab

# Between the clock readings of both sides, of a job, in nanoseconds; and where the CPU was taken away.
SLACK, AWAY = 400000, 30000000 * lab.SLOWER
COUNTS = "jobs", "errors"
TIMES = "gpu_ns", "queue_ns"


def sums(rows, *keys):
    """{values of keys: sums of the columns}"""
    found = {}
    for row in rows:
        into = found.setdefault(tuple(row[key] for key in keys), dict.fromkeys(COUNTS + TIMES, 0))
        for column in into:
            into[column] += row[column]
    return found


def compare(ours, theirs, what):
    for column in COUNTS:
        lab.equal(ours[column], theirs[column], "%s of %s" % (column, what))
    # A sanitised kernel has no virtual time: between the readings of both sides its CPU goes away for longer than jobs run.
    for column in TIMES if lab.SLOWER == 1 else ():
        lab.within(ours[column], theirs[column] - ours["jobs"] * SLACK - AWAY,
                   theirs[column] + ours["jobs"] * SLACK + AWAY, "%s of %s" % (column, what))


def compare_all(removed=0):
    """removed: so many processes are not in the table any more, at least."""
    lab.wait_idle()
    sections = lab.stats()
    ours = sums(lab.usage(sections), "pid", "device", "ring")
    mock = {key: row for key, row in lab.mock_usage().items() if row["jobs"] or row["errors"]}
    gone = {key for key in mock if key not in ours}
    lab.check(len({pid for pid, _, _ in gone}) >= removed, "only %d processes left" % len(gone))
    if not removed:
        lab.equal(gone, set(), "processes without a row")
    for key, theirs in mock.items():
        if key in ours:
            compare(ours[key], theirs, key)
    theirs = sums([dict(row, device=key[1], ring=key[2]) for key, row in mock.items()],
                  "device", "ring")
    rings = lab.rings(sections)
    for key, row in sums(lab.usage(sections), "device", "ring").items():
        if key == (None, "other"):
            lab.equal(row["jobs"], 0, "jobs without a row")
            continue
        compare(row, theirs[key], key)
        lab.equal(row["jobs"], rings[key]["done"], "jobs of the processes of %s" % (key,))
        lab.equal(row["errors"], rings[key]["errors"], "errors of the processes of %s" % (key,))
        busy = rings[key]["busy_ns"]
        lab.within(row["gpu_ns"], busy - row["jobs"] * 1000 - AWAY, busy + row["jobs"] * 1000 + AWAY,
                   "GPU time of all processes of %s" % (key,))
    return sections


lab.load(devices=lab.DEVICES, rings=2, hw_limit=3, service_ns=200000, distribution="uniform", timeout_ms=0)

lab.step("processes and threads on all rings, jobs that overlap")
lab.submit("-d", "all", "-r", "all", "-n", 40, "-p", 3, "-t", 2, "-b", 5, "-w")
compare_all()

lab.step("errors of a run, of the hardware, and of jobs that were killed")
lab.submit("-d", 0, "-r", 0, "-n", 30, "--fail", "run", "--fail-every", 3, "-w")
lab.submit("-d", 0, "-r", 1, "-n", 30, "--fail", "fence", "--fail-every", 4, "-w")
process = lab.held("-d", lab.LAST_DEVICE, "-r", 0, "-n", 20)
process.kill()
process.wait()
compare_all()

lab.step("a reset while a job runs divides the time")
with files.gpumon() as g:
    before = sums(lab.usage(), "device", "ring")
    process = lab.held("-d", lab.LAST_DEVICE, "-r", 1, "-n", 6, "-b", 6)
    reset = g.reset()
    lab.release(process)
    lab.wait_idle()
    if not lab.CORE:
        rows = g.statistics(reset["closed"])["drm_sched.usage"]
        closed = {(row["device"], row["ring"]): 0 for row in rows}
        for row in rows:
            closed[row["device"], row["ring"]] += row["gpu_ns"]
        now = sums(lab.usage(), "device", "ring")
        before.pop((None, "other"), None)
        for key, row in before.items():
            lab.equal(closed[key], row["gpu_ns"], "GPU time of %s before the reset" % (key,))
        theirs = sum(row["gpu_ns"] for key, row in lab.mock_usage().items()
                     if key[1:] == (lab.LAST_DEVICE_NAME, "ring1"))
        if lab.SLOWER == 1:
            lab.within(now[lab.LAST_DEVICE_NAME, "ring1"]["gpu_ns"] + closed[lab.LAST_DEVICE_NAME, "ring1"],
                       theirs - AWAY - 400 * SLACK, theirs + AWAY + 400 * SLACK, "both periods")

lab.step("more processes than there is room for: what they used stays with their cgroup")
lab.rmmod("gpumon", "mock_gpu")
lab.load(devices=1, rings=2, hw_limit=3, service_ns=50000, timeout_ms=0,
         gpumon={"max_processes": 8})
# Room is made from six on: five that are gone and three new ones are as many as there may be.
for _ in range(16):
    lab.submit("-r", "all", "-n", 10, "-p", 3, "-w")
    lab.wait_idle()
    lab.until(lambda: lab.stats()["gpumon"]["processes"] < 6, "processes have made room")
lab.check(lab.stats()["gpumon"]["processes_exited"] >= 40, "processes that were removed")
compare_all(removed=40)

lab.step("a process that is gone keeps its place while a job of it is on the hardware")
holder = lab.held("-r", 0, "-n", 1)
victim = lab.held("-r", 0, "-n", 2, wait=False)
victim.kill()
victim.wait()
for _ in range(4):
    lab.submit("-r", 1, "-n", 10, "-p", 3, "-w")
    lab.until(lambda: lab.stats()["gpumon"]["processes"] < 6, "processes have made room")
lab.check(victim.pid in [p["pid"] for p in lab.stats()["processes"]], "the process left the table")
lab.release(holder)
compare_all(removed=50)
lab.rmmod("gpumon", "mock_gpu")
