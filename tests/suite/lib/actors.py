# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Processes with more or less rights: a function run with them, in a child.

    actors.run("container", function)     what it returns, by pickle
"""
import ctypes
import os
import pickle
import struct

import lab

NOBODY = 65534
CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21, "CAP_PERFMON": 38, "CAP_BPF": 39}
PR_SET_DUMPABLE, PR_SET_KEEPCAPS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 4, 8, 47, 2
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x10000000, 0x20000000, 0x40000000

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    if getattr(libc, name)(*arguments):
        error = ctypes.get_errno()
        raise OSError(error, "%s%r: %s" % (name, arguments, os.strerror(error)))


def become_user():
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    # As after exec(); otherwise its files in /proc belong to root.
    call("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0)


def become_capable(*names):
    """An ordinary user with these capabilities, also after exec()."""
    call("prctl", PR_SET_KEEPCAPS, 1, 0, 0, 0)
    become_user()
    bits = sum(1 << CAPABILITIES[name] for name in names)
    low, high = bits & 0xffffffff, bits >> 32
    header = struct.pack("=Ii", 0x20080522, 0)
    call("capset", header, struct.pack("=6I", low, low, low, high, high, high))
    for name in names:
        call("prctl", PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAPABILITIES[name], 0, 0)


def become_container(spaces):
    become_user()
    call("unshare", CLONE_NEWUSER | spaces)
    for name, text in ("setgroups", "deny"), ("uid_map", "0 65534 1"), ("gid_map", "0 65534 1"):
        with open("/proc/self/" + name, "w") as file:
            file.write(text)
    if spaces & CLONE_NEWPID:
        # Its children are in the new namespace, but not the process itself.
        pid = os.fork()
        if pid:
            os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 0xff)


ACTORS = {
    "user": become_user,
    "container": lambda: become_container(0),
    "own namespaces": lambda: become_container(CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWNS),
    "root": lambda: None,
}


def become(actor):
    """An entry of ACTORS, or names of capabilities: "CAP_BPF CAP_PERFMON"."""
    if actor in ACTORS:
        ACTORS[actor]()
    else:
        become_capable(*actor.split())


def run(actor, function, *arguments):
    """The return value of a function that runs as the given actor."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.close(read)
            become(actor)
            result = "returned", function(*arguments)
        except BaseException as error:  # pylint: disable=broad-except
            result = "raised", repr(error)
        with os.fdopen(write, "wb") as file:
            pickle.dump(result, file)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        data = file.read()
    os.waitpid(pid, 0)
    lab.check(data, "%s said nothing" % actor)
    how, result = pickle.loads(data)
    lab.equal(how, "returned", "what %s did: %s" % (actor, result))
    return result
