// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Graphs. Kernels that run from a graph have no launch of their own: their stack
 * is that of the call that made the node. A launch into a stream that is being
 * captured makes a node and nothing else.
 */
#include <stddef.h>
#include <string.h>

#include "channel/call.h"
#include "cubins.h"
#include "graphs.h"
#include "pm_sampling.h"
#include "session/session.h"
#include "stalls.h"
#include "subscribe.h"

static uint64_t node_id(CUgraphNode node)
{
	uint64_t id = 0;

	if (!node || !inject_cupti.cuptiGetGraphNodeId ||
	    inject_cupti.cuptiGetGraphNodeId(node, &id) != CUPTI_SUCCESS)
		return 0;
	return id;
}

static uint32_t graph_id(CUgraph graph)
{
	uint32_t id = 0;

	if (!graph || !inject_cupti.cuptiGetGraphId ||
	    inject_cupti.cuptiGetGraphId(graph, &id) != CUPTI_SUCCESS)
		return 0;
	return id;
}

uint32_t inject_graph_launched(const CUpti_CallbackData *data)
{
	/* The first parameter of all functions that launch graphs. */
	CUgraphExec exec = data->functionParams ? *(const CUgraphExec *)data->functionParams : NULL;
	uint32_t id = 0;

	atomic_store_explicit(&inject_cupti_state.launches_graphs, true, memory_order_relaxed);
	if (!exec || !inject_cupti.cuptiGetGraphExecId ||
	    inject_cupti.cuptiGetGraphExecId(exec, &id) != CUPTI_SUCCESS)
		return 0;
	return id;
}

static void made_node(struct inject_thread *thread, const CUpti_GraphData *data, bool is_clone)
{
	struct gpumon_record_graph_node record = {
		.head = { .type = GPUMON_RECORD_GRAPH_NODE, .size = sizeof(record) },
	};
	struct inject_call *call = &thread->call;

	atomic_store_explicit(&inject_cupti_state.has_graphs, true, memory_order_relaxed);
	if (!data)
		return;
	record.node = node_id(data->node);
	record.graph = graph_id(data->graph);
	if (is_clone) {
		record.original = node_id(data->originalNode);
	} else if (call->open && (call->class & INJECT_CLASS_LAUNCH)) {
		call->is_captured = true;
		/* Each launch of the graph has this stack, so --sample does not leave it out. */
		if (call->is_unsampled)
			call->stack = inject_call_path(thread);
		call->is_unsampled = false;
		record.stack = call->stack;
	} else if (inject_session.record & GPUMON_RECORD_STACKS) {
		record.stack = inject_call_path(thread);
	}
	if (record.node)
		inject_append(thread, &record);
}

/* Nodes given other parameters: by cudaGraphExecUpdate, by cudaGraphExecKernelNodeSetParams. */
static _Atomic uint64_t updates[2];

void inject_graphs_begin(void)
{
	atomic_store(&updates[0], 0);
	atomic_store(&updates[1], 0);
}

/*
 * A changed node keeps its id, so its kernels are shown with the stack of its creation. A note says
 * how often nodes were changed.
 */
void inject_graphs_end(struct inject_thread *thread)
{
	uint64_t updated = atomic_load(&updates[0]), set = atomic_load(&updates[1]);

	if (updated || set)
		inject_session_note(
			thread, 0,
			"nodes of graphs were changed after they were made, %llu times by an update of the whole graph, %llu times alone: their work is shown where the nodes were made",
			(unsigned long long)updated, (unsigned long long)set);
}

static void end_context(struct inject_thread *thread, CUcontext context)
{
	struct gpumon_record_context record = {
		.head = { .type = GPUMON_RECORD_CONTEXT,
			  .flags = GPUMON_CONTEXT_DESTROYED,
			  .size = sizeof(record) },
		.time_ns = inject_now(),
	};

	if (!inject_cupti.cuptiGetContextId || !inject_cupti.cuptiGetDeviceId ||
	    inject_cupti.cuptiGetContextId(context, &record.id) != CUPTI_SUCCESS ||
	    inject_cupti.cuptiGetDeviceId(context, &record.device) != CUPTI_SUCCESS)
		return;
	inject_append(thread, &record);
	atomic_fetch_sub(&inject_cupti_state.contexts, 1);
}

static void copy_module(const CUpti_ModuleResourceData *module)
{
	if (module)
		inject_cubins_loaded(module->pCubin, module->cubinSize);
}

void inject_resource(struct inject_thread *thread, CUpti_CallbackId id,
		     const CUpti_ResourceData *data)
{
	switch (id) {
	case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
		made_node(thread, data->resourceDescriptor, false);
		break;
	case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
		made_node(thread, data->resourceDescriptor, true);
		break;
	case INJECT_GRAPH_NODE_UPDATED:
	case INJECT_GRAPH_NODE_SET_PARAMS:
		atomic_fetch_add_explicit(&updates[id - INJECT_GRAPH_NODE_UPDATED], 1,
					  memory_order_relaxed);
		break;
	case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
		inject_subscribe_unified_memory(thread);
		inject_pm_context_made(data->context);
		inject_stalls_context_made(thread, data->context);
		break;
	case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
		inject_stalls_context_ends(data->context);
		end_context(thread, data->context);
		break;
	case CUPTI_CBID_RESOURCE_MODULE_LOADED:
		copy_module(data->resourceDescriptor);
		break;
	case CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING:
		inject_stalls_module_ends();
		break;
	default:
		break;
	}
}

/* Where a function's parameters have the stream, or the config with it, by prefix of the name. */
#define STREAM(name, type, member)                                    \
	{                                                             \
		name, sizeof(name) - 1, offsetof(type, member), false \
	}
#define CONFIG(name, type)                                           \
	{                                                            \
		name, sizeof(name) - 1, offsetof(type, config), true \
	}
static const struct place {
	const char *name;
	uint8_t length;
	uint8_t offset;
	bool has_config;
} places[] = {
	CONFIG("cuLaunchKernelEx", cuLaunchKernelEx_params),
	STREAM("cuLaunchKernel", cuLaunchKernel_params, hStream),
	STREAM("cuLaunchCooperativeKernel", cuLaunchCooperativeKernel_params, hStream),
	STREAM("cuMemcpyAsync", cuMemcpyAsync_params, hStream),
	STREAM("cuMemcpyHtoDAsync", cuMemcpyHtoDAsync_v2_params, hStream),
	STREAM("cuMemcpyDtoHAsync", cuMemcpyDtoHAsync_v2_params, hStream),
	STREAM("cuMemcpyDtoDAsync", cuMemcpyDtoDAsync_v2_params, hStream),
	STREAM("cuMemcpyPeerAsync", cuMemcpyPeerAsync_params, hStream),
	STREAM("cuMemcpy2DAsync", cuMemcpy2DAsync_v2_params, hStream),
	STREAM("cuMemcpy3DAsync", cuMemcpy3DAsync_v2_params, hStream),
	STREAM("cuMemsetD8Async", cuMemsetD8Async_params, hStream),
	STREAM("cuMemsetD16Async", cuMemsetD16Async_params, hStream),
	STREAM("cuMemsetD32Async", cuMemsetD32Async_params, hStream),
	CONFIG("cudaLaunchKernelExC", cudaLaunchKernelExC_v11060_params),
	STREAM("cudaLaunchKernel", cudaLaunchKernel_v7000_params, stream),
	STREAM("cudaMemcpyAsync", cudaMemcpyAsync_v3020_params, stream),
	STREAM("cudaMemsetAsync", cudaMemsetAsync_v3020_params, stream),
};

/* The stream of a call of the usual functions; false for others. */
static bool find_stream(CUpti_CallbackDomain domain, const CUpti_CallbackData *data,
			CUstream *stream)
{
	const char *name = data->functionName, *parameters = (const char *)data->functionParams;
	const struct place *place;
	const void *config;
	size_t i;

	if (!name || !parameters)
		return false;
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		place = &places[i];
		if (strncmp(name, place->name, place->length) != 0)
			continue;
		if (!place->has_config) {
			memcpy(stream, parameters + place->offset, sizeof(*stream));
		} else {
			memcpy(&config, parameters + place->offset, sizeof(config));
			*stream = domain == CUPTI_CB_DOMAIN_DRIVER_API ?
					  ((const CUlaunchConfig *)config)->hStream :
					  (CUstream)((const cudaLaunchConfig_t *)config)->stream;
		}
		if (!*stream)
			*stream = strstr(name, "_pts") ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
		return true;
	}
	return false;
}

bool inject_call_is_captured(CUpti_CallbackDomain domain, const CUpti_CallbackData *data)
{
	static CUresult (*is_capturing)(CUstream, CUstreamCaptureStatus *);
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUstream stream;

	if (!find_stream(domain, data, &stream))
		return false;
	if (!is_capturing)
		is_capturing = inject_cuda_symbol("cuStreamIsCapturing");
	return is_capturing && is_capturing(stream, &status) == CUDA_SUCCESS &&
	       status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}
