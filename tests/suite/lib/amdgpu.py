# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What the tests of group amdgpu share: rows by their labels, devices, buffers of a device."""
import lab

LABELS = {"domains": ("device", "domain"), "moves": ("device", "from", "to"), "vm": ("device",),
          "flushes": ("ring", "hub", "vmid"), "rings": ("device", "ring"),
          "interrupts": ("device", "source", "name"), "vm_faults": ("device",),
          "resets": ("device",)}

TRACEPOINTS = ("amdgpu_bo_create", "amdgpu_bo_move", "amdgpu_vm_bo_map", "amdgpu_vm_bo_unmap",
               "amdgpu_vm_flush", "amdgpu_cs", "amdgpu_cs_ioctl", "amdgpu_sched_run_job",
               "amdgpu_ib_pipe_sync", "amdgpu_iv")


def tables(sections=None):
    """{table: {labels: {column: number}}} of stats."""
    sections = sections or lab.stats()
    found = {}
    for table, labels in LABELS.items():
        found[table] = {}
        for row in sections["amdgpu." + table]:
            # A name of None is "-", which the reader takes for an unknown number.
            key = tuple("-" if row[l] is None else str(row[l]) for l in labels)
            lab.check(key not in found[table], "%s has %s twice" % (table, key))
            found[table][key] = {c: v for c, v in row.items() if c not in labels}
    return found


def check_row(rows, key, **columns):
    """These columns of a row have these numbers."""
    lab.check(key in rows, "no row %s in %s" % (key, sorted(rows)))
    lab.equal({c: rows[key][c] for c in columns}, columns, "row %s" % (key,))


def check_all(rows, expected):
    """The rows are these and no others; of each the given columns."""
    lab.equal(sorted(rows), sorted(expected), "rows")
    for key, columns in expected.items():
        check_row(rows, key, **columns)


def probes(group="amdgpu", sections=None):
    """{name: row} of the probes of a group."""
    return {p["probe"]: p for p in (sections or lab.stats())["probes"] if p["group"] == group}


def state(group="amdgpu"):
    return [g["state"] for g in lab.stats()["groups"] if g["group"] == group][0]


def check_account(account, group="amdgpu", names=TRACEPOINTS):
    """Every event that reached a probe was seen, and seen is recorded plus dropped."""
    rows = probes(group)
    for name in names:
        p = rows[name]
        fires, probed = account.get(("amdgpu", name), (0, 0))
        lab.equal((p["state"], p["seen"], fires), ("attached", probed, probed), name)
        lab.equal(p["seen"], p["recorded"] + sum(p[d] for d in lab.DROPS),
                  "seen of %s" % name)


def drm(device):
    """Address of the drm_device in an amdgpu_device, for a buffer."""
    return device.at("ddev")


def buffer(f, device, **arguments):
    return f.amdgpu_bo(**arguments).set("tbo.base.dev", drm(device))
