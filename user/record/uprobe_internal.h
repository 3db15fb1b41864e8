/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_RECORD_UPROBE_INTERNAL_H
#define GPUMON_RECORD_UPROBE_INTERNAL_H

#include "lib/map.h"
#include "uprobe_process.h"
#include "uprobe_program.h"
#include "uprobe.h"

/* Stacks of a single hit, by their number in the kernel. A power of two. */
#define GPUMON_UPROBE_ONCE 65536

struct gpumon_uprobe_once {
	uint32_t kernel_id;
	uint32_t id;
};

struct gpumon_uprobe_waits;

struct gpumon_uprobes {
	pid_t pid; /* in the caller's pid namespace */
	pid_t pid_there;
	pid_t probe_tid;
	char *root;
	struct gpumon_uprobes_options options;
	unsigned int kinds; /* of functions to probe, GPUMON_FUNCTION_* */
	enum gpumon_uprobes_state state;
	struct gpumon_uprobe_process process;
	struct gpumon_uprobe_program *program;
	int pidfd;
	int epoll;
	bool began;
	bool ranges_told;
	uint64_t scanned_ns;
	uint64_t vulkan_made; /* devices made until the last search for them, and 1 */
	unsigned int vulkan_devices;

	/* String ids of functions, by their number in cookies. */
	char **functions;
	size_t function_count;
	unsigned int probes;
	unsigned int returns;
	unsigned int refused;

	/* uprobe_event.c */
	gpumon_uprobes_tap tap;
	void *tap_data;
	int given;
	struct gpumon_intern strings;
	struct gpumon_intern stacks;
	uint32_t *stack_ids; /* ids by the kernel's number */
	uint32_t stack_ids_room;
	struct gpumon_uprobe_once *once;
	struct uprobe_copy *copy;	/* a writable copy of an event */
	struct gpumon_intern rules;	/* return addresses with a rule in the kernel */
	uint64_t told[UPROBE_COUNTERS]; /* losses already reported */
	uint64_t lost_here;		/* hits whose stack came too late or not at all */

	/* Calls that the kernel could not decide. */
	struct gpumon_map added; /* by thread: those that the kernel should have numbered */
	uint64_t nested_here;
	uint64_t undecided_here;
	uint64_t unseen_here; /* hits whose return was not seen */

	/* Looks at waiting threads; NULL: none. */
	struct gpumon_uprobe_waits *waits;
};

/* --- uprobe_event.c */

/* Handle one event of the ring. */
void gpumon_uprobes_event(void *data, void *event, size_t size);
/* Give a record to the tap. */
void gpumon_uprobes_give(struct gpumon_uprobes *uprobes, uint32_t tid, uint16_t type, void *record,
			 size_t size);
/* The id of a stack, which is reported if it is new. It is cut off where it leaves the code. */
uint32_t gpumon_uprobes_intern_stack(struct gpumon_uprobes *uprobes, struct uprobe_stack *stack);
/* Report losses since the last call. */
void gpumon_uprobes_losses(struct gpumon_uprobes *uprobes);
/* Report the process and its mappings, once, before anything else. */
void gpumon_uprobes_begin(struct gpumon_uprobes *uprobes);
void gpumon_uprobes_give_map(struct gpumon_uprobes *uprobes, const struct gpumon_uprobe_map *map,
			     uint64_t time_ns);
void gpumon_uprobes_give_unmap(struct gpumon_uprobes *uprobes, const struct gpumon_uprobe_map *map,
			       uint64_t time_ns);
void gpumon_uprobes_give_hit(void *data, const struct uprobe_hit *hit);
void gpumon_uprobes_note(struct gpumon_uprobes *uprobes, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void gpumon_uprobes_forget(struct gpumon_uprobes *uprobes);

/* --- uprobe_rescan.c */

enum gpumon_rescan {
	GPUMON_RESCAN_TIMER,   /* a regular scan is due */
	GPUMON_RESCAN_LINKER,  /* the dynamic linker reported a change */
	GPUMON_RESCAN_UNKNOWN, /* an unknown address; at most 50 times a second */
};

/* Read the mappings, report them, and probe the new ones. */
void gpumon_uprobes_rescan(struct gpumon_uprobes *uprobes, enum gpumon_rescan why);

/**
 * gpumon_uprobes_probe - probe mapped files that have no probes yet
 * @uprobes: uprobes
 * @err: set if no function could be probed
 *
 * Return: number of probed functions, or -1 with @err.
 */
int gpumon_uprobes_probe(struct gpumon_uprobes *uprobes, struct gpumon_error *err);

#endif /* GPUMON_RECORD_UPROBE_INTERNAL_H */
