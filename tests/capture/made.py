# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""
Captures of what no recorded one has: made up, by a writer of its own. The name of each is that of its
folder, with what is expected of it.
"""
import struct

import made_metrics
import made_stalls
import writer

UUID = bytes(range(0x10, 0x20))
EVENT = struct.Struct("<5Q4H2I2IiI16s")
FUNCTIONS = {"launch": "cudaLaunchKernel_v7000", "copy": "cudaMemcpyAsync_v3020",
             "set": "cudaMemsetAsync_v3020", "graph": "cudaGraphLaunch_v10000"}


def begin(pid, executable, host_pid=0):
    file = writer.File(f"process-{host_pid or pid}-100")
    file.put("process", pid=pid, parent=1, host_pid=host_pid or pid, rank=0xffffffff, start_ns=5, pid_namespace=77,
             host="made", executable=executable, command=f"{executable} --fast", driver_version=13000)
    for number, name in [(pid, "main"), (pid + 1, "worker")]:
        file.put("thread", tid=number, name=name)
    file.put("mapping", start=0x400000, end=0x500000, path=executable, build_id=b"\1" * 20, build_id_size=20)
    file.put("device", id=0, name="Made GPU", uuid=UUID, pci=0x10008, multiprocessors=10,
             memory_bytes=1 << 30, compute_major=9)
    return file


def launch(file, number, start, tid, stack, what="launch", flags=0, took=400, **fields):
    file.put("launch", flags={"copy": 4, "set": 8, "graph": 2}.get(what, 0) | flags, start_ns=start,
             end_ns=start + took, tid=tid, correlation=number, stack=stack, function=FUNCTIONS[what], **fields)


def kernel(file, number, start, took, name="train_kernel", flags=0, stream=7, **fields):
    file.put("kernel", flags=flags, start_ns=start, end_ns=start + took if took else 0, correlation=number,
             name=name, device=0, context=1, stream=stream, grid=(4, 2, 1), block=(32, 1, 1), **fields)


def everything(path):
    """One process with all kinds of records, and what the driver and its module say."""
    pid, time = 4100, 10**9
    file = begin(pid, "/opt/made/train")
    file.put("context", time_ns=time, id=1, device=0)
    file.put("stream", context=1, id=7, priority=-5, name="compute")
    file.put("window", time_ns=time, reason="start")
    file.cut(0)
    number = 0
    # Two plug-ins in turn at one place, each with launches of the same addresses.
    for turn in range(4):
        since = time + turn * 1000000
        plugin = f"/opt/made/plugin-{'ab'[turn % 2]}.so"
        file.put("mapping", time_ns=since, start=0x700000, end=0x710000, offset=0x1000 * (turn % 2),
                 path=plugin)
        file.cut(0)
        for i in range(3):
            number += 1
            start = since + 1000 + 5000 * i
            file.put("range", time_ns=start - 10, tid=pid, text="step", kind=1, color=0xff00ff00)
            stack = file.stack(0x700123, 0x400200, 0x400100)
            launch(file, number, start, pid, stack)
            file.put("call", flags=1, start_ns=start + 500, end_ns=start + 2900, tid=pid,
                     correlation=number + 1000, function="cudaStreamSynchronize_v3020", stack=stack)
            file.put("range", time_ns=start + 3000, tid=pid, kind=2)
            file.cut(pid)
            kernel(file, number, start + 600, 2000 + number)
            file.put("sync", start_ns=start + 510, end_ns=start + 2890, correlation=number + 1000,
                     context=1, stream=7 if i else 0xffffffff, kind=3)
            file.cut(0)
        file.put("unmapping", time_ns=since + 900000, start=0x700000, end=0x710000)
        file.cut(0)
    # After the last one was closed, and with Python in between.
    since = time + 5000000
    python = file.python("Model.forward", "/opt/made/model.py", 12)
    for i, stack in enumerate([file.stack(0x700123, 0x400200), file.stack(0x400300, python, 0x400100),
                               file.stack(0x400300, cut=True), 0]):
        number += 1
        launch(file, number, since + 1000 * i, pid + 1, stack)
        kernel(file, number, since + 1000 * i + 500, 300)
    number += 1
    launch(file, number, since + 10000, pid + 1, file.stack(0x400400, 0x400100), "copy")
    file.put("copy", flags=4, start_ns=since + 10500, end_ns=since + 11500, bytes=4096, correlation=number,
             context=1, stream=7, **{"from": 1, "to": 3})
    number += 1
    launch(file, number, since + 12000, pid + 1, file.stack(0x400500, 0x400100), "set")
    file.put("set", start_ns=since + 12500, end_ns=since + 12600, bytes=512, correlation=number, context=1,
             stream=7, value=90)
    file.cut(pid + 1)
    # A graph: a node that was made, its clone, two launches of it.
    file.put("graph-node", node=900, graph=5, stack=file.stack(0x400600, 0x400100))
    file.put("graph-node", node=901, original=900, graph=6)
    number += 1
    launch(file, number, since + 14000, pid, file.stack(0x400600, 0x400100), flags=1)
    for i in range(2):
        number += 1
        launch(file, number, since + 15000 + 3000 * i, pid, file.stack(0x400700, 0x400100), "graph")
        kernel(file, number, since + 16000 + 3000 * i, 700, "graph_kernel", node=901, graph=6)
        kernel(file, number, since + 17000 + 3000 * i, 200, "graph_kernel", node=999, graph=6)
    # One that failed, one that nothing came for, work of CUDA itself, without a launch, without an end.
    number += 1
    launch(file, number, since + 22000, pid, file.stack(0x400100), flags=16, result=1)
    number += 1
    launch(file, number, since + 23000, pid, file.stack(0x400100))
    kernel(file, 0, since + 24000, 50, "of_cuda", flags=2)
    kernel(file, 77777, since + 25000, 60, "of_nobody")
    number += 1
    launch(file, number, since + 26000, pid, file.stack(0x400100))
    kernel(file, number, since + 26500, 0, "endless", flags=1)
    # Where the clocks disagree: its kernel began before the call did.
    number += 1
    launch(file, number, since + 28000, pid, file.stack(0x400100))
    kernel(file, number, since + 27900, 40, "early")
    file.cut(pid)
    file.put("memory", time_ns=since + 100, address=0x7f0000000000, bytes=1 << 20, device=0, context=1, place=3)
    file.put("memory", flags=1, time_ns=since + 29000, address=0x7f0000000000, bytes=1 << 20, device=0,
             context=1, place=3)
    for kind, value in [(1, 4096), (1, 8192), (2, 100), (3, 0x400123), (4, 5), (5, 64), (6, 0), (7, 32), (8, 16),
                        (99, 1)]:
        file.put("unified-memory", start_ns=since + 100 * kind, end_ns=since + 100 * kind + 50, value=value,
                 address=0x10000, kind=kind, from_device=1, to_device=0)
    for kind, at, text in [(3, 200, "epoch"), (5, 300, "mark"), (4, 27000, "")]:
        file.put("range", time_ns=since + at, id=31, tid=pid, domain="data", text=text or 0, kind=kind)
    for cause in range(1, 16):
        file.put("loss", time_ns=since + 30000, count=100 + cause, cause=cause)
    file.put("loss", time_ns=since + 30001, count=1, cause=1)
    file.put("note", time_ns=since, text="something that a person should know")
    file.put("note", flags=2, time_ns=since, text="CUPTI refuses memsets: out of memory")
    file.put("totals", time_ns=since, launches=1)
    file.put("totals", time_ns=since + 30000, launches=number - 1, captured=1, kernels=28, copies=1, sets=1,
             device_bytes=3200000)
    file.put("context", flags=1, time_ns=since + 30000, id=1, device=0)
    file.put("window", flags=1, time_ns=since + 30000, reason="exit")
    file.cut(0)
    writer.write(path, [driver(time), file])


def driver(time):
    file = writer.File("driver")
    for i, (event, words) in enumerate([(1, (8, 1, 0, 0)), (2, (8, 1, 250, 0)), (3, (8, 1, 900, 0)),
                                        (35, (0x2a, 0, 1234, 2**64 - 1)), (200, (1, 2, 3, 4))]):
        data = EVENT.pack(time + 1000 * i, *words, event, 0, 3, 1, 4100, 4100, 0, 0, 0, 0, b"train")
        file.put("driver-event", event_size=len(data), row=["gfx", "ioctl NV_ESC_RM_ALLOC"][event > 3], tail=data)
    # As an older module has it, whose records are shorter.
    short = EVENT.pack(time + 9000, 8, 2, 0, 0, 1, 0, 0, 1, 4100, 4100, 0, 0, 0, 0, b"")[:56]
    file.put("driver-event", event_size=len(short), row="gfx", tail=short)
    file.put("alert", time_ns=time + 2500, code=79, device="0000:1b:00.0", message="GPU has fallen off the bus.")
    file.put("loss", time_ns=time + 3000, count=12, cause=9)
    file.cut(0)
    return file


def live(path):
    """A live process without the library: uprobe hits, some of them lost, and what blocks."""
    pid, time = 4200, 3 * 10**9
    file = begin(pid, "/opt/made/serve")
    file.put("window", time_ns=time, reason="attach")
    stacks = [file.stack(0x400800, 0x400100), file.stack(0x400900, file.python("serve", "/opt/made/serve.py", 3))]
    number = 0
    for i in range(40):
        number += 1
        at = time + 10000 * i
        if i % 10 == 7:
            continue  # its record was lost
        if i % 4 == 3:
            file.put("hit", flags=1, time_ns=at, number=number, duration_ns=3000 + i, tid=pid,
                     function="cudaDeviceSynchronize", stack=stacks[0])
        else:
            file.put("hit", time_ns=at, number=number, tid=pid, function="cudaLaunchKernel",
                     stack=stacks[i % 2])
        if i % 8 == 0:
            file.cut(pid)
    file.put("hit", time_ns=time + 777, number=1, tid=pid + 1, function="cudaMemcpyAsync")
    file.put("loss", time_ns=time + 500000, count=4, cause=7)
    file.put("loss", time_ns=time + 500000, count=2, cause=8)
    file.put("note", flags=1, time_ns=time, text="recorded by uprobes: what the GPU did is not known")
    file.cut(0)
    writer.write(path, [file])


def opencl(path):
    """CUDA and OpenCL in one process, with the same correlation ids; OpenCL's on a CPU, some without times."""
    pid, time, api = 4300, 5 * 10**9, 1 << 24
    file = begin(pid, "/opt/made/filter")
    file.put("api", api=0, name="CUDA", version="driver 13.0, runtime 13.0, CUPTI 130000")
    file.put("api", api=1, name="OpenCL", version="OpenCL 3.0 made", platform="Made Computing Language")
    file.put("device", id=api, name="made-cpu", uuid=UUID[::-1], pci=0xffffffff, multiprocessors=2, memory_bytes=1 << 34,
             type=1, vendor="Made Incorporated", driver="3.1")
    file.put("context", time_ns=time, id=1, device=0)
    file.put("context", time_ns=time, id=api | 1, device=api)
    file.put("window", time_ns=time, reason="start")
    file.put("clock", time_ns=time, offset_ns=-188000000, error_ns=570, device=api, source=2)
    file.put("clock", time_ns=time + 1000, offset_ns=-188000100, error_ns=90, device=api, source=2)
    file.cut(0)
    where = {"context": api | 1, "stream": api | 1, "device": api}
    calls = {"ndrange": ("clEnqueueNDRangeKernel", 0), "read": ("clEnqueueReadBuffer", 4), "map": ("clEnqueueMapBuffer", 4),
             "unmap": ("clEnqueueUnmapMemObject", 4), "fill": ("clEnqueueFillBuffer", 8)}
    for number, what in enumerate(["ndrange"] * 6 + list(calls)[1:], 1):
        at = time + 10000 * number
        function, flags = calls[what]
        # Each id twice: CUDA's launch has another stack, and its own kernel.
        launch(file, number, at, pid, file.stack(0x400300, 0x400100), context=1)
        file.put("launch", flags=flags, start_ns=at + 1000, end_ns=at + 1300, tid=pid, correlation=number,
                 stack=file.stack(0x400700, 0x400200), function=function, context=api | 1)
        kernel(file, number, at + 2000, 300)
        size = {"grid": (16, 16, 1), "block": (16, 16, 1), "global": (256, 256, 1), "queued_ns": at + 1100,
                "submitted_ns": at + 1200}
        if what == "ndrange":
            # Done, done with an unknown local size, failed, never ended, not measured, impossible times.
            state = number - 1
            if state == 1:
                size.update(grid=(0, 0, 0), block=(0, 0, 0), **{"global": (1 << 33, 1, 1)})
            times = {"start_ns": at + 1500, "end_ns": at + 3500} if state < 2 else {}
            file.put("kernel", flags=[0, 0, 8, 1, 16, 32][state], correlation=number, name="blur", **size, **times, **where)
        elif what == "fill":
            file.put("set", start_ns=at + 1400, end_ns=at + 1450, bytes=1 << 20, correlation=number, value=7, **where)
        else:
            kind = {"read": 0, "map": 1, "unmap": 2}[what]
            file.put("copy", start_ns=at + 1400, end_ns=at + 1900, bytes=4096, correlation=number, to_device=api,
                     kind=kind, **{"from": 3, "to": 1}, **where)
    # Its process was killed before the operation of this one was read.
    file.put("launch", start_ns=time + 200000, end_ns=time + 200300, tid=pid, correlation=100,
             stack=file.stack(0x400700, 0x400200), function="clEnqueueNDRangeKernel", context=api | 1)
    file.put("call", flags=1, start_ns=time + 210000, end_ns=time + 290000, tid=pid, correlation=101, function="clFinish",
             stack=file.stack(0x400800, 0x400200), context=api | 1)
    file.cut(pid)
    file.put("window", flags=1, time_ns=time + 300000, reason="exit")
    file.cut(0)
    writer.write(path, [file])


def whole_graphs():
    """Launches of two graphs, each as one operation; one still runs, one has no launch."""
    pid, time = 4300, 5 * 10**9
    file = begin(pid, "/opt/made/replay")
    file.put("window", time_ns=time, reason="start")
    number = 0
    for i in range(30):
        number += 1
        at, graph = time + 20000 * i, 5 + i % 3 // 2
        launch(file, number, at, pid, file.stack(0x400700 + graph, 0x400100), "graph", graph=graph)
        file.put("graph", flags=i == 29, start_ns=at + 900, end_ns=0 if i == 29 else at + 4000 + 10 * i, correlation=number,
                 device=0, context=1, stream=7, graph=graph)
        if i % 5 == 0:
            number += 1
            launch(file, number, at + 5000, pid, file.stack(0x400300, 0x400100))
            kernel(file, number, at + 5500, 1000)
    file.put("graph", start_ns=time + 610000, end_ns=time + 611000, correlation=9999, device=0, context=1, stream=8,
             graph=5)
    file.cut(pid)
    file.put("window", flags=1, time_ns=time + 700000, reason="exit")
    file.cut(0)
    return file


def windows():
    """Operations in windows: kernels on two paths, two graphs launched in one place, ranges, and what has no sample."""
    pid, time, number = 4400, 5 * 10**9, 0
    file = begin(pid, "/opt/made/sample")
    file.put("window", time_ns=time, reason="start")
    file.put("graph-node", node=900, graph=5, stack=file.stack(0x400600, 0x400100))
    spans = [(time, time + 400000), (time + 1000000, time + 1300000), (time + 2400000, time + 2600000)]
    for i in range(300):
        at = time + 10000 * i
        is_in = any(since <= at and at + 400 <= until for since, until in spans)
        kind = i % 5
        if i % 50 == 0:
            file.put("range", time_ns=at - 5, tid=pid, text="step", kind=1)
        number += 1
        if kind < 3:
            launch(file, number, at, pid + kind // 2, file.stack(0x400300 + kind // 2, 0x400100), context=1)
            if is_in:
                kernel(file, number, at + 700, 3000 + 100 * (i % 7), ["train_kernel", "other_kernel"][kind // 2])
        elif kind == 3:
            graph = 7 if i < 60 else 6
            launch(file, number, at, pid, file.stack(0x400700, 0x400100), "graph", graph=graph)
            if is_in:
                kernel(file, number, at + 900, 2000, "graph_kernel", node=900, graph=graph)
                if graph == 6:
                    kernel(file, number, at + 3000, 1500, "graph_kernel", node=999, graph=6)
        elif i % 15 == 4 and not is_in:
            # Nothing like it is launched in a window.
            launch(file, number, at, pid, file.stack(0x400800 + i % 4, 0x400100), "copy", context=1)
        else:
            launch(file, number, at, pid, file.stack(0x400900, 0x400100), context=1, flags=16 * (i % 2))
            if is_in and not i % 2:
                kernel(file, number, at + 600, 1234, "rare_kernel")
        if i % 50 == 30:
            file.put("range", time_ns=at + 5000, tid=pid, kind=2)
        if i % 16 == 0:
            file.cut(pid)
    # One that is half in a window, with work, and one in a window that nothing came for.
    number += 1
    launch(file, number, time + 2399900, pid, file.stack(0x400300, 0x400100), context=1)
    kernel(file, number, time + 2401000, 3210)
    number += 1
    launch(file, number, time + 2500700, pid, file.stack(0x400300, 0x400100), context=1)
    file.cut(pid)
    for since, until in spans:
        if since != time:
            file.put("window", flags=2, time_ns=since, reason="sample")
        file.put("window", flags=3, time_ns=until, reason="sample")
    file.put("window", flags=1, time_ns=time + 3000000, reason="exit")
    file.cut(0)
    return file


def stacks():
    """One of five stacks is there, of three kernels on two paths; two others never have one. Some of it in windows."""
    pid, time = 4500, 5 * 10**9
    file = begin(pid, "/opt/made/stacks")
    file.put("window", time_ns=time, reason="start")
    file.put("graph-node", node=900, graph=5, stack=file.stack(0x400600, 0x400100))
    for number in range(1, 401):
        at = time + 10000 * number
        kind = number % 4
        has_stack = number * 7 % 5 == 0 and kind != 3
        stack = file.stack(0x400300 + number % 3, 0x400100) if has_stack else 0
        flags = 0 if has_stack else 32
        if number % 40 == 1:
            launch(file, number, at, pid, stack, "graph", flags=flags, graph=5)
            kernel(file, number, at + 900, 5000, "one_kernel", node=900, graph=5)
        else:
            launch(file, number, at, pid, stack, flags=flags | (16 if number % 50 == 7 else 0))
            if number % 50 != 7 and not 150 <= number < 250:
                kernel(file, number, at + 700, 1000 + 10 * (number % 13),
                       ["one_kernel", "two_kernel", "three_kernel", "lone_kernel"][kind])
        if number % 16 == 0:
            file.cut(pid)
    file.put("window", flags=3, time_ns=time + 150 * 10000 - 500, reason="sample")
    file.put("window", flags=2, time_ns=time + 250 * 10000 - 500, reason="sample")
    file.put("window", flags=1, time_ns=time + 9000000, reason="exit")
    file.cut(0)
    return file


def pauses(path):
    """Recording as a whole begins and ends three times: nothing is known of the time between."""
    pid, time = 4600, 5 * 10**9
    file = begin(pid, "/opt/made/pauses")
    for i in range(3):
        since = time + 1000000 * i
        file.put("window", time_ns=since, reason="sample")
        for number in range(20 * i + 1, 20 * i + 21):
            at = since + 10000 * (number % 20)
            launch(file, number, at, pid, file.stack(0x400300, 0x400100))
            kernel(file, number, at + 600, 4000 + number, "paused_kernel")
        file.put("window", flags=1, time_ns=since + 210000, reason="sample")
        file.cut(pid)
    writer.write(path, [file])


def sampled(path):
    """What is not recorded of each launch: nodes of graphs, operations outside of windows, stacks."""
    writer.write(path, [whole_graphs(), windows(), stacks()])


def processes(path):
    """Number 1 of two containers, with the same kernels on the same paths: one samples stacks, one has none."""
    files = []
    for host_pid, sample in (33017, 0), (33018, 5):
        file = begin(1, "/opt/made/rank", host_pid)
        file.put("window", time_ns=5 * 10**9, reason="start")
        for number in range(1, 101):
            at = 5 * 10**9 + 10000 * number
            has_stack = sample and number % sample == 0
            stack = file.stack(0x400300 + number % 3, 0x400100) if has_stack else 0
            launch(file, number, at, 1, stack, flags=0 if has_stack else 32)
            kernel(file, number, at + 700, 1000 + 10 * (number % 13), ["one_kernel", "two_kernel"][number % 2])
        file.cut(1)
        file.put("window", flags=1, time_ns=5 * 10**9 + 2000000, reason="exit")
        file.cut(0)
        files.append(file)
    writer.write(path, files)


CAPTURES = {"made-everything": everything, "made-live": live, "made-metrics": made_metrics.metrics, "made-opencl": opencl,
            "made-pauses": pauses, "made-processes": processes, "made-sampled": sampled, "made-stalls": made_stalls.stalls}
