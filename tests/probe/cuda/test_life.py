# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Contexts, threads, and the ways in which processes end."""
import os
import signal

import kit
from images import text
from kit import Folder, check, contains, equal
from test_loaders import expect

# Areas of contexts that gpumon-user keeps at a time are fewer than these.
MANY = 300


def one(*words, **more):
    with Folder() as folder:
        path = folder.write("image", text("first", "second"))
        return folder.probe(*[path if word == "IMAGE" else word for word in words], **more)


def test_threads():
    expect(one("context", "load", "data", "IMAGE", "threads", 6, "first", "2x48*5"), "first", 30, 96)


def test_two_contexts():
    """each has memory of its own, also for one library"""
    result = one("context", "context", "load", "library", "IMAGE", "launch", "first", "1x32",
                 "use", 0, "launch", "first", "1x32*2", "use", 1, "launch", "first", "1x32")
    expect(result, "first", 4, 32)
    equal([row["value"] for row in result.rows(".data")], [1064, 1064], "data")


def test_module_of_each_context():
    expect(one("context", "load", "data", "IMAGE", "launch", "first", "1x40", "context", "load", "data",
               "IMAGE", "launch", "first", "1x40", "destroy", "use", 0), "first", 2, 40)


def test_library_before_context():
    expect(one("none", "load", "library", "IMAGE", "context", "launch", "first", "2x20"), "first", 1, 40)


def test_churn():
    """modules come and go, and their handles come again"""
    expect(one("context", "churn", 40, "IMAGE", "first", "1x32"), "first", 40, 32)


def test_many_contexts():
    result = one("contexts", MANY, "IMAGE", "first", "1x10")
    expect(result, "first", MANY, 10)
    equal(result.errors, "", "messages")
    # Global data begins with 1000 in each; hashes have the same keys in each.
    added = [row["value"] for row in result.rows(".data")]
    check(1 < len(added) < 32, f"{len(added)} contexts are shown")
    equal(sum(added) - 1000 * len(added), 10 * MANY, "global data")
    equal(sum(row["threads"] for row in result.rows("threads")), 10 * MANY, "values of the hash")


def test_many_processes():
    """they end without a word about their contexts"""
    with Folder() as folder:
        path = folder.write("image", text("first"))
        line = " ".join(folder.command(["context", "load", "data", path, "launch", "first", "1x10"]))
        status, out, errors = folder.finish(folder.start(
            [kit.program, "probe", "--json", os.path.join(kit.objects, "count.bpf.o"), "--", "/bin/sh", "-c",
             f"for i in $(seq 20); do {line} >/dev/null; done"]))
        result = kit.Result(status, "", errors, kit.json.loads(out.splitlines()[-1]))
        expect(result, "first", 20, 10)
        check(len(result.rows(".data")) < 19, "no process was seen to end")


def test_primary():
    """reset, released and retained again"""
    expect(one("primary", "load", "data", "IMAGE", "launch", "first", "1x32", "reset", "primary",
               "load", "data", "IMAGE", "launch", "first", "1x32*3", "release", "release", "primary",
               "load", "data", "IMAGE", "launch", "first", "1x32"), "first", 5, 32)


def test_released_but_retained():
    """a primary context that others still use goes on with new memory"""
    expect(one("primary", "primary", "load", "data", "IMAGE", "launch", "first", "1x32", "release",
               "launch", "first", "1x32*2"), "first", 3, 32)


def test_graph():
    """work that is captured runs with its programs, and the capture is not disturbed"""
    result = one("context", "load", "data", "IMAGE", "launch", "first", "1x32", "graph", "first", "1x32*3")
    contains(result.printed, "first: 0, sum 224", "the graph's result")
    expect(result, "first", 7, 32)


def test_graph_first():
    """the first launch of a context is captured: its memory is made meanwhile"""
    result = one("context", "load", "data", "IMAGE", "graph", "first", "1x32*3")
    contains(result.printed, "first: 0, sum 192", "the graph's result")
    expect(result, "first", 6, 32)


def test_graph_of_library():
    """likewise, where the table is filled in at the first launch"""
    result = one("none", "load", "library", "IMAGE", "context", "graph", "first", "1x32*3")
    contains(result.printed, "first: 0, sum 192", "the graph's result")
    expect(result, "first", 6, 32)


def test_fork():
    result = one("context", "load", "data", "IMAGE", "launch", "first", "1x32", "fork",
                 "launch", "first", "1x32")
    contains(result.printed, "child 3\nchild's status 3\n", "what the child does")
    expect(result, "first", 2, 32)


def test_exit_status():
    result = one("context", "load", "data", "IMAGE", "launch", "first", "1x32", "exit", 7)
    equal(result.status, 7, "status")
    expect(result, "first", 1, 32)


def test_exit_at_once():
    """by _exit(): what was there when the program waited last"""
    result = one("context", "load", "data", "IMAGE", "launch", "first", "1x32", "wait", "_exit", 5)
    equal(result.status, 5, "status")
    expect(result, "first", 1, 32)
    contains(result.errors, "did not end by exit()", "messages")


def test_killed():
    result = one("context", "load", "data", "IMAGE", "launch", "first", "1x32", "wait", "kill")
    equal(result.status, 128 + signal.SIGKILL, "status")
    expect(result, "first", 1, 32)
    contains(result.errors, "killed", "messages")


def test_exit_while_a_kernel_runs():
    """the end waits for it"""
    result = one("context", "load", "data", "IMAGE", "background", "first", "4x32", "exit", 0,
                 MOCK_BLOCK_US=100000)
    expect(result, "first", 1, 128)


def test_closed_descriptors():
    result = one("context", "load", "data", "IMAGE", "close", "launch", "first", "1x32", "load", "data", "IMAGE",
                 "launch", "first", "1x32", "close")
    expect(result, "first", 2, 32)


def test_gpumon_killed():
    """the program goes on and ends as without gpumon"""
    with Folder() as folder:
        folder.outlives(folder.write("image", text("first")), "probe")


def test_two_processes():
    with Folder() as folder:
        path = folder.write("image", text("first"))
        command = folder.command(["context", "load", "data", path, "launch", "first", "1x32"])
        line = " ".join(command)
        status, out, errors = folder.finish(folder.start(
            [kit.program, "probe", "--json", os.path.join(kit.objects, "count.bpf.o"), "--", "/bin/sh", "-c",
             f"{line} & {line}; wait; sleep 0.1"]))
        equal(status, 0, errors)
        result = kit.Result(status, "", errors, kit.json.loads(out.splitlines()[-1]))
        expect(result, "first", 2, 32)


def test_left_running():
    """processes that the program leaves behind are counted, too"""
    with Folder() as folder:
        path = folder.write("image", text("first"))
        line = " ".join(folder.command(["sleep", 300, "context", "load", "data", path, "launch", "first", "1x32"]))
        status, out, errors = folder.finish(folder.start(
            [kit.program, "probe", "--json", os.path.join(kit.objects, "count.bpf.o"), "--", "/bin/sh", "-c",
             f"{line} >/dev/null & exit 6"]))
        equal(status, 6, errors)
        expect(kit.Result(status, "", errors, kit.json.loads(out.splitlines()[-1])), "first", 1, 32)
