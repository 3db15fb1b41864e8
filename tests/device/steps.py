# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The output of a run on a GPU machine: checks, figures and skips; and steps that run one after
the other.
"""
import json
import os
import signal
import sys
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from verdict import Skip, need  # noqa: E402,F401

OUT = os.path.abspath(os.environ.get("OUT") or "gpu-out")

lines = []
figures = {}
counts = {"ok": 0, "not ok": 0, "skip": 0}


class Late(Exception):
    """The step took longer than allowed."""


def say(text):
    lines.append(text)
    print(text, flush=True)
    with open(os.path.join(OUT, "summary.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def note(text):
    say(f"#   {text}")


def check(is_true, text, detail=""):
    result = "ok" if is_true else "not ok"
    counts[result] += 1
    detail = " ".join(str("" if detail is None else detail).split())
    say(f"{result} {text}" + (f" ({detail})" if detail else ""))
    return bool(is_true)


def equal(is_, should, text):
    return check(is_ == should, f"{text}: {should}", "" if is_ == should else f"it is {is_}")


def skip(text, reason):
    counts["skip"] += 1
    say(f"skip {text}: {reason}")


def figure(name, value):
    """Keep a number, or anything that JSON can represent."""
    figures[name] = value
    with open(os.path.join(OUT, "figures.json"), "w", encoding="utf-8") as file:
        json.dump(figures, file, indent=1)


def _late(_number, _frame):
    raise Late()


def run_step(name, function, limit):
    """A failing step does not stop the next one."""
    begin = time.monotonic()
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(limit)
    try:
        function()
    except Skip as reason:
        skip(name, reason)
    except Late:
        check(False, f"{name}: took more than {limit} s")
    except Exception as error:  # pylint: disable=broad-except
        signal.alarm(0)
        check(False, f"{name}: {type(error).__name__}: {str(error)[-500:]}")
        with open(os.path.join(OUT, "errors.txt"), "a", encoding="utf-8") as file:
            file.write(f"--- {name}\n")
            traceback.print_exc(file=file)
    finally:
        signal.alarm(0)
    say(f"# {name}: {time.monotonic() - begin:.1f} s")


def finish(begin):
    say(f"# {counts['ok']} ok, {counts['not ok']} not ok, {counts['skip']} skipped, "
        f"{time.monotonic() - begin:.0f} s")
    return 1 if counts["not ok"] else 0
