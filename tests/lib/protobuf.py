# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Reads protocol buffers, which pprof's and Perfetto's files are."""


class Message:
    """The fields of a protocol buffer by number, each a list; without a schema."""

    def __init__(self, data):
        self.fields = {}
        at = 0
        while at < len(data):
            key, at = varint(data, at)
            number, wire = key >> 3, key & 7
            assert number > 0, "field number 0"
            if wire == 0:
                value, at = varint(data, at)
            elif wire == 1:
                value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
            elif wire == 2:
                size, at = varint(data, at)
                assert at + size <= len(data), "a field is longer than its message"
                value, at = data[at:at + size], at + size
            else:
                raise AssertionError(f"wire type {wire}")
            self.fields.setdefault(number, []).append(value)

    def all(self, number):
        return self.fields.get(number, [])

    def one(self, number, default=None):
        values = self.all(number)
        assert len(values) <= 1, f"field {number} is there {len(values)} times"
        return values[0] if values else default

    def messages(self, number):
        return [Message(value) for value in self.all(number)]

    def text(self, number, default=None):
        value = self.one(number)
        return default if value is None else value.decode("utf-8")

    def packed(self, number):
        values, data, at = [], self.one(number, b""), 0
        while at < len(data):
            value, at = varint(data, at)
            values.append(value)
        return values


def varint(data, at):
    value = shift = 0
    while True:
        assert at < len(data), "cut off amid a number"
        assert shift < 70, "a number of more than ten bytes"
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            assert value < 1 << 64
            return value, at
