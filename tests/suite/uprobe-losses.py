#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest icount cpus=2 timeout=300
"""A ring of uprobe hits that nobody empties loses hits; how many is exact, and numbers show where."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import uprobes
from lab import check, equal, step


def totals(run):
    return {t: sum(c.values()) for t, c in uprobes.expected(run.account).items()}


def check_losses(run, seen):
    c, want = seen.counts, totals(run)
    uprobes.check_hits(seen)
    equal(c["hits"], seen.total(), "hits that came")
    equal(c["hits"] + c["lost_ring"], sum(want.values()), "hits and losses")
    equal(seen.lost(uprobes.CAUSE_RING), c["lost_ring"], "losses told")
    equal(seen.lost(uprobes.CAUSE_STACK), c["lost_stacks"], "stacks lost, told")
    equal(c["seen"], c["hits"] + c["nested"] + c["lost_ring"], "seen")
    check(c["lost_ring"] > 0, "nothing was lost")
    missing = 0
    for tid, hits in seen.hits.items():
        calls = uprobes.sequence(run.rounds)
        for h in hits:
            # The number of a hit identifies its call, whatever is missing before it.
            name, chain = calls[h["number"] - 1]
            equal(h["name"], name, "call %d of thread %d" % (h["number"], tid))
            if h["stack"]:
                uprobes.check_stack(run, seen, h, (chain,))
        missing += want[tid] - len(hits)
    missing += sum(n for t, n in want.items() if t not in seen.hits)
    equal(missing, c["lost_ring"], "gaps in the numbers")


uprobes.need()
step("nobody reads until the program has ended")
run = uprobes.Run("program", 2, 400)
run.start()
dump = run.dump("ring=65536", "sleep=600000")
run.go()
run.finish()
dump.terminate()
seen = uprobes.read(dump)
check_losses(run, seen)

step("nobody reads for two seconds: a gap, and all after it")
run = uprobes.Run("program", 2, 1500, "pause=3000")
run.start()
dump = run.dump("ring=65536", "sleep=2000")
run.go()
seen = run.end(dump)
check_losses(run, seen)
for tid, n in totals(run).items():
    numbers = [h["number"] for h in seen.hits[tid]]
    equal((numbers[0], numbers[-1]), (1, n), "first and last of thread %d" % tid)
    tail = numbers[-1] - numbers[len(numbers) // 2]
    check(tail >= len(numbers) // 2 - 1, "no gap in thread %d" % tid)
