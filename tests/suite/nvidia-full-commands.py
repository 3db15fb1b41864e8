#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest
"""Made-up commands fill the table of commands: nothing is lost, real ones keep their rows."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import nvidia
import nvidia_stats
from nvidia import SERVED, WRONG

CAPACITY = 256
# Commands that have only failed.
FAILED_ROWS = 64


def check(ioctls):
    """Device, process and commands have every call; the rows of the commands."""
    sections = lab.stats()
    nvidia_stats.check_devices({}, sections=sections)
    nvidia_stats.check_processes({}, sections=sections)
    own = {row["pid"]: row for row in sections["processes"]}[os.getpid()]
    lab.equal(own["ioctls"], ioctls, "ioctls of this process")
    rows = nvidia_stats.table("ioctls", "command", sections=sections)
    mock = nvidia.account()
    lab.equal(tuple(sum(row[column] for row in rows.values())
                    for column in ("ioctls", "failed", "duration_ns_count")),
              (mock["ioctls"], mock["ioctl_errors"], mock["ioctls"]), "commands of all rows")
    for text, row in rows.items():
        if text == "other":
            lab.equal(row["number"], None, "number of the other commands")
            continue
        lab.equal((row["ioctls"], row["failed"]),
                  (mock["command/%s/ioctls" % text],
                   mock.get("command/%s/ioctl_errors" % text, 0)), "command " + text)
    lab.equal(nvidia_stats.probes(sections)["nvidia_unlocked_ioctl"]["table_full"], 0, "table_full")
    return rows


nvidia.load("580")
lab.load_gpumon()
nvidia.workload()
real = set(nvidia_stats.table("ioctls", "command"))
lab.check("other" not in real, "no other commands while there is room")
lab.rmmod("gpumon")
nvidia.unload()

lab.step("%d made-up commands that fail" % len(WRONG))
nvidia.load("580")
lab.load_gpumon()
lab.equal(nvidia.call_each(WRONG), len(WRONG), "commands that fail")
rows = check(len(WRONG))
lab.equal(len(rows), FAILED_ROWS + 1, "rows of commands that only fail, and the other one")
nvidia.workload()
rows = check(len(WRONG))
served = {text for text in real if nvidia.account()["command/%s/ioctls" % text] >
          nvidia.account().get("command/%s/ioctl_errors" % text, 0)}
lab.check(len(served) >= 5, "commands of the driver that are served: %s" % served)
lab.equal(served - set(rows), set(), "commands of the driver without a row")

lab.step("%d made-up commands that are served" % len(SERVED))
lab.equal(nvidia.call_each(SERVED), 0, "commands that fail")
rows = check(len(WRONG) + len(SERVED))
lab.check(len(rows) <= CAPACITY + 8, "%d rows" % len(rows))
lab.equal(served - set(rows), set(), "commands of the driver without a row")

lab.step("the driver is gone: what processes did with it is still known")


def processes():
    return [(row["pid"], row["opens"], row["ioctls"], row["mapped_bytes"])
            for row in lab.stats()["processes"]]


before = processes()
nvidia.unload()
lab.equal(processes(), before, "processes")
lab.rmmod("gpumon")
