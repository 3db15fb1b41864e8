#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel tool
"""The jobs of each process equal the mock's list, with blanks in names, threads, and exited
processes. Names and cgroups are the newest that a process had, also when they are gone.
"""
import ctypes
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import fire
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

if "CONFIG_CGROUPS" in lab.missing_options(sections):
    lab.step("the rest is about cgroups, which this kernel has not")
    sys.exit(0)
lab.step("another name and another cgroup after the first job, and then all of it is gone")
CGROUPS = "/sys/fs/cgroup"
IDS = "3f4e1d2c" * 8, "a0b1c2d3" * 8
PR_SET_NAME = 15
libc = ctypes.CDLL(None)
paths = ["/pod.slice/cri-containerd-%s.scope" % one for one in IDS]
for path in paths:
    os.makedirs(CGROUPS + path)
f = fire.Fire()
scheduler = f.new("gpu_sched", "struct drm_gpu_scheduler", name=f.string("made_up"),
                  dev=f.device("made_up"))
jobs, entity, _ = f.scheduler_jobs(scheduler, 5000, 8)
f.flush()


def live(*names_and_paths):
    """A process of these names and in these cgroups, one after the other, with jobs in each."""
    child = os.fork()
    if child:
        lab.equal(os.waitpid(child, 0)[1], 0, "exit status of the child")
        return child
    f.reopen()
    for name, path in names_and_paths:
        libc.prctl(PR_SET_NAME, name, 0, 0, 0)
        with open(CGROUPS + path + "/cgroup.procs", "w") as procs:
            procs.write(str(os.getpid()))
        f.fire("gpu_sched", queue, jobs, entity, times=4)
    os._exit(0)


queue = lab.probe("queue")["probe"]
child = live((b"wine64-preload", paths[0]), (b"Game.exe", paths[1]))
for path in paths:
    os.rmdir(CGROUPS + path)
with Gpumon() as g:
    row, = [p for p in g.processes() if p["pid"] == child]
lab.equal((row["jobs"], row["comm"], row["cgroup"], row["alive"]), (8, "Game.exe", paths[1], 0),
          "the process that is gone")


def container_of(pid):
    document = json.loads(lab.run("./gpumon-user", "stat", "--json").stdout)
    row, = [p for p in document["processes"] if p["pid"] == pid]
    return row["cgroup"], row["container"]


lab.equal(container_of(child), (paths[1], IDS[1][:12]), "its container")
in_root = live((b"in_root", ""))
lab.equal(container_of(in_root), ("/", None), "that of a process in no container")

lab.step("with a hierarchy of version 1 the root of version 2 says nothing")
os.mkdir("/tmp/version_1")
lab.run("mount", "-t", "cgroup", "-o", "none,name=test", "none", "/tmp/version_1")
lab.equal(container_of(in_root), (None, None), "that of a process in the root")
lab.run("umount", "/tmp/version_1")
f.close()
