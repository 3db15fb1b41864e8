#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel tool drivers=stay needs=amdgpu,i915 timeout=200
"""Every probe, statistic and event that Documentation/user/bpftrace-scripts.md names is there."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import fire
import nvidia
from gpumon_netlink import Gpumon
from lab import BUILD, STATS, check, equal, load_gpumon, read, step

DOCUMENT = BUILD + "/Documentation/user/bpftrace-scripts.md"
EVENTS = BUILD + "/kmod/uapi/gpumon_event.h"

# The probes of each script, so that a removed row is noticed.
PROBES = {
    "drm_scheduler": "drm_run_job drm_sched_process_job drm_sched_job_wait_dep",
    "intel_i915": "i915_gem_object_create i915_vma_bind i915_vma_unbind i915_gem_shrink "
                  "i915_gem_evict i915_gem_object_pwrite i915_gem_object_pread "
                  "i915_gem_object_fault",
    "amd_amdgpu": "amdgpu_bo_create amdgpu_bo_move amdgpu_cs_ioctl amdgpu_sched_run_job amdgpu_cs "
                  "amdgpu_iv amdgpu_vm_flush amdgpu_vm_bo_map amdgpu_vm_bo_unmap "
                  "amdgpu_device_rreg amdgpu_device_wreg",
    "drm_vblank": "drm_vblank_event drm_vblank_event_queued drm_vblank_event_delivered",
    "nvidia_driver": "nvidia_open nvidia_close nvidia_unlocked_ioctl nvidia_mmap nvidia_fault "
                     "nvidia_isr nvidia_isr_msix nvidia_isr_kthread_bh nvidia_p2p_get_pages "
                     "nvidia_p2p_dma_map_pages nvidia_suspend nvidia_resume nvidia_vma_open "
                     "nvidia_vma_release nvidia_poll nvidia_dev_xid",
}


def names_there():
    """The names that the module has: the headers of its sections, also of empty ones."""
    there = set()
    section = None
    probes = set()
    for line in read(STATS).splitlines():
        if line.startswith("# "):
            section, header = line[2:], None
        elif section and header is None:
            header = line.split()
            for column in header:
                there.add("%s.%s" % (section, column))
                # A histogram appears as count and percentiles.
                there.add("%s.%s" % (section, re.sub(r"_count$", "", column)))
        elif section == "probes":
            probes.add(line.split()[1])
    return there, probes


def places(text):
    return re.findall(r"`([^`]+)`", text)


def missing(place, there, probes, events):
    """Why this name does not exist, or None."""
    kind, _, name = place.partition(" ")
    if kind == "probe":
        return None if name in probes else "no such probe"
    if kind == "trace":
        return None if name in events else "no such event"
    return None if place in there else "no such column"


load_gpumon()
# stats prints nothing about a driver that was never loaded.
fire.load_drivers("amdgpu", "i915")
nvidia.load("580")
with Gpumon() as g:
    g.group_set("amdgpu_registers", 1)
there, probes = names_there()
events = set(re.findall(r"(?m)^\s*X\(\d+, \w+, \"(\w+)\"", read(EVENTS)))
check(len(there) > 100 and len(probes) > 50 and len(events) > 40,
      "too little found: %d columns, %d probes, %d events" % (len(there), len(probes), len(events)))

step("a name that is not there is noticed")
for place in "nvidia.devices.nosuch", "nosuch.devices.opens", "probe nosuch", "trace nosuch":
    check(missing(place, there, probes, events), "%s is taken for one that is there" % place)

step("what the document names is there")
script = None
seen = {}
rows = 0
for line in read(DOCUMENT).splitlines():
    if line.startswith("## "):
        script = line[3:]
        seen[script] = set()
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    if not line.startswith("| ") or cells[0] in ("script", "mistake"):
        continue
    rows += 1
    if script == "Their mistakes":
        tests = places(cells[1])
        check(tests, "no test against: %s" % cells[0])
        for test in tests:
            check(os.path.exists(BUILD + "/" + test), "%s is not there" % test)
        continue
    check(places(cells[1]), "%s: no place for: %s" % (script, cells[0]))
    for place in places(cells[1]):
        why = missing(place, there, probes, events)
        check(not why, "%s: %s: %s" % (script, place, why))
    probe = re.match(r"probe (\w+)", cells[0])
    if probe:
        seen[script].add(probe.group(1))
for script, wanted in PROBES.items():
    equal(seen.get(script), set(wanted.split()), "probes of %s" % script)
step("%d rows" % rows)
