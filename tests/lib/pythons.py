# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The Pythons of this machine."""
import glob
import os
import re
import subprocess


def interpreters(oldest, newest=14):
    """Debian's and those of pyenv: (version, path). From 3.@oldest on."""
    pyenv = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    for path in sorted(glob.glob("/usr/bin/python3.*") + glob.glob(pyenv + "/versions/3.*/bin/python3")):
        if path.endswith("-config") or not os.access(path, os.X_OK):
            continue
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
        version = re.match(r"Python 3\.(\d+)", said)
        if version and oldest <= int(version[1]) <= newest:
            yield said.split()[1], path
