# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The way into each kernel: its PTX, or its machine code where it has none. Kernels are named for that."""
import json
import os
import re
import shutil

import kit
from images import IDLE, container, ptx_entry, text
from kit import Folder, check, contains, equal

FIRST = ("launch", "first", "1x32*2")
SECOND = ("launch", "second", "1x32")
BOTH = ("context", "load", "data", "PTX", *FIRST, "load", "data", "CUBIN", *SECOND)
TOOLS = ("--ptxas", "ptxas", "--sanitizer", "libsanitizer-public.so")


def run(*words, options=("-k", "*", *TOOLS), tool="count", first=text("first"), **more):
    """PTX stands for a text with a kernel, CUBIN for another kernel's machine code."""
    with Folder() as folder:
        paths = {"PTX": folder.write("ptx", first), "CUBIN": folder.write("cubin", folder.cubin(text("second")))}
        own = {name: os.path.join(kit.objects, name) for name in TOOLS[1::2]}
        return folder.probe(*(paths.get(word, word) for word in words), tool=tool,
                            options=[own.get(option, option) for option in options], **more)


def ways(result):
    return {name: kernel["way"] for name, kernel in result.kernels.items()}


def expect(result, **kernels):
    equal(ways(result), {name: way for name, (way, _) in kernels.items()}, "ways")
    for table in "entries", "exits", "kept":
        equal(result.counts(table), {name: threads for name, (_, threads) in kernels.items() if threads}, table)
    equal({cause: n for cause, n in result.lost.items() if n}, {}, "losses")


def test_ways_of_two_modules():
    result = run(*BOTH)
    expect(result, first=("ptx", 64), second=("sass", 32))
    contains(result.kernels["second"]["why"], "it has no PTX", "why")
    contains(result.errors, "machine code (SASS) of 1 kernel was patched, for want of PTX to edit, by ", "messages")
    equal({name: kernel["places"] for name, kernel in result.kernels.items()}, {"first": 5, "second": None}, "places")
    notes = "".join(result.document["notes"])
    for begin, end in (("Edited the images of 1 module in", "; the driver compiled and loaded 1 in"),
                       ("Looked up the kernels of 1 module in", "; the sanitizer patched 1 in")):
        check(re.search(begin + r" [0-9.]+\w+" + end, notes), f"{begin}: {notes}")


def test_ways_by_library():
    """the exchanged image of a library is loaded later, in the context"""
    expect(run("context", "load", "library", "PTX", *FIRST, "load", "data", "CUBIN", *SECOND, "context",
               "load", "data", "CUBIN", *SECOND, "use", 0, "wait"), first=("ptx", 64), second=("sass", 64))


def test_ways_old_text():
    """a text in a version of PTX that lacks what the programs need"""
    result = run("context", "load", "data", "PTX", *FIRST, first=text("first").replace(".version 8.0", ".version 3.2"))
    expect(result, first=("sass", 64))
    contains(result.kernels["first"]["why"], "its PTX cannot be edited: ", "why")


def test_ways_of_nvidias_libraries():
    """PTX in them stays as it is: only NVIDIA's own way into machine code is taken, if kernels are named"""
    tools = [os.path.join(kit.objects, option) if not option.startswith("-") else option for option in TOOLS]
    for name, owner in (("libcublas.so.13", True), ("libmine.so", False)):
        for image in (text("first") + "\0").encode(), container(ptx_entry(text("first"))):
            with Folder() as folder:
                words = ["context", "load", "linked", folder.library(name, image), *FIRST, "wait"]
                named = folder.probe(*words, options=["-k", "first", *tools])
                expect(named, first=("sass" if owner else "ptx", 64))
                without = folder.probe(*words, options=["-k", "first"], GPUMON_SANITIZER="/nonexistent")
                expect(without, first=("refused", 0) if owner else ("ptx", 64))
                for result in (named, without) if owner else ():
                    contains(result.kernels["first"]["why"], f"{name} is NVIDIA's, whose licence forbids changes", "why")
                equal(folder.probe(*words).kernels.keys(), set() if owner else {"first"}, "kernels without --kernel")


def test_ways_threads():
    """contexts and modules of several threads come at the same time"""
    expect(run("context", "load", "data", "PTX", "load", "data", "CUBIN", "threads", 4, "first", "1x32*25",
               "threads", 4, "second", "1x32*25"),
           first=("ptx", 3200), second=("sass", 3200))


def test_ways_too_large():
    """with programs its PTX does not work: it is not tried in another way"""
    expect(run(*BOTH, MOCK_LARGE="first"), first=("too_large", 0), second=("sass", 32))


def test_ways_only_named():
    """without names machine code is left alone, as patches are slow"""
    result = run(*BOTH, options=())
    equal(ways(result), {"first": "ptx"}, "ways")
    contains(result.errors, "name kernels (--kernel), and their machine code is patched", "messages")
    result = run(*BOTH, options=("-k", "first", *TOOLS))
    expect(result, first=("ptx", 64))


def test_ways_impossible():
    """what has PTX gets its programs all the same, and the status is the program's"""
    for setting, way, message in (("BUSY", "no_ptx", "another tool holds the sanitizer or CUPTI"),
                                  ("REFUSE", "not_patched", "the sanitizer refuses the programs (error 1)"),
                                  ("MODULE", "not_patched", "cannot be patched (error 1 of the sanitizer)")):
        result = run(*BOTH, **{"MOCK_SANITIZER_" + setting: 1})
        expect(result, first=("ptx", 64), second=(way, 0))
        equal(result.kernels["second"]["why"],
              "only machine code (SASS) of it: no PTX to put programs into" if way == "no_ptx" else
              "its machine code was not patched: a message says why", setting + ": why")
        contains(result.errors, message, "messages")


def test_ways_no_tools():
    """nothing of NVIDIA's tools is here: it is said where it would have helped"""
    nothing = {"GPUMON_SANITIZER": "/nonexistent"}
    result = run(*BOTH, options=("-k", "*"), **nothing)
    expect(result, first=("ptx", 64), second=("no_ptx", 0))
    contains(result.errors, "could not be patched: /nonexistent cannot be read", "messages")
    equal("could not be patched" in run("context", "load", "data", "PTX", *FIRST, options=("-k", "*"), **nothing).errors,
          False, "a word of it where all kernels have PTX")


def test_ways_program_needs_ptx():
    """a program of a device function works in PTX only"""
    result = run(*BOTH, tool="function", options=("-k", "*"), **{
        "GPUMON_" + name: os.path.join(kit.objects, file) for name, file in (("PTXAS", "ptxas"), ("SANITIZER", "libsanitizer-public.so"))})
    equal(ways(result), {"first": "ptx", "second": "no_ptx"}, "ways")
    contains(result.errors, "no places for device functions", "messages")


def probe(folder, *command, **more):
    """A run of which all messages are known: the result's tables, and the messages."""
    status, out, errors = folder.finish(folder.start(
        [kit.program, "probe", "--json", *command], **{name: os.path.join(kit.objects, file) for name, file in (
            ("GPUMON_PTXAS", "ptxas"), ("GPUMON_SANITIZER", "libsanitizer-public.so"))}, **more))
    if status == 77:
        raise kit.Skip(errors.strip())
    equal(status, 0, f"status ({errors})")
    return json.loads(out.splitlines()[-1])["tables"], errors


def test_ways_launchlate():
    """launches of kernels of both ways are known"""
    with Folder() as folder:
        paths = {"PTX": folder.write("ptx", text("first")), "CUBIN": folder.write("cubin", folder.cubin(text("second")))}
        for options, ways_are in (("-k", "*"), ["ptx", "sass"]), (("--sass",), ["sass", "sass"]):
            found, _ = probe(folder, *options, "launchlate", "--",
                             *folder.command([paths.get(word, word) for word in BOTH]))
            equal([row["way"] for row in found["kernels"]["rows"]], ways_are, "ways")
            equal({row["kernel_name"]: (row["starts"], row["launches"]) for row in found["by_kernel"]["rows"]},
                  {"first": (2, 2), "second": (1, 1)}, "starts and launches")


def test_launches_of_a_long_name():
    """a name that has no room in a message"""
    with Folder() as folder:
        name = "kernel_" + "x" * 5000
        path = folder.write("ptx", text(name))
        found, _ = probe(folder, "launchlate", "--", *folder.command(["context", "load", "data", path,
                                                                      "launch", name, "1x32*3"]))
        equal([(row["starts"], row["launches"]) for row in found["by_kernel"]["rows"]], [(3, 3)], "starts and launches")


def test_launches_of_many_processes():
    """one after the other, and more of them than launches are kept of at a time"""
    with Folder() as folder:
        path = folder.write("ptx", text("first"))
        line = " ".join(folder.command(["context", "load", "data", path, "launch", "first", "1x32*2"]))
        found, _ = probe(folder, "launchlate", "--", "/bin/sh", "-c", f"for i in $(seq 70); do {line}; done")
        equal([(row["starts"], row["launches"]) for row in found["by_kernel"]["rows"]], [(2, 2)] * 70,
              "starts and launches")


def test_launches_without_names():
    """of a driver that does not say which kernel a launch is of: starts are compared with each other only"""
    with Folder() as folder:
        path = folder.write("ptx", text("first"))
        found, _ = probe(folder, "launchlate", "--", *folder.command(["context", "load", "data", path,
                                                                      "launch", "first", "1x32*3"]), MOCK_NO_NAMES=1)
        check("by_kernel" not in found and "distances" in found, f"tables: {list(found)}")


def test_ways_shared_with_cpu():
    """an array is the same memory for a uprobe and for patches, in each context"""
    with Folder() as folder:
        copy = shutil.copy(os.path.join(kit.objects, "program"), folder.path)
        path = folder.write("image", folder.cubin(text("first", form=IDLE)))
        context, launch = ["context", "load", "data", path], ["launch", "first", "1x32", "wait"]
        found, _ = probe(folder, "-k", "*", "--set", "launches[0]=100", "--set", "step[0]=1", "--attach",
                         f"launched={copy}:launch_in", os.path.join(kit.objects, "shared.bpf.o"), "--", copy, *context,
                         *launch, *launch, *context, *launch)
        equal([row["way"] for row in found["kernels"]["rows"]], ["sass"], "ways")
        equal([row["launches"] for row in found["launches"]["rows"]], [103, 30], "launches, on both sides")
        equal({row["index"]: row["seen"] for row in found["seen"]["rows"]}, {1: 101, 2: 102, 3: 103},
              "what the GPU has seen of the CPU's count")
