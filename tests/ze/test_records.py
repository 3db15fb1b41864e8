# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Immediate command lists: what is recorded, against what the program and the driver counted themselves."""
import collections
import contextlib
import os
import signal
import subprocess

import capture
from capture import LAUNCH_FAILED, UNFINISHED, UNTIMED, Skip, check, equal, within
from recorded import Recorded, bare, variables


def test_every_command():
    """each function that appends, with and without an event of the program: bytes, stack, times, places"""
    run = Recorded("commands", 3)
    run.equals_account().all_have_stacks().all_have_times().equal_times()
    equal(run.output, bare("commands", 3).stdout, "output")
    functions = run.function_of()
    kernels = [kernel for kernel in run["kernel"] if run.text(kernel.name) == "add"]
    equal([(kernel.grid, kernel.block, getattr(kernel, "global")) for kernel in kernels],
          [((7, 1, 1), (32, 2, 1), (224, 2, 1))] * 6, "sizes")
    kinds = collections.defaultdict(set)
    for copy in run["copy"]:
        kinds[functions[copy.correlation]].add((getattr(copy, "from"), copy.to))
    # 0 unknown, 1 pageable, 2 pinned, 3 device, 4 array
    for function, places in {"MemoryCopy": {(2, 3), (3, 1)}, "MemoryCopyRegion": {(2, 3)},
                             "MemoryCopyFromContext": {(0, 3)}, "ImageCopy": {(4, 4)},
                             "ImageCopyToMemory": {(4, 2)}, "ImageCopyFromMemoryExt": {(2, 4)}}.items():
        equal(kinds[f"zeCommandListAppend{function}"], places, function)
    equal({fill.value for fill in run["set"]}, {0x01020304}, "value of a fill")


def test_who_and_where():
    """API, device and queue of the operations"""
    run = Recorded("commands", 1)
    api, = run["api"]
    equal((api.api, run.text(api.name), run.text(api.version), api.platform), (2, "Level Zero", "1.4", 0), "API")
    device, = run["device"]
    equal((device.id, device.type, device.multiprocessors, device.memory_bytes, bytes(device.uuid)),
          (2 << 24, 0, 32, 1 << 30, b"0123456789abcdef"), "device")
    equal((run.text(device.name), run.text(device.vendor), run.text(device.driver)), ("Test GPU", "Intel", "4711"), "texts")
    check(all((w.device, w.context >> 24, w.stream >> 24) == (device.id, 2, 2) for w in run.works()), "ids")
    row = run.json()["devices"][0]
    equal((row["api"], row["type"]), ("Level Zero", "gpu"), "device in JSON")
    check("Level Zero GPU0 Test GPU" in run.summary(), "device in the summary")


def test_call_paths():
    """the path of each operation is that of the call that appended it"""
    run = Recorded("commands", 2)
    paths = run.paths()
    equal(paths[("main", "mode_commands", "every_command", "launch_add", "zeCommandListAppendLaunchKernel"), "add"], 4, "add")
    equal(sum(paths.values()), len(run.works()), "operations")
    equal({path[:3] for path, _ in paths}, {("main", "mode_commands", "every_command")}, "outer functions")


def test_many_threads():
    """8 threads, each with a list of its own, that goes while its kernels run"""
    run = Recorded("threads", 300).equals_account().all_have_stacks()
    equal(len({launch.tid for launch in run["launch"]}), 8, "threads")
    equal(len({work.stream for work in run.works()}), 8, "lists")
    equal(len(run.ran), 2400, "kernels that the driver ran")
    for work in run.works():
        check(work.flags in (0, capture.UNFINISHED), f"flags {work.flags}")


def test_waits():
    """calls that wait are recorded as launches are, unless --no-blocking; what asks without waiting is not"""
    for words, expected in ((("commands", 2), {"zeEventHostSynchronize": 2}),
                            (("lists", 4), {"zeFenceHostSynchronize": 2, "zeCommandQueueSynchronize": 3}),
                            (("polled", 4), {})):
        run = Recorded(*words)
        calls = [call for call in run["call"] if run.text(call.function) in expected or not expected]
        equal(collections.Counter(run.text(call.function) for call in calls), expected, "waits")
        for call in run["call"]:
            check(call.stack and call.flags == 1 and 0 < call.start_ns <= call.end_ns, f"call {call}")
        equal(Recorded(*words, options=["--no-blocking"])["call"], [], "waits with --no-blocking")
    for wait, flags in ((0, {0}), (2, {capture.LAUNCH_WAITS})):
        equal({launch.flags for launch in Recorded("ends", wait)["launch"]}, flags, "launches into a synchronous list")


def test_calls():
    """barriers and waits are calls that give a device nothing to do"""
    run = Recorded("commands", 2, options=["--api"]).equals_account()
    calls = collections.Counter(run.text(call.function) for call in run["call"])
    equal(calls["zeCommandListAppendBarrier"], 4, "barriers")
    equal(calls["zeEventHostSynchronize"], 2, "waits")
    check(all(call.stack for call in run["call"] if "Synchronize" in run.text(call.function)), "a wait without a stack")


def test_without_times():
    """--no-times: the device is not asked, and each operation is counted"""
    for words in (("commands", 2), ("threads", 20)):
        run = Recorded(*words, options=["--no-times"]).equals_account()
        check(all(work.flags == UNTIMED and not work.start_ns for work in run.works()), "flags")
        equal(run.json()["missing"]["without_time"]["not_measured"], len(run.works()), "not measured")
        equal(run["clock"], [], "clocks")
    run = Recorded("lists", 4, options=["--no-times"])
    equal([len(run.works()), {work.flags for work in run.works()}], [41, {UNTIMED}], "operations of lists")
    run = Recorded("overtaken", 20, options=["--no-times"])
    equal([run.text(note.text) for note in run["note"]], [], "notes")


def test_exit_and_kill():
    """exit in the middle loses nothing; after SIGKILL each launch is there"""
    Recorded("exit", 300, status=3).equals_account()
    run = Recorded("kill", 300, status=128 + 9, ZE_TEST_HANG="290")
    equal(len(run["launch"]), 300, "launches")
    left = run.json()["missing"]["launches"]
    equal((left["with_work"] + left["withheld"], left["without_work"]), (300, 0), "launches with and without work")
    check(any(node["name"] == "scale [unmatched launch]" for node in run.json()["nodes"]),
          "the name of kernels that were not reported")


def test_waited():
    """what the program has waited for is there with its times, though it ends by _exit"""
    for wait in range(3):
        Recorded("ends", wait).equals_account().all_have_times()


def test_fork():
    """children that use what they have inherited: the parent loses nothing, and nothing is theirs"""
    run = Recorded("fork", 100).equals_account().all_have_times()
    equal(len(run.ran), 110, "kernels that the driver ran")


def test_fork_in_launch():
    """a child destroys a context whose lock a thread of its parent had"""
    run = Recorded("fork-in-launch")
    equal(run.said("child"), [["7"]], "exit status of the child")
    equal((len(run["launch"]), len(run["kernel"]), run["loss"]), (2, 2, []), "launches, kernels, losses")


def test_fork_in_init():
    """a child that initialises Level Zero does not wait for a thread of its parent that did, and is not in it"""
    run = Recorded("fork-in-init", expect=2)
    equal(run.said("child"), [["7"]], "exit status of the child")
    equal([run.text(note.text) for note in run["note"]], [], "notes")


@contextlib.contextmanager
def until_killed():
    preloaded = capture.environment(**variables(LD_PRELOAD=capture.preload(),
                                                ZE_ENABLE_TRACING_LAYER="1"))
    with subprocess.Popen([f"{capture.objects}/program", "until-killed"], stdout=subprocess.PIPE, env=preloaded) as program:
        try:
            equal(program.stdout.readline(), b"ready\n", "program")
            yield program
        finally:
            program.kill()


def test_attach():
    """a program that runs: two captures, and its lists were made before both"""
    with until_killed() as program:
        for _ in range(2):
            run = Recorded(pid=program.pid, launches=40)
            works = collections.Counter(run.text(kernel.name) for kernel in run["kernel"] if not kernel.graph)
            launches = collections.Counter(run.text(launch.function) for launch in run["launch"])
            check(works["scale"] > 10, f"kernels {works}")
            # A call that was under way at the begin or the end has only one of the two.
            within(works["scale"], launches["zeCommandListAppendLaunchKernel"] - 2,
                   launches["zeCommandListAppendLaunchKernel"] + 2, "kernels")
            check(all(work.start_ns for work in run["kernel"] if not work.flags and not work.graph), "times")
            equal(len(run["device"]), 1, "devices")
            # What was appended before has no events.
            nodes = [work for work in run.works() if work.graph]
            equal((len(nodes) % 5, {work.flags for work in nodes} <= {UNTIMED, UNFINISHED}), (0, True), "operations of lists")
            check(len(nodes) > 10, f"{len(nodes)} operations of lists")


def test_filled_between():
    """a list that is filled between two captures: what the second one wants holds, whatever the first one wanted"""
    with until_killed() as program:
        for first, second, flags in (([], ["--no-times"], {UNTIMED}), (["--no-times"], [], {0})):
            Recorded(pid=program.pid, launches=4, options=first)
            program.send_signal(signal.SIGUSR1)
            equal(program.stdout.readline(), b"filled\n", "program")
            run = Recorded(pid=program.pid, launches=40, options=second)
            works = [work for work in run["kernel"] if work.graph and run.text(work.name) == "scale"]
            # The last one may be under way at the end.
            equal({work.flags for work in works} - {UNFINISHED}, flags, f"{second}: flags of the kernel with an event")


def test_many_resets():
    """an event that is reset costs the program the same, however much has run since the library's thread looked"""
    run = Recorded("reset", 5, expect=1)
    before, after = map(int, run.said("took")[0])
    check(after < 2 * before, f"microseconds for a thousand, before and after: {before}, {after}")
    equal((len(run["launch"]), len(run["kernel"]), run["loss"]), (30000, 30000, []), "launches, kernels, losses")


def test_refused():
    """calls that fail: the program gets its errors, and the capture has them, too"""
    run = Recorded("answers", 3)
    equal(run.output, bare("answers", 3).stdout, "what the program sees")
    failed = [launch for launch in run["launch"] if launch.flags & LAUNCH_FAILED]
    equal([launch.result & 0xffffffff for launch in failed], [0x78000004] * 3, "results")
    equal((len(run["launch"]), len(run["kernel"])), (8, 5), "launches and kernels")
    run.equal_times()


def test_cancelled():
    """a thread that is cancelled in the driver, which the library asks for times, leaves no lock behind"""
    Recorded("cancelled", 3).equals_account()


def test_many_events():
    """events do not take the room of other objects, however many a program has"""
    run = Recorded("many-events", 110000).equals_account().all_have_times().equal_times()
    equal([run.text(kernel.name) for kernel in run["kernel"]], ["late"], "kernels")


def skip_if_sanitised():
    """A sanitizer keeps what the driver frees."""
    if os.environ.get("SANITIZE"):
        raise Skip("no figures of memory from a sanitizer's build")


def test_queue_each():
    """queues that come and go leave no memory behind"""
    skip_if_sanitised()
    run = Recorded("queue-each", 50000)
    check(int(run.output.split()[1]) < 1000, f"KiB: {run.output}")


def test_list_each():
    """nor do immediate lists, whose commands are all there"""
    skip_if_sanitised()
    run = Recorded("list-each", 20000)
    equal((len(run["launch"]), len(run["kernel"]), run["loss"]), (20000, 20000, []), "launches, kernels, losses")
    check(int(run.output.split()[1]) < 1000, f"KiB: {run.output}")
