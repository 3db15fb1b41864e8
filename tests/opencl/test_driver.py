# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What the program sees of its driver, and what a driver may say."""
import glob
import json
import os
import pathlib
import re
import subprocess
import tempfile

import capture
from capture import BAD_TIMES, FAILED, LIMIT, UNTIMED, Capture, Skip, check, contains, equal, need, within


def bare(name, *words, **variables):
    return subprocess.run([f"{capture.objects}/{name}", *words], stdout=subprocess.PIPE, text=True, check=True,
                          stderr=subprocess.DEVNULL, timeout=LIMIT, env=capture.environment(**variables)).stdout


def same_answers(*options):
    """All that OpenCL can be asked, line by line."""
    want = bare("asks").splitlines()
    run = Capture(program=[f"{capture.objects}/asks"], options=options)
    got = run.output.splitlines()
    for one, other in zip(got, want):
        equal(one, other, "answer")
    equal(len(got), len(want), "answers")
    check(len(want) > 1000 and run["launch"], "nothing was asked, or recorded")


def test_answers():
    """properties, profiling errors, status, counts of references: as without the layer"""
    same_answers()


def test_answers_without_times():
    """the same where queues are left as they are"""
    same_answers("--no-times")


def test_output():
    """output and exit status of a program: as without the layer, with times of its own and without"""
    for own in ({}, {"OWN_PROFILING": "1"}):
        for words in ("commands 1", "threads 20", "queues 10", "queue-each 10", "out-of-order 3", "paths 10",
                      "sub-devices 3", "refused", "failed", "never", "exit 20", "fork 5"):
            alone = subprocess.run([f"{capture.objects}/program", *words.split()], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True, check=False, timeout=LIMIT,
                                   env=capture.environment(**own))
            run = Capture(*words.split(), status=alone.returncode, **own)
            equal(run.output, alone.stdout, f"output of {words}, {own}")
            check(alone.stdout and run["launch"], f"{words}: nothing said, or nothing recorded")


def vendors():
    """A folder for the loader with the mock alone in it."""
    folder = os.path.join(capture.objects, "vendors")
    os.makedirs(folder, exist_ok=True)
    # Tests run side by side: none may find it empty, while another one writes it.
    new = os.path.join(folder, f"mock.{os.getpid()}")
    with open(new, "w", encoding="utf-8") as file:
        file.write(f"{capture.objects}/libmock.so\n")
    os.replace(new, os.path.join(folder, "mock.icd"))
    return folder


def mock(times="good", status=0, number=1000):
    run = Capture(number, program=[f"{capture.objects}/mock_program"], MOCK_TIMES=times, MOCK_STATUS=str(status),
                  OCL_ICD_VENDORS=vendors())
    return run.equals_account()


def test_nested():
    """a launch within another one, in a callback of the driver: both have their kernels, the outer one no end"""
    run = Capture(100, "nested", program=[f"{capture.objects}/mock_program"], OCL_ICD_VENDORS=vendors())
    run.equals_account().all_have_stacks().all_have_times()
    equal(sum(not launch.end_ns for launch in run["launch"]), 100, "launches without an end")


def test_platforms():
    """two platforms in one program: each device is the one that it is"""
    folder = os.path.join(capture.objects, "both")
    os.makedirs(folder, exist_ok=True)
    for name, library in (("mock", f"{capture.objects}/libmock.so"), ("pocl", "libpocl.so.2")):
        with open(os.path.join(folder, f"{name}.icd"), "w", encoding="utf-8") as file:
            file.write(library + "\n")
    run = Capture(100, program=[f"{capture.objects}/mock_program"], OCL_ICD_VENDORS=folder)
    run.equals_account().all_have_times()
    equal({run.text(api.platform) for api in run["api"]}, {"Mock Platform", "Portable Computing Language"}, "platforms")
    types = {device.id: device.type for device in run["device"]}
    equal(sorted(types.values()), [1, 2], "types of devices")
    for kernel in run["kernel"]:
        equal(run.text(kernel.name) == "k", types[kernel.device] == 1, f"device of {run.text(kernel.name)}")
    equal({clock.device for clock in run["clock"]}, set(types), "devices with a clock")


def test_sub_devices():
    """parts of a device are devices of their own"""
    run = Capture("sub-devices", 30)
    if "no sub-devices" in run.output:
        raise Skip("the driver has none")
    run.equals_account()
    equal(len({kernel.device for kernel in run["kernel"]}), 2, "devices")


def test_other_layers():
    """a layer above, one below, and ours named twice"""
    ours, other = f"{capture.objects}/libgpumon-inject.so", f"{capture.objects}/libpass.so"
    program = f"{capture.objects}/program"
    for layers in (f"{other}:{ours}", f"{ours}:{other}", f"{ours}:{ours}"):
        run = Capture("threads", 20, program=["env", f"OPENCL_LAYERS={layers}", program])
        run.equals_account().all_have_times()
        if other in layers:
            equal(run.said("passed"), [["160"]], f"launches in the other layer of {layers}")


def test_clocks():
    """a driver with the system's clock, and one with a clock of its own, which is measured"""
    run = mock().all_have_times()
    equal((run.clock().source, run.clock().offset_ns), (1, 0), "clock")
    run = mock("own").all_have_times()
    clock = run.clock()
    launch = run["launch"][-1]
    true = -(5 * 10**12 + launch.start_ns // 100000)
    equal(clock.source, 0, "clock")
    # It goes 10 ppm faster: the offset changes by 10 us in a second. The shortest of 1,000 calls bounds it.
    change = (launch.start_ns - run["launch"][0].start_ns) // 100000 + 20000
    within(clock.offset_ns, true - clock.error_ns - change, true + clock.error_ns + change, "offset")
    check(clock.error_ns < 5000, f"error {clock.error_ns}")


def test_nonsense():
    """times that cannot be, none, an error: nothing of them is shown, and each command is counted"""
    for times, flag in (("backwards", BAD_TIMES), ("early", BAD_TIMES), ("late", BAD_TIMES),
                        ("random", BAD_TIMES), ("zero", UNTIMED), ("refused", UNTIMED)):
        run = mock(times)
        equal({(work.flags, work.start_ns, work.end_ns) for work in run.works()}, {(flag, 0, 0)}, times)
        equal(run.json()["recording"]["gpu_ns"], 0, f"{times}: GPU time")
    run = mock(status=-9)
    equal({work.flags for work in run.works()}, {FAILED}, "status -9")


def old_loader(folder):
    """A loader that knows no layers, as CUDA's toolkit has one."""
    loader = next((path for path in glob.glob("/usr/lib/*-linux-gnu/libOpenCL.so.1")), None)
    if not loader:
        raise Skip("needs ocl-icd-libopencl1")
    os.mkdir(folder)
    pathlib.Path(folder, "libOpenCL.so.1").write_bytes(
        pathlib.Path(loader).read_bytes().replace(b"OPENCL_LAYERS", b"OPENCL_OTHERS"))
    return folder


def test_loader_in_front():
    """a loader without layers is the first that programs get, by the environment or by ldconfig's order: the other one is put in its place"""
    folder = old_loader(tempfile.mkdtemp(prefix="gpumon-opencl-", dir=capture.objects) + "/cuda")
    run = Capture("ends", "finish", "_exit", LD_LIBRARY_PATH=folder, TMPDIR=folder).equals_account()
    equal(os.listdir(folder), ["libOpenCL.so.1"], "files that are left")
    if os.geteuid():
        raise Skip("ldconfig's order needs root: a cache is mounted over the installed one")
    pathlib.Path(folder, "conf").write_text(f"{folder}\ninclude /etc/ld.so.conf\n", encoding="utf-8")
    subprocess.run(["/sbin/ldconfig", "-X", "-f", f"{folder}/conf", "-C", f"{folder}/cache"], check=True)
    command = f"{capture.objects}/program ends finish _exit"
    for prefix in ("", f"{capture.tool} record -q --run-as root --no-driver -o {folder}/capture -- "):
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", f"mount --bind {folder}/cache /etc/ld.so.cache && {prefix}{command}"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=LIMIT, env=capture.environment())
        equal((done.returncode, done.stdout), (0, run.output), f"status and output, {done.stderr[-300:]}")
    done = subprocess.run([capture.tool, "export", "--json", f"{folder}/capture"], stdout=subprocess.PIPE, check=True)
    equal(json.loads(done.stdout)["missing"]["launches"]["with_work"], 600, "launches")
    # An empty part of the path would be the program's own folder.
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", f"mount --bind {folder}/cache /etc/ld.so.cache && {capture.tool} record -q "
         f"--run-as root --no-driver -o {folder}/path -- sh -c 'echo $LD_LIBRARY_PATH'"],
        stdout=subprocess.PIPE, text=True, check=False, timeout=LIMIT, env=capture.environment())
    check(re.fullmatch(r"[^:]+/\$PLATFORM\n", done.stdout), f"one folder: {done.stdout!r}")


def instructions(launches, *options):
    """In the program's calls, the driver's included, which are some hundred."""
    out = os.path.join(capture.objects, f"callgrind-{os.getpid()}")
    Capture(launches, options=options, OCL_ICD_VENDORS=vendors(),
            program=["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}",
                     "--toggle-collect=enqueue_range", f"{capture.objects}/mock_program"])
    with open(out, encoding="utf-8") as file:
        total = re.search(r"^(?:summary|totals): (\d+)", file.read(), re.MULTILINE)
    os.remove(out)
    return int(total.group(1))


def test_cost():
    """instructions that a launch costs, without and with its stack"""
    if os.environ.get("SANITIZE"):
        raise Skip("no figures from a sanitizer's build")
    need("valgrind")
    without, with_stacks = ((instructions(3000, *options) - instructions(1000, *options)) / 2000
                            for options in (["--no-stacks"], []))
    print(f"# {without:.0f} instructions for a launch, {with_stacks:.0f} with its stack", flush=True)
    check(without < 2000, f"{without:.0f} instructions without a stack: more than 2000")
    check(with_stacks < 4000, f"{with_stacks:.0f} instructions with a stack: more than 4000")


def test_old_loader():
    """a loader that knows no layers: one line says so, and the exit status is 77 unless the program has one of its own"""
    loader = next((path for path in glob.glob("/usr/lib/*-linux-gnu/libOpenCL.so.1")), None)
    if os.geteuid() or not loader:
        raise Skip("needs root, and ocl-icd-libopencl1: a loader is mounted over the installed one")
    old = pathlib.Path(capture.objects, "libOpenCL.so.old")
    old.write_bytes(pathlib.Path(loader).read_bytes().replace(b"OPENCL_LAYERS", b"OPENCL_OTHERS"))
    program = f"{capture.objects}/program"
    # What a shell starts is not looked into.
    for command, status in ((f"{program} commands 1", 77), (f"{program} exit 20", 3), ("true", 0),
                            (f"sh -c '{program} commands 1; :'", 0)):
        folder = tempfile.mkdtemp(prefix="gpumon-opencl-", dir=capture.objects)
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", f"mount --bind {old} {os.path.realpath(loader)} && "
             f"exec {capture.tool} record --run-as root --no-driver -o {folder}/capture -- {command}"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=LIMIT, env=capture.environment())
        equal(done.returncode, status, f"status of {command} ({done.stderr[-300:]})")
        line, = [line for line in done.stderr.splitlines() if "nothing was recorded" in line]
        contains(line, "has no layers", "line")
        if status == 77:
            equal(done.stdout, bare("program", "commands", "1"), "output")
    cuda = f"{capture.objects}/cuda"
    if not os.path.exists(f"{cuda}/libcuda.so.1"):
        return
    # A process that is recorded for another API.
    folder = tempfile.mkdtemp(prefix="gpumon-opencl-", dir=capture.objects)
    subprocess.run(
        ["unshare", "-m", "sh", "-c", f"mount --bind {old} {os.path.realpath(loader)} && "
         f"exec {capture.tool} record -q --run-as root --no-driver -o {folder}/capture -- {program} both 40"],
        stdout=subprocess.DEVNULL, check=True, timeout=LIMIT,
        env=capture.environment(LD_LIBRARY_PATH=f"{cuda}/13:{cuda}", MOCK_DRIVER_VERSION="13000",
                                OPENCL_TEST_LIBRARY=f"{capture.objects}/libconstructor.so"))
    done = subprocess.run([capture.tool, "correlate", f"{folder}/capture"], stdout=subprocess.PIPE, check=True, text=True)
    contains(done.stdout, "a loader of OpenCL that has no layers: what it did with OpenCL is not recorded", "summary")
    check("Nothing is missing" not in done.stdout, "the summary says that nothing is missing")
