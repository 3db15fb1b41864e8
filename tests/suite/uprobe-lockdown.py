#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=full tool timeout=120
# vm: kernels=6.12 own-boot append=lockdown=confidentiality
"""On a kernel in lockdown mode confidentiality, uprobes are refused with that reason."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import uprobes
from lab import check, equal, skip, step

try:
    with open("/sys/kernel/security/lockdown") as f:
        mode = f.read()
except OSError:
    skip("this kernel has no lockdown")
check("[confidentiality]" in mode, "not locked down: %s" % mode)
step("supported")
done = subprocess.run([os.path.join(uprobes.OUT, "uprobe-dump"), "supported"],
                      stdout=subprocess.PIPE, text=True)
line = json.loads(done.stdout)
print(line)
if line.get("code") == "not-built":
    skip(line["message"])
equal((line["type"], line.get("code"), done.returncode), ("error", "lockdown", 77), "answer")
check("confidentiality" in line["message"], "the message does not say it: %s" % line["message"])
