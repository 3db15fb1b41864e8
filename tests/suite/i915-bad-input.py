#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest drivers=stay needs=i915 timeout=600
"""Arguments that are no objects: no oops, counted as unreadable, all else counts on.

Also objects that can be read and point to what cannot, and those that end in
front of a page that is not there.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import fire
import i915_rows
import lab

DEVICE = "0000:00:02.0"
KIB = 1 << 10

fire.load_drivers("i915")
lab.load_gpumon()
f = fire.Fire()
device = f.i915_device(DEVICE)
ARGUMENTS = {"i915_vma_bind": (0,), "i915_gem_shrink": (100, 0), "i915_gem_evict": (4096, 1, 0),
             "i915_gem_evict_node": (0, 0), "i915_gem_object_pread": (0, 10),
             "i915_gem_object_pwrite": (0, 10), "i915_gem_object_fault": (0, 1, 1)}

lab.step("nothing of the argument can be read")
dropped = {}
for name in i915_rows.TRACEPOINTS:
    for bad in fire.BAD:
        f.fire("i915", name, bad, *ARGUMENTS.get(name, ()), times=3)
    dropped[name] = {"unreadable": 3 * len(fire.BAD)}
i915_rows.check_probes(f, dropped)
for table in "memory", "bindings", "accesses", "engines":
    lab.equal(i915_rows.rows(table), {}, "rows of %s after nothing but bad arguments" % table)

lab.step("objects that are cut off")
short = f.new("i915", "struct drm_i915_gem_object", readable=16)
short.set("base.dev", device.at("drm"))
f.i915_gem_object_create(short)
dropped["i915_gem_object_create"]["unreadable"] += 1
f.i915_gem_object_destroy(short)
i915_rows.check("memory", DEVICE, {"created": 0, "destroyed": 1, "untracked": 1,
                                   "live_objects": None, "live_bytes": None})
i915_rows.check_probes(f, dropped)

lab.step("what can be read, and leads nowhere: it counts, for a device that is not known")
n = len(fire.BAD)
for bad in fire.BAD:
    gem = f.i915_object(4 * KIB).set("base.dev", bad)
    f.i915_gem_object_create(gem)
    f.i915_gem_object_pwrite(gem, 0, 5)
    f.i915_gem_object_destroy(gem)
    vma = f.i915_vma(gem, size=8 * KIB).set("obj", bad)
    f.i915_vma_bind(vma)
    f.i915_vma_unbind(vma)
    f.i915_vma_bind(vma)
    vm = f.i915_vm().set("i915", bad)
    f.i915_gem_evict(vm, 4 * KIB)
    request = f.i915_request(bad)
    f.i915_request_add(request)
    f.i915_request_retire(request)
    # The device has no struct device, or one without a name.
    nameless = f.i915_device("x")
    nameless.set("drm.dev", bad)
    f.i915_gem_shrink(nameless, 1)
    nameless.set("drm.dev", f.new("vmlinux", "struct device", **{"kobj.name": bad}))
    f.i915_gem_shrink(nameless, 1)
i915_rows.check("memory", None, {
    "created": n, "created_bytes": 4 * KIB * n, "destroyed": n, "untracked": 0,
    "live_objects": 0, "live_bytes": 0})
i915_rows.check("accesses", None, {"pwrites": n, "pwrite_bytes": 5 * n})
i915_rows.check("bindings", None, {
    "binds": 2 * n, "bound_bytes": 16 * KIB * n, "unbinds": n, "rebinds": 0, "evictions": n,
    "shrinks": 2 * n, "shrink_target_pages": 2 * n})
i915_rows.check("engines", (None, None), {"added": n, "retired": n, "in_flight": 0,
                                          "untracked": 0})
i915_rows.check_probes(f, dropped)

lab.step("an engine that has a name, and a device that has none")
engine = f.i915_engine(device=device, name="rcs0")
engine.set("i915", fire.POISON)
f.i915_request_add(f.i915_request(engine), times=2)
# The same address twice: the end of the first one was missed.
i915_rows.check("engines", (None, "rcs0"), {"added": 2, "in_flight": 1})

lab.step("names that are too long, or cut off")
long = f.i915_device("x" * 100)
f.i915_gem_shrink(long, 1)
i915_rows.check("bindings", "x" * 31, {"shrinks": 1})

lab.step("all that is right counts on")
f.i915_gem_object_create(f.i915_object(4 * KIB, device), times=1)
i915_rows.check("memory", DEVICE, {"created": 1, "live_objects": 1, "live_bytes": 4 * KIB})
i915_rows.check_probes(f, dropped)

lab.step("more devices than fit are counted as lost")
for i in range(40):
    f.i915_gem_shrink(f.i915_device("many%d" % i), 1)
p = i915_rows.probes()["i915_gem_shrink"]
found = [d for d in i915_rows.rows("bindings") if d and d.startswith("many")]
lab.check(5 <= len(found) <= 15, "rows of many devices: %d" % len(found))
lab.equal(p["table_full"], 40 - len(found), "shrinks of devices that did not fit")
lab.equal(p["seen"], p["recorded"] + sum(p[d] for d in i915_rows.DROPS), "sum")
f.close()
