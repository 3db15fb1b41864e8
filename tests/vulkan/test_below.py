# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Other drivers: a layer below gpumon's takes something away."""
from capture import FAILED, UNTIMED, check, contains, equal
from recorded import Recorded, below


def test_reset_by_the_gpu():
    """without a reset by the host and calibrated timestamps: all times, whose error is said"""
    run = Recorded("threads", 60, **below("hide,other")).equals_account()
    contains(" ".join(run.notes()), "no calibrated timestamps", "notes")
    clock = run.clock()
    equal(clock.source, 1, "lavapipe's clock is found to be CLOCK_MONOTONIC")
    run = Recorded("storm", 1000, **below("hide,other"))
    equal({(work.flags, work.start_ns <= work.end_ns) for work in run["kernel"]}, {(0, True)}, "flags, order of times")
    equal(len(run["kernel"]), 1000, "operations")


def test_refused_extension():
    """a driver that refuses what gpumon adds is asked for what the program wants"""
    for words in "refuse", "refuse,other":
        run = Recorded("threads", 5, **below(words)).equals_account()
        contains(" ".join(run.notes()), "no calibrated timestamps", "notes")


def test_queue_without_times():
    """submissions of a queue without timestamps have no times, and a note says so"""
    run = Recorded("threads", 5, **below("untimed,other")).equals_account(UNTIMED)
    contains(" ".join(run.notes()), "no timestamps", "notes")


def test_lost_device():
    """of a lost device: what had ended has times, the rest has failed, and the program sees the loss as ever"""
    run = Recorded("threads", 5, status=None, **below("lose=4,other"))
    check("VK_SUCCESS" in run.output, f"the program did not see it: {run.output[-200:]}")
    failed = [launch for launch in run["launch"] if launch.result == -4]
    equal(len(failed), len(run["launch"]) - 3, "failed submissions")
    check({work.flags for work in run["kernel"]} <= {0, FAILED}, "flags")
