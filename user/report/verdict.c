// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/map.h"
#include "lib/memory.h"
#include "lib/table.h"
#include "lib/text.h"
#include "ranks.h"
#include "stall_reasons.h"
#include "stalls_print.h"
#include "verdict_internal.h"
#include "view.h"
#include "wrappers.h"

/* --- what is known */

/* Why a GPU was idle. */
enum why {
	WHY_RUNS,     /* the launching thread did something between launches, each time briefly */
	WHY_LAUNCH,   /* it was in a launch call, or the launch was on its way */
	WHY_PAUSE,    /* it did something else, for long */
	WHY_BLOCKED,  /* it waited for something else than a GPU */
	WHY_GPU_WAIT, /* it had waited for the GPU */
	WHY_COPY,     /* it was in a copy that returns when it is done */
	WHY_START_UP,
	WHY_END,
	WHY_UNKNOWN,
	WHYS
};

/**
 * struct facts - what rules ask
 * @all_ns: time of all GPUs
 * @work_ns: the same without start-up and the time after the last operation
 * @busy_ns: time in which something ran
 * @used_ns: the same without waiting for other ranks
 * @copies_ns: time of copies between host and GPU
 * @idle_ns: by reason
 * @few_looks: too few to tell what threads waited for
 * @thread: the thread that launches most, NULL if unknown
 * @thread_ns: its time from the first call to the last
 */
struct facts {
	const struct gpumon_view *view;
	struct gpumon_view_totals totals;
	unsigned int gpus;
	uint64_t all_ns;
	uint64_t work_ns;
	uint64_t busy_ns;
	uint64_t used_ns;
	uint64_t copies_ns;
	uint64_t before_ns;
	uint64_t idle_ns[WHYS];
	uint64_t idle_in_work_ns;
	bool few_looks;
	const struct gpumon_budget_row *thread;
	uint64_t thread_ns;
};

static bool has_state(const struct gpumon_node *node, const char *text)
{
	size_t length = strlen(text);

	return node->name[0] == '[' && !strncmp(node->name + 1, text, length) &&
	       !strcmp(node->name + 1 + length, "]");
}

static enum why why_of_overhead(enum gpumon_overhead_kind kind)
{
	return kind == GPUMON_OVERHEAD_QUEUE_FULL || kind == GPUMON_OVERHEAD_OTHER ? WHY_LAUNCH :
										     WHY_START_UP;
}

static enum why why_of_state(const struct gpumon_node *node)
{
	static const struct {
		const char *text;
		enum why why;
	} states[] = {
		{ GPUMON_STATE_QUEUED, WHY_LAUNCH },
		{ GPUMON_STATE_BEFORE_CALLS, WHY_START_UP },
		{ GPUMON_STATE_BEFORE_OPERATIONS, WHY_START_UP },
		{ GPUMON_STATE_AFTER_OPERATIONS, WHY_END },
		{ GPUMON_STATE_UNRECORDED, WHY_UNKNOWN },
		{ GPUMON_STATE_UNKNOWN_LAUNCH, WHY_UNKNOWN },
	};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (has_state(node, states[i].text))
			return states[i].why;
	}
	for (unsigned int kind = 0; kind < GPUMON_OVERHEAD_KINDS; kind++) {
		if (has_state(node, gpumon_overhead_text(kind)))
			return why_of_overhead(kind);
	}
	if (!has_state(node, GPUMON_STATE_BETWEEN_CALLS) &&
	    !has_state(node, gpumon_wait_text(GPUMON_WAIT_RUNNING)))
		return WHY_BLOCKED;
	return node->idle_count && (node->idle_ns - node->idle_long_ns) / node->idle_count >
					   gpumon_verdict_limit(LIMIT_PAUSE_NS) ?
		       WHY_PAUSE :
		       WHY_RUNS;
}

static bool is_copy_call(const char *name)
{
	return (strstr(name, "emcpy") && !strstr(name, "Async")) || strstr(name, "EnqueueRead") ||
	       strstr(name, "EnqueueWrite");
}

static bool is_wait_call(const char *name)
{
	return strstr(name, "ynchronize") || strstr(name, "clFinish") || strstr(name, "clWaitFor");
}

static enum why why_of(const struct facts *facts, const struct gpumon_node *node)
{
	enum why why;

	if (node->kind == GPUMON_NODE_STATE) {
		why = why_of_state(node);
		return why == WHY_BLOCKED && facts->few_looks ? WHY_UNKNOWN : why;
	}
	if (node->kind != GPUMON_NODE_API)
		return WHY_UNKNOWN;
	return is_wait_call(node->name) ? WHY_GPU_WAIT :
	       is_copy_call(node->name) ? WHY_COPY :
					  WHY_LAUNCH;
}

/*
 * Idle times of a node that are of another kind than its others: a launch call of a millisecond loads
 * code, and pauses do not make a function slow that launches fast otherwise.
 */
static uint64_t outlier_ns(const struct gpumon_node *node, enum why why, enum why *other)
{
	*other = why == WHY_LAUNCH ? WHY_START_UP : WHY_PAUSE;
	if (why == WHY_LAUNCH && node->kind == GPUMON_NODE_API &&
	    node->idle_longest_ns >= gpumon_verdict_limit(LIMIT_FIRST_LAUNCH_NS))
		return node->idle_longest_ns;
	return why == WHY_RUNS ? node->idle_long_ns : 0;
}

/* What a node has of the idle time of a reason. */
static uint64_t idle_of(const struct facts *facts, const struct gpumon_node *node, enum why wanted)
{
	enum why why, other;
	uint64_t other_ns;

	if (!node->idle_ns)
		return 0;
	why = why_of(facts, node);
	other_ns = outlier_ns(node, why, &other);
	return (why == wanted ? node->idle_ns - other_ns : 0) + (other == wanted ? other_ns : 0);
}

static void find_idle(struct facts *facts)
{
	uint64_t looks = 0;

	for (unsigned int i = 0; i < facts->view->budget_count; i++)
		looks += facts->view->budget[i].looks;
	facts->few_looks = looks < gpumon_verdict_limit(LIMIT_LOOKS);
	for (const struct gpumon_node *node = facts->view->root; node;
	     node = gpumon_tree_next(node, facts->view->root)) {
		enum why why, other;
		uint64_t other_ns;

		if (!node->idle_ns)
			continue;
		why = why_of(facts, node);
		other_ns = outlier_ns(node, why, &other);
		facts->idle_ns[why] += node->idle_ns - other_ns;
		facts->idle_ns[other] += other_ns;
	}
	for (unsigned int i = 0; i < facts->view->idle_count; i++)
		facts->before_ns += facts->view->idle[i].before_ns;
}

static void find_thread(struct facts *facts)
{
	const struct gpumon_budget_row *row = facts->view->budget;

	if (!facts->view->budget_count || !row->launches || row->untimed)
		return;
	facts->thread = row;
	facts->thread_ns = row->wall_ns - row->spent_ns[GPUMON_SPENT_BEFORE] -
			   row->spent_ns[GPUMON_SPENT_AFTER] -
			   row->spent_ns[GPUMON_SPENT_UNRECORDED];
}

static uint64_t less(uint64_t from, uint64_t by)
{
	return from > by ? from - by : 0;
}

static void find_facts(const struct gpumon_view *view, struct facts *facts)
{
	uint64_t waiting_ns = 0;

	memset(facts, 0, sizeof(*facts));
	facts->view = view;
	gpumon_view_totals(view, &facts->totals);
	for (unsigned int i = 0; i < view->device_count; i++) {
		const struct gpumon_device_row *row = &view->devices[i];

		if (!gpumon_view_is_gpu(row))
			continue;
		facts->gpus++;
		facts->all_ns += gpumon_view_elapsed(row, &facts->totals);
		facts->busy_ns += row->busy_ns;
	}
	for (unsigned int i = 0; i < view->rank_count; i++)
		waiting_ns += view->ranks[i].waiting_ns;
	for (unsigned int way = 0; view->copies && way < GPUMON_COPY_ELSEWHERE; way++)
		facts->copies_ns += view->copies[way].gpu_ns;
	find_idle(facts);
	/* The time after the last operation of a window is not that of the program. */
	if (gpumon_view_has_windows(view)) {
		facts->idle_ns[WHY_UNKNOWN] += facts->idle_ns[WHY_END];
		facts->idle_ns[WHY_END] = 0;
	}
	facts->work_ns =
		less(facts->all_ns, facts->idle_ns[WHY_START_UP] + facts->idle_ns[WHY_END]);
	if (facts->work_ns < facts->busy_ns)
		facts->work_ns = facts->busy_ns;
	facts->used_ns = less(facts->busy_ns, waiting_ns);
	facts->idle_in_work_ns = facts->work_ns - facts->busy_ns;
	find_thread(facts);
}

/* --- places */

/* A function of the program or its libraries, not of a runtime or of what only passes calls on. */
static bool is_place(const struct gpumon_node *node, enum gpumon_node_kind kind)
{
	return node->kind == kind && !gpumon_tree_unnamed(node) &&
	       strncmp(node->name, "libcudart", strlen("libcudart")) != 0 &&
	       strncmp(node->name, "__cuda", strlen("__cuda")) != 0 &&
	       gpumon_frame_role(node) != GPUMON_FRAME_WRAPPER;
}

/* The innermost function of Python, or else of machine code, that a node is below. */
static const struct gpumon_node *function_of(const struct gpumon_node *node)
{
	static const enum gpumon_node_kind kinds[] = { GPUMON_NODE_PYTHON, GPUMON_NODE_FUNCTION };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		for (const struct gpumon_node *at = node->parent; at; at = at->parent) {
			if (is_place(at, kinds[i]))
				return at;
		}
	}
	return NULL;
}

/* "Qwen3Attention.forward (model.py:212)"; "" if no function is known. */
static char *place_of(const struct gpumon_node *node)
{
	const struct gpumon_node *place = function_of(node);
	const char *file;
	char name[256];

	if (!place)
		return gpumon_strdup("");
	gpumon_text_function(name, sizeof(name), place->name);
	file = strrchr(place->line, '/');
	file = file ? file + 1 : place->line;
	return *file ? gpumon_asprintf("%s (%s)", name, file) : gpumon_strdup(name);
}

static bool is_python(const struct gpumon_node *node)
{
	const struct gpumon_node *place = node ? function_of(node) : NULL;

	return place && place->kind == GPUMON_NODE_PYTHON;
}

/**
 * struct places - a weight by place
 * @keys: numbers of the texts
 * @ns: by number - 1
 * @node: one of the nodes there, the heaviest
 */
struct places {
	struct gpumon_intern keys;
	uint64_t *ns;
	const struct gpumon_node **node;
	uint64_t *node_ns;
};

static void add_weight(struct places *places, const char *text, const struct gpumon_node *node,
		       uint64_t ns)
{
	bool added = false;
	uint32_t number = *text ? gpumon_intern(&places->keys, text, &added) : 0;

	if (!number)
		return;
	if (added) {
		places->ns = gpumon_reallocarray(places->ns, number, sizeof(*places->ns));
		places->node = gpumon_reallocarray(places->node, number, sizeof(*places->node));
		places->node_ns =
			gpumon_reallocarray(places->node_ns, number, sizeof(*places->node_ns));
		places->ns[number - 1] = places->node_ns[number - 1] = 0;
	}
	places->ns[number - 1] += ns;
	if (ns > places->node_ns[number - 1] || added) {
		places->node[number - 1] = node;
		places->node_ns[number - 1] = ns;
	}
}

static void add_place(struct places *places, const struct gpumon_node *node, uint64_t ns)
{
	char *text = place_of(node);

	add_weight(places, text, node, ns);
	free(text);
}

/* Number of the heaviest one, ~0 without any. */
static uint32_t top_place(const struct places *places)
{
	uint32_t top = ~0u;

	for (uint32_t i = 0; i < places->keys.n; i++) {
		if (top == ~0u || places->ns[i] > places->ns[top])
			top = i;
	}
	return top;
}

static char *place_text(const struct places *places, uint32_t number)
{
	return gpumon_strdup(number == ~0u ? "" : places->keys.texts[number]);
}

static void clear_places(struct places *places)
{
	gpumon_intern_clear(&places->keys);
	free(places->ns);
	free(places->node);
	free(places->node_ns);
}

/* Where the idle times of a reason, or of one of two, are. */
static void idle_places(const struct facts *facts, struct places *places, enum why a, enum why b)
{
	memset(places, 0, sizeof(*places));
	for (const struct gpumon_node *node = facts->view->root; node;
	     node = gpumon_tree_next(node, facts->view->root)) {
		uint64_t ns = idle_of(facts, node, a) + idle_of(facts, node, b);

		if (ns)
			add_place(places, node, ns);
	}
}

/* --- texts */

#define TEXT_LEN 64

static const char *ns_text(char buf[TEXT_LEN], uint64_t ns)
{
	return gpumon_format_ns(buf, TEXT_LEN, gpumon_value_of(ns));
}

static const char *share_text(char buf[TEXT_LEN], uint64_t part, uint64_t whole)
{
	double percent = whole ? (double)part * 100 / (double)whole : 0;

	if (percent > 0 && percent < 0.05)
		snprintf(buf, TEXT_LEN, "<0.1 %%");
	else
		snprintf(buf, TEXT_LEN, percent < 9.95 ? "%.1f %%" : "%.0f %%", percent);
	return buf;
}

struct gpumon_finding *gpumon_verdict_add(struct gpumon_verdict *verdict, const char *rule,
					  uint64_t weight_ns)
{
	struct gpumon_finding *finding;
	unsigned int at = verdict->count;

	while (at && verdict->at[at - 1].weight_ns < weight_ns)
		at--;
	if (verdict->count == GPUMON_VERDICT_MAX) {
		if (at == GPUMON_VERDICT_MAX)
			return NULL;
		verdict->count--;
		free(verdict->at[verdict->count].text);
		free(verdict->at[verdict->count].place);
	}
	finding = &verdict->at[at];
	memmove(finding + 1, finding, (verdict->count - at) * sizeof(*finding));
	verdict->count++;
	memset(finding, 0, sizeof(*finding));
	finding->rule = rule;
	finding->weight_ns = weight_ns;
	return finding;
}

static bool has_rule(const struct gpumon_verdict *verdict, const char *rule)
{
	for (unsigned int i = 0; i < verdict->count; i++) {
		if (!strcmp(verdict->at[i].rule, rule))
			return true;
	}
	return false;
}

void gpumon_verdict_number(struct gpumon_finding *finding, const char *key, uint64_t value)
{
	finding->numbers[finding->number_count++] = (struct gpumon_verdict_number){ key, value };
}

/* "it waits", "they wait": the GPUs. */
static const char *wait_verb(const struct facts *facts)
{
	return facts->gpus < 2 ? "it waits" : "they wait";
}

/* A time of all GPUs, of one of them on average. */
static uint64_t each(const struct facts *facts, uint64_t ns)
{
	return ns / (facts->gpus ? facts->gpus : 1);
}

/* "The GPU was busy 9.7 % of 13.1s", "The 2 GPUs were busy ..." */
static char *busy_text(const struct facts *facts)
{
	char share[TEXT_LEN], all[TEXT_LEN];

	share_text(share, facts->used_ns, facts->work_ns);
	ns_text(all, each(facts, facts->work_ns));
	if (facts->gpus < 2)
		return gpumon_asprintf("The GPU was busy %s of %s", share, all);
	return gpumon_asprintf("The %u GPUs were busy %s of %s", facts->gpus, share, all);
}

static void add_busy_numbers(struct gpumon_finding *finding, const struct facts *facts)
{
	gpumon_verdict_number(finding, "time_ns", facts->work_ns);
	gpumon_verdict_number(finding, "busy_ns", facts->used_ns);
}

static const char *thread_name(const struct facts *facts)
{
	/* Of several threads a node does not say which one was there. */
	bool is_known = facts->thread && facts->view->budget_count == 1;

	return is_known && facts->thread->name && *facts->thread->name ? facts->thread->name :
									 "the program";
}

/* --- rules: each adds its finding if it fires */

static void rule_start_up(const struct facts *facts, struct gpumon_verdict *verdict)
{
	char share[TEXT_LEN], all[TEXT_LEN], before[TEXT_LEN], rest[TEXT_LEN];
	uint64_t start_ns = facts->idle_ns[WHY_START_UP], later;
	struct gpumon_finding *finding;
	char *text;

	if (!gpumon_verdict_reaches(start_ns, LIMIT_START_UP, facts->all_ns))
		return;
	finding = gpumon_verdict_add(verdict, "start_up", UINT64_MAX);
	if (!finding)
		return;
	finding->place = gpumon_strdup("");
	later = less(start_ns, facts->before_ns);
	text = later * 20 > start_ns ? gpumon_asprintf(" and %s in later calls that load code",
						       ns_text(rest, each(facts, later))) :
				       gpumon_strdup("");
	finding->text = gpumon_asprintf(
		"Start-up takes %s of %s: %s until the first operation%s. What follows is about the rest.",
		share_text(share, start_ns, facts->all_ns),
		ns_text(all, each(facts, facts->all_ns)),
		ns_text(before, each(facts, facts->before_ns)), text);
	free(text);
	gpumon_verdict_number(finding, "time_ns", facts->all_ns);
	gpumon_verdict_number(finding, "start_up_ns", start_ns);
	gpumon_verdict_number(finding, "before_first_operation_ns", facts->before_ns);
}

/* What a kernel did, without waiting for other ranks. */
uint64_t gpumon_verdict_used(const struct gpumon_kernel_row *row)
{
	return less(row->gpu_ns + row->left_ns, row->wait_ns);
}

/* The kernel with the most, but for @other. */
static const struct gpumon_kernel_row *top_kernel(const struct gpumon_view *view,
						  const struct gpumon_kernel_row *other)
{
	const struct gpumon_kernel_row *top = NULL;

	for (unsigned int i = 0; i < view->kernel_count; i++) {
		const struct gpumon_kernel_row *row = &view->kernels[i];

		if (row != other && (!top || gpumon_verdict_used(row) > gpumon_verdict_used(top)))
			top = row;
	}
	return top;
}

char *gpumon_verdict_kernel(const struct gpumon_kernel_row *row, uint64_t all_ns)
{
	char name[128], cut[96], share[TEXT_LEN];

	gpumon_text_function(name, sizeof(name), row->name);
	return gpumon_asprintf("%s %s", gpumon_text_cut(cut, sizeof(cut), name, 40),
			       share_text(share, gpumon_verdict_used(row), all_ns));
}

/* What the samples add, with a blank in front; "" if no kernel and reason stand out. To be freed. */
static char *stalled_text(const struct gpumon_view *view)
{
	const struct gpumon_stall_row *kernel;
	const struct gpumon_stall_sum *reason;
	const struct gpumon_stall_reason *known;
	char name[128], cut[96], one[TEXT_LEN], other[TEXT_LEN], count[GPUMON_TEXT_NUMBER];

	if (!gpumon_stalls_verdict(view, &kernel, &reason))
		return gpumon_strdup("");
	known = gpumon_stall_reason(reason->reason);
	gpumon_text_function(name, sizeof(name), kernel->name);
	return gpumon_asprintf(
		" %s of the samples of warps (%s) are of %s: in %s of these %s %s.%s%s",
		share_text(one, kernel->samples, view->stalls->samples),
		gpumon_text_count(count, sizeof(count), kernel->samples),
		gpumon_text_cut(cut, sizeof(cut), name, 40),
		share_text(other, reason->samples, kernel->samples),
		known ? "a warp" : "the reason is", gpumon_stall_text(reason->reason),
		known && *known->helps ? " " : "", known ? known->helps : "");
}

static void rule_busy(const struct facts *facts, struct gpumon_verdict *verdict)
{
	const struct gpumon_kernel_row *first, *second;
	struct gpumon_finding *finding;
	char *busy, *one, *other, *stalled;
	uint64_t all_ns = 0;

	/* Copies have a rule of their own. */
	first = top_kernel(facts->view, NULL);
	if (!first || !gpumon_verdict_reaches(less(facts->used_ns, facts->copies_ns), LIMIT_BUSY,
					      facts->work_ns))
		return;
	finding = gpumon_verdict_add(verdict, "busy", facts->used_ns);
	if (!finding)
		return;
	for (unsigned int i = 0; i < facts->view->kernel_count; i++)
		all_ns += gpumon_verdict_used(&facts->view->kernels[i]);
	second = top_kernel(facts->view, first);
	one = gpumon_verdict_kernel(first, all_ns);
	other = second ? gpumon_verdict_kernel(second, all_ns) : gpumon_strdup("");
	busy = busy_text(facts);
	stalled = stalled_text(facts->view);
	finding->text = gpumon_asprintf(
		"%s: what takes time is work, most in %s%s%s. Faster or fewer kernels help.%s",
		busy, one, second ? ", " : "", other, stalled);
	finding->place = gpumon_strdup(first->name);
	free(stalled);
	add_busy_numbers(finding, facts);
	free(one);
	free(other);
	free(busy);
}

static void rule_launch_bound(const struct facts *facts, struct gpumon_verdict *verdict)
{
	uint64_t ns = facts->idle_ns[WHY_RUNS] + facts->idle_ns[WHY_LAUNCH], launches = 0;
	char launch[TEXT_LEN], between[TEXT_LEN], *busy, *place;
	struct gpumon_finding *finding;
	struct places places;
	uint32_t top;
	bool python;

	/* The waits are the reason why launches are not ahead of the GPU. */
	if (has_rule(verdict, "synchronising"))
		return;
	for (unsigned int i = 0; i < facts->view->budget_count; i++)
		launches += facts->view->budget[i].launches;
	if (!gpumon_verdict_reaches(ns, LIMIT_LAUNCH, facts->work_ns) ||
	    !gpumon_verdict_reaches(ns, LIMIT_LAUNCH_OF_IDLE, facts->idle_in_work_ns) ||
	    launches < gpumon_verdict_limit(LIMIT_LAUNCHES))
		return;
	finding = gpumon_verdict_add(verdict, "launch_bound", ns);
	if (!finding)
		return;
	idle_places(facts, &places, WHY_RUNS, WHY_LAUNCH);
	top = top_place(&places);
	place = place_text(&places, top);
	python = top != ~0u && is_python(places.node[top]);
	busy = busy_text(facts);
	finding->text = gpumon_asprintf(
		"%s: %s for launches. For %s of the idle time %s is in launch calls, for %s between calls%s%s. Fewer, larger kernels help: CUDA graphs, %slarger batches.",
		busy, wait_verb(facts),
		share_text(launch, facts->idle_ns[WHY_LAUNCH], facts->idle_in_work_ns),
		thread_name(facts),
		share_text(between, facts->idle_ns[WHY_RUNS], facts->idle_in_work_ns),
		*place ? ", most in " : "", place, python ? "torch.compile, " : "");
	finding->place = place;
	add_busy_numbers(finding, facts);
	gpumon_verdict_number(finding, "launches", launches);
	gpumon_verdict_number(finding, "idle_ns", ns);
	if (facts->thread) {
		gpumon_verdict_number(finding, "thread_ns", facts->thread_ns);
		gpumon_verdict_number(finding, "launch_calls_ns",
				      facts->thread->spent_ns[GPUMON_SPENT_LAUNCH]);
		gpumon_verdict_number(finding, "between_calls_ns",
				      facts->thread->spent_ns[GPUMON_SPENT_BETWEEN] +
					      facts->thread->spent_ns[GPUMON_SPENT_RUNNING]);
	}
	clear_places(&places);
	free(busy);
}

/* "sleeps in ", "waits for a lock": of a state. */
static const char *doing_text(const struct gpumon_node *node)
{
	static const struct {
		const char *begin;
		const char *text;
	} doings[] = {
		{ "[sleep", "sleeps in " },
		{ "[lock", "waits for another thread in " },
		{ "[read of a pipe", "waits to read a pipe in " },
		{ "[read of a socket", "waits to read a socket in " },
		{ "[read of a file", "waits for a file in " },
		{ "[read", "waits to read in " },
		{ "[write", "waits to write in " },
		{ "[poll", "waits for a file descriptor in " },
		{ "[child", "waits for a child in " },
		{ "[page fault", "waits for memory in " },
		{ "[running", "runs " },
	};

	for (size_t i = 0; i < sizeof(doings) / sizeof(doings[0]); i++) {
		if (!strncmp(node->name, doings[i].begin, strlen(doings[i].begin)))
			return doings[i].text;
	}
	return strncmp(node->name, "[between", 8) ? "waits in " : "launches nothing in ";
}

static bool is_loader(const struct gpumon_node *node)
{
	static const char *const words[] = {
		"load",	   "Load",   "dataset", "Dataset", "fetch",
		"collate", "decode", "read_",	"queue.",  "get_batch"
	};

	for (; node; node = node->parent) {
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
			if ((node->kind == GPUMON_NODE_PYTHON ||
			     node->kind == GPUMON_NODE_FUNCTION) &&
			    strstr(node->name, words[i]))
				return true;
		}
	}
	return false;
}

/* Libraries that make machine code for a GPU. */
static bool is_compiler(const char *library)
{
	static const char *const names[] = { "libnvrtc", "libnvptxcompiler",
					     "libnvidia-ptxjitcompiler", "libamd_comgr", "libigc" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strncmp(library, names[i], strlen(names[i])))
			return true;
	}
	return false;
}

/* The library of machine code in which looks found the thread running; NULL: in none, or it did not run. */
static const char *running_library(const struct gpumon_node *node)
{
	const struct gpumon_node *function = node->parent;

	return strcmp(node->name, "[running]") == 0 && function &&
			       function->kind == GPUMON_NODE_FUNCTION && *function->module ?
		       function->module :
		       NULL;
}

/* The library in which the thread runs for at least half of the time of a place; NULL if there is none. */
static const char *library_of_place(const struct facts *facts, const struct places *places,
				    uint32_t place)
{
	struct places libraries = { 0 };
	const char *library = NULL;
	uint32_t top;

	for (const struct gpumon_node *node = facts->view->root; node;
	     node = gpumon_tree_next(node, facts->view->root)) {
		const char *name = running_library(node);
		char *text = name ? place_of(node) : NULL;

		if (text && !strcmp(text, places->keys.texts[place]))
			add_weight(&libraries, name, node,
				   idle_of(facts, node, WHY_BLOCKED) +
					   idle_of(facts, node, WHY_PAUSE));
		free(text);
	}
	top = top_place(&libraries);
	if (top != ~0u && libraries.ns[top] >= places->ns[place] - libraries.ns[top])
		library = running_library(libraries.node[top]);
	clear_places(&libraries);
	return library;
}

/* "sleeps in ", "runs libm.so.6 in ", to be freed: what the thread does for most of the time of a place. */
static char *doing_at_place(const struct facts *facts, const struct places *places, uint32_t place)
{
	const char *library = library_of_place(facts, places, place);

	if (!library)
		return gpumon_strdup(doing_text(places->node[place]));
	return is_compiler(library) ? gpumon_asprintf("compiles GPU code (%s) in ", library) :
				      gpumon_asprintf("runs %s in ", library);
}

static void rule_data(const struct facts *facts, struct gpumon_verdict *verdict)
{
	uint64_t ns = facts->idle_ns[WHY_BLOCKED] + facts->idle_ns[WHY_PAUSE];
	char idle[TEXT_LEN], share[TEXT_LEN], *busy, *doing;
	const struct gpumon_node *node;
	struct gpumon_finding *finding;
	struct places places;
	uint32_t top;
	bool is_data;

	if (!gpumon_verdict_reaches(ns, LIMIT_DATA, facts->work_ns))
		return;
	idle_places(facts, &places, WHY_BLOCKED, WHY_PAUSE);
	top = top_place(&places);
	node = top == ~0u ? NULL : places.node[top];
	is_data = (node && is_loader(node)) || facts->idle_ns[WHY_BLOCKED] > ns / 2;
	finding = gpumon_verdict_add(verdict, is_data ? "waiting_for_data" : "waiting_for_cpu", ns);
	if (!finding) {
		clear_places(&places);
		return;
	}
	busy = busy_text(facts);
	doing = node ? doing_at_place(facts, &places, top) : NULL;
	finding->place = place_text(&places, top);
	ns_text(idle, each(facts, ns));
	share_text(share, ns, facts->work_ns);
	if (node)
		finding->text = gpumon_asprintf(
			"%s: for %s (%s) %s for %s, while %s %s%s.%s", busy, idle, share,
			wait_verb(facts), is_loader(node) ? "data" : "the CPU", thread_name(facts),
			doing, finding->place,
			is_loader(node) ?
				" Load ahead: more workers, prefetching, faster storage." :
			strstr(doing, "compiles") ?
				" Sizes that stay the same from step to step need no new code." :
				"");
	else
		finding->text = gpumon_asprintf("%s: for %s (%s) %s for the CPU.", busy, idle,
						share, wait_verb(facts));
	add_busy_numbers(finding, facts);
	gpumon_verdict_number(finding, "blocked_ns", facts->idle_ns[WHY_BLOCKED]);
	gpumon_verdict_number(finding, "between_calls_ns", facts->idle_ns[WHY_PAUSE]);
	clear_places(&places);
	free(doing);
	free(busy);
}

/* The call path in which most time waits for the GPU. */
static const struct gpumon_node *top_wait(const struct facts *facts)
{
	const struct gpumon_node *top = NULL;

	for (const struct gpumon_node *node = facts->view->root; node;
	     node = gpumon_tree_next(node, facts->view->root)) {
		if (node->kind == GPUMON_NODE_API && node->wall_ns && is_wait_call(node->name) &&
		    (!top || node->wall_ns > top->wall_ns))
			top = node;
	}
	return top;
}

static void rule_synchronising(const struct facts *facts, struct gpumon_verdict *verdict)
{
	const struct gpumon_node *top = top_wait(facts);
	char waits_text[GPUMON_TEXT_NUMBER], *busy;
	struct gpumon_finding *finding;
	uint64_t waits, launches, ns;

	if (!facts->thread || !top)
		return;
	waits = facts->thread->gpu_waits;
	launches = facts->thread->launches;
	ns = facts->idle_ns[WHY_RUNS] + facts->idle_ns[WHY_LAUNCH] + facts->idle_ns[WHY_GPU_WAIT];
	if (waits < gpumon_verdict_limit(LIMIT_SYNCS) ||
	    launches > waits * gpumon_verdict_limit(LIMIT_SYNC_LAUNCHES) ||
	    !gpumon_verdict_reaches(ns, LIMIT_SYNC_IDLE, facts->work_ns))
		return;
	finding = gpumon_verdict_add(verdict, "synchronising", ns);
	if (!finding)
		return;
	busy = busy_text(facts);
	finding->place = place_of(top);
	finding->text = gpumon_asprintf(
		"%s: %s waits for it %s times, once for %.1f launches, and each wait empties its queue; most in %s%s%s. Remove the waits: no .item() or print in a loop, events in place of waits.",
		busy, thread_name(facts), gpumon_text_count(waits_text, sizeof(waits_text), waits),
		(double)launches / (double)waits, top->name, *finding->place ? " of " : "",
		finding->place);
	add_busy_numbers(finding, facts);
	gpumon_verdict_number(finding, "waits", waits);
	gpumon_verdict_number(finding, "launches", launches);
	gpumon_verdict_number(finding, "gpu_wait_calls_ns",
			      facts->thread->spent_ns[GPUMON_SPENT_GPU_WAIT]);
	free(busy);
}

/* The call path with the most time in copies between host and device. */
static char *top_copy(const struct facts *facts)
{
	const struct gpumon_node *top = NULL;

	for (const struct gpumon_node *node = facts->view->root; node;
	     node = gpumon_tree_next(node, facts->view->root)) {
		if (node->kind == GPUMON_NODE_COPY &&
		    (strstr(node->name, " Hto") || strstr(node->name, "toH")) &&
		    (!top || node->gpu_ns > top->gpu_ns))
			top = node;
	}
	return top ? place_of(top) : gpumon_strdup("");
}

static void rule_copies(const struct facts *facts, struct gpumon_verdict *verdict)
{
	const struct gpumon_copy_sum *of = facts->view->copies;
	uint64_t pageable_ns, pinned_ns, pageable_bytes, bytes, ns;
	char share[TEXT_LEN], time[TEXT_LEN], size[TEXT_LEN];
	struct gpumon_finding *finding;
	bool pageable;

	if (!of)
		return;
	pageable_ns = of[GPUMON_COPY_PAGEABLE_IN].gpu_ns + of[GPUMON_COPY_PAGEABLE_OUT].gpu_ns;
	pinned_ns = of[GPUMON_COPY_PINNED_IN].gpu_ns + of[GPUMON_COPY_PINNED_OUT].gpu_ns;
	pageable_bytes = of[GPUMON_COPY_PAGEABLE_IN].bytes + of[GPUMON_COPY_PAGEABLE_OUT].bytes;
	bytes = pageable_bytes + of[GPUMON_COPY_PINNED_IN].bytes + of[GPUMON_COPY_PINNED_OUT].bytes;
	ns = pageable_ns + pinned_ns;
	pageable = gpumon_verdict_reaches(pageable_ns, LIMIT_PAGEABLE, facts->work_ns);
	if ((!pageable && !gpumon_verdict_reaches(ns, LIMIT_COPIES, facts->work_ns)))
		return;
	finding = gpumon_verdict_add(verdict, "copies", ns);
	if (!finding)
		return;
	finding->place = top_copy(facts);
	gpumon_format_bytes(size, sizeof(size), gpumon_value_of(pageable ? pageable_bytes : bytes));
	finding->text = gpumon_asprintf(
		"Copies between host and GPU take %s (%s): %s%s, most in %s. %s", ns_text(time, ns),
		share_text(share, ns, facts->work_ns), size,
		pageable ? " with memory that is not pinned" : "",
		*finding->place ? finding->place : "calls without a function that is known",
		pageable ?
			"Pinned memory is faster, and copies from it need not wait: pin_memory=True, cudaMallocHost()." :
			"Copy less, keep data on the GPU, or copy while it works.");
	gpumon_verdict_number(finding, "time_ns", facts->work_ns);
	gpumon_verdict_number(finding, "copies_ns", ns);
	gpumon_verdict_number(finding, "copied_bytes", bytes);
	gpumon_verdict_number(finding, "pageable_ns", pageable_ns);
	gpumon_verdict_number(finding, "pageable_bytes", pageable_bytes);
}

/* What made a rank late, for most of that time; "" if nothing is known. @place: out */
static char *late_text(const struct gpumon_view *view, const struct gpumon_rank_row *last,
		       char **place)
{
	uint64_t all_ns = last->late_busy_ns, ns;
	char share[TEXT_LEN], *text;
	struct places places = { 0 };
	uint32_t top;

	for (const struct gpumon_node *node = view->root; node;
	     node = gpumon_tree_next(node, view->root)) {
		if (!node->late_ns)
			continue;
		all_ns = gpumon_add_saturated(all_ns, node->late_ns);
		add_place(&places, node, node->late_ns);
	}
	top = top_place(&places);
	ns = top == ~0u ? 0 : places.ns[top];
	if (last->late_busy_ns > ns) {
		*place = gpumon_strdup("");
		text = gpumon_asprintf("; for %s of that its GPU works for longer",
				       share_text(share, last->late_busy_ns, all_ns));
	} else {
		*place = place_text(&places, top);
		text = ns ? gpumon_asprintf("; for %s of that it %s%s",
					    share_text(share, ns, all_ns),
					    doing_text(places.node[top]), *place) :
			    gpumon_strdup("");
	}
	clear_places(&places);
	return text;
}

static void rule_rank(const struct facts *facts, struct gpumon_verdict *verdict)
{
	const struct gpumon_view *view = facts->view;
	const struct gpumon_rank_row *last = gpumon_ranks_last(view), *waits = NULL;
	char wait[TEXT_LEN], share[TEXT_LEN], by[TEXT_LEN];
	char count[GPUMON_TEXT_NUMBER], all[GPUMON_TEXT_NUMBER];
	struct gpumon_finding *finding;
	char *cause;

	for (unsigned int i = 0; i < view->rank_count; i++) {
		if (!waits || view->ranks[i].waiting_ns > waits->waiting_ns)
			waits = &view->ranks[i];
	}
	if (!last || last == waits ||
	    !gpumon_verdict_reaches(waits->waiting_ns, LIMIT_RANK, facts->totals.wall_ns))
		return;
	finding = gpumon_verdict_add(verdict, "waiting_for_rank",
				     waits->waiting_ns * (view->rank_count - 1));
	if (!finding)
		return;
	cause = late_text(view, last, &finding->place);
	finding->text =
		gpumon_asprintf("Rank %" PRIu32 " waits for other ranks for %s (%s): rank %" PRIu32
				" begins last in %s of %s collectives, by %s on average%s.",
				waits->rank, ns_text(wait, waits->waiting_ns),
				share_text(share, waits->waiting_ns, facts->totals.wall_ns),
				last->rank, gpumon_text_count(count, sizeof(count), last->last),
				gpumon_text_count(all, sizeof(all), last->matched),
				ns_text(by, last->late_ns / last->last), cause);
	gpumon_verdict_number(finding, "time_ns", facts->totals.wall_ns);
	gpumon_verdict_number(finding, "waiting_ns", waits->waiting_ns);
	gpumon_verdict_number(finding, "waiting_rank", waits->rank);
	gpumon_verdict_number(finding, "last_rank", last->rank);
	gpumon_verdict_number(finding, "last", last->last);
	gpumon_verdict_number(finding, "collectives", last->matched);
	gpumon_verdict_number(finding, "late_ns", last->late_ns);
	free(cause);
}

/* Rows of the users of a GPU follow it. */
static void rule_shared(const struct facts *facts, struct gpumon_verdict *verdict)
{
	const struct gpumon_view *view = facts->view;

	for (unsigned int i = 0; i < view->device_count; i++) {
		const struct gpumon_device_row *row = &view->devices[i], *most = NULL;
		uint64_t elapsed_ns = gpumon_view_elapsed(row, &facts->totals);
		char number[GPUMON_DEVICE_TEXT], busy[TEXT_LEN], share[TEXT_LEN];
		struct gpumon_finding *finding;

		if (row->users < 2 ||
		    !gpumon_verdict_reaches(row->busy_ns, LIMIT_SHARED_BUSY, elapsed_ns))
			continue;
		for (unsigned int k = 0; k < view->device_count; k++) {
			const struct gpumon_device_row *user = &view->devices[k];

			if (user->part && user->stream == ~0u && user->gpu == row->gpu &&
			    (!most || user->busy_ns > most->busy_ns))
				most = user;
		}
		if (!most || gpumon_verdict_reaches(most->busy_ns, LIMIT_SHARED_MOST, row->busy_ns))
			continue;
		finding = gpumon_verdict_add(verdict, "shared_gpu", row->busy_ns - most->busy_ns);
		if (!finding)
			continue;
		finding->place = gpumon_strdup(gpumon_view_gpu(number, row));
		finding->text = gpumon_asprintf(
			"%s is used by %u processes and busy %s of the time, at most %s with one of them (pid %u): they wait for each other.",
			finding->place, row->users, share_text(busy, row->busy_ns, elapsed_ns),
			share_text(share, most->busy_ns, elapsed_ns),
			gpumon_view_pid(view, most->process));
		gpumon_verdict_number(finding, "users", row->users);
		gpumon_verdict_number(finding, "time_ns", elapsed_ns);
		gpumon_verdict_number(finding, "busy_ns", row->busy_ns);
		gpumon_verdict_number(finding, "most_busy_ns", most->busy_ns);
	}
}

/* --- the verdict */

static void add_none(const struct facts *facts, struct gpumon_verdict *verdict)
{
	struct gpumon_finding *finding = gpumon_verdict_add(verdict, "none", 0);
	char *busy = busy_text(facts);

	finding->place = gpumon_strdup("");
	finding->text = gpumon_asprintf("%s. No rule says why: see the tables.", busy);
	add_busy_numbers(finding, facts);
	free(busy);
}

void gpumon_verdict_of(const struct gpumon_view *view, struct gpumon_verdict *verdict)
{
	static void (*const rules[])(const struct facts *facts, struct gpumon_verdict *verdict) = {
		rule_start_up, rule_busy, rule_synchronising, rule_launch_bound,
		rule_data,     rule_rank, rule_shared,	      rule_copies,
	};
	struct facts facts;

	memset(verdict, 0, sizeof(*verdict));
	find_facts(view, &facts);
	if (view->no_verdict || !facts.busy_ns)
		return;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		rules[i](&facts, verdict);
	if (!verdict->count || (verdict->count == 1 && has_rule(verdict, "start_up")))
		add_none(&facts, verdict);
	gpumon_verdict_kernels(view, verdict);
}

void gpumon_verdict_clear(struct gpumon_verdict *verdict)
{
	for (unsigned int i = 0; i < verdict->count; i++) {
		free(verdict->at[i].text);
		free(verdict->at[i].place);
	}
	verdict->count = 0;
}

void gpumon_verdict_print(FILE *out, const struct gpumon_term *term, const struct gpumon_view *view)
{
	struct gpumon_verdict verdict;

	gpumon_verdict_of(view, &verdict);
	if (verdict.count)
		fprintf(out, "\n%sVerdict%s\n", gpumon_term_bold(term), gpumon_term_reset(term));
	for (unsigned int i = 0; i < verdict.count; i++) {
		fprintf(out, "%*s", GPUMON_TABLE_INDENT, "");
		gpumon_sentence_print(out, term, "", GPUMON_TABLE_INDENT, GPUMON_TABLE_INDENT,
				      verdict.at[i].text);
	}
	gpumon_verdict_clear(&verdict);
}

struct json_object *gpumon_verdict_json(const struct gpumon_view *view)
{
	struct json_object *array = gpumon_json_array();
	struct gpumon_verdict verdict;

	gpumon_verdict_of(view, &verdict);
	for (unsigned int i = 0; i < verdict.count; i++) {
		const struct gpumon_finding *finding = &verdict.at[i];
		struct json_object *object = gpumon_json_object();
		struct json_object *numbers = gpumon_json_object();

		gpumon_json_add_string(object, "rule", finding->rule);
		gpumon_json_add_string(object, "text", finding->text);
		gpumon_json_add_string(object, "place", *finding->place ? finding->place : NULL);
		for (unsigned int k = 0; k < finding->number_count; k++)
			gpumon_json_add_u64(numbers, finding->numbers[k].key,
					    finding->numbers[k].value);
		gpumon_json_add(object, "numbers", numbers);
		gpumon_json_append(array, object);
	}
	gpumon_verdict_clear(&verdict);
	return array;
}
