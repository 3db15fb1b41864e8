# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A program that is recorded is as it is without: its output, its status, its signals."""
import os
import pty
import signal
import stat
import subprocess
import time

from kit import Skip, has, same, test

OUTPUT = ("out=first line", "err=an error", "out=last")


@test
def output_untouched(kit):
    bare = kit.call(kit.player, *OUTPUT, "cat", stdin=bytes(range(256)) * 5000)
    with_us = kit.record(*OUTPUT, "record", "cat", stdin=bytes(range(256)) * 5000,
                         options=("-q",))
    same("standard output", with_us.stdout, bare.stdout)
    same("standard error", with_us.stderr, bare.stderr)
    loud = kit.record(*OUTPUT, "record", "cat", directory="loud")
    same("standard output", loud.stdout, b"first line\nlast\n")
    has("standard error", loud.stderr.decode(), "an error\ngpumon-user: 1 process, 100 launches")


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
    same("what the program has", with_us.stdout, bare.stdout)
    # Ignored and blocked signals are inherited, also those that we need ourselves.
    def ignore():
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM])
    bare = kit.call(kit.player, "signals", "exit=3", preexec_fn=ignore)
    with_us = kit.record("signals", "exit=3", directory="ignored", status=3, options=("-q",),
                         preexec_fn=ignore)
    same("signals", with_us.stdout, bare.stdout)


@test
def closed_descriptors(kit):
    """Of the standard three, those that are closed are closed in the program, too."""
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
        same(f"with {closed}", said[1], said[0])


@test
def environment(kit):
    done = kit.run("record", "-q", "-o", "capture", "env")
    variables = dict(line.split("=", 1) for line in done.stdout.decode().splitlines())
    library = kit.environment["GPUMON_INJECT"]
    same("CUDA_INJECTION64_PATH", variables["CUDA_INJECTION64_PATH"], library)
    folder = os.path.dirname(variables["GPUMON_SOCKET"])
    same("the socket is gone", os.path.exists(folder), False)
    for name, value in kit.environment.items():
        same(name, variables.get(name), value)


@test
def socket_is_ours_alone(kit):
    script = 'stat -c "%a %F" $(dirname $GPUMON_SOCKET) $GPUMON_SOCKET'
    done = kit.run("record", "-q", "-o", "capture", "--", "sh", "-c", script)
    same("modes", done.stdout, b"700 directory\n600 socket\n")
    same("left behind", kit.left_behind(), [])


@test
def modes_of_the_capture(kit):
    old = os.umask(0)
    try:
        kit.record("record")
    finally:
        os.umask(old)
    same("directory", stat.S_IMODE(os.stat(kit.path("capture")).st_mode), 0o700)
    for name in os.listdir(kit.path("capture")):
        mode = stat.S_IMODE(os.stat(os.path.join(kit.path("capture"), name)).st_mode)
        same(name, mode, 0o600)


@test
def options_of_the_program(kit):
    # Behind its name they are its own, with "--" and without.
    for words in (["--"], []):
        done = kit.run("record", "-q", "-o", f"capture{len(words)}", *words, "echo", "-o", "x",
                       "--json", "--", "--help")
        same("standard output", done.stdout, b"-o x --json -- --help\n")


@test
def signals_sent_to_us(kit):
    for number in (signal.SIGTERM, signal.SIGINT):
        process = kit.start("record", "-o", f"capture{int(number)}", "--", kit.player, "catch",
                            "record", f"touch={int(number)}", "sleep=20000")
        kit.wait_for(str(int(number)))
        done = kit.end(process, number)
        same("standard output", done.stdout, b"caught\n")
        same("status", done.returncode, 7)
        kit.capture(f"capture{int(number)}").check(1, 100)


@test
def control_c_of_a_terminal(kit):
    """The terminal sends it to both: the program gets it once, and alone decides."""
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(kit.folder)
        os.execve(kit.program,
                  [kit.program, "record", "-q", "-o", "capture", "--", "sh", "-c",
                   # No program while it waits: dash loses a signal that comes while it starts one.
                   f"trap 'echo got it' INT; {kit.player} record; : >ready; "
                   "while [ ! -e end ]; do :; done; echo end; exit 5"], kit.environment)
    kit.wait_for("ready")
    os.write(terminal, b"\x03")
    time.sleep(0.3)
    with open(kit.path("end"), "w", encoding="utf-8"):
        pass
    text = b""
    try:
        while data := os.read(terminal, 4096):
            text += data
    except OSError:
        pass
    same("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 5)
    same("output", text.replace(b"\r", b""), b"^Cgot it\nend\n")
    kit.capture().check(1, 100)


@test
def not_found(kit):
    os.mkdir(kit.path("folder"))
    with open(kit.path("text"), "w", encoding="utf-8") as file:
        file.write("no program\n")
    for program, words in (("./nothing", "program not found"), ("./folder", "Permission denied"),
                           ("./text", "Permission denied"), ("nothing-at-all", "not found")):
        done = kit.run("record", "-o", "capture", "--", program)
        same("status", done.returncode, 1)
        same("lines", done.stderr.count(b"\n"), 1)
        has("message", done.stderr.decode(), f"{program}: ")
        has("message", done.stderr.decode(), words)
        same("capture", os.path.exists(kit.path("capture")), False)
    same("left behind", kit.left_behind(), [])


@test
def no_cuda(kit):
    done = kit.run("record", "-o", "capture", "--", "true")
    same("status", done.returncode, 0)
    has("message", done.stderr.decode(), "nothing was recorded: no process used CUDA")
    same("processes", len(kit.capture().processes), 0)


@test
def setuid(kit):
    if os.geteuid():
        program = next((path for path in ("/usr/bin/su", "/bin/su", "/usr/bin/passwd")
                        if os.path.exists(path) and os.stat(path).st_mode & stat.S_ISUID), None)
    else:
        # Of root's, setuid root means nothing.
        program = kit.path("program")
        subprocess.run(["cp", "/bin/true", program], check=True)
        os.chown(program, 1, 1)
        os.chmod(program, 0o4755)
    if not program:
        raise Skip("no setuid program")
    done = kit.run("record", "-o", "capture", "--", program, "--version")
    has("message", done.stderr.decode(), f"{program} is setuid")


@test
def no_library(kit):
    done = kit.run("record", "-o", "capture", "--", "true",
                   env={"GPUMON_INJECT": kit.path("nothing")})
    same("status", done.returncode, 77)
    has("message", done.stderr.decode(), "nothing: No such file")
    os.chmod(kit.environment["GPUMON_INJECT"], 0o666)
    done = kit.run("record", "-o", "capture", "--", "true")
    same("status", done.returncode, 77)
    has("message", done.stderr.decode(), "can be written by everybody")
    same("capture", os.path.exists(kit.path("capture")), False)
