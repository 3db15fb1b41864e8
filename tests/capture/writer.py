# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""
Writes captures by the tables of Documentation/reference/capture-format.md: what a record consists of is
read from that page, nothing from the code.
"""
import json
import pathlib
import re
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "suite/lib"))
from chunks import plain_chunk  # noqa: E402

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "Documentation/reference/capture-format.md"
CODES = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i32": "i", "i64": "q", "f64": "d"}


def code(kind):
    """The code for struct and the number of values; None if the record has the length."""
    match = re.fullmatch(r"(u8|u16|u32|u64|i32|i64|f64|char)\[(\d*)\]", kind)
    if not match:
        return CODES[kind], 1
    if not match[2]:
        return None, 0
    return (f"{match[2]}s", 1) if match[1] == "u8" else (CODES[match[1]] * int(match[2]), int(match[2]))


def layouts():
    """name to (number, [(place, code, values, field)], where a tail begins)"""
    found, table = {}, None
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if match := re.fullmatch(r"### ([a-z-]+) \((\d+)\)", line):
            table = []
            found[match[1]] = [int(match[2]), table, None]
        elif match := re.match(r"\| (\d+) \| ([a-z0-9\[\]]+) \| `([a-z_0-9]+)` \|", line):
            if table is None:
                continue
            at, (kind, values) = int(match[1]), code(match[2])
            if kind:
                table.append((at, kind, values, match[3]))
            else:
                found[name_of(found, table)][2] = at
    return found


def name_of(found, table):
    return next(name for name, layout in found.items() if layout[1] is table)


LAYOUTS = layouts()


def record(name, /, flags=0, tail=b"", **fields):
    """The bytes of one record. Fields that are not given are 0."""
    number, table, tail_at = LAYOUTS[name]
    size = tail_at if tail_at is not None else \
        max((at + struct.calcsize("<" + kind) for at, kind, _, _ in table), default=8)
    size += len(tail)
    data = bytearray(size + -size % 8)
    struct.pack_into("<HHI", data, 0, number, flags, len(data))
    for at, kind, values, field in table:
        value = fields.pop(field, None)
        if value is not None:
            struct.pack_into("<" + kind, data, at, *(value if values > 1 else [value]))
    if tail_at is not None:
        data[tail_at:tail_at + len(tail)] = tail
    assert not fields, f"{name} has no {fields}"
    return bytes(data)


class File:
    """The records of one process, or of the driver."""

    def __init__(self, name):
        self.name, self.chunks, self.records, self.ids = name, [], [], {}

    def put(self, name, /, flags=0, tail=b"", **fields):
        """Texts become strings, which are defined before their first use."""
        for field, value in fields.items():
            if isinstance(value, str):
                fields[field] = self.string(value)
        self.records.append(record(name, flags, tail, **fields))

    def string(self, text):
        if ("string", text) not in self.ids:
            data = text.encode("utf-8")
            number = self.ids["string", text] = 7 + 3 * len(self.ids)
            self.records.append(record("string", id=number, length=len(data), tail=data))
        return self.ids["string", text]

    def python(self, function, file, line):
        key = "frame", function, file, line
        if key not in self.ids:
            number = self.ids[key] = 7 + 3 * len(self.ids)
            self.put("frame", id=number, kind=1, function=function, file=file, line=line, first_line=1)
        return self.ids[key] | 1 << 63

    def stack(self, *frames, cut=False):
        """Innermost frame first."""
        key = "stack", frames, cut
        if key not in self.ids:
            number = self.ids[key] = 7 + 3 * len(self.ids)
            self.put("stack", flags=int(cut), id=number, count=len(frames),
                     tail=struct.pack(f"<{len(frames)}Q", *frames))
        return self.ids[key]

    def cut(self, tid):
        """Write the records since the last cut as a chunk of this thread."""
        if self.records:
            self.chunks.append((tid, b"".join(self.records)))
        self.records = []

    def data(self):
        result = b""
        for sequence, (tid, records) in enumerate(self.chunks):
            result += plain_chunk(records, tid, sequence)
        return result


def write(path, files, ended=True, lost=0):
    path.mkdir(mode=0o700)
    for file in files:
        (path / f"{file.name}.records").write_bytes(file.data())
    about = {"format": "gpumon-capture", "version": 1, "gpumon_version": "made",
             "boot_id": "01234567-89ab-cdef-0123-456789abcdef", "host": "made", "command": "./made",
             "clock": "CLOCK_MONOTONIC", "created_realtime_ns": 1700000000 * 10**9,
             "created_monotonic_ns": 10**9, "ended": ended, "lost_records": lost}
    if ended:
        about["files"] = [{"name": file.name, "chunks": len(file.chunks), "bytes": len(file.data())}
                          for file in files]
    (path / "capture.json").write_text(json.dumps(about) + "\n", encoding="utf-8")
