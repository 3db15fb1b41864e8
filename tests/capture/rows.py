# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What a user relies on in the tables of "correlate": lines have room, and rows differ."""
import itertools
import re

WIDTHS = [80, 100, 120, None]  # None: a pipe
PIPE = 200
TOP = 10
PLACE = re.compile(r"\+0x[0-9a-f]+$")
NUMBER = re.compile(r"[<~]?\d[\d.,]*(ns|us|ms|s|%)?$|-$|\d+m\d+s$")


def tables(text):
    """{title: [(name, line below or "")]}, of rows whose last column is a name."""
    found, rows = {}, None
    for line in text.splitlines():
        if not line.startswith(" "):
            rows = found.setdefault(re.split(r"  | {2}", line)[0], []) if line else None
        elif rows is None or line.startswith("  and "):
            continue
        elif line.startswith("  ~ is "):
            rows = None  # the sentence below the table
        elif line.startswith("      ") and not NUMBER.match(line.split()[0]):
            if rows:
                rows[-1] = (rows[-1][0], line.strip())
        else:
            words = line.split()
            while words and NUMBER.match(words[0]):
                words.pop(0)
            if words and not words[0].isupper():
                rows.append((" ".join(words), ""))
    return found


def top_paths(document):
    """For the heaviest nodes: the name and the functions that lead there with their lines, without
    places, and without the two that nvcc makes of a kernel, which have its name.
    """
    nodes = document["nodes"]
    # Sorted by their time; equal ones as the tree has them.
    heavy = sorted((node for node in nodes if node["scaled_gpu_ns"]),
                   key=lambda n: -n["scaled_gpu_ns"])[:TOP]
    for node in heavy:
        frames, at = [], node["parent"]
        while at is not None:
            above = nodes[at]
            if above["kind"] in ("function", "python") and not PLACE.search(above["name"]) and \
                    above["name"] != node["name"] and not above["name"].startswith("__device_stub__"):
                frames.append((above["name"], above["line"]))
            at = above["parent"]
        yield node["name"], frames


def functions(line):
    return [piece for piece in line.split(" › ") if not re.search(r"\.so\S* \(\d+\)$|\+0x", piece)]


def check(text, width, document):
    for line in text.splitlines():
        assert len(line) <= width, f"{len(line)} columns of {width}: {line!r}"
    found = tables(text)
    work = [name for name, _ in found.get("Work", [])][:TOP]
    assert len(set(work)) == len(work), f"{width}: kernels that look alike: {work}"
    rows = found.get("Call paths", [])[:TOP]
    paths = list(top_paths(document))
    if not rows or not paths:
        return
    assert len(rows) == len(paths), f"{width}: {len(rows)} rows of {len(paths)}"
    for (i, row), (j, other) in itertools.combinations(enumerate(rows), 2):
        assert row != other, f"{width}: rows {i} and {j} look alike: {row}"
        # What differs in the path is in its line, whatever the kernels are, and in more than places.
        if functions(row[1]) == functions(other[1]):
            assert paths[i][1] == paths[j][1], f"{width}: paths {i} and {j} look alike: {row[1]!r}"
