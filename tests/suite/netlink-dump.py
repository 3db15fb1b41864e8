#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest timeout=180
"""Dumps that do not fit into one buffer: complete, and flagged where rings come meanwhile.

64 rings with all their histograms take many datagrams; a socket with a small
receive buffer makes the kernel stop in between, so that the test can change
the table right there.
"""
import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from gpumon_netlink import (NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NLMSG_DONE,
                            NLMSG_ERROR, Gpumon, Socket, histograms_of_row, ring_of_row,
                            tables_of)
from gpumon_netlink import RINGS as TABLE
from lab import check, equal, load, step, submit, wait_idle

DEVICES, RINGS = 4, 16
PART = 16384
load(devices=DEVICES, rings=RINGS, distribution="exponential", service_ns=50000,
     gpumon={"max_rings": 80})
g = Gpumon()


def slow_dump(op, space, between=None):
    """(answers, datagrams, interrupted); between() runs after the first datagram.

    The kernel fills its buffers ahead as far as the socket takes them, and the
    rest only when this reads on.
    """
    # The kernel makes parts as large as the largest buffer that the socket was ever read with.
    with Socket() as slow:
        slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        seq = slow.seq + 1
        slow.send(slow.build(g.id, g.command(op), b"", NLM_F_REQUEST | NLM_F_ACK | NLM_F_DUMP))
        answers, datagrams, interrupted = [], 0, False
        while True:
            messages = slow.receive(PART)
            datagrams += 1
            for m in messages:
                equal(m.seq, seq, "sequence number")
                interrupted |= bool(m.flags & NLM_F_DUMP_INTR)
                if m.kind in (NLMSG_DONE, NLMSG_ERROR):
                    equal(m.error, 0, "end of the dump of " + op)
                    if m.kind == NLMSG_DONE:
                        return answers, datagrams, interrupted
                    continue
                answers.append(g.decode(space, m.payload[4:]))
            if between and datagrams == 1:
                between()


step("%d rings with latencies spread over many buckets" % (DEVICES * RINGS - 1))
targets = ["mock_gpu.%d ring%d" % (d, r) for d in range(DEVICES) for r in range(RINGS)]
for device in range(DEVICES):
    # The last ring of the last device stays unknown for now.
    names = ",".join(map(str, range(RINGS - (device == DEVICES - 1))))
    for count in (1, 8, 32):
        submit("-d", device, "-r", names, "-n", count * RINGS, "-b", 4, "-w")
wait_idle()
rings = g.rings()
equal(sorted("%s %s" % (r["device"], r["name"]) for r in rings), sorted(targets[:-1]), "rings")

step("complete, in several datagrams, the same each time")
whole = g.histograms()
answers, datagrams, interrupted = slow_dump("STATISTIC_GET", "STATISTIC")
rows = tables_of(answers)[TABLE]
equal([ring_of_row(row) for row in rows], rings, "dump in small parts against one in large parts")
answers = [h for row in rows for h in histograms_of_row(row)]
step("%d histograms with %d buckets in %d datagrams" %
     (len(answers), sum(len(h["bucket"]) for h in answers), datagrams))
check(datagrams > 8, "the rows came in %d datagrams, nothing was shown" % datagrams)
check(not interrupted, "flagged, but nothing changed")
equal(answers, whole, "dump in small parts against one in large parts")
equal(sorted((h["ring_id"], h["name"]) for h in answers),
      sorted((r["id"], n) for r in rings for n in ("queue_ns", "run_ns")),
      "two histograms for each ring, each once")
counts = {(h["ring_id"], h["name"]): h["count"] for h in answers}
for r in rings:
    equal((counts[r["id"], "queue_ns"], counts[r["id"], "run_ns"]), (r["run"], r["done"]),
          "latencies of %s %s" % (r["device"], r["name"]))
for h in answers:
    equal(sum(b["count"] for b in h["bucket"]), h["count"], "count of a histogram")

step("a ring comes during a dump")


def come():
    submit("-d", DEVICES - 1, "-r", RINGS - 1, "-n", 1, "-w")
    wait_idle()


answers, _, interrupted = slow_dump("STATISTIC_GET", "STATISTIC", come)
check(interrupted, "a ring came during the dump, which is not flagged (%d rings)" % len(answers))
equal(len(g.rings()), DEVICES * RINGS, "rings now")
equal(sorted({r["row"] for r in answers if r["table"] == "rings"} - {r["id"] for r in g.rings()}), [],
      "ids of no ring")

step("a reset comes during a dump")
_, _, interrupted = slow_dump("STATISTIC_GET", "STATISTIC", g.reset)
check(interrupted, "a reset came during the dump, which is not flagged")

step("a dump of the period that a reset closes on the way")
submit("-d", "all", "-r", "all", "-n", 2 * DEVICES * RINGS, "-w")
wait_idle()
closed = g.reset()["closed"]
frozen = {(r["device"], r["name"]): r["queued"] for r in g.rings(closed)}
submit("-d", "all", "-r", "all", "-n", DEVICES * RINGS, "-w")
wait_idle()
equal({(r["device"], r["name"]): r["queued"] for r in g.rings(closed)}, frozen,
      "closed period while jobs run")
equal(sum(frozen.values()), 2 * DEVICES * RINGS, "jobs of the closed period")

step("dumps that nobody reads to the end")
for _ in range(20):
    with Socket() as gone:
        gone.send(gone.build(g.id, g.command("STATISTIC_GET"), b"",
                             NLM_F_REQUEST | NLM_F_ACK | NLM_F_DUMP))
        gone.receive(PART)
equal(len(g.histograms()), DEVICES * RINGS * 2, "histograms afterwards")

step("processes, more than fit into one buffer")
g.reset()
submit("-p", 200, "-n", 1, "-w", timeout=600)
wait_idle()
answers, datagrams, _ = slow_dump("PROCESS_GET", "PROCESS")
check(datagrams > 2, "the processes came in %d datagrams" % datagrams)
equal(sum(1 for p in answers if p["jobs"]), 200, "processes with a job in this period")
equal(sum(p["jobs"] for p in answers), 200, "their jobs")
step("done")
