#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest own-boot timeout=240
"""drm_vblank where a device cannot be told: vblanks without the kprobe that tells
it, bad arguments, and the comings and goings of modules and of the group. What
cannot be known is said to be ambiguous or unknown, and never put to a device.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import fire
import lab
import vblank
from gpumon_netlink import Gpumon
from vblank_rows import UNKNOWN, columns, delivered_adds_up, rows, same

# Columns that are unknown in every row with a device.
CANNOT_BE_KNOWN = ("missed", "repeated", "late", "off_gaps", "interval_ns", "jitter_ns",
                   "refresh_millihertz")


def kprobes(on):
    with open(lab.DEBUGFS + "/kprobes/enabled", "w") as f:
        f.write("1" if on else "0")


def attached():
    return all(p["state"] == "attached" for p in lab.probes(group="drm_vblank").values())


def all_states():
    """From netlink: stats leaves out drivers that are not loaded."""
    return {p["state"] for p in G.probe_rows() if p["group"] == "drm_vblank"}


lab.step("gpumon first, then drm and its devices")
lab.check(not lab.loaded("drm"), "drm is loaded already")
lab.load_gpumon()
G = Gpumon()
lab.equal(all_states(), {"waiting"}, "states without drm")
vblank.load(devices=2, crtcs=1, refresh_hz=60, paused=1)
lab.check(attached(), "not all probes are attached: %s" % all_states())
for key in (0, 0), (1, 0):
    vblank.command("hold", *key)
    vblank.command("step", *key, 5)
for key, row in rows(G).items():
    same(row, str(key), vblanks=5, ambiguous=0, missed=0)

lab.step("two devices, and no kprobe that tells which")
kprobes(False)
before = rows(G)
clients = {key: vblank.Client(row) for key, row in vblank.account().items()}
for key, client in clients.items():
    client.wait_event(1)
vblank.command("step", 0, 0, 4)
vblank.command("step", 1, 0, 3)
found = rows(G)
same(found[UNKNOWN, 0], "the unknown device", vblanks=7, high_precision=7, ambiguous=7, queued=0,
     delivered=0)
for column in CANNOT_BE_KNOWN:
    value = found[UNKNOWN, 0][column]
    if isinstance(value, dict):
        value = value.get("now", value.get("count"))
    lab.equal(value, None, "%s of an unknown device" % column)
text = [r for r in lab.stats()["drm_vblank.crtcs"] if r["device"] is None or r["device"] == "-"]
lab.equal([(r["missed"], r["refresh_millihertz"], r["vblanks"]) for r in text], [(None, None, 7)],
          "missed, refresh_millihertz and vblanks in stats")
for key, client in clients.items():
    # The client has one device.
    same(found[key], str(key), vblanks=5, queued=1, delivered=1, queue_to_delivery_ns=1,
         vblank_to_delivery_ns=1, ambiguous=0, untracked=0)
    client.event()
kprobes(True)

lab.step("what may have come unseen was not missed")
vblank.command("step", 0, 0, 1)
vblank.command("step", 1, 0, 1)
found = rows(G)
for key in clients:
    same(found[key], str(key), vblanks=6, missed=0, ambiguous=1, interval_ns=4)
vblank.command("skip", 0, 0, 2)
vblank.command("step", 0, 0, 4)
same(rows(G)[0, 0], "the first", vblanks=8, missed=2, ambiguous=1, interval_ns=5)

lab.step("bad files and crtcs: nothing oopses, all is counted")
before = rows(G)
f = fire.Fire()
for file in fire.POISON, fire.UNMAPPED, fire.USER:
    f.drm_vblank_event_queued(file, 0, 1, times=2)
    f.drm_vblank_event_delivered(file, 0, 1, times=3)
f.drm_vblank_event_queued(fire.NULL, 0, 1)
f.drm_vblank_event_delivered(fire.NULL, 0, 1, times=2)
f.drm_vblank_event(0, 1, 1, True, times=4)
f.drm_vblank_event(0, 1, 1, False, times=4, irq=True)
for crtc in 32, -1:
    f.drm_vblank_event(crtc, 1)
    f.drm_vblank_event_queued(fire.POISON, crtc, 1)
    f.drm_vblank_event_delivered(fire.NULL, crtc, 1)
f.close()
found = rows(G)
lab.equal(sorted(map(str, found)), sorted(map(str, before)), "rows")
names = ("vblanks", "high_precision", "queued", "delivered", "ambiguous", "untracked", "null_file")
was, is_ = columns(before[UNKNOWN, 0], *names), columns(found[UNKNOWN, 0], *names)
# Each of 9 deliveries and 6 requests of bad files, and each vblank, is ambiguous; so are 2 of NULL.
lab.equal(dict(zip(names, [b - a for a, b in zip(was, is_)])),
          {"vblanks": 8, "high_precision": 4, "queued": 7, "delivered": 11,
           "ambiguous": 6 + 11 + 8, "untracked": 9, "null_file": 3}, "changes")
for key in clients:
    lab.equal(columns(found[key], *names), columns(before[key], *names), "row %s" % (key,))
for p in lab.probes(group="drm_vblank").values():
    bad = 2 if p["probe"].startswith("drm_vblank_event") else 0
    lab.equal((p["unreadable"], p["seen"]), (bad, p["recorded"] + bad), "probe " + p["probe"])

lab.step("the group off and on: what came meanwhile was not missed")
for key, client in clients.items():
    client.wait_event(1)
G.group_set("drm_vblank", 0)
before = rows(G)
vblank.command("step", 0, 0, 7)
clients[1, 0].wait_event(20)
lab.equal({k: r["vblanks"] for k, r in rows(G).items()},
          {k: r["vblanks"] for k, r in before.items()}, "vblanks while off")
G.group_set("drm_vblank", 1)
vblank.command("step", 0, 0, 2)
vblank.command("step", 1, 0, 1)
found = rows(G)
same(found[0, 0], "the first", vblanks=before[0, 0]["vblanks"] + 2, missed=before[0, 0]["missed"],
     off_gaps=0, interval_ns=before[0, 0]["interval_ns"]["count"] + 1)
# Requested before, delivered now.
same(found[1, 0], "the second", untracked=before[1, 0]["untracked"] + 1,
     delivered=before[1, 0]["delivered"] + 1)
for key in clients:
    delivered_adds_up(found[key], str(key))
for client in clients.values():
    client.close()

lab.step("devices go and come: their rows go on, and their state does not")
for n in range(3):
    before = rows(G)
    vblank.unload()
    vblank.load(devices=2, crtcs=1, refresh_hz=60, paused=1)
    for key in (0, 0), (1, 0):
        vblank.command("hold", *key)
        vblank.command("step", *key, 4)
    for key, row in rows(G).items():
        if key[0] == UNKNOWN:
            continue
        same(row, "%s again" % (key,), vblanks=before[key]["vblanks"] + 4,
             missed=before[key]["missed"], off_gaps=before[key]["off_gaps"],
             interval_ns=before[key]["interval_ns"]["count"] + 3)

lab.step("gpumon goes and comes while a client waits")
client = vblank.Client(vblank.account()[0, 0])
client.wait_event(2)
G.close()
lab.rmmod("gpumon")
lab.load_gpumon()
vblank.command("step", 0, 0, 3)
client.wait_event(1)
vblank.command("step", 0, 0, 1)
with Gpumon() as G:
    same(rows(G)[0, 0], "the first", vblanks=4, queued=1, delivered=2, untracked=1,
         queue_to_delivery_ns=1, missed=0)
client.close()

lab.step("drm goes while gpumon stays")
vblank.unload()
lab.run("modprobe", "-r", "drm", check_=False)
if not lab.loaded("drm"):
    with Gpumon() as G:
        lab.equal(all_states(), {"waiting"}, "states without drm")
lab.rmmod("gpumon")
