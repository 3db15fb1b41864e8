#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=full tool timeout=400
# vm: kernels=6.12 own-boot icount
"""What a hit costs the process that is probed, in instructions: QEMU counts one a nanosecond here.

With nothing, with hits alone, and with stacks of about 10, 20 and 40 frames; of the
driver (one breakpoint), and of the runtime (two, of which the inner one is no hit).
Figures are printed; they may not grow without anybody seeing it.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import uprobes
from lab import check, step

# Maximum number of instructions for a hit on any of the kernels: by program, then by frames.
LIMIT = {"hits": (20000, 20000, 20000), "stacks": (30000, 40000, 60000)}


def times(*arguments):
    run = uprobes.Run("program", 1, 1, "warm=0", "time=1600")
    run.start()
    dump = run.dump(*arguments) if arguments else None
    run.go()
    text = run.process.communicate()[0]
    if dump:
        seen = uprobes.read(dump)
        check(seen.counts["hits"] + seen.counts["lost_ring"] >= 6 * 1600, "hits: %r" % seen.counts)
    return json.loads(text.splitlines()[-1])


uprobes.need()
results = {}
for name, arguments in (("bare", ()), ("hits", ("no-stacks",)), ("stacks", ("ring=33554432",))):
    step(name)
    results[name] = times(*arguments)
print("%-10s %s" % ("", "".join("%14s" % k for k in results["bare"] if k != "calls")))
for name, r in results.items():
    print("%-10s %s" % (name, "".join("%14d" % v for k, v in r.items() if k != "calls")))
for name, limits in LIMIT.items():
    for depth, limit in zip((0, 10, 30), limits):
        key = "driver_%d_ns" % depth
        added = results[name][key] - results["bare"][key]
        check(0 < added < limit, "%s, %s: %d more instructions" % (name, key, added))
