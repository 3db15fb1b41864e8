# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Where the programs and libraries are, and how one is recorded by gpumon-user."""
import functools
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from steps import OUT, Skip, say

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
CUDA = os.environ.get("CUDA", "/usr/local/cuda")
DIR = os.path.abspath(os.environ.get("GPUMON_DEVICE_DIR", os.path.join(TOP, ".gpu")))
GPUMON = os.path.join(DIR, "gpumon-user")
LIBRARY = os.path.join(DIR, "libgpumon-inject.so")
SCRATCH = tempfile.mkdtemp(prefix="gpumon-device-")
CAPTURES = os.path.join(OUT, "captures")
PYTHON = shutil.which("python3") or sys.executable


def program(name):
    path = os.path.join(DIR, name)
    if not os.path.exists(path):
        raise Skip(f"no {path}: tests/device/carry {DIR} makes it")
    return path


def prepare():
    """Build what was not brought along."""
    os.makedirs(OUT, exist_ok=True)
    if not os.path.exists(GPUMON) or not os.path.exists(LIBRARY):
        subprocess.run([os.path.join(HERE, "carry"), DIR], check=True, timeout=600)


@functools.lru_cache
def cuda_folders():
    """The folders with CUDA's libraries: the toolkit's first, then wheels', then those brought
    along.
    """
    wheels = []
    for base in {p for p in subprocess.run(
            [PYTHON, "-c", "import site, sys\nprint(*sys.path, sep='\\n')"], text=True,
            capture_output=True, check=False, timeout=30).stdout.splitlines() if p}:
        wheels += glob.glob(f"{base}/nvidia/*/lib")
    candidates = [f"{CUDA}/lib64", f"{CUDA}/targets/x86_64-linux/lib",
                  f"{CUDA}/extras/CUPTI/lib64", *sorted(wheels), os.path.join(DIR, "cuda")]
    return [c for c in candidates if glob.glob(f"{c}/libcudart.so.1*") or
            glob.glob(f"{c}/libcupti.so.1*") or glob.glob(f"{c}/libcublas.so.1*")]


def find_library(name):
    for folder in cuda_folders():
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return os.path.realpath(path)
    raise Skip(f"no {name} in {':'.join(cuda_folders())}")


def environment(own=True, **more):
    """For the test programs, with CUDA's libraries in the path; own=False: unchanged, for PyTorch.
    """
    base = {k: v for k, v in os.environ.items()
            if not k.startswith(("GPUMON_", "BARE_", "KNOWN_", "CUDA_INJECTION", "NVTX_INJECTION"))}
    if own:
        paths = [*cuda_folders(), base.get("LD_LIBRARY_PATH", "")]
        base["LD_LIBRARY_PATH"] = ":".join(p for p in paths if p)
    base.update({k: str(v) for k, v in more.items() if v is not None})
    return base


def call(words, timeout=60, env=None, stdin=None, limit=None):
    """Run a command to its end. If it takes too long, it and its children are killed."""
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL if stdin is None else stdin,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
                               errors="replace", start_new_session=True)
    try:
        out, err = process.communicate(timeout=timeout)
    except BaseException:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except OSError:
            pass
        process.wait()
        raise
    if limit is not None and process.returncode != limit:
        raise RuntimeError(f"{words[0]} ends with {process.returncode}: {err[-300:]}")
    return subprocess.CompletedProcess(words, process.returncode, out, err)


class Recorded:
    """A program under `gpumon-user record`, its accounts and its profile."""

    def __init__(self, name, words, options=(), keep=False, own=True, timeout=90, env=None):
        self.name = name
        self.folder = os.path.join(CAPTURES if keep else SCRATCH, name)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(os.path.dirname(self.folder), exist_ok=True)
        self.prefix = os.path.join(SCRATCH, name + ".account")
        begin = time.monotonic()
        self.result = call([GPUMON, "record", "-o", self.folder, *options, "--", *map(str, words)],
                           timeout, environment(own, GPUMON_INJECT=LIBRARY,
                                                KNOWN_ACCOUNT=self.prefix, **(env or {})))
        self.seconds = time.monotonic() - begin
        self._profile = None

    @property
    def accounts(self):
        result = []
        for path in sorted(glob.glob(self.prefix + ".*")):
            with open(path, encoding="utf-8") as file:
                result.append(json.load(file))
        return result

    @property
    def profile(self):
        if self._profile is None:
            self._profile = profile_of(self.folder)
        return self._profile

    @property
    def bytes(self):
        return size_of(self.folder)


def size_of(folder):
    return sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder))


def profile_of(folder, *options):
    result = call([GPUMON, "export", "--json", *options, folder], 60,
                  environment(False, DEBUGINFOD_URLS=""))
    if result.returncode:
        raise RuntimeError(f"export --json: {result.returncode}: {result.stderr[-300:]}")
    return json.loads(result.stdout)


def describe():
    """The machine, as lines, which are also printed."""
    text = []
    for command in (["nvidia-smi", "-L"],
                    ["nvidia-smi", "--query-gpu=driver_version,name", "--format=csv,noheader"],
                    ["uname", "-sr"], [GPUMON, "--version"], ["cat", DIR + "/version"]):
        try:
            result = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
            text.append(" ".join(result.stdout.split()) or result.stderr.strip()[-200:])
        except (OSError, subprocess.SubprocessError) as error:
            text.append(f"{command[0]}: {error}")
    text.append(f"CUDA's libraries: {':'.join(cuda_folders())}")
    for line in text:
        say(f"# {line}")
    return text


def device_count():
    return int(call([program("known"), "count-devices"], 60, environment(), limit=0).stdout)


def have_gpu():
    """Whether there is a GPU that the test programs can use. Prints a line if not."""
    result = call([program("known"), "count-devices"], 60, environment())
    if result.returncode or int(result.stdout or 0) < 1:
        say(f"skip all: no NVIDIA GPU here: {result.stderr.strip()}")
        return False
    return True


def mig_devices():
    """UUIDs of the MIG instances where MIG is on. The test must not switch it."""
    try:
        text = call(["nvidia-smi", "-L"], 30).stdout
    except OSError:
        return []
    return re.findall(r"UUID: (MIG-[0-9a-f-]+)", text)
