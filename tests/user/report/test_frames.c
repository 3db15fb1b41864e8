// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Frames of made captures: each reason of a late one, and what is no frame. */
#include <stdio.h>
#include <string.h>

#include "../kmod/uapi/gpumon_event.h"
#include "profile_fixture.h"
#include "report/frames.h"

#define TID	 7
#define FRAME_NS 16000000ull
#define MS	 1000000ull
#define FRAMES	 20u
#define LATE	 10u /* the frame that takes longer, from 0 on */

static const struct gpumon_profile_options all;

struct made {
	uint32_t thread;
	uint32_t swapchain;
	uint32_t number;
	uint64_t at_ns;
	uint32_t correlation;
};

static void call(struct capture_maker *maker, const struct made *made, const char *name,
		 uint64_t start_ns, uint64_t ns)
{
	make_call(maker, .tid = made->thread, .start_ns = start_ns, .end_ns = start_ns + ns,
		  .function = make_string(maker, name));
}

static void present(struct capture_maker *maker, struct made *made, uint16_t flags)
{
	make_present(maker, .head.flags = flags, .tid = made->thread, .swapchain = made->swapchain,
		     .number = ++made->number, .start_ns = made->at_ns,
		     .end_ns = made->at_ns + MS / 2,
		     .function = make_string(maker, "vkQueuePresentKHR"));
}

/* Frames of FRAME_NS; one takes 20 ms more, in a call of this name. */
static void make_frames(struct capture_maker *maker, struct made *made, const char *late)
{
	for (unsigned int i = 0; i <= FRAMES; i++) {
		present(maker, made, 0);
		make_launch(maker, .tid = made->thread, .correlation = ++made->correlation,
			    .start_ns = made->at_ns + MS, .end_ns = made->at_ns + 2 * MS,
			    .function = make_string(maker, "vkQueueSubmit"));
		if (late)
			call(maker, made, late, made->at_ns + 3 * MS, i == LATE ? 21 * MS : MS);
		made->at_ns += FRAME_NS + (i == LATE ? 20 * MS : 0);
	}
}

static void read_frames(struct profile_fixture *fixture, struct gpumon_frames *frames)
{
	const char *const paths[] = { fixture->path };

	capture_maker_save(fixture->maker, fixture->path, "process-4711-1", TID);
	assert_int_equal(gpumon_frames_read(paths, 1, &all, 0, frames), 0);
	for (uint32_t i = 0; i < frames->row_count; i++) {
		uint64_t sum = 0;

		for (unsigned int part = 0; part < GPUMON_FRAME_PARTS; part++)
			sum += frames->rows[i].part[part];
		assert_int_equal(sum, frames->rows[i].frame_ns);
	}
}

static void expect_late(struct profile_fixture *fixture, enum gpumon_late_reason reason,
			const char *name)
{
	struct gpumon_frames frames;

	read_frames(fixture, &frames);
	assert_int_equal(frames.chain_count, 1);
	assert_int_equal(frames.chains[0].frames, FRAMES);
	assert_int_equal(frames.chains[0].median_ns, FRAME_NS);
	assert_int_equal(frames.row_count, 1);
	assert_int_equal(frames.rows[0].number, LATE + 2);
	assert_int_equal(frames.rows[0].frame_ns, FRAME_NS + 20 * MS);
	assert_int_equal(frames.rows[0].submissions, 1);
	assert_int_equal(frames.rows[0].reason, reason);
	if (name)
		assert_string_equal(frames.rows[0].name, name);
	else
		assert_null(frames.rows[0].name);
	gpumon_frames_clear(&frames);
}

static void start(struct made *made)
{
	*made = (struct made){ .thread = TID, .swapchain = 1, .at_ns = 1000 * MS };
}

static void test_calls(void **state)
{
	static const struct {
		const char *call;
		enum gpumon_late_reason reason;
	} cases[] = {
		{ "vkWaitForFences", GPUMON_LATE_GPU },
		{ "vkAcquireNextImageKHR", GPUMON_LATE_DISPLAY },
		{ "vkCreateGraphicsPipelines", GPUMON_LATE_PIPELINE },
		{ "vkMapMemory", GPUMON_LATE_CALL },
	};
	struct made made;

	for (unsigned int i = 0; i < 4; i++) {
		void *own;

		profile_setup(&own);
		start(&made);
		make_frames(((struct profile_fixture *)own)->maker, &made, cases[i].call);
		expect_late(own, cases[i].reason, cases[i].call);
		profile_teardown(&own);
	}
	(void)state;
}

/* A swap may wait for the display or for the GPU: OpenGL does not say. */
static void test_opengl(void **state)
{
	struct profile_fixture *fixture = *state;
	struct made made;

	start(&made);
	made.swapchain |= (uint32_t)GPUMON_API_OPENGL << GPUMON_API_SHIFT;
	make_frames(fixture->maker, &made, "eglSwapBuffers");
	expect_late(fixture, GPUMON_LATE_SWAP, "eglSwapBuffers");
}

/* Without calls and looks nothing says why. */
static void test_unknown(void **state)
{
	struct profile_fixture *fixture = *state;
	struct made made;

	start(&made);
	make_frames(fixture->maker, &made, NULL);
	expect_late(fixture, GPUMON_LATE_UNKNOWN, NULL);
}

static void make_look(struct profile_fixture *fixture, uint16_t kind)
{
	struct capture_maker *maker = fixture->maker;
	uint32_t stack = make_stack(
		maker, PYTHON_FRAME(make_python_frame(maker, "load_level", "game.py", 120)));
	uint64_t from_ns = 1000 * MS + LATE * FRAME_NS + 3 * MS;

	make_wait(maker, .tid = TID, .kind = kind, .looks = 20, .period_ns = MS, .stack = stack,
		  .start_ns = from_ns, .end_ns = from_ns + 20 * MS);
}

static void test_looks(void **state)
{
	struct profile_fixture *fixture = *state;
	struct made made;

	start(&made);
	make_frames(fixture->maker, &made, NULL);
	make_look(fixture, GPUMON_WAIT_READ);
	expect_late(fixture, GPUMON_LATE_BLOCKED, "load_level() game.py:120");
}

static void test_cpu(void **state)
{
	struct profile_fixture *fixture = *state;
	struct made made;

	start(&made);
	make_frames(fixture->maker, &made, NULL);
	make_look(fixture, GPUMON_WAIT_RUNNING);
	expect_late(fixture, GPUMON_LATE_CPU, "load_level() game.py:120");
}

/* The operation that grew is named, also where the thread waited for an image. */
static void test_gpu(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	struct made made;

	start(&made);
	make_frames(maker, &made, "vkAcquireNextImageKHR");
	for (unsigned int i = 0; i < FRAMES; i++) {
		uint64_t at_ns = 1000 * MS + i * FRAME_NS + (i > LATE ? 20 * MS : 0) + 2 * MS;

		make_kernel(maker, .correlation = i + 1, .start_ns = at_ns,
			    .end_ns = at_ns + (i == LATE ? 21 * MS : MS),
			    .name = make_string(maker, "draw_shadows"));
		make_kernel(maker, .correlation = i + 1, .start_ns = at_ns,
			    .end_ns = at_ns + 3 * MS, .name = make_string(maker, "draw_sky"));
	}
	expect_late(fixture, GPUMON_LATE_GPU, "draw_shadows");
}

/* The capture of the program with another file; frees @other. */
static void save_with(struct profile_fixture *fixture, struct capture_maker *other,
		      const char *name)
{
	struct gpumon_capture_writer *writer;
	struct gpumon_capture_file *file;

	assert_int_equal(gpumon_capture_create(fixture->path, "game", &writer), 0);
	assert_int_equal(gpumon_capture_add_file(writer, "process-4711-1", &file), 0);
	capture_maker_flush(fixture->maker, file, TID, 0);
	assert_int_equal(gpumon_capture_add_file(writer, name, &file), 0);
	capture_maker_flush(other, file, TID, 0);
	assert_int_equal(gpumon_capture_close(writer), 0);
	capture_maker_free(other);
}

/* Another process was on the same GPU in the late frame. */
static void test_others(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker, *other = capture_maker_new();
	uint64_t late_ns = 1000 * MS + LATE * FRAME_NS;
	const char *const paths[] = { fixture->path };
	struct gpumon_frames frames;
	struct made made;

	make_device(maker, .id = 0, .uuid = { 7 });
	start(&made);
	make_frames(maker, &made, "vkWaitForFences");
	make_process(other, .pid = 9, .rank = ~0u, .executable = make_string(other, "/bin/encode"));
	make_device(other, .id = 3, .uuid = { 7 });
	make_kernel(other, .device = 3, .correlation = 1, .start_ns = late_ns + 3 * MS,
		    .end_ns = late_ns + 23 * MS, .name = make_string(other, "encode"));
	save_with(fixture, other, "process-9-1");
	assert_int_equal(gpumon_frames_read(paths, 1, &all, 0, &frames), 0);
	assert_int_equal(frames.row_count, 1);
	assert_int_equal(frames.rows[0].reason, GPUMON_LATE_GPU);
	assert_non_null(frames.rows[0].others);
	assert_string_equal(frames.rows[0].others, "encode (pid 9)");
	gpumon_frames_clear(&frames);
}

/* --- events of the driver */

#define RIVAL_PID 77u
#define GFX	  "0000:03:00.0 gfx"

/* Events of all rows. In a capture, those of several CPUs are not in order of time. */
struct driver {
	struct {
		struct gpumon_event event;
		const char *row;
	} at[512];
	unsigned int count;
};

static void add_event(struct driver *driver, const char *row, struct gpumon_event event)
{
	assert_true(driver->count < 512);
	driver->at[driver->count].event = event;
	driver->at[driver->count++].row = row;
}

#define EVENT(driver, row, ...) add_event(driver, row, (struct gpumon_event){ __VA_ARGS__ })

static void save_with_driver(struct profile_fixture *fixture, struct driver *driver)
{
	struct capture_maker *maker = capture_maker_new();

	for (unsigned int i = 0; i < driver->count; i++)
		make_driver_event(maker, driver->at[i].row, &driver->at[i].event,
				  sizeof(driver->at[i].event));
	save_with(fixture, maker, "driver");
}

/* A job that was queued, ran and was done at these times. */
static void make_job(struct driver *driver, uint32_t pid, const char *comm, uint64_t queue_ns,
		     uint64_t run_ns, uint64_t done_ns)
{
	struct gpumon_event event = { .event = GPUMON_EVENT_RUN,
				      .flags = GPUMON_EVENT_F_LATENCY | GPUMON_EVENT_F_SUBMITTER,
				      .ring = 3,
				      .pid = pid,
				      .time_ns = run_ns,
				      .arg = run_ns - queue_ns };

	snprintf(event.comm, sizeof(event.comm), "%s", comm);
	add_event(driver, GFX, event);
	event.event = GPUMON_EVENT_DONE;
	event.time_ns = done_ns;
	event.arg = done_ns - run_ns;
	add_event(driver, GFX, event);
}

static uint64_t frame_ns(unsigned int number)
{
	return 1000 * MS + number * FRAME_NS + (number > LATE ? 20 * MS : 0);
}

/* Frames whose one call waits, each with a job that the driver sees. */
static void make_driver(struct driver *driver, struct profile_fixture *fixture, const char *call,
			uint64_t late_queued_ns, uint64_t late_run_ns)
{
	struct made made;

	driver->count = 0;
	start(&made);
	make_frames(fixture->maker, &made, call);
	for (unsigned int i = 0; i < FRAMES; i++) {
		uint64_t queue_ns = frame_ns(i) + 2 * MS;
		uint64_t run_ns = queue_ns + (i == LATE ? late_queued_ns : MS / 10);

		make_job(driver, PROGRAM_PID, "game", queue_ns, run_ns,
			 run_ns + (i == LATE ? late_run_ns : 2 * MS));
	}
}

static void expect_row(struct profile_fixture *fixture, struct driver *driver,
		       enum gpumon_late_reason reason, const char *text)
{
	const char *const paths[] = { fixture->path };
	struct gpumon_frames frames;
	char *printed = NULL;
	size_t size;
	FILE *out;

	save_with_driver(fixture, driver);
	assert_int_equal(gpumon_frames_read(paths, 1, &all, 0, &frames), 0);
	assert_int_equal(frames.row_count, 1);
	assert_int_equal(frames.rows[0].reason, reason);
	out = open_memstream(&printed, &size);
	gpumon_frames_print(out, &frames, 10);
	fclose(out);
	if (!strstr(printed, text))
		fail_msg("not in it: %s\n%s", text, printed);
	free(printed);
	gpumon_frames_clear(&frames);
}

/* The job waited for its ring, on which another process was. */
static void test_queued(void **state)
{
	struct driver driver;

	make_driver(&driver, *state, "vkWaitForFences", 20 * MS, 2 * MS);
	make_job(&driver, RIVAL_PID, "miner", frame_ns(LATE) + MS, frame_ns(LATE) + MS,
		 frame_ns(LATE) + 22 * MS);
	expect_row(*state, &driver, GPUMON_LATE_GPU,
		   "waited for the GPU: waiting of jobs for " GFX
		   " grew from 100us to 20.0ms while miner (pid 77) was on the GPU\n");
}

/* The job itself took longer. Another process on another ring is not said. */
static void test_job(void **state)
{
	struct driver driver;

	make_driver(&driver, *state, "vkAcquireNextImageKHR", MS / 10, 22 * MS);
	EVENT(&driver, "0000:03:00.0 compute", .event = GPUMON_EVENT_DONE,
	      .flags = GPUMON_EVENT_F_LATENCY, .ring = 4, .pid = RIVAL_PID,
	      .time_ns = frame_ns(LATE) + 23 * MS, .arg = 22 * MS);
	expect_row(*state, &driver, GPUMON_LATE_GPU,
		   "waited for the GPU: jobs on " GFX " grew from 2.00ms to 22.0ms\n");
}

/* Jobs that wait in the hardware for others of the same ring are not on it yet. */
static void test_jobs_in_order(void **state)
{
	struct driver driver;
	const char *const paths[] = { ((struct profile_fixture *)*state)->path };
	struct gpumon_frames frames;
	uint64_t at_ns = frame_ns(LATE) + 2 * MS;

	make_driver(&driver, *state, "vkWaitForFences", MS / 10, 22 * MS);
	make_job(&driver, PROGRAM_PID, "game", at_ns, at_ns + MS, at_ns + 24 * MS);
	save_with_driver(*state, &driver);
	assert_int_equal(gpumon_frames_read(paths, 1, &all, 0, &frames), 0);
	assert_int_equal(frames.rows[0].part[GPUMON_FRAME_JOBS], 24 * MS - MS / 10);
	gpumon_frames_clear(&frames);
}

static void test_display(void **state)
{
	struct driver driver;

	make_driver(&driver, *state, "vkAcquireNextImageKHR", MS / 10, 2 * MS);
	for (uint64_t at_ns = 1000 * MS; at_ns < frame_ns(FRAMES); at_ns += 8 * MS)
		for (unsigned int display = 0; display < 2; display++)
			EVENT(&driver, display ? "DP-1" : "DP-2", .event = GPUMON_EVENT_VBLANK,
			      .ring = display, .time_ns = at_ns);
	expect_row(*state, &driver, GPUMON_LATE_DISPLAY,
		   "grew from 1.00ms to 21.0ms; 5 vblanks went by, usually 2\n");
}

/* More was moved than can be in less time; and less. */
static void test_memory(void **state)
{
	for (unsigned int large = 0; large < 2; large++) {
		struct driver driver;
		void *own;

		profile_setup(&own);
		make_driver(&driver, own, "vkQueueSubmit", MS / 10, 2 * MS);
		EVENT(&driver, "vram to gtt", .event = GPUMON_EVENT_BO_MOVE, .pid = RIVAL_PID,
		      .comm = "miner", .time_ns = frame_ns(LATE) + 4 * MS,
		      .context = large ? 1ull << 30 : 4 << 20);
		expect_row(
			own, &driver, large ? GPUMON_LATE_MEMORY : GPUMON_LATE_CALL,
			large ? "memory was moved: moves by miner (pid 77) grew from 0B to 1.00GiB\n" :
				"; drivers moved 4.00MiB of memory meanwhile\n");
		profile_teardown(&own);
	}
	(void)state;
}

/* --- */

static void test_none_late(void **state)
{
	struct profile_fixture *fixture = *state;
	struct gpumon_frames frames;
	struct made made;

	start(&made);
	for (unsigned int i = 0; i < 10; i++, made.at_ns += FRAME_NS)
		present(fixture->maker, &made, 0);
	read_frames(fixture, &frames);
	assert_int_equal(frames.chains[0].frames, 9);
	assert_int_equal(frames.chains[0].late, 0);
	gpumon_frames_clear(&frames);
}

/* More late frames than are kept, all as long as each other. */
static void test_many_late(void **state)
{
	struct profile_fixture *fixture = *state;
	struct gpumon_frames frames;
	struct made made;

	start(&made);
	for (unsigned int i = 0; i < 4 * GPUMON_FRAMES_LATE_MAX; i++) {
		made.at_ns += i % 3 ? FRAME_NS : 3 * FRAME_NS;
		present(fixture->maker, &made, 0);
	}
	made.at_ns += 4 * FRAME_NS;
	present(fixture->maker, &made, 0);
	read_frames(fixture, &frames);
	assert_true(frames.chains[0].late > GPUMON_FRAMES_LATE_MAX);
	assert_int_equal(frames.row_count, GPUMON_FRAMES_LATE_MAX);
	assert_int_equal(frames.rows[frames.row_count - 1].frame_ns, 4 * FRAME_NS);
	gpumon_frames_clear(&frames);
}

/* A failed present ends no frame; next to one that is lost nothing is known. */
static void test_failed_and_lost(void **state)
{
	struct profile_fixture *fixture = *state;
	struct gpumon_frames frames;
	struct made made;

	start(&made);
	for (unsigned int i = 0; i < 10; i++, made.at_ns += FRAME_NS) {
		made.number += i == 7 ? 2 : 0;
		present(fixture->maker, &made, i == 3 ? GPUMON_PRESENT_FAILED : 0);
	}
	read_frames(fixture, &frames);
	assert_int_equal(frames.chains[0].failed, 1);
	assert_int_equal(frames.chains[0].lost, 2);
	assert_int_equal(frames.chains[0].frames, 9 - 1 - 1);
	assert_int_equal(frames.chains[0].longest_ns, 2 * FRAME_NS);
	gpumon_frames_clear(&frames);
}

/* One that takes the place of another goes on with its frames; that of another thread is another. */
static void test_swapchains(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	struct gpumon_frames frames;
	struct made made;

	make_swapchain(maker, .id = 1);
	make_swapchain(maker, .id = 2, .old = 1);
	start(&made);
	for (unsigned int i = 0; i < 10; i++, made.at_ns += FRAME_NS) {
		if (i == 5) {
			made.swapchain = 2;
			made.number = 0;
		}
		present(maker, &made, 0);
	}
	start(&made);
	made.thread = TID + 1;
	made.swapchain = 3;
	for (unsigned int i = 0; i < 5; i++, made.at_ns += 2 * FRAME_NS)
		present(maker, &made, 0);
	read_frames(fixture, &frames);
	assert_int_equal(frames.chain_count, 2);
	assert_int_equal(frames.chains[0].frames, 9);
	assert_int_equal(frames.chains[0].lost, 0);
	assert_int_equal(frames.chains[1].frames, 4);
	assert_int_equal(frames.chains[1].median_ns, 2 * FRAME_NS);
	gpumon_frames_clear(&frames);
}

/* A part has the frames that begin in it; what is late stays what it was. */
static void test_part(void **state)
{
	struct profile_fixture *fixture = *state;
	const char *const paths[] = { fixture->path };
	uint64_t late_ns = 1000 * MS + LATE * FRAME_NS;
	struct gpumon_profile_options part = { .asked = { .has_from = true, .has_to = true } };
	struct gpumon_frames frames;
	struct made made;

	start(&made);
	make_frames(fixture->maker, &made, "vkMapMemory");
	read_frames(fixture, &frames);
	assert_int_equal(frames.all_count, FRAMES);
	assert_int_equal(frames.all[LATE].start_ns, late_ns);
	assert_int_equal(frames.all[LATE].frame_ns, FRAME_NS + 20 * MS);
	assert_int_equal(frames.all[LATE].number, LATE + 2);
	gpumon_frames_clear(&frames);
	/* From the beginning of the recording, which is the first present. */
	part.asked.from_ns = (LATE - 1) * FRAME_NS;
	part.asked.to_ns = LATE * FRAME_NS + 1;
	assert_int_equal(gpumon_frames_read(paths, 1, &part, 0, &frames), 0);
	assert_int_equal(frames.all_count, 2);
	assert_int_equal(frames.chains[0].first, 0);
	assert_int_equal(frames.chains[0].frames, 2);
	assert_int_equal(frames.chains[0].late, 1);
	assert_int_equal(frames.chains[0].late_ns, FRAME_NS + FRAME_NS / 2);
	assert_int_equal(frames.chains[0].total_ns, 2 * FRAME_NS + 20 * MS);
	assert_int_equal(frames.chains[0].longest_ns, FRAME_NS + 20 * MS);
	assert_int_equal(frames.row_count, 1);
	assert_int_equal(frames.rows[0].usual, MS);
	gpumon_frames_clear(&frames);
	part.asked.from_ns = LATE * FRAME_NS + 1;
	part.asked.to_ns = LATE * FRAME_NS + 2;
	assert_int_equal(gpumon_frames_read(paths, 1, &part, 0, &frames), 0);
	assert_int_equal(frames.all_count, 0);
	assert_int_equal(frames.chains[0].frames, 0);
	assert_int_equal(frames.chains[0].longest_ns, 0);
	assert_int_equal(frames.row_count, 0);
	gpumon_frames_clear(&frames);
}

static void test_sentence(void **state)
{
	struct profile_fixture *fixture = *state;
	struct gpumon_frames frames;
	char *text = NULL;
	struct made made;
	size_t size;
	FILE *out;

	start(&made);
	make_frames(fixture->maker, &made, "vkCreateGraphicsPipelines");
	read_frames(fixture, &frames);
	out = open_memstream(&text, &size);
	gpumon_frames_print(out, &frames, 10);
	fclose(out);
	assert_ptr_equal(strstr(text, "1 of 20 frames were late: 1 made pipelines or shaders "
				      "(vkCreateGraphicsPipelines grew from 1.00ms to 21.0ms).\n"),
			 text);
	free(text);
	gpumon_frames_clear(&frames);
}

/* The command, and others that meet presents in a capture. */
static void test_command(void **state)
{
	struct profile_fixture *fixture = *state;
	struct captured c;
	struct made made;

	start(&made);
	make_frames(fixture->maker, &made, "vkMapMemory");
	capture_maker_save(fixture->maker, fixture->path, "process-4711-1", TID);
	c = capture("", "frames", fixture->path, NULL);
	assert_int_equal(c.status, GPUMON_EXIT_OK);
	assert_ptr_equal(strstr(c.out, "1 of 20 frames were late: 1 took longer in calls"), c.out);
	captured_free(&c);
	c = capture("", "frames", "--late", "100", fixture->path, NULL);
	assert_int_equal(c.status, GPUMON_EXIT_OK);
	assert_ptr_equal(strstr(c.out, "0 of 20 frames were late.\n"), c.out);
	captured_free(&c);
	/* The late frame begins 160 ms after the beginning. */
	c = capture("", "frames", "--to", "160ms", fixture->path, NULL);
	assert_int_equal(c.status, GPUMON_EXIT_OK);
	assert_ptr_equal(strstr(c.out, "0 of 10 frames were late.\nFrames that begin in a part: "
				       "only 0ns to 160ms of "),
			 c.out);
	captured_free(&c);
	c = capture("", "frames", "--from", "160ms", "--late", "17", fixture->path, NULL);
	assert_int_equal(c.status, GPUMON_EXIT_OK);
	assert_ptr_equal(strstr(c.out, "1 of 10 frames were late: "), c.out);
	captured_free(&c);
	c = capture("", "frames", "--from", "99s", fixture->path, NULL);
	assert_int_equal(c.status, GPUMON_EXIT_FAILED);
	assert_non_null(strstr(c.err, "beyond the end of the recording"));
	captured_free(&c);
	c = capture("", "frames", "--late", "0", fixture->path, NULL);
	assert_int_equal(c.status, GPUMON_EXIT_USAGE);
	captured_free(&c);
	c = capture("", "frames", "--json", fixture->path, NULL);
	assert_int_equal(c.status, GPUMON_EXIT_OK);
	assert_non_null(strstr(c.out, "\"frames\":20,\"late\":1,"));
	assert_non_null(strstr(c.out, "\"reason\":\"call\",\"blocked\":null,"
				      "\"name\":\"vkMapMemory\",\"usual_ns\":1000000,"
				      "\"took_ns\":21000000,\"other_process\":null,"
				      "\"gpu_ns\":0,\"jobs_queued_ns\":0,"));
	captured_free(&c);
	c = capture("", "correlate", fixture->path, NULL);
	assert_int_equal(c.status, GPUMON_EXIT_OK);
	captured_free(&c);
}

/* Images come to the screen 17 ms after their present, four of them 34 ms later; the first record is of the last one. */
static void make_shown(struct capture_maker *maker, uint32_t swapchain, uint64_t begin_ns,
		       uint64_t later_ns, uint16_t flags)
{
	for (unsigned int i = FRAMES; i <= FRAMES; i--)
		MAKE_RECORD(maker, GPUMON_RECORD_SHOWN, shown, .head.flags = flags,
			    .swapchain = swapchain, .number = flags ? 0 : i + 1,
			    .present = flags ? 1000 + 2 * i : 0,
			    .shown_ns = begin_ns + i * FRAME_NS + 17 * MS +
					(i >= LATE && i < LATE + 4 ? later_ns : 0));
}

/* Presents in time whose image comes to the screen late: as the driver says, as a wait saw, and both. */
static void test_shown(void **state)
{
	struct profile_fixture *fixture = *state;
	struct capture_maker *maker = fixture->maker;
	struct gpumon_frames frames;
	struct made made;
	uint64_t begin_ns;
	char why[256];

	start(&made);
	begin_ns = made.at_ns;
	for (made.swapchain = 1; made.swapchain <= 3; made.swapchain++) {
		if (made.swapchain != 2)
			make_shown(maker, made.swapchain, begin_ns, 34 * MS, 0);
		if (made.swapchain != 1)
			make_shown(maker, made.swapchain, begin_ns, 68 * MS, GPUMON_SHOWN_LATEST);
		made.at_ns = begin_ns;
		made.number = 0;
		for (unsigned int i = 0; i <= FRAMES; i++, made.at_ns += FRAME_NS)
			make_present(maker, .tid = made.thread, .swapchain = made.swapchain,
				     .number = ++made.number, .present = 1000 + 2 * i,
				     .start_ns = made.at_ns, .end_ns = made.at_ns + MS / 2,
				     .function = make_string(maker, "vkQueuePresentKHR"));
	}
	read_frames(fixture, &frames);
	assert_int_equal(frames.chain_count, 3);
	assert_int_equal(frames.row_count, 3);
	for (unsigned int i = 0; i < 3; i++) {
		const struct gpumon_late_frame *row = &frames.rows[i];
		bool seen = row->chain == 1;

		assert_int_equal(frames.chains[i].late, 0);
		assert_int_equal(frames.chains[i].shown, FRAMES);
		assert_int_equal(frames.chains[i].shown_late, 1);
		assert_int_equal(row->reason, GPUMON_LATE_SHOWN);
		assert_int_equal(row->seen_by_wait, seen);
		assert_int_equal(row->number, LATE + 1);
		assert_int_equal(row->usual, 17 * MS);
		assert_int_equal(row->took, (seen ? 85 : 51) * MS);
		assert_string_equal(
			gpumon_late_evidence(why, sizeof(why), row),
			seen ? "the time from its present call to the screen, as a call that waits "
			       "for it saw, grew from 17.0ms to 85.0ms" :
			       "the time from its present call to the screen grew from 17.0ms to "
			       "51.0ms");
	}
	gpumon_frames_clear(&frames);
}

static void test_no_presents(void **state)
{
	struct profile_fixture *fixture = *state;
	struct captured c;

	capture_maker_save(fixture->maker, fixture->path, "process-4711-1", TID);
	c = capture("", "frames", fixture->path, NULL);
	assert_int_equal(c.status, GPUMON_EXIT_FAILED);
	assert_string_equal(c.out, "");
	assert_non_null(strstr(c.err, "no presents in it"));
	captured_free(&c);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, profile_setup, profile_teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		TEST(test_opengl),
		TEST(test_unknown),
		TEST(test_looks),
		TEST(test_cpu),
		TEST(test_gpu),
		TEST(test_others),
		TEST(test_queued),
		TEST(test_job),
		TEST(test_jobs_in_order),
		TEST(test_display),
		cmocka_unit_test(test_memory),
		TEST(test_none_late),
		TEST(test_many_late),
		TEST(test_failed_and_lost),
		TEST(test_swapchains),
		TEST(test_part),
		TEST(test_sentence),
		TEST(test_command),
		TEST(test_shown),
		TEST(test_no_presents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
