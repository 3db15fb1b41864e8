# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Recording the program of the tests, beside the account that it gives of itself."""
import collections
import json
import os
import re
import subprocess

import capture
import chunks
from capture import LIMIT, Capture, check, contains, equal

OUR_LAYER = "VK_LAYER_gpumon_inject"
VULKAN = 4 << 24
VALIDATION = "/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json"
# Extensions that the layer of these tests brings with BELOW=presents.
PRESENTS = ("VK_KHR_present_id", "VK_KHR_present_wait", "VK_GOOGLE_display_timing")
# With BELOW=screen, of the instance and of the device.
SCREEN = ("VK_KHR_surface", "VK_EXT_headless_surface"), PRESENTS + ("VK_KHR_swapchain",)


def variables(**more):
    # What the driver compiles is the same in each run.
    return {"MESA_SHADER_CACHE_DIR": f"{capture.objects}/mesa-cache", **more}


def bare(*words, program="program", limit=LIMIT, **more):
    return subprocess.run([f"{capture.objects}/{program}", *map(str, words)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=limit,
                          env=capture.environment(**variables(**more)))


def below(words, **more):
    """Variables for the layer of these tests below gpumon's."""
    folder = f"{capture.objects}/below"
    os.makedirs(folder, exist_ok=True)
    of_instance, of_device = ([{"name": name, "spec_version": "1"} for name in names]
                              for names in (SCREEN if words == "screen" else ((), PRESENTS)))
    manifest = {"file_format_version": "1.2.0",
                "layer": {"name": "VK_LAYER_gpumon_below", "type": "GLOBAL", "library_path": f"{capture.objects}/libbelow.so",
                          "api_version": "1.3.0", "implementation_version": "1", "description": "of tests",
                          "instance_extensions": of_instance, "device_extensions": of_device}}
    with open(f"{folder}/{os.getpid()}.json", "w", encoding="ascii") as file:
        json.dump(manifest, file)
    os.replace(f"{folder}/{os.getpid()}.json", f"{folder}/below.json")
    return {"PROGRAM_LAYER": "VK_LAYER_gpumon_below", "BELOW": words, "VK_ADD_LAYER_PATH": folder, **more}


def messages(output):
    """Their identifiers."""
    return set(re.findall(r"(?:VUID|UNASSIGNED|SYNC)-[\w-]+", output))


class Submission(collections.namedtuple("Submission", "thread buffers begin end")):
    """A line of the program's account."""


class Recorded(Capture):
    """A run of the program."""

    def __init__(self, *words, **more):
        super().__init__(*words, **variables(**more))
        self.account = [Submission(*map(int, line)) for line in self.said("submission")]

    def results(self):
        """What the program computed."""
        return sorted(line for line in self.output.splitlines() if line.split()[0] not in ("submission", "cost"))

    def notes(self):
        return [self.text(note.text) for note in self["note"]]

    def of_launch(self):
        """Operations by the correlation of their launch."""
        found = collections.defaultdict(list)
        for work in self["kernel"]:
            found[work.correlation].append(work)
        return found

    def equals_account(self, flags=0):
        """Each submission is there once, in the order of its thread, with an operation for each command buffer."""
        works, launches = self.of_launch(), collections.defaultdict(list)
        for launch in sorted(self["launch"], key=lambda launch: launch.start_ns):
            launches[launch.tid].append(launch)
        equal(len(self["launch"]), len(self.account), "submissions")
        for one in self.account:
            launch = launches[one.thread].pop(0)
            check(one.begin <= launch.start_ns <= launch.end_ns, f"the call {launch} is not in {one}")
            self.equals_submission(one, launch, works.pop(launch.correlation, []), flags)
        equal(works, {}, "operations without a submission")
        equal(self["loss"], [], "losses")
        return self

    def equals_submission(self, one, launch, works, flags):
        # More than 16 in a batch are one.
        names = ["submit, 1 command buffer"] if one.buffers == 1 else \
            [f"submit, {one.buffers} command buffers"] if one.buffers > 16 else None
        equal(len(works), 1 if one.buffers > 16 else one.buffers, f"operations of {one}")
        if names:
            equal([self.text(work.name) for work in works], names, f"names of {one}")
        error = max((clock.error_ns for clock in self["clock"]), default=0) + 1000
        for work in works:
            equal((work.flags, work.context, work.device >> 24), (flags, launch.context, 4), f"operation of {one}")
            if flags:
                equal((work.start_ns, work.end_ns), (0, 0), "times")
            else:
                check(launch.start_ns - error <= work.start_ns <= work.end_ns <= one.end + error,
                      f"times of {work} are not in {one}, error {error}")

    def clock_is_before_times(self):
        """The first clock was written before the operations of its thread."""
        first = min(self["clock"], key=lambda clock: clock.time_ns)
        for file in self.files():
            data, at, kernels = file.read_bytes(), 0, collections.Counter()
            while found := chunks.chunk_at(data, at):
                thread, _, records, at = found
                for kind, flags, record in chunks.records_in(records):
                    what = capture.NAMES.get(kind)
                    kernels[thread] += what == "kernel"
                    if what == "clock" and capture.Record(what, flags, record).time_ns == first.time_ns:
                        equal(kernels[thread], 0, "operations before the first clock")
                        return
        check(False, f"{first} is in no file")

    def names_of_operations(self):
        """For each submission those of its operations, in order of their begin."""
        works = self.of_launch()
        return [[self.text(work.name) for work in sorted(works[launch.correlation], key=lambda work: (work.start_ns, work.end_ns))]
                for launch in sorted(self["launch"], key=lambda launch: launch.start_ns)]

    def equals_passes(self, count):
        """What the program's mode passes does, with times."""
        labelled = ["shadows: dispatch 64x1x1", "shadows: barrier", "fill of a buffer", "barrier", "copy of a buffer", "barrier"]
        equal(self.names_of_operations(), count * [labelled] + [70 * ["dispatch 64x1x1", "barrier"]] +
              [["dispatch 64x1x1", "barrier", "submit, command buffer 2 of 2"], ["submit, 1 command buffer"]], "operations")
        works, error = self.of_launch(), max(clock.error_ns for clock in self["clock"]) + 1000
        for one, launch in zip(self.account, sorted(self["launch"], key=lambda launch: launch.start_ns)):
            for work in works[launch.correlation]:
                equal((work.flags, work.context), (0, launch.context), "operation")
                check(launch.start_ns - error <= work.start_ns <= work.end_ns <= one.end + error, f"{work} is not in {one}")
        equal(self["loss"], [], "losses")
        contains("\n".join(self.notes()), "SIMULTANEOUS_USE", "note")
        return self

    def are_in_order(self):
        """Operations of a queue follow one another on lavapipe."""
        for stream in {work.stream for work in self["kernel"]}:
            works = sorted((work for work in self["kernel"] if work.stream == stream), key=lambda work: work.start_ns)
            for first, second in zip(works, works[1:]):
                check(first.end_ns <= second.start_ns and first.correlation <= second.correlation,
                      f"{first} is not before {second}")
        return self
