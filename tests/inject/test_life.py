# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Begin and end of programs, recorders and CUPTI; and errors."""
import collections
import ctypes
import os
import shutil
import signal
import socket
import struct
import subprocess
import time

import harness
import recorder as rec
from harness import LIMIT, SANITIZED, Run, Skip, busier, check, compare_all, compare_launches, equal, notes, until
from test_records import run_plugins

# System call number, the same on all machines.
CLOSE_RANGE = 436

# Where an ELF file with moved headers has them: in memory, the kernel's addresses would be there.
FAR_HEADERS = 1 << 40


def test_fork_and_exec():
    """a forked child is not recorded, one that calls exec is a process of its own"""
    run = Run("fork", 300)
    equal(run.status, 0, "exit status")
    equal(len(run.targets()), 2, "processes that connected")
    by_pid = {t.pid: t for t in run.targets()}
    equal(len(by_pid), 2, "different ones")
    forked = {e.pid for e in run.account(harness.LAUNCH)} - set(by_pid)
    equal(len(forked), 1, "children that launched unrecorded")
    for pid, target in by_pid.items():
        records = compare_all(run, target, pid)
        equal(len(records["launch"]), 600 if pid == run.process.pid else 300, "launches")


def test_fork_with_loader():
    """a child does not inherit the loader's lock from the library's thread"""
    run = Run("fork-with-loader", 1, f"{harness.objects}/plugin-a.so")
    equal(run.status, 0, "exit status (12: the child hung)")


def test_fork_while_listening():
    """a child that begins a life of its own leaves the socket of its parent alone"""
    folder = os.path.join(harness.objects, "listen")
    os.makedirs(folder, exist_ok=True)
    run = Run("fork-while-listening", recorded=False, environment={"GPUMON_LISTEN": folder})
    equal(run.status, 0, "exit status (12: the parent's socket is gone)")


def test_fork_in_child():
    """an API that a child initialises while it forks does not hang the library's thread"""
    if SANITIZED:
        raise Skip("the sanitizer's allocator stays locked in a child of a program with threads")
    run = Run("fork-in-child")
    equal(run.status, 0, "exit status (9: the thread does not do its work)")
    equal(len(run.targets()), 2, "processes that connected")


def test_fork_of_namesakes():
    """children that have the recorded process's number, in another pid namespace, are not it"""
    probe = ["unshare", "--pid", "--fork", "--mount-proc", "unshare", "--pid", "true"]
    if not shutil.which("unshare") or subprocess.run(probe, stderr=subprocess.DEVNULL,
                                                     check=False).returncode:
        raise Skip("no new pid namespaces here")
    run = Run(command=["unshare", "--pid", "--fork", "--mount-proc", f"{harness.objects}/program",
                       "namesakes"])
    equal(run.status, 0, "exit status")
    seconds = [int(word) for word in run.output.split()]
    equal(len(seconds), 2, "children")
    # The library of the tests waits 60 s for its thread, which a child does not have.
    check(max(seconds) < 58, f"children take {seconds} s to exit")


def test_clone():
    """launches of a child that a system call made are not counted as the parent's"""
    run = Run("clone", 1000)
    equal(run.status, 0, "exit status")
    compare_all(run, run.only())


def test_killed():
    """killed with SIGKILL or ended by _exit: what was written is there, the rest is countable"""
    def is_written(run):
        if not run.targets():
            return False
        totals, records = run.only().totals(), run.only().records()
        return {totals["launches"], sum(totals[kind] for kind in ("kernels", "copies", "sets")),
                sum(len(records[kind]) for kind in ("kernel", "copy", "set"))} == {1400}

    for how, status in (("kill", -signal.SIGKILL), ("_exit", 3)):
        run = Run(how, 1400, 1, stdin=subprocess.PIPE, wait=False)
        until(lambda run=run: is_written(run), "everything is written")
        run.wait()
        equal(run.status, status, "exit status")
        compare_all(run, run.only())
    # Copies among them wait for the GPU.
    run = Run("kill", 1400, 2, flush_ms=10000, environment={"GPUMON_LATE": "1"})
    target = run.only()
    compare_launches(run, target.records(), target)
    totals = target.totals()
    equal(totals["launches"], 1400, "launches in all")
    check(sum(totals[kind] for kind in ("kernels", "copies", "sets")) < 1400,
          "nothing was withheld: this test tests nothing")


def test_waited():
    """what the program has waited for is written when the wait returns, so that no end loses it"""
    for how, status in (("kill", -signal.SIGKILL), ("_exit", 3)):
        run = Run(how, 200, 0, flush_ms=10000)
        equal(run.status, status, "exit status")
        compare_all(run, run.only())
    run = Run("_exit", 200, 0, flush_ms=10000, environment={"MOCK_FLUSH_HANGS": "0", "MOCK_IMPATIENT": "1"})
    equal(run.status, 3, "exit status where CUPTI does not answer")


def test_quick_exit():
    """a program that ends by quick_exit() has all its records"""
    run = Run("quick_exit", 1400, 0, flush_ms=10000)
    equal(run.status, 3, "exit status")
    compare_all(run, run.only())


def test_cancelled():
    """a launch whose thread is cancelled within it is there, without an end"""
    if SANITIZED:
        raise Skip("the sanitizer takes the stack of a cancelled thread for one that is in use")
    run = Run("cancelled", 3, 20, environment={"MOCK_LAUNCH_US": "1"})
    equal(run.status, 0, "exit status")
    run.check_rules()
    records, totals = run.only().records(), run.only().totals()
    equal(collections.Counter(launch.end_ns == 0 for launch in records["launch"]), {True: 20, False: 62},
          "launches by whether they have no end")
    equal(collections.Counter(launch.tid for launch in records["launch"] if not launch.end_ns),
          dict.fromkeys({launch.tid for launch in records["launch"]} - {run.only().pid}, 1), "threads of those")
    check(all(launch.stack for launch in records["launch"]), "a launch without a stack")
    equal((totals["launches"], totals["lost"]), (82, {}), "launches and losses")


def test_handler():
    """a launch of a signal handler that interrupts the library is counted as lost, by its cause; another is recorded"""
    for environment in {}, {"MOCK_SIGNAL": "1"}, {"MOCK_SIGNAL": "1", "GPUMON_LAUNCHES": "all"}:
        run = Run("handler", 3, environment=environment)
        equal(run.status, 0, "exit status")
        totals = run.only().totals()
        # In a launch, and in the wait at the end.
        equal(totals["lost"], {12: 2} if environment else {}, f"losses with {environment}")
        equal((len(run.only().records()["launch"]), totals["launches"]), (4, 4 + sum(totals["lost"].values())),
              f"launches with {environment}")


def test_cancelled_init():
    """CUDA is initialised by a thread that is cancelled meanwhile: all is recorded"""
    run = Run("cancelled-init", 20)
    equal(run.status, 0, "exit status")
    compare_all(run, run.only())


def test_no_cupti():
    """without CUPTI the program runs, and the capture says why it is empty"""
    empty = os.path.join(harness.objects, "empty")
    os.makedirs(empty, exist_ok=True)
    run = Run("loop", 20, environment={"LD_LIBRARY_PATH": harness.objects,
                                       "GPUMON_CUPTI": f"{empty}/none.so"})
    equal(run.status, 0, "exit status")
    equal((run.output, run.errors), ("", ""), "what it printed")
    text = " ".join(notes(run.only().records()))
    check("no CUPTI found" in text, f"notes: {text}")


def test_other_subscriber():
    """another subscriber: said once, and nothing of CUPTI is touched"""
    run = Run("loop", 20, environment={"MOCK_FAIL": "cuptiSubscribe:39"})
    equal(run.status, 0, "exit status")
    texts = notes(run.only().records())
    equal(len(texts), 1, "notes")
    check("another profiler" in texts[0], texts[0])
    run.check_rules()
    equal(run.only().totals()["launches"], 0, "launches")


def test_cupti_fails():
    """an error of any function of CUPTI's: a note, and the program goes on"""
    functions = ["cuptiSubscribe:999", "cuptiSetThreadIdType:8", "cuptiActivityEnable@10:8",
                 "cuptiActivityEnable:8", "cuptiEnableCallback:8", "cuptiActivityFlushAll:8",
                 "cuptiActivityRegisterCallbacks:8", "cuptiActivityRegisterTimestampCallback:8"]
    for function in functions:
        run = Run("loop", 50, environment={"MOCK_FAIL": function})
        equal(run.status, 0, f"exit status with {function}")
        equal((run.output, run.errors), ("", ""), "what it printed")
        texts = notes(run.only().records())
        if "Flush" not in function:
            check(any("CUPTI" in t for t in texts), f"{function}: notes {texts}")
        if function == "cuptiActivityEnable@10:8":
            equal(texts, ["CUPTI refuses kernels: CUPTI_ERROR_OUT_OF_MEMORY"], "notes")
            compare_launches(run, run.only().records(), run.only())


def test_losses():
    """losses are counted by cause"""
    run = Run("threads", 3000, 12, mib=4, environment={"MOCK_FAIL": "cuptiActivityFlushAll@0:8"},
              interval=0.001)
    dropped = len(run.account(harness.DROPPED))
    totals = run.only().totals()
    check(dropped, "nothing was dropped: this test tests nothing")
    equal(totals["lost"].get(2), dropped, "records that CUPTI dropped")
    equal(totals["kernels"], len(run.account(harness.KERNEL)), "kernels")

    run = Run("loop", 700, environment={"MOCK_NO_TIME_EVERY": "10"})
    without = len(run.account(harness.NO_TIME))
    check(without > 40, "too few")
    equal(run.only().totals()["lost"], {4: without}, "losses")
    equal(len(run.only().records()["kernel"]), len(run.account(harness.KERNEL)), "kernels")

    run = Run("loop", 70, environment={"MOCK_UNKNOWN": "1"})
    equal(run.only().totals()["lost"], {10: 70}, "records of an unknown kind")


def test_full_channel():
    """a recorder that does not keep up: launches are counted, not waited for"""
    run = Run("loop", 30000, blocks=4, interval=30)
    target = run.only()
    totals = target.totals()
    records = target.records()
    equal(run.status, 0, "exit status")
    check(totals["lost"].get(1, 0) > 1000, f"losses: {totals['lost']}")
    equal(totals["launches"], 30000, "launches in all")
    written = sum(len(v) for k, v in records.items() if isinstance(v, list))
    equal(records["unknown"], [], "broken records")
    check(written > 1000, "nothing was written")
    # Without anything but launches, kernels and a few names each one is there or counted.
    run = Run("loop", 30000, blocks=4, interval=30, record=rec.KERNELS)
    target = run.only()
    totals, records = target.totals(), target.records()
    told = len(records["launch"]) + len(records["kernel"]) + totals["lost"].get(1, 0)
    made = totals["launches"] + totals["kernels"]
    check(made > 20000 and made <= told < made + 1000, f"{told} are recorded or lost, of {made}")


def test_no_room_at_first():
    """definitions that found no room at first are written as soon as there is room"""
    run = Run("steady", 10 ** 9, 100, wait=False, held=True)
    process = run.process
    equal(process.stdout.readline(), "ready\n", "first line")
    equal(process.stdout.readline(), "half\n", "second line")
    target = run.only()
    lost, totals = target.totals()["lost"].get(1, 0), target.totals()
    check(lost > 100 and not target.chunks, f"{lost} losses: this test tests nothing")
    # What names and stacks are is lost once, however often it is tried.
    most = totals["launches"] + totals["kernels"] + 200
    check(lost < most, f"{lost} losses, which should be at most {most}")
    target.let_go()
    begun = target.totals()["launches"]
    until(lambda: target.totals()["launches"] - begun > 2000, "launches are counted")
    target.stop()
    check(target.done.wait(LIMIT), "it does not stop")
    process.terminate()
    process.communicate(timeout=LIMIT)
    records = target.records()
    check(len(records["launch"]) > 1000, "launches")
    for launch in records["launch"]:
        check(launch.function in records["strings"], "a launch has no name")
        check(launch.stack in records["stacks"], "a launch has no stack")
    for kernel in records["kernel"]:
        check(kernel.name in records["strings"], "a kernel has no name")


def test_slow_end():
    """the program's end waits for records that CUPTI delivers late"""
    run = Run("loop", 700, flush_ms=10000, environment={"MOCK_FLUSH_MS": "700"})
    equal(run.status, 0, "exit status")
    compare_all(run, run.only())


def test_bad_recorder():
    """a recorder that sends nonsense or nothing does not hold up the program"""
    for message in (b"", b"x" * 8, rec.struct.pack("<2I248s", rec.REFUSED, 0, b"no"),
                    rec.make_settings()):
        path = os.path.join(harness.objects, f"nonsense-{os.getpid()}")
        server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        server.bind(path)
        server.listen(1)
        impatient = {} if message else {"MOCK_IMPATIENT": "1", "MOCK_ANSWER_MS": "1000"}
        run = Run("loop", 50, recorded=False, wait=False, environment={"GPUMON_SOCKET": path, **impatient})
        connection, _ = server.accept()
        connection.recv(100)
        begin = time.monotonic()
        if message:
            connection.send(message)
        run.wait()
        equal(run.status, 0, "exit status")
        equal((run.output, run.errors), ("", ""), "what it printed")
        check(time.monotonic() - begin < 60 * busier(), "it took too long")
        connection.close()
        server.close()
        os.unlink(path)
    run = Run("loop", 50, recorded=False, environment={"GPUMON_SOCKET": "/nowhere/at/all"})
    equal((run.status, run.output, run.errors), (0, "", ""), "without a socket")


def test_late_answer():
    """as long as a recorder lives it is waited for, for seconds; one that ends is not"""
    class Late(rec.Recorder):
        def take(self, connection):
            time.sleep(3)
            return super().take(connection)

    path = os.path.join(harness.objects, f"late-{os.getpid()}")
    late = Late(path)
    run = Run("loop", 50, recorded=False, environment={"GPUMON_SOCKET": path, "MOCK_IMPATIENT": "1"})
    equal(run.status, 0, "exit status")
    target, = late.wait()
    compare_all(run, target)
    late.close()
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server.bind(path)
    server.listen(1)
    run = Run("loop", 50, recorded=False, wait=False, environment={"GPUMON_SOCKET": path, "MOCK_ANSWER_MS": "86400000"})
    connection, _ = server.accept()
    connection.recv(100)
    connection.close()
    run.wait()
    equal(run.status, 0, "exit status of a program whose recorder ends")
    server.close()
    os.unlink(path)


def test_hangs():
    """a CUPTI whose flush never returns does not keep the program from ending"""
    begin = time.monotonic()
    # Initialised again twenty times: it is waited for once, however many APIs there are.
    run = Run("again", 50, 20, wait=False,
              environment={"MOCK_FLUSH_HANGS": "1", "MOCK_IMPATIENT": "1"})
    run.wait()
    equal(run.status, 0, "exit status")
    check(time.monotonic() - begin < 60 * busier(), "it took too long")
    compare_launches(run, run.only().records(), run.only())


def test_not_cuda():
    """a program that does not use CUDA: nothing happens"""
    run = Run("quiet", wait=False)
    run.process.communicate(timeout=LIMIT)
    equal(run.process.returncode, 0, "exit status")
    equal(run.targets(), [], "processes that connected")


def test_descriptors():
    """a program that closes all descriptors and reuses their numbers keeps its data"""
    run = Run("descriptors", 200)
    equal(run.status, 0, "exit status")
    launches = len(run.only().records()["launch"])
    check(launches >= 200, "launches before that")
    if not no_descriptors_of_our_own():
        compare_launches(run, run.only().records(), run.only())


def no_descriptors_of_our_own():
    if ctypes.CDLL(None).syscall(CLOSE_RANGE, 1 << 30, 1 << 30, 0):
        return "this kernel has no close_range(), or a filter refuses it"
    return None


def test_descriptors_of_sockets():
    """the same while the library makes a socket to listen on: nothing of the program is read or closed"""
    if why := no_descriptors_of_our_own():
        raise Skip(why)
    equal(Run("descriptors-listening", 200, recorded=False).status, 0, "exit status")


def change_notes(path, to):
    """Change an ELF file: its notes claim to be somewhere else."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    headers, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for at in range(headers, headers + size * count, size):
        if struct.unpack_from("<I", data, at)[0] == 4:
            struct.pack_into("<Q", data, at + 16, to)
    with open(path, "wb") as file:
        file.write(data)


def test_odd_library():
    """a library whose notes point to unmapped memory, or beyond it, does no harm"""
    for to in (0x7fff0000, 0xfffffffffffff000):
        path = os.path.join(harness.objects, "plugin-odd.so")
        shutil.copy(f"{harness.objects}/plugin-a.so", path)
        change_notes(path, to)
        run = run_plugins(30, path, f"{harness.objects}/plugin-b.so")
        equal(run.status, 0, f"exit status with notes at {to:#x}")
        records = run.only().records()
        named = {records["strings"][m.path]: m for m in records["mapping"]}
        check(path in named, "the library has no mapping")
        os.unlink(path)


def move_headers(path):
    """Change an ELF file: its program headers are at its end, further away than its memory reaches."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    headers, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    struct.pack_into("<Q", data, 32, FAR_HEADERS)
    with open(path, "wb") as file:
        file.write(data)
        file.seek(FAR_HEADERS)
        file.write(data[headers:headers + size * count])


def test_moved_headers():
    """a library whose program headers are not in its memory does no harm, and has its mapping"""
    path = os.path.join(harness.objects, "plugin-moved.so")
    shutil.copy(f"{harness.objects}/plugin-a.so", path)
    move_headers(path)
    run = run_plugins(30, path, f"{harness.objects}/plugin-b.so")
    equal(run.status, 0, "exit status")
    records = run.only().records()
    check(path in {records["strings"][m.path] for m in records["mapping"]}, "the library has no mapping")
    os.unlink(path)


def test_secure_exec():
    """a privileged program is left alone"""
    if os.geteuid() != 0:
        raise Skip("needs root to make a setuid program")
    if SANITIZED:
        raise Skip("a sanitizer takes no settings in a setuid program")
    if os.statvfs(harness.objects).f_flag & os.ST_NOSUID:
        raise Skip(f"{harness.objects} is mounted nosuid")
    connected = []
    for mode in (0o755, 0o4755):
        path = f"{harness.objects}/program-setuid"
        subprocess.run(["cp", f"{harness.objects}/program-fixed", path], check=True)
        os.chown(path, 65534, 65534)
        os.chmod(path, mode)
        address = f"@gpumon-secure-{os.getpid()}-{mode}"
        recorder = rec.Recorder("\0" + address[1:])
        result = subprocess.run(
            [path, "loop", "20"], capture_output=True, text=True,
            env={"CUDA_INJECTION64_PATH": f"{harness.objects}/libgpumon-inject.so",
                 "GPUMON_CUPTI": f"{harness.objects}/13/libcupti.so.13",
                 "GPUMON_SOCKET": address})
        os.unlink(path)
        recorder.close()
        if result.returncode == 126 or "cannot open shared object" in result.stderr:
            raise Skip(f"others may not look into {harness.objects}")
        equal((result.returncode, result.stdout, result.stderr), (0, "", ""), "exit status")
        connected.append(len(recorder.targets))
    equal(connected, [1, 0], "captures of the plain program and of the setuid one")
