#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest
"""Xid errors, once each by code and GPU, with and without the tracepoint; alerts at once."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import nvidia
import nvidia_stats
from gpumon_netlink import Gpumon

# The format of the mock's message.
FORMAT = "pid=%d, name=%s, %s"


def check_source(traced):
    rows = nvidia_stats.probes()
    point, function = rows["nvidia_dev_xid"], rows["nv_report_error"]
    if traced:
        lab.equal((point["state"], function["state"], function["reason"]),
                  ("attached", "off", "not needed, nvidia_dev_xid is used"), "where Xids come from")
    else:
        lab.equal((point["state"], point["reason"], function["state"]),
                  ("missing", "nv_report_error is used instead", "attached"),
                  "where Xids come from")


def check_counts():
    account = nvidia.account()
    rows = nvidia_stats.table("xids", "device", "code")
    expected = {}
    for name, n in account.items():
        words = name.split("/")
        if words[0] == "gpu" and len(words) == 5 and words[2] == "xid":
            device = None if words[1] == "none" else words[1]
            expected[device, int(words[3])] = n
    lab.equal({key: row["xids"] for key, row in rows.items()}, expected, "Xids")
    lab.equal(sum(expected.values()), account["xids"], "each once")
    lab.check_sums()


for variant in "580", "580-untraced", "550":
    traced = variant == "580"
    lab.step(variant)
    nvidia.load(variant)
    lab.load_gpumon()
    check_source(traced)
    first, second = (gpu[0] for gpu in nvidia.devices())
    with Gpumon() as g:
        g.alerts_join()
        for i in range(3):
            for gpu, address in enumerate((first, second)):
                before = time.monotonic_ns()
                nvidia.control("xid-irq" if i == 1 else "xid", gpu, 79, "it is gone %d" % i)
                alert = g.alert()
                lab.equal((alert["group"], alert["kind"], alert["device"], alert["code"],
                           alert["count"]), ("nvidia", "xid", address, 79, i + 1), "alert")
                lab.within(alert["time_ns"], before, time.monotonic_ns(), "time of the alert")
                if traced:
                    lab.check(alert["message"].startswith("pid=") and
                              alert["message"].endswith(", it is gone %d" % i),
                              "message %r" % alert["message"])
                else:
                    lab.equal(alert["message"], FORMAT, "message")
        nvidia.control("xid", 1, 13, "x" * 500)
        alert = g.alert()
        lab.equal((alert["device"], alert["code"]), (second, 13), "alert of another code")
        lab.equal(len(alert["message"]), 159 if traced else len(FORMAT), "a long message is cut")
        nvidia.control("xid", 0, 4000000000, "unheard of")
        lab.equal(g.alert()["code"], 4000000000, "a code that nobody knows")
        if not traced:
            nvidia.control("xid", "-", 31, "of no device")
            alert = g.alert()
            lab.equal((alert["device"], alert["code"]), ("-", 31), "alert of no device")
    check_counts()
    rows = nvidia_stats.table("xids", "device", "code")
    lab.equal((rows[first, 79]["meaning"], rows[second, 13]["meaning"],
               rows[first, 4000000000]["meaning"]),
              ("GPU_fell_off_the_bus", "graphics_engine_exception", None), "meanings")
    with Gpumon() as g:
        kept = {(a["device"], a["code"]): a for a in g.alerts()}
    lab.equal((kept[first, 79]["count"], kept[second, 13]["count"]), (3, 1), "kept alerts")

    lab.step("%s: gone and back, off and on" % variant)
    nvidia.unload()
    nvidia.load(variant)
    check_source(traced)
    with Gpumon() as g:
        g.reset()
        g.group_set("nvidia", 0)
        nvidia.control("xid", 0, 79, "unseen")
        since = nvidia.account()["xids"]
        g.group_set("nvidia", 1)
        check_source(traced)
        nvidia.control("xid", 0, 79, "seen")
    lab.equal(nvidia_stats.table("xids", "device", "code")[first, 79]["xids"],
              nvidia.account()["xids"] - since, "Xids while on")
    lab.rmmod("gpumon")
    nvidia.unload()
