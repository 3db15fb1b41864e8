// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Several sources of alerts at once, which are made up here: each tells an Xid, a reset and a timeout,
 * and what two of them tell is taken from one. Limits of jobs go to the module, or else to BPF.
 */
#include "common.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/alert_jobs.h"
#include "driver/alert_listener.h"
#include "driver/alert_sources.h"
#include "driver/client.h"
#include "driver/model_fields.h"

int __wrap_gpumon_alert_listener_open(struct gpumon_alert_listener **listener,
				      struct gpumon_error *err);
int __wrap_gpumon_alert_listener_open_ras(struct gpumon_alert_listener **listener,
					  struct gpumon_error *err);
int __wrap_gpumon_alert_listener_fd(const struct gpumon_alert_listener *listener);
int __wrap_gpumon_alert_listener_read(struct gpumon_alert_listener *listener,
				      struct gpumon_model *model, struct gpumon_error *err);
void __wrap_gpumon_alert_listener_close(struct gpumon_alert_listener *listener);
int __wrap_gpumon_client_open(struct gpumon_client **client, struct gpumon_error *err);
void __wrap_gpumon_client_close(struct gpumon_client *client);
int __wrap_gpumon_client_read(struct gpumon_client *client, unsigned int parts, uint32_t period,
			      struct gpumon_model *model, struct gpumon_error *err);
int __wrap_gpumon_alert_log_open(struct gpumon_alert_log **log, const char *root, uint64_t from,
				 struct gpumon_error *err);
void __wrap_gpumon_alert_log_close(struct gpumon_alert_log *log);
int __wrap_gpumon_alert_log_fd(const struct gpumon_alert_log *log);
uint64_t __wrap_gpumon_alert_log_next_ns(const struct gpumon_alert_log *log);
int __wrap_gpumon_alert_log_read(struct gpumon_alert_log *log, struct gpumon_model *model,
				 struct gpumon_error *err);
int __wrap_gpumon_alert_log_last(struct gpumon_alert_log *log, struct gpumon_model *model,
				 struct gpumon_error *err);
struct gpumon_log_losses __wrap_gpumon_alert_log_losses(const struct gpumon_alert_log *log);
int __wrap_gpumon_client_limits_get(struct gpumon_client *client, struct gpumon_limits *limits,
				    struct gpumon_error *err);
int __wrap_gpumon_client_limits_set(struct gpumon_client *client,
				    const struct gpumon_limits *limits, struct gpumon_error *err);
int __wrap_gpumon_alert_jobs_open(struct gpumon_alert_jobs **jobs, struct gpumon_job_limits limits,
				  struct gpumon_bpf_source *source, struct gpumon_error *err);
void __wrap_gpumon_alert_jobs_close(struct gpumon_alert_jobs *jobs);
uint64_t __wrap_gpumon_alert_jobs_next_ns(const struct gpumon_alert_jobs *jobs);
int __wrap_gpumon_alert_jobs_read(struct gpumon_alert_jobs *jobs, struct gpumon_model *model,
				  struct gpumon_error *err);
ssize_t __wrap_readlink(const char *path, char *to, size_t size);

/* What this machine has. Addresses of these stand for what is open. */
static struct machine {
	bool module, log, ras;
	bool old_module; /* of another version */
	bool xid_traced, xid_reported, reset, timeout;
	bool unloaded;
	bool bpf;
	bool no_memory;	    /* of the module for limits */
	const char *driver; /* of the device whose scheduler has a timeout */
} machine;
static int module_mark, ras_mark, client_mark, log_mark, jobs_mark;
static struct gpumon_limits limits_of_module;
static int opened;
static struct gpumon_bpf_source *programs; /* that the caller has loaded */

static int no_such(struct gpumon_error *err, const char *what)
{
	return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, -ENOENT, GPUMON_ERROR_NOT_LOADED,
				"no %s", what);
}

static int open_it(void **it, bool there, void *mark, const char *name, struct gpumon_error *err)
{
	*it = NULL;
	if (!there)
		return no_such(err, name);
	*it = mark;
	opened++;
	return 0;
}

int __wrap_gpumon_alert_listener_open(struct gpumon_alert_listener **listener,
				      struct gpumon_error *err)
{
	return open_it((void **)listener, machine.module, &module_mark, "module", err);
}

int __wrap_gpumon_alert_listener_open_ras(struct gpumon_alert_listener **listener,
					  struct gpumon_error *err)
{
	return open_it((void **)listener, machine.ras, &ras_mark, "drm_ras", err);
}

int __wrap_gpumon_client_open(struct gpumon_client **client, struct gpumon_error *err)
{
	return open_it((void **)client, machine.module && !machine.old_module, &client_mark,
		       "module of this version", err);
}

int __wrap_gpumon_alert_log_open(struct gpumon_alert_log **log, const char *root, uint64_t from,
				 struct gpumon_error *err)
{
	(void)from;
	assert_string_equal(root, "");
	return open_it((void **)log, machine.log, &log_mark, "log", err);
}

void __wrap_gpumon_alert_listener_close(struct gpumon_alert_listener *listener)
{
	opened -= listener != NULL;
}

void __wrap_gpumon_client_close(struct gpumon_client *client)
{
	opened -= client != NULL;
}

void __wrap_gpumon_alert_log_close(struct gpumon_alert_log *log)
{
	opened -= log != NULL;
}

int __wrap_gpumon_alert_listener_fd(const struct gpumon_alert_listener *listener)
{
	return (const void *)listener == &module_mark ? 100 : 102;
}

int __wrap_gpumon_alert_log_fd(const struct gpumon_alert_log *log)
{
	(void)log;
	return 101;
}

uint64_t __wrap_gpumon_alert_log_next_ns(const struct gpumon_alert_log *log)
{
	(void)log;
	return 5;
}

struct gpumon_log_losses __wrap_gpumon_alert_log_losses(const struct gpumon_alert_log *log)
{
	(void)log;
	return (struct gpumon_log_losses){ .overwritten = 3 };
}

static void add_alert(struct gpumon_model *model, const char *source, const char *group,
		      const char *kind)
{
	struct gpumon_alert *alert = gpumon_model_add_alert(model);

	alert->source = source;
	alert->group = strdup(group);
	alert->kind = strdup(kind);
}

static void add_alerts(struct gpumon_model *model, const char *source)
{
	add_alert(model, source, "nvidia", "xid");
	add_alert(model, source, "nouveau", "xid");
	add_alert(model, source, "amdgpu", "reset");
	add_alert(model, source, "amdgpu", "timeout");
}

/* The scheduler's timeout, of a device that has a driver. */
static void add_timeout(struct gpumon_model *model)
{
	add_alert(model, NULL, "drm_sched", "timeout");
	model->alerts[model->n_alerts - 1].device = strdup("0000:03:00.0");
}

ssize_t __wrap_readlink(const char *path, char *to, size_t size)
{
	assert_string_equal(path, "/sys/bus/pci/devices/0000:03:00.0/driver");
	return machine.driver ?
		       snprintf(to, size, "../../../../bus/pci/drivers/%s", machine.driver) :
		       -1;
}

int __wrap_gpumon_client_limits_get(struct gpumon_client *client, struct gpumon_limits *limits,
				    struct gpumon_error *err)
{
	assert_ptr_equal(client, &client_mark);
	*limits = limits_of_module;
	return machine.unloaded ? no_such(err, "module any more") : 0;
}

int __wrap_gpumon_client_limits_set(struct gpumon_client *client,
				    const struct gpumon_limits *limits, struct gpumon_error *err)
{
	assert_ptr_equal(client, &client_mark);
	if (machine.no_memory)
		return no_such(err, "memory for limits");
	if (limits->hang_ms.known)
		limits_of_module.hang_ms = limits->hang_ms;
	if (limits->starved_ms.known)
		limits_of_module.starved_ms = limits->starved_ms;
	return 0;
}

int __wrap_gpumon_alert_jobs_open(struct gpumon_alert_jobs **jobs, struct gpumon_job_limits limits,
				  struct gpumon_bpf_source *source, struct gpumon_error *err)
{
	assert_int_equal(limits.hang_ns, 1500000000);
	assert_int_equal(limits.starved_ns, 0);
	assert_ptr_equal(source, programs);
	return open_it((void **)jobs, machine.bpf, &jobs_mark, "BPF", err);
}

void __wrap_gpumon_alert_jobs_close(struct gpumon_alert_jobs *jobs)
{
	opened -= jobs != NULL;
}

uint64_t __wrap_gpumon_alert_jobs_next_ns(const struct gpumon_alert_jobs *jobs)
{
	(void)jobs;
	return 4;
}

int __wrap_gpumon_alert_jobs_read(struct gpumon_alert_jobs *jobs, struct gpumon_model *model,
				  struct gpumon_error *err)
{
	(void)jobs;
	(void)err;
	add_alert(model, GPUMON_ALERT_SOURCE_BPF, "drm_sched", "hang");
	return 0;
}

int __wrap_gpumon_alert_listener_read(struct gpumon_alert_listener *listener,
				      struct gpumon_model *model, struct gpumon_error *err)
{
	if ((const void *)listener == &ras_mark) {
		add_alert(model, GPUMON_ALERT_SOURCE_RAS, "drm_ras", "correctable-errors");
		return 0;
	}
	add_alerts(model, NULL);
	if (machine.timeout)
		add_timeout(model);
	return machine.unloaded ? no_such(err, "module any more") : 0;
}

int __wrap_gpumon_alert_log_read(struct gpumon_alert_log *log, struct gpumon_model *model,
				 struct gpumon_error *err)
{
	(void)log;
	(void)err;
	add_alerts(model, GPUMON_ALERT_SOURCE_LOG);
	return 0;
}

int __wrap_gpumon_alert_log_last(struct gpumon_alert_log *log, struct gpumon_model *model,
				 struct gpumon_error *err)
{
	return __wrap_gpumon_alert_log_read(log, model, err);
}

static void add_probe(struct gpumon_group *group, const char *name, bool attached)
{
	struct gpumon_probe *probe = gpumon_group_add_probe(group);

	probe->name = strdup(name);
	probe->state = gpumon_value_of(attached ? GPUMON_ATTACH_STATE_ATTACHED :
						  GPUMON_ATTACH_STATE_WAITING);
}

int __wrap_gpumon_client_read(struct gpumon_client *client, unsigned int parts, uint32_t period,
			      struct gpumon_model *model, struct gpumon_error *err)
{
	struct gpumon_group *group;

	(void)err;
	assert_ptr_equal(client, &client_mark);
	assert_int_equal(period, 0);
	if (parts == GPUMON_PART_ALERTS) {
		add_alerts(model, NULL);
		return 0;
	}
	assert_int_equal(parts, GPUMON_PART_GROUPS);
	group = gpumon_model_add_group(model);
	group->name = strdup("nvidia");
	add_probe(group, "nvidia_dev_xid", machine.xid_traced);
	add_probe(group, "nv_report_error", machine.xid_reported);
	group = gpumon_model_add_group(model);
	group->name = strdup("amdgpu");
	add_probe(group, "amdgpu_device_gpu_recover", machine.reset);
	group = gpumon_model_add_group(model);
	group->name = strdup("drm_sched");
	add_probe(group, "drm_sched_job_timedout", machine.timeout);
	return 0;
}

/* "kmod amdgpu/reset, log amdgpu/timeout": the alerts with their sources. */
static const char *words(const struct gpumon_model *model)
{
	static char text[512];

	*text = '\0';
	for (size_t i = 0; i < model->n_alerts; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s %s/%s",
			 i ? ", " : "", model->alerts[i].source ? model->alerts[i].source : "kmod",
			 model->alerts[i].group, model->alerts[i].kind);
	return text;
}

#define ALL_OF(source)                                                                 \
	source " nvidia/xid, " source " nouveau/xid, " source " amdgpu/reset, " source \
	       " amdgpu/timeout"

static const char *or_dash(const char *text)
{
	return text ? text : "-";
}

#define NO_LIMIT ((struct gpumon_job_limits){ 0 })

static void nothing_is_told_twice(void **state)
{
	static const struct {
		struct machine machine;
		const char *alerts, *share;
	} cases[] = {
		{ { .log = true }, ALL_OF("log"), NULL },
		{ { .module = true, .xid_reported = true }, ALL_OF("kmod"), NULL },
		{ { .module = true, .log = true, .xid_traced = true, .reset = true },
		  "kmod nvidia/xid, kmod nouveau/xid, kmod amdgpu/reset, kmod amdgpu/timeout, "
		  "log nouveau/xid, log amdgpu/timeout",
		  "Xids and amdgpu's resets" },
		/* Where the driver has no tracepoint, the log has the whole message. */
		{ { .module = true, .log = true, .xid_reported = true, .reset = true },
		  "kmod nouveau/xid, kmod amdgpu/reset, kmod amdgpu/timeout, "
		  "log nvidia/xid, log nouveau/xid, log amdgpu/timeout",
		  "amdgpu's resets" },
		{ { .module = true, .log = true },
		  "kmod nouveau/xid, kmod amdgpu/timeout, " ALL_OF("log"),
		  "nothing now" },
		/* amdgpu and xe have more to say of a timeout than the module. */
		{ { .module = true, .log = true, .timeout = true, .driver = "amdgpu" },
		  "kmod nouveau/xid, kmod amdgpu/timeout, " ALL_OF("log"),
		  "timeouts of jobs" },
		{ { .module = true,
		    .log = true,
		    .timeout = true,
		    .xid_traced = true,
		    .reset = true,
		    .driver = "panfrost" },
		  "kmod nvidia/xid, kmod nouveau/xid, kmod amdgpu/reset, kmod amdgpu/timeout, "
		  "kmod drm_sched/timeout, log nouveau/xid, log amdgpu/timeout",
		  "Xids, amdgpu's resets and timeouts of jobs" },
		{ { .module = true, .log = true, .timeout = true },
		  "kmod nouveau/xid, kmod amdgpu/timeout, kmod drm_sched/timeout, " ALL_OF("log"),
		  "timeouts of jobs" },
		{ { .module = true, .timeout = true, .driver = "xe" },
		  ALL_OF("kmod") ", kmod drm_sched/timeout",
		  NULL },
		/* A module of another version is none. */
		{ { .module = true, .old_module = true, .log = true }, ALL_OF("log"), NULL },
		{ { .ras = true }, "drm-ras drm_ras/correctable-errors", NULL },
		{ { .log = true, .ras = true },
		  ALL_OF("log") ", drm-ras drm_ras/correctable-errors",
		  NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct gpumon_alert_sources sources;
		struct gpumon_model model = { 0 };
		struct gpumon_error err;
		const char *share;

		machine = cases[i].machine;
		assert_int_equal(gpumon_alert_sources_open(&sources, "", GPUMON_LOG_FROM_NOW,
							   NO_LIMIT, NULL, &err),
				 0);
		assert_int_equal(gpumon_alert_sources_read(&sources, &model, &err), 0);
		assert_string_equal(words(&model), cases[i].alerts);
		share = gpumon_alert_source_share(&sources, GPUMON_ALERTS_OF_MODULE);
		assert_string_equal(or_dash(share), or_dash(cases[i].share));
		share = gpumon_alert_source_share(&sources, GPUMON_ALERTS_OF_LOG);
		if (cases[i].share)
			assert_string_equal(or_dash(share), "all else");
		else
			assert_null(share);
		assert_int_equal(gpumon_alert_sources_losses(&sources).overwritten,
				 machine.log ? 3 : 0);
		if (machine.log)
			assert_int_equal(gpumon_alert_sources_next_ns(&sources), 5);
		else
			assert_true(gpumon_alert_sources_next_ns(&sources) == UINT64_MAX);
		assert_true(gpumon_alert_sources_alive(&sources));
		gpumon_alert_sources_close(&sources);
		assert_int_equal(opened, 0);
		gpumon_model_free(&model);
	}
}

/* What it had sent comes first. */
static void the_module_goes(void **state)
{
	struct gpumon_alert_sources sources;
	struct gpumon_model model = { 0 };
	struct gpumon_error err;

	(void)state;
	machine = (struct machine){ .module = true, .log = true, .xid_traced = true };
	assert_int_equal(gpumon_alert_sources_open(&sources, "", GPUMON_LOG_FROM_NOW, NO_LIMIT,
						   NULL, &err),
			 0);
	machine.unloaded = true;
	assert_int_equal(gpumon_alert_sources_read(&sources, &model, &err), -1);
	assert_string_equal(err.message, "no module any more");
	assert_int_equal(model.n_alerts, 3);
	gpumon_alert_sources_close(&sources);
	assert_int_equal(opened, 0);
	gpumon_model_free(&model);
}

static void the_last_ones(void **state)
{
	struct gpumon_model model = { 0 };
	struct gpumon_log_losses losses;
	struct gpumon_error err;

	(void)state;
	machine = (struct machine){ .module = true, .log = true, .xid_traced = true };
	assert_int_equal(gpumon_alert_sources_last("", &model, &losses, &err), 0);
	assert_string_equal(words(&model),
			    "kmod nvidia/xid, kmod nouveau/xid, kmod amdgpu/timeout, "
			    "log nouveau/xid, log amdgpu/reset, log amdgpu/timeout");
	assert_int_equal(losses.overwritten, 3);
	gpumon_model_free(&model);
	machine.module = false;
	assert_int_equal(gpumon_alert_sources_last("", &model, &losses, &err), 0);
	assert_string_equal(words(&model), ALL_OF("log"));
	gpumon_model_free(&model);
	machine = (struct machine){ .ras = true };
	assert_int_equal(gpumon_alert_sources_last("", &model, &losses, &err), -1);
	assert_string_equal(err.message, "no module of this version; and no log");
	assert_int_equal(opened, 0);
}

#define SOME_LIMIT ((struct gpumon_job_limits){ .hang_ns = 1500000000 })

static void the_module_gets_the_limits(void **state)
{
	struct gpumon_alert_sources sources;
	struct gpumon_error err;

	(void)state;
	machine = (struct machine){ .module = true, .log = true, .xid_traced = true, .bpf = true };
	limits_of_module = (struct gpumon_limits){ .hang_ms = gpumon_value_of(0),
						   .starved_ms = gpumon_value_of(7000) };
	assert_int_equal(gpumon_alert_sources_open(&sources, "", GPUMON_LOG_FROM_NOW, SOME_LIMIT,
						   NULL, &err),
			 0);
	assert_int_equal(limits_of_module.hang_ms.v, 1500);
	assert_int_equal(limits_of_module.starved_ms.v, 7000);
	assert_string_equal(gpumon_alert_source_share(&sources, GPUMON_ALERTS_OF_MODULE),
			    "Xids and jobs that hang");
	assert_true(sources.at[GPUMON_ALERTS_OF_BPF].left_out);
	gpumon_alert_sources_close(&sources);
	assert_int_equal(limits_of_module.hang_ms.v, 0);

	/* Somebody has set another one meanwhile, which stays. */
	assert_int_equal(gpumon_alert_sources_open(&sources, "", GPUMON_LOG_FROM_NOW, SOME_LIMIT,
						   NULL, &err),
			 0);
	limits_of_module.hang_ms = gpumon_value_of(9000);
	gpumon_alert_sources_close(&sources);
	assert_int_equal(limits_of_module.hang_ms.v, 9000);

	/* It cannot have them. */
	machine.no_memory = true;
	assert_int_equal(gpumon_alert_sources_open(&sources, "", GPUMON_LOG_FROM_NOW, SOME_LIMIT,
						   NULL, &err),
			 -1);
	assert_string_equal(err.message, "no memory for limits");
	gpumon_alert_sources_close(&sources);
	machine.no_memory = false;

	/* It goes. */
	assert_int_equal(gpumon_alert_sources_open(&sources, "", GPUMON_LOG_FROM_NOW, SOME_LIMIT,
						   NULL, &err),
			 0);
	machine.unloaded = true;
	gpumon_alert_sources_close(&sources);
	assert_int_equal(opened, 0);
}

static void without_the_module_bpf_has_the_limits(void **state)
{
	struct gpumon_alert_sources sources;
	struct gpumon_model model = { 0 };
	struct gpumon_error err;

	(void)state;
	machine = (struct machine){ .log = true, .bpf = true };
	assert_int_equal(gpumon_alert_sources_open(&sources, "", GPUMON_LOG_FROM_NOW, SOME_LIMIT,
						   NULL, &err),
			 0);
	assert_int_equal(gpumon_alert_sources_next_ns(&sources), 4);
	assert_string_equal(gpumon_alert_source_share(&sources, GPUMON_ALERTS_OF_BPF),
			    "jobs that hang");
	assert_int_equal(gpumon_alert_sources_read(&sources, &model, &err), 0);
	assert_string_equal(words(&model), ALL_OF("log") ", bpf drm_sched/hang");
	gpumon_model_free(&model);
	gpumon_alert_sources_close(&sources);

	/* Who has loaded the programs already does not load them twice. */
	programs = (void *)&jobs_mark;
	assert_int_equal(gpumon_alert_sources_open(&sources, "", GPUMON_LOG_FROM_NOW, SOME_LIMIT,
						   programs, &err),
			 0);
	gpumon_alert_sources_close(&sources);
	programs = NULL;

	/* Nobody else could tell of them: the log alone is not what was asked for. */
	machine.bpf = false;
	assert_int_equal(gpumon_alert_sources_open(&sources, "", GPUMON_LOG_FROM_NOW, SOME_LIMIT,
						   NULL, &err),
			 -1);
	assert_string_equal(err.message,
			    "jobs that hang are seen by the module or by BPF: no module; no BPF");
	assert_int_equal(err.status, GPUMON_EXIT_IMPOSSIBLE);
	gpumon_alert_sources_close(&sources);
	assert_int_equal(opened, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_told_twice),
		cmocka_unit_test(the_module_goes),
		cmocka_unit_test(the_last_ones),
		cmocka_unit_test(the_module_gets_the_limits),
		cmocka_unit_test(without_the_module_bpf_has_the_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
