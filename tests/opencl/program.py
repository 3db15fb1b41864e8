# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A program of Python that uses OpenCL: squares numbers, COUNT times."""
import sys

import pyopencl as cl

SOURCE = "kernel void square(global float *a) { size_t i = get_global_id(0); a[i] = a[i] * a[i]; }"


class Model:
    def __init__(self):
        device = cl.get_platforms()[0].get_devices()[0]
        self.context = cl.Context([device])
        self.queue = cl.CommandQueue(self.context)
        self.memory = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, 4096)
        self.square = cl.Program(self.context, SOURCE).build().square

    def step(self):
        self.square(self.queue, (1024,), None, self.memory)

    def forward(self, count):
        for _ in range(count):
            self.step()
        self.queue.finish()


Model().forward(int(sys.argv[1]))
