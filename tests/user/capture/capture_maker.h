/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Makes records and captures for tests:
 *
 *	struct capture_maker *maker = capture_maker_new();
 *	uint32_t stack = make_stack(maker, 0x401000, 0x402000);
 *
 *	make_launch(maker, .tid = 7, .correlation = 1, .stack = stack, .start_ns = 100,
 *		    .end_ns = 110, .function = make_string(maker, "cudaLaunchKernel_v7000"));
 *	make_kernel(maker, .correlation = 1, .start_ns = 120, .end_ns = 150,
 *		    .name = make_string(maker, "saxpy"));
 *	for (const struct gpumon_record *r = NULL; (r = capture_maker_next(maker, r));)
 *		...
 *	capture_maker_save(maker, "/tmp/x", "process-1-1", 7);
 *	capture_maker_free(maker);
 *
 * A maker is one process. Records stay in the order of their creation. Strings, stacks and frames
 * are interned and defined just before their first use. No function fails: without memory the test
 * ends.
 */
#ifndef GPUMON_TEST_CAPTURE_MAKER_H
#define GPUMON_TEST_CAPTURE_MAKER_H

#include <stddef.h>
#include <stdint.h>

#include "capture/capture.h"

struct capture_maker;

struct capture_maker *capture_maker_new(void);
void capture_maker_free(struct capture_maker *maker);

/* All records until now; valid until the next one is made. */
const void *capture_maker_records(const struct capture_maker *maker, size_t *size);
/* The record after @previous, or the first one for NULL. NULL at the end. */
const struct gpumon_record *capture_maker_next(const struct capture_maker *maker,
					       const struct gpumon_record *previous);
/* Drop the records, but remember the defined strings, stacks and frames. */
void capture_maker_clear(struct capture_maker *maker);

/* Any record: the head's type and size are set, its flags are kept. */
void capture_maker_put(struct capture_maker *maker, enum gpumon_record_type type,
		       struct gpumon_record *record, size_t size);
/* Raw bytes, which need not be a record. */
void capture_maker_raw(struct capture_maker *maker, const void *bytes, size_t size);

/* Interned ids, 0 for NULL. */
uint32_t make_string(struct capture_maker *maker, const char *text);
uint32_t make_python_frame(struct capture_maker *maker, const char *function, const char *file,
			   uint32_t line);
uint32_t capture_maker_stack(struct capture_maker *maker, const uint64_t *frames, uint32_t count,
			     uint16_t flags);
/* make_stack(maker, innermost, ..., outermost); a Python frame is PYTHON_FRAME(id). */
#define PYTHON_FRAME(id) (GPUMON_STACK_FRAME_ID | (id))
#define make_stack(maker, ...)                                          \
	capture_maker_stack((maker), (const uint64_t[]){ __VA_ARGS__ }, \
			    sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t), 0)

/* A record with the given fields, the others are 0; .head.flags = ... sets its flags. */
#define MAKE_RECORD(maker, type, name, ...)                                                      \
	capture_maker_put((maker), (type), &((struct gpumon_record_##name){ __VA_ARGS__ }).head, \
			  sizeof(struct gpumon_record_##name))
#define make_process(maker, ...) MAKE_RECORD(maker, GPUMON_RECORD_PROCESS, process, __VA_ARGS__)
#define make_thread(maker, ...)	 MAKE_RECORD(maker, GPUMON_RECORD_THREAD, thread, __VA_ARGS__)
#define make_mapping(maker, ...) MAKE_RECORD(maker, GPUMON_RECORD_MAPPING, mapping, __VA_ARGS__)
#define make_unmapping(maker, ...) \
	MAKE_RECORD(maker, GPUMON_RECORD_UNMAPPING, unmapping, __VA_ARGS__)
#define make_device(maker, ...)	  MAKE_RECORD(maker, GPUMON_RECORD_DEVICE, device, __VA_ARGS__)
#define make_context(maker, ...)  MAKE_RECORD(maker, GPUMON_RECORD_CONTEXT, context, __VA_ARGS__)
#define make_stream(maker, ...)	  MAKE_RECORD(maker, GPUMON_RECORD_STREAM, stream, __VA_ARGS__)
#define make_api(maker, ...)	  MAKE_RECORD(maker, GPUMON_RECORD_API, api, __VA_ARGS__)
#define make_clock(maker, ...)	  MAKE_RECORD(maker, GPUMON_RECORD_CLOCK, clock, __VA_ARGS__)
#define make_launch(maker, ...)	  MAKE_RECORD(maker, GPUMON_RECORD_LAUNCH, launch, __VA_ARGS__)
#define make_call(maker, ...)	  MAKE_RECORD(maker, GPUMON_RECORD_CALL, call, __VA_ARGS__)
#define make_hit(maker, ...)	  MAKE_RECORD(maker, GPUMON_RECORD_HIT, hit, __VA_ARGS__)
#define make_range(maker, ...)	  MAKE_RECORD(maker, GPUMON_RECORD_RANGE, range, __VA_ARGS__)
#define make_wait(maker, ...)	  MAKE_RECORD(maker, GPUMON_RECORD_WAIT, wait, __VA_ARGS__)
#define make_overhead(maker, ...) MAKE_RECORD(maker, GPUMON_RECORD_OVERHEAD, overhead, __VA_ARGS__)
#define make_graph_node(maker, ...) \
	MAKE_RECORD(maker, GPUMON_RECORD_GRAPH_NODE, graph_node, __VA_ARGS__)
#define make_kernel(maker, ...)	     MAKE_RECORD(maker, GPUMON_RECORD_KERNEL, kernel, __VA_ARGS__)
#define make_copy(maker, ...)	     MAKE_RECORD(maker, GPUMON_RECORD_COPY, copy, __VA_ARGS__)
#define make_set(maker, ...)	     MAKE_RECORD(maker, GPUMON_RECORD_SET, set, __VA_ARGS__)
#define make_whole_graph(maker, ...) MAKE_RECORD(maker, GPUMON_RECORD_GRAPH, graph, __VA_ARGS__)
#define make_sync(maker, ...)	     MAKE_RECORD(maker, GPUMON_RECORD_SYNC, sync, __VA_ARGS__)
#define make_memory(maker, ...)	     MAKE_RECORD(maker, GPUMON_RECORD_MEMORY, memory, __VA_ARGS__)
#define make_unified_memory(maker, ...) \
	MAKE_RECORD(maker, GPUMON_RECORD_UNIFIED_MEMORY, unified_memory, __VA_ARGS__)
#define make_swapchain(maker, ...) \
	MAKE_RECORD(maker, GPUMON_RECORD_SWAPCHAIN, swapchain, __VA_ARGS__)
#define make_present(maker, ...) MAKE_RECORD(maker, GPUMON_RECORD_PRESENT, present, __VA_ARGS__)
#define make_alert(maker, ...)	 MAKE_RECORD(maker, GPUMON_RECORD_ALERT, alert, __VA_ARGS__)
#define make_loss(maker, ...)	 MAKE_RECORD(maker, GPUMON_RECORD_LOSS, loss, __VA_ARGS__)
#define make_window(maker, ...)	 MAKE_RECORD(maker, GPUMON_RECORD_WINDOW, window, __VA_ARGS__)
#define make_note(maker, ...)	 MAKE_RECORD(maker, GPUMON_RECORD_NOTE, note, __VA_ARGS__)
#define make_dropped(maker, ...) MAKE_RECORD(maker, GPUMON_RECORD_DROPPED, dropped, __VA_ARGS__)
#define make_totals(maker, ...)	 MAKE_RECORD(maker, GPUMON_RECORD_TOTALS, totals, __VA_ARGS__)
#define make_stall_totals(maker, ...) \
	MAKE_RECORD(maker, GPUMON_RECORD_STALL_TOTALS, stall_totals, __VA_ARGS__)
/* Samples of an instruction: @record without its head and count, then pairs of a reason and samples. */
void capture_maker_stalls(struct capture_maker *maker, const struct gpumon_record_stalls *record,
			  const struct gpumon_stall *stalls, uint32_t count);
void make_driver_event(struct capture_maker *maker, const char *row, const void *event,
		       uint32_t size);

/*
 * A small process with every kind of record: two threads, a Python frame, a module, a GPU with two
 * streams, kernels, a copy, a memset, a graph, a range, a synchronisation, a loss, an NVTX range,
 * totals. Times begin at @start_ns; @variant varies the process (pid, durations).
 */
void make_example(struct capture_maker *maker, uint64_t start_ns, uint32_t variant);

/* Append all records to a file in chunks of about @chunk bytes (0: 64 KiB) and clear them. */
void capture_maker_flush(struct capture_maker *maker, struct gpumon_capture_file *file,
			 uint32_t tid, size_t chunk);
/* Save a closed capture of this process at @path. The records stay. */
void capture_maker_save(struct capture_maker *maker, const char *path, const char *name,
			uint32_t tid);

/* A new directory for the test. Free it with capture_maker_remove(). */
char *capture_maker_directory(void);
/* Remove a directory with its contents, and free the text. */
void capture_maker_remove(char *path);

#endif /* GPUMON_TEST_CAPTURE_MAKER_H */
