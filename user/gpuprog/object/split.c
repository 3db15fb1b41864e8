// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "helper.h"
#include "instruction.h"
#include "split.h"

#define FARTHEST 64 /* steps from where ways meet to the call */

static bool prints(const struct gpumon_probe_step *step)
{
	const struct gpumon_probe_helper *helper;

	if (step->code != (BPF_JMP | BPF_CALL))
		return false;
	helper = gpumon_probe_helper_find((uint32_t)step->imm);
	return helper && helper->arguments[0] == GPUMON_PROBE_ARG_TEXT;
}

/* Steps from @at to a call that prints, it included, with nothing but calculations before; or 0. */
static uint32_t steps_to_print(const struct gpumon_probe_program *program, uint32_t at)
{
	for (uint32_t n = 0; n < FARTHEST && at + n < program->steps_n; n++) {
		const struct gpumon_probe_step *step = &program->steps[at + n];

		if (prints(step))
			return n + 1;
		if (gpumon_probe_is_jump(step->code) || !gpumon_probe_runs_on(step->code))
			break;
	}
	return 0;
}

/* @taken: a bit for each step that some way leads to already, and whose call stays its own */
static uint32_t copied_steps(const struct gpumon_probe_program *program, uint32_t jump, bool *taken)
{
	const struct gpumon_probe_step *step = &program->steps[jump];
	uint32_t n;

	if (!gpumon_probe_is_jump(step->code))
		return 0;
	n = steps_to_print(program, step->target);
	if (n && !taken[step->target]) {
		taken[step->target] = true;
		return 0;
	}
	return n;
}

static void copy_print(struct gpumon_probe_program *program, uint32_t jump, uint32_t n)
{
	struct gpumon_probe_step *steps = program->steps;
	uint32_t from = steps[jump].target;
	struct gpumon_probe_step *to = &steps[program->steps_n];

	memcpy(to, &steps[from], n * sizeof(*to));
	to[n] = (struct gpumon_probe_step){ .code = BPF_JMP | BPF_JA,
					    .depth = to[n - 1].depth,
					    .target = from + n,
					    .origin = to[n - 1].origin };
	steps[jump].target = program->steps_n;
	program->steps_n += n + 1;
}

/* Fill @copied: for each step how many steps its jump gets of its own. Return: their number, with jumps. */
static uint32_t find_copies(const struct gpumon_probe_program *program, bool *taken,
			    uint32_t *copied)
{
	uint32_t more = 0;

	taken[0] = true;
	for (uint32_t i = 0; i + 1 < program->steps_n; i++)
		taken[i + 1] |= gpumon_probe_runs_on(program->steps[i].code);
	for (uint32_t i = 0; i < program->steps_n; i++) {
		uint32_t n = copied_steps(program, i, taken);

		if (n && program->steps_n + more + n + 1 <= GPUMON_PROBE_MAX_STEPS) {
			copied[i] = n;
			more += n + 1;
		}
	}
	return more;
}

static int copy_all(struct gpumon_probe_program *program, const uint32_t *copied, uint32_t more,
		    struct gpumon_pool *pool)
{
	uint32_t before = program->steps_n;
	struct gpumon_probe_step *steps =
		gpumon_pool_zalloc(pool, (before + more) * sizeof(*steps));

	if (!steps)
		return -1;
	memcpy(steps, program->steps, before * sizeof(*steps));
	program->steps = steps;
	for (uint32_t i = 0; i < before; i++)
		if (copied[i])
			copy_print(program, i, copied[i]);
	return 0;
}

int gpumon_probe_split_prints(struct gpumon_probe_program *program, struct gpumon_pool *pool)
{
	uint32_t *copied = calloc(program->steps_n, sizeof(*copied));
	bool *taken = calloc(program->steps_n, sizeof(*taken));
	int failed = -1;

	if (copied && taken) {
		uint32_t more = find_copies(program, taken, copied);

		failed = more ? copy_all(program, copied, more, pool) : 0;
	}
	free(copied);
	free(taken);
	return failed;
}
