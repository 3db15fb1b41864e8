# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Uprobes on programs of real libraries (tests/uprobe/real), which count their calls themselves."""
import glob
import os

import uprobes
from lab import check, equal, skip, step, until

ROUNDS = 20
# The library whose functions are probed, and what else a program needs to run.
PROGRAMS = {"real-opencl": ("libOpenCL.so", {}),
            "real-vulkan": ("libvulkan.so",
                            {"VK_ICD_FILENAMES": "".join(glob.glob(
                                "/usr/share/vulkan/icd.d/lvp_icd*.json"))}),
            "real-level-zero": ("libze_loader.so",
                                {"ZE_ENABLE_ALT_DRIVERS":
                                 os.path.join(uprobes.OUT, "libze_test.so")}),
            "real-hip": ("libamdhip64.so", {})}
WAITS = ("Synchronize", "WaitIdle", "WaitForFences", "clFinish", "clWaitForEvents")


class Real(uprobes.Run):
    """A program of tests/uprobe/real."""

    def __init__(self, program, mode):
        super().__init__(program, 0, 0, "warm=0")
        self.work_file = os.path.join(self.folder, "work")
        self.command = [os.path.join(uprobes.OUT, program), str(ROUNDS), self.go_file, mode,
                        self.work_file]

    def work(self):
        open(self.work_file, "w").close()


def check_all(run, seen, library):
    """The hits are the program's calls."""
    counted = {t: {} for t in seen.hits}
    for tid, hits in seen.hits.items():
        for h in hits:
            counted[tid][h["name"]] = counted[tid].get(h["name"], 0) + 1
            if h["name"].endswith(WAITS):
                check(h["blocking"] and h["duration_ns"] > 0, "%s: no duration" % h["name"])
            frames = seen.stacks[h["stack"]]["frames"]
            check(any(0 < f - run.account["work"] < 8192 for f in frames[1:]),
                  "%s: work() is not in its stack" % h["name"])
        equal([h["number"] for h in hits], list(range(1, len(hits) + 1)), "numbers")
    equal(counted, {int(t): c for t, c in run.account["threads"].items()}, "calls")
    c = seen.counts
    equal(c["seen"], c["hits"] + c["nested"], "seen: %r" % c)
    equal((c["refused"], c["lost_ring"], c["lost_threads"], c["returns_unseen"]), (0, 0, 0, 0),
          "refused, lost: %s" % seen.notes())
    check(any("/%s." % library in n and " functions" in n for n in seen.notes()),
          "no note of the library: %s" % seen.notes())


def need(*programs):
    uprobes.need()
    missing = [p for p in programs if not os.path.exists(os.path.join(uprobes.OUT, p))]
    if missing:
        skip("not built, for want of their libraries: %s" % ", ".join(missing))


def record(program, mode=""):
    step("%s %s" % (program, mode))
    library, environment = PROGRAMS[program]
    run = Real(program, mode)
    run.start(env=dict(os.environ, **environment))
    dump = run.dump()
    run.go()
    if mode == "late":
        until(lambda: "libvulkan_lvp.so: " in open(dump.output).read(), "the driver is probed")
    run.work()
    seen = run.end(dump)
    check_all(run, seen, library)
    return seen
