// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The text for Prometheus, and the file that says who may read it. */
#include "common.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/http_server.h"
#include "lib/memory.h"
#include "lib/openmetrics.h"
#include "lib/web_config.h"

/* bcrypt of "secret" and of "other", of a low cost for a fast test. */
#define SECRET "$2b$04$abcdefghijklmnopqrstuuzN8zRXd5oIzuYzQbPmaNPMOOMpW3X4."

/* --- labels */

static void label_is(const char *name, const char *value, const char *want)
{
	struct gpumon_labels labels = { 0 };

	gpumon_labels_add(&labels, name, value);
	assert_string_equal(gpumon_labels_text(&labels), want);
	gpumon_labels_clear(&labels);
}

static void labels_are_escaped(void **state)
{
	(void)state;
	label_is("device", "0000:03:00.0", "device=\"0000:03:00.0\"");
	label_is("name", "a \"b\" \\ c\nd", "name=\"a \\\"b\\\" \\\\ c\\nd\"");
	label_is("name", "cut \xe2\x82", "name=\"cut \xef\xbf\xbd\xef\xbf\xbd\"");
	label_is("umlaut", "\xc3\xa4", "umlaut=\"\xc3\xa4\"");
	label_is("9a-b.c", "x", "_a_b_c=\"x\"");
}

static void unknown_labels_are_absent(void **state)
{
	struct gpumon_labels labels = { 0 };
	size_t used;

	(void)state;
	assert_string_equal(gpumon_labels_text(&labels), "");
	gpumon_labels_add(&labels, "a", NULL);
	gpumon_labels_add(&labels, "b", "");
	assert_string_equal(gpumon_labels_text(&labels), "");
	gpumon_labels_add(&labels, "c", "1");
	used = labels.used;
	gpumon_labels_add(&labels, "d", "2");
	assert_string_equal(gpumon_labels_text(&labels), "c=\"1\",d=\"2\"");
	gpumon_labels_cut(&labels, used);
	assert_string_equal(gpumon_labels_text(&labels), "c=\"1\"");
	gpumon_labels_clear(&labels);
}

/* --- names and lines */

static void name_is(const char *prefix, const char *column, const char *want, const char *want_unit,
		    unsigned int want_digits)
{
	const char *unit;
	unsigned int digits;
	char *name = gpumon_openmetrics_name(prefix, column, &unit, &digits);

	assert_string_equal(name, want);
	assert_string_equal(unit, want_unit);
	assert_int_equal(digits, want_digits);
	free(name);
}

static void names_have_base_units(void **state)
{
	(void)state;
	name_is("gpumon_ring", "busy_ns", "gpumon_ring_busy_seconds", "seconds", 9);
	name_is("gpumon", "hang_ms", "gpumon_hang_seconds", "seconds", 3);
	name_is("gpumon_crtc", "refresh_millihertz", "gpumon_crtc_refresh_hertz", "hertz", 3);
	name_is("gpumon_amdgpu_moves", "bytes", "gpumon_amdgpu_moves_bytes", "bytes", 0);
	name_is("gpumon_ring", "done", "gpumon_ring_done", "", 0);
	/* Endings that the format gives a meaning to. */
	name_is("gpumon_x", "total", "gpumon_x_total_value", "", 0);
	name_is("gpumon_x", "bucket", "gpumon_x_bucket_value", "", 0);
	name_is("gpumon_x", "a-b", "gpumon_x_a_b", "", 0);
}

static void text_is(bool openmetrics, void (*make)(const struct gpumon_exposition *),
		    const char *want)
{
	struct gpumon_exposition exposition = { .openmetrics = openmetrics };
	char *text;
	size_t size;

	exposition.stream = gpumon_memstream_open(&text, &size);
	make(&exposition);
	gpumon_memstream_close(exposition.stream);
	assert_string_equal(text, want);
	free(text);
}

static void make_counter(const struct gpumon_exposition *exposition)
{
	gpumon_exposition_family(exposition, "gpumon_busy_seconds", GPUMON_METRIC_COUNTER,
				 "seconds", "A \"b\" \\\nc");
	gpumon_exposition_sample(exposition, "gpumon_busy_seconds", "_total", "a=\"1\"", "", false,
				 12500000000, 9);
	gpumon_exposition_end(exposition);
}

static void make_others(const struct gpumon_exposition *exposition)
{
	gpumon_exposition_family(exposition, "gpumon_level", GPUMON_METRIC_GAUGE, "", "Level");
	gpumon_exposition_sample(exposition, "gpumon_level", "", "", "", true, 5, 0);
	gpumon_exposition_sample(exposition, "gpumon_level", "", "", "", false, 59940, 3);
	gpumon_exposition_sample(exposition, "gpumon_level", "", "", "le=\"1\"", false, 1, 9);
	gpumon_exposition_sample(exposition, "gpumon_level", "", "a=\"1\"", "le=\"1\"", false,
				 UINT64_MAX, 9);
	gpumon_exposition_family(exposition, "gpumon_build", GPUMON_METRIC_INFO, "", "Build");
	gpumon_exposition_sample(exposition, "gpumon_build", "_info", "v=\"1\"", "", false, 1, 0);
}

static void both_formats(void **state)
{
	static const char others[] = "# HELP gpumon_level Level\n"
				     "# TYPE gpumon_level gauge\n"
				     "gpumon_level -5\n"
				     "gpumon_level 59.94\n"
				     "gpumon_level{le=\"1\"} 0.000000001\n"
				     "gpumon_level{a=\"1\",le=\"1\"} 18446744073.709551615\n";
	char want[1024];

	(void)state;
	text_is(true, make_counter,
		"# HELP gpumon_busy_seconds A \\\"b\\\" \\\\\\nc\n"
		"# TYPE gpumon_busy_seconds counter\n"
		"# UNIT gpumon_busy_seconds seconds\n"
		"gpumon_busy_seconds_total{a=\"1\"} 12.5\n"
		"# EOF\n");
	text_is(false, make_counter,
		"# HELP gpumon_busy_seconds_total A \"b\" \\\\\\nc\n"
		"# TYPE gpumon_busy_seconds_total counter\n"
		"gpumon_busy_seconds_total{a=\"1\"} 12.5\n");
	snprintf(
		want, sizeof(want), "%s%s", others,
		"# HELP gpumon_build Build\n# TYPE gpumon_build info\ngpumon_build_info{v=\"1\"} 1\n");
	text_is(true, make_others, want);
	snprintf(
		want, sizeof(want), "%s%s", others,
		"# HELP gpumon_build_info Build\n# TYPE gpumon_build_info gauge\ngpumon_build_info{v=\"1\"} 1\n");
	text_is(false, make_others, want);
}

static void clients_choose(void **state)
{
	(void)state;
#ifndef GPUMON_HTTP
	skip();
#endif
	assert_true(gpumon_http_accepts_openmetrics(
		"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"));
	assert_true(gpumon_http_accepts_openmetrics("application/openmetrics-text"));
	assert_false(gpumon_http_accepts_openmetrics(NULL));
	assert_false(gpumon_http_accepts_openmetrics("*/*"));
	assert_false(gpumon_http_accepts_openmetrics("text/plain;version=0.0.4"));
	assert_false(gpumon_http_accepts_openmetrics("application/openmetrics-text;version=2.0.0"));
	assert_false(gpumon_http_accepts_openmetrics("application/openmetrics-text;q=0"));
	assert_false(
		gpumon_http_accepts_openmetrics("application/openmetrics-text;q=0.5, text/plain"));
	assert_false(gpumon_http_accepts_openmetrics("application/openmetrics-textual"));
	assert_false(gpumon_http_accepts_openmetrics(",,;q=;;,"));
}

/* --- the web configuration file */

static char folder[] = "/tmp/gpumon-web-XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[PATH_MAX];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

static const char *put(const char *name, const char *text)
{
	static char path[PATH_MAX];
	FILE *stream;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	stream = fopen(path, "w");
	assert_non_null(stream);
	fputs(text, stream);
	fclose(stream);
	return path;
}

static void config_is_read(void **state)
{
	struct gpumon_web_config config;
	struct gpumon_error err;

	(void)state;
	put("a.crt", "CERTIFICATE");
	put("a key", "KEY");
	assert_int_equal(gpumon_web_config_read(&config,
						put("web.yml",
						    "---\n# comment\n\ntls_server_config:\n"
						    "  cert_file: a.crt # beside it\n"
						    "  key_file: 'a key'\n"
						    "  min_version: TLS13\r\n"
						    "basic_auth_users:\n"
						    "    \"it's \\\"me\\\"\": " SECRET "\n"
						    "    prometheus: '" SECRET "'\n"),
						&err),
			 0);
	assert_string_equal(config.certificate, "CERTIFICATE");
	assert_string_equal(config.key, "KEY");
	assert_true(config.tls_13);
	assert_int_equal(config.n_users, 2);
	assert_string_equal(config.users[0].name, "it's \"me\"");
	assert_string_equal(config.users[1].name, "prometheus");
	assert_string_equal(config.users[1].hash, SECRET);
	gpumon_web_config_clear(&config);
}

static void refused(const char *text, const char *want)
{
	struct gpumon_web_config config;
	struct gpumon_error err;

	assert_int_equal(gpumon_web_config_read(&config, put("web.yml", text), &err), -1);
	gpumon_web_config_clear(&config);
	if (!strstr(err.message, want))
		fail_msg("no \"%s\" in: %s", want, err.message);
}

/* Each part that is not there is refused by its name, in its line. */
static void rest_is_refused(void **state)
{
	(void)state;
	refused("http_server_config:\n  http2: false\n",
		"line 1: http_server_config is not supported");
	refused("tls_server_config:\n  client_ca_file: x\n",
		"line 2: client_ca_file is not supported");
	refused("tls_server_config:\n  client_auth_type: RequireAnyClientCert\n",
		"client_auth_type is not supported");
	refused("tls_server_config:\n  cipher_suites:\n", "cipher_suites is not supported");
	refused("tls_server_config:\n  min_version: TLS10\n", "TLS10 is not supported");
	refused("tls_server_config: { cert_file: x }\n", "this form of YAML");
	refused("tls_server_config: x\n", "lines of its own");
	refused("tls_server_config:\n  cert_file: |\n", "this form of YAML");
	refused("tls_server_config:\n  cert_file: &a x\n", "this form of YAML");
	refused("tls_server_config:\n  cert_file:\n", "cert_file is empty");
	refused("tls_server_config:\n  cert_file: a.crt\n", "go together");
	refused("tls_server_config:\n  cert_file: a.crt\n  key_file: none\n", "No such file");
	refused("tls_server_config:\n  cert_file: a\n    key_file: b\n", "indented otherwise");
	refused("  cert_file: a\n", "belongs to nothing");
	refused("\tcert_file: a\n", "a tab");
	refused("basic_auth_users\n", "\"key: value\" is expected");
	refused("basic_auth_users:\n  a: secret\n", "a: its password is no bcrypt hash");
	refused("basic_auth_users:\n  a: $2b$15$abcdefghijklmnopqrstuuzN8zRXd5oIzuYzQbPmaNPMOOMpW3X4.\n",
		"cost");
	refused("basic_auth_users:\n  'a\n", "in quotes");
	refused("basic_auth_users:\n  a: 'x\n", "the quotes have no end");
	refused("basic_auth_users:\n  a: 'x' y\n", "something behind the quotes");
	refused("basic_auth_users:\n  'a:b': " SECRET "\n", "colon");
}

static void passwords_are_compared(void **state)
{
	struct gpumon_web_user user = { (char *)"a", NULL };
	struct gpumon_web_config config = { .users = &user, .n_users = 1 };
	struct gpumon_error err;
	struct gpumon_web_config read;
	FILE *made;
	char hash[128] = "";

	(void)state;
	(void)read;
	(void)err;
#ifndef GPUMON_HTTP
	skip();
#endif
	/* Whatever the library makes of it. */
	made = popen(
		"python3 -W ignore -c 'import crypt; print(crypt.crypt(\"secret\", \"$2b$04$abcdefghijklmnopqrstuu\"), end=\"\")'",
		"r");
	if (!made || !fgets(hash, sizeof(hash), made) || strlen(hash) != 60) {
		if (made)
			pclose(made);
		print_message("no bcrypt in Python\n");
		skip();
	}
	pclose(made);
	user.hash = hash;
	assert_true(gpumon_web_config_allows(&config, "a", "secret"));
	assert_false(gpumon_web_config_allows(&config, "a", "Secret"));
	assert_false(gpumon_web_config_allows(&config, "a", ""));
	assert_false(gpumon_web_config_allows(&config, "b", "secret"));
	assert_false(gpumon_web_config_allows(&config, "", "secret"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_are_escaped),
		cmocka_unit_test(unknown_labels_are_absent),
		cmocka_unit_test(names_have_base_units),
		cmocka_unit_test(both_formats),
		cmocka_unit_test(clients_choose),
		cmocka_unit_test(config_is_read),
		cmocka_unit_test(rest_is_refused),
		cmocka_unit_test(passwords_are_compared),
	};

	return cmocka_run_group_tests_name("openmetrics", tests, make_folder, remove_folder);
}
