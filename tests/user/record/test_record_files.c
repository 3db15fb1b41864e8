// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* /proc data of processes, output files of commands, and records of the module's events. */
#include "lib/wait.h"
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "record/driver.h"
#include "record/session_summary.h"
#include "lib/output_file.h"
#include "lib/process_info.h"
#include "record/directories.h"

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/gpumon-test-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static const char *path(const char *name)
{
	static char text[4][160];
	static unsigned int next;
	char *at = text[next++ % 4];

	snprintf(at, sizeof(text[0]), "%s/%s", folder, name);
	return at;
}

static void put(const char *name, const char *text, size_t size)
{
	char command[256];
	FILE *file;

	snprintf(command, sizeof(command), "mkdir -p $(dirname %s)", path(name));
	assert_int_equal(system(command), 0);
	file = fopen(path(name), "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, size, file), size);
	fclose(file);
}

#define PUT(name, text) put(name, text, sizeof(text) - 1)

/* A user of a large company is in hundreds of groups, which are before the memory. */
static void process_with_many_groups(void **state)
{
	char text[12000];
	pid_t process;
	size_t at;

	(void)state;
	at = (size_t)sprintf(text, "Name:\tpython3\nState:\tS (sleeping)\nTgid:\t80\nGroups:\t");
	for (unsigned int i = 0; i < 800; i++)
		at += (size_t)sprintf(text + at, "%u ", 1500000000 + i);
	at += (size_t)sprintf(text + at, "\nNStgid:\t80\nVmSize:\t  2480 kB\nThreads:\t2\n");
	put("proc/80/status", text, at);
	assert_int_equal(gpumon_process_kind(folder, 80, &process), GPUMON_PROCESS_NORMAL);
	assert_int_equal(process, 80);
	PUT("proc/81/status", "Name:\tkswapd0\nState:\tS (sleeping)\nTgid:\t81\nThreads:\t1\n");
	assert_int_equal(gpumon_process_kind(folder, 81, &process), GPUMON_PROCESS_KERNEL);
	PUT("proc/82/status", "Name:\tx\nState:\tZ (zombie)\nTgid:\t80\nThreads:\t2\n");
	assert_int_equal(gpumon_process_kind(folder, 82, &process), GPUMON_PROCESS_THREAD);
	assert_int_equal(process, 80);
	PUT("proc/83/status", "Name:\tx\nState:\tZ (zombie)\nTgid:\t83\nThreads:\t1\n");
	assert_int_equal(gpumon_process_kind(folder, 83, &process), GPUMON_PROCESS_ENDED);
}

static void made_up_process(void **state)
{
	struct gpumon_process_info info;
	uint8_t boot_id[16];

	(void)state;
	/* A name with blanks and brackets that contains "R 1". */
	PUT("proc/77/stat",
	    "77 (a ) R 1 (b) S 12 77 77 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 500 1 1 1\n");
	PUT("proc/77/cmdline", "python3\0train me.py\0--lr\0"
			       "0.1\0");
	PUT("proc/77/cgroup", "3:cpu:/old\n0::/system.slice/x.service\n");
	PUT("proc/77/environ", "PATH=/bin\0OMPI_COMM_WORLD_RANK=12\0RANK=3\0");
	PUT("proc/sys/kernel/random/boot_id", "01234567-89ab-cdef-0011-22334455667f\n");
	assert_int_equal(symlink("/usr/bin/python3.11", path("proc/77/exe")), 0);

	gpumon_process_info_read(&info, folder, 77);
	assert_int_equal(info.pid, 77);
	assert_int_equal(info.parent, 12);
	assert_int_equal(info.start_ticks, 500);
	assert_string_equal(info.executable, "/usr/bin/python3.11");
	assert_string_equal(info.command, "python3 train me.py --lr 0.1");
	assert_string_equal(info.cgroup, "/system.slice/x.service");
	assert_int_equal(info.rank, 12);

	/* Missing data is unknown. */
	gpumon_process_info_read(&info, folder, 78);
	assert_int_equal(info.pid, 78);
	assert_int_equal(info.start_ticks, 0);
	assert_string_equal(info.command, "");
	assert_int_equal(info.rank, UINT32_MAX);
	PUT("proc/79/stat", "79 (cut");
	PUT("proc/79/cmdline", "");
	gpumon_process_info_read(&info, folder, 79);
	assert_int_equal(info.start_ticks, 0);
	assert_string_equal(info.command, "");
	gpumon_process_info_read(&info, folder, 0);
	assert_int_equal(info.pid, 0);

	gpumon_boot_id_read(boot_id, folder);
	assert_int_equal(boot_id[0], 0x01);
	assert_int_equal(boot_id[15], 0x7f);
	gpumon_boot_id_read(boot_id, "/nowhere");
	assert_int_equal(boot_id[0], 0);
}

static void our_own_start(void **state)
{
	struct gpumon_process_info info;

	(void)state;
	gpumon_process_info_read(&info, "", getpid());
	assert_int_equal(info.parent, getppid());
	assert_true(info.start_ns > 0);
	/* Ticks are 10 ms, and this test does not take minutes. */
	assert_true(info.start_ns < gpumon_monotonic_ns() + 10000000);
	assert_true(info.start_ns + 300000000000ULL > gpumon_monotonic_ns());
	assert_true(info.pid_namespace > 0);
}

static void ranks(void **state)
{
	static const char bad[] = "RANK=-1\0RANKS=2\0SLURM_PROCID=4x\0PMI_RANK=\0XRANK=3\0"
				  "PMIX_RANK=99999999999999999999";
	static const char slurm[] = "SLURM_PROCID=0";

	(void)state;
	assert_int_equal(gpumon_process_rank(bad, sizeof(bad)), UINT32_MAX);
	assert_int_equal(gpumon_process_rank(slurm, sizeof(slurm)), 0);
	/* The last string is not terminated, so it was cut and is ignored. */
	assert_int_equal(gpumon_process_rank(slurm, sizeof(slurm) - 1), UINT32_MAX);
	assert_int_equal(gpumon_process_rank("", 0), UINT32_MAX);
}

static void write_file(const char *name, bool force, bool good, int status)
{
	struct gpumon_output_file file;
	struct gpumon_error err;
	int ret = gpumon_output_file_open(&file, name, force, GPUMON_OUTPUT_TEXT, stdout, &err);

	if (!ret) {
		fputs("new\n", file.stream);
		ret = gpumon_output_file_close(&file, good, &err);
	}
	if (!ret && status)
		fail_msg("%s was written", name);
	if (ret)
		assert_int_equal(err.status, status);
}

static bool holds(const char *name, const char *text)
{
	char buffer[64] = "";
	FILE *file = fopen(name, "r");

	if (!file)
		return false;
	(void)!fread(buffer, 1, sizeof(buffer) - 1, file);
	fclose(file);
	return !strcmp(buffer, text);
}

static void output_files(void **state)
{
	const char *name = path("result");
	struct stat status;
	mode_t mask = umask(0);

	(void)state;
	write_file(name, false, true, 0);
	assert_true(holds(name, "new\n"));
	assert_int_equal(stat(name, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	umask(mask);

	put("result", "old\n", 4);
	write_file(name, false, true, GPUMON_EXIT_FAILED);
	assert_true(holds(name, "old\n"));
	/* A failure leaves the old file. */
	write_file(name, true, false, 0);
	assert_true(holds(name, "old\n"));
	write_file(name, true, true, 0);
	assert_true(holds(name, "new\n"));

	/* A link is neither followed nor replaced, and a device is not replaced. */
	assert_int_equal(symlink(path("elsewhere"), path("link")), 0);
	write_file(path("link"), true, true, GPUMON_EXIT_FAILED);
	assert_int_equal(access(path("elsewhere"), F_OK), -1);
	write_file("/dev/null", true, true, GPUMON_EXIT_FAILED);
	assert_int_equal(stat("/dev/null", &status), 0);
	assert_true(S_ISCHR(status.st_mode));
	write_file(path("no/such/folder"), false, true, GPUMON_EXIT_FAILED);
}

static void output_came_in_between(void **state)
{
	struct gpumon_output_file file;
	struct gpumon_error err;

	(void)state;
	assert_int_equal(gpumon_output_file_open(&file, path("race"), false, GPUMON_OUTPUT_TEXT,
						 stdout, &err),
			 0);
	fputs("ours\n", file.stream);
	put("race", "theirs\n", 7);
	assert_int_equal(gpumon_output_file_close(&file, true, &err), -1);
	assert_int_equal(err.sys, -EEXIST);
	assert_true(holds(path("race"), "theirs\n"));
	assert_int_equal(access(file.temporary, F_OK), -1);
}

static void write_large(const char *name)
{
	const struct rlimit small = { .rlim_cur = 10, .rlim_max = RLIM_INFINITY };
	struct gpumon_output_file file;
	struct gpumon_error err;
	struct rlimit old;

	assert_int_equal(
		gpumon_output_file_open(&file, name, false, GPUMON_OUTPUT_TEXT, stdout, &err), 0);
	fputs("more than ten bytes\n", file.stream);
	getrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(gpumon_output_file_close(&file, true, &err), -1);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(err.sys, -EFBIG);
	assert_int_equal(access(name, F_OK), -1);
}

/* It is a failed write, and programs that are started have the signal as it was. */
static void file_at_its_limit(void **state)
{
	int status;

	(void)state;
	signal(SIGXFSZ, SIG_DFL);
	write_large(path("large"));
	write_large(path("large.gz"));
	status = system("ulimit -c 0; kill -XFSZ $$");
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
}

/* A name that ends in .gz: what gunzip makes of it is what was written. */
static void compressed_files(void **state)
{
	const char *name = path("result.gz");
	struct gpumon_output_file file;
	struct gpumon_error err;
	char text[64] = "";
	gzFile packed;

	(void)state;
	for (int force = 0; force <= 1; force++) {
		write_file(name, force, true, 0);
		packed = gzopen(name, "r");
		assert_int_equal(gzread(packed, text, sizeof(text)), 4);
		assert_int_equal(gzdirect(packed), 0);
		assert_int_equal(gzclose(packed), Z_OK);
		assert_memory_equal(text, "new\n", 4);
	}
	write_file(name, false, true, GPUMON_EXIT_FAILED);
	/* What is compressed already stays as it is. */
	assert_int_equal(gpumon_output_file_open(&file, path("packed.gz"), false,
						 GPUMON_OUTPUT_GZIP, stdout, &err),
			 0);
	fputs("packed\n", file.stream);
	assert_int_equal(gpumon_output_file_close(&file, true, &err), 0);
	assert_true(holds(path("packed.gz"), "packed\n"));
}

static void full_disk(void **state)
{
	struct gpumon_output_file file = { .path = "-", .temporary = "" };
	struct gpumon_error err;

	(void)state;
	file.stream = fopen("/dev/full", "w");
	assert_non_null(file.stream);
	fputs("text", file.stream);
	assert_int_equal(gpumon_output_file_close(&file, true, &err), -1);
	assert_int_equal(err.sys, -ENOSPC);
	fclose(file.stream);
}

/* Only the files of a capture are removed. */
static void remove_capture(void **state)
{
	(void)state;
	PUT("capture/capture.json", "{}");
	PUT("capture/process-1-2.records", "x");
	PUT("capture/mine.txt", "mine");
	gpumon_remove_capture(path("capture"));
	assert_int_equal(access(path("capture/capture.json"), F_OK), -1);
	assert_int_equal(access(path("capture/process-1-2.records"), F_OK), -1);
	assert_true(holds(path("capture/mine.txt"), "mine"));
	unlink(path("capture/mine.txt"));
	gpumon_remove_capture(path("capture"));
	assert_int_equal(access(path("capture"), F_OK), -1);
	PUT("other/capture.json", "{}");
	assert_int_equal(symlink(path("other"), path("other-link")), 0);
	gpumon_remove_capture(path("other-link"));
	assert_int_equal(access(path("other/capture.json"), F_OK), 0);
}

static const struct gpumon_record *next(const struct gpumon_driver_records *records, size_t *at)
{
	const struct gpumon_record *record = (const void *)(records->data + *at);

	if (*at >= records->size)
		return NULL;
	assert_int_equal(record->size % 8, 0);
	*at += record->size;
	return record;
}

static void check_string(const struct gpumon_record *record, uint32_t id, const char *text)
{
	const struct gpumon_record_string *string = (const void *)record;

	assert_int_equal(record->type, GPUMON_RECORD_STRING);
	assert_int_equal(string->id, id);
	assert_int_equal(string->length, strlen(text));
	assert_memory_equal(string->text, text, string->length);
}

static void check_event(const struct gpumon_record *record, uint32_t row, uint64_t time_ns)
{
	const struct gpumon_record_driver_event *event = (const void *)record;
	struct gpumon_event copy;

	assert_int_equal(record->type, GPUMON_RECORD_DRIVER_EVENT);
	assert_int_equal(event->event_size, sizeof(copy));
	assert_int_equal(event->row, row);
	memcpy(&copy, event->event, sizeof(copy));
	assert_int_equal(copy.time_ns, time_ns);
}

static void driver_events(void **state)
{
	struct gpumon_driver_records records = { 0 };
	struct gpumon_model model = { 0 };
	struct gpumon_event event = { .event = GPUMON_EVENT_RUN, .time_ns = 5 };
	struct gpumon_event lost = { .event = GPUMON_EVENT_LOST, .arg = 9, .time_ns = 8 };
	const struct gpumon_record_loss *loss;
	char text[128];
	size_t at = 0;

	(void)state;
	test_model(&model);
	event.ring = (uint16_t)model.rings[1].id.v;
	snprintf(text, sizeof(text), "%s/%s", model.rings[1].device, model.rings[1].name);
	assert_true(gpumon_driver_row_known(&model, &event));
	gpumon_driver_records_event(&records, &event, &model);
	/* A row is named once, even after the names were read again. */
	event.time_ns = 6;
	gpumon_driver_records_forget(&records);
	gpumon_driver_records_event(&records, &event, &model);
	gpumon_driver_records_event(&records, &lost, &model);
	check_string(next(&records, &at), 1, text);
	check_event(next(&records, &at), 1, 5);
	check_event(next(&records, &at), 1, 6);
	loss = (const void *)next(&records, &at);
	assert_int_equal(loss->head.type, GPUMON_RECORD_LOSS);
	assert_int_equal(loss->cause, GPUMON_LOSS_DRIVER_RING);
	assert_int_equal(loss->count, 9);
	assert_int_equal(at, records.size);

	/* The ring's number belongs to another ring now. */
	free(model.rings[1].name);
	model.rings[1].name = strdup("other");
	snprintf(text, sizeof(text), "%s/other", model.rings[1].device);
	gpumon_driver_records_forget(&records);
	gpumon_driver_records_event(&records, &event, &model);
	check_string(next(&records, &at), 2, text);
	check_event(next(&records, &at), 2, 6);
	/* An unknown row has no name, and unknown types are kept. */
	event.ring = 65535;
	assert_false(gpumon_driver_row_known(&model, &event));
	gpumon_driver_records_event(&records, &event, &model);
	check_event(next(&records, &at), 0, 6);
	event.event = 60000;
	gpumon_driver_records_event(&records, &event, &model);
	check_event(next(&records, &at), 0, 6);
	assert_null(next(&records, &at));
	gpumon_driver_records_free(&records);
	gpumon_model_free(&model);
}

static void rows_of_tables(void **state)
{
	struct gpumon_driver_records records = { 0 };
	struct gpumon_model model = { 0 };
	struct gpumon_event event = { .event = GPUMON_EVENT_VBLANK, .time_ns = 5 };
	size_t at = 0;

	(void)state;
	test_model(&model);
	test_tables(&model);
	event.ring = (uint16_t)model.statistics[0].rows[0].number.v;
	assert_true(gpumon_driver_row_known(&model, &event));
	gpumon_driver_records_event(&records, &event, &model);
	assert_int_equal(next(&records, &at)->type, GPUMON_RECORD_STRING);
	check_event(next(&records, &at), 1, 5);
	gpumon_driver_records_free(&records);
	gpumon_model_free(&model);
}

static void alerts_and_notes(void **state)
{
	struct gpumon_driver_records records = { 0 };
	struct gpumon_alert alert = {
		.time_ns = gpumon_value_of(3),
		.kind = (char *)"xid",
		.device = (char *)"0000:01:00.0",
		.code = gpumon_value_of(79),
		.message = (char *)"fell off the bus",
	};
	const struct gpumon_record_alert *record;
	const struct gpumon_record_note *note;
	size_t at = 0;

	(void)state;
	gpumon_driver_records_alert(&records, &alert);
	gpumon_driver_records_note(&records, 4, 0, "a note");
	check_string(next(&records, &at), 1, "0000:01:00.0");
	check_string(next(&records, &at), 2, "xid: fell off the bus");
	record = (const void *)next(&records, &at);
	assert_int_equal(record->head.type, GPUMON_RECORD_ALERT);
	assert_int_equal(record->code, 79);
	assert_int_equal(record->device, 1);
	assert_int_equal(record->message, 2);
	check_string(next(&records, &at), 3, "a note");
	note = (const void *)next(&records, &at);
	assert_int_equal(note->head.type, GPUMON_RECORD_NOTE);
	assert_int_equal(note->text, 3);
	gpumon_driver_records_free(&records);
}

/* Each cause has its own text. */
static void losses(void **state)
{
	uint64_t lost[GPUMON_LOSS_CAUSES] = { 0 };
	char *text = NULL;
	size_t size = 0;
	FILE *out;

	(void)state;
	for (unsigned int cause = 1; cause < GPUMON_LOSS_CAUSES; cause++) {
		char number[32];

		memset(lost, 0, sizeof(lost));
		lost[cause] = 4711;
		out = open_memstream(&text, &size);
		gpumon_losses_print(out, lost, NULL);
		fclose(out);
		snprintf(number, sizeof(number), "lost: 4711 ");
		assert_non_null(strstr(text, number));
		if (strstr(text, "4711 records\n"))
			fail_msg("cause %u has no words", cause);
		free(text);
	}
	memset(lost, 0, sizeof(lost));
	out = open_memstream(&text, &size);
	gpumon_losses_print(out, lost, NULL);
	fclose(out);
	assert_string_equal(text, "");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(made_up_process, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(process_with_many_groups, make_folder,
						remove_folder),
		cmocka_unit_test(our_own_start),
		cmocka_unit_test(ranks),
		cmocka_unit_test_setup_teardown(output_files, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(output_came_in_between, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(file_at_its_limit, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(compressed_files, make_folder, remove_folder),
		cmocka_unit_test(full_disk),
		cmocka_unit_test_setup_teardown(remove_capture, make_folder, remove_folder),
		cmocka_unit_test(driver_events),
		cmocka_unit_test(rows_of_tables),
		cmocka_unit_test(alerts_and_notes),
		cmocka_unit_test(losses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
