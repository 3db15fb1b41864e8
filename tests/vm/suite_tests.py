# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The tests of tests/suite: what their headers ask for, and which VM they need (README.md)."""
import fnmatch
import os
import re

HEADER = re.compile(r"# vm:\s*(.*)")
# Their values extend to the end of the line.
LONG_VALUE = re.compile(r"(append|not-sanitised|not-arm64)=(.*)")
HEADER_LINES = 20
CLASSES = ("each-kernel", "newest", "once", "full", "arm64", "nvidia")
# The order with the fewest loads of drivers.
DRIVERS = ("stay", "unload", "absent")


class Wrong(Exception):
    """A header cannot be used. The message says what to do."""


def read_header(lines):
    """{key: value} of the "# vm:" lines; a key without a value is "1", "device" a list."""
    header = {"device": []}
    for line in lines:
        match = HEADER.match(line.rstrip("\n"))
        if not match:
            continue
        text = match[1]
        if long_value := LONG_VALUE.search(text):
            header[long_value[1]] = long_value[2]
            text = text[:long_value.start()]
        for word in text.split():
            key, equals, value = word.partition("=")
            if key == "device":
                header["device"].append(value)
            else:
                header[key] = value if equals else "1"
    return header


class Test:
    def __init__(self, path):
        self.path = path
        self.name = path.stem
        with open(path, encoding="utf-8") as file:
            self.header = read_header(line for line, _ in zip(file, range(HEADER_LINES)))

    @property
    def classes(self):
        classes = [word for word in self.header.get("class", "").split(",") if word]
        if not classes:
            raise Wrong(f"{self.name}: it has no class (see tests/README.md)")
        for word in classes:
            if word not in CLASSES:
                raise Wrong(f"{self.name}: there is no class '{word}' (see tests/README.md)")
        return classes

    @property
    def uses_tool(self):
        """Whether it runs what is built of user/. Others do not find it, see guest/suite."""
        return "tool" in self.header

    def why_not(self, kernel, has_module):
        """The reason why a kernel does not run it, None if it does."""
        if "nvidia" in self.classes and len(self.classes) == 1 and not kernel.nvidia:
            return "only with NVIDIA's real driver, tests/vm/nvidia.list"
        only = self.header.get("kernels")
        if only and not is_among(kernel, only.split(",")):
            return f"only for {only}"
        if kernel.fragments and "not-sanitised" in self.header:
            return self.header["not-sanitised"]
        if kernel.arch == "arm64" and "not-arm64" in self.header:
            return self.header["not-arm64"]
        for module in filter(None, self.header.get("needs", "").split(",")):
            if not has_module(module):
                if kernel.fragments:
                    return (f"{kernel.name} was built without {module}; "
                            f"GPUMON_DEEP=1 tests/vm/prepare {kernel.name} builds it")
                return f"{kernel.arch} has no {module}"
        return None

    def limit(self, kernel, icount, deep):
        """Seconds after which the guest ends it."""
        limit = int(self.header.get("timeout", 120))
        # Only a test that hangs should reach its limit: on a busy host a guest is several times slower.
        # With -icount the guest's time slows down with it.
        if not icount and not deep and kernel.slower == 1:
            limit *= 5
        if deep:
            limit = int(self.header.get("deep-timeout", limit))
        return limit * kernel.slower

    def options(self, kernel, icount):
        """Options of tests/vm/run: tests with the same ones share a boot."""
        options = ["--icount"] if icount else []
        for key in ("cpus", "memory", "append"):
            value = self.header.get(key)
            # Without -icount a VM has two anyway.
            if not value or (key, value) == ("cpus", "2") and not icount:
                continue
            # A sanitised kernel needs its own memory, too.
            if key == "memory" and kernel.fragments:
                value = str(max(int(value), kernel.memory))
            options += [f"--{key}", value]
        for device in self.header["device"]:
            options += ["--device", device]
        if "drivers" in self.header:
            options.append("--drivers")
        return options


def is_among(kernel, names):
    """A sanitised kernel matches its own name, that of its line, and the word sanitised."""
    return kernel.name in names or kernel.line in names or bool(kernel.fragments) and "sanitised" in names


def read_tests(folder):
    """All tests of a folder, by their names: executable files that do not begin with _."""
    paths = [path for path in folder.iterdir() if path.suffix in (".sh", ".py") and path.name[0] != "_"]
    return [Test(path) for path in sorted(paths, key=lambda path: path.stem) if os.access(path, os.X_OK)]


def named(tests, patterns):
    """Those with these names, in the order of the names: NAME, FOLDER/NAME.py, storm-*."""
    chosen = []
    for pattern in patterns:
        name = re.sub(r"\.(py|sh)$", "", pattern.rsplit("/", 1)[-1])
        found = [test for test in tests if fnmatch.fnmatchcase(test.name, name)]
        if not found and not re.search(r"[*?\[]", name):
            raise Wrong(f"no test '{name}' in tests/suite")
        chosen += [test for test in found if test not in chosen]
    return chosen


def in_classes(tests, classes):
    """Those of one of these classes; all if there are none."""
    return [test for test in tests if not classes or set(classes) & set(test.classes)]


class Boot:
    """A VM, and the tests that run in it. Its kind is what --boots names."""
    def __init__(self, options, kind=None):
        self.options = options
        self.kind = kind or ("icount" if "--icount" in options else "other")
        self.tests = []


def share_boots(tests, options_of, apart=False):
    """The boots that tests need, the ordinary one first; apart: each has its own."""
    boots = [Boot([], "ordinary")]
    shared = {(): boots[0]}
    for test in sorted(tests, key=lambda test: (DRIVERS.index(test.header.get("drivers", "stay")), not test.uses_tool)):
        options = options_of(test)
        alone = apart or "own-boot" in test.header
        boot = None if alone else shared.get(tuple(options))
        if not boot:
            boot = Boot(options)
            boots.append(boot)
            if not alone:
                shared[tuple(options)] = boot
        boot.tests.append(test)
    return boots
