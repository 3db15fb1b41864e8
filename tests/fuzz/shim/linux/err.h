/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The fuzzed code uses nothing of it. */
