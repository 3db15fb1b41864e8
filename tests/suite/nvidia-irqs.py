#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest icount cpus=2
"""NVIDIA's interrupts, each once; hard half to threaded half, per irq and never crossed."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import nvidia
import nvidia_stats
from gpumon_netlink import Gpumon

# How far the account may differ from ours each time: the time between two clock readings.
SLACK_NS = 1000000


def latencies():
    """{(device, irq): histogram}"""
    with Gpumon() as g:
        return {(r["device"], r["irq"]): r["isr_to_bh_ns"]
                for r in g.statistics()["nvidia.irqs"]}


def check(variant, bursts):
    """@bursts: the lines that were raised again while their threaded half ran."""
    account = nvidia.account()
    rows = nvidia_stats.table("irqs", "device", "irq")
    histograms = latencies()
    expected = 0
    for address, vectors, legacy in nvidia.devices():
        for irq in vectors + [legacy]:
            def mock(name):
                return account.get("irq/%d/%s" % (irq, name), 0)
            if not mock("isrs"):
                lab.check((address, irq) not in rows, "a row of irq %d, which never was" % irq)
                continue
            expected += 1
            row = rows[address, irq]
            name = "%s irq %d of %s" % (variant, irq, address)
            lab.equal((row["interrupts"], row["unhandled"], row["bottom_halves"]),
                      (mock("isrs"), mock("isrs_unhandled"), mock("bhs")), name)
            # The mock reads when its thread was woken a little after the probe does. What comes
            # in between belongs to this run of the thread for the mock, and to the next for gpumon.
            most = mock("bhs") if irq in bursts else mock("latencies")
            lab.within(row["isr_to_bh_ns_count"], mock("latencies"), most, "times of " + name)
            lab.within(histograms[address, irq]["sum"], mock("latency_ns") -
                       mock("latencies") * SLACK_NS,
                       mock("latency_ns") + mock("latencies") * SLACK_NS,
                       "time to the threaded half of irq %d" % irq)
    lab.equal(len(rows), expected, "rows")
    lab.check_sums()


def drive():
    """Interrupts of two GPUs, MSI-X and legacy, one after the other and then in turns."""
    for gpu in 0, 1:
        for vector in 0, 1, 3, "legacy":
            nvidia.control("interrupt", gpu, vector, 20)
            nvidia.control("handled", gpu, vector, 3)
            nvidia.control("unhandled", gpu, vector, 2)
    for _ in range(10):
        for gpu in 0, 1:
            for vector in 0, 1, "legacy":
                nvidia.control("interrupt", gpu, vector, 1)
    # Threaded halves that still run while the next interrupts come.
    nvidia.control("burst", 0, 0, 50, 20000)
    nvidia.control("burst", 1, "legacy", 50, 20000)
    devices = nvidia.devices()
    return devices[0][1][0], devices[1][2]


for variant in "580", "535":
    lab.step("%s: counts and times" % variant)
    nvidia.load(variant)
    lab.load_gpumon()
    check(variant, drive())
    lab.equal(sum(nvidia_stats.table("irqs", "device", "irq")[k]["interrupts"]
                  for k in nvidia_stats.table("irqs", "device", "irq")),
              nvidia.account()["isrs"], "every interrupt once, MSI-X too")

    lab.step("%s: an interrupt that woke nobody begins no time" % variant)
    # A stale start time would make the next duration as long as this sleep.
    nvidia.control("handled", 0, 1, 1)
    before = latencies()
    time.sleep(1)
    nvidia.control("interrupt", 0, 1, 1)
    after = latencies()
    irq = nvidia.devices()[0][1][1]
    address = nvidia.devices()[0][0]
    lab.equal(after[address, irq]["count"] - before[address, irq]["count"], 1, "times")
    lab.within(after[address, irq]["sum"] - before[address, irq]["sum"], 1, 500000000,
               "the time after a pause")

    lab.step("%s: gone and back under attach" % variant)
    nvidia.unload()
    nvidia.load(variant, gpus=3, vectors=2)
    with Gpumon() as g:
        g.reset()
    nvidia.control("interrupt", 2, 1, 5)
    row = nvidia_stats.table("irqs", "device", "irq")[nvidia.devices()[2][0],
                                                      nvidia.devices()[2][1][1]]
    lab.equal((row["interrupts"], row["bottom_halves"], row["isr_to_bh_ns_count"]), (5, 5, 5),
              "after another load")

    lab.step("%s: off while one was waiting, and on" % variant)
    with Gpumon() as g:
        g.group_set("nvidia", 0)
        nvidia.control("interrupt", 2, 1, 5)
        g.group_set("nvidia", 1)
        nvidia.control("interrupt", 2, 1, 5)
    row = nvidia_stats.table("irqs", "device", "irq")[nvidia.devices()[2][0],
                                                      nvidia.devices()[2][1][1]]
    lab.equal((row["interrupts"], row["isr_to_bh_ns_count"]), (10, 10), "while on")
    lab.rmmod("gpumon")
    nvidia.unload()
