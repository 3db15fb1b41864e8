# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What the tests of this folder have in common."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from protobuf import Message  # noqa: E402,F401
from verdict import SLOWER, Skip, equal  # noqa: E402,F401

# Folder with the output of produce, set by run.
files = None
# gpumon-user, set by run.
program = None


def test(function):
    function.is_test = True
    return function
