# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Figures of gpumon-user's JSON, in the form in which reference.py has them."""


def works(document):
    return {match: {kind: n for kind, n in sorted(kinds.items()) if n}
            for match, kinds in document["missing"]["works"].items() if any(kinds.values())}


def paths(document, mangled):
    """Count, GPU and CPU time by path; process nodes and the root are left out."""
    nodes, ways, found = document["nodes"], [], {}
    for node in nodes:
        name = node["name"]
        if node["kind"] == "kernel":
            name = mangled.get(name, name)
        above = ways[node["parent"]] if node["parent"] is not None else []
        ways.append(above if node["kind"] in ("root", "process") else above + [name])
        if node["count"] or node["gpu_ns"] or node["cpu_ns"]:
            entry = found.setdefault(";".join(ways[-1]), [0, 0, 0])
            for i, key in enumerate(["count", "gpu_ns", "cpu_ns"]):
                entry[i] += node[key]
    return dict(sorted(found.items()))


def figures(document):
    missing, latency = document["missing"], document["latency"]
    pids = {process["process"]: process["pid"] for process in document["recording"]["processes"]}
    mangled = {row["name"]: row["mangled"] for row in document["kernels"]
               if row["kind"] == "kernel"}
    assert len(mangled) == sum(row["kind"] == "kernel" for row in document["kernels"]), \
        "two kernels of one name"
    return {
        "works": works(document),
        "launches": {key: n for key, n in sorted(missing["launches"].items()) if n},
        "losses": {key: n for key, n in sorted(missing["losses"].items()) if n},
        "damage": {key: n for key, n in sorted(missing["damage"].items()) if n},
        "kernels": dict(sorted(
            (f"{row['kind']} {row['mangled'] or row['name']}",
             [row["count"], row["gpu_ns"], row["duration"]["min_ns"], row["duration"]["max_ns"]])
            for row in document["kernels"])),
        "streams": sorted([[pids.get(row["process"], 0), row["uuid"] or "", row["context"], row["stream"],
                            row["count"], row["gpu_ns"], row["busy_ns"]]
                           for row in document["devices"]], key=repr),
        "latency": [latency["count"], latency["sum_ns"], latency["min_ns"], latency["max_ns"]],
        "paths": paths(document, mangled),
    }


def text(found):
    """One line for each number or group of them, for people who look at what changed."""
    lines = []
    for part in ["works", "launches", "losses", "damage"]:
        for key, value in found[part].items():
            words = " ".join(f"{name} {n}" for name, n in value.items()) \
                if isinstance(value, dict) else value
            lines.append(f"{part} {key} {words}")
    lines.append("\n# latency: count, sum, min, max of ns")
    lines.append(" ".join(map(str, found["latency"])))
    lines.append("\n# kernels, copies, sets: count, ns, shortest, longest")
    lines += [f"{' '.join(map(str, row))} {name}" for name, row in found["kernels"].items()]
    lines.append("\n# GPUs and streams: pid, uuid, context, stream, count, ns, busy ns")
    lines += [" ".join("-" if value is None else str(value) for value in row)
              for row in found["streams"]]
    lines.append("\n# call paths: count, GPU ns, ns in calls")
    lines += [f"{' '.join(map(str, row))} {path}" for path, row in found["paths"].items()]
    return "\n".join(lines) + "\n"
