#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel own-boot timeout=300
"""What amdgpu has no tracepoint for: the device of an interrupt, faults, resets.

A mock with the driver's functions, in a layout that no amdgpu ever had: found
in its BTF where modules built here have one. Where they have none, on 6.1, everything counts and is of no
device that is known.
"""
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import amdgpu
import lab
from gpumon_netlink import Gpumon

MOCK = lab.BUILD + "/tests/mock/amdgpu.ko"
BTF = lab.LINE != "6.1"
A, B = ("mock_amdgpu.0", "mock_amdgpu.1") if BTF else ("-", "-")


def run(*words):
    with open("/sys/module/amdgpu/parameters/run", "w") as f:
        f.write(" ".join(map(str, words)))


lab.kprobes_jump(False)
lab.load_gpumon()
lab.run("insmod", MOCK)
lab.equal(os.path.exists("/sys/kernel/btf/amdgpu"), BTF, "BTF of the mock")
attached = {n for n, p in amdgpu.probes().items() if p["state"] == "attached"}
lab.equal(attached, {"amdgpu_irq_dispatch", "amdgpu_iv", "amdgpu_vm_update_fault_cache",
                     "amdgpu_vm_handle_fault", "amdgpu_device_gpu_recover",
                     "amdgpu_ring_soft_recovery"}, "probes that are attached")
for name, p in amdgpu.probes().items():
    lab.check(p["state"] == "attached" or p["reason"], "no reason why %s is missing" % name)

lab.step("interrupts by device, from tasks and from hard interrupts")
run("dispatch", 0, 20, 181, 10, 0)
run("dispatch", 1, 20, 181, 20, 0)
run("dispatch", 0, 20, 181, 5, 1)
run("dispatch", 1, 27, 0, 3, 1)
rows = amdgpu.tables()["interrupts"]
if BTF:
    amdgpu.check_all(rows, {(A, "20:181", "end_of_pipe"): dict(interrupts=15),
                            (B, "20:181", "end_of_pipe"): dict(interrupts=20),
                            (B, "27:0", "vm_fault"): dict(interrupts=3)})
else:
    amdgpu.check_all(rows, {("-", "-", "-"): dict(interrupts=38)})

lab.step("on both at once: none is taken for the other's")
lab.kprobes_jump(True)
threads = [threading.Thread(target=run, args=("dispatch", n, 20, 184 + n, 3000, irq))
           for n, irq in ((0, 0), (1, 1))]
# The threads share the vector's data. Only the device matters here.
for t in threads:
    t.start()
for t in threads:
    t.join()
by_device = {}
for (device, _, _), row in amdgpu.tables()["interrupts"].items():
    by_device[device] = by_device.get(device, 0) + row["interrupts"]
if BTF:
    # A task that moves between the two gets an unknown device, never a wrong one.
    lab.equal(by_device[B], 3023, "interrupts of the second GPU")
    lab.within(by_device[A], 2900, 3015, "interrupts of the first GPU")
lab.equal(sum(by_device.values()), 6038, "interrupts in all")

lab.step("faults of address spaces")
run("report", 0, 7)
run("retry", 0, 2)
run("retry", 1, 4)
rows = amdgpu.tables()["vm_faults"]
lab.equal(sorted((d, r["reported"], r["retries"]) for (d,), r in rows.items()),
          [(A, 7, 2), (B, 0, 4)] if BTF else [("-", 7, 6)], "faults")

lab.step("resets: how many, how long, how they ended; an alert of each")
with Gpumon() as g:
    g.alerts_join()
    run("recover", 0, 50, 0)
    first = g.alert()
    run("recover", 0, 200, -62)
    second = g.alert()
    run("recover", 1, 0, 0)
    third = g.alert()
    lab.equal([(a["group"], a["kind"], a["device"], a["code"]) for a in (first, second, third)],
              [("amdgpu", "reset", A, 0), ("amdgpu", "reset", A, 62), ("amdgpu", "reset", B, 0)],
              "alerts")
    lab.check("failed" in second["message"] and "-62" in second["message"], second["message"])
    run("soft", 1, 5, 1)
    run("soft", 1, 2, 0)
    found = {r["device"]: r for r in g.statistics()["amdgpu.resets"]}
numbers = {d if d else "-": (r["resets"], r["failed"], r["soft_recoveries"], r["soft_failed"])
           for d, r in found.items()}
lab.equal(numbers, {A: (2, 1, 0, 0), B: (1, 0, 7, 2)} if BTF else {"-": (3, 1, 7, 2)}, "resets")
if BTF:
    # The mock waits in jiffies, which may be slower than the clock in a VM.
    times = found[A]["duration_ns"]
    lab.within(times["min"], 45000000, times["max"] - 100000000, "the shorter reset")
    lab.within(times["max"], 180000000, 5000000000, "the longer reset")

lab.step("what is not there is unknown, and the driver goes while it is watched")
lab.run("rmmod", "amdgpu")
lab.equal(amdgpu.state(), "waiting", "state without it")
lab.check(not [s for s in lab.stats() if s.startswith("amdgpu.")], "its rows are there without it")
with Gpumon() as g:
    # What the probes have seen stays.
    gone = {p["probe"]: p for p in g.probe_rows("amdgpu")}
for name in attached:
    p = gone[name]
    lab.check(p["seen"] > 0, "%s has seen nothing" % name)
    lab.equal(p["seen"], p["recorded"] + sum(p[d] for d in lab.DROPS), name)
lab.run("insmod", MOCK)
run("report", 1, 1)
# Its counts went with it.
amdgpu.check_all(amdgpu.tables()["vm_faults"], {(B,): dict(reported=1, retries=0)})
lab.run("rmmod", "amdgpu")
lab.rmmod("gpumon")
