#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest tool timeout=300
# vm: not-arm64=its kprobes are switched off by stop_machine(), which waits for the processor without preemption
"""While a command waits for probes that run: other families answer, no buffer is freed early.

The mock keeps a processor in a section without preemption, as the body of a kprobe is, so that no
grace period ends early.
"""
import glob
import os
import re
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import nvidia
from gpumon_netlink import Gpumon, Socket

# Before that the kernel would report a stall (tests/vm/run says when).
LONGEST_NS = 45 * 10 ** 9


class Spinning:
    """with Spinning(): a processor has preemption off. over() is whether it has it on again."""

    def __enter__(self):
        self.process = subprocess.Popen(
            ["taskset", "-c", "1", "sh", "-c",
             "echo spin %d > %s/control" % (LONGEST_NS, nvidia.MOCK)])
        lab.until(lambda: not self.over(), "the mock spins")
        return self

    def __exit__(self, *error):
        nvidia.control("spin-end", 0)
        lab.equal(self.process.wait(), 0, "exit status of the mock's spinner")

    def over(self):
        return not nvidia.account().get("spinning", 0)


def stack(process):
    return lab.read("/proc/%d/stack" % process.pid) if process.poll() is None else ""


def tool(*arguments):
    return subprocess.Popen(["taskset", "-c", "0", lab.BUILD + "/gpumon-user", *arguments])


def housekeeping_waits():
    """Is the worker that makes room waiting for a grace period?"""
    for path in glob.glob("/proc/[0-9]*/stack"):
        try:
            text = lab.read(path)
        except OSError:
            continue
        if "gpumon_process_age" in text and "synchronize_rcu" in text:
            return True
    return False


os.sched_setaffinity(0, [0])
nvidia.load("580")
lab.load_gpumon()

lab.step("the controller answers while a group is switched off")
with Spinning() as spinning:
    process = tool("set", "nvidia", "off")
    lab.until(lambda: "group_set_doit" in stack(process), "the command waits")
    with Socket() as s:
        for _ in range(10):
            s.family("nlctrl")
    with Gpumon() as g:
        g.event_ring()
    lab.check(not spinning.over(), "the answers came while the command waited")
    lab.check(process.poll() is None, "the command waits until no probe can run")
lab.equal(process.wait(60 * lab.SLOWER), 0, "exit status of set nvidia off")

lab.step("the event ring is off when no body of a kprobe can write any more")
with Gpumon() as g:
    g.group_set("nvidia", 1)
    g.event_ring_set(1)
with Spinning() as spinning:
    process = tool("set", "event-ring", "off")
    lab.until(lambda: re.search(r"synchronize_s?rcu", stack(process)) or
              process.poll() is not None, "the command waits, or is over")
    lab.check(process.poll() is None, "it waits for the kprobe's body")
    lab.check(not spinning.over(), "the kprobe's body has not ended by itself")
lab.equal(process.wait(60 * lab.SLOWER), 0, "exit status of set event-ring off")
lab.rmmod("gpumon")

lab.step("a process that is gone stays in the table while a kprobe's body may count its close")
ROOM, NODE = 8, "/dev/nvidia0"
lab.load_gpumon(max_processes=ROOM)
# Another test may have left it with another number.
if os.path.exists(NODE):
    os.unlink(NODE)
os.mknod(NODE, stat.S_IFCHR | 0o600, os.makedev(195, 0))
# While this processor has work it runs its own timers, and so the worker.
busy = subprocess.Popen(["sh", "-c", "while :; do :; done"])
with Spinning() as spinning:
    for _ in range(ROOM - 1):
        lab.run("sh", "-c", ": < " + NODE)
    lab.until(housekeeping_waits, "it waits before it makes room")
    lab.check(not spinning.over(), "the kprobe's body has not ended by itself")
busy.kill()
busy.wait()
# The worker begins with three quarters of the room in use, when the last of them may still live.
with Gpumon() as g:
    lab.until(lambda: g.info()["processes_exited"] >= ROOM * 3 // 4 - 1, "then there is room")
lab.rmmod("gpumon")
nvidia.unload()
