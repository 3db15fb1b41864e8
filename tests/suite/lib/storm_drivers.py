# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Storms on what gpumon watches: jobs for the mock GPU, and drivers that come and go.

A driver's cycle is: it is loaded, works, and is unloaded. Where gpumon stood attached all the
time (exact=True: it stays loaded and its groups on, and nobody resets), each cycle compares what
the mock says of itself with what gpumon counted more than before.
"""
import contextlib
import itertools
import subprocess
import threading
import time

import amdgpu
import fire
import lab
import nvidia
import nvidia_stats
import vblank
from storm import Storm


def remove(name, patience=60):
    """Unload it as soon as possible: a program that is about to end may still hold it."""
    limit = time.monotonic() + patience
    while subprocess.run(["rmmod", name], stderr=subprocess.DEVNULL).returncode:
        if not lab.loaded(name):
            return
        lab.check(time.monotonic() < limit, "%s cannot be unloaded" % name)
        time.sleep(0.02)


def end(processes):
    for p in processes:
        p.wait(120)
        p.stdin.close()
        p.stdout.close()


# Held by a storm that needs gpu_sched and has failed once without it.
SCHEDULER_STAYS = threading.Lock()


def remove_scheduler():
    with SCHEDULER_STAYS:
        # Another driver may use it.
        lab.run("rmmod", "gpu_sched", check_=False)


def insist(what, *command):
    """A module that needs gpu_sched, which another driver that goes may take along: again, and
    then it stays, since on a busy machine it might go each time.

    Also where two threads load the same one, and a suspend interrupts the waiting one (EINTR).
    """
    limit = time.monotonic() + 120 * lab.SLOWER
    with contextlib.ExitStack() as stack:
        for attempt in itertools.count():
            if attempt == 1:
                stack.enter_context(SCHEDULER_STAYS)
            lab.run("modprobe", "gpu-sched", check_=False)
            done = lab.run(*command, timeout=300, check_=False)
            if not done.returncode:
                return
            # On a busy machine, one attempt of amdgpu may take all the time.
            lab.check(attempt < 3 or time.monotonic() < limit,
                      "%s: %s" % (what, done.stderr.strip()))
            time.sleep(0.05)


class Jobs(Storm):
    """Programs that submit jobs, of all kinds, a few of them killed; the mock GPU stays loaded."""
    pause = 0.02, 0.2

    def __init__(self, most=2, kill=0.2, memory=True, **least):
        super().__init__(**least)
        self.most, self.kill, self.memory = most, kill, memory
        self.programs = []

    def start_one(self):
        words = ["-d", "all", "-r", "all", "-n", self.random.choice((1, 20, 100)),
                 "-b", self.random.choice((1, 3, 10)), "-t", self.random.choice((1, 2)),
                 self.random.choice(("-w", "--sync"))]
        kind = self.random.randrange(6)
        words += ([], ["--fail", "fence", "--fail-every", 7], ["--fail", "run", "--fail-every", 5],
                  ["--inline"], ["-D", 0], ["--chain"])[kind]
        self.programs.append(lab.submitter(*words))
        self.counts["programs"] += 1

    def turn(self):
        ended = [p for p in self.programs if p.poll() is not None]
        end(ended)
        for p in ended:
            # Killed, or successful; or there was no memory for a job.
            lab.check(p.returncode in (0, -9) or not self.memory,
                      "mock_submit ended with %d" % p.returncode)
        self.programs = [p for p in self.programs if p not in ended]
        while len(self.programs) < self.most:
            self.start_one()
        if self.chance(self.kill):
            self.random.choice(self.programs).kill()
            self.counts["killed"] += 1

    def end(self):
        for p in self.programs:
            if self.kill and self.chance(0.5):
                p.kill()
        end(self.programs)


class Cycle(Storm):
    """A driver that is loaded and unloaded again and again."""
    pause = 0.0, 0.2
    # The time limit of one modprobe: amdgpu.ko is large.
    patience = 300
    modules = ()
    # Groups whose kprobes can miss an event, which lab.stats() reports: the kernel skips a kprobe
    # in an interrupt that came during another one.
    groups = ()

    def __init__(self, exact=True, **least):
        super().__init__(**least)
        self.exact = exact

    def ours(self):
        """{name: number} that gpumon counted."""
        raise NotImplementedError

    def theirs(self):
        """The same for this cycle, from the mock's account, when nothing runs any more."""
        raise NotImplementedError

    def cycle(self):
        """Load and work. True: at rest, theirs() is the truth."""
        raise NotImplementedError

    def unload(self):
        for name in self.modules:
            remove(name)

    def missed(self):
        return sum(p["missed"] for p in lab.stats()["probes"] if p["group"] in self.groups)

    def turn(self):
        before, missed = (self.ours(), self.missed()) if self.exact else ({}, 0)
        quiet = self.cycle()
        if self.exact and quiet:
            now, theirs = self.ours(), self.theirs()
            missed = self.missed() - missed
            self.counts["missed"] += missed
            for name, number in sorted(theirs.items()):
                lab.within(now.get(name, 0) - before.get(name, 0), number - missed, number,
                           "%s: %s in cycle %d, where %d were missed" %
                           (self.name, name, self.counts["turns"], missed))
            self.counts["compared"] += 1
            self.counts["events"] += sum(theirs.values())
        self.unload()

    def end(self):
        self.unload()


class Scheduler(Cycle):
    """gpu_sched and the mock GPU, which may be unloaded as soon as its users are killed."""
    modules = "mock_gpu", "gpu_sched"
    COLUMNS = "queued", "run", "done", "errors", "killed"

    def ours(self):
        return {(key, c): row[c] for key, row in lab.rings().items() for c in self.COLUMNS}

    def theirs(self):
        return {(key, c): row[lab.COUNTERS[c]] for key, row in lab.account().items()
                for c in self.COLUMNS}

    def load(self):
        parameters = {"devices": self.random.choice((1, 2)), "rings": self.random.choice((1, 2)),
                      "completion": self.random.choice(("timer", "inline")), "flush_ms": 20,
                      "service_ns": self.random.choice((20000, 200000))}
        insist("mock_gpu", "insmod", lab.BUILD + "/mock_gpu.ko",
               *["%s=%s" % p for p in parameters.items()])

    def unload(self):
        remove("mock_gpu")
        remove_scheduler()

    def cycle(self):
        self.load()
        jobs = self.random.choice((20, 100))
        load = [lab.submitter("-d", "all", "-r", "all", "-n", jobs, "-b", 4, "-p", 2, "-w",
                              "--fail", "run", "--fail-every", 20)]
        if self.chance(0.5):
            load.append(lab.submitter("-n", 100, "-b", 100, "-s", 1000000, "--linger"))
        limit = time.monotonic() + self.random.uniform(0.05, 1)
        while time.monotonic() < limit and load[0].poll() is None:
            time.sleep(0.02)
        # On a slow machine there are few cycles, and at least one must be compared.
        rude = self.chance(0.4) and (self.counts["compared"] or not self.exact)
        if rude:
            load[0].kill()
        for p in load[1:]:
            p.kill()
        end(load)
        if rude:
            # Jobs in flight belong to the driver, which waits for them when it is unloaded.
            self.counts["rude"] += 1
            return False
        lab.wait_idle(120)
        return True


class Nvidia(Cycle):
    """The mock of NVIDIA's driver, of several generations, with nvidia-uvm where it has one."""
    modules = "nvidia_uvm", "nvidia"
    groups = "nvidia", "nvidia_uvm"
    VARIANTS = "580", "550", "535"
    UVM = {"faults": "faults", "migrations": "migrations", "revocations": "revocations"}

    def ours(self):
        sections = lab.stats()
        found = {c: sum(row[c] for row in sections.get("nvidia.devices", []))
                 for c in nvidia_stats.DEVICES}
        found["interrupts"] = sum(row["interrupts"] for row in sections.get("nvidia.irqs", []))
        for table, column in self.UVM.items():
            found["uvm_" + table] = sum(row[column] for row in
                                        sections.get("nvidia_uvm." + table, []))
        return found

    def theirs(self):
        mock = nvidia.account()
        found = {c: mock.get(theirs, 0) for c, theirs in nvidia_stats.DEVICES.items()}
        found["interrupts"] = mock.get("isrs", 0)
        if lab.loaded("nvidia_uvm"):
            mock = nvidia.account(nvidia.UVM)
            found.update({"uvm_" + t: mock.get(t, 0) for t in self.UVM})
        return found

    def cycle(self):
        variant = self.random.choice(self.VARIANTS)
        nvidia.load(variant, gpus=2)
        if variant in nvidia.UVM_VARIANTS and self.chance(0.7):
            nvidia.load_uvm(variant)
        for _ in range(self.random.randrange(1, 4)):
            self.work()
        return True

    def work(self):
        if self.chance(0.4):
            nvidia.workload("--processes", self.random.randrange(1, 3), "--compat", 0)
            self.counts["workloads"] += 1
        for _ in range(self.random.randrange(4)):
            nvidia.control(self.random.choice(("interrupt", "burst", "handled", "unhandled")),
                           self.random.randrange(2), self.random.randrange(4),
                           self.random.randrange(1, 50))
        if lab.loaded("nvidia_uvm"):
            for words in (("fault-gpu", 20, 1, 0), ("fault-cpu", 10, 1),
                          ("migrate", 7, 0, 1, 65536, 0), ("revoke", 3, 1, 8192)):
                if self.chance(0.6):
                    nvidia.control(*words, folder=nvidia.UVM)

    def unload(self):
        for name in self.modules:
            if lab.loaded(name):
                remove(name)


class Vblank(Cycle):
    """Displays that are added and removed."""
    modules = ("fire_vblank",)
    groups = ("drm_vblank",)

    def ours(self):
        found = {(row["device"], row["crtc"]): row["vblanks"]
                 for row in lab.stats().get("drm_vblank.crtcs", [])}
        # Including those of device "-", whose kprobe was missed.
        found["all"] = sum(found.values())
        return found

    def theirs(self):
        return {("fire_vblank.%d" % device, crtc): row["vblanks"]
                for (device, crtc), row in vblank.account().items()}

    def turn(self):
        before = self.ours() if self.exact else {}
        super().turn()
        if self.exact:
            lab.equal(self.ours()["all"] - before["all"], self.fired,
                      "%s: vblanks of all devices in cycle %d" % (self.name,
                                                                  self.counts["turns"]))

    def cycle(self):
        insist("drm", "modprobe", "drm")
        vblank.load(devices=self.random.choice((1, 2)), crtcs=self.random.choice((1, 2)),
                    refresh_hz=self.random.choice((60, 144)))
        displays = list(vblank.account())
        for d in displays:
            vblank.command("hold", *d)
        time.sleep(self.random.uniform(0.1, 0.5))
        for d in displays:
            if self.chance(0.3):
                vblank.command("skip", *d, 2)
        time.sleep(self.random.uniform(0.0, 0.3))
        for d in displays:
            vblank.command("pause", *d)
        self.fired = sum(self.theirs().values())
        return True

    def unload(self):
        if lab.loaded("fire_vblank"):
            remove("fire_vblank")


class Drivers(Cycle):
    """The real amdgpu.ko and i915.ko, without a device, fired at from all CPUs and interrupts."""

    def __init__(self, names=("amdgpu", "i915"), **least):
        super().__init__(**least)
        self.names = names
        self.fire = None
        self.next = self.random.randrange(len(names))

    def begin(self):
        missing = [n for n in self.names
                   if lab.run("modprobe", "-n", n, check_=False).returncode]
        if missing:
            print("this kernel has no module %s" % ", ".join(missing), flush=True)
            self.names = [n for n in self.names if n not in missing]

    def ours(self):
        return {(p["module"], p["probe"]): p["seen"] for p in lab.stats()["probes"]
                if p["group"] in ("amdgpu", "i915")}

    def theirs(self):
        return {key: probed for key, (_, probed) in self.fire.account().items()}

    def cycle(self):
        if not self.names:
            self.over.wait(0.5)
            return False
        name = self.names[self.next % len(self.names)]
        self.next += 1
        insist(name, "modprobe", name)
        self.fire = fire.Fire()
        getattr(self, "work_" + name)(self.fire)
        self.counts[name] += 1
        return True

    def work_amdgpu(self, f):
        gpu = f.amdgpu_device("0000:03:00.0")
        buffer = amdgpu.buffer(f, gpu, size=4096)
        ring = f.amdgpu_ring("gfx_0.0.0", gpu)
        job = f.amdgpu_job(ring, context=1, seqno=1)
        for _ in range(self.random.randrange(2, 5)):
            f.amdgpu_bo_create(buffer, times=self.random.randrange(1, 300), cpu="all")
            f.amdgpu_bo_move(buffer, to=fire.PL_NONE, from_=fire.PL_VRAM, cpu="all",
                             times=self.random.randrange(1, 300), irq=self.chance(0.5))
            f.amdgpu_cs_ioctl(job)
            f.amdgpu_sched_run_job(job)
            f.amdgpu_bo_create(fire.POISON, times=3)

    def work_i915(self, f):
        device = f.i915_device("0000:00:02.0")
        gem = f.i915_object(4096, device, count=50)
        for _ in range(self.random.randrange(2, 5)):
            f.i915_gem_object_create(gem, times=50)
            f.i915_gem_object_pwrite(gem, 0, 3, times=self.random.randrange(1, 300), cpu="all")
            f.i915_gem_object_fault(gem, 0, 1, 0, times=self.random.randrange(1, 300), cpu="all",
                                    irq=True)
            f.i915_gem_object_destroy(gem, times=50)

    def unload(self):
        if self.fire:
            # A child that another thread forks has the file open until its exec().
            f, self.fire = self.fire, None
            f.let_go()
            remove("fire_gpu")
        for name in self.names:
            if lab.loaded(name):
                remove(name)


class NvidiaWork(Storm):
    """The mock of NVIDIA's driver stays loaded and works."""
    pause = 0.0, 0.3

    def begin(self):
        nvidia.load("580", gpus=2)
        nvidia.load_uvm("580")

    def turn(self):
        Nvidia.work(self)

    def end(self):
        remove("nvidia_uvm")
        remove("nvidia")
