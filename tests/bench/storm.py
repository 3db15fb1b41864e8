#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""storm.py RESULTS [gpumon]: single events at full speed, and how many each reader loses.

One processor makes events as fast as it can, another one has the reader; every
watcher has the same buffer for each processor. Two storms: jobs through the mock GPU and
the real scheduler, and one tracepoint called again and again. A line each: "storm
STORM WATCHER FIRED DELIVERED LOST", LOST being what the watcher itself says.
"""
import glob
import os
import re
import signal
import struct
import subprocess
import sys
import time

import tools
import fire
import lab
import tracefs
from gpumon_netlink import Gpumon

KIB = 1024
JOBS = 200 if tools.SMALL else 8000
CALLS = 1000 if tools.SMALL else 60000
TOOL = lab.BUILD + "/gpumon-user"
# Of perf.data.
SAMPLE, LOST, LOST_SAMPLES = 9, 2, 13


class Storm:
    """name; events(): how many were fired; few(): the same with one of each."""

    name, traced, names, group = None, (), (), None


class Jobs(Storm):
    name, group = "jobs", "drm_sched"

    def __init__(self):
        self.generation = tools.generation()
        self.names = [lab.GENERATIONS[role][self.generation] for role in ("queue", "run", "done")]
        self.traced = ["gpu_scheduler/" + name for name in self.names]

    def script(self):
        """What a script prints that has to identify the job."""
        if self.generation:
            job = 'printf("%s %%llu %%llu\\n", args.fence_context, args.fence_seqno);'
            return "".join("tracepoint:gpu_scheduler:%s { %s }\n" % (n, job % n)
                           for n in self.names)
        job = 'printf("%s %%p\\n", args->fence);'
        return "".join("tracepoint:gpu_scheduler:%s { %s }\n" % (n, job % n) for n in self.names)

    @staticmethod
    def events():
        lab.submit("--inline", "-n", JOBS, "-b", 100, "-w", "-s", 1000, timeout=1800)
        lab.wait_idle(600)
        return 3 * JOBS

    @staticmethod
    def few():
        lab.submit("--inline", "-n", 1, "-w", "-s", 1000, timeout=1800)
        lab.wait_idle(600)
        return 3


class Calls(Storm):
    name, group, traced = "vblank", "drm_vblank", ("drm/drm_vblank_event",)
    names = ("vblank",)

    @staticmethod
    def script():
        return ('tracepoint:drm:drm_vblank_event '
                '{ printf("vblank %d %d\\n", args->crtc, args->seq); }\n')

    def __init__(self):
        fire.load_drivers("drm")
        self.f = fire.Fire()

    def events(self, times=CALLS):
        return self.f.drm_vblank_event(0, fire.Step(1000), fire.Step(16666667, 16666667),
                                       times=times).calls

    def few(self):
        return self.events(1)


def elsewhere():
    """Run a reader on the processor that makes no events."""
    os.sched_setaffinity(0, {1})


def workers_aside():
    """Move the threads that run jobs away: their priority would starve a reader."""
    with open("/sys/devices/virtual/workqueue/cpumask", "w", encoding="utf-8") as f:
        f.write("1")
    threads = lab.run("pgrep", "-x", "ring[0-9]+", check_=False).stdout.split()
    for pid in threads:
        os.sched_setaffinity(int(pid), {0})
    version = tuple(map(int, os.uname().release.split(".")[:2]))
    # These were threads until 6.7.
    lab.check(threads or version > (6, 7), "the scheduler's threads are not there")


def all_open():
    """Files that any process has open."""
    found = set()
    for fd in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            found.add(os.readlink(fd))
        except OSError:
            pass
    return found


class Watcher:
    """Ready for events once it has started. counts() returns what it delivered and what it says it
    lost.
    """

    name = None
    process = None

    def __init__(self, storm):
        self.storm = storm

    def spawn(self, *command, **options):
        self.out = open("/tmp/reader.out", "wb")
        self.err = open("/tmp/reader.err", "wb")
        self.process = subprocess.Popen(command, stdout=self.out, stderr=self.err,
                                        preexec_fn=elsewhere, **options)

    def interrupt(self, how=signal.SIGINT):
        self.process.send_signal(how)
        status = self.process.wait(1200 * lab.SLOWER)
        self.out.close()
        self.err.close()
        return status

    def until_open(self, *files):
        """Wait until a reader has opened its file. Sleeping does not help in a VM with -icount."""
        def there():
            lab.check(self.process.poll() is None, "the reader ended: " +
                      lab.read("/tmp/reader.err"))
            return set(files) <= all_open()
        lab.until(there, "the reader has opened %s" % (files,), 600, 0.1)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.stop()

    def stop(self):
        self.interrupt()


class GpumonRing(Watcher):
    """Raw records: the cost of a program that only stores them."""

    name = "gpumon-binary"

    def start(self):
        lab.load_gpumon()
        tools.measure("event-ring", "on", KIB)
        self.read()
        self.until_open(lab.EVENTS)

    def read(self):
        self.spawn("cat", lab.EVENTS)

    @staticmethod
    def ring():
        with Gpumon() as g:
            return g.event_ring()

    def counts(self):
        lab.until(lambda: not self.ring()["pending"], "nothing is left in the event ring", 600)
        s = self.ring()
        return s["delivered"], s["overwritten"] + s["dropped"]

    def stop(self):
        self.interrupt(signal.SIGTERM)
        tools.measure("event-ring", "off")
        lab.rmmod("gpumon")


class GpumonText(GpumonRing):
    """gpumon-user trace, joined with names and latencies, as text."""

    name, more = "gpumon-trace", ()

    def read(self):
        self.spawn(TOOL, "trace", "--no-enable", *self.more)

    def counts(self):
        super().counts()
        # It prints the records that it holds for sorting at its end.
        lab.equal(self.interrupt(), 0, "exit status of trace: " + lab.read("/tmp/reader.err"))
        said = re.search(r"(\d+) events.*; lost: (\d+) overwritten, (\d+) dropped",
                         lab.read("/tmp/reader.err"))
        lab.check(said, "trace said: " + lab.read("/tmp/reader.err"))
        return int(said[1]), int(said[2]) + int(said[3])

    def stop(self):
        if self.process.poll() is None:
            self.interrupt()
        tools.measure("event-ring", "off")
        lab.rmmod("gpumon")


class GpumonJson(GpumonText):
    name, more = "gpumon-trace-json", ("--json",)


class Ftrace(Watcher):
    name, file = "ftrace-text", "trace_pipe"

    def start(self):
        self.tool = tools.Ftrace(self.storm.traced, kib=KIB)
        self.tool.__enter__()
        self.spawn("cat", tracefs.FOLDER + self.file)
        self.until_open(tracefs.FOLDER + self.file)

    def counts(self):
        lab.until(lambda: not tracefs.buffers()["entries"], "ftrace's buffers are empty", 1200)
        found = tracefs.buffers()
        return found["read events"], tracefs.lost(found)

    def stop(self):
        self.interrupt(signal.SIGKILL)
        self.tool.__exit__(None)


class FtraceBinary(Ftrace):
    """The buffers of both processors: the thread that makes jobs wakes others."""

    name = "ftrace-binary"

    def start(self):
        self.tool = tools.Ftrace(self.storm.traced, kib=KIB)
        self.tool.__enter__()
        files = ["%sper_cpu/cpu%d/trace_pipe_raw" % (tracefs.FOLDER, cpu)
                 for cpu in range(os.cpu_count())]
        self.spawn("sh", "-c", "for f; do cat $f & done; wait", "sh", *files,
                   start_new_session=True)
        self.until_open(*files)

    def counts(self):
        # A page that is not full is not read by a reader that waits for one.
        def left():
            before = tracefs.buffers()["entries"]
            time.sleep(0.5)
            return tracefs.buffers()["entries"] == before
        lab.until(left, "ftrace's buffers are at rest", 1200)
        found = tracefs.buffers()
        return found["read events"] + found["entries"], tracefs.lost(found)

    def stop(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.out.close()
        self.err.close()
        self.tool.__exit__(None)


class Perf(Watcher):
    """perf record, its file in memory."""

    name, started = "perf-record", "/tmp/perf.started"

    def start(self):
        events = [word for e in self.storm.traced for word in ("-e", e.replace("/", ":"))]
        if os.path.exists(self.started):
            os.unlink(self.started)
        # It starts its command when its events are enabled.
        self.spawn("perf", "record", "-a", "-B", "-N", "-m", str(KIB // 4),
                   "-o", "/tmp/perf.data", *events, "--",
                   "sh", "-c", "touch %s; exec sleep 1000000000" % self.started)
        lab.until(lambda: os.path.exists(self.started) or self.process.poll() is not None,
                  "perf records", 600)
        lab.check(self.process.poll() is None, "perf ended: " + lab.read("/tmp/reader.err"))

    def counts(self):
        self.interrupt()
        samples = lost = lost_samples = 0
        with open("/tmp/perf.data", "rb") as f:
            data = f.read()
        lab.equal(data[:8], b"PERFILE2", "magic of perf.data")
        offset, size = struct.unpack_from("<QQ", data, 40)
        end = offset + size
        while offset < end:
            kind, _, length = struct.unpack_from("<IHH", data, offset)
            lab.check(length >= 8, "a record of perf.data has no length")
            if kind == SAMPLE:
                samples += 1
            elif kind == LOST:
                lost += struct.unpack_from("<QQ", data, offset + 8)[1]
            elif kind == LOST_SAMPLES:
                lost_samples += struct.unpack_from("<Q", data, offset + 8)[0]
            offset += length
        os.unlink("/tmp/perf.data")
        # Newer versions report the same in both.
        return samples, max(lost, lost_samples)

    def stop(self):
        if self.process.poll() is None:
            self.interrupt()


class Bpftrace(Watcher):
    """printf() of each event."""

    name = "bpftrace-print"

    def start(self):
        with open("/tmp/storm.bt", "w", encoding="utf-8") as f:
            f.write('BEGIN { printf("ready\\n"); }\n' + self.storm.script())
        release = os.uname().release
        headers = "/usr/src/linux-headers-%s-common" % release.rpartition("-")[0]
        environment = dict(os.environ, BPFTRACE_PERF_RB_PAGES=str(KIB // 4))
        if os.path.isdir(headers):
            environment.update(BPFTRACE_KERNEL_SOURCE=headers,
                               BPFTRACE_KERNEL_BUILD="/usr/src/linux-headers-" + release)
        self.spawn("bpftrace", "-B", "line", "/tmp/storm.bt", env=environment)
        lab.until(lambda: "ready" in lab.read("/tmp/reader.out") or
                  self.process.poll() is not None, "bpftrace is ready", 900, 0.5)
        # Its last probe is attached after that.
        self.before = self.tried = 0
        lab.until(self.prints_all, "bpftrace prints every event", 600, 0.2)
        self.before = self.printed()[0]

    def prints_all(self):
        """Wait until the output of the last test event has arrived."""
        lab.check(self.process.poll() is None, "bpftrace ended: " + lab.read("/tmp/reader.err"))
        number, names = self.printed()
        if names == set(self.storm.names) and number == self.before + self.tried:
            return True
        self.before, self.tried = number, self.storm.few()
        return False

    def printed(self):
        """The number of lines, by event."""
        words = [line.split(" ")[0] for line in lab.read("/tmp/reader.out").splitlines()]
        words = [word for word in words if word in self.storm.names]
        return len(words), set(words)

    def at_rest(self):
        before = os.path.getsize("/tmp/reader.out")
        time.sleep(2)
        return os.path.getsize("/tmp/reader.out") == before

    def counts(self):
        # An interrupt would leave the contents of its buffer.
        lab.until(self.at_rest, "bpftrace prints nothing any more", 1200)
        self.interrupt()
        text = lab.read("/tmp/reader.out") + lab.read("/tmp/reader.err")
        return self.printed()[0] - self.before, sum(
            int(n) for n in re.findall(r"Lost (\d+) events", text))

    def stop(self):
        if self.process.poll() is None:
            self.interrupt()


def run(storm, kind):
    lab.step("%s, %s" % (storm.name, kind.name))
    with kind(storm) as watcher:
        fired = storm.events()
        delivered, lost = watcher.counts()
    results.note("storm", storm.name, kind.name, fired, delivered, lost)


results = tools.Results(sys.argv[1])
alone = sys.argv[2:] == ["gpumon"]
if not alone:
    results.note("version bpftrace", tools.version("bpftrace"))
    results.note("version perf", tools.version("perf"))
os.sched_setaffinity(0, {0})
lab.load_mock(devices=1, rings=1, completion="inline", distribution="fixed", timeout_ms=0)
workers_aside()
storms = Jobs(), Calls()
for storm in storms:
    for kind in GpumonRing, GpumonText, GpumonJson:
        run(storm, kind)
    if not alone:
        for kind in FtraceBinary, Ftrace, Perf:
            run(storm, kind)
        if not tools.SMALL:
            run(storm, Bpftrace)
storms[1].f.close()
lab.rmmod("mock_gpu")
results.end()
