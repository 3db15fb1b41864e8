#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest
"""Rings of one name on several devices stay apart, in every view, also where the devices have one name."""
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

lab.step("devices of one name on two buses")
lab.rmmod("gpumon", "mock_gpu")
lab.load(devices=2, rings=2, twin=1)
names = "mock_gpu.0", "mock_bus:mock_gpu.0"


def submit(*counts):
    for number, n in enumerate(counts):
        if n:
            lab.submit("-d", number, "-n", n, "-w")


def check(*counts):
    """Each has what was submitted to it, and only that."""
    lab.wait_idle()
    ours = lab.rings()
    lab.equal({k: (r["queued"], r["done"]) for k, r in ours.items()},
              {(d, "ring0"): (n, n) for d, n in zip(names, counts)}, "queued and done")
    lab.equal([r["live"] for r in ours.values()], [1, 1], "live")


submit(13, 29)
check(13, 29)
with Gpumon() as g:
    lab.equal({r["device"]: r["done"] for r in g.rings()}, dict(zip(names, (13, 29))), "netlink")
lab.step("their driver comes again: they go on, under the same names")
lab.rmmod("mock_gpu")
lab.insmod("mock_gpu", devices=2, rings=2, twin=1)
submit(0, 3)
submit(4)
check(17, 32)
