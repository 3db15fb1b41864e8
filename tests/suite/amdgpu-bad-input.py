#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest drivers=stay needs=amdgpu timeout=400
"""NULL, poison, unmapped and user addresses where amdgpu's tracepoints have
pointers: no oops, counted as unreadable, and what is good beside them counts on.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import amdgpu
import events
import fire
import lab
from fire import BAD, NULL, PL_TT, PL_VRAM
from gpumon_netlink import Gpumon

GPU = "0000:03:00.0"

fire.load_drivers("amdgpu")
lab.load_gpumon()
f = fire.Fire()
gpu = f.amdgpu_device(GPU)
ring = f.amdgpu_ring("gfx_0.0.0", gpu)
good = amdgpu.buffer(f, gpu, size=4096)


def refuses(name, fire_it, count=1):
    """The event is counted as unreadable."""
    before = amdgpu.probes()[name]
    fire_it()
    after = amdgpu.probes()[name]
    lab.equal((after["seen"] - before["seen"], after["unreadable"] - before["unreadable"],
               after["recorded"] - before["recorded"]), (count, count, 0), name)


lab.step("no object at all")
for bad in BAD:
    refuses("amdgpu_bo_create", lambda: f.amdgpu_bo_create(bad))
    refuses("amdgpu_bo_move", lambda: f.amdgpu_bo_move(bad, to=PL_VRAM, from_=PL_TT))
    refuses("amdgpu_vm_bo_map", lambda: f.amdgpu_vm_bo_map(NULL, bad))
    refuses("amdgpu_vm_bo_unmap", lambda: f.amdgpu_vm_bo_unmap(NULL, bad))
    refuses("amdgpu_vm_flush", lambda: f.amdgpu_vm_flush(bad))
    refuses("amdgpu_cs_ioctl", lambda: f.amdgpu_cs_ioctl(bad))
    refuses("amdgpu_sched_run_job", lambda: f.amdgpu_sched_run_job(bad))
    refuses("amdgpu_ib_pipe_sync", lambda: f.amdgpu_ib_pipe_sync(bad, NULL))
    refuses("amdgpu_cs", lambda: f.amdgpu_cs(bad, parser=NULL))
    refuses("amdgpu_cs", lambda: f.amdgpu_cs(f.amdgpu_job(ring), parser=NULL, ib=bad))
    refuses("amdgpu_iv", lambda: f.amdgpu_iv(bad))
lab.check(not any(amdgpu.tables().values()), "something was counted in a table")

lab.step("an object that ends in the middle")
types = f.btf("amdgpu")
for kind, member, name, call in (
        ("bo", "tbo.base.size", "amdgpu_bo_create", f.amdgpu_bo_create),
        ("bo", "flags", "amdgpu_bo_create", f.amdgpu_bo_create),
        ("job", "num_ibs", "amdgpu_cs_ioctl", f.amdgpu_cs_ioctl),
        ("iv_entry", "src_id", "amdgpu_iv", f.amdgpu_iv)):
    offset = types.member("struct amdgpu_" + kind, member).offset
    cut = f.new("amdgpu", "struct amdgpu_" + kind, readable=offset // 8 * 8)
    refuses(name, lambda: call(cut))
cut = f.new("amdgpu", "struct amdgpu_bo_va_mapping",
            readable=types.member("struct amdgpu_bo_va_mapping", "last").offset)
refuses("amdgpu_vm_bo_map", lambda: f.amdgpu_vm_bo_map(NULL, cut))

lab.step("a range that ends before it begins")
inverted = f.amdgpu_mapping(size=4096).set("last", 1)
refuses("amdgpu_vm_bo_map", lambda: f.amdgpu_vm_bo_map(NULL, inverted))

lab.step("pointers in good objects: the event counts, of a device that is not known")
for i, bad in enumerate(BAD, 1):
    f.amdgpu_bo_create(f.amdgpu_bo(size=4096).set("tbo.base.dev", bad))
    f.amdgpu_bo_move(f.amdgpu_bo(size=4096).set("tbo.base.dev", bad))
    f.amdgpu_vm_bo_map(bad, size=4096)
    f.amdgpu_vm_bo_unmap(f.amdgpu_bo_va(bad), size=4096)
    f.amdgpu_vm_flush(f.amdgpu_ring("comp_1", bad), vmid=3)
    unnamed = f.amdgpu_device("x")
    unnamed.owned[0].set("kobj.name", bad)
    f.amdgpu_bo_create(amdgpu.buffer(f, unnamed, size=4096))
    now = amdgpu.tables()
    amdgpu.check_all(now["domains"], {("-", "vram"): dict(created=2 * i, bytes=2 * i * 4096)})
    amdgpu.check_all(now["moves"], {("-", "gtt", "vram"): dict(moves=i, bytes=i * 4096)})
    amdgpu.check_all(now["vm"], {("-",): dict(maps=i, unmaps=i, mapped_bytes=i * 4096)})
    amdgpu.check_all(now["flushes"], {("-/comp_1", "0", "3"): dict(flushes=i)})

lab.step("jobs whose scheduler, entity or fence is none")
for bad in BAD:
    job = f.amdgpu_job(ring, sched=bad)
    refuses("amdgpu_cs_ioctl", lambda: f.amdgpu_cs_ioctl(job))
    refuses("amdgpu_sched_run_job", lambda: f.amdgpu_sched_run_job(job))
    refuses("amdgpu_ib_pipe_sync", lambda: f.amdgpu_ib_pipe_sync(job))
    job = f.amdgpu_job(ring).set("base.entity", bad)
    refuses("amdgpu_cs", lambda: f.amdgpu_cs(job))
lab.equal(amdgpu.tables()["rings"], {}, "rings")
for i, bad in enumerate(BAD, 1):
    # A submission without a fence counts, but its latency is unknown.
    unfenced = f.amdgpu_job(ring, fence=bad)
    f.amdgpu_cs_ioctl(unfenced)
    f.amdgpu_sched_run_job(unfenced)
    f.amdgpu_ib_pipe_sync(unfenced, bad)
    amdgpu.check_all(amdgpu.tables()["rings"], {
        (GPU, "gfx_0.0.0"): dict(submissions=i, untracked=i, runs=i, unmatched=i, pipe_syncs=i,
                                 submission_ns_count=0)})
for bad in BAD:
    nameless = f.amdgpu_ring("gfx_0.0.0", gpu).set("sched.name", bad)
    f.amdgpu_cs_ioctl(f.amdgpu_job(nameless))
    homeless = f.amdgpu_ring("gfx_0.0.0", gpu).set("sched.dev", bad)
    f.amdgpu_cs_ioctl(f.amdgpu_job(homeless))
now = amdgpu.tables()["rings"]
amdgpu.check_row(now, (GPU, "-"), submissions=4)
amdgpu.check_row(now, ("-", "gfx_0.0.0"), submissions=4)

lab.step("with the event ring on, the same")
with Gpumon() as g:
    g.event_ring_set(enabled=1)
    reader = events.Reader()
    f.amdgpu_cs_ioctl(f.amdgpu_job(ring, fence=fire.POISON, num_ibs=3))
    f.amdgpu_ib_pipe_sync(f.amdgpu_job(ring, context=5, seqno=6), fire.POISON)
    f.amdgpu_bo_create(fire.POISON)
    f.amdgpu_bo_create(good)
    found = reader.drain()
    reader.close()
    g.event_ring_set(enabled=0)
UNKNOWN = (1 << 64) - 1
lab.equal([(e.context, e.seqno, e.arg, e.arg2) for e in found],
          [(UNKNOWN, UNKNOWN, 3, 0), (5, 6, UNKNOWN, UNKNOWN), (4096, fire.VRAM, 0, 0)],
          "words of the events")

lab.step("and good ones count as before")
f.amdgpu_bo_create(good, times=10)
amdgpu.check_row(amdgpu.tables()["domains"], (GPU, "vram"), created=11, bytes=11 * 4096)
amdgpu.check_account(f.account())
f.close()
lab.rmmod("gpumon")
