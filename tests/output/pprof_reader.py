# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Reads profile.proto, and is as strict as all of those that collect profiles: Go's pprof, Parca and
Pyroscope.
"""
import collections
import gzip
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from verdict import check, equal  # noqa: E402

Profile = collections.namedtuple("Profile", "types samples time duration comments period_type")

# Of a label, and of the parts of NAME:SAMPLE_TYPE:SAMPLE_UNIT:PERIOD_TYPE:PERIOD_UNIT, by which profiles
# are asked for.
NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
# Pyroscope takes a profile of 1970 for one without a time.
YEAR_1971 = 365 * 86400 * 10**9


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if byte < 128:
            return value, at


def fields(data):
    """Lists of values by field number."""
    found, at = collections.defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        check(key & 7 in (0, 2), f"wire type of {key}")
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        found[key >> 3].append(value)
    return found


def numbers(parts):
    """Repeated numbers, packed or, as Go writes one or two of them, one by one."""
    found = []
    for part in parts:
        if isinstance(part, int):
            found.append(part)
            continue
        at = 0
        while at < len(part):
            value, at = varint(part, at)
            found.append(value)
    return found


def numbered(messages, what):
    """Messages whose ids have to be 1, 2, 3 ..."""
    found = [fields(message) for message in messages]
    equal([one[1][0] for one in found], list(range(1, len(found) + 1)), f"ids of {what}")
    return [None] + found


def value_type(message, texts):
    """(type, unit)"""
    found = fields(message)
    parts = tuple(texts[found[field][0]] for field in (1, 2))
    check(all(map(NAME.fullmatch, parts)), f"{parts} cannot be asked for")
    return parts


def labels_of(messages, texts):
    """Only texts are indexed, by names without blanks and the like, each once."""
    labels = sorted((texts[label[1][0]], texts[label[2][0]]) for label in map(fields, messages))
    for name, text in labels:
        check(NAME.fullmatch(name) and text, f"label {name!r}: {text!r}")
    equal(len(dict(labels)), len(labels), "names of labels")
    return tuple(labels)


def names_of(top, texts):
    """Names of functions and lines, 0 if unknown, by location."""
    mappings = numbered(top[3], "mappings")
    for mapping in mappings[1:]:
        # With this no symbols are looked for.
        check(texts[mapping[5][0]] and mapping[7] == [1], "a mapping's file, and that it has functions")
    functions = numbered(top[5], "functions")
    names = [None]
    for location in numbered(top[4], "locations")[1:]:
        check(location[2] == [] or 1 <= location[2][0] < len(mappings), "mapping")
        lines = [fields(line) for line in location[4]]
        check(lines and all(1 <= line[1][0] < len(functions) for line in lines), "lines of a location")
        names.append((texts[functions[lines[0][1][0]][2][0]], (lines[0][2] or [0])[0]))
        check(names[-1][0], "a function without a name")
    return names


def parse(data, has_time=True, has_lines=False):
    """Samples by call path, the outermost first, and labels: a list of values. With lines, a path is
    one of (name, line).
    """
    top = fields(gzip.decompress(data))
    texts = [text.decode() for text in top[6]]
    equal(texts[0], "", "first text")
    names = names_of(top, texts)
    types = [value_type(kind, texts)[0] for kind in top[1]]
    equal(len(set(types)), len(types), "types")
    check(texts[top[14][0]] in types, "the type that is shown first")
    samples = collections.defaultdict(lambda: [0] * len(types))
    for message in top[2]:
        sample = fields(message)
        locations = numbers(sample[1])
        check(locations and 0 not in locations, "locations of a sample")
        path = tuple(names[number] if has_lines else names[number][0] for number in reversed(locations))
        values = numbers(sample[2])
        equal(len(values), len(types), "values of a sample")
        check(any(values) and max(values) < 1 << 63, f"values {values}")
        key = path, labels_of(sample[3], texts)
        samples[key] = [a + b for a, b in zip(samples[key], values)]
    equal(top[12], [1], "period")
    time = top[9][0] if has_time else None
    if has_time:
        check(time > YEAR_1971, "time")
        check(top[10][0] or not samples, "without a duration Parca takes it for a state")
    return Profile(types, dict(samples), time, top[10][0], [texts[i] for i in numbers(top[13])],
                   value_type(top[11][0], texts))


def read(path, has_time=True):
    with open(path, "rb") as file:
        return parse(file.read(), has_time)
