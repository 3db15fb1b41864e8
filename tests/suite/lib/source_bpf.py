# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""gpumon-user with its BPF source: counting in the background, and its answer as JSON."""
import json
import os
import signal
import subprocess

import lab

TOOL = lab.BUILD + "/gpumon-user"


def need():
    """Skip where gpumon-user was built without BPF."""
    done = subprocess.run([TOOL, "stat", "--source=bpf", "--json", "-d", "10ms"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    if done.returncode == 77 and "not-built" in done.stdout:
        lab.skip(json.loads(done.stdout)["error"]["message"])


class Counting:
    """stat by BPF from here to end(): everything is attached when it is made."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([TOOL, "stat", "--source=bpf", "--json", *arguments],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        lab.check("counting by BPF" in line, "stat --source=bpf says: %s" % line)

    def end(self):
        """Stop it as Ctrl-C does; its document."""
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=120)
        lab.equal(self.process.returncode, 0, "exit status of stat: %s" % err)
        document = json.loads(out)
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
    """seen = recorded + what was dropped, for each probe."""
    for g in document["groups"]:
        for p in g["probes"]:
            lab.equal(p["seen"], p["recorded"] + sum(p["dropped"].values()),
                      "seen of %s" % p["name"])


def lossless(document):
    """No event of any probe was lost; a test whose counts have to be exact needs that."""
    for g in document["groups"]:
        for p in g["probes"]:
            lab.equal(sum(p["dropped"].values()), 0, "events that %s lost" % p["name"])


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


def same_keys(ours, theirs, what):
    """Both sources have the same schema: each key of one is in the other, at any depth."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        lab.equal(sorted(ours), sorted(theirs), "keys of " + what)
        for key in ours:
            same_keys(ours[key], theirs[key], "%s.%s" % (what, key))
