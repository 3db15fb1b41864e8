#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=newest own-boot kernels=7 device=bochs-display device=virtio-gpu-pci timeout=240
# vm: not-sanitised=no console there switches a display on; see drm-vblank-vkms
"""drm_vblank on the displays that QEMU has, with the drivers of the kernel: the
rate, the intervals and the counts are those of the kernel's own trace.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
import vblank
import vblank_trace as trace
from gpumon_netlink import Gpumon

BLINK = "/sys/class/graphics/fbcon/cursor_blink"

trace.begin()
tried = 0
with Gpumon() as g:
    for module in "bochs", "virtio-gpu":
        card, device = trace.load_driver(module)
        client = vblank.Client({"crtc": 0, "crtc_id": 0, "card": card})
        try:
            client.wait(1)
        except OSError as e:
            print("%s on %s shows nothing: %s" % (module, device, e))
            client.close()
            continue
        lab.step("%s, device %s" % (module, device))
        if os.path.exists(BLINK):
            with open(BLINK, "w") as f:
                f.write("0")
        trace.compare(g, device, client)
        tried += 1
lab.rmmod("gpumon")
if not tried:
    lab.skip("no display of QEMU has vblanks with this kernel")
