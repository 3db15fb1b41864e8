# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What tasks do. Each function runs in a process of its own and returns whether it passed."""
import hashlib
import os
import pathlib
import re
import subprocess

import lab

WARNING = re.compile(r"(warning|error):")
# Without lab-debug: only tests of the class newest use it. One of check-full would hide that a test of
# another class does, too.
ORDINARY = ("lab-module", "lab-user", "lab-mock", "lab-tests")


# The folder of the logs
run_folder = None


def note_revision(task):
    """For tests/results/make: the commit with which a task passed. With "-dirty" it names none."""
    (run_folder / f"{task}.inputs").write_text((run_folder / "revision").read_text(encoding="utf-8"), encoding="utf-8")


def call(*command, **environment):
    """Run a command; its exit status."""
    return subprocess.run([str(word) for word in command], cwd=lab.TOP, check=False,
                          env=dict(os.environ, **environment)).returncode


def passes(*command, **environment):
    return call(*command, **environment) == 0


def say(line):
    print(line, flush=True)


def tree():
    """What runs on this machine is built in one copy of the sources."""
    return lab.cache() / "build" / lab.host_release()


def each(steps):
    """Run all of them, also after one that failed."""
    return min([step() for step in steps], default=True)


def prepare(name, **environment):
    if not passes(lab.VM / "prepare", name, **environment):
        return False
    say(f"ok prepare/{name}")
    return True


def build(name, *arguments):
    """W=1, without warnings of ours; the kernel's headers have their own. After a warning all is built again
    the next time: what is compiled already would not show it.
    """
    if not passes(lab.VM / "build", name, *arguments):
        return False
    place = lab.cache() / "build" / name
    log = pathlib.Path(f"{place}.log").read_text(encoding="utf-8", errors="replace")
    ours = re.compile(rf"{re.escape(str(place.parent))}/.*(warning|error):|^(kmod|user|tests)/.*(warning|error):")
    warnings = [line for line in log.splitlines() if ours.search(line)]
    # A check by sparse counts only if it was at work.
    if "C=1" in arguments and re.search(r"^  CC \[M\] ", log, re.M) and not re.search(r"^  CHECK  ", log, re.M):
        warnings.append("sparse did not run")
    if warnings:
        lab.remove_as_root(place)
        for line in warnings:
            say("    " + line)
        say(f"not ok build/{name}: warnings under W=1")
        return False
    say(f"ok build/{name}")
    return True


def suite(name, *options, tests=(), **environment):
    """Tests of tests/suite on a kernel"""
    return passes(lab.VM / "run-suite", *options, name, *tests, **environment)


def suite_part(name, part):
    """The tests of a list. On a sanitised kernel they use each part of the module once, with all checks."""
    tests = [words[0] for words in lab.words_of(lab.TOP / "tests/suite" / part)]
    return suite(name, tests=tests, GPUMON_LEAKS="end")


def prepare_and_build(name, *targets):
    return prepare(name) and build(name, *targets)


def build_older(name, *variables):
    lab.remove_as_root(lab.cache() / "build" / name / "gpumon-debug")
    # memory.md has the sizes of the small core for one kernel.
    return build(name, *variables, *ORDINARY, *["lab-core"] * (name == "6.1"))


def nvidia(name):
    """The suite with NVIDIA's real driver. Building the driver takes 8 to 12 minutes once."""
    done = subprocess.run([lab.VM / "prepare", name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    print(done.stdout, end="", flush=True)
    if done.returncode == 77:
        say(f"skip suite-{name}: " + re.sub(r"^==> [^:]*: ", "", done.stdout.strip().split("\n")[-1]))
        return True
    # The rest was built for the kernel; its suite may be running.
    return done.returncode == 0 and build(name, "lab-nvidia") and suite(name)


def build_arm64(name, *targets):
    """The module and the tool (or targets) for it, without a warning"""
    if not prepare_and_build(name, *targets):
        return False
    program = lab.kernel(name).program
    log = pathlib.Path(f"{lab.cache()}/build/{program}.log").read_text(encoding="utf-8", errors="replace")
    warnings = [line for line in log.splitlines() if WARNING.search(line)]
    for line in warnings:
        say(line)
    if warnings:
        say(f"not ok build/{program}: warnings")
    return not warnings


def program():
    if not passes(lab.VM / "build-program", lab.host_release()):
        return False
    say("ok program")
    return True


def make_check(folder, *variables):
    """The tests of a folder, in the copy"""
    return passes("make", "--no-print-directory", "-C", tree() / "tests" / folder, "check", *variables)


def for_others(name):
    """A folder that other users can access, unlike root's cache: tests of privileges start programs in it as
    another user. Each checkout has one of its own, with a short path, for sockets.
    """
    mine = hashlib.sha256(f"{lab.TOP} {lab.cache()}".encode()).hexdigest()[:6]
    folder = pathlib.Path(f"/var/tmp/gpumon-{os.getuid()}-{mine}")
    folder.mkdir(exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        lab.die(f"{folder} belongs to another user")
    folder.chmod(0o755)
    return folder / name


def vm_tests():
    return each([lambda test=test: passes(lab.VM / test)
                 for test in ("test-check-klog", "test-check-config", "test-sanitised", "test-suite-tests", "test-run-suite")])
