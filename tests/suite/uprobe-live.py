#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest,arm64 tool icount cpus=2 timeout=300
"""Uprobes on processes that live already: in the midst of work, before their libraries are there,
two at a time, after their first thread has ended, until they exec, fork or are killed."""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import uprobes
from lab import SLOWER, check, equal, step, until

# Microseconds between two rounds of calls: it must still run while it is attached to.
PAUSE = "pause=%d" % (4000 * SLOWER)


def sizes(seen):
    return {t: len(h) for t, h in seen.hits.items()}


def names(hits):
    return [h["name"] for h in hits]


def pauses(pid):
    """How often that one of its workers has waited that did so least: each round waits, or more often."""
    found = []
    for tid in os.listdir("/proc/%d/task" % pid):
        if int(tid) != pid:
            with open("/proc/%d/task/%s/status" % (pid, tid)) as f:
                found.append(int(f.read().partition("\nvoluntary_ctxt_switches:")[2].split()[0]))
    return min(found, default=0)


def works_on(run, what):
    """Wait for more than a hundred calls of each worker."""
    before = pauses(run.pid)
    until(lambda: pauses(run.pid) > before + 80, what)


uprobes.need()

step("in the midst of work: from the moment it is attached, every call")
run = uprobes.Run("program", 3, 100, "warm=0", PAUSE, "until=stop")
run.start()
run.go()
works_on(run, "calls before it is attached")
dump = run.dump()
attached = time.monotonic_ns()
works_on(run, "calls after it was attached")
run.stop()
seen = run.end(dump)
uprobes.check_hits(seen)
equal(seen.records["loss"], [], "losses")
equal(len(seen.hits), 3, "threads")
for tid, hits in seen.hits.items():
    calls = uprobes.sequence(uprobes.rounds(run, tid))
    equal([h["number"] for h in hits], list(range(1, len(hits) + 1)), "numbers")
    after = [h for h in hits if h["time_ns"] > attached]
    check(100 < len(after) < len(calls) - 100, "%d of %d calls" % (len(after), len(calls)))
    equal(names(after), [c[0] for c in calls[-len(after):]], "calls of thread %d" % tid)
    for h, (_, chain) in zip(after, calls[-len(after):]):
        uprobes.check_stack(run, seen, h, (chain,))

step("detached in the midst of work: it goes on, and a call that blocks is not lost")
run = uprobes.Run("program", 1, 10, "warm=0", PAUSE, "until=stop")
run.start()
dump = run.dump()
run.go()
works_on(run, "calls while it is attached")
dump.terminate()
seen = uprobes.read(dump)
works_on(run, "calls after it was detached")
run.stop()
run.finish()
uprobes.check_hits(seen)
(tid, hits), = seen.hits.items()
calls = uprobes.sequence(uprobes.rounds(run, tid))
check(len(hits) < len(calls), "it was attached until the end")
equal(names(hits), [c[0] for c in calls[:len(hits)]], "calls")
equal([h["number"] for h in hits], list(range(1, len(hits) + 1)), "numbers")
equal(sum(uprobes.expected(run.account)[tid].values()), len(calls), "the program's account")

step("a library that is loaded later: the dynamic linker tells")
library = os.path.join(uprobes.OUT, "libcudart.so.13")
run = uprobes.Run("program-bare", 2, 100, "warm=0", "load=%s:cudaLaunchKernel" % library)
run.start()
refused = run.dump(wait=True)
equal(uprobes.read(refused).one("error")["code"], "no-library", "without a library")
dump = run.dump("wait", "rescan=600000")
run.go()
seen = run.end(dump)
uprobes.check_hits(seen)
equal({t: len(h) for t, h in seen.hits.items()},
      {t: sum(c.values()) for t, c in uprobes.expected(run.account).items()}, "hits")
for hits in seen.hits.values():
    for h in hits:
        uprobes.check_stack(run, seen, h, ("forward", "backward", "hollow", "deep"))
maps = [m for m in seen.records["mapping"] if seen.strings[m["path"]].endswith("libcudart.so.13")]
check(maps and all(m["time_ns"] > 0 for m in maps), "no mapping of the library with its time")

step("loaded and unloaded again and again")
run = uprobes.Run("program-bare", 1, 100, "warm=0", PAUSE, "reload=5",
                  "load=%s:cudaLaunchKernel" % library)
run.start()
dump = run.dump("wait", "rescan=600000")
run.go()
seen = run.end(dump)
uprobes.check_hits(seen)
total = sum(len(h) for h in seen.hits.values())
# One thread at a time loads it, and the first one may end before it is probed.
one = len(uprobes.sequence(100))
check(total >= 4 * one, "%d hits of %d" % (total, 5 * one))
for hits in seen.hits.values():
    for h in hits:
        if h["stack"]:
            uprobes.check_stack(run, seen, h, ("forward", "backward", "hollow", "deep"))

step("two processes with the same libraries, each with its own")
runs = [uprobes.Run("program", 2, 150), uprobes.Run("program-static", 2, 100)]
for r in runs:
    r.start()
dumps = [r.dump() for r in runs]
for r in runs:
    r.go()
for r, d in zip(runs, dumps):
    seen = r.end(d)
    uprobes.check_exact(r, seen)

step("its first thread ends, before it is attached or after")
for when in "before", "after":
    run = uprobes.Run("program", 2, 100, "leader-exits")
    run.start()
    if when == "after":
        dump = run.dump("rescan=50")
    until(lambda: " Z " in open("/proc/%d/task/%d/stat" % (run.pid, run.pid)).read(),
          "first thread ends") if when == "before" else time.sleep(0.5)
    if when == "before":
        dump = run.dump()
    run.go()
    uprobes.check_exact(run, run.end(dump))

step("a child that shares its memory is another process")
run = uprobes.Run("program", 1, 20, "vfork")
run.start()
dump = run.dump()
run.go()
seen = run.end(dump)
uprobes.check_exact(run, seen)
# The runtime's call and the nested call to the driver. Newer kernels do not even show them.
check(seen.counts["foreign"] <= 2, "%d calls of the child" % seen.counts["foreign"])

step("exec: another program from there on")
run = uprobes.Run("program", 1, 20, "exec")
run.start()
dump = run.dump()
run.go()
dump.wait()
text = open(dump.output).read()
run.process.wait()
lines = run.process.stdout.read().splitlines()
run.account = uprobes.json.loads(lines[0])
seen = uprobes.Seen(text)
equal(seen.counts["state"], "exec", "state")
equal(sizes(seen), {t: sum(c.values()) for t, c in uprobes.expected(run.account).items()}, "hits")

step("killed: what it did until then is there")
run = uprobes.Run("program", 2, 10**9, "warm=0", "pause=2000")
run.start()
dump = run.dump()
run.go()
time.sleep(1)
os.kill(run.pid, signal.SIGKILL)
seen = uprobes.read(dump)
run.process.wait()
equal(seen.counts["state"], "exited", "state")
equal(seen.counts["lost_ring"], 0, "lost")
for tid, hits in seen.hits.items():
    equal([h["number"] for h in hits], list(range(1, len(hits) + 1)), "numbers")
    check(len(hits) > 20, "%d hits" % len(hits))
    equal(names(hits), [c[0] for c in uprobes.sequence(len(hits) // 10 + 1)[:len(hits)]], "calls")
