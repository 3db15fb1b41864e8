#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: own-boot kernels=7 device=bochs-display device=virtio-gpu-pci timeout=240
"""drm_vblank on the displays that QEMU has, with the drivers of the kernel: the
rate, the intervals and the counts are those of the kernel's own trace.
"""
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import vblank
from gpumon_netlink import Gpumon
from vblank_rows import follow, histogram, rate

TRACING = "/sys/kernel/tracing/"
EVENTS = "drm_vblank_event", "drm_vblank_event_queued", "drm_vblank_event_delivered"
EVENT = re.compile(r": drm_vblank_event: crtc=(\d+), seq=(\d+), time=(-?\d+), high-prec=(\w+)")
OFF_DELAY = "/sys/module/drm/parameters/vblankoffdelay"
BLINK = "/sys/class/graphics/fbcon/cursor_blink"


def write(path, text):
    with open(TRACING + path, "w") as f:
        f.write(text)


def traced():
    """(vblanks as records, {event: count})."""
    text = lab.read(TRACING + "trace")
    write("trace", "")
    records = [vblank.Record(0, int(c), int(s), int(t), 0) for c, s, t, _ in EVENT.findall(text)]
    return records, {e: text.count(": %s: " % e) for e in EVENTS}


def row_of(device):
    found = [r for r in g.statistics()["drm_vblank.crtcs"] if r["device"] == device]
    lab.equal(len(found), 1, "rows of " + device)
    return found[0]


def quiet():
    """Wait until no vblank comes: the core switches the interrupt off when nobody wants it."""
    def still():
        before = [r["vblanks"] for r in g.statistics()["drm_vblank.crtcs"]]
        time.sleep(2)
        return before == [r["vblanks"] for r in g.statistics()["drm_vblank.crtcs"]]
    lab.until(still, "no more vblanks", 60)


lab.run("modprobe", "drm")
with open(OFF_DELAY, "w") as f:
    f.write("1000")
lab.load_gpumon()
g = Gpumon()
write("buffer_size_kb", "4096")
for name in EVENTS:
    write("events/drm/%s/enable" % name, "1")
tried = 0
for module in "bochs", "virtio-gpu":
    before = set(os.listdir("/sys/class/drm"))
    lab.run("modprobe", module)
    cards = [c for c in set(os.listdir("/sys/class/drm")) - before if re.fullmatch(r"card\d+", c)]
    lab.equal(len(cards), 1, "cards of " + module)
    card = cards[0]
    device = os.path.basename(os.path.realpath("/sys/class/drm/%s/device" % card))
    client = vblank.Client({"crtc": 0, "crtc_id": 0, "card": card})
    try:
        client.wait(1)
    except OSError as e:
        print("%s on %s shows nothing: %s" % (module, device, e))
        client.close()
        continue
    lab.step("%s, device %s" % (module, device))
    if os.path.exists(BLINK):
        with open(BLINK, "w") as f:
            f.write("0")
    quiet()
    traced()
    g.reset()
    end = time.monotonic() + 3
    asked = 0
    while time.monotonic() < end:
        client.wait_event(1)
        asked += 1
        lab.check(client.event(), "no event")
    client.close()
    quiet()
    row = row_of(device)
    records, counts = traced()
    lab.equal((row["vblanks"], row["queued"], row["delivered"]), tuple(counts[e] for e in EVENTS),
              "vblanks, queued and delivered, and in ftrace")
    lab.equal((row["queued"], row["queue_to_delivery_ns"]["count"]), (asked, asked),
              "asked, and joined")
    lab.equal(row["vblank_to_delivery_ns"]["count"], row["delivered"], "joined with a vblank")
    intervals, jitter, missed, late = follow(records)
    lab.equal((row["missed"], row["ambiguous"], row["repeated"]), (missed, 0, 0),
              "missed, ambiguous, repeated")
    lab.check(row["off_gaps"] <= 1 and row["late"] <= late + 1, "off gaps %d, late %d" %
              (row["off_gaps"], row["late"]))
    histogram(row, "interval_ns", intervals, device)
    lab.equal(row["refresh_millihertz"]["now"], rate(intervals), "rate")
    lab.within(row["refresh_millihertz"]["now"], 40000, 80000, "rate of a display at 60 Hz")
    print("%s: %d mHz" % (device, row["refresh_millihertz"]["now"]))
    for r in g.statistics()["drm_vblank.crtcs"]:
        if r["device"] != device:
            lab.equal((r["vblanks"], r["queued"]), (0, 0), "vblanks, queued of " + r["device"])
    tried += 1
g.close()
lab.rmmod("gpumon")
if not tried:
    lab.skip("no display of QEMU has vblanks with this kernel")
