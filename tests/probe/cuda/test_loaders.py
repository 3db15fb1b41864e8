# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Each way to load a module."""
import os
import struct

import images
from images import ADD, LIMIT, text
from kit import Folder, check, contains, equal

LOADERS = ("data", "data-ex", "fat-binary", "file", "link", "link-file", "library", "library-file")


def expect(result, kernel, launches, threads, form=ADD):
    """All numbers of a kernel in its launches with so many threads."""
    equal(result.kernels[kernel]["way"], "ptx", f"way of {kernel}")
    equal(result.counts("entries").get(kernel), launches * threads, "entries")
    equal(result.counts("exits").get(kernel), launches * threads, "exits")
    equal(result.counts("kept").get(kernel), launches * threads, "values that were kept")
    if form == ADD:
        equal(result.counts("bytes").get(kernel), launches * min(threads, LIMIT) * 8, "bytes")
    equal({cause: n for cause, n in result.lost.items() if n}, {}, "losses")


def forms(folder):
    """{name: (image, whether programs can be put into it)}"""
    ptx = text("first", "second")
    cubin = folder.cubin(ptx)
    return {
        "ptx": (ptx, True),
        "container": (images.container(images.ptx_entry(ptx)), True),
        "packed": (images.container(images.packed_entry(ptx)), True),
        "both": (images.container(images.elf_entry(cubin), images.ptx_entry(ptx)), True),
        "cubin": (cubin, False),
        "sass": (images.container(images.elf_entry(cubin)), False),
    }


def check_loader(how):
    with Folder() as folder:
        for name, (image, has_ptx) in forms(folder).items():
            path = folder.write(name, image)
            options = () if has_ptx else ("--kernel", "first", "--kernel", "sec*")
            result = folder.probe("context", "load", how, path, "launch", "first", "3x64*2",
                                  "launch", "second", "1x33", options=options)
            if has_ptx:
                expect(result, "first", 2, 192)
                expect(result, "second", 1, 33)
                equal(len(result.rows("threads")), 192, f"{name}: threads")
                equal(result.rows(".data")[0]["value"], 1000 + 2 * 192 + 33, f"{name}: data")
            else:
                equal({k: v["way"] for k, v in result.kernels.items()},
                      {"first": "no_ptx", "second": "no_ptx"}, name)


def test_files_that_are_cut_off():
    """CUDA refuses them, and the program goes on."""
    with Folder() as folder:
        ptx = text("first", "second")
        whole = folder.write("whole", ptx)
        for name, image in images.cut_off(folder.cubin(ptx), ptx).items():
            path = folder.write(name, image)
            for how in ("file", "link-file", "library-file"):
                result = folder.probe("context", "load", how, path, "load", "data", whole,
                                      "launch", "first", "1x32")
                equal(result.counts("entries").get("first"), 32, f"{name}, {how}: entries")


def test_files_that_cannot_be_read():
    """An error behind the first of two kernels: the program gets its own file, with both of them."""
    with Folder() as folder:
        path = folder.write("ptx", text("first", "second"))
        for how in ("file", "link-file", "library-file"):
            folder.probe("context", "load", how, path, "launch", "first", "1x32", "launch", "second", "1x32",
                         TEST_READ_MAX=len(text("first")))


def test_small_files():
    """No file may be larger than a module: the program gets its own, and a message says so."""
    with Folder() as folder:
        path = folder.write("ptx", text("first"))
        for how in LOADERS:
            words = "load", how, path, "launch", "first", "1x32"
            result = folder.probe("context", "largest-file", len(text("first")) - 100, *words)
            contains(result.errors, " may have no file of ", how)
            equal(result.kernels, {}, f"{how}: kernels")
            # The new module is larger.
            expect(folder.probe("context", "largest-file", len(text("first")) + 100, *words), "first", 1, 32)


def test_small_files_of_gpumon():
    """Its limit is too low for the new module: no kernel of it counts as one with programs."""
    with Folder() as folder:
        # Larger than the maps.
        image = "// long\n" * 50000 + text("first")
        result = folder.probe("context", "load", "data", folder.write("ptx", image), "launch", "first", "1x32",
                              before=("prlimit", f"--fsize={len(image) + 100}"))
        equal([(k["way"], k["why"], k["places"]) for k in result.kernels.values()],
              [("not_loaded", "no memory for its module with programs in it, or a limit of files that is too low (ulimit -f)",
                0)], "kernels")
        check("modules" not in result.tables, "no module got programs")


def test_huge_images():
    """More than 1 GiB: the program gets its own, and a message says so."""
    large = 1 << 30
    with Folder() as folder:
        file = folder.write("ptx", text("first"))
        os.truncate(file, large)
        # Of a kind that nobody knows.
        rest = images.entry(0x100, b"", 80)
        container = images.container(images.ptx_entry(text("first")), rest[:8] + struct.pack("<Q", large) + rest[16:])
        memory = folder.write("container", container[:8] + struct.pack("<Q", len(container) + large - 16) + container[16:])
        for how, path, size in ("file", file, large + 1), ("huge", memory, len(container) + large):
            result = folder.probe("context", "load", how, path, "launch", "first", "1x32")
            contains(result.errors, f" has a module of {size} bytes, which is larger than 1 GiB: it is left alone, "
                                    "and nothing of its kernels is counted", how)
            equal(result.kernels, {}, f"{how}: kernels")


def test_few_descriptors():
    """The new module, or its kernels' names, cannot be received: no kernel of it counts as one with programs."""
    with Folder() as folder:
        path = folder.write("ptx", text("first"))
        words = "load", "data", path, "launch", "first", "1x32"
        for spare in 2, 3:
            result = folder.probe("context", "spare-descriptors", spare, *words)
            equal([(k["way"], k["places"]) for k in result.kernels.values()], [("not_loaded", 0)], f"kernels, {spare}")
        expect(folder.probe("context", "spare-descriptors", 4, *words), "first", 1, 32)


def add_loader_tests():
    for how in LOADERS:
        globals()["test_" + how.replace("-", "_")] = lambda how=how: check_loader(how)


add_loader_tests()
