/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Parts of the program that uses CUDA in all the ways that the tests need. */
#ifndef GPUMON_TESTS_INJECT_PROGRAM_H
#define GPUMON_TESTS_INJECT_PROGRAM_H

#include <stdbool.h>

#include <cuda_runtime_api.h>

/* Not inlined or merged: each must be a separate caller. */
#define PLACE __attribute__((noinline, noclone, noipa))

/* ThreadSanitizer calls these before it is ready for code that it has instrumented. */
#define BEFORE_SANITIZER __attribute__((no_sanitize_thread))

PLACE void launch_here(const char *kernel, cudaStream_t stream);

/* A call of one of seven kinds, by @i. */
void mixed(unsigned int i);

void pause_ms(unsigned int ms);

/* Called by name from generated code. */
void launch_from_jit(void);

/*
 * Like a runtime with a JIT compiler: code in anonymous memory, and a line that names it. Launches
 * @count times, with @pause ms in between. False if that is not possible here.
 */
bool run_jit(unsigned int count, unsigned int pause);

/* One after the other, @threads launch @count times, and are cancelled within one more launch. */
void run_cancelled(unsigned int threads, unsigned int count);

/* A child that the system call makes launches @count times. False if that failed. */
bool run_clone(unsigned int count);

/* Launches @count times, and in a handler of SIGUSR1, which it gets in the end, and by MOCK_SIGNAL. */
void run_handler(unsigned int count);

/* CUDA is initialised by a thread that is cancelled. False if it was not. Then launches @count times. */
bool run_cancelled_init(unsigned int count);

/* Called where the library is within a call of the program's. */
void cancel_in_library(void);

/* What the library's threads are held with: they stay there as long as it is set. */
extern _Atomic bool hold_sockets, hold_loader;

/* Waits until one of them is held. False if that takes too long. */
bool is_library_held(void);

/* These return an exit status. @hold: where the library is held meanwhile, or NULL. */
int take_descriptors(unsigned int count, _Atomic bool *hold);
int fork_with_loader(const char *plugin);
int fork_namesakes(void);
int fork_while_listening(void);
int fork_in_child(void);

/* A child that launches without exec, and one with: "loop" of @program. */
void run_fork(unsigned int count, const char *program);

/* As CUDA does in a child, or as another API does. */
void initialize_again(void);

#endif /* GPUMON_TESTS_INJECT_PROGRAM_H */
