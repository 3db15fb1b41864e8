# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The tables of probes and fields in gpumon.ko, as the compiler laid them out.

Nothing that runs shows which prototype a probe expects and which function is its
body. Both are in the module's file: pointers of static tables are relocations
there, and where a member of a structure lies follows from the header.
"""
import os
import re
import struct

BUILD = os.environ.get("GPUMON_BUILD", "/gpumon")

SIZES = {"u8": 1, "bool": 1, "u32": 4, "s32": 4, "int": 4, "unsigned int": 4, "u64": 8,
         "size_t": 8, "kretprobe_handler_t": 8}


def _offsets(header, name, until):
    """{member: offset} of a structure up to a member. All its types must be known."""
    text = open(os.path.join(BUILD, "kmod", header)).read()
    body = re.search(r"^struct %s \{\n(.*?)^\}" % name, text, re.S | re.M).group(1)
    found, at = {}, 0
    for line in body.splitlines():
        m = re.match(r"\t(.*?)(\*\s*(?:const\s+\*\s*)?|\s)(\w+)(?:\[(\w+)\])?;$", line)
        m = m or re.match(r"\t(\w+) \((\*)(\w+)\)()\(.*\);$", line)
        if not m:
            if line.strip():
                raise ValueError("struct %s: %r" % (name, line))
            continue
        kind, pointer, member = m.group(1).strip(), "*" in m.group(2), m.group(3)
        size = 8 if pointer else 4 if kind.startswith("enum ") else SIZES[kind]
        at = (at + size - 1) // size * size
        found[member] = at
        at += size
        if member == until:
            break
    return found


class Module:
    """gpumon.ko: groups, each with its probes and fields."""

    def __init__(self, path=None):
        with open(path or os.path.join(BUILD, "gpumon.ko"), "rb") as f:
            self.data = f.read()
        assert self.data[:6] == b"\x7fELF\2\1"
        start, = struct.unpack_from("<Q", self.data, 40)
        size, count, names = struct.unpack_from("<HHH", self.data, 58)
        self.sections = []
        for i in range(count):
            name, kind, _, _, offset, length, link, info, _, entry = \
                struct.unpack_from("<IIQQQQIIQQ", self.data, start + i * size)
            self.sections.append({"name": name, "kind": kind, "offset": offset, "size": length,
                                  "link": link, "info": info, "entry": entry})
        for section in self.sections:
            section["name"] = self._text(self.sections[names]["offset"] + section["name"])
        self._symbols()
        self._relocations()

    def _text(self, at):
        return self.data[at:self.data.index(b"\0", at)].decode()

    def _symbols(self):
        table = next(s for s in self.sections if s["kind"] == 2)
        strings = self.sections[table["link"]]["offset"]
        self.symbols = []
        for at in range(table["offset"], table["offset"] + table["size"], 24):
            name, info, _, section, value, size = struct.unpack_from("<IBBHQQ", self.data, at)
            self.symbols.append((self._text(strings + name), info & 0xf, section, value, size))
        # Functions and objects by the address at which they begin.
        self.at = {(s[2], s[3]): s for s in self.symbols if s[1] in (1, 2)}
        self.named = {s[0]: s for s in self.symbols if s[1] in (1, 2)}

    def _relocations(self):
        self.pointers = {}
        for table in self.sections:
            if table["kind"] != 4:
                continue
            for at in range(table["offset"], table["offset"] + table["size"], 24):
                offset, info, addend = struct.unpack_from("<QQq", self.data, at)
                _, _, section, value, _ = self.symbols[info >> 32]
                # R_X86_64_64, R_AARCH64_ABS64: a pointer in data.
                if info & 0xffffffff in (1, 257):
                    self.pointers[table["info"], offset] = section, value + addend

    def pointer(self, place, offset=0):
        """Where the pointer at a place leads, None if it is NULL."""
        return self.pointers.get((place[0], place[1] + offset))

    def string(self, place, offset):
        target = self.pointer(place, offset)
        return target and self._text(self.sections[target[0]]["offset"] + target[1])

    def number(self, place, offset, form):
        return struct.unpack_from(form, self.data,
                                  self.sections[place[0]]["offset"] + place[1] + offset)[0]

    def function(self, place, offset):
        target = self.pointer(place, offset)
        return target and self.at[target][0]

    def _table(self, group, at, count):
        """Places of the elements of an array that a group has."""
        first = self.pointer(group, at)
        number = self.number(group, count, "<I")
        if not first:
            return []
        size = self.at[first][4]
        assert size % number == 0
        return [(first[0], first[1] + i * (size // number)) for i in range(number)]

    def groups(self):
        """[{name, probes, fields}], the latter lists of dictionaries."""
        of_group = _offsets("attach/probe.h", "gpumon_group", "enabled")
        of_probe = _offsets("attach/probe.h", "gpumon_probe", "without")
        of_field = _offsets("core/field.h", "gpumon_field", "size")
        _, _, section, value, size = self.named["all_groups"]
        result = []
        for i in range(size // 8):
            place = self.pointer((section, value + 8 * i))
            probes = [dict([(m, self.string(p, of_probe[m])) for m in
                            ("module", "with", "name", "prototype", "returns", "without")],
                           kind=("tracepoint", "kprobe", "kretprobe")[
                               self.number(p, of_probe["kind"], "<I")],
                           role=self.number(p, of_probe["role"], "<B"),
                           optional=bool(self.number(p, of_probe["optional"], "<B")),
                           count_if_suffixed=bool(
                               self.number(p, of_probe["count_if_suffixed"], "<B")),
                           fallback=bool(self.number(p, of_probe["fallback"], "<B")),
                           body=self.function(p, of_probe["body"]),
                           on_return=self.function(p, of_probe["on_return"]))
                      for p in self._table(place, of_group["probes"], of_group["count"])]
            fields = [dict([(m, self.string(f, of_field[m])) for m in ("module", "type", "member")],
                           size=self.number(f, of_field["size"], "<B"))
                      for f in self._table(place, of_group["fields"], of_group["field_count"])]
            result.append({"name": self.string(place, of_group["name"]), "probes": probes,
                           "fields": fields})
        return result
