/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The program's objects, by their handles (base/handles.h), and their records. */
#ifndef GPUMON_INJECT_ZE_OBJECTS_H
#define GPUMON_INJECT_ZE_OBJECTS_H

#include <pthread.h>

#include "channel/clock.h"
#include "channel/operation.h"
#include "ze.h"

/**
 * struct inject_ze_name - name of a kernel; never goes
 * @id: string id, for inject_string_again()
 * @text: cut to this length
 */
struct inject_ze_name {
	_Atomic uint64_t id;
	char text[248];
};

/**
 * struct inject_ze_device - a device
 * @handle: of the program
 * @driver: that it is of, NULL before a context with it was seen
 * @id: in the capture
 * @generation: of the session in which its records were written
 * @hertz: of its clock, 0 if it has none
 * @time_mask: bits of its clock
 * @kernel_mask: bits of times of events
 * @clock: from its clock to ours
 * @measured: number of the look in which it was asked for its time
 * @now_cycles: its time then
 * @now_ns: ours
 */
struct inject_ze_device {
	ze_device_handle_t handle;
	ze_driver_handle_t driver;
	uint32_t id;
	_Atomic uint32_t generation;
	uint64_t hertz;
	uint64_t time_mask;
	uint64_t kernel_mask;
	struct inject_clock clock;
	uint64_t measured;
	uint64_t now_cycles;
	uint64_t now_ns;
};

struct inject_ze_event;
struct inject_ze_pool;
struct inject_ze_fence;

/**
 * struct inject_ze_context - a context
 * @handle: of the program
 * @driver: of it
 * @id: in the capture
 * @lock: for what follows
 * @pools: of events, which this library made in it
 * @free: events of these pools that are not in use
 * @refused: the driver makes no such events
 * @next: of all
 */
struct inject_ze_context {
	ze_context_handle_t handle;
	ze_driver_handle_t driver;
	uint32_t id;
	pthread_mutex_t lock;
	struct inject_ze_pool *pools;
	struct inject_ze_event *free;
	bool refused;
	struct inject_ze_context *next;
};

/**
 * struct inject_ze_queue - a command queue, or an immediate command list
 * @device: of it
 * @context: of it
 * @id: in the capture
 * @generation: of the session in which its records were written
 * @handle: NULL of a list
 * @is_synchronous: what is appended or executed has ended when the call returns
 * @lock: for what follows
 * @fences: that this library made for it and that are not in use
 * @next: of all
 */
struct inject_ze_queue {
	struct inject_ze_device *device;
	struct inject_ze_context *context;
	uint32_t id;
	_Atomic uint32_t generation;
	ze_command_queue_handle_t handle;
	bool is_synchronous;
	pthread_mutex_t lock;
	struct inject_ze_fence *fences;
	struct inject_ze_queue *next;
};

/**
 * struct inject_ze_their_event - an event of the program
 * @is_timed: it says times
 * @is_in_list: a command list signals it
 * @waited: commands that wait for it here
 * @version: changes when it is destroyed
 */
struct inject_ze_their_event {
	bool is_timed;
	_Atomic bool is_in_list;
	_Atomic uint32_t waited;
	_Atomic uint32_t version;
};

/**
 * struct inject_ze_command - a command, as it was appended
 * @name: of a kernel
 * @signal: event that says its times, NULL for none
 * @own: the same if it is this library's
 * @theirs: the same if it is the program's
 * @version: of @theirs
 * @grid: groups of a kernel
 * @local: of a group
 * @bytes: of a copy or fill
 * @value: of a fill
 * @record: GPUMON_RECORD_KERNEL, _COPY or _SET
 * @from: enum gpumon_memory_place
 * @to: likewise
 */
struct inject_ze_command {
	struct inject_ze_name *name;
	ze_event_handle_t signal;
	struct inject_ze_event *own;
	struct inject_ze_their_event *theirs;
	uint32_t version;
	uint32_t grid[3];
	uint32_t local[3];
	uint64_t bytes;
	uint32_t value;
	uint16_t record;
	uint8_t from;
	uint8_t to;
};

/**
 * struct inject_ze_node - a command in a list that is executed later, maybe many times
 * @command: what it is
 * @id: in the capture
 */
struct inject_ze_node {
	struct inject_ze_command command;
	uint64_t id;
};

/**
 * struct inject_ze_list - a command list
 * @device: of it
 * @context: of it
 * @queue: of an immediate one, otherwise NULL
 * @spare: memory for the @queue of the next list with this handle: nothing pending has it
 * @id: in the capture: it is a graph
 * @nodes: of one that is not immediate
 * @node_count: of @nodes
 * @node_room: of @nodes
 * @executions: so many times it was executed since it was made or emptied
 */
struct inject_ze_list {
	struct inject_ze_device *device;
	struct inject_ze_context *context;
	struct inject_ze_queue *queue;
	struct inject_ze_queue *spare;
	uint32_t id;
	struct inject_ze_node *nodes;
	size_t node_count;
	size_t node_room;
	_Atomic uint64_t executions;
};

/**
 * struct inject_ze_kernel - a kernel
 * @name: NULL before it is known
 * @local: size of a group
 */
struct inject_ze_kernel {
	struct inject_ze_name *name;
	uint32_t local[3];
};

/* NULL for an object that was not seen. */
struct inject_ze_context *inject_ze_context_find(ze_context_handle_t handle);
struct inject_ze_list *inject_ze_list_find(ze_command_list_handle_t handle);
struct inject_ze_queue *inject_ze_queue_find(ze_command_queue_handle_t handle);
struct inject_ze_kernel *inject_ze_kernel_find(ze_kernel_handle_t handle);
struct inject_ze_their_event *inject_ze_their_event_find(ze_event_handle_t handle);

/* The program made it. */
void inject_ze_context_made(ze_context_handle_t handle, ze_driver_handle_t driver);
void inject_ze_queue_made(ze_command_queue_handle_t handle, ze_context_handle_t context,
			  ze_device_handle_t device, const ze_command_queue_desc_t *description);
/* @description: of the queue of an immediate list, otherwise NULL */
void inject_ze_list_made(ze_command_list_handle_t handle, ze_context_handle_t context,
			 ze_device_handle_t device, const ze_command_queue_desc_t *description);
void inject_ze_kernel_made(ze_kernel_handle_t handle, const char *name);
void inject_ze_event_pool_made(ze_event_pool_handle_t handle, bool is_timed);
void inject_ze_their_event_made(ze_event_handle_t handle, ze_event_pool_handle_t pool);

/* Asks for the name of a kernel whose creation was not seen. NULL where there is no room. */
struct inject_ze_kernel *inject_ze_kernel_learn(ze_kernel_handle_t handle);

/* A node for the next command of a list; NULL where there is no memory. */
struct inject_ze_node *inject_ze_node_add(struct inject_ze_list *list);

/* Memory that is never given back; all 0. */
void *inject_ze_memory(size_t size);

/* Called in a child after fork. */
void inject_ze_objects_forked(void);

/* Records of drivers, devices, contexts and queues: at the first use in a capture. */

/* Writes the records of a queue, its context, device and platform. @thread: caller, within */
void inject_ze_records_queue(struct inject_thread *thread, struct inject_ze_queue *queue);

#endif /* GPUMON_INJECT_ZE_OBJECTS_H */
