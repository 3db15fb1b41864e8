# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Storms on the machine: CPUs that go, memory that is short, sleep."""
import glob
import mmap
import os
import subprocess
import time

import lab
import nvidia
from gpumon_netlink import Gpumon, NetlinkError
from storm import Storm
from storm_gpumon import FOLDER, NO_MEMORY, insmod, MODULE, unload

MIB = 1 << 20


def write(path, text):
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, str(text).encode())
    finally:
        os.close(fd)


# --- CPUs

class Cpus(Storm):
    """All CPUs but the first go offline and come back."""
    pause = 0.0, 0.4
    least = {"off": 2}

    def begin(self):
        self.cpus = sorted(f for f in glob.glob("/sys/devices/system/cpu/cpu[0-9]*/online")
                           if "/cpu0/" not in f)
        lab.check(self.cpus, "there is no CPU that can be switched off")

    def turn(self):
        cpu = self.random.choice(self.cpus)
        on = int(lab.read(cpu))
        try:
            write(cpu, 1 - on)
        except OSError as e:
            # A suspend is in progress, or there is no memory for the CPU.
            lab.check(e.errno in (16, 12, 4), "%s: %s" % (cpu, e))
            self.counts["refused"] += 1
            return
        self.counts["off" if on else "on"] += 1

    def end(self):
        for cpu in self.cpus:
            lab.until(lambda: self._on(cpu), "%s is on" % cpu)

    @staticmethod
    def _on(cpu):
        try:
            write(cpu, 1)
        except OSError:
            return False
        return True


# --- memory

def available():
    """Available memory in KiB."""
    for line in lab.read("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1])
    return 0


def hog(leave_mib, hold_s, patience_s=20):
    """Runs in its own process: takes all memory but that, holds it, frees it."""
    write("/proc/self/oom_score_adj", 1000)
    limit = time.monotonic() + patience_s * lab.SLOWER
    held = None
    kept = []
    while time.monotonic() < min(limit, held or limit):
        if available() < leave_mib * 1024:
            # Counted from when it has the memory, however long that took.
            held = held or time.monotonic() + hold_s
            time.sleep(0.02)
            continue
        kept.append(mmap.mmap(-1, min(8, leave_mib) * MIB, flags=mmap.MAP_PRIVATE |
                              mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE))
    # Not by exit: the out-of-memory killer does not count the memory of a process that is ending,
    # and could meanwhile kill the next one, possibly the suite.
    while kept:
        kept.pop().close()


class Pressure(Storm):
    """A process takes nearly all memory, or all that its cgroup may have; caches are dropped.

    The out-of-memory killer takes the hogs and processes that allow it, never this test.
    """
    pause = 0.0, 0.3
    GROUP = "/sys/fs/cgroup/gpumon-storm"
    VICTIMS = 8

    def __init__(self, leaves=(4, 16, 32, 64), **least):
        super().__init__(**least)
        self.leaves = leaves
        self.victims = []

    def begin(self):
        write("/proc/self/oom_score_adj", -1000)
        self.group = False
        try:
            write("/sys/fs/cgroup/cgroup.subtree_control", "+memory")
            os.makedirs(self.GROUP, exist_ok=True)
            self.group = os.path.exists(self.GROUP + "/memory.max")
        except OSError as e:
            print("no memory cgroup: %s" % e)

    def turn(self):
        self.more_victims()
        kinds = [self.all_memory, self.all_memory, self.drop]
        if self.group:
            kinds.append(self.cgroup)
        self.random.choice(kinds)()

    def more_victims(self):
        """Processes to be killed while the memory of a killed hog is not free yet; otherwise the
        suite would be next.
        """
        self.victims = [p for p in self.victims if p.poll() is None]
        while len(self.victims) < self.VICTIMS:
            try:
                self.victims.append(subprocess.Popen(
                    ["sh", "-c", "echo 1000 >/proc/self/oom_score_adj; exec sleep 100000"]))
            except OSError:
                # There is no memory for another one.
                return

    def drop(self):
        write("/proc/sys/vm/drop_caches", self.random.choice((1, 2, 3)))
        try:
            write("/proc/sys/vm/compact_memory", 1)
        except OSError:
            # A kernel without compaction.
            pass
        self.counts["dropped"] += 1

    def _hog(self, leave, length, group=None, patience=20):
        pid = os.fork()
        if not pid:
            try:
                # Without exec(), files that other threads had open would stay open until it ends.
                os.closerange(3, os.sysconf("SC_OPEN_MAX"))
                if group:
                    write(group + "/cgroup.procs", 0)
                hog(leave, length, patience)
            finally:
                os._exit(0)
        status = os.waitpid(pid, 0)[1]
        if os.WIFSIGNALED(status):
            self.counts["hogs killed"] += 1

    def all_memory(self):
        self._hog(self.random.choice(self.leaves), self.random.uniform(1, 4))
        self.counts["hogs"] += 1

    def cgroup(self):
        write(self.GROUP + "/memory.max", self.random.choice((8, 24)) * MIB)
        self._hog(4, 0, self.GROUP, self.random.uniform(0.5, 1.5))
        self.counts["cgroup hogs"] += 1

    def end(self):
        for p in self.victims:
            p.kill()
            p.wait()
        if self.group:
            os.rmdir(self.GROUP)


class Short(Storm):
    """gpumon where memory is short, or the allocating process is killed: it says so, and unwinds.

    It loads with large tables, in programs that are killed at any moment; the event ring gets
    sizes that are not there; a driver comes, and its group's tables with it.
    """
    pause = 0.0, 0.2
    least = {"turns": 6, "not loaded": 1, "no memory": 1, "groups": 1}
    LARGE = {"max_rings": 1024, "max_processes": 16384, "max_jobs": 524288}
    SAYS = "no memory"
    # KiB for each of two CPUs: less than an eighth of the VM's memory, which is the most that a ring may have.
    LARGEST = 49152

    def begin(self):
        self.kinds = []

    def turn(self):
        # Use each one once before any is repeated, since a slow machine has few turns.
        if not self.kinds:
            self.kinds = [self.large, self.killed, self.ring, self.group]
            self.random.shuffle(self.kinds)
        self.kinds.pop()()

    def _try(self, *command, kill=0.7):
        """Run a command, often killed after some ms; (killed, status, stderr)."""
        p = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             universal_newlines=True)
        killed = self.chance(kill)
        if killed:
            # A process that is killed late may complete all the same, so kill half of them at the
            # start.
            try:
                p.wait(self.random.uniform(0.0, self.random.choice((0.1, 0.4))))
            except subprocess.TimeoutExpired:
                p.kill()
        said = p.communicate(timeout=200 * lab.SLOWER)[1]
        return killed and p.returncode == -9, p.returncode, said.strip()

    def _load(self, *parameters):
        killed, status, said = self._try("insmod", MODULE, *parameters)
        if lab.loaded("gpumon"):
            # It may have been killed while exiting.
            self.counts["loaded"] += 1
            unload(120)
        else:
            lab.check(killed or "memory" in said, "insmod: %r %s" % (status, said))
            self.counts["not loaded"] += 1
        lab.check(not os.path.exists(FOLDER), "the directory in debugfs is left")

    def large(self):
        self._load(*["%s=%d" % p for p in self.LARGE.items() if self.chance(0.7)])

    def killed(self):
        self._load()

    def ring(self):
        insmod()
        with Gpumon() as g:
            for _ in range(6):
                size = self.random.choice((8, self.LARGEST, self.LARGEST))
                if size == self.LARGEST and not self.counts["no memory"]:
                    self.wait_for_hog()
                try:
                    g.event_ring_set(1, size)
                    self.counts["rings"] += 1
                except NetlinkError as e:
                    lab.equal((e.errno, "no memory for the event ring" in e.message),
                              (NO_MEMORY, True), "refused: %s" % e)
                    lab.equal(g.event_ring()["enabled"], 0, "the ring that there is no memory for")
                    self.counts["no memory"] += 1
                g.event_ring_set(0)
                self.over.wait(self.random.uniform(0.0, 0.4))
        unload(120)

    def wait_for_hog(self):
        """Wait until there is no memory for the ring of the second CPU."""
        limit = time.monotonic() + 10 * lab.SLOWER
        while available() > 1.5 * self.LARGEST and time.monotonic() < limit:
            self.over.wait(0.005)

    def group(self):
        insmod()
        # Some must succeed.
        self._try("insmod", "%s/tests/mock/nvidia-580/nvidia.ko" % lab.BUILD, "gpus=1",
                  kill=0.7 if self.counts["groups"] else 0)
        lab.until(lambda: not self._half_loaded(), "nvidia is there or not")
        if lab.loaded("nvidia"):
            with Gpumon() as g:
                state = self._state(g)
                if state["state"] != "attached":
                    lab.check(self.SAYS in (state["reason"] or ""), "the group: %r" % state)
                    self.counts["no tables"] += 1
                    # The message must help.
                    for _ in range(20):
                        g.group_set("nvidia", 0)
                        g.group_set("nvidia", 1)
                        if self._state(g)["state"] == "attached":
                            break
                lab.equal(self._state(g)["state"], "attached", "the group after off and on")
            self.counts["groups"] += 1
            nvidia.unload()
        unload(120)

    @staticmethod
    def _half_loaded():
        return any(line.split()[0] == "nvidia" and line.split()[4] != "Live"
                   for line in lab.read("/proc/modules").splitlines())

    @staticmethod
    def _state(g):
        """The state of the group, and the first probe that should be attached and is not."""
        rows = [p for p in g.probe_rows() if p["group"] == "nvidia"]
        for row in rows:
            if row["state"] == "failed":
                return row
        return next((r for r in rows if r["state"] == "attached"), rows[0])

    def end(self):
        if lab.loaded("nvidia"):
            nvidia.unload()
        if lab.loaded("gpumon"):
            unload(120)


# --- sleep

POWER = "/sys/power/"
LEVELS = "freezer", "devices", "platform", "processors", "core"
HELPER = "suspend_helper"


def prepare_sleep():
    """[(state, level)] that this kernel has at all; "none" is a real sleep."""
    if not os.path.exists(POWER + "pm_test"):
        return []
    lab.insmod("tests/suite/suspend_helper/" + HELPER)
    # No delay at each level, and a short one for tasks that do not freeze.
    write("/sys/module/suspend/parameters/pm_test_delay", 0)
    write(POWER + "pm_freeze_timeout", 4000)
    if os.path.exists(POWER + "sync_on_suspend"):
        write(POWER + "sync_on_suspend", 0)
    states = lab.read(POWER + "state").split()
    levels = lab.read(POWER + "pm_test").replace("[", "").replace("]", "").split()
    found = [(s, level) for s in ("freeze", "mem") if s in states
             for level in LEVELS if level in levels]
    if "freeze" in states:
        found.append(("freeze", "none"))
    return found


def alarm(seconds):
    """The real-time clock, which wakes the machine even if timers stand still."""
    for path in glob.glob("/sys/class/rtc/rtc*/wakealarm"):
        try:
            write(path, 0)
            if seconds:
                write(path, "+%d" % seconds)
        except OSError:
            # A clock without an alarm.
            pass


def sleep(state, level, wake_ms=300):
    """One suspend and resume. Returns None or the errno."""
    try:
        write(POWER + "pm_test", level)
        if level == "none":
            write("/sys/module/%s/parameters/wake_ms" % HELPER, wake_ms)
            alarm(20)
        write(POWER + "state", state)
    except OSError as e:
        return e.errno
    finally:
        write("/sys/module/%s/parameters/wake_ms" % HELPER, 0)
        alarm(0)
        write(POWER + "pm_test", "none")
    return None


class Sleeps(Storm):
    """The machine suspends, as far as it can, and resumes."""
    pause = 0.1, 1.0

    def __init__(self, ways, **least):
        super().__init__(**least)
        self.ways = ways

    def turn(self):
        state, level = self.random.choice(self.ways)
        error = sleep(state, level, self.random.randrange(50, 500))
        if error is None:
            self.counts["slept"] += 1
        else:
            # A CPU is being switched, a task did not freeze, or something woke it up.
            lab.check(error in (16, 11), "suspend to %s, level %s: %s" %
                      (state, level, os.strerror(error)))
            self.counts["refused"] += 1
