/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Records that came out of a ring: all are counted, the newest ones are kept. */
#ifndef GPUMON_GPUPROG_VIEW_RECORDS_H
#define GPUMON_GPUPROG_VIEW_RECORDS_H

#include "gpuprog/object/program.h"

#define GPUMON_PROBE_KEPT_BYTES (64u << 20) /* of records that are kept, for a ring */

/**
 * struct gpumon_probe_records - the records of a ring
 * @added: how many there were in all
 * @slots: the kept ones: device and size, each of 32 bits, then the record
 * @slot_bytes: of one
 * @room: slots that there is memory for now
 * @most: slots at most; then each record takes the place of the oldest
 * @failed: there was no memory for more than @room slots
 *
 * Zeroed: no records.
 */
struct gpumon_probe_records {
	uint64_t added;
	uint8_t *slots;
	uint32_t slot_bytes;
	uint64_t room;
	uint64_t most;
	bool failed;
};

struct gpumon_probe_record {
	const void *data; /* aligned to 8 bytes */
	uint32_t size;
	uint32_t device;
};

/* @most_bytes: what the kept records may take up, about: GPUMON_PROBE_KEPT_BYTES. */
void gpumon_probe_records_init(struct gpumon_probe_records *records,
			       const struct gpumon_probe_map *map, uint64_t most_bytes);
void gpumon_probe_records_clear(struct gpumon_probe_records *records);

/* Take a copy of a record, @size bytes, of the context with this index. Without memory for all of
 * @most slots the oldest ones make room earlier.
 */
void gpumon_probe_records_add(struct gpumon_probe_records *records, uint32_t device,
			      const void *data, uint32_t size);

uint64_t gpumon_probe_records_kept(const struct gpumon_probe_records *records);
/* The record with this index below gpumon_probe_records_kept(), the oldest first. */
struct gpumon_probe_record gpumon_probe_records_at(const struct gpumon_probe_records *records,
						   uint64_t index);

#endif /* GPUMON_GPUPROG_VIEW_RECORDS_H */
