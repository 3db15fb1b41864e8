// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Metrics of GPUs in a profile: sums over the samples of each, and by the kernel that ran alone in a
 * sample. The times of samples are taken in the first pass, in the second one what ran in them, and in a
 * further one their values.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "profile_internal.h"

/* Samples whose kernel is looked for; 32 bytes each. */
#define SLOTS_MAX (1u << 23)

/*
 * Pairs of a sample and an operation in it. Operations of a stream follow each other, so that these are some for each
 * sample, unless a capture is broken: then samples are not given to kernels.
 */
#define STEPS_MAX (1ull << 30)

/* Parts of the time: of one band, and of all bands together. */
#define BINS_MAX     500
#define BINS_MIN     50
#define BINS_ALL_MAX 6000

/**
 * struct gpumon_metric_slot - a sample, without its values
 * @busy_ns: time in it in which operations ran
 * @row: of the kernel that ran in it + 1; 0: none did, UINT32_MAX: several, or of several processes
 * @process: whose kernel it is
 */
struct gpumon_metric_slot {
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t busy_ns;
	uint32_t row;
	uint32_t process;
};

#define SEVERAL UINT32_MAX

/**
 * struct gpumon_metric_source - a device of a process
 * @gpu: number in @gpus + 1; 0: it has no samples
 * @of: for outputs, of one with samples or sets
 */
struct gpumon_metric_source {
	uint32_t process;
	uint32_t device;
	uint32_t gpu;
	bool has_metrics;
	uint64_t beyond;
	struct gpumon_metric_slot *slots; /* until GPUs are known */
	uint32_t slot_count;
	uint32_t slot_room;
	struct gpumon_metric_device of;
};

/* A GPU with samples, in order and without those that overlap. @recorded: when all of its users were */
struct gpumon_metric_gpu {
	struct gpumon_gpu identity;
	struct gpumon_metric_slot *slots;
	uint32_t slot_count;
	struct gpumon_windows recorded;
};

/* --- first pass */

static struct gpumon_metric_source *find_source(struct gpumon_metrics_growing *metrics,
						uint32_t process, uint32_t device)
{
	const struct gpumon_key key = { { process, device } };
	struct gpumon_metric_source *source = GPUMON_KEYS_VALUE(
		&metrics->source_keys, &key, metrics->sources, metrics->source_room, NULL);

	source->process = process;
	source->device = device;
	return source;
}

static void add_set(struct gpumon_metrics_growing *metrics, uint32_t process,
		    const struct gpumon_record *record)
{
	struct gpumon_record_metric_set set;
	struct gpumon_metric_source *source;

	gpumon_record_copy(&set, sizeof(set), record);
	source = find_source(metrics, process, set.device);
	source->has_metrics = true;
	source->of.interval_ns = set.interval_ns;
	gpumon_metric_sets_add(&metrics->sets, process, record);
}

void gpumon_metrics_look(struct gpumon_profile *profile, uint32_t number,
			 const struct gpumon_record *record)
{
	struct gpumon_metrics_growing *metrics = &profile->metrics;
	struct gpumon_record_metric_sample sample;
	struct gpumon_metric_source *source;
	struct gpumon_metric_slot *slot;

	if (record->type == GPUMON_RECORD_METRIC_SET)
		add_set(metrics, number, record);
	if (record->type != GPUMON_RECORD_METRIC_SAMPLE)
		return;
	gpumon_record_copy(&sample, sizeof(sample), record);
	source = find_source(metrics, number, sample.device);
	source->has_metrics = true;
	if (sample.end_ns <= sample.start_ns)
		return;
	if (metrics->slot_count == SLOTS_MAX) {
		source->beyond++;
		return;
	}
	metrics->slot_count++;
	slot = GPUMON_ARRAY_ADD(source->slots, source->slot_count, source->slot_room);
	slot->start_ns = sample.start_ns;
	slot->end_ns = sample.end_ns;
}

/* --- between the passes */

static struct gpumon_gpu identity_of(const struct gpumon_profile *profile, uint32_t process,
				     uint32_t device)
{
	const struct gpumon_tables_process *of = &profile->captures.tables.processes[process];

	return gpumon_gpu_of(device, gpumon_tables_device(of, device), of->record.boot_id,
			     gpumon_tables_string(of, of->record.host));
}

/* Number + 1 of a GPU with samples, 0 if it is none. Devices without an identity are told apart by process. */
static uint32_t find_gpu(struct gpumon_profile *profile, uint32_t process, uint32_t device)
{
	struct gpumon_metrics_growing *metrics = &profile->metrics;
	struct gpumon_gpu identity = identity_of(profile, process, device);

	for (uint32_t i = 0; i < metrics->source_keys.used; i++) {
		const struct gpumon_metric_source *source = &metrics->sources[i];

		if (source->gpu && source->process == process && source->device == device)
			return source->gpu;
	}
	for (uint32_t i = 0; i < metrics->gpu_count; i++) {
		if (gpumon_gpu_same(&metrics->gpus[i].identity, &identity))
			return i + 1;
	}
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct gpumon_metric_slot *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

/* Sort them, and leave out those that overlap others: what ran in which of them is not clear. */
static void order_slots(struct gpumon_metric_gpu *gpu)
{
	struct gpumon_metric_slot *slots = gpu->slots;
	uint32_t kept = 0, latest = 0;

	if (!gpu->slot_count)
		return;
	qsort(slots, gpu->slot_count, sizeof(*slots), by_start);
	for (uint32_t i = 1; i < gpu->slot_count; i++) {
		if (slots[i].start_ns < slots[latest].end_ns)
			slots[i].row = slots[latest].row = SEVERAL;
		if (slots[i].end_ns > slots[latest].end_ns)
			latest = i;
	}
	for (uint32_t i = 0; i < gpu->slot_count; i++) {
		if (slots[i].row != SEVERAL)
			slots[kept++] = slots[i];
	}
	gpu->slot_count = kept;
}

static void add_to_gpu(struct gpumon_profile *profile, struct gpumon_metric_source *source)
{
	struct gpumon_metrics_growing *metrics = &profile->metrics;
	struct gpumon_metric_gpu *gpu;

	source->gpu = find_gpu(profile, source->process, source->device);
	if (!source->gpu) {
		gpu = GPUMON_ARRAY_ADD(metrics->gpus, metrics->gpu_count, metrics->gpu_room);
		gpu->identity = identity_of(profile, source->process, source->device);
		source->gpu = metrics->gpu_count;
	}
	gpu = &metrics->gpus[source->gpu - 1];
	if (source->slot_count) {
		gpu->slots = gpumon_reallocarray(gpu->slots,
						 (size_t)gpu->slot_count + source->slot_count,
						 sizeof(*gpu->slots));
		memcpy(gpu->slots + gpu->slot_count, source->slots,
		       source->slot_count * sizeof(*source->slots));
		gpu->slot_count += source->slot_count;
	}
	free(source->slots);
	source->slots = NULL;
}

/* Other processes may use it, too, and not be recorded for a time. */
static void find_users(struct gpumon_profile *profile, struct gpumon_metric_gpu *gpu,
		       uint32_t number)
{
	const struct gpumon_metrics_growing *metrics = &profile->metrics;
	const struct gpumon_windows **windows =
		gpumon_calloc((size_t)metrics->source_keys.used + 1, sizeof(*windows));
	uint32_t count = 0;

	for (uint32_t i = 0; i < metrics->source_keys.used; i++) {
		const struct gpumon_metric_source *source = &metrics->sources[i];

		if (source->gpu == number)
			windows[count++] =
				&profile->captures.tables.processes[source->process].windows;
	}
	gpumon_windows_join(&gpu->recorded, windows, count, false);
	free(windows);
}

/* A moment of which all is unknown until @until_ns. */
static uint64_t end_of_window(const struct gpumon_windows *windows, uint64_t time_ns)
{
	for (uint32_t i = 0; windows->sampled && i < windows->used; i++) {
		if (windows->at[i].end_ns > time_ns)
			return windows->at[i].end_ns;
	}
	return UINT64_MAX;
}

static void mark(struct gpumon_profile *profile, uint32_t process, uint32_t device,
		 uint64_t start_ns, uint64_t end_ns, uint32_t row);

/* What began and has not ended may run in any sample since then. */
static void mark_unended(struct gpumon_profile *profile)
{
	for (uint32_t i = 0; i < profile->device_keys.used; i++) {
		const struct gpumon_device_growing *device = profile->devices[i];
		const struct gpumon_windows *windows =
			&profile->captures.tables.processes[device->row.process].windows;

		for (uint32_t k = 0; device->row.stream == ~0u && k < device->busy.unended_used;
		     k++)
			mark(profile, device->row.process, device->row.device,
			     device->busy.unended[k].start_ns,
			     end_of_window(windows, device->busy.unended[k].start_ns), SEVERAL);
	}
}

static void begin_device(struct gpumon_profile *profile, struct gpumon_metric_source *source)
{
	const struct gpumon_metrics *of = &profile->metrics.of;
	struct gpumon_metric_device *device = &source->of;
	const struct gpumon_record_device *record = gpumon_tables_device(
		&profile->captures.tables.processes[source->process], source->device);
	const struct gpumon_device_growing *row =
		gpumon_devices_find(profile, source->process, source->device);
	char text[GPUMON_DEVICE_TEXT];

	device->process = source->process;
	device->device = source->device;
	device->beyond = source->beyond;
	device->gpu = row ? row->row.gpu : ~0u;
	device->multiprocessors = record ? record->multiprocessors : 0;
	device->text = row ? row->row.text :
			     gpumon_pool_text(&profile->pool,
					      gpumon_device_text(text, source->device,
								 record ? record->type :
									  GPUMON_DEVICE_GPU));
	device->has = gpumon_calloc((size_t)of->count + 1, sizeof(*device->has));
	device->sums = gpumon_calloc((size_t)of->count + 1, sizeof(*device->sums));
	if (of->bin_ns)
		device->bins =
			gpumon_calloc((size_t)of->count * of->bins + 1, sizeof(*device->bins));
	for (uint32_t i = 0; i < profile->metrics.sets.keys.used; i++) {
		const struct gpumon_metric_set *set = &profile->metrics.sets.sets[i];

		for (uint32_t k = 0; k < set->count; k++) {
			if (set->process == source->process && set->device == source->device &&
			    set->numbers[k] != GPUMON_METRIC_NONE)
				device->has[set->numbers[k]] = true;
		}
	}
}

static void begin_bins(struct gpumon_profile *profile, uint32_t devices)
{
	struct gpumon_metrics *of = &profile->metrics.of;
	unsigned int bands = devices * of->count;

	if (!profile->bin_ns || !bands)
		return;
	of->bins = BINS_ALL_MAX / bands;
	of->bins = of->bins > BINS_MAX ? BINS_MAX : of->bins < BINS_MIN ? BINS_MIN : of->bins;
	of->from_ns = profile->from_ns;
	of->bin_ns = (profile->until_ns - profile->from_ns) / of->bins + 1;
}

void gpumon_metrics_turn(struct gpumon_profile *profile)
{
	struct gpumon_metrics_growing *metrics = &profile->metrics;
	uint32_t sources = metrics->source_keys.used;

	if (!sources)
		return;
	gpumon_metric_sets_name(&metrics->sets, &profile->captures.tables, &profile->pool);
	metrics->of.kinds = metrics->sets.kinds;
	metrics->of.count = metrics->sets.kind_count;
	begin_bins(profile, sources);
	for (uint32_t i = 0; i < sources; i++) {
		add_to_gpu(profile, &metrics->sources[i]);
		begin_device(profile, &metrics->sources[i]);
	}
	for (uint32_t i = 0; i < metrics->gpu_count; i++)
		order_slots(&metrics->gpus[i]);
	/* What runs there in other processes is seen in the samples, too. */
	for (uint32_t i = 0; i < profile->device_keys.used; i++) {
		const struct gpumon_device_row *row = &profile->devices[i]->row;
		uint32_t gpu = row->stream == ~0u ? find_gpu(profile, row->process, row->device) :
						    0;

		if (gpu)
			find_source(metrics, row->process, row->device)->gpu = gpu;
	}
	for (uint32_t i = 0; i < metrics->gpu_count; i++)
		find_users(profile, &metrics->gpus[i], i + 1);
	mark_unended(profile);
}

/* --- second pass */

/* The samples of a device's GPU, from the first one on that ends behind a time. @count: how many; 0: none */
static struct gpumon_metric_slot *slots_since(struct gpumon_profile *profile, uint32_t process,
					      uint32_t device, uint64_t time_ns, uint32_t *count)
{
	struct gpumon_metrics_growing *metrics = &profile->metrics;
	const struct gpumon_key key = { { process, device } };
	uint32_t number, low = 0, high;
	struct gpumon_metric_gpu *gpu;

	*count = 0;
	if (!metrics->slot_count || metrics->steps > STEPS_MAX)
		return NULL;
	number = gpumon_keys_number(&metrics->source_keys, &key, NULL);
	if (number == GPUMON_KEY_NONE || !metrics->sources[number].gpu)
		return NULL;
	gpu = &metrics->gpus[metrics->sources[number].gpu - 1];
	high = gpu->slot_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (gpu->slots[middle].end_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	*count = gpu->slot_count - low;
	return gpu->slots + low;
}

/* @row: SEVERAL, if nothing else is to be in these samples */
static void mark(struct gpumon_profile *profile, uint32_t process, uint32_t device,
		 uint64_t start_ns, uint64_t end_ns, uint32_t row)
{
	struct gpumon_metric_slot *slot;
	uint32_t count;

	slot = slots_since(profile, process, device, start_ns, &count);
	/* One that takes no time is in the sample at its time. */
	for (; count && (slot->start_ns < end_ns || slot->start_ns == start_ns); count--, slot++) {
		profile->metrics.steps++;
		if (!slot->row) {
			slot->row = row;
			slot->process = process;
		} else if (slot->row != row || slot->process != process) {
			slot->row = SEVERAL;
		}
	}
}

void gpumon_metrics_work(struct gpumon_profile *profile, uint32_t process, uint32_t row,
			 const struct gpumon_work_fields *fields)
{
	if (fields->valid)
		mark(profile, process, fields->device, fields->start_ns, fields->end_ns, row + 1);
}

void gpumon_metrics_busy(struct gpumon_profile *profile, uint32_t process, uint32_t device,
			 uint64_t start_ns, uint64_t end_ns)
{
	struct gpumon_metric_slot *slot;
	uint32_t count;

	slot = slots_since(profile, process, device, start_ns, &count);
	for (; count && slot->start_ns < end_ns; count--, slot++) {
		profile->metrics.steps++;
		slot->busy_ns += (end_ns < slot->end_ns ? end_ns : slot->end_ns) -
				 (start_ns > slot->start_ns ? start_ns : slot->start_ns);
	}
}

/* --- values */

/* Each part of the time has what of the sample is in it. */
static void add_to_bins(const struct gpumon_metrics_growing *growing,
			struct gpumon_metric_device *device,
			const struct gpumon_metric_values *values)
{
	const struct gpumon_metrics *metrics = &growing->of;
	uint64_t start_ns = values->start_ns;

	start_ns = start_ns > metrics->from_ns ? start_ns : metrics->from_ns;
	while (start_ns < values->end_ns) {
		uint64_t bin = (start_ns - metrics->from_ns) / metrics->bin_ns;
		uint64_t until_ns = metrics->from_ns + (bin + 1) * metrics->bin_ns;

		if (bin >= metrics->bins)
			return;
		until_ns = until_ns < values->end_ns ? until_ns : values->end_ns;
		gpumon_metric_values_add(&growing->sets, values,
					 (double)(until_ns - start_ns) / (double)values->span.ns,
					 device->bins + bin, metrics->bins);
		start_ns = until_ns;
	}
}

/* The sample's row of the table by kernel + 1; 0 if it has none. */
static uint32_t row_of(struct gpumon_profile *profile, uint32_t process, uint32_t device,
		       uint64_t start_ns, uint64_t end_ns)
{
	const struct gpumon_metrics_growing *metrics = &profile->metrics;
	const struct gpumon_key key = { { process, device } };
	const struct gpumon_metric_slot *slot;
	const struct gpumon_metric_gpu *gpu;
	uint32_t count, number;

	slot = slots_since(profile, process, device, start_ns, &count);
	if (!count || slot->start_ns != start_ns || slot->end_ns != end_ns || !slot->row ||
	    slot->row == SEVERAL ||
	    (double)slot->busy_ns * 100 <
		    (double)(end_ns - start_ns) * (double)GPUMON_METRIC_FILLED)
		return 0;
	number = gpumon_keys_number((struct gpumon_keys *)&metrics->source_keys, &key, NULL);
	gpu = &metrics->gpus[metrics->sources[number].gpu - 1];
	/* Another kernel may have run that was not recorded. */
	if (gpu->recorded.sampled && !gpumon_windows_cover(&gpu->recorded, start_ns, end_ns))
		return 0;
	return slot->row;
}

const struct gpumon_kernel_row *gpumon_metrics_row(struct gpumon_profile *profile, uint32_t process,
						   uint32_t device, uint64_t start_ns,
						   uint64_t end_ns)
{
	uint32_t row = row_of(profile, process, device, start_ns, end_ns);

	return row ? &profile->kernels[row - 1].row : NULL;
}

static struct gpumon_kernel_metrics *of_kernel(struct gpumon_profile *profile, uint32_t row)
{
	struct gpumon_kernel_growing *kernel = &profile->kernels[row];

	if (!kernel->metrics) {
		kernel->metrics = gpumon_pool_zalloc(&profile->pool, sizeof(*kernel->metrics));
		kernel->metrics->sums = gpumon_pool_zalloc(
			&profile->pool, profile->metrics.of.count * sizeof(*kernel->metrics->sums));
		kernel->row.metrics = kernel->metrics;
	}
	return kernel->metrics;
}

static void on_sample(void *data, uint32_t process, const struct gpumon_record *record)
{
	struct gpumon_profile *profile = data;
	struct gpumon_metrics_growing *metrics = &profile->metrics;
	struct gpumon_metric_device *device;
	struct gpumon_kernel_metrics *kernel;
	struct gpumon_metric_values values;
	bool readable;
	uint32_t row;

	if (record->type != GPUMON_RECORD_METRIC_SAMPLE || gpumon_captures_is_driver(process))
		return;
	readable = gpumon_metric_sets_read(&metrics->sets, process, record, &values);
	if (!gpumon_profile_within(profile,
				   profile->options.by_end ? values.end_ns : values.start_ns))
		return;
	device = &find_source(metrics, process, values.device)->of;
	if (!readable) {
		device->unreadable++;
		return;
	}
	device->samples++;
	if (metrics->steps > STEPS_MAX)
		device->beyond++;
	device->sampled_ns = gpumon_add_saturated(device->sampled_ns, values.span.ns);
	gpumon_metric_values_add(&metrics->sets, &values, 1, device->sums, 1);
	if (device->bins)
		add_to_bins(metrics, device, &values);
	row = row_of(profile, process, values.device, values.start_ns, values.end_ns);
	if (!row)
		return;
	device->of_kernels++;
	kernel = of_kernel(profile, row - 1);
	kernel->samples++;
	kernel->ns = gpumon_add_saturated(kernel->ns, values.span.ns);
	gpumon_metric_values_add(&metrics->sets, &values, 1, kernel->sums, 1);
}

static int by_device(const void *a, const void *b)
{
	const struct gpumon_metric_device *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->device < y->device ? -1 : x->device > y->device;
}

int gpumon_metrics_read(struct gpumon_profile *profile)
{
	const struct gpumon_captures_pass pass = { .record = on_sample, .data = profile };
	struct gpumon_metrics_growing *metrics = &profile->metrics;
	struct gpumon_metrics *of = &metrics->of;

	if (!metrics->source_keys.used)
		return 0;
	if (gpumon_captures_read(&profile->captures, &pass))
		return -1;
	of->devices = gpumon_calloc((size_t)metrics->source_keys.used + 1, sizeof(*of->devices));
	for (uint32_t i = 0; i < metrics->source_keys.used; i++) {
		if (metrics->sources[i].has_metrics) {
			of->devices[of->device_count++] = metrics->sources[i].of;
			metrics->sources[i].of = (struct gpumon_metric_device){ 0 };
		}
	}
	qsort(of->devices, of->device_count, sizeof(*of->devices), by_device);
	if (!profile->options.metric_samples)
		gpumon_metrics_free_samples(profile);
	return 0;
}

const struct gpumon_metrics *gpumon_profile_metrics(const struct gpumon_profile *profile)
{
	return profile->metrics.of.device_count ? &profile->metrics.of : NULL;
}

static void free_device(struct gpumon_metric_device *device)
{
	free(device->has);
	free(device->sums);
	free(device->bins);
}

void gpumon_metrics_free_samples(struct gpumon_profile *profile)
{
	struct gpumon_metrics_growing *metrics = &profile->metrics;

	for (uint32_t i = 0; i < metrics->source_keys.used; i++) {
		free(metrics->sources[i].slots);
		free_device(&metrics->sources[i].of);
	}
	for (uint32_t i = 0; i < metrics->gpu_count; i++) {
		free(metrics->gpus[i].slots);
		gpumon_windows_clear(&metrics->gpus[i].recorded);
	}
	gpumon_metric_sets_clear(&metrics->sets);
	gpumon_keys_clear(&metrics->source_keys);
	free(metrics->sources);
	free(metrics->gpus);
	*metrics = (struct gpumon_metrics_growing){ .sets.kinds = metrics->sets.kinds,
						    .of = metrics->of };
}

void gpumon_metrics_clear(struct gpumon_profile *profile)
{
	struct gpumon_metrics *of = &profile->metrics.of;

	gpumon_metrics_free_samples(profile);
	for (unsigned int i = 0; i < of->device_count; i++)
		free_device(&of->devices[i]);
	free(of->devices);
	free(profile->metrics.sets.kinds);
}
