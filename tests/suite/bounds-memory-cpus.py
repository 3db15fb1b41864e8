#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=full own-boot cpus=6 timeout=200
# vm: not-sanitised=KASAN adds to every allocation and keeps what was freed
"""The memory of each further CPU is what Documentation/reference/memory.md says: the same on six
CPUs.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import memory
from lab import equal, load_scheduler, step
from memory import PARAMETERS, SMALL

equal(os.sysconf("SC_NPROCESSORS_CONF"), 6, "processors")
load_scheduler()
memory.load(SMALL)
least, least_grown, _ = memory.load(SMALL)
default, _, _ = memory.load({})
measured = {}
for name, (_, most) in PARAMETERS.items():
    step("%s=%d" % (name, most))
    held, grown, _ = memory.load({name: most})
    measured[name] = held
    memory.compare("%s=%d" % (name, most), held - least, grown - least_grown)
step("the figures of Documentation/reference/memory.md")
memory.compare_figures(default, measured)
step("done")
