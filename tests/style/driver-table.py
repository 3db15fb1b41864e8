#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The table of NVIDIA's drivers in kernels.md says what the tests run: driver-table.py [TREE]

Each kernel of tests/vm/nvidia.list stands in one row, of the right kind of modules, and no other
does. A driver is "yes" with the mock if there is a mock of its branch, which all are. One that ran on
a GPU stands in tests/results/. Prints what differs, and fails.
"""
import os
import re
import sys

PAGE = "Documentation/reference/kernels.md"
LIST = "tests/vm/nvidia.list"
MOCKS = "tests/suite/lib/nvidia.py"
RESULTS = "tests/results"
HEAD = "| driver | mock | real module without a GPU | real GPU |"


def read(tree, path):
    with open(os.path.join(tree, path), encoding="utf-8") as file:
        return file.read()


def rows(page):
    """The cells of each row."""
    lines = page[page.index(HEAD):].splitlines()[2:]
    for line in lines:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split("|")]


def kernels(text):
    """{name: is its package of the open modules?}"""
    return {line.split("\t")[0]: "-open-" in line.split("\t")[3]
            for line in text.splitlines() if line and not line.startswith("#")}


def complaints(tree):
    lab = kernels(read(tree, LIST))
    mocks = set(re.findall(r'"(\d+)', re.search(r"^VARIANTS = \((.*)\)$", read(tree, MOCKS),
                                                re.MULTILINE)[1]))
    results = "".join(read(tree, os.path.join(RESULTS, name))
                      for name in os.listdir(os.path.join(tree, RESULTS)) if name.endswith(".md"))
    unseen_kernels, unseen_mocks = dict(lab), set(mocks)
    for driver, mock, module, gpu in rows(read(tree, PAGE)):
        branch = driver.split(".")[0]
        if mock.startswith("yes"):
            unseen_mocks.discard(branch)
        if mock.startswith("yes") != (branch in mocks):
            yield f"{driver}: the mocks are of {', '.join(sorted(mocks))}"
        names = re.findall(r"`([^`]+)`", module)
        if not names and not module.startswith("not run"):
            yield f"{driver}: neither a kernel of {LIST} nor \"not run\": {module}"
        for name in names:
            if name not in lab:
                yield f"{driver}: {name} is not in {LIST}"
            elif name not in unseen_kernels:
                yield f"{driver}: {name} is in another row, too"
            elif lab[name] != ("open" in driver):
                yield f"{driver}: the package of {name} is of the other kind of modules"
            unseen_kernels.pop(name, None)
        if not gpu.startswith("not run") and driver.split(",")[0] not in results:
            yield f"{driver}: ran on a GPU, and is not in {RESULTS}/"
    for name in unseen_kernels:
        yield f"{name} of {LIST} is in no row"
    for branch in sorted(unseen_mocks):
        yield f"the mock of {branch} is in no row"


found = list(complaints(sys.argv[1] if len(sys.argv) > 1 else "."))
for one in found:
    print(f"{PAGE}: {one}")
sys.exit(1 if found else 0)
