#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest timeout=120
"""A reader whose memory is missing (a page that another process has to provide) blocks no other.
"""
import ctypes
import errno
import fcntl
import os
import select
import struct
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from gpumon_netlink import Gpumon
from lab import EVENTS, SYSTEM_CALLS, check, equal, load, skip, step, submit, wait_idle

UFFDIO_API, UFFDIO_REGISTER, UFFDIO_ZEROPAGE = 0xc018aa3f, 0xc020aa00, 0xc020aa04
API, MODE_MISSING = 0xaa, 1
PAGE = os.sysconf("SC_PAGE_SIZE")
BYTES, RECORD = 4096, 88
# A loss gets a record of its own, for which room is reserved.
RECORDS = BYTES // RECORD - 1

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.read.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
libc.read.restype = ctypes.c_ssize_t


class Stuck:
    """A read of events into a page that is missing: the reader waits in the middle."""

    def __init__(self):
        self.fault = libc.syscall(SYSTEM_CALLS["userfaultfd"], os.O_CLOEXEC | os.O_NONBLOCK)
        if self.fault < 0:
            skip("userfaultfd: " + os.strerror(ctypes.get_errno()))
        fcntl.ioctl(self.fault, UFFDIO_API, bytearray(struct.pack("=QQQ", API, 0, 0)))
        self.page = libc.mmap(None, PAGE, 3, 0x22, -1, 0)
        fcntl.ioctl(self.fault, UFFDIO_REGISTER,
                    bytearray(struct.pack("=QQQQ", self.page, PAGE, MODE_MISSING, 0)))
        self.fd = os.open(EVENTS, os.O_RDONLY | os.O_NONBLOCK)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()
        check(select.select([self.fault], [], [], 30)[0], "the reader does not wait for its page")

    def read(self):
        self.bytes = libc.read(self.fd, self.page, BYTES)
        self.error = ctypes.get_errno()

    def end(self):
        self.thread.join(30)
        check(not self.thread.is_alive(), "the reader does not come back")
        os.close(self.fd)

    def give_page(self):
        fcntl.ioctl(self.fault, UFFDIO_ZEROPAGE,
                    bytearray(struct.pack("=QQQQ", self.page, PAGE, 0, 0)))
        self.end()
        os.close(self.fault)

    def take_page_away(self):
        libc.munmap(self.page, PAGE)
        os.close(self.fault)
        self.end()


def account(written, delivered, pending, dropped=0):
    ring = g.event_ring()
    equal((ring["written"], ring["delivered"], ring["pending"], ring["overwritten"],
           ring["dropped"]), (written, delivered, pending, 0, dropped), "the ring's account")


load(devices=1, rings=2)
g = Gpumon()
g.event_ring_set(1)
submit("-n", 40, "-w")
wait_idle()

step("while a reader waits for its page the ring can be asked, switched and read")
reader = Stuck()
account(120, RECORDS, 120 - RECORDS)
with open(EVENTS, "rb", buffering=0) as other:
    equal(len(other.read(1 << 16)), (120 - RECORDS) * RECORD, "bytes of another reader")
account(120, 120, 0)
g.event_ring_set(0)
g.event_ring_set(1)
submit("-n", 10, "-w")
wait_idle()
account(30, 0, 30)
reader.give_page()
equal(reader.bytes, RECORDS * RECORD, "bytes that the reader gets")
account(30, 0, 30)

step("what does not reach its reader is counted as dropped")
reader = Stuck()
account(30, 30, 0)
reader.take_page_away()
equal((reader.bytes, errno.errorcode.get(reader.error)), (-1, "EFAULT"), "the read")
account(30, 0, 0, 30)

step("but not in the account of a ring that was switched on meanwhile")
submit("-n", 10, "-w")
wait_idle()
reader = Stuck()
g.event_ring_set(0)
g.event_ring_set(1)
submit("-n", 5, "-w")
wait_idle()
reader.take_page_away()
account(15, 0, 15)
g.event_ring_set(0)
step("done")
