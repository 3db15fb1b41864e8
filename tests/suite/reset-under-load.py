#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest
"""Reset while jobs go through: the periods add up to the mock's account, nothing twice or lost."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
from gpumon_netlink import Gpumon, NetlinkError

COUNTERS = ("queued", "run", "done", "errors", "killed", "dependency_waits", "untracked",
            "jobs_table_full")


class Sum:
    """The sums over the periods."""

    def __init__(self):
        self.rings, self.histograms, self.processes, self.probes = {}, {}, {}, {}

    @staticmethod
    def plus(into, key, values):
        have = into.setdefault(key, [0] * len(values))
        for i, v in enumerate(values):
            have[i] += v

    def add(self, g, period):
        names = {}
        for r in g.rings(period):
            names[r["id"]] = r["device"], r["name"]
            self.plus(self.rings, names[r["id"]], [r[c] for c in COUNTERS])
        for h in g.histograms(period):
            if h["ring_id"] in names:
                self.plus(self.histograms, names[h["ring_id"]] + (h["name"],),
                          [h["count"], h["sum"]])
                lab.equal(sum(b["count"] for b in h["bucket"]), h["count"], "buckets of a period")
        for p in g.processes(period):
            self.plus(self.processes, p["pid"], [p["jobs"]])
        for p in g.groups(period)[0]["probe"]:
            dropped = sum(p["dropped"].values())
            lab.equal(p["seen"], p["recorded"] + dropped, "seen of %s in a period" % p["name"])
            self.plus(self.probes, p["name"], [p["seen"], p["recorded"], dropped])


lab.load(devices=2, rings=2, service_ns=20000, distribution="exponential", timeout_ms=60000)
with Gpumon() as g:
    lab.step("load from processes that submit all the time, and resets as fast as they go")
    total = Sum()
    count = 600 // lab.SLOWER
    loads = [lab.submitter("-d", "all", "-r", "all", "-n", count, "-b", 3, "--sync", *extra)
             for extra in ([], ["--fail", "fence", "--fail-every", 7], ["--inline"],
                           ["--fail", "run", "--fail-every", 5])]
    resets, since, under_load = 0, g.info()["since_ns"], 0
    while any(p.poll() is None for p in loads) or under_load < 4:
        if all(p.poll() is not None for p in loads):
            # The machine was too slow with resets, or too fast with the jobs.
            lab.check(len(loads) < 100, "only %d resets under load" % under_load)
            loads.append(lab.submitter("-d", "all", "-r", "all", "-n", 100, "-b", 3, "--sync"))
        closed = g.reset()
        resets += 1
        lab.equal(closed["closed"], resets, "number of the period that was closed")
        lab.equal(closed["closed_since_ns"], since, "when it began")
        lab.check(closed["closed_at_ns"] > since, "it has a length")
        since = closed["closed_at_ns"]
        info = g.info()
        lab.equal((info["period"], info["since_ns"]), (resets + 1, since), "the period that runs")
        before = g.rings(closed["closed"])
        total.add(g, closed["closed"])
        again = {r["id"]: r for r in g.rings(closed["closed"])}
        lab.equal([again.pop(r["id"]) for r in before], before, "a closed period, read again")
        # A ring whose first job came since is included, without counts.
        lab.equal([r for r in again.values() if r["queued"] or r["run"] or r["done"]], [],
                  "rings that came after the period and have jobs in it")
        if any(r["queued"] for r in before):
            under_load += 1
    for p in loads:
        lab.equal(p.wait(60), 0, "exit status of mock_submit")
    print("%d resets, %d of them closed a period with jobs" % (resets, under_load))

    mock = lab.wait_idle()
    total.add(g, None)

    lab.step("the sum over all periods")
    for key, row in mock.items():
        is_ = dict(zip(COUNTERS, total.rings[key]))
        for column, theirs in lab.COUNTERS.items():
            lab.equal(is_[column], row[theirs], "%s of %s" % (column, key))
        lab.equal((is_["untracked"], is_["jobs_table_full"]), (0, 0), "untracked of %s" % (key,))
        for name, count in (("queue_ns", row["run"]), ("run_ns", row["done"])):
            lab.equal(total.histograms[key + (name,)][0], count, "%s of %s" % (name, key))
    lab.equal({pid: j[0] for pid, j in total.processes.items() if j[0]},
              {pid: p[0] for pid, p in lab.mock_processes().items()}, "jobs of the processes")
    for name, (seen, recorded, dropped) in total.probes.items():
        lab.equal(seen, recorded + dropped, "seen of %s over all periods" % name)
    queue = lab.probe("queue")["probe"]
    lab.equal(total.probes[queue][0], sum(r["queued"] for r in mock.values()), "seen of " + queue)

    lab.step("gauges continue, highest values start over")
    process = lab.held("-n", 20, "-b", 20)
    lab.until(lambda: lab.rings()["mock_gpu.0", "ring0"]["hw_depth"] == 4, "4 on the hardware")
    g.reset()
    row = lab.rings()["mock_gpu.0", "ring0"]
    lab.equal((row["queue_depth"], row["queue_depth_max"], row["hw_depth"], row["hw_depth_max"]),
              (16, 16, 4, 4), "depths after a reset")
    lab.equal((row["queued"], row["run"]), (0, 0), "counters after a reset")
    lab.release(process)
    lab.wait_idle()
    row = lab.rings()["mock_gpu.0", "ring0"]
    lab.equal((row["queue_depth"], row["hw_depth"], row["run"], row["done"]), (0, 0, 16, 20),
              "after the jobs ended")

    lab.step("only the last closed period is kept")
    number = g.info()["period"]
    for period in 0, number - 2, number + 1:
        try:
            g.rings(period)
        except NetlinkError as e:
            lab.equal(e.errno, 116, "error for period %d" % period)
            lab.check("period" in e.message, "message: " + e.message)
        else:
            lab.fail("period %d was answered" % period)
