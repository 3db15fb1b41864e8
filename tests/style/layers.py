#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Includes go in one direction: layers.py [TREE [TABLE]]

The table (tests/style/layers) says which folder may include headers of which others. This prints a
line for each include against it, and for each circle of files, and fails if there is one.
"""
import os
import re
import sys

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.MULTILINE)
# Written during the build.
GENERATED = re.compile(r"\.skel\.h$|conftest|^vmlinux\.h$|^pages\.h$")
COMPONENTS = ("kmod", "user", "inject", "bpf")


def read_table(path):
    """{folder: all folders that it may include from}, from lines of direct neighbours."""
    direct = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            folder, colon, below = line.partition(":")
            if not colon or folder in direct:
                sys.exit(f"{path}:{number}: not FOLDER: FOLDER..., or a second line for the folder")
            direct[folder] = below.split()
    reach = {}

    def closure(folder, above):
        if folder in above:
            sys.exit(f"{path}: a circle: {' -> '.join(above + [folder])}")
        if folder not in direct:
            sys.exit(f"{path}: {folder} has no line of its own")
        if folder not in reach:
            reach[folder] = set().union(*({f} | closure(f, above + [folder]) for f in direct[folder]))
        return reach[folder]

    for folder in direct:
        closure(folder, [])
    return reach


def sources(tree):
    for component in COMPONENTS:
        for folder, folders, files in os.walk(os.path.join(tree, component)):
            # Results of a build.
            folders[:] = [f for f in folders if f not in ("obj", "out")]
            for name in files:
                if name.endswith((".c", ".h")) and not name.endswith((".mod.c", ".skel.h")):
                    yield os.path.relpath(os.path.join(folder, name), tree)


def resolve(tree, source, name):
    """The included file: beside the source, else from the component's top, else from the tree's."""
    for base in (os.path.dirname(source), source.split("/")[0], ""):
        path = os.path.normpath(os.path.join(base, name))
        if os.path.isfile(os.path.join(tree, path)):
            return path
    return None


def circles(includes):
    """Each circle of files once, as a list."""
    state, stack, found = {}, [], []

    def visit(source):
        state[source] = "open"
        stack.append(source)
        for target in includes.get(source, ()):
            if state.get(target) == "open":
                found.append(stack[stack.index(target):] + [target])
            elif target not in state:
                visit(target)
        stack.pop()
        state[source] = "done"

    for source in sorted(includes):
        if source not in state:
            visit(source)
    return found


def main(tree=".", table="tests/style/layers"):
    reach = read_table(table)
    complaints, includes, seen = [], {}, set()
    for source in sorted(sources(tree)):
        folder = os.path.dirname(source)
        seen.add(folder)
        if folder not in reach:
            complaints.append(f"{source}: {folder} is not in {table}")
            continue
        with open(os.path.join(tree, source), encoding="utf-8") as file:
            names = INCLUDE.findall(file.read())
        for name in names:
            target = resolve(tree, source, name)
            if target is None:
                if not GENERATED.search(name):
                    complaints.append(f"{source}: there is no {name}")
                continue
            includes.setdefault(source, []).append(target)
            other = os.path.dirname(target)
            if other != folder and other not in reach[folder]:
                complaints.append(f"{source}: {folder} may not include {target}")
    complaints += [f"{table}: {folder} has no sources" for folder in sorted(set(reach) - seen)]
    complaints += ["a circle: " + " -> ".join(circle) for circle in circles(includes)]
    print("\n".join(complaints), end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
