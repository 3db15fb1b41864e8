# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""How a test of each suite is built and run: two commands, in a copy of the tree."""
import pathlib
import subprocess
import sys

MAKE = ["make", "--no-print-directory", "-s"]


def user(top, test):
    program = f"{top}/tests/user/obj/{test}"
    return MAKE + ["-C", "tests/user", program], [sys.executable, "tests/lib/tap.py", "user", program]


def stack(top, test):
    return (MAKE + ["-C", "tests/stack", "all"],
            [sys.executable, "tests/stack/run", f"{top}/tests/stack/obj", test])


def inject(top, test):
    return (MAKE + ["-C", "tests/inject", "build", f"CUDA={headers()}"],
            [sys.executable, "tests/inject/check", f"{top}/tests/inject/obj", test])


def opencl(top, test):
    return (["sh", "-c", "make -s -C user && make -s -C tests/opencl build"],
            ["env", f"GPUMON_PROGRAM={top}/user/gpumon-user", sys.executable, "tests/opencl/check",
             f"{top}/tests/opencl/obj", test])


def ze(top, test):
    return (["sh", "-c", "make -s -C user && make -s -C tests/ze build"],
            ["env", f"GPUMON_PROGRAM={top}/user/gpumon-user", sys.executable, "tests/ze/check",
             f"{top}/tests/ze/obj", test])


def hip(top, test):
    return (["sh", "-c", "make -s -C user && make -s -C tests/hip build"],
            ["env", f"GPUMON_PROGRAM={top}/user/gpumon-user", sys.executable, "tests/hip/check",
             f"{top}/tests/hip/obj", test])


def record(top, test):
    return (["sh", "-c", f"make -s -C user && make -s -C tests/record all inject CUDA={headers()}"],
            [sys.executable, "tests/record/run", f"{top}/user/gpumon-user", f"{top}/tests/record/obj", test])


def output(top, test):
    return (MAKE + ["-C", "tests/output", "all", f"OBJ={top}/tests/user/obj"],
            [sys.executable, "tests/output/run", f"{top}/tests/user/obj/produce", test])


def probe_edit(top, test):
    objects = f"{top}/tests/probe/edit/obj"
    if test.startswith("test_"):
        return (MAKE + ["-C", "tests/probe/edit", f"obj/{test}"],
                ["sh", "-c", f"cd tests/probe/edit && {sys.executable} ../../lib/tap.py probe/edit {objects}/{test}"])
    return (MAKE + ["-C", "tests/probe/edit", "all"],
            [sys.executable, "tests/probe/edit/check", objects, test])


def capture(_top, test):
    return MAKE + ["-C", "user"], [sys.executable, "tests/capture/run", test]


def probe(top, test):
    return (MAKE + ["-C", "tests/probe", f"obj/{test}"],
            [sys.executable, "tests/probe/run", f"{top}/tests/probe/obj", test])


def headers():
    """CUDA's headers, the same for the whole run."""
    if not headers.found:
        here = pathlib.Path(__file__).resolve().parent
        headers.found = subprocess.run([here / "../lib/cuda", "headers"], check=True, text=True,
                                       stdout=subprocess.PIPE).stdout.strip()
    return headers.found


headers.found = None

SUITES = {suite.__name__: suite for suite in (user, stack, inject, opencl, ze, hip, record, output, capture, probe,
                                                probe_edit)}
