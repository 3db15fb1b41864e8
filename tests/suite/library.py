#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=arm64 timeout=600
"""The injection library on another architecture: the tests of tests/inject, with the same stand-ins.

On amd64 they need no VM.
"""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab

FOLDER = lab.BUILD + "/tests/inject"
# The programs were linked to run there (tests/suite/Makefile).
OBJECTS = "/tmp/library"

shutil.copytree(FOLDER + "/obj", OBJECTS, ignore=shutil.ignore_patterns("inject"))
check = subprocess.Popen([FOLDER + "/check", OBJECTS], stdout=subprocess.PIPE, text=True,
                         env={**os.environ, "GPUMON_PREFIX": "library", "GPUMON_EMULATED": "1"})
failed = []
for line in check.stdout:
    print(line, end="", flush=True)
    if line.startswith("not ok "):
        failed.append(line.strip())
shutil.rmtree(OBJECTS)
lab.equal((check.wait(), failed), (0, []), "exit status, and what failed")
