# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The tasks of `make check`, `make check-full` and `make check-deep`.

A task is named after its folder, and the names of its tests begin with its own: probe/edit/exchange is a test
of probe/edit, suite-7/counts one of suite-7.
"""
import functools
import re

import lab
import steps
from inputs import Inputs
from steps import build, make_check, passes, prepare, suite, tree

NEWEST = lab.kernels()[-1]
OLDER = lab.kernels()[:-1]

# What the module is built from; with the scripts that build it for other kernels and compilers.
MODULE = ("kmod", "Kbuild", "Makefile", "dkms.conf", "tests/build", "tests/vm/lib.sh")
# What a VM with the module runs, but for what is built of user/.
SUITE = (*MODULE, "bpf", "tests/vm", "tests/suite", "tests/mock", "tests/uprobe", "tests/lib", "tests/fuzz/netlink",
         "tests/probe", "Documentation/netlink", "Documentation/reference/memory.md")
# The part of user/ that works with the kernel.
USER_FOR_KERNELS = ("user/driver",)

# Kernels built here, not to look for mistakes, and the tests of each.
OWN_PARTS = {"7-builtin": "built-in-part.list", "7-bare": "bare-part.list",
             "6.12-arm64-builtin": "built-in-part.list"}

SANITIZE = "SANITIZE=-fsanitize=address,undefined"


class Task:
    """What runs as one process group.

    needs: tasks that have to pass before; with ~ those that only have to be done. run: returns whether it
    passed. select: with names of tests, the run of those. inputs: noted when it passed. skip: why it is left
    out. is_means: it only runs if a task needs it.
    """
    def __init__(self, name, needs, run, select=None, is_means=False):
        self.name, self.run, self.select, self.is_means = name, run, select, is_means
        self.needs = [word for word in needs.split() if word[0] != "~"]
        self.after = [word[1:] for word in needs.split() if word[0] == "~"]
        self.inputs, self.skip = (), None

    @property
    def key(self):
        return key_of(self.name)


def key_of(name):
    """A task's name as that of a file."""
    return name.replace("/", "-")


def left_out(day):
    return f"nothing that it builds has changed since it passed on {day}; make check-full runs it"


def words(name, *variables):
    """(run, select) of a folder whose Makefile passes TESTS=WORD... on"""
    return (functools.partial(make_check, name, *variables),
            lambda tests: make_check(name, *variables, "TESTS=" + " ".join(tests)))


def script(path, *arguments):
    """(run, select) of a script that takes names of tests, and runs all without"""
    return (lambda: passes(path, *arguments), lambda tests: passes(path, *tests, *arguments))


def programs_of_tests(tests):
    return ["test_" + test.removeprefix("test_").replace("-", "_") for test in tests]


def style():
    if not passes("tests/style/run", GPUMON_NO_DEPS="1"):
        return False
    # tests/results/make notes the commit.
    steps.note_revision("style")
    return True


def inject(name, *variables):
    """Tests of the injection library, with each generation of CUDA's headers"""
    def run(tests=()):
        return make_check("inject", f"OBJ={steps.for_others(name)}", f"GPUMON_PREFIX={name}", *variables,
                          *[f"TESTS={' '.join(tests)}"] * bool(tests))
    return run, run


class Plan:
    """The tasks of one of the scopes check, full and deep, in the order of their start."""
    def __init__(self, scope, is_whole=True):
        self.scope, self.is_whole = scope, is_whole
        # What is named runs in any case.
        self.leaves_out = scope == "check" and is_whole
        self.tasks = []
        if scope == "deep":
            self.add_deep()
        else:
            self.add_kernels()
            self.add_host()
        self.add_asked_only()

    def add(self, name, needs, run, select=None, is_means=False, inputs=()):
        task = Task(name, needs, run, select, is_means)
        task.inputs = tuple(inputs)
        self.tasks.append(task)
        return task

    def add_if_changed(self, name, needs, run, inputs):
        """In `make check` only if what it builds has changed since it passed."""
        task = self.add(name, needs, run, inputs=[inputs])
        if self.leaves_out:
            day = inputs.passed_on()
            task.skip = day and left_out(day)
        return task

    def changed(self, name, kernel, module, user):
        """(inputs to note, the day when it passed with the same module if only user/ has changed, why the task is
        left out)
        """
        noted = Inputs(f"{name}-module", kernel, *module), Inputs(name, kernel, *module, *user)
        if not self.leaves_out:
            return noted, None, None
        of_module, of_both = (inputs.passed_on() for inputs in noted)
        return noted, of_module, of_both and left_out(of_both)

    # --- kernels in VMs

    def classes(self, name):
        """`make check` runs all tests on the newest kernel, and on the others those for differences between
        kernels.
        """
        if name == NEWEST:
            return "newest,once,each-kernel" if self.scope == "check" else "each-kernel,newest,full,once"
        return "each-kernel" if self.scope == "check" else "each-kernel,newest,full"

    def suite(self, name, *options, module_passed=None):
        """(run, select). With a day: only tests of the tool."""
        def run():
            if module_passed:
                steps.say(f"skip suite-{name}/without-tool: only user/ has changed since these tests passed on "
                          f"{module_passed}; make check-full runs them")
            return suite(name, "--classes", self.classes(name), *options, *["--of-tool"] * bool(module_passed))
        return run, lambda tests: suite(name, tests=tests)

    def add_kernels(self):
        """Tasks that others wait for, and long ones, come first. All suites use the QEMU that prepare/7 installs."""
        self.add("prepare/7", "", lambda: prepare("7"), is_means=True)
        if self.scope == "full":
            self.add("prepare/7-kasan", "prepare/7", lambda: prepare("7-kasan"))
            self.add("prepare/7-builtin", "prepare/7-kasan", lambda: prepare("7-builtin"))
            self.add("prepare/7-bare", "prepare/7-builtin", lambda: prepare("7-bare"))
        build_newest = self.add("build/7", "prepare/7", lambda: build("7"), is_means=True)
        self.add("prepare/6.1", "", lambda: prepare("6.1"), is_means=True)
        self.add("program", "", steps.program, is_means=True)
        self.add("prepare/6.12", "prepare/6.1", lambda: prepare("6.12"), is_means=True)
        self.add_newest(build_newest)
        self.add_arm64()
        for name in OLDER:
            self.add_older(name)
        self.add_part("7-kasan", "sanitised-part.list")
        self.add_part("7-builtin", OWN_PARTS["7-builtin"])
        # A boot for each test takes too long for make check.
        if self.scope == "full":
            self.add_part("7-bare", OWN_PARTS["7-bare"])
        if self.scope == "full":
            for name in lab.kernels("nvidia"):
                self.add(f"suite-{name}", f"build/{lab.kernel(name).line} prepare/7", lambda name=name: steps.nvidia(name))
            for name in lab.kernels("old"):
                self.add(f"suite-{name}", "prepare/7", *self.own_part(name, "old-part.list"))
            self.add("build/packages", "", lambda: passes("tests/build/packages"))
            # In a copy of the root in which those are built.
            self.add("build/packages-others", "~build/packages", lambda: passes("tests/build/packages-others"))
            # With the headers of 6.1-arm64, which it prepares.
            self.add("build/recipes", "prepare/6.1 prepare/7", lambda: passes("tests/build/recipes/run"))

    def add_arm64(self):
        """In `make check` a part of the suite in one boot, and the tool is compiled."""
        if self.scope == "full":
            for name, needs in (("6.1-arm64", "prepare/6.1 prepare/7"), ("7-arm64", "prepare/7")):
                self.add(f"suite-{name}", needs, functools.partial(self.suite_arm64, name),
                         functools.partial(self.tests_arm64, name))
            # The root is that of 6.1-arm64.
            self.add("suite-5.10-arm64", "prepare/6.1 prepare/7 ~suite-6.1-arm64", *self.own_part("5.10-arm64", "old-part.list"))
            # It writes to the same folder of the tool as 6.1-arm64.
            name = "6.12-arm64-builtin"
            self.add(f"prepare/{name}", "prepare/7-builtin", lambda: prepare(name))
            self.add(f"suite-{name}", f"prepare/{name} ~suite-6.1-arm64",
                     lambda: (steps.build_arm64(name, "lab-module", "lab-mock", "lab-user") and
                              steps.suite_part(name, OWN_PARTS[name])),
                     functools.partial(self.tests_arm64, name))
            # The tool is not run beside the module there.
            self.add("suite-6.1-armhf", "prepare/6.1 prepare/7",
                     *self.own_part("6.1-armhf", "armhf-part.list", "lab-module", "lab-tests"))
            # It builds the mock in a folder of 6.1-arm64.
            self.add("build/board", "prepare/6.1 prepare/7 ~suite-6.1-arm64",
                     lambda: prepare("6.1-arm64") and passes("tests/build/board"))
            return
        name = "6.1-arm64"
        inputs, module_passed, skip = self.changed(f"suite-{name}", "6.1", SUITE, ("user",))

        def run():
            if module_passed:
                return steps.build_arm64(name, "lab-user")
            return (steps.build_arm64(name, "lab-module", "lab-mock-drm", "lab-user") and
                    steps.suite_part(name, "arm64-part.list"))
        task = self.add(f"suite-{name}", "prepare/6.1 prepare/7", run, functools.partial(self.tests_arm64, name), inputs=inputs)
        task.skip = skip

    def suite_arm64(self, name):
        return steps.build_arm64(name, *steps.ORDINARY) and suite(name, "--classes", "each-kernel,arm64")

    def tests_arm64(self, name, tests):
        return steps.build_arm64(name, *steps.ORDINARY) and suite(name, tests=tests)

    def add_newest(self, build_newest):
        """The newest kernel's boots, in three tasks. Where only user/ has changed, only tests of the tool run."""
        needs_faults = False
        for name, boots in ((f"suite-{NEWEST}", "ordinary"), (f"suite-{NEWEST}-icount", "icount"),
                            (f"suite-{NEWEST}-boots", "other")):
            inputs, module_passed, skip = self.changed(name, NEWEST, SUITE, ("user",))
            run, select = self.suite(NEWEST, "--boots", boots, module_passed=module_passed)
            task = self.add(name, f"build/{NEWEST}", run, select, inputs=inputs)
            task.skip = skip
            needs_faults |= not skip and not module_passed
        if not needs_faults:
            # Only tests of the module alone need the one with faults.
            build_newest.run = lambda: build(NEWEST, *steps.ORDINARY)

    def add_older(self, name):
        inputs, module_passed, skip = self.changed(f"suite-{name}", name, SUITE, USER_FOR_KERNELS)
        run, select = self.suite(name, module_passed=module_passed)
        # All kernel modules are built under sparse once.
        sparse = ("C=1", "CHECK=sparse") if name == OLDER[0] and not module_passed else ()
        if self.scope == "check":
            task = self.add(f"suite-{name}", f"prepare/{name} prepare/{NEWEST} program",
                            lambda: steps.build_older(name, *sparse) and run(),
                            lambda tests: steps.build_older(name) and select(tests), inputs=inputs)
            task.skip = skip
        else:
            self.add(f"build/{name}", f"prepare/{name} program", lambda: build(name, *sparse))
            self.add(f"suite-{name}", f"build/{name} prepare/{NEWEST}", run, select, inputs=inputs)

    @staticmethod
    def own_part(name, part, *targets):
        """(run, select) of a part of the suite on a kernel that is prepared and built for by the task"""
        return (lambda: steps.prepare_and_build(name, *targets) and steps.suite_part(name, part),
                lambda tests: steps.prepare_and_build(name, *targets) and suite(name, tests=tests))

    def add_part(self, name, part):
        if self.scope == "full":
            self.add(f"build/{name}", f"prepare/{name}", lambda: build(name))
            self.add(f"suite-{name}", f"build/{name}", lambda: steps.suite_part(name, part),
                     lambda tests: suite(name, tests=tests))
            return
        run, select = self.own_part(name, part)
        task = self.add_if_changed(f"suite-{name}", "prepare/7", run,
                                   Inputs(f"suite-{name}", NEWEST, *SUITE, *USER_FOR_KERNELS))
        task.select = select
        # Such a kernel takes up to 20 minutes to build.
        if not (lab.cache() / "kernels" / name / "ready").exists():
            task.skip = "this kernel is not in the cache; make check-full builds it"

    # --- what runs on this machine

    def add_host(self):
        full = self.scope == "full"
        self.add("user", "", *words("user"))
        self.tasks[-1].select = lambda tests: make_check("user", "TESTS=" + " ".join(programs_of_tests(tests)))
        # The newest generation of CUDA with every access checked, in make check only so. ThreadSanitizer is only
        # for manual use (tests/inject/Makefile): it does not know the locks of the C library's dlclose().
        self.add("inject", "", *inject("inject", *[] if full else ["OLDER=1"]))
        self.add("inject-sanitised", "~inject", *inject("inject-sanitised", SANITIZE))
        self.add("record", "program", *words("record"))
        # It builds the objects of tests/inject in a folder of its own. In full each is attached to 200 times.
        self.add("attach", "program", *words("attach", *["TIMES=200"] if full else []))
        self.add("programs", "program", *words("programs"))
        self.add("style", "", style, lambda tests: passes("tests/style/run", *tests, GPUMON_NO_DEPS="1"))
        self.add_if_changed("dkms/7", "prepare/7", lambda: passes("tests/build/dkms", "7"), Inputs("dkms-7", NEWEST, *MODULE))
        # From the copy, where what has not changed need not be compiled again.
        self.add("fuzz", "", *script(tree() / "tests/fuzz/run", "2"))
        self.add("fuzz/netlink", "", lambda: make_check("fuzz/netlink"))
        self.add("stack", "", *words("stack"))
        # Those of each Python run in any case.
        self.tasks[-1].select = lambda tests: make_check("stack", "TESTS=" + " ".join(
            test for test in tests if not test.startswith("python")))
        self.add("probe", "", lambda: make_check("probe"), lambda tests: make_check("probe", "TESTS=" + " ".join(programs_of_tests(tests))))
        # They share objects.
        self.add("probe/result", "~probe", lambda: make_check("probe/result"))
        self.add("probe/edit", "program", *words("probe/edit"))
        self.add("probe/cuda", "program", *words("probe/cuda"))
        # hip and ze look for libraries in the root of Debian 13.
        for name, needs in (("opencl", "program"), ("vulkan", "program"), ("gl", "program"), ("ze", "program prepare/7"), ("hip", "program prepare/7")):
            self.add(name, needs, *words(name))
        if full:
            for name in ("probe/cuda", "opencl", "vulkan", "gl", "ze", "hip"):
                self.add(f"{name}-sanitised", f"program ~{name}", *words(name, "OBJ=obj-sanitised", SANITIZE))
        self.add("device", "", lambda: make_check("device"))
        # It uses the objects of the task "user".
        self.add("output", "~user", *words("output", f"OBJ={tree()}/tests/user/obj"))
        self.add("metrics", "program ~user", *words("metrics"))
        self.add("capture", "program", *words("capture"))
        self.add("bench", "", lambda: passes("tests/bench/check"))
        self.add("build/cross", "", lambda: passes("tests/build/cross"))
        self.add("build/bpf", "", lambda: passes("tests/build/bpf"))
        self.add("vm", "", steps.vm_tests)
        self.add("runner", "", *script("tests/runner/test_runner.py"))
        for name, needs in (("matrix", "prepare/6.1 prepare/7"), ("build/llvm", "prepare/6.1"), ("build/requirements", "prepare/6.1")):
            # Each option by itself takes a build of the module.
            each = ["--each"] if full and name == "build/requirements" else []
            self.add_if_changed(name, needs, lambda name=name, each=each: passes("tests/build/" + name.removeprefix("build/"), *each),
                                Inputs(key_of(name), "6.1", *MODULE))
        self.add_if_changed("build/adding-a-driver", "prepare/7", lambda: passes("tests/build/adding-a-driver", "7"),
                            Inputs("build-adding-a-driver", NEWEST, *MODULE, "Documentation/develop/adding-a-driver.md",
                                   "Documentation/develop/adding-a-statistic.md", "Documentation/reference/drivers/i915.md",
                                   "tests/suite/i915.py", "tests/style/layers", "tests/style/statistics-page.py"))
        self.add_if_changed("build/adding-a-command", "prepare/6.1", lambda: passes("tests/build/adding-a-command"),
                            Inputs("build-adding-a-command", "6.1", "user/Makefile", "user/cmd", "user/lib",
                                   "Documentation/develop/adding-a-command.md", "Documentation/man", "tests/build/adding-a-command",
                                   "tests/build/page-blocks.py", "tests/style/layers", "tests/style/man-page.py"))
        self.add_if_changed("build/small", "program", lambda: passes("tests/build/small/run"),
                            Inputs("build-small", NEWEST, "user", "kmod/uapi", "tests/build/small", "tests/metrics/fake.c",
                                   "Documentation/reference/statistics.md",
                                   *(f"Documentation/reference/drivers/{driver}.md" for driver in (
                                       "amdgpu", "drm_sched", "drm_vblank", "i915", "nvidia"))))
        if full:
            self.add("build/small-vm", "build/small build/7 prepare/7", lambda: passes("tests/build/small/vm"))
            self.add("build/choices", "prepare/6.1", lambda: passes("tests/build/choices"))
        for name in OLDER:
            self.add_if_changed(f"dkms/{name}", f"prepare/{name}", lambda name=name: passes("tests/build/dkms", name),
                                Inputs(f"dkms-{name}", name, *MODULE))

    # --- a night

    def add_deep(self):
        """One kernel is built at a time, with all CPUs, and only if a task needs it."""
        before = ""
        for name in lab.kernels("sanitised"):
            # It includes what only GPUMON_DEEP=1 builds.
            self.add(f"prepare/{name}", before, lambda name=name: prepare(name, GPUMON_DEEP="1"), is_means=True)
            self.add(f"build/{name}", f"prepare/{name}", lambda name=name: build(name), is_means=True)
            before = f"prepare/{name}" if self.is_whole else ""
            select = (lambda name: lambda tests: suite(name, tests=tests))(name)
            if name in OWN_PARTS:
                self.add(f"suite-{name}", f"build/{name}", lambda name=name: steps.suite_part(name, OWN_PARTS[name]), select)
            elif name != "7-faults":
                self.add(f"suite-{name}", f"build/{name}", lambda name=name: suite(name), select)
        for name, kernel, tests in (("faults", "7-faults", ("fault-allocations", "fault-registrations")),
                                    ("storms", "7-rt", ("storm-load", "storm-control", "storm-providers", "storm-cpus",
                                                        "storm-memory", "storm-suspend", "storm-all"))):
            self.add(f"{name}-{kernel}", f"build/{kernel}",
                     lambda kernel=kernel, tests=tests: suite(kernel, tests=tests, GPUMON_DEEP="1"))
        self.add("fuzz", "", *script("tests/fuzz/long", "600"))
        self.add("mutants", "", *script("tests/mutants/run"))
        self.add("program", "", steps.program, is_means=True)
        self.add("programs", "program", *script("tests/programs/root"))

    # --- what only runs if it is named

    def add_asked_only(self):
        known = {task.name for task in self.tasks}
        if "mutants" not in known:
            self.asked_only("mutants", "", *script("tests/mutants/run"))
        # On a machine with an NVIDIA GPU.
        self.asked_only("device-gpu", "", *script("tests/device/run"))
        for kind in ("kernels", "old", "sanitised", "arm64", "nvidia"):
            for name in lab.kernels(kind):
                self.add_single_tests(name, kind)

    def asked_only(self, name, needs, run, select=None):
        self.add(name, needs, run, select, is_means=True)

    def add_single_tests(self, name, kind):
        """Tests of tests/suite on any kernel, where the scope has no task for it."""
        known = {task.name for task in self.tasks}
        if f"suite-{name}" in known:
            return
        # NVIDIA's driver is built for a kernel that others use, too.
        base = lab.kernel(name).line if kind == "nvidia" else name
        for task, needs, run in ((f"prepare/{base}", "", lambda: prepare(base)),
                                 (f"build/{base}", f"prepare/{base}", lambda: build(base))):
            if task not in known:
                self.asked_only(task, needs, run)
        if kind == "nvidia":
            self.asked_only(f"suite-{name}", f"build/{base}", lambda: steps.nvidia(name),
                            lambda tests: prepare(name) and build(name, "lab-nvidia") and suite(name, tests=tests))
        else:
            self.asked_only(f"suite-{name}", f"build/{name} prepare/{NEWEST}",
                            lambda: suite(name), lambda tests: suite(name, tests=tests))

    def find(self, name):
        return next((task for task in self.tasks if task.key == key_of(name)), None)

    # --- names

    def resolve(self, name):
        """(task, tests) of a task's name, or of a test's as its line has it; None if there is none."""
        name = name.rstrip(":")
        found = self.find(name)
        if found:
            return found, []
        parts = name.split("/")
        for split in range(len(parts) - 1, 0, -1):
            left, right = "/".join(parts[:split]), "/".join(parts[split:])
            # A test with one generation of CUDA's headers runs with all.
            left = re.sub(r"^(inject|inject-sanitised)-\d+\.\d+$", r"\1", left)
            # 7/counts is a test on kernel 7.
            task = self.find(left) or self.find(f"suite-{left}")
            if task:
                return task, [right]
        by_end = [task for task in self.tasks if task.name.endswith("/" + name)]
        if len(by_end) == 1:
            return by_end[0], []
        if any((lab.TOP / "tests/suite" / (name + suffix)).exists() for suffix in (".py", ".sh")):
            return self.find(f"suite-{NEWEST}"), [name]
        return None

    def choose(self, names):
        """Only the named tasks and tests, and what they need."""
        tests = {}
        for name in names:
            found = self.resolve(name)
            if not found:
                lab.die(f"no such task or test: {name}; tests/check --list names the tasks")
            task, wanted = found
            if wanted:
                tests.setdefault(task, []).extend(wanted)
            else:
                tests[task] = None
        for task, wanted in tests.items():
            task.skip = None
            # Tasks that cannot choose run all of theirs.
            if wanted and task.select:
                task.run, task.inputs = functools.partial(task.select, wanted), ()
        self.keep(list(tests))

    def leave_out(self):
        """Drop what only serves tasks that are left out."""
        self.keep([task for task in self.tasks if not task.is_means and not task.skip])

    def keep(self, wanted):
        """These and what they need; what is left out stays with its reason."""
        kept = set()
        stack = list(wanted)
        while stack:
            task = stack.pop()
            if task.name not in kept:
                kept.add(task.name)
                stack += filter(None, map(self.find, task.needs))
        self.tasks = [task for task in self.tasks if task.name in kept]
