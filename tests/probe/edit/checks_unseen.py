# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Accesses of machine code that patches do not see, compared with those of the PTX that it was made of."""
import os
import re
import subprocess

from checks_exchange import exchange
from common import (CUDA, HERE, NVCC, architectures, assemblers, call, compiled, newest_for, path, probed, read,
                    side_by_side, write)
import verdict

with open(os.path.join(HERE, "../../../user/gpuprog/ptx/edit.h"), encoding="utf-8") as header:
    CAUSES = re.findall(r"\n\tX\((\w+), ", header.read().partition("GPUMON_EDIT_CAUSES(X)")[2].partition("enum")[0])
# A patch sees none of these, while PTX has programs there.
SASS_ONLY = ("BULK", "CLUSTER")
BULK = "mbarrier::complete_tx::bytes"
STORE = "st.global.v4.b32 [%d3+16], {%r10, %r11, %r12, %r13};"
# The least architecture, a cause, and an instruction that has it once. Results are stored, or nothing of them stays.
INSTRUCTIONS = [
    ("75", "MATRIX", "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r4]; " + STORE),
    ("90", "MATRIX", "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r4], {%r1, %r1, %r1, %r1};"),
    *(("75", "TEXTURE", text + " " + STORE) for text in (
        "tex.2d.v4.u32.f32 {%r10, %r11, %r12, %r13}, [%d2, {%f5, %f6}];",
        "tex.1d.v4.u32.s32 {%r10, %r11, %r12, %r13}, [%d2, {%r3}];",
        "tex.grad.2d.v4.u32.f32 {%r10, %r11, %r12, %r13}, [%d2, {%f5, %f6}], {%f5, %f6}, {%f6, %f5};",
        "tex.level.3d.v4.u32.f32 {%r10, %r11, %r12, %r13}, [%d2, {%f5, %f6, %f6, %f6}], %f5;",
        "tld4.r.2d.v4.u32.f32 {%r10, %r11, %r12, %r13}, [%d2, {%f5, %f6}];",
        "suld.b.2d.v4.b32.trap {%r10, %r11, %r12, %r13}, [%d2, {%r3, %r3}];",
        "sust.b.2d.b32.clamp [%d2, {%r3, %r3}], {%r3};",
        "sust.p.2d.b32.trap [%d2, {%r3, %r3}], {%r3};",
        "sured.b.add.2d.u32.trap [%d2, {%r3, %r3}], %r3;")),
    ("90", "BULK", f"cp.async.bulk.shared::cluster.global.{BULK} [%r2], [%d3], 1024, [%r4];"),
    ("90", "BULK", f"cp.async.bulk.shared::cluster.global.{BULK}.multicast::cluster [%r2], [%d3], 1024, [%r4], %h1;"),
    ("90", "BULK", f"cp.async.bulk.shared::cluster.shared::cta.{BULK} [%r4], [%r2], 1024, [%r4];"),
    ("90", "BULK", "cp.async.bulk.global.shared::cta.bulk_group [%d3], [%r2], 1024;"),
    ("90", "BULK", "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d3], [%r2], 1024;"),
    ("90", "BULK", f"cp.reduce.async.bulk.shared::cluster.shared::cta.{BULK}.add.u32 [%r4], [%r2], 16, [%r4];"),
    ("100", "BULK", "st.bulk.weak.shared::cta [%d1], 1024, 0;"),
    ("90", "TENSOR", f"cp.async.bulk.tensor.2d.shared::cluster.global.{BULK} [%r2], [%d2, {{%r3, %r3}}], [%r4];"),
    ("90", "TENSOR", f"cp.async.bulk.tensor.3d.shared::cluster.global.im2col.{BULK} [%r2], [%d2, {{%r3, %r3, %r3}}], "
                     "[%r4], {%h1};"),
    ("90", "TENSOR", "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%d2, {%r3, %r3}], [%r2];"),
    ("90", "TENSOR", "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%d2, {%r3, %r3}], [%r2];"),
    ("90", "CLUSTER", f"st.async.weak.shared::cluster.{BULK}.u32 [%r4], %r1, [%r2];"),
    ("90", "CLUSTER", f"red.async.relaxed.cluster.shared::cluster.{BULK}.add.u32 [%r4], %r1, [%r2];"),
    *(("90a", "DESCRIPTOR", f"wgmma.mma_async.sync.aligned.{text}; {STORE}") for text in (
        "m64n8k16.f32.f16.f16 {%r10, %r11, %r12, %r13}, %d1, %d2, 1, 1, 1, 0, 0",
        "m64n8k16.f32.f16.f16 {%r10, %r11, %r12, %r13}, {%r1, %r1, %r1, %r1}, %d2, 1, 1, 1, 0",
        "m64n8k32.s32.s8.s8 {%r10, %r11, %r12, %r13}, %d1, %d2, 1",
        "m64n8k256.s32.b1.b1.and.popc {%r10, %r11, %r12, %r13}, %d1, %d2, 1",
        "m64n8k32.f32.e4m3.e4m3 {%r10, %r11, %r12, %r13}, %d1, %d2, 1, 1, 1")),
    *(("100a", "DESCRIPTOR", f"tcgen05.{text};") for text in (
        "mma.cta_group::1.kind::f16 [%r4], %d1, %d2, %r1, 1", "mma.cta_group::1.kind::f16 [%r4], [%r2], %d2, %r1, 1",
        "mma.ws.cta_group::1.kind::f16 [%r4], %d1, %d2, %r1, 1",
        "mma.cta_group::1.kind::mxf8f6f4.block_scale [%r4], %d1, %d2, %r1, [%r2], [%r3], 1",
        "cp.cta_group::1.128x256b [%r4], %d1")),
    # What has programs, or reads no memory that counts.
    ("75", None, "ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%d3]; " + STORE),
    ("75", None, "atom.shared.add.u32 %r10, [%r4], %r3; red.global.add.u32 [%d3], %r3; " + STORE),
    ("75", None, "prefetch.global.L2 [%d3]; bar.sync 0; txq.width.b32 %r10, [%d2]; " + STORE),
    ("80", None, "cp.async.ca.shared.global [%r2], [%d3], 16; cp.async.wait_all;"),
    ("90", None, f"mbarrier.arrive.expect_tx.shared.b64 %d9, [%r4], 128; cp.async.bulk.prefetch.L2.global [%d3], 1024;"),
    ("90", None, "multimem.red.relaxed.gpu.global.add.f32 [%d3], %f1; multimem.ld_reduce.relaxed.gpu.global.add.f32 %f1, "
                 "[%d3]; st.global.f32 [%d3], %f1;"),
    ("100a", None, "tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r10, %r11, %r12, %r13}, [%r4]; " + STORE),
]
KERNEL = """
.visible .entry k%d(.param .u64 a, .param .u64 b, .param .u32 n)
{
	.reg .b32 %%r<20>; .reg .b64 %%d<10>; .reg .f32 %%f<10>; .reg .b16 %%h<3>;
	.shared .align 128 .b8 buffer[4096];
	ld.param.u64 %%d1, [a]; ld.param.u64 %%d2, [b]; ld.param.u32 %%r1, [n]; cvta.to.global.u64 %%d3, %%d1;
	mov.u32 %%r2, buffer; mov.u32 %%r3, %%tid.x; add.u32 %%r4, %%r2, %%r3; cvt.rn.f32.u32 %%f5, %%r3;
	add.f32 %%f6, %%f5, 0f3F800000; cvt.u16.u32 %%h1, %%r1; mov.u32 %%r10, %%r1; mov.u32 %%r11, %%r1;
	mov.u32 %%r12, %%r1; mov.u32 %%r13, %%r1;
	%s
	ret;
}
"""


def knows(version, architecture, least):
    """Whether sm_ARCHITECTURE has what came with sm_LEAST; "a" is for that family alone."""
    number, first = (int(re.sub(r"\D", "", one)) for one in (architecture, least))
    if first >= 90 and float(version) < 12:
        return False
    if least == "100a":
        return architecture in ("100a", "103a", "110a")
    return architecture == least if least.endswith("a") else number >= first


def left(kernels):
    return {name: {cause: n for cause, n in zip(CAUSES, kernel["left"]) if n} for name, kernel in kernels.items()}


def patched(cubin, fast=False):
    return left(exchange("memtrace", cubin, "*", options=["--patched"], fast=fast)[0])


def compare(version, ptxas, architecture):
    lines = [(cause, text) for least, cause, text in INSTRUCTIONS if knows(version, architecture, least)]
    isa = "9.0" if float(version) >= 13 else "8.4" if float(version) >= 12 else "7.8"
    text = write(f"unseen_{version}_{architecture}.ptx", f".version {isa}\n.target sm_{architecture}\n.address_size 64\n" +
                 "".join(KERNEL % (i, text) for i, (_, text) in enumerate(lines)))
    cubin = text[:-4] + ".cubin"
    call(ptxas, "-arch=sm_" + architecture, "-o", cubin, text)
    what = f"sm_{architecture}, ptxas {version}"
    verdict.equal(patched(cubin), {f"k{i}": {cause: 1} if cause else {} for i, (cause, _) in enumerate(lines)}, what)
    kernels, _, _ = exchange("memtrace", text, "*")
    verdict.equal(left(kernels), {f"k{i}": {cause: 1} if cause and cause not in SASS_ONLY else {}
                                  for i, (cause, _) in enumerate(lines)}, "PTX for " + what)
    return {text for _, text in lines}


def test_unseen_instructions():
    """each instruction by itself, for all GPUs that each assembler knows"""
    cases = [(version, ptxas, architecture) for version, ptxas in assemblers() for architecture in architectures(ptxas)
             if int(re.sub(r"\D", "", architecture)) >= 75 and not architecture.endswith("f")]
    seen = set().union(*side_by_side(compare, cases))
    if float(assemblers()[-1][0]) >= 13:
        verdict.equal({text for _, _, text in INSTRUCTIONS} - seen, set(), "instructions without an assembler")


def test_unseen_in_compiled_kernels():
    """a kernel has some of a cause if its PTX has; wmma becomes ordinary loads, or those of matrices"""
    texts = [*compiled().items(), ("90", probed())]
    any_left = False
    for architecture, text in texts:
        cubin = path(f"unseen_compiled_{architecture}.cubin")
        call(newest_for(text), "-arch=sm_" + architecture, "-o", cubin, text)
        ptx, sass = left(exchange("memtrace", text, "*", fast=True)[0]), patched(cubin)
        verdict.equal(set(sass), set(ptx), "kernels for sm_" + architecture)
        source = {block.partition("(")[0].strip(): block for block in read(text).split(".entry ")[1:]}
        for name, causes in ptx.items():
            expected = set(causes) & {"TEXTURE", "TENSOR", "DESCRIPTOR", "MATRIX"}
            expected |= {"BULK"} if re.search(r"\bcp\.(reduce\.)?async\.bulk\.(shared|global)", source[name]) else set()
            wmma = {"MATRIX"} if "wmma." in source[name] else set()
            verdict.equal(set(sass[name]) - wmma, expected - wmma, f"causes of {name} for sm_{architecture}")
            any_left |= bool(expected)
    verdict.check(any_left, "no kernel has any")


def test_unseen_before_volta():
    """sm_60 has another machine code: nothing is counted rather than something wrong"""
    old = [(version, ptxas) for version, ptxas in assemblers() if "60" in architectures(ptxas)]
    if not old:
        raise verdict.Skip("no assembler for sm_60")
    text = write("unseen_60.ptx", ".version 7.8\n.target sm_60\n.address_size 64\n" + KERNEL % (
        0, "tex.2d.v4.u32.f32 {%r10, %r11, %r12, %r13}, [%d2, {%f5, %f6}]; " + STORE))
    for version, ptxas in old:
        call(ptxas, "-arch=sm_60", "-o", path("unseen_60.cubin"), text)
        verdict.equal(patched(path("unseen_60.cubin")), {"k0": {}}, "ptxas " + version)


FUNCTIONS = """
__device__ __noinline__ int inner(int *p)
{
	unsigned int a;

	asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(a) : "r"((unsigned int)p[1]));
	return a;
}
__device__ __noinline__ int outer(int *p) { return p[0] + inner(p); }
__device__ __noinline__ int other(int *p) { return inner(p) - inner(p + 1); }
__global__ void far(int *p) { p[2] = outer(p); }
__global__ void near(int *p) { p[2] = inner(p); }
__global__ void both(int *p) { p[2] = outer(p) + other(p); }
__global__ void none(int *p) { p[3] = 1; }
"""


def test_unseen_in_functions():
    """functions of their own count for the kernels that call them"""
    linker = os.path.join(CUDA, "bin/nvlink")
    if not os.access(NVCC, os.X_OK) or not os.access(linker, os.X_OK):
        raise verdict.Skip("no nvcc and nvlink in " + CUDA)
    source, part, linked = write("unseen.cu", FUNCTIONS), path("unseen_part.cubin"), path("unseen_linked.cubin")
    expected = {"_Z3farPi": {"MATRIX": 1}, "_Z4nearPi": {"MATRIX": 1}, "_Z4bothPi": {"MATRIX": 1}, "_Z4nonePi": {}}
    call(NVCC, "-arch=sm_90", "-rdc=true", "-cubin", "-o", part, source)
    call(linker, "-arch=sm_90", "-o", linked, part)
    verdict.equal(patched(linked), expected, "linked")
    call(NVCC, "-arch=sm_90", "-cubin", "-o", part, source)
    verdict.equal(patched(part), expected, "compiled as a whole")
