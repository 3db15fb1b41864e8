# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Captures that were recorded are shown by all commands, with the numbers that went in."""
import fcntl
import json
import os
import pty
import re
import signal
import stat
import struct
import termios

from kit import contains, equal, test

LAUNCHES, THREADS = 500, 4


def make(kit, directory="capture", launches=LAUNCHES, name="player_kernel", **more):
    kit.record(f"threads={THREADS}", f"launches={launches}", f"name={name}", "record",
               directory=directory, options=("-q",), **more)


def document(done):
    equal(done.returncode, 0, "status")
    return json.loads(done.stdout)


def gpu_ns(folded):
    """Of lines "path nanoseconds"."""
    return sum(int(line.rsplit(" ", 1)[1]) for line in folded.decode().splitlines())


@test
def summary(kit):
    make(kit)
    done = kit.run("correlate", "capture")
    equal(done.returncode, 0, "status")
    equal(done.stderr, b"", "errors")
    contains(done.stdout.decode(), "player_kernel", "summary")
    contains(done.stdout.decode(), "Player GPU", "summary")


@test
def numbers(kit):
    make(kit)
    tree = document(kit.run("correlate", "capture", "--json"))
    rows = [row for row in tree["kernels"] if row["name"] == "player_kernel"]
    equal(len(rows), 1, "rows")
    equal(rows[0]["count"], LAUNCHES * THREADS, "kernels")
    equal(rows[0]["gpu_ns"], LAUNCHES * THREADS * 1000, "GPU time")
    folded = kit.run("flamegraph", "capture", "--folded").stdout
    equal(gpu_ns(folded), LAUNCHES * THREADS * 1000, "GPU time in paths")
    # One path for each thread, whose stack has its own address.
    paths = [line for line in folded.decode().splitlines() if "player_kernel" in line]
    equal(len(paths), THREADS, "paths")
    for line in paths:
        equal(line.rsplit(" ", 1)[1], str(LAUNCHES * 1000), "GPU time of a path")


@test
def the_same_everywhere(kit):
    make(kit)
    folded = kit.run("export", "--folded", "capture")
    equal(folded.stdout, kit.run("flamegraph", "--folded", "capture").stdout, "folded")
    equal(document(kit.run("export", "--json", "capture")),
          document(kit.run("correlate", "--json", "capture")), "JSON")
    chrome = document(kit.run("export", "--chrome", "capture"))
    kernels = [event for event in chrome["traceEvents"] if event.get("name") == "player_kernel"]
    equal(len(kernels), LAUNCHES * THREADS, "kernels in the timeline")


@test
def files(kit):
    make(kit)
    for words in (("flamegraph", "capture"), ("report", "capture"),
                  ("export", "--perfetto", "capture"), ("export", "--pprof", "capture"),
                  ("export", "--chrome", "capture"), ("flamegraph", "--folded", "capture")):
        name = "-".join(words)
        done = kit.run(*words, "-o", name)
        equal((done.returncode, done.stdout, done.stderr), (0, b"", b""), f"status of {name}")
        equal(stat.S_IMODE(os.stat(kit.path(name)).st_mode), 0o600, "mode")
        with open(kit.path(name), "rb") as file:
            written = file.read()
        if len(written) < 100:
            raise AssertionError(f"{name} is short: {written!r}")
        again = kit.run(*words, "-o", name)
        equal(again.returncode, 1, "status")
        contains(again.stderr.decode(), "--force", "message")
        equal(kit.run(*words, "-o", name, "--force").returncode, 0, "status")
        # The same to standard output, which is a pipe.
        equal(kit.run(*words).stdout == written or "report" in name or "pprof" in name, True,
              f"{name} in a pipe")


@test
def svg_and_html(kit):
    make(kit)
    svg = kit.run("flamegraph", "capture").stdout.decode()
    contains(svg, "<svg", "SVG")
    contains(svg, "player_kernel", "SVG")
    html = kit.run("report", "capture").stdout.decode()
    contains(html, "player_kernel", "HTML")
    for text in (svg, html):
        found = re.findall(r"""(?:src|href)=["']https?:""", text)
        equal(found, [], "addresses of other pages")


@test
def levels(kit):
    make(kit)
    folded = kit.run("flamegraph", "--folded", "capture", "--devices", "--streams",
                     "--threads").stdout
    contains(folded.decode(), "[GPU0]", "devices")
    contains(folded.decode(), "stream 7", "streams")
    equal(gpu_ns(folded), LAUNCHES * THREADS * 1000, "GPU time")
    alone = kit.run("flamegraph", "--folded", "capture", "--gpu-only").stdout.decode()
    equal(len(alone.splitlines()), 1, "lines")
    apart = kit.run("flamegraph", "--folded", "capture", "--no-merge").stdout
    equal(gpu_ns(apart), LAUNCHES * THREADS * 1000, "GPU time")
    # The player's calls take 500 ns each.
    calls = kit.run("flamegraph", "--folded", "capture", "--cpu-only").stdout
    equal(gpu_ns(calls), LAUNCHES * THREADS * 500, "time of calls")


@test
def ranks_together(kit):
    for rank in range(3):
        make(kit, f"rank{rank}", env={"RANK": str(rank)})
    done = kit.run("correlate", "--json", "rank0", "rank1", "rank2")
    tree = document(done)
    equal(sum(row["count"] for row in tree["kernels"]), 3 * LAUNCHES * THREADS, "kernels")
    folded = kit.run("flamegraph", "--folded", "rank0", "rank1", "rank2").stdout
    equal(gpu_ns(folded), 3 * LAUNCHES * THREADS * 1000, "GPU time")


@test
def differences(kit):
    make(kit, "before", launches=100)
    make(kit, "after", launches=300)
    done = kit.run("diff", "before", "after")
    equal(done.returncode, 0, "status")
    contains(done.stdout.decode(), "player_kernel", "table")
    document(kit.run("diff", "--json", "before", "after"))
    done = kit.run("diff", "before", "after", "--flamegraph", "slower.svg")
    equal(done.returncode, 0, "status")
    with open(kit.path("slower.svg"), encoding="utf-8") as file:
        contains(file.read(), "<svg", "picture")
    only = kit.run("diff", "before", "after", "--flamegraph", "-").stdout.decode()
    contains(only.lstrip()[:100], "<", "picture alone")


@test
def of_a_program(kit):
    """The summary is on standard error, the exit status is the program's, and nothing is left."""
    done = kit.run("correlate", "--", kit.player, "out=its own", "record", "exit=5")
    equal(done.returncode, 5, "status")
    equal(done.stdout, b"its own\n", "output")
    contains(done.stderr.decode(), "player_kernel", "summary")
    equal(kit.left_behind(), [], "left behind")
    done = kit.run("correlate", "--json", "-o", "kept", "--summary", "result.json", "--",
                   kit.player, "record")
    equal((done.returncode, done.stdout, done.stderr), (0, b"", b""), "status")
    with open(kit.path("result.json"), encoding="utf-8") as file:
        kernels = json.load(file)["kernels"]
    equal(sum(row["count"] for row in kernels), 100, "kernels")
    kit.capture("kept").check(1, 100)


@test
def of_no_cuda(kit):
    done = kit.run("correlate", "--", "true")
    equal(done.returncode, 0, "status")
    contains(done.stderr.decode(), "nothing was recorded", "message")
    equal(kit.left_behind(), [], "left behind")


@test
def of_a_killed_one(kit):
    done = kit.run("correlate", "-o", "capture", "--", kit.player, "record", "signal=9")
    equal(done.returncode, 137, "status")
    contains(done.stderr.decode(), "player_kernel", "summary")


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
            equal(done.returncode, 1, f"status of {words} {name}")
            equal(done.stderr.count(b"\n"), 1, "lines")
            contains(done.stderr.decode(), name, "message")
            equal(done.stdout, b"", "output")
    equal(sorted(os.listdir(kit.folder)), ["empty", "file", "foreign", "libgpumon-inject.so"],
          "files")
    done = kit.run("correlate", "nothing-at-all")
    equal(done.returncode, 1, "status")
    contains(done.stderr.decode(), "nothing-at-all: neither a capture nor a program", "message")
    done = kit.run("correlate", "--json", "empty")
    equal(done.returncode, 1, "status")
    contains(json.loads(done.stdout)["error"]["message"], "empty", "error")


@test
def cut_off_anywhere(kit):
    """Whatever is left of a capture is shown."""
    make(kit)
    name = next(name for name in os.listdir(kit.path("capture")) if name.startswith("process"))
    path = os.path.join(kit.path("capture"), name)
    for size in (200000, 100001, 5000, 33, 1, 0):
        os.truncate(path, size)
        done = kit.run("correlate", "--json", "capture")
        equal(done.returncode, 0, f"status at {size}")
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
        equal(done.returncode, 1, f"status of {words}")
        contains(done.stderr.decode(), "No space left", "message")


@test
def closed_output(kit):
    """Nothing goes into the file that would get the number of standard output."""
    make(kit)
    for words in ("flamegraph capture", "doctor", "doctor --json", "trace --duration 1ms"):
        # Without capabilities, checks of doctor fail, which must not hide the output's error.
        bare = "setpriv --bounding-set=-all --inh-caps=-all " if words.startswith("doctor") and not os.geteuid() else ""
        done = kit.call("sh", "-c", f"{bare}{kit.program} {words} >&-")
        if words.startswith("trace") and done.returncode == 77:
            continue
        equal(done.returncode, 1, f"status of {words}")
        contains(done.stderr.decode(), "Bad file descriptor", f"message of {words}")


def on_terminal(kit, words, rows=40, columns=100, terminal="xterm"):
    pid, master = pty.fork()
    if not pid:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.chdir(kit.folder)
        os.execve(kit.program, [kit.program, *words], dict(kit.environment, TERM=terminal))
    text = b""
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        text += data
    return text.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Screen:
    """A command in its own terminal, and its output so far."""

    def __init__(self, kit, words, rows=40, columns=100):
        self.pid, self.master = pty.fork()
        self.text = ""
        if not self.pid:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.chdir(kit.folder)
            os.execve(kit.program, [kit.program, *words], dict(kit.environment, TERM="xterm"))

    def read(self):
        try:
            self.text += os.read(self.master, 65536).decode()
            return True
        except OSError:
            return False

    def until(self, pattern, after=0):
        """Wait until the text appears behind that position. Returns where it ends."""
        while not (match := re.compile(pattern).search(self.text, after)):
            if not self.read():
                raise AssertionError(f"no {pattern!r} in {self.text[after:]!r}")
        return match.end()

    def end(self):
        while self.read():
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


STATUS = r"gpumon [^:]+: 1 processes, 1 alive, 100 launches"


@test
def live_on_a_terminal(kit):
    """One line that does not scroll. The program has all other lines."""
    screen = Screen(kit, ["correlate", "--", kit.player, "out=first", "record", "await=seen", "out=last",
                          "exit=4"])
    screen.until(STATUS)
    kit.touch("seen")
    equal(screen.end(), 4, "status")
    contains(screen.text, "\033[1;39r", "the last line is kept")
    contains(screen.text[screen.text.rindex("\033[r"):], "player_kernel", "summary")
    for word in ("first\r\n", "last\r\n"):
        contains(screen.text, word, "output")


@test
def terminal_after_stop(kit):
    """After Ctrl-Z all lines of the terminal scroll."""
    screen = Screen(kit, ["correlate", "--", kit.player, "touch=ready", "await=go", "record"])
    kit.wait_for("ready")
    begun = screen.until(re.escape("\033[1;39r"))
    os.write(screen.master, b"\x1a")
    stopped = screen.until(re.escape("\033[r"), begun)
    # In a process group without a shell nothing stops, and it continues at once.
    screen.until(re.escape("\033[1;39r"), stopped)
    kit.touch("go")
    equal(screen.end(), 0, "status")
    equal(screen.text.rindex("\033[r") > screen.text.rindex("\033[1;39r"), True, "at the end")


@test
def terminal_after_kill(kit):
    screen = Screen(kit, ["correlate", "--", kit.player, "touch=ready", "await=go"])
    kit.wait_for("ready")
    begun = screen.until(re.escape("\033[1;39r"))
    os.kill(screen.pid, signal.SIGKILL)
    screen.until(re.escape("\033[r"), begun)
    kit.touch("go")
    equal(screen.end(), -signal.SIGKILL, "status")


@test
def not_live(kit):
    words = [kit.player, "pause=200", "launches=3000", "record"]
    for options, more in ((["--no-live"], {}), ([], {"terminal": "dumb"}), ([], {"rows": 3})):
        text, status = on_terminal(kit, ["correlate", *options, "--", *words], **more)
        equal(status, 0, "status")
        equal("\033[1;" in text, False, "escapes")
    text, _ = on_terminal(kit, ["record", "-o", "capture", "--", *words])
    equal("\033" in text, False, "escapes")


@test
def no_binary_on_a_terminal(kit):
    make(kit)
    for words in (["report"], ["flamegraph"], ["export", "--perfetto"], ["export", "--pprof"]):
        text, status = on_terminal(kit, [*words, "capture"])
        equal(status, 2, "status")
        contains(text, "-o FILE", "message")
