# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""
A capture with metrics of GPUs: samples in kernels that run alone, at the same time, in a row, in another
process; of sets that come late, of a set that is lost, without values, with gaps, and of a GPU that is idle.
"""
import math
import struct

import writer

TIME, STEP = 7 * 10**9, 100000
SM, OCC, TENSOR, DRAM, PCIE, CLOCK = (
    "sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed", "pcie__read_bytes.sum", "gpc__cycles_elapsed.avg.per_second")
NVLINK, OTHER = "nvlrx__bytes.sum", "lts__made_up.avg"
MULTIPROCESSORS = 10


def begin(pid, executable, devices):
    file = writer.File(f"process-{pid}-100")
    file.put("process", pid=pid, parent=1, host_pid=pid, rank=0xffffffff, start_ns=5, pid_namespace=77, host="made",
             executable=executable, command=executable, driver_version=13000)
    file.put("thread", tid=pid, name="main")
    file.put("mapping", start=0x400000, end=0x500000, path=executable)
    for number, uuid in enumerate(devices):
        file.put("device", id=number, name="Made GPU", uuid=bytes([uuid] * 16), pci=uuid << 8,
                 multiprocessors=MULTIPROCESSORS, memory_bytes=1 << 30, compute_major=9)
        file.put("context", time_ns=TIME, id=number + 1, device=number)
    file.numbers = 0
    return file


def kernel(file, start, took, name, device=0, stream=7, grid=40, kind="kernel", flags=0):
    """With its launch, a microsecond before."""
    file.numbers += 1
    file.put("launch", flags={"copy": 4}.get(kind, 0), start_ns=TIME + start - 1000, end_ns=TIME + start - 500,
             tid=int(file.name.split("-")[1]), correlation=file.numbers, context=device + 1,
             stack=file.stack(0x400300, 0x400100), function="cudaLaunchKernel_v7000")
    fields = {"start_ns": TIME + start, "end_ns": TIME + start + took if took else 0, "correlation": file.numbers,
              "device": device, "context": device + 1, "stream": stream}
    if kind == "copy":
        file.put("copy", bytes=1 << 20, **{"from": 2, "to": 3}, **fields)
    else:
        file.put("kernel", flags=flags, name=name, grid=(grid, 1, 1), block=(32, 1, 1), **fields)


def metric_set(file, device, number, names):
    ids = [file.string(name) if isinstance(name, str) else name for name in names]
    file.put("metric-set", interval_ns=STEP, device=device, set=number, count=len(ids),
             tail=struct.pack(f"<{len(ids)}I", *ids))


def sample(file, start, values, device=0, number=1, took=STEP):
    file.put("metric-sample", start_ns=TIME + start, end_ns=TIME + start + took, device=device, set=number,
             count=len(values), tail=struct.pack(f"<{len(values)}d", *values))


def main_process():
    pid = 4700
    file = begin(pid, "/opt/made/metrics", [0xa1, 0xa2, 0xa3])
    file.put("window", time_ns=TIME, reason="start")
    metric_set(file, 0, 1, [SM, OCC, TENSOR, DRAM, PCIE, CLOCK])
    metric_set(file, 2, 1, [DRAM, SM])
    # One kernel for 27 samples, of which the first and the last one are not in it as a whole.
    kernel(file, 30000, 27 * STEP, "_Z11copy_kernelPf")
    for i in range(28):
        nan = i % 10 == 7
        sample(file, i * STEP, [95 + i % 4, 40 + i % 7, math.nan if nan else 0.5, 86 + i % 5, 1000 * i, 1.98e9])
    # Two at the same time for a while, and a time without samples.
    kernel(file, 30 * STEP, 10 * STEP, "left_kernel", grid=4)
    kernel(file, 35 * STEP, 10 * STEP, "right_kernel", stream=8)
    for i in [*range(30, 38), *range(41, 46)]:
        sample(file, i * STEP, [38 + i % 3, 60, 0, 20, 0, 1.9e9])
    file.cut(pid)
    # Short ones in a row fill samples, others do not.
    for i in range(100):
        kernel(file, 50 * STEP + 20000 * i, 19500, "short_kernel")
    for i in range(40):
        kernel(file, 75 * STEP + 20000 * i, 15000, "sparse_kernel")
    # Twins, one of which goes on when the other one has ended.
    for i in range(10):
        kernel(file, 85 * STEP + 80000 * i, 60000, "twin_kernel", stream=7)
        kernel(file, 85 * STEP + 80000 * i + 40000, 50000, "twin_kernel", stream=8)
    for i in range(50, 95):
        sample(file, i * STEP + 3000, [99, 12 + i % 3, 88 + i % 3, 30, i, 1.98e9])
    # Of another set, behind a copy; in one of these samples something short runs beside.
    metric_set(file, 0, 2, [DRAM, PCIE, 99999])
    kernel(file, 100 * STEP, 10 * STEP, "", kind="copy")
    kernel(file, 105 * STEP + 10, 1000, "beside_kernel", stream=8)
    for i in range(100, 110):
        sample(file, i * STEP, [10 + i % 2, 2.5e6, 3], number=2)
    sample(file, 111 * STEP, [1, 2], number=9)
    sample(file, 112 * STEP, [1, 2, 3], number=2, took=0)
    # Samples that overlap are of no kernel.
    kernel(file, 115 * STEP, 4 * STEP, "left_kernel")
    for i in range(3):
        sample(file, 115 * STEP + i * STEP // 2, [50, 5e6, 1], number=2)
    sample(file, 118 * STEP, [math.inf, -1.5, 1], number=2)
    file.cut(pid)
    # The GPU that another process uses as well: the set comes behind its samples.
    kernel(file, 10 * STEP, 6 * STEP, "_Z11both_kernelPf", device=1)
    for i in range(10, 30):
        sample(file, i * STEP, [70 + i, 1e9 + i, 1e-3 * i], device=1)
    metric_set(file, 1, 1, [DRAM, NVLINK, OTHER])
    kernel(file, 20 * STEP, 0, "endless_kernel", device=1, flags=1)
    file.put("loss", time_ns=TIME + 1, count=21, cause=18)
    file.put("window", flags=1, time_ns=TIME + 130 * STEP, reason="exit")
    file.cut(0)
    return file


def other_process():
    """Uses the second GPU of the first process, with a kernel of the same name."""
    file = begin(4701, "/opt/made/other", [0xa2])
    file.put("window", time_ns=TIME, reason="start")
    kernel(file, 14 * STEP + 50000, 4 * STEP, "_Z11both_kernelPf")
    file.put("window", flags=1, time_ns=TIME + 130 * STEP, reason="exit")
    file.cut(4701)
    return file


def windows_process():
    """Operations in windows: what ran between them is not known."""
    file = begin(4702, "/opt/made/windows", [0xa4])
    file.put("window", time_ns=TIME, reason="start")
    metric_set(file, 0, 1, [DRAM])
    for i in range(40):
        sample(file, i * STEP, [i], took=STEP - 1)
    kernel(file, 5 * STEP, 10 * STEP, "_Z11edge_kernelPf")
    kernel(file, 25 * STEP, 10 * STEP, "_Z11edge_kernelPf")
    file.put("window", flags=3, time_ns=TIME + 10 * STEP + 5, reason="sample")
    file.put("window", flags=2, time_ns=TIME + 20 * STEP, reason="sample")
    file.put("window", flags=1, time_ns=TIME + 60 * STEP, reason="exit")
    file.cut(4702)
    return file


def metrics(path):
    writer.write(path, [main_process(), other_process(), windows_process()])
