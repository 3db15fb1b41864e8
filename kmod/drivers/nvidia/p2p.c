// SPDX-License-Identifier: GPL-2.0-only
/*
 * Group nvidia: access of other devices (RDMA) to a GPU's memory. This is not
 * what goes over NVLink between GPUs.
 *
 * Pages that were got are followed by the page table that the driver hands
 * out, until they are put or the user frees the table because the memory is
 * taken away.
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
	[P2P_GETS] = NVIDIA_COUNTER("gets", GETS),
	[P2P_GETS_FAILED] = NVIDIA_COUNTER("gets_failed", GETS),
	[P2P_GETS_UNTRACKED] = NVIDIA_COUNTER("gets_untracked", GETS),
	[P2P_BYTES] = NVIDIA_COUNTER("bytes", GETS),
	[P2P_PUTS] = NVIDIA_COUNTER("puts", PUTS),
	[P2P_PUTS_FAILED] = NVIDIA_COUNTER("puts_failed", PUTS),
	[P2P_FREES] = NVIDIA_COUNTER("frees", BIT(NVIDIA_P2P_FREE)),
	[P2P_LIVE_BYTES] = { .name = "live_bytes",
			     .kind = GPUMON_COLUMN_KIND_GAUGE,
			     .roles = GETS | PUTS | BIT(NVIDIA_P2P_FREE) },
	[P2P_DMA_MAPS] = NVIDIA_COUNTER("dma_maps", BIT(NVIDIA_P2P_MAP)),
	[P2P_DMA_MAPS_FAILED] = NVIDIA_COUNTER("dma_maps_failed", BIT(NVIDIA_P2P_MAP)),
	[P2P_DMA_MAPS_UNTRACKED] = NVIDIA_COUNTER("dma_maps_untracked", BIT(NVIDIA_P2P_MAP)),
	[P2P_DMA_BYTES] = NVIDIA_COUNTER("dma_bytes", BIT(NVIDIA_P2P_MAP)),
	[P2P_DMA_UNMAPS] = NVIDIA_COUNTER("dma_unmaps", BIT(NVIDIA_P2P_UNMAP)),
};

struct gpumon_statistics gpumon_nvidia_p2p = {
	.name = "p2p",
	.labels = { "peer" },
	GPUMON_COLUMNS(p2p_columns),
	.capacity = 64,
};

/* value: bytes. */
struct gpumon_track gpumon_nvidia_page_tables = {
	.name = "page tables",
	.capacity = 8192,
};

static u32 peer_row(const char *peer)
{
	u64 key = gpumon_key_mix(gpumon_key_text(peer), 0);
	u32 row = gpumon_row_find(&gpumon_nvidia_p2p, key);

	return likely(row != GPUMON_NONE) ?
		       row :
		       gpumon_row_learn(&gpumon_nvidia_p2p, key, peer, NULL, NULL);
}

/* Gets and puts do not name the device that will use the pages. */
static u32 unknown_peer_row(void)
{
	return peer_row(GPUMON_DEVICE_UNKNOWN);
}

/* kretprobe on nvidia_p2p_get_pages(token, va_space, va, length, table, callback, data) */
GPUMON_KRETPROBE(gpumon_nvidia_p2p_get_entered)
{
	struct nvidia_p2p_data *p2p = (void *)instance->data;

	p2p->bytes = regs_get_kernel_argument(regs, 3);
	p2p->table = (void *)regs_get_kernel_argument(regs, 4);
	return 0;
}

/* kretprobe on nvidia_p2p_get_pages_persistent(va, length, table, flags) */
GPUMON_KRETPROBE(gpumon_nvidia_p2p_get_persistent_entered)
{
	struct nvidia_p2p_data *p2p = (void *)instance->data;

	p2p->bytes = regs_get_kernel_argument(regs, 1);
	p2p->table = (void *)regs_get_kernel_argument(regs, 2);
	return 0;
}

static bool pages_begin(const void *table, u64 bytes, u32 row)
{
	return gpumon_level_begin(&gpumon_nvidia_page_tables, (unsigned long)table,
				  &gpumon_nvidia_p2p, row, P2P_LIVE_BYTES, bytes);
}

GPUMON_KRETPROBE(gpumon_nvidia_p2p_get_returned)
{
	const struct nvidia_p2p_data *p2p = (void *)instance->data;
	int ret = regs_return_value(regs);
	struct gpumon_event_context ctx;
	const void *table;
	local64_t *words;
	u32 row;

	if (!gpumon_kretprobe_enter(&ctx, instance))
		return 0;
	row = unknown_peer_row();
	if (!gpumon_row_begin(&ctx, &gpumon_nvidia_p2p, row, ret ? P2P_GETS_FAILED : P2P_GETS,
			      &words))
		goto leave;
	if (!ret) {
		gpumon_row_add(words, P2P_BYTES, p2p->bytes);
		if (get_kernel_nofault(table, (const void *const *)p2p->table) ||
		    !pages_begin(table, p2p->bytes, row))
			gpumon_row_add(words, P2P_GETS_UNTRACKED, 1);
	}
	gpumon_event_ring_now(GPUMON_EVENT_P2P_GET, row, p2p->bytes, ret, 0, 0);
leave:
	gpumon_probe_leave(&ctx);
	return 0;
}

/*
 * Returns how many bytes they were, 0 if their beginning was not seen. A put and the end of the
 * memory may come at once: one of them has the entry.
 */
static u64 pages_end(const void *table)
{
	struct gpumon_track *track = &gpumon_nvidia_page_tables;
	const u64 key = (unsigned long)table;
	struct gpumon_tracked *pages = key ? gpumon_track_find(track, key) : NULL;
	u64 bytes;

	if (!pages || cmpxchg64(&track->table.keys[pages - track->entries], key,
				GPUMON_TABLE_RECYCLING) != key)
		return 0;
	bytes = pages->value;
	gpumon_level_end(track, pages, &gpumon_nvidia_p2p, P2P_LIVE_BYTES);
	return bytes;
}

/* Now, before the driver frees the table: a get may have its address before the put returns. */
static void put_begins(struct kretprobe_instance *instance, const void *table)
{
	struct nvidia_p2p_data *p2p = (void *)instance->data;

	p2p->table = table;
	p2p->bytes = pages_end(table);
}

/* kretprobe on nvidia_p2p_put_pages(token, va_space, va, table) */
GPUMON_KRETPROBE(gpumon_nvidia_p2p_put_entered)
{
	put_begins(instance, (void *)regs_get_kernel_argument(regs, 3));
	return 0;
}

/* kretprobe on nvidia_p2p_put_pages_persistent(va, table, flags) */
GPUMON_KRETPROBE(gpumon_nvidia_p2p_put_persistent_entered)
{
	put_begins(instance, (void *)regs_get_kernel_argument(regs, 1));
	return 0;
}

static void count_end(struct gpumon_event_context *ctx, u32 row, unsigned int column, u64 bytes)
{
	if (gpumon_row_count(ctx, &gpumon_nvidia_p2p, row, column) && column != P2P_PUTS_FAILED)
		gpumon_event_ring_now(GPUMON_EVENT_P2P_PUT, row, bytes, 0, 0, 0);
}

GPUMON_KRETPROBE(gpumon_nvidia_p2p_put_returned)
{
	const struct nvidia_p2p_data *p2p = (void *)instance->data;
	int ret = regs_return_value(regs);
	struct gpumon_event_context ctx;
	u32 row;

	if (!gpumon_kretprobe_enter(&ctx, instance))
		return 0;
	row = unknown_peer_row();
	/* The table is still there. */
	if (ret && p2p->bytes && row < GPUMON_UNREADABLE)
		pages_begin(p2p->table, p2p->bytes, row);
	count_end(&ctx, row, ret ? P2P_PUTS_FAILED : P2P_PUTS, p2p->bytes);
	gpumon_probe_leave(&ctx);
	return 0;
}

/* kprobe on nvidia_p2p_free_page_table(table): the answer when the memory is taken away */
GPUMON_KPROBE(gpumon_nvidia_p2p_free_called)
{
	const void *table = (void *)regs_get_kernel_argument(regs, 0);
	struct gpumon_event_context ctx;

	if (!gpumon_kprobe_enter(&ctx, kprobe))
		return 0;
	count_end(&ctx, unknown_peer_row(), P2P_FREES, pages_end(table));
	gpumon_probe_leave(&ctx);
	return 0;
}

/* kretprobe on nvidia_p2p_dma_map_pages() and _unmap_pages(peer, table, mapping) */
GPUMON_KRETPROBE(gpumon_nvidia_p2p_map_entered)
{
	struct nvidia_p2p_data *p2p = (void *)instance->data;

	p2p->peer = (void *)regs_get_kernel_argument(regs, 0);
	p2p->table = (void *)regs_get_kernel_argument(regs, 1);
	return 0;
}

static u32 row_of_peer(const struct pci_dev *peer)
{
	char name[NVIDIA_NAME_LEN];

	gpumon_nvidia_device_name(name, &peer->dev);
	return peer_row(name);
}

GPUMON_KRETPROBE(gpumon_nvidia_p2p_map_returned)
{
	const struct nvidia_p2p_data *p2p = (void *)instance->data;
	const struct gpumon_tracked *pages = NULL;
	int ret = regs_return_value(regs);
	struct gpumon_event_context ctx;
	local64_t *words;
	u64 bytes = 0;
	u32 row;

	if (!gpumon_kretprobe_enter(&ctx, instance))
		return 0;
	row = row_of_peer(p2p->peer);
	if (!gpumon_row_begin(&ctx, &gpumon_nvidia_p2p, row,
			      ret ? P2P_DMA_MAPS_FAILED : P2P_DMA_MAPS, &words))
		goto leave;
	if (!ret) {
		if (p2p->table)
			pages = gpumon_track_find(&gpumon_nvidia_page_tables,
						  (unsigned long)p2p->table);
		bytes = pages ? pages->value : 0;
		gpumon_row_add(words, pages ? P2P_DMA_BYTES : P2P_DMA_MAPS_UNTRACKED,
			       pages ? bytes : 1);
	}
	gpumon_event_ring_now(GPUMON_EVENT_P2P_DMA_MAP, row, bytes, ret, 0, 0);
leave:
	gpumon_probe_leave(&ctx);
	return 0;
}

GPUMON_KRETPROBE(gpumon_nvidia_p2p_unmap_returned)
{
	const struct nvidia_p2p_data *p2p = (void *)instance->data;
	struct gpumon_event_context ctx;
	u32 row;

	if (!gpumon_kretprobe_enter(&ctx, instance))
		return 0;
	row = row_of_peer(p2p->peer);
	if (gpumon_probe_found(&ctx, row)) {
		if (!(int)regs_return_value(regs))
			gpumon_row_add(gpumon_row_words(&gpumon_nvidia_p2p, row), P2P_DMA_UNMAPS,
				       1);
		gpumon_probe_recorded(&ctx);
	}
	gpumon_probe_leave(&ctx);
	return 0;
}
