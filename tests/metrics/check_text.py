# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The text, by the readers that others use."""
import os
import pathlib
import stat

from kit import promtool, samples, tables_of_pages
from verdict import Skip, check, contains, equal, need, until


def test_promtool_finds_nothing(kit):
    """promtool's linter has nothing to say of all metrics, those of each table in the pages."""
    need("promtool", "prometheus")
    kit.all_tables()
    check(len(list(tables_of_pages())) > 150, "the tables in the pages are found")
    kit.set(xid=3, reset=1, hang=2, starved=1)
    text, _ = kit.call("--format", "text")
    equal(promtool("check", "metrics", text=text), "", "what promtool says")


def test_openmetrics_parses(kit):
    """The strict reader of Python's client takes the text, with odd names in labels."""
    try:
        from prometheus_client.openmetrics.parser import text_string_to_metric_families
    except ImportError as error:
        raise Skip("no python3-prometheus-client") from error
    kit.all_tables()
    kit.set(xid=3)
    text, _ = kit.call()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    busy = families["gpumon_ring_busy_seconds"]
    equal((busy.type, busy.unit), ("counter", "seconds"), "type and unit of the busy time")
    names = {value for family in families.values() for sample in family.samples for value in sample.labels.values()}
    check('x "y"\\\nz' in names, "a label with quotes, a backslash and an end of a line is read as it was")


def test_each_has_a_meaning(kit):
    """The help of each metric is from the pages."""
    kit.all_tables()
    kit.set(xid=1)
    text, _ = kit.call()
    for line in text.splitlines():
        check("Not described" not in line, line)
        if line.startswith("# HELP"):
            check(len(line.split(" ", 3)[3]) > 3, line)


def test_older_format_is_the_same(kit):
    """Both formats have the same numbers."""
    kit.all_tables()
    texts = [kit.call("--format", word)[0] for word in ("openmetrics", "text")]
    new, old = ({name: value for name, value in samples(text).items() if not name.startswith("gpumon_exporter")}
                for text in texts)
    equal(new, old, "numbers")
    check(texts[0].endswith("# EOF\n") and "# EOF" not in texts[1], "the end of an OpenMetrics text")


def test_no_process_is_named(kit):
    """No label is a process's number or name."""
    kit.set(containers=20)
    text, _ = kit.call()
    check("pid" not in text and "train" not in text, "a process in: " + text)


def test_series_are_bounded(kit):
    """Containers beyond --max-series are summed up, and that is counted."""
    kit.set(containers=500, rings=1)
    found = samples(kit.call("--max-series", "400")[0])
    jobs = {name: value for name, value in found.items() if name.startswith("gpumon_container_jobs")}
    equal(sum(jobs.values()), 500, "jobs of all containers")
    check(jobs['gpumon_container_jobs_total{series="other"}'] > 100, "what is summed up")
    check(found["gpumon_exporter_series_folded_total"] > 100, "it is counted")
    check(len(found) < 440, f"{len(found)} lines")


def test_file_is_whole(kit):
    """A repeated file is replaced at once, and readable by node_exporter."""
    file = kit.folder / "gpumon.prom"
    kit.set(containers=300)
    process = kit.start(kit.tools / "fake", "metrics", "-o", file, "--interval", "10ms", env=kit.environment())
    until(file.exists, "the file is there")
    equal(stat.S_IMODE(file.stat().st_mode), 0o644, "its mode")
    seen = set()

    def changes():
        text = file.read_text(encoding="utf-8")
        found = samples(text)
        check("gpumon_exporter_series" in found, "the last line is there")
        seen.add(found["gpumon_exporter_readings_total"])
        return len(seen) > 20
    until(changes, "it is written again and again")
    check("# EOF" not in file.read_text(encoding="utf-8"), "node_exporter reads the older format")
    kit.stop(process)
    equal([name for name in os.listdir(kit.folder) if name.startswith("gpumon.prom")], ["gpumon.prom"],
          "nothing is left beside it")


def test_file_survives_the_module(kit):
    """The module goes and is loaded again: the counters go on."""
    file = kit.folder / "gpumon.prom"
    process = kit.start(kit.tools / "fake", "metrics", "-o", file, "--interval", "20ms", env=kit.environment())

    def value(name):
        return samples(file.read_text(encoding="utf-8")).get(name) if file.exists() else None
    done = 'gpumon_ring_done_total{device="0000:01:00.0",pci_bus_id="00000000:01:00.0",ring="ring0"}'
    depth = done.replace("done_total", "queue_depth")
    until(lambda: value(done) == 1, "the first reading")
    kit.set(scale=10)
    until(lambda: value(done) == 10, "a later one")
    kit.set(gone=1)
    until(lambda: value("gpumon_source_up") == 0, "it is said that the source is gone")
    equal(value(done), 10, "the counter without the module")
    equal(value(depth), None, "a level without the module")
    kit.set(gone=0, since=100, scale=4)
    until(lambda: value("gpumon_source_up") == 1, "it is back")
    equal(value(done), 14, "the counter after a reload")
    # A reset, by another program: 6 at its end, 3 since.
    kit.set(period=2, closed=6, scale=3)
    until(lambda: value(done) != 14, "the reset is seen")
    equal(value(done), 10 + 6 + 3, "the counter after a reset")
    kit.stop(process)


def test_once_needs_a_source(kit):
    """Without a source there is one line, and no file."""
    kit.set(gone=1)
    file = kit.folder / "gpumon.prom"
    _, err = kit.call("-o", file, status=77)
    equal(err, "gpumon-user: the module is gone\n", "what is said")
    check(not pathlib.Path(file).exists(), "a file")


def test_wrong_usage(kit):
    for words, said in ((("--listen", "1.2.3.4", "-o", "x"), "are two ways"), (("--web-config", "x"), "goes with --listen"),
                        (("--interval", "1"), "goes with --output or --listen"), (("--run-as", "x"), "goes with --listen"),
                        (("--format", "json"), "openmetrics or text"), (("--max-series", "5"), "from 100 to"),
                        (("--listen", "127.0.0.1", "--format", "text"), "the client says which"),
                        (("--listen", "example.org"), "is no address"), (("--listen", "1.2.3.4:x"), "is no address"),
                        (("--listen", "[::1"), "is no address"), (("--listen", "systemd"), "has passed no socket")):
        contains(kit.call(*words, status=2)[1], said, "what is said of " + " ".join(words))
