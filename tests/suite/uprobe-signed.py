#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=arm64 timeout=300
"""Stacks at uprobes are whole although the return addresses in them are signed."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import uprobes
from lab import equal, step

uprobes.need()
for program in ("program", "program-fp"):
    step(program)
    run = uprobes.Run(program, 2, 50)
    run.start()
    dump = run.dump()
    run.go()
    seen = run.end(dump)
    uprobes.check_exact(run, seen)
    equal([stack for stack in seen.stacks.values() if stack["truncated"]], [], "stacks that are cut")
