#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest tool timeout=120
"""debugfs is for looking: 0400, no writing even as root, any way of reading gives the same text."""
import errno
import os
import re
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import nvidia
import nvidia_stats
from faults import DEBUG_MODULE, parameter
from gpumon_netlink import Gpumon
from lab import (DEBUGFS, PARAMETERS, check, equal, fail, load, read, rings, rmmod, run, stats, step,
                 submit, wait_idle, write_parameter)

DIRECTORY = DEBUGFS + "/gpumon"
FILES = ["events", "histograms", "stats"]
# An address of the kernel's half, and what %p and %px print where they leak.
POINTER = re.compile(r"ffff[0-9a-f]{12}|\b0x[0-9a-f]{8,}|\(ptrval\)|\(____ptrval____\)")

load(devices=4, rings=8, distribution="exponential")
step("what is there")
equal(sorted(os.listdir(DIRECTORY)), FILES, "files")
for name in FILES:
    mode = os.stat("%s/%s" % (DIRECTORY, name))
    equal((stat.S_IMODE(mode.st_mode), mode.st_uid, mode.st_gid, stat.S_ISREG(mode.st_mode)),
          (0o400, 0, 0, True), "mode and owner of " + name)

submit("-d", "all", "-r", "all", "-n", 320, "-p", 4, "-w")
submit("-n", 20, "--fail", "fence", "-w", "-D", "1")
wait_idle()

step("writers, root or not, get nothing in")
before = read(DIRECTORY + "/stats")
for name in FILES:
    path = "%s/%s" % (DIRECTORY, name)
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND):
        try:
            fd = os.open(path, flags | os.O_NONBLOCK)
        except OSError as e:
            check(e.errno in (errno.EACCES, errno.EPERM), "open of %s: %s" % (name, e))
            continue
        for text in (b"0\n", b"reset\n", b"x" * 8192):
            try:
                written = os.write(fd, text)
            except OSError as e:
                check(e.errno in (errno.EINVAL, errno.EBADF, errno.EPERM, errno.EACCES),
                      "write to %s: %s" % (name, e))
            else:
                fail("%s took %d bytes" % (name, written))
        os.close(fd)
for make in (lambda: open(DIRECTORY + "/new", "w"), lambda: os.mkdir(DIRECTORY + "/new"),
             lambda: os.unlink(DIRECTORY + "/stats"),
             lambda: os.rename(DIRECTORY + "/stats", DIRECTORY + "/s")):
    try:
        make()
    except OSError as e:
        check(e.errno in (errno.EPERM, errno.EACCES, errno.EOPNOTSUPP), "changing: %s" % e)
    else:
        fail("the directory can be changed")
equal(sorted(os.listdir(DIRECTORY)), FILES, "files afterwards")


def steady(text):
    """Without the time, the only value that changes when no job runs."""
    return re.sub(r"(?m)^now_ns \d+$", "now_ns", text)


equal(steady(read(DIRECTORY + "/stats")), steady(before), "stats after the writers")

step("any size and any offset give the same text")
for name in ("stats", "histograms"):
    path = "%s/%s" % (DIRECTORY, name)
    whole = read(path).encode()
    check(len(whole) > 4096, "%s has only %d bytes, nothing is shown" % (name, len(whole)))
    # Byte by byte the histograms would take minutes under TCG.
    for size in (1 if name == "stats" else 97, 509, 4095, 4096, 4097, len(whole), 1 << 20):
        fd = os.open(path, os.O_RDONLY)
        text = b""
        while True:
            part = os.read(fd, size)
            if not part:
                break
            check(len(part) <= size, "more than asked for")
            text += part
        # One open file is one look, however it is read.
        equal(steady(text.decode()), steady(whole.decode()), "%s in parts of %d" % (name, size))
        os.close(fd)
    fd = os.open(path, os.O_RDONLY)
    once = os.pread(fd, 1 << 20, 0)
    for offset, size in ((1, 3), (4095, 2), (4096, 4096), (17, 1), (len(once) - 1, 100),
                         (len(once), 10), (len(once) + 4096, 10), (0, 0)):
        got = os.pread(fd, size, offset)
        again = os.pread(fd, 1 << 20, 0)
        equal(len(again), len(once), "length of " + name)
        at = once.find(b"now_ns")
        if not at - size <= offset <= at + 40:
            equal(got, once[offset:offset + size], "%s: %d bytes at %d" % (name, size, offset))
    os.lseek(fd, 100, os.SEEK_SET)
    equal(os.read(fd, 50), once[100:150] if not 50 < once.find(b"now_ns") < 150 else
          os.pread(fd, 50, 100), name + " after a seek")
    os.close(fd)
sections = stats(before)
names = list(sections)
tables = names[5:-4]
equal(names[:5] + names[-4:], ["groups", "missing_options", "probes", "gpumon", "drm_sched.rings",
                               "processes", "event_ring", "memory", "layouts"],
      "sections of stats in their order")
equal(sections["missing_options"], [], "options that this kernel lacks")
groups = [row["group"] for row in sections["groups"]]
equal([t for t in tables if t.split(".")[0] not in groups], [], "tables that are of no group")
equal(len(sections["drm_sched.rings"]), 32, "rings")
heads = re.findall(r"(?m)^drm_sched.rings (\S+) (\S+) (\S+): count (\d+), sum \d+, min \d+, max \d+$",
                   read(DIRECTORY + "/histograms"))
equal(len(heads), 32 * 2, "histograms drawn")
drawn = {(d, r, n): int(c) for d, r, n, c in heads}
for row in sections["drm_sched.rings"]:
    equal(drawn[row["device"], row["ring"], "run_ns"], row["done"], "count of run_ns")

step("events: whole records or an error, and none while it is off")
fd = os.open(DIRECTORY + "/events", os.O_RDONLY | os.O_NONBLOCK)
equal(os.read(fd, 4096), b"", "events while it is off")
g = Gpumon()
g.event_ring_set(1, 256)
for size in (0, 1, 87, 88, 175):
    try:
        got = os.read(fd, size)
    except OSError as e:
        check(e.errno in (errno.EINVAL, errno.EAGAIN), "read of %d bytes: %s" % (size, e))
    else:
        equal(got, b"", "read of %d bytes" % size)
try:
    fail("events before there is one: %r" % os.read(fd, 4096))
except BlockingIOError:
    pass
submit("-n", 50, "-w")
wait_idle()
events = b""
for size in (176, 177, 263, 1000, 1 << 16, 1 << 16):
    try:
        part = os.read(fd, size)
    except BlockingIOError:
        continue
    equal(len(part) % 88, 0, "bytes of a record cut off in a read of %d" % size)
    events += part
equal(len(events) // 88, 150, "events of 50 jobs")
try:
    os.lseek(fd, 0, os.SEEK_SET)
    fail("events can be seeked in")
except OSError as e:
    equal(errno.errorcode[e.errno], "ESPIPE", "seek in events")
os.close(fd)
g.event_ring_set(0)

step("what is written to a parameter does what netlink does")


def enabled():
    return {row["name"]: row["enabled"] for row in g.groups()}["drm_sched"]


def switched(switch):
    """State of the group, jobs counted meanwhile and afterwards."""
    before = sum(row["queued"] for row in rings().values())
    switch(0)
    off = enabled(), read(PARAMETERS + "drm_sched")
    submit("-n", 10, "-w")
    wait_idle()
    missed = sum(row["queued"] for row in rings().values()) - before
    switch(1)
    submit("-n", 10, "-w")
    wait_idle()
    return (off, missed, sum(row["queued"] for row in rings().values()) - before,
            enabled(), read(PARAMETERS + "drm_sched"))


def ended(reset):
    """Periods that it ended, and what is left of the counts."""
    before = g.info()["period"]
    reset()
    return (g.info()["period"] - before, stats()["gpumon"]["period"] - before,
            sum(row["queued"] for row in rings().values()))


def written(name, value):
    equal(write_parameter(name, str(value)), None, "error of a write to " + name)


by_netlink = switched(lambda on: g.group_set("drm_sched", on))
equal(by_netlink, ((0, "N\n"), 0, 10, 1, "Y\n"), "a group that netlink switches")
equal(switched(lambda on: written("drm_sched", on)), by_netlink, "a group that a write switches")
equal(ended(g.reset), (1, 1, 0), "a reset by netlink")
equal(ended(lambda: written("reset", 1)), (1, 1, 0), "a reset by a write")
for name, text in (("drm_sched", "2"), ("reset", "0"), ("reset", "x")):
    equal(write_parameter(name, text), "EINVAL", "%r to %s" % (text, name))

step("no address of the kernel in any text")
texts = read(DIRECTORY + "/stats") + read(DIRECTORY + "/histograms")
found = POINTER.search(texts)
check(not found, "an address: %r" % (found and found.group(0)))
check(POINTER.search("x ffff888100a0b0c0 y"), "the expression finds nothing at all")
# In records an address is eight bytes whose upper two are ff: no field of them looks like that.
for at in range(0, len(events), 8):
    check(events[at + 6:at + 8] != b"\xff\xff" or events[at:at + 8] == b"\xff" * 8,
          "an address in an event: %s" % events[at:at + 8][::-1].hex())

step("what is counted no more is unknown in the same way everywhere")
g.close()
rmmod("gpumon")
nvidia.load("580")
run("insmod", DEBUG_MODULE)
nvidia.workload("--processes", 1, "--compat", 0)
NUMBERS = ("ioctls", "duration_ns_count", "duration_ns_p50", "duration_ns_p99")


def numbers():
    """A row's numbers are known, are unknown; is it drawn?"""
    rows = nvidia_stats.table("ioctls", "command").values()
    with Gpumon() as g:
        told = g.statistics()["nvidia.ioctls"]
    return ({row[n] is not None for row in rows for n in NUMBERS},
            {row["duration_ns"] is not None for row in told},
            "\nnvidia.ioctls " in read(DIRECTORY + "/histograms"))


equal(numbers(), ({True}, {True}, True), "numbers while it is counted")
with Gpumon() as g:
    g.group_set("nvidia", 0)
    parameter("fail_registrations", 1000)
    parameter("fail_registration", 1)
    g.group_set("nvidia", 1)
equal(numbers(), ({False}, {False}, False), "numbers when no probe can be attached")
rmmod("gpumon")
nvidia.unload()
step("done")
