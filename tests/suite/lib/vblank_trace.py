# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""drm_vblank against the kernel's own trace of the same vblanks, on a driver of the kernel."""
import os
import re
import time

import lab
import tracefs
import vblank
from vblank_rows import follow, histogram, rate

EVENTS = "drm_vblank_event", "drm_vblank_event_queued", "drm_vblank_event_delivered"
EVENT = re.compile(r": drm_vblank_event: crtc=(\d+), seq=(\d+), time=(-?\d+), high-prec=(\w+)")
OFF_DELAY = "/sys/module/drm/parameters/vblankoffdelay"


def begin():
    """drm and gpumon loaded, the events traced; vblanks go off a second after their last user."""
    lab.run("modprobe", "drm")
    with open(OFF_DELAY, "w") as f:
        f.write("1000")
    lab.load_gpumon()
    tracefs.write("buffer_size_kb", "4096")
    for name in EVENTS:
        tracefs.enable("drm/" + name)


def traced():
    """(vblanks as records, {event: count})."""
    text = tracefs.read()
    tracefs.clear()
    records = [vblank.Record(0, int(c), int(s), int(t), 0, 0) for c, s, t, _ in EVENT.findall(text)]
    return records, {e: text.count(": %s: " % e) for e in EVENTS}


def rows_of(g):
    return g.statistics().get("drm_vblank.crtcs", [])


def row_of(g, device):
    found = [r for r in rows_of(g) if r["device"] == device]
    lab.equal(len(found), 1, "rows of " + device)
    return found[0]


def device_of(card):
    return os.path.basename(os.path.realpath("/sys/class/drm/%s/device" % card))


def load_driver(module):
    """(card, device name) of the one display that the driver has. If it is built into the kernel, the display is
    there already, and its device has the driver's name.
    """
    before = set(os.listdir("/sys/class/drm"))
    lab.run("modprobe", module)
    cards = [c for c in os.listdir("/sys/class/drm") if re.fullmatch(r"card\d+", c) and
             (c not in before if lab.loaded(module.replace("-", "_")) else device_of(c) == module)]
    lab.equal(len(cards), 1, "cards of " + module)
    return cards[0], device_of(cards[0])


def quiet(g):
    """Wait until vblanks stop: the core switches the interrupt off without users."""
    def still():
        before = [r["vblanks"] for r in rows_of(g)]
        time.sleep(2)
        return before == [r["vblanks"] for r in rows_of(g)]
    lab.until(still, "no more vblanks", 60)


def probes_missed():
    """Kprobes that came while another one ran on their CPU; their vblanks are of no known device."""
    return sum(p["missed"] for p in lab.probes(group="drm_vblank").values())


def observe(g, device, drive):
    """(row of device, vblanks of the trace, its counts, what drive returned) of one drive().

    Again where a kprobe was missed, after a look at whether all is accounted for.
    """
    for _ in range(5):
        quiet(g)
        traced()
        g.reset()
        result = drive()
        quiet(g)
        row = row_of(g, device)
        records, counts = traced()
        if not probes_missed():
            return row, records, counts, result
        total = sum(r["vblanks"] for r in rows_of(g))
        lab.equal(total, counts[EVENTS[0]], "vblanks of all rows, with %d probes missed" % probes_missed())
        print("%d probes were missed: once more" % probes_missed())
    lab.check(False, "probes are missed each time")


def compare(g, device, client, seconds=3):
    """Ask client for vblanks for that long. Returns the row of device, which matches the trace."""
    def ask():
        end = time.monotonic() + seconds
        asked = 0
        while time.monotonic() < end:
            client.wait_event(1)
            asked += 1
            lab.check(client.event(), "no event")
        return asked

    row, records, counts, asked = observe(g, device, ask)
    client.close()
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
    for r in rows_of(g):
        if r["device"] != device:
            lab.equal((r["vblanks"], r["queued"]), (0, 0), "vblanks, queued of " + r["device"])
    return row
