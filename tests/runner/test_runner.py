#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Tests of the runner: what runs, in which order, what its lines count as, and what is left out."""
import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]

import check  # noqa: E402
import inputs  # noqa: E402
import schedule  # noqa: E402
import tasks  # noqa: E402
import verdict  # noqa: E402


class Output:
    """In place of stdout, for text and for bytes."""
    def __init__(self):
        self.buffer = io.BytesIO()

    def write(self, text):
        self.buffer.write(text.encode())

    def flush(self):
        pass


def shell(name, needs, script):
    return tasks.Task(name, needs, lambda: subprocess.run(["sh", "-c", script], check=False).returncode == 0)


def run(*chosen, jobs=2):
    """(the schedule, the lines that were shown, {file: text} of the run's folder)"""
    output = Output()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(output), \
            contextlib.redirect_stderr(io.StringIO()):
        folder = pathlib.Path(folder)
        done = schedule.Schedule(chosen, folder, jobs)
        done.run_all()
        files = {path.name: path.read_text() for path in folder.iterdir()}
    return done, output.buffer.getvalue().decode().splitlines(), files


def test_verdicts():
    done, lines, files = run(shell("a/b", "", "echo ok a/b/one; echo '    why'; echo 'not ok a/b/two: it broke'; exit 1"),
                             shell("c", "", "printf 'skip c/three: no GPU'"))
    verdict.equal(sorted(lines), sorted(["ok a/b/one", "    why", "not ok a/b/two: it broke", "skip c/three: no GPU"]))
    verdict.equal(done.counts, {b"ok": 1, b"not ok": 1, b"skip": 1})
    verdict.equal(done.states, {"a/b": "failed", "c": "done"})
    verdict.equal(files["a-b.log"].splitlines(), ["ok a/b/one", "    why", "not ok a/b/two: it broke"])
    verdict.equal((files["a-b.status"], files["c.status"]), ("1\n", "0\n"))
    verdict.equal(sorted(line.split("\t")[3:] for line in files["times"].splitlines()),
                  [["a-b", "a/b/one"], ["a-b", "a/b/two"], ["c", "c/three"]])


def test_failure_without_a_line():
    done, lines, _ = run(shell("quiet", "", "exit 3"), shell("after", "quiet", "echo ok after"), shell("other", "", "true"))
    verdict.equal(sorted(lines), ["not ok after: quiet failed", "not ok quiet: exit status 1"])
    verdict.equal(done.states, {"quiet": "failed", "after": "failed", "other": "done"})


def test_exception():
    _, lines, _ = run(tasks.Task("wrong", "", lambda: [][1]))
    verdict.check(any("IndexError" in line for line in lines), "it says what is wrong")
    verdict.equal(lines[-1], "not ok wrong: exit status 1")


def test_order():
    """A task begins after what it needs, and no more run at a time than allowed."""
    with tempfile.NamedTemporaryFile("r") as file:
        step = f"echo begin >>{file.name}; sleep 0.2; echo end >>{file.name}"
        run(shell("second", "first", f"echo second >>{file.name}"), shell("first", "", step), shell("third", "", step), jobs=1)
        verdict.equal(file.read().split(), ["begin", "end", "second", "begin", "end"])


def test_order_alone():
    """A task that only comes after another one also runs if that failed, or is not there."""
    done, lines, _ = run(shell("second", "~first ~none", "echo ok second"), shell("first", "", "sleep 0.2; echo not ok first; exit 1"))
    verdict.equal((lines, done.states), (["not ok first", "ok second"], {"first": "failed", "second": "done"}))


def test_processor_time():
    busy = "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; echo ok busy/loop"
    _, _, files = run(shell("busy", "", f"setsid sh -c '{busy}'"))
    verdict.check(float(files["times"].split("\t")[1]) > 0.05, "a process in another group counts")


def test_what_is_left_behind():
    """A process that holds the output open does not hold the runner up."""
    limit, schedule.DRAIN_SECONDS = schedule.DRAIN_SECONDS, 0.2
    done, _, _ = run(shell("daemon", "", "sleep 60 & echo ok daemon"))
    schedule.DRAIN_SECONDS = limit
    verdict.equal(done.states, {"daemon": "done"})
    verdict.check(schedule.time.monotonic() - done.begin < 50, "it waited")


def plan(scope="check", passed=(), **options):
    """A plan where the inputs of these names are as they were when they passed"""
    passed_on = inputs.Inputs.passed_on
    inputs.Inputs.passed_on = lambda self: "2026-01-01" if self.name in passed else None
    try:
        return tasks.Plan(scope, **options)
    finally:
        inputs.Inputs.passed_on = passed_on


def test_names():
    known = plan()
    for name, task, wanted in (("style", "style", []), ("probe-edit", "probe/edit", []), ("style/links", "style", ["links"]),
                               ("user/test_a:", "user", ["test_a"]), ("suite-7/counts", "suite-7", ["counts"]),
                               ("6.1/counts", "suite-6.1", ["counts"]), ("counts", "suite-7", ["counts"]),
                               ("suite-7-kasan/counts", "suite-7-kasan", ["counts"]), ("cross", "build/cross", []),
                               ("suite-7-rt/storm-all", "suite-7-rt", ["storm-all"]), ("mutants/ring", "mutants", ["ring"]),
                               ("probe/edit/exchange", "probe/edit", ["exchange"]), ("probe/flatten", "probe", ["flatten"]),
                               ("fuzz/netlink/finds-words", "fuzz/netlink", ["finds-words"]),
                               ("inject-11.8/records", "inject", ["records"]), ("opencl/records", "opencl", ["records"]),
                               ("inject-sanitised-13.0/x", "inject-sanitised", ["x"])):
        found = known.resolve(name)
        verdict.equal(found and (found[0].name, found[1]), (task, wanted), name)
    for name in ("none", "none/style", "suite-8/counts"):
        verdict.equal(known.resolve(name), None, name)


def chosen(*names, scope="check"):
    known = plan(scope, is_whole=False)
    known.choose(names)
    return [task.name for task in known.tasks]


def test_needs():
    verdict.equal(chosen("style"), ["style"])
    verdict.equal(chosen("record"), ["program", "record"])
    verdict.equal(chosen("output/zoom"), ["output"])
    verdict.equal(chosen("7/counts"), ["prepare/7", "build/7", "suite-7"])
    verdict.equal(chosen("suite-7-rt", scope="deep"), ["prepare/7-rt", "build/7-rt", "suite-7-rt"])
    for scope in ("check", "full", "deep"):
        known = plan(scope)
        names = [task.name for task in known.tasks]
        verdict.equal(len(names), len(set(names)), f"a name is there twice in {scope}")
        wrong = [(task.name, need) for task in known.tasks for need in task.needs + task.after if not known.find(need)]
        verdict.equal(wrong, [], f"there is no such task in {scope}")


def left(scope="check", passed=()):
    known = plan(scope, passed)
    known.leave_out()
    return [task.name for task in known.tasks]


def test_left_out():
    every = left()
    verdict.check({"build/7", "suite-6.12", "prepare/6.12", "user", "mutants"} & set(every) ==
                  {"build/7", "suite-6.12", "prepare/6.12", "user"}, "all but what has to be named")
    older = left(passed=("suite-6.12", "dkms-6.12"))
    verdict.equal([name for name in every if name not in older], ["prepare/6.12", "suite-6.12", "dkms/6.12"])
    verdict.equal(left("full", ("suite-6.12", "suite-7")), left("full"), "check-full runs it all the same")
    newest = ("suite-7", "suite-7-icount", "suite-7-boots")
    verdict.equal([name for name in every if name not in left(passed=newest)], ["build/7", *newest])


def test_goes_on():
    """What passed does not run again, unless something needs it that did not pass. Its verdicts count."""
    known = tasks.Plan("full")
    known.leave_out()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        folder = pathlib.Path(folder)
        for task in known.tasks:
            (folder / f"{task.key}.status").write_text("1\n" if task.name == "suite-6.12" else "0\n")
            (folder / f"{task.key}.log").write_text(f"ok {task.name}/a\nskip {task.name}/b: no GPU\n")
        (folder / "style.status").unlink()
        names = [task.name for task in known.tasks]
        before = check.leave_out_passed(known, folder)
        verdict.equal({task.name for task in known.tasks},
                      {"style", "program", "prepare/6.1", "prepare/6.12", "build/6.12", "prepare/7", "suite-6.12"})
        verdict.equal(len(before) + len(known.tasks), len(names), "all others passed")
        verdict.equal([(folder / f"suite-6.12.{suffix}").exists() for suffix in ("log", "status")], [False, False])
        done = schedule.Schedule(known.tasks, folder, 1)
        for task in before:
            done.take_passed(task)
        verdict.equal(done.counts, {b"ok": len(before), b"not ok": 0, b"skip": len(before)})


def test_only_user_has_changed():
    said = []
    call, tasks.steps.passes = tasks.steps.passes, lambda *words, **_: said.append([str(word) for word in words[1:]]) or True
    try:
        known = plan(passed=[f"suite-7{kind}-module" for kind in ("", "-icount", "-boots")])
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            for name in ("suite-7", "suite-7-icount"):
                known.find(name).run()
        verdict.equal(output.getvalue().count("skip suite-7/without-tool: only user/ has changed since"), 2)
        plan(passed=["suite-7-module"]).find("suite-7-icount").run()
    finally:
        tasks.steps.passes = call
    verdict.equal([words[2:] for words in said],
                  [["--boots", "ordinary", "--of-tool", "7"], ["--boots", "icount", "--of-tool", "7"],
                   ["--boots", "icount", "7"]])
    verdict.equal(plan(passed=["suite-7", "suite-7-module"], is_whole=False).find("suite-7").skip, None, "what is named")


def test_inputs():
    """The digest follows the files; a path that is not there is an error."""
    version, inputs.kernel_version = inputs.kernel_version, lambda name: "6.1\n"
    try:
        one, two = (inputs.Inputs("x", "6.1", *paths).digest() for paths in (("kmod",), ("kmod", "Kbuild")))
        verdict.check(one and two and one != two, "the files make a difference")
        verdict.equal(inputs.Inputs("x", "6.1", "kmod").digest(), one)
        try:
            inputs.Inputs("x", "6.1", "no/folder").digest()
        except SystemExit as error:
            verdict.contains(str(error), "no/folder is not there", "the message")
            return
        verdict.fail("a folder that is not there is accepted")
    finally:
        inputs.kernel_version = version


def test_inputs_are_there():
    if inputs.all_files() is None:
        raise verdict.Skip("this is no git checkout")
    for task in plan("full").tasks:
        for part in task.inputs:
            inputs.files_below(part.paths)


if __name__ == "__main__":
    sys.exit(verdict.run(verdict.tests_of(sys.modules["__main__"]), "runner", sys.argv[1:]))
