# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A screen that is switched on: the first connected one of a card, in its first mode.

    with kms.Screen("card0") as screen:
        screen.flip(user_data=7)

Only as much of KMS as it takes to make a real driver's vblanks come.
"""
import ctypes
import fcntl
import os
import struct

import lab

CONNECTED = 1
FLIP_EVENT = 1
MODE_SIZE = 68


def _iowr(number, size):
    return 3 << 30 | size << 16 | ord("d") << 8 | number


def _ioctl(fd, number, data):
    fcntl.ioctl(fd, _iowr(number, len(data)), data)
    return data


class Screen:
    def __init__(self, card):
        self.card = card
        self.fd = os.open("/dev/dri/" + card, os.O_RDWR | os.O_CLOEXEC)
        crtcs, connectors = self._resources()
        for self.connector in connectors:
            self.mode = self._mode()
            if self.mode:
                break
        else:
            os.close(self.fd)
            lab.fail("nothing is connected to " + card)
        self.pipe, self.crtc = 0, crtcs[0]
        self.width, = struct.unpack_from("=H", self.mode, 4)
        self.height, = struct.unpack_from("=H", self.mode, 14)
        self.buffers = [self._buffer(), self._buffer()]
        self.shown = 0
        self._set(self.buffers[0])

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        """The screen goes off when its last user closes it."""
        os.close(self.fd)

    def row(self):
        """What vblank.Client needs."""
        return {"card": self.card, "crtc": self.pipe, "crtc_id": self.crtc}

    def _resources(self):
        data = _ioctl(self.fd, 0xa0, bytearray(64))
        counts = struct.unpack_from("=4I", data, 32)
        arrays = [(ctypes.c_uint32 * max(n, 1))() for n in counts]
        # Do not request framebuffers and encoders.
        struct.pack_into("=4Q4I", data, 0, 0, ctypes.addressof(arrays[1]),
                         ctypes.addressof(arrays[2]), 0, 0, counts[1], counts[2], 0)
        _ioctl(self.fd, 0xa0, data)
        return list(arrays[1][:counts[1]]), list(arrays[2][:counts[2]])

    def _mode(self):
        """The first mode of self.connector; None if nothing is connected there."""
        data = bytearray(80)
        struct.pack_into("=I", data, 48, self.connector)
        _ioctl(self.fd, 0xa7, data)
        modes, = struct.unpack_from("=I", data, 32)
        if struct.unpack_from("=I", data, 60)[0] != CONNECTED or not modes:
            return None
        array = (ctypes.c_char * (MODE_SIZE * modes))()
        data = bytearray(80)
        struct.pack_into("=Q", data, 8, ctypes.addressof(array))
        struct.pack_into("=I", data, 32, modes)
        struct.pack_into("=I", data, 48, self.connector)
        _ioctl(self.fd, 0xa7, data)
        return array.raw[:MODE_SIZE]

    def _buffer(self):
        data = bytearray(struct.pack("=6IQ", self.height, self.width, 32, 0, 0, 0, 0))
        _ioctl(self.fd, 0xb2, data)
        handle, pitch = struct.unpack_from("=2I", data, 16)
        data = bytearray(struct.pack("=7I", 0, self.width, self.height, pitch, 32, 24, handle))
        return struct.unpack_from("=I", _ioctl(self.fd, 0xae, data))[0]

    def _set(self, buffer):
        connector = (ctypes.c_uint32 * 1)(self.connector)
        _ioctl(self.fd, 0xa2, bytearray(
            struct.pack("=Q7I", ctypes.addressof(connector), 1, self.crtc, buffer, 0, 0, 0, 1) +
            self.mode))

    def flip(self, user_data=0):
        """Show the other buffer from the next vblank on; an event comes on self.fd."""
        self.shown ^= 1
        _ioctl(self.fd, 0xb0, bytearray(struct.pack("=4IQ", self.crtc, self.buffers[self.shown],
                                                    FLIP_EVENT, 0, user_data)))

    def flipped(self):
        """Wait for the event of a flip; its user_data."""
        return struct.unpack_from("=Q", os.read(self.fd, 1024), 8)[0]
