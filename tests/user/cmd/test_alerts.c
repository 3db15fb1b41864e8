// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * gpumon-user alerts without the module: by a log of the test's own, a file or a FIFO below its root.
 */
#include "common.h"

#include <fcntl.h>
#include <json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "driver/alert_listener.h"

#define START                                                                                 \
	"gpumon-user: alerts come from the kernel's log; not from the module (below another " \
	"root there is no netlink), drm-ras (below another root there is no netlink)\n"

static const char records[] =
	"6,7,1000000,-;Linux version 6.12\n"
	"4,8,24128828315,-;NVRM: Xid (PCI:0000:01:00): 79, pid=1253, name=Xorg, GPU has \\x1b[2Jfallen.\n"
	"12,9,24128828316,-;NVRM: Xid (PCI:0000:01:00): 31, written by a process\n"
	"3,10,24128828317,-;amdgpu 0000:08:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1\n"
	" SUBSYSTEM=pci\n DEVICE=+pci:0000:08:00.0\n"
	"3,11,24128828318,-;amdgpu 0000:08:00.0: amdgpu:  Process Main pid 65975 thread x pid 66181\n"
	"4,12,24128828319,-;NVRM: Xid (PCI:0000:01:00): 79, pid=1253, name=Xorg, GPU has fallen again.\n";

static char root[] = "/tmp/gpumon-test-alerts-XXXXXX";
static char path[64];
static int fifo = -1;

static int make_root(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/dev", root);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/dev/kmsg", root);
	return 0;
}

static int remove_root(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

static void put_file(const char *text)
{
	FILE *file;

	unlink(path);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* With a writer that stays, a reader waits for more, as at the kernel's log. */
static void put_fifo(const char *text)
{
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	fifo = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fifo >= 0);
	assert_int_equal(write(fifo, text, strlen(text)), strlen(text));
}

static void end_fifo(void)
{
	close(fifo);
	unlink(path);
}

/* The text behind the time, which is of the clock. */
static const char *behind_time(const char *line)
{
	double seconds;
	int length = 0, found = sscanf(line, "%lf%n", &seconds, &length);
	struct timespec now;

	assert_int_equal(found, 1);
	clock_gettime(CLOCK_MONOTONIC, &now);
	assert_true(seconds > 0 && seconds <= (double)now.tv_sec + 1);
	return line + length;
}

static void lines_for_people(void **state)
{
	static const char *const lines[] = {
		"  0000:01:00.0  xid 79 (GPU fell off the bus)  pid=1253, name=Xorg, GPU has ?[2Jfallen.  (1 since the start)\n",
		"  0000:08:00.0  timeout  Main[65975]  ring gfx_0.0.0 timeout, signaled seq=1  (1 since the start)\n",
		"  0000:01:00.0  xid 79 (GPU fell off the bus)  pid=1253, name=Xorg, GPU has fallen again.  (2 since the start)\n",
	};
	struct captured c;
	const char *line;

	(void)state;
	put_fifo(records);
	c = capture(root, "alerts", "--count", "3", NULL);
	assert_int_equal(c.status, GPUMON_EXIT_OK);
	assert_string_equal(c.err, START);
	line = c.out;
	for (size_t i = 0; i < 3; i++) {
		line = behind_time(line);
		if (strncmp(line, lines[i], strlen(lines[i])) != 0)
			fail_msg("line %s", line);
		line += strlen(lines[i]);
	}
	assert_string_equal(line, "");
	captured_free(&c);
	end_fifo();
}

static const char *text_of(struct json_object *object, const char *key)
{
	return json_object_get_string(json_object_object_get(object, key));
}

static void lines_of_json(void **state)
{
	struct json_object *lines[4], *object, *sources;
	struct json_tokener *parser = json_tokener_new();
	struct captured c;
	const char *at;

	(void)state;
	put_fifo(records);
	c = capture(root, "alerts", "--json", "--count", "3", NULL);
	assert_int_equal(c.status, GPUMON_EXIT_OK);
	at = c.out;
	for (size_t i = 0; i < 4; i++) {
		const char *end = strchr(at, '\n');

		assert_non_null(end);
		lines[i] = json_tokener_parse_ex(parser, at, (int)(end - at));
		assert_non_null(lines[i]);
		json_tokener_reset(parser);
		at = end + 1;
	}
	assert_string_equal(at, "");
	sources = json_object_object_get(lines[0], "sources");
	assert_int_equal(json_object_array_length(sources), 3);
	object = json_object_array_get_idx(sources, 0);
	assert_string_equal(text_of(object, "source"), "kmod");
	assert_false(json_object_get_boolean(json_object_object_get(object, "open")));
	assert_string_equal(text_of(object, "reason"), "below another root there is no netlink");
	object = json_object_array_get_idx(sources, 1);
	assert_string_equal(text_of(object, "source"), "log");
	assert_true(json_object_get_boolean(json_object_object_get(object, "open")));
	assert_null(json_object_object_get(object, "reason"));
	object = json_object_array_get_idx(sources, 2);
	assert_string_equal(text_of(object, "source"), "drm-ras");
	assert_string_equal(text_of(lines[1], "source"), "log");
	assert_string_equal(text_of(lines[1], "meaning"), "GPU fell off the bus");
	assert_string_equal(text_of(lines[1], "message"),
			    "pid=1253, name=Xorg, GPU has \x1b[2Jfallen.");
	assert_string_equal(text_of(lines[2], "kind"), "timeout");
	assert_string_equal(text_of(lines[2], "process"), "Main");
	assert_string_equal(text_of(lines[2], "pid"), "65975");
	assert_null(json_object_object_get(lines[2], "code"));
	assert_string_equal(text_of(lines[3], "count"), "2");
	for (size_t i = 0; i < 4; i++)
		json_object_put(lines[i]);
	json_tokener_free(parser);
	captured_free(&c);
	end_fifo();
}

static void the_last_ones(void **state)
{
	struct captured c;

	(void)state;
	put_file(records);
	c = capture(root, "alerts", "--last", NULL);
	assert_int_equal(c.status, GPUMON_EXIT_OK);
	assert_string_equal(
		c.err,
		"gpumon-user: 7 records of the kernel's log are not in it any more: newer ones took their place\n");
	assert_non_null(strstr(c.out, "GPU has fallen again.  (2 in the log)\n"));
	assert_non_null(strstr(c.out, "  0000:08:00.0  timeout  Main[65975]  ring gfx_0.0.0"));
	assert_null(strstr(c.out, "written by a process"));
	captured_free(&c);
}

/* What a file has is from before; and it ends, as no kernel's log does. */
static void from_now_on(void **state)
{
	struct captured c;

	(void)state;
	put_file(records);
	c = capture(root, "alerts", NULL);
	assert_int_equal(c.status, GPUMON_EXIT_OK);
	assert_string_equal(c.out, "");
	assert_string_equal(c.err, START);
	captured_free(&c);
}

static uint64_t cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000ULL + (uint64_t)used.tv_nsec;
}

static void nothing_happens(void **state)
{
	uint64_t before = cpu_ns();
	struct captured c;

	(void)state;
	put_fifo("");
	c = capture(root, "alerts", "--duration", "1s", NULL);
	assert_int_equal(c.status, GPUMON_EXIT_OK);
	assert_string_equal(c.out, "");
	/* It waits, and does not ask all the time. */
	assert_true(cpu_ns() - before < 500000000);
	captured_free(&c);
	end_fifo();
}

static void losses(void **state)
{
	struct captured c;

	(void)state;
	put_fifo("4,8,1,-;NVRM: Xid (PCI:0000:01:00): 79, x\n"
		 "nonsense\n"
		 "4,20,1,-;NVRM: Xid (PCI:0000:01:00): 13, y\n");
	c = capture(root, "alerts", "--json", "--duration", "300ms", NULL);
	assert_int_equal(c.status, GPUMON_EXIT_OK);
	assert_non_null(
		strstr(c.err, "gpumon-user: 10 records of the kernel's log were overwritten"));
	assert_non_null(
		strstr(c.err, "gpumon-user: 1 records of the kernel's log could not be read"));
	assert_non_null(strstr(
		c.out,
		"{\"loss\":{\"source\":\"log\",\"cause\":\"overwritten\",\"records\":10}}\n"));
	assert_non_null(strstr(
		c.out, "{\"loss\":{\"source\":\"log\",\"cause\":\"unreadable\",\"records\":1}}\n"));
	captured_free(&c);
	end_fifo();
}

static void a_burst_is_counted(void **state)
{
	static char burst[4096];
	struct captured c;
	unsigned int lines = 0;

	(void)state;
	for (int i = 0; i < 50; i++)
		snprintf(burst + strlen(burst), sizeof(burst) - strlen(burst),
			 "4,%d,1,-;NVRM: Xid (PCI:0000:01:00): 31, x\n", i);
	put_fifo(burst);
	c = capture(root, "alerts", "--duration", "1500ms", NULL);
	assert_int_equal(c.status, GPUMON_EXIT_OK);
	for (const char *at = c.out; (at = strchr(at, '\n')); at++)
		lines++;
	assert_int_equal(lines, 17);
	assert_non_null(strstr(c.out, "(50 since the start)\n"));
	assert_non_null(strstr(
		c.err,
		"gpumon-user: 33 alerts are only in the count: they came faster than they were handled\n"));
	captured_free(&c);
	end_fifo();
}

static void a_command_gets_it(void **state)
{
	static const char want[] = "log|amdgpu|timeout|-|0000:08:00.0|Main|65975|1";
	char command[512], got[128] = "", out[96];
	struct captured c;
	FILE *file;

	(void)state;
	snprintf(out, sizeof(out), "%s/said", root);
	snprintf(command, sizeof(command),
		 "printf '%%s|' $GPUMON_ALERT_SOURCE $GPUMON_ALERT_GROUP $GPUMON_ALERT_KIND "
		 "$GPUMON_ALERT_CODE $GPUMON_ALERT_DEVICE $GPUMON_ALERT_PROCESS "
		 "$GPUMON_ALERT_PID $GPUMON_ALERT_COUNT >%s",
		 out);
	put_fifo(strstr(records, "3,10,"));
	c = capture(root, "alerts", "--count", "1", "--exec", command, NULL);
	assert_int_equal(c.status, GPUMON_EXIT_OK);
	assert_string_equal(c.err, START);
	file = fopen(out, "r");
	assert_non_null(file);
	assert_non_null(fgets(got, sizeof(got), file));
	fclose(file);
	unlink(out);
	assert_memory_equal(got, want, strlen(want));
	captured_free(&c);
	end_fifo();
}

static char *text_of_file(const char *name)
{
	char file_name[96], *text = calloc(1, 8192);
	FILE *file;

	snprintf(file_name, sizeof(file_name), "%s/%s", root, name);
	file = fopen(file_name, "r");
	assert_non_null(text);
	if (file) {
		assert_true(fread(text, 1, 8191, file) > 0);
		fclose(file);
		unlink(file_name);
	}
	return text;
}

/* One at a time, in their order, while the sources are read on. */
static void commands_run_one_at_a_time(void **state)
{
	char command[512], records_of_all[16384] = "", *said;
	struct captured c;

	(void)state;
	for (int code = 1; code <= 300; code++)
		snprintf(records_of_all + strlen(records_of_all),
			 sizeof(records_of_all) - strlen(records_of_all),
			 "4,%d,1,-;NVRM: Xid (PCI:0000:01:00): %d, x\n", code, code);
	snprintf(
		command, sizeof(command),
		"cd %s && mkdir runs || echo twice >>said; "
		"[ $GPUMON_ALERT_SKIPPED = 0 ] || echo $GPUMON_ALERT_CODE $GPUMON_ALERT_SKIPPED >>said; "
		"[ $GPUMON_ALERT_CODE -lt 256 ] || echo $GPUMON_ALERT_CODE >>said; rmdir runs",
		root);
	put_fifo(records_of_all);
	c = capture(root, "alerts", "--count", "300", "--exec", command, NULL);
	assert_int_equal(c.status, GPUMON_EXIT_OK);
	assert_string_equal(c.err, START
			    "gpumon-user: --exec: no command for 44 alerts: 256 waited already\n");
	said = text_of_file("said");
	assert_string_equal(said, "1 44\n256\n");
	free(said);
	captured_free(&c);
	end_fifo();
}

static void put_boot_id(const char *id)
{
	char name[128];
	FILE *file;

	snprintf(name, sizeof(name), "mkdir -p %s/proc/sys/kernel/random", root);
	assert_int_equal(system(name), 0);
	snprintf(name, sizeof(name), "%s/proc/sys/kernel/random/boot_id", root);
	file = fopen(name, "w");
	assert_non_null(file);
	fprintf(file, "%s\n", id);
	fclose(file);
}

static unsigned int lines_of(const char *text)
{
	unsigned int lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/* Runs alerts with the file for a moment. Returns how many it told. */
static unsigned int resumed(const char *log, const char *command, const char *err)
{
	char file[64];
	struct captured c;
	unsigned int told;

	snprintf(file, sizeof(file), "%s/state", root);
	put_fifo(log);
	c = command ?
		    capture(root, "alerts", "--resume", file, "-d", "300ms", "-x", command, NULL) :
		    capture(root, "alerts", "--resume", file, "-d", "300ms", NULL);
	assert_int_equal(c.status, GPUMON_EXIT_OK);
	if (strcmp(strchr(c.err, '\n') + 1, err) != 0)
		fail_msg("standard error %s", c.err);
	told = lines_of(c.out);
	captured_free(&c);
	end_fifo();
	return told;
}

static void it_goes_on_where_it_ended(void **state)
{
	static const char lost[] =
		"gpumon-user: 7 records of the kernel's log were overwritten before they were read: "
		"alerts may be missing\n";
	char log[2048], name[64];
	struct captured c;

	(void)state;
	put_boot_id("first");
	/* What was there before the first start; and nothing twice. */
	assert_int_equal(resumed(records, NULL, lost), 3);
	assert_int_equal(resumed(records, NULL, ""), 0);
	snprintf(log, sizeof(log), "%s4,13,1,-;NVRM: Xid (PCI:0000:01:00): 13, x\n", records);
	assert_int_equal(resumed(log, NULL, ""), 1);
	assert_int_equal(
		resumed("4,20,1,-;NVRM: Xid (PCI:0000:01:00): 13, x\n", NULL,
			"gpumon-user: 6 records of the kernel's log were overwritten before "
			"they were read: alerts may be missing\n"),
		1);
	/* The numbers of records begin again. */
	put_boot_id("second");
	assert_int_equal(resumed(records, NULL, lost), 3);

	snprintf(name, sizeof(name), "%s/state", root);
	assert_int_equal(truncate(name, 20), 0);
	c = capture(root, "alerts", "--resume", name, NULL);
	assert_int_equal(c.status, GPUMON_EXIT_FAILED);
	assert_non_null(strstr(c.err, "/state is no file of \"alerts --resume\": name another one, "
				      "or remove it\n"));
	captured_free(&c);
	unlink(name);
}

/* What has not been run at the end is run at the next start, in the next boot, too. */
static void commands_are_not_lost(void **state)
{
	char command[256], name[64], *said;

	(void)state;
	put_boot_id("first");
	snprintf(command, sizeof(command),
		 "echo $GPUMON_ALERT_CODE $GPUMON_ALERT_COUNT >>%s/said; sleep 1", root);
	assert_int_equal(resumed("4,0,1,-;NVRM: Xid (PCI:0000:01:00): 13, x\n"
				 "4,1,1,-;NVRM: Xid (PCI:0000:01:00): 31, y\n"
				 "4,2,1,-;NVRM: Xid (PCI:0000:01:00): 31, z\n",
				 command, ""),
			 3);
	said = text_of_file("said");
	assert_string_equal(said, "13 1\n");
	free(said);
	put_boot_id("second");
	snprintf(command, sizeof(command), "echo $GPUMON_ALERT_CODE $GPUMON_ALERT_COUNT >>%s/said",
		 root);
	assert_int_equal(resumed("", command, ""), 0);
	assert_int_equal(resumed("", command, ""), 0);
	said = text_of_file("said");
	assert_string_equal(said, "31 1\n31 2\n");
	free(said);
	snprintf(name, sizeof(name), "%s/state", root);
	unlink(name);
}

static void no_source(void **state)
{
	struct captured c;

	(void)state;
	for (int last = 0; last < 2; last++) {
		c = last ? capture("/nonexistent", "alerts", "--last", NULL) :
			   capture("/nonexistent", "alerts", NULL);
		assert_int_equal(c.status, GPUMON_EXIT_IMPOSSIBLE);
		assert_string_equal(c.out, "");
		assert_string_equal(
			c.err,
			"gpumon-user: below another root there is no netlink; and /dev/kmsg: No such file or directory\n");
		captured_free(&c);
	}
}

/* Whether this kernel has drm_ras or not: it is joined, or it is said why not. */
static void drm_ras_of_this_machine(void **state)
{
	struct gpumon_alert_listener *listener;
	struct gpumon_error err = { 0 };

	(void)state;
	if (!gpumon_alert_listener_open_ras(&listener, &err)) {
		assert_true(gpumon_alert_listener_fd(listener) >= 0);
		gpumon_alert_listener_close(listener);
		return;
	}
	assert_null(listener);
	assert_int_equal(err.status, GPUMON_EXIT_IMPOSSIBLE);
	assert_non_null(strstr(err.message, "this kernel"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_for_people),
		cmocka_unit_test(lines_of_json),
		cmocka_unit_test(the_last_ones),
		cmocka_unit_test(from_now_on),
		cmocka_unit_test(nothing_happens),
		cmocka_unit_test(losses),
		cmocka_unit_test(a_burst_is_counted),
		cmocka_unit_test(a_command_gets_it),
		cmocka_unit_test(commands_run_one_at_a_time),
		cmocka_unit_test(it_goes_on_where_it_ended),
		cmocka_unit_test(commands_are_not_lost),
		cmocka_unit_test(no_source),
		cmocka_unit_test(drm_ras_of_this_machine),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
