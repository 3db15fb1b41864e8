# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""--from, --to and --range: parts of a recording beside each other add up to all of it, and each is what
the format's records say of that time, by brute force.
"""
import collections
import json
import random
import re
import shutil
import struct

import reference
import stalls

PARTS = 4


def text(ns):
    return f"{ns}ns"


def sums(document):
    """What adds up, to the nanosecond."""
    found = collections.Counter()
    recording = document["recording"]
    for key in ("duration_ns", "gpu_ns", "cpu_ns"):
        found[key] += recording[key]
    for row in document["kernels"]:
        for key in ("count", "gpu_ns"):
            found["kernel", row["kind"], row["mangled"] or row["name"], key] += row[key]
    for row in document["devices"]:
        for key in ("count", "gpu_ns", "busy_ns", "elapsed_ns"):
            # A stream of which nothing is shown has no row.
            if key != "elapsed_ns" or row["stream"] is None:
                found["device", row["process"], row["device"], row["context"], row["stream"], key] += row[key]
    for row in document["gpus"]:
        found["gpu", row["gpu"], "busy_ns"] += row["busy_ns"]
    for row in document["budget"]:
        thread = row["process"], row["tid"]
        for key in ("wall_ns", "launches", "gpu_waits", "calls"):
            found["thread", thread, key] += row[key]
        for part in ("spent_ns", "blocked_ns"):
            for key, ns in row[part].items():
                found["thread", thread, part, key] += ns
    for row in document["idle"]:
        for key in ("before_first_ns", "after_last_ns", "between_ns", "queued_ns", "unknown_ns"):
            found["idle", row["gpu"], key] += row[key]
        for key, ns in row["overhead_ns"].items():
            found["idle", row["gpu"], "overhead", key] += ns
    for row in document["ranges"]:
        for key in ("count", "open_ns", "works", "gpu_ns"):
            found["range", row["domain"], row["text"], key] += row[key]
    for row in document["ranks"]:
        for key in ("matched", "unmatched", "communication_ns", "waiting_ns"):
            found["rank", row["rank"], key] += row[key]
    missing = document["missing"]
    for match, kinds in missing["works"].items():
        for kind, count in kinds.items():
            found["works", match, kind] += count
    for part in ("without_time", "launches"):
        for key, count in missing[part].items():
            found[part, key] += count
    found["hits"] += missing["hits"]
    sampled = stalls.of_document(document) or {"counted": None, "sums": []}
    for key, samples in zip(("counted", "dropped", "other"), sampled["counted"] or ()):
        found["stalls", key] += samples
    for *key, samples, not_issued in sampled["sums"]:
        found["stalls", *key, "samples"] += samples
        found["stalls", *key, "not_issued"] += not_issued
    paths = []
    for node in document["nodes"]:
        path = () if node["parent"] is None else paths[node["parent"]]
        paths.append((*path, (node["kind"], node["name"], node["line"])))
        for key in ("count", "gpu_ns", "cpu_ns", "wall_ns", "idle_ns"):
            found["path", paths[-1], key] += node.get(key, 0)
    return +found


def estimated(document):
    """What was not recorded, by kernel. It is rounded for each group of launches."""
    return {(row["kind"], row["mangled"] or row["name"], key): row[f"scaled_{key}"] - row[key]
            for row in document["kernels"] for key in ("count", "gpu_ns")}


def cuts(choose, length):
    return [0, *sorted(choose.randrange(1, length) for _ in range(PARTS - 1)), length]


def parts_of(points):
    return [["--from", text(begin), "--to", text(end)] for begin, end in zip(points, points[1:])]


def add_up(harness, seed, *paths):
    """Parts beside each other, cut at random times: all of it."""
    whole = harness.json(*paths)
    points = cuts(random.Random(f"{seed} parts"), whole["recording"]["duration_ns"])
    got, estimates = collections.Counter(), collections.Counter()
    for words in parts_of(points):
        document = harness.json(*words, *paths)
        got.update(sums(document))
        estimates.update(estimated(document))
        for row in document["budget"]:
            assert row["wall_ns"] == sum(row["spent_ns"].values()), f"{words}: {row}"
            assert row["wall_ns"] <= document["recording"]["duration_ns"], f"{words}: {row}"
    want = sums(whole)
    # Shares of what has no path are those of the part's own paths.
    keys = {key for key in set(got) | set(want) if not (whole["recording"]["sampling"] and key[0] == "path")}
    differs = sorted((key for key in keys if got[key] != want[key]), key=str)
    assert not differs, f"{len(differs)} differ, as {differs[:3]}: {[(got[key], want[key]) for key in differs[:3]]}"
    for key, value in estimated(whole).items():
        assert abs(value - estimates[key]) <= 2 * PARTS * 64, f"{key}: {estimates[key]} is not {value}"


def operations(path, begin, end):
    """By brute force: count and time of the operations that begin in a part, and when each device was busy."""
    found, busy = collections.Counter(), collections.defaultdict(list)
    for number, file in enumerate(sorted(path.glob("process-*.records"))):
        process = reference.Process(file, collections.Counter())
        launched = {(reference.api_of(launch[7]), launch[4]): launch[1] for launch in process.launches}
        for kind, flags, since, until, _, correlation, name, device, context, *_ in process.works:
            valid = since and until >= since and not flags & 9
            # What has no time is where it was launched.
            if begin <= (since or launched.get((reference.api_of(context), correlation), 0)) < end:
                name = process.strings.get(name) if kind == reference.KERNEL else name
                found[name, "count"] += 1
                found[name, "ns"] += until - since if valid else 0
            if valid and max(since, begin) < min(until, end):
                busy[number, device].append((max(since, begin), min(until, end)))
    return +found, {key: reference.union_ns(spans) for key, spans in busy.items()}


def agrees(harness, path, seed):
    """A part in the middle is what a brute force finds, and timelines have exactly its operations."""
    whole = harness.json(path)["recording"]
    length = whole["duration_ns"]
    begin, end = sorted(random.Random(f"{seed} middle").sample(range(1, length), 2))
    words = ["--from", text(begin), "--to", text(end)]
    document = harness.json(*words, path)
    part = document["recording"]["range"]
    assert (part["from_ns"], part["to_ns"], part["name"]) == (begin, end, None), part
    assert document["recording"]["duration_ns"] == end - begin, "duration"
    found, busy = operations(path, whole["first_ns"] + begin, whole["first_ns"] + end)
    got = collections.Counter()
    for row in document["kernels"]:
        name = row["mangled"] or row["name"]
        got[name, "count"] += row["count"]
        got[name, "ns"] += row["gpu_ns"]
    assert +got == found, f"operations of {words}: {+got} is not {found}"
    told = {(row["process"], row["device"]): row["busy_ns"] for row in document["devices"] if row["stream"] is None}
    assert {key: ns for key, ns in told.items() if ns} == busy, f"busy: {told} is not {busy}"
    want = stalls.figures([path], whole["first_ns"] + begin, whole["first_ns"] + end)
    got = stalls.of_document(document)
    assert got == json.loads(json.dumps(want)), f"stalls of {words}: {got} is not {want}"
    trace = json.loads(harness.run("export", "--chrome", *words, path))
    assert "only " in trace["otherData"]["range"], trace["otherData"]
    first = int(trace["otherData"]["start_ns"])
    shown, flows = collections.Counter(), collections.Counter()
    for event in trace["traceEvents"]:
        if event.get("cat") in ("kernel", "copy", "set", "graph") and event["ph"] == "X":
            shown["count"] += 1
            shown["ns"] += round(event["dur"] * 1000)
        elif event["ph"] == "X":
            at = first + round(event["ts"] * 1000)
            assert at >= whole["first_ns"] + begin, f"before it: {event}"
            assert at + round(event["dur"] * 1000) <= whole["first_ns"] + end, f"after it: {event}"
        elif event["ph"] in "sf":
            flows[event["ph"]] += 1
    assert shown["count"] == sum(count for (_, key), count in found.items() if key == "count"), "operations on the timeline"
    assert flows["s"] == flows["f"], f"flows: {flows}"


def every_output(harness, path):
    """Each says which part it has, where it has a place for it."""
    length = harness.json(path)["recording"]["duration_ns"]
    words = ["--from", text(length // 3), "--to", text(2 * length // 3)]
    line = re.compile(r"only \S+ to \S+ of \S+")
    for command in (["correlate"], ["report"], ["flamegraph"], ["flamegraph", "--wall"], ["diff", path],
                    ["diff", "--flamegraph", "-", path]):
        assert line.search(harness.run(*command, *words, path).decode("utf-8")), f"{command} does not say it"
    for command in (["flamegraph", "--folded"], ["export", "--folded", "--idle"], ["export", "--perfetto"],
                    ["export", "--pprof"], ["correlate", "--json"]):
        assert harness.run(*command, *words, path) != harness.run(*command, path), command
    two = json.loads(harness.run("diff", "--json", *words, path, path))
    assert two["before"]["range"] == two["after"]["range"] and two["before"]["range"], "diff --json"


def wrong(harness, path, has_ranges):
    """Each error says what was wrong."""
    for words, status, said in [
            (["--from", "2s", "--to", "1s"], 1, "--from 2.00s is not before --to 1.00s"),
            (["--from", "366h"], 1, "is beyond the end of the recording"),
            (["--from", "x"], 2, '"x" is not a time since the beginning'),
            (["--range", "a", "--from", "1s"], 2, "leave one out"),
            (["--range", "no such name"], 1, "no NVTX range has that name: there" if has_ranges else
             "there are no NVTX ranges in it: record with --nvtx")]:
        for command in (["correlate"], ["export", "--chrome"], ["flamegraph"]):
            got = harness.fails(*command, *words, path, expect=status)
            assert said in got, f"{command} {words}: {got}"


def ranges_of(path):
    """By brute force: (begin, end) of the NVTX ranges of a process, by text, in the order of their beginnings."""
    found = collections.defaultdict(list)
    for file in path.glob("process-*.records"):
        strings, pushed, started = {}, collections.defaultdict(list), {}
        records = list(reference.all_records(file.read_bytes()))
        for kind, _, record in records:
            if kind == reference.STRING:
                number, length = struct.unpack_from("<II", record, 8)
                strings[number] = record[16:16 + length].decode()
        for kind, _, record in records:
            if kind != reference.RANGE:
                continue
            time, number, tid, domain, name, _, what = struct.unpack_from("<QQIIIIH", record, 8)
            if what == 1:
                pushed[tid, domain].append((name, time))
            elif what == 2 and pushed[tid, domain]:
                name, since = pushed[tid, domain].pop()
                found[strings[name]].append((since, time))
            elif what == 3:
                started[number] = name, time
            elif what == 4 and number in started:
                name, since = started.pop(number)
                found[strings[name]].append((since, time))
    return {name: sorted(spans) for name, spans in found.items()}


def named(harness, path):
    """Each range by its number is what --from and --to are that say its times; of two processes the hull."""
    first = harness.json(path)["recording"]["first_ns"]
    found = ranges_of(path)
    assert len(found) > 1 and max(map(len, found.values())) > 3, found
    for name, spans in found.items():
        hull = (min(since for since, _ in spans), max(until for _, until in spans))
        for number, (since, until) in [(None, hull), (1, spans[0]), (len(spans), spans[-1]), (-1, spans[-1])]:
            word = name if number is None else f"{name}:{number}"
            got = harness.json("--range", word, path)
            part = got["recording"].pop("range")
            assert (part["from_ns"] + first, part["to_ns"] + first) == (since, until), f"{word}: {part}"
            assert part["name"] == name and part["processes"] == 1, part
            assert part["last"] == (len(spans) if number in (None, -1) else number), part
            words = ["--from", text(since - first), "--to", text(until - first)]
            want = harness.json(*words, path)
            del want["recording"]["range"]
            assert got == want, f"{word} is not {words}"
    name = max(found, key=lambda name: len(found[name]))
    assert f"there are {len(found[name])} of that name" in \
        harness.fails("correlate", "--range", f"{name}:{len(found[name]) + 1}", path, expect=1)
    assert "the first one is 1" in harness.fails("correlate", "--range", f"{name}:0", path, expect=1)
    other = harness.directory / "second-process"
    shutil.copytree(path, other)
    later = harness.json("--range", f"{name}:2", path, other)["recording"]["range"]
    alone = harness.json("--range", f"{name}:2", path)["recording"]["range"]
    assert later == {**alone, "processes": 2}, later
    assert b"of 2 processes" in harness.run("correlate", "--range", f"{name}:2", path, other)
    shutil.rmtree(other)
