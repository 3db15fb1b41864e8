/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_CUPTI_GRAPHS_H
#define GPUMON_INJECT_CUPTI_GRAPHS_H

#include "channel/thread.h"
#include "library.h"

/* CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED and _SET_PARAMS, which older headers lack. */
#define INJECT_GRAPH_NODE_UPDATED    22
#define INJECT_GRAPH_NODE_SET_PARAMS 23

/* At the begin and end of a capture: changes to graphs are counted, for a note at its end. */
void inject_graphs_begin(void);
void inject_graphs_end(struct inject_thread *thread);

/* A callback of the RESOURCE domain: nodes of graphs, and contexts. */
void inject_resource(struct inject_thread *thread, CUpti_CallbackId id,
		     const CUpti_ResourceData *data);

/* The call launches a graph: its id, as kernels of its nodes have it; 0 if unknown. */
uint32_t inject_graph_launched(const CUpti_CallbackData *data);

/**
 * inject_call_is_captured - whether a launch goes into a graph and not to the GPU
 * @domain: of the callback
 * @data: of it
 *
 * Called only while some stream of the process is being captured and no node was
 * made within the call.
 */
bool inject_call_is_captured(CUpti_CallbackDomain domain, const CUpti_CallbackData *data);

#endif /* GPUMON_INJECT_CUPTI_GRAPHS_H */
