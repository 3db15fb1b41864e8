// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group amdgpu_registers: reads and writes of a GPU's registers. They are frequent even on an idle
 * GPU: the group is off by default.
 */
#include <linux/ktime.h>

#include "common/event_ring.h"
#include "drivers/groups.h"
#include "internal.h"

/* Registers that share a row. Their numbers are counted in words of 4 bytes. */
#define RANGE_SHIFT 12

enum {
	REGISTER_READS,
	REGISTER_WRITES
};

static const struct gpumon_column register_columns[] = {
	[REGISTER_READS] = GPUMON_COUNTER("reads"),
	[REGISTER_WRITES] = GPUMON_COUNTER("writes"),
};

static struct gpumon_statistics registers = {
	.name = "registers",
	.labels = { "device_id", "range" },
	GPUMON_COLUMNS(register_columns),
	.capacity = 512,
};

static noinline u32 range_learn(u64 key, u32 device_id, u32 range)
{
	char device[GPUMON_LABEL_LEN], label[GPUMON_LABEL_LEN];

	snprintf(device, sizeof(device), "0x%04x", device_id);
	snprintf(label, sizeof(label), "0x%05x000", range);
	return gpumon_row_learn(&registers, key, device, label, NULL);
}

static __always_inline void register_event(struct gpumon_event_context *ctx, u32 device_id, u32 reg,
					   u32 value, unsigned int column,
					   enum gpumon_event_type event)
{
	u32 range = reg >> RANGE_SHIFT;
	u64 key;
	u32 row;

	key = gpumon_key_mix(device_id, range);
	row = gpumon_row_find(&registers, key);
	if (unlikely(row == GPUMON_NONE))
		row = range_learn(key, device_id, range);
	if (gpumon_row_count(ctx, &registers, row, column))
		gpumon_event_ring_now(event, row, reg, value, 0, 0);
}

static GPUMON_TRACEPOINT_BODY(3, probe_read, unsigned int, device_id, u32, reg, u32, value)
{
	register_event(ctx, device_id, reg, value, REGISTER_READS, GPUMON_EVENT_RREG);
}

static GPUMON_TRACEPOINT_BODY(3, probe_write, unsigned int, device_id, u32, reg, u32, value)
{
	register_event(ctx, device_id, reg, value, REGISTER_WRITES, GPUMON_EVENT_WREG);
}

enum {
	ROLE_READ,
	ROLE_WRITE
};

static struct gpumon_probe register_probes[] = {
	GPUMON_TRACEPOINT_AT("amdgpu", "amdgpu_device_rreg", ROLE_READ, probe_read, "u32 u32 u32"),
	GPUMON_TRACEPOINT_AT("amdgpu", "amdgpu_device_wreg", ROLE_WRITE, probe_write,
			     "u32 u32 u32"),
};

static struct gpumon_statistics *const register_statistics[] = {
	&registers,
};

struct gpumon_group gpumon_amdgpu_registers = {
	.name = "amdgpu_registers",
	GPUMON_PROBES(register_probes),
	GPUMON_TABLES(register_statistics),
};
