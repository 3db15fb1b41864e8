#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The netlink ABI is written three times: in the YNL spec, in the uapi header
and in the kernel's tables of operations and policies. This compares them.

usage: netlink-spec.py SCHEMA SPEC HEADER SOURCE..."""

import re
import sys

import jsonschema
import yaml


def constant(*parts):
    return "_".join(p.upper().replace("-", "_") for p in parts if p)


def strip_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def expand(text):
    """The text with its own one-line macros that take arguments expanded, for the tables."""
    define = r"^#define (\w+)\(([\w, ]+)\)[ \t]((?:[^\n]*\\\n)*[^\n]*)$"
    for name, parameters, body in re.findall(define, text, flags=re.M):
        parameters = parameters.split(", ")

        def put(match, parameters=parameters, body=body):
            values = dict(zip(parameters, (value.strip() for value in match[1].split(","))))
            word = r"(?:\s*##\s*)?\b(" + "|".join(parameters) + r")\b(?:\s*##\s*)?"
            return re.sub(word, lambda found: values.get(found[1], ""), body.replace("\\\n", " "))

        text = re.sub(r"(?<!#define )\b" + name + r"\(([^()]*)\)", put, text)
    return text


def header_values(text):
    """Every enumerator with its value, and every #define with a plain one."""
    values = {}
    for body in re.findall(r"enum\s*\w*\s*\{(.*?)\}", text, flags=re.S):
        value = -1
        for item in filter(None, (i.strip() for i in body.split(","))):
            name, _, given = (p.strip() for p in item.partition("="))
            if given:
                known = re.sub(r"\b[A-Z_a-z]\w*\b", lambda m: str(values.get(m[0], m[0])), given)
                known = re.sub(r"\b(\d+)[uUlL]+\b", r"\1", known)
                if not re.fullmatch(r"[\s0-9xa-fA-F()+\-<|]+", known):
                    raise SystemExit(f"cannot evaluate {name} = {given}")
                value = eval(known, {"__builtins__": {}})
            else:
                value += 1
            values[name] = value
    for name, value in re.findall(r"^#define\s+(\w+)\s+(\d+|\"[^\"]*\")\s*$", text, flags=re.M):
        values[name] = int(value) if value.isdigit() else value.strip('"')
    return values


class Check:
    def __init__(self):
        self.problems = []

    def that(self, truth, message):
        if not truth:
            self.problems.append(message)


def attribute_names(spec, aset):
    """(constant, value) of the attributes of one set, numbered as YNL says."""
    prefix = aset.get("name-prefix") or constant(spec["name"], "A", aset["name"]) + "_"
    prefix = constant(prefix.rstrip("-_")) + "_"
    value = 0
    for attr in aset["attributes"]:
        value = attr.get("value", value + 1)
        yield prefix + constant(attr["name"]), value, attr


def set_max(spec, aset):
    if "attr-max-name" in aset:
        return constant(aset["attr-max-name"])
    prefix = aset.get("name-prefix") or constant(spec["name"], "A", aset["name"]) + "-"
    return constant(prefix.rstrip("-_"), "MAX")


def check_header(check, spec, values):
    expected = {}

    check.that(values.get(constant(spec["name"], "FAMILY-NAME")) == spec["name"],
               "family name differs")
    check.that(values.get(constant(spec["name"], "FAMILY-VERSION")) == spec.get("version", 1),
               "family version differs")
    for definition in spec.get("definitions", []):
        if definition["type"] == "const":
            expected[constant(spec["name"], definition["name"])] = definition["value"]
            continue
        prefix = definition.get("name-prefix", f"{spec['name']}-{definition['name']}-")
        prefix = constant(prefix.rstrip("-_"))
        value = definition.get("value-start", 0)
        for entry in definition["entries"]:
            entry = entry if isinstance(entry, dict) else {"name": entry}
            value = entry.get("value", value)
            number = 1 << value if definition["type"] == "flags" else value
            expected[constant(prefix, entry["name"])] = number
            value += 1
        if definition.get("render-max"):
            expected[constant(prefix, "max")] = value - 1
    for aset in spec["attribute-sets"]:
        if "subset-of" in aset:
            continue
        last = 0
        for name, value, _ in attribute_names(spec, aset):
            expected[name] = value
            last = max(last, value)
        expected[set_max(spec, aset)] = last
    operations = spec["operations"]
    prefix = operations.get("name-prefix", f"{spec['name']}-cmd-")
    value = 0
    for op in operations["list"]:
        value = op.get("value", value + 1)
        expected[constant(prefix.rstrip("-_"), op["name"])] = value
    expected[constant(prefix.rstrip("-_"), "max")] = value
    for group in spec.get("mcast-groups", {}).get("list", []):
        expected[constant(spec["name"], "MCGRP", group["name"])] = group["name"]

    for name, value in expected.items():
        check.that(name in values, f"{name} is in the spec, not in the header")
        check.that(values.get(name, value) == value,
                   f"{name}: spec {value!r}, header {values.get(name)!r}")
    for name in values:
        known = name in expected or name.startswith("__")
        known = known or name.endswith(("_FAMILY_NAME", "_FAMILY_VERSION"))
        check.that(known, f"{name} is in the header, not in the spec")
    return expected


def initialisers(text, kind):
    """The { ... } entries of every array of this struct type, as text."""
    for match in re.finditer(kind + r"\s+\w+\s*\[[^\]]*\]\s*(?:__\w+\s*)?=\s*\{", text):
        depth, start, i = 1, match.end(), match.end()
        entry = None
        while depth:
            if text[i] == "{":
                depth += 1
                if depth == 2:
                    entry = i
            elif text[i] == "}":
                depth -= 1
                if depth == 1 and entry is not None:
                    yield match[0], text[start:entry], text[entry:i + 1]
                    start, entry = i + 1, None
            i += 1


def check_operations(check, spec, source):
    prefix = spec["operations"].get("name-prefix", f"{spec['name']}-cmd-")
    found = {}
    for kind in (r"struct genl_ops", r"struct genl_split_ops", r"struct genl_small_ops"):
        for _, _, entry in initialisers(source, kind):
            command = re.search(r"\.cmd\s*=\s*(\w+)", entry)
            if not command:
                check.that(False, f"an operation without .cmd: {entry}")
                continue
            found.setdefault(command[1], []).append(entry)
            check.that("GENL_ADMIN_PERM" in entry or "GENL_UNS_ADMIN_PERM" in entry,
                       f"{command[1]}: not admin-perm")
            check.that("GENL_UNS_ADMIN_PERM" not in entry,
                       f"{command[1]}: CAP_NET_ADMIN of a user namespace is not enough")
            check.that("GENL_DONT_VALIDATE_STRICT" not in entry,
                       f"{command[1]}: not validated strictly")
    check.that(found, "no table of operations found in the sources")
    for op in spec["operations"]["list"]:
        name = constant(prefix.rstrip("-_"), op["name"])
        if "notify" in op or "event" in op:
            check.that(name not in found, f"{name} is a notification, but has an operation")
            continue
        check.that("admin-perm" in op.get("flags", []), f"{op['name']}: spec lacks admin-perm")
        check.that(name in found, f"{name} has no operation")
        text = " ".join(found.pop(name, []))
        if not text:
            continue
        check.that(("do" in op) == (".doit" in text), f"{name}: do of spec and kernel differ")
        check.that(("dump" in op) == (".dumpit" in text), f"{name}: dump of spec and kernel differ")
    for name in found:
        check.that(False, f"{name} is an operation of the kernel, not of the spec")


NLA_TYPES = {
    "u8": "NLA_U8", "u16": "NLA_U16", "u32": "NLA_U32", "u64": "NLA_U64",
    "s32": "NLA_S32", "s64": "NLA_S64", "flag": "NLA_FLAG",
    "string": "NLA_(?:NUL_)?STRING", "binary": "NLA_BINARY", "nest": "NLA_NESTED",
}


def policies(check, by_name, source):
    """Policy name -> the attributes it takes, each held against its type in the spec."""
    found = {}
    pattern = r"struct nla_policy\s+(\w+)\s*\[[^\]]*\]\s*=\s*\{(.*?)\n\};"
    entry = r"\[(\w+)\]\s*=\s*(\{.*?\}|\w+\(.*?\))\s*,?\s*(?=\[|$)"
    for policy, body in re.findall(pattern, source, flags=re.S):
        found[policy] = set()
        for name, rule in re.findall(entry, body, flags=re.S):
            if name not in by_name:
                check.that(False, f"policy {policy}: {name} is not in the spec")
                continue
            found[policy].add(name)
            attr = by_name[name]
            kind = NLA_TYPES.get(attr["type"], "?")
            told = re.search(kind + r"\b", rule)
            told = told or attr["type"] == "nest" and "NLA_POLICY_NESTED" in rule
            check.that(told, f"policy {policy}: {name} is {attr['type']} in the spec, here {rule}")
            checks = attr.get("checks", {})
            if "max-len" in checks:
                check.that(re.search(r"\.len\s*=|NLA_POLICY_\w*LEN", rule),
                           f"policy {policy}: {name} has no length limit")
            if "min" in checks or "max" in checks:
                check.that(re.search(r"NLA_POLICY_(MIN|MAX|RANGE|FULL_RANGE)\b", rule),
                           f"policy {policy}: {name} has no limits")
        check.that(len(found[policy]) == body.count("] ="),
                   f"policy {policy}: cannot read it all")
    return found


def check_policies(check, spec, source):
    sets = {}
    by_name = {}
    for aset in spec["attribute-sets"]:
        names = sets.setdefault(aset["name"], {})
        for name, _, attr in attribute_names(spec, aset):
            names[attr["name"]] = name
            by_name[name] = attr
    found = policies(check, by_name, source)
    check.that(found, "no policy found in the sources")

    # What an operation takes is what the spec lets userspace send with it.
    prefix = spec["operations"].get("name-prefix", f"{spec['name']}-cmd-")
    taken = {}
    for kind in (r"struct genl_ops", r"struct genl_split_ops"):
        for _, _, entry in initialisers(source, kind):
            command = re.search(r"\.cmd\s*=\s*(\w+)", entry)
            policy = re.search(r"\.policy\s*=\s*(\w+)", entry)
            if command and policy:
                taken.setdefault(command[1], set()).update(found.get(policy[1], {"?" + policy[1]}))
    for op in spec["operations"]["list"]:
        name = constant(prefix.rstrip("-_"), op["name"])
        wanted = set()
        for mode in ("do", "dump"):
            for attr in op.get(mode, {}).get("request", {}).get("attributes", []):
                wanted.add(sets[op["attribute-set"]][attr])
        for attr in sorted(wanted - taken.get(name, set())):
            check.that(False, f"{name}: the spec lets {attr} be sent, no policy takes it")
        for attr in sorted(taken.get(name, set()) - wanted):
            check.that(False, f"{name}: the policy takes {attr}, the spec does not have it")


def main():
    schema_path, spec_path, header_path, *sources = sys.argv[1:]
    with open(schema_path, encoding="utf-8") as file:
        schema = yaml.safe_load(file)
    with open(spec_path, encoding="utf-8") as file:
        spec = yaml.safe_load(file)
    with open(header_path, encoding="utf-8") as file:
        values = header_values(strip_comments(file.read()))
    source = ""
    for path in sources:
        with open(path, encoding="utf-8") as file:
            source += expand(strip_comments(file.read()))

    check = Check()
    for error in jsonschema.Draft7Validator(schema).iter_errors(spec):
        check.that(False, "schema: " + "/".join(map(str, error.path)) + ": " + error.message)
    if not check.problems:
        check_header(check, spec, values)
        check_operations(check, spec, source)
        check_policies(check, spec, source)
    for problem in check.problems:
        print(problem)
    return 1 if check.problems else 0


sys.exit(main())
