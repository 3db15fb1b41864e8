#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel tool icount cpus=2 timeout=240
"""Vblanks by BPF: requests and deliveries by device as in the module, vblanks of no device."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import source_bpf
import vblank

KEYS = [(0, 0), (0, 1), (1, 0), (1, 1)]


def table(document):
    return source_bpf.table(document, "drm_vblank", "crtcs", "device", "crtc")


def name(device):
    return "fire_vblank.%d" % device


source_bpf.need()
vblank.load(devices=2, crtcs=2, refresh_hz=60, paused=1)
lab.load_gpumon()
counting = source_bpf.Counting()
lab.step("events that clients ask for, on four displays")
clients = {key: vblank.Client(row) for key, row in vblank.account().items()}
for i, key in enumerate(KEYS):
    vblank.command("hold", *key)
    for _ in range(i + 1):
        clients[key].wait_event(1)
        clients[key].queue_sequence(2)
        vblank.command("step", *key, 3)
for client in clients.values():
    client.events(client.queued)
    client.close()
document, module = counting.end(), source_bpf.module()
source_bpf.lossless(document)
ours, theirs = table(document), table(module)
lab.equal(sorted(ours), sorted([(name(d), c) for d, c in KEYS] + [("-", 0), ("-", 1)]), "rows")
for i, key in enumerate(KEYS):
    row, other = ours[name(key[0]), key[1]], theirs[name(key[0]), key[1]]
    source_bpf.same_keys(row, other, "crtcs")
    for column in "queued", "delivered", "null_file":
        lab.equal(row[column], other[column], "%s of %s" % (column, key))
    # Requesting a sequence does not fire the tracepoint.
    lab.equal((row["queued"], row["delivered"]), (i + 1, 2 * (i + 1)), "events of %s" % (key,))
    lab.equal((row["vblanks"], row["high_precision"], row["missed"]), (None, None, None),
              "vblanks of a device, which BPF cannot know")
    lab.equal(row["interval_ns"]["count"], None, "intervals, likewise")
for crtc in 0, 1:
    row = ours["-", crtc]
    for column in "vblanks", "high_precision":
        lab.equal(row[column], sum(theirs[name(d), crtc][column] for d in (0, 1)),
                  "%s of crtc %d of both devices" % (column, crtc))
    lab.equal((row["ambiguous"], row["queued"], row["delivered"]), (row["vblanks"], 0, 0),
              "ambiguous of no device")
