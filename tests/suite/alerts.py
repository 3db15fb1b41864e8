#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=once tool icount cpus=2 timeout=240
"""gpumon-user alerts: each alert once, with the driver's message; commands get it in their
environment, which is never run as shell code; the last ones; exact counts, whatever repeats.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import nvidia
from faults import DEBUG_MODULE, parameter
from gpumon_netlink import Gpumon, sent

TOOL = lab.BUILD + "/gpumon-user"
NOBODY = 65534
BEHIND = re.compile(r"gpumon-user: (\d+) alerts are only in the count: "
                    r"they came faster than they were handled\n")
# The log of a kernel that says much, or for long.
OVERWRITTEN = re.compile("gpumon-user: [0-9]+ records of the kernel's log [^\n]*\n")
START = re.compile("gpumon-user: alerts come from [^\n]*\n")
COMM = lab.read("/proc/self/comm").strip()
# As a program that may not read the kernel's log.
NO_LOG = ["setpriv", "--bounding-set=-syslog", "--inh-caps=-syslog"]
# Contents of a message that a shell or a terminal must not interpret.
TRAP = """it's "gone"; touch ran1 $(touch ran2) `touch ran3` | touch ran4 & \x1b[2J > ran5 %s \\n *"""


def sockets(pid):
    """Of the process, generic netlink's: what each has dropped."""
    for line in lab.read("/proc/net/netlink").splitlines()[1:]:
        words = line.split()
        # libnl derives its port from the pid.
        if words[1] == "16" and int(words[2]) & 0x3fffff == pid:
            yield int(words[8])


class Follower:
    """gpumon-user alerts, that listens already."""

    def __init__(self, *arguments, cwd=None, before=()):
        self.out = tempfile.TemporaryFile("w+")
        self.err = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([*before, TOOL, "alerts", *map(str, arguments)], cwd=cwd,
                                        stdin=subprocess.DEVNULL, stdout=self.out,
                                        stderr=self.err)
        # It says so when all of its sources are open.
        lab.until(lambda: os.fstat(self.err.fileno()).st_size, "it listens", pause=0.02)

    def said(self):
        # Not with seek(), since the process writes at the current position.
        text = os.pread(self.out.fileno(), 1 << 24, 0).decode()
        return text.partition("\n")[2] if text.startswith('{"sources":') else text

    def end(self, how=None, status=0, timeout=60):
        """(output, standard error) once it has ended, by itself or by a signal."""
        if how:
            self.process.send_signal(how)
        lab.equal(self.process.wait(timeout * lab.SLOWER), status, "exit status of alerts")
        err = os.pread(self.err.fileno(), 1 << 20, 0).decode()
        lab.check(START.match(err), "it does not begin with its sources: %r" % err)
        return self.said(), START.sub("", OVERWRITTEN.sub("", err))


def documents(text):
    lines = [json.loads(line) for line in text.splitlines()]
    return [line for line in lines if "loss" not in line]


def xids(gpu, *codes, text="x"):
    for code in codes:
        nvidia.control("xid", gpu, code, text)


def one_line(done, status, what):
    lab.equal((done.returncode, done.stderr.count("\n"), done.stderr[:13]),
              (status, 1, "gpumon-user: "), "status and words of alerts " + what)


def ask(*arguments, **options):
    return lab.run(TOOL, "alerts", *map(str, arguments), check_=False, **options)


with open("/proc/sys/kernel/dmesg_restrict", "w", encoding="utf-8") as restricted:
    restricted.write("1")
nvidia.load("580")
lab.load_gpumon()
first, second = (gpu[0] for gpu in nvidia.devices())
folder = tempfile.mkdtemp()
g = Gpumon()

lab.step("before the first there is none")
lab.equal((ask("--last").stdout, ask("--last", "--json").stdout), ("", ""), "the last ones")

lab.step("each once: device, code, message, count")
g.alerts_join()
follower = Follower("--json", "--count", 4)
nvidia.control("xid", 0, 79, "one")
nvidia.control("xid", 1, 79, "two")
nvidia.control("xid-irq", 0, 79, "three")
nvidia.control("xid", 1, 13, "four")
out, err = follower.end()
lab.equal(err, "", "standard error")
found = documents(out)
lab.equal([sent(a) for a in found], [g.alert() for _ in range(4)], "alerts, against netlink")
lab.equal((found[0]["source"], found[0]["process"], found[0]["pid"]), ("kmod", COMM, os.getpid()),
          "source, process")
lab.equal([(a["group"], a["kind"], a["device"], a["code"], a["count"], a["lost"],
            a["message"].rpartition(", ")[2]) for a in found],
          [("nvidia", "xid", first, 79, 1, 0, "one"), ("nvidia", "xid", second, 79, 1, 0, "two"),
           ("nvidia", "xid", first, 79, 2, 0, "three"), ("nvidia", "xid", second, 13, 1, 0, "four")],
          "alerts")

lab.step("as text, one line each; nothing in a message is for the terminal")
follower = Follower("--count", 1)
nvidia.control("xid", 0, 79, TRAP)
out, err = follower.end()
message = g.alert()["message"]
lab.check(message.endswith(TRAP), "message %r" % message)
lab.equal((out.count("\n"), err), (1, ""), "lines, standard error")
lab.check("  %s  xid 79 (GPU fell off the bus)  %s  (3 since load)\n" %
          (first, message.replace("\x1b", "?")) in out,
          "line %r" % out)

lab.step("a command gets it in its environment, and none of it is executed")
NAMES = ("GROUP", "KIND", "DEVICE", "CODE", "COUNT", "TIME_NS", "MESSAGE")
follower = Follower("--json", "--count", 2, "--exec", "printf '%s\\0' " + " ".join(
    '"$GPUMON_ALERT_%s"' % name for name in NAMES) + " >>said", cwd=folder)
nvidia.control("xid", 0, 79, TRAP)
nvidia.control("xid", 1, 31, "plain")
out, err = follower.end()
lab.equal(err, "", "standard error")
given = lab.read(folder + "/said").split("\0")[:-1]
lab.equal([given[:7], given[7:]],
          [[str(a[name.lower()]) for name in NAMES] for a in documents(out)], "environment")
lab.check(given[6].endswith(TRAP), "message %r" % given[6])
lab.equal(os.listdir(folder), ["said"], "what is there after the command")
os.unlink(folder + "/said")

lab.step("a failing command is reported, and the next alert still comes")
follower = Follower("--count", 4, "--exec", "echo >>said; case $GPUMON_ALERT_CODE in "
                    "41) exit 3;; 42) kill -USR1 $$;; 43) no-such-command;; esac", cwd=folder)
# It ignores that, its commands do not.
follower.process.send_signal(signal.SIGUSR1)
xids(0, 41, 42, 43, 44)
out, err = follower.end()
lines = err.splitlines()
lab.equal((out.count("\n"), lab.read(folder + "/said").count("\n")), (4, 4), "alerts, commands")
lab.equal([lines[0], lines[1], lines[-1], len(lines)],
          ["gpumon-user: --exec: exit status 3", "gpumon-user: --exec: killed by signal 10",
           "gpumon-user: --exec: exit status 127", 4], "standard error")

lab.step("the last of each kind, device and code")
kept = g.alerts()
lab.equal(sorted((a["device"], a["code"], a["count"]) for a in kept),
          sorted([(first, 79, 4), (second, 79, 1), (second, 13, 1), (second, 31, 1),
                  (first, 41, 1), (first, 42, 1), (first, 43, 1), (first, 44, 1)]), "kept")
lab.equal([sent(a) for a in documents(ask("--last", "--json").stdout)], kept, "--last --json")
text = ask("--last").stdout
lab.equal(text.count("\n"), len(kept), "lines of --last")
lab.check("  %s  xid 13 (graphics engine exception)  " % second in text and "(4 since load)" in text,
          text)
lab.equal([sent(a) for a in documents(ask("--last", "--json", "--count", 2).stdout)], kept[:2],
          "--last --count 2")

lab.step("what came while it was stopped is told at the next start, and nothing twice")
state = folder + "/state"
follower = Follower("--json", "--resume", state, before=NO_LOG)
xids(0, 79)
lab.until(lambda: [a for a in documents(follower.said()) if (a["code"], a["count"]) == (79, 5)], "the new one")
out, err = follower.end(signal.SIGTERM)
lab.equal(sorted((a["device"], a["code"]) for a in documents(out) if a["count"] != 5),
          sorted((a["device"], a["code"]) for a in kept), "at the first start, what the module had kept")
for missed in [(0, 79), (0, 79), (1, 13)], []:
    for gpu, code in missed:
        xids(gpu, code)
    follower = Follower("--json", "--resume", state, before=NO_LOG)
    if missed:
        lab.until(lambda: documents(follower.said())[1:], "two of them")
    out, err = follower.end(signal.SIGTERM)
    lab.equal(sorted((a["device"], a["code"], a["count"]) for a in documents(out)),
              sorted([(first, 79, 7), (second, 13, 2)]) if missed else [], "told after a pause")
    lab.equal(BEHIND.findall(err), ["1"] if missed else [], "only in the count")
os.unlink(state)

lab.step("it ends in time, whether alerts come or not, and says how many still waited for a command")
begin = time.monotonic()
done = ask("--duration", "300ms")
lab.equal((done.returncode, done.stdout, START.sub("", done.stderr)), (0, "", ""),
          "nothing happened")
lab.within(time.monotonic() - begin, 0.3, 10, "seconds for --duration 300ms")
for how, arguments in (None, ["--duration", 2]), (signal.SIGTERM, []):
    follower = Follower("--exec", "sleep 1", *arguments)
    begin = time.monotonic()
    xids(1, *[50] * 40)
    lab.until(follower.said, "the first of them")
    out, err = follower.end(how)
    lab.within(time.monotonic() - begin, 0, 20, "seconds until it ended")
    waited = re.search(r"^gpumon-user: --exec: no command for (\d+) alerts: it ended before\n\Z", err, re.M)
    lab.check(waited, "standard error: %r" % err)
    lab.within(int(waited[1]), 1, 39, "alerts that waited for a command of a second each")
    shown, told = out.count("\n"), sum(map(int, BEHIND.findall(err)))
    lab.equal(BEHIND.sub("", err), waited[0], "what else is on standard error")
    lab.within(shown + told, 17, 40, "shown, and only in the count")

lab.step("many at once: delivered and reported as not add up to what was fired")
EACH = 300


def fire(cpu, begin, other_end):
    """A process that occupies a processor, from the moment that begin is closed."""
    pid = os.fork()
    if not pid:
        os.sched_setaffinity(0, [cpu])
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.close(other_end)
        os.read(begin, 1)
        for _ in range(EACH):
            nvidia.control("xid-irq" if cpu else "xid", cpu, 62, "burst")
        os._exit(0)
    return pid


follower = Follower("--json")
before = nvidia.account()["xids"]
# It cannot report what was before its first reading.
xids(0, 62)
lab.until(follower.said, "the first one")
# Nobody reads, so the socket overflows.
follower.process.send_signal(signal.SIGSTOP)
many = 0
while not any(sockets(follower.process.pid)):
    lab.check(many < 20000, "the socket never overflows")
    xids(0, *[62] * 100)
    many += 100
# Of what it cannot send in time, the module sends the last, with the right count.
ends = os.pipe()
children = [fire(cpu, *ends) for cpu in (0, 1)]
time.sleep(0.5)
os.close(ends[1])
for child in children:
    lab.equal(os.waitpid(child, 0)[1], 0, "status of the firing process")
os.close(ends[0])
follower.process.send_signal(signal.SIGCONT)
time.sleep(1)
# The next counts show what was not delivered.
for gpu in 0, 1:
    nvidia.control("xid", gpu, 62, "after")
lab.until(lambda: follower.said().count("after") == 2, "the last ones")
out, err = follower.end(signal.SIGINT)
found = documents(out)
told = sum(map(int, BEHIND.findall(err)))
lab.equal(BEHIND.sub("", err), "", "what else is on standard error")
fired = nvidia.account()["xids"] - before
lab.equal(fired, many + 2 * EACH + 3, "Xids by the mock")
lab.equal(len(found) + told, fired, "delivered and reported as not (%d)" % told)
counts = {a["device"]: a["count"] for a in found}
lab.equal(sum(counts.values()), fired, "counts")
lab.equal({a["lost"] for a in found}, {0}, "lost")
lab.check(told and len(found) > 2, "nothing came too fast")
for device in first, second:
    numbers = [a["count"] for a in found if a["device"] == device]
    lab.equal(numbers, sorted(set(numbers)), "each once, in order")

lab.step("a burst of one leaves room for any other, and the counts are those of stat")
# The new socket is not in the group of alerts: on a busy machine unread alerts fill a member's.
g.close()
g = Gpumon()


def counted(code):
    """Counts of a code by device: of the last ones, and of the rows."""
    return ({a["device"]: a["count"] for a in g.alerts() if a["code"] == code},
            {r["device"]: r["xids"] for r in lab.stats()["nvidia.xids"] if r["code"] == code})


for size in 20, 100, 400:
    follower = Follower("--json")
    had = counted(79)[0][second]
    nvidia.control("xid-burst", 0, 200 + size, 1, size, 1, 79)
    lab.until(lambda: "after the burst" in follower.said(), "the other")
    lab.until(lambda: counted(79)[0][second] == had + 1, "the other is counted")
    # The last of the burst says how many there were.
    lab.until(lambda: [a for a in documents(follower.said()) if a["count"] == size], "all of it")
    out, err = follower.end(signal.SIGINT)
    shown = [a for a in documents(out) if a["code"] == 200 + size]
    lab.equal(len(shown) + sum(map(int, BEHIND.findall(err))), size, "shown, and only counted")
    lab.equal([a["code"] for a in documents(out)].count(79), 1, "alerts of the other")
    for code in 79, 200 + size:
        lab.equal(*counted(code), "counts of code %d: the last ones, stat" % code)

lab.step("a full device is named")
with open("/dev/full", "w", encoding="utf-8") as full:
    for arguments in [], ["--json"]:
        done = subprocess.run([TOOL, "alerts", "--last"] + arguments, stdout=full,
                              stderr=subprocess.PIPE, text=True, check=False)
        lab.equal(done.returncode, 1, "exit status")
        lab.check("No space left" in done.stderr, done.stderr)

lab.step("users without the right")
for arguments in [], ["--last"], ["--exec", "touch ran"], ["--json"]:
    done = ask(*arguments, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/")
    one_line(done, 77, "%s as nobody" % arguments)
    if "--json" in arguments:
        lab.equal(documents(done.stdout)[0]["error"]["code"], "permission", "error")
    else:
        lab.equal(done.stdout, "", "output as nobody")
for arguments in ["--exec", ""], ["--last", "--exec", "true"], ["--count", "0"], ["more"]:
    one_line(ask(*arguments), 2, "%s" % arguments)

lab.step("of no device: unknown")
nvidia.unload()
nvidia.load("580-untraced")
follower = Follower("--json", "--count", 1, before=NO_LOG)
nvidia.control("xid", "-", 31, "of no device")
out, err = follower.end()
lab.equal([(a["device"], a["code"], a["count"]) for a in documents(out)], [(None, 31, 1)], "alert")
done = lab.run(*NO_LOG, TOOL, "alerts", "--last")
lab.check("  -  xid 31 (GPU memory page fault)  " in done.stdout, "no line of it in --last")

lab.step("the module goes, and comes again without them")
follower = Follower("--json", before=NO_LOG)
g.close()
xids(0, 45)
lab.rmmod("gpumon")
out, err = follower.end(status=1)
lab.equal([a.get("code") for a in documents(out)][0], 45, "what came before that")
lab.equal(err, "gpumon-user: the module gpumon was unloaded\n", "standard error")
one_line(lab.run(*NO_LOG, TOOL, "alerts", check_=False), 77, "with neither module nor log")
done = ask("--duration", "100ms")
lab.equal((done.returncode, done.stdout), (0, ""), "without the module")
lab.check("from the kernel's log; not from the module (module gpumon is not loaded)" in done.stderr,
          done.stderr)
lab.load_gpumon()
lab.equal(ask("--last").stdout, "", "kept by a new module")
lab.rmmod("gpumon")

lab.step("more kinds than are kept: the oldest go, and it is said how many")
KEPT = 128
lab.load_gpumon()
g = Gpumon()
nvidia.unload()
nvidia.load("580")
nvidia.control("xid-burst", 0, 1000, 100, 1000, 1, 79)
lab.until(lambda: sum(a["count"] for a in g.alerts()) == 1001, "all are counted")
for code in range(100):
    xids(0, 3000 + code)
lab.until(lambda: {a["code"] for a in g.alerts()} >= {3000, 3099}, "the new ones are kept")
lab.until(lambda: len(g.alerts()) == KEPT, "%d are kept" % KEPT)
kept = documents(ask("--last", "--json").stdout)
gone = {a["forgotten"] for a in kept}
lab.equal({a["lost"] for a in kept}, {0}, "lost")
lab.equal(sum(a["count"] for a in kept) + sum(gone), 1101, "kept and forgotten")
lab.equal((len(gone), OVERWRITTEN.sub("", ask("--last").stderr)),
          (1, "gpumon-user: %d older alerts of other devices and codes are not kept any more\n"
           % sum(gone)), "what --last says of them")
g.close()
lab.rmmod("gpumon")

lab.step("one for whose message there is no memory is missed once")
lab.run("insmod", DEBUG_MODULE)
g = Gpumon()


def unsent(code):
    parameter("fail_registration", 1)
    xids(0, code)
    lab.until(lambda: parameter("failed_registration") == "genlmsg_new", "one cannot be sent")


follower = Follower("--json", "--count", 2)
xids(0, 62)
lab.until(follower.said, "the first one")
unsent(62)
xids(0, 62)
out, err = follower.end()
lab.equal(([(a["count"], a["lost"]) for a in documents(out)], BEHIND.findall(err)),
          ([(1, 0), (3, 0)], ["1"]), "counts, lost, and what is said of it")
g.close()
lab.rmmod("gpumon")
nvidia.unload()

lab.step("what the module and the log both have is told once")
lab.load_gpumon()
g = Gpumon()
for generation, source in ("580", "kmod"), ("580-untraced", "log"):
    nvidia.load(generation)
    follower = Follower("--json")
    # The mock writes such ones into the log, too, as the driver does with all.
    nvidia.control("xid", 0, 79, "logged, " + generation)
    lab.until(follower.said, "the alert")
    time.sleep(1)
    out, err = follower.end(signal.SIGINT)
    lab.equal(err, "", "standard error")
    lab.equal([(a["source"], a["device"], a["code"], a["process"], a["pid"],
                a["message"].partition("logged")[2]) for a in documents(out)],
              [(source, first, 79, COMM, os.getpid(), ", " + generation)], "alerts")
    if source == "log":
        break
    nvidia.unload()
g.close()
lab.rmmod("gpumon")

lab.step("without the module: from the log, and never what a process writes there")
follower = Follower("--json", "--count", 1)
with open("/dev/kmsg", "w", encoding="utf-8") as log:
    log.write("<3>NVRM: Xid (PCI:0000:01:00): 79, pid=1, name=x, written by a process\n")
nvidia.control("xid", 1, 31, "logged alone")
out, err = follower.end()
lab.equal([(a["source"], a["device"], a["code"], a["count"]) for a in documents(out)],
          [("log", second, 31, 1)], "alerts")
last = documents(ask("--last", "--json").stdout)
lab.equal([(a["code"], a["count"]) for a in last if a["device"] == second], [(31, 1)],
          "the last of this device")
lab.check(not any("by a process" in a["message"] for a in last), "a process wrote %r" % last)
nvidia.unload()
lab.step("done")
