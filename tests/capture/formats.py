# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Outputs of a capture against its JSON: sums, numbers of pieces, names."""
import collections
import html
import html.parser
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "output"))
import go_pprof  # noqa: E402
import pprof_reader  # noqa: E402
from check import Message  # noqa: E402,F401

WORK = ("kernel", "copy", "set", "graph")


def by_name(document):
    """Count and GPU time of work by its name."""
    found = collections.Counter()
    for row in document["kernels"]:
        found[row["kind"], row["name"], "count"] += row["count"]
        found[row["kind"], row["name"], "ns"] += row["gpu_ns"]
    return found


def weight(document):
    """The default weight of paths: GPU time, or the time in calls if it is known for all of them.
    """
    recording = document["recording"]
    if recording["scaled_gpu_ns"]:
        return recording["scaled_gpu_ns"]
    return recording["count"] if recording["launches_without_time"] else recording["cpu_ns"]


def folded(text, document):
    rows = [line.rsplit(" ", 1) for line in text.decode("utf-8").splitlines()]
    weights = [int(value) for _, value in rows]
    assert sum(weights) == weight(document), "folded stacks have another sum"
    assert 0 not in weights, "folded stacks without weight"
    # Calls in different lines are different rows.
    assert len(set(path for path, _ in rows)) == len(rows), "folded stacks: a path twice"


def folded_stalls(text, document):
    """Below a kernel with one call path, what its warps did; nothing below others."""
    got, want = collections.Counter(), collections.Counter()
    for path, ns in (line.rsplit(" ", 1) for line in text.decode("utf-8").splitlines()):
        if ";[samples: " in path:
            above, _, leaf = path.rpartition(";[samples: ")
            got[above.rpartition(";")[2].lstrip("~"), leaf[:-1]] += int(ns)
    for node in document["nodes"]:
        for part in node.get("stalls", []):
            want[node["name"].replace(";", ":"), part["text"]] += part["scaled_gpu_ns"]
    assert +got == +want, f"folded stacks: {got} is not {want}"


def picture(text, total):
    root = ElementTree.fromstring(text)
    assert int(root.get("data-total")) == total, f"data-total is {root.get('data-total')}"
    frames = [g for g in root.iter("{http://www.w3.org/2000/svg}g") if g.get("class") == "f"]
    assert bool(frames) == bool(total), f"{len(frames)} frames"
    assert all(int(g.get("data-v")) <= total for g in frames)


class Page(html.parser.HTMLParser):
    EMPTY = {"meta", "br", "input", "path", "rect", "line"}

    def __init__(self):
        super().__init__()
        self.open, self.problems = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in self.EMPTY:
            self.open.append(tag)
        for key, value in attrs:
            if key in ("src", "href") and not (value or "").startswith("#"):
                self.problems.append(f"{tag} loads {value}")

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if tag in self.EMPTY:
            return
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> at {self.getpos()}")


def report(text, document):
    """A page without errors, whose call paths are those of the tree, by name, line and time."""
    page = Page()
    page.feed(text.decode("utf-8"))
    page.close()
    assert not page.problems and not page.open, (page.problems[:3], page.open[:3])
    if not document["recording"]["scaled_gpu_ns"]:
        return
    page = text.decode("utf-8")
    found = re.search('<table class="sortable" id="paths-gpu">(.*?)</table>', page, re.DOTALL)[1]
    functions, lines = (html.unescape(re.search(f'<pre id="{part}">(.*?)</pre>', page, re.DOTALL)[1]).split("\n")
                        for part in ("functions", "lines"))
    functions = [[*function.split("\t"), "", "", ""] for function in functions]

    def place(at):
        """A function, and the line or else the module, of "5:1" or "5"."""
        number, _, line = at.partition(":")
        return lines[int(line) - 1] if line else functions[int(number)][3], short(functions[int(number)][1])

    def short(name):
        """The page cuts off the rest of a very long one."""
        return (name or "[unknown]")[:400]

    rows = re.findall('<tr data-frame="([1-9][0-9]*)" data-path="([^"]*)"><td class="n" data-v="([0-9]+)"', found)
    got = {tuple(place(at) for at in path.split(" ")): int(ns) for _, path, ns in rows}
    assert len(got) == len(rows), "a call path twice"
    ways, want = [], {}
    for node in document["nodes"]:
        above = () if node["parent"] is None else ways[node["parent"]]
        ways.append(above if node["parent"] is None else
                    (*above, (node["line"] or node["module"] or "", short(node["name"]))))
        if node["scaled_gpu_ns"]:
            want[ways[-1]] = node["scaled_gpu_ns"]
    assert len(want) <= 1000 and got == want, f"report: {len(got)} call paths, not {len(want)}"


def report_stalls(text, document):
    """A part of the page for each kernel that was sampled, with its reasons and its lines or instructions."""
    page = text.decode("utf-8")
    kernels = (document["stalls"] or {"kernels": []})["kernels"]
    found = re.findall(r'<details class="kernel".*?</details>', page, re.DOTALL)
    assert len(found) == len(kernels), f"report: {len(found)} kernels with samples, not {len(kernels)}"
    for part, kernel in zip(found, kernels):
        assert html.unescape(re.search(r'<code title="([^"]*)"', part)[1]) == kernel["name"], "another kernel"
        for key, rows in (("reasons", kernel["reasons"]), ("places", kernel["places"])):
            table = re.search(rf'id="stalls-[0-9]+-{key}">(.*?)</table>', part, re.DOTALL)[1]
            got = [int(n) for n in re.findall(r'<td class="n share" data-v="([0-9]+)"', table)]
            assert got == [row["samples"] for row in rows], f"report: {key} of {kernel['name']}: {got}"
        launch = kernel["launch"]
        grid = launch and "Grid " + " × ".join(map(str, launch["grid"]))
        assert (grid or "No launch of it") in part, f"report: how {kernel['name']} was launched"
        occupancy = launch and launch["warps_resident"]
        assert ("theoretical occupancy" in part) == (occupancy is not None), f"report: occupancy of {kernel['name']}"


def chrome(text, document):
    """Times with three decimals of a microsecond are whole nanoseconds."""
    events = json.loads(text, parse_float=Decimal)["traceEvents"]
    found = collections.Counter()
    for event in events:
        if event["ph"] == "X" and event.get("cat") in WORK:
            found[event["cat"], event["name"], "count"] += 1
            if "unfinished" not in event["args"]:
                found[event["cat"], event["name"], "ns"] += int(event["dur"] * 1000)
    assert +found == +by_name(document), "chrome: other work than in the profile"
    starts = collections.Counter(e["id"] for e in events if e["ph"] == "s")
    ends = collections.Counter(e["id"] for e in events if e["ph"] == "f")
    assert set(ends) <= set(starts), "chrome: an arrow from nowhere"


def perfetto(data, document):
    names, categories, keys, open_slices = {}, {}, {}, collections.defaultdict(list)
    found = collections.Counter()
    for packet in Message(data).messages(1):
        for interned in packet.messages(12):
            names.update((m.one(1), m.text(2)) for m in interned.messages(2))
            categories.update((m.one(1), m.text(2)) for m in interned.messages(1))
            keys.update((m.one(1), m.text(2)) for m in interned.messages(3))
        for event in packet.messages(11):
            if event.one(9) == 1:
                has_end = "unfinished" not in [keys[note.one(1)] for note in event.messages(4)]
                open_slices[event.one(11)].append(
                    (packet.one(8), categories[event.one(3)], event.text(23) or names[event.one(10)], has_end))
            elif event.one(9) == 2:
                start, category, name, has_end = open_slices[event.one(11)].pop()
                if category in WORK:
                    found[category, name, "count"] += 1
                    found[category, name, "ns"] += (packet.one(8) - start) * has_end
    assert not any(open_slices.values()), "perfetto: a slice without an end"
    assert +found == +by_name(document), "perfetto: other work than in the profile"


def pprof(data, document):
    """The values of each path, with the line of each call."""
    found, paths = {}, []
    for node in document["nodes"]:
        above = () if node["parent"] is None else paths[node["parent"]]
        line = (node["line"] or "").rpartition(":")[2]
        here = (node["name"] or "[unknown]", int(line) if line.isdigit() else 0)
        paths.append(above if node["parent"] is None else (*above, here))
        values = [node.get(key, 0) for key in go_pprof.INDEX]
        if paths[-1] and any(values):
            found[paths[-1]] = [a + b for a, b in zip(values, found.get(paths[-1], [0] * len(values)))]
    got, samples = {}, pprof_reader.parse(data, has_lines=True).samples
    for (path, _), values in samples.items():
        got[path] = [a + b for a, b in zip(values, got.get(path, [0] * len(values)))]
    assert got == found, "pprof: other paths"
    stalls = collections.Counter()
    for (path, labels), values in samples.items():
        for key, text in labels:
            stalls[path[-1][0], text] += values[0] * (key == "stall")
    want = collections.Counter()
    for node in document["nodes"]:
        for part in node.get("stalls", []):
            want[node["name"], part["text"]] += part["scaled_gpu_ns"]
    assert +stalls == +want, "pprof: other stalls"
