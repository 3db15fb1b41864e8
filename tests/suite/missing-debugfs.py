#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=full tool append=debugfs=off
"""Without debugfs there are no files: netlink counts as exactly, and the log and doctor say what is missing."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
from gpumon_netlink import Gpumon

lab.step("there is none")
lab.check(not os.path.ismount(lab.DEBUGFS), "debugfs is there")
lab.load(devices=2, rings=2)
lab.check(not os.path.exists(lab.STATS), "stats is there")

lab.step("the log says so, and names what the kernel lacks")
log = [line.split("gpumon: ", 1)[1] for line in lab.run("dmesg").stdout.splitlines() if "gpumon: " in line]
lab.equal(len([line for line in log if line.startswith("no files: debugfs is switched off")]), 1, "lines about debugfs")
with Gpumon() as g:
    lacks = g.info().get("missing_option", [])
lab.equal([line for line in log if line.startswith("this kernel lacks ")],
          ["this kernel lacks %s: %s" % (row["name"], row["lost"]) for row in lacks], "lines about options")

lab.step("netlink has the mock's counts")
lab.submit("-d", "all", "-r", "all", "-n", 100, "-p", 2, "-w")
mock = lab.wait_idle()
with Gpumon() as g:
    rings = {(r["device"], r["name"]): r for r in g.rings()}
    lab.equal(sorted(rings), sorted(mock), "rings")
    for key, row in mock.items():
        lab.equal(tuple(rings[key][c] for c in ("queued", "run", "done")),
                  tuple(row[c] for c in ("queued", "run", "done")), "jobs of %s/%s" % key)
    for probe in g.probe_rows("drm_sched"):
        lab.equal(probe["seen"], probe["recorded"] + sum(probe[cause] for cause in lab.DROPS), probe["probe"])

lab.step("doctor says it in one line, stat shows the counts")
checks = json.loads(lab.run(lab.BUILD + "/gpumon-user", "doctor", "driver", "--json", check_=False).stdout)["checks"]
about = [check for check in checks if "debugfs" in check["message"] or check["check"] == "debugfs"]
lab.equal([(check["level"], check["check"], check["advice"]) for check in about],
          [("warn", "debugfs", "boot without debugfs=off")], "doctor about debugfs")
document = json.loads(lab.run(lab.BUILD + "/gpumon-user", "stat", "--json").stdout)
lab.equal(sum(ring["done"] for ring in document["drm_sched"]["rings"]), sum(row["done"] for row in mock.values()),
          "jobs of stat")
