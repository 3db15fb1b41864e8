/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Functions of the layer, in place of those below it. */
#ifndef GPUMON_INJECT_OPENCL_LAYER_WRAPPERS_H
#define GPUMON_INJECT_OPENCL_LAYER_WRAPPERS_H

#include "opencl/completion.h"

/* Each sets its functions in a table that is a copy of those below. */
void inject_opencl_wrap_objects(struct _cl_icd_dispatch *layer);
void inject_opencl_wrap_kernels(struct _cl_icd_dispatch *layer);
void inject_opencl_wrap_buffers(struct _cl_icd_dispatch *layer);
void inject_opencl_wrap_images(struct _cl_icd_dispatch *layer);
void inject_opencl_wrap_svm(struct _cl_icd_dispatch *layer);
void inject_opencl_wrap_waits(struct _cl_icd_dispatch *layer);
void inject_opencl_wrap_extensions(struct _cl_icd_dispatch *layer);

/* Only functions that there are, so that the loader still says that an old driver has none. */
#define INJECT_OPENCL_WRAP(layer, name, with)   \
	do {                                    \
		if ((layer)->name)              \
			(layer)->name = (with); \
	} while (0)

/*
 * The body of a function that enqueues a command, with parameters "queue" and "event".
 * @call: arguments of the function below, with command.event in place of the event
 * @describe: what the command is, by "command" and "result"
 * @blocks: whether the function returns only when the command has ended
 */
#define INJECT_OPENCL_ENQUEUE_OR_WAIT(name, call, describe, blocks)                 \
	do {                                                                        \
		struct inject_opencl_command command;                               \
		cl_int result;                                                      \
                                                                                    \
		inject_opencl_command_begin(&command, queue, event, INJECT_##name); \
		result = inject_opencl.name call;                                   \
		describe;                                                           \
		command.waits = (blocks);                                           \
		inject_opencl_command_end(&command, result);                        \
		if ((blocks) && result == CL_SUCCESS)                               \
			inject_opencl_command_waited(&command, queue);              \
		return result;                                                      \
	} while (0)

#define INJECT_OPENCL_ENQUEUE(name, call, describe) \
	INJECT_OPENCL_ENQUEUE_OR_WAIT(name, call, describe, false)

/* INJECT_OPENCL_ENQUEUE() for a function with a parameter "blocking". */
#define INJECT_OPENCL_TRANSFER(name, call, describe) \
	INJECT_OPENCL_ENQUEUE_OR_WAIT(name, call, describe, blocking)

/* The call has returned, and its command has ended. */
static inline void inject_opencl_command_waited(const struct inject_opencl_command *command,
						cl_command_queue queue)
{
	cl_event event = command->is_recorded ? command->kept.event : NULL;

	inject_opencl_completion_waited(queue, 1, &event);
}

/* The headers of OpenCL have called this type differently since the end of 2023. */
typedef __typeof__(((struct _cl_icd_dispatch *)NULL)
			   ->clCreateCommandQueueWithProperties) inject_opencl_create_queue_fn;

/* clCreateCommandQueueWithProperties, also as an extension of OpenCL 1.2. */
cl_command_queue inject_opencl_create_queue_by(inject_opencl_create_queue_fn below,
					       cl_context context, cl_device_id device,
					       const cl_queue_properties *properties,
					       cl_int *result);

#endif /* GPUMON_INJECT_OPENCL_LAYER_WRAPPERS_H */
