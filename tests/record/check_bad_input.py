# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What is not there, not right, not allowed or full: one line that says so, and the exit status.

0 done, 1 failed, 2 wrong usage, 77 not possible here; a program that ran has its own.
"""
import json
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import zlib

from kit import (LIMIT, NOBODY, Skip, contains, equal, left_processes, state, test, until,
                 wait_listening)

# Commands that read captures and write a file.
READERS = (("correlate", "--summary"), ("flamegraph", "-o"), ("report", "-o"),
           ("export", "--chrome", "-o"), ("export", "--perfetto", "-o"), ("export", "--pprof", "-o"),
           ("export", "--folded", "-o"), ("export", "--sqlite", "-o"), ("export", "--json", "-o"))


def refused(done, status, *parts, what=""):
    """One line, with all of the parts, and nothing on standard output."""
    text = done.stderr.decode()
    equal(done.returncode, status, f"status {what} ({text.strip()})")
    equal(text.count("\n"), 1, f"lines {what}: {text}")
    contains(text, "gpumon-user: ", f"the tool's name in the message {what}")
    for part in parts:
        contains(text, part, f"message {what}")
    equal(done.stdout, b"", f"output {what}")


def write(kit, name, data=b"", mode=0o644):
    path = kit.path(name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, mode)
    return path


def limit(what, value):
    return lambda: resource.setrlimit(what, (value, value))


def compile_program(kit, name, text):
    done = subprocess.run(["gcc", "-o", kit.path(name), "-x", "c", "-"], input=text.encode(),
                          stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise Skip("no compiler: " + done.stderr.decode().splitlines()[0])


@test
def programs_that_cannot_run(kit):
    os.mkdir(kit.path("folder"))
    write(kit, "text", b"no program\n")
    write(kit, "script", b"#!/no/such/interpreter\n", 0o755)
    for program, part in (("./nothing", "program not found"), ("", "program not found"),
                          ("nothing-at-all", "program not found"), ("./folder", "Permission denied"),
                          ("./text", "Permission denied"), ("./text/x", "Not a directory"),
                          ("./script", "the interpreter that it names was not found")):
        for words in (("record", "-o", "capture"), ("correlate", "-o", "capture"), ("correlate",)):
            refused(kit.run(*words, "--", program), 1, f"{program}: ", part, what=program)
            equal(os.path.exists(kit.path("capture")), False, "capture")
    equal(kit.left_behind(), [], "left behind")


@test
def programs_that_end_at_once(kit):
    """The exit status is theirs. One line says that nothing was recorded."""
    compile_program(kit, "crash", "__attribute__((constructor)) static void f(void)\n"
                    "{ *(volatile int *)8 = 1; }\nint main(void) { return 0; }\n")
    nothing = "nothing was recorded: no process used CUDA"
    for words, status, part in ((["./crash"], 139, "signal 11 (Segmentation fault) ended ./crash"),
                                (["sh", "-c", "kill -9 $$"], 137, "signal 9 (Killed) ended sh"),
                                (["sh", "-c", "exit 3"], 3, nothing), (["true"], 0, nothing)):
        for number, command in enumerate((("record", "-o"), ("correlate", "-o"))):
            name = f"{words[0].strip('./')}{status}-{number}"
            refused(kit.run(*command, name, "--", *words), status, part, what=str(words))
            # It reads as an empty capture.
            equal(json.loads(kit.run("correlate", "--json", name).stdout)["kernels"], [], "kernels")
        refused(kit.run("correlate", "--", *words), status, part)
    equal(kit.left_behind(), [], "left behind")


@test
def nothing_as_json(kit):
    """The summary is there for programs, too."""
    done = kit.run("correlate", "--json", "--summary", "out.json", "--", "sh", "-c", "exit 5")
    refused(done, 5, "nothing was recorded")
    with open(kit.path("out.json"), encoding="utf-8") as file:
        equal(json.load(file)["kernels"], [], "kernels")


@test
def no_memory_in_the_program(kit):
    inject = injected(kit)
    # It is reported even by a program that has ended by then.
    for mib in (48, 80, 100, 128, 200):
        done = kit.run("record", "-o", f"capture{mib}", "--", *inject, "loop", "20",
                       preexec_fn=limit(resource.RLIMIT_AS, mib << 20))
        refused(done, 0, "was not recorded: it has no memory for what is recorded (ulimit -v",
                what=f"{mib} MiB")
        tree = json.loads(kit.run("correlate", "--json", f"capture{mib}").stdout)
        equal(tree["kernels"], [], "kernels")


@test
def no_descriptors(kit):
    refused(kit.record("record", status=None, preexec_fn=limit(resource.RLIMIT_NOFILE, 8)), 1,
            "Too many open files (ulimit -n)")
    equal(os.path.exists(kit.path("capture")), False, "capture")


def injected(kit, generation=13, **more):
    """The command that runs the program of tests/inject with stand-ins for CUDA's libraries."""
    if not kit.inject:
        raise Skip("no cupti.h, the injection library was not built")
    kit.environment["GPUMON_INJECT"] = os.path.join(kit.inject, "libgpumon-inject.so")
    folder = f"{kit.inject}/{generation}:" if generation else ""
    variables = {"LD_LIBRARY_PATH": f"{folder}{kit.inject}", "MOCK_DRIVER_VERSION": "13000", **more}
    return ["env", *(f"{name}={value}" for name, value in variables.items()),
            os.path.join(kit.inject, "program")]


def empty_cupti(kit):
    """A library named like CUPTI without any of its functions."""
    done = subprocess.run(["gcc", "-shared", "-fPIC", "-o", kit.path("libcupti.so.13"), "-x", "c",
                           "-"], input=b"int nothing;\n", stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise Skip("no compiler")
    return kit.path("libcupti.so.13")


@test
def cupti(kit):
    """No CUPTI, the wrong one, or one held by another profiler: the program runs, and the reason
    is reported.
    """
    empty = empty_cupti(kit)
    gpu = "nothing of the GPU is recorded"
    cases = (
        ({"GPUMON_CUPTI": "/none"}, ("no CUPTI found that goes with the driver (CUDA 13.0)", gpu)),
        ({"GPUMON_CUPTI": "/none", "MOCK_DRIVER_VERSION": "12040"}, ("(CUDA 12.4)", gpu)),
        ({"GPUMON_CUPTI": empty}, ("has no cupti", "CUDA 12 or newer is needed", empty, gpu)),
        ({"MOCK_FAIL": "cuptiSubscribe:39"}, ("another profiler holds CUPTI", gpu)),
        ({"MOCK_FAIL": "cuptiSubscribe:38"}, ("libcupti.so.13 with a driver for CUDA 13.0", gpu)),
        ({"MOCK_FAIL": "cuptiActivityRegisterCallbacks:8"}, (gpu,)),
        ({"MOCK_FAIL": "cuptiActivityEnable@10:8"}, ("CUPTI refuses kernels",)),
    )
    for number, (variables, parts) in enumerate(cases):
        words = injected(kit, 0 if "GPUMON_CUPTI" in variables else 13, **variables)
        done = kit.run("record", "-o", f"capture{number}", "--", *words, "loop", "20")
        # Something is recorded without kernels.
        equal(done.returncode, 0 if "refuses" in parts[0] else 77, "status")
        equal(done.stdout, b"", "output")
        for part in parts:
            contains(done.stderr.decode(), part, f"message of {variables}")
        equal(done.stderr.splitlines()[-1].startswith(b"gpumon-user: 1 process, "), True, "counts")
        summary = kit.run("correlate", f"capture{number}").stdout.decode()
        contains(" ".join(summary.split()), parts[0], "summary")


def notes_of_live(kit, directory):
    """The number of notes of libraries in a capture that is being written."""
    capture = kit.growing(directory)
    return capture and capture.sum("notes")


@test
def cupti_of_live_process(kit):
    """What cannot be recorded decides the exit status: there is no program that has one."""
    for variables, status in (({"MOCK_FAIL": "cuptiSubscribe:39"}, 77), ({}, 0)):
        words = injected(kit, **variables)
        process = kit.start(*words[1:], "steady", "1000000", "1000000", program=words[0],
                            env={"CUDA_INJECTION64_PATH": kit.environment["GPUMON_INJECT"]})
        try:
            process.stdout.readline()
            wait_listening(process.pid)
            recorder = kit.start("record", "-o", f"capture{status}", "-p", str(process.pid))
            if status:
                until(lambda: notes_of_live(kit, f"capture{status}"), "its library says why")
            else:
                kit.wait_launches(1, f"capture{status}")
            done = kit.end(recorder, signal.SIGINT)
        finally:
            process.kill()
            process.communicate()
        equal(done.returncode, status, f"status ({done.stderr.decode()})")
        if status:
            contains(done.stderr.decode(), "another profiler holds CUPTI", "message")


@test
def pids(kit):
    sleeper = kit.start("1000", program="sleep")
    other = None
    if not os.geteuid():
        other = kit.start("--reuid=65534", "--regid=65534", "--clear-groups", "sleep", "1000",
                          program="setpriv")
    thread = kit.start("-c", "import threading, time\nt = threading.Thread(target=lambda: (\n"
                       "print(threading.get_native_id(), flush=True), time.sleep(1000)))\nt.start()",
                       program=sys.executable)
    compile_program(kit, "leader", "#include <pthread.h>\n#include <unistd.h>\n"
                    "static void *run(void *data) { sleep(1000); return data; }\n"
                    "int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); pthread_exit(0); }\n")
    leader = kit.start(program=kit.path("leader"))
    child = os.fork()
    if not child:
        os._exit(0)
    until(lambda: state(child) == "Z", "the child has ended")
    until(lambda: state(leader.pid) == "Z", "the leader's first thread has ended")
    if other:
        until(lambda: os.readlink(f"/proc/{other.pid}/exe").endswith("/sleep"), "sleep is started")
    number = int(thread.stdout.readline())
    cases = [
        ("0", 2, "whole number"), ("-1", 2, "whole number"), ("1x", 2, "whole number"),
        ("99999999999", 2, "whole number"), ("4194304", 1, "no process 4194304"),
        (str(number), 1, f"{number} is a thread of process {thread.pid}"),
        (str(child), 1, "has ended"),
        (str(sleeper.pid), (1, 77), "has no injection library: start it with"),
        # Its main thread has ended, but the process has not.
        (str(leader.pid), (1, 77), "has no injection library: start it with"),
    ]
    if os.path.exists("/proc/2/status") and not os.readlink("/proc/self").startswith("2"):
        with open("/proc/2/status", encoding="ascii") as file:
            if "VmSize" not in file.read():
                cases.append(("2", 1, "process 2 has no memory: it is the kernel's"))
    try:
        for pid, status, part in cases:
            for command in ("record", "correlate"):
                done = kit.run(command, "-o", "capture", "-p", pid)
                wanted = status if isinstance(status, tuple) else (status,)
                equal(done.returncode in wanted, True, f"status is one of {wanted}")
                refused(done, done.returncode, part, what=pid)
                equal(os.path.exists(kit.path("capture")), False, "capture")
        if other:
            stranger(kit, other.pid, sleeper.pid)
    finally:
        os.waitpid(child, 0)
        for process in filter(None, (sleeper, other, thread, leader)):
            process.kill()
            process.communicate()
    equal(kit.left_behind(), [], "left behind")


def as_nobody(kit, *words):
    """Run a copy that others may execute, in a folder of their own."""
    os.chmod(kit.folder, 0o755)
    program = kit.open_program()
    if not os.path.exists(kit.path("theirs")):
        os.mkdir(kit.path("theirs"))
        os.chown(kit.path("theirs"), NOBODY, NOBODY)
    # In a process group of its own, like a job of a shell.
    return kit.call("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program, *words,
                    env={"TMPDIR": kit.path("theirs")})


def stranger(kit, theirs, ours):
    refused(as_nobody(kit, "record", "-o", "theirs/c", "-p", str(ours)), 77, "another user's")
    refused(as_nobody(kit, "record", "-o", "theirs/c", "-p", str(theirs)), 77,
            "has no injection library", "nor can it be probed from outside")
    refused(as_nobody(kit, "record", "-o", "here", "--", "true"), 1, "cannot make here",
            "Permission denied")


@test
def named_twice(kit):
    """A process that is named twice is recorded once."""
    player = kit.start("listen", "stop", program=kit.player)
    wait_listening(player.pid)
    recorder = kit.start("record", "-o", "capture", "-p", str(player.pid), "-p", str(player.pid))
    kit.wait_launches(100)
    equal(kit.end(recorder, signal.SIGINT).returncode, 0, "status")
    kit.end(player)
    kit.capture().check(1, 100)


def change_chunks(path, offset, value):
    with open(path, "rb") as file:
        data = bytearray(file.read())
    at = 0
    while (at := data.find(b"GPMC", at)) >= 0:
        size, = struct.unpack_from("<I", data, at + 8)
        struct.pack_into("<I", data, at + offset, value)
        struct.pack_into("<I", data, at + 12, 0)
        struct.pack_into("<I", data, at + 12, zlib.crc32(data[at:at + 32 + size]))
        at += 32 + size
    with open(path, "wb") as file:
        file.write(data)


def records(kit, name):
    folder = kit.path(name)
    return [os.path.join(folder, entry) for entry in os.listdir(folder)
            if entry.endswith(".records")]


@test
def foreign_captures(kit):
    """All readers of captures refuse it and do not create their output file."""
    kit.record("record", directory="good", options=("-q",))
    os.mkdir(kit.path("empty"))
    write(kit, "junk/x.records", os.urandom(5000))
    write(kit, "other/capture.json", b'{"format":"other"}')
    write(kit, "torn/capture.json", b'{"format":')
    write(kit, "noise/capture.json", os.urandom(3000))
    write(kit, "zero/capture.json")
    write(kit, "a-file", b"text\n")
    os.mkfifo(kit.path("pipe"))
    os.symlink("nowhere", kit.path("dangling"))
    os.symlink("loop", kit.path("loop"))
    shutil.copytree(kit.path("good"), kit.path("newer"))
    for path in records(kit, "newer"):
        change_chunks(path, 4, 7)
    shutil.copytree(kit.path("newer"), kit.path("newest"))
    with open(kit.path("newest/capture.json"), encoding="utf-8") as file:
        text = file.read()
    write(kit, "newest/capture.json", text.replace('"version":2', '"version":7').encode())
    # The records are of a version that is known, but may mean something else.
    shutil.copytree(kit.path("good"), kit.path("newer-info"))
    write(kit, "newer-info/capture.json", text.replace('"version":2', '"version":3').encode())
    cases = {"y" * 300: "File name too long", "empty": "no capture.json", "junk": "no capture.json",
             "other": "not written by gpumon", "torn": "not written by gpumon", "noise": "not written by gpumon",
             "zero": "not written by gpumon", "a-file": "a capture is a directory",
             "pipe": "a capture is a directory", "dangling": "No such file", "loop": "symbolic links",
             "nothing": "No such file", "newer": "format version 7, this gpumon reads up to 2",
             "newest": "format version 7, this gpumon reads up to 2",
             "newer-info": "format version 3, this gpumon reads up to 2: use gpumon 0."}
    for name, part in cases.items():
        for words in READERS:
            if words[0] == "correlate" and not os.path.isdir(kit.path(name)):
                done = kit.run("correlate", name)
                refused(done, 1, f"{name}: neither a capture nor a program")
                continue
            # The name comes first: after it, correlate would take a program's arguments.
            done = kit.run(words[0], name, *words[1:], "out")
            if "--json" in words:
                done.stdout = b"" if json.loads(done.stdout or b"{}").get("error") else b"no JSON"
            refused(done, 1, name[:200], part, what=f"{words} {name[:20]}")
            equal(os.path.exists(kit.path("out")), False, "file")
        for words in (("good", name), (name, "good")):
            refused(kit.run("diff", *words), 1, name[:200], part, what="diff")


@test
def damaged_captures(kit):
    """The intact part is shown, and the rest is counted."""
    kit.record("record", directory="good", options=("-q",))
    cases = {"missing": "chunks that are not there", "linked": "files that cannot be read",
             "piped": "files that cannot be read", "folder": "files that cannot be read",
             "uncounted": "not written by gpumon"}
    for name in cases:
        shutil.copytree(kit.path("good"), kit.path(name))
    for path in records(kit, "missing"):
        os.unlink(path)
    for path in records(kit, "linked"):
        os.rename(path, kit.path("elsewhere-" + os.path.basename(path)))
        os.symlink(kit.path("elsewhere-" + os.path.basename(path)), path)
    os.mkfifo(kit.path("piped/process-1-1.records"))
    os.mkdir(kit.path("folder/process-1-1.records"))
    os.unlink(kit.path("uncounted/capture.json"))
    cases.pop("uncounted")
    for name, part in cases.items():
        done = kit.run("correlate", name)
        equal((done.returncode, done.stderr), (0, b""), f"status of {name}")
        contains(done.stdout.decode(), part, f"losses of {name}")
        for words in READERS[1:]:
            # A database is no stream.
            done = kit.run(words[0], name, *words[1:], *(("base", "--force") if "--sqlite" in words else ("-",)))
            equal((done.returncode, done.stderr), (0, b""), f"status of {words} {name}")
    done = kit.run("correlate", "--json", "uncounted")
    equal(json.loads(done.stdout)["kernels"][0]["count"], 100, "kernels")


@test
def unreadable_captures(kit):
    if os.geteuid():
        raise Skip("root alone can be somebody else")
    kit.record("record", directory="good", options=("-q",))
    for name in ("closed", "no-index"):
        shutil.copytree(kit.path("good"), kit.path(name))
    os.chmod(kit.path("closed"), 0)
    os.chmod(kit.path("no-index"), 0o755)
    for name, part in (("closed", "cannot open the capture closed: Permission denied"),
                       ("no-index", "cannot read no-index/capture.json: Permission denied")):
        for words in (("correlate",), ("flamegraph",), ("export", "--chrome")):
            refused(as_nobody(kit, *words, name), 1, part)


@test
def outputs(kit):
    kit.record("record", directory="good", options=("-q",))
    os.mkdir(kit.path("folder"))
    os.symlink("good/capture.json", kit.path("link"))
    write(kit, "taken", b"mine\n")
    cases = (("no/such/file", 1, "No such file"), ("/proc/file", 1, "/proc/file: "),
             ("folder", 1, "is no file"), ("/dev/full", 1, "is no file"),
             ("link", 1, "symbolic link"), ("taken", 1, "--force"), ("taken/x", 1, "taken/x: "),
             ("x" * 300, 1, "File name too long"), ("x" * 5000, 1, "too long"),
             ("", 2, "the name is empty"))
    before = sorted(os.listdir(kit.folder))
    for name, status, part in cases:
        for words in READERS + (("diff", "good", "--flamegraph"),):
            done = kit.run(words[0], "good", *words[1:], name)
            if "--json" in words:
                done.stdout = b"" if json.loads(done.stdout or b"{}").get("error") else b"no JSON"
            refused(done, status, part, what=f"{words} {name[:20]}")
            equal(sorted(os.listdir(kit.folder)), before, "files")
    with open(kit.path("taken"), encoding="ascii") as file:
        equal(file.read(), "mine\n", "the file that was there")


@test
def outputs_that_may_not_grow(kit):
    """A file size limit is an error like any other, and leaves nothing behind."""
    kit.record("launches=2000", "record", directory="good", options=("-q",))
    before = sorted(os.listdir(kit.folder))
    for words in (("flamegraph",), ("report",), ("export", "--chrome")):
        done = kit.run(*words, "good", "-o", "out", preexec_fn=limit(resource.RLIMIT_FSIZE, 4096))
        refused(done, 1, "out: File too large")
        equal(sorted(os.listdir(kit.folder)), before, "files")
        with open(kit.path("standard"), "wb") as file:
            done = kit.call(kit.program, *words, "good", to=file,
                            preexec_fn=limit(resource.RLIMIT_FSIZE, 4096))
        os.unlink(kit.path("standard"))
        equal(done.returncode, 1, "status")
        contains(done.stderr.decode(), "File too large", "message")
    refused(kit.record("record", status=None, preexec_fn=limit(resource.RLIMIT_FSIZE, 0)), 1,
            "capture", "File too large")
    equal(os.path.exists(kit.path("capture")), False, "capture")


@test
def outputs_on_a_full_disk(kit):
    kit.record("launches=3000", "threads=4", "record", directory="good", options=("-q",))
    os.mkdir(kit.path("small"))
    script = ["mount -t tmpfs -o size=16k small small || exit 66"]
    for number, words in enumerate(("flamegraph", "report", "export --chrome")):
        script.append(f"{kit.program} {words} good -o small/{number} 2>>said; echo $? >>statuses")
    script.append("ls -A small >left")
    # There is not even room for the first file of a capture.
    script.append("head -c 16384 /dev/zero >small/fill; "
                  f"{kit.program} record -o small/capture -- true 2>>said; echo $? >>statuses; "
                  f"TMPDIR=small {kit.program} correlate -- true 2>>said; echo $? >>statuses; "
                  "ls -A small >>left")
    done = kit.call("unshare", "-m", "sh", "-c", "\n".join(script))
    if done.returncode:
        raise Skip("no mount of one's own: " + done.stderr.decode().splitlines()[0])
    with open(kit.path("statuses"), encoding="ascii") as file:
        equal(file.read().split(), ["1"] * 5, "statuses")
    with open(kit.path("said"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    equal(len(lines), 5, "lines")
    for line in lines:
        contains(line, "No space left on device", "message")
    with open(kit.path("left"), encoding="ascii") as file:
        equal(file.read().split(), ["fill"], "left behind")


@test
def few_descriptors(kit):
    """Each process is recorded, or counted once as one that was not, with a note that names it."""
    for number in (16, 20, 25):
        name = f"with-{number}"
        done = kit.run("record", "-o", name, "--", "sh", "-c",
                       f"for i in 1 2 3 4 5 6; do {kit.player} record sleep=200 & done; wait",
                       preexec_fn=limit(resource.RLIMIT_NOFILE, number))
        said = done.stderr.decode()
        more = re.search(r"and (\d+) more, the notes in", said)
        left_out = int(more.group(1)) + 1 if more else said.count("was not recorded")
        document = json.loads(kit.run("correlate", "--json", name).stdout)["recording"]
        equal(len(document["processes"]) + left_out, 6, f"{number} descriptors: {said}")
        equal(sum("was not recorded" in note for note in document["notes"]), left_out, "notes")
        counted = re.search(r"(\d+) process\w*, (\d+) launches", said)
        equal(counted and [int(n) for n in counted.groups()],
              [len(document["processes"]), document["count"]] if document["processes"] else None,
              f"what record counts: {said}")


@test
def losses_on_a_full_disk(kit):
    """record and correlate say the same, whether the end had room or not: the reserve takes 128 KiB."""
    script = ["for size in 60k 100k 300k; do",
              "mkdir $size; mount -t tmpfs -o size=$size $size $size || exit 66",
              f"{kit.program} record -o $size/capture -- {kit.player} launches=40000 record 2>$size-said || exit 1",
              f"{kit.program} correlate --json $size/capture >$size-json || exit 1; done"]
    done = kit.call("unshare", "-m", "sh", "-c", "\n".join(script))
    if done.returncode == 66:
        raise Skip("no mount of one's own")
    equal((done.returncode, done.stderr), (0, b""), "status")
    for size in ("60k", "100k", "300k"):
        with open(kit.path(f"{size}-said"), encoding="utf-8") as file:
            said = int(re.search(r"lost: (\d+) records that could not be written", file.read()).group(1))
        with open(kit.path(f"{size}-json"), encoding="utf-8") as file:
            missing = json.load(file)["missing"]
        equal((missing["losses"]["recorder"], missing["cut_off"]), (said, False), f"{size}: lost, cut off")
        contains(missing["summary"], f"{said:,} records lost", size)


@test
def directories(kit):
    """An existing empty directory stays, even if nothing was written to it."""
    os.mkdir(kit.path("mine"))
    refused(kit.run("record", "-o", "mine", "--", "./nothing"), 1, "program not found")
    equal(os.listdir(kit.path("mine")), [], "files")
    for name, part in (("/proc/capture", "cannot make /proc/capture"),
                       ("/dev/null", "is a link or a file"), ("no/such", "make the directory above"),
                       ("x" * 300, "File name too long")):
        refused(kit.run("record", "-o", name, "--", "touch", "ran"), 1, part)
    for folder in ("/nowhere", "/proc"):
        refused(kit.run("record", "-o", "a", "--", "touch", "ran", env={"TMPDIR": folder}), 1,
                "TMPDIR", folder)
        refused(kit.run("correlate", "--", "touch", "ran", env={"TMPDIR": folder}), 1, folder)
    equal(sorted(os.listdir(kit.folder)), ["libgpumon-inject.so", "mine"], "files")
    equal(os.path.exists(kit.path("ran")), False, "the program ran")


@test
def capture_taken_away(kit):
    """The capture is removed during recording: the program continues, and the error is reported.
    """
    done = kit.run("record", "-o", "capture", "--", "sh", "-c",
                   f"rm -rf capture; {kit.player} record; exit 4")
    equal(done.returncode, 4, "status")
    equal(done.stderr.decode(), "gpumon-user: capture was removed during the recording: nothing of it is left\n",
          "message")
    # All is well says neither the status nor the counts; also if another folder has its name, or a ring was in it.
    for command, options in ((f"{kit.player} record; rm -rf capture", ()),
                             (f"rm -rf capture; mkdir capture; {kit.player} record", ()),
                             (f"rm -rf capture; {kit.player} record", ("--continuous",)),
                             (f"rm -rf capture; {kit.player} record", ("-q",))):
        shutil.rmtree(kit.path("capture"), ignore_errors=True)
        done = kit.run("record", "-o", "capture", *options, "--", "sh", "-c", command)
        equal(done.returncode, 1, "status")
        contains(done.stderr.decode(), "capture was removed during the recording", command)
        equal(done.stderr.count(b"\n"), 1, f"lines: {done.stderr}")
    done = kit.run("record", "-o", "capture", "--", "sh", "-c",
                   f"mv capture moved; {kit.player} record; exit 4")
    equal(done.returncode, 4, "status")
    kit.capture("moved").check(1, 100)


@test
def killed_in_the_middle(kit):
    """However the tool ends, it leaves neither a temporary capture nor half a file."""
    for number in (signal.SIGKILL, signal.SIGTERM):
        kill_recorder(kit, number, "correlate")
        until(lambda: not captures(kit), f"no captures are left after signal {int(number)}")


def kill_recorder(kit, number, *words):
    """Kill the recorder of a program that would continue, then end the program."""
    process = kit.start(*words, "--", kit.player, "record", "touch=ready", "sleep=100000")
    kit.wait_for("ready")
    before = kit.left_behind()
    process.send_signal(number)
    process.wait(LIMIT)
    for pid in left_processes(kit.player, kit.folder):
        os.kill(pid, signal.SIGKILL)
    kit.end(process)
    os.unlink(kit.path("ready"))
    return before


def captures(kit):
    return [name for name in kit.left_behind()
            if os.path.exists(os.path.join(kit.folder, name, "capture.json"))]


@test
def sockets_of_killed_recorders(kit):
    """The next recorder removes them once no process can be about to listen there."""
    player = kit.start("record", "-q", "-o", "long", "--", kit.player, "touch=lives", "sleep=100000")
    kit.wait_for("lives")
    lives = kit.left_behind()
    os.utime(os.path.join(kit.folder, lives[0], "socket"), (1, 1))
    kit.run("record", "-q", "-o", "other", "--", "true")
    equal(kit.left_behind(), lives, "the living one's")
    kit.end(player, signal.SIGTERM)
    # It was not disturbed either.
    notes = json.loads(kit.run("correlate", "--json", "long").stdout)["recording"]["notes"]
    equal([note for note in notes if "was not recorded" in note], [], "notes of the living one")
    living = kill_recorder(kit, signal.SIGKILL, "record", "-o", "capture")
    equal(kit.left_behind(), living, "left behind")
    kit.run("record", "-q", "-o", "another", "--", "true")
    equal(kit.left_behind(), living, "one that could be new")
    os.utime(os.path.join(kit.folder, living[0], "socket"), (1, 1))
    # But not these: one that is not our folder, and one with other contents.
    write(kit, "gpumon-abcdef/socket", b"no socket")
    kit.run("record", "-q", "-o", "last", "--", "true")
    equal(kit.left_behind(), ["gpumon-abcdef"], "left behind")
