# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Is a profile right? Compares `gpumon-user export --json` with what a program says that it did.

Nothing here needs a GPU: test_answers.py runs it everywhere.
"""
import collections
import re

# Functions that launch kernels of known.cu, llm.cu and driver.c; for graphs, that create the nodes.
PLACES = {
    "kernel<0>": {"place<0>"}, "kernel<1>": {"place<1>"}, "kernel<2>": {"place<2>"},
    "kernel<3>": {"place_driver"}, "kernel<4>": {"place_ex"}, "kernel<5>": {"place_cooperative"},
    "kernel<7>": {"place<7>"}, "kernel<8>": {"captured_place", "capture_all"}, "kernel<9>": {"add_node"},
    "kernel<10>": {"place<10>"}, "spin<11>": {"spin_place<11>"}, "spin<12>": {"spin_place<12>"},
    "spin<13>": {"spin_place<13>"}, "spin<14>": {"spin_place<14>"},
    "answer_kernel": {"answer_on_gpu"},
    "driver_add": {"place_add"}, "driver_scale": {"place_scale", "place_captured"},
    **{name: {f"launch_{name}"} for name in (
        "fill", "embed", "rmsnorm", "matmul", "rotary", "attention", "residual", "gate",
        "choose")},
}
LAUNCHERS = set().union(*PLACES.values(), {"call_cublas", "place<6>", "place_failed",
                                          "place_copies", "replay", "capture_all"})


def base(name):
    """A function's name without return type and parameters: "void a<1>(int)" is a<1>."""
    depth = 0
    begin = 0
    # A single name, although it contains a blank and parentheses.
    plain = name.replace("(anonymous namespace)", "anonymous-namespace--")
    for at, letter in enumerate(plain):
        if letter == "<":
            depth += 1
        elif letter == ">":
            depth -= 1
        elif depth == 0 and letter == " " and not plain.startswith(("(", "["), at + 1):
            begin = at + 1
        elif depth == 0 and letter == "(":
            return name[begin:at]
    return name[begin:]


def account_key(name):
    """known.cu counts by number, the others by name."""
    match = re.fullmatch(r"(?:kernel|spin)<(\d+)>", base(name))
    return match.group(1) if match else base(name)


def ancestors(profile, number):
    """The nodes above a node, innermost first."""
    nodes = profile["nodes"]
    while nodes[number]["parent"] is not None:
        number = nodes[number]["parent"]
        yield nodes[number]


def launcher(profile, number):
    """The innermost known function above a node that launches anything."""
    return next((base(node["name"]) for node in ancestors(profile, number)
                 if node["kind"] == "function" and base(node["name"]) in LAUNCHERS), None)


def reason(profile, number):
    return next((node["name"] for node in ancestors(profile, number) if node["kind"] == "reason"),
                None)


def stacks(profile, places=None):
    """GPU time of kernels by the stack they are on: {"right": [count, ns], "wrong": ...}, and the
    errors as text. "without": the profile has no stack; "other": not one of the test's
    kernels.
    """
    places = PLACES if places is None else places
    sums = {key: [0, 0] for key in ("right", "wrong", "without", "other")}
    wrong = collections.Counter()
    for number, node in enumerate(profile["nodes"]):
        if node["kind"] != "kernel" or not node["count"]:
            continue
        allowed = places.get(base(node["name"]))
        if reason(profile, number):
            key = "without"
        elif allowed is None:
            key = "other"
        else:
            by = launcher(profile, number)
            key = "right" if by in allowed else "wrong"
            if key == "wrong":
                wrong[f"{base(node['name'])} on the stack of {by}"] += node["count"]
        sums[key][0] += node["count"]
        sums[key][1] += node["gpu_ns"]
    return sums, dict(wrong)


def kernels(profile):
    """Count and GPU time by account key."""
    result = collections.defaultdict(lambda: [0, 0])
    for row in profile["kernels"]:
        if row["kind"] == "kernel":
            result[account_key(row["name"])][0] += row["count"]
            result[account_key(row["name"])][1] += row["gpu_ns"]
    return dict(result)


def works(profile, kind=None):
    """Operations, all or of one kind, by how they got their stack."""
    return {match: by[kind] if kind else sum(by.values())
            for match, by in profile["missing"]["works"].items()}


def lost(profile):
    return {cause: n for cause, n in profile["missing"]["losses"].items() if n}


def complaints(profile):
    """Inconsistencies within a profile: operations counted twice or not at all."""
    result = []

    def same(what, is_, should):
        if is_ != should:
            result.append(f"{what}: {is_}, not {should}")

    nodes, recording = profile["nodes"], profile["recording"]
    work = [n for n in nodes if n["kind"] in ("kernel", "copy", "set")]
    same("GPU time of all nodes", sum(n["gpu_ns"] for n in nodes), recording["gpu_ns"])
    same("work in all nodes", sum(n["count"] for n in work), recording["count"])
    same("matched and unmatched", sum(works(profile).values()), recording["count"])
    same("GPU time of the table", sum(r["gpu_ns"] for r in profile["kernels"]),
         recording["gpu_ns"])
    for kind in ("kernel", "copy", "set"):
        same(f"{kind}s by match", sum(works(profile, kind).values()),
             sum(r["count"] for r in profile["kernels"] if r["kind"] == kind))
    without = sum(n["count"] for i, n in enumerate(nodes)
                  if n["kind"] in ("kernel", "copy", "set") and reason(profile, i))
    by = works(profile)
    same("work below a reason", without,
         sum(n for match, n in by.items() if match not in ("stack", "graph_node")))
    damage = {k: v for k, v in profile["missing"]["damage"].items() if v}
    same("damage", damage, {})
    return result


def sum_accounts(accounts):
    """The sum over several processes."""
    total = {"launches": 0, "captured": 0, "copies": 0, "sets": 0, "failed": 0, "kernels": {}}
    for account in accounts:
        for key in ("launches", "captured", "copies", "sets", "failed"):
            total[key] += account[key]
        for name, row in account["kernels"].items():
            total["kernels"][name] = total["kernels"].get(name, 0) + row["count"]
    return total


def differences(profile, accounts):
    """Where a profile differs from what the programs report."""
    should = sum_accounts(accounts)
    result = []

    def same(what, is_, wanted):
        if is_ != wanted:
            result.append(f"{what}: {is_}, not {wanted}")

    is_ = {name: row[0] for name, row in kernels(profile).items()}
    other = {name: n for name, n in is_.items() if name not in should["kernels"]}
    if any(account.get("cublas_calls") for account in accounts):
        # cuBLAS has its own kernel names, and a call may launch several kernels.
        calls = sum(account["cublas_calls"] for account in accounts)
        if sum(other.values()) < calls:
            result.append(f"{sum(other.values())} kernels of {calls} calls of cuBLAS")
        is_ = {name: n for name, n in is_.items() if name in should["kernels"]}
        should["launches"] = None
    same("kernels", is_, should["kernels"])
    launches = profile["missing"]["launches"]
    if should["launches"] is not None:
        same("launches", launches["with_work"] + launches["without_work"] + launches.get("withheld", 0) +
             launches["refused"],
             should["launches"])
        same("copies", sum(works(profile, "copy").values()), should["copies"])
        same("sets", sum(works(profile, "set").values()), should["sets"])
    same("captured into graphs", launches["captured_into_graph"], should["captured"])
    same("refused", launches["refused"], should["failed"])
    return result
