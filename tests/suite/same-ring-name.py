#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest
"""Rings of one name on several devices stay apart, in every view."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
from gpumon_netlink import Gpumon

lab.load(devices=3, rings=1, service_ns=20000)
jobs = {"mock_gpu.0": 11, "mock_gpu.1": 23, "mock_gpu.2": 47}
for number, n in enumerate(jobs.values()):
    lab.submit("-d", number, "-n", n, "-w")
lab.check_counts()

ours = lab.rings()
lab.equal({k: r["queued"] for k, r in ours.items()}, {(d, "ring0"): n for d, n in jobs.items()},
          "queued in stats")
lab.equal({k: r["live"] for k, r in ours.items()}, {(d, "ring0"): 1 for d in jobs}, "live")
with Gpumon() as g:
    rings = g.rings()
    lab.equal({(r["device"], r["name"]): r["done"] for r in rings},
              {(d, "ring0"): n for d, n in jobs.items()}, "done in netlink")
    lab.equal(len({r["id"] for r in rings}), 3, "ids in netlink")
    counts = {h["ring_id"]: h["count"] for h in g.histograms() if h["name"] == "run_ns"}
    lab.equal({r["device"]: counts[r["id"]] for r in rings}, jobs, "histograms in netlink")

text = lab.read(lab.DEBUGFS + "/gpumon/histograms")
for device, n in jobs.items():
    lab.check("drm_sched.rings %s ring0 run_ns: count %d," % (device, n) in text, "%s in histograms" % device)
