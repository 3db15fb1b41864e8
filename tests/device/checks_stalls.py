# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""--stalls: kernels that are slow for a known reason at a known line; are the reason, the line and the sums right,
and what does it cost.
"""
import glob
import json
import os
import struct

import attach
from programs import GPUMON, LIBRARY, SCRATCH, Recorded, call, environment, program
from steps import check, equal, figure, note

reference = attach.reference
STRING, STALLS, TOTALS = 5, 48, 49
HEAD, TOTAL = struct.Struct("<2Q8I"), struct.Struct("<Q2I3Q2I")


def lines_of(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def records_of(folder):
    """Strings; samples of instructions by (name, offset, file, line, reason); the totals in their order."""
    strings, samples, totals, reads = {0: None}, {}, [], set()
    found = []
    for path in glob.glob(os.path.join(folder, "process-*.records")):
        with open(path, "rb") as file:
            for kind, _, record in reference.all_records(file.read()):
                if kind == STRING:
                    number, length = struct.unpack_from("<2I", record, 8)
                    strings[number] = record[16:16 + length].decode("utf-8", "replace")
                elif kind == STALLS:
                    time, module, _, _, name, offset, source, line, count, _ = HEAD.unpack_from(record, 8)
                    words = struct.unpack_from(f"<{2 * count}I", record, 8 + HEAD.size)
                    found.append((time, module, name, offset, source, line, words))
                    reads.add(module)
                elif kind == TOTALS:
                    totals.append(TOTAL.unpack_from(record, 8))
    for _, _, name, offset, source, line, words in found:
        for reason, count in zip(words[::2], words[1::2]):
            key = strings.get(name), offset, strings.get(source), line, strings.get(reason)
            samples[key] = samples.get(key, 0) + count
    return samples, totals, reads, len(found)


def say_records(folder):
    """What is needed to find out why something is wrong, without the GPU."""
    samples, totals, modules, count = records_of(folder)
    issued = sum(n for key, n in samples.items() if not key[4].endswith("_not_issued"))
    note(f"{count} records of {len({key[:2] for key in samples})} instructions in {len(modules)} modules; samples: "
         f"{issued}, and {sum(samples.values()) - issued} of them not issued")
    note("totals, each as ms after the first, device, context, samples, dropped, other, period: " +
         "; ".join(str(((t[0] - totals[0][0]) // 1000000, *t[1:7])) for t in totals[:40]))
    by_kernel = {}
    for (name, _, source, line, reason), n in samples.items():
        kernel = by_kernel.setdefault(name, ({}, {}))
        kernel[0][reason] = kernel[0].get(reason, 0) + n
        if not reason.endswith("_not_issued"):
            kernel[1][source, line] = kernel[1].get((source, line), 0) + n
    for name, parts in by_kernel.items():
        for part in parts:
            note(f"{name}: " + ", ".join(f"{key} {n}" for key, n in sorted(part.items(), key=lambda x: -x[1])[:14]))


def check_stalls(label, profile, kernels, least=1000):
    """The reason and the line of each kernel, and the sums."""
    stalls = profile.get("stalls")
    if not check(stalls, f"{label}: there are samples", profile["recording"]["notes"]):
        return
    by_name = {kernel["mangled"] or kernel["name"]: kernel for kernel in stalls["kernels"]}
    check(not stalls["dropped"], f"{label}: none dropped", stalls["dropped"] or "")
    check(not stalls["unreported"], f"{label}: the records have all samples that CUPTI counted, {stalls['counted']}, "
          f"{stalls['other']} of them of others", stalls["unreported"] or "")
    for own in kernels:
        kernel = by_name.get(own["kernel"])
        if not check(kernel and kernel["samples"] >= least, f"{label}: {own['kernel']} has samples",
                     kernel and kernel["samples"]):
            continue
        equal(kernel["first_reason"], own["reason"], f"{label}: {own['kernel']} waits for")
        place = kernel["places"][0]
        is_right = place["line"] and own["first"] <= place["line"] <= own["last"] and \
            os.path.basename(place["file"]) == "stalls.cu"
        check(is_right and 2 * place["samples"] > kernel["samples"],
              f"{label}: {own['kernel']}: most are in lines {own['first']} to {own['last']}",
              f"{place['samples']} of {kernel['samples']} at {place['file']}:{place['line']} +{place['offset']}")
        note(f"{own['kernel']}: {[(r['reason'], r['samples'], r['not_issued']) for r in kernel['reasons'][:8]]}")


def step_stalls():
    run = Recorded("stalls", [program("stalls"), "run", 300], ["--stalls"], keep=True)
    check(run.result.returncode == 0, "stalls: recorded", run.result.stderr[-300:] if run.result.returncode else
          f"{run.seconds:.1f} s, {run.bytes} bytes")
    for line in run.result.stderr.splitlines():
        note(line)
    for text in run.profile["recording"]["notes"]:
        note(f"note: {text}")
    say_records(run.folder)
    kernels = lines_of(run.result.stdout)
    equal(len(kernels), 4, "stalls: kernels of the program")
    check_stalls("stalls", run.profile, kernels)
    launches = sum(kernel["count"] for kernel in run.profile["kernels"] if kernel["kind"] == "kernel")
    equal(launches, sum(own["count"] for own in kernels), "stalls: kernels are recorded beside samples")
    check(run.bytes <= 300000, "stalls: the capture to be kept is small", run.bytes)
    figure("stalls", {"stalls": run.profile.get("stalls"), "bytes": run.bytes, "seconds": run.seconds})


def step_stalls_correlate():
    """In one command, with another period."""
    path = os.path.join(SCRATCH, "stalls.json")
    result = call([GPUMON, "correlate", "--stalls=18", "--json", "--summary", path, "--", program("stalls"), "run",
                   "150"], 60, environment(GPUMON_INJECT=LIBRARY))
    if not check(result.returncode == 0 and os.path.exists(path), "stalls: correlate --stalls=18 --json",
                 result.stderr[-300:]):
        return
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    # Of half the time, and a quarter of the samples of it.
    check_stalls("stalls by correlate", profile, lines_of(result.stdout), 1000 // 8)
    equal((profile.get("stalls") or {}).get("period_log2_most"), 18, "stalls: period")


def loop_once(options):
    run = Recorded("stalls-loop", [program("stalls"), "loop", 50000], options)
    return lines_of(run.result.stdout)[0] if run.result.returncode == 0 else None


def step_stalls_cost():
    """A loop of empty kernels, recorded with samples and without, in turns."""
    pairs = [(loop_once([]), loop_once(["--stalls"])) for _ in range(2)]
    if check(all(one for pair in pairs for one in pair), "stalls: loops are recorded", pairs):
        ratios = [with_it["ns"] / without["ns"] for without, with_it in pairs]
        taken = pairs[-1][0]["free_bytes"] - pairs[-1][1]["free_bytes"]
        note(f"a launch: {pairs} ns, with : without {', '.join(f'{ratio:.3f}' for ratio in ratios)}; "
             f"memory of the GPU that sampling takes: {taken / 2 ** 20:.0f} MiB")
        figure("stalls.cost", {"pairs": pairs, "ratios": ratios, "device_bytes": taken})


STEPS = [("stalls-lines", step_stalls, 40), ("stalls-correlate", step_stalls_correlate, 30),
         ("stalls-cost", step_stalls_cost, 60)]
