// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "calls.h"

struct gpumon_ptx_slice gpumon_ptx_called(const struct gpumon_ptx_statement *statement)
{
	/* call (results), name, (arguments), prototype */
	for (uint32_t i = 0; i < statement->operands_n && i < 2; i++)
		if (*statement->operands[i].at != '(')
			return statement->operands[i];
	return (struct gpumon_ptx_slice){ NULL, 0 };
}

uint32_t gpumon_ptx_points_of(const struct gpumon_ptx_access *access)
{
	uint32_t both = GPUMON_PROBE_READ | GPUMON_PROBE_WRITE;

	switch (access->effect) {
	case GPUMON_PTX_ACCESS:
		return 1u << GPUMON_PROBE_MEMORY |
		       ((access->flags & both) == both ? 1u << GPUMON_PROBE_ATOMIC : 0);
	case GPUMON_PTX_LEFT:
		return 1u << GPUMON_PROBE_MEMORY;
	case GPUMON_PTX_BARRIER:
		return 1u << GPUMON_PROBE_BARRIER;
	case GPUMON_PTX_EXIT:
		return 1u << GPUMON_PROBE_EXIT;
	default:
		return 0;
	}
}

int gpumon_ptx_enter(const struct gpumon_edit_inner *inner, size_t function,
		     struct gpumon_ptx_lexer *lexer, struct gpumon_error *err)
{
	const struct gpumon_ptx_place *place = &inner->places[function];

	lexer->at = inner->text.at + place->body;
	lexer->end = inner->text.at + place->end;
	lexer->line = place->body_line;
	return gpumon_ptx_next(lexer, err);
}

/* cooperative_groups: grid.sync() reads %envreg1 and %envreg2, or calls CUDA's device runtime. */
static bool waits_for_blocks(const struct gpumon_ptx_statement *statement)
{
	if (gpumon_ptx_same(statement->name, "call"))
		return gpumon_ptx_begins(gpumon_ptx_called(statement), "cudaCG");
	for (uint32_t i = 0; i < statement->operands_n; i++)
		if (gpumon_ptx_begins(statement->operands[i], "%envreg"))
			return true;
	return false;
}

static int look_through(const struct gpumon_edit_inner *inner, size_t function,
			struct gpumon_ptx_calls *calls, struct gpumon_error *err)
{
	struct gpumon_ptx_statement statement;
	struct gpumon_ptx_access access;
	struct gpumon_ptx_lexer lexer;

	if (gpumon_ptx_enter(inner, function, &lexer, err))
		return -1;
	while (lexer.kind != GPUMON_PTX_END) {
		struct gpumon_ptx_call *call;
		uint32_t points;
		ssize_t to;

		if (gpumon_ptx_read_statement(&lexer, &statement, err))
			return -1;
		if (statement.kind != GPUMON_PTX_INSTRUCTION)
			continue;
		gpumon_ptx_access_of(&statement, &access);
		points = gpumon_ptx_points_of(&access);
		calls->points[function] |= points;
		if (waits_for_blocks(&statement))
			calls->points[function] |= GPUMON_PTX_WAITS;
		if (gpumon_ptx_same(statement.name, "setmaxnreg"))
			calls->points[function] |= GPUMON_PTX_NO_CALLS;
		for (int i = 0; i < GPUMON_PROBE_POINTS; i++)
			calls->own[function][i] += points >> i & 1;
		if (access.effect != GPUMON_PTX_CALL)
			continue;
		to = gpumon_ptx_find_function(inner, gpumon_ptx_called(&statement));
		if (to < 0 || inner->functions[to].kernel)
			continue;
		call = GPUMON_GROW(calls->calls, calls->calls_n);
		if (!call)
			return gpumon_error_memory(err);
		*call = (struct gpumon_ptx_call){ (uint32_t)function, (uint32_t)to };
	}
	return 0;
}

/* The calls, sorted by @to, as in gpumon_ptx_calls.first and .calls. */
static void turn_round(const struct gpumon_ptx_calls *calls, size_t functions_n, size_t *first,
		       uint32_t *from)
{
	for (size_t i = 0; i < calls->calls_n; i++)
		first[calls->calls[i].to + 1]++;
	for (size_t i = 0; i < functions_n; i++)
		first[i + 1] += first[i];
	for (size_t i = calls->calls_n; i > 0; i--)
		from[first[calls->calls[i - 1].to]++] = calls->calls[i - 1].from;
	/* Each has moved on to the beginning of the next. */
	memmove(first + 1, first, functions_n * sizeof(*first));
	first[0] = 0;
}

/* What a function has, its callers have. A function is visited again once for each new point. */
static int pass_on(struct gpumon_ptx_calls *calls, size_t functions_n)
{
	size_t *first = calloc(functions_n + 2, sizeof(*first)), n = 0;
	uint32_t *from = calloc(calls->calls_n + 1, sizeof(*from));
	bool *queued = calloc(functions_n + 1, sizeof(*queued));

	if (first && from && queued) {
		turn_round(calls, functions_n, first, from);
		for (size_t i = 0; i < functions_n; i++) {
			queued[i] = true;
			calls->stack[n++] = (uint32_t)i;
		}
	}
	while (n) {
		uint32_t to = calls->stack[--n];

		queued[to] = false;
		for (size_t i = first[to]; i < first[to + 1]; i++) {
			if (!(calls->points[to] & ~calls->points[from[i]]))
				continue;
			calls->points[from[i]] |= calls->points[to];
			if (!queued[from[i]])
				calls->stack[n++] = from[i];
			queued[from[i]] = true;
		}
	}
	n = first && from && queued;
	free(first);
	free(from);
	free(queued);
	return n ? 0 : -1;
}

int gpumon_ptx_calls_open(const struct gpumon_edit_inner *inner,
			  const struct gpumon_edit_plan *const *plans,
			  struct gpumon_ptx_calls *calls, struct gpumon_error *err)
{
	size_t n = inner->functions_n;

	memset(calls, 0, sizeof(*calls));
	calls->first = calloc(n + 1, sizeof(*calls->first));
	calls->points = calloc(n + 1, sizeof(*calls->points));
	calls->own = calloc(n + 1, sizeof(*calls->own));
	calls->reached = calloc(n + 1, sizeof(*calls->reached));
	calls->stack = calloc(n + 1, sizeof(*calls->stack));
	if (!calls->first || !calls->points || !calls->own || !calls->reached || !calls->stack)
		return gpumon_error_memory(err);
	for (size_t i = 0; i < n; i++) {
		calls->first[i] = calls->calls_n;
		if ((plans[i] || !inner->functions[i].kernel) && look_through(inner, i, calls, err))
			return -1;
	}
	calls->first[n] = calls->calls_n;
	return pass_on(calls, n) ? gpumon_error_memory(err) : 0;
}

void gpumon_ptx_calls_close(struct gpumon_ptx_calls *calls)
{
	free(calls->calls);
	free(calls->first);
	free(calls->points);
	free(calls->own);
	free(calls->reached);
	free(calls->stack);
	memset(calls, 0, sizeof(*calls));
}

size_t gpumon_ptx_calls_reach(struct gpumon_ptx_calls *calls, uint32_t kernel, uint32_t points,
			      size_t n)
{
	size_t next = n;

	if (!n)
		calls->look++;
	/* The functions that were found are also the list of those still to be looked at. */
	for (size_t at = kernel;; at = calls->stack[next++]) {
		for (size_t i = calls->first[at]; i < calls->first[at + 1]; i++) {
			uint32_t to = calls->calls[i].to;

			if (!(calls->points[to] & points) || calls->reached[to] == calls->look)
				continue;
			calls->reached[to] = calls->look;
			calls->stack[n++] = to;
		}
		if (next == n)
			return n;
	}
}
