# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What is recorded, against what the program counted itself."""
import collections
import json
import os
import subprocess
import time

import capture
from capture import FAILED, LAUNCH_FAILED, LAUNCH_WAITS, UNFINISHED, UNTIMED, Capture, Skip, check, equal, need, within


def test_every_command():
    """each function that enqueues, with the bytes that it moved, a stack, and times"""
    run = Capture("commands").equals_account().all_have_stacks().all_have_times()
    functions = run.function_of()
    kernels = [kernel for kernel in run["kernel"] if run.text(kernel.name) == "add"]
    equal([(kernel.grid, kernel.block, getattr(kernel, "global")) for kernel in kernels],
          [((8, 8, 1), (8, 8, 1), (64, 64, 1))] * 5, "sizes")
    scale = next(kernel for kernel in run["kernel"] if run.text(kernel.name) == "scale")
    equal((scale.grid, scale.block, getattr(scale, "global")), ((0, 0, 0), (0, 0, 0), (4096, 1, 1)),
          "sizes that the driver chose")
    equal({run.text(kernel.name) for kernel in run["kernel"]},
          {"add", "scale", "empty", "[native kernel]", "[command buffer of 3 kernels] scale"}, "names of kernels")
    said = [run.text(note.text) for note in run["note"] if "command buffer" in run.text(note.text)]
    equal(len(said), 1, "notes of command buffers")
    kinds = {functions[copy.correlation]: (copy.kind, getattr(copy, "from"), copy.to)
             for copy in run["copy"]}
    for function, expected in {"clEnqueueReadBuffer": (0, 3, 1), "clEnqueueWriteBuffer": (0, 1, 3),
                               "clEnqueueCopyBuffer": (0, 3, 3), "clEnqueueMapBuffer": (1, 3, 1),
                               "clEnqueueUnmapMemObject": (2, 1, 3), "clEnqueueMigrateMemObjects": (3, 1, 3),
                               "clEnqueueReadImage": (0, 4, 1), "clEnqueueSVMMemcpy": (0, 5, 5)}.items():
        equal(kinds[function], expected, function)
    fill = next(fill for fill in run["set"] if functions[fill.correlation] == "clEnqueueFillBuffer")
    equal(fill.value, 0x01020304, "value of a fill")


def test_calls_that_wait():
    """calls that wait are recorded as launches are, unless --no-blocking; a command that is waited for says so"""
    run = Capture("commands").equals_account()
    waits = collections.defaultdict(set)
    for launch in run["launch"]:
        waits[run.text(launch.function)].add(launch.flags & LAUNCH_WAITS)
    both = {"clEnqueueWriteBuffer"}
    always = {"clEnqueueReadBuffer", "clEnqueueWriteBufferRect", "clEnqueueReadBufferRect", "clEnqueueMapBuffer",
              "clEnqueueWriteImage", "clEnqueueReadImage", "clEnqueueMapImage", "clEnqueueSVMMemcpy", "clEnqueueSVMMap"}
    equal(waits, {name: {0, LAUNCH_WAITS} if name in both else {LAUNCH_WAITS} if name in always else {0}
                  for name in waits}, "launches that wait")
    for mode, number, function, count in (("known", 2, "clFinish", 5), ("ends", "event", "clWaitForEvents", 1)):
        words = (mode, number, *(["_exit"] if mode == "ends" else []))
        run = Capture(*words)
        equal([run.text(call.function) for call in run["call"]], [function] * count, "waits")
        for call in run["call"]:
            check(call.stack and call.flags == 1, f"call {call}")
        for call, (begun, _, spun, done) in zip(run["call"], (map(int, times) for times in run.said("spun"))):
            check(begun <= call.start_ns <= call.end_ns <= done and spun <= call.end_ns, f"times {call}")
        check(function in run.summary() or mode != "known", "a wait in the summary")
        equal(Capture(*words, options=["--no-blocking"])["call"], [], "waits with --no-blocking")


def test_planted():
    """waits for the GPU take as long as the program's own account of them has it, and end after what they wait for"""
    run = Capture(5, program=[f"{capture.objects}/planted"])
    account = json.loads(run.output)["functions"]
    first, *waits = sorted(run["call"], key=lambda call: call.start_ns)
    reads = [launch for launch in run["launch"] if launch.flags & LAUNCH_WAITS]
    kernels = sorted((kernel for kernel in run["kernel"] if run.text(kernel.name) == "[native kernel]"),
                     key=lambda kernel: kernel.start_ns)
    equal((len(waits), len(reads), len(kernels)), (5, 5, 10), "waits, blocking reads, long kernels")
    check(first.end_ns <= waits[0].start_ns, "a wait before the loop")
    for name, calls, waited in (("finish", waits, kernels[::2]), ("blocking_read", reads, kernels[1::2])):
        equal(account[name]["count"], len(calls), name)
        check(0 < sum(call.end_ns - call.start_ns for call in calls) <= account[name]["ns"], f"time of {name}")
        error = run.clock().error_ns + 1000
        for call, kernel in zip(sorted(calls, key=lambda call: call.start_ns), waited):
            check(kernel.end_ns <= call.end_ns + error, f"{name} ends before the kernel: {call} {kernel}")


def test_who_and_where():
    """platform, device and queue of the operations; the device is a CPU"""
    run = Capture("out-of-order", 3).equals_account()
    api, = run["api"]
    equal((api.api, run.text(api.name), run.text(api.platform)),
          (1, "OpenCL", "Portable Computing Language"), "API")
    check("OpenCL 3.0" in run.text(api.version), f"version {run.text(api.version)}")
    device, = run["device"]
    equal((device.id, device.type), (1 << 24, 1), "device")
    check(run.text(device.name).startswith(("pthread", "cpu")) and device.multiprocessors and device.memory_bytes,
          f"device {run.text(device.name)}")
    check(all((w.device, w.context >> 24, w.stream >> 24) == (device.id, 1, 1) for w in run.works()), "ids")
    row = run.json()["devices"][0]
    equal((row["api"], row["type"]), ("OpenCL", "cpu"), "device in JSON")
    check("OpenCL CPU0" in run.summary(), "device in the summary")


def test_continuous():
    """what a ring has kept of a short program is all of it"""
    run = Capture("commands", options=("--continuous", "--low-overhead", "--sample=1/1", "--windows=60s/120s"))
    run.equals_account().all_have_stacks().all_have_times()
    totals, = run["totals"]
    equal(totals.launches, len(run["launch"]), "totals")


def test_many_threads():
    """8 threads on one queue: every kernel has a launch of its thread"""
    run = Capture("threads", 500).equals_account().all_have_stacks()
    equal(len({launch.tid for launch in run["launch"]}), 8, "threads")


def kernels_with_paths(run):
    """The nodes of kernels, each with the names above it, the innermost first."""
    nodes = run.json()["nodes"]
    for node in nodes:
        if node["kind"] != "kernel" or not node["count"]:
            continue
        path, up = [], node["parent"]
        while up is not None:
            path.append(nodes[up]["name"])
            up = nodes[up]["parent"]
        yield node, path


def test_paths():
    """8 threads that launch by three paths at random: each path has its own kernel, no GPU time is another's"""
    run = Capture("paths", 200).equals_account().all_have_stacks()
    wrong = right = 0
    for node, path in kernels_with_paths(run):
        if f"path_of_{node['name']}" in path and "use_paths" in path:
            right += node["count"]
        else:
            wrong += node["gpu_ns"]
    equal((wrong, right), (0, 1600), "GPU time on a wrong path, kernels on the right one")


def test_many_queues():
    """100 queues, and a queue for each of 100 kernels that is released before the kernel has ended"""
    run = Capture("queues", 100).equals_account().all_have_stacks()
    equal(len({work.stream for work in run.works()}), 100, "queues")
    run = Capture("queue-each", 100).equals_account()
    equal(len({work.stream for work in run.works()}), 101, "queues of one kernel each")


def test_thousand_queues():
    """1,000 queues"""
    run = Capture("queues", 1000).equals_account()
    equal(len({work.stream for work in run.works()}), 1000, "queues")


def test_refused():
    """a build that fails, and calls that fail: the program gets its errors, the capture has them too"""
    run = Capture("refused")
    bare = subprocess.run([f"{capture.objects}/program", "refused"], stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL, check=True, env=capture.environment())
    equal(run.output, bare.stdout, "errors that the program gets")
    run.equals_account()
    results = sorted(launch.result for launch in run["launch"] if launch.flags & LAUNCH_FAILED)
    equal(results, [-54, -53, -36, -30], "results")
    equal(run.json()["missing"]["launches"]["refused"], 4, "refused")


def test_without_times():
    """failed, never ended, not asked for: each is counted, by reason"""
    run = Capture("failed").equals_account()
    equal(sorted(work.flags for work in run.works()), [0, FAILED], "flags")
    equal(run.json()["missing"]["without_time"]["failed"], 1, "failed")
    run = Capture("never").equals_account()
    equal(sorted(work.flags for work in run.works()), [0, UNFINISHED], "flags")
    equal(run.json()["missing"]["without_time"]["unfinished"], 1, "unfinished")
    run = Capture("threads", 20, options=["--no-times"]).equals_account()
    check(all(work.flags == UNTIMED and not work.start_ns for work in run.works()), "flags")
    equal(run.json()["missing"]["without_time"]["not_measured"], 160, "not measured")


def test_exit_and_kill():
    """exit in the middle loses nothing; after SIGKILL each launch is there"""
    Capture("exit", 300, status=3).equals_account()
    run = Capture("kill", 300, status=128 + 9)
    equal(len(run["launch"]), 300, "launches")
    missing = run.json()["missing"]
    left = missing["launches"]
    equal((left["with_work"] + left["withheld"], left["without_work"]), (300, 0), "launches with and without work")
    equal(missing["losses"]["withheld"], left["withheld"], "losses")
    check(f" {left['withheld']} launches whose work was not reported when the process ended" in run.done.stderr,
          f"the recorder says {run.done.stderr}")
    check(any(node["name"] == "empty [unmatched launch]" for node in run.json()["nodes"]),
          "the name of kernels that were not reported")


def test_waited():
    """what the program has waited for, in any way, is there with its times, however it ends"""
    for wait in ("finish", "event", "events", "read", "map", "poll", "callback", "barrier"):
        Capture("ends", wait, "_exit").equals_account().all_have_times()
    for end, status in (("exit_group", 0), ("exec", 0), ("abort", 128 + 6), ("term", 128 + 15), ("kill", 128 + 9)):
        run = Capture("ends", "finish", end, status=status).equals_account().all_have_times()
        equal({run.text(kernel.name) for kernel in run["kernel"]}, {"empty"}, f"names after {end}")
    run = Capture("ends", "finish", "again", expect=2)
    equal((len(run["launch"]), len(run["kernel"])), (1200, 1200), "of a program that has executed itself")


def test_fork():
    """a child that does not use OpenCL: nothing of the parent is lost, nothing is the child's"""
    run = Capture("fork", 100).equals_account()
    equal(run.said("child"), [["7"]], "the child's exit status")


def test_many_maps():
    """mapped addresses do not take the room of kernels, however many a program has"""
    run = Capture("many-maps", 110000).equals_account()
    equal([run.text(kernel.name) for kernel in run["kernel"]], ["empty"], "kernels")


def test_with_cuda():
    """CUDA in the same process, before, after and amid OpenCL: one capture, and nothing is taken for the other's"""
    cuda = f"{capture.objects}/cuda"
    if not os.path.exists(f"{cuda}/libcuda.so.1"):
        raise Skip("no headers of CUDA for the stand-in")
    for mode in ("both", "cuda-first", "opencl-amid-cuda"):
        run = Capture(mode, 40, LD_LIBRARY_PATH=f"{cuda}/13:{cuda}", MOCK_DRIVER_VERSION="13000",
                      OPENCL_TEST_LIBRARY=f"{capture.objects}/libconstructor.so")
        equal([run.text(note.text) for note in run["note"]], [], "notes")
        equal(len(run["process"]), 1, "descriptions of the process")
        equal(sorted(api.api for api in run["api"]), [0, 1], "APIs")
        names = collections.Counter((work.context >> 24, run.text(work.name)) for work in run["kernel"])
        equal(dict(names), {(1, "empty"): 40, (0, "of_cuda"): 40}, "kernels")
        functions = {(launch.context >> 24, launch.correlation): run.text(launch.function)
                     for launch in run["launch"]}
        for work in run["kernel"]:
            equal(functions[work.context >> 24, work.correlation].startswith("cl"), work.context >> 24 == 1,
                  "function of a launch")
        run.all_have_stacks()
        # Each kernel is below its own call.
        nodes = run.json()["nodes"]
        for node in nodes:
            if node["kind"] == "kernel":
                call = nodes[node["parent"]]["name"]
                equal(call.startswith("cl"), node["name"] == "empty", f"{node['name']} below {call}")


def test_child_of_cuda():
    """OpenCL in a child of a program with CUDA: the child is a process of its own, in which CUDA is left alone"""
    cuda = f"{capture.objects}/cuda"
    if not os.path.exists(f"{cuda}/libcuda.so.1"):
        raise Skip("no headers of CUDA for the stand-in")
    run = Capture("child-of-cuda", 40, expect=2, LD_LIBRARY_PATH=f"{cuda}/13:{cuda}", MOCK_DRIVER_VERSION="13000")
    equal(run.said("child"), [["3"]], "exit status of the child")
    # The child has it and cannot use it.
    equal([run.text(note.text) for note in run["note"]],
          ["the library of CUDA is loaded (libcuda.so), and no use of it was seen"], "notes")
    equal(sorted(api.api for api in run["api"]), [0, 1], "APIs")
    equal(collections.Counter(launch.context >> 24 for launch in run["launch"]), {0: 40, 1: 40}, "launches by API")


def test_python():
    """pyopencl: functions of Python in the call paths"""
    if os.environ.get("SANITIZE"):
        raise Skip("a sanitizer has to be in the interpreter")
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "program.py")
    if subprocess.run(["/usr/bin/python3", "-c", "import pyopencl"], stderr=subprocess.DEVNULL,
                      check=False).returncode:
        raise Skip("no pyopencl")
    run = Capture(50, program=["/usr/bin/python3", script]).all_have_stacks()
    equal(len(run["kernel"]), 50, "kernels")
    nodes = run.json()["nodes"]
    squares = [node for node in nodes if node["kind"] == "kernel" and node["name"] == "square"]
    equal(sum(node["count"] for node in squares), 50, "kernels")
    for node in squares:
        path = []
        while node["parent"] is not None:
            node = nodes[node["parent"]]
            path.append(node["name"])
        check("Model.step" in path and path.index("Model.step") + 1 == path.index("Model.forward"), f"path {path}")


def test_clinfo():
    """all that clinfo prints is the same; it uses no queue, so nothing is recorded of it"""
    need("clinfo")
    bare = subprocess.run(["clinfo"], stdout=subprocess.PIPE, text=True, check=True, env=capture.environment())
    run = Capture(program=["clinfo"])
    equal(run.output.splitlines(), bare.stdout.splitlines(), "what clinfo prints")
    equal(run["launch"], [], "launches")


def test_clpeak():
    """clpeak's launches, which it does not count: 20,000 in its loop, and 2 before"""
    need("clpeak")
    run = Capture("--kernel-latency", program=["clpeak"]).all_have_stacks().all_have_times()
    equal((len(run["launch"]), len(run["kernel"]), run["loss"]), (20002, 20002, []), "launches and kernels")


def test_attach():
    """a program that runs: two captures, and its queue was made before both"""
    variables = capture.environment(OPENCL_LAYERS=f"{capture.objects}/libgpumon-inject.so")
    with subprocess.Popen([f"{capture.objects}/program", "until-killed"], stdout=subprocess.PIPE,
                          env=variables) as program:
        try:
            equal(program.stdout.readline(), b"ready\n", "program")
            for _ in range(2):
                run = Capture(pid=program.pid, launches=40)
                check(len(run["launch"]) > 10, f"{len(run['launch'])} launches")
                # A call that was under way at the begin or the end has only one of the two.
                within(len(run["kernel"]), len(run["launch"]) - 2, len(run["launch"]) + 2, "kernels")
                check(all(work.start_ns for work in run["kernel"] if not work.flags), "times")
                equal(len(run["device"]), 1, "devices")
        finally:
            program.kill()


def attach_with_cuda(mode, number=1000, says=(), options=()):
    """A recorder comes while CUDA is being initialised. @says: lines of the program after that."""
    cuda, library = f"{capture.objects}/cuda", f"{capture.objects}/libgpumon-inject.so"
    if not os.path.exists(f"{cuda}/libcuda.so.1"):
        raise Skip("no headers of CUDA for the stand-in")
    variables = capture.environment(OPENCL_LAYERS=library, CUDA_INJECTION64_PATH=library, MOCK_DRIVER_VERSION="13000",
                                    LD_LIBRARY_PATH=f"{cuda}/13:{cuda}")
    variables["OPENCL_TEST_LIBRARY"] = f"{capture.objects}/libconstructor.so"
    with subprocess.Popen([f"{capture.objects}/program", mode, str(number)], stdout=subprocess.PIPE,
                          env=variables) as program:
        try:
            equal(program.stdout.readline(), b"ready\n", "program")
            run = Capture(pid=program.pid, launches=40, options=options)
            equal([run.text(window.reason) for window in run["window"]], ["attach", "stop"], "windows")
            equal([run.text(note.text) for note in run["note"]], [], "notes")
            for line in says:
                equal(program.stdout.readline(), line, "program")
        finally:
            program.kill()
    return run


def test_end_with_opencl():
    """OpenCL is initialised by a library that is being loaded, while a capture of CUDA ends: none waits for the other"""
    attach_with_cuda("opencl-amid-end", 60, [b"through\n"], ["--no-python"])


def test_attach_with_cuda():
    """a recorder comes while CUDA is being initialised: the capture's window begins"""
    attach_with_cuda("cuda-while-attached")


def test_attach_before_cuda():
    """CUDA is initialised while a capture begins: it is recorded as well, with stacks of the program's"""
    run = attach_with_cuda("cuda-amid-attach")
    functions = collections.Counter(run.text(launch.function) for launch in run["launch"])
    equal(sorted(functions), ["clEnqueueNDRangeKernel", "cuLaunchKernel"], "functions")
    within(functions["cuLaunchKernel"], 15, functions.total() - 15, "launches of CUDA")
    equal({(node["name"], *path[:2]) for node, path in kernels_with_paths(run)},
          {("of_cuda", "cuLaunchKernel", "mode_cuda_amid_attach"),
           ("empty", "clEnqueueNDRangeKernel", "launch_empty")}, "paths")


def test_known_length():
    """kernels that say themselves when they ran: within 2 %, and within the error of the clock"""
    run = Capture("known", 20)
    spun = [tuple(map(int, words)) for words in run.said("spun")]
    kernels = sorted(run["kernel"], key=lambda kernel: kernel.start_ns)
    clock = run.clock()
    equal((len(kernels), len(spun)), (5, 5), "kernels")
    check(clock.source in (1, 2) and clock.error_ns < 100000, f"clock {clock}")
    right = 0
    for kernel, (begun, start, end, over) in zip(kernels, spun):
        within(kernel.start_ns, begun - clock.error_ns, start + clock.error_ns, "start")
        within(kernel.end_ns, end - clock.error_ns, over + clock.error_ns, "end")
        right += abs((kernel.end_ns - kernel.start_ns) - (end - start)) <= (end - start) // 50
    # A busy machine takes the processor away between the driver's clock and the program's.
    check(right >= 3, f"{right} of 5 lengths are right")


def overlap(times):
    """For how long two of these ran at once, summed over all pairs."""
    return sum(max(0, min(one[1], other[1]) - max(one[0], other[0]))
               for number, one in enumerate(times) for other in times[:number])


def equals_drivers_times(run):
    """What the driver told the program of kernels that may overlap is what the capture has."""
    run.equals_account()
    told = sorted((int(start), int(end)) for start, end in run.said("ran"))
    kernels = sorted((kernel.start_ns, kernel.end_ns) for kernel in run["kernel"])
    equal(len(kernels), len(told), "kernels")
    error = run.clock().error_ns + 1000
    for (start, end), (told_start, told_end) in zip(kernels, told):
        offset = start - told_start - run.clock().offset_ns
        within(offset, -error, error, "start, from the driver's")
        within(end - start, told_end - told_start - 2, told_end - told_start + 2, "length, from the driver's")
    within(overlap(kernels), overlap(told) - 6 * error, overlap(told) + 6 * error, "overlap")
    return overlap(told)


def test_overlap():
    """kernels of an out-of-order queue that ran at once: as the driver reports it to the program"""
    if not equals_drivers_times(Capture("overlap", 20)):
        raise Skip("the driver ran one after the other")


def test_clock():
    """the offset is that of the system's clock, within the error that is said"""
    run = Capture("threads", 50)
    clock = run.clock()
    equal(clock.source, 2, "pocl's clock is CLOCK_MONOTONIC_RAW")
    # This process may be away between two of the three.
    before, raw, after = min((tuple(map(time.clock_gettime_ns, (time.CLOCK_MONOTONIC, time.CLOCK_MONOTONIC_RAW,
                                                                time.CLOCK_MONOTONIC))) for _ in range(100)),
                             key=lambda times: times[2] - times[0])
    offset, apart = before - raw, after - before
    # The kernel may slow a clock down by 500 ppm since then.
    age = time.clock_gettime_ns(time.CLOCK_MONOTONIC) - clock.time_ns
    within(clock.offset_ns, offset - clock.error_ns - age // 2000 - 2000,
           offset + apart + clock.error_ns + age // 2000 + 2000, "offset")
    equal(run.json()["recording"]["clocks"][0]["source"], "monotonic_raw", "source in JSON")
