# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""An X server without a screen."""
import contextlib
import os
import shutil
import subprocess


@contextlib.contextmanager
def xserver():
    """DISPLAY is set to it. Without Xvfb there is none."""
    program = shutil.which("Xvfb")
    os.environ.pop("DISPLAY", None)
    if not program:
        yield
        return
    ours, its = os.pipe()
    with subprocess.Popen([program, "-displayfd", str(its), "-screen", "0", "640x480x24", "-nolisten", "tcp", "-noreset"],
                          pass_fds=[its], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        os.close(its)
        try:
            with os.fdopen(ours, encoding="ascii") as file:
                os.environ["DISPLAY"] = f":{file.readline().strip()}"
                yield
        finally:
            server.terminate()
