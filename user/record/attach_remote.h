/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Calls in a thread of another process, by ptrace. The thread is stopped for a moment and gets its registers
 * back. Should this program be killed meanwhile, the thread gets them back by itself: whatever it is made to
 * run ends in the kernel's rt_sigreturn(), with a frame that has all of its state, as behind a signal handler.
 */
#ifndef GPUMON_RECORD_ATTACH_REMOTE_H
#define GPUMON_RECORD_ATTACH_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/error.h"

/* Whether this program can do that on this kind of processor. */
#ifdef __x86_64__
#define GPUMON_REMOTE_POSSIBLE true
#else
#define GPUMON_REMOTE_POSSIBLE false
#endif

/**
 * struct gpumon_remote_code - instructions that every process has in its C library
 * @call: address of "syscall; ret"
 * @restore: address of what makes rt_sigreturn()
 */
struct gpumon_remote_code {
	uint64_t call;
	uint64_t restore;
};

struct gpumon_remote_state;

/**
 * struct gpumon_remote - a stopped thread
 * @pid: its process
 * @tid: thread
 * @pc: where it was stopped
 * @sp: its stack pointer
 * @fp: its frame pointer
 * @tls: address of its thread-local storage, which the C library puts at the upper end of a stack
 * @call: number of the system call that was interrupted; -1: none
 * @state: the rest
 */
struct gpumon_remote {
	pid_t pid;
	pid_t tid;
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	uint64_t tls;
	long call;
	struct gpumon_remote_state *state;
};

/**
 * gpumon_remote_find_code - find the instructions in a copy of code
 * @bytes: copy
 * @size: of it
 * @address: of its first byte in the process
 * @code: out: those that are found are set
 */
void gpumon_remote_find_code(const uint8_t *bytes, size_t size, uint64_t address,
			     struct gpumon_remote_code *code);

/**
 * gpumon_remote_stop - stop a thread
 * @remote: @pid and @tid are set; the rest is out
 *
 * Return: 0; -EAGAIN if it cannot be stopped now; or a negative errno: -ESRCH if it has ended, -EPERM,
 * -ETIMEDOUT if it does not stop (then only the caller's end lets go of it).
 */
int gpumon_remote_stop(struct gpumon_remote *remote);

/* Let a stopped thread go on with the registers that it had. */
void gpumon_remote_resume(struct gpumon_remote *remote);

/**
 * gpumon_remote_save - save all of a thread's state, and block its signals for the calls to come
 * @remote: stopped
 * @code: instructions in it
 *
 * Return: 0, or a negative errno: -ENOSPC without room on its stack.
 */
int gpumon_remote_save(struct gpumon_remote *remote, const struct gpumon_remote_code *code);

/* Make a system call in the thread. Returns its result, -EIO if the thread was lost meanwhile. */
long gpumon_remote_call(struct gpumon_remote *remote, long number, const uint64_t arguments[6]);

/**
 * gpumon_remote_start - have the thread make another thread
 * @remote: saved
 * @page: address of memory for that, GPUMON_REMOTE_SIZE bytes, with @code_page executable
 * @code_page: address of the page for instructions
 * @arguments: address of what the new thread gets, within @page
 * @pthread_create: address of that function in the process
 * @thread: address of 8 bytes for its identification
 *
 * Return: 0, the error of pthread_create(), or a negative errno: -ETIMEDOUT if it did not return in time: it
 * is left alone then, and goes on by itself.
 */
int gpumon_remote_start(struct gpumon_remote *remote, uint64_t page, uint64_t code_page,
			uint64_t arguments, uint64_t pthread_create, uint64_t thread);

/* Seccomp filter @index of the stopped thread. Returns the number of instructions, or a negative errno. */
struct sock_filter;
int gpumon_remote_filter(const struct gpumon_remote *remote, unsigned int index,
			 struct sock_filter *filter);

bool gpumon_remote_read(pid_t pid, uint64_t address, void *to, size_t size);
bool gpumon_remote_write(pid_t pid, uint64_t address, const void *from, size_t size);

/* Memory that the calls need in the process. The last page is for instructions. */
#define GPUMON_REMOTE_PAGE  4096ul
#define GPUMON_REMOTE_SIZE  (32 * GPUMON_REMOTE_PAGE)
#define GPUMON_REMOTE_CODE  (31 * GPUMON_REMOTE_PAGE)
#define GPUMON_REMOTE_STACK (30 * GPUMON_REMOTE_PAGE)

/*
 * What the new thread gets, at the begin of that memory. It takes a file for the library (@memory_file), opens
 * @path and calls @symbol in it. user/record/attach_thread.S.h has the offsets.
 */
enum gpumon_remote_step {
	GPUMON_STEP_BEGUN = 0,
	GPUMON_STEP_FILE = 1,	    /* the library's file is to be filled */
	GPUMON_STEP_ENTERED = 2,    /* the library was called */
	GPUMON_STEP_NO_FILE = 3,    /* memfd_create() failed: @file is the error */
	GPUMON_STEP_NOT_LOADED = 4, /* @text is the loader's */
	GPUMON_STEP_NO_SYMBOL = 5,
};

enum gpumon_remote_answer {
	GPUMON_ANSWER_NONE = 0,
	GPUMON_ANSWER_GO_ON = 1,
	GPUMON_ANSWER_END = 2, /* give the memory back */
};

struct gpumon_remote_arguments {
	uint64_t thread;
	int32_t created; /* result of pthread_create() */
	uint32_t step;	 /* enum gpumon_remote_step */
	uint64_t dlopen;
	uint64_t dlsym;
	uint64_t dlerror;
	uint64_t pthread_detach;
	uint64_t munmap;
	uint64_t memory;
	uint64_t memory_size;
	uint32_t mode;
	uint32_t answer; /* enum gpumon_remote_answer */
	uint32_t memory_file;
	int32_t file;
	int32_t result; /* of @symbol */
	uint32_t waits; /* ms for an answer at most */
	char symbol[32];
	char name[64];
	char path[4096];
	char text[512];
};

#endif /* GPUMON_RECORD_ATTACH_REMOTE_H */
