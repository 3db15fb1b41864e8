#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=full tool kernels=7-bare timeout=300
"""A kernel without each option that gpumon can do without: what can be counted is exact, and each
missing option is one line of stats, of netlink, of doctor and, by name, of stat."""
import gzip
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import kms
import lab
import tracefs
import vblank
import vblank_trace as trace
from gpumon_netlink import Gpumon

TABLE = lab.BUILD + "/kmod/uapi/gpumon_options.h"


def table():
    """{option: (whether something is lost, what)} as the module, the build and doctor have it."""
    return {"CONFIG_" + option: (costs == "true", lost) for option, costs, lost in
            re.findall(r'X\((\w+), (true|false), "([^"]*)"\)', lab.read(TABLE))}


def missing():
    """{option: what is lost} of this kernel's own configuration."""
    with gzip.open("/proc/config.gz", "rt") as file:
        there = {line.split("=")[0] for line in file if line.startswith("CONFIG_")}
    return {option: lost for option, (_, lost) in table().items() if option not in there}


def tool(*arguments):
    return lab.run(lab.BUILD + "/gpumon-user", *arguments, check_=False).stdout


lab.step("the kernel lacks them")
should = missing()
lab.equal(set(table()) - set(should), {"CONFIG_DEBUG_FS", "CONFIG_PERF_EVENTS"}, "options that it has")

lab.step("a load that is refused leaves nothing")
lab.load_mock(devices=2, rings=3, hw_limit=4, service_ns=100000, timeout_ms=0)
refused = subprocess.run(["insmod", lab.BUILD + "/gpumon.ko", "max_rings=0"], check=False, stderr=subprocess.PIPE)
lab.check(refused.returncode, "it was loaded with max_rings=0")
lab.check(not lab.loaded("gpumon"), "gpumon after a load that was refused")
lab.load_gpumon()

lab.step("stats and netlink have a line for each")
lab.equal(lab.missing_options(), should, "missing_options of stats")
with Gpumon() as g:
    lab.equal({row["name"]: row["lost"] for row in g.info()["missing_option"]}, should, "missing-option of netlink")

lab.step("doctor has a line for each, and none that says it again")
document = json.loads(tool("doctor", "driver", "--json"))
checks = {check["check"]: check for check in document["checks"]}
lab.equal(len(checks), len(document["checks"]), "lines of doctor, each of another name")
for option, lost in should.items():
    lab.equal((checks[option]["level"], checks[option]["message"]),
              ("warn" if table()[option][0] else "ok", "not in this kernel: " + lost), option)
lab.equal({name for name in checks if name.startswith("CONFIG_")}, set(should), "options in doctor")
lab.equal([name for name in checks if name in ("kprobes", "btf")], [], "lines that say it again")
lab.equal([check for check in document["checks"] if check["level"] == "fail"], [], "failures in doctor")

lab.step("so has stat")
lab.equal({row["option"]: row["lost"] for row in json.loads(tool("stat", "--json"))["gpumon"]["missing_options"]},
          should, "missing_options of stat --json")
note = [line for line in tool("stat").splitlines() if line.startswith("note: this kernel lacks ")]
lab.equal(note, ["note: this kernel lacks %s: gpumon-user doctor says what is not seen without" %
                 ", ".join(option for option in should if table()[option][0])], "note of stat")

lab.step("tracepoints are attached, kprobes say why they are not")
states = {g["group"]: g["state"] for g in lab.stats()["groups"]}
lab.equal(states["drm_sched"], "attached", "drm_sched")
for row in lab.probes().values():
    if row["kind"] != "tracepoint":
        lab.equal(row["state"], "failed", row["probe"])
        lab.check("CONFIG_KPROBES" in row["reason"], row)
    elif row["state"] != "attached":
        lab.equal(row["state"], "missing", row["probe"])

lab.step("jobs and their time are the mock's")
lab.submit("-d", "all", "-r", "all", "-n", 90, "-p", 3, "-t", 2, "-b", 3, "-w")
lab.submit("-d", 0, "-r", 1, "-n", 200, "-b", 20, "--inline", "-w")
lab.submit("-d", 1, "-r", 0, "-n", 60, "--fail", "run", "--fail-every", 3, "-w")
lab.submit("-d", 0, "-r", 2, "-n", 60, "--fail", "fence", "--fail-every", 4, "-w")
mock = lab.wait_idle()
lab.check_counts(mock)
jobs = {}
for row in lab.usage():
    jobs[row["pid"]] = jobs.get(row["pid"], 0) + row["jobs"]
lab.equal(jobs, {pid: count for pid, (count, _) in lab.mock_processes().items()}, "jobs of processes in usage")

lab.step("processes have no container")
for row in lab.stats()["processes"]:
    lab.equal(row["cgroup_id"], None, "cgroup of %d" % row["pid"])

lab.step("a reset divides the counts, a group goes off and on")
with Gpumon() as g:
    closed = g.reset()["closed"]
    lab.submit("-d", "all", "-r", "all", "-n", 30, "-w")
    lab.wait_idle()
    both = {(r["device"], r["name"]): r["done"] for r in g.rings(closed)}
    for key, row in lab.rings().items():
        lab.equal(row["done"] + both[key], lab.account()[key]["done"], "both periods of %s/%s" % key)
    g.group_set("drm_sched", 0)
    lab.submit("-n", 10, "-w")
    lab.wait_idle()
    g.group_set("drm_sched", 1)
before = lab.rings()["mock_gpu.0", "ring0"]["done"]
lab.submit("-d", 0, "-r", 0, "-n", 20, "-w")
lab.wait_idle()
lab.equal(lab.rings()["mock_gpu.0", "ring0"]["done"] - before, 20, "jobs after the group was off")
lab.check_sums()

lab.step("vblanks are those of the kernel's own trace, in the row of no known device")
with open(trace.OFF_DELAY, "w") as file:
    file.write("1000")
for name in trace.EVENTS:
    tracefs.enable("drm/" + name)
card, device = trace.load_driver("vkms")
with Gpumon() as g, kms.Screen(card) as screen:
    client = vblank.Client(screen.row())
    trace.quiet(g)
    trace.traced()
    g.reset()
    for _ in range(50):
        client.wait_event(1)
        lab.check(client.event(), "no event")
    client.close()
    trace.quiet(g)
    rows = trace.rows_of(g)
    _, counts = trace.traced()
    # Vblanks of the device itself are unknown, as are requests without a device.
    lab.equal(tuple(sum(row[column] or 0 for row in rows) for column in ("vblanks", "queued", "delivered")),
              tuple(counts[event] for event in trace.EVENTS), "vblanks, queued and delivered, and in ftrace")
    lab.check(counts[trace.EVENTS[0]] >= 50, counts)
    lab.equal({row["device"] for row in rows if row["vblanks"]}, {"-"}, "devices of vblanks")
    lab.equal({row["device"] for row in rows if row["queued"]}, {device}, "devices of requests")

lab.step("it cannot be unloaded, and goes on counting")
before = lab.rings()["mock_gpu.0", "ring0"]["done"]
lab.check(subprocess.run(["rmmod", "gpumon"], check=False, stderr=subprocess.PIPE).returncode, "it was unloaded")
lab.submit("-d", 0, "-r", 0, "-n", 20, "-w")
lab.wait_idle()
lab.equal(lab.rings()["mock_gpu.0", "ring0"]["done"] - before, 20, "jobs after rmmod")
