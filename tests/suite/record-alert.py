#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=once cpus=2 timeout=240
"""gpumon-user record --continuous: an Xid or alert of the module makes a capture, in which it is."""
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import chunks
import lab
import nvidia

TOOL = lab.BUILD + "/gpumon-user"
ALERT = 61


def captures():
    names = sorted(os.listdir("out")) if os.path.isdir("out") else []
    return ["out/" + name for name in names if name.startswith("capture-")]


def wait_captures(number):
    return lab.until(lambda: len(captures()) >= number and captures(), "%d captures" % number)


def alerts(capture):
    with open(capture + "/driver.records", "rb") as file:
        return sum(kind == ALERT for kind, _, _ in chunks.records_of(file.read()))


def why(capture):
    """The note that says why it was written."""
    shown = json.loads(lab.run(TOOL, "correlate", "--json", capture).stdout)
    notes = [note for note in shown["recording"]["notes"] if note.startswith("written because of")]
    lab.equal(len(notes), 1, "notes with a reason")
    return notes[0]


class Recording:
    """A recording of a program that waits."""

    def __init__(self, *options):
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(
            [TOOL, "record", "-q", "--continuous", *options, "-o", "out", "--", "sh", "-c",
             "echo >started; exec sleep 1000"],
            env=dict(os.environ, GPUMON_INJECT=library), stdin=subprocess.DEVNULL)
        lab.until(lambda: os.path.exists("started"), "the program runs")
        os.unlink("started")

    def end(self):
        self.process.terminate()
        self.process.wait(30)


folder = tempfile.mkdtemp()
os.chdir(folder)
library = folder + "/libgpumon-inject.so"
open(library, "w").close()
nvidia.load()
lab.load_gpumon()

lab.step("an Xid makes a capture, and the alert is in it")
recording = Recording()
time.sleep(1.5)
lab.equal(captures(), [], "captures without a reason")
nvidia.control("xid", 0, 79, "gone")
first, = wait_captures(1)
lab.equal(alerts(first), 1, "alerts")
lab.equal(why(first), "written because of an alert of the gpumon module", "reason")

lab.step("those that come soon after it make one together, 10 s after the first")
for code in (13, 31, 48):
    nvidia.control("xid", 0, code, "again")
    time.sleep(0.4)
second = wait_captures(2)[1]
lab.equal(alerts(second), 4, "alerts")
lab.equal(why(second), "written because of an alert of the gpumon module, and 2 more", "reason")
recording.end()
lab.equal([why(capture) for capture in captures()[2:]], ["written because of the end"], "the last")
subprocess.run(["rm", "-r", "out"], check=True)

lab.step("not asked for: no capture")
recording = Recording("--no-driver")
nvidia.control("xid", 0, 79, "gone")
time.sleep(2.5)
lab.equal(captures(), [], "captures")
recording.end()
last, = captures()
lab.equal((alerts(last), why(last)), (0, "written because of the end"), "alerts, reason")
