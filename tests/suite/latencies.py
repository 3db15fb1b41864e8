#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel icount cpus=2
"""Latencies are the mock's, as far as two clocks read one after the other can agree.

The mock reads the clock just before it pushes a job, at the top of run_job()
and when the job leaves the hardware; gpumon reads it in the tracepoints,
which come after the first, just before the second... and after the third on
the same CPU. What lies between is a few hundred instructions, unless the CPU
is taken away there, which under emulation happens and then costs a time slice.
So single values are bound loosely, sums tightly: SLACK for each job in the
mean, and the medians of both sides through the service time that is asked for.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import files
import lab

JOBS = 150
SERVICE = 5000000
# Mean over the jobs, in nanoseconds.
SLACK = 400000
# For one job, which may lose the CPU between the two clock readings.
SLICE = 100000000


def histograms(g):
    return {h["name"]: h for h in g.histograms()}


def compare(h, total, count, highest):
    lab.equal(h["count"], count, "count of " + h["name"])
    lab.within(h["sum"], total - count * SLACK, total + count * SLACK, "sum of " + h["name"])
    lab.within(h["max_value"], highest - SLICE, highest + SLICE, "max of " + h["name"])
    lab.check(h["min_value"] <= h["sum"] / h["count"] <= h["max_value"], "min <= mean <= max")
    for b in h["bucket"]:
        # Four buckets per power of two: the width is at most a quarter of the values.
        lab.check(b["lt"] - b["ge"] <= max(1, b["ge"] / 4), "width of %r" % b)
    low = sum(b["ge"] * b["count"] for b in h["bucket"])
    high = sum(b["lt"] * b["count"] for b in h["bucket"])
    lab.within(h["sum"], low, high, "sum of %s against its buckets" % h["name"])
    lab.check(h["bucket"][0]["ge"] <= h["min_value"] < h["bucket"][0]["lt"], "min in its bucket")
    lab.check(h["bucket"][-1]["ge"] <= h["max_value"] < h["bucket"][-1]["lt"],
              "max in its bucket")


lab.load(devices=1, rings=1, hw_limit=1, completion="timer", timeout_ms=0)
with files.gpumon() as g:
    lab.step("one job on the hardware at a time, the others wait for it")
    lab.submit("-n", JOBS, "-b", JOBS, "-s", SERVICE, "-w")
    mock = lab.wait_idle()["mock_gpu.0", "ring0"]
    lab.check_counts()
    hs = histograms(g)
    compare(hs["queue_ns"], mock["queue_ns_sum"], JOBS, mock["queue_ns_max"])
    compare(hs["run_ns"], mock["run_ns_sum"], JOBS, mock["run_ns_max"])
    # The requested time is the minimum that a job can have taken.
    lab.check(hs["run_ns"]["min_value"] >= SERVICE - SLACK, "min of run_ns: %r, service %d" %
              (hs["run_ns"]["min_value"], SERVICE))
    print("per job: queue %+d ns, run %+d ns" %
          ((hs["queue_ns"]["sum"] - mock["queue_ns_sum"]) // JOBS,
           (hs["run_ns"]["sum"] - mock["run_ns_sum"]) // JOBS))
    # Of one job after the other, to the nanosecond that each sum is rounded by.
    lab.within(lab.rings()["mock_gpu.0", "ring0"]["busy_ns"], hs["run_ns"]["sum"],
               hs["run_ns"]["sum"] + JOBS, "busy_ns against run_ns")

    lab.step("percentiles lie where the values do")
    row = lab.rings()["mock_gpu.0", "ring0"]
    for name in "queue", "run":
        h = hs[name + "_ns"]
        for percent in 50, 99:
            p = row["%s_ns_p%d" % (name, percent)]
            rank, below = -(-h["count"] * percent // 100), 0
            for b in h["bucket"]:
                below += b["count"]
                if below >= rank:
                    break
            lab.within(p, b["ge"], b["lt"], "%s_ns_p%d" % (name, percent))

    lab.step("jobs that end inside run_job()")
    g.reset()
    before = mock
    lab.submit("-n", JOBS, "-b", 10, "--inline", "-w")
    mock = lab.wait_idle()["mock_gpu.0", "ring0"]
    hs = histograms(g)
    compare(hs["queue_ns"], mock["queue_ns_sum"] - before["queue_ns_sum"], JOBS,
            mock["queue_ns_max"] if mock["queue_ns_max"] > before["queue_ns_max"]
            else hs["queue_ns"]["max_value"])
    lab.within(hs["run_ns"]["sum"], 0, JOBS * SLACK, "sum of run_ns of jobs that end at once")
    print("per job: queue %+d ns, run %+d ns" %
          ((hs["queue_ns"]["sum"] - mock["queue_ns_sum"] + before["queue_ns_sum"]) // JOBS,
           (hs["run_ns"]["sum"] - mock["run_ns_sum"] + before["run_ns_sum"]) // JOBS))
