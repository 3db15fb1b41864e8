// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Any bytes as the image of a module: PTX, cubin, or containers. What is written has all of the
 * original: the tokens of a text in their order, the images of a container but for machine code that
 * is left out.
 */
#include <string.h>

#include "fuzz.h"
#include "gpuprog/image/exchange.h"
#include "gpuprog/image/fatbin.h"
#include "gpuprog/ptx/statement.h"
#include "gpuprog/verify/verify.h"

#define PROGRAMS 7 /* at each point of kernels and functions */

static struct gpumon_gpuprog programs[PROGRAMS];
static struct gpumon_gpuprog_fact facts[PROGRAMS][2];
static const struct gpumon_gpuprog_fact *all_facts[PROGRAMS];
static const char *targets[PROGRAMS];

/* "r0 = 0; exit", at each point */
static void make_programs(void)
{
	static struct gpumon_gpuprog_step steps[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT, .origin = 1 },
	};
	const struct gpumon_gpuprog_rules rules = { 0 };
	struct gpumon_error err;

	for (int i = 0; i < PROGRAMS; i++) {
		bool of_function = i >= GPUMON_GPUPROG_FUNCTION_ENTRY;

		programs[i] = (struct gpumon_gpuprog){
			.name = "fuzz",
			.section = "fuzz",
			.point = (enum gpumon_gpuprog_point)i,
			.steps = steps,
			.steps_n = 2,
		};
		targets[i] = of_function ? "f*,*<int>,g?" : "";
		all_facts[i] = facts[i];
		MUST(!gpumon_gpuprog_verify(&programs[i], &rules, facts[i], &err));
	}
}

static void next(struct gpumon_ptx_lexer *lexer)
{
	struct gpumon_error err;

	MUST(!gpumon_ptx_next(lexer, &err));
}

/* The same token, or a call of a copy: "f" is then "f__gpumon_3". */
static bool is_same(struct gpumon_ptx_slice was, struct gpumon_ptx_slice is)
{
	static const char copy[] = "__gpumon_";

	return is.size >= was.size && !memcmp(was.at, is.at, was.size) &&
	       (is.size == was.size || (is.size - was.size > sizeof(copy) - 1 &&
					!memcmp(is.at + was.size, copy, sizeof(copy) - 1)));
}

static void check_text(const char *was, size_t was_size, const char *is, size_t is_size)
{
	struct gpumon_ptx_lexer old = { .at = was, .end = was + strnlen(was, was_size), .line = 1 };
	struct gpumon_ptx_lexer new = { .at = is, .end = is + strnlen(is, is_size), .line = 1 };
	struct gpumon_edit_module before, after;
	struct gpumon_error err;

	for (next(&old), next(&new); old.kind != GPUMON_PTX_END; next(&old), next(&new))
		while (!is_same(old.token, new.token)) {
			MUST(new.kind != GPUMON_PTX_END);
			next(&new);
		}
	MUST(!gpumon_edit_open(was, was_size, &before, &err));
	MUST(!gpumon_edit_open(is, is_size, &after, &err));
	MUST(after.probed && after.isa == before.isa && after.sm == before.sm &&
	     after.functions_n >= before.functions_n);
	gpumon_edit_close(&before);
	gpumon_edit_close(&after);
}

static bool is_text_of(const struct gpumon_fatbin_image *was, const struct gpumon_fatbin_image *is)
{
	return is->kind == GPUMON_FATBIN_PTX && was->kind == GPUMON_FATBIN_PTX &&
	       is->packing == GPUMON_FATBIN_PLAIN && is->sm == was->sm;
}

static void check_changed(const struct gpumon_fatbin_image *was,
			  const struct gpumon_fatbin_image *is)
{
	uint8_t *before, *after;
	size_t before_size, after_size;
	struct gpumon_error err;

	MUST(is_text_of(was, is));
	MUST(!gpumon_fatbin_unpack(was, &before, &before_size, &err));
	MUST(!gpumon_fatbin_unpack(is, &after, &after_size, &err));
	check_text((char *)before, before_size, (char *)after, after_size);
	free(before);
	free(after);
}

/* Returns the bytes of the containers, old and new. */
static void check_container(const uint8_t *was, size_t was_size, const uint8_t *is, size_t is_size,
			    size_t *was_bytes, size_t *is_bytes)
{
	struct gpumon_fatbin before, after;
	struct gpumon_error err;
	size_t at = 0;

	MUST(!gpumon_fatbin_open(was, was_size, &before, &err));
	MUST(!gpumon_fatbin_open(is, is_size, &after, &err));
	for (size_t i = 0; i < before.images_n; i++) {
		const struct gpumon_fatbin_image *old = &before.images[i], *new = &after.images[at];

		if (at < after.images_n && old->size == new->size &&
		    !memcmp(old->entry, new->entry, old->size)) {
			at++;
		} else if (old->kind != GPUMON_FATBIN_ELF) {
			MUST(at < after.images_n);
			check_changed(old, new);
			at++;
		}
	}
	MUST(at == after.images_n);
	*was_bytes = before.size;
	*is_bytes = after.size;
	gpumon_fatbin_close(&before);
	gpumon_fatbin_close(&after);
}

static void check_containers(const uint8_t *was, size_t was_size, const uint8_t *is, size_t is_size)
{
	while (was_size >= 16 && gpumon_fatbin_form(was) == GPUMON_FATBIN_CONTAINER &&
	       gpumon_fatbin_container_size(was) && gpumon_fatbin_container_size(was) <= was_size) {
		size_t was_bytes, is_bytes;

		/* What stands behind a damaged one stays. */
		if (is_size == was_size && !memcmp(is, was, was_size))
			return;
		check_container(was, was_size, is, is_size, &was_bytes, &is_bytes);
		was += was_bytes;
		was_size -= was_bytes;
		is += is_bytes;
		is_size -= is_bytes;
	}
	MUST(is_size == was_size && !memcmp(is, was, was_size));
}

static void check_run(const struct gpumon_gpuprog_run *run)
{
	for (uint32_t i = 0; i < run->kernels_n; i++)
		MUST(*run->kernels[i].name && run->kernels[i].way < GPUMON_GPUPROG_WAYS_N &&
		     !*run->kernels[i].why == (run->kernels[i].way != GPUMON_GPUPROG_WAY_REFUSED));
	for (uint32_t i = 0; i < run->lines_n; i++)
		MUST(run->lines[i].kernel < run->kernels_n && run->lines[i].line);
}

static void take_kernel(void *argument, uint32_t number, uint32_t wanted, const char *name)
{
	const struct gpumon_gpuprog_run *run = argument;

	MUST(number < run->kernels_n && !strcmp(run->kernels[number].name, name) && wanted);
}

/* A cubin, as for the sanitizer. */
static void look_at_patched(const struct gpumon_gpuprog_order *order, const uint8_t *image,
			    size_t n)
{
	struct gpumon_gpuprog_run run = { .kernels_n = 0 };

	gpumon_gpuprog_patched(order, image, n, &run, take_kernel, &run);
	gpumon_gpuprog_run_clear(&run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t gpus[] = { 0, 0, 75, 90 };
	static const struct gpumon_gpuprog_object object = { .programs = programs,
							     .programs_n = PROGRAMS,
							     .targets = targets };
	struct gpumon_gpuprog_order order = {
		.object = &object, .facts = all_facts, .shards = 4, .fuel = 100
	};
	struct fuzz_input input = { data, size };
	struct gpumon_gpuprog_run run = { .kernels_n = 0 };
	enum gpumon_gpuprog_outcome outcome;
	struct fuzz_stream out;
	struct gpumon_error err;
	uint8_t *image;
	size_t n;

	if (!programs[0].name)
		make_programs();
	order.sm = gpus[fuzz_u8(&input) % 4];
	image = fuzz_bytes(&input, SIZE_MAX, &n);
	fuzz_stream_begin(&out);
	if (!gpumon_gpuprog_exchange(&order, image, n, &run, out.stream, &outcome, &err)) {
		fuzz_stream_end(&out);
		MUST((outcome == GPUMON_GPUPROG_EXCHANGED) == (out.size > 0));
		if (out.size && gpumon_fatbin_form(image) == GPUMON_FATBIN_TEXT)
			check_text((char *)image, n, out.data, out.size);
		else if (out.size)
			check_containers(image, n, (uint8_t *)out.data, out.size);
		check_run(&run);
	} else {
		fuzz_stream_end(&out);
		MUST(err.code == GPUMON_ERROR_MEMORY);
	}
	fuzz_stream_free(&out);
	if (n >= 16 && gpumon_fatbin_form(image) == GPUMON_FATBIN_ELF_FILE)
		look_at_patched(&order, image, n);
	gpumon_gpuprog_run_clear(&run);
	free(image);
	return 0;
}
