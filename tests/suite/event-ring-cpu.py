#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel
"""Records of the event ring are taken on the CPU that wrote them, wherever the reader runs: elsewhere
the kernel's reader can lose some (Documentation/develop/design.md). A CPU that is off is read from
another.

That loss takes a reader that stands still between two of its instructions, which a test cannot
bring about on every kernel. Where records are taken, it can see.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import events
import lab
import tracefs
from gpumon_netlink import Gpumon

ONLINE = "/sys/devices/system/cpu/cpu1/online"
LINE = re.compile(r"^\s*.+-\d+\s+\[(\d+)\].*: gpumon_take: .*cpu=(\d+)$")


def online(text):
    with open(ONLINE, "w") as f:
        f.write(text)


def taken():
    """[(CPU that it ran on, CPU whose records were taken)] since the last time."""
    found = [(int(m.group(1)), int(m.group(2))) for m in tracefs.matches(LINE)]
    tracefs.clear()
    return found


def jobs():
    """Submit jobs on each CPU."""
    for cpu in 0, 1:
        lab.run("taskset", "-c", str(cpu), lab.BUILD + "/mock_submit", "-r", "0,1", "-n", "100",
                "-b", "10", "-w")
    lab.wait_idle()


def read_all(g):
    """Read everything. Returns the CPUs of all records."""
    reader = events.Reader()
    found = reader.drain()
    reader.close()
    ring = g.event_ring()
    lab.equal((ring["pending"], ring["overwritten"], ring["dropped"]), (0, 0, 0), "%r" % ring)
    lab.equal(ring["delivered"], ring["written"], "delivered against written")
    return {e.cpu for e in found}


lab.load(devices=1, rings=2, service_ns=20000)
tracefs.write("tracing_on", "1")
tracefs.write("kprobe_events", "p:gpumon_take gpumon:event_take_cpu cpu=+0($arg1):s32\n")
tracefs.enable("kprobes/gpumon_take")

with Gpumon() as g:
    g.event_ring_set(1, 4096)
    for reader_cpu in 0, 1:
        lab.step("a reader on CPU %d" % reader_cpu)
        jobs()
        os.sched_setaffinity(0, {reader_cpu})
        lab.equal(read_all(g), {0, 1}, "CPUs in the records")
        ran = taken()
        lab.equal(set(ran), {(0, 0), (1, 1)}, "(where it ran, whose records): %r" % ran)

    os.sched_setaffinity(0, {0, 1})
    lab.step("CPU 1 is off when its records are read")
    jobs()
    online("0")
    lab.equal(read_all(g), {0, 1}, "CPUs in the records")
    lab.equal(set(taken()), {(0, 0), (0, 1)}, "(where it ran, whose records)")
    online("1")

    lab.step("nothing to read: no CPU is asked")
    lab.equal(read_all(g), set(), "CPUs in the records")
    lab.equal(taken(), [], "(where it ran, whose records)")
    g.event_ring_set(0)

tracefs.enable("kprobes/gpumon_take", False)
tracefs.write("kprobe_events", "")
