#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=once tool icount cpus=2 timeout=240
"""gpumon-user record: the module's events and alerts are in a capture, all of them and by name, and
the event ring is as it was before. gpumon-user trace --perfetto: a picture of the same.
"""
import json
import os
import re
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
from pictures import Pictured, picture

TOOL = lab.BUILD + "/gpumon-user"
PROCESS, PRESENT = 1, 27
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
    lab.check("used CUDA, HIP, OpenCL, Level Zero or Vulkan" in notes[0] and "module" not in notes[0],
              notes[0])


def check_picture(drawn, before, after):
    """Each job is there as often as the module has counted it, with its submitter."""
    found = Counter((row, name) for row, category, name, _, _ in drawn if category == "driver")
    times = Counter(row for row, category, _, _, _ in drawn if category == "job")
    for now, was in zip(after, before):
        ring = "%s/%s" % (now["device"], now["name"])
        change = {name: now[name] - was[name] for name in ("queued", "run", "done")}
        lab.equal({"queued": found[ring, "queue"], "run": found[ring, "run"], "done": found[ring, "done"]},
                  change, "events of " + ring)
        lab.check(change["done"] > 0, "jobs of %s" % ring)
        lab.equal(times[ring + ", on the hardware"], change["done"], "times of jobs on " + ring)
        # More than so many that wait at once have no row.
        lab.within(times[ring + ", queued"], min(64, change["run"]), change["run"],
                   "times of jobs that wait for " + ring)
    by = {(name, notes["comm"]) for _, category, name, _, notes in drawn
          if category == "driver" and name in ("queue", "run", "done")}
    lab.equal(by, {(name, "mock_submit") for name in ("queue", "run", "done")}, "who has submitted jobs")
    names = {name for _, category, name, _, _ in drawn if category == "job"}
    lab.check(all(re.fullmatch(r"mock_submit\[\d+\]", name) for name in names), "names of times of jobs: %s" % names)


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

    lab.step("a picture of a trace: its jobs are those that the module counts, and an Xid")
    before, mock_before = g.rings(), lab.account()
    with Pictured("live.pftrace") as live:
        live.wait_module(g)
        lab.submit("-d", "all", "-r", "all", "-n", 200, "-w")
        mock = lab.wait_idle()
        nvidia.control("xid", 0, 79, "gone")
    print("    " + live.said.strip())
    lab.equal(live.process.returncode, 0, "status of %s" % live.said)
    lab.equal(g.event_ring()["enabled"], 0, "the ring is off again")
    lab.equal(os.stat("live.pftrace").st_mode & 0o777, 0o600, "mode of the picture")
    done = sum(row["done"] - mock_before[ring]["done"] for ring, row in mock.items())
    said = re.match(r"([\d,]+) jobs on (\d+) rings and ([\d,]+) other events? in \S+ are in live.pftrace, "
                    r"nothing was lost: open it in https://ui.perfetto.dev\n", live.said)
    lab.check(said, live.said)
    lab.equal((int(said.group(1).replace(",", "")), int(said.group(2))), (done, len(mock)),
              "jobs and rings that it tells")
    drawn = list(picture("live.pftrace"))
    check_picture(drawn, before, g.rings())
    lab.equal([notes["code"] for _, _, name, _, notes in drawn if name == "xid"], [79], "Xids")
    times = [time for _, category, _, time, _ in drawn if category == "driver"]
    lab.equal(times, sorted(times), "times of events")

    lab.step("one ring, in place of that picture; nothing, which is no picture; and no place for it")
    lab.equal(lab.run(TOOL, "trace", "--perfetto", "live.pftrace", check_=False).returncode, 1, "the file exists")
    lab.equal(g.event_ring()["enabled"], 0, "the ring was not switched on")
    with Pictured("live.pftrace", "--force", "--ring", "mock_gpu.0/ring1") as live:
        live.wait_module(g)
        lab.submit("-d", "all", "-r", "all", "-n", 20, "-w")
        lab.wait_idle()
    lab.equal(live.process.returncode, 0, "status of %s" % live.said)
    lab.equal({row for row, _, _, _, _ in picture("live.pftrace")},
              {"mock_gpu.0/ring1" + what for what in ("", ", queued", ", on the hardware")}, "rows of one ring")
    with Pictured("none.pftrace", "--group", "drm_sched") as none:
        none.wait_module(g)
    lab.check(none.process.returncode == 1 and "no events by the module" in none.said, none.said)
    g.group_set("drm_sched", 0)
    with Pictured("none.pftrace", "--group", "drm_sched") as none:
        none.wait_module(g)
    lab.check("the group drm_sched is off: gpumon-user set drm_sched on" in none.said, none.said)
    g.group_set("drm_sched", 1)
    lab.check(not os.path.exists("none.pftrace"), "no picture of nothing")

lab.step("they are in the timelines")
trace = json.loads(lab.run(TOOL, "export", "--chrome", "jobs").stdout)["traceEvents"]
lab.check(any("mock_gpu" in json.dumps(event) for event in trace), "rings in the timeline")
lab.equal(lab.run(TOOL, "correlate", "jobs").returncode, 0, "correlate")

lab.step("frames of the process that submitted these jobs have their times")


def record_of(kind, form, *values):
    body = struct.pack(form, *values)
    body += bytes(-len(body) % 8)
    return struct.pack("<HHI", kind, 0, 8 + len(body)) + body


def present_by(directory, pid, times):
    """As if that process had presented images at these times."""
    data = chunks.plain_chunk(b"".join(
        [record_of(PROCESS, "<IIIIQQ16sIIIIIIII", pid, 1, pid, 0xffffffff, 1, 0, bytes(16), 0, 0, 0, 0, 0, 0, 0, 0)] +
        [record_of(PRESENT, "<QQQIIIIIIIi", time, time + 1, 0, 1, number, pid, 0, 0, 0, 0, 0)
         for number, time in enumerate(times, 1)]))
    with open(directory + "/process-1-1.records", "wb") as file:
        file.write(data)
    with open(directory + "/capture.json", encoding="utf-8") as file:
        info = json.load(file)
    info["files"].append({"name": "process-1-1", "chunks": 1, "bytes": len(data)})
    with open(directory + "/capture.json", "w", encoding="utf-8") as file:
        json.dump(info, file)


def times_of_jobs(jobs, pid, begin, end):
    """(in queues, on the hardware) of a process in this time, by the events alone."""
    queued, ran, done_at = 0, 0, Counter()
    # Those of several CPUs are not in order.
    for event in sorted(jobs):
        since = event.time - event.arg
        if event.event == DONE:
            since = max(since, done_at[event.ring])
            done_at[event.ring] = event.time
        took = max(0, min(event.time, end) - max(since, begin))
        queued += took * (event.event == RUN and event.pid == pid)
        ran += took * (event.event == DONE and event.pid == pid)
    return queued, ran


jobs = Capture("jobs").events
submitter = Counter(event.pid for event in jobs if event.event == RUN).most_common(1)[0][0]
begin, end = jobs[0].time, jobs[-1].time
part = (end - begin) // 20
# One frame in the middle is eleven times as long as the others.
times = [begin + part * number for number in range(20) if not 4 < number < 15]
present_by("jobs", submitter, times)
found = json.loads(lab.run(TOOL, "frames", "--json", "jobs").stdout)
lab.equal(len(found["late_frames"]), 1, "late frames of %s, %d ns each" % (found["swapchains"], part))
late, = found["late_frames"]
want = times_of_jobs(jobs, submitter, times[4], times[5])
lab.equal((late["frame_ns"], late["jobs_queued_ns"], late["jobs_run_ns"]), (11 * part, *want), "the late frame, and its jobs")
lab.check(all(want), "jobs waited and ran in it")

lab.step("not asked for: neither the ring nor a note")
record("not", "true", options=("--no-driver",))
capture = Capture("not")
lab.equal(capture.events, [], "events")
nothing_else(capture.notes)
