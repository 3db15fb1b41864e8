#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest tool
"""Code that is built into the kernel is attached to like a module, also in one group with a module.

No distribution's kernel has drm built in, so this is the group "debug" of the module that is made
with GPUMON_DEBUG=1: its driver is dma_fence. built-in-drivers has drm itself, on a kernel of its own.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import tracefs
from faults import DEBUG_MODULE
from gpumon_netlink import Gpumon

JOBS = 50
BUILT_IN = "attached", "built into the kernel"
EXPECTED = {
    "dma_fence_init": BUILT_IN,
    "dma_fence_never": ("missing", "not in this kernel"),
    "dma_fence_destroy": ("mismatch", "prototype is (*dma_fence), expected (*drm_device)"),
    "dma_fence_release": BUILT_IN,
    "dma_fence_signal": BUILT_IN,
    # It waits for dma_fence, and is itself of no driver.
    "dma_fence_signaled": ("attached", None),
    # The kernel has none, and the module's is another one.
    "mock_prepare_job": ("missing", "not in this kernel, or inlined"),
    "mock_run_job": ("waiting", "module mock_gpu is not loaded"),
}


def rows():
    return lab.probes(group="debug")


def check_states(wanted):
    for name, row in rows().items():
        lab.equal((row["state"], row["reason"]), wanted[name], name)
    lab.equal(set(rows()), set(wanted), "probes")


def seen(event):
    """Events of that name in ftrace's buffer."""
    return sum(" %s: " % event in line for line in tracefs.read().splitlines())


lab.step("a driver that is built in is there from the beginning")
lab.run("insmod", DEBUG_MODULE)
with Gpumon() as g:
    g.group_set("debug", 1)
    check_states(EXPECTED)
    fields = {row["type"]: row for row in g.layouts() if row["group"] == "debug"}
    lab.check(fields["dma_fence"]["offset"] is not None, fields["dma_fence"])
    lab.equal(fields["dma_fence_never"]["reason"], "no type dma_fence_never in BTF of vmlinux",
              "a type that the kernel has not")

lab.step("a module of the same group comes")
lab.load_mock(devices=1, rings=1)
EXPECTED["mock_run_job"] = "attached", None
check_states(EXPECTED)

lab.step("all is counted")
tracefs.write("buffer_size_kb", "4096")
before = rows()
for event in "init", "signaled", "destroy":
    tracefs.enable("dma_fence/dma_fence_" + event)
lab.submit("-n", JOBS, "-w")
lab.wait_idle()
# Fences are released when the last of their users is done, and with them nothing is left.
lab.until(lambda: seen("dma_fence_destroy") == seen("dma_fence_init"), "all fences are released")
for event in "init", "signaled", "destroy":
    tracefs.enable("dma_fence/dma_fence_" + event, False)
tracefs.lost_nothing()
after = rows()
counted = {name: after[name]["recorded"] - before[name]["recorded"] for name in after}
lab.check(seen("dma_fence_init") >= 2 * JOBS, "jobs without fences")
for ours, theirs in {"dma_fence_init": "dma_fence_init", "dma_fence_signaled": "dma_fence_signaled",
                     "dma_fence_release": "dma_fence_destroy"}.items():
    lab.equal(counted[ours], seen(theirs), ours)
lab.equal(counted["mock_run_job"], JOBS, "mock_run_job")
lab.check(counted["dma_fence_signal"] > 0, "no dma_fence_signal")
lab.check_sums()
lab.check_counts()

lab.step("the module goes, what is built in stays")
lab.rmmod("mock_gpu")
EXPECTED["mock_run_job"] = "waiting", "module mock_gpu is not loaded"
check_states(EXPECTED)
lab.rmmod("gpumon")
