/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Numbers with a fraction. strtod() takes more than these, and is a large part of a small C library. */
#ifndef GPUMON_LIB_DECIMAL_H
#define GPUMON_LIB_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

/**
 * gpumon_decimal_parse - read digits with at most one point, such as "0.5"
 * @text: text
 * @end: out, what is behind the number; @text: there is none
 *
 * Return: the number. With more than 15 digits its last bit may differ from that of strtod().
 */
static inline double gpumon_decimal_parse(const char *text, char **end)
{
	bool point = false, any = false;
	double scale = 1;
	uint64_t digits = 0;
	const char *at = text;

	for (; (*at >= '0' && *at <= '9') || (*at == '.' && !point); at++) {
		if (*at == '.') {
			point = true;
			continue;
		}
		any = true;
		if (digits < UINT64_MAX / 10 - 1) {
			digits = digits * 10 + (uint64_t)(*at - '0');
			scale *= point ? 10 : 1;
		} else if (!point) {
			scale /= 10;
		}
	}
	*end = (char *)(any ? at : text);
	return (double)digits / scale;
}

#endif /* GPUMON_LIB_DECIMAL_H */
