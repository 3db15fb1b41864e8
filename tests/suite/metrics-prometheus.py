#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=full tool kernels=6.1 cpus=2 memory=3072 timeout=480
"""The real Prometheus and alertmanager read the module's numbers by `gpumon-user metrics --listen`: counters are the
mock's over a reset and a reload, and the rules of packaging/ fire, with their minutes made seconds, for what the mocks
of drivers do.
"""
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import nvidia

TOOL = lab.BUILD + "/gpumon-user"
EXPORTER, PROMETHEUS, MANAGER = 9839, 9090, 9093
CONFIG = """
global: { scrape_interval: 2s, scrape_timeout: 2s, evaluation_interval: 2s }
rule_files: [ rules.yml ]
alerting: { alertmanagers: [ static_configs: [ targets: [ "127.0.0.1:%d" ] ] ] }
scrape_configs: [ { job_name: gpumon, static_configs: [ targets: [ "127.0.0.1:%d" ] ] } ]
""" % (MANAGER, EXPORTER)
ROUTE = """
route: { receiver: hook, group_by: [alertname], group_wait: 0s, group_interval: 1s }
receivers: [ { name: hook, webhook_configs: [ { url: "http://127.0.0.1:%d/" } ] } ]
"""
EXPORT = [TOOL, "metrics", "--listen", "127.0.0.1:%d" % EXPORTER, "--source=module", "--hang=2s", "--starved=2s"]
SECONDS = 20
# log_buf_len of tests/vm/run, and what the kernel keeps of each record beside its text.
LOG_BYTES = 8 << 20
FIRED = {"GpumonXidHardware", "GpumonXidMemoryAges", "GpumonXidProgram", "GpumonXidOther", "GpumonReset", "GpumonHang",
         "GpumonStarved", "GpumonJobErrors", "GpumonBusyButStarving", "GpumonIdleButQueued", "GpumonJobsNotFollowed"}
for program in "prometheus", "prometheus-alertmanager":
    if not shutil.which(program):
        lab.skip("no %s in the root of this kernel's release" % program)


def query(text):
    """[value, ...] of the series."""
    url = "http://127.0.0.1:%d/api/v1/query?" % PROMETHEUS + urllib.parse.urlencode({"query": text})
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return [float(one["value"][1]) for one in json.load(answer)["data"]["result"]]
    except OSError:
        return []


class Handler(http.server.BaseHTTPRequestHandler):
    """What the alertmanager sends."""
    alerts = []

    def do_POST(self):
        self.alerts.extend(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["alerts"])
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def told():
    return {alert["labels"]["alertname"] for alert in Handler.alerts}


def start(*words):
    with open(words[0].rsplit("/", 1)[-1] + ".log", "wb") as log:
        started.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log))
    return started[-1]


def equal_account(what):
    """Prometheus has what the mock has counted, and keeps it."""
    done = sum(row["done"] for row in lab.wait_idle().values())
    lab.until(lambda: query("sum(gpumon_ring_done_total)") == [done], "jobs of Prometheus " + what, timeout=120)


started = []
rules = lab.read(lab.BUILD + "/packaging/prometheus/gpumon.rules.yml")
os.chdir(os.environ["TMPDIR"])
hook = http.server.HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=hook.serve_forever, daemon=True).start()
for name, text in (("prometheus.yml", CONFIG), ("alertmanager.yml", ROUTE % hook.server_port),
                   ("rules.yml", re.sub(r"\[\d+m\]", "[%ds]" % SECONDS, re.sub(r"for: \d+m", "for: 2s", rules)))):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)

lab.load(devices=1, rings=4, hw_limit=1, service_ns=1000000, timeout_ms=600000, gpumon={"max_jobs": 64})
nvidia.load()
lab.insmod("tests/mock/amdgpu")
exporter = start(*EXPORT)
start("prometheus-alertmanager", "--config.file=alertmanager.yml", "--storage.path=alertmanager",
      "--cluster.listen-address=", "--web.listen-address=127.0.0.1:%d" % MANAGER)
start("prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data",
      "--web.listen-address=127.0.0.1:%d" % PROMETHEUS)
lab.until(lambda: query("gpumon_source_up") == [1], "Prometheus has the source", timeout=180)

lab.step("counters are the mock's, over a reset")
lab.submit("-r", "all", "-n", 20, "-w")
equal_account("at the beginning")
lab.run(TOOL, "stat", "--reset", timeout=120)
lab.submit("-r", "all", "-n", 7, "-w")
equal_account("after a reset")
lab.check(not told(), "alerts of nothing: %s" % told())

lab.step("what drivers report, and what jobs do, is at the web hook")
for code in 79, 63, 31, 999:
    nvidia.control("xid", 0, code, "x")
with open("/sys/module/amdgpu/parameters/run", "w", encoding="ascii") as file:
    file.write("recover 0 5 0")
# Ring 1 is always busy, and 40 jobs wait; ring 3 waits for ring 2, which hangs.
busy = lab.submitter("-r", 1, "-t", 40, "-n", 1000, "-s", 20000000, "--sync")
hanging = lab.held("-r", 2, "-n", 1)
waiting = lab.submitter("-r", 3, "-n", 1, "-D", 2, "-w")
lab.submit("-r", 0, "-n", 40, "--fail", "fence", "--fail-every", 2, "-w")
lab.until(lambda: FIRED - told() == {"GpumonJobsNotFollowed"}, "all but one are told", timeout=180)
many = lab.held("-r", 0, "-n", 300)
lab.until(lambda: FIRED == told(), "all are told", timeout=120)
hangs = [alert["labels"] for alert in Handler.alerts if alert["labels"]["alertname"] == "GpumonHang"]
lab.check(("mock_gpu.0", "ring2") in {(one["device"], one["ring"]) for one in hangs}, "the job that hangs: %s" % hangs)
busy.kill()
busy.wait()
for process in many, hanging:
    lab.release(process, timeout=120)
waiting.communicate(timeout=120 * lab.SLOWER)
equal_account("after all that")

lab.step("more commands of NVIDIA's driver sleep than the kernel follows")
# It makes the device files.
nvidia.workload("--processes", 1)
with open("/dev/nvidiactl", "rb+", buffering=0) as file:
    nvidia.sleep_in_commands(700, file.fileno(), 20)
lab.until(lambda: "missed" in {alert["labels"].get("cause") for alert in Handler.alerts}, "the alert", timeout=120)
lab.check("GpumonEventsLost" in told(), "another alert has the cause")

lab.step("the kernel's log is overwritten before the exporter reads it")
exporter.send_signal(signal.SIGSTOP)
with open("/dev/kmsg", "wb", buffering=0) as file:
    for number in range(LOG_BYTES // 900):
        # Of this level, so that the console does not show it.
        file.write(b"<7>%d %s\n" % (number, b"x" * 900))
exporter.send_signal(signal.SIGCONT)
lab.until(lambda: "GpumonAlertsLost" in told(), "the alert", timeout=120)

lab.step("the module is away, and comes again")
lab.rmmod("gpumon")
lab.until(lambda: "GpumonSourceDown" in told(), "the alert", timeout=120)
lab.load_gpumon()
lab.until(lambda: query("gpumon_source_up") == [1], "it is back", timeout=120)
lab.submit("-r", "all", "-n", 11, "-w")
equal_account("after it")

lab.step("there is no room for all series")
exporter.terminate()
lab.equal(exporter.wait(60 * lab.SLOWER), 0, "exit status of metrics")
exporter = start(*EXPORT, "--max-series=100")
lab.until(lambda: "GpumonSeriesFolded" in told(), "the alert", timeout=120)
for process in reversed(started):
    process.terminate()
    process.wait(60 * lab.SLOWER)
lab.equal(exporter.returncode, 0, "exit status of metrics")
