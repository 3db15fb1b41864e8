# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Storms on gpumon itself: loaded and unloaded, switched, reset, read; and its books."""
import collections
import contextlib
import faulthandler
import glob
import json
import os
import shutil
import subprocess
import sys
import threading
import time

import events
import lab
from gpumon_netlink import Gpumon, NetlinkError
from storm import Storm

FOLDER = lab.DEBUGFS + "/gpumon"
DROPS = lab.DROPS
NOT_THERE, NO_MEMORY, BUSY = 2, 12, 16
SIZES_KIB = (8, 16, 64, 512, 4096)
# Set if unloading gpumon has waited too long: then readers close what they have open.
LET_GO = threading.Event()


def _module():
    """gpumon.ko in a place where reading is cheap: the build folder is on 9p."""
    path = os.environ["TMPDIR"] + "/gpumon.ko"
    shutil.copy(lab.BUILD + "/gpumon.ko", path)
    return path


# Before threads exist: a child forked by one of them has the file open for writing until its
# exec(), and the module cannot be loaded meanwhile.
MODULE = _module()


def insmod(**parameters):
    lab.run("insmod", MODULE, *["%s=%s" % p for p in parameters.items()], timeout=200)


def _tell_holders():
    """Why a module stays: how often it is held, by which files, and what this test's threads do."""
    with open("/sys/module/gpumon/refcnt", encoding="ascii") as f:
        print("gpumon is held", f.read().strip(), "times")
    for path in glob.glob("/proc/[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if os.readlink(path).startswith(FOLDER):
                print(path, os.readlink(path))
    sys.stdout.flush()
    faulthandler.dump_traceback(sys.stdout)


def unload(patience=60):
    """Retry while a reader has a file open. Returns the number of refusals."""
    refused = 0
    begin = time.monotonic()
    while subprocess.run(["rmmod", "gpumon"], stderr=subprocess.DEVNULL).returncode:
        refused += 1
        if time.monotonic() > begin + 0.1:
            LET_GO.set()
        if time.monotonic() >= begin + patience * lab.SLOWER:
            _tell_holders()
            lab.fail("gpumon cannot be unloaded")
        time.sleep(0.005)
    LET_GO.clear()
    lab.check(not os.path.exists(FOLDER), "the directory in debugfs is left")
    return refused


class Records:
    """The records of all readers of the event ring."""

    def __init__(self):
        self.lock = threading.Lock()
        self.real = self.lost = 0
        self.kinds = collections.Counter()
        self.cpus = set()
        self.once = set()

    def add(self, records):
        for e in records:
            why = events.problem(e)
            lab.check(not why, "a record that cannot be, %s: %r" % (why, e))
        with self.lock:
            self.lost += events.lost(records)
            for e in events.real(records):
                self.real += 1
                self.kinds[e.event] += 1
                self.cpus.add(e.cpu)
                # A job is queued once, runs once, and ends once.
                if e.event in (events.QUEUE, events.RUN, events.DONE, events.KILLED):
                    key = e.context, e.seqno, e.event
                    lab.check(key not in self.once, "a record comes twice: %r" % (e,))
                    self.once.add(key)
            if len(self.once) > 2000000:
                self.once.clear()

    def counts(self):
        with self.lock:
            return self.real, self.lost


class EventReader(Storm):
    """Reads the event ring: waits or not, much or little, from a file that it closes and opens.

    steady: gpumon stays loaded, so nothing may fail. blocking: sleeps in read(), to be used only
    where the ring is switched off in the end.
    """
    pause = 0.0, 0.02

    def __init__(self, tally, steady=True, blocking=False, **least):
        super().__init__(**least)
        self.tally = tally
        self.steady = steady
        self.blocking = blocking
        self.reader = None

    def turn(self):
        if LET_GO.is_set():
            self.end()
            return
        try:
            if not self.reader:
                self.reader = events.Reader(self.blocking)
                self.counts["opened"] += 1
            if self.chance(0.5):
                self.reader.poll(self.random.randrange(60))
            found = self.reader.read(self.random.choice((2, 3, 64, 65, 1000)) *
                                     events.LAYOUT.size + self.random.randrange(88)) or []
            self.tally.add(found)
            self.counts["records"] += len(found)
        except OSError:
            lab.check(not self.steady, "the event ring cannot be read")
            self.counts["not there"] += 1
            self.end()
            self.over.wait(0.02)
            return
        if self.chance(0.02 if self.steady else 0.3):
            self.end()

    def end(self):
        if self.reader:
            self.reader.close()
        self.reader = None


class Looker(Storm):
    """Reads everything that gpumon shows: whole and in pieces, through debugfs, netlink and the
    tool.
    """
    pause = 0.0, 0.05

    def __init__(self, steady=True, tool=True, **least):
        super().__init__(**least)
        self.steady = steady
        self.tool = tool

    def _text(self, name):
        """A file of debugfs, read in pieces of any size."""
        parts = []
        with open("%s/%s" % (FOLDER, name), "rb", buffering=0) as f:
            while True:
                part = f.read(self.random.choice((1, 7, 100, 4095, 4096, 65536)))
                if not part:
                    return b"".join(parts).decode(errors="surrogateescape")
                parts.append(part)
                if self.chance(0.02):
                    # Closed in the middle.
                    return None

    def look_stats(self):
        text = self._text("stats")
        if text:
            for row in lab.rings(lab.stats(text)).values():
                for depth in "queue_depth", "hw_depth":
                    lab.check(row[depth] is None or 0 <= row[depth] < 1 << 20, "depths: %r" % row)

    def look_histograms(self):
        self._text("histograms")

    def look_netlink(self):
        with Gpumon() as g:
            what = self.random.choice((g.info, g.rings, g.histograms, g.processes, g.groups,
                                       g.statistics, g.layouts, g.alerts, g.event_ring))
            what()
            if self.chance(0.3):
                # A dump that is not read to its end.
                g.send(g.build(g.id, g.command("STATISTIC_GET"), b"", 0x301))

    def look_tool(self):
        """gpumon-user prints valid JSON, or an error that explains why not."""
        done = subprocess.run([lab.BUILD + "/gpumon-user", "stat", "--json", "--source=module"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=120 * lab.SLOWER)
        if not done.returncode:
            json.loads(done.stdout.decode(errors="replace"))
        else:
            lab.check(not self.steady, "gpumon-user stat: %d: %s" % (done.returncode, done.stderr))
            lab.check(done.returncode in (1, 77) and (done.stderr or done.stdout),
                      "gpumon-user stat: %d: %s" % (done.returncode, done.stderr))

    def turn(self):
        kinds = ["stats", "stats", "histograms", "netlink", "netlink", "netlink", "netlink"]
        if self.tool:
            kinds.append("tool")
        kind = self.random.choice(kinds)
        if LET_GO.is_set():
            return
        try:
            getattr(self, "look_" + kind)()
        except (OSError, IndexError) as e:
            # IndexError: the kernel does not know the family. A socket that sees the family go may
            # not even get an answer in time.
            lab.check(not self.steady, "a look at %s: %s: %s" % (kind, type(e).__name__, e))
            self.counts["not there"] += 1
            self.over.wait(0.02)
            return
        self.counts[kind] += 1


class Loads(Storm):
    """gpumon is loaded and unloaded with any parameters; it is loaded at the end."""
    pause = 0.0, 0.3

    def __init__(self, **least):
        super().__init__(**dict({"loads": 2}, **least))

    def turn(self):
        if lab.loaded("gpumon"):
            self.counts["refused"] += unload()
            return
        parameters = {}
        if self.chance(0.5):
            parameters["max_rings"] = self.random.choice((1, 2, 5, 64, 1024))
        if self.chance(0.3):
            parameters["max_processes"] = self.random.choice((8, 64, 4096))
        if self.chance(0.3):
            parameters["max_jobs"] = self.random.choice((8, 1024, 65536))
        for group in "drm_sched", "nvidia", "drm_vblank", "amdgpu_registers":
            if self.chance(0.1):
                parameters[group] = self.random.randrange(2)
        insmod(**parameters)
        self.counts["loads"] += 1
        self.over.wait(self.random.uniform(0.0, 0.5))

    def end(self):
        if not lab.loaded("gpumon"):
            insmod()


class Sums:
    """The sums over the periods between resets, kept by the thread that resets."""
    RING = "queued", "run", "done", "errors", "killed"

    def __init__(self):
        self.probes = collections.defaultdict(lambda: [0, 0, 0])
        self.rings = collections.defaultdict(lambda: [0] * len(self.RING))
        self.resets = 0

    def add(self, g, period):
        for group in g.groups(period):
            for p in group["probe"]:
                row = self.probes[group["name"], p["name"]]
                for i, n in enumerate((p["seen"], p["recorded"], sum(p["dropped"].values()))):
                    row[i] += n
        for r in g.rings(period):
            row = self.rings[r["device"], r["name"]]
            for i, column in enumerate(self.RING):
                row[i] += r[column]

    def reset(self, g):
        self.add(g, g.reset()["closed"])
        self.resets += 1

    def check(self):
        """At rest: seen = recorded + dropped of every probe, over all periods."""
        for name, (seen, recorded, dropped) in self.probes.items():
            lab.equal(seen, recorded + dropped, "seen of %s.%s over all periods" % name)

    def check_mock(self, account):
        """drm_sched was attached all the time: every ring equals the mock's account."""
        for key, row in account.items():
            lab.equal(dict(zip(self.RING, self.rings[key])) if row["queued"] else
                      dict.fromkeys(self.RING, 0),
                      {c: row[theirs] for c, theirs in lab.COUNTERS.items()},
                      "%s over %d resets" % (key, self.resets))


class Control(Storm):
    """Groups off and on, resets, the event ring on, off and of another size.

    The same thread resets and switches the ring, so it keeps the accounts of both.
    groups: those that it switches.
    """
    pause = 0.0, 0.15
    least = {"turns": 5}

    def __init__(self, tally=None, groups=(), resets=True, steady=True, **least):
        super().__init__(**least)
        self.tally = tally
        self.groups = groups
        self.resets = resets
        self.steady = steady
        self.sums = Sums()
        self.on = None
        # For all rings that were switched off: the minimum and maximum that readers must have.
        self.delivered = [0, 0]
        self.lost = [0, 0]

    def switch_group(self, g):
        name = self.random.choice(self.groups)
        g.group_set(name, self.random.randrange(2))
        self.counts["groups"] += 1

    def reset(self, g):
        if self.steady:
            self.sums.reset(g)
        else:
            g.reset()
        self.counts["resets"] += 1

    def ring_on(self, g):
        try:
            g.event_ring_set(1, self.random.choice(SIZES_KIB))
        except NetlinkError as e:
            if e.errno == NO_MEMORY:
                # Only if memory is short, and with a message about it.
                lab.check("no memory for the event ring" in e.message, e.message)
                self.counts["no memory"] += 1
                return
            if e.errno == NOT_THERE and not self.steady:
                # The family was removed after this socket had found it.
                raise
            # The ring is on, and has another size.
            lab.equal((e.errno, "switch the event ring off" in e.message), (BUSY, True),
                      "refused: %s" % e)
            lab.check(self.on or not self.steady, "refused, and the ring was off: %s" % e)
            self.counts["refused"] += 1
            return
        self.on = True
        self.counts["rings"] += 1

    def ring_off(self, g):
        """After switching off there are no writers: the counts of that ring must balance exactly.
        """
        g.event_ring_set(0)
        if not self.on:
            return
        self.on = False
        view = g.event_ring()
        if not self.steady:
            return
        # Always do it the first time: on a busy machine there may be no second.
        if not self.counts["read out"] or self.chance(0.5):
            # Readers still get the existing records.
            view = lab.until(lambda: (lambda v: None if v["pending"] else v)(g.event_ring()),
                             "all events of a ring that is off are read: %r" % view,
                             pause=0.01)
            self.counts["read out"] += 1
        lab.equal(view["written"], view["delivered"] + view["overwritten"] + view["pending"],
                  "written against delivered + overwritten + pending: %r" % view)
        lab.equal(view["dropped"], 0, "dropped: %r" % view)
        self.delivered[0] += view["delivered"]
        self.delivered[1] += view["delivered"] + view["pending"]
        # Overwritten events are reported with the next record of that CPU.
        self.lost[0] += 0 if view["pending"] else view["overwritten"]
        self.lost[1] += view["overwritten"]
        self.counts["written"] += view["written"]
        self.counts["overwritten"] += view["overwritten"]

    def turn(self):
        kinds = [self.ring_on, self.ring_off]
        if self.resets:
            kinds.append(self.reset)
        if self.groups:
            kinds += [self.switch_group] * 2
        if self.calm:
            # The others still wait for events, which the dice may have switched off for long.
            kinds = [self.all_on]
        if LET_GO.is_set():
            return
        try:
            with Gpumon() as g:
                for _ in range(self.random.randrange(1, 4)):
                    self.random.choice(kinds)(g)
        except (OSError, IndexError):
            if self.steady:
                raise
            self.on = None
            self.counts["not there"] += 1
            self.over.wait(0.05)

    def groups_on(self, g):
        for name in self.groups:
            g.group_set(name, 1)

    def all_on(self, g):
        self.groups_on(g)
        self.ring_on(g)

    def end(self):
        """Switch everything on again, except the ring, if gpumon stays loaded."""
        if not self.steady:
            return
        with Gpumon() as g:
            self.ring_off(g)
            self.groups_on(g)

    def check(self, account=None):
        """After the storm, with nothing on its way and the readers gone."""
        with Gpumon() as g:
            self.sums.add(g, None)
        self.sums.check()
        if account:
            self.sums.check_mock(account)
        if self.tally:
            real, lost = self.tally.counts()
            lab.within(real, self.delivered[0], self.delivered[1], "records that readers got")
            lab.within(lost, self.lost[0], self.lost[1], "events that LOST records told of")


def known_work(mock=True):
    """After all that: a plain load and a known workload with exact counts."""
    lab.step("an ordinary load, and everything is exact")
    if lab.loaded("gpumon"):
        unload()
    if not lab.loaded("mock_gpu"):
        lab.load_mock(devices=2, rings=2, service_ns=20000)
    lab.wait_idle(120)
    before = lab.account()
    insmod()
    records = Records()
    with Gpumon() as g:
        g.event_ring_set(1, 1024)
        reader = events.Reader()
        lab.submit("-d", "all", "-r", "all", "-n", 50, "-b", 5, "-w", "--fail", "fence",
                   "--fail-every", 10, timeout=120)
        after = lab.wait_idle(120)
        ours = lab.rings()
        jobs = 0
        for key, row in after.items():
            for column, theirs in lab.COUNTERS.items():
                lab.equal(ours[key][column], row[theirs] - before[key][theirs],
                          "%s of %s" % (column, key))
            lab.equal((ours[key]["queue_depth"], ours[key]["hw_depth"], ours[key]["untracked"]),
                      (0, 0, 0), "depths of %s" % (key,))
            jobs += row["queued"] - before[key]["queued"]
        lab.check(jobs >= 50, "%d jobs" % jobs)
        records.add(reader.drain())
        reader.close()
        lab.equal([records.kinds[k] for k in (events.QUEUE, events.RUN, events.DONE)],
                  [jobs] * 3, "events of the jobs")
        view = g.event_ring()
        lab.equal((view["written"], view["dropped"], view["overwritten"], view["pending"]),
                  (view["delivered"], 0, 0, 0), "the event ring: %r" % view)
        g.event_ring_set(0)
    lab.check_sums()
    unload()
