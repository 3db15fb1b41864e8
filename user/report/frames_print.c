// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Frames as text: the sentence first, then swapchains, then late frames. */
#include <inttypes.h>

#include "frames.h"
#include "lib/format.h"
#include "lib/json.h"
#include "lib/text.h"

#define TIME_TEXT GPUMON_FORMAT_LEN

/* Less moved memory is not worth a word. */
#define MOVED_MIN (1u << 20)

static const char *time_text(char *buf, uint64_t ns)
{
	return gpumon_format_ns(buf, TIME_TEXT, gpumon_value_of(ns));
}

const char *gpumon_late_text(char *buf, size_t len, const struct gpumon_late_frame *row)
{
	static const char *const texts[GPUMON_LATE_REASONS] = {
		[GPUMON_LATE_UNKNOWN] = "without evidence",
		[GPUMON_LATE_GPU] = "waited for the GPU",
		[GPUMON_LATE_PIPELINE] = "made pipelines or shaders",
		[GPUMON_LATE_DISPLAY] = "waited for the display",
		[GPUMON_LATE_SWAP] = "waited for the display or the GPU",
		[GPUMON_LATE_CALL] = "took longer in calls",
		[GPUMON_LATE_CPU] = "ran longer on the CPU",
		[GPUMON_LATE_MEMORY] = "waited while memory was moved",
		[GPUMON_LATE_SHOWN] = "came to the screen late",
	};

	if (row->reason == GPUMON_LATE_BLOCKED)
		snprintf(buf, len, "blocked (%s)", gpumon_wait_text(row->wait));
	else
		snprintf(buf, len, "%s", texts[row->reason]);
	return buf;
}

char gpumon_late_letter(enum gpumon_late_reason reason)
{
	static const char letters[GPUMON_LATE_REASONS] = {
		[GPUMON_LATE_UNKNOWN] = '?',  [GPUMON_LATE_GPU] = 'G',
		[GPUMON_LATE_PIPELINE] = 'P', [GPUMON_LATE_DISPLAY] = 'D',
		[GPUMON_LATE_SWAP] = 'S',     [GPUMON_LATE_CALL] = 'C',
		[GPUMON_LATE_CPU] = 'R',      [GPUMON_LATE_BLOCKED] = 'B',
		[GPUMON_LATE_MEMORY] = 'M',   [GPUMON_LATE_SHOWN] = 'L',
	};

	return letters[reason];
}

const char *gpumon_late_key(enum gpumon_late_reason reason)
{
	static const char *const keys[GPUMON_LATE_REASONS] = {
		[GPUMON_LATE_UNKNOWN] = "unknown",   [GPUMON_LATE_GPU] = "gpu",
		[GPUMON_LATE_PIPELINE] = "pipeline", [GPUMON_LATE_DISPLAY] = "display",
		[GPUMON_LATE_SWAP] = "swap",	     [GPUMON_LATE_CALL] = "call",
		[GPUMON_LATE_CPU] = "cpu",	     [GPUMON_LATE_BLOCKED] = "blocked",
		[GPUMON_LATE_MEMORY] = "memory",     [GPUMON_LATE_SHOWN] = "shown",
	};

	return keys[reason];
}

static const char *value_text(char *buf, enum gpumon_frame_part part, uint64_t value)
{
	if (part == GPUMON_FRAME_MOVED)
		return gpumon_format_bytes(buf, TIME_TEXT, gpumon_value_of(value));
	return time_text(buf, value);
}

/* What is known beside: "; 3 vblanks went by, usually 1" */
static void beside_text(char *buf, size_t len, const struct gpumon_late_frame *row)
{
	char moved[TIME_TEXT];
	uint64_t vblanks = row->part[GPUMON_FRAME_VBLANKS];

	buf[0] = '\0';
	if ((row->reason == GPUMON_LATE_DISPLAY || row->reason == GPUMON_LATE_SWAP ||
	     row->grown == GPUMON_FRAME_SHOWN) &&
	    vblanks)
		snprintf(buf, len, "; %" PRIu64 " vblanks went by, usually %" PRIu64, vblanks,
			 row->usual_vblanks);
	else if (row->grown != GPUMON_FRAME_MOVED && row->part[GPUMON_FRAME_MOVED] >= MOVED_MIN)
		snprintf(buf, len, "; drivers moved %s of memory meanwhile",
			 value_text(moved, GPUMON_FRAME_MOVED, row->part[GPUMON_FRAME_MOVED]));
}

const char *gpumon_late_evidence(char *buf, size_t len, const struct gpumon_late_frame *row)
{
	static const char *const of_part[GPUMON_FRAME_ALL] = {
		[GPUMON_FRAME_QUEUED] = "waiting of jobs for ",
		[GPUMON_FRAME_JOBS] = "jobs on ",
		[GPUMON_FRAME_MOVED] = "moves by ",
	};
	char usual[TIME_TEXT], took[TIME_TEXT], beside[128];
	const char *of = row->name ? of_part[row->grown] : NULL;

	beside_text(beside, sizeof(beside), row);
	if (row->reason == GPUMON_LATE_UNKNOWN)
		snprintf(buf, len, "nothing recorded says why%s", beside);
	else if (row->grown == GPUMON_FRAME_SHOWN)
		snprintf(buf, len,
			 "the time from its present call to the screen%s grew from %s to %s%s",
			 row->seen_by_wait ? ", as a call that waits for it saw," : "",
			 time_text(usual, row->usual), time_text(took, row->took), beside);
	else
		snprintf(buf, len, "%s%s grew from %s to %s%s%s%s%s", of ? of : "",
			 row->name ? row->name : "it", value_text(usual, row->grown, row->usual),
			 value_text(took, row->grown, row->took), row->others ? " while " : "",
			 row->others ? row->others : "", row->others ? " was on the GPU" : "",
			 beside);
	return buf;
}

static bool is_alike(const struct gpumon_late_frame *a, const struct gpumon_late_frame *b)
{
	return a->reason == b->reason && a->wait == b->wait && a->seen_by_wait == b->seen_by_wait;
}

/* ": 7 waited for the GPU (draw_shadows grew from 2.10ms to 19.4ms), 1 without evidence" */
static void print_reasons(FILE *out, const struct gpumon_frames *frames)
{
	const char *separator = ": ";
	char text[64], why[1024];

	for (uint32_t i = 0; i < frames->row_count; i++) {
		const struct gpumon_late_frame *longest = &frames->rows[i];
		uint32_t count = 0, k = 0;

		while (k < i && !is_alike(&frames->rows[k], &frames->rows[i]))
			k++;
		if (k < i)
			continue;
		for (; k < frames->row_count; k++) {
			if (!is_alike(&frames->rows[k], &frames->rows[i]))
				continue;
			count++;
			if (frames->rows[k].frame_ns > longest->frame_ns)
				longest = &frames->rows[k];
		}
		fprintf(out, "%s%" PRIu32 " %s", separator, count,
			gpumon_late_text(text, sizeof(text), longest));
		separator = ", ";
		if (longest->reason == GPUMON_LATE_UNKNOWN)
			continue;
		fputs(" (", out);
		gpumon_text_plain(out, gpumon_late_evidence(why, sizeof(why), longest));
		putc(')', out);
	}
}

static void print_chain(FILE *out, const struct gpumon_frames_chain *chain)
{
	char median[TIME_TEXT], p95[TIME_TEXT], p99[TIME_TEXT], longest[TIME_TEXT], late[TIME_TEXT];
	bool is_opengl = GPUMON_API_OF(chain->id) == GPUMON_API_OPENGL;

	fprintf(out, "\nSwapchain %" PRIu32 "%s: %" PRIu64 " frames", GPUMON_NUMBER_OF(chain->id),
		is_opengl ? " (OpenGL)" : "", chain->frames);
	if (chain->frames)
		fprintf(out,
			", %.1f fps, median %s, p95 %s, p99 %s, longest %s; 1%% of frames are slower "
			"than %.1f fps, 0.1%% than %.1f fps; late: longer than %s",
			(double)chain->frames * gpumon_frames_rate(chain->total_ns),
			time_text(median, chain->median_ns), time_text(p95, chain->p95_ns),
			time_text(p99, chain->p99_ns), time_text(longest, chain->longest_ns),
			gpumon_frames_rate(chain->p99_ns), gpumon_frames_rate(chain->p999_ns),
			time_text(late, chain->late_ns));
	putc('\n', out);
	if (is_opengl)
		fputs("  What the GPU did is known of OpenGL only by jobs of the gpumon module\n",
		      out);
	if (chain->shown_late)
		fprintf(out,
			"  %" PRIu64
			" frames were on time and came to the screen late: longer than %s "
			"after the image before\n",
			chain->shown_late, time_text(late, chain->shown_late_ns));
	if (chain->failed)
		fprintf(out, "  %" PRIu64 " presents failed: the frame went on\n", chain->failed);
	if (chain->lost)
		fprintf(out,
			"  %" PRIu64
			" presents are not recorded: frames next to them are left out\n",
			chain->lost);
}

void gpumon_frames_sentence(FILE *out, const struct gpumon_frames *frames)
{
	uint64_t count = 0, late = 0;
	char range[512];

	for (uint32_t i = 0; i < frames->chain_count; i++) {
		count += frames->chains[i].frames;
		late += frames->chains[i].late + frames->chains[i].shown_late;
	}
	fprintf(out, "%" PRIu64 " of %" PRIu64 " frames were late", late, count);
	print_reasons(out, frames);
	fputs(".\n", out);
	if (frames->range.until_ns)
		fprintf(out, "Frames that begin in a part: %s.\n",
			gpumon_time_range_text(range, sizeof(range), &frames->range));
	if (late > frames->row_count)
		fprintf(out, "Reasons are those of the %" PRIu32 " longest of each swapchain.\n",
			GPUMON_FRAMES_LATE_MAX);
	if (frames->dropped)
		fprintf(out, "%" PRIu64 " presents beyond the first %u were not looked at.\n",
			frames->dropped, GPUMON_FRAMES_PRESENTS_MAX);
	if (frames->jobs_dropped)
		fprintf(out,
			"%" PRIu64 " jobs of drivers beyond the first %u were not looked at.\n",
			frames->jobs_dropped, GPUMON_FRAMES_JOBS_MAX);
}

void gpumon_frames_print(FILE *out, const struct gpumon_frames *frames, uint32_t rows)
{
	char text[64], why[1024], at[TIME_TEXT], took[TIME_TEXT];

	gpumon_frames_sentence(out, frames);
	for (uint32_t i = 0; i < frames->chain_count; i++)
		print_chain(out, &frames->chains[i]);
	if (frames->row_count)
		fprintf(out, "\n%10s %10s %10s  %s\n", "FRAME", "SINCE", "TIME", "REASON");
	for (uint32_t i = 0; i < frames->row_count && i < rows; i++) {
		const struct gpumon_late_frame *row = &frames->rows[i];

		fprintf(out, "%10" PRIu64 " %10s %10s  %s: ", row->number,
			time_text(at, row->start_ns - frames->range.began_ns),
			time_text(took, row->frame_ns), gpumon_late_text(text, sizeof(text), row));
		gpumon_text_plain(out, gpumon_late_evidence(why, sizeof(why), row));
		putc('\n', out);
	}
	if (frames->row_count > rows)
		fprintf(out, "  %" PRIu32 " more late frames: --rows N\n",
			frames->row_count - rows);
}

static struct json_object *chain_json(const struct gpumon_frames_chain *chain)
{
	struct json_object *object = gpumon_json_object();

	gpumon_json_add_u64(object, "process", chain->process);
	gpumon_json_add_string(object, "api", gpumon_api_name(chain->id));
	gpumon_json_add_u64(object, "swapchain", GPUMON_NUMBER_OF(chain->id));
	gpumon_json_add_u64(object, "frames", chain->frames);
	gpumon_json_add_u64(object, "late", chain->late);
	gpumon_json_add_u64(object, "shown", chain->shown);
	gpumon_json_add_u64(object, "shown_late", chain->shown_late);
	gpumon_json_add_u64(object, "lost_presents", chain->lost);
	gpumon_json_add_u64(object, "failed_presents", chain->failed);
	gpumon_json_add_u64(object, "total_ns", chain->total_ns);
	gpumon_json_add_u64(object, "median_ns", chain->median_ns);
	gpumon_json_add_u64(object, "p95_ns", chain->p95_ns);
	gpumon_json_add_u64(object, "p99_ns", chain->p99_ns);
	gpumon_json_add_u64(object, "p999_ns", chain->p999_ns);
	gpumon_json_add_u64(object, "longest_ns", chain->longest_ns);
	gpumon_json_add_u64(object, "late_ns", chain->late_ns);
	gpumon_json_add_value(object, "shown_late_ns",
			      gpumon_value_if(chain->shown, chain->shown_late_ns));
	return object;
}

static struct json_object *row_json(const struct gpumon_frames *frames,
				    const struct gpumon_late_frame *row)
{
	bool known = row->reason != GPUMON_LATE_UNKNOWN;
	bool moved = row->grown == GPUMON_FRAME_MOVED;
	struct json_object *object = gpumon_json_object();

	gpumon_json_add_u64(object, "swapchain_index", row->chain);
	gpumon_json_add_u64(object, "frame", row->number);
	gpumon_json_add_u64(object, "since_ns", row->start_ns - frames->range.began_ns);
	gpumon_json_add_u64(object, "frame_ns", row->frame_ns);
	gpumon_json_add_u64(object, "submissions", row->submissions);
	gpumon_json_add_u64(object, "operations", row->operations);
	gpumon_json_add_string(object, "reason", gpumon_late_key(row->reason));
	gpumon_json_add_string(object, "blocked",
			       row->reason == GPUMON_LATE_BLOCKED ? gpumon_wait_text(row->wait) :
								    NULL);
	gpumon_json_add_string(object, "name", row->name);
	gpumon_json_add_value(object, "usual_ns", gpumon_value_if(known && !moved, row->usual));
	gpumon_json_add_value(object, "took_ns", gpumon_value_if(known && !moved, row->took));
	gpumon_json_add_string(object, "other_process", row->others);
	gpumon_json_add_u64(object, "gpu_ns", row->part[GPUMON_FRAME_GPU]);
	gpumon_json_add_u64(object, "jobs_queued_ns", row->part[GPUMON_FRAME_QUEUED]);
	gpumon_json_add_u64(object, "jobs_run_ns", row->part[GPUMON_FRAME_JOBS]);
	gpumon_json_add_u64(object, "moved_bytes", row->part[GPUMON_FRAME_MOVED]);
	gpumon_json_add_u64(object, "vblanks", row->part[GPUMON_FRAME_VBLANKS]);
	gpumon_json_add_value(object, "screen_ns",
			      gpumon_value_if(row->part[GPUMON_FRAME_SHOWN],
					      row->part[GPUMON_FRAME_SHOWN]));
	return object;
}

int gpumon_frames_json(FILE *out, const struct gpumon_frames *frames)
{
	struct json_object *object = gpumon_json_object();
	struct json_object *chains = gpumon_json_array(), *rows = gpumon_json_array();

	for (uint32_t i = 0; i < frames->chain_count; i++)
		gpumon_json_append(chains, chain_json(&frames->chains[i]));
	for (uint32_t i = 0; i < frames->row_count; i++)
		gpumon_json_append(rows, row_json(frames, &frames->rows[i]));
	gpumon_json_add(object, "swapchains", chains);
	gpumon_json_add(object, "late_frames", rows);
	gpumon_json_add_u64(object, "presents_left_out", frames->dropped);
	gpumon_json_add_u64(object, "jobs_left_out", frames->jobs_dropped);
	return gpumon_json_print(object, true, out);
}
