#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel
"""SIGKILL with queued jobs: they are counted as killed, and no depth remains."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab


def total(rows, column):
    return sum(r[column] for r in rows.values())


lab.load(devices=lab.DEVICES, rings=4 // lab.DEVICES, hw_limit=4, service_ns=30000000, timeout_ms=0)

for turn in range(3):
    lab.step("kill a process with jobs on four rings")
    before = total(lab.account(), "queued")
    # The rings stand until it has been killed, however long that takes.
    holder = lab.held("-d", "all", "-r", "all", "-n", 4)
    victim = lab.submitter("-d", "all", "-r", "all", "-n", 200, "-b", 50, "--linger")
    lab.until(lambda: total(lab.account(), "queued") == before + 204,
              "200 more jobs")
    lab.until(lambda: total(lab.account(), "hw_depth"), "jobs on the hardware")
    lab.check(total(lab.rings(), "queue_depth"), "gpumon sees none queued")
    victim.kill()
    victim.wait(30)
    lab.release(holder)
    mock = lab.wait_idle()
    killed = total(mock, "killed")
    lab.check(killed >= 100 * (turn + 1), "the mock killed only %d" % killed)
    lab.check_counts(mock)

lab.step("several at once, while another goes on")
other = lab.submitter("-d", "all", "-r", "all", "-n", 400, "-s", 50000, "--sync", "-b", 5)
victims = [lab.submitter("-d", "all", "-r", "all", "-n", 60, "-b", 10, "--linger")
           for _ in range(4)]
lab.until(lambda: sum(1 for p in lab.mock_processes().values() if p[0] == 60) >= 4,
          "jobs of the four")
for victim in victims:
    victim.kill()
for victim in victims:
    victim.wait(30)
lab.equal(other.wait(60), 0, "exit status of the one that went on")
lab.check_counts()

lab.step("the scheduler kills only after what is on the hardware: that is held")
holder = lab.held("-d", 0, "-r", 0, "-n", 1)
victim = lab.submitter("-d", 0, "-r", 0, "-n", 40, "-b", 40, "--linger")
lab.until(lambda: lab.rings()["mock_gpu.0", "ring0"]["queue_depth"] == 37, "37 queued")
killed = lab.account()["mock_gpu.0", "ring0"]["killed"]
victim.kill()
victim.wait(30)
row = lab.rings()["mock_gpu.0", "ring0"]
lab.equal((row["queue_depth"], row["hw_depth"], row["killed"]), (37, 4, killed), "while held")
lab.release(holder)
mock = lab.wait_idle()
lab.equal(mock["mock_gpu.0", "ring0"]["killed"], killed + 37, "killed by the mock")
lab.check_counts(mock)

# What a killed job depends on is waited for when the process has gone. On 5.10 and 6.1 the process waits for it.
RING = "mock_gpu.0", "ring1"
for unload in (False, True) if not os.uname().release.startswith(("5.10.", "6.1.")) else ():
    lab.step("killed jobs wait for one of another ring" + unload * ", and gpumon goes")
    before = lab.account()[RING]
    holder = lab.held("-d", 0, "-r", 0, "-n", 1)
    victim = lab.submitter("-d", 0, "-r", 1, "-n", 20, "-b", 20, "-D", "0:0", "--linger")
    lab.until(lambda: lab.account()[RING]["queued"] == before["queued"] + 20, "20 more jobs")
    called = lab.probes()[lab.KILL]["seen"]
    victim.kill()
    lab.until(lambda: lab.probes()[lab.KILL]["seen"] > called,
              "the scheduler to end the first one")
    lab.equal(lab.rings()[RING]["killed"], before["killed"], "killed while held")
    if unload:
        lab.rmmod("gpumon")
    lab.release(holder)
    victim.wait(30)
    mock = lab.wait_idle()
    lab.equal(mock[RING]["killed"], before["killed"] + 20, "killed by the mock")
    if unload:
        lab.load_gpumon()
    else:
        lab.check_counts(mock)

lab.step("while the scheduler pops a job of a killed process")
lab.rmmod("gpumon", "mock_gpu")
lab.load(rings=1, service_ns=200000, flush_ms=1, timeout_ms=0, prepare_us=2000)
turn = 0
# On a busy machine all jobs may have run before they are killed.
while turn < 8 or turn < 100 and not total(lab.account(), "killed"):
    turn += 1
    victims = [lab.submitter("-n", 100, "-b", 100, "--linger") for _ in range(2)]
    lab.until(lambda: total(lab.account(), "queued") == 200 * turn, "200 more jobs")
    for victim in victims:
        victim.kill()
    for victim in victims:
        victim.wait(30)
    lab.check_counts(lab.wait_idle())
lab.check(total(lab.account(), "killed"), "none was killed")
