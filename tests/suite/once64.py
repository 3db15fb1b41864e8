#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=arm64 timeout=300
"""On 32 bits a 64-bit word that another CPU changes is read whole, in each way that gpumon reads it."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab

if struct.calcsize("P") == 8:
    lab.skip("a processor with 64 bits reads such a word by one load")

WAYS = ("once", "acquire and release", "exchange", "in halves", "plain")
HALVES = 3


def torn(way):
    """Reads of a value that was never written, and all reads, until the reader has seen the word change."""
    lab.run("insmod", lab.BUILD + "/tests/suite/once64/once64.ko", "way=%d" % way)
    parameters = "/sys/module/once64/parameters/"
    found = int(lab.read(parameters + "torn")), int(lab.read(parameters + "reads"))
    lab.run("rmmod", "once64")
    return found


for way, name in enumerate(WAYS):
    lab.step(name)
    bad, reads = torn(way)
    print("%d of %d reads are torn" % (bad, reads))
    if way == HALVES:
        # Or this VM could not show one.
        lab.check(bad, "two accesses were never torn")
    elif name != "plain":
        lab.equal(bad, 0, "torn reads")
