#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=nvidia tool timeout=900
"""NVIDIA's real driver: GPUs come and go, sleep and wake, p2p, unified memory."""
import ctypes
import fcntl
import mmap
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import nvidia
import nvidia_real
import nvidia_stats
import source_bpf
from gpumon_netlink import Gpumon

UVM_INITIALIZE = 0x30000001
PAGES = 60
BLOCK = 2 << 20
MANAGED = 0x400000000000
DRIVER = "/sys/bus/pci/drivers/nvidia/"


def write(path, text):
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def use_managed_memory():
    """Unified memory in which the CPU writes to a page of each block."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                          ctypes.c_int, ctypes.c_long)
    libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    uvm = os.open("/dev/nvidia-uvm", os.O_RDWR)
    answer = fcntl.ioctl(uvm, UVM_INITIALIZE, struct.pack("QII", 0, 0, 0))
    lab.equal(struct.unpack("QII", answer)[1], 0, "status of UVM_INITIALIZE")
    # The address has to be the offset: MAP_SHARED and MAP_FIXED.
    at = libc.mmap(MANAGED, PAGES * BLOCK, mmap.PROT_READ | mmap.PROT_WRITE, 0x11, uvm, MANAGED)
    lab.equal(at, MANAGED, "mmap of managed memory, errno %s" % ctypes.get_errno())
    for i in range(PAGES):
        ctypes.c_char.from_address(MANAGED + i * BLOCK).value = b"x"
    libc.munmap(MANAGED, PAGES * BLOCK)
    os.close(uvm)


def make_uvm_node():
    major = [line.split()[0] for line in lab.read("/proc/devices").splitlines()
             if line.endswith(" nvidia-uvm")]
    nvidia_real.make_node("nvidia-uvm", int(major[0]), 0)


def check_uvm_probes(with_btf):
    """Each is attached; its prototype was compared where that can be."""
    for name, (state, reason) in nvidia_real.check_probes(group="nvidia_uvm").items():
        lab.equal(state, "attached", "%s (%s)" % (name, reason))
        lab.equal("prototype not checked: no BTF" not in str(reason), with_btf,
                  "the prototype of %s was checked" % name)


def buses():
    return ["0001:40:%02x.0" % i for i in range(3)]


lab.step("three GPUs: gone and back")
lab.load_gpumon()
nvidia_real.load(functions=3)
with nvidia.Hits("nv_pci_probe", "nv_pci_remove") as hits:
    for bus in buses():
        write(DRIVER + "unbind", bus)
    for bus in buses():
        write(DRIVER + "bind", bus)
probes = nvidia_stats.probes()
for name in "nv_pci_probe", "nv_pci_remove":
    lab.check(probes[name]["state"] == "attached", "%s is %s" % (name, probes[name]["state"]))
    lab.equal(hits.count[name], 3, "calls of " + name)
lab.equal((probes["nv_pci_probe"]["seen"], probes["nv_pci_remove"]["seen"]), (6, 3),
          "GPUs that came and went")

lab.step("suspend and resume, by the driver's own file")
# The rows' names are those of the arguments that the compiler has left.
for action in ("suspend", "resume") * 3:
    write(nvidia_real.SUSPEND, action)
rows = nvidia_stats.table("power", "device")
lab.equal({d: (row["suspends"], row["resumes"]) for d, row in rows.items()},
          {bus: (3, 3) for bus in buses()}, "suspends and resumes of each GPU")
for row in rows.values():
    lab.equal((row["suspend_ns_count"], row["resume_ns_count"]), (3, 3), "times")
    lab.equal(row["suspends_failed"], 0, "suspends that failed")
lab.check_sums()

lab.step("p2p: what is refused")
nvidia_real.control("p2p", 0, 100)
row = nvidia_stats.table("p2p", "peer")[None]
lab.equal((row["gets"], row["gets_failed"], row["bytes"]), (0, 100, 0), "p2p gets")

lab.step("unified memory: faults of the CPU")
nvidia_real.insmod("nvidia-uvm")
check_uvm_probes(True)
make_uvm_node()
counting = source_bpf.Counting()
use_managed_memory()
rows = {row["processor"]: row for row in lab.stats()["nvidia_uvm.faults"]}
lab.equal((rows["cpu"]["faults"], rows["cpu"]["cpu_writes"]), (PAGES, PAGES), "faults of the CPU")
lab.check_sums()
document = counting.end()
row = source_bpf.table(document, "nvidia_uvm", "devices", "minor")[0]
lab.equal((row["opens"], row["ioctls"], row["mmaps"], row["mapped_bytes"]),
          (1, 1, 1, PAGES * BLOCK), "/dev/nvidia-uvm by BPF")
rows = source_bpf.table(document, "nvidia_uvm", "ioctls", "command")
lab.equal({command: row["ioctls"] for command, row in rows.items()},
          {"0x%08x" % UVM_INITIALIZE: 1}, "commands of /dev/nvidia-uvm by BPF")

lab.step("the same without BTF: that is all that is known")
nvidia_real.rmmod("nvidia_uvm")
nvidia_real.insmod("nvidia-uvm", plain=True)
check_uvm_probes(False)
make_uvm_node()
with Gpumon() as g:
    g.reset()
use_managed_memory()
rows = lab.stats()["nvidia_uvm.faults"]
lab.equal([(row["processor"], row["faults"], row["cpu_writes"]) for row in rows if row["faults"]],
          [(None, PAGES, None)], "faults")

lab.step("/dev/nvidia-modeset: from 550 on it has functions of its own")
nvidia_real.insmod("nvidia-modeset")
nvidia_real.make_node("nvidia-modeset", 195, 254)
os.close(os.open("/dev/nvidia-modeset", os.O_RDWR))
rows = {row["device"]: (row["opens"], row["closes"]) for row in lab.stats()["nvidia.devices"]}
lab.equal(rows.get("nvidia-modeset"), (1, 1) if nvidia_real.GENERATION == "535" else None,
          "the row of /dev/nvidia-modeset")
lab.rmmod("gpumon")
nvidia_real.unload()
