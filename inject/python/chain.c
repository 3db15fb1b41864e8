// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A launch usually shares all but its innermost frames with the one before. A frame's memory may
 * have another function in it by then, or the same one elsewhere, so each frame is looked at:
 * where it is, its code object, its instruction and the next frame are compared with what was there.
 * That the code object is the same one, and not another at its address, is known without a look at it
 * as long as the interpreter tells that it has freed none (lifetime.c). So what is left of a frame that
 * did not change is four loads and compares: its line is not looked up, its id not hashed. An
 * interpreter that does not tell, as those before 3.12, has its code objects looked at (code.c).
 */
#include <pthread.h>
#include <string.h>

#include "base/prepared.h"
#include "chain.h"

/* Entries are behind one another up to the end of their array. */
#define MOST INJECT_PYTHON_FRAMES_MAX

struct inject_python_thread *inject_python_thread(void)
{
	struct inject_stack_thread *thread = inject_stack_thread();
	void *memory;

	if (INJECT_STACK_LIKELY(thread->above != NULL))
		return thread->above;
	memory = inject_memory_take(sizeof(struct inject_python_thread));
	if (!memory)
		return NULL;
	thread->above = memory;
	thread->above_size = sizeof(struct inject_python_thread);
	return memory;
}

void inject_python_forget(void)
{
	struct inject_stack_thread *stack = inject_stack_thread();
	struct inject_python_thread *thread = stack ? stack->above : NULL;

	if (stack)
		stack->count = 0;
	if (thread) {
		thread->epoch = 0;
		thread->frame_count = 0;
	}
}

bool inject_python_chain_begin_at(struct inject_python_chain *chain, uint64_t state)
{
	const struct inject_python_layout *layout = &inject_python.layout;
	struct inject_python_reader *reader = &chain->reader;

	chain->interpreter = inject_python_word(reader, state + layout->thread_interpreter);
	if (layout->thread_cframe)
		chain->cframe = inject_python_word(reader, state + layout->thread_cframe);
	if (layout->thread_frame)
		chain->frame = inject_python_word(reader, state + layout->thread_frame);
	else if (chain->cframe)
		chain->frame = inject_python_word(reader, chain->cframe + layout->cframe_frame);
	return chain->frame && !reader->bad;
}

bool inject_python_chain_begin(struct inject_python_chain *chain)
{
	const struct inject_python_layout *layout = &inject_python.layout;
	struct inject_python_reader *reader = &chain->reader;
	uint64_t state;

	/* From here on, lifetime.c keeps the frames from being freed. */
	if (!inject_python.initialized())
		return false;
	state = (uint64_t)(uintptr_t)inject_python.thread_state();
	if (!state)
		return false;
	if (inject_python_word(reader, state + layout->thread_id) != (uint64_t)pthread_self()) {
		reader->bad = true;
		return false;
	}
	return inject_python_chain_begin_at(chain, state);
}

static inline __attribute__((always_inline)) bool next_by(struct inject_python_chain *chain,
							  struct inject_python_entry *entry,
							  struct inject_python_reader *reader)
{
	const struct inject_python_layout *layout = &inject_python.layout;
	bool has_shims = layout->linkage == INJECT_PYTHON_SHIMS;
	uint64_t frame = chain->frame;
	uint8_t owner = 0;

	if (!frame || reader->bad || ++chain->looked > MOST)
		return false;
	if (layout->owner)
		owner = inject_python_byte(reader, frame + layout->owner);
	*entry = (struct inject_python_entry){
		.frame = frame,
		.is_function = !has_shims || owner < INJECT_PYTHON_OWNER_SHIM,
	};
	entry->is_last = layout->linkage == INJECT_PYTHON_CFRAMES || !entry->is_function ||
			 (layout->linkage == INJECT_PYTHON_ENTRIES && owner);
	if (entry->is_last && !has_shims)
		entry->frame = chain->cframe;
	entry->code = inject_python_word(reader, frame + layout->code);
	entry->instruction = layout->instruction_unit ?
				     inject_python_int(reader, frame + layout->instruction) :
				     inject_python_word(reader, frame + layout->instruction);
	chain->frame = inject_python_word(reader, frame + layout->previous);
	if (entry->is_last && layout->cframe_previous)
		chain->cframe = inject_python_word(reader, chain->cframe + layout->cframe_previous);
	return !reader->bad;
}

static inline INJECT_PYTHON_NO_SANITIZER uint64_t word_at(uint64_t address)
{
	return *(const volatile uint64_t *)(uintptr_t)address;
}

/*
 * An address that was compared with the one that was just loaded. Loads from it do not wait for that,
 * which the compiler would make them do, since both are the same.
 */
static inline uint64_t known_address(uint64_t address)
{
	__asm__("" : "+r"(address));
	return address;
}

/* As above, for interpreters with shims, without checks of loads: nearly always. */
static inline __attribute__((always_inline)) INJECT_PYTHON_NO_SANITIZER bool
next_of_shims(struct inject_python_chain *chain, struct inject_python_entry *entry)
{
	const struct inject_python_layout *layout = &inject_python.layout;
	uint64_t frame = chain->frame;
	uint64_t owner = frame + layout->owner;
	bool is_function = (uint8_t)(word_at(owner & ~7ull) >> (owner & 7) * 8) <
			   INJECT_PYTHON_OWNER_SHIM;

	if (++chain->looked > MOST)
		return false;
	*entry = (struct inject_python_entry){ .frame = frame,
					       .code = word_at(frame + layout->code),
					       .instruction = word_at(frame + layout->instruction),
					       .is_function = is_function,
					       .is_last = !is_function };
	chain->frame = word_at(frame + layout->previous);
	return true;
}

bool inject_python_chain_next(struct inject_python_chain *chain, struct inject_python_entry *entry)
{
	struct inject_python_reader unchecked = { NULL, false, false };

	if (INJECT_STACK_UNLIKELY(chain->reader.checked))
		return next_by(chain, entry, &chain->reader);
	return next_by(chain, entry, &unchecked);
}

static inline uint16_t *index_of(struct inject_python_thread *thread, uint64_t frame)
{
	return &thread->index[frame * 0x9e3779b97f4a7c15ull >> (64 - INJECT_PYTHON_INDEX_BITS)];
}

/* The kept entry of an address, MOST for none. */
static inline unsigned int find_kept(struct inject_python_thread *thread, uint64_t frame)
{
	unsigned int from_end = *index_of(thread, frame);
	unsigned int at = MOST - from_end;

	if (!from_end || from_end > thread->count)
		return MOST;
	if (thread->epoch == INJECT_PYTHON_LOOKED)
		return thread->looks[at].frame == frame ? at : MOST;
	return thread->entries[at].frame == frame ? at : MOST;
}

/*
 * The kept entries from @at on that are as the chain is; behind them, or where the chain and they
 * part. Only where there are shims, and loads are not checked. A shim differs from a function in what
 * it has in the place of a code object.
 */
static inline INJECT_PYTHON_NO_SANITIZER unsigned int
pass_same(struct inject_python_chain *chain, const struct inject_python_thread *thread,
	  unsigned int at)
{
	const size_t code = inject_python.layout.code;
	const size_t instruction = inject_python.layout.instruction;
	const size_t previous = inject_python.layout.previous;
	const struct inject_python_entry *entry = &thread->entries[at];
	const struct inject_python_entry *end = &thread->entries[MOST];
	uint64_t frame = chain->frame;

	while (entry < end && entry->frame == frame) {
		uint64_t known = known_address(entry->frame);

		if (word_at(known + code) != entry->code ||
		    word_at(known + instruction) != entry->instruction)
			break;
		frame = word_at(known + previous);
		entry++;
	}
	chain->frame = frame;
	chain->looked += (unsigned int)(entry - &thread->entries[at]);
	return (unsigned int)(entry - thread->entries);
}

/* As above, for any interpreter, where the code objects have to be looked at. */
static INJECT_PYTHON_NO_SANITIZER unsigned int
pass_looked(struct inject_python_chain *chain, const struct inject_python_thread *thread,
	    unsigned int at)
{
	const struct inject_python_layout *layout = &inject_python.layout;
	const enum inject_python_linkage linkage = layout->linkage;
	const uint64_t mask = layout->instruction_unit ? UINT32_MAX : ~0ull;
	struct inject_python_reader unchecked = { NULL, false, false };
	unsigned int begin = at;

	for (; at < MOST; at++) {
		const struct inject_python_entry *entry = &thread->entries[at];
		const struct inject_python_look *look = &thread->looks[at];
		uint64_t frame = known_address(look->frame);

		if (chain->frame != look->frame || word_at(frame + layout->code) != entry->code ||
		    (word_at(frame + layout->instruction) & mask) != entry->instruction)
			break;
		if (linkage == INJECT_PYTHON_ENTRIES &&
		    (inject_python_byte(&unchecked, frame + layout->owner) != 0) != entry->is_last)
			break;
		if (linkage != INJECT_PYTHON_SHIMS && entry->is_last &&
		    chain->cframe != entry->frame)
			break;
		if (entry->is_function &&
		    !inject_python_code_is(inject_python_entry_code(entry), look->identity))
			break;
		chain->frame = word_at(frame + layout->previous);
		if (entry->is_last && layout->cframe_previous)
			chain->cframe = word_at(chain->cframe + layout->cframe_previous);
	}
	chain->looked += at - begin;
	return at;
}

/* Fresh frames of this walk, in front of those that are the same as in the one before. */
static void keep_entries(struct inject_python_thread *thread, unsigned int count, unsigned int same,
			 uint64_t epoch)
{
	unsigned int begin = MOST - same - count;
	bool is_looked = epoch == INJECT_PYTHON_LOOKED;

	memcpy(thread->entries + begin, thread->fresh, count * sizeof(thread->fresh[0]));
	if (is_looked)
		memcpy(thread->looks + begin, thread->fresh_looks,
		       count * sizeof(thread->looks[0]));
	for (unsigned int i = 0; epoch && i < count; i++)
		*index_of(thread,
			  is_looked ? thread->fresh_looks[i].frame : thread->fresh[i].frame) =
			(uint16_t)(same + count - i);
	thread->count = count + same;
	thread->epoch = epoch;
}

unsigned int inject_python_chain_walk(struct inject_python_chain *chain,
				      struct inject_python_thread *thread,
				      const struct inject_python_intern *intern)
{
	bool has_shims = inject_python.layout.linkage == INJECT_PYTHON_SHIMS &&
			 !chain->reader.checked;
	uint64_t epoch = has_shims ? inject_python_code_epoch(chain->interpreter) : 0;
	bool is_looked = !epoch && !chain->reader.checked;
	bool is_settled = true;
	bool are_kept;
	unsigned int count = 0;
	unsigned int same = 0;
	struct inject_python_entry *entry;
	uint64_t code;

	if (is_looked)
		epoch = INJECT_PYTHON_LOOKED;
	are_kept = epoch && thread->epoch == epoch && thread->generation == intern->generation;
	while (chain->frame) {
		unsigned int at = are_kept ? find_kept(thread, chain->frame) : MOST;

		if (at < MOST) {
			unsigned int begin = at;

			at = is_looked ? pass_looked(chain, thread, at) :
					 pass_same(chain, thread, at);
			if (at == MOST && !chain->frame) {
				same = MOST - begin;
				break;
			}
			if (count + (at - begin) > MOST)
				break;
			memcpy(thread->fresh + count, thread->entries + begin,
			       (at - begin) * sizeof(*entry));
			if (is_looked)
				memcpy(thread->fresh_looks + count, thread->looks + begin,
				       (at - begin) * sizeof(thread->looks[0]));
			count += at - begin;
		}
		if (count == MOST)
			break;
		entry = &thread->fresh[count];
		if (is_looked)
			thread->fresh_looks[count].frame = chain->frame;
		if (!(has_shims ? next_of_shims(chain, entry) :
				  inject_python_chain_next(chain, entry)))
			break;
		count++;
		if (!entry->is_function)
			continue;
		code = inject_python_entry_code(entry);
		entry->id = inject_python_code_id(&chain->reader, code, entry->instruction, intern,
						  &is_settled);
		if (is_looked && entry->id)
			inject_python_code_look(code, thread->fresh_looks[count - 1].identity);
	}
	thread->generation = intern->generation;
	/* A chain that was left before its end has other outermost frames than the next one. */
	if (!is_settled || chain->frame || chain->reader.bad)
		epoch = 0;
	if (INJECT_STACK_UNLIKELY(count + same > MOST)) {
		memmove(thread->entries + count, thread->entries + (MOST - same),
			(MOST - count) * sizeof(*entry));
		memcpy(thread->entries, thread->fresh, count * sizeof(*entry));
		thread->count = MOST;
		thread->epoch = 0;
		return 0;
	}
	keep_entries(thread, count, same, epoch);
	return same;
}
