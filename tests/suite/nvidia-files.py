#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel icount cpus=2 timeout=420
"""What processes do with NVIDIA's devices: opens, handles, commands, mappings, per process."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import nvidia
import nvidia_stats
from gpumon_netlink import Gpumon

# The older ones have two functions of each name, one of which calls the other.
FILE_PROBES = {
    "535": {"nvidia_frontend_open", "nvidia_frontend_close", "nvidia_frontend_unlocked_ioctl",
            "nvidia_frontend_compat_ioctl", "nvidia_frontend_mmap", "nvidia_frontend_poll"},
    "550": {"nvidia_open", "nvidia_close", "nvidia_unlocked_ioctl", "nvidia_mmap",
            "nvidia_poll"},
}
FILE_PROBES["580"] = FILE_PROBES["550"]


def check_all(since, levels=True):
    nvidia_stats.check_devices(since, levels)
    nvidia_stats.check_commands(since)
    return nvidia_stats.check_processes(since)


def check_durations(since):
    """The histograms of the commands against the times that the mock took inside."""
    mock = nvidia.account()
    with Gpumon() as g:
        rows = {row["command"]: row for row in g.statistics()["nvidia.ioctls"]}
    ours = sum(row["duration_ns"]["sum"] for row in rows.values())
    theirs = mock["ioctl_ns"] - since.get("ioctl_ns", 0)
    count = sum(row["ioctls"] for row in rows.values())
    # Our time includes theirs: entry and return, the account's own work, and a trap each.
    lab.within(ours, theirs, theirs + count * 1000000, "time in commands")
    for row in rows.values():
        lab.equal(sum(b["count"] for b in row["duration_ns"]["buckets"]),
                  row["ioctls"], "commands in the buckets of %s" % row["command"])


def check_variant(variant, gpumon_first):
    of = nvidia.generation(variant)
    lab.step("%s, gpumon %s" % (variant, "first" if gpumon_first else "second"))
    if gpumon_first:
        lab.load_gpumon()
        state = {g["group"]: g for g in lab.stats()["groups"]}["nvidia"]
        lab.equal((state["state"], state["reason"]), ("waiting", "module nvidia is not loaded"),
                  "the group without the driver")
        nvidia.load(variant)
    else:
        nvidia.load(variant)
        lab.load_gpumon()
    attached = nvidia_stats.attached()
    both = FILE_PROBES["535"] | FILE_PROBES["550"]
    lab.equal(attached & both, FILE_PROBES[of], "attached probes of file operations")
    for name in FILE_PROBES["550"] - FILE_PROBES[of] - {"nvidia_unlocked_ioctl"}:
        row = nvidia_stats.probes()[name]
        lab.equal((row["state"], row["reason"]),
                  ("off", "not needed, %s is used" % name.replace("nvidia_", "nvidia_frontend_")),
                  "the other function, " + name)

    process, _ = nvidia.held_workload("--processes", 3, "--compat", 0)
    lab.check(check_all({}) >= 6, "three processes and their children")
    handles = {row["pid"]: row["opens"] - row["closes"] for row in lab.stats()["processes"]}
    mock = nvidia.account()
    open_now = 0
    for pid, level in handles.items():
        lab.equal(level, mock.get("pid/%d/handles" % pid, 0), "open handles of %d" % pid)
        open_now += level
    lab.check(open_now >= 6, "two handles of each process are open")
    nvidia.released(process)
    check_all({})
    check_durations({})
    for row in nvidia_stats.table("devices", "minor").values():
        lab.check(row["open_handles"] in (0, None), "no handle of %s is left" % row["device"])
    # A node with a minor number without a GPU: its open() fails.
    lab.equal(nvidia_stats.table("devices", "minor")[100]["opens_failed"],
              nvidia.account()["gpu/none/open_errors"], "opens of no GPU")
    nvidia.unload()
    group = {g["group"]: g for g in lab.stats()["groups"]}["nvidia"]
    lab.equal(group["state"], "waiting", "the group after rmmod nvidia")
    lab.rmmod("gpumon")


for variant in "580", "535", "550":
    check_variant(variant, variant != "550")

lab.step("handles that were open before gpumon came drive no level below 0")
nvidia.load("580")
process, _ = nvidia.held_workload()
before = nvidia.account()
lab.load_gpumon()
nvidia.released(process)
for row in nvidia_stats.table("devices", "minor").values():
    lab.equal(row["open_handles"], None, "open handles of %s, of which none is known" % row["device"])
    lab.check(row["closes"] > 0 and not row["opens"], "only closes of %s" % row["device"])
lab.check(all(not row["closes"] for row in lab.stats()["processes"]),
          "a close whose open was not seen belongs to no process")

lab.step("a second handle stays when the first is closed, the close of a child is its parent's")
with Gpumon() as g:
    g.reset()
fds = [os.open("/dev/nvidia0", os.O_RDWR) for _ in range(3)]
os.close(fds.pop())


def handles():
    row = {r["pid"]: r for r in lab.stats()["processes"]}[os.getpid()]
    return row["opens"] - row["closes"]


lab.equal(handles(), 2, "open handles after one of three was closed")
lab.equal(nvidia_stats.table("devices", "minor")[0]["open_handles"], 2, "of the device")
child = os.fork()
if not child:
    # Ours are closed before, so the child has the last descriptor.
    time.sleep(2)
    os._exit(0)
for fd in fds:
    os.close(fd)
lab.equal(handles(), 2, "the child still has them")
os.waitpid(child, 0)
lab.until(lambda: handles() == 0, "the child's exit closes its parent's handles", 10)
rows = {r["pid"]: r for r in lab.stats()["processes"]}
lab.check(child not in rows or not rows[child]["closes"], "the child has closed nothing of its own")

lab.step("an open that fails is none")
nvidia.control("fail-opens", 1, 2)
for _ in range(2):
    try:
        os.open("/dev/nvidia1", os.O_RDWR)
    except OSError:
        continue
    lab.fail("the open did not fail")
row = nvidia_stats.table("devices", "minor")[1]
lab.equal((row["opens"], row["opens_failed"], row["open_handles"] or 0), (0, 2, 0),
          "failed opens")

lab.step("off and on: nothing counts while off, levels start over")
fds = [os.open("/dev/nvidia0", os.O_RDWR) for _ in range(3)]
with Gpumon() as g:
    def levels():
        ours, = (p for p in g.processes() if p["pid"] == os.getpid())
        return (nvidia_stats.table("devices", "minor")[0]["open_handles"],
                ours.get("open_handles"))

    lab.equal(levels(), (3, 3), "levels of the device and of the process")
    g.group_set("nvidia", 0)
    since = nvidia.account()
    nvidia.workload()
    row = nvidia_stats.table("devices", "minor")[0]
    lab.equal((row["opens"], row["ioctls"]), (6, 0), "opens and ioctls while off")
    lab.equal(levels(), (None, None), "levels while off")
    os.close(fds.pop())
    g.group_set("nvidia", 1)
    os.close(fds.pop())
    lab.equal(levels(), (None, None), "levels, no baseline")
    fds.append(os.open("/dev/nvidia0", os.O_RDWR))
    lab.equal(levels(), (1, 1), "levels of what was opened since")
    for fd in fds:
        os.close(fd)
    lab.equal(levels(), (0, 0), "levels when all is closed")
    g.reset()
since = nvidia.account()
nvidia.workload()
check_all(since)
nvidia.unload()
lab.rmmod("gpumon")

lab.step("gpumon comes while a GPU is being bound: it is not taken for the first by its minor number")
HOLD = "/sys/module/nvidia/parameters/hold_probe"
process = subprocess.Popen(["insmod", nvidia.mock_path("nvidia", "580"), "hold_probe=1"])
lab.until(lambda: os.path.exists(HOLD) and lab.read(HOLD).strip() == "2", "the last GPU is being bound")
lab.load_gpumon()
with open(HOLD, "w") as f:
    f.write("0")
lab.equal(process.wait(60 * lab.SLOWER), 0, "exit status of insmod")
names = [nvidia_stats.device_name(i, gpu[0]) for i, gpu in enumerate(nvidia.devices())]


def rows_seen(minor):
    os.close(os.open("/dev/nvidia%d" % minor, os.O_RDWR))
    return {device for device, number in nvidia_stats.table("devices", "device", "minor")
            if number == minor}


lab.until(lambda: names[1] in rows_seen(1), "the second GPU is known")
lab.equal(rows_seen(0), {names[0]}, "rows of the first GPU's minor number")
nvidia.unload()
