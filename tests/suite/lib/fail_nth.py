# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""System calls of this thread in which the kernel's nth allocation fails: /proc/self/fail-nth.

Needs a kernel with CONFIG_FAULT_INJECTION; available() says what is missing. How failures
are injected is set up in debugfs: every allocation that may fail at all, also single pages,
and every copy from and to userspace.
"""
import ctypes
import os

from lab import BUILD, DEBUGFS

COUNTER = "/proc/self/fail-nth"
# fail_usercopy: to also try reads that fault half-way.
ATTRIBUTES = ("failslab", "fail_page_alloc", "fail_usercopy")
ARGUMENTS = 6
# More than any operation has.
MOST = 1 << 30

OPEN, READ, CLOSE, SENDTO, RECVFROM, FINIT_MODULE, DELETE_MODULE = 2, 0, 3, 44, 45, 313, 176


class Call(ctypes.Structure):
    _fields_ = [("number", ctypes.c_long), ("arguments", ctypes.c_long * ARGUMENTS),
                ("until_end", ctypes.c_int), ("take_result", ctypes.c_int),
                ("done", ctypes.c_long), ("end", ctypes.c_int), ("tries", ctypes.c_int)]


def call(number, *arguments, until_end=False, take_result=False):
    values = [ctypes.cast(a, ctypes.c_void_p).value or 0
              if isinstance(a, (ctypes.Array, ctypes.c_char_p)) else int(a) for a in arguments]
    made = Call(number=number, until_end=until_end, take_result=take_result)
    for i, value in enumerate(values):
        made.arguments[i] = value
    # The buffers must live as long as the call.
    made.kept = arguments
    return made


def available():
    """None, or the reason why no failure can be injected here."""
    if not os.path.exists(COUNTER):
        return "this kernel has no /proc/self/fail-nth (CONFIG_FAULT_INJECTION)"
    if not os.path.exists(DEBUGFS + "/failslab"):
        return "this kernel has no /sys/kernel/debug/failslab (CONFIG_FAILSLAB)"
    return None


def function(name):
    """(start, end) of a function of the kernel, None if it has no such one."""
    addresses = set()
    start = None
    with open("/proc/kallsyms") as f:
        for line in f:
            address, kind, symbol = line.split()[:3]
            if "[" in line:
                break
            if kind in "tT":
                addresses.add(int(address, 16))
                if symbol == name:
                    start = int(address, 16)
    above = [a for a in addresses if start is not None and a > start]
    return (start, min(above)) if start and above else None


def _write(path, value):
    if os.path.exists(path):
        with open(path, "w") as f:
            f.write(value)


class Injector:
    """Makes calls with failures in them."""

    def __init__(self):
        self.library = ctypes.CDLL(BUILD + "/tests/suite/fail_nth.so")
        self.library.fail_nth.restype = ctypes.c_long
        self.counter = os.open(COUNTER, os.O_RDWR)
        for name in ATTRIBUTES:
            base = "%s/%s/" % (DEBUGFS, name)
            for key, value in (("ignore-gfp-wait", "N"), ("ignore-gfp-highmem", "Y"),
                               ("cache-filter", "N"), ("min-order", "0"), ("verbose", "2"),
                               ("verbose_ratelimit_interval_ms", "0"), ("task-filter", "N"),
                               ("stacktrace-depth", "64")):
                _write(base + key, value)
        # Its own stack, heap and code must be present: faults of our own pages are not tested.
        ctypes.CDLL(None, use_errno=True).mlockall(3)
        self.only()

    def only(self, callers=None, without=None):
        """Count only places with (or without) a function in the range (start, end) among their
        callers.
        """
        start, end = callers or (0, (1 << 64) - 1)
        reject_start, reject_end = without or (0, 0)
        for name in ATTRIBUTES:
            base = "%s/%s/" % (DEBUGFS, name)
            _write(base + "require-start", "0x%x" % start)
            _write(base + "require-end", "0x%x" % end)
            _write(base + "reject-start", "0x%x" % reject_start)
            _write(base + "reject-end", "0x%x" % reject_end)

    def has_filter(self):
        return os.path.exists(DEBUGFS + "/failslab/require-start")

    def run(self, n, calls):
        """(injected, how many places there were); with n = 0 nothing is injected."""
        array = (Call * len(calls))(*calls)
        left = self.library.fail_nth(self.counter, n, array, len(calls))
        for ours, theirs in zip(calls, array):
            ours.done, ours.end, ours.tries = theirs.done, theirs.end, theirs.tries
        return n > 0 and not left, n - left

    def places(self, calls):
        """Run without a failure: how many places there were."""
        return self.run(MOST, calls)[1]
