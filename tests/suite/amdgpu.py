#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel drivers=stay needs=amdgpu timeout=400
"""The real tracepoints of amdgpu, fired with made-up objects of two GPUs: every
table equals the account.

What bpftrace's script got wrong has a step of its own: size and placements of a
move are not ignored; every field is found on every kernel, also the hub that
moved; a job is told apart from that of another ring with the same number.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import amdgpu
import fire
import lab
from fire import GTT, NULL, PL_NONE, PL_SYSTEM, PL_TT, PL_VRAM, VRAM
from gpumon_netlink import Gpumon

A, B = "0000:03:00.0", "0000:83:00.0"

fire.load_drivers("amdgpu")
lab.load_gpumon()
f = fire.Fire()
gpus = {name: f.amdgpu_device(name, minor=i) for i, name in enumerate((A, B))}


def rows(table):
    return amdgpu.tables()[table]


def submission_ns(device, ring="gfx_0.0.0"):
    with Gpumon() as g:
        return next(r["submission_ns"] for r in g.statistics()["amdgpu.rings"]
                    if (r["device"], r["ring"]) == (device, ring))


lab.step("all of it attached, each prototype and field is the expected one")
lab.equal(amdgpu.state(), "attached", "state of the group")
for name, p in amdgpu.probes().items():
    if name == "amdgpu_vm_update_fault_cache" and lab.LINE == "6.1":
        lab.equal(p["state"], "missing", name)
        continue
    lab.equal((p["state"], p["reason"]), ("attached", None), name)
with Gpumon() as g:
    unknown = {(l["type"], l["member"]) for l in g.layouts()
               if l["module"] == "amdgpu" and "offset" not in l}
# The location of the hub depends on the kernel.
lab.equal(unknown, {("amdgpu_ring", "vm_hub") if lab.LINE == "6.1" else
                    ("amdgpu_ring_funcs", "vmhub")}, "fields that are not there")

lab.step("buffers by preferred domain")
big = amdgpu.buffer(f, gpus[A], size=1 << 32, domain=VRAM)
f.amdgpu_bo_create(big, times=3)
f.amdgpu_bo_create(amdgpu.buffer(f, gpus[A], size=65536, domain=VRAM | GTT,
                                 flags=fire.CPU_ACCESS_REQUIRED | fire.VRAM_CLEARED), times=5)
f.amdgpu_bo_create(amdgpu.buffer(f, gpus[B], size=4096, domain=VRAM,
                                 flags=fire.NO_CPU_ACCESS), times=7)
f.amdgpu_bo_create(size=8192, domain=0x47)
f.amdgpu_bo_create(size=8192, domain=0x4000)
f.amdgpu_bo_create(size=8192, domain=0)
amdgpu.check_all(rows("domains"), {
    (A, "vram"): dict(created=3, bytes=3 << 32, visible=0, visible_bytes=0),
    (A, "gtt+vram"): dict(created=5, bytes=5 * 65536, visible=5, visible_bytes=5 * 65536),
    (B, "vram"): dict(created=7, bytes=7 * 4096, visible=0, visible_bytes=0),
    ("-", "cpu+gtt+vram+doorbell"): dict(created=1, bytes=8192, visible=0, visible_bytes=0),
    ("-", "0x4000"): dict(created=1, bytes=8192),
    ("-", "none"): dict(created=1, bytes=8192)})

lab.step("moves by placement, the end of a buffer is none")
small = amdgpu.buffer(f, gpus[B], size=12288, domain=GTT)
f.amdgpu_bo_move(big, to=PL_VRAM, from_=PL_NONE)
f.amdgpu_bo_move(big, to=PL_TT, from_=PL_VRAM, times=4)
f.amdgpu_bo_move(big, to=PL_VRAM, from_=PL_TT, times=2)
f.amdgpu_bo_move(big, to=PL_NONE, from_=PL_VRAM)
f.amdgpu_bo_move(small, to=PL_TT, from_=PL_VRAM, times=3)
f.amdgpu_bo_move(small, to=PL_SYSTEM, from_=PL_TT)
f.amdgpu_bo_move(small, to=PL_NONE, from_=PL_SYSTEM, times=2)
f.amdgpu_bo_move(small, to=7, from_=6)
f.amdgpu_bo_move(small, to=77, from_=5)
NO_DELETE = dict(deletes=0, deleted_bytes=0)
amdgpu.check_all(rows("moves"), {
    (A, "none", "vram"): dict(moves=1, bytes=1 << 32, **NO_DELETE),
    (A, "vram", "gtt"): dict(moves=4, bytes=4 << 32, **NO_DELETE),
    (A, "gtt", "vram"): dict(moves=2, bytes=2 << 32, **NO_DELETE),
    (A, "vram", "none"): dict(moves=0, bytes=0, deletes=1, deleted_bytes=1 << 32),
    (B, "vram", "gtt"): dict(moves=3, bytes=3 * 12288, **NO_DELETE),
    (B, "gtt", "system"): dict(moves=1, bytes=12288, **NO_DELETE),
    (B, "system", "none"): dict(moves=0, bytes=0, deletes=2, deleted_bytes=2 * 12288),
    (B, "preempt", "doorbell"): dict(moves=1, bytes=12288),
    (B, "oa", "77"): dict(moves=1, bytes=12288)})

lab.step("mappings, also one without a buffer")
va = {A: f.amdgpu_bo_va(big), B: f.amdgpu_bo_va(small)}
f.amdgpu_vm_bo_map(va[A], size=1 << 21, times=6)
f.amdgpu_vm_bo_unmap(va[A], size=1 << 21, times=5)
f.amdgpu_vm_bo_map(va[B], size=4096)
f.amdgpu_vm_bo_unmap(NULL, size=8192)
f.amdgpu_vm_bo_map(f.amdgpu_bo_va(NULL), size=16384)
amdgpu.check_all(rows("vm"), {
    (A,): dict(maps=6, mapped_bytes=6 << 21, unmaps=5, unmapped_bytes=5 << 21),
    (B,): dict(maps=1, mapped_bytes=4096, unmaps=0, unmapped_bytes=0),
    ("-",): dict(maps=1, mapped_bytes=16384, unmaps=1, unmapped_bytes=8192)})

lab.step("flushes by ring, hub and vmid")
gfx = {name: f.amdgpu_ring("gfx_0.0.0", gpus[name], hub=0) for name in gpus}
sdma = f.amdgpu_ring("sdma0", gpus[A], idx=1, hub=8)
for vmid in range(1, 16):
    f.amdgpu_vm_flush(gfx[A], vmid=vmid, pd_addr=vmid << 12, times=vmid)
f.amdgpu_vm_flush(gfx[B], vmid=1)
f.amdgpu_vm_flush(sdma, vmid=1, times=2)
amdgpu.check_all(rows("flushes"), dict(
    [((A + "/gfx_0.0.0", "0", str(v)), dict(flushes=v)) for v in range(1, 16)] +
    [((B + "/gfx_0.0.0", "0", "1"), dict(flushes=1)),
     ((A + "/sdma0", "8", "1"), dict(flushes=2))]))

lab.step("jobs: latency from submission to run, by the job's own fence")
one = f.amdgpu_job(gfx[A], context=11, seqno=1, num_ibs=4)
# The same numbers on another GPU, and the next number of the same context.
other = f.amdgpu_job(gfx[B], context=11, seqno=1, num_ibs=1)
after = f.amdgpu_job(gfx[A], context=11, seqno=2, num_ibs=2)
submitted = {one: f.amdgpu_cs_ioctl(one)}
f.wait(20000000)
submitted[other] = f.amdgpu_cs_ioctl(other)
ran = {one: f.amdgpu_sched_run_job(one)}
latency = {one: submission_ns(A)["sum"]}
submitted[after] = f.amdgpu_cs_ioctl(after)
f.wait(80000000)
ran[other] = f.amdgpu_sched_run_job(other)
ran[after] = f.amdgpu_sched_run_job(after)
latency[other] = submission_ns(B)["sum"]
latency[after] = submission_ns(A)["sum"] - latency[one]
# Run again after a reset, and one of the kernel's own jobs.
f.amdgpu_sched_run_job(one)
f.amdgpu_sched_run_job(f.amdgpu_job(sdma, context=12, seqno=1), times=3)
quiet = dict(untracked=0, unattributed=0, clock_backwards=0, pipe_syncs=0, command_buffers=0,
             command_dwords=0)
amdgpu.check_all(rows("rings"), {
    (A, "gfx_0.0.0"): dict(submissions=2, ibs=6, runs=3, unmatched=1, submission_ns_count=2,
                           **quiet),
    (B, "gfx_0.0.0"): dict(submissions=1, ibs=1, runs=1, unmatched=0, submission_ns_count=1,
                           **quiet),
    (A, "sdma0"): dict(submissions=0, ibs=0, runs=3, unmatched=3, submission_ns_count=0,
                       **quiet)})
for job, ns in latency.items():
    # The minimum and the maximum time that can have passed.
    least = ran[job].first_ns - submitted[job].last_ns
    most = ran[job].last_ns - submitted[job].first_ns
    lab.within(ns, least - 100000, most + 100000, "latency of %s" % job.name)
both = submission_ns(A)
lab.equal((both["min"], both["max"]), tuple(sorted((latency[one], latency[after]))),
          "the shorter and the longer latency")
lab.equal(sum(b["count"] for b in both["buckets"]), 2, "in the buckets")

lab.step("a job that is killed does not lend its time to the next with its fence's memory")
killed = f.amdgpu_job(gfx[A], context=20, seqno=1)
f.amdgpu_cs_ioctl(killed)
killed.owned[0].set("finished.seqno", 2)
f.amdgpu_sched_run_job(killed)
amdgpu.check_row(rows("rings"), (A, "gfx_0.0.0"), submissions=3, runs=4, unmatched=2,
                 submission_ns_count=2)

lab.step("command buffers count on the ring that was asked for, before the job has one")
# A new job has the device's first ring in sched.
unarmed = f.amdgpu_job(sdma, context=13, seqno=1, num_ibs=2, sched=gfx[A].at("sched"))
f.amdgpu_cs(unarmed, dw=16, times=2)
f.amdgpu_cs(unarmed, dw=1000)
f.amdgpu_ib_pipe_sync(one, times=9)
amdgpu.check_row(rows("rings"), (A, "sdma0"), command_buffers=3, command_dwords=1032,
                 pipe_syncs=0, submissions=0)
amdgpu.check_row(rows("rings"), (A, "gfx_0.0.0"), command_buffers=0, command_dwords=0,
                 pipe_syncs=9)

lab.step("interrupts by client and source, with the names of the known ones")
for client, source, times in ((20, 181, 100), (27, 0, 5), (0, 146, 2), (4, 0x4f, 3),
                              (0, 181, 4), (31, 254, 1), (8, 224, 6), (1000, 7, 1)):
    f.amdgpu_iv(client_id=client, src_id=source, times=times, irq=True)
f.amdgpu_iv(client_id=15, src_id=1)
amdgpu.check_all(rows("interrupts"), {
    ("-", "20:181", "end_of_pipe"): dict(interrupts=100),
    ("-", "27:0", "vm_fault"): dict(interrupts=5),
    ("-", "0:146", "vm_fault"): dict(interrupts=2),
    ("-", "4:79", "page_flip"): dict(interrupts=3),
    ("-", "0:181", "end_of_pipe"): dict(interrupts=4),
    ("-", "31:254", "-"): dict(interrupts=1),
    ("-", "8:224", "sdma"): dict(interrupts=6),
    ("-", "1000:7", "-"): dict(interrupts=1),
    ("-", "15:1", "temperature_normal"): dict(interrupts=1)})

lab.step("the table of interrupts is bounded, what does not fit is counted")
for client in range(40, 70):
    for source in range(0, 255, 12):
        f.amdgpu_iv(client_id=client, src_id=source, times=2)
p = amdgpu.probes()["amdgpu_iv"]
lab.check(p["table_full"] > 0, "nothing was too much")
lab.equal(sum(r["interrupts"] for r in rows("interrupts").values()), p["recorded"],
          "interrupts in the table")

lab.step("of the process that did it")
me = [p for p in lab.stats()["processes"] if p["pid"] == os.getpid()]
lab.equal(len(me), 1, "rows of this process")
with Gpumon() as g:
    me = [p for p in g.processes() if p["pid"] == os.getpid()][0]
lab.equal((me["submissions"], me["allocated_bytes"], me["mapped_bytes"]),
          (4, (3 << 32) + 5 * 65536 + 7 * 4096 + 3 * 8192, (6 << 21) + 4096 + 16384),
          "submissions, allocated and mapped bytes")

lab.step("as often as it was fired, on all processors and from interrupts")
f.amdgpu_cs_ioctl(one, times=20000, cpu="all")
f.amdgpu_bo_create(big, times=20000, cpu="all")
f.amdgpu_iv(client_id=20, src_id=181, times=5000, irq=True, cpu="all")
amdgpu.check_account(f.account())
f.close()
lab.rmmod("gpumon")
