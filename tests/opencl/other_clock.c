// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Preloaded, it moves the program's clocks by ten days, as faketime does. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *time)
{
	int result = (int)syscall(SYS_clock_gettime, id, time);

	if (!result && id != CLOCK_PROCESS_CPUTIME_ID && id != CLOCK_THREAD_CPUTIME_ID)
		time->tv_sec += 864000;
	return result;
}
