// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "error.h"

const char *gpumon_error_word(enum gpumon_error_code code)
{
	static const char *const words[] = { [GPUMON_ERROR_NONE] = "",
#define GPUMON_ERROR_WORD(name, word) [GPUMON_ERROR_##name] = word,
					     GPUMON_ERRORS(GPUMON_ERROR_WORD)
#undef GPUMON_ERROR_WORD
	};

	return words[code];
}

int gpumon_error_set(struct gpumon_error *err, int status, int sys, enum gpumon_error_code code,
		     const char *format, ...)
{
	va_list args;

	err->status = status;
	err->sys = sys;
	err->code = code;
	va_start(args, format);
	vsnprintf(err->message, sizeof(err->message), format, args);
	va_end(args);

	/* Kernel messages end up here too. The result must be one line that is safe to print. */
	for (char *p = err->message; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = ' ';
	}
	return -1;
}

int gpumon_error_memory(struct gpumon_error *err)
{
	return gpumon_error_set(err, GPUMON_EXIT_FAILED, -ENOMEM, GPUMON_ERROR_MEMORY, "no memory");
}

int gpumon_error_output(struct gpumon_error *err)
{
	int sys = errno ? errno : EIO;

	return gpumon_error_set(err, GPUMON_EXIT_FAILED, -sys, GPUMON_ERROR_IO,
				"the output could not be written: %s", strerror(sys));
}
