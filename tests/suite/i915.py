#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel drivers=stay needs=i915 timeout=600
"""Group i915 on the real i915.ko: every number against what was fired.

Two devices, several engines, objects that live and die; created bytes are not
live bytes, the target of a shrink is not what was shrunk, and a bind that
follows an unbind of the same binding is a rebind, one elsewhere is none.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import events
import fire
import i915_rows
import lab
from fire import NULL
from fire_i915 import COPY, RENDER
from gpumon_netlink import Gpumon

FIRST, SECOND = "0000:00:02.0", "0000:03:00.0"
KIB, MIB = 1 << 10, 1 << 20
ALL_PAGES = (1 << 64) - 1
# X() of kmod/uapi/gpumon_event.h
(GEM_CREATE, GEM_DESTROY, VMA_BIND, VMA_UNBIND, GEM_SHRINK, GEM_EVICT, GEM_PWRITE, GEM_PREAD,
 GEM_FAULT, REQUEST_ADD, REQUEST_RETIRE) = range(10, 21)

lab.step("i915 without a device, gpumon, the firing module")
fire.load_drivers("i915")
lab.load_gpumon()
f = fire.Fire()
found = i915_rows.probes()
lab.equal(set(found), set(i915_rows.PROBES), "probes of the group")
for name, p in found.items():
    lab.equal((p["state"], p["reason"]), ("attached", None), "state of " + name)
sections = lab.stats()
for table in "memory", "bindings", "accesses", "engines":
    lab.equal(sections["i915." + table], [], "rows of %s before anything happened" % table)
for layout in sections["layouts"]:
    if layout["module"] == "i915":
        lab.check(layout["offset"] is not None, "%(member)s is not found: %(reason)s" % layout)

first, second = f.i915_device(FIRST, 0), f.i915_device(SECOND, 1)

lab.step("objects: created, live, peak")
small = f.i915_object(4 * KIB, first, count=100)
large = f.i915_object(2 * MIB, first)
other = f.i915_object(64 * KIB, second, count=10)
f.i915_gem_object_create(small, times=100)
f.i915_gem_object_create(large)
f.i915_gem_object_create(other, times=10)
i915_rows.check("memory", FIRST, {
    "created": 101, "created_bytes": 100 * 4 * KIB + 2 * MIB, "destroyed": 0, "untracked": 0,
    "live_objects": 101, "live_bytes": 100 * 4 * KIB + 2 * MIB, "live_objects_max": 101,
    "live_bytes_max": 100 * 4 * KIB + 2 * MIB, "objects_table_full": 0})
i915_rows.check("memory", SECOND, {"created": 10, "created_bytes": 640 * KIB, "live_objects": 10,
                                   "live_bytes": 640 * KIB})

lab.step("destroyed objects are no more live, and the peak stays")
f.i915_gem_object_destroy(large)
f.i915_gem_object_destroy(small, times=100)
i915_rows.check("memory", FIRST, {
    "created": 101, "created_bytes": 100 * 4 * KIB + 2 * MIB, "destroyed": 101, "untracked": 0,
    "live_objects": 0, "live_bytes": 0, "live_objects_max": 101,
    "live_bytes_max": 100 * 4 * KIB + 2 * MIB})
i915_rows.check("memory", SECOND, {"destroyed": 0, "live_objects": 10, "live_bytes": 640 * KIB})

lab.step("an object whose creation was not seen does not count against the level")
imported = f.i915_object(16 * MIB, second)
f.i915_gem_object_destroy(imported)
i915_rows.check("memory", SECOND, {"destroyed": 1, "untracked": 1, "live_objects": 10,
                                   "live_bytes": 640 * KIB})

lab.step("the size is what it was created with; an address that comes again is another object")
resized = f.i915_object(8 * KIB, second)
f.i915_gem_object_create(resized)
resized.set("base.size", 12 * KIB)
f.i915_gem_object_create(resized)
i915_rows.check("memory", SECOND, {"created": 12, "created_bytes": 660 * KIB, "live_objects": 11,
                                   "live_bytes": 652 * KIB})
resized.set("base.size", 1 * MIB)
f.i915_gem_object_destroy(resized)
i915_rows.check("memory", SECOND, {"destroyed": 2, "untracked": 1, "live_objects": 10,
                                   "live_bytes": 640 * KIB})

lab.step("bindings, and which of them are rebinds")
vm, vm2 = f.i915_vm(first), f.i915_vm(first)
thrash = f.i915_object(1 * MIB, first)
f.i915_gem_object_create(thrash)
here = f.i915_vma(thrash, vm, size=1 * MIB)
there = f.i915_vma(thrash, vm2, size=2 * MIB)
f.i915_vma_bind(here)
f.i915_vma_bind(there)
i915_rows.check("bindings", FIRST, {"binds": 2, "bound_bytes": 3 * MIB, "rebinds": 0, "unbinds": 0})
for _ in range(5):
    f.i915_vma_unbind(here)
    f.i915_vma_bind(here)
i915_rows.check("bindings", FIRST, {
    "binds": 7, "bound_bytes": 8 * MIB, "rebinds": 5, "rebound_bytes": 5 * MIB, "unbinds": 5,
    "unbound_bytes": 5 * MIB})
# Bound again in another way, without an unbind in between.
f.i915_vma_bind(here)
i915_rows.check("bindings", FIRST, {"binds": 8, "rebinds": 5})
# The unbound one is not the one that is bound.
places = [f.i915_vma(thrash, vm, size=4 * KIB, start=i << 20) for i in range(12)]
f.i915_vma_unbind(there)
for place in places:
    f.i915_vma_bind(place)
row = i915_rows.rows("bindings")[FIRST]
lab.equal(row["binds"], 20, "binds")
# 64 bits for all bindings of an object: one of twelve others may share a bit with `there`.
lab.within(row["rebinds"], 5, 6, "rebinds where others are bound")

lab.step("an object that was there before is followed from its first unbind on")
old = f.i915_object(4 * KIB, second)
old_vma = f.i915_vma(old, f.i915_vm(second), size=8 * KIB)
f.i915_vma_bind(old_vma)
f.i915_vma_unbind(old_vma)
f.i915_vma_bind(old_vma)
i915_rows.check("bindings", SECOND, {"binds": 2, "rebinds": 1, "rebound_bytes": 8 * KIB,
                                     "unbinds": 1, "objects_table_full": 0})
f.i915_gem_object_destroy(old)
i915_rows.check("memory", SECOND, {"destroyed": 3, "untracked": 2, "live_objects": 10})
f.i915_vma_bind(old_vma)
i915_rows.check("bindings", SECOND, {"binds": 3, "rebinds": 1})

lab.step("evictions and shrinks: what was wanted is not what came of it")
f.i915_gem_evict(vm, 3 * MIB, 64 * KIB, fire.MAPPABLE)
f.i915_gem_evict(vm, 1 * MIB, 4 * KIB, 0, times=2)
f.fire("i915", "i915_gem_evict_node", vm, f.memory(256), 0, times=3)
f.fire("i915", "i915_gem_evict_vm", vm2, times=4)
f.i915_gem_shrink(first, 1000, 3)
f.i915_gem_shrink(first, 24, 1)
f.i915_gem_shrink(first, ALL_PAGES, 0x1f)
i915_rows.check("bindings", FIRST, {
    "evictions": 3, "eviction_wanted_bytes": 5 * MIB, "node_evictions": 3, "vm_evictions": 4,
    "shrinks": 3, "shrink_target_pages": 1024, "shrinks_of_all": 1})
i915_rows.check("bindings", SECOND, {"evictions": 0, "shrinks": 0})

lab.step("reads, writes, faults")
f.i915_gem_object_pread(thrash, 4096, 100, times=10)
f.i915_gem_object_pwrite(thrash, 0, 333, times=3)
f.i915_gem_object_pwrite(imported, 0, 1 << 33)
f.i915_gem_object_fault(thrash, 7, True, True, times=5)
f.i915_gem_object_fault(thrash, 8, True, False, times=2)
f.i915_gem_object_fault(thrash, 9, False, False)
i915_rows.check("accesses", FIRST, {
    "preads": 10, "pread_bytes": 1000, "pwrites": 3, "pwrite_bytes": 999, "read_faults": 3,
    "write_faults": 5, "gtt_faults": 7})
i915_rows.check("accesses", SECOND, {"pwrites": 1, "pwrite_bytes": 1 << 33, "preads": 0})

lab.step("requests: in flight per engine, and how long until they were retired")
engines = {(FIRST, "rcs0"): f.i915_engine(RENDER, 0, "rcs0", first),
           (FIRST, "bcs0"): f.i915_engine(COPY, 0, "bcs0", first),
           (SECOND, "rcs0"): f.i915_engine(RENDER, 0, "rcs0", second)}
requests = {key: f.i915_request(engine, context=5, seqno=1, count=20)
            for key, engine in engines.items()}
for i, (key, request) in enumerate(requests.items()):
    f.i915_request_add(request, times=10 + i)
    i915_rows.check("engines", key, {"added": 10 + i, "retired": 0, "in_flight": 10 + i,
                                     "in_flight_max": 10 + i, "untracked": 0,
                                     "retired_within_ns_count": 0})
f.wait(20000000)
for i, (key, request) in enumerate(requests.items()):
    # One more than was added: the level does not become negative, and there is no time.
    f.i915_request_retire(request, times=11 + i)
    i915_rows.check("engines", key, {"added": 10 + i, "retired": 11 + i, "in_flight": 0,
                                     "in_flight_max": 10 + i, "untracked": 1,
                                     "requests_table_full": 0, "retired_within_ns_count": 10 + i})
    lab.check(i915_rows.rows("engines")[key]["retired_within_ns_p50"] >= 20000000,
              "retired sooner than that")
# A new engine at the address of another one.
moved = engines[FIRST, "bcs0"]
moved.set("name", "vcs1")
f.i915_request_add(requests[FIRST, "bcs0"])
i915_rows.check("engines", (FIRST, "vcs1"), {"added": 1, "in_flight": 1})
f.i915_request_retire(requests[FIRST, "bcs0"])

lab.step("the same over netlink")
with Gpumon() as g:
    tables = g.statistics()
    sections = lab.stats()
    for table in "memory", "bindings", "accesses", "engines":
        text = i915_rows.rows(table, sections)
        lab.equal(len(tables["i915." + table]), len(text), "rows of %s in netlink" % table)
        for row in tables["i915." + table]:
            key = (row["device"], row["engine"]) if "engine" in row else row["device"]
            for column, value in row.items():
                if isinstance(value, dict) and "now" in value:
                    is_ = text[key][column], text[key][column + "_max"]
                    lab.equal((value["now"], value["max"]), is_, "%s of %s" % (column, key))
                elif isinstance(value, dict):
                    lab.equal(value["count"], text[key][column + "_count"], "count of " + column)
                elif column in text[key]:
                    lab.equal(value, text[key][column], "%s of %s" % (column, key))
    within = [r for r in tables["i915.engines"]
              if (r["device"], r["engine"]) == (FIRST, "rcs0")][0]["retired_within_ns"]
    lab.check(within["min"] >= 18000000 and within["sum"] >= 180000000, "times %r" % within)

    lab.step("the process that did it")
    ours = {p["pid"]: p for p in lab.stats()["processes"]}[os.getpid()]
    lab.equal(ours["submissions"], 34, "requests of this process")
    lab.equal(ours["faults"], 8, "faults of this process")
    created = sum(r["created_bytes"] for r in i915_rows.rows("memory").values())
    lab.equal(ours["allocated_bytes"], created, "bytes that this process allocated")
    f.i915_request_add(f.i915_request(engines[SECOND, "rcs0"]), irq=True)
    f.i915_gem_object_create(f.i915_object(4 * KIB, second), irq=True)
    ours = {p["pid"]: p for p in lab.stats()["processes"]}[os.getpid()]
    lab.equal((ours["submissions"], ours["allocated_bytes"]), (34, created),
              "of this process, what came in an interrupt is not its own")

    i915_rows.check_probes(f)

    lab.step("single events")
    g.event_ring_set(enabled=1)
    reader = events.Reader()
    request = f.i915_request(engines[FIRST, "rcs0"], context=77, seqno=8)
    vma = f.i915_vma(thrash, vm, size=36 * KIB)
    f.i915_gem_object_create(large)
    f.i915_gem_object_destroy(large)
    f.i915_vma_unbind(vma)
    f.i915_vma_bind(vma, 0x11)
    f.i915_gem_shrink(first, 12, 3)
    f.i915_gem_evict(vm, 5 * MIB, 16 * KIB, 9)
    f.i915_gem_object_pwrite(thrash, 10, 20)
    f.i915_gem_object_pread(thrash, 30, 40)
    f.i915_gem_object_fault(thrash, 6, True, True)
    f.i915_request_add(request)
    f.i915_request_retire(request)
    f.i915_request_retire(request)
    got = [e for e in reader.drain() if GEM_CREATE <= e.event <= REQUEST_RETIRE]
    reader.close()
    g.event_ring_set(enabled=0)
    words = [(e.event, e.context, e.seqno, e.arg, e.arg2) for e in got]
    within = words[-2][3]
    lab.equal(words, [
        (GEM_CREATE, 2 * MIB, 0, 0, 0), (GEM_DESTROY, 2 * MIB, 0, 0, 0),
        (VMA_UNBIND, 36 * KIB, 0, 0, 0), (VMA_BIND, 36 * KIB, 0x11, 1, 0),
        (GEM_SHRINK, 12, 3, 0, 0), (GEM_EVICT, 5 * MIB, 16 * KIB, 9, 0),
        (GEM_PWRITE, 10, 20, 0, 0), (GEM_PREAD, 30, 40, 0, 0), (GEM_FAULT, 6, 1, 1, 0),
        (REQUEST_ADD, 77, 8, 0, 0), (REQUEST_RETIRE, 77, 8, within, 0),
        # Its beginning belonged to an earlier one: an unknown time is not 0.
        (REQUEST_RETIRE, 77, 8, ALL_PAGES, 0)], "events")
    lab.within(within, 1, 10 ** 10, "time to retirement")
    tables = g.statistics()
    for event in got:
        lab.equal((event.pid, event.comm), (os.getpid(), lab.read("/proc/self/comm").strip()),
                  "task of event %d" % event.event)
        table = ("memory" if event.event <= GEM_DESTROY else
                 "bindings" if event.event <= GEM_EVICT else
                 "accesses" if event.event <= GEM_FAULT else "engines")
        labels = [r["device"] for r in tables["i915." + table] if r["row"] == event.ring]
        lab.equal(labels, [FIRST], "device of event %d" % event.event)

lab.step("no device: it is not known which")
f.i915_gem_object_create(f.i915_object(4 * KIB))
i915_rows.check("memory", None, {"created": 1, "live_bytes": 4 * KIB})
f.i915_request_add(f.i915_request(NULL))
i915_rows.check("engines", (None, None), {"added": 1, "in_flight": 1})

lab.step("switched off: levels are unknown, all else stays")
before = i915_rows.rows("engines")[FIRST, "rcs0"]
with Gpumon() as g:
    g.group_set("i915", 0)
i915_rows.check("engines", (FIRST, "rcs0"), {**before, "in_flight": None, "in_flight_max": None})
f.close()
