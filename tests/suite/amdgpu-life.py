#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel drivers=absent needs=amdgpu timeout=600
"""amdgpu comes before gpumon and after it, goes while it is watched, is switched
off and on; registers are counted only when that is asked for.
"""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import amdgpu
import fire
import lab
from fire import PL_NONE, PL_VRAM
from gpumon_netlink import Gpumon

GPU = "0000:03:00.0"
RING = GPU, "gfx_0.0.0"


def registers():
    return {(r["device_id"], r["range"]): (r["reads"], r["writes"])
            for r in lab.stats().get("amdgpu_registers.registers", [])}


def ring_row():
    return amdgpu.tables()["rings"][RING]


lab.step("gpumon first: it waits, with nothing known of a driver that is not there")
fire.unload_drivers("amdgpu")
lab.load_gpumon()
lab.equal(amdgpu.state(), "waiting", "state before amdgpu")
lab.equal(amdgpu.probes(), {}, "its probes in stats")
with Gpumon() as g:
    lab.equal({p["state"] for p in g.probe_rows() if p["group"] == "amdgpu"}, {"waiting"},
              "its probes")
lab.equal([s for s in lab.stats() if s.startswith("amdgpu")], [], "tables")
fire.load_drivers("amdgpu")
lab.equal(amdgpu.state(), "attached", "state with amdgpu")
f = fire.Fire()
gpu = f.amdgpu_device(GPU)
ring = f.amdgpu_ring(RING[1], gpu)
buffer = amdgpu.buffer(f, gpu, size=4096)
job = f.amdgpu_job(ring, context=1, seqno=1)
f.amdgpu_bo_create(buffer, times=3)
amdgpu.check_row(amdgpu.tables()["domains"], (GPU, "vram"), created=3, bytes=12288)

lab.step("registers: off until asked for, then reads and writes by device id and range")
lab.equal(amdgpu.state("amdgpu_registers"), "off", "registers at load")
f.amdgpu_device_rreg(0x73bf, 0x10)
lab.equal(registers(), {}, "registers while off")
with Gpumon() as g:
    g.group_set("amdgpu_registers", 1)
    lab.equal(amdgpu.state("amdgpu_registers"), "attached", "registers when on")
    f.amdgpu_device_rreg(0x73bf, 0x10, times=5)
    f.amdgpu_device_wreg(0x73bf, 0xfff, times=2)
    f.amdgpu_device_wreg(0x73bf, 0x1000, times=3)
    f.amdgpu_device_rreg(0x744c, 0xffffffff, times=7)
    lab.equal(registers(), {("0x73bf", "0x00000000"): (5, 2), ("0x73bf", "0x00001000"): (0, 3),
                            ("0x744c", "0xfffff000"): (7, 0)}, "registers")
    f.amdgpu_device_rreg(0x744c, fire.Step(0, 4096), times=2000)
    p = amdgpu.probes("amdgpu_registers")["amdgpu_device_rreg"]
    lab.check(p["table_full"] > 0, "the table is not bounded")
    lab.equal((p["seen"], sum(r for r, _ in registers().values())),
              (2012, p["recorded"]), "reads seen, and in the table")
    g.group_set("amdgpu_registers", 0)
    lab.equal(amdgpu.state(), "attached", "the other group stays")

    lab.step("off and on: nothing counts while off, a job of before has no latency")
    f.amdgpu_cs_ioctl(job)
    g.group_set("amdgpu", 0)
    before = amdgpu.tables()
    f.amdgpu_bo_create(buffer)
    f.amdgpu_sched_run_job(job)
    lab.equal(amdgpu.tables(), before, "tables while off")
    g.group_set("amdgpu", 1)
    f.amdgpu_sched_run_job(job)
    lab.equal([ring_row()[c] for c in ("submissions", "runs", "unmatched",
                                       "submission_ns_count")], [1, 1, 1, 0], "the ring")

    lab.step("reset: counters start over, a job under way keeps its latency")
    f.amdgpu_cs_ioctl(job)
    g.reset()
    f.amdgpu_sched_run_job(job)
    lab.equal([ring_row()[c] for c in ("submissions", "runs", "unmatched",
                                       "submission_ns_count")], [0, 1, 0, 1], "the ring")
    old = [r for r in g.statistics(period=1)["amdgpu.rings"] if r["ring"] == RING[1]][0]
    lab.equal((old["submissions"], old["runs"]), (2, 1), "the closed period")

    lab.step("off and on under load")
    f.amdgpu_bo_move(buffer, to=PL_NONE, from_=PL_VRAM)
    pid = os.fork()
    if not pid:
        try:
            f.reopen()
            f.amdgpu_bo_move(buffer, to=PL_NONE, from_=PL_VRAM, cpu="all", ms=300000, times=1000)
        finally:
            os._exit(0)
    end = time.monotonic() + 240
    turns = 0
    while turns < 8 or amdgpu.probes()["amdgpu_bo_move"]["seen"] < 1000:
        lab.check(time.monotonic() < end, "too few moves are seen")
        g.group_set("amdgpu", turns % 2)
        turns += 1
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    g.group_set("amdgpu", 1)
    p = amdgpu.probes()["amdgpu_bo_move"]
    row = amdgpu.tables()["moves"][GPU, "vram", "none"]
    print("%d turns, %d of the moves were seen" % (turns, p["seen"]))
    lab.equal((row["deletes"], row["deleted_bytes"], row["moves"]),
              (p["recorded"], 4096 * p["recorded"], 0), "deletes")

lab.step("amdgpu goes while it is watched, its counts with it, and comes again")
f.amdgpu_cs_ioctl(job)
fire.unload_drivers("amdgpu")
lab.equal(amdgpu.state(), "waiting", "state without amdgpu")
lab.check("amdgpu.rings" not in lab.stats(), "its rows are there without amdgpu")
fire.load_drivers("amdgpu")
lab.equal(amdgpu.state(), "attached", "state with amdgpu again")
f.amdgpu_sched_run_job(job)
lab.equal([ring_row()[c] for c in ("runs", "unmatched", "submission_ns_count")],
          [1, 1, 0], "a job of before has no latency")

lab.step("gpumon goes and comes while amdgpu stays")
lab.rmmod("gpumon")
lab.load_gpumon(amdgpu=0)
lab.equal(amdgpu.state(), "off", "with amdgpu=0")
lab.rmmod("gpumon")
lab.load_gpumon(amdgpu_registers=1)
lab.equal((amdgpu.state(), amdgpu.state("amdgpu_registers")), ("attached",) * 2, "both")
f.amdgpu_bo_create(buffer, times=2)
amdgpu.check_all(amdgpu.tables()["domains"], {(GPU, "vram"): dict(created=2)})
f.close()
fire.unload_drivers("amdgpu")
lab.equal(amdgpu.state(), "waiting", "at the end")
lab.rmmod("gpumon")
