#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=once timeout=120
"""Nobody but CAP_NET_ADMIN of the initial user namespace gets anything out of gpumon.

The test starts itself again as the user nobody, in namespaces of its own or
not, and there tries everything. Each attempt is one line "NAME ERRNO"; root
does the same, so that a refusal that comes for another reason is noticed.
"""
import errno
import os
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from gpumon_netlink import (NETLINK_EXT_ACK, NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, SOL_NETLINK,
                            Gpumon, NetlinkError, Socket, attr, header_numbers, string, u32)
from lab import SLOWER, check, equal, load, step, submit, wait_idle

NETLINK_ADD_MEMBERSHIP = 1
NOBODY = 65534
DIRECTORY = "/sys/kernel/debug/gpumon"
# As in the YNL spec. A new operation is tried as a "do", which fails as root until it is listed
# here.
DUMPS_ONLY = ("PROCESS_GET", "STATISTIC_GET", "LAYOUT_GET",
              "ALERT_GET")
DUMPS = DUMPS_ONLY + ("GROUP_GET",)
# Sent by the kernel, not an operation.
NOTIFICATIONS = ("ALERT_NTF",)


def outcome(function, *args):
    try:
        function(*args)
    except OSError as e:
        return errno.errorcode[e.errno]
    return "done"


def attempts(family, group):
    """{attempt: result} for each operation and file."""
    number = header_numbers()
    attrs = {"GROUP_GET": string(number["GPUMON_A_GROUP_NAME"], "drm_sched"),
             "GROUP_SET": string(number["GPUMON_A_GROUP_NAME"], "drm_sched") +
             u32(number["GPUMON_A_GROUP_ENABLED"], 1),
             "EVENT_RING_SET": u32(number["GPUMON_A_EVENT_RING_SIZE_KIB"], 512),
             "LIMIT_SET": u32(number["GPUMON_A_LIMIT_HANG_MS"], 0)}
    out = {}
    with Socket() as s:
        out["look-up"] = outcome(s.family, "gpumon")
        for name, command in sorted(number.items()):
            if not name.startswith("GPUMON_CMD_") or name.endswith("_MAX"):
                continue
            name = name[len("GPUMON_CMD_"):]
            if name in NOTIFICATIONS:
                continue
            if name not in DUMPS_ONLY:
                out["do " + name] = outcome(s.request, family, command, attrs.get(name, b""))
            if name in DUMPS:
                out["dump " + name] = outcome(s.request, family, command, b"",
                                              NLM_F_REQUEST | NLM_F_ACK | NLM_F_DUMP)
        # An unprivileged caller learns nothing from an invalid request either.
        out["wrong attribute"] = outcome(s.request, family, number["GPUMON_CMD_GROUP_SET"],
                                         attr(63, b"?"))
        out["join alerts"] = outcome(s.socket.setsockopt, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP,
                                     group)
    with Socket() as s:
        out["bind alerts"] = outcome(bind_group, group)
    for name in ("stats", "histograms", "events"):
        out["open " + name] = outcome(open_path, "%s/%s" % (DIRECTORY, name), None)
        # debugfs itself is closed to others; this only tries the file.
        if len(sys.argv) > 4:
            out["open in directory " + name] = outcome(open_path, name, int(sys.argv[4]))
    return out


def bind_group(group):
    if group > 32:
        # Only the first 32 fit into the address.
        raise PermissionError(errno.EPERM, "not tried")
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16) as s:
        s.setsockopt(SOL_NETLINK, NETLINK_EXT_ACK, 1)
        s.bind((0, 1 << (group - 1)))


def open_path(path, directory):
    os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK, dir_fd=directory))


def child(*wrapper, user=NOBODY):
    """The result of attempts() as nobody, started through another program."""
    # The user nobody can enter neither root's TMPDIR nor debugfs, but can inherit a descriptor.
    directory = os.open(DIRECTORY, os.O_RDONLY | os.O_DIRECTORY)
    done = subprocess.run([*wrapper, sys.executable, os.path.abspath(__file__), "attempt",
                           str(g.id), str(g.groups_of["alerts"]), str(directory)],
                          stdout=subprocess.PIPE, universal_newlines=True, timeout=60 * SLOWER,
                          user=user, group=user, extra_groups=[], pass_fds=[directory], check=True)
    os.close(directory)
    return dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())


if sys.argv[1:2] == ["attempt"]:
    for what, became in attempts(int(sys.argv[2]), int(sys.argv[3])).items():
        print(what, became)
    sys.exit(0)

load(devices=1, rings=2)
g = Gpumon()
submit("-r", "all", "-n", 4, "-w")
wait_idle()

step("root can do it all")
for what, became in child(user=0).items():
    equal(became, {"wrong attribute": "EINVAL", "bind alerts": "done" if
                   g.groups_of["alerts"] <= 32 else "EPERM"}.get(what, "done"), what + " as root")
before = g.info(), g.groups(), g.event_ring()
number_of_attempts = 0


def unchanged():
    info, groups, event_ring = g.info(), g.groups(), g.event_ring()
    equal((info["period"], groups[0]["enabled"], event_ring), (before[0]["period"],
          before[1][0]["enabled"], before[2]), "what nobody must not change")


step("the user nobody")
for what, became in child().items():
    if what == "look-up":
        # The existence of a family with this name is public.
        equal(became, "done", what + " as nobody")
    elif what.startswith("open"):
        equal(became, "EACCES", what + " as nobody")
    else:
        equal(became, "EPERM", what + " as nobody")
        number_of_attempts += 1
check(number_of_attempts >= 14, "only %d attempts" % number_of_attempts)
unchanged()

step("root of a user namespace, in the initial network namespace")
for what, became in child("unshare", "-Ur").items():
    if what == "look-up":
        equal(became, "done", what)
    elif what.startswith("open"):
        equal(became, "EACCES", what + " as root of a user namespace")
    else:
        equal(became, "EPERM", what + " as root of a user namespace")
unchanged()

step("root of a user and a network namespace: there is no such family")
for what, became in child("unshare", "-Urn").items():
    if what.endswith("alerts"):
        # Joining alone does not matter: no message is sent to this group.
        continue
    if what.startswith("open"):
        equal(became, "EACCES", what + " in a network namespace")
    else:
        equal(became, "ENOENT", what + " in a network namespace")
unchanged()

step("real root in another network namespace: there is no such family either")
for what, became in child("unshare", "-n", user=0).items():
    if what.startswith("open") or what.endswith("alerts"):
        continue
    equal(became, "ENOENT", what + " as root in a network namespace")
unchanged()

step("a socket that root opened and nobody uses")
with Socket() as s:
    pid = os.fork()
    if not pid:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        try:
            s.request(g.id, g.command("INFO_GET"))
        except NetlinkError as e:
            os._exit(0 if e.errno == errno.EPERM else 1)
        os._exit(2)
    equal(os.waitpid(pid, 0)[1], 0, "status of nobody with root's socket (2 = was answered)")
step("done")
