# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Programs that are slow for a known reason: does `correlate` say which, where, and how much."""
import json
import os

import answers
from programs import HERE, OUT, PYTHON, GPUMON, Recorded, call, environment
from steps import Skip, check, figure, note

SLOW = os.path.join(HERE, "slow.py")
# Steps, so that a capture stays below 300 kB; the rule of the verdict; a function that is to be named.
PROGRAMS = {
    "generate": (4, None, "Qwen3"),
    "loader": (6, "waiting_for_data", "load_batch"),
    "read": (6, "waiting_for_data", "load_batch"),
    "sync": (20, "synchronising", "read_value"),
    "pageable": (20, "copies", "copy_batch"),
    "busy": (10, "busy", ""),
    "compile": (20, None, ""),
    "ranks": (4, "waiting_for_rank", "load_batch"),
}


def lines_of(result):
    return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]


def thread_of(profile, pid):
    """The row of the thread that launched most in a process."""
    rows = [row for row in profile.get("budget", []) if row.get("pid") == pid]
    return max(rows, key=lambda row: row["launches"], default=None)


def below(profile, word, kind="wall_ns"):
    """Own times of all nodes below a function, by its name."""
    total = 0
    for number, node in enumerate(profile["nodes"]):
        if node.get(kind) and any(word in a["name"] for a in answers.ancestors(profile, number)):
            total += node[kind]
    return total


def text_of(name, folder):
    result = call([GPUMON, "correlate", folder], 120, environment(False, DEBUGINFOD_URLS=""))
    with open(os.path.join(OUT, "correlate.txt"), "a", encoding="utf-8") as file:
        file.write(f"===== {name}\n{result.stdout}{result.stderr}\n")


def step(name):
    steps, rule, place = PROGRAMS[name]
    # NCCL names its collectives by ranges.
    options = ["--window", "profiler", *["--nvtx"] * (name == "ranks")]
    run = Recorded(f"slow-{name}", [PYTHON, SLOW, name, steps], options, keep=True, own=False, timeout=200)
    if run.result.returncode and "transformers" in run.result.stderr:
        raise Skip("no transformers here")
    check(run.result.returncode == 0, f"{name}: recorded", run.result.stderr[-300:]
          if run.result.returncode else f"{run.seconds:.1f} s, {run.bytes} bytes")
    text_of(name, run.folder)
    profile = run.profile
    for row in profile.get("budget", []):
        check(sum(row["spent_ns"].values()) == row["wall_ns"], f"{name}: the parts of thread {row['tid']} are all")
    for own in lines_of(run.result):
        row = thread_of(profile, own["pid"])
        if not row:
            check(False, f"{name}: no budget of process {own['pid']}")
            continue
        share = below(profile, "load_batch") / max(1, own["load_ns"])
        note(f"{name}: program {own}, thread {row}, in load_batch {share:.3f} of its own account")
    rules = [line["rule"] for line in profile.get("verdict", [])]
    texts = " ".join(line["text"] for line in profile.get("verdict", []))
    if rule:
        check(rule in rules, f"{name}: the verdict is {rule}", rules)
        check(place in texts, f"{name}: the verdict names {place or 'something'}", texts)
    figure(f"slow.{name}", {"verdict": profile.get("verdict"), "budget": profile.get("budget"),
                            "idle": profile.get("idle"), "program": lines_of(run.result),
                            "bytes": run.bytes})


STEPS = [(f"slow-{name}", lambda name=name: step(name), 220) for name in PROGRAMS]
