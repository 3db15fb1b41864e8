#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=full tool kernels=7-builtin,6.12-arm64-builtin timeout=300
"""drm and its scheduler built into the kernel: everything attaches, says so and counts, by the module
and by BPF, and doctor finds nothing wrong. Drivers that are modules wait beside them."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import source_bpf
from gpumon_netlink import Gpumon

MODULES = "gpu_sched", "drm"
for name in MODULES:
    lab.check(not lab.loaded(name), name + " is a module of this kernel")


def check_built_in(group, but=()):
    """Each probe of these modules is attached, or another name of it is."""
    rows = [p for p in lab.probes(group=group).values() if p["module"] in MODULES]
    attached = 0
    for row in rows:
        if row["probe"] in but:
            continue
        if row["state"] == "attached":
            attached += 1
            lab.equal(row["reason"], "built into the kernel", row["probe"])
        else:
            lab.equal(row["state"], "missing", row["probe"])
            lab.check(row["reason"].startswith("this kernel calls it "), row)
    lab.check(attached > 2, rows)


lab.step("both groups are attached, the others wait")
lab.load(devices=2, rings=2)
states = {g["group"]: (g["state"], g["reason"]) for g in lab.stats()["groups"]}
for group in "drm_sched", "drm_vblank":
    lab.equal(states[group], ("attached", None), group)
    check_built_in(group)
for group in "amdgpu", "i915", "nvidia":
    lab.equal(states[group], ("waiting", "module %s is not loaded" % group), group)
with Gpumon() as g:
    unknown = [f for f in g.layouts() if f["group"] in ("drm_sched", "drm_vblank") and f["offset"] is None]
    lab.equal(unknown, [], "members that were not found in the kernel's BTF")

lab.step("jobs are counted")
lab.submit("-d", "all", "-r", "all", "-n", 200, "-p", 2, "-w")
lab.check_counts()
lab.submit("-n", 30, "--fail", "fence", "--fail-every", 3, "-w")
lab.check_counts()
lab.check_sums()
with Gpumon() as g:
    g.group_set("drm_sched", 0)
    g.group_set("drm_sched", 1)
lab.submit("-n", 20, "-w")
lab.wait_idle()
lab.check_sums()
check_built_in("drm_sched")

lab.step("doctor")
checks = {c["check"]: c for c in json.loads(lab.run(
    lab.BUILD + "/gpumon-user", "doctor", "--json", check_=False).stdout)["checks"]}
lab.equal((checks["gpu_sched"]["level"], checks["gpu_sched"]["message"]),
          ("ok", "built into the kernel"), "gpu_sched")
for name, check in checks.items():
    if name.startswith(("probe ", "group ")):
        lab.equal(check["level"], "ok", name)

lab.step("by BPF, without the module")
lab.rmmod("gpumon", "mock_gpu")
source_bpf.need()
lab.load_mock(devices=1, rings=1)
counting = source_bpf.Counting()
lab.submit("-n", 100, "-w")
mock = lab.wait_idle()
document = counting.end()
for group in "drm_sched", "drm_vblank":
    lab.equal(source_bpf.group(document, group)["state"], "attached", group + " by BPF")
    for probe in source_bpf.probes(document, group).values():
        if probe["state"] == "attached" and probe["module"] in MODULES:
            lab.equal(probe["reason"], "built into the kernel", probe["name"] + " by BPF")
for key, row in source_bpf.rings(document).items():
    lab.equal((row["queued"], row["run"], row["done"]), (100, 100, 100), "jobs by BPF of %s/%s" % key)
    lab.equal(mock[key]["done"], 100, "jobs by the mock of %s/%s" % key)
lab.rmmod("mock_gpu")
