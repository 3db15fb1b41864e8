// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Finds out what an image is, and reads its containers, which stand one behind the other. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/memory.h"
#include "gpuprog/ptx/translate.h"
#include "cubin.h"
#include "exchange.h"
#include "fatbin.h"
#include "names.h"
#include "text.h"

/**
 * struct gpumon_exchange_container - a container
 * @fatbin: its images
 * @sources: unpacked PTX of each image, or NULL
 * @texts: what became of it
 * @changes: what is written
 * @changed: anything else than before
 */
struct gpumon_exchange_container {
	struct gpumon_fatbin fatbin;
	uint8_t **sources;
	struct gpumon_exchange_text *texts;
	struct gpumon_fatbin_change *changes;
	bool changed;
};

/*
 * Whether an image of machine code stays beside edited PTX. A driver takes machine code if it has
 * the choice.
 */
enum exchange_code {
	GPUMON_EXCHANGE_CODE_STAYS,   /* no edited kernel is in it */
	GPUMON_EXCHANGE_CODE_GOES,    /* all that is in it is in edited PTX for the same GPU, too */
	GPUMON_EXCHANGE_CODE_BLOCKS,  /* an edited kernel, and another that this PTX has not */
	GPUMON_EXCHANGE_CODE_NO_TEXT, /* an edited kernel, but no PTX or unedited PTX for this GPU */
};

/* Bytes that are unpacked at first, and the factor for the next try if the names go on behind them. */
#define FIRST_BYTES (16u << 10)
#define MORE	    8

enum names {
	NONE,
	WANTED,
	GO_ON,
	UNKNOWN,
};

static const char first_name[] = ".shstrtab", code_section[] = ".text.";

/* A section's name: ".text.NAME" of a function, perhaps as the end of another name. */
static enum names look_at_name(struct gpumon_exchange *exchange, const char *name, size_t size)
{
	const char *at = memmem(name, size, code_section, sizeof(code_section) - 1);

	if (!at)
		return NONE;
	at += sizeof(code_section) - 1;
	return gpumon_exchange_wanted(exchange, at, (size_t)(name + size - at), true) ? WANTED :
											NONE;
}

static bool is_printable(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return true;
}

/* The names stand between the file's head and something that is no text, or the next list. */
static enum names look_at_names(struct gpumon_exchange *exchange, const char *data, size_t size)
{
	const char *at = data + sizeof(Elf64_Ehdr) + 1, *end = data + size;
	size_t lists = 0;

	if (size < sizeof(Elf64_Ehdr) + 1 + sizeof(first_name) ||
	    memcmp(data, ELFMAG, SELFMAG) != 0 || at[-1] ||
	    memcmp(at, first_name, sizeof(first_name)) != 0)
		return UNKNOWN;
	while (at < end) {
		size_t length = strnlen(at, (size_t)(end - at));
		enum names names;

		lists += length == sizeof(first_name) - 1 && !memcmp(at, first_name, length);
		if (lists == 2 || !is_printable(at, length))
			return NONE;
		if (length == (size_t)(end - at))
			break;
		names = look_at_name(exchange, at, length);
		if (names != NONE)
			return names;
		at += length + 1;
	}
	return GO_ON;
}

/**
 * exchange_may_hold - look for the names of kernels at the beginning of an image
 * @exchange: exchange
 * @image: image of machine code
 *
 * CUDA's assembler writes the names of sections first. Unpacking these is a hundred times faster than
 * all of a large image. If they stand elsewhere the answer is yes.
 *
 * Return: whether it may hold a wanted kernel.
 */
static bool exchange_may_hold(struct gpumon_exchange *exchange,
			      const struct gpumon_fatbin_image *image)
{
	for (size_t room = FIRST_BYTES;; room *= MORE) {
		uint8_t *data = gpumon_malloc(room);
		enum names names;
		size_t size;

		size = gpumon_fatbin_unpack_begin(image, data, room);
		names = look_at_names(exchange, (const char *)data, size);
		free(data);
		/* If all of it was names, the layout is unknown: the image may hold any kernel. */
		if (names != GO_ON || size < room || room >= GPUMON_FATBIN_MAX_IMAGE / MORE)
			return names != NONE;
	}
}

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

/* Whether the GPU of the order can run an image of machine code. */
static bool exchange_code_fits(const struct gpumon_gpuprog_order *order,
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

/* The architecture of the PTX that a driver takes for a GPU, or 0: none fits. */
static uint32_t exchange_best_text(const struct gpumon_exchange_container *container, uint32_t sm)
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

	if (!gpumon_exchange_wanted(exchange, name, strlen(name), true))
		return 0;
	for (size_t i = 0; looking->container && i < looking->container->fatbin.images_n; i++)
		if (gpumon_exchange_text_has(&looking->container->texts[i], name) !=
		    GPUMON_EXCHANGE_ABSENT)
			return 0;
	gpumon_gpuprog_run_tell(exchange->run,
				gpumon_gpuprog_run_kernel(exchange->run, name, strlen(name)),
				GPUMON_GPUPROG_WAY_NO_PTX, "");
	return 0;
}

/* Call @each for the kernels of an image. What cannot be read has none. */
static void each_kernel(const struct gpumon_fatbin_image *image,
			int (*each)(void *context, const char *name), void *context)
{
	struct gpumon_error err;
	uint8_t *data;
	size_t size;

	if (gpumon_fatbin_unpack(image, &data, &size, &err))
		return;
	gpumon_fatbin_elf_kernels(data, size, each, context);
	free(data);
}

/* Say in the run which kernels of a cubin are asked for. */
static void exchange_cubin(struct gpumon_exchange *exchange, const void *data, size_t size)
{
	struct looking looking = { .exchange = exchange };

	if (exchange->order->patched)
		return;
	if (gpumon_exchange_wants_all(exchange->order))
		exchange->run->unread++;
	else
		gpumon_fatbin_elf_kernels(data, size, tell_kernel, &looking);
}

/**
 * exchange_code_only - say in the run which kernels have no PTX in a container
 * @exchange: exchange
 * @container: container, after its PTX was edited
 */
static void exchange_code_only(struct gpumon_exchange *exchange,
			       const struct gpumon_exchange_container *container)
{
	const struct gpumon_fatbin *fatbin = &container->fatbin;
	struct looking looking = { .exchange = exchange, .container = container };
	bool texts = false;
	uint32_t sm = 0;

	if (exchange->order->patched)
		return;
	/* The kernels are the same for each architecture: one is enough. */
	for (size_t i = 0; i < fatbin->images_n; i++) {
		texts |= fatbin->images[i].kind == GPUMON_FATBIN_PTX;
		if (fatbin->images[i].kind == GPUMON_FATBIN_ELF &&
		    exchange_code_fits(exchange->order, &fatbin->images[i]) &&
		    fatbin->images[i].sm > sm)
			sm = fatbin->images[i].sm;
	}
	if (sm && !texts && gpumon_exchange_wants_all(exchange->order)) {
		exchange->run->unread++;
		return;
	}
	for (size_t i = 0; i < fatbin->images_n; i++)
		if (fatbin->images[i].kind == GPUMON_FATBIN_ELF && fatbin->images[i].sm == sm &&
		    exchange_may_hold(exchange, &fatbin->images[i]))
			each_kernel(&fatbin->images[i], tell_kernel, &looking);
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

/**
 * exchange_code - find out what becomes of an image of machine code
 * @exchange: exchange
 * @container: container, after its PTX was edited
 * @image: index of the image
 *
 * Return: it.
 */
static enum exchange_code exchange_code(struct gpumon_exchange *exchange,
					const struct gpumon_exchange_container *container,
					size_t image)
{
	const struct gpumon_fatbin_image *is = &container->fatbin.images[image];
	struct looking looking = {
		.exchange = exchange,
		.container = container,
		.sm = exchange_best_text(container,
					 exchange->order->sm ? exchange->order->sm : is->sm),
	};

	each_kernel(is, compare_kernel, &looking);
	return !looking.edited		       ? GPUMON_EXCHANGE_CODE_STAYS :
	       !looking.sm || looking.unedited ? GPUMON_EXCHANGE_CODE_NO_TEXT :
	       looking.missing		       ? GPUMON_EXCHANGE_CODE_BLOCKS :
						 GPUMON_EXCHANGE_CODE_GOES;
}

/* Why the kernels of a container are refused, or "". */
typedef char reason[160];

static void edit_image(struct gpumon_exchange *exchange,
		       struct gpumon_exchange_container *container, size_t image)
{
	struct gpumon_error err;
	size_t size;

	/* The driver says what is wrong with one that is damaged. */
	if (!gpumon_fatbin_unpack(&container->fatbin.images[image], &container->sources[image],
				  &size, &err))
		gpumon_exchange_text_edit(exchange, (const char *)container->sources[image], size,
					  &container->texts[image]);
}

/*
 * Whether machine code says that PTX has no wanted kernel: what is for the same architecture was made of
 * this PTX. Names are found much faster in it. Device functions may be missing there, as they are
 * often inlined.
 */
static bool is_ruled_out(struct gpumon_exchange *exchange,
			 const struct gpumon_exchange_container *container, size_t text)
{
	const struct gpumon_fatbin_image *is = &container->fatbin.images[text];
	bool seen = false;

	if (gpumon_exchange_wants_functions(exchange->order))
		return false;
	for (size_t i = 0; i < container->fatbin.images_n; i++) {
		const struct gpumon_fatbin_image *image = &container->fatbin.images[i];

		if (image->kind != GPUMON_FATBIN_ELF || image->sm != is->sm ||
		    image->specific != is->specific)
			continue;
		if (exchange_may_hold(exchange, image))
			return false;
		seen = true;
	}
	return seen;
}

static void edit_images(struct gpumon_exchange *exchange,
			struct gpumon_exchange_container *container)
{
	uint32_t sm = exchange->order->sm, best = sm ? exchange_best_text(container, sm) : 0;

	for (size_t i = 0; i < container->fatbin.images_n; i++) {
		if (container->fatbin.images[i].kind != GPUMON_FATBIN_PTX ||
		    (sm && container->fatbin.images[i].sm != best) ||
		    is_ruled_out(exchange, container, i))
			continue;
		edit_image(exchange, container, i);
		if (container->texts[i].changed) {
			container->changed = true;
			container->changes[i].text = container->texts[i].changed;
			container->changes[i].size = container->texts[i].changed_size;
		}
	}
}

/* The machine code of edited kernels has to go, as drivers prefer it. */
static void leave_code_out(struct gpumon_exchange *exchange,
			   struct gpumon_exchange_container *container, reason why)
{
	for (size_t i = 0; i < container->fatbin.images_n; i++) {
		const struct gpumon_fatbin_image *image = &container->fatbin.images[i];
		enum exchange_code code;

		if (image->kind != GPUMON_FATBIN_ELF || !exchange_code_fits(exchange->order, image))
			continue;
		code = exchange_code(exchange, container, i);
		container->changes[i].leave_out = code == GPUMON_EXCHANGE_CODE_GOES;
		if (!exchange->order->sm || *why)
			continue;
		/* The GPU is known, and would run this image. */
		if (code == GPUMON_EXCHANGE_CODE_BLOCKS)
			snprintf(why, sizeof(reason),
				 "its machine code for sm_%u has kernels that its PTX lacks, so it "
				 "has to stay",
				 image->sm);
		else if (code == GPUMON_EXCHANGE_CODE_NO_TEXT)
			snprintf(why, sizeof(reason), "its PTX is not for this GPU, sm_%u",
				 exchange->order->sm);
	}
}

static void decide(struct gpumon_exchange *exchange, struct gpumon_exchange_container *container)
{
	reason why = "";

	if (!container->changed)
		return;
	leave_code_out(exchange, container, why);
	if (*why)
		container->changed = false;
	for (size_t i = 0; i < container->fatbin.images_n; i++)
		gpumon_exchange_text_tell(exchange, &container->texts[i], *why ? why : NULL);
}

/**
 * exchange_container_edit - put programs into a container
 * @exchange: exchange
 * @data: container
 * @size: bytes that are there
 * @container: out, to be cleared in any case
 *
 * What becomes of its kernels is said in the run. A container that cannot be read is left as it is.
 */
static void exchange_container_edit(struct gpumon_exchange *exchange, const void *data, size_t size,
				    struct gpumon_exchange_container *container)
{
	struct gpumon_error err;
	size_t n;

	memset(container, 0, sizeof(*container));
	if (gpumon_fatbin_open(data, size, &container->fatbin, &err))
		return;
	n = container->fatbin.images_n;
	container->sources = gpumon_calloc(n, sizeof(*container->sources));
	container->texts = gpumon_calloc(n, sizeof(*container->texts));
	container->changes = gpumon_calloc(n, sizeof(*container->changes));
	edit_images(exchange, container);
	decide(exchange, container);
	exchange_code_only(exchange, container);
}

static void exchange_container_clear(struct gpumon_exchange_container *container)
{
	for (size_t i = 0; i < container->fatbin.images_n; i++) {
		gpumon_exchange_text_clear(&container->texts[i]);
		free(container->sources[i]);
	}
	free(container->sources);
	free(container->texts);
	free(container->changes);
	gpumon_fatbin_close(&container->fatbin);
	memset(container, 0, sizeof(*container));
}

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
			 FILE *out, enum gpumon_gpuprog_outcome *outcome)
{
	struct gpumon_exchange_text text;
	int result = 0;

	gpumon_exchange_text_edit(exchange, image, size, &text);
	if (text.changed) {
		fwrite(text.changed, 1, text.changed_size, out);
		if (strnlen(image, size) < size)
			fputc(0, out);
		*outcome = GPUMON_GPUPROG_EXCHANGED;
		gpumon_exchange_text_tell(exchange, &text, NULL);
		result = check_written(out, exchange->err);
	}
	gpumon_exchange_text_clear(&text);
	return result;
}

/* Edits all containers, up to one that is none, or damaged. */
static void edit_containers(struct gpumon_exchange *exchange, const uint8_t *image, size_t size,
			    struct images *images)
{
	while (size - images->size >= FORM_BYTES) {
		const uint8_t *at = image + images->size;
		struct gpumon_exchange_container *container;

		if (gpumon_fatbin_form(at) != GPUMON_FATBIN_CONTAINER)
			break;
		container = GPUMON_GROW(images->containers, images->n);
		exchange_container_edit(exchange, at, size - images->size, container);
		if (!container->fatbin.size)
			break;
		images->size += container->fatbin.size;
	}
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
			       FILE *out, enum gpumon_gpuprog_outcome *outcome)
{
	struct images images = { .containers = NULL };
	int result = 0;

	edit_containers(exchange, image, size, &images);
	for (size_t i = 0; i < images.n; i++)
		if (images.containers[i].changed)
			*outcome = GPUMON_GPUPROG_EXCHANGED;
	if (*outcome == GPUMON_GPUPROG_EXCHANGED)
		result = write_containers(exchange, image, size, &images, out);
	for (size_t i = 0; i < images.n; i++)
		exchange_container_clear(&images.containers[i]);
	free(images.containers);
	return result;
}

int gpumon_gpuprog_exchange(const struct gpumon_gpuprog_order *order, const void *image,
			    size_t size, struct gpumon_gpuprog_run *run, FILE *out,
			    enum gpumon_gpuprog_outcome *outcome, struct gpumon_error *err)
{
	struct gpumon_exchange exchange = { order, run, err };

	*outcome = GPUMON_GPUPROG_UNTOUCHED;
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
		exchange_cubin(&exchange, image, size);
		return 0;
	case GPUMON_FATBIN_CONTAINER:
		return exchange_containers(&exchange, image, size, out, outcome);
	default:
		return 0;
	}
}

struct patching {
	struct gpumon_exchange exchange;
	void (*each)(void *argument, uint32_t number, uint32_t programs, const char *name);
	void *argument;
	bool edited; /* the module's image was */
};

/* Why it is not PTX that programs are put into; "" if that was not tried. */
static const char *why_patched(const struct patching *patching,
			       const struct gpumon_gpuprog_kernel *kernel, char *text, size_t room)
{
	if (!patching->exchange.order->patched)
		return "";
	if (!kernel->told)
		return "its machine code (SASS) calls the programs: it has no PTX";
	if (kernel->way != GPUMON_GPUPROG_WAY_REFUSED)
		return kernel->why;
	snprintf(text, room,
		 "its machine code (SASS) calls the programs: its PTX cannot be edited: %s",
		 kernel->why);
	return text;
}

static int look_at(void *context, const char *name)
{
	struct patching *patching = context;
	struct gpumon_exchange *exchange = &patching->exchange;
	uint32_t programs = gpumon_exchange_wanted(exchange, name, strlen(name), true), number;
	char text[512];

	if (!programs)
		return 0;
	number = gpumon_gpuprog_run_kernel(exchange->run, name, strlen(name));
	if (gpumon_gpuprog_run_leaves(exchange->run, number))
		return 0;
	if (patching->edited) {
		gpumon_gpuprog_run_tell(exchange->run, number, GPUMON_GPUPROG_WAY_NO_PTX, "");
		return 0;
	}
	gpumon_gpuprog_run_tell(exchange->run, number, GPUMON_GPUPROG_WAY_SASS,
				why_patched(patching, &exchange->run->kernels[number], text,
					    sizeof(text)));
	patching->each(patching->argument, number, programs, name);
	exchange->run->kernels[number].image = exchange->run->images;
	return 0;
}

static bool has_memory_point(const struct gpumon_gpuprog_order *order, uint32_t programs)
{
	for (uint32_t i = 0; i < order->object->programs_n; i++)
		if (programs & 1u << i && order->object->programs[i].point == GPUMON_GPUPROG_MEMORY)
			return true;
	return false;
}

/* Accesses of a kernel that the patches do not see. */
static void add_unseen(void *context, const char *name, const uint64_t unseen[GPUMON_EDIT_CAUSES_N])
{
	struct patching *patching = context;
	struct gpumon_exchange *exchange = &patching->exchange;
	uint32_t programs = gpumon_exchange_wanted(exchange, name, strlen(name), true);
	uint32_t number = gpumon_gpuprog_run_find(exchange->run, name);

	if (number == GPUMON_GPUPROG_NO_NUMBER ||
	    exchange->run->kernels[number].image != exchange->run->images)
		return;
	for (int i = 0; has_memory_point(exchange->order, programs) && i < GPUMON_EDIT_CAUSES_N;
	     i++)
		exchange->run->kernels[number].left[i] += unseen[i];
}

void gpumon_gpuprog_patched(const struct gpumon_gpuprog_order *order, const void *cubin,
			    size_t size, struct gpumon_gpuprog_run *run,
			    void (*each)(void *argument, uint32_t number, uint32_t programs,
					 const char *name),
			    void *argument)
{
	struct patching patching = {
		.exchange = { order, run, NULL },
		.each = each,
		.argument = argument,
	};

	run->images++;
	patching.edited = gpumon_fatbin_elf_defines(cubin, size, GPUMON_GPUPROG_TABLE);
	gpumon_fatbin_elf_kernels(cubin, size, look_at, &patching);
	if (!patching.edited)
		gpumon_fatbin_elf_unpatched(cubin, size, add_unseen, &patching);
}

#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

static bool is_own(const struct gpumon_gpuprog_order *order, uint32_t i)
{
	return order->facts[i] && order->object->programs[i].point == GPUMON_GPUPROG_RUN;
}

uint32_t gpumon_gpuprog_own_n(const struct gpumon_gpuprog_order *order)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < order->object->programs_n; i++)
		n += is_own(order, i);
	return n;
}

/* An empty kernel for each program. */
static int write_kernels(const struct gpumon_gpuprog_order *order, FILE *out,
			 struct gpumon_error *err)
{
	uint32_t isa = gpumon_gpuprog_isa(order->sm);

	fprintf(out, ".version %u.%u\n.target sm_%u\n.address_size 64\n", isa / 10, isa % 10,
		order->sm);
	for (uint32_t i = 0; i < order->object->programs_n; i++) {
		const char *name = order->object->programs[i].name;

		if (!is_own(order, i))
			continue;
		if (name[strspn(name, NAME_CHARACTERS)])
			return gpumon_error_set(
				err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
				"%.60s is no name for a kernel: use letters, digits and _", name);
		fprintf(out, ".visible .entry %s()\n{\n\tret;\n}\n", name);
	}
	return 0;
}

/* The program that only a kernel can refuse, and why. */
static int refuse(const struct gpumon_gpuprog_run *run, struct gpumon_error *err)
{
	for (uint32_t i = 0; i < run->kernels_n; i++)
		if (!gpumon_gpuprog_way_is_in(run->kernels[i].way))
			return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
						"%.60s cannot be a kernel: %s",
						run->kernels[i].name, run->kernels[i].why);
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, 0, GPUMON_ERROR_REFUSED,
				"no program could be made a kernel");
}

int gpumon_gpuprog_own_write(const struct gpumon_gpuprog_order *order,
			     struct gpumon_gpuprog_run *run, FILE *out, struct gpumon_error *err)
{
	enum gpumon_gpuprog_outcome outcome = GPUMON_GPUPROG_UNTOUCHED;
	char *empty;
	size_t size;
	FILE *text = gpumon_memstream_open(&empty, &size);
	int ret = write_kernels(order, text, err);

	gpumon_memstream_close(text);
	if (!ret)
		ret = gpumon_gpuprog_exchange(order, empty, size, run, out, &outcome, err);
	if (!ret && outcome != GPUMON_GPUPROG_EXCHANGED)
		ret = refuse(run, err);
	free(empty);
	return ret;
}
