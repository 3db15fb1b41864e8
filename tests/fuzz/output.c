// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A profile with any names and numbers, in all its output formats: JSON, folded stacks and pprof
 * must contain the same data when they are read again. Pictures are well-formed and contain no
 * element, script or attribute from a name. Text has no control characters. The first byte selects
 * some outputs, since all of them are slow.
 */
#include "output.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	struct fuzz_profile one, other;
	uint8_t which = fuzz_u8(&input) % 6;
	unsigned int columns = fuzz_u8(&input);

	fuzz_profile_make(&one, &input);
	switch (which) {
	case 0:
		fuzz_check_json(&one.view);
		break;
	case 1:
		fuzz_check_folded(&one.view);
		break;
	case 2:
		fuzz_check_pprof(&one.view);
		break;
	case 3:
		fuzz_check_pictures(&one.view, columns);
		break;
	case 4:
		fuzz_check_texts(&one.view, columns);
		break;
	default:
		fuzz_profile_make(&other, &input);
		fuzz_check_diff(&one.view, &other.view);
		fuzz_profile_free(&other);
	}
	fuzz_profile_free(&one);
	return 0;
}
