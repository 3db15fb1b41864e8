#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=once tool icount cpus=2 timeout=240
"""gpumon-user's tables are those of netlink: stat and its JSON, the difference of two
readings, a closed period, the pages of top, and the containers of processes.
"""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import nvidia
import vblank
from gpumon_netlink import RINGS, Gpumon, sent

TOOL = lab.BUILD + "/gpumon-user"
CGROUP = "/sys/fs/cgroup"
ID = "0123456789abcdef" * 4
# Tables that "stat" prints in another shape.
TITLES = {RINGS: "DRM SCHEDULER RINGS ", "drm_sched.usage": "GPU TIME BY PROCESS AND RING "}


def tool(*arguments):
    return lab.run(TOOL, *map(str, arguments)).stdout


def stat(*arguments):
    return json.loads(tool("stat", "--json", *arguments))


def without(row, *keys):
    return {k: v for k, v in row.items() if k not in keys}


def same_rings(ours, rows):
    """In JSON rings have their own shape, which is also that of the BPF source."""
    ours = {row["id"]: row for row in ours}
    lab.equal(sorted(ours), sorted(row["row"] for row in rows), "rings")
    for row in rows:
        mine = ours[row["row"]]
        for key, theirs in row.items():
            if key in ("queue_depth", "hw_depth") and theirs:
                lab.equal({k: mine[key][k] for k in theirs}, theirs, key)
            elif key == "live":
                lab.equal(mine[key], theirs["now"], key)
            elif key != "row" and not isinstance(theirs, dict):
                lab.equal(mine[key], theirs, key)


def same_rows(document, tables):
    """The rows of the JSON are those of netlink, number for number."""
    for name, rows in tables.items():
        group, table = name.split(".")
        lab.check(table in document[group], "no %s in the JSON" % name)
        if name == RINGS:
            same_rings(document[group][table], rows)
            continue
        ours = {row["row"]: row for row in document[group][table]}
        lab.equal(sorted(ours), sorted(row["row"] for row in rows), "rows of " + name)
        for row in rows:
            mine = ours[row["row"]]
            lab.equal(sorted(mine), sorted(row), "keys of %s" % name)
            for key, theirs in row.items():
                if isinstance(mine[key], dict) and theirs is None:
                    lab.check(not any(mine[key].values()), "%s %s: is %r, should be unknown" %
                              (name, key, mine[key]))
                elif isinstance(theirs, dict):
                    lab.equal({k: mine[key][k] for k in theirs}, theirs, "%s %s" % (name, key))
                else:
                    lab.equal(mine[key], theirs, "%s %s" % (name, key))


vblank.load(devices=2, crtcs=1, refresh_hz=60, paused=1)
lab.load_mock(devices=1, rings=1)
lab.load_gpumon()
nvidia.load("580")
g = Gpumon()

lab.step("before anything happened there are no rows")
document = stat()
lab.equal([name for name in document if "." in name], [], "keys")
groups = [row["name"] for row in document["groups"]]
for name in groups:
    # The row of what finds no row in drm_sched.usage is there from the start.
    lab.equal([t for t in document[name] if any(row.get("jobs") != 0 for row in document[name][t])],
              [], "tables of " + name)
lab.equal(document["alerts"], [], "alerts")
lab.equal(len(document["layouts"]), len(g.layouts()), "fields of private types")
text = tool("stat")
lab.check("drm_vblank." not in text, "an empty table is printed")
for name in groups:
    lab.check("\n%s " % name in text, "group %s is not told" % name)

lab.step("rows, in JSON and as text")
for device in (0, 1):
    vblank.command("hold", device, 0)
    vblank.command("run", device, 0)
time.sleep(1)
for device in (0, 1):
    vblank.command("pause", device, 0)
lab.submit("-n", 30, "-w")
nvidia.released(nvidia.held_workload("--processes", 2)[0])
nvidia.control("xid", 0, 79, "it is gone")
lab.until(g.alerts, "the alert")
lab.wait_idle()
tables = g.statistics()
lab.check("drm_vblank.crtcs" in tables and "nvidia.ioctls" in tables, "rows: %r" % list(tables))
document = stat()
same_rows(document, tables)
lab.equal(sum(r["done"] for r in document["drm_sched"]["rings"]), 30, "jobs of the rings")
ours = {p["pid"]: p for p in document["processes"]}
for p in g.processes():
    mine = ours[p["pid"]]
    for key in ("jobs", "submissions", "allocated_bytes", "mapped_bytes", "ioctls", "faults",
                "opens", "open_handles", "vram_bytes", "live_object_bytes", "cgroup_id"):
        lab.equal(mine[key], p.get(key), "%s of %s" % (key, p["comm"]))
lab.check(any(p["ioctls"] for p in ours.values()), "nobody's ioctls")
lab.check(any(p["jobs"] for p in ours.values()), "nobody's jobs")
usage = tables["drm_sched.usage"]
lab.equal(sum(row["jobs"] for row in usage), 30, "jobs that have a row")
for p in document["processes"]:
    for column in "gpu_ns", "queue_ns", "errors":
        lab.equal(p[column], sum(row[column] for row in usage if row["process"] == p["id"]),
                  "%s of %s" % (column, p["comm"]))
lab.equal(sum(c["gpu_ns"] for c in document["cgroups"]), sum(row["gpu_ns"] for row in usage),
          "GPU time of all cgroups")
lab.check(sum(row["gpu_ns"] for row in usage) > 0, "no GPU time")
# Linux 6.1 has no such parameter, and nothing is guessed.
POLICY = "/sys/module/gpu_sched/parameters/sched_policy"
policy = int(lab.read(POLICY)) if os.path.exists(POLICY) else None
lab.equal((document["gpumon"]["sched_policy"], document["gpumon"]["sched_policy_name"]),
          (policy, {None: None, 0: "RR", 1: "FIFO", 2: "FAIR"}[policy]), "the scheduler's policy")
lab.equal("The scheduler's policy is " in tool("stat"), policy is not None, "it is said")
text = tool("stat", "--cgroup")
lab.check("\nCONTAINERS AND CGROUPS " in text and "\nPROCESSES (" not in text, text)
text = tool("stat")
for name in tables:
    title = TITLES.get(name, name + "\n")
    lab.check("\n" + title in text, "no table %s in:\n%s" % (name, text))
alert, = g.alerts()
lab.equal([sent(a) for a in document["alerts"]], [alert], "alerts")
lab.check("\nALERTS" in text and "it is gone" in text, "no alert in:\n" + text)
for probe in document["groups"][0]["probes"]:
    lab.equal(probe["seen"], probe["recorded"] + sum(probe["dropped"].values()), probe["name"])

lab.step("one group alone")
text = tool("stat", "--group", "drm_vblank")
lab.check("drm_vblank.crtcs" in text and "nvidia." not in text, text)
document = stat("--group", "nvidia")
lab.equal([row["name"] for row in document["groups"]], ["nvidia"], "groups")
lab.check("drm_vblank" not in document and document["nvidia"]["ioctls"], "tables of nvidia")

lab.step("the difference of two readings, then a closed period")
watch = subprocess.Popen([TOOL, "stat", "--json", "--interval", "3", "--count", "1"],
                         stdout=subprocess.PIPE, universal_newlines=True)
before = {row["device"]: row["vblanks"] for row in tables["drm_vblank.crtcs"]}
time.sleep(1)
vblank.command("run", 0, 0)
time.sleep(1)
vblank.command("pause", 0, 0)
document = json.loads(watch.communicate(timeout=60 * lab.SLOWER)[0])
now = g.statistics()
for row in now["drm_vblank.crtcs"]:
    mine, = [r for r in document["drm_vblank"]["crtcs"] if r["row"] == row["row"]]
    lab.equal(mine["vblanks"], row["vblanks"] - before[row["device"]],
              "vblanks of %s meanwhile" % row["device"])
lab.check(any(r["vblanks"] for r in document["drm_vblank"]["crtcs"]), "none meanwhile")
same_rows(stat("--reset"), now)
lab.check(all(not r["vblanks"] for r in stat()["drm_vblank"]["crtcs"]), "vblanks after a reset")

lab.step("pages of top")
for page in ("rings", "drm_sched", "drm_vblank", "nvidia", "processes"):
    text = tool("top", "--batch", "--interval", "0.2", "--count", 1, "--page", page)
    lab.check("There is no page" not in text, text)
    wanted = {"rings": "JOBS/S", "processes": "OPEN-NOW"}.get(page, page + ".")
    lab.check(wanted in text, "%s is not on page %s:\n%s" % (wanted, page, text))
text = tool("top", "--batch", "--interval", "0.2", "--count", 1, "--page", "i915")
lab.check('There is no page "i915"' in text, text)

lab.step("a process in a container: its cgroup, and its pid in there")
place = "%s/system.slice/docker-%s.scope" % (CGROUP, ID)
os.makedirs(place)
inside = subprocess.Popen(
    ["sh", "-c", 'echo $$ >"$1/cgroup.procs"; exec unshare -pf --kill-child "$2" -n 5 --hold 0',
     "sh", place, lab.BUILD + "/mock_submit"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True)
for line in inside.stdout:
    if line.strip() == "held":
        break
held, = [p for p in stat()["processes"] if p["jobs"] == 5]
lab.equal((held["container"], held["cgroup"], held["container_pid"]),
          (ID[:12], place[len(CGROUP):], 1), "container of pid %d" % held["pid"])
lab.equal(held["cgroup_id"], os.stat(place).st_ino, "id of its cgroup")
line, = [l.split() for l in tool("stat").splitlines() if l.split()[:1] == [str(held["pid"])]]
lab.equal((line[1], ID[:12] in line), ("1", True), "its row as text, %r" % line)
inside.stdin.close()
lab.equal(inside.wait(60), 0, "exit status")
gone = lab.until(lambda: [p for p in stat()["processes"]
                          if p["pid"] == held["pid"] and not p["alive"]], "it is gone")[0]
lab.equal((gone["container"], gone["container_pid"]), (ID[:12], None), "container of it")

lab.rmmod("gpumon", "mock_gpu")
nvidia.unload()
vblank.unload()
os.rmdir(place)
lab.step("done")
