# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""record --probe: what programs gather is that of probe, and what is recorded that of record."""
import collections
import json
import os
import re
import signal

import kit
from images import ADD, IDLE, text
from kit import Folder, check, contains, equal
from test_loaders import expect

WORDS = ("context", "load", "data", "IMAGE", "launch", "first", "3x64*20", "threads", 4, "second", "1x33*5",
         "graph", "first", "1x32*3", "context", "load", "data", "IMAGE", "launch", "second", "2x20", "wait")


def image(folder, form=ADD):
    return folder.write("image", text("first", "second", form=form))


def replace(words, path):
    return [path if word == "IMAGE" else word for word in words]


class Recorded(kit.Result):
    """A capture as correlate --json shows it."""

    def __init__(self, folder, capture, run):
        status, out, errors = folder.finish(folder.start([kit.program, "correlate", "--json", capture]))
        equal(status, 0, errors)
        self.profile = json.loads(out)
        probes = self.profile["probes"]
        document = probes[0] if probes else {"tables": {}}
        self.is_read = "kernels" in document["tables"]
        super().__init__(*run, document if self.is_read else {**document, "tables": {"kernels": {"rows": []}}})

    def paths(self):
        """{names from the root on: GPU operations}"""
        found, paths = collections.Counter(), []
        for node in self.profile["nodes"]:
            paths.append((*paths[node["parent"]], node["name"]) if paths else ())
            found[paths[-1]] += node["count"]
        return +found

    def work(self):
        """What was recorded, without times."""
        return {"kernels": {row["name"]: row["count"] for row in self.profile["kernels"]},
                "streams": sorted(row["count"] for row in self.profile["devices"]),
                "counted": {key: n for key, n in self.profile["recording"]["counted"].items()
                            if key != "device_bytes"},
                "missing": self.profile["missing"]["nothing"], "paths": self.paths()}


def record(folder, *words, tool="count", options=(), status=None, **environment):
    """tool None: without programs."""
    capture = os.path.join(folder.path, "capture-" + (tool or "none") + "-".join(options).replace("/", "-"))
    probe = ["--probe", os.path.join(kit.objects, tool + ".bpf.o")] if tool else []
    command = [kit.program, "record", "-o", capture, "--no-driver", *probe, *options, "--"]
    run = folder.finish(folder.start(command + folder.command(words), **environment))
    plain = folder.alone(*words, **environment)
    equal(run[1], plain[1], "the program's output")
    equal(run[0], plain[0] if status is None else status, f"exit status ({run[2]})")
    return Recorded(folder, capture, run)


def comparable(document):
    """The result without what differs from run to run: the order of a hash, pids, and times."""
    return {name: sorted(re.sub(r"(process'?:?|_ns':) \d+", r"\1", str(row)) for row in table["rows"])
            for name, table in document["tables"].items()}


def notes(result):
    """Without times."""
    return [re.sub(r" in [\d.]+[num]?s\b", "", note) for note in result.document["notes"]]


def test_within_record():
    """each of the two has what it has alone"""
    with Folder() as folder:
        words = replace(WORDS, image(folder))
        both, alone = record(folder, *words), record(folder, *words, tool=None)
        probed = folder.probe(*words, changes=True)
        equal(comparable(both.document), comparable(probed.document), "what programs gathered")
        equal(notes(both), notes(probed), "notes")
        equal(both.document["tool"], "count", "tool")
        equal(both.counts("entries"), {"first": 3840 + 192, "second": 20 * 33 + 40}, "entries")
        equal(both.work(), alone.work(), "what was recorded")
        equal(alone.profile["probes"], [], "programs of a recording without")
        check(alone.work()["missing"] and len(alone.paths()) > 3, f"little was recorded: {alone.work()}")


def test_within_other_records():
    """the library's own stream, memory and waits are not the program's"""
    def events(recorded):
        status, out, errors = folder.finish(folder.start(
            [kit.program, "export", "--chrome", os.path.join(folder.path, recorded)]))
        equal(status, 0, errors)
        # A row's states come of looks at a thread: how many find it asleep differs from run to run.
        return collections.Counter((event["ph"], event["name"]) for event in json.loads(out)["traceEvents"]
                                   if not event["name"].startswith("["))

    options = ("--memory", "--sync", "--api")
    with Folder() as folder:
        words = replace(WORDS, image(folder))
        both = record(folder, *words, options=options)
        alone = record(folder, *words, tool=None, options=options)
        equal(both.work(), alone.work(), "what was recorded")
        equal(events("capture-count" + "-".join(options)), events("capture-none" + "-".join(options)), "events")


def test_within_figures():
    """the tool's numbers stand beside those of the kernel"""
    with Folder() as folder:
        path = folder.write("image", text("_Z5firstPjj", "second"))
        both = record(folder, "context", "load", "data", path, "launch", "_Z5firstPjj", "1x32*2",
                      "launch", "second", "1x33", "wait")
        equal({row["name"]: row["probe"] for row in both.profile["kernels"] if row["kind"] == "kernel"},
              {"first(unsigned int*, unsigned int)": {"entries": 64, "exits": 64, "kept": 64},
               "second": {"entries": 33, "exits": 33, "kept": 33}}, "figures")
        equal([row["kernel_name"] for row in both.rows("kernels")],
              ["first(unsigned int*, unsigned int)", "second"], "names")
        status, out, errors = folder.finish(folder.start(
            [kit.program, "correlate", os.path.join(folder.path, "capture-count")]))
        equal(status, 0, errors)
        line = next(line for line in out.splitlines() if line.endswith("  first(unsigned int*, unsigned int)"))
        equal(line.split()[-7:-4], ["64", "64", "64"], "the line of the kernel")
        check(out.index("Call paths") < out.index("In kernels") < out.index("GPUs"), f"order: {out}")
        contains(out, "2 of 2 kernels have programs", "summary")
        status, out, errors = folder.finish(folder.start(
            [kit.program, "report", os.path.join(folder.path, "capture-count")]))
        contains(out, "2 of 2 kernels have programs", "report")


def test_within_two_captures():
    """of several captures each is shown, and no figure beside a kernel that all of them have"""
    with Folder() as folder:
        words = ("context", "load", "data", image(folder), "launch", "first", "1x32*2", "wait")
        paths = []
        for tool in "count", "ring":
            record(folder, *words, tool=tool)
            paths.append(os.path.join(folder.path, "capture-" + tool))
        status, out, errors = folder.finish(folder.start([kit.program, "correlate", *paths]))
        equal(status, 0, errors)
        contains(out, "In kernels  count, 1 of 2 captures", "summary")
        contains(out, "In kernels  ring, 2 of 2 captures", "summary")
        status, out, errors = folder.finish(folder.start([kit.program, "correlate", "--json", *paths]))
        profile = json.loads(out)
        equal([probe["tool"] for probe in profile["probes"]], ["count", "ring"], "tools")
        equal([row["probe"] for row in profile["kernels"] if row["name"] == "first"], [{}], "figures")


def test_within_losses():
    """and what is left alone"""
    with Folder() as folder:
        words = ("context", "load", "data", image(folder), "launch", "first", "20x64*4", "launch", "second", "1x32")
        both = record(folder, *words, tool="ring", MOCK_LARGE="second")
        alone = folder.probe(*words, tool="ring", changes=True, MOCK_LARGE="second")
        equal(both.kernels["second"]["way"], "too_large", "way")
        # How many are lost depends on when the ring is read.
        for result in both, alone:
            table = result.tables["records"]
            check(result.lost["ring_full"], "no loss")
            equal(len(table["rows"]) + table["rows_left_out"] + result.lost["ring_full"], 20 * 64 * 4,
                  "records and losses")
        equal({**both.lost, "ring_full": 0}, {**alone.lost, "ring_full": 0}, "other losses")
        equal(*([re.sub(r"\d+", "N", note) for note in notes(result)] for result in (both, alone)), "notes")


def test_within_kernel():
    """only kernels that were asked for, in each image of several processes"""
    with Folder() as folder:
        line = " ".join(folder.command(["context", "load", "data", image(folder), "launch", "first", "1x32",
                                        "launch", "second", "1x32", "fork"]))
        capture = os.path.join(folder.path, "capture")
        run = folder.finish(folder.start(
            [kit.program, "record", "-q", "-o", capture, "--no-driver", "--probe",
             os.path.join(kit.objects, "count.bpf.o"), "--kernel", "sec*", "--", "/bin/sh", "-c", f"{line}; {line}"]))
        both = Recorded(folder, capture, run)
        equal(run[2], "", "messages")
        equal(both.counts("entries"), {"second": 64}, "entries")
        equal(len(both.profile["recording"]["processes"]), 2, "processes")


def test_within_killed():
    with Folder() as folder:
        both = record(folder, "context", "load", "data", image(folder), "launch", "first", "1x32", "wait", "kill",
                      status=128 + signal.SIGKILL)
        expect(both, "first", 1, 32)
        contains(" ".join(both.document["notes"]), "the process was killed", "notes")
        contains(both.errors, "the process was killed", "messages")


def test_within_nothing():
    """a program that does not use CUDA"""
    with Folder() as folder:
        capture = os.path.join(folder.path, "capture")
        status, out, errors = folder.finish(folder.start(
            [kit.program, "record", "-o", capture, "--probe", os.path.join(kit.objects, "count.bpf.o"), "/bin/true"]))
        equal((status, out), (0, ""), errors)
        contains(errors, "no process of /bin/true used CUDA: nothing was put into a kernel", "messages")


def test_within_full():
    """the recording ends at its largest size, and programs go on, also in what is loaded then"""
    with Folder() as folder:
        path = folder.write("image", text("first", "second", form=IDLE))
        words = ["context", "load", "data", path, "launch", "first", "1x1*75000", "recorded-no-more",
                 "launch", "first", "1x1", "none", "load", "library", path, "context", "launch", "second", "1x9*3", "wait"]
        both = record(folder, *words, options=("--max-size", "1M", "--no-python"))
        contains(both.errors, "recording ended at the largest size", "messages")
        equal(both.counts("entries"), {"first": 75001, "second": 27}, "entries")
        check(both.profile["recording"]["counted"]["launches"] <= 75000, "the recording did not end")
        equal([row["name"] for row in both.profile["kernels"] if row["kind"] == "kernel"], ["first"], "kernels")


def test_within_windows():
    """between windows of records CUPTI is let go of, but not by the programs"""
    with Folder() as folder:
        path = folder.write("image", text("first", "second"))
        words = []
        for _ in range(10):
            # The table of addresses is filled in at the launch.
            words += ["none", "load", "library", path, "context", "launch", "first", "1x32", "sleep", 30,
                      "launch", "second", "1x8", "destroy"]
        for more in ((), ("--api",)):
            both = record(folder, *words, options=("--records", "sampled", "--windows", "20ms/60ms", *more))
            equal(both.counts("entries"), {"first": 320, "second": 80}, f"entries {more}")
            equal(both.counts("exits"), {"first": 320, "second": 80}, f"exits {more}")


def test_within_gpumon_killed():
    """the program goes on and ends as without gpumon"""
    with Folder() as folder:
        folder.outlives(image(folder), "record", "-o", os.path.join(folder.path, "capture"), "--probe")


def test_within_correlate():
    """in one go, with a capture that goes"""
    with Folder() as folder:
        command = [kit.program, "correlate", "--json", "--no-driver", "--summary",
                   os.path.join(folder.path, "summary"), "--probe", os.path.join(kit.objects, "count.bpf.o"), "--"]
        words = folder.command(["context", "load", "data", image(folder), "launch", "first", "1x32*2", "wait"])
        status, _, errors = folder.finish(folder.start(command + words))
        equal(status, 0, errors)
        with open(os.path.join(folder.path, "summary"), encoding="utf-8") as file:
            profile = json.load(file)
        expect(kit.Result(status, "", errors, profile["probes"][0]), "first", 2, 32)
        equal({row["name"]: row["count"] for row in profile["kernels"] if row["kind"] == "kernel"}, {"first": 2},
              "kernels")


def test_within_damaged():
    """what cannot be read is said, and the rest of the capture is shown"""
    with Folder() as folder:
        record(folder, "context", "load", "data", image(folder), "launch", "first", "1x32*2", "wait")
        path = os.path.join(folder.path, "capture-count")
        with open(os.path.join(path, "probe.json"), encoding="utf-8") as file:
            whole = file.read()
        document = json.loads(whole)
        for number, table in enumerate(document["tables"]):
            if table["key"] == "kernels":
                break
        broken = ["", "{", "[]", "null", whole[:len(whole) // 2], whole.replace("gpumon-probe", "other"),
                  whole.replace('"version":1', '"version":2'), whole.replace('"kind":"count"', '"kind":"colour"'),
                  whole.replace('"title":"KERNEL"', '"title":"\\u001b[31mKERNEL"')]
        for change in ({"columns": []}, {"cells": [1]}, {"cells": [[]] * len(table["cells"])}, {"key": 7}):
            tables = document["tables"][:number] + [{**table, **change}]
            broken.append(json.dumps({**document, "tables": tables}))
        for content in broken:
            with open(os.path.join(path, "probe.json"), "w", encoding="utf-8") as file:
                file.write(content)
            both = Recorded(folder, path, (0, "", ""))
            check(not both.is_read, f"accepted: {content[:200]}")
            contains(" ".join(both.document["notes"]), "probe.json cannot be read", "notes")
            equal(both.profile["missing"]["damage"]["unreadable_files"], 1, "files that cannot be read")
            equal({row["name"]: row["count"] for row in both.profile["kernels"] if row["kind"] == "kernel"},
                  {"first": 2}, "kernels")


def test_within_usage():
    """what does not go together is refused in a line that says what to do"""
    count = os.path.join(kit.objects, "count.bpf.o")
    program = ["--", "/bin/true"]
    with Folder() as folder:
        for options, said, status in (
                (["--probe", count, "--sass", *program], "leave out --sass, or say gpumon-user probe --sass", 2),
                (["--probe", count, "-p", "1"], "start the program with this command, instead of --pid", 2),
                (["--probe", count, "--continuous", *program], "leave one out", 2),
                (["--probe", count, "--duration", "1", *program], "leave one out", 2),
                (["--probe", count, "--yield", *program], "leave one out", 2),
                (["--kernel", "x", *program], "go with --probe", 2),
                (["--probe", "cuda-countr", *program], "cuda-counter", 2),
                (["--probe", os.path.join(kit.objects, "program"), *program], "program", 1)):
            run = folder.finish(folder.start([kit.program, "record", "-o", os.path.join(folder.path, "capture"),
                                              *options]))
            equal((run[0], run[1]), (status, ""), f"{options}: {run[2]}")
            contains(run[2], said, "message")
            equal(run[2].count("\n"), 1, f"lines of {run[2]}")
            check(not os.path.exists(os.path.join(folder.path, "capture")), f"{options}: a capture is left")
