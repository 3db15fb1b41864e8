#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=once
"""stat by BPF without an end shows its counts so far on a terminal."""
import os
import pty
import select
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import source_bpf

source_bpf.need()

ours, theirs = pty.openpty()
process = subprocess.Popen([source_bpf.TOOL, "stat", "--source=bpf"], stdout=theirs, stderr=theirs,
                           env=dict(os.environ, TERM="xterm"))
os.close(theirs)
text, tables = b"", 0
until = time.monotonic() + 120 * lab.SLOWER
while text.count(b"drm_sched") < 2:
    lab.check(time.monotonic() < until, "a second table: %r" % text)
    if select.select([ours], [], [], 1)[0]:
        text += os.read(ours, 65536)
    if not tables and b"drm_sched" in text:
        # Meant for recorders.
        process.send_signal(signal.SIGUSR1)
        tables = 1
lab.check(process.poll() is None, "it goes on")
process.send_signal(signal.SIGINT)
while True:
    try:
        part = os.read(ours, 65536)
    except OSError:
        break
    if not part:
        break
    text += part
lab.equal(process.wait(timeout=120 * lab.SLOWER), 0, "exit status")
lab.check(b"counting by BPF" in text, "what it does: %r" % text)
