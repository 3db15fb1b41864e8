#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest tool
"""If neither source is available, one line says why, and the exit status is 77."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import source_bpf

NOBODY = 65534
NO_BTF = ["unshare", "--mount", "sh", "-c",
          "mount -t tmpfs none /sys/kernel/btf && exec \"$0\" \"$@\""]


def refusal(command, *pieces, prefix=(), **options):
    done = lab.run(*prefix, source_bpf.TOOL, *command, "--json", check_=False, **options)
    lab.equal(done.returncode, 77, "exit status of %s: %s" % (command, done.stderr))
    error = json.loads(done.stdout)["error"]
    lab.equal(done.stderr, "gpumon-user: %s\n" % error["message"], "one line")
    print("    %s: %s" % (error["code"], error["message"]))
    for piece in pieces:
        lab.check(piece in error["message"], "%r is not said: %s" % (piece, error["message"]))
    return error["code"]


def drop():
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def checks(*prefix, part=()):
    done = lab.run(*prefix, source_bpf.TOOL, "doctor", *part, "--json", check_=False, timeout=120)
    return {c["check"]: c for c in json.loads(done.stdout)["checks"]}, done.returncode


source_bpf.need()

lab.step("nobody, without the module and with it")
for command in ["stat"], ["trace"]:
    lab.equal(refusal(command, "modprobe gpumon", "CAP_BPF", preexec_fn=drop), "not-loaded", "auto")
    lab.equal(refusal(command + ["--source=bpf"], "CAP_BPF", "CAP_PERFMON", preexec_fn=drop),
              "permission", "bpf")
    lab.equal(refusal(command + ["--source=module"], "modprobe gpumon"), "not-loaded", "module")
lab.equal(refusal(["stat", "--source=bpf"], "user namespace",
                  prefix=["unshare", "--user", "--map-root-user"]), "permission", "namespace")

lab.step("without the kernel's types")
lab.equal(refusal(["stat", "--source=bpf"], "CONFIG_DEBUG_INFO_BTF", prefix=NO_BTF), "no-btf", "BTF")
lab.equal(refusal(["stat"], "modprobe gpumon", "CONFIG_DEBUG_INFO_BTF", prefix=NO_BTF),
          "not-loaded", "auto without BTF")

lab.step("doctor says which source there is, and why")
rows, status = checks(part=["driver"])
lab.equal((rows["source"]["level"], rows["module"]["level"]), ("ok", "warn"), "BPF alone")
lab.check(rows["source"]["message"].startswith("bpf"), rows["source"]["message"])
lab.equal(status, 0, "exit status of doctor with BPF")
lab.check("uprobes" not in rows, "doctor driver on uprobes")
lab.check("uprobes" in checks(part=["record"])[0], "doctor record on uprobes")
rows, status = checks(*NO_BTF)
lab.equal((rows["source"]["level"], rows["module"]["level"], status), ("fail", "fail", 1), "neither")
lab.load_gpumon()
rows, _ = checks()
lab.check(rows["source"]["message"].startswith("module"), rows["source"]["message"])
lab.equal(rows["source"]["level"], "ok", "the module")
done = lab.run(source_bpf.TOOL, "stat", "--json")
lab.equal(json.loads(done.stdout)["gpumon"]["source"], "kmod", "auto with the module")
lab.equal(refusal(["stat"], "permission", "CAP_BPF", preexec_fn=drop), "permission", "both refuse")

lab.step("what BPF has not")
done = lab.run(source_bpf.TOOL, "stat", "--source=bpf", "--reset", check_=False)
lab.equal(done.returncode, 1, "--reset")
lab.check("--reset" in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr)
for arguments in (["stat", "--source=kernel"], ["trace", "--source="], ["stat", "--"],
                  ["stat", "--reset", "-d", "1"]):
    done = lab.run(source_bpf.TOOL, *arguments, check_=False)
    lab.equal(done.returncode, 2, "exit status of %s: %s" % (arguments, done.stderr))
done = lab.run(source_bpf.TOOL, "stat", "--source=bpf", "--", "/does/not/exist", check_=False)
lab.equal(done.returncode, 1, "a command that is not there")
lab.check("/does/not/exist" in done.stderr, done.stderr)
done = lab.run(source_bpf.TOOL, "stat", "--source=bpf", "-o", "/proc/nothing", "-d", "10ms",
               check_=False)
lab.equal(done.returncode, 1, "a file that cannot be written")
done = lab.run(source_bpf.TOOL, "top", "--source=bpf", "--batch", "-n", "1", "-i", "100ms")
lab.check(done.stdout, "top by BPF")
