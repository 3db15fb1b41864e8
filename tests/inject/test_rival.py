# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A program with a profiler of its own: CUPTI serves one at a time."""
import os
import struct

import harness
import recorder as rec
from harness import Run, check, equal, need_real_processor, notes

COUNT = 40
# A cause of losses.
NO_TIMESTAMP = 4


def run_rival(until, when, library="librival.so", lost=False, **settings):
    run = Run(COUNT, until, os.path.join(harness.objects, library), when,
              command=[os.path.join(harness.objects, "rival_program")], **settings)
    equal(run.status, 0, "exit status")
    run.check_rules()
    equal(len(run.account(harness.LAUNCH)), 3 * COUNT, "launches of the program")
    target = run.only()
    if not lost:
        equal(target.totals()["lost"], {}, "losses")
    return target, *map(int, run.output.split())


def test_rival_is_refused():
    """gpumon has CUPTI, and the program's calls stay its own: its profiler is refused; times of its clock are none"""
    for when, clock in ("before", True), ("after", False):
        target, *found = run_rival("once", when, lost=clock)
        # Its clock is seen in the records of what it has waited for, and set again.
        equal(found, [39, 0, False], "cuptiSubscribe of the program, its launches, its clock")
        records = target.records()
        equal(len(records["launch"]), 3 * COUNT, "launches")
        lost = target.totals()["lost"].get(NO_TIMESTAMP, 0)
        equal(len(records["kernel"]) + lost, 3 * COUNT, "kernels, and those without a time stamp")
        equal(lost > 0, clock, "kernels of its clock")
        said = [text for text in notes(records) if "another clock" in text and "--yield" in text]
        equal(len(said), clock, "notes of its clock")


def test_rival_goes_first():
    """--yield: the program's profiler sees its launches, and there is a gap in the capture"""
    need_real_processor()
    for when in ("before", "after"):
        target, *found = run_rival("until", when, record=rec.DEFAULT | rec.YIELD)
        # The stand-in calls back at the begin and at the end of a call.
        equal(found, [0, 2 * COUNT, when == "before"], "what the program's profiler saw, and its clock")
        records = target.records()
        windows = sorted(records["window"], key=lambda w: w.time_ns)
        equal([(records["strings"][w.reason], bool(w.flags & rec.WINDOW_END)) for w in windows],
              [("start", False), ("yield", True), ("yield", False), ("exit", True)], "windows")
        gap = windows[1].time_ns, windows[2].time_ns
        launches = [r.start_ns for r in records["launch"]]
        equal(len(launches), 2 * COUNT, "launches")
        check(not [t for t in launches if gap[0] <= t <= gap[1]], "launches in the gap")
        equal(len(records["kernel"]), 2 * COUNT, "kernels")
        text, = notes(records)
        check("librival.so had CUPTI" in text, text)


def with_end_in_page(library, name):
    """A copy whose part that is read-only after the start ends within a page, of which the loader leaves all alone."""
    with open(os.path.join(harness.objects, library), "rb") as file:
        data = bytearray(file.read())
    offset, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for at in range(offset, offset + size * count, size):
        if struct.unpack_from("<I", data, at)[0] == 0x6474e552:
            start, = struct.unpack_from("<Q", data, at + 16)
            # Linkers for machines with larger pages have thought of 4 KiB: here it ends 1 KiB into one.
            end = (start + struct.unpack_from("<Q", data, at + 40)[0] + 4095 & ~4095) + 1024
            struct.pack_into("<Q", data, at + 40, end - start)
    with open(os.path.join(harness.objects, name), "wb") as file:
        file.write(data)
    return name


def test_rival_with_data_in_page():
    """a library whose imports are in a page with its data can write to that page as ever"""
    library = with_end_in_page("librival-lazy.so", "librival-page.so")
    _, *found = run_rival("once", "before", library, record=rec.DEFAULT | rec.YIELD, lost=True)
    equal(found[0], 0, "cuptiSubscribe of the program")
