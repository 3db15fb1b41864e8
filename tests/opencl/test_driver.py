# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What the program sees of its driver, and what a driver may say."""
import os
import subprocess

import capture
from capture import BAD_TIMES, FAILED, LIMIT, UNTIMED, Capture, check, equal, within


def bare(name, *words, **variables):
    return subprocess.run([f"{capture.objects}/{name}", *words], stdout=subprocess.PIPE, text=True, check=True,
                          stderr=subprocess.DEVNULL, timeout=LIMIT, env=capture.environment(**variables)).stdout


def same_answers(*options):
    """All that OpenCL can be asked, line by line."""
    want = bare("asks").splitlines()
    run = Capture(program=[f"{capture.objects}/asks"], options=options)
    got = run.output.splitlines()
    for one, other in zip(got, want):
        equal(one, other, "answer")
    equal(len(got), len(want), "answers")
    check(len(want) > 1000 and run["launch"], "nothing was asked, or recorded")


def test_answers():
    """properties, profiling errors, status, counts of references: as without the layer"""
    same_answers()


def test_answers_without_times():
    """the same where queues are left as they are"""
    same_answers("--no-times")


def mock(times="good", status=0, number=1000):
    folder = os.path.join(capture.objects, "vendors")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "mock.icd"), "w", encoding="utf-8") as file:
        file.write(f"{capture.objects}/libmock.so\n")
    run = Capture(number, program=[f"{capture.objects}/mock_program"], MOCK_TIMES=times, MOCK_STATUS=str(status),
                  OCL_ICD_VENDORS=folder)
    return run.equals_account()


def test_clocks():
    """a driver with the system's clock, and one with a clock of its own, which is measured"""
    run = mock().all_have_times()
    equal((run["clock"][-1].source, run["clock"][-1].offset_ns), (1, 0), "clock")
    run = mock("own").all_have_times()
    clock = run["clock"][-1]
    launch = run["launch"][-1]
    true = launch.start_ns - (launch.start_ns + 5 * 10**12 + (launch.start_ns + 5 * 10**12) // 100000)
    equal(clock.source, 0, "clock")
    # It goes 10 ppm faster: the offset changes by 10 us in a second.
    within(clock.offset_ns, true - clock.error_ns - 100000000, true + clock.error_ns + 100000000, "offset")
    check(clock.error_ns < 100000, f"error {clock.error_ns}")


def test_nonsense():
    """times that cannot be, none, an error: nothing of them is shown, and each command is counted"""
    for times, flag in (("backwards", BAD_TIMES), ("early", BAD_TIMES), ("late", BAD_TIMES),
                        ("random", BAD_TIMES), ("zero", UNTIMED), ("refused", UNTIMED)):
        run = mock(times)
        equal({(work.flags, work.start_ns, work.end_ns) for work in run.works()}, {(flag, 0, 0)}, times)
        equal(run.json()["recording"]["gpu_ns"], 0, f"{times}: GPU time")
    run = mock(status=-9)
    equal({work.flags for work in run.works()}, {FAILED}, "status -9")
