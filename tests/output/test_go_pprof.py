#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""test_go_pprof.py DIR: profiles read by Go's pprof."""
import json
import pathlib
import sys

import check
import go_pprof
from check import equal, test

files = pathlib.Path(sys.argv[1])


def agrees(name):
    go_pprof.agrees(files / f"{name}.pb.gz",
                    json.loads((files / f"{name}.json").read_bytes().decode("utf-8")))


@test
def training():
    """Go's pprof has the same times, numbers and names as the JSON"""
    agrees("training")


@test
def large():
    """Go's pprof agrees about a large profile"""
    agrees("large")


@test
def hostile():
    """Go's pprof reads hostile names, and none at all"""
    for name in ["hostile", "empty"]:
        document = json.loads((files / f"{name}.json").read_bytes().decode("utf-8"))
        _, sums = go_pprof.totals(files / f"{name}.pb.gz")
        equal(sums["gpu_nanoseconds"], sum(node["gpu_ns"] for node in document["nodes"]), name)


check.main("go_pprof")
