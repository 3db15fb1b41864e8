# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The PTX editor on what is written by hand and on what CUDA makes."""
import json
import os
import re
import resource

from common import (ALL, HERE, NVCC, architectures, assemble, assemblers, call, compiled, edit,
                    newest_for, path, read, side_by_side, texts, write)
import reference
import verdict


def test_counts_by_hand():
    for name in ("basic", "hopper"):
        text = os.path.join(HERE, name + ".ptx")
        expected = dict(re.findall(r"^// (points|left|copies|lines): (.*)$", read(text), re.M))
        report, _ = edit(text, ALL)
        verdict.equal(report["points"], json.loads(expected["points"]), name)
        verdict.equal({k: v for k, v in report["left"].items() if v}, json.loads(expected["left"]), name)
        verdict.equal(report["copies"], int(expected["copies"]), name + ": copies")
        verdict.equal([line[1:] for line in report["lines"]], json.loads(expected["lines"]), name + ": lines")


def test_counts_by_regular_expressions():
    for text, _ in texts():
        report, _ = edit(text, ALL)
        points, copies = reference.count(read(text))
        verdict.equal({k: report["points"][k] for k in "nxmab"}, points, os.path.basename(text))
        verdict.equal(report["copies"], copies, os.path.basename(text) + ": copies")
        verdict.check(points["m"] > 30 and points["x"] > 2, "hardly any points: %r" % points)


def without_blocks(text):
    """An edited text with empty blocks, without what was put in."""
    return re.sub(r"\n\{\n\.reg \.b32 %gpumon_kernel;\n(?:(?!\n\{\n\}\n).)*?\n(?:\{\n\}\n\n)+(?:\$gpumon_over:\n)?\}\n", "",
                  text, flags=re.S)


def test_the_rest_stays_byte_for_byte():
    for text, _ in texts():
        before = read(text)
        report, out = edit(text, ALL, "no_such_kernel", out=path("same.ptx"))
        verdict.equal(read(out) == before, True, "a text of which nothing is wanted stays")
        verdict.equal(report["functions"], 0, "functions")
        # All that a kernel without copies gets are blocks, which can be taken out again.
        report, out = edit(text, "nxbe", out=path("blocks.ptx"))
        if not report["copies"]:
            verdict.equal(without_blocks(read(out)) == before, True, "%s without its blocks" % text)
        for name in report["names"][::5]:
            report, out = edit(text, "nxmabe", name, out=path("one.ptx"))
            if report["functions"] and not report["copies"]:
                after = read(out)
                verdict.check(after != before, name + " has no block")
                verdict.equal(without_blocks(after) == before, True, "%s without the blocks of %s" % (text, name))


def test_empty_blocks_change_no_machine_code():
    def one(text, architecture):
        plain = assemble(newest_for(text), architecture, text)
        report, out = edit(text, ALL + "e")
        same = assemble(newest_for(text), architecture, out)
        verdict.check(report["points"]["m"] > 30, "no points")
        if report["copies"] and "basic" in text:
            # Copies are sections of their own, if functions may be called from elsewhere.
            same = {name: code for name, code in same.items() if name in plain}
        verdict.equal(sorted(plain), sorted(same), "sections of " + text)
        changed = [name for name in plain if plain[name] != same[name]]
        verdict.equal([c for c in changed if not calls_copies(text, c)], [], "changed in " + text)
        _, out = edit(text, "nx")
        counting = assemble(newest_for(text), architecture, out)
        verdict.check(all(counting[name] != plain[name] for name in plain if is_kernel(text, name)),
                      "blocks that count change nothing, either")
    side_by_side(one, texts())


def calls_copies(text, section):
    return "basic" in text and section == ".text.calls"


def is_kernel(text, section):
    return re.search(r"\.entry\s+%s\b" % re.escape(section[6:]), read(text)) and section != ".text.never_ends"


def test_old_assemblers_agree():
    """The same with those of Debian, for what they can read."""
    def one(version, ptxas):
        known = architectures(ptxas)
        todo = [(os.path.join(HERE, "basic.ptx"), "75")]
        if "90a" in known:
            todo.append((os.path.join(HERE, "hopper.ptx"), "90a"))
        if os.access(NVCC, os.X_OK):
            # What this compiler makes for it is no newer than its header says.
            lower = re.sub(r"^\.version .*$", ".version 7.5", read(compiled()["75"]), flags=re.M)
            todo.append((write("lower_%s.ptx" % version, lower), "75"))
        for text, architecture in todo:
            name = "%s_%s" % (version, os.path.basename(text)[:-4])
            plain = assemble(ptxas, architecture, text, path(name + ".cubin"))
            _, out = edit(text, ALL + "e", out=path(name + ".basic.e.ptx" if "basic" in text else name + ".e.ptx"))
            same = assemble(ptxas, architecture, out)
            changed = [s for s in plain if plain[s] != same.get(s) and not calls_copies(text, s)]
            verdict.equal(changed, [], "%s with ptxas %s" % (text, version))
    side_by_side(one, assemblers()[:-1])


def versions(ptxas_version):
    """Versions of PTX that an assembler reads, from 6.3."""
    last = {"11": "7.8", "12": "8.4", "13": "9.0"}.get(ptxas_version.split(".")[0], "9.0")
    every = ["6.3", "6.4", "6.5"] + ["7.%d" % i for i in range(9)] + ["8.%d" % i for i in range(9)] + ["9.0"]
    return every[:every.index(last) + 1]


# The first version of PTX that has an architecture.
FIRST = {"80": "7.0", "86": "7.1", "87": "7.4", "88": "9.0", "89": "7.8", "90": "7.8", "90a": "8.0",
         "100": "8.6", "101": "8.6", "103": "8.8", "110": "9.0", "120": "8.7", "121": "8.8"}


def test_every_architecture_and_version():
    """Blocks in all points, of a text that each of them can have."""
    def one(version, ptxas, architecture, isa):
        text = re.sub(r"^\.version .*$", ".version " + isa, read(os.path.join(HERE, "basic.ptx")), flags=re.M)
        text = re.sub(r"^\.target .*$", ".target sm_" + architecture, text, flags=re.M)
        name = "basic_%s_%s_%s" % (version, architecture, isa)
        original = write(name + ".ptx", text)
        report, out = edit(original, ALL, out=path(name + ".c.ptx"), tool="fast/edit_text")
        verdict.equal((report["isa"], report["sm"]),
                      (int(isa.replace(".", "")), int(re.sub(r"\D", "", architecture))), "header")
        assemble(ptxas, architecture, out)
    todo = []
    for version, ptxas in assemblers():
        known, every = architectures(ptxas), versions(version)
        todo += [(version, ptxas, a, every[-1]) for a in known]
        if version == assemblers()[-1][0]:
            todo += [(version, ptxas, "75", isa) for isa in every]
        todo += [(version, ptxas, a, FIRST[a]) for a in known if a in FIRST and FIRST[a] in every]
    side_by_side(one, todo)
    verdict.check(len(todo) > 40, "only %r" % todo)


def test_blocks_that_count_in_all_kernels():
    """Everything that the compiler makes assembles with all blocks, also with values that are kept."""
    def one(text, architecture):
        for points in (ALL, "nxmk"):
            _, out = edit(text, points)
            assemble(newest_for(text), architecture, out)
    side_by_side(one, texts())


BLOCK = re.compile(r"\.func gpumon_block_(\d+)\([^)]*\)\n\{\n(?:\.reg [^\n]*;\n)+(?:ld\.param[^\n]*;\n)+(.*?)ret;\n\}\n", re.S)
TABLE = re.compile(r"\.global \.align 4 \.b32 gpumon_of_(\d+)\[(\d+)\] = \{([^}]*)\};")


def normal(body, lines):
    """Numbers of lines become lines: they are given in another order."""
    body = re.sub(r"mov\.b64 %gpumon_line, (\d+);", lambda m: "line %r;" % (int(m[1]) and lines[int(m[1]) - 1]), body)
    return body.replace(", ()", "")


def inlined(body, blocks, table, first, kernel):
    """What a function of a compact text does for a kernel, as one of a text that is not."""
    body = re.sub(r"\n\.reg \.b64 %gpumon_of;\n(ld\.param\.b64|mov\.b64) %gpumon_of, \[?gpumon_of\w*\]?;\n", "", body)
    body = body.replace("ld.global.b32 %gpumon_kernel, [%gpumon_of];", "mov.b32 %%gpumon_kernel, %d;" % table[0])
    body = re.sub(r"ld\.global\.u32 %gpumon_line, \[%gpumon_of\+(\d+)\];",
                  lambda m: "mov.b64 %%gpumon_line, %d;" % table[int(m[1]) // 4], body)
    body = re.sub(r"call gpumon_block_(\d+), \(.*?\);\n", lambda m: blocks[m[1]], body)
    body = body.replace(", (%gpumon_of)", "").replace(", %gpumon_of)", ")").replace("(%gpumon_of)", "()")
    return re.sub(r"__gpumon_%d\b" % first, "__gpumon_%d" % kernel, body)


def test_compact_texts_say_the_same():
    """Blocks that are called and copies that are shared do what blocks and copies in their places do."""
    def one(text, architecture):
        plain, out = edit(text, ALL + "s", out=path(os.path.basename(text) + ".s.ptx"))
        compact, small = edit(text, ALL + "c", out=path(os.path.basename(text) + ".c.ptx"))
        for report in (compact, plain):
            # Those of device functions count once for each copy.
            report["points"] = {k: n for k, n in report["points"].items() if k not in "NX"}
        for key in ("points", "left", "functions"):
            verdict.equal(compact[key], plain[key], "%s: %s" % (text, key))
        verdict.equal(sorted(map(tuple, compact["lines"])), sorted(map(tuple, plain["lines"])), "lines of " + text)
        verdict.check(compact["copies"] <= plain["copies"], "more copies")
        out, small = (reference.NOT_CODE.sub(" ", read(name)) for name in (out, small))
        blocks = dict(BLOCK.findall(small))
        tables = {int(k): [int(n) for n in numbers.split(",")] for k, _, numbers in TABLE.findall(small)}
        shared = {name: body for name, _, body in reference.functions(small)}
        compared = 0
        for name, is_kernel_, body in reference.functions(out):
            copy = re.match(r"(.*)__gpumon_(\d+)$", name)
            first, kernel = 0, int(copy[2]) if copy else None
            if copy:
                first = min(int(n.rsplit("_", 1)[1]) for n in shared if n.startswith(copy[1] + "__gpumon_"))
                name = "%s__gpumon_%d" % (copy[1], first)
            elif is_kernel_:
                kernel = compact["names"].index(name)
                called = re.search(r"__gpumon_(\d+)", shared[name])
                first = int(called[1]) if called else 0
            have = inlined(shared[name], blocks, tables.get(kernel, [0]), first, kernel or 0)
            verdict.equal(normal(have, compact["lines"]) == normal(body, plain["lines"]), True,
                          "%s of %s" % (name, text))
            compared += bool(copy)
        verdict.equal(compared, plain["copies"], "copies that were compared")
        for version, ptxas in assemblers():
            if architecture in architectures(ptxas) and ("basic" in text or "hopper" in text or version == "13.0"):
                assemble(ptxas, architecture, path(os.path.basename(text) + ".c.ptx"),
                         path("%s_%s_c.cubin" % (version, os.path.basename(text))))
        return plain["copies"], len(tables)
    done = side_by_side(one, texts() + [(write("behind.ptx", BEHIND), "80")])
    verdict.check(sum(c for c, _ in done) > 10 and sum(t for _, t in done) > 5, "hardly any copies: %r" % done)


# Functions stand behind those that call them, and what they call is declared between.
BEHIND = """.version 7.0
.target sm_80
.address_size 64
.file 1 "behind.cu"
.func (.param .b32 r) mid(.param .b64 p);
.visible .entry one(.param .u64 p) { .reg .b32 %r<4>; .reg .b64 %rd<4>; ld.param.u64 %rd1,[p];
{ .param .b64 a; st.param.b64 [a],%rd1; .param .b32 o; call.uni (o), mid, (a); ld.param.b32 %r1,[o]; } ret; }
.global .u32 between;
.func (.param .b32 r) leaf(.param .b32 x) { .reg .b32 %r<4>; ld.param.b32 %r1,[x]; st.param.b32 [r],%r1; ret; }
.func bare { .reg .b32 %r; .loc 1 7 1 ld.global.u32 %r, [between]; ret; }
.func (.reg .b32 r) plain(.reg .b32 x) { .loc 1 7 1 ld.global.u32 r, [between]; add.u32 r, r, x; call bare; ret; }
.func empty() { .loc 1 8 1 st.global.u32 [between], 1; exit; }
.func (.param .b32 r) mid(.param .b64 p) { .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p; ld.param.b64 %rd1,[p];
.loc 1 9 1 ld.u32 %r1,[%rd1]; setp.eq.u32 %p, %r1, 9; @%p call empty, (); call (%r3), plain, (%r1);
{ .param .b32 a; st.param.b32 [a],%r3; .param .b32 o; call.uni (o), leaf, (a); ld.param.b32 %r2,[o]; }
st.param.b32 [r],%r2; ret; }
.visible .entry two(.param .u64 p) { .reg .b32 %r<4>; .reg .b64 %rd<4>; ld.param.u64 %rd1,[p]; call bare;
{ .param .b64 a; st.param.b64 [a],%rd1; .param .b32 o; call.uni (o), mid, (a); ld.param.b32 %r1,[o]; } ret; }
.visible .entry three() { call bare; ret; }
"""


def test_functions_behind_their_callers():
    """Copies of functions stand behind what they call and use, as in debug builds (nvcc -G)."""
    text = write("behind.ptx", BEHIND)
    for points, copies in ((ALL, 9), (ALL + "c", 4), (ALL + "f", 0)):
        report, out = edit(text, points)
        verdict.equal(report["copies"], copies, points)
        inside = 0 if "f" in points else 11
        verdict.equal(report["points"]["m"] + report["points"]["x"], 3 + inside, points)
        left = {k: v for k, v in report["left"].items() if v}
        verdict.equal(sum(left.values()), 11 - inside, "left out: %r" % left)
        for version, ptxas in assemblers():
            assemble(ptxas, "80", out, path("behind_%s_%s.cubin" % (version, points)))
    if not os.access(NVCC, os.X_OK):
        return
    source = write("debug.cu", "#include <cuda/atomic>\n__global__ void k(cuda::atomic<int, cuda::thread_scope_device> *a)"
                               " { a->fetch_add(1); }\n")
    call(NVCC, "-ptx", "-G", "-std=c++17", "-arch=compute_80", "-o", path("debug.ptx"), source)
    for points in (ALL, ALL + "c"):
        report, out = edit(path("debug.ptx"), points)
        verdict.check(report["copies"] > 3, "no copies")
        assemble(newest_for(out), "80", out)


def test_predicated_exits_cost_nothing():
    """An exit that is not taken has no more code before it than the test that was there."""
    head = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u32 n)\n{\n" \
           ".reg .pred %p; .reg .b32 %r; ld.param.u32 %r, [n]; setp.eq.u32 %p, %r, 0;\n"
    one = write("exit_one.ptx", head + "@%p ret; ret;\n}\n")
    two = write("exit_two.ptx", head + "@!%p bra OVER; ret; OVER: ret;\n}\n")
    sizes = [len(assemble(newest_for(t), "75", edit(t, "x")[1])[".text.k"]) for t in (one, two)]
    verdict.check(sizes[0] <= sizes[1], "%d bytes instead of %d" % tuple(sizes))


def test_large_texts_take_linear_time():
    """Kernels, calls, scopes, labels, registers, operands, comments by the million."""
    head = ".version 7.0\n.target sm_75\n.address_size 64\n"
    kernel = ".visible .entry k%d(.param .u64 p) {\n.reg .b64 %%rd<3>; .reg .b32 %%r<9>; ld.param.u64 %%rd1, [p];\n" + \
             "ld.global.u32 %%r1, [%%rd1+4];\nst.global.u32 [%%rd1], %%r1;\n" * 40 + "ret; }\n"
    large = {
        "kernels": lambda n: head + "".join(kernel % i for i in range(n // 60)),
        "calls": lambda n: head + "".join(".func f%d { call f%d; ld.global.u32 %%r, [x]; ret; }\n" % (i, i + 1)
                                          for i in range(n // 2)) + ".func f%d { ret; } .entry k { call f0; }" % (n // 2),
        "scopes": lambda n: head + ".entry k {" + "{ .reg .b32 %r;" * n + "}" * n + "}",
        "labels": lambda n: head + ".entry k {" + "L:" * (7 * n) + "ret; }",
        "registers": lambda n: head + ".entry k { .reg .b64 " + ",".join("r%d" % i for i in range(n)) + "; ret; }",
        "operands": lambda n: head + ".entry k { st.global.u32 [a]" + ", x" * (7 * n) + "; }",
        "comments": lambda n: head + "/* */ // x\n" * (3 * n) + ".entry k { ret; }",
    }

    def seconds(name, n):
        """Of the processor, not of the clock: the machine may be busy."""
        file = write("large.ptx", large[name](n))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        report, out = edit(file, "nxmab", out=path("large.out"), tool="fast/edit_text")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        verdict.equal(report["copies"], n // 2 if name == "calls" else 0, name + ": copies")
        os.unlink(out)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    for name in large:
        # Of squares, the eighth part would take a 64th of the time. How fast the machine is, changes meanwhile.
        part, whole = seconds(name, 300000 // 8), seconds(name, 300000)
        verdict.check(whole < 25 * part + 0.2, "%s: %.3f s, and %.3f s for an eighth" % (name, whole, part))
