// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/symbol.h"
#include "gpuprog/ptx/statement.h"
#include "lib/memory.h"
#include "names.h"

#define GPUMON_NAME_LETTERS 64 /* of a name that is compared */

unsigned int gpumon_name_distance(const char *one, size_t n, const char *other, size_t m)
{
	unsigned int row[GPUMON_NAME_LETTERS + 1], before, above, least;
	size_t apart = n > m ? n - m : m - n;

	if (n > GPUMON_NAME_LETTERS || m > GPUMON_NAME_LETTERS || apart > GPUMON_NAME_CHANGES)
		return GPUMON_NAME_CHANGES + 1;
	for (size_t j = 0; j <= m; j++)
		row[j] = (unsigned int)j;
	for (size_t i = 1; i <= n; i++) {
		before = row[0];
		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= m; j++) {
			above = row[j];
			least = before + (one[i - 1] != other[j - 1]);
			if (above + 1 < least)
				least = above + 1;
			if (row[j - 1] + 1 < least)
				least = row[j - 1] + 1;
			row[j] = least;
			before = above;
		}
	}
	return row[m] <= GPUMON_NAME_CHANGES ? row[m] : GPUMON_NAME_CHANGES + 1;
}

bool gpumon_exchange_owner(const char *file, char *why, size_t size)
{
	/*
	 * Beginnings of the file names of NVIDIA's closed libraries; NCCL, CUTLASS and RAPIDS are
	 * open.
	 */
	static const char *const libraries[] = {
		"libcublas",	 "libcuda.",	"libcudadevrt", "libcudart",   "libcudnn",
		"libcudss",	 "libcufft",	"libcurand",	"libcusolver", "libcusparse",
		"libcustatevec", "libcutensor", "libnpp",	"libnvcomp",   "libnvinfer",
		"libnvjpeg",	 "libnvrtc",	"libnvtiff",
	};

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		if (strncmp(file, libraries[i], strlen(libraries[i])) != 0)
			continue;
		snprintf(why, size, "%.64s is NVIDIA's, whose licence forbids changes", file);
		return true;
	}
	return false;
}

/* Makes the key of a device function differ from that of a kernel with the same name. */
#define FUNCTION 0x46ull

/* bpftime's prefix of the GPU's kernels in objects that share maps with the kernel. */
#define PREFIX	      "cuda_"
#define BESIDE_KERNEL PREFIX "_Z"

/* The forms of a name that a pattern is compared with. */
#define FORMS 4

struct name {
	struct gpumon_ptx_slice forms[FORMS];
	unsigned int n;
};

/* Whether a name fits a pattern with * and ?. */
static bool fits_pattern(const char *pattern, size_t pattern_size, const char *name, size_t size)
{
	const char *end = pattern + pattern_size, *name_end = name + size;
	const char *star = NULL, *tried = NULL;

	/* After a mismatch the last star takes one more character. */
	while (name < name_end) {
		if (pattern < end && *pattern == '*') {
			star = ++pattern;
			tried = name;
		} else if (pattern < end && (*pattern == '?' || *pattern == *name)) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star;
			name = ++tried;
		} else {
			return false;
		}
	}
	while (pattern < end && *pattern == '*')
		pattern++;
	return pattern == end;
}

/* The place of a bracket's partner to the left, or NULL. Arguments of templates count as brackets. */
static const char *find_open(const char *begin, const char *close)
{
	size_t depth = 0;

	for (const char *at = close; at >= begin; at--) {
		if (strchr(")>]}", *at) && !(*at == '>' && at > begin && at[-1] == '-'))
			depth++;
		else if (strchr("(<[{", *at) && --depth == 0)
			return at;
	}
	return NULL;
}

/* "void scale<float, 1>(float*)": also "scale<float, 1>" and "scale" */
static void add_forms(struct name *name, const char *text)
{
	const char *begin = text, *end = text + strlen(text);

	name->forms[name->n++] = (struct gpumon_ptx_slice){ text, (size_t)(end - text) };
	if (end == text || end[-1] != ')')
		return;
	end = find_open(text, end - 1);
	if (!end)
		return;
	/* Kernels give nothing. Device functions of templates begin with what they give. */
	if (!strncmp(begin, "void ", 5))
		begin += 5;
	if (begin >= end)
		return;
	name->forms[name->n++] = (struct gpumon_ptx_slice){ begin, (size_t)(end - begin) };
	if (end[-1] != '>')
		return;
	end = find_open(begin, end - 1);
	if (end && end > begin)
		name->forms[name->n++] = (struct gpumon_ptx_slice){ begin, (size_t)(end - begin) };
}

static bool fits(const char *pattern, size_t size, const struct name *name)
{
	for (unsigned int i = 0; i < name->n; i++)
		if (fits_pattern(pattern, size, name->forms[i].at, name->forms[i].size))
			return true;
	return false;
}

/* Patterns with commas in between. Those within brackets belong to a pattern: "f(int, int)". */
static bool fits_list(const char *list, const struct name *name)
{
	const char *begin = list;
	size_t depth = 0;

	for (const char *at = list;; at++) {
		if (!*at || (*at == ',' && !depth)) {
			if (fits(begin, (size_t)(at - begin), name) ||
			    (!strncmp(begin, BESIDE_KERNEL, strlen(BESIDE_KERNEL)) &&
			     fits(begin + strlen(PREFIX), (size_t)(at - begin) - strlen(PREFIX),
				  name)))
				return true;
			if (!*at)
				return false;
			begin = at + 1;
		}
		depth += *at == '(' || *at == '<';
		depth -= depth && (*at == ')' || *at == '>');
	}
}

static bool is_of_function(enum gpumon_gpuprog_point point)
{
	return point == GPUMON_GPUPROG_FUNCTION_ENTRY || point == GPUMON_GPUPROG_FUNCTION_EXIT;
}

static bool program_wants(const struct gpumon_gpuprog_order *order, uint32_t program, bool kernel,
			  const struct name *name)
{
	enum gpumon_gpuprog_point point = order->object->programs[program].point;
	const char *targets = order->object->targets[program];

	if (!order->facts[program] || order->own != (point == GPUMON_GPUPROG_RUN))
		return false;
	if (order->own)
		return gpumon_ptx_same(name->forms[0], order->object->programs[program].name);
	return is_of_function(point) != kernel && (!*targets || fits_list(targets, name));
}

static bool kernel_is_named(const struct gpumon_gpuprog_order *order, const struct name *name)
{
	for (uint32_t i = 0; i < order->kernels_n; i++)
		if (fits(order->kernels[i], strlen(order->kernels[i]), name))
			return true;
	return !order->kernels_n;
}

/* How far a pattern is from a name. Its stars are left out; with one, the name's begin is enough. */
static unsigned int distance(const char *pattern, const struct gpumon_ptx_slice *name)
{
	char plain[GPUMON_NAME_LETTERS + 1], text[GPUMON_NAME_LETTERS + 1];
	bool open = strchr(pattern, '*');
	size_t n = 0;

	if (name->size > GPUMON_NAME_LETTERS)
		return GPUMON_NAME_CHANGES + 1;
	for (; *pattern && n < GPUMON_NAME_LETTERS; pattern++)
		if (*pattern != '*' && *pattern != '?')
			plain[n++] = *pattern;
	plain[n] = '\0';
	memcpy(text, name->at, name->size);
	text[name->size] = '\0';
	if (n <= GPUMON_NAME_CHANGES)
		return GPUMON_NAME_CHANGES + 1;
	if (strcasestr(text, plain) ||
	    (name->size > GPUMON_NAME_CHANGES && strcasestr(plain, text)))
		return 0;
	return gpumon_name_distance(plain, n, text, open && n < name->size ? n : name->size);
}

/* A kernel that was not asked for: perhaps it was meant. Without memory there is no hint. */
static void note_near(const struct gpumon_exchange *exchange, const struct name *name)
{
	const struct gpumon_ptx_slice *form = &name->forms[name->n - 1];
	struct gpumon_gpuprog_near near = { .changes = GPUMON_NAME_CHANGES + 1 }, other;

	for (uint32_t i = 0; i < exchange->order->kernels_n; i++) {
		unsigned int changes = distance(exchange->order->kernels[i], form);

		if (changes < near.changes)
			near.changes = changes;
	}
	if (near.changes > GPUMON_NAME_CHANGES)
		return;
	near.name = gpumon_pool_part(&exchange->run->pool, form->at, form->size);
	for (int i = 0; i < GPUMON_GPUPROG_NEAR && near.name; i++) {
		if (exchange->run->near[i].name == near.name)
			return;
		if (exchange->run->near[i].name && exchange->run->near[i].changes <= near.changes)
			continue;
		other = exchange->run->near[i];
		exchange->run->near[i] = near;
		near = other;
	}
}

static uint32_t programs_for(const struct gpumon_exchange *exchange, const char *text, bool kernel)
{
	const struct gpumon_gpuprog_order *order = exchange->order;
	struct name name = { .forms = { { text, strlen(text) } }, .n = 1 };
	char *demangled = gpumon_demangle(text);
	uint32_t programs = 0;

	if (demangled)
		add_forms(&name, demangled);
	if (!kernel || kernel_is_named(order, &name))
		for (uint32_t i = 0; i < order->object->programs_n; i++)
			if (program_wants(order, i, kernel, &name))
				programs |= 1u << i;
	if (!programs && kernel && order->kernels_n)
		note_near(exchange, &name);
	free(demangled);
	return programs;
}

uint32_t gpumon_exchange_wanted(struct gpumon_exchange *exchange, const char *name, size_t size,
				bool kernel)
{
	uint64_t key = gpumon_hash_bytes(name, size) ^ (kernel ? 0 : FUNCTION);
	uint64_t known = gpumon_map_get(&exchange->run->wanted, key);

	if (!known) {
		char *text = gpumon_strndup(name, size);

		known = 1 + (uint64_t)programs_for(exchange, text, kernel);
		free(text);
		gpumon_map_set(&exchange->run->wanted, key, known);
	}
	return (uint32_t)(known - 1);
}

bool gpumon_exchange_wants_all(const struct gpumon_gpuprog_order *order)
{
	for (uint32_t i = 0; !order->kernels_n && i < order->object->programs_n; i++)
		if (!*order->object->targets[i] && order->facts[i] &&
		    order->object->programs[i].point != GPUMON_GPUPROG_RUN)
			return true;
	return false;
}

bool gpumon_exchange_wants_functions(const struct gpumon_gpuprog_order *order)
{
	for (uint32_t i = 0; i < order->object->programs_n; i++)
		if (order->facts[i] && is_of_function(order->object->programs[i].point))
			return true;
	return false;
}
