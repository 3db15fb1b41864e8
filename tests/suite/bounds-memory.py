#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=once timeout=300
# vm: not-sanitised=KASAN adds to every allocation and keeps what was freed
"""memory_bytes equals the growth of the kernel's own accounts, and
Documentation/reference/memory.md.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import memory
import nvidia
from gpumon_netlink import Gpumon
from lab import (check, equal, insmod, load_gpumon, load_scheduler, rmmod, stats, step,
                 until, within)
from memory import PARAMETERS, SMALL

CASES = ({}, {"max_rings": 1024}, {"max_rings": 100}, {"max_processes": 65536},
         {"max_processes": 3000}, {"max_jobs": 1048576},
         {"max_rings": 1024, "max_processes": 65536, "max_jobs": 1048576})
# Others allocate and free pages, too.
OTHERS_KIB = 512

step("the smallest there is; the module itself is in it")
load_scheduler()
memory.load(SMALL)
least, least_grown, _ = memory.load(SMALL)
print("    memory_bytes %d, grown by %d KiB with the module's code and data" % (least, least_grown))

step("more rings, processes, jobs: both grow by the same")
measured = {}
for parameters in CASES:
    held, grown, _ = memory.load(parameters)
    measured[tuple(parameters.items())] = held
    memory.compare(", ".join("%s=%d" % p for p in parameters.items()) or "as it is by default",
                   held - least, grown - least_grown)

step("a group that begins and goes with its driver")
memory.settle()
nothing = memory.kernel()
load_gpumon(**SMALL, amdgpu=0)
insmod("tests/mock/amdgpu")
# The loader frees its memory some time after it returns.
memory.settle()
before = stats()["gpumon"]["memory_bytes"]
# The layout of its rows is known from the beginning.
layout = memory.parts()["amdgpu"]
within(layout, 0, 4096, "bytes of a group that is off")
with Gpumon() as g:
    g.group_set("amdgpu", 1)
    memory.settle()
    group = memory.parts()["amdgpu"] - layout
    check(group > 65536, "a group with a driver holds nothing")
    equal(stats()["gpumon"]["memory_bytes"] - before, group, "memory_bytes against the part")
    rmmod("amdgpu")
    equal(stats()["gpumon"]["memory_bytes"], before, "memory_bytes after the driver has gone")
rmmod("gpumon")
memory.settle()
# An unloaded module leaves more such memory than a loaded one, and the group had thousands.
within(memory.kernel(), nothing - 4 * memory.NOISE_KIB, nothing + 4 * memory.NOISE_KIB,
       "KiB in the kernel's accounts after unload")

step("kretprobes, each with room for the calls that may be under way")


nvidia.load()
load_gpumon(**SMALL)
with Gpumon() as g:
    for group in "drm_sched", "nvidia":
        g.group_set(group, 0)
    until(lambda: not memory.kretprobe_pages(), "the kernel has freed all")
    before = stats()["gpumon"]["memory_bytes"]
    g.group_set("nvidia", 1)
    held = memory.kretprobe_pages() * os.sysconf("SC_PAGE_SIZE")
    check(held > 100000, "kretprobes hold %d bytes" % held)
    equal(stats()["gpumon"]["memory_bytes"] - before, held, "memory_bytes of kretprobes")
    g.group_set("nvidia", 0)
    equal(stats()["gpumon"]["memory_bytes"], before, "memory_bytes after they have gone")
rmmod("gpumon")
nvidia.unload()

step("the event ring")
load_gpumon(**SMALL)
cpus = os.cpu_count()
with Gpumon() as g:
    memory.settle()
    nothing = memory.in_no_account()
    for kib in 8, 512, 65536:
        g.event_ring_set(size_kib=kib)
        g.event_ring_set(1)
        memory.settle()
        taken = memory.in_no_account() - nothing
        said = stats()["event_ring"]["memory_bytes"] / 1024
        within(said, cpus * kib, cpus * (kib * 1.02 + 16), "memory_bytes of a ring of %d KiB" % kib)
        print("    %d KiB for each of %d CPUs: stats %d KiB, %d KiB more are taken" %
              (kib, cpus, said, taken))
        within(taken, said - OTHERS_KIB, said + OTHERS_KIB, "KiB that are in no account")
        g.event_ring_set(0)
        check(stats()["event_ring"]["memory_bytes"] > 0, "what was written can still be read")
        # The new ring is allocated before the old one is freed.
        g.event_ring_set(1)
        g.event_ring_set(0)
rmmod("gpumon")
memory.settle()
left = memory.in_no_account() - nothing
print("    %d KiB after unload" % left)
within(left, -OTHERS_KIB, OTHERS_KIB, "KiB in no account after unload")

step("the figures of Documentation/reference/memory.md")
memory.compare_figures(measured[()],
                       {name: measured[(name, most),] for name, (_, most) in PARAMETERS.items()})
step("done")
