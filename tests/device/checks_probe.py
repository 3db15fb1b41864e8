# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Programs inside GPU kernels on a real GPU: what they count is what probed.cu knows of itself."""
import collections
import concurrent.futures
import contextlib
import json
import os
import subprocess

import programs
from programs import SCRATCH, environment
from steps import Skip, check, equal, figure, need, note

# Of vector_add and the like, with 65,536 elements in blocks of 256.
READS = {"vector_add": 2 * 4 * 65536, "strided": 4 * 6144, "vectors": 16 * 4096 + 1024,
         "block_sum": 4 * 65536, "copied": 16 * 4096, "exits": None, "uneven": None, "cluster": None}
WRITES = {"vector_add": 4 * 65536, "strided": 4 * 6144, "vectors": 16 * 4096 + 1024,
          "block_sum": 4 * 256, "uneven": 4 * 16896, "cluster": 4 * 2048, "copied": 4 * 4096,
          # An eighth ends early, and another one in a function.
          "exits": 4 * (65536 - 2 * 8192)}
BLOCKS = {"vector_add": 257, "exits": 257, "strided": 24, "vectors": 16, "block_sum": 256,
          "uneven": 132, "cluster": 32, "copied": 16}
LOADERS = {"ptx": 7, "fatbin": 8, "cubin": 5}


def run_probe(arguments, program, status=0, env=None):
    """The program's own output, the result, and what was said."""
    result = subprocess.run([programs.program("gpumon-user"), "probe", "--json", *arguments, "--",
                             *program], capture_output=True, text=True, timeout=120,
                            env=env or environment(GPUMON_INJECT=programs.LIBRARY))
    equal(result.returncode, status, f"exit status of {os.path.basename(program[0])} {' '.join(program[1:])}")
    own, _, rest = result.stdout.partition('{"found"')
    return own, json.loads('{"found"' + rest) if rest else None, result.stderr


def by_kernel(result, table):
    """The sums of a map by the kernel's name; arrays have rows for each GPU."""
    names = {row["kernel"]: row["mangled"] for row in result["tables"]["kernels"]["rows"]}
    found = collections.Counter()
    for row in result["tables"][table]["rows"]:
        found[names[row["index"]]] += row[table]
    return dict(found)


def threads_run(result):
    """Of threadhist: how many threads came to an exit."""
    return sum((row["to_thread"] - row["from_thread"] + 1) * row["runs_of_each"]
               for row in result["tables"]["threads"]["rows"])


def places(result, name, times):
    """What is known of the kernels; nothing is lost."""
    for table, known in ("reads", READS), ("writes", WRITES), ("blocks", BLOCKS):
        found = by_kernel(result, table)
        for kernel, count in known.items():
            should = None if count is None else count * times
            equal(found.get(kernel), should, f"{name}: {table} of {kernel}")
    equal(by_kernel(result, "atomics")["vectors"], 128 * times, f"{name}: atomic operations of vectors")
    equal(by_kernel(result, "barriers")["block_sum"], 8 * 65536 * times, f"{name}: barriers of block_sum")
    equal(sum(row["count"] for row in result["tables"]["lost"]["rows"]), 0, f"{name}: nothing is lost")


def counts(program, mode, times):
    """Each count by kernel is the program's own."""
    plain = json.loads(subprocess.run([program, *mode], capture_output=True, text=True, timeout=60,
                                      check=True, env=environment()).stdout)
    own, result, _ = run_probe([programs.program("probes.bpf.o")], [program, *mode])
    own = json.loads(own)
    name = f"{os.path.basename(program)} {' '.join(mode)}"
    equal(own["sum"], plain["sum"], f"{name}: the program's results are the same")
    equal(by_kernel(result, "entries"), own["threads"], f"{name}: threads at entry")
    equal(by_kernel(result, "plain"), own["threads"], f"{name}: by plain additions")
    equal(by_kernel(result, "exits"), own["threads"], f"{name}: threads at exit, also in a function")
    equal(sum(row["by_block"] for row in result["tables"]["by_block"]["rows"]),
          sum(own["threads"].values()), f"{name}: threads by block, in a hash")
    places(result, name, times)
    equal(len(result["tables"]["firsts"]["rows"]), sum(own["launches"].values()), f"{name}: a record a launch")


def step_counts():
    for program in "probed", "probed-static":
        counts(programs.program(program), ["all"], 1)
        counts(programs.program(program), ["graph", "10"], 10)


def step_large():
    """Programs in their compact form, which kernels call: each count is the program's own."""
    program = [programs.program("large")]
    plain = json.loads(programs.call(program, env=environment(), limit=0).stdout)
    for object_file in programs.program("probes.bpf.o"), "memtrace", "kernelretsnoop", "warpimbalance":
        own, result, _ = run_probe([object_file], program)
        equal(json.loads(own), plain, f"{os.path.basename(object_file)}: the program's results are the same")
        kernels = {row["mangled"]: row for row in result["tables"]["kernels"]["rows"]}
        equal({name: kernels[name]["way"] for name in ("all_parts", "some_parts")},
              {"all_parts": "ptx", "some_parts": "ptx"}, f"{object_file}: kernels")
        check(kernels["together"]["way"] == "ptx" or "cooperative launch" in kernels["together"]["why"],
              f"{object_file}: together is left alone for its launch", f"{kernels['together']}")
        equal(sum(row["count"] for row in result["tables"]["lost"]["rows"]), 0, f"{object_file}: nothing is lost")
        for module in result["tables"]["modules"]["rows"]:
            figure(f"probe large {os.path.basename(object_file)}: load ms, times as large",
                   [(module["load_ns"] or 0) / 1e6, module["edited_bytes"] / module["size_bytes"]])
        if object_file.endswith(".o"):
            entries, exits = by_kernel(result, "entries"), by_kernel(result, "exits")
            for name in [n for n, row in kernels.items() if row["way"] == "ptx"]:
                equal((entries[name], exits[name]), (plain["threads"][name],) * 2, f"{name}: threads")
            for name in "all_parts", "some_parts":
                equal((by_kernel(result, "reads")[name], by_kernel(result, "writes")[name]),
                      (plain["bytes"][name],) * 2, f"{name}: bytes in functions that kernels share")


def step_loaders():
    for kind, loaders in LOADERS.items():
        own, result, _ = run_probe(["threadhist"],
                                   [programs.program("probe_loaders"), programs.program("driver." + kind)])
        equal(len(own.split()), loaders, f"loaders of {kind} that work with programs in their images")
        equal(threads_run(result), 0 if kind == "cubin" else 1024 * loaders, f"threads that {kind} loaders ran")
    ways = {row["way"] for row in result["tables"]["kernels"]["rows"]}
    check(len(ways) <= 1, f"why cubins have none is said: {ways}")


def step_ends():
    """A program that is killed, or ends by _exit(), keeps its status; what was missed is said.
    One that ends by quick_exit() misses nothing."""
    for mode, status in ("exit", 3), ("kill", 137), ("quick_exit", 3):
        own, result, said = run_probe([programs.program("probes.bpf.o")],
                                      [programs.program("probed"), mode], status)
        threads = json.loads(own)["threads"]
        entries = by_kernel(result, "entries")
        check(all(entries.get(k, 0) <= v for k, v in threads.items()), f"{mode}: not too many counted")
        check(entries == threads or ("missing" in said and mode != "quick_exit"), f"{mode}: what is missing is said",
              f"{entries} of {threads}: {said}")
        figure(f"probe {mode}: counted of all", sum(entries.values()) / sum(threads.values()))


def step_cost():
    """Kernels with programs against the same ones without, in turns within one process."""
    for tool in "nothing", "warptime", "threadcount", "threadrecord", "memtrace":
        own, _, _ = run_probe(["-k", "vector_add", "-k", "product", programs.program(tool + ".bpf.o")],
                              [programs.program("probed"), "big"])
        times = json.loads(own)["us"]
        figure("probe cost " + tool, times)
        note(f"{tool}: " + "; ".join(f"{k} {v[1]} -> {v[0]} us, {v[3]} ({v[2]} .. {v[4]})"
                                     for k, v in times.items()))


def folder_bytes(folder):
    return sum(os.path.getsize(os.path.join(path, name)) for path, _, names in os.walk(folder) for name in names)


def loads(name, arguments, program, folder):
    """Milliseconds that the modules took, and what the caches in the folder have got by it."""
    env = environment(GPUMON_INJECT=programs.LIBRARY, CUDA_CACHE_PATH=os.path.join(folder, "driver"),
                      XDG_CACHE_HOME=os.path.join(folder, "gpumon"), CUDA_CACHE_DISABLE=0)
    _, result, _ = run_probe(arguments, program, env=env)
    modules = result["tables"]["modules"]["rows"]
    found = {"modules": len(modules), "edit_ms": round(sum(row["edit_ns"] for row in modules) / 1e6, 2),
             "load_ms": round(sum(row["load_ns"] or 0 for row in modules) / 1e6, 2),
             "bytes": [sum(row["size_bytes"] for row in modules), sum(row["edited_bytes"] or 0 for row in modules)],
             "driver_cache_bytes": folder_bytes(os.path.join(folder, "driver"))}
    for row in result["tables"].get("patches", {"rows": ()})["rows"]:
        found["patches"] = [row["from"], round(row["took_ns"] / 1e6, 2)]
    note(f"{name}: {found['modules']} modules of {found['bytes'][0]} bytes, new {found['bytes'][1]}; edited in "
         f"{found['edit_ms']} ms, loaded in {found['load_ms']} ms"
         + (f"; patches from {found['patches'][0]} in {found['patches'][1]} ms" if "patches" in found else ""))
    return found


def step_load():
    """Modules with the driver's cache, and gpumon's, first empty and then filled."""
    done = {}
    for tool, name in (("threadhist", "probed"), ("memtrace", "probed"), ("threadhist", "loaders"),
                       ("threadhist", "sass"), ("memtrace", "sass")):
        program = {"probed": [programs.program("probed"), "all"], "sass": [programs.program("probed-sass"), "all"],
                   "loaders": [programs.program("probe_loaders"), programs.program("driver.ptx")]}[name]
        arguments = [*(["--sass"] if name == "sass" else []), tool]
        folder = os.path.join(SCRATCH, f"load-{tool}-{name}")
        for cache in "driver", "gpumon":
            os.makedirs(os.path.join(folder, cache))
        first, again = (loads(f"{tool}, {name}, {state} caches", arguments, program, folder)
                        for state in ("empty", "filled"))
        done[f"{tool} {name}"] = [first, again]
        equal(again["driver_cache_bytes"], first["driver_cache_bytes"], f"{tool}, {name}: the driver's cache stays")
        if name == "sass":
            equal([first["patches"][0], again["patches"][0]], ["ptxas", "cache"], f"{tool}: where the patches come from")
        else:
            check(first["driver_cache_bytes"], f"{tool}, {name}: the driver keeps what it has compiled")
    figure("probe load", done)


PYTHON = {
    "cupy": """
import cupy
module = cupy.RawModule(code='extern "C" __global__ void thrice(const float *x, float *y)'
                        '{ int i = blockDim.x * blockIdx.x + threadIdx.x; y[i] = 3 * x[i]; }')
x = cupy.arange(4096, dtype=cupy.float32)
y = cupy.zeros_like(x)
module.get_function('thrice')((16,), (256,), (x, y))
print(float(y.sum()))
""",
    "torch": """
import torch
torch.manual_seed(0)
print('%.6f' % float(torch.nn.Linear(64, 64).cuda()(torch.ones(8, 64, device='cuda')).sum().detach()))
""",
}


def step_python():
    """CuPy's PTX gets programs; PyTorch's machine code does not, and its results stay."""
    for name, text in PYTHON.items():
        path = os.path.join(SCRATCH, f"probe_{name}.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        env = environment(own=False, CUPY_COMPILE_WITH_PTX="1",
                          CUPY_CACHE_DIR=os.path.join(SCRATCH, "cupy"), GPUMON_INJECT=programs.LIBRARY)
        if subprocess.run([programs.PYTHON, "-c", "import " + name], env=env, capture_output=True,
                          check=False).returncode:
            note(f"no {name} here")
            continue
        plain = subprocess.run([programs.PYTHON, path], capture_output=True, text=True, env=env, check=True,
                               timeout=120).stdout
        own, result, said = run_probe(["threadhist"], [programs.PYTHON, path], env=env)
        equal(own, plain, f"{name}: the same result")
        if name == "cupy":
            check(threads_run(result) >= 4096, "cupy: its kernel has programs", said)
        else:
            check("machine code" in said, "torch: it is said that there is machine code only", said)


def patched_counts(options, kind, mode, times):
    """As counts(), of kernels that may be machine code. Returns the ways into them."""
    program = programs.program(kind)
    plain = json.loads(subprocess.run([program, *mode], capture_output=True, text=True, timeout=60,
                                      check=True, env=environment()).stdout)
    own, result, _ = run_probe([*options, programs.program("probes.bpf.o")], [program, *mode])
    own = json.loads(own)
    name = f"{' '.join(options)} {kind} {' '.join(mode)}"
    equal(own["sum"], plain["sum"], f"{name}: the program's results are the same")
    for table in "entries", "exits", "plain":
        equal(by_kernel(result, table), own["threads"], f"{name}: threads, {table}")
    places(result, name, times)
    return {row["way"] for row in result["tables"]["kernels"]["rows"]}


def can_patch():
    tried = subprocess.run([programs.program("gpumon-user"), "probe", "--sass", programs.program("blocks.bpf.o"), "--",
                            "/bin/true"], capture_output=True, text=True, check=False, timeout=60,
                           env=environment(GPUMON_INJECT=programs.LIBRARY))
    if tried.returncode == 77:
        note(tried.stderr.strip())
    return tried.returncode != 77


def step_sass():
    """Kernels without PTX, by patches of their machine code."""
    if not can_patch():
        return
    patched_counts(["--sass"], "probed-sass", ["all"], 1)
    patched_counts(["--sass"], "probed-sass", ["graph", "10"], 10)
    for tool in "kernelretsnoop", "cuda-counter", "warpimbalance":
        own, result, said = run_probe(["--sass", tool], [programs.program("probed-sass"), "all"])
        equal(sum(row["count"] for row in result["tables"]["lost"]["rows"]), 0, f"--sass {tool}: nothing is lost")
        note(f"--sass {tool}: {result['found']} {said.strip()}")
        if tool == "cuda-counter":
            equal({row["kernel_name"]: row["calls"] for row in result["tables"]["by_kernel"]["rows"]},
                  json.loads(own)["launches"], "--sass cuda-counter: calls")


def step_unseen():
    """What patches do not see is counted as left out; the rest is as in PTX, and so are the results."""
    if not can_patch():
        return
    plain = json.loads(programs.call([programs.program("probed"), "unseen"], env=environment(), limit=0).stdout)
    for kind, way, bulk in ("probed", "ptx", (0, 1024)), ("probed-sass", "sass", (1, None)):
        own, result, _ = run_probe(["-k", "*", programs.program("probes.bpf.o")], [programs.program(kind), "unseen"])
        own = json.loads(own)
        rows = {row["mangled"]: row for row in result["tables"]["kernels"]["rows"]}
        equal(own["sum"], plain["sum"], f"unseen, {kind}: the program's results are the same")
        equal(by_kernel(result, "entries"), own["threads"], f"unseen, {kind}: threads")
        equal({name: (rows[name]["way"], rows[name]["places_left_out"]) for name in ("matrices", "bulk")},
              {"matrices": (way, 1), "bulk": (way, bulk[0])}, f"unseen, {kind}: ways, and places left out")
        equal(by_kernel(result, "writes"), {"matrices": 4 * 32, "bulk": 4 * 256}, f"unseen, {kind}: bytes written")
        equal(by_kernel(result, "reads").get("bulk"), bulk[1], f"unseen, {kind}: bytes read by the bulk copy")


LAYER = """
import torch
torch.manual_seed(0)
layer = torch.nn.Sequential(torch.nn.Linear(2048, 2048), torch.nn.GELU(), torch.nn.LayerNorm(2048)).cuda()
x = torch.randn(2048, 2048, device='cuda')
begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
times = []
for i in range(220):
    begin.record()
    y = layer(x)
    end.record()
    end.synchronize()
    times.append(begin.elapsed_time(end))
print('%.4f %.6f' % (sorted(times[20:])[100], float(y.detach().abs().sum())))
"""


def step_layer():
    """A layer of PyTorch, which is machine code: milliseconds without programs, and with one in each block."""
    path = os.path.join(SCRATCH, "probe_layer.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(LAYER)
    env = environment(own=False, GPUMON_INJECT=programs.LIBRARY)
    words = [programs.PYTHON, path]
    if programs.call(words, env=env, limit=0).returncode or not can_patch():
        raise Skip("there is no PyTorch, or no sanitizer")
    kinds = {"bare": None, "blocks": programs.program("blocks.bpf.o"), "threadhist": "threadhist"}
    found = collections.defaultdict(list)
    for _ in range(3):
        for name, tool in kinds.items():
            own = run_probe(["-k", "*", tool], words, env=env)[0] if tool else programs.call(words, env=env, limit=0).stdout
            found[name].append([float(word) for word in own.split()])
    equal(len({result for runs in found.values() for _, result in runs}), 1, "a layer: results")
    figure("probe layer", {name: [time for time, _ in runs] for name, runs in found.items()})
    note("a layer of PyTorch, ms: " + "; ".join(f"{name} {[time for time, _ in runs]}" for name, runs in found.items()))


def step_gpus():
    """All GPUs of the machine in one process, each used by its own thread."""
    count = len(programs.call(["nvidia-smi", "-L"], limit=0).stdout.splitlines())
    if count < 2:
        raise Skip("there is one GPU")
    patched_counts([], "probed", ["gpus"], count)
    if can_patch():
        patched_counts(["-k", "*"], "probed", ["gpus"], count)
        patched_counts(["--sass"], "probed-sass", ["gpus"], count)


def blocks_run(result):
    """Of blocks.bpf.c, by kernel."""
    names = {row["kernel"]: row["mangled"] for row in result["tables"]["kernels"]["rows"]}
    return {names[row["kernel"]]: row["blocks"] for row in result["tables"]["blocks_by_kernel"]["rows"]}


def both_ways():
    """A program that has both kinds of kernels."""
    path = os.path.join(SCRATCH, "probe_both.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(PYTHON["torch"] + PYTHON["cupy"])
    env = environment(own=False, CUPY_COMPILE_WITH_PTX="1", CUPY_CACHE_DIR=os.path.join(SCRATCH, "cupy"),
                      GPUMON_INJECT=programs.LIBRARY)
    plain = subprocess.run([programs.PYTHON, path], capture_output=True, text=True, env=env, check=False, timeout=120)
    if plain.returncode:
        note("PyTorch and CuPy are not both here")
        return
    own, result, said = run_probe(["-k", "*", programs.program("blocks.bpf.o")], [programs.PYTHON, path], env=env)
    equal(own, plain.stdout, "PyTorch and CuPy: the same results")
    ways = collections.Counter(row["way"] for row in result["tables"]["kernels"]["rows"])
    check(ways["ptx"] and ways["sass"], f"PyTorch and CuPy: ways into their kernels: {dict(ways)}", said)
    equal(blocks_run(result).get("thrice"), 16, "PyTorch and CuPy: blocks of the kernel with PTX")
    figure("probe ways", dict(ways))


def step_ways():
    """Kernels that are named get programs by their PTX, or by their machine code where they have none."""
    if not can_patch():
        return
    for kind, way in ("probed", "ptx"), ("probed-static", "ptx"), ("probed-sass", "sass"):
        for mode, times in (["all"], 1), (["graph", "10"], 10):
            equal(patched_counts(["-k", "*"], kind, mode, times), {way}, f"{kind}: ways")
    for kind, loaders in LOADERS.items():
        _, result, said = run_probe(["-k", "*", programs.program("blocks.bpf.o")],
                                    [programs.program("probe_loaders"), programs.program("driver." + kind)])
        equal({row["way"] for row in result["tables"]["kernels"]["rows"]}, {"sass" if kind == "cubin" else "ptx"},
              f"{kind} by its loaders: ways")
        blocks = blocks_run(result)
        check(blocks and not sum(blocks.values()) % loaders, f"{kind}: the kernels of its {loaders} loaders are counted",
              f"{blocks} {said}")
    own, result, _ = run_probe(["-k", "*", "launchlate"], [programs.program("probed-sass"), "all"])
    launches = json.loads(own)["launches"]
    equal({row["kernel_name"]: (row["starts"], row["launches"]) for row in result["tables"]["by_kernel"]["rows"]},
          {name: (n, n) for name, n in launches.items()}, "launchlate in machine code: starts and launches")
    both_ways()


def step_own():
    """Programs that are kernels of their own: what they make, and how long they run."""
    for options, found in (
            ([], "The result is the product of left and right, of 256 x 256 values"),
            (["--grid", "4,2", "--block", "8,4,2", "--set", "sizes[0]=8", "--set", "left[*]=2"],
             "The result is the product of left and right, of 8 x 8 values")):
        done = subprocess.run([programs.program("gpumon-user"), "probe", "--json", "--times", "5", *options,
                               "directly-run"], capture_output=True, text=True, check=False, timeout=60)
        check(done.returncode == 0 and not done.stderr, f"{done.returncode} {done.stderr}")
        result = json.loads(done.stdout)
        check(found in result["found"], f"{options}: {result['found']}")
        figure("own" + "".join(options),
                     {row["program"]: row["median_ns"] for row in result["tables"]["ran"]["rows"]})


def shared_with_cpu(program, *options):
    own, result, said = run_probe([*options, "--set", "step[0]=1", "--attach", f"launched={program}:cudaLaunchKernel",
                                   programs.program("shared.bpf.o")], [program, "all"])
    launches = [row["launches"] for row in result["tables"]["launches"]["rows"]]
    all_launches = sum(json.loads(own)["launches"].values())
    name = " ".join(options) or "PTX"
    check(0 < launches[0] <= all_launches, f"{name}: launches that the CPU counts: {launches[0]} of {all_launches}", said)
    equal(launches[1], 10 * all_launches, f"{name}: what the GPU adds beside it")
    seen = [row["seen"] for row in result["tables"]["seen"]["rows"]]
    check(0 < max(seen), f"{name}: the GPU has seen the count", said)


def step_cpu():
    """A uprobe and the GPU's programs share an array: CUDA takes the kernel's memory."""
    if os.geteuid():
        note("probe-cpu: uprobes need root")
        return
    shared_with_cpu(programs.program("probed-static"))
    if can_patch():
        shared_with_cpu(programs.program("probed-sass"), "--sass")


def recorded_kernels(profile):
    """How often each ran, by CUPTI's records."""
    return {row["mangled"] or row["name"]: row["count"] for row in profile["kernels"] if row["kind"] == "kernel"}


def recorded_paths(profile):
    """GPU operations by call path."""
    found, paths = collections.Counter(), []
    for node in profile["nodes"]:
        paths.append((*paths[node["parent"]], node["name"]) if paths else ())
        found[paths[-1]] += node["count"]
    return +found


def within(name, program, mode):
    """Programs in kernels, and CUPTI's records of the same kernels: each is as without the other."""
    words = [program, *mode]
    plain = json.loads(programs.call(words, env=environment(), limit=0).stdout)
    _, alone, _ = run_probe([programs.program("probes.bpf.o")], words)
    bare = programs.Recorded("probe-bare", words)
    run = programs.Recorded("probe-within", words, options=["--probe", programs.program("probes.bpf.o")])
    own, profile = json.loads(run.result.stdout), run.profile
    equal(run.result.returncode, 0, f"{name}: exit status")
    equal(own["sum"], plain["sum"], f"{name}: the program's results are the same")
    equal(len(profile["probes"]), 1, f"{name}: what programs gathered is in the capture")
    result = profile["probes"][0]
    for table in "entries", "exits", "reads", "writes", "blocks", "atomics", "barriers":
        found, wanted = by_kernel(result, table), by_kernel(alone, table)
        if table == "reads":
            # It reads until all blocks are at the grid's barrier: how often is not the same twice.
            equal("together" in found, "together" in wanted, f"{name}: reads of together")
            found.pop("together", None)
            wanted.pop("together", None)
        equal(found, wanted, f"{name}: {table} as without a recording")
    equal(by_kernel(result, "entries"), own["threads"], f"{name}: entries as the program knows them")
    equal(sum(row["count"] for row in result["tables"]["lost"]["rows"]), 0, f"{name}: nothing is lost")
    equal(recorded_kernels(profile), own["launches"], f"{name}: records of kernels as the program knows them")
    equal(recorded_paths(profile), recorded_paths(bare.profile), f"{name}: call paths as without programs")
    equal(profile["recording"]["counted"], bare.profile["recording"]["counted"], f"{name}: what CUPTI counts")
    check(profile["missing"]["nothing"], f"{name}: nothing is missing", profile["missing"]["summary"])


def figures_within():
    """A tool's figure stands beside the records of each kernel."""
    run = programs.Recorded("probe-figures", [programs.program("probed"), "all"], options=["--probe", "cuda-counter"])
    launches, kernels = json.loads(run.result.stdout)["launches"], run.profile["kernels"]
    rows = run.profile["probes"][0]["tables"]["by_kernel"]["rows"]
    equal({row["kernel_name"]: row["calls"] for row in rows}, launches, "cuda-counter, recorded: calls")
    beside = {row["name"] for row in kernels if row["kind"] == "kernel" and row["probe"]["mean_ns"]}
    equal(beside, set(launches), "cuda-counter, recorded: kernels with the time of a warp beside their records")


def step_within():
    for program in "probed", "probed-static":
        within(program + " all, recorded", programs.program(program), ["all"])
        within(program + " graph, recorded", programs.program(program), ["graph", "10"])
    figures_within()
    for kind, loaders in LOADERS.items():
        run = programs.Recorded("probe-loaders", [programs.program("probe_loaders"), programs.program("driver." + kind)],
                                options=["--probe", "threadhist"])
        equal(threads_run(run.profile["probes"][0]), 0 if kind == "cubin" else 1024 * loaders,
              f"threads that {kind} loaders ran, recorded")
    for name, status in ("exit", 3), ("kill", 137):
        run = programs.Recorded("probe-" + name, [programs.program("probed"), name],
                                options=["--probe", programs.program("probes.bpf.o")])
        equal(run.result.returncode, status, f"{name}, recorded: exit status")
        check(run.profile["recording"]["counted"]["launches"], f"{name}, recorded: launches are in the capture")
    run = programs.Recorded("probe-cost", [programs.program("probed"), "big"],
                            options=["--probe", programs.program("warptime.bpf.o"), "-k", "vector_add", "-k", "product"])
    times = json.loads(run.result.stdout)["us"]
    figure("probe cost warptime, recorded", times)
    note("warptime, recorded: " + "; ".join(f"{k} {v[1]} -> {v[0]} us" for k, v in times.items()))


@contextlib.contextmanager
def mps():
    """CUDA's multi-process service: programs beside each other in one context of the GPU."""
    control = "nvidia-cuda-mps-control"
    folder = os.path.join(SCRATCH, "mps")
    os.makedirs(folder)
    before = dict(os.environ)
    os.environ.update(CUDA_MPS_PIPE_DIRECTORY=folder, CUDA_MPS_LOG_DIRECTORY=folder)
    try:
        subprocess.run([control, "-d"], check=True, timeout=60)
        yield lambda: subprocess.run([control], input="get_server_list\n", capture_output=True, text=True, timeout=60,
                                     check=True).stdout.split()
    finally:
        subprocess.run([control], input="quit\n", text=True, check=False, timeout=60)
        os.environ.clear()
        os.environ.update(before)


def step_mps():
    """Two programs share the GPU by MPS: each has its own counts, and its results."""
    need("nvidia-cuda-mps-control")
    with mps() as servers, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for one, another in ((step_counts, step_counts), (step_sass, step_counts), (step_within, step_counts)):
            for done in [pool.submit(one), pool.submit(another)]:
                done.result()
        check(servers(), "a server of MPS ran the programs")


STEPS = [("probe-counts", step_counts, 120), ("probe-own", step_own, 60), ("probe-cpu", step_cpu, 60), ("probe-loaders", step_loaders, 60), ("probe-large", step_large, 90),
         ("probe-ends", step_ends, 60), ("probe-within", step_within, 180), ("probe-python", step_python, 120),
         ("probe-sass", step_sass, 120), ("probe-ways", step_ways, 180),
         ("probe-unseen", step_unseen, 60), ("probe-gpus", step_gpus, 60), ("probe-layer", step_layer, 180), ("probe-load", step_load, 120), ("probe-mps", step_mps, 120),
         ("probe-cost", step_cost, 120)]
