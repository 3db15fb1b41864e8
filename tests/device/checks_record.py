# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Programs with a known account under `gpumon-user record`: is all of it there, on the right stack?"""
import collections
import glob
import os
import sqlite3
import statistics
import struct
import time

import answers
import attach
from programs import (CAPTURES, GPUMON, SCRATCH, Recorded, call, device_count, environment,
                      mig_devices, program)
from steps import Skip, check, equal, figure, note

reference = attach.reference
LAUNCH, WINDOW, CAPTURED, GRAPH = 20, 81, 1, 2
# Where an operation has the id of its launch and that of its graph.
OPERATIONS = {40: (48, 68), 41: (40, 56), 42: (40, 56), 46: (24, 40)}

NOT_LOADED = "no events of the gpumon module"


def check_profile(label, run, status=0, complete=True, accounts=None):
    """Check counts, sums and stacks of a recording, and keep its figures."""
    result = run.result
    lines = result.stderr.strip().splitlines()
    check(result.returncode == status, f"{label}: ends as the program does",
          f"{run.seconds:.1f} s" if result.returncode == status else
          f"{result.returncode}: {result.stderr[-300:]}")
    check(len(lines) == 1 and lines[0].startswith("gpumon-user: "), f"{label}: one line is printed",
          lines[-1] if lines else "nothing")
    profile = run.profile
    accounts = run.accounts if accounts is None else accounts
    check(accounts, f"{label}: the program left its account")
    wrong = answers.differences(profile, accounts)
    total = answers.sum_accounts(accounts)
    check(not wrong, f"{label}: {sum(total['kernels'].values())} kernels, {total['launches']} "
          "launches, copies, sets as the program says", "; ".join(wrong))
    wrong = answers.complaints(profile)
    check(not wrong, f"{label}: matched and unmatched are all there is", "; ".join(wrong))
    sums, wrong = answers.stacks(profile)
    check(sums["wrong"] == [0, 0] and sums["right"][0] > 0,
          f"{label}: 0 ns on a wrong stack, {sums['right'][1]} ns on the right one",
          wrong or "")
    if complete:
        check(not answers.lost(profile), f"{label}: nothing lost", answers.lost(profile) or "")
        equal(sums["without"], [0, 0], f"{label}: kernels without a stack")
    for text in profile["recording"]["notes"]:
        if not text.startswith(NOT_LOADED):
            note(f"note: {text}")
    early = profile["missing"]["work_before_launch"]
    note(f"{run.bytes} bytes, {len(profile['nodes'])} nodes, latency p50 "
         f"{profile['latency']['p50_ns']} ns, {early} before their launch, works "
         f"{answers.works(profile)}")
    figure(f"record.{run.name}", {
        "seconds": round(run.seconds, 2), "bytes": run.bytes, "stacks": sums,
        "works": answers.works(profile), "lost": answers.lost(profile),
        "launches": profile["missing"]["launches"], "gpu_ns": profile["recording"]["gpu_ns"],
        "latency": profile["latency"], "before_launch": early,
        "kernels": answers.kernels(profile)})
    return profile


def both(label, name, words_large, words_small, **more):
    """A long run, and a short one to be kept."""
    options = {k: more.pop(k) for k in ("options",) if k in more}
    check_profile(label, Recorded(name + "-long", words_large, **options), **more)
    run = Recorded(name, words_small, keep=True, **options)
    profile = check_profile(f"{label}, short", run, **more)
    check(run.bytes <= 300000, f"{label}: the capture to be kept is small", run.bytes)
    return profile


def step_loop():
    known = program("known")
    both("launch-bound loop", "loop", [known, "loop", 50000], [known, "loop", 900])


def step_mixed():
    known = program("known")
    profile = both("all kinds", "mixed", [known, "mixed", 1000], [known, "mixed", 50])
    for process in profile["recording"]["processes"]:
        note(f"CUPTI {process['cupti_version']}, driver {process['driver_version']}")


def step_static():
    for name in ("known-static", "known-stripped"):
        run = Recorded(name, [program(name), "mixed", 50], keep=True)
        if name == "known-static":
            check_profile("static cudart", run)
            continue
        # Without function names: compare the counts, and check that its addresses are in the file.
        wrong = (answers.differences(run.profile, run.accounts) +
                 answers.complaints(run.profile))
        check(run.result.returncode == 0 and not wrong, "static cudart, stripped: counts",
              "; ".join(wrong))
        launched = [i for i, n in enumerate(run.profile["nodes"]) if n["kind"] == "kernel"]
        named = [i for i in launched if any(
            (a["module"] or "").endswith("known-stripped")
            for a in answers.ancestors(run.profile, i))]
        equal(len(named), len(launched), "static cudart, stripped: paths through the program")


def step_threads():
    known = program("known")
    both("four threads on four streams", "threads", [known, "threads", 5000, 4],
         [known, "threads", 120, 4])
    check_profile("16 threads", Recorded("threads-16", [known, "threads", 2000, 16]))


def step_graph():
    known = program("known")
    profile = both("graphs", "graph", [known, "graph", 1000], [known, "graph", 80])
    equal(answers.works(profile, "kernel")["graph_node"], 80 * 5, "graphs: kernels of nodes")


def operations_of(folder):
    """Launches by id: begin, end, flags, graph; how many operations each has, and their graphs."""
    launches, counts, graphs, windows, begin = {}, collections.Counter(), {}, [], None
    for path in glob.glob(os.path.join(folder, "process-*.records")):
        with open(path, "rb") as file:
            for kind, flags, record in reference.all_records(file.read()):
                if kind == LAUNCH and not flags & CAPTURED:
                    start, end, _, number = struct.unpack_from("<QQII", record, 8)
                    graph = struct.unpack_from("<I", record, 48)[0] if flags & GRAPH else None
                    launches[number] = (start, end, graph)
                elif kind in OPERATIONS:
                    at, graph_at = OPERATIONS[kind]
                    number, = struct.unpack_from("<I", record, at)
                    counts[number] += 1
                    graphs[number], = struct.unpack_from("<I", record, graph_at)
                elif kind == WINDOW:
                    time, = struct.unpack_from("<Q", record, 8)
                    if begin and flags & 1:
                        windows.append((begin, time))
                    begin = begin or time if not flags & 1 else None
    return launches, counts, graphs, windows


def step_graph_windows():
    """A launch within a window has all its operations; each launch is there."""
    run = Recorded("graph-windows", [program("known"), "graph", 40000], keep=True,
                   options=["--graphs", "windows", "--windows", "20ms/80ms"])
    launches, counts, graphs, windows = operations_of(run.folder)
    total = answers.sum_accounts(run.accounts)["launches"]
    equal(len(launches), total, "graphs in windows: launches")
    check(len(windows) > 3, f"graphs in windows: {len(windows)} windows")
    inside = {number: launch for number, launch in launches.items() if launch[2] is not None and
              any(begin <= launch[0] and launch[1] <= end for begin, end in windows)}
    usual = {graph: collections.Counter(counts[n] for n, one in inside.items() if one[2] == graph
                                        ).most_common(1)[0][0]
             for graph in {one[2] for one in inside.values()}}
    equal(sorted(usual.values()), [2, 4], "graphs in windows: operations of a launch")
    less = [n for n, one in inside.items() if counts[n] != usual[one[2]]]
    check(len(less) <= 2 * len(windows), f"graphs in windows: {len(less)} of {len(inside)} launches "
          "within windows have fewer operations, because they ran after its end")
    check(all(graphs[n] == one[2] for n, one in inside.items() if counts[n]),
          "graphs in windows: ids of graphs")
    long = [one for one in answers.kernels(run.profile).values() if max(one) > 10 ** 9]
    check(not long, "graphs in windows: no kernel runs for a second", long)


def step_graph_whole():
    run = Recorded("graph-whole", [program("known"), "graph", 80], keep=True,
                   options=["--graphs", "whole"])
    launches, counts, graphs, _ = operations_of(run.folder)
    of_graphs = {number: launch[2] for number, launch in launches.items() if launch[2] is not None}
    equal(len(of_graphs), 160, "graphs as a whole: launches")
    equal([counts[n] for n in of_graphs], [1] * 160, "graphs as a whole: an operation for each")
    equal({n: graphs[n] for n in of_graphs}, of_graphs, "graphs as a whole: ids of graphs")


def step_driver():
    words = [program("driver"), program("driver.fatbin")]
    both("driver API", "driver", [*words, 20000], [*words, 400])


def step_fork():
    known = program("known")
    profile = both("fork and exec", "fork", [known, "fork", 1000], [known, "fork", 40])
    equal(len(profile["recording"]["processes"]), 2, "fork and exec: processes")


def step_two_processes():
    known = program("known")
    line = '"$0" threads "$1" 2 & "$0" mixed "$2"; wait $!'
    profile = both("two processes", "two-processes", ["sh", "-c", line, known, 5000, 1000],
                   ["sh", "-c", line, known, 60, 30])
    equal(len(profile["recording"]["processes"]), 2, "two processes: processes")


def step_killed():
    known = program("known")
    both("killed, its records written", "killed", [known, "kill", 20000, 1500],
         [known, "kill", 900, 1500], status=137)
    run = Recorded("killed-at-once", [known, "kill", 20000, 0])
    profile = run.profile
    wrong = answers.complaints(profile)
    launches = profile["missing"]["launches"]
    check(run.result.returncode == 137 and not wrong, "killed at once: the capture is whole",
          "; ".join(wrong) or run.result.stderr[-200:])
    told = sum(launches[k] for k in ("with_work", "without_work", "withheld", "refused"))
    equal(told, 20000, "killed at once: launches")
    sums, wrong = answers.stacks(profile)
    equal(sums["wrong"], [0, 0], "killed at once: kernels on a wrong stack")
    note(f"killed at once: {launches['withheld']} of {told} launches without their kernel, "
         f"lost {answers.lost(profile)}")
    check_profile("_exit", Recorded("exit", [known, "_exit", 5000, 1500]), status=3)


def step_time():
    """GPU time compared with the GPU's own clocks and with events."""
    known = program("known")
    run = Recorded("timed", [known, "timed", 200], keep=True)
    profile = check_profile("GPU time", run)
    account = run.accounts[0]
    ours = answers.kernels(profile)
    parts = {}
    total = 0
    for name in ("12", "13", "14"):
        count, gpu_ns = ours[name]
        inside = account["kernels"][name]["inside_ns"]
        total += gpu_ns
        parts[name] = {"count": count, "gpu_ns": gpu_ns, "inside_ns": inside,
                       "more_ns_each": round((gpu_ns - inside) / count)}
        # A kernel begins before its first instruction and ends after its last one.
        check(0 <= gpu_ns - inside <= 10000 * count,
              f"GPU time: spin<{name}> is what its own clock says, and at most 10 us more each",
              f"{gpu_ns} and {inside} ns, {(gpu_ns - inside) / count:.0f} ns each")
    events = account["events_ns"]
    check(0.97 <= total / events <= 1.005, "GPU time: the sum is that between two events, gaps "
          "left out", f"{total} and {events:.0f} ns, {total / events:.4f}")
    figure("gpu_time", {"kernels": parts, "sum_ns": total, "events_ns": events})


def step_llm():
    llm = program("llm")
    for kind in ("", "cublas"):
        label = "LLM" + (" with cuBLAS" if kind else "")
        words = [llm, 64] + ([kind] if kind else [])
        long = Recorded("llm-long" + kind, words, ["--nvtx"])
        if long.result.returncode == 77:
            raise Skip(f"cuBLAS: {long.result.stderr[:200]}")
        check_profile(label, long)
        run = Recorded("llm" + ("-cublas" if kind else ""), [llm, 8, *words[2:]], ["--nvtx"],
                       keep=True)
        profile = check_profile(f"{label}, short", run)
        account = run.accounts[0]
        ranges = {r["text"]: r for r in profile["ranges"]}
        should = {"token": 8, "logits": 8, **{f"layer {i}": 8 for i in range(account["layers"])}}
        equal({k: v["count"] for k, v in ranges.items()}, should, f"{label}: NVTX ranges")
        check(all(r["gpu_ns"] > 0 for r in ranges.values()), f"{label}: ranges have GPU time")
        long_sum = sum(ns for name, (_, ns) in answers.kernels(long.profile).items()
                       if name != "fill")
        events = long.accounts[0]["events_ns"]
        check(0 < long_sum <= events, f"{label}: kernels take no more than the time "
              "between two events around them", f"{long_sum} of {events:.0f} ns")
        figure(f"llm{'.cublas' if kind else ''}", {
            "kernels_ns": long_sum, "events_ns": events,
            "ranges": {k: [v["count"], v["works"], v["gpu_ns"]] for k, v in ranges.items()}})


def step_devices():
    count = device_count()
    if count < 2:
        raise Skip(f"{count} GPU here, two are needed")
    known = program("known")
    profile = both("several GPUs", "devices", [known, "devices", 2000], [known, "devices", 100])
    rows = {d["device"]: d["count"] for d in profile["devices"] if d["stream"] is None}
    equal(rows, {i: 100 * (i + 1) for i in range(count)}, "several GPUs: work by GPU")


def step_mig():
    instances = mig_devices()
    if not instances:
        raise Skip("MIG is off, and this test does not change the machine's settings")
    run = Recorded("mig", [program("known"), "mixed", 50], keep=True,
                   env={"CUDA_VISIBLE_DEVICES": instances[0]})
    profile = check_profile("MIG", run)
    check(any(instances[0] in (d["uuid"] or "") for d in profile["devices"]),
          f"MIG: work is that of {instances[0]}", [d["uuid"] for d in profile["devices"]])


def step_formats():
    """Every output of a real capture is written. Other tests check the contents."""
    for name in ("mixed", "graph", "llm"):
        folder = os.path.join(CAPTURES, name)
        for words in (["correlate", folder], ["flamegraph", folder], ["report", folder],
                      ["export", "--chrome", folder], ["export", "--perfetto", folder],
                      ["export", "--pprof", folder], ["diff", folder, folder]):
            # Some outputs are not text.
            result = call(["sh", "-c", '"$0" "$@" | wc -c', GPUMON, *words], 60,
                          environment(False, DEBUGINFOD_URLS=""))
            check(int(result.stdout or 0) > 100 and not result.stderr,
                  f"{name}: {' '.join(w for w in words if w != folder)}", result.stderr[-200:])


def step_sql():
    """How long tables of a million launches and their kernels take."""
    launches = 1000000
    run = Recorded("sql", [program("known"), "loop", launches])
    file = os.path.join(SCRATCH, "sql.db")
    seconds = []
    for _ in range(7):
        begin = time.monotonic()
        call([GPUMON, "export", "--sqlite", "--force", "-o", file, run.folder], 60,
             environment(False, DEBUGINFOD_URLS=""), limit=0)
        seconds.append(time.monotonic() - begin)
    db = sqlite3.connect(file)
    count, = db.execute("SELECT count(*) FROM operation JOIN launch ON launch.id = operation.launch").fetchone()
    db.close()
    check(count >= launches, "tables for SQL: all kernels with their launches", count)
    rates = [count / taken / 1e6 for taken in seconds]
    figure("sql", {"operations": count, "seconds": seconds, "bytes": os.path.getsize(file)})
    check(statistics.median(rates) >= 1, "tables for SQL: a million operations a second",
          f"median {statistics.median(rates):.2f}, {min(rates):.2f} to {max(rates):.2f} million, "
          f"{os.cpu_count()} processors")


STEPS = [("loop", step_loop, 60), ("mixed", step_mixed, 60), ("static", step_static, 60),
         ("threads", step_threads, 60), ("graph", step_graph, 60),
         ("graph-windows", step_graph_windows, 60), ("graph-whole", step_graph_whole, 60),
         ("driver", step_driver, 60),
         ("fork", step_fork, 60), ("two-processes", step_two_processes, 60),
         ("killed", step_killed, 60), ("time", step_time, 60), ("llm", step_llm, 90),
         ("devices", step_devices, 60), ("mig", step_mig, 60), ("formats", step_formats, 60),
         ("sql", step_sql, 90)]
