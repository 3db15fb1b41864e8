#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel tool kernels=6.1 cpus=4 timeout=240
# vm: not-sanitised=KASAN adds to every allocation
"""The small core (make lab-core): its code and memory are no larger than memory.md says, it is exact for
eight rings and 64 processes, and files alone are enough to read it, to reset it and to switch its groups.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
os.environ["GPUMON_CORE"] = "1"

import faults
import files
import lab
import memory
from lab import check, check_counts, equal, run, stats, step, submit, within

CORE = lab.BUILD + "/gpumon-core/gpumon.ko"
GROWN = 1.05
LEFT_OUT = "netlink,events,alerts,amdgpu,i915,nvidia"
FILES = files.Files()


def code(module):
    """Bytes of instructions: sections that are allocated and executable."""
    text = run("readelf", "-SW", module, timeout=300).stdout
    sizes = re.findall(r"(?m)\sPROGBITS\s+[0-9a-f]+\s+[0-9a-f]+\s+([0-9a-f]+)\s+\d+\s+\w*AX\w*\s", text)
    check(sizes, "no instructions in " + module)
    return sum(int(size, 16) for size in sizes)


def not_grown(what, measured, said):
    print("    %s: %d bytes, memory.md says %d" % (what, measured, said))
    within(measured, 0, said * GROWN, "bytes of " + what)


def group_state(name):
    return [row["state"] for row in stats()["groups"] if row["group"] == name][0]


def log_lines(text):
    return [line for line in run("dmesg", "--notime").stdout.splitlines() if text in line]


step("what it is built of")
said = memory.core_figures()
not_grown("code of the whole module", code(lab.BUILD + "/gpumon.ko"), said["whole"])
not_grown("code of the small core", code(CORE), said["core"])
parameters = run("modinfo", "-F", "parm", CORE, timeout=300).stdout
equal(sorted(re.findall(r"(?m)^(\w+):", parameters)),
      ["drm_sched", "drm_vblank", "max_crtcs", "max_jobs", "max_processes", "max_rings", "reset"],
      "parameters")
with open(CORE, "rb") as f:
    names = f.read()
for symbol in b"genl_register_family", b"ring_buffer_lock_reserve", b"gpumon_hang_look":
    check(symbol not in names, "there is %r of a part that is left out" % symbol)
check(b"gpumon_ring_find" in names, "there is no name at all")

step("what it holds for eight rings, 64 processes and two crtcs on four processors")
run("modprobe", "drm")
lab.load(devices=2, rings=4, hw_limit=4, service_ns=20000, timeout_ms=0)
equal(os.sysconf("SC_NPROCESSORS_ONLN"), 4, "processors")
header = stats()["gpumon"]
equal(header["left_out"], LEFT_OUT, "what stats says is left out")
check(not {"hang_limit_ms", "starved_limit_ms"} & set(header) and "event_ring" not in stats(),
      "stats has lines of what is left out")
equal(sorted(os.listdir(lab.DEBUGFS + "/gpumon")), ["histograms", "stats"], "files")
check(not faults.family_there(), "there is a netlink family")
print("    %s" % memory.parts())
not_grown("memory_bytes", header["memory_bytes"] - memory.kretprobe_pages() * os.sysconf("SC_PAGE_SIZE"),
          said["memory"])

step("64 processes on eight rings, all of them there at once")
RINGS = [(device, ring) for device in range(2) for ring in range(4)]
holders = [lab.held("-d", device, "-r", ring, "-n", 3) for device, ring in RINGS]
others = [lab.submitter("-d", device, "-r", ring, "-p", 7, "-n", 3, "-w") for device, ring in RINGS]


def all_queued():
    rows = {pid: jobs for pid, (jobs, _) in lab.mock_processes().items()}
    return rows if len(rows) == 64 and set(rows.values()) == {3} else None


theirs = lab.until(all_queued, "64 processes have queued their jobs")
processes = {p["pid"]: p["jobs"] for p in stats()["processes"]}
equal({pid: processes.get(pid) for pid in theirs}, theirs, "jobs by process")
for process in holders + others:
    lab.release(process)
rings = check_counts(lab.wait_idle())
equal(len(rings), 8, "rings")
equal(sum(row["jobs"] for row in lab.usage()), sum(row["done"] for row in rings.values()), "jobs of usage")

step("processes that come and go on all rings: what finds no place is counted with the others")
for _ in range(2):
    submit("-d", "all", "-r", "all", "-n", 8, "-p", 20, "-w", timeout=200)
    lab.wait_idle()
rings = check_counts(lab.wait_idle())
sections = stats()
jobs = sum(row["done"] for row in rings.values())
equal(sum(row["jobs"] for row in lab.usage(sections)), jobs, "jobs of usage")
header = sections["gpumon"]
equal(sum(row["jobs"] for row in sections["processes"]) + header["jobs_exited"] + header["jobs_unattributed"],
      jobs, "jobs of processes, of those that are gone, and of none")
for h in FILES.histograms():
    row = rings[h["device"], h["ring"]]
    equal(h["count"], row["run" if h["name"] == "queue_ns" else "done"], "%s of %s" % (h["name"], h["ring"]))
    equal(sum(b["count"] for b in h["bucket"]), h["count"], "buckets of %s of %s" % (h["name"], h["ring"]))

step("a write ends the period")
before = stats()["gpumon"]["period"]
FILES.reset()
header = stats()["gpumon"]
equal(header["period"], before + 1, "period")
equal({row["queued"] for row in lab.rings().values()}, {0}, "queued after a reset")
submit("-d", "all", "-r", "all", "-n", 8, "-w")
lab.wait_idle()
equal(sum(row["queued"] for row in lab.rings().values()), 8, "jobs since")

step("a write switches a group")
equal((lab.read(lab.PARAMETERS + "drm_sched"), group_state("drm_sched")), ("Y\n", "attached"), "before")
FILES.group_set("drm_sched", 0)
equal((lab.read(lab.PARAMETERS + "drm_sched"), group_state("drm_sched")), ("N\n", "off"), "off")
submit("-d", "all", "-r", "all", "-n", 8, "-w")
lab.wait_idle()
equal(sum(row["queued"] for row in lab.rings().values()), 8, "jobs while it is off")
FILES.group_set("drm_sched", 1)
equal((lab.read(lab.PARAMETERS + "drm_sched"), group_state("drm_sched")), ("Y\n", "attached"), "on")
submit("-d", "all", "-r", "all", "-n", 8, "-w")
lab.wait_idle()
sections = stats()
seen = [row["recorded"] for row in sections["probes"] if row["probe"] == "drm_sched_job"]
equal(seen, [16], "jobs that the probe has seen")
# The table of rings is full: a ring without a job since then may have made room, with its one job.
retired = sections["gpumon"]["rings_retired"] - header["rings_retired"]
equal(sum(row["queued"] for row in lab.rings(sections).values()) + retired, 16, "jobs with those after it")

step("a write that is not taken changes nothing, and the log says why, once")
period = stats()["gpumon"]["period"]
for name, text in (("drm_sched", "maybe"), ("drm_sched", "2"), ("reset", "0"), ("reset", "x"), ("reset", "")):
    error = lab.write_parameter(name, text)
    equal(error, "EINVAL" if text else None, "error of %r to %s" % (text, name))
equal(log_lines("write to parameter"), ["gpumon: write to parameter drm_sched refused: write 1 for on, 0 for off"],
      "lines in the log")
equal((stats()["gpumon"]["period"], group_state("drm_sched")), (period, "attached"), "after them")
equal(lab.read(lab.PARAMETERS + "max_rings"), "8\n", "max_rings")

step("writers do not hold up an unload, nor survive it")
writer = ("while :; do for v in 0 1; do echo $v >%sdrm_vblank; echo 1 >%sreset; done; done 2>/dev/null"
          % (lab.PARAMETERS, lab.PARAMETERS))
for _ in range(3):
    process = lab.subprocess.Popen(["sh", "-c", writer])
    lab.until(lambda: stats()["gpumon"]["period"] > period + 3, "some writes were taken")
    lab.rmmod("gpumon")
    process.kill()
    process.wait()
    check(not os.path.exists("/sys/module/gpumon"), "/sys/module/gpumon is left")
    lab.load_gpumon()
    period = 0
lab.rmmod("gpumon", "mock_gpu")
step("done")
