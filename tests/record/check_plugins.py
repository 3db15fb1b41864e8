# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Names of libraries that come and go within a recording."""
import os
import shutil
import subprocess

from check_bad_input import injected
from kit import Skip, equal, test


def plugin(kit, letter):
    """Like that of tests/inject, with its own function on the path to the launch."""
    path = kit.path(f"plugin-{letter}.so")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../inject/plugin.c")
    with open(source, encoding="utf-8") as file:
        original = file.read()
    includes = [word for folder in subprocess.run(
        [os.path.join(os.path.dirname(source), "../lib/cuda"), "headers"], stdout=subprocess.PIPE,
        text=True, check=False).stdout.split() for word in
                ("-isystem", f"{folder}/include", "-isystem", f"{folder}/extras/CUPTI/include")]
    text = (original.replace("void plugin(const char *kernel);", "")
            .replace("void plugin(const char *kernel)", f"void plugin_{letter}(const char *kernel)")
            .replace(f"void plugin_{letter}(", f"__attribute__((noinline)) void plugin_{letter}(")
            + f"void plugin(const char *k) {{ plugin_{letter}(k); __asm__ volatile(\"\"); }}\n")
    done = subprocess.run(["gcc", "-g", "-O1", "-w", "-shared", "-fPIC", *includes, "-o", path, "-x", "c",
                           "-", f"-L{kit.inject}", "-l:libcudart.so.13"], input=text,
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise Skip(f"no compiler: {done.stderr.splitlines()[0]}")
    return path


@test
def closed_at_once(kit):
    """Each is unloaded right after its launch, and the next takes its place: names do not mix."""
    if not kit.inject or not shutil.which("gcc"):
        raise Skip("no compiler, or no cupti.h")
    words = injected(kit)
    paths = [plugin(kit, letter) for letter in "ab"]
    kit.run("record", "-q", "-o", "capture", "--", *words, "plugins", "40", *paths)
    lines = kit.run("flamegraph", "--folded", "--functions", "--count", "capture").stdout.decode().splitlines()
    counts = {letter: sum(int(line.split()[-1]) for line in lines
                          if f";plugin;plugin_{letter};" in line) for letter in "ab"}
    equal(counts, {"a": 20, "b": 20}, f"launches by plug-in: {lines}")


@test
def closed_and_opened_again(kit):
    """The same library at the same place in each round, by a relative path: no frame stays unknown."""
    if not kit.inject or not shutil.which("gcc"):
        raise Skip("no compiler, or no cupti.h")
    words = injected(kit)
    path = "./" + os.path.basename(plugin(kit, "c"))
    kit.run("record", "-q", "-o", "capture", "--", *words, "plugins", "40", path, path)
    lines = kit.run("flamegraph", "--folded", "--count", "capture").stdout.decode().splitlines()
    equal(sum(int(line.split()[-1]) for line in lines if ";plugin_c (" in line), 40,
          f"launches with their plug-in's name: {lines}")
