// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Libraries with the names and symbols of CUDA's runtime and driver, HIP and Level Zero. Their
 * functions only call each other like the real ones: the runtime calls the driver. One source, with
 * -DSTANDIN_CUDART, _CUDA, _HIP or _ZE. With -DSTANDIN_THROUGH the runtime calls the driver through
 * another library, which is built with -DSTANDIN_MIDDLE.
 */
#include <stdatomic.h>
#include <time.h>

#include "standin.h"

static __attribute__((unused)) void wait_a_little(void)
{
	struct timespec a_little = { .tv_nsec = 20000 };

	nanosleep(&a_little, NULL);
}

static volatile unsigned long calls;
static __attribute__((unused)) atomic_ulong locked;

#define FUNCTION(name) __attribute__((noinline)) void name(void)

#define LEAF(name)       \
	FUNCTION(name)   \
	{                \
		calls++; \
	}

/* Begins with an instruction that the kernel cannot execute out of line, so it has no uprobe. */
#ifdef __aarch64__
#define LEAF_LOCKED(name)                              \
	asm(".text\n"                                  \
	    ".globl " #name "\n"                       \
	    ".type " #name ", %function\n" #name ":\n" \
	    ".cfi_startproc\n"                         \
	    "ldxr x9, [sp]\n"                          \
	    "clrex\n"                                  \
	    "ret\n"                                    \
	    ".cfi_endproc\n"                           \
	    ".size " #name ", .-" #name "\n");
#else
#define LEAF_LOCKED(name)                     \
	FUNCTION(name)                        \
	{                                     \
		atomic_fetch_add(&locked, 1); \
	}
#endif

#define LEAF_WAITING(name)       \
	FUNCTION(name)           \
	{                        \
		calls++;         \
		wait_a_little(); \
	}

#ifdef STANDIN_THROUGH
#define CALL_DRIVER(driver) through_middle(driver)
#else
#define CALL_DRIVER(driver) driver()
#endif

/* The call must not be the last instruction, or it would be a jump. */
#define OVER(name, driver)           \
	FUNCTION(name)               \
	{                            \
		CALL_DRIVER(driver); \
		calls++;             \
	}

/* Its return is probed, too, while it makes another call. */
#define OVER_WAITING(name, driver) \
	FUNCTION(name)             \
	{                          \
		driver();          \
		wait_a_little();   \
	}

#ifdef STANDIN_MIDDLE
/* Two frames of different sizes. */
static __attribute__((noinline)) void middle_inner(void (*function)(void))
{
	volatile char room[200] = { 0 };

	function();
	calls += (unsigned long)room[7];
}

__attribute__((noinline)) void through_middle(void (*function)(void))
{
	volatile char room[24] = { 0 };

	middle_inner(function);
	calls += (unsigned long)room[3];
}
#endif

#ifdef STANDIN_CUDA
LEAF(cuLaunchKernel)
LEAF(cuLaunchKernel_ptsz)
LEAF(cuLaunchKernelEx)
LEAF(cuLaunchCooperativeKernel)
LEAF(cuGraphLaunch)
LEAF(cuMemcpyAsync)
LEAF(cuMemsetD8Async)
LEAF_LOCKED(cuMemsetD16Async)
LEAF_WAITING(cuMemcpyHtoD_v2)
LEAF_WAITING(cuStreamSynchronize)
OVER_WAITING(cuCtxSynchronize, cuStreamSynchronize)
LEAF_WAITING(cuEventSynchronize)
/* Not probed. */
LEAF(cuDeviceGetCount)
#endif

#ifdef STANDIN_CUDART
OVER(cudaLaunchKernel, cuLaunchKernel)
OVER(cudaLaunchKernel_ptsz, cuLaunchKernel_ptsz)
OVER(cudaLaunchKernelExC, cuLaunchKernelEx)
OVER(cudaLaunchCooperativeKernel, cuLaunchCooperativeKernel)
OVER(cudaGraphLaunch, cuGraphLaunch)
OVER(cudaMemcpyAsync, cuMemcpyAsync)
OVER(cudaMemsetAsync, cuMemsetD8Async)
OVER(cudaMemcpy, cuMemcpyHtoD_v2)
OVER(cudaStreamSynchronize, cuStreamSynchronize)
OVER(cudaDeviceSynchronize, cuCtxSynchronize)
OVER(cudaEventSynchronize, cuEventSynchronize)
OVER(cudaGetDeviceCount, cuDeviceGetCount)
/* A function that is not probed but launches: only the driver has a hit. */
OVER(cudaNotKnownToAnybody, cuLaunchKernel)

/* As in the runtime of nvcc 13: it jumps. */
#if defined(__x86_64__)
__asm__(".globl __cudaLaunchKernel\n.type __cudaLaunchKernel, @function\n__cudaLaunchKernel:\n"
	"push %rbp\nmov %rsp, %rbp\npop %rbp\njmp cudaLaunchKernel_here\n"
	".size __cudaLaunchKernel, . - __cudaLaunchKernel\n"
	".set cudaLaunchKernel_here, cudaLaunchKernel\n"
	/* A jump that is only visible when executed. */
	".globl __cudaLaunchKernel_ptsz\n.type __cudaLaunchKernel_ptsz, @function\n"
	"__cudaLaunchKernel_ptsz:\n"
	"lea cudaLaunchKernel_ptsz_here(%rip), %rax\njmp *%rax\n"
	".size __cudaLaunchKernel_ptsz, . - __cudaLaunchKernel_ptsz\n"
	".set cudaLaunchKernel_ptsz_here, cudaLaunchKernel_ptsz\n");
#elif defined(__aarch64__)
__asm__(".globl __cudaLaunchKernel\n.type __cudaLaunchKernel, @function\n__cudaLaunchKernel:\n"
	"hint #34\nb cudaLaunchKernel_here\n" /* bti c */
	".size __cudaLaunchKernel, . - __cudaLaunchKernel\n"
	".set cudaLaunchKernel_here, cudaLaunchKernel\n"
	".globl __cudaLaunchKernel_ptsz\n.type __cudaLaunchKernel_ptsz, @function\n"
	"__cudaLaunchKernel_ptsz:\n"
	"adrp x16, cudaLaunchKernel_ptsz_here\n"
	"add x16, x16, :lo12:cudaLaunchKernel_ptsz_here\nbr x16\n"
	".size __cudaLaunchKernel_ptsz, . - __cudaLaunchKernel_ptsz\n"
	".set cudaLaunchKernel_ptsz_here, cudaLaunchKernel_ptsz\n");
#else
void __cudaLaunchKernel(void)
{
	cudaLaunchKernel();
}

void __cudaLaunchKernel_ptsz(void)
{
	cudaLaunchKernel_ptsz();
}
#endif
#endif

#ifdef STANDIN_HIP
static __attribute__((noinline)) void launch_inside(void)
{
	calls++;
}

OVER(hipModuleLaunchKernel, launch_inside)
/* Calls its own exported function: one launch. */
OVER(hipLaunchKernel, hipModuleLaunchKernel)
LEAF(hipMemcpyAsync)
LEAF_WAITING(hipStreamSynchronize)
LEAF_WAITING(hipDeviceSynchronize)
#endif

#ifdef STANDIN_ZE
LEAF(zeCommandListAppendLaunchKernel)
LEAF(zeCommandListAppendMemoryCopy)
LEAF_WAITING(zeCommandQueueSynchronize)
#endif
