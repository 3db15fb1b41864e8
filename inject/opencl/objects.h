/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The program's objects, by their handles (base/handles.h), and their records. */
#ifndef GPUMON_INJECT_OPENCL_OBJECTS_H
#define GPUMON_INJECT_OPENCL_OBJECTS_H

#include "channel/clock.h"
#include "opencl.h"

/**
 * struct inject_opencl_device - a device
 * @handle: of the program
 * @id: in the capture
 * @generation: of the session in which its records were written
 * @clock: its own
 */
struct inject_opencl_device {
	cl_device_id handle;
	uint32_t id;
	_Atomic uint32_t generation;
	struct inject_clock clock;
};

struct inject_opencl_waiting;

/* Properties of a queue that are kept as the program gave them: pairs and a 0. */
#define INJECT_OPENCL_PROPERTIES 17

/**
 * struct inject_opencl_queue - a queue
 * @device: that it belongs to
 * @context: id in the capture
 * @id: in the capture
 * @generation: of the session in which its records were written
 * @in_order: its commands end in the order in which they were enqueued
 * @is_timed: it measures times, because of the program or because of us
 * @is_changed: it measures times because of us, which the program does not see
 * @waiting: its commands whose times have not been asked for, the oldest first (completion.c)
 * @waiting_end: where the next one goes
 * @is_busy: it is in the list of queues that have such commands
 * @next_busy: in that list
 * @property_count: of @properties, with the 0 at their end
 * @properties: as the program gave them
 */
struct inject_opencl_queue {
	struct inject_opencl_device *device;
	uint32_t context;
	uint32_t id;
	_Atomic uint32_t generation;
	bool in_order;
	bool is_timed;
	bool is_changed;
	struct inject_opencl_waiting *waiting;
	struct inject_opencl_waiting **waiting_end;
	bool is_busy;
	struct inject_opencl_queue *next_busy;
	unsigned int property_count;
	cl_queue_properties properties[INJECT_OPENCL_PROPERTIES];
};

/**
 * struct inject_opencl_kernel - a kernel
 * @id: string id of its name, with the generation that it is of in the upper half
 * @name: cut to this length
 */
struct inject_opencl_kernel {
	_Atomic uint64_t id;
	char name[256];
};

/**
 * struct inject_opencl_buffer - a command buffer
 * @id: in the capture
 * @queue: first one that it was created for
 * @platform: of the extension's functions
 * @kernels: that are in it
 * @is_cut: there was no room for the name of one
 * @names: of these, each once, with ", " between
 */
struct inject_opencl_buffer {
	uint32_t id;
	cl_command_queue queue;
	const void *platform;
	unsigned int kernels;
	bool is_cut;
	char names[256];
};

/* NULL for an object that was not seen. */
struct inject_opencl_buffer *inject_opencl_buffer_find(cl_command_buffer_khr handle);
struct inject_opencl_queue *inject_opencl_queue_find(cl_command_queue handle);
struct inject_opencl_kernel *inject_opencl_kernel_find(cl_kernel handle);

/* A new queue, device or command buffer: an entry for it, with old contents or 0. NULL where there is no room. */
struct inject_opencl_queue *inject_opencl_queue_add(cl_command_queue handle);
struct inject_opencl_device *inject_opencl_device_add(cl_device_id handle);
struct inject_opencl_buffer *inject_opencl_buffer_add(cl_command_buffer_khr handle);

/* Asks for the name of a kernel whose creation was not seen. NULL where there is no room. */
struct inject_opencl_kernel *inject_opencl_kernel_learn(cl_kernel handle);

/* The kernel is one of the commands of a buffer. */
void inject_opencl_buffer_add_kernel(struct inject_opencl_buffer *buffer, cl_kernel handle);

/* A number for a context, the same for each call until inject_opencl_context_forget(). 0: no room. */
uint32_t inject_opencl_context_number(cl_context handle);
void inject_opencl_context_forget(cl_context handle);

/* Memory that was mapped, until it is unmapped, so that its size is known then. */
void inject_opencl_mapped_add(const void *pointer, uint64_t bytes);
uint64_t inject_opencl_mapped_bytes(const void *pointer);

/* Called in a child after fork. */
void inject_opencl_objects_forked(void);

/* Records of platforms, devices, contexts and queues: at the first use in a capture. */

/* Writes the records of a queue, its context, device and platform. @thread: caller, within */
void inject_opencl_records_queue(struct inject_thread *thread, struct inject_opencl_queue *queue);

#endif /* GPUMON_INJECT_OPENCL_OBJECTS_H */
