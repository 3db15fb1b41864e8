# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What the bench's programs share inside the VM: results, and what watches events.

A watcher is a context: inside of it events are watched. check(times) says whether each
event was counted at least so often: one that lost events would look cheap.
"""
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "suite", "lib"))
# The folder has no other way to be found.
# pylint: disable=wrong-import-position
import lab
import tracefs

OUT = "/out"
MEASURE = OUT + "/measure"
WINDOWS = "/tmp/windows"
# A little of everything, and nothing that takes long to attach, to test the bench.
SMALL = bool(os.environ.get("BENCH_SMALL"))


class Results:
    """Lines of words, into a file and for people."""

    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8")
        # Windows of QEMU's plugin for everything measured in this boot.
        self.windows = int(lab.read(WINDOWS)) if os.path.exists(WINDOWS) else 0
        self.note("first-window", self.windows)
        self.note("version kernel", os.uname().release)
        clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
        self.note("version clocksource", lab.read(clock).strip())

    def note(self, *words):
        text = " ".join(map(str, words))
        print(text, flush=True)
        self.file.write(text + "\n")
        self.file.flush()

    def window(self, *words):
        self.note("window", *words)
        self.windows += 1

    def end(self):
        with open(WINDOWS, "w", encoding="utf-8") as f:
            f.write(str(self.windows))
        self.note("end")
        self.file.close()


def version(program, *arguments):
    """The first word with a digit in a program's version output; "-" if the program is not there.
    """
    try:
        said = lab.run(program, *(arguments or ("--version",)), check_=False).stdout
    except OSError:
        return "-"
    return next((w.lstrip("v") for w in said.split() if any(c.isdigit() for c in w)), "-")


def generation():
    """Which names of lab.GENERATIONS the scheduler has. Loads it to find out."""
    lab.run("modprobe", "gpu_sched")
    return 1 if tracefs.exists("events/gpu_scheduler/drm_sched_job_queue") else 0


def measure(*arguments, timeout=600):
    """Lines of numbers that the program measure printed."""
    said = lab.run(MEASURE, *map(str, arguments), timeout=timeout).stdout
    return [list(map(float, line.split())) for line in said.splitlines()]


class Gpumon:
    """The module with all its statistics; with a ring size, the event ring as well."""

    def __init__(self, groups, ring_kib=0):
        self.groups, self.ring_kib = groups, ring_kib

    def __enter__(self):
        lab.load_gpumon()
        if self.ring_kib:
            measure("event-ring", "on", self.ring_kib)
        return self

    def __exit__(self, *error):
        if self.ring_kib:
            measure("event-ring", "off")
        lab.rmmod("gpumon")

    def check(self, times, probes):
        """So many probes recorded so many events each, and none lost any."""
        rows = [p for p in lab.stats()["probes"] if p["group"] in self.groups and int(p["seen"])]
        for row in rows:
            lab.equal(int(row["recorded"]), int(row["seen"]), "recorded by gpumon: %s" % row)
        rows = [p for p in rows if int(p["recorded"]) >= times]
        lab.check(len(rows) >= probes, "too few probes of gpumon saw all: %s" % rows)


class Ftrace:
    """Events of tracefs, named as folder/event; kprobe events are made from definitions."""

    def __init__(self, events, definitions=(), kib=16384):
        self.events, self.definitions, self.kib = list(events), definitions, kib

    def __enter__(self):
        tracefs.write("buffer_size_kb", str(self.kib))
        tracefs.clear()
        if self.definitions:
            tracefs.write("kprobe_events", "".join(d + "\n" for d in self.definitions))
        for event in self.events:
            tracefs.enable(event)
        return self

    def __exit__(self, *error):
        for event in self.events:
            tracefs.enable(event, False)
        if self.definitions:
            tracefs.write("kprobe_events", "")
        tracefs.clear()
        tracefs.write("buffer_size_kb", "4")

    def check(self, times, number):
        tracefs.lost_nothing()
        entries = tracefs.buffers()["entries"]
        lab.check(entries >= times * number, "ftrace has %d entries" % entries)


class Libbpf:
    """A BPF object of the bench by bpf_load, or raw_tp with its own one."""

    def __init__(self, name, events, loader="bpf_load"):
        self.events, self.counts, self.version = events, None, None
        self.command = ["%s/%s" % (OUT, loader), "%s/%s.bpf.o" % (OUT, name)]
        if loader == "bpf_load":
            self.command += events

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, universal_newlines=True)
        said = self.process.stdout.readline().split()
        lab.check(said[:2] == ["ready", "libbpf"], "%s is not ready" % self.command)
        self.version = said[2].lstrip("v")
        return self

    def __exit__(self, *error):
        said = self.process.communicate(timeout=300 * lab.SLOWER)[0].splitlines()
        if error[0] is None:
            lab.equal(self.process.returncode, 0, "exit status of %s" % self.command)
        self.counts = dict(zip(self.events, (int(w) for line in said for w in line.split()
                                             if w.isdigit())))

    def check(self, times, _):
        """After its end: it prints what it has then."""
        for event in self.events:
            lab.check(self.counts.get(event, 0) >= times,
                      "%s by libbpf: %s" % (event, self.counts))


class Bpftrace:
    """A script whose maps named as its events count them; fire(event) does one of them."""

    def __init__(self, script, events, fire):
        self.script, self.events, self.fire = script, events, fire

    def __enter__(self):
        release = os.uname().release
        headers = "/usr/src/linux-headers-%s-common" % release.rpartition("-")[0]
        environment = dict(os.environ)
        # It needs headers for types that are missing in BTF.
        if os.path.isdir(headers):
            environment.update(BPFTRACE_KERNEL_SOURCE=headers,
                               BPFTRACE_KERNEL_BUILD="/usr/src/linux-headers-" + release)
        self.out = open("/tmp/bpftrace", "w+", encoding="utf-8")
        self.process = subprocess.Popen(["bpftrace", "-B", "line", self.script], stdout=self.out,
                                        stderr=self.out, env=environment)
        lab.until(lambda: "ready" in lab.read("/tmp/bpftrace") or self.process.poll() is not None,
                  "bpftrace is ready", timeout=900, pause=0.5)
        lab.until(self._all_attached, "bpftrace counts", timeout=300, pause=0.1)
        self.before = self._counts()
        return self

    def __exit__(self, *error):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(300 * lab.SLOWER)
        self.out.close()

    def _counts(self):
        found = {}
        for line in lab.read("/tmp/bpftrace").splitlines():
            name, colon, n = line.partition(": ")
            if colon and name[:1] == "@" and name[1:] in self.events:
                found[name[1:]] = int(n)
        return found

    def _all_attached(self):
        """bpftrace says that it is ready before its last probe is attached."""
        lab.check(self.process.poll() is None, "bpftrace ended: " + lab.read("/tmp/bpftrace"))
        for event in self.events:
            self.fire(event)
        self.process.send_signal(signal.SIGUSR1)
        time.sleep(0.2)
        counts = self._counts()
        return all(counts.get(event) for event in self.events)

    def check(self, times, _):
        """After its end."""
        after = self._counts()
        for event in self.events:
            lab.check(after[event] - self.before[event] >= times,
                      "%s by bpftrace: %d, then %d" % (event, self.before[event], after[event]))
