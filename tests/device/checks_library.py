# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The injection library on a real GPU, record by record: tests/inject's recorder is at the other end."""
import collections
import json
import os
import re
import subprocess
import sys
import time

import programs
from programs import LIBRARY, SCRATCH, environment
from steps import check, note, say

sys.path.insert(0, os.path.join(programs.TOP, "tests", "inject"))
import recorder as rec  # noqa: E402

# The function that launches kernel<N>.
PLACES = {0: "place<0>", 1: "place<1>", 2: "place<2>", 3: "place_driver", 4: "place_ex",
          5: "place_cooperative", 7: "place<7>", 8: "capture_all", 9: "add_node", 10: "place<10>"}


class Run:
    """The program under the library, recorded."""

    def __init__(self, mode, *arguments, program=None, timeout=60, **settings):
        path = os.path.join(SCRATCH, "socket")
        if os.path.exists(path):
            os.unlink(path)
        program = program or programs.program("known")
        self.mode = mode
        self.account_path = os.path.join(SCRATCH, "account")
        self.recorder = rec.Recorder(path, blocks=4096, interval=0.02,
                                     **{"flush_ms": 500, "mib": 64, **settings})
        begin = time.monotonic()
        self.result = subprocess.run(
            [program, mode, *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
            env=environment(CUDA_INJECTION64_PATH=LIBRARY, GPUMON_SOCKET=path,
                            KNOWN_ACCOUNT=self.account_path, NVTX_INJECTION64_PATH=LIBRARY))
        self.seconds = time.monotonic() - begin
        self.recorder.wait()
        self.recorder.close()
        self.targets = self.recorder.targets
        # Launches that the runtime refuses by itself.
        self.has_early = settings.get("record", 0) & rec.ALL_CALLS

    def account(self, target):
        path = f"{self.account_path}.{target.pid}"
        if not os.path.exists(path):
            return None
        with open(path, encoding="utf-8") as file:
            account = json.load(file)
        account["kernels"] = {int(k): v["count"] for k, v in account["kernels"].items()}
        if self.has_early:
            account["launches"] += account["refused_early"]
            account["failed"] += account["refused_early"]
        return account


def places_of(program):
    """The address ranges of the functions that launch, by name."""
    with open(program + ".nm", encoding="utf-8") as file:
        text = file.read()
    ranges = {}
    for line in text.splitlines():
        match = re.match(r"([0-9a-f]+) ([0-9a-f]+) [tTwW] (?:void )?([\w<>]+)\(", line)
        if match:
            start = int(match.group(1), 16)
            ranges[match.group(3)] = (start, start + int(match.group(2), 16))
    return ranges


def number_of(name):
    match = re.search(r"kernelILi(\d+)E", name)
    return int(match.group(1)) if match else None


def check_stacks(label, records, program, live=False):
    """Every kernel's stack has the one function that launches this kernel. live: the program also
    ran before and after the recording, and so did some launches.
    """
    ranges = places_of(program)
    bias = next((m.start - m.offset for m in records["mapping"]
                 if records["strings"].get(m.path, "").endswith(os.path.basename(program))), None)
    if not check(bias is not None, f"{label}: the program's mapping is there"):
        return
    launches = {launch.correlation: launch for launch in records["launch"]}
    nodes = {n.node: n for n in records["graph_node"]}
    wrong = collections.Counter()
    right = 0
    first, last = (min(launches), max(launches)) if launches else (0, 0)
    for kernel in records["kernel"]:
        number = number_of(records["strings"].get(kernel.name, ""))
        if number is None or number not in PLACES:
            wrong[f"unknown kernel {records['strings'].get(kernel.name)}"] += 1
            continue
        stack = 0
        if kernel.node:
            node = nodes.get(kernel.node)
            while node and not node.stack and node.original:
                node = nodes.get(node.original)
            stack = node.stack if node else 0
            if not stack:
                wrong["node without a stack"] += 1
                continue
        elif kernel.correlation in launches:
            stack = launches[kernel.correlation].stack
        else:
            if not live or first <= kernel.correlation <= last:
                wrong["kernel without launch"] += 1
            continue
        start, end = ranges[PLACES[number]]
        frames = records["stacks"].get(stack, ())
        if any(start + bias < frame <= end + bias for frame in frames):
            right += 1
        else:
            wrong[f"kernel<{number}> lacks {PLACES[number]}"] += 1
    check(not wrong, f"{label}: kernels on the stack that launched them: {right}",
          dict(wrong) if wrong else "")
    depths = [len(f) for f in records["stacks"].values()]
    if depths:
        note(f"{len(depths)} different stacks of {min(depths)} to {max(depths)} frames, "
            f"{len(records['truncated'])} cut")


def check_run(label, run, program=None, status=0):
    program = program or programs.program("known")
    check(run.result.returncode == status, f"{label}: the program ends as it should",
          run.result.stderr[-300:] if run.result.returncode != status else f"{run.seconds:.1f} s")
    check(run.result.stderr == "", f"{label}: nothing printed into it", run.result.stderr[-300:])
    for target in run.targets:
        records = target.records()
        totals = target.totals()
        account = run.account(target)
        if account is None:
            check(False, f"{label}: the program left no account")
            continue
        kernels = collections.Counter()
        internal = 0
        for kernel in records["kernel"]:
            if kernel.flags & rec.INTERNAL:
                internal += 1
            kernels[number_of(records["strings"].get(kernel.name, ""))] += 1
        for record in records["note"]:
            note(f"note: {records['strings'].get(record.text)}")
        wanted = account["kernels"]
        check(dict(kernels) == wanted, f"{label}: kernels {sum(wanted.values())}",
              "" if dict(kernels) == wanted else f"{dict(kernels)} should be {wanted}")
        by_name = collections.Counter(records["strings"].get(r.function) for r in records["launch"]
                                      if not r.flags & rec.LAUNCH_CAPTURED)
        check(totals["launches"] == account["launches"], f"{label}: launches "
              f"{account['launches']}", "" if totals["launches"] == account["launches"] else
              f"{totals['launches']}: {dict(by_name)}")
        check(totals["captured"] == account["captured"],
              f"{label}: captured {account['captured']}",
              "" if totals["captured"] == account["captured"] else totals["captured"])
        check(len(records["copy"]) == account["copies"] and len(records["set"]) == account["sets"],
              f"{label}: copies {account['copies']} and memsets {account['sets']}",
              f"{len(records['copy'])} and {len(records['set'])}")
        check(sum(bool(r.flags & rec.LAUNCH_FAILED) for r in records["launch"]) ==
              account["failed"], f"{label}: failed launches {account['failed']}")
        check(not totals["lost"], f"{label}: nothing lost", totals["lost"] or "")
        check_stacks(label, records, program)
        launches = {r.correlation: r for r in records["launch"]}
        early = [r.start_ns - launches[r.correlation].start_ns for r in records["kernel"]
                 if r.correlation in launches and r.start_ns < launches[r.correlation].start_ns]
        backwards = sum(k.end_ns < k.start_ns for k in records["kernel"] if k.end_ns)
        check(not backwards, f"{label}: no kernel ends before it starts", backwards or "")
        note(f"{len(early)} kernels before their launch began"
            + (f", by {-min(early)} ns at most" if early else "")
            + f"; {internal} launched by CUDA itself; {totals['device_bytes'] >> 20} MiB of the GPU "
            f"for CUPTI; functions {dict(by_name)}")


def step_mixed():
    for name in ("known", "known-static"):
        program = programs.program(name)
        label = "static cudart" if "static" in name else "all kinds"
        run = Run("mixed", 300, program=program)
        check_run(label, run, program)
        for target in run.targets:
            process = target.records()["process"][0]
            note(f"CUPTI {process.cupti_version}, driver {process.driver_version}, runtime "
                f"{process.runtime_version}")
            for device in target.records()["device"]:
                note(f"device {device.id}: {target.records()['strings'].get(device.name)}, "
                    f"GPU-{device.uuid.hex()}, {device.multiprocessors} SMs, pci {device.pci:#x}")


def step_threads():
    check_run("four threads", Run("threads", 5000, 4))
    check_run("16 threads", Run("threads", 2000, 16))


def step_graph():
    run = Run("graph", 200)
    check_run("graphs", run)
    records = run.targets[0].records()
    made = [n for n in records["graph_node"] if not n.original]
    note(f"nodes: {len(made)} made, {sum(bool(n.stack) for n in made)} with a stack, "
        f"{len(records['graph_node']) - len(made)} clones")


def step_fork():
    run = Run("fork", 200)
    check_run("fork and exec", run)
    check(len(run.targets) == 2, "fork and exec: two processes connected", len(run.targets))


def step_killed():
    run = Run("kill", 5000, 1500)
    check_run("killed", run, status=-9)
    run = Run("kill", 5000, 0, flush_ms=10000)
    target = run.targets[0]
    totals = target.totals()
    say(f"# killed at once: {totals['launches']} launches, {totals['kernels']} kernels told of, "
        f"{totals['launches'] - totals['kernels']} withheld")
    check(totals["launches"] == 5000, "killed at once: launches", totals["launches"])
    check_run("_exit", Run("_exit", 5000, 1500), status=3)
    check_run("quick_exit", Run("quick_exit", 5000, 0, flush_ms=10000), status=3)


def step_unfinished():
    run = Run("unfinished", timeout=120)
    records = run.targets[0].records()
    flags = {number_of(records["strings"].get(k.name, "")): k.flags for k in records["kernel"]}
    say(f"# a kernel that outlives the program: {flags}, lost {run.targets[0].totals()['lost']}, "
        f"{run.seconds:.1f} s")
    check(run.result.returncode == 0 and run.seconds < 40, "a kernel that outlives the program")


def step_reset():
    run = Run("reset", 500)
    check_run("cudaDeviceReset", run)
    ended = [c for c in run.targets[0].records()["context"] if c.flags]
    check(len(ended) >= 1, "cudaDeviceReset: a context ended", len(ended))


def step_windows():
    run = Run("profiler", 300, window=rec.PROFILER)
    records = run.targets[0].records()
    kernels = collections.Counter(number_of(records["strings"].get(k.name, ""))
                                  for k in records["kernel"])
    check(dict(kernels) == {2: 300} and len(records["launch"]) == 300,
          "between cudaProfilerStart and Stop: 300 launches", f"{dict(kernels)}, "
          f"{len(records['launch'])} launches")
    run = Run("nvtx", 50, record=rec.DEFAULT | rec.RANGES)
    ranges = collections.Counter((r.kind, run.targets[0].records()["strings"].get(r.text))
                                 for r in run.targets[0].records()["range"])
    wanted = {(1, "outer"): 1, (1, "step"): 50, (2, None): 51}
    check(dict(ranges) == wanted, "NVTX ranges", dict(ranges))


def step_choices():
    everything = (rec.DEFAULT | rec.SYNC | rec.ALLOCATIONS | rec.UNIFIED | rec.ALL_CALLS |
                  rec.LATENCY)
    run = Run("mixed", 50, record=everything)
    check_run("everything on", run)
    records = run.targets[0].records()
    note(f"{len(records['call'])} calls, {len(records['sync'])} waits, "
        f"{sum(k.queued_ns > 0 for k in records['kernel'])} of {len(records['kernel'])} kernels "
        f"with a queued time, other records {collections.Counter(records['unknown'])}")


def step_dormant():
    process = subprocess.Popen([programs.program("known"), "steady", "6"], stdout=subprocess.PIPE, text=True,
                               env=environment(CUDA_INJECTION64_PATH=LIBRARY))
    pid = int(process.stdout.readline().split()[1])
    time.sleep(0.5)
    for turn in (1, 2):
        target = rec.attach(f"\0gpumon-{os.geteuid()}-{pid}", blocks=1024)
        time.sleep(1.5)
        target.stop()
        ended = target.done.wait(15)
        target.connection.close()
        records = target.records()
        check(ended, f"live process, turn {turn}: ends on request")
        kernels = {k.correlation for k in records["kernel"]}
        launches = {r.correlation for r in records["launch"]}
        for record in records["note"]:
            note(f"note: {records['strings'].get(record.text)}")
        check(len(launches) > 500 and len(launches ^ kernels) < 20,
              f"live process, turn {turn}: launches and kernels go together",
              f"{len(launches)} and {len(kernels)}, {len(launches - kernels)} without kernel, "
              f"{len(kernels - launches)} without launch")
        by_id = {r.correlation: r for r in records["launch"]}
        delay = sorted(k.start_ns - by_id[k.correlation].start_ns for k in records["kernel"]
                       if k.correlation in by_id)
        if delay:
            check(-1e6 < delay[0] and delay[-1] < 1e9, f"live process, turn {turn}: times fit",
                  f"{delay[0]} to {delay[-1]} ns from launch to start")
        check(bool(records["device"]) and bool(records["context"]),
              f"live process, turn {turn}: device and context are there")
        check_stacks(f"live process, turn {turn}", records, programs.program("known"), live=True)
        time.sleep(0.3)
    process.wait(30)
    check(process.returncode == 0, "live process: goes on to its end")


STEPS = [("library-" + function.__name__[5:].replace("_", "-"), function, 60)
         for function in (step_mixed, step_threads, step_graph, step_fork, step_killed,
                          step_unfinished, step_reset, step_windows, step_choices, step_dormant)]
