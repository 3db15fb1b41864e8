# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Profiles of the periods of a recording that goes on."""
import collections
import os
import socket
import subprocess
import time

from check_continuous import captures
from kit import Skip, contains, equal, test

import pprof_reader

TYPES = ["gpu_nanoseconds", "count", "cpu_nanoseconds", "wall_nanoseconds", "idle_nanoseconds"]


def profiles(kit, directory="out"):
    names = sorted(name for name in os.listdir(kit.path(directory)) if name.startswith("profile-"))
    for number, name in enumerate(names, 1):
        equal(name.startswith(f"profile-{number:04}-") and name.endswith(".pb.gz"), True, name)
    return [os.path.join(kit.path(directory), name) for name in names]


def sums(found):
    """Values of samples by path and labels, of several profiles."""
    all_of = collections.defaultdict(lambda: [0] * len(TYPES))
    for profile in found:
        for key, values in profile.samples.items():
            all_of[key] = [a + b for a, b in zip(all_of[key], values)]
    return dict(all_of)


def with_operations(samples):
    """Without call paths that have only wall time or idle time."""
    return {key: values for key, values in samples.items() if values[1]}


@test
def each_operation_is_in_one(kit):
    """All together have what the program did, and they follow each other without a gap."""
    begin = time.time_ns()
    done = kit.run("record", "--continuous", "--every", "1s", "-o", "out", "--", kit.player,
                   "threads=2", "launches=2000", "pause=1000", "record")
    end = time.time_ns()
    equal(done.returncode, 0, "status")
    found = [pprof_reader.read(path) for path in profiles(kit)]
    equal(len(found) >= 3, True, "profiles")
    contains(done.stderr.decode(), f"{len(found)} profiles written into out", "message")
    # The last capture is written as without profiles.
    kit.capture(captures(kit)[0]).check(1, 4000)
    equal(os.path.exists(kit.path("out/.unfinished")), False, "temporary capture")

    for before, after in zip(found, found[1:]):
        # More than one period has a profile where one takes longer to write than a period.
        equal((before.duration > 0, before.duration % 10**9), (True, 0), "duration")
        equal(abs(before.time + before.duration - after.time) < 10**7, True, "no gap")
    equal(begin < found[0].time and found[-1].time < end, True, "times")
    for profile in found:
        equal(profile.types, TYPES, "types")
        equal(profile.period_type, ("gpu", "nanoseconds"), "type of the period")
    total = with_operations(sums(found))
    for (path, labels), values in total.items():
        # It launches for two seconds. A recorder that comes late makes one profile of several periods.
        periods = sum((path, labels) in profile.samples for profile in found)
        equal(periods >= 2 or any(profile.duration > 10**9 for profile in found), True, "periods of a thread")
        equal(path[-2:], ("cudaLaunchKernel", "player_kernel"), "path")
        equal(len(path), 4, "path")
        equal([name for name, _ in labels], ["host", "pid"], "labels")
        equal(dict(labels)["host"], socket.gethostname(), "host")
        equal(values[:3], [2000 * 1000, 2000, 2000 * 500], "GPU time, number, CPU time")
    equal(len(total), 2, "call paths")


def merge(kit, paths):
    """Of Go's pprof, which all programs that collect profiles use."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../output/pprof")
    tool = subprocess.run([script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if tool.returncode == 77:
        raise Skip(tool.stderr.decode(errors="replace").strip())
    done = kit.call(tool.stdout.decode().strip(), "-proto", "-output=merged.pb.gz", *paths)
    equal(done.returncode, 0, done.stderr)
    return pprof_reader.read(kit.path("merged.pb.gz"))


@test
def ranks_are_merged(kit):
    """By Go's pprof: the sums of all samples, each with the labels of its rank."""
    paths, launches = [], (300, 700)
    for rank, number in enumerate(launches):
        done = kit.run("record", "--continuous", "--every", "60s", "-o", f"out{rank}", "--",
                       kit.player, f"launches={number}", "threads=2", "record",
                       env={"RANK": str(rank)})
        equal(done.returncode, 0, "status")
        found = profiles(kit, f"out{rank}")
        equal(len(found), 1, "profiles")
        paths += found
    single = [pprof_reader.read(path) for path in paths]
    merged = merge(kit, paths)
    equal(merged.types, TYPES, "types")
    equal(merged.samples, sums(single), "samples")
    equal(merged.duration, sum(profile.duration for profile in single), "duration")
    by_rank = collections.Counter()
    for (_, labels), values in with_operations(merged.samples).items():
        by_rank[dict(labels)["rank"]] += values[1]
    equal(by_rank, {"0": 600, "1": 1400}, "operations by rank")
    # A call path is the same in both: the process is in the labels alone.
    equal(len({path for path, _ in with_operations(merged.samples)}), 2, "call paths")


@test
def dropped_part(kit):
    """A period of which a part was dropped says so."""
    done = kit.run("record", "--continuous", "--keep", "4M", "--every", "60s", "-o", "out", "--",
                   kit.player, "launches=400000", "record")
    equal(done.returncode, 0, "status")
    profile = pprof_reader.read(profiles(kit)[0])
    contains(" ".join(profile.comments), "ms of it were dropped (record --keep)", "comments")
    number = sum(values[1] for values in profile.samples.values())
    # A capture leaves out operations at its beginning whose launches were dropped.
    equal(0 <= number - kit.capture(captures(kit)[0]).sum("kernels") < 100, True, "operations")


@test
def bad_words(kit):
    for words, part in ((("--every", "60s"), "go with --continuous"),
                        (("--continuous", "--every", "now"), "--every"),
                        (("--continuous", "--every", "10ms"), "a second is the shortest"),
                        (("--continuous", "--every", "60s", "--keep", "70s"), "12s longer")):
        done = kit.run("record", *words, "--", "true")
        equal(done.returncode, 2, f"status of {words}")
        contains(done.stderr.decode(), part, f"message of {words}")
        equal(done.stderr.count(b"\n"), 1, f"lines for {words}: {done.stderr!r}")
    equal(kit.left_behind(), [], "nothing is made")
