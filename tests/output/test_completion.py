# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What bash, zsh and fish complete, each with its file of user/completion and its own completion.

In bash and zsh a key puts all that a word can be into the line, which is then run: a script in place of
gpumon-user notes its arguments, and passes on only the questions of completion.
"""
import contextlib
import os
import pathlib
import pty
import select
import shutil
import subprocess
import tempfile
import time

import check
from check import SLOWER, Skip, equal, test

FILES = pathlib.Path(__file__).resolve().parents[2] / "user/completion"
SECONDS = 20 * SLOWER

# A line, and what its last word can be.
CASES = (
    ("do", ["doctor"]),
    ("help fl", ["flamegraph"]),
    ("stat --so", ["--source"]),
    ("stat --source ", ["auto", "bpf", "module"]),
    ("stat --source=m", ["--source=module"]),
    ("stat -i 1 --re", ["--reset"]),
    ("stat --group drm", ["drm_sched", "drm_vblank"]),
    ("export --p", ["--perfetto", "--pprof", "--processes"]),
    ("record --graphs=wh", ["--graphs=whole"]),
    ("record --no-d", ["--no-driver"]),
    ("record --gpu", ["--gpu-metrics"]),
    ("record -- pro", ["program.sh"]),
    ("record program.sh --no", []),
    ("report pic", ["picture.svg"]),
    ("flamegraph x -o pic", ["picture.svg"]),
    ("flamegraph x --output=pic", ["--output=picture.svg"]),
    ("flamegraph x --count --fol", ["--folded"]),
    ("probe launchl", ["launchlate"]),
    ("set drm_sched o", ["off", "on"]),
    ("set drm_sched on hang ", ["off"]),
    ("doctor d", ["driver"]),
    ("metrics --run-as nobod", ["nobody"]),
    ("metrics --format te", ["text"]),
    ("nonsense --", []),
)

SCRIPT = """#!/bin/sh
[ "$1" != --complete ] || exec '{program}' "$@"
printf '%s\\n' "$@" END >'{folder}/said.new'
mv '{folder}/said.new' '{folder}/said'
"""
BASH = """PS1='ready>'
source '{files}/gpumon-user.bash'
bind '"\\C-xa": insert-completions'
"""
ZSH = """PS1='ready>'
fpath=('{folder}/functions' $fpath)
autoload -Uz compinit
compinit -u -D
zle -C all-matches complete-word _generic
bindkey '^Xa' all-matches
zstyle ':completion:all-matches:*' insert yes
zstyle ':completion:all-matches::::' completer _all_matches _complete
"""


@contextlib.contextmanager
def prepared(shell):
    """A folder with the script, and files to complete; its environment."""
    if not shutil.which(shell):
        raise Skip(f"{shell} is not installed")
    with tempfile.TemporaryDirectory(prefix="gpumon-completion-") as name:
        folder = pathlib.Path(name)
        for part in ("bin", "functions", "files"):
            (folder / part).mkdir()
        script = folder / "bin/gpumon-user"
        script.write_text(SCRIPT.format(program=check.program, folder=folder), encoding="utf-8")
        script.chmod(0o755)
        shutil.copy(FILES / "gpumon-user.zsh", folder / "functions/_gpumon-user")
        (folder / "bashrc").write_text(BASH.format(files=FILES), encoding="utf-8")
        (folder / ".zshrc").write_text(ZSH.format(folder=folder), encoding="utf-8")
        for file in ("picture.svg", "program.sh"):
            (folder / "files" / file).touch()
        yield folder, {"PATH": f"{folder}/bin:{os.environ['PATH']}", "HOME": name, "ZDOTDIR": name, "TERM": "dumb",
                       "LC_ALL": "C.UTF-8"}


class Shell:
    """An interactive shell on a terminal of its own."""
    def __init__(self, command, folder, environment):
        self.folder, self.text = folder, b""
        self.terminal, end = pty.openpty()
        self.process = subprocess.Popen(command, cwd=folder / "files", env=environment, stdin=end, stdout=end, stderr=end,
                                        start_new_session=True)
        os.close(end)

    def wait(self, is_there, what):
        limit = time.monotonic() + SECONDS
        while not is_there():
            assert time.monotonic() < limit, f"no {what}, but: {self.text[-400:]!r}"
            if select.select([self.terminal], [], [], 0.02)[0]:
                self.text += os.read(self.terminal, 4096)

    def ask(self, line):
        said = self.folder / "said"
        self.wait(lambda: b"ready>" in self.text, "prompt")
        self.text = b""
        os.write(self.terminal, f"gpumon-user {line}\x18a\n".encode())
        self.wait(said.exists, "answer")
        words = said.read_text(encoding="utf-8").split("\n")[:-2]
        said.unlink()
        typed = line.split(" ")
        before = typed[:-1]
        equal(words[:len(before)], before, line)
        # A shell that has nothing leaves the word as it is.
        return sorted(word for word in words[len(before):] if word != typed[-1])

    def end(self):
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)


def in_terminal(name, *arguments):
    with prepared(name) as (folder, environment):
        shell = Shell([name, *(argument.format(folder=folder) for argument in arguments)], folder, environment)
        try:
            for line, wanted in CASES:
                equal(shell.ask(line), wanted, line)
        finally:
            shell.end()


@test
def bash():
    """bash"""
    in_terminal("bash", "--rcfile", "{folder}/bashrc", "-i")


@test
def zsh():
    """zsh"""
    in_terminal("zsh", "-i")


@test
def fish():
    """fish, which also shows descriptions"""
    with prepared("fish") as (folder, environment):
        asked = "\n".join(f"complete -C 'gpumon-user {line}'; echo :end" for line, _ in CASES)
        said = subprocess.run(["fish", "--no-config", "-c", f"source {FILES}/gpumon-user.fish\n{asked}"],
                              cwd=folder / "files", env=environment, capture_output=True, text=True, check=True,
                              timeout=6 * SECONDS).stdout.split(":end\n")
        for (line, wanted), text in zip(CASES, said):
            equal(sorted(one.split("\t")[0] for one in text.splitlines()), wanted, line)
        equal(said[0].split("\t")[1].strip(), "Check this machine for what keeps gpumon from working: a line each, with the fix",
              "description")
