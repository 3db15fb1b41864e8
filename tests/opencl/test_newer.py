# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Debian 13: two loaders, pocl 6.0 and rusticl (Mesa 25.0, on llvmpipe)."""
import os
import pathlib
import re
import subprocess

import capture
from capture import LIMIT, Capture, Skip, check, equal
from test_records import equals_drivers_times

HERE = pathlib.Path(__file__).resolve().parent
SCRIPT = str(HERE / "newer-drivers")
INJECT = HERE.parents[1] / "inject"


def prepared(what):
    done = subprocess.run([SCRIPT, what], stdout=subprocess.PIPE, text=True, check=False, timeout=LIMIT * 3)
    if done.returncode == 77:
        raise Skip(done.stdout.strip())
    equal(done.returncode, 0, "status of newer-drivers")
    return done.stdout.strip()


def prepare():
    if os.environ.get("SANITIZE"):
        raise Skip("a sanitizer's library does not run with another C library")
    prepared("prepare")


def variables(driver):
    return {"POCL_CACHE_DIR": f"{capture.objects}/cache-{driver}", "GPUMON_CACHE": os.environ.get("GPUMON_CACHE", ""),
            "HOME": os.environ.get("HOME", "/root")}


def within_root(loader, driver, command):
    """A program of the tests by its name, another one by its path."""
    return [SCRIPT, "run", loader, driver, str(capture.objects), os.path.join(capture.objects, command)]


def bare(loader, driver, command, *words):
    return subprocess.run([*within_root(loader, driver, command), *words], stdout=subprocess.PIPE, text=True, check=True,
                          stderr=subprocess.DEVNULL, timeout=LIMIT, env=capture.environment(**variables(driver))).stdout


def recorded(loader, driver, command, *words, options=()):
    return Capture(*words, program=within_root(loader, driver, command), options=["--run-as", "root", *options],
                   limit=3 * LIMIT, **variables(driver))


def other_programs(loader, driver):
    """Programs that are not the tests': clinfo, clpeak, Python."""
    prepare()
    said = recorded(loader, driver, "/usr/bin/clinfo")
    equal(said.output.splitlines(), bare(loader, driver, "/usr/bin/clinfo").splitlines(), "what clinfo prints")
    check("Device Name" in said.output and not said["launch"], "clinfo found no device, or launched something")
    # With rusticl each of its 20,002 launches is handed from thread to thread: minutes on a busy machine.
    if driver != "rusticl":
        said = recorded(loader, driver, "/usr/bin/clpeak", "--kernel-latency").all_have_stacks().all_have_times()
        equal((len(said["launch"]), len(said["kernel"]), said["loss"]), (20002, 20002, []), "clpeak's launches and kernels")
    said = recorded(loader, driver, "/usr/bin/python3", str(HERE / "program.py"), "50").all_have_stacks().all_have_times()
    equal({node["name"]: node["count"] for node in said.json()["nodes"] if node["kind"] == "kernel" and node["count"]},
          {"square": 50}, "kernels of Python")
    check("Model.step" in {node["name"] for node in said.json()["nodes"]}, "no function of Python in the paths")


def with_driver(loader, driver):
    prepare()
    for words, count in ((("commands", "2"), None), (("threads", "100"), 800), (("queue-each", "50"), None),
                         (("out-of-order", "3"), None), (("sub-devices", "3"), None), (("queues", "1000"), 2000),
                         (("paths", "50"), 400), (("fork", "50"), 100), (("overlap", "5"), 4)):
        # rusticl divides no device.
        if (driver, words[0]) == ("rusticl", "sub-devices"):
            continue
        run = recorded(loader, driver, "program", *words).equals_account().all_have_stacks()
        check(run.works() and all(work.start_ns for work in run.works()), f"{words}: no work, or work without times")
        run.all_have_times()
        equal(len(run["kernel"]) if count else None, count, f"kernels of {words}")
        equal({clock.source for clock in run["clock"]} <= {1, 2}, True, f"clocks {run['clock']}")
        if words[0] == "overlap":
            equals_drivers_times(run)
    run = recorded(loader, driver, "program", "refused").equals_account()
    equal(run.output, bare(loader, driver, "program", "refused"), "errors that the program gets")
    want = bare(loader, driver, "asks").splitlines()
    got = recorded(loader, driver, "asks").output.splitlines()
    # rusticl gives zeroes where the standard has no times; with the layer, the answer is the standard's.
    wrong = [pair for pair in zip(got, want) if pair[0] != pair[1]]
    equal([pair for pair in wrong if driver != "rusticl" or not re.search(r": -7\b", pair[0])], [], "answers")
    equal(len(got), len(want), "answers")
    check(len(want) > 500, f"{len(want)} answers")


def test_newer_headers():
    """the library compiles with Debian 13's headers"""
    headers = prepared("headers")
    sources = [source.relative_to(INJECT) for part in ("opencl", "ze") for source in
               [INJECT / f"entry_{part}.c", *sorted((INJECT / part).rglob("*.c"))]]
    done = subprocess.run(["make", "-s", "-j2", "-C", str(INJECT), "CUDA=/none", f"OBJ={capture.objects}/newer-headers",
                           f"CPPFLAGS=-isystem {headers}", "CFLAGS=-fsyntax-only -Werror",
                           *(f"{capture.objects}/newer-headers/{source.with_suffix('.o')}" for source in sources)],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, timeout=LIMIT)
    equal(done.returncode, 0, f"status of make: {done.stderr}")


def test_newer_ocl_icd_pocl():
    """ocl-icd 2.3.3 and pocl 6.0: counts, stacks, times; answers as without the layer"""
    with_driver("ocl-icd", "pocl")


def test_newer_ocl_icd_rusticl():
    """ocl-icd 2.3.3 and rusticl"""
    with_driver("ocl-icd", "rusticl")


def test_newer_khronos_pocl():
    """Khronos's loader and pocl 6.0"""
    with_driver("khronos", "pocl")


def test_newer_khronos_rusticl():
    """Khronos's loader and rusticl"""
    with_driver("khronos", "rusticl")


def test_newer_programs_ocl_icd_pocl():
    """clinfo, clpeak and pyopencl, with ocl-icd 2.3.3 and pocl 6.0"""
    other_programs("ocl-icd", "pocl")


def test_newer_programs_ocl_icd_rusticl():
    """the same with rusticl"""
    other_programs("ocl-icd", "rusticl")


def test_newer_programs_khronos_pocl():
    """with Khronos's loader and pocl 6.0"""
    other_programs("khronos", "pocl")


def test_newer_programs_khronos_rusticl():
    """with Khronos's loader and rusticl"""
    other_programs("khronos", "rusticl")
