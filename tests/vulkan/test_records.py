# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What is recorded of a real driver, against what the program counted itself."""
import os
import re
import subprocess

import capture
from capture import LAUNCH_WAITS, Skip, check, contains, equal, within
from recorded import OUR_LAYER, VALIDATION, VULKAN, Recorded, bare, messages, variables


def equals_bare(run, *words, **more):
    """The program has the same results without gpumon."""
    alone = bare(*words, **more)
    equal(alone.returncode, 0, f"status without gpumon: {alone.stdout[-300:]}")
    lines = alone.stdout.splitlines()
    equal(run.results(), sorted(line for line in lines if line.split()[0] not in ("submission", "cost")), "results")
    return run


def test_threads():
    """two threads submit: each command buffer has a time within its submission, and results are those without gpumon"""
    run = Recorded("threads", 40).equals_account().are_in_order().all_have_stacks()
    equals_bare(run, "threads", 40)
    equal(len({launch.tid for launch in run["launch"]}), 2, "threads")
    equal({work.context for work in run["kernel"]}, {VULKAN | 1}, "device")


def test_picture():
    """a picture that is drawn offscreen is the same to the byte"""
    run = Recorded("picture", 5).equals_account().are_in_order()
    equals_bare(run, "picture", 5)


def test_kinds():
    """several batches, many command buffers, a device group, vkQueueSubmit2, a timeline semaphore"""
    run = Recorded("kinds").equals_account().are_in_order().all_have_stacks()
    equals_bare(run, "kinds")
    equal([run.text(launch.function) for launch in run["launch"]],
          ["vkQueueSubmit", "vkQueueSubmit", "vkQueueSubmit2"], "functions")
    equal([run.text(launch.name) for launch in run["launch"]],
          ["submit, 3 command buffers", "submit, 20 command buffers", "submit, 2 command buffers"], "names of launches")
    equal(sorted(run.text(work.name) for work in run["kernel"]),
          ["submit, 1 command buffer", "submit, 20 command buffers"] +
          2 * ["submit, command buffer 1 of 2"] + 2 * ["submit, command buffer 2 of 2"], "names of operations")
    waits = [run.text(call.function) for call in run["call"] if call.flags]
    equal(waits, ["vkWaitForFences", "vkWaitForFences", "vkWaitSemaphores", "vkWaitForFences"] +
          2 * ["vkDeviceWaitIdle"], "waits")
    check(all(call.stack for call in run["call"]), "a wait without its path")


def test_what_and_where():
    """API, device, queue and clock; lavapipe is a CPU, whose clock is CLOCK_MONOTONIC"""
    run = Recorded("picture", 1)
    api, = run["api"]
    equal((api.api, run.text(api.name), api.platform), (4, "Vulkan", 0), "API")
    check(re.fullmatch(r"1\.\d+\.\d+", run.text(api.version)), f"version {run.text(api.version)}")
    device, = run["device"]
    equal((device.id, device.type, run.text(device.vendor)), (VULKAN, 1, "Mesa"), "device")
    contains(run.text(device.name), "llvmpipe", "device")
    contains(run.text(device.driver), "llvmpipe", "driver")
    stream, = run["stream"]
    contains(run.text(stream.name), "family 0 queue 0", "queue")
    within(run.clock().error_ns, 0, 10**6, "error of the clock")
    within(run.clock().offset_ns, -run.clock().error_ns, run.clock().error_ns, "offset of the clock")
    contains(run.summary(), "Vulkan CPU0", "summary")
    check(not any(launch.flags & LAUNCH_WAITS for launch in run["launch"]), "a launch that waits")


def test_many_without_a_wait():
    """thousands of submissions before the first wait: all have times, in their order"""
    run = Recorded("storm", 1500)
    equal(len(run["launch"]), 1500, "launches")
    equal({work.flags for work in run["kernel"]}, {0}, "flags")
    equal(len(run["kernel"]), 1500, "operations")
    run.are_in_order()
    equals_bare(run, "storm", 1500)


def test_recorded_for_each_submission():
    """command buffers that are recorded anew for each submission have times, also with --passes"""
    run = Recorded("recorded", 3)
    equal(len(run["launch"]), 3000, "launches")
    equal([work.flags for work in run["kernel"]], 3000 * [0], "flags of operations")
    launches = {launch.correlation: launch for launch in run["launch"]}
    error = max(clock.error_ns for clock in run["clock"]) + 1000
    check(all(work.start_ns >= launches[work.correlation].start_ns - error for work in run["kernel"]),
          "an operation before its launch")
    equals_bare(run.are_in_order(), "recorded", 3)
    run = Recorded("recorded", 1, options=["--passes"])
    equal(run.names_of_operations(), 1000 * [["dispatch 64x1x1", "barrier"]], "operations with --passes")
    equal({work.flags for work in run["kernel"]}, {0}, "their flags")


def test_too_many():
    """more command buffers on their way than there are slots: the rest is there without times, and a note says so"""
    run = Recorded("storm", 9000)
    flags = [work.flags for work in run["kernel"]]
    equal((len(run["launch"]), len(flags)), (9000, 9000), "launches, operations")
    check(flags.count(0) >= 8192 and set(flags) <= {0, capture.UNTIMED}, f"flags {set(flags)}, {flags.count(0)} with times")
    equal([note for note in run.notes() if "8192 of a queue" in note] != [], capture.UNTIMED in flags, "note")
    equals_bare(run, "storm", 9000)


def test_devices():
    """devices one after the other and at the same time: each is a context of the one GPU"""
    run = Recorded("devices", 6)
    equal(len({work.context for work in run["kernel"]}), 6, "devices")
    equal((len(run["kernel"]), len(run["device"])), (12, 1), "operations, GPUs")
    run = Recorded("two").equals_account()
    equal(len({work.context for work in run["kernel"]}), 2, "devices at a time")


def test_ends():
    """what a program has waited for is there, however it ends"""
    for mode in ("ends", "left"):
        run = Recorded(mode)
        run.equals_account()


def test_running():
    """a program that was started with the layer, and without a recorder, is recorded while it runs"""
    env = capture.environment(**variables(VK_INSTANCE_LAYERS=OUR_LAYER, VK_ADD_LAYER_PATH=f"{capture.objects}/gpumon-vulkan"))
    with subprocess.Popen([f"{capture.objects}/program", "frames", "100000"], env=env, stdout=subprocess.DEVNULL) as process:
        try:
            run = capture.Capture(pid=process.pid, launches=200)
        finally:
            process.kill()
    equal((len(run["device"]), {work.flags for work in run["kernel"]} - {capture.UNFINISHED}), (1, {0}), "devices, flags")
    launches = {launch.correlation for launch in run["launch"]}
    equal({work.correlation for work in run["kernel"]} - launches, set(), "operations without a launch")


def test_fork():
    """a child of fork ends as ever, and its parent is recorded on"""
    run = Recorded("fork")
    equal(len(run["kernel"]), 4, "operations")


def test_passes():
    """with --passes what a command buffer does has times, by name, in order and within the submission"""
    run = Recorded("passes", 3, options=["--passes"])
    equals_bare(run, "passes", 3)
    run.equals_passes(3).are_in_order()


def test_passes_of_a_picture():
    """a render pass is one operation"""
    run = Recorded("picture", 2, options=["--passes"])
    equals_bare(run, "picture", 2)
    equal(run.names_of_operations(), 2 * [["render pass 64x64x1", "copy of an image to a buffer"]], "operations")


def test_old_program():
    """a program of Vulkan 1.0 has times, too"""
    run = Recorded("threads", 5, PROGRAM_OLD="1").equals_account()
    equals_bare(run, "threads", 5, PROGRAM_OLD="1")
    check(run.clock().error_ns < 10**6, f"clock {run.clock()}")
    run.clock_is_before_times()


def test_no_times():
    """with --no-times the driver gets what the program gave it"""
    Recorded("threads", 5, options=["--no-times"]).equals_account(capture.UNTIMED)


def test_no_blocking():
    """waits are left out with --no-blocking"""
    run = Recorded("picture", 1, options=["--no-blocking"])
    equal({call.flags for call in run["call"]}, {0}, "flags of calls")


def test_pipelines():
    """what the driver compiles is calls that do not wait, with their paths"""
    for words, expected in ((("picture", 1), ["vkCreateGraphicsPipelines"] + 2 * ["vkCreateShaderModule"]),
                            (("threads", 1), 2 * ["vkCreateComputePipelines"] + 2 * ["vkCreateShaderModule"])):
        run = Recorded(*words)
        calls = [call for call in run["call"] if not call.flags]
        equal(sorted(run.text(call.function) for call in calls), expected, f"calls of {words}")
        check(all(call.stack and 0 < call.start_ns < call.end_ns for call in calls), f"paths, times: {calls}")
        equal({call.context for call in calls}, {VULKAN | 1}, "device")


def test_names():
    """the program's names of command buffers and of a queue are in place of gpumon's; labels of a queue are ranges"""
    run = Recorded("names", options=["--nvtx"])
    one = "submit, 1 command buffer"
    equal([run.text(work.name) for work in sorted(run["kernel"], key=lambda work: work.start_ns)],
          [one, "shadows", "shadows", "submit, command buffer 2 of 2", "lights", one, one], "names of operations")
    equal([run.text(launch.name) for launch in sorted(run["launch"], key=lambda launch: launch.start_ns)],
          [one, "shadows", "submit, 2 command buffers", "lights", one, one], "names of launches")
    equal(run.said("again"), [["1"]], "a freed command buffer's handle came again")
    check(run.text(run["stream"][-1].name).startswith("the queue, family 0 queue 0"), "name of the queue")
    ranges = [(range.kind, run.text(range.text), run.text(range.domain), range.color) for range in run["range"]]
    equal(ranges, [(1, "frame", "Vulkan", 0xffff8000), (5, "mark", "Vulkan", 0), (2, "", "Vulkan", 0)], "ranges")
    equal(Recorded("names")["range"], [], "ranges that were not asked for")
    equals_bare(run, "names")


def test_refused():
    """a device that cannot be made is refused as ever"""
    equals_bare(Recorded("refused"), "refused")


def test_visible():
    """functions of extensions that gpumon has switched on are not there for the program"""
    for old in ({}, {"PROGRAM_OLD": "1"}):
        equals_bare(Recorded("visible", **old), "visible", **old)


def test_layers_of_the_user():
    """layers that the environment names stay, in front of gpumon's, and so do their folders"""
    for path in ("VK_ADD_LAYER_PATH", "VK_LAYER_PATH"):
        run = capture.Capture(program=["/usr/bin/env"], status=None, expect=None,
                              **{"VK_INSTANCE_LAYERS": "VK_LAYER_of_user", path: "/of/user"})
        found = dict(line.split("=", 1) for line in run.output.splitlines() if line.startswith("VK_"))
        equal(found, {"VK_INSTANCE_LAYERS": f"VK_LAYER_of_user:{OUR_LAYER}",
                      path: f"/of/user:{capture.objects}/gpumon-vulkan"}, "variables")


def test_validation():
    """validation finds nothing, with gpumon's layer below it and above it"""
    if not os.path.exists(VALIDATION):
        raise Skip("no validation layer (vulkan-validationlayers)")
    layer = "VK_LAYER_KHRONOS_validation"
    # With the picture's objects left, the layer has something to say.
    for words in (("threads", 40), ("kinds",), ("two",), ("names",), ("recorded", 2), ("picture", 1)):
        expected = messages(bare(*words, PROGRAM_LAYER=layer).stdout)
        equal(bool(expected), words[0] == "picture", f"messages of {words} without gpumon: {expected}")
        for where in ({"PROGRAM_LAYER": layer}, {"VK_INSTANCE_LAYERS": layer}) if words[0] == "kinds" else ({"PROGRAM_LAYER": layer},):
            run = Recorded(*words, **where)
            equal(messages(run.output + run.done.stderr), expected, f"messages of {words} with {where}")
    for where in ({"PROGRAM_LAYER": layer}, {"VK_INSTANCE_LAYERS": layer}):
        run = Recorded("passes", 2, options=["--passes"], **where)
        equal(messages(run.output + run.done.stderr), set(), f"messages of passes with {where}")
