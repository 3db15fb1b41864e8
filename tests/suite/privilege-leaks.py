#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest tool drivers=stay needs=amdgpu,i915 timeout=600
"""No output contains a kernel address, and an ordinary user gets nothing about other users."""
import gzip
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import actors
import chunks
import events
import fire
import lab
import leaks
import nvidia
from gpumon_netlink import (NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, SOL_NETLINK, Gpumon, Socket,
                            string)

TOOL = lab.BUILD + "/gpumon-user"
DIRECTORY = lab.DEBUGFS + "/gpumon"
# Of another user's program: it appears in root's outputs, and in no others.
SECRET = "others_secret"
DUMPS = ("PROCESS_GET", "STATISTIC_GET", "LAYOUT_GET", "ALERT_GET",
         "GROUP_GET")
# {name: [(how it is read, data)]}: each piece is read from its own beginning.
outputs = {}


def keep(name, data, form=leaks.in_text):
    """Add to the output of that name, with the function of leaks that reads it."""
    outputs.setdefault(name, []).append((form, data))


def form_of_file(name):
    return leaks.in_capture if name.endswith(".records") else leaks.in_text


def in_netlink(data):
    return leaks.in_netlink(data, g)


def tool(*words, good=(0,), name=None, user=None, form=leaks.in_text):
    extra = dict(user=user, group=user, extra_groups=[]) if user else {}
    done = subprocess.run([TOOL, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=120 * lab.SLOWER,
                          env=dict(os.environ, GPUMON_INJECT=library), cwd=folder, **extra)
    lab.check(not good or done.returncode in good,
              "%s: status %d: %s" % (words, done.returncode, done.stderr))
    keep(name or "gpumon-user " + " ".join(words), done.stdout, form)
    keep("gpumon-user's errors", done.stderr)
    return done


# --- the scanner itself: a test that cannot fail is none

lab.step("what is looked for is found")
for setting in "kptr_restrict", "dmesg_restrict":
    lab.check(os.path.exists("/proc/sys/kernel/" + setting), "no " + setting)


def restrict(value):
    with open("/proc/sys/kernel/kptr_restrict", "w") as file:
        file.write(str(value))


restrict(0)
symbols = {}
with open("/proc/kallsyms") as file:
    # The symbols are sorted, and there are many.
    while not {"_text", "_stext"} <= set(symbols):
        at, _, name = file.readline().split()[:3]
        symbols[name] = int(at, 16)
text_at = symbols["_text"]
print("_text is at %#x%s" % (text_at, "" if text_at != 0xffffffff81000000 else
                             ", as without KASLR"))
heap = 0xffff888012345678


def event(number, *words, error=0, queued=leaks.UNKNOWN >> 32, running=leaks.UNKNOWN >> 32,
          comm=b"cat"):
    return events.LAYOUT.pack(5, *words, number, 0, 1, 3, 711, 712, queued, running, error, 0, comm)


def record(kind, body):
    return struct.pack("<HHI", kind, 0, 8 + len(body)) + body


def in_capture(body):
    """The event as in a capture, behind a text whose length is no multiple of four."""
    return chunks.plain_chunk(record(5, struct.pack("<II", 1, 12) + b"minor100/100\0\0\0\0") +
                 record(60, struct.pack("<II", len(body), 1) + body))


def varint(number):
    data = b""
    while number > 0x7f:
        data += bytes((number & 0x7f | 0x80,))
        number >>= 7
    return data + bytes((number,))


OPEN, IOCTL, DONE = 33, 35, 3
for address in text_at, symbols["_stext"] + 0x1234, heap, 0xffffc90000123450:
    high, low = address >> 32, address & 0xffffffff
    pid = bytearray(event(OPEN, 0, 0, 0, 0))
    pid[48:56] = struct.pack("<Q", address)
    for form, data in (
            *((leaks.in_text, text) for text in (
                b"x %x y" % address, b'{"a":0x%X}' % address, b"a=%d," % address,
                b" %d\n" % (address - (1 << 64)))),
            (leaks.in_bytes, b"abcd" + struct.pack("<Q", address) + b"ef"),
            (leaks.in_protobuf, b"\x0a\x0d\x08" + varint(address) + b"\x18\x01"),
            (leaks.in_protobuf, b"\x0a\x09\x41" + struct.pack("<Q", address)),
            *((form, wrap(event(*words, **more))) for form, wrap in
              ((leaks.in_events, bytes), (leaks.in_capture, in_capture)) for words, more in (
                  ((OPEN, address, 0, 0, 0), {}), ((IOCTL, 1, address, 0, 0), {}),
                  ((DONE, 1, 2, 3, address), {}),
                  ((OPEN, 0, 0, 0, 0), {"queued": low, "running": high}),
                  ((OPEN, 0, 0, 0, 0), {"comm": b"cat\0xxxx" + struct.pack("<Q", address)}))),
            (leaks.in_events, bytes(pid)),
            (leaks.in_capture, chunks.plain_chunk(record(22, struct.pack("<QQQIIII", 1, 2, address, 3, 4, 5,
                                                            0)))),
            (leaks.in_capture, chunks.plain_chunk(record(999, struct.pack("<Q", address))))):
        lab.check(any(value == address for value, _, _ in form(data)),
                  "%#x is not found in %r" % (address, data))
# Errors and "unknown" do not count, whatever is beside them.
for form, data in (
        (leaks.in_text, b"-22 18446744073709551615 0xffffffffffffffff ffffffffffffffea -4095"),
        (leaks.in_text, b"gpumon-20261122-0031"),
        (leaks.in_protobuf, b"\x08" + varint((-19) & leaks.UNKNOWN) + b"\x18\x01"),
        *((form, wrap(body)) for form, wrap in
          ((leaks.in_events, bytes), (leaks.in_capture, in_capture)) for body in (
              event(OPEN, -19 & leaks.UNKNOWN, 0, 0, 0),
              event(IOCTL, 0xc0104629, -16 & leaks.UNKNOWN, 1500, 0),
              event(DONE, 1, 2, leaks.UNKNOWN, 0, error=-125, queued=7)))):
    lab.equal(list(form(data)), [], "found in %r" % data)

lab.step("all drivers, another user's program, an alert")
folder = tempfile.mkdtemp()
os.chmod(folder, 0o755)
os.chmod(os.environ["TMPDIR"], 0o755)
library = folder + "/libgpumon-inject.so"
open(library, "w").close()
os.chmod(library, 0o755)
lab.load_mock(devices=2, rings=2)
nvidia.load("580")
nvidia.load_uvm("580")
fire.load_drivers("amdgpu", "i915")
lab.load_gpumon()
f = fire.Fire()
g = Gpumon()
g.group_set("amdgpu_registers", 1)
listener = Socket(timeout=5)
listener.socket.setsockopt(SOL_NETLINK, 1, g.groups_of["alerts"])
secret = "%s/%s" % (folder, SECRET)
shutil.copy(lab.BUILD + "/mock_submit", secret)
os.chmod(secret, 0o755)


def work():
    """Some work for every driver."""
    subprocess.run([secret, "-d", "all", "-r", "all", "-n", "20", "-w"], user=12345, group=12345,
                   extra_groups=[], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    device = f.i915_device("0000:00:02.0", 0)
    obj = f.i915_object(1 << 20, device, count=3)
    vma = f.i915_vma(f.i915_object(1 << 20, device), f.i915_vm(device), size=36 << 10)
    request = f.i915_request(f.i915_engine(0, 0, "rcs0", device), context=77, seqno=8)
    f.i915_gem_object_create(obj, times=3)
    f.i915_vma_bind(vma, 0x11)
    f.i915_vma_unbind(vma)
    f.i915_gem_shrink(device, 12, 3)
    f.i915_gem_evict(f.i915_vm(device), 5 << 20, 16 << 10, 9)
    f.i915_gem_object_pwrite(obj, 10, 2048)
    f.i915_gem_object_pread(obj, 30, 40)
    f.i915_gem_object_fault(obj, 6, True, False)
    f.i915_request_add(request)
    f.i915_request_retire(request)
    f.i915_gem_object_destroy(obj)
    card = f.amdgpu_device("0000:03:00.0")
    bo = f.amdgpu_bo(size=1 << 20, domain=fire.VRAM | fire.GTT)
    bo.set("tbo.base.dev", card.at("ddev"))
    ring = f.amdgpu_ring("gfx_0.0.0", card, hub=1)
    job = f.amdgpu_job(ring, context=100, seqno=3, num_ibs=2)
    f.amdgpu_bo_create(bo)
    f.amdgpu_bo_move(bo, to=fire.PL_TT, from_=fire.PL_VRAM)
    f.amdgpu_cs_ioctl(job)
    f.amdgpu_cs(job, dw=64)
    f.amdgpu_sched_run_job(job)
    f.amdgpu_iv(client_id=20, src_id=181, ring_id=5, vmid=7)
    f.amdgpu_vm_bo_map(f.amdgpu_bo_va(bo), f.amdgpu_mapping(64 << 10, start=1 << 20, flags=6))
    f.amdgpu_vm_flush(ring, vmid=7, pd_addr=0xabc000)
    f.amdgpu_ib_pipe_sync(job, f.fence(9, 8))
    f.amdgpu_device_rreg(reg=0x10, value=0x20)
    f.amdgpu_device_wreg(reg=0x11, value=0x21)
    # Pointers to nowhere are counted but not shown.
    f.amdgpu_bo_create(fire.POISON)
    f.drm_vblank_event(crtc=0, seq=3, time=5)
    f.drm_vblank_event_queued(crtc=0, seq=4)
    f.drm_vblank_event_delivered(crtc=0, seq=4)
    nvidia.workload("--processes", 1)
    nvidia.control("interrupt", 0, 1, 3)
    nvidia.control("xid", 1, 79, "gone")
    nvidia.control("p2p-get", 1, 0x10000, 0x30000)
    nvidia.control("p2p-map", 1, 0)
    nvidia.control("p2p-unmap", 1)
    nvidia.control("p2p-put", 1)
    nvidia.control("suspend", 0, 300000)
    nvidia.control("resume", 0, 200000)
    nvidia.control("fault-cpu", 2, 1, folder=nvidia.UVM)
    nvidia.control("fault-gpu", 3, 1, 0, folder=nvidia.UVM)
    nvidia.control("migrate", 2, 0, 1, 65536, 1, folder=nvidia.UVM)
    lab.wait_idle()


def in_pprof(data):
    """Compressed bytes have no structure to look at."""
    return leaks.in_protobuf(gzip.decompress(data))


def raw_netlink():
    for name in DUMPS:
        with Socket() as s:
            s.send(s.build(g.id, g.command(name), b"", NLM_F_REQUEST | NLM_F_ACK | NLM_F_DUMP))
            done = False
            while not done:
                data = s.socket.recv(1 << 18)
                keep("netlink " + name, data, in_netlink)
                # The last message of a dump.
                done = struct.unpack_from("<H", data, 4)[0] in (2, 3)
                at = 0
                while not done and at + 16 <= len(data):
                    length, kind = struct.unpack_from("<IH", data, at)
                    done = kind in (2, 3)
                    at += length + 3 & ~3
    for name, attrs in ("INFO_GET", b""), ("EVENT_RING_GET", b""), \
            ("GROUP_GET", string(g.a("GROUP_NAME"), "nosuch")), \
            ("GROUP_GET", string(g.a("GROUP_NAME"), "amdgpu")), ("RESET", b""):
        with Socket() as s:
            s.send(s.build(g.id, g.command(name), attrs))
            keep("netlink " + name, s.socket.recv(1 << 18), in_netlink)


def ring_is_on(process):
    """Wait until a process has switched it on, or show why it did not."""
    lab.until(lambda: g.event_ring()["enabled"] or process.poll() is not None,
              "the event ring is on", pause=0.02)
    lab.check(process.poll() is None, "it ended: %s" % (process.poll() is not None and
                                                        process.communicate()[0]))


def one_round():
    """Every output once, while everything runs."""
    g.event_ring_set(enabled=1)
    work()
    fd = os.open(DIRECTORY + "/events", os.O_RDONLY | os.O_NONBLOCK)
    try:
        while True:
            data = os.read(fd, 1 << 16)
            if not data:
                break
            keep("events", data, leaks.in_events)
    except BlockingIOError:
        pass
    os.close(fd)
    g.event_ring_set(enabled=0)
    for name in "stats", "histograms":
        with open(DIRECTORY + "/" + name, "rb") as file:
            keep(name, file.read())
    keep("netlink alerts", listener.socket.recv(1 << 16), in_netlink)
    tool("stat")
    tool("stat", "--json")
    tool("top", "--batch", "--count", "1", "--interval", "0.1")
    tool("alerts", "--last")
    tool("alerts", "--last", "--json")
    tool("doctor", "--json", good=(0, 1))
    tool("set", "drm_sched", "on", "--json")
    for words in (), ("--json",):
        process = subprocess.Popen([TOOL, "trace", *words], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        ring_is_on(process)
        work()
        process.send_signal(2)
        keep("gpumon-user trace " + " ".join(words), process.communicate(timeout=60 * lab.SLOWER)[0])
    # With the module's events, including another user's process.
    capture = "%s/capture%d" % (folder, len(os.listdir(folder)))
    process = subprocess.Popen([TOOL, "record", "-o", capture, "--", "cat"], cwd=folder,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT,
                               env=dict(os.environ, GPUMON_INJECT=library))
    ring_is_on(process)
    work()
    keep("gpumon-user record", process.communicate(timeout=60 * lab.SLOWER)[0])
    for name in os.listdir(capture):
        with open(capture + "/" + name, "rb") as file:
            keep("capture", file.read(), form_of_file(name))
    for words in (("correlate",), ("correlate", "--json"), ("report", "-o", "-"),
                  ("flamegraph", "-o", "-"), ("export", "--chrome"), ("export", "--folded"),
                  ("export", "--json"), ("diff", capture), ("export", "--perfetto", "-o", "-"),
                  ("export", "--pprof", "-o", "-")):
        form = leaks.in_protobuf if words[1:2] == ("--perfetto",) else leaks.in_text
        if words[1:2] == ("--pprof",):
            form = in_pprof
        tool(*words[:1], capture, *words[1:], name="gpumon-user " + " ".join(words[:2]), form=form)


for value in 0, 1:
    lab.step("every output, kptr_restrict is %d" % value)
    restrict(value)
    one_round()
    raw_netlink()
with open("/dev/kmsg", "rb", buffering=0) as kmsg:
    os.set_blocking(kmsg.fileno(), False)
    while True:
        try:
            line = kmsg.read(1 << 16)
        except BlockingIOError:
            break
        if line is None:
            break
        if b"gpumon" in line.split(b";", 1)[1].split(b"\n")[0]:
            keep("kernel log", line)
lab.run("insmod", lab.BUILD + "/gpumon.ko", "max_rings=0", check_=False)
for name in sorted(os.listdir("/sys/module/gpumon/parameters")):
    if name != "reset":
        keep("parameters", lab.read("/sys/module/gpumon/parameters/" + name).encode())

lab.step("none has an address of the kernel")
def found_in(name):
    return [hit + (data,) for form, data in outputs[name] for hit in form(data)]


sizes = {name: sum(len(data) for _, data in pieces) for name, pieces in outputs.items()}
size = sum(sizes.values())
print("%d outputs, %d bytes" % (len(outputs), size))
lab.check(len(outputs) > 35 and size > 200000, "too little: %r" % sizes)
# No program here uses CUDA, so there are no launch stacks.
lab.equal([name for name, size in sizes.items() if not size and name != "gpumon-user's errors"],
          ["gpumon-user export --folded"], "outputs that are empty")
for name in outputs:
    hits = found_in(name)
    lab.check(not hits, "%s has %s" % (name, ", ".join(
        "%#x at %d, %s (%r)" % (value, at, what, data[max(at - 40, 0):at + 40])
        for value, at, what, data in hits[:3])))
seen = [name for name, pieces in outputs.items()
        if any(SECRET.encode() in data for _, data in pieces)]
lab.check(len(seen) > 8, "root is not shown the other user's program: only in %s" % seen)

lab.step("an ordinary user gets nothing of others")


def ordinary():
    own = tempfile.mkdtemp(dir=theirs)
    found = {}
    os.environ["TMPDIR"] = own
    for words in (("stat",), ("stat", "--json"), ("top", "--batch", "-n", "1"),
                  ("trace", "-d", "10ms"), ("alerts", "--last"), ("doctor",), ("doctor", "--json"),
                  ("set", "drm_sched", "on"), ("record", "-o", own + "/capture", "--", "true"),
                  ("report", own + "/capture", "-o", "-"), ("export", "--json", own + "/capture")):
        done = subprocess.run([TOOL, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=60 * lab.SLOWER, cwd=own,
                              env=dict(os.environ, GPUMON_INJECT=library))
        found[" ".join(words)] = done.stdout
    for top, _, names in os.walk(own):
        for name in names:
            with open(os.path.join(top, name), "rb") as file:
                found[name] = file.read()
    for top, _, names in os.walk("/sys/module/gpumon"):
        for name in names:
            try:
                with open(os.path.join(top, name), "rb") as file:
                    found[os.path.join(top, name)] = file.read(4096)
            except OSError:
                pass
    with Socket() as s:
        # The controller's answer about the family is public.
        found["nlctrl"] = b"".join(s.request(16, 3, string(2, "gpumon")))
    return found


theirs = folder + "/theirs"
os.mkdir(theirs)
os.chown(theirs, actors.NOBODY, actors.NOBODY)
held = lab.held("-d", 0, "-r", 0, "-n", 4)
restrict(0)
got = actors.run("user", ordinary)
lab.check(len(got) > 20, "too little: %s" % sorted(got))
for name, data in got.items():
    lab.check(SECRET.encode() not in data and b"mock_submit" not in data,
              "%s tells an ordinary user of others: %r" % (name, data[:400]))
    form = leaks.in_bytes if name == "nlctrl" else form_of_file(name)
    hits = list(form(data))
    lab.check(not hits, "%s has %s for an ordinary user" % (name, hits[:3]))
    lab.check(not re.search(rb"mock_gpu\.\d", data), "%s names devices: %r" % (name, data[:400]))
lab.release(held)
f.close()
listener.close()
g.close()
lab.rmmod("gpumon")
nvidia.unload("nvidia_uvm")
nvidia.unload()
lab.step("done")
