#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest
"""No body of a probe is traced; those of kprobes and kretprobes are not probed either."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import gpumon_ko
import lab
import tracefs

lab.load_gpumon()
bodies = {"tracepoint": set(), "kprobe": set()}
for group in gpumon_ko.Module().groups():
    for probe in group["probes"]:
        bodies[probe["kind"].replace("kretprobe", "kprobe")] |= \
            {probe["body"], probe["on_return"]} - {None}
for kind, names in bodies.items():
    lab.check(len(names) >= 15, "%d bodies of %ss" % (len(names), kind))


def words(text, word, end):
    """A word of each line that ends so."""
    return {line.split()[word] for line in text.splitlines() if line.endswith(end)}


symbols = words(lab.read("/proc/kallsyms"), 2, "[gpumon]")
lab.equal(set().union(*bodies.values()) - symbols, set(), "bodies that are no symbols")

traced = words(tracefs.read("available_filter_functions"), 0, "[gpumon]")
lab.check("gpumon_group_set" in traced, "what no probe runs can be traced")
lab.equal(set().union(*bodies.values()) & traced, set(), "bodies that can be traced")
refused = words(lab.read(lab.DEBUGFS + "/kprobes/blacklist"), 1, "")
lab.equal(bodies["kprobe"] - refused, set(), "bodies of kprobes that can be probed")
lab.rmmod("gpumon")
