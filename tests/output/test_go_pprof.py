# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Profiles read by Go's pprof."""
import json

import go_pprof
from check import equal, files, test



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
