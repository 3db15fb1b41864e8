# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""
A capture of random sequences of calls, for the budget of wall time and idle GPUs: what no recorded one has
together. Threads with calls of all kinds, nested Python functions, looks at them that overlap calls,
overheads, pauses, several GPUs and one that is shared, operations that are recorded late, ids that go round.
"""
import random

import writer

FILE = "/opt/made/train.py"
FUNCTIONS = ["main", "epoch", "step", "forward", "load_batch", "backward"]
CALLS = ["cudaLaunchKernel_v7000", "cudaMemcpyAsync_v3020", "cudaStreamSynchronize_v3020"]
OPENCL = 1 << 24


class Sequence:
    """One process. What it does: @traits, letters of which each stands for something that others do not do."""

    def __init__(self, seed, number, traits, length=60):
        self.choose, self.traits, self.number, self.length = random.Random(seed), traits, 0, length
        self.pid = 4700 + 10 * number
        self.file = writer.File(f"process-{self.pid}-100")
        self.begin = 5 * 10**9 + self.choose.randrange(20000)
        self.id = 2**32 - 40 if "wraps" in traits else 1
        self.late, self.spans = [], []
        self.file.put("process", pid=self.pid, parent=1, host_pid=self.pid, rank=0xffffffff, start_ns=5,
                      pid_namespace=77, host="made", executable="/opt/made/train", command="train")
        self.gpus = {0: bytes([0x20 + ("shared" not in traits) * number]) * 16}
        if "gpus" in traits:
            self.gpus[1] = b"\x77" * 16
        for gpu, uuid in self.gpus.items():
            self.file.put("device", id=gpu, name="Made GPU", uuid=uuid, pci=0x10008 + 8 * gpu, multiprocessors=10,
                          memory_bytes=1 << 30, compute_major=9)
        if "opencl" in traits:
            self.file.put("device", id=OPENCL, name="made-cpu", uuid=bytes([0x30 + number]) * 16, pci=0xffffffff, type=1)

    def stack(self):
        """Often like the last one but for the line of one frame."""
        depth = self.choose.randrange(1, len(FUNCTIONS))
        return self.file.stack(*[self.file.python(FUNCTIONS[level], FILE, 10 * level + self.choose.choice([1, 1, 2]))
                                 for level in range(depth)][::-1])

    def windows(self):
        """Pauses: nothing is recorded in them."""
        time, length = self.begin - 10, self.length * 500
        count = 3 if "pauses" in self.traits else 1
        for turn in range(count):
            end = time + length // count
            self.spans.append((time, end if turn + 1 < count else 1 << 62))
            self.file.put("window", time_ns=time, reason="start")
            if turn + 1 < count:
                self.file.put("window", flags=1, time_ns=end, reason="pause")
            time = end + self.choose.randrange(5000)
        self.file.cut(0)

    def call(self, tid, time):
        """A call; returns when it ends."""
        choose, kind = self.choose, self.choose.random()
        took = choose.choice([0, 10, 50, 400])
        stack = self.stack() if choose.random() < (0.7 if "bare" in self.traits else 1) else 0
        api = OPENCL if "opencl" in self.traits and choose.random() < 0.4 else 0
        correlation = self.id
        self.id = self.id % (2**32 - 1) + 1
        fields = {"start_ns": time, "end_ns": time + took, "tid": tid, "correlation": correlation, "context": api | 1}
        if "hits" in self.traits:
            # The end of a launch is not seen, nor is that of each call that waits.
            seen = took * (kind < 0.3 and choose.random() < 0.9)
            self.file.put("hit", flags=int(kind < 0.3), time_ns=time, number=correlation, duration_ns=seen, tid=tid,
                          function=CALLS[2 * (kind < 0.3)], stack=stack)
            return time + took
        if kind < 0.3 and "waits" in self.traits:
            ends = choose.random() < 0.9
            self.file.put("call", flags=int(kind < 0.2), function=CALLS[2], stack=stack,
                          **{**fields, "end_ns": time + took * 3 if ends else 0})
            return time + took * 3 * ends
        flags = 64 if kind > 0.9 else 0
        if "sampled" in self.traits and choose.random() < 0.6:
            stack, flags = 0, flags | 32
        self.file.put("launch", flags=flags, function=CALLS[kind > 0.8], stack=stack, **fields)
        if choose.random() < 0.9 and any(since <= time and time + took <= until for since, until in self.spans):
            self.operation(time, correlation, api)
        return time + took

    def operation(self, time, correlation, api):
        choose = self.choose
        start = time + choose.choice([-30, 5, 200, 900])
        took = choose.choice([0, 100, 300, 1500])
        device = api or choose.choice(list(self.gpus))
        flags, end = 0, start + took
        if choose.random() < (0.02 if "unended" in self.traits else 0):
            flags, end = 1, 0
        elif choose.random() < 0.05:
            correlation = choose.choice([0, 0x12345678])
            flags = 2 if not correlation else 0
        self.late.append({"flags": flags, "start_ns": start, "end_ns": end, "correlation": correlation, "device": device,
                          "context": api | 1, "stream": 7, "name": "made_kernel", "grid": (1, 1, 1), "block": (32, 1, 1)})

    def beside(self, tid, first, last):
        """Looks at the thread, and what the API said of itself."""
        choose = self.choose
        for _ in range(self.length // 4 if "looks" in self.traits else 0):
            start, period = choose.randrange(first, last), choose.choice([0, 101, 700])
            kind = choose.randrange(10)
            self.file.put("wait", start_ns=start, end_ns=start + choose.choice([0, 500]), period_ns=period, tid=tid,
                          stack=0 if kind == 1 else choose.choice([0, self.stack()]), looks=1, kind=kind,
                          file=choose.randrange(6) if kind in (4, 5) else 0, call=0)
        for _ in range(self.length // 4 if "overheads" in self.traits else 0):
            start = choose.randrange(first, last)
            self.file.put("overhead", start_ns=start, end_ns=start + choose.choice([20, 300]), tid=choose.choice([tid, tid, 0]),
                          kind=choose.randrange(7))

    def made(self):
        tids = [self.pid + number for number in range(3 if "threads" in self.traits else 1)]
        times = {tid: self.begin + self.choose.randrange(500) for tid in tids}
        self.windows()
        for number in range(self.length * len(tids)):
            tid = min(tids, key=times.get)
            times[tid] = self.call(tid, times[tid]) + self.choose.choice([-5, 0, 30, 200, 1000])
            # Long after their launches, in the order in which they ended.
            if number % 16 == 15 or "late" not in self.traits:
                self.file.cut(tid)
                self.flush(8 if "late" in self.traits else 0)
        for tid in tids:
            self.beside(tid, self.begin, max(times.values()))
        self.flush(0)
        self.file.put("window", flags=1, time_ns=max(times.values()), reason="exit")
        self.file.cut(0)
        return self.file

    def flush(self, keep):
        while len(self.late) > keep:
            self.file.put("kernel", **self.late.pop(0))
        self.file.cut(0)


TRAITS = ["", "threads waits looks", "threads waits overheads gpus late", "pauses looks overheads", "sampled waits looks",
          "opencl waits wraps late", "bare waits threads shared unended", "shared gpus late wraps", "sampled threads bare late",
          "hits threads looks", "hits bare"]


def calls(path, seed="calls", length=60):
    writer.write(path, [Sequence(f"{seed} {number}", number, traits.split(), length).made()
                        for number, traits in enumerate(TRAITS)])
