/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Objects that the Makefile has compiled. */
#ifndef GPUMON_TESTS_PROBE_LOAD_H
#define GPUMON_TESTS_PROBE_LOAD_H

#include <stddef.h>

#include "gpuprog/object/object.h"

/* The bytes of OBJ/bpf/FOLDER/NAME.bpf.o, to be freed. The test fails if there is no such file. */
void *load_bytes(const char *folder, const char *name, size_t *size);

/* Read it. The test fails if it is refused. */
void load_object(const char *folder, const char *name, struct gpumon_gpuprog_object *object);

/* A program of an object by its function, or the map with this name. The test fails without it. */
const struct gpumon_gpuprog *find_program(const struct gpumon_gpuprog_object *object,
					  const char *name);
const struct gpumon_gpuprog_map *find_map(const struct gpumon_gpuprog_object *object,
					  const char *name);

#endif /* GPUMON_TESTS_PROBE_LOAD_H */
