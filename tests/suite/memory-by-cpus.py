#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel tool memory=3072 timeout=200
# vm: not-sanitised=KASAN adds to every allocation
# vm: append=possible_cpus=224 maxcpus=1
"""Memory follows the processors that are online, not those that are possible, and the drivers that
are loaded. A processor that comes online later counts from its first event on, one that goes leaves
its counts, and one for which there is no memory counts what it lost.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import lab
import memory
import nvidia
from faults import DEBUG_MODULE, parameter
from gpumon_netlink import Gpumon
from lab import check, check_counts, check_sums, equal, insmod, rmmod, step, stats, within

KIB, MIB = 1 << 10, 1 << 20


def cpu1(on):
    with open("/sys/devices/system/cpu/cpu1/online", "w", encoding="utf-8") as f:
        f.write(str(on))
    equal(os.sysconf("SC_NPROCESSORS_ONLN"), 1 + on, "processors online")


def held():
    return stats()["gpumon"]["memory_bytes"]


def kretprobes():
    """Bytes that the kernel holds for the calls of kretprobes: it takes a page for each possible
    processor and kretprobe from 6.7 on."""
    return memory.kretprobe_pages() * os.sysconf("SC_PAGE_SIZE")


def limits(what, fixed, each):
    now = held() - kretprobes()
    online = os.sysconf("SC_NPROCESSORS_ONLN")
    print("    %s: %d KiB on %d of %d processors: %s" %
          (what, now / KIB, online, POSSIBLE, memory.parts()))
    within(now, 0, fixed + each * online + 4 * KIB * (POSSIBLE - online), "bytes " + what)


def submit_on(cpu, jobs):
    lab.run("taskset", "-c", str(cpu), lab.BUILD + "/mock_submit", "-d", "all", "-r", "all",
            "-n", str(jobs), "--wait")


def queued():
    return sum(row["queued"] for row in lab.account().values())


def counts():
    row = lab.probe("queue")
    return row["seen"], row["no_memory"], row["recorded"]


step("every group, on one processor of many")
lab.load_scheduler()
lab.load_gpumon()
POSSIBLE = stats()["gpumon"]["possible_cpus"]
# From 6.9 on, the kernel does not take a word for it.
equal((POSSIBLE, os.sysconf("SC_NPROCESSORS_ONLN")),
      (224 if lab.KERNEL.startswith("6.1-") or lab.KERNEL == "6.1" else 2, 1),
      "processors possible and online")
insmod("tests/mock/amdgpu")
nvidia.load()
nvidia.load_uvm()
for module in "i915", "vkms":
    lab.run("modprobe", "-q", module, check_=False)
limits("of every group", 4 * MIB, 512 * KIB)
one = held()

step("a processor comes online, and counts from its first event on")
lab.load_mock(devices=2, rings=4)
cpu1(1)
within(held() - one, 1, 512 * KIB, "bytes of another processor")
limits("with another processor", 4 * MIB, 512 * KIB)
submit_on(1, 200)
check_counts()

step("it goes, and its counts stay; it comes and goes again")
cpu1(0)
check_counts()
submit_on(0, 100)
cpu1(1)
submit_on(1, 100)
check_counts()
two = held()
cpu1(0)
equal(held(), two, "memory_bytes without it")
cpu1(1)

step("a reset takes memory for what was used")
with Gpumon() as g:
    g.reset()
    within(held() - two, 1, 256 * KIB, "bytes of a reset")
    closed = {(r["device"], r["ring"]): r["queued"] for r in g.statistics(1)["drm_sched.rings"]}
    equal(sum(closed.values()), queued(), "jobs of the closed period")
limits("after a reset", 4 * MIB, 512 * KIB)

step("the drivers go, and the memory with them")
rmmod("mock_gpu")
nvidia.unload("nvidia-uvm")
nvidia.unload()
rmmod("amdgpu")
for module in "i915", "vkms":
    lab.run("modprobe", "-qr", module, check_=False)
rmmod("gpu_sched")
limits("without drivers", 2.5 * MIB, 256 * KIB)
rmmod("gpumon")

if not os.path.exists(DEBUG_MODULE):
    step("done; it is not built here to make memory for a processor fail: for the newest kernel it is")
    sys.exit()
step("a processor comes online when there is no memory for it: its events are lost and counted")
cpu1(0)
lab.load_scheduler()
lab.run("insmod", DEBUG_MODULE)
lab.load_mock(devices=1, rings=2)
parameter("fail_registration", 1)
cpu1(1)
equal(parameter("failed_registration"), "gpumon_counters_copy", "what failed")
submit_on(1, 100)
lab.wait_idle()
check_sums()
lost = queued()
equal(counts(), (lost, lost, 0), "seen, lost and recorded of what was queued there")
submit_on(0, 50)
lab.wait_idle()
equal(counts(), (queued(), lost, queued() - lost), "seen, lost and recorded of both")
check(queued() > lost > 0, "nothing was queued")
check_sums()
step("off and on again, it has its memory")
cpu1(0)
cpu1(1)
submit_on(1, 10)
lab.wait_idle()
equal(counts(), (queued(), lost, queued() - lost), "seen, lost and recorded in the end")
check_sums()
rmmod("mock_gpu")
rmmod("gpumon")
check(not lab.loaded("gpumon"), "gpumon is still loaded")
step("done")
