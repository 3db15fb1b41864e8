# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""
The budget of wall time and the idle times of GPUs, by brute force: for reference.py, from the records and
from what Documentation/user/ says of them. gpumon-user divides both in a stream.

A thread's time is cut at everything that happens in it; each piece has one state. Pieces are added up by
call path.
"""
import bisect
import collections
import json
import pathlib
import re
import struct

UNSTACKED_MAX = 64
UNSAMPLED, WAITS, OF_OPERATIONS = 32, 64, 2
WAIT_STATES = ["blocked", "running", "lock", "sleep", "read", "write", "poll", "child", "page fault", "system call"]
WAIT_KEYS = ["unknown", "running", "lock", "sleep", "read", "write", "poll", "child", "page_fault", "system_call"]
FILES = ["", "a file", "a pipe", "a socket", "a device", ""]
OVERHEADS = ["overhead of the API", "compilation by the driver", "module loading", "function loading",
             "command buffer full", "profiling library", "unified memory set-up"]
OVERHEAD_KEYS = ["other", "compiler", "module_loading", "function_loading", "queue_full", "profiler", "unified_memory"]
RUNNING, READ, WRITE = 1, 4, 5

Call = collections.namedtuple("Call", "start end spent path api correlation")
Piece = collections.namedtuple("Piece", "start end spent kind path")


def state(text):
    return f"[{text}]"


def clocks(directories):
    """What is added to the times of each capture: that of the machine that booted first has the clock of all."""
    began = {}
    boots = []
    for directory in directories:
        try:
            info = json.loads((pathlib.Path(directory) / "capture.json").read_text(encoding="utf-8"))
        except ValueError:
            info = {}
        boots.append(info.get("boot_id"))
        if boots[-1]:
            began.setdefault(boots[-1], info["created_realtime_ns"] - info["created_monotonic_ns"])
    return {str(directory): began[boot] - min(began.values()) if boot else 0
            for directory, boot in zip(directories, boots)}


class Records:
    """What the budget needs of a process beside what the reference has read."""

    def __init__(self):
        self.calls, self.waits, self.overheads, self.windows = [], [], [], []

    def take(self, kind, flags, record):
        if kind == 20:
            start, end, tid, correlation, stack, function, context = struct.unpack_from("<QQIIIII", record, 8)
            self.calls.append((tid, start, end, "gpu_wait_calls" if flags & WAITS else "launch_calls", stack, function,
                               context >> 24, correlation, bool(flags & UNSAMPLED)))
        elif kind == 21:
            start, end, tid, correlation, function, stack, context = struct.unpack_from("<QQIIIII", record, 8)
            self.calls.append((tid, start, end, "gpu_wait_calls" if flags & 1 else "other_calls", stack, function,
                               context >> 24, correlation, False))
        elif kind == 22:
            time, _, duration, tid, function, stack = struct.unpack_from("<QQQIII", record, 8)
            self.calls.append((tid, time, time + duration, "gpu_wait_calls" if flags & 1 else "launch_calls", stack,
                               function, 0, 0, False))
        elif kind == 25:
            start, end, period, tid, stack, _, of, file = struct.unpack_from("<QQQIIIHH", record, 8)
            if start and end >= start:
                self.waits.append((tid, max(0, start - period // 2), end + period // 2, of, stack, file, start, end))
        elif kind == 47:
            start, end, _, tid, of = struct.unpack_from("<QQIII", record, 8)
            if start and end > start:
                self.overheads.append((tid, start, -end, of))
        elif kind == 81 and not flags & OF_OPERATIONS:
            self.windows.append((struct.unpack_from("<Q", record, 8)[0], not flags & 1))

    def recorded(self):
        """The times in which it was recorded; all of it unless that began more than once."""
        if sum(begins for _, begins in self.windows) < 2:
            return None
        return open_spans(self.windows)


def open_spans(changes):
    """(from, until) of what begins and ends at (time, whether it begins); a second begin or end in a row counts for nothing."""
    found, since = [], None
    for time, begins in sorted(changes):
        if begins and since is None:
            since = time
        elif not begins and since is not None:
            found.append((since, time))
            since = None
    return found + ([(since, 1 << 64)] if since is not None else [])


def cut(start, end, spans):
    """(from, until, the span or None) of all parts of a time, for spans (from, until, ...) without overlaps."""
    for span in spans[max(0, bisect.bisect_right(spans, (start,)) - 1):]:
        since, until = max(start, span[0]), min(end, span[1])
        if span[0] >= end:
            break
        if until > since:
            if since > start:
                yield start, since, None
            yield since, until, span
            start = until
    if end > start:
        yield start, end, None


def painted(spans):
    """(from, until, what) without overlaps: where they overlap, the one that began last, or is the shortest."""
    edges = sorted({edge for start, end, _ in spans for edge in (start, end)})
    found = []
    for start, end in zip(edges, edges[1:]):
        over = [(span[0], -span[1], number, span[2]) for number, span in enumerate(spans) if span[0] <= start and span[1] >= end]
        if over:
            found.append((start, end, max(over)[3]))
    return found


def common(one, other):
    """The callers that two paths have in common; a function with calls from two lines is there without line."""
    path = []
    for a, b in zip(one, other):
        if a != b:
            (name, file), (name_b, file_b) = ((re.sub(r" \([^()]*:\d+\)$", "", text),
                                               re.findall(r" \(([^()]*):\d+\)$", text)) for text in (a, b))
            if file and name == name_b and file == file_b:
                path.append(name)
            break
        path.append(a)
    return path


class Thread:
    """Wall time of a thread in pieces, in order of time."""

    def __init__(self, process, records, tid, calls, path_of, has_name):
        self.process, self.calls = process, []
        self.path_of, self.has_name = path_of, has_name
        waits = sorted(wait[1:] for wait in records.waits if wait[0] == tid)
        self.waits = [(wait[0], min([wait[1]] + [later[0] for later in waits[number + 1:number + 2]]), wait)
                      for number, wait in enumerate(waits)]
        self.waits = [wait for wait in self.waits if wait[1] > wait[0]]
        own, any_thread = (painted([(start, -end, kind) for of, start, end, kind in sorted(records.overheads)
                                    if of == thread]) for thread in (tid, 0))
        self.overheads = own, any_thread
        self.windows = records.recorded()
        self.between = self.frames(calls)
        done = process.first
        for call in calls:
            _, start, end, spent, stack, function, api, correlation, unsampled = call
            start = max(start, done)
            way = (["[stack not sampled]"] if unsampled and not stack else []) + path_of(stack, function, call[1])
            self.calls.append(Call(start, max(end, start), spent, way, api, correlation))
            done = self.calls[-1].end
        self.starts = [call.start for call in self.calls]

    def frames(self, calls):
        """What is around the time in front of each call: the callers, and whether they are unknown as not sampled."""
        found, pending, before, lost = [], 0, None, False

        def settle(after, is_lost):
            nonlocal pending, before, lost
            path = common(before, after) if before is not None and after is not None else []
            found.extend([(path, lost or is_lost)] * pending)
            pending, before, lost = 0, after, is_lost

        for _, start, _, _, stack, function, _, _, unsampled in calls:
            pending += 1
            if stack:
                way = self.path_of(stack, function, start)
                settle(way[:-1] if self.has_name(function) else way, False)
            elif unsampled:
                settle(None, True)
            elif pending == UNSTACKED_MAX:
                settle(None, False)
        settle(None, False)
        return found

    def in_call(self, call, start, end):
        for start, end, own in cut(start, end, self.overheads[0]):
            for since, until, any_thread in [(start, end, own)] if own else cut(start, end, self.overheads[1]):
                kind = any_thread and any_thread[2]
                yield Piece(since, until, call.spent, kind,
                            call.path + ([] if kind is None else [state(OVERHEADS[kind])]))

    def looked_path(self, wait, path, calls):
        """Where a look found the thread, between the end and the begin of two calls, which have @path in common."""
        began, _, kind, stack, _, first, last = wait
        if not stack:
            return path
        found = self.path_of(stack, 0, began)
        if kind != RUNNING or found[:1] != ["[stack cut off]"]:
            return found
        # Another call came in between: what is outward of the stack is not known.
        if not any(calls[0] <= time < calls[1] for time in (first, last)):
            return path
        if not path:
            return found
        inner = found[1:]
        name = [re.sub(r" \([^()]*:\d+\)$", "", text) for text in path]
        both = max(count for count in range(min(len(path), len(inner)) + 1)
                   if not count or name[-count:] == [re.sub(r" \([^()]*:\d+\)$", "", text) for text in inner[:count]])
        return path + inner[both:]

    def outside(self, start, end, spent, path, calls):
        """Between calls, before the first, after the last: unrecorded, what looks found, the rest."""
        name = {"before_first_call": "before the first call", "after_last_call": "after the last call",
                "between_calls": "between calls"}[spent]
        windows = [(start, end, None)] if self.windows is None else [(*window, None) for window in self.windows]
        for since, until, window in cut(start, end, windows):
            if not window:
                yield Piece(since, until, "unrecorded", None, [state("not recorded")])
                continue
            for at, to, wait in cut(since, until, self.waits):
                if not wait:
                    yield Piece(at, to, spent, None, path + [state(name)])
                    continue
                _, _, kind, _, file, _, _ = wait[2]
                text = WAIT_STATES[kind]
                if kind in (READ, WRITE) and FILES[file]:
                    text += (" of " if kind == READ else " to ") + FILES[file]
                yield Piece(at, to, spent if spent != "between_calls" else "running" if kind == RUNNING else "blocked",
                            kind, self.looked_path(wait[2], path, calls) + [state(text)])

    def pieces(self, since=None, until=1 << 65):
        """Of that time, which may begin before the process; None: its first record."""
        since = self.process.first if since is None else since
        calls = self.calls
        # From the last call that begins before that time on.
        first = max(0, bisect.bisect_left(self.starts, since) - 1)
        for number in range(first, len(calls)):
            call = calls[number]
            before = calls[number - 1].end if number else 0
            yield from self.part(number, max(before, since), min(call.start, until))
            yield from self.in_call(call, max(call.start, since), min(call.end, until))
            if call.end >= until:
                return
        yield from self.outside(max(calls[-1].end, since), min(self.process.last, until), "after_last_call", [],
                                (calls[-1].end, 1 << 65))

    def part(self, number, start, end):
        if end > start:
            yield from self.outside(start, end, "between_calls" if number else "before_first_call",
                                    self.between[number][0] if number else [],
                                    (self.calls[number - 1].end if number else 0, self.calls[number].start))


class Process:
    """First and last time, and the threads that make calls. Times are those of its capture's clock."""

    def __init__(self, records, spans, path_of, has_name):
        self.first = min((start for start, _ in spans if start), default=0)
        self.last = max((max(span) for span in spans), default=0)
        by_thread = collections.defaultdict(list)
        for call in records.calls:
            if call[1]:
                by_thread[call[0]].append(call)
        self.threads = {tid: Thread(self, records, tid, calls, path_of, has_name) for tid, calls in by_thread.items()}
        self.launches = {}
        for thread in self.threads.values():
            for number, call in enumerate(thread.calls):
                # Of several calls with one id none is known.
                key = call.api, call.correlation
                self.launches[key] = None if key in self.launches else (thread, number)


class Gpu:
    """What runs on a GPU, on the clock of all captures."""

    def __init__(self):
        self.works, self.unended, self.windows, self.users = [], [], [], set()

    def add(self, user, shift, windows, work, origin):
        """@user: a device of a process, with the windows in which operations were recorded."""
        _, flags, start, end = work[:4]
        if user not in self.users:
            self.users.add(user)
            self.windows.append(windows and [(since + shift, until + shift) for since, until in windows])
        if start and end >= start and not flags & 9:
            self.works.append((start + shift, end + shift, origin))
        elif start and flags & 9 == 1:
            self.unended.append((start + shift, origin))

    def recorded(self):
        """The times in which all users were: before its first window and after its last one nobody lacks one."""
        if not any(windows is not None for windows in self.windows):
            return None
        found = [(0, 1 << 65)]
        for windows in filter(None, self.windows):
            if len(self.windows) > 1:
                windows = [(since if number else 0, until if number + 1 < len(windows) else 1 << 65)
                           for number, (since, until) in enumerate(windows)]
            found = [(max(a, since), min(b, until)) for a, b in found for since, until in windows
                     if max(a, since) < min(b, until)]
        return found if len(self.windows) > 1 or self.windows[0] else []

    def gaps(self, first, last):
        """(start, end, origin of the operation that ends it) of each time in which nothing ran."""
        done, windows = first, self.recorded()
        for start, end, origin in sorted(self.works, key=lambda work: (work[0], work[2][1:4])) + [(last, last, None)]:
            for since, until in ([(0, 1 << 65)] if windows is None else windows) if start > done else []:
                if since >= start or until <= done or (since > done and until > start):
                    continue
                stop = min([(min(until, start), 1, origin)] +
                           [(at, 0, of) for at, of in self.unended if since <= at <= min(until, start)],
                           key=lambda stop: (stop[:2], stop[2] and stop[2][1:4]))
                if stop[0] > max(since, done):
                    yield max(since, done), stop[0], stop[2]
            done = max(done, end)


class Budget:
    """Sums of all processes of some captures."""

    def __init__(self, directories):
        self.rows, self.wall, self.idle = [], collections.Counter(), collections.Counter()
        self.lost, self.estimate = collections.Counter(), collections.Counter()
        self.gpus = collections.defaultdict(Gpu)
        self.shifts, self.processes, self.spans = clocks(directories), {}, []

    def add_process(self, file, process, spans, path_of, windows):
        """@process: as the reference has read it."""
        shift = self.shifts[str(file.parent)]
        made = self.processes[file] = Process(process.beside, spans, path_of, lambda function: function in process.strings)
        self.spans += [(start and start + shift, end and end + shift) for start, end in spans]
        for tid, thread in made.threads.items():
            self.add_thread(process.pid, tid, thread)
        for work in process.works:
            uuid, context = process.devices.get(work[7]), work[8]
            launch = made.launches.get((context >> 24, work[5])) if work[5] and not work[1] & 2 else None
            # Of several that begin at once, the lowest counts.
            origin = (len(self.processes), context >> 24, work[5] if not work[1] & 2 else 0, launch)
            self.gpus[uuid or (file, work[7])].add((file, work[7]), shift, windows, work, (shift, *origin))

    def add_thread(self, pid, tid, thread):
        spent, blocked, gaps = collections.Counter(), collections.Counter(), collections.Counter()
        known, lost = collections.Counter(), collections.Counter()
        for piece in thread.pieces():
            ns, path = piece.end - piece.start, ";".join(piece.path)
            spent[piece.spent] += ns
            at = bisect.bisect_right(thread.starts, piece.start)
            if piece.spent == "blocked":
                blocked[WAIT_KEYS[piece.kind]] += ns
            if piece.spent in ("between_calls", "running", "blocked"):
                gaps[at] += ns
            if piece.spent == "between_calls":
                (lost if thread.between[at][1] else known)[path] += ns
            self.wall[path] += ns
        wall = sum(spent.values())
        assert wall == max(thread.process.last, thread.calls[-1].end) - thread.process.first, "wall time has a rest"
        unsampled = sum(lost.values())
        if unsampled and known:
            self.lost += lost
            for path, ns in known.items():
                self.estimate[path] += unsampled * ns / sum(known.values())
        if wall:
            self.rows.append([pid, tid, wall, dict(sorted((+spent).items())), dict(sorted((+blocked).items())),
                              len(+gaps), max(gaps.values(), default=0), unsampled])

    def idle_of(self, gpu, first, last):
        """A row of a GPU; the call paths get its parts."""
        row, overhead, longest, count = collections.Counter(), collections.Counter(), 0, 0
        for start, end, origin in gpu.gaps(first, last):
            if start <= first or origin is None:
                when = "before_first" if start <= first else "after_last"
                row[when] += end - start
                self.idle[state({"before_first": "before the first", "after_last": "after the last"}[when] +
                                " operation")] += end - start
                continue
            row["between"] += end - start
            longest, count = max(longest, end - start), count + 1
            if origin[4] is None:
                row["unknown"] += end - start
                self.idle[state("launch not known")] += end - start
                continue
            shift, thread, number = origin[0], *origin[4]
            call, ends = thread.calls[number], end - shift
            for piece in thread.pieces(start - shift, min(call.end, ends)):
                self.idle[";".join(piece.path)] += piece.end - piece.start
                if piece.spent in ("launch_calls", "gpu_wait_calls", "other_calls") and piece.kind is not None:
                    overhead[OVERHEAD_KEYS[piece.kind]] += piece.end - piece.start
            queued = max(0, ends - max(start - shift, call.end))
            row["queued"] += queued
            self.idle[";".join(call.path + [state("queued")])] += queued
        return [dict(sorted((+row).items())), dict(sorted((+overhead).items())), count, longest]

    def figures(self):
        first = min((start for start, _ in self.spans if start), default=0)
        last = max((end for _, end in self.spans), default=0)
        gpus = [self.idle_of(gpu, first, last) for gpu in self.gpus.values()]
        return {
            "budget": sorted(self.rows, key=repr),
            "wall": {path: ns for path, ns in sorted((self.wall - self.lost).items()) if ns},
            "wall_estimated": {path: ns for path, ns in sorted(self.estimate.items()) if ns},
            "idle_gpus": sorted(gpus, key=repr),
            "idle": {path: ns for path, ns in sorted(self.idle.items()) if ns},
        }
