// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <sys/stat.h>

#include "base/output_file.h"
#include "show.h"

bool gpumon_show_option(struct gpumon_show *show, int option)
{
	switch (option) {
	case 'o':
		show->output = optarg;
		return true;
	case GPUMON_SHOW_OPTION_FORCE:
		show->force = true;
		return true;
	case GPUMON_SHOW_OPTION_CPU_ONLY:
		show->profile.cpu_only = true;
		return true;
	case GPUMON_SHOW_OPTION_GPU_ONLY:
		show->profile.gpu_only = true;
		return true;
	case GPUMON_SHOW_OPTION_DEVICES:
		show->profile.devices = true;
		return true;
	case GPUMON_SHOW_OPTION_STREAMS:
		show->profile.streams = true;
		return true;
	case GPUMON_SHOW_OPTION_GRAPHS:
		show->profile.graphs = true;
		return true;
	case GPUMON_SHOW_OPTION_THREADS:
		show->profile.threads = true;
		return true;
	case GPUMON_SHOW_OPTION_PROCESSES:
		show->profile.processes = true;
		return true;
	case GPUMON_SHOW_OPTION_NO_INLINE:
		show->profile.no_inline = true;
		return true;
	case GPUMON_SHOW_OPTION_INTERPRETER:
		show->profile.interpreter = true;
		return true;
	case GPUMON_SHOW_OPTION_SYMBOL_ROOT:
		show->profile.symbol_root = optarg;
		return true;
	default:
		return false;
	}
}

int gpumon_show_operands(struct gpumon_context *context, struct gpumon_show *show, int argc,
			 char **argv)
{
	struct stat status;

	if (optind >= argc) {
		gpumon_usage(context, "no capture given: the directory that \"record\" made");
		return -1;
	}
	if (argc - optind > GPUMON_CAPTURES_MAX) {
		gpumon_usage(context, "at most %d captures at once", GPUMON_CAPTURES_MAX);
		return -1;
	}
	for (int i = optind; i < argc; i++) {
		if (argv[i][0])
			continue;
		gpumon_usage(context, "the name of a capture is empty");
		return -1;
	}
	if (show->output && !*show->output) {
		gpumon_usage(context, "--output: the name is empty");
		return -1;
	}
	if (show->profile.symbol_root &&
	    (stat(show->profile.symbol_root, &status) || !S_ISDIR(status.st_mode))) {
		gpumon_usage(context, "--symbol-root: %s is no directory",
			     show->profile.symbol_root);
		return -1;
	}
	if (show->profile.cpu_only && show->profile.gpu_only) {
		gpumon_usage(context, "--cpu-only and --gpu-only leave nothing together");
		return -1;
	}
	show->paths = (const char *const *)(argv + optind);
	show->count = (unsigned int)(argc - optind);
	return 0;
}

int gpumon_show_profile(struct gpumon_context *context, const struct gpumon_show *show,
			unsigned int bins, bool text,
			int (*write)(FILE *out, const struct gpumon_view *view, void *data),
			void *data)
{
	struct gpumon_output_file file;
	struct gpumon_load load = { 0 };
	struct gpumon_error err;
	bool good = false;
	int ret = -1;

	/* First: a file that may not be written is told before captures are read for minutes. */
	if (gpumon_output_file_open(&file, show->output, show->force, text, context->out, &err))
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

int gpumon_show_stream(struct gpumon_context *context, const struct gpumon_show *show, bool text,
		       int (*write)(FILE *out, const char *const *paths, unsigned int count))
{
	struct gpumon_output_file file;
	struct gpumon_error err;
	bool good;
	int ret;

	if (gpumon_output_file_open(&file, show->output, show->force, text, context->out, &err))
		return gpumon_report(context, &err);
	errno = 0;
	good = !write(file.stream, show->paths, show->count);
	ret = good ? 0 : gpumon_load_output_failed(file.path, errno, &err);
	if (gpumon_output_file_close(&file, good, &err))
		ret = -1;
	return ret ? gpumon_report(context, &err) : GPUMON_EXIT_OK;
}
