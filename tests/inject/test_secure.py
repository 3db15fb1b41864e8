# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Whom the library trusts: neither the environment of a privileged program nor another user."""
import os
import re
import shutil
import socket
import subprocess
import tempfile

import harness
import recorder as rec
from harness import LIMIT, SANITIZED, Skip, check, equal, need, until

NOBODY = 65534
SOMEBODY = 12345


def need_several_users():
    if os.geteuid() != 0:
        raise Skip("needs root to be several users")
    if SANITIZED:
        raise Skip("a sanitizer takes no settings in such a program")
    if subprocess.run(["test", "-x", harness.objects], user=NOBODY).returncode:
        raise Skip(f"others may not look into {harness.objects}")


def environment(folder, **more):
    return {"CUDA_INJECTION64_PATH": f"{harness.objects}/libgpumon-inject.so",
            "GPUMON_CUPTI": f"{harness.objects}/13/libcupti.so.13", "GPUMON_LISTEN": folder,
            "MOCK_ACCOUNT": os.path.join(folder, "account"), **more}


def test_file_capabilities():
    """in a program with file capabilities the library reads, opens and starts nothing"""
    need_several_users()
    need("setcap", "libcap2-bin")
    if os.statvfs(harness.objects).f_flag & os.ST_NOSUID:
        raise Skip(f"{harness.objects} is mounted nosuid")
    found = []
    for capability in (None, "cap_net_raw+ep"):
        path = f"{harness.objects}/secure-capable"
        shutil.copy(f"{harness.objects}/secure_program", path)
        os.chmod(path, 0o755)
        if capability:
            done = subprocess.run(["setcap", capability, path], capture_output=True, text=True)
            if done.returncode:
                os.unlink(path)
                raise Skip("no file capabilities here: " + done.stderr.strip())
        with tempfile.TemporaryDirectory(dir=harness.objects) as folder:
            os.chmod(folder, 0o777)
            # The first one is in use until the recorder's thread is out of accept().
            address = f"@gpumon-capable-{os.getpid()}-{len(found)}"
            recorder = rec.Recorder("\0" + address[1:])
            done = subprocess.run([path], capture_output=True, text=True, user=NOBODY,
                                  group=NOBODY, extra_groups=[], timeout=LIMIT,
                                  env=environment(folder, GPUMON_SOCKET=address))
            recorder.close()
            left = [name for name in os.listdir(folder) if name != "account"]
        os.unlink(path)
        equal(done.returncode, 0, f"exit status ({done.stderr})")
        words = done.stdout.split()
        said = dict(zip(words[::2], map(int, words[1::2])))
        equal(said.pop("loaded"), 1, "the library is loaded")
        found.append((said, len(recorder.targets), left))
    plain, secure = found
    check(plain[0]["asked"] > 3 and plain[0]["threads"] == 2 and plain[0]["tables"] == 1 and
          plain[1] == 1, f"the program without capabilities is not recorded: {plain}")
    equal(secure, ({"secure": 1, "asked": 0, "tables": 0, "files": 0, "threads": 0}, 0, []),
          "what the library did in the program with capabilities")


def heard_from(uid, folder):
    """What a recorder run by this user receives from a program run by nobody."""
    address = f"gpumon-peer-{os.getpid()}-{uid}"
    ready, tell = os.pipe()
    pid = os.fork()
    if not pid:
        # The kernel uses the identity from the time of listen().
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind("\0" + address)
        listener.listen(1)
        os.write(tell, b"x")
        listener.settimeout(LIMIT)
        try:
            connection = listener.accept()[0]
            connection.settimeout(LIMIT)
            os._exit(10 if connection.recv(100) else 20)
        except OSError:
            os._exit(30)
    os.read(ready, 1)
    os.close(ready)
    os.close(tell)
    done = subprocess.run([f"{harness.objects}/secure_program"], capture_output=True, text=True,
                          user=NOBODY, group=NOBODY, extra_groups=[], timeout=LIMIT,
                          env=environment(folder, GPUMON_SOCKET="@" + address))
    equal(done.returncode, 0, f"exit status ({done.stderr})")
    return os.WEXITSTATUS(os.waitpid(pid, 0)[1])


def test_recorder_of_another_user():
    """a recorder of another user receives nothing; one of the same user and one of root do"""
    need_several_users()
    with tempfile.TemporaryDirectory(dir=harness.objects) as folder:
        os.chmod(folder, 0o777)
        said = {uid: heard_from(uid, folder) for uid in (NOBODY, 0, SOMEBODY)}
    equal(said, {NOBODY: 10, 0: 10, SOMEBODY: 20}, "10: heard hello, 20: was left at once")


def connect_as(uid, address):
    """Connect as a user. Returns whether there was a hello."""
    pid = os.fork()
    if not pid:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.settimeout(LIMIT)
            try:
                s.connect(address)
                os._exit(10 if s.recv(100) else 20)
            except OSError as error:
                os._exit(error.errno)
    return os.WEXITSTATUS(os.waitpid(pid, 0)[1])


def test_dormant_and_another_user():
    """a dormant program rejects other users, and its socket belongs to its user from the start"""
    need_several_users()
    with tempfile.TemporaryDirectory(dir=harness.objects) as folder:
        os.chmod(folder, 0o777)
        for listen in (folder, ""):
            process = subprocess.Popen(
                [f"{harness.objects}/program-fixed", "steady", "200000", "10"], user=NOBODY, group=NOBODY,
                extra_groups=[], env=environment(folder, GPUMON_LISTEN=listen), umask=0,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                name = f"gpumon-{NOBODY}-{process.pid}"
                address = os.path.join(folder, name + ".sock") if listen else "\0" + name
                wait_for(address, process)
                if listen:
                    equal(oct(os.stat(address).st_mode & 0o777), "0o600", "mode of the socket")
                refused = 13 if listen else 20
                equal([connect_as(uid, address) for uid in (SOMEBODY, NOBODY)], [refused, 10],
                      "a stranger, and its user (10: hello, 20: left, 13: EACCES)")
            finally:
                process.kill()
                process.communicate()


def wait_for(address, process):
    def listens():
        equal(process.poll(), None, "exit status of the program that should listen")
        if address[0] != "\0":
            return os.path.exists(address)
        with open("/proc/net/unix", encoding="utf-8", errors="replace") as file:
            return re.search(re.escape("@" + address[1:]) + r"\n", file.read())
    until(listens, "the program listens")
