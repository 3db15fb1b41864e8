# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Large and malicious captures: readers need memory and time in proportion."""
import json
import os
import resource
import time

from check_bad_input import READERS
from kit import contains, equal, test
from maker import Maker

MIB = 1 << 20

# Seconds of processor time that pace() takes where the limits below were measured: commands take half
# of their limit there.
PACE_S = 0.21


def pace():
    """How much longer the same work takes this machine now. Others on its host slow it down."""
    begin, value = time.process_time(), 0
    for number in range(3000000):
        value += number ^ number >> 3
    return max((time.process_time() - begin) / PACE_S, 1)


def bounded(mebibytes, seconds):
    """What takes time in proportion to more than its input ends here, instead of tomorrow."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (mebibytes * MIB, mebibytes * MIB))
        resource.setrlimit(resource.RLIMIT_CPU, (20 * seconds, 20 * seconds))
    return limit


def processor_time():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def all_read(kit, name, mebibytes, seconds):
    """Read it with every command, within limits. Returns their outputs."""
    sizes = {}
    slower = pace()
    for number, words in enumerate(READERS):
        out = f"out-{name}-{number}"
        before, used = slower, processor_time()
        done = kit.run(words[0], name, *words[1:], out, preexec_fn=bounded(mebibytes, seconds))
        used, slower = processor_time() - used, pace()
        equal((done.returncode, done.stderr), (0, b""), f"status of {words}")
        # The machine changes its speed while a command runs, too.
        limit = seconds * max(before, slower)
        equal(used <= limit, True, f"{words} took {used:.1f} s of a processor, at most {limit:.1f}")
        sizes[words[0]] = max(sizes.get(words[0], 0), os.path.getsize(kit.path(out)))
    return sizes


@test
def times_at_the_end_of_time(kit):
    """A begin that is 2^64 ns late must not lead to ever larger buffers."""
    for first in ((1 << 64) - 10, (1 << 64) - (1 << 62), 1 << 63):
        made = Maker()
        made.launch(1, 1000)
        made.kernel(1, first, first + 5)
        for number in range(10000):
            made.kernel(1, 2000 + 10 * number, 2005 + 10 * number)
        made.save(kit.path(f"late-{first}"))
        all_read(kit, f"late-{first}", 1000, 20)
        tree = json.loads(kit.run("correlate", "--json", f"late-{first}").stdout)
        equal(tree["devices"][0]["busy_ns"], 5 * 10001, "busy")


@test
def many_deep_stacks(kit):
    """Each frame of each stack is another function: as many nodes as frames."""
    made = Maker()
    for number in range(2500):
        frames = [0x400000 + 16 * (512 * number + depth) for depth in range(512)]
        made.stack(number + 1, frames)
        made.launch(number + 1, 1000 + 100 * number, number + 1)
        made.kernel(number + 1, 1050 + 100 * number, 1060 + 100 * number)
    made.save(kit.path("deep"))
    sizes = all_read(kit, "deep", 700, 20)
    equal(sizes["report"] < 8 * MIB, True, f"a page of {sizes['report']} bytes")
    text = " ".join(kit.run("correlate", "deep").stdout.decode().split())
    contains(text, "call paths beyond the limit of", "summary")
    contains(text, " Missing ", "summary")
    # All operations are included.
    contains(text, "in 2,500 operations", "summary")
    # Except for its million nodes.
    tree = json.loads(kit.run("correlate", "--json", "deep").stdout.split(b',\n"nodes":')[0] + b"}")
    equal(tree["missing"]["paths_cut_off"] > 0, True, "paths that were cut off")


@test
def many_streams(kit):
    """A page shows some of them, and says how many more there are."""
    made = Maker()
    for number in range(40000):
        made.kernel(0, 1000 + 10 * number, 1001 + 10 * number + number % 7, stream=number,
                    name=f"kernel{number}")
    made.save(kit.path("streams"))
    sizes = all_read(kit, "streams", 400, 30)
    equal(sizes["report"] < 8 * MIB, True, f"a page of {sizes['report']} bytes")
    with open(kit.path("out-streams-2"), encoding="utf-8") as file:
        page = file.read()
    contains(page, "more streams", "page")
    contains(page, "more kernels", "page")


@test
def many_notes(kit):
    made = Maker()
    for number in range(100000):
        made.note(f"note {number}")
        made.note("the same")
    made.launch(1, 1000)
    made.save(kit.path("notes"))
    sizes = all_read(kit, "notes", 400, 15)
    equal(sizes["report"] < MIB, True, f"a page of {sizes['report']} bytes")
    tree = json.loads(kit.run("correlate", "--json", "notes").stdout)
    equal(len(tree["recording"]["notes"]), 100001, "notes, each once")


@test
def many_mappings(kit):
    """A process maps from high addresses downwards, and a plug-in is loaded at one place again and again."""
    made = Maker()
    for number in range(150000):
        made.mapping(1, 0x7f0000000000 - 0x2000 * number, 0x1000, f"/lib/{number % 10}")
    made.stack(1, [0x7f0000000008, 0x600008])
    for number in range(30000):
        time_ns = 1000 + 1000 * number
        made.mapping(time_ns, 0x600000, 0x1000, f"/plugin-{number % 2}")
        made.launch(number + 1, time_ns + 100, 1)
        made.kernel(number + 1, time_ns + 150, time_ns + 160)
        made.unmapping(time_ns + 900, 0x600000, 0x1000)
    made.save(kit.path("mappings"))
    all_read(kit, "mappings", 400, 8)
    text = kit.run("correlate", "mappings").stdout.decode()
    for plugin in ("plugin-0", "plugin-1"):
        contains(text, plugin, "call paths")
