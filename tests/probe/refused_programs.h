/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Programs that are refused, and what is said. */
#ifndef GPUMON_TESTS_PROBE_REFUSED_PROGRAMS_H
#define GPUMON_TESTS_PROBE_REFUSED_PROGRAMS_H

#include <stddef.h>

#include "gpuprog/object/program.h"

/**
 * struct refused_program - a program that is refused
 * @point: where it would run
 * @text: for assemble()
 * @message: what is said, behind "test: "
 */
struct refused_program {
	enum gpumon_gpuprog_point point;
	const char *text;
	const char *message;
};

extern const struct refused_program refused_programs[];
extern const size_t refused_programs_n;

#endif /* GPUMON_TESTS_PROBE_REFUSED_PROGRAMS_H */
