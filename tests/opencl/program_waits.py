# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Waits in functions that say for what, between launches: SECONDS each. Prints when each began and ended."""
import os
import queue
import subprocess
import sys
import threading
import time

import numpy  # noqa: F401
import pyopencl as cl

SOURCE = "kernel void square(global float *a) { size_t i = get_global_id(0); a[i] = a[i] * a[i]; }"
SECONDS = float(sys.argv[1])


class Model:
    def __init__(self):
        device = cl.get_platforms()[0].get_devices()[0]
        self.context = cl.Context([device])
        self.queue = cl.CommandQueue(self.context)
        self.memory = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, 4096)
        self.square = cl.Program(self.context, SOURCE).build().square
        self.lock = threading.Lock()
        self.items = queue.Queue()

    def launch(self):
        self.square(self.queue, (1024,), None, self.memory)

    def asleep(self):
        time.sleep(SECONDS)

    def for_lock(self):
        with self.lock:
            pass

    def for_größe(self):
        return self.items.get()

    def for_pipe(self):
        reader, writer = os.pipe()
        threading.Timer(SECONDS, os.write, (writer, b"x")).start()
        os.read(reader, 1)

    def for_child(self):
        subprocess.run(["sleep", str(SECONDS)], check=True)

    def keep(self):
        """What the others wait for."""
        self.lock.acquire()
        self.held.set()
        time.sleep(SECONDS)
        self.lock.release()
        self.held.clear()
        self.go.wait()
        time.sleep(SECONDS)
        self.items.put(1)

    def run(self, function):
        self.launch()
        start = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        function()
        end = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self.launch()
        print(function.__qualname__, function.__code__.co_firstlineno, start, end, flush=True)

    def all(self):
        self.held, self.go = threading.Event(), threading.Event()
        keeper = threading.Thread(target=self.keep)
        keeper.start()
        self.held.wait()
        self.run(self.for_lock)
        self.go.set()
        self.run(self.for_größe)
        keeper.join()
        for function in (self.asleep, self.for_pipe, self.for_child):
            self.run(function)
        self.queue.finish()


if len(sys.argv) > 2:
    model = Model()
    thread = threading.Thread(target=model.all)
    thread.start()
    thread.join()
else:
    Model().all()
