// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/api_loader.h"
#include "lib/format.h"
#include "lib/privileges.h"
#include "session_summary.h"

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

/* Why no process was there that the library is in. */
static void why_no_process(const struct session *session, char *text, size_t room)
{
	const struct gpumon_recorder_counts *counts = &session->result->counts;
	const char *program = session->options->argv ? session->options->argv[0] : "the process";
	int status = session->launch.status;
	char loader[PATH_MAX], path[PATH_MAX], names[GPUMON_API_TEXT_LEN];
	unsigned int seen = session->apis;

	if (counts->refused) {
		snprintf(text, room, "%s", counts->refusal);
		return;
	}
	if (WIFSIGNALED(status)) {
		snprintf(text, room, "signal %d (%s) ended %s before it used %s", WTERMSIG(status),
			 strsignal(WTERMSIG(status)), program, gpumon_api_names(seen, "or", names));
		return;
	}
	if (gpumon_launch_privileged(program)) {
		snprintf(
			text, room,
			"%s is setuid, setgid or has capabilities, so the injection library does nothing in it: record a copy, which has no such rights",
			program);
		return;
	}
	if ((seen & ~GPUMON_APIS_OPENCL) &&
	    gpumon_opencl_loader("", loader) == GPUMON_OPENCL_NO_LAYERS) {
		snprintf(
			text, room,
			"no process used %s, and what used OpenCL is not seen, because %s has no layers (ocl-icd has from 2.3 on, Khronos's loader from 3.0 on)",
			gpumon_api_names(seen & ~GPUMON_APIS_OPENCL, "or", names), loader);
		return;
	}
	if (gpumon_launch_is_of_32_bits(program)) {
		snprintf(
			text, room,
			"%s is of 32 bits, and the injection library is not: record its build of 64 bits",
			program);
		return;
	}
	if (gpumon_launch_is_static(program)) {
		snprintf(
			text, room,
			"%s is linked statically, so that no library can be loaded into it, and it started no program that used %s",
			program, gpumon_api_names(seen, "or", names));
		return;
	}
	/* Said already, each of them. */
	if (session->unrecorded.count) {
		snprintf(text, room,
			 "no process was recorded, and %u of those that were started cannot be",
			 session->unrecorded.count);
		return;
	}
	if (session->options->argv && !session->options->opengl &&
	    gpumon_launch_find_program(program, path) &&
	    (gpumon_api_of_program(path) & GPUMON_APIS_OPENGL)) {
		snprintf(
			text, room,
			"no process used %s, and %s, which names a library of OpenGL, was not recorded with --gl, which its presents need",
			gpumon_api_names(seen, "or", names), program);
		return;
	}
	snprintf(
		text, room,
		"no process used %s (or one clears its environment, is linked statically, or runs as another user or in a container: use record -p for these; or a sandbox forbids what the library needs)",
		gpumon_api_names(seen, "or", names));
}

/* Why none of the processes did anything. */
static void why_no_work(const struct session *session, char *text, size_t room)
{
	const struct gpumon_recorder_counts *counts = &session->result->counts;
	bool one = counts->processes + counts->probed == 1;

	if (counts->without_gpu && counts->without_gpu >= counts->processes)
		snprintf(text, room, "the GPU could not be recorded in %s: the notes say why",
			 one ? "the process" : "any process");
	else if (session->options->recorder.settings.window != GPUMON_WINDOW_ALWAYS)
		snprintf(text, room,
			 "nothing was launched in the window of --window, if there was one");
	else
		snprintf(text, room, "%s launched nothing%s",
			 one ? "the process that was recorded" : "the processes that were recorded",
			 session->options->argv ? "" : " in that time");
}

bool gpumon_session_nothing(const struct session *session, char *text, size_t room)
{
	const struct gpumon_recorder_counts *counts = &session->result->counts;
	const struct gpumon_target_counts *targets = &counts->targets;

	if (counts->hits || targets->launches || targets->captured || targets->kernels ||
	    targets->copies || targets->sets || targets->presents)
		return false;
	for (unsigned int cause = 1; cause < GPUMON_LOSS_CAUSES; cause++) {
		if (targets->lost[cause])
			return false;
	}
	if (counts->processes || counts->probed)
		why_no_work(session, text, room);
	else
		why_no_process(session, text, room);
	return true;
}

static void tell_nothing(const struct session *session)
{
	FILE *err = session->context->err;
	char text[1024];

	/* The reason was reported before. */
	if (session->result->counts.refused)
		return;
	if (!WIFSIGNALED(session->launch.status) &&
	    gpumon_session_lacks(session, text, sizeof(text)))
		fprintf(err, "gpumon-user: %s\n", text);
	if (gpumon_session_nothing(session, text, sizeof(text)))
		fprintf(err, "gpumon-user: nothing was recorded: %s\n", text);
}

static void tell_counts(const struct session *session)
{
	const struct gpumon_recorder_counts *counts = &session->result->counts;
	const struct gpumon_target_counts *targets = &counts->targets;
	FILE *err = session->context->err;
	char presents[GPUMON_FORMAT_LEN] = "";
	char bytes[GPUMON_FORMAT_LEN], where[PATH_MAX + GPUMON_FORMAT_LEN + 64];

	if (targets->presents)
		snprintf(presents, sizeof(presents), "%" PRIu64 " presents, ", targets->presents);
	gpumon_format_bytes(bytes, sizeof(bytes), gpumon_value_of(targets->bytes));
	/* The last line about a ring says how much of it was kept, and where. */
	if (session->options->continuous.on)
		snprintf(where, sizeof(where), "%s of records, of which the last are kept", bytes);
	else
		snprintf(where, sizeof(where), "%s in %s", bytes, session->result->directory);
	if (counts->processes || !counts->probed)
		fprintf(err,
			"gpumon-user: %u process%s, %" PRIu64 " launches, %" PRIu64
			" kernels, %" PRIu64 " copies and sets, %s%s\n",
			counts->processes, counts->processes == 1 ? "" : "es",
			targets->launches + targets->captured, targets->kernels,
			targets->copies + targets->sets, presents, where);
	if (counts->probed)
		fprintf(err,
			"gpumon-user: %u process%s by uprobes, %" PRIu64
			" calls, what the GPU did is not known, %s\n",
			counts->probed, counts->probed == 1 ? "" : "es", counts->hits, where);
	gpumon_losses_print(err, targets->lost, session->writer);
}

void gpumon_session_tell(const struct session *session)
{
	const struct gpumon_recorder_counts *counts = &session->result->counts;
	FILE *err = session->context->err;

	if (session->gone) {
		fprintf(err,
			"gpumon-user: %s was removed during the recording: nothing of it is left\n",
			session->result->directory);
		return;
	}
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

static const char *const words[GPUMON_LOSS_CAUSES] = {
	[GPUMON_LOSS_CHANNEL_FULL] = "records dropped (channel full): raise --buffer",
	[GPUMON_LOSS_API_DROPPED] = "records that the API dropped: raise --cupti-buffer",
	[GPUMON_LOSS_WITHHELD] = "launches whose work was not reported when the process ended",
	[GPUMON_LOSS_NO_TIMESTAMP] = "kernels and copies to which the API gave no time",
	[GPUMON_LOSS_STACK_TABLE] = "stacks dropped (table full): lower --stack-depth",
	[GPUMON_LOSS_STRING_TABLE] = "names dropped (table full)",
	[GPUMON_LOSS_UPROBE_RING] = "uprobe hits dropped (ring full)",
	[GPUMON_LOSS_UPROBE_STACK] = "stacks of uprobe hits",
	[GPUMON_LOSS_DRIVER_RING] =
		"events of the module, overwritten before they were read: gpumon-user set event-ring on --size",
	[GPUMON_LOSS_UNKNOWN_RECORD] = "records of the API of a kind that is not known",
	[GPUMON_LOSS_RECORDER] = "records that could not be written",
	[GPUMON_LOSS_INTERRUPTED] =
		"records of signal handlers that interrupted another record of their thread",
	[GPUMON_LOSS_BROKEN] = "places in a process's memory that held no record",
	[GPUMON_LOSS_TOO_LONG] = "records that were too long",
	[GPUMON_LOSS_ACROSS_WINDOWS] =
		"nodes of graphs that ran at the end of a window, of which CUPTI mixes up the times",
	[GPUMON_LOSS_MAX_SIZE] = "records beyond the largest size: raise --max-size",
	[GPUMON_LOSS_METRIC_SAMPLES] =
		"samples of GPU metrics that were not decoded in time: ask for fewer a second",
	[GPUMON_LOSS_UPROBE_UNDECIDED] =
		"calls of which uprobes could not decide whether they are nested in another call",
};

void gpumon_losses_print(FILE *out, const uint64_t lost[GPUMON_LOSS_CAUSES],
			 const struct gpumon_capture_writer *writer)
{
	for (unsigned int cause = 1; cause < GPUMON_LOSS_CAUSES; cause++) {
		uint64_t count = lost[cause];

		if (writer && cause == GPUMON_LOSS_RECORDER)
			count += gpumon_capture_lost(writer);
		if (writer && cause == GPUMON_LOSS_MAX_SIZE)
			count += gpumon_capture_beyond(writer);
		if (count)
			fprintf(out, "gpumon-user: lost: %" PRIu64 " %s\n", count,
				words[cause] ? words[cause] : "records");
	}
}
