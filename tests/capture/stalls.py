# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Why kernels waited, by brute force: the reference's part for samples of the program counter."""
import collections
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "suite/lib"))
from chunks import chunk_at, records_in  # noqa: E402

STRING, STALLS, TOTALS = 5, 48, 49
PREFIX, NOT_ISSUED = "smsp__pcsamp_warps_issue_stalled_", "_not_issued"


def all_records(data):
    at = 0
    while at >= 0:
        found = chunk_at(data, at)
        if found:
            for kind, _, record in records_in(found[2]):
                yield kind, record
            at = found[3]
        else:
            at = data.find(b"GPMC", at + 1)


def of_file(path):
    """(time, name, place, [(reason, samples)]) of each record, and the totals by context."""
    strings, found, totals = {}, [], collections.defaultdict(list)
    for kind, record in all_records(path.read_bytes()):
        if kind == STRING:
            number, length = struct.unpack_from("<II", record, 8)
            strings[number] = record[16:16 + length].decode("utf-8", "replace")
        elif kind == STALLS:
            time, module, _, _, name, offset, file, line, count = struct.unpack_from("<QQIIIIIII", record, 8)
            pairs = struct.unpack_from(f"<{2 * count}I", record, 56)
            found.append((time, name, module, offset, file, line, list(zip(pairs[::2], pairs[1::2]))))
        elif kind == TOTALS:
            time, _, context, *sums = struct.unpack_from("<QIIQQQI", record.ljust(56, b"\0"), 8)
            totals[context].append((time, sums))
    rows = []
    for time, name, module, offset, file, line, pairs in found:
        place = (strings[file], line) if file in strings and line else (None, module, offset)
        rows.append((time, strings.get(name, "[unknown kernel]"), place,
                     [(strings.get(reason, "unknown"), samples) for reason, samples in pairs]))
    return rows, totals


def figures(directories, since=0, until=None):
    """By kernel: samples by reason and by place and reason; of all: what was counted."""
    sums, counted, seen = collections.defaultdict(lambda: [0, 0]), [0, 0, 0], False
    known = False
    for file in [file for directory in directories for file in pathlib.Path(directory).glob("[!.]*.records")]:
        rows, totals = of_file(file)
        seen |= bool(rows or totals)
        for time, name, place, pairs in rows:
            for reason, samples in pairs if since <= time and (until is None or time < until) else []:
                reason = reason.removeprefix(PREFIX)
                bare = reason.removesuffix(NOT_ISSUED)
                sums[name, place, bare][reason != bare] += samples
        for reads in totals.values():
            reads.sort(key=lambda read: read[0])
            inside = [sums for time, sums in reads if since <= time and (until is None or time < until)]
            before = [sums for time, sums in reads if time < since]
            known |= bool(inside)
            for i in range(3 if inside else 0):
                counted[i] += max(0, inside[-1][i] - (before[-1][i] if before else 0))
    if not seen:
        return None
    return {"counted": counted if known else None,
            "sums": sorted([[name, *place, reason, *two] for (name, place, reason), two in sums.items()], key=repr)}


def of_document(document):
    """The same of gpumon-user's JSON, whose sums have to be those of their parts."""
    stalls = document["stalls"]
    if stalls is None:
        return None
    found = []
    for kernel in stalls["kernels"]:
        by_reason = collections.defaultdict(lambda: [0, 0])
        for place in kernel["places"]:
            where = [place["file"], place["line"]] if place["file"] else [None, place["module"], place["offset"]]
            assert (place["line"] is None) == (place["module"] is not None), f"{place} is a line and an instruction"
            for reason in place["reasons"]:
                found.append([kernel["mangled"], *where, reason["reason"], reason["samples"], reason["not_issued"]])
                by_reason[reason["reason"]][0] += reason["samples"]
                by_reason[reason["reason"]][1] += reason["not_issued"]
            assert place["samples"] == sum(reason["samples"] for reason in place["reasons"]), f"samples of {where}"
        assert dict(by_reason) == {row["reason"]: [row["samples"], row["not_issued"]] for row in kernel["reasons"]}, \
            f"reasons of {kernel['name']}"
        assert kernel["samples"] == sum(place["samples"] for place in kernel["places"]), kernel["name"]
        assert kernel["without_line"] == sum(place["samples"] for place in kernel["places"] if not place["file"])
        counts = [row["samples"] for row in kernel["reasons"]]
        assert counts == sorted(counts, reverse=True), f"order of reasons of {kernel['name']}"
        assert kernel["too_few"] == (kernel["samples"] < 100), kernel["name"]
    assert stalls["samples"] == sum(kernel["samples"] for kernel in stalls["kernels"]), "samples of all"
    counted = [stalls[key] for key in ("counted", "dropped", "other")]
    if counted[0] is not None:
        assert stalls["unreported"] == max(0, counted[0] - counted[1] - counted[2] - stalls["samples"]), "unreported"
    nodes_agree(document)
    return {"counted": None if counted[0] is None else counted, "sums": sorted(found, key=repr)}


def nodes_agree(document):
    """Parts of a node's time are all of it, and only one node of a kernel in a process has samples."""
    names = {row["name"]: row["mangled"] for row in document["stalls"]["kernels"]}
    process, seen = [], collections.Counter()
    for node in document["nodes"]:
        above = process[node["parent"]] if node["parent"] is not None else None
        process.append(node["name"] if node["kind"] == "process" else above)
        if node["kind"] == "kernel" and node["scaled_count"]:
            seen[process[-1], node["name"]] += 1
        if "stalls" in node:
            assert node["name"] in names and node["kind"] == "kernel", f"{node['name']} was not sampled"
            assert sum(part["scaled_gpu_ns"] for part in node["stalls"]) == node["scaled_gpu_ns"], node["name"]
    for node, of in zip(document["nodes"], process):
        assert "stalls" not in node or seen[of, node["name"]] == 1, f"{node['name']} has several call paths"


def text(found):
    if not found:
        return []
    lines = ["\n# stalls: samples counted, dropped, of others; by kernel, line or instruction, reason: samples, not issued",
             " ".join(map(str, found["counted"] or ["-"]))]
    return lines + [" ".join("-" if value is None else str(value) for value in row) for row in found["sums"]]
