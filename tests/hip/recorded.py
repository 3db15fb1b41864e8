# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Recording the program of the tests with the library of the tests, and what that library did."""
import os
import subprocess
import tempfile

import capture
from capture import LIMIT, Capture, check, equal, within

def variables(**more):
    # A sanitizer that looks for the order of libraries calls the dl_iterate_phdr() of the tests' programs too early.
    # The recorder preloads it only where there is AMD's driver.
    return {"LD_LIBRARY_PATH": str(capture.objects), "LD_PRELOAD": capture.preload(), "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0", **more}


class Recorded(Capture):
    """A run of the program, and begin and end of each operation by the library's own account."""

    def __init__(self, *words, version=602, **more):
        with tempfile.NamedTemporaryFile(dir=capture.objects, prefix="log-", mode="r") as log:
            super().__init__(*words, **{**variables(HIP_TEST_LOG=log.name, HIP_TEST_VERSION=str(version)), **more})
            self.ran = sorted((int(start), int(end)) for start, end in (line.split() for line in log))

    def equal_times(self):
        """As the library's, by the offset in the capture and within its error."""
        clock = self["clock"][-1]
        works = sorted((work.start_ns, work.end_ns) for work in self.works())
        equal(len(works), len(self.ran), "operations with times")
        for (start, end), (true_start, true_end) in zip(works, self.ran):
            within(start, true_start + clock.offset_ns - 2 * clock.error_ns - 1000,
                   true_start + clock.offset_ns + 2 * clock.error_ns + 1000, "start")
            equal(end - start, true_end - true_start, "duration")
        equal(clock.source, 3, "clock")
        check(clock.error_ns < 10**6, f"clock {clock}")
        return self


def bare(*words, version=602, **more):
    kept = capture.environment(**variables(HIP_TEST_VERSION=str(version), **more))
    kept.pop("LD_PRELOAD")
    return subprocess.run([os.path.join(capture.objects, "program"), *map(str, words)], stdout=subprocess.PIPE,
                          text=True, check=False, timeout=LIMIT, env=kept)
