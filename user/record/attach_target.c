// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "attach_target.h"
#include "capture/elf_find.h"
#include "lib/array.h"
#include "lib/files.h"
#include "lib/memory.h"
#include "lib/process_info.h"
#include "uprobe_rule.h"

/* Flag of __libc_dlopen_mode(), which C libraries before 2.34 have in place of dlopen(). */
#define MODE_DLOPEN 0x80000000u

/* Longest piece of code that is searched for instructions. */
#define CODE_MAX (8u << 20)

/* --- what the process is */

static int refuse(const struct gpumon_attach_target *target, struct gpumon_error *err,
		  const char *why)
{
	return gpumon_error_set(err, GPUMON_EXIT_IMPOSSIBLE, -ENOTSUP, GPUMON_ERROR_UNSUPPORTED,
				"the library cannot be brought into process %d: %s",
				(int)target->pid, why);
}

static bool read_status(const struct gpumon_attach_target *target, char *text, size_t room)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)target->pid);
	return gpumon_read_short(target->root, path, text, room);
}

static int refuse_traced(const struct gpumon_attach_target *target, int tracer,
			 struct gpumon_error *err)
{
	char path[64], name[64] = "", why[256];

	snprintf(path, sizeof(path), "/proc/%d/comm", tracer);
	if (gpumon_read_short(target->root, path, name, sizeof(name)))
		name[strcspn(name, "\n")] = '\0';
	snprintf(
		why, sizeof(why),
		"%s (process %d) traces it, as debuggers do, and there is one tracer at a time: end that one first",
		name[0] ? name : "another program", tracer);
	return refuse(target, err, why);
}

static int check_status(const struct gpumon_attach_target *target, struct gpumon_error *err)
{
	char text[4096];
	const char *line;
	int tracer = 0;

	if (!read_status(target, text, sizeof(text)))
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -ESRCH, GPUMON_ERROR_GONE,
					"process %d has ended", (int)target->pid);
	line = strstr(text, "\nTracerPid:");
	if (line && sscanf(line, "\nTracerPid: %d", &tracer) == 1 && tracer)
		return refuse_traced(target, tracer, err);
	if (gpumon_process_is_stopped(target->root, target->pid))
		return refuse(target, err,
			      "it is stopped by a signal: let it go on (kill -CONT) and try again");
	line = strstr(text, "\nSeccomp:\t1");
	if (line)
		return refuse(target, err,
			      "it has the strict sandbox (seccomp), which allows nothing");
	line = strstr(text, "\nx86_Thread_features:\t");
	if (line && strstr(line, "shstk"))
		return refuse(target, err, "it uses a shadow stack");
	return 0;
}

static int check_program(const struct gpumon_attach_target *target, struct gpumon_error *err)
{
	unsigned char head[EI_NIDENT + 4];
	uint64_t auxv[64];
	char path[PATH_MAX];
	uint16_t machine;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%s/proc/%d/exe", target->root, (int)target->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -errno, GPUMON_ERROR_PERMISSION,
			"the library cannot be brought into process %d: its program cannot be read (%s): be its user or root",
			(int)target->pid, strerror(errno));
	got = read(fd, head, sizeof(head));
	close(fd);
	memcpy(&machine, head + EI_NIDENT + 2, sizeof(machine));
	if (got != sizeof(head) || memcmp(head, ELFMAG, SELFMAG) != 0)
		return refuse(target, err, "its program is no ELF file");
	if (head[EI_CLASS] != ELFCLASS64 || machine != EM_X86_64)
		return refuse(
			target, err,
			"it is of another architecture than x86-64: start it with CUDA_INJECTION64_PATH");
	snprintf(path, sizeof(path), "%s/proc/%d/auxv", target->root, (int)target->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? 0 : read(fd, auxv, sizeof(auxv));
	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i + 1 < got / (ssize_t)sizeof(auxv[0]); i += 2)
		if (auxv[i] == AT_SECURE && auxv[i + 1])
			return refuse(
				target, err,
				"it has more rights than the user that started it (setuid or file capabilities)");
	return 0;
}

/* --- its mappings */

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool has_prefix(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* "libc" as libc.so.6, libc-2.31.so. */
static bool is_library(const char *name, const char *stem)
{
	size_t length = strlen(stem);

	return has_prefix(name, stem) &&
	       (has_prefix(name + length, ".so") ||
		(name[length] == '-' && name[length + 1] >= '0' && name[length + 1] <= '9'));
}

static bool is_c_library(const char *name)
{
	return is_library(name, "libc") || is_library(name, "libpthread") ||
	       is_library(name, "libdl") || is_library(name, "ld") || has_prefix(name, "ld-linux");
}

static bool is_allocator(const char *name)
{
	static const char *const stems[] = { "libjemalloc", "libtcmalloc", "libmimalloc",
					     "libhoard",    "libsnmalloc", "librpmalloc",
					     "libtbbmalloc" };

	for (size_t i = 0; i < sizeof(stems) / sizeof(stems[0]); i++)
		if (has_prefix(name, stems[i]))
			return true;
	return false;
}

/**
 * struct scan - what the mappings say
 * @has_c: the C library is there
 * @has_loader: its loader is
 * @is_musl: another one is
 * @has_cuda: the driver's library is there
 * @sanitizer: file of a sanitizer's library, or ""
 */
struct scan {
	struct gpumon_attach_target *target;
	char program[PATH_MAX];
	bool has_c;
	bool has_loader;
	bool is_musl;
	bool has_cuda;
	char sanitizer[64];
};

static void add_span(struct gpumon_attach_span **spans, size_t *count, uint64_t start, uint64_t end)
{
	struct gpumon_attach_span *span = gpumon_grow((void **)spans, count, sizeof(**spans));

	*span = (struct gpumon_attach_span){ start, end };
}

static struct gpumon_uprobe_file *find_file(struct gpumon_uprobe_process *process, const char *path,
					    uint64_t device, uint64_t inode)
{
	struct gpumon_uprobe_file *file, **added;

	for (size_t i = 0; i < process->file_count; i++)
		if (process->files[i]->inode == inode && process->files[i]->device == device &&
		    !strcmp(process->files[i]->path, path))
			return process->files[i];
	file = gpumon_calloc(1, sizeof(*file));
	file->device = device;
	file->inode = inode;
	file->path = gpumon_strdup(path);
	file->fd = -1;
	added = GPUMON_GROW(process->files, process->file_count);
	*added = file;
	return file;
}

static int find_malloc(void *data, const struct gpumon_elf_function *function)
{
	*(bool *)data = function->dynamic && !strcmp(function->name, "malloc");
	return *(bool *)data;
}

static bool has_malloc(const struct gpumon_uprobe_process *process,
		       const struct gpumon_uprobe_map *map)
{
	int fd = gpumon_uprobe_process_open(process, map);
	const char *why;
	bool has = false;

	if (fd < 0)
		return false;
	(void)gpumon_elf_functions(fd, find_malloc, &has, &why);
	close(fd);
	return has;
}

static void see_map(struct scan *scan, const struct gpumon_uprobe_map *map, char *path,
		    uint64_t device, uint64_t inode)
{
	struct gpumon_attach_target *target = scan->target;
	struct gpumon_uprobe_process *process = &target->library;
	const char *name = file_name(path);
	struct gpumon_uprobe_file file = { .path = path, .device = device, .inode = inode };
	struct gpumon_uprobe_map own = *map, *added;

	scan->has_cuda |= is_library(name, "libcuda");
	scan->is_musl |= has_prefix(name, "ld-musl") || has_prefix(name, "libc.musl");
	if (has_prefix(name, "libasan.") || has_prefix(name, "libtsan.") ||
	    has_prefix(name, "libclang_rt."))
		snprintf(scan->sanitizer, sizeof(scan->sanitizer), "%s", name);
	if (is_c_library(name) || !strcmp(name, "[vdso]")) {
		scan->has_c |= is_library(name, "libc");
		scan->has_loader |= is_library(name, "ld") || has_prefix(name, "ld-linux");
		added = GPUMON_GROW(process->maps, process->map_count);
		*added = own;
		added->file = find_file(process, path, device, inode);
		return;
	}
	own.file = &file;
	if (is_allocator(name) || (!strcmp(path, scan->program) && has_malloc(process, &own)))
		add_span(&target->allocators, &target->allocator_count, map->start, map->end);
}

static int read_maps(struct scan *scan, struct gpumon_error *err)
{
	struct gpumon_attach_target *target = scan->target;
	char path[PATH_MAX], *line = NULL;
	size_t room = 0;
	FILE *maps;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/proc/%d/exe", target->root, (int)target->pid);
	n = readlink(path, scan->program, sizeof(scan->program) - 1);
	scan->program[n > 0 ? n : 0] = '\0';
	snprintf(path, sizeof(path), "%s/proc/%d/maps", target->root, (int)target->pid);
	maps = fopen(path, "re");
	if (!maps)
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -errno, GPUMON_ERROR_PERMISSION,
			"the library cannot be brought into process %d: what it has mapped may not be read (%s): be its user or root",
			(int)target->pid, strerror(errno));
	while (getline(&line, &room, maps) > 0) {
		struct gpumon_uprobe_map map = { 0 };
		unsigned int major, minor;
		char permissions[5], *name;
		uint64_t inode;
		int at = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
			   &map.start, &map.end, permissions, &map.offset, &major, &minor, &inode,
			   &at) < 7 ||
		    !at || permissions[2] != 'x')
			continue;
		name = line + at;
		name[strcspn(name, "\n")] = '\0';
		n = (ssize_t)strlen(name);
		if (n > 10 && !strcmp(name + n - 10, " (deleted)"))
			name[n - 10] = '\0';
		if (name[0])
			see_map(scan, &map, name, makedev(major, minor), inode);
	}
	free(line);
	fclose(maps);
	return 0;
}

/* --- its functions */

/* Functions that wait, called by the program itself. None of them allocates or holds a lock that others need. */
static const char *const waiting[] = {
	"poll",
	"__poll",
	"ppoll",
	"select",
	"__select",
	"pselect",
	"read",
	"__read",
	"readv",
	"pread64",
	"write",
	"__write",
	"writev",
	"recv",
	"recvfrom",
	"recvmsg",
	"send",
	"sendto",
	"sendmsg",
	"accept",
	"accept4",
	"nanosleep",
	"__nanosleep",
	"clock_nanosleep",
	"usleep",
	"sleep",
	"pause",
	"epoll_wait",
	"epoll_pwait",
	"epoll_pwait2",
	"pthread_cond_wait",
	"pthread_cond_timedwait",
	"pthread_cond_clockwait",
	"pthread_mutex_lock",
	"__pthread_mutex_lock",
	"pthread_mutex_timedlock",
	"pthread_mutex_clocklock",
	"pthread_rwlock_rdlock",
	"pthread_rwlock_wrlock",
	"pthread_barrier_wait",
	"pthread_join",
	"pthread_timedjoin_np",
	"pthread_clockjoin_np",
	"sem_wait",
	"sem_timedwait",
	"sem_clockwait",
	"wait",
	"wait4",
	"waitpid",
	"__waitpid",
	"waitid",
	"sigwait",
	"sigwaitinfo",
	"sigtimedwait",
	"sigsuspend",
	"sched_yield",
	"__sched_yield",
	"semop",
	"semtimedop",
	"msgrcv",
	"clock_gettime",
	"__clock_gettime",
	"gettimeofday",
	"time",
	"getpid",
	"getppid",
	"ioctl",
	"__ioctl",
};

struct lookup {
	struct gpumon_attach_target *target;
	const struct gpumon_uprobe_file *file;
};

/* Where a place in a file is mapped; 0: nowhere. */
static uint64_t mapped_at(const struct lookup *lookup, uint64_t offset)
{
	const struct gpumon_uprobe_process *process = &lookup->target->library;

	for (size_t i = 0; i < process->map_count; i++) {
		const struct gpumon_uprobe_map *map = &process->maps[i];

		if (map->file == lookup->file && offset >= map->offset &&
		    offset - map->offset < map->end - map->start)
			return map->start + (offset - map->offset);
	}
	return 0;
}

/* Names that others may have, too, are the C library's own: of its parts, the first that is there. */
static int take_function(void *data, const struct gpumon_elf_function *function)
{
	const struct lookup *lookup = data;
	struct gpumon_attach_target *target = lookup->target;
	const struct {
		const char *name;
		uint64_t *address;
	} wanted[] = {
		{ "dlopen", &target->dlopen },
		{ "dlsym", &target->dlsym },
		{ "dlerror", &target->dlerror },
		{ "pthread_create", &target->pthread_create },
		{ "pthread_detach", &target->pthread_detach },
		{ "munmap", &target->munmap },
	};
	uint64_t address;

	if (!function->dynamic || function->ifunc)
		return 0;
	address = mapped_at(lookup, function->offset);
	if (!address)
		return 0;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (!*wanted[i].address && !strcmp(function->name, wanted[i].name))
			*wanted[i].address = address;
	/* Programs with an allocator of their own wait for its locks in this one. */
	if (function->size && !target->allocator_count && !strcmp(function->name, "syscall"))
		add_span(&target->waiting, &target->waiting_count, address,
			 address + function->size);
	for (size_t i = 0; function->size && i < sizeof(waiting) / sizeof(waiting[0]); i++)
		if (!strcmp(function->name, waiting[i]))
			add_span(&target->waiting, &target->waiting_count, address,
				 address + function->size);
	return 0;
}

static int take_older(void *data, const struct gpumon_elf_function *function)
{
	const struct lookup *lookup = data;
	struct gpumon_attach_target *target = lookup->target;

	if (!function->dynamic)
		return 0;
	if (!target->dlopen && !strcmp(function->name, "__libc_dlopen_mode")) {
		target->dlopen = mapped_at(lookup, function->offset);
		target->mode |= MODE_DLOPEN;
	}
	if (!target->dlsym && !strcmp(function->name, "__libc_dlsym"))
		target->dlsym = mapped_at(lookup, function->offset);
	return 0;
}

static const struct gpumon_uprobe_map *first_map(const struct gpumon_attach_target *target,
						 const struct gpumon_uprobe_file *file)
{
	for (size_t i = 0; i < target->library.map_count; i++)
		if (target->library.maps[i].file == file)
			return &target->library.maps[i];
	return NULL;
}

static void list_functions(struct gpumon_attach_target *target,
			   int (*each)(void *data, const struct gpumon_elf_function *function))
{
	for (size_t i = 0; i < target->library.file_count; i++) {
		const struct gpumon_uprobe_map *map = first_map(target, target->library.files[i]);
		struct lookup lookup = { target, target->library.files[i] };
		const char *why;
		int fd;

		if (!map || lookup.file->path[0] != '/')
			continue;
		fd = gpumon_uprobe_process_open(&target->library, map);
		if (fd < 0)
			continue;
		(void)gpumon_elf_functions(fd, each, &lookup, &why);
		close(fd);
	}
}

/* Instructions of the C library, in memory: that is what will run. */
static void search_code(struct gpumon_attach_target *target)
{
	for (size_t i = 0; i < target->library.map_count; i++) {
		const struct gpumon_uprobe_map *map = &target->library.maps[i];
		struct gpumon_remote_code code = { 0 };
		size_t size = map->end - map->start;
		uint8_t *bytes;

		if (map->file->path[0] != '/' || size > CODE_MAX)
			continue;
		bytes = gpumon_malloc(size);
		if (gpumon_remote_read(target->pid, map->start, bytes, size))
			gpumon_remote_find_code(bytes, size, map->start, &code);
		free(bytes);
		if (code.restore && target->restorer_count < GPUMON_ATTACH_RESTORERS)
			target->restorers[target->restorer_count++] = code.restore;
		if (!target->code.call)
			target->code.call = code.call;
		if (!target->code.restore)
			target->code.restore = code.restore;
	}
}

static int refuse_memory(const struct gpumon_attach_target *target, struct gpumon_error *err)
{
	char scope[16] = "";

	(void)gpumon_read_short(target->root, "/proc/sys/kernel/yama/ptrace_scope", scope,
				sizeof(scope));
	if (scope[0] > '0')
		return gpumon_error_set(
			err, GPUMON_EXIT_IMPOSSIBLE, -EPERM, GPUMON_ERROR_PERMISSION,
			"the library cannot be brought into process %d: kernel.yama.ptrace_scope is %c, which forbids it%s",
			(int)target->pid, scope[0],
			scope[0] >= '3' ?
				" to all until the next boot" :
			scope[0] == '2' ?
				" to all but root" :
				" to all but root and its parents (sysctl kernel.yama.ptrace_scope=0)");
	return gpumon_error_set(
		err, GPUMON_EXIT_IMPOSSIBLE, -EPERM, GPUMON_ERROR_PERMISSION,
		"the library cannot be brought into process %d: its memory may not be read: be its user and have no fewer rights than it, or be root (CAP_SYS_PTRACE)",
		(int)target->pid);
}

int gpumon_attach_target_read(struct gpumon_attach_target *target, struct gpumon_error *err)
{
	struct scan scan = { .target = target };
	uint64_t word;
	char why[160];

	target->library.pid = target->pid;
	target->library.root = target->root;
	target->mode = RTLD_NOW;
	if (!GPUMON_REMOTE_POSSIBLE)
		return refuse(
			target, err,
			"that is not yet possible on this kind of processor: start it with CUDA_INJECTION64_PATH");
	if (check_status(target, err) || check_program(target, err) || read_maps(&scan, err))
		return -1;
	if (scan.is_musl)
		return refuse(target, err,
			      "its C library is musl, and the library is made for glibc");
	if (!scan.has_c)
		return refuse(
			target, err,
			scan.has_loader ?
				"it is just being started, and has no C library yet" :
				"it is linked statically, so it has no loader that could take the library");
	if (!scan.has_cuda)
		return refuse(target, err,
			      "it has not loaded libcuda.so.1, so it uses no CUDA (yet)");
	if (scan.sanitizer[0]) {
		snprintf(why, sizeof(why),
			 "it is built with a sanitizer (%.60s), which has to see each thread begin",
			 scan.sanitizer);
		return refuse(target, err, why);
	}
	if (!gpumon_remote_read(target->pid, target->library.maps[0].start, &word, sizeof(word)))
		return refuse_memory(target, err);
	list_functions(target, take_function);
	if (!target->dlopen || !target->dlsym)
		list_functions(target, take_older);
	search_code(target);
	if (!target->pthread_create || !target->pthread_detach)
		return refuse(target, err, "it is linked without threads");
	if (!target->dlopen || !target->dlsym || !target->munmap || !target->code.call ||
	    !target->code.restore)
		return refuse(target, err,
			      "its C library has no dlopen(), or it cannot be read: is it glibc?");
	return 0;
}

void gpumon_attach_target_free(struct gpumon_attach_target *target)
{
	gpumon_uprobe_process_free(&target->library);
	free(target->waiting);
	free(target->allocators);
}

/* --- where a thread is */

/* Frames of the C library, one above the other. */
#define FRAMES_MAX 16
/* How much of a stack is searched for signal handlers. */
#define STACK_MAX  (512u << 10)
#define STACK_PART 4096u

static bool is_in(const struct gpumon_attach_span *spans, size_t count, uint64_t address)
{
	for (size_t i = 0; i < count; i++)
		if (address >= spans[i].start && address < spans[i].end)
			return true;
	return false;
}

static bool is_c_code(const struct gpumon_attach_target *target, uint64_t address)
{
	const struct gpumon_uprobe_map *map = gpumon_uprobe_process_map(&target->library, address);

	return map && map->file->path[0] == '/';
}

/* Below the frame of a handler, the kernel has put where that returns to. */
static bool is_in_handler(const struct gpumon_attach_target *target,
			  const struct gpumon_remote *remote)
{
	uint64_t words[STACK_PART / sizeof(uint64_t)];
	uint64_t at = remote->sp & ~7ull, end = at + STACK_MAX;

	/* Behind it there are stacks of other threads. */
	if (remote->tls > at && remote->tls < end)
		end = remote->tls;
	while (at < end) {
		size_t part = STACK_PART - (at & (STACK_PART - 1));

		if (part > end - at)
			part = (end - at) & ~7ull;
		if (!part)
			return false;
		if (!gpumon_remote_read(target->pid, at, words, part))
			return false;
		for (size_t i = 0; i < part / sizeof(words[0]); i++)
			for (unsigned int k = 0; k < target->restorer_count; k++)
				if (words[i] == target->restorers[k])
					return true;
		at += part;
	}
	return false;
}

/* Goes to the caller of the function at @pc. False: it has none, or that is not known. */
static bool step_outward(const struct gpumon_attach_target *target, bool is_first, uint64_t *pc,
			 uint64_t *sp, uint64_t *fp)
{
	struct uprobe_rule rule;
	uint64_t cfa, ra;

	/* The rule is for a return address. Where the thread is, the instruction itself counts. */
	(void)gpumon_uprobe_rule(&target->library, *pc + is_first, &rule);
	if (rule.kind != UPROBE_RULE_SP && rule.kind != UPROBE_RULE_FP)
		return false;
	cfa = (rule.kind == UPROBE_RULE_SP ? *sp : *fp) + (uint64_t)(int64_t)rule.cfa;
	if (cfa <= *sp ||
	    !gpumon_remote_read(target->pid, cfa + (uint64_t)(int64_t)rule.ra, &ra, sizeof(ra)))
		return false;
	if (rule.fp != UPROBE_FP_SAME &&
	    !gpumon_remote_read(target->pid, cfa + (uint64_t)(int64_t)rule.fp, fp, sizeof(*fp)))
		return false;
	*sp = cfa;
	*pc = ra;
	return ra;
}

const char *gpumon_attach_judge(const struct gpumon_attach_target *target,
				const struct gpumon_remote *remote)
{
	uint64_t pc = remote->pc, sp = remote->sp, fp = remote->fp, outermost = 0;
	bool is_first = true;
	unsigned int frames = 0;

	if (is_in_handler(target, remote))
		return "in a signal handler";
	while (gpumon_uprobe_process_map(&target->library, pc - !is_first)) {
		if (is_c_code(target, pc - !is_first))
			outermost = pc - !is_first;
		if (++frames > FRAMES_MAX || !step_outward(target, is_first, &pc, &sp, &fp))
			return "in a function of the C library that is not known";
		is_first = false;
	}
	if (is_in(target->allocators, target->allocator_count, pc))
		return "in the program's allocator";
	if (outermost && !is_in(target->waiting, target->waiting_count, outermost))
		return "in a function of the C library that may hold a lock";
	return NULL;
}
