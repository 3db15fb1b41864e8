#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel
"""Counters equal the mock's own account, on every ring and however jobs end."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import files
import lab

# The scheduler of 5.10, 6.1 and 6.12 fires for each dependency that it finds, 7 only for those not
# signalled yet, as all of this test are.
def waits(row):
    return row["dependencies_run"]


def check_netlink(ours):
    """Netlink has the counters of debugfs, and a latency for each job that ran or was done."""
    if lab.CORE:
        check_files(ours)
        return
    with files.gpumon() as g:
        told = {(r["device"], r["name"]): r for r in g.rings()}
        histograms = g.histograms()
    lab.equal(sorted(told), sorted(ours), "rings in netlink")
    for key, row in ours.items():
        for column in ("queued", "run", "done", "errors", "killed", "dependency_waits",
                       "untracked", "queue_depth", "queue_depth_max", "hw_depth",
                       "hw_depth_max", "busy_ns", "jobs_table_full", "clock_backwards", "abandoned",
                       "live"):
            # What is unknown is not sent.
            lab.equal(told[key].get(column), row[column], "%s of %s in netlink" % (column, key))
    names = {r["id"]: key for key, r in told.items()}
    for h in histograms:
        row = ours[names[h["ring_id"]]]
        should = {"queue_ns": row["run"], "run_ns": row["done"]}[h["name"]]
        lab.equal(h["count"], should, "%s of %s" % (h["name"], names[h["ring_id"]]))
        lab.equal(sum(b["count"] for b in h["bucket"]), h["count"], "buckets of " + h["name"])


def check_files(ours):
    """The histograms of debugfs have a latency for each job that ran or was done."""
    with files.gpumon() as g:
        histograms = g.histograms()
    lab.equal(len(histograms), sum(bool(row["run"]) + bool(row["done"]) for row in ours.values()),
              "histograms")
    for h in histograms:
        row = ours[h["device"], h["ring"]]
        should = {"queue_ns": row["run"], "run_ns": row["done"]}[h["name"]]
        lab.equal(h["count"], should, "%s of %s" % (h["name"], h["ring"]))
        lab.equal(sum(b["count"] for b in h["bucket"]), h["count"], "buckets of " + h["name"])


# Without a timeout, which would end the jobs of a held ring, and others where the VM stands still.
mock = dict(devices=lab.DEVICES, rings=3, hw_limit=4, service_ns=100000, distribution="exponential")
lab.load(timeout_ms=0, **mock)

lab.step("several processes and threads, timer completion")
lab.submit("-d", "all", "-r", "all", "-n", 90, "-p", 3, "-t", 2, "-b", 3, "-w")
lab.check_counts(waits=waits)

lab.step("inline completion")
lab.submit("-d", "all", "-r", 1, "-n", 200, "-b", 20, "--inline", "-w")
lab.check_counts(waits=waits)

lab.step("run_job() fails, each 3rd job")
lab.submit("-d", 0, "-r", 0, "-n", 60, "--fail", "run", "--fail-every", 3, "-w")
lab.submit("-d", lab.LAST_DEVICE, "-r", 0, "-n", 30, "--inline", "--fail", "run", "-w")
lab.check_counts(waits=waits)

lab.step("the hardware's fence fails, each 4th job")
lab.submit("-d", 0, "-r", 1, "-n", 60, "--fail", "fence", "--fail-every", 4, "-w")
lab.submit("-d", lab.LAST_DEVICE, "-r", 1, "-n", 30, "--inline", "--fail", "fence", "-w")
lab.check_counts(waits=waits)

lab.step("dependencies between rings and devices")
holder = lab.held("-d", 0, "-r", 1)
waiting = lab.submitter("-d", lab.LAST_DEVICE, "-r", 0, "-p", 20, "-D", "0:1", "-w")
lab.until(lambda: lab.rings().get((lab.LAST_DEVICE_NAME, "ring0"), {}).get("dependency_waits") == 20,
          "the scheduler has looked at each job while what it depends on is held")
lab.release(holder)
lab.release(waiting)
account = lab.wait_idle()
lab.equal(account[lab.LAST_DEVICE_NAME, "ring0"]["dependencies_run"], 20, "dependencies of the mock")
check_netlink(lab.check_counts(account, waits=waits))

lab.end_without_unload()
lab.step("a job hangs until the scheduler's timeout")
lab.rmmod("gpumon", "mock_gpu")
lab.load(timeout_ms=400, **mock)
lab.submit("-d", 0, "-r", 2, "-n", 8, "--fail", "hang", "--fail-every", 4, "-w")
account = lab.wait_idle()
lab.check(account["mock_gpu.0", "ring2"]["timeouts"] >= 2, "two jobs hang, of %r" % account)
check_netlink(lab.check_counts(account, waits=waits))
