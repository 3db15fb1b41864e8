/* SPDX-License-Identifier: GPL-2.0-only */
/* The module's parameters: limits and groups at load, groups and reset while it runs. */
#ifndef GPUMON_PARAMETERS_H
#define GPUMON_PARAMETERS_H

int gpumon_parameters_check(void);
void gpumon_parameters_enable_groups(void);
void gpumon_parameters_start(void);
void gpumon_parameters_stop(void);

#endif /* GPUMON_PARAMETERS_H */
