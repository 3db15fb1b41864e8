# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Command lists that are executed: their commands are nodes of graphs."""
import collections

from capture import UNTIMED, check, equal
from recorded import Recorded, bare

CAPTURED, GRAPH = 1, 2


def test_lists():
    """each execution has each command of its lists, with its times, and the path of its append"""
    run = Recorded("lists", 6).equal_times()
    equal(run.output, bare("lists", 6).stdout, "output")
    names = collections.Counter(run.text(kernel.name) for kernel in run["kernel"])
    # Two lists with two adds and one scale each, and one list that was emptied and filled again.
    equal(names, {"add": 24, "scale": 13}, "kernels")
    equal([copy.bytes for copy in run["copy"]], [3000] * 12, "copies")
    equal([(fill.bytes, fill.value) for fill in run["set"]], [(2000, 7)] * 12, "fills")
    kinds = collections.Counter((run.text(launch.function), launch.flags & (CAPTURED | GRAPH)) for launch in run["launch"])
    equal(kinds, {("zeCommandQueueExecuteCommandLists", GRAPH): 7, ("zeCommandListAppendLaunchKernel", CAPTURED): 7,
                  ("zeCommandListAppendMemoryCopy", CAPTURED): 2, ("zeCommandListAppendMemoryFill", CAPTURED): 2}, "launches")
    nodes = {node.node: node for node in run["graph-node"]}
    equal(len(nodes), 11, "nodes")
    for work in run.works():
        equal(work.graph, nodes[work.node].graph, "list of a node")
    executions = {launch.correlation for launch in run["launch"] if launch.flags & GRAPH}
    equal({work.correlation for work in run.works()}, executions, "executions")
    equal(run["loss"], [], "losses")
    missing = run.json()["missing"]
    check(missing["nothing"], missing)


def test_paths_of_lists():
    """the path is that of the append, not that of the execution"""
    paths = Recorded("lists", 4).paths()
    outer, execute = ("main", "mode_lists"), ("zeCommandQueueExecuteCommandLists",)
    equal(paths[outer + ("fill_list", "launch_add") + execute, "add"], 16, "add")
    equal(paths[outer + ("fill_list", "launch_scale") + execute, "scale"], 8, "scale")
    equal(paths[outer + ("launch_scale",) + execute, "scale"], 1, "scale of the list that was filled again")


def test_polled():
    """a program that asks the fence until it is signalled, and executes the list again at once"""
    run = Recorded("polled", 20).equal_times()
    equal((len(run.works()), {work.flags for work in run.works()}), (100, {0}), "operations and flags")


def test_overtaken():
    """a list that is executed again before its times were read: the last execution has them, all are counted"""
    run = Recorded("overtaken", 20)
    equal(len(run.works()), 100, "operations")
    flags = collections.Counter(work.flags for work in run.works())
    check(set(flags) == {0, UNTIMED} and flags[0] >= 5, f"flags {flags}")
    last = max(work.correlation for work in run.works())
    timed = sorted((work.start_ns, work.end_ns) for work in run.works() if work.correlation == last)
    error = run["clock"][-1].error_ns + 106
    for (start, end), (true_start, true_end) in zip(timed, run.ran[-5:]):
        check(abs(start - true_start) <= error and abs(end - true_end) <= error, "times of the last one")
    text = "; ".join(run.text(note.text) for note in run["note"])
    check(f"{flags[UNTIMED]} operations of command lists have no times" in text, f"notes: {text}")


def test_unknown_list():
    """a list that was made in a way that is not known: its command and executions count as lost, and it runs as ever"""
    run = Recorded("unknown-list", 10)
    equal((run.output, run.left), ("executed 10\n", []), "output, and what the driver complains of")
    equal((len(run["launch"]), len(run.works())), (11, 0), "launches and operations")
    equal(({loss.cause for loss in run["loss"]}, sum(loss.count for loss in run["loss"])), ({2}, 11), "losses")


def test_nothing_is_left():
    """what the library made in a context is gone before the program destroys it"""
    for words in (("commands", 2), ("lists", 3), ("reused", 5), ("answers", 1)):
        equal(Recorded(*words).left, [], f"left after {words[0]}")
