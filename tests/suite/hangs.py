#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel timeout=240
"""Alerts of the module for jobs that hang, that starve behind them, and for the scheduler's timeout:
one each, at its time. None without limits, and none for jobs that only come one after the other.
"""
import errno
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
from gpumon_netlink import Gpumon, NetlinkError
from hangs import HANG_MS, STARVED_MS, go_on, in_time, left, said, stand

COMM = "mock_submit"
OFF = {"hang_ms": 0, "starved_ms": 0}
ON = {"hang_ms": HANG_MS, "starved_ms": STARVED_MS}
PROBE = "drm_sched_job_timedout"


def counts():
    """{(kind, ring's name): alerts} since load, by what is kept."""
    kept = {}
    for alert in g.alerts():
        kind, ring, _, _ = said(alert)[0]
        kept[kind, ring] = alert["count"]
    return kept


def limits_of_stats(sections=None):
    module = (sections or lab.stats())["gpumon"]
    return {key: module[key.replace("_ms", "_limit_ms")] for key in OFF}


def part(name):
    """Bytes of a part of the module's memory."""
    return {row["part"]: row["bytes"] for row in lab.stats()["memory"]}.get(name, 0)


def start(**mock):
    options = dict(devices=1, rings=3, hw_limit=1, service_ns=50000, timeout_ms=0)
    options.update(mock)
    lab.load(**options)
    opened = Gpumon()
    opened.alerts_join()
    return opened


g = start()

lab.step("limits: off after load, read as they were set, in words if not")
lab.equal((g.limits(), limits_of_stats(), part("hanging_jobs")), (OFF, OFF, 0), "after load")
g.limits_set(hang_ms=5000)
lab.equal(g.limits(), {"hang_ms": 5000, "starved_ms": 0}, "one was set")
g.limits_set(starved_ms=86400000)
lab.equal((g.limits(), limits_of_stats()), ({"hang_ms": 5000, "starved_ms": 86400000},) * 2,
          "then the other")
lab.check(part("hanging_jobs"), "no memory for what was said")
for arguments, error in ({}, errno.EINVAL), ({"hang_ms": 86400001}, errno.ERANGE):
    try:
        g.limits_set(**arguments)
    except NetlinkError as e:
        lab.equal(e.errno, error, "errno for %s" % arguments)
        lab.check(e.message, "no words for %s" % arguments)
    else:
        lab.fail("%s was not refused" % arguments)
g.limits_set(0, 0)
lab.equal((g.limits(), part("hanging_jobs")), (OFF, 0), "off again")

lab.step("a job hangs, and nobody asked: no alert. With a limit there is one")
first, _ = stand(0)
time.sleep(2 * HANG_MS / 1e3)
asked_ns = time.monotonic_ns()
g.limits_set(**ON)
alert = g.alert()
lab.equal(said(alert)[0], ("hang", "ring0", COMM, first.pid), "what hangs")
lab.check(alert["time_ns"] > asked_ns, "it came before it was asked for")
lab.within(said(alert)[1], 2 * HANG_MS, 1e9, "age")

lab.step("on another ring, while a third is busy: at its time, and those behind it starve")
busy = go_on(2)
second, since = stand(1, jobs=3)
alert = g.alert()
lab.equal(said(alert)[0], ("hang", "ring1", COMM, second.pid), "what hangs")
in_time(alert, HANG_MS, since)
for _ in range(2):
    alert = g.alert()
    lab.equal(said(alert)[0], ("starved", "ring1", COMM, second.pid), "what starves")
    in_time(alert, STARVED_MS, since)
lab.check(lab.account()["mock_gpu.0", "ring2"]["queue_depth"], "the third ring is still busy")
busy.kill()
busy.wait(60)

lab.step("they end, others come: only these are said")
for process in first, second:
    lab.release(process)
first, since = stand(0)
alert = g.alert()
lab.equal(said(alert)[0], ("hang", "ring0", COMM, first.pid), "what hangs")
in_time(alert, HANG_MS, since)
lab.equal(counts(), {("hang", "ring0"): 2, ("hang", "ring1"): 1, ("starved", "ring1"): 2},
          "all alerts so far")

lab.step("another limit says no job again, none at all and then one does")
g.limits_set(hang_ms=HANG_MS // 2)
second, since = stand(1)
lab.equal(said(g.alert())[0], ("hang", "ring1", COMM, second.pid), "the other job")
g.limits_set(0, 0)
g.limits_set(**ON)
lab.equal({said(g.alert())[0][1] for _ in range(2)}, {"ring0", "ring1"}, "both again")

lab.step("gpumon goes meanwhile, and comes again: it knows nothing of them")
g.close()
lab.rmmod("gpumon")
lab.load_gpumon()
g = Gpumon()
g.alerts_join()
lab.equal(g.limits(), OFF, "limits")
g.limits_set(**ON)
for process in first, second:
    lab.release(process)
lab.wait_idle()
first, since = stand(0)
in_time(g.alert(), HANG_MS, since)
lab.equal(counts(), {("hang", "ring0"): 1}, "alerts")
lab.release(first)
lab.wait_idle()
g.close()
lab.rmmod("gpumon", "mock_gpu")

lab.step("the scheduler's timeout: one that hangs, one that first starved and then hangs, too")
TIMEOUT_MS = 7000 * lab.SLOWER
g = start(timeout_ms=TIMEOUT_MS)
lab.equal(lab.probes()[PROBE]["state"], "attached", "state of its probe")
g.limits_set(**ON)
process = lab.submitter("-n", 2, "-b", 2, "--fail", "hang", "--wait")
for turn in range(2):
    found = [said(g.alert()) for _ in range(3 if turn == 0 else 2)]
    kinds = [what[0] for what, _ in found]
    lab.equal(kinds, ["hang", "starved", "timeout"] if turn == 0 else ["hang", "timeout"],
              "alerts, in order")
    lab.equal({what[1:] for what, _ in found}, {("ring0", COMM, process.pid)}, "whose they are")
    lab.check(found[-1][1] >= TIMEOUT_MS, "the timeout came after %d ms" % found[-1][1])
process.wait(60 * lab.SLOWER)
mock = lab.wait_idle()
lab.equal((mock["mock_gpu.0", "ring0"]["timeouts"], lab.probes()[PROBE]["recorded"]), (2, 2),
          "timeouts by the mock, and seen")

lab.step("its process has ended, and nothing else happens: still at its time")
LONG_MS = 4000 * lab.SLOWER
g.limits_set(hang_ms=LONG_MS)
process, since = left(1)
alert = g.alert()
lab.equal(said(alert)[0], ("hang", "ring1", COMM, process.pid), "what hangs")
in_time(alert, LONG_MS, since)

lab.step("its driver goes meanwhile: the timeout comes, and nothing is said again")
rmmod = subprocess.Popen(["rmmod", "mock_gpu"])
alert = g.alert()
lab.equal(said(alert)[0], ("timeout", "ring1", COMM, process.pid), "what comes next")
lab.equal(rmmod.wait(60 * lab.SLOWER), 0, "exit status of rmmod")
lab.equal(counts(), {("hang", "ring0"): 2, ("starved", "ring0"): 1, ("timeout", "ring0"): 2,
                     ("hang", "ring1"): 1, ("timeout", "ring1"): 1}, "all alerts")

lab.step("and comes again")
lab.load_mock(devices=1, rings=3, hw_limit=1, timeout_ms=0)
g.limits_set(**ON)
first, since = stand(1)
in_time(g.alert(), HANG_MS, since)
lab.release(first)

lab.step("while the group is off nothing hangs")
first, since = stand(0)
g.group_set("drm_sched", False)
time.sleep(2 * HANG_MS / 1e3)
g.group_set("drm_sched", True)
second, since = stand(1)
alert = g.alert()
lab.equal(said(alert)[0], ("hang", "ring1", COMM, second.pid), "only the job that came later")
lab.release(first)
lab.release(second)
lab.wait_idle()
g.close()
lab.step("done")
