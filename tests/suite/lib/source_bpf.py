# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""gpumon-user with its BPF source: counting in the background, and its answer as JSON."""
import json
import os
import subprocess
import time

import lab

TOOL = lab.BUILD + "/gpumon-user"


def need():
    """Skip where gpumon-user was built without BPF."""
    done = subprocess.run([TOOL, "stat", "--source=bpf", "--json", "-d", "10ms"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=120 * lab.SLOWER)
    if done.returncode == 77 and "not-built" in done.stdout:
        lab.skip(json.loads(done.stdout)["error"]["message"])


def open_files(pid):
    """Targets of a process's descriptors, except those that it closes meanwhile."""
    folder = "/proc/%d/fd" % pid
    names = []
    for fd in os.listdir(folder):
        try:
            names.append(os.readlink(os.path.join(folder, fd)))
        except FileNotFoundError:
            continue
    return names


class Counting:
    """stat by BPF with a command that runs until end(). Everything is attached when it is created."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([TOOL, "stat", "--source=bpf", "--json", *arguments, "--",
                                         "sh", "-c", "echo counting; exec cat"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        lab.check(line, "stat --source=bpf runs its command: %s" %
                  ("" if line else self.process.stderr.read()))
        self.links = self._links()

    def _links(self):
        """The number of attached programs."""
        return sum("tracepoint" in name or "perf" in name or "bpf_link" in name or "bpf-link" in name
                   for name in open_files(self.process.pid))

    def driver_came(self):
        """Wait until it has attached to a driver that was loaded later."""
        lab.until(lambda: self._links() > self.links, "stat attaches to the driver", timeout=60)
        while self._links() != self.links:
            self.links = self._links()
            time.sleep(1)

    def end(self):
        """End its command. Returns its document."""
        _, err = self.process.communicate(timeout=120 * lab.SLOWER)
        lab.equal(self.process.returncode, 0, "exit status of stat: %s" % err)
        document = json.loads(err)
        for g in document["groups"]:
            lab.check(g["state"] in ("attached", "waiting"),
                      "group %s is %s: %s" % (g["name"], g["state"], g["reason"]))
        lab.equal(document["gpumon"]["source"], "bpf", "source")
        check_sums(document)
        return document


def module():
    """The module's document."""
    done = lab.run(TOOL, "stat", "--source=module", "--json", timeout=120)
    document = json.loads(done.stdout)
    lab.equal(document["gpumon"]["source"], "kmod", "source")
    return document


def group(document, name):
    return {g["name"]: g for g in document["groups"]}[name]


def probes(document, name):
    return {p["name"]: p for p in group(document, name)["probes"]}


def attached(document, name):
    return {p["name"] for p in probes(document, name).values() if p["state"] == "attached"}


def check_sums(document):
    """seen = recorded + dropped, for each probe."""
    for g in document["groups"]:
        for p in g["probes"]:
            lab.equal(p["seen"], p["recorded"] + sum(p["dropped"].values()),
                      "seen of %s" % p["name"])


def lost(document):
    """{probe: lost events}. For system calls only an upper bound for all kinds together is known.
    """
    counts = {}
    for g in document["groups"]:
        for p in g["probes"]:
            causes = dict(p["dropped"])
            if p["name"] in ("sys_enter", "sys_exit"):
                causes.pop("recursion")
            if sum(causes.values()):
                counts[p["name"]] = sum(causes.values())
    return counts


def lossless(document):
    """No probe lost an event, which exact counts need."""
    lab.equal(lost(document), {}, "events that were lost")


def calls_lost(document):
    """How many system calls may be lost at most, by the counters: 0 if every one was seen."""
    return sum(probes(document, "nvidia")[name]["dropped"]["recursion"]
               for name in ("sys_enter", "sys_exit"))


def fewer(ours, theirs, most, what):
    """A count by BPF, without the calls that were lost, at most so many."""
    if most:
        lab.within(theirs - ours, 0, most, "%s that BPF does not have" % what)
    else:
        lab.equal(ours, theirs, what)


def rings(document):
    """{(device, ring): row}"""
    return {(r["device"], r["ring"]): r for r in document["drm_sched"]["rings"]}


def table(document, name_of_group, name, *labels):
    """{labels: row} of a table of a group; of one label its value is the key."""
    rows = {}
    for row in document[name_of_group].get(name, []):
        key = tuple(row[label] for label in labels)
        rows[key if len(key) > 1 else key[0]] = row
    return rows


# How far a latency may differ, in the median and on average. Each source reads the time at a place
# of its own. Only some instructions are in between, but under emulation the host may take a CPU
# away there for long: hence the second number, and a second in total.
NEAR_NS, NEAR_ON_AVERAGE_NS, AWAY_NS = 200000, 500000, 1000000000
# The share of the values for which that may happen: a tenth, or one value. If half of them are
# short and half long, one is enough to move the median.
AWAY_PART = 0.1


def bucket_of(histogram, rank):
    """The bucket of a value, by its rank from the shortest one, which has 1."""
    for bucket in histogram["buckets"]:
        rank -= bucket["count"]
        if rank <= 0:
            break
    return bucket


def near_sums(ours, theirs, count, what):
    """Compare two sums of as many times, each between two events."""
    lab.within(ours, theirs - count * NEAR_ON_AVERAGE_NS - AWAY_NS,
               theirs + count * NEAR_ON_AVERAGE_NS + AWAY_NS, what)


def near(ours, theirs, what):
    """Compare two histograms of the same values: equal counts, and nearly equal values."""
    lab.equal(ours["count"], theirs["count"], "count of " + what)
    lab.equal(sum(b["count"] for b in ours["buckets"]), ours["count"], "buckets of " + what)
    if not ours["count"]:
        return
    lab.within(ours["sum"], sum(b["ge"] * b["count"] for b in ours["buckets"]),
               sum(b["lt"] * b["count"] for b in ours["buckets"]), "sum by the buckets of " + what)
    apart = ours["sum"] - theirs["sum"]
    print("    %s: %d values, mean %.1f us, %.1f us apart" %
          (what, ours["count"], ours["sum"] / ours["count"] / 1e3, apart / ours["count"] / 1e3))
    near_sums(ours["sum"], theirs["sum"], ours["count"], "sum of " + what)
    away = max(1, int(ours["count"] * AWAY_PART))
    middle = -(-ours["count"] // 2)
    for rank in -(-ours["count"] // 4), middle, -(-ours["count"] * 3 // 4):
        here, low, high = (bucket_of(ours, rank), bucket_of(theirs, rank - away),
                           bucket_of(theirs, rank + away))
        lab.check(here["lt"] >= low["ge"] - NEAR_NS and here["ge"] <= high["lt"] + NEAR_NS,
                  "value %d of %s: %r, by the module %r" % (rank, what, here, theirs["buckets"]))
    here = bucket_of(ours, middle)
    lab.within(ours["p50"], here["ge"], here["lt"], "p50 by the buckets of " + what)
    mean = ours["sum"] // ours["count"]
    lab.within(ours["min"], 0, mean, "min of " + what)
    lab.within(ours["max"], mean, ours["sum"], "max of " + what)


def same_keys(ours, theirs, what):
    """Both sources have the same schema: each key of one is in the other, at any depth."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        lab.equal(sorted(ours), sorted(theirs), "keys of " + what)
        for key in ours:
            same_keys(ours[key], theirs[key], "%s.%s" % (what, key))
