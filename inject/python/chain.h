/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The frames of Python of a thread, of which those that did not change are not looked up again. */
#ifndef GPUMON_INJECT_PYTHON_CHAIN_H
#define GPUMON_INJECT_PYTHON_CHAIN_H

#include "layout.h"
#include "stack.h"
#include "stack/internal.h"

/* Frames of Python in one walk, including those without room, so that a loop among them ends. */
#define INJECT_PYTHON_FRAMES_MAX 4096

/* In @host of an entry: the call's frame is beyond the end of the walk; or nowhere. */
#define INJECT_PYTHON_HOST_BEYOND 1022
#define INJECT_PYTHON_HOST_NONE	  1023

/**
 * struct inject_python_entry - a frame of Python
 * @frame: its address; of a call's last one, an address within the C frame of the call: where there
 *         are shims this is the same
 * @code: as the frame has it; a shim has something that is no function's
 * @instruction: as the frame has it
 * @id: of the line, 0 for none
 * @place: how many frames of the whole stack begin with this one, the outermost included
 * @host: how many frames of C are outward of that of its call
 * @is_function: and no shim
 * @is_last: the outermost of a call of the loop
 */
struct inject_python_entry {
	uint64_t frame;
	uint64_t code;
	uint64_t instruction;
	uint32_t id;
	uint16_t place;
	uint16_t host : 10;
	uint16_t is_function : 1;
	uint16_t is_last : 1;
};

/* The address of the code object. */
static inline uint64_t inject_python_entry_code(const struct inject_python_entry *entry)
{
	return inject_python.layout.tagged ? entry->code & ~3ull : entry->code;
}

/**
 * struct inject_python_look - what is compared where the interpreter does not report freed code objects
 * @frame: address of an entry's
 * @identity: of a function's code object
 */
struct inject_python_look {
	uint64_t frame;
	uint64_t identity[INJECT_PYTHON_IDENTITY];
};

/* In @epoch of a thread: its code objects are looked at. */
#define INJECT_PYTHON_LOOKED (~0ull)

/* Bits of the index of a thread's entries by address. */
#define INJECT_PYTHON_INDEX_BITS 7

/* Entries, and frames of a whole stack, are at the end of their arrays: the outermost keep their places. */
#define INJECT_PYTHON_STACK_MAX (INJECT_PYTHON_FRAMES_MAX + INJECT_STACK_WALK_MAX)

/**
 * struct inject_python_thread - what is kept for each thread's next walk
 * @fresh: entries of this walk that were not kept, the innermost first
 * @entries: of the last walk, the innermost first, in the last @count places
 * @count: of these
 * @epoch: inject_python_code_epoch() before they were read, or INJECT_PYTHON_LOOKED; 0 where they
 *         cannot be kept
 * @generation: of the ids
 * @walk: number of the thread's walk that they are of
 * @frame_count: in the last places of @frames: the stack that was put together from them, 0 for none
 * @is_native: no function of Python was in the last stack
 * @index: place of an entry, from the end of @entries on, by hash of its address; may be outdated
 * @frames: the whole stack, the innermost first
 * @fresh_looks: of @fresh
 * @looks: of @entries
 */
struct inject_python_thread {
	struct inject_python_entry fresh[INJECT_PYTHON_FRAMES_MAX];
	struct inject_python_entry entries[INJECT_PYTHON_FRAMES_MAX];
	unsigned int count;
	uint64_t epoch;
	uint32_t generation;
	uint64_t walk;
	unsigned int frame_count;
	bool is_native;
	uint16_t index[1u << INJECT_PYTHON_INDEX_BITS];
	uint64_t frames[INJECT_PYTHON_STACK_MAX];
	struct inject_python_look fresh_looks[INJECT_PYTHON_FRAMES_MAX];
	struct inject_python_look looks[INJECT_PYTHON_FRAMES_MAX];
};

/* State of the calling thread, which has walked; NULL where there is no memory. */
struct inject_python_thread *inject_python_thread(void);

/**
 * struct inject_python_chain - where a walk of the thread's frames of Python is
 * @reader: loads
 * @frame: next one, 0 at the end
 * @cframe: of the call of the loop that runs it, where there are such
 * @interpreter: that they are of
 * @looked: frames so far
 */
struct inject_python_chain {
	struct inject_python_reader reader;
	uint64_t frame;
	uint64_t cframe;
	uint64_t interpreter;
	unsigned int looked;
};

/* At the thread state of any thread. False: it has no frames of Python, or @reader is bad. */
bool inject_python_chain_begin_at(struct inject_python_chain *chain, uint64_t state);

/* False: the thread has no frames of Python, or @reader is bad. */
bool inject_python_chain_begin(struct inject_python_chain *chain);

/* The next one, without its id. False: there is none, or the chain makes no sense. */
bool inject_python_chain_next(struct inject_python_chain *chain, struct inject_python_entry *entry);

/**
 * inject_python_chain_walk - all of them, into @entries of the thread
 * @chain: at its begin
 * @thread: caller's
 * @intern: gives ids
 *
 * Return: how many of the outermost are as in the walk before: same frame, code and line.
 */
unsigned int inject_python_chain_walk(struct inject_python_chain *chain,
				      struct inject_python_thread *thread,
				      const struct inject_python_intern *intern);

#endif /* GPUMON_INJECT_PYTHON_CHAIN_H */
