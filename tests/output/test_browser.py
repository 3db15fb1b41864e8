# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Pictures and pages in headless Chromium, clicked, searched and typed into.

A script of the test's is put into a copy of each file; it does what a person would, and leaves
what it saw as an attribute of the document, which Chromium writes out.
"""
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from check import SLOWER, Skip, equal, files, test

browser = next((path for path in map(shutil.which, ["chromium", "chromium-browser",
                                                    "google-chrome"]) if path), None)

BEFORE = """window.errors = [];
window.addEventListener("error", function (event) { window.errors.push(event.message); });
window.addEventListener("securitypolicyviolation", function (event) {
	window.errors.push("policy: " + event.violatedDirective); });
"""

# Tools for all scripts.
TOOLS = """
function seen(f) { return f.g.style.display !== "none"; }
function all() { return Array.from(document.querySelectorAll("g.f")).map(function (g) { return g.frame; }); }
function named(name) { return all().filter(function (f) { return f.name === name; })[0]; }
function width(f) { return Number(f.rect.getAttribute("width")); }
function click(element) { element.dispatchEvent(new MouseEvent("click", { bubbles: true })); }
function press(key, on) { (on || document.querySelector("svg.gpumon-flame")).dispatchEvent(
	new KeyboardEvent("keydown", { key: key, bubbles: true, cancelable: true })); }
function type(text) { var input = document.querySelector(".gpumon-flame input"); input.value = text;
	input.dispatchEvent(new Event("input", { bubbles: true })); }
function found() { return document.querySelector(".found").textContent; }
function hint() { return document.querySelector(".hint").textContent; }
function overflow() { return all().filter(function (f) { return seen(f) && f.text.textContent &&
	f.text.getComputedTextLength() + 4 > width(f) + 0.5; }).map(function (f) { return f.name; }); }
"""


def run(name, script, size="1400,900"):
    """The script's result; the page's errors are checked."""
    if not browser:
        raise Skip("no chromium here")
    text = (files / name).read_text(encoding="utf-8")
    after = (f"(function () {{ {TOOLS}\nvar result;\ntry {{ result = (function () {{ {script} }})(); }}"
             "\ncatch (error) { window.errors.push(String(error)); }\n"
             "document.documentElement.setAttribute('data-test', JSON.stringify("
             "{ errors: window.errors, title: document.title, result: result })); })();")
    if name.endswith(".svg"):
        text = re.sub(r"(<svg [^>]*>)", lambda m: m[1] + f"<script><![CDATA[{BEFORE}]]></script>",
                      text, count=1)
        text = text.replace("</svg>", f"<script><![CDATA[{after}]]></script></svg>")
    else:
        text = text.replace("<style>", f"<script>{BEFORE}</script><style>", 1)
        text = text.replace("</body>", f"<script>{after}</script></body>")
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / name
        path.write_text(text, encoding="utf-8")
        environment = dict(os.environ, HOME=directory, XDG_RUNTIME_DIR=directory)
        done = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-background-networking", f"--user-data-dir={directory}/p",
             f"--window-size={size}", "--dump-dom", path.as_uri()],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300 * SLOWER, env=environment,
            check=False)
    match = re.search(r'data-test="([^"]*)"', done.stdout.decode("utf-8", "replace"))
    assert match, f"{name}: no result: {done.stderr.decode('utf-8', 'replace')[-600:]}"
    answer = json.loads(html.unescape(match[1]))
    equal(answer["errors"], [], name)
    assert answer["title"] != "broken", f"{name}: a name became a script"
    return answer["result"]


@test
def zoom():
    """A click zooms, the words above lead back, and everything is as before"""
    answer = run("training.svg", """
var step = named("train_step"), before = all().map(width);
var r = { first: width(step), total: width(all()[0]) };
click(step.g);
r.zoomed = width(step); r.hint = hint();
r.hidden = all().filter(function (f) { return !seen(f); }).length;
r.beside = seen(named("load_batch")); r.above = seen(named("<module>"));
r.below = seen(named("Transformer.forward"));
r.within = all().every(function (f) { return !seen(f) || Number(f.rect.getAttribute("x")) + width(f) <= r.total + 10.1; });
click(document.querySelector(".hint .button"));
r.back = all().map(width).join() === before.join() && all().every(seen);
return r;""")
    assert answer["first"] < answer["total"] * 0.6
    assert abs(answer["zoomed"] - answer["total"]) < 0.1
    assert answer["hidden"] > 0 and not answer["beside"] and answer["above"] and answer["below"]
    assert answer["within"] and answer["back"]
    assert answer["hint"].startswith("Reset zoom") and answer["hint"].endswith("train_step")


@test
def search():
    """A search marks frames and adds up their time once"""
    tree = json.loads((files / "training.json").read_text(encoding="utf-8"))
    gemm = sum(node["gpu_ns"] for node in tree["nodes"] if node["name"].startswith("sm90"))
    part = 100 * gemm / tree["recording"]["gpu_ns"]
    answer = run("training.svg", """
var r = {};
type("sm90_.*gemm"); r.gemm = found();
r.hits = document.querySelectorAll("g.hit").length;
type("forward|sm90"); r.nested = found();
type("model.py:88"); r.line = Array.from(document.querySelectorAll("g.hit")).map(function (g) { return g.frame.name; });
type("model"); r.file = document.querySelectorAll("g.hit").length;
type("("); r.broken = found();
type("no such thing"); r.none = found();
type(""); r.cleared = document.querySelectorAll("g.hit").length + found();
return r;""")
    equal(answer["gemm"].replace("\u00a0", " "),
          f"{gemm / 1e6:.0f} ms, {part:.1f}% in {answer['hits']} frames")
    assert answer["nested"].split(", ")[1].startswith(tuple("123456789")), answer
    assert float(answer["nested"].split(", ")[1].split("%")[0]) <= 100
    assert "frames" in answer["broken"], "'(' is no expression and is looked for as it is"
    equal((answer["none"], answer["cleared"]), ("nothing matches", "0"))
    equal((sorted(answer["line"]), answer["file"]), (["Block.forward", "CrossBlock.forward"], 0), "a line, not a file")


@test
def keys():
    """Keys move, zoom, search and lead back"""
    for name, outward in [("training.svg", "ArrowUp"), ("training.icicle.svg", "ArrowDown")]:
        answer = run(name, f"""
var r = {{}}, current = function () {{ return document.querySelector(".current").frame; }};
press("{outward}"); r.root = current().depth;
press("{outward}"); press("{outward}"); r.depth = current().depth;
var one = current();
press("ArrowRight"); r.beside = current() !== one && current().depth === 2 && current().start > one.start;
press("ArrowLeft"); r.same = current() === one;
press("Enter"); r.zoomed = width(one) === width(all()[0]);
press("Backspace"); r.parent = width(one.parent) === width(all()[0]);
press("Escape"); r.reset = all().every(seen);
press("/"); r.focus = document.activeElement.tagName.toLowerCase();
return r;""")
        equal(answer, {"root": 0, "depth": 2, "beside": True, "same": True, "zoomed": True,
                       "parent": True, "reset": True, "focus": "input"}, name)


@test
def hover():
    """The pointer shows name, time and share, within the window"""
    answer = run("training.svg", """
var f = named("[copy pinned to device]"), box = f.rect.getBoundingClientRect();
f.rect.dispatchEvent(new MouseEvent("mousemove", { bubbles: true, clientX: box.left + 3, clientY: box.top + 3 }));
var tip = document.querySelector(".tip"), r = tip.getBoundingClientRect();
var answer = { shown: tip.getAttribute("visibility"), text: tip.textContent, right: r.right <= window.innerWidth,
	top: r.top >= 0 };
document.documentElement.dispatchEvent(new MouseEvent("mouseleave"));
answer.hidden = tip.getAttribute("visibility");
return answer;""")
    equal((answer["shown"], answer["hidden"]), ("visible", "hidden"))
    assert answer["right"] and answer["top"]
    assert "[copy pinned to device]" in answer["text"] and "11.6% of all" in answer["text"], answer


@test
def fits():
    """No label is wider than its frame, in wide and narrow windows, zoomed or not"""
    for name, size in [("training.svg", "1900,800"), ("training.svg", "700,800"),
                       ("hostile.svg", "700,800")]:
        answer = run(name, """
var r = overflow(); click(all()[1].g); return r.concat(overflow());""", size)
        equal(answer, [], f"{name} at {size}")


@test
def cut_lines_are_whole_at_the_pointer():
    """A line below the title that has no room in the window has all of its text at the pointer"""
    for size, is_cut in [("1900,800", False), ("480,800", True)]:
        answer = run("training.svg", """
var line = document.querySelector(".subtitle"), title = line.querySelector("title");
return [line.firstChild.textContent, title && title.textContent];""", size)
        whole = answer[1] or answer[0]
        equal(answer[1] is not None, is_cut, size)
        assert whole.endswith("operations") and answer[0].endswith("…") == is_cut, answer


@test
def nothing_overlaps():
    """Title, search, result, hint and legend never overlap"""
    for name in ["training.svg", "training.html"]:
        for size in ["1900,800", "700,800", "480,800"]:
            answer = run(name, """
type("a");
var svg = document.querySelector("svg.gpumon-flame");
var parts = [".title", ".subtitle:not(.found)", ".losses", ".hint", ".found", ".legend .entry", ".legend .narrow", "input"]
	.flatMap(function (selector) { return Array.from(svg.querySelectorAll(selector)); })
	.filter(function (e) { return getComputedStyle(e).visibility !== "hidden" && (e.textContent || e.tagName === "input"); })
	.map(function (e) { var b = e.getBoundingClientRect(); return [e.getAttribute("class") || e.tagName, b.left, b.top + 2, b.right, b.bottom - 2]; });
var frame = svg.getBoundingClientRect(), bad = [], last = 0;
all().forEach(function (f) { if (seen(f)) last = Math.max(last, f.rect.getBoundingClientRect().bottom); });
parts.forEach(function (a, i) {
	if (a[1] < frame.left || a[3] > frame.right + 1 || a[4] > frame.bottom)
		bad.push(a[0] + " is outside");
	if (/entry|narrow/.test(a[0]) && a[2] < last - 2)
		bad.push(a[0] + " lies on frames");
	parts.slice(i + 1).forEach(function (b) {
		if (a[1] < b[3] && b[1] < a[3] && a[2] < b[4] && b[2] < a[4])
			bad.push(a[0] + " on " + b[0]); });
});
return bad.concat(parts.length > 8 ? [] : ["few parts"]);""", size)
            equal(answer, [], f"{name} at {size}")


@test
def hostile():
    """Names stay names in pictures and pages, and none becomes a script"""
    for name in ["hostile.html", "huge.svg", "empty.html"]:
        run(name, "return true;")


@test
def responsive():
    """Thousands of frames are zoomed and searched fast"""
    answer = run("large.svg", """
var r = { frames: all().length }, at = performance.now();
click(all()[30].g); press("Escape"); type("function_5"); type("");
r.ms = performance.now() - at;
return r;""")
    assert answer["frames"] > 3500, answer
    assert answer["ms"] < 3000, f"{answer['ms']} ms for two zooms and two searches"


@test
def report():
    """The report's tables sort, its flame graph zooms, its timeline shows details"""
    answer = run("training.html", """
var table = document.querySelector("#kernels table"), heads = table.tHead.rows[0].cells;
function column(i) { return Array.from(table.tBodies[0].rows).map(function (row) {
	return row.cells[i].getAttribute("data-v") || row.cells[i].textContent; }); }
var r = { first: column(3) };
click(heads[3]); r.down = column(3); r.sort = heads[3].getAttribute("aria-sort");
click(heads[3]); r.up = column(3);
click(heads[0]); r.names = column(0);
click(named("train_step").g); r.zoomed = width(named("train_step")) === width(all()[0]);
var area = document.querySelector(".area"), box = area.getBoundingClientRect();
area.dispatchEvent(new MouseEvent("mousemove", { bubbles: true, clientX: box.left + box.width / 2, clientY: box.top + 5 }));
r.tip = document.querySelector("div.tip").textContent;
r.wide = document.documentElement.scrollWidth <= window.innerWidth;
return r;""")
    numbers = [int(value) for value in answer["first"]]
    equal([int(value) for value in answer["down"]], sorted(numbers, reverse=True))
    equal([int(value) for value in answer["up"]], sorted(numbers))
    equal(answer["sort"], "descending")
    equal(answer["names"], sorted(answer["names"], key=str.lower))
    assert answer["zoomed"] and answer["wide"]
    assert re.fullmatch(r"at [\d.]+\u00a0ms: \d+% busy.*", answer["tip"]), answer["tip"]


@test
def call_paths():
    """A click on a path marks it in the flame graph and shows its lines; one on a kernel shows its callers"""
    answer = run("training.html", """
var paths = document.querySelector("#paths table").tBodies[0], kernels = document.querySelector("#kernels table").tBodies[0];
function marked() { return all().filter(function (f) { return f.g.classList.contains("picked"); }); }
function way(f) { return f ? way(f.parent).concat([f.name]) : []; }
function rows() { return Array.from(paths.rows).filter(function (row) { return !row.hidden; }); }
function texts(row) { return Array.from(row.querySelectorAll("ol.stack li")).map(function (li) { return li.firstChild.textContent; }); }
var r = { sum: 0, whole: 0, rows: paths.rows.length };
Array.from(paths.rows).forEach(function (row) { r.sum += Number(row.cells[0].getAttribute("data-v")); });
all().forEach(function (f) { if (!f.parent) r.whole = f.value; });
click(named("train_step").g);
var row = paths.rows[1];
click(row);
r.text = row.lastElementChild.firstChild.textContent; r.kernel = row.cells[3].title;
r.stack = texts(row); r.places = Array.from(row.querySelectorAll("ol.stack em")).map(function (e) { return e.textContent; });
var leaf = marked().sort(function (a, b) { return b.depth - a.depth; })[0];
r.way = way(leaf).slice(1); r.marked = marked().length; r.selected = row.getAttribute("aria-selected");
r.zoom = all().every(seen); r.dim = getComputedStyle(all().filter(function (f) { return !f.g.classList.contains("picked"); })[0].g).opacity;
click(paths.rows[0]); r.other = texts(row).length; r.one = paths.querySelectorAll("[aria-selected=true]").length;
click(paths.rows[0]); r.none = marked().length + document.querySelectorAll("ol.stack").length;
var gemm = Array.from(kernels.rows).filter(function (k) { return /sm90_xmma/.test(k.cells[0].title); })[0];
click(gemm);
r.callers = rows().map(function (row) { return [row.cells[3].title, Number(row.cells[0].getAttribute("data-v"))]; });
r.gemm = [gemm.cells[0].title, Number(gemm.cells[1].getAttribute("data-v"))];
r.leaves = marked().filter(function (f) { return !f.children.length; }).map(function (f) { return f.name; });
r.status = document.querySelector("#paths .picked").firstChild.textContent;
r.focus = document.activeElement === rows()[0];
click(rows()[0]); r.within = marked().filter(function (f) { return !f.children.length; }).length;
click(document.querySelector("#paths .picked button"));
r.all = rows().length; r.end = marked().length; r.hints = Array.from(document.querySelectorAll("#paths .what, #kernels small")).map(function (s) { return s.textContent; });
return r;""")
    equal(answer["sum"], answer["whole"], "GPU time of all paths")
    equal(answer["stack"], answer["way"], "the path in the flame graph")
    equal((answer["marked"], answer["selected"]), (len(answer["way"]) + 1, "true"))
    equal(answer["stack"][-1], answer["kernel"], "the path leads to its kernel")
    assert answer["zoom"] and float(answer["dim"]) < 0.5, "the path is seen, and stands out"
    assert "train.py:97" in answer["places"] and "train_step train.py:97" in answer["text"], answer["text"]
    equal((answer["other"], answer["one"], answer["none"]), (0, 1, 0), "one path at a time")
    # Some of its time is of launches that are not in the tree of this example.
    equal({name for name, _ in answer["callers"]}, {answer["gemm"][0]}, "callers")
    equal(answer["leaves"], [answer["gemm"][0]] * len(answer["callers"]), "in the flame graph")
    assert answer["status"].startswith(f"{len(answer['callers'])} call paths launch sm90_xmma"), answer["status"]
    equal((answer["focus"], answer["within"], answer["end"]), (True, 1, 0))
    equal(answer["all"], min(15, answer["rows"]), "all of them again")
    assert all("; click one to see" in hint for hint in answer["hints"]), answer["hints"]


@test
def call_paths_by_keys():
    """Keys go from a kernel to its callers, to a path, and back"""
    answer = run("training.html", """
var paths = document.querySelector("#paths table").tBodies[0], kernels = document.querySelector("#kernels table").tBodies[0];
function at() { return document.activeElement; }
function key(k) { press(k, at()); }
var r = { stops: [paths, kernels].map(function (t) { return t.querySelectorAll("tr[tabindex='0']").length; }) };
kernels.rows[0].focus(); key("ArrowDown"); r.down = at() === kernels.rows[1];
key("ArrowUp"); key("ArrowUp"); r.up = at() === kernels.rows[0];
key("Enter"); r.callers = at().closest("#paths") !== null;
key("End"); r.end = at(); key("Home"); r.first = at();
r.moved = r.end !== r.first || Array.from(paths.rows).filter(function (row) { return !row.hidden; }).length === 1;
r.end = r.first = null;
key(" "); r.path = document.querySelectorAll("ol.stack").length;
key("Escape"); r.without = document.querySelectorAll("ol.stack").length;
key("Escape"); r.back = at() === kernels.rows[0]; r.status = document.querySelector("#paths .picked").textContent;
r.stops = r.stops.concat([paths, kernels].map(function (t) { return t.querySelectorAll("tr[tabindex='0']").length; }));
click(document.querySelector("#paths th")); r.sorted = paths.querySelectorAll("tr[tabindex='0']:not([hidden])").length;
return r;""")
    equal(answer, {"stops": [1, 1, 1, 1], "down": True, "up": True, "callers": True, "end": None, "first": None,
                   "moved": True, "path": 1, "without": 0, "back": True, "status": "", "sorted": 1})


@test
def many_call_paths():
    """Of ten thousand paths the page has the heaviest, and of each kernel the heaviest; it says so"""
    answer = run("paths.html", """
var section = document.querySelector("#paths"), paths = section.querySelector("table").tBodies[0];
var kernels = document.querySelector("#kernels table").tBodies[0], r = { rows: paths.rows.length, changes: [] };
var watch = new MutationObserver(function () {}), hidden = Object.getOwnPropertyDescriptor(HTMLElement.prototype, "hidden"), set = 0;
watch.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
Object.defineProperty(HTMLElement.prototype, "hidden",
	{ get: hidden.get, set: function (value) { set++; hidden.set.call(this, value); } });
function visible() { return Array.from(paths.rows).filter(function (row) { return !row.hidden; }); }
function then(element) { set = 0; click(element); r.changes.push(watch.takeRecords().length + set); }
function kernel(number) { return Array.from(kernels.rows).filter(function (k) {
	return k.cells[0].title === "kernel_" + number; })[0]; }
function said() { return section.querySelector(".picked").firstChild.textContent; }
r.said = Array.from(section.querySelectorAll("p")).map(function (p) { return p.textContent; }).join(" ");
r.shown = visible().length;
then(section.querySelector(".scroll + button")); r.unfolded = visible().length;
then(visible()[300]); r.stack = section.querySelectorAll("ol.stack li").length;
then(section.querySelectorAll("th")[4]); then(section.querySelectorAll("th")[0]);
then(kernel(39)); r.rare = visible().map(function (row) { return row.lastElementChild.textContent; });
r.status = said();
then(kernel(104)); r.deep = visible().length; r.status_of_deep = said();
then(kernel(99)); r.left_out = visible().length; r.status_of_left_out = said();
then(kernels.rows[0]); r.callers = visible().length; then(section.querySelector(".scroll + button"));
r.caller_rows = visible().length; r.status_of_first = said();
return r;""")
    # 200,000 bytes are for the heaviest, each of 500 and of 8 for each of its four functions, and 80,000 for those
    # of kernels: kernel_39 and 9 of the 65 deep ones. Those of equal weight come in the order of their names.
    rows = 375 + 1 + 9
    equal((answer["rows"], answer["shown"], answer["unfolded"]), (rows, 15, rows))
    assert f"and {10065 - rows:,} more call paths, which took less" in answer["said"], answer["said"]
    equal(answer["stack"], 4, "functions of a path")
    equal(answer["rare"], ["caller_99 main.cc:10 › step step.cc:99"], "a kernel's heaviest path, whatever its weight")
    assert re.fullmatch(r"1 call path launches kernel_39: 66.7% of its GPU time; this page has no room for its others",
                        answer["status"]), answer["status"]
    equal((answer["deep"], answer["status_of_deep"]), (1, "1 call path launches kernel_104"))
    equal((answer["left_out"], answer["status_of_left_out"]),
          (0, "This page has room for the heaviest call paths only: none of them launches kernel_99"))
    equal((answer["callers"], answer["caller_rows"]), (10, 10), "callers of a kernel")
    assert re.match(r"10 call paths launch kernel_0: 7\.\d+% of its GPU time", answer["status_of_first"]), answer
    # A click changes each row and each of 2,000 frames a few times, not once per other row.
    assert all(0 < changes < 3 * (rows + 2000) for changes in answer["changes"]), answer["changes"]


# Of the timeline: what is shown of it, in ns; and a drag over a part of a row.
TIMELINE = """
var area = document.querySelector(".area[data-busy]"), box = area.getBoundingClientRect(), svg = area.querySelector("svg");
var element = document.querySelector(".timeline");
function shown() { return element.getAttribute("data-shown").split(" ").map(Number); }
function pointer(kind, part, on) { (on || area).dispatchEvent(new PointerEvent(kind, { bubbles: true, pointerId: 1,
	clientX: box.left + part * box.width, clientY: box.top + 5 })); }
function drag(from, to) { pointer("pointerdown", from); pointer("pointerup", to); }
function tip(part, on) { (on || area).dispatchEvent(new MouseEvent("mousemove", { bubbles: true,
	clientX: box.left + part * box.width, clientY: box.top + 5 })); return document.querySelector("div.tip").textContent; }
"""


@test
def timeline():
    """Dragging over a part of the report's timeline shows that part; then all of it again"""
    answer = run("training.html", TIMELINE + """
var all = svg.outerHTML, ticks = document.querySelector(".axis div").innerHTML;
var r = { all: shown(), before: tip(0.75) };
drag(0.5, 0.75);
r.part = shown();
r.after = tip(0.999); r.labels = Array.from(document.querySelectorAll(".axis i")).map(function (i) { return i.textContent; });
r.left = Array.from(document.querySelectorAll(".axis i")).map(function (i) { return parseFloat(i.style.left); });
drag(0.5, 0.5); r.click = shown();
area.dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
r.back = svg.outerHTML === all && document.querySelector(".axis div").innerHTML === ticks;
press("+", element); r.plus = shown(); press("ArrowRight", element); r.right = shown();
press("-", element); press("Escape", element); r.escape = shown();
for (var i = 0; i < 80; i++) press("+", element);
r.deepest = shown(); r.deep_labels = Array.from(document.querySelectorAll(".axis i")).map(function (i) { return i.textContent; });
return r;""")
    length = answer["all"][1]
    equal(answer["all"][0], 0)
    assert abs(answer["part"][0] - length / 2) < length / 200 and abs(answer["part"][1] - length * 0.75) < length / 200, answer
    equal(answer["click"], answer["part"], "a click is no drag")
    assert answer["back"], "all of it is not as it was"
    equal(answer["plus"], [length / 4, length * 3 / 4])
    equal(answer["right"], [length * 3 / 8, length * 7 / 8])
    equal(answer["escape"], [0, length])
    assert answer["deepest"][1] - answer["deepest"][0] <= 21, answer["deepest"]
    equal(len(set(answer["deep_labels"])), len(answer["deep_labels"]), "labels of different times")
    assert 3 <= len(answer["labels"]) <= 8 and all(0 <= x <= 100 for x in answer["left"]), answer
    # The right end shows the time that was at three quarters.
    before, after = (float(answer[key].split()[1]) for key in ("before", "after"))
    assert abs(before - after) < before / 100, (answer["before"], answer["after"])


@test
def axis_labels_are_within():
    """The labels of the timeline's axis are within its section, also one at the very end"""
    for size in ["1400,900", "600,800"]:
        answer = run("training.html", TIMELINE + """
drag(0.001, 57.5 / 240);
var section = document.querySelector("#timeline").getBoundingClientRect();
return Array.from(document.querySelectorAll(".axis i")).filter(function (i) { return i.offsetWidth; }).map(function (i) {
	return [i.textContent, parseFloat(i.style.left), section.right - i.getBoundingClientRect().right,
		i.getBoundingClientRect().left, i.getBoundingClientRect().right]; });""", size)
        assert all(room > 8 for _, _, room, _, _ in answer), answer
        for one, other in zip(answer, answer[1:]):
            assert one[4] <= other[3], f"{one[0]} lies on {other[0]} at {size}"


@test
def windows():
    """Times outside of windows are shaded in the report's timeline, and the details say so"""
    answer = run("windows.html", """
var area = document.querySelector(".area"), box = area.getBoundingClientRect();
var shade = area.querySelector("path.unknown"), points = [], idle;
function tip(part) { area.dispatchEvent(new MouseEvent("mousemove", { bubbles: true,
	clientX: box.left + part * box.width, clientY: box.top + 5 })); return document.querySelector("div.tip").textContent; }
function shaded(part) { var point = area.querySelector("svg").createSVGPoint();
	point.x = part * 240; point.y = 50; return shade.isPointInFill(point); }
var length = 4 * 60 + 20;
return { color: getComputedStyle(shade).fill, within: [10, 70, 250].map(function (ms) { return shaded(ms / length); }),
	outside: [40, 100, 220].map(function (ms) { return shaded(ms / length); }),
	tips: [tip(10 / length), tip(40 / length)], what: document.querySelector("#timeline .what").textContent };""")
    equal((answer["within"], answer["outside"]), ([False] * 3, [True] * 3), "what is shaded")
    assert answer["color"] not in ("none", "rgb(0, 0, 0)"), answer["color"]
    assert "not recorded" not in answer["tips"][0], answer["tips"]
    assert answer["tips"][1].endswith(": 0% busy, 100% not recorded"), answer["tips"]
    assert "grey" in answer["what"], answer["what"]


@test
def weights():
    """The flame graph switches between GPU time, wall time and idle time, and so do its call paths"""
    answer = run("budget.html", """
var tabs = Array.from(document.querySelectorAll(".tabs button"));
function visible(selector) { return Array.from(document.querySelectorAll(selector)).filter(function (e) { return e.getBoundingClientRect().width; }); }
function state() {
	var svg = visible("svg.gpumon-flame"), table = visible("#paths table")[0], sum = 0;
	Array.from(table.tBodies[0].rows).forEach(function (row) { sum += Number(row.cells[0].getAttribute("data-v")); });
	return { graphs: svg.length, tables: visible("#paths table").length, title: svg[0].querySelector(".title").textContent,
		total: Number(svg[0].getAttribute("data-total")), sum: sum, head: table.tHead.rows[0].cells[0].textContent,
		names: Array.from(svg[0].querySelectorAll("g.f")).map(function (g) { return g.frame.name; }),
		wide: svg[0].getBoundingClientRect().width, chosen: tabs.map(function (t) { return t.getAttribute("aria-selected"); }).join() };
}
var r = { tabs: tabs.map(function (t) { return t.firstChild.textContent.trim(); }), gpu: state() };
click(tabs[1]); r.wall = state();
var row = visible("#paths tbody tr")[0]; click(row);
r.stack = row.querySelectorAll("ol.stack li").length; r.marked = visible("svg.gpumon-flame")[0].querySelectorAll(".picked").length;
press("ArrowRight", tabs[1]); r.idle = state(); r.focus = document.activeElement === tabs[2];
click(document.querySelector("#kernels tbody tr")); r.back = state();
return r;""")
    equal(answer["tabs"], ["GPU time", "Wall time", "Idle GPU"])
    for key, head, chosen in [("gpu", "GPU time", "true,false,false"), ("wall", "wall time", "false,true,false"),
                              ("idle", "idle", "false,false,true")]:
        state = answer[key]
        equal((state["graphs"], state["tables"], state["head"], state["chosen"]), (1, 1, head, chosen), key)
        equal(state["sum"], state["total"], f"all of {key} is in call paths")
        assert state["wide"] > 1000, f"{key} has no width"
    # 40 steps of 1 ms: 80 us in the launch, 300 us in the wait, a sleep of 200 us that looks found.
    equal(answer["gpu"]["total"], 40 * 400000)
    equal(answer["wall"]["total"], 40 * 1000000)
    assert "[sleep]" in answer["wall"]["names"] and "[between calls]" in answer["wall"]["names"], answer["wall"]
    assert "[sleep]" in answer["idle"]["names"], answer["idle"]
    equal(answer["stack"], answer["marked"] - 1, "a path is marked, with the root")
    assert answer["focus"], "the key leads to the next one"
    equal(answer["back"]["chosen"], "true,false,false", "callers of a kernel are paths by GPU time")


@test
def states():
    """Threads have a row of states above the GPUs' rows, and a zoom shows operations by name"""
    answer = run("budget.html", TIMELINE + """
var rows = Array.from(element.querySelectorAll(".row")), thread = rows[0].querySelector(".area");
var r = { kinds: rows.map(function (row) { return row.className; }), label: rows[0].querySelector("b").textContent };
r.legend = Array.from(document.querySelectorAll(".states span")).map(function (s) { return s.textContent; });
r.drawn = Array.from(thread.querySelectorAll("path")).map(function (p) { return [p.getAttribute("class"), getComputedStyle(p).fill]; });
r.names = element.querySelectorAll(".op").length;
var step = 1 / 40;
drag(10 * step, 11 * step);
r.tips = [0.02, 0.2, 0.5, 0.9].map(function (part) { return tip(part, thread); });
var op = element.querySelector(".op");
r.op = op.textContent; r.width = op.offsetWidth / box.width;
op.dispatchEvent(new MouseEvent("mousemove", { bubbles: true, clientX: op.getBoundingClientRect().left + 3, clientY: 5 }));
r.op_tip = document.querySelector("div.tip").textContent;
return r;""")
    equal(answer["kinds"], ["row thread", "row device", "row stream", "row axis"])
    equal(answer["label"], "loader")
    equal(answer["legend"], ["in launch calls", "in calls that wait for the GPU", "between calls", "blocked between calls"])
    equal(sorted(kind for kind, _ in answer["drawn"]), ["state-b", "state-k", "state-l", "state-w"])
    equal(len({colour for _, colour in answer["drawn"]}), 4, "colours")
    assert answer["names"] == 0 or answer["width"] > 0
    equal([tip.split(": ", 1)[1] for tip in answer["tips"]],
          ["100% in launch calls", "100% in calls that wait for the GPU", "100% between calls", "100% blocked between calls"])
    equal((answer["op"], round(answer["width"], 1)), ("step_kernel", 0.4))
    assert re.fullmatch(r"step_kernel: 400\.0\u00a0\u00b5s at 10\.01\u00a0ms", answer["op_tip"]), answer["op_tip"]


@test
def names_of_threads():
    """Names of threads are whole beside the timeline: where there is little room, the rest is broken"""
    for size in ["1280,900", "800,900"]:
        answer = run("budget.html", """
return Array.from(document.querySelectorAll(".row.thread > span")).map(function (span) {
	var name = span.querySelector("b");
	name.textContent = "pt_autograd_0";
	name.insertAdjacentHTML("afterend", "<em>pid 12345</em>");
	return [name.scrollWidth - name.clientWidth, span.scrollWidth - span.clientWidth];
});""", size)
        equal(answer, [[0, 0]], size)


@test
def opens_fast():
    """A page with ten thousand call paths is ready within a second"""
    answer = run("paths.html", """
var at = performance.now();
click(document.querySelector("#paths tbody tr")); document.body.offsetHeight;
return [performance.now() - at, document.querySelectorAll("g.f").length];""")
    assert answer[0] < 1000 and answer[1] > 100, answer


@test
def narrow():
    """Nothing is wider than a narrow screen, and each number of a table has its title in front"""
    for name in ["training.html", "budget.html", "hostile.html"]:
        answer = run(name, """
document.body.style.width = "400px";
window.dispatchEvent(new Event("resize"));
var bad = [], tabs = document.querySelectorAll(".tabs button");
function check(what) {
	document.querySelectorAll("header *, main *").forEach(function (e) {
		if (e.ownerSVGElement || e.closest(".area, pre"))
			return;
		var box = e.getBoundingClientRect();
		if (box.width && box.right > 401)
			bad.push(what + ": " + e.tagName + "." + e.className + " ends at " + box.right);
	});
}
check("first");
for (var i = 1; i < tabs.length; i++) { click(tabs[i]); check("tab " + i); }
var cells = document.querySelector("#kernels tbody tr").cells;
return { bad: bad.slice(0, 5), label: getComputedStyle(cells[1], "::before").content,
	first: cells[0].getBoundingClientRect().top < cells[1].getBoundingClientRect().top };""", "500,900")
        equal(answer, {"bad": [], "label": '"GPU time "', "first": True}, name)


# Bars of frames as a reader sees them: on time and late, with the texts at the pointer.
FRAMES = """
var section = document.querySelector("#frames"), plot = section.querySelector(".plot");
function title(element) { return element.querySelector("title").textContent; }
function height(element) { return element.querySelector("rect").getBoundingClientRect().height; }
var late = Array.from(plot.querySelectorAll("g.late")), bars = Array.from(plot.querySelectorAll("rect"));
var r = { sentence: section.querySelector("p").textContent, what: section.querySelector(".what").textContent,
	about: section.querySelector(".swapchain").textContent, bars: bars.length, late: late.map(title),
	colours: late.map(function (g) { return getComputedStyle(g).fill; }),
	on_time: getComputedStyle(bars[0]).fill, limit: plot.querySelector("u").getBoundingClientRect().bottom,
	limit_text: section.querySelector(".limit").textContent,
	over: bars.filter(function (bar) { return bar.getBoundingClientRect().top < plot.querySelector("u").getBoundingClientRect().bottom - 1; }).length,
	letters: Array.from(plot.querySelectorAll("b")).map(function (b) { return b.textContent; }).sort(),
	legend: Array.from(section.querySelectorAll(".late-legend span")).map(function (s) { return s.textContent; }),
	rows: Array.from(section.querySelectorAll("tbody tr")).map(function (row) { return Array.from(row.cells).map(function (cell) { return cell.textContent; }); }) };
"""


@test
def frame_times():
    """A report has a bar for each frame; a late one has a colour, a letter and a reason, and leads to its time"""
    answer = run("frames.html", FRAMES + """
function shown() { return document.querySelector(".timeline").getAttribute("data-shown").split(" ").map(Number); }
click(late[1].querySelector("rect")); r.bar = shown();
r.chosen = section.querySelector("tr[aria-selected=true]").cells[0].textContent;
click(section.querySelectorAll("tbody tr")[0].cells[1]); r.row = shown();
document.body.style.width = "400px";
r.wide = Array.from(section.querySelectorAll("*")).filter(function (e) {
	return !e.ownerSVGElement && e.getBoundingClientRect().right > 401; }).map(function (e) { return e.tagName + "." + e.className; });
return r;""", "500,900")
    grew = 'draw <shadows> & "sky" grew from 2.00ms to 22.0ms'
    made = "vkCreateGraphicsPipelines grew from 0ns to 200ms"
    equal(answer["sentence"], f"3 of 240 frames were late: 1 waited for the GPU ({grew}), "
          f"1 made pipelines or shaders ({made}), 1 without evidence.")
    equal((answer["bars"], answer["over"]), (240, 3))
    equal(answer["late"], [f"frame 52: 36.0\u00a0ms, waited for the GPU: {grew}",
                           f"frame 122: 216\u00a0ms, made pipelines or shaders: {made}",
                           "frame 202: 46.0\u00a0ms, without evidence: nothing recorded says why"])
    equal(len(set(answer["colours"] + [answer["on_time"]])), 4, "colours")
    equal(answer["letters"], ["?", "G", "P 216\u00a0ms"])
    equal(answer["limit_text"], "late: over 24.0\u00a0ms")
    equal(answer["legend"], ["Gwaited for the GPU: 1", "Pmade pipelines or shaders: 1", "?without evidence: 1"])
    equal([row[0] for row in answer["rows"]], ["52", "122", "202"])
    equal(answer["rows"][0][1:], ["800\u00a0ms", "36.0\u00a0ms", f"Gwaited for the GPU {grew}",
                                  "--from\u00a0800ms --to\u00a0836ms"])
    assert "click a late one" in answer["what"], answer["what"]
    equal((answer["bar"], answer["chosen"]), ([1940e6 - 21.6e6, 2156e6 + 21.6e6], "122"))
    equal(answer["row"], [800e6 - 3.6e6, 836e6 + 3.6e6])
    equal(answer["wide"], [], "wider than a narrow screen")


@test
def many_frames():
    """With many frames a bar is the longest of several, no late one is lost, and letters do not overlap"""
    answer = run("many-frames.html", FRAMES + """
r.boxes = Array.from(plot.querySelectorAll("b")).map(function (b) { var box = b.getBoundingClientRect();
	return [box.left, box.right, box.top, box.bottom]; });
r.thinnest = Math.min.apply(null, late.map(function (g) { return g.querySelector("rect").getBoundingClientRect().width; }));
click(late[late.length - 1].querySelector("rect"));
r.chosen = section.querySelector("tr[aria-selected=true]").getBoundingClientRect().height;
return r;""")
    equal((answer["bars"], len(answer["late"]), len(answer["rows"])), (1000, 120, 120))
    assert answer["sentence"].startswith("120 of 12000 frames were late: 40 waited for the GPU"), answer["sentence"]
    assert "a bar is the longest of up to 12 frames" in answer["about"], answer["about"]
    assert re.match(r"frame 52: 36\.0\u00a0ms, the longest of 12, waited for the GPU: ", answer["late"][0]), answer["late"][0]
    assert answer["thinnest"] > 2, answer["thinnest"]
    assert answer["chosen"] > 0, "the row of the last one is folded"
    for i, (left, right, top, bottom) in enumerate(answer["boxes"]):
        for other in answer["boxes"][:i]:
            assert right <= other[0] + 1 or left >= other[1] - 1 or bottom <= other[2] + 1 or top >= other[3] - 1, \
                f"letters overlap: {answer['boxes'][i]} {other}"
