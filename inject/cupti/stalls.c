// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <string.h>

#include "base/prepared.h"
#include "base/threads.h"
#include "channel/intern.h"
#include "cubins.h"
#include "pc_sampling.h"
#include "session/session.h"
#include "stalls.h"
#include "subscribe.h"

/* Contexts that are sampled at the same time, and that wait for that. */
#define CONTEXTS 16
#define SEEN	 32

/* Instructions for which there is room in one read, and reasons of each. */
#define PCS	4096
#define REASONS 64

/*
 * Reads in a row, and those of them that do not fill the buffer: kernels run meanwhile, and CUPTI gives what
 * it kept when a module went apart from the rest.
 */
#define READS	   64
#define READS_PART 4

/*
 * CUPTI's buffers for a context: in the GPU's memory, of which it would take 512 MiB, and for what it has
 * decoded. At 2^16 cycles a large GPU fills some 60 MiB a second, and CUPTI's threads empty it ten times
 * in that time.
 */
#define DEVICE_BUFFER  ((size_t)128 << 20)
#define SCRATCH_BUFFER ((size_t)16 << 20)

/* How long a thread that makes or destroys a context waits for the library's thread. */
#define GUARD_NS (INJECT_PATIENCE(1000) * 1000000ull)

/* Reads that are not regular ones are no more frequent. */
#define SOON_NS 50000000ull

/* Looking up source lines in one read takes no longer. */
#define LINES_NS 1000000000ull

/* Names of functions that CUPTI gave more than once may take so much. */
#define NAMES_BYTES (16u << 20)
#define NAMES	    4096

/* After its buffer was full so often, a context is no longer sampled. */
#define FULL_MAX 8

enum state {
	FREE,
	NEW,	 /* not sampled: the window is closed */
	SAMPLED, /* by CUPTI */
	ENDED,	 /* no longer sampled, with samples that are not yet written */
	REFUSED, /* CUPTI does not sample it */
};

/**
 * struct buffer - what CUPTI writes samples to
 * @data: as CUPTI has it
 * @pcs: of @data
 * @stalls: of @pcs
 */
struct buffer {
	struct inject_pc_data data;
	struct inject_pc pcs[PCS];
	struct inject_pc_stall stalls[PCS][REASONS];
};

/**
 * struct context - one of the program's
 * @handle: CUDA's
 * @id: CUPTI's
 * @device: where it is
 * @generation: of the capture that it was sampled in
 * @state: of the sampling
 * @buffer: for what CUPTI has left when the sampling ends, and when modules come and go
 * @reasons: how many stall reasons there are
 * @numbers: CUPTI's numbers of them
 * @names: likewise
 * @samples: of all reads
 * @dropped: likewise
 * @other: likewise
 * @told: @samples of the last record, and 1
 * @full: how often CUPTI's buffer was full
 */
struct context {
	CUcontext handle;
	uint32_t id;
	uint32_t device;
	uint32_t generation;
	enum state state;
	struct buffer *buffer;
	size_t reasons;
	uint32_t numbers[REASONS];
	char names[REASONS][INJECT_PC_NAME];
	uint64_t samples;
	uint64_t dropped;
	uint64_t other;
	uint64_t told;
	unsigned int full;
};

/* The name of a function in a context, as CUPTI gave it last. */
struct name {
	uint64_t module;
	uint32_t function;
	uint32_t context;
	const char *text;
};

_Atomic bool inject_stalls_looks;

/* Samples are taken in this capture; its window is open. */
static _Atomic bool is_wanted, is_open;

/* A module went: its addresses may soon be another one's. */
static _Atomic bool is_soon;

/* Contexts that threads of the program have seen. NULL: free. */
static _Atomic(CUcontext) seen[SEEN];

/* Protects what follows. Threads of the program take it only when they make or destroy a context. */
static struct inject_guard guard = INJECT_GUARD;
static struct context contexts[CONTEXTS];
static struct buffer *read_buffer;
static bool has_memory;
static struct name names[NAMES];
static size_t names_bytes;
static uint64_t last_read_ns;
/* Until then source lines are looked up in this read. */
static uint64_t lines_until_ns;
static uint32_t without_lines;
static unsigned int contexts_full;
static bool is_told_full, is_given_up;
static CUptiResult told_result;

bool inject_stalls_wanted(void)
{
	return atomic_load(&is_wanted);
}

static void reset_room(struct buffer *buffer, size_t reasons)
{
	buffer->data.count = 0;
	buffer->data.remaining = 0;
	buffer->data.is_full = 0;
	for (size_t i = 0; i < PCS; i++)
		buffer->pcs[i].count = reasons;
}

static struct buffer *make_buffer(void)
{
	struct buffer *buffer = inject_memory_take(sizeof(*buffer));

	if (!buffer)
		return NULL;
	buffer->data.size = sizeof(buffer->data);
	buffer->data.room = PCS;
	buffer->data.pcs = buffer->pcs;
	for (size_t i = 0; i < PCS; i++) {
		buffer->pcs[i].size = sizeof(buffer->pcs[i]);
		buffer->pcs[i].stalls = buffer->stalls[i];
	}
	return buffer;
}

void inject_stalls_reserve(const struct gpumon_message_settings *settings)
{
	if (!settings->stalls_period)
		return;
	if (!read_buffer)
		read_buffer = make_buffer();
	has_memory = inject_cubins_reserve() && read_buffer;
}

/* The driver's functions that make a context current. CUPTI may want that of the thread that reads. */
static void make_current(CUcontext context, bool is_current)
{
	static CUresult (*push)(CUcontext), (*pop)(CUcontext *);
	CUcontext last;

	if (!push || !pop) {
		push = inject_cuda_symbol("cuCtxPushCurrent_v2");
		pop = inject_cuda_symbol("cuCtxPopCurrent_v2");
	}
	if (!push || !pop)
		return;
	if (is_current)
		push(context);
	else
		pop(&last);
}

static struct inject_pc_context parameters_of(const struct context *context, size_t size)
{
	return (struct inject_pc_context){ .size = size, .context = context->handle };
}

static const char *why_refused(CUptiResult result)
{
	switch ((int)result) {
	case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
	case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
		return "the driver lets only root sample: run the program as root (with sudo, also --run-as root), or load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0";
	case CUPTI_ERROR_HARDWARE_BUSY:
		return "another profiler has the GPU's counters: try again when it has ended";
	case CUPTI_ERROR_NOT_SUPPORTED:
	case CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED:
	case CUPTI_ERROR_INVALID_DEVICE:
	case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
	case 41: /* confidential computing */
	case 42: /* CMP devices */
	case 43: /* MIG */
	case 44: /* SLI */
	case 45: /* WSL */
		return "CUPTI cannot sample on this GPU, or not as it is set up (it has to be of compute capability 7.5 or newer)";
	default:
		return "CUPTI refuses it";
	}
}

/* Each reason once in a capture, not for each context. */
static void note_refusal(struct inject_thread *thread, const char *what, CUptiResult result)
{
	if (told_result == result)
		return;
	told_result = result;
	inject_session_note(thread, GPUMON_NOTE_MISSING,
			    "stalls of kernels are missing: %s (%s: %s)", why_refused(result), what,
			    inject_cupti_result(result));
}

/* @context's stall reasons, by CUPTI's numbers. */
static CUptiResult find_reasons(struct context *context)
{
	size_t count = 0;
	char *texts[REASONS];
	struct inject_pc_count_reasons how_many = {
		.of = parameters_of(context, sizeof(how_many)),
		.count = &count,
	};
	struct inject_pc_get_reasons get = {
		.of = parameters_of(context, sizeof(get)),
		.numbers = context->numbers,
		.names = texts,
	};
	CUptiResult result = inject_pc_sampling.count_reasons(&how_many);

	if (result != CUPTI_SUCCESS)
		return result;
	/* A driver that gives no access to counters has none. */
	if (!count || count > REASONS)
		return CUPTI_ERROR_NOT_SUPPORTED;
	for (size_t i = 0; i < REASONS; i++)
		texts[i] = context->names[i];
	memset(context->names, 0, sizeof(context->names));
	get.count = count;
	result = inject_pc_sampling.get_reasons(&get);
	context->reasons = result == CUPTI_SUCCESS ? count : 0;
	return result;
}

static CUptiResult configure(struct context *context, bool with_sizes)
{
	struct inject_pc_attribute attributes[] = {
		{ .type = INJECT_PC_MODE, .value.number = INJECT_PC_CONTINUOUS },
		{ .type = INJECT_PC_PERIOD, .value.number = inject_session.settings.stalls_period },
		{ .type = INJECT_PC_REASONS, .value.list = { context->reasons, context->numbers } },
		{ .type = INJECT_PC_DATA, .value.data = &context->buffer->data },
		{ .type = INJECT_PC_DEVICE_BUFFER, .value.bytes = DEVICE_BUFFER },
		{ .type = INJECT_PC_SCRATCH_BUFFER, .value.bytes = SCRATCH_BUFFER },
	};
	struct inject_pc_configuration configuration = {
		.of = parameters_of(context, sizeof(configuration)),
		.count = sizeof(attributes) / sizeof(attributes[0]) - (with_sizes ? 0 : 2),
		.attributes = attributes,
	};

	return inject_pc_sampling.configure(&configuration);
}

/* Returns what CUPTI refuses, with @result; NULL: nothing. */
static const char *switch_on(struct context *context, CUptiResult *result)
{
	struct inject_pc_context of = parameters_of(context, sizeof(of));
	const char *what = "cuptiPCSamplingGetStallReasons";

	*result = inject_pc_sampling.enable(&of);
	if (*result != CUPTI_SUCCESS)
		return "cuptiPCSamplingEnable";
	*result = find_reasons(context);
	if (*result == CUPTI_SUCCESS) {
		what = "cuptiPCSamplingSetConfigurationAttribute";
		reset_room(context->buffer, context->reasons);
		*result = configure(context, true);
		/* Sizes that it does not like are CUPTI's own then. */
		if (*result != CUPTI_SUCCESS)
			*result = configure(context, false);
	}
	if (*result == CUPTI_SUCCESS)
		return NULL;
	inject_pc_sampling.disable(&of);
	return what;
}

static void sample_context(struct inject_thread *thread, struct context *context)
{
	CUptiResult result = CUPTI_ERROR_OUT_OF_MEMORY;
	const char *refused = "no memory";

	if (!context->buffer)
		context->buffer = make_buffer();
	if (context->buffer)
		refused = switch_on(context, &result);
	context->state = refused ? REFUSED : SAMPLED;
	if (refused)
		note_refusal(thread, refused, result);
}

/* How much CUPTI's names of functions take that are not freed: activity records may have them, too. */
static void count_name(const struct context *context, const struct inject_pc *pc)
{
	uint64_t hash = (pc->module ^ pc->function ^ context->id) * 0x9e3779b97f4a7c15ull;
	struct name *name = &names[hash >> 52];
	bool is_same = name->module == pc->module && name->function == pc->function &&
		       name->context == context->id && name->text;

	if (is_same && name->text == pc->name)
		return;
	if (is_same)
		names_bytes += strlen(pc->name) + 1;
	*name = (struct name){ pc->module, pc->function, context->id, pc->name };
}

static uint32_t reason_id(struct inject_thread *thread, const struct context *context,
			  uint32_t number)
{
	char text[32];

	for (size_t i = 0; i < context->reasons; i++)
		if (context->numbers[i] == number)
			return inject_intern_text(thread, context->names[i],
						  strnlen(context->names[i], INJECT_PC_NAME));
	snprintf(text, sizeof(text), "stall reason %u", number);
	return inject_intern_string(thread, text);
}

static void write_pc(struct inject_thread *thread, const struct context *context,
		     const struct inject_pc *pc)
{
	union {
		struct gpumon_record_stalls record;
		char room[sizeof(struct gpumon_record_stalls) +
			  REASONS * sizeof(struct gpumon_stall)];
	} to;
	uint32_t n = 0;

	for (size_t i = 0; i < pc->count && i < REASONS; i++) {
		if (!pc->stalls[i].samples)
			continue;
		to.record.stall[n].reason = reason_id(thread, context, pc->stalls[i].reason);
		to.record.stall[n++].samples = pc->stalls[i].samples;
	}
	if (!n)
		return;
	to.record.head = (struct gpumon_record){
		.type = GPUMON_RECORD_STALLS,
		.size = (uint32_t)(sizeof(to.record) + n * sizeof(struct gpumon_stall)),
	};
	to.record.time_ns = inject_now();
	to.record.module = pc->module;
	to.record.device = context->device;
	to.record.context = context->id;
	to.record.name = inject_intern_string(thread, pc->name);
	to.record.offset = (uint32_t)pc->offset;
	inject_cubins_line(thread, pc, &to.record.file, &to.record.line, lines_until_ns);
	to.record.count = n;
	to.record.reserved = 0;
	without_lines += !to.record.line;
	inject_append(thread, &to.record);
}

/* Writes what CUPTI has left in a buffer. */
static void write_buffer(struct inject_thread *thread, struct context *context,
			 struct buffer *buffer, bool is_read)
{
	size_t count = buffer->data.count < PCS ? buffer->data.count : PCS;

	context->samples += buffer->data.samples;
	context->dropped += buffer->data.dropped;
	context->other += buffer->data.other;
	for (size_t i = 0; i < count; i++) {
		if (buffer->pcs[i].name)
			count_name(context, &buffer->pcs[i]);
		if (is_read)
			write_pc(thread, context, &buffer->pcs[i]);
	}
	buffer->data.samples = 0;
	buffer->data.dropped = 0;
	buffer->data.other = 0;
	reset_room(buffer, context->reasons);
}

static void write_totals(struct inject_thread *thread, struct context *context)
{
	const struct gpumon_record_stall_totals record = {
		.head = { .type = GPUMON_RECORD_STALL_TOTALS, .size = sizeof(record) },
		.time_ns = inject_now(),
		.device = context->device,
		.context = context->id,
		.samples = context->samples,
		.dropped = context->dropped,
		.other = context->other,
		.period_log2 = inject_session.settings.stalls_period,
	};

	if (context->told == context->samples + 1)
		return;
	context->told = context->samples + 1;
	inject_append(thread, &record);
}

/*
 * One read, of @count instructions. Returns whether there may be more; @is_full: CUPTI's buffer was, and it takes
 * no more samples.
 */
static bool read_once(struct inject_thread *thread, struct context *context, size_t *count,
		      bool *is_full)
{
	struct inject_pc_get get = {
		.of = parameters_of(context, sizeof(get)),
		.data = &read_buffer->data,
	};
	bool has_more;
	CUptiResult result;

	reset_room(read_buffer, context->reasons);
	result = inject_pc_sampling.get(&get);
	/* There may be more than there is room for. */
	if (result != CUPTI_SUCCESS && result != CUPTI_ERROR_OUT_OF_MEMORY) {
		note_refusal(thread, "cuptiPCSamplingGetData", result);
		return false;
	}
	*is_full = read_buffer->data.is_full ||
		   (result == CUPTI_ERROR_OUT_OF_MEMORY && !read_buffer->data.count);
	has_more = read_buffer->data.count && read_buffer->data.remaining && !*is_full;
	*count = read_buffer->data.count;
	write_buffer(thread, context, read_buffer, true);
	return has_more;
}

/* Samples that CUPTI has by now. False where its buffer was full: then it takes no more of them. */
static bool read_context(struct inject_thread *thread, struct context *context)
{
	unsigned int reads = 0, parts = 0;
	bool is_full = false, has_more = true;
	size_t count = 0;

	while (has_more && reads++ < READS && parts < READS_PART) {
		has_more = read_once(thread, context, &count, &is_full);
		parts += count < PCS;
	}
	write_totals(thread, context);
	return !is_full;
}

/* Ends the sampling. What CUPTI has left is in the context's buffer then. */
static void leave_context(struct context *context)
{
	struct inject_pc_context of = parameters_of(context, sizeof(of));

	inject_pc_sampling.disable(&of);
	context->state = ENDED;
}

static void finish_ended(struct inject_thread *thread, struct context *context, bool is_read,
			 enum state next)
{
	write_buffer(thread, context, context->buffer, is_read);
	if (is_read)
		write_totals(thread, context);
	context->state = next;
}

static void restart_full(struct inject_thread *thread, struct context *context)
{
	if (!is_told_full)
		inject_session_note(
			thread, GPUMON_NOTE_MISSING,
			"CUPTI's buffer for samples of stalls was full, and some are missing: take fewer with --stalls=%u",
			inject_session.settings.stalls_period < GPUMON_STALLS_PERIOD_MAX ?
				inject_session.settings.stalls_period + 1 :
				GPUMON_STALLS_PERIOD_MAX);
	is_told_full = true;
	leave_context(context);
	finish_ended(thread, context, true, ++context->full < FULL_MAX ? NEW : REFUSED);
}

static struct context *find_context(CUcontext handle)
{
	for (unsigned int i = 0; i < CONTEXTS; i++)
		if (contexts[i].handle == handle && contexts[i].state != FREE &&
		    contexts[i].state != ENDED)
			return &contexts[i];
	return NULL;
}

/* Where a context was that is sampled again in this capture: its totals go on. Otherwise the first free place. */
static struct context *find_free(uint32_t id)
{
	uint32_t generation = atomic_load(&inject_session.generation);
	struct context *found = NULL;

	for (unsigned int i = 0; i < CONTEXTS; i++) {
		if (contexts[i].state != FREE)
			continue;
		if (contexts[i].generation == generation && contexts[i].id == id)
			return &contexts[i];
		if (!found ||
		    (found->generation == generation && contexts[i].generation != generation))
			found = &contexts[i];
	}
	if (found)
		*found = (struct context){ .id = id,
					   .generation = generation,
					   .buffer = found->buffer };
	return found;
}

/* Contexts go faster than the library's thread writes what was left of them. False: there is none of these. */
static bool finish_one(struct inject_thread *thread)
{
	for (unsigned int i = 0; i < CONTEXTS; i++) {
		if (contexts[i].state != ENDED)
			continue;
		lines_until_ns = 0;
		finish_ended(thread, &contexts[i], true, FREE);
		return true;
	}
	return false;
}

/* NULL where there is no room. */
static struct context *add_context(struct inject_thread *thread, CUcontext handle)
{
	struct context *context;
	uint32_t id = 0;

	if (inject_cupti.cuptiGetContextId)
		inject_cupti.cuptiGetContextId(handle, &id);
	context = find_free(id);
	if (!context && finish_one(thread))
		context = find_free(id);
	if (!context) {
		if (!contexts_full++)
			inject_session_note(
				thread, GPUMON_NOTE_MISSING,
				"stalls of kernels are sampled in %u contexts at a time, and not in others",
				CONTEXTS);
		return NULL;
	}
	context->handle = handle;
	context->state = NEW;
	if (inject_cupti.cuptiGetDeviceId)
		inject_cupti.cuptiGetDeviceId(handle, &context->device);
	return context;
}

void inject_stalls_see(CUcontext context)
{
	CUcontext nothing;

	for (unsigned int i = 0; context && i < SEEN; i++) {
		nothing = NULL;
		if (INJECT_LIKELY(atomic_load_explicit(&seen[i], memory_order_relaxed) == context))
			return;
		if (!atomic_load_explicit(&seen[i], memory_order_relaxed) &&
		    atomic_compare_exchange_strong(&seen[i], &nothing, context)) {
			inject_wake();
			return;
		}
		if (nothing == context)
			return;
	}
}

static void forget_seen(CUcontext context)
{
	for (unsigned int i = 0; i < SEEN; i++)
		if (atomic_load(&seen[i]) == context)
			atomic_store(&seen[i], NULL);
}

void inject_stalls_context_made(struct inject_thread *thread, CUcontext context)
{
	struct context *made;

	if (!atomic_load(&is_wanted))
		return;
	inject_stalls_see(context);
	/* So that the first kernels are sampled. Otherwise the library's thread does it. */
	if (!atomic_load(&is_open) || is_given_up || !inject_guard_take(&guard, GUARD_NS))
		return;
	made = find_context(context);
	if (!made)
		made = add_context(thread, context);
	if (made && made->state == NEW)
		sample_context(thread, made);
	inject_guard_give(&guard);
}

void inject_stalls_context_ends(CUcontext context)
{
	struct context *ends;

	if (!atomic_load(&is_wanted))
		return;
	forget_seen(context);
	if (!inject_guard_take(&guard, GUARD_NS))
		return;
	ends = find_context(context);
	if (ends && ends->state == SAMPLED)
		leave_context(ends);
	else if (ends)
		ends->state = FREE;
	inject_guard_give(&guard);
	inject_wake();
}

/* Contexts that were seen since the last time. */
static void take_seen(struct inject_thread *thread)
{
	CUcontext handle;

	for (unsigned int i = 0; i < SEEN; i++) {
		handle = atomic_load(&seen[i]);
		if (handle && !find_context(handle))
			add_context(thread, handle);
	}
}

static void work_on_context(struct inject_thread *thread, struct context *context, bool is_due)
{
	bool is_on = atomic_load(&is_open) && !is_given_up;

	if (context->state == ENDED)
		finish_ended(thread, context, true, FREE);
	if (context->state == NEW ? !is_on : context->state != SAMPLED || (is_on && !is_due))
		return;
	make_current(context->handle, true);
	if (context->state == NEW)
		sample_context(thread, context);
	else if (!read_context(thread, context))
		restart_full(thread, context);
	if (context->state == SAMPLED && !is_on) {
		leave_context(context);
		finish_ended(thread, context, true, NEW);
	}
	make_current(context->handle, false);
}

/* CUPTI gives a name that is ours to free, and may have it in records of kernels, too. */
static void look_at_names(struct inject_thread *thread)
{
	if (names_bytes <= NAMES_BYTES)
		return;
	inject_session_note(
		thread, GPUMON_NOTE_MISSING,
		"stalls of kernels end here: CUPTI makes new copies of functions' names for each read, and they take %u MiB",
		NAMES_BYTES >> 20);
	is_given_up = true;
	names_bytes = 0;
}

void inject_stalls_work(struct inject_thread *thread)
{
	uint64_t now = inject_now(), flush_ns = inject_session.settings.flush_ms * 1000000ull;
	bool is_due = now - last_read_ns >= flush_ns ||
		      (atomic_load(&is_soon) && now - last_read_ns >= SOON_NS);

	if (!atomic_load(&is_wanted))
		return;
	inject_locks_begin();
	if (inject_guard_take(&guard, GUARD_NS)) {
		if (is_due) {
			last_read_ns = now;
			atomic_store(&is_soon, false);
		}
		lines_until_ns = now + LINES_NS;
		take_seen(thread);
		for (unsigned int i = 0; i < CONTEXTS; i++)
			work_on_context(thread, &contexts[i], is_due);
		look_at_names(thread);
		inject_guard_give(&guard);
	}
	inject_locks_end();
}

void inject_stalls_module_ends(void)
{
	if (atomic_load(&is_wanted) && !atomic_exchange(&is_soon, true))
		inject_wake();
}

void inject_stalls_begin(struct inject_thread *thread, bool at_start)
{
	atomic_store(&is_wanted, false);
	atomic_store(&inject_stalls_looks, false);
	if (!inject_session.settings.stalls_period)
		return;
	if (inject_cupti_client) {
		inject_session_note(
			thread, GPUMON_NOTE_MISSING,
			"stalls of kernels are missing: programs are put into them, so that their instructions are not the program's. Use either --stalls or --probe");
		return;
	}
	if (!inject_pc_sampling_load()) {
		inject_session_note(
			thread, GPUMON_NOTE_MISSING,
			"stalls of kernels are missing: this CUPTI (%u) does not have PC sampling as CUDA 12.4 and later do. GPUMON_CUPTI=PATH names another",
			inject_cupti.version);
		return;
	}
	if (!has_memory) {
		inject_session_note(thread, GPUMON_NOTE_MISSING,
				    "stalls of kernels are missing: there is no memory for them");
		return;
	}
	told_result = CUPTI_SUCCESS;
	is_told_full = false;
	is_given_up = false;
	contexts_full = 0;
	without_lines = 0;
	last_read_ns = inject_now();
	inject_cubins_begin();
	atomic_store(&inject_stalls_looks, !at_start);
	atomic_store(&is_wanted, true);
}

void inject_stalls_window(bool on)
{
	if (!atomic_load(&is_wanted))
		return;
	atomic_store(&is_open, on);
	inject_wake();
}

static void end_context(struct inject_thread *thread, struct context *context, bool is_read)
{
	if (context->state == SAMPLED) {
		make_current(context->handle, true);
		if (is_read)
			read_context(thread, context);
		leave_context(context);
		make_current(context->handle, false);
	}
	if (context->state == ENDED)
		finish_ended(thread, context, is_read, FREE);
	context->state = FREE;
}

/* Losses have causes. */
static void say_missing_lines(struct inject_thread *thread)
{
	const struct inject_cubins_account account = inject_cubins_account();

	if (account.refused)
		inject_session_note(
			thread, GPUMON_NOTE_MISSING,
			"%u modules with line information were not copied, as there was no more room: stalls in them are shown by instruction",
			account.refused);
	if (account.unasked)
		inject_session_note(
			thread, GPUMON_NOTE_MISSING,
			"CUPTI took too long to find source lines: %u times, stalls are shown by instruction",
			account.unasked);
	if (account.unknown && without_lines && !inject_cupti_state.from_start)
		inject_session_note(
			thread, 0,
			"%u instructions with stalls have no source line, because their code was loaded before the recording began, or was built without -lineinfo",
			account.unknown);
}

void inject_stalls_end(struct inject_thread *thread, bool is_read, bool is_over)
{
	if (!atomic_load(&is_wanted))
		return;
	atomic_store(&inject_stalls_looks, false);
	atomic_store(&is_open, false);
	if (inject_guard_take(&guard, GUARD_NS)) {
		lines_until_ns = inject_now() + LINES_NS;
		for (unsigned int i = 0; i < CONTEXTS; i++)
			end_context(thread, &contexts[i], is_read);
		inject_guard_give(&guard);
	}
	for (unsigned int i = 0; i < SEEN; i++)
		atomic_store(&seen[i], NULL);
	atomic_store(&is_wanted, false);
	if (is_read && is_over)
		say_missing_lines(thread);
}

void inject_stalls_forked(void)
{
	atomic_store(&inject_stalls_looks, false);
	atomic_store(&is_wanted, false);
	atomic_store(&is_open, false);
	inject_guard_forked(&guard);
	for (unsigned int i = 0; i < CONTEXTS; i++)
		contexts[i].state = FREE;
	for (unsigned int i = 0; i < SEEN; i++)
		atomic_store(&seen[i], NULL);
}
