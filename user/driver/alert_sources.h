/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * All sources of alerts: the module, the kernel's log, drm_ras, and BPF for jobs that hang. What two of
 * them tell is taken from one: from the module where it has its message whole, else from the log.
 */
#ifndef GPUMON_DRIVER_ALERT_SOURCES_H
#define GPUMON_DRIVER_ALERT_SOURCES_H

#include <poll.h>

#include "alert_log.h"
#include "job_watch.h"
#include "lib/error.h"
#include "model.h"

/* The longest limit of jobs: the module takes no more. */
#define GPUMON_JOB_LIMIT_MAX_NS (86400 * 1000000000ULL)

struct gpumon_bpf_source;
struct gpumon_client;

enum gpumon_alert_origin {
	GPUMON_ALERTS_OF_MODULE,
	GPUMON_ALERTS_OF_LOG,
	GPUMON_ALERTS_OF_RAS,
	GPUMON_ALERTS_OF_BPF,
	GPUMON_ALERT_ORIGINS,
};

/**
 * struct gpumon_alert_source - a source
 * @type: what it is
 * @state: NULL if it is not open
 * @why: why it is not open
 * @left_out: nobody asked for it
 */
struct gpumon_alert_source {
	const struct gpumon_alert_source_type *type;
	void *state;
	struct gpumon_error why;
	bool left_out;
};

/**
 * struct gpumon_limits_lent - limits of jobs that the module has for a time. Zeroed: none
 * @set: it has these now
 * @before: what it had before
 */
struct gpumon_limits_lent {
	struct gpumon_limits set;
	struct gpumon_limits before;
};

/* Gives the module limits, until gpumon_limits_take_back(). Returns 0, or -1 with @err. */
int gpumon_limits_lend(struct gpumon_limits_lent *lent, struct gpumon_client *client,
		       struct gpumon_job_limits jobs, struct gpumon_error *err);
/* Restores what it had, but for a limit that was changed meanwhile. @client: NULL without the module. */
void gpumon_limits_take_back(const struct gpumon_limits_lent *lent, struct gpumon_client *client);

/**
 * struct gpumon_alert_sources - all of them
 * @root: prefix of /dev and /sys: "", or a test's own tree
 * @log_from: number of the log's first record that is read, or GPUMON_LOG_FROM_NOW
 * @client: of the module, NULL without it
 * @owned: bits of enum alert_kind that the module tells, as last asked
 * @asked_ns: when that was, CLOCK_MONOTONIC
 * @limits: of jobs, as asked for
 * @lent: the module has them
 * @share: text of gpumon_alert_source_share()
 */
struct gpumon_alert_sources {
	struct gpumon_alert_source at[GPUMON_ALERT_ORIGINS];
	const char *root;
	uint64_t log_from;
	struct gpumon_client *client;
	unsigned int owned;
	uint64_t asked_ns;
	struct gpumon_job_limits limits;
	struct gpumon_limits_lent lent;
	char share[96];
};

/**
 * gpumon_alert_sources_open() - open all that can be
 * @sources: out; closed with gpumon_alert_sources_close() also on failure
 * @root: prefix of /dev and /sys: "", or a test's own tree, which has no netlink
 * @log_from: as for gpumon_alert_log_open()
 * @limits: of jobs that hang or starve: the module is given them, until the sources are closed; without
 *	it BPF looks at jobs
 * @bpf: programs that are loaded already and outlive the sources, or NULL: they are loaded if needed
 * @err: out: what is wrong with each
 *
 * Return: 0, or -1 with @err if there is none, or none that looks at jobs though there is a limit.
 */
int gpumon_alert_sources_open(struct gpumon_alert_sources *sources, const char *root,
			      uint64_t log_from, struct gpumon_job_limits limits,
			      struct gpumon_bpf_source *bpf, struct gpumon_error *err);
void gpumon_alert_sources_close(struct gpumon_alert_sources *sources);

/* Name of a source in JSON, and its name for people. */
const char *gpumon_alert_source_word(const struct gpumon_alert_source *source);
const char *gpumon_alert_source_title(const struct gpumon_alert_source *source);
/*
 * What is taken from a source while all that can be are open, for people: "Xids and amdgpu's resets";
 * valid until the next call. NULL: all that it has.
 */
const char *gpumon_alert_source_share(struct gpumon_alert_sources *sources,
				      enum gpumon_alert_origin origin);

/* For poll(), one for each source. */
void gpumon_alert_sources_poll(const struct gpumon_alert_sources *sources,
			       struct pollfd fds[GPUMON_ALERT_ORIGINS]);
/* When they have to be read also if nothing arrives, CLOCK_MONOTONIC; UINT64_MAX: never. */
uint64_t gpumon_alert_sources_next_ns(const struct gpumon_alert_sources *sources);
/* False: nothing more will come. */
bool gpumon_alert_sources_alive(const struct gpumon_alert_sources *sources);

/**
 * gpumon_alert_sources_read() - read the alerts that have arrived
 * @sources: the sources
 * @model: alerts are added to it
 * @err: out
 *
 * Does not wait. 0; -1 with *err if a source failed, for example if the module was unloaded; @model
 * then has the alerts that arrived before.
 */
int gpumon_alert_sources_read(struct gpumon_alert_sources *sources, struct gpumon_model *model,
			      struct gpumon_error *err);

/* Alerts that have been read and are held back, to be called before the end: the last ones of bursts. */
void gpumon_alert_sources_give_held(struct gpumon_alert_sources *sources,
				    struct gpumon_model *model);

/* Adds the last alert of each kind, device and code that the module has kept. 0, or -1 with *err. */
int gpumon_alert_sources_kept(struct gpumon_alert_sources *sources, struct gpumon_model *model,
			      struct gpumon_error *err);
/* Whether such an alert is taken from the module; otherwise the log has it, too. */
bool gpumon_alert_sources_takes_kept(struct gpumon_alert_sources *sources,
				     const struct gpumon_alert *alert);

/* Number of the log's next record. */
uint64_t gpumon_alert_sources_log_next(const struct gpumon_alert_sources *sources);

/**
 * gpumon_alert_sources_last() - the last alert of each kind, device and code
 * @root: as for gpumon_alert_sources_open()
 * @model: what the module has kept, then what is in the log
 * @losses: out, of the log
 * @err: out
 *
 * drm_ras keeps none. Return: 0, or -1 with @err if there is no source.
 */
int gpumon_alert_sources_last(const char *root, struct gpumon_model *model,
			      struct gpumon_log_losses *losses, struct gpumon_error *err);

/* Losses of the log since it was opened; zeroes if it is not. */
struct gpumon_log_losses gpumon_alert_sources_losses(const struct gpumon_alert_sources *sources);

#endif /* GPUMON_DRIVER_ALERT_SOURCES_H */
