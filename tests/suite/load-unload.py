#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: timeout=600
"""200 rounds of loading and unloading under fire leave nothing: no memory, no line in the log."""
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from gpumon_netlink import Gpumon
from lab import (BUILD, DEBUGFS, STATS, account, check, check_sums, equal, load_mock, loaded,
                 read, rings, step, submitter, until, wait_idle)

ROUNDS = int(os.environ.get("GPUMON_ROUNDS") or 200)
WARM_UP = ROUNDS // 10


def reader():
    """Reads all there is, for ever, whether there is something or not."""
    seen = 0
    end = time.monotonic() + 580
    while time.monotonic() < end:
        try:
            seen += read(STATS).startswith("# groups")
            seen += len(read(DEBUGFS + "/gpumon/histograms")) > 0
            with Gpumon(5) as g:
                g.info()
                g.rings()
                g.histograms()
                g.groups()
                g.event_ring_set(seen % 2)
                seen += 1
            with open(DEBUGFS + "/gpumon/events", "rb", buffering=0) as f:
                os.set_blocking(f.fileno(), False)
                f.read(88 * 64)
        except OSError:
            # Not loaded at this moment.
            pass
        time.sleep(0.02)
        # What a test reads in the end: that this did see something. It is killed at any
        # moment: the file is never half-written.
        with open(os.environ["TMPDIR"] + "/seen.new", "w") as f:
            f.write(str(seen))
        os.rename(os.environ["TMPDIR"] + "/seen.new", os.environ["TMPDIR"] + "/seen")


if sys.argv[1:] == ["reader"]:
    reader()
    sys.exit(0)


def memory():
    fields = dict(re.findall(r"(?m)^(\w+):\s+(\d+)", read("/proc/meminfo")))
    found = {k: int(fields[k]) for k in ("Slab", "VmallocUsed", "Percpu")}
    # Free pages that the processors keep for themselves are not in MemAvailable,
    # and may be tens of MiB.
    kept = sum(map(int, re.findall(r"(?m)^\s+count: (\d+)", read("/proc/zoneinfo"))))
    found["Free"] = int(fields["MemAvailable"]) + kept * os.sysconf("SC_PAGE_SIZE") // 1024
    return found


def quiet_memory():
    """Memory when nothing is under way: caches given back, RCU and workqueues run."""
    with open("/proc/sys/vm/drop_caches", "w") as f:
        f.write("3")
    time.sleep(1)
    return memory()


load_mock(devices=2, rings=4, service_ns=1000000, distribution="exponential")
# Not over 9p 200 times.
module = os.environ["TMPDIR"] + "/gpumon.ko"
shutil.copy(BUILD + "/gpumon.ko", module)


class Load:
    """Jobs all the time, by programs that end and begin again."""

    def __init__(self):
        self.programs = []

    def keep(self):
        self.programs = [p for p in self.programs if p.poll() is None]
        # Synchronous: jobs all the time, and yet time for the rounds under TCG.
        while len(self.programs) < 1:
            # Some with dependencies and errors, so that every probe fires.
            self.programs.append(submitter(
                "-d", "all", "-r", "all", "-n", 4000, "--sync", "--fail", "fence",
                "--fail-every", 9, "-D", 1))

    def stop(self):
        for p in self.programs:
            p.kill()
            p.wait(60)


def call(*command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).returncode


def unload():
    """A reader may have a file open at this moment: try again."""
    tries = 0
    while call("rmmod", "gpumon"):
        tries += 1
        check(tries < 2000, "gpumon cannot be unloaded")
    return tries


load_ = Load()
readers = [subprocess.Popen([sys.executable, os.path.abspath(__file__), "reader"])]
begin = time.monotonic()
busy = most_jobs = 0
base = None
for i in range(ROUNDS):
    load_.keep()
    equal(call("insmod", module, *(["max_rings=%d" % (1 + i % 9)] if i % 3 else [])), 0,
          "insmod in round %d" % i)
    if i % 10 == 9:
        # A look at what it counts; jobs from before the load are untracked, never below zero.
        time.sleep(0.05)
        for key, row in rings().items():
            check(row["queue_depth"] is None or row["queue_depth"] < 1 << 20, "%s: %r" % (key, row))
            check(row["hw_depth"] is None or row["hw_depth"] < 1 << 20, "%s: %r" % (key, row))
            most_jobs = max(most_jobs, row["done"])
    busy += unload()
    check(not os.path.exists(DEBUGFS + "/gpumon"), "the directory in debugfs is left")
    if i + 1 == WARM_UP:
        base = quiet_memory()
        step("%d rounds in %.1f s, memory %r" % (WARM_UP, time.monotonic() - begin, base))
now = quiet_memory()
step("%d rounds in %.1f s, %d unloads had to wait for a reader, memory %r" %
     (ROUNDS, time.monotonic() - begin, busy, now))
for p in readers:
    p.kill()
    p.wait(10)
seen = int(read(os.environ["TMPDIR"] + "/seen"))
check(seen > ROUNDS // 20, "the reader saw only %d" % seen)
check(most_jobs > 0, "no round ever saw a job")
check(not loaded("gpumon"), "gpumon is loaded")
references = [line.split()[2:4] for line in read("/proc/modules").splitlines()
              if line.startswith("gpu_sched ")][0]
equal(references, ["1", "mock_gpu,"], "references to gpu_sched")

step("memory is back")
# One round allocates more than 4 MB; what is allowed here is below 10 KB a round.
for what, allowed in (("Percpu", 64), ("VmallocUsed", 512), ("Slab", 2048)):
    check(now[what] - base[what] <= allowed,
          "%s grew by %d KiB in %d rounds" % (what, now[what] - base[what], ROUNDS - WARM_UP))
check(base["Free"] - now["Free"] <= 24 * 1024, "free memory fell by %d KiB" %
      (base["Free"] - now["Free"]))

step("loaded once more, it counts right")
load_.stop()
wait_idle()
start = account()
equal(call("insmod", module), 0, "insmod")
load_.keep()
until(lambda: any(r["done"] > 100 for r in rings().values()), "jobs are counted")
load_.stop()
mock = wait_idle()
ours = rings()
for key, row in mock.items():
    for column in ("queued", "run", "done", "errors", "killed"):
        equal(ours[key][column], row[column] - start[key][column], "%s of %s" % (column, key))
    equal((ours[key]["queue_depth"], ours[key]["hw_depth"], ours[key]["untracked"]), (0, 0, 0),
          "depths of %s" % (key,))
check_sums()
unload()
step("done")
