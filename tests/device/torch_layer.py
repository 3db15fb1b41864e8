#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A transformer layer in PyTorch: the program that is recorded and measured. Needs torch.

    torch_layer.py MODE STEPS [--profile FILE]    MODE: eager, train, graph, compile

What is compared runs between cudaProfilerStart and cudaProfilerStop, or, with
--profile, within torch.profiler, whose counts go to FILE as JSON.
"""
import json
import os
import sys
import tempfile

import torch
from torch import nn

WIDTH, HEADS, LENGTH, BATCH = 256, 8, 128, 8


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.first = nn.LayerNorm(width)
        self.attention = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.second = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def attend(self, x):
        batch, length, width = x.shape
        query, key, value = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                             for part in self.attention(x).chunk(3, dim=-1))
        scores = torch.softmax(query @ key.transpose(-2, -1) * (width // self.heads) ** -0.5, dim=-1)
        return self.output((scores @ value).transpose(1, 2).reshape(batch, length, width))

    def feed_forward(self, x):
        return self.down(nn.functional.gelu(self.up(x)))

    def forward(self, x):
        x = x + self.attend(self.first(x))
        return x + self.feed_forward(self.second(x))


# Kernels that nothing else here launches, each in a function of its own.
def only_cos(x):
    return torch.cos(x)


def only_atan(x):
    return torch.atan(x)


def only_sinh(x):
    return torch.sinh(x)


def train_step(model, x):
    x = model(x)
    return only_sinh(only_atan(only_cos(x)))


class Region:
    """What is recorded."""

    def __init__(self, path):
        self.path = path
        self.profiler = None
        self.begin = self.end = None

    def __enter__(self):
        torch.cuda.synchronize()
        self.begin, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        if self.path:
            self.profiler = torch.profiler.profile(activities=[
                torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA])
            self.profiler.__enter__()
        else:
            torch.cuda.cudart().cudaProfilerStart()
        self.begin.record()

    def __exit__(self, *what):
        self.end.record()
        torch.cuda.synchronize()
        events_ns = self.begin.elapsed_time(self.end) * 1e6
        if not self.profiler:
            torch.cuda.cudart().cudaProfilerStop()
            return
        self.profiler.__exit__(*what)
        trace = os.path.join(tempfile.gettempdir(), f"trace-{os.getpid()}.json")
        self.profiler.export_chrome_trace(trace)
        with open(trace, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        os.unlink(trace)
        result = {"torch": torch.__version__, "cuda": torch.version.cuda, "events_ns": events_ns,
                  "kernels": {}, "copies": 0, "sets": 0, "gpu_ns": 0}
        for event in events:
            kind = event.get("cat")
            if kind not in ("kernel", "gpu_memcpy", "gpu_memset"):
                continue
            ns = round(event["dur"] * 1000)
            result["gpu_ns"] += ns
            if kind == "kernel":
                row = result["kernels"].setdefault(event["name"], [0, 0])
                row[0] += 1
                row[1] += ns
            else:
                result["copies" if kind == "gpu_memcpy" else "sets"] += 1
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(result, file)


def make():
    torch.manual_seed(1)
    return (Layer(WIDTH, HEADS).to("cuda"), torch.randn(BATCH, LENGTH, WIDTH, device="cuda"))


def learn_step(model, optimizer, x):
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()


def train(steps, path):
    model, x = make()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(3):
        learn_step(model, optimizer, x)
    with Region(path):
        for _ in range(steps):
            learn_step(model, optimizer, x)


def run(mode, steps, path):
    if mode == "train":
        train(steps, path)
        return
    model, x = make()
    step = train_step
    with torch.no_grad():
        if mode == "compile":
            step = torch.compile(train_step)
        for _ in range(3):
            step(model, x)
        if mode == "graph":
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                step(model, x)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with Region(path):
                with torch.cuda.graph(graph):
                    step(model, x)
                for _ in range(steps):
                    graph.replay()
            return
        with Region(path):
            for _ in range(steps):
                step(model, x)


def main():
    path = sys.argv[4] if len(sys.argv) > 4 and sys.argv[3] == "--profile" else None
    run(sys.argv[1], int(sys.argv[2]), path)


if __name__ == "__main__":
    main()
