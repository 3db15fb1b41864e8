# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Rings: what they have room for, and what is lost."""
from images import IDLE, text
from kit import Folder, check, contains, equal, within

# Records of 16 bytes with a head of 8, in the ring of ring.bpf.c.
ROOM = 16384 // 24


def run(*words, **more):
    with Folder() as folder:
        path = folder.write("image", text("first", form=IDLE))
        return folder.probe("context", "load", "data", path, *words, tool="ring", **more)


def records_of(result):
    table = result.tables["records"]
    return table["rows"], len(table["rows"]) + table["rows_left_out"]


def test_ring():
    """each record once, with the process that wrote it"""
    result = run("launch", "first", "2x64")
    rows, n = records_of(result)
    equal(sorted(row["thread"] for row in rows), list(range(128)), "threads")
    equal(n, 128, "records")
    equal(len({row["pid"] for row in rows}), 1, "processes")
    equal(result.lost.get("ring_full"), 0, "losses")


def test_texts():
    """texts on the stack, each with its own call"""
    rows = run("launch", "first", "2x64", "launch", "first", "1x64").tables["printed"]["rows"]
    equal(sorted({row["text"] for row in rows}), ["and 1, the last", "thread 0 ends"], "texts")
    equal(sum(row["times"] for row in rows), 4, "times")


def test_full():
    """what has no room is counted, to the record"""
    result = run("launch", "first", "16x128*4")
    _, n = records_of(result)
    equal(result.rows("exits")[0]["exits"], 16 * 128 * 4, "exits")
    check(result.lost["ring_full"] > 0, "nothing was lost: the test needs a smaller ring")
    equal(n + result.lost["ring_full"], 16 * 128 * 4, "records and losses")


def test_read_meanwhile():
    """the ring is read while the kernel runs, so that more comes out than it has room for"""
    result = run("launch", "first", "40x128", MOCK_WAIT_COPIED=1)
    _, n = records_of(result)
    equal(n + result.lost["ring_full"], 40 * 128, "records and losses")
    check(n > ROOM, f"{n} records, as if it was read at the end only")


def test_read_between():
    """between launches, when the program waits"""
    result = run(*["launch", "first", "4x128", "wait", "sleep", "30"] * 8)
    _, n = records_of(result)
    equal(n + result.lost["ring_full"], 8 * 512, "records and losses")
