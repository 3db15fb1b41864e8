# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What a driver may say, and a loader without what is needed."""
import os
import subprocess

import capture
from capture import BAD_TIMES, FAILED, LIMIT, UNFINISHED, UNTIMED, Skip, check, equal
from recorded import Recorded


def test_nonsense():
    """times that cannot be, none, an error: nothing of them is shown, and each command is counted"""
    for times, flag in (("backwards", BAD_TIMES), ("early", BAD_TIMES), ("late", BAD_TIMES),
                        ("zero", UNTIMED), ("refused", UNTIMED)):
        run = Recorded("commands", 2, ZE_TEST_TIMES=times).equals_account()
        equal({(work.flags, work.start_ns, work.end_ns) for work in run.works()}, {(flag, 0, 0)}, times)
        equal(run.json()["recording"]["gpu_ns"], 0, f"{times}: GPU time")
    run = Recorded("lists", 2, ZE_TEST_TIMES="backwards")
    equal([len(run.works()), {work.flags for work in run.works()}], [21, {BAD_TIMES}], "of lists")


def test_device_lost():
    """a driver that reports an error of its events"""
    run = Recorded("exit", 20, status=3, ZE_TEST_STATUS=str(0x70000001)).equals_account()
    equal({work.flags for work in run.works()}, {FAILED}, "flags")


def test_never_ends():
    """commands that have not ended when the program has"""
    run = Recorded("exit", 10, status=3, ZE_TEST_HANG="6").equals_account()
    equal(sorted(work.flags for work in run.works()), [0] * 5 + [UNFINISHED] * 5, "flags")


def test_reused_event():
    """an event that is used again while a kernel is to signal it: one time is known, all kernels are"""
    run = Recorded("reused", 5).equals_account()
    works = sorted(run.works(), key=lambda work: work.correlation)
    next_ends = sorted(launch.end_ns for launch in run["launch"])[1:]
    for work, next_end, (_, end) in zip(works, next_ends, run.ran):
        # Its time may be known if it has ended before the program went on.
        check(work.flags == UNTIMED or not work.flags and end < next_end, f"flags {work.flags}")
    equal(works[-1].flags, 0, "flags of the last one")
    check(abs(works[-1].end_ns - run.ran[-1][1]) <= run["clock"][-1].error_ns + 106, "time of the last one")


def test_no_tracing_layer():
    """a loader whose tracing layer is switched off: one line says it, and the program runs as ever"""
    run = Recorded("exit", 10, status=None, ZE_ENABLE_TRACING_LAYER="0")
    if run["launch"]:
        raise Skip("this loader's tracing layer is switched on at run time")
    said = [run.text(note.text) for note in run["note"]]
    check(any("no tracing layer, or it is switched off" in text for text in said), f"notes: {said}")
    equal((run.output, run["launch"], run["kernel"]), ("did zeCommandListAppendLaunchKernel 10 0\n", [], []), "recorded")
    equal(run.done.returncode, 3, "exit status")


def test_newer_loader():
    """Debian 13's loader, whose tracing layer is switched on at run time, without the variable"""
    if os.environ.get("SANITIZE"):
        raise Skip("the other root has no sanitizer")
    done = subprocess.run([capture.HERE.parent / "ze/newer-loader"], stdout=subprocess.PIPE, text=True, check=False,
                          timeout=LIMIT)
    if done.returncode == 77:
        raise Skip(done.stdout.strip())
    equal(done.returncode, 0, "status of newer-loader")
    program = ["env", "-u", "ZE_ENABLE_TRACING_LAYER", *done.stdout.split(), f"{capture.objects}/program"]
    Recorded("commands", 3, program=program).equals_account().all_have_stacks().all_have_times().equal_times()
    run = Recorded("lists", 6, program=program).equal_times()
    equal((len(run["kernel"]), len(run["copy"]), len(run["set"])), (37, 12, 12), "operations of lists")
