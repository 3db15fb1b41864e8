# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""`record --gpu-metrics` beside work of which it is known what the metrics have to be."""
import collections
import glob
import json
import math
import os
import statistics
import struct

import attach
from programs import Recorded, call, environment, program
from steps import OUT, Skip, check, equal, figure, note

STRING, KERNEL, LOSS, NOTE, SET, SAMPLE = 5, 40, 80, 82, 50, 51
METRIC_LOSS = 18
MS = 1000000

# Parts of the names of user/abi/gpu_metrics.h.
SM, WARPS, TENSOR, DRAM, READ, WRITTEN, CLOCK, PCIE_READ = (
    "sm__cycles_active", "sm__warps_active", "sm__pipe_tensor", "dram__throughput", "dram__bytes_read",
    "dram__bytes_write", "gpc__cycles_elapsed", "pcie__read_bytes")

# Of bfloat16 in a cycle of an SM, multiplications and additions; by the major number of the compute capability.
TENSOR_FLOPS = {9: 4096}


class Capture:
    """Samples, kernels and notes of a capture, in its own words."""

    def __init__(self, folder):
        strings, sets, raw, self.kernels, notes = {}, {}, [], [], []
        self.losses = collections.Counter()
        for path in sorted(glob.glob(os.path.join(folder, "process-*.records"))):
            with open(path, "rb") as file:
                data = file.read()
            for kind, _, record in attach.reference.all_records(data):
                if kind == STRING:
                    number, length = struct.unpack_from("<2I", record, 8)
                    strings[number] = record[16:16 + length].decode("utf-8", "replace")
                elif kind == SET:
                    self.interval_ns, _, number, count = struct.unpack_from("<Q3I", record, 8)
                    sets[number] = struct.unpack_from(f"<{count}I", record, 32)
                elif kind == SAMPLE:
                    begin, end, _, number, count = struct.unpack_from("<2Q3I", record, 8)
                    raw.append((begin, end, number, struct.unpack_from(f"<{count}d", record, 40)))
                elif kind == KERNEL:
                    self.kernels.append(struct.unpack_from("<2Q", record, 8))
                elif kind == LOSS:
                    _, count, cause = struct.unpack_from("<2QI", record, 8)
                    self.losses[cause] += count
                elif kind == NOTE:
                    notes.append(struct.unpack_from("<I", record, 16)[0])
        self.notes = [strings.get(number, "?") for number in notes]
        self.sets = {number: [strings.get(name, "?") for name in names] for number, names in sets.items()}
        self.samples = [(begin, end, dict(zip(self.sets.get(number, ()), values)))
                        for begin, end, number, values in sorted(raw, key=lambda sample: sample[0])]

    def within(self, begin, end, margin=10 * MS):
        return [s for s in self.samples if s[0] >= begin + margin and s[1] <= end - margin]

    def name(self, part):
        return next((n for names in self.sets.values() for n in names if part in n), None)


def mean(samples, name):
    """Of the time that samples cover."""
    known = [(end - begin, values[name]) for begin, end, values in samples if not math.isnan(values.get(name, math.nan))]
    return sum(t * v for t, v in known) / sum(t for t, _ in known) if known else math.nan


def per_second(samples, name):
    return sum(v.get(name, math.nan) for _, _, v in samples) / sum(e - b for b, e, _ in samples) * 1e9


def near(is_, should, text, share=0.03):
    """Within a share of what it should be."""
    off = is_ / should - 1 if should else math.inf
    return check(abs(off) <= share, f"{text}: within {share:.0%} of {should:.4g}", f"it is {is_:.4g}, {off:+.2%}")


def describe_phase(phase, samples):
    """All metrics, for those who mend this without a GPU."""
    names = samples[0][2] if samples else ()
    values = {name: [s[2][name] for s in samples if not math.isnan(s[2][name])] for name in names}
    for name, found in values.items():
        if found:
            note(f"{phase}: {name}: median {statistics.median(found):.5g}, {min(found):.5g} to {max(found):.5g}")
    figure(f"metrics.{phase}", {n: statistics.median(f) for n, f in values.items() if f})


def check_stream(capture):
    """Samples follow one another, and each that is missing between two is counted as lost."""
    lengths = [end - begin for begin, end, _ in capture.samples]
    gaps = [after[0] - before[1] for before, after in zip(capture.samples, capture.samples[1:])]
    near(statistics.median(lengths), capture.interval_ns, "length of a sample, ns")
    check(not any(gap < 0 for gap in gaps), "no sample overlaps the one before", sum(gap < 0 for gap in gaps))
    missing = sum(round(gap / capture.interval_ns) for gap in gaps)
    check(missing <= capture.losses[METRIC_LOSS] <= missing + 1, f"{missing} samples are missing between others, and counted",
          capture.losses[METRIC_LOSS])
    check(missing < len(capture.samples) / 100, "fewer than one in a hundred", f"up to {max(gaps, default=0)} ns")
    note(f"{len(capture.samples)} samples, gaps of {statistics.median(gaps)} ns (median), lengths "
         f"{min(lengths)} to {max(lengths)} ns; first at {capture.samples[0][0]}, {len(capture.kernels)} kernels, "
         f"the first at {min(capture.kernels, default=(0, 0))[0]}")


def check_pattern(capture, phase):
    """When SMs are busy by samples, and when kernels ran by their records: the same times."""
    name = capture.name(SM)
    kernels = [k for k in capture.kernels if phase["begin_ns"] <= k[0] < phase["end_ns"] and k[1] - k[0] > 5 * MS]
    offsets, shares = [], []
    for begin, end in kernels:
        around = [s for s in capture.samples if s[0] >= begin - 5 * MS and s[1] <= end + 5 * MS]
        busy = sum((e - b) * v[name] / 100 for b, e, v in around)
        middle = sum((e - b) * v[name] / 100 * (b + e) / 2 for b, e, v in around)
        if busy:
            offsets.append(middle / busy - (begin + end) / 2)
            shares.append(busy / (end - begin))
    equal(len(kernels), phase["kernels"], "kernels of the pattern")
    if not offsets:
        check(False, "samples around kernels")
        return
    note(f"pattern: samples behind kernels by {statistics.median(offsets) / 1e3:.1f} us (median; {min(offsets) / 1e3:.1f} "
         f"to {max(offsets) / 1e3:.1f}), busy by samples for {statistics.median(shares):.4f} of the time of records")
    check(abs(statistics.median(offsets)) < 0.1 * MS, "times of samples are those of kernels, within 100 us",
          f"{statistics.median(offsets) / 1e3:.1f} us")
    near(statistics.median(shares), 1, "busy time by samples and by records")


def check_values(capture, phases):
    device = phases["device"]
    found = {name: capture.within(phase["begin_ns"], phase["end_ns"])
             for name, phase in phases.items() if name != "device"}
    for name, samples in found.items():
        describe_phase(name, samples)
    sm, warps = capture.name(SM), capture.name(WARPS)
    for name in "half", "all":
        near(mean(found[name], sm), 100 * phases[name]["blocks"] / device["sms"], f"{name} of the SMs: SM active, %")
        # A block of 1024 threads on each.
        near(mean(found[name], warps), 100 * 32 / device["warps"], f"{name} of the SMs: occupancy of active ones, %")
    copied = phases["copy"]["bytes"] / phases["copy"]["gpu_ns"] * 1e9
    peak = 2e3 * device["memory_khz"] * device["memory_bits"] / 8
    note(f"copy: {copied / 1e12:.4f} TB/s by events, peak {peak / 1e12:.4f} TB/s by clock and width")
    near(per_second(found["copy"], capture.name(READ)), copied / 2, "copy: bytes read a second")
    near(per_second(found["copy"], capture.name(WRITTEN)), copied / 2, "copy: bytes written a second")
    near(mean(found["copy"], capture.name(DRAM)), 100 * copied / peak, "copy: DRAM, % of its peak")
    uploaded = phases["upload"]["bytes"] / phases["upload"]["gpu_ns"] * 1e9
    near(per_second(found["upload"], capture.name(PCIE_READ)), uploaded, "upload: bytes over PCIe a second", 0.1)
    if "matrix" not in phases:
        raise Skip("no cuBLAS: the tensor pipe is not checked")
    flops = phases["matrix"]["flops"] / phases["matrix"]["gpu_ns"] * 1e9
    clock, each = mean(found["matrix"], capture.name(CLOCK)), TENSOR_FLOPS.get(device["major"])
    note(f"matrix: {flops / 1e12:.1f} TFLOP/s by events, SM clock {clock / 1e6:.0f} MHz (at most {device['sm_khz'] / 1e3:.0f})")
    if each:
        # Cycles in which the pipe works, of all cycles of all SMs: what it did over what it could do at this clock.
        near(mean(found["matrix"], capture.name(TENSOR)), 100 * flops / (device["sms"] * each * clock),
             "matrix: tensor pipe, % of the time")


def step_values():
    run = Recorded("metrics-values", [program("metrics"), "phases"], ["--gpu-metrics=1ms"], timeout=60)
    with open(os.path.join(OUT, "metrics.txt"), "w", encoding="utf-8") as file:
        file.write(run.result.stdout + run.result.stderr)
    equal(run.result.returncode, 0, "exit status")
    note(run.result.stderr.strip()[-300:])
    phases = {line["phase"]: line for line in map(json.loads, run.result.stdout.splitlines())}
    capture = Capture(run.folder)
    for text in capture.notes:
        note(f"note: {text}")
    note(f"sets {capture.sets}, losses {dict(capture.losses)}, {run.bytes} bytes")
    if not check(capture.samples, "there are samples", capture.notes):
        return
    check_stream(capture)
    check_pattern(capture, phases["pattern"])
    check_values(capture, phases)


def step_capture():
    """A small one, to be kept."""
    run = Recorded("metrics", [program("metrics"), "phases"], ["--gpu-metrics=16ms"], keep=True, timeout=60)
    check(run.result.returncode == 0, "metrics: a capture of samples of 16 ms", run.result.stderr[-300:])


def seconds_of(words, options):
    """The program's own figure, under `record` with these options; None: bare."""
    if options is None:
        return float(call(words, 30, environment(), limit=0).stdout)
    return float(Recorded("metrics-cost", words, options, timeout=30).result.stdout)


def step_cost():
    for what, count in ("loop", "300000"), ("copy", "1000"):
        figures = {}
        for _ in range(2):
            for name, options in ("bare", None), ("recorded", []), ("with metrics", ["--gpu-metrics"]):
                figures.setdefault(name, []).append(seconds_of([program("metrics"), what, count], options))
        note(f"{what}, ns: {figures}")
        figure(f"metrics.cost.{what}", figures)


STEPS = [("metrics-values", step_values, 60), ("metrics-capture", step_capture, 60), ("metrics-cost", step_cost, 60)]
