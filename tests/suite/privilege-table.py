#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=once tool timeout=240
"""Every cell of the tables in Documentation/user/privilege.md is true, and everything has a row.
"""
import errno
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import actors
from gpumon_netlink import (NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, SOL_NETLINK, Gpumon, Socket,
                            header_numbers, string, u32)
from lab import (BUILD, DEBUGFS, SLOWER, SYSTEM_CALLS, check, equal, load, loaded, read, run, step,
                 submit, wait_idle)

DOCUMENT = BUILD + "/Documentation/user/privilege.md"
SPEC = BUILD + "/Documentation/netlink/specs/gpumon.yaml"
TOOL = BUILD + "/gpumon-user"
DIRECTORY = DEBUGFS + "/gpumon"
PARAMETERS = "/sys/module/gpumon/parameters"
READERS = "correlate flamegraph report frames export diff, own captures"
# The requests set values that are already set.
REQUESTS = {"group-get do": lambda n: string(n["GPUMON_A_GROUP_NAME"], "drm_sched"),
            "group-set do": lambda n: string(n["GPUMON_A_GROUP_NAME"], "drm_sched") +
            u32(n["GPUMON_A_GROUP_ENABLED"], 1),
            "event-ring-set do": lambda n: u32(n["GPUMON_A_EVENT_RING_SIZE_KIB"], 512),
            "limit-set do": lambda n: u32(n["GPUMON_A_LIMIT_HANG_MS"], 0)}


def tables():
    """[[{column: cell}]] of the document, the first column's name is "what"."""
    found, columns = [], None
    for line in read(DOCUMENT).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            columns = None
        elif columns is None:
            columns = ["what"] + cells[1:]
            found.append([])
        elif not line.startswith("|---"):
            equal(len(cells), len(columns), "cells of %s" % line)
            found[-1].append(dict(zip(columns, cells)))
    return [table for table in found if "own namespaces" in table[0]]


def operations():
    """Names of all operations of the YNL spec with their forms: "process-get dump"."""
    text = read(SPEC)
    text = text[text.index("\noperations:"):]
    for body in re.split(r"\n    -\n", text)[1:]:
        name = re.search(r"name: (\S+)", body).group(1)
        for form in "do", "dump":
            if re.search(r"\n      %s:" % form, body):
                yield "%s %s" % (name, form)


def outcome(function, *arguments):
    try:
        function(*arguments)
    except OSError as e:
        return errno.errorcode[e.errno]
    return "yes"


# --- interfaces: {row: function}, each raises OSError or not

def open_file(path, flags=os.O_RDONLY | os.O_NONBLOCK):
    os.close(os.open(path, flags))


def open_below(name):
    """Through the descriptor that root left open: the mode of the file counts, not the folder's.
    """
    os.close(os.open(name, os.O_RDONLY | os.O_NONBLOCK, dir_fd=directory))


def netlink(name):
    command = number["GPUMON_CMD_" + name.split()[0].replace("-", "_").upper()]
    attrs = REQUESTS[name](number) if name in REQUESTS else b""
    flags = NLM_F_REQUEST | NLM_F_ACK | (NLM_F_DUMP if name.endswith("dump") else 0)
    with Socket() as s:
        s.request(family, command, attrs, flags)


def look_up():
    with Socket() as s:
        s.family("gpumon")


def join():
    with Socket() as s:
        s.socket.setsockopt(SOL_NETLINK, actors_join, group)


def bind():
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16) as s:
        # Only the first 32 groups fit into the address.
        if group > 32:
            return join()
        return s.bind((0, 1 << (group - 1)))


def syscall(allowed, *arguments):
    """@allowed: the error that a permitted caller gets for something that does not exist."""
    try:
        actors.call("syscall", *arguments)
    except OSError as e:
        if e.errno != allowed:
            raise


def every_parameter(names, flags):
    for name in names:
        open_file(os.path.join(PARAMETERS, name), flags)


def interfaces():
    found = {"debugfs directory": (open_file, DIRECTORY)}
    for name in files:
        found["debugfs " + name] = (open_below, name)
    found["look up the family"] = (look_up,)
    for name in operations():
        found[name] = (netlink, name)
    for name in groups:
        found["join " + name] = (join,)
        found["bind " + name] = (bind,)
    limits = [name for name in parameters if name.startswith("max_")]
    found["read parameters"] = (every_parameter, [name for name in parameters if name != "reset"],
                                os.O_RDONLY)
    found["write limits"] = (every_parameter, limits, os.O_WRONLY)
    for name in sorted(set(parameters) - set(limits)):
        found["write parameter " + name] = (every_parameter, [name], os.O_WRONLY)
    found["load"] = (syscall, errno.EBADF, SYSTEM_CALLS["finit_module"], -1, b"", 0)
    found["unload"] = (syscall, errno.ENOENT, SYSTEM_CALLS["delete_module"], b"gpumon_not_there", 0)
    return found


def try_interfaces():
    return {name: outcome(*what) for name, what in interfaces().items()}


# --- commands: {row: arguments}; they run in the actor's own folder

def commands(mine, other, pid):
    own = os.path.join(mine, "capture")
    return {
        "stat --source=module": ["stat", "--source=module"],
        "stat --source=bpf": ["stat", "--source=bpf", "--duration", "10ms"],
        "stat --frames": ["stat", "--frames", "--duration", "10ms"],
        "top": ["top", "--batch", "--count", "1", "--interval", "0.1"],
        "trace --source=module": ["trace", "--source=module", "--duration", "10ms"],
        "alerts": ["alerts", "--duration", "10ms"],
        "alerts --last": ["alerts", "--last"],
        "metrics --source=module": ["metrics", "--source=module"],
        "set": ["set", "drm_sched", "on"],
        "doctor": ["doctor"],
        "record, an own program": ["record", "-o", own, "--", "true"],
        "record -p, another user's process": ["record", "-o", mine + "/attached", "-p", str(pid)],
        READERS: [["correlate", own], ["flamegraph", own, "-o", "-"], ["report", own, "-o", "-"], ["frames", own],
                  ["export", "--folded", own], ["diff", own, own]],
        "probe --check": ["probe", "--check", "memtrace"],
        "report, another user's capture": ["report", other, "-o", "-"],
    }


def command(name, words, mine):
    done = subprocess.run([TOOL, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60 * SLOWER, cwd=mine,
                          env=dict(os.environ, GPUMON_INJECT=library, TMPDIR=mine))
    said = done.stderr.decode(errors="replace")
    if name == "doctor":
        good = done.returncode in (0, 1) and b"netlink" in done.stdout
    elif name.startswith("record -p"):
        # It has no library: root gets that message, other users not even that.
        good = not re.search("another user's|not yours|no process", said)
    elif words[0] == "frames":
        # The program has presented nothing, which can be seen in the capture alone.
        good = "no presents" in said
    else:
        good = done.returncode == 0
    # A refusal is one line from gpumon-user with a reason.
    if not good and not re.match(r"gpumon-user: [^\n]{20,}\n$", said):
        return "no, but said %r, status %d" % (said, done.returncode)
    return "yes" if good else "no"


def try_commands(mine, other, pid, number_of_actor):
    """Each actor tries one of the commands that only read files; a program is slow in a VM."""
    tries = commands(mine, other, pid)
    readers = tries.pop(READERS)
    tried = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, words in tries.items():
            tried[name] = pool.submit(command, name, words, mine)
    tried = {name: future.result() for name, future in tried.items()}
    # The output of record.
    tried[READERS] = command(READERS, readers[number_of_actor % len(readers)], mine)
    return tried


# --- all of it

folder = tempfile.mkdtemp()
os.chmod(folder, 0o711)
os.chmod(os.environ["TMPDIR"], 0o711)
library = folder + "/libgpumon-inject.so"
open(library, "w").close()
os.chmod(library, 0o755)
load(devices=1, rings=2)
number, actors_join = header_numbers(), 1
# Else every user reads the kernel's log, and has its alerts.
with open("/proc/sys/kernel/dmesg_restrict", "w", encoding="utf-8") as restricted:
    restricted.write("1")
submit("-r", "all", "-n", 4, "-w")
wait_idle()
g = Gpumon()
family, groups, group = g.id, list(g.groups_of), g.groups_of["alerts"]
directory = os.open(DIRECTORY, os.O_RDONLY | os.O_DIRECTORY)
# Only root may list the first one.
files, parameters = os.listdir(DIRECTORY), os.listdir(PARAMETERS)
# A process and a capture of another user than all actors, except root.
stranger = subprocess.Popen(["sleep", "1000"], user=12345, group=12345, extra_groups=[])
theirs = folder + "/theirs"
run(TOOL, "record", "-q", "-o", theirs, "--", "true", env=dict(os.environ, GPUMON_INJECT=library))
os.chown(theirs, 12345, 12345)
for name in os.listdir(theirs):
    os.chown(theirs + "/" + name, 12345, 12345)

step("nothing is without a row, and no row without something to try")
of_commands, of_interfaces = tables()
equal(sorted(row["what"] for row in of_interfaces), sorted(interfaces()), "interfaces")
equal(sorted(row["what"] for row in of_commands), sorted(commands("", "", 0)), "commands")
names = re.findall(r"^\s+X\((\w+)\)", read(BUILD + "/user/cmd/commands.h"), re.M)
equal(sorted(set(names)), sorted({name for row in of_commands
                                  for name in re.match(r"[a-z ]+", row["what"]).group().split()
                                  if name in names}),
      "commands of gpumon-user")
columns = [column for column in of_interfaces[0] if column != "what"]
equal(columns, [column for column in of_commands[0] if column != "what"], "columns")
cells = 0


def compare(actor, table, tried):
    global cells
    wrong = []
    for row in table:
        is_, should = tried[row["what"]], row[actor]
        cells += 1
        # Kernels check joining a multicast group in another namespace in different ways.
        if should == "-" and is_ in ("yes", "EPERM", "ENOENT"):
            continue
        if is_ != should:
            wrong.append("%s: is %s, should be %s" % (row["what"], is_, should))
    check(not wrong, "%s: %s" % (actor, "; ".join(wrong)))


before = g.info()["period"], g.groups()[0]["enabled"], g.event_ring()
for actor in columns:
    step(actor)
    tried = actors.run(actor, try_interfaces)
    compare(actor, of_interfaces, tried)
    after = g.info()["period"], g.groups()[0]["enabled"], g.event_ring()
    equal(after[0] - before[0], int(tried["reset do"] == "yes"), "resets by %s" % actor)
    equal(after[1:], before[1:], "what is set after %s" % actor)
    before = after
    mine = tempfile.mkdtemp(dir=folder)
    if actor != "root":
        os.chown(mine, actors.NOBODY, actors.NOBODY)
    step("  commands")
    compare(actor, of_commands, actors.run(actor, try_commands, mine, theirs, stranger.pid,
                                            columns.index(actor)))
    shutil.rmtree(mine)
step("%d cells" % cells)
check(loaded("gpumon") and cells >= 9 * 34, "only %d cells" % cells)
stranger.kill()
