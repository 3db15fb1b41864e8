# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Arguments that do not go together, or cannot be done, are refused and not ignored."""
import json
import os

from check_bad_input import refused
from kit import contains, equal, test
from maker import Maker


@test
def one_capture_twice(kit):
    """Its GPU time would be counted twice. The same capture under another name is refused as well.
    """
    kit.record("record", directory="one")
    kit.record("record", directory="two")
    os.symlink("one", kit.path("link"))
    for words in (("correlate",), ("report", "-o", "x"), ("flamegraph", "-o", "x"),
                  ("export", "--chrome", "-o", "x")):
        for other in ("one", "./one/", "link"):
            refused(kit.run(words[0], "one", "two", other, *words[1:]), 2, "the same capture",
                    what=f"{words} {other}")
            equal(os.path.exists(kit.path("x")), False, "file")
    tree = json.loads(kit.run("correlate", "--json", "one", "two").stdout)
    equal(tree["recording"]["gpu_ns"], 200 * 1000, "GPU time of two")
    # Comparing a capture with itself is allowed, unlike merging.
    equal(kit.run("diff", "one", "one").returncode, 0, "status of diff")


@test
def rows(kit):
    made = Maker()
    for number in range(1500):
        made.kernel(0, 1000 + 10 * number, 1005 + 10 * number, name=f"kernel{number}")
    made.save(kit.path("many"))
    for command in (("correlate", "many"), ("diff", "many", "many")):
        for number in ("1001", "100000", "0", "x"):
            refused(kit.run(*command, "--rows", number), 2, "--rows", "1000", what=number)
        equal(kit.run(*command, "--rows", "1000").returncode, 0, "status")
    text = kit.run("correlate", "many", "--rows", "1000").stdout.decode()
    contains(text, "and 500 more", "what is left out")


@test
def two_things_on_standard_output(kit):
    kit.record("record", directory="one")
    done = kit.run("diff", "--json", "--flamegraph", "-", "one", "one")
    equal((done.returncode, json.loads(done.stdout)["error"]["code"]), (2, "usage"), "refusal")
    contains(done.stderr.decode() + done.stdout.decode(), "--flamegraph -", "message")
    done = kit.run("diff", "--json", "--flamegraph", "-", "-o", "out", "one", "one")
    equal(done.returncode, 0, "status")
    contains(done.stdout.decode(), "<svg", "picture")
    with open(kit.path("out"), encoding="utf-8") as file:
        equal(json.load(file)["schema"], "gpumon-diff", "document")
    done = kit.run("diff", "--flamegraph", "-", "-o", "text", "one", "one")
    contains(done.stdout.decode(), "<svg", "picture")
    equal(os.path.getsize(kit.path("text")) > 0, True, "tables")
