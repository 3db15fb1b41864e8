# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Tables of `export --sqlite` against the JSON of the same captures, to the nanosecond."""
import collections
import pathlib
import re
import sqlite3

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
WORK = ("kernel", "copy", "set", "graph")
UNSAMPLED = ("reason", "[stack not sampled]", None)



def node_paths(document):
    """Count and GPU time of operations by call path, without the levels of processes."""
    found, ways = collections.Counter(), []
    for node in document["nodes"]:
        above = () if node["parent"] is None else ways[node["parent"]]
        # The root, and processes, have no row in the table.
        skip = node["parent"] is None or node["kind"] == "process"
        kind = node["kind"].replace("whole_graph", "graph")
        ways.append(above if skip else (*above, (kind, node["name"], node["line"])))
        # The JSON gives those of no sampled stack to others, as estimates.
        if kind in WORK and UNSAMPLED not in ways[-1]:
            found[ways[-1], "count"] += node["count"]
            found[ways[-1], "ns"] += node["gpu_ns"]
    return +found


def table_paths(db):
    ways = {None: ()}
    for number, parent, kind, name, line in db.execute(
            "SELECT s.id, s.parent, f.kind, f.name, f.line FROM stack s JOIN frame f ON f.id = s.frame ORDER BY s.id"):
        ways[number] = (*ways[parent], (kind, name, line))
    found = collections.Counter()
    for stack, kind, name, count, ns in db.execute(
            "SELECT o.stack, n.kind, n.name, count(*), coalesce(sum(o.end_ns - o.start_ns), 0) "
            "FROM operation o JOIN operation_name n ON n.id = o.name GROUP BY o.stack, o.name"):
        key = (*ways[stack], (kind, name, None))
        if UNSAMPLED not in key:
            found[key, "count"] += count
            found[key, "ns"] += ns
    return +found


def pairs(db, text):
    return dict(db.execute(text).fetchall())


def stalls(db, document, same):
    """Samples by kernel, line or instruction, and reason."""
    kernels = (document["stalls"] or {"kernels": []})["kernels"]
    same("stalls", {tuple(row[:3]): row[3:] for row in db.execute("SELECT * FROM stalls")},
         {(kernel["name"], kernel["mangled"], row["reason"]): (row["samples"], row["not_issued"])
          for kernel in kernels for row in kernel["reasons"]})
    # Numbers are signed there.
    same("stalls by place", {(*row[:4], row[4] and row[4] % 2**64, *row[5:7]): row[7:]
                             for row in db.execute("SELECT * FROM stall_places")},
         {(kernel["name"], kernel["mangled"], place["file"], place["line"], place["module"], place["offset"],
           row["reason"]): (row["samples"], row["not_issued"])
          for kernel in kernels for place in kernel["places"] for row in place["reasons"]})
    if kernels and document["recording"]["range"] is None:
        found = db.execute("SELECT sum(samples), sum(dropped), sum(other) FROM stall_total AS t WHERE id = (SELECT o.id "
                           "FROM stall_total AS o WHERE o.process = t.process AND o.context = t.context "
                           "ORDER BY o.time_ns DESC, o.id DESC LIMIT 1)").fetchone()
        same("samples counted", found, tuple(document["stalls"][key] for key in ("counted", "dropped", "other")))


def metrics(db, document, same):
    """Means of metrics by device and by kernel."""
    def rounded(numbers):
        return tuple(number if isinstance(number, int) or number is None else f"{number:.9g}" for number in numbers)

    def numbers(value):
        return rounded((value["samples"], value["mean"], value["lowest"], value["highest"]))
    same("metrics of devices",
         {(*row[:3], row[4]): rounded(row[5:]) for row in db.execute("SELECT * FROM metrics_by_device")},
         {(row["process"], row["device"] & 0xffffff, value["name"], value["unit"]): numbers(value)
          for row in document["metrics"] for value in row["values"] if value["samples"]})
    same("metrics of kernels",
         {(*row[:2], row[2] or row[1], row[3], row[5]): rounded(row[6:]) for row in db.execute("SELECT * FROM metrics_by_kernel")},
         {(row["kind"], row["name"], row["mangled"] or row["name"], value["name"], value["unit"]): numbers(value)
          for row in document["kernels"] if row["metrics"] for value in row["metrics"]["values"]})


def whole(db, document, same):
    """What is not cut where a database has all of the time."""
    same("ranges", {tuple(row[:2]): row[2:] for row in
                    db.execute("SELECT domain, text, count, open_ns, operations, gpu_ns FROM ranges")},
         {(row["domain"], row["text"]): (row["count"], row["open_ns"], row["works"], row["gpu_ns"])
          for row in document["ranges"]})
    looks = collections.Counter()
    for row in document["budget"]:
        looks[row["process"], row["tid"]] += row["looks"] or 0
    known = {(process, tid): n for process, tid, n in db.execute(
        "SELECT process, tid, sum(looks) FROM samples_by_state GROUP BY 1, 2") if (process, tid) in looks}
    same("looks", known, +looks)


def columns(db):
    """Of each table and view its columns, in order."""
    return {name: db.execute(f"PRAGMA table_info({name})").fetchall() for (name,) in
            db.execute("SELECT name FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()}


def check(file, document, part=False):
    """All that both have is equal.

    Of a part of the time, JSON cuts ranges, looks and times of launches, and has kernels of which there are only
    estimates.
    """
    db = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)], "the database is damaged"
    assert not db.execute("PRAGMA foreign_key_check").fetchall(), "a number refers to no row"
    assert db.execute("PRAGMA user_version").fetchone() == (1,)
    schema = sqlite3.connect(":memory:")
    schema.executescript((TOP / "user/report/sqlite.sql").read_text(encoding="utf-8"))
    # Some are added when a row has them first: SELECT * of two databases has to be of the same columns.
    assert columns(db) == columns(schema), "columns are not those of sqlite.sql, in its order"
    for (view,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'view'").fetchall():
        db.execute(f"SELECT count(*) FROM {view}").fetchone()

    def same(what, got, want):
        differ = [key for key in {**got, **want} if got.get(key) != want.get(key)] if isinstance(want, dict) else [""]
        assert got == want, f"sqlite: {len(differ)} of {what} differ, as {differ[0]}: " + (
            f"{got.get(differ[0])} is not {want.get(differ[0])}" if isinstance(want, dict) else f"{got} is not {want}")

    recording, missing = document["recording"], document["missing"]
    same("kernels", {tuple(row[:3]): row[3:] for row in
                     db.execute("SELECT kind, name, coalesce(mangled, name), count, gpu_ns FROM kernels")},
         {(row["kind"], row["name"], row["mangled"] or row["name"]): (row["count"], row["gpu_ns"])
          for row in document["kernels"] if row["count"] or not part})
    same("call paths", table_paths(db), node_paths(document))
    if not part:
        same("latencies",
             db.execute("SELECT count(latency_ns), coalesce(sum(latency_ns), 0) FROM operations").fetchone(),
             (document["latency"]["count"], document["latency"]["sum_ns"]))
    devices = collections.Counter()
    for row in document["devices"]:
        if row["stream"] is None:
            devices[row["process"], row["device"] & 0xffffff, "count"] += row["count"]
            devices[row["process"], row["device"] & 0xffffff, "ns"] += row["gpu_ns"]
    got = collections.Counter()
    for process, number, count, ns in db.execute("SELECT process, number, count, gpu_ns FROM device_times"):
        got[process, number, "count"] += count
        got[process, number, "ns"] += ns
    same("devices", +got, +devices)
    works = collections.Counter()
    for origin, kind, count in db.execute(
            "SELECT c.name, n.kind, count(*) FROM operation o JOIN operation_name n ON n.id = o.name "
            "JOIN code c ON c.field = 'operation.origin' AND c.number = o.origin GROUP BY 1, 2"):
        works[origin, kind] += count
    same("works", +works, {(origin, kind): count for origin, kinds in missing["works"].items()
                           for kind, count in kinds.items() if count})
    same("operations without time", pairs(
        db, "SELECT c.name, count(*) FROM operation o JOIN code c ON c.field = 'operation.untimed' "
            "AND c.number = o.untimed GROUP BY 1"), {key: n for key, n in missing["without_time"].items() if n})
    launches = {key: n for key, n in missing["launches"].items() if n and key != "with_work"}
    same("launches without work", pairs(db, "SELECT * FROM launches_without_operations"), launches)
    if not part:
        same("launches", db.execute("SELECT count(*) FROM launch").fetchone()[0], sum(missing["launches"].values()))
    same("hits", db.execute("SELECT count(*) FROM hit").fetchone()[0], missing["hits"])
    losses = pairs(db, "SELECT * FROM losses")
    # Of these the JSON has what capture.json says, if that is more.
    losses["recorder"] = max(losses["recorder"],
                             db.execute("SELECT sum(lost_records) FROM capture").fetchone()[0])
    same("losses", losses, missing["losses"])
    same("processes", {row[0]: row[1:] for row in db.execute("SELECT id, pid, host_pid, \"rank\" FROM process "
                                                             "WHERE pid IS NOT NULL")},
         {row["process"]: (row["pid"], row["host_pid"] or None, row["rank"]) for row in recording["processes"]})
    first = db.execute("SELECT begin_monotonic_ns FROM capture").fetchone()[0]
    if db.execute("SELECT count(*) FROM capture").fetchone()[0] == 1:
        since = recording["range"]["from_ns"] if part else 0
        # Where nothing was recorded, the JSON has none.
        if recording["first_ns"]:
            same("beginning", first + since, recording["first_ns"])
    unified = {kind: count for kind, count in db.execute(
        "SELECT c.name, count(*) FROM unified_memory u JOIN code c ON c.field = 'unified_memory.kind' "
        "AND c.number = u.kind GROUP BY 1")}
    same("unified memory", unified, {row["kind"]: row["count"] for row in document["unified_memory"]})
    stalls(db, document, same)
    if not part:
        metrics(db, document, same)
        whole(db, document, same)
    db.close()


def says_part(file, part):
    db = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    got = {key: int(value) for key, value in db.execute("SELECT * FROM meta WHERE key IN ('from_ns', 'to_ns')")}
    db.close()
    assert got == {"from_ns": part["from_ns"], "to_ns": part["to_ns"]}, f"{got} is not {part}"


def sums(file):
    """What parts of the time add up to."""
    db = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    found = collections.Counter()
    for name, count, ns in db.execute("SELECT coalesce(mangled, name), count, gpu_ns FROM kernels"):
        found.update({(name, "count"): count, (name, "ns"): ns})
    for reason, count in db.execute("SELECT * FROM launches_without_operations"):
        found[reason] += count
    for *key, samples, not_issued in db.execute("SELECT * FROM stall_places"):
        found.update({(*key, "samples"): samples, (*key, "not_issued"): not_issued})
    for *key, samples in db.execute("SELECT kind, name, metric, samples FROM metrics_by_kernel"):
        found[tuple(key)] += samples
    for table in "hit", "mark", "metric", "memory", "unified_memory", "driver_event":
        found[table] += db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    db.close()
    return +found


def page():
    """The page has each table and view, each with all of its columns and no other."""
    db = sqlite3.connect(":memory:")
    db.executescript((TOP / "user/report/sqlite.sql").read_text(encoding="utf-8"))
    want = {(name, column) for name, of in columns(db).items() for _, column, *_ in of}
    got, other = set(), {"meta": {"schema", "gpumon-sqlite", "schema_version", "gpumon_version", "from_ns", "to_ns"},
                         "frame": {"function", "python", "api", "reason", "[kernel without stack]"},
                         "operation_name": {"kernel", "copy", "set", "graph"}, "operations": {"latency_ns"},
                         "samples_by_state": {"ns"}, "stack_paths": {";"}}
    text = (TOP / "Documentation/reference/sqlite.md").read_text(encoding="utf-8")
    for name, row in re.findall(r"^\| `([a-z_]+)` \| (.*)$", text, re.MULTILINE):
        words = set(re.findall(r"`([^`]+)`", row))
        got |= {(name, word) for word in words if (name, word) in want or word not in other.get(name, ())}
    assert got == want, f"sqlite.md: {sorted(got ^ want)}"
    assert f"it is {db.execute('PRAGMA user_version').fetchone()[0]}." in text


def questions(file):
    """The SQL on the page about many captures runs."""
    db = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    text = (TOP / "Documentation/user/many-captures.md").read_text(encoding="utf-8")
    found = re.findall(r"^    (SELECT [^;]*;)$", text.split("## Questions", 1)[1], re.MULTILINE)
    assert len(found) == 4, f"{len(found)} questions"
    for question in found:
        db.execute(question).fetchall()
    db.close()
