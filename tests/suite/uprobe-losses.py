#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest tool icount cpus=2 timeout=300
"""
What uprobes lose is counted by cause, and the numbers show where it is missing: hits when the ring
is full, and calls that only a copy of the stack could decide.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import uprobes
from lab import check, equal, step


def totals(run):
    return {t: sum(c.values()) for t, c in uprobes.expected(run.account).items()}


def check_told(seen):
    c = seen.counts
    equal(seen.lost(uprobes.CAUSE_RING), c["lost_ring"], "hits lost, told")
    equal(seen.lost(uprobes.CAUSE_STACK), c["lost_stacks"], "stacks lost, told")
    equal(seen.lost(uprobes.CAUSE_UNDECIDED), c["undecided"], "undecided calls, told")
    equal(c["seen"], c["hits"] + c["nested"] + c["lost_ring"] + c["undecided"], "seen")


def check_losses(run, seen):
    c, want = seen.counts, totals(run)
    uprobes.check_hits(seen)
    equal(c["hits"], seen.total(), "hits that came")
    equal(c["hits"] + c["lost_ring"] + c["undecided"], sum(want.values()), "hits and losses")
    check_told(seen)
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
    equal(missing, c["lost_ring"] + c["undecided"], "gaps in the numbers")


def unread(out, rounds, *arguments):
    """A run of which nothing is read until the program has ended."""
    run = uprobes.Run("program", 2, rounds, "warm=0", out=out)
    run.start()
    dump = run.dump("sleep=600000", *arguments)
    run.go()
    run.finish()
    dump.terminate()
    return run, uprobes.read(dump)


uprobes.need()
step("nobody reads until the program has ended")
run, seen = unread(uprobes.OUT, 400, "ring=65536")
check_losses(run, seen)
check(seen.counts["lost_ring"] > 0, "nothing was lost")

step("nobody reads for two seconds: a gap, and all after it")
run = uprobes.Run("program", 2, 1500, "warm=0", "pause=3000")
run.start()
dump = run.dump("ring=65536", "sleep=2000")
run.go()
seen = run.end(dump)
check_losses(run, seen)
check(seen.counts["lost_ring"] > 0, "nothing was lost")
for tid, n in totals(run).items():
    numbers = [h["number"] for h in seen.hits[tid]]
    equal((numbers[0], numbers[-1]), (1, n), "first and last of thread %d" % tid)
    tail = numbers[-1] - numbers[len(numbers) // 2]
    check(tail >= len(numbers) // 2 - 1, "no gap in thread %d" % tid)

step("no room for copies of stacks: a call that may be nested is lost, by this cause")
run, seen = unread(uprobes.OUT, 600, "ring=33554432")
check_losses(run, seen)
c = seen.counts
equal((c["lost_ring"], c["lost_stacks"]), (0, 0), "lost for another cause")
# Each of the others was decided by one of the 256 copies, or needed none.
check(0 < c["undecided"] <= 2 * 75, "%d calls are undecided" % c["undecided"])

step("the same with a library between the runtime and the driver: no call counts twice")
run, seen = unread(uprobes.THROUGH, 100, "ring=33554432")
uprobes.check_hits(seen)
check_told(seen)
c = seen.counts
equal((c["lost_ring"], c["lost_stacks"]), (0, 0), "lost for another cause")
check(c["undecided"] > 0, "every call was decided")
calls = [name for name, _ in uprobes.sequence(run.rounds)]
equal(len(seen.hits), 2, "threads")
for tid, hits in seen.hits.items():
    rest = iter(calls)
    check(all(h["name"] in rest for h in hits), "a hit of thread %d is no call" % tid)
check(c["hits"] + c["undecided"] >= 2 * len(calls), "calls vanished")
