# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Programs of others that show images: vkcube, and MangoHud, which measures frame times, too."""
import csv
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile

import capture
from capture import LIMIT, SLOWER, Capture, Skip, check, equal
from recorded import variables

MANGOHUD = "/usr/share/vulkan/implicit_layer.d/MangoHud.json"


def need_program(name):
    if "DISPLAY" not in os.environ:
        raise Skip("no X server (xvfb)")
    found = shutil.which(name)
    if not found:
        raise Skip(f"no {name}")
    return found


def test_vkcube():
    """vkcube shows as many images as it is told to, and ends as without gpumon"""
    command = [need_program("vkcube"), "--c", "40", "--width", "100", "--height", "100"]
    alone = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False, timeout=LIMIT,
                           env=capture.environment(**variables()))
    run = Capture(program=command, **variables())
    equal((run.done.returncode, run.output), (alone.returncode, alone.stdout), "status, output")
    chain, = run["swapchain"]
    equal((chain.width, chain.height, chain.old), (100, 100, 0), "swapchain")
    equal(sorted(record.number for record in run["present"]), list(range(1, 41)), "presents")
    equal({(record.swapchain, record.flags) for record in run["present"]}, {(chain.id, 0)}, "swapchain, flags")
    equal(run["loss"], [], "losses")


def mangohud_log(folder):
    """Frame times, ns."""
    path, = (path for path in pathlib.Path(folder).glob("*.csv") if not path.name.endswith("_summary.csv"))
    lines = path.read_text(encoding="ascii").splitlines()
    # The first one also has what MangoHud does to begin.
    return [int(line["frametime"]) * 1000 for line in csv.DictReader(lines[2:])][1:]


def run_with_mangohud(program, rounds, seconds):
    with tempfile.TemporaryDirectory(dir=capture.objects) as folder:
        # The first line comes some time after a second, and the file after some more.
        config = f"output_folder={folder},autostart_log=1,log_duration={seconds},log_interval=0,no_display"
        return (Capture(rounds, program=[program], MANGOHUD="1", MANGOHUD_CONFIG=config, **variables()),
                mangohud_log(folder))


def is_moved(pairs, number):
    """A thread that is stopped between the two in a call has that time in one frame by the one, and in the next or the
    one before by the other: together these two frames are as long by both. What is beside the first and last is not known.
    """
    def differ(*numbers):
        return abs(sum(pairs[i][0] - pairs[i][1] for i in numbers))
    beside = (number - 1, number + 1)
    return not all(0 <= other < len(pairs) for other in beside) or min(differ(number, other) for other in beside) < differ(number) / 2


def test_mangohud():
    """MangoHud's frame times of the same run are gpumon's: both are measured in the call, one after the other"""
    program = f"{capture.objects}/stutter"
    need_program("mangohud")
    if os.environ.get("SANITIZE"):
        raise Skip("frame times are those of a build without sanitizers")
    if not os.path.exists(MANGOHUD):
        raise Skip("no layer of MangoHud")
    # On a busy machine it logs little in that time.
    for rounds, seconds in ((3, 2), (10, 8), (20, 20)):
        run, theirs = run_with_mangohud(program, rounds, seconds)
        if len(theirs) > 20:
            break
    check(len(theirs) > 20, f"MangoHud has {len(theirs)} frames")
    starts = sorted(record.start_ns for record in run["present"])
    ours = [after - before for before, after in zip(starts, starts[1:])]

    def differences(at):
        return [abs(time - own) for time, own in zip(theirs, ours[at:])]
    at = min(range(len(ours) - len(theirs) + 1), key=lambda at: sum(differences(at)))
    found = sorted(differences(at))
    # What MangoHud does in the call before it goes on differs from call to call, and a busy machine may stop it there.
    check(statistics.median(found) < 300000 * SLOWER and found[len(found) * 3 // 4] < 3 * 10**6 * SLOWER,
          f"frame times differ by {found}")
    pairs = list(zip(theirs, ours[at:]))
    late = [number for number, pair in enumerate(pairs) if max(pair) > 70 * 10**6]
    check(late and all(min(pairs[number]) > 50 * 10**6 or is_moved(pairs, number) for number in late),
          f"late frames, MangoHud's and gpumon's: {[pairs[max(number - 1, 0):number + 2] for number in late]}")
