# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""CUPTI beside other subscribers, where it can be shared: the stand-in of CUDA 13.5."""
import collections
import os

import harness
import recorder as rec
from harness import SANITIZED, Run, check, compare_all, compare_work, equal, notes

COUNT = 40
KERNEL_KIND = 10
OUT_OF_MEMORY = 8
UNKNOWN_ERROR = 999
DRIVER = "13040"
# cuptiSubscribe() of a program beside others that share.
REFUSED = 39


def run_program(*arguments, environment=None, generation="shared", command=None, **settings):
    run = Run(*arguments, generation=generation, command=command,
              environment={"MOCK_DRIVER_VERSION": DRIVER, **(environment or {})}, **settings)
    equal(run.status, 0, "exit status")
    return run


def run_rival(how, *, rival="share", library="librival-shared.so", when="after", environment=None, **settings):
    """The program with a profiler; returns what that one saw, too: result, calls, clock, kernels."""
    run = run_program(COUNT, how, os.path.join(harness.objects, library), when,
                      command=[os.path.join(harness.objects, "rival_program")],
                      environment={"RIVAL": rival, **(environment or {})}, **settings)
    run.check_rules()
    equal(len(run.account(harness.LAUNCH)), 3 * COUNT, "launches of the program")
    return run, run.only(), [int(word) for word in run.output.split()]


def check_whole(run, target):
    """All of the program is in the capture, and it has nothing to say."""
    records = target.records()
    equal(target.totals()["lost"], {}, "losses")
    equal(len(records["launch"]), 3 * COUNT, "launches")
    equal(len(records["kernel"]), 3 * COUNT, "kernels")
    compare_work(run, records, "kernel", harness.KERNEL)
    equal(notes(records), [], "notes")


def uses_shared(**settings):
    """Whether gpumon subscribes by the newer functions: CUPTI refuses kernels to one of both."""
    said = {}
    for function in "cuptiActivityEnable", "cuptiActivityEnable_v2":
        environment = {**settings.get("environment", {})}
        environment["MOCK_FAIL"] = (f"{function}@{KERNEL_KIND}:{OUT_OF_MEMORY} "
                                    + environment.get("MOCK_FAIL", ""))
        run = run_program("mixed", 7, **{**settings, "environment": environment})
        run.check_rules()
        said[function] = any("refuses kernels" in text for text in notes(run.only().records()))
    check(said["cuptiActivityEnable"] != said["cuptiActivityEnable_v2"], f"both or neither: {said}")
    return said["cuptiActivityEnable_v2"]


def test_shared_with_later():
    """another subscriber comes and goes: both have every record and call, each with its clock"""
    run, target, found = run_rival("once")
    equal(found, [0, 2 * COUNT, 1, COUNT], "what the program's profiler saw")
    check_whole(run, target)


def test_shared_with_earlier():
    """another subscriber was there first, and goes first"""
    run, target, found = run_rival("first", when="before")
    equal(found, [0, 4 * COUNT, 1, 2 * COUNT], "what the program's profiler saw")
    check_whole(run, target)
    _, target, _ = run_rival("first", when="before", environment={"RIVAL_GRAPHS": "1"})
    text, = notes(target.records())
    check("record graphs as a whole" in text, text)


def test_shared_with_yield():
    """--yield has nothing to let go of where both share, and lets one go first that does not"""
    run, target, found = run_rival("once", when="before", record=rec.DEFAULT | rec.YIELD)
    equal(found, [0, 2 * COUNT, 1, COUNT], "what the program's profiler saw")
    check_whole(run, target)
    harness.need_real_processor()
    for library, rival in ("librival-shared.so", "alone"), ("librival.so", "alone"):
        _, target, found = run_rival("until", rival=rival, library=library, record=rec.DEFAULT | rec.YIELD)
        equal(found[:2], [0, 2 * COUNT], f"what {library} saw")
        records = target.records()
        equal(len(records["kernel"]), 2 * COUNT, "kernels")
        equal([(records["strings"][w.reason], bool(w.flags & rec.WINDOW_END))
               for w in sorted(records["window"], key=lambda w: w.time_ns)],
              [("start", False), ("yield", True), ("yield", False), ("exit", True)], "windows")
        text, = notes(records)
        check(f"{library} had CUPTI" in text, text)


def test_shared_and_left():
    """gpumon leaves CUPTI between its windows, and the other one goes on recording"""
    run, target, found = run_rival("first", when="before", environment={"PACE_MS": "4"},
                                   operations_sampled=1, window_ms=20, period_ms=40)
    equal(found, [0, 4 * COUNT, 1, 2 * COUNT], "what the program's profiler saw")
    records = target.records()
    rests = sum(bool(w.flags & rec.WINDOW_END) for w in records["window"])
    check(rests > 2, f"{rests} windows")
    equal(target.totals()["lost"], {}, "losses")
    check(0 < len(records["kernel"]) < 3 * COUNT, "kernels in the windows")
    # Alone again, it takes CUPTI out of the process.
    check(run.account(harness.DETACHED), "CUPTI was never detached")


def test_shared_without_force():
    """what CUPTI keeps at the end is missed and said, not taken together with another subscriber's"""
    _, target, found = run_rival("stays", environment={"MOCK_KEEPS_BUFFERS": "1"})
    equal(found[0], 0, "cuptiSubscribe_v2 of the program")
    said = notes(target.records())
    check(any("another profiler shares CUPTI" in text for text in said), said)


def test_sharing_refused():
    """who has CUPTI is said, by the name that it gave, and how it would go"""
    for settings, words in (
            ({"rival": "alone"}, ("a rival holds CUPTI and does not share it",)),
            ({"library": "librival.so"}, ("another profiler holds CUPTI, which serves one at a time",)),
            ({"graphs": rec.WHOLE}, ("gpumon does not share it with --graphs=whole",)),
            ({"environment": {"MOCK_VERSION": "130300"}}, ("gpumon shares from CUDA 13.4 on",))):
        _, target, found = run_rival("first", when="before", **settings)
        equal(found[0], 0, "cuptiSubscribe of the program")
        records = target.records()
        equal(records["kernel"] + records["launch"], [], "records")
        text, = notes(records)
        for word in (*words, "nothing of the GPU is recorded"):
            check(word in text, text)
    _, target, found = run_rival("once", rival="alone")
    equal(found[0], REFUSED, "cuptiSubscribe_v2 of a program that does not share")
    equal(len(target.records()["kernel"]), 3 * COUNT, "kernels")


def test_sharing_needs():
    """the older functions are used where CUPTI, its driver or the settings do not let gpumon share"""
    check(uses_shared(), "not shared")
    check(uses_shared(environment={"MOCK_VERSION": "130400"}), "13.4 is not shared")
    for settings in ({"environment": {"MOCK_VERSION": "130303"}},
                     {"environment": {"MOCK_DRIVER_VERSION": "13020"}},
                     {"environment": {"MOCK_FAIL": f"cuptiSubscribe_v2:{UNKNOWN_ERROR}"}},
                     # Its clock cannot be set.
                     {"environment": {"MOCK_FAIL": f"cuptiActivitySetAttribute_v2@22:{UNKNOWN_ERROR}"}},
                     {"environment": {"MOCK_OTHER_ATTRIBUTES": "1"}},
                     {"generation": "partly"}, {"graphs": rec.WHOLE}, {"stalls": 16},
                     # A thread of the library then loads one, and ThreadSanitizer does not see the loader's lock.
                     *([] if SANITIZED else [{"metrics_ns": 1000000}])):
        check(not uses_shared(**settings), f"shared with {settings}")


def shape(run):
    """What is recorded, without times and ids."""
    target = run.only()
    records = compare_all(run, target)
    name = records["strings"].get
    found = collections.Counter()
    for kernel in records["kernel"]:
        found["kernel", name(kernel.name), kernel.device, kernel.context, kernel.gx, kernel.gy, kernel.bx,
              kernel.registers, kernel.flags] += 1
    for copy in records["copy"]:
        found["copy", copy.bytes, copy.device, copy.context, copy.to_device, copy.flags] += 1
    for memset in records["set"]:
        found["set", memset.bytes, memset.value, memset.flags] += 1
    for launch in records["launch"]:
        found["launch", name(launch.function), launch.flags, launch.result] += 1
    for kind in "device", "context", "stream", "graph_node", "sync", "memory", "unified", "window":
        found[kind] += len(records[kind])
    found["notes"] = tuple(notes(records))
    return found


def test_sharing_is_the_same():
    """a capture by the newer functions has the same records as one by the older ones"""
    record = rec.DEFAULT | rec.ALLOCATIONS | rec.UNIFIED | rec.LATENCY
    for arguments in ("mixed", 700), ("graph", 25), ("threads", 4, 50):
        shared, older = (shape(run_program(*arguments, record=record, mib=64, environment={"MOCK_VERSION": version}))
                         for version in ("130500", "130303"))
        equal(shared, older, f"records of {arguments}")


def test_hw_trace():
    """--hw-trace has CUPTI use the GPU's event system, once, before anything else"""
    def traced(compute="10", record=rec.DEFAULT | rec.HW_TRACE, **settings):
        environment = {"MOCK_COMPUTE": compute, **settings.pop("environment", {})}
        run = run_program("mixed", 70, record=record, environment=environment, **settings)
        target = run.only()
        return len(run.account(harness.HW_TRACE)), notes(compare_all(run, target))

    equal(traced(record=rec.DEFAULT), (0, []), "without it")
    equal(traced(), (1, []), "with it")
    equal(traced(graphs=rec.WHOLE), (1, []), "by the older function")
    for settings, count, words in (
            ({"environment": {"MOCK_VERSION": "130402"}}, 0, ("CUDA 13.5", "libcupti.so.13", "130402")),
            ({"generation": 13, "environment": {"MOCK_DRIVER_VERSION": "13000"}}, 0, ("CUDA 13.5", "130001")),
            ({"compute": "9"}, 1, ("Stand-in H100", "9.0", "Blackwell")),
            ({"environment": {"MOCK_FAIL": f"cuptiActivityEnableHWTrace_v2:{OUT_OF_MEMORY}"}}, 0,
             ("CUPTI_ERROR_OUT_OF_MEMORY", "libcupti.so.13"))):
        found, said = traced(**settings)
        equal(found, count, f"traced with {settings}")
        text, = said
        for word in ("no hardware trace", *words):
            check(word in text, text)
    run, target, found = run_rival("first", when="before", record=rec.DEFAULT | rec.HW_TRACE)
    equal((run.account(harness.HW_TRACE), found[0]), ([], 0), "traced for another subscriber")
    text, = notes(target.records())
    check("before another profiler subscribes" in text, text)
