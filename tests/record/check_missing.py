# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
""""Nothing is missing" is printed only if it is true, by every output that prints it."""
import json
import os
import shutil
import sys
import sysconfig

from check_bad_input import injected
from kit import LIMIT, contains, equal, test, until
from maker import Maker


def nothing_is_missing(kit, name):
    """Whether all outputs say so. They have to agree."""
    text = kit.run("correlate", name).stdout.decode()
    with_json = json.loads(kit.run("correlate", "--json", name).stdout)["missing"]
    page = kit.run("report", name, "-o", "-").stdout.decode()
    picture = kit.run("flamegraph", name, "-o", "-").stdout.decode()
    said = {"text": "\nNothing is missing  " in text, "JSON": with_json["nothing"],
            "report": ">Nothing is missing: " in page, "picture": ">Missing: " not in picture}
    equal(len(set(said.values())), 1, f"outputs of {name} agree: {said}")
    if not said["text"]:
        what = "Nothing was recorded" if with_json["everything"] else "Missing"
        contains(text, f"\n{what}  ", f"text of {name}")
        contains(page, f">{what}: ", f"page of {name}")
        equal(with_json["summary"] is not None, True, "summary")
    return said["text"]


def made(kit, name, note=None, flags=0, loss=None, **saved):
    maker = Maker()
    maker.stack(1, [0x400000, 0x400010])
    maker.launch(1, 1000, 1)
    maker.kernel(1, 1050, 1060)
    if note:
        maker.note(note, flags)
    if loss:
        maker.loss(*loss)
    maker.save(kit.path(name), **saved)
    return nothing_is_missing(kit, name)


@test
def made_captures(kit):
    equal(made(kit, "whole"), True, "whole")
    equal(made(kit, "word", note="something replaced something"), True, "a note that takes nothing")
    equal(made(kit, "no-gpu", note="no CUPTI found", flags=1), False, "without the GPU")
    equal(made(kit, "refused", note="process 7 was not recorded", flags=2), False, "a process less")
    equal(made(kit, "cut-off", ended=False), False, "cut off")
    equal(made(kit, "lost", loss=(1, 7)), False, "lost")
    equal(made(kit, "full", lost_records=3), False, "lost, and no room to say so")


@test
def library_gone(kit):
    """The thread of the library ends, and the process goes on: it is named."""
    process = kit.start("record", "-o", "capture", "--", kit.player, "launches=5", "gone", "record", "hang-up",
                        "await=go-on")

    def is_noted():
        files = [os.path.join(kit.path("capture"), name) for name in os.listdir(kit.path("capture"))]
        return any(b"while the process went on" in open(file, "rb").read() for file in files)
    until(lambda: os.path.isdir(kit.path("capture")) and is_noted(), "its end is noted", LIMIT)
    open(kit.path("go-on"), "wb").close()
    done = kit.end(process)
    equal(done.returncode, 0, "exit status")
    contains(done.stderr.decode(), "while the process went on", "what record says")
    equal(nothing_is_missing(kit, "capture"), False, "a part of a process less")
    contains(kit.run("correlate", "capture").stdout.decode(), "(player), ", "summary")


LOADER = "import ctypes, time; ctypes.CDLL('./libcuda.so.1'); time.sleep(3)"


@test
def not_recorded(kit):
    """A process with an API's library that cannot be recorded is named, with the reason."""
    source = kit.path("empty.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write("int nothing;\n")
    kit.call("gcc", "-shared", "-fPIC", "-o", "libcuda.so.1", source)
    clear = f"env -i {sys.executable} -c \"{LOADER}\""
    for name, command, variable in (("child", f"{kit.player} launches=5; {clear}; true", "GPUMON_SOCKET"),
                                    ("exec", f"exec {clear}", "GPUMON_SOCKET"),
                                    ("other", f"env CUDA_INJECTION64_PATH= {sys.executable} -c \"{LOADER}\"; true",
                                     "CUDA_INJECTION64_PATH"),
                                    ("kept", f"{sys.executable} -c \"{LOADER}\"; true", None)):
        done = kit.run("record", "-o", name, "--", "sh", "-c", command)
        equal(done.returncode, 0, f"exit status ({name})")
        said = "has loaded libcuda.so and is not recorded" in done.stderr.decode()
        equal(said, variable is not None, f"it is named ({name}): {done.stderr}")
        if variable:
            contains(done.stderr.decode(), f"{variable} is not in its environment", f"reason ({name})")
        if name == "child":
            equal(nothing_is_missing(kit, name), False, "what the child does is missing")
            contains(kit.run("correlate", name).stdout.decode(), "has loaded libcuda.so", "note")
        if name == "exec":
            contains(done.stderr.decode(), "no process was recorded, and 1 of those", "summary")
    # A fork has the libraries, too, and connects when it uses the API.
    kit.call("gcc", "-shared", "-fPIC", "-o", "libgpumon-inject.so", source)
    silent = LOADER.replace("time.sleep", "ctypes.CDLL('./libgpumon-inject.so'); os.fork(); time.sleep")
    done = kit.run("record", "-o", "silent", "--", sys.executable, "-c", silent.replace("import", "import os,", 1))
    equal(done.stderr.decode().count("did not connect"), 1, f"the parent alone: {done.stderr}")
    # gpumon has not set LD_PRELOAD where there is no driver, so nobody took it away.
    kit.call("gcc", "-shared", "-fPIC", "-o", "libze_loader.so.1", source)
    loader = LOADER.replace("libcuda.so.1", "libze_loader.so.1")
    assert loader != LOADER
    done = kit.run("record", "-o", "undriven", "--", sys.executable, "-c", loader)
    equal("is not recorded" in done.stderr.decode(), False, f"an API without a driver: {done.stderr}")


@test
def without_the_gpu(kit):
    for number, variables in enumerate(({"GPUMON_CUPTI": "/none"},
                                        {"MOCK_FAIL": "cuptiSubscribe:39"},
                                        {"MOCK_FAIL": "cuptiActivityRegisterCallbacks:8"},
                                        {"MOCK_FAIL": "cuptiActivityEnable@10:8"})):
        words = injected(kit, 0 if "GPUMON_CUPTI" in variables else 13, **variables)
        kit.run("record", "-o", f"capture{number}", "--", *words, "loop", "20")
        equal(nothing_is_missing(kit, f"capture{number}"), False, str(variables))


@test
def not_all_of_it(kit):
    """A rejected process, and a reached size limit."""
    kit.record("record", directory="whole")
    equal(nothing_is_missing(kit, "whole"), True, "whole")
    script = f"{kit.player} version=9 connect; {kit.player} launches=40 record"
    kit.run("record", "-o", "less", "--", "sh", "-c", script)
    equal(nothing_is_missing(kit, "less"), False, "a process less")
    kit.record("launches=60000", "record", "sleep=100", "launches=60000", "record",
               directory="full", options=("--max-size", "1M"))
    equal(nothing_is_missing(kit, "full"), False, "--max-size")


@test
def notes_are_bounded(kit):
    """Each refused process has one, but a recording may go on for weeks."""
    script = f"{kit.player} children=120 version=9 connect; {kit.player} launches=40 record"
    done = kit.run("record", "-o", "capture", "--", "sh", "-c", script)
    equal(done.returncode, 0, "status")
    contains(done.stderr.decode(), "and 119 more, the notes", "standard error")
    shown = kit.run("correlate", "--json", "capture")
    found = [note for note in json.loads(shown.stdout)["recording"]["notes"] if "process" in str(note)]
    equal(sum("speaks version" in str(note) for note in found), 100, "notes")
    equal(sum("limited to 100" in str(note) for note in found), 1, "notes that say so")


@test
def library_of_an_installed_tool(kit):
    """It is in a library folder of the tool's place, whichever that is called."""
    os.makedirs(kit.path("usr/bin"))
    shutil.copy(kit.program, kit.path("usr/bin/tool"))
    for place in "lib", "lib64", "lib/gpumon", "lib/" + sysconfig.get_config_var("MULTIARCH"), None:
        if place:
            os.makedirs(kit.path("usr/" + place), exist_ok=True)
            os.rename(kit.path("libgpumon-inject.so"), kit.path(f"usr/{place}/libgpumon-inject.so"))
        done = kit.call(kit.path("usr/bin/tool"), "record", "-o", os.path.basename(place or "none"), "--",
                        kit.player, "record", env={"GPUMON_INJECT": ""})
        equal(done.returncode, 0 if place else 77, f"status with {place}: {done.stderr!r}")
        if place:
            os.rename(kit.path(f"usr/{place}/libgpumon-inject.so"), kit.path("libgpumon-inject.so"))
    contains(done.stderr.decode(), "is not beside this program", "message")
