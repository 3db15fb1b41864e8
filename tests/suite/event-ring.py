#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel icount cpus=2
"""The event ring, large enough: a record for every event, as the mock's account has them."""
import os
import sys
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import btf
import events
import lab
from events import DONE, ERROR, KILLED, QUEUE, RUN, WAIT
from gpumon_netlink import Gpumon

# Nanoseconds by which a latency and the times of its records may differ, normally and if the CPU is
# taken away between two clock readings: on sanitised kernels by the host, too, as their clock is its own.
APART = 5000
SLICE = 100000000

lab.load(devices=lab.DEVICES, rings=2, service_ns=30000, distribution="exponential", timeout_ms=0)
with Gpumon() as g:
    lab.step("off: nothing to read, no memory, no record")
    reader = events.Reader()
    lab.submit("-n", 5, "-w")
    lab.equal(reader.read(), [], "read while off")
    state = g.event_ring()
    lab.equal((state["enabled"], state["written"], state["pending"]), (0, 0, 0), "state while off")
    lab.wait_idle()
    base = lab.account()

    lab.step("on: jobs of all kinds, two of them at once")
    g.event_ring_set(enabled=1, size_kib=1024)
    loads = [lab.submitter("-d", "all", "-r", "all", "-n", 80, "-t", 2, "-b", 4, "-w",
                           "--comm", "two words"),
             lab.submitter("-d", lab.LAST_DEVICE, "-r", 0, "-n", 40, "--inline", "--fail", "fence",
                           "--fail-every", 4, "-w"),
             lab.submitter("-d", 0, "-r", 1, "-n", 30, "--fail", "run", "--fail-every", 5, "-w")]
    for p in loads:
        lab.equal(p.wait(60), 0, "exit status of mock_submit")
    lab.submit("-d", 0, "-r", 0, "-n", 3, "-s", 10000000, "-D", "%d:1" % lab.LAST_DEVICE, "-w")
    victim = lab.submitter("-d", lab.LAST_DEVICE, "-r", 1, "-n", 60, "-b", 60, "-s", 20000000, "--linger")
    lab.until(lambda: lab.account()[lab.LAST_DEVICE_NAME, "ring1"]["hw_depth"], "jobs on the hardware")
    lab.until(lambda: lab.mock_processes().get(victim.pid, (0,))[0] == 60, "60 jobs")
    victim.kill()
    victim.wait(30)
    mock = lab.wait_idle()
    found = reader.drain()
    state = g.event_ring()
    lab.equal((state["written"], state["delivered"], state["pending"], state["overwritten"],
               state["dropped"]), (len(found), len(found), 0, 0, 0), "state of the ring")

    lab.step("of the DRM client that fdinfo names, where the kernel says it")
    # Modules of 5.10 have no BTF.
    known = lab.LINE != "5.10" and btf.Btf("gpu_sched").has("struct drm_sched_fence", "drm_client_id")
    for e in found:
        if e.event == QUEUE:
            lab.equal(e.arg, e.pid + (1 << 40) if known else 0, "client of a job of %d" % e.pid)

    lab.step("as many of each kind as the mock and the counters say")
    rings = {r["id"]: r for r in g.rings()}
    ours = lab.rings()
    count = Counter((e.ring, e.event) for e in found)
    for number, r in rings.items():
        key = r["device"], r["name"]
        is_ = {kind: count[number, kind] for kind in (QUEUE, RUN, DONE, WAIT, KILLED, ERROR)}
        delta = {c: mock[key][c] - base[key][c] for c in mock[key]}
        should = {QUEUE: delta["queued"], RUN: delta["run"], DONE: delta["done"],
                  WAIT: ours[key]["dependency_waits"], KILLED: delta["killed"],
                  ERROR: delta["errors"] - delta["killed"]}
        lab.equal(is_, should, "events of %s" % (key,))
    lab.check(all(count_of in {e.event for e in found}
                  for count_of in (QUEUE, RUN, DONE, WAIT, KILLED, ERROR)), "every kind is there")

    lab.step("each job's story")
    jobs, apart = {}, []
    for e in sorted(events.real(found)):
        lab.equal(e.reserved, 0, "reserved")
        jobs.setdefault((e.context, e.seqno), []).append(e)
    for key, story in jobs.items():
        kinds = [e.event for e in story if e.event != WAIT]
        # The error is only visible when the finished fence signals, after done.
        lab.check(kinds in ([QUEUE, RUN, DONE], [QUEUE, RUN, DONE, ERROR], [QUEUE, KILLED]),
                  "job %r: %r" % (key, story))
        lab.equal(len({e.ring for e in story}), 1, "rings of job %r" % (key,))
        queue = story[0]
        lab.check(queue.flags & events.SUBMITTER and queue.pid and queue.tid, "submitter")
        last = queue
        for e in story[1:]:
            if e.event in (RUN, DONE, KILLED):
                lab.equal(e.flags, events.SUBMITTER | events.LATENCY, "flags of %r" % (e,))
                apart.append(abs(e.arg - (e.time - last.time)))
                lab.equal((e.pid, e.tid, e.comm), (queue.pid, queue.tid, queue.comm),
                          "submitter of %r" % (e,))
                last = e
            if e.event in (KILLED, ERROR):
                lab.check(e.error < 0, "error of %r" % (e,))
    # A latency and the times of its two records come from successive clock readings.
    apart.sort()
    lab.check(apart[len(apart) // 2] < APART and apart[-1] < SLICE * lab.SLOWER,
              "latencies and times are apart by %d ns in the middle, %d at most" %
              (apart[len(apart) // 2], apart[-1]))
    lab.equal(sum(1 for s in jobs.values() if s[0].comm == "two words"), 160, "jobs by comm")
    by_pid = Counter(s[0].pid for s in jobs.values())
    theirs = {pid: jobs_ for pid, (jobs_, _) in lab.mock_processes().items() if jobs_ != 5}
    lab.equal(dict(by_pid), theirs, "jobs by pid")
    dependencies = {(e.arg, e.arg2) for e in found if e.event == WAIT}
    lab.check(dependencies & set(jobs), "a dependency names the job that is waited for")

    lab.step("in order on each CPU; depths are never below 0")
    for cpu in {e.cpu for e in found}:
        times = [e.time for e in found if e.cpu == cpu]
        # An interrupt can write its record between another event's clock reading and its slot.
        late = sum(1 for a, b in zip(times, times[1:]) if b < a)
        lab.check(late <= len(times) // 10, "%d of %d out of order" % (late, len(times)))
    for e in found:
        lab.check(e.queue_depth <= 500 and e.hw_depth <= 16, "depths of %r" % (e,))

    lab.step("off: what is there is still read, then the end")
    lab.submit("-n", 10, "-w")
    lab.wait_idle()
    g.event_ring_set(enabled=0)
    lab.submit("-n", 7, "-w")
    lab.equal(len(reader.drain()), 30, "events after it was switched off")
    lab.equal(reader.read(), [], "the end")
    lab.check(reader.poll(1000) & 0x10, "poll() says POLLHUP")
    g.event_ring_set(enabled=1)
    lab.equal(g.event_ring()["written"], 0, "written after it was switched on again")
    lab.equal(reader.read(), None, "nothing to read yet")
    reader.close()
