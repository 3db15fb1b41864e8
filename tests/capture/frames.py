# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Frames of captures by brute force, from the files alone, beside what `gpumon-user frames` says of them."""
import collections
import pathlib
import re
import struct

import reference

SWAPCHAIN, PRESENT = 26, 27
FAILED = 1
Present = collections.namedtuple("Present", "start end swapchain number tid failed")
# What the program of tests/vulkan plans, and what the output calls it.
PLANNED = {"cpu": ("cpu", None), "sleep": ("blocked", "sleep"), "mutex": ("blocked", "lock"), "read": ("blocked", "read"),
           "gpu": ("gpu", None), "queue": ("gpu", None), "compile": ("pipeline", None), "acquire": ("display", None)}


def presents_of(file):
    """(presents by the first swapchain of their chain, launches, operations)"""
    old, found, launches, works = {}, [], [], []
    for kind, flags, record in reference.all_records(file.read_bytes()):
        if kind == SWAPCHAIN:
            number, before = struct.unpack_from("<II", record, 16)
            old[number] = before
        elif kind == PRESENT:
            start, end, _, swapchain, number, tid = struct.unpack_from("<QQQIII", record, 8)
            found.append(Present(start, end, swapchain, number, tid, bool(flags & FAILED)))
        elif kind == reference.LAUNCH:
            launches.append(struct.unpack_from("<Q", record, 8)[0])
        elif kind == reference.KERNEL:
            start, end = struct.unpack_from("<QQ", record, 8)
            if start and end >= start and not flags & 9:
                works.append((start, end))
    chains = collections.defaultdict(list)
    for present in found:
        root = present.swapchain
        for _ in old:
            root = old.get(root) or root
        chains[root].append(present)
    return chains, launches, works


def frames_of(presents):
    """(begin, end, number of the present that ends it)"""
    found, begin, last, before = [], None, None, 0
    for present in sorted(presents):
        is_next = last and last.swapchain == present.swapchain
        if last and present.number > (last.number + 1 if is_next else 1):
            begin = None
        if last and not is_next:
            before += last.number
        last = present
        if not present.failed:
            if begin is not None:
                found.append((begin, present.start, before + present.number))
            begin = present.start
    return found


def check(document, directory):
    about = pathlib.Path(__file__).parent / pathlib.Path(directory).name / "about.txt"
    planned = dict(re.findall(r"(\d+) (\w+)(?=,|$)", re.search("planted reasons: (.*)", about.read_text(encoding="utf-8"))[1]))
    chains = iter(document["swapchains"])
    for file in sorted(pathlib.Path(directory).glob("process*.records")):
        by_root, launches, works = presents_of(file)
        for root in sorted(by_root):
            chain, frames = next(chains), frames_of(by_root[root])
            lengths = sorted(end - begin for begin, end, _ in frames)
            median = lengths[len(lengths) // 2]
            late_ns = max(median + median // 2, median + 1000000)
            late = {number: (begin, end) for begin, end, number in frames if end - begin > late_ns}
            want = {"frames": len(frames), "total_ns": sum(lengths), "median_ns": median, "late": len(late), "late_ns": late_ns,
                    "p99_ns": lengths[len(lengths) * 99 // 100], "longest_ns": lengths[-1]}
            assert {key: chain[key] for key in want} == want, f"{chain}, not {want}"
            rows = {row["frame"]: row for row in document["late_frames"]}
            assert set(rows) == set(late), f"late: {sorted(rows)}, not {sorted(late)}"
            for number, (begin, end) in late.items():
                done = [work for work in works if begin < work[1] <= end]
                want = {"frame_ns": end - begin, "operations": len(done),
                        "gpu_ns": sum(work[1] - work[0] for work in done),
                        "submissions": sum(begin <= launch < end for launch in launches)}
                assert {key: rows[number][key] for key in want} == want, f"{rows[number]}, not {want}"
                reason = rows[number]["reason"], rows[number]["blocked"]
                assert reason == PLANNED[planned.pop(str(number))], f"frame {number}: {reason}"
    assert not list(chains) and not planned, f"late by plan, and not late: {planned}"
