# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Operations, as the library of the tests reports them."""
import collections
import subprocess

import capture
from capture import BAD_TIMES, LAUNCH_FAILED, UNFINISHED, UNTIMED, check, equal, within
from recorded import Recorded, bare, variables


def test_every_call():
    """each function that launches: bytes, stack, times, names, sizes, places"""
    run = Recorded("calls", 3)
    run.equals_account().all_have_stacks().equal_times()
    equal(run.output, bare("calls", 3).stdout, "output")
    launches = {launch.correlation: launch for launch in run["launch"]}
    for work in run.works():
        equal(work.flags, 0, "flags")
        check(launches[work.correlation].start_ns <= work.start_ns <= work.end_ns, f"times {work}")
    names = collections.Counter(run.text(kernel.name) for kernel in run["kernel"])
    equal(names, {"_Z3addPf": 3, "_Z5scalePf": 3, "_Z6modulePf": 6}, "names")
    for kernel in run["kernel"]:
        equal((kernel.grid, kernel.block, getattr(kernel, "global")), ((7, 2, 1), (32, 3, 1), (224, 6, 1)), "sizes")
    # 0 unknown, 3 device
    equal(collections.Counter((getattr(copy, "from"), copy.to) for copy in run["copy"]), {(0, 3): 3, (3, 0): 3}, "places")


def test_which_and_where():
    """API, device and queues"""
    run = Recorded("calls", 2)
    api, = run["api"]
    equal((api.api, run.text(api.name), run.text(api.version)), (3, "HIP", "6.2.4711"), "API")
    device, = run["device"]
    equal((device.id, device.type, device.memory_bytes, device.pci), (3 << 24 | 1, 0, 1 << 30, 1 << 16 | 3 << 8), "device")
    equal((run.text(device.name), run.text(device.vendor)), ("Test GPU 0", "AMD"), "texts")
    check(all((w.device, w.context >> 24, w.stream >> 24) == (device.id, 3, 3) for w in run.works()), "ids")
    equal({work.stream & 0xff for work in run.works()}, {1, 2}, "queues")
    equal(sorted(stream.id & 0xff for stream in run["stream"]), [1, 2], "streams")
    check("HIP GPU1 Test GPU 0" in run.summary(), "device in the summary")


def test_many_threads():
    """8 threads: each launch has its kernel"""
    run = Recorded("threads", 500).equals_account().all_have_stacks()
    equal(len({launch.tid for launch in run["launch"]}), 8, "threads")
    equal((len(run["kernel"]), len(run.ran)), (4000, 4000), "kernels")


def test_graph():
    """launches that are captured are marked so, and the graph's kernels are those of its launch"""
    run = Recorded("graph", 5)
    functions = run.function_of()
    captured = [launch for launch in run["launch"] if launch.flags & 1]
    equal([run.text(launch.function) for launch in captured], ["hipLaunchKernel"] * 2, "captured")
    works = collections.Counter((functions[work.correlation], run.text(work.name)) for work in run["kernel"])
    equal(works, {("hipLaunchKernel", "_Z3addPf"): 1, ("hipGraphLaunch", "_Z3addPf"): 5,
                  ("hipGraphLaunch", "_Z5scalePf"): 5}, "kernels")
    equal([flags for flags in (launch.flags for launch in run["launch"]) if flags & 2], [2] * 5, "launches of a graph")
    equal(sum(run.json()["missing"]["works"]["ambiguous"].values()), 0, "ambiguous")


def test_without_times():
    """--no-times: the library is not asked for operations, and each kernel is counted"""
    run = Recorded("calls", 4, options=["--no-times"])
    equal((len(run["launch"]), len(run["kernel"]), len(run.ran)), (32, 16, 0), "launches, kernels, operations")
    check(all(work.flags == UNTIMED and not work.start_ns for work in run.works()), "flags")
    equal(collections.Counter(run.text(kernel.name) for kernel in run["kernel"]),
          {"_Z3addPf": 4, "_Z5scalePf": 4, "_Z6modulePf": 8}, "names")
    equal(run.text(run["device"][0].name), "Test GPU 0", "device")


def test_unfinished():
    """kernels of which nothing is heard are counted, with their names"""
    run = Recorded("calls", 2, HIP_TEST_FAULT="silent")
    equal({work.flags for work in run.works()}, {UNFINISHED}, "flags")
    equal(collections.Counter(run.text(kernel.name) for kernel in run["kernel"]),
          {"_Z3addPf": 2, "_Z5scalePf": 2, "_Z6modulePf": 4}, "names")
    # More than there is room for at first.
    run = Recorded("threads", 400, HIP_TEST_FAULT="silent")
    equal((len(run["kernel"]), {work.flags for work in run["kernel"]}, run["loss"]), (3200, {UNFINISHED}, []), "many")


def test_nonsense():
    """times that are not possible, a device that there is not, an operation of another capture"""
    for fault in ("backwards", "long-ago", "future", "zero"):
        run = Recorded("threads", 20, HIP_TEST_FAULT=fault)
        equal({(work.flags, work.start_ns, work.end_ns) for work in run["kernel"]}, {(BAD_TIMES, 0, 0)}, fault)
        equal(len(run["kernel"]), 160, fault)
    run = Recorded("threads", 20, HIP_TEST_FAULT="node")
    equal({work.flags for work in run["kernel"]}, {UNFINISHED}, "flags")
    equal(sum(loss.count for loss in run["loss"]), 160, "losses")
    run = Recorded("threads", 20, HIP_TEST_FAULT="other-call")
    equal((len(run["kernel"]), {work.flags for work in run["kernel"]}), (160, {UNFINISHED}), "kernels")


def test_newest():
    """7.2 says that a record will come before there is one"""
    Recorded("calls", 3, version=702).equals_account().equal_times()


def test_kill_and_fork():
    """after SIGKILL each launch is there; a child of fork leaves its parent's alone"""
    run = Recorded("kill", 300, status=128 + 9)
    equal(len(run["launch"]), 300, "launches")
    Recorded("fork", 20).equals_account()


def test_waited():
    """what the program has waited for is there, though it ends by _exit"""
    run = Recorded("ends", 300).equals_account()
    equal({run.text(kernel.name) for kernel in run["kernel"]}, {"_Z3addPf"}, "names")


def test_fork_in_first_call():
    """a child that calls HIP does not wait for a thread of its parent that made the first call, and is not in it"""
    run = Recorded("fork-in-first-call", expect=2)
    equal(run.said("child"), [["7"]], "exit status of the child")


def test_attach():
    """a program that runs: two captures"""
    with subprocess.Popen([f"{capture.objects}/program", "until-killed"], stdout=subprocess.PIPE,
                          env=capture.environment(**variables())) as program:
        try:
            equal(program.stdout.readline(), b"ready\n", "program")
            for _ in range(2):
                run = Recorded(pid=program.pid, launches=40)
                # A call that was under way at the begin or the end has only one of the two.
                within(len(run["kernel"]), len(run["launch"]) - 2, len(run["launch"]) + 2, "kernels")
                check(len(run["kernel"]) > 10, f"{len(run['kernel'])} kernels")
                equal([launch.flags & LAUNCH_FAILED for launch in run["launch"]], [0] * len(run["launch"]), "failed")
                equal(len(run["device"]), 1, "devices")
        finally:
            program.kill()


def test_windows():
    """--records=sampled: a second after a window, the library is no longer asked to measure"""
    run = Recorded("measured", 2, options=["--records=sampled", "--windows=500ms/120s"])
    (launched,), = run.said("launched")
    equal(len(run["kernel"]), len(run["launch"]), "kernels")
    within(len(run["kernel"]), 10, len(run.ran), "kernels")
    # The program has waited for this.
    check(len(run.ran) * 2 <= int(launched), f"{len(run.ran)} of {launched} operations are measured")
