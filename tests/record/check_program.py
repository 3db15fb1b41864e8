# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A recorded program behaves as without recording: output, status, signals."""
import fcntl
import json
import os
import pty
import signal
import stat
import struct
import subprocess
import termios

from kit import Skip, contains, equal, state, test, until

OUTPUT = ("out=first line", "err=an error", "out=last")


@test
def output_untouched(kit):
    bare = kit.call(kit.player, *OUTPUT, "cat", stdin=bytes(range(256)) * 5000)
    with_us = kit.record(*OUTPUT, "record", "cat", stdin=bytes(range(256)) * 5000,
                         options=("-q",))
    equal(with_us.stdout, bare.stdout, "standard output")
    equal(with_us.stderr, bare.stderr, "standard error")
    loud = kit.record(*OUTPUT, "record", "cat", directory="loud")
    equal(loud.stdout, b"first line\nlast\n", "standard output")
    contains(loud.stderr.decode(), "an error\ngpumon-user: 1 process, 100 launches",
             "standard error")


@test
def exit_statuses(kit):
    for number in (0, 1, 7, 77, 127, 255):
        kit.record("record", f"exit={number}", directory=f"exit{number}", status=number)
    for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGABRT):
        kit.record("record", f"signal={int(number)}", directory=f"signal{int(number)}",
                   status=128 + number)
        kit.capture(f"signal{int(number)}").check(1, 100)


@test
def descriptors_signals_limits(kit):
    words = ("descriptors", "signals", "exec", "sh", "-c", "ulimit -n; umask; id -u; pwd")
    bare = kit.call(kit.player, *words)
    with_us = kit.record(*words, options=("-q",))
    equal(with_us.stdout, bare.stdout, "what the program has")
    # Ignored and blocked signals are inherited, including those that the recorder needs itself.
    def ignore():
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM])
    bare = kit.call(kit.player, "signals", "exit=3", preexec_fn=ignore)
    with_us = kit.record("signals", "exit=3", directory="ignored", status=3, options=("-q",),
                         preexec_fn=ignore)
    equal(with_us.stdout, bare.stdout, "signals")


@test
def sigusr1(kit):
    """It ends no command, comes to a program that expects it, and to no other."""
    process = kit.start("record", "-o", "capture", "--", kit.player, "launches=2000", "record", "touch=ready", "await=go")
    kit.wait_for("ready")
    process.send_signal(signal.SIGUSR1)
    kit.touch("go")
    equal(kit.end(process).returncode, 0, "status of a program that does not catch it")
    process = kit.start("record", "-q", "-o", "caught", "--", "sh", "-c",
                        "trap 'echo caught; exit 3' USR1; touch traps; while :; do sleep 0.02; done")
    kit.wait_for("traps")
    done = kit.end(process, signal.SIGUSR1)
    equal((done.returncode, done.stdout), (3, b"caught\n"), "status and output of one that does")
    # Any other command, here while it waits for its reader.
    process = kit.start("export", "--chrome", "capture")
    until(lambda: struct.unpack("i", fcntl.ioctl(process.stdout, termios.FIONREAD, b"    "))[0] >= 65536,
          "the pipe is full")
    done = kit.end(process, signal.SIGUSR1)
    equal(done.returncode, 0, "status of export")
    json.loads(done.stdout)


@test
def closed_descriptors(kit):
    """Standard descriptors that are closed are closed in the program, too."""
    for closed in ("<&-", "2>&-", "<&- 2>&-"):
        said = []
        for number, program in enumerate(("", f"{kit.program} record -o capture%d --")):
            name = f"capture{len(closed)}" if number else ""
            command = program % len(closed) if number else ""
            done = kit.call("sh", "-c", f"exec 4>&1; {command} {kit.player} "
                            f"descriptors record {closed}")
            said.append(done.stdout)
            if name:
                kit.capture(name).check(1, 100)
        equal(said[1], said[0], f"with {closed}")


@test
def environment(kit):
    done = kit.run("record", "-q", "-o", "capture", "env")
    variables = dict(line.split("=", 1) for line in done.stdout.decode().splitlines())
    library = kit.environment["GPUMON_INJECT"]
    equal(variables["CUDA_INJECTION64_PATH"], library, "CUDA_INJECTION64_PATH")
    equal(variables["OPENCL_LAYERS"], library, "OPENCL_LAYERS")
    done = kit.run("record", "-q", "-o", "other", "env", env={"OPENCL_LAYERS": "/a/layer.so"})
    equal(f"OPENCL_LAYERS=/a/layer.so:{library}" in done.stdout.decode().splitlines(), True,
          "appended to the layers that are there")
    folder = os.path.dirname(variables["GPUMON_SOCKET"])
    equal(os.path.exists(folder), False, "the socket is gone")
    for name, value in kit.environment.items():
        equal(variables.get(name), value, name)


@test
def socket_is_ours_alone(kit):
    script = 'stat -c "%a %F" $(dirname $GPUMON_SOCKET) $GPUMON_SOCKET'
    done = kit.run("record", "-q", "-o", "capture", "--", "sh", "-c", script)
    equal(done.stdout, b"700 directory\n600 socket\n", "modes")
    equal(kit.left_behind(), [], "left behind")


@test
def modes_of_the_capture(kit):
    old = os.umask(0)
    try:
        kit.record("record")
    finally:
        os.umask(old)
    equal(stat.S_IMODE(os.stat(kit.path("capture")).st_mode), 0o700, "directory")
    for name in os.listdir(kit.path("capture")):
        mode = stat.S_IMODE(os.stat(os.path.join(kit.path("capture"), name)).st_mode)
        equal(mode, 0o600, name)


@test
def options_of_the_program(kit):
    # Arguments after its name belong to the program, with and without "--".
    for words in (["--"], []):
        done = kit.run("record", "-q", "-o", f"capture{len(words)}", *words, "echo", "-o", "x",
                       "--json", "--", "--help")
        equal(done.stdout, b"-o x --json -- --help\n", "standard output")


@test
def signals_sent_to_us(kit):
    for number in (signal.SIGTERM, signal.SIGINT):
        process = kit.start("record", "-o", f"capture{int(number)}", "--", kit.player, "catch",
                            "record", f"touch={int(number)}", "sleep=100000")
        kit.wait_for(str(int(number)))
        done = kit.end(process, number)
        equal(done.stdout, b"caught\n", "standard output")
        equal(done.returncode, 7, "status")
        kit.capture(f"capture{int(number)}").check(1, 100)


@test
def first_process_of_a_container(kit):
    """Orphans of the program are ours there, and do not stay as zombies."""
    script = ("for i in 1 2 3; do sh -c ': >gone$0 &' $i; done; "
              "while [ ! -e gone1 ] || [ ! -e gone2 ] || [ ! -e gone3 ]; do :; done; "
              "for i in $(seq 100); do grep -qs '^State:.Z' /proc/[0-9]*/status || exit 5; sleep 0.1; done; exit 6")
    done = kit.call("unshare", "-p", "-f", "--mount-proc", kit.program, "record", "-q", "-o", "capture", "--",
                    "sh", "-c", script)
    if b"unshare" in done.stderr:
        raise Skip("no namespaces of one's own: " + done.stderr.decode().strip())
    equal(done.returncode, 5, "status")


def pending(pid, number):
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        masks = [line.split()[1] for line in file if line.startswith(("SigPnd:", "ShdPnd:"))]
    return any(int(mask, 16) & 1 << number - 1 for mask in masks)


@test
def control_c_of_a_terminal(kit):
    """The terminal sends it to both: the program gets it once, and decides alone."""
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(kit.folder)
        # A background job starts with the signal ignored, which a shell cannot trap.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.execve(kit.program,
                  [kit.program, "record", "-q", "-o", "capture", "--", "sh", "-c",
                   # Do not start a program while waiting: dash loses a signal that arrives during
                   # that.
                   f"trap 'echo got it' INT; {kit.player} record; : >ready; "
                   "while [ ! -e end ]; do :; done; echo end; exit 5"], kit.environment)
    kit.wait_for("ready")
    os.write(terminal, b"\x03")
    text = b""
    while b"got it\r\n" not in text:
        text += os.read(terminal, 4096)
    # By then the recorder has received and handled it, too.
    until(lambda: state(pid) == "S" and not pending(pid, signal.SIGINT), "the recorder waits")
    kit.touch("end")
    try:
        while data := os.read(terminal, 4096):
            text += data
    except OSError:
        pass
    equal(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 5, "status")
    equal(text.replace(b"\r", b""), b"^Cgot it\nend\n", "output")
    kit.capture().check(1, 100)


@test
def not_found(kit):
    os.mkdir(kit.path("folder"))
    with open(kit.path("text"), "w", encoding="utf-8") as file:
        file.write("no program\n")
    for program, words in (("./nothing", "program not found"), ("./folder", "Permission denied"),
                           ("./text", "Permission denied"), ("nothing-at-all", "not found")):
        done = kit.run("record", "-o", "capture", "--", program)
        equal(done.returncode, 1, "status")
        equal(done.stderr.count(b"\n"), 1, "lines")
        contains(done.stderr.decode(), f"{program}: ", "message")
        contains(done.stderr.decode(), words, "message")
        equal(os.path.exists(kit.path("capture")), False, "capture")
    equal(kit.left_behind(), [], "left behind")


@test
def no_cuda(kit):
    done = kit.run("record", "-o", "capture", "--", "true")
    equal(done.returncode, 0, "status")
    contains(done.stderr.decode(), "nothing was recorded: no process used CUDA", "message")
    equal(len(kit.capture().processes), 0, "processes")
    said = kit.run("correlate", "capture").stdout.decode()
    contains(said, "\nNothing was recorded  no process used CUDA", "the reason is kept")
    equal([part for part in ("Nothing is missing", "0ns") if part in said], [], "what is not so")
    missing = json.loads(kit.run("correlate", "--json", "capture").stdout)["missing"]
    equal((missing["nothing"], missing["everything"]), (False, True), "in JSON")
    contains(missing["summary"], "no process used CUDA", "in JSON")


@test
def nothing_launched(kit):
    """The library was there, and its process launched nothing."""
    kit.run("record", "-o", "capture", "--", kit.player, "connect")
    contains(kit.run("correlate", "capture").stdout.decode(),
             "\nNothing was recorded  the process that was recorded launched nothing\n", "the reason")


@test
def within_a_recording(kit):
    """What an inner recording takes is missing in the outer one, which says so."""
    done = kit.run("record", "-o", "outer", "--", "sh", "-c",
                   f"{kit.program} record -q -o inner -- {kit.player} record; {kit.player} launches=7 record")
    contains(done.stderr.decode(), "it is gpumon-user itself, and what it starts is recorded by it, into inner", "message")
    kit.capture("inner").check(1, 100)
    kit.capture("outer").check(1, 7)
    said = kit.run("correlate", "outer").stdout.decode()
    contains(said, "\nMissing  what a note says\n", "what is missing")
    contains(said, "recorded by it, into inner\n", "the note")


@test
def static_program(kit):
    with open(kit.path("nothing.c"), "w", encoding="utf-8") as file:
        file.write("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-static", "-o", "nothing", "nothing.c"], cwd=kit.folder, check=True)
    done = kit.run("record", "-o", "capture", "--", "./nothing")
    contains(done.stderr.decode(), "nothing was recorded: ./nothing is linked statically", "message")


@test
def program_of_32_bits(kit):
    with open(kit.path("old"), "wb") as file:
        file.write(b"\x7fELF\x01\x01\x01".ljust(64, b"\0"))
    os.chmod(kit.path("old"), 0o755)
    done = kit.run("record", "--gl", "-o", "capture", "--", "./old")
    contains(done.stderr.decode(), "nothing was recorded: ./old is of 32 bits", "message")


@test
def setuid(kit):
    if os.geteuid():
        program = next((path for path in ("/usr/bin/su", "/bin/su", "/usr/bin/passwd")
                        if os.path.exists(path) and os.stat(path).st_mode & stat.S_ISUID), None)
    else:
        # setuid root has no effect if the caller is root.
        program = kit.path("program")
        subprocess.run(["cp", "/bin/true", program], check=True)
        os.chown(program, 1, 1)
        os.chmod(program, 0o4755)
    if not program:
        raise Skip("no setuid program")
    done = kit.run("record", "-o", "capture", "--", program, "--version")
    contains(done.stderr.decode(), f"{program} is setuid", "message")


@test
def no_library(kit):
    done = kit.run("record", "-o", "capture", "--", "true",
                   env={"GPUMON_INJECT": kit.path("nothing")})
    equal(done.returncode, 77, "status")
    contains(done.stderr.decode(), "nothing: No such file", "message")
    os.chmod(kit.environment["GPUMON_INJECT"], 0o666)
    done = kit.run("record", "-o", "capture", "--", "true")
    equal(done.returncode, 77, "status")
    contains(done.stderr.decode(), "can be written by everybody", "message")
    equal(os.path.exists(kit.path("capture")), False, "capture")
