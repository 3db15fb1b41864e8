# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What the checks of the PTX editor, of fat binaries and of exchanging share."""
import concurrent.futures
import functools
import json
import os
import re
import struct
import subprocess
import tempfile

import verdict

HERE = os.path.dirname(os.path.abspath(__file__))

CUDA = os.environ.get("CUDA") or "/usr/local/cuda"
NVCC = os.path.join(CUDA, "bin/nvcc")
ALL = "nxmabNX"
# Architectures that kernels.cu is compiled for.
ARCHITECTURES = ("75", "90a", "100")
WORK = None
OBJECTS = None


def call(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", **more)
    if done.returncode:
        verdict.fail("%s: %s" % (" ".join(command)[-300:], done.stderr[-600:]))
    return done.stdout


def path(*names):
    return os.path.join(WORK, *names)


def read(name, binary=False):
    with open(name, "rb" if binary else "r") as file:
        return file.read()


def write(name, text):
    with open(path(name), "wb" if isinstance(text, bytes) else "w") as file:
        file.write(text)
    return path(name)


def side_by_side(function, arguments):
    """function(*argument) of each; they run programs, on all processors."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda argument: function(*argument), arguments))


@functools.lru_cache(None)
def assemblers():
    """(version as in "12.4", path), the newest last."""
    done = subprocess.run([os.path.join(HERE, "../../lib/cuda"), "assemblers"],
                          capture_output=True, text=True)
    found = [line.split() for line in done.stdout.splitlines()]
    if not found:
        raise verdict.Skip("no ptxas here, and Debian's cannot be had")
    return sorted(found, key=lambda one: [int(n) for n in one[0].split(".")])


@functools.lru_cache(None)
def architectures(ptxas):
    """What an assembler knows, as "90a"."""
    text = subprocess.run([ptxas, "--help"], capture_output=True, text=True).stdout
    text = text[text.index("--gpu-name"):]
    text = text[:text.index("Default value")]
    return sorted(set(re.findall(r"'sm_(\w+)'", text)), key=lambda a: (int(re.sub(r"\D", "", a)), a))


@functools.lru_cache(None)
def compiled():
    """PTX of kernels.cu, {architecture: path}."""
    if not os.access(NVCC, os.X_OK):
        raise verdict.Skip("no nvcc in " + CUDA)
    source = os.path.join(HERE, "kernels.cu")

    def one(architecture):
        out = path("kernels_%s.ptx" % architecture)
        call(NVCC, "-ptx", "-lineinfo", "-arch=compute_" + architecture, "-o", out, source)
        return architecture, out
    return dict(side_by_side(one, [(a,) for a in ARCHITECTURES]))


@functools.lru_cache(None)
def probed():
    """PTX of the program of tests/device, with each form of an exit."""
    out = path("probed.ptx")
    call(NVCC, "-std=c++17", "-ptx", "-lineinfo", "-arch=compute_90", "-o", out,
         os.path.join(HERE, "../../device/probe/probed.cu"))
    return out


def texts():
    """All PTX: (path, architecture for the assembler)."""
    found = [(os.path.join(HERE, "basic.ptx"), "75"), (os.path.join(HERE, "hopper.ptx"), "90a")]
    if os.access(NVCC, os.X_OK):
        found += [(out, architecture) for architecture, out in compiled().items()] + [(probed(), "90")]
    return found


def edit(text, points, *names, out=None, tool="edit_text"):
    out = out or path("%s.%s.ptx" % (os.path.basename(text)[:-4], points))
    return json.loads(call(program(tool), text, out, points, *names)), out


def assemble(ptxas, architecture, text, out=None):
    out = out or text[:-4] + ".cubin"
    if not out.startswith(WORK):
        out = path(os.path.basename(out))
    # basic.ptx calls a function of another module.
    more = ["-c"] if "basic" in text else []
    call(ptxas, "-arch=sm_" + architecture, *more, "-o", out, text)
    return code_of(out)


def code_of(cubin):
    """Machine code of a cubin, {section: bytes}."""
    data = read(cubin, True)
    sections, = struct.unpack_from("<Q", data, 0x28)
    n, strings = struct.unpack_from("<HH", data, 0x3c)
    heads = [struct.unpack_from("<IIQQQQIIQQ", data, sections + 64 * i) for i in range(n)]
    found = {}
    for head in heads:
        begin = heads[strings][4] + head[0]
        name = data[begin:data.index(b"\0", begin)].decode()
        if name.startswith(".text"):
            found[name] = data[head[4]:head[4] + head[5]]
    return found


def newest_for(text):
    """The newest assembler reads everything."""
    return assemblers()[-1][1]


def new_folder():
    return tempfile.mkdtemp(dir=WORK)


def program(name):
    return os.path.join(OBJECTS, name)


def images(file, every=1, folder=None, tool="fatbin_images"):
    more = [folder] if folder else []
    out = call(program(tool), file, str(every), *more)
    return [json.loads(line) for line in out.splitlines()]


@functools.lru_cache(None)
def fatbins():
    """The same kernels, packed in each way that this compiler has. The last is not packed."""
    if not os.access(NVCC, os.X_OK):
        raise verdict.Skip("no nvcc in " + CUDA)
    parts = []
    for architecture in ("75", "90a"):
        text = compiled()[architecture]
        assemble(newest_for(text), architecture, text, path("part_%s.cubin" % architecture))
        parts += ["--image3=kind=elf,sm=%s,file=%s" % (architecture, path("part_%s.cubin" % architecture)),
                  "--image3=kind=ptx,sm=%s,file=%s" % (architecture, text)]

    def one(mode):
        out = path("packed_%s.fatbin" % mode)
        call(os.path.join(CUDA, "bin/fatbinary"), "--64", "--ident", "kernels.cu", "--cmdline", "-maxrregcount=64",
             "--compress-mode=" + mode, *parts, "--create", out)
        return out
    return side_by_side(one, [(mode,) for mode in ("default", "size", "speed", "balance", "none")])
