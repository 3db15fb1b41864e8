# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Points of a PTX text, counted in another way than the editor's: by regular expressions."""
import re

NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"[^"]*"', re.S)
HEAD = re.compile(r"(\.entry|\.func)\s*(?:\([^)]*\)\s*)?([\w$]+)\s*(?:\([^)]*\))?[^{};(]*(?=[{;])")
LOC = re.compile(r"\.loc\s+\d+\s+\d+\s+\d+(\s*,\s*function_name\s+\S+\s*,\s*inlined_at\s+\d+\s+\d+\s+\d+)?")
STATEMENT = re.compile(r"(?:[\w$%]+\s*:(?!:)\s*)*(@\s*!?\s*[\w$%.]+\s+)?([a-z]\w*)((?:\s*\.[\w:]+)*)(.*)$", re.S)
CALLED = re.compile(r"\s*(?:\([^)]*\)\s*,\s*)?([\w$%]+)")


def functions(text):
    """(name, is it a kernel, its body) of each function of a text without comments."""
    at = 0
    while True:
        head = HEAD.search(text, at)
        if not head:
            return
        at = head.end()
        if text[at] == ";":
            continue
        depth, begin = 0, at
        while True:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
            if not depth:
                break
        yield head.group(2), head.group(1) == ".entry", text[begin + 1:at - 1]


def kind(name, modifiers):
    """Letters of the points that an instruction is."""
    words = re.findall(r"[\w:]+", modifiers)
    last = words[1:] if name == "multimem" else words
    if name in ("ret", "exit"):
        return {"ret": "r", "exit": "e"}[name]
    if name in ("bar", "barrier"):
        return "" if "warp" in words or "cluster" in words else "b"
    if name == "cp":
        if "bulk" in words:
            if {"tensor", "commit_group", "wait_group", "prefetch"} & set(words):
                return ""
            return "ma" if "reduce" in words else "m"
        return "m" if words[1] in ("ca", "cg") else ""
    if name in ("atom", "red") or (name == "multimem" and words[0] == "red"):
        return "ma"
    if name in ("ld", "ldu", "st", "multimem"):
        space = [w for w in last if re.fullmatch(r"param.*|const|global|shared.*|local", w)]
        return "" if space and re.match("param|const", space[0]) else "m"
    return ""


def body(text):
    """Letters of the points of a body, in their order, and the functions that it calls."""
    letters, calls = [], []
    text = LOC.sub(" ", text)
    # Braces of vectors belong to their statement, those of scopes are statements.
    text = re.sub(r"\{([^{};]*)\}", lambda m: m.group(0) if ";" in m.group(1) else "<" + m.group(1) + ">", text)
    last, labelled = "", True
    for part in re.split(r"[;{}]", text):
        part = part.strip()
        if not part:
            continue
        if re.fullmatch(r"(?:[\w$%]+\s*:\s*)+", part):
            labelled = True
            continue
        if re.search(r"^[\w$%]+\s*:(?!:)", part):
            labelled = True
        statement = STATEMENT.match(part)
        if not statement:
            continue
        predicate, name, modifiers, rest = statement.groups()
        if name == "call":
            calls.append(CALLED.match(rest).group(1))
        letters += kind(name, modifiers)
        last, labelled = name if not predicate else "", False
    if labelled or last not in ("ret", "exit", "bra", "brx", "trap"):
        letters.append("r")
    return "".join(letters), calls


def count(text):
    """Points of all kernels, as edit_text prints them for nxmab, and copies of functions."""
    text = NOT_CODE.sub(" ", text)
    bodies = {name: (kernel,) + body(inner) for name, kernel, inner in functions(text)}
    points, copies = dict.fromkeys("nxmab", 0), 0

    def reach(name, seen):
        for called in bodies[name][2]:
            if called in bodies and not bodies[called][0] and called not in seen:
                seen.add(called)
                reach(called, seen)
        return seen

    for name, (kernel, letters, _) in bodies.items():
        if not kernel:
            continue
        points["n"] += 1
        points["x"] += letters.count("r")
        for function in reach(name, set()):
            deeper = "".join(bodies[f][1] for f in reach(function, {function}))
            if re.search("[emab]", deeper):
                copies += 1
            letters += bodies[function][1].replace("r", "")
        for letter in "mab":
            points[letter] += letters.count(letter)
        points["x"] += letters.count("e")
    return points, copies
