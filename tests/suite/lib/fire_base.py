# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What all of fire.py shares: objects, commands, firing. Use fire.py."""
import errno
import functools
import os
from collections import namedtuple

import btf
import lab

FOLDER = lab.DEBUGFS + "/fire_gpu"
# The kernel accepts up to a megabyte.
LIMIT = 500000

# --- values that are not objects, but may be passed as an address


class Word(str):
    """A word of the command language."""


NULL = Word("null")
# Not a valid address.
POISON = Word("poison")
# One where nothing is mapped.
UNMAPPED = Word("unmapped")
# One of the writing process.
USER = Word("user")
FENCE_OPS = Word("fence_ops")
DEVICE_TYPE = Word("device_type")
BAD = (NULL, POISON, UNMAPPED, USER)

Fired = namedtuple("Fired", "calls first_ns last_ns")


@functools.lru_cache
def home(module):
    """Where a module's types and tracepoints are: in the kernel, if it is built in."""
    path = "/lib/modules/%s/modules.builtin" % os.uname().release
    if not os.path.exists(path):
        return module
    with open(path) as file:
        built_in = {os.path.basename(line.strip())[:-len(".ko")].replace("-", "_") for line in file}
    return "vmlinux" if module in built_in else module


class FireError(OSError):
    """What the module said when a command failed."""


class Step:
    """An argument that grows with each call."""

    def __init__(self, value, step=1):
        self.value, self.step = value, step


class Object:
    """Made-up memory of one type, or of none; an array if count is more than 1."""

    def __init__(self, fire, name, types, kind, size, count):
        self.fire, self.name, self.types, self.kind = fire, name, types, kind
        self.size, self.count = size, count
        # Objects that it points to, freed with it.
        self.owned = []
        # For an engine: its device object.
        self.device = None

    def has(self, path):
        return self.types.has(self.kind, path)

    def set(self, path, value, index=None):
        """Set a member: in all elements, in one, or to what value(i) gives in each."""
        member = self.types.member(self.kind, path)
        for i in range(self.count) if index is None else (index,):
            self._set(member, i * self.size, value(i) if callable(value) else value)
        return self

    def maybe(self, path, value):
        """Set a member if this kernel has it."""
        return self.set(path, value) if self.has(path) else self

    def _set(self, member, base, value):
        if isinstance(value, str) and not isinstance(value, Word) and not value.startswith("@"):
            lab.check(len(value) < member.size, "%r does not fit into %s" % (value, member))
            self.fire.later("string %s %d %s" % (self.name, base + member.offset, value))
        elif member.bits:
            self.fire.later("bits %s %d %d %d" % (self.name, 8 * base + member.bit, member.bits,
                                                  value))
        else:
            self.fire.later("set %s %d %d %s" % (self.name, base + member.offset, member.size,
                                                 word(value)))

    def at(self, path=None, index=0):
        """The address of a member, or of an element."""
        offset = index * self.size
        if path:
            offset += self.types.member(self.kind, path).offset
        return "@%s+%d" % (self.name, offset)

    def free(self):
        """Free it, and everything made for it."""
        for owned in self.owned:
            owned.free()
        self.owned = []
        self.fire.later("free " + self.name)

    def own(self, *objects):
        self.owned += [o for o in objects if isinstance(o, Object)]
        return self


def word(value):
    """A value as the command language has it."""
    if value is None:
        return "null"
    if isinstance(value, Object):
        return "@" + value.name
    if isinstance(value, str):
        return value
    return "%d" % value


def each(target):
    """For Object.set(): the elements of an array, of one of the same length."""
    if isinstance(target, Object) and target.count > 1:
        return lambda i: target.at(index=i)
    return target


# --- drivers without a device

def drivers():
    """Those of amdgpu and i915 that the kernel has: i915 is only for x86."""
    return [name for name in ("amdgpu", "i915")
            if lab.run("modprobe", "-n", name, check_=False).returncode == 0]


def load_drivers(*names):
    for name in names:
        lab.run("modprobe", name, timeout=1200)


def unload_drivers(*names):
    """Unload the drivers, but not the modules that they brought along: others may use those."""
    for name in names:
        if lab.loaded(name):
            lab.run("rmmod", name)


class Base:
    """The open command file, and what is common to all events."""

    def __init__(self):
        if not lab.loaded("fire_gpu"):
            lab.insmod("fire_gpu")
        self.fd = os.open(FOLDER + "/command", os.O_RDWR)
        self.pending = []
        self.types = {}
        self.names = 0
        self.prototypes = {}

    def close(self):
        """Free all objects of everyone, unload the module."""
        self.let_go()
        lab.rmmod("fire_gpu")

    def let_go(self):
        """The same, but the module stays loaded."""
        self.pending = ["free *"]
        try:
            self.flush()
        finally:
            # From here on, another thread's file may have this number.
            fd, self.fd = self.fd, None
            os.close(fd)

    def reopen(self):
        """A file of its own, for a process after fork()."""
        self.fd = os.open(FOLDER + "/command", os.O_RDWR)

    def btf(self, module):
        if module not in self.types:
            self.types[module] = btf.Btf(home(module))
        return self.types[module]

    # --- commands

    def later(self, line):
        """Queue a command for the next one that has an answer."""
        self.pending.append(line)

    def flush(self):
        return self.command()

    def command(self, *lines):
        """Run the queued commands and these lines. Returns the answers to these."""
        lines = self.pending + list(lines)
        self.pending = []
        answers, chunk, size = [], [], 0
        for line in lines + [None]:
            if line is None or size + len(line) > LIMIT:
                answers += self._write(chunk)
                chunk, size = [], 0
            if line is not None:
                chunk.append(line)
                size += len(line) + 1
        return answers

    def _write(self, lines):
        if not lines:
            return []
        try:
            os.write(self.fd, "\n".join(lines).encode())
        except OSError as e:
            said = self._read()
            raise FireError(e.errno, said[-1] if said else "no reason given") from None
        return self._read()

    def _read(self):
        text = b""
        while True:
            more = os.read(self.fd, 1 << 16)
            if not more:
                return text.decode().splitlines()
            text += more

    # --- objects

    def memory(self, size, readable=None):
        """Untyped memory, of which a given part can be read."""
        self.names += 1
        name = "o%d_%d" % (os.getpid(), self.names)
        self.later("object %s %d" % (name, size) + ("" if readable is None else " %d" % readable))
        return Object(self, name, None, None, size, 1)

    def new(self, module, kind, count=1, readable=None, **members):
        """An object "struct x" of a module, zero but for the members."""
        types = self.btf(module)
        size = types.sizeof(kind)
        if count > 1:
            size = (size + 63) & ~63
        memory = self.memory(size * count, readable)
        made = Object(self, memory.name, types, kind, size, count)
        for path, value in members.items():
            made.set(path, value)
        return made

    def string(self, text):
        made = self.memory(len(text.encode()) + 1)
        self.later("string %s 0 %s" % (made.name, text))
        return made

    # --- firing

    @staticmethod
    def _given(value, make, arguments):
        """The given object, or a new one."""
        if arguments and value is not None:
            raise TypeError("an object and what to make one from: %s" % ", ".join(arguments))
        return make(**arguments) if value is None else value

    @staticmethod
    def _how(arguments, several=False):
        """Take the firing options out of the arguments; an object for each call if there are
        several.
        """
        how = {k: arguments.pop(k) for k in ("times", "ms", "cpu", "irq") if k in arguments}
        if several and how.get("times", 1) > 1:
            arguments.setdefault("count", min(how["times"], 1000))
        return how

    def fire(self, module, tracepoint, *args, times=1, ms=None, cpu=None, irq=False):
        """Call a tracepoint with these arguments."""
        self.prototype(module, tracepoint, len(args))
        options = "".join(" %s=%s" % (k, v) for k, v in
                          (("cpu", cpu), ("irq", 1 if irq else None), ("ms", ms)) if v is not None)
        head = "fire%s %s %s " % (options, home(module), tracepoint)
        # The shortest array determines when to start over.
        cycle = min([a.count for a in args if isinstance(a, Object) and a.count > 1] or [times])
        words = []
        for a in args:
            text = word(a.value if isinstance(a, Step) else a)
            if isinstance(a, Step):
                text += "~%d" % a.step
            elif isinstance(a, Object) and a.count > 1:
                text += "~%d" % a.size
            words.append(text)
        tail = " " + " ".join(words)
        lines = []
        while times > 0:
            lines.append("%s%d%s" % (head, min(times, cycle), tail))
            times -= cycle
            if ms:
                break
        fired = [list(map(int, a.split()[1:])) for a in self.command(*lines)
                 if a.startswith("fired ")]
        first, last = fired[0], fired[-1]
        return Fired(sum(f[0] for f in fired), first[1], last[2])

    def prototype(self, module, tracepoint, count=None):
        """Types of the arguments; with count, that there are so many."""
        key = module, tracepoint
        if key not in self.prototypes:
            self.prototypes[key] = self.btf(module).tracepoint(tracepoint)
        types = self.prototypes[key]
        if count is not None and count != len(types):
            raise TypeError("%s:%s takes %d arguments, %d given" %
                            (module, tracepoint, len(types), count))
        return types

    def wait(self, ns):
        """Let this much time pass between two events of one flush."""
        self.command("wait %d" % ns)

    def reset(self):
        self.command("reset")

    def account(self):
        """{(module, tracepoint): (calls, calls that found a probe)}"""
        rows = {}
        for line in lab.read(FOLDER + "/account").splitlines()[1:]:
            module, name, fires, probed = line.split()
            rows[module, name] = int(fires), int(probed)
        return rows

    def addresses(self):
        """{name: address} of all objects."""
        self.flush()
        return {line.split()[0]: int(line.split()[3], 16)
                for line in lab.read(FOLDER + "/objects").splitlines()[1:]}

    def address(self, made):
        return self.addresses()[made.name]

    # --- shared by several drivers

    def device(self, name):
        """A struct device with this name, of no bus and no driver."""
        text = self.string(name)
        return self.new("vmlinux", "struct device", **{"kobj.name": text,
                                                       "kobj.ktype": DEVICE_TYPE}).own(text)

    def drm_device(self, name="fire.0", minor=0):
        """A struct drm_device, as the two drivers have one inside of theirs."""
        made = self.new("drm", "struct drm_device")
        self._drm(made, "", name, minor)
        return made

    def _drm(self, made, prefix, name, minor):
        device = self.device(name)
        primary = self.new("drm", "struct drm_minor", index=minor)
        primary.set("dev", made.at(prefix.rstrip(".") or None)).set("kdev", device)
        made.set(prefix + "dev", device).set(prefix + "primary", primary)
        made.own(device, primary)

    def drm_file(self, device=None, pid=0):
        """A struct drm_file: the client of a DRM device; device=None makes one."""
        own = []
        if device is None:
            device = self.drm_device()
            own.append(device)
        minor = self.new("drm", "struct drm_minor", dev=device)
        return self.new("drm", "struct drm_file", minor=minor).own(minor, *own)

    def scheduler_jobs(self, scheduler, context, count):
        """Jobs that were pushed to a scheduler: (jobs, their entity, their finished fences). They have
        a fence of the hardware, without an error.
        """
        fences = self.new("gpu_sched", "struct drm_sched_fence", count,
                          **{"finished.context": context, "finished.seqno": lambda i: i + 1,
                             "finished.ops": FENCE_OPS, "sched": scheduler,
                             "parent": self.fence()})
        queue = self.new("gpu_sched", "struct drm_sched_rq", sched=scheduler)
        entity = self.new("gpu_sched", "struct drm_sched_entity", rq=queue, fence_context=context)
        jobs = self.new("gpu_sched", "struct drm_sched_job", count, sched=scheduler, entity=entity)
        jobs.set("s_fence", each(fences)).maybe("id", lambda i: i)
        return jobs, entity, fences

    def fence(self, context=1, seqno=1, count=1):
        """A plain struct dma_fence without a driver."""
        made = self.new("vmlinux", "struct dma_fence", count, context=context,
                        seqno=lambda i: seqno + i, ops=FENCE_OPS)
        return made


def refused(number, why=""):
    """A check for FireError: the call in the with block fails with that errno."""
    return _Refused(number, why)


class _Refused:
    def __init__(self, number, why):
        self.number, self.why = number, why

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        lab.check(kind is FireError, "not refused: " + self.why)
        lab.equal(errno.errorcode.get(error.errno), errno.errorcode[self.number],
                  "errno of what is refused, " + error.strerror)
        return True
