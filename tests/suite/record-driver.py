#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=once tool icount cpus=2 timeout=240
"""gpumon-user record: the module's events and alerts are in a capture, all of them and by name, and
the event ring is as it was before.
"""
import json
import os
import struct
import sys
import tempfile
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import chunks
import events
import lab
import nvidia
from events import DONE, QUEUE, RUN
from gpumon_netlink import Gpumon

TOOL = lab.BUILD + "/gpumon-user"
STRING, DRIVER_EVENT, ALERT, LOSS, NOTE = 5, 60, 61, 80, 82


def records(path):
    """(type, bytes behind the head) of a file of chunks."""
    with open(path, "rb") as file:
        for kind, _, record in chunks.records_of(file.read()):
            yield kind, record[8:]


class Capture:
    def __init__(self, directory):
        self.strings, self.events, self.alerts, self.notes, self.lost = {}, [], [], [], 0
        rows = []
        for kind, data in records(directory + "/driver.records"):
            if kind == STRING:
                number, length = struct.unpack_from("<2I", data)
                self.strings[number] = data[8:8 + length].decode()
            elif kind == DRIVER_EVENT:
                size, row = struct.unpack_from("<2I", data)
                lab.equal(size, events.LAYOUT.size, "size of an event")
                event = events.Event(*events.LAYOUT.unpack_from(data, 8))
                rows.append(row)
                self.events.append(event)
            elif kind == ALERT:
                self.alerts.append(struct.unpack_from("<Q3I", data))
            elif kind == LOSS:
                self.lost += struct.unpack_from("<2Q", data)[1]
            elif kind == NOTE:
                self.notes.append(struct.unpack_from("<QI", data)[1])
        self.rows = [self.strings.get(row) for row in rows]
        self.notes = [self.strings[note] for note in self.notes]
        self.alerts = [(code, self.strings[device], self.strings[message])
                       for _, code, device, message in self.alerts]


def record(directory, *command, options=()):
    return lab.run(TOOL, "record", "-q", "-o", directory, *options, "--", *map(str, command),
                   env=dict(os.environ, GPUMON_INJECT=library), stdin=None)


def nothing_else(notes):
    """The one note says why there is nothing of CUDA and the like: no word of the module."""
    lab.equal(len(notes), 1, "notes %s, of which there are" % notes)
    lab.check("used CUDA, HIP, OpenCL or Level Zero" in notes[0] and "module" not in notes[0],
              notes[0])


folder = tempfile.mkdtemp()
os.chdir(folder)
library = folder + "/libgpumon-inject.so"
open(library, "w").close()

lab.step("without the module: no failure, and a note only if it was asked for")
lab.load_mock(devices=2, rings=2, service_ns=30000, timeout_ms=0)
done = record("without", "true")
capture = Capture("without")
lab.equal((done.stdout, done.stderr, capture.events), ("", "", []), "output, events")
nothing_else(capture.notes)
record("asked", "true", options=("--driver",))
capture = Capture("asked")
lab.check("not loaded" in capture.notes[0], "note %r" % capture.notes)

lab.step("all events of all jobs, with the names of their rings")
nvidia.load()
lab.load_gpumon()
lab.wait_idle()
base = lab.account()
with Gpumon() as g:
    record("jobs", lab.BUILD + "/mock_submit", "-d", "all", "-r", "all", "-n", 200, "-w")
    lab.equal(g.event_ring()["enabled"], 0, "the ring is off again")
    mock = lab.wait_idle()
    capture = Capture("jobs")
    lab.equal(capture.lost, 0, "lost")
    nothing_else(capture.notes)
    count = Counter((row, event.event) for row, event in zip(capture.rows, capture.events))
    for (device, ring), row in mock.items():
        name = "%s/%s" % (device, ring)
        for kind, column in (QUEUE, "queued"), (RUN, "run"), (DONE, "done"):
            lab.equal(count[name, kind], row[column] - base[device, ring][column],
                      "%s of %s" % (column, name))
    lab.check(sum(count.values()) >= 600, "events: %r" % count)

    lab.step("a ring that was on stays on, and alerts are there")
    g.event_ring_set(enabled=1)
    record("alert", "sh", "-c", "sleep 0.3; echo xid 0 79 gone >%s/control; sleep 0.5"
           % nvidia.MOCK)
    lab.equal(g.event_ring()["enabled"], 1, "the ring is on")
    g.event_ring_set(enabled=0)
    capture = Capture("alert")
    lab.equal(len(capture.alerts), 1, "alerts")
    code, device, message = capture.alerts[0]
    lab.equal((code, device), (79, g.alerts()[0]["device"]), "code and device")
    lab.check(message.startswith("xid: ") and message.endswith("gone"), "message %r" % message)

lab.step("they are in the timelines")
trace = json.loads(lab.run(TOOL, "export", "--chrome", "jobs").stdout)["traceEvents"]
lab.check(any("mock_gpu" in json.dumps(event) for event in trace), "rings in the timeline")
lab.equal(lab.run(TOOL, "correlate", "jobs").returncode, 0, "correlate")

lab.step("not asked for: neither the ring nor a note")
record("not", "true", options=("--no-driver",))
capture = Capture("not")
lab.equal(capture.events, [], "events")
nothing_else(capture.notes)
