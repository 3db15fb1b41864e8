#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel drivers=unload needs=amdgpu,i915 timeout=600
"""The firing module does what it says: the kernel's own trace of the real
amdgpu, i915 and drm shows every event that it fires, as often as its account
has it, with the values that were laid out.

ftrace reads through every pointer of an event, so it is on only while all of
them are good; bad ones are fired while nobody looks.
"""
import errno
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import fire
import lab
import tracefs
from fire import NULL, Step

LINE = re.compile(r"^\s*.+-(\d+)\s+\[(\d+)\]\s+(\S+)\s+[\d.]+: (\w+): (.*)$")
FIELD = re.compile(r"([\w-]+)=([^,\s]*)")
ADDRESS = re.compile(r"\b[0-9a-f]{16}\b")

EVENTS = {
    "amdgpu": ("amdgpu_bo_create", "amdgpu_bo_move", "amdgpu_cs_ioctl", "amdgpu_sched_run_job",
               "amdgpu_cs", "amdgpu_iv", "amdgpu_vm_flush", "amdgpu_vm_bo_map",
               "amdgpu_vm_bo_unmap", "amdgpu_ib_pipe_sync", "amdgpu_device_rreg",
               "amdgpu_device_wreg", "amdgpu_reset_reg_dumps"),
    "i915": ("i915_gem_object_create", "i915_gem_object_destroy", "i915_vma_bind",
             "i915_vma_unbind", "i915_gem_shrink", "i915_gem_evict", "i915_gem_object_pwrite",
             "i915_gem_object_pread", "i915_gem_object_fault", "i915_request_add",
             "i915_request_retire"),
    "drm": ("drm_vblank_event", "drm_vblank_event_queued", "drm_vblank_event_delivered"),
}


def watch(on):
    for module, names in EVENTS.items():
        for name in names:
            tracefs.enable("%s/%s" % (module, name), on)


def read_trace(addresses):
    tracefs.write("options/hash-ptr", "0" if addresses else "1")
    return [(int(m.group(1)), int(m.group(2)), m.group(3), m.group(4), m.group(5))
            for m in tracefs.matches(LINE)]


def traced():
    """[(pid, cpu, flags, event, text)] since the last time; nothing was lost.

    It is read twice: 6.1 leaves out strings while it shows addresses as they are.
    """
    tracefs.lost_nothing()
    plain = read_trace(addresses=True)
    found = []
    for line, other in zip(read_trace(addresses=False), plain):
        addresses = iter(ADDRESS.findall(other[4]))
        found.append(line[:4] + (ADDRESS.sub(lambda m: next(addresses, "?"), line[4]),))
    lab.equal(len(found), len(plain), "events, read twice")
    tracefs.clear()
    return found


def number(text):
    """A number in any of the formats, otherwise the text."""
    for base in 10, 16:
        try:
            return int(text, base)
        except ValueError:
            pass
    return text


def shows(event, times=1, **expected):
    """The trace has exactly these events, and every displayed field has the expected value."""
    lines = traced()
    lab.equal([line[3] for line in lines], times * [event], "events in the trace")
    for line in lines:
        fields = FIELD.findall(line[4])
        lab.check(fields, "no field in %r" % line[4])
        for key, value in fields:
            lab.check(key in expected, "%s shows %s, not expected: %s" % (event, key, line[4]))
            lab.equal(number(value), expected[key], "%s of %s: %s" % (key, event, line[4]))
    return lines


def says(event, text, times=1):
    """The trace has exactly these events, with this text."""
    lab.equal([line[3:] for line in traced()], times * [(event, text)], "events in the trace")


lab.step("amdgpu, i915 and drm, without a device")
fire.load_drivers("amdgpu", "i915")
f = fire.Fire()

# --- objects good and bad, and nobody looks


def bad_arguments():
    """Every event with every kind of bad pointer in every place. Returns the number fired."""
    fired = 0
    for module, names in EVENTS.items():
        for name in names:
            types = f.prototype(module, name)
            for bad in fire.BAD:
                args = [bad if "*" in t else 1 for t in types]
                for irq in False, True:
                    fired += f.fire(module, name, *args, times=3, irq=irq).calls
    # The object is valid, but its contents are not.
    for bad in fire.BAD:
        fired += f.amdgpu_bo_create(resource=bad).calls
        fired += f.amdgpu_cs_ioctl(fence=bad).calls
        fired += f.amdgpu_cs_ioctl(ring=fire.NULL, sched=bad).calls
        fired += f.amdgpu_vm_bo_map(f.amdgpu_bo_va(bad)).calls
        fired += f.i915_vma_bind(obj=bad).calls
        fired += f.i915_request_add(engine=bad).calls
    # An object that extends into unmapped memory.
    cut = f.new("i915", "struct drm_i915_gem_object", readable=64)
    fired += f.i915_gem_object_create(cut).calls
    with fire.refused(errno.ERANGE, "beyond what is mapped"):
        cut.set("base.size", 1)
        f.flush()
    return fired


lab.step("bad arguments of all kinds, with no probe attached")
count = bad_arguments()
account = f.account()
lab.equal(sum(a[0] for a in account.values()), count, "calls in the account")
lab.equal({k[1] for k in account}, {n for names in EVENTS.values() for n in names},
          "tracepoints in the account")
lab.equal([a[1] for a in account.values()], [0] * len(account), "calls that found a probe")

lab.step("what is not there is refused")
for what, number_ in ((("nosuch", "amdgpu_iv"), errno.ENODEV), (("amdgpu", "nosuch"), errno.ENOENT),
                      (("vmlinux", "nosuch"), errno.ENOENT)):
    with fire.refused(number_, "%s:%s" % what):
        f.command("fire %s %s 1" % what)
for line in ("fire", "fire amdgpu amdgpu_iv 0", "fire amdgpu amdgpu_iv x", "fire cpu=x a b 1",
             "fire irq=2 amdgpu amdgpu_iv 1", "fire amdgpu amdgpu_iv 1 1 2 3 4 5 6 7 8 9",
             "nonsense", "object x 0", "object x 100000000", "object x 16 9", "set x", "wait 2000000000"):
    with fire.refused(errno.EINVAL, line):
        f.command(line)
with fire.refused(errno.ENOENT, "an object that is not there"):
    f.command("fire amdgpu amdgpu_iv 1 @nosuch")
with fire.refused(errno.EEXIST, "an object of the same name"):
    f.command("object twice 8", "object twice 8")

# --- everything good, and ftrace looks

f.reset()
tracefs.write("tracing_on", "0")
tracefs.write("trace_clock", "mono")
tracefs.write("buffer_size_kb", "8192")
tracefs.clear()
watch(True)
tracefs.write("tracing_on", "1")

lab.step("amdgpu: what ftrace shows is what was laid out")
bo = f.amdgpu_bo(size=1 << 20, domain=fire.VRAM, allowed=fire.VRAM | fire.GTT,
                 flags=fire.CPU_ACCESS_REQUIRED)
f.amdgpu_bo_create(bo)
shows("amdgpu_bo_create", bo=f.address(bo), pages=256, type=fire.PL_VRAM, preferred=4, allowed=6,
      visible=1)
f.amdgpu_bo_move(bo, to=fire.PL_VRAM, from_=fire.PL_TT, times=3)
shows("amdgpu_bo_move", times=3, **{"bo": f.address(bo), "from": 1, "to": 2, "size": 1 << 20})
ring = f.amdgpu_ring(name="sdma0", idx=5, hub=2)
job = f.amdgpu_job(ring, context=77, seqno=1234, num_ibs=3, job_id=99)
for event, call in (("amdgpu_cs_ioctl", f.amdgpu_cs_ioctl),
                    ("amdgpu_sched_run_job", f.amdgpu_sched_run_job)):
    call(job)
    shows(event, sched_job=99, timeline="sdma0", context=77, seqno=1234, fence="77:1234",
          ring_name="sdma0", num_ibs=3)
f.amdgpu_cs(job, dw=48)
shows("amdgpu_cs", bo_list=0, ring=5, dw=48, fences=0)
f.amdgpu_iv(client_id=0x14, src_id=181, ring_id=3, vmid=8, pasid=0x8001, timestamp=123456789012,
            src_data=(0x10, 0x20, 0x30, 0x40), ih=1)
says("amdgpu_iv", "ih:1 client_id:20 src_id:181 ring:3 vmid:8 timestamp: 123456789012 pasid:32769 "
     "src_data: 00000010 00000020 00000030 00000040")
f.amdgpu_vm_flush(ring, vmid=7, pd_addr=0x123456789000)
says("amdgpu_vm_flush", "ring=sdma0, id=7, hub=2, pd_addr=123456789000")
bo_va = f.amdgpu_bo_va(bo)
mapping = f.amdgpu_mapping(size=1 << 16, start=0x5000000, offset=0x2000, flags=0x73)
for event, call in (("amdgpu_vm_bo_map", f.amdgpu_vm_bo_map),
                    ("amdgpu_vm_bo_unmap", f.amdgpu_vm_bo_unmap)):
    call(bo_va, mapping)
    says(event, "bo=%016x, start=5000, last=500f, offset=0000002000, flags=73" % f.address(bo))
fence = f.fence(context=5, seqno=6)
f.amdgpu_ib_pipe_sync(job, fence)
line = traced()[0][4]
lab.check(line.startswith("job ring=sdma0") and re.search(r"=5(:|, seq=)6$", line),
          "amdgpu_ib_pipe_sync: " + line)
f.amdgpu_device_rreg(0x73bf, 0x1234, 0xdeadbeef)
says("amdgpu_device_rreg", "0x73bf, 0x00001234, 0xdeadbeef")
f.amdgpu_device_wreg(0x73bf, 0x1234, 0xfeedface)
says("amdgpu_device_wreg", "0x73bf, 0x00001234, 0xfeedface")
f.amdgpu_reset_reg_dumps(0x20, 0x30)
says("amdgpu_reset_reg_dumps", "amdgpu register dump 0x20: 0x30")

lab.step("i915")
device = f.i915_device(minor=3)
vm = f.i915_vm(device)
obj = f.i915_object(size=3 << 20, device=device)
f.i915_gem_object_create(obj)
says("i915_gem_object_create", "obj=%016x, size=0x300000" % f.address(obj))
vma = f.i915_vma(obj, vm, size=2 << 20, start=0x40000)
place = "obj=%016x, offset=0x0000000000040000 size=0x200000" % f.address(obj)
f.i915_vma_bind(vma, fire.MAPPABLE)
says("i915_vma_bind", "%s, mappable vm=%016x" % (place, f.address(vm)))
f.i915_vma_unbind(vma)
says("i915_vma_unbind", "%s vm=%016x" % (place, f.address(vm)))
f.i915_gem_object_pwrite(obj, 16, 4000)
shows("i915_gem_object_pwrite", obj=f.address(obj), offset=16, len=4000)
f.i915_gem_object_pread(obj, 32, 5000)
shows("i915_gem_object_pread", obj=f.address(obj), offset=32, len=5000)
f.i915_gem_object_fault(obj, 77, gtt=True, write=True)
says("i915_gem_object_fault", "obj=%016x, GTT index=77 , writable" % f.address(obj))
f.i915_gem_object_destroy(obj)
says("i915_gem_object_destroy", "obj=%016x" % f.address(obj))
f.i915_gem_shrink(device, target=1 << 24, flags=5)
shows("i915_gem_shrink", dev=3, target=1 << 24, flags=5)
f.i915_gem_evict(vm, size=1 << 16, align=1 << 12, flags=fire.MAPPABLE)
shows("i915_gem_evict", dev=3, vm=f.address(vm), size=1 << 16, align=1 << 12)
engine = f.i915_engine(fire.VIDEO, 1, "vcs1", device)
request = f.i915_request(engine, context=11, seqno=22, tail=0x80)
for event, call in (("i915_request_add", f.i915_request_add),
                    ("i915_request_retire", f.i915_request_retire)):
    call(request)
    shows(event, dev=3, engine="2:1", ctx=11, seqno=22, tail=0x80)

lab.step("drm")
f.drm_vblank_event(1, 1000, 123456789, True)
says("drm_vblank_event", "crtc=1, seq=1000, time=123456789, high-prec=true")
f.drm_vblank_event(0, 0xffffffff, -5, False)
says("drm_vblank_event", "crtc=0, seq=4294967295, time=-5, high-prec=false")
client = f.drm_file()
f.drm_vblank_event_queued(client, 1, 1001)
says("drm_vblank_event_queued", "file=%016x, crtc=1, seq=1001" % f.address(client))
f.drm_vblank_event_delivered(NULL, 2, 1001)
says("drm_vblank_event_delivered", "file=%016x, crtc=2, seq=1001" % 0)

# --- where from, and how often

lab.step("arrays and steps: each call has its own")
objects = f.i915_object(size=4096, count=50)
objects.set("base.size", lambda i: 4096 * (i + 1))
f.i915_gem_object_create(objects, times=120)
base = f.address(objects)
lab.equal([line[4] for line in traced()],
          ["obj=%016x, size=0x%x" % (base + i % 50 * objects.size, 4096 * (i % 50 + 1))
           for i in range(120)], "calls through an array")
f.drm_vblank_event(0, Step(100, 2), Step(1000, -10), times=4)
lab.equal([line[4] for line in traced()],
          ["crtc=0, seq=%d, time=%d, high-prec=true" % (100 + 2 * i, 1000 - 10 * i)
           for i in range(4)], "steps")

lab.step("tasks, processors, interrupts, a while")
fired = f.amdgpu_device_rreg(times=1000)
lines = traced()
lab.equal((fired.calls, len(lines)), (1000, 1000), "calls and events of a task")
lab.equal({line[0] for line in lines}, {os.getpid()}, "pids of them")
lab.check(0 < fired.first_ns <= fired.last_ns <= time.monotonic_ns(), "times %r" % (fired,))
child = os.fork()
if not child:
    f.reopen()
    f.amdgpu_device_rreg(times=7)
    os._exit(0)
lab.equal(os.waitpid(child, 0)[1], 0, "status of another process")
lab.equal([line[0] for line in traced()], [child] * 7, "pids of another process' events")
f.amdgpu_device_rreg(times=1000, irq=True)
lines = traced()
lab.equal(len(lines), 1000, "events from interrupts")
# H: it interrupted a softirq.
flags = {line[2] for line in lines if not set("hH") & set(line[2])}
lab.check(not flags, "not from a hard interrupt: %s" % flags)
f.amdgpu_device_rreg(times=10, cpu=1)
lab.equal([line[1] for line in traced()], [1] * 10, "processors")
with fire.refused(errno.ENODEV, "a processor that is not there"):
    f.amdgpu_device_rreg(cpu=4000)
fired = f.amdgpu_device_rreg(times=500, cpu="all")
lines = traced()
lab.equal((fired.calls, len(lines)), (500 * os.cpu_count(),) * 2, "calls and events of all")
lab.equal({line[1] for line in lines}, set(range(os.cpu_count())), "processors")
f.command("fire vmlinux dma_fence_emit 1 @%s" % f.fence().name)

lab.step("the account is ftrace's count")
watch(False)
traced()
f.reset()
tracefs.write("tracing_on", "1")
tracefs.enable("amdgpu/amdgpu_device_wreg")
probed = 0
# Where the VM stands still that long, there are few calls in 200 ms.
while probed <= 1000:
    f.amdgpu_device_wreg(ms=100, cpu="all")
    f.amdgpu_device_wreg(ms=100, irq=True)
    _, probed = f.account()["amdgpu", "amdgpu_device_wreg"]
watch(False)
f.amdgpu_device_wreg(times=5)
fires, probed = f.account()["amdgpu", "amdgpu_device_wreg"]
lab.equal(fires, probed + 5, "calls, and calls with ftrace on")
# More than the buffer holds: overwritten events are counted there.
seen = tracefs.buffers()
lab.equal(seen["entries"] + tracefs.lost(seen), probed, "events that ftrace had")
tracefs.clear()

lab.step("a driver goes and comes back")
fire.unload_drivers("i915")
with fire.refused(errno.ENODEV, "a module that has gone"):
    f.i915_gem_shrink(NULL)
fire.load_drivers("i915")
f.reset()
f.i915_gem_shrink(NULL, times=4)
lab.equal(f.account()["i915", "i915_gem_shrink"], (4, 0), "calls after it came back")
child = os.fork()
if not child:
    f.reopen()
    f.i915_gem_shrink(NULL, ms=300000)
    os._exit(0)
lab.until(lambda: f.account()["i915", "i915_gem_shrink"][0] > 4, "the other process fires")
lab.check(lab.run("rmmod", "i915", check_=False).returncode != 0, "i915 goes while it is fired from")
os.kill(child, 9)
lab.equal(os.waitpid(child, 0)[1], 9, "a signal ends it")

lab.step("everything goes")
f.close()
fire.unload_drivers("i915", "amdgpu")
