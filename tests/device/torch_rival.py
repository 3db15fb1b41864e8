#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A program with a profiler of its own, twice: PyTorch's. Needs torch.

    torch_rival.py FILE COUNT

Launches COUNT cosines, then, twice: COUNT arc tangents within torch.profiler, and COUNT hyperbolic
sines after it. FILE gets, as JSON, the kernels that each profile has.
"""
import collections
import json
import os
import sys
import tempfile
import time

import torch

# For so long it launches additions behind a profile: PyTorch leaves CUPTI in a call of CUDA's.
SETTLE_S = 2.0


def several(function, x, count):
    for _ in range(count):
        function(x)
    torch.cuda.synchronize()


def settle(x):
    until = time.monotonic() + SETTLE_S
    while time.monotonic() < until:
        torch.add(x, x)
        torch.cuda.synchronize()
        time.sleep(0.005)


def kernels_of(profiler):
    handle, trace = tempfile.mkstemp(suffix=".json")
    os.close(handle)
    profiler.export_chrome_trace(trace)
    with open(trace, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    os.unlink(trace)
    return collections.Counter(e["name"] for e in events if e.get("cat") == "kernel")


def main():
    count = int(sys.argv[2])
    x = torch.ones(1 << 16, device="cuda")
    several(torch.cos, x, count)
    profiles = []
    for _ in range(2):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU,
                                                torch.profiler.ProfilerActivity.CUDA]) as profiler:
            several(torch.atan, x, count)
        profiles.append(kernels_of(profiler))
        settle(x)
        several(torch.sinh, x, count)
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({"torch": torch.__version__, "profiles": profiles}, file)


if __name__ == "__main__":
    main()
