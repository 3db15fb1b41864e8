#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""scaling.py RESULTS [gpumon]: the same events from 1, 2, 4 and 8 processors at once.

Tracepoints are called by fire_gpu.ko with jobs and requests that are made up, in a
process of its own on each processor; NVIDIA's driver is the mock, called by ioctl().
A window of QEMU's plugin (lines.c) is a line "window WORKLOAD WATCHER CPUS EVENTS",
EVENTS being those of one processor; the addresses of the kernel's functions go to
/out/kallsyms.WORKLOAD, so that the plugin's can be named.
"""
import os
import sys

import tools
import fire
import fire_base
import lab
import nvidia

EVENTS = 50 if tools.SMALL else 100
# The lowest result counts, since an interrupt can only add instructions.
REPEATS = 1 if tools.SMALL else 3
# 1, 2, 4, 8: up to the number of CPUs of this VM.
CPUS = [n for n in (1, 2, 4, 8) if n <= os.cpu_count()]
# MOCK_NVIDIA_IOCTL(0x2a) of tests/mock/mock_nvidia.h.
COMMAND = 0xc010462a
JOB = [lab.GENERATIONS[role][tools.generation()] for role in ("queue", "run", "done")]


class Workload:
    """The number of events per processor, and the arguments with which `measure` makes them."""

    name = None
    groups = ()
    # Calls per round, and gpumon's probes that see them.
    probes = 1
    per_round = 1
    traced, libbpf, events = (), None, ()

    def __init__(self):
        self.files = ["/tmp/%s.%d" % (self.name, cpu) for cpu in range(max(CPUS))]
        for cpu, path in enumerate(self.files):
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(self.commands(cpu)))
        f.flush()

    def arguments(self, cpus):
        return ["fire", *self.files[:cpus]]


def many(module, tracepoint, *arguments):
    """A command that fires N events and starts its arrays from the beginning."""
    words = []
    for a in arguments:
        text = fire_base.word(a)
        words.append("%s~%d" % (text, a.size) if isinstance(a, fire.Object) and a.count > 1
                     else text)
    return "fire %s %s %d %s" % (module, tracepoint, EVENTS, " ".join(words))


class Jobs(Workload):
    """A ring for each processor, as GPUs have several."""

    name, groups, probes, per_round = "jobs", ["drm_sched"], 3, 3
    traced = ["gpu_scheduler/" + e for e in JOB]
    libbpf, events = ("raw_tp", "raw_tp"), ["queue", "run", "done"]

    def scheduler(self, cpu):
        made = f.new("gpu_sched", "struct drm_gpu_scheduler")
        return made.set("name", f.string("%s.%d" % (self.name, cpu))).set("dev", f.device("bench"))

    def commands(self, cpu):
        job, entity, fence = f.scheduler_jobs(self.scheduler(cpu), self.context + cpu, EVENTS)
        return [many("gpu_sched", JOB[0], job, entity), many("gpu_sched", JOB[1], job, entity),
                many("gpu_sched", JOB[2], fence)]

    context = 1000


class OneRing(Jobs):
    """All processors use the same ring: the worst case."""

    name, context = "jobs-one-ring", 2000
    one = None

    def scheduler(self, cpu):
        self.one = self.one or super().scheduler(0)
        return self.one


class Vblank(Workload):
    """A display for each processor."""

    name, groups, probes, per_round = "vblank", ["drm_vblank"], 3, 3

    def commands(self, cpu):
        file = f.memory(8)
        seq, time = fire.Step(1000), fire.Step(16666667000, 16666667)
        lines = []
        for event, arguments in (("", (cpu, seq, time, 1)), ("_queued", (file, cpu, seq)),
                                 ("_delivered", (file, cpu, seq))):
            words = ["%d~%d" % (a.value, a.step) if isinstance(a, fire.Step) else
                     fire_base.word(a) for a in arguments]
            lines.append("fire drm drm_vblank_event%s %d %s" % (event, EVENTS, " ".join(words)))
        return lines


class I915(Workload):
    """An engine for each processor, of one GPU."""

    name, groups, probes, per_round = "i915", ["i915"], 2, 2
    device = None

    def commands(self, cpu):
        I915.device = I915.device or f.i915_device()
        engine = f.i915_engine(instance=cpu, name="rcs%d" % cpu, device=I915.device)
        request = f.i915_request(engine, context=3000 + cpu, count=EVENTS)
        return [many("i915", "i915_request_add", request),
                many("i915", "i915_request_retire", request)]


class Amdgpu(Workload):
    """A ring for each processor, of one GPU."""

    name, groups, probes, per_round = "amdgpu", ["amdgpu"], 2, 2
    device = None

    def commands(self, cpu):
        Amdgpu.device = Amdgpu.device or f.amdgpu_device()
        ring = f.amdgpu_ring("gfx_0.%d.0" % cpu, Amdgpu.device)
        job = f.amdgpu_job(ring, context=4000 + cpu, count=EVENTS)
        return [many("amdgpu", "amdgpu_cs_ioctl", job),
                many("amdgpu", "amdgpu_sched_run_job", job)]


class Nvidia(Workload):
    """Calls of the driver, each process with its own file of the same GPU."""

    name, groups, probes, per_round = "nvidia", ["nvidia"], 1, 1

    def __init__(self):
        nvidia.load("580")
        lab.run(nvidia.LOADER)

    def arguments(self, cpus):
        return ["-n", EVENTS, "ioctl", "/dev/nvidia0", COMMAND, cpus]


def rounds():
    return 2 + REPEATS


def sample(workload, what, watcher=None, at_end=False):
    total = 0
    for cpus in CPUS:
        tools.measure("-k", REPEATS, *workload.arguments(cpus), timeout=1800)
        for _ in range(REPEATS):
            results.window(workload.name, what, cpus, workload.per_round * EVENTS)
        total += cpus * rounds() * EVENTS
    if watcher and not at_end:
        watcher.check(total, workload.probes)
    return total


def watched(workload, what, watcher, at_end=False):
    with watcher:
        total = sample(workload, what, watcher, at_end)
        if what == "gpumon":
            # It is loaded at another address each time.
            with open("%s/kallsyms.%s" % (tools.OUT, workload.name), "w",
                      encoding="utf-8") as symbols:
                symbols.write(lab.read("/proc/kallsyms"))
    if at_end:
        watcher.check(total, workload.probes)


alone = sys.argv[2:] == ["gpumon"]
results = tools.Results(sys.argv[1])
lab.load_scheduler()
fire.load_drivers("drm", "i915", "amdgpu")
f = fire.Fire()
# Create all of them before the first measurement: from then on the plugin makes the VM slow.
for workload in [kind() for kind in (Jobs, OneRing, Vblank, I915, Amdgpu, Nvidia)]:
    lab.step(workload.name)
    sample(workload, "nothing")
    watched(workload, "gpumon", tools.Gpumon(workload.groups))
    if workload.libbpf:
        watched(workload, "gpumon-ring", tools.Gpumon(workload.groups, ring_kib=4096))
    if workload.libbpf and not alone:
        watched(workload, "ftrace", tools.Ftrace(workload.traced))
        name, loader = workload.libbpf
        watched(workload, "libbpf", tools.Libbpf(name, workload.events, loader), at_end=True)
nvidia.unload()
f.close()
results.end()
