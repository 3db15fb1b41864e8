# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The family as its YNL spec describes it, to hold the kernel's answers against.

gpumon_netlink.py takes its numbers from the module's header; here they are the
positions in the spec, as YNL has it, so that the two check each other.
"""
import os
import re
import struct

from gpumon_netlink import attributes

SPEC = os.path.join(os.environ.get("GPUMON_BUILD", "/gpumon"),
                    "Documentation/netlink/specs/gpumon.yaml")


class Spec:
    """What a test needs of the YNL spec; numbers are positions, as YNL gives them.

    Reads the subset of YAML that the spec is written in, because the roots of
    the VMs have no YAML library.
    """

    def __init__(self, path=SPEC):
        with open(path, encoding="utf-8") as file:
            self.lines = [line.rstrip() for line in file
                          if line.strip() and not line.lstrip().startswith("#")]
        self.sets = {}
        self.ops = {}
        self.enums = {}
        self._sets()
        self._enums()
        self._ops()

    def _section(self, name):
        start = self.lines.index(name + ":") + 1
        end = start
        while end < len(self.lines) and self.lines[end].startswith(" "):
            end += 1
        return self.lines[start:end]

    @staticmethod
    def _items(lines):
        """The items of a list, each as its lines."""
        indent = len(lines[0]) - len(lines[0].lstrip())
        items = []
        for line in lines:
            if line == " " * indent + "-":
                items.append([])
            else:
                items[-1].append(line)
        return items

    @staticmethod
    def _value(lines, key):
        """The value of a key on the item's own level, whatever it is."""
        indent = len(lines[0]) - len(lines[0].lstrip())
        for line in lines:
            match = re.match(r" {%d}%s: *(.*)" % (indent, key), line)
            if match:
                return match.group(1).strip('"')
        return None

    @staticmethod
    def _below(lines, key):
        """The lines under a key of the item's own level."""
        indent = len(lines[0]) - len(lines[0].lstrip())
        found = None
        for line in lines:
            level = len(line) - len(line.lstrip())
            if found is not None:
                if level <= indent:
                    break
                found.append(line)
            elif re.match(r" {%d}%s:" % (indent, key), line):
                found = []
        return found

    def _sets(self):
        for item in self._items(self._section("attribute-sets")):
            attributes = {}
            for number, one in enumerate(self._items(self._below(item, "attributes")), 1):
                checks = self._below(one, "checks")
                attributes[self._value(one, "name")] = {
                    "number": number,
                    "type": self._value(one, "type"),
                    "nest": self._value(one, "nested-attributes"),
                    "multi": self._value(one, "multi-attr") == "true",
                    "enum": self._value(one, "enum"),
                    "checks": {key: int(self._value(checks, key))
                               for key in ("min", "max", "max-len")
                               if checks and self._value(checks, key) is not None},
                }
            self.sets[self._value(item, "name")] = attributes

    def _enums(self):
        for item in self._items(self._section("definitions")):
            if self._value(item, "type") != "enum":
                continue
            self.enums[self._value(item, "name")] = [
                match.group(1) for match in
                (re.match(r' *(?:- )?name: "?([a-z0-9-]+)"?$', line)
                 for line in self._below(item, "entries")) if match]

    @staticmethod
    def _list(lines):
        text = " ".join(line.strip() for line in lines or [])
        match = re.search(r"attributes: *\[([^]]*)\]", text)
        if match:
            return [name.strip() for name in match.group(1).split(",")]
        return re.findall(r"- ([a-z0-9-]+)", text)

    def _ops(self):
        anchors = {}
        for number, item in enumerate(self._items(self._below(self._section("operations"), "list")), 1):
            op = {"number": number, "set": self._value(item, "attribute-set"),
                  "flags": self._value(item, "flags"),
                  "event": self._value(item, "event") is not None}
            for kind in ("do", "dump"):
                part = self._below(item, kind)
                if part is None:
                    continue
                reply = self._value(part, "reply") or ""
                names = self._list(self._below(part, "reply"))
                if reply.startswith("&"):
                    anchors[reply[1:]] = names
                elif reply.startswith("*"):
                    names = anchors[reply[1:]]
                op[kind] = {"request": self._list(self._below(part, "request")), "reply": names}
            self.ops[self._value(item, "name")] = op

    def decode(self, set_name, data):
        """{name: value} of attributes. Nests are decoded too, multi-attr ones into lists.

        Wrong lengths, unknown attributes and repeated ones are errors.
        """
        by_number = {one["number"]: (name, one) for name, one in self.sets[set_name].items()}
        result = {}
        for number, payload in attributes(data):
            if number not in by_number:
                raise ValueError("attribute %d is not in set %s" % (number, set_name))
            name, one = by_number[number]
            if one["type"] == "pad":
                continue
            if one["type"] in ("u32", "u64", "s64"):
                form = {"u32": "=I", "u64": "=Q", "s64": "=q"}[one["type"]]
                if len(payload) != struct.calcsize(form):
                    raise ValueError("%s of %d bytes" % (name, len(payload)))
                value, = struct.unpack(form, payload)
            elif one["type"] == "flag":
                if payload:
                    raise ValueError("%s of %d bytes" % (name, len(payload)))
                value = True
            elif one["type"] == "string":
                if payload[-1:] != b"\0" or b"\0" in payload[:-1]:
                    raise ValueError("%s is not one terminated string: %r" % (name, payload))
                value = payload[:-1].decode()
            elif one["type"] == "nest":
                value = self.decode(one["nest"], payload)
            else:
                raise ValueError("type %s" % one["type"])
            if one["multi"]:
                result.setdefault(name, []).append(value)
            elif name in result:
                raise ValueError("%s twice" % name)
            else:
                result[name] = value
        return result
