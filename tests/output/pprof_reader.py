# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Reads profile.proto, and is as strict as programs that collect profiles are."""
import collections
import gzip

from kit import equal

Profile = collections.namedtuple("Profile", "types samples time duration comments period_type")


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
        equal(key & 7 in (0, 2), True, f"wire type of {key}")
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        found[key >> 3].append(value)
    return found


def numbers(parts):
    """Repeated numbers, packed."""
    found, at = [], 0
    data = b"".join(parts)
    while at < len(data):
        value, at = varint(data, at)
        found.append(value)
    return found


def numbered(messages, what):
    """Messages whose ids have to be 1, 2, 3 ..."""
    found = [fields(message) for message in messages]
    equal([one[1][0] for one in found], list(range(1, len(found) + 1)), f"ids of {what}")
    return [None] + found


def read(path):
    """Samples by call path, the outermost first, and labels: a list of values."""
    with open(path, "rb") as file:
        top = fields(gzip.decompress(file.read()))
    texts = [text.decode() for text in top[6]]
    equal(texts[0], "", "first text")
    mappings = numbered(top[3], "mappings")
    functions = numbered(top[5], "functions")
    locations = numbered(top[4], "locations")
    names = [None]
    for location in locations[1:]:
        equal(location[2] == [] or 1 <= location[2][0] < len(mappings), True, "mapping")
        lines = [fields(line) for line in location[4]]
        names.append(texts[functions[lines[0][1][0]][2][0]])
    types = [texts[fields(kind)[1][0]] for kind in top[1]]
    samples = collections.defaultdict(lambda: [0] * len(types))
    for message in top[2]:
        sample = fields(message)
        labels = []
        for label in map(fields, sample[3]):
            labels.append((texts[label[1][0]], texts[label[2][0]]))
        path = tuple(names[number] for number in reversed(numbers(sample[1])))
        values = numbers(sample[2])
        equal(len(values), len(types), "values of a sample")
        key = path, tuple(sorted(labels))
        samples[key] = [a + b for a, b in zip(samples[key], values)]
    period_type = fields(top[11][0])
    return Profile(types, dict(samples), top[9][0], top[10][0], [texts[i] for i in top[13]],
                   tuple(texts[period_type[i][0]] for i in (1, 2)))
