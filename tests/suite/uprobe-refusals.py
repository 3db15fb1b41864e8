#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest tool timeout=120
"""What cannot be probed is refused with a reason, and the process is not affected."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import lab
import uprobes
from lab import check, equal, step

NOBODY = 65534


def refusal(*arguments, prefix=(), **options):
    done = lab.run(*prefix, os.path.join(uprobes.OUT, "uprobe-dump"), *map(str, arguments),
                   check_=False, **options)
    line = json.loads(done.stdout.splitlines()[-1])
    equal(line["type"], "error", "it works: %s" % line)
    equal(done.returncode, line["status"], "exit status")
    check(len(line["message"]) > 20 and "\n" not in line["message"], "message")
    print("    %s: %s" % (line["code"], line["message"]))
    return line["code"], line["status"]


def drop():
    os.setgid(NOBODY)
    os.setuid(NOBODY)


uprobes.need()
run = uprobes.Run("program", 1, 50)
run.start()

step("nobody: neither the machine nor the process")
equal(refusal("supported", preexec_fn=drop), ("permission", 77), "supported")
equal(refusal(run.pid, preexec_fn=drop), ("permission", 77), "attach")

step("root of a user namespace")
equal(refusal("supported", prefix=["unshare", "--user", "--map-root-user"]), ("permission", 77),
      "supported")

step("processes that are none")
equal(refusal(0), ("gone", 1), "0")
equal(refusal(-1), ("gone", 1), "-1")
with open("/proc/sys/kernel/pid_max") as f:
    equal(refusal(int(f.read()) - 1), ("gone", 1), "no process")
zombie = subprocess.Popen(["true"])
os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
equal(refusal(zombie.pid), ("gone", 1), "zombie")
zombie.wait()
equal(refusal(2), ("gone", 1), "thread of the kernel")

step("a process without any library of the kind")
equal(refusal(os.getpid()), ("no-library", 1), "this test")

step("a thread instead of a process")
threads = uprobes.Run("program", 1, 10**9, "warm=0", "pause=1000")
threads.start()
threads.go()
tids = []
while len(tids) < 2:
    tids = os.listdir("/proc/%d/task" % threads.pid)
equal(refusal(max(int(t) for t in tids)), ("usage", 2), "thread")
threads.process.kill()
threads.process.wait()

step("the process was not disturbed, and can be probed")
dump = run.dump()
run.go()
uprobes.check_exact(run, run.end(dump))
