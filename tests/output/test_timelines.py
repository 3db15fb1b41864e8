# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Chrome's and Perfetto's files read back and compared."""
import json
from decimal import Decimal

from check import Message, equal, files, test

START = 1000000001


def chrome(name):
    text = (files / f"{name}.chrome.json").read_text(encoding="utf-8")
    document = json.loads(text, parse_float=Decimal)
    events, rows = [], {}
    start = int(document["otherData"]["start_ns"])
    for event in document["traceEvents"]:
        if event["ph"] == "M":
            rows.setdefault((event["pid"], event["tid"]), {})[event["name"]] = event["args"]
            continue
        event["ns"] = int(event["ts"] * 1000) + start
        if "dur" in event:
            event["dur_ns"] = int(event["dur"] * 1000)
        events.append(event)
    names = {}
    for (pid, tid), found in rows.items():
        if "process_name" in found:
            names[pid] = found["process_name"]["name"]
        if "thread_name" in found:
            names[pid, tid] = found["thread_name"]["name"]
    return events, names


class Slice:
    def __init__(self, **fields):
        self.__dict__.update(fields)


def perfetto(name):
    """Tracks by uuid, and slices and instants with their interned texts put in."""
    tracks, categories, names, keys, texts = {}, {}, {}, {}, {}
    open_slices, found = {}, []
    packets = Message((files / f"{name}.perfetto").read_bytes()).messages(1)
    events = []
    for order, packet in enumerate(packets):
        equal(packet.one(10), 1, "the sequence")
        if order == 0:
            equal(packet.one(13), 1, "flags of the first packet")
        for descriptor in packet.messages(60):
            uuid = descriptor.one(1)
            assert uuid not in tracks, "a track twice"
            process, thread = descriptor.messages(3), descriptor.messages(4)
            assert descriptor.one(5) is None or descriptor.one(5) in tracks, "a parent unknown"
            tracks[uuid] = Slice(parent=descriptor.one(5), name=descriptor.text(2) or
                                 (process and process[0].text(6)) or thread[0].text(5),
                                 pid=process and process[0].one(1), tid=thread and thread[0].one(2))
        for data in packet.messages(12):
            for number, table in [(1, categories), (2, names), (3, keys), (29, texts)]:
                for entry in data.messages(number):
                    assert entry.one(1) not in table, "interned twice"
                    table[entry.one(1)] = entry.text(2)
        for event in packet.messages(11):
            arguments = {keys[m.one(1)]: m.one(3) if m.one(3) is not None else
                         texts[m.one(17)] if m.one(17) is not None else m.text(6)
                         for m in event.messages(4)}
            kind = event.one(9)
            events.append((packet.one(8), order, kind, event.one(11),
                           Slice(name=event.text(23) or names[event.one(10)] if kind != 2 else None,
                                 category=categories[event.one(3)] if kind != 2 else None,
                                 flows=event.all(47), arguments=arguments)))
    # Like a reader: by time, and for equal times in the order of the file.
    for ns, _, kind, track, slice_ in sorted(events, key=lambda event: event[:2]):
        assert track in tracks, "an event on an unknown track"
        slice_.track, slice_.start = tracks[track], ns
        if kind == 1:
            open_slices.setdefault(track, []).append(slice_)
        elif kind == 2:
            ended = open_slices[track].pop()
            ended.end = ns
            found.append(ended)
        else:
            equal(kind, 3)
            slice_.end = ns
            found.append(slice_)
    assert not any(open_slices.values()), "a slice without an end"
    return tracks, found


@test
def chrome_nanoseconds():
    """Chrome's trace keeps nanoseconds"""
    events, names = chrome("timeline")
    kernels = [e for e in events if e.get("cat") == "kernel"]
    equal([e["ns"] for e in sorted(kernels, key=lambda e: e["ns"])],
          [1000010000 + i * 1000 for i in range(4)])
    equal(sorted(e["dur_ns"] for e in kernels), [1001, 1001, 1001, 1002])
    equal({e["name"] for e in kernels}, {"matmul(float const*, float const*, float*)"})
    equal({(e["args"]["grid"], e["args"]["block"]) for e in kernels}, {("1 2 3", "256 1 1")})
    launches = [e for e in events if e.get("cat") == "api" and e["ph"] == "X"]
    equal([(e["ns"], e["dur_ns"]) for e in launches],
          [(1000001000 + i * 1000, 789) for i in range(4)])
    equal({names[e["pid"], e["tid"]] for e in launches}, {"main"})


def check_rows(slices):
    """Slices of a row do not cut each other."""
    stack = []
    for start, end in sorted(slices, key=lambda s: (s[0], -s[1])):
        while stack and stack[-1] <= start:
            stack.pop()
        assert not stack or end <= stack[-1], f"{start} to {end} overlaps one that ends {stack[-1]}"
        stack.append(end)


@test
def chrome_rows():
    """Each GPU is a process with its streams, and work that overlaps gets rows of its own"""
    for name in ["timeline", "both"]:
        events, names = chrome(name)
        by_row = {}
        for event in events:
            assert event["pid"] in names and (event["pid"], event["tid"]) in names or \
                event["ph"] == "i", f"{event} is in no row"
            if event["ph"] == "X":
                by_row.setdefault((event["pid"], event["tid"]), []).append(
                    (event["ns"], event["ns"] + event["dur_ns"]))
        for row in by_row.values():
            check_rows(row)
    events, names = chrome("timeline")
    rows = [names[e["pid"], e["tid"]] for e in events if e.get("cat") == "kernel"]
    equal(set(rows), {"stream 7", "stream 7 (2)"})
    equal({names[e["pid"]] for e in events if e.get("cat") == "kernel"}, {"GPU0 NVIDIA H100"})


@test
def chrome_flows():
    """An arrow leads from each launch to its kernel"""
    events, _ = chrome("timeline")
    begins = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    equal(len(begins), 4)
    equal(set(begins), set(ends))
    for number, begin in begins.items():
        equal(ends[number]["ns"] - begin["ns"], 9000)
        equal(ends[number]["bp"], "e")


@test
def call_paths():
    """Operations have their call path, each path is written once, and lines are not too wide"""
    document = json.loads((files / "timeline.chrome.json").read_text(encoding="utf-8"))
    frames = document["stackFrames"]
    equal({number: (f["name"], f.get("parent")) for number, f in frames.items()},
          {"1": ("[unknown]+0x401000", None), "2": ("cudaLaunchKernel", "1")})
    work = [e for e in document["traceEvents"] if e.get("cat") in ("kernel", "copy")]
    equal({(e.get("sf"), e["args"].get("call_path"), e["args"].get("no_call_path")) for e in work},
          {("2", "[unknown]+0x401000", None), (None, None, "kernel without launch")})
    # Paths of two captures, too.
    for name in ["timeline", "both"]:
        _, slices = perfetto(name)
        for slice_ in slices:
            path = slice_.arguments.get("call_stack")
            # Before, between and after calls that have no function in common there is no path.
            if slice_.category != "state":
                equal(bool(path), slice_.category in ("kernel", "copy", "set") and
                      "no_call_path" not in slice_.arguments, slice_.name)
            assert not path or len(slice_.arguments["call_path"]) <= 200
    _, slices = perfetto("timeline")
    equal({s.arguments["call_stack"] for s in slices if s.category == "kernel"},
          {"[unknown]+0x401000;cudaLaunchKernel"})


@test
def states():
    """What a thread did outside of its calls is in a row of its own, without gaps but for the calls"""
    events, names = chrome("timeline")
    found = [e for e in events if e.get("cat") == "state"]
    equal({names[e["pid"], e["tid"]] for e in found}, {"main outside of calls"})
    calls = [e for e in events if e.get("cat") in ("api", "wait") and e["ph"] == "X" and
             names[e["pid"], e["tid"]] == "main"]
    ends = [(e["ns"], e["ns"] + e["dur_ns"]) for e in found + calls]
    for (_, end), (begin, _) in zip(sorted(ends), sorted(ends)[1:]):
        equal(begin, end, "a time of the thread that is in no row")
    equal([e["name"] for e in found if e["ns"] < calls[0]["ns"]], ["[before the first call]"])
    equal({e["name"] for e in found[1:-1]}, {"[between calls]"})


@test
def chrome_ranges_and_events():
    """NVTX ranges, waits, driver events and alerts are there"""
    events, names = chrome("timeline")
    phases = [e["ph"] for e in events if e["ph"] in "BE"]
    equal(phases, ["B", "E"], "a pop without a push")
    equal([e["name"] for e in events if e["ph"] == "B"], ['step "one"'])
    epoch = [e for e in events if e["ph"] == "X" and e["name"] == "epoch"]
    equal([(e["ns"], e["dur_ns"]) for e in epoch], [(1000002000, 25000)])
    instants = {e["name"]: e for e in events if e["ph"] == "i"}
    equal(instants["Xid 31"]["s"], "g")
    equal(instants["Xid 31"]["args"], {"device": "0000:07:00.0", "message": "xid: MMU Fault"})
    equal(instants["GPU reset"]["args"],
          {"device": "0000:07:00.0", "message": "reset: GPU was reset in 7 ms"})
    equal(instants["ioctl"]["args"], {"command_hex": 42, "result": 0, "duration_ns": 77,
                                      "pid": 42, "comm": 'train "1"'})
    equal(names[instants["ioctl"]["pid"], instants["ioctl"]["tid"]], "nvidia0 0x2a")
    equal(instants["done"]["args"]["latency_ns"], 4000)
    equal(instants["hang"]["args"]["message"], "hang: job on the hardware for 5240 ms")
    job, = [e for e in events if e.get("cat") == "job"]
    equal((job["ns"], job["dur_ns"], job["name"], names[job["pid"], job["tid"]], job["args"]),
          (1000005000, 4000, "train[42]", "card/ring0, on the hardware", {"context": 7, "seqno": 3, "errno": 62}))
    assert "here" in instants
    waits = [e for e in events if e.get("cat") == "wait"]
    equal([(e["name"], e["dur_ns"]) for e in waits], [("cudaStreamSynchronize", 13000)])
    copies = [e for e in events if e.get("cat") == "copy"]
    equal([e["args"]["no_call_path"] for e in copies], ["kernel without launch"])


@test
def hits_alone():
    """A process seen only by uprobes has its calls, and how long it waited"""
    events, names = chrome("hits")
    states = [e for e in events if e.get("cat") == "state"]
    events = [e for e in events if e.get("cat") != "state"]
    equal([(e["name"], e["ns"], e["dur_ns"]) for e in states], [("[between calls]", 5000000100, 100)])
    equal([(e["ph"], e["name"], e["ns"], e.get("dur_ns")) for e in events],
          [("i", "cudaLaunchKernel", 5000000100, None),
           ("X", "cudaStreamSynchronize", 5000000200, 54321)])
    equal({names[e["pid"]] for e in events}, {"serve"})
    equal({names[e["pid"], e["tid"]] for e in events}, {"thread 78"})


@test
def perfetto_agrees():
    """Perfetto's trace, decoded, has the slices of Chrome's"""
    for name in ["timeline", "both", "hits"]:
        events, names = chrome(name)
        _, slices = perfetto(name)
        want = sorted((e["ns"], e["ns"] + e.get("dur_ns", 0), e["name"]) for e in events
                      if e["ph"] in "Xi")
        got = sorted((s.start, s.end, s.name) for s in slices)
        pushed = [e for e in events if e["ph"] == "B"]
        popped = [e for e in events if e["ph"] == "E"]
        for begin, end in zip(pushed, popped):
            want.append((begin["ns"], end["ns"], begin["name"]))
        equal(got, sorted(want), name)


@test
def perfetto_tracks():
    """Perfetto's tracks: threads of processes, streams of GPUs, lanes for what overlaps"""
    tracks, slices = perfetto("timeline")
    by_name = {track.name: track for track in tracks.values()}
    equal(by_name["./train <1>"].pid, 42)
    equal(by_name["main"].tid, 42)
    equal(tracks[by_name["stream 7"].parent].name, "GPU0 NVIDIA H100")
    equal(tracks[by_name["nvidia0 0x2a"].parent].name, "driver")
    by_row = {}
    for slice_ in slices:
        by_row.setdefault(id(slice_.track), []).append((slice_.start, slice_.end))
    for row in by_row.values():
        check_rows(row)


@test
def perfetto_flows():
    """Perfetto's flows join each launch with its kernel and nothing else"""
    _, slices = perfetto("timeline")
    flows = {}
    for slice_ in slices:
        for flow in slice_.flows:
            flows.setdefault(flow, []).append(slice_)
    joined = [sorted(s.category for s in found) for found in flows.values() if len(found) > 1]
    equal(joined, [["api", "kernel"]] * 4)
    kernels = [s for s in slices if s.category == "kernel"]
    equal({s.arguments["latency_ns"] for s in kernels}, {9000})
    equal({s.arguments["grid"] for s in kernels}, {"1 2 3"})


def check_frames(found):
    """Frames as name, begin, length and annotations."""
    equal(len(found), 240)
    for (_, start, ns, _), (_, following, _, _) in zip(found, found[1:]):
        equal(start + ns, following, "time between two frames")
    equal([name for name, _, _, _ in found[:3]], ["frame 2", "frame 3", "frame 4"])
    grew = 'draw <shadows> & "sky" grew from 2.00ms to 22.0ms'
    counts = {"submissions": 1, "operations": 1, "median_ns": 16000000}
    equal([frame for frame in found if frame[3]],
          [("frame 52 late", 1800000000, 36000000,
            dict(counts, late="waited for the GPU", evidence=grew, frame_ns=36000000)),
           ("frame 122 late", 2940000000, 216000000,
            dict(counts, late="made pipelines or shaders", frame_ns=216000000,
                 evidence="vkCreateGraphicsPipelines grew from 0ns to 200ms")),
           ("frame 202 late", 4420000000, 46000000,
            dict(counts, late="without evidence", evidence="nothing recorded says why", frame_ns=46000000))])


@test
def chrome_frames():
    """Frames of a swapchain are a row of its process, and late ones have their reason"""
    events, names = chrome("frames")
    found = [e for e in events if e.get("cat") == "frame"]
    equal({names[e["pid"], e["tid"]] for e in found}, {"frames of swapchain 1"})
    equal({names[e["pid"]] for e in found}, {"game"})
    check_frames([(e["name"], e["ns"], e["dur_ns"], e.get("args", {})) for e in found])


@test
def perfetto_frames():
    """The same in Perfetto's format, also of a part of the time"""
    tracks, slices = perfetto("frames")
    found = [s for s in slices if s.category == "frame"]
    equal({s.track.name for s in found}, {"frames of swapchain 1"})
    equal({tracks[s.track.parent].name for s in found}, {"game"})
    check_frames([(s.name, s.start, s.end - s.start, s.arguments) for s in found])
    _, slices = perfetto("frames.part")
    equal([(s.name, s.start, s.end) for s in slices if s.category == "frame"],
          [("frame 51", 1790000000, 1800000000), ("frame 52 late", 1800000000, 1836000000),
           ("frame 53", 1836000000, 1850000000)])
