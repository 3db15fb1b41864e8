# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Owners of created files, what other users can do with them, and the rights that commands keep.
"""
import fcntl
import os
import re
import shutil
import stat
import subprocess

from kit import LIMIT, NOBODY, Skip, contains, equal, test, until

STRANGER = 12345
# Capabilities of enum gpumon_privilege, with the kernel's numbers.
FILES = {1, 2}


def need_root():
    if os.geteuid():
        raise Skip("needs root to be several users")


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def capabilities(text, name):
    value = int(re.search(rf"^{name}:\s+([0-9a-f]+)$", text, re.M).group(1), 16)
    return {bit for bit in range(64) if value >> bit & 1}


def refused(done, *parts):
    text = done.stderr.decode()
    if not done.returncode:
        raise AssertionError(f"not refused: {text}")
    equal(text.count("\n"), 1, "lines")
    for part in ("gpumon-user: ", *parts):
        contains(text, part, "message")


def open_up(kit):
    """Let other users pass through the test's folder, and give them one of their own."""
    os.chmod(kit.folder, 0o711)
    own = kit.path("own")
    os.mkdir(own)
    os.chown(own, NOBODY, NOBODY)
    return own


@test
def umask(kit):
    """Files are 0600 and directories 0700 whatever the umask is, and the program keeps its umask.
    """
    for number, mask in enumerate((0, 0o22, 0o777)):
        name = f"capture{number}"
        done = kit.run("record", "-o", name, "--", "sh", "-c", "umask; umask 0; exec \"$@\"", "sh",
                       kit.player, "launches=10", "record", umask=mask)
        equal((done.returncode, done.stdout), (0, b"%04o\n" % mask), "status")
        equal(oct(mode(kit.path(name))), "0o700", "directory")
        files = os.listdir(kit.path(name))
        equal({oct(mode(kit.path(name + "/" + file))) for file in files}, {"0o600"}, "files")
        for words in (("report", name), ("flamegraph", name), ("export", "--json", name),
                      ("correlate", name, "--summary"), ("diff", name, name, "--flamegraph")):
            out = [] if words[-1].startswith("--") else ["-o"]
            done = kit.run(*words, *out, "out", umask=mask)
            equal(done.returncode, 0, f"status of {words} ({done.stderr})")
            equal(oct(mode(kit.path("out"))), "0o600", f"file of {words}")
            os.unlink(kit.path("out"))


@test
def descriptors(kit):
    """The program gets the descriptors that the shell would have given it."""
    def of(*before):
        done = kit.call(*before, "sh", "-c", "ls /proc/$$/fd")
        equal(done.returncode, 0, "status")
        return done.stdout

    equal(of(kit.program, "record", "-o", "capture", "--"), of(), "record")
    equal(of(kit.program, "correlate", "--"), of(), "correlate")


@test
def rights_of_readers(kit):
    """Commands that only read captures keep the file capabilities, and their children get no more.
    """
    kit.record("launches=10", "record")
    read, write = os.pipe()
    # So small that the writer has to wait for us.
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
    process = subprocess.Popen([kit.program, "report", "capture", "-o", "-"], cwd=kit.folder,
                               stdin=subprocess.DEVNULL, stdout=write, stderr=subprocess.DEVNULL,
                               env=kit.environment)
    os.close(write)
    try:
        os.read(read, 1)
        with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
            text = file.read()
    finally:
        process.kill()
        process.wait()
        os.close(read)
    for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
        if not capabilities(text, name) <= FILES:
            raise AssertionError(f"{name} has {capabilities(text, name)}")
    contains(text, "NoNewPrivs:\t1", "status")


@test
def rights_of_programs(kit):
    """The program has all its capabilities; meanwhile the recorder has fewer."""
    before = kit.call("cat", "/proc/self/status").stdout.decode()
    done = kit.run("record", "-o", "capture", "--", "sh", "-c",
                   "cat /proc/self/status; echo =; cat /proc/$PPID/status")
    equal(done.returncode, 0, "status")
    program, recorder = done.stdout.decode().split("=\n")
    for name in ("CapEff", "CapPrm", "CapInh", "CapAmb", "CapBnd"):
        equal(capabilities(program, name), capabilities(before, name), name)
    contains(program, "NoNewPrivs:\t0", "program")
    # CAP_DAC_*, CAP_KILL, CAP_NET_ADMIN, CAP_SYS_PTRACE, CAP_SYS_ADMIN
    if not capabilities(recorder, "CapEff") <= {1, 2, 5, 12, 19, 21}:
        raise AssertionError(f"the recorder has {capabilities(recorder, 'CapEff')}")


def sudo(kit, own, *words, parent="sudo", **more):
    """Imitates sudo: a parent of that name, its variables, and root."""
    shell = kit.path(parent)
    if not os.path.exists(shell):
        shutil.copy(os.path.realpath("/bin/sh"), shell)
    env = dict(kit.environment, SUDO_UID=str(NOBODY), SUDO_GID=str(NOBODY), TMPDIR=own,
               HOME="/root", USER="root", LOGNAME="root")
    return subprocess.run([shell, "-c", '"$@"; exit $?', "sudo", kit.program, *words], cwd=own,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=LIMIT, env=env, check=False, **more)


WHO = "id -u; id -g; id -G; echo $HOME $USER; cat /proc/self/status"


def who(done):
    uid, gid, groups, names, *rest = done.stdout.decode().splitlines()
    return uid, gid, groups, names, capabilities("\n".join(rest), "CapEff")


@test
def under_sudo(kit):
    """The program runs as the user that called sudo, and the files belong to that user."""
    need_root()
    own = open_up(kit)
    home = os.path.expanduser("~nobody")
    number = str(NOBODY)
    nobody = (number, number, number, f"{home} nobody", set())
    player = kit.path("player")
    shutil.copy(kit.player, player)

    done = sudo(kit, own, "record", "-o", "capture", "--", "sh", "-c", WHO)
    equal(done.returncode, 0, f"status ({done.stderr})")
    equal(who(done), nobody, "who")
    contains(done.stderr.decode(), "the program ran as nobody", "said")
    found = {(os.stat(path).st_uid, oct(mode(path))) for path in
             [own + "/capture"] + [f"{own}/capture/{name}" for name in os.listdir(own + "/capture")]}
    equal(found, {(NOBODY, "0o700"), (NOBODY, "0o600")}, "capture")

    # Its library connects to the recorder's socket.
    done = sudo(kit, own, "record", "-o", "played", "--", player, "launches=10", "record")
    equal(done.returncode, 0, f"status ({done.stderr})")
    contains(done.stderr.decode(), "1 process, 10 launches", "said")
    done = sudo(kit, own, "correlate", "--summary", "summary", "--", player, "launches=10", "record")
    equal(done.returncode, 0, f"status ({done.stderr})")
    equal((os.stat(own + "/summary").st_uid, oct(mode(own + "/summary"))), (NOBODY, "0o600"),
          "summary")
    equal(sorted(os.listdir(own)), ["capture", "played", "summary"], "left")

    # Not in a folder where that user may not write.
    done = sudo(kit, own, "record", "-o", kit.path("roots"), "--", "true")
    refused(done, "Permission denied")
    # A shell started by sudo has its variables, too.
    done = sudo(kit, own, "record", "-o", "shell", "--", "sh", "-c", WHO, parent="shell")
    equal(who(done)[0], "0", "who in a shell")
    done = sudo(kit, own, "record", "-o", "root", "--run-as", "root", "--", "sh", "-c", WHO)
    equal(who(done)[0], "0", "who as root")
    equal(os.stat(own + "/root").st_uid, 0, "whose")


@test
def run_as(kit):
    need_root()
    own = open_up(kit)
    env = {"TMPDIR": own}
    done = kit.run("record", "-o", "own/capture", "--run-as", "nobody", "--", "sh", "-c", WHO, env=env)
    equal(done.returncode, 0, f"status ({done.stderr})")
    equal((who(done)[0], who(done)[4]), (str(NOBODY), set()), "who")
    refused(kit.run("record", "--run-as", "no-such-user", "--", "true"), "there is no user")
    refused(kit.run_as_nobody("record", "--run-as", "root", "-o", "own/x", "--", "true", env=env),
            "only root may")
    refused(kit.run("record", "--run-as", "nobody", "-p", "1"), "--run-as goes with a program")
    refused(kit.run("stat", "--run-as", "nobody"), "--run-as goes with a command")


WRITERS = (("report", "-o"), ("flamegraph", "-o"), ("export", "--pprof", "-o"),
           ("correlate", "--summary"))


@test
def names_of_files(kit):
    """What exists already under the name of a file to be written."""
    kit.record("launches=10", "record")
    precious = kit.path("precious")
    with open(precious, "w", encoding="utf-8") as file:
        file.write("precious")
    os.symlink("precious", kit.path("link"))
    os.symlink("nothing", kit.path("dangling"))
    os.mkfifo(kit.path("fifo"))
    os.mkdir(kit.path("folder"))
    os.mkdir(kit.path("everybody"))
    os.chmod(kit.path("everybody"), 0o777)
    os.mkdir(kit.path("sticky"))
    os.chmod(kit.path("sticky"), 0o1777)
    for number, words in enumerate(WRITERS):
        run = [*words[:-1], "capture", words[-1]]
        for force in ([], ["--force"]):
            for name, part in (("link", "symbolic link"), ("dangling", "symbolic link"),
                               ("fifo", "is no file"), ("folder", "is no file"),
                               ("folder/..", "is no file"), ("everybody/x", "no sticky bit"),
                               ("precious/x", "Not a directory"), ("none/x", "No such file")):
                refused(kit.run(*run, name, *force), part)
        refused(kit.run(*run, "precious"), "--force")
        # Through a link and back, like any program.
        for name in (f"sticky/{number}", f"folder/../up{number}"):
            done = kit.run(*run, name)
            equal(done.returncode, 0, f"status of {name} ({done.stderr})")
        # A file with two names becomes two files.
        other = kit.path(f"other{number}")
        os.link(precious, other)
        done = kit.run(*run, other, "--force")
        equal(done.returncode, 0, f"status ({done.stderr})")
        equal((os.stat(other).st_nlink, os.stat(precious).st_nlink), (1, 1), "names")
    with open(precious, encoding="utf-8") as file:
        equal(file.read(), "precious", "what was there")
    equal([name for name in os.listdir(kit.folder) if re.search(r"nothing|\.[0-9a-f]{6}$", name)],
          [], "made")
    equal(os.listdir(kit.path("everybody")), [], "made for everybody")


@test
def files_of_others(kit):
    need_root()
    kit.record("launches=10", "record")
    os.chmod(kit.folder, 0o1777)
    theirs = kit.path("theirs")
    with open(theirs, "w", encoding="utf-8") as file:
        file.write("theirs")
    os.chown(theirs, STRANGER, STRANGER)
    folder = kit.path("folder")
    os.mkdir(folder)
    os.chown(folder, STRANGER, STRANGER)
    for words in WRITERS:
        run = [*words[:-1], "capture", words[-1]]
        refused(kit.run(*run, "theirs", "--force"), "another user's")
        # Root may write anywhere, and new files belong to root.
        done = kit.run(*run, "folder/file", "--force")
        equal(done.returncode, 0, f"status ({done.stderr})")
        equal((os.stat(folder + "/file").st_uid, oct(mode(folder + "/file"))), (0, "0o600"),
              "whose")
    refused(kit.run_as_nobody("report", "capture", "-o", "x"), "Permission denied")
    refused(kit.run_as_nobody("record", "-o", "folder/new", "--", "true", env={"TMPDIR": "/tmp"}),
            "Permission denied")
    with open(theirs, encoding="utf-8") as file:
        equal((file.read(), os.stat(theirs).st_uid), ("theirs", STRANGER), "theirs")
    # It is not accepted as the directory of a capture.
    refused(kit.run("record", "-o", "folder", "--", "true"), "another user")
    empty = kit.path("empty")
    os.mkdir(empty)
    os.chown(empty, STRANGER, STRANGER)
    refused(kit.run("record", "-o", "empty", "--", "true"), "belongs to another user")
    equal(os.listdir(empty), [], "in it")


@test
def names_of_captures(kit):
    os.mkdir(kit.path("target"))
    os.symlink("target", kit.path("link"))
    os.symlink("nothing", kit.path("dangling"))
    os.mkfifo(kit.path("fifo"))
    os.mkdir(kit.path("everybody"))
    os.chmod(kit.path("everybody"), 0o777)
    for command in ("record", "correlate"):
        for name, part in (("link", "is a link or a file"), ("link/", "is a link or a file"),
                           ("dangling", "is a link or a file"), ("fifo", "is a link or a file"),
                           ("everybody/x", "no sticky bit"), ("target/..", "is not empty"),
                           (".", "is not empty"), ("none/x", "directory above it")):
            refused(kit.run(command, "-o", name, "--", "true"), part)
        refused(kit.run(command, "--", "true", env={"TMPDIR": kit.path("everybody")}),
                "no sticky bit", "TMPDIR")
    equal((os.listdir(kit.path("target")), os.listdir(kit.path("everybody"))), ([], []), "made")
    # An own empty directory is accepted, and becomes private.
    os.mkdir(kit.path("open"))
    os.chmod(kit.path("open"), 0o777)
    kit.record("launches=10", "record", directory="open")
    equal(oct(mode(kit.path("open"))), "0o700", "mode")
    kit.record("launches=10", "record", directory="target/../beside")
    equal(len(kit.capture("beside").processes), 1, "processes")


@test
def capture_that_is_moved(kit):
    """What takes its name during the recording is not written to."""
    def names(directory):
        return [name for name in os.listdir(kit.path(directory)) if name.endswith(".symbols")]

    # A directory to which names could be added.
    kit.record("launches=10", "record", directory="other", options=("--no-names",))
    done = kit.run("record", "-o", "capture", "--", "sh", "-c",
                   "mv capture away; ln -s other capture; exec \"$@\"", "sh", kit.player,
                   "launches=10", "record")
    equal(done.returncode, 0, f"status ({done.stderr})")
    equal((len(names("other")), len(names("away"))), (0, 1), "names in the other, in ours")
    equal(kit.capture("away").sum("launches"), 10, "launches")
    equal(kit.capture("away").whole["ended"], True, "ended")


@test
def another_process_in_its_place(kit):
    """The kernel identifies the process: files are looked up in its root."""
    done = kit.record("host-pid=1", "launches=10", "record")
    equal(done.returncode, 0, "status")
    for kind, _, record, _ in kit.records():
        if kind == 1:
            pid = int.from_bytes(record[16:20], "little")
            if pid in (0, 1):
                raise AssertionError(f"the process is said to be {pid}")


@test
def socket_and_temporary_captures(kit):
    """Only their owner can access them."""
    process = kit.start("correlate", "--", "sh", "-c", "echo $GPUMON_SOCKET; while [ ! -e end ]; do sleep 0.02; done",
                        umask=0)
    path = process.stdout.readline().decode().strip()
    modes = {name: oct(mode(os.path.join(kit.folder, name))) for name in kit.left_behind()}
    of_socket = oct(mode(path)), oct(mode(os.path.dirname(path)))
    kit.touch("end")
    process.communicate(timeout=LIMIT)
    equal(of_socket, ("0o600", "0o700"), "socket")
    equal((len(modes), set(modes.values())), (2, {"0o700"}), "folders")
    until(lambda: not kit.left_behind(), "nothing is left")
