#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest
"""Housekeeping stops where nothing happens and no process is followed, and goes on with the next event.
The kernel's own events say when it ran.
"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import tracefs

EVENT = "workqueue/workqueue_execute_start"
# It runs once a second where something happens, so these are several turns.
QUIET, BUSY = 6, 3


def ran():
    """How often it has run since the trace was cleared; the function is a word of the event."""
    return tracefs.read().count("function housekeeping ")


def stops(what):
    """At some time there are QUIET seconds without a turn."""
    def quiet():
        before = ran()
        time.sleep(QUIET)
        return ran() == before

    lab.until(quiet, "housekeeping stops " + what, timeout=60)


def goes_on(turns, what):
    before = ran()
    lab.until(lambda: ran() >= before + turns, "%d turns of housekeeping %s" % (turns, what), timeout=60)


tracefs.clear()
tracefs.enable(EVENT)
lab.load_mock(devices=1, rings=2)
lab.step("gpumon is loaded, and nothing happens")
lab.load_gpumon()
goes_on(1, "after the load")
stops("after the load")

for turn in range(2):
    lab.step("a process queues jobs and stays")
    process = lab.submitter("-n", 20, "-w", "--linger")
    goes_on(BUSY, "while there are events, and a process that may be renamed")
    # Its process is held, so that its name and cgroup stay true: slower at last, but not here.
    goes_on(BUSY, "while it lives")
    lab.step("it ends")
    process.kill()
    process.wait(60)
    stops("when no process is left")

lab.step("what it does was not left out: counts are complete")
lab.check_counts(lab.wait_idle())

lab.step("reading does not start it")
before = ran()
for _ in range(QUIET):
    lab.stats()
    time.sleep(1)
lab.equal(ran(), before, "turns while only reading")
tracefs.enable(EVENT, False)
tracefs.clear()
