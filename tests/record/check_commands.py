# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Captures that were recorded are shown by all commands, with the numbers that went in."""
import fcntl
import json
import os
import pty
import re
import stat
import struct
import termios
import time

from kit import has, same, test

LAUNCHES, THREADS = 500, 4


def make(kit, directory="capture", launches=LAUNCHES, name="player_kernel", **more):
    kit.record(f"threads={THREADS}", f"launches={launches}", f"name={name}", "record",
               directory=directory, options=("-q",), **more)


def document(done):
    same("status", done.returncode, 0)
    return json.loads(done.stdout)


def gpu_ns(folded):
    """Of lines "path nanoseconds"."""
    return sum(int(line.rsplit(" ", 1)[1]) for line in folded.decode().splitlines())


@test
def summary(kit):
    make(kit)
    done = kit.run("correlate", "capture")
    same("status", done.returncode, 0)
    same("errors", done.stderr, b"")
    has("summary", done.stdout.decode(), "player_kernel")
    has("summary", done.stdout.decode(), "Player GPU")


@test
def numbers(kit):
    make(kit)
    tree = document(kit.run("correlate", "capture", "--json"))
    rows = [row for row in tree["kernels"] if row["name"] == "player_kernel"]
    same("rows", len(rows), 1)
    same("kernels", rows[0]["count"], LAUNCHES * THREADS)
    same("GPU time", rows[0]["gpu_ns"], LAUNCHES * THREADS * 1000)
    folded = kit.run("flamegraph", "capture", "--folded").stdout
    same("GPU time in paths", gpu_ns(folded), LAUNCHES * THREADS * 1000)
    # One path for each thread: its stack has an address of its own.
    paths = [line for line in folded.decode().splitlines() if "player_kernel" in line]
    same("paths", len(paths), THREADS)
    for line in paths:
        same("GPU time of a path", line.rsplit(" ", 1)[1], str(LAUNCHES * 1000))


@test
def the_same_everywhere(kit):
    make(kit)
    folded = kit.run("export", "--folded", "capture")
    same("folded", folded.stdout, kit.run("flamegraph", "--folded", "capture").stdout)
    same("JSON", document(kit.run("export", "--json", "capture")),
         document(kit.run("correlate", "--json", "capture")))
    chrome = document(kit.run("export", "--chrome", "capture"))
    kernels = [event for event in chrome["traceEvents"] if event.get("name") == "player_kernel"]
    same("kernels in the timeline", len(kernels), LAUNCHES * THREADS)


@test
def files(kit):
    make(kit)
    for words in (("flamegraph", "capture"), ("report", "capture"),
                  ("export", "--perfetto", "capture"), ("export", "--pprof", "capture"),
                  ("export", "--chrome", "capture"), ("flamegraph", "--folded", "capture")):
        name = "-".join(words)
        done = kit.run(*words, "-o", name)
        same(f"status of {name}", (done.returncode, done.stdout, done.stderr), (0, b"", b""))
        same("mode", stat.S_IMODE(os.stat(kit.path(name)).st_mode), 0o600)
        with open(kit.path(name), "rb") as file:
            written = file.read()
        if len(written) < 100:
            raise AssertionError(f"{name} is short: {written!r}")
        again = kit.run(*words, "-o", name)
        same("status", again.returncode, 1)
        has("message", again.stderr.decode(), "--force")
        same("status", kit.run(*words, "-o", name, "--force").returncode, 0)
        # The same to standard output, in a pipe.
        same(f"{name} in a pipe", kit.run(*words).stdout == written
             or "report" in name or "pprof" in name, True)


@test
def svg_and_html(kit):
    make(kit)
    svg = kit.run("flamegraph", "capture").stdout.decode()
    has("SVG", svg, "<svg")
    has("SVG", svg, "player_kernel")
    html = kit.run("report", "capture").stdout.decode()
    has("HTML", html, "player_kernel")
    for text in (svg, html):
        found = re.findall(r"""(?:src|href)=["']https?:""", text)
        same("addresses of other pages", found, [])


@test
def levels(kit):
    make(kit)
    folded = kit.run("flamegraph", "--folded", "capture", "--devices", "--streams",
                     "--threads").stdout
    has("devices", folded.decode(), "[GPU0]")
    has("streams", folded.decode(), "stream 7")
    same("GPU time", gpu_ns(folded), LAUNCHES * THREADS * 1000)
    alone = kit.run("flamegraph", "--folded", "capture", "--gpu-only").stdout.decode()
    same("lines", len(alone.splitlines()), 1)
    apart = kit.run("flamegraph", "--folded", "capture", "--no-merge").stdout
    same("GPU time", gpu_ns(apart), LAUNCHES * THREADS * 1000)
    # The player's calls take 500 ns each.
    calls = kit.run("flamegraph", "--folded", "capture", "--cpu-only").stdout
    same("time of calls", gpu_ns(calls), LAUNCHES * THREADS * 500)


@test
def ranks_together(kit):
    for rank in range(3):
        make(kit, f"rank{rank}", env={"RANK": str(rank)})
    done = kit.run("correlate", "--json", "rank0", "rank1", "rank2")
    tree = document(done)
    same("kernels", sum(row["count"] for row in tree["kernels"]), 3 * LAUNCHES * THREADS)
    folded = kit.run("flamegraph", "--folded", "rank0", "rank1", "rank2").stdout
    same("GPU time", gpu_ns(folded), 3 * LAUNCHES * THREADS * 1000)


@test
def differences(kit):
    make(kit, "before", launches=100)
    make(kit, "after", launches=300)
    done = kit.run("diff", "before", "after")
    same("status", done.returncode, 0)
    has("table", done.stdout.decode(), "player_kernel")
    document(kit.run("diff", "--json", "before", "after"))
    done = kit.run("diff", "before", "after", "--flamegraph", "slower.svg")
    same("status", done.returncode, 0)
    with open(kit.path("slower.svg"), encoding="utf-8") as file:
        has("picture", file.read(), "<svg")
    only = kit.run("diff", "before", "after", "--flamegraph", "-").stdout.decode()
    has("picture alone", only.lstrip()[:100], "<")


@test
def of_a_program(kit):
    """The summary is on standard error, the status the program's, and nothing stays."""
    done = kit.run("correlate", "--", kit.player, "out=its own", "record", "exit=5")
    same("status", done.returncode, 5)
    same("output", done.stdout, b"its own\n")
    has("summary", done.stderr.decode(), "player_kernel")
    same("left behind", kit.left_behind(), [])
    done = kit.run("correlate", "--json", "-o", "kept", "--summary", "result.json", "--",
                   kit.player, "record")
    same("status", (done.returncode, done.stdout, done.stderr), (0, b"", b""))
    with open(kit.path("result.json"), encoding="utf-8") as file:
        kernels = json.load(file)["kernels"]
    same("kernels", sum(row["count"] for row in kernels), 100)
    kit.capture("kept").check(1, 100)


@test
def of_no_cuda(kit):
    done = kit.run("correlate", "--", "true")
    same("status", done.returncode, 0)
    has("message", done.stderr.decode(), "nothing was recorded")
    same("left behind", kit.left_behind(), [])


@test
def of_a_killed_one(kit):
    done = kit.run("correlate", "-o", "capture", "--", kit.player, "record", "signal=9")
    same("status", done.returncode, 137)
    has("summary", done.stderr.decode(), "player_kernel")


@test
def no_captures(kit):
    os.mkdir(kit.path("empty"))
    os.mkdir(kit.path("foreign"))
    with open(kit.path("foreign/capture.json"), "w", encoding="utf-8") as file:
        file.write('{"format":"something else"}')
    with open(kit.path("file"), "w", encoding="utf-8") as file:
        file.write("text")
    for name in ("empty", "foreign", "file", "nothing"):
        for words in (("flamegraph", "-o", "out.svg"), ("report", "-o", "out.html"),
                      ("export", "--chrome", "-o", "out.json"), ("export", "--perfetto"),
                      ("export", "--pprof"), ("flamegraph", "--folded")):
            done = kit.run(*words, name)
            same(f"status of {words} {name}", done.returncode, 1)
            same("lines", done.stderr.count(b"\n"), 1)
            has("message", done.stderr.decode(), name)
            same("output", done.stdout, b"")
    same("files", sorted(os.listdir(kit.folder)),
         ["empty", "file", "foreign", "libgpumon-inject.so"])
    done = kit.run("correlate", "nothing-at-all")
    same("status", done.returncode, 1)
    has("message", done.stderr.decode(), "nothing-at-all: neither a capture nor a program")
    done = kit.run("correlate", "--json", "empty")
    same("status", done.returncode, 1)
    has("error", json.loads(done.stdout)["error"]["message"], "empty")


@test
def cut_off_anywhere(kit):
    """Whatever is left of a capture is shown."""
    make(kit)
    name = next(name for name in os.listdir(kit.path("capture")) if name.startswith("process"))
    path = os.path.join(kit.path("capture"), name)
    for size in (200000, 100001, 5000, 33, 1, 0):
        os.truncate(path, size)
        done = kit.run("correlate", "--json", "capture")
        same(f"status at {size}", done.returncode, 0)
        kernels = document(done)["kernels"]
        if sum(row["count"] for row in kernels) > LAUNCHES * THREADS:
            raise AssertionError("more kernels than there were")


@test
def full_output(kit):
    make(kit)
    for words in (("flamegraph",), ("report",), ("export", "--chrome"), ("export", "--json"),
                  ("export", "--pprof"), ("export", "--perfetto"), ("correlate",)):
        with open("/dev/full", "wb") as full:
            done = kit.call(kit.program, *words, "capture", to=full)
        same(f"status of {words}", done.returncode, 1)
        has("message", done.stderr.decode(), "No space left")


def on_terminal(kit, words, rows=40, columns=100, terminal="xterm"):
    pid, master = pty.fork()
    if not pid:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.chdir(kit.folder)
        os.execve(kit.program, [kit.program, *words], dict(kit.environment, TERM=terminal))
    text = b""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        text += data
    return text.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@test
def live_on_a_terminal(kit):
    words = ["correlate", "--", kit.player, "out=first", "pause=200", "launches=9000", "record",
             "out=last", "exit=4"]
    text, status = on_terminal(kit, words)
    same("status", status, 4)
    has("last lines are kept", text, "\033[1;20r")
    if not re.search(r"gpumon [0-9.]+m?s: 1 processes, 1 alive, [1-9][0-9]* launches", text):
        raise AssertionError("no line while it ran")
    # The summary was there before the end, too: its table, within the kept lines.
    live = text[:text.rindex("\033[r")]
    has("live summary", live, "player_kernel")
    has("summary", text[text.rindex("\033[r"):], "player_kernel")
    for word in ("first\r\n", "last\r\n"):
        has("output", text, word)


@test
def not_live(kit):
    words = [kit.player, "pause=200", "launches=3000", "record"]
    for options, more in ((["--no-live"], {}), ([], {"terminal": "dumb"}), ([], {"rows": 12})):
        text, status = on_terminal(kit, ["correlate", *options, "--", *words], **more)
        same("status", status, 0)
        same("escapes", "\033[1;" in text, False)
    text, _ = on_terminal(kit, ["record", "-o", "capture", "--", *words])
    same("escapes", "\033" in text, False)


@test
def no_binary_on_a_terminal(kit):
    make(kit)
    for words in (["report"], ["flamegraph"], ["export", "--perfetto"], ["export", "--pprof"]):
        text, status = on_terminal(kit, [*words, "capture"])
        same("status", status, 2)
        has("message", text, "-o FILE")
