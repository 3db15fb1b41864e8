# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A recorder as small as it can be: the other end of user/abi/channel.h.

Empties the channels of all processes that connect, and reads the records in
them (user/abi/format.h). On x86 and arm64 a load of four aligned bytes is
one load, which is all that Python has to promise here; what orders loads is the
time between them, which on arm64 is no guarantee: this is a test's recorder.
"""
import ctypes
import fcntl
import json
import mmap
import os
import select
import shutil
import socket
import struct
import threading
import time
import zlib

BLOCK = 1 << 16
HEAD = 64
MAGIC = 0x31434D47
FREE, FILLING, FULL = 0, 1, 2
HELLO, SETTINGS, REFUSED = 1, 2, 3
RUN, STOP = 1, 2
VERSION = 3
RECORDER_GONE = 0x40000000

KERNELS, COPIES, STACKS, SYNC, ALLOCATIONS, UNIFIED, RANGES, ALL_CALLS, LATENCY, PYTHON = (
    1 << i for i in range(10))
YIELD, BLOCKING, HW_TRACE = 1 << 11, 1 << 12, 1 << 13
DEFAULT = KERNELS | COPIES | STACKS | PYTHON | BLOCKING
ALWAYS, PROFILER, RANGE = range(3)

CAUSES = {1: "channel full", 2: "API dropped", 3: "withheld", 4: "no timestamp",
          5: "stack table", 6: "string table", 10: "unknown record", 12: "interrupted",
          14: "too long", 18: "metric samples"}

RECORDS = {
    1: ("process", "pid parent host_pid rank start_ns pid_namespace boot_id host executable command "
        "cgroup cupti_version driver_version runtime_version reserved", "<4I2Q16s8I"),
    2: ("thread", "tid name", "<2I"),
    3: ("mapping", "time_ns start end offset inode device path build_id build_id_size",
        "<6QI20sB"),
    4: ("unmapping", "time_ns start end", "<3Q"),
    6: ("frame", "id kind reserved function file line first_line", "<I2H4I"),
    8: ("device", "id name uuid mig_uuid pci multiprocessors memory_bytes major minor",
        "<2I16s16s2IQ2H"),
    9: ("context", "time_ns id device", "<Q2I"),
    10: ("stream", "context id priority name", "<2IiI"),
    11: ("api", "api name version platform", "<4I"),
    12: ("clock", "time_ns offset_ns error_ns device source", "<QqQ2I"),
    20: ("launch", "start_ns end_ns tid correlation stack function context result "
         "graph", "<2Q5IiI"),
    21: ("call", "start_ns end_ns tid correlation function stack", "<2Q4I"),
    23: ("range", "time_ns id tid domain text color kind", "<2Q4IH"),
    24: ("graph_node", "node original graph stack", "<2Q2I"),
    40: ("kernel", "start_ns end_ns queued_ns submitted_ns node correlation name device context "
         "stream graph gx gy gz bx by bz static_shared dynamic_shared local registers", "<5Q16I"),
    41: ("copy", "start_ns end_ns bytes node correlation device context stream graph to_device "
         "origin target", "<4Q6I2H"),
    42: ("set", "start_ns end_ns bytes node correlation device context stream graph value",
         "<4Q6I"),
    43: ("sync", "start_ns end_ns correlation context stream kind", "<2Q4I"),
    44: ("memory", "time_ns address bytes correlation device context place", "<3Q3IH"),
    45: ("unified", "start_ns end_ns value address kind from_device to_device", "<4Q3I"),
    46: ("graph", "start_ns end_ns correlation device context stream graph", "<2Q5I"),
    47: ("overhead", "start_ns end_ns correlation tid kind", "<2Q3I"),
    49: ("stall_totals", "time_ns device context samples dropped other period reserved", "<Q2I3Q2I"),
    81: ("window", "time_ns reason", "<QI"),
    82: ("note", "time_ns text", "<QI"),
}
LAUNCH_CAPTURED, LAUNCH_GRAPH, LAUNCH_COPY, LAUNCH_SET, LAUNCH_FAILED, UNSAMPLED, LAUNCH_WAITS = (
    1 << i for i in range(7))
NODES, WINDOWS, WHOLE = range(3)
WINDOW_END, WINDOW_OPERATIONS = 1, 2
UNFINISHED, INTERNAL, PAGEABLE = 1, 2, 4


class Record:
    __slots__ = ("type", "flags", "__dict__")

    def __init__(self, kind, flags, names, values):
        self.type = kind
        self.flags = flags
        self.__dict__.update(zip(names, values))

    def __repr__(self):
        return f"{self.type}{self.__dict__}"


LAYOUTS = {number: (name, fields.split(), struct.Struct(layout))
           for number, (name, fields, layout) in RECORDS.items()}


STALLS = struct.Struct("<2Q8I")


def stalls_of(body):
    """A record of an instruction's samples, with the string ids of their reasons."""
    names = "time_ns module device context name offset file line count reserved".split()
    record = Record("stalls", 0, names, STALLS.unpack_from(body))
    words = struct.unpack_from(f"<{2 * record.count}I", body, STALLS.size)
    record.__dict__["stall"] = dict(zip(words[::2], words[1::2]))
    assert len(body) == STALLS.size + 8 * record.count, (len(body), record)
    return record


class Target:
    """One process that connected, and its records."""

    def __init__(self, connection, settings, blocks, held=False):
        self.connection = connection
        self.done = threading.Event()
        self.chunks = []
        self.read = {}
        self.pid = 0
        self.ended_by = None
        size = (blocks + 1) * BLOCK
        descriptor = os.memfd_create("gpumon-test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(descriptor, size)
        fcntl.fcntl(descriptor, 1033, 0x2 | 0x4 | 0x1)  # F_ADD_SEALS: SHRINK, GROW, SEAL
        self.memory = mmap.mmap(descriptor, size)
        struct.pack_into("<6I", self.memory, 0, MAGIC, VERSION, blocks, RUN, 0, 0)
        self.blocks = blocks
        self.settings = settings
        self.descriptor = descriptor
        self.freed = 0
        self.names = {}
        # Loads and stores of whole words, since slices of an mmap may be copied byte by byte.
        self.words = (ctypes.c_uint32 * (size // 4)).from_buffer(self.memory)
        self.longs = (ctypes.c_uint64 * (size // 8)).from_buffer(self.memory)
        self.words[self.freed_at() * 2 + 2] = os.getpid()
        if held:
            for block in range(blocks):
                self.words[(block + 1) * BLOCK // 4] = FILLING

    def let_go(self):
        """Release all blocks. They were held, so that nothing found room until now."""
        for block in range(self.blocks):
            self.words[(block + 1) * BLOCK // 4] = FREE
        self.freed += self.blocks
        self.longs[self.freed_at()] = self.freed

    def greet(self):
        hello = self.connection.recv(4096)
        if len(hello) < 16:
            return False
        kind, version, self.pid, _ = struct.unpack_from("<4I", hello)
        assert kind == HELLO and version == VERSION, hello
        socket.send_fds(self.connection, [self.settings], [self.descriptor])
        return True

    def drain(self):
        """Read all complete blocks, in the order in which they were taken."""
        found, tids = [], set(self.names)
        for block in range(self.blocks):
            base = (block + 1) * BLOCK
            state = self.words[base // 4]
            if state != FREE:
                found.append((self.longs[base // 8 + 2], block, base, state))
        for sequence, block, base, state in sorted(found):
            tids.add(self.words[base // 4 + 2])
            used = self.words[base // 4 + 1]
            at = self.read.get(block, 0)
            if used > at:
                data = self.memory[base + HEAD + at:base + HEAD + used]
                self.chunks.append((self.words[base // 4 + 2], sequence, data))
                self.read[block] = used
            if state == FULL and self.words[base // 4 + 1] == used:
                self.read[block] = 0
                self.words[base // 4 + 1] = 0
                self.words[base // 4] = FREE
                self.freed += 1
                self.longs[self.freed_at()] = self.freed

        for tid in tids:
            self.look_at_name(tid)

    def look_at_name(self, tid):
        """What a thread is called is the recorder's to find out."""
        names = self.names.setdefault(tid, [])
        try:
            with open(f"/proc/{self.pid}/task/{tid}/comm", encoding="utf-8", errors="replace") as file:
                name = file.read()[:-1]
        except OSError:
            return
        if name not in names[-1:]:
            names.append(name)

    def leave(self):
        """As the kernel does when a recorder ends."""
        self.words[self.freed_at() * 2 + 2] = RECORDER_GONE

    @staticmethod
    def freed_at():
        return (4 * 6 + 8 + 32 * 8 + 6 * 8) // 8

    def blocks_in_use(self):
        return sum(self.words[(block + 1) * BLOCK // 4] != FREE for block in range(self.blocks))

    def totals(self):
        at = 4 * 6 + 8
        lost = struct.unpack_from("<32Q", self.memory, at)
        names = ("launches", "captured", "kernels", "copies", "sets", "device_bytes")
        totals = dict(zip(names, struct.unpack_from("<6Q", self.memory, at + 256)))
        totals["lost"] = {i: n for i, n in enumerate(lost) if n}
        return totals

    def stopped(self):
        return self.words[4] == 1

    def stop(self):
        self.words[3] = STOP

    def record(self, interval):
        try:
            if not self.greet():
                return
            poll = select.poll()
            poll.register(self.connection, select.POLLIN | select.POLLRDHUP)
            while True:
                events = poll.poll(interval * 1000)
                if events:
                    break
                self.drain()
                if self.stopped():
                    break
            self.ended_by = "stop" if self.stopped() else "end"
            self.drain()
        finally:
            self.leave()
            self.done.set()

    def records(self):
        """All records, by type; strings and stacks as dictionaries."""
        result = {name: [] for name, _, _ in LAYOUTS.values()}
        result.update(stalls=[], strings={}, stacks={}, unknown=[], truncated=set(), doubles=0, writers={},
                      metric_sets=[], metric_samples=[])
        for tid, _, data in self.chunks:
            at = 0
            while at < len(data):
                kind, flags, size = struct.unpack_from("<2HI", data, at)
                assert size >= 8 and size % 8 == 0 and at + size <= len(data), (kind, size, at)
                body = data[at + 8:at + size]
                at += size
                if kind == 5:
                    number, length = struct.unpack_from("<2I", body)
                    result["doubles"] += number in result["strings"]
                    result["strings"][number] = body[8:8 + length].decode("utf-8", "replace")
                elif kind == 7:
                    number, count = struct.unpack_from("<2I", body)
                    result["doubles"] += number in result["stacks"]
                    result["stacks"][number] = struct.unpack_from(f"<{count}Q", body, 8)
                    if flags & 1:
                        result["truncated"].add(number)
                elif kind == 48:
                    result["stalls"].append(stalls_of(body))
                elif kind == 50:
                    interval, device, number, count = struct.unpack_from("<Q3I", body)
                    result["metric_sets"].append((device, number, interval, struct.unpack_from(f"<{count}I", body, 24)))
                elif kind == 51:
                    start, end, device, number, count = struct.unpack_from("<2Q3I", body)
                    result["metric_samples"].append(
                        (start, end, device, number, struct.unpack_from(f"<{count}d", body, 32)))
                elif kind in LAYOUTS:
                    name, fields, layout = LAYOUTS[kind]
                    record = Record(name, flags, fields, layout.unpack_from(body.ljust(layout.size, b"\0")))
                    record.__dict__["writer"] = tid
                    result[name].append(record)
                elif kind:
                    result["unknown"].append(kind)
        self.add_names(result)
        return result

    def add_names(self, result):
        """Of threads that the program does not name itself."""
        told, result["thread"] = result["thread"], []
        for thread in told:
            names = [] if thread.name else self.names.get(thread.tid) or [""]
            for name in names:
                number = 0xFFF00000 + len(result["strings"])
                result["strings"][number] = name
                result["thread"].append(Record("thread", 0, ("tid", "name"), (thread.tid, number)))
            if not names:
                result["thread"].append(thread)


def make_settings(record=DEFAULT, window=ALWAYS, flush_ms=50, depth=128, mib=16, name="",
                  sample=1, graphs=NODES, operations_sampled=0, window_ms=0, period_ms=0, kib=0,
                  wait_hz=0, metrics_ns=0, stalls=0):
    return struct.pack("<8I128s6Iq2I", SETTINGS, VERSION, record, window, flush_ms, depth, mib, sample,
                       name.encode(), graphs, operations_sampled, window_ms, period_ms, kib, wait_hz, 0,
                       metrics_ns, stalls)


class Recorder:
    """Listens at a path, with a target for each process that connects."""

    def __init__(self, path, blocks=512, interval=0.005, held=False, **settings):
        self.path = path
        self.held = held
        self.blocks = blocks
        self.interval = interval
        self.settings = make_settings(**settings)
        self.targets = []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.bind(path)
        self.socket.listen(16)
        self.closing = False
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.take(connection)

    def take(self, connection):
        target = Target(connection, self.settings, self.blocks, self.held)
        self.targets.append(target)
        threading.Thread(target=target.record, args=(self.interval,), daemon=True).start()
        return target

    def wait(self, seconds=120):
        until = time.monotonic() + seconds
        for target in self.targets:
            if not target.done.wait(max(0, until - time.monotonic())):
                raise TimeoutError(f"{target.pid} is still connected")
        return self.targets

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()
        try:
            os.unlink(self.path)
        except (OSError, ValueError):
            pass  # an abstract address is no file


def attach(address, blocks=512, interval=0.005, **settings):
    """Connect to a library that listens: the opposite direction."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(address)
    target = Target(connection, make_settings(**settings), blocks)
    threading.Thread(target=target.record, args=(interval,), daemon=True).start()
    return target


def write_capture(folder, targets, command):
    """Write a capture in the documented format, for inspection after the test."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder, mode=0o700)
    files = []
    for target in targets:
        try:
            with open(f"/proc/{target.pid}/stat", encoding="utf-8") as file:
                start = file.read().rsplit(")", 1)[1].split()[19]
        except OSError:
            start = target.records()["process"][0].start_ns if target.chunks else 0
        name = f"process-{target.pid}-{start}"
        totals = target.totals()
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        last = b"".join(struct.pack("<2HI2Q2I", 80, 0, 32, now, count, cause, 0)
                        for cause, count in totals["lost"].items())
        last += struct.pack("<2HI7Q", 83, 0, 64, now, *(totals[n] for n in (
            "launches", "captured", "kernels", "copies", "sets", "device_bytes")))
        size = 0
        with open(os.path.join(folder, name + ".records"), "wb") as file:
            chunks = [(tid, data) for tid, _, data in target.chunks if data] + [(0, last)]
            for sequence, (tid, data) in enumerate(chunks):
                head = struct.pack("<6IQ", 0x434D5047, 1, len(data), 0, tid, 0, sequence)
                crc = zlib.crc32(data, zlib.crc32(head))
                file.write(head[:12] + struct.pack("<I", crc) + head[16:] + data)
                size += 32 + len(data)
        files.append({"name": name, "chunks": len(chunks), "bytes": size})
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot_id = file.read().strip()
    with open(os.path.join(folder, "capture.json"), "w", encoding="utf-8") as file:
        json.dump({"format": "gpumon-capture", "version": 1, "gpumon_version": "test",
                   "boot_id": boot_id, "host": os.uname().nodename, "command": command,
                   "clock": "CLOCK_MONOTONIC", "created_realtime_ns": time.time_ns(),
                   "created_monotonic_ns": time.clock_gettime_ns(time.CLOCK_MONOTONIC),
                   "ended": True, "lost_records": 0, "files": files}, file, indent=1)
