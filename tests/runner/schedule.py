# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Runs tasks side by side, each as soon as those that it needs are done.

Each task is a process group of its own. Its lines are shown as they come and written to RUN/TASK.log. Each
verdict is a line of RUN/times: seconds since the verdict before it, seconds of processor time that all
processes of the task used in that time, seconds that the host of this machine took from it (steal, all
processors), the task, the verdict's name; tabs between them. RUN/TASK.status is the task's exit status.
"""
import os
import re
import selectors
import signal
import sys
import time
import traceback

import lab

TICKS = os.sysconf("SC_CLK_TCK")
VERDICT = re.compile(rb"(ok|not ok|skip) +([^ :\n]+)")
# A process that a task left behind may hold its output open.
DRAIN_SECONDS = 20


def stat_of(pid):
    """(parent, process group, ticks of it and of its children that have ended)"""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            words = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return int(words[1]), int(words[2]), sum(map(int, words[11:15]))


def processor_seconds(group):
    """Processor time of a process group and of all processes below it, also in other groups."""
    stats = {int(pid): stat_of(pid) for pid in os.listdir("/proc") if pid.isdigit()}
    is_mine = {0: False}

    def belongs(pid):
        if pid not in is_mine:
            stat = stats.get(pid)
            is_mine[pid] = bool(stat) and (stat[1] == group or belongs(stat[0]))
        return is_mine[pid]

    return sum(stat[2] for pid, stat in stats.items() if stat and belongs(pid)) / TICKS


def stolen_seconds():
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[8]) / TICKS


class Running:
    """A task that runs."""
    def __init__(self, task, run):
        self.task = task
        self.counts = {b"ok": 0, b"not ok": 0, b"skip": 0}
        self.rest = b""
        self.log = open(run / f"{task.key}.log", "ab", buffering=0)
        self.times = open(run / "times", "a", encoding="utf-8", buffering=1)
        self.output, write = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if not self.pid:
            self.be_the_task(write)
        os.close(write)
        try:
            os.setpgid(self.pid, self.pid)
        except OSError:
            # It has done so itself.
            pass
        self.status = self.ended = None
        self.begin = time.monotonic()
        self.before = self.now()

    def be_the_task(self, write):
        status = 1
        try:
            os.setpgid(0, 0)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(write, 1)
            os.dup2(write, 2)
            os.close(write)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            status = 0 if self.task.run() else 1
        except SystemExit as end:
            status = 1
            if end.code and not isinstance(end.code, int):
                print(end.code, flush=True)
        except BaseException:  # pylint: disable=broad-except
            traceback.print_exc(file=sys.stdout)
        finally:
            sys.stdout.flush()
            os._exit(status)

    def now(self):
        return time.monotonic(), processor_seconds(self.pid), stolen_seconds()

    def take(self, data):
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            self.line(line + b"\n")

    def line(self, line):
        self.log.write(line)
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        verdict = VERDICT.match(line)
        if not verdict:
            return
        self.counts[verdict[1]] += 1
        after = self.now()
        took = "\t".join(f"{max(0, b - a):.1f}" for a, b in zip(self.before, after))
        self.times.write(f"{took}\t{self.task.key}\t{verdict[2].decode('utf-8', 'replace')}\n")
        self.before = after

    def has_ended(self):
        """Whether its process has ended, and its output was read or is held open for too long."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status, self.ended = os.waitstatus_to_exitcode(status), time.monotonic()
        return self.status is not None and (self.output is None or time.monotonic() - self.ended > DRAIN_SECONDS)

    def kill(self):
        try:
            os.killpg(self.pid, signal.SIGTERM)
        except OSError:
            pass

    def close(self, run):
        """Its end. Returns whether it passed."""
        if self.rest:
            self.line(self.rest + b"\n")
        # A task that failed without a message is a failure, too.
        if self.status and not self.counts[b"not ok"]:
            self.line(f"not ok {self.task.name}: exit status {self.status}\n".encode())
        (run / f"{self.task.key}.status").write_text(f"{self.status}\n", encoding="utf-8")
        self.log.close()
        self.times.close()
        return self.status == 0


class Schedule:
    def __init__(self, tasks, run, jobs):
        self.waiting = list(tasks)
        self.run, self.jobs = run, jobs
        self.names = {task.name for task in tasks}
        self.running, self.states = [], {}
        self.counts = {b"ok": 0, b"not ok": 0, b"skip": 0}
        self.begin = time.monotonic()
        self.selector = selectors.DefaultSelector()

    def count(self, counts):
        for result, number in counts.items():
            self.counts[result] += number

    def say(self, task, line):
        """A verdict of a task that does not run."""
        with open(self.run / f"{task.key}.log", "a", encoding="utf-8") as log:
            print(line, flush=True)
            log.write(line + "\n")
        self.count({VERDICT.match(line.encode())[1]: 1})

    def take_passed(self, task):
        """Count the verdicts of a task that passed in the run that this one goes on with."""
        with open(self.run / f"{task.key}.log", "rb") as log:
            for verdict in filter(None, map(VERDICT.match, log)):
                self.counts[verdict[1]] += 1
        lab.say(f"{task.name}: passed before")

    def start_ready(self):
        for task in list(self.waiting):
            # Others were left out, or were not asked for.
            needs = [self.states.get(name) for name in task.needs if name in self.names]
            comes_later = any(name in self.names and name not in self.states for name in task.after)
            failed = next((name for name in task.needs if self.states.get(name) == "failed"), None)
            if failed:
                self.waiting.remove(task)
                self.say(task, f"not ok {task.name}: {failed} failed")
                self.states[task.name] = "failed"
            elif all(state == "done" for state in needs) and not comes_later and len(self.running) < self.jobs:
                self.waiting.remove(task)
                running = Running(task, self.run)
                self.running.append(running)
                self.selector.register(running.output, selectors.EVENT_READ, running)

    def read(self):
        for key, _ in self.selector.select(0.5):
            data = os.read(key.fd, 65536)
            if data:
                key.data.take(data)
            else:
                self.close_output(key.data)

    def close_output(self, running):
        if running.output is not None:
            self.selector.unregister(running.output)
            os.close(running.output)
            running.output = None

    def end(self, running):
        self.running.remove(running)
        self.close_output(running)
        passed = running.close(self.run)
        task, now = running.task, time.monotonic()
        self.count(running.counts)
        self.states[task.name] = "done" if passed else "failed"
        if passed and not running.counts[b"not ok"]:
            for inputs in task.inputs:
                inputs.has_passed(self.run)
        lab.say(f"{task.name}: {self.states[task.name]} after {now - running.begin:.0f} s "
                f"(all: {now - self.begin:.0f} s)")

    def run_all(self):
        try:
            while True:
                self.start_ready()
                if not self.running:
                    break
                self.read()
                for running in [running for running in self.running if running.has_ended()]:
                    self.end(running)
        finally:
            for running in self.running:
                running.kill()
            for running in self.running:
                os.waitpid(running.pid, 0) if running.status is None else None
        if self.waiting:
            raise AssertionError(f"tasks that wait for each other: {[task.name for task in self.waiting]}")
