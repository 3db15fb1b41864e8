#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest timeout=420
"""Functions that a driver lacks or that have another name are reported, and the others count."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import nvidia
import nvidia_stats

# Functions that every generation has under its own name.
COMMON = {"nvidia_fault", "nvidia_vma_open", "nvidia_vma_release", "nvidia_isr", "nvidia_isr_msix",
          "nvidia_isr_kthread_bh", "nvidia_isr_msix_kthread_bh", "nvidia_p2p_get_pages",
          "nvidia_p2p_get_pages_persistent", "nvidia_p2p_put_pages",
          "nvidia_p2p_put_pages_persistent", "nvidia_p2p_free_page_table",
          "nvidia_p2p_dma_map_pages", "nvidia_p2p_dma_unmap_pages", "nvidia_resume",
          "nv_pmops_runtime_suspend", "nv_pmops_runtime_resume", "nv_pci_probe", "nv_pci_remove"}
FRONTEND = {"nvidia_frontend_open", "nvidia_frontend_close", "nvidia_frontend_unlocked_ioctl",
            "nvidia_frontend_compat_ioctl", "nvidia_frontend_mmap", "nvidia_frontend_poll"}
DIRECT = {"nvidia_open", "nvidia_close", "nvidia_unlocked_ioctl", "nvidia_mmap", "nvidia_poll"}
ATTACHED = {
    "535": COMMON | FRONTEND | {"nvidia_suspend", "nv_report_error"},
    "550": COMMON | DIRECT | {"nvidia_suspend", "nv_report_error"},
    "550-inlined": COMMON | DIRECT | {"nv_pmops_suspend", "nv_report_error"},
    "580": COMMON | DIRECT | {"nvidia_suspend", "nvidia_dev_xid"},
    "580-untraced": COMMON | DIRECT | {"nvidia_suspend", "nv_report_error"},
}

for variant in nvidia.VARIANTS:
    lab.step(variant)
    nvidia.load(variant)
    lab.load_gpumon()
    rows = nvidia_stats.probes()
    lab.equal({name for name, row in rows.items() if row["state"] == "attached"},
              ATTACHED[variant], "attached probes of " + variant)
    for name, row in rows.items():
        if row["state"] == "attached":
            continue
        lab.check(row["state"] in ("missing", "off") and row["reason"] not in (None, "-", ""),
                  "%s: %s, and no reason" % (name, row["state"]))
        # Either an attached function is named, or what is missing then.
        lab.check(any(other in row["reason"] for other in ATTACHED[variant]) or
                  "inlined: " in row["reason"] or "tracepoints" in row["reason"],
                  "%s: reason %r" % (name, row["reason"]))
    if nvidia.generation(variant) != "580":
        lab.check(rows["nvidia_resume"]["reason"].startswith("nvidia_resume.isra.0"),
                  "the other function is named")
    elif nvidia.has_btf("nvidia"):
        for name in ATTACHED[variant]:
            lab.equal(rows[name]["reason"], None, "prototype of " + name)
    state = {g["group"]: g for g in lab.stats()["groups"]}["nvidia"]
    lab.equal(state["state"], "attached", "state of the group: %s" % state["reason"])

    # Whatever is missing, nothing is counted twice.
    nvidia.workload()
    nvidia_stats.check_devices({})
    nvidia_stats.check_commands({})
    nvidia.control("xid", 0, 31, "a fault")
    nvidia.control("interrupt", 1, 2, 5)
    nvidia.control("interrupt", 1, "legacy", 5)
    lab.equal(sum(r["xids"] for r in nvidia_stats.table("xids", "device", "code").values()), 1,
              "Xids")
    lab.equal(sum(r["interrupts"] for r in nvidia_stats.table("irqs", "device", "irq").values()),
              10, "interrupts")
    lab.rmmod("gpumon")
    nvidia.unload()
