# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What processes leave in a capture, however many they are and however they end."""
import os
import resource
import signal
import subprocess
import time

from kit import Skip, has, same, test


@test
def threads(kit):
    kit.record("threads=8", "launches=20000", "record")
    kit.capture().check(1, 160000)


@test
def many_processes(kit):
    kit.record("children=40", "launches=500", "record")
    kit.capture().check(40, 20000)


@test
def exec_chain(kit):
    kit.record("record", "exec", kit.player, "launches=50", "record", "exec", kit.player,
               "launches=7", "record", "exit=4", status=4)
    capture = kit.capture()
    capture.check(3, 157)
    same("one process", len({row["host_pid"] for row in capture.processes}), 1)
    same("files", len([n for n in os.listdir(kit.path("capture")) if n.endswith(".records")]), 4)


@test
def fork_and_exec(kit):
    # The parent's socket lives on in the child until its exec.
    kit.record("record", "children=3", "exec", kit.player, "launches=11", "record")
    kit.capture().check(4, 100 + 33)


@test
def killed(kit):
    kit.record("threads=4", "launches=5000", "record", f"signal={int(signal.SIGKILL)}",
               status=128 + signal.SIGKILL)
    kit.capture().check(1, 20000)


@test
def killed_amid(kit):
    """Whatever was written is there: as many kernels as launches, but for the last one."""
    process = kit.start("record", "-o", "capture", "--", "sh", "-c",
                        f"{kit.player} launches=100000000 pause=10 record & "
                        "sleep 0.4; kill -9 $!; wait $!; exit 0")
    done = kit.end(process)
    same("status", done.returncode, 0)
    capture = kit.capture()
    row = capture.processes[0]
    if row["launches"] < 100:
        raise AssertionError(f"only {row['launches']} launches")
    if not 0 <= row["launches"] - row["kernels"] <= 1:
        raise AssertionError(f"{row['launches']} launches, {row['kernels']} kernels")
    if not 0 <= row["total_launches"] - row["launches"] <= 1:
        raise AssertionError(f"counted {row['total_launches']}, recorded {row['launches']}")
    same("damage", capture.whole["truncated"] + capture.whole["broken"], 0)


@test
def killed_before_a_word(kit):
    """A process that dies before it could say who it is, is described all the same."""
    kit.record("connect", f"signal={int(signal.SIGKILL)}", status=128 + signal.SIGKILL)
    row = kit.capture().processes[0]
    same("descriptions", row["descriptions"], 1)
    same("pid", row["pid"], row["host_pid"])


@test
def recorder_killed(kit):
    """The program goes on; the capture is as it was then."""
    process = kit.start("record", "-o", "capture", "--", kit.player, "launches=2000", "record",
                        "touch=ready", "sleep=300", "launches=300", "record", "touch=end")
    kit.wait_for("ready")
    time.sleep(0.2)
    kit.end(process, signal.SIGKILL)
    kit.wait_for("end")
    kit.capture().check(1, 2000, ended=False)


@test
def stopped_by_duration(kit):
    """Recording ends, the program does not, nor are later processes of it recorded."""
    began = time.monotonic()
    kit.record("record", "stop", "sleep=600", "record", "out=on", options=("-d", "0.3"))
    took = time.monotonic() - began
    if took < 0.9:
        raise AssertionError(f"it ended after {took:.1f} s")
    capture = kit.capture()
    capture.check(1, 100)
    same("notes", capture.driver["notes"] >= 1, True)


@test
def deaf_to_stop(kit):
    """One that never answers is left alone after a while, and its records are there."""
    done = kit.run("record", "-o", "capture", "--", "sh", "-c",
                   f"{kit.player} launches=10 record touch=ready sleep=20000 "
                   "</dev/null >/dev/null 2>&1 & while [ ! -e ready ]; do sleep 0.05; done; "
                   "echo $!")
    os.kill(int(done.stdout), signal.SIGKILL)
    kit.capture().check(1, 10)


@test
def left_behind_in_the_background(kit):
    """What a program leaves running is asked for what it has, and does not hold us up."""
    began = time.monotonic()
    done = kit.run("record", "-o", "capture", "--", "sh", "-c",
                   f"{kit.player} record touch=ready stop sleep=10000 >/dev/null 2>&1 </dev/null & "
                   "while [ ! -e ready ]; do sleep 0.02; done; echo $!")
    os.kill(int(done.stdout), signal.SIGKILL)
    if time.monotonic() - began > 2.5:
        raise AssertionError("it waited though the library had stopped")
    kit.capture().check(1, 100)


@test
def strangers(kit):
    """Who says nothing, or something else, disturbs nobody."""
    script = (f"{kit.player} mute & {kit.player} version=9 connect & "
              "python3 -c 'import os,socket\n"
              "for data in (b\"\", b\"x\", os.urandom(500)):\n"
              " s=socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
              " s.connect(os.environ[\"GPUMON_SOCKET\"])\n"
              " s.send(data)\n"
              " try: s.recv(1000)\n"
              " except OSError: pass\n' & "
              f"{kit.player} launches=40 record; wait")
    done = kit.run("record", "-o", "capture", "--", "sh", "-c", script)
    has("message", done.stderr.decode(), "was not recorded")
    has("message", done.stderr.decode(), "and 4 more, the notes in capture say why")
    capture = kit.capture()
    capture.check(1, 40)
    # One for each of the five, and one about the module where that is not there.
    if capture.driver["notes"] < 5:
        raise AssertionError(f"{capture.driver['notes']} notes")


@test
def largest_size(kit):
    done = kit.record("launches=20000", "record", "sleep=100", "launches=20000", "record",
                      options=("--max-size", "1M"))
    has("message", done.stderr.decode(), "recording ended at the largest size")
    size = sum(os.path.getsize(os.path.join(kit.path("capture"), name))
               for name in os.listdir(kit.path("capture")))
    if not 1000000 <= size <= 8000000:
        raise AssertionError(f"{size} bytes")
    same("ended", kit.capture().whole["ended"], True)


@test
def losses(kit):
    """A memory that is too small loses records, which are counted and told."""
    done = kit.record("threads=16", "launches=60000", "record", options=("--buffer", "1M"))
    row = kit.capture().processes[0]
    same("counted", row["total_launches"], 960000)
    # What is lost may also be one of the few records that say who and where.
    beyond = row["launches"] + row["kernels"] + row["lost"] - 2 * 960000
    if not 0 <= beyond <= 32:
        raise AssertionError(f"{beyond} records too many: {row}")
    if row["lost"]:
        has("message", done.stderr.decode(), "--buffer with more helps")


@test
def ranks(kit):
    for rank in range(2):
        kit.record("record", directory="rank%r", env={"RANK": str(rank)})
        same("rank", kit.capture(f"rank{rank}").processes[0]["rank"], rank)


@test
def no_rank(kit):
    done = kit.run("record", "-o", "rank%r", "--", "true")
    same("status", done.returncode, 2)
    has("message", done.stderr.decode(), "no launcher set a rank")


@test
def known_of_the_host(kit):
    kit.record("record")
    row = kit.capture().processes[0]
    same("host pid", row["host_pid"], row["pid"])
    same("cgroup", row["cgroup"], 1)


@test
def no_module(kit):
    if os.path.exists("/sys/module/gpumon"):
        raise Skip("the module is loaded")
    kit.record("record")
    same("notes", kit.capture().driver["notes"], 1)
    kit.record("record", directory="not-asked", options=("--no-driver",))
    same("notes", kit.capture("not-asked").driver["notes"], 0)


@test
def default_names(kit):
    for _ in range(3):
        done = kit.run("record", "-q", "--", kit.player, "record")
        same("status", done.returncode, 0)
    names = [name for name in os.listdir(kit.folder) if name.startswith("gpumon-2")]
    same("captures", len(names), 3)
    for name in names:
        kit.capture(name).check(1, 100)


@test
def directory_taken(kit):
    os.mkdir(kit.path("full"))
    with open(kit.path("full/file"), "w", encoding="utf-8") as file:
        file.write("mine\n")
    os.symlink("elsewhere", kit.path("link"))
    for name in ("full", "full/file", "link", "no/such/folder"):
        done = kit.run("record", "-o", name, "--", kit.player, "touch=ran", "record")
        same(f"status of {name}", done.returncode, 1)
        same("lines", done.stderr.count(b"\n"), 1)
        same("the program ran", os.path.exists(kit.path("ran")), False)
    same("kept", os.listdir(kit.path("full")), ["file"])
    os.mkdir(kit.path("empty"))
    kit.record("record", directory="empty")
    kit.capture("empty").check(1, 100)


@test
def full_disk(kit):
    """What there was room for is there and readable, the rest is counted, the program untouched."""
    os.mkdir(kit.path("small"))
    done = kit.call("unshare", "-m", "sh", "-c",
                    f"mount -t tmpfs -o size=1M small small || exit 66; {kit.program} record "
                    f"-o small/capture -- {kit.player} launches=20000 record out=on exit=3; "
                    "status=$?; cp -r small/capture capture; exit $status")
    if done.returncode in (1, 66):
        raise Skip("no mount of one's own: " + done.stderr.decode().splitlines()[0])
    same("status", done.returncode, 3)
    same("output", done.stdout, b"on\n")
    has("message", done.stderr.decode(), "No space left")
    has("message", done.stderr.decode(), "records that could not be written")
    capture = kit.capture()
    if not 1000 < capture.sum("launches") < 20000:
        raise AssertionError(f"{capture.sum('launches')} launches")
    same("damage", capture.whole["truncated"] + capture.whole["broken"], 0)


@test
def no_memory_for_it(kit):
    """Where files may not be large, there is no channel: it is said, the program goes on."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    done = kit.record("record", "exit=3", status=3, preexec_fn=limit)
    has("message", done.stderr.decode(), "shared memory")


@test
def nobody_reads_our_words(kit):
    ours, theirs = os.pipe()
    os.close(ours)
    process = subprocess.run([kit.program, "record", "-o", "capture", "--", kit.player, "record",
                              "exit=3"], cwd=kit.folder, env=kit.environment, stderr=theirs,
                             timeout=20, check=False)
    os.close(theirs)
    same("status", process.returncode, 3)
    kit.capture().check(1, 100)
