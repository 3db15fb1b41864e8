// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A program for CUDA: does what its arguments say, in their order, and prints what came of it.
 *
 *	context, primary	make a context, or take the primary one
 *	use N, none		make context N current, or none
 *	destroy, release, reset	end the newest context; of the primary one
 *	load HOW FILE		push a module; HOW is one of "loaders" below
 *	unload			pop it
 *	launch KERNEL BxT*N	of the newest module: N times, B blocks of T
 *	threads N KERNEL BxT*M	the same in N threads at a time
 *	background KERNEL BxT	in a thread that nobody waits for
 *	together KERNEL BxT*N	the same by cooperative launches, together-ex: by attribute of cuLaunchKernelEx
 *	graph KERNEL BxT*N	captured into a graph, with work in between, which is launched twice
 *	churn N FILE KERNEL BxT	N times: load, launch, unload
 *	contexts N FILE KERNEL BxT	N times: make a context, load, launch, destroy
 *	wait			for the current context
 *	recorded-no-more	wait until the library has written its last record
 *	largest-file N		no file may have more bytes from now on
 *	spare-descriptors N	no more descriptors than so many from now on
 *	fork, kill, _exit N, exit N, close, sleep MS
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda.h>

#include "../../../user/abi/channel.h"

#define WORDS	4096
#define LIMIT	100 /* only these words are changed */
#define HANDLES 80

CUresult mock_context_create(CUcontext *handle, CUdevice device);
const void *mock_last_begun(void);

struct context {
	CUcontext handle;
	CUdeviceptr buffer;
};

struct module {
	void *handle;
	bool is_library;
	int context;
};

struct grid {
	const char *kernel;
	unsigned int blocks, threads, times;
	CUfunction function;
	struct context *context;
	enum way {
		ALONE,
		TOGETHER,
		TOGETHER_EX
	} way;
};

static struct context contexts[HANDLES];
static int contexts_n, current = -1;
static struct module modules[HANDLES];
static int modules_n;

/* Also used by the library. TEST_READ_MAX=BYTES: what is behind so many bytes of a file cannot be read. */
ssize_t pread(int fd, void *data, size_t size, off_t at)
{
	const char *text = getenv("TEST_READ_MAX");
	off_t most = text ? atol(text) : INT64_MAX;

	if (at >= most) {
		errno = EIO;
		return -1;
	}
	return syscall(SYS_pread64, fd, data,
		       size < (size_t)(most - at) ? size : (size_t)(most - at), at);
}

static int say(const char *what, int result)
{
	printf("%s %d\n", what, result);
	return result;
}

static void make_buffer(struct context *context)
{
	static const uint32_t zeroes[WORDS];

	if (cuMemAlloc(&context->buffer, sizeof(zeroes)) == CUDA_SUCCESS)
		cuMemcpyHtoDAsync(context->buffer, zeroes, sizeof(zeroes), NULL);
	else
		printf("no buffer\n");
}

static char *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "re");
	char *data = malloc(1 << 20);

	*size = file ? fread(data, 1, (1 << 20) - 1, file) : 0;
	if (file)
		fclose(file);
	data[*size] = '\0';
	return realloc(data, *size + 1);
}

static int load_data(struct module *module, const void *data, size_t size)
{
	(void)size;
	return cuModuleLoadData((CUmodule *)&module->handle, data);
}

/* With zeroes behind it, as it says that it is larger than its file. */
static int load_huge(struct module *module, const void *data, size_t size)
{
	const size_t room = 2ul << 30;
	void *huge = mmap(NULL, room, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int result;

	if (huge == MAP_FAILED)
		return -1;
	memcpy(huge, data, size);
	result = cuModuleLoadData((CUmodule *)&module->handle, huge);
	munmap(huge, room);
	return result;
}

static int load_data_ex(struct module *module, const void *data, size_t size)
{
	(void)size;
	return cuModuleLoadDataEx((CUmodule *)&module->handle, data, 0, NULL, NULL);
}

static int load_fat_binary(struct module *module, const void *data, size_t size)
{
	(void)size;
	return cuModuleLoadFatBinary((CUmodule *)&module->handle, data);
}

/* As what the compiler makes for the runtime. */
static int load_wrapper(struct module *module, const void *data, size_t size)
{
	const struct {
		uint32_t magic, version;
		const void *container, *more;
	} wrapper = { 0x466243b1, 1, data, NULL };

	(void)size;
	return cuModuleLoadFatBinary((CUmodule *)&module->handle, &wrapper);
}

static int load_file(struct module *module, const void *path, size_t size)
{
	(void)size;
	return cuModuleLoad((CUmodule *)&module->handle, path);
}

/* What is in a shared library, as the run time has it for its programs. */
static int load_linked(struct module *module, const void *path, size_t size)
{
	void *library = dlopen(path, RTLD_NOW);

	(void)size;
	if (!library)
		return -1;
	return cuModuleLoadData((CUmodule *)&module->handle, dlsym(library, "image"));
}

static CUjitInputType type_of(const char *data)
{
	return strncmp(data, "\177ELF", 4) == 0		 ? CU_JIT_INPUT_CUBIN :
	       strncmp(data, "\x50\xed\x55\xba", 4) == 0 ? CU_JIT_INPUT_FATBINARY :
							   CU_JIT_INPUT_PTX;
}

static int finish_link(struct module *module, CUlinkState state, int result)
{
	void *cubin;
	size_t size;

	if (!result)
		result = cuLinkComplete(state, &cubin, &size);
	if (!result)
		result = cuModuleLoadData((CUmodule *)&module->handle, cubin);
	cuLinkDestroy(state);
	return result;
}

static int load_link(struct module *module, const void *data, size_t size)
{
	CUjitInputType type = type_of(data);
	CUlinkState state;

	cuLinkCreate(0, NULL, NULL, &state);
	return finish_link(module, state,
			   cuLinkAddData(state, type, (void *)(uintptr_t)data,
					 size + (type == CU_JIT_INPUT_PTX), "name", 0, NULL, NULL));
}

static int load_link_file(struct module *module, const void *path, size_t size)
{
	char *data = read_file(path, &size);
	CUjitInputType type = type_of(data);
	CUlinkState state;

	free(data);
	cuLinkCreate(0, NULL, NULL, &state);
	return finish_link(module, state, cuLinkAddFile(state, type, path, 0, NULL, NULL));
}

#if CUDA_VERSION >= 12000
static int load_library(struct module *module, const void *data, size_t size)
{
	(void)size;
	module->is_library = true;
	return cuLibraryLoadData((CUlibrary *)&module->handle, data, NULL, NULL, 0, NULL, NULL, 0);
}

static int load_library_file(struct module *module, const void *path, size_t size)
{
	(void)size;
	module->is_library = true;
	return cuLibraryLoadFromFile((CUlibrary *)&module->handle, path, NULL, NULL, 0, NULL, NULL,
				     0);
}
#endif

static const struct {
	const char *how;
	int (*load)(struct module *module, const void *data, size_t size);
	bool by_path;
} loaders[] = {
	{ "data", load_data, false },
	{ "data-ex", load_data_ex, false },
	{ "fat-binary", load_fat_binary, false },
	{ "wrapper", load_wrapper, false },
	{ "huge", load_huge, false },
	{ "file", load_file, true },
	{ "linked", load_linked, true },
	/* Through the linker. */
	{ "link", load_link, false },
	{ "link-file", load_link_file, true },
#if CUDA_VERSION >= 12000
	{ "library", load_library, false },
	{ "library-file", load_library_file, true },
#endif
};

static int load(const char *how, const char *path)
{
	struct module module = { .context = current };
	int result = -1;
	char *data;
	size_t size;

	for (size_t i = 0; i < sizeof(loaders) / sizeof(loaders[0]); i++) {
		if (strcmp(loaders[i].how, how) != 0)
			continue;
		data = read_file(path, &size);
		result = loaders[i].load(&module, loaders[i].by_path ? path : data, size);
		/* CUDA has read it. */
		memset(data, 'x', size);
		free(data);
	}
	if (!result)
		modules[modules_n++] = module;
	return result;
}

static int set_limit(int resource, rlim_t most)
{
	const struct rlimit limit = { most, most };

	return setrlimit(resource, &limit);
}

static int limit_descriptors(int spare)
{
	int first = dup(0);

	close(first);
	return set_limit(RLIMIT_NOFILE, (rlim_t)(first + spare));
}

static int unload(void)
{
	struct module *module = &modules[--modules_n];

#if CUDA_VERSION >= 12000
	if (module->is_library)
		return cuLibraryUnload((CUlibrary)module->handle);
#endif
	return cuModuleUnload((CUmodule)module->handle);
}

/* KERNEL BxT*N of the newest module that has it */
static int find_grid(char **words, struct grid *grid)
{
	int result = CUDA_ERROR_NOT_FOUND;

	memset(grid, 0, sizeof(*grid));
	grid->times = 1;
	grid->context = &contexts[current < 0 ? 0 : current];
	grid->kernel = words[0];
	/* "*N" may be missing. */
	if (sscanf(words[1], "%ux%u*%u", &grid->blocks, &grid->threads, &grid->times) < 2)
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = modules_n; i-- > 0 && result;) {
#if CUDA_VERSION >= 12000
		if (modules[i].is_library) {
			result = cuLibraryGetKernel((CUkernel *)&grid->function,
						    (CUlibrary)modules[i].handle, grid->kernel);
			continue;
		}
#endif
		result = cuModuleGetFunction(&grid->function, (CUmodule)modules[i].handle,
					     grid->kernel);
	}
	return result;
}

static int launch_in(const struct grid *grid, CUstream stream)
{
	CUdeviceptr buffer = grid->context->buffer;
	uint32_t limit = LIMIT;
	void *parameters[] = { &buffer, &limit };
	CUlaunchAttribute cooperative = { .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
					  .value.cooperative = 1 };
	const CUlaunchConfig config = { .gridDimX = grid->blocks,
					.gridDimY = 1,
					.gridDimZ = 1,
					.blockDimX = grid->threads,
					.blockDimY = 1,
					.blockDimZ = 1,
					.hStream = stream,
					.attrs = &cooperative,
					.numAttrs = 1 };
	int result = 0;

	for (unsigned int i = 0; i < grid->times && !result; i++) {
		if (grid->way == TOGETHER_EX)
			result = cuLaunchKernelEx(&config, grid->function, parameters, NULL);
		else if (grid->way == TOGETHER)
			result = cuLaunchCooperativeKernel(grid->function, grid->blocks, 1, 1,
							   grid->threads, 1, 1, 0, stream,
							   parameters);
		else
			result = cuLaunchKernel(grid->function, grid->blocks, 1, 1, grid->threads,
						1, 1, 0, stream, parameters, NULL);
	}
	return result;
}

/* What the kernels have computed. */
static void print_sum(const struct grid *grid, int result)
{
	static uint32_t words[WORDS];
	uint64_t sum = 0;

	memset(words, 0, sizeof(words));
	cuMemcpyDtoHAsync(words, grid->context->buffer, sizeof(words), NULL);
	for (int i = 0; i < WORDS; i++)
		sum += words[i];
	printf("%s: %d, sum %llu\n", grid->kernel, result, (unsigned long long)sum);
}

static void launch(char **words, enum way way)
{
	struct grid grid;
	int result = find_grid(words, &grid);

	grid.way = way;
	if (!result)
		result = launch_in(&grid, NULL);
	print_sum(&grid, result);
}

static void *run_thread(void *argument)
{
	const struct grid *grid = argument;

	cuCtxSetCurrent(grid->context->handle);
	return (void *)(intptr_t)launch_in(grid, NULL);
}

static void run_threads(int n, char **words)
{
	pthread_t threads[32];
	struct grid grid;
	int result = find_grid(words, &grid);
	void *of_thread;

	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, run_thread, &grid);
	for (int i = 0; i < n; i++) {
		pthread_join(threads[i], &of_thread);
		result |= (int)(intptr_t)of_thread;
	}
	print_sum(&grid, result);
}

static void run_background(char **words)
{
	static struct grid grid;
	pthread_t thread;

	if (find_grid(words, &grid))
		return;
	pthread_create(&thread, NULL, run_thread, &grid);
	pthread_detach(thread);
	while (mock_last_begun() != grid.function)
		usleep(1000);
}

static void run_graph(char **words)
{
	CUgraphExec exec = NULL;
	CUgraph graph = NULL;
	struct grid grid;
	CUstream stream;
	int result = find_grid(words, &grid);

	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	say("capture", cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	result |= launch_in(&grid, stream);
	/* The library's thread copies meanwhile. */
	usleep(700000);
	result |= cuStreamEndCapture(stream, &graph);
	if (!result)
		result = cuGraphInstantiateWithFlags(&exec, graph, 0);
	for (int i = 0; i < 2 && !result; i++)
		result = cuGraphLaunch(exec, stream);
	print_sum(&grid, result);
}

static int make_context(void)
{
	struct context *context = &contexts[contexts_n];
	int result = mock_context_create(&context->handle, 0);

	current = contexts_n++;
	make_buffer(context);
	return result;
}

static int take_primary(void)
{
	struct context *context = &contexts[contexts_n];
	int result = cuDevicePrimaryCtxRetain(&context->handle, 0);

	cuCtxSetCurrent(context->handle);
	current = contexts_n++;
	make_buffer(context);
	return result;
}

static void churn(int n, char **words)
{
	int result = 0;

	for (int i = 0; i < n; i++) {
		struct grid grid;

		result |= load("data", words[0]);
		result |= find_grid(words + 1, &grid);
		result |= launch_in(&grid, NULL);
		result |= unload();
	}
	say("churn", result);
}

/* The newest one; its modules end with it. */
static int destroy_context(void)
{
	contexts_n--;
	while (modules_n && !modules[modules_n - 1].is_library &&
	       modules[modules_n - 1].context == contexts_n)
		modules_n--;
	return cuCtxDestroy(contexts[contexts_n].handle);
}

static void churn_contexts(int n, char **words)
{
	int result = 0;

	for (int i = 0; i < n; i++) {
		struct grid grid;

		result |= make_context();
		result |= load("data", words[0]);
		result |= find_grid(words + 1, &grid);
		result |= launch_in(&grid, NULL);
		result |= destroy_context();
	}
	current = -1;
	say("contexts", result);
}

/* CUDA does not work in the child. */
static void run_child(void)
{
	CUcontext context;
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		say("child", cuCtxGetCurrent(&context));
		exit(3);
	}
	waitpid(pid, &status, 0);
	say("child's status", WEXITSTATUS(status));
}

/* Whether the library has written its last record into a channel, which stays mapped (capture/channel.h). */
static bool is_recorded(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	bool found = false;
	uintptr_t start;
	char line[4096];

	while (maps && !found && fgets(line, sizeof(line), maps))
		found = strstr(line, "gpumon-channel") && sscanf(line, "%lx", &start) == 1 &&
			!((const volatile struct gpumon_channel *)start)->stopped;
	if (maps)
		fclose(maps);
	return found;
}

static void wait_for_end_of_recording(void)
{
	for (int i = 0; i < 6000 && is_recorded(); i++)
		usleep(10000);
}

static int run_word(char **words)
{
	const char *word = words[0];

	if (strcmp(word, "context") == 0)
		return say(word, make_context()), 1;
	if (strcmp(word, "primary") == 0)
		return say(word, take_primary()), 1;
	if (strcmp(word, "none") == 0)
		return current = -1, say(word, cuCtxSetCurrent(NULL)), 1;
	if (strcmp(word, "destroy") == 0)
		return say(word, destroy_context()), 1;
	if (strcmp(word, "release") == 0)
		return say(word, cuDevicePrimaryCtxRelease(0)), 1;
	if (strcmp(word, "reset") == 0)
		return say(word, cuDevicePrimaryCtxReset(0)), 1;
	if (strcmp(word, "unload") == 0)
		return say(word, unload()), 1;
	if (strcmp(word, "wait") == 0)
		return say(word, cuCtxSynchronize()), 1;
	if (strcmp(word, "recorded-no-more") == 0)
		return wait_for_end_of_recording(), 1;
	if (strcmp(word, "fork") == 0)
		return run_child(), 1;
	if (strcmp(word, "close") == 0)
		return say(word, close_range(3, ~0u, 0)), 1;
	if (strcmp(word, "largest-file") == 0)
		return say(word, set_limit(RLIMIT_FSIZE, (rlim_t)atol(words[1]))), 2;
	if (strcmp(word, "spare-descriptors") == 0)
		return say(word, limit_descriptors(atoi(words[1]))), 2;
	if (strcmp(word, "kill") == 0)
		return fflush(stdout), kill(getpid(), SIGKILL);
	if (strcmp(word, "_exit") == 0) {
		fflush(stdout);
		_exit(atoi(words[1]));
	}
	if (strcmp(word, "exit") == 0)
		exit(atoi(words[1]));
	if (strcmp(word, "sleep") == 0)
		return usleep((useconds_t)atoi(words[1]) * 1000), 2;
	if (strcmp(word, "use") == 0) {
		current = atoi(words[1]);
		return say(word, cuCtxSetCurrent(contexts[current].handle)), 2;
	}
	if (strcmp(word, "load") == 0)
		return say(word, load(words[1], words[2])), 3;
	if (strcmp(word, "launch") == 0)
		return launch(words + 1, ALONE), 3;
	if (strcmp(word, "together") == 0)
		return launch(words + 1, TOGETHER), 3;
	if (strcmp(word, "together-ex") == 0)
		return launch(words + 1, TOGETHER_EX), 3;
	if (strcmp(word, "background") == 0)
		return run_background(words + 1), 3;
	if (strcmp(word, "graph") == 0)
		return run_graph(words + 1), 3;
	if (strcmp(word, "threads") == 0)
		return run_threads(atoi(words[1]), words + 2), 4;
	if (strcmp(word, "churn") == 0)
		return churn(atoi(words[1]), words + 2), 5;
	if (strcmp(word, "contexts") == 0)
		return churn_contexts(atoi(words[1]), words + 2), 5;
	fprintf(stderr, "program: what is %s?\n", word);
	exit(99);
}

int main(int argc, char **argv)
{
	int at = 1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	cuInit(0);
	while (at < argc)
		at += run_word(argv + at);
	return 0;
}
