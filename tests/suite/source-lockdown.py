#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest tool timeout=120
# vm: kernels=6.12,7 own-boot append=lockdown=integrity
"""On a host in lockdown the module cannot be loaded, and BPF works."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import source_bpf

try:
    mode = lab.read("/sys/kernel/security/lockdown")
except OSError:
    lab.skip("this kernel has no lockdown")
lab.check("[integrity]" in mode, "not locked down: %s" % mode)
source_bpf.need()
lab.step("the module is refused")
done = lab.run("insmod", lab.BUILD + "/gpumon.ko", check_=False)
lab.check(done.returncode, "an unsigned module was loaded")
lab.step("the kernel's own drivers are watched all the same")
lab.load_scheduler()
lab.run("modprobe", "drm")
counting = source_bpf.Counting()
document = counting.end()
for group in "drm_sched", "drm_vblank":
    lab.equal(source_bpf.group(document, group)["state"], "attached", group)
done = lab.run(source_bpf.TOOL, "doctor", "--json", check_=False, timeout=120)
rows = {c["check"]: c for c in json.loads(done.stdout)["checks"]}
lab.check("bpf" in rows["source"]["message"] and "locked down" in rows["source"]["message"],
          rows["source"]["message"])
print(rows["source"]["message"])
