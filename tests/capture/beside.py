# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""
What is recorded beside launches and their work, by the files alone: calls, waits, ranges, memory, what
the driver does, notes, totals, what programs in kernels gathered. Where it is on a timeline, and what the JSON has of it.
"""
import collections
import json
import pathlib
import struct
from decimal import Decimal

import reference

STRING, LAUNCH, CALL, HIT, RANGE = 5, 20, 21, 22, 23
SYNC, MEMORY, UNIFIED, DRIVER, ALERT, WINDOW, NOTE, TOTALS = 43, 44, 45, 60, 61, 81, 82, 83
CATEGORIES = {"api", "wait", "nvtx", "memory", "driver", "alert", "recording"}
# Of an event of the module: the place of its type, and how many types there are.
EVENT_TYPE, EVENT_TYPES = 40, 52
UNIFIED_KEYS = ["unknown", "to_device", "to_host", "cpu_fault", "gpu_fault", "thrashing", "throttling",
                "remote_map", "between_devices"]
WITH_BYTES, WITH_END = {1, 2, 5, 7, 8}, {1, 2, 4, 6, 8}


class Beside:
    """The figures of a capture: (category, ns) of what a timeline shows, sums of unified memory,
    totals, notes.
    """

    def __init__(self, directory):
        self.shown = collections.Counter()
        self.unified = collections.defaultdict(lambda: [0, 0, 0, 0])
        self.totals, self.notes = collections.Counter(), []
        for file in sorted(pathlib.Path(directory).glob("[!.]*.records")):
            self.read(file)

    def read(self, file):
        strings, notes, last, hits, has_launch = {}, [], None, [], False
        for kind, flags, record in reference.all_records(file.read_bytes()):
            if kind == STRING:
                number, length = struct.unpack_from("<II", record, 8)
                strings[number] = record[16:16 + length].decode("utf-8", "replace")
            elif kind == NOTE:
                notes.append(struct.unpack_from("<I", record, 16)[0])
            elif kind == TOTALS:
                last = struct.unpack_from("<6Q", record, 16)
            elif kind == HIT:
                hits.append(struct.unpack_from("<QQQ", record, 8))
            else:
                has_launch |= kind == LAUNCH
                self.take(kind, flags, record)
        for time, _, duration in [] if has_launch else hits:
            self.shown["wait" if duration else "api", time] += 1
        self.notes += [strings[note] for note in notes if strings[note] not in self.notes]
        for key, value in zip(["launches", "captured_into_graph", "kernels", "copies", "sets", "device_bytes"],
                              last or ()):
            self.totals[key] += value

    def take(self, kind, flags, record):
        time = struct.unpack_from("<Q", record, 8)[0]
        if kind == LAUNCH:
            self.shown["api", time] += 1
        elif kind == CALL:
            self.shown["wait" if flags & 1 else "api", time] += 1
        elif kind == SYNC:
            self.shown["wait", time] += 1
        elif kind == RANGE and struct.unpack_from("<H", record, 40)[0] in (1, 3, 5):
            self.shown["nvtx", time] += 1
        elif kind == MEMORY:
            self.shown["memory", time] += 1
        elif kind == UNIFIED:
            self.shown["memory", time] += 1
            _, end, value, _, what = struct.unpack_from("<4QI", record, 8)
            sums = self.unified[UNIFIED_KEYS[what if what < len(UNIFIED_KEYS) else 0]]
            sums[0] += 1
            sums[1] += value if what in WITH_BYTES else 0
            sums[2] += value if what == 4 else what == 3
            sums[3] += end - time if what in WITH_END else 0
        elif kind == DRIVER:
            time, event = struct.unpack_from("<Q", record, 16)[0], struct.unpack_from("<H", record, 16 + EVENT_TYPE)[0]
            if event < EVENT_TYPES:
                self.shown["driver", time] += 1
        elif kind == ALERT:
            self.shown["alert", time] += 1
        elif kind == WINDOW:
            self.shown["recording", time] += 1


def on_timeline(text):
    document, found = json.loads(text, parse_float=Decimal), collections.Counter()
    start = int(document["otherData"]["start_ns"])
    for event in document["traceEvents"]:
        if event.get("cat") in CATEGORIES and event["ph"] in "XBi":
            found[event["cat"], int(event["ts"] * 1000) + start] += 1
    return found


def probes_of(directory):
    """What the JSON has of probe.json: the cells of a table are in one list, a row after the other."""
    file = pathlib.Path(directory) / "probe.json"
    if not file.exists():
        return []
    kept = json.loads(file.read_text(encoding="utf-8"))
    tables = {}
    for table in kept["tables"]:
        keys = [column["key"] for column in table["columns"]]
        cells = table["cells"]
        rows = [cells[at:at + len(keys)] for at in range(0, len(cells), len(keys))]
        tables[table["key"]] = [{key: cell for key, cell in zip(keys, row) if key} for row in rows]
    # What only people see, a histogram or a bar, has no key.
    tables.pop(None, None)
    return [(kept["found"], kept["notes"], tables)]


def check(text, document, directory):
    got = [(probe["found"], probe["notes"], {key: table["rows"] for key, table in probe["tables"].items()})
           for probe in document["probes"]]
    assert got == probes_of(directory), "probes are not those of probe.json"
    beside = Beside(directory)
    got = on_timeline(text)
    assert got == beside.shown, f"timeline: {list((got - beside.shown) + (beside.shown - got))[:3]}"
    rows = {row["kind"]: [row["count"], row["bytes"] or 0, row["faults"] or 0, row["ns"] or 0]
            for row in document["unified_memory"]}
    assert rows == dict(beside.unified), f"unified memory: {rows}, not {dict(beside.unified)}"
    recording = document["recording"]
    assert (recording["counted"] or {}) == dict(beside.totals), f"counted: {recording['counted']}"
    assert sorted(recording["notes"]) == sorted(beside.notes), f"notes: {recording['notes']}"
