#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=once tool icount cpus=2 timeout=240
"""gpumon-user record --continuous: an alert of the module makes a capture, in which it is. An exporter of metrics on the
same machine has all of them, too, and neither ends the other.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import chunks
import lab
import nvidia
from gpumon_netlink import Gpumon

TOOL = lab.BUILD + "/gpumon-user"
ALERT = 61
METRICS = "gpumon.prom"
REASON = "written because of "
OF_ALERT = REASON + "an alert of the gpumon module"


class Recording:
    """A recording of a program that waits; it ends with end()."""

    def __init__(self, directory, *options):
        self.directory = directory
        started = directory + ".started"
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(
            [TOOL, "record", "-q", "--continuous", *options, "-o", directory, "--",
             "sh", "-c", "echo >%s; exec sleep 1000" % started],
            env=dict(os.environ, GPUMON_INJECT=library), stdin=subprocess.DEVNULL)
        lab.until(lambda: os.path.exists(started), "the program runs")

    def captures(self):
        """(number of alerts, reason) of each capture."""
        names = [n for n in sorted(os.listdir(self.directory)) if n.startswith("capture-")]
        return [look("%s/%s" % (self.directory, name)) for name in names]

    def end(self):
        self.process.terminate()
        self.process.wait(60 * lab.SLOWER)
        return self.captures()


def look(capture):
    with open(capture + "/driver.records", "rb") as file:
        alerts = sum(kind == ALERT for kind, _, _ in chunks.records_of(file.read()))
    shown = json.loads(lab.run(TOOL, "correlate", "--json", capture).stdout)
    reason, = (n for n in shown["recording"]["notes"] if n.startswith(REASON))
    return alerts, reason


def xid(code):
    """Returns when those that listen have its alert."""
    nvidia.control("xid", 0, code, "gone")
    lab.equal(g.alert()["code"], code, "code of the alert")


def exported():
    """{code: how many Xids the exporter has counted}"""
    return {int(code): int(count) for code, count in
            re.findall(r'^gpumon_alerts_total\{.*code="(\d+)".*\} (\d+)$', lab.read(METRICS), re.M)}


folder = tempfile.mkdtemp()
os.chdir(folder)
library = folder + "/libgpumon-inject.so"
open(library, "w").close()
nvidia.load()
lab.load_gpumon()
g = Gpumon()
g.alerts_join()
exporter = subprocess.Popen([TOOL, "metrics", "-o", METRICS, "--interval", "100ms"], stdin=subprocess.DEVNULL)
lab.until(lambda: os.path.exists(METRICS), "the exporter writes")

lab.step("an Xid makes a capture, and its alert is in it")
recording = Recording("out")
began = time.monotonic()
xid(79)
found = lab.until(recording.captures, "a capture")
lab.equal(found, [(1, OF_ALERT)], "alerts, reason")

lab.step("those that come soon after it make one together, 10 s after it")
# It finds them together, however long that takes.
recording.process.send_signal(signal.SIGSTOP)
for number in 13, 31, 48:
    xid(number)
recording.process.send_signal(signal.SIGCONT)
lab.until(lambda: len(recording.captures()) > 1, "another capture")
# The first was begun a second after its reason.
lab.check(time.monotonic() - began >= 11, "it came too early")
found += [(4, OF_ALERT + ", and 2 more"), (4, REASON + "the end of the recording")]
lab.equal(recording.end(), found, "alerts, reasons")

lab.step("the exporter beside it has counted each")
lab.until(lambda: exported() == {79: 1, 13: 1, 31: 1, 48: 1}, "Xids of the exporter")
exporter.terminate()
lab.equal(exporter.wait(60 * lab.SLOWER), 0, "exit status of metrics")

lab.step("without the module's part, it asks for none")
recording = Recording("without", "--no-driver")
xid(79)
lab.equal(recording.end(), [(0, REASON + "the end of the recording")], "alerts, reasons")
g.close()
