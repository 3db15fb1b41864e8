# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Functions of Python in stacks, against what the interpreter itself says of its frames.

test_python.py PROBE: run by each interpreter that is there.
"""
import asyncio
import ctypes
import functools
import os
import random
import signal
import subprocess
import sys
import threading

import torture

library = ctypes.CDLL(sys.argv[1])
holding = ctypes.PyDLL(sys.argv[1])
for each in (library, holding):
    each.probe_init.restype = ctypes.c_char_p
    each.probe_problem.restype = ctypes.c_char_p
CALLBACK = ctypes.CFUNCTYPE(None)

tests = 0
failures = 0


def say(good, name, why=""):
    global failures, tests
    tests += 1
    failures += not good
    print("%s - %s%s" % ("ok" if good else "not ok", name, "" if good else ": " + str(why)[:900]),
          flush=True)
    return good


def take(lib=library, room=512):
    """The stack without this function: [("P", function, file, line, first) or ("C", symbol)]."""
    text = ctypes.create_string_buffer(1 << 18)
    count = lib.probe_stack(text, len(text), room)
    frames = [tuple(line.split("\t")) for line in text.value.decode().splitlines()]
    while frames and not (frames[0][0] == "P" and frames[0][1] == "take"):
        frames.pop(0)
    return frames[1:], count < 0


def here(skip=1):
    """The same, from the interpreter."""
    frame = sys._getframe(skip)
    found = []
    while frame:
        code = frame.f_code
        found.append(("P", getattr(code, "co_qualname", code.co_name), code.co_filename,
                      str(frame.f_lineno or 0), str(code.co_firstlineno)))
        frame = frame.f_back
    return found


def python(frames):
    return [frame for frame in frames if frame[0] == "P"]


def check(name, got, want):
    frames, truncated = got
    mine = python(frames)
    if mine != want:
        for number, (left, right) in enumerate(zip(mine + [None], want + [None])):
            if left != right:
                return say(False, name, "frame %d is %s, Python has %s" % (number, left, right))
    return say(mine == want and not truncated, name,
               "%d frames, Python has %d%s" % (len(mine), len(want),
                                               ", truncated" if truncated else ""))


def simple(name):
    got, want = take(), here()
    check(name, got, want)


def held(name):
    got, want = take(holding), here()
    check(name, got, want)


def recurse(depth, then):
    if depth:
        return recurse(depth - 1, then)
    return then()


class Thing:
    def method(self, name):
        simple(name)

    @classmethod
    def of_class(cls, name):
        simple(name)

    @staticmethod
    def of_none(name):
        simple(name)

    @property
    def attribute(self):
        simple("a property")
        return 1

    def __lt__(self, other):
        simple("an operator, called by a function of C")
        return True

    def __del__(self):
        simple("a finaliser")

    def __call__(self, name):
        simple(name)


def decorated(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)
    return wrapper


@decorated
def with_decorator(name):
    simple(name)


def generator(name):
    yield 1
    simple(name)
    yield 2


def delegating(name):
    yield from generator(name)


async def awaited(name, depth):
    if depth:
        await awaited(name, depth - 1)
    else:
        await asyncio.sleep(0)
        simple(name)


async def several(name):
    await asyncio.gather(*(awaited(name, depth) for depth in range(3)))


def kinds_of_calls():
    simple("a function")
    held("a function, with the interpreter's lock held")
    recurse(50, lambda: simple("recursion"))
    thing = Thing()
    thing.method("a method")
    Thing.of_class("a method of the class")
    Thing.of_none("a static method")
    thing.attribute
    sorted([Thing(), Thing()])
    thing("an object that is called")
    del thing
    with_decorator("a decorated function")
    functools.partial(simple, "a partial")()
    list(map(simple, ["map"]))
    [simple("a comprehension") for _ in range(1)]
    {simple("a dictionary's comprehension"): 1 for _ in range(1)}
    list(simple("a generator's expression") for _ in range(1))
    list(generator("a generator"))
    list(delegating("a generator that delegates"))
    for _ in generator("a generator in a loop"):
        pass
    try:
        raise ValueError
    except ValueError:
        simple("an except block")
    finally:
        simple("a finally block")
    with_lines = [
        simple("a call over several lines"),
        simple(
            "a call whose arguments are on another line"
        ),
    ]
    del with_lines
    exec("def made(name):\n    simple(name)\nmade('code that was made')", globals())
    eval("simple('an expression that was made')")
    exec("def gr\u00f6\u00dfe_\u540d(name):\n    simple(name)\ngr\u00f6\u00dfe_\u540d('a name in other letters')",
         globals())
    asyncio.run(awaited("a coroutine", 4))
    asyncio.run(several("gathered coroutines"))


def on_signal(number, frame):
    simple("a signal handler")


def through_c():
    """The function that C calls, C, and the function that called it, in that order."""
    found = {}

    def inner():
        found["got"] = take()

    callback = CALLBACK(lambda: recurse(3, inner))
    library.probe_call(callback)
    frames = found["got"][0]
    names = [frame[1] for frame in frames]
    try:
        call = names.index("probe_call")
        lambdas = [at for at, name in enumerate(names) if name.endswith("<lambda>")]
        outer = names.index("through_c")
        good = lambdas[-1] < call < outer and names[lambdas[-1] + 1] != "through_c"
    except (ValueError, IndexError):
        good = False
    say(good, "C between functions of Python", names)
    start = [at for at, frame in enumerate(frames) if frame[1] in ("_start", "Py_BytesMain")]
    say(bool(start) and all(frame[0] == "C" for frame in frames[start[0]:]),
        "what started the interpreter comes last", names[-6:])


def in_c_thread():
    callback = CALLBACK(lambda: simple("a thread that Python did not make"))
    library.probe_call_in_thread(callback)


def threads():
    wrong = []

    def body(seed):
        draw = random.Random(seed)
        for _ in range(100):
            def compare():
                got, want = take(), here()
                if python(got[0]) != want or got[1]:
                    wrong.append((got, want))
            recurse(draw.randrange(30), compare)

    started = [threading.Thread(target=body, args=(seed,)) for seed in range(6)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    say(not wrong, "several threads at once", wrong[:1])


def reused_code():
    """Code objects that are freed, and others that take their place: later, or at once."""
    for when in "later", "at once":
        wrong = at_once = 0
        last = None
        places = set()
        for number in range(1500):
            space = {"take": take, "here": here}
            exec("\n" * (number % 7) + "def f():\n    return take(), here()", space)
            place = id(space["f"].__code__)
            at_once += place == last
            last = place
            places.add(place)
            got, want = space["f"]()
            wrong += python(got[0]) != want
            if when == "at once":
                space.clear()
        say(not wrong and len(places) < 1400 and (when == "later" or at_once > 1000),
            "code that comes where other code was, %s" % when,
            "%d wrong, %d places, %d at once" % (wrong, len(places), at_once))


def limits():
    got = []
    recurse(400, lambda: got.append((take(room=512), here())))
    frames, truncated = got[0][0]
    want = got[0][1]
    mine = python(frames)
    say(mine == want[:len(mine)] and (truncated or len(mine) == len(want)),
        "400 functions", (len(mine), len(want), truncated))
    for room in (3, 10, 40):
        got = []
        recurse(60, lambda: got.append((take(room=room), here())))
        frames, truncated = got[0][0]
        mine = python(frames)
        say(truncated and mine == got[0][1][:len(mine)] and len(frames) < room,
            "room for %d" % room, (len(frames), truncated))


def generations():
    def interned():
        return ctypes.c_uint.in_dll(library, "probe_interned").value

    def same_place():
        for _ in range(3):
            take()
            numbers.append(interned())

    for what in "a line is asked for once", "another generation asks for it again, once":
        counts = []
        # All from the same lines: none is new except for the first time in a generation.
        for _ in range(2):
            before = interned()
            numbers = []
            same_place()
            counts.append([number - before for number in numbers])
        say(counts[0] == [counts[0][0]] * 3 and counts[0][0] > 2 and counts[1] == [0, 0, 0], what, counts)
        library.probe_new_generation()


def no_room():
    """A name that found no room is requested again, until there is room."""
    refuse = ctypes.c_int.in_dll(library, "probe_no_room")
    library.probe_new_generation()
    counts = []
    for value in (1, 1, 0, 0):
        refuse.value = value
        before = ctypes.c_uint.in_dll(library, "probe_interned").value
        take()
        counts.append(ctypes.c_uint.in_dll(library, "probe_interned").value - before)
    refuse.value = 0
    # Each stack is taken three times.
    say(counts[0] == counts[1] == 3 * counts[2] > 6 and not counts[3],
        "a name that found no room is tried again", counts)


def in_child():
    global tests
    sys.stdout.flush()
    child = os.fork()
    if not child:
        simple("a child after fork")
        sys.stdout.flush()
        os._exit(1 if failures else 0)
    status = os.waitpid(child, 0)[1]
    tests += 1
    say(not status, "the child's end", status)


def wrong_layouts():
    """A wrong offset leads to no Python functions and a reason, and to nothing else."""
    wrong = []
    told = 0
    total = 0
    for field in range(13):
        for by in (8, -8, 16, 4, 1000):
            reader, writer = os.pipe()
            child = os.fork()
            if not child:
                os.write(writer, broken(field, by)[-400:].encode())
                os._exit(0)
            os.close(writer)
            output = b"".join(iter(lambda: os.read(reader, 4096), b"")).decode()
            os.close(reader)
            status = os.waitpid(child, 0)[1]
            total += 1
            # Data that is there by chance may be right the first time and wrong the next.
            fits = set(output.replace(", told", "").split(" and ")) <= {"right", "none"}
            if status or not fits:
                wrong.append((field, by, status, output))
            told += output == "none, told"
    say(not wrong, "%d wrong layouts" % total, wrong[:5])
    say(told > total / 3, "wrong layouts are reported", "%d of %d" % (told, total))


def broken(field, by):
    """With the lock held the interpreter can be asked; without it, only types help."""
    library.probe_break(field, by)
    kinds = set()

    def look():
        got, want = take_raw(holding), here()
        mine = python(got)[-len(want):]
        kinds.add("none" if not python(got) else "right" if mine == want else "WRONG %s" % mine)
    for depth in list(range(5)) * 6:
        recurse(depth, look)
    problem = library.probe_problem().decode()
    library.probe_forget()
    for depth in list(range(5)) * 6:
        recurse(depth, lambda: take_raw(library))
    return "%s%s" % (" and ".join(sorted(kinds)), ", told" if problem else "")


def ending():
    """Threads continue to launch while the interpreter shuts down and frees their frames: before
    it has promised to wait for them, and after, when nothing is checked any more.
    """
    script = """
import ctypes, sys, threading, time
library = ctypes.CDLL(sys.argv[1])
library.probe_init()
def launch(depth):
    if depth:
        return launch(depth - 1)
    library.probe_repeat(2000000000, 1)
end = time.monotonic() + 120
while sys.argv[2] == "promised" and not library.probe_unchecked():
    library.probe_repeat(10, 1)
    if time.monotonic() > end:
        sys.exit("loads are checked for ever")
for depth in range(4):
    threading.Thread(target=launch, args=(depth * 7,), daemon=True).start()
time.sleep(0.05)
"""
    # Freed memory must not keep its contents.
    environment = dict(os.environ, PYTHONMALLOC="malloc", MALLOC_PERTURB_="165")
    for when in "promised", "at once":
        ends = [subprocess.call([sys.executable, "-c", script, sys.argv[1], when], env=environment)
                for _ in range(4)]
        say(not any(ends), "threads that launch while the interpreter ends, %s" % when, ends)


def tortured():
    """Each stack against a full walk, and against what the interpreter says."""
    wrong = []

    def look():
        got, want = take(), here()
        if python(got[0]) != want and not got[1]:
            wrong.append((python(got[0]), want))
    compared = ctypes.c_uint.in_dll(library, "probe_compared")
    before = compared.value
    raised = torture.run(look, range(3), 400)
    say(not raised and not wrong and compared.value - before > 3000,
        "a program that changes its stacks in all ways", (compared.value - before, raised, wrong[:1]))


def take_raw(lib):
    text = ctypes.create_string_buffer(1 << 18)
    lib.probe_stack(text, len(text), 512)
    return [tuple(line.split("\t")) for line in text.value.decode(errors="replace").splitlines()]


def main():
    problem = library.probe_init().decode()
    if sys.version_info < (3, 10):
        say("Python 3.9 is not supported (3.10 to 3.14 are)" in problem,
            "an older interpreter is refused", problem)
        print("1..%d" % tests)
        sys.exit(failures)
    if not say(not problem, "the interpreter is known", problem):
        sys.exit(1)
    wrong_layouts()
    kinds_of_calls()
    signal.signal(signal.SIGUSR1, on_signal)
    os.kill(os.getpid(), signal.SIGUSR1)
    through_c()
    in_c_thread()
    threads()
    reused_code()
    limits()
    generations()
    no_room()
    tortured()
    in_child()
    ending()
    say(not library.probe_problem(), "nothing was refused", library.probe_problem())
    numbers = {name: ctypes.c_uint.in_dll(library, "probe_" + name).value
               for name in ("compared", "different", "not_same", "frames", "same")}
    say(numbers["compared"] > 100 and not numbers["different"] and not numbers["not_same"],
        "what is kept of the stack before is what a full walk finds", numbers)
    print("# %s" % numbers, flush=True)
    say(not ctypes.c_int.in_dll(library, "probe_errno_changed").value, "errno of the program is left alone")
    print("1..%d" % tests)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
