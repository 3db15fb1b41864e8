# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What the fault-* tests share: what must be left after a failure, and a known workload."""
import errno
import os
import re

from gpumon_netlink import Gpumon, NetlinkError, Socket
from lab import (BUILD, COUNTERS, DEBUGFS, account, check, check_sums, equal, fail, loaded, read,
                 rings, rmmod, run, stats, submit, wait_idle)

DEBUG_MODULE = BUILD + "/gpumon-debug/gpumon.ko"
PARAMETERS = "/sys/module/gpumon/parameters/"

DEEP = os.environ.get("GPUMON_DEEP", "") not in ("", "0")


class Log:
    """The kernel's log from now on."""

    def __init__(self):
        self.kmsg = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.kmsg, 0, os.SEEK_END)

    def lines(self):
        """Lines since the last call; overwritten ones are missing."""
        found = []
        while True:
            try:
                record = os.read(self.kmsg, 8192).decode(errors="replace")
            except BlockingIOError:
                return found
            except BrokenPipeError:
                continue
            found.append(record.split(";", 1)[1].split("\n")[0])


def parameter(name, value=None):
    """A parameter of the loaded module; with a value it is written."""
    if value is None:
        return read(PARAMETERS + name).rstrip("\n")
    with open(PARAMETERS + name, "w") as f:
        f.write(str(value))
    return None


def family_there():
    try:
        with Socket() as s:
            s.family("gpumon")
    except NetlinkError as e:
        equal(e.errno, errno.ENOENT, "looking for the family")
        return False
    return True


def check_nothing_left(when):
    """As if gpumon had never been loaded."""
    check(not loaded("gpumon"), "gpumon is loaded " + when)
    check(not os.path.exists("/sys/module/gpumon"), "/sys/module/gpumon is left " + when)
    check(not os.path.exists(DEBUGFS + "/gpumon"), "the folder in debugfs is left " + when)
    check(not family_there(), "the netlink family is left " + when)
    kprobes = DEBUGFS + "/kprobes/list"
    if os.path.exists(kprobes):
        equal(read(kprobes), "", "kprobes that are left " + when)


def snapshot():
    """The counts of the rings, by the mock and by gpumon, while nothing is in flight."""
    return wait_idle(), rings()


def work(before, when, jobs=12):
    """Run a known workload and check its counts, those of before included."""
    mock, ours = before
    submit("-r", "0,1", "-n", jobs, "--fail", "fence", "--fail-every", 4, "-w")
    now_mock, now = snapshot()
    for key, row in now_mock.items():
        check(key in now, "ring %s is not in stats %s" % (key, when))
        for column, theirs in COUNTERS.items():
            was = ours.get(key, {}).get(column, 0)
            equal(now[key][column] - was, row[theirs] - mock[key][theirs],
                  "%s of %s %s" % (column, key, when))
        equal((now[key]["untracked"], now[key]["queue_depth"], now[key]["hw_depth"]),
              (ours.get(key, {}).get("untracked", 0), 0, 0),
              "untracked and depths of %s %s" % (key, when))
    equal(sum(r["queued"] - mock[k]["queued"] for k, r in now_mock.items()), jobs, "jobs " + when)
    check_sums()


def load_and_work(path, when):
    """A plain load counts exactly, and leaves nothing behind."""
    run("insmod", path)
    mock = account()
    work((mock, {}), when)
    rmmod("gpumon")
    check_nothing_left("after a plain load " + when)


# A reason must contain the remedy, or say that nothing is missing.
WHAT_TO_DO = re.compile(r"again|load|switch|see |rebuild|build |ask|choose|used instead|calls it|"
                        r"not needed")


def reasons(group=None):
    """[(group, probe, state, reason)] of what is on, and not as it should be: of one group, of all.

    From netlink, which has also those of drivers that never were there.
    """
    with Gpumon() as g:
        on = {x["name"] for x in g.groups() if x["enabled"]}
        rows = g.probe_rows()
    return [(p["group"], p["probe"], p["state"], p["reason"]) for p in rows
            if p["group"] in on and group in (None, p["group"]) and
            (p["state"] == "failed" or "unreadable" in str(p["reason"]))]


def check_reasons(found, when):
    for group, probe, state, reason in found:
        check(reason and WHAT_TO_DO.search(reason),
              "%s of %s is %s %s, and its reason is %r" % (probe, group, state, when, reason))


def group_state(name):
    return {g["group"]: (g["state"], g["reason"]) for g in stats()["groups"]}[name]


def check_told(group, probe, when, doctor=True):
    """The state and reason of a probe: the same in stats, netlink, and a line of doctor's."""
    rows = [p for p in stats()["probes"] if (p["group"], p["probe"]) == (group, probe)]
    equal(len(rows), 1, "rows in stats of %s, %s %s" % (group, probe, when))
    row = rows[0]
    with Gpumon() as g:
        other = [p for p in g.probe_rows() if (p["group"], p["probe"]) == (group, probe)][0]
    equal((other["state"], other["reason"]), (row["state"], row["reason"]),
          "%s in netlink %s" % (probe, when))
    text = run(BUILD + "/gpumon-user", "doctor", check_=False).stdout if doctor else None
    if doctor and row["reason"] not in text:
        print(text)
        fail("doctor does not say of %s %s: %s" % (probe, when, row["reason"]))
    return row
