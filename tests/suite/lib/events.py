# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Records of the event ring, as kmod/uapi/gpumon_event.h has them."""
import os
import re
import select
import struct
import time
from collections import namedtuple

import lab

LAYOUT = struct.Struct("=QQQQQHHHHIIIIiI16s")
Event = namedtuple("Event", "time context seqno arg arg2 event cpu flags ring pid tid "
                            "queue_depth hw_depth error reserved comm")
LOST, QUEUE, RUN, DONE, WAIT, KILLED, ERROR = range(7)
SUBMITTER, LATENCY = 1, 2
UNKNOWN = 0xffffffff
with open(os.path.join(lab.BUILD, "kmod/uapi/gpumon_event.h")) as header:
    KINDS = len(re.findall(r"(?m)^\tX\(\d+, GPUMON_EVENT_", header.read()))


class Reader:
    """An open gpumon/events."""

    def __init__(self, blocking=False):
        self.fd = os.open(lab.EVENTS, os.O_RDONLY | (0 if blocking else os.O_NONBLOCK))

    def read(self, size=1024 * LAYOUT.size):
        """Records; [] at the end, None if there is nothing now."""
        try:
            data = os.read(self.fd, size)
        except BlockingIOError:
            return None
        lab.equal(len(data) % LAYOUT.size, 0, "a part of a record")
        found = []
        for parts in LAYOUT.iter_unpack(data):
            event = Event(*parts)
            found.append(event._replace(comm=event.comm.split(b"\0")[0].decode()))
        return found

    def drain(self):
        """Everything available now."""
        found = []
        while True:
            more = self.read()
            if not more:
                return found
            found += more

    def poll(self, milliseconds):
        """The result of poll(), 0 on timeout."""
        p = select.poll()
        p.register(self.fd, select.POLLIN)
        said = p.poll(milliseconds)
        return said[0][1] if said else 0

    def close(self):
        os.close(self.fd)


def lost(events):
    """Number of events that LOST records stand for."""
    return sum(e.arg for e in events if e.event == LOST)


def problem(e):
    """Why such a record cannot have been written; None if it can."""
    if e.reserved or e.flags & ~(SUBMITTER | LATENCY):
        return "reserved bits"
    if not 0 <= e.event < KINDS:
        return "no such event"
    if not 0 < e.time <= time.monotonic_ns():
        return "not a time of the past"
    if e.cpu >= os.cpu_count() and e.cpu >= os.sysconf("SC_NPROCESSORS_CONF"):
        return "no such CPU"
    if e.event == LOST:
        return None if e.arg and not e.context and not e.flags else "nothing is lost"
    if bool(e.pid) != bool(e.tid):
        return "a process without a thread"
    if not e.flags & SUBMITTER and (e.pid or e.comm):
        return "a submitter that is none"
    if e.flags & SUBMITTER and e.event == QUEUE and not (e.pid and e.comm):
        return "a submitter without a name"
    if e.event > ERROR:
        return None if not e.error else "an error of what has none"
    if not e.context or not e.seqno or e.ring >= 1024:
        return "no job, or no ring"
    if not -4095 <= e.error <= 0:
        return "no errno"
    if e.flags & LATENCY and e.arg > 3600 * 10 ** 9:
        return "a latency of hours"
    return None


def real(events):
    return [e for e in events if e.event != LOST]
