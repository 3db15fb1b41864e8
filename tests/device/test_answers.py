#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The checks of tests/device, without a GPU: they find errors, and nothing else."""
import copy
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import answers  # noqa: E402
import verdict  # noqa: E402


def profile():
    """Two kernels of known.cu, each below the function that launches it, and one without a stack.
    """
    def node(parent, kind, name, count=0, gpu_ns=0):
        return {"parent": parent, "kind": kind, "name": name, "module": None, "line": None,
                "count": count, "gpu_ns": gpu_ns, "cpu_ns": 0}
    none = {"kernel": 0, "copy": 0, "set": 0}
    return {
        "nodes": [node(None, "root", "all"), node(0, "function", "main"),
                  node(1, "function", "void place<1>(CUstream_st*, unsigned int)"),
                  node(2, "api", "cudaLaunchKernel"),
                  node(3, "kernel", "void kernel<1>(unsigned int*, unsigned int)", 3, 300),
                  node(1, "function", "place_ex(CUstream_st*)"),
                  node(5, "api", "cudaLaunchKernelExC"),
                  node(6, "kernel", "void kernel<4>(unsigned int*, unsigned int)", 2, 50),
                  node(0, "reason", "[kernel without launch]"),
                  node(8, "kernel", "void kernel<4>(unsigned int*, unsigned int)", 1, 7)],
        "kernels": [
            {"name": "void kernel<1>(unsigned int*, unsigned int)", "kind": "kernel", "count": 3,
             "gpu_ns": 300},
            {"name": "void kernel<4>(unsigned int*, unsigned int)", "kind": "kernel", "count": 3,
             "gpu_ns": 57}],
        "recording": {"count": 6, "gpu_ns": 357},
        "missing": {"losses": {"withheld": 0, "broken": 2},
                    "works": {"stack": {**none, "kernel": 5}, "graph_node": none, "no_stack": none,
                              "no_launch": {**none, "kernel": 1}, "internal": none,
                              "ambiguous": none},
                    "launches": {"with_work": 5, "without_work": 1, "captured_into_graph": 0,
                                 "refused": 0},
                    "damage": {"broken_info": False, "truncated_bytes": 0}}}


ACCOUNT = {"launches": 6, "captured": 0, "copies": 0, "sets": 0, "failed": 0,
           "kernels": {"1": {"count": 3}, "4": {"count": 3}}}


class Names(unittest.TestCase):
    def test_base(self):
        for name, base in (("void place<1>(CUstream_st*, unsigned int)", "place<1>"),
                           ("place_ex(CUstream_st*)", "place_ex"), ("main", "main"),
                           ("place<1>", "place<1>"), ("known+0x1234", "known+0x1234"),
                           ("a::b<c (*)(int)>::d(int)", "a::b<c (*)(int)>::d"),
                           ("void (anonymous namespace)::f<int>(int)",
                            "(anonymous namespace)::f<int>"), ("[unknown]", "[unknown]")):
            self.assertEqual(answers.base(name), base)

    def test_account_key(self):
        self.assertEqual(answers.account_key("void spin<12>(unsigned long long)"), "12")
        self.assertEqual(answers.account_key("rmsnorm(float*, float const*)"), "rmsnorm")


class Profiles(unittest.TestCase):
    def test_right(self):
        self.assertEqual(answers.complaints(profile()), [])
        self.assertEqual(answers.differences(profile(), [ACCOUNT]), [])
        self.assertEqual(answers.lost(profile()), {"broken": 2})
        sums, wrong = answers.stacks(profile())
        self.assertEqual(sums, {"right": [5, 350], "wrong": [0, 0], "without": [1, 7],
                                "other": [0, 0]})
        self.assertEqual(wrong, {})

    def test_wrong_stack(self):
        swapped = profile()
        swapped["nodes"][4]["name"], swapped["nodes"][7]["name"] = (
            swapped["nodes"][7]["name"], swapped["nodes"][4]["name"])
        sums, wrong = answers.stacks(swapped)
        self.assertEqual(sums["wrong"], [5, 350])
        self.assertEqual(len(wrong), 2)

    def test_innermost_counts(self):
        """An outer function that launches something else is not the launcher."""
        nested = profile()
        nested["nodes"][1]["name"] = "place_ex(CUstream_st*)"
        self.assertEqual(answers.stacks(nested)[0]["wrong"], [0, 0])

    def test_nothing_known_above(self):
        nameless = profile()
        nameless["nodes"][2]["name"] = "known+0x77"
        self.assertEqual(answers.stacks(nameless)[0]["wrong"], [3, 300])

    def test_every_number_is_looked_at(self):
        def changes():
            yield lambda p: p["nodes"][4].update(gpu_ns=299)
            yield lambda p: p["nodes"][4].update(count=4)
            yield lambda p: p["kernels"][0].update(count=2)
            yield lambda p: p["kernels"][0].update(gpu_ns=2)
            yield lambda p: p["recording"].update(gpu_ns=1)
            yield lambda p: p["recording"].update(count=7)
            yield lambda p: p["missing"]["works"]["ambiguous"].update(kernel=1)
            yield lambda p: p["missing"]["damage"].update(truncated_bytes=1)
            yield lambda p: p["nodes"][8].update(kind="function")
        for number, change in enumerate(changes()):
            changed = copy.deepcopy(profile())
            change(changed)
            self.assertTrue(answers.complaints(changed), number)

    def test_differences(self):
        for key in ("launches", "captured", "copies", "sets", "failed"):
            self.assertTrue(answers.differences(profile(), [{**ACCOUNT, key: 77}]), key)
        other = {**ACCOUNT, "kernels": {"1": {"count": 3}, "5": {"count": 3}}}
        self.assertTrue(answers.differences(profile(), [other]))
        self.assertTrue(answers.differences(profile(), [ACCOUNT, ACCOUNT]))

    def test_cublas(self):
        account = {**ACCOUNT, "kernels": {"1": {"count": 3}}, "cublas_calls": 3}
        self.assertEqual(answers.differences(profile(), [account]), [])
        account["cublas_calls"] = 4
        self.assertTrue(answers.differences(profile(), [account]))


class Scripts(unittest.TestCase):
    def test_compile(self):
        """The files that run only with a GPU are valid Python."""
        here = os.path.dirname(os.path.abspath(__file__))
        for name in sorted(os.listdir(here)):
            path = os.path.join(here, name)
            if not os.path.isfile(path):
                continue
            with open(path, encoding="utf-8") as file:
                text = file.read()
            if name.endswith(".py") or "python3" in text.split("\n", 1)[0]:
                compile(text, path, "exec")


def tests():
    for suite in unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]):
        for case in suite:
            yield case.id().split(".", 1)[1].replace(".test_", "-").replace("_", "-").lower(), case.debug


if __name__ == "__main__":
    sys.exit(verdict.run(tests(), "device", sys.argv[1:]))
