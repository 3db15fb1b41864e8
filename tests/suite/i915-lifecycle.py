#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel drivers=unload needs=i915 timeout=900
"""Group i915 as modules come and go, as it is switched off and on, over resets and under load.

A level never goes below 0, and is unknown while nothing was seen to begin.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import fire
import i915_rows
import lab
import process_levels
from gpumon_netlink import Gpumon

DEVICE = "0000:00:02.0"
KIB = 1 << 10


def state():
    return {g["group"]: g["state"] for g in lab.stats()["groups"]}["i915"]


lab.step("gpumon first, i915 later")
fire.unload_drivers("i915")
lab.load_gpumon()
lab.equal(state(), "waiting", "group without i915")
lab.equal(i915_rows.probes(), {}, "probes in stats, which is silent about what never was there")
with Gpumon() as g:
    rows = [p for p in g.probe_rows() if p["group"] == "i915"]
    lab.check(rows, "no probes")
    for p in rows:
        lab.equal((p["state"], p["reason"]), ("waiting", "module i915 is not loaded"), p["probe"])
fire.load_drivers("i915")
lab.equal(state(), "attached", "group with i915")

f = fire.Fire()
device = f.i915_device(DEVICE)
gem = f.i915_object(4 * KIB, device, count=50)
engine = f.i915_engine(device=device)
requests = f.i915_request(engine, count=50)


def work():
    f.i915_gem_object_create(gem, times=50)
    f.i915_request_add(requests, times=50)


def end():
    f.i915_gem_object_destroy(gem, times=50)
    f.i915_request_retire(requests, times=50)


def levels():
    memory = i915_rows.rows("memory")[DEVICE]
    row = i915_rows.rows("engines")[DEVICE, "rcs0"]
    return memory["live_objects"], memory["live_bytes"], row["in_flight"]


FULL, NOTHING, UNKNOWN = (50, 200 * KIB, 50), (0, 0, 0), (None, None, None)
work()
lab.equal(levels(), FULL, "levels")

with Gpumon() as g:
    lab.step("a reset: counts start over, levels stay, the peak is the current level")
    g.reset()
    i915_rows.check("memory", DEVICE, {"created": 0, "created_bytes": 0, "live_objects": 50,
                                       "live_objects_max": 50, "live_bytes_max": 200 * KIB})
    closed = g.statistics(1)["i915.memory"][0]
    lab.equal((closed["created"], closed["live_bytes"]), (50, {"now": 200 * KIB,
                                                               "max": 200 * KIB}), "closed")
    end()
    lab.equal(levels(), NOTHING, "levels")
    i915_rows.check("memory", DEVICE, {"destroyed": 50, "untracked": 0, "live_objects_max": 50})
    g.reset()
    i915_rows.check("memory", DEVICE, {"destroyed": 0, "live_objects_max": 0})

    lab.step("off while objects live: nothing counts, and their end counts against nothing")
    work()
    g.group_set("i915", 0)
    before = lab.stats()["i915.memory"][0]["created"]
    lab.equal(levels(), UNKNOWN, "levels while off")
    work()
    lab.equal(lab.stats()["i915.memory"][0]["created"], before, "created while off")
    g.group_set("i915", 1)
    lab.equal(levels(), UNKNOWN, "levels without a baseline")
    end()
    lab.equal(levels(), UNKNOWN, "levels, still none begun")
    i915_rows.check("memory", DEVICE, {"destroyed": 50, "untracked": 50})
    i915_rows.check("engines", (DEVICE, "rcs0"), {"untracked": 50})
    work()
    lab.equal(levels(), FULL, "levels again")

    lab.step("one address that is another device's now, after the driver's probe")
    f.later("string %s 0 %s" % (device.owned[0].owned[0].name, "0000:00:03.0"))
    f.i915_gem_shrink(device, 1)
    lab.check("0000:00:03.0" not in i915_rows.rows("bindings"), "the name was read each time")
    f.later("string %s 0 %s" % (device.owned[0].owned[0].name, DEVICE))

    lab.step("i915 goes while probes are attached, and comes back")
    f.flush()
    fire.unload_drivers("i915")
    lab.equal(state(), "waiting", "group without i915")
    lab.check("i915.memory" not in lab.stats(), "its rows are there without i915")
    fire.load_drivers("i915")
    lab.equal(state(), "attached", "group with i915 again")
    end()
    row, = i915_rows.rows("memory").values()
    lab.equal((row["created"], row["destroyed"], row["untracked"], row["live_objects"]),
              (0, 50, 50, None), "objects begun before")
    work()
    end()
    lab.equal(levels(), NOTHING, "levels")

    lab.step("all processors at once, and interrupts on top of tasks")
    g.reset()
    f.reset()
    cpus = os.cpu_count()
    many = f.i915_object(4 * KIB, device, count=200)
    vma = f.i915_vma(many, f.i915_vm(device), size=4 * KIB)
    f.i915_gem_object_create(many, times=200)
    f.i915_vma_unbind(vma, times=200)
    f.i915_gem_object_pwrite(many, 0, 3, times=2000, cpu="all")
    f.i915_gem_object_fault(many, 0, 1, 0, times=2000, cpu="all", irq=True)
    f.i915_gem_evict(f.i915_vm(device), 7, times=2000, cpu="all")
    f.i915_vma_bind(vma, times=200)
    f.i915_gem_object_destroy(many, times=200)
    i915_rows.check("accesses", DEVICE, {"pwrites": 2000 * cpus, "pwrite_bytes": 6000 * cpus,
                                         "read_faults": 2000 * cpus})
    i915_rows.check("bindings", DEVICE, {"evictions": 2000 * cpus, "rebinds": 200,
                                         "eviction_wanted_bytes": 14000 * cpus})
    i915_rows.check("memory", DEVICE, {"created": 200, "destroyed": 200, "untracked": 0,
                                       "live_objects": 0, "live_objects_max": 200})
    i915_rows.check_probes(f)

    lab.step("more objects and requests than fit: counted, and no level goes astray")
    g.reset()
    f.reset()
    for _ in range(2):
        # Steps beyond the array would be unreadable, so use one array in parts.
        parts = [f.i915_request(engine, count=2000) for _ in range(5)]
        for part in parts:
            f.i915_request_add(part, times=2000)
        row = i915_rows.rows("engines")[DEVICE, "rcs0"]
        lab.equal(row["in_flight"] + row["requests_table_full"] - row["untracked"], 10000,
                  "in flight and without a place")
        lab.check(row["in_flight"] >= 4096, "in flight: %d" % row["in_flight"])
        for part in parts:
            f.i915_request_retire(part, times=2000)
            part.free()
        row = i915_rows.rows("engines")[DEVICE, "rcs0"]
        lab.equal((row["in_flight"], row["untracked"]), (0, row["requests_table_full"]),
                  "when all are retired")
        lab.equal(row["added"], row["retired"], "added and retired")
    lab.check(row["requests_table_full"], "all fit, the test tests nothing")
    i915_rows.check_probes(f)

    lab.step("gpumon goes and comes while i915 and events are there")
    for _ in range(3):
        work()
        lab.rmmod("gpumon")
        lab.load_gpumon()
        end()
        i915_rows.check("memory", DEVICE, {"destroyed": 50, "untracked": 50,
                                           "live_objects": None})
lab.step("bytes of objects by process, also of one that has ended and whose slot is another's")
lab.rmmod("gpumon")
lab.load_gpumon(max_processes=process_levels.ROOM)


def of_objects():
    return process_levels.rows("live_object_bytes")


me = os.getpid()
one, other = f.i915_object(8 * KIB, device), f.i915_object(64 * KIB, device)
f.i915_gem_object_destroy(one)
lab.equal(of_objects().get(me), None, "before this process has created an object")
f.i915_gem_object_create(one)
children = process_levels.of_processes(f, [lambda: f.i915_gem_object_create(other),
                                           lambda: f.i915_gem_object_destroy(one)])
first, second = children
lab.equal((of_objects()[me], of_objects()[first], of_objects().get(second)), (0, 64 * KIB, None),
          "of processes, one of which ended the other's object")
process_levels.end(children)
lab.equal(of_objects()[first], 64 * KIB, "of a process that has ended and whose object lives")
f.i915_gem_object_create(other)
lab.equal((of_objects().get(first, 0), of_objects()[me]), (0, 64 * KIB),
          "another object at the same address")
f.i915_gem_object_create(one, irq=True)
lab.equal(of_objects()[me], 64 * KIB, "after one that no process created")
f.i915_gem_object_destroy(one)
with Gpumon() as g:
    g.reset()
    lab.equal(of_objects()[me], 64 * KIB, "in the next period")
    g.group_set("i915", 0)
    lab.equal(of_objects().get(me), None, "while the group is off")
    g.group_set("i915", 1)
    f.i915_gem_object_destroy(other)
    lab.equal(of_objects().get(me), None, "when an object of before has ended")
process_levels.check_reuse(f, "live_object_bytes",
                           [(f.i915_object(size * KIB, device), size * KIB)
                            for size in range(4, 4 * 9, 4)],
                           f.i915_gem_object_create, f.i915_gem_object_destroy)

lab.step("off at load")
lab.rmmod("gpumon")
lab.load_gpumon(i915=0)
work()
lab.equal((state(), "i915.memory" in lab.stats()), ("off", False), "with i915=0")
f.close()
