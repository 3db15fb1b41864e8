// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <linux/filter.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

#include "attach_remote.h"
#include "attach_stub.h"
#include "lib/memory.h"
#include "lib/wait.h"

bool gpumon_remote_read(pid_t pid, uint64_t address, void *to, size_t size)
{
	const struct iovec here = { to, size }, there = { (void *)(uintptr_t)address, size };

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

bool gpumon_remote_write(pid_t pid, uint64_t address, const void *from, size_t size)
{
	const struct iovec here = { (void *)(uintptr_t)from, size },
			   there = { (void *)(uintptr_t)address, size };

	return process_vm_writev(pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

#ifdef __x86_64__

#include <cpuid.h>

/* In linux/elf.h, which cannot be included beside sys/user.h. */
#define NT_X86_XSTATE 0x202

/* In the kernel's headers only. */
#define ERESTARTSYS	      512
#define ERESTARTNOINTR	      513
#define ERESTARTNOHAND	      514
#define ERESTART_RESTARTBLOCK 516

#ifndef PTRACE_EVENT_STOP
#define PTRACE_EVENT_STOP 128
#endif
#ifndef PTRACE_GETSIGMASK
#define PTRACE_GETSIGMASK 0x420a
#define PTRACE_SETSIGMASK 0x420b
#endif
#ifndef PTRACE_SECCOMP_GET_FILTER
#define PTRACE_SECCOMP_GET_FILTER 0x420c
#endif

/* Memory below the stack pointer that belongs to the function that runs. */
#define RED_ZONE 128

/* How long a thread may take to stop, and pthread_create() to return. */
#define STOP_MS	  3000
#define CREATE_MS 5000
/* The next stop mostly comes within microseconds, for which no sleep is short enough. */
#define YIELDS	 200
#define SLEEP_NS 50000

/* Bytes of the processor's state: of AMX alone there are 8 KiB. */
#define XSTATE_MAX    16384
#define XSTATE_LEGACY 512
#define XSTATE_MIN    576 /* and the header behind it, which begins with the features in use */
#define XSTATE_SW     464 /* where a signal frame says how large it is */
#define XSTATE_MAGIC1 0x46505853u
#define XSTATE_MAGIC2 0x46505845u

/* struct ucontext of the kernel: that of the C library has more behind the mask. */
#define CONTEXT_BYTES  304
#define CONTEXT_XSTATE 1 /* uc_flags: the state has a size, and SS is in it */
#define CONTEXT_SS     6

/* In struct sigaltstack: with it the kernel leaves the alternate stack as it is. */
#define NO_STACK_FLAGS 0x7fff

struct gpumon_remote_state {
	struct gpumon_remote_code code;
	struct user_regs_struct regs;
	uint64_t mask;
	unsigned long long again; /* number of the call that was interrupted */
	bool is_saved;
	bool has_run;	 /* functions of the C library, which change the floating-point registers */
	bool is_in_call; /* stopped at the end of one of our system calls */
	size_t xstate_bytes;
	uint8_t xstate[XSTATE_MAX] __attribute__((aligned(64)));
};

/* A copy of what rt_sigreturn() reads. */
struct frame {
	uint64_t address;
	size_t size;
	uint8_t bytes[512 + XSTATE_MAX];
};

void gpumon_remote_find_code(const uint8_t *bytes, size_t size, uint64_t address,
			     struct gpumon_remote_code *code)
{
	static const uint8_t call[] = { 0x0f, 0x05, 0xc3 };
	/* mov $15, %rax; syscall */
	static const uint8_t restore[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	const uint8_t *at;

	at = code->call ? NULL : memmem(bytes, size, call, sizeof(call));
	if (at)
		code->call = address + (uint64_t)(at - bytes);
	at = code->restore ? NULL : memmem(bytes, size, restore, sizeof(restore));
	if (at)
		code->restore = address + (uint64_t)(at - bytes);
}

static int wait_stop(pid_t tid, int *status, unsigned int wait_ms)
{
	const struct timespec pause = { 0, SLEEP_NS };
	uint64_t until = gpumon_monotonic_ns() + wait_ms * 1000000ull;

	for (unsigned int i = 0;; i++) {
		pid_t got = waitpid(tid, status, __WALL | WNOHANG);

		if (got == tid)
			return WIFSTOPPED(*status) ? 0 : -ESRCH;
		if (got < 0 && errno != EINTR)
			return -ESRCH;
		if (i < YIELDS) {
			(void)sched_yield();
			continue;
		}
		if (gpumon_monotonic_ns() >= until)
			return -ETIMEDOUT;
		(void)nanosleep(&pause, NULL);
	}
}

static bool is_event_stop(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP;
}

/*
 * Lets the thread run until the stop that was asked for. Signals that come before are passed on. The stop is
 * asked for again each time: a kernel may forget it where it comes while the signal of a timer is delivered
 * (posixtimer_deliver_signal() drops the lock, and ptrace_stop() clears JOBCTL_TRAP_STOP; seen on 6.18).
 */
static int wait_interrupt(pid_t tid)
{
	int status, error;

	for (;;) {
		error = wait_stop(tid, &status, STOP_MS);
		if (error)
			return error;
		/* Stopped by a signal or a terminal: it would not run. */
		if (is_event_stop(status))
			return WSTOPSIG(status) == SIGTRAP ? 0 : -EAGAIN;
		if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) ||
		    ptrace(PTRACE_CONT, tid, NULL, (void *)(long)WSTOPSIG(status)))
			return -ESRCH;
	}
}

/*
 * Calls that fail when a thread is stopped, although there is no signal for it. They have done nothing, so
 * they can be made again, as the kernel does with most others.
 */
static bool fails_when_stopped(long call)
{
	switch (call) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2:
#endif
	case SYS_read:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_accept:
	case SYS_accept4:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_msgrcv:
	case SYS_rt_sigtimedwait:
	case SYS_io_getevents:
		return true;
	default:
		return false;
	}
}

static void free_state(struct gpumon_remote *remote)
{
	free(remote->state);
	remote->state = NULL;
}

int gpumon_remote_stop(struct gpumon_remote *remote)
{
	struct gpumon_remote_state *state;
	int error;

	remote->state = NULL;
	if (ptrace(PTRACE_SEIZE, remote->tid, NULL, (void *)(long)PTRACE_O_TRACESYSGOOD))
		return -errno;
	if (ptrace(PTRACE_INTERRUPT, remote->tid, NULL, NULL))
		return -errno;
	error = wait_interrupt(remote->tid);
	if (error == -EAGAIN) {
		(void)ptrace(PTRACE_DETACH, remote->tid, NULL, NULL);
		return error;
	}
	if (error)
		return error;
	state = gpumon_calloc(1, sizeof(*state));
	remote->state = state;
	if (ptrace(PTRACE_GETREGS, remote->tid, NULL, &state->regs)) {
		error = -errno;
		gpumon_remote_resume(remote);
		return error;
	}
	remote->call = (long)state->regs.orig_rax;
	if (remote->call >= 0 && (long)state->regs.rax == -EINTR &&
	    fails_when_stopped(remote->call)) {
		state->regs.rax = (unsigned long long)-ERESTARTNOHAND;
		(void)ptrace(PTRACE_SETREGS, remote->tid, NULL, &state->regs);
	}
	remote->pc = state->regs.rip;
	remote->sp = state->regs.rsp;
	remote->fp = state->regs.rbp;
	remote->tls = state->regs.fs_base;
	return 0;
}

/*
 * From the end of one of our calls to a stop in which the kernel goes on as behind an interruption: it makes
 * the thread's own call again, with the time that is left.
 */
static bool leave_call(struct gpumon_remote *remote)
{
	if (!remote->state->is_in_call)
		return true;
	return !ptrace(PTRACE_INTERRUPT, remote->tid, NULL, NULL) &&
	       !ptrace(PTRACE_CONT, remote->tid, NULL, NULL) && !wait_interrupt(remote->tid);
}

void gpumon_remote_resume(struct gpumon_remote *remote)
{
	struct gpumon_remote_state *state = remote->state;
	struct iovec xstate;

	if (!state)
		return;
	/* In this order: as long as the registers are ours, the thread would bring all of them back. */
	if (state->is_saved && leave_call(remote)) {
		xstate = (struct iovec){ state->xstate, state->xstate_bytes };
		if (state->has_run)
			(void)ptrace(PTRACE_SETREGSET, remote->tid, (void *)NT_X86_XSTATE, &xstate);
		(void)ptrace(PTRACE_SETSIGMASK, remote->tid, (void *)sizeof(state->mask),
			     &state->mask);
		(void)ptrace(PTRACE_SETREGS, remote->tid, NULL, &state->regs);
	}
	(void)ptrace(PTRACE_DETACH, remote->tid, NULL, NULL);
	free_state(remote);
}

/* Size of the processor's state with the features in use: the kernel wants no more than the thread has. */
static size_t state_size(const struct gpumon_remote_state *state)
{
	unsigned int size, offset, unused, also;
	size_t end = XSTATE_MIN;
	uint64_t features;

	memcpy(&features, state->xstate + XSTATE_LEGACY, sizeof(features));
	for (unsigned int i = 2; i < 63; i++) {
		if (!(features >> i & 1) ||
		    !__get_cpuid_count(0xd, i, &size, &offset, &unused, &also))
			continue;
		if (offset + size > end)
			end = offset + size;
	}
	return end;
}

/*
 * The number of the call that a thread makes at an address, where that is set right in front of it: of a call
 * that was interrupted before, the kernel only says that it goes on (restart_syscall).
 */
static unsigned long long call_at(const struct gpumon_remote *remote)
{
	const struct user_regs_struct *regs = &remote->state->regs;
	uint8_t code[7]; /* mov $NUMBER, %eax; syscall */
	uint32_t number;

	if (remote->call != SYS_restart_syscall ||
	    !gpumon_remote_read(remote->pid, regs->rip - sizeof(code), code, sizeof(code)) ||
	    code[0] != 0xb8 || code[5] != 0x0f || code[6] != 0x05)
		return regs->orig_rax;
	memcpy(&number, code + 1, sizeof(number));
	return number;
}

/* How the system call goes on that was interrupted, as the kernel decides it where there is no handler. */
static void restart_call(const struct gpumon_remote_state *state, struct user_regs_struct *regs)
{
	if ((long)regs->orig_rax < 0)
		return;
	switch (-(long)regs->rax) {
	case ERESTARTSYS:
	case ERESTARTNOINTR:
	case ERESTARTNOHAND:
	case ERESTART_RESTARTBLOCK:
		/* The time that is left is not known here: the last one is made as if it had just begun. */
		regs->rax = state->again;
		regs->rip -= 2;
		break;
	default:
		break;
	}
}

/**
 * make_frame - what rt_sigreturn() reads, for all of a thread's state
 * @state: of the thread
 * @below: lies below this address
 * @frame: out. In it comes first where the function in front of it returns to
 * @back: that
 */
static void make_frame(const struct gpumon_remote_state *state, uint64_t below, struct frame *frame,
		       uint64_t back)
{
	size_t size = state->xstate_bytes < XSTATE_MIN ? XSTATE_LEGACY : state_size(state);
	uint64_t xstate = (below - size - sizeof(uint32_t)) & ~63ull;
	uint64_t features = 0, context;
	struct user_regs_struct regs = state->regs;
	greg_t *to;
	const uint32_t magic2 = XSTATE_MAGIC2;
	struct {
		uint32_t magic1, extended_size;
		uint64_t features;
		uint32_t size, padding[7];
	} sw = { 0 };
	ucontext_t uc = { 0 };
	uint8_t *at;

	restart_call(state, &regs);
	/* As at the entry of a function: 8 bytes past a multiple of 16. */
	frame->address = ((xstate - CONTEXT_BYTES - 16) & ~15ull) - 8;
	context = frame->address + 8;
	frame->size = xstate + size + sizeof(magic2) - frame->address;
	memset(frame->bytes, 0, frame->size);
	memcpy(frame->bytes, &back, sizeof(back));
	uc.uc_flags = CONTEXT_SS | (size > XSTATE_LEGACY ? CONTEXT_XSTATE : 0);
	uc.uc_stack.ss_flags = NO_STACK_FLAGS;
	to = uc.uc_mcontext.gregs;
	to[REG_R8] = (greg_t)regs.r8;
	to[REG_R9] = (greg_t)regs.r9;
	to[REG_R10] = (greg_t)regs.r10;
	to[REG_R11] = (greg_t)regs.r11;
	to[REG_R12] = (greg_t)regs.r12;
	to[REG_R13] = (greg_t)regs.r13;
	to[REG_R14] = (greg_t)regs.r14;
	to[REG_R15] = (greg_t)regs.r15;
	to[REG_RDI] = (greg_t)regs.rdi;
	to[REG_RSI] = (greg_t)regs.rsi;
	to[REG_RBP] = (greg_t)regs.rbp;
	to[REG_RBX] = (greg_t)regs.rbx;
	to[REG_RDX] = (greg_t)regs.rdx;
	to[REG_RAX] = (greg_t)regs.rax;
	to[REG_RCX] = (greg_t)regs.rcx;
	to[REG_RSP] = (greg_t)regs.rsp;
	to[REG_RIP] = (greg_t)regs.rip;
	to[REG_EFL] = (greg_t)regs.eflags;
	to[REG_CSGSFS] = (greg_t)(regs.cs | regs.gs << 16 | regs.fs << 32 | regs.ss << 48);
	uc.uc_mcontext.fpregs = (fpregset_t)(uintptr_t)xstate;
	memcpy(&uc.uc_sigmask, &state->mask, sizeof(state->mask));
	memcpy(frame->bytes + (context - frame->address), &uc, CONTEXT_BYTES);
	at = frame->bytes + (xstate - frame->address);
	memcpy(at, state->xstate, size);
	if (size == XSTATE_LEGACY)
		return;
	memcpy(&features, state->xstate + XSTATE_LEGACY, sizeof(features));
	sw.magic1 = XSTATE_MAGIC1;
	sw.size = (uint32_t)size;
	sw.extended_size = sw.size + (uint32_t)sizeof(magic2);
	/* The first two are always there. */
	sw.features = features | 3;
	memcpy(at + XSTATE_SW, &sw, sizeof(sw));
	memcpy(at + size, &magic2, sizeof(magic2));
}

static bool write_frame(const struct gpumon_remote *remote, uint64_t below, struct frame *frame,
			uint64_t back)
{
	make_frame(remote->state, below, frame, back);
	return gpumon_remote_write(remote->pid, frame->address, frame->bytes, frame->size);
}

int gpumon_remote_save(struct gpumon_remote *remote, const struct gpumon_remote_code *code)
{
	struct gpumon_remote_state *state = remote->state;
	struct iovec xstate = { state->xstate, sizeof(state->xstate) };

	state->code = *code;
	state->again = call_at(remote);
	if (ptrace(PTRACE_GETREGSET, remote->tid, (void *)NT_X86_XSTATE, &xstate)) {
		struct user_fpregs_struct legacy;

		if (ptrace(PTRACE_GETFPREGS, remote->tid, NULL, &legacy))
			return -errno;
		memcpy(state->xstate, &legacy, sizeof(legacy));
		xstate.iov_len = sizeof(legacy);
	}
	state->xstate_bytes = xstate.iov_len;
	if (ptrace(PTRACE_GETSIGMASK, remote->tid, (void *)sizeof(state->mask), &state->mask))
		return -errno;
	return 0;
}

/* Signals of errors of the thread itself stay: a blocked one would end the process. */
static uint64_t blocked_mask(void)
{
	static const int own[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS };
	uint64_t mask = UINT64_MAX;

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		mask &= ~(1ull << (own[i] - 1));
	return mask;
}

static bool set_registers(struct gpumon_remote *remote, const struct user_regs_struct *regs)
{
	struct gpumon_remote_state *state = remote->state;
	uint64_t mask = blocked_mask();

	if (ptrace(PTRACE_SETREGS, remote->tid, NULL, regs))
		return false;
	if (state->is_saved)
		return true;
	/* Behind the registers: those bring the mask back. */
	state->is_saved = true;
	return !ptrace(PTRACE_SETSIGMASK, remote->tid, (void *)sizeof(mask), &mask);
}

/* To the next begin or end of a system call. */
static int run_to_call(struct gpumon_remote *remote, struct user_regs_struct *regs,
		       unsigned int wait_ms)
{
	int status, error, number = 0;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, remote->tid, NULL, (void *)(long)number))
			return -ESRCH;
		error = wait_stop(remote->tid, &status, wait_ms);
		if (error)
			return error;
		number = is_event_stop(status) ? 0 : WSTOPSIG(status);
		if (number == (SIGTRAP | 0x80))
			break;
		/* An error in a function of the process: it gets its registers, and not the signal. */
		if (number && !(blocked_mask() >> (number - 1) & 1))
			return -EFAULT;
	}
	return ptrace(PTRACE_GETREGS, remote->tid, NULL, regs) ? -errno : 0;
}

static struct user_regs_struct registers_for(const struct gpumon_remote *remote, uint64_t pc,
					     uint64_t sp)
{
	struct user_regs_struct regs = remote->state->regs;

	regs.rip = pc;
	regs.rsp = sp;
	/* No system call that the kernel might make again; no direction, no single steps. */
	regs.orig_rax = (unsigned long long)-1;
	regs.eflags &= ~(0x100ull | 0x400ull | 0x40000ull);
	return regs;
}

long gpumon_remote_call(struct gpumon_remote *remote, long number, const uint64_t arguments[6])
{
	struct gpumon_remote_state *state = remote->state;
	struct user_regs_struct regs;
	struct frame frame;

	if (!write_frame(remote, remote->sp - RED_ZONE, &frame, state->code.restore))
		return -EIO;
	regs = registers_for(remote, state->code.call, frame.address);
	regs.rax = (unsigned long long)number;
	regs.rdi = arguments[0];
	regs.rsi = arguments[1];
	regs.rdx = arguments[2];
	regs.r10 = arguments[3];
	regs.r8 = arguments[4];
	regs.r9 = arguments[5];
	if (!set_registers(remote, &regs))
		return -EIO;
	state->is_in_call = false;
	if (run_to_call(remote, &regs, STOP_MS) || run_to_call(remote, &regs, STOP_MS))
		return -EIO;
	state->is_in_call = true;
	return (long)regs.rax;
}

/* Instructions are written by ptrace, which may do so where the process itself may not. */
static bool copy_stub(const struct gpumon_remote *remote, uint64_t address)
{
	size_t size = (size_t)(gpumon_stub_end - gpumon_stub_begin);
	uint64_t word;

	for (size_t at = 0; at < size; at += sizeof(word)) {
		size_t part = size - at < sizeof(word) ? size - at : sizeof(word);

		word = 0;
		memcpy(&word, gpumon_stub_begin + at, part);
		if (ptrace(PTRACE_POKEDATA, remote->tid, (void *)(uintptr_t)(address + at),
			   (void *)(uintptr_t)word))
			return false;
	}
	return true;
}

int gpumon_remote_start(struct gpumon_remote *remote, uint64_t page, uint64_t code_page,
			uint64_t arguments, uint64_t pthread_create, uint64_t thread)
{
	struct gpumon_remote_state *state = remote->state;
	uint64_t until = gpumon_monotonic_ns() + CREATE_MS * 1000000ull;
	uint64_t back = code_page + (uint64_t)(gpumon_stub_back - gpumon_stub_begin);
	struct user_regs_struct regs;
	struct frame frame;
	int32_t created;
	int error;

	if (!copy_stub(remote, code_page) ||
	    !write_frame(remote, page + GPUMON_REMOTE_STACK, &frame, back))
		return -EIO;
	regs = registers_for(remote, pthread_create, frame.address);
	regs.rdi = thread;
	regs.rsi = 0;
	regs.rdx = code_page;
	regs.rcx = arguments;
	regs.rbx = arguments;
	regs.rax = 0;
	if (!set_registers(remote, &regs))
		return -EIO;
	state->has_run = true;
	state->is_in_call = false;
	/* The end of getpid(), behind which only rt_sigreturn() comes. */
	do {
		error = run_to_call(remote, &regs, CREATE_MS);
		if (error == -ETIMEDOUT || (!error && gpumon_monotonic_ns() > until)) {
			/* It waits for a lock: it is left alone, and goes on by itself. */
			free_state(remote);
			return -ETIMEDOUT;
		}
		if (error)
			return error;
	} while (regs.rip < back || regs.rip >= code_page + GPUMON_REMOTE_PAGE);
	error = run_to_call(remote, &regs, STOP_MS);
	state->is_in_call = true;
	if (error)
		return error;
	if (!gpumon_remote_read(remote->pid,
				arguments + offsetof(struct gpumon_remote_arguments, created),
				&created, sizeof(created)))
		return -EIO;
	return created;
}

int gpumon_remote_filter(const struct gpumon_remote *remote, unsigned int index,
			 struct sock_filter *filter)
{
	long count =
		ptrace(PTRACE_SECCOMP_GET_FILTER, remote->tid, (void *)(uintptr_t)index, filter);

	return count < 0 ? -errno : (int)count;
}

#else

void gpumon_remote_find_code(const uint8_t *bytes, size_t size, uint64_t address,
			     struct gpumon_remote_code *code)
{
	(void)bytes;
	(void)size;
	(void)address;
	(void)code;
}

int gpumon_remote_stop(struct gpumon_remote *remote)
{
	(void)remote;
	return -ENOSYS;
}

void gpumon_remote_resume(struct gpumon_remote *remote)
{
	(void)remote;
}

int gpumon_remote_save(struct gpumon_remote *remote, const struct gpumon_remote_code *code)
{
	(void)remote;
	(void)code;
	return -ENOSYS;
}

long gpumon_remote_call(struct gpumon_remote *remote, long number, const uint64_t arguments[6])
{
	(void)remote;
	(void)number;
	(void)arguments;
	return -ENOSYS;
}

int gpumon_remote_start(struct gpumon_remote *remote, uint64_t page, uint64_t code_page,
			uint64_t arguments, uint64_t pthread_create, uint64_t thread)
{
	(void)remote;
	(void)page;
	(void)code_page;
	(void)arguments;
	(void)pthread_create;
	(void)thread;
	return -ENOSYS;
}

int gpumon_remote_filter(const struct gpumon_remote *remote, unsigned int index,
			 struct sock_filter *filter)
{
	(void)remote;
	(void)index;
	(void)filter;
	return -ENOSYS;
}

#endif
