#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Programs that are slow for a known reason. Needs torch, and transformers for "generate".

    slow.py generate STEPS    Qwen3 of 0.6 billion random weights makes a token in each step
    slow.py loader STEPS      training whose batches come from load_batch(), which sleeps 30 ms
    slow.py read STEPS        the same with batches from a pipe that another process fills 30 ms after it is asked
    slow.py sync STEPS        reads the loss after each operation
    slow.py pageable STEPS    copies pageable memory to the GPU
    slow.py busy STEPS        large matrices
    slow.py compile STEPS     torch.compile with graphs
    slow.py ranks STEPS       data-parallel training on two GPUs; rank 1 sleeps 30 ms in load_batch()

The steps run between cudaProfilerStart and cudaProfilerStop, after some to run in. What each of them
took is printed as JSON, one line for each process.
"""
import json
import os
import subprocess
import sys
import time

import torch
from torch.nn import functional

from workloads import SHORT, SMALL, make

SLEEP_S = 0.03
DEVICE = "cuda"
ACCOUNT = {"load_ns": 0, "loads": 0}


def account(function):
    def timed(*arguments):
        begin = time.perf_counter_ns()
        result = function(*arguments)
        ACCOUNT["load_ns"] += time.perf_counter_ns() - begin
        ACCOUNT["loads"] += 1
        return result
    return timed


class Training:
    def __init__(self, size=None, batch=2):
        self.model = self.net = make(size or SMALL)
        self.words, self.context = self.model.words, self.model.context
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5)
        self.places = torch.arange(self.context, device=DEVICE)
        self.batch = batch
        self.source = torch.randint(self.words, (batch, self.context + 1))
        self.load = account(self.load_batch)

    def load_batch(self):
        return self.source

    def step(self):
        text = self.load().to(DEVICE)
        tokens, after = text[:, :-1], text[:, 1:].reshape(-1)
        self.optimizer.zero_grad()
        logits = self.net(tokens, self.places)
        functional.cross_entropy(logits.reshape(-1, self.words), after).backward()
        self.optimizer.step()


class Loader(Training):
    def load_batch(self):
        time.sleep(SLEEP_S)
        return self.source


class Reader(Training):
    """The writer of the pipe is this file, called with "fill"."""

    def __init__(self):
        super().__init__()
        self.size = self.batch * (self.context + 1)
        # pylint: disable=consider-using-with
        self.writer = subprocess.Popen([sys.executable, "-c", FILL, str(self.size)],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
                                       env={**os.environ, "LD_PRELOAD": ""})

    def load_batch(self):
        self.writer.stdin.write(b".")
        data = self.writer.stdout.read(self.size)
        return torch.frombuffer(bytearray(data), dtype=torch.uint8).to(torch.long).view(self.batch, -1)


FILL = """
import os, sys, time
while os.read(0, 1):
    time.sleep(0.03)
    os.write(1, bytes(int(sys.argv[1])))
"""


class Generate:
    def __init__(self):
        from transformers import Qwen3Config, Qwen3ForCausalLM  # pylint: disable=import-outside-toplevel

        torch.manual_seed(1)
        config = Qwen3Config(hidden_size=1024, intermediate_size=3072, num_hidden_layers=28,
                             num_attention_heads=16, num_key_value_heads=8, head_dim=128,
                             vocab_size=151936, tie_word_embeddings=True)
        self.model = Qwen3ForCausalLM(config).to(DEVICE, torch.bfloat16).eval()
        self.ids = torch.randint(1000, (1, 16), device=DEVICE)
        self.cache = None

    def step(self):
        with torch.no_grad():
            result = self.model(self.ids, past_key_values=self.cache, use_cache=True)
        self.cache = result.past_key_values
        self.ids = result.logits[:, -1:].argmax(-1)


class Sync:
    def __init__(self):
        self.x = torch.rand(4096, device=DEVICE)

    def step(self):
        for _ in range(20):
            self.x = torch.sin(self.x)
            read_value(self.x)


def read_value(x):
    return x.sum().item()


class Pageable:
    def __init__(self):
        self.host = torch.rand(16 << 20)

    def step(self):
        copy_batch(self.host).mul_(2)


def copy_batch(host):
    return host.to(DEVICE)


class Busy:
    def __init__(self):
        self.x = torch.rand(8192, 8192, device=DEVICE, dtype=torch.bfloat16)

    def step(self):
        for _ in range(10):
            multiply(self.x)


def multiply(x):
    return x @ x


class Compiled:
    def __init__(self):
        self.model = make(SHORT).eval()
        self.net = torch.compile(self.model, mode="reduce-overhead")
        self.tokens = torch.randint(self.model.words, (2, 64), device=DEVICE)
        self.places = torch.arange(64, device=DEVICE)

    def step(self):
        with torch.no_grad():
            self.model.forget()
            self.net(self.tokens, self.places)


class Ranks(Training):
    def __init__(self):
        self.rank = int(os.environ["RANK"])
        torch.cuda.set_device(self.rank)
        torch.distributed.init_process_group("nccl", device_id=torch.device("cuda", self.rank))
        super().__init__()
        self.net = torch.nn.parallel.DistributedDataParallel(self.model, device_ids=[self.rank])

    def load_batch(self):
        if self.rank == 1:
            time.sleep(SLEEP_S)
        return self.source


PROGRAMS = {"generate": Generate, "loader": Loader, "read": Reader, "sync": Sync, "pageable": Pageable,
            "busy": Busy, "compile": Compiled, "ranks": Ranks}


def run(name, steps):
    program = PROGRAMS[name]()
    for _ in range(6):
        program.step()
    torch.cuda.synchronize()
    ACCOUNT.update(load_ns=0, loads=0)
    torch.cuda.cudart().cudaProfilerStart()
    begin = time.perf_counter_ns()
    for _ in range(steps):
        program.step()
    torch.cuda.synchronize()
    taken = time.perf_counter_ns() - begin
    torch.cuda.cudart().cudaProfilerStop()
    print(json.dumps({"pid": os.getpid(), "wall_ns": taken, "steps": steps, **ACCOUNT,
                      "rank": int(os.environ.get("RANK", 0))}), flush=True)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    if hasattr(program, "writer"):
        program.writer.kill()
        program.writer.wait()


def run_ranks(name, steps):
    """A process for each GPU, as torchrun starts them."""
    environment = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511"}
    ranks = [subprocess.Popen([sys.executable, __file__, name, str(steps)],  # pylint: disable=consider-using-with
                              env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)})
             for rank in range(2)]
    return max(rank.wait() for rank in ranks)


if __name__ == "__main__":
    if sys.argv[1] == "ranks" and "RANK" not in os.environ:
        sys.exit(run_ranks(sys.argv[1], int(sys.argv[2])))
    run(sys.argv[1], int(sys.argv[2]))
