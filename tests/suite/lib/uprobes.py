# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Uprobes on stand-ins of the GPU's libraries (tests/uprobe): a program with an account of its
own calls, and what user/record/uprobe*.c saw of it.

    run = uprobes.Run("program", 4, 400)      4 threads, 400 rounds
    run.start()                               waits for go
    dump = run.dump()                         attached when it returns
    run.go()
    seen = run.end(dump)
    uprobes.check_exact(run, seen)
"""
import atexit
import collections
import json
import os
import subprocess
import tempfile
import time

from lab import check, equal

OUT = os.environ.get("UPROBE_OUT",
                     os.path.join(os.environ.get("GPUMON_BUILD", "."), "tests/uprobe/out"))
CAUSE_RING, CAUSE_STACK, CAUSE_UNDECIDED = 7, 8, 15
THROUGH = os.path.join(OUT, "through")

# The name under which a call is seen. Only one of the two jump-only functions can be recognised by
# its code.
SEEN_AS = {"__cudaLaunchKernel": "cudaLaunchKernel", "cudaNotKnownToAnybody": "cuLaunchKernel"}
BLOCKING = {"cudaMemcpy", "cudaStreamSynchronize", "cudaDeviceSynchronize", "cuMemcpyHtoD_v2",
            "hipStreamSynchronize"}
# For programs without the runtime's symbols.
DRIVER = {"cudaLaunchKernel": "cuLaunchKernel", "cudaLaunchKernel_ptsz": "cuLaunchKernel_ptsz",
          "__cudaLaunchKernel_ptsz": "cuLaunchKernel_ptsz",
          "cudaLaunchKernelExC": "cuLaunchKernelEx", "cudaGraphLaunch": "cuGraphLaunch",
          "cudaLaunchCooperativeKernel": "cuLaunchCooperativeKernel",
          "cudaMemcpyAsync": "cuMemcpyAsync", "cudaMemsetAsync": "cuMemsetD8Async",
          "cudaMemcpy": "cuMemcpyHtoD_v2", "cudaStreamSynchronize": "cuStreamSynchronize",
          "cudaDeviceSynchronize": "cuCtxSynchronize"}
FORWARD = ("cudaLaunchKernel", "cudaLaunchKernel", "cudaLaunchKernel", "__cudaLaunchKernel",
           "cudaMemcpyAsync", "cudaLaunchKernelExC", "cudaMemsetAsync", "cuLaunchKernel",
           "__cudaLaunchKernel_ptsz", "cudaLaunchKernel_ptsz")
BACKWARD = ("cudaLaunchKernel", "cudaGraphLaunch", "cudaStreamSynchronize", "cudaMemcpy",
            "cuMemcpyHtoD_v2", "cudaLaunchCooperativeKernel", "hipLaunchKernel",
            "hipModuleLaunchKernel", "hipStreamSynchronize", "zeCommandListAppendLaunchKernel",
            "cudaNotKnownToAnybody", "cudaDeviceSynchronize")
CHAINS = {
    "forward": ["finally_call", "forward_inner", "forward_outer", "one_round", "work"],
    "backward": ["finally_call", "backward_inner", "backward_middle", "backward_outer",
                 "one_round", "work"],
    "hollow": ["finally_call", "hollow", "one_round", "work"],
    "deep": ["finally_call"] + ["deep"] * 41 + ["one_round", "work"],
}


def driver_blocking(name):
    return name in BLOCKING or name in {DRIVER.get(other) for other in BLOCKING}


def sequence(rounds):
    """[(function as seen, name of its chain)] of a thread."""
    calls = []
    for i in range(rounds):
        calls += [(SEEN_AS.get(f, f), "forward") for f in FORWARD]
        if i % 8 == 4:
            calls.append(("cudaLaunchKernel", "hollow"))
        if i % 8 == 0:
            calls += [(SEEN_AS.get(f, f), "backward") for f in BACKWARD]
        if i % 64 == 0:
            calls.append(("cudaLaunchKernel", "deep"))
    return calls


class Seen:
    """The output of a dump."""

    def __init__(self, text):
        self.strings, self.stacks, self.hits = {}, {}, collections.defaultdict(list)
        self.records = collections.defaultdict(list)
        for line in text.splitlines():
            record = json.loads(line)
            kind = record["type"]
            self.records[kind].append(record)
            if kind == "string":
                check(record["id"] not in self.strings, "string %d twice" % record["id"])
                self.strings[record["id"]] = record["text"]
            elif kind == "stack":
                check(record["id"] not in self.stacks, "stack %d twice" % record["id"])
                self.stacks[record["id"]] = record
            elif kind == "hit":
                check(record["function"] in self.strings, "a hit's function is not known yet")
                check(not record["stack"] or record["stack"] in self.stacks,
                      "a hit's stack is not known yet")
                record["name"] = self.strings[record["function"]]
                self.hits[record["tid"]].append(record)

    def one(self, kind):
        equal(len(self.records[kind]), 1, "records of type %s" % kind)
        return self.records[kind][0]

    @property
    def counts(self):
        return self.one("counts")

    def lost(self, cause):
        return sum(r["count"] for r in self.records["loss"] if r["cause"] == cause)

    def notes(self):
        return [self.strings[r["text"]] for r in self.records["note"]]

    def total(self):
        return sum(len(h) for h in self.hits.values())


class Run:
    """A program that makes known calls. After the first round it waits until its code is known."""

    def __init__(self, program, threads, rounds, *arguments, prefix=(), out=OUT):
        self.folder = tempfile.mkdtemp(prefix="uprobe-")
        self.stop_file = os.path.join(self.folder, "stop")
        self.rounds = rounds
        self.go_file = os.path.join(self.folder, "go")
        self.learnt = ()
        self.command = list(prefix) + [os.path.join(out, program), str(threads), str(rounds),
                                       "go=" + self.go_file] + \
            [a.replace("until=stop", "until=" + self.stop_file) for a in arguments if a != "warm=0"]
        if "warm=0" not in arguments:
            file = os.path.join(self.folder, "learnt")
            self.command.append("warm=" + file)
            self.learnt = ("learnt=%s:%d" % (file, threads * len(sequence(1))),)
        self.process = self.account = self.pid = None

    def start(self, **options):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True, **options)
        atexit.register(self.process.kill)
        line = self.process.stdout.readline()
        check(line, "the program says nothing")
        self.pid = json.loads(line)["pid"]
        return self.pid

    def dump(self, *arguments, pid=None, wait=True, **options):
        ready = os.path.join(self.folder, "ready%d" % time.monotonic_ns())
        process = subprocess.Popen([os.path.join(OUT, "uprobe-dump"), str(pid or self.pid),
                                    "ready=" + ready, *self.learnt, *arguments],
                                   stdout=open(ready + ".out", "w+"), **options)
        process.output = ready + ".out"
        while wait and not os.path.exists(ready) and process.poll() is None:
            time.sleep(0.01)
        return process

    def go(self):
        open(self.go_file, "w").close()

    def stop(self):
        """The end of a program with "until=stop"."""
        open(self.stop_file, "w").close()

    def finish(self):
        text = self.process.communicate()[0]
        equal(self.process.returncode, 0, "exit status of the program")
        lines = text.splitlines()
        check(lines, "the program printed no account")
        self.account = json.loads(lines[0])
        return self.account

    def end(self, dump):
        self.finish()
        return read(dump)


def read(dump):
    dump.wait()
    with open(dump.output) as f:
        return Seen(f.read())


def expected(account):
    """{tid: {function as seen: calls}}"""
    found = {}
    for tid, calls in account["threads"].items():
        count = collections.Counter()
        for name, n in calls.items():
            count[SEEN_AS.get(name, name)] += n
        found[int(tid)] = dict(count)
    return found


def rounds(run, tid):
    """How many a thread made: each has one of these calls."""
    return expected(run.account)[tid]["cudaMemsetAsync"]


def check_hits(seen):
    """What holds for the hits of any run."""
    for tid, hits in seen.hits.items():
        numbers = [h["number"] for h in hits]
        check(numbers == sorted(set(numbers)), "numbers of thread %d do not grow" % tid)
        times = [h["time_ns"] for h in hits]
        check(times == sorted(times), "times of thread %d do not grow" % tid)
        for h in hits:
            equal(h["blocking"], driver_blocking(h["name"]), "%s blocks" % h["name"])


def names_of(run, frames):
    """Functions of the program that return addresses are in, "-" for others."""
    places = sorted((address, name) for name, address in run.account["places"].items())
    names = []
    for frame in frames:
        name = "-"
        for address, other in places:
            if address < frame <= address + 4096:
                name = other
        names.append(name)
    return names


def check_stack(run, seen, hit, chains=tuple(CHAINS)):
    """The name of the chain that a hit's stack is; None if it is cut off for a good reason."""
    stack = seen.stacks[hit["stack"]]
    names = names_of(run, stack["frames"][1:])
    # If functions that are not probed made the call, they are in between.
    while hit["name"] == "cuLaunchKernel" and names[:1] == ["-"]:
        names = names[1:]
    for chain in chains:
        whole = CHAINS[chain]
        if not stack["truncated"] and names[:len(whole)] == whole and len(names) > len(whole):
            return chain
        if stack["truncated"] and names == whole[:len(names)]:
            return None
        # The missing part may be that of the library.
        if stack["truncated"] and names[:len(whole)] == whole:
            return chain
    raise AssertionError("stack of %s: %s%s" % (hit["name"], names,
                                                " (cut off)" if stack["truncated"] else ""))


def check_exact(run, seen):
    """Every call of the account has its hit, with the right number and stack; and the stack is
    whole once the thread has done everything for the first time: code that is seen first is
    learnt from copies of stacks, of which there are so many at one time."""
    check_hits(seen)
    want = expected(run.account)
    equal({t: dict(collections.Counter(h["name"] for h in hits))
           for t, hits in seen.hits.items()}, want, "hits by thread and function")
    calls = sequence(run.rounds)
    first = len(sequence(1))
    cut_off = []
    for tid, hits in seen.hits.items():
        equal([h["number"] for h in hits], list(range(1, len(hits) + 1)),
              "numbers of thread %d" % tid)
        equal([h["name"] for h in hits], [c[0] for c in calls], "calls of thread %d" % tid)
        for hit, (name, chain) in zip(hits, calls):
            found = check_stack(run, seen, hit, (chain,))
            if not found and hit["number"] > first:
                cut_off.append((tid, hit["number"], name, hit["stack"],
                                names_of(run, seen.stacks[hit["stack"]]["frames"])))
            if hit["blocking"]:
                check(20000 <= hit["duration_ns"] < 10**10, "%s lasted %d ns" %
                      (name, hit["duration_ns"]))
            else:
                equal(hit["duration_ns"], 0, "duration of %s" % name)
    c = seen.counts
    equal(c["hits"], sum(sum(t.values()) for t in want.values()), "hits counted")
    equal(c["seen"], c["hits"] + c["nested"] + c["foreign"], "seen")
    for name in ("lost_ring", "lost_threads", "lost_stacks", "returns_unseen"):
        equal(c[name], 0, name)
    equal(seen.records["loss"], [], "losses")
    equal(cut_off, [], "stacks that end early")
    check_threads(seen)


def check_threads(seen):
    equal(sorted(t["tid"] for t in seen.records["thread"]), sorted(seen.hits), "threads")


def check_libraries(seen, names):
    """Mappings name these libraries, with build ids where they have one."""
    paths = [seen.strings[m["path"]] for m in seen.records["mapping"]]
    for name in names:
        check(any(os.path.basename(p) == name for p in paths), "no mapping of %s" % name)


def need():
    """Exit with 77 and the reason if the dump has no BPF programs or the kernel refuses them."""
    result = subprocess.run([os.path.join(OUT, "uprobe-dump"), "supported"],
                            stdout=subprocess.PIPE, text=True)
    if result.returncode:
        error = json.loads(result.stdout)
        if error["code"] == "not-built":
            print(error["message"])
            raise SystemExit(77)
        raise AssertionError("uprobes should work here: %s" % error["message"])
