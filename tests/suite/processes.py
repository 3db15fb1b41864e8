#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel
"""The jobs of each process equal the mock's list, with blanks in names, threads, and exited
processes.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
from gpumon_netlink import Gpumon

lab.load(devices=2, rings=2, service_ns=20000)

lab.step("processes and threads")
lab.submit("-d", "all", "-r", "all", "-n", 40, "-p", 4, "-t", 3, "-w")
lab.submit("-n", 17, "--comm", "a b  c", "-w")
lab.submit("-n", 5, "--comm", "fifteen letters", "-w")

lab.step("one that is still alive")
alive = lab.submitter("-n", 9, "--comm", "x\ty z", "--linger")
lab.until(lambda: any(p[1] == "x\ty z" for p in lab.mock_processes().values()), "its jobs")
lab.until(lambda: lab.mock_processes()[alive.pid][0] == 9, "all its jobs")
lab.wait_idle()

theirs = lab.mock_processes()
lab.equal(len(theirs), 7, "processes of the mock")
sections = lab.stats()
ours = {p["pid"]: p for p in sections["processes"]}
with Gpumon() as g:
    told = {p["pid"]: p for p in g.processes()}
lab.equal(sorted(ours), sorted(theirs), "pids in stats")
lab.equal(sorted(told), sorted(theirs), "pids in netlink")
for pid, (jobs, comm) in theirs.items():
    lab.equal(ours[pid]["jobs"], jobs, "jobs of %d (%s)" % (pid, comm))
    lab.equal(told[pid]["jobs"], jobs, "jobs of %d (%s) in netlink" % (pid, comm))
    # In text a name is one column, so blanks are replaced. Netlink has the original.
    lab.equal(str(ours[pid]["comm"]), comm.replace(" ", "_").replace("\t", "_"), "comm of %d" % pid)
    lab.equal(told[pid]["comm"], comm, "comm of %d in netlink" % pid)
    lab.equal((ours[pid]["alive"], told[pid]["alive"]), (int(pid == alive.pid),) * 2,
              "alive of %d" % pid)

lab.step("the sum is what was queued")
lab.equal(sum(p["jobs"] for p in ours.values()), sum(r["queued"] for r in lab.rings().values()),
          "sum over the processes")
lab.equal(sections["gpumon"]["processes"], 7, "processes in use")
lab.equal(sections["gpumon"]["jobs_unattributed"], 0, "jobs without a process")
alive.kill()
alive.wait()
