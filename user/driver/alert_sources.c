// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alert_jobs.h"
#include "alert_listener.h"
#include "alert_sources.h"
#include "client.h"
#include "lib/wait.h"
#include "model_fields.h"

/* How long an answer of the module to which probes it has is good. */
#define ASK_NS	  1000000000ULL
#define NS_PER_MS 1000000ULL

/**
 * struct gpumon_alert_source_type - what a source does
 * @word: its name in JSON
 * @title: its name for people
 * @open: sets *state; 0, or -1 with *err; NULL: open_jobs() opens it
 * @fd: for poll(), -1 if nothing more will come
 * @next_ns: when it has to be read also if nothing arrives; NULL: never
 * @read: adds what has arrived to a model; 0, or -1 with *err
 */
struct gpumon_alert_source_type {
	const char *word;
	const char *title;
	int (*open)(void **state, const struct gpumon_alert_sources *sources,
		    struct gpumon_error *err);
	int (*fd)(const void *state);
	uint64_t (*next_ns)(const void *state);
	int (*read)(void *state, struct gpumon_model *model, struct gpumon_error *err);
	void (*close)(void *state);
};

/* --- netlink */

/* The socket asks this machine's kernel, whichever root was asked for. */
static int netlink_possible(const char *root, struct gpumon_error *err)
{
	if (!*root)
		return 0;
	return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, 0, GPUMON_ERROR_UNSUPPORTED,
				"below another root there is no netlink");
}

static int module_open(void **state, const struct gpumon_alert_sources *sources,
		       struct gpumon_error *err)
{
	struct gpumon_alert_listener *listener;

	if (netlink_possible(sources->root, err) || gpumon_alert_listener_open(&listener, err))
		return -1;
	*state = listener;
	return 0;
}

static int ras_open(void **state, const struct gpumon_alert_sources *sources,
		    struct gpumon_error *err)
{
	struct gpumon_alert_listener *listener;

	if (netlink_possible(sources->root, err) || gpumon_alert_listener_open_ras(&listener, err))
		return -1;
	*state = listener;
	return 0;
}

static int listener_fd(const void *state)
{
	return gpumon_alert_listener_fd(state);
}

static int listener_read(void *state, struct gpumon_model *model, struct gpumon_error *err)
{
	return gpumon_alert_listener_read(state, model, err);
}

static void listener_close(void *state)
{
	gpumon_alert_listener_close(state);
}

/* --- the log */

static int log_open(void **state, const struct gpumon_alert_sources *sources,
		    struct gpumon_error *err)
{
	struct gpumon_alert_log *log;

	if (gpumon_alert_log_open(&log, sources->root, sources->log_from, err))
		return -1;
	*state = log;
	return 0;
}

static int log_fd(const void *state)
{
	return gpumon_alert_log_fd(state);
}

static uint64_t log_next_ns(const void *state)
{
	return gpumon_alert_log_next_ns(state);
}

static int log_read(void *state, struct gpumon_model *model, struct gpumon_error *err)
{
	return gpumon_alert_log_read(state, model, err);
}

static void log_close(void *state)
{
	gpumon_alert_log_close(state);
}

/* --- jobs by BPF */

/* It has nothing to wait for. */
static int jobs_fd(const void *state)
{
	(void)state;
	return -1;
}

static uint64_t jobs_next_ns(const void *state)
{
	return gpumon_alert_jobs_next_ns(state);
}

static int jobs_read(void *state, struct gpumon_model *model, struct gpumon_error *err)
{
	return gpumon_alert_jobs_read(state, model, err);
}

static void jobs_close(void *state)
{
	gpumon_alert_jobs_close(state);
}

static const struct gpumon_alert_source_type types[GPUMON_ALERT_ORIGINS] = {
	[GPUMON_ALERTS_OF_MODULE] = { "kmod", "the module", module_open, listener_fd, NULL,
				      listener_read, listener_close },
	[GPUMON_ALERTS_OF_LOG] = { GPUMON_ALERT_SOURCE_LOG, "the kernel's log", log_open, log_fd,
				   log_next_ns, log_read, log_close },
	[GPUMON_ALERTS_OF_RAS] = { GPUMON_ALERT_SOURCE_RAS, "drm-ras", ras_open, listener_fd, NULL,
				   listener_read, listener_close },
	[GPUMON_ALERTS_OF_BPF] = { GPUMON_ALERT_SOURCE_BPF, "BPF", NULL, jobs_fd, jobs_next_ns,
				   jobs_read, jobs_close },
};

const char *gpumon_alert_source_word(const struct gpumon_alert_source *source)
{
	return source->type->word;
}

const char *gpumon_alert_source_title(const struct gpumon_alert_source *source)
{
	return source->type->title;
}

/* --- who tells what */

/*
 * Kinds that the module and the log both have, and what else the module has now. Of the timeouts of a
 * scheduler the log has those of some drivers, see driver_tells().
 */
enum alert_kind {
	KIND_XID = 1 << 0,
	KIND_AMDGPU_RESET = 1 << 1,
	KIND_BOTH = KIND_XID | KIND_AMDGPU_RESET,
	KIND_JOB_TIMEOUT = 1 << 2,
	KIND_STALLED_JOB = 1 << 3,
};

static unsigned int kind_of(const struct gpumon_alert *alert)
{
	if (gpumon_same_text(alert->group, "nvidia") && gpumon_same_text(alert->kind, "xid"))
		return KIND_XID;
	if (gpumon_same_text(alert->group, "amdgpu") && gpumon_same_text(alert->kind, "reset"))
		return KIND_AMDGPU_RESET;
	return 0;
}

static bool is_attached(const struct gpumon_model *model, const char *group, const char *probe)
{
	const struct gpumon_group *found = gpumon_model_group(model, group);

	for (size_t i = 0; found && i < found->n_probes; i++)
		if (found->probes[i].name && !strcmp(found->probes[i].name, probe) &&
		    found->probes[i].state.v == GPUMON_ATTACH_STATE_ATTACHED)
			return true;
	return false;
}

/*
 * Where NVIDIA's driver has no tracepoint, the module has the format of the message only, and the log
 * the message.
 */
static unsigned int kinds_of_module(struct gpumon_client *client, unsigned int before)
{
	struct gpumon_model model = { 0 };
	struct gpumon_error err;
	unsigned int kinds = 0;

	if (gpumon_client_read(client, GPUMON_PART_GROUPS, 0, &model, &err)) {
		kinds = before;
	} else {
		kinds |= is_attached(&model, "nvidia", "nvidia_dev_xid") ? KIND_XID : 0;
		kinds |= is_attached(&model, "amdgpu", "amdgpu_device_gpu_recover") ?
				 KIND_AMDGPU_RESET :
				 0;
		kinds |= is_attached(&model, "drm_sched", "drm_sched_job_timedout") ?
				 KIND_JOB_TIMEOUT :
				 0;
	}
	gpumon_model_free(&model);
	return kinds;
}

/* Drivers come and go, and their probes with them. */
static unsigned int owned_by_module(struct gpumon_alert_sources *sources)
{
	uint64_t now = gpumon_monotonic_ns();

	if (sources->client && (!sources->asked_ns || now - sources->asked_ns >= ASK_NS)) {
		sources->owned = kinds_of_module(sources->client, sources->owned);
		sources->asked_ns = now;
	}
	return sources->owned;
}

static bool is_open(const struct gpumon_alert_sources *sources, enum gpumon_alert_origin origin)
{
	return sources->at[origin].state != NULL;
}

/* "Xids, amdgpu's resets and timeouts of jobs" */
static const char *share_of_module(struct gpumon_alert_sources *sources)
{
	static const char *const names[] = { "Xids", "amdgpu's resets", "timeouts of jobs",
					     "jobs that hang" };
	unsigned int kinds = owned_by_module(sources);
	size_t length = 0;

	if (sources->lent.set.hang_ms.known || sources->lent.set.starved_ms.known)
		kinds |= KIND_STALLED_JOB;
	snprintf(sources->share, sizeof(sources->share), "nothing now");
	for (unsigned int i = 0; i < sizeof(names) / sizeof(*names); i++) {
		unsigned int left = kinds >> (i + 1);

		if (!(kinds & 1U << i))
			continue;
		length += (size_t)snprintf(sources->share + length, sizeof(sources->share) - length,
					   "%s%s", names[i],
					   !left	     ? "" :
					   left & (left - 1) ? ", " :
							       " and ");
	}
	return sources->share;
}

const char *gpumon_alert_source_share(struct gpumon_alert_sources *sources,
				      enum gpumon_alert_origin origin)
{
	if (origin == GPUMON_ALERTS_OF_BPF && is_open(sources, origin))
		return "jobs that hang";
	if (!is_open(sources, GPUMON_ALERTS_OF_MODULE) || !is_open(sources, GPUMON_ALERTS_OF_LOG))
		return NULL;
	if (origin == GPUMON_ALERTS_OF_MODULE)
		return share_of_module(sources);
	return origin == GPUMON_ALERTS_OF_LOG ? "all else" : NULL;
}

/*
 * Does the driver of a device write a line of its own when the scheduler's timeout has come? It has
 * more to say than the module.
 */
static bool driver_tells(const struct gpumon_alert_sources *sources, const char *device)
{
	char path[256], driver[256];
	const char *name;
	ssize_t n;

	if (!device)
		return false;
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/driver", sources->root, device);
	n = readlink(path, driver, sizeof(driver) - 1);
	if (n <= 0)
		return false;
	driver[n] = '\0';
	name = strrchr(driver, '/');
	name = name ? name + 1 : driver;
	return !strcmp(name, "amdgpu") || !strcmp(name, "xe");
}

static bool is_job_timeout(const struct gpumon_alert *alert)
{
	return gpumon_same_text(alert->group, "drm_sched") &&
	       gpumon_same_text(alert->kind, "timeout");
}

/* Is an alert to be taken, though the module and the log are both open? */
static bool is_taken(struct gpumon_alert_sources *sources, enum gpumon_alert_origin origin,
		     const struct gpumon_alert *alert)
{
	unsigned int kind = kind_of(alert);
	bool of_module;

	if (origin == GPUMON_ALERTS_OF_MODULE && is_job_timeout(alert))
		return !driver_tells(sources, alert->device);
	if (!kind || (origin != GPUMON_ALERTS_OF_MODULE && origin != GPUMON_ALERTS_OF_LOG))
		return true;
	of_module = (kind & owned_by_module(sources)) != 0;
	return of_module == (origin == GPUMON_ALERTS_OF_MODULE);
}

/* Leaves those out that another open source tells. */
static void take_alerts(struct gpumon_alert_sources *sources, enum gpumon_alert_origin origin,
			struct gpumon_model *from, struct gpumon_model *model)
{
	bool both = is_open(sources, GPUMON_ALERTS_OF_MODULE) &&
		    is_open(sources, GPUMON_ALERTS_OF_LOG);

	for (size_t i = 0; i < from->n_alerts; i++) {
		struct gpumon_alert *alert = &from->alerts[i];

		if (!both || is_taken(sources, origin, alert)) {
			*gpumon_model_add_alert(model) = *alert;
			memset(alert, 0, sizeof(*alert));
		}
	}
	gpumon_model_free(from);
}

/* --- all of them */

static void no_source(const struct gpumon_alert_sources *sources, struct gpumon_error *err)
{
	const struct gpumon_error *module = &sources->at[GPUMON_ALERTS_OF_MODULE].why,
				  *log = &sources->at[GPUMON_ALERTS_OF_LOG].why;
	struct gpumon_error both = *module->message && !*sources->root ? *module : *log;

	gpumon_error_set(err, both.status, both.sys, both.code, "%.300s; and %.160s",
			 module->message, log->message);
}

static void open_source(struct gpumon_alert_sources *sources, enum gpumon_alert_origin origin)
{
	struct gpumon_alert_source *source = &sources->at[origin];

	source->type = &types[origin];
	if (source->type->open(&source->state, sources, &source->why))
		source->state = NULL;
}

static void close_source(struct gpumon_alert_source *source)
{
	if (source->state)
		source->type->close(source->state);
	source->state = NULL;
}

static struct gpumon_value ms_of(uint64_t ns)
{
	return gpumon_value_if(ns > 0, (ns + NS_PER_MS - 1) / NS_PER_MS);
}

int gpumon_limits_lend(struct gpumon_limits_lent *lent, struct gpumon_client *client,
		       struct gpumon_job_limits jobs, struct gpumon_error *err)
{
	const struct gpumon_limits limits = {
		.hang_ms = ms_of(jobs.hang_ns),
		.starved_ms = ms_of(jobs.starved_ns),
	};

	if (gpumon_client_limits_get(client, &lent->before, err) ||
	    gpumon_client_limits_set(client, &limits, err))
		return -1;
	lent->set = limits;
	return 0;
}

/* A limit that somebody else has changed meanwhile stays. */
static struct gpumon_value restored(struct gpumon_value set, struct gpumon_value now,
				    struct gpumon_value before)
{
	return gpumon_value_if(set.known && before.known && now.known && now.v == set.v, before.v);
}

void gpumon_limits_take_back(const struct gpumon_limits_lent *lent, struct gpumon_client *client)
{
	const struct gpumon_limits *set = &lent->set, *before = &lent->before;
	struct gpumon_limits now, old;
	struct gpumon_error ignored;

	if (!client || (!set->hang_ms.known && !set->starved_ms.known))
		return;
	/* The module may be gone. */
	if (gpumon_client_limits_get(client, &now, &ignored))
		return;
	old.hang_ms = restored(set->hang_ms, now.hang_ms, before->hang_ms);
	old.starved_ms = restored(set->starved_ms, now.starved_ms, before->starved_ms);
	if (old.hang_ms.known || old.starved_ms.known)
		(void)gpumon_client_limits_set(client, &old, &ignored);
}

/* Without the module BPF looks at jobs. */
static int open_jobs(struct gpumon_alert_sources *sources, struct gpumon_bpf_source *programs,
		     struct gpumon_error *err)
{
	struct gpumon_alert_source *bpf = &sources->at[GPUMON_ALERTS_OF_BPF];
	const struct gpumon_error *module = &sources->at[GPUMON_ALERTS_OF_MODULE].why;
	struct gpumon_alert_jobs *jobs;

	if (*sources->root)
		gpumon_error_set(&bpf->why, GPUMON_EXIT_IMPOSSIBLE, 0, GPUMON_ERROR_UNSUPPORTED,
				 "below another root there is no BPF");
	else if (!gpumon_alert_jobs_open(&jobs, sources->limits, programs, &bpf->why))
		bpf->state = jobs;
	if (bpf->state)
		return 0;
	return gpumon_error_set(err, bpf->why.status, bpf->why.sys, bpf->why.code,
				"jobs that hang are seen by the module or by BPF: %.220s; %.200s",
				module->message, bpf->why.message);
}

int gpumon_alert_sources_open(struct gpumon_alert_sources *sources, const char *root,
			      uint64_t log_from, struct gpumon_job_limits limits,
			      struct gpumon_bpf_source *programs, struct gpumon_error *err)
{
	struct gpumon_alert_source *module = &sources->at[GPUMON_ALERTS_OF_MODULE],
				   *bpf = &sources->at[GPUMON_ALERTS_OF_BPF];
	bool limited = limits.hang_ns || limits.starved_ns;

	memset(sources, 0, sizeof(*sources));
	sources->root = root;
	sources->log_from = log_from;
	sources->limits = limits;
	for (unsigned int i = 0; i < GPUMON_ALERTS_OF_BPF; i++)
		open_source(sources, i);
	/* A module of another version is none. */
	if (module->state && gpumon_client_open(&sources->client, &module->why))
		close_source(module);
	bpf->type = &types[GPUMON_ALERTS_OF_BPF];
	bpf->left_out = !limited || sources->client;
	if (limited)
		return sources->client ? gpumon_limits_lend(&sources->lent, sources->client,
							    sources->limits, err) :
					 open_jobs(sources, programs, err);
	for (unsigned int i = 0; i < GPUMON_ALERT_ORIGINS; i++)
		if (is_open(sources, i))
			return 0;
	no_source(sources, err);
	return -1;
}

void gpumon_alert_sources_close(struct gpumon_alert_sources *sources)
{
	for (unsigned int i = 0; i < GPUMON_ALERT_ORIGINS; i++)
		close_source(&sources->at[i]);
	gpumon_limits_take_back(&sources->lent, sources->client);
	gpumon_client_close(sources->client);
	sources->client = NULL;
}

void gpumon_alert_sources_poll(const struct gpumon_alert_sources *sources,
			       struct pollfd fds[GPUMON_ALERT_ORIGINS])
{
	for (unsigned int i = 0; i < GPUMON_ALERT_ORIGINS; i++) {
		const struct gpumon_alert_source *source = &sources->at[i];

		fds[i] = (struct pollfd){
			.fd = source->state ? source->type->fd(source->state) : -1,
			.events = POLLIN,
		};
	}
}

uint64_t gpumon_alert_sources_next_ns(const struct gpumon_alert_sources *sources)
{
	uint64_t next = UINT64_MAX;

	for (unsigned int i = 0; i < GPUMON_ALERT_ORIGINS; i++) {
		const struct gpumon_alert_source *source = &sources->at[i];
		uint64_t at = source->state && source->type->next_ns ?
				      source->type->next_ns(source->state) :
				      UINT64_MAX;

		next = at < next ? at : next;
	}
	return next;
}

bool gpumon_alert_sources_alive(const struct gpumon_alert_sources *sources)
{
	struct pollfd fds[GPUMON_ALERT_ORIGINS];

	gpumon_alert_sources_poll(sources, fds);
	for (unsigned int i = 0; i < GPUMON_ALERT_ORIGINS; i++)
		if (fds[i].fd >= 0)
			return true;
	return gpumon_alert_sources_next_ns(sources) != UINT64_MAX;
}

int gpumon_alert_sources_read(struct gpumon_alert_sources *sources, struct gpumon_model *model,
			      struct gpumon_error *err)
{
	int ret = 0;

	for (unsigned int i = 0; i < GPUMON_ALERT_ORIGINS && !ret; i++) {
		struct gpumon_alert_source *source = &sources->at[i];
		struct gpumon_model found = { 0 };

		if (!source->state)
			continue;
		ret = source->type->read(source->state, &found, err);
		take_alerts(sources, i, &found, model);
	}
	return ret;
}

void gpumon_alert_sources_give_held(struct gpumon_alert_sources *sources,
				    struct gpumon_model *model)
{
	struct gpumon_model held = { 0 };

	if (!is_open(sources, GPUMON_ALERTS_OF_LOG))
		return;
	gpumon_alert_log_give_held(sources->at[GPUMON_ALERTS_OF_LOG].state, &held);
	take_alerts(sources, GPUMON_ALERTS_OF_LOG, &held, model);
}

int gpumon_alert_sources_kept(struct gpumon_alert_sources *sources, struct gpumon_model *model,
			      struct gpumon_error *err)
{
	if (!sources->client)
		return 0;
	return gpumon_client_read(sources->client, GPUMON_PART_ALERTS, 0, model, err);
}

bool gpumon_alert_sources_takes_kept(struct gpumon_alert_sources *sources,
				     const struct gpumon_alert *alert)
{
	return !is_open(sources, GPUMON_ALERTS_OF_LOG) ||
	       is_taken(sources, GPUMON_ALERTS_OF_MODULE, alert);
}

uint64_t gpumon_alert_sources_log_next(const struct gpumon_alert_sources *sources)
{
	const void *log = sources->at[GPUMON_ALERTS_OF_LOG].state;

	return log ? gpumon_alert_log_next(log) : sources->log_from;
}

struct gpumon_log_losses gpumon_alert_sources_losses(const struct gpumon_alert_sources *sources)
{
	const struct gpumon_log_losses none = { 0 };
	const void *log = sources->at[GPUMON_ALERTS_OF_LOG].state;

	return log ? gpumon_alert_log_losses(log) : none;
}

int gpumon_alert_sources_last(const char *root, struct gpumon_model *model,
			      struct gpumon_log_losses *losses, struct gpumon_error *err)
{
	struct gpumon_alert_sources sources = { .root = root };
	struct gpumon_model kept = { 0 }, logged = { 0 };
	struct gpumon_alert_source *module = &sources.at[GPUMON_ALERTS_OF_MODULE],
				   *of_log = &sources.at[GPUMON_ALERTS_OF_LOG];
	struct gpumon_alert_log *log = NULL;
	int ret = 0;

	memset(losses, 0, sizeof(*losses));
	if (netlink_possible(root, &module->why) ||
	    gpumon_client_open(&sources.client, &module->why) ||
	    gpumon_client_read(sources.client, GPUMON_PART_ALERTS, 0, &kept, &module->why))
		gpumon_model_free(&kept);
	else
		module->state = sources.client;
	if (!gpumon_alert_log_open(&log, root, 0, &of_log->why))
		of_log->state = log;
	if (!module->state && !log) {
		no_source(&sources, err);
		ret = -1;
	}
	if (module->state)
		take_alerts(&sources, GPUMON_ALERTS_OF_MODULE, &kept, model);
	if (log) {
		ret = gpumon_alert_log_last(log, &logged, err);
		take_alerts(&sources, GPUMON_ALERTS_OF_LOG, &logged, model);
		*losses = gpumon_alert_log_losses(log);
	}
	gpumon_alert_log_close(log);
	gpumon_client_close(sources.client);
	return ret;
}
