// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <linux/audit.h>
#include <linux/memfd.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "attach_seccomp.h"
#include "lib/memory.h"
#include "target_process.h"

/* Longest filter that the kernel takes, and number of filters that are read. */
#define INSTRUCTIONS_MAX 4096
#define FILTERS_MAX	 64
/* Words of memory of a filter. */
#define WORDS 16

#ifndef SECCOMP_RET_KILL_PROCESS
#define SECCOMP_RET_KILL_PROCESS 0x80000000u
#endif
#ifndef SECCOMP_RET_LOG
#define SECCOMP_RET_LOG 0x7ffc0000u
#endif
#define ACTION_MASK 0xffff0000u

static bool alu(uint16_t operation, uint32_t by, uint32_t *a)
{
	switch (operation) {
	case BPF_ADD:
		*a += by;
		return true;
	case BPF_SUB:
		*a -= by;
		return true;
	case BPF_MUL:
		*a *= by;
		return true;
	case BPF_DIV:
		if (by)
			*a /= by;
		return by;
	case BPF_OR:
		*a |= by;
		return true;
	case BPF_AND:
		*a &= by;
		return true;
	case BPF_XOR:
		*a ^= by;
		return true;
	case BPF_LSH:
		*a = by < 32 ? *a << by : 0;
		return true;
	case BPF_RSH:
		*a = by < 32 ? *a >> by : 0;
		return true;
	case BPF_NEG:
		*a = -*a;
		return true;
	default:
		return false;
	}
}

static bool jumps(uint16_t operation, uint32_t a, uint32_t with)
{
	switch (operation) {
	case BPF_JEQ:
		return a == with;
	case BPF_JGT:
		return a > with;
	case BPF_JGE:
		return a >= with;
	default:
		return a & with;
	}
}

static bool load(const struct sock_filter *at, const struct seccomp_data *data,
		 const uint32_t *memory, uint32_t *to)
{
	switch (BPF_MODE(at->code)) {
	case BPF_IMM:
		*to = at->k;
		return true;
	case BPF_LEN:
		*to = sizeof(*data);
		return true;
	case BPF_MEM:
		if (at->k >= WORDS)
			return false;
		*to = memory[at->k];
		return true;
	case BPF_ABS:
		if (at->k > sizeof(*data) - sizeof(*to) || at->k % sizeof(*to))
			return false;
		memcpy(to, (const char *)data + at->k, sizeof(*to));
		return true;
	default:
		return false;
	}
}

bool gpumon_seccomp_run(const struct sock_filter *filter, size_t count,
			const struct seccomp_data *data, uint32_t *result)
{
	uint32_t a = 0, x = 0, memory[WORDS] = { 0 };

	/* Jumps go forward only. */
	for (size_t i = 0; i < count; i++) {
		const struct sock_filter *at = &filter[i];
		uint32_t with = BPF_SRC(at->code) == BPF_X ? x : at->k;

		switch (BPF_CLASS(at->code)) {
		case BPF_LD:
		case BPF_LDX:
			if (!load(at, data, memory, BPF_CLASS(at->code) == BPF_LD ? &a : &x))
				return false;
			break;
		case BPF_ST:
		case BPF_STX:
			if (at->k >= WORDS)
				return false;
			memory[at->k] = BPF_CLASS(at->code) == BPF_ST ? a : x;
			break;
		case BPF_ALU:
			if (!alu(BPF_OP(at->code), with, &a))
				return false;
			break;
		case BPF_JMP:
			if (BPF_OP(at->code) == BPF_JA)
				i += at->k;
			else
				i += jumps(BPF_OP(at->code), a, with) ? at->jt : at->jf;
			break;
		case BPF_RET:
			*result = BPF_RVAL(at->code) == BPF_A ? a : at->k;
			return true;
		default:
			if (BPF_MISCOP(at->code) == BPF_TAX)
				x = a;
			else
				a = x;
		}
	}
	return false;
}

#ifdef __x86_64__

/* Not in all headers. */
#ifndef SYS_clone3
#define SYS_clone3 435
#endif

/**
 * struct needed - a system call of the way in
 * @may_fail: with an error, which is dealt with; it must not end the process
 */
struct needed {
	const char *name;
	int number;
	bool may_fail;
	uint64_t arguments[6];
};

static const struct needed calls[] = {
	{ "mmap", SYS_mmap, false, { 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS } },
	{ "mmap", SYS_mmap, false, { 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, 200 } },
	{ "mprotect", SYS_mprotect, false, { 4096, 4096, PROT_READ } },
	{ "munmap", SYS_munmap, false, { 0, 4096 } },
	{ "clone3", SYS_clone3, true, { 0 } },
	{ "clone",
	  SYS_clone,
	  false,
	  { CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
	    CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID } },
	{ "rt_sigprocmask", SYS_rt_sigprocmask, false, { 0 } },
	{ "rt_sigreturn", SYS_rt_sigreturn, false, { 0 } },
	{ "getpid", SYS_getpid, true, { 0 } },
	{ "nanosleep", SYS_nanosleep, false, { 0 } },
	{ "futex", SYS_futex, false, { 0 } },
	{ "memfd_create", SYS_memfd_create, true, { 0 } },
	{ "openat", SYS_openat, false, { 0 } },
	{ "read", SYS_read, false, { 200 } },
	{ "pread64", SYS_pread64, true, { 200 } },
	{ "newfstatat", SYS_newfstatat, true, { 0 } },
	{ "fstat", SYS_fstat, true, { 200 } },
	{ "close", SYS_close, false, { 200 } },
	{ "madvise", SYS_madvise, true, { 0 } },
	{ "set_robust_list", SYS_set_robust_list, true, { 0 } },
	{ "rseq", 334, true, { 0 } },
	{ "exit", SYS_exit, false, { 0 } },
	{ "clone, to find out what else is allowed", SYS_clone, true, { CLONE_VM | CLONE_VFORK } },
};

/* The strictest filter counts: the lowest action, as a signed number. */
static bool all_allow(struct sock_filter *const *filters, const unsigned int *counts,
		      unsigned int count, const struct needed *call)
{
	struct seccomp_data data = { .nr = call->number, .arch = AUDIT_ARCH_X86_64 };
	uint32_t result;

	for (unsigned int i = 0; i < 6; i++)
		data.args[i] = call->arguments[i];
	for (unsigned int i = 0; i < count; i++) {
		if (!gpumon_seccomp_run(filters[i], counts[i], &data, &result))
			return false;
		result &= ACTION_MASK;
		if (result == SECCOMP_RET_ALLOW || result == SECCOMP_RET_LOG ||
		    (call->may_fail && result == SECCOMP_RET_ERRNO))
			continue;
		return false;
	}
	return true;
}

bool gpumon_seccomp_allows(const struct gpumon_remote *remote, char *why, size_t room)
{
	struct sock_filter *filters[FILTERS_MAX];
	unsigned int lengths[FILTERS_MAX], count = 0, there = 0;
	bool good = true;
	int got = 0;

	if (gpumon_looks_filters("", remote->pid, remote->tid, &there) && !there)
		return true;
	for (; count < FILTERS_MAX; count++) {
		struct sock_filter *filter =
			gpumon_reallocarray(NULL, INSTRUCTIONS_MAX, sizeof(*filter));

		got = gpumon_remote_filter(remote, count, filter);
		if (got <= 0) {
			free(filter);
			break;
		}
		filters[count] = filter;
		lengths[count] = (unsigned int)got;
	}
	/* Behind the last one. */
	if (!count || got != -ENOENT) {
		snprintf(
			why, room,
			"it has a sandbox (seccomp), and what that allows cannot be read (%s): that needs root, no sandbox around gpumon-user, and CONFIG_CHECKPOINT_RESTORE",
			strerror(got < 0 ? -got : EIO));
		good = false;
	}
	for (size_t i = 0; good && i < sizeof(calls) / sizeof(calls[0]); i++) {
		good = all_allow(filters, lengths, count, &calls[i]);
		if (!good)
			snprintf(
				why, room,
				"its sandbox (seccomp) forbids %s, which bringing the library in needs",
				calls[i].name);
	}
	while (count)
		free(filters[--count]);
	return good;
}

#else

bool gpumon_seccomp_allows(const struct gpumon_remote *remote, char *why, size_t room)
{
	(void)remote;
	snprintf(why, room, "it has a sandbox (seccomp)");
	return false;
}

#endif
