#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel tool icount cpus=2 timeout=300
"""The DRM scheduler by BPF: the counts equal those of the module and of the mock."""
import functools
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import fire
import lab
import source_bpf
from gpumon_netlink import Gpumon
from source_sched import against_mock, check_lost, until_lossless

# Rings that end, with 100 jobs each.
ENDS = 20

INTERRUPTED, IRQ_JOBS = 1, 60

COUNTERS = ("live", "queued", "run", "done", "errors", "killed", "dependency_waits", "untracked",
            "jobs_table_full")


def usage(document):
    """{(pid, device, ring): [jobs, errors, gpu_ns, queue_ns]}, without rows that nothing was counted in"""
    pids = {p["id"]: p["pid"] for p in document["processes"] if p["id"]}
    found = {}
    for row in document["drm_sched"]["usage"]:
        into = found.setdefault((pids.get(row["process"], 0), row["device"], row["ring"]), [0] * 4)
        for i, column in enumerate(("jobs", "errors", "gpu_ns", "queue_ns")):
            into[i] += row[column]
    return {key: row for key, row in found.items() if any(row)}


def agree_on_usage(bpf, module):
    ours, theirs = usage(bpf), usage(module)
    lab.equal(sorted(ours), sorted(theirs), "processes and rings")
    for key, row in ours.items():
        lab.equal(row[:2], theirs[key][:2], "jobs and errors of %d on %s/%s" % key)
        for i, column in (2, "gpu_ns"), (3, "queue_ns"):
            source_bpf.near_sums(row[i], theirs[key][i], 2 * (row[0] + row[1]),
                                 "%s of %d on %s/%s" % (column, *key))


def agree(bpf, module):
    agree_on_usage(bpf, module)
    ours, theirs = source_bpf.rings(bpf), source_bpf.rings(module)
    lab.equal(sorted(ours), sorted(theirs), "rings")
    for key, row in ours.items():
        source_bpf.same_keys(row, theirs[key], "ring")
        for column in COUNTERS:
            lab.equal(row[column], theirs[key][column], "%s of %s" % (column, key))
        for latency in ("queue_ns", "run_ns"):
            source_bpf.near(row[latency], theirs[key][latency],
                            "%s of %s/%s" % (latency, *key))
        source_bpf.near_sums(row["busy_ns"], theirs[key]["busy_ns"], row["run"],
                             "busy_ns of %s/%s" % key)
        for depth in ("queue_depth", "hw_depth"):
            lab.equal(row[depth]["now"], theirs[key][depth]["now"], "%s of %s" % (depth, key))
    source_bpf.same_keys(bpf["gpumon"], module["gpumon"], "gpumon")
    jobs = [{p["pid"]: (p["jobs"], p["start_ns"], p["comm"], p["alive"], p["cgroup_id"])
             for p in d["processes"] if p["jobs"]} for d in (bpf, module)]
    lab.equal(jobs[0], jobs[1], "processes")


def however_they_end():
    for name in "gpumon", "mock_gpu":
        if lab.loaded(name):
            lab.rmmod(name)
    lab.load(devices=2, rings=3, hw_limit=4, service_ns=100000, distribution="exponential",
             timeout_ms=400)
    counting = source_bpf.Counting()
    lab.submit("-d", "all", "-r", "all", "-n", 40, "-p", 3, "-t", 2, "-b", 3, "-w")
    lab.submit("-d", "0,1", "-r", 1, "-n", 100, "-b", 20, "--inline", "-w")
    lab.submit("-d", 0, "-r", 0, "-n", 30, "--fail", "run", "--fail-every", 3, "-w")
    lab.submit("-d", 0, "-r", 1, "-n", 30, "--fail", "fence", "--fail-every", 4, "-w")
    lab.submit("-d", 0, "-r", 2, "-n", 8, "--fail", "hang", "--fail-every", 4, "-w")
    lab.submit("-d", 1, "-r", 0, "-n", 10, "-s", 20000000, "-D", "0:1", "-w")
    process = lab.held("-d", 1, "-r", 2, "-n", 12)
    process.kill()
    process.wait()
    lab.wait_idle()
    document, module = counting.end(), source_bpf.module()
    check_lost(document)
    return document, module


def in_interrupts_of_a_process():
    """Jobs of interrupts on a CPU where a process is busy all the time."""
    for name in "gpumon", "mock_gpu":
        if lab.loaded(name):
            lab.rmmod(name)
    lab.load(devices=1, rings=1)
    counting = source_bpf.Counting()
    busy = os.fork()
    if not busy:
        os.sched_setaffinity(0, {INTERRUPTED})
        while True:
            pass
    f = fire.Fire()
    scheduler = f.new("gpu_sched", "struct drm_gpu_scheduler", name=f.string("of_timer"),
                      dev=f.device("made_up"))
    jobs, entity, _ = f.scheduler_jobs(scheduler, 3000, IRQ_JOBS)
    f.fire("gpu_sched", lab.probe("queue")["probe"], jobs, entity, cpu=INTERRUPTED, irq=True,
           times=IRQ_JOBS)
    os.kill(busy, signal.SIGKILL)
    os.waitpid(busy, 0)
    document, module = counting.end(), source_bpf.module()
    f.close()
    return document, module


def rings_of_queues(names):
    for name in "gpumon", "mock_gpu":
        lab.rmmod(name)
    lab.load(devices=1, rings=12, names=names, timeout_ms=100000)
    counting = source_bpf.Counting()
    lab.submit("-r", "all", "-n", 48, "-w")
    lab.wait_idle()
    document, module = counting.end(), source_bpf.module()
    check_lost(document)
    return document, module


def churn(line):
    with open(lab.DEBUGFS + "/churn_gpu/command", "w") as f:
        f.write(line)


def rings_that_end(more=""):
    counting = source_bpf.Counting()
    churn("storm jobs=%d rings=1 ring_jobs=100%s" % (100 * ENDS, more))
    return (counting.end(),)


def queues_that_stay():
    """Queues of which some end, while others were there before and stay."""
    for name in "gpumon", "churn_gpu":
        if lab.loaded(name):
            lab.rmmod(name)
    lab.insmod("churn_gpu")
    lab.load_gpumon()
    counting = source_bpf.Counting()
    churn("storm jobs=2000 rings=8 ring_jobs=100 numbered=1")
    return counting.end(), source_bpf.module()


def without_the_module():
    before = lab.wait_idle()
    counting = source_bpf.Counting()
    lab.submit("-d", "all", "-r", "all", "-n", 20, "-p", 2, "-w")
    lab.wait_idle()
    document = counting.end()
    check_lost(document, before)
    return document, before


source_bpf.need()
lab.step("both on the same jobs, however they end")
document, module = until_lossless(however_they_end)
against_mock(document)
agree(document, module)
lab.check(any(r["killed"] for r in document["drm_sched"]["rings"]), "jobs were killed")
lab.check(any(r["errors"] for r in document["drm_sched"]["rings"]), "jobs had errors")
with Gpumon() as g:
    lab.check(g.info(), "the module is still there")

lab.step("jobs of interrupts are no process's, as in the module")
document, module = until_lossless(in_interrupts_of_a_process)
agree(document, module)
for one in document, module:
    lab.equal(one["gpumon"]["jobs_unattributed"], IRQ_JOBS, "jobs_unattributed")

for driver, wanted in ("xe", 12), ("amdxdna", 1):
    lab.step("numbers that are no indices are those of queues, as in the module: %s" % driver)
    document, module = until_lossless(functools.partial(rings_of_queues, driver))
    agree(document, module)
    lab.equal(len(source_bpf.rings(document)), wanted, "rings")
lab.rmmod("gpumon", "mock_gpu")

lab.step("events during the end of a scheduler do not make it known again")
lab.insmod("fire_gpu")
lab.insmod("churn_gpu")
document, = until_lossless(rings_that_end)
lab.equal([(r["queued"], r["live"]) for r in source_bpf.rings(document).values()], ENDS * [(100, 0)],
          "jobs and schedulers of the rings, one after the other at the same address")

lab.step("jobs that never end are over with their scheduler, and numbered rings that come and go are one")
# Again, so that their numbers begin with 1.
lab.rmmod("churn_gpu")
lab.insmod("churn_gpu")
document, = until_lossless(functools.partial(rings_that_end, " numbered=1 hung=64"))
(key, row), = source_bpf.rings(document).items()
lab.equal((key, row["queued"], row["live"]), (("churn_gpu", "queue"), 100 * ENDS, 0), "the ring")
lab.equal((row["queue_depth"]["now"], row["hw_depth"]["now"]), (0, 0), "levels")
lab.step("queues that were there before the first one ended keep their rows, as in the module")
document, module = until_lossless(queues_that_stay)
agree(document, module)
names = {ring for _, ring in source_bpf.rings(document)}
lab.check("queue" in names and len(names) > 1, "rings %s" % sorted(names))
lab.rmmod("gpumon", "churn_gpu", "fire_gpu")

lab.step("without the module")
lab.load_mock(devices=2, rings=3, hw_limit=4, service_ns=100000, timeout_ms=100000)
document, before = until_lossless(without_the_module)
against_mock(document, before)
lab.equal(source_bpf.group(document, "drm_sched")["state"], "attached", "group")
lab.equal(len(source_bpf.attached(document, "drm_sched")), 6, "attached probes")
for name, row in source_bpf.probes(document, "drm_sched").items():
    if row["state"] != "attached":
        lab.equal(row["state"], "missing", name)
        lab.check("not in this kernel" in row["reason"], "reason of %s: %r" % (name, row["reason"]))

lab.step("jobs from before are untracked, and in no level")
process = lab.held("-d", 0, "-r", 0, "-n", 3)
counting = source_bpf.Counting()
lab.release(process)
lab.wait_idle()
row = source_bpf.rings(counting.end())["mock_gpu.0", "ring0"]
lab.check(row["untracked"] >= 3 and not row["queued"], "jobs from before: %s" % row)
lab.equal((row["queue_depth"]["now"], row["hw_depth"]["now"]), (None, None), "levels")
lab.equal((row["queue_ns"]["count"], row["run_ns"]["count"]), (0, 0), "latencies")

lab.step("a driver that comes while it counts")
lab.rmmod("mock_gpu", "gpu_sched")
counting = source_bpf.Counting()
lab.load_mock(devices=1, rings=1)
counting.driver_came()
lab.submit("-n", 25, "-w")
lab.wait_idle()
document = counting.end()
lab.equal(source_bpf.rings(document)["mock_gpu.0", "ring0"]["queued"], 25, "jobs of a late driver")
