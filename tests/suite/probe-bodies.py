#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest
"""No body of a probe is traced; those of kprobes and kretprobes are not probed either."""
import os
import re
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
symbols = set(re.findall(r"\S+ \w (\S+)\s+\[gpumon\]", lab.read("/proc/kallsyms")))
lab.equal(set().union(*bodies.values()) - symbols, set(), "bodies that are no symbols")

traced = set(re.findall(r"(?m)^(\S+) \[gpumon\]", tracefs.read("available_filter_functions")))
lab.check("gpumon_group_set" in traced, "what no probe runs can be traced")
lab.equal(set().union(*bodies.values()) & traced, set(), "bodies that can be traced")
refused = set(re.findall(r"(?m)^0x\S+\s+(\S+)", lab.read(lab.DEBUGFS + "/kprobes/blacklist")))
lab.equal(bodies["kprobe"] - refused, set(), "bodies of kprobes that can be probed")
lab.rmmod("gpumon")
