# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The DaemonSet of packaging/kubernetes is its chart, has fields of Kubernetes' API, and serves with its capabilities."""
import configparser
import os
import re
import shutil
import signal
import subprocess

import yaml

from check_server import curl, make_certificate
from kit import TOP, free_port, promtool
from verdict import Skip, check, contains, equal, fail, need, until

FOLDER = TOP / "packaging/kubernetes"
CHART = FOLDER / "chart"
ACTION = re.compile(r"{{-? ?(.*?) ?}}")


def value_of(words, scope):
    """Of a pipeline, as far as the chart uses it."""
    path, *filters = [word.strip() for word in words.split("|")]
    is_yaml = path.startswith("toYaml ")
    value = scope
    for name in path.removeprefix("toYaml ").strip(".").split("."):
        value = value[name] if name else value["."]
    for word in filters:
        name, *rest = word.split()
        if name == "default":
            value = value or value_of(rest[0], scope)
        elif name == "quote":
            value = f'"{value}"'
        elif name == "nindent":
            text = yaml.safe_dump(value, default_flow_style=False).rstrip("\n")
            return "".join("\n" + " " * int(rest[0]) + line for line in text.splitlines())[1:]
        else:
            fail(f"this test knows no {word}")
    check(not is_yaml, f"toYaml without nindent: {words}")
    return str(value)


def render(**changes):
    """The template as Helm renders it: a condition has lines of its own."""
    scope = {"Values": {**yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8")), **changes},
             "Chart": {"AppVersion": yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))["appVersion"]}}
    lines, open_blocks = [], []
    for line in (CHART / "templates/daemonset.yaml").read_text(encoding="utf-8").splitlines():
        word, _, rest = (ACTION.fullmatch(line.strip()) or [None, ""])[1].partition(" ")
        if word in ("if", "with"):
            value = scope
            for name in rest.strip(".").split("."):
                value = value[name]
            open_blocks.append((bool(value), scope))
            scope = {**scope, ".": value}
        elif word == "else":
            open_blocks[-1] = (not open_blocks[-1][0], open_blocks[-1][1])
        elif word == "end":
            scope = open_blocks.pop()[1]
        elif all(is_shown for is_shown, _ in open_blocks):
            if word == "toYaml":
                lines.append(value_of(f"{word} {rest}", scope))
            else:
                lines.append(ACTION.sub(lambda match, scope=scope: value_of(match[1], scope), line))
    equal(open_blocks, [], "blocks without an end")
    return "".join(line + "\n" for line in lines)


def pod_of(text):
    return yaml.safe_load(text)["spec"]["template"]["spec"]


def test_manifest_is_the_chart(kit):
    """The plain manifest is what the chart gives with its own values; with others it is still one."""
    del kit
    equal((FOLDER / "daemonset.yaml").read_text(encoding="utf-8").splitlines(), render().splitlines(),
          "daemonset.yaml against the chart: its head says how it is made")
    pod = pod_of(render(kernelLog=True, nodeSelector={"gpu": "h200"}, tolerations=[]))
    equal(pod["nodeSelector"], {"gpu": "h200"}, "nodeSelector")
    equal(pod["containers"][0]["securityContext"]["privileged"], True, "with kernelLog")
    check("/dev/kmsg" in [mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]], "its mount")


def test_helm_agrees(kit):
    """Helm itself renders the same, with other values, too."""
    del kit
    need("helm")
    subprocess.run(["helm", "lint", "--strict", CHART], check=True, stdout=subprocess.DEVNULL)
    for words, changes in (((), {}), (("--set", "kernelLog=true,nodeSelector.gpu=h200,image.tag=x"),
                                      {"kernelLog": True, "nodeSelector": {"gpu": "h200"},
                                       "image": {"repository": "gpumon", "tag": "x", "pullPolicy": "IfNotPresent"}})):
        done = subprocess.run(["helm", "template", "gpumon", CHART, *words], capture_output=True, check=True, text=True)
        equal(done.stdout.splitlines()[2:], render(**changes).splitlines(), f"helm template {words}")


def check_fields(value, kind, where, client):
    """Each field is one of the API's type, and of its kind."""
    if list_of := re.fullmatch(r"list\[(.*)\]", kind):
        check(isinstance(value, list), f"{where} is no list")
        for i, one in enumerate(value):
            check_fields(one, list_of[1], f"{where}[{i}]", client)
    elif dict_of := re.fullmatch(r"dict\(str, (.*)\)", kind):
        for name, one in value.items():
            check_fields(one, dict_of[1], f"{where}.{name}", client)
    elif kind in ("str", "int", "bool"):
        equal(type(value).__name__, kind, where)
    elif kind != "object":
        api = getattr(client, kind)
        names = {field: name for name, field in api.attribute_map.items()}
        for field, one in value.items():
            check(field in names, f"{where}: a {kind} has no {field}")
            check_fields(one, api.openapi_types[names[field]], f"{where}.{field}", client)
        # Its constructor wants what is required.
        api(**{names[field]: one for field, one in value.items()})


def test_fields_are_those_of_the_api(kit):
    del kit
    try:
        from kubernetes import client
    except ImportError as error:
        raise Skip("no python3-kubernetes") from error
    for changes in ({}, {"kernelLog": True, "nodeSelector": {"gpu": "h200"}}):
        document = yaml.safe_load(render(**changes))
        check_fields(document, "V1DaemonSet", "DaemonSet", client)
        equal(document["spec"]["selector"]["matchLabels"].items() - document["spec"]["template"]["metadata"]["labels"].items(),
              set(), "labels that are selected, and that the pods lack")
        pod = pod_of(render(**changes))
        mounts = [mount["name"] for mount in pod["containers"][0]["volumeMounts"]]
        equal(sorted(mounts), sorted(volume["name"] for volume in pod["volumes"]), "mounts and volumes")


def test_capabilities_are_those_of_the_unit(kit):
    """As gpumon-metrics.service: less the kernel's log, and with a change of user, which systemd does for the unit."""
    del kit
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(TOP / "packaging/systemd/gpumon-metrics.service")
    of_unit = {name.removeprefix("CAP_") for name in unit["Service"]["AmbientCapabilities"].split()}
    added = pod_of(render())["containers"][0]["securityContext"]["capabilities"]["add"]
    equal(set(added), of_unit - {"SYSLOG"} | {"SETUID", "SETGID"}, "capabilities")


def test_pod_serves(kit):
    """With the manifest's arguments, capabilities and namespaces, by BPF; and without the capabilities of BPF not."""
    if os.geteuid():
        raise Skip("only root makes namespaces")
    for program in ("curl", "openssl", "setpriv", "unshare"):
        need(program)
    container = pod_of(render())["containers"][0]
    port, log = free_port(), kit.folder / "log"
    make_certificate(kit)
    arguments = [re.sub("/etc/gpumon/", f"{kit.folder}/", word).replace(":9839", f":{port}") for word in container["args"]]
    check(f"--listen=0.0.0.0:{port}" in arguments, "it listens for other machines")

    def start(capabilities):
        sets = ",".join(["-all", *("+" + name.lower() for name in capabilities)])
        with open(log, "wb") as errors:
            # The network is the host's.
            return kit.start("unshare", "--mount", "--pid", "--ipc", "--uts", "--cgroup", "--fork", "--mount-proc",
                             "setpriv", "--no-new-privs", "--inh-caps=-all", f"--bounding-set={sets}", kit.program,
                             *arguments, stderr=errors)

    def stop(process):
        """The first process of the namespace; unshare has its exit status."""
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as children:
            os.kill(int(children.read()), signal.SIGTERM)
        equal(process.wait(), 0, "exit status")
    added = container["securityContext"]["capabilities"]["add"]
    process = start(added)
    until(lambda: process.poll() is not None or "serving" in log.read_text(encoding="utf-8"), "it serves")
    if process.poll() == 77:
        raise Skip(log.read_text(encoding="utf-8").strip())
    url, trust = f"https://127.0.0.1:{port}/metrics", ("--cacert", kit.folder / "cert.pem")
    try:
        code, _, body = curl(*trust, "-u", "me:secret", url)
        equal(code, 200, "status: " + log.read_text(encoding="utf-8"))
        contains(body, "gpumon_source_up 1", "what it serves")
        equal(curl(*trust, url)[0], 401, "without a password")
    finally:
        stop(process)
    # The test would not notice a capability that is there in any case.
    process = start([name for name in added if name not in ("BPF", "SYS_ADMIN")])
    until(lambda: process.poll() is not None, "without CAP_BPF it ends")
    contains(log.read_text(encoding="utf-8"), "CAP_BPF", "what it says")


def test_scrape_configuration(kit):
    """Prometheus takes it, and how a host is scraped. Debian's finds no pods: that part is replaced by an address."""
    need("promtool", "prometheus")
    shutil.copy(TOP / "packaging/prometheus/gpumon.rules.yml", kit.folder)
    for file in (TOP / "packaging/prometheus/scrape.yml", FOLDER / "scrape.yml"):
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
        for job in document["scrape_configs"]:
            if job.pop("kubernetes_sd_configs", None):
                job["static_configs"] = [{"targets": ["127.0.0.1:9839"]}]
        (kit.folder / "prometheus.yml").write_text(yaml.safe_dump(document), encoding="utf-8")
        promtool("check", "config", "--syntax-only", kit.folder / "prometheus.yml")
