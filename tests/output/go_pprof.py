# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What Go's pprof says of a profile: another reader than the one that these tests have."""
import collections
import pathlib
import re
import subprocess

from check import Skip

INDEX = {"scaled_gpu_ns": "gpu_nanoseconds", "scaled_count": "count", "cpu_ns": "cpu_nanoseconds",
         "wall_ns": "wall_nanoseconds", "idle_ns": "idle_nanoseconds"}
ROW = re.compile(r"\s*(-?\d+)(?:ns)?\s+\S+%\s+\S+%\s+(-?\d+)(?:ns)?\s+\S+%\s{2}(.*)")


def program():
    found = subprocess.run([pathlib.Path(__file__).parent / "pprof"], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, check=False)
    if found.returncode == 77:
        raise Skip(found.stderr.decode("utf-8", "replace").strip())
    assert found.returncode == 0, found.stderr
    return found.stdout.decode().strip()


def run(*words):
    done = subprocess.run([program(), *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode("utf-8")


def top(path, key):
    """For each name: its own time or number, and that of everything below."""
    text = run("-top", "-functions", "-nodecount=1000000", "-nodefraction=0", "-edgefraction=0",
               "-trim=false", "-unit=ns", f"-sample_index={INDEX[key]}", path)
    found = {}
    for line in text.splitlines():
        row = ROW.fullmatch(line)
        if row:
            assert row[3] not in found, f"{row[3]} twice"
            found[row[3]] = (int(row[1]), int(row[2]))
    return text, found


def totals(path):
    """Sums of the samples' values, as -raw prints them."""
    sums = collections.Counter()
    lines = run("-raw", path).splitlines()
    begin = lines.index("Samples:")
    types = [part.split("/")[0] for part in lines[begin + 1].replace("[dflt]", "").split()]
    for line in lines[begin + 2:]:
        sample = re.fullmatch(r"\s*((?:-?\d+\s+)+-?\d+): [\d ]*", line)
        if line == "Locations":
            break
        # Below a sample are its labels.
        if not sample:
            continue
        for name, value in zip(types, sample[1].split()):
            sums[name] += int(value)
    return types, sums


def of_tree(nodes, key):
    """The same as top(), from the JSON's nodes: recursion counts once."""
    own, below = collections.Counter(), collections.Counter()
    for node in nodes:
        names, at = set(), node
        while at["parent"] is not None:
            names.add(at["name"])
            at = nodes[at["parent"]]
        own[node["name"]] += node.get(key, 0)
        for name in names:
            below[name] += node.get(key, 0)
    return {name: (own[name], below[name]) for name in below if below[name]}


def agrees(path, document):
    """pprof's figures are those of the JSON. Raises Skip if there is no pprof."""
    nodes = document["nodes"]
    types, sums = totals(path)
    assert types == list(INDEX.values()), types
    for key, name in INDEX.items():
        assert sums[name] == sum(node.get(key, 0) for node in nodes), f"{name}: {sums[name]}"
        text, got = top(path, key)
        got = {name: values for name, values in got.items() if any(values)}
        want = of_tree(nodes, key)
        differs = [one for one in sorted(set(got) | set(want)) if got.get(one) != want.get(one)]
        assert not differs, (f"{name}: {len(differs)} differ, as {differs[0]}: "
                             f"{got.get(differs[0])} is not {want.get(differs[0])}")
    processes = document["recording"]["processes"]
    if processes and processes[0]["executable"]:
        assert f"File: {processes[0]['executable'].rsplit('/', 1)[-1]}" in text.splitlines(), \
            "pprof says that it is of another file"
