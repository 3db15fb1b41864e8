#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel icount cpus=2
"""The kernel's own trace of the same events says the same: counts, and latencies as far as it can.

Both are probes of the same tracepoints and read the same clock one after the
other, so that a latency may differ by what runs between the two readings, at
either end of it, and by the microsecond that ftrace prints. CLOSE is allowed
for that, several times what emulation takes; the virtual CPU itself can be
taken away between the readings, which FEW of the values may show. Histograms
are compared through their cumulative counts: those of one side lie between
those of the other shifted by CLOSE either way exactly if the values can be
paired so that each pair is CLOSE. The service times are chosen such that CLOSE is
less than the width of a bucket there.
"""
import os
import re
import sys
from collections import Counter, defaultdict

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import tracefs
from gpumon_netlink import Gpumon

CLOSE = 300000
# Share of the values, and minimum number.
FEW, FEW_AT_LEAST = 0.03, 3
# Mean over all values.
MEAN = 100000

# The kernel has one name of each pair, see lab.GENERATIONS.
KINDS = {name: role for role, names in lab.GENERATIONS.items() for name in names}
LINE = re.compile(r"^\s*.+-\d+\s+\[\d+\]\s+\S+\s+(\d+)\.(\d+): (\w+): (.*)$")


def start():
    tracefs.write("tracing_on", "0")
    tracefs.write("trace_clock", "mono")
    tracefs.write("buffer_size_kb", "4096")
    tracefs.clear()
    have = tracefs.names("events/gpu_scheduler")
    for name, role in KINDS.items():
        if name in have:
            tracefs.enable("gpu_scheduler/" + name)
    tracefs.write("tracing_on", "1")


def stop():
    """[(time in ns, role, text)] in the order of the trace; nothing of it was lost."""
    tracefs.write("tracing_on", "0")
    tracefs.enable("gpu_scheduler", False)
    tracefs.lost_nothing()
    found = []
    for m in tracefs.matches(LINE):
        lab.check(m.group(3) in KINDS, "not asked for: " + m.group())
        found.append((int(m.group(1)) * 1000000000 + int(m.group(2)) * 1000,
                      KINDS[m.group(3)], m.group(4)))
    return found


def follow(trace):
    """Counts {(ring, role)} and latencies {(ring, name)}, jobs known by their fence.

    A fence that is freed gives its address to a later one: its history starts over.
    """
    counts, values, jobs = Counter(), defaultdict(list), {}
    for time, role, text in trace:
        fence = re.search(r"fence=(\S+?)(,|\s|$)", text).group(1)
        if role == "queue":
            jobs[fence] = re.search(r"ring=([^,]+)", text).group(1), time
        if role == "wait":
            # "depends fence" or "dependency": only older kernels name the job's ring.
            ring = re.search(r"ring=([^,]+)", text)
            counts[ring.group(1) if ring else jobs[fence][0], role] += 1
            continue
        ring, before = jobs[fence]
        counts[ring, role] += 1
        if role != "queue":
            values[ring, {"run": "queue_ns", "done": "run_ns"}[role]].append(time - before)
            jobs[fence] = ring, time
    return counts, values


def compare(h, values, what):
    lab.equal(h["count"], len(values), "count of " + what)
    few = max(FEW_AT_LEAST, int(FEW * len(values)))
    worst = below = 0
    for b in h["bucket"]:
        below += b["count"]
        least = sum(v < b["lt"] - CLOSE for v in values)
        most = sum(v < b["lt"] + CLOSE for v in values)
        worst = max(worst, least - below, below - most)
        lab.within(below, least - few, most + few, "%s below %d ns" % (what, b["lt"]))
    print("%s: %d values, mean %+d ns, %d not close" %
          (what, len(values), (h["sum"] - sum(values)) / len(values), worst))
    lab.within(h["sum"], sum(values) - MEAN * len(values) - few * 100 * CLOSE,
               sum(values) + MEAN * len(values) + few * 100 * CLOSE, "sum of " + what)


# One device, since older kernels do not name it in their trace.
lab.load(devices=1, rings=3, hw_limit=2, service_ns=3000000, distribution="uniform")
start()
lab.step("timer, inline, failing, dependent and killed jobs under ftrace")
loads = [lab.submitter("-r", 0, "-n", 100, "-b", 4, "-w"),
         lab.submitter("-r", 1, "-n", 40, "-t", 2, "-b", 2, "-w"),
         lab.submitter("-r", 2, "-n", 50, "-b", 2, "--inline", "-w"),
         lab.submitter("-r", 1, "-n", 20, "--fail", "fence", "--fail-every", 2, "-w"),
         lab.submitter("-r", 2, "-n", 10, "-s", 5000000, "-D", 0, "-w")]
for p in loads:
    lab.equal(p.wait(60), 0, "exit status of mock_submit")
victim = lab.submitter("-r", 2, "-n", 30, "-b", 30, "-s", 20000000, "--linger")
lab.until(lambda: lab.account()["mock_gpu.0", "ring2"]["hw_depth"], "jobs on the hardware")
victim.kill()
victim.wait(30)
lab.wait_idle()
trace = stop()
counts, values = follow(trace)
ours = lab.check_counts()

lab.step("counts of each ring")
for (device, ring), row in ours.items():
    for role, column in (("queue", "queued"), ("run", "run"), ("done", "done"),
                         ("wait", "dependency_waits")):
        lab.equal(row[column], counts[ring, role], "%s of %s" % (column, ring))
lab.check(counts["ring2", "wait"] > 0, "no dependency wait in the trace")
for role in lab.GENERATIONS:
    lab.equal(lab.probe(role)["seen"], sum(n for (_, r), n in counts.items() if r == role),
              "seen of " + role)

lab.step("latencies of each ring")
with Gpumon() as g:
    names = {r["id"]: r["name"] for r in g.rings()}
    for h in g.histograms():
        if h["name"].endswith("_ns"):
            ring = names[h["ring_id"]]
            compare(h, values[ring, h["name"]], "%s of %s" % (h["name"], ring))
