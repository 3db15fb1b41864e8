#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=nvidia timeout=900 kernels=6.1-nvidia,6.12-nvidia,7-nvidia
"""NVIDIA's real driver: interrupts of each kind while a GPU is being opened, and a real Xid.

Not with the open modules: without the GPU's firmware an open of theirs is over in no time.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import nvidia
import nvidia_real
import nvidia_stats
from gpumon_netlink import Gpumon

FUNCTIONS = ("nvidia_isr", "nvidia_isr_msix", "nvidia_isr_kthread_bh", "nvidia_isr_msix_kthread_bh",
             "nv_report_error")
OPEN = """
import os
try:
    os.open("/dev/nvidia0", os.O_RDWR)
except OSError as e:
    print(e.errno)
"""


def opening():
    """A process that opens the GPU. Of GH100 that lasts for 8 s, and then fails."""
    return subprocess.Popen([sys.executable, "-c", OPEN], stdout=subprocess.PIPE, text=True)


def check(kind, hits):
    """Rows of interrupts against ftrace."""
    rows = nvidia_stats.table("irqs", "device", "irq")
    lab.equal(sum(row["interrupts"] for row in rows.values()), hits["nvidia_isr"],
              "%s interrupts, each once" % kind)
    lab.equal(sum(row["bottom_halves"] for row in rows.values()),
              hits["nvidia_isr_kthread_bh"] + hits["nvidia_isr_msix_kthread_bh"],
              "%s threaded halves" % kind)
    lab.equal(hits["nvidia_isr_msix"] > 0, kind in ("msix", "both"),
              "the handler of MSI-X was called")
    for (device, irq), row in rows.items():
        lab.equal(device, nvidia_real.BUS, "device of irq %d" % irq)
        if kind != "intx":
            lab.equal(row["unhandled"], 0, "unhandled of irq %d, which the driver claims" % irq)
        lab.equal(row["interrupts"] >= row["unhandled"], True, "unhandled of irq %d" % irq)
    lab.check_sums()


nvidia_real.make_node("nvidia0", 195, 0)
# With both the driver takes MSI-X.
for kind, count in ("msi", 3000), ("msix", 5000), ("intx", 2000), ("both", 1000):
    lab.step("%s: %d interrupts, and a threaded half" % (kind, count))
    nvidia_real.load(chip="GH100", interrupts=kind)
    lab.load_gpumon()
    with nvidia.Hits(*FUNCTIONS, "os_schedule") as hits:
        process = opening()
        nvidia_real.control("interrupt", 0, 0, count, 60000)
        # The driver calls it while it waits for the GPU to start. A threaded half before that
        # dereferences NULL in the driver, also without gpumon: it has not asked for one.
        lab.until(lambda: hits.is_called("os_schedule"), "the driver waits for the GPU")
        nvidia_real.control("thread", 0, 0, 3, 60000)
        lab.equal(process.communicate(timeout=120 * lab.SLOWER)[0].strip(), "5", "errno of open()")
    lab.check(hits.count["nvidia_isr"] >= count, "only %d interrupts" % hits.count["nvidia_isr"])
    lab.equal(int(lab.read(nvidia_real.PCI + "/fired")), count, "interrupts fired")
    check(kind, hits.count)

    xids = nvidia_stats.table("xids", "device", "code")
    lab.check((nvidia_real.BUS, 143) in xids, "no Xid 143 of the GPU that does not start")
    lab.equal(sum(row["xids"] for row in xids.values()), hits.count["nv_report_error"], "Xids")
    if kind == "msi":
        lab.step("Xids reported by a call")
        # No more than the alerts that wait for being sent have room.
        nvidia_real.control("xid", 0, 79, 50)
        row = nvidia_stats.table("xids", "device", "code")[nvidia_real.BUS, 79]
        lab.equal((row["xids"], row["meaning"]), (50, "GPU_fell_off_the_bus"), "Xid 79")
        with Gpumon() as g:
            lab.until(lambda: [(a["device"], a["count"]) for a in g.alerts() if a["code"] == 79] ==
                      [(nvidia_real.BUS, 50)], "50 alerts of Xid 79")
    lab.rmmod("gpumon")
    nvidia_real.unload()
