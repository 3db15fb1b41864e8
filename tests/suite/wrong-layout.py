#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel
"""A gpu_sched.ko whose job has a member before s_fence, which the headers do not have: no pointer
of it is followed, and the reason is said. The real one is attached, its members are where they were.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
from gpumon_netlink import Gpumon

lab.step("the real one")
lab.load_mock(devices=1, rings=1)
lab.load_gpumon()
fields = [row for row in lab.stats()["layouts"] if row["module"] == "gpu_sched"]
# One more where the fence names its DRM client.
lab.check(len(fields) in (7, 8), "%d members of gpu_sched that are read" % len(fields))
for row in fields:
    lab.check(row["offset"] is not None and row["reason"] is None, "%s: %s" % (row["member"], row))
lab.submit("-n", 5, "-w")
lab.check_counts()
lab.rmmod("mock_gpu", "gpu_sched")

lab.step("one with another job")
lab.insmod("tests/suite/wrong_layout/gpu_sched")
if not os.path.exists("/sys/kernel/btf/gpu_sched"):
    # Nobody can tell. It is not fired.
    lab.equal(lab.stats()["groups"][0]["state"], "attached", "drm_sched without BTF of gpu_sched")
    print("a module that is built here has no BTF on this kernel")
else:
    real = next(row["offset"] for row in fields if row["member"] == "drm_sched_job.s_fence")
    row, = [row for row in lab.stats()["layouts"] if row["member"] == "drm_sched_job.s_fence"]
    reason = "is at %d, gpumon was built for %d: build it for this module" % (real + 8, real)
    lab.equal((row["offset"], row["reason"]), (None, reason), "drm_sched_job.s_fence")
    for _ in range(2):
        sections = lab.stats()
        for name, probe in lab.probes(sections).items():
            lab.check(probe["state"] in ("mismatch", "missing"), "%s is %s" % (name, probe["state"]))
        group = sections["groups"][0]
        lab.equal((group["group"], group["state"], group["reason"]),
                  ("drm_sched", "mismatch", "drm_sched_job.s_fence: " + reason), "the group")
        with open("/sys/module/gpu_sched/parameters/fire", "w") as f:
            f.write("100")
        lab.equal(sum(p["seen"] for p in lab.probes().values()) -
                  sum(p["seen"] for p in lab.probes(sections).values()), 0, "events seen")
        # Switched off and on it is refused again.
        with Gpumon() as g:
            g.group_set("drm_sched", 0)
            g.group_set("drm_sched", 1)
lab.rmmod("gpu_sched")

lab.step("the real one again")
lab.load_mock(devices=1, rings=1)
lab.equal(lab.stats()["groups"][0]["state"], "attached", "drm_sched")
lab.submit("-n", 5, "-w")
lab.wait_idle()
lab.equal(lab.rings()["mock_gpu.0", "ring0"]["queued"], 10, "jobs")
