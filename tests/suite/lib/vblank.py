# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Displays without hardware (fire_vblank.ko), and real clients of their vblanks.

    vblank.load(devices=2, crtcs=2, refresh_hz=120)
    vblank.command("skip", 0, 1, 3)
    with vblank.Client(vblank.account()[0, 1]) as client:
        client.wait_event(sequence=2, user_data=7)
        event = client.event()
    vblank.unload()

The commands are in tests/mock/README.md.
"""
import fcntl
import os
import select
import struct
from collections import namedtuple

import lab

FOLDER = lab.DEBUGFS + "/fire_vblank"

# As in include/uapi/drm/drm.h: _IOWR('d', NUMBER, size)
WAIT_VBLANK = 0xc018643a
CRTC_GET_SEQUENCE = 0xc018643b
CRTC_QUEUE_SEQUENCE = 0xc018643c
RELATIVE, NEXT_ON_MISS, EVENT = 1, 1 << 28, 1 << 26
SEQUENCE_RELATIVE, SEQUENCE_NEXT_ON_MISS = 1, 2
EVENT_VBLANK, EVENT_SEQUENCE = 1, 3
# Kinds of events, and what follows (type, length): user_data and the rest.
LAYOUT = {EVENT_VBLANK: struct.Struct("=QIIII"), EVENT_SEQUENCE: struct.Struct("=QqQ")}

# time_ns is the time of the vblank; only microseconds with EVENT_VBLANK.
Event = namedtuple("Event", "type user_data time_ns sequence crtc_id")
Record = namedtuple("Record", "device crtc seq time_ns handled_ns missed")


def load(**parameters):
    lab.run("modprobe", "drm")
    lab.insmod("fire_vblank", **parameters)


def unload():
    lab.rmmod("fire_vblank")


def command(*words):
    """VERB DEVICE CRTC [NUMBER...]; OSError if it is refused."""
    with open(FOLDER + "/command", "w") as f:
        f.write(" ".join(map(str, words)))


def account():
    """{(device, crtc): {column: value}}, device and crtc as numbers."""
    lines = lab.read(FOLDER + "/account").splitlines()
    columns = lines[0].split()
    rows = {}
    for line in lines[1:]:
        row = dict(zip(columns, [lab.value(w) for w in line.split()]))
        rows[int(row["device"].split(".")[1]), row["crtc"]] = row
    return rows


def log(device=None, crtc=None):
    """Records of the vblanks that the log still has, the oldest first."""
    lines = lab.read(FOLDER + "/log").splitlines()
    records = []
    for line in lines[2:]:
        name, *numbers = line.split()
        records.append(Record(int(name.split(".")[1]), *map(int, numbers)))
    lab.equal(int(lines[0].split()[1]), len(records), "vblanks, all of which should be in the log")
    return [r for r in records if device in (None, r.device) and crtc in (None, r.crtc)]


class Client:
    """An open DRM device that asks for events of one of its displays.

    queued and delivered count what this client asked for and what it read.
    """

    def __init__(self, row):
        self.pipe, self.crtc_id = row["crtc"], row["crtc_id"]
        self.fd = os.open("/dev/dri/" + row["card"], os.O_RDWR | os.O_CLOEXEC)
        self.queued = self.delivered = 0
        self.unread = []

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        """The kernel forgets queued events: they are never delivered."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    def fileno(self):
        return self.fd

    def wait(self, sequence=1, relative=True):
        """Sleep until a vblank; its (sequence, time in ns)."""
        kind = (RELATIVE if relative else 0) | self.pipe << 1
        data = bytearray(struct.pack("=IIQQ", kind, sequence, 0, 0))
        fcntl.ioctl(self.fd, WAIT_VBLANK, data)
        _, reached, seconds, micro = struct.unpack("=IIqq", data)
        return reached, seconds * 1000000000 + micro * 1000

    def wait_event(self, sequence=1, relative=True, user_data=0, next_on_miss=False):
        """Ask for an event by DRM_IOCTL_WAIT_VBLANK; the sequence that it will come with."""
        kind = EVENT | (RELATIVE if relative else 0) | self.pipe << 1
        kind |= NEXT_ON_MISS if next_on_miss else 0
        data = bytearray(struct.pack("=IIQQ", kind, sequence, user_data, 0))
        fcntl.ioctl(self.fd, WAIT_VBLANK, data)
        self.queued += 1
        return struct.unpack_from("=II", data)[1]

    def queue_sequence(self, sequence=1, relative=True, user_data=0):
        """Ask for an event by DRM_IOCTL_CRTC_QUEUE_SEQUENCE; the sequence."""
        flags = SEQUENCE_RELATIVE if relative else 0
        data = bytearray(struct.pack("=IIQQ", self.crtc_id, flags, sequence, user_data))
        fcntl.ioctl(self.fd, CRTC_QUEUE_SEQUENCE, data)
        self.queued += 1
        return struct.unpack("=IIQQ", data)[2]

    def sequence(self):
        """(whether it is on, sequence, time in ns) by DRM_IOCTL_CRTC_GET_SEQUENCE."""
        data = bytearray(struct.pack("=IIQq", self.crtc_id, 0, 0, 0))
        fcntl.ioctl(self.fd, CRTC_GET_SEQUENCE, data)
        _, active, sequence, time = struct.unpack("=IIQq", data)
        return bool(active), sequence, time

    def event(self, timeout=60):
        """The next event; None on timeout."""
        if not self.unread:
            if not select.select([self.fd], [], [], timeout)[0]:
                return None
            self._parse(os.read(self.fd, 4096))
        self.delivered += 1
        return self.unread.pop(0)

    def events(self, count, timeout=60):
        """That many events, or the test fails."""
        found = []
        while len(found) < count:
            event = self.event(timeout)
            lab.check(event, "%d of %d events came" % (len(found), count))
            found.append(event)
        return found

    def _parse(self, data):
        at = 0
        while at < len(data):
            kind, length = struct.unpack_from("=II", data, at)
            user_data, *rest = LAYOUT[kind].unpack_from(data, at + 8)
            if kind == EVENT_VBLANK:
                seconds, micro, sequence, crtc_id = rest
                event = Event(kind, user_data, seconds * 1000000000 + micro * 1000, sequence,
                              crtc_id)
            else:
                event = Event(kind, user_data, rest[0], rest[1], self.crtc_id)
            self.unread.append(event)
            at += length
