# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""
A capture of random collectives of a job, and what its ranks took: known from how they were made. Several ranks
and communicators, collectives that synchronise all ranks and others, kernels of which only an NVTX range says
what they do, some that are not recorded, and a communicator of one rank alone.
"""
import collections
import random
import statistics

import writer

US = 1000
# Kernel, NCCL's range around its launch, what it is; None: it synchronises all ranks.
COLLECTIVES = [("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "", None), ("ncclDevKernel_AllGather_RING_LL", "", None),
               ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "ncclReduceScatter", None),
               ("ncclDevKernel_Generic", "", None), ("ncclDevKernel_Generic", "ncclAllReduce", None),
               ("ncclDevKernel_SendRecv", "ncclAlltoAll", None), ("ncclDevKernel_SendRecv", "", "send"),
               ("ncclDevKernel_SendRecv", "ncclGroupEnd", "send"), ("ncclDevKernel_Generic", "ncclReduce", "reduce"),
               ("ncclDevKernel_Broadcast_RING_LL", "", "broadcast"), ("ncclDevKernel_Reduce_Sum_f32_RING_LL", "", "reduce"),
               ("ncclDevKernel_Generic", "ncclScatter", "scatter"), ("ncclDevKernel_Generic", "ncclGather", "gather")]
ALONE = 30


class Job:
    def __init__(self, seed):
        self.choose = random.Random(f"ranks {seed}")
        self.count, self.streams = self.choose.randrange(2, 5), [20, 21][:self.choose.randrange(1, 3)]
        self.files, self.ids, self.records = [], collections.Counter(), collections.defaultdict(list)
        self.free = collections.defaultdict(lambda: 5 * 10**9)
        self.ranks = [{"rank": rank, "matched": 0, "unmatched": 0, "alone": 0, "unnamed": 0, "communication_ns": 0,
                       "waiting_ns": 0, "last": 0, "late_ns": 0,
                       "not_split": dict.fromkeys(["broadcast", "reduce", "gather", "scatter", "send"], 0)}
                      for rank in range(self.count)]
        self.late = collections.defaultdict(list)
        self.kernels = collections.defaultdict(lambda: [0, 0, 0])
        for rank in range(self.count):
            self.files.append(writer.File(f"process-{4700 + rank}-100"))
            self.files[-1].put("process", pid=4700 + rank, parent=1, host_pid=4700 + rank, rank=rank, start_ns=5,
                               pid_namespace=77, host="made", executable="/opt/made/train", command="train")
            self.files[-1].put("device", id=0, name="Made GPU", uuid=bytes([0x20 + rank]) * 16, pci=0x10008,
                               multiprocessors=10, memory_bytes=1 << 30, compute_major=9)

    def kernel(self, rank, stream, name, text, start, end):
        tid, records = 4700 + rank + 100 * stream, self.records[rank]
        self.ids[rank] += 1
        if text:
            records.append((start - 9 * US, "range", {"time_ns": start - 9 * US, "tid": tid, "domain": "NCCL",
                                                      "text": text, "kind": 1}))
            records.append((start - 3 * US, "range", {"time_ns": start - 3 * US, "tid": tid, "domain": "NCCL", "kind": 2}))
        records.append((start - 8 * US, "launch", {"start_ns": start - 8 * US, "end_ns": start - 4 * US, "tid": tid, "stack": 0,
                                                   "correlation": self.ids[rank], "context": 1,
                                                   "function": "cuLaunchKernelExC"}))
        records.append((start, "kernel", {"start_ns": start, "end_ns": end, "correlation": self.ids[rank], "device": 0,
                                          "context": 1, "stream": stream, "name": name, "grid": (1, 1, 1),
                                          "block": (32, 1, 1)}))
        self.free[rank, stream] = end

    def begins(self, stream):
        """When each rank is ready; no two at the same time."""
        return [self.free[rank, stream] + self.choose.choice([12, 40, 900, 5000]) * US + 100 * rank + self.choose.randrange(90)
                for rank in range(self.count)]

    def apart(self, stream, name, text, kind):
        for rank, start in enumerate(self.begins(stream)):
            self.kernel(rank, stream, name, text, start, start + self.choose.choice([5, 300, 2000]) * US)
            self.ranks[rank]["not_split"][kind] += 1
            self.kernels[name][1] += 1

    def together(self, stream, name, text):
        """Each is there until the last one has come and all have moved their data. One may not be recorded."""
        starts = self.begins(stream)
        end = max(starts) + self.choose.randrange(100, 500) * US
        ends = [end + self.choose.randrange(3 * US) for _ in starts]
        without = self.choose.randrange(self.count) if self.choose.random() < 0.1 else None
        shortest = min(end - start for start, end in zip(starts, ends))
        for rank, row in enumerate(self.ranks):
            if rank == without:
                self.free[rank, stream] = ends[rank]
                continue
            has_range = text if name != "ncclDevKernel_Generic" or self.choose.random() < 0.7 else ""
            self.kernel(rank, stream, name, has_range, starts[rank], ends[rank])
            if without is not None:
                row["unmatched"] += 1
                continue
            waiting = ends[rank] - starts[rank] - shortest
            row["matched"] += 1
            row["unnamed"] += name == "ncclDevKernel_Generic" and not has_range
            row["communication_ns"] += shortest
            row["waiting_ns"] += waiting
            self.kernels[name][0] += 1
            self.kernels[name][2] += waiting
        if without is None and max(starts) - min(starts) >= 10 * US:
            self.late[starts.index(max(starts))].append(max(starts) - min(starts))

    def alone(self):
        """A communicator whose other ranks are not in this capture."""
        start = self.free[0, ALONE] + 777 * US
        self.kernel(0, ALONE, COLLECTIVES[0][0], "", start, start + self.choose.randrange(50, 900) * US)
        self.ranks[0]["unmatched"] += 1
        self.ranks[0]["alone"] += 1

    def made(self, length):
        for _ in range(length):
            stream = self.choose.choice(self.streams)
            name, text, kind = self.choose.choice(COLLECTIVES)
            if kind:
                self.apart(stream, name, text, kind)
            else:
                self.together(stream, name, text)
            if self.choose.random() < 0.05:
                self.alone()
        for rank, file in enumerate(self.files):
            for _, kind, fields in sorted(self.records[rank], key=lambda record: record[0]):
                file.put(kind, **fields)
            file.cut(1)
        for rank, late in self.late.items():
            self.ranks[rank].update(last=len(late), late_ns=sum(late), late_median_ns=statistics.median_high(late))
        return self.files


def compare(path, document_of, seed, length=200):
    """What is said of the ranks, and of the kernels by name, is what they were made of."""
    job = Job(seed)
    writer.write(path, job.made(length))
    document = document_of(path)
    for got, want in zip(document["ranks"], job.ranks, strict=True):
        wrong = {key: (got[key], value) for key, value in want.items() if got[key] != value}
        assert not wrong, f"ranks of {seed}, {want['rank']} of {job.count}: is, should be {wrong}"
    for row in document["kernels"]:
        got = [row["matched"], row["not_split"], row["waiting_ns"] or 0]
        assert got == job.kernels[row["name"]], f"ranks of {seed}, {row['name']}: {got}, not {job.kernels[row['name']]}"
