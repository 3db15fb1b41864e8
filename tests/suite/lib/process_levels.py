# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What the tests of levels of processes share: amdgpu's bytes in VRAM, i915's bytes of objects."""
import os

import lab
from gpumon_netlink import Gpumon

# max_processes with which the slots of a few processes are soon given to others: at three quarters of
# them, those that have ended make room.
ROOM, MANY = 8, 3
# With 16 slots, three processes hardly ever miss all slots of three others so many times.
ROUNDS = 6


def rows(column):
    """{pid: level of the newest process of that pid}, the same in stats and in netlink."""
    with Gpumon() as g:
        told = {p["pid"]: p.get(column) for p in g.processes()}
    shown = {p["pid"]: p[column] for p in lab.stats()["processes"]}
    lab.equal({pid: told.get(pid) for pid in shown}, shown, "%s in netlink and stats" % column)
    return shown


def of_processes(f, work):
    """A child for each of these pieces of work; returns {pid: file whose end lets it go}."""
    f.flush()
    made = {}
    for one in work:
        wait, go = os.pipe()
        done, tell = os.pipe()
        child = os.fork()
        if not child:
            try:
                os.close(go)
                for other in made.values():
                    os.close(other)
                f.reopen()
                one()
                os.write(tell, b"x")
                os.read(wait, 1)
            finally:
                os._exit(0)
        os.close(wait)
        os.close(tell)
        lab.equal(os.read(done, 1), b"x", "what the child says when its work is done")
        os.close(done)
        made[child] = go
    return made


def end(children):
    for pid, go in children.items():
        os.close(go)
        os.waitpid(pid, 0)


def room():
    """Wait until there is room for MANY more. While there is not, those that have ended make room."""
    lab.until(lambda: lab.stats()["gpumon"]["processes"] <= ROOM - MANY, "room for processes")


def check_reuse(f, column, objects, create, destroy):
    """gpumon has ROOM processes. What processes created outlives them, and when it ends, their slots
    may be others': it changes none of theirs. @objects: pairs of an object and its bytes.
    """
    (mine, size), pressure = objects[:2]
    left, others = objects[2:2 + MANY], objects[2 + MANY:2 + 2 * MANY]
    lab.equal(len(others), MANY, "objects that the test needs")

    def one_more():
        room()
        end(of_processes(f, [lambda: (create(pressure[0]), destroy(pressure[0]))]))
        return True

    def are(expected, what):
        found = rows(column)
        lab.equal({pid: found.get(pid) for pid in expected}, expected, what)

    create(mine)
    one_more()
    for _ in range(ROUNDS):
        room()
        gone = of_processes(f, [lambda one=one: create(one) for one, _ in left])
        are(dict(zip(gone, (bytes_ for _, bytes_ in left))), "of some processes")
        end(gone)
        lab.until(lambda g=gone: one_more() and not set(g) & set(rows(column)),
                  "these make room")
        room()
        alive = of_processes(f, [lambda one=one: create(one) for one, _ in others])
        expected = dict(zip(alive, (bytes_ for _, bytes_ in others)))
        expected[os.getpid()] = size
        are(expected, "of others, whose slots these may be now")
        for one, _ in left:
            destroy(one)
        are(expected, "after the end of what the first ones had created")
        for one, _ in others:
            destroy(one)
        are({**dict.fromkeys(alive, 0), os.getpid(): size}, "after the end of their own")
        end(alive)
    destroy(mine)
    are({os.getpid(): 0}, "after the end of all")
