# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""NVIDIA's real driver beside invented PCI functions: loading, driving, and what is expected."""
import collections
import os
import stat
import subprocess

import lab
import nvidia
import nvidia_stats

# tests/vm/guest/suite mounts it: what tests/vm/build-nvidia has built.
FOLDER = "/tmp/nvidia"
VERSION = os.environ.get("GPUMON_NVIDIA", "?")
GENERATION = VERSION.split(".", maxsplit=1)[0]
PCI = lab.DEBUGFS + "/nvidia_pci"
CALLS = lab.BUILD + "/tests/nvidia/nvidia_calls"
SUSPEND = "/proc/driver/nvidia/suspend"
# The first of the functions.
BUS = "0001:40:00.0"

DEVICE_COLUMNS = ("opens", "opens_failed", "closes", "ioctls", "ioctls_failed", "mmaps",
                  "mmaps_failed", "mapped_bytes", "vma_opens", "vma_releases", "polls")
PROCESS_COLUMNS = ("opens", "closes", "ioctls", "mapped_bytes")

NAMES = {200: "CARD_INFO", 210: "CHECK_VERSION_STR", 211: "IOCTL_XFER_CMD", 0x2b: "RM_ALLOC",
         0x29: "RM_FREE", 0x2a: "RM_CONTROL", 0x4e: "RM_MAP_MEMORY", 0x7f: None}


def add_gpus(**parameters):
    """PCI functions; see modinfo nvidia_pci.ko."""
    lab.insmod("tests/nvidia/nvidia_pci", **parameters)


def insmod(name, plain=False, check_=True):
    path = "%s/%s%s.ko" % (FOLDER, "plain/" if plain else "", name)
    for module in lab.run("modinfo", "-F", "depends", path).stdout.strip().split(","):
        if module and not module.startswith("nvidia"):
            lab.run("modprobe", module)
    return lab.run("insmod", path, timeout=300, check_=check_)


def load(plain=False, **gpus):
    """Functions and nvidia.ko, without BTF if plain."""
    add_gpus(**gpus)
    insmod("nvidia", plain)


def make_node(name, major, minor):
    """The driver makes no device nodes; name is without /dev/."""
    path = "/dev/" + name
    if os.path.exists(path):
        os.unlink(path)
    os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(major, minor))


def rmmod(name):
    """Also beside programs that have the driver's files open for a moment."""
    def gone():
        done = lab.run("rmmod", name, check_=False)
        lab.check(not done.returncode or "in use" in done.stderr, "rmmod says: " + done.stderr)
        return not done.returncode
    lab.until(gone, "rmmod " + name)


def unload():
    for name in "nvidia_uvm", "nvidia_modeset", "nvidia", "nvidia_pci":
        if lab.loaded(name):
            lab.rmmod(name)


class Wanderer:
    """nvidia_calls -w: a process that uses the driver all the time, whether it is there or not."""

    def __init__(self):
        # Without the driver, each open of its files would make the kernel start modprobe.
        with open("/proc/sys/kernel/modprobe", "w", encoding="ascii") as f:
            f.write("\n")
        self.process = subprocess.Popen([CALLS, "-w"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, universal_newlines=True)

    def _line(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def stop(self):
        """(opens, ioctls) so far; it has no file open, until go()."""
        self._line()
        opens, ioctls = map(int, self.process.stdout.readline().split())
        return opens, ioctls

    def go(self):
        self._line()

    def end(self):
        self.process.stdin.close()
        lab.equal(self.process.wait(60 * lab.SLOWER), 0, "exit status of nvidia_calls -w")


def control(*words):
    """A command of nvidia_pci.ko, raises OSError if it fails."""
    nvidia.control(*words, folder=PCI)


def calls(*arguments, timeout=120):
    """Run nvidia_calls to its end; its account."""
    done = lab.run(CALLS, *map(str, arguments), timeout=timeout, stdin=subprocess.DEVNULL)
    return nvidia.lines(done.stdout)


def calling(*arguments):
    """Start it with -H; it ends when its stdin is closed, ended()."""
    process = subprocess.Popen([CALLS, "-H", *map(str, arguments)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, universal_newlines=True)
    lab.equal(process.stdout.readline().strip(), "held", "nvidia_calls -H")
    return process


def ended(process, timeout=60):
    text = process.communicate(timeout=timeout * lab.SLOWER)[0]
    lab.equal(process.returncode, 0, "exit status of nvidia_calls")
    return nvidia.lines(text)


def total(accounts):
    """The sum of accounts; each is of processes of its own."""
    sums = collections.Counter()
    for account in accounts:
        sums.update(account)
    return dict(sums)


def check_devices(account, name0, sections=None):
    """nvidia.devices has what the programs did, and nothing else."""
    rows = nvidia_stats.table("devices", "minor", sections=sections)
    names = {255: "nvidiactl", 0: name0, 100: "minor100"}
    minors = {int(name.split("/")[1]) for name in account if name.startswith("minor/")}
    lab.equal(sorted(rows), sorted(minors), "minors")
    for minor in minors:
        lab.equal(rows[minor]["device"], names[minor], "device of minor %d" % minor)
        for column in DEVICE_COLUMNS:
            lab.equal(rows[minor][column], account.get("minor/%d/%s" % (minor, column), 0),
                      "%s of minor %d" % (column, minor))
        lab.equal(rows[minor]["open_handles"] or 0, 0, "open handles of minor %d" % minor)


def commands(account):
    """{command: (number, name, ioctls, failed, rm_failed)} that the programs did."""
    expected = {}
    for name, n in account.items():
        words = name.split("/")
        if words[0] == "command" and words[2] == "ioctls" and n:
            number = int(words[1], 16) & 0xff
            expected[words[1]] = (number, NAMES[number], n, *(
                account.get("command/%s/%s" % (words[1], what), 0)
                for what in ("failed", "rm_failed")))
    return expected


def check_commands(account, sections=None):
    rows = nvidia_stats.table("ioctls", "command", sections=sections)
    lab.equal({command: (row["number"], row["name"], row["ioctls"], row["failed"],
                         row["rm_failed"])
               for command, row in rows.items()}, commands(account), "commands")
    for command, row in rows.items():
        lab.equal(row["duration_ns_count"], row["ioctls"], "durations of " + command)


def check_processes(account, sections=None):
    rows = {row["pid"]: row for row in (sections or lab.stats())["processes"]}
    pids = {int(name.split("/")[1]) for name in account if name.startswith("pid/")}
    for pid in pids:
        lab.check(pid in rows, "process %d is not in stats" % pid)
        for column in PROCESS_COLUMNS:
            lab.equal(rows[pid][column], account.get("pid/%d/%s" % (pid, column), 0),
                      "%s of process %d" % (column, pid))
    return len(pids)


def check_calls(account, name0=BUS):
    """All that gpumon says of the calls is what the programs say."""
    sections = lab.stats()
    check_devices(account, name0, sections)
    check_commands(account, sections)
    check_processes(account, sections)
    lab.check_sums(sections)


def check_probes(sections=None, group="nvidia"):
    """Every probe is attached, or its reason says that nothing is lost, or what is."""
    rows = lab.probes(sections, group)
    for name, row in rows.items():
        allowed = {"attached": "", "off": "not needed, ", "missing": ""}
        says = "probe %s is %s, %s" % (name, row["state"], row["reason"])
        lab.check(row["state"] in allowed, says)
        lab.check(str(row["reason"] or "").startswith(allowed[row["state"]]), says)
        if row["state"] == "missing":
            lab.check(row["reason"], "probe %s is missing without a reason" % name)
    return {name: (row["state"], row["reason"]) for name, row in rows.items()}
