// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Presents images with EGL and GLX, and says "swap TID SURFACE BEGIN END" of each call and "picture SUM" of what it
 * drew. How it gets the functions:
 *   linked	it is linked with their libraries, which only the binary of this name is
 *   dlsym	from libraries that it opens
 *   lookup	from eglGetProcAddress() or glXGetProcAddressARB(), which it gets as before
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glx.h>

#define SIZE 32

/* A planned frame, and a late one: long enough for some looks at the thread, of which there are 50 in a second. */
#define FRAME_NS 8000000u
#define LATE_NS	 80000000u

static void *libraries[3];
static bool uses_lookup;
static PFNEGLSWAPBUFFERSPROC egl_swap;
static PFNEGLSWAPBUFFERSWITHDAMAGEKHRPROC egl_swap_damage;
static void (*glx_swap)(Display *, GLXDrawable);
static PFNGLXSWAPBUFFERSMSCOMLPROC glx_swap_msc;

#ifdef LINKED
#define GET(name) (&(name))
#else
#define GET(name) ((__typeof__(name) *)get(#name))
#endif

static _Noreturn void fail(const char *what)
{
	printf("failed: %s\n", what);
	exit(1);
}

static void *get(const char *name)
{
	for (int i = 0; i < 3; i++) {
		void *found = libraries[i] ? dlsym(libraries[i], name) : NULL;

		if (found)
			return found;
	}
	fail(name);
}

static void open_libraries(void)
{
#ifndef LINKED
	libraries[0] = dlopen("libEGL.so.1", RTLD_LAZY | RTLD_LOCAL);
	libraries[1] = dlopen("libGL.so.1", RTLD_LAZY | RTLD_LOCAL);
	libraries[2] = dlopen("libX11.so.6", RTLD_LAZY | RTLD_LOCAL);
	if (!libraries[0] || !libraries[1] || !libraries[2])
		fail(dlerror());
#endif
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void find_swaps(bool is_egl)
{
	egl_swap = GET(eglSwapBuffers);
	glx_swap = GET(glXSwapBuffers);
	if (is_egl)
		egl_swap_damage = (PFNEGLSWAPBUFFERSWITHDAMAGEKHRPROC)GET(eglGetProcAddress)(
			"eglSwapBuffersWithDamageKHR");
	else
		glx_swap_msc = (PFNGLXSWAPBUFFERSMSCOMLPROC)GET(glXGetProcAddressARB)(
			(const GLubyte *)"glXSwapBuffersMscOML");
	if (uses_lookup && is_egl)
		egl_swap = (PFNEGLSWAPBUFFERSPROC)GET(eglGetProcAddress)("eglSwapBuffers");
	else if (uses_lookup)
		glx_swap = (void (*)(Display *, GLXDrawable))GET(glXGetProcAddressARB)(
			(const GLubyte *)"glXSwapBuffers");
}

static void draw(int frame)
{
	unsigned char pixels[SIZE * SIZE * 4];
	unsigned int sum = 0;

	GET(glClearColor)((float)(frame % 5) / 5, 0.5f, 0.25f, 1);
	GET(glClear)(GL_COLOR_BUFFER_BIT);
	GET(glReadPixels)(0, 0, SIZE, SIZE, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
	for (size_t i = 0; i < sizeof(pixels); i++)
		sum = sum * 31 + pixels[i];
	printf("picture %u\n", sum);
}

static void say(unsigned long surface, uint64_t begin)
{
	printf("swap %d %lu %llu %llu\n", (int)gettid(), surface, (unsigned long long)begin,
	       (unsigned long long)now());
}

/* Frames that are late by plan: the lines between which they are. */

struct late {
	int first;
	int last;
};

/* Of a thread that runs, the line is that at which its function begins. */
enum {
	CROWD_LINE = __LINE__
};
__attribute__((noinline)) static void simulate_crowd(struct late *late)
{
	uint64_t until = now() + LATE_NS;
	volatile unsigned int sum = 0;

	late->first = CROWD_LINE;
	while (now() < until)
		for (unsigned int i = 0; i < 100000; i++)
			sum += i;
	late->last = __LINE__;
}

__attribute__((noinline)) static void load_level(struct late *late)
{
	const struct timespec time = { .tv_nsec = LATE_NS };

	late->first = __LINE__;
	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
	late->last = __LINE__;
}

static void be_late(int frame)
{
	struct late late = { 0 };
	bool is_cpu = frame == 20, is_sleep = frame == 40;

	if (is_cpu)
		simulate_crowd(&late);
	else if (is_sleep)
		load_level(&late);
	if (is_cpu || is_sleep)
		printf("late %d %s %d %d\n", frame, is_cpu ? "simulate_crowd" : "load_level",
		       late.first, late.last);
}

static void wait_for_next(uint64_t *next)
{
	struct timespec time;

	*next = *next + FRAME_NS > now() ? *next + FRAME_NS : now();
	time = (struct timespec){ .tv_sec = (time_t)(*next / 1000000000u),
				  .tv_nsec = (long)(*next % 1000000000u) };
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

/* With EGL. */

static EGLDisplay display;
static EGLConfig config;

static EGLSurface make_pbuffer(void)
{
	static const EGLint size[] = { EGL_WIDTH, SIZE, EGL_HEIGHT, SIZE, EGL_NONE };
	EGLSurface surface = GET(eglCreatePbufferSurface)(display, config, size);

	if (!surface)
		fail("eglCreatePbufferSurface");
	return surface;
}

static void make_current(EGLSurface surface)
{
	EGLContext context;

	GET(eglBindAPI)(EGL_OPENGL_API);
	context = GET(eglCreateContext)(display, config, EGL_NO_CONTEXT, NULL);
	if (!context || !GET(eglMakeCurrent)(display, surface, surface, context))
		fail("eglMakeCurrent");
}

__attribute__((noinline)) static void present_egl(EGLSurface surface, int frame)
{
	EGLint all[] = { 0, 0, SIZE, SIZE };
	uint64_t begin = now();
	EGLBoolean good = frame % 4 == 3 && egl_swap_damage && getenv("PROGRAM_DAMAGE") ?
				  egl_swap_damage(display, surface, all, 1) :
				  egl_swap(display, surface);

	say((unsigned long)surface, begin);
	if (!good || GET(eglGetError)() != EGL_SUCCESS)
		fail("eglSwapBuffers");
}

static void *run_egl(void *frames)
{
	EGLSurface surfaces[2] = { make_pbuffer(), make_pbuffer() };

	for (int i = 0; i < 2; i++) {
		make_current(surfaces[i]);
		for (int frame = 0; frame < *(int *)frames; frame++) {
			draw(frame);
			present_egl(surfaces[i], frame);
		}
	}
	return NULL;
}

static void open_egl(EGLenum platform, void *native)
{
	static const EGLint wanted[] = { EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
					 EGL_OPENGL_BIT, EGL_NONE };
	EGLint count = 0;

	display = GET(eglGetPlatformDisplay)(platform, native, NULL);
	if (!display || !GET(eglInitialize)(display, NULL, NULL) ||
	    !GET(eglChooseConfig)(display, wanted, &config, 1, &count) || !count)
		fail("EGL");
	find_swaps(true);
}

static void use_egl(int frames, int threads)
{
	pthread_t thread[2];

	open_egl(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY);
	if (threads == 1) {
		run_egl(&frames);
		return;
	}
	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, run_egl, &frames);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
}

/* No surface, and one that is gone. */
static void use_wrong(void)
{
	EGLSurface surface;

	open_egl(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY);
	printf("result %u\n", egl_swap(display, EGL_NO_SURFACE));
	printf("error %x\n", (unsigned int)GET(eglGetError)());
	surface = make_pbuffer();
	GET(eglDestroySurface)(display, surface);
	printf("result %u\n", egl_swap(display, surface));
	printf("error %x\n", (unsigned int)GET(eglGetError)());
}

/* With an X server. */

static Display *server;

static Window make_window(int depth, Visual *visual)
{
	Window root = GET(XDefaultRootWindow)(server);
	XSetWindowAttributes attributes = { 0 };
	Window win;

	attributes.colormap = GET(XCreateColormap)(server, root, visual, AllocNone);
	win = GET(XCreateWindow)(server, root, 0, 0, SIZE, 2 * SIZE, 0, depth, InputOutput, visual,
				 CWColormap | CWBorderPixel, &attributes);
	GET(XMapWindow)(server, win);
	return win;
}

__attribute__((noinline)) static void present_glx(Window win, int frame)
{
	uint64_t begin = now();

	if (frame % 4 == 3 && glx_swap_msc && getenv("PROGRAM_MSC"))
		(void)glx_swap_msc(server, win, 0, 0, 0);
	else
		glx_swap(server, win);
	say(win, begin);
}

static void use_glx(int frames, int count, bool has_late)
{
	int wanted[] = { GLX_RGBA, GLX_DOUBLEBUFFER, None };
	uint64_t next = now();
	XVisualInfo *visual;
	Window windows[2];

	visual = GET(glXChooseVisual)(server, 0, wanted);
	if (!visual)
		fail("glXChooseVisual");
	find_swaps(false);
	for (int i = 0; i < count; i++) {
		GLXContext context = GET(glXCreateContext)(server, visual, NULL, True);

		windows[i] = make_window(visual->depth, visual->visual);
		if (!GET(glXMakeCurrent)(server, windows[i], context))
			fail("glXMakeCurrent");
		for (int frame = 0; frame < frames; frame++) {
			if (has_late)
				be_late(frame + 1);
			draw(frame);
			present_glx(windows[i], frame);
			if (has_late)
				wait_for_next(&next);
		}
	}
}

static void use_window(int frames)
{
	int screen = GET(XDefaultScreen)(server);
	EGLSurface surface;
	Window win;

	open_egl(EGL_PLATFORM_X11_KHR, server);
	win = make_window(GET(XDefaultDepth)(server, screen), GET(XDefaultVisual)(server, screen));
	surface = GET(eglCreateWindowSurface)(display, config, win, NULL);
	if (!surface)
		fail("eglCreateWindowSurface");
	make_current(surface);
	for (int frame = 0; frame < frames; frame++) {
		draw(frame);
		present_egl(surface, frame);
	}
}

/* What dlsym() says of handles that stand for no library. */
static void ask_dlsym(void)
{
	static const char *const names[] = { "eglSwapBuffers", "glXGetProcAddressARB", "malloc",
					     "none" };
	void *self = dlopen(NULL, RTLD_LAZY);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		printf("%s: %d in all, %d in the program, %d next\n", names[i],
		       !!dlsym(RTLD_DEFAULT, names[i]), !!dlsym(self, names[i]),
		       names[i][0] != 'm' ||
			       dlsym(RTLD_NEXT, names[i]) == dlsym(RTLD_DEFAULT, names[i]));
	printf("error %d\n", !!dlerror());
}

/* Who uses EGL and presents nothing. */
static void stay_quiet(void)
{
	FILE *maps;
	char line[4096];
	bool has_library = false;

	open_egl(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY);
	make_current(make_pbuffer());
	draw(1);
	maps = fopen("/proc/self/maps", "re");
	while (maps && fgets(line, sizeof(line), maps))
		has_library |= strstr(line, "libgpumon-inject.so") != NULL;
	printf("library %d\n", has_library);
}

#ifndef LINKED
/* The other binary is beside this one. */
static void become_linked(char **argv)
{
	char path[4096];

	snprintf(path, sizeof(path), "%.*s/linked", (int)(strrchr(argv[0], '/') - argv[0]),
		 argv[0]);
	execv(path, argv);
	fail(path);
}
#endif

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[2] : "";
	int frames = argc > 3 ? atoi(argv[3]) : 1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 3)
		fail("usage: program linked|dlsym|lookup MODE [FRAMES]");
#ifndef LINKED
	if (!strcmp(argv[1], "linked"))
		become_linked(argv);
#endif
	uses_lookup = !strcmp(argv[1], "lookup");
	if (!strcmp(mode, "ask")) {
		ask_dlsym();
		return 0;
	}
	open_libraries();
	if (!strcmp(mode, "glx") || !strcmp(mode, "stutter") || !strcmp(mode, "window")) {
		GET(XInitThreads)();
		server = GET(XOpenDisplay)(NULL);
		if (!server)
			fail("XOpenDisplay");
	}
	if (!strcmp(mode, "egl"))
		use_egl(frames, 1);
	else if (!strcmp(mode, "threads"))
		use_egl(frames, 2);
	else if (!strcmp(mode, "wrong"))
		use_wrong();
	else if (!strcmp(mode, "glx"))
		use_glx(frames, 2, false);
	else if (!strcmp(mode, "stutter"))
		use_glx(frames, 1, true);
	else if (!strcmp(mode, "window"))
		use_window(frames);
	else if (!strcmp(mode, "quiet"))
		stay_quiet();
	else
		fail("mode");
	return 0;
}
