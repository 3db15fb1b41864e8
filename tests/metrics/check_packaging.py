# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Rules and dashboards name what the exporter writes, and each alert fires."""
import json
import re
import shutil
import subprocess

import yaml

from kit import TOP, promtool
from verdict import check, equal, need

RULES = TOP / "packaging/prometheus/gpumon.rules.yml"
DASHBOARDS = sorted((TOP / "packaging/grafana").glob("*.json"))
# Added by Prometheus, or written into expressions by its functions.
OF_PROMETHEUS = {"instance", "job", "le"}
NAME = re.compile(r"\b(gpumon_\w+)\s*(\{[^}]*\})?")
LABEL = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"")
BY = re.compile(r"(?:by|on|group_left|group_right|without)\s*\(([^)]*)\)")


def catalogue(kit):
    """{sample: its labels} of all that the exporter can write."""
    kit.all_tables()
    kit.set(xid=1, reset=1, hang=1, starved=1)
    pods = kit.folder / "root/var/log/containers"
    pods.mkdir(parents=True)
    (pods / f"pod_namespace_name-{0x9e3779b97f4a7c15:016x}{0:048d}.log").write_text("")
    functions = kit.folder / "root/sys/bus/pci/devices/0000:01:00.0"
    functions.mkdir(parents=True)
    (functions / "class").write_text("0x030000\n")
    (functions / "vendor").write_text("0x1002\n")
    (functions / "product_name").write_text("GPU\n")
    (functions / "unique_id").write_text("1\n")
    found = {}
    for line in kit.call("--format", "text")[0].splitlines():
        if line[0] != "#":
            name = re.match(r"\w+", line)[0]
            found.setdefault(name, set()).update(re.findall(r"(\w+)=\"", line))
    # Labels of what a fake module without containers does not have.
    for name, labels in found.items():
        if name.startswith("gpumon_container_"):
            labels.update(("cgroup", "series"))
        if name.startswith("gpumon_alert"):
            labels.update(("code", "meaning", "ring"))
        if name == "gpumon_log_records_lost_total":
            labels.add("cause")
    # The log cannot be read in the fake root.
    found["gpumon_log_records_lost_total"] = {"cause"}
    return found


def expressions_of_rules():
    for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]:
        for rule in group["rules"]:
            yield rule.get("alert") or rule["record"], rule["expr"]


def expressions_of_dashboards():
    for file in DASHBOARDS:
        document = json.loads(file.read_text(encoding="utf-8"))
        for panel in document["panels"]:
            for target in panel["targets"]:
                yield f"{file.name}: {panel['title']}", target["expr"]
        for variable in document["templating"]["list"]:
            if variable["type"] == "query":
                yield f"{file.name}: variable {variable['name']}", variable["query"]["query"]


def test_names_are_those_of_the_exporter(kit):
    known = catalogue(kit)
    where = [*expressions_of_rules(), *expressions_of_dashboards()]
    check(len(where) > 40, "expressions are found")
    for title, expression in where:
        names = NAME.findall(expression)
        check(names or "gpumon:" in expression, f"{title}: no metric in {expression}")
        labels = set()
        for name, selector in names:
            check(name in known, f"{title}: the exporter writes no {name}")
            labels |= known[name]
            for label in LABEL.findall(selector):
                check(label in known[name] | OF_PROMETHEUS, f"{title}: {name} has no label {label}")
        for part in BY.findall(expression) if names else ():
            for label in re.split(r"[,\s]+", part.strip()):
                check(not label or label in labels | OF_PROMETHEUS, f"{title}: nothing has a label {label}")


def test_dashboards_parse(kit):
    """Each expression is one of PromQL, with Grafana's variables filled in."""
    need("promtool", "prometheus")
    rules = {"groups": [{"name": "panels", "rules": [
        {"record": f"panel:number{i}", "expr": expression.replace("$__rate_interval", "5m").replace("$", "")}
        for i, (_, expression) in enumerate(expressions_of_dashboards()) if "label_values" not in expression]}]}
    file = kit.folder / "panels.yml"
    file.write_text(yaml.safe_dump(rules), encoding="utf-8")
    promtool("check", "rules", file)


def test_dashboards_are_whole(kit):
    """Ids are unique, panels do not overlap, and their titles are."""
    del kit
    uids = [json.loads(file.read_text(encoding="utf-8"))["uid"] for file in DASHBOARDS]
    equal(sorted(uids), ["gpumon-container", "gpumon-fleet", "gpumon-host"], "dashboards")
    for file in DASHBOARDS:
        panels = json.loads(file.read_text(encoding="utf-8"))["panels"]
        equal(len({panel["id"] for panel in panels}), len(panels), f"ids in {file.name}")
        cells = [(x, y) for panel in panels for place in [panel["gridPos"]]
                 for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])]
        equal(len(set(cells)), len(cells), f"cells of {file.name}")
        check(max(x for x, _ in cells) < 24, f"the width of {file.name}")


def test_rules_fire(kit):
    """promtool's tests of the rules; each alert has one in which it fires."""
    need("promtool", "prometheus")
    promtool("check", "rules", RULES)
    tests = TOP / "tests/metrics/rules.yml"
    for file in (RULES, tests):
        shutil.copy(file, kit.folder)
    done = subprocess.run(["promtool", "test", "rules", "rules.yml"], cwd=kit.folder, capture_output=True, check=False,
                          text=True)
    equal(done.returncode, 0, f"promtool test rules: {done.stdout}{done.stderr}"[:2000])
    fired = {one["alertname"] for group in yaml.safe_load(tests.read_text(encoding="utf-8"))["tests"]
             for one in group["alert_rule_test"] if one.get("exp_alerts")}
    equal(fired, {name for name, _ in expressions_of_rules() if ":" not in name}, "alerts that a test has fired")


def test_each_xid_has_one_rule(kit):
    """Every well-known Xid is in the rule of one severity; all others are in that of the rest."""
    del kit
    header = (TOP / "kmod/uapi/gpumon_xid.h").read_text(encoding="utf-8")
    known = set(re.findall(r"X\((\d+), ", header))
    by_rule = {}
    for name, expression in expressions_of_rules():
        if found := re.search(r'code(=~|!~)"([\d|]+)"', expression):
            by_rule[name, found[1]] = found[2].split("|")
    listed = [code for (_, sign), codes in by_rule.items() if sign == "=~" for code in codes]
    equal(len(listed), len(set(listed)), "codes in two rules")
    equal(known - set(listed) - {"38", "56", "78"}, set(), "well-known codes in no rule")
    rest = [codes for (_, sign), codes in by_rule.items() if sign == "!~"]
    equal([sorted(codes) for codes in rest], [sorted(listed)], "codes that the rule of the rest leaves out")


def headings(page):
    """The anchors of a page's headings."""
    text = (TOP / page).read_text(encoding="utf-8")
    return {re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", text, re.M)}


def test_runbooks_are_there(kit):
    """Each alert links to a heading that says what to do, and has one of its own in metrics.md."""
    del kit
    for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]:
        for rule in group["rules"]:
            if "alert" in rule:
                page, _, heading = rule["annotations"]["runbook"].partition("#")
                check(heading in headings(page), f"{page} has no heading {heading}")
                check(rule["alert"].lower() in headings("Documentation/user/metrics.md"), "no heading " + rule["alert"])
