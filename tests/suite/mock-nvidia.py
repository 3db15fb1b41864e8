#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=once timeout=420
"""The mock of NVIDIA's driver is what the tests of gpumon take it for.

It is compared with facts of the real driver (nvidia_prototypes.txt), its account
with that of the processes that used it, and both with what ftrace saw.
"""
import errno
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import nvidia
import tracefs


def refused(error, *words):
    try:
        nvidia.control(*words)
    except OSError as e:
        lab.equal(e.errno, error, "error of %s" % (words,))
        return
    lab.fail("%s is not refused" % (words,))


# What a variant does not have of its generation.
WITHOUT = {"550-inlined": ("nvidia_suspend",), "580-untraced": ("nvidia_dev_xid",)}


def check_facts(module, variant):
    """Symbols, prototypes and layouts are the driver's."""
    return nvidia.check_facts(module, nvidia.mock_path(module, variant),
                              nvidia.generation(variant), WITHOUT.get(variant, ()))


def check_devices(variant):
    gpus = nvidia.devices()
    lab.equal([g[0] for g in gpus], ["0000:01:00.0", "0000:02:00.0"], "bus addresses")
    for minor, (bus, msix, legacy) in enumerate(gpus):
        folder = "/sys/bus/pci/devices/" + bus
        lab.equal(lab.read(folder + "/vendor").strip(), "0x10de", "vendor of " + bus)
        lab.equal(os.path.basename(os.readlink(folder + "/driver")), "nvidia", "driver of " + bus)
        text = lab.read("/proc/driver/nvidia/gpus/%s/information" % bus)
        lab.check(re.search(r"Device Minor:\s*%d$" % minor, text, re.M), "minor of %s" % bus)
        for irq in msix + [legacy]:
            lab.check(re.search(r"^ *%d:.* nvidia$" % irq, lab.read("/proc/interrupts"), re.M),
                      "irq %d is nvidia's" % irq)
    version = {"535": "535.", "550": "550.", "580": "580."}[nvidia.generation(variant)]
    lab.check(lab.read("/sys/module/nvidia/version").startswith(version), "version")
    return gpus


def check_gone(gpus):
    for bus, msix, legacy in gpus:
        lab.check(not os.path.exists("/sys/bus/pci/devices/" + bus), bus + " is gone")
    lab.check(not re.search(r" nvidia$", lab.read("/proc/interrupts"), re.M), "irqs are gone")
    lab.check(not os.path.exists("/proc/driver/nvidia"), "/proc/driver/nvidia is gone")
    lab.check("nvidia" not in lab.read("/proc/devices"), "the major number is gone")


def check_processes(variant):
    lab.step("%s: processes" % variant)
    ioctl = "nvidia_frontend_unlocked_ioctl" if variant == "535" else "nvidia_unlocked_ioctl"
    functions = ["nvidia_open", "nvidia_close", ioctl, "nvidia_mmap", "nvidia_poll",
                 "nvidia_fault", "nvidia_vma_open", "nvidia_vma_release"]
    if variant == "535":
        functions += ["nvidia_frontend_open", "nvidia_frontend_close", "nvidia_frontend_mmap",
                      "nvidia_frontend_poll", "nvidia_frontend_ioctl", "nvidia_ioctl"]
    begin = time.monotonic_ns()
    with nvidia.Hits(*functions) as hits:
        theirs = nvidia.workload("-p", 3, "-s", 3, "-S", 3000000)
    took = time.monotonic_ns() - begin
    mine = nvidia.account()
    nvidia.check_account(theirs, mine)
    lab.equal(mine["handles"], 0, "handles open when all have ended")
    lab.check(mine["opens"] > 10 and mine["faults"] > 100 and mine["ioctl_errors"] > 10 and
              mine["vma_opens"] > 5 and mine["open_errors"] == 3, "the workload did something")
    # Each of the three is in one command at a time.
    lab.within(mine["ioctl_ns"], theirs["sleep_ns"], 3 * took, "ioctl_ns")
    for function, counters in (("nvidia_open", ("opens", "open_errors")),
                               ("nvidia_close", ("closes",)), (ioctl, ("ioctls",)),
                               ("nvidia_mmap", ("mmaps", "mmap_errors")),
                               ("nvidia_poll", ("polls",)), ("nvidia_fault", ("faults",)),
                               ("nvidia_vma_open", ("vma_opens",)),
                               ("nvidia_vma_release", ("vma_releases",))):
        lab.equal(hits.count[function], sum(mine[c] for c in counters),
                  "calls of %s that ftrace saw" % function)
    if variant == "535":
        for outer, inner in (("frontend_open", "open"), ("frontend_close", "close"),
                             ("frontend_mmap", "mmap"), ("frontend_poll", "poll"),
                             ("frontend_ioctl", "ioctl")):
            lab.equal(hits.count["nvidia_" + outer], hits.count["nvidia_" + inner],
                      "calls of %s through %s" % (inner, outer))

    lab.step("%s: 32-bit programs, failing opens" % variant)
    before = nvidia.account()
    nvidia.control("fail-opens", 0, 1)
    try:
        os.close(os.open("/dev/nvidia0", os.O_RDWR))
        lab.fail("an open that should fail does not")
    except OSError as e:
        lab.equal(e.errno, errno.EIO, "error of the open")
    theirs = nvidia.workload("-p", 1, "-c", 7)
    mine = nvidia.account()
    lab.equal(mine["ioctls"] - before["ioctls"], theirs["ioctls"], "ioctls, compat ones too")
    lab.equal(mine["open_errors"] - before["open_errors"], theirs["open_errors"] + 1,
              "open_errors")

    lab.step("%s: handles that are open, unload refused" % variant)
    process, theirs = nvidia.held_workload("-p", 2)
    lab.equal(theirs["handles"], 4, "handles by the loader")
    mine = nvidia.account()
    for name in theirs:
        if name.startswith("pid/"):
            lab.equal(mine.get(name, 0), theirs[name], name + " while held")
    lab.equal(mine["handles"], 4, "handles while held")
    lab.check(lab.run("rmmod", "nvidia", check_=False).returncode, "rmmod of a module in use")
    theirs = nvidia.released(process)
    mine = nvidia.account()
    for name in theirs:
        if name.startswith("pid/"):
            lab.equal(mine.get(name, 0), theirs[name], name + " at the end")
    lab.equal(mine["handles"], 0, "handles at the end")


def check_interrupts(gpus):
    lab.step("interrupts, one at a time and in bursts")
    before = nvidia.account()
    functions = ("nvidia_isr", "nvidia_isr_msix", "nvidia_isr_kthread_bh",
                 "nvidia_isr_msix_kthread_bh")
    with nvidia.Hits(*functions) as hits:
        nvidia.control("interrupt", 0, 0, 200, 20000)
        nvidia.control("interrupt", 0, 3, 100)
        begin = time.monotonic_ns()
        nvidia.control("interrupt", 1, "legacy", 50, 1000000)
        took = time.monotonic_ns() - begin
        nvidia.control("burst", 1, 1, 300, 50000)
        nvidia.control("handled", 1, 2, 40)
        nvidia.control("unhandled", 1, "legacy", 30)
    mine = nvidia.account()

    def since(name):
        return mine.get(name, 0) - before.get(name, 0)

    def irq(number, name):
        return since("irq/%d/%s" % (number, name))

    (bus0, msix0, _), (bus1, msix1, legacy1) = gpus
    for number, isrs, wakes in ((msix0[0], 200, 200), (msix0[3], 100, 100), (legacy1, 80, 50),
                                (msix1[1], 300, 300), (msix1[2], 40, 0)):
        lab.equal((irq(number, "isrs"), irq(number, "wakes")), (isrs, wakes),
                  "hard halves of irq %d, and those with a threaded one" % number)
        lab.equal(irq(number, "isrs_msix"), 0 if number == legacy1 else isrs, "MSI-X ones")
        lab.equal(irq(number, "bhs_msix"), 0 if number == legacy1 else irq(number, "bhs"),
                  "MSI-X threaded halves")
    for number, bhs in ((msix0[0], 200), (msix0[3], 100), (legacy1, 50), (msix1[2], 0)):
        lab.equal(irq(number, "bhs"), bhs, "threaded halves of irq %d" % number)
        lab.equal(irq(number, "latencies"), bhs, "latencies of irq %d" % number)
        lab.check(bhs == 0 or irq(number, "latency_ns") > 0, "latency of irq %d" % number)
    lab.within(irq(msix1[1], "bhs"), 1, 299, "threaded halves of a burst of 300")
    lab.within(irq(legacy1, "bh_ns"), 50 * 1000000, took, "bh_ns of 50 of 1 ms")
    lab.equal(irq(legacy1, "isrs_unhandled"), 30, "unhandled")
    lab.equal(since("gpu/%s/isrs" % bus0), 300, "isrs of " + bus0)
    lab.equal(since("gpu/%s/isrs" % bus1), 420, "isrs of " + bus1)
    lab.equal(since("isrs"), 720, "isrs")

    lab.equal(hits.count["nvidia_isr"], 720, "calls of nvidia_isr that ftrace saw")
    lab.equal(hits.count["nvidia_isr_msix"], 640, "calls of nvidia_isr_msix")
    lab.equal(hits.count["nvidia_isr_kthread_bh"], 50, "calls of nvidia_isr_kthread_bh")
    lab.equal(hits.count["nvidia_isr_msix_kthread_bh"], since("bhs_msix"),
              "calls of nvidia_isr_msix_kthread_bh")
    # "comm-pid [cpu] d.h.. time: nvidia_isr: (...)": h or H is a hard interrupt.
    hard = threads = 0
    for line in hits.text.splitlines():
        found = re.match(r" *(.+)-\d+ +\[\d+\] (\S+) +[\d.]+: (\w+):", line)
        if not found:
            continue
        comm, flags, function = found.groups()
        if function in ("nvidia_isr", "nvidia_isr_msix"):
            hard += 1
            lab.check(flags[2] in "hH", "%s in hard interrupt: %s" % (function, line))
        else:
            threads += 1
            lab.check(re.match(r"irq/\d+-nvidia", comm) and flags[2] == ".",
                      "%s in a thread: %s" % (function, line))
    lab.equal(hard, 720 + 640, "hard halves in the trace")
    lab.equal(threads, since("bhs"), "threaded halves in the trace")
    refused(errno.ENOENT, "interrupt", 0, 4, 1)
    refused(errno.ENODEV, "interrupt", 2, 0, 1)
    refused(errno.EINVAL, "interrupt", 0)
    refused(errno.EINVAL, "nonsense", 0)


def check_xids(gpus, variant):
    lab.step("Xid errors, in a process and in a hard interrupt")
    event = "nvidia/nvidia_dev_xid"
    traced = variant == "580"
    tracefs.clear()
    if traced:
        tracefs.enable(event)
    with nvidia.Hits("nv_report_error") as hits:
        nvidia.control("xid", 0, 79, "GPU has fallen off the bus.")
        nvidia.control("xid", 1, 13, "Graphics exception: a, b")
        nvidia.control("xid-irq", 1, 13, "Graphics exception: 100%s")
        if not traced:
            nvidia.control("xid", "-", 31, "no PCI device")
    if traced:
        tracefs.enable(event, False)
    mine = nvidia.account()
    lab.equal(mine["xids"], 3 if traced else 4, "Xids")
    lab.equal(hits.count["nv_report_error"], mine["xids"], "calls of nv_report_error")
    lab.equal((mine["xid/79/xids"], mine["xid/13/xids"]), (1, 2), "Xids by code")
    lab.equal(mine["gpu/%s/xid/13/xids" % gpus[1][0]], 2, "Xids 13 of the second GPU")
    if not traced:
        return
    refused(errno.EOPNOTSUPP, "xid", "-", 31, "no PCI device")
    found = re.findall(r"nvidia_dev_xid: Xid \(PCI:(\S+)\): (\d+), pid=(-?\d+), name=(.*?), (.*)",
                       hits.text)
    lab.equal([(bus, code, text) for bus, code, _, _, text in found],
              [(gpus[0][0], "79", "GPU has fallen off the bus."),
               (gpus[1][0], "13", "Graphics exception: a, b"),
               (gpus[1][0], "13", "Graphics exception: 100%s")], "records of nvidia_dev_xid")
    lab.equal(int(found[0][2]), os.getpid(), "pid in the message")


def check_p2p():
    lab.step("peer to peer")
    kib64 = 0x10000
    with nvidia.Hits("nvidia_p2p_get_pages", "nvidia_p2p_put_pages", "nvidia_p2p_dma_map_pages",
                     "nvidia_p2p_free_page_table") as hits:
        nvidia.control("p2p-get", 1, 4 * kib64, 8 * kib64)
        nvidia.control("p2p-get", 2, 16 * kib64, 3 * kib64)
        nvidia.control("p2p-get-persistent", 3, 0, kib64)
        refused(errno.EINVAL, "p2p-get", 4, 4 * kib64 + 1, kib64)
        refused(errno.EEXIST, "p2p-get", 3, 0, kib64)
        nvidia.control("p2p-map", 1, 1)
        nvidia.control("p2p-map", 2, 0)
        refused(errno.EINVAL, "p2p-map", 3)
        refused(errno.EINVAL, "p2p-put", 1)
        lab.equal(nvidia.account()["p2p_live_bytes"], 12 * kib64, "live bytes")
        lab.equal(nvidia.account()["p2p_mapped_bytes"], 11 * kib64, "mapped bytes")
        nvidia.control("p2p-unmap", 1)
        refused(errno.EINVAL, "p2p-put-wrong", 1)
        nvidia.control("p2p-put", 1)
        nvidia.control("p2p-revoke", 2)
        refused(errno.EBUSY, "p2p-revoke", 3)
        nvidia.control("p2p-put", 3)
    mine = nvidia.account()
    for name, n in (("gets", 3), ("gets_persistent", 1), ("get_bytes", 12 * kib64),
                    ("get_errors", 1), ("puts", 2), ("put_bytes", 9 * kib64), ("put_errors", 2),
                    ("frees", 1), ("free_bytes", 3 * kib64), ("live_bytes", 0), ("maps", 2),
                    ("map_bytes", 11 * kib64), ("map_errors", 1), ("unmaps", 1),
                    ("unmap_bytes", 8 * kib64), ("map_frees", 1), ("map_free_bytes", 3 * kib64),
                    ("mapped_bytes", 0)):
        lab.equal(mine["p2p_" + name], n, "p2p_" + name)
        lab.equal(mine["pid/%d/p2p_%s" % (os.getpid(), name)], n, "the process's p2p_" + name)
    lab.equal(hits.count, {"nvidia_p2p_get_pages": 3, "nvidia_p2p_put_pages": 3,
                           "nvidia_p2p_dma_map_pages": 3, "nvidia_p2p_free_page_table": 1},
              "calls that ftrace saw")


def check_power(gpus, variant):
    lab.step("power")
    resume = "nvidia_resume" if nvidia.generation(variant) == "580" else "nvidia_resume.isra.0"
    functions = ["nv_pmops_suspend", "nv_pmops_resume", "nv_pmops_runtime_suspend",
                 "nv_pmops_runtime_resume", resume]
    if variant != "550-inlined":
        functions.append("nvidia_suspend")
    begin = time.monotonic_ns()
    with nvidia.Hits(*functions) as hits:
        nvidia.control("suspend", 0, 4000000)
        nvidia.control("procfs-suspend", 1, 1000000)
        nvidia.control("resume", 0, 2000000)
        refused(errno.EIO, "resume", 1, 0, 1)
        nvidia.control("runtime-suspend", 1, 3000000)
        nvidia.control("runtime-resume", 1)
    took = time.monotonic_ns() - begin
    mine = nvidia.account()
    lab.equal((mine["suspends"], mine["resumes"], mine["resume_errors"]), (2, 2, 1),
              "suspends, resumes, errors")
    lab.equal(mine["gpu/%s/suspends" % gpus[0][0]], 1, "suspends of the first")
    lab.within(mine["suspend_ns"], 5000000, took, "suspend_ns")
    lab.within(mine["resume_ns"], 2000000, took, "resume_ns")
    lab.within(mine["runtime_suspend_ns"], 3000000, took, "runtime_suspend_ns")
    lab.equal((mine["runtime_suspends"], mine["runtime_resumes"]), (1, 1), "runtime transitions")
    should = dict.fromkeys(functions, 1)
    should[resume] = 2
    if "nvidia_suspend" in should:
        should["nvidia_suspend"] = 2
    should["nv_pmops_resume"] = 2
    lab.equal(hits.count, should, "calls that ftrace saw")


def check_uvm(variant):
    lab.step("%s: uvm" % variant)
    nvidia.load_uvm(variant)
    check_facts("nvidia_uvm", variant)

    def control(*words):
        nvidia.control(*words, folder=nvidia.UVM)

    control("fault-gpu", 10, 1, 0)
    control("fault-gpu", 4, 2, 1)
    control("fault-cpu", 3, 1)
    control("migrate", 5, 0, 1, 65536, 0)
    control("migrate", 2, 2, 0, 4096, 6)
    control("revoke", 6, 1, 8192)
    control("evict", 7, 1, 2097152)
    control("other", 2, 0)
    mine = nvidia.account(nvidia.UVM)
    moved = 5 * 65536 + 2 * 4096 + 7 * 2097152
    pid = "pid/%d/" % os.getpid()
    lab.equal(mine, {
        "lost": 0, "faults": 17, "processor/0/faults": 3, "processor/1/faults": 10,
        "processor/2/faults": 4, "faults_write": 3, "faults_duplicate": 4, pid + "faults": 17,
        "migrations": 14, "migrated_bytes": moved, pid + "migrations": 14,
        pid + "migrated_bytes": moved, "from/0/to/1/migrations": 5,
        "from/0/to/1/migrated_bytes": 5 * 65536, "from/2/to/0/migrations": 2,
        "from/2/to/0/migrated_bytes": 2 * 4096, "from/1/to/0/migrations": 7,
        "from/1/to/0/migrated_bytes": 7 * 2097152, "cause/0/migrations": 5,
        "cause/0/migrated_bytes": 5 * 65536, "cause/6/migrations": 2,
        "cause/6/migrated_bytes": 2 * 4096, "cause/4/migrations": 7,
        "cause/4/migrated_bytes": 7 * 2097152, "revocations": 6, "processor/1/revocations": 6,
        "revoked_bytes": 6 * 8192, "evictions": 7, "root_evictions": 7,
        "evicted_bytes": 7 * 2097152, "others": 2}, "account of uvm")
    nvidia.unload("nvidia_uvm")


had_btf = False
for variant in nvidia.VARIANTS:
    lab.step("%s: load" % variant)
    nvidia.load(variant)
    had_btf = check_facts("nvidia", variant)
    gpus = check_devices(variant)
    if variant in ("535", "580"):
        check_processes(variant)
        check_interrupts(gpus)
        check_p2p()
    else:
        nvidia.check_account(nvidia.workload("-p", 1, "-s", 0))
    check_xids(gpus, variant)
    check_power(gpus, variant)
    if variant in nvidia.UVM_VARIANTS:
        check_uvm(variant)
    nvidia.unload()
    check_gone(gpus)

lab.step("parameters")
nvidia.load("580", gpus=3, vectors=0, major=0)
lab.equal([len(g[1]) for g in nvidia.devices()], [0, 0, 0], "vectors of three GPUs")
nvidia.check_account(nvidia.workload("-g", 3, "-p", 3, "-s", 0))
nvidia.unload()
for parameters in ({"gpus": 0}, {"gpus": 9}, {"vectors": 17}):
    done = lab.run("insmod", lab.BUILD + "/tests/mock/nvidia-580/nvidia.ko",
                   *["%s=%s" % p for p in parameters.items()], check_=False)
    lab.check(done.returncode and not lab.loaded("nvidia"), "%s is refused" % parameters)

# Only the headers of 6.1 lack the vmlinux that is needed for BTF of modules.
lab.check(had_btf or lab.LINE == "6.1", "modules have no BTF on this kernel")
if not had_btf:
    print("Prototypes were not compared: modules have no BTF here, for the headers of this "
          "kernel come without its vmlinux.")
