#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest tool timeout=300
"""bpftrace counts the same calls of the same process at the same time, function by function."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import uprobes
from lab import SLOWER, check, equal, skip, step

# Functions that nothing else in the stand-ins calls.
PROBED = {"libcudart.so.13": ("cudaLaunchKernel", "cudaMemcpyAsync", "cudaGraphLaunch",
                              "cudaMemcpy"),
          "libamdhip64.so.6": ("hipLaunchKernel",),
          "libze_loader.so.1": ("zeCommandListAppendLaunchKernel",)}

if not shutil.which("bpftrace"):
    skip("no bpftrace here")
uprobes.need()
run = uprobes.Run("program", 3, 200)
run.start()
step("both attach")
script = "BEGIN { printf(\"ready\\n\"); }\n"
for library, functions in PROBED.items():
    for function in functions:
        # A key that contains the name would be too large for bpftrace's stack. Threads that preempt
        # each other would then write it into the same per-CPU buffer, and a hit would count for
        # another thread.
        script += "uprobe:%s/%s:%s { @%s[tid] = count(); }\n" % (
            uprobes.OUT, library, function, function)

other = subprocess.Popen(["bpftrace", "-p", str(run.pid), "-e", script], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
said = ""
while "ready" not in said:
    line = other.stdout.readline()
    if not line:
        skip("bpftrace does not work here: %s" % said.strip().splitlines()[-1])
    said += line
dump = run.dump()
step("the program runs")
run.go()
seen = run.end(dump)
text = other.communicate(timeout=60 * SLOWER)[0]
uprobes.check_exact(run, seen)
theirs = {(m.group(1), int(m.group(2))): int(m.group(3))
          for m in re.finditer(r"@(\w+)\[(\d+)\]: (\d+)", text)}
ours = {}
probed = {f for functions in PROBED.values() for f in functions}
for tid, hits in seen.hits.items():
    for h in hits:
        if h["name"] in probed:
            ours[h["name"], tid] = ours.get((h["name"], tid), 0) + 1
check(theirs, "bpftrace counted nothing: %s" % text[-500:])
equal(ours, theirs, "calls by function and thread")
