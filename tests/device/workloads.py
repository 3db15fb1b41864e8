#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""GPT-2 in PyTorch, with random weights: the programs that bench measures. Needs torch.

    workloads.py WORKLOAD    decode, train, train-small, train-launches, graph

Says "ready" and its pid. Each line of its input, "plain STEPS" or "window STEPS", is a segment: a
quarter of the steps more to run in, then the steps, whose ns it says, the median ns of a step, and where
steps end with the GPU idle, the ns of a fixed piece of Python between them: how fast the machine was. With
"window" it is between cudaProfilerStart and cudaProfilerStop. known.cu does the same in C, and says the ns alone.
"""
import os
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional

from torch_layer import Layer

# GPT-2's 124 million parameters, and a model for which the GPU waits for the CPU.
USUAL = {"width": 768, "heads": 12, "layers": 12, "words": 50257, "context": 1024}
SMALL = {"width": 256, "heads": 8, "layers": 6, "words": 8192, "context": 256}
# With batches of 2 a step is some 400 launches of kernels that end before the next launch.
SHORT = {**SMALL, "context": 64}
PROMPT = 16
DEVICE = "cuda"


def gelu(x):
    """As published with GPT-2: one operation after the other."""
    return 0.5 * x * (1.0 + torch.tanh(0.7978845608 * (x + 0.044715 * torch.pow(x, 3.0))))


class Block(Layer):
    """With a cache: keys and values of all earlier tokens."""

    def __init__(self, width, heads):
        super().__init__(width, heads)
        self.kept = None

    def attend(self, x):
        batch, length, width = x.shape
        query, key, value = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                             for part in self.attention(x).chunk(3, dim=-1))
        if not torch.is_grad_enabled():
            if self.kept:
                key = torch.cat((self.kept[0], key), dim=2)
                value = torch.cat((self.kept[1], value), dim=2)
            self.kept = key, value
        result = functional.scaled_dot_product_attention(query, key, value, is_causal=length > 1)
        return self.output(result.transpose(1, 2).reshape(batch, length, width))

    def feed_forward(self, x):
        return self.down(gelu(self.up(x)))


class Model(nn.Module):
    def __init__(self, width, heads, layers, words, context):
        super().__init__()
        self.words, self.context = words, context
        self.tokens = nn.Embedding(words, width)
        self.places = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.last = nn.LayerNorm(width)

    def forget(self):
        for block in self.blocks:
            block.kept = None

    def forward(self, tokens, places):
        x = self.tokens(tokens) + self.places(places)
        for block in self.blocks:
            x = block(x)
        return self.last(x) @ self.tokens.weight.t()


def make(size):
    torch.manual_seed(1)
    return Model(**size).to(DEVICE, torch.bfloat16)


class Decode:
    """One token at a time, batch 1, eager: the CPU reads each token."""

    idle_after_steps = True

    def __init__(self):
        self.model = make(USUAL).eval()
        self.prompt = torch.randint(self.model.words, (1, PROMPT), device=DEVICE)
        self.token = self.at = None

    def put(self, tokens):
        length = tokens.shape[1]
        places = torch.arange(self.at, self.at + length, device=DEVICE)
        logits = self.model(tokens, places)
        self.at += length
        self.token = int(logits[0, -1].argmax())

    def begin(self):
        self.model.forget()
        self.at = 0
        self.put(self.prompt)

    def step(self):
        if self.at == self.model.context:
            self.begin()
        self.put(torch.tensor([[self.token]], device=DEVICE))


class Train:
    """Forward, backward, AdamW."""

    idle_after_steps = False

    def __init__(self, size, batch):
        self.model = make(size)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5)
        text = torch.randint(self.model.words, (batch, self.model.context + 1), device=DEVICE)
        self.tokens, self.next = text[:, :-1], text[:, 1:].reshape(-1)
        self.places = torch.arange(self.model.context, device=DEVICE)

    def begin(self):
        pass

    def step(self):
        self.optimizer.zero_grad()
        logits = self.model(self.tokens, self.places)
        functional.cross_entropy(logits.view(-1, self.model.words), self.next).backward()
        self.optimizer.step()


class Graph:
    """The forward pass of one token, captured before the first segment and replayed."""

    idle_after_steps = False

    def __init__(self):
        self.model = make(USUAL).eval()
        tokens = torch.randint(self.model.words, (1, 64), device=DEVICE)
        places = torch.arange(64, device=DEVICE)
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.model.forget()
                self.model(tokens, places)
        torch.cuda.synchronize()
        self.model.forget()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.model(tokens, places)

    def begin(self):
        pass

    def step(self):
        self.graph.replay()


WORKLOADS = {"decode": Decode, "train": lambda: Train(USUAL, 8), "train-small": lambda: Train(SMALL, 4),
             "train-launches": lambda: Train(SHORT, 2), "graph": Graph}


def yardstick():
    """Some 0.5 ms of objects, calls and dictionaries, as PyTorch's own Python is."""
    table = {}
    for number in range(1500):
        table[number % 64, "name"] = [number, str(number)]
    return len(table)


def timed(workload, steps):
    """ns of all steps, the median ns of one, seen from the CPU, and ns of the yardsticks between them."""
    torch.cuda.synchronize()
    taken, between = [], 0
    for _ in range(steps):
        begin = time.perf_counter_ns()
        if workload.idle_after_steps:
            yardstick()
        start = time.perf_counter_ns()
        workload.step()
        taken.append(time.perf_counter_ns() - start)
        between += start - begin
    start = time.perf_counter_ns()
    torch.cuda.synchronize()
    return sum(taken) + time.perf_counter_ns() - start, statistics.median(taken), between


def segment(workload, window, steps):
    torch.cuda.synchronize()
    if window:
        torch.cuda.cudart().cudaProfilerStart()
    workload.begin()
    timed(workload, steps // 4 + 1)
    taken = timed(workload, steps)
    if window:
        torch.cuda.cudart().cudaProfilerStop()
    return taken


def run_segments(name):
    # The learned weights are not used: an inference tensor has no graph that would keep it.
    with torch.set_grad_enabled(name.startswith("train")):
        workload = WORKLOADS[name]()
        print("ready", os.getpid(), torch.__version__, flush=True)
        for text in sys.stdin:
            what, steps = text.split()
            print(*segment(workload, what == "window", int(steps)), flush=True)


if __name__ == "__main__":
    run_segments(sys.argv[1])
