#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=once timeout=120
"""Module parameters out of range: refused with one clear line, and nothing stays."""
import errno
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from gpumon_netlink import Gpumon, NetlinkError, Socket
from lab import (BUILD, DEBUGFS, check, check_counts, equal, fail, load_gpumon, load_mock, loaded,
                 read, rmmod, run, step, submit, wait_idle)

# Netlink does not have it.
CRTCS = {"max_crtcs": (1, 32)}
RANGES = {"max_rings": (1, 1024), "max_processes": (8, 65536), "max_jobs": (8, 1048576)}


def log():
    # The kernel itself logs the first load after a boot.
    return [line for line in run("dmesg", "--notime").stdout.splitlines()
            if not re.search("out-of-tree|tainting kernel|taints kernel|signature", line)]


def refused(*parameters):
    """The one line that the kernel logs when it refuses these parameters."""
    mark = "gpumon-test: %s" % " ".join(parameters)
    with open("/dev/kmsg", "w") as f:
        f.write(mark)
    done = run("insmod", BUILD + "/gpumon.ko", *parameters, check_=False)
    check(done.returncode, "%s was taken" % (parameters,))
    check("Invalid parameters" in done.stderr or "Invalid argument" in done.stderr or
          "Numerical result out of range" in done.stderr, "insmod says: " + done.stderr)
    lines = log()
    lines = lines[len(lines) - lines[::-1].index(mark):]
    equal(len(lines), 1, "lines in the log for %s: %r" % (parameters, lines))
    check(not loaded("gpumon"), "gpumon is loaded")
    check(not os.path.exists("/sys/module/gpumon"), "/sys/module/gpumon is left")
    check(not os.path.exists(DEBUGFS + "/gpumon"), "the directory in debugfs is left")
    try:
        with Socket() as s:
            s.family("gpumon")
        fail("the netlink family is left")
    except NetlinkError as e:
        equal(e.errno, errno.ENOENT, "looking for the family")
    return lines[0]


load_mock(devices=1, rings=2)
submit("-n", 10, "-w")

step("out of range: ours says the range")
for name, (low, high) in {**RANGES, **CRTCS}.items():
    for value in (low - 1, high + 1, 2 ** 32 - 1):
        line = refused("%s=%d" % (name, value))
        for word in ("gpumon: ", name, str(value), str(low), str(high)):
            check(word in line, "%r does not say %r" % (line, word))

step("not a number: the kernel's own refusal")
for parameter in ("max_rings=", "max_rings=x", "max_rings=-1", "max_jobs=4294967296",
                  "max_processes=1e3", "drm_sched=2", "drm_sched=maybe"):
    line = refused(parameter)
    check("gpumon" in line and parameter.split("=")[0] in line, "%r does not name it" % line)

step("a good one does not help a bad one")
line = refused("max_rings=2", "max_jobs=0", "max_processes=8")
check("max_jobs=0" in line, line)

step("the ends of the ranges load, and count")
for parameters in ({"max_rings": 1, "max_processes": 8, "max_jobs": 8, "drm_sched": 1},
                   {"max_rings": 1024, "max_processes": 8192, "max_jobs": 65536, "drm_sched": "y"}):
    load_gpumon(**parameters)
    info = Gpumon().info()
    for name in RANGES:
        equal(info[name], parameters[name], name)
        equal(int(read("/sys/module/gpumon/parameters/" + name)), parameters[name], name)
    rmmod("gpumon")

step("off at load, on by netlink")
load_gpumon(drm_sched=0)
g = Gpumon()
equal([(x["enabled"], x["state"]) for x in g.groups() if x["name"] == "drm_sched"], [(0, 0)],
      "drm_sched")
submit("-n", 5, "-w")
wait_idle()
equal(g.rings(), [], "rings while it is off")
g.group_set("drm_sched", 1)
submit("-n", 5, "-w")
wait_idle()
equal(sum(r["queued"] for r in g.rings()), 5, "jobs counted since it is on")
rmmod("gpumon")

step("an unknown parameter is ignored with a line, as with every module")
run("dmesg", "-C")
run("insmod", BUILD + "/gpumon.ko", "max_ring=2")
equal([line for line in log() if "max_ring" in line],
      ["gpumon: unknown parameter 'max_ring' ignored"], "the log")
rmmod("gpumon")

step("after all that it loads and counts")
rmmod("mock_gpu")
load_mock(devices=1, rings=2)
load_gpumon()
submit("-n", 50, "-r", "0,1", "-p", 2, "-w")
check_counts()
step("done")
