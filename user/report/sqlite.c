// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Captures as tables of an SQLite database: definitions in a first pass, rows in a second one.
 * sqlite.sql has the tables, Documentation/reference/sqlite.md their meaning.
 */
#include "output.h"
#ifdef GPUMON_SQLITE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "asset.h"
#include "lib/memory.h"
#include "lib/version.h"
#include "profile_internal.h"
#include "sqlite_metrics.h"
#include "sqlite_names.h"
#include "stall_reasons.h"
#include "view.h"

#define NUMBER(value) ((int64_t)(value))
/* Unknown, if it is 0. */
#define KNOWN(value) ((value) ? NUMBER(value) : GPUMON_SQL_NULL)

/* Tables of numbers, with their columns and how many these are. */
#define TABLES(X)                                                                                       \
	X(range, "id,thread,start_ns,end_ns,domain,text,around,pushed", 8)                              \
	X(mark, "thread,time_ns,domain,text", 4)                                                        \
	X(launch, "id,thread,start_ns,end_ns,function,stack,correlation,flags,range,graph,result",      \
	  11)                                                                                           \
	X(unmatched_launch, "launch,reason", 2)                                                         \
	X(operation,                                                                                    \
	  "stream,name,start_ns,end_ns,launch,stack,shape,bytes,way,nth,origin,graph,graph_node,"       \
	  "untimed",                                                                                    \
	  14)                                                                                           \
	X(operation_more, "operation,queued_ns,submitted_ns,items_x,items_y,items_z", 6)                \
	X(call, "thread,start_ns,end_ns,function,stack,correlation,blocking", 7)                        \
	X(swapchain, "process,time_ns,number,old,width,height,images,mode", 8)                          \
	X(present,                                                                                      \
	  "thread,start_ns,end_ns,swapchain,number,function,stack,present,image,correlation,failed,"    \
	  "result",                                                                                     \
	  12)                                                                                           \
	X(shown, "process,time_ns,swapchain,number,present,latest", 6)                                  \
	X(hit, "thread,time_ns,duration_ns,function,stack,number", 6)                                   \
	X(sample, "thread,start_ns,end_ns,period_ns,looks,state,file,system_call,stack", 9)             \
	X(sync, "process,start_ns,end_ns,correlation,context,stream,kind", 7)                           \
	X(memory, "process,device,time_ns,freed,address,bytes,place", 7)                                \
	X(unified_memory, "process,start_ns,end_ns,kind,value,address,from_device,to_device", 8)        \
	X(stall,                                                                                        \
	  "process,device,time_ns,name,mangled,module,instruction,file,line,reason,samples,not_issued", \
	  12)                                                                                           \
	X(metric, GPUMON_SQL_METRIC_COLUMNS, GPUMON_SQL_METRIC_WIDTH)                                   \
	X(stall_total, "process,device,context,time_ns,samples,dropped,other,period_log2", 8)           \
	X(overhead, "process,thread,start_ns,end_ns,correlation,kind", 6)                               \
	X(driver_event, "capture,time_ns,event,place,context,seqno,arg,arg2,pid,comm", 10)              \
	X(alert, "capture,time_ns,code,device,message", 5)                                              \
	X(recording, "process,time_ns,ended,operations,cut,reason", 6)                                  \
	X(note, "process,time_ns,flags,text", 4)                                                        \
	X(loss, "process,time_ns,cause,count", 4)

#define IS_NARROW(name, columns, width) _Static_assert((width) <= GPUMON_SQL_WIDTH_MAX, #name);
TABLES(IS_NARROW)
#undef IS_NARROW

enum table {
#define TABLE_NUMBER(name, columns, width) TABLE_##name,
	TABLES(TABLE_NUMBER)
#undef TABLE_NUMBER
	TABLE_COUNT
};

/* Of paths that came a short time ago the stack's @id; 0: none. A program's loop has thousands. */
#define RECENT_STACKS 4096

struct recent_stack {
	uint32_t process;
	uint32_t stack;
	uint32_t function;
	uint32_t epoch;
	uint32_t id;
};

/**
 * struct database - a database under construction
 * @schema: sqlite.sql, of which @tables have parts
 * @first_ns: the beginning of all activity, which is time 0
 * @last_ns: its end
 * @range: the part of the time that is asked for; zeroed: all
 * @from_ns: what began since then is in the tables
 * @until_ns: and before then; 0: no limit
 * @launches: number of records of launches so far
 * @recent: small, so that the processor's caches have it in place of nodes of @tree
 * @earlier: numbers of launches outside the part that have operations in it
 * @metrics: metrics of GPUs
 * @demangled: by the address of a mangled name in @pool: the id of the text of the other
 */
struct database {
	char *schema;
	struct gpumon_sql sql;
	struct gpumon_sql_table tables[TABLE_COUNT];
	struct gpumon_sql_names names;
	struct gpumon_pool pool;
	struct gpumon_captures captures;
	struct gpumon_tree tree;
	struct gpumon_ranges ranges;
	struct gpumon_ranges_ahead ahead;
	struct gpumon_streams streams;
	struct gpumon_correlate *correlate;
	uint64_t first_ns;
	uint64_t last_ns;
	struct gpumon_time_range range;
	uint64_t from_ns;
	uint64_t until_ns;
	uint64_t launches;
	struct recent_stack recent[RECENT_STACKS];
	struct gpumon_map earlier;
	struct gpumon_map demangled;
	struct gpumon_sql_metrics metrics;
};

static int64_t *row(struct database *export, enum table table)
{
	return gpumon_sql_row(&export->tables[table]);
}

static bool within(const struct database *export, uint64_t time_ns)
{
	return gpumon_time_within(export->from_ns, export->until_ns, time_ns);
}

/* Whether some of it is in the part. */
static bool overlaps(const struct database *export, uint64_t start_ns, uint64_t end_ns)
{
	return within(export, start_ns) ||
	       gpumon_time_clip(export->from_ns, export->until_ns, &start_ns, &end_ns);
}

/* A time since the beginning, negative before it; unknown, if it is 0. */
static int64_t time_of(const struct database *export, uint64_t ns)
{
	return ns ? NUMBER(ns - export->first_ns) : GPUMON_SQL_NULL;
}

/* An end, which is not before its start. */
static int64_t end_of(const struct database *export, uint64_t start_ns, uint64_t end_ns)
{
	return start_ns && end_ns >= start_ns ? time_of(export, end_ns) : GPUMON_SQL_NULL;
}

static int64_t text_of(struct database *export, uint32_t process, uint32_t string)
{
	return gpumon_sql_string(&export->names, process, string);
}

static int64_t stack_of(struct database *export, const struct gpumon_tree_where *where)
{
	const struct gpumon_tables_process *process =
		&export->captures.tables.processes[where->process];
	const struct recent_stack recent = {
		.process = where->process,
		.stack = where->stack,
		.function = where->function,
		.epoch = gpumon_tables_epoch(process, where->time_ns),
	};
	struct recent_stack *at =
		&export->recent[(where->stack + 7 * where->function + 61 * where->process) %
				RECENT_STACKS];
	int64_t id;

	if (at->id && !where->reason && at->process == recent.process &&
	    at->stack == recent.stack && at->function == recent.function &&
	    at->epoch == recent.epoch)
		return at->id;
	id = gpumon_sql_stack(&export->names, gpumon_tree_path(&export->tree, where));
	if (id != GPUMON_SQL_NULL && !where->reason) {
		*at = recent;
		at->id = (uint32_t)id;
	}
	return id;
}

#define COPY(to) gpumon_record_copy(to, sizeof(*(to)), record)

/* --- on the CPU */

static void put_launch_row(struct database *export, uint32_t process, uint64_t number,
			   const struct gpumon_record_launch *launch)
{
	struct gpumon_tree_where where = { .process = process };
	int64_t stack, *to;

	where.tid = launch->tid;
	where.stack = launch->stack;
	where.function = launch->function;
	where.time_ns = launch->start_ns;
	if (launch->head.flags & GPUMON_LAUNCH_UNSAMPLED && !launch->stack)
		where.reason = gpumon_match_reason(GPUMON_MATCH_UNSAMPLED);
	stack = stack_of(export, &where);
	to = row(export, TABLE_launch);
	*to++ = NUMBER(number);
	*to++ = gpumon_sql_thread(&export->names, process, launch->tid);
	*to++ = time_of(export, launch->start_ns);
	*to++ = end_of(export, launch->start_ns, launch->end_ns);
	*to++ = gpumon_sql_function(&export->names, process, launch->function);
	*to++ = stack;
	*to++ = NUMBER(launch->correlation);
	*to++ = NUMBER(launch->head.flags);
	*to++ = KNOWN(
		gpumon_ranges_innermost(&export->ranges, process, launch->tid, launch->start_ns));
	*to++ = launch->graph ? NUMBER(GPUMON_NUMBER_OF(launch->graph)) : GPUMON_SQL_NULL;
	*to = launch->head.flags & GPUMON_LAUNCH_FAILED ? launch->result : GPUMON_SQL_NULL;
}

static void put_launch(struct database *export, uint32_t process,
		       const struct gpumon_record *record)
{
	struct gpumon_record_launch copy;
	const struct gpumon_record_launch *launch =
		gpumon_record_whole(record, sizeof(copy), &copy);

	export->launches++;
	if (within(export, launch->start_ns))
		put_launch_row(export, process, export->launches, launch);
}

static void put_call(struct database *export, uint32_t process, const struct gpumon_record *record)
{
	struct gpumon_record_call call;
	int64_t *to;

	COPY(&call);
	if (!overlaps(export, call.start_ns, call.end_ns))
		return;
	to = row(export, TABLE_call);
	*to++ = gpumon_sql_thread(&export->names, process, call.tid);
	*to++ = time_of(export, call.start_ns);
	*to++ = end_of(export, call.start_ns, call.end_ns);
	*to++ = gpumon_sql_function(&export->names, process, call.function);
	*to++ = stack_of(export, &(struct gpumon_tree_where){ .process = process,
							      .tid = call.tid,
							      .stack = call.stack,
							      .function = call.function,
							      .time_ns = call.start_ns });
	*to++ = NUMBER(call.correlation);
	*to = (call.head.flags & GPUMON_CALL_BLOCKING) != 0;
}

static void put_swapchain(struct database *export, uint32_t process,
			  const struct gpumon_record *record)
{
	struct gpumon_record_swapchain swapchain;
	int64_t *to;

	COPY(&swapchain);
	to = row(export, TABLE_swapchain);
	*to++ = NUMBER(process);
	*to++ = time_of(export, swapchain.time_ns);
	*to++ = GPUMON_NUMBER_OF(swapchain.id);
	*to++ = KNOWN(GPUMON_NUMBER_OF(swapchain.old));
	*to++ = KNOWN(swapchain.width);
	*to++ = KNOWN(swapchain.height);
	*to++ = KNOWN(swapchain.images);
	*to = swapchain.mode == UINT32_MAX ? GPUMON_SQL_NULL : NUMBER(swapchain.mode);
}

static void put_present(struct database *export, uint32_t process,
			const struct gpumon_record *record)
{
	struct gpumon_record_present present;
	int64_t *to;

	COPY(&present);
	if (!overlaps(export, present.start_ns, present.end_ns))
		return;
	to = row(export, TABLE_present);
	*to++ = gpumon_sql_thread(&export->names, process, present.tid);
	*to++ = time_of(export, present.start_ns);
	*to++ = end_of(export, present.start_ns, present.end_ns);
	*to++ = GPUMON_NUMBER_OF(present.swapchain);
	*to++ = NUMBER(present.number);
	*to++ = gpumon_sql_function(&export->names, process, present.function);
	*to++ = stack_of(export, &(struct gpumon_tree_where){ .process = process,
							      .tid = present.tid,
							      .stack = present.stack,
							      .function = present.function,
							      .time_ns = present.start_ns });
	*to++ = KNOWN(present.present);
	*to++ = present.image == UINT32_MAX ? GPUMON_SQL_NULL : NUMBER(present.image);
	*to++ = KNOWN(present.correlation);
	*to++ = (present.head.flags & GPUMON_PRESENT_FAILED) != 0;
	*to = present.result;
}

static void put_shown(struct database *export, uint32_t process, const struct gpumon_record *record)
{
	struct gpumon_record_shown shown;
	int64_t *to;

	COPY(&shown);
	if (!within(export, shown.shown_ns))
		return;
	to = row(export, TABLE_shown);
	*to++ = NUMBER(process);
	*to++ = time_of(export, shown.shown_ns);
	*to++ = GPUMON_NUMBER_OF(shown.swapchain);
	*to++ = KNOWN(shown.number);
	*to++ = KNOWN(shown.present);
	*to = (shown.head.flags & GPUMON_SHOWN_LATEST) != 0;
}

static void put_hit(struct database *export, uint32_t process, const struct gpumon_record *record)
{
	struct gpumon_record_hit hit;
	int64_t *to;

	COPY(&hit);
	if (!within(export, hit.time_ns))
		return;
	to = row(export, TABLE_hit);
	*to++ = gpumon_sql_thread(&export->names, process, hit.tid);
	*to++ = time_of(export, hit.time_ns);
	*to++ = KNOWN(hit.duration_ns);
	*to++ = gpumon_sql_function(&export->names, process, hit.function);
	*to++ = stack_of(export, &(struct gpumon_tree_where){ .process = process,
							      .tid = hit.tid,
							      .stack = hit.stack,
							      .function = hit.function,
							      .time_ns = hit.time_ns });
	*to = NUMBER(hit.number);
}

static void put_wait(struct database *export, uint32_t process, const struct gpumon_record *record)
{
	struct gpumon_record_wait wait;
	int64_t *to;
	bool transfers;

	COPY(&wait);
	if (!overlaps(export, wait.start_ns, wait.end_ns))
		return;
	to = row(export, TABLE_sample);
	transfers = wait.kind == GPUMON_WAIT_READ || wait.kind == GPUMON_WAIT_WRITE;
	*to++ = gpumon_sql_thread(&export->names, process, wait.tid);
	*to++ = time_of(export, wait.start_ns);
	*to++ = end_of(export, wait.start_ns, wait.end_ns);
	*to++ = NUMBER(wait.period_ns);
	*to++ = NUMBER(wait.looks);
	*to++ = NUMBER(wait.kind);
	*to++ = transfers ? NUMBER(wait.file) : GPUMON_SQL_NULL;
	*to++ = wait.call == ~0u ? GPUMON_SQL_NULL : NUMBER(wait.call);
	*to = wait.stack ?
		      stack_of(export, &(struct gpumon_tree_where){ .process = process,
								    .tid = wait.tid,
								    .stack = wait.stack,
								    .time_ns = wait.start_ns }) :
		      GPUMON_SQL_NULL;
}

static void on_range(void *data, const struct gpumon_range_ended *ended)
{
	struct database *export = data;
	const struct gpumon_range_open *open = ended->open;
	int64_t domain = *ended->row->domain ? gpumon_sql_text(&export->names, ended->row->domain) :
					       GPUMON_SQL_NULL;
	int64_t text = gpumon_sql_text(&export->names, ended->row->text);
	int64_t *to = row(export, TABLE_range);

	*to++ = NUMBER(open->number);
	*to++ = gpumon_sql_thread(&export->names, ended->process, ended->tid);
	*to++ = time_of(export, open->time_ns);
	*to++ = end_of(export, open->time_ns, ended->end_ns);
	*to++ = domain;
	*to++ = text;
	*to++ = KNOWN(open->around);
	*to = open->pushed;
}

static void put_range(struct database *export, uint32_t process, const struct gpumon_record *record)
{
	struct gpumon_record_range range;
	int64_t *to;

	COPY(&range);
	/* The others are read ahead. */
	if (range.kind != GPUMON_RANGE_MARK || !within(export, range.time_ns))
		return;
	to = row(export, TABLE_mark);
	*to++ = gpumon_sql_thread(&export->names, process, range.tid);
	*to++ = time_of(export, range.time_ns);
	*to++ = text_of(export, process, range.domain);
	*to = text_of(export, process, range.text);
}

static void put_overhead(struct database *export, uint32_t process,
			 const struct gpumon_record *record)
{
	struct gpumon_record_overhead overhead;
	int64_t *to;

	COPY(&overhead);
	if (!overlaps(export, overhead.start_ns, overhead.end_ns))
		return;
	to = row(export, TABLE_overhead);
	*to++ = NUMBER(process);
	*to++ = gpumon_sql_thread(&export->names, process, overhead.tid);
	*to++ = time_of(export, overhead.start_ns);
	*to++ = end_of(export, overhead.start_ns, overhead.end_ns);
	*to++ = NUMBER(overhead.correlation);
	*to = NUMBER(overhead.kind);
}

/* --- of the GPU, beside its operations */

static void put_sync(struct database *export, uint32_t process, const struct gpumon_record *record)
{
	struct gpumon_record_sync sync;
	int64_t *to;

	COPY(&sync);
	if (!overlaps(export, sync.start_ns, sync.end_ns))
		return;
	to = row(export, TABLE_sync);
	*to++ = NUMBER(process);
	*to++ = time_of(export, sync.start_ns);
	*to++ = end_of(export, sync.start_ns, sync.end_ns);
	*to++ = NUMBER(sync.correlation);
	*to++ = NUMBER(GPUMON_NUMBER_OF(sync.context));
	*to++ = sync.stream == ~0u ? GPUMON_SQL_NULL : NUMBER(GPUMON_NUMBER_OF(sync.stream));
	*to = NUMBER(sync.kind);
}

static void put_memory(struct database *export, uint32_t process,
		       const struct gpumon_record *record)
{
	struct gpumon_record_memory memory;
	int64_t *to;

	COPY(&memory);
	if (!within(export, memory.time_ns))
		return;
	to = row(export, TABLE_memory);
	*to++ = NUMBER(process);
	*to++ = gpumon_sql_device(&export->names, process, memory.device);
	*to++ = time_of(export, memory.time_ns);
	*to++ = (memory.head.flags & GPUMON_MEMORY_FREED) != 0;
	*to++ = NUMBER(memory.address);
	*to++ = NUMBER(memory.bytes);
	*to = NUMBER(memory.place);
}

static void put_unified(struct database *export, uint32_t process,
			const struct gpumon_record *record)
{
	struct gpumon_record_unified_memory unified;
	int64_t *to;
	enum gpumon_unified_kind kind;

	COPY(&unified);
	if (!within(export, unified.start_ns))
		return;
	to = row(export, TABLE_unified_memory);
	kind = gpumon_unified_kind(unified.kind);
	*to++ = NUMBER(process);
	*to++ = time_of(export, unified.start_ns);
	*to++ = gpumon_unified_has_end(kind) ? end_of(export, unified.start_ns, unified.end_ns) :
					       GPUMON_SQL_NULL;
	*to++ = NUMBER(kind);
	*to++ = NUMBER(unified.value);
	*to++ = NUMBER(unified.address);
	/* The host has a number, too, but it says nothing. */
	*to++ = gpumon_unified_has_end(kind) && kind != GPUMON_UNIFIED_TO_DEVICE ?
			NUMBER(unified.from_device) :
			GPUMON_SQL_NULL;
	*to = kind == GPUMON_UNIFIED_TO_DEVICE || kind == GPUMON_UNIFIED_BETWEEN_DEVICES ?
		      NUMBER(unified.to_device) :
		      GPUMON_SQL_NULL;
}

/* What mangled names are, each looked up once. */
static int64_t demangled_of(struct database *export, const char *mangled)
{
	uint64_t known = gpumon_map_get(&export->demangled, (uintptr_t)mangled);
	char *name;

	if (known)
		return NUMBER(known);
	name = gpumon_demangle(mangled);
	known = (uint64_t)gpumon_sql_text(&export->names,
					  gpumon_pool_text(&export->pool, name ? name : mangled));
	free(name);
	gpumon_map_set(&export->demangled, (uintptr_t)mangled, known);
	return NUMBER(known);
}

static const char *pool_text(struct database *export, uint32_t process, uint32_t string,
			     const char *unknown)
{
	const char *text = string ? gpumon_tables_text(&export->captures.tables, process, string) :
				    NULL;

	return text || !unknown ? text : gpumon_pool_text(&export->pool, unknown);
}

/* A row for each number. */
static void put_stalls(struct database *export, uint32_t process,
		       const struct gpumon_record_stalls *stalls)
{
	const char *mangled = pool_text(export, process, stalls->name, "[unknown kernel]");
	const char *file = stalls->line ? pool_text(export, process, stalls->file, NULL) : NULL;
	int64_t name = demangled_of(export, mangled), *to;

	if (!within(export, stalls->time_ns))
		return;
	for (uint32_t i = 0; i < stalls->count; i++) {
		size_t length;
		const char *reason = gpumon_stall_name(
			pool_text(export, process, stalls->stall[i].reason, "unknown"), &length);
		bool not_issued = reason[length];
		int64_t of = gpumon_sql_text(&export->names,
					     gpumon_pool_part(&export->pool, reason, length));

		to = row(export, TABLE_stall);
		*to++ = NUMBER(process);
		*to++ = gpumon_sql_device(&export->names, process, stalls->device);
		*to++ = time_of(export, stalls->time_ns);
		*to++ = name;
		*to++ = gpumon_sql_text(&export->names, mangled);
		*to++ = NUMBER(stalls->module);
		*to++ = NUMBER(stalls->offset);
		*to++ = gpumon_sql_text(&export->names, file);
		*to++ = file ? NUMBER(stalls->line) : GPUMON_SQL_NULL;
		*to++ = of;
		*to++ = not_issued ? 0 : NUMBER(stalls->stall[i].samples);
		*to = not_issued ? NUMBER(stalls->stall[i].samples) : 0;
	}
}

static void put_stall_totals(struct database *export, uint32_t process,
			     const struct gpumon_record *record)
{
	struct gpumon_record_stall_totals totals;
	int64_t *to;

	COPY(&totals);
	to = row(export, TABLE_stall_total);
	*to++ = NUMBER(process);
	*to++ = gpumon_sql_device(&export->names, process, totals.device);
	*to++ = NUMBER(GPUMON_NUMBER_OF(totals.context));
	*to++ = time_of(export, totals.time_ns);
	*to++ = NUMBER(totals.samples);
	*to++ = NUMBER(totals.dropped);
	*to++ = NUMBER(totals.other);
	*to = NUMBER(totals.period_log2);
}

static void put_metrics(struct database *export, uint32_t process,
			const struct gpumon_record *record)
{
	struct gpumon_metric_values values;

	if (gpumon_metric_sets_read(&export->metrics.sets, process, record, &values) &&
	    within(export, values.start_ns))
		gpumon_sql_metrics_put(&export->metrics, &export->names,
				       &export->tables[TABLE_metric], process, &values,
				       export->first_ns);
}

/* --- of the driver, and about the capture */

static const char *const event_names[__GPUMON_EVENT_TYPE_MAX] = {
#define EVENT_NAME(number, enumerator, name, group) [number] = (name),
	GPUMON_EVENTS(EVENT_NAME)
#undef EVENT_NAME
};

/* All bits set mean unknown. */
static int64_t word_of(uint64_t word)
{
	return word == UINT64_MAX ? GPUMON_SQL_NULL : NUMBER(word);
}

static void put_event(struct database *export, uint32_t process, const struct gpumon_record *record)
{
	struct gpumon_event event;
	uint32_t name;
	int64_t *to;

	if (!gpumon_captures_event(record, &event, &name) || !within(export, event.time_ns))
		return;
	to = row(export, TABLE_driver_event);
	*to++ = NUMBER(~process);
	*to++ = time_of(export, event.time_ns);
	*to++ = gpumon_sql_text(&export->names, event_names[event.event]);
	*to++ = text_of(export, process, name);
	*to++ = word_of(event.context);
	*to++ = word_of(event.seqno);
	*to++ = word_of(event.arg);
	*to++ = word_of(event.arg2);
	*to++ = KNOWN(event.pid);
	*to = *event.comm ? gpumon_sql_text(&export->names, event.comm) : GPUMON_SQL_NULL;
}

static void put_alert(struct database *export, uint32_t process, const struct gpumon_record *record)
{
	struct gpumon_record_alert alert;
	int64_t *to = row(export, TABLE_alert);

	COPY(&alert);
	*to++ = gpumon_captures_is_driver(process) ?
			NUMBER(~process) :
			NUMBER(export->captures.tables.processes[process].capture);
	*to++ = time_of(export, alert.time_ns);
	*to++ = NUMBER(alert.code);
	*to++ = text_of(export, process, alert.device);
	*to = text_of(export, process, alert.message);
}

/* The driver is no process. */
static int64_t process_of(uint32_t process)
{
	return gpumon_captures_is_driver(process) ? GPUMON_SQL_NULL : NUMBER(process);
}

static void put_window(struct database *export, uint32_t process,
		       const struct gpumon_record *record)
{
	struct gpumon_record_window window;
	int64_t *to = row(export, TABLE_recording);

	COPY(&window);
	*to++ = process_of(process);
	*to++ = time_of(export, window.time_ns);
	*to++ = (window.head.flags & GPUMON_WINDOW_END) != 0;
	*to++ = (window.head.flags & GPUMON_WINDOW_OPERATIONS) != 0;
	*to++ = (window.head.flags & GPUMON_WINDOW_CUT) != 0;
	*to = text_of(export, process, window.reason);
}

static void put_note(struct database *export, uint32_t process, const struct gpumon_record *record)
{
	struct gpumon_record_note note;
	int64_t *to = row(export, TABLE_note);

	COPY(&note);
	*to++ = process_of(process);
	*to++ = time_of(export, note.time_ns);
	*to++ = NUMBER(note.head.flags);
	*to = text_of(export, process, note.text);
}

static void put_loss(struct database *export, int64_t process, uint64_t time_ns, uint32_t cause,
		     uint64_t count)
{
	int64_t *to = row(export, TABLE_loss);

	*to++ = process;
	*to++ = time_of(export, time_ns);
	*to++ = NUMBER(cause);
	*to = NUMBER(count);
}

static void put_api(struct database *export, uint32_t process, const struct gpumon_record *record)
{
	const struct gpumon_tables *tables = &export->captures.tables;
	struct gpumon_record_api api;

	COPY(&api);
	gpumon_sql_put(&export->sql, "api", "isss", NUMBER(process),
		       gpumon_tables_text(tables, process, api.name),
		       gpumon_tables_text(tables, process, api.version),
		       gpumon_tables_text(tables, process, api.platform));
}

static void put_of_capture(struct database *export, uint32_t process,
			   const struct gpumon_record *record)
{
	struct gpumon_record_loss loss;

	switch (record->type) {
	case GPUMON_RECORD_DRIVER_EVENT:
		if (gpumon_captures_is_driver(process))
			put_event(export, process, record);
		break;
	case GPUMON_RECORD_ALERT:
		put_alert(export, process, record);
		break;
	case GPUMON_RECORD_WINDOW:
		put_window(export, process, record);
		break;
	case GPUMON_RECORD_NOTE:
		put_note(export, process, record);
		break;
	case GPUMON_RECORD_LOSS:
		COPY(&loss);
		put_loss(export, process_of(process), loss.time_ns, loss.cause, loss.count);
		break;
	default:
		break;
	}
}

static void put_record(struct database *export, uint32_t process,
		       const struct gpumon_record *record)
{
	switch (record->type) {
	case GPUMON_RECORD_LAUNCH:
		put_launch(export, process, record);
		break;
	case GPUMON_RECORD_CALL:
		put_call(export, process, record);
		break;
	case GPUMON_RECORD_SWAPCHAIN:
		put_swapchain(export, process, record);
		break;
	case GPUMON_RECORD_PRESENT:
		put_present(export, process, record);
		break;
	case GPUMON_RECORD_SHOWN:
		put_shown(export, process, record);
		break;
	case GPUMON_RECORD_HIT:
		put_hit(export, process, record);
		break;
	case GPUMON_RECORD_RANGE:
		put_range(export, process, record);
		break;
	case GPUMON_RECORD_WAIT:
		put_wait(export, process, record);
		break;
	case GPUMON_RECORD_OVERHEAD:
		put_overhead(export, process, record);
		break;
	case GPUMON_RECORD_SYNC:
		put_sync(export, process, record);
		break;
	case GPUMON_RECORD_MEMORY:
		put_memory(export, process, record);
		break;
	case GPUMON_RECORD_UNIFIED_MEMORY:
		put_unified(export, process, record);
		break;
	case GPUMON_RECORD_METRIC_SAMPLE:
		put_metrics(export, process, record);
		break;
	case GPUMON_RECORD_STALLS:
		put_stalls(export, process, (const void *)record);
		break;
	case GPUMON_RECORD_STALL_TOTALS:
		put_stall_totals(export, process, record);
		break;
	case GPUMON_RECORD_API:
		put_api(export, process, record);
		break;
	default:
		break;
	}
}

/* --- operations */

static void put_more(struct database *export, const struct gpumon_record_kernel *kernel)
{
	int64_t *to;

	if (!kernel->queued_ns && !kernel->submitted_ns && !kernel->global[0])
		return;
	to = row(export, TABLE_operation_more);
	*to++ = NUMBER(export->tables[TABLE_operation].next - 1);
	*to++ = time_of(export, kernel->queued_ns);
	*to++ = time_of(export, kernel->submitted_ns);
	*to++ = KNOWN(kernel->global[0]);
	*to++ = KNOWN(kernel->global[1]);
	*to = KNOWN(kernel->global[2]);
}

/* The launch of an operation that is in the part, which may be outside of it. */
static void need_launch(struct database *export, const struct gpumon_work *work,
			uint32_t correlation)
{
	const struct gpumon_record_launch launch = {
		.head.flags = work->launch_flags,
		.start_ns = work->launch_ns,
		.end_ns = work->launch_end_ns,
		.tid = work->tid,
		.correlation = correlation,
		.stack = work->launch_stack,
		.function = work->launch_function,
		.graph = work->launch_graph,
	};

	if (!work->launch_number || within(export, work->launch_ns) ||
	    gpumon_map_get(&export->earlier, work->launch_number))
		return;
	gpumon_map_set(&export->earlier, work->launch_number, 1);
	put_launch_row(export, work->process, work->launch_number, &launch);
}

static void on_work(void *data, const struct gpumon_work *work)
{
	struct database *export = data;
	const struct gpumon_record *record = work->kernel ? &work->kernel->head :
					     work->copy	  ? &work->copy->head :
					     work->graph  ? &work->graph->head :
							    &work->set->head;
	struct gpumon_tree_where where;
	struct gpumon_work_fields fields;
	int64_t stack, stream, name, *to;

	gpumon_work_fields(record, &fields);
	if (!within(export, !fields.valid && !fields.start_ns ? work->launch_ns : fields.start_ns))
		return;
	need_launch(export, work, fields.correlation);
	where = gpumon_work_where(work, fields.start_ns);
	stack = stack_of(export, &where);
	stream = gpumon_sql_stream(&export->names, work->process, &fields);
	name = gpumon_sql_operation_name(&export->names, work);
	to = row(export, TABLE_operation);
	*to++ = stream;
	*to++ = name;
	*to++ = time_of(export, fields.start_ns);
	*to++ = fields.valid ? time_of(export, fields.end_ns) : GPUMON_SQL_NULL;
	*to++ = KNOWN(work->launch_number);
	*to++ = stack;
	*to++ = work->kernel ? gpumon_sql_shape(&export->names, work->kernel) : GPUMON_SQL_NULL;
	*to++ = work->copy ? NUMBER(work->copy->bytes) :
		work->set  ? NUMBER(work->set->bytes) :
			     GPUMON_SQL_NULL;
	*to++ = work->copy ? gpumon_sql_way(&export->names, work->copy) : GPUMON_SQL_NULL;
	*to++ = work->launch_work;
	*to++ = work->match;
	*to++ = fields.graph ? NUMBER(GPUMON_NUMBER_OF(fields.graph)) : GPUMON_SQL_NULL;
	*to++ = KNOWN(fields.node);
	*to = fields.start_ns && !(record->flags & (GPUMON_WORK_UNFINISHED | GPUMON_WORK_FAILED)) ?
		      GPUMON_SQL_NULL :
		      NUMBER(gpumon_untimed_of(record->flags));
	if (work->kernel)
		put_more(export, work->kernel);
}

static void on_launch(void *data, const struct gpumon_unmatched_launch *unmatched)
{
	struct database *export = data;
	int64_t *to;

	if (!within(export, unmatched->launch->start_ns))
		return;
	to = row(export, TABLE_unmatched_launch);
	*to++ = NUMBER(unmatched->number);
	*to = unmatched->end;
}

static bool is_left_out(void *data, uint32_t process, const struct gpumon_record_launch *launch)
{
	const struct database *export = data;

	return gpumon_captures_left_out(&export->captures, process, launch);
}

static bool is_cut(void *data, uint32_t process)
{
	const struct database *export = data;

	return gpumon_captures_is_cut(&export->captures, process);
}

/* --- passes */

static void on_definition(void *data, uint32_t process, const struct gpumon_record *record)
{
	struct database *export = data;
	uint64_t start_ns, end_ns;

	if (gpumon_captures_is_driver(process))
		return;
	gpumon_sql_metrics_look(&export->metrics, process, record);
	if (record->type == GPUMON_RECORD_STREAM)
		gpumon_streams_add(&export->streams, process, record);
	if (gpumon_activity_times(record, &start_ns, &end_ns))
		gpumon_time_include(&export->first_ns, &export->last_ns, start_ns, end_ns);
}

static int begin_records(void *data, unsigned int capture)
{
	struct database *export = data;

	return gpumon_ranges_ahead_begin(&export->ahead, capture);
}

static void on_record(void *data, uint32_t process, const struct gpumon_record *record)
{
	struct database *export = data;

	gpumon_ranges_ahead_read(&export->ahead);
	put_of_capture(export, process, record);
	if (gpumon_captures_is_driver(process))
		return;
	put_record(export, process, record);
	gpumon_correlate_record(export->correlate, process, record);
}

static void end_records(void *data, unsigned int capture)
{
	struct database *export = data;
	const struct gpumon_captures *captures = &export->captures;

	for (uint32_t i = captures->first[capture]; i < captures->first[capture + 1]; i++)
		gpumon_correlate_finish(export->correlate, i);
	gpumon_ranges_ahead_end(&export->ahead);
}

static void put_capture(struct database *export, unsigned int number)
{
	const struct gpumon_captures *captures = &export->captures;
	const struct gpumon_capture_info *info = gpumon_capture_info(captures->at[number]);
	const struct gpumon_capture_damage *damage = &captures->damages[number];
	uint64_t own_ns = export->first_ns - captures->shifts[number];
	bool known = info->created_ns && export->first_ns;

	gpumon_sql_put(&export->sql, "capture", "isssssiiiiiiiiiii", NUMBER(number),
		       captures->paths[number], info->command, info->host, info->boot_id,
		       info->gpumon_version,
		       known ? NUMBER(info->created_ns + (own_ns - info->created_monotonic_ns)) :
			       GPUMON_SQL_NULL,
		       export->first_ns ? NUMBER(own_ns) : GPUMON_SQL_NULL, NUMBER(info->ended),
		       NUMBER(info->lost_records), NUMBER(damage->truncated_bytes),
		       NUMBER(damage->broken_chunks), NUMBER(damage->broken_records),
		       NUMBER(damage->unknown_records), NUMBER(damage->missing_chunks),
		       NUMBER(damage->unreadable_files), NUMBER(damage->broken_info));
}

static void put_code(struct database *export, const char *field, unsigned int number,
		     const char *name)
{
	gpumon_sql_put(&export->sql, "code", "sis", field, NUMBER(number), name);
}

/* What the numbers in columns mean. */
static void put_codes(struct database *export)
{
	static const char *const files[GPUMON_FILE_KINDS] = { "unknown", "regular", "pipe",
							      "socket",	 "device",  "other" };
	static const char *const places[] = { "unknown", "pageable", "pinned", "device",
					      "array",	 "managed",  "peer" };
	static const char *const syncs[] = { "unknown", "event", "stream_for_event", "stream",
					     "context" };

	for (unsigned int i = 0; i < GPUMON_MATCH_KINDS; i++)
		put_code(export, "operation.origin", i, gpumon_match_key(i));
	for (unsigned int i = 0; i < GPUMON_UNTIMED_KINDS; i++)
		put_code(export, "operation.untimed", i, gpumon_untimed_key(i));
	for (unsigned int i = 0; i < GPUMON_LAUNCH_ENDS; i++)
		put_code(export, "unmatched_launch.reason", i, gpumon_launch_end_key(i));
	for (unsigned int i = 1; i < GPUMON_LOSS_CAUSES; i++)
		put_code(export, "loss.cause", i, gpumon_loss_key(i));
	for (unsigned int i = 0; i < GPUMON_WAIT_KINDS; i++)
		put_code(export, "sample.state", i, gpumon_wait_text(i));
	for (unsigned int i = 0; i < GPUMON_FILE_KINDS; i++)
		put_code(export, "sample.file", i, files[i]);
	for (unsigned int i = 0; i < sizeof(places) / sizeof(*places); i++) {
		put_code(export, "memory.place", i, places[i]);
		put_code(export, "copy_way.from_place", i, places[i]);
		put_code(export, "copy_way.to_place", i, places[i]);
	}
	for (unsigned int i = 0; i < sizeof(syncs) / sizeof(*syncs); i++)
		put_code(export, "sync.kind", i, syncs[i]);
	for (unsigned int i = 0; i < GPUMON_UNIFIED_KINDS; i++)
		put_code(export, "unified_memory.kind", i, gpumon_unified_key(i));
	for (unsigned int i = 0; i < GPUMON_OVERHEAD_KINDS; i++)
		put_code(export, "overhead.kind", i, gpumon_overhead_key(i));
}

static void begin_tables(struct database *export)
{
	static const struct gpumon_sql_table tables[TABLE_COUNT] = {
#define TABLE_OF(name_, columns_, width_) \
	[TABLE_##name_] = { .name = #name_, .columns = columns_, .width = width_ },
		TABLES(TABLE_OF)
#undef TABLE_OF
	};
	size_t length = (size_t)(gpumon_asset_sqlite_sql_end - gpumon_asset_sqlite_sql);
	char *schema = gpumon_strndup(gpumon_asset_sqlite_sql, length);
	char *of_launch = strstr(schema, "ALTER TABLE launch "),
	     *of_operation = strstr(schema, "ALTER TABLE operation ");

	export->schema = schema;
	memcpy(export->tables, tables, sizeof(tables));
	export->tables[TABLE_metric].reals = GPUMON_SQL_METRIC_REALS;
	export->tables[TABLE_launch].numbered = true;
	export->tables[TABLE_launch].has = 7;
	export->tables[TABLE_launch].zeros = 1u << 7;
	export->tables[TABLE_launch].adding = of_launch;
	export->tables[TABLE_operation].has = 7;
	export->tables[TABLE_operation].zeros = 1u << 9 | 1u << 10;
	export->tables[TABLE_operation].adding = of_operation;
	*of_launch = '\0';
	gpumon_sql_run(&export->sql, schema);
	*of_launch = 'A';
	for (unsigned int i = 0; i < TABLE_COUNT; i++)
		gpumon_sql_table_begin(&export->sql, &export->tables[i]);
	gpumon_sql_put(&export->sql, "meta", "ss", "schema", "gpumon-sqlite");
	gpumon_sql_put(&export->sql, "meta", "ss", "schema_version", "1");
	gpumon_sql_put(&export->sql, "meta", "ss", "gpumon_version", GPUMON_VERSION);
	put_codes(export);
}

static void end_tables(struct database *export)
{
	const struct gpumon_correlate_counts *counts = gpumon_correlate_counts(export->correlate);
	uint64_t withheld = counts->unmatched_launches[GPUMON_LAUNCH_WITHHELD];

	if (withheld)
		put_loss(export, GPUMON_SQL_NULL, 0, GPUMON_LOSS_WITHHELD, withheld);
	gpumon_ranges_finish(&export->ranges);
	for (unsigned int i = 0; i < TABLE_COUNT; i++)
		gpumon_sql_table_end(&export->tables[i]);
	gpumon_sql_names_end(&export->names);
	gpumon_sql_run(&export->sql, strstr(export->schema, "CREATE VIEW "));
}

static void put_time(struct database *export, const char *key, uint64_t ns)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, ns - export->first_ns);
	gpumon_sql_put(&export->sql, "meta", "ss", key, text);
}

static int find_part(struct database *export)
{
	struct gpumon_time_range *range = &export->range;
	const struct gpumon_asked_range *asked = &export->tree.options.asked;

	if (!gpumon_range_is_asked(asked))
		return 0;
	range->began_ns = export->first_ns;
	range->ended_ns = export->last_ns;
	if (gpumon_time_range_find(&export->captures, asked, range))
		return -1;
	export->from_ns = range->from_ns > range->began_ns ? range->from_ns : 0;
	export->until_ns = range->until_ns < range->ended_ns ? range->until_ns : 0;
	put_time(export, "from_ns", range->from_ns);
	put_time(export, "to_ns", range->until_ns);
	return 0;
}

static int read_all(struct database *export, const char *const *paths, unsigned int count)
{
	const struct gpumon_captures_pass definitions = { .record = on_definition, .data = export };
	const struct gpumon_captures_pass records = {
		.begin = begin_records, .record = on_record, .end = end_records, .data = export
	};
	struct gpumon_captures *captures = &export->captures;

	if (gpumon_captures_open(captures, paths, count, &export->pool) ||
	    gpumon_captures_define(captures, &definitions) || find_part(export))
		return -1;
	gpumon_captures_find_symbols(captures);
	gpumon_captures_expect(captures, export->correlate);
	for (unsigned int i = 0; i < count; i++)
		put_capture(export, i);
	gpumon_sql_names_begin(&export->names, export->first_ns);
	if (gpumon_sql_metrics_turn(&export->metrics, &export->names, paths, count))
		return -1;
	return gpumon_captures_read(captures, &records);
}

int gpumon_output_sqlite(FILE *out, const char *const *paths, unsigned int count,
			 const struct gpumon_profile_options *options)
{
	struct database *export = gpumon_calloc(1, sizeof(*export));
	const struct gpumon_correlate_output output = {
		.work = on_work,
		.launch = on_launch,
		.left_out = is_left_out,
		.is_cut = is_cut,
		.data = export,
	};
	int ret, error = 0;

	gpumon_sql_open(&export->sql, fileno(out));
	export->tree.pool = &export->pool;
	export->tree.tables = &export->captures.tables;
	export->tree.options = *options;
	gpumon_tree_begin(&export->tree);
	export->captures.tables.symbol_root = options->symbol_root;
	export->ranges.pool = &export->pool;
	export->ranges.timeline = true;
	export->ranges.ended = on_range;
	export->ranges.data = export;
	export->ahead.captures = &export->captures;
	export->ahead.ranges = &export->ranges;
	export->names.sql = &export->sql;
	export->names.pool = &export->pool;
	export->names.tables = &export->captures.tables;
	export->names.streams = &export->streams;
	export->correlate = gpumon_correlate_new(&output);
	begin_tables(export);
	ret = read_all(export, paths, count);
	end_tables(export);
	if (gpumon_sql_close(&export->sql))
		error = errno;
	gpumon_ranges_ahead_end(&export->ahead);
	gpumon_correlate_free(export->correlate);
	gpumon_sql_names_clear(&export->names);
	gpumon_streams_clear(&export->streams);
	gpumon_ranges_clear(&export->ranges);
	gpumon_tree_clear(&export->tree);
	gpumon_time_range_clear(&export->range);
	gpumon_map_clear(&export->earlier);
	gpumon_map_clear(&export->demangled);
	gpumon_sql_metrics_clear(&export->metrics);
	gpumon_captures_close(&export->captures);
	gpumon_pool_clear(&export->pool);
	free(export->schema);
	free(export);
	/* The reason is in gpumon_capture_error() if captures cannot be read. */
	errno = ret ? 0 : error;
	return ret || error ? -1 : 0;
}

bool gpumon_output_has_sqlite(void)
{
	return true;
}
#else /* GPUMON_SQLITE */
#include <errno.h>

bool gpumon_output_has_sqlite(void)
{
	return false;
}

int gpumon_output_sqlite(FILE *out, const char *const *paths, unsigned int count,
			 const struct gpumon_profile_options *options)
{
	(void)out;
	(void)paths;
	(void)count;
	(void)options;
	errno = ENOTSUP;
	return -1;
}
#endif /* GPUMON_SQLITE */
