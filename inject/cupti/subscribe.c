// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "activity.h"
#include "base/affinity.h"
#include "callbacks.h"
#include "channel/thread.h"
#include "generation.h"
#include "graphs.h"
#include "hw_trace.h"
#include "nvtx/range.h"
#include "session/session.h"
#include "stalls.h"
#include "subscribe.h"

/* cuptiGetVersion() of CUDA 13.0; before, it counted up by one. */
#define CUPTI_VERSION_13 130000u

uint16_t inject_class[2][INJECT_FUNCTIONS];

const struct inject_cupti_client *inject_cupti_client;

/* The recording uses the subscription. */
static _Atomic bool is_subscribed;
static bool is_classified;
static bool has_clock;
/* Functions of the driver that the client hears of. */
static bool is_clients[INJECT_FUNCTIONS];

bool inject_subscribed(void)
{
	return is_subscribed;
}

static bool has_prefix(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

/*
 * A copy from the host waits for what its stream did before, and then may return when the host's memory
 * has been read; after another one that waits, all is done.
 */
static uint16_t class_of_copy(const char *name)
{
	if (!inject_call_is_waiting_copy(name))
		return INJECT_CLASS_COPY;
	if (strstr(name, "HtoD") || strstr(name, "HtoA"))
		return INJECT_CLASS_COPY | INJECT_CLASS_WAITS;
	return INJECT_CLASS_COPY | INJECT_CLASS_WAITS | INJECT_CLASS_ENDED;
}

/*
 * INJECT_CLASS_* bits, for a name from cuptiGetCallbackName, such as cudaMemcpyAsync_ptsz_v7000. By name
 * and not by number, so that functions of a later CUDA are found as well.
 */
static uint16_t class_by_name(const char *name)
{
	if (strstr(name, "HostFunc"))
		return 0;
	if (has_prefix(name, "cudaLaunch") || has_prefix(name, "__cudaLaunch") ||
	    has_prefix(name, "cuLaunch"))
		return INJECT_CLASS_KERNEL;
	if (has_prefix(name, "cudaGraphLaunch") || has_prefix(name, "cuGraphLaunch"))
		return INJECT_CLASS_GRAPH;
	/* Case matters: cuMemSetAccess sets no memory. */
	if (has_prefix(name, "cudaMemcpy") || has_prefix(name, "cuMemcpy") ||
	    has_prefix(name, "cu64Memcpy"))
		return class_of_copy(name);
	if (has_prefix(name, "cudaMemset") || has_prefix(name, "cuMemset") ||
	    has_prefix(name, "cu64Memset"))
		return INJECT_CLASS_SET;
	if (strstr(name, "Synchronize"))
		return INJECT_CLASS_BLOCKING | INJECT_CLASS_ENDED;
	if (has_prefix(name, "cudaProfilerStart") || has_prefix(name, "cuProfilerStart"))
		return INJECT_CLASS_PROFILER_ON;
	if (has_prefix(name, "cudaProfilerStop") || has_prefix(name, "cuProfilerStop"))
		return INJECT_CLASS_PROFILER_OFF;
	/* Only the driver's functions, which the runtime's call. */
	if (has_prefix(name, "cuStreamBeginCapture"))
		return INJECT_CLASS_CAPTURE_BEGIN;
	if (has_prefix(name, "cuStreamEndCapture"))
		return INJECT_CLASS_CAPTURE_END;
	return 0;
}

static void classify_function(CUpti_CallbackDomain domain, uint32_t id, const char *name)
{
	inject_class[domain - CUPTI_CB_DOMAIN_DRIVER_API][id] = class_by_name(name);
}

static void classify_all(void)
{
	inject_cupti_functions(CUPTI_CB_DOMAIN_DRIVER_API, classify_function);
	inject_cupti_functions(CUPTI_CB_DOMAIN_RUNTIME_API, classify_function);
	is_classified = true;
}

static void subscribe_to_cupti(void *result)
{
	*(CUptiResult *)result = inject_generation_subscribe();
}

/* For the recording and the client, which never begin at the same time. */
static CUptiResult hold_cupti(bool at_start)
{
	CUptiResult result;

	if (inject_subscriber)
		return CUPTI_SUCCESS;
	/* Where CUDA is being initialised, no thread uses it yet. */
	if (at_start)
		subscribe_to_cupti(&result);
	else
		inject_affinity_run(subscribe_to_cupti, &result);
	/* The clock of a subscriber that shares is its own. */
	if (result == CUPTI_SUCCESS && inject_generation->shares)
		has_clock = true;
	return result;
}

bool inject_cupti_client_join(const struct inject_cupti_client *client, const char **why)
{
	CUptiResult result;

	if (!inject_cupti_load(why))
		return false;
	inject_cupti_client = client;
	result = hold_cupti(true);
	if (result == CUPTI_SUCCESS)
		return true;
	inject_cupti_client = NULL;
	*why = result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ?
		       "another profiler holds CUPTI, which --probe does not share: run the program without it" :
		       inject_cupti_result(result);
	return false;
}

void inject_cupti_client_enable(CUpti_CallbackId id)
{
	inject_cupti.cuptiEnableCallback(1, inject_subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
	is_clients[id] = true;
}

bool inject_subscribe(const char **why)
{
	static char text[512];
	char which[360];
	CUptiResult result;

	if (!inject_cupti_load(why))
		return false;
	result = hold_cupti(inject_session.at_start);
	if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
		snprintf(
			text, sizeof(text),
			"%s: nothing of the GPU is recorded. Run the program without it (in PyTorch: without torch.profiler)",
			inject_generation_refused());
		*why = text;
		return false;
	}
	if (result != CUPTI_SUCCESS) {
		inject_cupti_describe(which, sizeof(which));
		snprintf(
			text, sizeof(text),
			"CUPTI cannot be used (cuptiSubscribe: %s): nothing of the GPU is recorded. This is %s; GPUMON_CUPTI=PATH names another",
			inject_cupti_result(result), which);
		*why = text;
		return false;
	}
	is_subscribed = true;
	if (!is_classified)
		classify_all();
	return true;
}

static bool expect_success(struct inject_thread *thread, CUptiResult result, const char *what)
{
	if (result == CUPTI_SUCCESS)
		return true;
	inject_session_note(thread, GPUMON_NOTE_MISSING, "CUPTI refuses %s: %s", what,
			    inject_cupti_result(result));
	return false;
}

/* Memory of the GPU that CUPTI itself takes for a context, as far as it says so. */
static size_t get_activity_attribute(CUpti_ActivityAttribute attribute)
{
	size_t value = 0, size = sizeof(value);

	if (inject_generation->get(attribute, &size, &value) != CUPTI_SUCCESS)
		return 0;
	return value;
}

bool inject_subscribe_configure(struct inject_thread *thread, bool at_start)
{
	uint8_t one = 1;
	size_t size = sizeof(one);

	expect_success(thread, inject_generation->set_thread_ids(), "the system's thread ids");
	/* Registering it twice spoils the first records of a capture. */
	if (!has_clock)
		has_clock =
			expect_success(thread, inject_generation->set_clock(), "CLOCK_MONOTONIC");
	/* The worker zeroes buffers: CUPTI would do that in the program's threads. */
	inject_generation->set(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &one);
	inject_cupti_state.context_bytes =
		get_activity_attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE) *
		get_activity_attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE);
	if (!expect_success(thread, inject_generation->take_buffers(),
			    "buffers, so that nothing of the GPU is recorded"))
		return false;
	if (inject_session.record & GPUMON_RECORD_LATENCY) {
		if (!at_start)
			inject_session_note(
				thread, GPUMON_NOTE_MISSING,
				"no queued and submitted times: they have to be asked for before CUDA is initialised");
		else
			expect_success(thread, inject_generation->set_latency(),
				       "queued and submitted times");
	}
	inject_hw_trace_begin(thread);
	if (inject_generation_graphs_are_whole())
		inject_session_note(
			thread, GPUMON_NOTE_MISSING,
			"another profiler has CUPTI record graphs as a whole, for all that share it: operations in graphs are missing");
	return true;
}

static bool enable_kind(struct inject_thread *thread, CUpti_ActivityKind kind, bool on,
			const char *what)
{
	if (!on)
		return inject_generation->disable(kind) == CUPTI_SUCCESS;
	return expect_success(thread, inject_generation->enable(kind), what);
}

/* Records of those that exist already, too. */
static void enable_and_dump(struct inject_thread *thread, CUpti_ActivityKind kind, bool at_start,
			    const char *what)
{
	if (!at_start && inject_generation->dump(kind) == CUPTI_SUCCESS)
		return;
	enable_kind(thread, kind, true, what);
}

/* @what: NULL: only newer CUPTIs have it */
static void enable_resource(struct inject_thread *thread, CUpti_CallbackId id, const char *what)
{
	CUptiResult result =
		inject_cupti.cuptiEnableCallback(1, inject_subscriber, CUPTI_CB_DOMAIN_RESOURCE, id);

	if (what)
		expect_success(thread, result, what);
}

static void enable_classes(struct inject_thread *thread, uint16_t classes, bool on)
{
	bool failed = false;
	unsigned int domain, id;
	CUptiResult result;

	for (domain = 0; domain < 2; domain++) {
		/*
		 * The runtime's functions launch by calling the driver's, with the same correlation
		 * id. Their own callbacks would add nothing, and a third of the cost.
		 */
		bool no_launches = domain == 1 && !inject_cupti_environment.runtime_too;

		for (id = 1; id < INJECT_FUNCTIONS; id++) {
			if (!(inject_class[domain][id] & classes) ||
			    (no_launches && inject_class[domain][id] & INJECT_CLASS_LAUNCH))
				continue;
			if (!on && !domain && is_clients[id])
				continue;
			result = inject_cupti.cuptiEnableCallback(
				on, inject_subscriber, CUPTI_CB_DOMAIN_DRIVER_API + domain, id);
			if (on && !failed)
				failed = !expect_success(thread, result, "a callback of the API");
		}
	}
}

static uint16_t classes_always(void)
{
	uint16_t classes = INJECT_CLASS_CAPTURE_BEGIN | INJECT_CLASS_CAPTURE_END;

	if (inject_session.settings.window == GPUMON_WINDOW_PROFILER)
		classes |= INJECT_CLASS_PROFILER_ON | INJECT_CLASS_PROFILER_OFF;
	return classes;
}

void inject_subscribe_always(struct inject_thread *thread, bool at_start)
{
	enable_and_dump(thread, CUPTI_ACTIVITY_KIND_DEVICE, at_start, "devices");
	enable_and_dump(thread, CUPTI_ACTIVITY_KIND_CONTEXT, at_start, "contexts");
	enable_and_dump(thread, CUPTI_ACTIVITY_KIND_STREAM, at_start, "streams");
	enable_classes(thread, classes_always(), true);
	enable_resource(thread, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, "nodes of graphs");
	enable_resource(thread, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, "clones of nodes of graphs");
	enable_resource(thread, INJECT_GRAPH_NODE_UPDATED, NULL);
	enable_resource(thread, INJECT_GRAPH_NODE_SET_PARAMS, NULL);
	enable_resource(thread, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, "the begin of contexts");
	enable_resource(thread, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
			"the end of contexts");
	if (inject_stalls_wanted()) {
		enable_resource(thread, CUPTI_CBID_RESOURCE_MODULE_LOADED, "modules");
		enable_resource(thread, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
				"the end of modules");
	}
	if (inject_nvtx_wanted())
		expect_success(thread,
			       inject_cupti.cuptiEnableDomain(1, inject_subscriber,
							      CUPTI_CB_DOMAIN_NVTX),
			       "NVTX ranges");
	if (inject_hw_trace_is_on())
		inject_cupti.cuptiEnableDomain(1, inject_subscriber,
					       (CUpti_CallbackDomain)INJECT_DOMAIN_STATE);
}

/* Needs an initialised driver. */
static void configure_unified_memory(void)
{
	static const CUpti_ActivityUnifiedMemoryCounterKind kinds[] = {
		CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
		CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
		CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
		CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT,
	};
	CUpti_ActivityUnifiedMemoryCounterConfig config[sizeof(kinds) / sizeof(kinds[0])];
	size_t i;

	memset(config, 0, sizeof(config));
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		config[i].scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES;
		config[i].kind = kinds[i];
		config[i].enable = 1;
	}
	if (inject_cupti.cuptiActivityConfigureUnifiedMemoryCounter)
		inject_cupti.cuptiActivityConfigureUnifiedMemoryCounter(
			config, sizeof(kinds) / sizeof(kinds[0]));
}

void inject_subscribe_unified_memory(struct inject_thread *thread)
{
	if (!(inject_session.record & GPUMON_RECORD_UNIFIED) ||
	    !atomic_load(&inject_session.recording))
		return;
	configure_unified_memory();
	enable_kind(thread, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, true, "unified memory");
}

void inject_subscribe_kinds(struct inject_thread *thread, bool on)
{
	uint32_t record = inject_session.record;

	if (!is_subscribed)
		return;
	if (record & GPUMON_RECORD_KERNELS) {
		enable_kind(thread, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, on, "kernels");
		/*
		 * CUPTI 12.4 answers with records of all calls of the driver (seen beside driver 580).
		 * no_internal: for measurements, what these records cost.
		 */
		if (inject_cupti.version >= CUPTI_VERSION_13 &&
		    !inject_cupti_environment.no_internal)
			enable_kind(thread, CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API, on,
				    "kernels of CUDA itself");
		/* Launches of graphs that were made before CUPTI was there would crash in CUPTI 13.0. */
		if (inject_session.settings.graphs == GPUMON_GRAPHS_WHOLE &&
		    inject_cupti_state.from_start)
			enable_kind(thread, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, on,
				    "graphs as a whole");
	}
	if (record & GPUMON_RECORD_COPIES) {
		enable_kind(thread, CUPTI_ACTIVITY_KIND_MEMCPY, on, "copies");
		enable_kind(thread, CUPTI_ACTIVITY_KIND_MEMCPY2, on, "copies between GPUs");
		enable_kind(thread, CUPTI_ACTIVITY_KIND_MEMSET, on, "memsets");
	}
	if (record & GPUMON_RECORD_BLOCKING)
		enable_kind(thread, CUPTI_ACTIVITY_KIND_OVERHEAD, on, "overhead");
	if (record & GPUMON_RECORD_SYNCHRONISATION)
		enable_kind(thread, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, on, "synchronisation");
	if (record & GPUMON_RECORD_ALLOCATIONS)
		enable_kind(thread, CUPTI_ACTIVITY_KIND_MEMORY2, on, "memory");
	if (record & GPUMON_RECORD_UNIFIED) {
		if (!on)
			enable_kind(thread, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, false,
				    NULL);
		else if (atomic_load(&inject_cupti_state.contexts) > 0)
			inject_subscribe_unified_memory(thread);
	}
}

static void switch_calls(struct inject_thread *thread, bool on)
{
	uint32_t record = inject_session.record;
	uint16_t classes = 0;

	if (!is_subscribed)
		return;
	if (record & GPUMON_RECORD_ALL_CALLS) {
		/* The client must not miss a call meanwhile. */
		if (!on && inject_cupti_client)
			return;
		expect_success(thread,
			       inject_cupti.cuptiEnableDomain(on, inject_subscriber,
							      CUPTI_CB_DOMAIN_RUNTIME_API),
			       "all calls of the runtime");
		expect_success(thread,
			       inject_cupti.cuptiEnableDomain(on, inject_subscriber,
							      CUPTI_CB_DOMAIN_DRIVER_API),
			       "all calls of the driver");
		if (!on)
			enable_classes(thread, classes_always(), true);
		return;
	}
	if (record & GPUMON_RECORD_KERNELS)
		classes |= INJECT_CLASS_KERNEL | INJECT_CLASS_GRAPH;
	if (record & GPUMON_RECORD_COPIES)
		classes |= INJECT_CLASS_COPY | INJECT_CLASS_SET;
	if (record & (GPUMON_RECORD_BLOCKING | GPUMON_RECORD_SYNCHRONISATION))
		classes |= INJECT_CLASS_BLOCKING;
	if (classes && !inject_cupti_environment.late)
		classes |= INJECT_CLASS_ENDED;
	enable_classes(thread, classes, on);
}

/*
 * When callbacks were disabled, a thread was in a call that had one: CUPTI has something of it until the call
 * ends, which nothing tells.
 */
static bool has_left_calls;

void inject_subscribe_calls(struct inject_thread *thread, bool on)
{
	switch_calls(thread, on);
	has_left_calls = !on && inject_callbacks_left_calls();
}

void inject_subscribe_clock_lost(void)
{
	has_clock = false;
}

void inject_subscribe_clock_again(void)
{
	if (is_subscribed)
		inject_generation->set_clock();
}

static void disable_always(void)
{
	inject_generation->disable(CUPTI_ACTIVITY_KIND_DEVICE);
	inject_generation->disable(CUPTI_ACTIVITY_KIND_CONTEXT);
	inject_generation->disable(CUPTI_ACTIVITY_KIND_STREAM);
}

bool inject_subscribe_ends_alone(void)
{
	if (!inject_generation->shares)
		return true;
	disable_always();
	return inject_generation_is_idle();
}

void inject_unsubscribe(bool program_goes_on)
{
	if (!is_subscribed)
		return;
	disable_always();
	if (inject_cupti_client) {
		is_subscribed = false;
		return;
	}
	if (!program_goes_on || !inject_detach(inject_subscriber))
		inject_cupti.cuptiUnsubscribe(inject_subscriber);
	else
		has_clock = false;
	if (inject_generation->shares)
		has_clock = false;
	inject_subscriber = NULL;
	is_subscribed = false;
}

void inject_subscribe_forked(void)
{
	inject_cupti_client = NULL;
	inject_subscriber = NULL;
	is_subscribed = false;
}

/* cuptiGetVersion() of CUDA 12.6 */
#define CUPTI_VERSION_12_6 24u

/* Used by the library's thread alone. */
static enum {
	NOT_WANTED,
	WANTED,
	DETACHED,
	ASKED,
} state;

void inject_detach_in_call(void)
{
	if (!inject_self || !inject_self->ours)
		return;
	if (state == WANTED && inject_cupti.cuptiFinalize() == CUPTI_SUCCESS)
		state = DETACHED;
	else if (state == ASKED)
		state = NOT_WANTED;
}

/* Threads that have not ended and called the API, or NVTX, while something was recorded. */
static bool is_one_thread(void)
{
	const struct inject_thread *thread;
	unsigned int count = 0;

	for (thread = inject_thread_first(); thread; thread = thread->next)
		count += !thread->ours && atomic_load(&thread->taken);
	return count <= 1;
}

/* How long the program's threads may take to come back from callbacks; else CUPTI stays. */
#define CALLBACKS_NS (INJECT_PATIENCE(500) * 1000000ull)

bool inject_detach(CUpti_SubscriberHandle ours)
{
	__typeof__(&cuDriverGetVersion) get_version = inject_cuda_symbol("cuDriverGetVersion");
	bool detached;
	int version;

	if (atomic_load(&inject_cupti_state.has_graphs) || !inject_cupti.cuptiFinalize ||
	    inject_hw_trace_is_on() || !is_one_thread() ||
	    inject_cupti.version < CUPTI_VERSION_12_6 || !get_version || has_left_calls ||
	    !inject_callbacks_are_over(inject_now() + CALLBACKS_NS) ||
	    inject_cupti.cuptiEnableCallback(1, ours, CUPTI_CB_DOMAIN_DRIVER_API,
					     CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion) !=
		    CUPTI_SUCCESS)
		return false;
	state = WANTED;
	get_version(&version);
	/* It does nothing while there is another subscriber: then this one is still called. */
	if (state == DETACHED && inject_generation->shares) {
		state = ASKED;
		get_version(&version);
		detached = state == ASKED;
	} else {
		detached = state == DETACHED;
	}
	state = NOT_WANTED;
	return detached;
}

/* Streams whose records may still come: those of the last contexts. */
#define OWN 256

/**
 * struct own - a stream of the client
 * @key: ids of context and stream
 * @memory: address, 0: none
 */
struct own {
	_Atomic uint64_t key;
	_Atomic uint64_t memory;
};

static struct own owned[OWN];
static _Atomic unsigned int owned_n;

static uint64_t key_of(uint32_t context, uint32_t stream)
{
	return (uint64_t)context << 32 | stream;
}

/* How many streams there are. The oldest give way. */
static unsigned int count_owned(void)
{
	unsigned int n = atomic_load(&owned_n);

	return n < OWN ? n : OWN;
}

static struct own *find_own(uint64_t key)
{
	unsigned int n = count_owned();

	for (unsigned int i = 0; i < n; i++)
		if (atomic_load_explicit(&owned[i].key, memory_order_relaxed) == key)
			return &owned[i];
	return NULL;
}

void inject_cupti_client_own(CUcontext context, CUstream stream, CUdeviceptr memory)
{
	uint32_t context_id, stream_id;
	struct own *own;
	uint64_t key;

	if (!inject_cupti.cuptiGetContextId || !inject_cupti.cuptiGetStreamIdEx ||
	    inject_cupti.cuptiGetContextId(context, &context_id) != CUPTI_SUCCESS ||
	    inject_cupti.cuptiGetStreamIdEx(context, stream, 0, &stream_id) != CUPTI_SUCCESS)
		return;
	key = key_of(context_id, stream_id);
	own = find_own(key);
	if (own) {
		atomic_store(&own->memory, memory);
		return;
	}
	own = &owned[atomic_load(&owned_n) % OWN];
	atomic_store(&own->memory, memory);
	atomic_store(&own->key, key);
	atomic_fetch_add(&owned_n, 1);
}

bool inject_cupti_client_owns_stream(uint32_t context, uint32_t stream)
{
	return find_own(key_of(context, stream));
}

bool inject_cupti_client_owns_memory(uint32_t context, uint64_t address)
{
	unsigned int n = count_owned();

	for (unsigned int i = 0; i < n; i++)
		if (atomic_load(&owned[i].memory) == address &&
		    atomic_load(&owned[i].key) >> 32 == context)
			return true;
	return false;
}
