#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The tables of the bench, from results that are made up: medians, differences and ratios
are those that a person gets; what is missing is refused; what is written goes to its place.
One line for each test."""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../lib"))
import verdict  # noqa: E402

TABLES = os.path.join(HERE, "tables.py")
failed = []

VERSIONS = """version kernel 9.9
version clocksource tsc
version libbpf 1.1
version bpftrace 0.17
version perf 9.8
version qemu 7.2
version gcc 12
version clang 14
version command the command
version commit abc1234
"""
JOBS = VERSIONS + """jobs nothing 1000 1010 990
jobs gpumon 1200 1300 1190
jobs nothing-1 2000 2000
jobs gpumon-1 2210 2220
jobs nothing-2 2100 2100
jobs gpumon-2 2320 2340
jobs nothing 1000
jobs libbpf 1501 1500 1499
jobs ftrace 2000 2000
end
"""
DRIVERS = VERSIONS + """event i915 gem_create nothing 10 12 11
event i915 gem_create gpumon 111 111 111
event i915 gem_create ftrace 311 311 311
event i915 gem_create libbpf 211 211 211
event i915 gem_create bpftrace 1011 1011 1011
event nvidia poll nothing 20
event nvidia poll gpumon 70
event nvidia poll bare 60
event nvidia poll libbpf 145
end
"""
SCALING = VERSIONS + """first-window 1
window jobs nothing 1 100
window jobs nothing 2 100
window jobs gpumon 1 100
window jobs gpumon 2 100
window jobs gpumon 2 100
end
"""
SCALING_LINES = """window 0
cpu 0 7
shared 9 9 0
window 1
cpu 0 1000
shared 0 0 0
window 2
cpu 0 1000
cpu 1 1000
shared 0 100 0
window 3
cpu 0 3000
ran ffff800000000000 1000
ran ffff800000000010 1200
ran ffff800000000020 700
shared 0 0 0
window 4
cpu 0 3000
cpu 1 3400
shared 300 200 0
at ffff800000000010 250 40
at ffff800000000014 50 60
window 5
cpu 0 9000
cpu 1 9000
shared 900 900 0
"""
KALLSYMS = """ffff800000000000 t before
ffff800000000010 t gpumon_gauge	[gpumon]
ffff800000000100 T after
"""
READING = VERSIONS + """first-window 0
read netlink rings 64 8 1 6400 5000 0.5
read netlink processes 8 8 100 4000 900 0.1
window module-load-drm_sched 2000
window source-load-drm_sched 9000
memory 64 1000000 1100000 8
memory 1024 10600000 11000000 8
end
"""
READING_LINES = """window 0
cpu 0 500
shared 0 0 0
window 1
cpu 0 1500
shared 0 0 7
"""
STORM = VERSIONS + """storm jobs gpumon-binary 1000 900 100
storm jobs perf-record 1000 500 400
storm vblank gpumon-binary 1000 1000 0
storm vblank bpftrace-print 1000 300 700
end
"""


def table(part, files, *more):
    """(status, what it printed, what it complained)"""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(text)
        done = subprocess.run([sys.executable, TABLES, part, os.path.join(folder, part + ".results"),
                               *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, check=False)
        return done.returncode, done.stdout, done.stderr


def test(name, *problems):
    problems = [p for p in problems if p]
    verdict.report("bench/" + name, why="; ".join(problems) if problems else None)
    failed.extend(problems)


def row(text, begins, *values):
    """None if a row has these words after its name, otherwise what is wrong with it."""
    for line in text.splitlines():
        if line.strip().startswith(begins):
            words = line.strip()[len(begins):].split()
            return None if words == list(values) else "%s: %s, should be %s" % (begins, words,
                                                                              list(values))
    return "no row %s" % begins


def refused(part, files, *more):
    """None if it fails with a message and without a Python traceback."""
    status, out, said = table(part, files, *more)
    if status == 1 and said.startswith("tables.py") and not out and "Traceback" not in said:
        return None
    return "not refused: %d %s %s" % (status, out, said)


ALL = {
    "jobs": ({"jobs.results": JOBS}, (
        ("nothing attached: all that a job costs", "1000", "1000", "+20"),
        ("gpumon, all but the event ring", "200", "190", "1.0", "+110"),
        ("gpumon: one ring, one job at a time", "215", "210", "1.1", "+10"),
        ("gpumon: two rings in turns, one job at a time", "230", "220", "1.1", "+20"),
        ("libbpf 1.1, raw_tp program", "500", "499", "2.5", "+2"),
        ("ftrace events, nobody reads", "1000", "1000", "5.0", "+0"))),
    "drivers": ({"drivers.results": DRIVERS}, (
        ("i915       gem_create", "100", "-", "300", "200", "1000", "3.0", "2.0", "10.0"),
        ("nvidia     poll", "50", "40", "-", "125", "-", "-", "2.5", "-"))),
    # One CPU: 30 - 10; two: 32 - 10. 300 writes and 200 - 100 reads of 200 events.
    "scaling": ({"scaling.results": SCALING, "scaling.lines": SCALING_LINES,
                 "kallsyms.jobs": KALLSYMS}, (
        ("gpumon ", "20", "22", "1.50", "0.50"),
        ("gpumon_gauge [gpumon]", "19", "1.50", "0.50"))),
    # The list of shared lines does not matter here, so a full table in the plugin does no harm.
    "reading": ({"reading.results": READING, "reading.lines": READING_LINES}, (
        ("netlink rings", "64", "8", "1", "6400", "5000", "100", "0.5"),
        ("netlink processes", "8", "8", "100", "4000", "900", "40", "0.1"),
        ("module, load; gpu_sched there", "500", "2000", "1.0"),
        ("gpumon-user by BPF, until it counts; gpu_sched there", "1500", "9000", "3.0"),
        ("bytes a ring, all CPUs", "10000"))),
    "storm": ({"storm.results": STORM}, (
        ("gpumon, records as they are", "900", "100", "0", "10.0", "1.0"),
        ("perf 9.8 record", "500", "500", "100", "50.0", "5.0"),
        ("bpftrace 0.17, printf()", "300", "700", "0", "70.0", "-"))),
}

for part_, (files_, rows) in ALL.items():
    status_, out_, said_ = table(part_, files_)
    head = [] if "Linux 9.9" in out_ and "$ the command" in out_ else ["no kernel or command"]
    test("table-" + part_, said_ if status_ else None, *head, *(row(out_, *r) for r in rows))

test("table-not-whole", *(refused(p, {**files, p + ".results": files[p + ".results"][:-4]})
                          for p, (files, _) in ALL.items()))
test("table-no-numbers",
     refused("jobs", {"jobs.results": JOBS.replace("1200 1300 1190", "")}),
     refused("jobs", {"jobs.results": JOBS.replace("1300", "many")}),
     refused("drivers", {"drivers.results": DRIVERS.replace("20\nevent nvidia poll gpumon 70",
                                                            "20")}),
     refused("storm", {"storm.results": STORM.replace("storm jobs gpumon-binary", "other")}))
test("table-windows",
     refused("scaling", {**ALL["scaling"][0], "scaling.lines": SCALING_LINES[:-200]}),
     refused("scaling", {**ALL["scaling"][0],
                         "scaling.lines": SCALING_LINES.replace("300 200 0", "300 200 1")}),
     refused("scaling", {**ALL["scaling"][0],
                         "scaling.lines": SCALING_LINES.replace("cpu 1 3400\n", "")}))

with tempfile.TemporaryDirectory() as place:
    for kept in ("jobs-7.txt", "jobs-8.txt"):
        with open(os.path.join(place, kept), "w", encoding="utf-8") as old:
            old.write("old\n")
    status_, said_, complained_ = table("jobs", ALL["jobs"][0], "--write", place, "7")
    now = {}
    for kept in os.listdir(place):
        with open(os.path.join(place, kept), encoding="utf-8") as new:
            now[kept] = new.read()
    test("table-written", complained_ if status_ else None,
         None if sorted(now) == ["jobs-7.txt", "jobs-8.txt"] and now["jobs-8.txt"] == "old\n" and
         re.fullmatch(re.escape(said_.strip("\n")) + r"\n\n  Measured \d{4}-\d\d-\d\d, abc1234\.\n",
                      now["jobs-7.txt"])
         else "the folder has %s" % now)
sys.exit(bool(failed))
