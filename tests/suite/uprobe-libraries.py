#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel tool timeout=120
# vm: kernels=6.12
"""Real libraries: Vulkan (lavapipe), Level Zero's loader with a driver of tests/uprobe, HIP without a
device. Each call of a program is a hit, once, with its stack; also where a Vulkan program calls the
driver by the addresses of vkGetDeviceProcAddr. uprobe-opencl.py has OpenCL."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import uprobe_real
import uprobes
from lab import check, step

uprobe_real.need("real-hip", "real-level-zero", "real-vulkan")
uprobe_real.record("real-hip")
uprobe_real.record("real-level-zero")
for mode in ("direct", "pointers", "late"):
    seen = uprobe_real.record("real-vulkan", mode)
    # The loader's functions jump to the driver's, which are probed as well. The driver's
    # vkDeviceWaitIdle calls its vkQueueWaitIdle.
    nested = seen.counts["nested"]
    check(nested >= seen.total() if mode == "direct" else nested <= uprobe_real.ROUNDS,
          "%d nested" % nested)
    check(not any("no device" in n for n in seen.notes()), "notes: %s" % seen.notes())

step("no device yet: a note says what cannot be seen")
run = uprobe_real.Real("real-vulkan", "late")
run.start(env=dict(os.environ, **uprobe_real.PROGRAMS["real-vulkan"][1]))
dump = run.dump()
dump.terminate()
seen = uprobes.read(dump)
run.process.kill()
check(any("no device" in n for n in seen.notes()), "notes: %s" % seen.notes())
