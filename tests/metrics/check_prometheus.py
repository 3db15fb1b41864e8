# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Prometheus itself reads the server."""
import json
import subprocess
import urllib.parse
import urllib.request

import check_packaging
from check_server import make_certificate
from kit import free_port
from verdict import check, equal, need, until

CONFIG = """
global: {{ scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }}
rule_files: [ "{rules}" ]
scrape_configs:
  - job_name: plain
    static_configs: [ targets: [ "127.0.0.1:{plain}" ] ]
  - job_name: tls
    scheme: https
    basic_auth: {{ username: me, password: secret }}
    tls_config: {{ ca_file: {folder}/cert.pem }}
    static_configs: [ targets: [ "127.0.0.1:{tls}" ] ]
"""


def query(port, text):
    """{labels: value}"""
    url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": text})
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            result = json.load(answer)["data"]["result"]
    except OSError:
        return {}
    return {json.dumps(one["metric"], sort_keys=True): float(one["value"][1]) for one in result}


def test_scrapes(kit):
    """Scraped in the clear, and by TLS with a password; a counter goes on over a reset and a reload, and an Xid
    fires its alert."""
    need("prometheus")
    need("openssl")
    kit.set(xid=1)
    plain, ports = kit.serve()[0], {}
    ports["plain"] = int(kit.folder.glob("log-*").__next__().name[4:])
    tls, ports["tls"] = kit.serve("--web-config", make_certificate(kit))
    web = free_port()
    config = kit.folder / "prometheus.yml"
    config.write_text(CONFIG.format(folder=kit.folder, rules=check_packaging.RULES, **ports), encoding="utf-8")
    log = open(kit.folder / "prometheus.log", "wb")
    server = kit.start("prometheus", f"--config.file={config}", f"--storage.tsdb.path={kit.folder}/data",
                       f"--web.listen-address=127.0.0.1:{web}", stdout=log, stderr=log)
    until(lambda: sum(query(web, "up").values()) == 2, "both are scraped", timeout=90)
    equal(set(query(web, "gpumon_source_up").values()), {1.0}, "the source")
    value = 'sum by (job) (gpumon_ring_done_total{ring="ring0"})'
    until(lambda: set(query(web, value).values()) == {1.0}, "the counter")
    kit.set(period=2, closed=5, scale=2)
    until(lambda: set(query(web, value).values()) == {7.0}, "the counter after a reset")
    kit.set(period=1, since=70, scale=3)
    until(lambda: set(query(web, value).values()) == {10.0}, "the counter after a reload")
    kit.set(xid=4)
    until(lambda: set(query(web, 'gpumon_alerts_total{kind="xid",code="79"}').values()) == {5.0},
          "Xids: one, and four since the reload")
    until(lambda: len(query(web, 'ALERTS{alertname="GpumonXidHardware",alertstate="firing"}')) == 2,
          "the rule of packaging/ fires for both")
    check(query(web, "histogram_quantile(0.5, sum by (le) (gpumon_ring_run_seconds_bucket))"), "a quantile")
    for process in (plain, tls):
        kit.stop(process)
    server.terminate()
    server.wait()
    log.close()
    equal(subprocess.run(["grep", "-c", "level=warn.*out of order\\|duplicate", kit.folder / "prometheus.log"],
                         capture_output=True, text=True, check=False).stdout.strip(), "0",
          "what Prometheus has against the samples")
