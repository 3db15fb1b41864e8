#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest
"""The event ring, too small: what is lost is counted and said, no record twice."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import events
import lab
from gpumon_netlink import Gpumon

lab.load(devices=1, rings=2, service_ns=20000)


def balance(g, what):
    """written = delivered + pending + overwritten, nothing dropped."""
    s = g.event_ring()
    lab.equal(s["written"], s["delivered"] + s["pending"] + s["overwritten"],
              "written, %s: %r" % (what, s))
    lab.equal(s["dropped"], 0, "dropped, " + what)
    text = lab.stats()["event_ring"]
    lab.equal({k: text[k] for k in s}, s, "stats and netlink, " + what)
    return s


with Gpumon() as g:
    lab.step("nobody reads")
    g.event_ring_set(enabled=1, size_kib=8)
    lab.submit("-r", "0,1", "-n", 400, "-t", 2, "-b", 10, "-w")
    lab.wait_idle()
    s = balance(g, "full")
    lab.equal(s["written"], 2400, "written")
    lab.check(s["overwritten"] > 1000, "overwritten: %r" % s)

    lab.step("then a reader drains it")
    reader = events.Reader()
    found = reader.drain()
    s = balance(g, "drained")
    lab.equal(s["pending"], 0, "pending")
    lab.equal((len(events.real(found)), events.lost(found)), (s["delivered"], s["overwritten"]),
              "records and LOST against delivered and overwritten")
    lab.equal(len({(e.context, e.seqno, e.event) for e in events.real(found)}), s["delivered"],
              "records, none twice")

    lab.step("a slow reader under load")
    first, found = s, []
    load = lab.submitter("-r", "0,1", "-n", 500, "-t", 2, "-b", 10, "-w")
    while load.poll() is None:
        found += reader.read(2 * events.LAYOUT.size) or []
        # The numbers are not from one instant while events are written, and only agree at rest.
        now = g.event_ring()
        lab.equal(now["delivered"], first["delivered"] + len(events.real(found)), "delivered")
        for name in "written", "overwritten":
            lab.check(now[name] >= s[name], "%s went back: %r, %r" % (name, s, now))
        lab.check(now["written"] >= now["delivered"] + now["pending"] + now["overwritten"],
                  "more than were written: %r" % now)
        s = now
    lab.wait_idle()
    found += reader.drain()
    s = balance(g, "after the load")
    lab.equal(s["written"], 2400 + 3000, "written")
    lab.equal((first["delivered"] + len(events.real(found)),
               first["overwritten"] + events.lost(found)), (s["delivered"], s["overwritten"]),
              "records and LOST against delivered and overwritten, with a slow reader")
    lab.check(len(events.real(found)) > 20, "only %d were read" % len(events.real(found)))
    print("%d read, %d lost" % (len(events.real(found)), events.lost(found)))
    reader.close()

    lab.step("two readers share the records")
    g.event_ring_set(enabled=0)
    g.event_ring_set(enabled=1, size_kib=1024)
    readers = [events.Reader(), events.Reader()]
    shares = [[], []]
    load = lab.submitter("-r", "0,1", "-n", 300, "-b", 5, "-w")
    while load.poll() is None:
        for share, reader in zip(shares, readers):
            share += reader.read(8 * events.LAYOUT.size) or []
    lab.wait_idle()
    for share, reader in zip(shares, readers):
        share += reader.read(32 * events.LAYOUT.size) or []
    shares[0] += readers[0].drain()
    both = [(e.context, e.seqno, e.event) for e in shares[0] + shares[1]]
    lab.equal((len(both), len(set(both))), (900, 900), "records of both, and those that differ")
    lab.check(shares[0] and shares[1], "each got some")
    balance(g, "two readers")

    lab.step("refused: a size for a ring that is on, too small a buffer")
    for size, enabled in (16, None), (16, 1):
        try:
            g.event_ring_set(enabled=enabled, size_kib=size)
        except OSError as e:
            lab.equal((e.errno, "switch the event ring off" in e.message), (16, True), "size")
        else:
            lab.fail("the size of a ring that is on was changed")
    try:
        os.read(readers[0].fd, events.LAYOUT.size - 1)
    except OSError as e:
        lab.equal(e.errno, 22, "a read of less than a record")
    else:
        lab.fail("a read of less than a record was not refused")
    for reader in readers:
        reader.close()
