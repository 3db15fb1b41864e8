# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Rows of drm_vblank.crtcs, and what they have to be from the times of the vblanks."""
import lab

# Constants for estimating a period, see Documentation/reference/drivers/drm_vblank.md.
WEIGHT, OUTLIERS = 3, 4
UNKNOWN = "-"


def rows(g):
    """{(device, crtc): row} over netlink; devices of fire_vblank by number, else by name."""
    found = {}
    for row in g.statistics().get("drm_vblank.crtcs", []):
        name, _, number = row["device"].rpartition(".")
        key = int(number) if name == "fire_vblank" else row["device"], row["crtc"]
        lab.check(key not in found, "row %s is there twice" % (key,))
        found[key] = row
    return found


def columns(row, *names):
    """Values of columns; of a histogram the number of values."""
    return tuple(row[n]["count"] if isinstance(row[n], dict) and "count" in row[n] else row[n]
                 for n in names)


def same(row, what, **values):
    """Counters, and counts of histograms, have these values."""
    lab.equal(dict(zip(values, columns(row, *values))), values, what)


def delivered_adds_up(row, what):
    lab.equal(row["delivered"], row["queue_to_delivery_ns"]["count"] + row["untracked"] +
              row["null_file"], "delivered of " + what)


def follow(records):
    """What follows from (seq, time) of all vblanks of a crtc while its interrupt is on.

    The time of one is 0 where the kernel does not know it.
    """
    intervals, jitter = [], []
    missed = late = outliers = estimate = 0
    for before, after in zip(records, records[1:]):
        step = after.seq - before.seq
        interval = after.time_ns - before.time_ns
        if step != 1:
            missed += step - 1
            continue
        if not before.time_ns or not after.time_ns:
            continue
        intervals.append(interval)
        if not estimate:
            estimate = interval
            continue
        jitter.append(abs(interval - estimate))
        if interval > estimate + estimate // 2:
            late += 1
            outliers += 1
            if outliers < OUTLIERS:
                continue
            estimate = interval
        else:
            estimate += (interval - estimate) >> WEIGHT
        outliers = 0
    return intervals, jitter, missed, late


def histogram(row, column, values, what):
    """Count, sum and extremes of a histogram are exactly those of the values."""
    is_ = {k: row[column][k] for k in ("count", "sum", "min", "max")}
    should = {"count": len(values), "sum": sum(values), "min": min(values), "max": max(values)}
    lab.equal(is_, should, "%s of %s" % (column, what))


def rate(intervals):
    """In mHz, from a mean that is cut to nanoseconds."""
    mean = sum(intervals) // len(intervals)
    return (10 ** 12 + mean // 2) // mean


def same_as_log(row, records, what):
    """A crtc's numbers match its vblanks, all of which are in records."""
    intervals, jitter, missed, late = follow(records)
    same(row, what, vblanks=len(records), missed=missed, late=late, repeated=0)
    histogram(row, "interval_ns", intervals, what)
    histogram(row, "jitter_ns", jitter, what)
    lab.equal(row["refresh_millihertz"]["now"], rate(intervals), "refresh rate of " + what)
