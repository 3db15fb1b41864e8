// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "real.h"

#define FUNCTIONS 64

struct account {
	pthread_t thread;
	unsigned int number;
	long tid;
	struct {
		const char *name;
		unsigned long count;
	} calls[FUNCTIONS];
};

static __thread struct account *account;
static unsigned long rounds;

void called(const char *function)
{
	for (unsigned int i = 0; i < FUNCTIONS; i++) {
		if (!account->calls[i].name)
			account->calls[i].name = function;
		if (!strcmp(account->calls[i].name, function)) {
			account->calls[i].count++;
			return;
		}
	}
	NEED(!"more functions than FUNCTIONS");
}

static void *run(void *data)
{
	account = data;
	account->tid = syscall(SYS_gettid);
	for (unsigned long i = 0; i < rounds; i++)
		work(account->number);
	return NULL;
}

static void wait_for(const char *file)
{
	while (access(file, F_OK))
		usleep(1000);
}

static void print_account(const struct account *accounts)
{
	printf("{\"threads\":{");
	for (unsigned int i = 0; i < threads; i++) {
		printf("%s\"%ld\":{", i ? "," : "", accounts[i].tid);
		for (unsigned int j = 0; j < FUNCTIONS && accounts[i].calls[j].name; j++)
			printf("%s\"%s\":%lu", j ? "," : "", accounts[i].calls[j].name,
			       accounts[i].calls[j].count);
		printf("}");
	}
	printf("},\"work\":%lu}\n", (unsigned long)work);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct account *accounts = calloc(threads, sizeof(*accounts));
	const char *mode = argc > 3 ? argv[3] : "";

	NEED(argc > 2 && accounts);
	rounds = strtoul(argv[1], NULL, 0);
	before_go(mode);
	printf("{\"pid\":%d}\n", (int)getpid());
	fflush(stdout);
	wait_for(argv[2]);
	after_go(mode);
	if (argc > 4)
		wait_for(argv[4]);
	for (unsigned int i = 0; i < threads; i++) {
		accounts[i].number = i;
		NEED(!pthread_create(&accounts[i].thread, NULL, run, &accounts[i]));
	}
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(accounts[i].thread, NULL);
	print_account(accounts);
	/* Libraries run their destructors otherwise, which is not what is tested. */
	_exit(0);
}
