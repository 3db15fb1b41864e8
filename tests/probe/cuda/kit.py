# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Running the program of the tests, by itself and under gpumon-user probe."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import images

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../lib"))
from verdict import SLOWER, Failure, Skip, check, contains, equal, until, within  # noqa: E402,F401

program = objects = None
SANITIZED = os.environ.get("SANITIZE", "") != ""
LIMIT = 60 * SLOWER


def sanitizer_runtime():
    """For a program that is not built with the sanitizer, but loads what is."""
    return subprocess.run(["gcc", "-print-file-name=libasan.so"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.strip()


class Folder:
    """A folder for images, which goes with the test."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="gpumon-probe-", dir=objects)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def write(self, name, data):
        path = os.path.join(self.path, name)
        with open(path, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
        return path

    def cubin(self, ptx):
        return images.cubin(self.path, objects, ptx)

    def library(self, name, image):
        """A shared library with an image in it."""
        path, image = os.path.join(self.path, name), self.write("linked", image)
        subprocess.run(["cc", "-shared", "-nostdlib", "-x", "assembler", "-o", path, "-"], check=True, text=True,
                       input=f'.globl image\n.data\n.balign 8\nimage: .incbin "{image}"\n'
                             '.section .note.GNU-stack,"",%progbits\n')
        return path

    def environment(self, **more):
        return {**{k: v for k, v in os.environ.items()
                   if not k.startswith(("GPUMON_", "MOCK_", "CUDA_"))},
                "LD_LIBRARY_PATH": objects,
                "GPUMON_INJECT": os.path.join(objects, "libgpumon-inject.so"),
                "GPUMON_CUPTI": os.path.join(objects, "libcupti.so.13"),
                "NO_COLOR": "1",
                "XDG_CACHE_HOME": os.path.join(self.path, "cache"),
                "ASAN_OPTIONS": f"detect_leaks=0:log_path={self.path}/sanitizer",
                "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={self.path}/sanitizer",
                **{k: str(v) for k, v in more.items()}}

    def command(self, words):
        return [os.path.join(objects, "program"), *map(str, words)]

    def start(self, command, **environment):
        return subprocess.Popen(command, env=self.environment(**environment), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def finish(self, process):
        try:
            out, errors = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            raise Failure("it hangs") from None
        for name in os.listdir(self.path):
            if name.startswith("sanitizer"):
                with open(os.path.join(self.path, name), encoding="utf-8") as file:
                    raise Failure(file.read()[:4000])
        return process.returncode, out, errors

    def alone(self, *words, **environment):
        """(status, output, errors) of the program without gpumon."""
        return self.finish(self.start(self.command(words), **environment))

    def outlives(self, image, *gpumon):
        """gpumon-user with these words and an object is killed: the program does what it does alone."""
        words = ["context", "load", "data", image, "launch", "first", "1x32", "sleep", 600, "launch", "first",
                 "1x32", "load", "data-ex", image, "launch", "first", "1x32", "context", "load", "library", image,
                 "launch", "first", "1x32", "wait", "destroy", "exit", 4]
        plain = self.alone(*words)
        out = os.path.join(self.path, "out")
        # gpumon-user's pipes would end with it.
        script = f'"$@" >{out} 2>&1; echo "status $?" >>{out}'
        process = self.start([program, *gpumon, os.path.join(objects, "count.bpf.o"), "--",
                              "/bin/sh", "-c", script, "sh", *self.command(words)])

        def printed():
            if not os.path.exists(out):
                return ""
            with open(out, encoding="utf-8") as file:
                return file.read()

        until(lambda: "sum" in printed(), "the first launch")
        process.kill()
        process.communicate()
        until(lambda: "status" in printed(), "the program's end")
        equal(printed(), plain[1] + f"status {plain[0]}\n", "what the program did")

    def probe(self, *words, tool="count", options=(), changes=False, before=(), **environment):
        """A run under gpumon-user probe; without `changes` the program has to do what it does alone."""
        command = [*before, program, "probe", "--json", *options, os.path.join(objects, tool + ".bpf.o"), "--"]
        plain = None if changes else self.alone(*words, **environment)
        status, out, errors = self.finish(self.start(command + self.command(words), **environment))
        # The result is a line behind what the program has printed.
        lines = out.splitlines(keepends=True)
        try:
            document = json.loads(lines.pop())
        except (IndexError, ValueError):
            raise Failure(f"no result: status {status}, {out!r}, {errors!r}") from None
        printed = "".join(lines)
        if plain:
            equal(printed, plain[1], "the program's output")
            equal(status, plain[0] if plain[0] >= 0 else 128 - plain[0], f"exit status ({errors})")
        return Result(status, printed, errors, document)


class Result:
    def __init__(self, status, printed, errors, document):
        self.status, self.printed, self.errors, self.document = status, printed, errors, document
        self.tables = document["tables"]
        self.kernels = {row["mangled"]: row for row in self.rows("kernels")}
        self.lost = {row["cause"]: row["count"] for row in self.rows("lost")} if "lost" in self.tables else {}

    def rows(self, name):
        return self.tables[name]["rows"]

    def counts(self, name):
        """{kernel: number} of a map of counts by kernel."""
        numbers = {row["kernel"]: row["mangled"] for row in self.rows("kernels")}
        rows = self.rows(name + "_by_kernel")
        return {numbers[row["kernel"]]: row[name] for row in rows}
