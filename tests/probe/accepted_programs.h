/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Programs that are accepted. */
#ifndef GPUMON_TESTS_PROBE_ACCEPTED_PROGRAMS_H
#define GPUMON_TESTS_PROBE_ACCEPTED_PROGRAMS_H

#include <stddef.h>

#include "gpuprog/object/program.h"

struct accepted_program {
	const char *name;
	enum gpumon_gpuprog_point point;
	const char *text; /* for assemble() */
};

extern const struct accepted_program accepted_programs[];
extern const size_t accepted_programs_n;

#endif /* GPUMON_TESTS_PROBE_ACCEPTED_PROGRAMS_H */
