#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=once timeout=240
"""Random parameters at load: refused with a reason in the log, or taken and then shown.

Seeded: GPUMON_FUZZ_SEED=N repeats a run, GPUMON_FUZZ_SECONDS=N makes it longer. What has to come
of a string is worked out from what modinfo and Documentation say of the parameters.
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

from gpumon_netlink import Gpumon
from lab import (BUILD, KERNEL, SYSTEM_CALLS, check, check_counts, equal, fail, load_gpumon,
                 load_mock, loaded, read, run, step, submit)

PARAMETERS = "/sys/module/gpumon/parameters"
SEED = int(os.environ.get("GPUMON_FUZZ_SEED") or random.SystemRandom().randrange(1 << 32))
SECONDS = float(os.environ.get("GPUMON_FUZZ_SECONDS") or (10 if "-" in KERNEL else 5))

RANGES = {"max_rings": (1, 1024, 64), "max_processes": (8, 65536, 1024),
          "max_jobs": (8, 1048576, 8192), "max_crtcs": (1, 32, 32)}
GROUPS = {"drm_sched": 1, "amdgpu": 1, "amdgpu_registers": 0, "drm_vblank": 1, "nvidia": 1,
          "nvidia_uvm": 1, "i915": 1}
UNKNOWN = ("max_ring", "max_ringss", "MAX_RINGS", "x", "=", "drm_sched.x", "gpumon.max_rings", "%s",
           "\xe9", "max_rings\t", "async_probe_")
NUMBERS = ("", "0", "1", "7", "8", "64", "1024", "1025", "65537", "1048577", "-1", "+64", "0x40",
           "0100", "08", "1e3", "64k", " 64", "4294967295", "4294967296", "4294967360",
           "18446744073709551616", "9" * 40, "NaN", "%n", "64,64", "\"64\"", "\"6", "64\n", "0x",
           "--")
BOOLEANS = ("0", "1", "y", "n", "Y", "N", "on", "off", "of", "o", "", "2", "-1", "maybe", "\"y\"",
            "10")

# In memory and without debugging data, since reading it takes most of the time.
MODULE = os.environ.get("TMPDIR", "/tmp") + "/gpumon.ko"
libc = ctypes.CDLL(None, use_errno=True)
rng = random.Random(SEED)


def finit_module(text):
    """0 or the error; text is bytes without NUL."""
    fd = os.open(MODULE, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.syscall(SYSTEM_CALLS["finit_module"], fd, ctypes.c_char_p(text), 0):
            return ctypes.get_errno()
        return 0
    finally:
        os.close(fd)


def unload():
    if libc.syscall(SYSTEM_CALLS["delete_module"], ctypes.c_char_p(b"gpumon"), os.O_NONBLOCK):
        fail("delete_module: " + os.strerror(ctypes.get_errno()))


# --- what the kernel and the module make of a string

def words(text):
    """[(name, value or None)] as the kernel splits a string: blanks, and quotes around them."""
    found = []
    text = text.lstrip()
    while text:
        quoted = inside = text[0] == "\""
        text = text[quoted:]
        equals = end = 0
        while end < len(text) and not (text[end].isspace() and not inside):
            if not equals and text[end] == "=":
                equals = end
            if text[end] == "\"":
                inside = not inside
            end += 1
        word, text = text[:end], text[end:].lstrip()
        name, value = (word[:equals], word[equals + 1:]) if equals else (word, None)
        # Quotes do not belong to it.
        ends_so = word.endswith("\"")
        if value is not None and value.startswith("\""):
            value = value[1:]
            if ends_so and value:
                value = value[:-1]
            ends_so = False
        if quoted and ends_so:
            if value is None:
                name = name[:-1]
            else:
                value = value[:-1]
        found.append((name, value))
    return found


def number(value):
    """The number that the kernel reads, or None."""
    if value is None:
        return None
    match = re.fullmatch(r"\+?(?:0[xX]([0-9a-fA-F]+)|0([0-7]*)|([1-9][0-9]*))\n?", value)
    if not match:
        return None
    value = int(match.group(1), 16) if match.group(1) else int(match.group(3)) if match.group(3) \
        else int(match.group(2) or "0", 8)
    return value if value < 1 << 32 else None


def boolean(value):
    """What the kernel reads, or None."""
    if value is None or value[:1] in ("y", "Y", "1"):
        return 1
    if value[:1] in ("n", "N", "0"):
        return 0
    return {"on": 1, "of": 0}.get(value[:2].lower())


def judge(text):
    """(accepted, the resulting parameters, name of the refused one)."""
    now = {name: default for name, (_, _, default) in RANGES.items()}
    now.update(GROUPS)
    for name, value in words(text):
        if name == "--" and value is None:
            break
        name = name.replace("-", "_")
        if name in RANGES:
            taken = number(value)
        elif name in GROUPS:
            taken = boolean(value)
        else:
            continue
        if taken is None:
            return False, None, name
        now[name] = taken
    for name, (low, high, _) in RANGES.items():
        if not low <= now[name] <= high:
            return False, None, name
    now["max_jobs"] = 1 << (now["max_jobs"] - 1).bit_length()
    return True, now, None


# --- making them

def one():
    how = rng.randrange(20)
    if how < 9:
        name = rng.choice(sorted(RANGES))
        low, high, default = RANGES[name]
        if rng.random() < 0.4:
            # The largest values take a long time.
            value = str(rng.choice([low, low + 1, default, min(high, 1000), low - 1, high + 1]))
        else:
            value = rng.choice(NUMBERS)
    elif how < 15:
        name, value = rng.choice(sorted(GROUPS)), rng.choice(BOOLEANS)
    elif how < 18:
        name, value = rng.choice(UNKNOWN), rng.choice(NUMBERS)
    else:
        return "".join(rng.choice("max_rings=0123\" -\t\n%") for _ in range(rng.randrange(60)))
    if rng.random() < 0.1:
        name = name.replace("_", "-")
    return name if rng.random() < 0.05 else "%s=%s" % (name, value)


def string():
    parts = [one() for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 6]))]
    if rng.random() < 0.1:
        parts.append(parts[0])
    if rng.random() < 0.03:
        parts = ["x" * rng.randrange(1, 3000) + "=1"] + parts
    return rng.choice([" ", " ", "  ", "\t", "\n"]).join(parts)


# --- doing it

def log_mark():
    with open("/dev/kmsg", "w") as f:
        f.write("gpumon-test: parameters")


def log_since(kmsg):
    """Lines of the log since the mark that was written last."""
    lines = []
    while True:
        try:
            record = os.read(kmsg, 8192).decode(errors="replace")
        except BlockingIOError:
            return lines
        except OSError as e:
            # The log has wrapped around.
            equal(e.errno, errno.EPIPE, "reading the log")
            continue
        text = record.split(";", 1)[1].split("\n", 1)[0]
        lines = [] if "gpumon-test: parameters" in text else lines + [text]


def shown():
    values = {}
    for name in set(os.listdir(PARAMETERS)) - {"reset"}:
        text = read("%s/%s" % (PARAMETERS, name)).strip()
        values[name] = {"Y": 1, "N": 0}[text] if name in GROUPS else int(text)
    return values


def check_loaded(text, now):
    equal(shown(), now, "parameters after %r" % text)
    with Gpumon() as g:
        info = g.info()
        limits = set(RANGES) & set(info)
        equal({n: info[n] for n in limits}, {n: now[n] for n in limits}, "info after %r" % text)
        equal({x["name"]: x["enabled"] for x in g.groups()}, {n: now[n] for n in GROUPS},
              "groups after %r" % text)


def check_unwritable():
    """Limits of a loaded module are read-only, and groups take nothing but on and off."""
    before = shown()
    for name in GROUPS:
        for junk in (b"2", b"-1", b"\0", b"x" * 5000, b" 1"):
            try:
                with open("%s/%s" % (PARAMETERS, name), "wb", buffering=0) as f:
                    f.write(junk)
                fail("%s takes %r" % (name, junk))
            except OSError as e:
                equal(errno.errorcode[e.errno], "EINVAL", "writing %r to %s" % (junk, name))
        for on in 1 - before[name], before[name]:
            with open("%s/%s" % (PARAMETERS, name), "wb", buffering=0) as f:
                f.write(b"%d\n" % on)
            equal(shown(), {**before, name: on}, "parameters after a write to " + name)
    for name in RANGES:
        for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC | os.O_APPEND):
            try:
                fd = os.open("%s/%s" % (PARAMETERS, name), flags)
            except OSError as e:
                equal(errno.errorcode[e.errno], "EACCES", "opening %s to write" % name)
                continue
            for junk in (b"", b"1", b"1\n", b"\0", b"x" * 5000):
                try:
                    check(not os.write(fd, junk), "%s takes %r" % (name, junk))
                except OSError:
                    pass
            os.close(fd)
    equal(shown(), before, "parameters after writes")


step("seed %d (GPUMON_FUZZ_SEED), %g s (GPUMON_FUZZ_SECONDS)" % (SEED, SECONDS))
equal(words('max_rings="1 2" x'), [("max_rings", "1 2"), ("x", None)], "the test itself")
shutil.copy(BUILD + "/gpumon.ko", MODULE)
run("strip", "--strip-debug", MODULE)
kmsg = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
taken = refused = tried = 0
end = time.monotonic() + SECONDS
# First come values that were once mistaken for something else, or could be.
first = ["", "max_jobs=1000", "max_rings", "max_rings=1 max_rings=2 max-rings=3", "drm_sched",
         "-- max_rings=0", "max_rings=0 max_rings=1", "max_jobs=9 nvidia=0 i915=off"]
# A slow machine takes longer to see enough of both.
while first or time.monotonic() < end or (taken < 4 or refused < 2) and tried < 200:
    tried += 1
    text = first.pop(0) if first else string()
    accepted, now, name = judge(text)
    log_mark()
    error = finit_module(text.encode())
    lines = log_since(kmsg)
    if error:
        check(not accepted or error == errno.ENOMEM, "%r is refused with %s: %r" %
              (text, errno.errorcode[error], lines))
        check(any("gpumon" in line and (error == errno.ENOMEM or name in line.replace("-", "_"))
                  for line in lines), "%r is refused, and the log says not why: %r" % (text, lines))
        check(not loaded("gpumon"), "gpumon is there after %r" % text)
        refused += 1
        continue
    check(accepted, "%r is taken, %s should not be: %r" % (text, name, shown()))
    check_loaded(text, now)
    if not taken % 8:
        check_unwritable()
    unload()
    taken += 1
step("%d strings taken, %d refused" % (taken, refused))
check(taken >= 4 and refused >= 2, "not enough of either")
os.close(kmsg)

step("after all that it loads and counts")
load_mock(devices=1, rings=2)
load_gpumon()
submit("-n", 50, "-r", "0,1", "-p", 2, "-w")
check_counts()
step("done")
