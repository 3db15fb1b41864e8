#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest tool timeout=400 deep-timeout=3600
"""Every registration of gpumon is made to fail in turn: at load, when a group or the event ring
is switched on, and when a driver comes later.

Each failure is reported, with what to do; it unwinds or leaves a reduced form that says so; what was
counted stays; and what comes next works, and counts exactly. The module is one that was made with
GPUMON_DEBUG=1 (kmod/core/fault.h). GPUMON_DEEP=1: with all drivers, and a plain load after each.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import faults
import lab
from faults import DEBUG_MODULE, DEEP, check_nothing_left, group_state, parameter, reasons, work
from gpumon_netlink import Gpumon, NetlinkError

log = faults.Log()
failed = []


def first_of_kind(where, name, kinds=set()):
    """Whether this kind of registration fails there for the first time. Always true if there is
    time.
    """
    kind = where, name.split()[0]
    if not DEEP and kind in kinds:
        return False
    kinds.add(kind)
    return True


def made_to_fail(where):
    """The registration that failed, for the report."""
    name = parameter("failed_registration")
    failed.append((where, name))
    return name


def report():
    for where in dict.fromkeys(w for w, _ in failed):
        names = [n for w, n in failed if w == where]
        print("%-28s %3d: %s" % (where, len(names), ", ".join(names)))
    print("%d registrations were made to fail" % len(failed))


lab.step("an ordinary module has nothing of all this")
with open(lab.BUILD + "/gpumon.ko", "rb") as f:
    ordinary = f.read()
with open(DEBUG_MODULE, "rb") as f:
    debug = f.read()
for word in b"fail_registration", b"gpumon_fault", b"is made to fail", b"(to find it)\0":
    lab.check(word in debug, "the debug module has no %r" % word)
    lab.equal(ordinary.count(word), 0, "%r in the ordinary module" % word)
symbols = lab.run("modinfo", "-F", "parm", lab.BUILD + "/gpumon.ko").stdout
lab.check("fail_" not in symbols and "registration" not in symbols, symbols)

if DEEP:
    for driver in "amdgpu", "i915":
        lab.run("modprobe", driver, check_=False, timeout=1200)
lab.load_mock(devices=1, rings=2)
lab.submit("-r", "0,1", "-n", 4, "-w")

# What only groups ask for that are off; it is read when they are switched on.
UNASKED = ("dma_fence", "mock_gpu") + (() if DEEP else ("drm", "vmlinux"))

# Memory for tables: of a group, or of what is there from the load on.
TABLES = re.compile("statistics_allocate|gpumon_counters_copy")

# The message for each failure. None: gpumon is loaded all the same, see reduced().
REFUSED = [(r"gpumon_(probe|ring|process|usage|job|groups)_init|gpumon_counters_copy",
            "no memory for the statistics, choose"),
           (r"cpuhp_setup_state", r"cannot follow CPUs, cpuhp_setup_state\(\) failed with error -12"),
           (r"genl_register_family", "cannot register the generic netlink family, error -12"),
           (r"register_(tracepoint_)?module_notifier",
            r"cannot follow modules, register_(tracepoint_)?module_notifier\(\) failed with error -12")]


def refused(n, *parameters):
    """A load in which registration n fails. Returns the log, None if it was loaded."""
    log.lines()
    done = lab.run("insmod", DEBUG_MODULE, "fail_registration=%d" % n, *parameters, check_=False)
    lines = log.lines()
    hook = [l for l in lines if "debug: registration %d, " % n in l]
    ours = [l for l in lines if l.startswith("gpumon: ") and l not in hook and
            not re.search("taint|signature", l)]
    if not done.returncode:
        return None, ours
    lab.equal(len(hook), 1, "lines of the hook")
    name = re.search(r"registration \d+, (.*), is made to fail", hook[0]).group(1)
    failed.append(("load", name))
    return name, ours


def tried_again(name, found, when):
    """Is nothing amiss, because a probe that failed is tried again at the next look at its module?

    There are several: when gpumon is loaded, and of a module that comes both notifiers tell.
    """
    if found or not ("register" in name or TABLES.match(name)):
        return False
    with Gpumon() as g:
        on = {x["name"] for x in g.groups() if x["enabled"]}
        rows = [p for p in g.probe_rows() if p["group"] in on]
    if "register" in name:
        probe = re.split("[ :]", name)[-1]
        lab.equal([p["state"] for p in rows if p["probe"] == probe], ["attached"],
                  "%s, tried again, %s" % (probe, when))
    lab.equal(group_state("drm_sched"), ("attached", None), "drm_sched " + when)
    for group in on:
        lab.check(group_state(group)[0] in ("attached", "waiting"),
                  "%s is %r %s" % (group, group_state(group), when))
    return True


def reduced(name, lines):
    """A load that succeeds with something missing: where it is reported, and how it comes back."""
    when = "without " + name
    if name.startswith("debugfs"):
        lab.equal(os.path.exists(lab.DEBUGFS + "/gpumon"), False, "the folder in debugfs " + when)
        lab.equal(len(lines), 1, "lines in the log %s: %r" % (when, lines))
        lab.check(re.search(r"no files in debugfs, error -12: .*load gpumon again", lines[0]),
                  lines[0])
        with Gpumon() as g:
            lab.check(g.info()["rings"] >= 0, "netlink works " + when)
        return
    lab.equal(lines, [], "lines in the log " + when)
    found = reasons()
    faults.check_reasons(found, when)
    if name.startswith("gpumon_read_file"):
        module = name.split("/")[-2]
        said = [r for r in found if "cannot tell whether module %s is loaded" % module in r[3]]
    elif name.startswith("gpumon_file_open"):
        module = name.split("/")[-1]
        said = [r for r in found if "BTF of %s unreadable, error -12" % module in r[3]]
    elif TABLES.match(name):
        said = [r for r in found if "no memory for its statistics" in r[3]]
    else:
        said = [r for r in found if r[1] in name and r[2] == "failed" and "no memory" in r[3]]
    if not said and name.startswith(("gpumon_read", "gpumon_file")) and module in UNASKED:
        return
    if tried_again(name, found, when):
        return
    lab.check(said, "nobody tells %s: %r" % (when, found))


def again(groups):
    """Switching off and on is what the reasons say, and repairs everything."""
    with Gpumon() as g:
        for name in groups:
            g.group_set(name, 0)
            g.group_set(name, 1)
    lab.equal(reasons(), [], "reasons after off and on")


# Groups without a loaded driver register nothing.
parameters = [] if DEEP else ["drm_vblank=0"]
lab.step("load: each registration fails once")
lab.run("insmod", DEBUG_MODULE, *parameters)
total = int(parameter("registrations"))
lab.check(total >= 15, "only %d registrations" % total)
lab.equal(reasons(), [], "reasons when nothing fails")
groups = [g["group"] for g in lab.stats()["groups"] if g["state"] == "attached"]
lab.rmmod("gpumon")
check_nothing_left("at first")
for n in range(1, total + 1):
    name, lines = refused(n, *parameters)
    if name:
        expected = [text for pattern, text in REFUSED if re.fullmatch(pattern + "( .*)?", name)]
        lab.equal(len(expected), 1, "what to expect of a load without " + name)
        lab.equal(len(lines), 1, "lines in the log without %s: %r" % (name, lines))
        lab.check(re.search(expected[0], lines[0]), "without %s: %s" % (name, lines[0]))
        check_nothing_left("after a load without " + name)
    else:
        name = made_to_fail("load")
        lab.check(name, "registration %d of %d did not come" % (n, total))
        reduced(name, lines)
        parameter("fail_registration", 0)
        if not name.startswith("debugfs"):
            if first_of_kind("load", name) or n % 4 == 0:
                again(groups)
            if DEEP or n % 4 == 0:
                work(faults.snapshot(), "after a load without %s, off and on" % name)
        lab.rmmod("gpumon")
        check_nothing_left("after " + name)
    if DEEP:
        faults.load_and_work(lab.BUILD + "/gpumon.ko", "after a load without " + name)
lab.step("and a plain load counts")
faults.load_and_work(lab.BUILD + "/gpumon.ko", "after loads that failed")


def each(where, switch, check, undo):
    """switch() with each of its registrations failing in turn, then check(name), undo()."""
    n = 1
    while True:
        parameter("fail_registration", n)
        refusal = None
        try:
            switch()
        except NetlinkError as e:
            refusal = e
        name = parameter("failed_registration")
        parameter("fail_registration", 0)
        if not name:
            lab.check(not refusal, "%s: %s" % (where, refusal))
            return n - 1
        failed.append((where, name))
        check(name, refusal)
        undo(name)
        n += 1


lab.step("a group is switched on")
lab.run("insmod", DEBUG_MODULE, "drm_vblank=0")
base = faults.snapshot()
work(base, "before")
mock, counted = faults.snapshot()
told = set()
with Gpumon() as g:
    for group in ("drm_sched", "drm_vblank") + (("amdgpu", "i915") if DEEP else ()):
        if group_state(group)[0] == "waiting":
            print("%s: its driver is not there" % group)
            continue
        g.group_set(group, 0)

        # Columns that a probe alone counts.
        alone = {"drm_sched_entity_kill_jobs_work": ("errors", "killed"), "drm_sched_fini": ("live",),
                 **{probe: ("dependency_waits",) for probe in lab.GENERATIONS["wait"]}}

        def check(name, refusal):
            when = "without " + name
            lab.check(refusal is None, "%s: %s" % (when, refusal))
            found = reasons(group)
            faults.check_reasons(found, when)
            said = [r for r in found if r[1] in name or TABLES.match(name)]
            lab.check(said, "nobody tells %s: %r" % (when, found))
            kind = name.split()[0]
            if kind not in told:
                # doctor takes seconds under emulation: run it once for each way to fail, if there
                # is time.
                faults.check_told(group, said[0][1], when, DEEP or not told)
                told.add(kind)
            lab.equal({k: r["queued"] for k, r in lab.rings().items()},
                      {k: r["queued"] for k, r in counted.items()}, "what was counted " + when)
            for column in alone.get(re.split("[ :]", name)[-1], ()):
                lab.equal({r[column] for r in lab.rings().values()}, {None}, column + " " + when)

        def undo(name):
            g.group_set(group, 0)
            # The next turn also switches it off and on.
            if not first_of_kind(group, name):
                return
            g.group_set(group, 1)
            lab.equal(reasons(group), [], "reasons after off and on")
            lab.equal(group_state(group)[0], "attached", "%s after off and on" % group)
            g.group_set(group, 0)

        count = each("group %s on" % group, lambda: g.group_set(group, 1), check, undo)
        lab.check(count >= 4, "only %d registrations of %s" % (count, group))
    work(faults.snapshot(), "with the groups on again")

    lab.step("the event ring is switched on")
    def ring_check(name, refusal):
        lab.check(name in ("ring_buffer_alloc", "ring_buffer_resize"),
                  "the event ring needs %s" % name)
        lab.check(refusal is not None and "choose a smaller size-kib" in refusal.message,
                  "refused with %s" % refusal)
        lab.equal({k: v for k, v in g.do("EVENT_RING_GET", "EVENT_RING").items() if k in old}, old,
                  "the event ring after it was refused")
    # The contents of a ring that is off can still be read, also if a new one is refused.
    g.event_ring_set(1)
    lab.submit("-n", 5, "-w")
    lab.wait_idle()
    g.event_ring_set(0)
    old = {k: v for k, v in g.do("EVENT_RING_GET", "EVENT_RING").items() if k != "dropped"}
    lab.check(old["pending"] >= 15, "pending events: %r" % old)
    lab.equal(each("event ring on", lambda: g.event_ring_set(1), ring_check, lambda name: None), 2,
              "registrations of the event ring")
    g.event_ring_set(0)

lab.step("a driver comes when gpumon is there")


def driver_goes():
    if lab.loaded("mock_gpu"):
        lab.rmmod("mock_gpu")
    lab.rmmod("gpu_sched")
    lab.equal(group_state("drm_sched")[0], "waiting", "drm_sched without gpu_sched")


def late_check(name, refusal):
    when = "when gpu_sched comes without " + name
    lab.check(lab.loaded("gpu_sched"), "gpu_sched is not loaded " + when)
    found = reasons("drm_sched")
    faults.check_reasons(found, when)
    said = [r for r in found if r[1] in name or name.startswith("gpumon_file_open") or
            TABLES.match(name)]
    again_already = tried_again(name, found, when)
    lab.check(said or again_already, "nobody tells %s: %r" % (when, found))
    if said and name.split()[0] not in told:
        told.add(name.split()[0])
        row = faults.check_told("drm_sched", said[0][1], when, DEEP or len(told) == 1)
        if row["state"] == "failed":
            lab.check(group_state("drm_sched") == ("failed", row["reason"]) or
                      row["probe"] in ("drm_sched_fini", "drm_sched_job_timedout",
                                       "drm_sched_entity_kill_jobs_work") or
                      row["probe"] in lab.GENERATIONS["wait"],
                      "the group is %r %s" % (group_state("drm_sched"), when))
    if not first_of_kind("driver comes", name):
        return
    # Either of them tries it again.
    late_check.turn = not getattr(late_check, "turn", False)
    if late_check.turn:
        again(["drm_sched"])
    else:
        driver_goes()
        lab.load_scheduler()
        lab.equal(reasons("drm_sched"), [], "reasons with it back")
    lab.equal(group_state("drm_sched")[0], "attached", "drm_sched " + when + ", tried again")
    if DEEP:
        lab.insmod("mock_gpu", devices=1, rings=2)
        work(faults.snapshot(), when + ", tried again")


told.clear()
if DEEP:
    for driver in "amdgpu", "i915":
        lab.run("modprobe", "-r", driver, check_=False)
driver_goes()
late = each("driver comes", lab.load_scheduler, late_check, lambda name: driver_goes())
lab.check(late >= 5, "only %d registrations when gpu_sched comes" % late)
lab.insmod("mock_gpu", devices=1, rings=2)
work(faults.snapshot(), "with the driver back")
lab.rmmod("gpumon")
check_nothing_left("at the end")
faults.load_and_work(lab.BUILD + "/gpumon.ko", "at the end")
report()
