#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel
"""nvidia-uvm: faults, migrations by direction, evictions; sizes where BTF tells the layout."""
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import nvidia
from gpumon_netlink import Gpumon


def control(*words):
    nvidia.control(*words, folder=nvidia.UVM)


def rows(name, *labels):
    return {tuple(row[label] for label in labels): row
            for row in lab.stats().get("nvidia_uvm." + name, [])}


def drive():
    control("fault-gpu", 5, 1, 0)
    control("fault-gpu", 3, 1, 1)
    control("fault-gpu", 2, 3, 0)
    control("fault-cpu", 4, 0)
    control("fault-cpu", 6, 1)
    control("migrate", 7, 0, 1, 65536, 0)
    control("migrate", 2, 1, 0, 4096, 6)
    control("migrate", 3, 1, 2, 2 << 20, 3)
    control("evict", 4, 1, 1 << 20)
    control("revoke", 3, 1, 8192)
    # Ends of blocks and ranges, which are not counted.
    for event in range(6):
        control("other", 2, event)


def check_known():
    """The layout is known: processors, directions and bytes."""
    lab.equal({k: (r["faults"], r["duplicates"], r["cpu_writes"])
               for k, r in rows("faults", "processor").items()},
              {("gpu0",): (8, 3, 0), ("gpu2",): (2, 0, 0), ("cpu",): (10, 0, 6)}, "faults")
    lab.equal({k: (r["migrations"], r["bytes"], r["evictions"], r["evicted_bytes"])
               for k, r in rows("migrations", "from", "to").items()},
              {("cpu", "gpu0"): (7, 7 * 65536, 0, 0),
               ("gpu0", "cpu"): (2 + 4, 2 * 4096 + (4 << 20), 4, 4 << 20),
               ("gpu0", "gpu1"): (3, 6 << 20, 0, 0)}, "migrations")
    lab.equal({k: (r["revocations"], r["bytes"])
               for k, r in rows("revocations", "processor").items()},
              {("gpu0",): (3, 3 * 8192)}, "revocations")


def check_unknown():
    """Without BTF of the module everything is counted, and the details are unknown, not 0."""
    row = rows("faults", "processor")[None,]
    lab.equal((row["faults"], row["duplicates"], row["cpu_writes"]), (20, None, None), "faults")
    row = rows("migrations", "from", "to")[None, None]
    lab.equal((row["migrations"], row["bytes"], row["evictions"], row["evicted_bytes"]),
              (16, None, None, None), "migrations")
    row = rows("revocations", "processor")[None,]
    lab.equal((row["revocations"], row["bytes"]), (3, None), "revocations")


def check_pairs():
    """Each processor, and each pair of them, has its own row."""
    with Gpumon() as g:
        g.reset()
    names = ["cpu"] + ["gpu%d" % n for n in range(8)]
    pairs = [(i, j) for i in range(9) for j in range(9)]
    for i, j in pairs:
        control("migrate", 1 + 9 * i + j, i, j, 4096, 0)
    for i in range(1, 9):
        control("fault-gpu", i, i, 0)
    found = {k: r["migrations"] for k, r in rows("migrations", "from", "to").items()}
    lab.equal(found, {(names[i], names[j]): 1 + 9 * i + j for i, j in pairs}, "migrations")
    found = {k: r["faults"] for k, r in rows("faults", "processor").items() if r["faults"]}
    lab.equal(found, {(names[i],): i for i in range(1, 9)}, "faults")


def is_jump():
    """Only on a kernel whose kprobes can be jumps; the function is not traced."""
    return any("uvm_perf_event_notify+" in line and "[OPTIMIZED]" in line
               for line in lab.read(lab.DEBUGFS + "/kprobes/list").splitlines())


def check_off_and_gone():
    """The driver goes while the kernel makes the jump of a group that was switched off a trap again."""
    if os.path.exists("/proc/sys/debug/kprobes-optimization"):
        lab.until(is_jump, "the kprobe is a jump")
    with Gpumon() as g:
        off = threading.Thread(target=g.group_set, args=("nvidia_uvm", 0))
        off.start()
        nvidia.unload("nvidia_uvm")
        off.join()
        nvidia.load_uvm(variant)
        g.group_set("nvidia_uvm", 1)
    state = {g["group"]: g for g in lab.stats()["groups"]}["nvidia_uvm"]
    lab.equal((state["state"], state["reason"]), ("attached", None), "state of the group")


lab.load_gpumon()
for variant in nvidia.UVM_VARIANTS:
    lab.step(variant)
    with Gpumon() as g:
        g.reset()
    nvidia.load_uvm(variant)
    state = {g["group"]: g for g in lab.stats()["groups"]}["nvidia_uvm"]
    lab.equal(state["state"], "attached", "state of the group")
    drive()
    if nvidia.has_btf("nvidia_uvm"):
        check_known()
    else:
        check_unknown()
    probe = lab.probes(group="nvidia_uvm")["uvm_perf_event_notify"]
    lab.equal((probe["seen"], probe["recorded"]), (39, 39), "events")
    account = nvidia.account(nvidia.UVM)
    lab.equal((account["faults"], account["migrations"], account["revocations"]),
              (20, 16, 3), "the mock's account")

    lab.step("%s: the driver goes under attach, off and on" % variant)
    with Gpumon() as g:
        g.group_set("nvidia_uvm", 0)
        drive()
        lab.equal(lab.probes(group="nvidia_uvm")["uvm_perf_event_notify"]["seen"], 39,
                  "events while off")
        g.group_set("nvidia_uvm", 1)
    nvidia.unload("nvidia_uvm")
    state = {g["group"]: g for g in lab.stats()["groups"]}["nvidia_uvm"]
    lab.equal((state["state"], state["reason"]),
              ("waiting", "module nvidia_uvm is not loaded"), "state of the group, no driver")

lab.step("nine processors")
nvidia.load_uvm(variant)
if nvidia.has_btf("nvidia_uvm"):
    check_pairs()

lab.step("off, and the driver goes and comes at once")
check_off_and_gone()
nvidia.unload("nvidia_uvm")
