# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Running the program of the tests, and comparing what was recorded with the account."""
import collections
import os
import struct
import subprocess
import sys
import tempfile

import recorder as rec

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from verdict import SLOWER, Failure, Skip, busier, check, communicate, equal, need, until  # noqa: E402,F401

(LAUNCH, CAPTURED, KERNEL, COPY, SET, DROPPED, NO_TIME, NODE, CLONE, CALL, UNFINISHED,
 BROKEN, LOADED, DETACHED, GRAPH, BUFFER, SAMPLE, SAMPLING, STALLS, SAMPLED, HW_TRACE) = range(1, 22)
ENTRY = struct.Struct("<4I5Q2I")
Entry = collections.namedtuple(
    "Entry", "type pid tid correlation address start end node other result window")
RULES = {1: "called CUPTI in a buffer callback", 2: "set the clock twice",
         3: "set the clock after a kind was enabled", 4: "called CUPTI before cuptiSubscribe",
         5: "gave a buffer that is not zero", 6: "gave a subscriber that is not its own",
         7: "detached outside of the exit of a call", 8: "added metrics to a host object that has some",
         9: "detached while a GPU is sampled", 10: "went on sampling a context that is destroyed",
         11: "detached while a context was sampled", 12: "switched sampling on twice",
         13: "read or switched off a context that is not sampled",
         14: "read samples in a thread of the program", 15: "gave too little room for samples",
         16: "called a function for one subscriber beside those that share CUPTI",
         17: "forced a flush while another subscriber gets records",
         18: "asked for the hardware's trace when there was a subscriber"}

# The record of what a look at a thread found.
WAIT = 25

objects = None

# Time limit in seconds for a program that ends.
LIMIT = 120 * SLOWER

SANITIZED = os.environ.get("SANITIZE", "") != ""


def need_real_processor():
    if os.environ.get("GPUMON_EMULATED"):
        raise Skip("its times are too short for an emulated processor")


class Run:
    """One run of the program, with its account and the targets that connected to the recorder."""

    def __init__(self, *arguments, generation=13, recorded=True, wait=True, blocks=512, interval=0.005,
                 environment=None, stdin=None, stdout=subprocess.PIPE, command=None, **settings):
        self.folder = tempfile.mkdtemp(prefix="gpumon-inject-", dir=objects)
        self.account_path = os.path.join(self.folder, "account")
        self.recorder = None
        self.environment = {
            **{k: v for k, v in os.environ.items()
               if not k.startswith(("GPUMON_", "MOCK_", "CUDA_", "NVTX_"))},
            "CUDA_INJECTION64_PATH": os.path.join(objects, "libgpumon-inject.so"),
            "LD_LIBRARY_PATH": f"{objects}/{generation}:{objects}",
            "MOCK_ACCOUNT": self.account_path,
            "MOCK_DRIVER_VERSION": f"{generation}000",
            # The stand-in allocates in a launch, also in one of a signal handler.
            "TSAN_OPTIONS": f"report_signal_unsafe=0:log_path={self.folder}/sanitizer",
            "ASAN_OPTIONS": f"detect_leaks=0:log_path={self.folder}/sanitizer",
            "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={self.folder}/sanitizer",
            **(environment or {}),
        }
        path = os.path.join(self.folder, "socket")
        if recorded:
            self.recorder = rec.Recorder(path, blocks=blocks, interval=interval, **settings)
            self.environment["GPUMON_SOCKET"] = path
        self.process = subprocess.Popen(
            [*(command or [os.path.join(objects, "program")]), *map(str, arguments)], env=self.environment,
            stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, text=True)
        if wait:
            self.wait()

    def go_on(self):
        """The program waits for this, with a pipe as stdin. At the latest wait() closes that."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def wait(self, seconds=LIMIT):
        try:
            self.output, self.errors = communicate(self.process, seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failure("the program hangs") from None
        if self.recorder:
            self.recorder.wait(LIMIT * busier())
            self.recorder.close()
        self.check_sanitizer()
        return self

    def check_sanitizer(self):
        """Sanitisers write to files, so that their output is not taken for the program's."""
        for name in os.listdir(self.folder):
            if name.startswith("sanitizer"):
                with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                    raise Failure(file.read()[:4000])

    @property
    def status(self):
        return self.process.returncode

    def targets(self):
        return self.recorder.targets

    def only(self):
        equal(len(self.targets()), 1, "processes that connected")
        return self.targets()[0]

    def account(self, *types, pid=None):
        with open(self.account_path, "rb") as file:
            count, = struct.unpack("<I", file.read(4))
            file.seek(ENTRY.size)
            data = file.read(ENTRY.size * count)
        entries = [Entry(*values) for values in ENTRY.iter_unpack(data)]
        return [e for e in entries
                if (not types or e.type in types) and (pid is None or e.pid == pid)]

    def check_rules(self):
        self.check_sanitizer()
        broken = {RULES[e.other] for e in self.account(BROKEN)}
        check(not broken, "the library " + ", ".join(sorted(broken)))


def frames_of(records, launch):
    return records["stacks"].get(launch.stack, ())


def compare_launches(run, records, target, pid=None):
    """Every launch of the account has a record with its stack, and there are no other records."""
    entries = run.account(LAUNCH, CAPTURED, pid=pid or target.pid)
    by_id = {}
    for launch in records["launch"]:
        check(launch.correlation not in by_id, f"launch {launch.correlation} is there twice")
        by_id[launch.correlation] = launch
    equal(len(by_id), len(entries), "launches")
    for entry in entries:
        launch = by_id.get(entry.correlation)
        check(launch, f"launch {entry.correlation} is missing")
        equal(launch.tid, entry.tid, "thread of a launch")
        equal(bool(launch.flags & rec.LAUNCH_CAPTURED), entry.type == CAPTURED,
              f"captured, of launch {entry.correlation}")
        equal(launch.result, entry.result, "result")
        equal(bool(launch.flags & rec.LAUNCH_FAILED), entry.result != 0, "failed")
        check(entry.start <= launch.start_ns <= launch.end_ns <= entry.end,
              f"times of a launch: {entry} {launch}")
        check(entry.address in frames_of(records, launch),
              f"the stack of launch {entry.correlation} lacks its caller {entry.address:#x}: "
              f"{[hex(f) for f in frames_of(records, launch)]}")
        check(launch.stack not in records["truncated"], "a stack is cut")
    return by_id


def compare_work(run, records, name, kind, pid=None):
    """Every operation of the account has a record with its times."""
    told = collections.Counter((w.correlation, w.node, w.start_ns, w.end_ns)
                               for w in records[name] if not w.flags & rec.UNFINISHED)
    should = collections.Counter((e.correlation, e.node, e.start, e.end)
                                 for e in run.account(kind, pid=pid))
    check(told == should, f"{name}: {sum(told.values())} told of, {sum(should.values())} in the "
          f"account; not told of: {list((should - told))[:3]}; "
          f"invented: {list((told - should))[:3]}")


def compare_all(run, target, pid=None):
    run.check_rules()
    pid = pid or target.pid
    records = target.records()
    totals = target.totals()
    equal(totals["lost"], {}, "losses")
    equal(records["unknown"], [], "unknown records")
    equal(records["doubles"], 0, "strings and stacks that were written twice")
    compare_launches(run, records, target, pid)
    for name, kind in (("kernel", KERNEL), ("copy", COPY), ("set", SET)):
        compare_work(run, records, name, kind, pid)
    equal(totals["launches"], len(run.account(LAUNCH, pid=pid)), "launches in all")
    equal(totals["captured"], len(run.account(CAPTURED, pid=pid)), "captured ones in all")
    equal(totals["kernels"], len(run.account(KERNEL, pid=pid)), "kernels in all")
    equal(totals["copies"], len(run.account(COPY, pid=pid)), "copies in all")
    for kernel in records["kernel"]:
        check(kernel.name in records["strings"], "a kernel has no name")
    for launch in records["launch"]:
        check(launch.function in records["strings"], "a launch has no function")
    return records


def notes(records):
    return [records["strings"][n.text] for n in records["note"]]
