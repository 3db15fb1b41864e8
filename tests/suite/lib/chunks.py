# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Chunks of captures, read as Documentation/reference/capture-format.md says."""
import struct
import zlib

CHUNK = struct.Struct("<4sIIIIIQ")
NEW, SAME, NONE = 127, 128, 127


def unpack(packed, size):
    """The records of a packed chunk."""
    slots, out, at = {}, bytearray(), 0

    def byte():
        nonlocal at
        at += 1
        return packed[at - 1]

    def number():
        value, shift = 0, 0
        while True:
            part = byte()
            value |= (part & 127) << shift
            if part < 128:
                return value
            shift += 7

    while len(out) < size:
        tag = byte()
        if tag == NEW:
            slot = byte()
            if slot == NONE:
                length, = struct.unpack_from("<I", packed, at + 4)
                out += packed[at:at + length]
                at += length
                continue
            model = byte()
            words = [0] * number() if model == NONE else list(slots[model][0])
            changed = number()
        else:
            slot = tag & 127
            words, changed = list(slots[slot][0]), slots[slot][1]
            if not tag & SAME:
                changed = number()
        for i in range(len(words)):
            if changed >> i & 1:
                by = number()
                words[i] = words[i] + (by >> 1 ^ -(by & 1)) & 0xffffffff
        slots[slot] = words, changed
        out += struct.pack(f"<{len(words)}I", *words)
    if len(out) != size or any(packed[at:]) or len(packed) - at > 7:
        raise ValueError("not a packed chunk")
    return bytes(out)


def chunk_at(data, at):
    """(thread, sequence number, records, end) of a whole and right chunk, otherwise None."""
    begin = at + CHUNK.size
    if begin > len(data):
        return None
    magic, version, size, crc, tid, unpacked, sequence = CHUNK.unpack_from(data, at)
    records = data[begin:begin + size]
    if magic != b"GPMC" or version not in (1, 2) or len(records) != size:
        return None
    if zlib.crc32(data[at:at + 12] + bytes(4) + data[at + 16:begin] + records) != crc:
        return None
    return tid, sequence, unpack(records, unpacked) if version == 2 else records, begin + size


def plain_chunk(records, tid=0, sequence=0):
    head = CHUNK.pack(b"GPMC", 1, len(records), 0, tid, 0, sequence)
    return head[:12] + struct.pack("<I", zlib.crc32(head + records)) + head[16:] + records


def records_in(records):
    """(type, flags, record)"""
    at = 0
    while at < len(records):
        kind, flags, size = struct.unpack_from("<HHI", records, at)
        assert 8 <= size <= len(records) - at, f"a record of {size} bytes at {at}"
        yield kind, flags, records[at:at + size]
        at += size


def records_of(data):
    """The same of a whole file without damage."""
    at = 0
    while at < len(data):
        found = chunk_at(data, at)
        assert found, f"no chunk at {at}"
        yield from records_in(found[2])
        at = found[3]
