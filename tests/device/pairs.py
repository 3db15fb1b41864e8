#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Pairs of segments, one recorded and one not, and what they say. Nothing here needs a GPU.

    pairs.py RESULTS...    tables in Markdown, of each bench.json

Runs of different processes differ by more than what is measured, and a process changes its
speed while it lives. So a segment is compared only with its neighbour: the ratio of a pair is
the time of its recorded segment by that of the other.
"""
import copy
import json
import math
import random
import re
import statistics
import sys

# Each segment comes first in half of the pairs.
GROUP = 4

# (workload, mode): the maximum ratio.
GOALS = {("decode", "native"): 1.08, ("decode", "python"): 1.10, ("train", "native"): 1.03,
         ("train", "python"): 1.05, ("loop", "native"): 1.40, ("decode", "looks"): 1.01,
         ("decode", "stalls"): 1.02, ("train", "stalls"): 1.05, ("decode", "metrics"): 1.02, ("train", "metrics"): 1.05}
# For these, the ratio is to segments before anything was recorded.
GOALS_IN_ALL = {("loop", "native")}


def orders(count, seed):
    """For each pair: whether the recorded segment comes first. Balanced in each group, in random
    order.
    """
    chance = random.Random(seed)
    result = []
    while len(result) < count:
        group = [True] * (GROUP // 2) + [False] * (GROUP // 2)
        chance.shuffle(group)
        result += group
    return result[:count]


def measure(segment, count, seed, enough=lambda measured: False):
    """Measure pairs: segment(recorded) runs one segment and returns its time. The results are in
    order. enough(how many there are), asked after each group, ends it earlier.
    """
    result = []
    for recorded_first in orders(count, seed):
        if result and len(result) % GROUP == 0 and enough(len(result)):
            break
        first = segment(recorded_first)
        second = segment(not recorded_first)
        recorded, bare = (first, second) if recorded_first else (second, first)
        result.append({"recorded": recorded, "bare": bare, "recorded_first": recorded_first})
    return result


def confidence(count):
    """Ranks, from 0, of the ratios between which the median is with 95 %; None of too few."""
    below = 0.0
    for rank in range(count // 2):
        below += math.comb(count, rank) / 2 ** count
        if below > 0.025:
            return (rank - 1, count - rank) if rank else None
    return None


def carried_over(pairs):
    """The time of a bare segment after a recorded one, divided by its time after a bare one."""
    behind = {True: [], False: []}
    last = None
    for pair in pairs:
        before = True if pair["recorded_first"] else last
        if before is not None:
            behind[before].append(pair["bare"])
        last = not pair["recorded_first"]
    if not behind[True] or not behind[False]:
        return None
    return statistics.median(behind[True]) / statistics.median(behind[False])


def summary(pairs):
    ratios = sorted(pair["recorded"] / pair["bare"] for pair in pairs)
    q1, median, q3 = statistics.quantiles(ratios, n=4, method="inclusive")
    ranks = confidence(len(ratios))
    recorded = [pair["recorded"] for pair in pairs]
    bare = [pair["bare"] for pair in pairs]
    return {"pairs": len(ratios), "median": median, "q1": q1, "q3": q3,
            "sure": [ratios[ranks[0]], ratios[ranks[1]]] if ranks else None,
            "best": min(recorded) / min(bare), "bare": statistics.median(bare),
            "added": statistics.median(r - b for r, b in zip(recorded, bare)),
            "carried_over": carried_over(pairs)}


def control_of(modes, program):
    """The mode that was measured in this process before anything was recorded."""
    return next((name for name, mode in modes.items()
                 if mode["program"] == program and name.startswith("control")), None)


def left_behind(mode, modes):
    """The time of segments that are not recorded, divided by the time of those before anything was
    recorded. None if the program was not measured before. This does not compare pairs: time
    has passed.
    """
    before = modes.get(mode["before"])
    if not before:
        return None
    return (statistics.median(p["bare"] for p in mode["pairs"]) /
            statistics.median(p[which] for p in before["pairs"] for which in ("bare", "recorded")))


def time_text(ns, of):
    """The time in its natural unit."""
    return f"{ns / 1e6:,.3f} ms" if of >= 1e5 else f"{ns:,.0f} ns"


def sure_text(s):
    return f"{s['sure'][0]:.3f} to {s['sure'][1]:.3f}" if s["sure"] else "too few"


def line(workload, mode, s):
    text = (f"{workload} {mode}: {s['median']:.3f} ({s['q1']:.3f} to {s['q3']:.3f}), best : best "
            f"{s['best']:.3f}; 95 % {sure_text(s)}; {s['pairs']} pairs, not recorded "
            f"{time_text(s['bare'], s['bare'])}, added {time_text(s['added'], s['bare'])}")
    if s["carried_over"]:
        text += f"; not recorded behind recorded : behind not recorded {s['carried_over']:.3f}"
    return text


def left_text(mode, modes):
    left = left_behind(mode, modes)
    return f"{left:.3f}" if left else "–"


def goal_line(workload, mode, s, left):
    """None without a goal. It is met or missed only if the confidence interval says so."""
    goal = GOALS.get((workload, mode))
    if goal is None:
        return None
    in_all = (workload, mode) in GOALS_IN_ALL
    if in_all and not left:
        return f"goal {workload} {mode}: not decided without control"
    scale = left if in_all else 1
    low, high = (scale * ratio for ratio in s["sure"] or (0, math.inf))
    state = "met" if high <= goal else "MISSED" if low > goal else "not decided"
    return f"goal {workload} {mode}: {scale * s['median']:.3f}, at most {goal:.2f}: {state}"


def turns(modes, rounds, run, seed):
    """Whole runs: run(mode) returns the time of a step. Each round has every mode, in random order."""
    chance = random.Random(seed)
    result = []
    for _ in range(rounds):
        order = list(modes)
        chance.shuffle(order)
        measured = {mode: run(mode) for mode in order}
        result.append({mode: measured[mode] for mode in modes})
    return result


def turns_summary(rounds, mode):
    """The ratios to the run of the same round that was not recorded."""
    ratios = [one[mode] / one["bare"] for one in rounds]
    q1, median, q3 = statistics.quantiles(ratios, n=4, method="inclusive")
    return {"runs": len(ratios), "median": median, "q1": q1, "q3": q3,
            "of_medians": (statistics.median(one[mode] for one in rounds) /
                           statistics.median(one["bare"] for one in rounds)),
            "rate": 1e9 / statistics.median(one[mode] for one in rounds)}


def turns_rows(workload, seconds):
    text = [f"| {workload['title']}, whole runs of {seconds:g} s | median | quartiles | ratio of medians "
            "| steps/s | runs |", "|---|---|---|---|---|---|"]
    for mode in workload["rounds"][0]:
        s = turns_summary(workload["rounds"], mode)
        text.append(f"| {mode} | {s['median']:.3f} | {s['q1']:.3f} to {s['q3']:.3f} | "
                    f"{s['of_medians']:.3f} | {s['rate']:,.1f} | {s['runs']} |")
    return text


def rows(results):
    """Markdown, a table for each workload in pairs, then for each one in whole runs."""
    text = []
    for workload in results["workloads"].values():
        text += [f"| {workload['title']}, segments of {results['seconds']:g} s | median | quartiles "
                 "| 95 % | best : best | added | left | pairs |", "|---|---|---|---|---|---|---|---|"]
        for mode, measured in workload["modes"].items():
            s = summary(measured["pairs"])
            text.append(f"| {mode} | {s['median']:.3f} | {s['q1']:.3f} to {s['q3']:.3f} | "
                        f"{sure_text(s)} | {s['best']:.3f} | {time_text(s['added'], s['bare'])} | "
                        f"{left_text(measured, workload['modes'])} | {s['pairs']} |")
        text.append("")
    for workload in results.get("whole", {}).values():
        text += [*turns_rows(workload, results["whole_seconds"]), ""]
    return text[:-1]


def every_mode(results):
    return (mode for workload in results["workloads"].values() for mode in workload["modes"].values())


def save(path, results):
    """Small, a line for each mode. A pair is [the recorded one is first, recorded, not recorded]."""
    results = copy.deepcopy(results)
    for mode in every_mode(results):
        mode["pairs"] = [[int(p["recorded_first"]), round(p["recorded"], 1), round(p["bare"], 1)]
                         for p in mode["pairs"]]
    text = json.dumps(results, separators=(",", ":"))
    with open(path, "w", encoding="utf-8") as file:
        file.write(re.sub(r'("[^"]+":{"pairs")', r"\n\1", text) + "\n")


def load(path):
    with open(path, encoding="utf-8") as file:
        results = json.load(file)
    for mode in every_mode(results):
        mode["pairs"] = [{"recorded_first": bool(first), "recorded": recorded, "bare": bare}
                         for first, recorded, bare in mode["pairs"]]
    return results


def main():
    for path in sys.argv[1:]:
        print("\n".join(rows(load(path))), end="\n\n")


if __name__ == "__main__":
    main()
