// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdio.h>
#include <string.h>

#include "alert_listener.h"
#include "alert_sources.h"
#include "client.h"
#include "lib/wait.h"
#include "model_fields.h"

/* How long an answer of the module to which probes it has is good. */
#define ASK_NS 1000000000ULL

/**
 * struct gpumon_alert_source_type - what a source does
 * @word: its name in JSON
 * @title: its name for people
 * @open: sets *state; 0, or -1 with *err
 * @fd: for poll(), -1 if nothing more will come
 * @next_ns: when it has to be read also if nothing arrives; NULL: never
 * @read: adds what has arrived to a model; 0, or -1 with *err
 */
struct gpumon_alert_source_type {
	const char *word;
	const char *title;
	int (*open)(void **state, const char *root, struct gpumon_error *err);
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

static int module_open(void **state, const char *root, struct gpumon_error *err)
{
	struct gpumon_alert_listener *listener;

	if (netlink_possible(root, err) || gpumon_alert_listener_open(&listener, err))
		return -1;
	*state = listener;
	return 0;
}

static int ras_open(void **state, const char *root, struct gpumon_error *err)
{
	struct gpumon_alert_listener *listener;

	if (netlink_possible(root, err) || gpumon_alert_listener_open_ras(&listener, err))
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

static int log_open(void **state, const char *root, struct gpumon_error *err)
{
	struct gpumon_alert_log *log;

	if (gpumon_alert_log_open(&log, root, false, err))
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

static const struct gpumon_alert_source_type types[GPUMON_ALERT_ORIGINS] = {
	[GPUMON_ALERTS_OF_MODULE] = { "kmod", "the module", module_open, listener_fd, NULL,
				      listener_read, listener_close },
	[GPUMON_ALERTS_OF_LOG] = { GPUMON_ALERT_SOURCE_LOG, "the kernel's log", log_open, log_fd,
				   log_next_ns, log_read, log_close },
	[GPUMON_ALERTS_OF_RAS] = { GPUMON_ALERT_SOURCE_RAS, "drm-ras", ras_open, listener_fd, NULL,
				   listener_read, listener_close },
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

/* Kinds that the module and the log both have. */
enum alert_kind {
	KIND_XID = 1 << 0,
	KIND_AMDGPU_RESET = 1 << 1,
};

static unsigned int kind_of(const struct gpumon_alert *alert)
{
	if (!alert->group || !alert->kind)
		return 0;
	if (!strcmp(alert->group, "nvidia") && !strcmp(alert->kind, "xid"))
		return KIND_XID;
	if (!strcmp(alert->group, "amdgpu") && !strcmp(alert->kind, "reset"))
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

const char *gpumon_alert_source_share(struct gpumon_alert_sources *sources,
				      enum gpumon_alert_origin origin)
{
	static const char *const of_module[] = { "nothing now", "Xids", "amdgpu's resets",
						 "Xids and amdgpu's resets" };

	if (!is_open(sources, GPUMON_ALERTS_OF_MODULE) || !is_open(sources, GPUMON_ALERTS_OF_LOG))
		return NULL;
	if (origin == GPUMON_ALERTS_OF_MODULE)
		return of_module[owned_by_module(sources)];
	return origin == GPUMON_ALERTS_OF_LOG ? "all else" : NULL;
}

/* Leaves those out that another open source tells. */
static void take_alerts(struct gpumon_alert_sources *sources, enum gpumon_alert_origin origin,
			struct gpumon_model *from, struct gpumon_model *model)
{
	bool both = is_open(sources, GPUMON_ALERTS_OF_MODULE) &&
		    is_open(sources, GPUMON_ALERTS_OF_LOG);

	for (size_t i = 0; i < from->n_alerts; i++) {
		struct gpumon_alert *alert = &from->alerts[i];
		unsigned int kind = both ? kind_of(alert) : 0;
		bool of_module = kind & (kind ? owned_by_module(sources) : 0);

		if (!kind || origin == GPUMON_ALERTS_OF_RAS ||
		    of_module == (origin == GPUMON_ALERTS_OF_MODULE)) {
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
	if (source->type->open(&source->state, sources->root, &source->why))
		source->state = NULL;
}

static void close_source(struct gpumon_alert_source *source)
{
	if (source->state)
		source->type->close(source->state);
	source->state = NULL;
}

int gpumon_alert_sources_open(struct gpumon_alert_sources *sources, const char *root,
			      struct gpumon_error *err)
{
	struct gpumon_alert_source *module = &sources->at[GPUMON_ALERTS_OF_MODULE];

	memset(sources, 0, sizeof(*sources));
	sources->root = root;
	for (unsigned int i = 0; i < GPUMON_ALERT_ORIGINS; i++)
		open_source(sources, i);
	/* A module of another version is none. */
	if (module->state && gpumon_client_open(&sources->client, &module->why))
		close_source(module);
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
	if (!gpumon_alert_log_open(&log, root, true, &of_log->why))
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
