# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Single changes of the code, as the lists of this folder have them.

    title
    	in FUNCTION
    	- text that is there
    	+ text that takes its place
    	test SUITE NAME

"in" is left out where the text is once in all of the code. Blanks, tabs and line ends of the text count
as one blank, and a text of several lines has several lines with "-". Without "+" the text goes.
"test" is the test that notices the change.
"""
import pathlib
import re

# Folders that are tested without a VM.
ROOTS = ("user", "inject", "kmod/btf")


class Wrong(Exception):
    """The list does not match the code. The message says what to do."""


class Mutant:
    def __init__(self, source, title):
        self.source, self.title = source, title
        self.function, self.test = None, None
        self.old, self.new = [], []

    @property
    def name(self):
        return f"{self.source}: {self.title}"

    def take(self, line):
        """A line of the list."""
        word, _, rest = line.partition(" ")
        if word == "in":
            self.function = rest
        elif word == "-":
            self.old.append(rest)
        elif word == "+":
            self.new.append(rest)
        elif word == "test":
            self.test = tuple(rest.split(None, 1))
        else:
            raise Wrong(f"{self.name}: a line begins with {word!r}")

    def finish(self):
        if not self.old or not self.test or len(self.test) != 2:
            raise Wrong(f"{self.name}: it needs a line with -, and one with test SUITE NAME")
        self.old, self.new = "\n".join(self.old), "\n".join(self.new)


def read(path):
    """The changes of a list."""
    mutants = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line[0] != "\t":
            mutants.append(Mutant(path.stem, line))
        elif not mutants:
            raise Wrong(f"{path.name}:{number}: a line before the first title")
        else:
            mutants[-1].take(line[1:])
    for mutant in mutants:
        mutant.finish()
    return mutants


def sources(top):
    for root in ROOTS:
        for pattern in ("*.c", "*.h", "*.js"):
            yield from sorted(pathlib.Path(top, root).rglob(pattern))


def body(text, function):
    """(begin, end) of a function's definition, None if the file has none."""
    found = re.search(rf"^(?![ \t#/*])[^\n;{{}}]*\b{re.escape(function)}\([^;{{}}]*?\)\s*\n?\{{.*?^\}}", text,
                      re.MULTILINE | re.DOTALL)
    return found and found.span()


def pattern_of(text):
    return re.compile(r"\s+".join(re.escape(word) for word in text.split()))


class Code:
    """The code below a folder, and where things are in it."""
    def __init__(self, top):
        self.texts = {path: path.read_text(encoding="utf-8") for path in sources(top)}

    def place(self, mutant):
        """(path, begin, end) of the text that a change takes away."""
        pattern, places = pattern_of(mutant.old), []
        for path, text in self.texts.items():
            span = 0, len(text)
            if mutant.function:
                if mutant.function not in text:
                    continue
                span = body(text, mutant.function)
                if not span:
                    continue
            places += [(path, found.start(), found.end()) for found in pattern.finditer(text, *span)]
        if len(places) != 1:
            where = f" in {mutant.function}" if mutant.function else ""
            raise Wrong(f"{mutant.name}: its text is there {len(places)} times{where}")
        return places[0]

    def apply(self, mutant):
        """(path, its text with the change)"""
        path, begin, end = self.place(mutant)
        text = self.texts[path]
        return path, text[:begin] + mutant.new + text[end:]
