# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What tests/vm/lib.sh knows, for Python: folders, kernels, and copies of the sources."""
import collections
import functools
import os
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
VM = TOP / "tests/vm"
# Those of kernel_select in lib.sh, without their K_.
FIELDS = "name line arch nvidia fragments slower memory dir root build program headers"

Kernel = collections.namedtuple("Kernel", FIELDS)


def cache():
    return pathlib.Path(os.environ.get("GPUMON_CACHE") or pathlib.Path.home() / ".cache/gpumon")


def die(message):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {message}")


def say(message):
    print(f"==> {message}", file=sys.stderr, flush=True)


def shell(script, *arguments):
    """Run commands of bash with the functions of lib.sh; (exit status, output without its last line end)."""
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", f'. "$0"; {script}', str(VM / "lib.sh"), *arguments],
                          stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, check=False)
    return done.returncode, done.stdout.rstrip("\n")


@functools.lru_cache(maxsize=None)
def kernel(name):
    """A kernel of one of the lists of tests/vm."""
    names = " ".join("K_" + field.upper() for field in FIELDS.split())
    status, out = shell(f'kernel_select "$1"; for v in {names}; do echo "${{!v}}"; done', name)
    if status:
        sys.exit(1)
    selected = Kernel(*out.split("\n"))
    return selected._replace(slower=int(selected.slower), memory=int(selected.memory))


def words_of(path):
    """The lines of a list, each as its words; without comments."""
    for line in path.read_text(encoding="utf-8").splitlines():
        words = line.split("#")[0].split()
        if words:
            yield words


def kernels(kind="kernels"):
    """Names of kernels: of Debian's (kernels), old, sanitised, arm64 or nvidia."""
    return [words[0] for words in words_of(VM / f"{kind}.list")]


@functools.lru_cache(maxsize=None)
def host_release():
    with open("/etc/os-release", encoding="utf-8") as file:
        words = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
    return words.get("VERSION_CODENAME", "unknown").strip('"')


def sync_sources(folder):
    """Copy the current sources; unchanged files keep their times there."""
    if shell('sync_sources "$1"', str(folder))[0]:
        die(f"the sources could not be copied to {folder}")


def remove_as_root(folder):
    """Remove what another user may have written in a root."""
    shell('as_root rm -rf "$1"', str(folder))
