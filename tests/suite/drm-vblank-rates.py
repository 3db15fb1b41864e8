#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest icount cpus=2 timeout=300
"""drm_vblank while displays run by themselves and clients wait for them: counts
are those of the kernel's own trace, and intervals, jitter, rates, late and missed
frames those of the times in the display's log, to the nanosecond.
"""
import os
import sys
import threading
import time
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import tracefs
import vblank
from gpumon_netlink import Gpumon
from vblank_rows import delivered_adds_up, follow, histogram, rate, rows, same_as_log

EVENTS = "drm_vblank_event", "drm_vblank_event_queued", "drm_vblank_event_delivered"


def traced():
    """Of ftrace, that does not tell the device: {(event, crtc): count}, and of each CRTC the time
    from queued to delivered of all events in ns.
    """
    found, waited, queued = Counter(), Counter(), {}
    for line in tracefs.read().splitlines():
        if line.startswith("#"):
            continue
        head, event, rest = line.split(": ", 2)
        at = round(float(head.split()[-1]) * 1e6) * 1000
        fields = dict(f.split("=") for f in rest.split(", "))
        crtc = int(fields["crtc"])
        found[event, crtc] += 1
        # A client waits for one event at a time.
        if event == "drm_vblank_event_queued":
            queued[fields["file"]] = at
        elif event == "drm_vblank_event_delivered":
            waited[crtc] += at - queued.pop(fields["file"])
    return found, waited


def trace(on):
    for name in EVENTS:
        tracefs.enable("drm/" + name, on)


def run(keys, seconds):
    for key in keys:
        vblank.command("run", *key)
    time.sleep(seconds)
    for key in keys:
        vblank.command("pause", *key)


def wait_in_a_loop(client, stop, latencies):
    while not stop.is_set():
        asked = time.monotonic_ns()
        client.wait_event(1)
        if client.event():
            latencies.append(time.monotonic_ns() - asked)


lab.load_gpumon()
g = Gpumon()
tracefs.write("buffer_size_kb", "8192")
tracefs.write("trace_clock", "mono")

lab.step("two devices with two displays at 60 Hz, two clients of each display")
vblank.load(devices=2, crtcs=2, refresh_hz=60, paused=1)
trace(True)
keys = sorted(vblank.account())
for key in keys:
    vblank.command("hold", *key)
stop, latencies, threads, clients = threading.Event(), {}, [], []
for key, row in vblank.account().items():
    for n in range(2):
        clients.append(vblank.Client(row))
        latencies[key, n] = []
        threads.append(threading.Thread(target=wait_in_a_loop,
                                        args=(clients[-1], stop, latencies[key, n])))
for t in threads:
    t.start()
for key in keys:
    vblank.command("run", *key)
time.sleep(4)
stop.set()
for t in threads:
    t.join()
for key in keys:
    vblank.command("pause", *key)
trace(False)
found, account, (counts, waited) = rows(g), vblank.account(), traced()
lab.equal(sorted(found), keys, "rows")
for key in keys:
    same_as_log(found[key], vblank.log(*key), str(key))
    row = found[key]
    lab.equal((row["vblanks"], row["missed"]), (account[key]["vblanks"], account[key]["missed"]),
              "vblanks and missed of %s, and in the account" % (key,))
    lab.equal(row["high_precision"], row["vblanks"], "high precision of %s" % (key,))
    delivered_adds_up(row, str(key))
    lab.equal((row["off_gaps"], row["untracked"], row["null_file"], row["ambiguous"]), (0, 0, 0, 0),
              "off gaps, untracked, null file, ambiguous of %s" % (key,))
    seen = [n for client in range(2) for n in latencies[key, client]]
    for column in "queued", "delivered":
        lab.equal(row[column], len(seen), "%s of %s" % (column, key))
    to = row["queue_to_delivery_ns"]
    # The client's measurement includes what the kernel measures.
    lab.check(to["max"] <= max(seen) and to["min"] <= min(seen) and to["sum"] <= sum(seen),
              "%s: %r, its clients measured %d to %d, sum %d" % (key, to, min(seen), max(seen),
                                                                 sum(seen)))
    # Not later after its vblank than after the request, and seldom as late as the next one.
    since = row["vblank_to_delivery_ns"]
    lab.equal(since["count"], len(seen), "vblank_to_delivery_ns of %s" % (key,))
    lab.check(since["sum"] <= to["sum"], "%s: since the vblank %r, since asked %r" % (key, since,
                                                                                     to))
for event, column in zip(EVENTS, ("vblanks", "queued", "delivered")):
    for crtc in 0, 1:
        lab.equal(sum(found[key][column] for key in keys if key[1] == crtc), counts[event, crtc],
                  "%s of crtc %d, and in ftrace" % (column, crtc))
for crtc in 0, 1:
    # The host may take the CPU away between the clock readings of ftrace and gpumon.
    ours = sum(found[key]["queue_to_delivery_ns"]["sum"] for key in keys if key[1] == crtc)
    print("queued to delivered, crtc %d: %d ns, in ftrace %d" % (crtc, ours, waited[crtc]))
    lab.within(ours, waited[crtc] * 0.9, waited[crtc] * 1.1,
               "ns from queued to delivered of crtc %d, and in ftrace" % crtc)
for client in clients:
    client.close()
vblank.unload()
tracefs.clear()

lab.step("interrupts' own times: jitter, and late frames")
g.reset()
vblank.load(devices=1, crtcs=2, refresh_hz=20, high_prec=0, paused=1)
vblank.command("hold", 0, 0)
run([(0, 0)], 1)
# On a busy host an interrupt can be so late that the next frame has begun: that counts as missed.
for n in range(20):
    vblank.command("late", 0, 0, 30000000, 1)
    run([(0, 0)], 0.5)
    row = rows(g)[0, 0]
    if row["late"] >= 3:
        break
same_as_log(row, vblank.log(0, 0), "late frames")
lab.check(row["late"] >= 3, "late: %d" % row["late"])
lab.check(row["jitter_ns"]["max"] >= 20000000, "jitter: %r" % row["jitter_ns"])
lab.equal(row["high_precision"], 0, "high precision")

lab.step("the rate of a period is that of its own vblanks")
mark, closed = len(vblank.log(0, 0)), g.reset()["closed"]
run([(0, 0)], 1)
intervals = follow(vblank.log(0, 0)[mark - 1:])[0]
late = rows(g)[0, 0]
lab.equal(late["refresh_millihertz"]["now"], rate(intervals), "rate after a reset")
histogram(late, "interval_ns", intervals, "a new period")
last = [r for r in g.statistics(closed)["drm_vblank.crtcs"]
        if (r["device"], r["crtc"]) == ("fire_vblank.0", 0)]
lab.equal([r["refresh_millihertz"]["now"] for r in last], [row["refresh_millihertz"]["now"]],
          "rate of the period before")

lab.step("the interrupt comes while it is switched on: the kernel has no time of that vblank")
os.sched_setaffinity(0, {1})
vblank.command("run", 0, 1)
os.sched_setaffinity(0, {0})
vblank.command("meet", 0, 1)
vblank.command("hold", 0, 1)
os.sched_setaffinity(0, set(range(os.cpu_count())))
lab.until(lambda: vblank.account()[0, 1]["vblanks"] >= 8, "eight vblanks")
vblank.command("pause", 0, 1)
records = vblank.log(0, 1)
lab.equal([n for n, r in enumerate(records) if not r.time_ns], [0], "vblanks without a time")
same_as_log(rows(g)[0, 1], records, "one without a time")

lab.step("another device of the name, with another rate")
vblank.unload()
vblank.load(devices=1, crtcs=2, refresh_hz=10, paused=1)
vblank.command("hold", 0, 0)
vblank.command("step", 0, 0, 10)
row = rows(g)[0, 0]
lab.equal((row["late"], row["missed"], row["refresh_millihertz"]["now"]),
          (late["late"], late["missed"], 10000), "late, missed, rate")
lab.equal(row["vblanks"], late["vblanks"] + 10, "vblanks")
g.close()
lab.rmmod("gpumon")
vblank.unload()
