/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_UPROBE_INTERNAL_H
#define GPUMON_UPROBE_INTERNAL_H

#include "process.h"
#include "program.h"
#include "uprobe.h"

/* Stacks that are one hit's alone: by their number in the kernel, a power of two. */
#define GPUMON_UPROBE_ONCE 65536

/* A set of byte strings with ids from 1 on: strings, and frames of stacks. */
struct gpumon_uprobe_item {
	uint64_t hash;
	uint32_t id;
	uint32_t size;
	void *bytes;
};

struct gpumon_uprobe_interned {
	struct gpumon_uprobe_item *items;
	uint32_t count;
	uint32_t room; /* a power of two */
	uint32_t last_id;
};

struct gpumon_uprobe_once {
	uint32_t kernel_id;
	uint32_t id;
};

struct gpumon_uprobes {
	pid_t pid; /* the caller's */
	pid_t pid_there;
	pid_t probe_tid;
	char *root;
	struct gpumon_uprobes_options options;
	enum gpumon_uprobes_state state;
	struct gpumon_uprobe_process process;
	struct gpumon_uprobe_program *program;
	int pidfd;
	int epoll;
	bool began;
	bool failed; /* for want of memory */
	uint64_t scanned_ns;

	/* functions by their number in cookies: string ids */
	char **functions;
	uint32_t function_count;
	unsigned int probes;
	unsigned int returns;
	unsigned int refused;

	/* event.c */
	gpumon_uprobes_tap tap;
	void *tap_data;
	int given;
	struct gpumon_uprobe_interned strings;
	struct gpumon_uprobe_interned stacks;
	uint32_t *stack_ids; /* by the kernel's number */
	uint32_t stack_ids_room;
	struct gpumon_uprobe_once *once;
	struct uprobe_copy *copy;	     /* of an event, to be worked on */
	struct gpumon_uprobe_interned rules; /* return addresses that the kernel has them for */
	uint64_t told[UPROBE_COUNTERS];	     /* losses that were given out */
	uint64_t lost_here;		     /* stacks that were lost for want of memory here */
};

/* --- event.c */

/* One event of the ring. */
void gpumon_uprobes_event(void *data, void *event, size_t size);
/* Losses since the last time. */
void gpumon_uprobes_losses(struct gpumon_uprobes *uprobes);
/* PROCESS, and what is mapped; once, first. */
void gpumon_uprobes_begin(struct gpumon_uprobes *uprobes);
void gpumon_uprobes_give_map(struct gpumon_uprobes *uprobes, const struct gpumon_uprobe_map *map,
			     uint64_t time_ns);
void gpumon_uprobes_give_unmap(struct gpumon_uprobes *uprobes, const struct gpumon_uprobe_map *map,
			       uint64_t time_ns);
void gpumon_uprobes_give_hit(void *data, const struct uprobe_hit *hit);
void gpumon_uprobes_note(struct gpumon_uprobes *uprobes, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void gpumon_uprobes_forget(struct gpumon_uprobes *uprobes);

/* --- intern.c */

/**
 * gpumon_uprobe_intern - id of some bytes
 * @set: set
 * @bytes: they, copied
 * @size: how many
 * @is_new: set to whether they were not there before
 *
 * Return: id, 0 without memory.
 */
uint32_t gpumon_uprobe_intern(struct gpumon_uprobe_interned *set, const void *bytes, uint32_t size,
			      bool *is_new);
void gpumon_uprobe_interned_free(struct gpumon_uprobe_interned *set);

/* --- uprobe.c */

uint64_t gpumon_uprobes_now(void);

#endif /* GPUMON_UPROBE_INTERNAL_H */
