# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""PyTorch under `gpumon-user record`, against torch.profiler in a run of its own."""
import ctypes
import functools
import json
import os
import shutil

import answers
from programs import HERE, PYTHON, SCRATCH, Recorded, call, environment
from steps import Skip, check, equal, figure, note

LAYER = os.path.join(HERE, "torch_layer.py")
STEPS_KEPT = 8
MARKS = {"::cos_kernel": "only_cos", "::atan_kernel": "only_atan", "::sinh_kernel": "only_sinh"}
# Compiled kernels are only kept between these runs.
ENVIRONMENT = {"TORCHINDUCTOR_CACHE_DIR": os.path.join(SCRATCH, "inductor"),
               "TRITON_CACHE_DIR": os.path.join(SCRATCH, "triton")}


@functools.lru_cache
def torch_version():
    result = call([PYTHON, "-c", "import torch; print(torch.__version__, torch.version.cuda)"], 120,
                  environment(False))
    if result.returncode:
        raise Skip(f"{PYTHON} has no torch: {result.stderr.strip().splitlines()[-1]}")
    note(f"torch, CUDA: {result.stdout.strip()}")
    return result.stdout.strip()


@functools.lru_cache
def demangler():
    """torch.profiler's names come from the C++ runtime; gpumon's are compared in the same form."""
    library = ctypes.CDLL("libstdc++.so.6")
    function = library.__cxa_demangle
    function.restype = ctypes.c_void_p
    function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p,
                         ctypes.POINTER(ctypes.c_int)]
    return function


def demangle(name):
    status = ctypes.c_int()
    text = demangler()(name.encode(), None, None, ctypes.byref(status))
    return ctypes.string_at(text).decode() if text else name


def check_marks(label, profile):
    """The kernels of a known Python function are below that function and no other."""
    sums = {}
    wrong = {}
    for number, node in enumerate(profile["nodes"]):
        mark = next((f for part, f in MARKS.items() if part in node["name"]), None)
        if node["kind"] != "kernel" or not node["count"] or not mark:
            continue
        above = {a["name"].rsplit(".", 1)[-1] for a in answers.ancestors(profile, number)
                 if a["kind"] == "python"}
        others = above & set(MARKS.values())
        if others == {mark}:
            sums[mark] = sums.get(mark, 0) + node["count"]
        else:
            wrong[f"{node['name'][:60]} below {sorted(others)}"] = node["gpu_ns"]
    check(not wrong and set(sums) == set(MARKS.values()),
          f"{label}: 0 ns below a wrong Python function", wrong or sums)


def python_share(profile):
    total = below = 0
    for number, node in enumerate(profile["nodes"]):
        if node["kind"] in ("kernel", "copy", "set"):
            total += node["gpu_ns"]
            if any(a["kind"] == "python" for a in answers.ancestors(profile, number)):
                below += node["gpu_ns"]
    return below / total if total else 0


def compare(mode):
    label = f"PyTorch, {mode}"
    torch_version()
    path = os.path.join(SCRATCH, f"profiler-{mode}.json")
    result = call([PYTHON, LAYER, mode, str(STEPS_KEPT), "--profile", path], 150,
                  environment(False, **ENVIRONMENT))
    if result.returncode:
        text = result.stderr.strip()
        if mode == "compile" and ("compiler" in text or "gcc" in text or "Triton" in text):
            raise Skip(f"torch.compile does not work here: {text.splitlines()[-1]}"
                       f" (cc: {shutil.which('cc') or shutil.which('gcc')})")
        raise RuntimeError(f"torch.profiler's run: {text[-400:]}")
    with open(path, encoding="utf-8") as file:
        theirs = json.load(file)
    run = Recorded(f"torch-{mode}", [PYTHON, LAYER, mode, STEPS_KEPT], ["--window", "profiler"],
                   keep=True, own=False, timeout=150, env=ENVIRONMENT)
    check(run.result.returncode == 0, f"{label}: recorded", run.result.stderr[-300:]
          if run.result.returncode else f"{run.seconds:.1f} s, {run.bytes} bytes")
    profile = run.profile
    wrong = answers.complaints(profile)
    check(not wrong, f"{label}: matched and unmatched are all there is", "; ".join(wrong))
    ours = {}
    for row in profile["kernels"]:
        if row["kind"] == "kernel":
            name = demangle(row["mangled"] or row["name"])
            ours[name] = ours.get(name, 0) + row["count"]
    should = {name: row[0] for name, row in theirs["kernels"].items()}
    odd = {name[:80]: (ours.get(name), should.get(name)) for name in set(ours) | set(should)
           if ours.get(name) != should.get(name)}
    check(not odd, f"{label}: {sum(should.values())} kernels of {len(should)} names, as "
          f"torch.profiler {theirs['torch']} counts", odd or "")
    equal((sum(answers.works(profile, "copy").values()), sum(answers.works(profile, "set").values())),
          (theirs["copies"], theirs["sets"]), f"{label}: copies and sets")
    gpu_ns = profile["recording"]["gpu_ns"]
    check(0.85 < gpu_ns / theirs["gpu_ns"] < 1.15, f"{label}: GPU time of another run is near",
          f"{gpu_ns} and {theirs['gpu_ns']} ns, {gpu_ns / theirs['gpu_ns']:.3f}")
    by = answers.works(profile, "kernel")
    matched = by["stack"] + by["graph_node"]
    check(matched == sum(by.values()), f"{label}: every kernel has a stack", by)
    share = python_share(profile)
    # A C++ thread launches the backward pass.
    check(share > (0.3 if mode == "train" else 0.99),
          f"{label}: Python functions above the GPU time", f"{share:.4f}")
    check(not answers.lost(profile), f"{label}: nothing lost", answers.lost(profile) or "")
    if mode in ("eager", "graph"):
        check_marks(label, profile)
    check(run.bytes <= 300000, f"{label}: the capture to be kept is small", run.bytes)
    figure(f"torch.{mode}", {
        "torch": theirs["torch"], "cuda": theirs["cuda"], "kernels": sum(should.values()),
        "gpu_ns": gpu_ns, "profiler_gpu_ns": theirs["gpu_ns"], "works": by,
        "python_share": round(share, 4), "bytes": run.bytes, "nodes": len(profile["nodes"])})


def step_eager():
    compare("eager")


def step_train():
    compare("train")


def step_graph():
    compare("graph")


def step_compile():
    compare("compile")


def step_whole():
    """From the start of Python to its end."""
    torch_version()
    run = Recorded("torch-whole", [PYTHON, LAYER, "eager", 200], own=False, timeout=90)
    check(run.result.returncode == 0, "PyTorch, all of it: recorded", run.result.stderr[-300:]
          if run.result.returncode else f"{run.seconds:.1f} s, {run.bytes} bytes")
    wrong = answers.complaints(run.profile)
    check(not wrong, "PyTorch, all of it: matched and unmatched are all there is", "; ".join(wrong))
    by = answers.works(run.profile, "kernel")
    check(by["stack"] == sum(by.values()) > 200, "PyTorch, all of it: every kernel has a stack", by)
    check_marks("PyTorch, all of it", run.profile)
    check(not answers.lost(run.profile), "PyTorch, all of it: nothing lost",
          answers.lost(run.profile) or "")


STEPS = [("torch-eager", step_eager, 200), ("torch-train", step_train, 150), ("torch-graph", step_graph, 150),
         ("torch-compile", step_compile, 200), ("torch-whole", step_whole, 150)]
