# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What threads wait for between API calls, by samples, against the program's own account."""
import functools
import os
import platform
import re
import struct
import subprocess
import time

import capture
from capture import Capture, Failure, Skip, check, chunks, contains, equal, need, until
from test_sandbox import KILL, REFUSE, filtered, need_numbers

RUNNING, FUTEX, SLEEP, READ, WRITE, POLL, CHILD = 1, 2, 3, 4, 5, 6, 7
PIPE = 2
WAIT = capture.writer.LAYOUTS["wait"][0]
# Numbers of x86-64, not needed by the program itself.
PROCESS_VM_READV, STATX, CLOSE_RANGE, PERF_EVENT_OPEN = 310, 332, 436, 298
KINDS = {"wait_asleep": (SLEEP, 0), "wait_for_lock": (FUTEX, 0), "wait_for_condition": (FUTEX, 0),
         "wait_for_pipe": (READ, PIPE), "wait_for_room": (WRITE, PIPE), "wait_in_poll": (POLL, 0),
         "wait_for_child": (CHILD, 0)}


def need_looks():
    if not os.path.exists("/proc/self/syscall"):
        raise Skip("no /proc/self/syscall in this kernel")


class TooFewLooks(Failure):
    """All that was found is right, but is too little."""


def with_enough_looks(test, milliseconds):
    """test(milliseconds), longer and longer while there are too few looks.

    The thread that looks waits for a processor as all others do: on a busy machine, the first look comes late,
    and few follow. The longer something lasts, the less of it that can be.
    """
    longest = 16 * milliseconds
    while True:
        try:
            return test(milliseconds)
        except TooFewLooks:
            if milliseconds == longest:
                raise
        milliseconds *= 2


def need_enough(is_enough, what):
    if not is_enough:
        raise TooFewLooks(what)


def program(kind=""):
    return f"{capture.objects}/program_waits{kind}"


def size_of(function, kind):
    need("nm")
    text = subprocess.run(["nm", "-S", program(kind)], stdout=subprocess.PIPE, text=True, check=True).stdout
    return int(re.search(rf"^\w+ (\w+) t {function}$", text, re.M)[1], 16)


def check_times(waits, start, end, name):
    """They lie within the function's time. The stack of a running thread is taken after the look at it."""
    check(all((wait.kind == RUNNING or int(start) <= wait.start_ns) and wait.start_ns <= wait.end_ns <= int(end)
              for wait in waits), f"times of {name}, {start} to {end}: {waits}")


def waits_in(run, address, size):
    """WAIT records whose stack goes through a function. A running thread's has its begin."""
    stacks = {stack.id: struct.unpack(f"<{stack.count}Q", stack.tail) for stack in run["stack"]}
    return [wait for wait in run["wait"]
            if any(address < frame + (wait.kind == RUNNING) <= address + size for frame in stacks.get(wait.stack, ()))]


class Outside(Capture):
    """A program without the library, recorded by uprobes. @meanwhile: called with it when it goes on."""

    def __init__(self, kind="", milliseconds=700, meanwhile=None, namespace=False, **options):
        if os.environ.get("SANITIZE"):
            raise Skip("the library is not used")
        prefix = ["unshare", "-p", "-f"] if namespace else []
        with subprocess.Popen([*prefix, program(kind), "told", str(milliseconds)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, env=capture.environment()) as process:
            try:
                if process.stdout.readline() != "ready\n":
                    raise Skip(f"the program does not run: {prefix}")
                super().__init__(pid=self.pid_of(process, namespace), status=None,
                                 begun=lambda: self.begin(process, meanwhile), **options)
                if self.done.returncode == 77:
                    raise Skip(self.done.stderr.strip())
                equal(self.done.returncode, 0, f"exit status: {self.done.stderr}")
                self.output = process.communicate()[0]
            finally:
                process.kill()

    @staticmethod
    def pid_of(process, namespace):
        if not namespace:
            return process.pid
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
            return int(file.read())

    def begin(self, process, meanwhile):
        process.stdin.write("\n")
        process.stdin.flush()
        if meanwhile:
            meanwhile(self, process)

    def notes(self):
        return [self.text(note.text) for note in self["note"]]


def waits_are_found(kind, run, least):
    """All that was found of each wait is right; and it is enough where it is @least of each, as a part."""
    whole = {stack.id: not stack.flags & 1 for stack in run["stack"]}
    tid = run["launch" if run["launch"] else "hit"][0].tid
    found, parts = {}, {}
    for line in run.output.splitlines()[:-1]:
        name, address, start, end = line.split()
        waits = waits_in(run, int(address, 16), size_of(name, kind))
        within = [wait for wait in run["wait"] if int(start) <= wait.start_ns <= wait.end_ns <= int(end) and
                  wait.kind != RUNNING and wait.period_ns < 1000000000]
        # A sanitizer's own functions are between, and stacks may be cut there.
        if os.environ.get("SANITIZE"):
            waits = within
        # On a busy machine a thread is also seen while it begins to wait, or while it gets no processor afterwards.
        check({(wait.kind, wait.file) for wait in waits} <= {KINDS[name], (RUNNING, 0)},
              f"kinds of waiting in {name}: {waits}")
        check_times(waits, start, end, name)
        equal([wait for wait in within if wait.tid == tid and wait.stack and wait not in waits], [],
              f"waits elsewhere than in {name}")
        # A look that is late may be followed by one in time.
        check(all((wait.looks - 2) * wait.period_ns <= wait.end_ns - wait.start_ns for wait in waits),
              f"more looks in {name} than it had time for: {waits}")
        check(all(wait.period_ns >= 20000000 for wait in waits), "distance of looks")
        if not os.environ.get("SANITIZE"):
            check(all(whole[wait.stack] for wait in waits), f"a stack of {name} is cut")
        found[name] = waits
        # The rest is the time up to the first look, and from the last one on.
        parts[name] = sum(wait.end_ns - wait.start_ns for wait in waits
                          if wait.kind != RUNNING) / (int(end) - int(start))
    equal(set(found), set(KINDS), "functions")
    for name, part in parts.items():
        need_enough(part >= least, f"{part} of {name} was found: {found[name]}")


def own_waits_are_found(kind, milliseconds):
    run = Capture("waits", milliseconds, program=[program(kind)])
    waits_are_found(kind, run, 0.1 if os.environ.get("SANITIZE") else 0.4)


def test_waits():
    """each wait is found in its function, of its kind, as long as the program says, with its whole stack"""
    need_looks()
    for kind in ("", "-frame-pointers"):
        with_enough_looks(functools.partial(own_waits_are_found, kind), 250)


def outside_waits_are_found(kind, namespace, milliseconds):
    run = Outside(kind, milliseconds, namespace=namespace)
    equal(len(run["hit"]), 15, "hits")
    waits_are_found(kind, run, 0.4)
    tids = {hit.tid for hit in run["hit"]}
    check({wait.tid for wait in run["wait"] if wait.period_ns < 1000000000} == tids,
          f"threads that are looked at often: {run['wait']}, with calls: {tids}")
    text = run.summary("--rows", "40")
    for words in ("› wait_asleep ", "[sleep]", "[read of a pipe]", "[child]", "blocked: "):
        contains(text, words, "tables")


def test_waits_outside():
    """the same of a program without the library, from outside, as its hits are; also of another pid namespace"""
    need_looks()
    for kind, namespace in (("", False), ("-frame-pointers", False), ("", True)):
        with_enough_looks(functools.partial(outside_waits_are_found, kind, namespace), 700)


def test_waits_outside_not_asked_for():
    """--wait-samples 0: no looks from outside"""
    run = Outside(milliseconds=20, options=["--wait-samples", "0"])
    equal((len(run["hit"]), len(run["wait"])), (15, 0), "hits, looks")


def test_waits_outside_refused():
    """what /proc says of threads may not be read: a note says so, and all else is there"""
    need_looks()
    refuse = ["unshare", "-m", "sh", "-c", """mount -t tmpfs -o nodev none /mnt && mknod /mnt/no c 1 3 &&
              pid=$(echo " $*" | sed 's/.* -p //') && mount --bind /mnt/no /proc/$pid/task/$pid/syscall && exec "$0" "$@" """]
    run = Outside(milliseconds=20, prefix=refuse)
    equal((len(run["hit"]), len(run["wait"])), (15, 0), "hits, looks")
    check(any(re.match("waiting threads were not looked at: .*/syscall cannot be read \\(Permission denied\\)", note)
              for note in run.notes()), f"notes: {run.notes()}")


def test_waits_outside_killed():
    """a program that is killed while it waits: what was seen until then is there"""
    need_looks()

    def kill(run, process):
        until(lambda: any(kind == WAIT for file in run.files() for kind, _, _ in
                          chunks.records_of(file.read_bytes())), "a wait")
        process.kill()
    run = Outside(milliseconds=600000, meanwhile=kill)
    check(run["wait"], "no waits")
    equal({wait.kind for wait in run["wait"] if wait.tid == run["hit"][0].tid and wait.stack}, {FUTEX}, "kinds")


def need_samples():
    if platform.machine() != "x86_64":
        raise Skip("stacks of running threads are for x86-64")
    if os.environ.get("SANITIZE"):
        raise Skip("a sanitizer's own functions are between, and stacks may be cut there")
    if os.geteuid():
        raise Skip("the kernel may not allow them without root")


def computing_is_found(kind, before, milliseconds):
    run = Capture("computes", milliseconds, program=[*before, program(kind)])
    whole = {stack.id: not stack.flags & 1 for stack in run["stack"]}
    counts = {}
    for line in run.output.splitlines()[:-1]:
        name, address, start, end = line.split()
        # Pages of the stack that are not in memory are not in the kernel's copy: what it gives is cut there.
        stacks = [wait for wait in run["wait"] if int(start) <= wait.start_ns <= wait.end_ns <= int(end) and
                  wait.kind == RUNNING and whole.get(wait.stack)]
        found = waits_in(run, int(address, 16), size_of(name, kind))
        equal([wait for wait in stacks if wait not in found], [], f"stacks elsewhere than in {name}")
        counts[name] = sum(wait.looks for wait in stacks)
    equal(list(counts), ["compute_checksum", "compute_order", "compute_aligned"], "functions")
    equal([run.text(note.text) for note in run["note"] if "have no stacks" in run.text(note.text)], [], "notes")
    # One that is ready to run, but does not while it is looked at, has no stack.
    need_enough(min(counts.values()) > 2, f"looks with whole stacks: {counts}")


def test_waits_running():
    """a thread that computes is found in its function, with its whole stack"""
    need_looks()
    need_samples()
    for kind, *before in ([""], ["-frame-pointers"], ["", "setarch", "-R"]):
        with_enough_looks(functools.partial(computing_is_found, kind, before), 200)


def refused_is_said(action, said, milliseconds):
    run = Capture("computes", milliseconds, program=[*filtered(action, PERF_EVENT_OPEN), program()])
    equal(run.output.splitlines()[-1], "interrupted 0 failed 0", "calls that failed")
    running = [wait for wait in run["wait"] if wait.kind == RUNNING]
    equal([wait for wait in running if wait.stack], [], "stacks of a running thread")
    equal(len(run["launch"]), 7, "launches")
    # The note comes with the tenth one.
    need_enough(sum(wait.looks for wait in running if wait.tid == run["launch"][0].tid) >= 10, f"looks: {running}")
    notes = [run.text(note.text) for note in run["note"]]
    equal([said in note and "running threads have no stacks" in note for note in notes], [True], f"notes {notes}")


def test_waits_running_refused():
    """stacks of running threads are refused, or would end the process: a note says what would give them, once"""
    need_looks()
    need_numbers()
    for action, said in ((REFUSE, "is refused (Operation not permitted): a container's filter"),
                         (KILL, "would end the process for perf_event_open()")):
        with_enough_looks(functools.partial(refused_is_said, action, said), 200)


def test_waits_not_asked_for():
    """--wait-samples 0: no looks, and no thread that makes them"""
    run = Capture("waits", 20, program=[program()], options=["--wait-samples", "0"])
    equal(len(run["wait"]), 0, "records")


def test_waits_leave_the_program_alone():
    """1,000 looks a second while threads start and end, fork and exec: no call is interrupted, none fails"""
    need_looks()
    bare = subprocess.run([program(), "storm", "300"], stdout=subprocess.PIPE, text=True, check=True,
                          env=capture.environment())
    run = Capture("storm", 300, program=[program()], options=["--wait-samples", "1000"])
    equal(run.output.splitlines()[-1], bare.stdout.splitlines()[-1], "interrupted and failed calls")
    check(run["wait"], "no thread was found waiting")


def random_storm(seed, rounds):
    """Results, errors and interrupted calls are those without recording."""
    words = ["random", str(seed), str(rounds)]
    bare = subprocess.run([program(), *words], stdout=subprocess.PIPE, text=True, check=True,
                          env=capture.environment())
    run = Capture(*words, program=[program()], options=["--wait-samples", "1000"])
    equal(run.output, bare.stdout, f"results and errors of seed {seed}")
    contains(run.output, "interrupted 0 failed 0", f"calls of seed {seed}")
    check(run["wait"], "no thread was found waiting")


def test_waits_random():
    """1,000 looks a second at threads and children that do by chance what a seed says: all as without"""
    need_looks()
    random_storm(1, 40)


def test_waits_random_storm():
    """as above, for longer, with seeds of this day"""
    need_looks()
    first = int(time.strftime("%j")) * 100
    for seed in range(first, first + 6):
        random_storm(seed, 200)


def names_of(run):
    """The names of the functions of Python in each stack, the innermost first, and the line of the innermost."""
    frames = {frame.id: frame for frame in run["frame"]}
    stacks = {}
    for stack in run["stack"]:
        ids = [word & 0xffffffff for word in struct.unpack(f"<{stack.count}Q", stack.tail) if word >> 63]
        stacks[stack.id] = [(run.text(frames[id].function), frames[id].line) for id in ids]
    return stacks


def python_waits_are_found(more, milliseconds):
    script = os.path.join(capture.HERE, "program_waits.py")
    run = Capture(script, milliseconds / 1000, *more, program=["/usr/bin/python3"], expect=None)
    stacks = names_of(run)
    lines = run.output.splitlines()
    equal(len(lines), 5, "functions")
    parts = {}
    for line in lines:
        name, first, start, end = line.split()
        waits = [wait for wait in run["wait"] if name in [function for function, _ in stacks.get(wait.stack, ())]]
        check_times(waits, start, end, name)
        for wait in waits:
            names = [function for function, _ in stacks[wait.stack]]
            at = names.index(name)
            equal(names[at:at + 3], [name, "Model.run", "Model.all"], "functions of Python outward of it")
            check(int(first) < stacks[wait.stack][at][1] <= int(first) + 3, f"line in {name}")
            equal(names[-1], "Thread._bootstrap" if more else "<module>", "outermost function of Python")
        parts[name] = sum(wait.end_ns - wait.start_ns for wait in waits
                          if wait.kind != RUNNING) / (int(end) - int(start))
    need_enough(min(parts.values()) > (0.1 if os.environ.get("SANITIZE") else 0.4), f"found of each: {parts}")


def test_waits_python():
    """waits in Python, in the main thread and in another one, are found in its functions, as deep as they are"""
    need_looks()
    for more in ((), ("thread",)):
        with_enough_looks(functools.partial(python_waits_are_found, more), 400)


def test_waits_refused():
    """calls that looks need are refused by a filter: no stacks, or no looks, and a note says so; all else is there"""
    need_looks()
    need_numbers()
    for number, said in ((PROCESS_VM_READV, "have no stacks"), (CLOSE_RANGE, "were not looked at")):
        run = Capture("waits", 100, program=[*filtered(REFUSE, number), program()])
        equal(run.output.splitlines()[-1], "interrupted 0 failed 0", "calls that failed")
        check(any(said in run.text(note.text) for note in run["note"]),
              f"notes {[run.text(note.text) for note in run['note']]}, {number} refused")
        equal(any(wait.stack for wait in run["wait"] if wait.kind != RUNNING), False, f"stacks, {number} refused")
        equal(bool(run["wait"]), number == PROCESS_VM_READV, f"looks, {number} refused")
        equal(len(run["launch"]), 15, "launches")
    run = Capture("waits", 20, program=[*filtered(KILL, STATX), program()])
    equal(len(run["wait"]), 0, "looks where a call would end the process")
    equal(len(run["launch"]), 15, "launches")


def test_waits_hidden():
    """without /proc there are no looks, and a note says why; all else is there"""
    if os.geteuid() or os.environ.get("SANITIZE"):
        raise Skip("needs root to hide /proc, and a sanitizer needs /proc")
    hide = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$0" "$@"']
    if subprocess.run([*hide, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skip("/proc cannot be hidden here")
    run = Capture("waits", 20, program=[*hide, program()])
    equal(len(run["wait"]), 0, "looks")
    check(any("/syscall cannot be read (No such file" in run.text(note.text) for note in run["note"]), "no note")
    equal(len(run["launch"]), 15, "launches")


def test_waits_hidepid():
    """where /proc shows a process no other one, and it has no rights, its own threads are looked at all the same"""
    need_looks()
    need("setpriv")
    if os.geteuid() or os.environ.get("SANITIZE"):
        raise Skip("needs root to mount /proc")
    hide = ["unshare", "-m", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && '
            'exec setpriv --inh-caps=-all --bounding-set=-all "$0" "$@"']
    if subprocess.run([*hide, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skip("/proc cannot be mounted here")
    run = Capture("waits", 100, program=[*hide, program()])
    check(any(wait.stack for wait in run["wait"]), "no thread was found waiting with its stack")
    equal([run.text(note.text) for note in run["note"] if "waiting threads" in run.text(note.text)], [], "notes")
    equal(len(run["launch"]), 15, "launches")


def test_waits_storm():
    """as above, for longer, with 64 threads at a time: no descriptor is left open, nothing is lost"""
    need_looks()
    run = Capture("storm", 10000, 64, program=[program()], options=["--wait-samples", "1000"])
    equal(run.output.splitlines()[-1], "interrupted 0 failed 0", "interrupted and failed calls")
    check(run["wait"], "no thread was found waiting")
