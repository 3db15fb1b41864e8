# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Programs that show images on an X server: swapchains and presents, against what the program counted itself."""
import collections
import json
import os
import subprocess
import threading

import capture
from capture import LIMIT, Capture, Skip, check, contains, equal
from recorded import OUR_LAYER, VALIDATION, VULKAN, bare, below, messages, variables

PRESENT_FAILED = 1
Chain = collections.namedtuple("Chain", "id old width height images mode begin end")
Present = collections.namedtuple("Present", "thread swapchain number image id begin end result")


class Shown(Capture):
    """A run of the program that shows images."""

    def __init__(self, *words, **more):
        if "DISPLAY" not in os.environ:
            raise Skip("no X server (xvfb)")
        super().__init__(*words, program=[f"{capture.objects}/present"], **variables(**more))
        self.chains = [Chain(*map(int, line)) for line in self.said("swapchain")]
        self.presents = [Present(*map(int, line)) for line in self.said("present")]

    def equals_account(self):
        """Each swapchain and each present is there once, as the program saw it, and within its own times."""
        equal(len(self["swapchain"]), len(self.chains), "swapchains")
        for record, one in zip(sorted(self["swapchain"], key=lambda record: record.id), self.chains):
            equal((record.id, record.old, record.width, record.height, record.images, record.mode),
                  (VULKAN | one.id, VULKAN | one.old if one.old else 0, *one[2:6]), "swapchain")
            check(one.begin <= record.time_ns <= one.end, f"time of {record}, {one}")
        records = {(record.swapchain, record.number): record for record in self["present"]}
        equal(len(self["present"]), len(self.presents), "presents")
        for one in self.presents:
            record = records.pop((VULKAN | one.swapchain, one.number), None)
            check(record, f"{one} was not recorded")
            equal((record.tid, record.image, record.present, record.result, record.flags),
                  (one.thread, one.image, one.id, one.result, PRESENT_FAILED if one.result < 0 else 0), f"{one}")
            check(one.begin <= record.start_ns <= record.end_ns <= one.end, f"times of {record}, {one}")
            equal(self.text(record.function), "vkQueuePresentKHR", "function")
        equal(records, {}, "presents that the program did not make")
        equal(self["loss"], [], "losses")
        return self

    def have_calls(self):
        """The call of each present is there, with the same times and stack."""
        calls = {call.correlation: call for call in self["call"]}
        for record in self["present"]:
            call = calls[record.correlation]
            equal((self.text(call.function), call.start_ns, call.end_ns, call.tid, call.stack, call.flags),
                  ("vkQueuePresentKHR", record.start_ns, record.end_ns, record.tid, record.stack, 1), "call")
            check(record.stack, "a present without a stack")
        return self


def equals_bare(run, *words, **more):
    """The program ends as it does without gpumon, and has as many swapchains and presents."""
    alone = bare(*words, program="present", **more)
    equal(alone.returncode, 0, f"status without gpumon: {alone.stdout[-300:]}")
    firsts = [collections.Counter(line.split()[0] for line in output.splitlines()) for output in (run.output, alone.stdout)]
    equal(firsts[0], firsts[1], "lines")


def test_presents():
    """two threads with a swapchain each, made anew half-way: each present is there, with its number, image, times and path"""
    run = Shown("threads", 30).equals_account().have_calls()
    equal(len(run.presents), 60, "presents")
    equal(len({one.thread for one in run.presents}), 2, "threads")
    equals_bare(run, "threads", 30)
    fills = {launch.correlation for launch in run["launch"]}
    equal(len(fills), 60, "submissions")
    contains(run.summary(), "Vulkan", "summary")


def test_one_call():
    """a call that presents two images is two presents of one call"""
    run = Shown("both", 5).equals_account().have_calls()
    equal({count for count in collections.Counter(record.correlation for record in run["present"]).values()}, {2}, "of a call")


def test_swapchain_storm():
    """many swapchains one after the other: each takes the place of the one before"""
    run = Shown("storm", 60).equals_account()
    equal(len(run["swapchain"]), 60, "swapchains")


def test_presents_without_waits():
    """with --no-blocking presents have no calls, and their paths all the same"""
    run = Shown("threads", 4, options=["--no-blocking"]).equals_account()
    equal({(record.correlation, bool(record.stack)) for record in run["present"]}, {(0, True)}, "calls, stacks")


def test_presents_of_a_running_program():
    """a program that shows images already: its swapchains are there, and numbers of presents go on"""
    env = capture.environment(**variables(VK_INSTANCE_LAYERS=OUR_LAYER, VK_ADD_LAYER_PATH=f"{capture.objects}/gpumon-vulkan"))
    if "DISPLAY" not in os.environ:
        raise Skip("no X server (xvfb)")
    with subprocess.Popen([f"{capture.objects}/present", "threads", "1000000"], env=env, stdout=subprocess.PIPE, text=True) as process:
        for _ in range(20):
            process.stdout.readline()
        reader = threading.Thread(target=process.stdout.read)
        reader.start()
        try:
            run = Capture(pid=process.pid, launches=100)
        finally:
            process.kill()
            reader.join()
    equal(sorted(record.id for record in run["swapchain"]), [VULKAN | 1, VULKAN | 2], "swapchains")
    for chain in (VULKAN | 1, VULKAN | 2):
        numbers = sorted(record.number for record in run["present"] if record.swapchain == chain)
        check(numbers and numbers[0] > 1, f"numbers of {chain} begin anew")
        equal(numbers, list(range(numbers[0], numbers[0] + len(numbers))), f"numbers of {chain}")


def test_present_that_fails():
    """a present that the driver refuses is there and marked"""
    run = Shown("lost", 5, **below("refuse-present=5"))
    equal(run.presents[-1].result, -1000000000, "what the program saw")
    run.equals_account()


def test_shown():
    """when images were on the screen, as the driver tells the program; waits for that are waits"""
    run = Shown("timed", 6, **below("presents")).equals_account()
    told = sorted((int(swapchain) | VULKAN, int(number), int(time)) for swapchain, number, time in run.said("shown"))
    equal(len(told), 6, "times that the program was told")
    equal(sorted((record.swapchain, record.number, record.shown_ns) for record in run["shown"] if not record.flags), told,
          "times")
    waits = [call for call in run["call"] if run.text(call.function) == "vkWaitForPresentKHR"]
    equal(len(waits), 6, "waits")
    check(all(call.flags == 1 and call.stack for call in waits), f"waits {waits}")
    seen = [record for record in run["shown"] if record.flags]
    equal([record.present for record in seen], [int(present.id) for present in run.presents], "presents that were waited for")
    check(all(wait.start_ns <= record.shown_ns <= wait.end_ns for wait, record in zip(waits, seen)),
          f"times of waits {waits}, {seen}")
    frames = json.loads(subprocess.run([capture.tool, "frames", "--json", run.path], stdout=subprocess.PIPE, check=True,
                                       timeout=LIMIT).stdout)
    equal([chain["shown"] for chain in frames["swapchains"]], [5], "frames whose image was on the screen")


def test_present_validation():
    """validation finds nothing, with gpumon's layer below it and above it"""
    layer = "VK_LAYER_KHRONOS_validation"
    if not os.path.exists(VALIDATION):
        raise Skip("no validation layer (vulkan-validationlayers)")
    equal(messages(bare("threads", 6, program="present", PROGRAM_LAYER=layer).stdout), set(), "messages without gpumon")
    for where in ({"PROGRAM_LAYER": layer}, {"VK_INSTANCE_LAYERS": layer}):
        run = Shown("threads", 6, **where).equals_account()
        equal(messages(run.output + run.done.stderr), set(), f"messages with {where}")
