# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A program whose stacks change in every way that Python has, from one launch to the next."""
import asyncio
import contextlib
import gc
import random
import threading
import traceback


class Torture:
    """Calls look() again and again, with as different stacks as possible."""

    def __init__(self, look, seed, steps):
        self.look = look
        self.draw = random.Random(seed)
        self.steps = steps
        self.sleeping = []
        self.made = [lambda go: go() for _ in range(4)]

    def left(self):
        self.steps -= 1
        return self.steps > 0

    def go(self, depth):
        """One kind of call after the other, a few times, and a look in between."""
        if depth <= 0 or not self.left():
            return self.look()
        kinds = (self.plain, self.deep, self.generator, self.delegating, self.coroutine, self.exception,
                 self.code, self.replaced, self.native, self.closed, self.lines, self.method, self.resumed)
        for _ in range(self.draw.randrange(1, 4)):
            if not self.draw.randrange(3):
                self.look()
            self.draw.choice(kinds)(depth - self.draw.randrange(1, 3))
        return self.look()

    def plain(self, depth):
        self.go(depth)

    def deep(self, depth):
        def down(left):
            return down(left - 1) if left else self.go(depth)
        down(self.draw.randrange(60))

    def generator(self, depth):
        def values():
            for each in range(2):
                self.go(depth - each)
                yield each
        for _ in values():
            self.look()

    def delegating(self, depth):
        def inner():
            self.go(depth)
            yield 1

        def outer():
            yield from inner()
            self.look()
        list(outer())

    def resumed(self, depth):
        """A generator that was begun elsewhere goes on here: the same frame below other frames."""
        def sleeper():
            while True:
                self.look()
                yield
                self.go(0)
        if not self.sleeping or not self.draw.randrange(3):
            self.sleeping.append(sleeper())
        with contextlib.suppress(ValueError):  # it runs already, outward of here
            next(self.draw.choice(self.sleeping))
        if len(self.sleeping) > 5:
            self.sleeping.pop(0)
        self.go(depth - 1)

    def coroutine(self, depth):
        async def inner(left):
            if left:
                return await inner(left - 1)
            return self.go(depth - 1)

        runner = inner(self.draw.randrange(4))
        with contextlib.suppress(StopIteration):
            runner.send(None)

    def exception(self, depth):
        def throws(left):
            if left:
                throws(left - 1)
            self.look()
            raise KeyError
        try:
            throws(self.draw.randrange(5))
        except KeyError:
            self.look()
            self.go(depth - 1)
        finally:
            self.look()

    def code(self, depth):
        """Code that is made, runs, and is freed; the next one likely comes to the same place."""
        for number in range(3):
            space = {"go": lambda: self.go(depth - 2), "look": self.look}
            name = f"made{self.draw.randrange(50)}"
            exec("\n" * self.draw.randrange(5) + f"def {name}():\n    look()\n    return go()\n", space)
            space[name]()
            if number:
                gc.collect(0)
            eval("look()", space)

    def replaced(self, depth):
        """A function whose code is another one, at the same place and of the same size."""
        def first():
            return self.look()

        def second():
            return self.look()

        def target():
            return None
        for function in first, second, first:
            target = type(first)(function.__code__, globals(), "target", None, first.__closure__)
            target()
            target.__code__ = second.__code__
            target()
        self.go(depth - 1)

    def native(self, depth):
        """Functions of C between those of Python."""
        sorted([3, 2, 1], key=lambda _: self.look() or 1)
        list(map(lambda _: self.go(depth - 2), range(2)))
        max([1, 2], key=lambda _: self.look() or 1)

    def closed(self, depth):
        function = self.draw.choice(self.made)
        self.made[self.draw.randrange(4)] = lambda go: go()
        function(lambda: self.go(depth - 1))

    def lines(self, depth):
        self.look()
        self.look(); self.look()  # noqa: E702
        [self.look() for _ in range(2)]
        self.go(depth - 1)

    def method(self, depth):
        class Local:
            def __getattr__(inner, name):
                return self.go(depth - 1)

            def __enter__(inner):
                return self.look()

            def __exit__(inner, *error):
                self.look()

            def __del__(inner):
                self.look()
        thing = Local()
        with thing:
            thing.anything
        del thing


def run(look, seeds, steps):
    """In a thread for each seed, all at once, and in the event loop of each. Returns what was raised."""
    raised = []

    def guarded(seed):
        try:
            body(seed)
        except Exception:  # pylint: disable=broad-except
            raised.append(traceback.format_exc())

    def body(seed):
        torture = Torture(look, seed, steps)
        while torture.left():
            torture.go(12)

        async def several():
            async def one(number):
                for _ in range(5):
                    await asyncio.sleep(0)
                    look()
                    torture.steps = 20
                    torture.go(number)
            await asyncio.gather(*(one(number) for number in range(4)))
        asyncio.run(several())

    threads = [threading.Thread(target=guarded, args=(seed,)) for seed in seeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised
