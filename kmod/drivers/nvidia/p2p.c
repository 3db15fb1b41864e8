// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group nvidia: access of other devices (RDMA) to a GPU's memory. Traffic over NVLink between GPUs
 * is not part of it.
 *
 * Pages that a peer has got are tracked by the page table that the driver hands out, until they are
 * put or the user frees the table because the memory is taken away.
 */
#include <linux/pci.h>

#include "internal.h"

#define GETS (BIT(NVIDIA_P2P_GET) | BIT(NVIDIA_P2P_GET_PERSISTENT))
#define PUTS (BIT(NVIDIA_P2P_PUT) | BIT(NVIDIA_P2P_PUT_PERSISTENT))

enum {
	P2P_GETS,
	P2P_GETS_FAILED,
	P2P_GETS_UNTRACKED,
	P2P_BYTES,
	P2P_PUTS,
	P2P_PUTS_FAILED,
	P2P_FREES,
	P2P_LIVE_BYTES,
	P2P_DMA_MAPS,
	P2P_DMA_MAPS_FAILED,
	P2P_DMA_MAPS_UNTRACKED,
	P2P_DMA_BYTES,
	P2P_DMA_UNMAPS
};

static const struct gpumon_column p2p_columns[] = {
	[P2P_GETS] = GPUMON_COUNTER("gets", .roles = GETS),
	[P2P_GETS_FAILED] = GPUMON_COUNTER("gets_failed", .roles = GETS),
	[P2P_GETS_UNTRACKED] = GPUMON_COUNTER("gets_untracked", .roles = GETS),
	[P2P_BYTES] = GPUMON_COUNTER("bytes", .roles = GETS),
	[P2P_PUTS] = GPUMON_COUNTER("puts", .roles = PUTS),
	[P2P_PUTS_FAILED] = GPUMON_COUNTER("puts_failed", .roles = PUTS),
	[P2P_FREES] = GPUMON_COUNTER("frees", .roles = BIT(NVIDIA_P2P_FREE)),
	[P2P_LIVE_BYTES] = GPUMON_GAUGE("live_bytes", .roles = GETS | PUTS | BIT(NVIDIA_P2P_FREE)),
	[P2P_DMA_MAPS] = GPUMON_COUNTER("dma_maps", .roles = BIT(NVIDIA_P2P_MAP)),
	[P2P_DMA_MAPS_FAILED] = GPUMON_COUNTER("dma_maps_failed", .roles = BIT(NVIDIA_P2P_MAP)),
	[P2P_DMA_MAPS_UNTRACKED] =
		GPUMON_COUNTER("dma_maps_untracked", .roles = BIT(NVIDIA_P2P_MAP)),
	[P2P_DMA_BYTES] = GPUMON_COUNTER("dma_bytes", .roles = BIT(NVIDIA_P2P_MAP)),
	[P2P_DMA_UNMAPS] = GPUMON_COUNTER("dma_unmaps", .roles = BIT(NVIDIA_P2P_UNMAP)),
};

struct gpumon_statistics gpumon_nvidia_p2p = {
	.name = "p2p",
	.labels = { "peer" },
	GPUMON_COLUMNS(p2p_columns),
	.capacity = 64,
};

/* Pages that a peer has got, by the address of the page table; entries are levels of bytes. */
struct gpumon_track gpumon_nvidia_page_tables = {
	.capacity = 8192,
};

static u32 p2p_peer_row(const char *peer)
{
	u64 key = gpumon_key_mix(gpumon_key_text(peer), 0);

	return gpumon_row_learn(&gpumon_nvidia_p2p, key, peer, NULL, NULL);
}

/* Gets and puts do not name the device that will use the pages. */
static u32 p2p_unknown_peer_row(void)
{
	return p2p_peer_row(GPUMON_DEVICE_UNKNOWN);
}

static bool p2p_pages_begin(const void *table, u64 bytes, u32 row)
{
	return gpumon_level_begin(&gpumon_nvidia_page_tables, (unsigned long)table,
				  &gpumon_nvidia_p2p, row, P2P_LIVE_BYTES, bytes);
}

static void p2p_count_get(struct gpumon_event_context *ctx, int ret, const void *const *result,
		      u64 bytes)
{
	u32 row = p2p_unknown_peer_row();
	const void *table;
	local64_t *words;

	if (!gpumon_row_begin(ctx, &gpumon_nvidia_p2p, row, ret ? P2P_GETS_FAILED : P2P_GETS,
			      &words))
		return;
	if (!ret) {
		gpumon_row_add(words, P2P_BYTES, bytes);
		if (get_kernel_nofault(table, result) || !p2p_pages_begin(table, bytes, row))
			gpumon_row_add(words, P2P_GETS_UNTRACKED, 1);
	}
	gpumon_event_ring_now(GPUMON_EVENT_P2P_GET, row, bytes, ret, 0, 0);
}

/* kretprobe on nvidia_p2p_get_pages(token, va_space, va, length, table, callback, data) */
GPUMON_KRETPROBE_BODY(gpumon_nvidia_p2p_get_returned)
{
	const struct gpumon_call *call = gpumon_call(instance);

	p2p_count_get(ctx, regs_return_value(regs), (void *)call->argument[4], call->argument[3]);
}

/* kretprobe on nvidia_p2p_get_pages_persistent(va, length, table, flags) */
GPUMON_KRETPROBE_BODY(gpumon_nvidia_p2p_get_persistent_returned)
{
	const struct gpumon_call *call = gpumon_call(instance);

	p2p_count_get(ctx, regs_return_value(regs), (void *)call->argument[2], call->argument[1]);
}

/*
 * Ends the tracking of pages. Returns how many bytes they were, 0 if the get was not seen. A put
 * and the end of the memory may come at once: one of them gets the entry.
 */
static u64 p2p_pages_end(const void *table)
{
	struct gpumon_track *track = &gpumon_nvidia_page_tables;
	const u64 key = (unsigned long)table;
	struct gpumon_level *pages = key ? gpumon_track_find(track, key) : NULL;
	u64 bytes;

	if (!pages || !gpumon_track_take(track, pages, key))
		return 0;
	bytes = pages->value;
	gpumon_level_end(track, pages, &gpumon_nvidia_p2p, P2P_LIVE_BYTES);
	return bytes;
}

/*
 * Ends the tracking before the driver frees the table: another get may have its address before the
 * put returns.
 */
static void p2p_put_begins(struct kretprobe_instance *instance, const void *table)
{
	struct nvidia_put_data *put = (void *)instance->data;

	put->table = table;
	put->bytes = p2p_pages_end(table);
}

/* kretprobe on nvidia_p2p_put_pages(token, va_space, va, table) */
GPUMON_KRETPROBE(gpumon_nvidia_p2p_put_entered)
{
	p2p_put_begins(instance, (void *)gpumon_compat_kernel_argument(regs, 3));
	return 0;
}

/* kretprobe on nvidia_p2p_put_pages_persistent(va, table, flags) */
GPUMON_KRETPROBE(gpumon_nvidia_p2p_put_persistent_entered)
{
	p2p_put_begins(instance, (void *)gpumon_compat_kernel_argument(regs, 1));
	return 0;
}

static void p2p_count_end(struct gpumon_event_context *ctx, u32 row, unsigned int column, u64 bytes)
{
	if (gpumon_row_count(ctx, &gpumon_nvidia_p2p, row, column) && column != P2P_PUTS_FAILED)
		gpumon_event_ring_now(GPUMON_EVENT_P2P_PUT, row, bytes, 0, 0, 0);
}

GPUMON_KRETPROBE_BODY(gpumon_nvidia_p2p_put_returned)
{
	const struct nvidia_put_data *put = (void *)instance->data;
	int ret = regs_return_value(regs);
	u32 row = p2p_unknown_peer_row();

	/* After a failed put the table is still there. */
	if (ret && put->bytes && row < GPUMON_UNREADABLE)
		p2p_pages_begin(put->table, put->bytes, row);
	p2p_count_end(ctx, row, ret ? P2P_PUTS_FAILED : P2P_PUTS, put->bytes);
}

/* kprobe on nvidia_p2p_free_page_table(table): the answer when the memory is taken away */
GPUMON_KPROBE_BODY(gpumon_nvidia_p2p_free_called)
{
	const void *table = (void *)gpumon_compat_kernel_argument(regs, 0);

	p2p_count_end(ctx, p2p_unknown_peer_row(), P2P_FREES, p2p_pages_end(table));
}

static u32 p2p_peer_row_of_call(const struct gpumon_call *call)
{
	const struct pci_dev *peer = (void *)call->argument[0];
	char name[NVIDIA_NAME_LEN];

	gpumon_nvidia_device_name(name, &peer->dev);
	return p2p_peer_row(name);
}

/* kretprobe on nvidia_p2p_dma_map_pages(peer, table, mapping) */
GPUMON_KRETPROBE_BODY(gpumon_nvidia_p2p_map_returned)
{
	const struct gpumon_call *call = gpumon_call(instance);
	const struct gpumon_level *pages = NULL;
	int ret = regs_return_value(regs);
	u32 row = p2p_peer_row_of_call(call);
	local64_t *words;
	u64 bytes = 0;

	if (!gpumon_row_begin(ctx, &gpumon_nvidia_p2p, row,
			      ret ? P2P_DMA_MAPS_FAILED : P2P_DMA_MAPS, &words))
		return;
	if (!ret) {
		if (call->argument[1])
			pages = gpumon_track_find(&gpumon_nvidia_page_tables, call->argument[1]);
		bytes = pages ? pages->value : 0;
		gpumon_row_add(words, pages ? P2P_DMA_BYTES : P2P_DMA_MAPS_UNTRACKED,
			       pages ? bytes : 1);
	}
	gpumon_event_ring_now(GPUMON_EVENT_P2P_DMA_MAP, row, bytes, ret, 0, 0);
}

/* kretprobe on nvidia_p2p_dma_unmap_pages(peer, table, mapping) */
GPUMON_KRETPROBE_BODY(gpumon_nvidia_p2p_unmap_returned)
{
	u32 row = p2p_peer_row_of_call(gpumon_call(instance));

	if (!gpumon_probe_found(ctx, row))
		return;
	if (!(int)regs_return_value(regs))
		gpumon_row_add(gpumon_row_words(&gpumon_nvidia_p2p, row), P2P_DMA_UNMAPS, 1);
	gpumon_probe_recorded(ctx);
}
