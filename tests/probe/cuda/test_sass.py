# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Programs by patches of machine code, with a stand-in for NVIDIA's sanitizer."""
import os

import images
import kit
from images import LIMIT, text
from kit import Folder, contains, equal

FIRST = ("launch", "first", "1x32")
SECOND = ("launch", "second", "1x32")


def sass(*words, options=(), ptxas="ptxas", sanitizer="libsanitizer-public.so", tool="count", image=None, **more):
    """A run with --sass; IMAGE stands for a cubin with two kernels."""
    with Folder() as folder:
        path = folder.write("image", image or folder.cubin(text("first", "second")))
        return folder.probe(*[path if word == "IMAGE" else word for word in words], tool=tool,
                            options=("--sass", "--ptxas", os.path.join(kit.objects, ptxas), "--sanitizer",
                                     os.path.join(kit.objects, sanitizer), *options), **more)


def expect(result, kernel, launches, threads, blocks=1):
    equal(result.kernels[kernel]["way"], "sass", f"way of {kernel}")
    for table in "entries", "exits", "kept":
        equal(result.counts(table).get(kernel), launches * threads, table)
    equal(result.counts("bytes").get(kernel), launches * min(threads, LIMIT) * 8, "bytes")
    equal({cause: n for cause, n in result.lost.items() if n}, {}, "losses")


def test_sass_cubin():
    """a kernel without PTX; the other way cannot do that"""
    result = sass("context", "load", "data", "IMAGE", "launch", "first", "2x64*3", *SECOND)
    expect(result, "first", 3, 128)
    expect(result, "second", 1, 32)
    contains(result.errors, "machine code (SASS) of 2 kernels was patched, as --sass says, by ", "the way")


def test_sass_ptx():
    """PTX is machine code when it is loaded"""
    expect(sass("context", "load", "data", "IMAGE", *FIRST, image=text("first")), "first", 1, 32)


def test_sass_file_and_container():
    expect(sass("context", "load", "file", "IMAGE", *FIRST), "first", 1, 32)
    expect(sass("context", "load", "fat-binary", "IMAGE", *FIRST,
                image=images.container(images.ptx_entry(text("first")))), "first", 1, 32)


def test_sass_pattern():
    """a kernel that was not asked for is in a patched module, and runs without programs"""
    result = sass("context", "load", "data", "IMAGE", *FIRST, *SECOND, options=("-k", "sec*"))
    equal(list(result.kernels), ["second"], "kernels")
    expect(result, "second", 1, 32)


def test_sass_nothing_wanted():
    result = sass("context", "load", "data", "IMAGE", *FIRST, options=("-k", "third"))
    equal(result.kernels, {}, "kernels")
    contains(result.errors, "none of the kernels that were asked for came up in 1 image", "messages")


def test_sass_two_contexts():
    expect(sass("context", "load", "data", "IMAGE", *FIRST, "context", "load", "data", "IMAGE", *FIRST, "destroy",
                "use", 0, *FIRST), "first", 3, 32)


def test_sass_churn():
    """modules come and go, and their handles come again"""
    expect(sass("context", "churn", 20, "IMAGE", "first", "1x32"), "first", 20, 32)


def test_sass_sample():
    """blocks 0, 4 and 8 of 10"""
    result = sass("context", "load", "data", "IMAGE", "launch", "first", "10x8", options=("--sample", "1/4"))
    equal(result.counts("entries"), {"first": 24}, "entries")
    contains(result.errors, "programs ran in 1 of 4 blocks", "messages")


def test_sass_ends():
    """what is there when the program ends at once"""
    result = sass("context", "load", "data", "IMAGE", *FIRST, "wait", "_exit", 5)
    equal(result.status, 5, "status")
    expect(result, "first", 1, 32)


def test_sass_capture():
    result = sass("context", "load", "data", "IMAGE", "graph", "first", "1x32*3")
    contains(result.printed, "first: 0, sum 192", "the graph's result")
    expect(result, "first", 6, 32)


def unable(message, way="not_patched", **more):
    """The program does what it does alone, and the status says that nothing was possible."""
    with Folder() as folder:
        path = folder.write("image", folder.cubin(text("first")))
        plain = folder.alone("context", "load", "data", path, *FIRST)
    result = sass("context", "load", "data", "IMAGE", *FIRST, changes=True, **more)
    equal(result.printed, plain[1], "the program's output")
    equal(result.status, 77, f"status ({result.errors})")
    contains(result.errors, message, "messages")
    equal({kernel["way"] for kernel in result.kernels.values()}, {way} if way else set(), "ways")
    equal(result.counts("entries"), {}, "entries")


def test_sass_busy():
    unable("another tool holds the sanitizer or CUPTI", way=None, MOCK_SANITIZER_BUSY=1)


def test_sass_functions_refused():
    unable("the sanitizer refuses the programs (error 1)", MOCK_SANITIZER_REFUSE=1)


def test_sass_module_refused():
    unable("cannot be patched (error 1 of the sanitizer)", MOCK_SANITIZER_MODULE=1)


def test_sass_no_data():
    """a patched kernel that gets no maps counts nothing, and does not count as one with programs"""
    for setting in {"MOCK_SANITIZER_DATA": 1}, {"MOCK_FREE_MIB": 0}:
        result = sass("context", "load", "data", "IMAGE", *FIRST, *SECOND, **setting)
        contains(result.errors, "could not be given its maps: it is not counted", f"messages with {setting}")
        equal({kernel["way"] for kernel in result.kernels.values()}, {"not_patched"}, f"ways with {setting}")
        equal(result.rows("entries_by_kernel"), [], f"entries with {setting}")


def test_sass_no_library():
    """a file that is none"""
    unable("the sanitizer's library cannot be loaded", way=None, sanitizer="shared.bpf.o")
    unable("libcuda.so.1 has no sanitizerSubscribe", way=None, sanitizer="libcuda.so.1")


def test_sass_no_assembler():
    unable("cannot assemble the programs for sm_", ptxas="program")
    path = os.path.join(kit.objects, "ptxas-fails")
    for says, message in ("only this", "(only this)"), ("first\\nsecond", "(first)"), ("", "(it says nothing)"):
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nprintf '{says}'\nexit 1\n")
        os.chmod(path, 0o755)
        unable(message, ptxas="ptxas-fails")


def refused(message, *options, status=77, tool="count"):
    """Before the program is run."""
    with Folder() as folder:
        done = folder.finish(folder.start([kit.program, "probe", *options, os.path.join(kit.objects, tool + ".bpf.o"),
                                           "--", "/bin/sh", "-c", "echo ran"]))
    equal(done[0], status, f"status ({done[2]})")
    equal(done[1], "", "output")
    contains(done[2], message, "messages")


def test_sass_refused():
    library = os.path.join(kit.objects, "libsanitizer-public.so")
    refused("/nonexistent cannot be read", "--sass", "--sanitizer", "/nonexistent")
    refused("/nonexistent cannot be run", "--sass", "--sanitizer", library, "--ptxas", "/nonexistent")
    refused("no places for device functions", "--sass", status=1, tool="function")
    refused("--sample is 1/N", "--sass", "--sample", "16", status=2)
    refused("--sample needs --sass", "--sample", "1/16", status=2)
    refused("need --kernel or --sass", "--ptxas", "/nonexistent", status=2)
