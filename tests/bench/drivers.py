#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""drivers.py RESULTS [gpumon]: what each event of a driver costs, inside a VM that was
started with -icount, where a nanosecond is an instruction.

With "gpumon" only gpumon is measured and not what it is compared with. What is
measured goes to RESULTS, a line each: "event GROUP EVENT WITH INSTRUCTIONS...",
where WITH is nothing, gpumon, ftrace, libbpf, bpftrace or, for functions, bare: a
probe whose handler does nothing.
"""
import fcntl
import os
import select
import sys
import time

import tools
# tools knows the folder of these.
import fire
import lab
import nvidia

EVENTS = 20 if tools.SMALL else 1000
REPEATS = 1 if tools.SMALL else 5
# Until rows, processes and caches exist.
WARM_UPS = 2
PAGE, MIB = 4096, 1 << 20
# MOCK_NVIDIA_IOCTL(0x2a) of tests/mock/mock_nvidia.h, with all arguments 0.
COMMAND, ARGUMENTS = 0xc010462a, 16


class Group:
    """A driver, and its events in the order in which they are fired.

    A method for each event does it so many times and returns the instructions of all.
    """

    name = None
    events = ()
    # The same events in tracefs, in the same order.
    traced = ()
    # {function: kind} of the events that are not tracepoints, and kprobe events for them.
    functions, definitions = {}, ()

    def round(self):
        """{event: instructions of one}"""
        return {event: getattr(self, event)(EVENTS) / EVENTS for event in self.events}

    def close(self):
        pass


def fired(result):
    return result.last_ns - result.first_ns


def taken(do, times):
    begin = time.perf_counter_ns()
    for _ in range(times):
        do()
    return time.perf_counter_ns() - begin


class Fired(Group):
    """Tracepoints of a real driver, called by fire_gpu.ko."""

    f = None

    def __init__(self):
        fire.load_drivers(self.module)
        # One for all: while the CPU is idle, time flies here, even past timeouts.
        Fired.f = Fired.f or fire.Fire()
        self.prepare()


class I915(Fired):
    name = module = "i915"
    events = ("gem_create", "vma_bind", "gem_pwrite", "gem_fault", "request_add",
              "request_retire", "vma_unbind", "gem_destroy")
    traced = ["i915/i915_" + e for e in (
        "gem_object_create", "vma_bind", "gem_object_pwrite", "gem_object_fault", "request_add",
        "request_retire", "vma_unbind", "gem_object_destroy")]

    def prepare(self):
        f = self.f
        device = f.i915_device()
        self.objects = f.i915_object(2 * MIB, device, count=EVENTS)
        self.vmas = f.i915_vma(self.objects, f.i915_vm(device), size=2 * MIB)
        self.requests = f.i915_request(f.i915_engine(device=device), context=7, count=EVENTS)

    def gem_create(self, times):
        return fired(self.f.i915_gem_object_create(self.objects, times=times))

    def gem_destroy(self, times):
        return fired(self.f.i915_gem_object_destroy(self.objects, times=times))

    def vma_bind(self, times):
        return fired(self.f.i915_vma_bind(self.vmas, 1, times=times))

    def vma_unbind(self, times):
        return fired(self.f.i915_vma_unbind(self.vmas, times=times))

    def gem_pwrite(self, times):
        return fired(self.f.i915_gem_object_pwrite(self.objects, 0, PAGE, times=times))

    def gem_fault(self, times):
        return fired(self.f.i915_gem_object_fault(self.objects, 0, True, False, times=times))

    def request_add(self, times):
        return fired(self.f.i915_request_add(self.requests, times=times))

    def request_retire(self, times):
        return fired(self.f.i915_request_retire(self.requests, times=times))


class Amdgpu(Fired):
    name = module = "amdgpu"
    events = ("bo_create", "bo_move", "vm_bo_map", "cs_ioctl", "sched_run_job", "vm_flush", "iv")
    traced = ["amdgpu/amdgpu_" + e for e in events]

    def prepare(self):
        f = self.f
        device = f.amdgpu_device()
        self.bo = f.amdgpu_bo(size=MIB)
        self.bo.set("tbo.base.dev", device.at("ddev"))
        self.ring = f.amdgpu_ring("gfx_0.0.0", device)
        self.jobs = f.amdgpu_job(self.ring, context=7, count=EVENTS)
        self.va = f.amdgpu_bo_va(self.bo)
        self.mapping = f.amdgpu_mapping(MIB)
        self.entry = f.amdgpu_iv_entry(client_id=20, src_id=181)

    def bo_create(self, times):
        return fired(self.f.amdgpu_bo_create(self.bo, times=times))

    def bo_move(self, times):
        return fired(self.f.amdgpu_bo_move(self.bo, times=times))

    def vm_bo_map(self, times):
        return fired(self.f.amdgpu_vm_bo_map(self.va, self.mapping, times=times))

    def cs_ioctl(self, times):
        return fired(self.f.amdgpu_cs_ioctl(self.jobs, times=times))

    def sched_run_job(self, times):
        return fired(self.f.amdgpu_sched_run_job(self.jobs, times=times))

    def vm_flush(self, times):
        return fired(self.f.amdgpu_vm_flush(self.ring, times=times))

    def iv(self, times):
        return fired(self.f.amdgpu_iv(self.entry, times=times))


class Vblank(Fired):
    """Tracepoints alone: gpumon does not know which display they belong to."""

    name, module = "drm_vblank", "drm"
    events = ("vblank", "vblank_queued", "vblank_delivered")
    traced = ["drm/drm_" + e for e in ("vblank_event", "vblank_event_queued",
                                       "vblank_event_delivered")]

    def prepare(self):
        self.seq, self.file = 1000, self.f.memory(8)

    def vblank(self, times):
        self.seq += times
        return fired(self.f.drm_vblank_event(0, fire.Step(self.seq),
                                             fire.Step(self.seq * 16666667, 16666667),
                                             times=times))

    def vblank_queued(self, times):
        return fired(self.f.drm_vblank_event_queued(self.file, 0, fire.Step(self.seq),
                                                    times=times))

    def vblank_delivered(self, times):
        return fired(self.f.drm_vblank_event_delivered(self.file, 0, fire.Step(self.seq),
                                                       times=times))


class Nvidia(Group):
    """The mock, driven by real calls and interrupts."""

    name = "nvidia"
    events = ("ioctl", "poll", "isr", "isr_bh")
    functions = {"kretprobe": "nvidia_unlocked_ioctl,nvidia_isr",
                 "kprobe": "nvidia_poll,nvidia_isr_kthread_bh"}
    definitions = ("p:bench/ioctl nvidia_unlocked_ioctl command=%si:u32",
                   "r:bench/ioctl_end nvidia_unlocked_ioctl result=$retval",
                   "p:bench/poll nvidia_poll", "p:bench/isr nvidia_isr irq=%di:u32",
                   "p:bench/isr_bh nvidia_isr_kthread_bh irq=%di:u32")
    traced = ["bench/" + d.split()[0][2:].split("/")[1] for d in definitions]

    def __init__(self):
        nvidia.load("580")
        lab.run(nvidia.LOADER)
        self.fd = os.open("/dev/nvidia0", os.O_RDWR)
        self.arguments = bytearray(ARGUMENTS)
        self.polled = select.poll()
        self.polled.register(self.fd)

    def ioctl(self, times):
        return taken(lambda: fcntl.ioctl(self.fd, COMMAND, self.arguments), times)

    def poll(self, times):
        return taken(lambda: self.polled.poll(0), times)

    def isr(self, times):
        begin = time.perf_counter_ns()
        nvidia.control("handled", 0, "legacy", times)
        return time.perf_counter_ns() - begin

    def isr_bh(self, times):
        begin = time.perf_counter_ns()
        nvidia.control("interrupt", 0, "legacy", times)
        return time.perf_counter_ns() - begin

    def close(self):
        os.close(self.fd)
        nvidia.unload()


def measure(group, what):
    for _ in range(WARM_UPS):
        group.round()
    rounds = [group.round() for _ in range(REPEATS)]
    for event in group.events:
        results.note("event", group.name, event, what, *("%.1f" % r[event] for r in rounds))


def watched(group, what, watcher, at_end=False):
    """Measure with a watcher. Returns whether it saw every event."""
    seen = (WARM_UPS + REPEATS) * EVENTS
    with watcher:
        measure(group, what)
        if not at_end:
            watcher.check(seen, len(group.events))
    if at_end:
        watcher.check(seen, len(group.events))


def with_others(group):
    watched(group, "ftrace", tools.Ftrace(group.traced, group.definitions))
    libbpf = tools.Libbpf(group.name, list(group.events))
    watched(group, "libbpf", libbpf, at_end=True)
    if group.name == "i915":
        results.note("version libbpf", libbpf.version)
    if not tools.SMALL:
        script = "%s/drivers/%s.bt" % (tools.HERE, group.name)
        watched(group, "bpftrace",
                tools.Bpftrace(script, group.events, lambda event: getattr(group, event)(1)),
                at_end=True)


def with_bare_probes(group):
    lab.run("insmod", tools.OUT + "/bare_probe.ko", *("%s=%s" % f for f in group.functions.items()))
    measure(group, "bare")
    lab.rmmod("bare_probe")


results = tools.Results(sys.argv[1])
alone = sys.argv[2:] == ["gpumon"]
if not alone:
    results.note("version bpftrace", tools.version("bpftrace"))
for kind in I915, Amdgpu, Vblank, Nvidia:
    driver = kind()
    lab.step(driver.name)
    measure(driver, "nothing")
    watched(driver, "gpumon", tools.Gpumon([driver.name]))
    if driver.functions:
        with_bare_probes(driver)
    if not alone:
        with_others(driver)
    driver.close()
Fired.f.close()
results.end()
