// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Makes system calls with the nth possible failure injected by the kernel (/proc/self/fail-nth),
 * for lib/fail_nth.py. The counter counts all kernel allocations of this thread, so only the calls
 * are made between setting and reading it.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARGUMENTS 6

/*
 * A call: @number and @arguments as for syscall(). With @until_end it is repeated until it returns
 * 0 or an error; argument 1 is a buffer to fill and argument 2 its size. An argument in
 * @take_result is replaced by the first call's result, an open file. @end is 0 or the final errno;
 * @done is the last result, or the number of bytes in the buffer.
 */
struct call {
	long number;
	long arguments[ARGUMENTS];
	int until_end;
	int take_result;
	long done;
	int end;
	int tries;
};

long fail_nth(int counter, unsigned int n, struct call *calls, int count);

static void run(struct call *call, const struct call *first)
{
	long a[ARGUMENTS], result;

	memcpy(a, call->arguments, sizeof(a));
	if (call->take_result)
		a[0] = first->done;
	call->done = 0;
	call->end = 0;
	do {
		result = syscall(call->number, a[0], a[1], a[2], a[3], a[4], a[5]);
		call->tries++;
		if (result < 0) {
			call->end = errno;
			if (!call->until_end)
				call->done = -1;
			return;
		}
		call->done = call->until_end ? call->done + result : result;
		a[1] += result;
		a[2] -= result;
	} while (call->until_end && result > 0 && a[2] > 0);
}

/* Access to the counter itself can fail, too. */
static void set(int counter, unsigned int n)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", n);

	while (pwrite(counter, text, (size_t)length, 0) < 0)
		;
}

/**
 * fail_nth - make calls, with a failure at the nth possible place
 * @counter: descriptor of this thread's /proc/self/fail-nth
 * @n: number of the place, 0 for none
 * @calls: calls, also filled with the results
 * @count: number of calls; after a failed one, only those that close a file are made
 *
 * Return: the number of places that were missing: 0 if the failure was injected.
 */
long fail_nth(int counter, unsigned int n, struct call *calls, int count)
{
	char text[16] = "";
	bool failed = false;
	int i;

	set(counter, n);
	for (i = 0; i < count; i++) {
		if (failed && (calls[i].number != SYS_close || calls[0].done < 0)) {
			calls[i].tries = 0;
			continue;
		}
		run(&calls[i], &calls[0]);
		if (calls[i].end)
			failed = true;
	}
	if (n && pread(counter, text, sizeof(text) - 1, 0) < 0)
		snprintf(text, sizeof(text), "1");
	set(counter, 0);
	return n ? atol(text) : 0;
}
