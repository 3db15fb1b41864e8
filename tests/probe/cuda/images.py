# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Images for CUDA's loaders: PTX, stand-ins for cubins, containers."""
import os
import struct
import subprocess

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"

# Each thread below the limit adds 1 to its word. Accesses of memory: 8 bytes for each of these.
ADD = """
.visible .entry %s(.param .u64 out, .param .u32 n)
{
\t.reg .pred %%p<2>;
\t.reg .b32 %%r<8>;
\t.reg .b64 %%rd<5>;
\tld.param.u64 %%rd1, [out];
\tld.param.u32 %%r1, [n];
\tcvta.to.global.u64 %%rd2, %%rd1;
\tmov.u32 %%r2, %%tid.x;
\tmov.u32 %%r3, %%ntid.x;
\tmov.u32 %%r4, %%ctaid.x;
\tmad.lo.u32 %%r5, %%r4, %%r3, %%r2; // number of the thread
\tsetp.ge.u32 %%p1, %%r5, %%r1;
\t@%%p1 ret;
\tmul.wide.u32 %%rd3, %%r5, 4;
\tadd.s64 %%rd4, %%rd2, %%rd3;
\tld.global.u32 %%r6, [%%rd4];
\tadd.u32 %%r7, %%r6, 1;
\tst.global.u32 [%%rd4], %%r7;
\tret;
}
"""
LIMIT = 100

# Nothing.
IDLE = "\n.visible .entry %s(.param .u64 out, .param .u32 n)\n{\n\tret;\n}\n"


def text(*kernels, form=ADD):
    return HEAD + "".join(form % kernel for kernel in kernels)


def pad(data):
    return data + bytes(-len(data) % 8)


def entry(kind, data, sm, packed=0, unpacked=0, flags=0):
    data = pad(data)
    return struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 0x40, len(data), packed, 0, 0, 8, sm, 0, 0,
                       flags, 0, unpacked) + data


def lz4(data):
    """A block of LZ4 with literals only."""
    rest = len(data) - 15
    return bytes([0xf0]) + b"\xff" * (rest // 255) + bytes([rest % 255]) + data


def container(*entries):
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xba55ed50, 1, 16, len(body)) + body


def ptx_entry(ptx, sm=80):
    return entry(1, ptx.encode() + b"\0", sm)


def packed_entry(ptx, sm=80):
    data = ptx.encode() + b"\0"
    packed = lz4(data)
    return entry(1, packed, sm, len(packed), len(data), 0x2000)


def cubin(folder, objects, ptx):
    source, target = os.path.join(folder, "of-cubin.ptx"), os.path.join(folder, "cubin")
    with open(source, "w", encoding="ascii") as file:
        file.write(ptx)
    subprocess.run([os.path.join(objects, "make_cubin"), source, target], check=True,
                   env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    with open(target, "rb") as file:
        return file.read()


def cut_off(cubin, ptx):
    """{name: a file of which only the beginning is there}; what is missing is far behind it"""
    far = struct.pack("<Q", 1 << 40)
    entries = elf_entry(cubin) + ptx_entry(ptx)
    head = struct.pack("<IHHQ", 0xba55ed50, 1, 16, 1 << 41)
    return {
        "cubin": cubin[:40] + far + cubin[48:200],
        "beginning of a cubin": cubin[:20],
        "container": head + entries[:8] + far + entries[16:200],
        "beginning of a container": head[:10],
        "container that begins a second one": container(entries) + head,
    }


def elf_entry(data, sm=90):
    return entry(2, data, sm)
