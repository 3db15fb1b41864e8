#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""tables.py PART RESULTS [--write FOLDER KERNEL]: what a part of the bench measured, for a
person. With --write it is also written to FOLDER/PART-KERNEL.txt.

Of the values of one kind the median counts. What has a value that is missing or no
number is refused: a table never has an empty row.
"""
import bisect
import datetime
import os
import sys


class Bad(Exception):
    """Results from which a table cannot be made."""


def median(values):
    values = sorted(values)
    if not values:
        raise Bad("no values")
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def first_quartile(values):
    return sorted(values)[len(values) // 4]


def ratio(value, reference, what):
    """Compared with gpumon in the same run. "-" if gpumon's cost is within the noise."""
    if value is None:
        return "-"
    if reference is None:
        raise Bad("no reference for " + what)
    return "%.1f" % (value / reference) if reference > 0 else "-"


def number(value):
    return "-" if value is None else "%.0f" % value


class Results:
    """Lines of words; versions apart."""

    def __init__(self, path):
        self.path, self.versions, self.lines = path, {}, []
        with open(path, encoding="utf-8") as f:
            for line in f:
                words = line.split()
                if words[:1] == ["version"]:
                    self.versions[words[1]] = " ".join(words[2:])
                elif words:
                    self.lines.append(words)
        if ["end"] not in self.lines:
            raise Bad("%s: the bench did not get to its end" % path)

    def of(self, kind):
        return [line[1:] for line in self.lines if line[0] == kind]

    def version(self, name):
        return self.versions.get(name, "-")

    def footer(self, *names, icount=True):
        said = ["QEMU %s%s" % (self.version("qemu"), " with -icount" if icount else ""), "gcc " + self.version("gcc"),
                "clang " + self.version("clang"), "clock " + self.version("clocksource")]
        said += ["%s %s" % (name, self.version(name)) for name in names if name in self.versions]
        return ["", "  " + ", ".join(said) + ".", "  $ " + self.version("command"), ""]


# --- jobs

JOBS = (("gpumon", "gpumon, all but the event ring"),
        ("gpumon-ring", "gpumon, event ring on, nobody reads"),
        ("gpumon-ring-drain", "gpumon, event ring on, read after the jobs"),
        ("gpumon-ring-reader", "gpumon, event ring on, read meanwhile"),
        ("source", "gpumon-user by BPF, without the module"),
        ("ftrace", "ftrace events, nobody reads"),
        ("ftrace-raw", "ftrace events, read after the jobs as binary"),
        ("ftrace-text", "ftrace events, read after the jobs as text"),
        ("libbpf", "libbpf {libbpf}, raw_tp program"),
        ("bpftrace", "bpftrace {bpftrace}, all rings together"),
        ("bpftrace-rings", "bpftrace {bpftrace}, by ring as the others"))


def jobs(results):
    values = {}
    for words in results.of("jobs"):
        values.setdefault(words[0], []).extend(map(float, words[1:]))
    for name in "nothing", "gpumon":
        if not values.get(name):
            raise Bad("no round of " + name)
    base, quartile = median(values["nothing"]), first_quartile(values["nothing"])
    reference = median(values["gpumon"]) - base
    out = ["Linux %s, guest instructions a job (queue + run + done)" % results.version("kernel"), "",
           "  %-42s %8s %8s %8s %9s" % ("", "added", "quartile", "ratio", "spread"),
           "  %-42s %8.0f %8.0f %8s %+9.0f" % ("nothing attached: all that a job costs", base, quartile, "",
                                               max(values["nothing"]) - min(values["nothing"]))]
    for name, text in JOBS:
        if name not in values:
            continue
        added = median(values[name]) - base
        out.append("  %-42s %8.0f %8.0f %8s %+9.0f" % (
            text.format(libbpf=results.version("libbpf"), bpftrace=results.version("bpftrace")),
            added, first_quartile(values[name]) - quartile, ratio(added, reference, name), max(values[name]) - min(values[name])))
    for rings, text in ("1", "one ring, one job at a time"), ("2", "two rings in turns, one job at a time"):
        with_it, without = values.get("gpumon-" + rings), values.get("nothing-" + rings)
        if not with_it or not without:
            raise Bad("no round of gpumon-" + rings)
        added = median(with_it) - median(without)
        out.append("  %-42s %8.0f %8.0f %8s %+9.0f" % (
            "gpumon: " + text, added, first_quartile(with_it) - first_quartile(without),
            ratio(added, reference, text), max(with_it) - min(with_it)))
    out += ["", "  Added: the median of all rounds of 2,000 jobs; quartile: the first one, since what else runs in a",
            "  round only adds to it. Ratio of medians to gpumon without its event ring; spread is the highest",
            "  less the lowest round. libbpf and bpftrace count the same jobs and latencies, but no depths,",
            "  errors, processes or losses."]
    return out + results.footer()


# --- drivers

OTHERS = ("bare", "ftrace", "libbpf", "bpftrace")


def drivers(results):
    cost, order = {}, []
    for words in results.of("event"):
        key = tuple(words[:2])
        if key not in order:
            order.append(key)
        cost[key, words[2]] = median(list(map(float, words[3:])))
    if not order:
        raise Bad("no events")

    def added(key, what):
        if (key, what) not in cost:
            return None
        return cost[key, what] - cost[key, "nothing"]

    line = "  %-10s %-17s %7s %6s %7s %7s %8s   %7s %7s %8s"
    out = ["Linux %s, guest instructions that an event costs more" % results.version("kernel"), "",
           line % ("", "", "", "bare", "", "", "", "ftrace", "libbpf", "bpftrace"),
           line % ("", "", "gpumon", "probe", "ftrace", "libbpf", "bpftrace", "/gpumon", "/gpumon",
                   "/gpumon")]
    for key in order:
        if (key, "nothing") not in cost or (key, "gpumon") not in cost:
            raise Bad("%s %s: not both without and with gpumon" % key)
        ours = added(key, "gpumon")
        out.append(line % (*key, number(ours), *(number(added(key, o)) for o in OTHERS),
                           *(ratio(added(key, o), ours, o) for o in OTHERS[1:])))
    out += ["", "  Median of 5 rounds of 1,000 events. bare probe: a kprobe or kretprobe whose handlers do",
            "  nothing. ftrace: the events, of functions kprobe events, nobody reads. libbpf: raw_tp",
            "  programs, of functions kprobe programs; they and bpftrace count the same in their own way."]
    return out + results.footer("libbpf", "bpftrace")


# --- windows of lines.so

def windows(path):
    """[{cpus: {number: instructions}, ran: [(address, instructions)], shared: (stores, loads),
    lost: accesses that are not in these, at: [(address, stores, loads)]}]"""
    found = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            words = line.split()
            if words[0] == "window":
                found.append({"cpus": {}, "ran": [], "at": []})
            elif words[0] == "cpu":
                found[-1]["cpus"][int(words[1])] = int(words[2])
            elif words[0] == "ran":
                found[-1]["ran"].append((int(words[1], 16), int(words[2])))
            elif words[0] == "shared":
                found[-1]["shared"] = int(words[1]), int(words[2])
                found[-1]["lost"] = int(words[3])
            elif words[0] == "at":
                found[-1]["at"].append((int(words[1], 16), int(words[2]), int(words[3])))
    return found


class Symbols:
    """Names of the kernel's functions."""

    def __init__(self, path):
        rows = []
        with open(path, encoding="utf-8") as f:
            for line in f:
                words = line.split()
                if words[1] in "tTwW":
                    rows.append((int(words[0], 16), words[2] + " " + "".join(words[3:4])))
        rows.sort()
        self.addresses, self.names = [r[0] for r in rows], [r[1].strip() for r in rows]

    def name(self, address):
        i = bisect.bisect_right(self.addresses, address) - 1
        return self.names[i] if i >= 0 else "%x" % address


def joined(results, name):
    """Windows with the words of the results' lines, which are in the same order."""
    first = int(results.of("first-window")[0][0])
    said = results.of("window")
    found = windows(os.path.join(os.path.dirname(results.path), name + ".lines"))
    found = found[first:first + len(said)]
    if len(found) != len(said):
        raise Bad("%d windows of the plugin for %d of the bench" % (len(found), len(said)))
    return list(zip(said, found))


# --- scaling

WORKLOADS = (("jobs", "jobs (queue, run, done), a ring for each CPU"),
             ("jobs-one-ring", "jobs (queue, run, done), one ring for all"),
             ("vblank", "vblanks (vblank, queued, delivered), a display for each CPU"),
             ("i915", "i915 requests (add, retire), an engine for each CPU"),
             ("amdgpu", "amdgpu (cs_ioctl, sched_run_job), a ring for each CPU"),
             ("nvidia", "nvidia ioctl, one GPU"))
WATCHERS = (("gpumon", "gpumon"), ("gpumon-ring", "gpumon, event ring on"), ("ftrace", "ftrace"),
            ("libbpf", "libbpf raw_tp"))


def by_function(window, symbols, events):
    """{function: [stores, loads of shared lines, instructions]} an event."""
    found = {}
    for address, *counts in window["at"]:
        entry = found.setdefault(symbols.name(address), [0, 0, 0])
        for i, count in enumerate(counts):
            entry[i] += count / events
    for address, count in window["ran"]:
        found.setdefault(symbols.name(address), [0, 0, 0])[2] += count / events
    return found


def functions(least, most, base_least, base_most):
    """[(function, instructions with fewest CPUs, stores, loads with most)] that a watcher adds."""
    rows = []
    nothing = 0, 0, 0
    for name in set(least) | set(most):
        ran = least.get(name, nothing)[2] - base_least.get(name, nothing)[2]
        stores, loads = (max(0, most.get(name, nothing)[i] - base_most.get(name, nothing)[i])
                         for i in (0, 1))
        if ran >= 2 or stores + loads >= 0.02:
            rows.append((name, ran, stores, loads))
    return sorted(rows, key=lambda r: (-r[1], -r[2] - r[3], r[0]))


def scaling(results):
    symbols = {}
    cost, shared, where = {}, {}, {}
    counts = []
    for (workload, watcher, cpus, events), window in joined(results, "scaling"):
        cpus = int(cpus)
        if cpus not in counts:
            counts.append(cpus)
        if len(window["cpus"]) != cpus:
            raise Bad("%s, %s: %d of %d CPUs in the window" % (workload, watcher,
                                                              len(window["cpus"]), cpus))
        if window["lost"]:
            raise Bad("%s, %s: the plugin's table was full" % (workload, watcher))
        total = cpus * int(events)
        key = workload, watcher, cpus
        if cost.get(key, sum(window["cpus"].values()) / total + 1) <= (
                sum(window["cpus"].values()) / total):
            continue
        cost[key] = sum(window["cpus"].values()) / total
        shared[key] = [n / total for n in window["shared"]]
        if workload not in symbols:
            symbols[workload] = Symbols(os.path.join(os.path.dirname(results.path),
                                                     "kallsyms." + workload))
        where[key] = by_function(window, symbols[workload], total)
    most = max(counts)
    line = "  %-38s" + " %8s" * len(counts) + " %9s %9s"
    out = ["Linux %s, several CPUs at once: guest instructions that an event costs more" %
           results.version("kernel")]
    for workload, text in WORKLOADS:
        if (workload, "nothing", most) not in cost:
            continue
        out += ["", "  " + text, line % ("", *("%d CPU%s" % (n, "s" * (n > 1)) for n in counts),
                                         "writes", "reads")]
        for watcher, title in WATCHERS:
            if (workload, watcher, most) not in cost:
                continue
            mine, base = shared[workload, watcher, most], shared[workload, "nothing", most]
            out.append(line % (title, *(number(cost[workload, watcher, n] -
                                               cost[workload, "nothing", n]) for n in counts),
                               *("%.2f" % max(0, m - b) for m, b in zip(mine, base))))
        fewest = min(counts)
        line_of = "    %-36s %8.0f" + " " * (9 * (len(counts) - 1)) + " %9.2f %9.2f"
        out += [line_of % row for row in functions(
            where[workload, "gpumon", fewest], where[workload, "gpumon", most],
            where[workload, "nothing", fewest], where[workload, "nothing", most])[:12]]
    out += ["", "  Instructions of one CPU an event, the lowest of 3 rounds; under gpumon the functions that it",
            "  adds, with one CPU. writes, reads: an event, with %d CPUs, of cache lines that one CPU" % most,
            "  wrote and another one used meanwhile. Counted by a plugin of QEMU's, where CPUs take",
            "  turns: nobody ever waits for a line or tries again here. There is no counter of cycles."]
    return out + results.footer("libbpf", icount=False)


# --- reading

def reading(results):
    line = "  %-24s %6s %6s %10s %12s %9s %10s %9s"
    out = ["Linux %s, what reading costs: guest instructions" % results.version("kernel"), "",
           line % ("", "rings", "CPUs", "processes", "instr.", "bytes", "a row", "spread %")]
    seen = set()
    for what, rings, cpus, processes, count, size, spread in (
            [" ".join(words[:-6])] + words[-6:] for words in results.of("read")):
        # A kernel that ignored possible_cpus= was measured twice.
        if (what, rings, cpus, processes) in seen:
            continue
        seen.add((what, rings, cpus, processes))
        rows = int(processes if "processes" in what else rings)
        out.append(line % (what, rings, cpus, processes, count, size,
                           "%.0f" % (float(count) / rows), spread))
    taken = {}
    for (what, ns), window in joined(results, "reading"):
        entry = taken.setdefault(what, ([], []))
        entry[0].append(sum(window["cpus"].values()))
        entry[1].append(int(ns))
    out += ["", "Load and unload, %s possible CPUs" % results.of("read")[0][-5], "",
            "  %-52s %14s %14s %6s" % ("", "instructions", "ns", "ratio")]
    titles = {"module-load": "module, load", "module-unload": "module, unload",
              "source-load": "gpumon-user by BPF, until it counts",
              "source-unload": "gpumon-user by BPF, its end"}
    drivers_of = {"drm_sched": "gpu_sched there", "three": "gpu_sched, amdgpu, i915 there"}
    for what, (counts, ns) in taken.items():
        kind, _, there = what.rpartition("-")
        reference = taken[kind.replace("source", "module") + "-" + there][0]
        out.append("  %-52s %14.0f %14.0f %6s" % (
            "%s; %s" % (titles[kind], drivers_of[there]), median(counts), median(ns),
            ratio(median(counts), median(reference), what)))
    memory = {int(words[0]): list(map(int, words[1:])) for words in results.of("memory")}
    cpus = memory[64][2]
    out += ["", "Memory, %d possible CPUs" % cpus, ""]
    for text, value in (
            ("bytes at max_rings=64 (as stats says)", memory[64][0]),
            ("bytes at max_rings=1024", memory[1024][0]),
            ("bytes a ring, all CPUs", (memory[1024][0] - memory[64][0]) / 960),
            ("bytes a ring and CPU", (memory[1024][0] - memory[64][0]) / 960 / cpus),
            ("bytes a ring, as /proc/meminfo grows", (memory[1024][1] - memory[64][1]) / 960)):
        out.append("  %-52s %14.0f" % (text, value))
    out += ["", "  A row: a ring, of processes a process. ns: one an instruction, and what it waited,",
            "  for RCU most of it. Instructions of the whole machine meanwhile."]
    return out + results.footer()


# --- storm

STORMS = (("jobs", "Jobs through the scheduler, as fast as the mock GPU takes them"),
          ("vblank", "drm_vblank_event, called again and again"))
STORM_WATCHERS = (("gpumon-binary", "gpumon, records as they are"),
                  ("gpumon-trace", "gpumon-user trace"),
                  ("gpumon-trace-json", "gpumon-user trace --json"),
                  ("ftrace-binary", "ftrace, trace_pipe_raw"), ("ftrace-text", "ftrace, trace_pipe"),
                  ("perf-record", "perf {perf} record"),
                  ("bpftrace-print", "bpftrace {bpftrace}, printf()"))


def storm(results):
    rows = {tuple(words[:2]): list(map(int, words[2:])) for words in results.of("storm")}
    line = "  %-28s %9s %9s %9s %8s %7s"
    out = ["Linux %s, every event to a reader, 1 MiB of buffer for each CPU" %
           results.version("kernel")]
    for name, text in STORMS:
        if (name, "gpumon-binary") not in rows:
            raise Bad("no storm of " + name)
        ours = rows[name, "gpumon-binary"]
        out += ["", "  %s: %d events" % (text, ours[0]), "",
                line % ("", "delivered", "lost", "untold", "lost %", "ratio")]
        for watcher, title in STORM_WATCHERS:
            if (name, watcher) not in rows:
                continue
            fired, delivered, lost = rows[name, watcher]
            missing = fired - delivered
            ours_missing = ours[0] - ours[1]
            out.append(line % (
                title.format(perf=results.version("perf"), bpftrace=results.version("bpftrace")),
                delivered, missing, missing - lost, "%.1f" % (100 * missing / fired),
                ratio(missing, ours_missing, watcher)))
    out += ["", "  One CPU makes events, another one reads them. untold: lost, and not counted as lost by",
            "  the tool itself; less than 0: it delivered more than was fired. Ratios to gpumon's records",
            "  as they are; '-': gpumon lost none, any is more. Each CPU in a thread of its own, not -icount."]
    return out + results.footer("perf", "bpftrace", icount=False)


PARTS = {"jobs": jobs, "drivers": drivers, "scaling": scaling, "reading": reading, "storm": storm}


def put(folder, part, kernel, text, commit):
    """Write the table of this part and kernel to its own file, with the date and the commit."""
    path = os.path.join(folder, "%s-%s.txt" % (part, kernel))
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write("%s\n\n  Measured %s, %s.\n" % (text.strip("\n"), datetime.date.today(), commit))
    os.replace(path + ".new", path)


def main(arguments):
    if len(arguments) not in (2, 5) or arguments[0] not in PARTS or arguments[2:3] not in (
            [], ["--write"]):
        sys.exit("usage: tables.py %s RESULTS [--write FOLDER KERNEL]" % "|".join(PARTS))
    part, path = arguments[:2]
    try:
        results = Results(path)
        text = "\n".join(PARTS[part](results))
        print("\n" + text)
        if len(arguments) == 5:
            put(arguments[3], part, arguments[4], text, results.version("commit"))
    except (Bad, OSError, ValueError, KeyError, IndexError) as e:
        sys.exit("tables.py %s %s: %s: %s" % (part, path, type(e).__name__, e))


if __name__ == "__main__":
    main(sys.argv[1:])
