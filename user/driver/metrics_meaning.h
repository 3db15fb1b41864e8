/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What a statistic means, from the pages of Documentation/reference, which the program has in it. So
 * there is one description of each, and a page that lacks one leaves its metric without.
 */
#ifndef GPUMON_DRIVER_METRICS_MEANING_H
#define GPUMON_DRIVER_METRICS_MEANING_H

/**
 * gpumon_meaning() - the first sentence about a statistic
 * @place: where its table is in the pages: "<!-- table drm_sched.rings -->", "## Module"
 * @name: its name
 *
 * Return: plain text without an ending point, to be freed; NULL if the pages have nothing of it.
 */
char *gpumon_meaning(const char *place, const char *name);

#endif /* GPUMON_DRIVER_METRICS_MEANING_H */
