// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group nvidia_uvm: unified memory, nvidia-uvm.ko. One function of the module is called for faults,
 * migrations and revocations; the processor and the bytes are in a private union, whose layout
 * differs by version.
 */
#include "drivers/groups.h"
#include "internal.h"

/* Values of uvm_perf_event_t, the same from 535 to 580. */
enum {
	EVENT_FAULT = 6,
	EVENT_MIGRATION = 7,
	EVENT_REVOCATION = 8
};

/* A value of uvm_make_resident_cause_t, the same from 535 to 580. */
#define CAUSE_EVICTION 4

/* Processor of an event that does not name one. */
#define PROCESSOR_UNKNOWN (~0ULL)

/* Members of uvm_perf_event_data_t. */
#define UVM_FIELDS(X)                                   \
	X(FAULT_PROCESSOR, "fault.proc_id.val", 4)      \
	X(FAULT_DUPLICATE, "fault.gpu.is_duplicate", 1) \
	X(FAULT_WRITE, "fault.cpu.is_write", 1)         \
	X(FAULT_ADDRESS, "fault.cpu.fault_va", 8)       \
	X(FROM, "migration.src.val", 4)                 \
	X(TO, "migration.dst.val", 4)                   \
	X(BYTES, "migration.bytes", 8)                  \
	X(CAUSE, "migration.cause", 4)                  \
	X(REVOKED_PROCESSOR, "revocation.proc_id.val", 4) \
	X(REVOKED_BYTES, "revocation.bytes", 8)

enum {
#define FIELD_ENUM(_name, ...) FIELD_##_name,
	UVM_FIELDS(FIELD_ENUM)
};

static struct gpumon_field uvm_fields[] = {
#define FIELD(_name, _member, _size) \
	GPUMON_FIELD("nvidia_uvm", "uvm_perf_event_data_t", _member, _size),
	UVM_FIELDS(FIELD)
};

enum {
	ROLE_EVENT
};

#define COUNTER(_name, _needs) GPUMON_COUNTER(_name, .needs = _needs, .roles = BIT(ROLE_EVENT))

enum {
	FAULT_COUNT,
	FAULT_DUPLICATES,
	FAULT_WRITES
};

static const struct gpumon_column fault_columns[] = {
	[FAULT_COUNT] = COUNTER("faults", NULL),
	[FAULT_DUPLICATES] = COUNTER("duplicates", &uvm_fields[FIELD_FAULT_DUPLICATE]),
	[FAULT_WRITES] = COUNTER("cpu_writes", &uvm_fields[FIELD_FAULT_WRITE]),
};

static struct gpumon_statistics uvm_faults = {
	.name = "faults",
	.labels = { "processor" },
	GPUMON_COLUMNS(fault_columns),
	.capacity = 64,
};

enum {
	MIGRATION_COUNT,
	MIGRATION_BYTES,
	MIGRATION_EVICTIONS,
	MIGRATION_EVICTED
};

static const struct gpumon_column migration_columns[] = {
	[MIGRATION_COUNT] = COUNTER("migrations", NULL),
	[MIGRATION_BYTES] = COUNTER("bytes", &uvm_fields[FIELD_BYTES]),
	[MIGRATION_EVICTIONS] = COUNTER("evictions", &uvm_fields[FIELD_CAUSE]),
	[MIGRATION_EVICTED] = COUNTER("evicted_bytes", &uvm_fields[FIELD_CAUSE]),
};

static struct gpumon_statistics uvm_migrations = {
	.name = "migrations",
	.labels = { "from", "to" },
	GPUMON_COLUMNS(migration_columns),
	.capacity = 256,
};

enum {
	REVOCATION_COUNT,
	REVOCATION_BYTES
};

static const struct gpumon_column revocation_columns[] = {
	[REVOCATION_COUNT] = COUNTER("revocations", NULL),
	[REVOCATION_BYTES] = COUNTER("bytes", &uvm_fields[FIELD_REVOKED_BYTES]),
};

static struct gpumon_statistics uvm_revocations = {
	.name = "revocations",
	.labels = { "processor" },
	GPUMON_COLUMNS(revocation_columns),
	.capacity = 64,
};

/* 0 is the CPU, GPUs begin at 1. */
static void processor_name(char name[NVIDIA_NAME_LEN], u64 processor)
{
	if (processor == PROCESSOR_UNKNOWN)
		strscpy(name, GPUMON_DEVICE_UNKNOWN, NVIDIA_NAME_LEN);
	else if (!processor)
		strscpy(name, "cpu", NVIDIA_NAME_LEN);
	else
		snprintf(name, NVIDIA_NAME_LEN, "gpu%llu", processor - 1);
}

static u32 processors_row(struct gpumon_statistics *statistics, u64 one, u64 other)
{
	u64 key = gpumon_key_mix(one + 1, other + 1);
	char from[NVIDIA_NAME_LEN], to[NVIDIA_NAME_LEN];
	u32 row = gpumon_row_find(statistics, key);

	if (likely(row != GPUMON_NONE))
		return row;
	processor_name(from, one);
	processor_name(to, other);
	return gpumon_row_learn(statistics, key, from, to, NULL);
}

/*
 * Reads a field. Sets @value, and leaves it if the layout is unknown. Returns false if the object
 * is not there.
 */
static bool read_field(unsigned int field, const void *data, u64 *value)
{
	return !gpumon_field_known(&uvm_fields[field]) ||
	       gpumon_field_read(&uvm_fields[field], data, value);
}

static u32 uvm_fault_count(const void *data, u64 now)
{
	u64 processor = PROCESSOR_UNKNOWN, duplicate = 0, write = 0, page = GPUMON_WORD_UNKNOWN;
	local64_t *words;
	u32 row;

	if (!read_field(FIELD_FAULT_PROCESSOR, data, &processor))
		return GPUMON_UNREADABLE;
	/* The member is in a union: CPU faults have another one there. */
	if (processor && processor != PROCESSOR_UNKNOWN)
		read_field(FIELD_FAULT_DUPLICATE, data, &duplicate);
	else if (!processor)
		read_field(FIELD_FAULT_WRITE, data, &write);
	row = processors_row(&uvm_faults, processor, PROCESSOR_UNKNOWN);
	if (unlikely(row == GPUMON_NONE))
		return row;
	words = gpumon_row_words(&uvm_faults, row);
	gpumon_row_add(words, FAULT_COUNT, 1);
	gpumon_row_add(words, FAULT_DUPLICATES, !!duplicate);
	gpumon_row_add(words, FAULT_WRITES, !!write);
	if (gpumon_event_ring_on()) {
		if (!processor && gpumon_field_known(&uvm_fields[FIELD_FAULT_ADDRESS]) &&
		    read_field(FIELD_FAULT_ADDRESS, data, &page))
			page &= PAGE_MASK;
		gpumon_event_ring_words(GPUMON_EVENT_UVM_FAULT, now, row, page, 0, 0, 0);
	}
	return row;
}

static u32 count_migration(const void *data, u64 now)
{
	u64 from = PROCESSOR_UNKNOWN, to = PROCESSOR_UNKNOWN, bytes = 0, cause = 0;
	local64_t *words;
	u32 row;

	if (!read_field(FIELD_FROM, data, &from) || !read_field(FIELD_TO, data, &to) ||
	    !read_field(FIELD_BYTES, data, &bytes) || !read_field(FIELD_CAUSE, data, &cause))
		return GPUMON_UNREADABLE;
	row = processors_row(&uvm_migrations, from, to);
	if (unlikely(row == GPUMON_NONE))
		return row;
	words = gpumon_row_words(&uvm_migrations, row);
	gpumon_row_add(words, MIGRATION_COUNT, 1);
	gpumon_row_add(words, MIGRATION_BYTES, bytes);
	if (cause == CAUSE_EVICTION) {
		gpumon_row_add(words, MIGRATION_EVICTIONS, 1);
		gpumon_row_add(words, MIGRATION_EVICTED, bytes);
	}
	if (gpumon_event_ring_on())
		gpumon_event_ring_words(
			cause == CAUSE_EVICTION ? GPUMON_EVENT_UVM_EVICT : GPUMON_EVENT_UVM_MIGRATE,
			now, row, gpumon_field_word(&uvm_fields[FIELD_BYTES], bytes), from, to, 0);
	return row;
}

static u32 count_revocation(const void *data)
{
	u64 processor = PROCESSOR_UNKNOWN, bytes = 0;
	local64_t *words;
	u32 row;

	if (!read_field(FIELD_REVOKED_PROCESSOR, data, &processor) ||
	    !read_field(FIELD_REVOKED_BYTES, data, &bytes))
		return GPUMON_UNREADABLE;
	row = processors_row(&uvm_revocations, processor, PROCESSOR_UNKNOWN);
	if (unlikely(row == GPUMON_NONE))
		return row;
	words = gpumon_row_words(&uvm_revocations, row);
	gpumon_row_add(words, REVOCATION_COUNT, 1);
	gpumon_row_add(words, REVOCATION_BYTES, bytes);
	return row;
}

/*
 * kprobe on uvm_perf_event_notify(events, event, data). Events other than these three, ends of
 * blocks and ranges, are not even counted as seen.
 */
static GPUMON_KPROBE(uvm_event)
{
	u32 event = gpumon_compat_kernel_argument(regs, 1);
	const void *data = (void *)gpumon_compat_kernel_argument(regs, 2);
	u64 now = ktime_get_mono_fast_ns();
	struct gpumon_event_context ctx;
	u32 row;

	if (event < EVENT_FAULT || event > EVENT_REVOCATION)
		return 0;
	if (!gpumon_kprobe_enter(&ctx, kprobe))
		return 0;
	if (event == EVENT_FAULT)
		row = uvm_fault_count(data, now);
	else if (event == EVENT_MIGRATION)
		row = count_migration(data, now);
	else
		row = count_revocation(data);
	if (gpumon_probe_found(&ctx, row))
		gpumon_probe_recorded(&ctx);
	gpumon_probe_leave(&ctx);
	return 0;
}

static struct gpumon_probe uvm_probes[] = {
	GPUMON_KPROBE_AT("nvidia_uvm", "uvm_perf_event_notify", ROLE_EVENT, uvm_event, "* u32 *",
			 "void",
			 .without = "faults and migrations of unified memory are not seen"),
};

static struct gpumon_statistics *const uvm_statistics[] = {
	&uvm_faults,
	&uvm_migrations,
	&uvm_revocations,
};

struct gpumon_group gpumon_nvidia_uvm = {
	.name = "nvidia_uvm",
	GPUMON_PROBES(uvm_probes),
	GPUMON_FIELDS(uvm_fields),
	GPUMON_TABLES(uvm_statistics),
};
