# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""
A whole capture, without the operations of launches outside of some windows, or without most of the
stacks: what is estimated from the rest is compared with what was there.
"""
import json
import math
import random
import shutil
import struct

import reference
import writer

OPERATIONS = {reference.KERNEL: 48, reference.COPY: 40, reference.SET: 40, reference.WHOLE: 24}  # correlation at
GRAPH_AT = {reference.KERNEL: 68, reference.COPY: 56, reference.SET: 56, reference.WHOLE: 40}
LAUNCH_GRAPH, UNSAMPLED = 2, 32


def spans_of(launches, choose, parts):
    """A third of the time, in windows at distances that vary, the first one from the beginning."""
    first, last = min(start for start, _ in launches), max(end for _, end in launches)
    period = (last - first) // parts + 1
    return [(first + period * i + (choose.randrange(period * 2 // 3) if i else 0), period // 3)
            for i in range(parts)]


def thin_file(path, choose, parts):
    records = [(kind, flags, bytes(record)) for kind, flags, record in reference.all_records(path.read_bytes())]
    launches, graphs = {}, {}
    for kind, flags, record in records:
        if kind == reference.LAUNCH:
            launches[struct.unpack_from("<I", record, 28)[0]] = struct.unpack_from("<QQ", record, 8)
        elif kind in OPERATIONS:
            graphs[struct.unpack_from("<I", record, OPERATIONS[kind])[0]] = \
                struct.unpack_from("<I", record, GRAPH_AT[kind])[0]
    windows = [(since, since + length) for since, length in spans_of(launches.values(), choose, parts)]
    kept = {number for number, (start, end) in launches.items()
            if any(since <= start and end <= until for since, until in windows)}
    out, dropped = [], 0
    for kind, flags, record in records:
        if kind == reference.WINDOW:
            continue
        if kind in OPERATIONS and struct.unpack_from("<I", record, OPERATIONS[kind])[0] not in kept:
            dropped += 1
            continue
        number = struct.unpack_from("<I", record, 28)[0] if kind == reference.LAUNCH else 0
        if kind == reference.LAUNCH and flags & LAUNCH_GRAPH:
            record = writer.record("launch", flags, **{
                name: struct.unpack_from("<" + code, record, at)[0]
                for name, at, code in [("start_ns", 8, "Q"), ("end_ns", 16, "Q"), ("tid", 24, "I"),
                                       ("correlation", 28, "I"), ("stack", 32, "I"), ("function", 36, "I"),
                                       ("context", 40, "I"), ("result", 44, "i")]}, graph=graphs.get(number, 0))
        out.append(record)
    for i, (since, until) in enumerate(windows):
        out.append(writer.record("window", 2 if i else 0, time_ns=since))
        out.append(writer.record("window", 3, time_ns=until))
    return write(path, out), dropped


def write(path, records):
    """Number of chunks."""
    data = b""
    for sequence, at in enumerate(range(0, len(records), 1000)):
        data += writer.plain_chunk(b"".join(records[at:at + 1000]), 0, sequence)
    path.write_bytes(data)
    return len(range(0, len(records), 1000))


def unsample_file(path, choose, one_of):
    """As with --sample=1/N: launches but for those of graphs."""
    out, without = [], 0
    for kind, flags, record in reference.all_records(path.read_bytes()):
        record = bytearray(record)
        if kind == reference.LAUNCH and not flags & LAUNCH_GRAPH and choose.randrange(one_of):
            struct.pack_into("<H", record, 2, flags | UNSAMPLED)
            struct.pack_into("<I", record, 32, 0)
            without += 1
        out.append(bytes(record))
    return write(path, out), without


def changed(source, target, seed, change, much):
    """A copy with changed records: @much is for @change. Returns how much is not there."""
    shutil.copytree(source, target)
    choose, left_out = random.Random(seed), 0
    about = json.loads((target / "capture.json").read_text(encoding="utf-8"))
    for file in sorted(target.glob("process-*.records")):
        chunks, without = change(file, choose, much)
        left_out += without
        for entry in about.get("files", []):
            if entry["name"] == file.stem:
                entry.update(chunks=chunks, bytes=file.stat().st_size)
    (target / "capture.json").write_text(json.dumps(about) + "\n", encoding="utf-8")
    return left_out


def sums_of(document, key):
    return {(row["kind"], row["name"]): (row["count"], row[key]) for row in document["kernels"]}


def check(truth, thinned, tolerance, least):
    """Each kernel with some samples, and all together, within a part of what is true."""
    true, found = sums_of(truth, "gpu_ns"), sums_of(thinned, "scaled_gpu_ns")
    total, estimate = truth["recording"]["gpu_ns"], thinned["recording"]["scaled_gpu_ns"]
    assert abs(estimate - total) <= tolerance * total, f"{estimate} ns in all, not {total}"
    for key, (count, ns) in true.items():
        samples, scaled = found.get(key, (0, 0))
        assert samples <= count, f"{key}: more than there were"
        if samples >= least:
            assert abs(scaled - ns) <= tolerance * ns, f"{key}: {scaled} ns from {samples}, not {ns} of {count}"
    return max((samples for samples, _ in found.values()), default=0)


def check_stacks(truth, sampled):
    """The number of operations of each path, within what choosing at random makes of it. Returns that of paths."""
    whole, part, checked = truth["paths"], sampled["paths"], 0
    for path, (count, _) in whole.items():
        name = path.rsplit(";", 1)[1]
        all_paths = [other for other in whole if other.rsplit(";", 1)[1] == name]
        samples = sum(part.get(other, [0])[0] for other in all_paths)
        total = sum(whole[other][0] for other in all_paths)
        if samples < 5 or not path.count(";"):
            continue
        estimate = part.get(path, [0])[0] + sampled["sampling"]["paths"].get(path, [0])[0]
        share = count / total
        assert abs(estimate - count) <= 4 * math.sqrt(share * (1 - share) / samples) * total + 2, \
            f"{path}: {estimate} from {samples} of {total}, not {count}"
        checked += 1
    return checked
