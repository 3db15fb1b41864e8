#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=nvidia timeout=1500 deep-timeout=14400
"""NVIDIA's real driver: gpumon and its modules come and go in all orders beside running programs."""
import itertools
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import nvidia_real
from gpumon_netlink import Gpumon

DEEP = bool(os.environ.get("GPUMON_DEEP"))
MODULES = "gpumon", "nvidia_pci", "nvidia", "nvidia-uvm", "nvidia-modeset"
# (one, another): the one has to be loaded first, or unloaded last. The GPUs may go at any time.
NEEDS = (("nvidia", "nvidia-uvm"), ("nvidia", "nvidia-modeset"))


def orders(needs):
    return [order for order in itertools.permutations(MODULES)
            if all(order.index(one) < order.index(another) for one, another in needs)]


LOADS = orders((("nvidia_pci", "nvidia"), *NEEDS))
UNLOADS = orders([(another, one) for one, another in NEEDS])
lab.equal((len(LOADS), len(UNLOADS)), (10, 40), "orders")
ROUNDS = 100 if DEEP else 4
SEED = int(os.environ.get("GPUMON_SEED") or 1)


class Watched(nvidia_real.Wanderer):
    """It stands still while gpumon comes and goes, so gpumon has all of its calls."""

    since = None

    def load_gpumon(self):
        self.since = self.stop()
        lab.load_gpumon()
        self.go()

    def unload_gpumon(self):
        now = self.stop()
        sections = lab.stats()
        row = {row["pid"]: row for row in sections["processes"]}.get(self.process.pid)
        lab.equal((row["opens"], row["ioctls"]) if row else (0, 0),
                  tuple(n - before for n, before in zip(now, self.since)),
                  "opens and ioctls of process %d" % self.process.pid)
        for device in sections.get("nvidia.devices", []):
            lab.check(device["minor"] in (255, 100), "a row of minor %s" % device["minor"])
        lab.check_sums(sections)
        lab.rmmod("gpumon")
        self.go()
        return sum(now) - sum(self.since)


def load(name, watched):
    if name == "gpumon":
        watched.load_gpumon()
    elif name == "nvidia_pci":
        nvidia_real.add_gpus()
    else:
        nvidia_real.insmod(name)


def check_groups():
    groups = {g["group"]: g["state"] for g in lab.stats()["groups"]}
    for group in "nvidia", "nvidia_uvm":
        lab.equal(groups[group], "attached" if lab.loaded(group) else "waiting", "group " + group)


random.seed(SEED)
pairs = [(LOADS[i % len(LOADS)], UNLOADS[i % len(UNLOADS)])
         for i in range(max(ROUNDS, len(UNLOADS)))]
random.shuffle(pairs)
watched, free = Watched(), nvidia_real.Wanderer()
counted = 0
for i, (loads, unloads) in enumerate(pairs[:ROUNDS]):
    lab.step("round %d: + %s - %s" % (i, " ".join(loads), " ".join(unloads)))
    for name in loads:
        load(name, watched)
        if lab.loaded("gpumon"):
            check_groups()
    account = nvidia_real.calls("-n", 1)
    nvidia_real.check_processes(account)
    for name in unloads:
        if name == "gpumon":
            counted += watched.unload_gpumon()
        else:
            nvidia_real.rmmod(name.replace("-", "_"))
            if lab.loaded("gpumon"):
                check_groups()
lab.check(counted > ROUNDS, "only %d calls beside the loads" % counted)
print("%d rounds, seed %d; gpumon had each of %d calls of a program beside them" %
      (ROUNDS, SEED, counted))

lab.step("gpumon comes and goes under load; programs are killed with files open")
nvidia_real.load()
for i in range(50 if DEEP else 10):
    program = subprocess.Popen([nvidia_real.CALLS, "-p", "4"], stdout=subprocess.DEVNULL)
    held = nvidia_real.calling("-p", 2, "-n", 1)
    lab.load_gpumon()
    with Gpumon() as g:
        g.reset()
    lab.check_sums()
    lab.run("pkill", "-KILL", "-f", "nvidia_calls -H")
    # Half of the time gpumon goes while their files are being closed.
    if i % 2:
        held.wait(60 * lab.SLOWER)
    lab.rmmod("gpumon")
    held.wait(60 * lab.SLOWER)
    held.stdin.close()
    held.stdout.close()
    lab.equal(program.wait(120 * lab.SLOWER), 0, "exit status of the program of round %d" % i)
for wanderer in watched, free:
    wanderer.end()
nvidia_real.unload()
