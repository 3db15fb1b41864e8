# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Interleaved runs of variants, and what their medians say. Nothing here needs a GPU."""
import statistics

LIMIT_NS = 450
LIMIT_SHARE = 0.5
LIMIT_NATIVE = 1.08
LIMIT_PYTHON = 1.15


def rotated(names, turn):
    """Another one begins each round, so that no variant always runs after the same one."""
    at = turn % len(names)
    return names[at:] + names[:at]


def summary(values):
    """Median and spread of one variant's rounds."""
    ordered = sorted(values)
    middle = len(ordered) // 4
    return {"median": statistics.median(ordered), "min": ordered[0], "max": ordered[-1],
            "q1": ordered[middle], "q3": ordered[-1 - middle], "rounds": len(ordered)}


def table(title, unit, rows, base):
    """Lines of a table: rows are name -> list of values, base the name that others are compared to."""
    sums = {name: summary(values) for name, values in rows.items() if values}
    if base not in sums:
        return [f"{title}: no figure of {base!r}"], sums
    bare = sums[base]["median"]
    width = max(len(n) for n in sums)
    lines = [title, f"{'':{width}} {unit:>9} {'added':>9} {'ratio':>7}   middle half, all; rounds"]
    for name, s in sums.items():
        digits = 0 if bare > 100 else 4
        lines.append(
            f"{name:{width}} {s['median']:9.{digits}f} {s['median'] - bare:9.{digits}f} "
            f"{s['median'] / bare:7.3f}   {s['q1']:.{digits}f} to {s['q3']:.{digits}f}, "
            f"{s['min']:.{digits}f} to {s['max']:.{digits}f}; {s['rounds']}")
    return lines, sums


def goal(text, value, limit, unit):
    if value is None:
        return f"goal {text}: not measured"
    state = "met" if value <= limit else "MISSED"
    return f"goal {text}: {value:.3f} {unit}, at most {limit:.3f}: {state}"


def median(sums, name):
    return sums[name]["median"] if name in sums else None


def less(a, b):
    return None if a is None or b is None else a - b


def ratio(a, b):
    return None if a is None or b is None else a / b


def loop_goals(sums, names):
    """names: bare, callback, gpumon, tutorial (what stands for it, which may be less than it)."""
    bare, ours = median(sums, names["bare"]), median(sums, names["gpumon"])
    lines = [goal(f"{names['gpumon']!r} over {names['callback']!r}",
                  less(ours, median(sums, names["callback"])), LIMIT_NS, "ns")]
    for name in names["tutorial"]:
        if name in sums:
            added = less(median(sums, name), bare)
            share = less(ours, bare) / added if added and added > 0 else None
            lines.append(goal(f"what {names['gpumon']!r} adds, of what {name!r} adds", share,
                              LIMIT_SHARE, "times"))
    return lines


def torch_goals(sums, names):
    bare = median(sums, names["bare"])
    return [goal("PyTorch, native stacks", ratio(median(sums, names["native"]), bare),
                 LIMIT_NATIVE, "times bare"),
            goal("PyTorch, with Python functions", ratio(median(sums, names["python"]), bare),
                 LIMIT_PYTHON, "times bare")]
