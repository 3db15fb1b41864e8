# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Processes that live already: record -p."""
import os
import shutil
import signal
import subprocess

from kit import LIMIT, Skip, contains, equal, test, until, wait_listening


def start_player(kit, *words, **options):
    process = kit.start(*words, program=kit.player, **options)
    if "listen" in words:
        wait_listening(process.pid)
    return process


def namespaces(kit, *words, **options):
    """The player in its own network and pid namespaces, and its pid outside."""
    process = kit.start("-n", "-p", "--kill-child", "--mount-proc", kit.player, *words,
                        program="unshare", **options)

    def child():
        if process.poll() is not None:
            raise Skip("no namespaces of one's own: " + process.communicate()[1].decode().strip())
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
            children = file.read().split()
        # Not by name: in a chroot, that of another mount namespace begins outside.
        try:
            return children and os.path.samefile(f"/proc/{children[0]}/exe", kit.player) and int(children[0])
        except FileNotFoundError:
            # It has ended, because it may not have namespaces.
            return None
    pid = until(child, "the player is started", LIMIT)
    wait_listening(pid, 1)
    return process, pid


def record_until(kit, launches, *words):
    """Record running processes until there are so many launches, and stop with Ctrl-C."""
    process = kit.start("record", "-o", "capture", *words)
    kit.wait_launches(launches)
    done = kit.end(process, signal.SIGINT)
    equal(done.returncode, 0, "status")
    return done


@test
def asleep(kit):
    player = start_player(kit, "pause=100", "launches=300", "listen", "stop", "out=on", "exit=3")
    record_until(kit, 300, "-p", str(player.pid))
    kit.capture().check(1, 300)
    done = kit.end(player)
    equal(done.returncode, 3, "the program's status")
    equal(done.stdout, b"on\n", "the program's output")


@test
def until_it_ends(kit):
    player = start_player(kit, "listen", "sleep=300", "exit=3")
    done = kit.run("record", "-o", "capture", "-p", str(player.pid))
    equal(done.returncode, 0, "status")
    kit.end(player)
    kit.capture().check(1, 100)


@test
def until_control_c(kit):
    player = start_player(kit, "listen", "stop", "sleep=200")
    record_until(kit, 100, "-p", str(player.pid))
    kit.end(player)
    kit.capture().check(1, 100)


@test
def under_nohup(kit):
    """The terminal may go: recording goes on until another signal ends it."""
    player = start_player(kit, "listen", "stop")
    process = kit.start("record", "-o", "capture", "-p", str(player.pid),
                        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    kit.wait_launches(100)
    process.send_signal(signal.SIGHUP)
    try:
        process.wait(1)
    except subprocess.TimeoutExpired:
        pass
    equal(process.poll(), None, "status after the signal")
    done = kit.end(process, signal.SIGINT)
    equal(done.returncode, 0, "status")
    kit.end(player)
    kit.capture().check(1, 100)


@test
def several(kit):
    players = [start_player(kit, "listen", "stop") for _ in range(3)]
    words = [word for player in players for word in ("-p", str(player.pid))]
    record_until(kit, 300, *words)
    for player in players:
        kit.end(player)
    kit.capture().check(3, 300)


@test
def two_recorders(kit):
    """The second one says who has the process, and leaves nothing."""
    player = start_player(kit, "listen", "stop")
    first = kit.start("record", "-o", "first", "-p", str(player.pid))
    kit.wait_launches(100, "first")
    done = kit.run("record", "-o", "second", "-p", str(player.pid))
    equal(done.returncode, 1, "status of the second one")
    contains(done.stderr.decode(), f"process {player.pid} is recorded already, by gpumon-user {first.pid}", "message")
    equal(os.path.exists(kit.path("second")), False, "its capture")
    equal(kit.end(first, signal.SIGINT).returncode, 0, "status of the first one")
    kit.end(player)
    kit.capture("first").check(1, 100)


@test
def stopped_process(kit):
    player = start_player(kit, "listen", "stop")
    player.send_signal(signal.SIGSTOP)
    done = kit.run("record", "-o", "capture", "-d", "100ms", "-p", str(player.pid))
    equal(done.returncode, 1, "status")
    contains(done.stderr.decode(), f"process {player.pid} was not recorded: it is stopped, by a signal or a debugger",
             "message")
    player.send_signal(signal.SIGCONT)
    kit.end(player)


@test
def no_such_process(kit):
    player = start_player(kit, "exit=0")
    player.communicate()
    done = kit.run("record", "-o", "capture", "-p", str(player.pid))
    equal(done.returncode, 1, "status")
    contains(done.stderr.decode(), f"no process {player.pid}", "message")
    equal(os.path.exists(kit.path("capture")), False, "capture")


@test
def no_library(kit):
    player = start_player(kit, "sleep=100000")
    done = kit.run("record", "-o", "capture", "-p", str(player.pid))
    kit.end(player, signal.SIGKILL)
    equal(done.returncode in (1, 77), True, "status is a refusal")
    equal(done.stderr.count(b"\n"), 1, "lines")
    contains(done.stderr.decode(), "has no injection library: start it with", "message")
    equal(os.path.exists(kit.path("capture")), False, "capture")


@test
def impostor(kit):
    """Another process that listens under the name of one is rejected."""
    import socket
    victim = start_player(kit, "sleep=100000")
    trap = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    trap.bind(f"\0gpumon-{os.geteuid()}-{victim.pid}")
    trap.listen(1)
    done = kit.run("record", "-o", "capture", "-p", str(victim.pid))
    kit.end(victim, signal.SIGKILL)
    equal(done.returncode in (1, 77), True, "status is a refusal")
    equal(os.path.exists(kit.path("capture")), False, "capture")


@test
def says_nothing(kit):
    """It is connected to, and does not say what it is until the end: it was not recorded."""
    import socket
    silent = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    silent.bind(f"\0gpumon-{os.geteuid()}-{os.getpid()}")
    silent.listen(100)

    def recorded():
        shutil.rmtree(kit.path("capture"), ignore_errors=True)
        done = kit.run("record", "-o", "capture", "-p", str(os.getpid()), "-d", "0.1")
        # A busy machine may need the 5 s that a recorder waits for the first word.
        return b"said nothing for" not in done.stderr and done
    done = until(recorded, "it ends before it gives up")
    contains(done.stderr.decode(), f"process {os.getpid()} was not recorded: recording ended before",
             "message")
    equal(done.returncode, 1, "status")


@test
def in_a_folder(kit):
    """A path longer than a socket name works from outside."""
    player = start_player(kit, "listen", "stop", env={"GPUMON_LISTEN": kit.folder})
    record_until(kit, 100, "-p", str(player.pid))
    kit.end(player)
    kit.capture().check(1, 100)


@test
def in_a_container(kit):
    """Process 1 of its own namespaces, with its own network."""
    player, pid = namespaces(kit, "listen", "stop")
    record_until(kit, 100, "-p", str(pid))
    kit.end(player)
    capture = kit.capture()
    capture.check(1, 100)
    equal(capture.processes[0]["pid"], 1, "pid")
    equal(capture.processes[0]["host_pid"], pid, "host pid")


@test
def folder_in_a_container(kit):
    player, pid = namespaces(kit, "listen", "stop", env={"GPUMON_LISTEN": kit.folder})
    record_until(kit, 100, "-p", str(pid))
    kit.end(player)
    kit.capture().check(1, 100)


@test
def started_in_a_container(kit):
    done = kit.run("record", "-o", "capture", "--", "unshare", "-n", "-p", "-f", "--mount-proc",
                   kit.player, "record")
    if done.returncode == 1 and b"unshare" in done.stderr:
        raise Skip("no namespaces of one's own")
    equal(done.returncode, 0, "status")
    row = kit.capture().processes[0]
    equal(row["pid"], 1, "pid")
    equal(row["host_pid"] > 1, True, "a host pid")
