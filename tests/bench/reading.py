#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""reading.py RESULTS [gpumon]: what it costs to read the statistics, to load and unload
the module, to start and end gpumon-user's BPF programs; and memory.

Lines are "read WHAT RINGS CPUS PROCESSES INSTRUCTIONS BYTES SPREAD%", "window WHAT NS"
for the windows of QEMU's plugin, which has their instructions, and "memory RINGS BYTES
OF-THE-KERNEL CPUS".
"""
import os
import sys

import tools
import lab
from gpumon_netlink import Gpumon

REPEATS = 1 if tools.SMALL else 3
TOOL = lab.BUILD + "/gpumon-user"
# Numbers of GPUs, rings of each, and processes that have submitted.
SIZES = ((1, 1, 1), (1, 2, 50)) if tools.SMALL else (
    (1, 8, 1), (8, 8, 1), (8, 64, 1), (1, 8, 100), (1, 8, 1000))


def read(what, rings, processes, *arguments):
    values = tools.measure("-k", REPEATS, *arguments)
    counts = sorted(v[0] for v in values)
    middle = counts[len(counts) // 2]
    results.note("read", what, rings, lab.stats()["gpumon"]["possible_cpus"], processes,
                 "%d" % middle, "%d" % values[-1][1],
                 "%.1f" % (100 * (counts[-1] - counts[0]) / middle))


def reading(devices, rings, processes):
    lab.load(dict(max_rings=1024, max_processes=4096), devices=devices, rings=rings,
             completion="inline", distribution="fixed", timeout_ms=0)
    tools.measure("-n", 1, "touch")
    if processes > 1:
        # The table has room, so their rows stay after they have ended.
        lab.submit("-p", processes - 1, "-n", 1, "-w", timeout=1200)
    lab.wait_idle()
    total = devices * rings
    with Gpumon() as g:
        lab.equal(len(g.rings()), total, "rings")
        lab.check(len(g.processes()) >= processes, "fewer than %d processes" % processes)
    if processes == 1:
        read("debugfs stats", total, processes, "read", lab.STATS)
        read("debugfs histograms", total, processes, "read", lab.DEBUGFS + "/gpumon/histograms")
        read("netlink tables", total, processes, "dump", "statistic")
    else:
        read("debugfs stats", total, processes, "read", lab.STATS)
    read("netlink processes", total, processes, "dump", "process")
    lab.rmmod("gpumon", "mock_gpu")


def window(what, *arguments):
    """Windows in the order of the values that are printed."""
    values = tools.measure(*arguments)
    for name, value in zip(what if isinstance(what, list) else [what], values):
        results.window(name, "%d" % value[0])


def loading(drivers):
    for _ in range(REPEATS):
        window("module-load-" + drivers, "load", lab.BUILD + "/gpumon.ko")
        window("module-unload-" + drivers, "unload", "gpumon")
        window(["source-load-" + drivers, "source-unload-" + drivers], "start",
               "counting by BPF", TOOL, "stat", "--source=bpf")


def kernel_kib():
    """What the kernel has given out: slab, vmalloc and per-CPU memory."""
    keys = ("SUnreclaim:", "VmallocUsed:", "Percpu:")
    return sum(int(line.split()[1]) for line in lab.read("/proc/meminfo").splitlines()
               if line.startswith(keys))


def memory():
    for rings in 64, 1024:
        before = kernel_kib()
        lab.load_gpumon(max_rings=rings)
        grown = 1024 * (kernel_kib() - before)
        about = lab.stats()["gpumon"]
        results.note("memory", rings, about["memory_bytes"], grown, about["possible_cpus"])
        lab.rmmod("gpumon")


results = tools.Results(sys.argv[1])
lab.load_scheduler()
# The other boot has more CPUs, which only matter for sums over all of them.
alone = os.environ.get("BENCH_NAME") == "reading-64"
for size in SIZES[:2] if alone else SIZES:
    lab.step("%d GPUs with %d rings, %d processes" % size)
    reading(*size)
if not alone:
    memory()
    # The plugin counts from here on. Everything is slower, but the counts are the same.
    lab.step("load and unload")
    loading("drm_sched")
    lab.run("modprobe", "amdgpu", timeout=600)
    lab.run("modprobe", "i915", timeout=600)
    loading("three")
results.end()
