/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * OpenGL, by the calls of EGL and GLX that present an image. No function of OpenGL is called, and no context is
 * made or changed.
 */
#ifndef GPUMON_INJECT_GL_GL_H
#define GPUMON_INJECT_GL_GL_H

#include "preload/swap.h"
#include "session/backend.h"

extern const struct inject_backend inject_gl_backend;

/* What the preloaded library calls in place of a function that presents. */
gpumon_swap_through_t inject_gl_swap;

#endif /* GPUMON_INJECT_GL_GL_H */
