// SPDX-License-Identifier: GPL-2.0-only
/* A mock of nvidia-uvm.ko: its event hook and evictions, called as in the driver; an account. */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "mock_command.h"
#include "mock_nvidia_account.h"
#include "mock_nvidia_uvm.h"

#if __has_attribute(__noipa__)
#define mock_probed noinline __attribute__((__noipa__))
#else
#define mock_probed noinline
#endif

enum mock_uvm_kind {
	MOCK_TOTAL = 1,
	MOCK_PROCESSOR,
	MOCK_DIRECTION,
	MOCK_CAUSE,
	MOCK_PID,
};

enum mock_uvm_counter {
	MOCK_FAULTS,
	MOCK_FAULTS_DUPLICATE,
	MOCK_FAULTS_WRITE,
	MOCK_MIGRATIONS,
	MOCK_MIGRATED_BYTES,
	MOCK_REVOCATIONS,
	MOCK_REVOKED_BYTES,
	MOCK_EVICTIONS,
	MOCK_ROOT_EVICTIONS,
	MOCK_EVICTED_BYTES,
	MOCK_OTHERS,
};

static const char *const mock_uvm_counters[] = {
	[MOCK_FAULTS] = "faults",
	[MOCK_FAULTS_DUPLICATE] = "faults_duplicate",
	[MOCK_FAULTS_WRITE] = "faults_write",
	[MOCK_MIGRATIONS] = "migrations",
	[MOCK_MIGRATED_BYTES] = "migrated_bytes",
	[MOCK_REVOCATIONS] = "revocations",
	[MOCK_REVOKED_BYTES] = "revoked_bytes",
	[MOCK_EVICTIONS] = "evictions",
	[MOCK_ROOT_EVICTIONS] = "root_evictions",
	[MOCK_EVICTED_BYTES] = "evicted_bytes",
	[MOCK_OTHERS] = "others",
};

static struct dentry *mock_dir;
static uvm_va_space_t *mock_va_space;
static uvm_va_block_t mock_block = { .start = 0x7f0000000000, .end = 0x7f00001fffff };
static DEFINE_MUTEX(mock_lock);
/* The owner of the memory, whichever process runs. */
static pid_t mock_tgid;

static void show_kind(struct seq_file *m, unsigned int kind, u64 id)
{
	switch (kind) {
	case MOCK_PROCESSOR:
		seq_printf(m, "processor/%llu/", id);
		break;
	case MOCK_DIRECTION:
		seq_printf(m, "from/%llu/to/%llu/", id >> 16, id & 0xffff);
		break;
	case MOCK_CAUSE:
		seq_printf(m, "cause/%llu/", id);
		break;
	case MOCK_PID:
		seq_printf(m, "pid/%llu/", id);
		break;
	}
}

static const struct mock_names mock_names = {
	.counters = mock_uvm_counters,
	.count = ARRAY_SIZE(mock_uvm_counters),
	.show = show_kind,
};

static void count(enum mock_uvm_kind kind, u64 id, enum mock_uvm_counter counter, s64 n)
{
	mock_account_add(kind, id, counter, n);
}

/**
 * uvm_perf_event_notify() - notify listeners of an event
 * @va_space_events: events of the address space
 * @event_id: kind of event
 * @event_data: data of the event
 *
 * Not traced: its kprobe is a trap, or a jump, as on a kernel without ftrace.
 */
notrace mock_probed void uvm_perf_event_notify(uvm_perf_va_space_events_t *va_space_events,
					       uvm_perf_event_t event_id,
					       uvm_perf_event_data_t *event_data)
{
	u64 direction;

	switch (event_id) {
	case UVM_PERF_EVENT_FAULT:
		count(MOCK_TOTAL, 0, MOCK_FAULTS, 1);
		count(MOCK_PID, mock_tgid, MOCK_FAULTS, 1);
		count(MOCK_PROCESSOR, event_data->fault.proc_id.val, MOCK_FAULTS, 1);
		if (!event_data->fault.proc_id.val && event_data->fault.cpu.is_write)
			count(MOCK_TOTAL, 0, MOCK_FAULTS_WRITE, 1);
		if (event_data->fault.proc_id.val && event_data->fault.gpu.is_duplicate)
			count(MOCK_TOTAL, 0, MOCK_FAULTS_DUPLICATE, 1);
		break;
	case UVM_PERF_EVENT_MIGRATION:
		direction = (u64)event_data->migration.src.val << 16 |
			    event_data->migration.dst.val;
		count(MOCK_TOTAL, 0, MOCK_MIGRATIONS, 1);
		count(MOCK_TOTAL, 0, MOCK_MIGRATED_BYTES, event_data->migration.bytes);
		count(MOCK_PID, mock_tgid, MOCK_MIGRATIONS, 1);
		count(MOCK_PID, mock_tgid, MOCK_MIGRATED_BYTES, event_data->migration.bytes);
		count(MOCK_DIRECTION, direction, MOCK_MIGRATIONS, 1);
		count(MOCK_DIRECTION, direction, MOCK_MIGRATED_BYTES, event_data->migration.bytes);
		count(MOCK_CAUSE, event_data->migration.cause, MOCK_MIGRATIONS, 1);
		count(MOCK_CAUSE, event_data->migration.cause, MOCK_MIGRATED_BYTES,
		      event_data->migration.bytes);
		break;
	case UVM_PERF_EVENT_REVOCATION:
		count(MOCK_TOTAL, 0, MOCK_REVOCATIONS, 1);
		count(MOCK_TOTAL, 0, MOCK_REVOKED_BYTES, event_data->revocation.bytes);
		count(MOCK_PROCESSOR, event_data->revocation.proc_id.val, MOCK_REVOCATIONS, 1);
		break;
	default:
		count(MOCK_TOTAL, 0, MOCK_OTHERS, 1);
		break;
	}
}

static void notify(uvm_perf_event_t event_id, uvm_perf_event_data_t *data)
{
	uvm_perf_event_notify(&mock_va_space->perf_events, event_id, data);
}

static void migrate(u32 src, u32 dst, u64 bytes, u32 cause)
{
	uvm_perf_event_data_t data = {
		.migration = {
			.block = &mock_block,
			.src.val = src,
			.dst.val = dst,
			.address = mock_block.start,
			.bytes = bytes,
			.transfer_mode = UVM_VA_BLOCK_TRANSFER_MODE_MOVE,
			.cause = cause,
		},
	};

	notify(UVM_PERF_EVENT_MIGRATION, &data);
}

/**
 * uvm_va_block_evict_chunks() - move a block's part of a root chunk to the CPU
 * @va_block: block
 * @gpu: its current GPU
 * @root_chunk: root chunk; in the mock, its address is the number of bytes
 * @tracker: tracker of the copies
 *
 * Return: NV_OK.
 */
mock_probed NV_STATUS uvm_va_block_evict_chunks(uvm_va_block_t *va_block, uvm_gpu_t *gpu,
						uvm_gpu_chunk_t *root_chunk, uvm_tracker_t *tracker)
{
	count(MOCK_TOTAL, 0, MOCK_EVICTIONS, 1);
	count(MOCK_TOTAL, 0, MOCK_EVICTED_BYTES, root_chunk->address);
	migrate(gpu->id.val, 0, root_chunk->address, UVM_MAKE_RESIDENT_CAUSE_EVICTION);
	return NV_OK;
}

static mock_probed NV_STATUS evict_root_chunk(uvm_pmm_gpu_t *pmm, uvm_gpu_root_chunk_t *root_chunk,
					      uvm_pmm_context_t pmm_context)
{
	uvm_tracker_t tracker = {};

	count(MOCK_TOTAL, 0, MOCK_ROOT_EVICTIONS, 1);
	return uvm_va_block_evict_chunks(pmm->block, pmm->gpu, &root_chunk->chunk, &tracker);
}

/**
 * struct mock_uvm_command - a line of the control file
 * @work: work item, since the driver serves GPU faults in a separate thread
 * @name: command
 * @number: its arguments
 * @numbers: number of arguments
 * @error: its result
 */
struct mock_uvm_command {
	struct work_struct work;
	char *name;
	u64 number[5];
	unsigned int numbers;
	int error;
};

static void gpu_fault(struct mock_uvm_command *c)
{
	uvm_perf_event_data_t data = {};

	data.fault.block = &mock_block;
	data.fault.proc_id.val = c->number[1];
	data.fault.gpu.batch_id = 1;
	data.fault.gpu.is_duplicate = c->number[2];
	notify(UVM_PERF_EVENT_FAULT, &data);
}

static void cpu_fault(struct mock_uvm_command *c)
{
	uvm_perf_event_data_t data = {};

	data.fault.block = &mock_block;
	data.fault.cpu.fault_va = mock_block.start;
	data.fault.cpu.is_write = c->number[1];
	notify(UVM_PERF_EVENT_FAULT, &data);
}

static void revoke(struct mock_uvm_command *c)
{
	uvm_perf_event_data_t data = {};

	data.revocation.block = &mock_block;
	data.revocation.proc_id.val = c->number[1];
	data.revocation.bytes = c->number[2];
	data.revocation.old_prot = UVM_PROT_READ_WRITE;
	notify(UVM_PERF_EVENT_REVOCATION, &data);
}

static void evict(struct mock_uvm_command *c)
{
	uvm_gpu_root_chunk_t chunk = { .chunk.address = c->number[2] };
	uvm_gpu_t gpu = { .id.val = c->number[1] };
	uvm_pmm_gpu_t pmm = { .gpu = &gpu, .block = &mock_block };

	evict_root_chunk(&pmm, &chunk, PMM_CONTEXT_DEFAULT);
}

static void other(struct mock_uvm_command *c)
{
	uvm_perf_event_data_t data = { .block_destroy.block = &mock_block };

	notify(c->number[1], &data);
}

static void run_migrate(struct mock_uvm_command *c)
{
	migrate(c->number[1], c->number[2], c->number[3], c->number[4]);
}

static const struct {
	const char *name;
	void (*function)(struct mock_uvm_command *command);
	unsigned int numbers;
} mock_commands[] = {
	{ "fault-gpu", gpu_fault, 3 }, { "fault-cpu", cpu_fault, 2 }, { "migrate", run_migrate, 5 },
	{ "revoke", revoke, 3 },       { "evict", evict, 3 },	      { "other", other, 2 },
};

static void run(struct mock_uvm_command *c)
{
	unsigned int i;
	u64 n;

	c->error = -EINVAL;
	for (i = 0; i < ARRAY_SIZE(mock_commands); i++) {
		if (strcmp(c->name, mock_commands[i].name))
			continue;
		if (c->numbers != mock_commands[i].numbers)
			return;
		for (n = 0; n < c->number[0]; n++)
			mock_commands[i].function(c);
		c->error = 0;
	}
}

static void run_work(struct work_struct *work)
{
	run(container_of(work, struct mock_uvm_command, work));
}

static int execute(char *line)
{
	struct mock_uvm_command c = {};
	char *word;
	int err;

	c.name = strsep(&line, " ");
	while ((word = strsep(&line, " "))) {
		if (c.numbers == ARRAY_SIZE(c.number))
			return -EINVAL;
		err = kstrtou64(word, 0, &c.number[c.numbers++]);
		if (err)
			return err;
	}
	mutex_lock(&mock_lock);
	mock_va_space->va_space_mm.mm = current->mm;
	mock_tgid = task_tgid_nr(current);
	if (!strcmp(c.name, "fault-cpu")) {
		run(&c);
	} else {
		INIT_WORK_ONSTACK(&c.work, run_work);
		schedule_work(&c.work);
		flush_work(&c.work);
		destroy_work_on_stack(&c.work);
	}
	mock_va_space->va_space_mm.mm = NULL;
	mutex_unlock(&mock_lock);
	return c.error;
}

MOCK_COMMAND_FOPS(control, execute);

static int __init uvm_init_entry(void)
{
	int err;

	mock_va_space = vzalloc(sizeof(*mock_va_space));
	if (!mock_va_space)
		return -ENOMEM;
	mock_va_space->perf_events.va_space = mock_va_space;
	mock_dir = debugfs_create_dir("mock_nvidia_uvm", NULL);
	err = mock_account_init(mock_dir, &mock_names);
	if (err) {
		debugfs_remove_recursive(mock_dir);
		vfree(mock_va_space);
		return err;
	}
	debugfs_create_file("control", 0200, mock_dir, NULL, &control_fops);
	return 0;
}

static void __exit uvm_exit_entry(void)
{
	debugfs_remove_recursive(mock_dir);
	mock_account_exit();
	vfree(mock_va_space);
}

module_init(uvm_init_entry);
module_exit(uvm_exit_entry);

MODULE_DESCRIPTION("Mock of NVIDIA's unified memory driver, for gpumon's tests");
MODULE_AUTHOR("The gpumon authors");
MODULE_LICENSE("GPL");
