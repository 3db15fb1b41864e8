# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""gpumon's tables of NVIDIA's driver, and how they compare with the account of the mock."""
import lab
import nvidia

# The expected row of nvidia.devices, from the mock's account of the device.
DEVICES = {"opens": "opens", "opens_failed": "open_errors", "closes": "closes",
           "ioctls": "ioctls", "ioctls_failed": "ioctl_errors", "mmaps": "mmaps",
           "mmaps_failed": "mmap_errors", "mapped_bytes": "mmap_bytes", "faults": "faults",
           "vma_opens": "vma_opens", "vma_releases": "vma_releases", "polls": "polls"}

# The same for a process.
PROCESSES = {"opens": "opens", "closes": "closes", "ioctls": "ioctls",
             "mapped_bytes": "mmap_bytes", "faults": "faults"}

# What NVIDIA's headers call the commands of mock_nvidia_load.
COMMAND_NAMES = {0x29: "RM_FREE", 0x2a: "RM_CONTROL", 0x2b: "RM_ALLOC", 200: "CARD_INFO",
                 214: "SYS_PARAMS"}


def table(name, *labels, sections=None):
    """{labels: row} of a table of group nvidia; of one label its value is the key."""
    rows = {}
    for row in (sections or lab.stats())["nvidia." + name]:
        key = tuple(row[label] for label in labels)
        key = key if len(key) > 1 else key[0]
        lab.check(key not in rows, "%s of %s is there twice" % (key, name))
        rows[key] = row
    return rows


def probes(sections=None):
    """{name: row} of the group."""
    return lab.probes(sections, group="nvidia")


def attached(sections=None):
    return {name for name, row in probes(sections).items() if row["state"] == "attached"}


def device_name(minor, address):
    """The name of a row: the minor number leads to a GPU only with BTF."""
    return address if nvidia.has_btf("nvidia") else "minor%d" % minor


def nodes():
    """{minor: (name in gpumon, name in the mock's account)} of all device nodes."""
    names = {i: (device_name(i, gpu[0]), "gpu/" + gpu[0])
             for i, gpu in enumerate(nvidia.devices())}
    names[255] = "nvidiactl", "gpu/ctl"
    return names


def check_devices(since, levels=True, sections=None):
    """Compare every device with the mock's account, minus the values before."""
    sections = sections or lab.stats()
    mock = nvidia.account()
    rows = table("devices", "minor", sections=sections)
    for minor, (name, theirs) in nodes().items():
        of_mock = {n: mock.get("%s/%s" % (theirs, n), 0) - since.get("%s/%s" % (theirs, n), 0)
                   for n in list(DEVICES.values()) + ["handles"]}
        if minor not in rows:
            lab.equal(sum(of_mock.values()), 0, "events of minor %d, which has no row" % minor)
            continue
        row = rows[minor]
        lab.equal(row["device"], name, "device of minor %d" % minor)
        for ours, of in DEVICES.items():
            lab.equal(row[ours], of_mock[of], "%s of %s" % (ours, name))
        if levels:
            lab.equal(row["open_handles"] or 0, of_mock["handles"], "open handles of %s" % name)
            lab.equal(row["opens_untracked"], 0, "opens_untracked of %s" % name)
    lab.check_sums(sections)


def check_processes(since, sections=None):
    """Compare every process with the mock's account, minus the values before. Returns their
    number.
    """
    mock = nvidia.account()
    rows = {row["pid"]: row for row in (sections or lab.stats())["processes"]}
    pids = {int(name.split("/")[1]) for name in mock if name.startswith("pid/")}
    found = 0
    for pid in pids:
        of_mock = {n: mock.get("pid/%d/%s" % (pid, n), 0) - since.get("pid/%d/%s" % (pid, n), 0)
                   for n in PROCESSES.values()}
        if not any(of_mock.values()):
            continue
        lab.check(pid in rows, "process %d is not in stats" % pid)
        found += 1
        for ours, of in PROCESSES.items():
            lab.equal(rows[pid][ours], of_mock[of], "%s of process %d" % (ours, pid))
    return found


def check_commands(since):
    """Compare every command with the mock's account, minus the values before."""
    mock = nvidia.account()
    rows = table("ioctls", "command")
    commands = {name.split("/")[1] for name in mock if name.startswith("command/")}
    lab.check(commands, "the mock has served commands")
    for command in commands:
        served, errors = (mock.get("command/%s/%s" % (command, n), 0) -
                          since.get("command/%s/%s" % (command, n), 0)
                          for n in ("ioctls", "ioctl_errors"))
        if not served:
            continue
        row = rows[command]
        number = int(command, 16) & 0xff
        lab.equal((row["ioctls"], row["failed"], row["duration_ns_count"], row["number"],
                   row["name"]),
                  (served, errors, served, number, COMMAND_NAMES.get(number)),
                  "command " + command)
