# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What gpumon says that it holds, what the kernel's own accounts say, and what memory.md says."""
import os
import re
import time

from gpumon_netlink import Gpumon
from lab import BUILD, check, equal, fail, load_gpumon, read, rmmod, run, stats, within

# Other memory that the kernel counts: dentries and inodes of debugfs, kobjects, netlink's tables.
NOISE_KIB = 192
TOLERANCE = 0.02
SMALL = {"max_rings": 1, "max_processes": 8, "max_jobs": 8}
# The part whose size a parameter sets, and its largest value.
# The default and the largest value of each parameter.
PARAMETERS = {"max_rings": (64, 1024), "max_processes": (1024, 65536), "max_jobs": (8192, 1048576)}


def meminfo():
    return {k: int(v) for k, v in re.findall(r"(?m)^([\w()]+):\s+(\d+)", read("/proc/meminfo"))}


def kernel():
    """KiB in the accounts that include gpumon's memory: slab (with allocations too large for its
    caches), vmalloc, per CPU.
    """
    fields = meminfo()
    return sum(fields[k] for k in ("SUnreclaim", "VmallocUsed", "Percpu"))


def waiting():
    """KiB that were freed and are kept for the same processor; for a large ring, tens of MiB from
    6.12 on.
    """
    pages = sum(map(int, re.findall(r"(?m)^\s+count:\s+(\d+)", read("/proc/zoneinfo"))))
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


def still():
    """(meminfo, KiB that wait), of one moment. Those that wait become free by and by, 8 MiB at
    once: what is read on two sides of that is in neither."""
    for _ in range(100):
        before = waiting()
        fields = meminfo()
        if abs(waiting() - before) <= NOISE_KIB / 2:
            return fields, before
    return fail("pages never stay where they are long enough to be counted")


def in_no_account(fields=None, wait=None):
    """KiB that are not free and that the kernel has in no account: pages that were taken as they
    are, such as those of the event ring. Free are also those that wait. Of still(), or now."""
    if fields is None:
        fields, wait = still()
    return fields["MemTotal"] - wait - sum(
        fields[k] for k in ("MemFree", "Buffers", "Cached", "SwapCached", "AnonPages", "Slab",
                            "KernelStack", "PageTables", "VmallocUsed", "Percpu"))


def settle():
    """Wait until delayed frees are done and caches are dropped."""
    run("sync")
    for _ in range(2):
        with open("/proc/sys/vm/drop_caches", "w") as f:
            f.write("3")
        time.sleep(0.3)


def kretprobe_pages():
    """Pages that the kernel holds for calls of kretprobes that may be under way, of all of them."""
    return sum(map(int, re.findall(r"(?:objpool|rethook|kretprobe)\S* pages=(\d+)",
                                   read("/proc/vmallocinfo"))))


def parts():
    return {row["part"]: row["bytes"] for row in stats()["memory"]}


def load(parameters):
    """(memory_bytes, what the kernel's accounts grew by in KiB, parts), of a module that is gone
    again when this comes back."""
    settle()
    before = kernel()
    load_gpumon(**parameters)
    settle()
    grown = kernel() - before
    held, by_part = stats()["gpumon"]["memory_bytes"], parts()
    equal(sum(by_part.values()), held, "memory_bytes against the sum of its parts")
    with Gpumon() as g:
        equal(g.info()["memory_bytes"], held, "memory_bytes of netlink")
    rmmod("gpumon")
    return held, grown, by_part


def core_figures():
    """{"whole", "core", "memory"}: bytes that memory.md says of the two modules."""
    rows = dict(re.findall(r"(?m)^\| (code of the whole module|code of the small core|`memory_bytes` of the small core)"
                           r" \| ([\d,]+) \|$",
                           read(BUILD + "/Documentation/reference/memory.md")))
    equal(len(rows), 3, "figures of the small core in memory.md")
    return {name: int(rows[row].replace(",", "")) for name, row in
            (("whole", "code of the whole module"), ("core", "code of the small core"),
             ("memory", "`memory_bytes` of the small core"))}


def compare(what, held, grown):
    """Bytes reported by stats against KiB of the kernel."""
    said = held / 1024
    print("    %-60s stats %8d KiB  kernel %8d KiB  (%+.1f%%)" %
          (what, said, grown, 100 * (grown - said) / max(said, 1)), flush=True)
    within(grown, said * (1 - TOLERANCE) - NOISE_KIB, said * (1 + TOLERANCE) + NOISE_KIB,
           "KiB that the kernel's accounts grew by, %s" % what)


def compare_figures(default, measured):
    """{parameter: bytes of a module that was loaded with its largest value}, against the table."""
    cpus = os.sysconf("SC_NPROCESSORS_ONLN")
    figures = {name: (int(once.replace(",", "")), int(each.replace(",", "")))
               for name, once, each in
               re.findall(r"(?m)^\| `(max_\w+)` \|[^|]*\| ([\d,]+) \| ([\d,]+) \|",
                          read(BUILD + "/Documentation/reference/memory.md"))}
    equal(sorted(figures), sorted(PARAMETERS), "parameters in the table")
    check(measured, "nothing is measured")
    for name, held in measured.items():
        few, most = PARAMETERS[name]
        each = (held - default) / (most - few)
        once, percpu = figures[name]
        said = once + percpu * cpus
        print("    %s: %.0f bytes each with %d CPUs, the table says %d" % (name, each, cpus, said))
        within(each, said * (1 - TOLERANCE), said * (1 + TOLERANCE),
               "bytes for each one of %s" % name)
