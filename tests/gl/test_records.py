# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What is recorded of a real driver, against what the program counted itself."""
import json
import os
import re
import shutil
import subprocess

import capture
from capture import Capture, Skip, check, contains, equal, preload
from recorded import OPENGL, Recorded, bare, variables, with_gl


def egl(way, binary):
    words = (way, "egl", 5)
    run = Recorded(*words).equals_account().equals_bare(*words)
    equal(run.functions(), {"eglSwapBuffers": 10}, "functions")
    equal({(chain.width, chain.height) for chain in run["swapchain"]}, {(32, 32)}, "sizes")
    equal(run.innermost(), {binary: 10}, "files of the functions that present")


def test_egl_linked():
    """a program that is linked with EGL: each swap of its two surfaces, results are those without gpumon"""
    egl("linked", "linked")


def test_egl_dlsym():
    """a program that opens EGL's library and asks for its functions"""
    egl("dlsym", "program")


def test_egl_lookup():
    """a program that has eglSwapBuffers from eglGetProcAddress"""
    egl("lookup", "program")


def test_threads():
    """two threads present to two surfaces each at the same time, the first one included"""
    run = Recorded("dlsym", "threads", 20).equals_account().equals_bare("dlsym", "threads", 20)
    equal((len({present.tid for present in run["present"]}), len(run["swapchain"])), (2, 4), "threads, surfaces")


def with_x(way, mode, frames=8, **more):
    if "DISPLAY" not in os.environ:
        raise Skip("there is no Xvfb")
    run = Recorded(way, mode, frames, **more).equals_bare(way, mode, frames, **more)
    equal(run.innermost(), {"linked" if way == "linked" else "program": len(run.account)}, "files")
    return run


def test_glx():
    """GLX in windows, in each way to get its functions: the size of a window is not asked for"""
    for way in "linked", "dlsym", "lookup":
        run = with_x(way, "glx").equals_account()
        equal(run.functions(), {"glXSwapBuffers": 16}, f"functions, {way}")
        equal({(chain.width, chain.height) for chain in run["swapchain"]}, {(0, 0)}, "sizes")


# Late frames of "stutter": by the function that is late.
REASONS = {"simulate_crowd": ("cpu", None), "load_level": ("blocked", "sleep")}


def wrong(run):
    """Frames that are late by plan, and for which "frames" says something else than the planted reason, function, line."""
    done = subprocess.run([capture.tool, "frames", "--json", run.path], stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    said = json.loads(done.stdout)
    equal([(chain["api"], chain["swapchain"], chain["frames"]) for chain in said["swapchains"]], [("OpenGL", 1, 59)], "swapchains")
    rows = {row["frame"]: row for row in said["late_frames"]}
    found = {}
    for frame, function, first, last in run.said("late"):
        row = rows.get(int(frame))
        line = re.fullmatch(re.escape(function) + r"\(\) .*\bprogram\.c:(\d+)", row and row["name"] or "")
        if not line or not int(first) <= int(line[1]) <= int(last) or (row["reason"], row["blocked"]) != REASONS[function]:
            found[function] = row
    return found


def test_frames():
    """`frames` names the function and line of a frame that computes for long, and of one that sleeps"""
    # The library's thread does not come to look often enough where others take the processors.
    for _ in range(4):
        run = with_x("dlsym", "stutter", 60).equals_account()
        equal(len(run.said("late")), 2, "frames that are late by plan")
        if not wrong(run):
            break
    equal(wrong(run), {}, "reasons that frames does not find")
    text = subprocess.run([capture.tool, "frames", run.path], stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout
    contains(text, "Swapchain 1 (OpenGL): 59 frames", "text")
    contains(text, "known of OpenGL only by jobs of the gpumon module", "text")


def test_frames_of_nothing():
    """without --gl nothing is preloaded, and both `record` and `frames` name it"""
    words = ["sh", "-c", "echo $LD_PRELOAD; exec \"$0\" linked egl 1", f"{capture.objects}/linked"]
    run = Capture(program=words, expect=0, **variables())
    check("gpumon" not in run.output, f"LD_PRELOAD: {run.output}")
    run = Capture("linked", "egl", 1, program=[f"{capture.objects}/linked"], expect=0, **variables())
    contains(run.done.stderr, "was not recorded with --gl", "record")
    done = subprocess.run([capture.tool, "frames", run.path], stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    contains(done.stderr, "record --gl", "frames")
    equal(done.returncode, 1, "status of frames")


def test_not_beside():
    """a library that was copied alone: it is said that nothing is recorded of OpenGL, and the program runs"""
    os.makedirs(f"{capture.objects}/alone", exist_ok=True)
    library = shutil.copy(f"{capture.objects}/libgpumon-inject.so", f"{capture.objects}/alone")
    run = Recorded("dlsym", "egl", 1, expect=0, GPUMON_INJECT=library)
    equal(len(run.account), 2, "what the program presented")
    contains(run.summary(), "nothing is recorded of OpenGL: gpumon-preload/libgpumon-preload-gl.so is not beside", "summary")


def test_glx_msc():
    """glXSwapBuffersMscOML is counted in the same surface, also where the driver refuses it"""
    run = with_x("dlsym", "glx", PROGRAM_MSC="1")
    equal(run.functions(), {"glXSwapBuffers": 12, "glXSwapBuffersMscOML": 4}, "functions")
    for chain in run["swapchain"]:
        equal(sorted(present.number for present in run["present"] if present.swapchain == chain.id), list(range(1, 9)),
              "numbers")
    for present in run["present"]:
        equal(present.flags, int(present.result != 0), f"flags of {present}")


def test_window():
    """EGL in a window, with damage: its size is known"""
    run = with_x("dlsym", "window", PROGRAM_DAMAGE="1").equals_account()
    equal(run.functions(), {"eglSwapBuffers": 6, "eglSwapBuffersWithDamageKHR": 2}, "functions")
    chain, = run["swapchain"]
    equal((chain.width, chain.height, chain.id), (32, 64, OPENGL | 1), "swapchain")


def test_wrong():
    """a swap of a surface that is gone fails as without gpumon, and EGL's error is the program's"""
    run = Recorded("dlsym", "wrong").equals_bare("dlsym", "wrong")
    present, = run["present"]
    equal((present.flags, present.result, present.number), (1, -1, 1), "flags, result, number")
    chain, = run["swapchain"]
    equal((chain.width, chain.height), (0, 0), "size")


def test_quiet():
    """a program that uses EGL and presents nothing never has gpumon's library"""
    run = Recorded("dlsym", "quiet", expect=0)
    equal(run.said("library"), [["0"]], "library")
    contains(run.done.stderr, "no process used", "record")
    run.equals_bare("dlsym", "quiet")


def test_dlsym():
    """what dlsym() finds in all libraries, in the program and in the next library is as without gpumon"""
    run = Recorded("dlsym", "ask", expect=0)
    equal(run.output, bare("dlsym", "ask").stdout, "answers")


def test_counts():
    """`record` says how many images were presented, and `correlate` reads the capture"""
    run = Recorded("dlsym", "egl", 3)
    contains(run.done.stderr, " 6 presents, ", "record")
    check("nothing was recorded" not in run.done.stderr, run.done.stderr)
    check(run.summary(), "correlate says nothing")


def test_no_stacks():
    """without stacks the presents are there all the same"""
    run = Recorded("dlsym", "egl", 3, options=("--no-stacks",))
    equal(len(run["present"]), 6, "presents")
    equal({present.stack for present in run["present"]}, {0}, "stacks")


def test_zink():
    """OpenGL on Vulkan: swaps are OpenGL's and submissions Vulkan's, in one capture"""
    more = {"GALLIUM_DRIVER": "zink"}
    if bare("dlsym", "egl", 1, **more).returncode:
        raise Skip("Mesa has no zink, or no driver of Vulkan for it")
    run = Recorded("dlsym", "egl", 3, **more).equals_bare("dlsym", "egl", 3, **more)
    equal(sorted((api.api, run.text(api.name)) for api in run["api"]), [(4, "Vulkan"), (5, "OpenGL")], "APIs")
    equal((run.functions(), {chain.id >> 24 for chain in run["swapchain"]}), ({"eglSwapBuffers": 6}, {5}), "presents")
    check(run["launch"] and {launch.context >> 24 for launch in run["launch"]} == {4}, "no submission of Vulkan")
    threads = {present.tid for present in run["present"]}
    for present in run["present"]:
        within = [call for call in run["call"] if call.tid in threads and call.context >> 24 == 4 and
                  present.start_ns <= call.start_ns < present.end_ns]
        equal(present.correlation != 0, not within, f"a call of its own, {present}")


def test_gears():
    """glxgears presents at least as many frames as it counts itself in its first five seconds, with numbers in a row"""
    if "DISPLAY" not in os.environ or not shutil.which("glxgears"):
        raise Skip("there is no Xvfb or no glxgears")
    script = "glxgears >gears & until grep 'frames in' gears; do sleep 0.1; done; kill $!"
    # A sanitised library needs its runtime first, in place of what "record" preloads.
    more = {"LD_PRELOAD": preload("libgpumon-preload-gl.so")} if os.environ.get("SANITIZE") else {}
    run = Capture(program=["/bin/sh", "-c", script], **with_gl(more))
    check(len(run["present"]) >= int(run.output.split()[0]), f"{len(run['present'])} presents: {run.output}")
    equal({run.text(present.function) for present in run["present"]}, {"glXSwapBuffers"}, "functions")
    equal(sorted(present.number for present in run["present"]), list(range(1, len(run["present"]) + 1)), "numbers")
