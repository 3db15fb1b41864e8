# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""ftrace by its files, as the peer that sees the same events. Paths are those below tracefs."""
import os

import lab

FOLDER = "/sys/kernel/tracing/"
LOST = "overrun", "commit overrun", "dropped events"


def exists(path):
    return os.path.exists(FOLDER + path)


def names(path):
    return os.listdir(FOLDER + path)


def read(path="trace"):
    return lab.read(FOLDER + path)


def write(path, text, append=False):
    """Write the whole text at once, replacing the contents."""
    fd = os.open(FOLDER + path, os.O_WRONLY | (os.O_APPEND if append else os.O_TRUNC))
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def enable(event, on=True):
    """An event, or all of a system's: "drm/drm_vblank_event", "drm"."""
    write("events/%s/enable" % event, "1" if on else "0")


def clear():
    write("trace", "")


def buffers():
    """{count: sum over all CPUs} of the buffers' own stats: "entries", "overrun"."""
    total = {}
    for cpu in names("per_cpu"):
        for line in read("per_cpu/%s/stats" % cpu).splitlines():
            name, _, number = line.partition(": ")
            if number.isdigit():
                total[name] = total.get(name, 0) + int(number)
    return total


def lost(stats):
    """From the result of buffers()."""
    return sum(stats[name] for name in LOST)


def lost_nothing():
    """Fail if a buffer was too small."""
    lab.equal(lost(buffers()), 0, "events that ftrace lost")


def matches(pattern):
    """The match of each event's line, in the order of the trace; fail if there is another line."""
    found = []
    for line in read().splitlines():
        m = pattern.match(line)
        if m:
            found.append(m)
        else:
            lab.check(line.startswith("#"), "not understood: " + line)
    return found
