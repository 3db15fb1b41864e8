// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "backend.h"
#include "channel/call.h"
#include "channel/intern.h"
#include "channel/mappings.h"
#include "channel/process.h"
#include "python/stack.h"
#include "session.h"
#include "waits/waits.h"
#include "window.h"

/* If a thread is still within after that long, the channel stays mapped. */
#define OUTSIDE_MS 500

static void write_note(struct inject_thread *thread, uint16_t flags, const char *text)
{
	struct gpumon_record_note record = {
		.head = { .type = GPUMON_RECORD_NOTE, .flags = flags, .size = sizeof(record) },
		.time_ns = inject_now(),
		.text = inject_intern_string(thread, text),
	};

	inject_append(thread, &record);
}

void inject_session_note(struct inject_thread *thread, uint16_t flags, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	write_note(thread, flags, text);
}

/* Interpreters whose functions are in no call path, by the file of their library or the program's name. */
static const struct {
	const char *file;
	const char *name;
} interpreters[] = {
	{ "libpypy", "PyPy" },	{ "pypy", "PyPy" },	{ "graalpy", "GraalPy" },
	{ "libjvm.so", "Java" }, { "libruby", "Ruby" },	{ "ruby", "Ruby" },
	{ "libperl", "Perl" },	{ "perl", "Perl" },	{ "libR.so", "R" },
	{ "liblua", "Lua" },	{ "lua", "Lua" },	{ "libphp", "PHP" },
	{ "php", "PHP" },	{ "libnode", "Node.js" }, { "node", "Node.js" },
	{ "libcoreclr.so", ".NET" }, { "libmonosgen", "Mono" },
};

static const char *interpreter_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
	size_t i, length;

	/* A version may follow, or an ending. */
	for (i = 0; i < sizeof(interpreters) / sizeof(interpreters[0]); i++) {
		length = strlen(interpreters[i].file);
		if (strncmp(file, interpreters[i].file, length) == 0 &&
		    (file[length] < 'A' || file[length] == '_'))
			return interpreters[i].name;
	}
	return NULL;
}

static int find_interpreter(struct dl_phdr_info *info, size_t size, void *found)
{
	(void)size;
	*(const char **)found = interpreter_of(*info->dlpi_name ? info->dlpi_name :
								  program_invocation_short_name);
	return *(const char **)found != NULL;
}

static void look_for_others(struct inject_thread *thread)
{
	static uint32_t told_in;
	uint32_t generation = atomic_load(&inject_session.generation);
	const char *name = NULL;

	if (told_in == generation || !dl_iterate_phdr(find_interpreter, &name))
		return;
	told_in = generation;
	inject_session_note(
		thread, 0,
		"functions of %s are in no call path: those of CPython 3.10 to 3.14 are, and code that a compiler at run time tells of in a perf map",
		name);
}

void inject_session_look_for_python(struct inject_thread *thread)
{
	static uint32_t told_in;
	uint32_t generation = atomic_load(&inject_session.generation);
	const char *problem;

	if (!(inject_session.record & GPUMON_RECORD_PYTHON)) {
		atomic_store(&inject_session.has_python, false);
		return;
	}
	if (!atomic_load(&inject_session.has_python))
		atomic_store(&inject_session.has_python, inject_python_init());
	if (!atomic_load(&inject_session.has_python))
		look_for_others(thread);
	problem = inject_python_problem();
	if (problem && told_in != generation) {
		inject_session_note(thread, GPUMON_NOTE_MISSING, "%s", problem);
		told_in = generation;
	}
}

/*
 * An API that comes while a session begins is started by the thread that begins the session. The API's
 * thread does not wait for that one: it may have the loader's lock, which the other one needs.
 */
static pthread_mutex_t joining = PTHREAD_MUTEX_INITIALIZER;
static bool begins;

static void open_session(bool is_open)
{
	pthread_mutex_lock(&joining);
	begins = is_open;
	atomic_store(&inject_session.is_open, is_open);
	pthread_mutex_unlock(&joining);
}

/* Leave the start of an API to the session that begins just now, or to the next one. */
static bool leave_to_session(const struct inject_backend *backend)
{
	bool is_left;

	pthread_mutex_lock(&joining);
	is_left = begins || !atomic_load(&inject_session.is_open);
	if (is_left)
		inject_backend_register(backend);
	pthread_mutex_unlock(&joining);
	return is_left;
}

/* @count: set to the number of backends. */
static bool reserve_for_backends(const struct gpumon_message_settings *settings,
				 unsigned int *count)
{
	const struct inject_backend *backend;

	*count = 0;
	inject_for_each_backend(backend) {
		if (!backend->reserve(settings))
			return false;
		++*count;
	}
	return true;
}

/* The begin of this library and the end of its code, defined by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _etext[] __attribute__((visibility("hidden")));

/*
 * Code that is not the program's, of an API that a stack may be walked for already: what is behind the
 * last one has all addresses until the new one is whole.
 */
static void add_api_code(const struct inject_backend *backend)
{
	struct inject_code found[INJECT_CODE_MAX], *to = inject_session.code;
	unsigned int count, room;

	while (to->size != UINTPTR_MAX)
		to++;
	room = (unsigned int)(inject_session.code + INJECT_CODE_MAX - to);
	count = backend->code(found, room);
	to[count] = (struct inject_code){ .size = UINTPTR_MAX };
	while (count-- > 0) {
		__atomic_store_n(&to[count].start, found[count].start, __ATOMIC_RELEASE);
		__atomic_store_n(&to[count].size, found[count].size, __ATOMIC_RELEASE);
	}
}

static void find_api_code(unsigned int count)
{
	inject_session.code[0] =
		(struct inject_code){ (uintptr_t)__ehdr_start,
				      (uintptr_t)_etext - (uintptr_t)__ehdr_start };
	inject_session.code[1] = (struct inject_code){ .size = UINTPTR_MAX };
	for (unsigned int i = 0; i < count; i++)
		add_api_code(inject_backends[i]);
}

static bool load_backend(const struct inject_backend *backend, const char **why)
{
	return !backend->load || backend->load(why);
}

/* What the settings ask for and this API cannot do. */
static void say_missing(struct inject_thread *thread, const struct inject_backend *backend)
{
	if (inject_session.settings.stalls_period && !backend->has_stalls)
		inject_session_note(
			thread, GPUMON_NOTE_MISSING,
			"stalls of kernels are missing: --stalls is for programs that use CUDA, and this one uses %s",
			backend->api);
}

/* The code to be left out of stacks has to be known before a backend calls the first hook. */
static void start_backends(struct inject_thread *thread, unsigned int count, bool at_start)
{
	const char *problems[INJECT_BACKENDS_MAX] = { NULL };
	bool is_loaded[INJECT_BACKENDS_MAX];
	struct inject_versions versions = { 0 };
	const struct inject_backend *backend;

	for (unsigned int i = 0; i < count; i++) {
		backend = inject_backends[i];
		is_loaded[i] = load_backend(backend, &problems[i]);
		if (backend->versions)
			backend->versions(&versions);
	}
	inject_process_write(thread, &versions);
	find_api_code(count);
	for (unsigned int i = 0; i < count; i++) {
		backend = inject_backends[i];
		if (backend->describe)
			backend->describe(thread);
		if (is_loaded[i])
			is_loaded[i] = backend->start(thread, at_start, &problems[i]);
		if (!is_loaded[i])
			write_note(thread, GPUMON_NOTE_NO_GPU, problems[i]);
		else
			say_missing(thread, backend);
	}
}

static void join_backend(struct inject_thread *thread, const struct inject_backend *backend)
{
	const char *why = "no memory for what it reports";

	if (!backend->reserve(&inject_session.settings) || !load_backend(backend, &why)) {
		inject_session_note(thread, GPUMON_NOTE_MISSING, "%s: %s", backend->api, why);
		return;
	}
	if (backend->describe)
		backend->describe(thread);
	add_api_code(backend);
	if (!backend->start(thread, true, &why)) {
		inject_session_note(thread, GPUMON_NOTE_MISSING, "%s: %s", backend->api, why);
		return;
	}
	say_missing(thread, backend);
	if (!atomic_load(&inject_session.recording))
		return;
	if (backend->window_calls)
		backend->window_calls(thread, true);
	if (backend->window_operations)
		backend->window_operations(thread, true);
}

/* Start the APIs that came after the first @count. */
static void start_late_backends(struct inject_thread *thread, unsigned int count)
{
	const struct inject_backend *backend;

	for (;;) {
		pthread_mutex_lock(&joining);
		backend = inject_backends[count++];
		begins = backend;
		pthread_mutex_unlock(&joining);
		if (!backend)
			return;
		join_backend(thread, backend);
	}
}

void inject_session_join(const struct inject_backend *backend)
{
	struct inject_thread *thread;
	bool is_locked;

	if (inject_backend_find(backend->api))
		return;
	if (backend->read_environment)
		backend->read_environment();
	if (leave_to_session(backend))
		return;
	/* Before others see it in the list: no window opens and no capture ends meanwhile. */
	is_locked = inject_window_lock_in_program();
	thread = inject_thread_enter(true);
	if (thread && is_locked)
		join_backend(thread, backend);
	else if (thread && !atomic_load(&inject_session.ends))
		inject_session_note(thread, GPUMON_NOTE_MISSING,
				    "%s: the recording was busy when it was initialised",
				    backend->api);
	inject_backend_register(backend);
	if (is_locked)
		inject_window_unlock();
	if (thread) {
		inject_window_catch_up(thread);
		inject_thread_leave(thread);
	}
}

/*
 * The last one stays mapped until the next capture begins: the program may have forbidden to unmap it. The
 * recorder frees its memory.
 */
static struct gpumon_channel_map last_map;

static void leave_channel(void)
{
	last_map = inject_session.map;
	inject_session.map.channel = NULL;
}

bool inject_session_begin(const struct gpumon_channel_map *map,
			  const struct gpumon_message_settings *settings, bool at_start)
{
	struct inject_thread *thread;
	unsigned int count;

	if (!inject_intern_setup() || !reserve_for_backends(settings, &count))
		return false;
	gpumon_channel_unmap(&last_map);
	atomic_store(&inject_clock_ns, settings->clock_ns);
	inject_session.settings = *settings;
	inject_session.at_start = at_start;
	inject_session.record = settings->record;
	inject_session.stack_depth = settings->stack_depth;
	inject_session.stack_room = settings->stack_depth + 16 < GPUMON_STACK_DEPTH_MAX ?
					    settings->stack_depth + 16 :
					    GPUMON_STACK_DEPTH_MAX;
	inject_mappings_reset();
	inject_window_reset();
	atomic_fetch_add(&inject_session.generation, 1);
	inject_session.map = *map;
	atomic_store(&inject_session.ends, false);
	open_session(true);
	thread = inject_thread_enter(true);
	if (!thread) {
		open_session(false);
		return false;
	}
	inject_window_lock();
	start_backends(thread, count, at_start);
	start_late_backends(thread, count);
	inject_window_unlock();
	inject_mappings_write(thread);
	inject_session_look_for_python(thread);
	if (settings->window == GPUMON_WINDOW_ALWAYS)
		inject_window_open(thread, at_start ? "start" : "attach");
	else
		inject_window_catch_up(thread);
	inject_thread_leave(thread);
	inject_waits_begin();
	return true;
}

/* Of OpenCL the recorder knows whether its loader has what is needed (user/record/target). */
static const struct {
	const char *file;
	const char *api;
} libraries[] = {
	{ "libcuda.so", "CUDA" },
	{ "libamdhip64.so", "HIP" },
	{ "libze_loader.so", "Level Zero" },
};

#define LIBRARIES (sizeof(libraries) / sizeof(libraries[0]))

static int find_libraries(struct dl_phdr_info *info, size_t size, void *found)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *file = slash ? slash + 1 : info->dlpi_name;
	size_t i;

	(void)size;
	for (i = 0; i < LIBRARIES; i++)
		if (strncmp(file, libraries[i].file, strlen(libraries[i].file)) == 0)
			((bool *)found)[i] = true;
	return 0;
}

/* APIs that are loaded and have not begun: the program does not use them, or in a way that is not seen. */
static void say_unseen(struct inject_thread *thread)
{
	bool found[LIBRARIES] = { false };
	size_t i;

	dl_iterate_phdr(find_libraries, found);
	for (i = 0; i < LIBRARIES; i++)
		if (found[i] && !inject_backend_find(libraries[i].api))
			inject_session_note(thread, 0,
					    "the library of %s is loaded (%s), and no use of it was seen",
					    libraries[i].api, libraries[i].file);
}

/* The only API that has them so far. */
static void say_no_metrics(struct inject_thread *thread)
{
	if (inject_session.settings.metrics_interval_ns && !inject_backend_find("CUDA"))
		inject_session_note(
			thread, GPUMON_NOTE_MISSING,
			"no metrics of the GPU: they are sampled by CUDA's CUPTI, and the program has not used CUDA");
}

static void say_compared(struct inject_thread *thread)
{
#ifdef GPUMON_COMPARE
	uint64_t all, wrong;

	inject_call_path_compared(&all, &wrong);
	inject_session_note(thread, 0, "%llu stacks compared, %llu differ", (unsigned long long)all,
			    (unsigned long long)wrong);
#else
	(void)thread;
#endif
}

void inject_session_end(bool recorder_lives, const char *reason, unsigned int settle_ms)
{
	struct gpumon_channel *channel = inject_session.map.channel;
	struct inject_thread *thread = inject_thread_enter(true);
	const struct inject_backend *backend;

	if (!thread)
		return;
	/* An API that comes from now on does not wait: it may have the loader's lock, which the end needs. */
	atomic_store(&inject_session.ends, true);
	inject_waits_end();
	inject_window_lock();
	inject_for_each_backend(backend)
		backend->end(thread, recorder_lives, settle_ms);
	if (recorder_lives) {
		inject_mappings_write(thread);
		inject_window_end(thread, reason);
		say_unseen(thread);
		say_no_metrics(thread);
		say_compared(thread);
	}
	atomic_store(&inject_session.recording, false);
	atomic_store(&inject_session.is_open, false);
	inject_thread_leave(thread);
	if (inject_thread_wait_outside(OUTSIDE_MS)) {
		if (recorder_lives)
			inject_call_finish_open();
		inject_thread_release_blocks();
		__atomic_store_n(&channel->stopped, 1, __ATOMIC_RELEASE);
		leave_channel();
	} else {
		/* A thread may still write to the channel: it stays mapped. */
		__atomic_store_n(&channel->stopped, 1, __ATOMIC_RELEASE);
	}
	inject_window_unlock();
}

void inject_session_forked(void)
{
	bool is_open = atomic_exchange(&inject_session.is_open, false);

	atomic_store(&inject_session.recording, false);
	begins = false;
	pthread_mutex_init(&joining, NULL);
	inject_window_forked();
	inject_waits_forked();
	inject_backends_forked();
	/* The channel is the parent's. */
	if (is_open)
		inject_session.map.channel = NULL;
	last_map.channel = NULL;
}
