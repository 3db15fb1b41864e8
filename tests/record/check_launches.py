# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Launches of which no time is known, as uprobes see them, are shown by their number."""
import json

from kit import contains, equal, test
from maker import Maker


def hits(made, blocking=True):
    made.stack(1, [0x400000, 0x400010])
    made.stack(2, [0x400100, 0x400110])
    for number in range(1, 31):
        made.hit(number, 1000 * number, 1)
    for number in range(31, 41):
        made.hit(number, 1000 * number, 2, "cudaGraphLaunch")
    if blocking:
        made.hit(41, 50000, 2, "cudaDeviceSynchronize", 7000)


@test
def by_uprobes(kit):
    for name, blocking in (("live", True), ("launches-alone", False)):
        made = Maker()
        hits(made, blocking)
        made.save(kit.path(name))
        text = kit.run("correlate", name).stdout.decode()
        contains(text, "\nLaunches without GPU time  ", f"heading of {name}")
        table = text.split("\nLaunches without GPU time  ")[1].split("\n\n")[0].splitlines()
        rows = [line.split() for line in table if "%" in line and "COUNT" not in line]
        equal([row[:3] for row in rows], [["75.0%", "30", "cudaLaunchKernel"],
                                          ["25.0%", "10", "cudaGraphLaunch"]], "launches")
        equal("cudaDeviceSynchronize" in text, blocking, "blocking calls have a time, and a table")
        page = kit.run("report", name, "-o", "-").stdout.decode()
        contains(page, "Launches without GPU time", "page")
        contains(page, ">cudaGraphLaunch", "page")
        picture = kit.run("flamegraph", name, "-o", "-").stdout.decode()
        contains(picture, ">cudaGraphLaunch", "picture")
        contains(picture, "by number", "title of the picture")
        for words in (("export", "--folded", name), ("flamegraph", "--folded", name)):
            lines = kit.run(*words).stdout.decode().splitlines()
            numbers = {line.split(";")[-1].split()[0]: int(line.split()[-1]) for line in lines}
            equal(numbers, {"cudaLaunchKernel": 30, "cudaGraphLaunch": 10,
                            **({"cudaDeviceSynchronize": 1} if blocking else {})}, f"{words}")
        document = json.loads(kit.run("correlate", "--json", name).stdout)
        equal(document["recording"]["launches_without_time"], 40, "JSON")


@test
def beside_gpu_time(kit):
    """A job with one process recorded by the library and one by uprobes."""
    made = Maker()
    hits(made)
    made.save(kit.path("live"))
    made = Maker()
    made.stack(1, [0x400000])
    made.launch(1, 1000, 1)
    made.kernel(1, 1100, 1200)
    made.save(kit.path("injected"))
    text = kit.run("correlate", "live", "injected").stdout.decode()
    contains(text, "\nCall paths  by GPU time", "paths")
    contains(text, "\nLaunches without GPU time  ", "launches")
    page = kit.run("report", "live", "injected", "-o", "-").stdout.decode()
    contains(page, "Launches without GPU time", "page")
    text = kit.run("correlate", "injected").stdout.decode()
    equal("Launches without GPU time" in text, False, "where there are none")
