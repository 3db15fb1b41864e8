# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Figures of gpumon-user's JSON, in the form in which reference.py has them."""
import collections

import metric_means
import reference
import stalls

# Below the calls of launches without work.
# The first may have the name of what was launched in front.
ENDS = ("[unmatched launch]", "[failed call]", "[captured into graph]")


def works(document):
    return {match: {kind: n for kind, n in sorted(kinds.items()) if n}
            for match, kinds in document["missing"]["works"].items() if any(kinds.values())}


def paths(document, mangled):
    """Count and GPU time by path, time in calls by call; process nodes and the root are left out."""
    found, calls = {}, {}
    for way, node in zip(names_of(document, mangled), document["nodes"]):
        name = way[-1] if way else ""
        if node["count"] or node["gpu_ns"]:
            entry = found.setdefault(";".join(way), [0, 0])
            entry[0] += node["count"]
            entry[1] += node["gpu_ns"]
        if node["cpu_ns"]:
            leaf = node["kind"] in ("kernel", "copy", "set", "whole_graph") or name.endswith(ENDS)
            call = reference.of_call(way[:-1] if leaf else way)
            calls[call] = calls.get(call, 0) + node["cpu_ns"]
    return dict(sorted(found.items())), dict(sorted(calls.items()))


def names_of(document, mangled):
    """The path of each node, without processes and the root."""
    ways = []
    for node in document["nodes"]:
        name = node["name"]
        if node["kind"] == "kernel":
            name = mangled.get(name, name)
        elif node["line"]:
            name = reference.at_line(name, *node["line"].rpartition(":")[::2])
        above = ways[node["parent"]] if node["parent"] is not None else []
        ways.append(above if node["kind"] in ("root", "process") else above + [name])
    return ways


def budget(document, mangled):
    """Wall time by thread, idle time by GPU, and both by call path."""
    found = {key: collections.Counter() for key in ("wall", "wall_estimated", "idle")}
    for way, node in zip(names_of(document, mangled), document["nodes"]):
        path, estimated = ";".join(way), node.get("wall_estimated_ns", 0)
        found["wall"][path] += node.get("wall_ns", 0) - estimated
        found["wall_estimated"][path] += estimated
        found["idle"][path] += node.get("idle_ns", 0)
    pids = {process["process"]: process["pid"] for process in document["recording"]["processes"]}
    rows = [[pids.get(row["process"], 0), row["tid"], row["wall_ns"], plain(row["spent_ns"]), plain(row["blocked_ns"]), row["gaps"],
             row["gap_longest_ns"], row["unsampled_ns"]] for row in document["budget"]]
    for row in rows:
        assert sum(row[3].values()) == row[2], f"thread {row[1]}: {row[3]} is not {row[2]} together"
    assert sum(row[2] for row in rows) == sum(node.get("wall_ns", 0) for node in document["nodes"]), "wall time of paths"
    parts = [plain({key: row[f"{key}_ns"] for key in ("before_first", "after_last", "between", "queued", "unknown")})
             for row in document["idle"]]
    assert sum(sum(part.get(key, 0) for key in ("before_first", "after_last", "between")) for part in parts) == \
        sum(found["idle"].values()), "idle time of paths"
    return {
        "budget": sorted(rows, key=repr),
        **{key: {path: ns for path, ns in sorted(sums.items()) if ns} for key, sums in found.items()},
        "idle_gpus": sorted([[part, plain(row["overhead_ns"]), row["gaps"], row["gap_longest_ns"]]
                             for part, row in zip(parts, document["idle"])], key=repr),
    }


def plain(counts):
    return {key: n for key, n in sorted(counts.items()) if n}


def streams(document):
    """By process and stream; of a process that called exec there are two, with one pid."""
    pids = {process["process"]: process["pid"] for process in document["recording"]["processes"]}
    found = {}
    for row in document["devices"]:
        key = (pids.get(row["process"], 0), row["uuid"] or "", row["context"], row["stream"])
        sums = found.setdefault(key, [0, 0, 0])
        for i, part in enumerate(["count", "gpu_ns", "busy_ns"]):
            sums[i] += row[part]
    return sorted([list(key) + sums for key, sums in found.items()], key=repr)


def gpus(document):
    """By UUID, however many processes use it; without one, a device is that of its process."""
    found = {}
    for row in document["gpus"]:
        if row["uuid"]:
            sums = found.setdefault(row["uuid"], [0, 0, 0])
            for i, part in enumerate(["count", "gpu_ns", "busy_ns"]):
                sums[i] += row[part]
    return dict(sorted(found.items()))


def sampling(document, mangled):
    """What is estimated beyond what is recorded."""
    sums = document["recording"]["sampling"]
    if not sums:
        return None
    kernels = {f"{row['kind']} {row['mangled'] or row['name']}":
               [row["scaled_count"] - row["count"], row["scaled_gpu_ns"] - row["gpu_ns"]]
               for row in document["kernels"]}
    estimates = [{**node, "count": node["scaled_count"] - node["count"], "cpu_ns": 0,
                  "gpu_ns": node["scaled_gpu_ns"] - node["gpu_ns"]} for node in document["nodes"]]
    by_path, _ = paths({"nodes": estimates}, mangled)
    pids = {process["process"]: process["pid"] for process in document["recording"]["processes"]}
    whole = document["recording"]["duration_ns"]
    return {
        "sums": [int(sums[key]) for key in ["windows", "windows_ns", "paused", "launches_recorded", "launches_left_out",
                                       "launches_without_sample", "paths_sampled", "paths_left_out",
                                       "paths_without_sample"]],
        "kernels": {key: row for key, row in sorted(kernels.items()) if any(row)},
        "paths": by_path,
        "idle": sorted([[pids.get(row["process"], 0), row["uuid"] or "", row["context"], row["stream"],
                         row["elapsed_ns"], row["idle_longest_ns"]] for row in document["devices"]
                        if row["elapsed_ns"] != whole], key=repr) if sums["windows"] else [],
    }


def figures(document):
    missing, latency = document["missing"], document["latency"]
    mangled = {row["name"]: row["mangled"] for row in document["kernels"]
               if row["kind"] == "kernel"}
    assert len(mangled) == sum(row["kind"] == "kernel" for row in document["kernels"]), \
        "two kernels of one name"
    by_path, calls = paths(document, mangled)
    return {
        "sampling": sampling(document, mangled),
        "works": works(document),
        "launches": {key: n for key, n in sorted(missing["launches"].items()) if n},
        "without_time": {key: n for key, n in sorted(missing["without_time"].items()) if n},
        "losses": {key: n for key, n in sorted(missing["losses"].items()) if n},
        "damage": {key: n for key, n in sorted(missing["damage"].items()) if n},
        "kernels": dict(sorted(
            (f"{row['kind']} {row['mangled'] or row['name']}",
             [row["count"], row["gpu_ns"], row["duration"]["min_ns"], row["duration"]["max_ns"]])
            for row in document["kernels"])),
        "gpus": gpus(document),
        "streams": streams(document),
        "latency": [latency["count"], latency["sum_ns"], latency["min_ns"], latency["max_ns"]],
        "paths": by_path,
        "calls": calls,
        **budget(document, mangled),
        "stalls": stalls.of_document(document),
        **metric_means.of_document(document),
    }


def text(found):
    """One line per figure or group of figures, so that a diff is readable."""
    lines = []
    if found["sampling"]:
        lines.append("# windows, ns, with pauses, launches recorded, left out, without a sample; paths likewise")
        lines.append(" ".join(map(str, found["sampling"]["sums"])))
        lines.append("\n# estimates: count, ns of what is not recorded")
        lines += [f"{' '.join(map(str, row))} {name}" for part in ("kernels", "paths")
                  for name, row in found["sampling"][part].items()]
        lines.append("\n# pid, uuid, context, stream, ns in windows, longest ns of them idle")
        lines += [" ".join("-" if value is None else str(value) for value in row)
                  for row in found["sampling"]["idle"]]
        lines.append("")
    for part in ["works", "launches", "without_time", "losses", "damage"]:
        for key, value in found[part].items():
            words = " ".join(f"{name} {n}" for name, n in value.items()) \
                if isinstance(value, dict) else value
            lines.append(f"{part} {key} {words}")
    lines.append("\n# latency: count, sum, min, max of ns")
    lines.append(" ".join(map(str, found["latency"])))
    lines.append("\n# kernels, copies, sets: count, ns, shortest, longest")
    lines += [f"{' '.join(map(str, row))} {name}" for name, row in found["kernels"].items()]
    if len({row[0] for row in found["streams"]}) > 1:
        lines.append("\n# GPUs: count, ns, busy ns, uuid")
        lines += [f"{' '.join(map(str, row))} {uuid}" for uuid, row in found["gpus"].items()]
    lines.append("\n# GPUs and streams: pid, uuid, context, stream, count, ns, busy ns")
    lines += [" ".join("-" if value is None else str(value) for value in row)
              for row in found["streams"]]
    lines.append("\n# call paths: count, GPU ns")
    lines += [f"{' '.join(map(str, row))} {path}" for path, row in found["paths"].items()]
    lines.append("\n# calls: ns in them")
    lines += [f"{ns} {path}" for path, ns in found["calls"].items()]
    return "\n".join(lines + stalls.text(found["stalls"])) + "\n"
