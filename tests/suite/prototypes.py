#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel tool drivers=stay needs=amdgpu timeout=600
"""Each probe of each group, with amdgpu and i915 (on x86) loaded, is attached if and only if it is what
it is taken for: the prototypes in gpumon.ko are held against the BTF of the
kernel by a reader that shares nothing with gpumon's, and so are, where
gpumon.ko has BTF, the functions that are called. One of a wrong prototype is refused.
"""
import collections
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import btf
import canonical
import fire
import gpumon_ko
import lab
import tracefs
from gpumon_netlink import Gpumon

SUFFIXES = ".isra.0", ".constprop.0", ".part.0"

GROUPS = gpumon_ko.Module().groups()
# Of a probe; what it has counted may change between two reads.
SAME = "group", "probe", "module", "kind", "state", "reason"


def types_of(module, known={}):
    """BTF of a module, of the kernel for None; None if it has none."""
    if module not in known:
        try:
            known[module] = btf.Btf(module or "vmlinux")
        except FileNotFoundError:
            known[module] = None
    return known[module]


def symbols():
    """{module: names of its functions}, None is the kernel."""
    found = collections.defaultdict(set)
    with open("/proc/kallsyms") as f:
        for line in f:
            words = line.split()
            if words[1] in "tTwW":
                found[words[3].strip("[]") if len(words) > 3 else None].add(words[2])
    return found


def own(types, name):
    """Is a function in the module's own part of the BTF?"""
    section = types.sections[-1]
    offsets = [s.string_offset(name) for s in types.sections]
    return any(types._record(t)[1] == btf.FUNC
               for o in offsets if o is not None for t in section.named(o))


def prototype(probe):
    """(state, reason) that follows from the prototype, reason None if all is well."""
    if not probe["prototype"] and not probe["returns"]:
        return "attached", None
    module = probe["module"] or "vmlinux"
    types = types_of(probe["module"])
    if not types:
        return "attached", "prototype not checked: no BTF of " + module
    find = canonical.tracepoint if probe["kind"] == "tracepoint" else canonical.function
    try:
        returns, arguments = find(types, probe["name"])
    except btf.Missing:
        return "attached", "prototype not checked: not in BTF"
    wanted = [a.strip() for a in (probe["prototype"] or arguments).split("|")]
    wanted_returns = [a.strip() for a in (probe["returns"] or returns).split("|")]
    if arguments in wanted and returns in wanted_returns:
        return "attached", None
    if probe["kind"] != "tracepoint" and probe["module"] and not own(types, probe["name"]):
        return "attached", "prototype not checked: not in BTF"
    if arguments not in wanted:
        return "mismatch", "prototype is (%s), expected (%s)" % (arguments, probe["prototype"])
    return "mismatch", "returns %s, expected %s" % (returns, probe["returns"])


def expected(probe, functions):
    """(state, reason) of a probe; reason "..." is any."""
    for module in probe["module"], probe["with"]:
        if module and not lab.loaded(module):
            return "waiting", "module %s is not loaded" % module
    if probe["kind"] == "tracepoint":
        types = types_of(probe["module"])
        lab.check(types, "no BTF of " + (probe["module"] or "vmlinux"))
        try:
            canonical.tracepoint(types, probe["name"])
        except btf.Missing:
            return "missing", "..."
        return prototype(probe)
    there = functions[probe["module"]]
    if probe["name"] in there:
        return prototype(probe)
    for suffix in SUFFIXES:
        if probe["name"] + suffix not in there:
            continue
        if prototype(probe)[0] == "mismatch":
            return prototype(probe)
        if not probe["count_if_suffixed"]:
            return "missing", "..."
        return "attached", "%s%s: arguments not trusted, counted only" % (probe["name"], suffix)
    if prototype(probe)[0] == "mismatch":
        return prototype(probe)
    return "missing", "..."


def check_states():
    """Every probe is in the state that the kernel's BTF and symbols say; number by state."""
    sections = lab.stats()
    with Gpumon() as g:
        everything = g.probe_rows()
    told = [r for r in everything if any(p["group"] == r["group"] for p in sections["probes"])]
    lab.equal([{k: p[k] for k in SAME} for p in sections["probes"]],
              [{k: r[k] for k in SAME} for r in told], "probes in stats and netlink")
    rows = iter(everything)
    functions = symbols()
    states = collections.Counter()
    for group in GROUPS:
        mine = [(p, next(rows)) for p in group["probes"]]
        attached = {p["role"] for p, row in mine if row["state"] == "attached"}
        for probe, row in mine:
            what = "%s %s" % (group["name"], probe["name"])
            lab.equal((row["group"], row["probe"], row["module"], row["kind"]),
                      (group["name"], probe["name"], probe["module"] or "vmlinux", probe["kind"]),
                      "row of " + what)
            state, reason = expected(probe, functions)
            states[row["state"]] += 1
            # Another probe of that role is attached, and this one is only for kernels without it.
            if row["state"] == "off" and state == "attached":
                lab.check(re.match("not needed, .* is used$", row["reason"]), what)
                lab.check(any(p["fallback"] and p["role"] == probe["role"] for p, _ in mine), what)
                lab.check(probe["role"] in attached, what)
                continue
            lab.equal(row["state"], state, "state of %s (%s)" % (what, row["reason"]))
            if reason != "...":
                lab.equal(row["reason"], reason, "reason of " + what)
            if state == "mismatch":
                print("%s: %s" % (what, reason))
                lab.check(probe["role"] in attached,
                          "%s is refused, and nothing stands in for it" % what)
    lab.equal(next(rows, None), None, "probes after the last")
    for row in sections["groups"]:
        group = next(g for g in GROUPS if g["name"] == row["group"])
        if all(lab.loaded(m) for p in group["probes"] for m in (p["module"], p["with"]) if m):
            lab.equal((row["state"], row["reason"]), ("attached", None), "group " + row["group"])
    return states


def check_bodies():
    """The called functions have the arguments of the caller."""
    types = types_of("gpumon")
    if not types:
        print("gpumon.ko has no BTF on this kernel: bodies not checked")
        return
    checked, unknown = 0, set()
    for group in GROUPS:
        for probe in group["probes"]:
            what = "%s %s" % (group["name"], probe["name"])
            is_return = probe["kind"] == "kretprobe"
            handler = "*kretprobe_instance *pt_regs" if is_return else "*kprobe *pt_regs"
            for name in probe["body"], probe["on_return"]:
                if not name:
                    continue
                try:
                    returns, arguments = canonical.function(types, name)
                except btf.Missing:
                    unknown.add(name)
                    continue
                checked += 1
                if probe["kind"] == "tracepoint":
                    wanted = ["* " + a.strip() for a in probe["prototype"].split("|")]
                    lab.equal(returns, "void", "what %s returns" % name)
                    lab.check(arguments in wanted, "%s: %s(%s) is called with %s"
                              % (what, name, arguments, wanted))
                else:
                    lab.equal((returns, arguments), ("i32", handler), "%s of %s" % (name, what))
    # The compiler may have changed a few, or two files may define the same name.
    print("%d bodies checked, not in BTF: %s" % (checked, ", ".join(sorted(unknown)) or "none"))
    lab.check(checked > 4 * len(unknown), "most bodies have to be in BTF")


def switch_on():
    for group in GROUPS:
        lab.run(lab.BUILD + "/gpumon-user", "set", group["name"], "on")


lab.step("every tracepoint has a prototype")
for group in GROUPS:
    for probe in group["probes"]:
        lab.check(probe["prototype"] is not None or probe["kind"] != "tracepoint",
                  "%s has none" % probe["name"])

lab.step("gpumon first")
lab.load_gpumon()
switch_on()
check_states()
fire.load_drivers(*fire.drivers())
states = check_states()
print(dict(states))
check_bodies()

lab.step("drivers first")
lab.rmmod("gpumon")
lab.load_gpumon()
switch_on()
lab.equal(check_states(), states, "states")

lab.step("drivers gone")
fire.unload_drivers(*reversed(fire.drivers()))
lab.check(check_states()["waiting"] > states["waiting"], "probes that wait")
lab.rmmod("gpumon")
# It came with amdgpu.
if lab.loaded("gpu_sched"):
    lab.rmmod("gpu_sched")


lab.step("a wrong prototype")
NAME = "drm_sched_job_queue" if lab.LINE == "7" else "drm_sched_job"
RUN = "drm_sched_job_run" if lab.LINE == "7" else "drm_run_job"
lab.load_gpumon()
lab.insmod("tests/suite/wrong_prototype/gpu_sched")
rows = lab.probes()
if not os.path.exists("/sys/kernel/btf/gpu_sched"):
    # It cannot be known, so the tracepoint is not fired.
    print("a module that is built here has no BTF on this kernel")
    for name in NAME, RUN:
        lab.equal((rows[name]["state"], rows[name]["reason"]),
                  ("attached", "prototype not checked: no BTF of gpu_sched"), name)
else:
    REASON = "prototype is (u64 *drm_sched_entity), expected (*drm_sched_job *drm_sched_entity)"
    for _ in range(2):
        lab.equal((rows[NAME]["state"], rows[NAME]["reason"]), ("mismatch", REASON), NAME)
        lab.equal((rows[RUN]["state"], rows[RUN]["reason"]), ("attached", None), RUN)
        group = lab.stats()["groups"][0]
        lab.equal((group["group"], group["state"], group["reason"]),
                  ("drm_sched", "mismatch", REASON), "the group")
        # Switching it off and on leads to another refusal.
        for state in "off", "on":
            lab.run(lab.BUILD + "/gpumon-user", "set", "drm_sched", state)
        rows = lab.probes()

    tracefs.enable("wrong_prototype/" + NAME)
    with open("/sys/module/gpu_sched/parameters/fire", "w") as f:
        f.write("100")
    tracefs.enable("wrong_prototype/" + NAME, False)
    fired = sum(NAME + ":" in line for line in tracefs.read().splitlines())
    lab.equal(fired, 100, "events that ftrace saw")
    lab.equal(lab.probes()[NAME]["seen"], 0, "events that gpumon saw")
lab.rmmod("gpu_sched")
with Gpumon() as g:
    # Only netlink has the probes of a driver that is not loaded.
    lab.equal(lab.probes(), {}, "probes in stats afterwards")
    lab.equal({(r["state"], r["reason"]) for r in g.probe_rows("drm_sched")},
              {("waiting", "module gpu_sched is not loaded")}, "states afterwards")

lab.step("the right one is attached again")
lab.load_scheduler()
rows = lab.probes()
lab.equal((rows[NAME]["state"], rows[NAME]["reason"]), ("attached", None), NAME)
