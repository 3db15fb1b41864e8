// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Runs kernels: all threads step by step, blocks of programs with the interpreter's random scheduler. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../inject/mock.h"
#include "device.h"

#define SMS	  MOCK_PROCESSORS
#define STEPS_RUN (1u << 28)
/* In registers that were not set. */
#define GARBAGE 0xdeadbeefdeadbeef
/* What has to be added to the GPU's clock to get CLOCK_MONOTONIC. */
#define CLOCK_OFFSET 7000000000

struct mock_launch {
	struct mock_function *function;
	unsigned int blocks;
	unsigned int threads;
	uint64_t parameters[PARAMETERS_MAX];
};

struct thread {
	bool gone;
	uint64_t registers[REGISTERS_MAX];
	uint64_t kept[4];
};

/**
 * struct grid - a kernel that runs
 * @first: its first block that runs now
 * @running: how many blocks run now
 * @state: of their threads
 */
struct grid {
	const struct mock_launch *launch;
	const struct kernel *kernel;
	uint64_t number;
	unsigned int first;
	unsigned int running;
	struct thread *state;
	const uint64_t *table;
	struct ptx_region *regions;
	uint32_t regions_n;
};

/* One kernel at a time, so that its atomic operations are. */
static pthread_mutex_t gpu = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t begun, done;
static _Atomic(const struct mock_function *) last_begun;

/* For the program: the kernel that runs, or ran last. */
const void *mock_last_begun(void);

const void *mock_last_begun(void)
{
	return atomic_load(&last_begun);
}

void mock_launch_counts(uint64_t *begun_now, uint64_t *done_now)
{
	*done_now = atomic_load(&done);
	*begun_now = atomic_load(&begun);
}

static void broken(const char *kernel, const char *what)
{
	fprintf(stderr, "mock: kernel %s: %s\n", kernel, what);
	abort();
}

static struct mock_launch *prepare(CUfunction handle, unsigned int blocks, unsigned int threads,
				   void **parameters)
{
	struct mock_function *function = (struct mock_function *)(void *)handle;
	struct mock_launch *launch;

	if (!function || !blocks || !threads || threads > 1024)
		return NULL;
	launch = calloc(1, sizeof(*launch));
	launch->function = function;
	launch->blocks = blocks;
	launch->threads = threads;
	for (uint32_t i = 0; i < function->kernel->parameters_n; i++)
		memcpy(&launch->parameters[i], parameters[i], function->kernel->sizes[i]);
	return launch;
}

static void forget(struct mock_launch *launch)
{
	free(launch);
}

static uint64_t special(const struct grid *grid, unsigned int thread, uint32_t index)
{
	unsigned int threads = grid->launch->threads;

	switch (index) {
	case PTX_TID_X:
		return thread % threads;
	case PTX_CTAID_X:
		return grid->first + thread / threads;
	case PTX_NTID_X:
		return threads;
	case PTX_NCTAID_X:
		return grid->launch->blocks;
	case PTX_NTID_Y:
	case PTX_NTID_Z:
	case PTX_NCTAID_Y:
	case PTX_NCTAID_Z:
		return 1;
	case PTX_SMID:
		return (grid->first + thread / threads) % SMS;
	case PTX_WARPID:
		return thread / threads / SMS * ((threads + PTX_LANES - 1) / PTX_LANES) +
		       thread % threads / PTX_LANES;
	case PTX_GRIDID:
		return grid->number;
	case PTX_GLOBALTIMER:
	case PTX_CLOCK64:
		return mock_monotonic() - CLOCK_OFFSET;
	default:
		return 0;
	}
}

static uint64_t value_of(const struct grid *grid, unsigned int thread,
			 const struct operand *operand)
{
	switch (operand->kind) {
	case REGISTER:
		return grid->state[thread].registers[operand->index];
	case SPECIAL:
		return special(grid, thread, operand->index);
	case PARAMETER:
		return grid->launch->parameters[operand->index];
	default:
		return (uint64_t)operand->value;
	}
}

static uint8_t *memory_of(const struct grid *grid, uint64_t address, uint32_t size)
{
	for (uint32_t i = 0; i < grid->regions_n; i++) {
		const struct ptx_region *region = &grid->regions[i];

		if (address >= region->address && size <= region->size &&
		    address - region->address <= region->size - size)
			return region->bytes + (address - region->address);
	}
	broken(grid->kernel->name, "an access outside of memory");
	return NULL;
}

static bool has_suffix(const char *op, const char *suffix)
{
	size_t n = strlen(op), m = strlen(suffix);

	return n >= m && strcmp(op + n - m, suffix) == 0;
}

/* ld.global, st.global, red.global.add of .u32 and .u64 */
static void access_memory(const struct grid *grid, unsigned int thread, const struct step *step)
{
	bool load = step->op[0] == 'l';
	const struct operand *where = &step->operands[load];
	uint32_t size = has_suffix(step->op, "64") ? 8 : 4;
	uint8_t *memory =
		memory_of(grid, value_of(grid, thread, where) + (uint64_t)where->offset, size);
	uint64_t value = 0;

	if (load || step->op[0] == 'r')
		memcpy(&value, memory, size);
	if (load) {
		grid->state[thread].registers[step->operands[0].index] = value;
		return;
	}
	value += value_of(grid, thread, &step->operands[1]);
	memcpy(memory, &value, size);
}

static void compute(const struct grid *grid, unsigned int thread, const struct step *step)
{
	uint64_t a = value_of(grid, thread, &step->operands[1]),
		 b = step->operands_n > 2 ? value_of(grid, thread, &step->operands[2]) : 0,
		 c = step->operands_n > 3 ? value_of(grid, thread, &step->operands[3]) : 0, result;

	if (strncmp(step->op, "mov.", 4) == 0 || strncmp(step->op, "cvta.", 5) == 0 ||
	    strncmp(step->op, "ld.param.", 9) == 0)
		result = a;
	else if (strncmp(step->op, "add.", 4) == 0)
		result = a + b;
	else if (strcmp(step->op, "mul.wide.u32") == 0)
		result = (uint64_t)(uint32_t)a * (uint32_t)b;
	else if (strcmp(step->op, "mad.lo.u32") == 0)
		result = a * b + c;
	else if (strcmp(step->op, "setp.ge.u32") == 0)
		result = (uint32_t)a >= (uint32_t)b;
	else
		broken(grid->kernel->name, step->op);
	if (has_suffix(step->op, "32") && strcmp(step->op, "mul.wide.u32") != 0)
		result = (uint32_t)result;
	grid->state[thread].registers[step->operands[0].index] = result;
}

static bool is_led_around(const struct grid *grid, unsigned int thread, const struct step *step)
{
	return step->guard >= 0 &&
	       (grid->state[thread].registers[step->guard] & 1) == step->guard_not;
}

static void run_instruction(const struct grid *grid, unsigned int thread, const struct step *step)
{
	if (strcmp(step->op, "ret") == 0 || strcmp(step->op, "exit") == 0)
		grid->state[thread].gone = true;
	else if (strncmp(step->op, "bar.", 4) == 0)
		return;
	else if (strncmp(step->op, "ld.global", 9) == 0 || strncmp(step->op, "st.", 3) == 0 ||
		 strncmp(step->op, "red.", 4) == 0)
		access_memory(grid, thread, step);
	else if (strncmp(step->op, "mov.b64", 7) == 0 && step->operands[0].kind == REGISTER &&
		 strncmp(grid->kernel->registers[step->operands[0].index], "%gpumon_kept", 12) == 0)
		grid->state[thread]
			.kept[atoi(grid->kernel->registers[step->operands[0].index] + 12)] =
			value_of(grid, thread, &step->operands[1]);
	else
		compute(grid, thread, step);
}

/* Whether a block of threads runs a program of a patch: with data, and by the sample. */
static bool runs_patch(const struct grid *grid, unsigned int thread, const struct step *step,
		       uint32_t program)
{
	const uint32_t *data = grid->launch->function->data;

	return data && (data[1] & step->bits[program]) &&
	       (!step->sample || !(special(grid, thread, PTX_CTAID_X) % step->sample)) &&
	       (!step->atomics[program] || (step->flags & 3) == 3);
}

static void begin_lane(const struct grid *grid, unsigned int thread, const struct step *step,
		       struct ptx_lane *lane)
{
	lane->live = !grid->state[thread].gone && !is_led_around(grid, thread, step);
	for (uint32_t i = 0; i < PTX_KERNEL; i++)
		if (i != PTX_LANEID && i != PTX_LANEMASK_LT)
			lane->special[i] = special(grid, thread, i);
	lane->special[PTX_KERNEL] = step->number;
	if (step->has_context)
		lane->special[PTX_ADDRESS] =
			value_of(grid, thread, &step->address) + (uint64_t)step->address.offset;
	lane->special[PTX_LINE] = step->line;
	lane->special[PTX_SIZE] = step->size;
	lane->special[PTX_FLAGS] = step->flags;
	if (step->patched && grid->launch->function->data) {
		lane->special[PTX_KERNEL] = grid->launch->function->data[0];
		lane->special[PTX_TABLE_AT] = (uintptr_t)(grid->launch->function->data + 2);
	}
	memcpy(&lane->special[PTX_KEPT], grid->state[thread].kept, sizeof(grid->state->kept));
}

/* One program in all threads that run now. */
static void run_program(const struct grid *grid, const struct step *step, uint32_t program,
			uint32_t table_n)
{
	const struct ptx_block *block = step->blocks[program];
	unsigned int per_block = (grid->launch->threads + PTX_LANES - 1) / PTX_LANES, i, j;
	struct ptx_machine machine = {
		.block = block,
		.table = grid->table,
		.table_n = table_n,
		.regions = grid->regions,
		.regions_n = grid->regions_n,
		.warps_n = per_block * grid->running,
		.random = grid->number * 2 + 1,
		.steps = STEPS_RUN,
	};

	machine.warps = calloc(machine.warps_n, sizeof(*machine.warps));
	for (i = 0; i < machine.warps_n; i++) {
		ptx_warp_init(&machine.warps[i], block);
		for (j = 0; j < PTX_LANES; j++) {
			unsigned int thread = i % per_block * PTX_LANES + j;

			if (thread >= grid->launch->threads)
				continue;
			thread += i / per_block * grid->launch->threads;
			begin_lane(grid, thread, step, &machine.warps[i].lanes[j]);
			if (step->patched && !runs_patch(grid, thread, step, program))
				machine.warps[i].lanes[j].live = false;
		}
	}
	if (ptx_run(&machine))
		broken(grid->kernel->name, machine.error);
	for (i = 0; i < machine.warps_n; i++) {
		for (j = 0; j < PTX_LANES; j++) {
			unsigned int thread = i % per_block * PTX_LANES + j;
			const struct ptx_lane *lane = &machine.warps[i].lanes[j];
			struct thread *state;

			if (thread >= grid->launch->threads)
				continue;
			state = &grid->state[i / per_block * grid->launch->threads + thread];
			memcpy(state->kept, &lane->special[PTX_KEPT], sizeof(state->kept));
			state->gone |= lane->exited;
		}
		ptx_warp_clear(&machine.warps[i]);
	}
	free(machine.warps);
}

static void run_wave(struct grid *grid, uint32_t table_n)
{
	unsigned int threads = grid->running * grid->launch->threads;

	grid->state = calloc(threads, sizeof(*grid->state));
	for (unsigned int i = 0; i < threads; i++) {
		for (int j = 0; j < REGISTERS_MAX; j++)
			grid->state[i].registers[j] = GARBAGE;
		for (int j = 0; j < 4; j++)
			grid->state[i].kept[j] = GARBAGE;
	}
	for (uint32_t i = 0; i < grid->kernel->steps_n; i++) {
		const struct step *step = &grid->kernel->steps[i];

		for (uint32_t j = 0; j < step->blocks_n; j++)
			run_program(grid, step, j, table_n);
		for (unsigned int j = 0; *step->op && j < threads; j++)
			if (!grid->state[j].gone && !is_led_around(grid, j, step))
				run_instruction(grid, j, step);
	}
	free(grid->state);
}

/* The memory that the kernel can reach. Locked. */
static void list_regions(struct grid *grid, const struct mock_context *context)
{
	const struct mock_piece *piece;

	for (piece = context->pieces; piece; piece = piece->next)
		grid->regions_n++;
	grid->regions = calloc(grid->regions_n + 1, sizeof(*grid->regions));
	grid->regions_n = 0;
	for (piece = context->pieces; piece; piece = piece->next)
		grid->regions[grid->regions_n++] = (struct ptx_region){
			.address = (uintptr_t)piece->at,
			.size = piece->size,
			.bytes = piece->at,
		};
}

/* What has to be known of the context. Return: an error of CUDA. */
static int enter(struct grid *grid)
{
	struct mock_module *module = grid->launch->function->module;
	const struct mock_piece *table;
	struct mock_context *context;
	int result = CUDA_SUCCESS;

	mock_device_lock();
	context = module->context ? module->context : mock_current();
	if (!context || !context->alive || context != mock_current()) {
		result = CUDA_ERROR_INVALID_CONTEXT;
	} else {
		table = mock_table_of(module, context);
		grid->table = table ? (const uint64_t *)(const void *)table->at : NULL;
		list_regions(grid, context);
	}
	mock_device_unlock();
	return result;
}

/* One copy may have begun before. What the next one has found is cleared before the one after it begins. */
static void wait_copied(void)
{
	uint64_t until = mock_copies_out() + 3;

	for (int i = 0; i < 60000 && mock_copies_out() < until; i++)
		usleep(1000);
}

static int run(const struct mock_launch *launch)
{
	struct grid grid = { .launch = launch, .kernel = launch->function->kernel };
	unsigned int block_us = (unsigned int)mock_setting("MOCK_BLOCK_US", 0);
	bool waits = mock_setting("MOCK_WAIT_COPIED", 0);
	int result;

	if (mock_is_child())
		return CUDA_ERROR_NOT_INITIALIZED;
	result = enter(&grid);
	if (result != CUDA_SUCCESS)
		return result;
	grid.number = atomic_fetch_add(&begun, 1) + 1;
	pthread_mutex_lock(&gpu);
	atomic_store(&last_begun, launch->function);
	/* What has no programs is as fast as it can be: the library's own kernels. */
	if (!grid.kernel->has_programs)
		block_us = waits = 0;
	grid.running = block_us || waits ? 1 : launch->blocks;
	for (; grid.first < launch->blocks; grid.first += grid.running) {
		if (waits && grid.first == launch->blocks / 2)
			wait_copied();
		run_wave(&grid, launch->function->module->kernels.table_n);
		if (block_us)
			usleep(block_us);
	}
	pthread_mutex_unlock(&gpu);
	atomic_fetch_add(&done, 1);
	free(grid.regions);
	return CUDA_SUCCESS;
}

static _Atomic unsigned int captures;
static _Atomic bool capture_broken;
static __thread CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static int capture(bool begins)
{
	if (begins) {
		if (!atomic_fetch_add(&captures, 1))
			atomic_store(&capture_broken, false);
		return CUDA_SUCCESS;
	}
	atomic_fetch_sub(&captures, 1);
	return atomic_load(&capture_broken) ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

bool mock_is_forbidden(void)
{
	if (!atomic_load(&captures) || capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return false;
	atomic_store(&capture_broken, true);
	return true;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode before = capture_mode;

	capture_mode = *mode;
	*mode = before;
	return CUDA_SUCCESS;
}

void mock_run_install(void)
{
	static const struct mock_gpu runs = {
		.prepare = prepare,
		.run = run,
		.forget = forget,
		.set = mock_set,
		.capture = capture,
		.fits = mock_fits,
	};

	mock_gpu = &runs;
}
