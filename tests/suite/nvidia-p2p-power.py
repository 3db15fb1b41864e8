#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest
"""NVIDIA's p2p pages and their level; suspend, resume and runtime transitions."""
import collections
import errno
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import events
import lab
import nvidia
import nvidia_stats
from gpumon_netlink import Gpumon

PAGE = 0x10000


def refused(*words):
    try:
        nvidia.control(*words)
    except OSError:
        return
    lab.fail("%s was not refused" % (words,))


def p2p(peer=None):
    return nvidia_stats.table("p2p", "peer").get(peer)


def check_p2p(level=True):
    account = nvidia.account()
    rows = nvidia_stats.table("p2p", "peer")
    row = rows[None]
    for ours, theirs in {"gets": "p2p_gets", "gets_failed": "p2p_get_errors",
                         "bytes": "p2p_get_bytes", "puts": "p2p_puts",
                         "puts_failed": "p2p_put_errors", "frees": "p2p_frees"}.items():
        lab.equal(row[ours], account.get(theirs, 0), ours)
    if level:
        lab.equal(row["live_bytes"], account["p2p_live_bytes"], "live bytes")
    for ours, theirs in {"dma_maps": "p2p_maps", "dma_maps_failed": "p2p_map_errors",
                         "dma_bytes": "p2p_map_bytes", "dma_unmaps": "p2p_unmaps"}.items():
        lab.equal(sum(r[ours] for r in rows.values()), account.get(theirs, 0), ours)
    lab.equal([r["gets_untracked"] + r["dma_maps_untracked"] for r in rows.values()],
              [0] * len(rows), "untracked")
    lab.check_sums()


lab.step("pages are got, mapped, put, taken away")
nvidia.load("580")
lab.load_gpumon()
nvidia.control("p2p-get", 1, PAGE, 3 * PAGE)
nvidia.control("p2p-get-persistent", 2, 16 * PAGE, 5 * PAGE)
nvidia.control("p2p-get", 3, 32 * PAGE, 7 * PAGE)
refused("p2p-get", 4, 1, PAGE)
check_p2p()
lab.equal((p2p()["live_bytes"], p2p()["live_bytes_max"]), (15 * PAGE, 15 * PAGE), "live bytes")
nvidia.control("p2p-map", 1, 0)
nvidia.control("p2p-map", 2, 1)
refused("p2p-map", 3)
nvidia.control("p2p-unmap", 1)
check_p2p()
first, second = (gpu[0] for gpu in nvidia.devices())
lab.equal((p2p(first)["dma_maps"], p2p(first)["dma_bytes"], p2p(first)["dma_unmaps"]),
          (1, 3 * PAGE, 1), "mapped for the first GPU")
lab.equal((p2p(second)["dma_maps"], p2p(second)["dma_bytes"], p2p(second)["dma_unmaps"]),
          (1, 5 * PAGE, 0), "mapped for the second GPU")
refused("p2p-put-wrong", 1)
lab.equal(p2p()["live_bytes"], 15 * PAGE, "live bytes after a put that failed")
nvidia.control("p2p-put", 1)
nvidia.control("p2p-revoke", 3)
check_p2p()
lab.equal(p2p()["live_bytes"], 5 * PAGE, "live bytes, pages of one are left")

lab.step("a page table's address is used again before its put returns")
nvidia.control("p2p-get", 7, 128 * PAGE, 3 * PAGE)
nvidia.control("p2p-put-reused", 7, 8, 192 * PAGE, 2 * PAGE)
check_p2p()
lab.equal(p2p()["live_bytes"], 7 * PAGE, "live bytes, with those of the second use")
nvidia.control("p2p-map", 8, 0)
check_p2p()
nvidia.control("p2p-unmap", 8)
refused("p2p-put-wrong", 8)
lab.equal(p2p()["live_bytes"], 7 * PAGE, "live bytes after its put failed")
nvidia.control("p2p-put", 8)
check_p2p()
lab.equal(p2p()["live_bytes"], 5 * PAGE, "live bytes after its put")

lab.step("what was got before is not put from the level")
with Gpumon() as g:
    g.group_set("nvidia", 0)
    nvidia.control("p2p-get", 5, 64 * PAGE, 9 * PAGE)
    g.group_set("nvidia", 1)
lab.equal(p2p()["live_bytes"], None, "a level without a baseline")
nvidia.control("p2p-get", 6, 96 * PAGE, PAGE)
nvidia.control("p2p-map", 5, 0)
lab.equal(p2p(first)["dma_maps_untracked"], 1, "a mapping whose size is not known")
nvidia.control("p2p-unmap", 5)
nvidia.control("p2p-unmap", 2)
for number in 5, 2:
    nvidia.control("p2p-put", number)
lab.equal(p2p()["live_bytes"], PAGE, "live bytes of what was seen")
nvidia.control("p2p-put", 6)
lab.equal(p2p()["live_bytes"], 0, "live bytes, nothing is left")
lab.rmmod("gpumon")
nvidia.unload()

KINDS = {"suspend": "suspends", "resume": "resumes", "runtime_suspend": "runtime_suspends",
         "runtime_resume": "runtime_resumes"}


def power():
    with Gpumon() as g:
        return {row["device"]: row for row in g.statistics()["nvidia.power"]}


class Transitions:
    """Transitions of the GPUs, and how long they took from here: {(GPU, kind): nanoseconds}. What
    gpumon and the mock measure lies within that, also if the VM stands still meanwhile.
    """

    def __init__(self):
        self.took = collections.Counter()

    def make(self, gpu, word, *numbers, call=nvidia.control):
        begin = time.monotonic_ns()
        call(word, gpu, *numbers)
        kind = word.replace("procfs-", "").replace("-", "_")
        self.took[gpu, kind] += time.monotonic_ns() - begin


def check_power(kinds, failures, took):
    account = nvidia.account()
    rows = power()
    for gpu, (address, *_) in enumerate(nvidia.devices()):
        for kind in kinds:
            def mock(name):
                return account.get("gpu/%s/%s" % (address, name), 0)
            calls = mock(kind + "s")
            histogram = rows[address][kind + "_ns"]
            lab.equal((rows[address][kind + "s"], histogram["count"]), (calls, calls),
                      "%ss of %s" % (kind, address))
            lab.within(histogram["sum"], mock(kind + "_ns"), took[gpu, kind], "time of %ss" % kind)
            if kind in failures:
                lab.equal(rows[address][kind + "s_failed"], failures[kind],
                          "failed %ss of %s" % (kind, address))
    lab.check_sums()
    return rows


# Numbers and words in kmod/uapi/gpumon_event.h.
SUSPEND, RESUME = 43, 44
ALL = (1 << 64) - 1


def results():
    """{event: the results of all that were recorded}"""
    found = {}
    reader = events.Reader()
    for event in events.real(reader.drain()):
        found.setdefault(event.event, set()).add(event.context)
    reader.close()
    return found


for variant in "580", "550", "550-inlined":
    lab.step("power of %s" % variant)
    nvidia.load(variant)
    lab.load_gpumon()
    probes = nvidia_stats.probes()
    with Gpumon() as g:
        g.event_ring_set(1)
    transitions = Transitions()
    for gpu in 0, 1:
        transitions.make(gpu, "suspend", 3000000)
        transitions.make(gpu, "resume", 2000000)
        transitions.make(gpu, "suspend", 5000000)
        transitions.make(gpu, "resume")
        transitions.make(gpu, "suspend", 0, 1, call=refused)
        transitions.make(gpu, "resume", 0, 1, call=refused)
        transitions.make(gpu, "runtime-suspend", 1000000)
        transitions.make(gpu, "runtime-resume", 1000000)
        transitions.make(gpu, "runtime-suspend", 0, 1, call=refused)
    failed = 0xffff if variant != "550-inlined" else ALL + 1 - errno.EIO
    lab.equal(results(), {SUSPEND: {0, failed}, RESUME: {0, 0xffff} if variant == "580" else {ALL}},
              "results in the events")
    failures = {"suspend": 1, "resume": 1, "runtime_suspend": 1, "runtime_resume": 0}
    if variant != "580":
        # The function has another prototype, so its arguments and its result are not used.
        failures["resume"] = None
        lab.equal(probes["nvidia_resume"]["reason"],
                  "nvidia_resume.isra.0: arguments not trusted, counted only", "nvidia_resume")
    check_power(KINDS, failures, transitions.took)
    if variant == "550-inlined":
        lab.equal((probes["nvidia_suspend"]["state"], probes["nvidia_suspend"]["reason"],
                   probes["nv_pmops_suspend"]["state"]),
                  ("missing", "nv_pmops_suspend is used instead", "attached"), "nvidia_suspend")
    else:
        lab.equal((probes["nvidia_suspend"]["state"], probes["nv_pmops_suspend"]["reason"]),
                  ("attached", "not needed, nvidia_suspend is used"), "nvidia_suspend")
        transitions.make(0, "procfs-suspend", 4000000)
        check_power(KINDS, failures, transitions.took)
    lab.rmmod("gpumon")
    nvidia.unload()
