// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * PERF_EVENT_IOC_REFRESH, which turns a clock off after one sample, is not used: on Linux 6.17 it stops the
 * whole machine (the clock's interrupt waits for its own end). So the clock is turned off by the thread that
 * looks, and its ring has room for one sample: the first one stays.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
#include <asm/perf_regs.h>
#endif

#include "running.h"

#ifdef __x86_64__

#define PAGE	  4096u
#define RING_SIZE (4 * PAGE)
/* The rest of the ring is for registers and heads. */
#define STACK_SIZE (RING_SIZE - 256)

/* The kernel locks the memory of each, and a user has 516 KiB for each processor without asking for more. */
#define CLOCKS_MAX 32

/* Of the thread's time on a processor; it may be in the kernel at first. */
#define PERIOD_NS 50000

#define BIT(name) (1ull << PERF_REG_X86_##name)
#define REGISTERS \
	(BIT(BX) | BIT(BP) | BIT(SP) | BIT(IP) | BIT(R12) | BIT(R13) | BIT(R14) | BIT(R15))
#define REGISTER_COUNT 8

/* What made the first try fail that did. */
static char problem[240];
static bool is_refused;

static unsigned int clocks;

/* A sample as the kernel writes it. @size bytes of the stack follow, and how many of these are right. */
struct sample {
	struct perf_event_header head;
	uint64_t abi;
	uint64_t registers[REGISTER_COUNT]; /* in the order of their numbers */
	uint64_t size;
};

_Static_assert(sizeof(struct sample) + STACK_SIZE + 64 < RING_SIZE, "a sample has no room");

void inject_running_begin(bool may_ask)
{
	problem[0] = '\0';
	is_refused = !may_ask;
	if (is_refused)
		snprintf(
			problem, sizeof(problem),
			"a filter of system calls (seccomp) would end the process for perf_event_open()");
}

const char *inject_running_problem(void)
{
	return problem[0] ? problem : NULL;
}

static void refuse(const char *call, int error)
{
	const char *remedy = "";

	is_refused = true;
	if (error == EACCES)
		remedy =
			": \"sysctl kernel.perf_event_paranoid=2\", or the capability CAP_SYS_ADMIN, gives them";
	else if (error == EPERM && strcmp(call, "mmap") != 0)
		remedy =
			": a container's filter of system calls has to allow it, as it does with CAP_PERFMON";
	else if (error == EPERM)
		remedy =
			": more locked memory (ulimit -l), or a higher kernel.perf_event_mlock_kb, gives them";
	else if (error == EMFILE)
		remedy = ": more open files (ulimit -n) give them";
	snprintf(problem, sizeof(problem), "%s() is refused (%s)%s", call, strerror(error), remedy);
}

/* Only code of the program counts, which is all that a process without rights may ask for. */
static int open_clock(uint32_t tid)
{
	struct perf_event_attr asked = {
		.type = PERF_TYPE_SOFTWARE,
		.size = PERF_ATTR_SIZE_VER3,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = PERIOD_NS,
		.sample_type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.sample_regs_user = REGISTERS,
		.sample_stack_user = STACK_SIZE,
	};

	return (int)syscall(SYS_perf_event_open, &asked, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool begin_clock(struct inject_running *one, uint32_t tid)
{
	int file;
	long ring;

	if (is_refused || clocks == CLOCKS_MAX)
		return false;
	file = open_clock(tid);
	if (file < 0) {
		/* It may just have ended. */
		if (errno != ESRCH)
			refuse("perf_event_open", errno);
		return false;
	}
	ring = syscall(SYS_mmap, 0l, (long)(PAGE + RING_SIZE), PROT_READ | PROT_WRITE, MAP_SHARED,
		       file, 0l);
	if (ring == -1) {
		refuse("mmap", errno);
		syscall(SYS_close, file);
		return false;
	}
	clocks++;
	*one = (struct inject_running){ file, (void *)ring };
	return true;
}

static struct perf_event_mmap_page *page_of(const struct inject_running *one)
{
	return one->ring;
}

static void empty_ring(const struct inject_running *one)
{
	struct perf_event_mmap_page *page = page_of(one);

	__atomic_store_n(&page->data_tail, __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
}

bool inject_running_ask(struct inject_running *one, uint32_t tid)
{
	if (!one->ring && !begin_clock(one, tid))
		return false;
	empty_ring(one);
	return !syscall(SYS_ioctl, one->file, PERF_EVENT_IOC_ENABLE, 0l);
}

/* Bytes of the ring, which may begin again meanwhile. */
static void copy_ring(const struct inject_running *one, uint64_t at, void *to, size_t size)
{
	const uint8_t *bytes = (const uint8_t *)one->ring + PAGE;
	size_t first = RING_SIZE - at % RING_SIZE;

	if (first > size)
		first = size;
	memcpy(to, bytes + at % RING_SIZE, first);
	memcpy((uint8_t *)to + first, bytes, size - first);
}

bool inject_running_take(struct inject_running *one, struct inject_running_stack *stack)
{
	static uint8_t bytes[STACK_SIZE];
	struct sample sample;
	uint64_t at, end, used;

	syscall(SYS_ioctl, one->file, PERF_EVENT_IOC_DISABLE, 0l);
	end = __atomic_load_n(&page_of(one)->data_head, __ATOMIC_ACQUIRE);
	/* Others tell of samples that had no room. */
	for (at = page_of(one)->data_tail; at < end; at += sample.head.size) {
		copy_ring(one, at, &sample.head, sizeof(sample.head));
		if (sample.head.type == PERF_RECORD_SAMPLE ||
		    sample.head.size < sizeof(sample.head))
			break;
	}
	if (at >= end || sample.head.size < sizeof(sample))
		return false;
	copy_ring(one, at, &sample, sizeof(sample));
	if (sample.abi != PERF_SAMPLE_REGS_ABI_64 || !sample.size || sample.size > STACK_SIZE ||
	    sample.head.size != sizeof(sample) + sample.size + sizeof(used))
		return false;
	copy_ring(one, at + sizeof(sample) + sample.size, &used, sizeof(used));
	if (used > sample.size)
		return false;
	copy_ring(one, at + sizeof(sample), bytes, used);
	*stack = (struct inject_running_stack){
		.registers = { .rbx = sample.registers[0],
			       .rbp = sample.registers[1],
			       .rsp = sample.registers[2],
			       .rip = sample.registers[3],
			       .r12 = sample.registers[4],
			       .r13 = sample.registers[5],
			       .r14 = sample.registers[6],
			       .r15 = sample.registers[7] },
		.bytes = bytes,
		.size = used,
	};
	return true;
}

void inject_running_close(struct inject_running *one, bool is_open)
{
	if (!one->ring)
		return;
	if (is_open) {
		syscall(SYS_munmap, one->ring, (long)(PAGE + RING_SIZE));
		syscall(SYS_close, one->file);
	}
	clocks--;
	*one = (struct inject_running){ 0 };
}

#else

/* Of a function that was interrupted anywhere, frame pointers alone do not say who called it. */
void inject_running_begin(bool may_ask)
{
	(void)may_ask;
}

const char *inject_running_problem(void)
{
	return NULL;
}

bool inject_running_ask(struct inject_running *one, uint32_t tid)
{
	(void)one;
	(void)tid;
	return false;
}

bool inject_running_take(struct inject_running *one, struct inject_running_stack *stack)
{
	(void)one;
	(void)stack;
	return false;
}

void inject_running_close(struct inject_running *one, bool is_open)
{
	(void)one;
	(void)is_open;
}

#endif
