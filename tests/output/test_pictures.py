# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""SVG and HTML as files: well-formed, complete, nothing loaded from elsewhere."""
import html.parser
import json
import re
import xml.etree.ElementTree as ElementTree

from check import equal, files, test

SVG = "{http://www.w3.org/2000/svg}"
PICTURES = sorted(path.name for path in files.glob("*.svg"))
PAGES = sorted(path.name for path in files.glob("*.html"))


def frames(name):
    root = ElementTree.fromstring((files / name).read_bytes())
    return root, [g for g in root.iter(SVG + "g") if g.get("class") == "f"]


@test
def well_formed():
    """Every SVG is well-formed XML, also with hostile names, and its script is complete"""
    assert len(PICTURES) >= 11, PICTURES
    for name in PICTURES:
        root, _ = frames(name)
        equal(root.tag, SVG + "svg", name)
        script = root.find(SVG + "script").text
        assert script.rstrip().endswith("gpumonFlame(document.documentElement);"), name
        assert "SPDX" not in script + root.find(SVG + "style").text, name


@test
def frames_lie_on_their_parents():
    """Frames lie on their parents, beside each other, as wide as they weigh"""
    for name in PICTURES:
        root, found = frames(name)
        total = int(root.get("data-total"))
        rows, above = {}, []
        for g in found:
            start, value, depth = (int(g.get(f"data-{key}")) for key in "svd")
            rect = g.find(SVG + "rect")
            x, width = float(rect.get("x")), float(rect.get("width"))
            assert abs(width - 1180 * value / total) < 0.02, f"{name}: {width}"
            assert abs(x - 10 - 1180 * start / total) < 0.02, f"{name}: {x}"
            assert width >= 0.095, f"{name}: narrower than what is drawn"
            del above[depth:]
            equal(len(above), depth, f"{name}: a frame without its parent")
            if above:
                assert above[-1][0] <= start and start + value <= above[-1][1], name
            above.append((start, start + value))
            rows.setdefault(rect.get("y"), []).append((start, start + value))
        for row in rows.values():
            row.sort()
            for one, other in zip(row, row[1:]):
                assert one[1] <= other[0], f"{name}: frames overlap"


@test
def texts_fit():
    """Labels fit into their frames"""
    for name in PICTURES:
        for g in frames(name)[1]:
            text = g.find(SVG + "text")
            if text is not None:
                width = float(g.find(SVG + "rect").get("width"))
                assert 7.25 * len(text.text) <= width - 7.9, f"{name}: {text.text}"


@test
def titles_tell():
    """A frame's title has its name, place, time, part and number"""
    root, found = frames("training.svg")
    titles = [g.find(SVG + "title").text.split("\n") for g in found]
    copy = [title for title in titles if title[0] == "[copy pinned to device]"]
    equal(copy, [["[copy pinned to device]", "32.4\u00a0ms of GPU time · 11.6% of all · 400 times",
                  "1.64\u00a0ms in the calls that launched it"]])
    step = [title for title in titles if title[0] == "train_step"]
    equal(step[0][1], "train.py:97 · train.py")
    texts = " ".join(text.text or "" for text in root.iter(SVG + "text"))
    assert "Missing: 44 records lost" in texts, texts
    _, found = frames("huge.svg")
    assert any("18,446,744,073,709,551,615 times" in g.find(SVG + "title").text for g in found)


@test
def empty_says_so():
    """An empty profile says that there is nothing"""
    root, found = frames("empty.svg")
    equal(found, [])
    assert any("Nothing to show" in (text.text or "") for text in root.iter(SVG + "text"))


@test
def narrow_time_is_kept():
    """Frames too narrow to draw are counted, and their time stays in their callers"""
    root, found = frames("training.svg")
    drawn = [g for g in found if g.find(SVG + "title").text.startswith("[launched by CUDA]")]
    equal(drawn, [], "a frame of 0.04 px")
    texts = [text.text or "" for text in root.iter(SVG + "text")]
    assert any(text.endswith("frames too narrow to draw") for text in texts), texts
    tree = json.loads((files / "training.json").read_text())
    equal(int(root.get("data-total")), tree["recording"]["gpu_ns"])


@test
def nothing_from_elsewhere():
    """Nothing is loaded from elsewhere: the files work offline"""
    for name in PICTURES + PAGES:
        text = (files / name).read_text(encoding="utf-8")
        text = text.replace("http://www.w3.org/", "")
        found = re.findall(r"https?:|\b(?:src|href)\s*=|url\(|@import|fetch\(|XMLHttp", text)
        equal(found, [], name)


class Checker(html.parser.HTMLParser):
    VOID = {"meta", "br", "input"}

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.text = [], [], []

    def handle_starttag(self, tag, attributes):
        self.ids += [value for key, value in attributes if key == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> within {self.open}"
        self.open.pop()

    def handle_data(self, data):
        if "script" not in self.open and "style" not in self.open:
            self.text.append(data)


@test
def pages_are_whole():
    """HTML elements are closed in order, and ids are unique"""
    for name in PAGES:
        checker = Checker()
        checker.feed((files / name).read_text(encoding="utf-8"))
        equal(checker.open, [], name)
        equal(len(checker.ids), len(set(checker.ids)), name)


@test
def report_has_all():
    """The report has every part in its order: the verdict, what is missing, and so on"""
    checker = Checker()
    checker.feed((files / "training.html").read_text(encoding="utf-8"))
    equal([part for part in checker.ids if not part.endswith("-table")],
          ["verdict", "missing", "timeline", "threads", "flame", "paths", "paths-gpu", "paths-wall", "paths-idle",
           "kernels", "latency", "ranges", "gaps", "devices", "processes", "functions", "lines"])
    text = "".join(checker.text)
    for part in ["python3 train.py", "Missing: 44 records lost", "the channel to the recorder was full", "79.4%", "stream 13",
                 "cudaStreamSynchronize", 'load <batch> & "go"', "p99"]:
        assert part in text, part


@test
def report_is_small():
    """A report stays below a megabyte, whatever the number of its paths, kernels and threads"""
    for name in PAGES:
        size = (files / name).stat().st_size
        assert size < 1000000, f"{name}: {size} bytes"


@test
def windows_have_one_share():
    """The report's timeline and its table say the same share for time in which a part was recorded"""
    page = (files / "windows.html").read_text(encoding="utf-8")
    timeline = re.findall(r'<div class="row (?:device|stream)">.*?</b><em>(.*?)</em>', page)
    table = re.findall(r'share" [^>]*>(?:<i [^>]*></i>)?<span>(.*?)</span>', page[page.index('id="devices"'):])
    equal(table, ["50.3%"] * 2, "the table")
    equal(timeline, table, "the timeline")


@test
def frames_of_a_part():
    """A report of a part has the frames that begin in it, late by what is usual in all of the recording"""
    page = (files / "frames.part.html").read_text(encoding="utf-8")
    section = page[page.index('<section id="frames">'):page.index('<section id="timeline">')]
    assert ">1 of 24 frames were late: 1 waited for the GPU (" in section, section[:500]
    assert "only frames that begin in this part of the recording, late by the median of all of it" in section
    assert "late: over 24.0\u00a0ms" in section
    equal(len(re.findall("<rect ", section)), 24)
    # The timeline begins with the part, and words of the command line count from the beginning of the recording.
    equal(re.findall(r'<g class="late late-(.*?)" data-row="late-0" data-part="(.*?)">', section),
          [("gpu", "100000000 136000000")])
    equal(re.findall(r"--from&#160;\S+ --to&#160;[^<]+", section), ["--from&#160;800ms --to&#160;836ms"])


@test
def no_presents_no_frames():
    """A report of a program that presents nothing has no frames"""
    for name in ["training.html", "budget.html", "windows.html"]:
        assert 'id="frames"' not in (files / name).read_text(encoding="utf-8"), name
