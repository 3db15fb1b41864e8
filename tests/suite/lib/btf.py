# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Layouts and prototypes of the running kernel and its modules, from their BTF.

    amdgpu = btf.Btf("amdgpu")
    amdgpu.sizeof("struct amdgpu_bo")
    amdgpu.member("struct amdgpu_bo", "tbo.base.size").offset
    amdgpu.tracepoint("amdgpu_bo_move")      ["struct amdgpu_bo *", "uint32_t", "uint32_t"]
    amdgpu.function("amdgpu_irq_dispatch")

A module's BTF is split: its type ids and string offsets go on where those of
the kernel's end, so both are read. Each record is as long as its kind and
count say, so they can only be found one after the other; that is done once,
and the kernel's part is shared.
"""
import struct
from array import array
from collections import namedtuple

FOLDER = "/sys/kernel/btf"

(INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD, TYPEDEF, VOLATILE, CONST, RESTRICT, FUNC,
 FUNC_PROTO, VAR, DATASEC, FLOAT, DECL_TAG, TYPE_TAG, ENUM64) = range(1, 20)

# What follows the 12 bytes of a record: a fixed part, and one for each of its vlen.
TRAILER = {INT: (4, 0), PTR: (0, 0), ARRAY: (12, 0), STRUCT: (0, 12), UNION: (0, 12),
           ENUM: (0, 8), FWD: (0, 0), TYPEDEF: (0, 0), VOLATILE: (0, 0), CONST: (0, 0),
           RESTRICT: (0, 0), FUNC: (0, 0), FUNC_PROTO: (0, 8), VAR: (4, 0), DATASEC: (0, 12),
           FLOAT: (0, 0), DECL_TAG: (4, 0), TYPE_TAG: (0, 0), ENUM64: (0, 12)}
PREFIX = {STRUCT: "struct ", UNION: "union ", ENUM: "enum ", ENUM64: "enum ", FWD: "struct "}
# Types that stand for another type, with the same layout.
TRANSPARENT = (TYPEDEF, VOLATILE, CONST, RESTRICT, TYPE_TAG)
MODIFIER = {VOLATILE: "volatile", CONST: "const", RESTRICT: "restrict"}

# offset and size in bytes. For a bit field, bit is its first bit counted from the beginning of the
# structure, and bits its width; otherwise both are None.
Member = namedtuple("Member", "offset size type bit bits")


class Missing(KeyError):
    """This kernel has no such type, member, tracepoint or function."""


class _Section:
    """One BTF: the kernel's, or a module's part."""

    def __init__(self, path, base=None):
        with open(path, "rb") as f:
            data = f.read()
        magic, version, _, header, types, types_len, strings, strings_len = \
            struct.unpack_from("<HBBIIIII", data)
        if magic != 0xeb9f or version != 1:
            raise ValueError("%s is not BTF that is understood here" % path)
        self.types = data[header + types:header + types + types_len]
        self.strings = data[header + strings:header + strings + strings_len]
        self.first = base.last + 1 if base else 1
        self.first_string = base.first_string + len(base.strings) if base else 0
        self._scan()

    def _scan(self):
        words = memoryview(self.types).cast("I")
        # In words of four bytes, by kind.
        fixed = [0] * 32
        each = [0] * 32
        for kind, (a, b) in TRAILER.items():
            fixed[kind], each[kind] = 3 + a // 4, b // 4
        at, end = 0, len(words)
        offsets = []
        add = offsets.append
        while at < end:
            add(at)
            info = words[at + 1]
            kind = info >> 24 & 0x1f
            if not fixed[kind]:
                raise ValueError("BTF has a kind %d, which is not known here" % kind)
            at += fixed[kind] + each[kind] * (info & 0xffff)
        self.words, self.offsets = words, array("I", offsets)
        self.last = self.first + len(offsets) - 1

    def string_offset(self, text):
        """Where the string is in this section; None if it is not."""
        # A module's strings do not begin with an empty one.
        text = text.encode() + b"\0"
        if self.strings.startswith(text):
            return self.first_string
        at = self.strings.find(b"\0" + text)
        return None if at < 0 else self.first_string + at + 1

    def named(self, offset):
        """Ids of the types with this name."""
        words = self.words
        return [self.first + i for i, at in enumerate(self.offsets) if words[at] == offset]


_kernel = None


class Btf:
    """Types that a module (or "vmlinux") uses."""

    def __init__(self, module="vmlinux", folder=FOLDER):
        global _kernel
        if folder != FOLDER or not _kernel:
            kernel = _Section(folder + "/vmlinux")
            if folder == FOLDER:
                _kernel = kernel
        else:
            kernel = _kernel
        self.module = module
        self.sections = [kernel]
        if module != "vmlinux":
            self.sections.append(_Section("%s/%s" % (folder, module.replace("-", "_")), kernel))
        self._found = {}

    # --- records

    def _record(self, type_id):
        """(name, kind, vlen, kind_flag, size or type, words, index of what follows)"""
        section = self.sections[-1]
        if type_id < section.first:
            section = self.sections[0]
        at = section.offsets[type_id - section.first]
        words = section.words
        info = words[at + 1]
        return (self._string(words[at]), info >> 24 & 0x1f, info & 0xffff, info >> 31,
                words[at + 2], words, at + 3)

    def _string(self, offset):
        section = self.sections[-1]
        if offset < section.first_string:
            section = self.sections[0]
        offset -= section.first_string
        return section.strings[offset:section.strings.index(b"\0", offset)].decode()

    def _find(self, name, kinds):
        """Id of the type of this name; the module's own comes first."""
        key = name, kinds
        if key not in self._found:
            self._found[key] = self._search(name, kinds)
        return self._found[key]

    def _search(self, name, kinds):
        # A string is stored once, by the kernel if it has it. So a type of the module may have a
        # name in the kernel's strings.
        offsets = [s.string_offset(name) for s in self.sections]
        for section in reversed(self.sections):
            for offset in offsets:
                if offset is None:
                    continue
                for type_id in section.named(offset):
                    if self._record(type_id)[1] in kinds:
                        return type_id
        raise Missing("%s: no %s in BTF" % (self.module, name))

    def _type(self, name):
        """Id of 'struct x', 'union x', 'enum x' or of a typedef or plain type."""
        for prefix, kinds in (("struct ", (STRUCT,)), ("union ", (UNION,)),
                              ("enum ", (ENUM, ENUM64))):
            if name.startswith(prefix):
                return self._find(name[len(prefix):], kinds)
        return self._find(name, (TYPEDEF, INT, FLOAT))

    def _bare(self, type_id):
        """Past typedefs and const."""
        while type_id:
            record = self._record(type_id)
            if record[1] not in TRANSPARENT:
                break
            type_id = record[4]
        return type_id

    def _size(self, type_id):
        type_id = self._bare(type_id)
        if not type_id:
            return 0
        _, kind, _, _, size, words, at = self._record(type_id)
        if kind in (PTR, FUNC_PROTO):
            return 8
        if kind == ARRAY:
            return self._size(words[at]) * words[at + 2]
        return size

    # --- what is asked for

    def has(self, name, path=None):
        """Whether there is such a type; with path, such a member of it."""
        try:
            self.member(name, path) if path else self._type(name)
        except Missing:
            return False
        return True

    def sizeof(self, name):
        """In bytes."""
        return self._size(self._type(name))

    def members(self, name):
        """Names of the members, those of unnamed structures in it too."""
        return self._names(self._bare(self._type(name)))

    def _names(self, type_id):
        _, kind, vlen, _, _, words, at = self._record(type_id)
        found = []
        if kind in (STRUCT, UNION):
            for i in range(vlen):
                member = self._string(words[at + 3 * i])
                found += [member] if member else self._names(self._bare(words[at + 3 * i + 1]))
        return found

    def member(self, name, path):
        """Where a member is: "tbo.base.size", "src_data[2]"; through unnamed structures too."""
        type_id, bit, bits = self._type(name), 0, None
        for part in path.replace("[", ".[").split("."):
            type_id = self._bare(type_id)
            if part.startswith("["):
                _, kind, _, _, _, words, at = self._record(type_id)
                index = int(part[1:-1])
                if kind != ARRAY or not 0 <= index < max(words[at + 2], 1):
                    raise Missing("%s: no %s in %s" % (self.module, path, name))
                type_id = words[at]
                bit += 8 * index * self._size(type_id)
            else:
                found = self._member(type_id, part)
                if not found:
                    raise Missing("%s: no %s in %s" % (self.module, path, name))
                type_id, bit, bits = found[0], bit + found[1], found[2]
        return Member(bit // 8, self._size(type_id), self.type_name(type_id),
                      bit if bits else None, bits)

    def _member(self, type_id, name):
        """(type, offset in bits, bits of a bit field) or None."""
        _, kind, vlen, flag, _, words, at = self._record(type_id)
        if kind not in (STRUCT, UNION):
            return None
        for i in range(vlen):
            member, its_type, offset = words[at + 3 * i:at + 3 * i + 3]
            bits = offset >> 24 or None if flag else None
            offset = offset & 0xffffff if flag else offset
            member = self._string(member)
            if member == name:
                return its_type, offset, bits
            if not member:
                inner = self._member(self._bare(its_type), name)
                if inner:
                    return inner[0], offset + inner[1], inner[2]
        return None

    def type_name(self, type_id):
        """As it is written in C; a pointer to a function is 'RETURN (*)(ARGUMENTS)'."""
        if not type_id:
            return "void"
        name, kind, vlen, _, target, words, at = self._record(type_id)
        if kind == PTR:
            inner = self._record(target) if target else None
            if inner and inner[1] == FUNC_PROTO:
                return "%s (*)(%s)" % (self.type_name(inner[4]),
                                       ", ".join(a for a, _ in self._arguments(target)))
            text = self.type_name(target)
            return text + ("*" if text.endswith("*") else " *")
        if kind in MODIFIER:
            text = self.type_name(target)
            # In a pointer type, the pointer is const.
            return text + " " + MODIFIER[kind] if text.endswith("*") else MODIFIER[kind] + " " + text
        if kind == TYPE_TAG:
            return self.type_name(target)
        if kind == ARRAY:
            return "%s[%d]" % (self.type_name(words[at]), words[at + 2])
        if kind == FUNC_PROTO:
            return "%s (%s)" % (self.type_name(target),
                                ", ".join(a for a, _ in self._arguments(type_id)))
        return PREFIX.get(kind, "") + (name or "{anonymous}")

    def _arguments(self, type_id):
        """[(type, name)] of a FUNC_PROTO."""
        _, kind, vlen, _, _, words, at = self._record(type_id)
        if kind != FUNC_PROTO:
            raise Missing("%s: type %d is no function" % (self.module, type_id))
        return [("..." if not words[at + 2 * i + 1] else self.type_name(words[at + 2 * i + 1]),
                 self._string(words[at + 2 * i])) for i in range(vlen)]

    def tracepoint(self, name):
        """Types of the arguments of TP_PROTO of a tracepoint of this module."""
        pointer = self._record(self._find("btf_trace_" + name, (TYPEDEF,)))[4]
        # The first one is the data of the probe.
        return [a for a, _ in self._arguments(self._record(pointer)[4])][1:]

    def function(self, name):
        """(what it returns, [(type, name of the argument)])"""
        proto = self._record(self._find(name, (FUNC,)))[4]
        return self.type_name(self._record(proto)[4]), self._arguments(proto)

    def enum(self, name):
        """{name: value} of an enum."""
        _, kind, vlen, flag, _, words, at = self._record(self._bare(self._type(name)))
        values = {}
        for i in range(vlen):
            if kind == ENUM:
                text, low = words[at + 2 * i], words[at + 2 * i + 1]
                value = low - (1 << 32) if flag and low >> 31 else low
            else:
                text, low, high = words[at + 3 * i:at + 3 * i + 3]
                value = high << 32 | low
                value = value - (1 << 64) if flag and high >> 31 else value
            values[self._string(text)] = value
        return values
