# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Recording the program of the tests, beside the account that it gives of itself."""
import collections
import subprocess

import capture
from capture import LIMIT, Capture, check, equal

OPENGL = 5 << 24


def variables(**more):
    # Mesa's software driver of OpenGL, not OpenGL over Vulkan. What it compiles is the same in each run.
    return {"LIBGL_ALWAYS_SOFTWARE": "1", "GALLIUM_DRIVER": "llvmpipe",
            "MESA_SHADER_CACHE_DIR": f"{capture.objects}/mesa-cache", **more}


def bare(*words, **more):
    return subprocess.run([f"{capture.objects}/program", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False, timeout=LIMIT, env=capture.environment(**variables(**more)))


def with_gl(more):
    return {**variables(**more), "options": ("--gl", *more.get("options", ()))}


class Swap(collections.namedtuple("Swap", "thread surface begin end")):
    """A line of the program's account."""


def results(output):
    """All but the numbers that are others in each run."""
    return sorted(line for line in output.splitlines() if line.split()[0] != "swap")


class Recorded(Capture):
    """A run of the program."""

    def __init__(self, *words, **more):
        super().__init__(*words, **with_gl(more))
        self.account = [Swap(*map(int, line)) for line in self.said("swap")]

    def equals_bare(self, *words, **more):
        alone = bare(*words, **more)
        equal(alone.returncode, 0, f"status without gpumon: {alone.stderr[-300:]}")
        equal(results(self.output), results(alone.stdout), "what the program says")
        return self

    def functions(self):
        return collections.Counter(self.text(present.function) for present in self["present"])

    def equals_account(self):
        """Each swap is there once, in its time, with its number, its path and its call."""
        equal(len(self["present"]), len(self.account), "presents")
        equal(len(self["call"]), len(self.account), "calls")
        of_thread, numbers = collections.defaultdict(list), collections.Counter()
        for present in sorted(self["present"], key=lambda present: present.start_ns):
            of_thread[present.tid].append(present)
        calls = {call.correlation: call for call in self["call"]}
        stacks = {stack.id for stack in self["stack"]}
        surfaces = {}
        for swap in self.account:
            present = of_thread[swap.thread].pop(0)
            check(swap.begin <= present.start_ns <= present.end_ns <= swap.end, f"{present} is not in {swap}")
            # The numbers of surfaces are in the order in which they were first seen.
            equal(surfaces.setdefault(present.swapchain, swap.surface), swap.surface, f"surface of {present}")
            numbers[present.swapchain] += 1
            equal((present.number, present.flags, present.result, present.image, present.present),
                  (numbers[present.swapchain], 0, 0, 2**32 - 1, 0), "number, flags, result, image")
            check(present.stack in stacks, f"{present} has no path")
            call = calls.pop(present.correlation)
            equal((call.flags, call.start_ns, call.end_ns, call.tid, call.stack, call.function, call.context),
                  (1, present.start_ns, present.end_ns, present.tid, present.stack, present.function, OPENGL), "call")
        chains = self["swapchain"]
        equal(sorted(chain.id for chain in chains), sorted(OPENGL | i + 1 for i in range(len(surfaces))), "swapchains")
        equal({chain.id for chain in chains}, set(surfaces), "swapchains with presents")
        equal({(chain.old, chain.images, chain.mode) for chain in chains}, {(0, 0, 2**32 - 1)}, "what is not known")
        equal(self["loss"], [], "losses")
        api, = self["api"]
        equal((api.api, self.text(api.name), self.text(api.version), api.platform), (5, "OpenGL", "", 0), "API")
        return self

    def innermost(self):
        """Functions that present, by the innermost frame of their paths: (path of the file, offset in it)."""
        found = collections.Counter()
        stacks = {stack.id: stack for stack in self["stack"]}
        for present in self["present"]:
            address = int.from_bytes(stacks[present.stack].tail[:8], "little")
            found.update(self.text(mapping.path).rsplit("/", 1)[-1] for mapping in self["mapping"]
                         if mapping.start <= address < mapping.end)
        return found
