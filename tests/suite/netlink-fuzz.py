#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: timeout=240
"""Thousands of wrong and half-right netlink messages: refused or answered, never worse.

Seeded: GPUMON_FUZZ_SEED=N repeats a run, GPUMON_FUZZ_MESSAGES=N makes it longer.
"""
import collections
import errno
import os
import random
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from gpumon_netlink import (NLA_F_NESTED, NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NLMSG_DONE,
                            NLMSG_ERROR, SOL_NETLINK, Gpumon, Message, Socket, align, attr, nested,
                            string, u32, u64)
from lab import (account, check, check_sums, equal, load, rings, step, submit, submitter,
                 wait_idle)

NETLINK_ADD_MEMBERSHIP, NETLINK_DROP_MEMBERSHIP = 1, 2
SEED = int(os.environ.get("GPUMON_FUZZ_SEED") or random.SystemRandom().randrange(1 << 32))
MESSAGES = int(os.environ.get("GPUMON_FUZZ_MESSAGES") or 4000)

step("seed %d (GPUMON_FUZZ_SEED), %d messages (GPUMON_FUZZ_MESSAGES)" % (SEED, MESSAGES))
rng = random.Random(SEED)
load(devices=4, rings=8, gpumon={"max_rings": 32})
g = Gpumon()
submit("-d", "all", "-r", "all", "-n", 320, "-w")
wait_idle()
COMMANDS = [g.command(c) for c in ("INFO_GET", "GROUP_GET", "GROUP_SET", "RING_GET",
                                   "HISTOGRAM_GET", "PROCESS_GET", "EVENT_RING_GET",
                                   "EVENT_RING_SET", "RESET")]
EDGES = [0, 1, 2, 7, 8, 64, 65536, 65537, 0x7fffffff, 0x80000000, 0xffffffff]


def garbage(longest):
    return bytes(rng.getrandbits(8) for _ in range(rng.randrange(longest + 1)))


def right(command):
    """Attributes that the operation takes; the event ring stays small, the group comes back on."""
    if command in (g.command("GROUP_GET"), g.command("GROUP_SET")):
        attrs = string(g.a("GROUP_NAME"), rng.choice(["drm_sched"] * 4 + ["", "x", "drm_sche"]))
        if command == g.command("GROUP_SET"):
            attrs += u32(g.a("GROUP_ENABLED"), rng.randrange(2))
        return attrs
    if command == g.command("EVENT_RING_SET"):
        return rng.choice([u32(g.a("EVENT_RING_ENABLED"), rng.randrange(2)),
                           u32(g.a("EVENT_RING_SIZE_KIB"), rng.choice([8, 9, 64, 500])),
                           b""])
    if command in (g.command("RING_GET"), g.command("HISTOGRAM_GET"), g.command("PROCESS_GET")):
        # The attribute "period" is the first of each of these.
        return rng.choice([b"", u32(1, rng.choice(EDGES)), u32(1, rng.randrange(40))])
    return b""


def one_wrong():
    """An attribute that is wrong in one of the ways that there are."""
    kind = rng.choice([0, 1, 2, 3, 5, 10, 18, 19, 20, 63, 255, 0x3fff])
    how = rng.randrange(9)
    if how == 0:
        return u32(kind, rng.choice(EDGES))
    if how == 1:
        return u64(kind, rng.getrandbits(64))
    if how == 2:
        # The length lies, downwards or upwards.
        return attr(kind, garbage(16), length=rng.choice([0, 1, 3, 4, 5, 8, 40, 4096, 65535]))
    if how == 3:
        return attr(kind, garbage(200))
    if how == 4:
        return attr(kind, b"drm_sched" + rng.choice([b"", b"\0x\0", b"\0" * 40, b"x" * 300]))
    if how == 5:
        return nested(kind, u32(1, 1), attr(2, garbage(30)))
    if how == 6:
        deep = u32(1, 1)
        for _ in range(rng.randrange(1, 60)):
            deep = nested(rng.randrange(1, 20), deep)
        return deep
    if how == 7:
        return attr(kind | rng.choice([NLA_F_NESTED, 0x4000, 0xc000]), garbage(20))
    return garbage(40)


def message():
    """(bytes, whether nothing is wrong in it by intention)."""
    command = rng.choice(COMMANDS)
    flags = NLM_F_REQUEST | NLM_F_ACK
    if rng.random() < 0.3:
        flags |= NLM_F_DUMP
    attrs = right(command)
    how = rng.randrange(10)
    if how < 3:
        return s.build(g.id, command, attrs, flags)
    if how == 3:
        return s.build(g.id, command, attrs + one_wrong(), flags)
    if how == 4:
        return s.build(g.id, command, one_wrong() + attrs, flags)
    if how == 5:
        return s.build(g.id, command, b"".join(one_wrong() for _ in range(rng.randrange(1, 30))),
                       flags)
    if how == 6:
        return s.build(g.id, rng.choice([0, 10, 11, 100, 255]), attrs, flags,
                       version=rng.choice([0, 1, 2, 255]))
    data = bytearray(s.build(g.id, command, attrs + u32(1, 1), flags))
    if how == 7:
        # Cut off; what is left of the header says so or not.
        data = data[:rng.randrange(17, len(data) + 1)]
        if rng.random() < 0.7:
            struct.pack_into("=I", data, 0, len(data))
        return bytes(data)
    if how == 8:
        # Bits flip behind the header, so that it still goes to this family.
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(16, len(data))
            data[at] ^= 1 << rng.randrange(8)
        return bytes(data)
    # Several in one datagram.
    return bytes(data) + bytes(align(len(data)) - len(data)) + \
        s.build(g.id, rng.choice(COMMANDS), b"", NLM_F_REQUEST | NLM_F_ACK)


def drain(sock, tally):
    """Read what is there and count the verdicts."""
    sock.socket.setblocking(False)
    while True:
        try:
            data = sock.socket.recv(1 << 17)
        except BlockingIOError:
            return
        except OSError as e:
            # The answers did not fit into the receive buffer: some are lost.
            equal(errno.errorcode[e.errno], "ENOBUFS", "receiving")
            tally["overrun"] += 1
            continue
        while len(data) >= 16:
            length = struct.unpack_from("=I", data)[0]
            check(16 <= length <= len(data), "an answer of %d bytes in %d" % (length, len(data)))
            m = Message(data[:length])
            if m.kind in (NLMSG_ERROR, NLMSG_DONE):
                tally["accepted" if not m.error else errno.errorcode.get(m.error, m.error)] += 1
            data = data[align(length):]


step("fuzz while jobs run")
load_ = submitter("-d", "all", "-r", "all", "-n", 3000, "-b", 4, "-p", 2, "-t", 2, "-w")
tally = collections.Counter()
s = Socket()
sent = 0
begin = time.monotonic()
for i in range(MESSAGES):
    data = message()
    try:
        s.socket.send(data)
        sent += 1
    except OSError as e:
        # The kernel's netlink layer refuses the datagram itself.
        tally["send " + errno.errorcode[e.errno]] += 1
    if rng.random() < 0.05:
        # Gone in the middle of a dump, with everything unread.
        s.close()
        s = Socket()
        if rng.random() < 0.5:
            s.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    elif rng.random() < 0.9:
        drain(s, tally)
    if i % 50 == 0:
        for option in (NETLINK_ADD_MEMBERSHIP, NETLINK_DROP_MEMBERSHIP):
            s.socket.setsockopt(SOL_NETLINK, option, g.groups_of["alerts"])
    if i % 20 == 0:
        s.strict(rng.random() < 0.5)
drain(s, tally)
s.close()
step("%d sent in %.1f s: %s" % (sent, time.monotonic() - begin,
                                ", ".join("%s %d" % p for p in tally.most_common())))
refused = sum(n for what, n in tally.items() if what not in ("accepted", "overrun"))
check(sent > MESSAGES * 9 // 10, "only %d messages were sent" % sent)
check(tally["accepted"] > MESSAGES // 20, "only %d accepted" % tally["accepted"])
check(refused > MESSAGES // 10, "only %d refused" % refused)
for error in ("EINVAL", "ESTALE", "ENOENT"):
    check(tally[error] > 0, "no message was refused with " + error)
allowed = {"accepted", "overrun", "EINVAL", "ERANGE", "ENOENT", "ESTALE", "EBUSY", "EOPNOTSUPP",
           "ENOTSUP", "EMSGSIZE", "ENOBUFS", "send EINVAL", "send EMSGSIZE"}
check(set(tally) <= allowed, "answers nobody expects: %s" % (set(tally) - allowed))

step("afterwards the family still answers right")
equal(load_.wait(100), 0, "exit status of the submitter")
wait_idle()
with Gpumon() as g:
    g.event_ring_set(0)
    g.group_set("drm_sched", 1)
    g.event_ring_set(size_kib=512)
    g.reset()
    start = account()
    submit("-d", "all", "-r", "all", "-n", 3200, "-b", 10, "-w")
    mock = wait_idle()
    ours = rings()
    by_netlink = {(r["device"], r["name"]): r for r in g.rings()}
    for key, row in mock.items():
        for column in ("queued", "run", "done", "errors", "killed"):
            should = row[column] - start[key][column]
            equal((ours[key][column], by_netlink[key][column]), (should, should),
                  "%s of %s" % (column, key))
        equal((ours[key]["queue_depth"], ours[key]["hw_depth"]), (0, 0), "depths of %s" % (key,))
    equal(len(g.histograms()), 32 * 4, "histograms")
    check_sums()
    equal(g.info()["max_rings"], 32, "max_rings")
step("done")
