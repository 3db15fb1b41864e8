/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_LIBRARY_CODE_H
#define GPUMON_INJECT_LIBRARY_CODE_H

#include "session_data.h"

/**
 * inject_library_code - where a library is
 * @address: in it
 * @code: filled
 *
 * Return: false if it is in none. Takes the loader's lock.
 */
bool inject_library_code(const void *address, struct inject_code *code);

#endif /* GPUMON_INJECT_LIBRARY_CODE_H */
