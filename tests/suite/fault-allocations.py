#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest tool timeout=120 deep-timeout=3600
"""Every allocation, and every copy from and to userspace, of loading, of a driver that comes, of
netlink requests and dumps, and of the files in debugfs is made to fail in turn.

/proc/self/fail-nth counts the places of this thread where something may fail, and makes the nth
fail. Whatever fails: it is refused with an error and a word why, or succeeds in a reduced form
that says so; what was good stays; nothing is left; and the next load counts exactly.

GPUMON_DEEP=1 tries n = 1, 2, ... of each operation until nothing fails any more. Without, as many
as fit into a few seconds for each operation, in an order drawn with GPUMON_SEED.
"""
import ctypes
import errno
import os
import random
import re
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import fail_nth
import faults
import lab
from fail_nth import call
from faults import DEEP, check_nothing_left, check_reasons, reasons
from gpumon_netlink import (NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NLMSG_DONE, NLMSG_ERROR, Gpumon,
                            Message, align, string, u32)

why = fail_nth.available()
if why:
    lab.skip(why)

SEED = int(os.environ.get("GPUMON_SEED") or 1)
# Where the kernel puts the code of modules: a caller there is gpumon, or the loaded driver.
MODULES = 0xffffffffa0000000, 0xffffffffff000000
# None if the kernel has no such function: then pages of a file are places like all others.
READING = fail_nth.function("kernfs_fop_read_iter")
# Without memory the kernel cannot remove a kprobe from ftrace: it warns and keeps the kprobe
# (kmod/attach/kprobe.c, keep_for_ever()). That is the kernel's fault, and would end every test
# here.
DISARMING = fail_nth.function("__disarm_kprobe_ftrace") or fail_nth.function("disarm_kprobe")
# The same holds for the first pages of an event ring.
PREPARING = fail_nth.function("trace_rb_cpu_prepare")
# And for the events of a driver, which is then not loaded.
DEFINING = fail_nth.function("event_define_fields")
# Errors that missing memory or a missing page can cause.
ERRORS = {errno.ENOMEM, errno.ENOBUFS, errno.EFAULT, errno.EAGAIN, errno.ENFILE, errno.EINTR}
# 7.3 refuses a module so if it had no memory for its BTF ("Max chain length or cycle detected").
LOAD_ERRORS = ERRORS | {errno.ELOOP}

random_ = random.Random(SEED)
injector = fail_nth.Injector()
log = faults.Log()
rows = []
print("seed %d (GPUMON_SEED)" % SEED)
if not injector.has_filter():
    print("no CONFIG_FAULT_INJECTION_STACKTRACE_FILTER: the loader's own allocations are in all")


class Fault:
    """The injected failure, as the kernel reports it."""

    def __init__(self, n):
        self.n = n
        self.lines = log.lines()
        self.ours = [l for l in self.lines if l.startswith("gpumon: ") and "taint" not in l and
                     "signature" not in l]
        # The callers, innermost first.
        self.stack = [re.sub(r"\+0x.*?/0x\w+", "", l.strip()) for l in self.lines
                      if re.match(r" +\S+\+0x\w+/0x\w+", l)]
        self.in_gpumon = any("[gpumon]" in l for l in self.stack)

    def __str__(self):
        callers = [l for l in self.stack if "[gpumon]" in l]
        return "fault %d (%s)" % (self.n, callers[0] if callers else
                                  " < ".join(self.stack[3:9]) or "not reported")


def each(name, calls, check, restore, seconds, callers=None, most=None, without=READING):
    """An operation with each of its places failing; check(fault, calls) after each.

    Reading a large file of sysfs has one place for each page, all alike: they are left out if
    not asked for, and most= are enough then.
    """
    only = (callers, None if callers == without else without)
    injector.only(*only)
    made = calls()
    total = injector.places(made)
    check(None, made)
    restore()
    lab.check(total > 0, "%s: there is nothing that could fail" % name)
    order = list(range(1, total + 1))
    all_ = DEEP and not most
    if not all_:
        random_.shuffle(order)
        if most:
            order = order[:most if DEEP else total]
    begin = told = time.monotonic()
    injected = refused = 0
    n = 0
    while all_ or order:
        if time.monotonic() - told > 60:
            told = time.monotonic()
            lab.step("%s: %d of %d" % (name, injected, total))
        if not DEEP and time.monotonic() - begin > seconds and injected >= 3:
            break
        n = n + 1 if all_ else order.pop()
        made = calls()
        log.lines()
        done, _ = injector.run(n, made)
        fault = Fault(n) if done else None
        injector.only()
        if done:
            injected += 1
            try:
                refused += bool(check(fault, made))
            except SystemExit:
                print("%s: %s" % (name, fault))
                print("\n".join(fault.lines))
                raise
        else:
            check(None, made)
        restore()
        injector.only(*only)
        if all_ and not done:
            break
    injector.only()
    rows.append((name, total, injected, refused))
    lab.step("%s: %d places, %d made to fail, %d of them refused" % rows[-1])
    lab.check(injected, "%s: nothing was injected" % name)


# --- load and unload

lab.load_mock(devices=1, rings=2)
lab.submit("-r", "0,1", "-n", 4, "-w")
module = os.environ["TMPDIR"] + "/gpumon.ko"
shutil.copy(lab.BUILD + "/gpumon.ko", module)
file = os.open(module, os.O_RDONLY)
NOTHING = ctypes.c_char_p(b"")
loads = 0


def load_calls():
    return [call(fail_nth.FINIT_MODULE, file, NOTHING, 0)]


def load_check(fault, calls):
    """Refused and gone, or loaded, and everything missing is reported."""
    global loads
    loads += 1
    if calls[0].end:
        lab.check(fault, "the load failed without a fault: %s" % os.strerror(calls[0].end))
        lab.check(calls[0].end in LOAD_ERRORS, "errno %s" % os.strerror(calls[0].end))
        if fault.in_gpumon:
            lab.check(fault.ours, "gpumon does not say why it was not loaded")
            check_reasons([("", "the load", "refused", l) for l in fault.ours[:1]], "in the log")
        check_nothing_left("after " + str(fault))
        if loads % 10 == 0:
            faults.load_and_work(module, "after " + str(fault))
        return True
    if not fault:
        lab.equal(reasons(), [], "reasons when nothing failed")
    found = reasons()
    check_reasons(found, "after " + str(fault))
    there = os.path.exists(lab.STATS)
    lab.check(there or any("no files in debugfs" in l for l in (fault.ours if fault else [])),
              "nobody tells that debugfs has no files")
    if there:
        lab.stats()
    if found:
        # As the reasons say.
        with Gpumon() as g:
            for name in sorted({f[0] for f in found}):
                g.group_set(name, 0)
                g.group_set(name, 1)
        lab.equal(reasons(), [], "reasons after off and on")
    if there and loads % 5 == 0:
        faults.work(faults.snapshot(), "loaded after " + str(fault))
    return False


def unload():
    if lab.loaded("gpumon"):
        lab.rmmod("gpumon")
        check_nothing_left("after rmmod")


check_nothing_left("at first")
each("load, in gpumon", load_calls, load_check, unload, 30, MODULES)
each("load, reading files", load_calls, load_check, unload, 5, READING, 100)
each("load, all of it", load_calls, load_check, unload, 10)
faults.load_and_work(module, "after loads that failed")


def unload_calls():
    if not lab.loaded("gpumon"):
        lab.run("insmod", module)
    return [call(fail_nth.DELETE_MODULE, ctypes.c_char_p(b"gpumon"), os.O_NONBLOCK)]


def unload_check(fault, calls):
    """No failure may prevent it."""
    lab.check(not calls[0].end, "unload: %s" % os.strerror(calls[0].end))
    check_nothing_left("after an unload with " + str(fault))
    return False


# The kernel's other actions for any module also warn: fprobe_module_callback().
each("unload, in gpumon", unload_calls, unload_check, lambda: None, 5, MODULES, without=DISARMING)
unload()

# --- netlink

lab.load_gpumon()
base = faults.snapshot()
faults.work(base, "before")
mock_then, counted = faults.snapshot()
g = Gpumon()
buffer = ctypes.create_string_buffer(1 << 20)


def request(command, attrs=b"", dump=False):
    flags = NLM_F_REQUEST | NLM_F_ACK | (NLM_F_DUMP if dump else 0)
    data = g.build(g.id, g.command(command), attrs, flags)
    return [call(fail_nth.SENDTO, g.socket.fileno(), ctypes.create_string_buffer(data, len(data)),
                 len(data), 0, 0, 0),
            call(fail_nth.RECVFROM, g.socket.fileno(), buffer, len(buffer), 0x40, 0, 0,
                 until_end=True)]


def messages(data):
    while len(data) >= 16:
        m = Message(data)
        if m.seq == g.seq:
            yield m
        data = data[align(int.from_bytes(data[:4], sys.byteorder)):]


def answer(calls):
    """(number of answers, error or 0, extack); the error of an answer that is lost is -1.

    A dump that the kernel could not go on with is never ended by it: the socket is no use then.
    """
    global g
    count, error, message = read_answer(calls)
    if error:
        g.close()
        g = Gpumon()
    return count, error, message


def read_answer(calls):
    data = buffer.raw[:calls[1].done] if calls[1].tries else b""
    # Pending messages must not be mistaken for the next answer. With a time limit, Python would
    # wait for it.
    patience = g.socket.gettimeout()
    g.socket.settimeout(0)
    while True:
        try:
            data += g.socket.recv(len(buffer))
        except BlockingIOError:
            break
        except OSError:
            continue
    g.socket.settimeout(patience)
    if calls[0].end:
        return 0, calls[0].end, ""
    if calls[1].end == errno.EFAULT:
        # A message that could not be copied to us is lost.
        return 0, -1, ""
    count = 0
    for m in messages(data):
        if m.kind in (NLMSG_ERROR, NLMSG_DONE):
            return count, m.error, m.message
        count += 1
    return count, -1, ""


def what_was_good(fault):
    lab.equal({k: r["queued"] for k, r in lab.rings().items()},
              {k: r["queued"] for k, r in counted.items()}, "what was counted after " + str(fault))


def netlink(name, seconds, command, attrs=b"", dump=False, then=None, without=DISARMING):
    """A request. After each failure, then(fault, error) checks what it changed."""
    expected = []

    def check(fault, calls):
        count, error, message = answer(calls)
        if not fault:
            lab.equal(error, 0, name)
            expected[:] = [count]
        elif error > 0:
            lab.check(error in ERRORS, "%s: %s" % (name, os.strerror(error)))
            # The module must give a reason. A failure of the kernel before that cannot have one.
            if fault.in_gpumon:
                lab.check(faults.WHAT_TO_DO.search(message),
                          "%s: error %d with the words %r" % (name, error, message))
        elif not error and dump:
            lab.check(count <= expected[0] + 2, "%s: %d answers" % (name, count))
            lab.check(count >= expected[0],
                      "%s: %d answers of %d, and no error" % (name, count, expected[0]))
        elif not error:
            lab.equal(count, expected[0], "%s: answers" % name)
        if then:
            then(fault, error)
        return error

    each(name, lambda: request(command, attrs, dump), check, lambda: None, seconds,
         without=without)


lab.step("netlink: what asks")
for name, command, dump in (("info", "INFO_GET", False), ("groups", "GROUP_GET", True),
                            ("processes", "PROCESS_GET", True), ("event ring", "EVENT_RING_GET", False),
                            ("statistics", "STATISTIC_GET", True), ("layouts", "LAYOUT_GET", True),
                            ("alerts", "ALERT_GET", True)):
    netlink("netlink " + name, 1.5, command, dump=dump)
what_was_good("all that")

lab.step("netlink: what changes")
for group in "drm_sched", "drm_vblank":
    name = string(g.a("GROUP_NAME"), group)

    def switched_on(fault, error):
        """Off if it was refused; on, with every failure reported. Afterwards off again."""
        state = faults.group_state(group)
        if error > 0:
            lab.equal(state[0], "off", "%s after it was refused" % group)
        found = reasons(group)
        check_reasons(found, "after " + str(fault))
        lab.check(state[0] in ("off", "attached", "failed"), "%s is %r" % (group, state))
        if state[0] == "failed":
            lab.check(found, "%s failed, and nobody says why" % group)
        g.group_set(group, 0)
        g.group_set(group, 1)
        lab.equal(reasons(group), [], "reasons after off and on")
        g.group_set(group, 0)
        what_was_good(fault)

    def switched_off(fault, error):
        state = faults.group_state(group)[0]
        lab.check(state == "attached" if error > 0 else state in ("attached", "off"),
                  "%s is %s, error %d" % (group, state, error))
        lab.check(error or state == "off", "%s is still %s" % (group, state))
        g.group_set(group, 1)
        lab.equal(faults.group_state(group)[0], "attached", group)

    netlink("group %s off" % group, 3, "GROUP_SET", name + u32(g.a("GROUP_ENABLED"), 0),
            then=switched_off)
    g.group_set(group, 0)
    netlink("group %s on" % group, 8, "GROUP_SET", name + u32(g.a("GROUP_ENABLED"), 1),
            then=switched_on)
    g.group_set(group, 1)

period = g.info()["period"]


def reset_done(fault, error):
    global period
    now = g.info()["period"]
    lab.check(now == period + 1 if not error else now == period if error > 0 else
              now in (period, period + 1),
              "reset: error %d, period %d after %d" % (error, now, period))
    period = now


netlink("reset", 2, "RESET", then=reset_done)


def ring_switched(on):
    def then(fault, error):
        state = g.event_ring()
        lab.check(error == -1 or state["enabled"] == (on if not error else 1 - on),
                  "event ring after error %d: %r" % (error, state))
        g.event_ring_set(1 - on)
    return then


netlink("event ring on", 4, "EVENT_RING_SET", u32(g.a("EVENT_RING_ENABLED"), 1), then=ring_switched(1),
        without=PREPARING)
g.event_ring_set(1)
netlink("event ring off", 2, "EVENT_RING_SET", u32(g.a("EVENT_RING_ENABLED"), 0),
        then=ring_switched(0))
g.event_ring_set(0)


def resized(fault, error):
    state = g.event_ring()
    lab.check(error == -1 or state["size_kib"] == (64 if not error else 128),
              "size after error %d: %r" % (error, state))
    g.event_ring_set(0)
    g.event_ring_set(size_kib=128)


g.event_ring_set(size_kib=128)
netlink("event ring resize and on", 4, "EVENT_RING_SET", u32(g.a("EVENT_RING_SIZE_KIB"), 64) +
        u32(g.a("EVENT_RING_ENABLED"), 1), then=resized, without=PREPARING)

# --- debugfs

lab.step("debugfs")
before = faults.snapshot()
g.event_ring_set(1)
faults.work(before, "with the event ring on")


def file_calls(name):
    path = ctypes.c_char_p(("%s/gpumon/%s" % (lab.DEBUGFS, name)).encode())
    return lambda: [call(fail_nth.OPEN, path, os.O_RDONLY | os.O_NONBLOCK, 0),
                    call(fail_nth.READ, 0, buffer, 65536, until_end=True, take_result=True),
                    call(fail_nth.CLOSE, 0, take_result=True)]


def file_check(name):
    shape = []

    def check(fault, calls):
        ended = [c.end for c in calls if c.end and not
                 (c.end == errno.EAGAIN and name == "events")]
        if ended:
            lab.check(fault, "%s: %s" % (name, os.strerror(ended[0])))
            lab.check(set(ended) <= ERRORS, "%s: %s" % (name, os.strerror(ended[0])))
        text = buffer.raw[:calls[1].done] if calls[1].tries and calls[1].done > 0 else b""
        if name == "events":
            lab.equal(len(text) % 88, 0, "bytes of events")
            ring = g.event_ring()
            lab.equal(ring["written"], ring["overwritten"] + ring["delivered"] + ring["pending"] +
                      ring["dropped"], "sum of the event ring %r" % ring)
            lab.submit("-r", "0,1", "-n", 2, "-w")
            lab.wait_idle()
        elif not ended:
            now = re.findall(rb"(?m)^# .*", text), text.count(b"\n")
            if not fault:
                shape[:] = [now]
            lab.equal(now, shape[0], "sections and lines of " + name)
        return ended
    return check


for name in "stats", "histograms", "events":
    each("debugfs " + name, file_calls(name), file_check(name), lambda: None, 3)
g.event_ring_set(0)
lab.check_sums()

# --- a driver that comes

driver = lab.run("modinfo", "-F", "filename", "gpu_sched").stdout.strip()
driver_file = os.open(driver, os.O_RDONLY)


def driver_goes():
    for name in "mock_gpu", "gpu_sched":
        if lab.loaded(name):
            lab.rmmod(name)


def driver_calls():
    # MODULE_INIT_COMPRESSED_FILE
    flags = 0 if driver.endswith(".ko") else 4
    return [call(fail_nth.FINIT_MODULE, driver_file, NOTHING, flags)]


def driver_check(fault, calls):
    if calls[0].end:
        lab.check(fault, "gpu_sched: %s" % os.strerror(calls[0].end))
        lab.equal(faults.group_state("drm_sched")[0], "waiting", "drm_sched without its driver")
        return True
    found = reasons("drm_sched")
    check_reasons(found, "after " + str(fault))
    if not found:
        lab.equal(faults.group_state("drm_sched")[0], "attached", "drm_sched")
        return False
    if len(rows) % 2:
        g.group_set("drm_sched", 0)
        g.group_set("drm_sched", 1)
    else:
        driver_goes()
        lab.load_scheduler()
    lab.equal(reasons("drm_sched"), [], "reasons after another try")
    lab.equal(faults.group_state("drm_sched")[0], "attached", "drm_sched")
    return False


with open("/proc/modules") as f:
    ours = [line.split() for line in f if line.startswith("gpumon ")][0]
where = int(ours[5], 16)
driver_goes()
each("driver comes, in gpumon", driver_calls, driver_check, driver_goes, 15,
     (where, where + int(ours[1])))
each("driver comes, all of it", driver_calls, driver_check, driver_goes, 5, without=DEFINING)
lab.load_mock(devices=1, rings=2)
faults.work(faults.snapshot(), "with the driver back")
g.close()
unload()
faults.load_and_work(module, "at the end")

print("%-28s %7s %7s %7s" % ("operation", "places", "failed", "refused"))
for row in rows:
    print("%-28s %7d %7d %7d" % row)
print("%d failures were injected" % sum(r[2] for r in rows))
