/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fire_gpu.ko: calls the tracepoints of other modules with made-up arguments.
 * The command language is in README.md.
 */
#ifndef FIRE_GPU_H
#define FIRE_GPU_H

#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/tracepoint.h>
#include <linux/types.h>

/* As many arguments as the tracepoints of GPU drivers have at most. */
#define FIRE_MAX_ARGS		8
#define FIRE_NAME_LEN		64

/**
 * struct fire_point - the account of one tracepoint
 * @node: in the list of those that were ever fired
 * @module: that has it, "vmlinux" for the kernel itself
 * @name: of the tracepoint
 * @fires: times that trace_X() was called, so to say
 * @probed: those of them that found a probe attached
 */
struct fire_point {
	struct list_head node;
	char module[MODULE_NAME_LEN];
	char name[FIRE_NAME_LEN];
	atomic64_t fires;
	atomic64_t probed;
};

/**
 * struct fire_target - a tracepoint that is about to be fired
 * @point: its account
 * @tp: the tracepoint
 * @owner: its module, held; NULL for the kernel itself
 */
struct fire_target {
	struct fire_point *point;
	struct tracepoint *tp;
	struct module *owner;
};

/**
 * struct fire_arg - an argument
 * @value: of the first call
 * @step: what it grows by with each call
 */
struct fire_arg {
	unsigned long value;
	unsigned long step;
};

enum fire_where {
	FIRE_HERE,
	FIRE_ON_CPU,
	FIRE_ON_ALL_CPUS,
};

/**
 * struct fire_run - what one fire command asks for, and what came of it
 * @target: the tracepoint
 * @args: its arguments, those not given are 0
 * @count: calls, for each processor
 * @ms: if not 0, how long to go on instead, with @args beginning anew after
 *      each @count calls
 * @where: in the task itself, or in kernel threads bound to processors
 * @cpu: of FIRE_ON_CPU
 * @irq: from hard interrupt
 * @stop: set by anyone to end it
 * @fires: calls
 * @first_ns: CLOCK_MONOTONIC just before the first call
 * @last_ns: CLOCK_MONOTONIC just after the last call
 */
struct fire_run {
	struct fire_target target;
	struct fire_arg args[FIRE_MAX_ARGS];
	u64 count;
	unsigned int ms;
	enum fire_where where;
	unsigned int cpu;
	bool irq;
	bool stop;
	atomic64_t fires;
	atomic64_t first_ns;
	atomic64_t last_ns;
};

/**
 * struct fire_batch - calls to be made one after the other
 * @tp: the tracepoint
 * @args: of the next call
 * @left: calls until the arguments begin anew
 * @run: where they began
 * @probed: calls so far that found a probe
 */
struct fire_batch {
	struct tracepoint *tp;
	unsigned long args[FIRE_MAX_ARGS];
	u64 left;
	const struct fire_run *run;
	u64 probed;
};

int fire_tracepoint_init(void);
void fire_tracepoint_exit(void);
int fire_tracepoint_get(struct fire_target *target, const char *module, const char *name);
void fire_tracepoint_put(struct fire_target *target);
void fire_tracepoint_call(struct fire_batch *batch, unsigned int calls);
void fire_account_show(struct seq_file *m);
void fire_account_reset(void);

/**
 * struct fire_work - what several kernel threads do
 * @name: theirs, a number comes behind it
 * @run: called in each with @data and its number from 0; 0 or an error. Looks at @stop
 * @data: for it
 * @stop: set when it should end early
 */
struct fire_work {
	const char *name;
	int (*run)(void *data, unsigned int index);
	void *data;
	bool *stop;
};

int fire_in_threads(const struct fire_work *work, unsigned int count, const struct cpumask *cpus);

int fire_run(struct fire_run *run);

int fire_object_init(void);
void fire_object_exit(void);
int fire_object_add(const char *name, size_t size, size_t readable);
int fire_object_free(const char *name);
int fire_object_set(const char *name, size_t offset, size_t size, u64 value);
int fire_object_bits(const char *name, size_t bit, unsigned int bits, u64 value);
int fire_object_string(const char *name, size_t offset, const char *text);
int fire_object_value(char *word, const char __user *user, unsigned long *value);
void fire_object_show(struct seq_file *m);

int fire_command_init(struct dentry *dir);

#endif /* FIRE_GPU_H */
