#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel
"""Drivers whose types are laid out otherwise than in the headers, with BTF that says so and without:
no pointer is followed that was not checked, no text becomes a label, and the reason is said. The
kernel's own drivers are attached, with BTF and without.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
from gpumon_netlink import Gpumon

WRONG = "tests/suite/wrong_layout/"
SECRET = "not-a-name-but-a-secret"
# Of which each is moved by a word, both ways, and what lies around.
MOVED = ("drm_sched_job.sched", "drm_sched_job.s_fence", "drm_sched_fence.finished",
         "drm_sched_fence.sched", "drm_gpu_scheduler.name", "drm_gpu_scheduler.dev")
AROUND = "text", "number", "self", "null"


def group(name="drm_sched"):
    row, = [row for row in lab.stats()["groups"] if row["group"] == name]
    return row


def strip(path, to):
    """A copy of a module without BTF."""
    made = os.path.join(os.environ["TMPDIR"], to)
    if path.endswith(".xz"):
        with open(made, "wb") as f:
            subprocess.run(["xz", "-dc", path], stdout=f, check=True)
        path = made
    lab.run("objcopy", "--rename-section", ".BTF=.no_BTF", path, made)
    return made


def fire(module, count=1):
    with open("/sys/module/%s/parameters/fire" % module, "w") as f:
        f.write(str(count))


lab.step("the real one")
lab.load_mock(devices=1, rings=1)
lab.load_gpumon()
fields = [row for row in lab.stats()["layouts"] if row["module"] == "gpu_sched"]
# Three are of the timeout's handler. One more where the fence names its DRM client.
lab.check(len(fields) in (11, 12), "%d members of gpu_sched that are read" % len(fields))
for row in fields:
    lab.check(row["offset"] is not None and row["reason"] is None, "%s: %s" % (row["member"], row))
lab.submit("-n", 5, "-w")
lab.check_counts()
real_path = lab.run("modinfo", "-n", "gpu_sched").stdout.strip()
lab.rmmod("mock_gpu", "gpu_sched")

lab.step("one with another job, and BTF")
lab.insmod(WRONG + "gpu_sched")
if not os.path.exists("/sys/kernel/btf/gpu_sched"):
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
        row = sections["groups"][0]
        lab.equal((row["group"], row["state"], row["reason"]),
                  ("drm_sched", "mismatch", "drm_sched_job.s_fence: " + reason), "the group")
        fire("gpu_sched", 100)
        lab.equal(sum(p["seen"] for p in lab.probes().values()) -
                  sum(p["seen"] for p in lab.probes(sections).values()), 0, "events seen")
        # Switched off and on it is refused again.
        with Gpumon() as g:
            g.group_set("drm_sched", 0)
            g.group_set("drm_sched", 1)
lab.rmmod("gpu_sched")

lab.step("without BTF: laid out as in the headers")
wrong = {name: strip("%s/%s%s.ko" % (lab.BUILD, WRONG, name), name + ".ko")
         for name in ("gpu_sched", "amdgpu")}
for module, name in ("gpu_sched", "drm_sched"), ("amdgpu", "amdgpu"):
    lab.run("insmod", wrong[module])
    fire(module, 10)
    # amdgpu has other tracepoints, too, which this one lacks.
    lab.check(group(name)["state"] in ("attached", "missing"), "group " + name)
    if name == "drm_sched":
        jobs = lab.rings()["wrong_layout", "gfx"]
        # Each step has two names here, of which a kernel has one.
        lab.equal((jobs["queued"], jobs["run"], jobs["done"]), (20, 20, 20), "jobs")
    else:
        submissions, = lab.stats()["amdgpu.rings"]
        lab.equal((submissions["device"], submissions["ring"], submissions["submissions"],
                   submissions["runs"]), ("wrong_layout", "gfx", 10, 10), "submissions")
    lab.run("rmmod", module)

moved = [(member, words) for member in MOVED for words in (1, -1)]
for number, (member, words) in enumerate(moved):
    module, name = (("gpu_sched", "drm_sched"), ("amdgpu", "amdgpu"))[(number // 2) % 2]
    lab.step("%s of %s moved by %d words" % (member, module, words))
    around = AROUND[number % len(AROUND)]
    lab.run("insmod", wrong[module], "moved=" + member, "words=%d" % words, "around=" + around)
    before = lab.probes(group=name)
    fire(module, 10)
    lab.until(lambda: group(name)["state"] == "mismatch", "group %s is refused" % name)
    reason = group(name)["reason"]
    lab.check("no BTF says where: load the kernel's own %s" % module in reason, reason)
    after = lab.probes(group=name)
    for probe, row in after.items():
        lab.equal(row["recorded"], before[probe]["recorded"], "recorded by " + probe)
    lab.check(sum(row["unreadable"] for row in after.values()) >
              sum(row["unreadable"] for row in before.values()), "nothing was refused")
    text = lab.read(lab.STATS)
    lab.check(SECRET not in text, "memory of the kernel is shown")
    with Gpumon() as g:
        g.group_set(name, 0)
        g.group_set(name, 1)
    lab.equal(group(name)["state"], "mismatch", "group, off and on")
    lab.run("rmmod", module)
    lab.equal(group(name)["state"], "waiting", "group without the module")

lab.step("the real one without BTF")
lab.run("insmod", strip(real_path, "gpu_sched.ko"))
lab.insmod("mock_gpu", devices=1, rings=1)
lab.check(not os.path.exists("/sys/kernel/btf/gpu_sched"), "it has BTF")
lab.equal(group()["state"], "attached", "drm_sched")
with Gpumon() as g:
    g.reset()
lab.submit("-n", 5, "-w")
lab.submit("-n", 20, "--fail", "fence", "--fail-every", 4, "-w")
lab.check_counts()
lab.check_sums()
lab.equal(sum(p["unreadable"] for p in lab.probes().values()), 0, "unreadable events")
lab.rmmod("mock_gpu", "gpu_sched")

lab.step("the real one again")
lab.load_mock(devices=1, rings=1)
lab.equal(group()["state"], "attached", "drm_sched")
lab.submit("-n", 5, "-w")
lab.wait_idle()
lab.equal(lab.rings()["mock_gpu.0", "ring0"]["queued"], 5, "jobs")
