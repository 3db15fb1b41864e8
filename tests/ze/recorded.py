# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Recording the program of the tests with the driver of the tests, and what that driver did."""
import os
import subprocess
import tempfile

import capture
from capture import LIMIT, Capture, check, equal, within

# 19.2 MHz: a time is known to one cycle.
CYCLE = 53


def variables(**more):
    # A sanitizer that looks for the order of libraries calls the dl_iterate_phdr() of the tests' programs too early.
    return {"ZE_ENABLE_ALT_DRIVERS": f"{capture.objects}/libze_test.so",
            "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0", **more}


class Recorded(Capture):
    """A run of the program, and the START and END of each command by the driver's own account."""

    def __init__(self, *words, **more):
        with tempfile.NamedTemporaryFile(dir=capture.objects, prefix="log-", mode="r") as log:
            super().__init__(*words, **{**variables(ZE_TEST_LOG=log.name), **more})
            lines = [line.split() for line in log]
        self.left = [line for line in lines if line[0] == "left"]
        self.ran = sorted((int(start), int(end)) for start, end in (line for line in lines if line[0] != "left"))

    def equal_times(self):
        """As the driver's, within the clock's stated error and a cycle."""
        clock = self["clock"][-1]
        works = sorted(((work.start_ns, work.end_ns) for work in self.works()))
        equal(len(works), len(self.ran), "operations with times")
        error = max(clock.error_ns for clock in self["clock"]) + 2 * CYCLE
        for (start, end), (true_start, true_end) in zip(works, self.ran):
            within(start, true_start - error, true_start + error, "start")
            within(end, true_end - error, true_end + error, "end")
            within(end - start, true_end - true_start - 2 * CYCLE, true_end - true_start + 2 * CYCLE, "duration")
        # The device's clock is 5,000 s ahead.
        within(clock.offset_ns, -5 * 10**12 - clock.error_ns - CYCLE, -5 * 10**12 + clock.error_ns + CYCLE, "offset")
        check(clock.source == 0 and clock.error_ns < 10**6, f"clock {clock}")
        return self

    def paths(self):
        """(functions from main on, operation) to how many, of all call paths."""
        nodes, paths = self.json()["nodes"], {}
        for node in nodes:
            if not node["count"]:
                continue
            path, up = [], node["parent"]
            while up is not None:
                path.insert(0, nodes[up]["name"])
                up = nodes[up]["parent"]
            key = (tuple(path[path.index("main"):]), node["name"])
            paths[key] = paths.get(key, 0) + node["count"]
        return paths


def bare(*words, **more):
    return subprocess.run([f"{capture.objects}/program", *map(str, words)], stdout=subprocess.PIPE, text=True,
                          check=False, timeout=LIMIT, env=capture.environment(**variables(**more)))
