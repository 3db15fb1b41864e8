#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest
"""NULL, poisoned and unmapped pointers, and pages of nonsense, in every argument of a probe."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import nvidia
import nvidia_stats

HOLLOW = lab.DEBUGFS + "/hollow_nvidia"

# NULL, close to NULL, a poison, a non-canonical address, the last address, one that the kernel does
# not use, a userspace address, and two existing pages. A kernel without KASLR has its memory at
# 0xffff888000000000, where reads succeed.
BAD = ("0", "0x10", "0xdead000000000100", "0x6b6b6b6b6b6b6b6b", "0xffffffffffffffff",
       "0xffffffff00000001", "0x7fff00000000", "ones", "zeros")

# The arguments that are pointers which a probe follows.
POINTERS = {
    "nvidia_open": (0, 1), "nvidia_close": (0, 1), "nvidia_unlocked_ioctl": (0,),
    "nvidia_mmap": (0, 1), "nvidia_poll": (0,), "nvidia_fault": (0,), "nvidia_vma_open": (0,),
    "nvidia_vma_release": (0,), "nvidia_isr": (1,), "nvidia_isr_msix": (1,),
    "nvidia_isr_kthread_bh": (1,), "nvidia_isr_msix_kthread_bh": (1,),
    "nvidia_p2p_get_pages": (4,), "nvidia_p2p_put_pages": (3,), "nvidia_p2p_free_page_table": (0,),
    "nvidia_p2p_dma_map_pages": (0, 1), "nvidia_suspend": (0,), "nv_pmops_runtime_suspend": (0,),
    "nv_report_error": (0, 2), "nv_pci_probe": (0,), "nv_pci_remove": (0,),
}

# Without what the pointer leads to, these count nothing.
NEEDED = {"nvidia_unlocked_ioctl", "nvidia_poll", "nvidia_fault", "nvidia_vma_open",
          "nvidia_vma_release", "nvidia_mmap"}


def call(*words):
    nvidia.control(*words, folder=HOLLOW)


lab.load_gpumon()
lab.insmod("tests/mock/nvidia-hollow/nvidia")
for name, row in nvidia_stats.probes().items():
    if name in POINTERS:
        lab.equal(row["state"], "attached", "state of " + name)

for result in 0, 1, 2, 0xffffffffffffffea:
    call("result", result)
    lab.step("everything returns %#x" % result)
    for name, positions in POINTERS.items():
        for bad in BAD:
            words = [bad if i in positions else "1" for i in range(6)]
            call(name, *words)

calls = len(BAD) * 4
sections = lab.stats()
lab.check_sums(sections)
rows = nvidia_stats.probes(sections)
for name in POINTERS:
    lab.equal((rows[name]["seen"], rows[name]["missed"], rows[name]["recursion"]), (calls, 0, 0),
              "calls of " + name)
    if name in NEEDED:
        lab.equal((rows[name]["unreadable"], rows[name]["recorded"]), (calls, 0),
                  "what became of " + name)
# An inode of ones or zeroes can be read; the other seven cannot.
lab.equal(rows["nvidia_open"]["unreadable"], 7 * 4, "opens of what is no inode")
for name in "nvidia_isr", "nvidia_isr_msix", "nv_report_error", "nvidia_suspend":
    lab.equal(rows[name]["recorded"], calls, "the count needs no pointer: " + name)
rows = nvidia_stats.table("irqs", "device", "irq", sections=sections)
lab.equal(rows[None, 1]["interrupts"], 2 * calls, "interrupts of an unknown GPU")
lab.equal(nvidia_stats.table("xids", "device", "code", sections=sections)[None, 1]["xids"], calls,
          "Xids of an unknown GPU")
power = nvidia_stats.table("power", "device", sections=sections)[None]
lab.equal((power["suspends"], power["suspends_failed"]), (calls, calls * 3 // 4), "suspends")
for row in nvidia_stats.table("devices", "minor", sections=sections).values():
    lab.check((row["open_handles"] or 0) >= 0, "open handles of %s" % row["device"])
p2p = nvidia_stats.table("p2p", "peer", sections=sections)[None]
# Its persistent variants are missing, so not everything is counted.
lab.equal((p2p["gets"], p2p["gets_failed"], p2p["puts"], p2p["live_bytes"]), (None,) * 4,
          "what a driver with functions missing is not known to have done")
lab.equal(p2p["dma_maps_untracked"], p2p["dma_maps"], "mappings of unknown pages")
nvidia.unload()
