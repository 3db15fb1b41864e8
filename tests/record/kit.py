# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What the tests of the recorder have in common."""
import json
import os
import signal
import shutil
import struct
import subprocess
import sys

for folder in ("../lib", "../suite/lib", "../output"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), folder))
import chunks  # noqa: E402
from listening import wait_listening  # noqa: E402,F401
from verdict import SLOWER, Skip, contains, equal, until  # noqa: E402,F401

NOBODY = 65534
# Time limit in seconds for a program that ends.
LIMIT = 300 * SLOWER


def test(function):
    function.is_test = True
    return function


class Capture:
    """The contents of a capture, by tests/record/count."""

    def __init__(self, lines):
        rows = [json.loads(line) for line in lines.splitlines()]
        self.processes = [row for row in rows if row["kind"] == "process"]
        self.driver = next(row for row in rows if row["kind"] == "driver")
        self.whole = rows[-1]

    def sum(self, key):
        return sum(row[key] for row in self.processes)

    def check(self, processes, launches, ended=True):
        """It is complete, each process is described once and first, and nothing is damaged."""
        equal(len(self.processes), processes, "processes")
        equal(self.sum("launches"), launches, "launches")
        equal(self.sum("kernels"), launches, "kernels")
        equal(self.sum("kernel_ns"), launches * 1000, "kernel time")
        equal(self.sum("lost"), 0, "lost")
        equal(self.whole["ended"], ended, "ended")
        for row in self.processes:
            equal(row["descriptions"], 1, "descriptions")
            equal(row["first_type"], 1, "first record")
        for key in ("truncated", "broken", "missing"):
            equal(self.whole[key], 0, key)


class Kit:
    """The programs and the folder of one test."""

    def __init__(self, program, tools, folder):
        self.program = program
        inject = os.path.join(tools, "inject")
        self.inject = inject if os.path.exists(os.path.join(inject, "program")) else None
        self.player = os.path.join(tools, "player")
        self.counter = os.path.join(tools, "count")
        self.folder = folder
        self.started = []
        library = self.path("libgpumon-inject.so")
        with open(library, "w", encoding="utf-8"):
            pass
        os.chmod(library, 0o755)
        self.environment = dict(os.environ, GPUMON_INJECT=library, TMPDIR=folder, NO_COLOR="1",
                                LC_ALL="C.UTF-8")
        for name in ("RANK", "GPUMON_SOCKET", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "OPENCL_LAYERS"):
            self.environment.pop(name, None)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *words, **options):
        """Run a gpumon-user command to its end."""
        return self.call(self.program, *words, **options)

    def open_program(self):
        """A copy that every user may run: the build folder may be private."""
        copy = self.path("program")
        os.chmod(self.folder, os.stat(self.folder).st_mode | 0o111)
        if not os.path.exists(copy):
            shutil.copy(self.program, copy)
            os.chmod(copy, 0o755)
        return copy

    def run_as_nobody(self, *words, **options):
        return self.call(self.open_program(), *words, user=NOBODY, group=NOBODY, extra_groups=[],
                         **options)

    def call(self, *words, stdin=b"", env=None, to=subprocess.PIPE, **options):
        return subprocess.run(words, input=stdin, stdout=to, stderr=subprocess.PIPE, timeout=LIMIT,
                              cwd=self.folder, env=dict(self.environment, **(env or {})),
                              check=False, **options)

    def start(self, *words, program=None, env=None, **options):
        """Start a gpumon-user command."""
        self.started.append(subprocess.Popen([program or self.program, *words], cwd=self.folder,
                                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                             stderr=subprocess.PIPE,
                                             env=dict(self.environment, **(env or {})), **options))
        return self.started[-1]

    def kill_started(self):
        """What a test that failed has not ended."""
        for process in self.started:
            process.kill()
            process.wait()

    def record(self, *words, directory="capture", options=(), status=0, **more):
        """Record the player. Returns the capture."""
        done = self.run("record", "-o", directory, *options, "--", self.player, *words, **more)
        if status is not None and done.returncode != status:
            raise AssertionError(f"exit status {done.returncode}, not {status}: {done.stderr!r}")
        return done

    def growing(self, directory="capture"):
        """A capture that is being written; None if it cannot be read yet."""
        done = self.call(self.counter, directory)
        return None if done.returncode else Capture(done.stdout.decode())

    def capture(self, directory="capture"):
        done = self.call(self.counter, directory)
        if done.returncode:
            raise AssertionError(done.stderr.decode())
        return Capture(done.stdout.decode())

    def wait_launches(self, number, directory="capture"):
        """Wait until a capture that is being written has that many launches, and their kernels."""
        def there():
            capture = self.growing(directory)
            return capture and capture.sum("launches") >= number and capture.sum("kernels") >= number
        until(there, f"{number} launches are recorded", LIMIT)

    def records(self, directory="capture"):
        """The records of all processes: type, flags, bytes, and their strings."""
        for name in sorted(os.listdir(self.path(directory))):
            if not name.startswith("process-") or not name.endswith(".records"):
                continue
            with open(os.path.join(self.path(directory), name), "rb") as file:
                found = list(chunks.records_of(file.read()))
            strings = {0: None}
            for kind, _, record in found:
                if kind == 5:
                    number, length = struct.unpack_from("<II", record, 8)
                    strings[number] = record[16:16 + length].decode(errors="replace")
            for record in found:
                yield *record, strings

    def wait_for(self, name):
        until(lambda: os.path.exists(self.path(name)), f"{name} is there", LIMIT)

    def touch(self, name):
        with open(self.path(name), "w", encoding="utf-8"):
            pass

    def end(self, process, number=None):
        """Send a signal to a started command and wait for its end."""
        if number is not None:
            process.send_signal(number)
        try:
            out, err = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            raise AssertionError("it did not end") from None
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def left_behind(self):
        """Sockets and captures that should have been removed."""
        return [name for name in os.listdir(self.folder) if name.startswith("gpumon-")]


def state(pid):
    """S: sleeping, Z: zombie, and so on."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0]


def left_processes(program, folder):
    """Processes that run a program of a folder and outlived their parent."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if (os.readlink(f"/proc/{pid}/exe"), os.readlink(f"/proc/{pid}/cwd")) == \
                    (os.path.realpath(program), os.path.realpath(folder)):
                found.append(int(pid))
        except OSError:
            pass
    return found
