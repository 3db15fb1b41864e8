# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The fat binary reader and writer on what CUDA makes, and on its libraries."""
import glob
import os
import re
import subprocess

from common import (ALL, CUDA, NVCC, assemble, call, edit, fatbins, images, new_folder, newest_for,
                    path, program, read, side_by_side, write)
import verdict


def test_fatbins_of_all_packings():
    lists = [images(file) for file in fatbins()]
    kinds = {(image["kind"], image["packing"]) for one in lists for image in one}
    verdict.check({(1, "lz4"), (1, "zstd"), (1, ""), (2, "zstd"), (2, "")} <= kinds, "only %r" % kinds)
    for one in lists:
        verdict.equal([(i["kind"], i["sm"], i["specific"], i["kernels"]) for i in one],
                      [(i["kind"], i["sm"], i["specific"], i["kernels"]) for i in lists[0]], "images")
        verdict.equal([i["crc"] for i in one], [i["crc"] for i in lists[-1]], "contents, as those not packed")
        for image in one:
            verdict.check(image["kernels"] > 15, "kernels of %r" % image)
            if image["kind"] == 1:
                verdict.contains(image["options"], "-maxrregcount=64", "options")
    by_kind = [{i["kernels"] for i in lists[0] if (i["kind"], i["sm"]) == (kind, 75)} for kind in (1, 2)]
    verdict.equal(by_kind[0], by_kind[1], "kernels of PTX and of SASS")


def test_a_container_with_another_text():
    """Its PTX replaced by one with blocks: all else stays, and it can be assembled again."""
    tool = program("fatbin_images")
    for file in fatbins():
        call(tool, file, path("same.fatbin"))
        verdict.equal(read(path("same.fatbin"), True) == read(file, True), True, "written without a change")
        folder = new_folder()
        before = images(file, folder=folder)
        index = [i for i, one in enumerate(before) if one["kind"] == 1 and one["sm"] == 75][0]
        os.rename(os.path.join(folder, str(index)), path("image.ptx"))
        _, out = edit(path("image.ptx"), ALL)
        call(tool, file, path("changed.fatbin"), str(index), out)
        folder = new_folder()
        after = images(path("changed.fatbin"), folder=folder)
        verdict.equal([(i["kind"], i["sm"]) for i in after], [(1, i["sm"]) for i in before if i["kind"] == 1], "images")
        for i, image in enumerate(after):
            was = [b for b in before if b["kind"] == 1][i]
            if image["sm"] == 75:
                verdict.equal(read(os.path.join(folder, str(i)), True) == read(out, True), True, "the new text")
                verdict.equal((image["packing"], image["options"], image["name"]), ("", was["options"], was["name"]), "head")
                assemble(newest_for(out), "75", out)
            else:
                verdict.equal(image, was, "an image that stays")


def test_a_text_without_its_version():
    """fatbinary cuts off the line with which a text begins."""
    if not os.access(NVCC, os.X_OK):
        raise verdict.Skip("no fatbinary in " + CUDA)
    text = ".version 7.3\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n"
    for name, begin in (("bare", text), ("comment", "// a comment\n/* another */ " + text)):
        file = write("version.ptx", begin)
        call(os.path.join(CUDA, "bin/fatbinary"), "--64", "--create", path("version.fatbin"),
             "--image3=kind=ptx,sm=80,file=" + file)
        folder = new_folder()
        image, = images(path("version.fatbin"), folder=folder)
        out = os.path.join(folder, "0")
        verdict.equal(read(out).count(".version 7.3"), 1, name)
        report, _ = edit(out, "n", out=path("version.out"))
        verdict.equal((report["isa"], image["version"]), (73, [7, 3]), name)


def test_compiled_programs():
    """A program's section, that of an object that is still to be linked, and a wrapper of each kind."""
    if not os.access(NVCC, os.X_OK):
        raise verdict.Skip("no nvcc in " + CUDA)
    source = write("program.cu", "__global__ void k(int *p) { *p = 1; }\nint main() { k<<<1, 1>>>(0); }\n")
    for name, options in (("static", ()), ("linked", ("-rdc=true",)), ("object", ("-rdc=true", "-c"))):
        out = path("program_" + name)
        call(NVCC, "-arch=sm_80", *options, "-o", out, source)
        found = images(out)
        verdict.check(any(i["kernels"] == 1 for i in found), "%s: %r" % (name, found))
        verdict.check(any(i["kind"] == 1 for i in found), "%s has no PTX: %r" % (name, found))


def test_nvidias_libraries():
    """Heads of all images of all libraries that are here; contents of some of them."""
    if not os.access(NVCC, os.X_OK):
        raise verdict.Skip("no libraries in " + CUDA)
    files = sorted(set(os.path.realpath(f) for f in glob.glob(os.path.join(CUDA, "lib*/lib*.so*"))))
    total = unpacked = 0

    def one(file):
        size = os.path.getsize(file)
        # Some megabytes of each: all of a small library, one image of many of a large one.
        every = max(1, size >> 20)
        return images(file, every, tool="fast/fatbin_images")
    for found in side_by_side(one, [(f,) for f in files]):
        total += len(found)
        for image in found:
            verdict.check(image["kind"] in (1, 2) and 30 <= image["sm"] < 200, "%r" % image)
            verdict.check(image["packing"] != "other", "%r" % image)
            if "unpacked" in image:
                unpacked += 1
                # A text ends at its NUL.
                verdict.check(image["size"] - 8 <= image["unpacked"] <= image["size"] + 16, "%r" % image)
    if total < 1000:
        raise verdict.Skip("only %d images in the libraries of %s" % (total, CUDA))
    verdict.check(unpacked > 40, "only %d of %d images were unpacked" % (unpacked, total))
    print("    %d images in %d libraries, %d unpacked" % (total, len(files), unpacked))


def damaged(file):
    """A damaged container: read, or refused in one line."""
    done = subprocess.run([program("fatbin_images"), file, "1"], capture_output=True, text=True,
                          errors="replace")
    verdict.check(done.returncode in (0, 1), done.stderr[-600:])
    if done.returncode:
        verdict.check(re.fullmatch(r"fatbin_images: .+\n", done.stderr), "not one line: " + done.stderr[-500:])
    return done.returncode


def test_damaged_containers():
    data = read(fatbins()[1], True)
    todo = [(write("cut_%d" % at, data[:at]),) for at in range(17, len(data), len(data) // 10)]
    verdict.equal(set(side_by_side(damaged, todo)), {1}, "cut off")
    for at in range(0, 0x68, 3):
        changed = bytearray(data)
        changed[at] ^= 0xff
        todo.append((write("changed_%d" % at, bytes(changed)),))
    side_by_side(damaged, [one for one in todo if "changed" in one[0]])
