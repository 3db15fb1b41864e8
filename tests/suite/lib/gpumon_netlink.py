# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Generic netlink from the standard library, and the family "gpumon" on top of it.

Numbers of attributes and commands are read from the module's own header, so
that a test fails when the header and the module differ, not when this file is
old. Messages can be built as wrong as wanted: Socket.send() takes any bytes.
"""
import os
import re
import socket
import struct

# Not imported from lab, which only works in a VM: tests/style checks the specification with this.
SLOWER = int(os.environ.get("GPUMON_SLOWER", "1"))

NETLINK_GENERIC = 16
SOL_NETLINK = 270
NETLINK_ADD_MEMBERSHIP = 1
NETLINK_CAP_ACK = 10
NETLINK_EXT_ACK = 11
NETLINK_GET_STRICT_CHK = 12

NLM_F_REQUEST = 0x1
NLM_F_MULTI = 0x2
NLM_F_ACK = 0x4
NLM_F_DUMP_INTR = 0x10
NLM_F_CAPPED = 0x100
NLM_F_ACK_TLVS = 0x200
NLM_F_DUMP = 0x300

NLMSG_NOOP, NLMSG_ERROR, NLMSG_DONE, NLMSG_OVERRUN = 1, 2, 3, 4
NLA_F_NESTED = 0x8000
NLA_TYPE_MASK = 0x3fff

GENL_ID_CTRL = 16
CTRL_CMD_GETFAMILY = 3
CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME, CTRL_ATTR_MCAST_GROUPS = 1, 2, 7

NLMSGERR_ATTR_MSG, NLMSGERR_ATTR_OFFS = 1, 2

HEADER = os.path.join(os.environ.get("GPUMON_BUILD", "/gpumon"), "kmod/uapi/gpumon_netlink.h")


class NetlinkError(OSError):
    """A refusal: errno, and the kernel's own words (extack) in .message, .offset."""

    def __init__(self, error, message, offset=None):
        super().__init__(error, "%s%s" % (os.strerror(error), message and ": " + message))
        self.message = message
        self.offset = offset


# --- attributes

def align(n):
    return (n + 3) & ~3


def attr(kind, payload=b"", length=None):
    """One attribute. If length is given, the attribute claims that size."""
    if length is None:
        length = 4 + len(payload)
    return struct.pack("=HH", length, kind) + payload + b"\0" * (align(len(payload)) - len(payload))


def u32(kind, value):
    return attr(kind, struct.pack("=I", value))


def u64(kind, value):
    return attr(kind, struct.pack("=Q", value))


def string(kind, value):
    return attr(kind, value.encode() + b"\0")


def nested(kind, *attrs):
    return attr(kind | NLA_F_NESTED, b"".join(attrs))


def attributes(data):
    """[(type, payload)] of the attributes in data; wrong lengths are an error."""
    found = []
    at = 0
    while at < len(data):
        length, kind = struct.unpack_from("=HH", data, at)
        if length < 4 or at + length > len(data):
            raise ValueError("attribute of %d bytes at %d of %d" % (length, at, len(data)))
        found.append((kind & NLA_TYPE_MASK, data[at + 4:at + length]))
        at += align(length)
    return found


# --- messages

class Message:
    """kind, flags, seq, pid, payload; for NLMSG_ERROR also error, message, offset."""

    def __init__(self, data):
        length, self.kind, self.flags, self.seq, self.pid = struct.unpack_from("=IHHII", data)
        self.payload = data[16:length]
        self.error, self.message, self.offset = 0, "", None
        if self.kind in (NLMSG_ERROR, NLMSG_DONE) and len(self.payload) >= 4:
            self.error = -struct.unpack_from("=i", self.payload)[0]
            if self.flags & NLM_F_ACK_TLVS:
                at = 4
                if self.kind == NLMSG_ERROR:
                    # The request follows, or only its header if it was capped.
                    at += 16 if self.flags & NLM_F_CAPPED else \
                        align(struct.unpack_from("=I", self.payload, 4)[0])
                for kind, value in attributes(self.payload[at:]):
                    if kind == NLMSGERR_ATTR_MSG:
                        self.message = value.rstrip(b"\0").decode()
                    elif kind == NLMSGERR_ATTR_OFFS:
                        self.offset = struct.unpack("=I", value)[0]


class Socket:
    """A generic netlink socket."""

    def __init__(self, timeout=120):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
        self.socket.setsockopt(SOL_NETLINK, NETLINK_EXT_ACK, 1)
        self.socket.setsockopt(SOL_NETLINK, NETLINK_CAP_ACK, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.socket.settimeout(timeout * SLOWER)
        self.socket.bind((0, 0))
        self.seq = 0
        self.interrupted = False

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        self.socket.close()

    def strict(self, on=True):
        """Have the kernel check the requests of dumps strictly."""
        self.socket.setsockopt(SOL_NETLINK, NETLINK_GET_STRICT_CHK, int(on))

    def send(self, data):
        self.socket.sendto(data, (0, 0))

    def build(self, kind, command, attrs=b"", flags=NLM_F_REQUEST | NLM_F_ACK, version=1):
        """The bytes of a request with the next sequence number."""
        self.seq += 1
        payload = struct.pack("=BBH", command, version, 0) + attrs
        return struct.pack("=IHHII", 16 + len(payload), kind, flags, self.seq, 0) + payload

    def receive(self, size=1 << 18):
        """The messages of one datagram."""
        data = self.socket.recv(size)
        found = []
        while len(data) >= 16:
            length = struct.unpack_from("=I", data)[0]
            if length < 16 or length > len(data):
                raise ValueError("message of %d bytes in %d" % (length, len(data)))
            found.append(Message(data[:length]))
            data = data[align(length):]
        return found

    def answers(self):
        """Payloads that answer the last request, until its ack or the dump's end.

        Raises NetlinkError on a refusal. self.interrupted is then whether the
        kernel marked the dump as inconsistent.
        """
        found = []
        self.interrupted = False
        while True:
            for m in self.receive():
                if m.seq != self.seq:
                    continue
                if m.flags & NLM_F_DUMP_INTR:
                    self.interrupted = True
                if m.kind in (NLMSG_ERROR, NLMSG_DONE):
                    if m.error:
                        raise NetlinkError(m.error, m.message, m.offset)
                    return found
                found.append(m.payload)

    def request(self, kind, command, attrs=b"", flags=NLM_F_REQUEST | NLM_F_ACK, version=1):
        """Send a request, return the attributes (bytes) of each answer."""
        self.send(self.build(kind, command, attrs, flags, version))
        return [payload[4:] for payload in self.answers()]

    def family(self, name):
        """Id of a family; its multicast groups go to self.groups_of."""
        answer = self.request(GENL_ID_CTRL, CTRL_CMD_GETFAMILY,
                              string(CTRL_ATTR_FAMILY_NAME, name))[0]
        number = None
        self.groups_of = {}
        for kind, value in attributes(answer):
            if kind == CTRL_ATTR_FAMILY_ID:
                number = struct.unpack("=H", value)[0]
            elif kind == CTRL_ATTR_MCAST_GROUPS:
                for _, group in attributes(value):
                    parts = dict(attributes(group))
                    self.groups_of[parts[1].rstrip(b"\0").decode()] = \
                        struct.unpack("=I", parts[2])[0]
        return number


# --- the family

def header_numbers(path=HEADER):
    """Every enumerator of the header: {"GPUMON_A_INFO_SCHEMA": 2, ...}."""
    with open(path) as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    numbers = {}
    for body in re.findall(r"enum\s*\w*\s*\{(.*?)\}", text, re.S):
        value = -1
        for item in body.split(","):
            m = re.match(r"\s*(\w+)\s*(?:=\s*(.+?))?\s*$", item, re.S)
            if not m:
                continue
            if m.group(2) and m.group(2).isdigit():
                value = int(m.group(2))
            elif m.group(2):
                continue
            else:
                value += 1
            numbers[m.group(1)] = value
    return numbers


STRINGS = {"version", "clock", "name", "module", "reason", "device", "group", "comm", "cgroup",
           "table", "type", "member", "message"}
# Attributes that are text or signed only in this set.
STRINGS_OF = {("LABEL", "value"), ("ALERT", "kind"), ("OPTION", "lost")}
SIGNED = {("COLUMN", "level")}
FLAGS = {("LABEL", "number")}
NESTS = {("GROUP", "probe"): ("PROBE", True), ("PROBE", "dropped"): ("DROPS", False),
         ("INFO", "exited"): ("PROCESS", False), ("INFO", "missing_option"): ("OPTION", True),
         ("STATISTIC", "label"): ("LABEL", True), ("STATISTIC", "column"): ("COLUMN", True),
         ("COLUMN", "bucket"): ("BUCKET", True)}
SETS = ("INFO", "DROPS", "PROBE", "GROUP", "BUCKET", "PROCESS", "EVENT_RING", "PERIOD", "LABEL", "COLUMN", "STATISTIC", "LAYOUT", "ALERT",
        "LIMIT", "OPTION")
# Kinds of columns, by number.
COUNTER, GAUGE, HISTOGRAM = range(3)


def column_value(column):
    """The value of a column, None if unknown."""
    if column["kind"] == COUNTER:
        return column.get("value")
    if column["kind"] == GAUGE:
        if "level" not in column:
            return None
        return {"now": column["level"], "max": column["highest"]}
    if "count" not in column:
        return None
    return {"count": column["count"], "sum": column["sum"], "min": column.get("min_value"),
            "max": column.get("max_value"), "buckets": column.get("bucket", [])}


RINGS = "drm_sched.rings"
HISTOGRAMS = "queue_ns", "run_ns"


def tables_of(messages):
    """{"group.table": rows} of the answers of a dump, see Gpumon.statistics()."""
    tables = {}
    rows = {}
    for message in messages:
        name = "%s.%s" % (message["group"], message["table"])
        key = name, message["row"]
        if key not in rows:
            rows[key] = {"row": message["row"]}
            tables.setdefault(name, []).append(rows[key])
        for label in message.get("label", []):
            rows[key][label["name"]] = int(label["value"]) if label.get("number") else \
                label["value"]
        for column in message.get("column", []):
            rows[key][column["name"]] = column_value(column)
    return tables


def ring_of_row(row):
    """A ring as the tool has it: {"id", "device", "name", counters and depths}, unknown depths are
    not in it."""
    ring = {"id": row["row"], "device": row["device"], "name": row["ring"]}
    for name, value in row.items():
        if isinstance(value, int) and name != "row":
            ring[name] = value
    for name in "queue_depth", "hw_depth":
        if row[name]:
            ring[name], ring[name + "_max"] = row[name]["now"], row[name]["max"]
    ring["live"] = row["live"] and row["live"]["now"]
    return ring


def histograms_of_row(row):
    for name in HISTOGRAMS:
        h = row[name]
        yield {"group": "drm_sched", "ring_id": row["row"], "name": name, "count": h["count"],
               "sum": h["sum"], "min_value": h["min"], "max_value": h["max"],
               "bucket": h["buckets"]}


def sent(alert):
    """An alert in JSON without what the tool adds to what the module has sent."""
    added = ("meaning", "process", "pid", "source")
    return {key: value for key, value in alert.items() if key not in added}


class Gpumon(Socket):
    """The family gpumon. Answers are dictionaries without the attributes that were not sent."""

    def __init__(self, timeout=120):
        super().__init__(timeout)
        self.number = header_numbers()
        self.id = self.family("gpumon")
        self.names = {}
        for name, value in self.number.items():
            m = re.match(r"GPUMON_A_(%s)_(\w+)$" % "|".join(SETS), name)
            if m and not name.startswith("__"):
                self.names[m.group(1), value] = m.group(2).lower()

    def command(self, name):
        return self.number["GPUMON_CMD_" + name]

    def a(self, name):
        """Number of an attribute: a("GROUP_PERIOD")."""
        return self.number["GPUMON_A_" + name]

    def decode(self, space, data):
        out = {}
        for kind, value in attributes(data):
            name = self.names.get((space, kind))
            if name is None:
                raise ValueError("unknown attribute %d in %s" % (kind, space))
            if name == "pad":
                continue
            if (space, name) in NESTS:
                inner, many = NESTS[space, name]
                value = self.decode(inner, value)
                if many:
                    out.setdefault(name, []).append(value)
                    continue
            elif (space, name) in FLAGS:
                value = True
            elif name in STRINGS or (space, name) in STRINGS_OF:
                value = value.rstrip(b"\0").decode()
            elif len(value) == 4:
                value = struct.unpack("=I", value)[0]
            elif len(value) == 8:
                value = struct.unpack("=q" if (space, name) in SIGNED else "=Q", value)[0]
            else:
                raise ValueError("%s %s has %d bytes" % (space, name, len(value)))
            if name in out:
                raise ValueError("%s %s twice" % (space, name))
            out[name] = value
        return out

    def do(self, command, space, attrs=b""):
        found = self.request(self.id, self.command(command), attrs)
        return self.decode(space, found[0]) if found else None

    def dump(self, command, space, attrs=b"", retries=5):
        """A dump, repeated while the kernel says that it changed in between."""
        while True:
            found = self.request(self.id, self.command(command), attrs,
                                 NLM_F_REQUEST | NLM_F_ACK | NLM_F_DUMP)
            if not self.interrupted or not retries:
                return [self.decode(space, f) for f in found]
            retries -= 1

    def of_period(self, space, period):
        return b"" if period is None else u32(self.a(space + "_PERIOD"), period)

    def info(self):
        return self.do("INFO_GET", "INFO")

    def groups(self, period=None):
        groups = self.dump("GROUP_GET", "GROUP", self.of_period("GROUP", period))
        for g in groups:
            g.setdefault("probe", [])
        return groups

    def probe_rows(self, group=None):
        """Rows of probes as in stats, of one group or all, also for drivers that are not loaded."""
        names = {}
        for what in "ATTACH_STATE", "PROBE_KIND":
            prefix = "GPUMON_%s_" % what
            names[what] = {n: name[len(prefix):].lower() for name, n in self.number.items()
                           if name.startswith(prefix) and not name.endswith("_MAX")}
        return [{"group": g["name"], "probe": p["name"], "module": p["module"],
                 "kind": names["PROBE_KIND"][p["kind"]],
                 "state": names["ATTACH_STATE"][p["state"]], "reason": p.get("reason") or None,
                 "seen": p["seen"], "recorded": p["recorded"], **p["dropped"]}
                for g in self.groups() if group in (None, g["name"]) for p in g["probe"]]

    def group_set(self, name, enabled):
        self.do("GROUP_SET", "GROUP", string(self.a("GROUP_NAME"), name) +
                u32(self.a("GROUP_ENABLED"), enabled))

    def rings(self, period=None):
        return [ring_of_row(row) for row in self.statistics(period).get(RINGS, [])]

    def histograms(self, period=None):
        return [h for row in self.statistics(period).get(RINGS, []) for h in histograms_of_row(row)]

    def processes(self, period=None):
        return self.dump("PROCESS_GET", "PROCESS", self.of_period("PROCESS", period))

    def statistics(self, period=None):
        """{"group.table": rows}; a row is a dictionary by label and column, and "row".

        Labels are text or numbers, counters numbers, gauges {"now", "max"}, histograms {"count",
        "sum", "min", "max", "buckets": [{"ge", "lt", "count"}]}. What is not known is None.
        """
        return tables_of(self.dump("STATISTIC_GET", "STATISTIC",
                                   self.of_period("STATISTIC", period)))

    def layouts(self):
        return self.dump("LAYOUT_GET", "LAYOUT")

    def alerts(self):
        """The last alert of each kind, device and code."""
        return self.dump("ALERT_GET", "ALERT")

    def alerts_join(self):
        """Subscribe to alerts: alert() then waits for the next one."""
        self.socket.setsockopt(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, self.groups_of["alerts"])
        self.waiting = []

    def alert(self):
        while not self.waiting:
            for m in self.receive():
                if m.kind == self.id and m.payload[0] == self.command("ALERT_NTF"):
                    self.waiting.append(self.decode("ALERT", m.payload[4:]))
        return self.waiting.pop(0)

    def limits(self):
        """Of jobs that hang or starve, in milliseconds; 0 is off."""
        return self.do("LIMIT_GET", "LIMIT")

    def limits_set(self, hang_ms=None, starved_ms=None):
        attrs = b""
        if hang_ms is not None:
            attrs += u32(self.a("LIMIT_HANG_MS"), hang_ms)
        if starved_ms is not None:
            attrs += u32(self.a("LIMIT_STARVED_MS"), starved_ms)
        self.do("LIMIT_SET", "LIMIT", attrs)

    def event_ring(self):
        return self.do("EVENT_RING_GET", "EVENT_RING")

    def event_ring_set(self, enabled=None, size_kib=None):
        attrs = b""
        if enabled is not None:
            attrs += u32(self.a("EVENT_RING_ENABLED"), enabled)
        if size_kib is not None:
            attrs += u32(self.a("EVENT_RING_SIZE_KIB"), size_kib)
        self.do("EVENT_RING_SET", "EVENT_RING", attrs)

    def reset(self):
        return self.do("RESET", "PERIOD")
