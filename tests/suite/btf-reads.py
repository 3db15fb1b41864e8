#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest
"""The kernel's BTF is read through once, when gpumon is loaded. When a driver comes only a little of
it is read again: that happens under the kernel's locks of modules.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab

FOLDER = "/sys/kernel/btf/"


def bytes_read(does):
    """What this task and its children read meanwhile, also by the kernel's own code for them."""
    def now():
        with open("/proc/self/io", encoding="utf-8") as f:
            return dict(line.split(": ") for line in f)["rchar"]

    before = int(now())
    does()
    return int(now()) - before


def size(module):
    return os.stat(FOLDER + module).st_size


lab.step("a driver comes without gpumon")
lab.load_scheduler()
own = size("gpu_sched")
lab.rmmod("gpu_sched")
without = bytes_read(lab.load_scheduler)
lab.rmmod("gpu_sched")

lab.step("gpumon is loaded")
at_load = bytes_read(lab.load_gpumon)
lab.check(at_load > size("vmlinux"), "it read %d bytes, the kernel's BTF has %d" %
          (at_load, size("vmlinux")))

lab.step("drivers come")
for turn in range(3):
    more = bytes_read(lab.load_scheduler) - without
    print("gpu_sched: %d bytes of %d of the kernel's BTF and %d of its own" %
          (more, size("vmlinux"), own))
    lab.check(more >= own, "only %d bytes, its own BTF has %d" % (more, own))
    # Some hundred types and names at most, a page each.
    lab.within(more, own, 2 * own + (1 << 20), "bytes read when gpu_sched comes")
    rows = [r for r in lab.stats()["layouts"] if r["module"] == "gpu_sched"]
    lab.check(rows and all(r["offset"] is not None for r in rows), "layouts: %r" % rows)
    lab.rmmod("gpu_sched")
