# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The ring with the real injection library, in a program with stand-ins of CUDA's (tests/inject)."""
import os
import signal

from check_continuous import captures, wait_captures
from check_injected import check_account, check_jit, check_paths, environment, record, show
from kit import equal, test, until


def take_out(kit, name):
    """Make a capture of the ring in "capture" the only one, as that of a plain recording."""
    os.rename(kit.path(name), kit.path("taken"))
    os.rename(kit.path("capture"), kit.path("ring"))
    os.rename(kit.path("taken"), kit.path("capture"))


@test
def all_of_a_program(kit):
    record(kit, "threads", 1400, 6, options=("--continuous", "--graphs=nodes"))
    take_out(kit, *captures(kit, "capture"))
    check_account(kit, show(kit))
    check_paths(kit)


@test
def generated_code_of_a_live_process(kit):
    """Its names are in a capture that is written while it runs."""
    variables = environment(kit)
    library_path = variables.pop("LD_LIBRARY_PATH")
    process = kit.start("record", "-q", "--continuous", "-o", "capture", "--", "env",
                        f"LD_LIBRARY_PATH={library_path}", os.path.join(kit.inject, "program"), "jit",
                        "1000000", "1000", env=variables)
    until(lambda: os.path.exists(kit.path("capture/.ring/0")) and
          os.path.getsize(kit.path("capture/.ring/0")) > 1000, "something is recorded")
    process.send_signal(signal.SIGUSR1)
    first = wait_captures(kit, 1, "capture")[0]
    equal(kit.end(process, signal.SIGTERM).returncode, 128 + signal.SIGTERM, "status")
    take_out(kit, first)
    row, = kit.capture().processes
    os.unlink(f"/tmp/perf-{row['host_pid']}.map")
    check_jit(kit, row["launches"], "a live process")
