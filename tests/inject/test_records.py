# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The contents of a capture, compared with the account of what happened."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import harness
import recorder as rec
from harness import (SANITIZED, Run, Skip, check, compare_all, compare_launches, equal, frames_of, need,
                     need_real_processor, notes, until)


def test_one_thread():
    """one thread: every launch with its stack, every kernel, copy and memset"""
    for generation in (12, 13):
        run = Run("loop", 2000, generation=generation)
        equal(run.status, 0, "exit status")
        records = compare_all(run, run.only())
        process, = records["process"]
        equal(process.cupti_version, 130001 if generation == 13 else 24, "CUPTI's version")
        equal(process.runtime_version, 0, "runtime's version, of a file without one")


def test_threads():
    """1, 4 and 16 threads at once"""
    for threads in (1, 4, 16):
        run = Run("threads", 600, threads, "named", stdin=subprocess.PIPE, wait=False)
        wanted = {f"worker-{i}" for i in range(threads)}
        until(lambda wanted=wanted: run.targets() and
              wanted <= {name for names in run.only().names.values() for name in names}, "the threads are named")
        run.wait()
        equal(run.status, 0, "exit status (16: errno was changed)")
        records = compare_all(run, run.only())
        names = {records["strings"][t.name] for t in records["thread"]}
        check(wanted <= names, f"no thread {wanted - names} in {names}")


def test_thread_with_two_lines():
    """a name with ends of lines in it stays whole when it is read again"""
    run = Run("two-lines", stdin=subprocess.PIPE, wait=False)
    until(lambda: run.targets() and any(run.only().names.values()), "the thread is named")
    records = run.wait().only().records()
    equal([records["strings"][t.name] for t in records["thread"]], ["two\nlines\n"], "names")


def test_threads_come_and_go():
    """forty rounds of threads that end: blocks and places are reused"""
    # Fewer blocks than threads: each round waits until there are free ones.
    run = Run("churn", 40, 50, blocks=144, stdin=subprocess.PIPE, wait=False)
    for done in range(1, 41):
        until(lambda done=done: run.targets() and run.only().totals()["launches"] == done * 4 * 50 and
              run.only().blocks_in_use() < 40, "blocks are free", pause=0.005)
        run.go_on()
    run.wait()
    equal(run.status, 0, "exit status (16: errno was changed)")
    records = compare_all(run, run.only())
    equal(len({t.tid for t in records["thread"]}), 161, "threads")


def test_what_is_in_records():
    """fields of kernels, copies, memsets and the device arrive as CUPTI has them"""
    run = Run("loop", 70, environment={"MOCK_MIG": "1"})
    records = compare_all(run, run.only())
    kernel = records["kernel"][0]
    equal((kernel.gx, kernel.gy, kernel.gz, kernel.bx, kernel.by, kernel.bz), (7, 2, 1, 128, 1, 1),
          "grid and block")
    equal((kernel.static_shared, kernel.dynamic_shared, kernel.local, kernel.registers),
          (1024, 2048, 16, 32), "resources")
    equal((kernel.context, kernel.stream), (1, 7), "context and stream")
    equal({records["strings"][k.name] for k in records["kernel"]},
          {f"kernel_{c}" for c in "abcde"}, "names")
    copy = records["copy"][0]
    equal((copy.bytes, copy.origin, copy.target, copy.flags), (3, 1, 3, rec.PAGEABLE), "copy")
    memset = records["set"][0]
    equal((memset.bytes, memset.value), (4, 0x5A), "memset")
    device, = records["device"]
    equal(records["strings"][device.name], "Stand-in H100", "device's name")
    equal(device.uuid, bytes(range(1, 17)), "UUID")
    equal(device.mig_uuid, bytes(range(0xF0, 0x100)), "UUID of the instance")
    equal(device.pci, 1 << 16 | 0x1B << 8 | 2 << 3, "bus address")
    equal((device.major, device.multiprocessors), (9, 132), "compute capability")
    context, = [c for c in records["context"] if not c.flags]
    equal(context.id, 1, "context")
    equal(run.only().totals()["device_bytes"], 3 * 3200000, "CUPTI's memory on the GPU")
    functions = {(records["strings"][launch.function], launch.flags) for launch in records["launch"]}
    equal(functions, {("cuLaunchKernel", 0), ("cuLaunchKernelEx", 0), ("cuMemcpyAsync", rec.LAUNCH_COPY),
                      ("cuMemsetD8Async", rec.LAUNCH_SET)}, "functions and flags")
    window = records["window"]
    equal([w.flags for w in window], [0, 1], "begin and end of the window")


def test_contexts():
    """CUPTI's memory is that of the contexts that there are, however many came and went"""
    run = Run("contexts", 20, flush_ms=10000)
    records = run.only().records()
    equal(len(records["context"]), 1 + 20 + 20 + 1, "begins and ends of contexts")
    equal(run.only().totals()["device_bytes"], 2 * 3 * 3200000, "CUPTI's memory on the GPU")


def test_runtime_callbacks_too():
    """with the runtime's callbacks, as for measurements, a launch is recorded once"""
    run = Run("loop", 70, environment={"GPUMON_LAUNCHES": "all"})
    records = compare_all(run, run.only())
    functions = {records["strings"][launch.function] for launch in records["launch"]}
    check({"cudaLaunchKernel_v7000", "cuLaunchKernel", "cudaMemcpyAsync_v3020",
            "cudaLaunchKernelExC_v11060"} <= functions, f"functions are {functions}")


def test_stacks_tell_places_apart():
    """callers are distinguished, and recursion of any depth is complete"""
    run = Run("loop", 7 * 31)
    records = compare_all(run, run.only())
    depths = {len(frames_of(records, launch)) for launch in records["launch"]}
    check(max(depths) - min(depths) >= 30, f"depths are {sorted(depths)}")
    library = [m for m in records["mapping"]
               if "libgpumon" in records["strings"][m.path]]
    check(library, "no mapping of the library")
    for launch in records["launch"]:
        frames = frames_of(records, launch)
        for mapping in library:
            check(not any(mapping.start < f <= mapping.end for f in frames),
                  "frames of the library are in a stack")


def test_process_record():
    """the process describes itself"""
    run = Run("loop", 10, environment={"RANK": "3"})
    records = compare_all(run, run.only())
    process, = records["process"]
    strings = records["strings"]
    equal((process.pid, process.parent, process.rank), (run.process.pid, os.getpid(), 3), "ids")
    equal(strings[process.command], f"{harness.objects}/program loop 10", "command")
    equal(strings[process.executable], os.path.realpath(f"{harness.objects}/program"), "file")
    equal(strings[process.host], os.uname().nodename, "host")
    equal(process.boot_id.hex(),
          open("/proc/sys/kernel/random/boot_id").read().strip().replace("-", ""), "boot id")
    equal(process.pid_namespace, os.stat("/proc/self/ns/pid").st_ino, "pid namespace")
    check(0 <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) - process.start_ns < 60e9,
          f"start is {process.start_ns}")


def test_mappings_of_plugins():
    """a library that is loaded and unloaded between two looks has its own mapping"""
    run = Run("plugins", 40, f"{harness.objects}/plugin-a.so", f"{harness.objects}/plugin-b.so")
    equal(run.status, 0, "exit status (16: errno was changed)")
    records = run.only().records()
    strings = records["strings"]
    equal(len(records["launch"]), 40, "launches")
    for number, launch in enumerate(sorted(records["launch"], key=lambda r: r.start_ns)):
        path = f"{harness.objects}/plugin-{'ab'[number % 2]}.so"
        found = False
        for frame in records["stacks"][launch.stack]:
            covers = [m for m in records["mapping"]
                      if m.start <= frame < m.end and m.time_ns <= launch.start_ns]
            check(covers, f"no mapping holds {frame:#x} of launch {number}")
            newest = max(covers, key=lambda m: m.time_ns)
            found |= strings[newest.path] == path
        check(found, f"launch {number} is not from {path}")


def test_other_interpreter():
    """an interpreter whose functions are in no call path is named once, though it came late"""
    folder = tempfile.mkdtemp(dir=harness.objects)
    library = shutil.copy(f"{harness.objects}/plugin-a.so", f"{folder}/libpypy3.9-c.so")
    run = Run("plugin", 1, library, library, stdin=subprocess.PIPE, wait=False)
    until(lambda: run.targets() and notes(run.only().records()), "the interpreter is noticed")
    run.wait()
    texts = notes(run.only().records())
    check(len(texts) == 1 and texts[0].startswith("functions of PyPy are in no call path"), f"notes: {texts}")


def run_plugins(count, first, second):
    """The first one goes when the library's thread has seen it: others say the time of a launch."""
    run = Run("plugin", count, first, second, stdin=subprocess.PIPE, wait=False)

    def is_noticed():
        records = run.targets() and run.only().records()
        launched = records and {launch.start_ns for launch in records["launch"]}
        return records and any(m.time_ns not in launched and records["strings"].get(m.path) == first
                               for m in records["mapping"])

    until(is_noticed, "the first plugin is noticed")
    return run.wait()


def test_mappings():
    """mappings have what symbol lookup needs, also for libraries loaded later and unloaded"""
    need("readelf")
    run = run_plugins(20, f"{harness.objects}/plugin-a.so", f"{harness.objects}/plugin-b.so")
    records = compare_all(run, run.only())
    plugins = {}
    for mapping in records["mapping"]:
        name = os.path.basename(records["strings"][mapping.path])
        plugins[name] = mapping
        if name.startswith(("libcuda", "program", "plugin")):
            path = records["strings"][mapping.path]
            # Generated code belongs to no file.
            check(mapping.inode in (0, os.stat(path).st_ino), f"inode of {name}")
            wanted = subprocess.run(["readelf", "-n", path], capture_output=True, text=True).stdout
            wanted = re.search(r"Build ID: ([0-9a-f]+)", wanted).group(1)
            equal(mapping.build_id[:mapping.build_id_size].hex(), wanted, f"build id of {name}")
    first, second = plugins["plugin-a.so"], plugins["plugin-b.so"]
    equal(plugins["program"].time_ns, 0, "time of what was there at the begin")
    check(0 < first.time_ns < second.time_ns, "times of plugins")
    gone = [u for u in records["unmapping"] if u.start == first.start]
    check(gone and first.time_ns < gone[0].time_ns, "the first plugin was not seen to go")
    launches = {launch.correlation: launch for launch in records["launch"]}
    for entry in run.account(harness.LAUNCH):
        start = launches[entry.correlation].start_ns
        covers = [m for m in records["mapping"]
                  if m.start <= entry.address < m.end and m.time_ns <= start]
        check(covers, f"no mapping holds {entry.address:#x} at that time")


def test_graphs():
    """graphs: captured launches are a class of their own, nodes lead to their creation"""
    for environment in ({}, {"MOCK_NO_NODES": "1"}):
        run = Run("graph", 25, environment=environment)
        equal(run.status, 0, "exit status (16: errno was changed)")
        records = compare_all(run, run.only())
        equal(len(run.account(harness.CAPTURED)), 3, "captured launches")
        replays = [r for r in records["launch"] if r.flags & rec.LAUNCH_GRAPH]
        equal(len(replays), 25, "launches of the graph")
        stream, = records["stream"]
        equal((stream.context, stream.priority), (1, -5), "context and priority of the stream")
        equal({k.stream for k in records["kernel"]}, {stream.id, 7}, "streams")
        nodes = {n.node: n for n in records["graph_node"]}
        for clone in run.account(harness.CLONE):
            equal(nodes[clone.node].original, clone.other, "original of a clone")
        if environment:
            continue
        for made in run.account(harness.NODE):
            frames = records["stacks"][nodes[made.node].stack]
            check(made.address in frames, "the stack of a node lacks its maker")
        for kernel in records["kernel"]:
            if kernel.node:
                check(nodes[nodes[kernel.node].original].stack, "a kernel's node has no stack")


def test_whole_graphs():
    """graphs as a whole: one operation for each launch, in place of its nodes"""
    run = Run("graph", 25, graphs=rec.WHOLE)
    records = run.only().records()
    launches = {r.correlation: r for r in records["launch"] if r.flags & rec.LAUNCH_GRAPH}
    equal(len(launches), 25, "launches of the graph")
    equal([k for k in records["kernel"] + records["copy"] if k.node], [], "nodes")
    equal(len(records["kernel"]), 2, "kernels outside of the graph")
    seen = {e.correlation: (e.start, e.end) for e in run.account(harness.GRAPH)}
    for graph in records["graph"]:
        launch = launches.pop(graph.correlation)
        equal(graph.graph, launch.graph, "id of the graph")
        equal((graph.start_ns, graph.end_ns), seen[graph.correlation], "times")
    equal(launches, {}, "launches without an operation")


def run_until(is_enough, *words, **settings):
    """A program that launches until a condition is true of its records."""
    run = Run(*words, 10 ** 9, 10 ** 9, wait=False, **settings)
    equal(run.process.stdout.readline(), "ready\n", "first line")
    until(lambda: run.targets() and is_enough(run, run.only().records()), "enough is recorded")
    run.process.send_signal(signal.SIGUSR1)
    return run.wait()


def ids_of_work(records):
    return {work.correlation for kind in ("kernel", "copy", "set") for work in records[kind]}


def windows_of_operations(records):
    """Times in which operations are on: those of windows of calls, which the library's thread opens, are not."""
    windows, begin, is_first = [], None, True
    for window in sorted(records["window"], key=lambda w: w.time_ns):
        operations = window.flags & rec.WINDOW_OPERATIONS
        if not window.flags & rec.WINDOW_END:
            begin = window.time_ns if operations or is_first else None
        elif begin:
            windows += [(begin, window.time_ns)] if operations else []
            begin = None
        is_first = False
    return windows


def left_out(records, done):
    """Launches without operations, of which there are later ones."""
    return [r for r in records["launch"] if r.correlation not in done and
            not r.flags & rec.LAUNCH_CAPTURED and r.correlation < max(done, default=0)]


def has_windows(_run, records):
    return (len(windows_of_operations(records)) > 3 and records["kernel"] and records["copy"] and
            left_out(records, ids_of_work(records)))


def test_windows():
    """operations in windows: a launch within one has its operations, each launch is counted"""
    need_real_processor()
    for settings in ({"graphs": rec.WINDOWS}, {"operations_sampled": 1}):
        run = run_until(has_windows, "steady-graph", window_ms=20, period_ms=60, **settings)
        records = run.only().records()
        # On a busy machine the first window ends before there is a graph: then CUPTI rests.
        if len([w for w in records["window"] if not w.flags & rec.WINDOW_OPERATIONS]) == 2:
            equal(len(records["launch"]), len(run.account(harness.LAUNCH, harness.CAPTURED)), "launches")
        late = run.only().totals()["lost"].get(16, 0)
        done = ids_of_work(records)
        without = [r for r in records["launch"]
                   if r.correlation not in done and not r.flags & rec.LAUNCH_CAPTURED]
        within = [r for r in without if any(begin <= r.start_ns and r.end_ns <= end
                                            for begin, end in windows_of_operations(records))]
        # Of those that were launched within one, but ran after it.
        check(len(within) <= late, f"{len(within)} launches without operations, {late} lost")
    run = Run("steady", 300, graphs=rec.WINDOWS, window_ms=20, period_ms=60)
    compare_all(run, run.only())


def windows_of_calls(records):
    times = [w.time_ns for w in sorted(records["window"], key=lambda w: w.time_ns)]
    return list(zip(times[::2], times[1::2]))


def test_windows_of_everything():
    """sampled records without graphs: CUPTI is not there between windows, and nothing is lost in one"""
    def is_enough(run, records):
        return (len(windows_of_calls(records)) > 3 and ids_of_work(records) and
                len(records["launch"]) < len(run.account(harness.LAUNCH)) / 2)

    run = run_until(is_enough, "steady", operations_sampled=1, window_ms=20, period_ms=120)
    target = run.only()
    records = target.records()
    equal(run.status, 0, "exit status")
    equal(target.totals()["lost"], {}, "losses")
    windows = windows_of_calls(records)
    check(len(run.account(harness.DETACHED)) >= len(windows) - 1, "CUPTI stays between windows")
    done, launches = ids_of_work(records), {r.correlation: r for r in records["launch"]}
    # A call that had begun when its window began has an operation but no record.
    check(len(done - set(launches)) <= len(windows), f"{len(done - set(launches))} operations without a call")
    # Operations are switched on after calls, kind by kind, and off before them. In between, all have some
    # that begin after one with an operation has ended, and end before one begins.
    for begin, end in windows:
        for kind in (0, rec.LAUNCH_COPY, rec.LAUNCH_SET):
            # The end of a call that was running when its window ended is 0.
            here = [r for r in launches.values() if begin <= r.start_ns <= r.end_ns <= end and
                    r.flags & (rec.LAUNCH_COPY | rec.LAUNCH_SET) == kind]
            on = min((r.end_ns for r in here if r.correlation in done), default=end)
            off = max((r.start_ns for r in here if r.correlation in done), default=begin)
            equal([r.correlation for r in here if r.correlation not in done and on < r.start_ns and r.end_ns < off],
                  [], f"launches of kind {kind} without an operation")


def test_sample():
    """--sample: one stack of so many launches, at distances that vary; nodes keep theirs"""
    records = Run("loop", 3000, sample=10).only().records()
    launches = sorted(records["launch"], key=lambda r: r.start_ns)
    equal(len(launches), 3000, "launches")
    taken = []
    for number, launch in enumerate(launches):
        equal(bool(launch.flags & rec.UNSAMPLED), launch.stack == 0, "left out")
        if launch.stack:
            taken.append(number)
    check(250 < len(taken) < 350, f"{len(taken)} of 3000 stacks")
    check(len({after - before for before, after in zip(taken, taken[1:])}) > 10, "distances")
    for kernel in (records := Run("graph", 5, sample=1000).only().records())["kernel"]:
        nodes = {n.node: n for n in records["graph_node"]}
        check(not kernel.node or nodes[nodes[kernel.node].original].stack, "a node has no stack")


def test_streams_of_threads():
    """calls that mean the thread's default stream, where that is captured and where it is not"""
    for environment in ({}, {"MOCK_NO_NODES": "1"}):
        run = Run("per-thread", environment=environment)
        records = compare_all(run, run.only())
        functions = [(records["strings"][r.function], bool(r.flags & rec.LAUNCH_CAPTURED))
                     for r in sorted(records["launch"], key=lambda r: r.start_ns)]
        equal(functions, [("cuLaunchKernel", False), ("cuLaunchKernel_ptsz", True),
                          ("cuLaunchKernel", False), ("cuLaunchKernel_ptsz", False)], "launches")


def test_changed_graphs():
    """nodes that are changed later keep their stack, and the number of changes is recorded"""
    run = Run("changed-graph", 20)
    records = compare_all(run, run.only())
    notes = [records["strings"][n.text] for n in records["note"]]
    equal(len(notes), 1, f"notes: {notes}")
    check("30 times by an update of the whole graph, 30 times alone" in notes[0], notes[0])
    nodes = {n.node: n for n in records["graph_node"]}
    ran = [k for k in records["kernel"] if k.node]
    equal(len(ran), 40, "kernels of the graph")
    for kernel in ran:
        check(nodes[nodes[kernel.node].original].stack, "a kernel's node has no stack")
    run = Run("graph", 5)
    equal(run.only().records()["note"], [], "notes without a change")


def test_odd_ones():
    """failed launches, CUDA's own kernels, kernels without a call or an end, contexts that end"""
    run = Run("odd", 30)
    target = run.only()
    run.check_rules()
    records = target.records()
    compare_launches(run, records, target)
    equal(sum(bool(r.flags & rec.LAUNCH_FAILED) for r in records["launch"]), 30, "failed launches")
    for kernel in records["kernel"]:
        equal(bool(kernel.flags & rec.INTERNAL),
              records["strings"][kernel.name] == "internal_kernel", "launched by CUDA itself")
    lost, = [k for k in records["kernel"] if records["strings"][k.name] == "uncorrelated"]
    equal((lost.correlation, lost.flags), (0, 0), "a kernel without a correlation id")
    stuck, = [k for k in records["kernel"] if records["strings"][k.name] == "stuck_kernel"]
    equal((stuck.flags, stuck.end_ns), (rec.UNFINISHED, 0), "kernel that never ended")
    check(stuck.start_ns, "it has no start")
    ended, = [c for c in records["context"] if c.flags]
    equal(ended.id, 1, "context that ended")


def test_profiler_window():
    """a window between cudaProfilerStart and cudaProfilerStop"""
    run = Run("profiler", 40, window=rec.PROFILER)
    equal(run.status, 0, "exit status (16: errno was changed)")
    records = run.only().records()
    run.check_rules()
    equal(len(records["launch"]), 40, "launches")
    equal({records["strings"][k.name] for k in records["kernel"]}, {"inside"}, "kernels")
    equal([records["strings"][w.reason] for w in records["window"]],
          ["cudaProfilerStart", "cudaProfilerStop"], "window")


def test_nvtx():
    """NVTX ranges, with domain, colour and names in any alphabet; and as a window"""
    run = Run("nvtx", 15, record=rec.DEFAULT | rec.RANGES)
    records = compare_all(run, run.only())
    strings = records["strings"]
    told = [(r.kind, strings.get(r.domain), strings.get(r.text), r.id, r.color)
            for r in records["range"]]
    equal(told, [(1, None, "outer", 0, 0), (3, None, "wanted", 77, 0),
                 (1, "a domain", "gr\u00fc\u00df", 0, 0xFF00FF00), (2, "a domain", None, 0, 0),
                 (4, None, None, 77, 0), (2, None, None, 0, 0)], "ranges")
    for name in ("wanted", "outer", "never"):
        run = Run("nvtx", 15, window=rec.RANGE, name=name)
        records = run.only().records()
        equal(len(records["launch"]), {"wanted": 15, "outer": 17, "never": 0}[name],
              f"launches in {name}")
        equal(len(records["kernel"]), len(records["launch"]), f"kernels in {name}")


def test_nvtx_direct():
    """NVTX without CUPTI, including ranges that are open before CUDA is used"""
    run = Run(command=[f"{harness.objects}/nvtx_program"], record=rec.DEFAULT | rec.RANGES,
              environment={"NVTX_INJECTION64_PATH": f"{harness.objects}/libgpumon-inject.so"})
    equal((run.status, run.errors), (0, ""), "exit status")
    records = compare_all(run, run.only())
    strings = records["strings"]
    told = [(r.kind, strings.get(r.domain), strings.get(r.text), r.color)
            for r in records["range"]]
    equal(told, [(1, None, "before CUDA", 0), (1, "of a library", "registered", 0xFF102030),
                 (2, "of a library", None, 0), (3, None, "wide", 0), (5, None, "mark", 0),
                 (4, None, None, 0), (2, None, None, 0)], "ranges")
    start, end = (r for r in records["range"] if r.kind in (3, 4))
    check(start.id and start.id == end.id, "begin and end have different ids")
    times = [r.time_ns for r in records["range"]]
    equal(times, sorted(times), "times")
    # For threads the last name counts, for streams the last one with a name.
    names = {}
    for thread in records["thread"]:
        names.setdefault(thread.tid, []).append(strings.get(thread.name))
    equal(names.pop(run.process.pid), ["before CUDA"], "the main thread's name")
    equal([of_thread[-1] for of_thread in names.values()], ["renamed"], "the other thread's name")
    equal({(s.id, strings[s.name], s.priority) for s in records["stream"] if s.name},
          {(7, "gr\u00fcn", 0), (21, "compute", -5)}, "streams")
    run = Run(command=[f"{harness.objects}/nvtx_program"], recorded=False,
              environment={"NVTX_INJECTION64_PATH": f"{harness.objects}/libgpumon-inject.so"})
    equal((run.status, run.errors), (0, ""), "exit status of one that is not recorded")


def test_all_calls():
    """all API calls if requested, only the outermost"""
    run = Run("calls", 30, record=rec.DEFAULT | rec.ALL_CALLS)
    records = compare_all(run, run.only())
    names = [records["strings"][c.function] for c in records["call"]]
    equal(sorted(set(names)), ["cudaDeviceSynchronize_v3020", "cudaMalloc_v3020"], "functions")
    equal(len(names), 61, "calls")
    ids = {c.correlation: c for c in records["call"]}
    for entry in run.account(harness.CALL):
        call = ids[entry.correlation]
        equal(call.flags, int("Synchronize" in records["strings"][call.function]), "flags")
        if call.flags:
            check(entry.address in records["stacks"][call.stack], "stack of a blocking call")


def test_blocking_calls():
    """calls that wait are there without being asked for, with their times and stacks; no other call is"""
    for generation in (12, 13):
        run = Run("calls", 30, generation=generation)
        records = compare_all(run, run.only())
        ids = {call.correlation: call for call in records["call"]}
        waits = [entry for entry in run.account(harness.CALL) if entry.correlation in ids]
        equal((len(waits), len(records["call"]), records["sync"]), (31, 31, []), "blocking calls")
        for entry in waits:
            call = ids[entry.correlation]
            equal((call.tid, call.flags), (entry.tid, 1), "thread and flags")
            equal(records["strings"][call.function], "cudaDeviceSynchronize_v3020", "function")
            check(entry.start <= call.start_ns <= call.end_ns <= entry.end, "times")
            check(entry.address in records["stacks"][call.stack], "stack")
    for without in (rec.BLOCKING, rec.STACKS):
        run = Run("calls", 30, record=rec.DEFAULT & ~without)
        records = run.only().records()
        equal([call.stack for call in records["call"]], [0] * 31 if without == rec.STACKS else [], "stacks of calls")


def test_copies_that_wait():
    """a copy that the host waits for says so, by the driver's functions and the runtime's"""
    for environment, names in (({}, ("cuMemcpyAsync", "cuMemcpyDtoH_v2", "cuMemcpyHtoD_v2")),
                               ({"GPUMON_LAUNCHES": "all"}, ("cudaMemcpyAsync_v3020", "cudaMemcpy_v3020"))):
        run = Run("copies", 20, environment=environment)
        records = compare_all(run, run.only())
        waits = {records["strings"][launch.function]: launch.flags for launch in records["launch"]}
        equal(waits, {name: rec.LAUNCH_COPY | rec.LAUNCH_WAITS * ("Async" not in name) for name in names}, "flags")


def test_overhead():
    """what CUDA and CUPTI take for themselves, by their kinds, whatever CUPTI's record of it has"""
    kinds = [1, 2, 3, 4, 5, 5, 5, 5, 6, 0]
    for version, has_correlation in ((130001, True), (24, True), (21, True), (19, False)):
        run = Run("calls", 3, generation=12 if version < 1000 else 13, environment={"MOCK_VERSION": str(version)})
        records = compare_all(run, run.only())
        first, = [entry for entry in run.account(harness.LAUNCH)][:1]
        told = records["overhead"]
        equal(sorted(overhead.kind for overhead in told), sorted(kinds), f"kinds of {version}")
        for overhead in told:
            check(first.start <= overhead.start_ns < overhead.end_ns <= first.start + 10**9, "times")
            check(overhead.end_ns - overhead.start_ns < 10, "duration")
            of_thread = overhead.tid == first.tid
            equal((overhead.tid, overhead.correlation),
                  (first.tid, first.correlation * has_correlation) if of_thread else (0, 0), "of which call")
        equal(sum(overhead.tid == first.tid for overhead in told), 7, "of a thread")
    run = Run("calls", 3, record=rec.DEFAULT & ~rec.BLOCKING)
    equal(run.only().records()["overhead"], [], "overhead that is not asked for")


def test_by_choice():
    """waits, allocations and unified memory, of both generations"""
    for generation in (12, 13):
        run = Run("calls", 10, generation=generation,
                  record=rec.DEFAULT | rec.SYNC | rec.ALLOCATIONS | rec.UNIFIED)
        records = compare_all(run, run.only())
        calls = {c.correlation: c for c in records["call"]}
        equal(len(records["sync"]), 11, "waits")
        for sync in records["sync"]:
            call = calls[sync.correlation]
            check(call.start_ns <= sync.start_ns <= sync.end_ns <= call.end_ns, "times of a wait")
            equal((sync.context, sync.stream), (1, 0xFFFFFFFF), "of which")
        equal([(m.address, m.bytes, m.place, m.flags) for m in records["memory"]],
              [(0x7000, 100, 3, 0)] * 10, "allocations")
        equal([(u.value, u.address, u.to_device, u.end_ns - u.start_ns)
               for u in records["unified"]], [(100, 0x7000, 2, 5)] * 10, "unified memory")


def test_choices():
    """nothing is recorded that was not requested"""
    run = Run("loop", 70, record=rec.KERNELS)
    records = run.only().records()
    equal((len(records["copy"]), len(records["set"])), (0, 0), "copies and memsets")
    equal({r.stack for r in records["launch"]}, {0}, "stacks")
    equal(len(records["launch"]), 50, "launches of kernels")
    run = Run("loop", 70, depth=4)
    records = run.only().records()
    equal({len(f) for f in records["stacks"].values()}, {4}, "frames")
    check(set(records["stacks"]) == records["truncated"], "cut stacks say so")


# Its arguments: the runtime, how many launches, seconds between them.
PYTHON = """
import ctypes, sys, time

class Dim(ctypes.Structure):
    _fields_ = [(axis, ctypes.c_uint) for axis in "xyz"]

cudart = ctypes.CDLL(sys.argv[1])
launch = cudart.cudaLaunchKernel
launch.argtypes = [ctypes.c_char_p, Dim, Dim, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
NAME = b"kernel_a"

class Model:
    def forward(self):
        launch(NAME, Dim(1, 1, 1), Dim(1, 1, 1), None, 0, None)

def step(model):
    model.forward()

model = Model()
for i in range(int(sys.argv[2])):
    step(model)
    time.sleep(float(sys.argv[3]))
cudart.cudaDeviceSynchronize()
"""


def test_python():
    """launch stacks have Python functions"""
    if SANITIZED:
        raise Skip("python3 is not built with the sanitizer")
    script = os.path.join(harness.objects, "launches.py")
    with open(script, "w") as file:
        file.write(PYTHON)
    run = Run(f"{harness.objects}/libcudart.so.13", 20, 0, command=["/usr/bin/python3", script])
    equal((run.status, run.errors), (0, ""), "exit status")
    records = run.only().records()
    strings = records["strings"]
    texts = notes(records)
    equal(texts, [], "notes")
    frames = {f.id: f for f in records["frame"]}
    equal(len(records["launch"]), 20, "launches")
    for launch in records["launch"]:
        names = [(strings[frames[f & ~(1 << 63)].function], frames[f & ~(1 << 63)].line)
                 for f in frames_of(records, launch) if f >> 63]
        lines = PYTHON.split("\n")
        wanted = [("Model.forward", lines.index("        launch(NAME, Dim(1, 1, 1), "
                                                "Dim(1, 1, 1), None, 0, None)") + 1),
                  ("step", lines.index("    model.forward()") + 1),
                  ("<module>", lines.index("    step(model)") + 1)]
        equal(names, wanted, "functions of Python")
    run = Run(f"{harness.objects}/libcudart.so.13", 20, 0, command=["/usr/bin/python3", script],
              record=rec.DEFAULT & ~rec.PYTHON)
    equal(run.only().records()["frame"], [], "functions of Python, not asked for")


def test_realtime():
    """a CUPTI that stays on CLOCK_REALTIME is corrected"""
    run = Run("loop", 70, environment={"MOCK_REALTIME": "1"})
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    records = run.only().records()
    launches = {r.correlation: r for r in records["launch"]}
    check(records["kernel"], "no kernels")
    for kernel in records["kernel"]:
        start = launches[kernel.correlation].start_ns
        check(start - 5e6 < kernel.start_ns < now + 5e6, f"a kernel starts {kernel.start_ns - start} ns after its launch")
