// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Three passes: presents, from which all frame times are known; looks at the presenting threads in the frames that are
 * compared; calls and GPU operations in these. Only the frames that are compared have parts, so memory is bounded.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "frames_internal.h"
#include "lib/format.h"
#include "lib/memory.h"
#include "lib/text.h"

/* The fastest that memory can be moved over PCIe today (5.0, 16 lanes): what was moved took no less time. */
#define MOVED_BYTES_NS 64

/* The first frame of which, or of one before it, the end is not before a time. A capture has many records beside. */
static struct frame *frames_from(const struct reading *reading, uint64_t time_ns)
{
	uint32_t first = 0, last = reading->kept_used;

	while (first < last) {
		uint32_t middle = first + (last - first) / 2;

		if (reading->kept[middle].latest_ns < time_ns)
			first = middle + 1;
		else
			last = middle;
	}
	return reading->kept + first;
}

/* Whether a frame of these begins before a time. */
static bool is_frame_before(const struct reading *reading, const struct frame *frame,
			    uint64_t time_ns)
{
	return frame < reading->kept + reading->kept_used && frame->row.start_ns < time_ns;
}

/* --- parts */

static void add_detail(struct frame *frame, uint32_t part, const char *name, uint64_t value)
{
	uint32_t i = 0;

	if (!name)
		return;
	while (i < frame->detail_count &&
	       (frame->details[i].name != name || frame->details[i].part != part))
		i++;
	if (i == DETAILS_MAX)
		return;
	if (i == frame->detail_count)
		frame->details[frame->detail_count++] = (struct detail){ name, 0, part };
	frame->details[i].value += value;
}

static void add_part(struct frame *frame, uint32_t part, const char *name, uint64_t value)
{
	frame->row.part[part] += value;
	add_detail(frame, part, name, value);
}

/* @name: of that detail alone; the whole part with NULL */
static uint64_t value_of(const struct frame *frame, uint32_t part, const char *name)
{
	if (!name)
		return frame->row.part[part];
	for (uint32_t i = 0; i < frame->detail_count; i++) {
		if (frame->details[i].name == name && frame->details[i].part == part)
			return frame->details[i].value;
	}
	return 0;
}

static const char *longest_detail(const struct frame *frame, uint32_t part)
{
	const char *name = NULL;
	uint64_t most = 0;

	for (uint32_t i = 0; i < frame->detail_count; i++) {
		const struct detail *detail = &frame->details[i];

		if (detail->part != part || detail->value <= most)
			continue;
		most = detail->value;
		name = detail->name;
	}
	return name;
}

/* The time that lies in a frame. */
static void give(struct frame *frame, uint32_t part, const char *name, uint64_t from_ns,
		 uint64_t until_ns)
{
	if (!gpumon_time_clip(frame->row.start_ns, frame->end_ns, &from_ns, &until_ns))
		return;
	add_part(frame, part, name, until_ns - from_ns);
}

static void give_between(struct frame *frame, uint64_t from_ns, uint64_t until_ns)
{
	if (!gpumon_time_clip(frame->row.start_ns, frame->end_ns, &from_ns, &until_ns))
		return;
	for (uint32_t i = 0; i < frame->look_used; i++) {
		const struct look *look = &frame->looks[i];
		uint64_t begin_ns = look->start_ns, end_ns = look->end_ns;

		if (!gpumon_time_clip(from_ns, until_ns, &begin_ns, &end_ns))
			continue;
		give(frame, GPUMON_FRAME_BETWEEN, NULL, from_ns, begin_ns);
		give(frame, look->part, look->name, begin_ns, end_ns);
		from_ns = end_ns;
		if (from_ns >= until_ns)
			return;
	}
	give(frame, GPUMON_FRAME_BETWEEN, NULL, from_ns, until_ns);
}

/* The innermost function that is not of the C library, with its line. */
static const char *function_of(struct reading *reading, uint32_t process, uint32_t tid,
			       uint32_t stack, uint64_t time_ns)
{
	const struct gpumon_tree_where where = {
		.process = process, .tid = tid, .stack = stack, .time_ns = time_ns
	};
	const struct gpumon_node *node;
	char text[1024], name[512];

	if (!stack)
		return NULL;
	for (node = gpumon_tree_path(&reading->tree, &where); node; node = node->parent) {
		if ((node->kind != GPUMON_NODE_FUNCTION && node->kind != GPUMON_NODE_PYTHON) ||
		    !strncmp(node->module, "libc.so", 7) || !strncmp(node->module, "ld-", 3))
			continue;
		gpumon_text_function(name, sizeof(name), node->name);
		snprintf(text, sizeof(text), "%s()%s%s", name, *node->line ? " " : "", node->line);
		return gpumon_pool_text(reading->pool, text);
	}
	return NULL;
}

static void on_look(void *data, uint32_t number, const struct gpumon_record *record)
{
	struct reading *reading = data;
	struct gpumon_record_wait of;
	uint64_t start_ns, end_ns;

	if (gpumon_captures_is_driver(number) || record->type != GPUMON_RECORD_WAIT)
		return;
	gpumon_record_copy(&of, sizeof(of), record);
	if (!of.start_ns || of.end_ns < of.start_ns)
		return;
	start_ns = of.start_ns - (of.period_ns / 2 < of.start_ns ? of.period_ns / 2 : 0);
	end_ns = gpumon_add_saturated(of.end_ns, of.period_ns / 2);
	for (struct frame *frame = frames_from(reading, start_ns);
	     is_frame_before(reading, frame, end_ns); frame++) {
		struct look *look;

		if (frame->process != number || frame->tid != of.tid || start_ns >= frame->end_ns)
			continue;
		look = GPUMON_ARRAY_ADD(frame->looks, frame->look_used, frame->look_room);
		look->start_ns = start_ns;
		look->end_ns = end_ns;
		look->part = GPUMON_FRAME_LOOKED +
			     (of.kind < GPUMON_WAIT_KINDS ? of.kind : GPUMON_WAIT_UNKNOWN);
		look->name = function_of(reading, number, of.tid, of.stack, of.start_ns);
	}
}

static int by_look(const void *a, const void *b)
{
	const struct look *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static uint32_t part_of(const char *name, bool launch, bool waits)
{
	if (begins(name, "vkAcquireNextImage") || begins(name, "vkQueuePresent") ||
	    begins(name, "eglSwapBuffers") || begins(name, "glXSwapBuffers"))
		return GPUMON_FRAME_DISPLAY;
	if (begins(name, "vkCreateShader") ||
	    (begins(name, "vkCreate") && strstr(name, "Pipelines")))
		return GPUMON_FRAME_PIPELINE;
	if (waits || begins(name, "vkWaitForFences") || begins(name, "vkWaitSemaphores") ||
	    begins(name, "vkQueueWaitIdle") || begins(name, "vkDeviceWaitIdle"))
		return GPUMON_FRAME_GPU_WAIT;
	return launch ? GPUMON_FRAME_LAUNCH : GPUMON_FRAME_CALL;
}

/* A call, of any of the records that have one. @flags: of the record */
struct call {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t process;
	uint32_t tid;
	uint32_t function;
	uint16_t type;
	uint16_t flags;
};

static const char *call_name(struct reading *reading, const struct call *call)
{
	const struct gpumon_tables_process *of = &reading->captures.tables.processes[call->process];
	const char *name = gpumon_tables_string(of, call->function);
	size_t length;

	name = name ? name : "";
	length = strlen(name);
	name = gpumon_function_base(name, &length);
	return gpumon_pool_part(reading->pool, name, length);
}

static uint32_t call_part(const struct call *call, const char *name)
{
	if (call->type == GPUMON_RECORD_PRESENT)
		return GPUMON_FRAME_DISPLAY;
	if (call->type == GPUMON_RECORD_LAUNCH)
		return part_of(name, true, call->flags & GPUMON_LAUNCH_WAITS);
	return part_of(name, false, call->flags & GPUMON_CALL_BLOCKING);
}

/* Calls of a thread come in order, and are divided from what is between them. */
static void add_call(struct reading *reading, const struct call *call)
{
	const struct gpumon_key key = { { call->process, call->tid } };
	uint64_t *done_ns = GPUMON_KEYS_VALUE(&reading->thread_keys, &key, reading->done_ns,
					      reading->done_room, NULL);
	uint64_t start_ns = call->start_ns, end_ns = call->end_ns;
	const char *name = NULL;

	if (start_ns < *done_ns)
		start_ns = *done_ns;
	if (end_ns < start_ns)
		end_ns = start_ns;
	for (struct frame *frame = frames_from(reading, *done_ns);
	     is_frame_before(reading, frame, end_ns); frame++) {
		if (frame->process != call->process || frame->tid != call->tid ||
		    frame->end_ns <= *done_ns)
			continue;
		if (!name)
			name = call_name(reading, call);
		give_between(frame, *done_ns, start_ns);
		give(frame, call_part(call, name), name, start_ns, end_ns);
	}
	*done_ns = end_ns;
}

static bool is_same_gpu(struct reading *reading, uint32_t process, uint32_t device,
			uint32_t other_process)
{
	static const uint8_t none[16];
	struct gpumon_tables_process *tables = reading->captures.tables.processes;
	const struct gpumon_record_device *a = gpumon_tables_device(&tables[process], device);

	if (!a || !memcmp(a->uuid, none, sizeof(none)))
		return false;
	for (uint32_t i = 0; i < tables[other_process].device_used; i++) {
		if (!memcmp(tables[other_process].device[i].uuid, a->uuid, sizeof(none)))
			return true;
	}
	return false;
}

static const char *process_name(struct reading *reading, uint32_t process)
{
	const struct gpumon_tables_process *of = &reading->captures.tables.processes[process];
	const char *path = gpumon_tables_string(of, of->record.executable), *base;
	char text[512];

	base = path ? strrchr(path, '/') : NULL;
	snprintf(text, sizeof(text), "%s (pid %u)",
		 base ? base + 1 :
		 path ? path :
			"a process",
		 of->record.pid);
	return gpumon_pool_text(reading->pool, text);
}

static const char *work_name(struct reading *reading, uint32_t process,
			     const struct gpumon_record *record)
{
	const struct gpumon_tables_process *of = &reading->captures.tables.processes[process];
	struct gpumon_record_kernel kernel;
	const char *text, *name;
	char *demangled;

	if (record->type != GPUMON_RECORD_KERNEL)
		return record->type == GPUMON_RECORD_COPY ? "memcpy" :
		       record->type == GPUMON_RECORD_SET  ? "memset" :
							    "graph";
	gpumon_record_copy(&kernel, sizeof(kernel), record);
	text = gpumon_tables_string(of, kernel.name);
	if (!text)
		return NULL;
	demangled = gpumon_demangle(text);
	name = gpumon_pool_text(reading->pool, demangled ? demangled : text);
	free(demangled);
	return name;
}

static void add_work(struct reading *reading, uint32_t process, const struct gpumon_record *record)
{
	struct gpumon_work_fields fields;

	if (!gpumon_work_fields(record, &fields) || !fields.valid)
		return;
	for (struct frame *frame = frames_from(reading, fields.start_ns);
	     is_frame_before(reading, frame, fields.end_ns); frame++) {
		uint64_t start_ns = fields.start_ns, end_ns = fields.end_ns;

		if (frame->process == process && end_ns <= frame->end_ns) {
			frame->row.operations++;
			add_part(frame, GPUMON_FRAME_GPU, work_name(reading, process, record),
				 end_ns - start_ns);
		} else if (frame->process != process &&
			   gpumon_time_clip(frame->row.start_ns, frame->end_ns, &start_ns,
					    &end_ns) &&
			   is_same_gpu(reading, process, fields.device, frame->process)) {
			add_part(frame, GPUMON_FRAME_OTHERS, process_name(reading, process),
				 end_ns - start_ns);
		}
	}
}

static void add_launch(struct reading *reading, const struct call *call)
{
	for (struct frame *frame = frames_from(reading, call->start_ns);
	     frame < reading->kept + reading->kept_used && frame->row.start_ns <= call->start_ns;
	     frame++)
		frame->row.submissions += frame->process == call->process &&
					  call->start_ns < frame->end_ns;
}

/* --- events of the driver */

/* A pid of 0 is not known. */
static bool is_of_process(struct reading *reading, uint32_t driver, uint32_t pid, uint32_t process)
{
	const struct gpumon_tables_process *of = &reading->captures.tables.processes[process];

	return ~driver == of->capture && pid && pid == of->record.host_pid;
}

static const char *event_process(struct reading *reading, const struct gpumon_event *event)
{
	char text[64];

	snprintf(text, sizeof(text), "%s (pid %u)", *event->comm ? event->comm : "a process",
		 event->pid);
	return gpumon_pool_text(reading->pool, text);
}

static void add_queued(struct reading *reading, uint32_t number, const struct gpumon_event *event,
		       const char *ring)
{
	uint64_t start_ns = event->time_ns - event->arg;

	for (struct frame *frame = frames_from(reading, start_ns);
	     is_frame_before(reading, frame, event->time_ns); frame++) {
		if (is_of_process(reading, number, event->pid, frame->process))
			give(frame, GPUMON_FRAME_QUEUED, ring, start_ns, event->time_ns);
	}
}

/* Those of several CPUs are not in order of time. */
static void keep_job(struct reading *reading, uint32_t number, const struct gpumon_event *event,
		     const char *ring)
{
	uint64_t start_ns = event->time_ns - event->arg;

	if (!is_frame_before(reading, frames_from(reading, start_ns), event->time_ns))
		return;
	if (reading->job_used == GPUMON_FRAMES_JOBS_MAX) {
		reading->frames->jobs_dropped++;
		return;
	}
	*(struct job *)GPUMON_ARRAY_ADD(reading->jobs, reading->job_used, reading->job_room) =
		(struct job){ start_ns, event->time_ns, ring,	   event_process(reading, event),
			      number,	event->ring,	event->pid };
}

static int by_ring(const void *a, const void *b)
{
	const struct job *x = a, *y = b;

	if (x->driver != y->driver)
		return x->driver < y->driver ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

/* The time of a job on the hardware, from @start_ns on. */
static void add_job(struct reading *reading, const struct job *job, uint64_t start_ns)
{
	for (struct frame *frame = frames_from(reading, start_ns);
	     is_frame_before(reading, frame, job->end_ns); frame++) {
		const struct gpumon_tables_process *of =
			&reading->captures.tables.processes[frame->process];
		const struct gpumon_key own =
			ring_key(job->driver, job->number, of->record.host_pid);

		if (is_of_process(reading, job->driver, job->pid, frame->process))
			give(frame, GPUMON_FRAME_JOBS, job->ring, start_ns, job->end_ns);
		else if (job->pid && of->record.host_pid && ~job->driver == of->capture &&
			 gpumon_keys_number(&reading->ring_users, &own, NULL) != GPUMON_KEY_NONE)
			give(frame, GPUMON_FRAME_RIVALS, job->process, start_ns, job->end_ns);
	}
}

/*
 * A ring is given jobs while others on it are not done: a job is on the hardware from its run on, but not before
 * the job in front of it was done. One that was done before the frame does not matter.
 */
static void add_jobs(struct reading *reading)
{
	const struct job *before = NULL;

	if (reading->job_used)
		qsort(reading->jobs, reading->job_used, sizeof(*reading->jobs), by_ring);
	for (uint32_t i = 0; i < reading->job_used; i++) {
		const struct job *job = &reading->jobs[i];
		bool follows = before && before->driver == job->driver &&
			       before->number == job->number && before->end_ns > job->start_ns;

		add_job(reading, job, follows ? before->end_ns : job->start_ns);
		before = job;
	}
}

/* Something of the whole machine, in the frames at that time. */
static void add_moment(struct reading *reading, uint32_t number, const struct gpumon_event *event,
		       uint32_t part, const char *name, uint64_t value)
{
	for (struct frame *frame = frames_from(reading, event->time_ns);
	     is_frame_before(reading, frame, event->time_ns + 1); frame++) {
		uint32_t capture = reading->captures.tables.processes[frame->process].capture;

		if (~number != capture || event->time_ns >= frame->end_ns)
			continue;
		add_part(frame, part, name, value);
		if (part == GPUMON_FRAME_VBLANKS)
			frame->row.part[part] = value_of(frame, part, longest_detail(frame, part));
	}
}

static bool has_latency(const struct gpumon_event *event)
{
	return event->flags & GPUMON_EVENT_F_LATENCY && event->arg <= event->time_ns;
}

static void on_driver(struct reading *reading, uint32_t number, const struct gpumon_record *record)
{
	struct gpumon_event event;
	const char *name;
	uint32_t row;

	if (record->type != GPUMON_RECORD_DRIVER_EVENT ||
	    !gpumon_captures_event(record, &event, &row))
		return;
	name = gpumon_tables_text(&reading->captures.tables, number, row);
	switch (event.event) {
	case GPUMON_EVENT_RUN:
		if (has_latency(&event))
			add_queued(reading, number, &event, name);
		break;
	case GPUMON_EVENT_DONE:
		if (has_latency(&event))
			keep_job(reading, number, &event, name);
		break;
	case GPUMON_EVENT_VBLANK:
		add_moment(reading, number, &event, GPUMON_FRAME_VBLANKS, name ? name : "", 1);
		break;
	case GPUMON_EVENT_BO_MOVE:
	case GPUMON_EVENT_UVM_MIGRATE:
		/* The first word are the bytes. */
		if (event.context != UINT64_MAX)
			add_moment(reading, number, &event, GPUMON_FRAME_MOVED,
				   event_process(reading, &event), event.context);
		break;
	default:
		break;
	}
}

static void on_event(void *data, uint32_t number, const struct gpumon_record *record)
{
	struct call call = { .process = number, .type = record->type, .flags = record->flags };
	struct gpumon_record_present present;
	struct gpumon_record_launch launch;
	struct reading *reading = data;
	struct gpumon_record_call of;

	if (gpumon_captures_is_driver(number)) {
		on_driver(reading, number, record);
		return;
	}
#define TAKE(from)                                                 \
	do {                                                       \
		gpumon_record_copy(&(from), sizeof(from), record); \
		call.start_ns = (from).start_ns;                   \
		call.end_ns = (from).end_ns;                       \
		call.tid = (from).tid;                             \
		call.function = (from).function;                   \
	} while (0)
	switch (record->type) {
	case GPUMON_RECORD_LAUNCH:
		TAKE(launch);
		add_launch(reading, &call);
		add_call(reading, &call);
		break;
	case GPUMON_RECORD_CALL:
		TAKE(of);
		add_call(reading, &call);
		break;
	case GPUMON_RECORD_PRESENT:
		TAKE(present);
		add_call(reading, &call);
		break;
	default:
		add_work(reading, number, record);
		break;
	}
#undef TAKE
}

/* --- reasons */

/* The median of the frames on time of the same swapchain; part UINT32_MAX: of the whole frame */
static uint64_t usual_of(const struct reading *reading, uint32_t chain, uint32_t part,
			 const char *name)
{
	uint64_t times[GPUMON_FRAMES_USUAL + 1];
	uint32_t count = 0;

	for (uint32_t i = 0; i < reading->kept_used && count <= GPUMON_FRAMES_USUAL; i++) {
		const struct frame *frame = &reading->kept[i];

		if (frame->row.chain == chain && !frame->late)
			times[count++] = part == UINT32_MAX ? frame->row.frame_ns :
							      value_of(frame, part, name);
	}
	qsort(times, count, sizeof(*times), gpumon_by_value);
	return count ? times[count / 2] : 0;
}

static uint64_t excess_of(const struct reading *reading, const struct frame *frame, uint32_t part,
			  const char *name)
{
	uint64_t usual_ns = usual_of(reading, frame->row.chain, part, name);
	uint64_t ns = part == UINT32_MAX ? frame->row.frame_ns : value_of(frame, part, name);

	return ns > usual_ns ? ns - usual_ns : 0;
}

/* What of a part grew most. */
static void name_growth(const struct reading *reading, struct frame *frame, uint32_t part)
{
	struct gpumon_late_frame *row = &frame->row;
	uint64_t most_ns = 0;

	row->grown = part;
	row->name = NULL;
	row->usual = usual_of(reading, row->chain, part, NULL);
	row->took = value_of(frame, part, NULL);
	for (uint32_t i = 0; i < frame->detail_count; i++) {
		const struct detail *detail = &frame->details[i];
		uint64_t ns;

		if (detail->part != part)
			continue;
		ns = excess_of(reading, frame, part, detail->name);
		if (ns <= most_ns)
			continue;
		most_ns = ns;
		row->name = detail->name;
		row->took = detail->value;
		row->usual = usual_of(reading, row->chain, part, detail->name);
	}
}

/*
 * The thread was in a call. What happened on the GPU and in the driver meanwhile is the reason if it grew by @least_ns.
 * A wait for an image of the display is one for the GPU if its work grew as much.
 */
static void find_cause(const struct reading *reading, struct frame *frame, uint64_t least_ns)
{
	static const enum gpumon_frame_part works[] = { GPUMON_FRAME_GPU, GPUMON_FRAME_QUEUED,
							GPUMON_FRAME_JOBS };
	static const enum gpumon_frame_part rivals[] = { GPUMON_FRAME_OTHERS, GPUMON_FRAME_RIVALS };
	struct gpumon_late_frame *row = &frame->row;
	bool waits = row->reason == GPUMON_LATE_GPU || row->reason == GPUMON_LATE_DISPLAY;

	/* Submissions wait for moves, too. */
	if ((waits || row->reason == GPUMON_LATE_CALL) &&
	    excess_of(reading, frame, GPUMON_FRAME_MOVED, NULL) / MOVED_BYTES_NS >= least_ns) {
		row->reason = GPUMON_LATE_MEMORY;
		name_growth(reading, frame, GPUMON_FRAME_MOVED);
		return;
	}
	if (!waits)
		return;
	for (unsigned int i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
		if (excess_of(reading, frame, works[i], NULL) < least_ns)
			continue;
		row->reason = GPUMON_LATE_GPU;
		name_growth(reading, frame, works[i]);
		break;
	}
	if (row->reason == GPUMON_LATE_DISPLAY) {
		row->usual_vblanks = usual_of(reading, row->chain, GPUMON_FRAME_VBLANKS, NULL);
		return;
	}
	for (unsigned int i = 0; i < sizeof(rivals) / sizeof(rivals[0]) && !row->others; i++) {
		if (excess_of(reading, frame, rivals[i], NULL) >= least_ns)
			row->others = longest_detail(frame, rivals[i]);
	}
}

static void find_reason(const struct reading *reading, struct frame *frame)
{
	static const enum gpumon_late_reason reasons[] = {
		[GPUMON_FRAME_GPU_WAIT] = GPUMON_LATE_GPU,
		[GPUMON_FRAME_DISPLAY] = GPUMON_LATE_DISPLAY,
		[GPUMON_FRAME_PIPELINE] = GPUMON_LATE_PIPELINE,
		[GPUMON_FRAME_LAUNCH] = GPUMON_LATE_CALL,
		[GPUMON_FRAME_CALL] = GPUMON_LATE_CALL,
		[GPUMON_FRAME_BETWEEN] = GPUMON_LATE_UNKNOWN,
	};
	uint64_t excess_ns = excess_of(reading, frame, UINT32_MAX, NULL), most_ns = 0;
	struct gpumon_late_frame *row = &frame->row;
	uint32_t most = GPUMON_FRAME_BETWEEN;

	if (row->reason) {
		name_growth(reading, frame, GPUMON_FRAME_SHOWN);
		row->usual_vblanks = usual_of(reading, row->chain, GPUMON_FRAME_VBLANKS, NULL);
		return;
	}
	for (uint32_t part = 0; part < GPUMON_FRAME_PARTS; part++) {
		uint64_t ns = excess_of(reading, frame, part, NULL);

		if (ns > most_ns) {
			most_ns = ns;
			most = part;
		}
	}
	if (most == GPUMON_FRAME_BETWEEN || most_ns < excess_ns - excess_ns / 2 ||
	    most == GPUMON_FRAME_LOOKED + GPUMON_WAIT_UNKNOWN)
		return;
	if (most >= GPUMON_FRAME_LOOKED) {
		row->wait = most - GPUMON_FRAME_LOOKED;
		row->reason = row->wait == GPUMON_WAIT_RUNNING ? GPUMON_LATE_CPU :
								 GPUMON_LATE_BLOCKED;
		name_growth(reading, frame, most);
		return;
	}
	row->reason = reasons[most];
	name_growth(reading, frame, most);
	find_cause(reading, frame, excess_ns - excess_ns / 2);
	/* Nothing says which. */
	if (row->reason == GPUMON_LATE_DISPLAY &&
	    GPUMON_API_OF(reading->frames->chains[row->chain].id) == GPUMON_API_OPENGL)
		row->reason = GPUMON_LATE_SWAP;
}

static int by_time(const void *a, const void *b)
{
	const struct gpumon_late_frame *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static void find_reasons(struct reading *reading)
{
	struct gpumon_frames *frames = reading->frames;

	for (uint32_t i = 0; i < reading->kept_used; i++) {
		struct frame *frame = &reading->kept[i];

		if (!frame->late)
			continue;
		find_reason(reading, frame);
		*(struct gpumon_late_frame *)GPUMON_ARRAY_ADD(frames->rows, frames->row_count,
							      frames->row_room) = frame->row;
	}
	if (frames->row_count)
		qsort(frames->rows, frames->row_count, sizeof(*frames->rows), by_time);
}

int gpumon_frames_read(const char *const *paths, unsigned int count,
		       const struct gpumon_profile_options *options, uint64_t late_ns,
		       struct gpumon_frames *frames)
{
	struct reading reading = { .frames = frames };
	const struct gpumon_captures_pass define = { .record = gpumon_frames_on_definition,
						     .data = &reading };
	const struct gpumon_captures_pass looks = { .record = on_look, .data = &reading };
	const struct gpumon_captures_pass events = { .record = on_event, .data = &reading };
	int ret;

	memset(frames, 0, sizeof(*frames));
	frames->pool = reading.pool = gpumon_calloc(1, sizeof(*frames->pool));
	reading.captures.tables.symbol_root = options->symbol_root;
	reading.tree.pool = reading.pool;
	reading.tree.tables = &reading.captures.tables;
	gpumon_tree_begin(&reading.tree);
	ret = gpumon_captures_open(&reading.captures, paths, count, reading.pool);
	if (!ret)
		ret = gpumon_captures_define(&reading.captures, &define);
	if (!ret && gpumon_range_is_asked(&options->asked))
		ret = gpumon_time_range_find(&reading.captures, &options->asked, &frames->range);
	if (!ret) {
		gpumon_captures_find_symbols(&reading.captures);
		gpumon_frames_find(&reading, late_ns);
		ret = gpumon_captures_read(&reading.captures, &looks);
	}
	for (uint32_t i = 0; i < reading.kept_used; i++) {
		if (reading.kept[i].look_used)
			qsort(reading.kept[i].looks, reading.kept[i].look_used,
			      sizeof(*reading.kept[i].looks), by_look);
	}
	if (!ret)
		ret = gpumon_captures_read(&reading.captures, &events);
	if (!ret) {
		add_jobs(&reading);
		find_reasons(&reading);
	}
	for (uint32_t i = 0; i < reading.kept_used; i++)
		free(reading.kept[i].looks);
	free(reading.kept);
	free(reading.presents);
	free(reading.shown);
	free(reading.olds);
	free(reading.done_ns);
	free(reading.jobs);
	gpumon_keys_clear(&reading.old_keys);
	gpumon_keys_clear(&reading.ring_users);
	gpumon_keys_clear(&reading.thread_keys);
	gpumon_tree_clear(&reading.tree);
	gpumon_captures_close(&reading.captures);
	return ret;
}

const struct gpumon_late_frame *gpumon_frames_row(const struct gpumon_frames *frames,
						  uint32_t chain,
						  const struct gpumon_frame_time *frame)
{
	uint32_t first = 0, last = frames->row_count;

	while (first < last) {
		uint32_t middle = first + (last - first) / 2;

		if (frames->rows[middle].start_ns < frame->start_ns)
			first = middle + 1;
		else
			last = middle;
	}
	for (; first < frames->row_count && frames->rows[first].start_ns == frame->start_ns;
	     first++)
		if (frames->rows[first].chain == chain)
			return &frames->rows[first];
	return NULL;
}

void gpumon_frames_clear(struct gpumon_frames *frames)
{
	free(frames->chains);
	free(frames->all);
	free(frames->rows);
	gpumon_time_range_clear(&frames->range);
	if (frames->pool)
		gpumon_pool_clear(frames->pool);
	free(frames->pool);
	memset(frames, 0, sizeof(*frames));
}
