#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""table.py SPEC: the YNL spec as the tables in C that the fuzzer works from, to stdout."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../suite/lib"))

from netlink_spec import Spec

TYPES = {"u32": "U32", "u64": "U64", "s64": "S64", "string": "STRING", "flag": "FLAG",
         "nest": "NEST", "pad": "PAD"}


def mask(names, attributes):
    value = 0
    for name in names:
        value |= 1 << attributes[name]["number"]
    return "0x%xULL" % value


def main():
    spec = Spec(sys.argv[1])
    numbers = {name: i for i, name in enumerate(spec.sets)}
    print("/* Made by table.py from the YNL spec. */")
    for name, attributes in spec.sets.items():
        if len(attributes) > 62:
            sys.exit("the masks of the tables have no room for set %s" % name)
        print("static const struct spec_attr attrs_%s[] = {" % name.replace("-", "_"))
        for attr, one in attributes.items():
            enum = len(spec.enums[one["enum"]]) if one["enum"] else 0
            checks = one["checks"]
            print('\t[%d] = { "%s", TYPE_%s, %d, %d, %d, %du, %du, %d },' %
                  (one["number"], attr, TYPES[one["type"]], one["multi"],
                   numbers[one["nest"]] if one["nest"] else -1, enum, checks.get("min", 0),
                   checks.get("max", 0xffffffff), checks.get("max-len", 0)))
        print("};\n")
    print("const struct spec_set spec_sets[] = {")
    for name, attributes in spec.sets.items():
        print('\t{ "%s", attrs_%s, %d },' % (name, name.replace("-", "_"), len(attributes)))
    print("};\n")
    print("const struct spec_op spec_ops[] = {")
    for name, op in spec.ops.items():
        attributes = spec.sets[op["set"]]
        parts = []
        for kind in ("do", "dump"):
            part = op.get(kind)
            parts.append("{ %d, %s, %s }" %
                         (part is not None, mask(part["request"] if part else (), attributes),
                          mask(part["reply"] if part else (), attributes)))
        if op["event"]:
            # Its contents are those of the dump of the same set.
            reply = next(o["dump"]["reply"] for o in spec.ops.values()
                         if o["set"] == op["set"] and "dump" in o)
            parts[1] = "{ 0, 0, %s }" % mask(reply, attributes)
        print('\t[%d] = { "%s", %d, %d, { %s } },' %
              (op["number"], name, numbers[op["set"]], op["event"], ", ".join(parts)))
    print("};\n")
    print("const unsigned int spec_op_count = sizeof(spec_ops) / sizeof(spec_ops[0]);")


main()
