# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The BPF programs that the kernel has."""
import collections
import ctypes
import errno
import os
import struct

# Numbers of bpf(), and its commands.
CALL = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
GET_NEXT_ID, GET_FD_BY_ID, GET_INFO = 11, 13, 15

# Of struct bpf_prog_info, which has grown since to more.
INFO_SIZE, NAME_AT, NAME_LEN, STEPS_AT = 220, 64, 16, 216

# @steps: instructions that the verifier has followed.
Program = collections.namedtuple("Program", "id name steps")

LIBC = ctypes.CDLL(None, use_errno=True)


def bpf(command, attributes):
    made = ctypes.create_string_buffer(attributes, 128)
    result = LIBC.syscall(CALL, command, made, len(made))
    if result < 0:
        raise OSError(ctypes.get_errno(), "bpf(%d): %s" % (command, os.strerror(ctypes.get_errno())))
    return result, made.raw


def program(number):
    fd, _ = bpf(GET_FD_BY_ID, struct.pack("=II", number, 0))
    try:
        info = ctypes.create_string_buffer(INFO_SIZE)
        bpf(GET_INFO, struct.pack("=IIQ", fd, INFO_SIZE, ctypes.addressof(info)))
    finally:
        os.close(fd)
    name = info.raw[NAME_AT:NAME_AT + NAME_LEN].split(b"\0")[0].decode()
    return Program(number, name, struct.unpack_from("=I", info.raw, STEPS_AT)[0])


def loaded():
    """All of them."""
    found, number = [], 0
    while True:
        try:
            _, made = bpf(GET_NEXT_ID, struct.pack("=II", number, 0))
        except OSError as e:
            if e.errno != errno.ENOENT:
                raise
            return found
        number = struct.unpack_from("=I", made, 4)[0]
        try:
            found.append(program(number))
        except FileNotFoundError:
            # It is gone meanwhile.
            continue
