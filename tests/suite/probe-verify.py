#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest tool timeout=600 deep-timeout=900
"""Programs for the GPU that gpumon's verifier accepts, the kernel's accepts, too. Run by the kernel and as
PTX, they do the same."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
from lab import equal, step

# QEMU takes some 15 ms for each.
RUN = 10000 if os.environ.get("GPUMON_DEEP") else 1000
# The same programs each time: which the kernel follows less closely depends on them.
PROGRAMS = 1500
SEED = 26

step("written and random programs, by both verifiers")
done = lab.run(os.path.join(lab.BUILD, "tests/probe/kernel_check"), str(PROGRAMS), str(SEED),
               timeout=600, check_=False)
print(done.stdout)
equal(done.returncode, 0, "exit status")

step("random programs, run by the kernel and as PTX")
done = lab.run(os.path.join(lab.BUILD, "tests/probe/kernel_run"), str(RUN), timeout=600,
               check_=False)
print(done.stdout)
equal(done.returncode, 0, "exit status")
