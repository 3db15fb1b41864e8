// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The channel with a target that is killed, interrupted, forked or hostile. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture_lane.h"

/* Killed at any moment: everything written is read, and nothing is torn. */
static void a_target_that_is_killed(void **state)
{
	uint64_t total = 0;

	(void)state;
	for (unsigned int round = 0; round < 24; round++) {
		const struct gpumon_channel_account *account;
		struct lane lane;
		uint64_t random = round;
		pid_t child;

		lane_open(&lane, 64);
		account = gpumon_channel_account(lane.reader);
		child = fork();
		if (child == 0) {
			struct lane_thread threads[3];
			struct gpumon_channel_map map;

			/* As in a target: mapped in its own process. */
			if (gpumon_channel_map(&map, gpumon_channel_descriptor(lane.reader)))
				_exit(1);
			for (uint32_t i = 0; i < 3; i++) {
				threads[i] = (struct lane_thread){ .map = &map,
								   .tid = i,
								   .records = UINT64_MAX };
				pthread_create(&threads[i].thread, NULL, lane_thread, &threads[i]);
			}
			pause();
		}
		for (unsigned int i = 0; i < 3; i++) {
			usleep((useconds_t)(test_random(&random) % 4000));
			gpumon_channel_drain(lane.reader, lane.file);
		}
		/* Some are killed before they have written anything: on a busy machine all would be. */
		for (unsigned int i = 0; round % 4 && account->records < 100 && i < 600000; i++) {
			usleep(100);
			gpumon_channel_drain(lane.reader, lane.file);
		}
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		total += lane_read(&lane, false).records;
		assert_int_equal(account->broken, 0);
		lane_close(&lane);
	}
	assert_true(total > 1000);
}

static struct gpumon_channel_writer interrupted_writer;
static volatile sig_atomic_t handler_wrote, handler_refused;

/* A signal handler that launches, whatever the thread was doing. */
static void handler(int signal)
{
	unsigned char record[LANE_RECORD_MAX];
	static uint64_t number = 1000000000;

	(void)signal;
	number++;
	lane_record(record, 2, number);
	if (gpumon_channel_write(&interrupted_writer, record))
		handler_wrote++;
	else
		handler_refused++;
}

static void signals_amid_a_record(void **state)
{
	struct itimerval timer = { .it_interval.tv_usec = 50, .it_value.tv_usec = 50 };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct sigaction old;
	unsigned char record[LANE_RECORD_MAX];
	struct lane_result result;
	struct lane lane;
	uint64_t wrote = 0, refused = 0;
	uint32_t size;

	(void)state;
	handler_wrote = 0;
	handler_refused = 0;
	lane_open(&lane, 512);
	gpumon_channel_writer_begin(&interrupted_writer, &lane.map, 2);
	sigaction(SIGPROF, &action, &old);
	setitimer(ITIMER_PROF, &timer, NULL);
	for (uint64_t i = 1; handler_wrote + handler_refused < 200 && i < 50000000; i++) {
		void *room;

		/* Its number has to stay below the next one's. */
		size = lane_record(record, 2, 1);
		room = gpumon_channel_reserve(&interrupted_writer, size);
		if (room) {
			memset(room, 0xee, size);
			/* Commit nothing: the room is released. */
			gpumon_channel_commit(&interrupted_writer, 0);
			wrote++;
		} else {
			refused++;
		}
	}
	memset(&timer, 0, sizeof(timer));
	setitimer(ITIMER_PROF, &timer, NULL);
	/* An interruption that is certain. */
	assert_non_null(gpumon_channel_reserve(&interrupted_writer, 16));
	size = (uint32_t)handler_refused;
	raise(SIGPROF);
	assert_int_equal(handler_refused, size + 1);
	gpumon_channel_commit(&interrupted_writer, 0);
	sigaction(SIGPROF, &old, NULL);
	result = lane_read(&lane, false);
	assert_int_equal(refused, 0);
	assert_true(wrote > 0);
	assert_int_equal(result.read[2], handler_wrote);
	assert_int_equal(result.lost[GPUMON_LOSS_INTERRUPTED], handler_refused);
	lane_close(&lane);
}

static bool writes_into_its_own(void)
{
	struct gpumon_channel_reader *reader;
	struct gpumon_channel_writer writer;
	struct gpumon_channel_map map;
	unsigned char record[LANE_RECORD_MAX];
	bool wrote;

	if (gpumon_channel_create(2, &reader) ||
	    gpumon_channel_map(&map, gpumon_channel_descriptor(reader)))
		return false;
	gpumon_channel_writer_begin(&writer, &map, 1);
	lane_record(record, 1, 1);
	wrote = gpumon_channel_write(&writer, record);
	gpumon_channel_unmap(&map);
	/* After that, nothing is written and nothing breaks. */
	wrote = wrote && !gpumon_channel_write(&writer, record);
	gpumon_channel_writer_end(&writer);
	gpumon_channel_free(reader);
	return wrote;
}

/* Without exec() a child shares the parent's blocks and would overwrite its records. */
static void a_forked_child_is_inert(void **state)
{
	struct gpumon_channel_writer writer;
	unsigned char record[LANE_RECORD_MAX];
	struct lane_result result;
	struct lane lane;
	pid_t child;
	int status;

	(void)state;
	lane_open(&lane, 8);
	gpumon_channel_writer_begin(&writer, &lane.map, 1);
	lane_record(record, 1, 1);
	assert_true(gpumon_channel_write(&writer, record));
	child = fork();
	if (child == 0) {
		struct gpumon_channel_writer other;
		bool wrote;

		lane_record(record, 1, 77);
		wrote = gpumon_channel_write(&writer, record);
		gpumon_channel_writer_end(&writer);
		gpumon_channel_writer_begin(&other, &lane.map, 1);
		wrote = gpumon_channel_write(&other, record) || wrote;
		gpumon_channel_lose(&lane.map, GPUMON_LOSS_WITHHELD, 5);
		/*
		 * With its own channel it is a normal target. The parent's one stays closed to it.
		 */
		if (!writes_into_its_own())
			_exit(2);
		wrote = gpumon_channel_write(&writer, record) || wrote;
		_exit(wrote);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	lane_record(record, 1, 2);
	assert_true(gpumon_channel_write(&writer, record));
	result = lane_read(&lane, true);
	assert_int_equal(result.read[1], 2);
	for (unsigned int i = 0; i < GPUMON_LOSS_CAUSES; i++)
		assert_int_equal(result.lost[i], 0);
	lane_close(&lane);
}

static void what_is_no_channel(void **state)
{
	struct gpumon_channel_reader *reader;
	struct gpumon_channel_map map;
	struct gpumon_channel *channel;
	int fd = memfd_create("x", MFD_ALLOW_SEALING);

	(void)state;
	assert_int_equal(gpumon_channel_map(&map, -1), -EBADF);
	assert_int_equal(ftruncate(fd, 4 * GPUMON_BLOCK_SIZE), 0);
	assert_int_equal(gpumon_channel_map(&map, fd), -EPERM);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_int_equal(gpumon_channel_map(&map, fd), -EPROTO);
	close(fd);

	/* Huge pages may be used up when they are touched. */
	fd = memfd_create("x", MFD_ALLOW_SEALING | MFD_HUGETLB);
	if (fd >= 0) {
		assert_int_equal(ftruncate(fd, 64 << 20), 0);
		assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
		assert_int_equal(gpumon_channel_map(&map, fd), -EPERM);
		close(fd);
	} else {
		print_message("not tried: no memfd of huge pages here\n");
	}

	assert_int_equal(gpumon_channel_create(0, &reader), -1);
	assert_int_equal(gpumon_channel_create(GPUMON_CHANNEL_BLOCKS_MAX + 1, &reader), -1);
	assert_non_null(strstr(gpumon_capture_error()->message, "blocks"));
	assert_int_equal(gpumon_channel_create(2, &reader), 0);
	fd = gpumon_channel_descriptor(reader);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(gpumon_channel_map(&map, fd), 0);
	channel = map.channel;
	assert_int_equal(channel->command, GPUMON_CHANNEL_RUN);
	gpumon_channel_set_command(reader, GPUMON_CHANNEL_STOP);
	assert_int_equal(channel->command, GPUMON_CHANNEL_STOP);
	assert_false(gpumon_channel_stopped(reader));
	channel->stopped = 1;
	assert_true(gpumon_channel_stopped(reader));
	channel->blocks = 3;
	{
		struct gpumon_channel_map other;

		assert_int_equal(gpumon_channel_map(&other, fd), -EPROTO);
		channel->blocks = 0;
		assert_int_equal(gpumon_channel_map(&other, fd), -EPROTO);
		channel->blocks = 2;
		channel->version++;
		assert_int_equal(gpumon_channel_map(&other, fd), -EPROTO);
	}
	gpumon_channel_unmap(&map);
	gpumon_channel_free(reader);
}

/* The removed part was already read. Computing the rest from beyond the end would give 4 GB. */
static void a_target_that_takes_back(void **state)
{
	struct gpumon_channel_writer writer;
	unsigned char record[LANE_RECORD_MAX];
	struct lane_result result;
	struct gpumon_block *block;
	struct lane lane;
	uint32_t first;

	(void)state;
	lane_open(&lane, 1);
	block = (void *)((char *)lane.map.channel + GPUMON_BLOCK_SIZE);
	gpumon_channel_writer_begin(&writer, &lane.map, 1);
	lane_record(record, 1, 1);
	assert_true(gpumon_channel_write(&writer, record));
	first = block->used;
	lane_record(record, 1, 2);
	assert_true(gpumon_channel_write(&writer, record));
	assert_true(gpumon_channel_drain(lane.reader, lane.file) > first);
	block->used = first;
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(gpumon_channel_drain(lane.reader, lane.file), 0);
	assert_int_equal(gpumon_channel_account(lane.reader)->broken, 1);
	/* Once it is full it becomes free, and usable for the next owner. */
	block->state = GPUMON_BLOCK_FULL;
	assert_int_equal(gpumon_channel_drain(lane.reader, lane.file), 0);
	assert_int_equal(block->state, GPUMON_BLOCK_FREE);
	gpumon_channel_writer_begin(&writer, &lane.map, 1);
	lane_record(record, 1, 3);
	assert_true(gpumon_channel_write(&writer, record));
	result = lane_read(&lane, false);
	assert_int_equal(result.read[1], 3);
	/* Told once, however often it was looked at. */
	assert_int_equal(result.lost[GPUMON_LOSS_BROKEN], 1);
	assert_int_equal(gpumon_channel_account(lane.reader)->broken, 1);
	lane_close(&lane);
}

/* A larger number than the size of a block would refer to memory beyond it. */
static void more_than_a_block_holds(void **state)
{
	static const uint32_t used[] = { GPUMON_CHANNEL_RECORD_MAX + 8, GPUMON_BLOCK_SIZE, 12,
					 UINT32_MAX - 7 };
	struct gpumon_channel_writer writer;
	struct gpumon_block *block;
	struct lane lane;

	(void)state;
	for (size_t i = 0; i < sizeof(used) / sizeof(used[0]); i++) {
		lane_open(&lane, 1);
		block = (void *)((char *)lane.map.channel + GPUMON_BLOCK_SIZE);
		gpumon_channel_writer_begin(&writer, &lane.map, 1);
		assert_non_null(gpumon_channel_reserve(&writer, 16));
		block->used = used[i];
		assert_int_equal(gpumon_channel_drain(lane.reader, lane.file), 0);
		assert_int_equal(lane_read(&lane, false).records, 0);
		assert_int_equal(gpumon_channel_account(lane.reader)->broken, 1);
		lane_close(&lane);
	}
}

/* A record without a size ends what can be read of its block. */
static void a_record_that_cannot_be(void **state)
{
	struct gpumon_channel_writer writer;
	unsigned char record[LANE_RECORD_MAX];
	struct gpumon_record *second;
	struct gpumon_block *block;
	struct lane_result result;
	struct lane lane;

	(void)state;
	lane_open(&lane, 1);
	block = (void *)((char *)lane.map.channel + GPUMON_BLOCK_SIZE);
	gpumon_channel_writer_begin(&writer, &lane.map, 1);
	lane_record(record, 1, 1);
	assert_true(gpumon_channel_write(&writer, record));
	second = (void *)((char *)(block + 1) + block->used);
	lane_record(record, 1, 2);
	assert_true(gpumon_channel_write(&writer, record));
	second->size = 0;
	result = lane_read(&lane, false);
	assert_int_equal(result.read[1], 1);
	assert_int_equal(result.last[1], 1);
	assert_int_equal(gpumon_channel_account(lane.reader)->broken, 1);
	lane_close(&lane);
}

static volatile bool scribbling;
static volatile uint64_t scribbled;

/* A target that is broken or hostile. */
__attribute__((no_sanitize("thread"))) static void *scribble(void *data)
{
	struct gpumon_channel_map *map = data;
	uint64_t random = 99;
	uint64_t *words = (uint64_t *)map->channel;

	while (scribbling) {
		uint64_t value = test_random(&random);
		size_t block = 1 + test_random(&random) % map->blocks;
		size_t at = block * GPUMON_BLOCK_SIZE / 8;
		volatile uint32_t *head = (volatile uint32_t *)(words + at);

		scribbled++;
		switch (value % 6) {
		case 0:
			head[0] = (uint32_t)(value >> 32) % 4;
			break;
		case 1:
			head[1] = (uint32_t)(value >> 32) % (GPUMON_BLOCK_SIZE + 16);
			break;
		case 2:
			words[at + 2] = value;
			break;
		case 3:
			((volatile uint64_t *)
				 words)[value / 6 % (sizeof(struct gpumon_channel) / 8)] = value;
			break;
		case 4: {
			/* Data that looks like a record. */
			size_t place = at + 8 + value / 6 % 8000;

			((volatile uint64_t *)words)[place] = (value / 48000 % 90) |
							      (value >> 40 & 0x1ff8) << 32;
			break;
		}
		default:
			((volatile uint64_t *)words)[at + 8 + value / 6 % 8000] = value;
		}
	}
	return NULL;
}

static void a_hostile_target(void **state)
{
	struct gpumon_capture_cursor cursor;
	struct gpumon_capture *capture;
	struct lane lane;
	pthread_t thread;
	uint64_t n = 0;

	(void)state;
	lane_open(&lane, 16);
	scribbling = true;
	scribbled = 0;
	pthread_create(&thread, NULL, scribble, &lane.map);
	for (uint64_t i = 1; i <= 2000; i++) {
		gpumon_channel_drain(lane.reader, lane.file);
		/* Make sure that something changes meanwhile, on a busy machine too. */
		while (scribbled < i / 50 * 5000)
			sched_yield();
	}
	gpumon_channel_finish(lane.reader, lane.file);
	scribbling = false;
	pthread_join(thread, NULL);
	assert_int_equal(gpumon_capture_close(lane.writer), 0);
	/* The resulting capture is readable. */
	assert_int_equal(gpumon_capture_open(lane.directory, &capture), 0);
	while (gpumon_capture_next(capture, &cursor))
		n++;
	assert_true(n > 0);
	assert_true(gpumon_channel_account(lane.reader)->broken > 0);
	assert_int_equal(gpumon_capture_damage(capture)->broken_chunks, 0);
	assert_int_equal(gpumon_capture_damage(capture)->broken_records, 0);
	assert_int_equal(gpumon_capture_damage(capture)->missing_chunks, 0);
	gpumon_capture_free(capture);
	lane_close(&lane);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_target_that_is_killed),
		cmocka_unit_test(signals_amid_a_record),
		cmocka_unit_test(a_forked_child_is_inert),
		cmocka_unit_test(what_is_no_channel),
		cmocka_unit_test(a_target_that_takes_back),
		cmocka_unit_test(more_than_a_block_holds),
		cmocka_unit_test(a_record_that_cannot_be),
		cmocka_unit_test(a_hostile_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
