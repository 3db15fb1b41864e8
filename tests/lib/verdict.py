# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Verdicts of tests in Python: one line for each test, as tests/check counts them.

A test is a function. It returns, or raises Skip with the reason, or anything else: then it
has failed. The same for bash is verdict.sh; tap.py runs programs that print TAP.

What only a runner needs is imported there: tests in a VM, where Python starts slowly, have
their check() and until() from here, too.
"""
import os
import sys
import time

# Every time limit is multiplied by this, for machines that are much slower than usual.
SLOWER = int(os.environ.get("GPUMON_SLOWER") or 1)


# Time limit of a test in seconds.
LIMIT = 600


class Failure(AssertionError):
    """The check failed."""


class Skip(Exception):
    """The test cannot run here; its text is the reason."""


def fail(why):
    raise Failure(why)


def check(is_true, what):
    if not is_true:
        fail(what)


def equal(is_, should, what=""):
    if is_ != should:
        fail("%s: is %r, should be %r" % (what, is_, should))


def within(is_, low, high, what):
    if not low <= is_ <= high:
        fail("%s: is %r, should be in [%r, %r]" % (what, is_, low, high))


def contains(text, part, what):
    if part not in text:
        fail("%s: no %r in %r" % (what, part, text))


def busier():
    """How much longer all takes now than alone, because more processes want to run than there are processors."""
    return max(1, os.getloadavg()[0] / os.cpu_count())


def until(condition, what, timeout=60, pause=0.05):
    """Wait until condition() is true and return its value. A busy machine gets more time."""
    timeout *= SLOWER
    begin = time.monotonic()
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() - begin > timeout * busier():
            fail("%s: not so after %d s" % (what, time.monotonic() - begin))
        time.sleep(pause)


def communicate(process, seconds):
    """What a process says until it ends, as its communicate(). A busy machine gets more time."""
    import subprocess
    begin = time.monotonic()
    while True:
        try:
            return process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            if time.monotonic() - begin > seconds * busier():
                print_threads(process.pid)
                raise


def print_threads(pid):
    """Where the threads of a process that should have ended are, and those of its children."""
    import shutil
    import subprocess
    base = "/proc/%d/task" % pid
    for thread in os.listdir(base) if os.path.exists(base) else ():
        def read(name):
            try:
                with open("%s/%s/%s" % (base, thread, name), encoding="utf-8", errors="replace") as file:
                    return one_line(file.read())
            except OSError as error:
                return error.strerror
        print("    %d/%s: %s" % (pid, thread, ", ".join(map(read, ("comm", "wchan", "syscall", "stack")))))
        for child in read("children").split():
            if child.isdigit():
                print_threads(int(child))
    if shutil.which("gdb"):
        done = subprocess.run(["gdb", "-batch", "-p", str(pid), "-ex", "thread apply all backtrace 20"], check=False,
                              timeout=LIMIT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        print(done.stdout.decode("utf-8", "replace"))
    sys.stdout.flush()


def need(program, package=None):
    """Skip the test where a program is not installed."""
    import shutil
    if not shutil.which(program):
        raise Skip("no " + program + (" (%s)" % package if package else ""))


def report(name, seconds=0, why=None, skipped=None, log=()):
    """Print a test's verdict: failed if why is not None, even if it is empty."""
    for line in log:
        print("    " + line)
    if skipped is not None:
        print("skip %s: %s" % (name, one_line(skipped)))
    else:
        print(("ok " if why is None else "not ok ") + name +
              (": " + one_line(why) if why else "") +
              (" (%.1f s)" % seconds if seconds > 2 else ""))
    sys.stdout.flush()


def one_line(text):
    return " ".join(str(text).split())[:300]


def tests_of(*modules):
    """(name, function) of each function test_NAME in these."""
    return [(name[5:].replace("_", "-"), function) for module in modules
            for name, function in vars(module).items() if name.startswith("test_")]


def run(tests, prefix, wanted=(), jobs=1):
    """Run (name, function) pairs, those with a word of wanted in their name; the exit status.

    With jobs that many run at a time, each in a process of its own: for tests that wait a lot.
    """
    tests = [(prefix + "/" + name, function) for name, function in tests
             if not wanted or any(word.replace("_", "-") in name.replace("_", "-") for word in wanted)]
    if wanted and not tests:
        report(prefix, why="no test has this in its name: " + ", ".join(wanted))
        return 1
    if jobs == 1:
        return max([run_one(*test) for test in tests], default=0)
    import tempfile
    failed, running = 0, {}
    for name, function in tests:
        if len(running) == jobs:
            failed |= wait_for_one(running)
        out = tempfile.TemporaryFile()
        sys.stdout.flush()
        pid = os.fork()
        if not pid:
            os.dup2(out.fileno(), 1)
            os._exit(run_one(name, function))
        running[pid] = name, out
    while running:
        failed |= wait_for_one(running)
    return failed


def run_one(name, function):
    import signal
    failed = 0
    begin = time.monotonic()

    def hangs(_number, _frame):
        left = LIMIT * SLOWER * busier() - (time.monotonic() - begin)
        if left <= 0:
            fail("it hangs after %d s" % (time.monotonic() - begin))
        signal.alarm(int(left) + 1)
    signal.signal(signal.SIGALRM, hangs)
    signal.alarm(LIMIT * SLOWER)
    why = skipped = None
    log = ()
    try:
        function()
    except Skip as reason:
        skipped = reason
    except Exception as error:  # pylint: disable=broad-except
        import traceback
        log = traceback.format_exc().splitlines()
        why = str(error) or type(error).__name__
        failed = 1
    signal.alarm(0)
    report(name, time.monotonic() - begin, why, skipped, log)
    return failed


def wait_for_one(running):
    """Wait until one of them has ended and print its output. Returns whether it failed."""
    pid, status = os.wait()
    name, out = running.pop(pid)
    with out:
        out.seek(0)
        sys.stdout.write(out.read().decode("utf-8", "replace"))
    sys.stdout.flush()
    if status and os.waitstatus_to_exitcode(status) != 1:
        report(name, why="its process ended by %d" % os.waitstatus_to_exitcode(status))
    return 1 if status else 0
