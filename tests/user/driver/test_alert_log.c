// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Alerts from the kernel's log: what its reads return is made up here, and so is the clock. Last, the
 * log of this machine, if the test may read it.
 */
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver/alert_log.h"
#include "driver/alert_message.h"

#define SECOND 1000000000ULL

ssize_t __real_read(int fd, void *buffer, size_t size);
ssize_t __wrap_read(int fd, void *buffer, size_t size);
uint64_t __real_gpumon_monotonic_ns(void);
uint64_t __wrap_gpumon_monotonic_ns(void);

/* What the next reads return: a record, or an error as a number. */
static struct {
	const char *record;
	int error;
} script[600];
static unsigned int script_at, script_used;
static bool real;
static uint64_t now_ns;

ssize_t __wrap_read(int fd, void *buffer, size_t size)
{
	size_t length;

	if (real)
		return __real_read(fd, buffer, size);
	if (script_at == script_used) {
		errno = EAGAIN;
		return -1;
	}
	errno = script[script_at].error;
	if (errno)
		return script_at++, -1;
	length = strlen(script[script_at].record);
	assert_true(length <= size);
	memcpy(buffer, script[script_at++].record, length);
	return (ssize_t)length;
}

uint64_t __wrap_gpumon_monotonic_ns(void)
{
	return real ? __real_gpumon_monotonic_ns() : now_ns;
}

static void add(const char *record)
{
	script[script_used].error = 0;
	script[script_used++].record = record;
}

static void fail_with(int error)
{
	script[script_used++].error = error;
}

static char root[] = "/tmp/gpumon-test-log-XXXXXX";

static int make_root(void **state)
{
	char path[64];
	int fd;

	(void)state;
	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/dev", root);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/dev/kmsg", root);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	return 0;
}

static int remove_root(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

static struct gpumon_alert_log *open_log(uint64_t from)
{
	struct gpumon_alert_log *log;
	struct gpumon_error err;

	real = false;
	script_at = script_used = 0;
	now_ns = 100 * SECOND;
	assert_int_equal(gpumon_alert_log_open(&log, root, from, &err), 0);
	return log;
}

static size_t read_log(struct gpumon_alert_log *log, struct gpumon_model *model)
{
	struct gpumon_error err;

	gpumon_model_free(model);
	assert_int_equal(gpumon_alert_log_read(log, model, &err), 0);
	return model->n_alerts;
}

#define XID(sequence, time_us, code)                                        \
	"4," #sequence "," #time_us ",-;NVRM: Xid (PCI:0000:01:00): " #code \
	", pid=7, name=a, gone\n"
#define TIMEOUT(sequence) \
	"3," #sequence ",5,-;amdgpu 0000:08:00.0: amdgpu: ring gfx timeout, signaled seq=1\n"
#define PROCESS(sequence) \
	"3," #sequence ",6,-;amdgpu 0000:08:00.0: amdgpu:  Process Main pid 65 thread a pid 66\n"

static void counts_and_losses(void **state)
{
	struct gpumon_alert_log *log = open_log(GPUMON_LOG_FROM_NOW);
	struct gpumon_model model = { 0 };

	(void)state;
	add(XID(10, 99000000, 79));
	add("6,11,99000001,-;something else\n SUBSYSTEM=pci\n DEVICE=+pci:0000:02:00.0\n");
	add("12,12,99000001,-;NVRM: Xid (PCI:0000:01:00): 79, x\n");
	add(XID(13, 99000002, 79));
	add(XID(14, 99000003, 13));
	assert_int_equal(read_log(log, &model), 3);
	assert_string_equal(model.alerts[0].source, "log");
	assert_string_equal(model.alerts[0].meaning, "GPU fell off the bus");
	assert_int_equal(model.alerts[0].count.v, 1);
	assert_int_equal(model.alerts[1].count.v, 2);
	assert_int_equal(model.alerts[2].count.v, 1);
	assert_int_equal(model.alerts[2].code.v, 13);
	assert_false(model.alerts[0].lost.known);

	/* The kernel says that records were overwritten, and the numbers say how many. */
	fail_with(EPIPE);
	add(XID(114, 99000004, 79));
	fail_with(EINTR);
	/* It skips a record that does not fit, and one is of no form. */
	fail_with(EINVAL);
	add("nonsense\n");
	add(XID(117, 99000005, 79));
	assert_int_equal(read_log(log, &model), 2);
	assert_int_equal(model.alerts[1].count.v, 4);
	assert_int_equal(gpumon_alert_log_losses(log).overwritten, 99);
	assert_int_equal(gpumon_alert_log_losses(log).unreadable, 2);
	/* It has nothing to do. */
	assert_true(gpumon_alert_log_next_ns(log) == UINT64_MAX);
	gpumon_model_free(&model);
	gpumon_alert_log_close(log);
}

static void a_burst_is_shortened(void **state)
{
	struct gpumon_alert_log *log = open_log(GPUMON_LOG_FROM_NOW);
	struct gpumon_model model = { 0 };

	(void)state;
	for (int i = 0; i < 200; i++)
		add("4,1,1,-;NVRM: Xid (PCI:0000:01:00): 31, x\n");
	add(XID(2, 1, 79));
	assert_int_equal(read_log(log, &model), 17);
	assert_int_equal(model.alerts[15].count.v, 16);
	/* It takes no room from another one. */
	assert_int_equal(model.alerts[16].code.v, 79);
	assert_true(gpumon_alert_log_next_ns(log) == now_ns + SECOND);
	now_ns += SECOND - 1;
	assert_int_equal(read_log(log, &model), 0);
	/* The last one of the burst says how many there were. */
	now_ns++;
	assert_int_equal(read_log(log, &model), 1);
	assert_int_equal(model.alerts[0].count.v, 200);
	assert_true(gpumon_alert_log_next_ns(log) == UINT64_MAX);
	now_ns += 2 * SECOND;
	add(XID(3, 1, 31));
	assert_int_equal(read_log(log, &model), 1);
	assert_int_equal(model.alerts[0].count.v, 201);
	gpumon_model_free(&model);
	gpumon_alert_log_close(log);
}

static void process_of_the_next_line(void **state)
{
	struct gpumon_alert_log *log = open_log(GPUMON_LOG_FROM_NOW);
	struct gpumon_model model = { 0 };

	(void)state;
	add(TIMEOUT(1));
	add("6,2,5,-;something else\n");
	add(PROCESS(3));
	assert_int_equal(read_log(log, &model), 1);
	assert_string_equal(model.alerts[0].process, "Main");
	assert_int_equal(model.alerts[0].pid.v, 65);

	/* It comes in the next reading, or another alert, or nothing. */
	add(TIMEOUT(4));
	assert_int_equal(read_log(log, &model), 0);
	assert_true(gpumon_alert_log_next_ns(log) <= now_ns + SECOND / 5);
	add(PROCESS(5));
	assert_int_equal(read_log(log, &model), 1);
	assert_int_equal(model.alerts[0].pid.v, 65);
	add(TIMEOUT(6));
	add(XID(7, 9, 79));
	add(PROCESS(8));
	assert_int_equal(read_log(log, &model), 2);
	assert_string_equal(model.alerts[0].kind, "timeout");
	assert_false(model.alerts[0].pid.known);
	assert_int_equal(model.alerts[1].pid.v, 7);
	add(TIMEOUT(9));
	assert_int_equal(read_log(log, &model), 0);
	now_ns = gpumon_alert_log_next_ns(log);
	assert_int_equal(read_log(log, &model), 1);
	assert_int_equal(model.alerts[0].count.v, 4);
	assert_true(gpumon_alert_log_next_ns(log) == UINT64_MAX);
	gpumon_model_free(&model);
	gpumon_alert_log_close(log);
}

/* The log's clock is off by some seconds, and the program's clock is what is told. */
static void times(void **state)
{
	struct gpumon_alert_log *log = open_log(GPUMON_LOG_FROM_NOW);
	struct gpumon_model model = { 0 };

	(void)state;
	/* It waited since 100 s, and it is 101 s: "90 s" was in between. */
	now_ns = 101 * SECOND;
	add(XID(1, 90000000, 1));
	add(XID(2, 90500000, 2));
	add(XID(3, 95000000, 3));
	assert_int_equal(read_log(log, &model), 3);
	assert_int_equal(model.alerts[0].time_ns.v, 100 * SECOND);
	assert_int_equal(model.alerts[1].time_ns.v, 100 * SECOND + SECOND / 2);
	assert_int_equal(model.alerts[2].time_ns.v, 101 * SECOND);
	/* From then on the difference is known: 6 s. */
	now_ns = 110 * SECOND;
	add(XID(4, 98000000, 4));
	add(XID(5, 18446744073709551615, 5));
	assert_int_equal(read_log(log, &model), 2);
	assert_int_equal(model.alerts[0].time_ns.v, 104 * SECOND);
	assert_int_equal(model.alerts[1].time_ns.v, 110 * SECOND);
	gpumon_model_free(&model);
	gpumon_alert_log_close(log);
}

static void the_last_of_each(void **state)
{
	struct gpumon_alert_log *log = open_log(0);
	struct gpumon_model model = { 0 };
	struct gpumon_error err;

	(void)state;
	/* The first 40 records are gone. */
	add(XID(40, 50000000, 79));
	for (int i = 0; i < 100; i++)
		add("4,41,51000000,-;NVRM: Xid (PCI:0000:01:00): 31, x\n");
	add(XID(42, 52000000, 79));
	add(TIMEOUT(43));
	assert_int_equal(gpumon_alert_log_last(log, &model, &err), 0);
	assert_int_equal(model.n_alerts, 3);
	/* By time. */
	assert_string_equal(model.alerts[0].kind, "timeout");
	assert_int_equal(model.alerts[1].code.v, 31);
	assert_int_equal(model.alerts[1].count.v, 100);
	assert_int_equal(model.alerts[2].count.v, 2);
	assert_int_equal(model.alerts[2].time_ns.v, 52 * SECOND);
	assert_int_equal(gpumon_alert_log_losses(log).overwritten, 40);
	gpumon_model_free(&model);
	gpumon_alert_log_close(log);
}

/* More devices than are counted: none is left out. */
static void many_devices(void **state)
{
	static char records[300][64];
	struct gpumon_alert_log *log = open_log(GPUMON_LOG_FROM_NOW);
	struct gpumon_model model = { 0 };

	(void)state;
	for (int i = 0; i < 300; i++) {
		now_ns++;
		snprintf(records[i], sizeof(records[i]),
			 "4,%d,%d,-;NVRM: Xid (PCI:%04x:01:00): 79, x\n", i, 100000000 + i, i);
		add(records[i]);
	}
	assert_int_equal(read_log(log, &model), 300);
	/* The newest are still known. */
	add(XID(300, 100000300, 79));
	add("4,301,100000301,-;NVRM: Xid (PCI:012b:01:00): 79, x\n");
	assert_int_equal(read_log(log, &model), 2);
	assert_int_equal(model.alerts[0].count.v, 1);
	assert_int_equal(model.alerts[1].count.v, 2);
	gpumon_model_free(&model);
	gpumon_alert_log_close(log);
}

static void the_only_device_of_a_driver(void **state)
{
	static const char record[] =
		"3,1,1,-;[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx timeout, x\n";
	struct gpumon_alert_log *log = open_log(GPUMON_LOG_FROM_NOW);
	struct gpumon_model model = { 0 };
	char command[256];

	(void)state;
	add(record);
	(void)read_log(log, &model);
	now_ns += SECOND;
	assert_int_equal(read_log(log, &model), 1);
	assert_null(model.alerts[0].device);
	for (int devices = 1; devices < 3; devices++) {
		snprintf(command, sizeof(command),
			 "cd %s && mkdir -p sys/bus/pci/drivers/amdgpu/module && "
			 "mkdir sys/bus/pci/drivers/amdgpu/0000:0%d:00.0",
			 root, devices);
		assert_int_equal(system(command), 0);
		add(record);
		(void)read_log(log, &model);
		now_ns += SECOND;
		assert_int_equal(read_log(log, &model), 1);
		if (devices == 1)
			assert_string_equal(model.alerts[0].device, "0000:01:00.0");
		else
			assert_null(model.alerts[0].device);
	}
	gpumon_model_free(&model);
	gpumon_alert_log_close(log);
}

static void failures(void **state)
{
	struct gpumon_alert_log *log = open_log(GPUMON_LOG_FROM_NOW);
	struct gpumon_model model = { 0 };
	struct gpumon_error err;

	(void)state;
	add(XID(1, 1, 79));
	fail_with(EIO);
	assert_int_equal(gpumon_alert_log_read(log, &model, &err), -1);
	assert_int_equal(model.n_alerts, 1);
	assert_string_equal(err.message, "reading /dev/kmsg: Input/output error");
	gpumon_model_free(&model);
	gpumon_alert_log_close(log);
	assert_int_equal(gpumon_alert_log_open(&log, "/nonexistent", 0, &err), -1);
	assert_null(log);
	assert_int_equal(err.status, GPUMON_EXIT_IMPOSSIBLE);
	assert_string_equal(err.message, "/dev/kmsg: No such file or directory");
}

/* The records with these words that have arrived; none of them is the kernel's. */
static unsigned int count_records(int fd, const char *words)
{
	char text[16384];
	unsigned int n = 0;
	ssize_t size;

	while ((size = read(fd, text, sizeof(text) - 1)) > 0) {
		struct gpumon_log_record record;

		assert_int_equal(gpumon_log_record_parse(text, (size_t)size - 1, &record), 0);
		if (strcmp(record.message, words) != 0)
			continue;
		assert_int_not_equal(record.facility, 0);
		n++;
	}
	return n;
}

/* Everybody who may write it can write records, but not the kernel's. */
static void the_log_of_this_machine(void **state)
{
	static const char words[] = "NVRM: Xid (PCI:0000:01:00): 79, pid=1, name=gpumon-test, x";
	static const char *const levels[] = { "", "<3>", "<27>" };
	int out = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	int in = open("/dev/kmsg", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct gpumon_alert_log *log = NULL;
	struct gpumon_model model = { 0 };
	struct gpumon_error err;
	struct pollfd fds = { .events = POLLIN };

	(void)state;
	real = true;
	if (in < 0 || out < 0 || gpumon_alert_log_open(&log, "", GPUMON_LOG_FROM_NOW, &err))
		skip();
	assert_true(lseek(in, 0, SEEK_END) >= 0);
	fds.fd = gpumon_alert_log_fd(log);
	/* It becomes facility 1 where none or the kernel's is asked for. */
	for (int i = 0; i < 3; i++) {
		char line[128];
		int length = snprintf(line, sizeof(line), "%s%s\n", levels[i], words);

		assert_int_equal(write(out, line, (size_t)length), length);
	}
	assert_int_equal(poll(&fds, 1, 10000), 1);
	assert_int_equal(gpumon_alert_log_read(log, &model, &err), 0);
	assert_int_equal(count_records(in, words), 3);
	for (size_t i = 0; i < model.n_alerts; i++)
		assert_null(strstr(model.alerts[i].message, "gpumon-test"));
	gpumon_model_free(&model);
	gpumon_alert_log_close(log);

	/* All that this machine has can be parsed. */
	assert_int_equal(gpumon_alert_log_open(&log, "", 0, &err), 0);
	assert_int_equal(gpumon_alert_log_last(log, &model, &err), 0);
	assert_int_equal(gpumon_alert_log_losses(log).unreadable, 0);
	gpumon_model_free(&model);
	gpumon_alert_log_close(log);
	close(in);
	close(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_and_losses),
		cmocka_unit_test(a_burst_is_shortened),
		cmocka_unit_test(process_of_the_next_line),
		cmocka_unit_test(times),
		cmocka_unit_test(the_last_of_each),
		cmocka_unit_test(many_devices),
		cmocka_unit_test(the_only_device_of_a_driver),
		cmocka_unit_test(failures),
		cmocka_unit_test(the_log_of_this_machine),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
