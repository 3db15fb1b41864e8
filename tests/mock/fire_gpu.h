/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fire_gpu.ko: calls the tracepoints of other modules with arguments given by a test. README.md
 * describes the commands.
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

/* Maximum number of arguments of the tracepoints of GPU drivers. */
#define FIRE_MAX_ARGS		8
#define FIRE_NAME_LEN		64

/**
 * struct fire_point - the counts of one tracepoint
 * @node: entry in the list of tracepoints that were ever fired
 * @module: module of the tracepoint, "vmlinux" for the kernel itself
 * @name: name of the tracepoint
 * @fires: number of calls, which correspond to trace_X()
 * @probed: number of calls that found a probe attached
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
 * @point: its counts
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
 * @value: value of the first call
 * @step: increment for each call
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
 * struct fire_run - parameters and results of a fire command
 * @target: the tracepoint
 * @args: its arguments, 0 if not given
 * @count: number of calls on each CPU
 * @ms: if not 0, how long to run instead, with @args starting over after each @count calls
 * @where: in the task itself, or in kernel threads bound to CPUs
 * @cpu: CPU for FIRE_ON_CPU
 * @irq: call it in a hard interrupt
 * @stop: set to end it
 * @fires: number of calls made
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
 * struct fire_batch - a series of calls
 * @tp: the tracepoint
 * @args: arguments of the next call
 * @left: number of calls until the arguments start over
 * @run: command with the initial arguments
 * @probed: number of calls so far that found a probe
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
 * struct fire_work - work for several kernel threads
 * @name: name of the threads, followed by a number
 * @run: called in each thread with @data and its number from 0; returns 0 or an error. Must check
 * @stop
 * @data: passed to @run
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
