#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest,arm64 tool icount cpus=2 timeout=300
"""Hits of uprobes are the calls that programs made: each once, in order, numbered, with its stack.

Programs with frame pointers, without, and with the runtime linked into them; four threads.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import uprobes
from lab import check, equal, step

LIBRARIES = ["libcuda.so.1", "libamdhip64.so.6", "libze_loader.so.1", "libc.so.6"]


def run(program, threads, rounds, *arguments, out=uprobes.OUT, learns=True):
    r = uprobes.Run(program, threads, rounds, *(() if learns else ("warm=0",)), out=out)
    r.start()
    dump = r.dump(*arguments)
    r.go()
    return r, r.end(dump)


uprobes.need()
for program in ("program", "program-fp", "program-static"):
    step("%s: every call, with its stack" % program)
    r, seen = run(program, 4, 200)
    uprobes.check_exact(r, seen)
    process = seen.one("process")
    equal((process["pid"], process["host_pid"]), (r.pid, r.pid), "process")
    equal(seen.strings[process["executable"]], os.path.realpath(r.command[0]), "executable")
    uprobes.check_libraries(seen, LIBRARIES)
    equal(seen.counts["state"], "exited", "state")
    # One name cannot be probed, which is reported. One is left out, because it only jumps.
    equal(seen.counts["refused"], 1, "refused")
    check(not any("no CUDA runtime" in n for n in seen.notes()), "the runtime is there")
    check(any("cuMemsetD16Async" in n for n in seen.notes()), "no note of the one refused")

for program in ("program", "program-fp"):
    step("%s: a library that is not probed lies between the runtime and the driver" % program)
    r, seen = run(program, 4, 100, out=uprobes.THROUGH)
    uprobes.check_exact(r, seen)
    uprobes.check_libraries(seen, ["libmiddle.so.1"])

step("the same without stacks")
r, seen = run("program", 2, 50, "no-stacks", out=uprobes.THROUGH)
calls = [name for name, _ in uprobes.sequence(r.rounds)]
equal(len(seen.hits), 2, "threads")
for tid, hits in seen.hits.items():
    equal([h["name"] for h in hits], calls, "calls of thread %d" % tid)
    equal([h["number"] for h in hits], list(range(1, len(hits) + 1)), "numbers of thread %d" % tid)
equal(seen.stacks, {}, "stacks")

step("a runtime that is linked in and stripped: the driver's calls, and that is said")
r, seen = run("program-stripped", 4, 200)
calls = [uprobes.DRIVER.get(name, name) for name, _ in uprobes.sequence(r.rounds)]
equal(len(seen.hits), 4, "threads")
for tid, hits in seen.hits.items():
    equal([h["name"] for h in hits], calls, "calls of thread %d" % tid)
    equal([h["number"] for h in hits], list(range(1, len(hits) + 1)), "numbers of thread %d" % tid)
    for h in hits:
        blocks = uprobes.driver_blocking(h["name"])
        equal((h["blocking"], h["duration_ns"] > 0), (blocks, blocks), h["name"])
# hipLaunchKernel calls hipModuleLaunchKernel, cuCtxSynchronize calls cuStreamSynchronize; the runtime
# has no nested calls.
equal((seen.counts["nested"], seen.counts["lost_ring"]), (4 * 50, 0), "nested, lost")
check(any("no CUDA runtime with symbols" in n for n in seen.notes()), "notes: %s" % seen.notes())

step("no stacks, launches alone")
r, seen = run("program", 2, 50, "no-stacks", "no-blocking", learns=False)
want = uprobes.expected(r.account)
for tid, hits in seen.hits.items():
    for name in ("cudaStreamSynchronize", "cudaDeviceSynchronize", "hipStreamSynchronize"):
        want[tid].pop(name)
    found = {}
    for h in hits:
        found[h["name"]] = found.get(h["name"], 0) + 1
        equal((h["stack"], h["blocking"], h["duration_ns"]), (0, False, 0), "a hit")
    equal(found, want[tid], "hits of thread %d" % tid)
equal(seen.stacks, {}, "stacks")
equal(seen.counts["returns"], 0, "probes at returns")

step("stacks of 8 frames at most: the innermost ones, marked")
r, seen = run("program", 1, 65, "depth=8")
equal(uprobes.expected(r.account)[list(seen.hits)[0]]["cudaLaunchKernel"],
      sum(h["name"] == "cudaLaunchKernel" for h in list(seen.hits.values())[0]), "launches")
deep = [s for s in seen.stacks.values()
        if uprobes.names_of(r, s["frames"][1:])[1:3] == ["deep", "deep"]]
check(deep, "no deep stack")
for s in deep:
    equal((len(s["frames"]), s["truncated"]), (8, True), "deep stack")

step("a table of 4 stacks: others are sent each time, and are right")
r, seen = run("program", 2, 100, "stacks=4")
uprobes.check_exact(r, seen)
check(seen.counts["stacks_no_room"] > 100, "all stacks had room")

step("room for 2 threads: hits of others are counted as lost, and have no number")
r, seen = run("program", 4, 50, "threads=2", learns=False)
uprobes.check_hits(seen)
total = sum(sum(t.values()) for t in uprobes.expected(r.account).values())
c = seen.counts
check(c["lost_threads"] > 0, "nothing was lost")
equal(c["seen"], c["hits"] + c["nested"] + c["lost_threads"], "seen")
equal(seen.lost(uprobes.CAUSE_RING), c["lost_threads"], "losses")
for tid, hits in seen.hits.items():
    equal([h["number"] for h in hits], list(range(1, len(hits) + 1)), "numbers")
# Lost nested calls are lost as well: they count as lost hits, not as hits. One whose outer call was
# lost just before another thread made room is a hit.
check(seen.total() + c["lost_threads"] >= total, "hits vanished")
