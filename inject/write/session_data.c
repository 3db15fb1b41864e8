// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "session_data.h"

struct inject_session inject_session = { .code = { { .size = UINTPTR_MAX } } };
