# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""
Timelines against the records: each operation has its grid and block, the call path that the profile
has, and a flow from the slice of its launch.
"""
import collections
import json
import math
import pathlib
import struct
from decimal import Decimal

import metric_means
import reference
from formats import WORK, Message

NO_PATH = {"[kernel without stack]", "[kernel without launch]", "[launched by CUDA]", "[launch ambiguous]",
           "[stack not sampled]"}
CAPTURED, INTERNAL, UNFINISHED = 1, 2, 1


class Operation:
    """One operation on a timeline; times in ns."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


def recorded(directory):
    """(start, correlation) of an operation: what its record and its launch's record say, as a list."""
    found = collections.defaultdict(list)
    for file in sorted(pathlib.Path(directory).glob("[!.]*.records")):
        launches, works = {}, []
        for kind, flags, record in reference.all_records(file.read_bytes()):
            if kind == reference.LAUNCH and not flags & CAPTURED:
                start, end, tid, correlation = struct.unpack_from("<QQII", record, 8)
                api = reference.api_of(struct.unpack_from("<I", reference.padded(record, 48), 40)[0])
                # Of several launches with one id none is that of an operation.
                launches[api, correlation] = None if (api, correlation) in launches else (tid, start, end)
            elif kind == reference.KERNEL:
                correlation, _, _, context = struct.unpack_from("<4I", record, 48)
                works.append((flags, struct.unpack_from("<QQ", record, 8), correlation,
                              context, struct.unpack_from("<6I", record, 72)))
            elif kind in reference.KINDS:
                # Of a graph as a whole it is where bytes are elsewhere.
                at = 24 if kind == reference.WHOLE else 40
                correlation, _, context = struct.unpack_from("<3I", record, at)
                works.append((flags, struct.unpack_from("<QQ", record, 8), correlation,
                              context, None))
        for flags, times, correlation, context, size in works:
            launch = None if flags & INTERNAL or not correlation else \
                launches.get((reference.api_of(context), correlation))
            # Without times it is where its call returned.
            start = times[0] or (launch[2] if launch else 0)
            found[start, correlation].append((size and [" ".join(map(str, size[:3])),
                                                        " ".join(map(str, size[3:]))],
                                              launch and launch[:2],
                                              "no_time" if not times[0] else
                                              "unfinished" if flags & UNFINISHED else None,
                                              bool(launch and times[0])))
    return found


def profiled(document):
    """Count and time by path and name, of work that has a path."""
    nodes, found = document["nodes"], collections.Counter()
    for node in nodes:
        if node["kind"] not in (*WORK, "whole_graph"):
            continue
        path, at = [], node["parent"]
        while at is not None and nodes[at]["kind"] not in ("root", "process"):
            path.append(nodes[at]["name"])
            at = nodes[at]["parent"]
        if not NO_PATH & set(path):
            key = ";".join(name.replace(";", ":") for name in reversed(path)), node["name"]
            found[(*key, "count")] += node["count"]
            found[(*key, "ns")] += node["gpu_ns"]
    return found


def states(text):
    """Time by path and state, of what threads did outside of their calls."""
    document, found = json.loads(text, parse_float=Decimal), collections.Counter()
    for event in document["traceEvents"]:
        if event.get("cat") != "state":
            continue
        path, frame = [], event.get("sf")
        while frame:
            path.append(document["stackFrames"][frame]["name"])
            frame = document["stackFrames"][frame].get("parent")
        # "[between calls] in step": the function is the innermost one of the path that says something.
        state, _, function = event["name"].partition("] in ")
        assert not function or path, f"{event['name']}: no path"
        found[";".join(reversed(path)), state.rstrip("]") + "]"] += int(event["dur"] * 1000)
    return found


def spent(document):
    """The same of the profile's tree."""
    nodes, found = document["nodes"], collections.Counter()
    for node in nodes:
        path, at = [], node["parent"]
        if node["kind"] != "state" or not node.get("wall_ns"):
            continue
        if nodes[at]["kind"] == "api":
            continue
        while nodes[at]["kind"] not in ("root", "process"):
            path.append(nodes[at]["name"])
            at = nodes[at]["parent"]
        found[";".join(reversed(path)), node["name"]] += node["wall_ns"]
    return found


def check_states(text, document):
    # Without stacks the profile estimates where the thread was, and a timeline does not.
    if any(row["unsampled_ns"] for row in document["budget"]):
        return
    got, want = states(text), spent(document)
    assert got == want, f"states differ: {list((got - want) + (want - got))[:3]}"


def chrome(text):
    document = json.loads(text, parse_float=Decimal)
    frames, start = document["stackFrames"], int(document["otherData"]["start_ns"])
    slices, flows = set(), collections.defaultdict(dict)
    for event in document["traceEvents"]:
        event["ns"] = int(event.get("ts", 0) * 1000) + start
        if event["ph"] == "X":
            slices.add((event["pid"], event["tid"], event["ns"]))
        elif event["ph"] in "sf":
            flows[event["id"]][event["ph"]] = event
    from_launch = {}
    for flow in flows.values():
        begin, end = flow["s"], flow["f"]
        row = begin["pid"], begin["tid"], begin["ns"]
        assert row in slices, f"a flow begins at {row}, where no slice does"
        assert (end["pid"], end["tid"], end["ns"]) in slices, "a flow ends where no slice begins"
        from_launch.setdefault((end["pid"], end["tid"], end["ns"]), []).append(row[1:])
    for event in document["traceEvents"]:
        if event["ph"] != "X" or event.get("cat") not in WORK:
            continue
        path, frame = [], event.get("sf")
        while frame:
            path.append(frames[frame]["name"].replace(";", ":"))
            frame = frames[frame].get("parent")
        launches = from_launch.get((event["pid"], event["tid"], event["ns"]), [])
        assert len(launches) <= 1, "several flows to one operation"
        yield Operation(name=event["name"], start=event["ns"], dur=int(event["dur"] * 1000),
                        args=event["args"], path=";".join(reversed(path)),
                        launch=launches[0] if launches else None)


def perfetto(data):
    names, categories, keys, texts, tids = {}, {}, {}, {}, {}
    open_slices, operations, flows = collections.defaultdict(list), [], {}
    for packet in Message(data).messages(1):
        for descriptor in packet.messages(60):
            for thread in descriptor.messages(4):
                tids[descriptor.one(1)] = thread.one(2)
        for interned in packet.messages(12):
            for number, table in [(1, categories), (2, names), (3, keys), (29, texts)]:
                for entry in interned.messages(number):
                    assert entry.one(1) not in table, f"{number}: interned twice"
                    table[entry.one(1)] = entry.text(2)
        for event in packet.messages(11):
            time, track = packet.one(8), event.one(11)
            if event.one(9) == 4:
                continue
            if event.one(9) == 2:
                operation = open_slices[track].pop()
                operation.dur = time - operation.start
                continue
            args = {}
            for note in event.messages(4):
                value = note.one(3) if note.one(17) is None else texts[note.one(17)]
                args[keys[note.one(1)]] = note.text(6) if value is None else value
            operation = Operation(name=event.text(23) or names[event.one(10)], start=time, args=args, launch=None,
                                  path=args.get("call_stack", ""), flow=event.one(47))
            if event.one(9) == 1:
                open_slices[track].append(operation)
            if categories[event.one(3)] in WORK:
                operations.append(operation)
            elif event.one(47) and track in tids:
                assert event.one(47) not in flows, "two launches with one flow"
                flows[event.one(47)] = (tids[track], time)
    for operation in operations:
        operation.launch = flows.get(operation.flow)
        assert operation.flow is None or operation.launch, f"{operation.name}: a flow from nowhere"
        yield operation


def sampled(directory):
    """(time, value) of all values of metrics but 0, which is also where there is none; what was counted as a rate."""
    found = collections.defaultdict(list)
    for file in pathlib.Path(directory).glob("[!.]*.records"):
        process = reference.Process(file, collections.Counter())
        of = process.beside_metrics
        for sample in of.samples:
            numbers = of.sets.get((sample.device, sample.number), ()) if sample.end > sample.start else ()
            for number, value in zip(numbers, sample.values):
                if process.strings.get(number) in metric_means.COUNTED:
                    value = value * 1e9 / (sample.end - sample.start)
                if value and math.isfinite(value):
                    found[sample.start].append(value)
    return found


def check_values(what, got, want):
    """Text has some digits only, and may be rounded once more than the value in the capture."""
    assert set(got) == set(want), f"{what}: counters differ: at {sorted(set(got) ^ set(want))[:3]}"
    for time, values in want.items():
        assert len(values) == len(got[time]) and all(
            math.isclose(one, other, rel_tol=1e-8) for one, other in zip(sorted(values), sorted(got[time]))), \
            f"{what}: counters differ: at {time} {sorted(got[time])} are not {sorted(values)}"


def check_counters(text, data, directory):
    """Each sample of metrics is a counter of both formats, at its time."""
    want, document = sampled(directory), json.loads(text, parse_float=Decimal)
    start, tracks = int(document["otherData"]["start_ns"]), set()
    got = collections.defaultdict(list)
    for event in document["traceEvents"]:
        if event["ph"] == "C" and event["args"]["value"]:
            got[int(event["ts"] * 1000) + start].append(float(event["args"]["value"]))
    check_values("chrome", got, want)
    got = collections.defaultdict(list)
    for packet in Message(data).messages(1):
        tracks.update(descriptor.one(1) for descriptor in packet.messages(60) if descriptor.all(8))
        for event in packet.messages(11):
            if event.one(9) == 4:
                value = struct.unpack("<d", struct.pack("<Q", event.one(44)))[0]
                assert event.one(11) in tracks, "a counter on another track"
                if value:
                    got[packet.one(8)].append(value)
    check_values("perfetto", got, want)


def check(what, operations, directory, document):
    records, paths = recorded(directory), collections.Counter()
    for operation in operations:
        args = operation.args
        key = operation.start, args.get("correlation", 0)
        size = [args["grid"], args["block"]] if "grid" in args else None
        mark = next((mark for mark in ("no_time", "unfinished") if mark in args), None)
        expected = (size, operation.launch, mark, "latency_ns" in args)
        assert expected in records[key], f"{what}: {expected} is not {records[key]}"
        records[key].remove(expected)
        assert bool(operation.path) == bool(args.get("call_path")) == ("no_call_path" not in args), \
            f"{what}: {operation.name}: {args}"
        assert len(args.get("call_path", "")) <= 200
        if operation.path:
            paths[operation.path, operation.name, "count"] += 1
            if "unfinished" not in args:
                paths[operation.path, operation.name, "ns"] += operation.dur
    left = sum(map(len, records.values()))
    assert not left, f"{what}: {left} operations are not there"
    want = profiled(document)
    assert +paths == +want, f"{what}: paths differ: {list((paths - want) + (want - paths))[:2]}"
