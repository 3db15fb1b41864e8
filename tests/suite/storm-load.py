#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest,arm64 tool timeout=800 deep-timeout=3000
"""gpumon loaded and unloaded while the mock GPU runs and readers read: 1,000 rounds with
GPUMON_DEEP=1, 200 on arm64, else as many as fit. They leave nothing: no memory, no line in the log.
"""
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import lab
import storm
from storm_drivers import Jobs
from storm_gpumon import EventReader, Loads, Looker, Records, insmod, known_work, unload
from gpumon_netlink import Gpumon

ARM64 = os.uname().machine == "aarch64"
ROUNDS = 1000 if storm.DEEP else 200 if ARM64 else 0
# With a number of rounds it goes on until they are done.
LONG = storm.seconds(120 if ARM64 else 14, 2800)


class Rounds(Loads):
    """Load, perhaps read, unload; memory is measured after the first rounds and the last."""
    pause = 0.0, 0.0

    def __init__(self, **least):
        super().__init__(**least)
        self.base = self.now = None

    def begin(self):
        self.start = time.monotonic()
        if ROUNDS:
            # With a higher priority than the disturbing threads, which leave little CPU time on a
            # sanitised kernel, or an emulated one.
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), -10)

    def turn(self):
        parameters = {}
        if self.chance(0.7):
            parameters["max_rings"] = self.random.choice((1, 2, 3, 9, 64))
        insmod(**parameters)
        self.counts["loads"] += 1
        with Gpumon() as g:
            if self.chance(0.5):
                g.event_ring_set(1, self.random.choice((8, 64, 512)))
            if self.counts["loads"] % 4 == 1:
                lab.until(lambda: self.saw_jobs() or self.over.is_set(), "a round sees jobs")
        self.counts["refused"] += unload()
        rounds = self.counts["loads"]
        if not self.base and (rounds >= 100 or time.monotonic() - self.start > LONG / 4):
            self.base, self.first = storm.quiet_memory(), rounds
        if rounds % 100 == 0:
            lab.step("%d rounds, %.0f s" % (rounds, time.monotonic() - self.start))
        if rounds == ROUNDS:
            self.over.set()

    def saw_jobs(self):
        rings = lab.rings()
        # Jobs from before the load are untracked, and levels are never negative.
        for key, row in rings.items():
            for depth in "queue_depth", "hw_depth":
                lab.within(row[depth] or 0, 0, 1 << 20, "%s of %s" % (depth, key))
        saw = any(row["done"] for row in rings.values())
        self.counts["rounds with jobs"] += saw
        return saw

    def end(self):
        pass


def test():
    lab.load_mock(devices=2, rings=4, service_ns=1000000, distribution="exponential")
    records = Records()
    rounds = Rounds(loads=ROUNDS or 10, rounds_with_jobs=1)
    looker = Looker(steady=False, tool=False, netlink=2)
    begin = time.monotonic()
    storm.rage(LONG, [rounds, looker, EventReader(records, steady=False), Jobs(1)],
               until=rounds)
    # Readers of the storm have ended.
    now = storm.quiet_memory()
    lab.step("%d rounds in %.1f s; memory after %d rounds %r, now %r" %
             (rounds.counts["loads"], time.monotonic() - begin, rounds.first, rounds.base, now))
    references = [line.split()[2:4] for line in lab.read("/proc/modules").splitlines()
                  if line.startswith("gpu_sched ")][0]
    lab.equal(references, ["1", "mock_gpu,"], "references to gpu_sched")
    # One round allocates more than 4 MB. At most some KiB a round may stay.
    storm.check_memory(rounds.base, now, rounds.counts["loads"] - rounds.first)
    known_work()


storm.main(test)
