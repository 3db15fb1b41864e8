// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "elf_names.h"
#include "machine_code.h"

/* What the kernels of a container are refused for, or "". */
typedef char reason[160];

static int edit_image(struct gpumon_exchange *exchange, struct gpumon_exchange_container *container,
		      size_t image)
{
	struct gpumon_error err;
	size_t size;

	if (gpumon_fatbin_unpack(&container->fatbin.images[image], &container->sources[image],
				 &size, &err))
		/* One that is damaged: the driver will say so. */
		return err.code == GPUMON_ERROR_MEMORY ? gpumon_exchange_no_memory(exchange) : 0;
	return gpumon_exchange_text_edit(exchange, (const char *)container->sources[image], size,
					 &container->texts[image]);
}

/*
 * Whether machine code says that PTX has no wanted kernel: what is for the same architecture was made of
 * this PTX. Names are found much faster in it. Device functions may be missing there, as they are
 * often inlined.
 */
static int is_ruled_out(struct gpumon_exchange *exchange,
			const struct gpumon_exchange_container *container, size_t text)
{
	const struct gpumon_fatbin_image *is = &container->fatbin.images[text];
	bool seen = false;

	if (gpumon_exchange_wants_functions(exchange->order))
		return 0;
	for (size_t i = 0; i < container->fatbin.images_n; i++) {
		const struct gpumon_fatbin_image *image = &container->fatbin.images[i];
		int may;

		if (image->kind != GPUMON_FATBIN_ELF || image->sm != is->sm ||
		    image->specific != is->specific)
			continue;
		may = gpumon_exchange_may_hold(exchange, image);
		if (may)
			return may < 0 ? -1 : 0;
		seen = true;
	}
	return seen;
}

static int edit_images(struct gpumon_exchange *exchange,
		       struct gpumon_exchange_container *container)
{
	uint32_t sm = exchange->order->sm, best = sm ? gpumon_exchange_best_text(container, sm) : 0;

	for (size_t i = 0; i < container->fatbin.images_n; i++) {
		int out;

		if (container->fatbin.images[i].kind != GPUMON_FATBIN_PTX ||
		    (sm && container->fatbin.images[i].sm != best))
			continue;
		out = is_ruled_out(exchange, container, i);
		if (out < 0 || (!out && edit_image(exchange, container, i)))
			return -1;
		if (container->texts[i].changed) {
			container->changed = true;
			container->changes[i].text = container->texts[i].changed;
			container->changes[i].size = container->texts[i].changed_size;
		}
	}
	return 0;
}

/* The machine code of edited kernels has to go, as drivers prefer it. */
static int leave_code_out(struct gpumon_exchange *exchange,
			  struct gpumon_exchange_container *container, reason why)
{
	for (size_t i = 0; i < container->fatbin.images_n; i++) {
		const struct gpumon_fatbin_image *image = &container->fatbin.images[i];
		enum gpumon_exchange_code code;

		if (image->kind != GPUMON_FATBIN_ELF ||
		    !gpumon_exchange_code_fits(exchange->order, image))
			continue;
		if (gpumon_exchange_code(exchange, container, i, &code))
			return -1;
		container->changes[i].leave_out = code == GPUMON_EXCHANGE_CODE_GOES;
		if (!exchange->order->sm || *why)
			continue;
		/* It is this GPU that would run it. */
		if (code == GPUMON_EXCHANGE_CODE_BLOCKS)
			snprintf(why, sizeof(reason),
				 "its machine code for sm_%u has kernels that its PTX lacks, so it "
				 "has to stay",
				 image->sm);
		else if (code == GPUMON_EXCHANGE_CODE_NO_TEXT)
			snprintf(why, sizeof(reason), "its PTX is not for this GPU, sm_%u",
				 exchange->order->sm);
	}
	return 0;
}

static int decide(struct gpumon_exchange *exchange, struct gpumon_exchange_container *container)
{
	reason why = "";

	if (!container->changed)
		return 0;
	if (leave_code_out(exchange, container, why))
		return -1;
	if (*why)
		container->changed = false;
	for (size_t i = 0; i < container->fatbin.images_n; i++)
		if (gpumon_exchange_text_tell(exchange, &container->texts[i], *why ? why : NULL))
			return -1;
	return 0;
}

int gpumon_exchange_container_edit(struct gpumon_exchange *exchange, const void *data, size_t size,
				   struct gpumon_exchange_container *container)
{
	struct gpumon_error err;
	size_t n;

	memset(container, 0, sizeof(*container));
	if (gpumon_fatbin_open(data, size, &container->fatbin, &err))
		return err.code == GPUMON_ERROR_MEMORY ? gpumon_exchange_no_memory(exchange) : 0;
	n = container->fatbin.images_n;
	container->sources = calloc(n + 1, sizeof(*container->sources));
	container->texts = calloc(n + 1, sizeof(*container->texts));
	container->changes = calloc(n + 1, sizeof(*container->changes));
	if (!container->sources || !container->texts || !container->changes)
		return gpumon_exchange_no_memory(exchange);
	if (edit_images(exchange, container) || decide(exchange, container))
		return -1;
	return gpumon_exchange_code_only(exchange, container);
}

void gpumon_exchange_container_clear(struct gpumon_exchange_container *container)
{
	for (size_t i = 0; i < container->fatbin.images_n; i++) {
		if (container->texts)
			gpumon_exchange_text_clear(&container->texts[i]);
		if (container->sources)
			free(container->sources[i]);
	}
	free(container->sources);
	free(container->texts);
	free(container->changes);
	gpumon_fatbin_close(&container->fatbin);
	memset(container, 0, sizeof(*container));
}
