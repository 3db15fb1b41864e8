#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel tool timeout=120
"""NVIDIA's own runtime, as a library and linked into the program: each call is a hit, once."""
import collections
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import uprobes
from lab import check, equal, skip, step

ROUNDS = 50
# __cudaLaunchKernel only jumps to cudaLaunchKernel.
CALLS = ["cudaDeviceSynchronize", "cudaMemcpy", "cudaMemcpyAsync", "cudaLaunchKernel",
         "cudaLaunchKernel", "cudaStreamSynchronize"]

uprobes.need()
if not os.path.exists(os.path.join(uprobes.OUT, "cudart-static")):
    skip("CUDA's runtime is not installed: no program could be linked with it")
for program in "cudart-dynamic", "cudart-static":
    step(program)
    folder = tempfile.mkdtemp()
    go, ready, learnt = (os.path.join(folder, name) for name in ("go", "ready", "learnt"))
    target = subprocess.Popen([os.path.join(uprobes.OUT, program), str(ROUNDS), go, learnt],
                              stdout=subprocess.PIPE, text=True)
    pid = json.loads(target.stdout.readline())["pid"]
    with open(os.path.join(folder, "out"), "w+") as out:
        dump = subprocess.Popen([os.path.join(uprobes.OUT, "uprobe-dump"), str(pid),
                                 "ready=" + ready, "learnt=%s:%d" % (learnt, len(CALLS))],
                                stdout=out)
        while not os.path.exists(ready) and dump.poll() is None:
            time.sleep(0.01)
        open(go, "w").close()
        equal(target.wait(), 0, "exit status of the program")
        dump.wait()
        out.seek(0)
        seen = uprobes.Seen(out.read())
    equal(list(seen.hits), [pid], "threads")
    hits = seen.hits[pid]
    equal([h["name"] for h in hits], CALLS * ROUNDS, "calls")
    equal([h["number"] for h in hits], list(range(1, len(hits) + 1)), "numbers")
    for h in hits:
        stack = seen.stacks[h["stack"]]
        check(h["number"] <= len(CALLS) or not stack["truncated"], "a stack ends early")
        blocks = h["name"] in ("cudaDeviceSynchronize", "cudaMemcpy", "cudaStreamSynchronize")
        equal((h["blocking"], h["duration_ns"] > 0), (blocks, blocks), h["name"])
    # A kind of call has one stack for each place that calls it.
    whole = {(h["name"], h["stack"]) for h in hits if not seen.stacks[h["stack"]]["truncated"]}
    equal(sorted(collections.Counter(n for n, _ in whole).items()),
          sorted(collections.Counter(CALLS).items()), "stacks")
    equal(seen.counts["refused"], 0, "refused: %s" % seen.notes())
    check(seen.counts["functions"] > 60, "only %d functions" % seen.counts["functions"])
