# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The DRM scheduler counted by BPF, compared with the mock's own account."""
import lab
import source_bpf


def against_mock(document, before=None):
    """The counters of every ring that did something, against the mock's own account."""
    rows = source_bpf.rings(document)
    for key, mock in lab.wait_idle().items():
        since = (before or {}).get(key, {})
        if mock["queued"] == since.get("queued", 0):
            continue
        for column, theirs in lab.COUNTERS.items():
            lab.equal(rows[key][column], mock[theirs] - since.get(theirs, 0),
                      "%s of %s against the mock" % (column, key))


# Names of 6.1 and 6.12, and of 7.
STEPS = {"queued": ("drm_sched_job", "drm_sched_job_queue"),
         "run": ("drm_run_job", "drm_sched_job_run"),
         "done": ("drm_sched_process_job", "drm_sched_job_done")}


def check_lost(document, before=None):
    """The difference to the mock's account is what was lost, for each step."""
    happened = lab.wait_idle()
    for step, names in STEPS.items():
        lost = sum(p["dropped"]["recursion"] for name, p in
                   source_bpf.probes(document, "drm_sched").items() if name in names)
        counted = sum(row[step] for row in source_bpf.rings(document).values())
        total = sum(row[step] - (before or {}).get(key, {}).get(step, 0)
                    for key, row in happened.items())
        lab.equal(total - counted, lost, "events that are missing in %s, and those lost" % step)


def until_lossless(attempt):
    """An attempt that lost no event; attempt() gives a document, and what else it likes.

    From 7 on a program can be preempted, and most easily where it runs for the first time and has
    to be translated by QEMU. An event is lost if that happens to its counterpart, too, which is
    reported.
    """
    for _ in range(10):
        results = attempt()
        lost = source_bpf.lost(results[0])
        if not lost:
            return results
        print("    once more, lost was: %s" % lost)
    lab.fail("events were lost each time")
