// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <pthread.h>
#include <stdio.h>

#include "channel/clock.h"
#include "channel/intern.h"
#include "channel/process.h"
#include "devices.h"

/* How long the distance between the system's clocks is taken to be what it was. */
#define SAMPLE_NS 1000000000u

/* More queues of a device share the record of the last one. */
#define QUEUES 64

/**
 * struct node - a device by the kernel driver's number
 * @generation: of the capture in which the rest is valid
 * @device: HIP's number, -1 if not known
 * @is_written: its DEVICE record is
 * @queues: bits of those that have records
 * @clock: of its operations
 */
struct node {
	uint32_t generation;
	int32_t device;
	bool is_written;
	uint64_t queues;
	struct inject_clock clock;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct node nodes[INJECT_HIP_NODES_BEYOND];
static uint64_t sampled_ns;

/* The driver's clock counters, by which the library converts, are of this clock. */
static void set_clock(struct node *node)
{
	uint64_t now = inject_now();

	if (now - sampled_ns >= SAMPLE_NS) {
		inject_clock_sample();
		sampled_ns = now;
	}
	inject_clock_name(&node->clock, GPUMON_CLOCK_BOOTTIME);
}

/* Under the lock. */
static void begin_node(struct inject_thread *thread, struct node *node, uint32_t number,
		       uint32_t generation)
{
	const struct gpumon_record_context context = {
		.head = { .type = GPUMON_RECORD_CONTEXT, .size = sizeof(context) },
		.time_ns = inject_now(),
		.id = inject_hip_context_id(number),
		.device = inject_hip_device_id(number),
	};

	node->generation = generation;
	node->device = -1;
	node->is_written = false;
	node->queues = 0;
	inject_append(thread, &context);
}

uint32_t inject_hip_device_node(int32_t device)
{
	uint32_t generation = atomic_load(&inject_session.generation), i;

	if (device < 0 || device >= INJECT_HIP_NODES_BEYOND - INJECT_HIP_NODES)
		return INJECT_HIP_NODES;
	pthread_mutex_lock(&lock);
	for (i = 0; i < INJECT_HIP_NODES; i++)
		if (nodes[i].generation == generation && nodes[i].device == device)
			break;
	pthread_mutex_unlock(&lock);
	return i < INJECT_HIP_NODES ? i : INJECT_HIP_NODES + (uint32_t)device;
}

void inject_hip_device_seen(struct inject_thread *thread, uint32_t number, uint64_t queue,
			    int32_t device)
{
	uint32_t generation = atomic_load(&inject_session.generation);
	const struct gpumon_record_stream stream = {
		.head = { .type = GPUMON_RECORD_STREAM, .size = sizeof(stream) },
		.context = inject_hip_context_id(number),
		.id = inject_hip_stream_id(queue),
	};
	struct node *node = &nodes[number];
	uint64_t bit = 1ull << (queue < QUEUES ? queue : QUEUES - 1);

	pthread_mutex_lock(&lock);
	if (node->generation != generation)
		begin_node(thread, node, number, generation);
	if (device >= 0)
		node->device = device;
	if (!(node->queues & bit)) {
		node->queues |= bit;
		inject_append(thread, &stream);
	}
	set_clock(node);
	inject_clock_write(thread, &node->clock, inject_hip_device_id(number));
	pthread_mutex_unlock(&lock);
}

static uint32_t pci_address(int device)
{
	unsigned int domain, bus, slot, function;
	char text[32] = "";

	if (inject_hip.hipDeviceGetPCIBusId(text, sizeof(text), device) ||
	    sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4)
		return UINT32_MAX;
	return domain << 16 | bus << 8 | slot << 3;
}

static void write_device(struct inject_thread *thread, uint32_t number, int device)
{
	struct gpumon_record_device record = {
		.head = { .type = GPUMON_RECORD_DEVICE, .size = sizeof(record) },
		.id = inject_hip_device_id(number),
		.pci = UINT32_MAX,
		.type = GPUMON_DEVICE_GPU,
		.vendor = inject_intern_string(thread, "AMD"),
	};
	char name[256] = "";
	size_t bytes = 0;

	if (device >= 0) {
		if (inject_hip.hipDeviceGetName(name, sizeof(name) - 1, device))
			name[0] = '\0';
		if (!inject_hip.hipDeviceTotalMem(&bytes, device))
			record.memory_bytes = bytes;
		record.pci = pci_address(device);
	}
	if (!name[0])
		snprintf(name, sizeof(name), "node %u", number);
	record.name = inject_intern_string(thread, name);
	inject_append(thread, &record);
}

static void write_api(struct inject_thread *thread)
{
	char version[32];

	snprintf(version, sizeof(version), "%d.%d.%d", inject_hip.version / 10000000,
		 inject_hip.version / 100000 % 100, inject_hip.version % 100000);
	inject_api_write(thread, GPUMON_API_HIP, "HIP", version, NULL);
}

void inject_hip_devices_write(struct inject_thread *thread, bool at_end)
{
	static uint32_t api_written;
	uint32_t generation = atomic_load(&inject_session.generation), i;
	bool is_due;
	int device;

	if (api_written != generation)
		write_api(thread);
	api_written = generation;
	for (i = 0; i < INJECT_HIP_NODES_BEYOND; i++) {
		pthread_mutex_lock(&lock);
		device = nodes[i].device;
		is_due = nodes[i].generation == generation && !nodes[i].is_written &&
			 (device >= 0 || at_end);
		nodes[i].is_written |= is_due;
		pthread_mutex_unlock(&lock);
		if (is_due)
			write_device(thread, i, device);
	}
}

uint64_t inject_hip_time(uint32_t node, uint64_t time)
{
	uint64_t converted;

	pthread_mutex_lock(&lock);
	converted = inject_clock_convert(&nodes[node].clock, time);
	pthread_mutex_unlock(&lock);
	return converted;
}

uint64_t inject_hip_time_error(uint32_t node)
{
	return nodes[node].clock.error;
}

void inject_hip_devices_forked(void)
{
	pthread_mutex_init(&lock, NULL);
}
