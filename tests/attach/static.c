// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Has no loader; or, linked as usual, no CUDA. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	for (;;)
		pause();
}
