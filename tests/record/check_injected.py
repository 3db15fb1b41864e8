# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The real injection library in a program that uses stand-ins of CUDA's (tests/inject).

The stand-ins keep an account of their own: what was launched from where, and what ran when.
"""
import json
import os
import signal
import struct
import subprocess
import time

from kit import Skip, has, same, test

LAUNCH, CAPTURED, KERNEL, COPY, SET = range(1, 6)
ENTRY = struct.Struct("<4I5Q2I")
# Which function of the program launches which kernel.
CALLERS = {"kernel_a": "launch_here", "kernel_b": "launch_there", "kernel_c": "launch_deep",
           "kernel_d": "launch_by_driver", "kernel_e": "launch_ex"}


def environment(kit):
    if not kit.inject:
        raise Skip("no cupti.h, the injection library was not built")
    return {"LD_LIBRARY_PATH": f"{kit.inject}/13:{kit.inject}", "MOCK_DRIVER_VERSION": "13000",
            "MOCK_ACCOUNT": kit.path("account"),
            "GPUMON_INJECT": os.path.join(kit.inject, "libgpumon-inject.so")}


def record(kit, *words, status=0):
    variables = environment(kit)
    library_path = variables.pop("LD_LIBRARY_PATH")
    done = kit.run("record", "-q", "-o", "capture", "--", "env", f"LD_LIBRARY_PATH={library_path}",
                   os.path.join(kit.inject, "program"), *map(str, words), env=variables)
    same("status", done.returncode, status)
    return done


def account(kit):
    with open(kit.path("account"), "rb") as file:
        count, = struct.unpack("<I", file.read(4))
        file.seek(ENTRY.size)
        return list(ENTRY.iter_unpack(file.read(ENTRY.size * count)))


def check_account(kit, tree):
    """As many kernels, copies and sets as the stand-in ran, for as long as it says."""
    entries = account(kit)
    for kind, wanted in (("kernel", KERNEL), ("copy", COPY), ("set", SET)):
        ran = [entry for entry in entries if entry[0] == wanted]
        rows = [row for row in tree["kernels"] if row["kind"] == kind]
        same(f"number of {kind}s", sum(row["count"] for row in rows), len(ran))
        same(f"GPU time of {kind}s", sum(row["gpu_ns"] for row in rows),
             sum(entry[6] - entry[5] for entry in ran))


def check_paths(kit):
    """Every kernel's time is below the function that launched it."""
    folded = kit.run("flamegraph", "--folded", "capture").stdout.decode()
    seen = set()
    for line in folded.splitlines():
        names = line.rsplit(" ", 1)[0].split(";")
        caller = CALLERS.get(names[-1])
        if not caller:
            continue
        seen.add(names[-1])
        if not any(name.startswith(caller) for name in names):
            raise AssertionError(f"not from {caller}: {line}")
        for other in set(CALLERS.values()) - {caller}:
            if other in names:
                raise AssertionError(f"from {other}: {line}")
    same("kernels with a path", seen, set(CALLERS))


def show(kit):
    done = kit.run("correlate", "--json", "capture")
    same("status", done.returncode, 0)
    return json.loads(done.stdout)


@test
def loop(kit):
    record(kit, "loop", 2100)
    check_account(kit, show(kit))
    check_paths(kit)


@test
def threads(kit):
    record(kit, "threads", 1400, 6)
    check_account(kit, show(kit))
    check_paths(kit)


@test
def graphs(kit):
    record(kit, "graph", 25)
    check_account(kit, show(kit))
    folded = kit.run("flamegraph", "--folded", "capture").stdout.decode()
    # A node's kernels are where it was created.
    for name, caller in (("node_a", "launch_here"), ("node_b", "launch_there")):
        lines = [line for line in folded.splitlines() if f";{name} " in line]
        same(f"paths of {name}", len(lines), 1)
        has(f"path of {name}", lines[0], f";{caller};")


@test
def fork_and_exec(kit):
    record(kit, "fork", 70)
    same("processes", len(kit.capture().processes), 2)
    check_account(kit, show(kit))


@test
def killed(kit):
    """What CUPTI had not given out is counted as launches without work."""
    record(kit, "kill", 140, 0, status=128 + signal.SIGKILL)
    capture = kit.capture()
    same("launches", capture.sum("launches"), 140)
    tree = show(kit)
    done = sum(row["count"] for row in tree["kernels"])
    same("with and without work", done + tree["missing"]["launches"]["without_work"], 140)


@test
def not_cuda(kit):
    done = record(kit, "quiet")
    same("processes", len(kit.capture().processes), 0)
    same("output", done.stderr, b"")


def start(kit, *words, inject):
    variables = dict(kit.environment, **environment(kit))
    if inject:
        variables["CUDA_INJECTION64_PATH"] = variables["GPUMON_INJECT"]
    process = subprocess.Popen([os.path.join(kit.inject, "program"), *map(str, words)],
                               env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    time.sleep(0.2)
    return process


@test
def asleep(kit):
    """Switched on and off again, twice, while the program goes on."""
    process = start(kit, "steady", 1000000, 1000000, inject=True)
    try:
        for name in ("first", "capture"):
            done = kit.run("record", "-o", name, "-p", str(process.pid), "-d", "0.5")
            same("status", done.returncode, 0)
            if kit.capture(name).sum("kernels") < 50:
                raise AssertionError("few kernels were recorded")
        same("it lives", process.poll(), None)
    finally:
        process.kill()
        process.communicate()
    check_paths(kit)
    tree = show(kit)
    same("kernels without a launch", tree["missing"]["works"]["no_launch"]["kernel"], 0)


@test
def by_uprobes(kit):
    """Without the library: the processor's side, and it says so."""
    process = start(kit, "steady", 1000000, 1000000, inject=False)
    try:
        done = kit.run("record", "-o", "capture", "-p", str(process.pid), "-d", "0.7")
        same("it lives", process.poll(), None)
    finally:
        process.kill()
        process.communicate()
    text = done.stderr.decode()
    if done.returncode == 77:
        raise Skip(text.strip())
    same("status", done.returncode, 0)
    has("message", text, "what the GPU did is not known")
    hits = kit.capture().sum("hits")
    if hits < 100:
        raise AssertionError(f"{hits} hits")
    calls = kit.run("flamegraph", "--folded", "--cpu-only", "--count", "capture")
    same("status", calls.returncode, 0)
    for caller in ("launch_here", "launch_there"):
        has("paths of calls", calls.stdout.decode(), f";{caller};")
