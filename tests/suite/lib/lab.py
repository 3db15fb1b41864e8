# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What the tests of the suite share: loading, submitting, reading, comparing."""
import errno
import faulthandler
import os
import signal
import subprocess
import sys
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../lib"))
import verdict  # noqa: E402
from verdict import SLOWER, check, equal, until, within  # noqa: E402,F401

BUILD = os.environ.get("GPUMON_BUILD", "/gpumon")
KERNEL = os.environ.get("GPUMON_KERNEL", "?")
# The kernel in tests/vm/kernels.list, or the one that this is a sanitised flavour of.
LINE = os.environ.get("GPUMON_LINE", KERNEL)
# Devices of the mock. On 5.10 no scheduler knows its device, and gpumon only finds a driver's only one.
DEVICES = 1 if LINE == "5.10" else 2
LAST_DEVICE = DEVICES - 1
LAST_DEVICE_NAME = "mock_gpu.%d" % LAST_DEVICE
# Why an attached probe of the scheduler may still have a reason: modules of 5.10 have no BTF.
UNCHECKED = "prototype not checked: no BTF of gpu_sched" if LINE == "5.10" else None
# The function that ends a job of a killed entity.
KILL = "drm_sched_entity_kill_jobs_cb" if LINE == "5.10" else "drm_sched_entity_kill_jobs_work"
DEBUGFS = "/sys/kernel/debug"
STATS = DEBUGFS + "/gpumon/stats"
EVENTS = DEBUGFS + "/gpumon/events"
# The mock GPU's own account, in debugfs or, where the kernel has none, in /proc.
MOCKS = DEBUGFS + "/mock_gpu/", "/proc/mock_gpu/"
PARAMETERS = "/sys/module/gpumon/parameters/"
# Load the small core (make lab-core) in place of the module, with these parameters.
CORE = os.environ.get("GPUMON_CORE", "") not in ("", "0")
CORE_PARAMETERS = {"max_rings": 8, "max_processes": 64, "max_jobs": 256, "max_crtcs": 2}
# The numbers of system calls that the C library has no function for, or that /proc/PID/syscall shows.
SYSTEM_CALLS = {"x86_64": {"read": 0, "delete_module": 176, "finit_module": 313, "userfaultfd": 323},
                "aarch64": {"read": 63, "delete_module": 106, "finit_module": 273,
                            "userfaultfd": 282},
                "armv7l": {"read": 3, "delete_module": 129, "finit_module": 379,
                           "userfaultfd": 388}}[os.uname().machine]

# A test that exceeds its time limit prints where it was.
faulthandler.register(signal.SIGTERM, chain=True)

# The expected row of a ring in gpumon, from the mock's account.
COUNTERS = {"queued": "queued", "run": "run", "done": "done", "errors": "errors",
            "killed": "killed"}
# Not known on a kernel without kprobes.
KPROBE_COUNTERS = "errors", "killed"


def fail(why):
    """End the test. The current state of both sides is printed before the reason."""
    for path in STATS, *(mock + "account" for mock in MOCKS):
        if os.path.exists(path):
            print(read(path))
    sys.stdout.flush()
    sys.exit("FAILED: " + why)


# check(), equal(), within() and until() end a test with it.
verdict.fail = fail


def skip(why):
    print(why)
    sys.exit(77)


def step(text):
    """Announce a step with the time, so that a failure has a place."""
    print("[%8.2f] %s" % (time.monotonic(), text), flush=True)


# --- modules

def loaded(name):
    with open("/proc/modules") as f:
        return any(line.split()[0] == name for line in f)


def run(*command, timeout=60, check_=True, **options):
    done = subprocess.run(command, timeout=timeout * SLOWER, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, **options)
    if check_ and done.returncode:
        fail("%s: exit status %d: %s" % (" ".join(command), done.returncode,
                                         (done.stderr or done.stdout).strip()))
    return done


def insmod(name, **parameters):
    run("insmod", "%s/%s.ko" % (BUILD, name), *["%s=%s" % p for p in parameters.items()],
        timeout=300)


def rmmod(*names):
    for name in names:
        run("rmmod", name)


def end_without_unload():
    """End a test here where the kernel cannot unload modules: what follows loads them again."""
    if not os.path.exists("/sys/module/gpumon/refcnt"):
        step("the rest unloads modules, which this kernel cannot")
        sys.exit(0)


def kprobes_jump(on):
    """Make kprobes that are not built on ftrace jumps, as they mostly are; off: they are traps."""
    try:
        with open("/proc/sys/debug/kprobes-optimization", "w") as f:
            f.write(str(int(on)))
    except FileNotFoundError:
        step("this kernel has only traps")


def load_scheduler():
    run("modprobe", "gpu-sched")


def load_mock(**parameters):
    load_scheduler()
    insmod("mock_gpu", **parameters)


def load_gpumon(**parameters):
    if CORE:
        insmod("gpumon-core/gpumon", **{**CORE_PARAMETERS, **parameters})
    else:
        insmod("gpumon", **parameters)


def write_parameter(name, text):
    """Write a parameter of gpumon while it runs; comes back with the error, None if it was taken."""
    try:
        with open(PARAMETERS + name, "w") as f:
            f.write(text)
    except OSError as e:
        return errno.errorcode[e.errno]
    return None


def load(gpumon=None, **mock):
    """Load gpu_sched, the mock GPU with its parameters, and gpumon with its own."""
    load_mock(**mock)
    load_gpumon(**(gpumon or {}))


# --- the mock GPU

def read(path):
    # Text of other processes (comm) may not be UTF-8.
    with open(path, errors="surrogateescape") as f:
        return f.read()


def submitter(*arguments, **options):
    """Start mock_submit; the caller waits for it."""
    options.setdefault("stdin", subprocess.PIPE)
    return subprocess.Popen([BUILD + "/mock_submit", *map(str, arguments)],
                            stdout=subprocess.PIPE, universal_newlines=True, **options)


def submit(*arguments, timeout=60):
    """Run mock_submit to its end."""
    return run(BUILD + "/mock_submit", *map(str, arguments), timeout=timeout,
               stdin=subprocess.DEVNULL).stdout


def held(*arguments, wait=True):
    """Start mock_submit --hold 0 and come back when it has pushed everything.

    Closing stdin of what is returned, release(), lets the jobs go, and it ends when they have: jobs
    of a program that does not wait are killed after the mock's flush_ms. Where another one still
    holds the same ring, wait=False.
    """
    process = submitter("--hold", 0, *(("--wait",) if wait else ()), *arguments)
    for line in process.stdout:
        if line.strip() == "held":
            return process
    fail("mock_submit --hold ended early")


def release(process, timeout=60):
    process.stdin.close()
    status = process.wait(timeout * SLOWER)
    process.stdout.close()
    equal(status, 0, "exit status of mock_submit")


def read_mock(name):
    """A file of the mock's account."""
    return read(next((mock for mock in MOCKS if os.path.exists(mock)), MOCKS[0]) + name)


def account():
    """{(device, ring): {column: number}} by the mock itself."""
    lines = read_mock("account").splitlines()
    columns = lines[0].split()
    rows = {}
    for line in lines[1:]:
        values = line.split()
        rows[values[0], values[1]] = dict(zip(columns[2:], map(int, values[2:])))
    return rows


def mock_processes():
    """{pid: (jobs, comm)} by the mock itself."""
    rows = {}
    for line in read_mock("processes").splitlines()[1:]:
        pid, jobs, comm = line.split(" ", 2)
        rows[int(pid)] = (int(jobs), comm)
    return rows


def mock_usage():
    """{(pid, device, ring): {"jobs", "gpu_ns", "queue_ns", "errors"}} by the mock itself."""
    lines = read_mock("usage").splitlines()
    columns = lines[0].split()[3:]
    rows = {}
    for line in lines[1:]:
        pid, device, ring, *values = line.split()
        rows[int(pid), device, ring] = dict(zip(columns, map(int, values)))
    return rows


def usage(sections=None):
    """[row of stats' drm_sched.usage], each with the pid of its process, 0 for none."""
    sections = sections or stats()
    pids = {p["id"]: p["pid"] for p in sections["processes"]}
    return [dict(row, pid=pids.get(row["process"], 0)) for row in sections["drm_sched.usage"]]


def wait_idle(timeout=60):
    """Wait until every job was freed: all tracepoints have fired then. Returns the account."""
    def idle():
        rows = account()
        return rows if not any(r["alive"] for r in rows.values()) else None
    return until(idle, "the mock GPU is idle", timeout)


# --- gpumon

def value(text):
    """A word of stats: '-' is unknown, digits are a number."""
    if text == "-":
        return None
    return int(text) if text.lstrip("-").isdigit() else text


def stats(text=None):
    """{section: rows}; rows are dictionaries, or one dictionary of keys and values.

    The last column of a section is the rest of the line.
    """
    sections = {}
    columns = name = None
    for line in (read(STATS) if text is None else text).splitlines():
        if line.startswith("# "):
            name, columns = line[2:], None
        elif columns is None:
            columns = line.split()
            sections[name] = {} if columns == ["key", "value"] else []
        else:
            words = line.split(None, len(columns) - 1)
            check(len(words) == len(columns), "%s: row %r for columns %r" % (name, line, columns))
            words = [value(w) for w in words]
            if isinstance(sections[name], dict):
                sections[name][words[0]] = words[1]
            else:
                sections[name].append(dict(zip(columns, words)))
    return sections


def missing_options(sections=None):
    """{option: what is lost without it} of stats: those that this kernel was built without."""
    return {row["option"]: row["lost"] for row in (sections or stats())["missing_options"]}


def rings(sections=None):
    """{(device, ring): row} of stats."""
    rows = {}
    for row in (sections or stats()).get("drm_sched.rings", []):
        key = row["device"], row["ring"]
        check(key not in rows, "ring %s is there twice" % (key,))
        rows[key] = row
    return rows


# Reasons why a seen event was not recorded: columns of the probes.
DROPS = ("table_full", "recursion", "unreadable", "missed", "no_memory")


def probes(sections=None, group="drm_sched"):
    """{name: row} of stats."""
    return {p["probe"]: p for p in (sections or stats())["probes"] if p["group"] == group}


# The names of the two generations: first 5.10, 6.1 and 6.12, then 7.
GENERATIONS = {"queue": ("drm_sched_job", "drm_sched_job_queue"),
               "run": ("drm_run_job", "drm_sched_job_run"),
               "done": ("drm_sched_process_job", "drm_sched_job_done"),
               "wait": ("drm_sched_job_wait_dep", "drm_sched_job_unschedulable")}


def probe(role, rows=None):
    """The probe of a role that this kernel has: the attached one."""
    rows = rows or probes()
    found = [rows[n] for n in GENERATIONS[role] if rows[n]["state"] == "attached"]
    equal(len(found), 1, "attached probes for " + role)
    return found[0]


def check_sums(sections=None):
    """seen = recorded + dropped, for each probe."""
    for p in (sections or stats())["probes"]:
        equal(p["seen"], p["recorded"] + sum(p[cause] for cause in DROPS),
              "seen of %s against recorded + dropped" % p["probe"])


def check_counts(mock=None, waits=None, sections=None):
    """Counters of every ring equal the mock's account; depths are 0 when it is idle."""
    mock = mock or wait_idle()
    sections = sections or stats()
    ours = rings(sections)
    unknown = KPROBE_COUNTERS if "CONFIG_KPROBES" in missing_options(sections) else ()
    for key, row in mock.items():
        if not row["queued"]:
            continue
        check(key in ours, "ring %s is not in stats" % (key,))
        for column, theirs in COUNTERS.items():
            equal(ours[key][column], None if column in unknown else row[theirs], "%s of %s" % (column, key))
        equal(ours[key]["untracked"], 0, "untracked of %s" % (key,))
        equal(ours[key]["jobs_table_full"], 0, "jobs_table_full of %s" % (key,))
        equal((ours[key]["queue_depth"], ours[key]["hw_depth"]),
              (row["queue_depth"], row["hw_depth"]), "depths of %s" % (key,))
        if waits is not None:
            equal(ours[key]["dependency_waits"], waits(row), "dependency_waits of %s" % (key,))
    check_sums(sections)
    return ours
