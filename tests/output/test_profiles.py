# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Folded stacks, JSON, pprof and text, read back and compared."""
import gzip
import json
import unicodedata

import pprof_reader
from check import Message, equal, files, test

NAMES = ["training", "empty", "hostile", "huge", "large"]


def profile(name):
    return json.loads((files / f"{name}.json").read_bytes().decode("utf-8"))


def with_line(node):
    """"step (model.py:12)" """
    line = (node["line"] or "").rsplit("/", 1)[-1]
    return f"{node['name'] or '[unknown]'} ({line})" if ":" in line else node["name"]


def paths(document, lines=False):
    """Names from below the root down to each node, with the node."""
    nodes = document["nodes"]
    found = []
    for number, node in enumerate(nodes):
        way = []
        while node["parent"] is not None:
            assert node["parent"] < number or way, "a parent behind its child"
            way.append(with_line(node) if lines else node["name"])
            node = nodes[node["parent"]]
        found.append((list(reversed(way)), nodes[number]))
    return found


@test
def json_is_whole():
    """The JSON of all profiles is valid and identifies itself"""
    for name in NAMES:
        document = profile(name)
        equal(document["schema"], "gpumon-profile")
        equal(document["schema_version"], 1)
        equal(document["nodes"][0]["parent"], None, name)
        for key in ["recording", "missing", "latency", "budget", "idle", "kernels", "devices", "ranges",
                    "gaps"]:
            assert key in document, f"{name}: no {key}"
        total = sum(node["gpu_ns"] for node in document["nodes"])
        equal(document["recording"]["gpu_ns"], min(total, 2**64 - 1), name)


@test
def json_unknown():
    """Unknown values are null, and losses are shown by cause"""
    document = profile("empty")
    for key in ["command", "host", "created_realtime_ns", "ended", "first_ns", "duration_ns"]:
        equal(document["recording"][key], None, key)
    equal(document["latency"]["p50_ns"], None)
    equal(document["missing"]["works"], None)
    document = profile("training")
    equal(document["missing"]["losses"]["channel_full"], 41)
    equal(document["missing"]["works"]["no_stack"]["kernel"], 12)
    equal(document["missing"]["launches"]["without_work"], 3)
    equal(document["recording"]["processes"][0]["rank"], None)
    assert "unknown" not in document["missing"]["losses"], "a cause without a name"


@test
def json_keys_have_units():
    """Numbers of time say in their key that they are nanoseconds"""
    def walk(value, key):
        if isinstance(value, dict):
            for inner_key, inner in value.items():
                # Of a time by what it was spent on, the unit is in the key of the whole.
                walk(inner, key if key.endswith("_ns") else inner_key)
        elif isinstance(value, list):
            for inner in value:
                walk(inner, key)
        elif isinstance(value, int) and not isinstance(value, bool) and value > 10**7:
            assert key.endswith(("_ns", "_bytes", "count", "version")), f"{key} has no unit"
    walk(profile("training"), "")


@test
def json_budget():
    """The wall time of threads is divided without rest, and so is the idle time of a GPU"""
    document = profile("training")
    for row in document["budget"]:
        equal(sum(row["spent_ns"].values()), row["wall_ns"], row["name"])
        equal(sum(row["blocked_ns"].values()), row["spent_ns"]["blocked"], row["name"])
    equal([(row["pid"], row["tid"], row["name"], row["untimed"]) for row in document["budget"]],
          [(4242, 4242, "python3", False), (4242, 4250, "pt_autograd_0", False)])
    equal([row["looks_per_s"] for row in document["budget"]], [50.2, None])
    equal(list(document["budget"][0]["spent_ns"]),
          ["before_first_call", "launch_calls", "gpu_wait_calls", "other_calls", "between_calls",
           "running", "blocked", "unrecorded", "after_last_call"])
    equal(document["budget"][0]["blocked_ns"], {"read": 50000000, "sleep": 9000000})
    equal(document["idle"][0]["overhead_ns"], {"module_loading": 6000000})
    equal([(gpu["busy_ns"], gpu["in_use_ns"]) for gpu in document["gpus"]], [(331000000, 406000000)])
    nodes = document["nodes"]
    equal(sum(node.get("wall_ns", 0) for node in nodes), sum(row["wall_ns"] for row in document["budget"]))
    idle = document["idle"][0]
    equal(sum(node.get("idle_ns", 0) for node in nodes),
          sum(idle[key] for key in ("before_first_ns", "between_ns", "after_last_ns")))
    equal({node["name"] for node in nodes if node["kind"] == "state" and "wall_ns" in node},
          {"[between calls]", "[running]", "[read of a file]", "[sleep]", "[module loading]",
           "[before the first call]", "[after the last call]"})
    for name in ["empty", "hostile"]:
        equal((profile(name)["budget"], profile(name)["idle"]), ([], []), name)
        assert not any("wall_ns" in node or "idle_ns" in node for node in profile(name)["nodes"]), name


@test
def folded_agrees():
    """Folded stacks have the paths and times of the tree"""
    for name, weight, key in [(name, weight, key) for name in NAMES for weight, key in
                              [("", "gpu_ns"), (".wall", "wall_ns"), (".idle", "idle_ns")]]:
        text = (files / f"{name}{weight}.folded").read_text(encoding="utf-8")
        got = {}
        for line in text.splitlines():
            path, weight = line.rsplit(" ", 1)
            assert path not in got, f"{name}: {path} twice"
            got[path] = int(weight)
        want = {}
        for path, node in paths(profile(name), lines=True):
            if node.get(key, 0):
                clean = [(part or "[unknown]").replace(";", ":") for part in path]
                # JSON keeps control characters and invalid bytes, which folded stacks cannot
                # contain.
                clean = ["".join("?" if unicodedata.category(c) in ("Cc", "Cf") or c == "\ufffd"
                                 else c for c in part) for part in clean]
                want[";".join(clean)] = node[key]
        equal(got, want, f"{name} {key}")


def pprof(name):
    top = Message(gzip.decompress((files / f"{name}.pb.gz").read_bytes()))
    strings = [value.decode("utf-8") for value in top.all(6)]
    equal(strings[0], "", "the first string")
    functions = {m.one(1): m for m in top.messages(5)}
    mappings = {m.one(1): m for m in top.messages(3)}
    locations = {m.one(1): m for m in top.messages(4)}
    equal(len(locations), len(top.messages(4)), "ids of locations")
    samples = []
    for message in top.messages(2):
        way = []
        for number in message.packed(1):
            location = locations[number]
            assert location.one(2, 0) == 0 or location.one(2) in mappings
            line = location.messages(4)[0]
            function = functions[line.one(1)]
            way.append((strings[function.one(2)], strings[function.one(4, 0)], line.one(2, 0)))
        samples.append((way, message.packed(2)))
    types = [(strings[m.one(1)], strings[m.one(2)]) for m in top.messages(1)]
    return top, strings, types, samples


PPROF = {"gpu_nanoseconds": "gpu_ns", "count": "count", "cpu_nanoseconds": "cpu_ns",
         "wall_nanoseconds": "wall_ns", "idle_nanoseconds": "idle_ns"}


@test
def pprof_agrees():
    """pprof's profile read by another implementation has the tree's paths and sums"""
    for name in NAMES:
        _, _, types, samples = pprof(name)
        equal(types, [(one, "count" if one == "count" else "nanoseconds") for one in PPROF])
        found = [(path, node) for path, node in paths(profile(name))
                 if path and any(node.get(key, 0) for key in PPROF.values())]
        equal(len(samples), len(found), name)
        limit = 2**63 - 1
        for index, key in enumerate(PPROF.values()):
            equal(sum(values[index] for _, values in samples),
                  sum(min(node.get(key, 0), limit) for _, node in found), f"{name} {key}")
        for (way, _), (path, node) in zip(samples, found):
            equal(len(way), len(path), f"{name}: depth of {node['name']}")


@test
def pprof_collected():
    """what collects profiles accepts it, also with hostile names"""
    for name in NAMES:
        profile_ = pprof_reader.read(files / f"{name}.pb.gz", name == "training")
        equal(profile_.period_type, ("gpu", "nanoseconds"), name)
        missing = profile(name)["missing"]["summary"]
        equal([text for text in profile_.comments if text.startswith("Missing")],
              [f"Missing: {missing}"] if missing else [], f"{name}: what is missing")


@test
def pprof_lines():
    """pprof's profile has files, lines, modules and when it was"""
    top, strings, _, samples = pprof("training")
    frames = {frame for way, _ in samples for frame in way}
    assert ("train_step", "train.py", 97) in frames, sorted(frames)
    assert "libtorch_cuda.so" in {strings[m.one(5)] for m in top.messages(3)}
    equal(top.one(9), 1763740800 * 10**9)
    equal(strings[top.one(14)], "gpu_nanoseconds")


@test
def text_fits():
    """The summary's lines are at most 80 columns wide, also with long and odd names"""
    for name in NAMES + ["diff"] + [f"{name}.wide" for name in NAMES]:
        room = 100 if name == "diff" else 110 if name.endswith(".wide") else 80
        for line in (files / f"{name}.txt").read_text(encoding="utf-8").splitlines():
            width = sum(0 if unicodedata.combining(c) else
                        2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)
            assert width <= room, f"{name}: {width} columns: {line}"
            assert "\x1b" not in line, f"{name}: an escape sequence: {line!r}"


@test
def text_says():
    """The summary names what ran, the top kernel, its path, and every loss"""
    text = (files / "training.txt").read_text(encoding="utf-8")
    for part in ["python3 train.py", "sm90_xmma_gemm", "Linear.forward", "stream 13",
                 "Launch latency", "cudaStreamSynchronize", "data: load <batch>", "Missing",
                 "41  records: the channel", "12  of 10,019 GPU operations"]:
        assert part in text, part
    text = (files / "empty.txt").read_text(encoding="utf-8")
    assert "nothing was recorded" in text and "Nothing was recorded  no process used" in text, text
    assert "Nothing is missing" not in text and "0ns" not in text, text


def table(name, title):
    """The lines below a title, up to an empty one."""
    lines = (files / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith(f"{title}  "))
    return lines[begin:lines.index("", begin)]


@test
def text_of_time():
    """The summary says where wall time went, by thread and by call path, and why a GPU was idle"""
    rows = [line.split() for line in table("training.wide", "Threads")][1:]
    equal(rows[1], ["TIME", "LAUNCHING", "GPU", "WAIT", "BETWEEN", "CALLS", "RUNNING", "BLOCKED",
                    "BEFORE", "AFTER", "THREAD"])
    equal(rows[2], ["417ms", "24.0%", "2.88%", "48.0%", "9.59%", "14.1%", "1.20%", "0.24%",
                    "python3", "4242"])
    equal(rows[3], ["blocked:", "12.0%", "read,", "2.16%", "sleep"])
    equal(rows[4][:4] + rows[4][-2:], ["417ms", "21.6%", "0.00%", "71.9%", "pt_autograd_0", "4250"])
    text = " ".join(" ".join(table("training.wide", "Threads")).split())
    for part in ["from 21 looks, 50 a second.", "4.00ms between calls is next to launches without a stack"]:
        assert part in text, (part, text)
    # Narrow, what was before and after is one.
    rows = [line.split() for line in table("training", "Threads") if "%" in line]
    assert ["417ms", "24.0%", "2.88%", "48.0%", "9.59%", "14.1%", "1.44%", "python3", "4242"] in rows, rows
    rows = [line.split() for line in table("training", "Wall time")]
    equal(rows[1], ["WALL", "TIME", "%", "WHAT"])
    equal(rows[2], ["300ms", "36.0%", "[between", "calls]"])
    equal(rows[4], ["200ms", "24.0%", "[between", "calls]"])
    assert "train_step" in rows[5], rows[5]
    equal(rows[-1], ["and", "9", "more"])
    rows = [line.split() for line in table("training", "Idle GPU")]
    equal(rows[1], ["IDLE", "%", "TIMES", "LONGEST", "WHAT"])
    equal(rows[2], ["40.0ms", "46.5%", "200", "4.50ms", "[between", "calls]"])
    equal(rows[4], ["20.0ms", "23.3%", "20", "8.12ms", "[read", "of", "a", "file]"])
    # Busy is shown of the time recorded, and without start-up: 331 of 417, and of 331 + 81 - 6 ms.
    row = next(line.split() for line in table("training.wide", "GPUs") if "GPU0" in line)
    equal(row[:3], ["331ms", "79.4%", "81.5%"])
    text = (files / "empty.txt").read_text(encoding="utf-8")
    for part in ["Threads", "Wall time", "Idle GPU"]:
        assert part not in text, part


@test
def diff_says():
    """A comparison shows changes, and what is on one side only"""
    document = json.loads((files / "diff.json").read_text(encoding="utf-8"))
    kernels = {kernel["name"]: kernel for kernel in document["kernels"]}
    top = document["kernels"][0]
    equal((top["change_ns"], top["change_percent"]), (top["before"]["gpu_ns"], 100.0))
    equal(kernels["another_kernel(int)"]["before"], None)
    equal(kernels["another_kernel(int)"]["change_percent"], None)
    nodes = {node["name"]: node for node in document["nodes"]}
    equal(nodes["only_after"]["change_ns"], 5000000)
    equal(nodes["only_after"]["before"], None)
    equal(nodes["only_before"]["change_count"], -2)
    equal(nodes["only_before"]["after"], None)
    total = sum(node["change_ns"] for node in document["nodes"])
    equal(total, document["after"]["gpu_ns"] - document["before"]["gpu_ns"])
    text = (files / "diff.txt").read_text(encoding="utf-8")
    for part in ["+100.0%", "new", "gone", "Kinds of work: 1 only before, 1 only after"]:
        assert part in text, part
