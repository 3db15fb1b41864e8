#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest
"""gpumon reads files of sysfs. It does not even open anything else that is mounted there."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import nvidia

FOLDER = "/sys/kernel/btf"
MOUNTED = "mount -t tmpfs none %s && %%s && insmod %s/gpumon.ko" % (FOLDER, lab.BUILD)

nvidia.load("580")
for what, make in (("a fifo, which would wait for a writer", "mkfifo %s/vmlinux" % FOLDER),
                   ("a file of nonsense", "echo nonsense >%s/vmlinux" % FOLDER)):
    lab.step("in the place of the kernel's BTF: " + what)
    lab.run("unshare", "--mount", "sh", "-c", MOUNTED % make, timeout=300)
    rows = lab.stats()["layouts"]
    lab.check(rows, "no layouts")
    for row in rows:
        if lab.loaded(row["module"]):
            lab.equal(row["reason"], "no BTF of vmlinux, is sysfs mounted on /sys?",
                      "%s of %s" % (row["member"], row["module"]))
    lab.rmmod("gpumon")

lab.step("as it is")
lab.load_gpumon()
row = [r for r in lab.stats()["layouts"] if r["module"] == "nvidia"][0]
lab.equal(row["offset"] is not None, nvidia.has_btf("nvidia"), "the layout is known")
lab.rmmod("gpumon")
nvidia.unload()
