#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=each-kernel timeout=120
"""Every netlink operation answers as the spec says, and refuses with words.

The spec is read from the yaml file: operations, their privilege, and which
attributes of which type each answer has.
"""
import errno
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from gpumon_netlink import (CTRL_ATTR_FAMILY_NAME, CTRL_CMD_GETFAMILY, GENL_ID_CTRL, NLM_F_ACK,
                            NLM_F_DUMP, NLM_F_REQUEST, Gpumon, NetlinkError, attr, attributes,
                            string, u32)
from lab import (DEVICES, LINE, UNCHECKED, account, check, equal, fail, held, load, release,
                 step, submit, until, wait_idle)
from netlink_spec import Spec

# Left out of an answer if they are empty.
OPTIONAL = {"process": {"submissions", "allocated-bytes", "mapped-bytes", "ioctls", "faults",
                        "opens", "open-handles", "vram-bytes", "live-object-bytes",
                        "cgroup-id", "cgroup"},
            "info": {"missing-option"},
            "statistic": {"label", "column"},
            "layout": {"offset", "size"}}

spec = Spec()
load(devices=DEVICES, rings=2, timeout_ms=60000, gpumon={"max_rings": 8})
g = Gpumon()


def number(set_name, name):
    return spec.sets[set_name][name]["number"]


def ask(op, attrs=b"", dump=False):
    """The decoded answers of an operation; each has what the spec lists and nothing else."""
    entry = spec.ops[op]
    flags = NLM_F_REQUEST | NLM_F_ACK | (NLM_F_DUMP if dump else 0)
    answers = g.request(g.id, entry["number"], attrs, flags)
    listed = set(entry["dump" if dump else "do"]["reply"])
    out = []
    for answer in answers:
        decoded = spec.decode(entry["set"], answer)
        got = set(decoded)
        check(got <= listed, "%s: answer has %s, which the spec does not list" %
              (op, sorted(got - listed)))
        missing = listed - got - OPTIONAL.get(entry["set"], set())
        check(not missing, "%s: answer without %s" % (op, sorted(missing)))
        out.append(decoded)
    return out


def refused(error, words, op, attrs=b"", dump=False):
    """The operation must end with this errno, and say these words."""
    try:
        answers = ask(op, attrs, dump)
    except NetlinkError as e:
        equal(errno.errorcode[e.errno], errno.errorcode[error], "errno of %s %r" % (op, attrs))
        check(words in e.message, "%s %r: extack %r does not say %r" % (op, attrs, e.message, words))
        return e
    fail("%s %r was not refused: %r" % (op, attrs, answers))


step("the family: operations, their flags, the alerts group")
answer = g.request(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, string(CTRL_ATTR_FAMILY_NAME, "gpumon"))[0]
family = dict(attributes(answer))
equal(struct.unpack("=I", family[3])[0], 1, "version of the family")
ops = {}
for _, one in attributes(family[6]):
    parts = dict(attributes(one))
    ops[struct.unpack("=I", parts[1])[0]] = struct.unpack("=I", parts[2])[0]
equal(sorted(ops), sorted(o["number"] for o in spec.ops.values() if not o["event"]),
      "numbers of the operations")
for name, op in spec.ops.items():
    if op["event"]:
        continue
    flags = ops[op["number"]]
    equal(bool(flags & 1), "admin-perm" in op["flags"], "admin-perm of " + name)
    equal(bool(flags & 2), "do" in op, "do of " + name)
    equal(bool(flags & 4), "dump" in op, "dump of " + name)
equal(list(g.groups_of), ["alerts"], "multicast groups")

step("answers before anything ran")
info, = ask("info-get")
equal((info["schema"], info["clock"], info["period"], info["max-rings"], info["rings"]),
      (2, "monotonic", 1, 8, 0), "info")
check(info["since-ns"] < info["now-ns"], "now-ns is not behind since-ns")
check(info["memory-bytes"] > 0, "no memory")
equal(ask("statistic-get", dump=True), [], "rows before a job")
equal(ask("process-get", dump=True), [], "processes before a job")
equal(ask("alert-get", dump=True), [], "alerts before there is one")

step("answers with jobs standing on the rings")
submit("-d", "all", "-r", "all", "-n", 20 * DEVICES, "-w")
wait_idle()
holder = held("-n", 10)
until(lambda: account()["mock_gpu.0", "ring0"]["hw_depth"] == 4, "the hardware has four jobs")
rings = {(r["device"], r["name"]): r for r in g.rings()}
equal(sorted(rings), [("mock_gpu.%d" % d, "ring%d" % r) for d in range(DEVICES) for r in (0, 1)],
      "rings of each device, with the same names")
first = rings["mock_gpu.0", "ring0"]
equal((first["queued"], first["run"], first["done"], first["queue_depth"], first["hw_depth"]),
      (20, 14, 10, 6, 4), "queued, run, done, depths of the ring that is held")
release(holder)
wait_idle()
ids = [r["id"] for r in rings.values()]
equal(len(set(ids)), 2 * DEVICES, "ids of the rings")

histograms = g.histograms()
equal(sorted((h["ring_id"], h["name"]) for h in histograms),
      sorted((i, n) for i in ids for n in ("queue_ns", "run_ns")),
      "histograms: four for each ring")
for h in histograms:
    buckets = h["bucket"]
    equal(sum(b["count"] for b in buckets), h["count"], "count of the buckets of " + h["name"])
    check(all(b["count"] for b in buckets), "an empty bucket of " + h["name"])
    check(all(a["lt"] <= b["ge"] for a, b in zip(buckets, buckets[1:])), "buckets not in order")
    check(all(b["ge"] < b["lt"] for b in buckets), "a bucket without width")
    check(buckets[0]["ge"] <= h["min_value"] < buckets[0]["lt"], "min_value outside")
    check(buckets[-1]["ge"] <= h["max_value"] < buckets[-1]["lt"], "max_value outside")
    check(h["min_value"] * h["count"] <= h["sum"] <= h["max_value"] * h["count"],
          "sum of %s does not fit its count and extremes" % h["name"])

processes = ask("process-get", dump=True)
equal(sorted(p["jobs"] for p in processes), [10, 20 * DEVICES], "jobs of the processes")
for p in processes:
    equal((p["comm"], p["alive"]), ("mock_submit", 0), "a process that is gone")
    check(0 < p["start-ns"] < info["now-ns"] + 10 ** 11, "start-ns")

step("groups and probes")
states = spec.enums["attach-state"]
dumped = ask("group-get", dump=True)
one, = ask("group-get", string(number("group", "name"), "drm_sched"))
names = [x["name"] for x in dumped]
equal((names[0], len(set(names))), ("drm_sched", len(names)), "groups, different ones")
equal(one, dumped[0], "drm_sched alone and among all")
for p in (p for x in dumped for p in x["probe"]):
    equal(set(p), set(spec.sets["probe"]) - {"pad"}, "attributes of a probe")
    equal(set(p["dropped"]), set(spec.sets["drops"]) - {"pad"}, "causes of loss")
    equal(p["reason"] in ("", UNCHECKED and UNCHECKED.replace("gpu_sched", p["module"])),
          states[p["state"]] == "attached", "reason of " + p["name"])
    equal(p["seen"], p["recorded"] + sum(p["dropped"].values()), "seen of " + p["name"])
    check(p["kind"] < len(spec.enums["probe-kind"]), "kind")
equal((one["enabled"], states[one["state"]], one["reason"]), (1, "attached", ""), "drm_sched")
probes = {p["name"]: p for p in one["probe"]}
equal(len(probes), len(one["probe"]), "different probes")
for p in one["probe"]:
    check(states[p["state"]] in ("attached", "missing"), "state of %s" % p["name"])
equal({p["module"] for p in one["probe"]}, {"gpu_sched"}, "modules of the probes")
equal(sum(p["recorded"] for p in one["probe"] if p["name"] in
          ("drm_sched_job", "drm_sched_job_queue")), 20 * DEVICES + 10, "jobs seen by the queue probe")

step("rows of statistics, fields of private types")
kinds = spec.enums["column-kind"]
for row in ask("statistic-get", dump=True):
    check(row["group"] in names, "a row of no group: %r" % row)
    for column in row["column"]:
        check(column["kind"] < len(kinds), "kind of %r" % column)
for field in ask("layout-get", dump=True):
    check(field["group"] in names, "a field of no group: %r" % field)
    equal("offset" in field, "size" in field, "offset and size of %r" % field)
    equal(field["reason"] == "", "offset" in field, "reason of %r" % field)

step("group off and on, twice each is fine")
for enabled in (0, 0, 1, 1):
    equal(ask("group-set", string(number("group", "name"), "drm_sched") +
              u32(number("group", "enabled"), enabled)), [], "answer of group-set")
    one, = ask("group-get", string(number("group", "name"), "drm_sched"))
    equal((one["enabled"], states[one["state"]]), (enabled, "attached" if enabled else "off"),
          "drm_sched after group-set")
for r in g.rings():
    check("queue_depth" not in r, "a depth without baseline is sent: %r" % r)
submit("-n", 1, "-w")
wait_idle()
known = [r for r in g.rings() if "queue_depth" in r]
equal([(r["device"], r["name"], r["queue_depth"], r["hw_depth"]) for r in known],
      [("mock_gpu.0", "ring0", 0, 0)], "depths known again after one job")

step("group requests that are refused")
name_of_group, enabled_of_group = number("group", "name"), number("group", "enabled")
e = refused(errno.ENOENT, "no group of this name", "group-get", string(name_of_group, "nosuch"))
equal(e.offset, 20, "offset of the attribute that is wrong")
refused(errno.EINVAL, "name", "group-get")
refused(errno.EINVAL, "name", "group-set")
refused(errno.EINVAL, "name", "group-set", u32(enabled_of_group, 0))
refused(errno.EINVAL, "enabled", "group-set", string(name_of_group, "drm_sched"))
refused(errno.ENOENT, "no group of this name", "group-set",
        string(name_of_group, "") + u32(enabled_of_group, 0))
refused(errno.ERANGE, "", "group-set",
        string(name_of_group, "drm_sched") + u32(enabled_of_group, 2))
refused(errno.EINVAL, "", "group-get", string(name_of_group, "x" * 32))
refused(errno.ENOENT, "no group", "group-get", string(name_of_group, "x" * 31))
refused(errno.EINVAL, "", "group-get", attr(name_of_group, b"drm_sched"))
refused(errno.EINVAL, "", "group-set",
        string(name_of_group, "drm_sched") + attr(enabled_of_group, b"\0"))
refused(errno.EINVAL, "", "group-set", string(name_of_group, "drm_sched") +
        u32(enabled_of_group, 0) + u32(63, 0))
one, = ask("group-get", string(name_of_group, "drm_sched"))
equal((one["enabled"], states[one["state"]]), (1, "attached"), "drm_sched after refusals")

step("event ring")
enabled, size = number("event-ring", "enabled"), number("event-ring", "size-kib")
ring, = ask("event-ring-get")
equal((ring["enabled"], ring["written"]), (0, 0), "event ring before it is on")
for kib in (0, 1, 7, 65537, 0x7fffffff, 0xffffffff):
    refused(errno.ERANGE, "", "event-ring-set", u32(size, kib))
refused(errno.ERANGE, "", "event-ring-set", u32(enabled, 2))
refused(errno.EINVAL, "enabled or size-kib", "event-ring-set")
equal(ask("event-ring-get")[0]["size-kib"], ring["size-kib"], "size after refusals")
for kib in (8, 64):
    equal(ask("event-ring-set", u32(size, kib)), [], "answer of event-ring-set")
    equal(ask("event-ring-get")[0]["size-kib"], kib, "size-kib")
ask("event-ring-set", u32(enabled, 1))
refused(errno.EBUSY, "off", "event-ring-set", u32(size, 128))
ask("event-ring-set", u32(enabled, 1) + u32(size, 64))
submit("-n", 5, "-w")
wait_idle()
ring, = ask("event-ring-get")
equal((ring["enabled"], ring["size-kib"], ring["written"], ring["pending"], ring["overwritten"],
       ring["delivered"], ring["dropped"]), (1, 64, 15, 15, 0, 0, 0), "event ring after five jobs")
refused(errno.EBUSY, "off", "event-ring-set", u32(enabled, 0) + u32(size, 128))
ring, = ask("event-ring-get")
equal((ring["enabled"], ring["size-kib"], ring["pending"]), (1, 64, 15), "after refusals: as before")
ask("event-ring-set", u32(enabled, 0))
ask("event-ring-set", u32(enabled, 1) + u32(size, 128))
ring, = ask("event-ring-get")
equal((ring["enabled"], ring["size-kib"], ring["written"]), (1, 128, 0), "resized and switched on")
ask("event-ring-set", u32(enabled, 0))

step("limits of jobs")
hang, starved = number("limit", "hang-ms"), number("limit", "starved-ms")
equal(ask("limit-get"), [{"hang-ms": 0, "starved-ms": 0}], "limits after load")
equal(ask("limit-set", u32(hang, 86400000)), [], "answer of limit-set")
ask("limit-set", u32(starved, 1))
refused(errno.EINVAL, "hang-ms or starved-ms is needed", "limit-set")
for wrong in (86400001, 0xffffffff):
    refused(errno.ERANGE, "", "limit-set", u32(hang, wrong))
    refused(errno.ERANGE, "", "limit-set", u32(hang, 5) + u32(starved, wrong))
refused(errno.EINVAL, "", "limit-set", attr(hang, b"\0"))
equal(ask("limit-get"), [{"hang-ms": 86400000, "starved-ms": 1}], "limits after refusals")
ask("limit-set", u32(hang, 0) + u32(starved, 0))
equal(ask("limit-get"), [{"hang-ms": 0, "starved-ms": 0}], "limits switched off")

step("reset: the closed period stays readable, others are refused")
before_rows = ask("statistic-get", dump=True)
before_groups = ask("group-get", dump=True)
before_processes = ask("process-get", dump=True)
period, = ask("reset")
equal(period["closed"], 1, "number of the closed period")
check(info["since-ns"] == period["closed-since-ns"] < period["closed-at-ns"], "times of the period")
after, = ask("info-get")
equal((after["period"], after["since-ns"]), (2, period["closed-at-ns"]), "period after reset")
submit("-n", 7, "-w")
wait_idle()
dumps = {"statistic-get": before_rows, "group-get": before_groups, "process-get": before_processes}


def strip(rows):
    """Without the current values, and without rows that came later."""
    return [{k: v for k, v in r.items() if k != "alive"} for r in rows
            if r.get("jobs", 1) and
            (r.get("table") != "usage" or any(c["value"] for c in r["column"]))]


for op, should in dumps.items():
    of_period = number(spec.ops[op]["set"], "period")
    equal(strip(ask(op, u32(of_period, 1), dump=True)), strip(should), op + " of the closed period")
    now = ask(op, u32(of_period, 2), dump=True)
    equal(strip(now), strip(ask(op, dump=True)), op + " of the current period, asked for or not")
    check(strip(now) != strip(should), op + " is the same in both periods")
    for wrong in (0, 3, 0xffffffff):
        refused(errno.ESTALE, "only the current period", op, u32(of_period, wrong), dump=True)
equal(sum(r["queued"] for r in g.rings()), 7, "jobs of the new period")
refused(errno.ESTALE, "only the current period", "group-get",
        string(name_of_group, "drm_sched") + u32(number("group", "period"), 3))
one, = ask("group-get", string(name_of_group, "drm_sched") + u32(number("group", "period"), 1))
equal(one["probe"], before_groups[0]["probe"], "group-get by name of the closed period")
equal(ask("reset")[0]["closed"], 2, "second reset")
for op in dumps:
    refused(errno.ESTALE, "only the current period", op,
            u32(number(spec.ops[op]["set"], "period"), 1), dump=True)

step("what an operation does not have")
for op, entry in spec.ops.items():
    if "do" not in entry:
        try:
            answers = g.request(g.id, entry["number"])
        except NetlinkError as e:
            equal(os.strerror(e.errno), os.strerror(errno.EOPNOTSUPP), "do of " + op)
        else:
            fail("do of %s, which only dumps, answers %r" % (op, answers))
    if "dump" not in entry:
        try:
            answers = g.request(g.id, entry["number"], b"",
                                NLM_F_REQUEST | NLM_F_ACK | NLM_F_DUMP)
        except NetlinkError as e:
            equal(os.strerror(e.errno), os.strerror(errno.EOPNOTSUPP), "dump of " + op)
        else:
            fail("dump of %s, which has none, answers %r" % (op, answers))
for wrong in (0, max(o["number"] for o in spec.ops.values()) + 1, 255):
    try:
        g.request(g.id, wrong)
    except NetlinkError as e:
        equal(os.strerror(e.errno), os.strerror(errno.EOPNOTSUPP), "command %d" % wrong)
    else:
        fail("command %d is answered" % wrong)

# Operations without attributes must reject attributes. 5.10 does not look at them.
for op in ("info-get", "event-ring-get", "reset") if LINE != "5.10" else ():
    for attribute in (u32(1, 0), u32(63, 0), string(2, "x")):
        try:
            g.request(g.id, spec.ops[op]["number"], attribute)
        except NetlinkError as e:
            equal(os.strerror(e.errno), os.strerror(errno.EINVAL), op + " with an attribute")
        else:
            fail("%s takes an attribute that it does not have" % op)
equal(ask("info-get")[0]["period"], 3, "period after refused resets")
step("done")
