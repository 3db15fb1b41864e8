#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""reference.py DIR...: the figures of captures, by brute force.

A reader of its own, from Documentation/reference/capture-format.md alone: it keeps everything, joins by
correlation id and adds up. gpumon-user does the same in a stream, in bounded memory; what both say
has to agree, to the nanosecond. Files of the machine that it runs on are not looked at: machine
code has the names that were kept with it, or is module+offset.
"""
import bisect
import collections
import fractions
import json
import math
import pathlib
import re
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "suite/lib"))
from chunks import chunk_at, records_in  # noqa: E402

import budget as of_budget  # noqa: E402
import metric_means  # noqa: E402
import stalls as of_stalls  # noqa: E402

PROCESS, MAPPING, UNMAPPING, STRING, FRAME, STACK, DEVICE = 1, 3, 4, 5, 6, 7, 8
LAUNCH, HIT, NODE, KERNEL, COPY, SET, WHOLE, LOSS, WINDOW = 20, 22, 24, 40, 41, 42, 46, 80, 81
KNOWN = set(range(13)) | set(range(20, 29)) | set(range(40, 52)) | {60, 61, 80, 81, 82, 83}
UNSAMPLED = "[stack not sampled]"
# What else has a time at 8: calls, ranges, waits; ends at 16 but for ranges.
CALL, RANGE, SYNC = 21, 23, 43
KINDS = {KERNEL: "kernel", COPY: "copy", SET: "set", WHOLE: "graph"}
FRAME_ID = 1 << 63

LOSSES = ["", "channel_full", "api_dropped", "withheld", "no_timestamp", "stack_table",
          "string_table", "uprobe_ring", "uprobe_stack", "driver_ring", "unknown_record", "recorder",
          "interrupted", "broken", "too_long", "uprobe_undecided",
          "across_windows", "max_size", "metric_samples"]
COPIES = {1: "map", 2: "unmap", 3: "migrate"}
PLACES = {1: "H", 2: "H", 3: "D", 4: "A", 5: "M", 6: "P"}

# Libraries that implement API calls.
DRIVER = re.compile(r"(libcuda\.so|libcudart|libcupti)")
GRAPH = re.compile(r"cu(da)?GraphLaunch")
INTERPRETER = re.compile(r"(lib)?python[0-9.dmt]*(so.*)?")


def chunks(data, damage):
    """Whole chunks in file order. Bytes after the last one are counted."""
    at = good = 0
    while at >= 0:
        found = chunk_at(data, at)
        if found:
            yield found[1:3]
            at = good = found[3]
        else:
            at = data.find(b"GPMC", at + 1)
    damage["truncated_bytes"] += len(data) - good


def all_records(data):
    """(type, flags, record), with damage left out."""
    for _, records in chunks(data, collections.Counter()):
        yield from records_in(records)


def api_of(number):
    """Of an id of a device, context or stream: correlation ids are of one API."""
    return number >> 24


def padded(record, size):
    """Missing fields are 0."""
    return record if len(record) >= size else record.ljust(size, b"\0")


def at_line(name, file, line):
    """A function with the line of its call, if that is known: "main (train.cc:12)"."""
    return f"{name} ({file.rsplit('/', 1)[-1]}:{line})" if file and int(line) else name


def read_names(path):
    """(Address, unmappings before) to modules, names, and names with lines, the innermost first."""
    names, symbols = {}, []
    for line in path.read_bytes().decode("utf-8").split("\n")[1:] if path.exists() else []:
        if line.startswith("@"):
            address, epoch = line[1:].split(" ")
            symbols = names.setdefault((int(address, 16), int(epoch)), [])
        elif line:
            function, module, number, file = (re.sub(r"\\(.)", lambda m: {"t": "\t", "n": "\n"}.get(m[1], m[1]), f)
                                              for f in line[1:].split("\t")[:4])
            symbols.append((module, function, at_line(function, file, number)))
    return names


def whole(start, end):
    """A call that had not returned has no end."""
    return start, max(start, end)



class Process:
    """One file of records, all of it in memory."""

    def __init__(self, path, damage):
        self.pid = self.chunks = 0
        self.strings, self.frames, self.stacks, self.nodes, self.devices = {}, {}, {}, {}, {}
        self.mappings, self.launches, self.works, self.hits = [], [], [], []
        self.losses = collections.Counter()
        self.changes, self.times, self.beginnings = [], [], 0
        self.beside = of_budget.Records()
        self.beside_metrics = metric_means.Records()
        self.names = read_names(path.with_suffix(".symbols"))
        for _, records in chunks(path.read_bytes(), damage):
            self.chunks += 1
            for kind, flags, record in records_in(records):
                self.take(kind, flags, record, damage)
        self.mappings.sort(key=lambda mapping: mapping[0])

    def take(self, kind, flags, record, damage):
        self.beside.take(kind, flags, record)
        self.beside_metrics.take(kind, flags, record)
        if kind == STRING:
            number, length = struct.unpack_from("<II", record, 8)
            self.strings[number] = record[16:16 + length].decode("utf-8", "replace")
        elif kind == STACK:
            number, count = struct.unpack_from("<II", record, 8)
            self.stacks[number] = (flags & 1, struct.unpack_from(f"<{count}Q", record, 16))
        elif kind == FRAME:
            number, _, _, *frame = struct.unpack_from("<IHHIII", record, 8)
            self.frames[number] = frame
        elif kind == LAUNCH:
            self.launches.append((flags, *struct.unpack_from("<QQIIIIIiII", padded(record, 56), 8)))
            self.times.append(whole(*self.launches[-1][1:3]))
        elif kind in (CALL, SYNC):
            self.times.append(whole(*struct.unpack_from("<QQ", padded(record, 24), 8)))
        elif kind == RANGE:
            self.times.append(struct.unpack_from("<Q", padded(record, 16), 8) * 2)
        elif kind == WINDOW:
            # At one time, an end comes before a beginning.
            self.changes.append((struct.unpack_from("<Q", record, 8)[0], not flags & 1, flags & 2))
            self.beginnings += not flags & 3
        elif kind == KERNEL:
            start, end, _, _, node, correlation, name, device, context, stream, graph = \
                struct.unpack_from("<QQQQQIIIIII", padded(record, 112), 8)
            self.works.append((kind, flags, start, end, node, correlation, name, device, context,
                               stream, graph))
        elif kind == COPY:
            start, end, _, node, correlation, device, context, stream, graph, _, source, to = \
                struct.unpack_from("<QQQQIIIIIIHH", padded(record, 72), 8)
            what = COPIES.get(struct.unpack_from("<I", padded(record, 72), 68)[0], "memcpy")
            name = f"{what} {PLACES.get(source, '?')}to{PLACES.get(to, '?')}"
            self.works.append((kind, flags, start, end, node, correlation, name, device, context,
                               stream, graph))
        elif kind == SET:
            start, end, _, node, correlation, device, context, stream, graph = \
                struct.unpack_from("<QQQQIIIII", padded(record, 64), 8)
            self.works.append((kind, flags, start, end, node, correlation, "memset", device,
                               context, stream, graph))
        elif kind == WHOLE:
            start, end, correlation, device, context, stream, graph = \
                struct.unpack_from("<QQIIIII", padded(record, 48), 8)
            self.works.append((kind, flags, start, end, 0, correlation, f"graph {graph}", device,
                               context, stream, graph))
        elif kind == HIT:
            time, _, duration, _, function, stack = struct.unpack_from("<QQQIII", record, 8)
            self.hits.append((time, duration, function, stack))
            self.times.append((time, time + duration))
        elif kind == NODE:
            node, original, _, stack = struct.unpack_from("<QQII", record, 8)
            self.nodes[node] = (original, stack)
        elif kind in (MAPPING, UNMAPPING):
            time, start, end = struct.unpack_from("<QQQ", record, 8)
            offset, path = (struct.unpack_from("<Q", record, 32)[0],
                            struct.unpack_from("<I", record, 56)[0]) if kind == MAPPING else (0, None)
            self.mappings.append((time, start, end, offset, path))
        elif kind == DEVICE:
            number = struct.unpack_from("<I", record, 8)[0]
            uuid = record[16:32].hex()
            self.devices[number] = "-".join((uuid[:8], uuid[8:12], uuid[12:16], uuid[16:20],
                                             uuid[20:]))
        elif kind == PROCESS:
            self.pid = struct.unpack_from("<I", record, 8)[0]
        elif kind == LOSS:
            count, cause = struct.unpack_from("<QI", record, 16)
            self.losses[LOSSES[cause] if cause < len(LOSSES) else str(cause)] += count
        elif kind not in KNOWN:
            damage["unknown_records"] += 1

    def windows(self):
        """(start, end) of those in which operations were recorded; None if that was all the time."""
        if self.beginnings < 2 and not any(sampled for _, _, sampled in self.changes):
            return None
        return of_budget.open_spans((time, begins) for time, begins, _ in self.changes)

    def group(self, launch):
        """Launches that do the same: of one graph, or of one stack and function."""
        flags, stack, function, graph = launch[0], launch[5], launch[6], launch[9]
        return ("graph", graph) if flags & 2 and graph else (flags & 32, stack, function)

    def place(self, address, time):
        """Modules and names, innermost first: the names kept in the capture, or else the place in
        the last mapping that covers the address at that time; or the next one: code may run before it is seen.
        """
        unmapped = sum(path is None and since <= time for since, _, _, _, path in self.mappings)
        if (address, unmapped) in self.names:
            return self.names[address, unmapped]
        mapped = [mapping for mapping in self.mappings if mapping[1] <= address < mapping[2]]
        before = [mapping for mapping in mapped if not time or mapping[0] <= time]
        after = [mapping for mapping in mapped if time and mapping[0] > time]
        for *_, start, _, offset, path in before[-1:] + after[:1]:
            if path is not None:
                name = self.strings.get(path, "")
                name = name.removesuffix(" (deleted)").rsplit("/", 1)[-1] or "[unknown]"
                return [(name, *[f"{name}+0x{address - start + offset:x}"] * 2)]
        return [("[unknown]", *[f"[unknown]+0x{address:x}"] * 2)]

    def path(self, stack, function, time):
        """The callers, outermost first: machine code, Python functions, the API call."""
        call = self.strings.get(function)
        if stack == 0:
            way = []
        elif stack not in self.stacks:
            way = ["[stack not recorded]"]
        else:
            cut, frames = self.stacks[stack]
            python = any(frame & FRAME_ID for frame in frames)
            found = []
            for number, frame in enumerate(frames):
                if frame & FRAME_ID:
                    function, file, line = self.frames.get(frame & 0xffffffff, (0, 0, 0))
                    name = self.strings.get(function, "[unknown]")
                    found.append([(None, name, at_line(name, self.strings.get(file), line))])
                else:
                    found.append(self.place(frame - 1 if number and frame else frame, time))
            # Frames of the driver's libraries within a call belong to the call.
            while call and found and found[0][0][0] and DRIVER.match(found[0][0][0]):
                found.pop(0)
            flat = [symbol for symbols in found for symbol in symbols]
            if call and flat and base(flat[0][1]) == base(call):
                flat.pop(0)
            way = [name for module, _, name in reversed(flat)
                   if not (python and module and INTERPRETER.fullmatch(module))]
            if cut:
                way.insert(0, "[stack cut off]")
        return way + [base(call)] if call else way

    def node_stack(self, node):
        """The stack where a graph's node was created, also through clones; 0 if unknown."""
        seen = set()
        while node in self.nodes and node not in seen:
            seen.add(node)
            original, stack = self.nodes[node]
            if stack or not original:
                return stack
            node = original
        return 0


def of_call(path):
    """The node to which the time of a call is added. A graph's launch is counted once, at the
    first operation that was read, below the place where its node was created.
    """
    return "[graphs]" if path and GRAPH.fullmatch(path[-1]) else ";".join(path)


def base(function):
    """cudaLaunchKernel of cudaLaunchKernel_ptsz_v7000."""
    while True:
        shorter = re.sub(r"(_v\d+|_ptsz|_ptds)$", "", function)
        if shorter == function:
            return function.removeprefix("__")
        function = shorter


def union_ns(intervals):
    busy, until = 0, 0
    for start, end in sorted(intervals):
        busy += max(0, end - max(start, until))
        until = max(until, end)
    return busy


def missing_chunks(file, chunks_seen):
    """From capture.json, which has it only after the end of the recording."""
    info = json.loads((file.parent / "capture.json").read_text(encoding="utf-8"))
    known = {entry["name"]: entry["chunks"] for entry in info.get("files", [])}
    return max(0, known.get(file.stem, 0) - chunks_seen)


def clipped(windows, first, last):
    return [(max(since, first), min(until, last)) for since, until in windows
            if max(since, first) < min(until, last)]


def idle_longest(intervals, unended, windows, first, last):
    """The longest time within a window in which nothing ran, but for those at its beginning: what
    was launched before the window may run then, as may what began in it and has not ended."""
    longest, until = 0, first
    for start, end in sorted(intervals) + [(last, last)]:
        for since, closed in windows if start > until else []:
            if not (since > until and closed > start):
                stop = min([start, closed] + [at for at in unended if since <= at < closed])
                longest = max(longest, stop - max(until, since))
        until = max(until, end)
    return longest


class Estimate:
    """Of operations that were not recorded, by groups of launches."""

    def __init__(self):
        self.recorded, self.left = collections.defaultdict(set), collections.Counter()
        self.parts = collections.defaultdict(lambda: [0, 0])
        self.calls = collections.Counter()
        # Of operations by name: those that have a sampled path, and those that were left out.
        self.stacks = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0]))
        self.without = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0]))

    def ratio(self, group):
        return fractions.Fraction(self.left[group], len(self.recorded[group]))

    def scaled(self):
        """(file, kernel row, path) to count and ns of what was left out."""
        for (group, row, path), sums in self.parts.items():
            yield group[0], row, path, [value * self.ratio(group) for value in sums]

    def by_row(self):
        """The same by kernel row: what a kernel did in a group is rounded."""
        parts, found = (collections.defaultdict(lambda: [0, 0]) for _ in range(2))
        for (group, row, _), sums in self.parts.items():
            plus(parts[group, row], sums)
        for (group, row), sums in parts.items():
            plus(found[row], [math.floor(value * self.ratio(group) + fractions.Fraction(1, 2)) for value in sums])
        return found

    def on_paths(self, paths):
        """Estimates by kernel row and by path. What has no path goes from it to those of its kernel."""
        by_path = collections.defaultdict(lambda: [0, 0])
        pools = {key: [sum(sums[i] for sums in without.values()) for i in (0, 1)]
                 for key, without in self.without.items() if self.stacks[key]}
        for file, row, path, sums in self.scaled():
            is_moved = (file, row) in pools and path in self.without[file, row]
            plus(pools[file, row] if is_moved else by_path[path], sums)
        for key, pool in pools.items():
            for path, sums in self.without[key].items():
                plus(paths[path], [-value for value in sums])
            base = [sum(sums[i] for sums in self.stacks[key].values()) for i in (0, 1)]
            for path, sums in self.stacks[key].items():
                by_count = fractions.Fraction(sums[0], base[0])
                by_ns = fractions.Fraction(sums[1], base[1]) if base[1] else by_count
                plus(by_path[path], [pool[0] * by_count, pool[1] * by_ns])
        return self.by_row(), by_path

    def paths_without(self):
        return sum(sums[0] for key, without in self.without.items() if not self.stacks[key]
                   for sums in without.values())


def plus(sums, values):
    for i, value in enumerate(values):
        sums[i] += value


def count_of(groups):
    return sum(sums[0] for paths in groups.values() for sums in paths.values())


def figures(directories):
    """All figures that are compared, for several captures together."""
    damage = collections.Counter()
    works = {match: collections.Counter() for match in
             ["stack", "graph_node", "no_stack", "no_launch", "internal", "ambiguous", "unsampled"]}
    launches, losses = collections.Counter(), collections.Counter()
    kernels = {}
    paths, calls = collections.defaultdict(lambda: [0, 0]), collections.Counter()
    all_streams = collections.defaultdict(lambda: [0, 0, 0])
    gpus = collections.defaultdict(lambda: [0, 0, []])
    latency, graphs, estimate = [], False, Estimate()
    sampled, spans, idle, paused = [], [], [], False
    untimed, budget = collections.Counter(), of_budget.Budget(directories)
    metrics = metric_means.Metrics()

    def add(path, leaf, gpu_ns, cpu_ns):
        entry = paths[";".join(path + leaf)]
        entry[0] += 1
        entry[1] += gpu_ns
        calls[of_call(path)] += cpu_ns

    files = [file for directory in directories
             for file in sorted(pathlib.Path(directory).glob("[!.]*.records"))]
    for file in files:
        process = Process(file, damage)
        windows = process.windows()
        samples_stacks = any(launch[0] & 32 for launch in process.launches)
        damage["missing_chunks"] += missing_chunks(file, process.chunks)
        losses += process.losses
        cache, streams = {}, collections.defaultdict(lambda: [0, 0, [], []])

        def path_of(stack, function, time, process=process, cache=cache,
                    changes=[mapping[0] for mapping in process.mappings]):
            # Code that was mapped in between may have other names.
            key = (stack, function, bisect.bisect_right(changes, time))
            if key not in cache:
                cache[key] = process.path(stack, function, time)
            return cache[key]

        by_id, shared = {}, set()
        for launch in process.launches:
            # Id 0 is not an id, and captured launches have no operations.
            if launch[4] and not launch[0] & 1:
                key = api_of(launch[7]), launch[4]
                # The API gave all launches of a thread one id.
                if by_id.setdefault(key, launch) is not launch:
                    assert by_id[key][3] == launch[3], "ids went round: not what this reader is for"
                    shared.add(key)
        had_work = set()
        for kind, flags, start, end, node, correlation, name, device, context, stream, _ in \
                sorted(process.works, key=lambda work: work[2]):
            key = api_of(context), correlation
            launch = by_id.get(key)
            stack = process.node_stack(node) if node else 0
            if flags & 2:
                match, launch = "internal", None
            elif stack:
                match = "graph_node"
            elif key in shared:
                match, launch = "ambiguous", None
            elif not launch:
                match = "no_launch"
            else:
                stack = launch[5]
                match = "stack" if stack else "unsampled" if launch[0] & 32 else "no_stack"
            works[match][KINDS[kind]] += 1
            valid = start and end >= start and not flags & 9
            gpu_ns = end - start if valid else 0
            text = process.strings.get(name, "[unknown kernel]") if kind == KERNEL else name
            row = kernels.setdefault((KINDS[kind], text), [0, 0, []])
            row[0] += 1
            row[1] += gpu_ns
            if valid:
                row[2].append(gpu_ns)
            uuid = process.devices.get(device, "")
            if not start or flags & 9:
                untimed["failed" if flags & 8 else "unfinished" if flags & 1 else
                        "impossible" if flags & 32 else "not_measured"] += 1
            gpus[uuid][0] += 1
            gpus[uuid][1] += gpu_ns
            if valid:
                gpus[uuid][2].append((start, end))
            for row in [(process.pid, uuid, None, None, device), (process.pid, uuid, context, stream, device)]:
                streams[row][0] += 1
                streams[row][1] += gpu_ns
                if valid:
                    streams[row][2].append((start, end))
                elif start and flags & 9 == 1:
                    streams[row][3].append(start)
            reason = {"no_stack": ["[kernel without stack]"], "no_launch": ["[kernel without launch]"],
                      "internal": ["[launched by CUDA]"], "unsampled": [UNSAMPLED],
                      "ambiguous": ["[launch ambiguous]"]}.get(match, [])
            first = launch and key not in had_work
            if launch:
                graphs |= bool(launch[0] & 2)
                if start >= launch[1] and (first or not launch[0] & 2):
                    latency.append(start - launch[1])
                had_work.add(key)
            way = path_of(stack, launch[6] if launch else 0, launch[1] if launch else start)
            add(reason + way, [text], gpu_ns, max(0, launch[2] - launch[1]) if first else 0)
            row, path = f"{KINDS[kind]} {text}", ";".join(reason + way + [text])
            if windows is not None and launch and launch[1]:
                group = file, process.group(launch)
                estimate.recorded[group].add(key)
                plus(estimate.parts[group, row, path], [1, gpu_ns])
            if samples_stacks and match == "unsampled":
                plus(estimate.without[file, row][path], [1, gpu_ns])
            elif samples_stacks and launch and not launch[0] & 32 and match in ("stack", "no_stack"):
                plus(estimate.stacks[file, row][path], [1, gpu_ns])
        for key, (count, gpu_ns, intervals, unended) in streams.items():
            for i, value in enumerate([count, gpu_ns, union_ns(intervals)]):
                # Devices without a UUID are told apart only within a process.
                all_streams[key[:4]][i] += value
            if windows is not None:
                idle.append((list(key[:4]), windows, intervals, unended))
        launches["with_work"] += len(had_work)
        for launch in process.launches:
            flags, start, end, _, correlation, stack, function, context, _, _, name = launch
            if (api_of(context), correlation) in had_work and not flags & 1:
                continue
            way = ([UNSAMPLED] if flags & 32 and not stack else []) + path_of(stack, function, start)
            if windows is not None and not flags & 17 and (flags & 2 or not any(
                    since <= start and end <= until for since, until in windows)):
                launches["left_out"] += 1
                estimate.left[file, process.group(launch)] += 1
                estimate.calls[(file, process.group(launch)), ";".join(way)] += 1
                calls[of_call(way)] += max(0, end - start)
                continue
            key, reason = (("captured_into_graph", "[captured into graph]") if flags & 1 else
                           ("refused", "[failed call]") if flags & 16 else
                           ("without_work", f"{process.strings[name]} [unmatched launch]" if name in process.strings else
                            "[unmatched launch]"))
            launches[key] += 1
            add(way, [reason], 0, max(0, end - start))
        its_spans = process.times + [(work[2], work[3] if work[3] >= work[2] and not work[1] & 9 else work[2])
                                     for work in process.works if work[2]]
        spans += its_spans
        budget.add_process(file, process, its_spans, path_of, windows)
        metrics.add_process(process, windows)
        if windows is not None:
            sampled.append(windows)
            paused |= process.beginnings > 1
        # Without an injection library, hits are the only information about calls.
        assert not process.hits or not process.launches, "hits beside launches: not for this reader"
        for time, duration, function, stack in process.hits:
            add(path_of(stack, function, time), [], 0, duration)

    first = min((start for start, _ in spans if start), default=0)
    last = max((end for _, end in spans), default=0)
    for (group, way), count in estimate.calls.items():
        if not estimate.recorded[group]:
            paths[";".join([way, "[no sample]"])][0] += count
    by_row, by_path = estimate.on_paths(paths)
    moved = {path for without in estimate.without.values() for path in without}
    windows = [window for windows in sampled for window in clipped(windows, first, last)]
    return {
        "sampling": {
            "sums": [len(windows), sum(until - since for since, until in windows), int(paused),
                     sum(map(len, estimate.recorded.values())), sum(estimate.left.values()),
                     sum(count for group, count in estimate.left.items() if not estimate.recorded[group]),
                     count_of(estimate.stacks), count_of(estimate.without), estimate.paths_without()],
            "kernels": {row: sums for row, sums in sorted(by_row.items()) if any(sums)},
            # As they are: shares of one number are rounded so that their sum stays.
            "paths": {path: [float(value) for value in sums] for path, sums in sorted(by_path.items())
                      if any(sums)},
            # Where the windows are less than what was recorded.
            "idle": sorted([key + [sum(until - since for since, until in clipped(windows, first, last)),
                                   idle_longest(intervals, unended, windows, first, last)]
                            for key, windows, intervals, unended in idle
                            if clipped(windows, first, last) != [(first, last)]], key=repr),
        } if windows or estimate.without else None,
        "works": {match: {kind: n for kind, n in sorted(kinds.items()) if n}
                  for match, kinds in works.items() if any(kinds.values())},
        "launches": {key: n for key, n in sorted(launches.items()) if n},
        "without_time": {key: n for key, n in sorted(untimed.items()) if n},
        "losses": {key: n for key, n in sorted(losses.items()) if n},
        "damage": {key: n for key, n in sorted(damage.items()) if n},
        "kernels": {f"{kind} {name}": [count, ns, min(all_ns, default=None),
                                       max(all_ns, default=None)]
                    for (kind, name), (count, ns, all_ns) in sorted(kernels.items())},
        "gpus": {uuid: [count, ns, union_ns(intervals)]
                 for uuid, (count, ns, intervals) in sorted(gpus.items()) if uuid},
        "streams": sorted([list(key) + values for key, values in all_streams.items()], key=repr),
        "latency": [len(latency), sum(latency), min(latency, default=None),
                    max(latency, default=None)],
        "paths": {path: sums for path, sums in sorted(paths.items()) if any(sums) or path not in moved},
        "calls": {key: ns for key, ns in sorted(calls.items()) if ns},
        **budget.figures(),
        "stalls": of_stalls.figures(directories),
        **metrics.figures(),
        # The operation that is read first gets a graph's latency.
        "graphs": graphs,
    }


if __name__ == "__main__":
    json.dump(figures(sys.argv[1:]), sys.stdout, indent=1)
    print()
