# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Metrics of the GPU (--gpu-metrics): every sample that the stand-in makes is recorded, or counted as lost."""
import math
import os
import shutil
import signal
import subprocess
import time

import harness
import recorder as rec
from harness import LIMIT, Run, Skip, busier, check, equal, need, notes, until
from test_captures import attach, stop

MS = 1000000
MISSING = 2
LOST = 18

# Of the names in user/abi/gpu_metrics.h those that the stand-in's GPU has. It has one of two other names.
NAMES = ["sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "sm__warps_active.avg.pct_of_peak_sustained_active",
         "sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
         "dram__throughput.avg.pct_of_peak_sustained_elapsed", "sm__inst_executed.avg.pct_of_peak_sustained_elapsed",
         "dram__bytes_op_read.sum", "dram__bytes_write.sum", "pcie__read_bytes.sum", "pcie__write_bytes.sum",
         "gr__cycles_active.avg.pct_of_peak_sustained_elapsed", "gpc__cycles_elapsed.avg.per_second"]


class Steady:
    """A program that launches until finish() is called, sampled each millisecond."""

    def __init__(self, metrics_ns=MS, **more):
        self.run = Run("steady", 10 ** 9, 10 ** 9, wait=False, metrics_ns=metrics_ns, **more)
        equal(self.run.process.stdout.readline(), "ready\n", "first line")
        until(self.run.targets, "it connects")
        self.target = self.run.only()

    def sees(self, samples):
        until(lambda: len(self.target.records()["metric_samples"]) >= samples, f"{samples} samples are recorded")

    def notes(self):
        return notes(self.target.records())

    def finish(self):
        self.run.process.send_signal(signal.SIGUSR1)
        self.run.wait()
        equal(self.run.status, 0, "exit status")
        return self.target.records()


def values_of(number, count):
    """As the stand-in has them: the last metric has no value."""
    return tuple(number % 64 + i / 16 for i in range(count - 1))


def known(records):
    """Start, end and values of all samples that are recorded, each with the set that it belongs to."""
    sets = {number: names for _, number, _, names in records["metric_sets"]}
    result = []
    for start, end, device, number, values in records["metric_samples"]:
        equal(device, 0, "the GPU of a sample")
        equal(len(values), len(sets[number]), "values of a sample")
        check(math.isnan(values[-1]), f"a value that the GPU does not have: {values[-1]}")
        result.append((start, end, values[:-1]))
    return result


def compare(run, records, lost=0):
    """All samples of the account are recorded, but some that are counted as lost.

    Where the end is not decoded any more, its samples are counted by the time, until sampling has stopped.
    """
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    run.check_rules()
    count = len(records["metric_sets"][0][3])
    made = {(e.start, e.end, values_of(e.other, count)) for e in run.account(harness.SAMPLE)}
    told = known(records)
    equal(len(told), len(set(told)), "samples that are recorded, and different ones")
    check(set(told) <= made, f"invented: {list(set(told) - made)[:2]}")
    stopped = run.account(harness.SAMPLING)[-1].start
    most = len(made) - len(told) + ((now - stopped) // MS + 1 if lost else 0)
    check(len(made) - len(told) <= lost <= most, f"{len(made)} samples made, {len(told)} recorded, {lost} lost")
    equal(sorted(told), told, "samples in the order of time")


def test_metrics():
    """each sample is recorded with its times and values, of as many metrics as the GPU has in one pass"""
    steady = Steady()
    steady.sees(300)
    records = steady.finish()
    compare(steady.run, records)
    equal(steady.target.totals()["lost"], {}, "losses")
    (device, _, interval, names), = records["metric_sets"]
    equal((device, interval), (0, MS), "GPU and interval")
    equal([records["strings"][n] for n in names], NAMES, "metrics")
    equal(notes(records), [], "notes")
    begin, end = steady.run.account(harness.SAMPLING)
    equal((begin.other, end.other), (1, 0), "begin and end of sampling")
    check({e.tid for e in steady.run.account(harness.SAMPLE)}.isdisjoint(
        {e.tid for e in steady.run.account(harness.LAUNCH)}), "a thread of the program decodes samples")


def test_metrics_of_a_pass():
    """a metric that would need a second pass is left out, and those after it are tried"""
    steady = Steady(environment={"MOCK_PM_FITS": "4"})
    steady.sees(20)
    records = steady.finish()
    compare(steady.run, records)
    equal([records["strings"][n] for n in records["metric_sets"][0][3]], NAMES[:4], "metrics")


def test_metrics_by_cycles():
    """a GPU that cannot be sampled by time (A100) is sampled by cycles"""
    steady = Steady(environment={"MOCK_FAIL": "cuptiPmSamplingSetConfig@1:27"})
    steady.sees(20)
    compare(steady.run, steady.finish())


def test_metrics_not_wanted():
    """without --gpu-metrics nothing is sampled, and no library is loaded for it"""
    run = Run("loop", 200)
    equal((run.status, run.account(harness.SAMPLING)), (0, []), "exit status, samples")
    equal(run.only().records()["metric_sets"], [], "metrics")
    names = [run.only().records()["strings"][m.path] for m in run.only().records()["mapping"]]
    check(not any("nvperf" in name for name in names), "libnvperf_host is loaded")


def test_metrics_beside_stalls():
    """CUPTI does one at a time, and crashes where it is asked for both again and again: metrics are left out"""
    run = Run("loop", 50, metrics_ns=MS, stalls=5)
    records = run.only().records()
    equal((run.status, run.account(harness.SAMPLING), records["metric_samples"]), (0, [], []), "nothing is asked of CUPTI")
    check(records["stalls"], "stalls are there")
    check(any("does not sample them beside stalls" in text for text in notes(records)), notes(records))


def test_metrics_in_windows():
    """samples are taken in windows only, kernels of all windows are there"""
    run = Run("windows", 3, window=rec.PROFILER, wait=False, metrics_ns=MS, stdin=subprocess.PIPE)
    until(run.targets, "it connects")
    target, seen = run.only(), 0
    for window in range(3):
        equal(len(run.account(harness.SAMPLING)), 2 * window, "begins and ends of sampling before the window")
        run.go_on()
        until(lambda: len(target.records()["metric_samples"]) > seen + 20, "samples are recorded")
        run.go_on()
        until(lambda: len(run.account(harness.SAMPLING)) == 2 * window + 2, "sampling ends with the window")
        until(lambda: len(target.records()["metric_samples"]) == len(run.account(harness.SAMPLE)),
              "all samples of the window are recorded")
        seen = len(target.records()["metric_samples"])
    run.go_on()
    run.wait()
    equal(run.status, 0, "exit status")
    records = target.records()
    compare(run, records)
    equal(target.totals()["lost"], {}, "losses")
    kernels = [records["strings"][k.name] for k in records["kernel"]]
    equal(kernels, ["inside"] * 3, "kernels")
    equal(len(records["metric_sets"]), 1, "sets of metrics: the GPU is kept between windows")


def test_metrics_late():
    """a capture of a process that runs has the metrics of the GPUs that it uses already; twice"""
    run = Run("steady", 10 ** 9, 100, recorded=False, wait=False)
    process = run.process
    equal([process.stdout.readline() for _ in range(2)], ["ready\n", "half\n"], "lines")
    for count in 1, 2:
        target = attach(process, metrics_ns=MS)
        until(lambda target=target: len(target.records()["metric_samples"]) > 50, "samples are recorded")
        stop(target)
        equal(len(run.account(harness.DETACHED)), count, "captures that left CUPTI")
        records = target.records()
        equal(len(records["metric_sets"]), 1, "sets of metrics")
        equal(target.totals()["lost"], {}, "losses")
        begin, end = (e.start for e in run.account(harness.SAMPLING)[-2:])
        made = [(e.start, e.end) for e in run.account(harness.SAMPLE) if begin <= e.start < end]
        told = [(start, end) for start, end, _ in known(records)]
        check(told == made, f"{len(told)} samples of capture {count}, which has {len(made)}: "
              f"{sorted(set(told) ^ set(made))[:3]}")
    process.terminate()
    process.communicate(timeout=LIMIT)
    run.check_rules()


def test_metrics_and_fork():
    """a forked child is not sampled, one that calls exec is a process of its own"""
    run = Run("fork", 300, metrics_ns=MS)
    equal(run.status, 0, "exit status")
    run.check_rules()
    equal(len(run.targets()), 2, "processes that connected")
    pids = {t.pid for t in run.targets()}
    check({e.pid for e in run.account(harness.SAMPLING)} <= pids, "a forked child samples")


def test_metrics_lost():
    """a full buffer of the hardware costs what was in it, and is counted; sampling goes on"""
    steady = Steady(environment={"MOCK_PM_ROOM": "250", "MOCK_PM_VALUES_US": "1500"})
    until(lambda: len(steady.run.account(harness.SAMPLING)) > 7, "it begins anew three times")
    made = len(steady.run.account(harness.SAMPLE))
    steady.sees(len(steady.target.records()["metric_samples"]) + 50)
    records = steady.finish()
    lost = steady.target.totals()["lost"]
    equal(set(lost), {LOST}, "causes of loss")
    told = known(records)
    made = len(steady.run.account(harness.SAMPLE))
    # Between two begins there are none, for a time that counts.
    pauses = sum(after.start - before.start for before, after in zip(
        steady.run.account(harness.SAMPLING)[1::2], steady.run.account(harness.SAMPLING)[2::2]))
    begins = len(steady.run.account(harness.SAMPLING)) // 2
    check(made - begins <= len(told) + lost[LOST] <= made + pauses / MS + 2 * begins,
          f"{len(told)} recorded, {lost[LOST]} lost, {made} made, {begins} begins, {pauses} ns between them")
    check(len(told) > 100, f"{len(told)} samples are recorded")
    check(any("samples of metrics of GPU 0 were lost" in text for text in notes(records)), notes(records))


def test_metrics_missing_and_impossible():
    """a sample that CUPTI does not have is counted as lost, a share of 5,053 % is no value"""
    steady = Steady(environment={"MOCK_PM_SKIPS": "50", "MOCK_PM_WILD": "70"})
    steady.sees(400)
    records = steady.finish()
    samples = records["metric_samples"]
    unknown = [values for *_, values in samples if math.isnan(values[2])]
    gaps = sum(after[0] - before[1] > MS / 2 for before, after in zip(samples, samples[1:]))
    check(len(samples) // 90 <= len(unknown) <= len(samples) // 60, f"{len(unknown)} of {len(samples)} were impossible")
    check(not any(value > 100 for *_, values in samples for value in values[:5]), "impossible values are recorded")
    equal(sum(math.isnan(value) for values in unknown for value in values), 2 * len(unknown), "other values are there")
    check(gaps > 5, f"{gaps} gaps")
    # Where the machine is busy, the end is not decoded, and counted by the time. The last one may be one that is skipped.
    lost, made = steady.target.totals()["lost"].get(LOST, 0), len(steady.run.account(harness.SAMPLE))
    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC) - steady.run.account(harness.SAMPLING)[-1].start
    check(made - len(samples) - 1 <= lost <= made - len(samples) + after // MS + 1,
          f"{made} samples were made, {len(samples)} recorded, {lost} lost")
    check(any(f"{len(unknown)} values of metrics" in text for text in notes(records)), notes(records))


def test_metrics_after_refused_restart():
    """where CUPTI does not begin again at once after an overflow, it is asked later; what is missing is counted"""
    steady = Steady(environment={"MOCK_PM_ROOM": "250", "MOCK_PM_VALUES_US": "1500", "MOCK_PM_RESTARTS_REFUSED": "1"})
    until(lambda: len(steady.run.account(harness.SAMPLING)) > 4, "it begins anew twice")
    _, ends, begins = [e.start for e in steady.run.account(harness.SAMPLING)[:3]]
    steady.sees(len(steady.target.records()["metric_samples"]) + 50)
    records = steady.finish()
    check(steady.target.totals()["lost"][LOST] * MS > begins - ends > 900 * MS,
          f"{steady.target.totals()['lost']} in a pause of {begins - ends} ns")
    check(not any("no metrics" in text for text in notes(records)), notes(records))


def test_metrics_never_again():
    """where CUPTI refuses to begin again for good, the capture says that, and counts what is missing until its end"""
    steady = Steady(environment={"MOCK_PM_ROOM": "250", "MOCK_PM_VALUES_US": "1500", "MOCK_PM_RESTARTS_REFUSED": "99"})
    until(lambda: any("from here on: the GPU's buffer of samples overflowed" in text
                      for text in notes(steady.target.records())), "the note")
    ended = steady.run.account(harness.SAMPLING)[1].start
    steady.finish()
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    lost = steady.target.totals()["lost"][LOST]
    check(5000 < lost < (now - ended) / MS + 1000, f"{lost} lost in {(now - ended) / MS} ms")


def test_metrics_that_fall_behind():
    """where values take longer than the samples are apart, old samples are dropped and counted, the new ones are there"""
    steady = Steady(environment={"MOCK_PM_VALUES_US": "8000", "MOCK_IMPATIENT": "1"})
    until(lambda: steady.target.totals()["lost"].get(LOST, 0) > 200, "samples are dropped")
    before = len(steady.target.records()["metric_samples"])
    steady.sees(before + 20)
    records = steady.finish()
    compare(steady.run, records, steady.target.totals()["lost"][LOST])


def test_metrics_end():
    """the end waits for decoding for some tenths of a second, and counts what was not decoded"""
    steady = Steady(environment={"MOCK_PM_DECODE_US": "3000", "MOCK_IMPATIENT": "1"})
    steady.sees(30)
    until(lambda: len(steady.run.account(harness.SAMPLE)) > len(steady.target.records()["metric_samples"]) + 300,
          "decoding falls behind")
    made, begin = len(steady.run.account(harness.SAMPLE)), time.monotonic()
    records = steady.finish()
    check(time.monotonic() - begin < 5 * busier(), f"the end takes {time.monotonic() - begin:.1f} s")
    told, lost = len(known(records)), steady.target.totals()["lost"].get(LOST, 0)
    # More come until the end is given up, and the stand-in makes them when it is asked for them.
    due = (time.clock_gettime_ns(time.CLOCK_MONOTONIC) - steady.run.account(harness.SAMPLING)[0].start) // MS
    check(lost > 0 and made - 2 <= told + lost <= due, f"{told} recorded, {lost} lost, {made} made, {due} due")


def test_metrics_hang():
    """a CUPTI whose decoding never returns holds up the end for some tenths of a second, and keeps its operations"""
    steady = Steady(environment={"MOCK_PM_HANGS": "1", "MOCK_IMPATIENT": "1"})
    steady.sees(30)
    until(lambda: len(steady.target.records()["kernel"]) > 20, "kernels are recorded")
    begin = time.monotonic()
    records = steady.finish()
    check(time.monotonic() - begin < 5 * busier(), f"the end takes {time.monotonic() - begin:.1f} s")
    check(len(records["kernel"]) > 20, "kernels")


def test_metrics_refused():
    """what stands in the way of metrics is said with what to do, and all else is recorded"""
    cases = {
        "cuptiPmSamplingGetCounterAvailability:26": "another process samples it",
        "cuptiPmSamplingEnable:35": "ERR_NVGPUCTRPERM",
        "cuptiPmSamplingEnable:40": "NVreg_RestrictProfilingToAdminUsers=0",
        "cuptiPmSamplingSetConfig:27": "CUPTI does not sample this GPU",
        "cuptiProfilerInitialize:999": "CUPTI refuses its profiler (cuptiProfilerInitialize)",
        "cuptiDeviceGetChipName:1": "cuptiDeviceGetChipName",
        "cuptiProfilerHostInitialize:1": "cuptiProfilerHostInitialize",
        "cuptiPmSamplingStart:7": "CUPTI refuses to begin (cuptiPmSamplingStart)",
    }
    for failure, text in cases.items():
        steady = Steady(environment={"MOCK_FAIL": failure})
        until(lambda steady=steady: any("no metrics of GPU 0" in note for note in steady.notes()), f"a note with {failure}")
        begun = steady.target.totals()["kernels"]
        until(lambda steady=steady, begun=begun: steady.target.totals()["kernels"] > begun + 20, "kernels after that")
        records = steady.finish()
        found = [note for note in records["note"] if text in records["strings"][note.text]]
        equal([note.flags for note in found], [MISSING], f"notes with {failure}: {notes(records)}")
        equal((records["metric_samples"], steady.target.totals()["lost"]), ([], {}), "samples, losses")
        harness.compare_all(steady.run, steady.target)
    steady = Steady(environment={"MOCK_PM_UNSUPPORTED": "1"})
    until(lambda: any("CUPTI does not sample this GPU" in note for note in steady.notes()), "a note")
    steady.finish()


def test_metrics_later():
    """a GPU that another process samples is sampled as soon as that one has ended"""
    steady = Steady(environment={"MOCK_PM_BUSY": "2"})
    steady.sees(50)
    records = steady.finish()
    compare(steady.run, records)
    equal(sum("another process samples it" in note for note in notes(records)), 1, "notes")


def test_metrics_of_old_library():
    """a CUPTI without this interface: a note, and all else is recorded"""
    run = Run("loop", 200, generation=12, metrics_ns=MS)
    equal(run.status, 0, "exit status")
    records = harness.compare_all(run, run.only())
    text, = notes(records)
    check("needs CUPTI of CUDA 12.6 or newer" in text and "GPUMON_CUPTI" in text, text)


def test_metrics_without_host_library():
    """without libnvperf_host.so: a note that says where it belongs, and all else is recorded"""
    folder = os.path.join(harness.objects, "no-nvperf")
    os.makedirs(folder, exist_ok=True)
    shutil.copy(f"{harness.objects}/13/libcupti.so.13", folder)
    # The machine may have one, in the loader's cache; an empty file goes before it.
    with open(f"{folder}/libnvperf_host.so", "wb"):
        pass
    run = Run("loop", 200, metrics_ns=MS, environment={"LD_LIBRARY_PATH": f"{folder}:{harness.objects}"})
    equal(run.status, 0, "exit status")
    text, = notes(harness.compare_all(run, run.only()))
    check("libnvperf_host.so is missing" in text and f"{folder}/libcupti.so.13" in text, text)


def test_metrics_declared():
    """declarations of CUPTI's interface are those of NVIDIA's headers, where these have it"""
    need("g++")
    header = f"{os.environ.get('CUDA', '/usr/local/cuda')}/include/cupti_pmsampling.h"
    if not os.path.exists(header):
        raise Skip(f"no {header}: it came with CUDA 12.6")
    made = subprocess.run(["g++", "-fsyntax-only", "-I../../inject/cupti", f"-I{os.path.dirname(header)}", "pm_layout.cc"],
                          capture_output=True, text=True)
    check(made.returncode == 0, made.stderr[:2000])


def test_metrics_of_real_library():
    """NVIDIA's library, which needs no GPU for this, counts these metrics in one pass on its GPUs"""
    made = subprocess.run([f"{harness.objects}/pm_choose", "GH100", "GA100", "AD102", "GB100", "GB202"],
                          capture_output=True, text=True)
    if made.returncode == 77:
        raise Skip(made.stderr.strip())
    equal(made.returncode, 0, f"status: {made.stderr}")
    chosen = {words[0]: words[1:] for words in map(str.split, made.stdout.splitlines())}
    have = ("sm__cycles_active", "sm__warps_active", "sm__pipe_tensor", "dram__throughput", "dram__bytes", "pcie__", "gr__")
    lacking = {chip: [part for part in have if not any(part in name for name in names)]
               for chip, names in chosen.items()}
    # The Triage names of PCIe are those of one generation.
    equal(lacking, dict.fromkeys(chosen, []), "metrics that are not chosen, by chip")
    equal(len(chosen["GH100"]), 13, f"metrics on an H100: {chosen['GH100']}")
    print("# " + ", ".join(f"{chip}: {len(names)} metrics" for chip, names in chosen.items()), flush=True)
