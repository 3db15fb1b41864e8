# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Vulkan without a display: the program of tests/vulkan, recorded, against its own account."""
import functools
import json
import os
import shutil
import statistics
import subprocess
import sys

from programs import CAPTURES, DIR, GPUMON, HERE, LIBRARY, SCRATCH
from steps import Skip, check, equal, figure, note

for folder in ("../vulkan", "../opencl"):
    sys.path.append(os.path.join(HERE, folder))
import capture  # noqa: E402
import recorded  # noqa: E402
import test_stutter  # noqa: E402

CPU = 4
PAIRS = 10
# NVIDIA's own file names libGLX_nvidia.so.0, which refuses to start where there is neither X nor libEGL.so.1.
HEADLESS = {"file_format_version": "1.0.1", "ICD": {"library_path": "libEGL_nvidia.so.0", "api_version": "1.4.312"}}


@functools.lru_cache
def prepare():
    """The folder that the tests of tests/vulkan expect, and the device's name."""
    objects = os.path.join(SCRATCH, "vulkan")
    shutil.rmtree(objects, ignore_errors=True)
    os.makedirs(objects)
    for path in (LIBRARY, os.path.join(DIR, "gpumon-vulkan"), os.path.join(DIR, "vulkan", "program"),
                 os.path.join(DIR, "vulkan", "stutter"), os.path.join(DIR, "vulkan", "libbelow.so")):
        if not os.path.exists(path):
            raise Skip(f"no {path}: tests/device/carry {DIR} vulkan makes it")
        os.symlink(path, os.path.join(objects, os.path.basename(path)))
    capture.objects, capture.tool = objects, GPUMON
    loader = os.path.join(DIR, "vulkan", "lib")
    os.environ["LD_LIBRARY_PATH"] = ":".join(p for p in (os.environ.get("LD_LIBRARY_PATH"), loader) if p)
    if "VK_DRIVER_FILES" not in os.environ and "VK_ICD_FILENAMES" not in os.environ and not os.environ.get("GPUMON_VULKAN_CPU"):
        found = os.path.join(objects, "headless.json")
        with open(found, "w", encoding="utf-8") as file:
            json.dump(HEADLESS, file)
        # The second name is that of older loaders.
        os.environ["VK_DRIVER_FILES"] = os.environ["VK_ICD_FILENAMES"] = found
    done = recorded.bare("device")
    words = done.stdout.split(None, 4)
    if done.returncode or words[:1] != ["device"]:
        raise Skip(f"no Vulkan here: {done.stdout[-300:]}")
    return int(words[1]), int(words[2]), words[4].strip()


def begin():
    kind, queues, name = prepare()
    if kind == CPU and not os.environ.get("GPUMON_VULKAN_CPU"):
        raise Skip(f"{name} is a CPU (GPUMON_VULKAN_CPU=1: all the same)")
    return queues, name


def run(name, *words, **more):
    """The program, recorded: nothing is lost, and its results are those without gpumon."""
    found = recorded.Recorded(*words, **more)
    alone = recorded.bare(*words, **{key: value for key, value in more.items() if key.isupper()})
    equal(found.results(), sorted(line for line in alone.stdout.splitlines() if line.split()[0] != "submission"),
          f"{name}: results without gpumon")
    equal([(loss.cause, loss.count) for loss in found["loss"]], [], f"{name}: losses")
    figure(f"vulkan {name} notes", found.notes())
    return found


def accounted(name, found, flags=0):
    try:
        found.equals_account(flags)
    except AssertionError as error:
        check(False, f"{name}: each submission once, with times inside it", str(error)[-400:])
        return
    check(True, f"{name}: each of {len(found.account)} submissions once, with {len(found['kernel'])} times inside it")


def step_device():
    queues, name = begin()
    found = run("picture", "picture", 20)
    accounted("picture", found)
    device, clock = found["device"][0], found.clock()
    note(f"{name}, {queues} queues; {found.text(device.driver)}, vendor {found.text(device.vendor)}, pci {device.pci:#x}, "
         f"{device.memory_bytes >> 20} MiB, queue {found.text(found['stream'][0].name)}")
    errors = [one.error_ns for one in found["clock"]]
    note(f"clock: offset {clock.offset_ns} ns, error {min(errors)} to {max(errors)} ns, source {clock.source}")
    figure("vulkan clock error ns", max(errors))
    launches = {launch.correlation: launch for launch in found["launch"]}
    figure("vulkan picture ns", statistics.median(work.end_ns - work.start_ns for work in found["kernel"]))
    figure("vulkan latency ns", statistics.median(work.start_ns - launches[work.correlation].start_ns
                                                  for work in found["kernel"]))


def step_submissions():
    queues, _ = begin()
    found = run("threads", "threads", 300)
    accounted("threads", found)
    equal(len({work.stream for work in found["kernel"]}), min(2, queues), "threads: queues")
    found = run("kinds", "kinds")
    accounted("kinds", found)
    equal([found.text(launch.function) for launch in found["launch"]],
          ["vkQueueSubmit", "vkQueueSubmit", "vkQueueSubmit2"], "kinds: functions")
    os.makedirs(CAPTURES, exist_ok=True)
    shutil.copytree(found.path, os.path.join(CAPTURES, "vulkan-kinds"), dirs_exist_ok=True)
    accounted("Vulkan 1.0", run("old", "threads", 20, PROGRAM_OLD="1"))
    accounted("--no-times", recorded.Recorded("threads", 20, options=["--no-times"]), capture.UNTIMED)


def step_passes():
    begin()
    found = run("passes", "passes", 20, options=["--passes"])
    try:
        found.equals_passes(20)
        check(True, f"passes: {len(found['kernel'])} operations by name and order, with times inside their submissions")
    except AssertionError as error:
        check(False, "passes by name and order, with times inside their submissions", str(error)[-600:])
    times = [work.end_ns - work.start_ns for work in found["kernel"] if found.text(work.name) == "shadows: dispatch 64x1x1"]
    figure("vulkan dispatch ns", statistics.median(times))
    picture = run("picture with passes", "picture", 20, options=["--passes"])
    check({picture.text(work.name) for work in picture["kernel"]} == {"render pass 64x64x1", "copy of an image to a buffer"},
          "a render pass and a copy of each picture")
    os.makedirs(CAPTURES, exist_ok=True)
    shutil.copytree(found.path, os.path.join(CAPTURES, "vulkan-passes"), dirs_exist_ok=True)


def step_frames():
    """A swapchain without a display: each frame that is late by plan has its planted reason, but the display's."""
    begin()
    found = test_stutter.Stutter(HEADLESS="1", **recorded.below("screen"))
    equal([(loss.cause, loss.count) for loss in found["loss"]], [], "frames: losses")
    equal(sorted(one["reason"] for one in found.account["late"]), ["compile", "cpu", "gpu", "mutex", "queue", "read", "sleep"],
          "frames: planted reasons")
    equal(test_stutter.wrong(found), {}, "frames: late by plan, and another reason found")
    chain, = test_stutter.frames_of(found)["swapchains"]
    figure("vulkan frames by plan", found.account["late"])
    figure("vulkan frames", {key: chain[key] for key in ("frames", "late", "median_ns", "p99_ns", "longest_ns")})
    os.makedirs(CAPTURES, exist_ok=True)
    shutil.copytree(found.path, os.path.join(CAPTURES, "vulkan-frames"), dirs_exist_ok=True)


def step_many():
    begin()
    found = run("storm", "storm", 20000)
    equal((len(found["launch"]), len(found["kernel"])), (20000, 20000), "storm: launches, operations")
    flags = {flag: sum(work.flags == flag for work in found["kernel"]) for flag in {work.flags for work in found["kernel"]}}
    note(f"storm: operations by flags {flags}")
    check(flags.get(0, 0) + flags.get(capture.UNTIMED, 0) == 20000, "storm: no time is impossible, no end is missing", flags)
    figure("vulkan storm untimed", flags.get(capture.UNTIMED, 0))


def step_ends():
    begin()
    for mode in ("ends", "left"):
        accounted(mode, recorded.Recorded(mode))
    accounted("two devices", run("two", "two"))
    found = run("devices", "devices", 5)
    equal((len({work.context for work in found["kernel"]}), len(found["kernel"]), len(found["device"])), (5, 10, 1),
          "devices in turn: devices, operations, GPUs")
    run("refused", "refused")
    run("visible", "visible")
    # In a child of fork NVIDIA's driver fails, or never answers, with and without gpumon (580.159.04).
    try:
        is_usable = not recorded.bare("fork", limit=20).returncode
    except subprocess.TimeoutExpired:
        is_usable = False
    if not is_usable:
        note("fork: a child cannot use this driver, also without gpumon")
    else:
        equal(len(run("fork", "fork")["kernel"]), 4, "fork: operations")


def cost_of(output):
    return float(next(line.split()[1] for line in output.splitlines() if line.startswith("cost ")))


def step_cost():
    """In pairs: bare and recorded."""
    begin()
    for name, words in (("submission", ("cost", 5000)), ("frame of 1,000", ("frames", 30)),
                        ("frame of 1,000, recorded for each", ("recorded", 30))):
        bare, ours, without = [], [], []
        for _ in range(PAIRS):
            bare.append(cost_of(recorded.bare(*words).stdout))
            ours.append(cost_of(recorded.Recorded(*words).output))
            without.append(cost_of(recorded.Recorded(*words, options=["--no-stacks"]).output))
        added = [b - a for a, b in zip(bare, ours)]
        ratios = [b / a for a, b in zip(bare, ours)]
        note(f"{name}: bare {statistics.median(bare):.0f} ns, recorded {statistics.median(ours):.0f} ns, without stacks "
             f"{statistics.median(without):.0f} ns; added {statistics.median(added):.0f} ns, ratio "
             f"{statistics.median(ratios):.3f} (of {PAIRS} pairs)")
        figure(f"vulkan {name}", {"bare_ns": bare, "recorded_ns": ours, "no_stacks_ns": without})


STEPS = [("vulkan-device", step_device, 120), ("vulkan-submissions", step_submissions, 120),
         ("vulkan-passes", step_passes, 120), ("vulkan-frames", step_frames, 120), ("vulkan-many", step_many, 120), ("vulkan-ends", step_ends, 120),
         ("vulkan-cost", step_cost, 200)]
