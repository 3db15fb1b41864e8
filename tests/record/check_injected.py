# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The real injection library in a program that uses stand-ins of CUDA's (tests/inject).

The stand-ins keep an account of their own: what was launched from where, and what ran when.
"""
import json
import os
import shutil
import signal
import struct
import subprocess

from kit import Skip, contains, equal, test, until, wait_listening

LAUNCH, CAPTURED, KERNEL, COPY, SET = range(1, 6)
# Types of records.
THREAD, MAPPING, STREAM, LAUNCH_RECORD, KERNEL_RECORD, WINDOW = 2, 3, 10, 20, 40, 81
ENTRY = struct.Struct("<4I5Q2I")
# The function of the program that launches each kernel.
CALLERS = {"kernel_a": "launch_here", "kernel_b": "launch_there", "kernel_c": "launch_deep",
           "kernel_d": "launch_by_driver", "kernel_e": "launch_ex"}


def environment(kit):
    if not kit.inject:
        raise Skip("no cupti.h, the injection library was not built")
    return {"LD_LIBRARY_PATH": f"{kit.inject}/13:{kit.inject}", "MOCK_DRIVER_VERSION": "13000",
            "MOCK_ACCOUNT": kit.path("account"),
            "GPUMON_INJECT": os.path.join(kit.inject, "libgpumon-inject.so")}


def record(kit, *words, status=0, program="program", options=(), call=None):
    variables = environment(kit)
    library_path = variables.pop("LD_LIBRARY_PATH")
    done = (call or kit.run)("record", "-q", "-o", "capture", *options, "--", "env",
                             f"LD_LIBRARY_PATH={library_path}", os.path.join(kit.inject, program),
                             *map(str, words), env=variables)
    if call:
        return done
    equal(done.returncode, status, "status")
    return done


def account(kit):
    with open(kit.path("account"), "rb") as file:
        count, = struct.unpack("<I", file.read(4))
        file.seek(ENTRY.size)
        return list(ENTRY.iter_unpack(file.read(ENTRY.size * count)))


def check_account(kit, tree):
    """As many kernels, copies and sets as the stand-in ran, with the same total time."""
    entries = account(kit)
    for kind, wanted in (("kernel", KERNEL), ("copy", COPY), ("set", SET)):
        ran = [entry for entry in entries if entry[0] == wanted]
        rows = [row for row in tree["kernels"] if row["kind"] == kind]
        equal(sum(row["count"] for row in rows), len(ran), f"number of {kind}s")
        equal(sum(row["gpu_ns"] for row in rows), sum(entry[6] - entry[5] for entry in ran),
              f"GPU time of {kind}s")


def at_the_ends(kit, directory):
    """Kernels whose launch had begun when the window opened, and launches that outlasted it.

    CUPTI calls nobody back for the begin of the first and for the return of the second. Every other
    kernel has its launch in the capture.
    """
    launches, kernels, opened = {}, [], None
    for kind, flags, record, _ in kit.records(directory):
        if kind == LAUNCH_RECORD:
            launches[struct.unpack_from("<I", record, 28)[0]] = struct.unpack_from("<Q", record, 16)[0]
        elif kind == KERNEL_RECORD:
            kernels.append(struct.unpack_from("<I", record, 48)[0])
        elif kind == WINDOW and not flags:
            opened, = struct.unpack_from("<Q", record, 8)
    begun = {entry[3]: entry[5] for entry in account(kit) if entry[0] == LAUNCH}
    without = [correlation for correlation in kernels if correlation not in launches]
    late = [correlation for correlation in without if begun[correlation] > opened]
    equal(late, [], f"kernels without a launch, of launches after the window opened at {opened}")
    return len(without), len([c for c in kernels if launches.get(c) == 0])


def check_paths(kit, before=0):
    """Every kernel's time is below the function that launched it, except for kernels launched
    before.
    """
    folded = kit.run("flamegraph", "--folded", "--functions", "capture").stdout.decode()
    seen = set()
    for line in folded.splitlines():
        names = line.rsplit(" ", 1)[0].split(";")
        caller = CALLERS.get(names[-1])
        if not caller:
            continue
        seen.add(names[-1])
        if before and names[0] == "[kernel without launch]":
            continue
        if not any(name.startswith(caller) for name in names):
            raise AssertionError(f"not from {caller}: {line}")
        for other in set(CALLERS.values()) - {caller}:
            if other in names:
                raise AssertionError(f"from {other}: {line}")
    equal(seen, set(CALLERS), "kernels with a path")


def has_gpumon_thread(pid):
    try:
        return any(open(f"/proc/{pid}/task/{task}/comm", encoding="ascii").read() == "gpumon\n"
                   for task in os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return False


@test
def recorder_is_stopped(kit):
    """Programs that start while the recorder stands still, many at once: they wait for it, and nothing is lost."""
    many, variables = 24, environment(kit)
    program = f"LD_LIBRARY_PATH={variables.pop('LD_LIBRARY_PATH')} {kit.inject}/program"
    process = kit.start("record", "-o", "capture", "--", "sh", "-c",
                        f"touch ready; while [ ! -e go ]; do sleep 0.02; done; for i in $(seq {many}); do "
                        f"{program} loop 50 & echo $! >>pids; done; touch all; wait", env=variables)
    kit.wait_for("ready")
    process.send_signal(signal.SIGSTOP)
    kit.touch("go")
    kit.wait_for("all")
    with open(kit.path("pids"), encoding="ascii") as file:
        pids = file.read().split()
    until(lambda: all(map(has_gpumon_thread, pids)), "each program has begun to connect")
    process.send_signal(signal.SIGCONT)
    done = kit.end(process)
    equal(done.returncode, 0, "status")
    contains(done.stderr.decode(), f"{many} processes, {50 * many} launches", "what was recorded")
    check_account(kit, show(kit))


@test
def recorder_is_stopped_for_long(kit):
    """A program that does not wait any longer is recorded from when the recorder goes on."""
    variables = environment(kit)
    program = f"LD_LIBRARY_PATH={variables.pop('LD_LIBRARY_PATH')} {kit.inject}/program"
    process = kit.start("record", "-o", "capture", "--", "sh", "-c",
                        f"touch ready; while [ ! -e go ]; do sleep 0.02; done; {program} steady 1000000000 100 & "
                        "echo $! >pid.new; mv pid.new pid; wait",
                        env={**variables, "MOCK_IMPATIENT": "1", "MOCK_ANSWER_MS": "1"})
    kit.wait_for("ready")
    process.send_signal(signal.SIGSTOP)
    kit.touch("go")
    kit.wait_for("pid")
    with open(kit.path("pid"), encoding="ascii") as file:
        pid = int(file.read())
    try:
        wait_listening(pid)
        process.send_signal(signal.SIGCONT)
        kit.wait_launches(100)
    finally:
        os.kill(pid, signal.SIGKILL)
        process.send_signal(signal.SIGCONT)
    done = kit.end(process)
    equal(b"was not recorded" in done.stderr, False, done.stderr.decode())


@test
def names_are_kept(kit):
    """A capture contains its names: the files may be gone when it is read."""
    variables = environment(kit)
    library_path = variables.pop("LD_LIBRARY_PATH")
    program = kit.path("gone")
    for directory, options in (("capture", ()), ("without", ("--no-names",))):
        shutil.copy(os.path.join(kit.inject, "program"), program)
        done = kit.run("record", "-q", *options, "-o", directory, "--", "env",
                       f"LD_LIBRARY_PATH={library_path}", program, "loop", "70", env=variables)
        equal((done.returncode, done.stderr), (0, b""), "status")
        os.unlink(program)
    check_paths(kit)
    nameless = kit.run("flamegraph", "--folded", "--functions", "without").stdout.decode()
    contains(nameless, ";gone+0x", "without names")
    equal([n for n in CALLERS.values() if n + ";" in nameless], [], "names")
    names, = [n for n in os.listdir(kit.path("capture")) if n.endswith(".symbols")]
    equal(os.stat(kit.path(f"capture/{names}")).st_mode & 0o7777, 0o600, "mode")
    equal([n for n in os.listdir(kit.path("without")) if "symbols" in n], [], "names of none")
    # Broken, foreign, or a link: missing names are looked up as if there was no such file.
    whole = kit.run("export", "--json", "capture").stdout
    for content in (b"", b"gpumon-symbols 2\n@1 0\n", b"gpumon-symbols 1\n@zz\n=\n@10 0\n+a\n=b\tc"):
        with open(kit.path(f"capture/{names}"), "wb") as file:
            file.write(content)
        done = kit.run("export", "--json", "capture")
        equal((done.returncode, done.stderr), (0, b""), "status")
        equal(json.loads(done.stdout)["recording"]["gpu_ns"],
              json.loads(whole)["recording"]["gpu_ns"], "GPU time")
    os.unlink(kit.path(f"capture/{names}"))
    os.symlink("/proc/self/environ", kit.path(f"capture/{names}"))
    equal(kit.run("export", "--json", "capture").returncode, 0, "status")


def show(kit):
    done = kit.run("correlate", "--json", "capture")
    equal(done.returncode, 0, "status")
    return json.loads(done.stdout)


@test
def loop(kit):
    record(kit, "loop", 2100)
    check_account(kit, show(kit))
    check_paths(kit)


@test
def threads(kit):
    record(kit, "threads", 1400, 6)
    check_account(kit, show(kit))
    check_paths(kit)


@test
def graphs(kit):
    record(kit, "graph", 25)
    check_account(kit, show(kit))
    folded = kit.run("flamegraph", "--folded", "--functions", "capture").stdout.decode()
    # A node's kernels have the stack of its creation.
    for name, caller in (("node_a", "launch_here"), ("node_b", "launch_there")):
        lines = [line for line in folded.splitlines() if f";{name} " in line]
        equal(len(lines), 1, f"paths of {name}")
        contains(lines[0], f";{caller};", f"path of {name}")


@test
def fork_and_exec(kit):
    record(kit, "fork", 70)
    equal(len(kit.capture().processes), 2, "processes")
    check_account(kit, show(kit))


@test
def killed(kit):
    """Launches whose records CUPTI had not delivered are counted as launches without operation."""
    record(kit, "kill", 140, 2, status=128 + signal.SIGKILL)
    capture = kit.capture()
    equal(capture.sum("launches"), 140, "launches")
    tree = show(kit)
    done = sum(row["count"] for row in tree["kernels"])
    equal(done + tree["missing"]["launches"]["withheld"], 140, "with and without work")
    equal(tree["missing"]["launches"]["without_work"], 0, "launches for which the end is no reason")


@test
def not_cuda(kit):
    done = record(kit, "quiet")
    equal(len(kit.capture().processes), 0, "processes")
    equal(done.stderr, b"", "output")


def start(kit, *words, inject, wait=True, **more):
    variables = dict(kit.environment, **environment(kit), **more)
    if inject:
        variables["CUDA_INJECTION64_PATH"] = variables["GPUMON_INJECT"]
    process = subprocess.Popen([os.path.join(kit.inject, "program"), *map(str, words)],
                               env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if wait:
        process.stdout.readline()
        if inject:
            wait_listening(process.pid)
    return process


def record_live(kit, process, what, least, name="capture"):
    """Record a live process, longer on a busy machine."""
    for seconds in ("0.5", "5", "50"):
        shutil.rmtree(kit.path(name), ignore_errors=True)
        done = kit.run("record", "-o", name, "-p", str(process.pid), "-d", seconds)
        early = b"before it said what it is" in done.stderr
        if not early and (done.returncode or kit.capture(name).sum(what) >= least):
            break
    return done


def record_twice(kit, least, **variables):
    """Record a program twice that launches all the time; at_the_ends() of both."""
    process = start(kit, "steady", 1000000, 1000000, inject=True, **variables)
    try:
        for name in ("first", "capture"):
            done = record_live(kit, process, "kernels", least, name)
            equal(done.returncode, 0, "status")
            if kit.capture(name).sum("kernels") < least:
                raise AssertionError("few kernels were recorded")
        equal(process.poll(), None, "it lives")
        # An operation that ran when the second capture ended returns, and is in the account then.
        ran = len(account(kit))
        until(lambda: len(account(kit)) > ran + 1, "the program goes on")
    finally:
        process.kill()
        process.communicate()
    first, second = (at_the_ends(kit, name) for name in ("first", "capture"))
    check_paths(kit, second[0])
    equal(show(kit)["missing"]["works"]["no_launch"]["kernel"], second[0], "kernels without a launch")
    return [a + b for a, b in zip(first, second)]


@test
def asleep(kit):
    """Switched on and off twice, while the program continues to launch."""
    before, _ = record_twice(kit, 50, MOCK_ENABLE_US="10000")
    if before > 2:
        raise AssertionError(f"{before} launches of one thread when two windows opened")


@test
def asleep_in_a_launch(kit):
    """Windows open and close during a launch, as when a program waits for a place in a full queue.
    """
    seen = [0, 0]
    # The program launches them in turn.
    each_kernel = len(CALLERS) + 2

    def both():
        ends = record_twice(kit, each_kernel, MOCK_LAUNCH_US="30000")
        seen[:] = [a + b for a, b in zip(seen, ends)]
        return all(seen)
    until(both, "launches at both ends of windows")


@test
def by_uprobes(kit):
    """Without the library: only the CPU side, and the output says so."""
    process = start(kit, "steady", 1000000, 1000000, inject=False)
    try:
        done = record_live(kit, process, "hits", 100)
        equal(process.poll(), None, "it lives")
    finally:
        process.kill()
        process.communicate()
    text = done.stderr.decode()
    if done.returncode == 77:
        raise Skip(text.strip())
    equal(done.returncode, 0, "status")
    contains(text, "what the GPU did is not known", "message")
    hits = kit.capture().sum("hits")
    if hits < 100:
        raise AssertionError(f"{hits} hits")
    calls = kit.run("flamegraph", "--folded", "--functions", "--cpu-only", "--count", "capture")
    equal(calls.returncode, 0, "status")
    for caller in ("launch_here", "launch_there"):
        contains(calls.stdout.decode(), f";{caller};", "paths of calls")


def jit_paths(kit):
    """The call paths of kernels launched from JIT code."""
    text = kit.run("flamegraph", "--folded", "--functions", "capture").stdout.decode()
    return [line for line in text.splitlines() if ";kernel_of_jit " in line]


def check_jit(kit, launches, command):
    capture = kit.capture()
    equal(capture.sum("launches"), launches, "launches")
    lines = jit_paths(kit)
    equal(len(lines), 1, "paths")
    contains(lines[0], ";jit_train_step;launch_from_jit;", f"path with {command}")
    maps = [name for name in os.listdir(kit.path("capture")) if name.endswith(".map")]
    equal(len(maps), 1, "maps")
    file = maps[0].replace("perf-", "process-").replace(".map", ".records")
    contains(os.listdir(kit.path("capture")), file, "it is named as the process's file")
    # Without the copy and the stored names there is no name, so it came from there.
    for name in os.listdir(kit.path("capture")):
        if name.endswith(".symbols"):
            os.unlink(kit.path("capture/" + name))
    os.rename(kit.path("capture/" + maps[0]), kit.path("map"))
    equal("jit_train_step" in jit_paths(kit)[0], False, "without the copy")


@test
def code_made_at_run_time(kit):
    """Names from perf-PID.map are in the capture, and are found when the file is gone."""
    done = record(kit, "jit", 50, 0)
    os.unlink(f"/tmp/perf-{int(done.stdout)}.map")
    check_jit(kit, 50, "record")


@test
def code_made_at_run_time_in_a_container(kit):
    """Its /tmp goes with it, and its pid differs from the one here."""
    variables = environment(kit)
    library_path = variables.pop("LD_LIBRARY_PATH")
    shutil.copytree(kit.inject, kit.path("inject"), ignore=lambda _, names: [
        name for name in names if name in ("inject", "empty", "listen") or "gpumon-inject-" in name])
    socket = f"mount --bind {kit.folder} /mnt && mount -t tmpfs tmpfs /tmp && mkdir -p {kit.folder} " \
             f"&& mount --bind /mnt {kit.folder}"
    done = kit.run("record", "-q", "-o", "capture", "--", "unshare", "-p", "-f", "-m",
                   "--mount-proc", "sh", "-c",
                   f"({socket}) || exit 66; MOCK_ACCOUNT={kit.path('account')} "
                   f"LD_LIBRARY_PATH={library_path.replace(kit.inject, kit.path('inject'))} "
                   f"exec {kit.path('inject')}/program jit 30 50",
                   env={**variables, "GPUMON_INJECT": kit.path("inject/libgpumon-inject.so")})
    if done.returncode in (1, 66):
        raise Skip("no namespaces of one's own: " + done.stderr.decode().strip())
    equal(done.returncode, 0, "status")
    number = int(done.stdout)
    equal(number < 5, True, "a number of its own")
    check_jit(kit, 30, "record in a container")


@test
def code_made_at_run_time_by_uprobes(kit):
    process = start(kit, "jit", 1000000, 10, inject=False, wait=False)
    path = f"/tmp/perf-{process.pid}.map"
    try:
        until(lambda: os.path.exists(path) and os.path.getsize(path), "there is a map")
        done = record_live(kit, process, "hits", 5)
    finally:
        process.kill()
        process.communicate()
        if os.path.exists(path):
            os.unlink(path)
    if done.returncode == 77:
        raise Skip(done.stderr.decode().strip())
    calls = kit.run("flamegraph", "--folded", "--functions", "--cpu-only", "--count", "capture").stdout.decode()
    contains(calls, ";jit_train_step;launch_from_jit;", "paths of calls")


@test
def planted_maps(kit):
    """A map of another user, or that is no regular file, is refused with a message."""
    if os.geteuid():
        raise Skip("root alone can make files of others")
    for number, plant in enumerate(("chown 65534", "ln")):
        path = f"/tmp/perf-$$.map; echo '1000 10 planted' >{kit.path('secret')}; "
        path += (f"echo '1000 10 planted' >/tmp/perf-$$.map; chown 65534 /tmp/perf-$$.map; "
                 if "chown" in plant else f"ln -s {kit.path('secret')} /tmp/perf-$$.map; ")
        done = kit.run("record", "-q", "-o", f"capture{number}", "--", "sh", "-c",
                       f"rm -f {path} echo $$; exec {kit.player} record sleep=100")
        os.unlink(f"/tmp/perf-{int(done.stdout)}.map")
        equal([name for name in os.listdir(kit.path(f"capture{number}")) if name.endswith(".map")],
              [], "maps")
        notes = json.loads(kit.run("correlate", "--json",
                                   f"capture{number}").stdout)["recording"]["notes"]
        contains(" ".join(notes), "was not copied: it is ", "notes")


def build_ids(kit):
    """The build id of each mapped file, by name."""
    return {strings[struct.unpack_from("<I", record, 56)[0]]: record[60:60 + record[80]].hex()
            for kind, _, record, strings in kit.records() if kind == MAPPING}


@test
def vdso(kit):
    """The kernel whose vDSO it was is identified later: both ways give the same."""
    with open("/proc/self/maps", encoding="utf-8") as file:
        if "[vdso]" not in file.read():
            raise Skip("this kernel maps no vdso")
    record(kit, "loop", 5)
    ids = build_ids(kit)
    equal(len(ids["[vdso]"]) >= 16, True, "it has a build id")
    shutil.rmtree(kit.path("capture"))
    process = start(kit, "steady", 1000000, 1000000, inject=False)
    try:
        done = record_live(kit, process, "hits", 1)
    finally:
        process.kill()
        process.communicate()
    if done.returncode == 77:
        raise Skip(done.stderr.decode().strip())
    equal(build_ids(kit)["[vdso]"], ids["[vdso]"], "by uprobes")


def timeline(kit):
    """The rows of the timeline and their contents, from the common part of both formats: Chrome's.
    """
    events = json.loads(kit.run("export", "--chrome", "capture").stdout)["traceEvents"]
    rows = {(event["pid"], event.get("tid")): event["args"]["name"] for event in events
            if event["ph"] == "M" and event["name"] == "thread_name"}
    return [(rows.get((event["pid"], event.get("tid"))), event) for event in events
            if event["ph"] != "M"]


@test
def names_of_streams_and_threads(kit):
    """The program's names and the streams' priorities, on timelines and in tables."""
    process = record(kit, kit.path("named"), program="nvtx_program", call=kit.start)
    until(lambda: b'"renamed' in kit.run("export", "--chrome", "capture").stdout,
          "the new name of a thread in the capture")
    with open(kit.path("named"), "w", encoding="utf-8"):
        pass
    equal(process.wait(), 0, "status")
    rows = {row for row, _ in timeline(kit)}
    for name in ("stream 21 (compute, priority -5)", "stream 7 (gr\u00fcn)"):
        contains(rows, name, "rows")
    equal({name for name in ("before CUDA", "renamed", "nvtx_program")
           if any(row and row.startswith(name) for row in rows)},
          {"before CUDA", "renamed"}, "threads")
    text = kit.run("correlate", "capture").stdout.decode()
    contains(text, "stream 21 (compute, priority -5)", "summary")
    contains(kit.run("report", "capture").stdout.decode(), "stream 21 (compute, priority -5)",
             "report")
    tree = show(kit)
    streams = {row["stream"]: (row["stream_name"], row["stream_priority"])
               for row in tree["devices"] if row["stream"] is not None}
    equal(streams, {7: ("gr\u00fcn", 0), 21: ("compute", -5)}, "JSON")


@test
def unified_memory(kit):
    """Migrations with their bytes, on timelines and in the summary."""
    record(kit, "calls", 10, options=("--unified-memory",))
    moved = [event for row, event in timeline(kit) if row and row.startswith("unified memory")]
    equal([event["name"] for event in moved], ["moved to a GPU"] * 10, "slices")
    equal({event["args"]["bytes"] for event in moved}, {100}, "their bytes")
    rows = show(kit)["unified_memory"]
    equal([(row["kind"], row["count"], row["bytes"], row["faults"], row["ns"]) for row in rows],
          [("to_device", 10, 1000, None, 50)], "JSON")
    text = kit.run("correlate", "capture").stdout.decode()
    contains(text, "Unified memory", "summary")
    contains(text, "moved to a GPU", "summary")
    perfetto = kit.run("export", "--perfetto", "capture").stdout
    contains(perfetto, b"unified memory", "Perfetto")
    shutil.rmtree(kit.path("capture"))
    record(kit, "calls", 10)
    equal(show(kit)["unified_memory"], [], "not asked for")
