// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * fuzz-netlink [OPTIONS] [CORPUS...]: runs cases from the corpus, then generated and mutated ones,
 * against the loaded gpumon.ko. On an error it prints the case and exits with status 1.
 *
 *   -t SECONDS  how long (10)
 *   -n CASES    how many made ones at most
 *   -s SEED     of all chance; printed if it is not given
 *   -j JOBS     so many at once, then states are not compared
 *   -o FILE     cases that reached something new go there
 *   -k FILE     the blocks that were reached go there
 *   -v          every step
 *
 * The same seed makes the same cases if the corpus and -n are the same and there is no coverage. A
 * failing case is always printed, and can be used as a corpus.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define MAX_CORPUS 4096

bool verbose;
unsigned long long executed_actions;

static struct test_case *corpus;
static unsigned int corpus_count;
static const struct test_case *running;
static uint64_t seed, case_seed;
static unsigned long long cases;

/* Report an error and how it was reached. */
void found(const char *format, ...)
{
	va_list args;

	printf("FOUND: ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\nseed %llu, case %llu, which is\n", (unsigned long long)seed, cases);
	if (running)
		case_print(running, stdout);
	fflush(stdout);
	_exit(1);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

void execute_case(const struct test_case *test)
{
	const struct action *action;

	running = test;
	for (action = test->actions; action < test->actions + test->count; action++) {
		if (verbose)
			printf("%d %u\n", action->kind, action->slot);
		if (action->kind >= ACTION_OPEN)
			files_do(action);
		else
			sockets_do(action);
		executed_actions++;
	}
	sockets_end();
	files_end();
	if (model.exact)
		sockets_compare_state();
	cases++;
	running = NULL;
}

static void corpus_add(const struct test_case *test)
{
	if (corpus_count == MAX_CORPUS)
		return;
	case_copy(&corpus[corpus_count++], test);
}

static void corpus_read(const char *name)
{
	FILE *file = fopen(name, "r");
	struct test_case test = {};
	unsigned int line = 0;
	int ret;

	if (!file) {
		fprintf(stderr, "%s: %s\n", name, strerror(errno));
		exit(2);
	}
	while ((ret = case_read(&test, file, name, &line)) > 0)
		corpus_add(&test);
	fclose(file);
	case_clear(&test);
	if (ret < 0)
		exit(2);
}

static void keep(const struct test_case *test, FILE *file)
{
	case_print(test, file);
	fflush(file);
}

static void fuzz(double seconds, unsigned long long most, FILE *output)
{
	double end = now() + seconds;
	struct test_case test = {};
	unsigned long long made = 0;
	unsigned int i, known = corpus_count;

	for (i = 0; i < known; i++) {
		execute_case(&corpus[i]);
		if (coverage_new() && output)
			keep(&corpus[i], output);
	}
	while (now() < end && made++ < most) {
		/* Each case has its own seed, so that it does not depend on earlier ones. */
		random_state = case_seed = seed * 0x2545f4914f6cdd1dULL + made;
		if (corpus_count && !random_chance(3)) {
			case_copy(&test, &corpus[random_below(corpus_count)]);
			mutate_case(&test, &corpus[random_below(corpus_count)]);
		} else {
			generate_case(&test);
		}
		execute_case(&test);
		if (coverage_new()) {
			corpus_add(&test);
			if (output)
				keep(&test, output);
		}
	}
	case_clear(&test);
}

static void report(double seconds)
{
	printf("%llu cases, %llu actions, %llu requests, %llu answers (%llu refusals, %llu successes) checked, %llu lost to full buffers, in %.1f s: %.0f requests/s\n",
	       cases, executed_actions, executed_requests, answers_checked, refusals, acceptances,
	       answers_lost, seconds, executed_requests / seconds);
	fflush(stdout);
}

static int many(unsigned int jobs, double seconds, unsigned long long most)
{
	int status = 0, one;
	double start = now();
	unsigned int i;

	for (i = 0; i < jobs; i++) {
		if (fork())
			continue;
		seed += i * 1000003ULL;
		sockets_begin();
		sockets_state();
		fuzz(seconds, most, NULL);
		report(now() - start);
		_exit(0);
	}
	while (wait(&one) > 0)
		if (one)
			status = 1;
	return status;
}

static FILE *open_output(const char *name)
{
	FILE *file = fopen(name, "w");

	if (!file) {
		fprintf(stderr, "%s: %s\n", name, strerror(errno));
		exit(2);
	}
	return file;
}

int main(int argc, char **argv)
{
	FILE *output = NULL, *blocks = NULL;
	unsigned long long most = ~0ULL;
	unsigned int jobs = 0;
	double seconds = 10, start = now();
	int option;

	seed = time(NULL) ^ (uint64_t)getpid() << 32;
	while ((option = getopt(argc, argv, "t:n:s:j:o:k:v")) > 0) {
		switch (option) {
		case 't':
			seconds = atof(optarg);
			break;
		case 'n':
			most = strtoull(optarg, NULL, 0);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'j':
			jobs = atoi(optarg);
			break;
		case 'o':
			output = open_output(optarg);
			break;
		case 'k':
			blocks = open_output(optarg);
			break;
		case 'v':
			verbose = true;
			break;
		default:
			return 2;
		}
	}
	corpus = calloc(MAX_CORPUS, sizeof(*corpus));
	if (!corpus)
		return 2;
	for (; optind < argc; optind++)
		corpus_read(argv[optind]);
	printf("seed %llu, %u cases in the corpus\n", (unsigned long long)seed, corpus_count);
	fflush(stdout);
	if (jobs)
		return many(jobs, seconds, most);
	model.exact = true;
	sockets_begin();
	sockets_state();
	coverage_begin();
	fuzz(seconds, most, output);
	if (blocks)
		coverage_report(blocks);
	report(now() - start);
	return 0;
}
