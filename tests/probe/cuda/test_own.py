# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Programs that are kernels of their own, and values that arrays have at first."""
import json
import os
import shutil

import kit
from images import IDLE, text
from kit import Folder, contains, equal


def own(*options, tool="own", **environment):
    """(status, output, errors)"""
    path = os.path.join(kit.objects, tool + ".bpf.o")
    if kit.SANITIZED:
        # gpumon-user itself loads the stand-in.
        environment = {"LD_PRELOAD": kit.sanitizer_runtime(), **environment}
    with Folder() as folder:
        return folder.finish(folder.start([kit.program, "probe", *options, path], **environment))


def tables(*options):
    status, out, errors = own("--json", *options)
    equal((status, errors), (0, ""), "status, messages")
    return {key: table["rows"] for key, table in json.loads(out)["tables"].items()}


def test_kernels():
    """each runs as often and as wide as it is asked to, in the order of the object"""
    found = tables("--grid", "3,1", "--block", "40", "--times", "2", "--set", "given[*]=5",
                   "--set", "given[7]=-2")
    equal([(r["program"], r["blocks"], r["threads"], r["times"]) for r in found["ran"]],
          [("double_them", 3, 40, 2), ("once_more", 3, 40, 2)], "what ran")
    equal([row["runs"] for row in found["runs"]], [240, 240], "runs by thread")
    equal([row["doubled"] for row in found["doubled"]],
          [2**32 - 2 if i == 7 else 12 for i in range(64)], "values")
    equal({row["text"] for row in found["printed"]}, {"process 1"}, "what was printed")


def test_refusals():
    """why nothing runs, in one line"""
    for options, environment, status, message in (
            ((), {"MOCK_DEVICES": 0}, 77, "no GPU can be used: no CUDA-capable device"),
            (("--gpu", "9"), {}, 1, "there is no GPU 9, the driver has 2"),
            ((), {"LD_LIBRARY_PATH": "/nowhere"}, 77, "there is no NVIDIA driver here"),
            ((), {"MOCK_FREE_MIB": 0}, 1, "0 MiB free, and the maps would take"),
            ((), {"MOCK_REFUSE": 1}, 1, "the driver does not load the programs"),
            (("--block", "1025"), {}, 2, "1 to 1024"),
            (("--block", "32,33"), {}, 2, "more than 1024 threads"),
            (("--grid", "1,"), {}, 2, "--grid"),
            (("--grid", "1,,2"), {}, 2, "--grid"),
            (("--grid", "1,1,1,1"), {}, 2, "--grid is X[,Y[,Z]]"),
            (("--set", "given[64]=1"), {}, 1, "its indexes are 0 to 63"),
            (("--set", "given[0]=4294967296"), {}, 1, "does not fit into 4 bytes"),
            (("--set", "given[0]=-2147483649"), {}, 1, "does not fit into 4 bytes"),
            (("--set", "runs[0]=1"), {}, 1, "only arrays can be set"),
            (("--set", "nothing[0]=1"), {}, 1, "no program for the GPU uses a map"),
            (("--set", "given=1"), {}, 1, "say MAP[INDEX]=NUMBER"),
            (("--set", "given[0]=x"), {}, 1, "say MAP[INDEX]=NUMBER")):
        got, out, errors = own(*options, **environment)
        equal((got, out, errors.count("\n")), (status, "", 1), f"{options} {environment}: {errors}")
        contains(errors, message, "message")
    got, out, errors = own(tool="ring")
    equal((got, out), (2, ""), "of an object without a kernel")
    contains(errors, "name a program to run after --", "message")


def test_set_beside_a_program():
    """contexts of a program begin with the values, also when many of them are added up"""
    with Folder() as folder:
        path = folder.write("image", text("first", form=IDLE))
        once = ["context", "load", "data", path, "launch", "first", "1x32", "wait", "destroy"]
        for contexts in 1, 20:
            result = folder.probe(*once * contexts, tool="own", options=("--set", "given[*]=3"))
            sums = {}
            for row in result.rows("given"):
                sums[row["index"]] = sums.get(row["index"], 0) + row["given"]
            equal(result.status, 0, "status")
            equal(result.rows("runs")[0]["runs"] > 0, True, "programs ran")
            equal(len(set(sums.values())), 1, f"values of {contexts} contexts: {sums}")


def test_shared_with_cpu():
    """an array is the same memory for a uprobe and for the GPU's programs, in each context"""
    with Folder() as folder:
        # A file of its own, as the uprobe is hit by all processes.
        copy = shutil.copy(os.path.join(kit.objects, "program"), folder.path)
        path = folder.write("image", text("first", form=IDLE))
        context, launch = ["context", "load", "data", path], ["launch", "first", "1x32", "wait"]
        status, out, errors = folder.finish(folder.start(
            [kit.program, "probe", "--json", "--set", "launches[0]=100", "--set", "step[0]=1", "--attach",
             f"launched={copy}:launch_in", os.path.join(kit.objects, "shared.bpf.o"), "--", copy, *context, *launch,
             *launch, *context, *launch]))
        if status == 77:
            raise kit.Skip(errors.strip())
        equal((status, errors), (0, ""), "status, messages")
        found = json.loads(out.splitlines()[-1])["tables"]
        equal([row["launches"] for row in found["launches"]["rows"]], [103, 30], "launches, on both sides")
        equal({row["index"]: row["seen"] for row in found["seen"]["rows"]}, {1: 101, 2: 102, 3: 103},
              "what the GPU has seen of the CPU's count")


def test_cpu_refusals():
    """programs for the CPU that cannot run, and why"""
    image = ["context"]
    with Folder() as folder:
        for options, status, message in (
                ((), 1, "say --attach launched=FILE:FUNCTION"),
                (("--attach", f"launched={kit.objects}/program:nothing"), 1, "launched is not attached"),
                (("--attach", "launched=x"), 1, "--attach launched=x: it names no function: say FILE:FUNCTION"),
                (("--attach", f"other={kit.objects}/program:launch_in"), 1, "--attach launched=FILE:FUNCTION"),
                (("--set", "nothing[0]=1"), 1, "the object has no array of this name"),
                (("--no-cpu",), 0, "")):
            done = folder.finish(folder.start([kit.program, "probe", *options, os.path.join(kit.objects, "shared.bpf.o"),
                                               "--", *folder.command(image)]))
            if done[0] == 77:
                raise kit.Skip(done[2].strip())
            equal(done[0], status, f"status of {options}: {done[2]}")
            contains(done[2], message, "message")
