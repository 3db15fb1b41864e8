# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A capture with samples of the program counter: what is known of each kernel is written here."""
import struct

import writer

PREFIX = "smsp__pcsamp_warps_issue_stalled_"
GEMM, HELPER = "_Z4gemmPKfPfi", "_Z6helperi"
SOURCE, OTHER = "/opt/made/src/gemm.cu", "/opt/made/src/mixed.cu"
MODULE = 0x1122334455667788
# Samples of one read: (kernel, file, line, offset, {reason: (samples, of which not issued)}).
FIRST = [
    (GEMM, SOURCE, 12, 0x40, {"long_scoreboard": (700, 650), "selected": (40, 0)}),
    (GEMM, SOURCE, 12, 0x60, {"long_scoreboard": (90, 80), "wait": (10, 3)}),
    (GEMM, SOURCE, 15, 0x80, {"math_pipe_throttle": (120, 20), "selected": (60, 0), "not_selected": (30, 0)}),
    (HELPER, SOURCE, 3, 0x10, {"imc_miss": (110, 100)}),
    ("reduce_kernel", 0, 0, 0x30, {"barrier": (200, 190), "selected": (5, 0)}),
    ("reduce_kernel", 0, 0, 0x1f0, {"short_scoreboard": (50, 40)}),
    ("mixed_kernel", OTHER, 7, 0x20, {"quantum_flux": (80, 70)}),
    ("mixed_kernel", 0, 0, 0x90, {"lg_throttle": (40, 30)}),
    ("few_kernel", OTHER, 30, 0x20, {"barrier": (57, 50)}),
]
SECOND = [
    (GEMM, SOURCE, 12, 0x40, {"long_scoreboard": (300, 290), "selected": (20, 0)}),
    (GEMM, SOURCE, 18, 0xa0, {"drain": (25, 25)}),
    ("reduce_kernel", 0, 0, 0x30, {"barrier": (100, 100)}),
    # Only one of the two numbers, and none at all.
    ("reduce_kernel", 0, 0, 0x40, {"membar": (0, 2)}),
    ("mixed_kernel", OTHER, 9, 0x60, {"misc": (0, 0)}),
]
OF_RANK = [
    (GEMM, SOURCE, 15, 0x80, {"math_pipe_throttle": (400, 100), "selected": (100, 0)}),
    ("reduce_kernel", 0, 0, 0x30, {"barrier": (150, 140)}),
]


def begin(pid, time):
    file = writer.File(f"process-{pid}-100")
    file.put("process", pid=pid, parent=1, host_pid=pid, rank=0xffffffff, start_ns=5, pid_namespace=77, host="made",
             executable="/opt/made/train", command="/opt/made/train --fast", driver_version=13000)
    file.put("thread", tid=pid, name="main")
    file.put("mapping", start=0x400000, end=0x500000, path="/opt/made/train", build_id=b"\1" * 20, build_id_size=20)
    file.put("device", id=0, name="Made GPU", uuid=bytes(range(0x10, 0x20)), pci=0x10008, multiprocessors=132,
             memory_bytes=1 << 36, compute_major=9)
    file.put("context", time_ns=time, id=1, device=0)
    file.put("window", time_ns=time, reason="start")
    file.cut(0)
    return file


class Launches:
    """Kernels of one thread, one after the other."""

    def __init__(self, file, pid, time):
        self.file, self.pid, self.at, self.number = file, pid, time, 0

    def run(self, name, took, stack, **fields):
        self.number += 1
        self.file.put("launch", start_ns=self.at, end_ns=self.at + 400, tid=self.pid, correlation=self.number,
                      stack=self.file.stack(*stack), function="cudaLaunchKernel_v7000", context=1)
        fields = {"grid": (4, 2, 1), "block": (32, 1, 1), "registers": 32, **fields}
        self.file.put("kernel", start_ns=self.at + 500, end_ns=self.at + 500 + took, correlation=self.number,
                      name=name, device=0, context=1, stream=7, **fields)
        self.at += took + 600


def samples(file, time, rows):
    """Samples of one read. Returns how many there are."""
    count = 0
    for name, source, line, offset, reasons in rows:
        pairs = []
        for reason, (every, not_issued) in reasons.items():
            count += every
            pairs += [file.string(PREFIX + reason), every] * bool(every or reason == "misc")
            pairs += [file.string(PREFIX + reason + "_not_issued"), not_issued] * bool(not_issued)
        file.put("stalls", time_ns=time, module=MODULE, device=0, context=1, name=name, offset=offset, file=source,
                 line=line, count=len(pairs) // 2, tail=struct.pack(f"<{len(pairs)}I", *pairs))
    return count


def stalls(path):
    """Two processes: kernels with and without lines, of one call path and of two, and lost samples."""
    pid, time = 4700, 5 * 10**9
    file = begin(pid, time)
    launches = Launches(file, pid, time + 1000)
    large = {"grid": (64, 64, 1), "block": (256, 1, 1), "registers": 96, "static_shared_bytes": 16384}
    for i in range(40):
        launches.run(GEMM, 90000 + i, (0x400300, 0x400100), **large)
        if i % 4 == 0:
            launches.run(GEMM, 4000, (0x400300, 0x400100), **{**large, "grid": (1, 1, 1)})
        # Two call paths.
        launches.run("reduce_kernel", 3000, (0x400400 + 0x100 * (i % 2), 0x400100), grid=(1, 1, 1), block=(1024, 1, 1))
        launches.run("mixed_kernel", 2000, (0x400700, 0x400100))
        if i == 20:
            launches.run("few_kernel", 500, (0x400800, 0x400100))
    launches.run("unsampled_kernel", 700, (0x400800, 0x400100))
    file.cut(pid)
    half, end = time + 2000000, launches.at + 10000
    # Their totals: each has 40 more that the hardware dropped and 7 of others.
    first = samples(file, half, FIRST)
    file.put("stall-totals", time_ns=half, device=0, context=1, samples=first + 47, dropped=40, other=7,
             period_log2=16)
    # A name that is not in the capture, and a file that is not; a record that was lost has 11 more.
    second = samples(file, end, SECOND)
    file.put("stalls", time_ns=end, module=MODULE, device=0, context=1, name=99999, offset=8, file=99998, line=5,
             count=1, tail=struct.pack("<2I", file.string(PREFIX + "sleeping"), 130))
    file.put("stalls", time_ns=end, module=MODULE + 1, device=0, context=1, name=GEMM, offset=8,
             count=1, tail=struct.pack("<2I", 99997, 3))
    file.put("stall-totals", time_ns=end, device=0, context=1, samples=first + second + 130 + 3 + 11 + 94,
             dropped=80, other=14, period_log2=16)
    # In the wrong order: the one before is older.
    file.put("stall-totals", time_ns=half + 10, device=0, context=1, samples=first + 47, dropped=40, other=7,
             period_log2=16)
    file.put("window", flags=1, time_ns=end, reason="exit")
    file.cut(0)
    rank = begin(pid + 1, time)
    launches = Launches(rank, pid + 1, time + 1000)
    for i in range(20):
        launches.run(GEMM, 10000, (0x400500, 0x400100), **large)
        launches.run("reduce_kernel", 3000, (0x400400, 0x400100))
    rank.cut(pid + 1)
    count = samples(rank, launches.at, OF_RANK)
    rank.put("stall-totals", time_ns=launches.at, device=0, context=1, samples=count, period_log2=18)
    rank.put("window", flags=1, time_ns=launches.at, reason="exit")
    rank.cut(0)
    writer.write(path, [file, rank])
