# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Records of the event ring, as kmod/uapi/gpumon_event.h has them."""
import os
import select
import struct
from collections import namedtuple

import lab

LAYOUT = struct.Struct("=QQQQQHHHHIIIIiI16s")
Event = namedtuple("Event", "time context seqno arg arg2 event cpu flags ring pid tid "
                            "queue_depth hw_depth error reserved comm")
LOST, QUEUE, RUN, DONE, WAIT, KILLED, ERROR = range(7)
SUBMITTER, LATENCY = 1, 2
UNKNOWN = 0xffffffff


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
        """All that is there now."""
        found = []
        while True:
            more = self.read()
            if not more:
                return found
            found += more

    def poll(self, milliseconds):
        """What poll() says, 0 if the time passed."""
        p = select.poll()
        p.register(self.fd, select.POLLIN)
        said = p.poll(milliseconds)
        return said[0][1] if said else 0

    def close(self):
        os.close(self.fd)


def lost(events):
    """Number of events that LOST records stand for."""
    return sum(e.arg for e in events if e.event == LOST)


def real(events):
    return [e for e in events if e.event != LOST]
