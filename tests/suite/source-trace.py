#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest tool icount cpus=2 timeout=300
"""trace by BPF: the module's events of the same jobs and calls; losses are counted."""
import collections
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import nvidia
import source_bpf
from gpumon_netlink import Gpumon

TOTALS = re.compile(r"(\d+) events.*; lost: (\d+) overwritten, (\d+) dropped, (\d+) late, 0 cut;")
# Bytes of the whole ring, and of a record with the kernel's header.
RING, RECORD = 8 << 20, 96


class Trace:
    """trace between two points; its lines as JSON, and its totals."""

    def __init__(self, source, *arguments):
        self.out, self.err = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([source_bpf.TOOL, "trace", "--json", "--source=" + source,
                                         *arguments], stdout=self.out, stderr=self.err)

    def wait_bpf(self):
        """Its ring and its epoll are there when all programs are attached."""
        def ready():
            lab.equal(self.process.poll(), None, "trace has ended")
            return sum("eventpoll" in name for name in source_bpf.open_files(self.process.pid)) >= 2
        lab.until(ready, "trace by BPF has begun", 60)
        return self

    def end(self):
        self.process.send_signal(signal.SIGINT)
        lab.equal(self.process.wait(120), 0, "exit status of trace")
        self.out.seek(0)
        self.err.seek(0)
        lines = [json.loads(line) for line in self.out]
        self.said = self.err.read()
        self.totals = TOTALS.search(self.said)
        lab.check(self.totals, "totals: %s" % self.said)
        return lines


def jobs(lines):
    """{(job, event): line}"""
    found = {}
    for line in lines:
        key = line["context"], line["seqno"], line["event"], line.get("dependency_seqno")
        lab.check(key not in found, "%s is there twice" % (key,))
        found[key] = line
    return found


source_bpf.need()
lab.step("jobs, by both at once")
# Jobs that are held while programs are loaded must not time out: the verifier takes seconds here.
lab.load(devices=2, rings=2, hw_limit=4, service_ns=200000, timeout_ms=0)
with Gpumon() as g:
    theirs = Trace("module")
    lab.until(lambda: g.event_ring()["enabled"], "the event ring is on")
ours = Trace("bpf").wait_bpf()
lab.submit("-d", "all", "-r", "all", "-n", 30, "-p", 2, "-t", 2, "-b", 3, "-w")
lab.submit("-d", 0, "-r", 0, "-n", 12, "--fail", "fence", "--fail-every", 4, "-w")
lab.wait_idle()
bpf, module = jobs(ours.end()), jobs(theirs.end())
lab.equal((ours.totals.group(2), theirs.totals.groups()[1:3]), ("0", ("0", "0")), "losses")
# On a very busy host a CPU can stop within an event, which then comes too late. From 7 on, programs
# can be preempted, and then miss events.
missing = set(module) - set(bpf), set(bpf) - set(module)
print("    by BPF " + ours.said.strip())
lab.equal([len(keys) for keys in missing],
          [sum(map(int, trace.totals.group(3, 4))) for trace in (ours, theirs)],
          "events that one of both does not have, which should be the lost: %s" % (missing,))
lab.equal(collections.Counter(key[2] for key in set(bpf) | set(module))["done"],
          sum(row["done"] for row in lab.account().values()), "jobs that are done")
incomplete = {key[:2] for key in missing[0] | missing[1]}
bpf = {key: line for key, line in bpf.items() if key[:2] not in incomplete}
# A depth is that after the event, and other CPUs continue in between. From 7 on, a task may even
# move to another CPU between the two probes.
apart = {"queue_depth", "hw_depth", "ring_id"} | ({"cpu"} if lab.LINE == "7" else set())
for key, line in bpf.items():
    other = module[key]
    lab.equal(line.pop("source"), "bpf", "source")
    source_bpf.same_keys(line, other, "a line")
    for name in line:
        if name == "time_ns" or name.endswith("latency_ns"):
            lab.check((line[name] is None) == (other[name] is None), "%s of %s" % (name, key))
            # The clock is the same: the difference is the time that a busy host stops the VM.
            lab.within(abs((line[name] or 0) - (other[name] or 0)), 0, 1000000000,
                       "%s of %s apart" % (name, key))
        elif name not in apart:
            lab.equal(line[name], other[name], "%s of %s" % (name, key))
lab.rmmod("gpumon")

lab.step("depths are unknown while only jobs from before are seen")
process = lab.held("-d", 0, "-r", 1, "-n", 3)
ours = Trace("bpf").wait_bpf()
lab.release(process)
lab.wait_idle()
lines = ours.end()
lab.check(len(lines) >= 3, "events: %s" % lines)
lab.equal({(line["queue_depth"], line["hw_depth"]) for line in lines}, {(None, None)}, "depths")

lab.step("a reader that does not come: the newest are lost, and counted")
ours = Trace("bpf", "--group", "nvidia_uvm").wait_bpf()
ours.process.send_signal(signal.SIGSTOP)
before = lab.wait_idle()["mock_gpu.0", "ring0"]
fits = RING // RECORD
count = fits // 3 + 3000
lab.submit("-d", 0, "-r", 0, "-n", count, "-b", 50, "--inline", "-w", timeout=200)
done = lab.wait_idle()["mock_gpu.0", "ring0"]["done"] - before["done"]
lab.equal(done, count, "jobs by the mock")
ours.process.send_signal(signal.SIGCONT)
lab.equal(ours.end(), [], "lines of a group that has no events")
hidden = int(re.search(r"(\d+) not shown", ours.said).group(1))
overwritten, dropped = int(ours.totals.group(2)), int(ours.totals.group(3))
print("    " + ours.said.strip())
lab.equal((overwritten, hidden + dropped), (0, 3 * count), "events, taken and lost")
lab.check(dropped >= 3 * count - fits - 10, "not more than fit were taken: %d" % hidden)
lab.rmmod("mock_gpu", "gpu_sched")

lab.step("NVIDIA's files")
nvidia.load("580")
ours = Trace("bpf", "--group", "nvidia").wait_bpf()
nvidia.workload("--processes", 2, "--compat", 0)
nvidia.control("xid", 1, 79, "it is gone")
account, lines = nvidia.account(), ours.end()
lab.equal(ours.totals.groups()[1:], ("0", "0", "0"), "losses")
seen = collections.Counter(line["event"] for line in lines)
lab.equal((seen["open"], seen["ioctl"], seen["xid"]),
          (account["opens"], account["ioctls"], 1), "events by the mock")
address = nvidia.devices()[1][0]
xid = [line for line in lines if line["event"] == "xid"][0]
lab.equal((xid["row"], xid["code"]), (address + "/79/GPU fell off the bus", 79), "the Xid")
maps = [line for line in lines if line["event"] == "mmap" and not line["result"]]
lab.equal(sum(line["mapped_bytes"] for line in maps), account["mmap_bytes"], "bytes mapped")
lab.equal({line["row"] for line in lines if line["event"] == "open"},
          {"%s/%d" % (gpu[0], i) for i, gpu in enumerate(nvidia.devices())} | {"nvidiactl/255"},
          "rows of opens")
lab.check(all(line["pid"] and line["comm"] for line in lines if line["event"] != "xid"),
          "the process of the event")
failed = [line for line in lines if line["event"] == "ioctl" and line["result"] < 0]
lab.equal(len(failed), account["ioctl_errors"], "commands that failed")
