#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: timeout=180
"""CPUs go off and come back under load: not an event is lost from the counters or the event ring."""
import collections
import os
import select
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from gpumon_netlink import Gpumon
from lab import (EVENTS, check, check_counts, equal, load, stats, step, submitter, until,
                 wait_idle)

ONLINE = "/sys/devices/system/cpu/cpu1/online"
RECORD = struct.Struct("=5Q4H4Ii I16s")
LOST, QUEUE, RUN, DONE, WAIT, KILLED, ERROR = range(7)
EVENT_FIELD, CPU_FIELD = 5, 6


def online(on):
    with open(ONLINE, "w") as f:
        f.write(str(on))


check(os.path.exists(ONLINE), "there is no second CPU to switch off")
load(devices=2, rings=2, service_ns=20000, distribution="exponential")
g = Gpumon()


class Reader(threading.Thread):
    """Drains the event ring and counts what is in it."""

    def __init__(self):
        super().__init__()
        self.fd = os.open(EVENTS, os.O_RDONLY | os.O_NONBLOCK)
        self.counts = collections.Counter()
        self.cpus = set()
        self.stop = False

    def run(self):
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        while True:
            stop = self.stop
            try:
                data = os.read(self.fd, 88 * 4096)
            except BlockingIOError:
                if stop:
                    return
                poll.poll(100)
                continue
            for record in RECORD.iter_unpack(data):
                self.counts[record[EVENT_FIELD]] += 1
                self.cpus.add(record[CPU_FIELD])


def round_trip(first_off):
    """Event ring on, load, CPU 1 off and on all the time, everything compared."""
    if first_off:
        # The ring is made while the CPU is not there.
        online(0)
    g.event_ring_set(1, 16384)
    reader = Reader()
    reader.start()
    loads = []
    switched = 0
    end = time.monotonic() + 12
    looks = 0
    while time.monotonic() < end:
        loads = [p for p in loads if p.poll() is None]
        while len(loads) < 3:
            loads.append(submitter("-d", "all", "-r", "all", "-n", 200, "-b", 5, "-w", "-t", 2))
        online(switched % 2)
        switched += 1
        time.sleep(0.3)
        g.rings()
        stats()
        looks += 1
    online(1)
    for p in loads:
        equal(p.wait(60), 0, "exit status of a submitter")
    wait_idle()
    # One of hundreds of runs on 6.1 had six events left where the reader had found no more; why is
    # not known. Here it still reads, and they have to come.
    until(lambda: not g.event_ring()["pending"], "all events were read")
    reader.stop = True
    reader.join(30)
    check(not reader.is_alive(), "the reader of events hangs")
    os.close(reader.fd)
    check(switched >= 6, "only %d switches" % switched)
    ring = g.event_ring()
    step("%d switches, %d looks, %r" % (switched, looks, dict(reader.counts)))
    equal((ring["overwritten"], ring["dropped"], ring["pending"]), (0, 0, 0),
          "overwritten, dropped, pending")
    equal(ring["delivered"], ring["written"], "delivered against written")
    equal(sum(reader.counts.values()), ring["written"], "events read against written")
    equal(reader.cpus, {0, 1}, "CPUs in the events")
    g.event_ring_set(0)
    return reader.counts


seen = collections.Counter()
for first_off in (False, True):
    step("event ring switched on with CPU 1 %s" % ("off" if first_off else "on"))
    seen += round_trip(first_off)
    mock = wait_idle()
    ours = check_counts(mock)
    equal((seen[QUEUE], seen[RUN], seen[DONE]),
          tuple(sum(r[c] for r in mock.values()) for c in ("queued", "run", "done")),
          "queue, run, done events against the mock's account")
    equal((seen[LOST], seen[KILLED], seen[ERROR]), (0, 0, 0), "other events")
    check(seen[QUEUE] > 500, "too few jobs to show anything")

step("counters of a CPU that is off now are still counted")
online(0)
equal({k: (r["queued"], r["run"], r["done"]) for k, r in check_counts(mock).items()},
      {k: (r["queued"], r["run"], r["done"]) for k, r in ours.items()}, "counters")
equal(g.info()["possible_cpus"], 2, "possible_cpus")
closed = g.reset()["closed"]
equal(sum(r["queued"] for r in g.rings(closed)), sum(r["queued"] for r in ours.values()),
      "period closed while a CPU was off")
online(1)
equal([r["queued"] for r in g.rings() if r["queued"]], [], "counters after the reset")
step("done")
