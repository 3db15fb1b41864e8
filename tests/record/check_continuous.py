# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Recordings that go on: what they keep, when they write it, and how much of anything they take."""
import json
import os
import re
import signal
import time

from kit import contains, equal, test, until
from maker import Maker

MIB = 1 << 20


def captures(kit, directory="out"):
    """Names of the complete captures, by number."""
    folder = kit.path(directory)
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return [os.path.join(directory, name) for name in sorted(names) if name.startswith("capture-")]


def wait_captures(kit, number, directory="out"):
    return until(lambda: len(captures(kit, directory)) >= number and captures(kit, directory),
                 f"{number} captures are written")


def folder_bytes(path):
    """Bytes of files in a folder, and below."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except FileNotFoundError:
                pass
    return total


def notes(kit, capture):
    return json.loads(kit.run("correlate", "--json", capture).stdout)["recording"]["notes"]


def continuous(*options):
    return ("record", "--continuous", *options, "-o", "out", "--")


@test
def what_fits_is_all(kit):
    done = kit.run(*continuous(), kit.player, "launches=500", "threads=3", "record", "exit=5")
    equal(done.returncode, 5, "the program's status")
    found, = captures(kit)
    contains(done.stderr.decode(), f"1 capture written, the last is {found}", "message")
    kit.capture(found).check(1, 1500)
    equal(kit.capture(found).processes[0]["total_launches"], 1500, "totals")
    equal([note for note in notes(kit, found) if "dropped" in note], [], "notes of drops")
    equal(re.fullmatch(r"out/capture-0001-\d{8}-\d{6}", found) is not None, True, "name")
    equal(os.listdir(kit.path("out/.ring")), [], "segments that are left")


@test
def said_and_on_the_disk(kit):
    """The size is that of what was kept, not of all that passed through the ring."""
    done = kit.run(*continuous("--keep", "4M", "--no-names"), kit.player, "launches=100000", "record")
    found, = captures(kit)
    size, unit = re.search(r"written, the last is \S+, ([0-9.]+)(\wi)B in out\n", done.stderr.decode()).groups()
    real = sum(os.path.getsize(os.path.join(kit.path(found), name)) for name in os.listdir(kit.path(found)))
    equal(abs(float(size) * {"Ki": 1 << 10, "Mi": 1 << 20}[unit] / real - 1) < 0.01, True, f"{size} {unit}B, {real}")
    contains(done.stderr.decode(), "iB of records, of which the last are kept\n", "what there was")


@test
def the_end_of_much_is_kept(kit):
    """The last launches without a gap, each with its kernel, stack and names; disk and memory bounded."""
    # The player does not wait for the recorder: its 300000 launches of 192 bytes must have room.
    process = kit.start(*continuous("--keep", "4M", "--buffer", "64M"), kit.player,
                        "launches=200000", "record", "touch=half", "await=go",
                        "launches=300000", "record", "touch=done", "await=end")
    most = 0

    def there(name):
        nonlocal most
        most = max(most, folder_bytes(kit.path("out")))
        return os.path.exists(kit.path(name))

    def memory():
        with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
            return int(re.search(r"RssAnon:\s+(\d+)", file.read())[1])
    until(lambda: there("half"), "it has launched", pause=0.02)
    before = memory()
    kit.touch("go")
    until(lambda: there("done"), "it has launched more", pause=0.02)
    equal(memory() - before < 3000, True, f"memory of the recorder: {before}, {memory()} KiB")
    kit.touch("end")
    equal(kit.end(process).returncode, 0, "status")
    equal(2 * MIB < most <= 4 * MIB, True, f"bytes on disk: {most}")

    found, = captures(kit)
    equal(folder_bytes(kit.path(found)) <= 4 * MIB, True, "size of the capture")
    rows = kit.capture(found)
    equal(rows.sum("lost"), 0, "losses")
    # Nothing is kept of what its first connection launched.
    first, last = rows.processes
    equal(first["launches"], 0, "launches of the first connection")
    number = last["launches"]
    equal(number > 10000, True, f"launches: {number}")
    equal(last["kernels"], number, "each launch has its kernel")
    equal(last["last_launch"], 500000, "the last launch")
    equal(number, 500001 - last["first_launch"], "no gap")
    equal([row["total_launches"] for row in rows.processes], [0, number], "totals")
    dropped = [note for note in notes(kit, found) if "dropped" in note]
    contains(" ".join(dropped), f"{500000 - number} launches", "notes")
    text = kit.run("correlate", found).stdout.decode()
    contains(text, "player_kernel", "names")
    # Two connections have the GPU: its idle times are divided last, when not all of their launches are kept any more.
    missing = text.partition("\nMissing  ")[2]
    equal(bool(missing) and not missing.startswith("the launches behind "), False, f"losses: {missing}")


@test
def no_older_than(kit):
    """What is too old is dropped when something comes after it, and nothing else is."""
    # Whatever takes long, the old launches are older than a second, and none is older than 300 s.
    processes = {keep: kit.start("record", "--continuous", "--keep", keep, "-o", f"out-{keep}", "--",
                                 kit.player, "launches=100", "record", f"touch=old-{keep}", "await=go",
                                 "launches=50", "record") for keep in ("1s", "300s")}
    for keep, process in processes.items():
        kit.wait_for(f"old-{keep}")
        process.send_signal(signal.SIGUSR1)
    for keep in processes:
        # Then the recorder has read them.
        wait_captures(kit, 1, f"out-{keep}")
    time.sleep(1.1)
    kit.touch("go")
    for keep, process in processes.items():
        equal(kit.end(process).returncode, 0, "status")
        last = captures(kit, f"out-{keep}")[-1]
        if keep == "300s":
            kit.capture(last).check(2, 150)
        else:
            equal(kit.capture(last).sum("launches") <= 50, True, "launches")


def signalled(kit):
    """A recording that got three signals before its first capture was begun, and its directory."""
    for number in range(50):
        process = kit.start("record", "--continuous", "--captures", "3", "-o", f"out{number}", "--",
                            kit.player, "catch", "launches=200", "record", f"touch=ready{number}",
                            "await=go", "launches=300", "record", "touch=again", "await=end")
        kit.wait_for(f"ready{number}")
        begin = time.monotonic()
        for _ in range(3):
            process.send_signal(signal.SIGUSR1)
        # A capture is begun a second after the first signal.
        if time.monotonic() - begin < 0.5:
            return process, f"out{number}"
        kit.end(process, signal.SIGTERM)
    raise AssertionError("each time the signals came late")


@test
def on_a_signal(kit):
    """While the program runs; signals that come while a capture is asked for make no other one."""
    process, directory = signalled(kit)
    first, = wait_captures(kit, 1, directory)
    kit.capture(first).check(1, 200)
    contains(" ".join(notes(kit, first)), "written because of SIGUSR1", "notes")
    kit.touch("go")
    kit.wait_for("again")
    process.send_signal(signal.SIGUSR1)
    second = wait_captures(kit, 2, directory)[-1]
    kit.capture(second).check(2, 500)
    process.send_signal(signal.SIGUSR1)
    wait_captures(kit, 3, directory)
    kit.touch("end")
    equal(kit.end(process).returncode, 0, "the program did not get the signal")
    names = [name.split("-")[1] for name in captures(kit, directory)]
    equal(names, ["0002", "0003", "0004"], "the newest captures")


@test
def asked(kit):
    """Of two recorders, the one of the directory that is named; none where there is none, also not a killed one's."""
    processes = {name: kit.start("record", "--continuous", "-o", name, "--", kit.player, "record", f"touch=ready-{name}",
                                 "await=end") for name in ("one", "two")}
    for name in processes:
        kit.wait_for(f"ready-{name}")
    done = kit.run("record", "--ask", "two")
    equal((done.returncode, done.stdout, done.stderr), (0, b"", b""), "asked")
    found, = wait_captures(kit, 1, "two")
    kit.capture(found).check(1, 100)
    contains(" ".join(notes(kit, found)), "written because of record --ask", "notes")
    equal(captures(kit, "one"), [], "captures of the other one")
    processes["one"].kill()
    processes["one"].wait()
    kit.touch("end")
    equal(kit.end(processes["two"]).returncode, 0, "status")
    for name in ("one", "two", "."):
        done = kit.run("record", "--ask", name)
        equal((done.returncode, done.stderr),
              (1, f"gpumon-user: no recorder writes into {name} with --continuous\n".encode()), name)
    for words in (("--continuous",), ("--", "true"), ("-p", "1")):
        equal(kit.run("record", "--ask", "two", *words).returncode, 2, str(words))


@test
def on_a_slow_step(kit):
    """A pause between launches, and an NVTX range; what is fast is none."""
    # Nothing else is done: on a busy machine everything can be slow.
    for number, (words, part) in enumerate(((("launches=2", "gap=300"), "no launch for"),
                                            (("launches=1", "gap=300", "range=step"), "an NVTX range of"))):
        process = kit.start("record", "--continuous", "--on-slow", "200ms", "-o", f"out{number}", "--",
                            kit.player, *words, "record", "touch=ready", "await=end")
        first, = wait_captures(kit, 1, f"out{number}")
        kit.touch("end")
        equal(kit.end(process).returncode, 0, "status")
        text = " ".join(notes(kit, first))
        found = re.search(rf"written because of {part} (\d+) ms \(thread ", text)
        equal(found is not None and int(found[1]) >= 300, True, text)
        equal(len(captures(kit, f"out{number}")), 2, "captures")
        os.unlink(kit.path("end"))
    done = kit.run("record", "--continuous", "--on-slow", "30s", "-o", "out2", "--", kit.player,
                   "gap=300", "range=step", "record", "sleep=1500")
    equal((done.returncode, len(captures(kit, "out2"))), (0, 1), "nothing was slow")


@test
def many_slow_steps(kit):
    """One capture for those that come soon after another, which is at least 10 s before the next."""
    begin = time.monotonic()
    process = kit.start("record", "--continuous", "--on-slow", "20ms", "-o", "out", "--", kit.player,
                        "launches=3", "pause=30000", "record", "await=go", "launches=50", "record")
    wait_captures(kit, 1)
    kit.touch("go")
    equal(kit.end(process).returncode, 0, "status")
    # On a busy machine there is time for more.
    most = 2 + int(time.monotonic() - begin) // 10
    equal(2 <= len(captures(kit)) <= most, True, f"{len(captures(kit))} captures, at most {most}")
    text = " ".join(notes(kit, captures(kit)[1]))
    equal(re.search(r"written because of no launch for \d+ ms .*, and \d+ more", text) is not None, True,
          text)


@test
def recorder_killed(kit):
    """Its captures stay good, and the next one goes on in the same directory."""
    process = kit.start(*continuous(), kit.player, "record", "touch=ready", "await=go")
    kit.wait_for("ready")
    second = kit.run(*continuous(), kit.player, "record")
    equal(second.returncode, 1, "status of another one for the same directory")
    contains(second.stderr.decode(), "another recorder writes to out", "message")
    process.send_signal(signal.SIGUSR1)
    found, = wait_captures(kit, 1)
    process.send_signal(signal.SIGKILL)
    kit.touch("go")
    equal(kit.end(process).returncode, -signal.SIGKILL, "killed")
    kit.capture(found).check(1, 100)
    until(lambda: kit.run(*continuous(), kit.player, "record").returncode == 0,
          "the directory can be used again")
    equal([name.split("-")[1] for name in captures(kit)], ["0001", "0002"], "captures")
    kit.capture(captures(kit)[1]).check(1, 100)


@test
def program_killed(kit):
    done = kit.run(*continuous(), kit.player, "record", "signal=9")
    equal(done.returncode, 137, "status")
    kit.capture(captures(kit)[0]).check(1, 100)


@test
def live_process(kit):
    """Of a process that was not started by us, until Ctrl-C."""
    from kit import wait_listening  # pylint: disable=import-outside-toplevel
    player = kit.start("listen", "touch=recorded", "await=go", program=kit.player)
    wait_listening(player.pid)
    process = kit.start("record", "--continuous", "-o", "out", "-p", str(player.pid))
    kit.wait_for("recorded")
    process.send_signal(signal.SIGUSR1)
    wait_captures(kit, 1)
    equal(kit.end(process, signal.SIGINT).returncode, 0, "status")
    kit.touch("go")
    equal(kit.end(player).returncode, 0, "the process")
    for name in captures(kit):
        kit.capture(name).check(1, 100)


@test
def bad_words(kit):
    for words, part in ((("--continuous", "--keep", "x"), "is neither a time such as 10m nor a size"),
                        (("--continuous", "--keep", ""), "--keep"),
                        (("--continuous", "--keep", "10m,"), "--keep"),
                        (("--continuous", "--keep", "10m,5m"), "two times"),
                        (("--continuous", "--keep", "1G,2G"), "two sizes"),
                        (("--continuous", "--keep", "1M"), "is not a size from 4M"),
                        (("--continuous", "--keep", "5000000G"), "is not a size"),
                        (("--continuous", "--keep", "10ms"), "less than a second"),
                        (("--continuous", "--keep", "9" * 200), "--keep"),
                        (("--keep", "10m"), "--continuous"),
                        (("--captures", "3"), "--continuous"),
                        (("--on-slow", "1s"), "--continuous"),
                        (("--continuous", "--on-slow", "fast"), "--on-slow"),
                        (("--continuous", "--on-slow", "0"), "--on-slow"),
                        (("--continuous", "--captures", "0"), "--captures"),
                        (("--continuous", "--max-size", "4M"), "--keep SIZE")):
        done = kit.run("record", *words, "--", "true")
        equal(done.returncode, 2, f"status of {words}")
        contains(done.stderr.decode(), part, f"message of {words}")
        equal(done.stderr.count(b"\n"), 1, f"lines for {words}: {done.stderr!r}")
    equal(kit.left_behind(), [], "nothing is made")
    Maker().save(kit.path("made"))
    done = kit.run("record", "--continuous", "-o", "made", "--", "true")
    equal(done.returncode, 1, "a capture is no directory for it")
    contains(done.stderr.decode(), "made is not empty", "message")
