#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The lists of statistics.md and of drivers/ beside it are those of the code: statistics-page.py [--write] [TREE]

In a page, a list stands between two comments:

    <!-- table GROUP.TABLE -->   labels and columns of a table: struct gpumon_column in kmod/
    <!-- events GROUP -->        events of a group and their words: kmod/uapi/gpumon_event.h
    <!-- causes -->              why a probe drops events: the columns of probes in stats
    <!-- processes -->           columns of processes
    <!-- end -->

Names, kinds and units come from the code. The last cell, which says what a number means, is written
by hand and kept by its name. Prints what differs, and fails; with --write, changes the pages. Each table
and each group of events of the code must have its place in one page, and each name its meaning.
"""
import os
import re
import sys

PAGE = "Documentation/reference/statistics.md"
DRIVERS = "Documentation/reference/drivers"
HEADER = "kmod/uapi/gpumon_event.h"
UNITS = (("_bytes", "bytes"), ("_ns", "ns"), ("bytes", "bytes"), ("_pages", "pages"),
         ("_dwords", "4 bytes"), ("_millihertz", "mHz"))
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


class Bad(Exception):
    """The code, or the page, is not what this understands."""


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def sources(tree):
    """{path: text without comments} of the module."""
    found = {}
    for folder, _, names in os.walk(os.path.join(tree, "kmod")):
        for name in names:
            if name.endswith((".c", ".h")) and not name.endswith(".mod.c"):
                path = os.path.join(folder, name)
                found[path] = re.sub(r"/\*.*?\*/", "", read(path), flags=re.DOTALL)
    return found


def body(text, start):
    """What is between the brace at or after start and the one that closes it."""
    start = text.index("{", start)
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if not depth:
            return text[start + 1:at]
    raise Bad("a brace that nothing closes")


def parts(text, separator=","):
    """Split at separators outside of brackets and strings."""
    found, depth, begin, in_string = [], 0, 0, False
    for at, char in enumerate(text):
        if char == '"' and text[at - 1] != "\\":
            in_string = not in_string
        elif not in_string and char in "({[":
            depth += 1
        elif not in_string and char in ")}]":
            depth -= 1
        elif not in_string and not depth and char == separator:
            found.append(text[begin:at])
            begin = at + 1
    found.append(text[begin:])
    return [part.strip() for part in found if part.strip()]


def macros(text):
    """{name: (parameters, body)} of macros with arguments."""
    found = {}
    for match in re.finditer(r"^#define (\w+)\(([^)]*)\)((?:.*\\\n)*.*)$", text, re.MULTILINE):
        found[match[1]] = ([one.strip() for one in match[2].split(",")],
                           match[3].replace("\\\n", " ").strip())
    return found


def expand(entry, known):
    """An entry of a table with its macros, if it is one, expanded."""
    match = re.fullmatch(r"(\[[^]]*\]\s*=\s*)?(\w+)\((.*)\)", entry, re.DOTALL)
    if not match or match[2] not in known:
        return [entry]
    names, text = known[match[2]]
    values = parts(match[3])
    for name, value in zip(names, values):
        if name != "...":
            text = re.sub(r"(?<![\w#])%s\b" % re.escape(name), lambda _, v=value: v, text)
    text = re.sub(r"##__VA_ARGS__", ", ".join(values[len(names) - 1:]), text)
    return [one for part in parts((match[1] or "") + text) for one in expand(part, known)]


def column(entry):
    """(name, kind) of one."""
    name = re.search(r'\.name\s*=\s*"([^"]+)"', entry)
    if not name:
        raise Bad("a column without a name: " + entry[:60])
    kind = re.search(r"GPUMON_COLUMN_KIND_(\w+)", entry)
    return name[1], kind[1].lower() if kind else "counter"


def tables(code):
    """{"group.table": (labels, columns)}"""
    columns, statistics, lists, groups = {}, {}, {}, {}
    shared = {name: macro for path, text in code.items() if path.endswith(".h")
              for name, macro in macros(text).items()}
    for path, text in code.items():
        known = {**shared, **macros(text)}
        for match in re.finditer(r"struct gpumon_column (\w+)\[\w*\]\s*=\s*{", text):
            columns[path, match[1]] = [column(one) for entry in parts(body(text, match.start()))
                                       for one in expand(entry, known)]
        for match in re.finditer(r"struct gpumon_statistics (\w+)\s*=\s*{", text):
            inside = body(text, match.start())
            of = re.search(r"(?:\.columns\s*=\s*|GPUMON_COLUMNS\()(\w+)", inside)
            labels = re.search(r"\.labels\s*=\s*", inside)
            if not of or not labels:
                raise Bad(f"{path}: {match[1]} has no columns or labels")
            statistics[match[1]] = (re.search(r'\.name\s*=\s*"([^"]+)"', inside)[1],
                                    STRING.findall(body(inside, labels.start())), (path, of[1]))
        for match in re.finditer(r"struct gpumon_statistics \*const (\w+)\[\]\s*=\s*{", text):
            lists[path, match[1]] = re.findall(r"&(\w+)", body(text, match.start()))
        for match in re.finditer(r"struct gpumon_group (\w+)\s*=\s*{", text):
            inside = body(text, match.start())
            of = re.search(r"(?:\.statistics\s*=\s*|GPUMON_TABLES\()(\w+)", inside)
            groups[re.search(r'\.name\s*=\s*"([^"]+)"', inside)[1]] = (path, of and of[1])
    found = {}
    for group, (path, name) in groups.items():
        for one in lists.get((path, name), ()) if name else ():
            table, labels, of = statistics[one]
            found[f"{group}.{table}"] = (labels, columns[of])
    if not found:
        raise Bad("no tables in kmod/")
    return found


def kind_and_unit(name, kind):
    unit = next((unit for end, unit in UNITS if name.endswith(end)), "")
    return ", ".join(one for one in (kind, unit) if one)


def table_list(labels, columns):
    rows = [(label, "label") for label in labels]
    for name, kind in columns:
        rows.append((name, kind_and_unit(name, kind)))
    return ("name", "kind, unit", "meaning"), rows


def event_list(tree, group):
    text = read(os.path.join(tree, HEADER)).replace("\\\n", " ")
    words = {match[1]: STRING.findall(match[2]) for match in
             re.finditer(r"X\((\w+),((?:\s*\"[^\"]*\",?){5})\)", text)}
    rows = []
    for match in re.finditer(r'X\((\d+), (\w+), "(\w+)", "(\w+)"\)', text):
        if match[4] == group:
            rows.append((match[3], match[1], *(one and f"`{one}`" for one in
                                               words.get(match[2], [""] * 5))))
    return ("event", "number", "row of", "`context`", "`seqno`", "`arg`", "`arg2`", "when"), rows


def event_groups(tree):
    return set(re.findall(r'X\(\d+, \w+, "\w+", "(\w+)"\)', read(os.path.join(tree, HEADER))))


def cause_list(code):
    for text in code.values():
        match = re.search(r'" *# probes\\n[\w ]* seen recorded ([\w ]+) reason\\n"', text)
        if match:
            return ("name", "meaning"), [(name,) for name in match[1].split()]
    raise Bad("no list of probes with their causes of loss")


def process_list(code):
    for text in code.values():
        names, levels = [], []
        for match in re.finditer(r"\w*names\[GPUMON_PROCESS_(WORDS|LEVELS)\]\s*=\s*{", text):
            (names if match[1] == "WORDS" else levels).extend(
                re.findall(r'"(\w+)"', body(text, match.start())))
        if names:
            return (("name", "kind, unit", "meaning"),
                    [(name, kind_and_unit(name, "gauge" if name in levels else "counter"))
                     for name in names + levels])
    raise Bad("no names of the columns of processes")


def meanings(text):
    """{name: last cell} of a list as it is in the page."""
    found = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
        name = re.match(r"`([^`]+)`", cells[0]) if cells else None
        if name:
            found[name[1]] = cells[-1]
    return found


def rendered(head, rows, old):
    """The list, with the meanings of the old one."""
    said = meanings(old)
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name, *cells in rows:
        lines.append("| " + " | ".join([f"`{name}`", *cells, said.get(name, "")]) + " |")
    return "\n".join(lines), [row[0] for row in rows if not said.get(row[0])]


def with_lists(page, path, tree, code, described, groups, seen):
    """The page with the lists of the code, and what there is to complain of."""
    said = []

    def one(match):
        what, name = match[1], match[2] or ""
        if (what, name) in seen:
            said.append(f"{path}: {what} {name}: it has a place already")
        seen.add((what, name))
        if what == "table" and name in described:
            head, rows = table_list(*described[name])
        elif what == "events" and name in groups:
            head, rows = event_list(tree, name)
        elif what in ("causes", "processes"):
            head, rows = {"causes": cause_list, "processes": process_list}[what](code)
        else:
            said.append(f"{path}: {what} {name}: the code has none")
            return match[0]
        text, without = rendered(head, rows, match[3])
        said.extend(f"{path}: {what} {name}: {column_} has no meaning" for column_ in without)
        return f"<!-- {what} {name}".rstrip() + f" -->\n\n{text}\n\n<!-- end -->"

    return re.sub(r"<!-- (table|events|causes|processes) ?([\w.]*) -->\n(.*?)<!-- end -->", one, page,
                  flags=re.DOTALL), said


def main():
    arguments = [one for one in sys.argv[1:] if one != "--write"]
    tree = arguments[0] if arguments else "."
    code = sources(tree)
    described = tables(code)
    groups = event_groups(tree)
    said, seen = [], set()
    for name in [PAGE, *(f"{DRIVERS}/{one}" for one in sorted(os.listdir(os.path.join(tree, DRIVERS))))]:
        path = os.path.join(tree, name)
        page = read(path)
        new, complaints = with_lists(page, name, tree, code, described, groups, seen)
        said += complaints
        if new != page and "--write" in sys.argv:
            with open(path, "w", encoding="utf-8") as file:
                file.write(new)
        elif new != page:
            said.append(f"{name}: a list is not the code's: run tests/style/statistics-page.py --write")
    said += [f"{DRIVERS}/: table {name} of the code has no place" for name in sorted(described)
             if ("table", name) not in seen]
    said += [f"{DRIVERS}/: events of {name} have no place" for name in sorted(groups)
             if ("events", name) not in seen]
    said += [f"{PAGE}: {name} has no place" for name in ("causes", "processes")
             if (name, "") not in seen]
    print("\n".join(said), end="\n" if said else "")
    return bool(said)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Bad, OSError) as problem:
        sys.exit(f"statistics-page.py: {problem}")
