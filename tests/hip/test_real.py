# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Real libraries. There is no device: each call fails, and is a call."""
import glob
import os
import pathlib
import subprocess

import capture
from capture import LAUNCH_FAILED, LIMIT, Capture, Skip, contains, equal

HERE = pathlib.Path(__file__).resolve().parent


def need_no_sanitizer():
    if os.environ.get("SANITIZE"):
        raise Skip("a sanitizer's library does not run with another C library")


def with_library(release, major):
    """Each call of the program is there, and failed; 8 threads; the output stays what it was."""
    need_no_sanitizer()
    done = subprocess.run([HERE / "real-library", release], stdout=subprocess.PIPE, text=True, check=False, timeout=LIMIT)
    if done.returncode == 77:
        raise Skip(done.stdout.strip())
    equal(done.returncode, 0, "status of real-library")
    loader, program = done.stdout.split(), f"{capture.objects}/program-{major}"
    preloaded = [*loader, "--preload", f"{capture.objects}/gpumon-preload/libgpumon-preload.so", program]
    for words in (("calls", "50"), ("threads", "200")):
        output = subprocess.run([*loader, program, *words], stdout=subprocess.PIPE, text=True, check=True, timeout=LIMIT,
                                env=capture.environment()).stdout
        run = Capture(*words, program=preloaded)
        equal(run.output, output, "output")
        account = {name: int(count) for name, count in run.said("failed")}
        launches = {}
        for launch in run["launch"]:
            equal((launch.result, launch.flags & LAUNCH_FAILED, bool(launch.stack)), (100, 16, True), "a launch")
            name = run.text(launch.function)
            launches[name] = launches.get(name, 0) + 1
        equal(launches, account, "launches")
        equal((run.works(), run["loss"]), ([], []), "operations and losses")
        contains(run.summary(), f"{sum(account.values()):,}  launches that failed", "summary")


def test_real_5():
    """5.7, of Debian 13"""
    with_library("trixie", 5)


def test_real_6():
    """6.4, of Debian's next release"""
    with_library("forky", 6)


def test_real_without_tracer():
    """5.2, of Debian 12: one line says why nothing is recorded"""
    need_no_sanitizer()
    found = glob.glob("/usr/lib/x86_64-linux-gnu/libamdhip64.so.5.2.*")
    if not found:
        raise Skip("libamdhip64 5.2 is not installed (Debian 12: libamdhip64-5)")
    run = Capture("calls", 2, program=[f"{capture.objects}/program-5"], status=77,
                  LD_PRELOAD=capture.preload())
    equal(run["launch"], [], "launches")
    line, = [line for line in run.done.stderr.splitlines() if "HIP" in line]
    contains(line, "HIP is not recorded: its library has no tracer (5.4 and newer have)", "line")
