#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The measuring code of tests/device/bench, without a GPU: known answers, and programs whose speed
changes.
"""
import argparse
import contextlib
import glob
import importlib.machinery
import importlib.util
import io
import itertools
import os
import shutil
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import attach  # noqa: E402
import checks_cost  # noqa: E402
import chunks  # noqa: E402
import pairs  # noqa: E402
import programs  # noqa: E402
import steps  # noqa: E402
import verdict  # noqa: E402


def pair(recorded, bare, first=True):
    return {"recorded": recorded, "bare": bare, "recorded_first": first}


def as_measured(speed, cost, count=40):
    """Pairs of a program whose segment N takes speed(N), multiplied by cost if it is recorded."""
    done = [0]

    def segment(recorded):
        done[0] += 1
        return speed(done[0] - 1) * (cost if recorded else 1)
    return pairs.measure(segment, count, 1)


class Order(unittest.TestCase):
    def test_balanced(self):
        for seed in range(20):
            order = pairs.orders(40, seed)
            for at in range(0, 40, pairs.GROUP):
                self.assertEqual(sum(order[at:at + pairs.GROUP]), pairs.GROUP // 2)

    def test_changes(self):
        """The order has no rhythm that a program could share."""
        order = pairs.orders(40, 27)
        self.assertNotEqual(order[:20], order[20:])
        for period in range(1, 9):
            self.assertNotEqual(order, [order[i % period] for i in range(40)])

    def test_same_seed_same_order(self):
        self.assertEqual(pairs.orders(41, 3), pairs.orders(41, 3))
        self.assertNotEqual(pairs.orders(40, 3), pairs.orders(40, 4))
        self.assertEqual(len(pairs.orders(41, 3)), 41)

    def test_each_pair_has_both(self):
        calls = []

        def segment(recorded):
            calls.append(recorded)
            return len(calls)
        measured = pairs.measure(segment, 8, 1)
        self.assertEqual(len(calls), 16)
        for at, one in enumerate(measured):
            first, second = calls[2 * at:2 * at + 2]
            self.assertNotEqual(first, second)
            self.assertEqual(one["recorded_first"], first)
            self.assertEqual(one["recorded"], 2 * at + (1 if first else 2))
            self.assertEqual(one["bare"], 2 * at + (2 if first else 1))


    def test_enough(self):
        """Pairs end with a group, so that each order is as frequent."""
        for least, count in ((1, 4), (4, 4), (5, 8), (9, 12), (40, 13)):
            measured = pairs.measure(lambda _: 1, 13, 1, lambda done, least=least: done >= least)
            self.assertEqual(len(measured), count)
            if count < 13:
                self.assertEqual(sum(pair["recorded_first"] for pair in measured), count // 2)


class Statistics(unittest.TestCase):
    def test_known(self):
        s = pairs.summary([pair(r, 10) for r in (15, 11, 12, 14, 13)])
        self.assertEqual([round(s[k], 9) for k in ("q1", "median", "q3", "best")], [1.2, 1.3, 1.4, 1.1])
        self.assertEqual((s["pairs"], s["bare"], s["added"], s["sure"]), (5, 10, 3, None))

    def test_ratio_of_pairs(self):
        """The ratio of pairs, not the ratio of medians; best : best would come from different
        pairs.
        """
        s = pairs.summary([pair(20, 10), pair(30, 20), pair(44, 40), pair(12, 8)])
        self.assertEqual(s["median"], 1.5)
        self.assertEqual(s["best"], 1.5)
        self.assertEqual(pairs.summary([pair(20, 10), pair(9, 30)])["best"], 0.9)

    def test_confidence(self):
        """Ranks from tables of the binomial distribution, from 1 there: 14 and 27 of 40."""
        for count, ranks in ((5, None), (6, (1, 6)), (10, (2, 9)), (20, (6, 15)), (40, (14, 27)),
                             (100, (40, 61))):
            self.assertEqual(pairs.confidence(count), ranks and (ranks[0] - 1, ranks[1] - 1), count)

    def test_sure(self):
        s = pairs.summary([pair(100 + n, 100) for n in range(40)])
        self.assertEqual(s["sure"], [1.13, 1.26])

    def test_carried_over(self):
        """Bare segments that are slower behind a recorded one are found."""
        state = {"last": False}

        def segment(recorded):
            taken = 13 if recorded else 12 if state["last"] else 10
            state["last"] = recorded
            return taken
        self.assertEqual(pairs.carried_over(pairs.measure(segment, 40, 1)), 1.2)
        self.assertEqual(pairs.carried_over(as_measured(lambda n: 10, 1.3)), 1)
        self.assertIsNone(pairs.carried_over([pair(1, 1)]))


    def test_left_behind(self):
        """Compared with the control of the same program, for both kinds of segments."""
        modes = {"control": {"pairs": [pair(8, 12), pair(9, 11)], "program": 1},
                 "control-cupti": {"pairs": [pair(50, 50)], "program": 2}}
        mode = {"pairs": [pair(20, 13), pair(20, 11)]}
        for program, left in ((1, 1.2), (2, 0.24), (3, None)):
            mode["before"] = pairs.control_of(modes, program)
            self.assertEqual(pairs.left_behind(mode, modes), left)


class Speeds(unittest.TestCase):
    """The answer is 1.1, whatever the program's speed does."""

    def test_steady(self):
        s = pairs.summary(as_measured(lambda n: 10, 1.1))
        for key in ("q1", "median", "q3", "best"):
            self.assertAlmostEqual(s[key], 1.1)

    def test_slower_and_slower(self):
        """Each segment is 2 % slower: with a fixed order the median would be 2 % wrong."""
        s = pairs.summary(as_measured(lambda n: 1.02 ** n, 1.1))
        self.assertAlmostEqual(s["median"], 1.1, delta=0.001)

    def test_two_speeds(self):
        s = pairs.summary(as_measured(lambda n: 10 if n < 31 else 13, 1.1))
        self.assertAlmostEqual(s["median"], 1.1)
        self.assertAlmostEqual(s["q1"], 1.1)
        self.assertAlmostEqual(s["q3"], 1.1)

    def test_rhythm(self):
        """Every second segment is slow, as with something that runs periodically."""
        s = pairs.summary(as_measured(lambda n: 10 + 3 * (n % 2), 1.1))
        self.assertLess(s["q1"], 1.1)
        self.assertGreater(s["q3"], 1.1)
        self.assertLess(s["sure"][0], 1.1)
        self.assertGreater(s["sure"][1], 1.1)

    def test_outliers(self):
        s = pairs.summary(as_measured(lambda n: 500 if n % 17 == 3 else 10, 1.1))
        self.assertAlmostEqual(s["median"], 1.1)
        self.assertAlmostEqual(s["best"], 1.1)


class Texts(unittest.TestCase):
    def test_goals(self):
        low, high = ([pair(100 + n % 3 + off, 100) for n in range(40)] for off in (0, 20))
        between = [pair(100 + n, 100) for n in range(-12, 28)]
        for pairs_, state in ((low, "met"), (high, "MISSED"), (between, "not decided")):
            text = pairs.goal_line("decode", "native", pairs.summary(pairs_), 1.5)
            self.assertTrue(text.endswith(state), text)
        self.assertIsNone(pairs.goal_line("decode", "records", pairs.summary(low), 1))

    def test_goal_in_all(self):
        s = pairs.summary([pair(1.2, 1)] * 40)
        for left, state in ((1.1, "1.320, at most 1.40: met"), (1.2, "1.440, at most 1.40: MISSED"),
                            (None, "not decided without control")):
            self.assertTrue(pairs.goal_line("loop", "native", s, left).endswith(state), left)

    def test_line(self):
        text = pairs.line("loop", "native", pairs.summary([pair(4400, 4000) for _ in range(40)]))
        self.assertIn("loop native: 1.100 (1.100 to 1.100), best : best 1.100; 95 % 1.100 to 1.100; "
                      "40 pairs, not recorded 4,000 ns, added 400 ns", text)

    def test_rows(self):
        results = {"seconds": 0.2, "workloads": {"loop": {"title": "a loop", "modes": {
            "control": {"pairs": [pair(1e6, 1e6)] * 6, "before": None},
            "native": {"pairs": [pair(2.2e6, 2e6)] * 6, "before": "control"},
            "cupti": {"pairs": [pair(3e6, 2e6)] * 6, "before": None}}}}}
        self.assertIn("| a loop, segments of 0.2 s | median", pairs.rows(results)[0])
        self.assertEqual(pairs.rows(results)[2:], [
            "| control | 1.000 | 1.000 to 1.000 | 1.000 to 1.000 | 1.000 | 0.000 ms | – | 6 |",
            "| native | 1.100 | 1.100 to 1.100 | 1.100 to 1.100 | 1.100 | 0.200 ms | 2.000 | 6 |",
            "| cupti | 1.500 | 1.500 to 1.500 | 1.500 to 1.500 | 1.500 | 1.000 ms | – | 6 |"])


    def test_saved(self):
        results = {"seconds": 0.2, "workloads": {"loop": {"title": "a loop", "modes": {
            "control": {"pairs": [pair(1.25, 2.5), pair(3.0, 4.0, False)], "before": None}}}}}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "bench.json")
            pairs.save(path, results)
            self.assertEqual(pairs.load(path)["workloads"]["loop"]["modes"]["control"]["pairs"],
                             [pair(1.2, 2.5), pair(3.0, 4.0, False)])
            self.assertEqual(results["workloads"]["loop"]["modes"]["control"]["pairs"][0],
                             pair(1.25, 2.5))

    def test_documented(self):
        """Each results page has the tables of its figures."""
        folders = glob.glob(os.path.join(programs.TOP, "tests/results/device-bench-*/"))
        self.assertTrue(folders)
        for folder in folders:
            with open(folder.rstrip("/") + ".md", encoding="utf-8") as file:
                page = file.read()
            for path in glob.glob(folder + "*.json"):
                table = "\n".join(pairs.rows(pairs.load(path)))
                self.assertTrue(table in page, f"no table of {path}, as pairs.py prints it")


class Turns(unittest.TestCase):
    """Whole runs, each compared with the one of its round that was not recorded."""

    def test_order(self):
        run = []
        rounds = pairs.turns(["bare", "records", "python"], 6, lambda mode: run.append(mode) or 1, 27)
        self.assertEqual(len(rounds), 6)
        orders = [tuple(run[at:at + 3]) for at in range(0, 18, 3)]
        self.assertTrue(all(sorted(order) == ["bare", "python", "records"] for order in orders))
        self.assertGreater(len(set(orders)), 2)

    def test_machine_that_slows_down(self):
        """Its speed is in no ratio."""
        passed = [0]

        def run(mode):
            passed[0] += 1
            return (1 + passed[0] // 2) * {"bare": 1e6, "records": 1.2e6}[mode]
        # Both runs of a round are as fast.
        passed[0] = -1
        rounds = pairs.turns(["bare", "records"], 9, run, 27)
        s = pairs.turns_summary(rounds, "records")
        self.assertEqual((round(s["median"], 3), round(s["q1"], 3), s["runs"]), (1.2, 1.2, 9))
        self.assertEqual(pairs.turns_summary(rounds, "bare")["median"], 1)

    def test_rows(self):
        results = {"seconds": 0.2, "workloads": {}, "whole_seconds": 8, "whole": {
            "loop": {"title": "a loop", "rounds": [{"bare": 2e6, "records": 2.5e6}] * 4}}}
        self.assertEqual(pairs.rows(results), [
            "| a loop, whole runs of 8 s | median | quartiles | ratio of medians | steps/s | runs |",
            "|---|---|---|---|---|---|",
            "| bare | 1.000 | 1.000 to 1.000 | 1.000 | 500.0 | 4 |",
            "| records | 1.250 | 1.250 to 1.250 | 1.250 | 400.0 | 4 |"])


class Recorded(unittest.TestCase):
    """A mode counts only if what should have been recorded was recorded."""

    @staticmethod
    def recorder(*said, stacks=True, python=False):
        one = attach.Recorder(1, [])
        for text in said:
            one.take(f"gpumon-user: 1 process, {text}, 0 copies and sets, 2KiB in it\n")
        one.kinds = {kind for kind, there in ((attach.STACK, stacks), (attach.FRAME, python)) if there}
        return one

    def test_right(self):
        self.assertEqual(self.recorder("400 launches, 800 kernels").complaints(40, True, False), [])
        self.assertEqual(self.recorder(*["7 launches, 8 kernels"] * 3).complaints(1, True, False), [])

    def test_wrong(self):
        right = "400 launches, 800 kernels"
        for wrong in (self.recorder(), self.recorder("0 launches, 800 kernels"),
                      self.recorder("400 launches, 0 kernels"),
                      self.recorder("390 launches, 800 kernels"),
                      self.recorder("400 launches, 790 kernels"),
                      self.recorder(right, "440 launches, 800 kernels"),
                      self.recorder(right, "what"), self.recorder(right, stacks=False),
                      self.recorder(right, python=True),
                      self.recorder(right + "\ngpumon-user: lost: 3 launches"),
                      self.recorder(right + "\ngpumon-user: CUPTI's buffers are those of the "
                                    "capture before, of which it has not given all back")):
            self.assertTrue(wrong.complaints(40, True, False))

    def test_kinds_of_records(self):
        with tempfile.TemporaryDirectory() as folder:
            one = attach.Recorder(1, [])
            one.folder = folder
            for count, kind in enumerate((20, attach.STACK, attach.FRAME, attach.WAIT), 1):
                records = struct.pack("<HHIQ", kind, 0, 16, 0)
                with open(os.path.join(folder, "process-1-1.records"), "ab") as file:
                    file.write(chunks.plain_chunk(records))
                one.look()
                self.assertEqual((len(one.kinds), kind in one.kinds), (count, True))


class Addition(unittest.TestCase):
    """What an addition to recording costs, with a program and recorders in place of the real ones."""

    class Recorder(checks_cost.Recorder):
        def __init__(self, is_with, subject):
            super().__init__(1, checks_cost.LOOKS, is_with, True)
            self.subject = subject
            self.kinds = {attach.STACK, attach.FRAME}

        def __enter__(self):
            self.subject.recorded_with.append(self.is_with)
            self.seconds += 2

        def __exit__(self, *_):
            self.take("gpumon-user: 1 process, 400 launches, 390 kernels, 9 copies and sets\n")
            if self.is_with:
                self.kinds |= checks_cost.LOOKS.kinds
            self.library_ns += 20000000 if self.is_with else 10000000

    class Subject:
        """speeds: how much longer all takes in the segments that count, one after the other."""
        steps = 10

        def __init__(self, speeds=(1,)):
            self.recorded_with = []
            self.speeds = itertools.cycle(speeds)
            self.median_step = self.yardstick = None

        def segment(self, window, steps=None):
            """The first of a capture, and the first captures, are slow."""
            slow = 50 if steps or len(self.recorded_with) < 3 else next(self.speeds)
            taken = slow * (1020000 if self.recorded_with[-1] else 1000000)
            self.median_step, self.yardstick = taken, slow * 500000 * self.steps
            return taken

    def run_all(self, *speeds):
        subject = self.Subject(speeds or (1,))
        recorders = {is_with: self.Recorder(is_with, subject) for is_with in (True, False)}
        return subject, recorders, checks_cost.measure(subject, recorders, 0)

    def test_known(self):
        subject, recorders, measured = self.run_all()
        for name in "whole", "median steps", "by the yardstick":
            s = pairs.summary(measured[name])
            self.assertEqual((s["pairs"], s["median"], s["q1"], s["q3"]), (8, 1.02, 1.02, 1.02))
        self.assertEqual(len(subject.recorded_with), 2 * 8 + 2)
        self.assertEqual((recorders[True].share(), recorders[False].share()), (1, 0.5))
        self.assertEqual([one.wrong() for one in recorders.values()], [[], []])
        self.assertTrue(pairs.goal_line("decode", "looks", s, None).endswith("MISSED"))

    def test_speed(self):
        """A machine whose speed changes: the yardstick has the ratio all the same."""
        _, _, measured = self.run_all(1, 1.5, 2)
        whole, scaled = (pairs.summary(measured[name]) for name in ("whole", "by the yardstick"))
        self.assertGreater(whole["q3"] - whole["q1"], 0.5)
        for value in scaled["median"], *scaled["sure"]:
            self.assertAlmostEqual(value, 1.02)

    def test_wrong(self):
        """A figure of captures that are not what they should be is none."""
        def changed(**values):
            recorder = self.run_all()[1][True]
            vars(recorder).update(values)
            return recorder
        kinds = {attach.STACK, attach.FRAME, attach.WAIT}
        self.assertEqual(changed().wrong(), [])
        for wrong in (*(changed(kinds=kinds - {kind}) for kind in kinds), changed(is_with=False),
                      changed(errors=["lost: 3 launches"]), changed(counts={}),
                      changed(counts={(400, 390, 9): 8, (400, 0, 9): 1})):
            self.assertEqual(len(wrong.wrong()), 1)

    def test_text(self):
        """What is printed has the median, the quartiles and the range of the median."""
        _, recorders, measured = self.run_all()
        with tempfile.TemporaryDirectory() as folder:
            before, steps.OUT = steps.OUT, folder
            said = len(steps.lines)
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    checks_cost.report("decode", checks_cost.LOOKS, measured, recorders)
            finally:
                steps.OUT = before
        text = "\n".join(steps.lines[said:])
        for part in ("decode, whole: median 1.020, quartiles 1.020 to 1.020, 95 % 1.020 to 1.020",
                     "decode, by the yardstick: median 1.020", "decode, with looks : without, 8 pairs; a step 1.000 ms without, added 0.020 ms",
                     "threads of the library: 1.00 % of a processor with looks, 0.50 % without",
                     "not ok goal decode looks: 1.020, at most 1.01: MISSED"):
            self.assertIn(part, text)


class Modes(unittest.TestCase):
    def setUp(self):
        path = os.path.join(programs.HERE, "bench")
        loader = importlib.machinery.SourceFileLoader("bench", path)
        self.bench = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench", loader))
        loader.exec_module(self.bench)

    def wanted(self, *modes):
        return self.bench.wanted_modes(argparse.Namespace(mode=modes and list(modes), add=[]))

    def test_said(self):
        self.assertEqual(self.wanted("native", "control"), ["control", "native"])

    def test_buffers(self):
        """Together, or one of them, but not if nothing is said."""
        group = self.wanted("buffers")
        self.assertEqual(len(group), 5)
        self.assertIn("buffers-512K-500ms", group)
        self.assertEqual(self.wanted("buffers-64K-500ms"), ["buffers-64K-500ms"])
        self.assertEqual(self.wanted("buffers", "records"), ["records", *group])
        self.assertEqual(self.wanted() + group, list(self.bench.MODES))


# As in workloads.py and known.cu: a step takes 1 ms, 2 in a window, except in each fifth segment.
PROGRAM = """
import os, sys
print("ready", os.getpid(), "1.0", flush=True)
for number, line in enumerate(sys.stdin):
    what, steps = line.split()
    slow = 700 if number % 5 == 4 else 1
    print(int(steps) * (2000000 if what == "window" else 1000000) * slow, flush=True)
"""


class Program(unittest.TestCase):
    def test_segments(self):
        with attach.Subject([sys.executable, "-c", PROGRAM], False) as subject:
            self.assertEqual((subject.pid, subject.version), (subject.process.pid, ["1.0"]))
            subject.calibrate(0.2)
            self.assertEqual(subject.steps, 200)
            s = pairs.summary(pairs.measure(subject.segment, 20, 1))
            self.assertEqual((s["median"], s["bare"]), (2, 1e6))
        self.assertEqual(subject.process.returncode, 0)

    def test_ends(self):
        with self.assertRaisesRegex(RuntimeError, "ended: 3"):
            attach.Subject([sys.executable, "-c", "raise SystemExit(3)"], False)


def tests():
    for suite in unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]):
        for case in suite:
            yield case.id().split(".", 1)[1].replace(".test_", "-").replace("_", "-").lower(), case.debug


if __name__ == "__main__":
    try:
        sys.exit(verdict.run(tests(), "device", sys.argv[1:]))
    finally:
        shutil.rmtree(programs.SCRATCH)
