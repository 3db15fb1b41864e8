# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Processes that live already: record -p."""
import os
import signal
import time

from kit import has, same, test


def start_player(kit, *words):
    process = kit.start(*words, program=kit.player)
    time.sleep(0.1)
    return process


@test
def asleep(kit):
    player = start_player(kit, "pause=100", "launches=300", "listen", "stop", "out=on", "exit=3")
    done = kit.run("record", "-o", "capture", "-p", str(player.pid), "-d", "0.5")
    same("status", done.returncode, 0)
    kit.capture().check(1, 300)
    done = kit.end(player)
    same("the program's status", done.returncode, 3)
    same("the program's output", done.stdout, b"on\n")


@test
def until_it_ends(kit):
    player = start_player(kit, "listen", "sleep=300", "exit=3")
    done = kit.run("record", "-o", "capture", "-p", str(player.pid))
    same("status", done.returncode, 0)
    kit.end(player)
    kit.capture().check(1, 100)


@test
def until_control_c(kit):
    player = start_player(kit, "listen", "stop", "sleep=200")
    process = kit.start("record", "-o", "capture", "-p", str(player.pid))
    time.sleep(0.3)
    done = kit.end(process, signal.SIGINT)
    same("status", done.returncode, 0)
    kit.end(player)
    kit.capture().check(1, 100)


@test
def several(kit):
    players = [start_player(kit, "listen", "stop") for _ in range(3)]
    words = [word for player in players for word in ("-p", str(player.pid))]
    done = kit.run("record", "-o", "capture", *words, "-d", "0.4")
    same("status", done.returncode, 0)
    for player in players:
        kit.end(player)
    kit.capture().check(3, 300)


@test
def no_such_process(kit):
    player = start_player(kit, "exit=0")
    player.communicate()
    done = kit.run("record", "-o", "capture", "-p", str(player.pid))
    same("status", done.returncode, 1)
    has("message", done.stderr.decode(), f"no process {player.pid}")
    same("capture", os.path.exists(kit.path("capture")), False)


@test
def no_library(kit):
    player = start_player(kit, "sleep=20000")
    done = kit.run("record", "-o", "capture", "-p", str(player.pid))
    kit.end(player, signal.SIGKILL)
    same("status is a refusal", done.returncode in (1, 77), True)
    same("lines", done.stderr.count(b"\n"), 1)
    has("message", done.stderr.decode(), "has no injection library: start it with")
    same("capture", os.path.exists(kit.path("capture")), False)


@test
def impostor(kit):
    """Another process that took the name of one is not it."""
    import socket
    victim = start_player(kit, "sleep=20000")
    trap = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    trap.bind(f"\0gpumon-{os.geteuid()}-{victim.pid}")
    trap.listen(1)
    done = kit.run("record", "-o", "capture", "-p", str(victim.pid))
    kit.end(victim, signal.SIGKILL)
    same("status is a refusal", done.returncode in (1, 77), True)
    same("capture", os.path.exists(kit.path("capture")), False)
