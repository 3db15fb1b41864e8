# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""
Addresses of the kernel in what programs get, each output read as what it is.

The same eight bytes are an address in one place and two numbers in another: an error (-19) beside
a zero looks like the kernel's code from three bytes before it, and so does "not known" (all ones)
behind an id. So binary outputs are taken apart by what describes them (the header of events, the
header of netlink, the tables of capture-format.md), and it is fields that are looked at: one of
eight bytes may be an address, one that is signed may be an error, two of four bytes that are
neighbours may be what was in the memory before. What no format describes is looked at as words.
"""
import os
import re
import struct

import chunks
import lab
from events import LAYOUT
from gpumon_netlink import (FLAGS, NESTS, NLM_F_ACK_TLVS, NLM_F_CAPPED, NLMSG_DONE, NLMSG_ERROR,
                            NLMSGERR_ATTR_MSG, SIGNED, STRINGS, STRINGS_OF, align, attributes)

# The upper half of the address space.
FIRST = 0xffff800000000000
# All bits set means unknown, in every format here.
UNKNOWN = (1 << 64) - 1
MAX_ERRNO = 4095
# Data without a description may contain small negative numbers, which are errors and differences,
# down to 16 million below 0.
LAST = 0xfffffffffeffffff

HEX = re.compile(rb"(?i)(?<![0-9a-f])(?:0x)?(ffff[89a-f][0-9a-f]{11})(?![0-9a-f])")
DECIMAL = re.compile(rb"(?<![\w.])(\d{19,20})(?![\w.])")
NEGATIVE = re.compile(rb"(?<![\w.)-])-(\d{8,15})(?![\w.])")
VARINT = re.compile(rb"(?=([\x80-\xff]{9}\x01))")


def is_address(value):
    """For a number of unknown meaning."""
    return FIRST <= value <= LAST


def is_bad(value, signed=False):
    """For a field of eight bytes that is no address."""
    if signed:
        return FIRST <= value <= UNKNOWN - MAX_ERRNO
    return FIRST <= value < UNKNOWN


def is_bad_pair(low, high):
    """For two adjacent fields of four bytes, counts or ids, as if they had not been written. The
    upper one may be "not known" beside any possible lower one.
    """
    return is_bad(high << 32 | low) and (high != 0xffffffff or low >= 1 << 31)


# --- data without a described format

def in_text(data):
    for match in HEX.finditer(data):
        value = int(match.group(1), 16)
        if is_address(value):
            yield value, match.start(), "text"
    for match in DECIMAL.finditer(data):
        if is_address(int(match.group(1))):
            yield int(match.group(1)), match.start(), "text"
    for match in NEGATIVE.finditer(data):
        value = (1 << 64) - int(match.group(1))
        if is_address(value):
            yield value, match.start(), "text"


def in_words(data, at=0):
    """Words of 8 bytes at every place that a member of 4 can have; data begins at place at."""
    for offset in range(0, len(data) - 7, 4):
        if data[offset + 6:offset + 8] != b"\xff\xff":
            continue
        value, = struct.unpack_from("<Q", data, offset)
        if is_address(value):
            yield value, at + offset, "a word"


def in_bytes(data):
    yield from in_text(data)
    yield from in_words(data)


# --- records of the event ring

def event_words():
    """{number: names of the four words}, as the header has them."""
    with open(os.path.join(lab.BUILD, "kmod/uapi/gpumon_event.h")) as header:
        text = header.read()
    numbers = {name: int(number) for number, name in
               re.findall(r"(?m)^\tX\((\d+), (GPUMON_EVENT_\w+),", text)}
    return {numbers[name]: words for name, *words in
            re.findall(r'(?m)^\tX\((GPUMON_EVENT_\w+), "\w*", "(\w*)", "(\w*)", "(\w*)", "(\w*)"\)',
                       text)}


EVENT_WORDS = event_words()
JOB_WORDS = ("context", "seqno", "arg", "arg2")


def in_event(data, at=0):
    time, *words, event, _, _, _, pid, tid, queued, running, error, reserved, comm = \
        LAYOUT.unpack(data)
    for i, (name, value) in enumerate(zip(("time_ns",) + tuple(EVENT_WORDS.get(event, JOB_WORDS)),
                                          [time] + words)):
        if is_bad(value, name == "result"):
            yield value, at + 8 * i, "%s of event %d" % (name or "nothing", event)
    for i, low, high in (48, pid, tid), (56, queued, running), (64, error & 0xffffffff, reserved):
        if is_bad_pair(low, high):
            yield high << 32 | low, at + i, "numbers of event %d" % event
    yield from in_words(comm, at + LAYOUT.size - len(comm))


def in_events(data):
    lab.equal(len(data) % LAYOUT.size, 0, "bytes of a record that is cut off")
    for at in range(0, len(data), LAYOUT.size):
        yield from in_event(data[at:at + LAYOUT.size], at)
    yield from in_text(data)


# --- files of records in captures

DRIVER_EVENT = 60
SIZES = {"u8": 1, "u16": 2, "u32": 4, "i32": 4, "u64": 8, "char": 1}


def capture_records():
    """{type: [(place, type of field, how many or None, name)]}, as capture-format.md has them."""
    records = {}
    fields = None
    for line in lab.read(lab.BUILD + "/Documentation/reference/capture-format.md").splitlines():
        heading = re.match(r"#+ (?:[\w-]+ \((\d+)\))?", line)
        if heading:
            fields = None
            if heading.group(1):
                fields = records[int(heading.group(1))] = []
        row = re.match(r"\| (\d+) \| (\w+?)(\[(\d*)\])? \| `(\w+)` \|", line)
        if row and fields is not None:
            at, kind, many, count, name = row.groups()
            fields.append((int(at), kind, (int(count) if count else None) if many else 1, name))
    return records


CAPTURE = capture_records()


def in_record(kind, record, at):
    """One record with its head. Bytes after the last field are padding, or unknown."""
    end = 8
    for place, what, count, name in CAPTURE.get(kind, ()):
        size = SIZES[what]
        if count is None:
            count = (len(record) - place) // size
        end = max(end, place + size * count)
        if place + size * count > len(record):
            return
        if kind == DRIVER_EVENT and name == "event":
            size = struct.unpack_from("<I", record, 8)[0]
            lab.equal(size, LAYOUT.size, "bytes of an event in a capture")
            yield from in_event(record[place:place + size], at + place)
        elif what == "u64":
            for i, value in enumerate(struct.unpack_from("<%dQ" % count, record, place)):
                if is_bad(value):
                    yield value, at + place + 8 * i, "%s of record %d" % (name, kind)
        elif what == "char":
            yield from in_words(record[place:], at + place)
    yield from in_words(record[end:], at + end)


def in_capture(data):
    at = 0
    for kind, _, record in chunks.records_of(data):
        yield from in_record(kind, record, at)
        yield from in_text(record)
        at += len(record)


# --- messages of generic netlink

def in_attributes(data, g, space, at):
    for kind, value in attributes(data):
        name = g.names[space, kind]
        if (space, name) in NESTS:
            yield from in_attributes(value, g, NESTS[space, name][0], at)
        elif name in STRINGS or (space, name) in STRINGS_OF:
            yield from in_words(value, at)
        elif len(value) == 8:
            number, = struct.unpack("=Q", value)
            if is_bad(number, (space, name) in SIGNED):
                yield number, at, "%s of %s" % (name, space)
        else:
            lab.check(len(value) == 4 or name == "pad" or (space, name) in FLAGS,
                      "%s of %s has %d bytes" % (name, space, len(value)))


def in_netlink(data, g):
    """A datagram of the family of g, a Gpumon. Places are those of messages."""
    commands = {number: name for name, number in g.number.items()
                if name.startswith("GPUMON_CMD_") and not name.endswith("_MAX")}
    at = 0
    while at + 16 <= len(data):
        length, kind, flags, _, _ = struct.unpack_from("=IHHII", data, at)
        lab.check(16 <= length <= len(data) - at, "a message of %d bytes" % length)
        body = data[at + 16:at + length]
        if kind == g.id:
            name = commands[body[0]][len("GPUMON_CMD_"):]
            space = "PERIOD" if name == "RESET" else re.sub("_(GET|SET|NTF)$", "", name)
            yield from in_attributes(body[4:], g, space, at)
        else:
            lab.check(kind in (NLMSG_ERROR, NLMSG_DONE), "a message of type %d" % kind)
            # The error; for a rejection, the request, which the sender knows; and the kernel's
            # message.
            begin = 4
            if kind == NLMSG_ERROR:
                begin += 16 if flags & NLM_F_CAPPED else align(struct.unpack_from("=I", body, 4)[0])
            if flags & NLM_F_ACK_TLVS:
                for number, value in attributes(body[begin:]):
                    if number == NLMSGERR_ATTR_MSG:
                        yield from in_words(value, at)
        at += align(length)
    yield from in_text(data)


# --- protocol buffers

def number_at(data, at):
    """(varint, where it ends), or None."""
    value = shift = 0
    while at < len(data) and shift < 70:
        value |= (data[at] & 0x7f) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
        shift += 7
    return None


def protobuf_fields(data):
    """[(wire type, value, place)], None if this is no message."""
    fields = []
    at = 0
    while at < len(data):
        begin = at
        tag = number_at(data, at)
        if not tag or not tag[0] >> 3:
            return None
        kind, at = tag[0] & 7, tag[1]
        if kind == 0:
            number = number_at(data, at)
            if not number:
                return None
            value, at = number
        elif kind == 2:
            length = number_at(data, at)
            if not length or length[0] > len(data) - length[1]:
                return None
            at = length[1] + length[0]
            value = data[length[1]:at]
        elif kind in (1, 5) and at + (8 if kind == 1 else 4) <= len(data):
            size = 8 if kind == 1 else 4
            value = int.from_bytes(data[at:at + size], "little")
            at += size
        else:
            return None
        fields.append((kind, value, begin))
    return fields


def in_message(data, place):
    fields = protobuf_fields(data)
    if fields is None:
        # Text, or many varints without tags.
        for match in VARINT.finditer(data):
            value, _ = number_at(match.group(1), 0)
            if is_address(value & UNKNOWN):
                yield value & UNKNOWN, place + match.start(), "a varint"
        return
    for kind, value, at in fields:
        if kind == 2:
            yield from in_message(value, place + at)
        elif is_address(value & UNKNOWN):
            yield value & UNKNOWN, place + at, "a number"


def in_protobuf(data):
    """The limit is that for words: the wire does not say which numbers are signed."""
    yield from in_message(data, 0)
    yield from in_text(data)
