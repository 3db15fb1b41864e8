# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Calls of the program, and which versions of the library are known."""
import collections
import os
import subprocess

import capture
from capture import LAUNCH_FAILED, LAUNCH_WAITS, check, contains, equal
from recorded import Recorded, bare, variables


def test_failed():
    """launches that fail are said to have; the program sees the errors that it sees without a recorder"""
    for version in (507, 604, 700):
        run = Recorded("errors", 4, version=version)
        equal(run.output, bare("errors", 4, version=version).stdout, "what the program sees")
        results = collections.Counter((run.text(launch.function), launch.result, launch.flags & LAUNCH_FAILED)
                                      for launch in run["launch"])
        equal(results, {("hipLaunchKernel", 98, 16): 4, ("hipLaunchKernel", 0, 0): 4, ("hipMemcpy", 1, 16): 4},
              f"results of {version}")
        equal(len(run["kernel"]), 4, "kernels")


def test_versions():
    """known ones are recorded, by both layouts; others are left alone, and the summary says so"""
    for version in (504, 507, 600, 604, 700, 702):
        Recorded("calls", 1, version=version).equals_account()
    for version in (503, 508, 605, 703, 800):
        run = Recorded("calls", 1, version=version, status=77)
        equal(run.output, bare("calls", 1, version=version).stdout, "output")
        equal((run["launch"], run["kernel"]), ([], []), "records")
        line, = [line for line in run.done.stderr.splitlines() if "HIP is not recorded" in line]
        contains(line, f"version {version // 100}.{version % 100} of its library", "line")
        contains(run.summary(), "HIP is not recorded", "summary")


def test_waits():
    """calls that wait are recorded as launches are, unless --no-blocking; a copy that waits says so"""
    run = Recorded("calls", 2).equals_account()
    equal(collections.Counter(run.text(call.function) for call in run["call"]),
          {"hipStreamSynchronize": 2, "hipDeviceSynchronize": 1}, "waits")
    for call in run["call"]:
        check(call.stack and call.flags == 1 and 0 < call.start_ns <= call.end_ns, f"call {call}")
    flags = {run.text(launch.function): launch.flags & LAUNCH_WAITS for launch in run["launch"]}
    equal({function for function, waits in flags.items() if waits}, {"hipMemcpy"}, "launches that wait")
    equal(Recorded("calls", 2, options=["--no-blocking"]).equals_account()["call"], [], "waits with --no-blocking")


def test_no_stalls():
    """--stalls: a note says that HIP has none, and all else is recorded"""
    run = Recorded("calls", 2, options=["--stalls"]).equals_account()
    note, = [note for note in run["note"] if "stalls" in run.text(note.text)]
    contains(run.text(note.text), "this one uses HIP", "note")


def test_other_calls():
    """--api: waits and all other calls of the program, and none of this library"""
    run = Recorded("calls", 2, options=["--api"])
    calls = collections.Counter(run.text(call.function) for call in run["call"])
    equal(calls, {"hipStreamSynchronize": 2, "hipDeviceSynchronize": 1, "hipStreamCreate": 1, "hipGetDeviceCount": 1}, "calls")
    check(all(call.stack for call in run["call"] if "Synchronize" in run.text(call.function)), "a wait without a stack")


def test_left():
    """calls that are left by longjmp() are recorded without an end, and those that follow as ever, wherever they are"""
    for options in ([], ["--no-stacks"]):
        run = Recorded("left", 2, options=options)
        left = [launch for launch in run["launch"] if not launch.end_ns]
        equal([run.text(launch.function) for launch in left], ["hipMemset"] * 10, "functions")
        for launch in left:
            run["launch"].remove(launch)
        run.equals_account()


def test_nested():
    """calls within a call of the program are none of the program's, also those of a signal handler with a stack of its own"""
    run = Recorded("nested", 2)
    equal(collections.Counter(run.text(launch.function) for launch in run["launch"]), {"hipLaunchKernel": 4}, "launches")
    check(all(launch.end_ns for launch in run["launch"]), "a launch without an end")


def test_loaded_late():
    """a library that is loaded by one that is loaded by the program, as in Python"""
    run = Recorded("calls", 2, program=[os.path.join(capture.objects, "late")],
                   HIP_TEST_PROGRAM=os.path.join(capture.objects, "libprogram.so"))
    run.equals_account().equal_times()


def test_other_library():
    """another library with HIP's functions, such as chipStar's: the program registers its kernels with it as ever"""
    expected = bare("calls", 2).stdout
    late = os.path.join(capture.objects, "late")
    for command, more in (([os.path.join(capture.objects, "program-other")], {}),
                          ([late], {"HIP_TEST_PROGRAM": os.path.join(capture.objects, "libprogram-other.so")})):
        done = subprocess.run([*command, "calls", "2"], stdout=subprocess.PIPE, text=True, check=False, timeout=capture.LIMIT,
                              env=capture.environment(**variables(HIP_TEST_VERSION="602", **more)))
        equal((done.returncode, done.stdout), (0, expected), f"{os.path.basename(command[0])}: status and output")
