# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""How long modules took, and what is kept for the next run."""
import os
import re
import stat

import kit
from images import text
from kit import Folder, check, contains, equal
from test_loaders import expect
from test_sass import expect as expect_patched

# Modules of which the times are kept.
KEPT = 256
MS = 1000000
FIRST = ("launch", "first", "1x32")
SECOND = ("launch", "second", "1x32")
CACHE_MAX = 64 << 20


def run(*words, **more):
    """IMAGE stands for a text with two kernels."""
    with Folder() as folder:
        path = folder.write("image", text("first", "second"))
        return folder.probe(*[path if word == "IMAGE" else word for word in words], **more)


def test_times_of_modules():
    result = run("context", "load", "data", "IMAGE", *FIRST, MOCK_COMPILE_MS=40)
    module, = result.rows("modules")
    equal((module["kernels"], module["one_kernel"], module["size_bytes"]), (2, "first", len(text("first", "second")) + 1),
          "kernels and size")
    check(module["edited_bytes"] > module["size_bytes"], f"size of the new image: {module}")
    check(module["edit_ns"] > 0, f"time to edit: {module}")
    check(module["load_ns"] >= 40 * MS, f"time to load: {module}")
    check(any(re.fullmatch(r"Edited the images of 1 module in \S+; the driver compiled and loaded 1 in \S+", note)
              for note in result.document["notes"]), f"notes: {result.document['notes']}")
    expect(result, "first", 1, 32)


def test_times_of_a_lazy_driver():
    """which compiles a kernel when it is needed"""
    module, = run("context", "load", "data", "IMAGE", *FIRST, MOCK_LAZY_MS=20).rows("modules")
    check(module["load_ns"] >= 2 * 20 * MS, f"time to load: {module}")


def test_times_of_too_large():
    """it is edited twice, and each costs time"""
    modules = run("context", "load", "data", "IMAGE", *FIRST, MOCK_LARGE="first").rows("modules")
    equal([(row["kernels"], row["one_kernel"]) for row in modules], [(2, "first"), (1, "second")], "modules")


def test_times_unknown():
    """what the library does not load by itself has no time; what is not loaded has none"""
    for words in (("none", "load", "library", "IMAGE", "context", *FIRST), ("context", "load", "link", "IMAGE", *FIRST),
                  ("context", "load", "link-file", "IMAGE", *FIRST)):
        module, = run(*words).rows("modules")
        equal(module["load_ns"], None, f"{words}: time to load")
        check(module["edit_ns"] > 0, f"time to edit: {module}")
    result = run("context", "load", "data", "IMAGE", *FIRST, MOCK_REFUSE=1)
    equal([row["load_ns"] for row in result.rows("modules")], [None] * 4, "refused, also without functions and one by one")
    contains("".join(result.document["notes"]), "the driver compiled and loaded 0 in 0ns", "notes")


def test_times_of_many_modules():
    result = run("context", "churn", KEPT + 4, "IMAGE", "first", "1x32")
    table = result.tables["modules"]
    equal((len(table["rows"]), table["rows_left_out"]), (KEPT, 4), "modules")
    contains("".join(result.document["notes"]), f"the driver compiled and loaded {KEPT + 4} in", "notes")
    contains("".join(result.document["notes"]), f"Edited the images of {KEPT + 4} modules in", "notes")


def test_times_none():
    check("modules" not in run("context", "load", "data", "IMAGE", *FIRST, options=("--kernel", "no")).tables, "modules")


def loaded_texts(folder, name, *words, **more):
    """The texts with programs that the driver compiles."""
    kept = os.path.join(folder.path, name)
    os.mkdir(kept)
    folder.probe(*words, MOCK_KEEP=kept, **more)
    found = set()
    for file in os.listdir(kept):
        with open(os.path.join(kept, file), encoding="ascii") as stream:
            found.add(stream.read())
    return found


def test_same_text_each_run():
    """the driver keeps what it has compiled by the text: memory, contexts and processes are not in it"""
    with Folder() as folder:
        one, other = folder.write("one", text("first")), folder.write("other", text("second"))
        texts = loaded_texts(folder, "plain", "context", "load", "data", one, *FIRST, "load", "library", other, *SECOND)
        equal(len(texts), 2, "texts")
        others = loaded_texts(folder, "others", "context", "contexts", 3, one, "first", "1x10", "load", "library", one,
                              *FIRST, "context", "load", "file", other, *SECOND)
        equal(others, texts, "texts of a run with more contexts")


class Patched:
    """Runs with --sass whose assembler counts its calls."""

    def __init__(self, folder):
        self.folder = folder
        self.image = folder.write("image", folder.cubin(text("first")))
        self.calls_file = os.path.join(folder.path, "calls")
        self.ptxas = folder.write("ptxas", f'#!/bin/sh\necho >>{self.calls_file}\nexec {kit.objects}/ptxas "$@"\n')
        os.chmod(self.ptxas, 0o755)
        self.cache = os.path.join(folder.path, "cache/gpumon/patches")

    def calls(self):
        return os.path.getsize(self.calls_file) if os.path.exists(self.calls_file) else 0

    def run(self, source, *options, what="", **environment):
        """The patches come from there, and the result is right."""
        before = self.calls()
        result = self.folder.probe("context", "load", "data", self.image, *FIRST, tool="count",
                                   options=("--sass", "--ptxas", self.ptxas, "--sanitizer",
                                            os.path.join(kit.objects, "libsanitizer-public.so"), *options), **environment)
        equal([row["from"] for row in result.rows("patches")], [source], f"{what}: patches")
        equal(self.calls() - before, int(source == "ptxas"), f"{what}: calls of the assembler")
        expect_patched(result, "first", 1, 32)
        return result

    def file(self):
        """The only one in the cache."""
        name, = os.listdir(self.cache)
        return os.path.join(self.cache, name)


def test_patches_are_kept():
    with Folder() as folder:
        patched = Patched(folder)
        first = patched.run("ptxas")
        again = patched.run("cache")
        for result in first, again:
            row, = result.rows("patches")
            check(row["took_ns"] > 0 and row["size_bytes"] > 0 and row["sm"] > 0, f"patches: {row}")
            module, = result.rows("modules")
            equal((module["kernels"], module["edited_bytes"]), (1, None), "module")
            check(module["load_ns"] is not None, "time of the sanitizer")
        contains("".join(first.document["notes"]), "Assembled the programs for sm_", "notes")
        contains("".join(again.document["notes"]), "Read from the cache the programs for sm_", "notes")
        equal(stat.S_IMODE(os.stat(patched.file()).st_mode), 0o600, "mode of the file")
        for path in "cache", "cache/gpumon", "cache/gpumon/patches":
            equal(stat.S_IMODE(os.stat(os.path.join(folder.path, path)).st_mode), 0o700, f"mode of {path}")
        patched.run("ptxas", "--sample", "1/2", what="another text")
        patched.run("cache", "--sample", "1/2", what="another text, again")
        patched.run("cache", what="the first text is still there")
        os.utime(patched.ptxas, ns=(10**18, 10**18))
        patched.run("ptxas", what="another assembler")


def test_patches_kept_in_home():
    """without XDG_CACHE_HOME, or if that is no whole path"""
    with Folder() as folder:
        patched = Patched(folder)
        patched.run("ptxas", XDG_CACHE_HOME="", HOME=folder.path)
        patched.run("cache", XDG_CACHE_HOME="relative", HOME=folder.path)
        equal(len(os.listdir(os.path.join(folder.path, ".cache/gpumon/patches"))), 1, "files")


def damages(path):
    """{what: a function that does it to the file}"""
    with open(path, "rb") as file:
        good = file.read()

    def put(data):
        with open(path, "wb") as file:
            file.write(data)

    def flip(at):
        return lambda: put(good[:at] + bytes([good[at] ^ 1]) + good[at + 1:])

    def link():
        os.rename(path, path + ".moved")
        os.symlink(path + ".moved", path)

    def pipe():
        os.unlink(path)
        os.mkfifo(path)
    found = {"empty": lambda: put(b""), "cut off": lambda: put(good[:-1]), "longer": lambda: put(good + b"x"),
             "head only": lambda: put(good[:32]), "in the mark": flip(0), "in a size": flip(8), "in the other size": flip(16),
             "in the sum": flip(24), "in the key": flip(40), "in the code": flip(len(good) - 9),
             "others can write it": lambda: os.chmod(path, 0o622), "a link": link, "a pipe": pipe}
    if not os.geteuid():
        found["another user's"] = lambda: os.chown(path, 1, 1)
    return found


def test_patches_damaged():
    with Folder() as folder:
        patched = Patched(folder)
        patched.run("ptxas")
        path = patched.file()
        for what, damage in damages(path).items():
            damage()
            patched.run("ptxas", what=what)
            patched.run("cache", what=f"{what}, behind it")
            if os.path.exists(path + ".moved"):
                os.unlink(path + ".moved")


def test_patches_of_another_key():
    """a file under the wrong name, as two keys may have the same one"""
    with Folder() as folder:
        patched = Patched(folder)
        # As long as the other one.
        patched.run("ptxas", "--sample", "1/4")
        path = patched.file()
        patched.run("ptxas", "--sample", "1/2")
        other, = set(os.listdir(patched.cache)) - {os.path.basename(path)}
        os.replace(os.path.join(patched.cache, other), path)
        patched.run("ptxas", "--sample", "1/4", what="the other one's file")


def test_patches_without_a_cache():
    """nothing is said, as nothing is wrong"""
    with Folder() as folder:
        patched = Patched(folder)
        file = folder.write("file", "")
        for what, environment in (("a file", {"XDG_CACHE_HOME": file}), ("not there", {"XDG_CACHE_HOME": "/proc/no/such"}),
                                  ("cannot be written", {"XDG_CACHE_HOME": "/proc"}),
                                  ("no home", {"XDG_CACHE_HOME": "", "HOME": ""})):
            for _ in range(2):
                result = patched.run("ptxas", what=what, **environment)
                equal([line for line in result.errors.splitlines() if "(SASS)" not in line], [], f"{what}: messages")


def test_patches_of_another_user():
    """root writes nothing into the folders of others, and reads nothing there"""
    if os.geteuid():
        raise kit.Skip("not root")
    with Folder() as folder:
        patched = Patched(folder)
        home = os.path.join(folder.path, "home")
        os.mkdir(home)
        os.chown(home, 1, 1)
        for _ in range(2):
            patched.run("ptxas", XDG_CACHE_HOME="", HOME=home)
        equal(os.listdir(home), [], "the other one's home")
        patched.run("ptxas")
        for path in patched.cache, os.path.dirname(patched.cache), os.path.join(folder.path, "cache"):
            os.chown(path, 1, 1)
            patched.run("ptxas", what=path)
            equal(len(os.listdir(patched.cache)), 1, f"{path}: files")
            os.chown(path, 0, 0)
            patched.run("cache", what=path)


def test_patches_bound():
    """what was not used for longest goes"""
    with Folder() as folder:
        patched = Patched(folder)
        patched.run("ptxas")
        used = patched.file()
        os.utime(used, (1, 1))
        for age, name in enumerate(("newer", "older", "oldest")):
            path = os.path.join(patched.cache, name)
            with open(path, "wb") as file:
                file.truncate(CACHE_MAX * 2 // 5)
            os.utime(path, (10**9 - age, 10**9 - age))
        patched.run("cache")
        equal(len(os.listdir(patched.cache)), 4, "files before something is added")
        patched.run("ptxas", "--sample", "1/2")
        names = os.listdir(patched.cache)
        equal(("newer" in names, "older" in names, "oldest" in names), (True, True, False), "files")
        equal(len(names), 4, "with what was used and what was added")
        patched.run("cache")
