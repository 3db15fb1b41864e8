/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The attach engine: groups of probes, each named by (module, name), bound
 * when the module that holds the probe point comes and unbound when it goes.
 *
 * A new driver is a folder with a struct gpumon_group and its probe bodies, and a
 * line in drivers/groups.h.
 */
#ifndef GPUMON_PROBE_H
#define GPUMON_PROBE_H

#include <linux/build_bug.h>
#include <linux/kprobes.h>
#include <linux/mutex.h>

#include "compat/kernel_argument.h"
#include "compat/kretprobe.h"
#include "core/counters.h"
#include "core/field.h"
#include "core/gpumon.h"
#include "uapi/gpumon_netlink.h"

struct gpumon_statistics;
struct gpumon_track;
struct module;
struct tracepoint;

#define GPUMON_REASON_LEN 192
#define GPUMON_SYMBOL_LEN 128

/**
 * struct gpumon_probe - one probe point
 * @module: module that holds it as in /proc/modules, NULL for the kernel itself
 * @with: another module that it comes and goes with, NULL for none
 * @name: name of the tracepoint or function
 * @kind: tracepoint, kprobe or kretprobe
 * @role: its purpose; probes of one role are names that different kernels
 *        have for the same event
 * @body: tracepoint probe, its first argument is gpumon_probe_data(), for
 *        gpumon_probe_enter(); or a kprobe_pre_handler_t; or, for a kretprobe, the
 *        kretprobe_handler_t called at the function's entry, which may be NULL and does
 *        not call gpumon_probe_enter(): the event is counted when it ends
 * @unchecked: of a tracepoint: the body while it is not known from BTF how its arguments are laid
 *             out, NULL for the same one: it follows no pointer of an argument that it has not checked
 * @on_return: of a kretprobe: called when the function returns
 * @data_size: of a kretprobe: bytes in kretprobe_instance.data, from @body to @on_return
 * @maxactive: of a kretprobe: calls that may be under way at the same time, more are
 *             missed; 0 for a number that does for calls that block
 * @prototype: arguments that it has to have, see btf/btf.c for the form; several
 *             with '|' between them; NULL if they do not matter
 * @returns: what it has to return, in the same way
 * @count_if_suffixed: attach it also where the compiler made another function of
 *                     it, "name.isra.0", whose arguments are then not trusted
 * @in_interrupts: of a kprobe: its function is called in interrupts, which may come while the body
 *                 runs for another call: the body then runs with interrupts off
 * @optional: the group counts as attached without it
 * @fallback: attached only where no probe of its role behind it in the table could be: both
 *            are there, and one event would be counted twice
 * @without: says what is wrong or missing while it is not attached
 * @process_words: its counts of processes, bits of enum gpumon_process_word
 * @process_levels: levels of processes that it changes, bits of enum gpumon_process_level: they are
 *                  known only while all probes of such a level are attached
 * @process_needs: field of a private type without which it does not know these, NULL for none
 * @number: slot of its counters, given at load
 * @state: whether it is attached, and if not in which way
 * @counted: it was attached at some time
 * @reason: why, for a reader
 * @check: result of comparing its prototype with BTF: 0 it is the expected one, -EBADMSG it is not,
 *         -ENODATA it is unknown
 * @check_reason: text of @check for a reader
 * @arguments_trusted: of a kprobe or kretprobe: the function is the one whose arguments
 *                     are known; otherwise a body may only count
 * @tp: the tracepoint while its module is loaded
 * @attached: of a tracepoint: the body that was attached
 * @symbol: symbol that the kprobe was registered with
 * @address: where the kprobe was before it came off
 * @kprobe: the kprobe while registered
 * @kretprobe: the kretprobe while registered
 */
struct gpumon_probe {
	const char *module;
	const char *with;
	const char *name;
	enum gpumon_probe_kind kind;
	u8 role;
	void *body;
	void *unchecked;
	kretprobe_handler_t on_return;
	size_t data_size;
	int maxactive;
	const char *prototype;
	const char *returns;
	bool count_if_suffixed;
	bool in_interrupts;
	bool optional;
	bool fallback;
	const char *without;
	u8 process_words;
	u8 process_levels;
	const struct gpumon_field *process_needs;

	u32 number;
	enum gpumon_attach_state state;
	bool counted;
	char reason[GPUMON_REASON_LEN];
	int check;
	char check_reason[GPUMON_REASON_LEN];
	bool arguments_trusted;
	struct tracepoint *tp;
	void *attached;
	char symbol[GPUMON_SYMBOL_LEN];
	kprobe_opcode_t *address;
	union {
		struct kprobe kprobe;
		struct kretprobe kretprobe;
	};
};

/* Arrays of a group, as initialisers of its members. */
#define GPUMON_PROBES(_array) .probes = _array, .count = ARRAY_SIZE(_array)
#define GPUMON_FIELDS(_array) .fields = _array, .field_count = ARRAY_SIZE(_array)
#define GPUMON_TABLES(_array) .statistics = _array, .statistics_count = ARRAY_SIZE(_array)
#define GPUMON_TRACKS(_array) .tracks = _array, .track_count = ARRAY_SIZE(_array)

/* Entries of a group's table of probes, followed by further initialisers. */
#define GPUMON_TRACEPOINT_AT(_module, _name, _role, _body, _prototype, ...)               \
	{                                                                                 \
		.module = _module, .name = _name, .kind = GPUMON_PROBE_KIND_TRACEPOINT,   \
		.role = _role, .body = _body, .prototype = _prototype, ##__VA_ARGS__      \
	}
#define GPUMON_KPROBE_AT(_module, _name, _role, _body, _prototype, _returns, ...)           \
	{                                                                                   \
		.module = _module, .name = _name, .kind = GPUMON_PROBE_KIND_KPROBE,         \
		.role = _role, .body = _body, .prototype = _prototype, .returns = _returns, \
		##__VA_ARGS__                                                               \
	}
#define GPUMON_KRETPROBE_AT(_module, _name, _role, _body, _on_return, _prototype, _returns, ...) \
	{                                                                                       \
		.module = _module, .name = _name, .kind = GPUMON_PROBE_KIND_KRETPROBE,          \
		.role = _role, .body = _body, .on_return = _on_return, .prototype = _prototype, \
		.returns = _returns, ##__VA_ARGS__                                              \
	}

static_assert(offsetof(struct kretprobe, kp) == 0);

/**
 * struct gpumon_group - probes that make one set of statistics
 * @name: name of the group
 * @probes: its probes, in the order in which they are attached
 * @count: number of probes
 * @fields: members of private types that its bodies read, NULL for none
 * @field_count: number of fields
 * @statistics: its tables, NULL for none
 * @statistics_count: number of tables
 * @tracks: its tables of objects under way, NULL for none; cleared when the group starts
 * @track_count: number of these
 * @enabled: switched on
 * @allocated: its tables have memory: a module of it is there, and it was on meanwhile
 * @layout_known: BTF has said of all GPUMON_FIELD_BUILT() that they are where the headers have them,
 *                or they are the kernel's own; found out before @start
 * @refused: member that a probe has found at another offset than the headers have, gpumon_group_refuse(); NULL if
 *           nothing is. Nothing is attached then until its module is gone.
 * @init: called once, before anything else: sizes its tables by module parameters
 * @start: called before the first probe is attached, while none runs
 * @stop: called when its probes are detached and none runs, maybe again
 * @module_gone: called when a module of the group is gone and no probe of it runs; @start follows,
 *               at once or when the group is switched on
 * @refresh: called once in a while, without a lock
 * @level_known: asked whether the level of processes is known that its probes keep, once all of them
 *               are attached; NULL for always
 */
struct gpumon_group {
	const char *name;
	struct gpumon_probe *probes;
	unsigned int count;
	struct gpumon_field *fields;
	unsigned int field_count;
	struct gpumon_statistics *const *statistics;
	unsigned int statistics_count;
	struct gpumon_track *const *tracks;
	unsigned int track_count;
	bool enabled;
	bool allocated;
	bool layout_known;
	const char *refused;
	void (*init)(void);
	void (*start)(void);
	void (*stop)(void);
	void (*module_gone)(void);
	void (*refresh)(void);
	bool (*level_known)(void);
};

/**
 * struct gpumon_probe_view - counters of a probe in one period
 * @seen: events that it has seen, the sum of the others
 * @words: by GPUMON_PROBE_RECORDED and so on
 */
struct gpumon_probe_view {
	u64 seen;
	u64 words[GPUMON_PROBE_WORDS];
};

/* Is a group shown? Groups whose driver is not loaded are left out. gpumon_probe_lock held. */
static inline bool gpumon_group_shown(const struct gpumon_group *group)
{
	return group->allocated || !group->statistics_count;
}

extern struct gpumon_group *const *gpumon_groups;
extern unsigned int gpumon_group_count;
extern struct gpumon_counters gpumon_probe_counters;
/* Serialises attaching, detaching and readers of states. Taken before gpumon_period_lock. */
extern struct mutex gpumon_probe_lock;

#define for_each_group(group, g) \
	for ((g) = 0; (g) < gpumon_group_count && ((group) = gpumon_groups[g], true); (g)++)

#define for_each_probe(group, probe) \
	for ((probe) = (group)->probes; (probe) < (group)->probes + (group)->count; (probe)++)

#define for_each_field(group, field)    \
	for ((field) = (group)->fields; \
	     (group)->fields && (field) < (group)->fields + (group)->field_count; (field)++)

/*
 * Define bodies of kprobes and kretprobes, which must not be probed themselves. ftrace does not
 * trace their files, see Kbuild.
 */
#define GPUMON_KPROBE(body)    __kprobes int body(struct kprobe *kprobe, struct pt_regs *regs)
#define GPUMON_KRETPROBE(body) \
	__kprobes int body(struct kretprobe_instance *instance, struct pt_regs *regs)

/* First argument of a probe's body, for gpumon_probe_enter(): stands for the probe's counters. */
static inline void *gpumon_probe_data(const struct gpumon_probe *probe)
{
	return (void *)((unsigned long)probe->number * GPUMON_PROBE_STRIDE);
}

static inline struct gpumon_probe *gpumon_probe_of(struct kprobe *kprobe)
{
	return container_of(kprobe, struct gpumon_probe, kprobe);
}

/**
 * gpumon_probe_of_instance - the probe that a call of a kretprobe's function belongs to
 * @instance: what a kretprobe_handler_t gets
 *
 * Return: the probe; NULL if it is being unregistered at this moment.
 */
static inline struct gpumon_probe *gpumon_probe_of_instance(struct kretprobe_instance *instance)
{
#ifdef CONFIG_KRETPROBES
	struct kretprobe *kretprobe = gpumon_compat_get_kretprobe(instance);

	return kretprobe ? container_of(kretprobe, struct gpumon_probe, kretprobe) : NULL;
#else
	return NULL;
#endif
}

/* gpumon_probe_enter() for a kprobe. */
static __always_inline bool gpumon_kprobe_enter(struct gpumon_event_context *ctx,
						struct kprobe *kprobe)
{
	return gpumon_probe_enter(ctx, gpumon_probe_data(gpumon_probe_of(kprobe)));
}

/*
 * Define the body of a kprobe, or of a kretprobe at the function's end; like
 * GPUMON_TRACEPOINT_BODY().
 */
#define GPUMON_KPROBE_BODY(_probe)                                                            \
	GPUMON_KPROBE(_probe);                                                                \
	static __always_inline void _probe##_body(struct gpumon_event_context *ctx,           \
						  struct pt_regs *regs);                      \
	GPUMON_KPROBE(_probe)                                                                 \
	{                                                                                     \
		struct gpumon_event_context ctx;                                              \
											\
		if (gpumon_kprobe_enter(&ctx, kprobe)) {                                      \
			_probe##_body(&ctx, regs);                                            \
			gpumon_probe_leave(&ctx);                                             \
		}                                                                             \
		return 0;                                                                     \
	}                                                                                     \
	static __always_inline void _probe##_body(struct gpumon_event_context *ctx,           \
						  struct pt_regs *regs)

#define GPUMON_KRETPROBE_BODY(_probe)                                                         \
	GPUMON_KRETPROBE(_probe);                                                             \
	static __always_inline void _probe##_body(struct gpumon_event_context *ctx,           \
						  const struct gpumon_probe *probe,           \
						  struct kretprobe_instance *instance,        \
						  struct pt_regs *regs);                      \
	GPUMON_KRETPROBE(_probe)                                                              \
	{                                                                                     \
		const struct gpumon_probe *probe = gpumon_probe_of_instance(instance);        \
		struct gpumon_event_context ctx;                                              \
											\
		if (probe && gpumon_probe_enter(&ctx, gpumon_probe_data(probe))) {            \
			_probe##_body(&ctx, probe, instance, regs);                           \
			gpumon_probe_leave(&ctx);                                             \
		}                                                                             \
		return 0;                                                                     \
	}                                                                                     \
	static __always_inline void _probe##_body(struct gpumon_event_context *ctx,           \
						  const struct gpumon_probe *probe,           \
						  struct kretprobe_instance *instance,        \
						  struct pt_regs *regs)

int gpumon_probe_init(void);
int gpumon_probe_start(void);
void gpumon_probe_stop(void);
void gpumon_probe_exit(void);
void gpumon_probe_change_clock(void);

int gpumon_groups_init(struct gpumon_group *const *groups, unsigned int count);
void gpumon_groups_exit(void);
int gpumon_groups_keep(void);
void gpumon_groups_close(void);
void gpumon_groups_supply(void);
struct gpumon_group *gpumon_group_find(const char *name);
void gpumon_group_set(struct gpumon_group *group, bool enabled);
void gpumon_group_refuse(struct gpumon_group *group, const char *member);
size_t gpumon_group_bytes(const struct gpumon_group *group);
bool gpumon_group_can_count(const struct gpumon_group *group, unsigned int role);
bool gpumon_group_trusts(const struct gpumon_group *group, unsigned int role);
bool gpumon_group_column_known(const struct gpumon_group *group,
			       const struct gpumon_statistics *statistics, u32 row, u32 column);
bool gpumon_group_counts_of_processes(unsigned int word);
bool gpumon_group_keeps_level_of_processes(unsigned int level);
enum gpumon_attach_state gpumon_group_state(const struct gpumon_group *group, const char **reason);

int gpumon_probe_keep(void);
void gpumon_probe_close(void);
size_t gpumon_probe_bytes(void);
void gpumon_probe_read(const struct gpumon_probe *probe, bool closed,
		       struct gpumon_probe_view *view);

/* Module that holds a probe point. */
static inline const char *gpumon_probe_module_name(const struct gpumon_probe *probe)
{
	return probe->module ?: "vmlinux";
}

#endif /* GPUMON_PROBE_H */
