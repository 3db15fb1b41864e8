# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Alerts for jobs that do not go on: what one says, and jobs that hang."""
import re
import time

import lab
from lab import SLOWER

DEVICE = "mock_gpu.0"
# Limits of the tests. A look comes every second, and the first one of a ring finds nothing.
HANG_MS, STARVED_MS = 1000 * SLOWER, 2500 * SLOWER
LATE_MS = 4000 * SLOWER
# How a message says it.
WHAT = {"hang": "job on the hardware", "starved": "job in its queue",
        "timeout": "the scheduler's timeout has come, job on the hardware"}
MESSAGE = re.compile(r"(\S+): (.*) for (\d+) ms, in (\S+) \[(\d+)\]$")


def said(alert):
    """(kind, ring, process, pid) of an alert, whose words and device are checked; and its age in ms."""
    match = MESSAGE.match(alert["message"])
    lab.check(match, "message %r" % alert["message"])
    ring, what, comm, pid, age = (match[1], match[2], match[4], int(match[5]), int(match[3]))
    lab.equal((alert["group"], alert["device"], what), ("drm_sched", DEVICE, WHAT[alert["kind"]]),
              "group, device, words")
    return (alert["kind"], ring, comm, pid), age


def in_time(alert, limit_ms, span):
    """Its job is older than the limit, and not by much; its state began between two moments."""
    _, age = said(alert)
    lab.within(age, limit_ms, limit_ms + LATE_MS, "age of %s" % alert["message"])
    # The age is rounded down, and may be of another clock.
    lab.within(alert["time_ns"] / 1e9 - age / 1e3, span[0] - 0.01, span[1] + 0.01,
               "begin of %s" % alert["message"])


def go_on(ring):
    """A program whose jobs come one after the other for long. Most wait longer than the limit."""
    return lab.submitter("-r", ring, "-n", 1000, "-b", 1000, "-s", 20000000, "--linger")


def stand(ring, jobs=1):
    """A program whose jobs stand on a held ring; and the moments between which they came there."""
    begin = time.monotonic()
    process = lab.held("-r", ring, "-n", jobs, "-b", jobs)
    lab.until(lambda: lab.account()[DEVICE, "ring%d" % ring]["hw_depth"], "a job on the hardware")
    return process, (begin, time.monotonic())


def left(ring):
    """stand() of one job whose program has ended. Only the scheduler's timeout ends it."""
    begin = time.monotonic()
    process = lab.submitter("-r", ring, "--fail", "hang")
    lab.equal(process.wait(60 * SLOWER), 0, "exit status of the process")
    return process, (begin, time.monotonic())
