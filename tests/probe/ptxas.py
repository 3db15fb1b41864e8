#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""ptxas.py OBJECTS: what the translator writes, through each ptxas for each of its architectures.

A hand-written corpus with each helper and each kind of map, random programs, and gpumon's own tools;
those that can be patches of machine code as such, too.
The sizes of corpus and tools, in instructions of the GPU, are printed; some have a limit.

All architectures with GPUMON_FULL=1, otherwise one of each generation, by the seed.
"""
import glob
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
GPU = os.path.join(HERE, "../../bpf/gpu")
sys.path.insert(0, os.path.join(HERE, "../lib"))
import verdict  # noqa: E402

RANDOM_PROGRAMS = 40
# Tools without gpumon_keep().
PATCHES = ("launchlate", "memtrace", "threadhist")
# Padding at the end of a kernel: NOP, and a jump to itself.
NOP, BRA = 0x918, 0x947


def assemblers():
    """Paths; each line has a version and a path."""
    out = subprocess.run([os.path.join(HERE, "../lib/cuda"), "assemblers"], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True, check=False).stdout
    return [line.split(maxsplit=1)[1] for line in out.splitlines()]


def known(ptxas):
    """(version, newest ISA, architectures, those with a letter)"""
    text = subprocess.run([ptxas, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    release = re.search(r"release (\d+)\.(\d+)", text)
    major, minor = int(release[1]), int(release[2])
    text = subprocess.run([ptxas, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    architectures = sorted({int(a) for a in re.findall(r"'sm_(\d+)'", text)})
    letters = sorted(set(re.findall(r"'sm_(\d+[a-z])'", text)))
    isa = {11: 70 + minor, 12: 80 + minor, 13: 90 + minor}[major]
    return f"{major}.{minor}", isa, architectures, letters


def oldest_isa(architecture):
    """The PTX version with which an architecture came."""
    table = {75: 63, 80: 70, 86: 71, 87: 74, 88: 90, 89: 78, 90: 78, 100: 86, 103: 88, 110: 90, 120: 87, 121: 88}
    return table.get(architecture, 50 if architecture < 70 else 60 if architecture < 72 else 61)


def instructions(cubin):
    """{kernel: its instructions}, for sm_70 and later, where each one has 16 bytes."""
    with open(cubin, "rb") as file:
        data = file.read()
    offset, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    sections = [struct.unpack_from("<IIQQQQ", data, offset + i * size) for i in range(count)]
    texts = sections[names][4]
    result = {}
    for name, _, _, _, start, length in sections:
        name = data[texts + name:data.index(b"\0", texts + name)].decode()
        if not name.startswith(".text."):
            continue
        codes = [struct.unpack_from("<H", data, start + i)[0] & 0xfff for i in range(0, length, 16)]
        while codes and codes[-1] == NOP:
            codes.pop()
        if codes and codes[-1] == BRA:
            codes.pop()
        result[name[6:]] = len(codes)
    return result


def assemble(ptxas, objects, folder, isa, architecture, *what):
    """Why it fails, or None, and the lines of -v."""
    source = os.path.join(folder, "module.ptx")
    with open(source, "w", encoding="ascii") as file:
        made = subprocess.run([os.path.join(objects, "emit_ptx"), str(isa), str(architecture), *what],
                              stdout=file, stderr=subprocess.PIPE, text=True, check=False)
    if made.returncode:
        return f"emit_ptx: {made.stderr}", ""
    as_patch = ["--compile-as-tools-patch"] if what[0] == "patch" else []
    done = subprocess.run([ptxas, f"-arch=sm_{architecture}", "-v", *as_patch, "-o",
                           os.path.join(folder, "module.cubin"), source], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        return done.stdout[:2000], done.stdout
    return None, done.stdout


def patch(ptxas, objects, folder, isa, architecture, name):
    """Why a tool cannot be assembled as functions for patches, or None."""
    why, _ = assemble(ptxas, objects, folder, isa, architecture, "patch",
                      os.path.join(objects, "bpf", "v3", name + ".bpf.o"))
    if why:
        return f"{name} as a patch: {why}"
    with open(os.path.join(folder, "module.ptx"), encoding="ascii") as file:
        text = file.read()
    with open(os.path.join(folder, "module.cubin"), "rb") as file:
        cubin = file.read()
    missing = [f for f in re.findall(r"\.visible \.func \([^)]*\) (\w+)", text) if b".text." + f.encode() not in cubin]
    return f"{name} as a patch: no {missing}" if missing or "gpumon_at_" not in text else None


def sizes(folder, log):
    """Why a program of the corpus is too large, or None. Prints all of them."""
    with open(os.path.join(folder, "module.ptx"), encoding="ascii") as file:
        limits = dict(part.split("=") for part in file.readline().split()[2:])
    counts = instructions(os.path.join(folder, "module.cubin"))
    used = dict(re.findall(r"Function properties for (\w+).*?Used (\d+) registers", log, re.DOTALL))
    bare, over = counts.pop("bare"), []
    for name, count in counts.items():
        limit = limits.get(name)
        print(f"    {name:16} {count - bare:4} instructions{' of at most ' + limit if limit else '':16} "
              f"{int(used[name]) - int(used['bare']):3} registers more than {used['bare']}")
        if limit and count - bare > int(limit):
            over.append(f"{name}: {count - bare} instructions")
    if re.search(r"[1-9]\d* bytes stack frame", log):
        over.append("the corpus needs no frame on the stack, and one has it")
    return "; ".join(over) or None


def chosen(architectures, seed):
    """One of each generation: 80, 86 and 89 are one."""
    if os.environ.get("GPUMON_FULL"):
        return architectures
    generations = {}
    for architecture in architectures:
        generations.setdefault(int(re.match(r"\d+", str(architecture))[0]) // 10, []).append(architecture)
    return [random.Random(seed).choice(members) for members in generations.values()]


def check(ptxas, objects, seed):
    version, newest, architectures, letters = known(ptxas)
    tools = {v: sorted(glob.glob(os.path.join(objects, "bpf", v, "*.bpf.o"))) for v in ("v3", "v4")}
    tools = {v: [t for t in found if os.path.exists(os.path.join(GPU, os.path.basename(t)[:-1] + "c"))]
             for v, found in tools.items()}
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for architecture in chosen(architectures, seed):
            why = None
            for isa in sorted({max(oldest_isa(architecture), 50), newest}):
                for what in (("corpus",), ("random", str(seed), str(RANDOM_PROGRAMS)),
                             *(("objects", *files) for files in tools.values())):
                    why = why or assemble(ptxas, objects, folder, isa, architecture, *what)[0]
                for name in PATCHES if isa >= 60 else ():
                    why = why or patch(ptxas, objects, folder, isa, architecture, name)
            verdict.report(f"probe/ptxas: ptxas {version}, sm_{architecture}", why=why)
            failed |= bool(why)
        for architecture in chosen(letters, seed):
            why = assemble(ptxas, objects, folder, newest, architecture, "corpus")[0]
            why = why or assemble(ptxas, objects, folder, newest, architecture, "objects", *tools["v4"])[0]
            verdict.report(f"probe/ptxas: ptxas {version}, sm_{architecture}", why=why)
            failed |= bool(why)
        for what in (["corpus"], ["objects", *tools["v4"]]) if 90 in architectures else ():
            why, log = assemble(ptxas, objects, folder, newest, 90, *what)
            why = why or sizes(folder, log)
            verdict.report(f"probe/ptxas: sizes of {what[0]} by ptxas {version}", why=why)
            failed |= bool(why)
    return failed


def main():
    seed = int(os.environ.get("GPUMON_SEED", random.randrange(1 << 32)))
    print(f"    GPUMON_SEED={seed}")
    found = assemblers()
    if not found:
        verdict.report("probe/ptxas", skipped="there is no ptxas, of CUDA or of Debian's packages")
    return any([check(ptxas, sys.argv[1], seed) for ptxas in found])


if __name__ == "__main__":
    sys.exit(main())
