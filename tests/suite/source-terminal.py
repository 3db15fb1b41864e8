#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=once tool
"""stat by BPF without an end is a snapshot of a second, on a terminal and elsewhere. Who prints until stopped
ends with the terminal, also if hangups are ignored, and stat with its module."""
import json
import os
import pty
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import source_bpf

source_bpf.need()

def on_terminal(*arguments):
    """What stat by BPF prints on a terminal until it ends by itself."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([source_bpf.TOOL, "stat", "--source=bpf", *arguments], stdout=theirs,
                               stderr=theirs, env=dict(os.environ, TERM="xterm"))
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        if b"counting by BPF" in text + part and b"counting by BPF" not in text:
            # Meant for recorders.
            process.send_signal(signal.SIGUSR1)
        text += part
    lab.equal(process.wait(timeout=120 * lab.SLOWER), 0, "exit status")
    os.close(ours)
    return text


text = on_terminal()
lab.check(b"counting by BPF for 1 s" in text, "what it does: %r" % text)
lab.check(re.search(rb"Counted for 1\.\d+s by BPF, since this command began", text), "since when: %r" % text)
lab.equal(text.count(b"GROUPS"), 1, "tables")

lab.step("no terminal: the same")
done = lab.run(source_bpf.TOOL, "stat", "--source=bpf", "--json", timeout=120)
info = json.loads(done.stdout)["gpumon"]
lab.check(info["now_ns"] - info["since_ns"] >= 10**9, "it counts for a second: %r" % info)
lab.check("counting by BPF for 1 s" in done.stderr, "it says so: %r" % done.stderr)

lab.step("a terminal without escape sequences")
for kind in "dumb", "":
    ours, theirs = pty.openpty()
    process = subprocess.Popen([source_bpf.TOOL, "top", "--source=bpf", "-n", "1", "-i", "100ms"],
                               stdin=theirs, stdout=theirs, env=dict(os.environ, TERM=kind))
    lab.equal(process.wait(timeout=120 * lab.SLOWER), 0, "top with TERM=%r" % kind)
    text = os.read(ours, 65536)
    lab.check(text and b"\033" not in text, "top with TERM=%r: %r" % (kind, text))
    os.close(ours)
    os.close(theirs)

lab.step("the terminal goes")
lab.load_gpumon()


def hang_up(*arguments, after=b""):
    """Close its terminal once it has printed that; it has to end, whatever it does then."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([source_bpf.TOOL, *arguments], stdin=theirs, stdout=theirs,
                               stderr=theirs, env=dict(os.environ, TERM="xterm"),
                               preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    os.close(theirs)
    text = b""
    while after not in text:
        text += os.read(ours, 65536)
    os.close(ours)
    process.wait(timeout=60 * lab.SLOWER)


hang_up("stat", "--source=bpf", "-i", "0.2", after=b"drm_sched")
hang_up("stat", "--source=bpf", "-i", "9999")
hang_up("stat", "--source=bpf", "--json", "-d", "9999")
hang_up("stat", "--source=bpf", "-d", "9999")
hang_up("stat", "--source=module", "-i", "0.2", after=b"drm_sched")
hang_up("top", "--source=module", after=b"drm_sched")
hang_up("top", "--source=module", "--batch", "-i", "200ms", after=b"drm_sched")
hang_up("trace", "--source=module", after=b"TIME")
hang_up("alerts")

lab.step("the module goes")
process = subprocess.Popen([source_bpf.TOOL, "stat", "--source=module", "-i", "0.2"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
while "drm_sched" not in process.stdout.readline():
    pass
lab.rmmod("gpumon")
_, said = process.communicate(timeout=60 * lab.SLOWER)
lab.equal(process.returncode, 77, "exit status: %s" % said)
lab.check("unloaded" in said and len(said.splitlines()) == 1, said)
