#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest tool
"""The group switched off and on under load: nothing counts while off, no depth goes astray."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
from gpumon_netlink import Gpumon, NetlinkError

RING = "mock_gpu.0", "ring0"
lab.load(devices=1, rings=2, hw_limit=4, service_ns=20000, timeout_ms=0)


def numbers():
    """All counters."""
    sections = lab.stats()
    return ([[r[c] for c in ("queued", "run", "done", "errors", "killed", "untracked")]
             for r in lab.rings(sections).values()],
            [[p["seen"], p["recorded"]] for p in lab.probes(sections).values()],
            [[p["pid"], p["jobs"]] for p in sections["processes"]])


with Gpumon() as g:
    lab.step("nothing counts while it is off")
    lab.submit("-r", "0,1", "-n", 20, "-w")
    lab.check_counts()
    g.group_set("drm_sched", 0)
    before = numbers()
    sections = lab.stats()
    lab.equal(sections["groups"][0]["state"], "off", "state of the group")
    lab.check("gpumon-user set" in sections["groups"][0]["reason"], "what to do is said")
    for name, p in lab.probes(sections).items():
        lab.equal((p["state"], p["reason"]), ("off", "switched off"), "state of " + name)
    lab.equal((g.groups()[0]["enabled"], g.groups()[0]["state"]), (0, 0), "in netlink")
    g.group_set("drm_sched", 0)
    lab.submit("-r", "0,1", "-n", 20, "-w")
    lab.wait_idle()
    lab.equal(numbers(), before, "numbers while off")

    lab.step("off and on while jobs are on their way")
    g.group_set("drm_sched", 1)
    process = lab.held("-n", 30, "-b", 30)
    lab.until(lambda: lab.rings()[RING]["hw_depth"] == 4, "4 on the hardware")
    g.group_set("drm_sched", 0)
    row = lab.rings()[RING]
    lab.equal((row["queue_depth"], row["hw_depth"], row["live"]), (None, None, None),
              "levels while off")
    g.group_set("drm_sched", 1)
    row = lab.rings()[RING]
    lab.equal((row["queue_depth"], row["hw_depth"]), (None, None), "depths without a baseline")
    lab.release(process)
    lab.wait_idle()
    row = lab.rings()[RING]
    lab.equal((row["queue_depth"], row["hw_depth"]), (None, None), "depths, still none queued")
    lab.equal(row["untracked"], 56, "26 runs and 30 ends of unknown jobs")
    lab.submit("-n", 5, "-w")
    lab.wait_idle()
    row = lab.rings()[RING]
    lab.equal((row["queue_depth"], row["hw_depth"], row["untracked"]), (0, 0, 56), "depths again")

    lab.step("as fast as it goes, under load, with failures")
    load = [lab.submitter("-r", "0,1", "-n", 100000, "-b", 4, "--sync", *extra)
            for extra in ([], ["--inline"], ["--fail", "fence", "--fail-every", 3])]
    end = time.monotonic() + 6
    turns, counted = 0, 0
    # On a slow machine, until some events were counted.
    while time.monotonic() < end or counted < 3 and turns < 100:
        before = sum(r["queued"] for r in lab.rings().values())
        g.group_set("drm_sched", 1)
        lab.equal(lab.stats()["groups"][0]["state"], "attached", "state when on")
        for key, row in lab.rings().items():
            lab.within(row["queue_depth"] or 0, 0, 12, "queue_depth of %s" % (key,))
            lab.within(row["hw_depth"] or 0, 0, 12, "hw_depth of %s" % (key,))
        g.group_set("drm_sched", 0)
        counted += sum(r["queued"] for r in lab.rings().values()) > before
        turns += 1
    print("%d times on and off, %d of them counted jobs" % (turns, counted))
    lab.check(counted >= 3, "too few turns counted jobs")
    lab.check(all(p.poll() is None for p in load), "the load ended early")
    for p in load:
        p.terminate()
        p.wait(30)
    lab.wait_idle()
    lab.check_sums()

    lab.step("and it is whole again")
    g.group_set("drm_sched", 1)
    g.reset()
    mock = lab.account()
    lab.submit("-r", "0,1", "-n", 100, "-b", 5, "-w")
    now = lab.wait_idle()
    for key, row in lab.rings().items():
        for column in "queued", "run", "done", "errors":
            lab.equal(row[column], now[key][column] - mock[key][column],
                      "%s of %s" % (column, key))
        lab.equal((row["queue_depth"], row["hw_depth"], row["untracked"]), (0, 0, 0),
                  "depths of %s" % (key,))

    lab.step("a group that does not exist, a value that is none")
    for name, enabled in ("drm_sched_", 1), ("", 0), ("drm_sched", 2):
        try:
            g.group_set(name, enabled)
        except NetlinkError as e:
            lab.check(e.message, "no message for %r %d" % (name, enabled))
        else:
            lab.fail("%r %d was taken" % (name, enabled))

lab.step("off at load")
lab.rmmod("gpumon")
lab.load_gpumon(drm_sched=0)
lab.submit("-n", 10, "-w")
lab.wait_idle()
lab.equal((lab.stats()["groups"][0]["state"], lab.rings()), ("off", {}), "with drm_sched=0")
