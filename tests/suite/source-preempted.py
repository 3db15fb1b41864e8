#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest tool icount cpus=2 timeout=300
# vm: not-arm64=programs are preempted at the same place by chance without icount, and there time jumps with it
"""System calls that the BPF source misses because its programs are preempted are counted as lost.

On one CPU, processes of different priority make system calls all the time, and one with priority over
them makes those on NVIDIA's device. It sometimes preempts one of them in a program while another one
is preempted in the program's twin. All calls of a burst are missed then. Where that is their return, the
last one still seems to be in progress, and must not be taken for the next call, which fails: a close() or
an ioctl() of another file.
"""
import contextlib
import fcntl
import itertools
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import nvidia
import source_bpf

CPU = 1
# FIONBIO, which every file takes.
NONBLOCKING, NO = 0x5421, bytes(4)
# TCGETS, which only terminals take.
TERMINAL = 0x5401
ROUNDS, BURST = 1000, 10
# Priority, and seconds between the calls; without a priority there is no pause.
OTHERS = (0, 0), (5, 0.00031), (10, 0.0002), (15, 0.00017)
# Later ones call the programs under SRCU, which does not disable preemption.
PREEMPTED = tuple(map(int, os.uname().release.split(".")[:2])) > (6, 12)


def run_with(priority):
    os.sched_setaffinity(0, [CPU])
    policy = os.SCHED_FIFO if priority else os.SCHED_OTHER
    os.sched_setscheduler(0, policy, os.sched_param(priority))


NULL = os.open("/dev/null", os.O_RDONLY)
FAILING = itertools.cycle((lambda: os.close(-1), lambda: fcntl.ioctl(NULL, TERMINAL, bytes(64))))


def calls(fd, pause):
    if pause:
        time.sleep(pause)
        with contextlib.suppress(OSError):
            next(FAILING)()
    for _ in range(BURST):
        fcntl.ioctl(fd, NONBLOCKING, NO)


def other(priority, pause):
    child = os.fork()
    if child:
        return child
    fd = os.open("/dev/nvidia0", os.O_RDWR)
    run_with(priority)
    while True:
        calls(fd, pause)


def count(fd):
    """(calls that are missing, calls that are counted as lost)"""
    counting = source_bpf.Counting()
    others = [other(*arguments) for arguments in OTHERS]
    run_with(20)
    for _ in range(ROUNDS):
        calls(fd, 0.00023)
    run_with(0)
    for child in others:
        os.kill(child, 9)
        os.waitpid(child, 0)
    document = counting.end()
    made = ROUNDS * BURST
    row = source_bpf.table(document, "nvidia", "devices", "minor")[255]
    missing = made - row["ioctls"]
    lost = source_bpf.calls_lost(document)
    print("    %d of %d calls are missing, at most %d are lost" % (missing, made, lost))
    lab.within(missing, 0, lost, "calls that are missing")
    lab.equal(row["ioctls_failed"], 0, "ioctls that failed, of which there were none")
    return missing


source_bpf.need()
nvidia.load("580")
# It makes the device files.
nvidia.workload("--processes", 1, "--compat", 0)
device = os.open("/dev/nvidiactl", os.O_RDWR)
for attempt in range(20):
    lab.step("calls of several processes on one CPU")
    missed = count(device)
    if missed or not PREEMPTED:
        break
lab.equal(missed > 0, PREEMPTED, "calls are missing")
os.close(device)
nvidia.unload()
