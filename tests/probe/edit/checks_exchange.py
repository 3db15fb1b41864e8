# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Exchanging of images: programs of bpf/gpu in PTX, cubins and containers."""
import functools
import glob
import json
import os
import re
import struct
import subprocess

from common import (CUDA, HERE, NVCC, assemble, call, compiled, fatbins, images, new_folder,
                    newest_for, path, probed, program, read, side_by_side, write)
import verdict

TOOLS = ("memtrace", "threadhist", "launchlate")
MORE_TOOLS = TOOLS + ("kernelretsnoop", "warpimbalance")
# only80 is in the machine code for one architecture alone.
SOURCE = """
template <typename T> __global__ void scale(T *p, T by, int n)
{
	int i = threadIdx.x + blockIdx.x * blockDim.x;

	if (i < n)
		p[i] *= by;
}
template __global__ void scale<float>(float *, float, int);
template __global__ void scale<double>(double *, double, int);
namespace inner {
__global__ void add(const float *a, const float *b, float *c) { c[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x]; }
}
#if __CUDA_ARCH__ == 800
__global__ void only80(float *a) { *a = 1; }
#endif
"""
SCALE, SCALE_DOUBLE, ADD, ONLY80 = "_Z5scaleIfEvPT_S0_i", "_Z5scaleIdEvPT_S0_i", "_ZN5inner3addEPKfS1_Pf", "_Z6only80Pf"


def has_compiler():
    if not os.access(NVCC, os.X_OK):
        raise verdict.Skip("no nvcc in " + CUDA)


def exchange(tool, image, *patterns, options=(), out=None, fast=False):
    """What became of the kernels, {name: kernel}; all of the answer; the new image or None."""
    out = out or os.path.join(new_folder(), "out")
    done = json.loads(call(program("fast/exchange_image" if fast else "exchange_image"), *options,
                           program("bpf/%s.bpf.o" % tool), image, out, *patterns))
    verdict.equal(os.path.exists(out), done["exchanged"], "a new image")
    return {k["name"]: k for k in done["kernels"]}, done, out if done["exchanged"] else None


def ways(kernels):
    return {name: kernel["way"] for name, kernel in kernels.items()}


@functools.lru_cache(None)
def small():
    """A container: PTX and SASS for 75 and 90, SASS for 80."""
    has_compiler()
    out = path("small.fatbin")
    call(NVCC, "-fatbin", "-lineinfo", "-gencode=arch=compute_75,code=[sm_75,compute_75]",
         "-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=[sm_90,compute_90]", "-o", out,
         write("small.cu", SOURCE))
    return out


def unpacked(file):
    """(image, its unpacked content) of each image."""
    folder = new_folder()
    return [(image, os.path.join(folder, str(i))) for i, image in enumerate(images(file, folder=folder))]


def keys(list_of_images):
    return [(i["kind"], i["sm"]) for i in list_of_images]


def test_exchange_in_containers_of_all_packings():
    """Each tool's programs in all kernels: the new PTX assembles, SASS of the same kernels is gone."""
    def one(tool, number, file):
        kernels, _, out = exchange(tool, file, options=["--repeat"], fast=True)
        verdict.equal(set(ways(kernels).values()), {"ptx"}, tool + ": ways")
        after = unpacked(out)
        verdict.equal(keys(i for i, _ in after), [(1, 75), (1, 90)], "images")
        for image, text in after:
            verdict.equal(image["packing"], "", "packing")
            verdict.contains(image["options"], "-maxrregcount=64", "options")
            if not number:
                assemble(newest_for(text), "75" if image["sm"] == 75 else "90a", text,
                         path("%s_%d.cubin" % (tool, image["sm"])))
        return tool, [read(text) for _, text in after]
    todo = [(tool, number, file) for tool in TOOLS for number, file in enumerate(fatbins())]
    done = side_by_side(one, todo)
    for tool, texts in done:
        verdict.check(all(t == texts for other, t in done if other == tool), "packings differ for " + tool)


def test_exchange_for_each_architecture():
    """A text for each architecture that the compiler has, with each tool's programs."""
    has_compiler()

    def one(architecture):
        text = path("arch_%s.ptx" % architecture)
        call(NVCC, "-ptx", "-arch=compute_" + architecture, "-o", text, path("arch.cu"))
        for tool in MORE_TOOLS:
            kernels, _, out = exchange(tool, text, out=path("arch_%s_%s.ptx" % (architecture, tool)))
            verdict.equal(set(ways(kernels).values()), {"ptx"}, "%s for %s" % (tool, architecture))
            assemble(newest_for(out), architecture, out)
        return len(kernels)
    write("arch.cu", SOURCE)
    known = subprocess.run([NVCC, "--list-gpu-arch"], capture_output=True, text=True).stdout
    known = [a[len("compute_"):] for a in known.split()] + ["90a"]
    verdict.check(len(known) > 8, "%r" % known)
    side_by_side(one, [(a,) for a in known])


HEAD = ".version 7.0\n.target sm_80\n.address_size 64\n"


def points_of(kernels, point):
    return [kernel["points"][point] for kernel in kernels.values()]


def test_exchange_of_large_texts():
    """Many kernels that share functions: these are edited once, and a block is called where it would stand often."""
    functions = "".join(".func f%d { .reg .b32 %%r; .reg .b64 %%a; mov.u64 %%a, sum;\n" % i +
                        "".join(".loc 1 %d 1\nld.u32 %%r, [%%a]; st.u32 [%%a], %%r;\n" % (100 * i + j) for j in range(20)) +
                        "ret; }\n" for i in range(10))
    kernels = "".join(".visible .entry k%d() {\n" % i + "".join("call f%d;\n" % j for j in range(i % 3, 10)) + "ret; }\n"
                      for i in range(6))
    text = write("large.ptx", HEAD + '.file 1 "large.cu"\n.global .u32 sum;\n' + functions + kernels)
    counts, done, out = exchange("memtrace", text, options=["--repeat"], out=path("large_memtrace.ptx"))
    verdict.equal(set(ways(counts).values()), {"ptx"}, "ways")
    verdict.equal([counts["k%d" % i]["points"][2] for i in range(6)], [2 * 40 * (10 - i % 3) for i in range(6)],
                  "points, twice")
    verdict.equal(sorted({line for kernel, _, line in done["lines"] if kernel == 1}),
                  [100 * i + j for i in range(1, 10) for j in range(20)], "lines of k1")
    growth = os.path.getsize(out) / os.path.getsize(text)
    verdict.within(growth, 2, 20, "times as large")
    assemble(newest_for(out), "80", out)


def test_exchange_with_many_exits():
    """What is kept from the entry to one of many exits is in memory, as blocks that are called do not see registers."""
    exits = "".join("setp.eq.u32 %%p, %%r, %d; @%%p ret;\n" % i for i in range(600))
    text = write("exits.ptx", HEAD + ".visible .entry k(.param .u32 n) { .reg .pred %p; .reg .b32 %r; ld.param.u32 %r, [n];\n" +
                 exits + "ret; }\n")
    counts, _, out = exchange("kernelretsnoop", text, options=["--repeat"], out=path("exits_out.ptx"))
    verdict.equal((points_of(counts, 0), points_of(counts, 1)), ([2], [2 * 601]), "points, twice")
    verdict.check("%gpumon_kept" not in read(out), "values are kept in registers")
    verdict.within(os.path.getsize(out) / os.path.getsize(text), 2, 20, "times as large")
    assemble(newest_for(out), "80", out)


def test_exchange_of_texts_that_would_grow_too_large():
    """More than 16 MB and 20 times: then device functions are left out, and counted."""
    accesses = "ld.u32 r,[a];" * 30000
    text = write("too_large.ptx", HEAD + ".func f { .reg .b32 r; .reg .b64 a; mov.u64 a, 0;\n" + accesses + " ret; }\n" +
                 "".join(".visible .entry %s() { .reg .b32 r; .reg .b64 a; mov.u64 a, 0; ld.u32 r,[a]; call f; ret; }\n" % name
                         for name in ("one", "two_a", "two_b")))
    counts, _, out = exchange("two", text, fast=True)
    verdict.equal(points_of(counts, 2), [1, 1, 1], "points")
    verdict.equal([sum(kernel["left"]) for kernel in counts.values()], [30000] * 3, "left out")
    verdict.within(os.path.getsize(out) / os.path.getsize(text), 1, 2, "times as large")
    counts, _, out = exchange("two", text, "one", fast=True)
    verdict.equal((points_of(counts, 2), sum(counts["one"]["left"])), ([30001], 0), "one kernel has room")


def test_exchange_beside_constants():
    """Constants that fill 64 KiB leave no room for the table of addresses: it lies in global memory."""
    for constants, space in (("", "const"), (".const .align 8 .b8 c[65000];", "const"), (".const .b8 c[65536];", "global"),
                             (".visible .const .align 16 .v4 .f32 c[16][0x80], d[2047];\n.const .u32 e = 1;", "global"),
                             (".extern .const .align 4 .b8 c[];\n.const .u64 d[8190] = {1, 2};\n.const .b8 e[1];", "global")):
        text = write("constants.ptx", HEAD + constants + "\n.visible .entry k() { .reg .b32 r; .reg .b64 a; mov.u64 a, 0;\n"
                     "ld.u32 r,[a]; ret; }\n")
        for tool in TOOLS:
            counts, _, out = exchange(tool, text, out=path("constants_out.ptx"))
            verdict.equal(set(ways(counts).values()), {"ptx"}, constants)
            verdict.contains(read(out), ".weak .%s .align 8 .b64 gpumon_probe_table" % space, constants)
            if "extern" not in constants:
                assemble(newest_for(out), "80", out)


def test_exchange_of_programs_with_every_exit():
    """What tests/device runs on a GPU."""
    has_compiler()
    for tool in MORE_TOOLS:
        kernels, _, out = exchange(tool, probed(), out=path("probed_%s.ptx" % tool))
        verdict.equal(set(ways(kernels).values()), {"ptx"}, tool)
        assemble(newest_for(out), "90", out)
    # A return, an exit, and an exit in a function, of which the kernel gets a copy.
    kernels, _, _ = exchange("threadhist", probed(), "exits")
    verdict.equal((set(kernels), kernels["exits"]["points"][1]), ({"exits"}, 3), "exits")
    # Functions do not see registers of the kernel: values that a program keeps are in memory.
    kernels, _, out = exchange("kernelretsnoop", probed(), "exits", out=path("kept.ptx"))
    verdict.equal((kernels["exits"]["points"][:2], sum(kernels["exits"]["left"])), ([1, 3], 0), "exits with kept values")
    assemble(newest_for(out), "90", out)


def test_exchange_leaves_all_else_as_it_is():
    before = images(small())
    verdict.equal(sorted(keys(before)), [(1, 75), (1, 90), (2, 75), (2, 80), (2, 90)], "images of the compiler")
    stored = {(i["kind"], i["sm"]): i["stored"] for i in before}
    for options, gone, changed in (([], {(2, 75), (2, 90)}, {(1, 75), (1, 90)}),
                                   (["--sm=90"], {(2, 90)}, {(1, 90)}),
                                   # Machine code for 7.5 is none for 8.0's family, so PTX for 7.5 is used.
                                   (["--sm=75"], {(2, 75)}, {(1, 75)}),
                                   (["--sm=121"], set(), {(1, 90)})):
        kernels, _, out = exchange("memtrace", small(), "scale*", options=options + ["--repeat"])
        verdict.equal(ways(kernels), {SCALE: "ptx", SCALE_DOUBLE: "ptx"}, "%r" % options)
        after = images(out)
        verdict.equal(keys(after), [k for k in keys(before) if k not in gone], "%r" % options)
        same = {k for k in keys(after) if stored[k] == [i["stored"] for i in after if (i["kind"], i["sm"]) == k][0]}
        verdict.equal(set(keys(after)) - same, changed, "changed for %r" % options)
    # Other kernels of the text stay, too.
    for image, text in unpacked(out):
        if image["kind"] == 1:
            for name in (SCALE, SCALE_DOUBLE, ADD):
                verdict.check(re.search(r"\.entry\s+%s\b" % name, read(text)), name)


def test_exchange_keeps_a_kernel_that_has_no_ptx():
    """Machine code with another kernel, which no PTX has, is not given up."""
    kernels, _, _ = exchange("memtrace", small(), "scale*", options=["--sm=80"])
    verdict.equal(set(ways(kernels).values()), {"refused"}, "ways")
    verdict.contains(kernels[SCALE]["why"], "sm_80 has kernels that its PTX lacks", "why")
    kernels, _, out = exchange("memtrace", small(), "*")
    verdict.equal(ways(kernels)[SCALE], "ptx", "way")
    verdict.check((2, 80) in keys(images(out)), "the machine code for 8.0 is gone")


def test_exchange_by_names():
    for patterns, expected in ((["scale"], {SCALE, SCALE_DOUBLE}), (["scale<float>"], {SCALE}),
                               (["void scale<double>(double*, double, int)"], {SCALE_DOUBLE}),
                               ([SCALE], {SCALE}), (["_Z5scaleI?d*"], set()), (["_Z5scaleI?E*"], {SCALE, SCALE_DOUBLE}),
                               (["inner::*"], {ADD}), (["add"], set()), (["*add"], {ADD}),
                               (["inner::add(float const*, float const*, float*)", "x"], {ADD}),
                               (["*"], {SCALE, SCALE_DOUBLE, ADD}), (["Scale"], set()), ([""], set()),
                               ([], {SCALE, SCALE_DOUBLE, ADD})):
        kernels, done, _ = exchange("threadhist", small(), *patterns, options=["--sm=90"])
        verdict.equal(set(kernels), expected, "%r" % patterns)
        verdict.equal(done["exchanged"], bool(expected), "%r" % patterns)


def test_exchange_of_machine_code_alone():
    has_compiler()
    cubin, fatbin = path("alone.cubin"), path("alone.fatbin")
    source = write("alone.cu", SOURCE)
    call(NVCC, "-cubin", "-arch=sm_90", "-o", cubin, source)
    call(NVCC, "-fatbin", "-gencode=arch=compute_75,code=sm_75", "-gencode=arch=compute_90,code=sm_90", "-o", fatbin, source)
    for image in (cubin, fatbin):
        kernels, done, _ = exchange("memtrace", image, "scale<float>", "*add*")
        verdict.equal(ways(kernels), {SCALE: "no_ptx", ADD: "no_ptx"}, image)
        verdict.equal(done["unread"], 0, "unread")
        kernels, done, _ = exchange("memtrace", image)
        verdict.equal((kernels, done["unread"]), ({}, 1), "if all kernels are asked for")
    kernels, done, _ = exchange("memtrace", fatbin, "scale<float>", options=["--sm=80"])
    verdict.equal(kernels, {}, "machine code that this GPU cannot run")


def test_exchange_of_what_cannot_be_edited():
    head = ".version %s\n.target %s\n.address_size 64\n"
    good = head % ("7.0", "sm_75") + ".visible .entry k(.param .u64 p) { .reg .b64 a; ld.param.u64 a, [p]; " \
                                     "st.global.u32 [a], 5; ret; }\n"
    for text, why in ((good.replace("ret; }", "ret }"), "PTX, line "),
                      (good.replace("64 a;", "64 a; /* "), "PTX, line "),
                      (head % ("5.0", "sm_30") + good[good.index(".visible"):], "needs PTX"),
                      (good + ".const .b64 gpumon_probe_table[1];\n", "has been probed before"),
                      (good.replace("size 64", "size 32"), "only addresses of 64 bits")):
        kernels, _, _ = exchange("memtrace", write("bad.ptx", text))
        verdict.equal(ways(kernels), {"k": "refused"}, why)
        verdict.contains(kernels["k"]["why"], why, "why")
    kernels, _, out = exchange("memtrace", write("good.ptx", good))
    verdict.equal(ways(kernels), {"k": "ptx"}, "the same without a fault")
    verdict.equal(read(out, True)[-1:], b"\n", "a text without a NUL")
    _, _, out = exchange("memtrace", write("good.ptx", good + "\0\0"))
    verdict.equal(read(out, True)[-2:], b"\n\0", "a text with a NUL")
    for data in (b"", b"\0" * 64, b"\x7fELF" + b"\0" * 60, b"\x50\xed\x55\xba" + b"\xff" * 60, b"no PTX at all " * 9):
        kernels, done, _ = exchange("memtrace", write("nothing", data), "x")
        verdict.equal((kernels, done["exchanged"]), ({}, False), "%r" % data[:8])


def test_exchange_of_a_container_with_a_bad_text():
    """PTX that cannot be edited for one architecture: the machine code for this one stays."""
    has_compiler()
    texts = {}
    for architecture in ("75", "90"):
        texts[architecture] = path("mixed_%s.ptx" % architecture)
        call(NVCC, "-ptx", "-arch=compute_" + architecture, "-o", texts[architecture], write("mixed.cu", SOURCE))
        call(newest_for(None), "-arch=sm_" + architecture, "-o", path("mixed_%s.cubin" % architecture), texts[architecture])
    bad = write("mixed_bad.ptx", read(texts["75"]) + "\n.const .b64 gpumon_probe_table[1];\n")
    parts = ["--image3=kind=ptx,sm=75,file=" + bad, "--image3=kind=ptx,sm=90,file=" + texts["90"]]
    parts += ["--image3=kind=elf,sm=%s,file=%s" % (a, path("mixed_%s.cubin" % a)) for a in texts]
    call(os.path.join(CUDA, "bin/fatbinary"), "--64", *parts, "--create", path("mixed.fatbin"))
    kernels, _, out = exchange("threadhist", path("mixed.fatbin"), "scale")
    verdict.equal(ways(kernels), {SCALE: "ptx", SCALE_DOUBLE: "ptx"}, "ways")
    verdict.equal(sorted(keys(images(out))), [(1, 75), (1, 90), (2, 75)], "images")
    for sm, way in (("75", "refused"), ("89", "refused"), ("90", "ptx")):
        kernels, _, _ = exchange("threadhist", path("mixed.fatbin"), "scale", options=["--sm=" + sm])
        verdict.equal(set(ways(kernels).values()), {way}, "for %s" % sm)


def test_exchange_of_containers_one_behind_the_other():
    has_compiler()
    call(NVCC, "-fatbin", "-arch=sm_90", "-o", path("other.fatbin"), write("other.cu", "__global__ void other() {}\n"))
    one, other = read(small(), True), read(path("other.fatbin"), True)
    kernels, _, out = exchange("threadhist", write("several", other + one + other + b"behind"), "scale")
    verdict.equal(ways(kernels), {SCALE: "ptx", SCALE_DOUBLE: "ptx"}, "ways")
    alone = read(exchange("threadhist", small(), "scale")[2], True)
    verdict.equal(read(out, True) == other + alone + other + b"behind", True, "all others stay")


def test_exchange_of_lines():
    """A line of a kernel has the same number in each image."""
    kernels, done, _ = exchange("memtrace", small(), options=["--repeat"])
    verdict.equal(sorted(line[2] for line in done["lines"]), [7, 7, 12], "lines")
    verdict.equal({os.path.basename(line[1]) for line in done["lines"]}, {"small.cu"}, "file")
    verdict.equal({k: v["points"][2] for k, v in kernels.items()}, {SCALE: 8, SCALE_DOUBLE: 8, ADD: 12},
                  "accesses in two texts, twice")


def test_exchange_of_modules_that_are_linked():
    """Both parts of a program have the table: nvlink has to take it."""
    has_compiler()
    cubins = []
    for name, source in (("one", "extern __device__ int f(int); __global__ void k(int *p) { *p = f(*p); }\n"),
                         ("two", "__device__ int f(int x) { return x + 1; }\n__global__ void l(int *p) { *p = f(2); }\n")):
        text = path("part_%s.ptx" % name)
        call(NVCC, "-rdc=true", "-ptx", "-arch=compute_90", "-o", text, write(name + ".cu", source))
        kernels, _, out = exchange("memtrace", text, out=path("part_%s_out.ptx" % name))
        verdict.equal(set(ways(kernels).values()), {"ptx"}, name)
        cubins.append(path("part_%s.cubin" % name))
        call(newest_for(out), "-c", "-arch=sm_90", "-o", cubins[-1], out)
    call(os.path.join(CUDA, "bin/nvlink"), "-arch=sm_90", "-o", path("linked.cubin"), *cubins)
    verdict.check(read(path("linked.cubin"), True).count(b"gpumon_probe_table\0") >= 1, "no table")


def sections_of(file):
    """--at=OFFSET,SIZE of the containers in a library."""
    with open(file, "rb") as library:
        head = library.read(64)
        offset, = struct.unpack_from("<Q", head, 0x28)
        n, strings = struct.unpack_from("<HH", head, 0x3c)
        library.seek(offset)
        table = library.read(64 * n)
        heads = [struct.unpack_from("<IIQQQQIIQQ", table, 64 * i) for i in range(n)]
        library.seek(heads[strings][4])
        names = library.read(heads[strings][5])
    return ["--at=%d,%d" % (h[4], h[5]) for h in heads
            if names[h[0]:names.index(b"\0", h[0])] in (b".nv_fatbin", b"__nv_relfatbin")]


def test_exchange_is_quick_for_libraries_without_the_kernel():
    found = 0
    for file in sorted(set(os.path.realpath(f) for f in glob.glob(os.path.join(CUDA, "lib*/lib*.so*")))):
        for part in sections_of(file):
            size = int(part.split(",")[1])
            for options, limit in (([], 1.5), (["--sm=90"], 0.6)):
                _, done, _ = exchange("threadhist", file, "no_such_kernel", options=options + [part], fast=True)
                verdict.equal((done["exchanged"], done["kernels"]), (False, []), file)
                # Seconds of the processor for 100 MB.
                verdict.check(done["seconds"] < (0.1 + limit * size / 1e8) * verdict.SLOWER,
                              "%s %r: %.2f s for %d MB" % (file, options, done["seconds"], size >> 20))
            found += 1
    if not found:
        raise verdict.Skip("no libraries in " + CUDA)
    print("    %d sections" % found)


def test_exchange_in_a_library():
    """cuBLAS has a few texts: those that are edited assemble, all other images stay."""
    file = os.path.join(CUDA, "lib64/libcublas.so")
    if not os.path.exists(file):
        raise verdict.Skip("no cuBLAS in " + CUDA)
    part = sections_of(file)[0]
    kernels, _, out = exchange("threadhist", file, "*gemv2T*", options=[part], fast=True)
    verdict.check(len(kernels) > 10, "only %r" % kernels)
    verdict.check("ptx" in ways(kernels).values(), "no kernel with PTX")
    begin, size = map(int, part[5:].split(","))
    with open(file, "rb") as library:
        library.seek(begin)
        before = images(write("cublas.bin", library.read(size)), 1 << 40, tool="fast/fatbin_images")
    after = images(out, 1 << 40, tool="fast/fatbin_images")
    stored = {i["stored"] for i in before}
    new = [i for i in after if i["stored"] not in stored]
    verdict.check(new and all(i["kind"] == 1 for i in new), "changed: %r" % new)
    verdict.check(len(after) > 0.8 * len(before), "%d of %d images" % (len(after), len(before)))


def test_exchange_of_damaged_containers():
    data = bytearray(read(small(), True))
    for at in list(range(0, 0x60)) + list(range(0x60, len(data), max(1, len(data) // 60))):
        was = data[at]
        data[at] ^= 0xff
        file = write("damaged", bytes(data))
        done = subprocess.run([program("exchange_image"), program("bpf/memtrace.bpf.o"), file, path("damaged.out"), "scale"],
                              capture_output=True, text=True, errors="replace")
        verdict.equal(done.returncode, 0, "byte %d: %s" % (at, done.stderr[-400:]))
        data[at] = was


def into(*arguments):
    """gpumon-user probe --into: exit status, output, errors."""
    command = os.path.join(HERE, "../../../user/gpumon-user")
    done = subprocess.run([command, "probe", "--into", *arguments], capture_output=True, text=True)
    verdict.check("\033" not in done.stdout, "colours in a pipe")
    return done.returncode, done.stdout, done.stderr


def test_probe_into():
    tool, out = program("bpf/memtrace.bpf.o"), os.path.join(new_folder(), "new.fatbin")
    status, table, errors = into(small(), "-o", out, "-k", "scale", tool)
    verdict.equal((status, errors), (0, ""), "into")
    verdict.check(re.search(r"^ +0 +memory 4 +0 +programs put into its PTX +void scale<float>\(float\*, float, int\)$", table, re.M),
                  table)
    verdict.equal(keys(images(out)), keys(images(exchange("memtrace", small(), "scale")[2])), "images")
    for image, text in unpacked(out):
        if image["kind"] == 1:
            assemble(newest_for(text), str(image["sm"]), text)
    status, _, errors = into(small(), "-o", out, tool)
    verdict.check(status == 1 and "exists" in errors, "it replaces a file: %r" % errors)
    status, text, errors = into(small(), "-o", out, "--force", "--json", "--sm", "90", "-k", "scale<float>", "-k", "inner::*", tool)
    document = json.loads(text)
    verdict.equal((status, errors, document["exchanged"]), (0, "", True), "as JSON")
    verdict.equal({k["name"]: (k["way"], k["points"]["memory"]) for k in document["kernels"]},
                  {SCALE: ("ptx", 2), ADD: ("ptx", 3)}, "kernels")
    verdict.equal(sorted(line["line"] for line in document["lines"]), [7, 12], "lines")
    new = os.path.join(new_folder(), "none")
    status, text, errors = into(small(), "-o", new, "-k", "nothing", tool)
    verdict.check(status == 1 and "nothing is written" in errors and not os.path.exists(new), errors)
    status, text, errors = into(small(), "-o", new, "--json", "-k", "nothing", tool)
    verdict.equal((status, json.loads(text)["exchanged"], errors), (1, False, ""), "nothing, as JSON")
    status, text, errors = into(tool, "-o", new, tool)
    verdict.check(status == 1 and "name PTX, a cubin or a fat binary: nothing is written" in errors, errors)
    for wrong in ((small(), tool), (small(), "-o", "-", tool), (small(), "-o", new), (small(), "-o", new, "--sm", "7", tool)):
        verdict.equal(into(*wrong)[0], 2, "usage: %r" % (wrong[1:],))
    for missing in ("/no/such/file", "/dev/null", HERE):
        status, _, errors = into(missing, "-o", new, tool)
        verdict.check(status == 1 and errors.count("\n") == 1 and missing in errors, errors)


def test_probe_into_shrinks():
    """the image is cut off while gpumon-user looks at it: behind its kernel, so that nothing is missing"""
    kernel = read(os.path.join(HERE, "basic.ptx"))
    image, out = write("shrinks.ptx", kernel + "// long\n" * (4 << 20)), path("shrinks.out")
    command = os.path.join(HERE, "../../../user/gpumon-user")
    with subprocess.Popen([command, "probe", "--into", image, "-o", out, program("bpf/threadhist.bpf.o")],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and image not in read("/proc/%d/maps" % process.pid):
            pass
        os.truncate(image, len(kernel))
        output = process.communicate()
    verdict.equal((process.returncode, output[1]), (0, ""), "into")
