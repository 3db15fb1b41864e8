# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The mocks of NVIDIA's driver: loading, driving, and what they say of themselves."""
import fcntl
import os
import struct
import subprocess
import threading
import time

import btf
import lab
import tracefs

MOCK = lab.DEBUGFS + "/mock_nvidia"
UVM = lab.DEBUGFS + "/mock_nvidia_uvm"
LOADER = lab.BUILD + "/tests/mock/mock_nvidia_load"
FACTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nvidia_prototypes.txt")

# Each is a nvidia.ko of its own. These two also have a nvidia-uvm.ko.
VARIANTS = ("535", "550", "550-inlined", "580", "580-untraced")
UVM_VARIANTS = ("550", "580")


def generation(variant):
    """535, 550 or 580, as text."""
    return variant.split("-")[0]


def load(variant="580", **parameters):
    lab.insmod("tests/mock/nvidia-%s/nvidia" % variant, **parameters)


def load_uvm(variant="580"):
    lab.insmod("tests/mock/nvidia-%s/nvidia-uvm" % variant)


def unload(name="nvidia"):
    lab.rmmod(name)
    lab.check(not lab.loaded(name), "%s is still loaded" % name)


def control(*words, folder=MOCK):
    """A command of the mock's control file, raises OSError if it fails."""
    fd = os.open(folder + "/control", os.O_WRONLY)
    try:
        os.write(fd, " ".join(map(str, words)).encode())
    finally:
        os.close(fd)


def lines(text):
    """{name: number} of "name number" lines."""
    rows = {}
    for line in text.splitlines():
        words = line.rsplit(" ", 1)
        if len(words) == 2 and words[1].lstrip("-").isdigit():
            lab.check(words[0] not in rows, "%s is there twice" % words[0])
            rows[words[0]] = int(words[1])
    return rows


_ARGUMENTS = struct.Struct("=QII")


def _command(direction, number, size):
    return direction << 30 | size << 16 | ord("F") << 8 | number


# Made-up commands. The mock serves any direction and number, and refuses each other size.
WRONG = [_command(3, i % 256, 1 + i // 256) for i in range(600)]
SERVED = [_command(direction, number, _ARGUMENTS.size) for direction in range(4)
          for number in range(256)]
SLEEP = _command(3, 42, _ARGUMENTS.size)


def sleep_in_command(fd, seconds):
    fcntl.ioctl(fd, SLEEP, bytearray(_ARGUMENTS.pack(seconds * 10 ** 9, 0, 0)))


def sleep_in_commands(threads, fd, seconds):
    """Each thread sleeps once, all at the same time."""
    begin = threading.Barrier(threads)

    def sleep():
        begin.wait()
        sleep_in_command(fd, seconds)
    # The least that Python and each C library take.
    before = threading.stack_size(256 << 10)
    started = [threading.Thread(target=sleep) for _ in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    threading.stack_size(before)


def call_each(commands):
    """Each made-up command once on /dev/nvidiactl; how many failed."""
    failed = 0
    with open("/dev/nvidiactl", "rb+", buffering=0) as f:
        for one in commands:
            try:
                fcntl.ioctl(f, one, bytearray(_ARGUMENTS.size))
            except OSError:
                failed += 1
    return failed


def account(folder=MOCK):
    """{name: number} by the mock itself: pid/12/opens, gpu/0000:01:00.0/isrs, opens ..."""
    rows = lines(lab.read(folder + "/account"))
    lab.equal(rows["lost"], 0, "counters that the mock had no room for")
    return rows


def devices():
    """[(bus address, [MSI-X irqs], legacy irq)] of the GPUs."""
    gpus = []
    for line in lab.read(MOCK + "/devices").splitlines():
        words = line.split()
        lab.equal((words[2], words[-2]), ("msix", "legacy"), "a line of devices")
        gpus.append((words[1], [int(w) for w in words[3:-2]], int(words[-1])))
    return gpus


def renamed(rows):
    """The loader's account under the mock's names: its minor/N is a GPU's address there."""
    names = {"minor/%d" % i: "gpu/" + gpu[0] for i, gpu in enumerate(devices())}
    names.update({"ctl": "gpu/ctl", "none": "gpu/none"})
    renamed_ = {}
    for name, n in rows.items():
        for old, new in names.items():
            if name.startswith(old + "/"):
                name = new + name[len(old):]
        renamed_[name] = n
    return renamed_


def workload(*arguments, timeout=600):
    """Run mock_nvidia_load to its end; its account, with the mock's names."""
    done = lab.run(LOADER, *map(str, arguments), timeout=timeout, stdin=subprocess.DEVNULL)
    return renamed(lines(done.stdout))


def held_workload(*arguments):
    """Start it with --hold; (process, account) with all handles open.

    released() lets it end.
    """
    process = subprocess.Popen([LOADER, "--hold", *map(str, arguments)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, universal_newlines=True)
    text = ""
    for line in process.stdout:
        if line.strip() == "held":
            return process, renamed(lines(text))
        text += line
    lab.fail("mock_nvidia_load --hold ended early")
    return None


def released(process, timeout=60):
    """Let it end. Returns its last account."""
    text = process.communicate(timeout=timeout * lab.SLOWER)[0]
    lab.equal(process.returncode, 0, "exit status of mock_nvidia_load")
    return renamed(lines(text))


def check_account(theirs, mine=None):
    """Everything that the loader counted is in the mock's account with the same value."""
    mine = account() if mine is None else mine
    for name, n in theirs.items():
        if name != "sleep_ns":
            lab.equal(mine.get(name, 0), n, "%s by the mock, against the loader" % name)


# --- facts about the real driver

def facts(module, of):
    """[(what, name, text)] of a generation, from nvidia_prototypes.txt."""
    rows = []
    with open(FACTS) as f:
        for line in f:
            if line.startswith("#"):
                continue
            words = line.rstrip("\n").split("\t")
            lab.equal(len(words), 5, "columns of nvidia_prototypes.txt: %r" % line)
            if words[0] == module and of in words[1].split(","):
                rows.append(tuple(words[2:]))
    return rows


def _declaration(type_, name):
    if "(*)" in type_:
        return type_.replace("(*)", "(*%s)" % name)
    return type_ + ("" if type_.endswith("*") else " ") + name


def prototype(types, name):
    """A function as it is declared in C, from a module's BTF."""
    returns, arguments = types.function(name)
    return "%s(%s)" % (_declaration(returns, name),
                       ", ".join(_declaration(*a) for a in arguments))


def mock_path(module, variant):
    return "%s/tests/mock/nvidia-%s/%s.ko" % (lab.BUILD, variant, module.replace("_", "-"))


def symbols(path):
    """{name: "T" or "t"}: functions of a built module, global or local.

    From its file: /proc/kallsyms shows of a module what is exported, not what is global.
    """
    with open(path, "rb") as f:
        data = f.read()
    # ELF-64: the section headers, with the symbol table and its strings.
    offset, = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3a)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]
    found = {}
    for _, kind, _, _, at, length, link, _, _, each in headers:
        if kind != 2:
            continue
        strings = headers[link][4]
        for i in range(0, length, each):
            name, info = struct.unpack_from("<IB", data, at + i)
            if info & 15 == 2:
                text = data[strings + name:data.index(b"\0", strings + name)].decode()
                found[text] = "T" if info >> 4 else "t"
    return found


def has_btf(module):
    return os.path.exists("%s/%s" % (btf.FOLDER, module))


def check_facts(module, path, of, without=()):
    """A loaded module has the symbols, prototypes and layouts of its generation; how many of them.

    Without the functions and tracepoints that its build does not have.
    """
    there = symbols(path)
    types = btf.Btf(module) if has_btf(module) else None
    checked = 0
    for what, name, text in facts(module, of):
        if what == "offset":
            if types:
                type_, member = name.split(".", 1)
                lab.equal(types.member(type_, member).offset, int(text), "offset of " + name)
                checked += 1
            continue
        if what == "tracepoint":
            present = tracefs.exists("events/%s/%s" % (module, name))
            lab.equal(present, name not in without, "tracepoint %s is there" % name)
            found = ", ".join(types.tracepoint(name)) if types and present else None
        else:
            present = name not in without
            lab.equal(there.get(name), what if present else None, "symbol %s" % name)
            found = prototype(types, name) if types and present and text != "-" else None
        if found:
            lab.equal(found, text, "prototype")
            checked += 1
    lab.equal("nvidia_frontend_open" in there, (module, of) == ("nvidia", "535"),
              "there is a frontend")
    if types:
        lab.check(checked > 25, "only %d prototypes and offsets were checked" % checked)
    return types is not None


class Hits:
    """ftrace counts how often functions are called, in the place of a watcher of the mock.

    with Hits("nvidia_open") as hits: ...; hits.count["nvidia_open"]; hits.text is the trace.
    """

    def __init__(self, *functions):
        self.functions = functions
        self.count = {}
        self.text = ""

    def __enter__(self):
        for f in self.functions:
            tracefs.write("kprobe_events", "p:mock_hits/%s nvidia:%s\n" % (f.split(".")[0], f), True)
        tracefs.clear()
        tracefs.write("buffer_size_kb", "4096")
        tracefs.enable("mock_hits")
        return self

    @staticmethod
    def is_called(function):
        """Has it been called since?"""
        return any(line.split()[0] == function and line.split()[1] != "0"
                   for line in tracefs.read("kprobe_profile").splitlines())

    def __exit__(self, *error):
        time.sleep(0.1)
        tracefs.enable("mock_hits", False)
        self.text = tracefs.read()
        for line in tracefs.read("kprobe_profile").splitlines():
            name, hits, missed = line.split()
            for function in self.functions:
                if function.split(".")[0] == name:
                    self.count[function] = int(hits)
                    lab.equal(int(missed), 0, "calls of %s that ftrace missed" % name)
        for f in self.functions:
            tracefs.write("kprobe_events", "-:mock_hits/%s\n" % f.split(".")[0], True)
        tracefs.clear()
