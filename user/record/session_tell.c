// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

#include "base/privileges.h"
#include "losses.h"
#include "process/api_loader.h"
#include "session_inner.h"
#include "term/format.h"

bool gpumon_session_lacks(const struct session *session, char *text, size_t room)
{
	char names[GPUMON_API_TEXT_LEN], headers[GPUMON_API_TEXT_LEN];

	if (!session->lacks)
		return false;
	snprintf(
		text, room,
		"the injection library was built without %s, for which there is a driver here: what programs do with it is not seen (install %s, then make inject)",
		gpumon_api_names(session->lacks, "and", names),
		gpumon_api_headers(session->lacks, headers));
	return true;
}

static void tell_nothing(const struct session *session)
{
	FILE *err = session->context->err;
	const char *program = session->options->argv[0];
	int status = session->launch.status;
	char loader[PATH_MAX], names[GPUMON_API_TEXT_LEN], text[512];
	unsigned int seen = session->apis;

	if (session->result->counts.refused)
		return;
	if (WIFSIGNALED(status)) {
		fprintf(err,
			"gpumon-user: nothing was recorded: signal %d (%s) ended %s before it used %s\n",
			WTERMSIG(status), strsignal(WTERMSIG(status)), program,
			gpumon_api_names(seen, "or", names));
		return;
	}
	if (gpumon_launch_privileged(program)) {
		fprintf(err,
			"gpumon-user: nothing was recorded: %s is setuid, setgid or has capabilities, so the injection library does nothing in it: record a copy, which has no such rights\n",
			program);
		return;
	}
	if (gpumon_session_lacks(session, text, sizeof(text)))
		fprintf(err, "gpumon-user: %s\n", text);
	if ((seen & ~GPUMON_APIS_OPENCL) &&
	    gpumon_opencl_loader("", loader) == GPUMON_OPENCL_NO_LAYERS) {
		fprintf(err,
			"gpumon-user: nothing was recorded: no process used %s, and what used OpenCL is not seen, because %s has no layers (ocl-icd has from 2.3 on, Khronos's loader from 3.0 on)\n",
			gpumon_api_names(seen & ~GPUMON_APIS_OPENCL, "or", names), loader);
		return;
	}
	fprintf(err,
		"gpumon-user: nothing was recorded: no process used %s (or one clears its environment, or runs as another user or in a container: use record -p for these)\n",
		gpumon_api_names(seen, "or", names));
}

static void tell_counts(const struct session *session)
{
	const struct gpumon_recorder_counts *counts = &session->result->counts;
	const struct gpumon_target_counts *targets = &counts->targets;
	FILE *err = session->context->err;
	char bytes[GPUMON_FORMAT_LEN];

	gpumon_format_bytes(bytes, sizeof(bytes), gpumon_value_of(targets->bytes));
	if (counts->processes || !counts->probed)
		fprintf(err,
			"gpumon-user: %u process%s, %" PRIu64 " launches, %" PRIu64
			" kernels, %" PRIu64 " copies and sets, %s in %s\n",
			counts->processes, counts->processes == 1 ? "" : "es",
			targets->launches + targets->captured, targets->kernels,
			targets->copies + targets->sets, bytes, session->result->directory);
	if (counts->probed)
		fprintf(err,
			"gpumon-user: %u process%s by uprobes, %" PRIu64
			" calls, what the GPU did is not known, %s in %s\n",
			counts->probed, counts->probed == 1 ? "" : "es", counts->hits, bytes,
			session->result->directory);
	gpumon_losses_print(err, targets->lost, gpumon_capture_lost(session->writer));
}

void gpumon_session_tell(const struct session *session)
{
	const struct gpumon_recorder_counts *counts = &session->result->counts;
	FILE *err = session->context->err;

	if (session->trouble.code)
		fprintf(err, "gpumon-user: %s\n", session->trouble.message);
	if (gpumon_privileges_user() && !session->options->quiet)
		fprintf(err,
			"gpumon-user: the program ran as %s, and the capture belongs to that user (--run-as root runs it as root)\n",
			gpumon_privileges_user());
	/* Failures are always reported. */
	if (session->options->quiet &&
	    (session->options->argv || session->result->exit_status == GPUMON_EXIT_OK))
		return;
	if (counts->refused)
		fprintf(err, "gpumon-user: %s\n", counts->refusal);
	if (counts->refused > 1)
		fprintf(err, "gpumon-user: and %u more, the notes in %s say why\n",
			counts->refused - 1, session->result->directory);
	/* The summary contains them, too. */
	if (!session->options->brief)
		gpumon_library_notes_print(err, &session->notes, session->result->directory);
	if (!counts->processes && session->options->argv) {
		tell_nothing(session);
		return;
	}
	if (!session->options->brief && !session->options->quiet)
		tell_counts(session);
	if (counts->full)
		fputs("gpumon-user: recording ended at the largest size (--max-size), before the program did\n",
		      err);
}
