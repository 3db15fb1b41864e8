#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The program that the demo records: some OpenCL on the first device, a CPU will do.

A picture is drawn, blurred, searched for edges and summed up; then two matrices are multiplied,
once the simple way and once by tiles. All results are compared with numpy's.
usage: picture.py [SIZE]    pixels on a side, a multiple of 64; 1024 if not said
"""
import sys
import time
import warnings

import numpy

# Debian 13 has no siphash24, which pytools asks for although it does without.
warnings.filterwarnings("ignore", "Unable to import recommended hash")
import pyopencl as cl  # noqa: E402

SOURCE = """
__kernel void blur_rows(__global const float *from, __global float *to, int size, int radius)
{
    int x = get_global_id(0), y = get_global_id(1), count = 0;
    float sum = 0;

    for (int i = max(x - radius, 0); i <= min(x + radius, size - 1); i++, count++)
        sum += from[y * size + i];
    to[y * size + x] = sum / count;
}

__kernel void blur_columns(__global const float *from, __global float *to, int size, int radius)
{
    int x = get_global_id(0), y = get_global_id(1), count = 0;
    float sum = 0;

    for (int i = max(y - radius, 0); i <= min(y + radius, size - 1); i++, count++)
        sum += from[i * size + x];
    to[y * size + x] = sum / count;
}

__kernel void find_edges(__global const float *from, __global float *to, int size)
{
    int x = get_global_id(0), y = get_global_id(1);
    int left = max(x - 1, 0), right = min(x + 1, size - 1);
    int above = max(y - 1, 0), below = min(y + 1, size - 1);
    float across = from[y * size + right] - from[y * size + left];
    float down = from[below * size + x] - from[above * size + x];

    to[y * size + x] = sqrt(across * across + down * down);
}

__kernel void sum_groups(__global const float *from, __global float *sums, __local float *part)
{
    int here = get_local_id(0);

    part[here] = from[get_global_id(0)];
    for (int count = get_local_size(0) / 2; count; count /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (here < count)
            part[here] += part[here + count];
    }
    if (!here)
        sums[get_group_id(0)] = part[0];
}

__kernel void multiply_simple(__global const float *a, __global const float *b,
                              __global float *product, int size)
{
    int column = get_global_id(0), row = get_global_id(1);
    float sum = 0;

    for (int i = 0; i < size; i++)
        sum += a[row * size + i] * b[i * size + column];
    product[row * size + column] = sum;
}

#define TILE 16
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void multiply_tiles(__global const float *a, __global const float *b, __global float *product,
                    int size)
{
    __local float tile_a[TILE][TILE], tile_b[TILE][TILE];
    int x = get_local_id(0), y = get_local_id(1);
    int column = get_global_id(0), row = get_global_id(1);
    float sum = 0;

    for (int tile = 0; tile < size; tile += TILE) {
        tile_a[y][x] = a[row * size + tile + x];
        tile_b[y][x] = b[(tile + y) * size + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < TILE; i++)
            sum += tile_a[y][i] * tile_b[i][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    product[row * size + column] = sum;
}
"""


class Device:
    """The first device, with what is done on it."""

    def __init__(self):
        device = cl.get_platforms()[0].get_devices()[0]
        print("on", device.name)
        self.context = cl.Context([device])
        self.queue = cl.CommandQueue(self.context)
        program = cl.Program(self.context, SOURCE).build()
        self.kernels = {kernel.function_name: kernel for kernel in program.all_kernels()}

    def upload(self, array):
        buffer = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, array.nbytes)
        cl.enqueue_copy(self.queue, buffer, array)
        return buffer

    def download(self, buffer, shape):
        array = numpy.empty(shape, numpy.float32)
        cl.enqueue_copy(self.queue, array, buffer)
        return array

    def launch(self, name, shape, local, *arguments):
        kernel = self.kernels[name]
        kernel.set_args(*arguments)
        cl.enqueue_nd_range_kernel(self.queue, kernel, shape, local)


def draw_picture(size):
    """Rings and stripes."""
    y, x = numpy.mgrid[0:size, 0:size].astype(numpy.float32) / size - 0.5
    return (numpy.sin(60 * (x * x + y * y)) + (numpy.sin(40 * x + 20 * y) > 0)).astype(numpy.float32)


def blur_picture(device, picture, size, radius):
    rows, whole = (device.upload(numpy.zeros((size, size), numpy.float32)) for _ in range(2))
    for source, target, name in ((picture, rows, "blur_rows"), (rows, whole, "blur_columns")):
        device.launch(name, (size, size), None, source, target, numpy.int32(size),
                      numpy.int32(radius))
    return whole


def sum_picture(device, picture, size):
    group = 64
    sums = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, 4 * size * size // group)
    device.launch("sum_groups", (size * size,), (group,), picture, sums,
                  cl.LocalMemory(4 * group))
    return device.download(sums, size * size // group).sum(dtype=numpy.float64)


def find_edges(device, picture, size):
    edges = device.upload(numpy.zeros((size, size), numpy.float32))
    device.launch("find_edges", (size, size), None, picture, edges, numpy.int32(size))
    return sum_picture(device, edges, size)


def filter_picture(device, size):
    drawn = draw_picture(size)
    picture = device.upload(drawn)
    for radius in (1, 4, 16):
        blurred = blur_picture(device, picture, size, radius)
        print("blurred by %2d: edges %.0f" % (radius, find_edges(device, blurred, size)))
    check("sum", sum_picture(device, picture, size), drawn.sum(dtype=numpy.float64), size)
    padded = numpy.pad(drawn, 1, "edge")
    edges = numpy.hypot(padded[1:-1, 2:] - padded[1:-1, :-2], padded[2:, 1:-1] - padded[:-2, 1:-1])
    check("edges", find_edges(device, picture, size), edges.sum(dtype=numpy.float64), size)


def multiply_matrices(device, size):
    random = numpy.random.default_rng(1)
    a, b = (random.random((size, size), numpy.float32) for _ in range(2))
    on_device = [device.upload(m) for m in (a, b)]
    for name, local in (("multiply_simple", None), ("multiply_tiles", (16, 16))):
        product = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, a.nbytes)
        for _ in range(3):
            device.launch(name, (size, size), local, *on_device, product, numpy.int32(size))
        check(name, device.download(product, a.shape).sum(dtype=numpy.float64),
              (a @ b).sum(dtype=numpy.float64), size)


def check(name, found, right, size):
    if abs(found - right) > 1e-4 * max(abs(right), size):
        sys.exit("%s: %g, but numpy has %g" % (name, found, right))


def main():
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    start = time.monotonic()
    device = Device()
    filter_picture(device, size)
    multiply_matrices(device, size // 2)
    print("all results are right, after %.1f s" % (time.monotonic() - start))


main()
