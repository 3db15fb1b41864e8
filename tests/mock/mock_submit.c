// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * mock_submit: submits jobs to the mock GPU, from several processes and threads. It is linked
 * statically, so that it runs in any root file system.
 */
#include <argp.h>
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mock_gpu.h"

#define MAX_TARGETS 1024
#define NO_HOLD	    (-1L)

enum {
	KEY_FAIL = 256,
	KEY_FAIL_EVERY,
	KEY_INLINE,
	KEY_TIMER,
	KEY_SYNC,
	KEY_CHAIN,
	KEY_HOLD,
	KEY_LINGER,
	KEY_COMM,
	KEY_TIME,
};

static struct {
	unsigned int devices[MAX_TARGETS];
	unsigned int device_count;
	unsigned int rings[MAX_TARGETS];
	unsigned int ring_count;
	bool all_devices;
	bool all_rings;
	uint64_t jobs;
	uint64_t batch;
	uint64_t processes;
	uint64_t threads;
	uint64_t service_ns;
	unsigned int fail;
	uint64_t fail_every;
	unsigned int flags;
	bool sync;
	bool wait;
	bool chain;
	bool linger;
	bool time;
	long hold_ms;
	const char *comm;
} options = {
	.devices = { 0 },
	.device_count = 1,
	.rings = { 0 },
	.ring_count = 1,
	.jobs = 1,
	.batch = 1,
	.processes = 1,
	.threads = 1,
	.fail_every = 1,
	.hold_ms = NO_HOLD,
};

/* The state of one thread. */
struct worker {
	int fd;
	uint64_t submitted;
	int error;
};

static const struct argp_option arguments[] = {
	{ "device", 'd', "N[,N]|all", 0, "Devices (0)", 0 },
	{ "ring", 'r', "N[,N]|all", 0, "Rings of each device; jobs go to each ring in turn (0)",
	  0 },
	{ "jobs", 'n', "N", 0, "Jobs of each thread (1)", 0 },
	{ "batch", 'b', "N", 0, "Jobs of one system call (1)", 0 },
	{ "processes", 'p', "N", 0, "Processes, each with its own file (1)", 0 },
	{ "threads", 't', "N", 0, "Threads of each process, on the same file (1)", 0 },
	{ "service", 's', "NS", 0, "Time on the hardware; 0 draws it (0)", 0 },
	{ "inline", KEY_INLINE, NULL, 0, "Complete inside run_job()", 1 },
	{ "timer", KEY_TIMER, NULL, 0, "Complete by the timer", 1 },
	{ "fail", KEY_FAIL, "none|run|fence|hang", 0, "How the jobs end", 1 },
	{ "fail-every", KEY_FAIL_EVERY, "N", 0, "Only each Nth job of a thread fails (1)", 1 },
	{ "depend", 'D', "[DEVICE:]RING", 0,
	  "A job is pushed there first, and each job depends on it", 1 },
	{ "chain", KEY_CHAIN, NULL, 0, "Each job depends on the one before, on the ring before",
	  1 },
	{ "wait", 'w', NULL, 0, "At the end wait until all jobs have ended", 2 },
	{ "sync", KEY_SYNC, NULL, 0, "Wait after every system call", 2 },
	{ "hold", KEY_HOLD, "MS", 0,
	  "Hold the rings while submitting and MS after; 0: until the end of standard input", 2 },
	{ "linger", KEY_LINGER, NULL, 0, "Keep the file open after submitting, until killed", 2 },
	{ "comm", KEY_COMM, "NAME", 0, "Name of the processes", 2 },
	{ "time", KEY_TIME, NULL, 0, "Print how long the submission and waiting took", 2 },
	{ 0 }
};

static struct {
	unsigned int device, ring;
	bool set;
} depend;

static uint64_t parse_number(const char *text, uint64_t low, uint64_t high,
			     struct argp_state *state)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || value < low || value > high)
		argp_error(state, "%s is not a number from %llu to %llu", text,
			   (unsigned long long)low, (unsigned long long)high);
	return value;
}

static bool parse_list(char *text, unsigned int *values, unsigned int *count,
		       struct argp_state *state)
{
	char *part, *save = NULL;

	if (!strcmp(text, "all"))
		return true;
	*count = 0;
	for (part = strtok_r(text, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
		if (*count == MAX_TARGETS)
			argp_error(state, "too many in one list");
		values[(*count)++] = parse_number(part, 0, UINT32_MAX, state);
	}
	if (!*count)
		argp_error(state, "an empty list");
	return false;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const char *const fails[] = { "none", "run", "fence", "hang" };
	unsigned int i;
	char *colon;

	switch (key) {
	case 'd':
		options.all_devices =
			parse_list(arg, options.devices, &options.device_count, state);
		return 0;
	case 'r':
		options.all_rings = parse_list(arg, options.rings, &options.ring_count, state);
		return 0;
	case 'n':
		options.jobs = parse_number(arg, 0, UINT32_MAX, state);
		return 0;
	case 'b':
		options.batch = parse_number(arg, 1, MOCK_GPU_MAX_COUNT, state);
		return 0;
	case 'p':
		options.processes = parse_number(arg, 1, 100000, state);
		return 0;
	case 't':
		options.threads = parse_number(arg, 1, 1000, state);
		return 0;
	case 's':
		options.service_ns = parse_number(arg, 0, MOCK_GPU_MAX_SERVICE_NS, state);
		return 0;
	case KEY_INLINE:
		options.flags |= MOCK_GPU_SUBMIT_INLINE;
		return 0;
	case KEY_TIMER:
		options.flags |= MOCK_GPU_SUBMIT_TIMER;
		return 0;
	case KEY_FAIL:
		for (i = 0; i < sizeof(fails) / sizeof(*fails); i++) {
			if (!strcmp(arg, fails[i])) {
				options.fail = i;
				return 0;
			}
		}
		argp_error(state, "--fail=%s is not none, run, fence or hang", arg);
		return ARGP_ERR_UNKNOWN;
	case KEY_FAIL_EVERY:
		options.fail_every = parse_number(arg, 1, UINT32_MAX, state);
		return 0;
	case 'D':
		colon = strchr(arg, ':');
		if (colon) {
			*colon = '\0';
			depend.device = parse_number(arg, 0, UINT32_MAX, state);
			arg = colon + 1;
		}
		depend.ring = parse_number(arg, 0, UINT32_MAX, state);
		depend.set = true;
		return 0;
	case KEY_CHAIN:
		options.chain = true;
		return 0;
	case 'w':
		options.wait = true;
		return 0;
	case KEY_SYNC:
		options.sync = true;
		return 0;
	case KEY_HOLD:
		options.hold_ms = parse_number(arg, 0, 3600000, state);
		return 0;
	case KEY_LINGER:
		options.linger = true;
		return 0;
	case KEY_COMM:
		options.comm = arg;
		return 0;
	case KEY_TIME:
		options.time = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "%s is one argument too many", arg);
		return ARGP_ERR_UNKNOWN;
	case ARGP_KEY_END:
		if (depend.set && options.chain)
			argp_error(state, "--depend and --chain exclude each other");
		if (options.hold_ms != NO_HOLD && options.sync)
			argp_error(state, "--sync would wait for ever under --hold");
		if (options.hold_ms != NO_HOLD && options.processes > 1)
			argp_error(state, "--hold is for one process");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {
	.options = arguments,
	.parser = parse,
	.doc = "Give jobs to the mock GPU, /dev/mock_gpu.\n"
	       "\vPrints the number of jobs pushed. Exits with 1 if a system call failed.\n"
	       "A job that ends with an error is no failure of its submission.",
};

static unsigned int targets(void)
{
	return options.device_count * options.ring_count;
}

static void target(uint64_t turn, unsigned int *device, unsigned int *ring)
{
	unsigned int i = turn % targets();

	*device = options.devices[i / options.ring_count];
	*ring = options.rings[i % options.ring_count];
}

/* Wait for the last job of a ring, and continue after an interruption by a suspend. */
static bool wait_ring(struct worker *w, unsigned int device, unsigned int ring)
{
	struct mock_gpu_submit submit;

	memset(&submit, 0, sizeof(submit));
	submit.flags = MOCK_GPU_SUBMIT_WAIT;
	submit.device = device;
	submit.ring = ring;
	while (ioctl(w->fd, MOCK_GPU_IOC_SUBMIT, &submit)) {
		if (errno != EINTR) {
			w->error = errno;
			return false;
		}
	}
	return true;
}

/* Makes one system call. Returns true to continue. */
static bool push(struct worker *w, struct mock_gpu_submit *submit)
{
	int ret;

	if (options.sync)
		submit->flags |= MOCK_GPU_SUBMIT_WAIT;
	ret = ioctl(w->fd, MOCK_GPU_IOC_SUBMIT, submit);
	w->submitted += submit->submitted;
	if (ret && errno == EINTR && submit->submitted == submit->count)
		return wait_ring(w, submit->device, submit->ring);
	if (ret)
		w->error = errno;
	return !ret;
}

static bool push_jobs(struct worker *w)
{
	uint64_t done = 0, turn = 0, left;
	struct mock_gpu_submit submit, first;

	while (done < options.jobs) {
		memset(&submit, 0, sizeof(submit));
		submit.service_ns = options.service_ns;
		submit.flags = options.flags;
		left = options.jobs - done;
		submit.count = left < options.batch ? left : options.batch;
		target(turn, &submit.device, &submit.ring);

		/* A batch ends with the job that is to fail, or just before it. */
		if (options.fail) {
			uint64_t until = options.fail_every - done % options.fail_every;

			if (until == 1) {
				submit.fail = options.fail;
				if (options.fail_every > 1)
					submit.count = 1;
			} else if (submit.count >= until) {
				submit.count = until - 1;
			}
		}
		if (depend.set) {
			first = submit;
			first.device = depend.device;
			first.ring = depend.ring;
			first.count = 1;
			first.fail = 0;
			if (!push(w, &first))
				return false;
			submit.flags |= MOCK_GPU_SUBMIT_DEPEND;
			submit.dep_device = depend.device;
			submit.dep_ring = depend.ring;
		} else if (options.chain && turn) {
			submit.flags |= MOCK_GPU_SUBMIT_DEPEND;
			target(turn - 1, &submit.dep_device, &submit.dep_ring);
		}
		if (!push(w, &submit))
			return false;
		done += submit.submitted;
		turn++;
	}
	return true;
}

static bool wait_all(struct worker *w)
{
	unsigned int device, ring, i;

	for (i = 0; i < targets(); i++) {
		target(i, &device, &ring);
		if (!wait_ring(w, device, ring))
			return false;
	}
	return !depend.set || wait_ring(w, depend.device, depend.ring);
}

static bool hold_all(struct worker *w, bool hold)
{
	unsigned int i;

	for (i = 0; i < targets(); i++) {
		struct mock_gpu_hold args = { .hold = hold };

		target(i, &args.device, &args.ring);
		if (ioctl(w->fd, MOCK_GPU_IOC_HOLD, &args)) {
			w->error = errno;
			return false;
		}
	}
	return true;
}

static void *work(void *arg)
{
	struct worker *w = arg;

	push_jobs(w);
	return NULL;
}

static void hold_for(long ms)
{
	char buffer[256];

	printf("held\n");
	fflush(stdout);
	if (ms) {
		poll(NULL, 0, ms);
		return;
	}
	while (read(STDIN_FILENO, buffer, sizeof(buffer)) > 0)
		;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* Returns the exit status of the process. */
static int run_process(void)
{
	struct worker *workers = calloc(options.threads, sizeof(*workers));
	pthread_t *threads = calloc(options.threads, sizeof(*threads));
	uint64_t submitted = 0, begin = now_ns(), pushed;
	unsigned int i, started = 0;
	int err = 0, fd;

	if (!workers || !threads)
		error(1, ENOMEM, "cannot start");
	fd = open("/dev/mock_gpu", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		error(1, errno, "cannot open /dev/mock_gpu");
	if (options.comm)
		prctl(PR_SET_NAME, options.comm);

	for (i = 0; i < options.threads; i++)
		workers[i].fd = fd;
	if (options.hold_ms != NO_HOLD && !hold_all(&workers[0], true))
		error(1, workers[0].error, "cannot hold the rings");

	for (i = 1; i < options.threads && !err; i++) {
		err = pthread_create(&threads[i], NULL, work, &workers[i]);
		if (!err)
			started = i;
	}
	if (!err)
		work(&workers[0]);
	for (i = 1; i <= started; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < options.threads; i++) {
		submitted += workers[i].submitted;
		if (!err)
			err = workers[i].error;
	}
	pushed = now_ns();

	if (options.hold_ms != NO_HOLD) {
		hold_for(options.hold_ms);
		if (!hold_all(&workers[0], false) && !err)
			err = workers[0].error;
	}
	if (!err && options.wait && !wait_all(&workers[0]))
		err = workers[0].error;

	printf("submitted %llu\n", (unsigned long long)submitted);
	if (options.time)
		printf("submit_ns %llu\ntotal_ns %llu\n", (unsigned long long)(pushed - begin),
		       (unsigned long long)(now_ns() - begin));
	fflush(stdout);
	if (err)
		error(0, err, "after %llu jobs", (unsigned long long)submitted);
	if (options.linger)
		pause();
	free(workers);
	free(threads);
	return err ? 1 : 0;
}

static void fill_all(unsigned int *values, unsigned int *count, unsigned int have)
{
	unsigned int i;

	*count = have < MAX_TARGETS ? have : MAX_TARGETS;
	for (i = 0; i < *count; i++)
		values[i] = i;
}

static void look_up_targets(void)
{
	struct mock_gpu_info info;
	int fd = open("/dev/mock_gpu", O_RDWR | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, MOCK_GPU_IOC_INFO, &info))
		error(1, errno, "cannot ask /dev/mock_gpu");
	close(fd);
	if (options.all_devices)
		fill_all(options.devices, &options.device_count, info.devices);
	if (options.all_rings)
		fill_all(options.rings, &options.ring_count, info.rings);
}

int main(int argc, char **argv)
{
	int status, ret = 0;
	uint64_t i;
	pid_t pid;

	argp_parse(&parser, argc, argv, 0, NULL, NULL);
	if (options.all_devices || options.all_rings)
		look_up_targets();
	if (options.processes == 1)
		return run_process();

	for (i = 0; i < options.processes; i++) {
		pid = fork();
		if (pid < 0) {
			error(0, errno, "cannot start process %llu", (unsigned long long)i);
			ret = 1;
			break;
		}
		if (!pid) {
			/* Do not leave children behind when the parent is killed. */
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			return run_process();
		}
	}
	while (wait(&status) > 0)
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			ret = 1;
	return ret;
}
