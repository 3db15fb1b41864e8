# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""--stalls: what the library reads of CUPTI's PC sampling, against what the stand-in has sampled."""
import collections
import struct
import subprocess

import harness
import recorder as rec
from harness import SAMPLED, STALLS, Run, check, compare_launches, equal, notes, until
from test_captures import attach

PREFIX = "smsp__pcsamp_warps_issue_stalled_"
MISSING = 2
REASONS = ("long_scoreboard", "wait", "barrier")


def samples_of(function, at):
    """Of one run, by reason: as mock_cupti_sampling.c has them."""
    reason = (function + at) % 3
    samples = {PREFIX + REASONS[reason]: at % 7 + 1}
    if reason < 2:
        samples[PREFIX + REASONS[reason] + "_not_issued"] = 1
    return samples


def expected(run, pcs, pid=None):
    result = collections.Counter()
    for function, runs in collections.Counter(e.other for e in run.account(SAMPLED, pid=pid)).items():
        for at in range(pcs):
            for reason, samples in samples_of(function, at).items():
                result[f"kernel_{chr(97 + function)}", at * 16, reason] += samples * runs
    return result


def told(records):
    strings, result = records["strings"], collections.Counter()
    for record in records["stalls"]:
        for reason, samples in record.stall.items():
            result[strings[record.name], record.offset, strings[reason]] += samples
    return result


def compare(run, target, pcs=3, pid=None):
    """Everything that was sampled is told of once, with its line, and the totals are right."""
    run.check_rules()
    records, runs = target.records(), len(run.account(SAMPLED, pid=pid))
    equal(target.totals()["lost"], {}, "losses")
    check(told(records) == expected(run, pcs, pid), f"told {told(records)}, sampled {expected(run, pcs, pid)}")
    last = {}
    for total in records["stall_totals"]:
        check(last.get(total.context, total).samples <= total.samples, "totals go back")
        last[total.context] = total
    equal(sum(t.samples for t in last.values()), runs * (sum(at % 7 + 1 for at in range(pcs)) + 3), "all samples")
    equal(sum(t.dropped for t in last.values()), 2 * runs, "dropped ones")
    equal(sum(t.other for t in last.values()), runs, "those of others")
    return records


def lines(records):
    strings = records["strings"]
    return {(strings[r.name], r.offset): (strings.get(r.file), r.line) for r in records["stalls"]}


def switches(run):
    """Of the sampling, on or off."""
    try:
        return [e.other for e in run.account(STALLS)]
    except (OSError, struct.error):
        return []  # the program has not begun


def stalls(*arguments, environment=None, period=16, **settings):
    run = Run(*arguments, stalls=period, environment=environment, **settings)
    if settings.get("wait", True):
        equal(run.status, 0, "exit status")
    return run


def test_stalls_of_every_kernel():
    """every sample of every kernel, by instruction and reason; source lines of modules that have them"""
    for generation in (12, 13):
        run = stalls("loop", 700, generation=generation, flush_ms=20)
        records = compare(run, run.only())
        compare_launches(run, records, run.only())
        equal(len(run.account(SAMPLED)), 500, "kernels that were sampled")
        equal({t.period for t in records["stall_totals"]}, {16}, "period")
        equal({(r.device, r.context) for r in records["stalls"]}, {(0, 1)}, "device and context")
        found = lines(records)
        for letter in "abc":
            for at in range(3):
                equal(found[f"kernel_{letter}", 16 * at],
                      ("/source/kernels.cu", 100 * (ord(letter) - 96) + at), f"line of kernel_{letter}")
        for letter in "de":
            equal(found[f"kernel_{letter}", 0], (None, 0), "line of code without lines")
        equal(len({r.module for r in records["stalls"]}), 2, "modules")
        equal(notes(records), [], "notes")


def test_no_stalls_unless_asked():
    """without --stalls nothing is sampled"""
    run = Run("loop", 70)
    run.check_rules()
    equal(run.account(STALLS), [], "sampling")
    equal(run.only().records()["stall_totals"], [], "totals")


def test_stalls_of_many_instructions():
    """instructions that do not fit into one read come in the next"""
    run = stalls("calls", 3, environment={"MOCK_SAMPLED_PCS": "10000"})
    compare(run, run.only(), 10000)


def test_stalls_of_graphs():
    """kernels of graphs are sampled, too"""
    run = stalls("graph", 50)
    run.check_rules()
    equal(len(run.account(SAMPLED)), 2 + 2 * 50, "kernels that were sampled")
    equal(sum(told(run.only().records()).values()), sum(expected(run, 3).values()), "samples")


def test_stalls_of_contexts():
    """contexts that are made and destroyed are sampled to their end"""
    run = stalls("new-contexts", 40, 7)
    compare(run, run.only())
    equal(len(run.account(SAMPLED)), 40 * 5, "kernels that were sampled")
    equal(switches(run), [1, 0] * 41, "contexts")


def test_stalls_of_modules():
    """modules that go and come: lines stay right, and a module is copied once"""
    run = stalls("modules", 60, 7)
    records = compare(run, run.only())
    equal(lines(records)["kernel_a", 16], ("/source/kernels.cu", 101), "line")
    equal(notes(records), [], "notes")


def test_stalls_in_window():
    """only what runs in the window is sampled, from shortly after its begin on"""
    run = stalls("three", 50, window=rec.PROFILER, stdin=subprocess.PIPE, wait=False)
    for on in (1, 0):
        until(lambda on=on: switches(run)[-1:] == [on], f"sampling is {on}")
        run.go_on()
    run.wait()
    records = compare(run, run.only())
    equal({name for name, _, _ in told(records)}, {"kernel_b"}, "kernels")
    equal(len(run.account(SAMPLED)), 50, "kernels that were sampled")


def test_stalls_of_live_program():
    """a live program: contexts that exist are sampled once they launch, and again in the next capture"""
    run = Run("steady", 200000, 10, recorded=False, wait=False, stdin=subprocess.PIPE,
              environment={"GPUMON_LISTEN": ""})
    equal([run.process.stdout.readline() for _ in range(2)], ["ready\n", "half\n"], "it has launched")
    for captures in (1, 2):
        target = attach(run.process, stalls=16)
        until(lambda captures=captures: sum(switches(run)) == captures, "sampling")
        until(lambda target=target: target.records()["stalls"], "samples")
        target.stop()
        until(lambda target=target: target.done.is_set(), "the capture ends")
        run.check_rules()
        records = target.records()
        check(not [r for r in records["stalls"] if r.line], "lines of code that was loaded before")
        check([n for n in notes(records) if "loaded before the recording began" in n], "a note says why")
        equal(switches(run), [1, 0] * captures, "sampling")
    run.process.kill()
    run.wait()


def test_stalls_in_windows_of_operations():
    """sampled operations: each window's samples, and CUPTI is left in between"""
    run = stalls("steady", 200000, operations_sampled=1, window_ms=50, period_ms=100, wait=False)
    until(lambda: len(switches(run)) >= 6, "three windows")
    run.process.send_signal(10)
    run.wait()
    compare(run, run.only())


def test_stalls_and_fork():
    """a child that is not recorded is not sampled, and its parent is, to the end"""
    run = stalls("fork", 300)
    for target in run.targets():
        compare(run, target, pid=target.pid)


def refused(environment, words, generation=13, sampled=False, **settings):
    run = stalls("loop", 70, environment=environment, generation=generation, **settings)
    run.check_rules()
    records = run.only().records()
    missing = [records["strings"][n.text] for n in records["note"] if n.flags & MISSING]
    equal(len(missing), 1, f"notes: {missing}")
    for word in words:
        check(word in missing[0], f"{word}: {missing[0]}")
    compare_launches(run, records, run.only())
    equal(bool(records["stalls"]), sampled, "samples")


def test_stalls_refused():
    """what CUPTI refuses is said once, with what to do, and all else is recorded"""
    refused({"MOCK_FAIL": "cuptiPCSamplingEnable:35"},
            ["only root", "NVreg_RestrictProfilingToAdminUsers=0"])
    refused({"MOCK_FAIL": "cuptiPCSamplingEnable:26"}, ["another profiler", "when it has ended"])
    refused({"MOCK_FAIL": "cuptiPCSamplingEnable:27"}, ["7.5"])
    refused({"MOCK_FAIL": "cuptiPCSamplingEnable:43"}, ["as it is set up"])
    refused({"MOCK_FAIL": "cuptiPCSamplingEnable:999"}, ["CUPTI refuses it", "cuptiPCSamplingEnable"])
    refused({"MOCK_NO_REASONS": "1"}, ["7.5"])
    refused({"MOCK_FAIL": "cuptiPCSamplingSetConfigurationAttribute:1"},
            ["cuptiPCSamplingSetConfigurationAttribute"])
    refused({"MOCK_VERSION": "21"}, ["CUDA 12.4", "GPUMON_CUPTI"], generation=12)


def test_stalls_with_sizes_of_cupti():
    """where CUPTI does not take the sizes of buffers, it has its own"""
    run = stalls("loop", 70, environment={"MOCK_FAIL": "cuptiPCSamplingSetConfigurationAttribute@6:7"})
    compare(run, run.only())


def test_stalls_of_full_buffer():
    """a full buffer of the hardware is said, and sampling goes on after it"""
    run = stalls("steady", 200000, environment={"MOCK_SAMPLES_FULL": "20"}, wait=False, flush_ms=20)
    until(lambda: len(switches(run)) >= 5, "begun again twice")
    run.process.send_signal(10)
    run.wait()
    run.check_rules()
    said = [n for n in notes(run.only().records()) if "was full" in n]
    equal(len(said), 1, "notes")
    check("--stalls=17" in said[0], said[0])


def test_stalls_with_new_names():
    """names that CUPTI makes anew for each read end the sampling before they take much memory"""
    run = stalls("steady", 200000, wait=False, flush_ms=20,
                 environment={"MOCK_NAMES_ANEW": "4000", "MOCK_SAMPLED_PCS": "300"})
    until(lambda: switches(run) == [1, 0], "sampling ends")
    run.process.send_signal(10)
    run.wait()
    run.check_rules()
    said = [n for n in notes(run.only().records()) if "copies of functions' names" in n]
    equal(len(said), 1, "notes")
