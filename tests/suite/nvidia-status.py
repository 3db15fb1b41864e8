#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest tool icount cpus=2
"""The resource manager's own errors: calls that return 0 with a status, by the module and by BPF."""
import fcntl
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import nvidia
import nvidia_real
import nvidia_stats
import source_bpf

# Nothing has this number in the mock.
NONE = 0x7fff


def command(number, size):
    return 3 << 30 | size << 16 | ord("F") << 8 | number


# (command, place of the object that it is about, place of the status or None)
FREE, CONTROL, ALLOC, MAP, CARD_INFO = ((command(0x29, 16), 8, 12), (command(0x2a, 32), 8, 28),
                                        (command(0x2b, 32), 12, 28), (command(0x4e, 56), 8, 40),
                                        (command(200, 8 * 72), 8, None))
# An argument that is too small for it.
SHORT = command(0x2a, 16), 8, 12


def call(of, about, times, before=0):
    """Calls with an object; before is what the argument has where the status will be."""
    number, at, status = of
    failed = 0
    for _ in range(times):
        argument = bytearray(number >> 16 & 0x3fff)
        argument[at:at + 4] = about.to_bytes(4, "little")
        if status is not None:
            argument[status:status + 4] = before.to_bytes(4, "little")
        try:
            fcntl.ioctl(CTL, number, argument)
        except OSError:
            failed += 1
    return failed


nvidia.load("580", real_commands=1)
lab.load_gpumon()
nvidia_real.make_node("nvidiactl", 195, 255)
CTL = os.open("/dev/nvidiactl", os.O_RDWR)
# On a busy machine a call may be lost for BPF. It is tried again then.
source_bpf.need()
for attempt in range(5):
    lab.step("calls that the resource manager refuses, and others")
    if attempt:
        lab.rmmod("gpumon")
        lab.load_gpumon()
    counting = source_bpf.Counting()
    failed = (call(CONTROL, NONE, 3), call(CONTROL, 0, 4, before=7), call(FREE, NONE, 1, before=5),
              call(ALLOC, NONE, 2), call(ALLOC, 0x41, 5), call(MAP, NONE, 6),
              call(CARD_INFO, NONE, 2), call(SHORT, NONE, 8, before=9))
    document = counting.end()
    lab.equal(failed, (0,) * 7 + (8,), "calls that return an error")
    expected = {CONTROL: (7, 0, 3), FREE: (1, 0, 0), ALLOC: (7, 0, 2), MAP: (6, 0, 6),
                CARD_INFO: (2, 0, 0), SHORT: (8, 8, 0)}
    expected = {"0x%08x" % number: counts for (number, _, _), counts in expected.items()}

    def counts(rows):
        return {c: (row["ioctls"], row["failed"], row["rm_failed"]) for c, row in rows.items()}

    lab.equal(counts(nvidia_stats.table("ioctls", "command")), expected, "commands of the module")
    if not source_bpf.calls_lost(document):
        lab.equal(counts(source_bpf.table(document, "nvidia", "ioctls", "command")), expected,
                  "commands by BPF")
        break
else:
    lab.fail("BPF lost calls five times")
os.close(CTL)
lab.rmmod("gpumon")
nvidia.unload()
