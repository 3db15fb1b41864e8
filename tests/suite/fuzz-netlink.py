#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest timeout=240
"""The module's interfaces under wrong and half-right use: each answer is right, so are the counts.

tests/fuzz/netlink says what is done and what is checked. Seeded: GPUMON_FUZZ_SEED=N
repeats a run, GPUMON_FUZZ_SECONDS=N makes it longer, GPUMON_FUZZ_CORPUS=FILE runs that
file's cases and nothing else. With /out the coverage is left there, where there is any.
"""
import glob
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from gpumon_netlink import Gpumon
from lab import (BUILD, KERNEL, SLOWER, account, check, check_sums, equal, fail, load, rings, step,
                 submit, submitter, wait_idle)

FUZZER = BUILD + "/tests/fuzz/netlink/fuzz-netlink"
SEED = int(os.environ.get("GPUMON_FUZZ_SEED") or random.SystemRandom().randrange(1 << 32))
SECONDS = float(os.environ.get("GPUMON_FUZZ_SECONDS") or (20 if "-" in KERNEL else 7))
ONLY = os.environ.get("GPUMON_FUZZ_CORPUS")
CORPUS = [ONLY] if ONLY else sorted(glob.glob(BUILD + "/tests/fuzz/netlink-corpus/*.cases"))
OUT = os.environ.get("GPUMON_FUZZ_OUT")
# A job on a kernel with KASAN takes ten times as long.
JOBS = 640 if "-" in KERNEL else 3200


def fuzz(seconds, *options):
    """Run the fuzzer to its end. Returns its findings."""
    done = subprocess.run([FUZZER, "-t", str(seconds), "-s", str(SEED), *options, *CORPUS],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True, errors="replace", timeout=seconds + 200 * SLOWER)
    print(done.stdout, end="", flush=True)
    if done.returncode:
        found = [line for line in done.stdout.splitlines() if line.startswith("FOUND")]
        fail("%s (GPUMON_FUZZ_SEED=%d)" % (found[0] if found else "exit status %d" %
                                           done.returncode, SEED))


step("seed %d (GPUMON_FUZZ_SEED), %g s (GPUMON_FUZZ_SECONDS)" % (SEED, SECONDS))
check(CORPUS, "no corpus")
load(devices=4, rings=8, gpumon={"max_rings": 32})
submit("-d", "all", "-r", "all", "-n", 320, "-w")
wait_idle()

step("alone: whatever is not asked for does not change")
options = []
if OUT:
    options = ["-o", OUT + "/netlink.cases", "-k", OUT + "/netlink.blocks"]
fuzz(0 if ONLY else SECONDS * 0.6, *options)

step("three at once, while jobs run")
load_ = submitter("-d", "all", "-r", "all", "-n", JOBS, "-b", 4, "-p", 2, "-t", 2, "-w")
fuzz(0 if ONLY else SECONDS * 0.4, "-j", "3")

step("afterwards it still counts right")
equal(load_.wait(100), 0, "exit status of the submitter")
wait_idle()
with Gpumon() as g:
    g.event_ring_set(0)
    g.group_set("drm_sched", 1)
    g.event_ring_set(size_kib=512)
    g.reset()
    start = account()
    submit("-d", "all", "-r", "all", "-n", JOBS, "-b", 10, "-w")
    mock = wait_idle()
    ours = rings()
    by_netlink = {(r["device"], r["name"]): r for r in g.rings()}
    # The table is full. While the group was off, the rings had no scheduler, and one may have been
    # taken away just as its jobs came again: they were in this row for that moment, before the reset.
    other = by_netlink.pop(("-", "other"), None)
    equal(other and [other[c] for c in ("queued", "run", "done")], other and [0, 0, 0], "others")
    equal(sorted(by_netlink), sorted(mock), "rings")
    for key, row in mock.items():
        for column in ("queued", "run", "done", "errors", "killed"):
            should = row[column] - start[key][column]
            equal((ours[key][column], by_netlink[key][column]), (should, should),
                  "%s of %s" % (column, key))
        equal((ours[key]["queue_depth"], ours[key]["hw_depth"]), (0, 0), "depths of %s" % (key,))
    equal(len(g.histograms()), (32 + bool(other)) * 2, "histograms")
    check_sums()
    equal(g.info()["max_rings"], 32, "max_rings")
step("done")
