# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The library itself: what it needs, what it exports, what it costs."""
import ctypes
import os
import resource
import re
import subprocess
import tempfile

import harness
import recorder as rec
from harness import LIMIT, SANITIZED, WAIT, Run, Skip, check, equal, need


def test_symbols():
    """no symbol of the C library newer than 2.17, those of each API exported, CUPTI not linked, little TLS"""
    if SANITIZED:
        raise Skip("the sanitizer's library is needed too")
    need("readelf")
    library = f"{harness.objects}/libgpumon-inject.so"

    def read(*arguments):
        return subprocess.run(["readelf", "-W", *arguments, library], capture_output=True,
                              text=True, check=True).stdout

    versions = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([0-9.]+)", read("-V"))}
    check(versions, "no versions at all")
    equal(sorted(v for v in versions if v > (2, 17)), [], "symbol versions that are too new")
    symbols = [line.split() for line in read("--dyn-syms").splitlines()]
    exported = {s[7].split("@")[0] for s in symbols
                if len(s) > 7 and s[4] in ("GLOBAL", "WEAK") and s[6] not in ("UND", "ABS")}
    equal(exported, {"InitializeInjection", "InitializeInjectionNvtx2", "clGetLayerInfo", "clInitLayer",
                     "gpumon_enter_gl", "gpumon_enter_hip", "gpumon_enter_late", "gpumon_enter_ze",
                     "vkNegotiateLoaderLayerInterfaceVersion"}, "exported symbols")
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", read("-d")))
    check(needed <= {"libc.so.6", "libpthread.so.0", "libdl.so.2",
                      "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}, f"needs {needed}")
    check("BIND_NOW" in read("-d") and "NODELETE" in read("-d"), "not bound at once, or unloadable")
    # The C compiler's own: on arm64 one of them looks for atomic instructions.
    sizes = re.findall(r"\(INIT_ARRAYSZ\)\s+(\d+)", read("-d"))
    equal(sizes, ["16" if "AArch64" in read("-h") else "8"], "bytes of constructors")
    tls = re.search(r"TLS\s+\S+ \S+ \S+ \S+ (0x[0-9a-f]+)", read("-l"))
    check(not tls or int(tls.group(1), 16) <= 64, "too much static TLS for a library that comes late")


def test_headers():
    """an API without headers is left out, and without any there is an explanation"""
    need("make")
    headers = {"OpenCL": "CL/cl_layer.h", "Level Zero": "level_zero/layers/zel_tracing_register_cb.h",
               "Vulkan": "vulkan/vk_layer.h"}

    def build(*present):
        with tempfile.TemporaryDirectory() as folder:
            for header in present:
                os.makedirs(os.path.dirname(f"{folder}/{header}"))
                with open(f"{folder}/{header}", "w", encoding="ascii") as file:
                    file.write("#define VK_API_VERSION_1_3\n")
            return subprocess.run(["make", "-n", "-C", "../../inject", "CUDA=/none", f"OBJ={folder}/obj",
                                   f"CPPFLAGS=-nostdinc -isystem {folder}"],
                                  capture_output=True, text=True, env={"PATH": os.environ["PATH"]})

    for api, header in headers.items():
        made = build(header)
        equal(made.returncode, 0, f"status with {header}")
        equal({a for a in headers if f"without {a}:" in made.stdout}, set(headers) - {api},
              f"APIs left out with {header}")
        last = [line for line in made.stdout.splitlines() if line[:5] not in (":", "make:")][-4:]
        check(f" records: HIP, {api}, OpenGL'" in last[0], f"the result is not last: {last}")
        equal({a for a, part in (("OpenCL", "entry_opencl.c"), ("Level Zero", "entry_ze.c"), ("Vulkan", "entry_vulkan.c"))
               if part in made.stdout}, {api}, f"APIs built with {header}")
    made = build()
    if os.path.exists("/usr/include/cupti.h"):
        check("without OpenCL:" in made.stdout and "without Level Zero:" in made.stdout, made.stdout)
    else:
        equal(made.returncode, 2, "status without headers")
        check("needs the headers of an API" in made.stderr, made.stderr)


def test_full_table_of_objects():
    """objects for which a table has no room take no memory, however many there are"""
    handles = ctypes.CDLL(f"{harness.objects}/handles.so")
    add = handles.inject_handle_add
    add.restype = ctypes.c_void_p
    add.argtypes = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t
    table = ctypes.create_string_buffer(256)
    number = 1
    while add(table, number * 64, 0, 16):
        number += 1
    check(number > 10000, f"room for {number} only")
    pages = mapped_pages()
    for _ in range(20000):
        number += 1
        check(not add(table, number * 64, 0, 4096), "there is room again")
    check((mapped_pages() - pages) * resource.getpagesize() < 1 << 20, "it takes memory for nothing")
    check(add(table, 64, 0, 16), "what was there is still there")


def mapped_pages():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0])


def test_cost():
    """instructions of a launch's callbacks: what the library adds to a program's launches"""
    if SANITIZED:
        raise Skip("no figures from a sanitizer's build")
    need("valgrind")
    counts = []
    for launches in (2000, 6000):
        counts.append([instructions(launches, stacks) for stacks in (False, True)])
    without, with_stacks = ((b - a) / 4000 for a, b in zip(*counts))
    print(f"# {without:.0f} instructions for a launch's callbacks, {with_stacks:.0f} with its stack",
          flush=True)
    check(without < 600, f"{without:.0f} instructions without a stack: more than 600")
    check(with_stacks < 4000, f"{with_stacks:.0f} instructions with a stack: more than 4000")


def test_cost_of_looks():
    """looks at waiting threads, by a thread of the library, add no instructions to a launch"""
    if SANITIZED:
        raise Skip("no figures from a sanitizer's build")
    need("valgrind")
    without, with_looks = ((instructions(450, True, looks) - instructions(50, True, looks)) / 400
                           for looks in (0, 50))
    print(f"# {without:.0f} instructions for a launch's callbacks without looks, {with_looks:.0f} with them", flush=True)
    check(abs(with_looks / without - 1) < 0.01, f"{with_looks:.0f} instructions, {without:.0f} without looks")


def instructions(launches, stacks, looks=0):
    """Instructions of the library's functions in the program's thread."""
    record = rec.DEFAULT if stacks else rec.KERNELS | rec.COPIES
    run = Run("quiet", wait=False)
    run.process.communicate()
    run.recorder.close()
    out = os.path.join(run.folder, "callgrind")
    recorder = rec.Recorder(os.path.join(run.folder, "socket"), record=record, blocks=2048,
                            wait_hz=looks)
    subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}",
                    "--toggle-collect=inject_callback", f"{harness.objects}/program", "loop",
                    str(launches)], env=run.environment, capture_output=True, check=True)
    recorder.wait(LIMIT)
    recorder.close()
    equal(WAIT in recorder.targets[0].records()["unknown"], looks > 0, "looks at threads")
    total = re.search(r"^(?:summary|totals): (\d+)", open(out).read(), re.MULTILINE)
    return int(total.group(1))
