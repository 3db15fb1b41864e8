#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest icount cpus=2
"""A reader that waits for events is woken: by poll(), by a blocking read(), and when the ring is
switched off.
"""
import os
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import events
import lab
from gpumon_netlink import Gpumon

lab.load(devices=1, rings=1, service_ns=20000)


class Blocking(threading.Thread):
    """Reads until the end."""

    def __init__(self):
        super().__init__(daemon=True)
        self.reader = events.Reader(blocking=True)
        self.found = []
        self.start()

    def run(self):
        while True:
            more = self.reader.read()
            if not more:
                return
            self.found += more


with Gpumon() as g:
    lab.step("nothing there: O_NONBLOCK says so, poll() waits")
    g.event_ring_set(enabled=1, size_kib=256)
    reader = events.Reader()
    lab.equal(reader.read(), None, "read of an empty ring")
    lab.equal(reader.poll(300), 0, "poll() of an empty ring")

    lab.step("few events: poll() is woken though they are no burst")
    submit = threading.Timer(0.5, lab.submit, ("-n", 1, "-w"))
    submit.start()
    start = time.monotonic()
    lab.equal(reader.poll(20000), 1, "poll()")
    print("woken after %.3f s" % (time.monotonic() - start))
    submit.join()
    lab.wait_idle()
    lab.equal(len(reader.drain()), 3, "events of one job")

    lab.step("a blocking read gets few and many, and the end when it is switched off")
    threads = [Blocking(), Blocking()]
    time.sleep(0.3)
    lab.equal([t.is_alive() for t in threads], [True] * 2, "readers wait")
    lab.submit("-n", 1, "-w")
    lab.until(lambda: sum(len(t.found) for t in threads) == 3, "3 events", 10)
    lab.submit("-n", 600, "-b", 50, "-w")
    lab.until(lambda: sum(len(t.found) for t in threads) == 1803, "1803 events", 20)
    lab.equal([t.is_alive() for t in threads], [True] * 2, "readers wait again")
    g.event_ring_set(enabled=0)
    for t in threads:
        t.join(10)
        lab.check(not t.is_alive(), "a reader still waits though the ring is off")
        t.reader.close()
    s = g.event_ring()
    lab.equal((s["written"], s["delivered"]), (1806, 1806), "written and delivered")

    lab.step("a signal ends the wait")
    g.event_ring_set(enabled=1)
    child = os.fork()
    if not child:
        os.read(os.open(lab.EVENTS, os.O_RDONLY), 4096)
        os._exit(1)
    # Its first number is that of the system call in which it sleeps.
    lab.until(lambda: lab.read("/proc/%d/syscall" % child).split()[0] ==
              str(lab.SYSTEM_CALLS["read"]), "the reader waits")
    os.kill(child, signal.SIGTERM)
    lab.equal(os.waitpid(child, 0)[1], signal.SIGTERM, "status of the reader")
    reader.close()

    lab.step("the module cannot go while the ring is read, and goes then")
    reader = events.Reader()
    lab.check(lab.run("rmmod", "gpumon", check_=False).returncode, "rmmod with a reader")
    reader.close()
lab.rmmod("gpumon")
