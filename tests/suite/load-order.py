#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel
"""gpumon before and after gpu_sched and its user, and both of them removed and loaded again."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
from gpumon_netlink import Gpumon

RING = "mock_gpu.0", "ring0"
MOCK = {"devices": 1, "rings": 2, "service_ns": 20000}
ROLES = tuple(lab.GENERATIONS)
OTHERS = lab.KILL, "drm_sched_fini"


def attached():
    """Every role is attached by one of its names, optional ones without a name excepted; the group
    says so.
    """
    sections = lab.stats()
    rows = lab.probes(sections)
    for role in ROLES:
        lab.probe(role, rows)
        for name in lab.GENERATIONS[role]:
            if rows[name]["state"] != "attached":
                lab.equal(rows[name]["state"], "missing", "state of " + name)
                lab.check(lab.probe(role, rows)["probe"] in rows[name]["reason"],
                          "reason of %s: %s" % (name, rows[name]["reason"]))
    for name in OTHERS:
        lab.equal((rows[name]["state"], rows[name]["reason"]), ("attached", lab.UNCHECKED), name)
    group = sections["groups"][0]
    lab.equal((group["group"], group["state"], group["reason"]), ("drm_sched", "attached", None),
              "the group")


def waiting():
    """Nothing is attached, and the reasons say why."""
    with Gpumon() as g:
        for p in g.probe_rows("drm_sched"):
            lab.equal((p["state"], p["reason"]), ("waiting", "module gpu_sched is not loaded"),
                      p["probe"])
    # It prints only the state of a driver that is not loaded.
    sections = lab.stats()
    lab.equal(lab.probes(sections), {}, "probes in stats")
    group = sections["groups"][0]
    lab.equal((group["state"], group["reason"]), ("waiting", "module gpu_sched is not loaded"),
              "the group")


def live():
    return {k: r["live"] for k, r in lab.rings().items()}


lab.step("gpumon first")
lab.load_gpumon()
waiting()
lab.equal(lab.rings(), {}, "rings before any")
lab.load_scheduler()
attached()
lab.insmod("mock_gpu", **MOCK)
lab.submit("-r", "0,1", "-n", 30, "-w")
lab.check_counts()

# The mock counts from 0 after each load. So does gpumon: its rows have gone with the scheduler.
for turn in range(3):
    lab.step("mock and gpu_sched removed and loaded again")
    lab.rmmod("mock_gpu")
    lab.equal(set(live().values()), {0}, "live rings without the mock")
    lab.rmmod("gpu_sched")
    waiting()
    lab.equal(lab.rings(), {}, "rings after rmmod")
    lab.load_scheduler()
    attached()
    lab.equal(lab.rings(), {}, "rings before any job")
    lab.insmod("mock_gpu", **MOCK)
    lab.submit("-n", 20, "-w")
    lab.wait_idle()
    row = lab.rings()[RING]
    lab.equal((row["queued"], row["run"], row["done"]), (20,) * 3, "counts")
    lab.equal((row["queue_depth"], row["hw_depth"], row["untracked"]), (0, 0, 0), "depths")
    lab.equal(row["live"], 1, "live")
    lab.check_sums()

lab.step("gpumon goes, nothing of it stays")
lab.rmmod("gpumon")
for path in ("/sys/kernel/debug/gpumon", "/sys/module/gpumon"):
    lab.check(not os.path.exists(path), path + " is still there")
lab.check("drm_sched_fini" not in lab.read("/sys/kernel/debug/kprobes/list"), "a kprobe is left")
lab.submit("-n", 20, "-w")

lab.step("gpumon last")
lab.load_gpumon()
attached()
lab.equal(lab.rings(), {}, "rings of a fresh gpumon")
lab.submit("-r", 1, "-n", 7, "-w")
lab.wait_idle()
row = lab.rings()["mock_gpu.0", "ring1"]
lab.equal((row["queued"], row["run"], row["done"], row["untracked"]), (7, 7, 7, 0), "counts")

lab.step("only the mock is loaded again: its schedulers may have the same addresses")
lab.rmmod("mock_gpu")
lab.insmod("mock_gpu", devices=lab.DEVICES, rings=2, service_ns=20000)
lab.submit("-d", "all", "-r", "all", "-n", 20 * lab.DEVICES, "-w")
lab.wait_idle()
lab.equal({k: r["done"] for k, r in lab.rings().items()},
          {("mock_gpu.%d" % device, "ring%d" % ring): 17 if (device, ring) == (0, 1) else 10
           for device in range(lab.DEVICES) for ring in range(2)}, "done of each ring")
