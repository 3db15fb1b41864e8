// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/output_file.h"
#include "show.h"

/* A capture that is given twice would be counted twice. */
static int check_distinct(struct gpumon_context *context, int argc, char **argv)
{
	struct stat one, other;

	for (int i = 0; i < argc; i++) {
		if (stat(argv[i], &one))
			continue;
		for (int k = 0; k < i; k++) {
			if (stat(argv[k], &other) || one.st_dev != other.st_dev ||
			    one.st_ino != other.st_ino)
				continue;
			gpumon_usage(context, "%s and %s are the same capture: leave one out",
				     argv[k], argv[i]);
			return -1;
		}
	}
	return 0;
}

static bool is_file(const char *name)
{
	return name && strcmp(name, "-") != 0;
}

int gpumon_show_check_rows(struct gpumon_context *context, uint32_t rows)
{
	if (!context->json || !rows)
		return 0;
	return gpumon_usage(context, "--json has all rows: leave out --rows");
}

int gpumon_show_take_from(struct gpumon_context *context, const char *text, void *value)
{
	struct gpumon_asked_range *asked = value;

	asked->has_from = true;
	return gpumon_argument_moment(context, "--from", text, &asked->from_ns);
}

int gpumon_show_take_to(struct gpumon_context *context, const char *text, void *value)
{
	struct gpumon_asked_range *asked = value;

	asked->has_to = true;
	return gpumon_argument_moment(context, "--to", text, &asked->to_ns);
}

int gpumon_show_check(struct gpumon_context *context, const struct gpumon_show *show)
{
	const struct gpumon_profile_options *tree = &show->profile;

	if (tree->asked.name && (tree->asked.has_from || tree->asked.has_to))
		return gpumon_usage(context,
				    "--range is a part of the time, as --%s is: leave one out",
				    tree->asked.has_from ? "from" : "to");
	if (tree->cpu_only && tree->gpu_only)
		return gpumon_usage(context, "--cpu-only and --gpu-only leave nothing together");
	if (tree->cpu_only && (tree->devices || tree->streams || tree->graphs))
		return gpumon_usage(
			context,
			"--cpu-only leaves out the GPU: leave out --devices, --streams and --graphs");
	if (tree->gpu_only &&
	    (tree->threads || tree->functions || tree->no_inline || tree->interpreter))
		return gpumon_usage(
			context,
			"--gpu-only leaves out call paths: leave out --threads, --functions, --no-inline and --interpreter");
	if (show->wall && show->idle)
		return gpumon_usage(context,
				    "--wall and --idle are different times: leave one out");
	if ((show->wall || show->idle) && (tree->cpu_only || tree->gpu_only))
		return gpumon_usage(
			context, "--%s is about threads outside of launches, too: leave out --%s",
			show->wall ? "wall" : "idle", tree->cpu_only ? "cpu-only" : "gpu-only");
	if (show->force && !is_file(show->output) && !is_file(show->picture))
		return gpumon_usage(context,
				    "--force replaces a file: name the file, or leave --force out");
	return 0;
}

enum gpumon_weight gpumon_show_weight(const struct gpumon_show *show, enum gpumon_weight usual)
{
	return show->wall	      ? GPUMON_WEIGHT_WALL_NS :
	       show->idle	      ? GPUMON_WEIGHT_IDLE_NS :
	       show->profile.cpu_only ? GPUMON_WEIGHT_CPU_NS :
					usual;
}

int gpumon_show_operands(struct gpumon_context *context, struct gpumon_show *show, int argc,
			 char **argv)
{
	struct stat status;

	if (!argc) {
		gpumon_usage(context, "no capture given: the directory that \"record\" made");
		return -1;
	}
	if (argc > GPUMON_CAPTURES_MAX) {
		gpumon_usage(context, "at most %d captures at once", GPUMON_CAPTURES_MAX);
		return -1;
	}
	for (int i = 0; i < argc; i++) {
		if (argv[i][0])
			continue;
		gpumon_usage(context, "the name of a capture is empty");
		return -1;
	}
	if (show->profile.symbol_root &&
	    (stat(show->profile.symbol_root, &status) || !S_ISDIR(status.st_mode))) {
		gpumon_usage(context, "--symbol-root: %s is no directory",
			     show->profile.symbol_root);
		return -1;
	}
	if (gpumon_show_check(context, show))
		return -1;
	if (!show->compare && check_distinct(context, argc, argv))
		return -1;
	show->paths = (const char *const *)argv;
	show->count = (unsigned int)argc;
	return 0;
}

int gpumon_show_check_file(const char *path, bool force, struct gpumon_error *err)
{
	struct gpumon_output_file file;

	if (!is_file(path))
		return 0;
	if (gpumon_output_file_open(&file, path, force, GPUMON_OUTPUT_TEXT, NULL, err))
		return -1;
	return gpumon_output_file_close(&file, false, err);
}

int gpumon_show_profile(struct gpumon_context *context, const struct gpumon_show *show,
			unsigned int bins, enum gpumon_output_content content,
			int (*write)(FILE *out, const struct gpumon_view *view, void *data),
			void *data)
{
	struct gpumon_output_file file;
	struct gpumon_load load = { 0 };
	struct gpumon_error err;
	bool good = false;
	int ret = -1;

	/* Open the output first, so that an error shows before minutes of reading captures. */
	if (gpumon_output_file_open(&file, show->output, show->force, content, context->out, &err))
		return gpumon_report(context, &err);
	if (!gpumon_load_captures(&load, show->paths, show->count, &show->profile, bins, &err)) {
		errno = 0;
		good = !write(file.stream, &load.view, data);
		ret = good ? 0 : gpumon_load_output_failed(file.path, errno, &err);
	}
	if (gpumon_output_file_close(&file, good, &err))
		ret = -1;
	gpumon_load_free(&load);
	return ret ? gpumon_report(context, &err) : GPUMON_EXIT_OK;
}

int gpumon_show_stream(struct gpumon_context *context, const struct gpumon_show *show,
		       enum gpumon_output_content content,
		       int (*write)(FILE *out, const char *const *paths, unsigned int count,
				    const struct gpumon_profile_options *options))
{
	struct gpumon_output_file file;
	struct gpumon_error err;
	bool good;
	int ret;

	if (gpumon_output_file_open(&file, show->output, show->force, content, context->out, &err))
		return gpumon_report(context, &err);
	errno = 0;
	good = !write(file.stream, show->paths, show->count, &show->profile);
	ret = good ? 0 : gpumon_load_output_failed(file.path, errno, &err);
	if (gpumon_output_file_close(&file, good, &err))
		ret = -1;
	return ret ? gpumon_report(context, &err) : GPUMON_EXIT_OK;
}
