// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* What an image is, and the containers that stand one behind the other. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "exchange.h"
#include "machine_code.h"

/* Bytes that tell the form of an image. */
#define FORM_BYTES 16

/**
 * struct images - the containers of an image
 * @containers: containers
 * @n: how many
 * @size: their bytes; what is behind them stays as it is
 */
struct images {
	struct gpumon_exchange_container *containers;
	size_t n;
	size_t size;
};

static int check_written(FILE *out, struct gpumon_error *err)
{
	if (!fflush(out) && !ferror(out))
		return 0;
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_IO,
				"the changed image cannot be written: %s", strerror(errno));
}

static int exchange_text(struct gpumon_exchange *exchange, const char *image, size_t size,
			 FILE *out, enum gpumon_probe_outcome *outcome)
{
	struct gpumon_exchange_text text;
	int result = gpumon_exchange_text_edit(exchange, image, size, &text);

	if (!result && text.changed) {
		fwrite(text.changed, 1, text.changed_size, out);
		if (strnlen(image, size) < size)
			fputc(0, out);
		*outcome = GPUMON_PROBE_EXCHANGED;
		result = gpumon_exchange_text_tell(exchange, &text, NULL);
		if (!result)
			result = check_written(out, exchange->err);
	}
	gpumon_exchange_text_clear(&text);
	return result;
}

/* All containers, up to one that is none, or damaged. */
static int edit_containers(struct gpumon_exchange *exchange, const uint8_t *image, size_t size,
			   struct images *images)
{
	while (size - images->size >= FORM_BYTES) {
		const uint8_t *at = image + images->size;
		struct gpumon_exchange_container *container;

		if (gpumon_fatbin_form(at) != GPUMON_FATBIN_CONTAINER)
			break;
		container = GPUMON_GROW(images->containers, images->n);
		if (!container)
			return gpumon_exchange_no_memory(exchange);
		if (gpumon_exchange_container_edit(exchange, at, size - images->size, container))
			return -1;
		if (!container->fatbin.size)
			break;
		images->size += container->fatbin.size;
	}
	return 0;
}

static int write_containers(struct gpumon_exchange *exchange, const uint8_t *image, size_t size,
			    const struct images *images, FILE *out)
{
	for (size_t i = 0; i < images->n; i++) {
		const struct gpumon_exchange_container *is = &images->containers[i];

		if (!is->changed)
			fwrite(is->fatbin.data, 1, is->fatbin.size, out);
		else if (gpumon_fatbin_write(&is->fatbin, is->changes, out, exchange->err))
			return -1;
	}
	fwrite(image + images->size, 1, size - images->size, out);
	return check_written(out, exchange->err);
}

static int exchange_containers(struct gpumon_exchange *exchange, const uint8_t *image, size_t size,
			       FILE *out, enum gpumon_probe_outcome *outcome)
{
	struct images images = { .containers = NULL };
	int result = edit_containers(exchange, image, size, &images);

	for (size_t i = 0; !result && i < images.n; i++)
		if (images.containers[i].changed)
			*outcome = GPUMON_PROBE_EXCHANGED;
	if (!result && *outcome == GPUMON_PROBE_EXCHANGED)
		result = write_containers(exchange, image, size, &images, out);
	for (size_t i = 0; i < images.n; i++)
		gpumon_exchange_container_clear(&images.containers[i]);
	free(images.containers);
	return result;
}

int gpumon_probe_exchange(const struct gpumon_probe_order *order, const void *image, size_t size,
			  struct gpumon_probe_run *run, FILE *out,
			  enum gpumon_probe_outcome *outcome, struct gpumon_error *err)
{
	struct gpumon_exchange exchange = { order, run, err };

	*outcome = GPUMON_PROBE_UNTOUCHED;
	run->images++;
	if (size < FORM_BYTES)
		return 0;
	if (order->owner && !order->patched && gpumon_exchange_wants_all(order)) {
		run->unread++;
		return 0;
	}
	switch (gpumon_fatbin_form(image)) {
	case GPUMON_FATBIN_TEXT:
		return exchange_text(&exchange, image, size, out, outcome);
	case GPUMON_FATBIN_ELF_FILE:
		return gpumon_exchange_cubin(&exchange, image, size);
	case GPUMON_FATBIN_CONTAINER:
		return exchange_containers(&exchange, image, size, out, outcome);
	default:
		return 0;
	}
}
