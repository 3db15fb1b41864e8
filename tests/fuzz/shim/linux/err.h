/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Nothing of it is used by what is fuzzed. */
