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
import process_levels
from fire import GTT, PL_NONE, PL_TT, PL_VRAM
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

lab.step("VRAM by process: what it created and where that is now, whoever moves it")
lab.rmmod("gpumon")
lab.load_gpumon(max_processes=process_levels.ROOM)


def in_vram():
    return process_levels.rows("vram_bytes")


def place(*placements, of):
    for to in placements:
        f.amdgpu_bo_move(of, to=to, from_=PL_VRAM)


def ends(of):
    place(PL_NONE, of=of)


me = os.getpid()
# As many as a table begins with, and more, in VRAM and not.
a, b = amdgpu.buffer(f, gpu, size=4096), amdgpu.buffer(f, gpu, size=8192)
outside = amdgpu.buffer(f, gpu, size=1 << 30, domain=GTT)
f.amdgpu_bo_create(a)
lab.equal(in_vram()[me], None, "before a buffer was seen to end")
ends(buffer)
lab.equal(in_vram()[me], 4096, "of the one buffer that was seen to be created")
f.amdgpu_bo_create(outside)
lab.equal(in_vram()[me], 4096, "a buffer elsewhere")
place(PL_VRAM, of=outside)
lab.equal(in_vram()[me], 4096 + (1 << 30), "that comes to VRAM")
place(PL_VRAM, PL_TT, PL_TT, of=outside)
lab.equal(in_vram()[me], 4096, "and leaves it")
place(PL_VRAM, PL_NONE, PL_NONE, of=outside)
lab.equal(in_vram()[me], 4096, "and ends")
children = process_levels.of_processes(f, [lambda: f.amdgpu_bo_create(b),
                                           lambda: ends(a), lambda: None])
first, second, _ = children
lab.equal((in_vram().get(me), in_vram()[first], in_vram().get(second)), (0, 8192, None),
          "of two processes, one of which ended the other's buffer")
process_levels.end(children)
lab.equal(in_vram()[first], 8192, "of a process that has ended and whose buffer lives")
place(PL_TT, of=b)
lab.equal(in_vram().get(first), 0, "when that leaves VRAM")
place(PL_VRAM, of=b)
lab.equal(in_vram()[first], 8192, "when it comes back")
# The end was not seen.
f.amdgpu_bo_create(b)
lab.equal((in_vram().get(first), in_vram()[me]), (0, 8192), "another buffer at the same address")
with Gpumon() as g:
    g.reset()
    lab.equal(in_vram()[me], 8192, "in the next period")
    g.group_set("amdgpu", 0)
    lab.equal(in_vram().get(me), None, "while the group is off")
    g.group_set("amdgpu", 1)
    ends(b)
    lab.equal(in_vram().get(me), None, "when a buffer of before has ended")
sizes = range(4096, 4096 * 9, 4096)
process_levels.check_reuse(f, "vram_bytes", [(amdgpu.buffer(f, gpu, size=size), size)
                                             for size in sizes], f.amdgpu_bo_create, ends)

lab.step("more buffers than fit: counted, and no level goes astray")
# One buffer at each word of a memory in which all words are a size. There is room for 16384 buffers at
# least, and for as many as there are slots.
SLOTS, MANY = 2 * 16384, 40000
words = f.memory(8 * MANY + 4096)
for at in range(0, words.size, 8):
    f.later("set %s %d 8 4096" % (words.name, at))
each = fire.Step(words.at(), 8)
f.fire("amdgpu", "amdgpu_bo_create", each, times=MANY)
f.fire("amdgpu", "amdgpu_bo_move", each, PL_VRAM, PL_TT, times=MANY)
full = sum(row["buffers_table_full"] for row in amdgpu.tables()["domains"].values())
print("%d of %d found no room" % (full, MANY))
lab.check(MANY - SLOTS <= full < MANY, "found no room: %d" % full)
lab.equal(in_vram()[me], 4096 * (MANY - full), "bytes of those that did")
f.fire("amdgpu", "amdgpu_bo_move", each, PL_NONE, PL_VRAM, times=MANY)
lab.equal(in_vram()[me], 0, "bytes when all have ended")
f.close()
fire.unload_drivers("amdgpu")
lab.equal(amdgpu.state(), "waiting", "at the end")
lab.rmmod("gpumon")
