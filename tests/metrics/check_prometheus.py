# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The real chain: gpumon-user, node_exporter, Prometheus, alertmanager, a web hook."""
import http.server
import json
import subprocess
import threading
import urllib.parse
import urllib.request

import check_packaging
from check_server import make_certificate
from kit import free_port, get, promtool
from verdict import check, contains, equal, need, until

CONFIG = """
global: {{ scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }}
rule_files: [ "{rules}" ]
alerting: {{ alertmanagers: [ static_configs: [ targets: [ "127.0.0.1:{alertmanager}" ] ] ] }}
scrape_configs:
  - job_name: plain
    static_configs: [ targets: [ "127.0.0.1:{plain}" ] ]
  - job_name: tls
    scheme: https
    basic_auth: {{ username: me, password: secret }}
    tls_config: {{ ca_file: {folder}/cert.pem }}
    static_configs: [ targets: [ "127.0.0.1:{tls}" ] ]
  - job_name: node
    static_configs: [ targets: [ "127.0.0.1:{node}" ] ]
"""
ROUTE = """
route: {{ receiver: hook, group_by: [alertname, job], group_wait: 0s, group_interval: 1s }}
receivers: [ {{ name: hook, webhook_configs: [ url: "http://127.0.0.1:{hook}/" ] }} ]
"""
# Alerts that fire at once, and the jobs whose samples they are of.
FIRED = {(name, job) for name in ("GpumonXidHardware", "GpumonReset", "GpumonHang", "GpumonStarved")
         for job in ("plain", "tls", "node")}


def query(port, text):
    """{labels: value}"""
    url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": text})
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            result = json.load(answer)["data"]["result"]
    except OSError:
        return {}
    return {json.dumps(one["metric"], sort_keys=True): float(one["value"][1]) for one in result}


class Hook:
    """A web hook: what the alertmanager has told it."""
    def __init__(self):
        alerts = self.alerts = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                alerts.extend(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["alerts"])
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass
        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def end(self):
        self.server.shutdown()
        self.server.server_close()


def start_service(kit, name, *words):
    """(process, port) of a service of Debian's, which logs into a file."""
    port = free_port()
    with open(kit.folder / f"{name}.log", "wb") as log:
        return kit.start(name, f"--web.listen-address=127.0.0.1:{port}", *words, stdout=log, stderr=log), port


def start_node_exporter(kit):
    """(processes, port): its textfile collector has the file of `metrics -o`."""
    folder = kit.folder / "textfile"
    folder.mkdir()
    writer = kit.start(kit.tools / "fake", "metrics", "-o", folder / "gpumon.prom", "--interval", "200ms",
                       env=kit.environment())
    until((folder / "gpumon.prom").exists, "the file is there")
    exporter, port = start_service(kit, "prometheus-node-exporter", "--collector.disable-defaults",
                                   "--collector.textfile", f"--collector.textfile.directory={folder}")
    return writer, exporter, port


def start_alertmanager(kit, hook):
    config = kit.folder / "alertmanager.yml"
    config.write_text(ROUTE.format(hook=hook.port), encoding="utf-8")
    return start_service(kit, "prometheus-alertmanager", f"--config.file={config}",
                         f"--storage.path={kit.folder}/alertmanager", "--cluster.listen-address=")


def check_alert(alert):
    """What an operator gets of Xid 79, and where it sends him."""
    labels, notes = alert["labels"], alert["annotations"]
    for name, should in (("severity", "critical"), ("kind", "xid"), ("code", "79"), ("pci_bus_id", "00000000:01:00.0"),
                         ("device", "0000:01:00.0"), ("meaning", "GPU fell off the bus")):
        equal(labels.get(name), should, f"label {name} at the hook")
    equal(alert["status"], "firing", "its status")
    equal(notes["summary"], f"GPU 00000000:01:00.0 on {labels['instance']}: Xid 79, GPU fell off the bus",
          "summary at the hook")
    contains(notes["runbook"], "Documentation/user/", "runbook at the hook")


def test_scrapes(kit):
    """Scraped in the clear, by TLS with a password, and as a file by node_exporter: a counter goes on over a reset,
    a reload, and restarts of both sides; an Xid, a reset, a hang and a job that starves fire their alerts, which arrive
    at the alertmanager's web hook."""
    for program in ("prometheus", "prometheus-alertmanager", "prometheus-node-exporter", "openssl"):
        need(program)
    kit.set(xid=1)
    plain, ports = kit.serve()[0], {}
    ports["plain"] = int(kit.folder.glob("log-*").__next__().name[4:])
    tls, ports["tls"] = kit.serve("--web-config", make_certificate(kit))
    writer, node, ports["node"] = start_node_exporter(kit)
    hook = Hook()
    manager, ports["alertmanager"] = start_alertmanager(kit, hook)
    config = kit.folder / "prometheus.yml"
    config.write_text(CONFIG.format(folder=kit.folder, rules=check_packaging.RULES, **ports), encoding="utf-8")
    storage = f"--config.file={config}", f"--storage.tsdb.path={kit.folder}/data"
    server, web = start_service(kit, "prometheus", *storage)
    until(lambda: sum(query(web, "up").values()) == 3, "all are scraped", timeout=90)
    equal(set(query(web, "node_textfile_scrape_error").values()), {0.0}, "node_exporter's errors with the file")
    served = [line + "\n" for line in get(ports["node"]).splitlines() if "gpumon_" in line]
    equal(promtool("check", "metrics", text="".join(served)), "", "what promtool says of node_exporter's text")
    equal(set(query(web, "gpumon_source_up").values()), {1.0}, "the source")
    value = 'sum by (job) (gpumon_ring_done_total{ring="ring0"})'
    until(lambda: set(query(web, value).values()) == {1.0}, "the counter")
    kit.set(period=2, closed=5, scale=2)
    until(lambda: set(query(web, value).values()) == {7.0}, "the counter after a reset")
    kit.set(period=1, since=70, scale=3)
    until(lambda: set(query(web, value).values()) == {10.0}, "the counter after a reload")
    kit.set(xid=4, reset=1, hang=1, starved=1)
    until(lambda: set(query(web, 'gpumon_alerts_total{kind="xid",code="79"}').values()) == {5.0},
          "Xids: one, and four since the reload")
    until(lambda: len(query(web, 'ALERTS{alertname="GpumonXidHardware",alertstate="firing"}')) == 3,
          "the rule of packaging/ fires for each")
    until(lambda: {(alert["labels"]["alertname"], alert["labels"]["job"]) for alert in hook.alerts} == FIRED,
          "the alerts are at the web hook")
    for alert in hook.alerts:
        if alert["labels"]["alertname"] == "GpumonXidHardware":
            check_alert(alert)
    # The exporter is started again, then Prometheus: a counter that begins again, and all of it is still known.
    kit.stop(plain)
    plain = kit.serve(port=ports["plain"])[0]
    count = 'gpumon_ring_done_total{job="plain",ring="ring0"}'
    until(lambda: list(query(web, f"resets({count}[10m])").values()) == [1.0], "the exporter's restart")
    server.terminate()
    server.wait()
    server, web = start_service(kit, "prometheus", *storage)
    kit.set(scale=5)
    until(lambda: list(query(web, count).values()) == [5.0], "the counter after both have been started again")
    equal(list(query(web, f"resets({count}[10m])").values()), [1.0], "what Prometheus knows of it")
    check(query(web, "histogram_quantile(0.5, sum by (le) (gpumon_ring_run_seconds_bucket))"), "a quantile")
    for process in (plain, tls, writer):
        kit.stop(process)
    for process in (server, node, manager):
        process.terminate()
        process.wait()
    hook.end()
    equal(subprocess.run(["grep", "-c", "level=warn.*out of order\\|duplicate", kit.folder / "prometheus.log"],
                         capture_output=True, text=True, check=False).stdout.strip(), "0",
          "what Prometheus has against the samples")
