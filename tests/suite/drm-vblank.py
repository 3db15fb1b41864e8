#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel icount cpus=2 timeout=240
"""drm_vblank: of two devices with two displays each, every vblank, gap, request
and delivery is in the right row, and none is in another. Frames pass one at a
time here, so that every number is known beforehand.
"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import vblank
from gpumon_netlink import Gpumon
from vblank_rows import UNKNOWN, columns, delivered_adds_up, rows, same

KEYS = [(0, 0), (0, 1), (1, 0), (1, 1)]
COUNTS = ("vblanks", "missed", "off_gaps", "queued", "delivered", "queue_to_delivery_ns",
          "vblank_to_delivery_ns", "ambiguous", "untracked", "null_file")


class Changes:
    """The changes of a step: exactly the listed ones."""

    def __init__(self, netlink):
        self.g = netlink
        self.last = rows(netlink)

    def are(self, what, changes):
        now = rows(self.g)
        found = {}
        for key, row in now.items():
            if key not in self.last:
                old = [0] * len(COUNTS)
            else:
                old = columns(self.last[key], *COUNTS)
            for name, was, is_ in zip(COUNTS, old, columns(row, *COUNTS)):
                if is_ is not None and is_ != was:
                    found.setdefault(key, {})[name] = is_ - was
        self.last = now
        lab.equal(found, changes, "changes by " + what)
        for key, row in now.items():
            if key[0] != UNKNOWN:
                delivered_adds_up(row, str(key))
        return now


def joined(count):
    return {"delivered": count, "queue_to_delivery_ns": count, "vblank_to_delivery_ns": count}


vblank.load(devices=2, crtcs=2, refresh_hz=60, paused=1)
lab.load_gpumon()
g = Gpumon()
period = vblank.account()[0, 0]["period_ns"]

lab.step("vblanks of each display, and their rate")
for i, key in enumerate(KEYS):
    vblank.command("hold", *key)
    vblank.command("step", *key, 10 * (i + 1))
found = rows(g)
lab.equal(sorted(found), KEYS, "rows")
for i, key in enumerate(KEYS):
    row, n = found[key], 10 * (i + 1)
    same(row, str(key), vblanks=n, high_precision=n, missed=0, repeated=0, late=0, off_gaps=0,
         interval_ns=n - 1, jitter_ns=n - 2, queued=0, delivered=0, ambiguous=0, untracked=0,
         null_file=0, early=0, requests_table_full=0)
    for column in "min", "max":
        lab.equal(row["interval_ns"][column], period, "interval, %s" % column)
        lab.equal(row["jitter_ns"][column], 0, "jitter, %s" % column)
    lab.equal(row["refresh_millihertz"]["now"], 60000, "refresh rate")
changes = Changes(g)

lab.step("interrupts that do not come are missed")
vblank.command("skip", 1, 0, 3)
vblank.command("step", 1, 0, 10)
lab.equal(vblank.account()[1, 0]["missed"], 3, "missed in the account")
changes.are("three missed", {(1, 0): {"vblanks": 7, "missed": 3}})

lab.step("interrupts that are off are not")
vblank.command("drop", 0, 1)
vblank.command("step", 0, 1, 1)
vblank.command("step", 0, 1, 7)
vblank.command("hold", 0, 1)
vblank.command("step", 0, 1, 3)
vblank.command("off", 0, 0)
vblank.command("step", 0, 0, 5)
vblank.command("on", 0, 0)
vblank.command("step", 0, 0, 2)
found = changes.are("interrupts off", {(0, 1): {"vblanks": 4, "off_gaps": 1},
                                       (0, 0): {"vblanks": 2, "off_gaps": 1}})
for key in KEYS:
    lab.equal(found[key]["vblanks"], vblank.account()[key]["vblanks"], "vblanks of %s" % (key,))
    lab.equal(found[key]["missed"], vblank.account()[key]["missed"], "missed of %s" % (key,))
    lab.equal((found[key]["late"], found[key]["refresh_millihertz"]["now"]), (0, 60000), "late, rate")

lab.step("clients of all displays ask for the same sequence")
account = vblank.account()
far = max(r["seq"] for r in account.values()) + 2
for key in KEYS:
    vblank.command("step", *key, far - 2 - account[key]["seq"])
changes.are("the same sequence", {k: {"vblanks": far - 2 - account[k]["seq"]} for k in KEYS
                                  if far - 2 - account[k]["seq"]})
clients = {key: vblank.Client(account[key]) for key in KEYS}
second = vblank.Client(account[0, 0])
for client in list(clients.values()) + [second, second]:
    client.wait_event(far, relative=False)
changes.are("requests", {k: {"queued": 3 if k == (0, 0) else 1} for k in KEYS})
time.sleep(0.3)
vblank.command("step", 1, 0, 1)
changes.are("a vblank before", {(1, 0): {"vblanks": 1}})
vblank.command("step", 0, 0, 2)
changes.are("one display", {(0, 0): dict(joined(3), vblanks=2)})
vblank.command("step", 1, 0, 1)
found = changes.are("the same display of the other device", {(1, 0): dict(joined(1), vblanks=1)})
for key, count in ((0, 0), 3), ((1, 0), 1):
    lab.check(found[key]["queue_to_delivery_ns"]["min"] >= 300000000,
              "%s: %r for requests 0.3 s old" % (key, found[key]["queue_to_delivery_ns"]))
for client in clients[0, 0], clients[1, 0], second:
    client.event()
second.event()

lab.step("the vblank that was asked for is missed, or over")
vblank.command("step", 0, 1, 2)
vblank.command("step", 1, 1, 2)
changes.are("the others", {k: dict(joined(1), vblanks=2) for k in ((0, 1), (1, 1))})
client = clients[1, 1]
client.event()
client.wait_event(1)
vblank.command("skip", 1, 1, 1)
vblank.command("step", 1, 1, 2)
changes.are("a request for a missed one",
            {(1, 1): dict(joined(1), queued=1, vblanks=1, missed=1)})
client.wait_event(far - 1, relative=False)
changes.are("a request for one that is over", {(1, 1): dict(joined(1), queued=1)})
client.events(2)

lab.step("requests of one client, out of order")
client.wait_event(3)
client.wait_event(1)
client.wait_event(2)
vblank.command("step", 1, 1, 1)
changes.are("the second", {(1, 1): dict(joined(1), queued=3, vblanks=1)})
vblank.command("skip", 1, 1, 1)
vblank.command("step", 1, 1, 2)
changes.are("the others at once", {(1, 1): dict(joined(2), vblanks=1, missed=1)})
client.events(3)

lab.step("a display that is switched off delivers at once")
client.wait_event(100)
vblank.command("off", 1, 1)
changes.are("off", {(1, 1): dict(joined(1), queued=1)})
vblank.command("on", 1, 1)
vblank.command("step", 1, 1, 1)
changes.are("on", {(1, 1): {"vblanks": 1, "off_gaps": 1}})
client.event()

lab.step("a client that is gone gets nothing, and its request is not the next one's")
g.reset()
changes = Changes(g)
for n in range(4):
    gone = vblank.Client(account[0, 1])
    gone.wait_event(3)
    gone.close()
    time.sleep(1)
    # The kernel gives a new file the memory of the old one.
    after = vblank.Client(account[0, 1])
    after.wait_event(4)
    vblank.command("step", 0, 1, 3)
    changes.are("the one that is gone", {(0, 1): {
        "queued": 2, "vblanks": 3, "delivered": 1, "null_file": 1, "vblank_to_delivery_ns": 1}})
    vblank.command("step", 0, 1, 1)
    changes.are("the next one", {(0, 1): dict(joined(1), vblanks=1)})
    after.event()
    after.close()
longest = rows(g)[0, 1]["queue_to_delivery_ns"]["max"]
lab.check(longest < 1000000000, "a request took %d ns, the older ones were 1 s old" % longest)

lab.step("events that nobody asked for by that call")
client.queue_sequence(1)
vblank.command("step", 1, 1, 1)
changes.are("a queued sequence", {(1, 1): {"delivered": 1, "untracked": 1, "vblanks": 1,
                                           "vblank_to_delivery_ns": 1}})
vblank.command("flip", 1, 1, 3)
vblank.command("step", 1, 1, 1)
changes.are("flips of the kernel's own", {(1, 1): {
    "delivered": 3, "null_file": 3, "vblanks": 1, "vblank_to_delivery_ns": 3}})
vblank.command("flipped", 1, 1, 2)
changes.are("flips outside of a vblank, that may be of any device",
            {(UNKNOWN, 1): {"delivered": 2, "null_file": 2, "ambiguous": 2}})

lab.step("the interrupt comes while it is switched on: before the kernel says that it is")
key = 0, 1
vblank.command("drop", *key)
vblank.command("step", *key, 1)
changes.are("the last interrupt", {key: {"vblanks": 1}})
before = vblank.account()[key]
os.sched_setaffinity(0, {1})
vblank.command("run", *key)
os.sched_setaffinity(0, {0})
vblank.command("meet", *key)
vblank.command("hold", *key)
vblank.command("pause", *key)
os.sched_setaffinity(0, set(range(os.cpu_count())))
after = vblank.account()[key]
lab.equal(after["met"], before["met"] + 1, "interrupts that came meanwhile")
changes.are("that interrupt and those after it", {key: {
    "vblanks": after["vblanks"] - before["vblanks"], "off_gaps": 1}})

lab.step("nothing was dropped")
for p in lab.probes(group="drm_vblank").values():
    lab.equal((p["state"], p["seen"]), ("attached", p["recorded"]), "probe " + p["probe"])
for client in list(clients.values()) + [second]:
    client.close()
g.close()
lab.rmmod("gpumon")
vblank.unload()
