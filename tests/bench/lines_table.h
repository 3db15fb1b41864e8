/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Which CPUs used which cache lines, from which instructions. */
#ifndef BENCH_LINES_TABLE_H
#define BENCH_LINES_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

void lines_clear(void);
void lines_add(unsigned int cpu, uint64_t address, uint64_t instruction, bool store);
void lines_print(FILE *out);

#endif /* BENCH_LINES_TABLE_H */
