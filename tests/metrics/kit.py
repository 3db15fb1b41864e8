# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What the tests of metrics share: the program with a made-up source, and readers of what it writes."""
import os
import pathlib
import re
import signal
import socket
import subprocess
import urllib.request

from verdict import SLOWER, busier, communicate, equal, fail, until

TOP = pathlib.Path(__file__).resolve().parents[2]
PAGES = TOP / "Documentation/reference"
NUMBERS = {"period": 1, "since": 5, "scale": 1, "rings": 2, "containers": 2}
ROW = re.compile(r"\| `(\w+)` \| (label|counter|gauge|histogram)")
SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(\{.*\})? (\S+)$")
# The user "me" with the password "secret". Its cost is low, so that tests are fast.
HASH = "$2b$06$abcdefghijklmnopqrstuuxLa0AkDDSrQ9VwNnETzOsObiucpMYgC"


def tables_of_pages():
    """(table, column, kind) of each column that the pages describe, as fake.c reads them."""
    for page in sorted(PAGES.glob("drivers/*.md")):
        table = None
        for line in page.read_text(encoding="utf-8").splitlines():
            begin = re.match(r"<!-- table (\S+) -->", line)
            table = begin[1] if begin else None if line.startswith("<!-- end") else table
            row = ROW.match(line)
            if table and row and table not in ("drm_sched.rings", "drm_sched.usage"):
                yield table, *row.groups()


def samples(text):
    """{name{labels}: value} of a text."""
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        match = SAMPLE.match(line)
        if not match:
            fail(f"no sample: {line}")
        key = match[1] + (match[2] or "")
        if key in found:
            fail(f"twice: {key}")
        found[key] = float(match[3])
    return found


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Kit:
    """A folder, the made-up source in it, and the programs that are running."""
    def __init__(self, tools, program, folder):
        self.tools, self.program, self.folder = pathlib.Path(tools), program, pathlib.Path(folder)
        self.started = []
        self.numbers = dict(NUMBERS)
        self.set()
        (self.folder / "root").mkdir()

    def set(self, **numbers):
        """What the source has from now on."""
        self.numbers.update(numbers)
        new = self.folder / "fake.new"
        new.write_text("".join(f"{name} {number}\n" for name, number in self.numbers.items()), encoding="utf-8")
        new.rename(self.folder / "fake")

    def all_tables(self):
        (self.folder / "tables").write_text("".join(" ".join(words) + "\n" for words in tables_of_pages()),
                                            encoding="utf-8")

    def environment(self):
        return dict(os.environ, FAKE=str(self.folder / "fake"), TABLES=str(self.folder / "tables"),
                    ROOT=str(self.folder / "root"), ASAN_OPTIONS="quarantine_size_mb=4")

    def call(self, *words, fake="fake", status=0):
        """(output, errors) of the command."""
        done = subprocess.run([self.tools / fake, "metrics", *words], env=self.environment(), capture_output=True,
                              check=False, timeout=60 * SLOWER * busier())
        out, err = done.stdout.decode(), done.stderr.decode()
        equal(done.returncode, status, f"exit status of metrics {' '.join(map(str, words))}: {err}")
        return out, err

    def start(self, *words, **options):
        process = subprocess.Popen([str(word) for word in words], **options)
        self.started.append(process)
        return process

    def serve(self, *words, address="127.0.0.1", port=None):
        """(process, port) of a server that answers."""
        port = port or free_port()
        log = self.folder / f"log-{port}"
        with open(log, "wb") as errors:
            process = self.start(self.tools / "fake", "metrics", "--listen", f"{address}:{port}", *words,
                                 env=self.environment(), stderr=errors)

        def serves():
            if process.poll() is not None:
                fail("the server has ended: " + log.read_text(encoding="utf-8")[-500:])
            return "serving" in log.read_text(encoding="utf-8")
        until(serves, "the server serves")
        return process, port

    def stop(self, process):
        """It ends well: nothing leaked, and no error of the sanitizers."""
        process.send_signal(signal.SIGTERM)
        communicate(process, 30)
        equal(process.returncode, 0, "exit status of the server")

    def end(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait()


def get(port, accept=None, path="/metrics", timeout=30):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Accept": accept} if accept else {})
    with urllib.request.urlopen(request, timeout=timeout * SLOWER) as answer:
        return answer.read().decode()


def promtool(*words, text=None):
    done = subprocess.run(["promtool", *map(str, words)], input=text, capture_output=True, check=False, text=True)
    equal(done.returncode, 0, f"promtool {' '.join(map(str, words))}: {done.stdout}{done.stderr}"[:1500])
    return done.stdout + done.stderr
