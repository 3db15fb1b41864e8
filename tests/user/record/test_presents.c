// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Frame times of presents: times in, rows out. tests/suite/uprobe-frames.py tests the rest. */
#include "common.h"

#include <string.h>

#include "record/presents.h"

#define MS	  1000000ull
#define SECOND	  1000000000ull
#define BEGIN	  (1000 * SECOND)
#define EGL	  "eglSwapBuffers"
#define VULKAN	  "vkQueuePresentKHR"
#define PROCESS_A 0
#define PROCESS_B 1

struct player {
	struct gpumon_presents *presents;
	const struct gpumon_presents_row *rows;
	uint32_t count;
	uint64_t left_out;
};

static void present(struct player *player, uint32_t process, uint32_t tid, uint64_t number,
		    uint64_t time_ns, const char *function)
{
	gpumon_presents_add(player->presents, &(struct gpumon_present){
						      .process = process,
						      .tid = tid,
						      .number = number,
						      .time_ns = time_ns,
						      .function = function,
					      });
}

static const struct gpumon_presents_row *close_at(struct player *player, uint64_t now_ns)
{
	player->count =
		gpumon_presents_close(player->presents, now_ns, &player->rows, &player->left_out);
	return player->rows;
}

static void begin(struct player *player)
{
	*player = (struct player){ .presents = gpumon_presents_new() };
}

static void end(struct player *player)
{
	gpumon_presents_free(player->presents);
}

static void nothing_is_no_row(void **state)
{
	struct player player;

	(void)state;
	begin(&player);
	close_at(&player, BEGIN);
	assert_int_equal(player.count, 0);
	assert_int_equal(player.left_out, 0);
	end(&player);
}

/* 95 frames of 16 ms and 5 of 50 ms. */
static void late_frames_are_counted(void **state)
{
	const struct gpumon_presents_row *row;
	uint64_t at = BEGIN, number = 1;
	struct player player;

	(void)state;
	begin(&player);
	present(&player, PROCESS_A, 7, number++, at, EGL);
	for (int i = 0; i < 100; i++) {
		at += i % 20 == 10 ? 50 * MS : 16 * MS;
		present(&player, PROCESS_A, 7, number++, at, EGL);
	}
	row = close_at(&player, at + 5 * MS);
	assert_int_equal(player.count, 1);
	assert_int_equal(row->process, PROCESS_A);
	assert_int_equal(row->tid, 7);
	assert_string_equal(row->function, EGL);
	assert_int_equal(row->frames, 100);
	assert_int_equal(row->late, 5);
	assert_int_equal(row->late_ns, 24 * MS);
	assert_int_equal(row->median_ns, 16 * MS);
	assert_int_equal(row->p95_ns, 50 * MS);
	assert_int_equal(row->p99_ns, 50 * MS);
	assert_int_equal(row->longest_ns, 50 * MS);
	assert_int_equal(row->total_ns, 95 * 16 * MS + 5 * 50 * MS);
	assert_int_equal(row->unfinished_ns, 5 * MS);
	assert_int_equal(row->lost, 0);
	assert_int_equal(row->left_out, 0);
	end(&player);
}

/* Short frames: half of the median is less than 1 ms. */
static void late_is_a_millisecond_at_least(void **state)
{
	const uint64_t lengths[] = { MS, MS, MS, MS, 2 * MS, 2 * MS + 1 };
	const struct gpumon_presents_row *row;
	uint64_t at = BEGIN, number = 1;
	struct player player;

	(void)state;
	begin(&player);
	present(&player, PROCESS_A, 7, number++, at, EGL);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		at += lengths[i];
		present(&player, PROCESS_A, 7, number++, at, EGL);
	}
	row = close_at(&player, at);
	assert_int_equal(row->late_ns, 2 * MS);
	assert_int_equal(row->late, 1);
	end(&player);
}

/* A frame counts where it ends, none is lost or counted twice, and one that goes on is said. */
static void intervals_share_no_frame(void **state)
{
	const struct gpumon_presents_row *row;
	struct player player;

	(void)state;
	begin(&player);
	present(&player, PROCESS_A, 7, 1, BEGIN, EGL);
	row = close_at(&player, BEGIN + 10 * MS);
	assert_int_equal(player.count, 1);
	assert_int_equal(row->frames, 0);
	assert_int_equal(row->unfinished_ns, 10 * MS);
	present(&player, PROCESS_A, 7, 2, BEGIN + 16 * MS, EGL);
	row = close_at(&player, BEGIN + 20 * MS);
	assert_int_equal(row->frames, 1);
	assert_int_equal(row->longest_ns, 16 * MS);
	assert_int_equal(row->unfinished_ns, 4 * MS);
	/* Frozen. */
	row = close_at(&player, BEGIN + 5 * SECOND);
	assert_int_equal(player.count, 1);
	assert_int_equal(row->frames, 0);
	assert_int_equal(row->late, 0);
	assert_int_equal(row->median_ns, 0);
	assert_int_equal(row->unfinished_ns, 5 * SECOND - 16 * MS);
	/* Forgotten, after it was shown for a last time. */
	close_at(&player, BEGIN + 2 * GPUMON_PRESENTS_IDLE_NS);
	assert_int_equal(player.count, 1);
	close_at(&player, BEGIN + 3 * GPUMON_PRESENTS_IDLE_NS);
	assert_int_equal(player.count, 0);
	end(&player);
}

static void no_frame_goes_across_a_loss(void **state)
{
	const struct gpumon_presents_row *row;
	struct player player;

	(void)state;
	begin(&player);
	/* It was attached to in the midst. */
	present(&player, PROCESS_A, 7, 41, BEGIN, EGL);
	present(&player, PROCESS_A, 7, 42, BEGIN + 16 * MS, EGL);
	present(&player, PROCESS_A, 7, 45, BEGIN + 64 * MS, EGL);
	present(&player, PROCESS_A, 7, 46, BEGIN + 80 * MS, EGL);
	row = close_at(&player, BEGIN + 80 * MS);
	assert_int_equal(row->frames, 2);
	assert_int_equal(row->longest_ns, 16 * MS);
	assert_int_equal(row->lost, 2);
	/* A thread with the id of one that has ended. */
	present(&player, PROCESS_A, 7, 1, BEGIN + SECOND, EGL);
	present(&player, PROCESS_A, 7, 2, BEGIN + SECOND + 16 * MS, EGL);
	row = close_at(&player, BEGIN + SECOND + 16 * MS);
	assert_int_equal(row->frames, 1);
	assert_int_equal(row->longest_ns, 16 * MS);
	assert_int_equal(row->lost, 0);
	end(&player);
}

/* The same thread id in two processes, two threads, two functions: the numbers are those of the thread. */
static void each_thread_and_function_has_its_row(void **state)
{
	const struct gpumon_presents_row *row;
	struct player player;

	(void)state;
	begin(&player);
	for (uint64_t i = 0; i < 4; i++) {
		present(&player, PROCESS_A, 7, 2 * i + 1, BEGIN + i * 16 * MS, EGL);
		present(&player, PROCESS_A, 7, 2 * i + 2, BEGIN + i * 17 * MS, VULKAN);
		if (i < 3)
			present(&player, PROCESS_A, 8, i + 1, BEGIN + i * 18 * MS, EGL);
		if (i < 2)
			present(&player, PROCESS_B, 7, i + 1, BEGIN + i * 19 * MS, EGL);
	}
	row = close_at(&player, BEGIN + 100 * MS);
	assert_int_equal(player.count, 4);
	assert_int_equal(row[0].frames, 3);
	assert_int_equal(row[1].frames, 3);
	assert_int_equal(row[0].median_ns + row[1].median_ns, 33 * MS);
	assert_int_equal(row[2].frames, 2);
	assert_int_equal(row[2].tid, 8);
	assert_int_equal(row[3].frames, 1);
	assert_int_equal(row[3].process, PROCESS_B);
	for (unsigned int i = 0; i < player.count; i++)
		assert_int_equal(row[i].lost, 0);
	/* The first one with a late frame is the first row. */
	present(&player, PROCESS_B, 7, 3, BEGIN + 38 * MS, EGL);
	present(&player, PROCESS_B, 7, 4, BEGIN + 57 * MS, EGL);
	present(&player, PROCESS_B, 7, 5, BEGIN + 157 * MS, EGL);
	row = close_at(&player, BEGIN + 200 * MS);
	assert_int_equal(row[0].process, PROCESS_B);
	assert_int_equal(row[0].late, 1);
	end(&player);
}

static void a_process_that_ends_leaves_its_last_row(void **state)
{
	struct player player;

	(void)state;
	begin(&player);
	present(&player, PROCESS_A, 7, 1, BEGIN, EGL);
	present(&player, PROCESS_A, 7, 2, BEGIN + 16 * MS, EGL);
	gpumon_presents_end(player.presents, PROCESS_A);
	close_at(&player, BEGIN + SECOND);
	assert_int_equal(player.count, 1);
	assert_int_equal(player.rows->frames, 1);
	assert_int_equal(player.rows->unfinished_ns, 0);
	close_at(&player, BEGIN + 2 * SECOND);
	assert_int_equal(player.count, 0);
	/* The same number again, after exec(). */
	present(&player, PROCESS_A, 7, 1, BEGIN + 3 * SECOND, EGL);
	present(&player, PROCESS_A, 7, 2, BEGIN + 3 * SECOND + 8 * MS, EGL);
	close_at(&player, BEGIN + 4 * SECOND);
	assert_int_equal(player.count, 1);
	assert_int_equal(player.rows->longest_ns, 8 * MS);
	end(&player);
}

static void what_has_no_room_is_counted(void **state)
{
	struct player player;

	(void)state;
	begin(&player);
	for (uint64_t i = 0; i <= GPUMON_PRESENTS_FRAMES_MAX + 5; i++)
		present(&player, PROCESS_A, 7, i + 1, BEGIN + i * MS, EGL);
	close_at(&player, BEGIN + 100 * SECOND);
	assert_int_equal(player.rows->frames, GPUMON_PRESENTS_FRAMES_MAX);
	assert_int_equal(player.rows->left_out, 5);
	assert_int_equal(player.rows->total_ns, GPUMON_PRESENTS_FRAMES_MAX * MS);
	/* There is room again in the next interval. */
	present(&player, PROCESS_A, 7, GPUMON_PRESENTS_FRAMES_MAX + 7,
		BEGIN + (GPUMON_PRESENTS_FRAMES_MAX + 6) * MS, EGL);
	close_at(&player, BEGIN + 100 * SECOND);
	assert_int_equal(player.rows->frames, 1);
	assert_int_equal(player.rows->left_out, 0);
	for (uint32_t tid = 100; tid < 100 + GPUMON_PRESENTS_ROWS_MAX; tid++)
		present(&player, PROCESS_A, tid, 1, BEGIN + 100 * SECOND, EGL);
	close_at(&player, BEGIN + 100 * SECOND);
	assert_int_equal(player.count, GPUMON_PRESENTS_ROWS_MAX);
	assert_int_equal(player.left_out, 1);
	close_at(&player, BEGIN + 100 * SECOND);
	assert_int_equal(player.left_out, 0);
	end(&player);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_no_row),
		cmocka_unit_test(late_frames_are_counted),
		cmocka_unit_test(late_is_a_millisecond_at_least),
		cmocka_unit_test(intervals_share_no_frame),
		cmocka_unit_test(no_frame_goes_across_a_loss),
		cmocka_unit_test(each_thread_and_function_has_its_row),
		cmocka_unit_test(a_process_that_ends_leaves_its_last_row),
		cmocka_unit_test(what_has_no_room_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
