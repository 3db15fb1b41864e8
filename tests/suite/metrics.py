#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest tool icount cpus=2 timeout=240
"""gpumon-user metrics: its counters are the mock's, over resets, reloads of the module and by BPF; a hang is an
alert that counts.
"""
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import source_bpf

FILE = os.environ["TMPDIR"] + "/gpumon.prom"
TOTALS = {"gpumon_ring_queued_total": "queued", "gpumon_ring_run_total": "run", "gpumon_ring_done_total": "done",
          "gpumon_ring_errors_total": "errors"}


def metrics():
    """{name: {labels: value}} of the file."""
    found = {}
    for line in lab.read(FILE).splitlines():
        match = re.match(r"(\w+)(?:\{(.*)\})? (\S+)$", line)
        if match:
            found.setdefault(match[1], {})[match[2] or ""] = float(match[3])
    return found


def ring_of(name, key):
    return metrics().get(name, {}).get('device="%s",ring="%s"' % key)


def equal_account(account, what):
    """Every counter of every ring comes to what the mock has counted, and stays so."""
    def same():
        return all(ring_of(name, key) == row[column] for key, row in account.items() if row["queued"]
                   for name, column in TOTALS.items())
    lab.until(same, "the counters are those of the mock " + what, timeout=60)


class Exporter:
    def __init__(self, *arguments):
        if os.path.exists(FILE):
            os.unlink(FILE)
        self.process = subprocess.Popen([source_bpf.TOOL, "metrics", "-o", FILE, "--interval", "100ms", *arguments],
                                        stdin=subprocess.DEVNULL)
        lab.until(lambda: os.path.exists(FILE) or self.process.poll() is not None, "the file is there", timeout=60)
        lab.equal(self.process.poll(), None, "it has ended")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        lab.equal(self.process.wait(60 * lab.SLOWER), 0, "exit status of metrics")


lab.load(devices=1, rings=2, hw_limit=4, service_ns=100000, timeout_ms=100000)
lab.step("what the module counts")
exporter = Exporter("--source=module", "--hang=300ms")
lab.submit("-d", 0, "-r", "all", "-n", 20, "-w")
equal_account(lab.wait_idle(), "at the beginning")
lab.equal(metrics()["gpumon_source_up"][""], 1, "gpumon_source_up")
lab.check(all("pid" not in labels for rows in metrics().values() for labels in rows), "a label with a process")

lab.step("a reset by somebody else loses nothing")
for i in range(3):
    lab.submit("-d", 0, "-r", i % 2, "-n", 7 + i, "-w")
    lab.wait_idle()
    lab.run(source_bpf.TOOL, "stat", "--reset", "--source=module", timeout=120)
    lab.submit("-d", 0, "-r", "all", "-n", 3, "-w")
    equal_account(lab.wait_idle(), "after reset %d" % (i + 1))

lab.step("a job that hangs is an alert that counts")
process = lab.held("-d", 0, "-r", 0, "-n", 1)
HANG = 'group="drm_sched",kind="hang",ring="ring0",device="mock_gpu.0"'
lab.until(lambda: metrics().get("gpumon_alerts_total", {}).get(HANG) == 1, "the hang counts", timeout=60)
lab.check(metrics()["gpumon_alert_last_timestamp_seconds"][HANG] > 0, "its time")
lab.release(process)

lab.step("the module is unloaded and loaded again")
equal_account(lab.wait_idle(), "before it")
lab.rmmod("gpumon")
lab.until(lambda: metrics()["gpumon_source_up"][""] == 0, "it is said that there is no source", timeout=60)
equal_account(lab.account(), "while it is away")
lab.check("gpumon_ring_queue_depth" not in metrics(), "a depth without a source")
lab.load_gpumon()
lab.until(lambda: metrics()["gpumon_source_up"][""] == 1, "it is back", timeout=60)
lab.submit("-d", 0, "-r", "all", "-n", 11, "-w")
equal_account(lab.wait_idle(), "after it")
exporter.end()
lab.rmmod("gpumon")

lab.step("by BPF")
source_bpf.need()
before = lab.account()
exporter = Exporter("--source=bpf")
lab.submit("-d", 0, "-r", "all", "-n", 13, "-w")
after = lab.wait_idle()
for (key, row) in after.items():
    for column in TOTALS.values():
        row[column] -= before[key][column]
equal_account(after, "by BPF")
exporter.end()
