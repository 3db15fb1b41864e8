#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel timeout=300
"""The displays without hardware do what a command says: real clients get their
events from drm.ko, and its own tracepoints fire as often, with the sequences and
times that the module's account and log have.
"""
import errno
import os
import re
import sys
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import tracefs
import vblank

LINE = re.compile(r"^\s*.+-\d+\s+\[\d+\]\s+(\S+)\s+[\d.]+: (drm_vblank\w+): (.*)$")
EVENT = re.compile(r"^crtc=(\d+), seq=(\d+), time=(-?\d+), high-prec=(true|false)$")
CLIENT = re.compile(r"^file=([0-9a-f]+), crtc=(\d+), seq=(\d+)$")


def traced():
    """({event: [fields]}) since the last time; nothing was lost."""
    tracefs.lost_nothing()
    found = {"drm_vblank_event": [], "drm_vblank_event_queued": [],
             "drm_vblank_event_delivered": []}
    for m in tracefs.matches(LINE):
        pattern = EVENT if m.group(2) == "drm_vblank_event" else CLIENT
        found[m.group(2)].append(pattern.match(m.group(3)).groups())
    tracefs.clear()
    return found


def refused(number, *words):
    try:
        vblank.command(*words)
    except OSError as e:
        lab.equal(errno.errorcode.get(e.errno), errno.errorcode[number], "errno of %r" % (words,))
    else:
        lab.fail("not refused: %r" % (words,))


def paused(device, crtc):
    """Pause its frames. Returns its row."""
    vblank.command("pause", device, crtc)
    return vblank.account()[device, crtc]


def same_as_log(events):
    """The drm_vblank_event of ftrace are those of the log; ftrace does not show the device."""
    records = vblank.log()
    lab.equal(Counter((int(c), int(s), int(t)) for c, s, t, _ in events),
              Counter((r.crtc, r.seq & 0xffffffff, r.time_ns) for r in records),
              "drm_vblank_event of ftrace and of the log")


tracefs.write("trace_clock", "mono")
tracefs.write("buffer_size_kb", "8192")
if tracefs.exists("events/drm"):
    tracefs.enable("drm", False)

lab.step("nobody looks: frames pass, no vblank comes")
vblank.load(devices=2, crtcs=2, refresh_hz=200)
for name in "drm_vblank_event", "drm_vblank_event_queued", "drm_vblank_event_delivered":
    tracefs.enable("drm/" + name)
lab.until(lambda: all(r["frames"] >= 5 for r in vblank.account().values()), "frames pass")
for key, row in vblank.account().items():
    lab.equal((row["vblanks"], row["missed"], row["enables"], row["high_prec"]), (0, 0, 0, 1),
              "vblanks, missed, enables, high_prec of %s" % (key,))

lab.step("clients of two devices and four displays")
rows = vblank.account()
clients = {key: vblank.Client(row) for key, row in rows.items()}
for n in range(10):
    for i, (key, client) in enumerate(clients.items()):
        wanted = client.wait_event(sequence=1 + i, user_data=100 * n + i)
        event = client.event()
        # One frame later for each interrupt that the emulation missed.
        missed = vblank.account()[key]["missed"]
        lab.check(event and wanted <= event.sequence <= wanted + missed,
                  "%s: %r, sequence %d" % (key, event, wanted))
        lab.equal((event.user_data, event.crtc_id), (100 * n + i, rows[key]["crtc_id"]),
                  "user data and crtc of %s" % (key,))
for key, client in clients.items():
    before = client.sequence()
    lab.check(client.wait(2)[0] >= before[1] + 1, "sleeping for a vblank of %s" % (key,))
    wanted = client.queue_sequence(2, user_data=7)
    event = client.event()
    lab.equal((event.type, event.user_data), (vblank.EVENT_SEQUENCE, 7),
              "event of a queued sequence of %s" % (key,))
    lab.within(event.sequence, wanted, wanted + vblank.account()[key]["missed"], "its sequence")
    lab.equal((client.queued, client.delivered), (11, 11), "events of %s" % (key,))
    client.close()
lab.until(lambda: all(r["enables"] == r["disables"] for r in vblank.account().values()),
          "interrupts go off when nobody wants them")
rows = vblank.account()
trace = traced()
same_as_log(trace["drm_vblank_event"])
lab.equal(len(trace["drm_vblank_event"]), sum(r["vblanks"] for r in rows.values()),
          "drm_vblank_event, and vblanks in the account")
lab.equal(len(trace["drm_vblank_event_delivered"]), 44, "drm_vblank_event_delivered")
# Does not fire for queued sequences, on any kernel.
lab.equal(len(trace["drm_vblank_event_queued"]), 40, "drm_vblank_event_queued")
lab.equal({f[3] for f in trace["drm_vblank_event"]}, {"true"}, "high precision")

lab.step("frames one at a time: every number is known")
for key in rows:
    row = paused(*key)
    lab.equal(row["frames"], row["vblanks"] + row["missed"] + row["off"], "frames of %s" % (key,))
vblank.command("hold", 1, 0)
client = vblank.Client(vblank.account()[1, 0])
before, start = vblank.account()[1, 0], client.sequence()[1]
mark = len(vblank.log(1, 0))
vblank.command("step", 1, 0, 10)
vblank.command("skip", 1, 0, 3)
vblank.command("step", 1, 0, 4)
after = vblank.account()[1, 0]
lab.equal({c: after[c] - before[c] for c in ("frames", "vblanks", "missed", "off")},
          {"frames": 14, "vblanks": 11, "missed": 3, "off": 0}, "of 14 frames, 3 skipped")
records = vblank.log(1, 0)[mark:]
lab.equal([r.seq - start for r in records], list(range(1, 11)) + [14], "sequences, with a gap")
period = after["period_ns"]
lab.equal([b.time_ns - a.time_ns for a, b in zip(records, records[1:])], [period] * 9 + [4 * period],
          "intervals of the hardware's own times")

lab.step("an event that is past, one that never comes, two clients of a display")
wanted = client.wait_event(sequence=start + 14, relative=False, user_data=1)
event = client.event()
lab.equal((wanted, event.sequence), (start + 14, start + 14), "an event of a past vblank")
other = vblank.Client(after)
client.wait_event(1, user_data=2)
other.wait_event(2, user_data=3)
lost = vblank.Client(after)
lost.wait_event(1)
lost.close()
lab.equal(client.event(0.1), None, "an event before its vblank")
vblank.command("step", 1, 0, 2)
lab.equal((client.event().sequence, other.event().sequence), (start + 15, start + 16),
          "sequences of the two")
lab.equal(client.event(0.1), None, "another event")

lab.step("interrupts off and on: the sequence goes on, nothing was missed")
before, mark = vblank.account()[1, 0], len(vblank.log(1, 0))
vblank.command("drop", 1, 0)
vblank.command("step", 1, 0, 1)
vblank.command("step", 1, 0, 7)
vblank.command("hold", 1, 0)
vblank.command("step", 1, 0, 1)
after = vblank.account()[1, 0]
lab.equal({c: after[c] - before[c] for c in ("frames", "vblanks", "missed", "off", "disables")},
          {"frames": 9, "vblanks": 2, "missed": 0, "off": 7, "disables": 1}, "of 9 frames")
lab.equal([r.seq - start for r in vblank.log(1, 0)[mark:]], [17, 25], "sequences")

lab.step("a display that is switched off sends what is pending")
client.wait_event(5, user_data=9)
vblank.command("off", 1, 0)
lab.equal(client.event().user_data, 9, "user data")
try:
    client.wait_event(1)
    lab.fail("an event of a display that is off")
except OSError as e:
    lab.equal(e.errno, errno.EINVAL, "errno of it")
vblank.command("on", 1, 0)
vblank.command("step", 1, 0, 1)
client.wait_event(1)
vblank.command("step", 1, 0, 1)
lab.check(client.event(), "no event of a display that is on again")

lab.step("events of the kernel itself have no file")
traced()
vblank.command("flip", 1, 0, 3)
vblank.command("step", 1, 0, 1)
vblank.command("flipped", 1, 0, 2)
delivered = traced()["drm_vblank_event_delivered"]
lab.equal([int(f[0], 16) for f in delivered], [0] * 5, "files of five flips")
lab.equal(vblank.account()[1, 0]["flips"], 5, "flips in the account")
client.close()
other.close()

lab.step("what is wrong is refused")
vblank.command("run", 0, 1)
refused(errno.EBUSY, "step", 0, 1, 1)
refused(errno.ENODEV, "skip", 2, 0, 1)
refused(errno.ENODEV, "skip", 0, 2, 1)
refused(errno.EINVAL, "skip", 0, 0)
refused(errno.EINVAL, "nosuch", 0, 0)
refused(errno.EINVAL, "drop", 0, 1)
refused(errno.ERANGE, "late", 0, 0, 2000000000, 1)
row = vblank.account()[0, 1]
client = vblank.Client(row)
lab.check(lab.run("rmmod", "fire_vblank", check_=False).returncode, "it goes while it is open")
client.close()

lab.step("the rate by the hardware's times and by the interrupts' own")
traced()
vblank.unload()
for precise in 1, 0:
    vblank.load(devices=1, crtcs=1, refresh_hz=100, high_prec=precise)
    vblank.command("hold", 0, 0)
    lab.until(lambda: vblank.account()[0, 0]["vblanks"] >= 100, "a hundred vblanks")
    row = paused(0, 0)
    records = vblank.log()
    trace = traced()["drm_vblank_event"]
    same_as_log(trace)
    lab.equal({f[3] for f in trace}, {"true" if precise else "false"}, "high precision")
    lab.equal(row["high_prec"], precise, "high precision in the account")
    lab.equal(sum(r.missed for r in records), row["missed"], "missed in the log")
    # Frames may be missed before the first record, too.
    lab.equal(records[-1].seq - records[0].seq, sum(1 + r.missed for r in records[1:]), "sequences")
    # The core does not know the time of an interrupt that comes while it is switched on.
    if not precise and not records[0].time_ns:
        del records[0]
    span = records[-1].time_ns - records[0].time_ns
    frames = records[-1].seq - records[0].seq
    if precise:
        lab.equal(span, frames * row["period_ns"], "time of %d frames" % frames)
    else:
        lab.within(span / frames, 0.8 * row["period_ns"], 1.2 * row["period_ns"], "mean interval")
        lab.check(len({b.time_ns - a.time_ns for a, b in zip(records, records[1:])}) > 10,
                  "the interrupts' times have no jitter")
    vblank.unload()

lab.step("late interrupts")
vblank.load(devices=1, crtcs=1, refresh_hz=20, paused=1)
vblank.command("hold", 0, 0)
vblank.command("late", 0, 0, 30000000, 4)
vblank.command("run", 0, 0)
lab.until(lambda: vblank.account()[0, 0]["vblanks"] >= 8, "eight vblanks")
row, records = paused(0, 0), vblank.log()
period = row["period_ns"]
lateness = [r.handled_ns - r.time_ns for r in records]
lab.check(row["late"] == 4 and min(lateness) >= 0, "late %d: %r" % (row["late"], lateness))
# The emulation may miss a whole frame. From then on it is no longer late.
lab.check(sum(v >= 30000000 for v in lateness[:4]) >= 4 - row["missed"], "lateness %r" % lateness)
lab.equal({(b.time_ns - a.time_ns) % period for a, b in zip(records, records[1:])}, {0},
          "intervals that are no whole frames")
vblank.unload()

lab.step("load and unload, with clients that just left")
for n in range(5):
    vblank.load(devices=2, crtcs=3, refresh_hz=1000, immediate=n % 2)
    with vblank.Client(vblank.account()[1, 2]) as client:
        client.wait_event(1)
        client.event()
        client.wait_event(1000)
    vblank.unload()
