#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest timeout=240
"""More sleeping commands than can be followed: the others are reported as missed."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import nvidia
import nvidia_stats
from gpumon_netlink import Gpumon

THREADS = 700
nvidia.load("580")
lab.load_gpumon()
nvidia.workload("--processes", 1)
since = nvidia.account()
fd = os.open("/dev/nvidiactl", os.O_RDWR)
with Gpumon() as g:
    g.reset()


def sleep_at_once(seconds):
    """Return how many were missed."""
    nvidia.sleep_in_commands(THREADS, fd, seconds)
    return nvidia_stats.probes()["nvidia_unlocked_ioctl"]["missed"]


rounds = 0
for seconds in (15, 30, 60):
    rounds += 1
    lab.step("%d threads sleep in a command for %d s" % (THREADS, seconds))
    # On a busy machine the first ones wake before the last ones sleep.
    if sleep_at_once(seconds):
        break
served = nvidia.account()["ioctls"] - since["ioctls"]
lab.equal(served, rounds * THREADS, "commands by the mock")
sections = lab.stats()
probe = nvidia_stats.probes(sections)["nvidia_unlocked_ioctl"]
lab.check(probe["missed"] > 0, "nothing was missed: are there as many at a time?")
lab.equal((probe["seen"], probe["recorded"] + probe["missed"]), (served, served),
          "seen, and recorded with missed")
row = nvidia_stats.table("devices", "minor", sections=sections)[255]
command = nvidia_stats.table("ioctls", "command", sections=sections)["0x%08x" % nvidia.SLEEP]
lab.equal((row["ioctls"], command["ioctls"], command["number"]),
          (probe["recorded"], probe["recorded"], 42), "what was recorded is in the tables")
lab.check_sums(sections)
with Gpumon() as g:
    drops = {p["name"]: p["dropped"] for group in g.groups() for p in group["probe"]}
    lab.equal(drops["nvidia_unlocked_ioctl"]["missed"], probe["missed"], "missed in netlink")
    lab.step("%d of %d were missed; a period later none" % (probe["missed"], served))
    g.reset()
for _ in range(5):
    nvidia.sleep_in_command(fd, 0)
probe = nvidia_stats.probes()["nvidia_unlocked_ioctl"]
lab.equal((probe["seen"], probe["recorded"], probe["missed"]), (5, 5, 0), "after a reset")
os.close(fd)
nvidia.unload()
