// SPDX-License-Identifier: GPL-2.0-only
/*
 * Access of other devices to a GPU's memory, and a simulated module that requests it (mock_p2p_*),
 * controlled by the control file.
 */
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "mock_nvidia_priv.h"
#include "mock_nvidia_p2p.h"

#define MOCK_P2P_PAGE 0x10000ULL

/* The driver's data of a page table, with the number of its mappings. */
struct mock_table {
	struct nvidia_p2p_page_table base;
	u64 va;
	u64 length;
	bool persistent;
	unsigned int mappings;
	void (*free_callback)(void *data);
	void *data;
};

/* The get of mock_p2p_put_reused(), made after a put has freed its table and before it returns. */
struct mock_reuse {
	u64 id;
	u64 va;
	u64 length;
	int err;
};

static struct mock_reuse *mock_reuse;
/* Table that was freed and that the next get will return. */
static struct mock_table *mock_spare;

static int get_new(u64 id, u64 va, u64 length, bool persistent);

static struct mock_table *to_mock_table(struct nvidia_p2p_page_table *base)
{
	return container_of(base, struct mock_table, base);
}

static void count_p2p(enum mock_counter_id counter, s64 n)
{
	mock_count(MOCK_TOTAL, 0, counter, n);
	mock_count(MOCK_PID, mock_tgid(), counter, n);
}

static int get_pages(u64 va, u64 length, struct nvidia_p2p_page_table **page_table,
		     void (*free_callback)(void *data), void *data)
{
	struct mock_table *table;

	if (!length || length % MOCK_P2P_PAGE || va % MOCK_P2P_PAGE) {
		count_p2p(MOCK_P2P_GET_ERRORS, 1);
		return -EINVAL;
	}
	table = mock_spare ?: kmalloc(sizeof(*table), GFP_KERNEL);
	mock_spare = NULL;
	if (!table)
		return -ENOMEM;
	memset(table, 0, sizeof(*table));
	table->base.version = 0x00010002;
	table->base.page_size = NVIDIA_P2P_PAGE_SIZE_64KB;
	table->base.entries = length / MOCK_P2P_PAGE;
	table->va = va;
	table->length = length;
	table->persistent = !free_callback;
	table->free_callback = free_callback;
	table->data = data;
	*page_table = &table->base;
	count_p2p(MOCK_P2P_GETS, 1);
	count_p2p(MOCK_P2P_GET_BYTES, length);
	count_p2p(MOCK_P2P_LIVE_BYTES, length);
	if (table->persistent)
		count_p2p(MOCK_P2P_PERSISTENT, 1);
	return 0;
}

static int put_pages(u64 va, struct nvidia_p2p_page_table *page_table, bool persistent)
{
	struct mock_table *table;

	if (!page_table)
		return 0;
	table = to_mock_table(page_table);
	if (table->va != va || table->persistent != persistent || table->mappings) {
		count_p2p(MOCK_P2P_PUT_ERRORS, 1);
		return -EINVAL;
	}
	count_p2p(MOCK_P2P_PUTS, 1);
	count_p2p(MOCK_P2P_PUT_BYTES, table->length);
	count_p2p(MOCK_P2P_LIVE_BYTES, -(s64)table->length);
	if (!mock_reuse) {
		kfree(table);
		return 0;
	}
	mock_spare = table;
	mock_reuse->err = get_new(mock_reuse->id, mock_reuse->va, mock_reuse->length, false);
	kfree(mock_spare);
	mock_spare = NULL;
	return 0;
}

/**
 * nvidia_p2p_get_pages() - make a range of GPU memory accessible
 * @p2p_token: 0
 * @va_space: 0
 * @virtual_address: its address, a multiple of 64 KiB
 * @length: in bytes, likewise
 * @page_table: set to its pages
 * @free_callback: called if the memory is freed while in use
 * @data: passed to @free_callback
 *
 * Return: 0 or a negative error.
 */
mock_probed int nvidia_p2p_get_pages(uint64_t p2p_token, uint32_t va_space,
				     uint64_t virtual_address, uint64_t length,
				     struct nvidia_p2p_page_table **page_table,
				     void (*free_callback)(void *data), void *data)
{
	return get_pages(virtual_address, length, page_table, free_callback, data);
}
EXPORT_SYMBOL(nvidia_p2p_get_pages);

/**
 * nvidia_p2p_get_pages_persistent() - the same for memory that stays until it is put
 * @virtual_address: address
 * @length: in bytes
 * @page_table: set to its pages
 * @flags: 0
 *
 * Return: 0 or a negative error.
 */
mock_probed int nvidia_p2p_get_pages_persistent(uint64_t virtual_address, uint64_t length,
						struct nvidia_p2p_page_table **page_table,
						uint32_t flags)
{
	return get_pages(virtual_address, length, page_table, NULL, NULL);
}
EXPORT_SYMBOL(nvidia_p2p_get_pages_persistent);

/**
 * nvidia_p2p_put_pages() - release pages
 * @p2p_token: as for nvidia_p2p_get_pages()
 * @va_space: likewise
 * @virtual_address: likewise
 * @page_table: pages, freed
 *
 * Return: 0, or -EINVAL if the arguments do not match.
 */
mock_probed int nvidia_p2p_put_pages(uint64_t p2p_token, uint32_t va_space,
				     uint64_t virtual_address,
				     struct nvidia_p2p_page_table *page_table)
{
	return put_pages(virtual_address, page_table, false);
}
EXPORT_SYMBOL(nvidia_p2p_put_pages);

/**
 * nvidia_p2p_put_pages_persistent() - release pages
 * @virtual_address: as for nvidia_p2p_get_pages_persistent()
 * @page_table: pages, freed
 * @flags: 0
 *
 * Return: 0, or -EINVAL if the arguments do not match.
 */
mock_probed int nvidia_p2p_put_pages_persistent(uint64_t virtual_address,
						struct nvidia_p2p_page_table *page_table,
						uint32_t flags)
{
	return put_pages(virtual_address, page_table, true);
}
EXPORT_SYMBOL(nvidia_p2p_put_pages_persistent);

/**
 * nvidia_p2p_free_page_table() - called by the user in its free callback
 * @page_table: pages; the driver frees them after the callback
 *
 * Return: 0.
 */
mock_probed int nvidia_p2p_free_page_table(struct nvidia_p2p_page_table *page_table)
{
	struct mock_table *table = to_mock_table(page_table);

	count_p2p(MOCK_P2P_FREES, 1);
	count_p2p(MOCK_P2P_FREE_BYTES, table->length);
	count_p2p(MOCK_P2P_LIVE_BYTES, -(s64)table->length);
	return 0;
}
EXPORT_SYMBOL(nvidia_p2p_free_page_table);

/**
 * nvidia_p2p_dma_map_pages() - map pages for a device
 * @peer: device
 * @page_table: pages
 * @dma_mapping: set to the mapping
 *
 * Return: 0 or a negative error.
 */
mock_probed int nvidia_p2p_dma_map_pages(struct pci_dev *peer,
					 struct nvidia_p2p_page_table *page_table,
					 struct nvidia_p2p_dma_mapping **dma_mapping)
{
	struct nvidia_p2p_dma_mapping *mapping;

	if (!peer || !page_table) {
		count_p2p(MOCK_P2P_MAP_ERRORS, 1);
		return -EINVAL;
	}
	mapping = kzalloc(sizeof(*mapping), GFP_KERNEL);
	if (!mapping)
		return -ENOMEM;
	mapping->version = 0x00020003;
	mapping->page_size_type = NVIDIA_P2P_PAGE_SIZE_64KB;
	mapping->entries = page_table->entries;
	mapping->pci_dev = peer;
	to_mock_table(page_table)->mappings++;
	*dma_mapping = mapping;
	count_p2p(MOCK_P2P_MAPS, 1);
	count_p2p(MOCK_P2P_MAP_BYTES, to_mock_table(page_table)->length);
	count_p2p(MOCK_P2P_MAPPED_BYTES, to_mock_table(page_table)->length);
	return 0;
}
EXPORT_SYMBOL(nvidia_p2p_dma_map_pages);

/**
 * nvidia_p2p_dma_unmap_pages() - end a mapping
 * @peer: device
 * @page_table: pages
 * @dma_mapping: mapping, freed
 *
 * Return: 0, or -EINVAL if the arguments do not match.
 */
mock_probed int nvidia_p2p_dma_unmap_pages(struct pci_dev *peer,
					   struct nvidia_p2p_page_table *page_table,
					   struct nvidia_p2p_dma_mapping *dma_mapping)
{
	if (dma_mapping->pci_dev != peer)
		return -EINVAL;
	to_mock_table(page_table)->mappings--;
	count_p2p(MOCK_P2P_UNMAPS, 1);
	count_p2p(MOCK_P2P_UNMAP_BYTES, to_mock_table(page_table)->length);
	count_p2p(MOCK_P2P_MAPPED_BYTES, -(s64)to_mock_table(page_table)->length);
	kfree(dma_mapping);
	return 0;
}
EXPORT_SYMBOL(nvidia_p2p_dma_unmap_pages);

/**
 * nvidia_p2p_free_dma_mapping() - called by the user in its free callback
 * @dma_mapping: mapping; the driver frees it after the callback
 *
 * Return: 0.
 */
mock_probed int nvidia_p2p_free_dma_mapping(struct nvidia_p2p_dma_mapping *dma_mapping)
{
	u64 length = dma_mapping->entries * MOCK_P2P_PAGE;

	count_p2p(MOCK_P2P_MAP_FREES, 1);
	count_p2p(MOCK_P2P_MAP_FREE_BYTES, length);
	count_p2p(MOCK_P2P_MAPPED_BYTES, -(s64)length);
	return 0;
}
EXPORT_SYMBOL(nvidia_p2p_free_dma_mapping);

/* --- the module that gets the pages */

/**
 * struct mock_p2p - pages held by the other module
 * @node: entry in mock_p2ps
 * @id: number from the control file
 * @va: address
 * @table: pages
 * @mapping: their mapping, or NULL
 * @persistent: they came from the function for persistent pages
 */
struct mock_p2p {
	struct list_head node;
	u64 id;
	u64 va;
	struct nvidia_p2p_page_table *table;
	struct nvidia_p2p_dma_mapping *mapping;
	bool persistent;
};

static LIST_HEAD(mock_p2ps);
static DEFINE_MUTEX(mock_p2p_lock);

static struct mock_p2p *find(u64 id)
{
	struct mock_p2p *p2p;

	list_for_each_entry(p2p, &mock_p2ps, node)
		if (p2p->id == id)
			return p2p;
	return NULL;
}

static void forget(struct mock_p2p *p2p)
{
	list_del(&p2p->node);
	kfree(p2p);
}

static int unmap(struct mock_p2p *p2p)
{
	int err;

	if (!p2p->mapping)
		return -ENOENT;
	err = nvidia_p2p_dma_unmap_pages(p2p->mapping->pci_dev, p2p->table, p2p->mapping);
	if (!err)
		p2p->mapping = NULL;
	return err;
}

static void memory_freed(void *data)
{
	struct mock_p2p *p2p = data;

	if (p2p->mapping)
		nvidia_p2p_free_dma_mapping(p2p->mapping);
	nvidia_p2p_free_page_table(p2p->table);
}

static int get_new(u64 id, u64 va, u64 length, bool persistent)
{
	struct mock_p2p *p2p;
	int err;

	if (find(id))
		return -EEXIST;
	p2p = kzalloc(sizeof(*p2p), GFP_KERNEL);
	if (!p2p)
		return -ENOMEM;
	p2p->id = id;
	p2p->va = va;
	p2p->persistent = persistent;
	if (persistent)
		err = nvidia_p2p_get_pages_persistent(va, length, &p2p->table, 0);
	else
		err = nvidia_p2p_get_pages(0, 0, va, length, &p2p->table, memory_freed, p2p);
	if (err)
		kfree(p2p);
	else
		list_add(&p2p->node, &mock_p2ps);
	return err;
}

/**
 * mock_p2p_get() - get pages
 * @id: a new number
 * @va: address
 * @length: in bytes
 * @persistent: with the function for persistent ones
 *
 * Return: 0, -EEXIST, or what the driver returned.
 */
int mock_p2p_get(u64 id, u64 va, u64 length, bool persistent)
{
	int err;

	mutex_lock(&mock_p2p_lock);
	err = get_new(id, va, length, persistent);
	mutex_unlock(&mock_p2p_lock);
	return err;
}

static int put(struct mock_p2p *p2p, u64 va)
{
	if (p2p->persistent)
		return nvidia_p2p_put_pages_persistent(va, p2p->table, 0);
	return nvidia_p2p_put_pages(0, 0, va, p2p->table);
}

/**
 * mock_p2p_put() - release pages
 * @id: number
 *
 * Return: 0, -ENOENT, or the result of the driver.
 */
int mock_p2p_put(u64 id)
{
	struct mock_p2p *p2p;
	int err = -ENOENT;

	mutex_lock(&mock_p2p_lock);
	p2p = find(id);
	if (p2p)
		err = put(p2p, p2p->va);
	if (!err)
		forget(p2p);
	mutex_unlock(&mock_p2p_lock);
	return err;
}

/**
 * mock_p2p_put_reused() - the table of a put is another get's before the put returns
 * @id: number
 * @new_id: a new number, for the get
 * @va: its address
 * @length: in bytes
 *
 * Return: 0, or what one of the two returned.
 */
int mock_p2p_put_reused(u64 id, u64 new_id, u64 va, u64 length)
{
	struct mock_reuse reuse = { .id = new_id, .va = va, .length = length };
	struct mock_p2p *p2p;
	int err = -ENOENT;

	mutex_lock(&mock_p2p_lock);
	mock_reuse = &reuse;
	p2p = find(id);
	if (p2p)
		err = put(p2p, p2p->va);
	mock_reuse = NULL;
	if (!err)
		forget(p2p);
	mutex_unlock(&mock_p2p_lock);
	return err ?: reuse.err;
}

/**
 * mock_p2p_put_wrong() - try to give pages back with the wrong address
 * @id: number
 *
 * Return: the result of the driver, or -ENOENT.
 */
int mock_p2p_put_wrong(u64 id)
{
	struct mock_p2p *p2p;
	int err = -ENOENT;

	mutex_lock(&mock_p2p_lock);
	p2p = find(id);
	if (p2p)
		err = put(p2p, p2p->va + MOCK_P2P_PAGE);
	mutex_unlock(&mock_p2p_lock);
	return err;
}

/**
 * mock_p2p_revoke() - free the memory while it is in use
 * @id: number
 *
 * Return: 0, -ENOENT, or -EBUSY for persistent pages, which cannot be revoked.
 */
int mock_p2p_revoke(u64 id)
{
	struct mock_table *table;
	struct mock_p2p *p2p;
	int err = -ENOENT;

	mutex_lock(&mock_p2p_lock);
	p2p = find(id);
	if (!p2p)
		goto out;
	err = -EBUSY;
	if (p2p->persistent)
		goto out;
	table = to_mock_table(p2p->table);
	table->free_callback(table->data);
	kfree(p2p->mapping);
	kfree(table);
	forget(p2p);
	err = 0;
out:
	mutex_unlock(&mock_p2p_lock);
	return err;
}

/**
 * mock_p2p_map() - map pages for a device
 * @id: number
 * @peer: the device; the driver refuses NULL
 *
 * Return: 0, -ENOENT, -EBUSY if they are mapped, or the result of the driver.
 */
int mock_p2p_map(u64 id, struct mock_gpu *peer)
{
	struct mock_p2p *p2p;
	int err = -ENOENT;

	mutex_lock(&mock_p2p_lock);
	p2p = find(id);
	if (p2p && p2p->mapping)
		err = -EBUSY;
	else if (p2p)
		err = nvidia_p2p_dma_map_pages(peer ? peer->nvl.pci_dev : NULL, p2p->table,
					       &p2p->mapping);
	mutex_unlock(&mock_p2p_lock);
	return err;
}

/**
 * mock_p2p_unmap() - end the mapping
 * @id: number
 *
 * Return: 0, -ENOENT, or the result of the driver.
 */
int mock_p2p_unmap(u64 id)
{
	struct mock_p2p *p2p;
	int err = -ENOENT;

	mutex_lock(&mock_p2p_lock);
	p2p = find(id);
	if (p2p)
		err = unmap(p2p);
	mutex_unlock(&mock_p2p_lock);
	return err;
}

/**
 * mock_p2p_exit() - release everything at unload
 */
void mock_p2p_exit(void)
{
	struct mock_p2p *p2p;

	mutex_lock(&mock_p2p_lock);
	while (!list_empty(&mock_p2ps)) {
		p2p = list_first_entry(&mock_p2ps, struct mock_p2p, node);
		unmap(p2p);
		put(p2p, p2p->va);
		forget(p2p);
	}
	mutex_unlock(&mock_p2p_lock);
}
