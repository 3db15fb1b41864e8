// SPDX-License-Identifier: GPL-2.0-only
/* Strings in memory that may not be there. */
#include <linux/minmax.h>
#include <linux/string.h>

#include "nofault.h"

/**
 * gpumon_read_string_nofault - copy a string that may not be there
 * @to: buffer, always ends with a NUL afterwards
 * @size: size of it in bytes, at least 1
 * @from: string, may be any value
 *
 * A string that does not fit is cut.
 *
 * Context: any.
 * Return: length without the NUL, -EFAULT if it cannot be read, @to is then "".
 */
long gpumon_read_string_nofault(char *to, size_t size, const char *from)
{
	size_t step, length, done = 0;

	while (done < size - 1) {
		/* An aligned word never reaches into another page. */
		step = sizeof(u64) - ((unsigned long)(from + done) & (sizeof(u64) - 1));
		step = min(step, size - 1 - done);
		if (copy_from_kernel_nofault(to + done, from + done, step)) {
			to[0] = '\0';
			return -EFAULT;
		}
		length = strnlen(to + done, step);
		done += length;
		if (length < step)
			return done;
	}
	to[done] = '\0';
	return done;
}
