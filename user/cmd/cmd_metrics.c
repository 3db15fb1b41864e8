// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* gpumon-user metrics: the statistics as metrics for Prometheus. */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "driver/metrics_exporter.h"
#include "lib/http_server.h"
#include "lib/memory.h"
#include "lib/output_file.h"
#include "lib/privileges.h"
#include "lib/wait.h"

#define SECOND_NS 1000000000ULL
/* By BPF, counting for one text takes this time. */
#define BRIEFLY_NS SECOND_NS
/* How often the source is read while nobody asks, so that no reset of its counts is missed. */
#define READ_NS (15 * SECOND_NS)
/* Who serves, if root has started it. */
#define SERVER_USER "nobody"
#define PORT	    9839
#define SERIES_MIN  100
#define SERIES_MAX  1000000

enum format {
	FORMAT_DEFAULT,
	FORMAT_OPENMETRICS,
	FORMAT_TEXT
};

/**
 * struct metrics - the command
 * @exporter: what counts
 * @config: web configuration
 * @settings: of the exporter
 * @format: as asked for
 * @output: file, NULL for standard output
 * @listen: address, NULL: it serves nobody
 * @web_config: file
 * @run_as: user that serves
 * @interval_ns: 0: once, or of a server as often as is useful
 * @read_ns: when the last reading was
 */
struct metrics {
	struct gpumon_exporter *exporter;
	struct gpumon_web_config config;
	struct gpumon_exporter_settings settings;
	enum format format;
	const char *output;
	const char *listen;
	const char *web_config;
	const char *run_as;
	uint64_t interval_ns;
	uint64_t read_ns;
};

static int take_format(struct gpumon_context *context, const char *text, void *value)
{
	enum format *format = value;

	*format = !strcmp(text, "openmetrics") ? FORMAT_OPENMETRICS :
		  !strcmp(text, "text")	       ? FORMAT_TEXT :
						 FORMAT_DEFAULT;
	if (*format != FORMAT_DEFAULT)
		return 0;
	gpumon_usage(context, "--format: openmetrics or text");
	return -1;
}

static int parse_options(struct gpumon_context *context, int argc, char **argv,
			 struct metrics *metrics)
{
	struct gpumon_exporter_settings *settings = &metrics->settings;
	const struct gpumon_option options[] = {
		GPUMON_OPTION("output", 'o', GPUMON_OPTION_TEXT, &metrics->output),
		GPUMON_OPTION("listen", 0, GPUMON_OPTION_TEXT, &metrics->listen),
		GPUMON_OPTION("web-config", 0, GPUMON_OPTION_TEXT, &metrics->web_config),
		GPUMON_OPTION("interval", 'i', GPUMON_OPTION_TIME, &metrics->interval_ns),
		GPUMON_OPTION("hang", 0, GPUMON_OPTION_TIME, &settings->jobs.hang_ns),
		GPUMON_OPTION("starved", 0, GPUMON_OPTION_TIME, &settings->jobs.starved_ns),
		GPUMON_OPTION_RANGE("max-series", 0, GPUMON_OPTION_U64, &settings->limits.series,
				    SERIES_MIN, SERIES_MAX),
		GPUMON_OPTION_CALL("format", 0, &metrics->format, take_format),
		GPUMON_OPTION("run-as", 0, GPUMON_OPTION_TEXT, &metrics->run_as),
		GPUMON_SOURCE_OPTION(&settings->choice),
		{ 0 },
	};
	int status = gpumon_options_parse(context, &argc, &argv, options, GPUMON_OPERANDS_NONE);

	if (status != GPUMON_OPTIONS_GO_ON)
		return status;
	if (metrics->listen && metrics->output)
		return gpumon_usage(context,
				    "--listen and --output are two ways: give one of them");
	if (metrics->listen && metrics->format != FORMAT_DEFAULT)
		return gpumon_usage(context, "--format: with --listen the client says which");
	if (metrics->web_config && !metrics->listen)
		return gpumon_usage(context, "--web-config goes with --listen");
	if (metrics->run_as && !metrics->listen)
		return gpumon_usage(context, "--run-as goes with --listen");
	if (metrics->interval_ns && !metrics->listen && !metrics->output)
		return gpumon_usage(context, "--interval goes with --output or --listen");
	return GPUMON_OPTIONS_GO_ON;
}

/* --- privileges */

/*
 * What reading needs: of the module CAP_NET_ADMIN for each request; of BPF nothing, as its maps are
 * open and mapped.
 */
static unsigned int needs_of(const struct metrics *metrics)
{
	return gpumon_exporter_is_bpf(metrics->exporter) ? 0 : GPUMON_PRIVILEGE_MODULE;
}

/* From here on a client that takes over the server has got nothing of root but the module's numbers. */
static int give_up_root(const struct metrics *metrics, struct gpumon_error *err)
{
	const char *name = metrics->run_as ? metrics->run_as : SERVER_USER;
	unsigned int needs = needs_of(metrics);
	int ret = 0;

	if (!geteuid() || metrics->run_as) {
		if (!getpwnam(name))
			return gpumon_error_set(
				err, GPUMON_EXIT_FAILED, -ENOENT, GPUMON_ERROR_USAGE,
				"--run-as: there is no user \"%.32s\" to serve as: name another one, or root",
				name);
		ret = gpumon_privileges_become(name, needs, 0, err);
	}
	gpumon_privileges_keep(needs);
	return ret;
}

/* --- texts */

static bool wants_openmetrics(const struct metrics *metrics)
{
	/* node_exporter reads the older format. */
	return metrics->format == FORMAT_OPENMETRICS ||
	       (metrics->format == FORMAT_DEFAULT && !metrics->output);
}

static int write_once(struct gpumon_context *context, struct metrics *metrics,
		      struct gpumon_error *err)
{
	struct gpumon_output_file file;
	bool good;

	if (gpumon_output_file_open(&file, metrics->output, true, GPUMON_OUTPUT_TEXT, context->out,
				    err))
		return -1;
	/* It is for another user, that of node_exporter. */
	if (metrics->output && strcmp(metrics->output, "-") != 0 && fileno(file.stream) >= 0)
		(void)fchmod(fileno(file.stream), 0644);
	good = !gpumon_exporter_write(metrics->exporter, wants_openmetrics(metrics), file.stream);
	if (!good)
		(void)gpumon_error_output(err);
	return gpumon_output_file_close(&file, good, err) || !good ? -1 : 0;
}

/* Look for drivers and alerts each second until then. False after a signal. */
static bool look_until(struct metrics *metrics, uint64_t until_ns)
{
	for (uint64_t now; (now = gpumon_monotonic_ns()) < until_ns;) {
		uint64_t step = now + SECOND_NS < until_ns ? now + SECOND_NS : until_ns;

		if (!gpumon_sleep_until(step))
			return false;
		gpumon_exporter_look(metrics->exporter);
	}
	return !gpumon_signals_caught();
}

static int run_once(struct gpumon_context *context, struct metrics *metrics,
		    struct gpumon_error *err)
{
	if (gpumon_exporter_is_bpf(metrics->exporter)) {
		fputs("gpumon-user: counting by BPF for 1 s (--listen and --interval count on)\n",
		      context->err);
		(void)look_until(metrics, gpumon_monotonic_ns() + BRIEFLY_NS);
	}
	if (gpumon_exporter_read(metrics->exporter, err))
		return -1;
	return write_once(context, metrics, err);
}

/* A reading that fails is in the text: gpumon_source_up is 0. */
static int run_repeated(struct gpumon_context *context, struct metrics *metrics,
			struct gpumon_error *err)
{
	uint64_t due = gpumon_monotonic_ns();
	struct gpumon_error ignored;

	do {
		(void)gpumon_exporter_read(metrics->exporter, &ignored);
		if (write_once(context, metrics, err))
			return -1;
		due += metrics->interval_ns;
		/* After a suspend, do not catch up on missed intervals. */
		if (due < gpumon_monotonic_ns())
			due = gpumon_monotonic_ns();
	} while (look_until(metrics, due));
	return 0;
}

/* --- the server */

static void read_now(struct metrics *metrics)
{
	struct gpumon_error ignored;

	(void)gpumon_exporter_read(metrics->exporter, &ignored);
	metrics->read_ns = gpumon_monotonic_ns();
}

static int make_text(void *data, bool openmetrics, char **text, size_t *size)
{
	struct metrics *metrics = data;
	FILE *stream;
	int ret;

	if (gpumon_monotonic_ns() - metrics->read_ns >= GPUMON_HTTP_GOOD_NS)
		read_now(metrics);
	stream = gpumon_memstream_open(text, size);
	ret = gpumon_exporter_write(metrics->exporter, openmetrics, stream);
	gpumon_memstream_close(stream);
	return ret;
}

static void serve(struct metrics *metrics, struct gpumon_http_server *server)
{
	uint64_t interval = metrics->interval_ns ? metrics->interval_ns : READ_NS;

	while (!gpumon_signals_caught()) {
		uint64_t due = metrics->read_ns + interval;
		uint64_t step = gpumon_monotonic_ns() + SECOND_NS;

		gpumon_http_server_run(server, due < step ? due : step);
		gpumon_exporter_look(metrics->exporter);
		if (gpumon_monotonic_ns() >= metrics->read_ns + interval)
			read_now(metrics);
	}
}

static int run_server(struct gpumon_context *context, struct metrics *metrics, int fd,
		      struct gpumon_error *err)
{
	const struct gpumon_http_page page = {
		.text = make_text,
		.types = { gpumon_exposition_content_type(false),
			   gpumon_exposition_content_type(true) },
		.data = metrics,
	};
	struct gpumon_http_server *server;
	char name[192];

	if (gpumon_http_server_start(&server, fd, metrics->web_config ? &metrics->config : NULL,
				     &page, err))
		return -1;
	if (gpumon_exporter_read(metrics->exporter, err) || give_up_root(metrics, err)) {
		gpumon_http_server_stop(server);
		return -1;
	}
	metrics->read_ns = gpumon_monotonic_ns();
	gpumon_http_server_name(server, name, sizeof(name));
	fprintf(context->err, "gpumon-user: serving %s, counted by %s\n", name,
		gpumon_exporter_is_bpf(metrics->exporter) ? "BPF" : "the module");
	fflush(context->err);
	serve(metrics, server);
	gpumon_http_server_stop(server);
	return 0;
}

/* All that needs root is opened here. */
static int run_opened(struct gpumon_context *context, struct metrics *metrics,
		      struct gpumon_error *err)
{
	const struct gpumon_web_config *config = metrics->web_config ? &metrics->config : NULL;
	int fd = -1, ret = -1;

	if (GPUMON_HAS_HTTP && metrics->web_config &&
	    gpumon_web_config_read(&metrics->config, metrics->web_config, err))
		return -1;
	if (metrics->listen && gpumon_http_listen(metrics->listen, PORT, config, &fd, err))
		return -1;
	if (gpumon_exporter_open(&metrics->exporter, &metrics->settings, err)) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	gpumon_signals_catch();
	if (GPUMON_HAS_HTTP && metrics->listen) {
		ret = run_server(context, metrics, fd, err);
	} else {
		gpumon_privileges_keep(needs_of(metrics) | GPUMON_PRIVILEGE_FILES);
		ret = metrics->interval_ns ? run_repeated(context, metrics, err) :
					     run_once(context, metrics, err);
	}
	gpumon_exporter_close(metrics->exporter);
	return ret;
}

static int metrics_run(struct gpumon_context *context, int argc, char **argv)
{
	struct metrics metrics = {
		.settings = { .root = context->root,
			      .limits = { GPUMON_SUMS_SERIES, GPUMON_SUMS_FORGET_NS } },
	};
	struct gpumon_error err = { 0 };
	int ret = parse_options(context, argc, argv, &metrics);

	if (ret != GPUMON_OPTIONS_GO_ON)
		return ret;
	ret = run_opened(context, &metrics, &err);
	if (GPUMON_HAS_HTTP)
		gpumon_web_config_clear(&metrics.config);
	return ret ? gpumon_report(context, &err) : GPUMON_EXIT_OK;
}

const struct gpumon_command gpumon_command_metrics = {
	.name = "metrics",
	.summary = "Export the statistics to Prometheus: served, or as a file",
	.usage =
		"[--listen ADDRESS [--web-config FILE] [--run-as USER] | --output FILE]\n"
		"                           [--interval TIME] [--hang TIME] [--starved TIME] [--max-series N]\n"
		"                           [--format FORMAT] [--source SOURCE]",
	.help = GPUMON_HELP(
		"Without --listen and --output one text goes to standard output. The counters of a server and of\n"
		"a repeated file keep growing when statistics are reset or the module is loaded again. What is\n"
		"unknown is absent, never 0. No metric names a process.\n"
		"\n"
		"ADDRESS is 127.0.0.1, 127.0.0.1:9839 or [::1]:9839; \"systemd\" is a socket that systemd has opened.\n"
		"Beyond this machine the web configuration file of Prometheus has to ask for TLS and a password.\n"
		"\n"
		"Options:\n"
		"      --listen ADDRESS   serve http://ADDRESS:9839/metrics until stopped\n"
		"      --web-config FILE  Prometheus' web configuration file: TLS, and who may read\n"
		"      --run-as USER      serve as this user, not as root; default: " SERVER_USER
		"\n"
		"  -o, --output FILE      write FILE for node_exporter's textfile collector\n"
		"  -i, --interval TIME    write FILE again and again; read at least so often for --listen\n"
		"      --hang TIME        count jobs that are on the hardware for longer\n"
		"      --starved TIME     count jobs that wait in their queue for longer\n"
		"      --max-series N     lines of the text; what is beyond is summed up (default 20000)\n"
		"      --format FORMAT    openmetrics, or text (0.0.4); default: text in a FILE\n" GPUMON_SOURCE_HELP),
	.privileges = GPUMON_PRIVILEGE_MODULE | GPUMON_PRIVILEGE_BPF | GPUMON_PRIVILEGE_LOG |
		      GPUMON_PRIVILEGE_FILES | GPUMON_PRIVILEGE_PROGRAM,
	.run = metrics_run,
};
