# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What a task builds and runs, and whether that has changed since the task passed.

`make check` leaves out some tasks whose inputs are as they were when they passed: here, which stamps in
GPUMON_CACHE/passed say, or in the run of tests/results/checks/passed, which is for new machines. Each of
them compiles the module or runs it in a VM, which takes minutes.
"""
import datetime
import functools
import hashlib
import subprocess

import lab

PASSED = lab.TOP / "tests/results/checks/passed"


@functools.lru_cache(maxsize=None)
def all_files():
    """{path: its folders}, of all files that belong to git; None without git: then files that belong to it
    cannot be told from what is built.
    """
    done = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-coz", "--exclude-standard"],
                          cwd=lab.TOP, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if done.returncode:
        return None
    return sorted(set(filter(None, done.stdout.decode().split("\0"))))


def files_below(paths):
    """Files with these names or in these folders. Pages are inputs only by their own name."""
    found = set()
    for path in paths:
        below = [file for file in all_files() if file == path or
                 file.startswith(path + "/") and not file.endswith(".md")]
        if not below:
            lab.die(f"{path} is not there: correct the inputs of tests/runner/tasks.py")
        found.update(below)
    return sorted(found)


@functools.lru_cache(maxsize=None)
def checksum(path):
    try:
        return hashlib.sha256((lab.TOP / path).read_bytes()).hexdigest()
    except OSError:
        return None


@functools.lru_cache(maxsize=None)
def kernel_version(name):
    """The archive's kernels change, too. None if the archive cannot be asked: prepare will say why."""
    done = subprocess.run([lab.VM / "prepare", "--version", name], stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


@functools.lru_cache(maxsize=None)
def recorded():
    """{name: (digest, day)}"""
    lines = [line.split() for line in PASSED.read_text(encoding="utf-8").splitlines()] if PASSED.exists() else []
    return {words[0]: (words[1], words[2]) for words in lines if len(words) == 3}


class Inputs:
    """Files, and a kernel of Debian's."""
    def __init__(self, name, kernel, *paths):
        self.name, self.kernel, self.paths = name, kernel, paths

    @property
    def stamp(self):
        return lab.cache() / "passed" / self.name

    @functools.lru_cache(maxsize=None)
    def digest(self):
        """None if it cannot be known."""
        if all_files() is None:
            return None
        version = kernel_version(self.kernel)
        if version is None:
            return None
        lines = [f"{checksum(path)}  {path}\n" for path in files_below(self.paths) if checksum(path)]
        return hashlib.sha256("".join([*lines, version]).encode()).hexdigest()[:32]

    def passed_on(self):
        """The day on which the task passed with these inputs, None if it did not."""
        digest = self.digest()
        if digest is None:
            return None
        if self.stamp.exists() and self.stamp.read_text(encoding="utf-8").strip() == digest:
            return datetime.date.fromtimestamp(self.stamp.stat().st_mtime).isoformat()
        known = recorded().get(self.name)
        return known[1] if known and known[0] == digest else None

    def has_passed(self, run):
        """Note it here, and in the folder of the run for tests/results/make."""
        digest = self.digest()
        if digest is None:
            return
        self.stamp.parent.mkdir(parents=True, exist_ok=True)
        for path in (self.stamp, run / f"{self.name}.inputs"):
            path.write_text(digest + "\n", encoding="utf-8")
