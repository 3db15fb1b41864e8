/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Parts of the program that uses OpenCL in all the ways that the tests need. */
#ifndef GPUMON_TESTS_OPENCL_PROGRAM_H
#define GPUMON_TESTS_OPENCL_PROGRAM_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

/* Of begin(). The kernel does nothing. */
extern cl_context context;
extern cl_command_queue queue;
extern cl_program program;
extern cl_kernel empty;

void begin(void);

/* Ends the program unless @result is 0. @what: said then. */
void need(cl_int result, const char *what);

#define NEED(call) need(call, #call)

/* With OWN_PROFILING set, the program asks its queues for times. */
cl_command_queue make_queue(cl_command_queue_properties properties);

void launch_empty(cl_command_queue on);

/* What "program MODE NUMBER" runs. */
void mode_exit(long number);
void mode_until_killed(long number);

/* --- program_cuda.c */

void begin_cuda(void);
void mode_both(long number);
void mode_cuda_first(long number);
void mode_cuda_while_attached(long number);
void mode_cuda_amid_attach(long number);
void mode_opencl_amid_end(long number);
void mode_opencl_amid_cuda(long number);
void mode_child_of_cuda(long number);

/* --- program_ends.c */

/* "program ends WAIT END": by the last two words. Does not return. */
void mode_ends(char **argv);

/* --- program_times.c */

void mode_known(long number);
void mode_overlap(long number);
void mode_bench(long number);
void mode_bench_flag(long number);
void mode_latency(long number);

#endif /* GPUMON_TESTS_OPENCL_PROGRAM_H */
