# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""
Means of GPU metrics by device and by kernel, by brute force: for reference.py, from the records and from
what Documentation/user/ says of them.
"""
import collections
import math
import struct

OPERATIONS = {40: "kernel", 41: "copy", 42: "set", 46: "graph"}
SET, SAMPLE = 50, 51
SM_ACTIVE = "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"
BY_ACTIVITY = "sm__warps_active.avg.pct_of_peak_sustained_active"
COUNTED = {"dram__bytes_read.sum", "dram__bytes_op_read.sum", "dram__bytes_write.sum", "dram__bytes_op_write.sum",
           "pcie__read_bytes.sum", "PCI.TriageCompute.pcie__read_bytes.sum", "pcie__write_bytes.sum",
           "PCI.TriageCompute.pcie__write_bytes.sum", "nvlrx__bytes.sum", "nvltx__bytes.sum"}

Sample = collections.namedtuple("Sample", "device number start end values")


class Records:
    """Sets and samples of a process."""

    def __init__(self):
        self.sets, self.samples = {}, []

    def take(self, kind, _flags, record):
        if kind == SET:
            device, number, count = struct.unpack_from("<III", record, 16)
            count = min(count, (len(record) - 32) // 4)
            self.sets.setdefault((device, number), struct.unpack_from(f"<{count}I", record, 32))
        elif kind == SAMPLE:
            start, end, device, number, count = struct.unpack_from("<QQIII", record, 8)
            count = min(count, (len(record) - 40) // 8)
            self.samples.append(Sample(device, number, start, end, struct.unpack_from(f"<{count}d", record, 40)))


def mean(name, samples):
    """Of (names, sample): weighted by time, or by that in which SMs were active; what was counted, a second."""
    total = weights = 0
    count, each = 0, []
    for names, sample in samples:
        seconds = (sample.end - sample.start) / 1e9
        weight = seconds
        if name == BY_ACTIVITY:
            weight *= dict(zip(names, sample.values)).get(SM_ACTIVE, 100) / 100
        if not math.isfinite(weight) or weight < 0:
            continue
        for its_name, value in zip(names, sample.values):
            if its_name != name or not math.isfinite(value):
                continue
            value = value / seconds if name in COUNTED else value
            count += 1
            each.append(value)
            total += value * weight
            weights += weight
    return count, [f"{value:.9g}" for value in [total / weights, min(each), max(each)]] if count and weights else None


class Metrics:
    """All processes together."""

    def __init__(self):
        self.processes = []

    def add_process(self, process, windows):
        self.processes.append((process, windows))

    def gpu(self, process, device):
        """By UUID; a device without one is that of its process."""
        uuid = process.devices.get(device, "")
        return uuid if uuid.strip("0-") else (id(process), device)

    def operations(self, gpu):
        """(start, end, row, process) of what ran there; None as a row may be anything."""
        for process, _ in self.processes:
            for kind, flags, start, end, _, _, name, device, *_ in process.works:
                if self.gpu(process, device) != gpu or not start:
                    continue
                if flags & 1 and not flags & 8:
                    yield start, math.inf, None, process
                elif end >= start and not flags & 8:
                    text = process.strings.get(name, "[unknown kernel]") if kind == 40 else name
                    yield start, end, f"{OPERATIONS[kind]} {text}", process

    def alone(self, gpu, sample, operations):
        """The row that ran in all of a sample, but for a twentieth of it."""
        inside = [work for work in operations if (work[0] < sample.end and work[1] > sample.start) or
                  sample.start <= work[0] == work[1] < sample.end]
        rows = {(row, id(process)) for _, _, row, process in inside}
        if len(rows) != 1 or inside[0][2] is None:
            return None
        for process, windows in self.processes:
            used = any(self.gpu(process, work[7]) == gpu for work in process.works) or any(
                self.gpu(process, other.device) == gpu for other in process.beside_metrics.samples)
            for (_, ended), (begun, _) in zip(windows or [], (windows or [])[1:]):
                if used and sample.start < begun and sample.end > ended:
                    return None
        busy, until = 0, sample.start
        for start, end, _, _ in sorted(inside, key=lambda work: work[:2]):
            busy += max(0, min(end, sample.end) - max(start, until))
            until = max(until, min(end, sample.end))
        return inside[0][2] if busy * 100 >= (sample.end - sample.start) * 95 else None

    def figures(self):
        by_device, by_kernel = {}, collections.defaultdict(list)
        others = collections.defaultdict(list)
        for process, _ in self.processes:
            for sample in process.beside_metrics.samples:
                if sample.end > sample.start:
                    others[self.gpu(process, sample.device)].append(sample)
        for process, _ in self.processes:
            of = process.beside_metrics
            works = {}
            rows = {device: [0, 0, 0, 0, []] for device in [*(key[0] for key in of.sets), *(s.device for s in of.samples)]}
            for sample in of.samples:
                row = rows[sample.device]
                gpu = self.gpu(process, sample.device)
                if (sample.device, sample.number) not in of.sets or sample.end <= sample.start:
                    row[3] += 1
                    continue
                names = [process.strings.get(number, "[unknown metric]") for number in of.sets[sample.device, sample.number]]
                row[0] += 1
                row[1] += sample.end - sample.start
                row[4].append((names, sample))
                if sum(other.start < sample.end and other.end > sample.start for other in others[gpu]) > 1:
                    continue
                if gpu not in works:
                    works[gpu] = list(self.operations(gpu))
                kernel = self.alone(gpu, sample, works[gpu])
                if kernel:
                    row[2] += 1
                    by_kernel[kernel].append((names, sample))
            for device, (count, ns, of_kernels, unreadable, samples) in rows.items():
                names = {process.strings.get(number, "[unknown metric]") for (its, _), numbers in of.sets.items()
                         if its == device for number in numbers}
                by_device[f"{process.pid} {device}"] = [count, ns, of_kernels, unreadable,
                                                        {name: mean(name, samples) for name in sorted(names)}]
        return {"metrics": dict(sorted(by_device.items())), "kernel_metrics": {
            kernel: [len(samples), sum(sample.end - sample.start for _, sample in samples),
                     {name: mean(name, samples) for name in sorted({name for names, _ in samples for name in names})
                      if mean(name, samples)[0]}]
            for kernel, samples in sorted(by_kernel.items())}}


def of_document(document):
    """The same of the tool's JSON."""
    pids = {process["process"]: process["pid"] for process in document["recording"]["processes"]}

    def values(row):
        return {value["name"]: [value["samples"], [f"{value[key]:.9g}" for key in ("mean", "lowest", "highest")]
                                if value["mean"] is not None else None]
                for value in sorted(row["values"], key=lambda value: value["name"])}
    return {
        "metrics": dict(sorted((f"{pids.get(row['process'], 0)} {row['device']}",
                                [row["samples"], row["sampled_ns"], row["samples_of_kernels"], row["samples_unreadable"],
                                 values(row)]) for row in document["metrics"])),
        "kernel_metrics": dict(sorted(
            (f"{row['kind']} {row['mangled'] or row['name']}",
             [row["metrics"]["samples"], row["metrics"]["sampled_ns"], values(row["metrics"])])
            for row in document["kernels"] if row["metrics"] and row["metrics"]["samples"])),
    }
