#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=full tool timeout=400
# vm: kernels=6.1,6.12
"""OpenCL by ocl-icd and pocl, whose compiler takes a while in a VM: each call of a program is a hit,
once, with its stack."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import uprobe_real

uprobe_real.need("real-opencl")
uprobe_real.record("real-opencl")
