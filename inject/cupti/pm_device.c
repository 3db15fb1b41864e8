// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "base/prepared.h"
#include "channel/intern.h"
#include "convert.h"
#include "pm_device.h"
#include "session/session.h"

/* Samples in an image. On an H100 each takes 22 KB, and some 100 us to be decoded. */
#define IMAGE_SAMPLES 256

#define SECOND_NS 1000000000ull

/*
 * Of the hardware's buffer. 32 MB overflowed on an H200 that copied 3.9 TB/s, with a sample each millisecond
 * and with one each four: decoding takes long then. CUPTI's own tools take 512 MB.
 */
#define BUFFER_BYTES (256ul << 20)

/* Samples that are that old are dropped, so that decoding catches up before the buffer overflows. */
#define BEHIND_NS SECOND_NS

/* Time between two attempts to get a GPU that another process has, or to begin again. */
#define RETRY_NS SECOND_NS

/* Attempts to begin again after an overflow. */
#define RESTARTS 5

/* The session that records may be written into. */
static _Atomic uint32_t open_session;

void inject_pm_device_session(uint32_t generation)
{
	atomic_store(&open_session, generation);
}

/* The calling thread, within; NULL: the session is over. */
static struct inject_thread *enter_session(uint32_t generation)
{
	struct inject_thread *thread = inject_thread_enter(true);

	if (thread && (atomic_load(&inject_session.generation) != generation ||
		       atomic_load(&open_session) != generation)) {
		inject_thread_leave(thread);
		return NULL;
	}
	return thread;
}

static void lose(struct inject_pm_device *device, uint32_t generation, uint64_t samples)
{
	struct inject_thread *thread = samples ? enter_session(generation) : NULL;

	if (!thread)
		return;
	gpumon_channel_lose(&inject_session.map, GPUMON_LOSS_METRIC_SAMPLES, samples);
	device->lost += samples;
	inject_thread_leave(thread);
}

/* --- what stands in the way */

static const char *explain(int error)
{
	switch (error) {
	case INJECT_PM_BUSY:
		return "another process samples it, and a GPU serves one at a time. If that one is of this recording, its samples are of the whole GPU, and nothing is missing; if it is another profiler (ncu, nsys, DCGM), end that one";
	case INJECT_PM_NO_PRIVILEGES:
	case INJECT_PM_NO_PRIVILEGES_GUEST:
		return "the driver lets only administrators read performance counters (ERR_NVGPUCTRPERM): run as root or with CAP_SYS_ADMIN, or load the module nvidia with NVreg_RestrictProfilingToAdminUsers=0";
	case INJECT_PM_NOT_SUPPORTED:
		return "CUPTI does not sample this GPU; it samples those from Turing on, outside of vGPU, MIG and confidential computing";
	default:
		return NULL;
	}
}

/* Once for each reason. */
static bool refuse(struct inject_pm_device *device, uint32_t generation, const char *what,
		   int error)
{
	struct inject_thread *thread;
	const char *why = explain(error);

	device->retry_ns = inject_now() + RETRY_NS;
	if (device->has_gap && device->restarts++ < RESTARTS)
		return false;
	device->is_refused = error != INJECT_PM_BUSY;
	if (device->told == error)
		return false;
	thread = enter_session(generation);
	if (!thread)
		return false;
	device->told = error;
	if (device->has_gap)
		inject_session_note(
			thread, GPUMON_NOTE_MISSING,
			"no metrics of GPU %u from here on: the GPU's buffer of samples overflowed, and CUPTI refuses %s again: %s (%d). A longer time between samples may help (--gpu-metrics=TIME)",
			device->device, what, inject_cupti_result((CUptiResult)error), error);
	else if (why)
		inject_session_note(thread, GPUMON_NOTE_MISSING, "no metrics of GPU %u: %s",
				    device->device, why);
	else
		inject_session_note(thread, GPUMON_NOTE_MISSING,
				    "no metrics of GPU %u: CUPTI refuses %s: %s (%d)",
				    device->device, what, inject_cupti_result((CUptiResult)error),
				    error);
	inject_thread_leave(thread);
	return false;
}

/* --- begin and end */

static CUptiResult ask_support(const struct inject_pm_device *device)
{
	struct inject_pm_supported ask = {
		.size = INJECT_PM_SIZE(inject_pm_supported, api),
		.device = (int)device->device,
		.api = INJECT_PM_API,
	};

	/* Other values are no answer. */
	if (!inject_pm.supported || inject_pm.supported(&ask) != CUPTI_SUCCESS || !ask.all)
		return CUPTI_SUCCESS;
	return ask.all == INJECT_PM_SUPPORTED ? CUPTI_SUCCESS :
						(CUptiResult)INJECT_PM_NOT_SUPPORTED;
}

static void *map_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* Which metrics it is to be, by the counters that nobody else has now. */
static CUptiResult choose_metrics(struct inject_pm_device *device, const char *chip)
{
	struct inject_pm_available available = {
		.size = INJECT_PM_SIZE(inject_pm_available, image),
		.device = device->device,
	};
	CUptiResult result = inject_pm.available(&available);

	if (result != CUPTI_SUCCESS)
		return result;
	available.image = map_memory(available.image_size);
	if (!available.image)
		return CUPTI_ERROR_OUT_OF_MEMORY;
	result = inject_pm.available(&available);
	if (result == CUPTI_SUCCESS)
		result = inject_pm_choose(&device->choice, chip, available.image);
	munmap(available.image, available.image_size);
	if (result == CUPTI_SUCCESS && !device->choice.count)
		result = (CUptiResult)INJECT_PM_NOT_SUPPORTED;
	return result;
}

static CUptiResult reset_image(struct inject_pm_device *device)
{
	struct inject_pm_image reset = {
		.size = INJECT_PM_SIZE(inject_pm_image, image),
		.sampling = device->sampling,
		.image_size = device->image_size,
		.image = device->image,
	};

	return inject_pm.image(&reset);
}

static CUptiResult make_image(struct inject_pm_device *device)
{
	struct inject_pm_image_size size = {
		.size = INJECT_PM_SIZE(inject_pm_image_size, image_size),
		.sampling = device->sampling,
		.names = device->choice.names,
		.count = device->choice.count,
		.samples = IMAGE_SAMPLES,
	};
	CUptiResult result = inject_pm.image_size(&size);

	if (result != CUPTI_SUCCESS)
		return result;
	device->image_size = size.image_size;
	device->image = map_memory(size.image_size);
	return device->image ? reset_image(device) : CUPTI_ERROR_OUT_OF_MEMORY;
}

/* By time, or where the GPU cannot do that (Turing, A100), by about as many cycles of its clock of some GHz. */
static CUptiResult set_config(struct inject_pm_device *device)
{
	struct inject_pm_set_config config = {
		.size = INJECT_PM_SIZE(inject_pm_set_config, keeps),
		.sampling = device->sampling,
		.config_size = device->choice.config_size,
		.config = device->choice.config,
		.buffer_size = BUFFER_BYTES,
		.interval = device->interval_ns,
		.trigger = INJECT_PM_BY_TIME,
		.keeps = INJECT_PM_KEEP_OLDEST,
	};
	CUptiResult result;

	result = inject_pm.set_config(&config);
	if (result == CUPTI_SUCCESS)
		return result;
	config.trigger = INJECT_PM_BY_CYCLES;
	return inject_pm.set_config(&config) == CUPTI_SUCCESS ? CUPTI_SUCCESS : result;
}

static CUptiResult call_object(const struct inject_pm_device *device,
			       CUptiResult (*function)(struct inject_pm_object *))
{
	struct inject_pm_object object = {
		.size = INJECT_PM_SIZE(inject_pm_object, sampling),
		.sampling = device->sampling,
	};

	return function(&object);
}

/* Number of a set of metrics, in this process. */
static uint32_t last_set;

static CUptiResult get_gpu(struct inject_pm_device *device, const char **what)
{
	struct inject_pm_initialize initialize = {
		.size = INJECT_PM_SIZE(inject_pm_initialize, reserved),
	};
	struct inject_pm_chip chip = {
		.size = INJECT_PM_SIZE(inject_pm_chip, chip),
		.device = device->device,
	};
	struct inject_pm_enable enable = {
		.size = INJECT_PM_SIZE(inject_pm_enable, sampling),
		.device = device->device,
	};
	CUptiResult result;

	*what = "its profiler (cuptiProfilerInitialize)";
	result = inject_pm.initialize(&initialize);
	if (result == CUPTI_SUCCESS)
		result = ask_support(device);
	if (result != CUPTI_SUCCESS)
		return result;
	*what = "the name of its chip (cuptiDeviceGetChipName)";
	result = inject_pm.chip(&chip);
	if (result != CUPTI_SUCCESS)
		return result;
	*what = "its counters (cuptiPmSamplingGetCounterAvailability, cuptiProfilerHostInitialize)";
	result = choose_metrics(device, chip.chip);
	if (result != CUPTI_SUCCESS)
		return result;
	*what = "to sample it (cuptiPmSamplingEnable)";
	result = inject_pm.enable(&enable);
	if (result == CUPTI_SUCCESS) {
		device->sampling = enable.sampling;
		device->set = ++last_set;
		device->written_in = 0;
	}
	return result;
}

static CUptiResult open_device(struct inject_pm_device *device, const char **what)
{
	CUptiResult result = device->sampling ? CUPTI_SUCCESS : get_gpu(device, what);

	if (result != CUPTI_SUCCESS)
		return result;
	*what = "the metrics (cuptiPmSamplingSetConfig)";
	result = set_config(device);
	if (result != CUPTI_SUCCESS)
		return result;
	*what = "memory for samples (cuptiPmSamplingGetCounterDataSize)";
	result = device->image ? reset_image(device) : make_image(device);
	device->is_open = result == CUPTI_SUCCESS;
	return result;
}

void inject_pm_device_begin(struct inject_pm_device *device, uint64_t interval_ns)
{
	device->interval_ns = interval_ns;
	device->is_refused = false;
	device->told = 0;
	device->retry_ns = 0;
	device->restarts = 0;
	device->samples = 0;
	device->lost = 0;
	device->impossible = 0;
	device->cost_ns = 0;
}

bool inject_pm_device_start(struct inject_pm_device *device, uint32_t generation)
{
	CUptiResult result = CUPTI_SUCCESS;
	const char *what = NULL;

	if (device->is_running)
		return true;
	if (device->is_refused || inject_now() < device->retry_ns)
		return false;
	if (!device->is_open)
		result = open_device(device, &what);
	device->started_ns = inject_now();
	if (result == CUPTI_SUCCESS) {
		what = "to begin (cuptiPmSamplingStart)";
		result = call_object(device, inject_pm.start);
	}
	/* CUPTI's object stays until the end, since giving it back may end all that CUPTI does. */
	if (result != CUPTI_SUCCESS)
		return refuse(device, generation, what, (int)result);
	device->is_running = true;
	device->is_first = true;
	device->length_ns = device->interval_ns;
	if (!device->has_gap)
		device->last_end_ns = device->started_ns;
	return true;
}

void inject_pm_device_stop(struct inject_pm_device *device)
{
	if (!device->is_running)
		return;
	call_object(device, inject_pm.stop);
	device->stopped_ns = inject_now();
	device->is_running = false;
}

void inject_pm_device_end(struct inject_pm_device *device)
{
	inject_pm_device_stop(device);
	if (device->sampling)
		call_object(device, inject_pm.disable);
	device->sampling = NULL;
	device->is_open = false;
	if (device->image)
		munmap(device->image, device->image_size);
	device->image = NULL;
	inject_pm_unchoose(&device->choice);
}

/* --- samples */

static bool write_set(struct inject_thread *thread, struct inject_pm_device *device,
		      uint32_t generation)
{
	_Alignas(8) char room[sizeof(struct gpumon_record_metric_set) +
			      (GPUMON_METRICS + 1) * sizeof(uint32_t)] = { 0 };
	struct gpumon_record_metric_set *record = (void *)room;
	unsigned int count = device->choice.count;

	if (device->written_in == generation)
		return true;
	record->head.type = GPUMON_RECORD_METRIC_SET;
	record->head.size =
		(uint32_t)((sizeof(*record) + count * sizeof(record->metric[0]) + 7) & ~7ul);
	record->interval_ns = device->interval_ns;
	record->device = device->device;
	record->set = device->set;
	record->count = count;
	for (unsigned int i = 0; i < count; i++)
		record->metric[i] = inject_intern_string(thread, device->choice.names[i]);
	if (inject_append(thread, record))
		device->written_in = generation;
	return device->written_in == generation;
}

/* The values of a sample. False: CUPTI does not have them. */
static bool compute_values(const struct inject_pm_device *device, size_t sample, double *values)
{
	struct inject_pm_values ask = {
		.size = INJECT_PM_SIZE(inject_pm_values, values),
		.host = device->choice.host,
		.image = device->image,
		.image_size = device->image_size,
		.sample = sample,
		.names = (const char **)device->choice.names,
		.count = device->choice.count,
		.values = values,
	};

	for (unsigned int i = 0; i < device->choice.count; i++)
		values[i] = NAN;
	return inject_pm.values(&ask) == CUPTI_SUCCESS;
}

/* The times of a sample by our clock. False: they cannot be. */
static bool read_times(const struct inject_pm_device *device, size_t sample, uint64_t *start_ns,
		       uint64_t *end_ns)
{
	struct inject_pm_times ask = {
		.size = INJECT_PM_SIZE(inject_pm_times, end),
		.sampling = device->sampling,
		.image = device->image,
		.image_size = device->image_size,
		.sample = sample,
	};
	uint64_t latest_ns = inject_now() + INJECT_CONVERT_AHEAD_NS;

	if (inject_pm.times(&ask) != CUPTI_SUCCESS)
		return false;
	*start_ns = inject_convert_time(ask.start, latest_ns);
	*end_ns = inject_convert_time(ask.end, latest_ns);
	if (*start_ns >= *end_ns || *end_ns >= latest_ns)
		return false;
	return *end_ns + SECOND_NS > device->started_ns;
}

/* How many samples there is room for in a time. */
static uint64_t samples_between(const struct inject_pm_device *device, uint64_t from_ns,
				uint64_t to_ns)
{
	return to_ns > from_ns && device->length_ns ?
		       (to_ns - from_ns + device->length_ns / 2) / device->length_ns :
		       0;
}

static void count_gap(struct inject_pm_device *device, uint32_t generation, uint64_t to_ns)
{
	lose(device, generation, samples_between(device, device->last_end_ns, to_ns));
	device->has_gap = false;
}

/* In percent. Counters are not read at the very same time: 103 % was seen, and is one. */
#define SHARE_MAX 120.

/* Some few shares are what none can be: 5,053 % on an H200, of tensor pipes. They are no values. */
static void leave_out_impossible(struct inject_pm_device *device, double *values)
{
	for (unsigned int i = 0; i < device->choice.count; i++) {
		if (!(values[i] > SHARE_MAX) || !strstr(device->choice.names[i], ".pct_of_peak"))
			continue;
		device->impossible++;
		values[i] = NAN;
	}
}

static bool write_sample(struct inject_pm_device *device, uint32_t generation, uint64_t start_ns,
			 uint64_t end_ns, const double *values)
{
	_Alignas(8) char
		room[sizeof(struct gpumon_record_metric_sample) + GPUMON_METRICS * sizeof(double)];
	struct gpumon_record_metric_sample *record = (void *)room;
	struct inject_thread *thread = enter_session(generation);
	bool has_set;

	if (!thread)
		return true;
	*record = (struct gpumon_record_metric_sample){
		.head = { .type = GPUMON_RECORD_METRIC_SAMPLE },
		.start_ns = start_ns,
		.end_ns = end_ns,
		.device = device->device,
		.set = device->set,
		.count = device->choice.count,
	};
	record->head.size = (uint32_t)(sizeof(*record) + record->count * sizeof(double));
	memcpy(record->value, values, record->count * sizeof(double));
	has_set = write_set(thread, device, generation);
	/* Where there is no room, the channel counts it. */
	if (has_set)
		inject_append(thread, record);
	inject_thread_leave(thread);
	return has_set;
}

static void take_sample(struct inject_pm_device *device, uint32_t generation, size_t sample,
			bool is_dropped)
{
	bool is_first = device->is_first;
	uint64_t start_ns, end_ns;
	double values[GPUMON_METRICS];

	device->is_first = false;
	if (!read_times(device, sample, &start_ns, &end_ns)) {
		device->has_gap = true;
		return;
	}
	/*
	 * The first sample after a start begins, as CUPTI has it, when the GPU was configured: half a second
	 * before that on an H200, with values that no time fits.
	 */
	if (is_first && start_ns < device->started_ns) {
		if (device->has_gap)
			count_gap(device, generation, end_ns);
		device->last_end_ns = end_ns;
		return;
	}
	if (!is_first || device->has_gap)
		count_gap(device, generation, start_ns);
	device->last_end_ns = end_ns;
	device->length_ns = end_ns - start_ns;
	device->samples++;
	if (is_dropped || !compute_values(device, sample, values)) {
		lose(device, generation, 1);
		return;
	}
	leave_out_impossible(device, values);
	if (!write_sample(device, generation, start_ns, end_ns, values))
		lose(device, generation, 1);
}

/* All of an image. */
static void take_samples(struct inject_pm_device *device, uint32_t generation)
{
	struct inject_pm_count count = {
		.size = INJECT_PM_SIZE(inject_pm_count, completed),
		.image = device->image,
		.image_size = device->image_size,
	};
	uint64_t start_ns, end_ns, now = inject_now();
	bool is_behind;

	if (inject_pm.count(&count) != CUPTI_SUCCESS || !count.completed)
		return;
	is_behind = device->is_running && read_times(device, 0, &start_ns, &end_ns) &&
		    end_ns + BEHIND_NS < now;
	for (size_t i = 0; i < count.completed; i++)
		take_sample(device, generation, i, is_behind);
}

/* The hardware's buffer was full: what is in it cannot be read any more. */
static void begin_anew(struct inject_pm_device *device, uint32_t generation)
{
	bool was_running = device->is_running;

	device->has_gap = true;
	inject_pm_device_stop(device);
	device->is_open = false;
	if (was_running)
		inject_pm_device_start(device, generation);
}

bool inject_pm_device_decode(struct inject_pm_device *device, uint32_t generation,
			     uint64_t until_ns)
{
	struct inject_pm_decode decode = {
		.size = INJECT_PM_SIZE(inject_pm_decode, overflow),
		.sampling = device->sampling,
		.image = device->image,
		.image_size = device->image_size,
	};
	uint64_t begin_ns = inject_now();
	CUptiResult result;
	bool is_over;

	if (!device->sampling)
		return true;
	do {
		decode.overflow = 0;
		decode.reason = 0;
		result = inject_pm.decode(&decode);
		take_samples(device, generation);
		is_over = result != CUPTI_SUCCESS || decode.overflow ||
			  reset_image(device) != CUPTI_SUCCESS;
		if (is_over || decode.reason != INJECT_PM_IMAGE_FULL)
			break;
	} while (inject_now() < until_ns);
	device->cost_ns += inject_now() - begin_ns;
	if (is_over)
		begin_anew(device, generation);
	return !is_over && decode.reason != INJECT_PM_IMAGE_FULL;
}

void inject_pm_device_finish(struct inject_pm_device *device, uint32_t generation, bool is_complete)
{
	if (!is_complete || device->has_gap)
		count_gap(device, generation, device->stopped_ns);
}
