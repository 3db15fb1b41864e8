# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What is preloaded for Level Zero, HIP and OpenGL: programs of every kind start with it, and end as they do alone."""
import errno
import os
import shutil
import subprocess

import capture
from capture import LIMIT, Capture, Skip, check, contains, equal
from recorded import variables

HELLO = '#include <stdio.h>\nint main(void) { puts("hello"); return 7; }\n'
# Without a C library's own start.
BARE = "int puts(const char *text); void exit(int status);\nvoid _start(void) { puts(\"hello\"); exit(7); }\n"
OPTIONS = 'const char *__asan_default_options(void) { return "detect_leaks=0"; }\n'


def built(name, source, *words, compiler="gcc"):
    """A program, or a reason why this machine cannot build it."""
    program = f"{capture.objects}/{name}"
    done = subprocess.run([compiler, "-w", "-o", program, "-x", "c", "-", "-x", "none", *words], input=source, text=True,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise Skip(f"{name}: {done.stderr.splitlines()[0]}")
    return program


def ends_as_alone(program, **more):
    """As the program that is recorded, and as a child, with both outputs and nothing else in them."""
    preloaded = variables(**{"ASAN_OPTIONS": "", **more})
    try:
        alone = subprocess.run([program], capture_output=True, text=True, check=False, timeout=LIMIT,
                               env=capture.environment(**preloaded))
    except OSError as error:
        # Kernels with ia32_emulation=off run no programs of 32 bits.
        if error.errno == errno.ENOEXEC:
            raise Skip(f"{os.path.basename(program)}: this kernel does not run it") from error
        raise
    equal((alone.returncode, alone.stdout, alone.stderr), (7, "hello\n", ""), "alone")
    for options in ["-q"], ["-q", "--gl"]:
        run = Capture(program=[program], options=options, status=7, expect=0, **preloaded)
        equal((run.output, run.done.stderr), ("hello\n", ""), f"recorded, {options}")
    script = f"{' '.join(f'{name}={value}' for name, value in more.items())} {program}; echo $?"
    run = Capture(program=["sh", "-c", script], options=["-q"], expect=0, **variables(ASAN_OPTIONS=""))
    equal((run.output, run.done.stderr), ("hello\n7\n", ""), "as a child")


def need_no_sanitizer():
    if os.environ.get("SANITIZE"):
        raise Skip("the sanitizer's library is preloaded into all of these")


def test_musl():
    """another C library, from a shell with glibc, and the reverse"""
    need_no_sanitizer()
    found = subprocess.run([capture.HERE.parent / "ze/musl"], stdout=subprocess.PIPE, text=True, check=False, timeout=LIMIT)
    if found.returncode == 77:
        raise Skip(found.stdout.strip())
    libc = f"{found.stdout.strip()}/lib/x86_64-linux-musl/libc.so"
    ends_as_alone(built("with-musl", BARE, "-nostdlib", libc, f"-Wl,-dynamic-linker,{libc}"))
    starts = f'int execl(const char *, ...);\nvoid _start(void) {{ execl("{built("with-glibc", HELLO)}", "it", (char *)0); }}\n'
    ends_as_alone(built("musl-first", starts, "-nostdlib", libc, f"-Wl,-dynamic-linker,{libc}"))


def test_other_programs():
    """programs of 32 bits, static ones, of gcc's and clang's AddressSanitizer with options of their own"""
    need_no_sanitizer()
    skipped = []
    for name, source, words, compiler, more in (
            ("of-32-bits", BARE, ["-m32", "-nostdlib", "-no-pie", "/lib32/libc.so.6",
                                  "-Wl,-dynamic-linker,/lib/ld-linux.so.2"], "gcc", {}),
            ("static", HELLO, ["-static"], "gcc", {}),
            ("gcc-asan", HELLO, ["-fsanitize=address"], "gcc", {}),
            ("gcc-asan-options", HELLO, ["-fsanitize=address"], "gcc", {"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=1"}),
            ("gcc-asan-own", OPTIONS + HELLO, ["-fsanitize=address"], "gcc", {"ASAN_OPTIONS": "color=never"}),
            ("clang-asan", HELLO, ["-fsanitize=address"], "clang", {"ASAN_OPTIONS": "detect_leaks=0"}),
            ("gcc-tsan", HELLO, ["-fsanitize=thread"], "gcc", {})):
        try:
            ends_as_alone(built(name, source, *words, compiler=compiler), **more)
        except Skip as why:
            skipped.append(str(why))
    if skipped:
        raise Skip("; ".join(skipped))


def test_order():
    """what is preloaded stays first; AddressSanitizer's options are the program's; without a driver nothing is"""
    need_no_sanitizer()
    words = ["sh", "-c", "echo \"$LD_PRELOAD|$ZE_ENABLE_TRACING_LAYER|$ASAN_OPTIONS\"; cat /proc/self/maps"]
    ours = capture.preload()
    for before, drivers, after in (("", True, f"{ours}|1"), ("libc.so.6", True, f"libc.so.6:{ours}|1"), ("", False, "|")):
        more = {"ZE_ENABLE_ALT_DRIVERS": variables()["ZE_ENABLE_ALT_DRIVERS"]} if drivers else {}
        if before:
            more["LD_PRELOAD"] = before
        run = Capture(program=words, expect=None, ASAN_OPTIONS="a=b", **more)
        equal(run.output.splitlines()[0], f"{after}|a=b", f"preloaded, after {before}")
        equal(("gpumon-preload" in run.output.split("\n", 1)[1], "gpumon-inject" in run.output.split("\n", 1)[1]),
              (drivers, False), "mapped in a program that uses none of the APIs")


def without_level_zero():
    """A library that looks as if it was built without Level Zero, and the names of the other APIs that it has."""
    with open(f"{capture.objects}/libgpumon-inject.so", "rb") as file:
        library = file.read()
    folder = f"{capture.objects}/without"
    os.makedirs(f"{folder}/gpumon-preload", exist_ok=True)
    for name, data in (("libgpumon-inject.so", library.replace(b"\0gpumon_enter_ze\0", b"\0gpumon_enter_xy\0")),
                       ("gpumon-preload/libgpumon-preload.so", b"")):
        with open(f"{folder}/{name}", "wb") as file:
            file.write(data)
        os.chmod(f"{folder}/{name}", 0o755)
    names = [name for name, function in (("CUDA", b"\0InitializeInjection\0"), ("HIP", b"\0gpumon_enter_hip\0"),
                                         ("OpenCL", b"\0clInitLayer\0"),
                                         ("Vulkan", b"\0vkNegotiateLoaderLayerInterfaceVersion\0")) if function in library]
    return f"{folder}/libgpumon-inject.so", names


def test_without_level_zero():
    """of an API that the library was not built with nothing is preloaded, and record and doctor say what it lacks"""
    need_no_sanitizer()
    library, names = without_level_zero()
    more = variables(GPUMON_INJECT=library)
    run = Capture(program=["sh", "-c", "echo \"$LD_PRELOAD|$OPENCL_LAYERS\""], expect=None, **more)
    equal(run.output.strip(), f"|{library}" if "OpenCL" in names else "|", "variables")
    contains(run.done.stderr, "built without Level Zero, for which there is a driver here", "record")
    contains(run.done.stderr, f"no process used {' or '.join([', '.join(names[:-1]), names[-1]] if names[1:] else names)} (",
             "record")
    contains(run.summary(), "built without Level Zero", "summary")
    contains(run.done.stderr, "install libze-dev for Level Zero, then make inject", "remedy")
    doctor = subprocess.run([capture.tool, "doctor"], stdout=subprocess.PIPE, text=True, check=False, timeout=LIMIT,
                            env=capture.environment(**more)).stdout
    line, = [line for line in doctor.splitlines() if line.startswith("warn  inject: ")]
    contains(line, "and without Level Zero, for which there is a driver", "doctor")
    # It would have been recorded, had the library that API; all others say what they say without it.
    Capture("exit", 2, options=["-q"], status=3, expect=0, **more)
    Capture("commands", 1, options=["-q"], status=77, expect=0, **more)


def test_not_beside():
    """a library that was copied alone, and one in a folder with a blank: the capture says what is not seen"""
    need_no_sanitizer()
    for folder, why in (("alone", "is not beside the injection library"), ("with blank", "has a blank or a colon")):
        os.makedirs(f"{capture.objects}/{folder}", exist_ok=True)
        library = shutil.copy(f"{capture.objects}/libgpumon-inject.so", f"{capture.objects}/{folder}")
        run = Capture(program=["sh", "-c", "echo \"$LD_PRELOAD\""], expect=None, **variables(GPUMON_INJECT=library))
        equal(run.output.strip(), "", "preloaded")
        contains(run.summary(), why, "summary")


def test_needs_nothing():
    """what is preloaded has no library and no symbol that it cannot do without"""
    for name in "libgpumon-preload.so", "libgpumon-preload-gl.so":
        stub = f"{capture.objects}/gpumon-preload/{name}"
        dynamic = subprocess.run(["readelf", "-d", "--dyn-syms", "-W", stub], stdout=subprocess.PIPE, text=True, check=True).stdout
        check("NEEDED" not in dynamic and "VERNEED" not in dynamic, dynamic)
        undefined = [line.split() for line in dynamic.splitlines() if " UND " in line and len(line.split()) == 8]
        equal({words[4] for words in undefined}, {"WEAK"}, f"what {name} takes from others")
