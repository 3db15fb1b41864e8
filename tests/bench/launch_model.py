# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The calls of a transformer's decoding, with nothing behind them but the launches: launch_model.py LIBRARY TOKENS

So many are counted, after some that are not.
Some 30 functions of Python deep, in five calls of the interpreter's loop, as modules of PyTorch are called.
"""
import ctypes
import sys

operations = ctypes.CDLL(sys.argv[1])
add, scale, product, attention = (getattr(operations, f"op_{name}")
                                  for name in ("add", "scale", "product", "attention"))


UNCOUNTED = 6
BLOCKS = 2


def launch(operation, name):
    operation(name)


class Module:
    def __call__(self, *arguments):
        return self.call_with_hooks(*arguments)

    def call_with_hooks(self, *arguments):
        return self.forward(*arguments)


class Linear(Module):
    def forward(self):
        launch(product, b"product")
        launch(add, b"bias")


class Norm(Module):
    def forward(self):
        launch(scale, b"norm")


class Attention(Module):
    def __init__(self):
        self.query, self.output = Linear(), Linear()

    def forward(self):
        self.query()
        launch(attention, b"attention")
        self.output()


class FeedForward(Module):
    def __init__(self):
        self.up, self.down = Linear(), Linear()

    def gelu(self):
        launch(scale, b"power")
        launch(scale, b"times")
        launch(add, b"plus")
        launch(scale, b"tanh")
        launch(add, b"one")
        launch(scale, b"half")

    def forward(self):
        self.up()
        self.gelu()
        self.down()


class Block(Module):
    def __init__(self):
        self.first, self.attention, self.second, self.feed_forward = Norm(), Attention(), Norm(), FeedForward()

    def forward(self):
        self.first()
        self.attention()
        launch(add, b"residual")
        self.second()
        self.feed_forward()
        launch(add, b"residual")


class Model(Module):
    def __init__(self):
        self.blocks = [Block() for _ in range(BLOCKS)]
        self.last = Norm()

    def forward(self):
        for block in self.blocks:
            block()
        self.last()
        launch(product, b"logits")


def within(depth, function):
    """As a trainer's, a server's and a test's own functions."""
    if depth:
        within(depth - 1, function)
    else:
        function()


def decode():
    model = Model()
    for token in range(UNCOUNTED + int(sys.argv[2])):
        if token == UNCOUNTED:
            operations.count_begin()
        model()
        launch(scale, b"most likely")
    operations.count_end()


within(12, decode)
