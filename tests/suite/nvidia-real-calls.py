#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=nvidia tool timeout=900
"""NVIDIA's real driver: what programs do with its files, by the module and by BPF."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import nvidia
import nvidia_real
import nvidia_stats
import source_bpf
from gpumon_netlink import Gpumon

FRONTEND = nvidia_real.GENERATION == "535"
# The functions of 32-bit programs, too.
FILE_PROBES = ({"nvidia_frontend_" + f for f in ("open", "close", "unlocked_ioctl", "compat_ioctl",
                                                 "mmap", "poll")} if FRONTEND else
               {"nvidia_" + f for f in ("open", "close", "unlocked_ioctl", "mmap", "poll")})
ELSEWHERE = ("nvidia_p2p_", "nv_pmops_", "nvidia_isr", "nv_pci_")


def check_attached(with_btf):
    probes = nvidia_real.check_probes()
    for name, (state, reason) in sorted(probes.items()):
        print("    %s: %s%s" % (name, state, ", " + str(reason) if reason else ""))
    attached = {name for name, (state, _) in probes.items() if state == "attached"}
    lab.check(FILE_PROBES <= attached, "not attached: %s" % (FILE_PROBES - attached))
    for prefix in ELSEWHERE:
        lab.check(any(name.startswith(prefix) for name in attached), "no probe of " + prefix)
    lab.check("nv_report_error" in attached or "nvidia_dev_xid" in attached, "no probe of Xids")
    for name in attached:
        if "arguments not trusted" in str(probes[name][1]):
            continue
        checked = "prototype not checked: no BTF" not in str(probes[name][1])
        lab.equal(checked, with_btf, "the prototype of %s was checked" % name)
    for row in lab.stats()["layouts"]:
        if row["module"] == "nvidia":
            lab.equal(row["offset"] is not None, with_btf, "%s is known" % row["member"])


def check_doctor():
    """doctor warns of nothing that is well with this driver."""
    done = subprocess.run([source_bpf.TOOL, "doctor", "--json"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=120 * lab.SLOWER)
    checks = json.loads(done.stdout)["checks"]
    mine = [c for c in checks if c["check"].startswith(("group nvidia", "probe nv", "probe uvm"))]
    lab.check(len(mine) > 10, "doctor has only %d lines of the driver" % len(mine))
    for c in mine:
        lab.equal(c["level"], "ok", "doctor of %s: %s" % (c["check"], c["message"]))


for plain in False, True:
    lab.step("%s, %s BTF: probes" % (nvidia_real.VERSION, "without" if plain else "with"))
    name0 = "minor0" if plain else nvidia_real.BUS
    lab.load_gpumon()
    nvidia_real.load(plain)
    check_attached(not plain)
    check_doctor()

    lab.step("calls of two processes, also of 32 bits")
    accounts = [nvidia_real.calls("-g", 2, "-c", 3)]
    nvidia_real.check_calls(accounts[0], name0)

    lab.step("more of them at once, with a file open")
    process = nvidia_real.calling("-p", 4, "-n", 3)
    row = nvidia_stats.table("devices", "minor")[255]
    lab.equal(row["open_handles"], 4, "open handles")
    accounts.append(nvidia_real.ended(process))
    nvidia_real.check_calls(nvidia_real.total(accounts), name0)
    if not plain:
        lab.step("killed with files open")
        process = nvidia_real.calling("-p", 2, "-n", 1)
        lab.equal(nvidia_stats.table("devices", "minor")[255]["open_handles"], 2, "open handles")
        lab.run("pkill", "-KILL", "nvidia_calls")
        process.wait()
        lab.until(lambda: not nvidia_stats.table("devices", "minor")[255]["open_handles"],
                  "the kernel closes the files of killed processes")

        lab.step("by BPF, beside the module")
        with Gpumon() as g:
            g.reset()
        counting = source_bpf.Counting()
        account = nvidia_real.calls("-g", 1)
        document = counting.end()
        source_bpf.lossless(document)
        nvidia_real.check_calls(account)
        rows = source_bpf.table(document, "nvidia", "devices", "minor")
        theirs = nvidia_stats.table("devices", "minor")
        for column in "opens", "ioctls", "ioctls_failed", "mmaps", "mmaps_failed", "mapped_bytes":
            lab.equal(rows[255][column], theirs[255][column], column + " by BPF")
        ours = source_bpf.table(document, "nvidia", "ioctls", "command")
        lab.equal({c: (row["number"], lab.value(row["name"]), row["ioctls"], row["failed"],
                       row["rm_failed"])
                   for c, row in ours.items()}, nvidia_real.commands(account), "commands by BPF")
    lab.rmmod("gpumon")
    nvidia_real.unload()

lab.step("no GPU: the driver does not stay")
lab.load_gpumon()
done = nvidia_real.insmod("nvidia", check_=False)
lab.check(done.returncode and "No such device" in done.stderr, "insmod says: " + done.stderr)
group = {g["group"]: g for g in lab.stats()["groups"]}["nvidia"]
lab.equal((group["state"], group["reason"]), ("waiting", "module nvidia is not loaded"),
          "the group")
lab.rmmod("gpumon")
