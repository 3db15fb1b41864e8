# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A program that stutters by plan: what its capture has in each late frame."""
import json
import os
import re
import sqlite3
import subprocess

import capture
from capture import Capture, Skip, check, equal
from recorded import below, variables

# Kinds of looks at a thread, and of the file that it reads.
RUNNING, FUTEX, SLEEP, READ, PIPE = 1, 2, 3, 4, 2
ACQUIRE_FRAME = 85
# A planted reason takes 80 ms; half of that must be seen.
SEEN_NS = 40 * 10**6


class Stutter(Capture):
    """A run of the program."""

    def __init__(self, *words, **more):
        if "DISPLAY" not in os.environ and "HEADLESS" not in more:
            raise Skip("no X server (xvfb)")
        super().__init__(*words, program=[f"{capture.objects}/stutter"], **variables(**more))
        self.account = json.loads(self.output.splitlines()[-1])

    def frame(self, number):
        """From the present before to this one."""
        presents = self.account["presents"]
        return presents[number - 2][1], presents[number - 1][0]

    def in_frame(self, kind, number):
        begin, end = self.frame(number)
        return [record for record in self[kind] if record.start_ns < end and record.end_ns > begin]

    def inside(self, kind, number):
        """A function: how long the matching records of a kind take within the frame."""
        begin, end = self.frame(number)

        def inside(matches):
            return sum(min(record.end_ns, end) - max(record.start_ns, begin)
                       for record in self.in_frame(kind, number) if matches(record))
        return inside


LOOKS = {"cpu": (RUNNING, 0), "sleep": (SLEEP, 0), "mutex": (FUTEX, 0), "read": (READ, PIPE)}


def unseen(run):
    """Reasons that looks at the thread do not show."""
    main = {record.tid for record in run["present"]}
    late = {one["reason"]: one["frame"] for one in run.account["late"]}
    seen = {reason: sum(look.looks * look.period_ns for look in run.in_frame("wait", late[reason])
                        if look.tid in main and (look.kind, look.file) == kind) for reason, kind in LOOKS.items()}
    return {reason: time for reason, time in seen.items() if time < SEEN_NS}


# As "gpumon-user frames --json" says it.
REASONS = {"cpu": ("cpu", None, "simulate_crowd"), "sleep": ("blocked", "sleep", ""), "mutex": ("blocked", "lock", "save_game"),
           "read": ("blocked", "read", "read_asset"), "gpu": ("gpu", None, "shadows"), "queue": ("gpu", None, "textures"),
           "compile": ("pipeline", None, "vkCreate"), "acquire": ("display", None, "vkAcquireNextImageKHR")}


def wrong(run):
    """Frames that are late by plan, and for which "frames" says something else than the planted reason."""
    found = {row["frame"]: row for row in frames_of(run)["late_frames"]}
    rows = {one["reason"]: found.get(one["frame"]) for one in run.account["late"]}
    # A function is not known where looks met the thread too seldom; another one is never said.
    named = [reason for reason, row in rows.items() if row and row["name"]]
    return {reason: row for reason, row in rows.items()
            if not row or (row["reason"], row["blocked"]) != REASONS[reason][:2] or
            not (row["name"] or REASONS[reason][2]).startswith(REASONS[reason][2]) or len(named) < 5}


def frames_of(run, *words):
    done = subprocess.run([capture.tool, "frames", "--json", *words, run.path], stdout=subprocess.PIPE, text=True, check=True,
                          timeout=60)
    return json.loads(done.stdout)


def page_has(document):
    """frames-json.md has each member, and no other."""
    with open(os.path.join(os.path.dirname(__file__), "../../Documentation/reference/frames-json.md"), encoding="utf-8") as file:
        told = {name for row in re.findall(r"^\| (`.*?) \|", file.read(), re.M) for name in re.findall(r"`(\w+)`", row)}
    found = set(document) | {key for element in document["swapchains"] + document["late_frames"] for key in element}
    equal(found ^ told, set(), "members of --json beside frames-json.md")


def same_in_sql(run):
    """The tables have the same frames, also of a part of the time."""
    file = f"{run.path}.db"
    for words in (), ("--from", "200ms", "--to", "900ms"):
        subprocess.run([capture.tool, "export", "--sqlite", "--force", *words, run.path, "-o", file], check=True, timeout=60)
        chain, = frames_of(run, *words)["swapchains"]
        db = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
        rows = [ns for (ns,) in db.execute("SELECT frame_ns FROM frames ORDER BY frame_ns")]
        db.close()
        # A frame that goes on behind the part has no present there that ends it.
        check(0 <= chain["frames"] - len(rows) <= bool(words), f"{len(rows)} frames in SQL of {chain}, {words}")
        if not words:
            equal((sum(rows), rows[-1], rows[len(rows) // 2]),
                  tuple(chain[key] for key in ("total_ns", "longest_ns", "median_ns")), "sum, longest and median of frames")


def test_stutter():
    """each planted reason of a late frame is in its capture: looks at the thread, GPU work, waits and pipelines"""
    # The library's thread does not come to look often enough where others take the processors.
    for _ in range(4):
        run = Stutter(**below(f"acquire={ACQUIRE_FRAME}"))
        if not unseen(run) and not wrong(run):
            break
    equal(unseen(run), {}, "reasons that were not seen, ns")
    equal(wrong(run), {}, "reasons that frames does not find")
    same_in_sql(run)
    page_has(frames_of(run))
    account = run.account
    presents = sorted(run["present"], key=lambda record: record.number)
    equal([record.number for record in presents], list(range(1, account["frames"] + 1)), "presents")
    for record, (begin, end) in zip(presents, account["presents"]):
        check(begin <= record.start_ns <= record.end_ns <= end, f"{record} is not in {begin}, {end}")
    main = {record.tid for record in presents}
    equal(len(main), 1, "threads that present")
    late = {one["reason"]: one["frame"] for one in account["late"]}
    equal(set(late), {"cpu", "sleep", "mutex", "read", "gpu", "queue", "compile", "acquire"}, "reasons")

    launches = {launch.correlation: launch for launch in run["launch"]}
    for reason, name in (("gpu", "shadows"), ("queue", "textures")):
        passes = [work for work in run.in_frame("kernel", late[reason]) if run.text(work.name) == name]
        equal(len(passes), 1, f"passes {name}")
        equal(launches[passes[0].correlation].tid in main, reason == "gpu", f"the frame's thread submitted {name}")
        waits = run.inside("call", late[reason])(lambda call: run.text(call.function) == "vkWaitForFences" and call.flags)
        work = passes[0].end_ns - passes[0].start_ns
        check(work > SEEN_NS / 2 and waits > work / 2, f"{name} took {work}, of which {waits} were waited for")

    def calls(reason, *names):
        return run.inside("call", late[reason])(lambda call: call.tid in main and run.text(call.function) in names)
    check(calls("compile", "vkCreateComputePipelines", "vkCreateShaderModule") > SEEN_NS, "making pipelines was not seen")
    check(calls("acquire", "vkAcquireNextImageKHR") > SEEN_NS, "waiting for an image was not seen")
