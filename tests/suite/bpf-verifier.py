#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel tool icount cpus=2 timeout=300
"""The kernel's verifier accepts the BPF programs after few steps: it refuses a program above a million,
and how many it needs depends on the kernel and on clang. A loop whose rounds have different states, or a
function that is followed again from each of its callers' states, takes ten times as many.
"""
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import bpf_programs
import lab
import nvidia
import source_bpf
import uprobes

# Steps of each program at most.
MOST = 25000
# And of all, without and with events.
MOST_OF_ALL = 160000


def check_steps(before, wanted):
    found = {p.name: p.steps for p in bpf_programs.loaded() if p.id not in before}
    for name, steps in sorted(found.items(), key=lambda item: -item[1]):
        print("    %-16s %6d" % (name, steps))
        lab.within(steps, 1, MOST, "steps of the verifier in " + name)
    lab.check(set(wanted) <= set(found), "programs %s" % sorted(found))
    print("    all %26d" % sum(found.values()))
    lab.within(sum(found.values()), 1, MOST_OF_ALL, "steps in all")


WANTED = ("queue", "queue_twin", "run", "run_twin", "done", "done_twin", "wait", "wait_twin",
          "signaled", "fini", "fini_returned", "queued", "delivered", "vblank", "sys_enter",
          "sys_exit", "xid")

source_bpf.need()
uprobes.need()
lab.load_mock(devices=1, rings=1)
nvidia.load("580")

lab.step("stat")
known = {p.id for p in bpf_programs.loaded()}
counting = source_bpf.Counting()
check_steps(known, WANTED)
counting.end()

lab.step("trace, whose programs also send events")
known = {p.id for p in bpf_programs.loaded()}
with subprocess.Popen([source_bpf.TOOL, "trace", "--source=bpf"], stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL) as trace:
    lab.until(lambda: sum("eventpoll" in name for name in source_bpf.open_files(trace.pid)) >= 2,
              "trace has begun", 60)
    check_steps(known, WANTED)
    trace.send_signal(signal.SIGINT)
nvidia.unload()
lab.rmmod("mock_gpu")

lab.step("uprobes of a process")
run = uprobes.Run("program", 1, 1)
run.start()
known = {p.id for p in bpf_programs.loaded()}
dump = run.dump()
check_steps(known, ("enter", "leave", "linker", "thread_exit", "exec"))
run.go()
run.end(dump)
