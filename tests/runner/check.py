#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""check [--full|--deep] [--continue|NAME...]: runs the tests.

Three tasks run at a time (GPUMON_JOBS=n), each as soon as those that it needs are done. Every test prints one
line: "ok NAME", "not ok NAME: why" or "skip NAME: reason". The explanation of a failure is indented above it.
The last line is "N passed, N failed[, N skipped]".

With names, only those run, and what they need. A NAME is that of a task, or of a test as its line has it:
    check style suite-6.1           two tasks
    check user/test_event_merge     a program of unit tests
    check suite-7/counts            a test of tests/suite on a kernel, in a VM
    check inject/control-c probe/edit/exchange fuzz/capture programs/gcc capture/mixed mutants/ring

tests/README.md says which tests each form runs.
--full: all of tests/suite on all kernels, all builds, the parts of the suite for 7-kasan, 7-builtin and 7-bare, and the
tests with NVIDIA's real driver; these kernels and drivers are built if necessary.
--deep: all of tests/suite on the sanitised kernels of vm/sanitised.list, the long form of storms (GPUMON_DEEP=1)
on 7-rt, and that of failures on demand on 7-faults: with KASAN or KCSAN these would take days. The kernels are
built first, with amdgpu and i915. Each fuzzer runs for ten minutes. tests/mutants changes the code, one place at
a time. All of it takes a night or more; check --deep suite-7-rt runs a part.

--continue: goes on with the last run of this form and this commit. What passed there does not run again, except
what others still need. For a run that was stopped, and for one whose failures had to do with the machine.

Logs and a table of the time of each test stay in GPUMON_CACHE/checks, for the last ten runs.
"""
import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]

import lab  # noqa: E402
import steps  # noqa: E402
import tasks  # noqa: E402
from schedule import Schedule  # noqa: E402

RUNS_KEPT = 10
SLOWEST = 10


def parse():
    parser = argparse.ArgumentParser(prog="check", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    scope = parser.add_mutually_exclusive_group()
    for name in ("full", "deep"):
        scope.add_argument(f"--{name}", dest="scope", action="store_const", const=name, default="check")
    parser.add_argument("--list", action="store_true", help="print the tasks, and why some are left out; nothing runs")
    parser.add_argument("--continue", dest="goes_on", action="store_true", help="leave out what passed in the last run of this commit")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    if options.goes_on and options.names:
        parser.error("--continue goes on with a whole run: leave out the names")
    return options


def print_slowest(run):
    rows = [line.split("\t") for line in (run / "times").read_text(encoding="utf-8").splitlines()] \
        if (run / "times").exists() else []
    print(f"\nThe ten slowest (seconds, of a processor, stolen by the host; all are in {run}/times):")
    for seconds, processor, stolen, task, name in sorted(rows, key=lambda row: -float(row[0]))[:SLOWEST]:
        print(f"{seconds:>8} {processor:>8} {stolen:>8}  "
              f"{name if task in tasks.key_of(name) else f'{task}: {name}'}")


def print_failed(run):
    print(f"\nWhat failed (logs in {run}):")
    for log in sorted(run.glob("*.log")):
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("not ok "):
                print(line)


def revision():
    """The commit; with "-dirty" it names none, and nothing without git."""
    return subprocess.run(["git", "-c", "safe.directory=*", "describe", "--always", "--dirty"], cwd=lab.TOP, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def find_run(scope):
    """The folder of the last whole run of this form and commit."""
    commit = revision()
    if not commit or "-dirty" in commit:
        lab.die("--continue needs a commit: these files are not those of one")
    for run in sorted((lab.cache() / "checks").glob("*"), reverse=True):
        if (run / "whole").exists() and (run / "whole").read_text(encoding="utf-8") == scope and \
                (run / "revision").read_text(encoding="utf-8") == commit:
            return run
    lab.die(f"there is no run of {commit.strip()} to go on with: run it without --continue")


def leave_out_passed(plan, run):
    """Drop tasks that passed in this run, unless others need them. Returns the dropped ones."""
    def passed(task):
        status = run / f"{task.key}.status"
        return status.exists() and status.read_text(encoding="utf-8").strip() == "0"
    every = plan.tasks
    plan.keep([task for task in every if not passed(task)])
    for task in plan.tasks:
        for suffix in ("log", "status"):
            (run / f"{task.key}.{suffix}").unlink(missing_ok=True)
    return [task for task in every if task not in plan.tasks]


def begin_run(whole):
    """The folder of the logs. whole: the form of a run without names."""
    runs = lab.cache() / "checks"
    run = runs / f"{time.strftime('%Y-%m-%d-%H%M%S')}.{os.getpid()}"
    run.mkdir(parents=True)
    (run / "revision").write_text(revision(), encoding="utf-8")
    if whole:
        (run / "whole").write_text(whole, encoding="utf-8")
    for old in sorted(runs.iterdir())[:-RUNS_KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return run


def main():
    options = parse()
    os.chdir(lab.TOP)
    os.environ["GPUMON_CACHE"] = str(lab.cache())
    # Parts of tasks that take long.
    os.environ.pop("GPUMON_FULL", None)
    if options.scope == "full":
        os.environ["GPUMON_FULL"] = "1"
    plan = tasks.Plan(options.scope, is_whole=not options.names)
    if options.names:
        plan.choose(options.names)
    skipped = [task for task in plan.tasks if task.skip]
    if not options.names:
        plan.leave_out()
    if options.list:
        for task in plan.tasks + skipped:
            print(task.name + (f"    (left out: {task.skip})" if task.skip else ""))
        return 0
    if lab.host_release() not in ("bookworm", "trixie"):
        lab.say("the tests are for Debian 12 and 13: on this system some may fail for other reasons than gpumon")
    run = steps.run_folder = find_run(options.scope) if options.goes_on else begin_run("" if options.names else options.scope)
    passed_before = leave_out_passed(plan, run) if options.goes_on else []
    lab.sync_sources(steps.tree())
    schedule = Schedule(plan.tasks, run, int(os.environ.get("GPUMON_JOBS") or 3))
    for task in passed_before:
        schedule.take_passed(task)
    for task in skipped:
        schedule.say(task, f"skip {task.name}: {task.skip}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(130))
    schedule.run_all()
    passed, failed, left_out = (schedule.counts[word] for word in (b"ok", b"not ok", b"skip"))
    print_slowest(run)
    if failed:
        print_failed(run)
    sys.stdout.flush()
    seconds = int(time.monotonic() - schedule.begin)
    lab.say(f"took {seconds // 60} min {seconds % 60} s")
    print(f"{passed} passed, {failed} failed" + (f", {left_out} skipped" if left_out else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
