#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest tool icount cpus=2 timeout=300
"""NVIDIA's device files by BPF: the module's counts of the same calls, and what only BPF has."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import nvidia
import source_bpf

SAME = ("opens", "ioctls", "ioctls_failed", "mmaps", "mmaps_failed", "mapped_bytes")
UNKNOWN = ("opens_failed", "opens_untracked", "faults", "vma_opens", "vma_releases", "polls")


def devices(document):
    return source_bpf.table(document, "nvidia", "devices", "minor")


def processes(document):
    return {p["pid"]: (p["opens"], p["ioctls"], p["mapped_bytes"], p["start_ns"])
            for p in document["processes"] if p["opens"] or p["ioctls"]}


def nearly_agree(bpf, module):
    """No count is larger than the module's, nor smaller by more than the calls that were lost."""
    most = source_bpf.calls_lost(bpf)
    print("    at most %d calls were lost" % most)
    ours, theirs = devices(bpf), devices(module)
    for minor, row in ours.items():
        for column in ("opens", "ioctls", "ioctls_failed", "mmaps", "mmaps_failed"):
            source_bpf.fewer(row[column], theirs[minor][column], most,
                             "%s of minor %d" % (column, minor))
    ours, theirs = (source_bpf.table(d, "nvidia", "ioctls", "command") for d in (bpf, module))
    for command, row in ours.items():
        source_bpf.fewer(row["ioctls"], theirs[command]["ioctls"], most, command)
    ours, theirs = processes(bpf), processes(module)
    for pid, counts in ours.items():
        source_bpf.fewer(counts[1], theirs[pid][1], most, "ioctls of process %d" % pid)


def agree(bpf, module):
    ours, theirs = devices(bpf), devices(module)
    lab.equal(sorted(ours), sorted(m for m in theirs if theirs[m]["opens"]), "minors")
    for minor, row in ours.items():
        source_bpf.same_keys(row, theirs[minor], "devices")
        for column in SAME:
            lab.equal(row[column], theirs[minor][column], "%s of minor %d" % (column, minor))
        for column in UNKNOWN:
            lab.equal(row[column], None, "%s, which BPF cannot know" % column)
        lab.equal(row["open_handles"], {"now": None, "max": None}, "open handles")
    ours, theirs = (source_bpf.table(d, "nvidia", "ioctls", "command") for d in (bpf, module))
    lab.equal(sorted(ours), sorted(theirs), "commands")
    for command, row in ours.items():
        other = theirs[command]
        source_bpf.same_keys(row, other, "ioctls")
        for column in ("number", "name", "ioctls", "failed", "rm_failed"):
            lab.equal(row[column], other[column], "%s of %s" % (column, command))
        # From the entry of the system call instead of the driver's function, to its end.
        source_bpf.near(row["duration_ns"], other["duration_ns"], "durations of " + command)
    lab.equal(processes(bpf), processes(module), "processes")


source_bpf.need()
nvidia.load("580")
lab.load_gpumon()
# On a busy machine the programs are preempted, and calls are lost. It is tried again then.
for attempt in range(5):
    lab.step("both on the same calls")
    if attempt:
        lab.rmmod("gpumon")
        lab.load_gpumon()
    counting = source_bpf.Counting()
    nvidia.workload("--processes", 3, "--compat", 0)
    document, module = counting.end(), source_bpf.module()
    source_bpf.lossless(document)
    nearly_agree(document, module)
    if not source_bpf.calls_lost(document):
        agree(document, module)
        break
lab.check(len(processes(document)) >= 6, "three processes and their children")
for minor, gpu in enumerate(nvidia.devices()):
    lab.equal(devices(document)[minor]["device"], gpu[0], "bus address of minor %d" % minor)

lab.step("Xids")
counting = source_bpf.Counting()
first, second = (gpu[0] for gpu in nvidia.devices())
for gpu in 0, 1, 1:
    nvidia.control("xid", gpu, 79, "it is gone")
nvidia.control("xid-irq", 1, 4000000000, "x" * 500)
document, module = counting.end(), source_bpf.module()
rows = source_bpf.table(document, "nvidia", "xids", "device", "code", "meaning")
lab.equal({key: row["xids"] for key, row in rows.items()},
          {(first, 79, "GPU fell off the bus"): 1, (second, 79, "GPU fell off the bus"): 2,
           (second, 4000000000, "-"): 1}, "Xids")
others = source_bpf.table(module, "nvidia", "xids", "device", "code", "meaning")
lab.equal({key: row["xids"] for key, row in others.items()},
          {key: row["xids"] for key, row in rows.items()}, "Xids of the module")
alerts = {(a["device"], a["code"]): a for a in document["alerts"]}
for a in module["alerts"]:
    ours = alerts[a["device"], a["code"]]
    source_bpf.same_keys(ours, a, "alert")
    lab.equal((ours["kind"], ours["count"]), (a["kind"], a["count"]), "alert")
    # Each has its own limit for the text.
    lab.equal(ours["message"], a["message"][:len(ours["message"])], "message")
    lab.check(ours["message"].startswith("pid="), "message %r" % ours["message"])
lab.rmmod("gpumon")

lab.step("without the module: a close is that of a descriptor, not of the file")
counting = source_bpf.Counting()
fd = os.open("/dev/nvidia0", os.O_RDWR)
copy = os.dup(fd)
os.close(fd)
child = os.fork()
if not child:
    # The exit closes it without close().
    os._exit(0)
os.waitpid(child, 0)
os.close(copy)
left = os.open("/dev/nvidia0", os.O_RDWR)
os.dup2(0, left)
os.close(left)
# Nothing is opened by that.
os.close(os.open("/dev/nvidia0", os.O_PATH))
document = counting.end()
row = devices(document)[0]
lab.equal((row["opens"], row["closes"]), (2, 2), "opens, and close() of descriptors")
mine = [p for p in document["processes"] if p["pid"] == os.getpid()]
lab.equal([(p["opens"], p["alive"]) for p in mine], [(2, True)], "this process")

lab.step("more commands than fit: those without a row count for the device, and in the other row")
before = nvidia.account()
counting = source_bpf.Counting()
lab.equal(nvidia.call_each(nvidia.WRONG), len(nvidia.WRONG), "commands that fail")
nvidia.workload("--processes", 1, "--compat", 0)
nvidia.call_each(nvidia.SERVED)
document = counting.end()
most = source_bpf.calls_lost(document)
source_bpf.lossless(document)
row = devices(document)[255]
rows = source_bpf.table(document, "nvidia", "ioctls", "command")
lab.equal([sum(r[column] for r in rows.values()) for column in ("ioctls", "failed")],
          [sum(d[column] for d in devices(document).values())
           for column in ("ioctls", "ioctls_failed")], "commands of all rows, and of the devices")
since = {name: n - before.get(name, 0) for name, n in nvidia.account().items()}
source_bpf.fewer(row["ioctls"], since["gpu/ctl/ioctls"], most, "commands of nvidiactl")
source_bpf.fewer(row["ioctls_failed"], since["gpu/ctl/ioctl_errors"], most, "failed commands")
mine, = [p for p in document["processes"] if p["pid"] == os.getpid()]
source_bpf.fewer(mine["ioctls"], len(nvidia.WRONG) + len(nvidia.SERVED), most, "ioctls")
lab.equal((rows["other"]["number"], rows["other"]["name"]), ("", ""), "labels of the others")
lab.equal(sum(r["failed"] == r["ioctls"] for text, r in rows.items() if text != "other"), 64,
          "rows of commands that only fail")
lab.check({"RM_ALLOC", "RM_CONTROL", "RM_FREE"} <= {r["name"] for r in rows.values()
                                                    if r["ioctls"] > r["failed"]},
          "rows of commands of the driver")

lab.step("files of others and calls as of 32-bit programs are not counted, open files of before are")
fd = os.open("/dev/nvidia1", os.O_RDWR)
counting = source_bpf.Counting()
for _ in range(50):
    os.close(os.open("/dev/null", os.O_RDWR))
os.close(fd)
lab.equal(list(devices(counting.end())), [1], "devices")
counting = source_bpf.Counting()
before = nvidia.account()
# The kernel of arm64 with 16k pages has no 32-bit programs.
compat = 5 if os.uname().machine == "x86_64" else 0
nvidia.workload("--processes", 1, "--compat", compat)
document = counting.end()
since = {name: n - before.get(name, 0) for name, n in nvidia.account().items()}
source_bpf.fewer(sum(row["ioctls"] for row in devices(document).values()) + compat, since["ioctls"],
                 source_bpf.calls_lost(document), "ioctls but for those of 32-bit programs")

lab.step("the driver goes when nobody counts, and comes with another number")
nvidia.unload()
for i in range(2):
    for name in "/dev/nvidia%d" % i, "/dev/nvidiactl", "/dev/nvidia100":
        if os.path.exists(name):
            os.unlink(name)
counting = source_bpf.Counting()
nvidia.load("535", major=0)
counting.driver_came()
nvidia.workload("--processes", 1, "--compat", 0)
mock = nvidia.account()
document = counting.end()
rows = devices(document)
for column in "ioctls", "opens":
    source_bpf.fewer(sum(row[column] for row in rows.values()), mock[column],
                     source_bpf.calls_lost(document), column + " by the mock")
probe = source_bpf.probes(document, "nvidia")["nvidia_dev_xid"]
lab.equal(probe["state"], "missing", "the tracepoint that 535 does not have")
nvidia.unload()
