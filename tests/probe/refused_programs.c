// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "refused_programs.h"

/* A lookup that is found, and the end. */
#define FOUND                                                         \
	"*(u32 *)(r10 - 4) = 0; r1 = map array; r2 = r10; r2 += -4\n" \
	"call map_lookup_elem; if r0 == 0 goto out\n"
#define LOOKUP                                                        \
	"*(u32 *)(r10 - 4) = 0; r1 = map array; r2 = r10; r2 += -4\n" \
	"call map_lookup_elem\n"
/* A lookup in one of two maps: r0, at instruction 8. */
#define EITHER(a, b)                                                                      \
	"*(u64 *)(r10 - 8) = 0; call get_lane_id; r1 = map " a "; if r0 == 0 goto join\n" \
	"r1 = map " b "\njoin: r2 = r10; r2 += -8; call map_lookup_elem\n"
#define OUT "out: r0 = 0; exit"

const struct refused_program refused_programs[] = {
	{ GPUMON_GPUPROG_ENTRY, "r0 = r2; exit",
	  "instruction 0: r2 is not set on each path that leads here: set it first" },
	{ GPUMON_GPUPROG_ENTRY, "r0 = r1; r0 += r6; exit",
	  "instruction 1: r6 is not set on each path that leads here: set it first" },
	{ GPUMON_GPUPROG_ENTRY, "call get_sm_id; if r0 == 0 goto skip; r6 = 1; skip: r0 = r6; exit",
	  "instruction 3: r6 is not set on each path that leads here: set it first" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = 5; call get_sm_id; r0 += r1; exit",
	  "instruction 2: r1 was lost in a call: keep it in r6 to r9 or on the stack" },
	{ GPUMON_GPUPROG_ENTRY,
	  "r6 = r10; call get_sm_id; if r0 == 0 goto skip; r6 = 1; skip: r0 = r6\n"
	  "exit",
	  "instruction 4: r6 is something else on another path: use a variable of its "
	  "own for each" },
	{ GPUMON_GPUPROG_ENTRY,
	  "r1 = r10\n"
	  "{\n"
	  "r0 = r10; r0 += -8\n"
	  "}\n"
	  "*(u64 *)(r0 + 0) = 1; exit",
	  "instruction 5: r0 points into the stack of a function that has returned: "
	  "return the value itself" },
	{ GPUMON_GPUPROG_ENTRY,
	  "r1 = 5\n"
	  "{\n"
	  "r0 = 1\n"
	  "}\n"
	  "r0 = r1; exit",
	  "instruction 4: r1 was lost in a call: keep it in r6 to r9 or on the stack" },
	{ GPUMON_GPUPROG_ENTRY,
	  "r6 = 5\n"
	  "{\n"
	  "r0 = r6\n"
	  "}\n"
	  "exit",
	  "instruction 2: r6 is not set on each path that leads here: set it first" },
	{ GPUMON_GPUPROG_ENTRY,
	  "r0 = 5\n"
	  "{\n"
	  "r1 = r0; r0 = 1\n"
	  "}\n"
	  "exit",
	  "instruction 2: r0 is not set on each path that leads here: set it first" },
	{ GPUMON_GPUPROG_ENTRY, "r10 += -8; exit",
	  "instruction 0: it changes r10, the address of the stack: copy it to another "
	  "register and change that" },
	{ GPUMON_GPUPROG_MEMORY, "r10 = *(u64 *)(r1 + 0); exit",
	  "instruction 0: it changes r10, the address of the stack: copy it to another "
	  "register and change that" },
	{ GPUMON_GPUPROG_ENTRY, "r0 = *(u64 *)(r10 - 8); exit",
	  "instruction 0: bytes from r10-8 to r10-1, read through r10, are not all "
	  "set: set the whole variable first, or bound the index" },
	{ GPUMON_GPUPROG_ENTRY, "*(u32 *)(r10 - 8) = 1; r0 = *(u64 *)(r10 - 8); exit",
	  "instruction 1: bytes from r10-8 to r10-1, read through r10, are not all "
	  "set: set the whole variable first, or bound the index" },
	{ GPUMON_GPUPROG_ENTRY,
	  "call get_sm_id; if r0 == 0 goto skip; *(u64 *)(r10 - 8) = 1\n"
	  "skip: r0 = *(u64 *)(r10 - 8); exit",
	  "instruction 3: bytes from r10-8 to r10-1, read through r10, are not all "
	  "set: set the whole variable first, or bound the index" },
	{ GPUMON_GPUPROG_ENTRY, "*(u64 *)(r10 - 520) = 1; exit",
	  "instruction 0: 8 bytes at r10-520: outside of the stack, which has 512 "
	  "bytes below r10: correct the index" },
	{ GPUMON_GPUPROG_ENTRY, "*(u64 *)(r10 + 0) = 1; exit",
	  "instruction 0: 8 bytes at r10+0: outside of the stack, which has 512 bytes "
	  "below r10: correct the index" },
	{ GPUMON_GPUPROG_ENTRY, "*(u8 *)(r10 + 0) = 1; exit",
	  "instruction 0: 1 byte at r10+0: outside of the stack, which has 512 bytes "
	  "below r10: correct the index" },
	{ GPUMON_GPUPROG_ENTRY, "r0 = *(u64 *)(r10 - 4); exit",
	  "instruction 0: 8 bytes at r10-4: outside of the stack, which has 512 bytes "
	  "below r10: correct the index" },
	{ GPUMON_GPUPROG_ENTRY, "*(u64 *)(r10 - 12) = 1; exit",
	  "instruction 0: 8 bytes of the stack are accessed through r10 at an address "
	  "that need not be a multiple of 8: align the variable" },
	{ GPUMON_GPUPROG_ENTRY,
	  "call get_sm_id; r0 &= 7; r1 = r10; r1 += -16; r1 += r0\n"
	  "*(u32 *)(r1 + 0) = 1; exit",
	  "instruction 5: 4 bytes of the stack are accessed through r1 at an address "
	  "that need not be a multiple of 4: align the variable" },
	{ GPUMON_GPUPROG_ENTRY,
	  "*(u64 *)(r10 - 8) = 0; call get_sm_id; r0 &= 15; r1 = r10; r1 += -16\n"
	  "r1 += r0; r0 = *(u8 *)(r1 + 0); exit",
	  "instruction 6: bytes from r10-16 to r10-1, read through r1, are not all "
	  "set: set the whole variable first, or bound the index" },
	{ GPUMON_GPUPROG_ENTRY,
	  "*(u64 *)(r10 - 8) = 0; call get_sm_id; r0 <<= 3; r1 = r10; r1 -= r0\n"
	  "r0 = *(u64 *)(r1 + 0); exit",
	  "instruction 5: bytes from r10-512 to r10-1, read through r1, are not all "
	  "set: set the whole variable first, or bound the index" },
	{ GPUMON_GPUPROG_ENTRY, "*(u64 *)(r10 - 8) = r10; r0 = *(u32 *)(r10 - 8); exit",
	  "instruction 1: bytes from r10-8 to r10-5, read through r10, are part of an "
	  "address: addresses can only be read whole, and not be passed on" },
	{ GPUMON_GPUPROG_ENTRY,
	  "*(u64 *)(r10 - 8) = r10; *(u8 *)(r10 - 1) = 0; r0 = *(u64 *)(r10 - 8)\n"
	  "exit",
	  "instruction 2: bytes from r10-8 to r10-1, read through r10, are not all "
	  "set: set the whole variable first, or bound the index" },
	{ GPUMON_GPUPROG_ENTRY, "*(u32 *)(r10 - 8) = r10; exit",
	  "instruction 0: it stores an address of the stack on the stack at a place "
	  "that varies, or part of it: use a variable of its own" },
	{ GPUMON_GPUPROG_ENTRY,
	  "call get_sm_id; r0 &= 8; r1 = r10; r1 += -16; r1 += r0\n"
	  "*(u64 *)(r1 + 0) = r10; exit",
	  "instruction 5: it stores an address of the stack on the stack at a place "
	  "that varies, or part of it: use a variable of its own" },
	{ GPUMON_GPUPROG_ENTRY,
	  "*(u64 *)(r10 - 8) = r10; call get_sm_id; r0 &= 8; r1 = r10; r1 += -16\n"
	  "r1 += r0; *(u64 *)(r1 + 0) = 1; r0 = *(u64 *)(r10 - 8); exit",
	  "instruction 7: bytes from r10-8 to r10-1, read through r10, are not all "
	  "set: set the whole variable first, or bound the index" },
	{ GPUMON_GPUPROG_ENTRY,
	  "{\n"
	  "*(u64 *)(r10 - 8) = 1; r0 = 0\n"
	  "}\n"
	  "{\n"
	  "r0 = *(u64 *)(r10 - 8)\n"
	  "}\n"
	  "exit",
	  "instruction 5: bytes from r10-8 to r10-1, read through r10, are not all "
	  "set: set the whole variable first, or bound the index" },
	{ GPUMON_GPUPROG_ENTRY, LOOKUP "r1 = *(u64 *)(r0 + 0); exit",
	  "instruction 5: r0, a value of map array, may be NULL: return if it is" },
	{ GPUMON_GPUPROG_ENTRY, LOOKUP "r0 += 8; exit",
	  "instruction 5: it calculates with an address that may be NULL: compare it "
	  "with NULL first" },
	{ GPUMON_GPUPROG_ENTRY,
	  LOOKUP "if r0 != 0 goto out; r1 = *(u64 *)(r0 + 0)\n"
		 "out: exit",
	  "instruction 6: r0 is NULL here: use a value only where it was found; only "
	  "programs for memory, atomics and barriers have a context" },
	{ GPUMON_GPUPROG_ENTRY,
	  LOOKUP "r6 = r0; r1 = map array; r2 = r10; r2 += -4; call map_lookup_elem\n"
		 "if r0 == 0 goto out; r1 = *(u64 *)(r6 + 0)\n" OUT,
	  "instruction 11: r6, a value of map array, may be NULL: return if it is" },
	{ GPUMON_GPUPROG_ENTRY,
	  "r6 = 0\n"
	  "again: *(u32 *)(r10 - 4) = 0; r1 = map array; r2 = r10; r2 += -4\n"
	  "r7 = r6; call map_lookup_elem; r6 = r0; if r7 == 0 goto again\n"
	  "r1 = *(u64 *)(r6 + 0); exit",
	  "instruction 9: r6, a value of map array, may be NULL: return if it is" },
	{ GPUMON_GPUPROG_ENTRY, FOUND "r1 = *(u64 *)(r0 + 64)\n" OUT,
	  "instruction 6: 8 bytes at 64: outside of the value of map array, which has "
	  "64 bytes: correct the index or make the value larger" },
	{ GPUMON_GPUPROG_ENTRY, FOUND "r1 = *(u64 *)(r0 + 57)\n" OUT,
	  "instruction 6: 8 bytes at 57: outside of the value of map array, which has "
	  "64 bytes: correct the index or make the value larger" },
	{ GPUMON_GPUPROG_ENTRY, FOUND "r1 = *(u64 *)(r0 - 1)\n" OUT,
	  "instruction 6: 8 bytes at -1: outside of the value of map array, which has "
	  "64 bytes: correct the index or make the value larger" },
	{ GPUMON_GPUPROG_ENTRY, FOUND "*(u64 *)(r0 + 8) = r0\n" OUT,
	  "instruction 6: it stores an address of a map's value in map array: "
	  "addresses stay in registers and on the stack" },
	{ GPUMON_GPUPROG_ENTRY, FOUND "*(u64 *)(r0 + 8) = r10\n" OUT,
	  "instruction 6: it stores an address of the stack in map array: addresses "
	  "stay in registers and on the stack" },
	{ GPUMON_GPUPROG_ENTRY,
	  FOUND "r6 = r0; call get_sm_id; if r0 > 100 goto out; if r0 < 64 goto out\n"
		"r6 += r0; *(u8 *)(r6 + 0) = 1\n" OUT,
	  "instruction 11: 1 byte at 64: outside of the value of map array, which has "
	  "64 bytes: correct the index or make the value larger" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = map array; r0 = *(u64 *)(r1 + 0); exit",
	  "instruction 1: r1 is map array itself: call bpf_map_lookup_elem() and use "
	  "what it returns" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = map array; r1 += 8; r0 = 0; exit",
	  "instruction 1: it calculates with map array itself: look up a value and use "
	  "that" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = value .rodata; *(u8 *)(r1 + 0) = 1; exit",
	  "instruction 1: it writes to .rodata, which can only be read: leave out the "
	  "const" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = value .rodata; r2 = 1; lock *(u64 *)(r1 + 0) += r2; exit",
	  "instruction 2: it writes to .rodata, which can only be read: leave out the "
	  "const" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = value .data + 24; r0 = *(u64 *)(r1 + 8); exit",
	  "instruction 1: 8 bytes at 32: outside of the value of map .data, which has "
	  "32 bytes: correct the index or make the value larger" },
	{ GPUMON_GPUPROG_MEMORY, "r1 = *(u64 *)(r1 + 0); r0 = *(u64 *)(r1 + 0); exit",
	  "instruction 1: r1 is a number, not an address: only the stack, values of "
	  "maps and the context can be accessed, not memory of the kernel" },
	{ GPUMON_GPUPROG_ENTRY, "r0 = *(u64 *)(r1 + 0); exit",
	  "instruction 0: r1 is NULL here: use a value only where it was found; only "
	  "programs for memory, atomics and barriers have a context" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = 0x7f0000001000 ll; *(u64 *)(r1 + 0) = 1; exit",
	  "instruction 1: r1 is a number, not an address: only the stack, values of "
	  "maps and the context can be accessed, not memory of the kernel" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = r10; r1 *= 2; exit",
	  "instruction 1: it makes a useless number of an address of the stack: only "
	  "add a number to an address, or subtract one" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = r10; w1 += 8; exit",
	  "instruction 1: it makes a useless number of an address of the stack: only "
	  "add a number to an address, or subtract one" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = r10; r1 = -r1; exit",
	  "instruction 1: the operand in r1 is an address of the stack: it must be a "
	  "number" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = r10; r1 = be64 r1; exit",
	  "instruction 1: the operand in r1 is an address of the stack: it must be a "
	  "number" },
	{ GPUMON_GPUPROG_ENTRY, "w1 = w10; exit",
	  "instruction 0: it takes part of r10, an address of the stack: an address "
	  "can only be copied whole" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = (s32)r10; exit",
	  "instruction 0: it takes part of r10, an address of the stack: an address "
	  "can only be copied whole" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = 5; r1 -= r10; exit",
	  "instruction 1: it makes a useless number of an address of the stack: only "
	  "add a number to an address, or subtract one" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = r10; r2 = value .data; r1 -= r2; exit",
	  "instruction 2: it makes a useless number of an address of the stack: only "
	  "add a number to an address, or subtract one" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = r10; r1 += r10; exit",
	  "instruction 1: it makes a useless number of an address of the stack: only "
	  "add a number to an address, or subtract one" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = r10; if r1 > 5 goto out\n" OUT,
	  "instruction 1: it compares an address of the stack with a number: an "
	  "address can be compared with NULL and with one of the same kind" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = r10; r2 = value .data; if r1 == r2 goto out\n" OUT,
	  "instruction 2: it compares an address of the stack with an address of a "
	  "map's value: only compare addresses in the same value or stack" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = r10; if w1 == 0 goto out\n" OUT,
	  "instruction 1: it compares an address of the stack with a number: an "
	  "address can be compared with NULL and with one of the same kind" },
	{ GPUMON_GPUPROG_ENTRY, LOOKUP "r1 = value .data; if r0 == r1 goto out\n" OUT,
	  "instruction 6: it compares an address that may be NULL with another one: "
	  "compare it with NULL first" },
	{ GPUMON_GPUPROG_MEMORY, "r0 = *(u64 *)(r1 + 24); exit",
	  "instruction 0: 8 bytes at 24: no field of the context, which has address, "
	  "line, size and flags: name one of them" },
	{ GPUMON_GPUPROG_MEMORY, "r0 = *(u64 *)(r1 + 16); exit",
	  "instruction 0: 8 bytes at 16: no field of the context, which has address, "
	  "line, size and flags: name one of them" },
	{ GPUMON_GPUPROG_MEMORY, "r0 = *(u16 *)(r1 + 17); exit",
	  "instruction 0: 2 bytes at 17: no field of the context, which has address, "
	  "line, size and flags: name one of them" },
	{ GPUMON_GPUPROG_ATOMIC, "*(u64 *)(r1 + 0) = 1; exit",
	  "instruction 0: it writes to the context, which can only be read: use a "
	  "variable of its own" },
	{ GPUMON_GPUPROG_BARRIER, "r2 = *(u32 *)(r1 + 16); r1 += r2; r0 = *(u8 *)(r1 + 0); exit",
	  "instruction 2: the offset within the context is not a constant: name the "
	  "field" },
	{ GPUMON_GPUPROG_MEMORY,
	  "*(u32 *)(r10 - 4) = 0; r6 = r1; r1 = map array; r2 = r10; r2 += -4\n"
	  "call map_lookup_elem; if r0 == 0 goto out\n"
	  "*(u64 *)(r0 + 0) = r6\n" OUT,
	  "instruction 7: it stores the address of the context in map array: addresses "
	  "stay in registers and on the stack" },
	{ GPUMON_GPUPROG_ENTRY, "*(u64 *)(r10 - 8) = 0; r1 = 1; lock *(u64 *)(r10 - 8) += r1; exit",
	  "instruction 2: it is an atomic operation on an address of the stack: only "
	  "values of maps are shared, use plain arithmetic" },
	{ GPUMON_GPUPROG_ENTRY, FOUND "r1 = 1; lock *(u64 *)(r0 + 4) += r1\n" OUT,
	  "instruction 7: it is an atomic operation of 8 bytes at an address that need "
	  "not be a multiple of 8: align the variable" },
	{ GPUMON_GPUPROG_ENTRY,
	  FOUND "r6 = r0; call get_sm_id; r0 &= 15; r6 += r0; r1 = 1\n"
		"lock *(u32 *)(r6 + 0) += r1\n" OUT,
	  "instruction 11: it is an atomic operation of 4 bytes at an address that "
	  "need not be a multiple of 4: align the variable" },
	{ GPUMON_GPUPROG_ENTRY, FOUND "lock *(u64 *)(r0 + 0) += r10\n" OUT,
	  "instruction 6: the operand in r10 is an address of the stack: it must be a "
	  "number" },
	{ GPUMON_GPUPROG_ENTRY,
	  FOUND "r1 = 1; r6 = r0; r0 = r10; r0 = cmpxchg *(u64 *)(r6 + 0) r1\n" OUT,
	  "instruction 9: the value to compare with in r0 is an address of the stack: "
	  "it must be a number" },
	{ GPUMON_GPUPROG_ENTRY, FOUND "r1 = xchg *(u64 *)(r0 + 0) r10\n" OUT,
	  "instruction 6: it changes r10, the address of the stack: copy it to another "
	  "register and change that" },
	{ GPUMON_GPUPROG_MEMORY, "r2 = 1; lock *(u64 *)(r1 + 0) += r2; exit",
	  "instruction 1: it writes to the context, which can only be read: use a "
	  "variable of its own" },
	{ GPUMON_GPUPROG_ENTRY, "call 5; exit",
	  "instruction 0: helper 5, bpf_ktime_get_ns(), is not there on a GPU: use "
	  "bpf_get_globaltimer()" },
	{ GPUMON_GPUPROG_ENTRY, "call 12; exit",
	  "instruction 0: opcode 0x85: it is a tail call: call a function instead" },
	{ GPUMON_GPUPROG_ENTRY, "call 512; exit",
	  "instruction 0: helper 512, bpf_get_ptx_reg(), is not there on a GPU: "
	  "registers of the kernel cannot be read" },
	{ GPUMON_GPUPROG_ENTRY, "call 613; exit",
	  "instruction 0: helper 613 does not exist: the nearest is 612, "
	  "gpumon_contiguous(); gpumon_gpu.h has all" },
	{ GPUMON_GPUPROG_ENTRY, "call 300000; exit",
	  "instruction 0: helper 300000 does not exist: gpumon_gpu.h has all that do" },
	{ GPUMON_GPUPROG_ENTRY, "call cuda_exit; exit",
	  "instruction 0: bpf_cuda_exit() ends the thread, which changes results and "
	  "can make the kernel wait for ever: say --allow-exit if that is wanted" },
	{ GPUMON_GPUPROG_ENTRY,
	  "r1 = 0; r2 = r10; r2 += -4; *(u32 *)(r10 - 4) = 0\n"
	  "call map_lookup_elem; exit",
	  "instruction 4: argument 1 of bpf_map_lookup_elem(), r1, is a number: it "
	  "must be a map" },
	{ GPUMON_GPUPROG_ENTRY,
	  "r1 = map ring; r2 = r10; r2 += -4; *(u32 *)(r10 - 4) = 0\n"
	  "call map_lookup_elem; exit",
	  "instruction 4: map ring has type 27, which bpf_map_lookup_elem() cannot "
	  "use: see the table of maps in gpumon_gpu.h" },
	{ GPUMON_GPUPROG_ENTRY,
	  "r1 = map array; r2 = r10; r2 += -4; *(u32 *)(r10 - 4) = 0\n"
	  "call map_delete_elem; exit",
	  "instruction 4: map array has type 2, which bpf_map_delete_elem() cannot "
	  "use: see the table of maps in gpumon_gpu.h" },
	{ GPUMON_GPUPROG_ENTRY,
	  "r1 = map hash; r2 = r10; r2 += -4; *(u32 *)(r10 - 4) = 0\n"
	  "call map_lookup_elem; exit",
	  "instruction 4: 8 bytes at r10-4: outside of the stack, which has 512 bytes "
	  "below r10: correct the index" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = map array; r2 = r10; r2 += -4; call map_lookup_elem; exit",
	  "instruction 3: bytes from r10-4 to r10-1, read through r2, are not all set: "
	  "set the whole variable first, or bound the index" },
	{ GPUMON_GPUPROG_ENTRY,
	  "r1 = map array; r2 = r10; r2 += -8; *(u64 *)(r10 - 8) = r10\n"
	  "call map_lookup_elem; exit",
	  "instruction 4: bytes from r10-8 to r10-5, read through r2, are part of an "
	  "address: addresses can only be read whole, and not be passed on" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = map array; r2 = 5; call map_lookup_elem; exit",
	  "instruction 2: argument 2 of bpf_map_lookup_elem(), r2, is a number: it "
	  "must be an address of the stack or of a map's value" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = map array; call map_lookup_elem; exit",
	  "instruction 1: r2 is not set on each path that leads here: set it first" },
	{ GPUMON_GPUPROG_MEMORY, "r1 = map array; r2 = r1; call map_lookup_elem; exit",
	  "instruction 2: argument 2 of bpf_map_lookup_elem(), r2, is a map: it must "
	  "be an address of the stack or of a map's value" },
	{ GPUMON_GPUPROG_ENTRY,
	  "*(u64 *)(r10 - 8) = 0; r1 = map hash; r2 = r10; r2 += -8; r3 = r2\n"
	  "r4 = 0; call map_update_elem; exit",
	  "instruction 6: 16 bytes at r10-8: outside of the stack, which has 512 bytes "
	  "below r10: correct the index" },
	{ GPUMON_GPUPROG_ENTRY,
	  FOUND "r1 = map array; r2 = r10; r2 += -4; r3 = r0; r3 += 8; r4 = 0\n"
		"call map_update_elem\n" OUT,
	  "instruction 12: 64 bytes at 8: outside of the value of map array, which has "
	  "64 bytes: correct the index or make the value larger" },
	{ GPUMON_GPUPROG_ENTRY,
	  FOUND "r6 = r0; call get_sm_id; if r0 > 61 goto out; r6 += r0; r1 = map array\n"
		"r2 = r6; call map_lookup_elem\n" OUT,
	  "instruction 12: argument 2 of bpf_map_lookup_elem(), r2, may lead to a "
	  "place outside of its object: bound the index with if or &" },
	{ GPUMON_GPUPROG_ENTRY,
	  "r1 = map ring; r2 = r10; r2 += -64; r3 = 56; r4 = 0\n"
	  "call ringbuf_output; exit",
	  "instruction 5: a record of 56 bytes does not fit into ring "
	  "ring, whose records have at most 48: make it shorter" },
	{ GPUMON_GPUPROG_ENTRY,
	  "call get_sm_id; *(u64 *)(r10 - 8) = 0; r3 = r0; r1 = map ring\n"
	  "r2 = r10; r2 += -8; r4 = 0; call ringbuf_output; exit",
	  "instruction 7: argument 3 of bpf_ringbuf_output(), r3, varies: it must be a "
	  "constant of 1 to 512" },
	{ GPUMON_GPUPROG_ENTRY,
	  "*(u64 *)(r10 - 8) = 0; r3 = 0; r1 = map ring; r2 = r10; r2 += -8\n"
	  "r4 = 0; call ringbuf_output; exit",
	  "instruction 6: argument 3 of bpf_ringbuf_output(), r3, is 0: it must be 1 "
	  "to 512" },
	{ GPUMON_GPUPROG_ENTRY,
	  "*(u64 *)(r10 - 8) = 0; r3 = 16; r1 = map ring; r2 = r10; r2 += -8\n"
	  "r4 = 0; call ringbuf_output; exit",
	  "instruction 6: 16 bytes at r10-8: outside of the stack, which has 512 bytes "
	  "below r10: correct the index" },
	{ GPUMON_GPUPROG_ENTRY,
	  "*(u64 *)(r10 - 8) = r10; r3 = 8; r1 = map ring; r2 = r10; r2 += -8\n"
	  "r4 = 0; call ringbuf_output; exit",
	  "instruction 6: bytes from r10-8 to r10-1, read through r2, are part of an "
	  "address: addresses can only be read whole, and not be passed on" },
	{ GPUMON_GPUPROG_ENTRY,
	  "r1 = map array; r2 = 0; r3 = 0; r4 = r10; r4 += -8; r5 = 8\n"
	  "call perf_event_output; exit",
	  "instruction 6: argument 2 of bpf_perf_event_output(), r2, is a number: it "
	  "must be a map" },
	{ GPUMON_GPUPROG_ENTRY,
	  "r1 = r10; r1 += -4; r2 = r10; r2 += -16; r3 = r2; call get_block_idx\n"
	  "exit",
	  "instruction 5: 8 bytes at r10-4: outside of the stack, which has 512 bytes "
	  "below r10: correct the index" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = r10; r1 += -8; r2 = 0; r3 = r1; call get_block_idx; exit",
	  "instruction 4: argument 2 of bpf_get_block_idx(), r2, is a number: it must "
	  "be an address of the stack or of a map's value" },
	{ GPUMON_GPUPROG_ENTRY,
	  "r1 = value .rodata; r2 = r10; r2 += -8; r3 = r2; call get_grid_dim\n"
	  "exit",
	  "instruction 4: bpf_get_grid_dim() would write to .rodata, which can only be "
	  "read: use a variable on the stack" },
	{ GPUMON_GPUPROG_ENTRY,
	  "call get_sm_id; r0 &= 8; r1 = r10; r1 += -16; r1 += r0; r2 = r1\n"
	  "r3 = r1; call get_block_dim; exit",
	  "instruction 7: argument 1 of bpf_get_block_dim(), r1, must lead to one "
	  "variable of 8 bytes, aligned: use a u64" },
	{ GPUMON_GPUPROG_ENTRY,
	  "call get_sm_id; *(u64 *)(r10 - 8) = r0; r1 = r10; r1 += -8; call puts; exit",
	  "instruction 4: the text in argument 1 of bpf_puts(), r1, is on the stack, and not "
	  "the same on each path, with its NUL: make it static const" },
	{ GPUMON_GPUPROG_ENTRY,
	  "call get_sm_id; *(u32 *)(r10 - 4) = 97; if r0 == 0 goto join\n"
	  "*(u8 *)(r10 - 4) = 98\n"
	  "join: r1 = r10; r1 += -4; call puts; exit",
	  "instruction 6: the text in argument 1 of bpf_puts(), r1, is on the stack, and not "
	  "the same on each path, with its NUL: make it static const" },
	{ GPUMON_GPUPROG_ENTRY,
	  "*(u64 *)(r10 - 8) = 97; r1 = r10; r1 += -4; r2 = 5; call trace_printk; exit",
	  "instruction 4: argument 2 of bpf_trace_printk(), r2, is 5, but the text has 4 bytes "
	  "at most: use sizeof" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = value .data; call puts; exit",
	  "instruction 1: argument 1 of bpf_puts(), r1, leads into .data: it must be a "
	  "text in .rodata, make it static const" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = value .rodata + 57; call puts; exit",
	  "instruction 1: the text in argument 1 of bpf_puts(), r1, has no end: it "
	  "needs its NUL" },
	{ GPUMON_GPUPROG_ENTRY,
	  "call get_sm_id; r0 &= 1; r1 = value .rodata; r1 += r0; call puts; exit",
	  "instruction 4: argument 1 of bpf_puts(), r1, varies: it must be one text" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = value .rodata; r2 = 16; call trace_printk; exit",
	  "instruction 2: r3 is not set on each path that leads here: set it first" },
	{ GPUMON_GPUPROG_ENTRY,
	  "r1 = value .rodata; r2 = 16; r3 = r10; r4 = 0; call trace_printk; exit",
	  "instruction 4: what is printed in r3 is an address of the stack: it must be "
	  "a number" },
	{ GPUMON_GPUPROG_ENTRY,
	  "r1 = value .rodata + 24; r2 = 16; r3 = 1; r4 = 0; r5 = 0\n"
	  "call trace_printk; exit",
	  "instruction 5: format \"%d %d %d %d \" prints 4 numbers, at most 3 are "
	  "possible: print it in two calls" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = 4; r2 = 0; call gpumon_keep; exit",
	  "instruction 2: argument 1 of gpumon_keep(), r1, is 4: it must be 0 to 3" },
	{ GPUMON_GPUPROG_ENTRY, "call get_sm_id; r1 = r0; call gpumon_kept; exit",
	  "instruction 2: argument 1 of gpumon_kept(), r1, varies: it must be a "
	  "constant of 0 to 3" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = 0; r2 = r10; call gpumon_keep; exit",
	  "instruction 2: argument 2 of gpumon_keep(), r2, is an address of the stack: "
	  "it must be a number" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = map array; r2 = 0; r3 = 1; call gpumon_histogram_add; exit",
	  "instruction 3: map array has type 2, which gpumon_histogram_add() cannot "
	  "use: see the table of maps in gpumon_gpu.h" },
	{ GPUMON_GPUPROG_ENTRY,
	  "r1 = map histogram; r2 = 0; r3 = r10; call gpumon_histogram_add; exit",
	  "instruction 3: argument 3 of gpumon_histogram_add(), r3, is an address of "
	  "the stack: it must be a number" },
	{ GPUMON_GPUPROG_ENTRY,
	  EITHER("array", "odd") "if r0 == 0 goto out; *(u64 *)(r0 + 8) = 1\n" OUT,
	  "instruction 9: 8 bytes at 8: outside of the value of map odd, which has 12 bytes: "
	  "correct the index or make the value larger" },
	{ GPUMON_GPUPROG_ENTRY,
	  EITHER("array",
		 "odd") "if r0 == 0 goto out; r6 = r0; call get_sm_id; r0 &= 15; r6 += r0\n"
			"*(u8 *)(r6 + 0) = 1\n" OUT,
	  "instruction 13: r6 leads into one of several maps, perhaps outside of its value: "
	  "bound the index with if or &, or access each map by itself" },
	{ GPUMON_GPUPROG_ENTRY, EITHER("array", "hash") OUT,
	  "instruction 7: bpf_map_lookup_elem() may get map array or map hash, whose keys or "
	  "values differ in size: call it for each" },
	{ GPUMON_GPUPROG_ENTRY, EITHER("array", "ring") OUT,
	  "instruction 7: map ring has type 27, which bpf_map_lookup_elem() cannot use: see the "
	  "table of maps in gpumon_gpu.h" },
	{ GPUMON_GPUPROG_ENTRY,
	  "call get_lane_id; r1 = value .rodata; if r0 == 0 goto join; r1 = value .data\n"
	  "join: *(u8 *)(r1 + 0) = 1\n" OUT,
	  "instruction 4: it writes to .rodata, which can only be read: leave out the const" },
	{ GPUMON_GPUPROG_ENTRY, "r0 = 0",
	  "instruction 0: the program runs on over its end: end it with a return, "
	  "without __builtin_unreachable()" },
	{ GPUMON_GPUPROG_ENTRY, "r1 = 0; if r1 == 0 goto end; exit; end: r0 = 1",
	  "instruction 3: the program runs on over its end: end it with a return, "
	  "without __builtin_unreachable()" },
	{ GPUMON_GPUPROG_ENTRY, "if r1 == 0 goto out; exit; out: call get_sm_id",
	  "instruction 2: the program runs on over its end: end it with a return, "
	  "without __builtin_unreachable()" },
};

const size_t refused_programs_n = sizeof(refused_programs) / sizeof(refused_programs[0]);
