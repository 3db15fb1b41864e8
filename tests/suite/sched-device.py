#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=full kernels=5.10
"""A scheduler that does not know its device has the only one of its driver, or none: see
kmod/compat/sched_device.h."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab

BIND = "/sys/bus/platform/drivers/mock_gpu/"


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def submit(device, count):
    lab.submit("-d", device, "-n", count, "-w")
    lab.wait_idle()


def queued():
    return {key: row["queued"] for key, row in lab.rings().items() if key[1] == "ring0"}


lab.step("one device, bound before gpumon is loaded")
lab.load(devices=1, rings=1, timeout_ms=0)
submit(0, 3)
lab.equal(queued(), {("mock_gpu.0", "ring0"): 3}, "queued")

lab.step("one device, bound after gpumon is loaded")
lab.rmmod("mock_gpu")
lab.insmod("mock_gpu", devices=1, rings=1, timeout_ms=0)
submit(0, 4)
lab.equal(queued(), {("mock_gpu.0", "ring0"): 7}, "queued")

lab.step("two devices of one driver: neither is taken for the other")
lab.rmmod("mock_gpu")
lab.insmod("mock_gpu", devices=2, rings=1, timeout_ms=0)
submit(0, 5)
submit(1, 6)
lab.equal(queued(), {("mock_gpu.0", "ring0"): 7, (None, "ring0"): 11}, "queued")
lab.equal(lab.rings()[None, "ring0"]["live"], 2, "schedulers of that ring")

lab.step("one of the two is unbound before its first job")
lab.rmmod("mock_gpu")
lab.insmod("mock_gpu", devices=2, rings=1, timeout_ms=0)
write(BIND + "unbind", "mock_gpu.0")
submit(1, 8)
lab.equal(queued()["mock_gpu.1", "ring0"], 8, "queued")

lab.step("none is bound")
lab.rmmod("mock_gpu")
lab.insmod("mock_gpu", devices=1, rings=1, timeout_ms=0)
write(BIND + "unbind", "mock_gpu.0")
submit(0, 9)
lab.equal(queued()[None, "ring0"], 20, "queued")

lab.step("bound again while gpumon is not loaded")
write(BIND + "bind", "mock_gpu.0")
lab.rmmod("gpumon")
lab.load_gpumon()
submit(0, 10)
lab.equal(queued(), {("mock_gpu.0", "ring0"): 10}, "queued")
lab.check_sums()
