// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dlfcn.h>
#include <errno.h>

#include "base/handles.h"
#include "channel/call.h"
#include "channel/intern.h"
#include "channel/process.h"
#include "gl.h"

/* The number of a surface, as an id in the capture. */
#define GL_ID(number) ((uint32_t)GPUMON_API_OPENGL << GPUMON_API_SHIFT | (number))

/* Kinds of handles. */
#define SURFACE	 0
#define DRAWABLE 1

/**
 * struct surface - a surface of EGL, or a drawable of GLX
 * @id: in the capture, 0 before it has one
 * @generation: of the session in which its record was written
 * @presents: how many were seen
 */
struct surface {
	_Atomic uint32_t id;
	_Atomic uint32_t generation;
	_Atomic uint32_t presents;
};

/**
 * struct swap - a call, until it returns
 * @generation: of its capture
 * @start_ns: when it began
 * @stack: id
 * @is_call: its own record is wanted, too
 */
struct swap {
	uint32_t generation;
	uint64_t start_ns;
	uint32_t stack;
	bool is_call;
};

static struct inject_handles surfaces = INJECT_HANDLES;

static struct inject_function functions[] = {
#define FUNCTION(name) [GPUMON_SWAP_##name] = { #name, INJECT_CLASS_BLOCKING, 0 },
	GPUMON_SWAPS(FUNCTION)
#undef FUNCTION
};

static bool is_egl(const struct gpumon_swap *of)
{
	return of->kind < GPUMON_SWAP_glXSwapBuffers;
}

/* False: the call is not recorded. One within another, of a library that calls the system's, is part of that. */
static bool begin_swap(struct swap *swap)
{
	struct inject_thread *thread;

	if (!inject_session_takes_calls())
		return false;
	thread = inject_thread_enter(false);
	if (!thread)
		return false;
	if (thread->ours || thread->is_presenting) {
		inject_thread_leave(thread);
		return false;
	}
	thread->is_presenting = true;
	swap->generation = atomic_load_explicit(&inject_session.generation, memory_order_relaxed);
	swap->is_call = inject_call_is_wanted(INJECT_CLASS_BLOCKING);
	swap->start_ns = inject_now();
	swap->stack = inject_call_needs_stack(INJECT_CLASS_BLOCKING) ? inject_call_path(thread) : 0;
	inject_thread_leave(thread);
	return true;
}

static void write_api(struct inject_thread *thread)
{
	static _Atomic uint32_t written_in;

	/* Its version is of a context, and only functions of OpenGL tell it. */
	if (inject_first_in_capture(&written_in))
		inject_api_write(thread, GPUMON_API_OPENGL, "OpenGL", NULL, NULL);
}

/*
 * After a call that has succeeded: EGL's error is then that of a success, and stays it. GLX is not asked: for a
 * window that is no GLXWindow the X server answers with an error, which ends most programs.
 */
static void ask_size(const struct gpumon_swap *of, unsigned long display, unsigned long surface,
		     struct gpumon_record_swapchain *record)
{
	/* EGL_WIDTH and EGL_HEIGHT */
	const int width = 0x3057, height = 0x3056;
	unsigned int (*query)(unsigned long, unsigned long, int, int *);
	int found[2] = { 0, 0 };
	Dl_info library;
	void *handle;

	if (!is_egl(of) || !dladdr(__extension__(void *) of->function, &library) ||
	    !library.dli_fname)
		return;
	handle = dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!handle)
		return;
	*(void **)&query = dlsym(handle, "eglQuerySurface");
	if (query && query(display, surface, width, &found[0]) &&
	    query(display, surface, height, &found[1]) && found[0] > 0 && found[1] > 0) {
		record->width = (uint32_t)found[0];
		record->height = (uint32_t)found[1];
	}
	dlclose(handle);
}

static struct surface *find_surface(const struct gpumon_swap *of, unsigned long handle)
{
	static _Atomic uint32_t last;
	struct surface *surface;
	uint32_t none = 0;

	surface = inject_handle_add(&surfaces, (const void *)handle,
				    is_egl(of) ? SURFACE : DRAWABLE, sizeof(*surface));
	if (surface && !atomic_load(&surface->id))
		(void)atomic_compare_exchange_strong(&surface->id, &none,
						     GL_ID(atomic_fetch_add(&last, 1) + 1));
	return surface;
}

/* The call's own record, 0 where it has none: what was recorded within, as by Vulkan below, has the wait. */
static uint32_t write_call(struct inject_thread *thread, const struct swap *swap, uint64_t end_ns,
			   uint32_t function)
{
	static _Atomic uint32_t last;
	struct gpumon_record_call record = {
		.head = { .type = GPUMON_RECORD_CALL,
			  .flags = GPUMON_CALL_BLOCKING,
			  .size = sizeof(record) },
		.start_ns = swap->start_ns,
		.end_ns = end_ns,
		.tid = thread->tid,
		.function = function,
		.stack = swap->stack,
		.context = GL_ID(0),
	};

	if (!swap->is_call || thread->call.start_ns > swap->start_ns)
		return 0;
	record.correlation = inject_next_correlation(&last);
	inject_append(thread, &record);
	return record.correlation;
}

static void end_swap(const struct swap *swap, const struct gpumon_swap *of, unsigned long display,
		     unsigned long handle, bool has_failed)
{
	struct gpumon_record_swapchain swapchain = {
		.head = { .type = GPUMON_RECORD_SWAPCHAIN, .size = sizeof(swapchain) },
		.time_ns = swap->start_ns,
		.mode = UINT32_MAX,
	};
	struct gpumon_record_present present = {
		.head = { .type = GPUMON_RECORD_PRESENT,
			  .flags = has_failed ? GPUMON_PRESENT_FAILED : 0,
			  .size = sizeof(present) },
		.start_ns = swap->start_ns,
		.end_ns = inject_now(),
		.stack = swap->stack,
		.image = UINT32_MAX,
		.result = has_failed ? -1 : 0,
	};
	struct inject_thread *thread;
	struct surface *surface = find_surface(of, handle);
	bool is_new = surface && inject_first_in_capture(&surface->generation);

	if (is_new && !has_failed)
		ask_size(of, display, handle, &swapchain);
	inject_self->is_presenting = false;
	thread = inject_thread_enter(true);
	if (!thread)
		return;
	/* Ids of an earlier capture are unknown in this one. */
	if (surface && swap->generation == atomic_load(&inject_session.generation)) {
		write_api(thread);
		swapchain.id = surface->id;
		if (is_new)
			inject_append(thread, &swapchain);
		present.swapchain = surface->id;
		present.number = atomic_fetch_add(&surface->presents, 1) + 1;
		present.tid = thread->tid;
		present.function = inject_string_again(thread, &functions[of->kind].name_id,
						       functions[of->kind].name);
		present.correlation = write_call(thread, swap, present.end_ns, present.function);
		inject_append(thread, &present);
	}
	inject_thread_leave(thread);
}

/* EGL_FALSE; GLX has no result but of glXSwapBuffersMscOML(), which is -1 then. */
static bool is_failure(const struct gpumon_swap *of, unsigned long result)
{
	if (is_egl(of))
		return !(uint32_t)result;
	return of->kind == GPUMON_SWAP_glXSwapBuffersMscOML && (int64_t)result == -1;
}

unsigned long inject_gl_swap(const struct gpumon_swap *of, unsigned long display,
			     unsigned long surface, unsigned long c, unsigned long d,
			     unsigned long e)
{
	int kept = errno;
	unsigned long result;
	bool is_recorded;
	struct swap swap;

	/* EGL_NO_SURFACE and None are no swapchains. */
	is_recorded = surface && begin_swap(&swap);
	errno = kept;
	result = of->function(display, surface, c, d, e);
	if (is_recorded) {
		kept = errno;
		end_swap(&swap, of, display, surface, is_failure(of, result));
		errno = kept;
	}
	return result;
}

/*
 * OpenGL as a backend of a session. The preloaded library calls from the program's first swap on; whether that is
 * recorded is seen from the session at each call.
 */

static bool reserve_nothing(const struct gpumon_message_settings *settings)
{
	(void)settings;
	return true;
}

/* The program calls this library: nothing of EGL or GLX is in its call paths. */
static unsigned int no_code(struct inject_code *code, unsigned int room)
{
	(void)code;
	(void)room;
	return 0;
}

static bool start_gl(struct inject_thread *thread, bool at_start, const char **why)
{
	(void)thread;
	(void)at_start;
	(void)why;
	return true;
}

static void drain_gl(struct inject_thread *thread)
{
	(void)thread;
}

static void end_gl(struct inject_thread *thread, bool recorder_lives, unsigned int settle_ms)
{
	(void)thread;
	(void)recorder_lives;
	(void)settle_ms;
}

/* Contexts of its parent do not work in a child. */
static bool forget_gl(void)
{
	inject_handles_forked(&surfaces);
	if (inject_self)
		inject_self->is_presenting = false;
	return false;
}

const struct inject_backend inject_gl_backend = {
	.api = "OpenGL",
	.reserve = reserve_nothing,
	.code = no_code,
	.start = start_gl,
	.drain = drain_gl,
	.end = end_gl,
	.forked = forget_gl,
};
