# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What processes leave in a capture, however many there are and however they end."""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time

from kit import LIMIT, Skip, contains, equal, test


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
    equal(len({row["host_pid"] for row in capture.processes}), 1, "one process")
    equal(len([n for n in os.listdir(kit.path("capture")) if n.endswith(".records")]), 4, "files")


@test
def fork_and_exec(kit):
    # The parent's socket stays open in the child until its exec().
    kit.record("record", "children=3", "exec", kit.player, "launches=11", "record")
    kit.capture().check(4, 100 + 33)


@test
def killed(kit):
    kit.record("threads=4", "launches=5000", "record", f"signal={int(signal.SIGKILL)}",
               status=128 + signal.SIGKILL)
    kit.capture().check(1, 20000)


@test
def killed_amid(kit):
    """Everything written is there: as many kernels as launches, except the last one."""
    # It does not wait for the recorder: its channel has room for the launches of three minutes.
    process = kit.start("record", "-o", "capture", "--", "sh", "-c",
                        f"{kit.player} launches=100000000 pause=1000 record & "
                        "echo $! >player; wait $!; exit 0")
    kit.wait_launches(100)
    with open(kit.path("player"), encoding="ascii") as file:
        os.kill(int(file.read()), signal.SIGKILL)
    done = kit.end(process)
    equal(done.returncode, 0, "status")
    capture = kit.capture()
    row = capture.processes[0]
    if row["launches"] < 100:
        raise AssertionError(f"only {row['launches']} launches")
    if not 0 <= row["launches"] - row["kernels"] <= 1:
        raise AssertionError(f"{row['launches']} launches, {row['kernels']} kernels")
    if not 0 <= row["total_launches"] - row["launches"] <= 1:
        raise AssertionError(f"counted {row['total_launches']}, recorded {row['launches']}")
    equal(capture.whole["truncated"] + capture.whole["broken"], 0, "damage")


@test
def killed_before_a_word(kit):
    """A process that dies before it could describe itself is still described."""
    kit.record("connect", f"signal={int(signal.SIGKILL)}", status=128 + signal.SIGKILL)
    row = kit.capture().processes[0]
    equal(row["descriptions"], 1, "descriptions")
    equal(row["pid"], row["host_pid"], "pid")


@test
def recorder_killed(kit):
    """The program continues. The capture has everything up to that moment."""
    process = kit.start("record", "-o", "capture", "--", kit.player, "launches=2000", "record",
                        "touch=ready", "await=go", "launches=300", "record", "touch=end")
    kit.wait_launches(2000)
    process.kill()
    process.wait(LIMIT)
    kit.touch("go")
    kit.wait_for("end")
    kit.end(process)
    kit.capture().check(1, 2000, ended=False)


@test
def stopped_by_duration(kit):
    """The recording ends, the program does not, and later processes are not recorded."""
    # On a busy machine the program may begin after that time.
    for seconds in (0.3, 3, 30):
        shutil.rmtree(kit.path("capture"), ignore_errors=True)
        began = time.monotonic()
        kit.record("record", "stop", "sleep=600", "record", "out=on", options=("-d", str(seconds)))
        took = time.monotonic() - began
        capture = kit.capture()
        if capture.sum("kernels") >= 100:
            break
    if took < seconds + 0.6:
        raise AssertionError(f"it ended after {took:.1f} s")
    capture.check(1, 100)
    equal(capture.driver["notes"] >= 1, True, "notes")


@test
def deaf_to_stop(kit):
    """A process that never answers is left alone after a while. Its records are there."""
    done = kit.run("record", "--wait=first", "-o", "capture", "--", "sh", "-c",
                   f"{kit.player} launches=10 record touch=ready sleep=100000 "
                   "</dev/null >/dev/null 2>&1 & while [ ! -e ready ]; do sleep 0.05; done; "
                   "echo $!")
    os.kill(int(done.stdout), signal.SIGKILL)
    kit.capture().check(1, 10)


@test
def left_behind_in_the_background(kit):
    """A process left in the background is asked for its records and does not delay the end."""
    # It waits 3 s for a process that does not stop. A busy machine may need that long for
    # everything, once.
    for number in range(5):
        began = time.monotonic()
        done = kit.run("record", "--wait=first", "-o", f"capture{number}", "--", "sh", "-c",
                       f"{kit.player} record touch=ready{number} stop sleep=100000 "
                       ">/dev/null 2>&1 </dev/null & "
                       f"while [ ! -e ready{number} ]; do sleep 0.02; done; echo $!")
        took = time.monotonic() - began
        os.kill(int(done.stdout), signal.SIGKILL)
        kit.capture(f"capture{number}").check(1, 100)
        if took < 2.5:
            return
    raise AssertionError("it waited though the library had stopped")


@test
def strangers(kit):
    """A client that says nothing, or something else, has no effect."""
    script = (f"{kit.player} mute & {kit.player} version=9 connect & "
              "python3 -c 'import os,socket\n"
              "for data in (b\"\", b\"x\", os.urandom(500)):\n"
              " s=socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
              " s.connect(os.environ[\"GPUMON_SOCKET\"])\n"
              " try: s.send(data), s.recv(1000)\n"
              " except OSError: pass\n' & "
              f"{kit.player} launches=40 record; wait")
    done = kit.run("record", "-o", "capture", "--", "sh", "-c", script)
    contains(done.stderr.decode(), "was not recorded", "message")
    contains(done.stderr.decode(), "and 4 more, the notes in capture say why", "message")
    capture = kit.capture()
    capture.check(1, 40)
    # One for each of the five, and one about the module if that is not loaded.
    if capture.driver["notes"] < 5:
        raise AssertionError(f"{capture.driver['notes']} notes")


@test
def answers_too_late(kit):
    """A library that no longer waits when the recorder answers, as after a stop of the recorder."""
    done = kit.run("record", "-o", "capture", "--", kit.player, "impatient", "connect")
    contains(done.stderr.decode(), "was not recorded: it ended, or hung up, before this program answered it", "message")
    contains(kit.run("correlate", "capture").stdout.decode(), "Nothing was recorded  process ",
             "what is there")
    equal([name for name in os.listdir(kit.path("capture")) if name.startswith("process-")], [],
          "files")
    # It lives and listens: it is recorded from then on.
    done = kit.run("record", "-o", "later", "--", kit.player, "impatient", "connect", "listen")
    equal(done.returncode, 0, "status")
    equal(b"was not recorded" in done.stderr, False, done.stderr.decode())
    kit.capture("later").check(1, 100)


@test
def largest_size(kit):
    done = kit.record("launches=60000", "record", "sleep=100", "launches=60000", "record",
                      options=("--max-size", "1M"))
    contains(done.stderr.decode(), "recording ended at the largest size", "message")
    size = sum(os.path.getsize(os.path.join(kit.path("capture"), name))
               for name in os.listdir(kit.path("capture")))
    # It ends with a whole chunk. Records written at the end come on top.
    if not 1000000 <= size <= 1150000:
        raise AssertionError(f"{size} bytes")
    equal(kit.capture().whole["ended"], True, "ended")
    # What came after that is counted: with it, there is all that the library counted.
    said = int(re.search(r"lost: (\d+) records beyond the largest size", done.stderr.decode()).group(1))
    document = json.loads(kit.run("correlate", "--json", "capture").stdout)
    missing = document["missing"]
    equal(missing["losses"]["max_size"], said, "lost")
    equal(missing["losses"]["withheld"], 0, "launches whose work came after that")
    launches = missing["launches"]["with_work"] + missing["launches"]["without_work"]
    equal(launches + document["recording"]["count"] + said >= 2 * document["recording"]["counted"]["launches"], True,
          f"{launches} launches, {document['recording']['count']} operations, {said} lost")


@test
def losses(kit):
    """A channel that is too small loses records, which are counted and reported."""
    done = kit.record("threads=16", "launches=60000", "record", options=("--buffer", "1M"))
    row = kit.capture().processes[0]
    equal(row["total_launches"], 960000, "counted")
    # Some of the lost records may be the few that describe the process.
    beyond = row["launches"] + row["kernels"] + row["lost"] - 2 * 960000
    if not 0 <= beyond <= 32:
        raise AssertionError(f"{beyond} records too many: {row}")
    if row["lost"]:
        contains(done.stderr.decode(), "raise --buffer", "message")


@test
def ranks(kit):
    for rank in range(2):
        kit.record("record", directory="rank%r", env={"RANK": str(rank)})
        equal(kit.capture(f"rank{rank}").processes[0]["rank"], rank, "rank")


@test
def no_rank(kit):
    done = kit.run("record", "-o", "rank%r", "--", "true")
    equal(done.returncode, 2, "status")
    contains(done.stderr.decode(), "no launcher set a rank", "message")


@test
def known_of_the_host(kit):
    kit.record("record")
    row = kit.capture().processes[0]
    equal(row["host_pid"], row["pid"], "host pid")
    equal(row["cgroup"], 1, "cgroup")


@test
def no_module(kit):
    if os.path.exists("/sys/module/gpumon"):
        raise Skip("the module is loaded")
    kit.record("record")
    equal(kit.capture().driver["notes"], 0, "notes: nobody asked for it")
    kit.record("record", directory="asked", options=("--driver",))
    equal(kit.capture("asked").driver["notes"], 1, "notes")
    said = kit.run("correlate", kit.path("asked")).stdout
    contains(said, b"no events of the gpumon module: module gpumon is not loaded", "the reason")
    contains(said, b"\nMissing  ", "it is missing")
    equal(kit.run("record", "--driver", "--no-driver", "--", "true").returncode, 2, "both")


@test
def default_names(kit):
    for _ in range(3):
        done = kit.run("record", "-q", "--", kit.player, "record")
        equal(done.returncode, 0, "status")
    names = [name for name in os.listdir(kit.folder) if name.startswith("gpumon-2")]
    equal(len(names), 3, "captures")
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
        equal(done.returncode, 1, f"status of {name}")
        equal(done.stderr.count(b"\n"), 1, "lines")
        equal(os.path.exists(kit.path("ran")), False, "the program ran")
    equal(os.listdir(kit.path("full")), ["file"], "kept")
    os.mkdir(kit.path("empty"))
    kit.record("record", directory="empty")
    kit.capture("empty").check(1, 100)


@test
def full_disk(kit):
    """Everything that fitted is readable, the rest is counted, the program is not affected."""
    os.mkdir(kit.path("small"))
    done = kit.call("unshare", "-m", "sh", "-c",
                    f"mount -t tmpfs -o size=300k small small || exit 66; {kit.program} record "
                    f"-o small/capture -- {kit.player} launches=20000 record out=on exit=3; "
                    "status=$?; cp -r small/capture capture; exit $status")
    if done.returncode in (1, 66):
        raise Skip("no mount of one's own: " + done.stderr.decode().splitlines()[0])
    equal(done.returncode, 3, "status")
    equal(done.stdout, b"on\n", "output")
    contains(done.stderr.decode(), "No space left", "message")
    contains(done.stderr.decode(), "records that could not be written", "message")
    capture = kit.capture()
    if not 1000 < capture.sum("launches") < 20000:
        raise AssertionError(f"{capture.sum('launches')} launches")
    equal(capture.whole["truncated"] + capture.whole["broken"], 0, "damage")


@test
def no_memory_for_it(kit):
    """With a small file size limit there is no channel: this is reported, and the program
    continues.
    """
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    done = kit.record("record", "exit=3", status=3, preexec_fn=limit)
    contains(done.stderr.decode(), "shared memory", "message")


@test
def nobody_reads_our_words(kit):
    ours, theirs = os.pipe()
    os.close(ours)
    process = subprocess.run([kit.program, "record", "-o", "capture", "--", kit.player, "record",
                              "exit=3"], cwd=kit.folder, env=kit.environment, stderr=theirs,
                             timeout=LIMIT, check=False)
    os.close(theirs)
    equal(process.returncode, 3, "status")
    kit.capture().check(1, 100)
