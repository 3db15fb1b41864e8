// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "elf_names.h"
#include "machine_code.h"

/* Data of the calls for each kernel of a cubin. */
struct looking {
	struct gpumon_exchange *exchange;
	const struct gpumon_exchange_container *container;
	uint32_t sm;   /* of the PTX that the driver would take instead */
	bool edited;   /* a kernel that was edited somewhere */
	bool missing;  /* a kernel that no edited PTX for @sm has */
	bool unedited; /* an edited kernel that stands unedited in a PTX for @sm */
};

static bool same_major(uint32_t one, uint32_t other)
{
	return one / 10 == other / 10;
}

bool gpumon_exchange_code_fits(const struct gpumon_probe_order *order,
			       const struct gpumon_fatbin_image *image)
{
	return !order->sm || (same_major(order->sm, image->sm) && image->sm <= order->sm);
}

/* Whether PTX for a specific architecture, as sm_90a or sm_100f, can be for a GPU. */
static bool text_fits(const struct gpumon_exchange_container *container, size_t image, uint32_t sm)
{
	const struct gpumon_fatbin_image *is = &container->fatbin.images[image];
	char specific = container->texts[image].module.specific;

	if (is->kind != GPUMON_FATBIN_PTX || is->sm > sm)
		return false;
	if (specific == 'f')
		return same_major(is->sm, sm);
	return is->sm == sm || !(specific || is->specific);
}

uint32_t gpumon_exchange_best_text(const struct gpumon_exchange_container *container, uint32_t sm)
{
	uint32_t best = 0;

	for (size_t i = 0; i < container->fatbin.images_n; i++)
		if (text_fits(container, i, sm) && container->fatbin.images[i].sm > best)
			best = container->fatbin.images[i].sm;
	return best;
}

static int tell_kernel(void *context, const char *name)
{
	struct looking *looking = context;
	struct gpumon_exchange *exchange = looking->exchange;
	uint32_t programs, number;

	if (gpumon_exchange_wanted(exchange, name, strlen(name), true, &programs))
		return -1;
	if (!programs)
		return 0;
	for (size_t i = 0; looking->container && i < looking->container->fatbin.images_n; i++)
		if (gpumon_exchange_text_has(&looking->container->texts[i], name) !=
		    GPUMON_EXCHANGE_ABSENT)
			return 0;
	number = gpumon_probe_run_kernel(exchange->run, name, strlen(name));
	if (number == GPUMON_PROBE_NO_NUMBER ||
	    gpumon_probe_run_tell(exchange->run, number, GPUMON_PROBE_WAY_NO_PTX, ""))
		return gpumon_exchange_no_memory(exchange);
	return 0;
}

/* Call @each for the kernels of an image. What cannot be read has none. Returns -1 if @each does. */
static int each_kernel(struct gpumon_exchange *exchange, const struct gpumon_fatbin_image *image,
		       int (*each)(void *context, const char *name), void *context)
{
	struct gpumon_error err;
	uint8_t *data;
	size_t size;
	int result;

	if (gpumon_fatbin_unpack(image, &data, &size, &err))
		return err.code == GPUMON_ERROR_MEMORY ? gpumon_exchange_no_memory(exchange) : 0;
	result = gpumon_fatbin_elf_kernels(data, size, each, context);
	free(data);
	return result;
}

int gpumon_exchange_cubin(struct gpumon_exchange *exchange, const void *data, size_t size)
{
	struct looking looking = { .exchange = exchange };

	if (exchange->order->patched)
		return 0;
	if (gpumon_exchange_wants_all(exchange->order)) {
		exchange->run->unread++;
		return 0;
	}
	return gpumon_fatbin_elf_kernels(data, size, tell_kernel, &looking);
}

int gpumon_exchange_code_only(struct gpumon_exchange *exchange,
			      const struct gpumon_exchange_container *container)
{
	const struct gpumon_fatbin *fatbin = &container->fatbin;
	struct looking looking = { .exchange = exchange, .container = container };
	bool texts = false;
	uint32_t sm = 0;

	if (exchange->order->patched)
		return 0;
	/* The kernels are the same for each architecture: one is enough. */
	for (size_t i = 0; i < fatbin->images_n; i++) {
		texts |= fatbin->images[i].kind == GPUMON_FATBIN_PTX;
		if (fatbin->images[i].kind == GPUMON_FATBIN_ELF &&
		    gpumon_exchange_code_fits(exchange->order, &fatbin->images[i]) &&
		    fatbin->images[i].sm > sm)
			sm = fatbin->images[i].sm;
	}
	if (sm && !texts && gpumon_exchange_wants_all(exchange->order)) {
		exchange->run->unread++;
		return 0;
	}
	for (size_t i = 0; i < fatbin->images_n; i++) {
		int may;

		if (fatbin->images[i].kind != GPUMON_FATBIN_ELF || fatbin->images[i].sm != sm)
			continue;
		may = gpumon_exchange_may_hold(exchange, &fatbin->images[i]);
		if (may < 0 ||
		    (may && each_kernel(exchange, &fatbin->images[i], tell_kernel, &looking)))
			return -1;
	}
	return 0;
}

static int compare_kernel(void *context, const char *name)
{
	struct looking *looking = context;
	bool here = false;

	for (size_t i = 0; i < looking->container->fatbin.images_n; i++) {
		enum gpumon_exchange_has has =
			gpumon_exchange_text_has(&looking->container->texts[i], name);
		bool taken = looking->container->fatbin.images[i].sm == looking->sm &&
			     text_fits(looking->container, i, looking->sm);

		looking->edited |= has == GPUMON_EXCHANGE_EDITED;
		here |= taken && looking->container->texts[i].changed &&
			has != GPUMON_EXCHANGE_ABSENT;
		looking->unedited |= taken && has == GPUMON_EXCHANGE_PLAIN &&
				     !looking->container->texts[i].changed;
	}
	looking->missing |= !here;
	return 0;
}

int gpumon_exchange_code(struct gpumon_exchange *exchange,
			 const struct gpumon_exchange_container *container, size_t image,
			 enum gpumon_exchange_code *code)
{
	const struct gpumon_fatbin_image *is = &container->fatbin.images[image];
	struct looking looking = {
		.exchange = exchange,
		.container = container,
		.sm = gpumon_exchange_best_text(container,
						exchange->order->sm ? exchange->order->sm : is->sm),
	};

	if (each_kernel(exchange, is, compare_kernel, &looking))
		return -1;
	*code = !looking.edited			? GPUMON_EXCHANGE_CODE_STAYS :
		!looking.sm || looking.unedited ? GPUMON_EXCHANGE_CODE_NO_TEXT :
		looking.missing			? GPUMON_EXCHANGE_CODE_BLOCKS :
						  GPUMON_EXCHANGE_CODE_GOES;
	return 0;
}
