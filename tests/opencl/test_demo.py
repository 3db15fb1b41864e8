# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The program of `make demo`, which a user sees first: Python with pyopencl."""
import collections

from capture import HERE, Capture, Skip, check, contains, equal

PICTURE = HERE / "../demo/picture.py"


def test_demo():
    """each kernel by its name, with the Python functions that launched it"""
    try:
        import pyopencl  # noqa: F401
    except ImportError:
        raise Skip("no pyopencl (python3-pyopencl)") from None
    run = Capture(256, program=[str(PICTURE)]).all_have_stacks().all_have_times()
    contains(run.output, "all results are right", "output")
    check("Warning" not in run.done.stderr, f"the program warns: {run.done.stderr}")
    equal(collections.Counter(run.text(kernel.name) for kernel in run["kernel"]),
          {"blur_rows": 3, "blur_columns": 3, "find_edges": 4, "sum_groups": 5, "multiply_simple": 3,
           "multiply_tiles": 3}, "kernels")
    equal((len(run["copy"]), len(run["loss"])), (20, 0), "copies, losses")
    paths = run.summary()
    for path in ("multiply_matrices picture.py", "blur_picture picture.py", "Nothing is missing"):
        check(path in paths, f"{path!r} is not in the tables: {paths}")
