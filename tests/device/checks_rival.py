# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A recorded program that uses torch.profiler: CUPTI serves one at a time."""
import glob
import json
import os
import re
import struct
import sys

import answers
from checks_torch import torch_version
from programs import HERE, PYTHON, SCRATCH, TOP, Recorded
from steps import check, equal, figure, note

sys.path.insert(0, os.path.join(TOP, "tests/capture"))
import reference  # noqa: E402

COUNT = 25
WINDOW_END = 1


def marks(kernels):
    """How often each of the three functions' kernels ran, by names, mangled or not, and counts."""
    return {mark: sum(count for name, count in kernels if re.search(f"(::|[0-9]){mark}_kernel", name))
            for mark in ("cos", "atan", "sinh")}


def windows_of(folder):
    """Begin or end of each, and ms from the first one on."""
    rows = []
    for path in glob.glob(os.path.join(folder, "process-*.records")):
        with open(path, "rb") as file:
            data = file.read()
        for kind, flags, record in reference.all_records(data):
            if kind == reference.WINDOW:
                rows.append((struct.unpack_from("<Q", record, 8)[0], flags & WINDOW_END))
    rows.sort()
    return [f"{'end' if end else 'begin'} {(time - rows[0][0]) / 1e6:.0f} ms" for time, end in rows]


def run_rival(name, options, teardown):
    """The kernels of its two profiles, those of the capture, and the notes in this."""
    torch_version()
    path = os.path.join(SCRATCH, f"{name}.json")
    run = Recorded(name, [PYTHON, os.path.join(HERE, "torch_rival.py"), path, COUNT],
                   ["--no-driver", *options], own=False, timeout=90,
                   env={"TEARDOWN_CUPTI": str(teardown)})
    errors = " ".join(run.result.stderr.split())
    if not check(run.result.returncode == 0, f"{name}: recorded", errors[-600:]):
        return None
    with open(path, encoding="utf-8") as file:
        theirs = json.load(file)
    profiles = [marks(kernels.items()) for kernels in theirs["profiles"]]
    ours = marks([(row["mangled"] or row["name"], row["count"])
                  for row in run.profile["kernels"] if row["kind"] == "kernel"])
    notes = run.profile["recording"]["notes"]
    windows = windows_of(run.folder)
    note(f"stderr: {errors[-700:]}")
    note(f"profiles {profiles}, capture {ours}, windows {windows}, notes {notes}")
    figure(f"rival.{name}", {"profiles": profiles, "capture": ours, "windows": windows,
                             "notes": notes})
    wrong = answers.complaints(run.profile)
    check(not wrong, f"{name}: matched and unmatched are all there is", "; ".join(wrong))
    return profiles, ours, notes, windows


def step_refused():
    """Without --yield nothing is in the program's profiles; all is in the capture, or a note says that its clock was changed."""
    name = "rival-refused"
    found = run_rival(name, [], 0)
    if found:
        profiles, ours, notes, _ = found
        equal([p["atan"] for p in profiles], [0, 0], f"{name}: kernels in the program's profiles")
        whole = ours == {"cos": COUNT, "atan": 2 * COUNT, "sinh": 2 * COUNT}
        equal(whole, not any("another clock" in text for text in notes), f"{name}: the capture is whole: {ours}")


def step_yield():
    """The program's profiles have their kernels, gpumon the others: CUPTI goes there and back."""
    name = "rival-yield"
    found = run_rival(name, ["--yield"], 1)
    if found:
        profiles, ours, notes, windows = found
        equal([p["atan"] for p in profiles], [COUNT, COUNT], f"{name}: kernels in the program's profiles")
        equal(ours, {"cos": COUNT, "atan": 0, "sinh": 2 * COUNT}, f"{name}: the capture")
        check(any("had CUPTI" in text for text in notes), f"{name}: a note says so", notes)
        equal(len(windows), 6, f"{name}: begins and ends of windows")


def step_kept():
    """By default PyTorch keeps CUPTI after its first profile: the capture ends there."""
    name = "rival-kept"
    found = run_rival(name, ["--yield"], 0)
    if found:
        profiles, ours, notes, windows = found
        equal([p["atan"] for p in profiles], [COUNT, COUNT], f"{name}: kernels in the program's profiles")
        equal(ours, {"cos": COUNT, "atan": 0, "sinh": 0}, f"{name}: the capture")
        check(any("had CUPTI" in text for text in notes), f"{name}: a note says so", notes)
        equal(len(windows), 2, f"{name}: begins and ends of windows")


STEPS = [("rival-refused", step_refused, 100), ("rival-yield", step_yield, 100),
         ("rival-kept", step_kept, 100)]
