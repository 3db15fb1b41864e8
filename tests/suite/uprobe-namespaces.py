#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest tool timeout=200
"""Uprobes on a process in other namespaces, whose library paths mean nothing here and whose pid
differs; and on a process whose files were deleted.
"""
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import uprobes
from lab import check, equal, step, until


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(p) for p in f.read().split()]


uprobes.need()
folder = tempfile.mkdtemp(prefix="uprobe-")
for name in os.listdir(uprobes.OUT):
    if name.startswith(("lib", "program")):
        shutil.copy(os.path.join(uprobes.OUT, name), folder)

step("a pid namespace, and a mount namespace in which the files are elsewhere")
there = tempfile.mkdtemp(prefix="uprobe-there-")
script = "mount --bind %s %s && exec \"$@\"" % (folder, there)
run = uprobes.Run("program", 2, 150, out=there,
                  prefix=["unshare", "--pid", "--fork", "--mount", "--mount-proc",
                          "--propagation", "private", "sh", "-c", script, "sh"])
inside = run.start()
outside = until(lambda: children(run.process.pid), "the child in its namespace")[0]
check(not os.path.exists(os.path.join(there, "libcuda.so.1")), "the files are here too")
check(inside != outside, "no pid namespace: %d" % inside)
dump = run.dump(pid=outside)
run.go()
seen = run.end(dump)
# Threads have the program's own numbers.
uprobes.check_exact(run, seen)
process = seen.one("process")
equal((process["pid"], process["host_pid"], process["parent"]), (inside, outside, 0), "process")
equal(process["namespace"] == os.stat("/proc/self/ns/pid").st_ino, False, "our namespace")
for t in seen.records["thread"]:
    check(t["host_tid"] > 0 and t["host_tid"] != t["tid"], "host's number of thread %r" % t)
paths = [seen.strings[m["path"]] for m in seen.records["mapping"]]
check(os.path.join(there, "libcudart.so.13") in paths, "mappings have paths of here: %s" % paths)

step("files that were deleted since")
run = uprobes.Run("program", 2, 150, out=folder)
run.start()
shutil.rmtree(folder)
dump = run.dump()
run.go()
seen = run.end(dump)
uprobes.check_exact(run, seen)
paths = [seen.strings[m["path"]] for m in seen.records["mapping"]]
check(os.path.join(folder, "libcudart.so.13") in paths, "mappings: %s" % paths)
check(all(m["build_id"] for m in seen.records["mapping"]
          if seen.strings[m["path"]].startswith("/usr/lib")), "no build ids")
os.rmdir(there)
