# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Prototypes as kmod/btf/btf.c writes them, from the tests' own reader of BTF."""
import btf



def _token(types, type_id):
    type_id = types._bare(type_id)
    if not type_id:
        return "void"
    name, kind, _, _, size, words, at = types._record(type_id)
    if kind == btf.PTR:
        target = types._bare(size)
        if not target:
            return "*"
        name, kind = types._record(target)[:2]
        if kind in (btf.STRUCT, btf.UNION, btf.FWD):
            return "*" + name
        return "*char" if kind == btf.INT and name == "char" else "*"
    if kind in (btf.STRUCT, btf.UNION):
        return "struct:" + name
    if kind in (btf.ENUM, btf.ENUM64):
        return "u%d" % (8 * size)
    if kind != btf.INT:
        raise ValueError("%s: a type of kind %d in a prototype" % (types.module, kind))
    encoding = words[at] >> 24 & 0xf
    if encoding & 4:
        return "bool"
    return "%s%d" % ("i" if encoding & 1 else "u", 8 * size)


def _prototype(types, type_id):
    """(what it returns, [arguments]) of a FUNC_PROTO."""
    _, kind, count, _, target, words, at = types._record(type_id)
    assert kind == btf.FUNC_PROTO
    arguments = [words[at + 2 * i + 1] for i in range(count)]
    return (_token(types, target),
            [_token(types, a) if a else "..." for a in arguments])


def function(types, name):
    """(what it returns, "arguments") of a function; btf.Missing if there is none."""
    returns, arguments = _prototype(types, types._record(types._find(name, (btf.FUNC,)))[4])
    return returns, " ".join(arguments)


def tracepoint(types, name):
    """("void", "arguments") of a tracepoint without the data; btf.Missing if there is none."""
    pointer = types._bare(types._find("btf_trace_" + name, (btf.TYPEDEF,)))
    returns, arguments = _prototype(types, types._record(pointer)[4])
    assert arguments[0] == "*"
    return returns, " ".join(arguments[1:])
