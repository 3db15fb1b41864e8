#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest tool timeout=300
"""gpumon-user stat --frames: frame times of live programs, beside the account that they keep themselves. They present
by stand-ins of libEGL and libvulkan: mock hardware only."""
import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import lab
import uprobes
from lab import SLOWER, check, equal, step, until

TOOL = lab.BUILD + "/gpumon-user"
EGL = os.path.join(uprobes.OUT, "presents/libEGL.so.1"), "eglSwapBuffers"
VULKAN = os.path.join(uprobes.OUT, "presents/libvulkan.so.1"), "vkQueuePresentKHR"
NOBODY = 65534
MS = 1000000
folder = tempfile.mkdtemp(prefix="frames-")


class Program:
    """It presents once go() is called, and keeps how long each frame took, at the least and at the most: it takes the
    time in front of its calls and behind them, BPF in them."""

    def __init__(self, library, frames, short_us, long_us, every, *arguments, prefix=()):
        self.files = [tempfile.mktemp(dir=folder) for _ in range(2)]
        words = [a.replace("until=stop", "until=" + self.files[1]) for a in arguments]
        self.process = subprocess.Popen([*prefix, os.path.join(uprobes.OUT, "present"), *library, str(frames),
                                         str(short_us), str(long_us), str(every), "go=" + self.files[0], *words],
                                        stdout=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)
        self.pid = json.loads(self.process.stdout.readline())["pid"]

    def go(self):
        open(self.files[0], "w").close()

    def stop(self):
        open(self.files[1], "w").close()

    def frames(self):
        text = self.process.communicate()[0]
        equal(self.process.returncode, 0, "exit status of the program")
        return json.loads(text)["frames"]


def start(*arguments):
    """It watches once its output file is there."""
    output = tempfile.mktemp(dir=folder)
    process = subprocess.Popen([TOOL, "stat", "--frames", *arguments, "-o", output], stderr=subprocess.PIPE, text=True)
    atexit.register(process.kill)
    process.output = output
    until(lambda: os.path.exists(output) or process.poll() is not None, "it watches")
    return process


def documents(process):
    """Whole lines of JSON until now."""
    with open(process.output) as f:
        return [json.loads(line) for line in f.read().split("\n")[:-1]]


def end(process):
    errors = process.communicate()[1]
    equal((process.returncode, errors), (0, ""), "exit status, errors")
    with open(process.output) as f:
        return f.read()


def late_from(frames):
    """What Documentation/user/stutter.md says is late."""
    median = sorted(frames)[len(frames) // 2]
    return median + max(median // 2, MS)


def check_row(row, frames):
    """The row has what the program itself knows."""
    equal(row["frames"], len(frames), "frames")
    least, most = (sorted(lengths) for lengths in zip(*frames))
    check(sum(f > late_from(most) for f in least) <= row["late"] <= sum(f > late_from(least) for f in most),
          "late: %d of %r" % (row["late"], frames))
    for key, part in ("median_ns", 0.5), ("p95_ns", 0.95), ("p99_ns", 0.99), ("longest_ns", 1):
        at = min(int(part * len(frames)), len(frames) - 1)
        check(least[at] <= row[key] <= most[at], "%s: %d of %r" % (key, row[key], frames))
    check(sum(least) <= row["total_ns"] <= sum(most), "total: %d of %r" % (row["total_ns"], frames))
    check(abs(row["fps"] - 1e9 * row["frames"] / row["total_ns"]) < 0.01, "fps: %r" % row)
    equal((row["lost_presents"], row["frames_left_out"]), (0, 0), "losses")
    return row


uprobes.need()

step("one process: 95 frames of 16 ms and 5 of 50 ms")
game = Program(EGL, 100, 16000, 50000, 20)
watch = start("-p", str(game.pid), "-d", "100", "--json")
game.go()
account = game.frames()
document = json.loads(end(watch))
row, = document["rows"]
check_row(row, account)
# A machine that is busy may make more of them late, and then the account has them, too.
check(sum(most >= 50 * MS for _, most in account) >= 5, "planned: %r" % account)
if sum(least > 25 * MS for least, _ in account) == 5 == sum(most > 23 * MS for _, most in account):
    equal(row["late"], 5, "late")
equal((row["process"], row["pid"], row["tid"], row["api"], row["function"]),
      ("present", game.pid, game.pid, "EGL", "eglSwapBuffers"), "who")
equal((document["lost_presents"], document["presents_left_out"], document["processes_not_watched"]), (0, 0, 0), "losses")

step("for people: the sentence first")
game = Program(VULKAN, 40, 8000, 30000, 20)
watch = start("-p", str(game.pid), "-d", "100")
game.go()
account = game.frames()
lines = end(watch).splitlines()
check(lines[0].startswith("present (pid %d): " % game.pid) and " of 40 frames were late, the longest took " in lines[0],
      lines[0])
check(any(line.split()[-1] == "vkQueuePresentKHR" and line.split()[3] == "40" for line in lines[2:]), "table: %s" % lines)

step("all processes, in intervals: one that is there, one that comes later, each frame once")
first = Program(EGL, 10, 5000, 5000, 0, "until=stop")
watch = start("-i", "0.3", "--json")
second = Program(VULKAN, 10**5, 10000, 40000, 10, "until=stop")
first.go()
second.go()


def rows_of(pid):
    return [row for d in documents(watch) for row in d["rows"] if row["pid"] == pid and row["frames"]]


until(lambda: len(rows_of(first.pid)) >= 3 and len(rows_of(second.pid)) >= 3, "rows of both")
until(lambda: any(row["late"] for row in rows_of(second.pid)), "a late frame")
equal({row["api"] for row in rows_of(first.pid)}, {"EGL"}, "API")
equal({row["api"] for row in rows_of(second.pid)}, {"Vulkan"}, "API")
first.stop()
first.process.wait()
until(lambda: first.pid not in {row["pid"] for row in documents(watch)[-1]["rows"]}, "its row is gone")
os.kill(second.pid, signal.SIGKILL)
second.process.wait()
os.kill(watch.pid, signal.SIGTERM)
for document in map(json.loads, end(watch).splitlines()):
    equal(document["lost_presents"], 0, "lost")
    for row in document["rows"]:
        check(row["total_ns"] < document["interval_ns"] + (row["longest_ns"] or 0) + 50 * MS * SLOWER,
              "frames of two intervals: %r" % document)

step("a process in other namespaces")
game = Program(EGL, 20, 8000, 30000, 10, prefix=["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"])
outside = until(lambda: open("/proc/%d/task/%d/children" % ((game.process.pid,) * 2)).read().split(), "the child")[0]
watch = start("-p", outside, "-d", "100", "--json")
game.go()
account = game.frames()
row, = json.loads(end(watch))["rows"]
equal((row["pid"], row["tid"]), (int(outside), game.pid), "host's pid, its own thread")
check_row(row, account)

step("no present: it says so, and why that may be")
game = Program(EGL, 10, 8000, 8000, 0)
for words, expected in ((("-p", str(game.pid)), "Functions that present were watched, and none was called"),
                        (("-p", str(os.getpid())), "No function that presents was found in it"),
                        ((), "No present was seen in ")):
    done = lab.run(TOOL, "stat", "--frames", "-d", "0.1", *words)
    check(expected in done.stdout.splitlines()[0] and "FRAMES" not in done.stdout, done.stdout)
game.process.kill()
game.process.wait()

step("refused with a reason")
for words, status, expected, options in (
        (("-p", str(os.getpid())), 77, "CAP_BPF", {"preexec_fn": lambda: (os.setgid(NOBODY), os.setuid(NOBODY))}),
        ((), 77, "CAP_BPF", {"preexec_fn": lambda: (os.setgid(NOBODY), os.setuid(NOBODY))}),
        (("-p", "2"), 1, "the kernel's", {}),
        (("-p", open("/proc/sys/kernel/pid_max").read().strip()), 1, "there is no process", {})):
    done = lab.run(TOOL, "stat", "--frames", "-d", "0.1", *words, check_=False, **options)
    equal((done.returncode, done.stdout), (status, ""), "exit status, output")
    check(expected in done.stderr and done.stderr.count("\n") == 1, done.stderr)
