#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Files that have to repeat the version have that of the code: version.py [TREE] [--set VERSION]

The version is that of kmod/uapi/gpumon_version.h. Files in which it stands once more, because others read
them without the code, are in the list below. Prints a line for each that differs, and fails. --set writes another
version into all of them, but for the changelog, whose first heading has to be written.
"""
import os
import re
import sys

HEADER = ("kmod/uapi/gpumon_version.h", r'^#define GPUMON_VERSION "(.*)"$')
CHANGELOG = ("Documentation/CHANGELOG.md", r"\A# .*\n+## ([^\s,]+)")
MAN = "Documentation/man"
PAGE = r'^\.TH .* "gpumon ([^"]*)"'
OTHERS = (
    ("dkms.conf", r'^PACKAGE_VERSION="(.*)"$'),
    ("packaging/rpm/gpumon.spec", r"^Version: +(\S+)$"),
    ("packaging/arch/PKGBUILD", r"^pkgver=(\S+)$"),
    ("packaging/kubernetes/chart/Chart.yaml", r"^version: (\S+)$"),
    ("packaging/kubernetes/chart/Chart.yaml", r'^appVersion: "(.*)"$'),
    ("packaging/kubernetes/daemonset.yaml", r'app.kubernetes.io/version: "(.*)"$'),
    ("packaging/kubernetes/daemonset.yaml", r'image: "gpumon:(.*)"$'),
    ("Documentation/develop/adding-a-command.md", PAGE),
    ("Documentation/user/examples.md", r"^version (\S+)$"),
)


def main():
    arguments = sys.argv[1:]
    new = None
    if "--set" in arguments:
        at = arguments.index("--set")
        new = (arguments[at + 1:at + 2] or [""])[0]
        if not re.fullmatch(r"\d+\.\d+\.\d+", new):
            sys.exit("version.py: --set wants a version such as 1.2.3")
        del arguments[at:at + 2]
    tree = arguments[0] if arguments else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    others = [*OTHERS, *((f"{MAN}/{name}", PAGE) for name in sorted(os.listdir(os.path.join(tree, MAN))))]
    said = []
    version = None
    for name, pattern in (HEADER, *others, CHANGELOG):
        path = os.path.join(tree, name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        found = re.search(pattern, text, re.MULTILINE)
        if not found:
            said.append(f"{name}: has no version")
        elif new and name != CHANGELOG[0]:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text[:found.start(1)] + new + text[found.end(1):])
        elif not new:
            version = version or found[1]
            if found[1] != version:
                said.append(f"{name}: {found[1]} is not {version}")
    print("\n".join(said), end="\n" if said else "")
    return bool(said)


if __name__ == "__main__":
    sys.exit(main())
