#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=full tool timeout=300 deep-timeout=3000
"""CPUs go offline and come back under load: the counters and the event ring lose no event."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import events
import lab
import storm
from gpumon_netlink import Gpumon
from storm_drivers import Jobs
from storm_gpumon import Control, EventReader, Looker, Records, insmod, known_work
from storm_machine import Cpus

CPU = "/sys/devices/system/cpu/cpu1/online"


def online(on):
    with open(CPU, "w") as f:
        f.write(str(on))


class Emptied(EventReader):
    """Reads the ring as fast as it can, so that nothing is overwritten."""
    pause = 0.0, 0.0

    def begin(self):
        self.reader = events.Reader()

    def turn(self):
        self.tally.add(self.reader.drain())
        self.reader.poll(50)

    def end(self):
        lab.wait_idle(120)
        # Everything written so far can be read now, on the first try.
        self.tally.add(self.reader.drain())
        super().end()


def every_event(g, off):
    """A ring that is large enough, created while the CPU is on or off: every event is read."""
    lab.step("every event, from a ring that was made with CPU 1 %s" % ("off" if off else "on"))
    if off:
        online(0)
    before, records = lab.wait_idle(120), Records()
    g.event_ring_set(1, 16384)
    storm.rage(storm.seconds(3), [Jobs(3, kill=0), Cpus()],
               last=[Emptied(records), Looker(tool=False)])
    after, ring = lab.wait_idle(), g.event_ring()
    lab.equal((ring["overwritten"], ring["dropped"], ring["pending"]), (0, 0, 0),
              "overwritten, dropped, and pending where a reader found no more: %r" % ring)
    lab.equal((ring["delivered"], sum(records.kinds.values())), (ring["written"],) * 2,
              "delivered, and read, against written")
    for kind, column in (events.QUEUE, "queued"), (events.RUN, "run"), (events.DONE, "done"):
        lab.equal(records.kinds[kind],
                  sum(row[column] - before[key][column] for key, row in after.items()),
                  "events against the mock's account of " + column)
    g.event_ring_set(0)
    lab.check_counts(after)
    return records.cpus


def test():
    lab.load_mock(devices=2, rings=2, service_ns=20000, distribution="exponential")
    insmod()
    with Gpumon() as g:
        cpus = every_event(g, False) | every_event(g, True)
        lab.equal(cpus, set(range(os.sysconf("SC_NPROCESSORS_CONF"))), "CPUs in the events")

        lab.step("counters of a CPU that is off are still counted, and its period is closed")
        online(0)
        rows = lab.check_counts(lab.wait_idle())
        closed = g.reset()["closed"]
        lab.equal(sum(r["queued"] for r in g.rings(closed)),
                  sum(r["queued"] for r in rows.values()), "the period closed while it was off")
        online(1)
        lab.equal([r["queued"] for r in g.rings() if r["queued"]], [], "counters after the reset")

    lab.step("and with rings of all sizes, resets, several readers")
    records = Records()
    control = Control(records, read_out=1)
    storm.rage(storm.seconds(3), [Jobs(3), Cpus(), control],
               last=[EventReader(records), EventReader(records, blocking=True), Looker(tool=False)])
    lab.wait_idle(120)
    control.check()
    known_work()


storm.main(test)
