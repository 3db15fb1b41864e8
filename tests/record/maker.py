# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Captures written from Documentation/reference/capture-format.md, without the code under test."""
import json
import os
import struct
import zlib

CHUNK = 1 << 19


class Maker:
    """Records of one process, written as a capture."""

    def __init__(self, command="made"):
        self.strings, self.chunks, self.records, self.size = {}, [], [], 0
        self.command = command
        self.put(1, struct.pack("<IIIIQQ16sIIIIIIII", 100, 1, 100, 0xffffffff, 1, 0, bytes(16),
                                self.string("host"), self.string("/bin/made"),
                                self.string(command), 0, 28, 13000, 13000, 0))

    def put(self, kind, body, flags=0):
        body += bytes(-len(body) % 8)
        record = struct.pack("<HHI", kind, flags, 8 + len(body)) + body
        if self.size + len(record) > CHUNK:
            self.flush()
        self.records.append(record)
        self.size += len(record)

    def flush(self):
        if self.records:
            self.chunks.append(b"".join(self.records))
        self.records, self.size = [], 0

    def string(self, text):
        if text not in self.strings:
            self.strings[text] = len(self.strings) + 1
            data = text.encode()
            self.put(5, struct.pack("<II", self.strings[text], len(data)) + data)
        return self.strings[text]

    def stack(self, number, frames):
        self.put(7, struct.pack(f"<II{len(frames)}Q", number, len(frames), *frames))

    def mapping(self, time_ns, start, size, path):
        self.put(3, struct.pack("<QQQQQQI20sB7s", time_ns, start, start + size, 0, 0, 0,
                                self.string(path), b"", 0, b""))

    def unmapping(self, time_ns, start, size):
        self.put(4, struct.pack("<QQQ", time_ns, start, start + size))

    def launch(self, correlation, start_ns, stack=0, function="cudaLaunchKernel", tid=100):
        self.put(20, struct.pack("<QQIIIIIi", start_ns, start_ns + 10, tid, correlation, stack,
                                 self.string(function), 1, 0))

    def kernel(self, correlation, start_ns, end_ns, name="saxpy", stream=7):
        self.put(40, struct.pack("<QQQQQIIIIII6I4I", start_ns, end_ns, 0, 0, 0, correlation,
                                 self.string(name), 0, 1, stream, 0, 1, 1, 1, 32, 1, 1, 0, 0, 0, 0))

    def hit(self, number, time_ns, stack=0, function="cudaLaunchKernel", duration_ns=0, tid=100):
        self.put(22, struct.pack("<QQQIIII", time_ns, number, duration_ns, tid,
                                 self.string(function), stack, 0))

    def note(self, text, flags=0):
        self.put(82, struct.pack("<QII", 1, self.string(text), 0), flags)

    def loss(self, cause, count):
        self.put(80, struct.pack("<QQII", 1, count, cause, 0))

    def save(self, path, ended=True, **more):
        self.flush()
        os.mkdir(path)
        size = 0
        with open(os.path.join(path, "process-100-1.records"), "wb") as file:
            for number, data in enumerate(self.chunks):
                head = struct.pack("<IIIIIIQ", 0x434d5047, 1, len(data), 0, 0, 0, number)
                crc = zlib.crc32(data, zlib.crc32(head))
                file.write(head[:12] + struct.pack("<I", crc) + head[16:])
                file.write(data)
                size += 32 + len(data)
        info = {"format": "gpumon-capture", "version": 1, "gpumon_version": "1", "boot_id": "x",
                "host": "host", "command": self.command, "clock": "CLOCK_MONOTONIC",
                "created_realtime_ns": 1, "created_monotonic_ns": 1, "ended": ended}
        if ended:
            info["lost_records"] = 0
            info["files"] = [{"name": "process-100-1", "chunks": len(self.chunks), "bytes": size}]
        with open(os.path.join(path, "capture.json"), "w", encoding="utf-8") as file:
            json.dump(dict(info, **more), file)
