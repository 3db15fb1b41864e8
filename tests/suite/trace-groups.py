#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel tool drivers=stay needs=amdgpu,i915 timeout=400
"""gpumon-user trace shows what the drivers=stay do: as many events of each name as were
fired, each with its row and its words, in JSON and in the table; --group and
--ring keep the others out; what is not known is null.
"""
import collections
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import fire
import lab
import nvidia
import vblank
from fire import GTT, PL_TT, PL_VRAM, VRAM
from gpumon_netlink import Gpumon

TOOL = lab.BUILD + "/gpumon-user"
I915, AMD, CARD = "0000:00:02.0", "0000:03:00.0", "fire_vblank.0"
KIB, MIB = 1 << 10, 1 << 20
ALL = (1 << 64) - 1
# In place of a word: any time of at least this many ns.
Time = collections.namedtuple("Time", "least")
# An event: its row, its words in JSON and in the table, and how often it occurs.
Line = collections.namedtuple("Line", "row words text times")


class Trace:
    """gpumon-user trace between two points. late is how many events came too late, and nothing else
    is lost."""

    def __init__(self, *arguments):
        self.arguments = arguments

    def __enter__(self):
        self.out, self.err = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([TOOL, "trace", *self.arguments], stdout=self.out,
                                        stderr=self.err)
        lab.until(lambda: g.event_ring()["enabled"], "the event ring is on", pause=0.02)
        return self

    def __exit__(self, kind, *error):
        self.process.send_signal(signal.SIGINT)
        lab.equal(self.process.wait(60), 0, "exit status of trace")
        self.out.seek(0)
        self.err.seek(0)
        self.lines = self.out.read().splitlines()
        said = self.err.read()
        if kind is None:
            lost = re.search("; lost: 0 overwritten, 0 dropped, ([0-9]+) late, 0 cut;", said)
            lab.check(lost, said)
            self.late = int(lost.group(1))
            lab.equal(g.event_ring()["enabled"], 0, "the event ring after the end")


def traced(do, *arguments):
    """(lines of a trace that lost nothing, what do() says that is to be seen in it)

    On a busy host a processor of the VM can stop within an event, which then comes too late.
    """
    for _ in range(10):
        with Trace(*arguments) as trace:
            wanted = do()
        if not trace.late:
            return trace.lines, wanted
        print("    once more, %d came too late" % trace.late)
    return lab.fail("events came too late each time")


# --- what each driver does, and what is to be seen of it: {event: [Line]}

def do_i915():
    device = f.i915_device(I915, 0)
    obj = f.i915_object(2 * MIB, device, count=3)
    vma = f.i915_vma(f.i915_object(1 * MIB, device), f.i915_vm(device), size=36 * KIB)
    request = f.i915_request(f.i915_engine(0, 0, "rcs0", device), context=77, seqno=8)
    f.i915_gem_object_create(obj, times=3)
    f.i915_gem_object_destroy(obj, times=2)
    f.i915_vma_unbind(vma)
    f.i915_vma_bind(vma, 0x11)
    f.i915_gem_shrink(device, 12, 3)
    f.i915_gem_shrink(device, ALL, 0x1f)
    f.i915_gem_evict(f.i915_vm(device), 5 * MIB, 16 * KIB, 9)
    f.i915_gem_object_pwrite(obj, 10, 2048, times=4)
    f.i915_gem_object_pread(obj, 30, 40, times=5)
    f.i915_gem_object_fault(obj, 6, True, False, times=2)
    f.i915_request_add(request)
    f.wait(5000000)
    f.i915_request_retire(request)
    f.i915_request_retire(request)
    engine = I915 + "/rcs0"
    return {
        "gem_create": [Line(I915, dict(object_bytes=2 * MIB), "object 2.00MiB", 3)],
        "gem_destroy": [Line(I915, dict(object_bytes=2 * MIB), "object 2.00MiB", 2)],
        "vma_unbind": [Line(I915, dict(node_bytes=36 * KIB), "node 36.0KiB", 1)],
        "vma_bind": [Line(I915, dict(node_bytes=36 * KIB, flags=0x11, rebind=1),
                          "node 36.0KiB  flags 0x11  rebind 1", 1)],
        "gem_shrink": [Line(I915, dict(target_pages=12, flags=3), "target_pages 12  flags 0x3", 1),
                       Line(I915, dict(target_pages=ALL, flags=0x1f),
                            "target_pages all  flags 0x1f", 1)],
        "gem_evict": [Line(I915, dict(wanted_bytes=5 * MIB, align_bytes=16 * KIB, flags=9),
                           "wanted 5.00MiB  align 16.0KiB  flags 0x9", 1)],
        "gem_pwrite": [Line(I915, dict(offset=10, written_bytes=2048),
                            "offset 10  written 2.00KiB", 4)],
        "gem_pread": [Line(I915, dict(offset=30, read_bytes=40), "offset 30  read 40B", 5)],
        "gem_fault": [Line(I915, dict(page=6, gtt=1, write=0), "page 6  gtt 1  write 0", 2)],
        "request_add": [Line(engine, dict(context=77, seqno=8), "context 77  seqno 8", 1)],
        # Its beginning was seen for the first of the two.
        "request_retire": [
            Line(engine, dict(context=77, seqno=8, retired_within_ns=Time(5000000)),
                 "context 77  seqno 8  retired_within TIME", 1),
            Line(engine, dict(context=77, seqno=8, retired_within_ns=None),
                 "context 77  seqno 8  retired_within -", 1)]}


def do_amdgpu():
    device = f.amdgpu_device(AMD)
    bo = f.amdgpu_bo(size=1 * MIB, domain=VRAM | GTT, flags=fire.CPU_ACCESS_REQUIRED)
    bo.set("tbo.base.dev", device.at("ddev"))
    ring = f.amdgpu_ring("gfx_0.0.0", device, hub=1)
    # Each round has a job of its own.
    global rounds
    rounds += 1
    job = f.amdgpu_job(ring, context=100 + rounds, seqno=3, num_ibs=2)
    stranger = f.amdgpu_job(ring, context=200 + rounds, seqno=4, num_ibs=1)
    va = f.amdgpu_bo_va(bo)
    mapping = f.amdgpu_mapping(64 * KIB, start=1 * MIB, flags=0x6)
    f.amdgpu_bo_create(bo, times=3)
    f.amdgpu_bo_move(bo, to=PL_TT, from_=PL_VRAM, times=2)
    f.amdgpu_cs_ioctl(job)
    f.amdgpu_cs(job, dw=64, times=2)
    f.wait(5000000)
    f.amdgpu_sched_run_job(job)
    f.amdgpu_sched_run_job(stranger)
    f.amdgpu_iv(client_id=20, src_id=181, ring_id=5, vmid=7, times=6)
    f.amdgpu_vm_bo_map(va, mapping, times=2)
    f.amdgpu_vm_bo_unmap(va, mapping)
    f.amdgpu_vm_flush(ring, vmid=7, pd_addr=0xabc000, times=2)
    f.amdgpu_ib_pipe_sync(job, f.fence(9, 8))
    f.amdgpu_device_rreg(reg=0x10, value=0x20, times=2)
    f.amdgpu_device_wreg(reg=0x11, value=0x21)
    gfx = AMD + "/gfx_0.0.0"
    own = dict(context=100 + rounds, seqno=3)
    text = "context %d  seqno 3  " % (100 + rounds)
    other = dict(context=200 + rounds, seqno=4)
    pages = dict(first_page=0x100, last_page=0x10f, flags=6)
    return {
        "bo_create": [Line(AMD + "/gtt+vram", dict(bo_bytes=1 * MIB, domain=6, visible=1),
                           "bo 1.00MiB  domain 0x6  visible 1", 3)],
        "bo_move": [Line(AMD + "/vram/gtt", {"bo_bytes": 1 * MIB, "from": 2, "to": 1},
                         "bo 1.00MiB  from 2  to 1", 2)],
        "cs_ioctl": [Line(gfx, dict(own, num_ibs=2), text + "num_ibs 2", 1)],
        "sched_run_job": [
            Line(gfx, dict(own, submission_ns=Time(5000000), num_ibs=2),
                 text + "submission TIME  num_ibs 2", 1),
            Line(gfx, dict(other, submission_ns=None, num_ibs=1),
                 "context %d  seqno 4  submission -  num_ibs 1" % (200 + rounds), 1)],
        "cs": [Line(gfx, dict(length_dw=64), "length_dw 64", 2)],
        "iv": [Line("-/20:181/end_of_pipe", dict(client=20, source=181, ring=5, vmid=7),
                    "client 20  source 181  ring 5  vmid 7", 6)],
        "vm_bo_map": [Line(AMD, dict(pages, mapped_bytes=64 * KIB),
                           "first_page 0x100  last_page 0x10f  mapped 64.0KiB  flags 0x6", 2)],
        "vm_bo_unmap": [Line(AMD, dict(pages, unmapped_bytes=64 * KIB),
                             "first_page 0x100  last_page 0x10f  unmapped 64.0KiB  flags 0x6", 1)],
        "vm_flush": [Line(None, dict(vmid=7, hub=1, page_directory=0xabc000),
                          "vmid 7  hub 1  page_directory 0xabc000", 2)],
        "ib_pipe_sync": [Line(gfx, dict(own, dependency_context=9, dependency_seqno=8),
                              text + "dependency_context 9  dependency_seqno 8", 1)],
        "device_rreg": [Line(None, dict(register=0x10, value=0x20), "register 0x10  value 0x20", 2)],
        "device_wreg": [Line(None, dict(register=0x11, value=0x21), "register 0x11  value 0x21", 1)]}


def do_vblank():
    for crtc in 0, 1:
        vblank.command("hold", 0, crtc)
    before = vblank.account()[0, 0]
    seq = before["seq"]
    with vblank.Client(before) as client:
        client.wait_event(2)
        client.wait_event(2)
        vblank.command("step", 0, 0, 2)
        client.events(2)
        # Already over, so there is no vblank of its own.
        client.wait_event(seq + 2, relative=False)
        client.events(1)
    vblank.command("skip", 0, 0, 3)
    vblank.command("step", 0, 0, 4)
    for crtc in 0, 1:
        vblank.command("drop", 0, crtc)
    row = CARD + "/0"
    vblanks = vblank.account()[0, 0]["vblanks"] - before["vblanks"]
    lab.equal(vblanks, 3, "vblanks by fire_vblank")

    def one(number, missed):
        return Line(row, dict(seq=number, vblank_time_ns=Time(1), high_precision=1, missed=missed),
                    "seq %d  vblank_time TIME  high_precision 1  missed %d" % (number, missed), 1)

    return {
        "vblank": [one(seq + 1, 0), one(seq + 2, 0), one(seq + 6, 3)],
        "vblank_queued": [Line(row, dict(seq=seq + 2), "seq %d" % (seq + 2), 3)],
        "vblank_delivered": [
            Line(row, dict(seq=seq + 2, since_queued_ns=Time(1), since_vblank_ns=Time(0)),
                 "seq %d  since_queued TIME  since_vblank TIME" % (seq + 2), 3)]}


def do_nvidia():
    gpu, other = (d[0] for d in nvidia.devices())
    before = nvidia.account()
    nvidia.workload("--processes", 1)
    nvidia.control("interrupt", 0, 1, 3)
    nvidia.control("handled", 1, 2, 2)
    nvidia.control("xid", 1, 79, "gone")
    nvidia.control("p2p-get", 1, 0x10000, 0x30000)
    nvidia.control("p2p-map", 1, 0)
    nvidia.control("p2p-unmap", 1)
    nvidia.control("p2p-put", 1)
    nvidia.control("suspend", 0, 3000000)
    nvidia.control("resume", 0, 2000000)
    nvidia.control("fault-cpu", 2, 1, folder=nvidia.UVM)
    nvidia.control("fault-gpu", 3, 1, 0, folder=nvidia.UVM)
    nvidia.control("migrate", 2, 0, 1, 65536, 1, folder=nvidia.UVM)
    nvidia.control("evict", 1, 1, 131072, folder=nvidia.UVM)
    after = nvidia.account()

    def count(*names):
        return sum(after.get(n, 0) - before.get(n, 0) for n in names)

    commands = {int(n.split("/")[1], 16): after[n] - before.get(n, 0) for n in after
                if re.match(r"command/0x\w+/ioctls$", n)}
    lab.equal(sum(commands.values()), count("ioctls"), "ioctls of all commands")
    irqs = [d[1] for d in nvidia.devices()]
    isr, handled = ("%s/%d" % (address, irq) for address, irq in
                    ((gpu, irqs[0][1]), (other, irqs[1][2])))
    typed = nvidia.has_btf("nvidia_uvm")
    # A number instead of lines, since the activity of processes varies.
    return {
        "open": count("opens", "open_errors"), "close": count("closes"),
        "ioctl": {"command": commands},
        "mmap": count("mmaps", "mmap_errors"), "fault": count("faults"), "poll": count("polls"),
        "vma_open": count("vma_opens"), "vma_release": count("vma_releases"),
        "isr": [Line(isr, dict(irq=irqs[0][1]), "irq %d" % irqs[0][1], 3),
                Line(handled, dict(irq=irqs[1][2]), "irq %d" % irqs[1][2], 2)],
        "isr_bh": [Line(isr, dict(irq=irqs[0][1], since_isr_ns=Time(1)),
                        "irq %d  since_isr TIME" % irqs[0][1], 3)],
        "xid": [Line(other + "/79/GPU fell off the bus", dict(code=79), "code 79", 1)],
        "p2p_get": [Line("-", dict(length_bytes=0x30000, result=0),
                         "length 192KiB  result 0", 1)],
        "p2p_put": [Line("-", dict(length_bytes=0x30000), "length 192KiB", 1)],
        "p2p_dma_map": [Line(gpu, dict(mapped_bytes=0x30000, result=0),
                             "mapped 192KiB  result 0", 1)],
        "suspend": [Line(gpu, dict(result=0, duration_ns=Time(3000000)),
                         "result 0  duration TIME", 1)],
        "resume": [Line(gpu, dict(result=0, duration_ns=Time(2000000)),
                        "result 0  duration TIME", 1)],
        # Without its cause, an eviction counts like any other migration.
        "uvm_fault": 5, "uvm_migrate": 2 if typed else 3, "uvm_evict": 1 if typed else 0}


GROUPS = {"i915": do_i915, "amdgpu": do_amdgpu, "drm_vblank": do_vblank, "nvidia": do_nvidia}


def do_all():
    wanted = {}
    for do in GROUPS.values():
        wanted.update(do())
    return wanted


# --- comparing

def numbers(wanted):
    """{event: how often}"""
    found = {}
    for name, lines in wanted.items():
        if isinstance(lines, dict):
            lines = sum(lines["command"].values())
        found[name] = lines if isinstance(lines, int) else sum(l.times for l in lines)
    return {name: n for name, n in found.items() if n}


def words_match(event, line):
    for name, word in line.words.items():
        if name not in event:
            return False
        if isinstance(word, Time):
            if not isinstance(event[name], int) or event[name] < word.least:
                return False
        elif event[name] != word:
            return False
    return line.row in (None, event["row"])


# Fields of every event of a table in JSON, besides its words.
COMMON = {"time_ns", "event", "cpu", "group", "row", "pid", "tid", "comm"}


def check_json(events, wanted):
    lab.equal(dict(collections.Counter(e["event"] for e in events)), numbers(wanted), "events")
    for name, lines in wanted.items():
        ours = [e for e in events if e["event"] == name]
        if isinstance(lines, dict):
            lab.equal(collections.Counter(e["command"] for e in ours), lines["command"],
                      "commands of " + name)
        for line in lines if isinstance(lines, list) else ():
            lab.equal(sum(words_match(e, line) for e in ours), line.times,
                      "%s that are %s, of %s" % (name, line, ours))
            lab.equal([e for e in ours if set(e) - COMMON != set(line.words)], [],
                      "%s with other words" % name)
    lab.equal([e for e in events if e["row"] is None], [], "events without a row")
    lab.equal([e["time_ns"] for e in events], sorted(e["time_ns"] for e in events), "times")


def check_table(text, wanted):
    lab.equal(text[0].split(), ["TIME(ms)", "EVENT", "JOB", "RING", "QUEUED/HW", "DETAILS"], "head")
    lab.equal(dict(collections.Counter(l.split()[1].lower() for l in text[1:])), numbers(wanted),
              "events")
    for name, expected in wanted.items():
        ours = [l for l in text[1:] if l.split()[1] == name.upper()]
        for line in expected if isinstance(expected, list) else ():
            # After the row and the empty column of jobs, and before the process.
            match = re.compile(r" %s +-  %s(  by \S+\[\d+\])?$" % (
                re.escape(line.row) if line.row else r"\S+",
                re.escape(line.text).replace("TIME", r"\d[\d.]*(ns|us|ms|s|m|h)\S*")))
            lab.equal(sum(bool(match.search(l)) for l in ours), line.times,
                      "lines of %s like %r, of %s" % (name, line.text, "\n".join(ours)))


lab.step("the drivers, gpumon, the firing process")
fire.load_drivers("amdgpu", "i915")
vblank.load(devices=1, crtcs=2, paused=1)
nvidia.load("580")
nvidia.load_uvm("580")
lab.kprobes_jump(False)
lab.load_gpumon()
f = fire.Fire()
g = Gpumon()
g.group_set("amdgpu_registers", 1)
rounds = 0

lab.step("all as JSON; their rows come while it runs")
text, expected = traced(do_all, "--json")
events = [json.loads(line) for line in text]
check_json(events, expected)
me = os.getpid(), lab.read("/proc/self/comm").strip()
for event in events:
    if event["event"] in ("gem_create", "bo_create", "xid", "suspend") or \
            (event["event"], event["row"]) == ("uvm_fault", "cpu"):
        lab.equal((event["pid"], event["comm"]), me, "the process of %r" % event)
    if event["event"] == "isr":
        lab.equal((event["pid"], event["tid"], event["comm"]), (None, None, None),
                  "the process of %r" % event)
groups = {e["event"]: e["group"] for e in events}
lab.equal([groups[n] for n in ("iv", "device_rreg", "open", "uvm_fault", "vblank", "gem_create")],
          ["amdgpu", "amdgpu_registers", "nvidia", "nvidia_uvm", "drm_vblank", "i915"], "groups")

lab.kprobes_jump(True)

lab.step("what is not known of an event is null, not 0")
faults = [e for e in events if e["event"] == "uvm_fault"]
moves = [e for e in events if e["event"].startswith("uvm_") and e not in faults]
if nvidia.has_btf("nvidia_uvm"):
    # A GPU fault has its address elsewhere.
    lab.equal(sorted(e["address_page"] is None for e in faults), [False] * 2 + [True] * 3,
              "addresses of %s" % faults)
    lab.equal(sorted((e["moved_bytes"], e["from"], e["to"]) for e in moves),
              [(65536, 0, 1)] * 2 + [(131072, 1, 0)], "migrations")
else:
    lab.equal([e["address_page"] for e in faults], [None] * 5, "addresses")
    lab.equal([(e["moved_bytes"], e["from"], e["to"]) for e in moves], [(None,) * 3] * 3,
              "migrations")

lab.step("all as a table")
check_table(*traced(do_all))

lab.step("one group alone")
for group in "amdgpu", "drm_vblank":
    text, expected = traced(do_all, "--json", "--group", group)
    mine = {n: l for n, l in expected.items() if groups.get(n) == group}
    check_json([json.loads(line) for line in text], mine)


def do_two():
    return {**do_i915(), **do_amdgpu()}


lab.step("one row alone: the whole of it, or one of its labels")
for ring, names in (I915 + "/rcs0", {"request_add", "request_retire"}), \
        ("gfx_0.0.0", {"cs_ioctl", "sched_run_job", "cs", "ib_pipe_sync", "vm_flush"}), \
        ("rcs", set()):
    text, expected = traced(do_two, "--ring", ring)
    check_table(text, {n: expected[n] for n in names}) if names else \
        lab.equal(len(text), 1, "lines of ring " + ring)

f.close()
lab.rmmod("gpumon")
nvidia.unload("nvidia_uvm")
nvidia.unload()
vblank.unload()
lab.step("done")
