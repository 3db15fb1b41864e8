# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Storms: things that go on and on side by side, each with dice of its own, all from one seed.

    def test():
        storm.rage(10, [Jobs(), Readers()])
    storm.main(test)

The seed is printed at the start and goes into the kernel's log, so that a VM that dies has told
it; on failure the last line has the command that repeats it. A seed repeats what each storm
decides, and in what order. It cannot repeat how the kernel runs them side by side.
"""
import collections
import os
import random
import sys
import threading
import time
import traceback

import lab
import memory

NAME = os.path.basename(sys.argv[0])[:-len(".py")]
DEEP = os.environ.get("GPUMON_DEEP", "") not in ("", "0")
# A sanitiser makes everything about ten times slower. Allow four times the time.
SLOW = int(os.environ.get("GPUMON_SLOWER") or 1) > 1

REPEAT = "repeat: %sGPUMON_SEED=%%d tests/vm/test %s %s" % ("GPUMON_DEEP=1 " if DEEP else "",
                                                           lab.KERNEL, NAME)


def _seed():
    text = os.environ.get("GPUMON_SEED", "")
    if not text:
        return random.SystemRandom().randrange(1, 1 << 31)
    if not text.isdigit():
        sys.exit("GPUMON_SEED is %r: give it a number" % text)
    return int(text)


SEED = _seed()


def seconds(short, deep=None):
    """How long a storm lasts: in make check, and with GPUMON_DEEP=1."""
    if DEEP:
        return deep or 20 * short
    return 4 * short if SLOW else short


def dice(name):
    """A random generator that only depends on the seed and the name."""
    return random.Random("%d %s" % (SEED, name))


def main(test):
    """Run a test. Its seed is known whatever happens."""
    text = "%s: seed %d%s" % (NAME, SEED, ", deep" if DEEP else "")
    print(text + ", " + REPEAT % SEED, flush=True)
    with open("/dev/kmsg", "w") as f:
        f.write("<4>gpumon-storm: %s\n" % text)
    try:
        test()
    except SystemExit as e:
        if e.code in (None, 0, 77):
            raise
        sys.exit("%s; %s" % (e.code, REPEAT % SEED))
    except BaseException as e:
        traceback.print_exc()
        sys.stderr.flush()
        sys.exit("FAILED: %s: %s; %s" % (type(e).__name__, e, REPEAT % SEED))


class Storm(threading.Thread):
    """One of them. turn() is called again and again until all is over.

    self.random is its dice, self.counts what it did, for the report. What it needs at least to
    have tested anything is in least, {what: number}.
    """
    # Seconds between two turns.
    pause = 0.0, 0.1
    # For the last turn, on a host that gives the VM little CPU time.
    patience = 240 if SLOW else 90
    least = {"turns": 1}
    numbers = collections.Counter()

    def __init__(self, **least):
        kind = type(self).__name__
        number = Storm.numbers[kind]
        Storm.numbers[kind] += 1
        super().__init__(name="%s%s" % (kind, number or ""), daemon=True)
        self.random = dice(self.name)
        self.counts = collections.Counter()
        self.least = dict(self.least, **least)
        self.over = threading.Event()
        self.calm = False
        self.failure = None

    def begin(self):
        """Before the first turn, in the storm's own thread."""

    def turn(self):
        raise NotImplementedError

    def end(self):
        """After the last turn, also after a failure."""

    def missing(self):
        """What it did too rarely."""
        return ", ".join("%s %d times of %d" % (what, self.counts[what], least)
                         for what, least in ((w.replace("_", " "), n)
                                             for w, n in self.least.items())
                         if self.counts[what] < least)

    def chance(self, p):
        return self.random.random() < p

    def run(self):
        try:
            self.begin()
            try:
                while not self.over.is_set():
                    self.turn()
                    self.counts["turns"] += 1
                    self.over.wait(self.random.uniform(*self.pause) * (30 if self.calm else 1))
            finally:
                self.end()
        except BaseException as e:
            # SystemExit is lab.fail(), which has printed both sides.
            if not isinstance(e, SystemExit):
                traceback.print_exc()
            lab.step("%s failed: %s" % (self.name, e))
            self.failure = e


def _join(storms):
    begin = time.monotonic()
    for s in storms:
        s.join(max(0.1, begin + s.patience - time.monotonic()))
    hung = [s.name for s in storms if s.is_alive()]
    if hung:
        # Print where it hangs: threads here, and everything that waits in the kernel.
        for thread, frame in sys._current_frames().items():
            print("thread %d:" % thread)
            traceback.print_stack(frame, file=sys.stdout)
        with open("/proc/sysrq-trigger", "w") as f:
            f.write("w")
        print(lab.run("dmesg").stdout[-20000:])
        lab.fail("still at work %d s after the end: %s" %
                 (time.monotonic() - begin, ", ".join(hung)))


def rage(length, storms, last=(), until=None):
    """Let storms rage for so many seconds, then stop them: those of last after the others.

    Longer, up to 60 times, where the host gave the machine too little for what each needs; on a
    slow kernel up to 45 times, of deep ones 15 times. Those that have what they need then leave the
    processors to the rest.
    until: all is over when this one ends by itself. A failure of one is the test's.
    """
    begin = time.monotonic()
    most = (15 if DEEP else 45 if SLOW else 60) * length
    everything = list(storms) + list(last)
    lab.step("%d s of %s" % (length, ", ".join(s.name for s in everything)))
    for s in everything:
        s.start()
    while not any(s.failure for s in everything) and not (until and not until.is_alive()):
        passed = time.monotonic() - begin
        if passed > most or passed > length and not any(s.missing() for s in everything):
            break
        for s in everything:
            s.calm = passed > length and not s.missing()
        time.sleep(0.1)
    for some in storms, last:
        for s in some:
            s.over.set()
        _join(some)
    for s in everything:
        print("    %-18s %s" % (s.name, ", ".join("%s %d" % c for c in sorted(s.counts.items()))))
    sys.stdout.flush()
    for s in everything:
        if s.failure:
            why = s.failure
            lab.fail("%s: %s" % (s.name, str(why).replace("FAILED: ", "") if
                                 isinstance(why, SystemExit) else
                                 "%s: %s" % (type(why).__name__, why)))
    for s in everything:
        lab.check(not s.missing(), "%s: %s, the storm shows nothing" % (s.name, s.missing()))


# --- must be the same before and after

def kinds_of_memory():
    """KiB of each kind."""
    fields, wait = memory.still()
    found = {k: fields[k] for k in ("Slab", "VmallocUsed", "Percpu")}
    # Free pages in per-CPU lists are not in MemAvailable, and may be tens of MiB.
    found["Free"] = fields["MemAvailable"] + wait
    found["in no account"] = memory.in_no_account(fields, wait)
    return found


def quiet_memory():
    """Memory when nothing is under way: caches given back, RCU and workqueues run."""
    with open("/proc/sys/vm/drop_caches", "w") as f:
        f.write("3")
    time.sleep(1)
    return kinds_of_memory()


def check_memory(before, now, rounds, **allowed):
    """KiB that each kind may have grown by, at most."""
    # KASAN keeps freed memory of up to a 32nd of all memory. kmemleak records everything, and finds
    # what is lost.
    kept = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 1024 // 32 \
        if os.path.exists("/sys/kernel/debug/kmemleak") else 0
    limits = dict({"Percpu": 64, "VmallocUsed": 512, "Slab": 2048 + kept,
                   "in no account": 1024 + kept}, **allowed)
    for what, limit in limits.items():
        lab.check(now[what] - before[what] <= limit,
                  "%s grew by %d KiB in %d rounds" % (what, now[what] - before[what], rounds))
    lab.check(before["Free"] - now["Free"] <= 24 * 1024 + kept,
              "free memory fell by %d KiB in %d rounds" % (before["Free"] - now["Free"], rounds))
