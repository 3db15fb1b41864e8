/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef GPUMON_INJECT_ENTRY_H
#define GPUMON_INJECT_ENTRY_H

#include "session/backend.h"

/**
 * inject_enter - an API is being initialised: the first one begins, others join it
 * @backend: of the API
 *
 * Whatever goes wrong here is no reason for a program not to have its API.
 */
void inject_enter(const struct inject_backend *backend);

/**
 * inject_enter_late - the library was brought into a program that uses an API already
 * @backend: of the API
 *
 * As inject_enter() where no recorder is named: the library listens for one. Context: a thread of its own.
 *
 * Return: false where the library may not or cannot begin here.
 */
bool inject_enter_late(const struct inject_backend *backend);

#endif /* GPUMON_INJECT_ENTRY_H */
