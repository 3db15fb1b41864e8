// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Prints the records that user/record/uprobe*.c delivers for a live process, one JSON object per line.
 *
 * usage: dump PID [ring=BYTES] [stacks=N] [threads=N] [depth=N] [wait] [no-blocking] [no-stacks]
 *             [rescan=MS] [sleep=MS] [ready=FILE] [learnt=FILE:HITS]
 *        dump supported
 *   sleep=  how long to wait before the first read
 *   ready=  file that is created when everything is attached
 *   learnt= file that is created after so many hits: the code that they came from is known then
 *
 * Ends with the process, or on SIGTERM.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../user/record/uprobe.h"

static volatile sig_atomic_t stopped;

static char *learnt;
static unsigned long hits_to_learn;

static void stop(int number)
{
	(void)number;
	stopped = 1;
}

static void create(const char *file)
{
	close(open(file, O_CREAT | O_WRONLY, 0600));
}

static void learn(char *words)
{
	learnt = strtok(words, ":");
	hits_to_learn = strtoul(strtok(NULL, ":"), NULL, 0);
}

static void print_text(const char *text, size_t length)
{
	putchar('"');
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 0x20 || c == '"' || c == '\\')
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void print(void *data, uint32_t tid, const struct gpumon_record *record)
{
	(void)data;
	switch (record->type) {
	case GPUMON_RECORD_PROCESS: {
		const struct gpumon_record_process *p = (const void *)record;

		printf("{\"type\":\"process\",\"pid\":%u,\"host_pid\":%u,\"parent\":%u,\"start_ns\":%" PRIu64
		       ",\"namespace\":%" PRIu64 ",\"executable\":%u,\"command\":%u}\n",
		       p->pid, p->host_pid, p->parent, p->start_ns, p->pid_namespace, p->executable,
		       p->command);
		break;
	}
	case GPUMON_RECORD_THREAD: {
		const struct gpumon_record_thread *t = (const void *)record;

		printf("{\"type\":\"thread\",\"tid\":%u,\"host_tid\":%u,\"name\":%u}\n", t->tid,
		       t->host_tid, t->name);
		break;
	}
	case GPUMON_RECORD_MAPPING: {
		const struct gpumon_record_mapping *m = (const void *)record;

		printf("{\"type\":\"mapping\",\"time_ns\":%" PRIu64 ",\"start\":%" PRIu64
		       ",\"end\":%" PRIu64 ",\"offset\":%" PRIu64 ",\"path\":%u,\"build_id\":\"",
		       m->time_ns, m->start, m->end, m->offset, m->path);
		for (unsigned int i = 0; i < m->build_id_size; i++)
			printf("%02x", m->build_id[i]);
		printf("\"}\n");
		break;
	}
	case GPUMON_RECORD_UNMAPPING: {
		const struct gpumon_record_unmapping *m = (const void *)record;

		printf("{\"type\":\"unmapping\",\"time_ns\":%" PRIu64 ",\"start\":%" PRIu64
		       ",\"end\":%" PRIu64 "}\n",
		       m->time_ns, m->start, m->end);
		break;
	}
	case GPUMON_RECORD_STRING: {
		const struct gpumon_record_string *s = (const void *)record;

		printf("{\"type\":\"string\",\"id\":%u,\"text\":", s->id);
		print_text(s->text, s->length);
		printf("}\n");
		break;
	}
	case GPUMON_RECORD_STACK: {
		const struct gpumon_record_stack *s = (const void *)record;

		printf("{\"type\":\"stack\",\"id\":%u,\"truncated\":%s,\"frames\":[", s->id,
		       record->flags & GPUMON_STACK_TRUNCATED ? "true" : "false");
		for (unsigned int i = 0; i < s->count; i++)
			printf("%s%" PRIu64, i ? "," : "", s->frames[i]);
		printf("]}\n");
		break;
	}
	case GPUMON_RECORD_HIT: {
		const struct gpumon_record_hit *h = (const void *)record;

		if (tid != h->tid)
			abort();
		if (hits_to_learn && !--hits_to_learn)
			create(learnt);
		printf("{\"type\":\"hit\",\"time_ns\":%" PRIu64 ",\"number\":%" PRIu64
		       ",\"duration_ns\":%" PRIu64
		       ",\"tid\":%u,\"function\":%u,\"stack\":%u,\"blocking\":%s}\n",
		       h->time_ns, h->number, h->duration_ns, h->tid, h->function, h->stack,
		       record->flags & GPUMON_HIT_BLOCKING ? "true" : "false");
		break;
	}
	case GPUMON_RECORD_LOSS: {
		const struct gpumon_record_loss *l = (const void *)record;

		printf("{\"type\":\"loss\",\"cause\":%u,\"count\":%" PRIu64 "}\n", l->cause,
		       l->count);
		break;
	}
	case GPUMON_RECORD_NOTE: {
		const struct gpumon_record_note *n = (const void *)record;

		printf("{\"type\":\"note\",\"text\":%u}\n", n->text);
		break;
	}
	default:
		abort();
	}
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void print_counts(const struct gpumon_uprobes_counts *c, const char *state)
{
	printf("{\"type\":\"counts\",\"state\":\"%s\"", state);
#define COUNT(name) printf(",\"" #name "\":%" PRIu64, (uint64_t)c->name)
	COUNT(seen);
	COUNT(nested);
	COUNT(foreign);
	COUNT(hits);
	COUNT(lost_ring);
	COUNT(lost_threads);
	COUNT(undecided);
	COUNT(lost_stacks);
	COUNT(stacks);
	COUNT(truncated);
	COUNT(copied);
	COUNT(returns_unseen);
	COUNT(stacks_no_room);
	COUNT(functions);
	COUNT(returns);
	COUNT(libraries);
	COUNT(refused);
#undef COUNT
	printf("}\n");
}

static int fail(const struct gpumon_error *err)
{
	printf("{\"type\":\"error\",\"code\":\"%s\",\"status\":%d,\"message\":",
	       gpumon_error_word(err->code), err->status);
	print_text(err->message, strlen(err->message));
	printf("}\n");
	return err->status;
}

int main(int argc, char **argv)
{
	static const char *const states[] = { "running", "exited", "exec" };
	struct gpumon_uprobes_options options = { 0 };
	struct sigaction action = { .sa_handler = stop };
	struct gpumon_uprobes_counts counts;
	struct gpumon_uprobes *uprobes;
	const char *ready = NULL;
	struct gpumon_error err;
	unsigned long sleep_ms = 0;
	bool wait = false;
	uint64_t start;

	if (argc < 2)
		return 2;
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	if (!strcmp(argv[1], "supported")) {
		if (gpumon_uprobes_supported("", &err))
			return fail(&err);
		printf("{\"type\":\"supported\"}\n");
		return 0;
	}
	for (int i = 2; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		unsigned long number = value ? strtoul(value + 1, NULL, 0) : 0;

		if (!strncmp(argv[i], "ring=", 5))
			options.ring_bytes = number;
		else if (!strncmp(argv[i], "stacks=", 7))
			options.stacks = (unsigned int)number;
		else if (!strncmp(argv[i], "threads=", 8))
			options.threads = (unsigned int)number;
		else if (!strncmp(argv[i], "depth=", 6))
			options.stack_depth = (unsigned int)number;
		else if (!strncmp(argv[i], "rescan=", 7))
			options.rescan_ms = (unsigned int)number;
		else if (!strncmp(argv[i], "sleep=", 6))
			sleep_ms = number;
		else if (!strncmp(argv[i], "ready=", 6))
			ready = value + 1;
		else if (!strncmp(argv[i], "learnt=", 7) && strchr(argv[i], ':'))
			learn(value + 1);
		else if (!strcmp(argv[i], "wait"))
			wait = true;
		else if (!strcmp(argv[i], "no-blocking"))
			options.no_blocking = true;
		else if (!strcmp(argv[i], "no-stacks"))
			options.no_stacks = true;
		else
			return 2;
	}
	start = now_ns();
	uprobes = (wait ? gpumon_uprobes_watch : gpumon_uprobes_attach)(atoi(argv[1]), &options,
									&err);
	if (!uprobes)
		return fail(&err);
	printf("{\"type\":\"attached\",\"took_ns\":%" PRIu64 "}\n", now_ns() - start);
	fflush(stdout);
	if (ready)
		create(ready);
	for (unsigned long i = 0; i < sleep_ms && !stopped; i++)
		usleep(1000);
	while (!stopped && gpumon_uprobes_state(uprobes) == GPUMON_UPROBES_RUNNING) {
		if (gpumon_uprobes_poll(uprobes, 50, print, NULL) < 0)
			printf("{\"type\":\"memory\"}\n");
		/* Tests wait for notes. */
		fflush(stdout);
	}
	gpumon_uprobes_poll(uprobes, 0, print, NULL);
	gpumon_uprobes_get_counts(uprobes, &counts);
	print_counts(&counts, states[gpumon_uprobes_state(uprobes)]);
	start = now_ns();
	gpumon_uprobes_detach(uprobes, print, NULL);
	printf("{\"type\":\"detached\",\"took_ns\":%" PRIu64 "}\n", now_ns() - start);
	return 0;
}
