# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What the tests of group i915 share: its rows, and that its probes' sums are right."""
import lab

PROBES = ("i915_gem_object_create", "i915_gem_object_destroy", "i915_vma_bind", "i915_vma_unbind",
          "i915_gem_shrink", "i915_gem_evict", "i915_gem_evict_node", "i915_gem_evict_vm",
          "i915_gem_object_pread", "i915_gem_object_pwrite", "i915_gem_object_fault",
          "i915_request_add", "i915_request_retire", "i915_driver_probe")
TRACEPOINTS = PROBES[:-1]
DROPS = ("table_full", "recursion", "unreadable", "missed", "no_memory")
UNKNOWN = None


def rows(table, sections=None):
    """{device: row} or, of the engines, {(device, engine): row}."""
    found = {}
    for row in (sections or lab.stats())["i915." + table]:
        key = (row["device"], row["engine"]) if "engine" in row else row["device"]
        lab.check(key not in found, "%s has %s twice" % (table, key))
        found[key] = row
    return found


def check(table, key, should, sections=None):
    """The columns that are named have these values."""
    found = rows(table, sections)
    lab.check(key in found, "no row %s in %s: %s" % (key, table, sorted(map(str, found))))
    for column, value in should.items():
        lab.equal(found[key][column], value, "%s of %s in %s" % (column, key, table))


def probes(sections=None):
    """{name: row} of the group's own."""
    return {p["probe"]: p for p in (sections or lab.stats())["probes"] if p["group"] == "i915"}


def check_probes(fire, dropped=None, missed=()):
    """Each event that was fired was seen, and was recorded or dropped for a cause.

    dropped: {probe: {cause: number}}, the others dropped none.
    """
    account = fire.account()
    found = probes()
    for name in TRACEPOINTS:
        p = found[name]
        lab.equal(p["state"], "attached", "state of %s, %s" % (name, p["reason"]))
        fired = account.get(("i915", name), (0, 0))[1]
        if name not in missed:
            lab.equal(p["seen"], fired, "seen of " + name)
        lab.equal(p["seen"], p["recorded"] + sum(p[d] for d in DROPS), "sum of " + name)
        for cause in DROPS:
            lab.equal(p[cause], (dropped or {}).get(name, {}).get(cause, 0),
                      "%s of %s" % (cause, name))
