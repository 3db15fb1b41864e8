// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Runs a capture through everything: joining, profile, stored names, timeline and all other
 * outputs. The first byte selects the rest: files with corrected chunks, so that the records are
 * reached, or orders to make matching records. Numbers that must agree are compared.
 */
#include <fcntl.h>
#include <json.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture_maker.h"
#include "capture/capture_internal.h"
#include "chunks.h"
#include "report/stored_names.h"
#include "output.h"

#define TEXTS  16
#define ORDERS 600

static char text_room[TEXTS][256];

static const char info[] = "{\"format\":\"gpumon-capture\",\"version\":1}";

static void write_files(uint8_t *data, size_t size)
{
	size_t half = fuzz_right_chunks(data, size);

	fuzz_write(fuzz_path("one/process-1-1.records"), data, half);
	fuzz_write(fuzz_path("one/process-2-1.records"), data + half, size - half);
}

static const char *text(struct fuzz_input *input)
{
	return text_room[fuzz_u8(input) % TEXTS];
}

static uint64_t when(struct fuzz_input *input, uint64_t *now)
{
	uint8_t step = fuzz_u8(input);

	/* Mostly forwards, but also with a clock that jumps, and without a time. */
	if (step == 0xff)
		return fuzz_u64(input);
	if (step == 0xfe)
		return 0;
	if (step & 1)
		*now += (uint64_t)step << fuzz_u8(input) % 24;
	return *now + step;
}

static void make_record(struct capture_maker *maker, struct fuzz_input *input, uint64_t *now)
{
	uint32_t small = fuzz_u8(input) % 8;
	uint64_t start = when(input, now), end = start + fuzz_u16(input);

	switch (fuzz_u8(input) % 21) {
	case 0:
		make_process(maker, .pid = small, .host_pid = small, .rank = fuzz_u8(input),
			     .start_ns = start, .host = make_string(maker, text(input)),
			     .executable = make_string(maker, text(input)),
			     .command = make_string(maker, text(input)));
		break;
	case 1:
		make_thread(maker, .tid = small, .name = make_string(maker, text(input)));
		break;
	case 2:
		make_mapping(maker, .time_ns = start, .start = small << 16,
			     .end = (small + 1) << 16, .offset = fuzz_u16(input),
			     .path = make_string(maker, text(input)));
		break;
	case 3:
		make_device(maker, .id = small, .name = make_string(maker, text(input)));
		break;
	case 4:
		make_context(maker, .id = small, .device = fuzz_u8(input) % 8);
		break;
	case 5:
		make_stream(maker, .context = small, .id = fuzz_u8(input) % 8,
			    .name = make_string(maker, text(input)));
		break;
	case 6:
	case 7:
		make_launch(maker, .head.flags = fuzz_u8(input) % 64, .tid = small,
			    .correlation = fuzz_u8(input), .start_ns = start, .end_ns = end,
			    .stack = make_stack(maker, fuzz_u16(input) << 4, small << 16, 0x70000),
			    .function = make_string(maker, text(input)), .context = small,
			    .graph = small % 4);
		break;
	case 8:
		make_call(maker, .head.flags = fuzz_u8(input) % 2, .tid = small, .start_ns = start,
			  .end_ns = end, .function = make_string(maker, text(input)));
		break;
	case 9:
		make_hit(maker, .head.flags = fuzz_u8(input) % 2, .time_ns = start,
			 .number = fuzz_u8(input), .tid = small,
			 .function = make_string(maker, text(input)),
			 .stack = make_stack(maker, small << 4, 0x70000), .duration_ns = end);
		break;
	case 10:
		make_range(maker, .time_ns = start, .id = fuzz_u8(input) % 4, .tid = small,
			   .kind = fuzz_u8(input) % 7, .text = make_string(maker, text(input)),
			   .domain = make_string(maker, text(input)));
		break;
	case 11:
		make_graph_node(maker, .node = fuzz_u8(input) % 8, .original = fuzz_u8(input) % 8,
				.graph = small, .stack = make_stack(maker, 0x1000, small << 8));
		break;
	case 12:
	case 13:
		make_kernel(maker, .head.flags = fuzz_u8(input) % 4, .start_ns = start,
			    .end_ns = fuzz_u8(input) == 0xff ? start - 5 : end,
			    .correlation = fuzz_u8(input), .node = fuzz_u8(input) % 8,
			    .name = make_string(maker, text(input)), .device = small,
			    .context = fuzz_u8(input) % 8, .stream = fuzz_u8(input) % 8,
			    .graph = fuzz_u8(input) % 4);
		break;
	case 14:
		make_copy(maker, .head.flags = fuzz_u8(input) % 8, .start_ns = start, .end_ns = end,
			  .bytes = fuzz_u64(input), .correlation = fuzz_u8(input), .device = small,
			  .from = fuzz_u8(input) % 8, .to = fuzz_u8(input) % 8);
		break;
	case 15:
		make_set(maker, .start_ns = start, .end_ns = end, .bytes = fuzz_u64(input),
			 .correlation = fuzz_u8(input), .device = small);
		make_whole_graph(maker, .start_ns = start, .end_ns = end,
				 .correlation = fuzz_u8(input), .device = small,
				 .graph = fuzz_u8(input) % 4);
		break;
	case 16:
		make_sync(maker, .start_ns = start, .end_ns = end, .correlation = small,
			  .stream = fuzz_u8(input), .kind = fuzz_u8(input));
		break;
	case 17:
		make_unified_memory(maker, .start_ns = start, .end_ns = end,
				    .value = fuzz_u64(input), .kind = small);
		make_memory(maker, .time_ns = start, .bytes = fuzz_u64(input), .device = small);
		break;
	case 18:
		make_loss(maker, .count = fuzz_u64(input), .cause = fuzz_u8(input) % 20);
		make_totals(maker, .launches = fuzz_u64(input), .kernels = fuzz_u64(input));
		break;
	case 19:
		make_note(maker, .text = make_string(maker, text(input)));
		make_alert(maker, .time_ns = start, .code = small,
			   .message = make_string(maker, text(input)));
		break;
	default:
		make_window(maker, .head.flags = small % 4, .time_ns = start,
			    .reason = make_string(maker, text(input)));
	}
}

static void make_files(struct fuzz_input *input)
{
	struct gpumon_capture_writer *writer;
	struct gpumon_capture_file *file;
	struct capture_maker *maker;
	uint64_t now = 1000;
	size_t size;
	char *about;

	for (unsigned int i = 0; i < TEXTS; i++) {
		char *some = fuzz_text(input);

		snprintf(text_room[i], sizeof(text_room[i]), "%s", some);
		free(some);
	}
	MUST(!gpumon_capture_create(fuzz_path("one"), text_room[0], &writer));
	for (unsigned int process = 1; process < 3; process++) {
		maker = capture_maker_new();
		MUST(!gpumon_capture_add_file(writer, process == 1 ? "process-1-1" : "process-2-1",
					      &file));
		for (unsigned int n = 0; n < ORDERS / 2 && input->size; n++)
			make_record(maker, input, &now);
		capture_maker_flush(maker, file, process, 1000);
		capture_maker_free(maker);
	}
	MUST(!gpumon_capture_close(writer));
	/* A command can have any bytes, but the capture's description is JSON all the same. */
	about = fuzz_read(fuzz_path("one/capture.json"), &size);
	json_object_put(fuzz_json(about, size));
	free(about);
}

static uint64_t sum_of(const struct gpumon_node *root)
{
	uint64_t sum = root->gpu_ns + root->left_ns;

	for (const struct gpumon_node *node = root->child; node; node = node->next)
		sum += sum_of(node);
	return sum;
}

/* Everything in the tree is also in the table of kernels. */
static void check_sums(const struct gpumon_view *view)
{
	uint64_t gpu_ns = 0;

	for (unsigned int i = 0; i < view->kernel_count; i++)
		gpu_ns += view->kernels[i].gpu_ns + view->kernels[i].left_ns;
	MUST(sum_of(view->root) == gpu_ns);
}

static void keep_names(const char *path)
{
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct gpumon_error err;

	if (directory < 0)
		return;
	(void)gpumon_store_names(directory, path, &err);
	(void)close(directory);
}

/* @changed: the files are not as written by a recorder. */
static void use(unsigned int flags, bool changed)
{
	const char *paths[] = { fuzz_path("one") };
	const struct gpumon_profile_options options = {
		.devices = flags & 1,
		.streams = flags & 2,
		.graphs = flags & 4,
		.threads = flags & 8,
		.processes = flags & 16,
		.interpreter = flags & 32,
		.bins = 10,
	};
	struct gpumon_profile *profile;
	struct gpumon_view view;

	if (flags & 64)
		keep_names(paths[0]);
	if (gpumon_profile_load(paths, 1, &options, &profile)) {
		/* The only reason to reject a capture with a valid description. */
		MUST(changed && strstr(gpumon_capture_error()->message, " of format version "));
		return;
	}
	gpumon_view_of(profile, &view);
	check_sums(&view);
	switch (flags / 128) {
	case 0:
		fuzz_check_json(&view);
		break;
	case 1:
		fuzz_check_folded(&view);
		fuzz_check_texts(&view, flags % 200);
		break;
	case 2:
		fuzz_check_pprof(&view);
		break;
	case 3:
		fuzz_check_pictures(&view, flags);
		break;
	case 4:
		fuzz_check_sqlite(paths, 1);
		break;
	case 5:
		fuzz_check_chrome(paths, 1);
		break;
	default:
		fuzz_check_perfetto(paths, 1);
	}
	gpumon_profile_free(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	uint8_t kind = fuzz_u8(&input);
	unsigned int flags = fuzz_u16(&input) % 1024;
	uint8_t *bytes;
	size_t n;

	if (kind & 1) {
		make_files(&input);
	} else {
		bytes = fuzz_bytes(&input, SIZE_MAX, &n);
		fuzz_folder_make("one");
		fuzz_write(fuzz_path("one/capture.json"), info, strlen(info));
		write_files(bytes, n);
		free(bytes);
	}
	use(flags, !(kind & 1));
	fuzz_folder_remove("one");
	return 0;
}
