#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel drivers=absent needs=amdgpu timeout=600
"""Members of private types: what gpumon found in BTF is what the tests' own reader finds, for
each field of each group; what is not there is unknown and says why.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import btf
import fire
import gpumon_ko
import lab
from gpumon_netlink import Gpumon

DRIVERS = fire.drivers()
FIELDS = [f for g in gpumon_ko.Module().groups() for f in g["fields"]]


def types_of(module, known={}):
    if module not in known:
        known[module] = btf.Btf(module or "vmlinux")
    return known[module]


def find(field):
    """What a field's row must say: (offset, size, reason); reason "..." is any."""
    types = types_of(field["module"])
    for prefix in "struct ", "union ", "":
        if not types.has(prefix + field["type"]):
            continue
        try:
            member = types.member(prefix + field["type"], field["member"])
        except btf.Missing:
            return None, None, "%s in %s has no such member" % (field["type"],
                                                                field["module"] or "vmlinux")
        if member.bits:
            # The smallest word that contains all its bits.
            size = next(s for s in (1, 2, 4, 8)
                        if member.bit % (8 * s) + member.bits <= 8 * s)
            return ("%d.%d:%d" % (member.bit // (8 * size) * size, member.bit % (8 * size),
                                  member.bits), size, None)
        if field["size"] and field["size"] != member.size:
            return None, None, "size is %d, expected %d" % (member.size, field["size"])
        return member.offset, member.size, None
    return None, None, "no type %s in BTF of %s" % (field["type"], field["module"] or "vmlinux")


def check_fields():
    """Every row is right; number of fields that are known."""
    with Gpumon() as g:
        everything = g.layouts()
    lab.equal([(r["module"], r["type"], r["member"]) for r in everything],
              [(f["module"] or "vmlinux", f["type"], f["member"]) for f in FIELDS],
              "fields by netlink")
    for field, row in zip(FIELDS, everything):
        if not lab.loaded(field["module"]):
            lab.equal((row.get("offset"), row.get("size"), row["reason"]),
                      (None, None, "module %s is not loaded" % field["module"]),
                      "%s.%s by netlink" % (field["type"], field["member"]))
    rows = lab.stats()["layouts"]
    # It prints only the state of a driver that is not loaded.
    fields = [f for f in FIELDS if lab.loaded(f["module"])]
    lab.equal([(r["module"], r["member"]) for r in rows],
              [(f["module"] or "vmlinux", "%s.%s" % (f["type"], f["member"])) for f in fields],
              "fields")
    known = 0
    for field, row in zip(fields, rows):
        lab.equal((row["offset"], row["size"], row["reason"]), find(field),
                  "%s %s" % (row["module"], row["member"]))
        known += row["offset"] is not None
    return known


lab.check(FIELDS, "no group has a field")

lab.step("gpumon first")
fire.unload_drivers(*reversed(DRIVERS))
# It comes with amdgpu, and stays.
if lab.loaded("gpu_sched"):
    lab.rmmod("gpu_sched")
lab.load_gpumon()
before = check_fields()
fire.load_drivers(*DRIVERS)
known = check_fields()
print("%d fields known" % known)
for module in DRIVERS:
    lab.check(any(r["module"] == module and r["offset"] is not None
                  for r in lab.stats()["layouts"]), "no field of %s is known" % module)

lab.step("drivers first")
lab.rmmod("gpumon")
lab.load_gpumon()
lab.equal(check_fields(), known, "fields known")

lab.step("one driver goes and comes back")
lab.rmmod(DRIVERS[-1])
lab.check(before < check_fields() < known, "fields known without " + DRIVERS[-1])
fire.load_drivers(DRIVERS[-1])
lab.equal(check_fields(), known, "fields known")

lab.step("all gone")
fire.unload_drivers(*reversed(DRIVERS), "gpu_sched")
lab.equal(check_fields(), before, "fields known")
