# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What cannot be had is said, and the program runs as it would without gpumon."""
import os

import images
import kit
from images import ADD, HEAD, IDLE, text
from kit import Folder, check, contains, equal
from test_loaders import expect


def run(*launches, image=None, **more):
    with Folder() as folder:
        path = folder.write("image", image or text("first", "second"))
        return folder.probe("context", "load", "data", path, *launches, **more)


FIRST = ("launch", "first", "1x32")
SECOND = ("launch", "second", "1x32")


def test_nothing_wanted():
    result = run(*FIRST, options=("--kernel", "third"))
    equal(result.kernels, {}, "kernels")
    contains(result.errors, "none of the kernels that were asked for came up in 1 images: nothing was put into a kernel\n",
             "messages")
    equal(result.status, 0, "status")


def test_near_names():
    """a name with a slip: the kernels that may have been meant"""
    for pattern, near in ("frist", "first"), ("secnod*", "second"), ("FIRST", "first"), ("first_kernel", "first"):
        result = run(*FIRST, options=("--kernel", pattern))
        equal(result.kernels, {}, "kernels")
        contains(result.errors, f"nothing was put into a kernel. Did you mean {near}?", f"messages for {pattern}")
    several = run(*FIRST, image=text("vector_add", "first", "vector_sub", "add_vector"), options=("--kernel", "vectr_*"))
    contains(several.errors, "Did you mean vector_add, vector_sub?", "messages")


def test_some_wanted():
    result = run(*FIRST, *SECOND, options=("--kernel", "sec?nd"))
    equal(list(result.kernels), ["second"], "kernels")
    expect(result, "second", 1, 32)


def test_no_cuda():
    with Folder() as folder:
        status, out, errors = folder.finish(folder.start(
            [kit.program, "probe", kit.objects + "/count.bpf.o", "--", "/bin/sh", "-c", "echo hello; exit 9"]))
        equal(status, 9, "status")
        contains(out, "hello\n", "output")
        contains(errors, "no process of /bin/sh used CUDA", "messages")


def test_machine_code_only():
    with Folder() as folder:
        path = folder.write("cubin", folder.cubin(text("first")))
        result = folder.probe("context", "load", "data", path, *FIRST)
        contains(result.errors, "machine code only", "messages")


def test_not_loaded():
    """the driver refuses the texts with programs: it gets the program's own ones"""
    result = run(*FIRST, MOCK_REFUSE=1)
    equal({k: v["way"] for k, v in result.kernels.items()},
          {"first": "not_loaded", "second": "not_loaded"}, "kernels")
    contains(result.errors, "CUDA does not load a module with programs in it: error 218", "messages")


NAMES = ("first", "second", "third", "fourth", "fifth")
LOG = "CUDA does not load a module with programs in it: error 218: ptxas application ptx input, line 9; error   : "


def places(result):
    return {name: (kernel["way"], kernel["places"], kernel["places_left_out"]) for name, kernel in result.kernels.items()}


def test_bad_kernels():
    """kernels that the driver's compiler refuses with programs: the others of the module have them"""
    launches = [word for name in NAMES for word in ("launch", name, "1x32")]
    whole = run(*launches, image=text(*NAMES))
    for bad in ("third",), ("first", "second"), ("first", "fifth"), NAMES[1:]:
        result = run(*launches, image=text(*NAMES), MOCK_BAD=",".join(bad))
        equal(places(result), {name: ("not_loaded", 0, 0) if name in bad else places(whole)[name] for name in NAMES},
              f"kernels without {bad}")
        for name in bad:
            contains(result.kernels[name]["why"], f"line 9; error   : {name} is bad", "reason")
        equal(result.counts("entries"), {name: 32 for name in NAMES if name not in bad}, "entries")
        contains(result.errors, LOG + bad[0] + " is bad\n", "messages")


CALLS = ADD.replace("\tret;\n}", "\tcall f;\n\tret;\n}")
FUNCTION = ".func f\n{\n\t.reg .b32 %r;\n\t.reg .b64 %a;\n\tmov.u64 %a, 0;\n\tld.global.u32 %r, [%a];\n\tret;\n}\n"


def test_bad_functions():
    """programs in device functions are left out where a module does not load with them, and counted"""
    image = HEAD + FUNCTION + "".join(CALLS % name for name in ("first", "second"))
    whole = run(*FIRST, *SECOND, image=image)
    result = run(*FIRST, *SECOND, image=image, MOCK_BAD="__gpumon_")
    equal(places(result), {name: (way, n - 1, left + 1) for name, (way, n, left) in places(whole).items()}, "kernels")
    expect(result, "second", 1, 32)
    contains(result.errors, LOG + "__gpumon_ is bad\n", "messages")
    contains("".join(result.document["notes"]), "2 places of 2 kernels have no program: point within a function", "notes")
    both = run(*FIRST, *SECOND, image=image, MOCK_BAD="__gpumon_,first")
    equal(places(both), {"first": ("not_loaded", 0, 0), "second": places(result)["second"]}, "kernels, and one is bad")


def test_blocks_that_wait():
    """a kernel for cooperative launches has as many blocks on the GPU as before, or no programs"""
    waits = ADD.replace("\tld.param.u64", "\tmov.u32 %%r0, %%envreg2;\n\tld.param.u64", 1)
    for form, way in (waits, "too_large"), (ADD, "ptx"):
        result = run(*FIRST, *SECOND, image=HEAD + form % "first" + waits % "second", MOCK_FEWER="first")
        equal({name: kernel["way"] for name, kernel in result.kernels.items()}, {"first": way, "second": "ptx"}, "kernels")
        if way == "too_large":
            contains(result.kernels["first"]["why"], "its blocks wait for each other (cooperative launch)", "reason")


def test_cooperative_launch():
    """a kernel that is not seen to wait is launched so: where it does not fit any more, that is said"""
    for call, blocks, fits in (("together", 256, True), ("together", 512, False),
                               ("together-ex", 256, True), ("together-ex", 512, False)):
        result = run(call, "first", f"{blocks}x32", *SECOND, MOCK_FEWER="first", changes=not fits)
        equal(result.counts("entries"), {**({"first": 32 * blocks} if fits else {}), "second": 32}, "entries")
        said = "a cooperative launch of 512 blocks failed, since 256 fit on the GPU at a time"
        equal(said in result.errors, not fits, f"messages with {blocks} by {call}: {result.errors}")


def long_names():
    """More than there is room for in a message."""
    return [f"kernel_{i}_{'x' * 5000}" for i in range(5)]


def test_many_not_loaded():
    names = long_names()
    result = run("launch", names[-1], "1x32", image=text(*names), MOCK_REFUSE=1)
    equal({k: v["way"] for k, v in result.kernels.items()}, dict.fromkeys(names, "not_loaded"), "kernels")


def test_too_large():
    """a kernel that needs more registers is left alone, the other one of its module is not"""
    result = run(*FIRST, *SECOND, MOCK_LARGE="first")
    equal(result.kernels["first"]["way"], "too_large", "first")
    expect(result, "second", 1, 32)
    equal(result.counts("entries"), {"second": 32}, "entries")


def test_last_is_too_large():
    names = long_names()
    result = run("launch", names[-1], "1x32", image=text(*names), MOCK_LARGE=names[-1])
    equal({k: v["way"] for k, v in result.kernels.items()}, {**dict.fromkeys(names, "ptx"), names[-1]: "too_large"},
          "kernels")


def test_little_memory():
    result = run(*FIRST, MOCK_FREE_MIB=0)
    contains(result.errors, "Stand-in 0 has 0 MiB free", "messages")
    equal(result.rows("entries_by_kernel") if "entries_by_kernel" in result.tables else [], [], "entries")


def test_no_memory():
    result = run(*FIRST, MOCK_ALLOC_MAX=65536)
    equal(result.errors, "gpumon-user: no memory for the maps on Stand-in 0 (CUDA error 2): nothing of it is counted\n",
          "messages")
    contains("".join(result.document["notes"]), "No kernel with a program has run", "notes")
    equal(result.rows("entries_by_kernel") if "entries_by_kernel" in result.tables else [], [], "entries")


def test_file_limit():
    """a limit of files that is too low for the maps: nothing is started"""
    with Folder() as folder:
        for command in ["probe"], ["record", "-o", os.path.join(folder.path, "run"), "--probe"]:
            status, out, errors = folder.finish(folder.start(
                ["prlimit", "--fsize=4096", kit.program, *command, os.path.join(kit.objects, "count.bpf.o"), "--",
                 "echo", "hello"]))
            equal((status, out), (1, ""), f"status and output of {command[0]} ({errors})")
            contains(errors, "and files may have 4 KiB at most: raise that (ulimit -f)\n", "messages")


def test_old_driver():
    """without CUPTI nothing can be exchanged"""
    result = run(*FIRST, changes=True, GPUMON_CUPTI="/nowhere", MOCK_FAIL="cuptiSubscribe:39")
    contains(result.errors, "nothing could be put into kernels of process", "messages")
    equal(result.kernels, {}, "kernels")


def test_another_profiler():
    result = run(*FIRST, MOCK_FAIL="cuptiSubscribe:39")
    contains(result.errors, "another profiler holds CUPTI", "messages")
    equal(result.kernels, {}, "kernels")


BROKEN = (
    "x",
    ".version",
    ".version 8.0\n",
    HEAD,
    HEAD + ".visible .entry first(",
    HEAD + ".visible .entry first()\n{",
    HEAD + ".visible .entry first()\n{\n\tret\n}\n",
    HEAD + ".visible .entry first()\n{\n\t@%p ret;;\n}}\n",
    HEAD + ".visible .entry first()\n{\n\tld.global.u32 %r1, [[[;\n\tret;\n}\n",
    HEAD + "/* no end",
    text("first")[:-4],
    text("first").replace("st.global.u32", "st"),
    text("first").replace(".version 8.0", ".version 1.0"),
    text("first").replace(".target sm_80", ".target sm_10"),
    text("first") * 2,
    "\x7fELF" + "\0" * 100,
)


def test_broken_texts():
    """what CUDA says about them is what the program sees"""
    with Folder() as folder:
        words = ["context"]
        for i, image in enumerate(BROKEN):
            words += ["load", "data", folder.write(f"broken-{i}", image),
                      "load", "link", folder.write(f"broken-{i}", image)]
        words += ["load", "data", folder.write("image", text("second")), *SECOND]
        expect(folder.probe(*words), "second", 1, 32)


def broken_containers(good):
    yield good[:16]
    yield good[:80]
    yield images.container()
    for at, value in ((4, 0xff), (6, 0xff), (0x10, 9), (0x14, 0xff), (0x17, 0xff), (0x18, 1), (0x1b, 0x7f),
                      (0x20, 0xff), (0x24, 0xff), (0x30, 0xff), (0x39, 0x20), (0x39, 0x80), (0x49, 0x7f)):
        yield good[:at] + bytes([value]) + good[at + 1:]


def test_broken_containers():
    with Folder() as folder:
        good = images.container(images.packed_entry(text("first")), images.ptx_entry(text("first")))
        words = ["context"]
        for i, image in enumerate(broken_containers(good)):
            # CUDA looks at what the head says, so there has to be memory.
            words += ["load", "data", folder.write(f"broken-{i}", image + bytes(70000))]
        words += ["load", "data", folder.write("image", text("second")), *SECOND]
        expect(folder.probe(*words), "second", 1, 32)


def test_no_such_file():
    result = run(*FIRST, "load", "file", "/nowhere", "load", "file", "/dev/null", "load", "library-file", "/",
                 "load", "link-file", "/nowhere")
    expect(result, "first", 1, 32)


def test_idle_kernel():
    """an entry and an exit, and no access of memory"""
    result = run(*FIRST, image=text("first", form=IDLE))
    expect(result, "first", 1, 32, form=IDLE)
    equal(result.rows("bytes_by_kernel"), [], "bytes")


def test_too_many_contexts():
    """more than are followed at a time: the others run without programs, and that is said"""
    with Folder() as folder:
        path = folder.write("image", text("first"))
        result = folder.probe(*["context", "load", "data", path, "launch", "first", "1x32"] * 66)
    equal(result.counts("entries"), {"first": 64 * 32}, "entries")
    contains(result.errors, "more than 64 contexts at a time: the others are not counted", "messages")
