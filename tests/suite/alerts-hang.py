#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel tool icount cpus=2 timeout=300
"""gpumon-user alerts --hang --starved: the same alerts by BPF as by the module, one for each job, at its
time; the module has the limits as long as the command runs. set changes them, too.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import source_bpf
from gpumon_netlink import Gpumon
from hangs import HANG_MS, STARVED_MS, go_on, in_time, left, said, stand

TOOL = lab.BUILD + "/gpumon-user"
OPTIONS = "--hang=%dms" % HANG_MS, "--starved=%gs" % (STARVED_MS / 1000)
COMM = "mock_submit"
NOBODY = 65534


class Follower:
    """gpumon-user alerts, that listens already."""

    def __init__(self, *arguments):
        self.out = tempfile.TemporaryFile("w+")
        self.err = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([TOOL, "alerts", "--json", *arguments],
                                        stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err)
        lab.until(lambda: self.lines() or self.process.poll() is not None, "it says its sources")
        lab.equal(self.process.poll(), None, "it has ended: " + self.said(self.err))
        self.sources = {source["source"]: source for source in self.lines()[0]["sources"]}

    @staticmethod
    def said(file):
        return os.pread(file.fileno(), 1 << 20, 0).decode()

    def lines(self):
        return [json.loads(line) for line in self.said(self.out).splitlines() if line.endswith("}")]

    def alerts(self, n):
        """The first ones, all of the scheduler's, once there are so many."""
        def found():
            alerts = [line for line in self.lines() if line.get("group") == "drm_sched"]
            return alerts if len(alerts) >= n else None
        return lab.until(found, "%d alerts" % n, timeout=60)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        lab.equal(self.process.wait(60 * lab.SLOWER), 0, "exit status of alerts")
        return [line for line in self.lines() if line.get("group") == "drm_sched"]


def hang_and_starve(follower, source):
    """What a job that hangs, those behind it, and rings that go on give. Returns the alerts."""
    busy = go_on(2)
    first, since = stand(0, jobs=3)
    alerts = follower.alerts(3)
    lab.equal([said(a)[0] for a in alerts],
              [("hang", "ring0", COMM, first.pid)] + 2 * [("starved", "ring0", COMM, first.pid)],
              "alerts")
    for alert, limit in zip(alerts, (HANG_MS, STARVED_MS, STARVED_MS)):
        in_time(alert, limit, since)
        lab.equal((alert["source"], alert["process"], alert["pid"]), (source, COMM, first.pid),
                  "source, process")
    lab.equal([a["count"] for a in alerts], [1, 1, 2], "counts")
    # Had one been told twice, it would be here before this one.
    second, since = stand(1)
    alerts = follower.alerts(4)
    lab.equal(said(alerts[3])[0], ("hang", "ring1", COMM, second.pid), "the other ring")
    in_time(alerts[3], HANG_MS, since)
    lab.check(lab.account()["mock_gpu.0", "ring2"]["queue_depth"], "the third ring is still busy")
    busy.kill()
    busy.wait(60)
    for process in first, second:
        lab.release(process)
    lab.wait_idle()
    return [a["message"].partition(" for ")[0] for a in follower.end()]


def trace(source):
    """Between which events "trace" has the alert of a job that hangs."""
    out = tempfile.TemporaryFile("w+")
    process = subprocess.Popen([TOOL, "trace", "--json", "--source=" + source, OPTIONS[0]],
                               stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL)

    def lines():
        text = os.pread(out.fileno(), 1 << 24, 0).decode()
        return [json.loads(line) for line in text.splitlines() if line.endswith("}")]

    def of_ring(event):
        return [line for line in lines() if line["event"] == event and line.get("ring") == "ring0"]

    busy = go_on(2)
    lab.until(lines, "events of a ring that goes on", timeout=60)
    job, since = stand(0)
    alert = lab.until(lambda: of_ring("alert"), "the alert", timeout=60)[0]
    lab.equal(said(alert)[0], ("hang", "ring0", COMM, job.pid), "what hangs")
    in_time(alert, HANG_MS, since)
    lab.release(job)
    lab.until(lambda: of_ring("done"), "the end of the job", timeout=60)
    busy.kill()
    busy.wait(60)
    process.send_signal(signal.SIGTERM)
    lab.equal(process.wait(60 * lab.SLOWER), 0, "exit status of trace")
    lab.equal([line["event"] for line in lines() if line.get("ring") == "ring0"],
              ["queue", "run", "alert", "done"], "what is said of the ring")
    times = [line["time_ns"] for line in lines()]
    lab.equal(times, sorted(times), "order")
    lab.wait_idle()
    return alert["source"]


def ask(*arguments, status=0, **options):
    done = lab.run(TOOL, *arguments, check_=False, **options)
    lab.equal(done.returncode, status, "exit status of %s: %s" % (arguments, done.stderr))
    return done


lab.load(devices=1, rings=3, hw_limit=1, service_ns=50000, timeout_ms=0)
g = Gpumon()

lab.step("set: limits in words, in JSON, all of it or nothing")
lab.equal(ask("set", "hang", "5s").stdout, "hang: 5000 ms\n", "set hang")
lab.equal(ask("set", "starved", "250ms", "hang", "off").stdout, "hang: off\nstarved: 250 ms\n",
          "set starved and hang")
lab.equal(json.loads(ask("set", "--json", "hang", "1m").stdout)["limits"],
          {"hang_ms": 60000, "starved_ms": 250}, "set --json")
for words in (["hang"], ["hang", "on"], ["starved", "25h"], ["hang", "0"], ["hang", "-1"]):
    ask("set", *words, status=2)
ask("set", "hang", "1s", "nosuch", "on", status=1)
lab.equal(g.limits(), {"hang_ms": 60000, "starved_ms": 250}, "after what was refused")

lab.step("by the module, which has the limits as long as it runs")
follower = Follower(*OPTIONS)
lab.equal(g.limits(), {"hang_ms": HANG_MS, "starved_ms": STARVED_MS}, "limits meanwhile")
lab.equal((follower.sources["kmod"]["open"], "bpf" in follower.sources), (True, False), "sources")
lab.check("jobs that hang" in follower.sources["kmod"]["takes"], "%s" % follower.sources["kmod"])
of_module = hang_and_starve(follower, "kmod")
lab.equal(g.limits(), {"hang_ms": 60000, "starved_ms": 250}, "limits afterwards")

lab.step("trace has it between the events, and the limit as long as it runs")
lab.equal(trace("module"), "kmod", "source")
lab.equal(g.limits(), {"hang_ms": 60000, "starved_ms": 250}, "limits after trace")

lab.step("without options no BPF, and no limit")
follower = Follower()
lab.equal(("bpf" in follower.sources, g.limits()["hang_ms"]), (False, 60000), "sources, limit")
lab.equal(follower.end(), [], "alerts")
g.close()
lab.rmmod("gpumon")

lab.step("users without the right")
done = ask("alerts", *OPTIONS, status=77, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/")
lab.check("jobs that hang are seen by the module or by BPF" in done.stderr, done.stderr)

lab.step("without the module, by BPF: the same")
source_bpf.need()
follower = Follower(*OPTIONS)
lab.equal((follower.sources["kmod"]["open"], follower.sources["bpf"]["open"]), (False, True),
          "sources")
lab.equal(hang_and_starve(follower, "bpf"), of_module, "messages, against the module's")

lab.step("trace by BPF, with the programs that it has anyway")
lab.equal(trace("bpf"), "bpf", "source")

lab.step("the driver comes later, and goes while a job hangs")
lab.rmmod("mock_gpu")
follower = Follower(OPTIONS[0])
lab.load_mock(devices=1, rings=2, hw_limit=1, timeout_ms=6000)
process, since = left(1)
alert = follower.alerts(1)[0]
lab.equal(said(alert)[0], ("hang", "ring1", COMM, process.pid), "what hangs")
in_time(alert, HANG_MS, since)
lab.rmmod("mock_gpu")
lab.load_mock(devices=1, rings=2, hw_limit=1, timeout_ms=0)
process, since = stand(0)
alerts = follower.alerts(2)
lab.equal(said(alerts[1])[0], ("hang", "ring0", COMM, process.pid), "what hangs next")
lab.release(process)
lab.equal(len(follower.end()), 2, "alerts")
lab.step("done")
