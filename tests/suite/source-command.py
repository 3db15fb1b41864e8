#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest tool icount cpus=2 timeout=240
"""stat around a command, by BPF and by the module."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import source_bpf

source_bpf.need()
lab.load_mock(devices=1, rings=2, hw_limit=4, service_ns=100000, timeout_ms=100000)

lab.step("around a command: its exit status, the numbers to a file")
path = os.environ["TMPDIR"] + "/stat.json"
done = lab.run(source_bpf.TOOL, "stat", "--source=bpf", "--json", "-o", path, "--",
               "sh", "-c", lab.BUILD + "/mock_submit -d 0 -r 1 -n 17 -w; echo said; exit 5",
               check_=False, timeout=120)
lab.equal(done.returncode, 5, "exit status is the command's: %s" % done.stderr)
lab.check(done.stdout.endswith("said\n") and not done.stderr, "the command's own output: %r" % done.stderr)
with open(path) as f:
    document = json.load(f)
lab.equal(source_bpf.rings(document)["mock_gpu.0", "ring1"]["queued"], 17, "jobs of the command")

lab.step("the module's numbers around a command are a difference")
lab.load_gpumon()
lab.submit("-d", 0, "-r", 1, "-n", 5, "-w")
done = lab.run(source_bpf.TOOL, "stat", "--source=module", "--json", "-o", path, "--",
               lab.BUILD + "/mock_submit", "-d", "0", "-r", "1", "-n", "9", "-w", timeout=120)
with open(path) as f:
    document = json.load(f)
lab.equal(source_bpf.rings(document)["mock_gpu.0", "ring1"]["queued"], 9, "jobs of the command")
lab.check(document["gpumon"]["interval_ns"], "it is a difference")
done = lab.run(source_bpf.TOOL, "stat", "--json", "-d", "300ms", timeout=120)
lab.within(json.loads(done.stdout)["gpumon"]["interval_ns"], 300000000, 60000000000, "--duration")
lab.rmmod("gpumon")
