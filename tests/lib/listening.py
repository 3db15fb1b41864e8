# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The injection library in a process that is not recorded yet."""
import re

from verdict import until


def wait_listening(pid, name=None):
    """Wait until it can be asked to record; name: the process's own pid. A busy machine may take a while."""
    line = re.compile(rf" 00010000 .*gpumon-\d+-{name or pid}(-\d+)?(\.sock)?$", re.MULTILINE)

    def listens():
        with open(f"/proc/{pid}/net/unix", encoding="utf-8", errors="replace") as file:
            return line.search(file.read())
    until(listens, "the library listens", 300)
