# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Recording the program of the tests, and what is in the capture, by the tables of capture-format.md."""
import collections
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("../lib", "../suite/lib", "../capture"):
    sys.path.insert(0, str(HERE / folder))
import chunks  # noqa: E402
import writer  # noqa: E402
from listening import wait_listening  # noqa: E402
from verdict import SLOWER, Failure, Skip, check, communicate, contains, equal, need, until, within  # noqa: E402,F401

LIMIT = 120 * SLOWER
UNFINISHED, FAILED, UNTIMED, BAD_TIMES = 1, 8, 16, 32
LAUNCH_FAILED, LAUNCH_WAITS = 16, 64
NAMES = {number: name for name, (number, _, _) in writer.LAYOUTS.items()}

objects = None
tool = os.environ.get("GPUMON_PROGRAM", "gpumon-user")


def environment(**more):
    kept = {key: value for key, value in os.environ.items()
            if not key.startswith(("GPUMON_", "OPENCL_", "CUDA_", "POCL_"))}
    return {**kept, "GPUMON_INJECT": f"{objects}/libgpumon-inject.so", "LC_ALL": "C.UTF-8",
            "POCL_CACHE_DIR": f"{objects}/pocl-cache", "HOME": str(objects),
            "ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1", **more}


def preload(name="libgpumon-preload.so"):
    """What "record" preloads, as it writes it."""
    return f"{objects}/gpumon-preload/not-libasan.so/$PLATFORM/{name}"


def sanitised(command, *preloaded):
    """A program that may not be of the tests, with the sanitizer that the library was built with.

    @preloaded: what else is preloaded, after it.
    """
    if not os.environ.get("SANITIZE"):
        return command
    # It wants to find the exceptions of C++ when it begins.
    libraries = [subprocess.run(["gcc", "-print-file-name=" + name], stdout=subprocess.PIPE, text=True,
                                check=True).stdout.strip() for name in ("libasan.so", "libstdc++.so.6")]
    return ["/usr/bin/env", "LD_PRELOAD=" + ":".join([*libraries, *preloaded]), *command]


class Record:
    """Fields by the names that they have in the format; strings are looked up by text()."""

    def __init__(self, kind, flags, data):
        self.what, self.flags = kind, flags
        _, table, tail = writer.LAYOUTS[kind]
        for at, code, values, field in table:
            size = struct.calcsize("<" + code)
            read = struct.unpack("<" + code, data[at:at + size].ljust(size, b"\0"))
            setattr(self, field, read if values > 1 else read[0])
        self.tail = data[tail:] if tail is not None else b""

    def __repr__(self):
        return str(self.__dict__)


class Capture:
    """A run of a program, recorded. Of a running one, pid, until there are so many launches; if it is without
    the library, begun() is called when it is recorded. @prefix: of the recorder's command."""

    def __init__(self, *words, program=None, pid=None, begun=None, launches=0, options=(), status=0, expect=1,
                 limit=LIMIT, prefix=(), **variables):
        self.folder = tempfile.mkdtemp(prefix="gpumon-opencl-", dir=objects)
        self.path = os.path.join(self.folder, "capture")
        preloaded = [variables["LD_PRELOAD"]] if "LD_PRELOAD" in variables else []
        command = sanitised(program, *preloaded) if program else [os.path.join(objects, "program")]
        if pid and not begun:
            wait_listening(pid)
        target = ["-p", str(pid)] if pid else ["--", *command, *map(str, words)]
        with subprocess.Popen([*prefix, tool, "record", "-o", self.path, "--no-driver", *options, *target],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder,
                              env=environment(**variables)) as recorder:
            try:
                if begun:
                    until(lambda: recorder.poll() is not None or self.files(), "the process is recorded")
                    begun()
                if launches:
                    until(lambda: recorder.poll() is not None or self.has_launches(launches), f"{launches} launches")
                    recorder.send_signal(signal.SIGINT)
                self.output, errors = communicate(recorder, limit)
            finally:
                recorder.kill()
        self.done = subprocess.CompletedProcess(recorder.args, recorder.returncode, self.output, errors)
        if status is not None:
            check(self.done.returncode == status,
                  f"exit status {self.done.returncode}, not {status}: {self.done.stderr[-500:]}")
        if "--continuous" in options:
            self.path, = map(str, pathlib.Path(self.path).glob("capture-*"))
        files = self.files()
        check("runtime error" not in self.done.stderr, f"a sanitizer says {self.done.stderr[-2000:]}")
        if expect is not None:
            equal(len(files), expect, "processes")
        self.records = collections.defaultdict(list)
        self.strings = {}
        for file in files:
            for kind, flags, data in chunks.records_of(file.read_bytes()):
                if kind not in NAMES:
                    continue
                record = Record(NAMES[kind], flags, data)
                self.records[record.what].append(record)
                if record.what == "string":
                    self.strings[record.id] = record.tail[:record.length].decode()

    def files(self):
        return sorted(pathlib.Path(self.path).glob("process-*.records"))

    def has_launches(self, number):
        """Also while it is being recorded: the last chunk may not be whole."""
        count = 0
        for file in self.files():
            data, at = file.read_bytes(), 0
            while found := chunks.chunk_at(data, at):
                count += sum(NAMES.get(kind) == "launch" for kind, _, _ in chunks.records_in(found[2]))
                at = found[3]
        return count >= number

    def __getitem__(self, kind):
        return self.records[kind]

    def clock(self):
        """The last one that was learnt: each thread writes its own part of the file."""
        return max(self["clock"], key=lambda clock: clock.time_ns)

    def text(self, number):
        return self.strings.get(number, "")

    def works(self):
        return self["kernel"] + self["copy"] + self["set"]

    def function_of(self):
        """Correlation to the name of the call."""
        return {launch.correlation: self.text(launch.function) for launch in self["launch"]}

    def said(self, word):
        """The lines that the program printed with this first word, without it."""
        return [line.split()[1:] for line in self.output.splitlines() if line.split()[:1] == [word]]

    def json(self):
        done = subprocess.run([tool, "export", "--json", self.path], stdout=subprocess.PIPE, check=True,
                              timeout=LIMIT, env=environment())
        return json.loads(done.stdout)

    def summary(self, *options):
        return subprocess.run([tool, "correlate", *options, self.path], stdout=subprocess.PIPE, check=True,
                              timeout=LIMIT, env=environment(), text=True).stdout

    def equals_account(self):
        """Each launch and each operation is there once, with its bytes, as the program counted them."""
        account = {name: (int(count), int(size)) for name, count, size in self.said("did")}
        check(account, f"the program said nothing: {self.done.stderr[-500:]}")
        good = [launch for launch in self["launch"] if not launch.flags & LAUNCH_FAILED]
        launches = collections.Counter(self.text(launch.function) for launch in good)
        equal(dict(launches), {name: count for name, (count, _) in account.items()}, "launches")
        functions, works, sizes = self.function_of(), collections.Counter(), collections.Counter()
        seen = set()
        for work in self.works():
            check(work.correlation not in seen, "two operations of one launch")
            seen.add(work.correlation)
            works[functions[work.correlation]] += 1
            sizes[functions[work.correlation]] += getattr(work, "bytes", 0)
        equal(dict(works), {name: count for name, (count, _) in account.items()}, "operations")
        equal(dict(+sizes), {name: size for name, (_, size) in account.items() if size}, "bytes")
        equal(self["loss"], [], "losses")
        return self

    def all_have_stacks(self):
        check(all(launch.stack for launch in self["launch"]), "a launch without a stack")
        wrong = self.json()["missing"]["works"]
        for match in ("no_stack", "no_launch", "ambiguous"):
            equal(sum(wrong[match].values()), 0, match)
        return self

    def all_have_times(self):
        launches = {launch.correlation: launch for launch in self["launch"]}
        for work in self.works():
            equal(work.flags & ~4, 0, "flags")
            check(0 < launches[work.correlation].start_ns <= work.start_ns <= work.end_ns,
                  f"times: {work} of {launches[work.correlation]}")
            if work.what == "kernel":
                check(work.queued_ns <= work.submitted_ns <= work.start_ns, f"queued times: {work}")
        return self
