#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=nvidia timeout=900
"""The mock of NVIDIA's driver against the real one: same program, same rows, reasons, messages."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import nvidia
import nvidia_real
import nvidia_stats
from gpumon_netlink import Gpumon

GENERATION = nvidia_real.GENERATION
GPU_OPENS = 2


class Real:
    """The real driver, with BTF where the mock has it."""

    name = "the real driver"

    def load(self, plain):
        nvidia_real.load(plain)

    def prepare_calls(self):
        pass

    def suspend(self):
        for action in "suspend", "resume":
            fd = os.open(nvidia_real.SUSPEND, os.O_WRONLY)
            os.write(fd, action.encode())
            os.close(fd)

    def refuse_p2p(self):
        nvidia_real.control("p2p", 0, 3)

    def xids(self):
        nvidia_real.control("xid", 0, 79, 3)

    def unload(self):
        nvidia_real.unload()

    bus = nvidia_real.BUS


class Mock:
    """The mock of the same generation."""

    name = "the mock"
    bus = ""

    def load(self, plain):
        nvidia.load(GENERATION, gpus=1, real_commands=1)
        self.bus = nvidia.devices()[0][0]
        lab.equal(nvidia.has_btf("nvidia"), not plain, "the mock has BTF")

    def prepare_calls(self):
        nvidia.control("fail-opens", 0, 2 * GPU_OPENS)

    def suspend(self):
        nvidia.control("procfs-suspend", 0)
        nvidia.control("resume", 0)

    def refuse_p2p(self):
        for i in range(3):
            try:
                nvidia.control("p2p-get", i, 1, 0x10000)
            except OSError:
                continue
            lab.fail("p2p-get was not refused")

    def xids(self):
        for i in range(3):
            nvidia.control("xid", 0, 79, "number %d" % i)

    def unload(self):
        nvidia.unload()


def without_times(row):
    """A row but for durations, and what the last of them set."""
    return {column: value for column, value in row.items() if "_ns" not in column}


def observe(driver, plain):
    """What gpumon says of a driver to which the same has happened."""
    driver.load(plain)
    lab.load_gpumon()
    driver.prepare_calls()
    account = nvidia_real.calls("-g", GPU_OPENS, "-c", 2)
    nvidia_real.check_calls(account, nvidia_stats.device_name(0, driver.bus))
    driver.suspend()
    driver.refuse_p2p()
    driver.xids()
    sections = lab.stats()

    def rename(value):
        return value.replace(driver.bus, "BUS") if isinstance(value, str) else value

    seen = {}
    for name, rows in sections.items():
        if name.startswith("nvidia."):
            seen[name] = sorted(([(column, rename(value))
                                  for column, value in without_times(row).items()]
                                 for row in rows), key=str)
    seen["processes"] = sorted([(row["opens"], row["closes"], row["ioctls"], row["mapped_bytes"])
                                for row in sections["processes"] if row["opens"] or row["ioctls"]])
    seen["probes"] = [(name, row["state"], row["reason"], row["seen"])
                      for name, row in nvidia_stats.probes(sections).items()]
    if SAME_VERSION:
        seen["layouts"] = [row for row in sections["layouts"] if row["module"] == "nvidia"]
    with Gpumon() as g:
        seen["alerts"] = [(rename(a["device"]), a["kind"], a["code"], a["count"])
                          for a in g.alerts()]
    lab.rmmod("gpumon")
    driver.unload()
    return seen


lab.step("the table of drivers in kernels.md has this one")
with open(lab.BUILD + "/Documentation/reference/kernels.md") as page:
    listed = [line.split("|")[1].strip() for line in page if "`%s`" % lab.KERNEL in line]
print("    %s: %s, in the table as %s" % (lab.KERNEL, nvidia_real.VERSION, listed))
# Debian's updates stay in a branch.
lab.equal([driver.split(".")[0] for driver in listed], [GENERATION], "branches of its rows")

lab.step("the mock on its own: its version, and if this kernel gives it BTF")
nvidia.load(GENERATION)
# Layouts are those of one version.
SAME_VERSION = lab.read("/sys/module/nvidia/version").strip() == nvidia_real.VERSION
PLAIN = not nvidia.has_btf("nvidia")
nvidia.unload()

lab.step("facts of the real driver, with BTF")
nvidia_real.load()
if SAME_VERSION:
    nvidia.check_facts("nvidia", nvidia_real.FOLDER + "/nvidia.ko", GENERATION)
lab.check(nvidia.has_btf("nvidia"), "the real driver has no BTF")
nvidia_real.unload()

lab.step("both")
real, mock = (observe(driver, PLAIN) for driver in (Real(), Mock()))
for part, theirs in real.items():
    print("%s: %s" % (part, theirs))
for part, theirs in real.items():
    # Without an open that lasts there is no interrupt.
    lab.check(theirs or part == "nvidia.irqs", "nothing of %s" % part)
    ours = mock.get(part)
    if isinstance(theirs, list) and isinstance(ours, list):
        for one, other in zip(theirs, ours):
            lab.equal(other, one, "%s of the mock, against the real driver" % part)
    lab.equal(ours, theirs, "%s of the mock, against the real driver" % part)
lab.equal(sorted(mock), sorted(real), "tables")
