// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <fcntl.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api_loader.h"
#include "files.h"

#define OPENCL_LOADER "libOpenCL.so.1"
#define CUDA_LIBRARY  "libcuda.so.1"
#define WSL_CUDA      "/usr/lib/wsl/lib/" CUDA_LIBRARY

/* Larger files are no loader. */
#define SIZE_MAX_LOADER (64 << 20)

/* For free(); NULL if it cannot be read. */
static char *read_binary(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *text = NULL;

	if (fd < 0)
		return NULL;
	text = gpumon_read_whole(fd, SIZE_MAX_LOADER, size);
	close(fd);
	return text;
}

static bool has_word(const char *path, const char *word)
{
	size_t size;
	char *text = read_binary(path, &size);
	bool found = text && memmem(text, size, word, strlen(word));

	free(text);
	return found;
}

/* A file of a name in the usual folders, of several in one the newest. @path has room for PATH_MAX, and gets @root, too. */
static bool find_library(const char *root, const char *name, char *path)
{
	static const char *const folders[] = {
		"/usr/lib/*-linux-gnu",
		"/usr/lib64",
		"/usr/lib",
		"/usr/local/lib",
		/* NixOS, whose programs bring everything else. */
		"/run/opengl-driver/lib",
		"/usr/local/cuda*/lib64",
		"/opt/rocm*/lib",
		/* Of NVIDIA's driver: Debian, Tegra, containers of the cloud, older kernels than CUDA. */
		"/usr/lib/*-linux-gnu/nvidia/*",
		"/usr/lib/*-linux-gnu/nvidia",
		"/usr/lib/*-linux-gnu/tegra",
		"/usr/local/nvidia/lib64",
		"/usr/local/cuda*/compat",
	};
	bool found = false;

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders) && !found; i++) {
		char pattern[PATH_MAX];
		glob_t files;

		if ((size_t)snprintf(pattern, sizeof(pattern), "%s%s/%s", root, folders[i], name) >=
		    sizeof(pattern))
			continue;
		found = !glob(pattern, 0, NULL, &files);
		if (found)
			snprintf(path, PATH_MAX, "%s", files.gl_pathv[files.gl_pathc - 1]);
		globfree(&files);
	}
	return found;
}

/* As bits of enum gpumon_apis. HIP and OpenGL need no headers. */
static const struct {
	const char *name, *headers;
} apis_known[] = {
	{ "CUDA", "cuda-cupti-dev for CUDA (or CUDA=FOLDER)" },
	{ "HIP", NULL },
	{ "OpenCL", "opencl-c-headers for OpenCL" },
	{ "Level Zero", "libze-dev for Level Zero" },
	{ "Vulkan", "libvulkan-dev for Vulkan" },
	{ "OpenGL", NULL },
};

#define APIS_KNOWN (sizeof(apis_known) / sizeof(*apis_known))

/* Of the words of each API, in the order of enum gpumon_apis. */
static unsigned int find_words(const char *path, const char *const words[APIS_KNOWN][2],
			       bool with_ends)
{
	unsigned int apis = 0;
	size_t size;
	char *text = read_binary(path, &size);

	for (unsigned int i = 0; text && i < APIS_KNOWN; i++)
		for (unsigned int k = 0; k < 2 && words[i][k]; k++)
			/* A name in a table of strings ends with a zero. */
			if (memmem(text, size, words[i][k], strlen(words[i][k]) + with_ends))
				apis |= 1u << i;
	free(text);
	return apis;
}

unsigned int gpumon_api_of_library(const char *library)
{
	static const char *const functions[APIS_KNOWN][2] = {
		{ "InitializeInjection" },
		{ "gpumon_enter_hip" },
		{ "clInitLayer" },
		{ "gpumon_enter_ze" },
		{ "vkNegotiateLoaderLayerInterfaceVersion" },
		{ "gpumon_enter_gl" },
	};
	unsigned int apis = find_words(library, functions, true);

	return apis ? apis : GPUMON_APIS_ALL;
}

unsigned int gpumon_api_of_program(const char *program)
{
	static const char *const libraries[APIS_KNOWN][2] = {
		{ "libcuda.so", "libcudart.so" },
		{ "libamdhip64.so" },
		{ "libOpenCL.so" },
		{ "libze_loader.so" },
		{ "libvulkan.so" },
		{ "libEGL.so", "libGL.so" },
	};

	return find_words(program, libraries, false);
}

static bool has_one_of(const char *root, const char *const *paths)
{
	char path[PATH_MAX];
	bool found = false;

	for (; *paths && !found; paths++) {
		glob_t files;

		if ((size_t)snprintf(path, sizeof(path), "%s%s", root, *paths) >= sizeof(path))
			continue;
		found = !glob(path, 0, NULL, &files);
		globfree(&files);
	}
	return found;
}

unsigned int gpumon_api_of_machine(const char *root)
{
	static const char *const opencl[] = { "/etc/OpenCL/vendors/*.icd",
					      "/run/opengl-driver/etc/OpenCL/vendors/*.icd", NULL };
	static const char *const vulkan[] = { "/usr/share/vulkan/icd.d/*.json",
					      "/usr/local/share/vulkan/icd.d/*.json",
					      "/etc/vulkan/icd.d/*.json",
					      "/usr/local/nvidia/share/vulkan/icd.d/*.json",
					      "/run/opengl-driver/share/vulkan/icd.d/*.json",
					      NULL };
	char path[PATH_MAX];
	unsigned int apis = 0;

	if (gpumon_cuda_driver(root, path) > GPUMON_CUDA_LIBRARY)
		apis |= GPUMON_APIS_CUDA;
	if (gpumon_hip_has_driver(root))
		apis |= GPUMON_APIS_HIP;
	if (has_one_of(root, opencl) && gpumon_opencl_loader(root, path) != GPUMON_OPENCL_NONE)
		apis |= GPUMON_APIS_OPENCL;
	if (gpumon_level_zero_loader(root, path) != GPUMON_LEVEL_ZERO_NONE)
		apis |= GPUMON_APIS_LEVEL_ZERO;
	if (has_one_of(root, vulkan) && gpumon_vulkan_loader(root, path) != GPUMON_VULKAN_NONE)
		apis |= GPUMON_APIS_VULKAN;
	return apis;
}

static const char *join(const char *const texts[APIS_KNOWN], const char *last, char *text,
			size_t room)
{
	unsigned int left = 0, count = 0;
	size_t length = 0;

	*text = '\0';
	for (unsigned int i = 0; i < APIS_KNOWN; i++)
		left += !!texts[i];
	for (unsigned int i = 0; i < APIS_KNOWN && length < room; i++) {
		if (!texts[i])
			continue;
		if (count++)
			length += (size_t)snprintf(text + length, room - length,
						   left > 1 ? ", " : " %s ", last);
		if (length < room)
			length += (size_t)snprintf(text + length, room - length, "%s", texts[i]);
		left--;
	}
	return text;
}

const char *gpumon_api_names(unsigned int apis, const char *last, char text[GPUMON_API_TEXT_LEN])
{
	const char *names[APIS_KNOWN];

	for (unsigned int i = 0; i < APIS_KNOWN; i++)
		names[i] = apis >> i & 1 ? apis_known[i].name : NULL;
	return join(names, last, text, GPUMON_API_TEXT_LEN);
}

const char *gpumon_api_headers(unsigned int apis, char text[GPUMON_API_TEXT_LEN])
{
	const char *headers[APIS_KNOWN];

	for (unsigned int i = 0; i < APIS_KNOWN; i++)
		headers[i] = apis >> i & 1 ? apis_known[i].headers : NULL;
	return join(headers, "and", text, GPUMON_API_TEXT_LEN);
}

static void leave_out_root(char *path, const char *root)
{
	size_t length = strlen(root);

	memmove(path, path + length, strlen(path) - length + 1);
}

/**
 * struct loaders - files of one name, in the order in which a program's loader takes them
 * @root: in front of each path
 * @name: of the files
 * @count: so far
 * @first: the first one
 * @layered: the first one with layers, "" before it is found
 */
struct loaders {
	const char *root;
	const char *name;
	unsigned int count;
	char first[PATH_MAX];
	char layered[PATH_MAX];
};

static void add_loader(struct loaders *loaders, const char *path)
{
	if (access(path, R_OK) || *loaders->layered)
		return;
	if (!loaders->count++)
		snprintf(loaders->first, PATH_MAX, "%s", path);
	if (has_word(path, GPUMON_OPENCL_VARIABLE))
		snprintf(loaders->layered, PATH_MAX, "%s", path);
}

static void add_of_path(struct loaders *loaders, const char *folders)
{
	char path[PATH_MAX];

	while (folders && *folders) {
		size_t length = strcspn(folders, ":;");

		if (length && (size_t)snprintf(path, sizeof(path), "%.*s/%s", (int)length, folders,
					       loaders->name) < sizeof(path))
			add_loader(loaders, path);
		folders += length + !!folders[length];
	}
}

bool gpumon_opencl_is_unlayered(const char *path)
{
	static const char name[] = "libOpenCL.so";
	const char *slash = strrchr(path, '/');

	return slash && !strncmp(slash + 1, name, sizeof(name) - 1) && !access(path, R_OK) &&
	       !has_word(path, GPUMON_OPENCL_VARIABLE);
}

/* /etc/ld.so.cache, as ldconfig of glibc writes it since 2.2. Offsets are from its beginning. */
struct cache {
	char magic[20];
	uint32_t count;
	uint32_t string_bytes;
	uint32_t others[5];
};

struct cache_entry {
	int32_t flags;
	uint32_t name;
	uint32_t path;
	uint32_t version;
	uint64_t hardware;
};

/* Flags of a library for 64 bits. */
#if defined(__x86_64__)
#define CACHE_FLAGS 0x0303
#elif defined(__aarch64__)
#define CACHE_FLAGS 0x0a03
#else
#define CACHE_FLAGS 0
#endif

static bool is_text(const char *cache, size_t size, uint32_t at)
{
	return at < size && memchr(cache + at, '\0', size - at);
}

static void add_of_cache(struct loaders *loaders)
{
	static const char magic[] = "glibc-ld.so.cache1.1";
	struct cache_entry entry;
	char path[PATH_MAX], *text;
	struct cache head;
	const char *cache;
	size_t size;

	snprintf(path, sizeof(path), "%s/etc/ld.so.cache", loaders->root);
	text = read_binary(path, &size);
	cache = text ? memmem(text, size, magic, sizeof(magic) - 1) : NULL;
	size -= cache ? (size_t)(cache - text) : 0;
	if (cache && size >= sizeof(head))
		memcpy(&head, cache, sizeof(head));
	else
		head.count = 0;
	for (size_t i = 0; i < head.count && sizeof(head) + (i + 1) * sizeof(entry) <= size; i++) {
		memcpy(&entry, cache + sizeof(head) + i * sizeof(entry), sizeof(entry));
		if ((CACHE_FLAGS && entry.flags != CACHE_FLAGS) ||
		    !is_text(cache, size, entry.name) || !is_text(cache, size, entry.path) ||
		    strcmp(cache + entry.name, loaders->name) ||
		    (size_t)snprintf(path, sizeof(path), "%s%s", loaders->root,
				     cache + entry.path) >= sizeof(path))
			continue;
		add_loader(loaders, path);
	}
	free(text);
}

/* As a program's loader looks. */
static void find_loaders(struct loaders *loaders)
{
	char found[PATH_MAX];

	/* Those of the environment are this machine's. */
	if (!*loaders->root)
		add_of_path(loaders, getenv("LD_LIBRARY_PATH"));
	add_of_cache(loaders);
	if (find_library(loaders->root, loaders->name, found))
		add_loader(loaders, found);
}

enum gpumon_cuda_driver gpumon_cuda_driver(const char *root, char path[PATH_MAX])
{
	static const char *const module[] = { "/proc/driver/nvidia/version", NULL };
	static const char *const devices[] = { "/dev/nvidiactl", "/dev/nvgpu", "/dev/nvhost-gpu",
					       NULL };
	static const char *const wsl[] = { WSL_CUDA, NULL };
	static const char *const windows[] = { "/dev/dxg", NULL };
	struct loaders loaders = { .root = root, .name = CUDA_LIBRARY };
	bool in_wsl = has_one_of(root, wsl);

	find_loaders(&loaders);
	snprintf(path, PATH_MAX, "%s", loaders.first);
	leave_out_root(path, *path ? root : "");
	if (has_one_of(root, module))
		return GPUMON_CUDA_LOADED;
	if (has_one_of(root, devices))
		return GPUMON_CUDA_DEVICE;
	if (in_wsl)
		snprintf(path, PATH_MAX, "%s", WSL_CUDA);
	if (in_wsl || (*path && has_one_of(root, windows)))
		return GPUMON_CUDA_WSL;
	return *path ? GPUMON_CUDA_LIBRARY : GPUMON_CUDA_NONE;
}

enum gpumon_opencl_loader gpumon_opencl_loader(const char *root, char path[PATH_MAX])
{
	struct loaders loaders = { .root = root, .name = OPENCL_LOADER };

	find_loaders(&loaders);
	if (!loaders.count)
		return GPUMON_OPENCL_NONE;
	snprintf(path, PATH_MAX, "%s", *loaders.layered ? loaders.layered : loaders.first);
	leave_out_root(path, root);
	if (!*loaders.layered)
		return GPUMON_OPENCL_NO_LAYERS;
	return strcmp(loaders.layered, loaders.first) ? GPUMON_OPENCL_OTHER : GPUMON_OPENCL_LAYERS;
}

enum gpumon_level_zero_loader gpumon_level_zero_loader(const char *root, char path[PATH_MAX])
{
	const char *named = getenv("ZE_ENABLE_ALT_DRIVERS");
	char other[PATH_MAX];
	bool traces;

	if (!(named && *named) && !find_library(root, "libze_intel_*.so.1", other))
		return GPUMON_LEVEL_ZERO_NONE;
	if (!find_library(root, "libze_loader.so.1", path))
		return GPUMON_LEVEL_ZERO_NONE;
	traces = has_word(path, "zelTracerCreate") &&
		 find_library(root, "libze_tracing_layer.so.1", other);
	leave_out_root(path, root);
	return traces ? GPUMON_LEVEL_ZERO_TRACED : GPUMON_LEVEL_ZERO_NO_TRACER;
}

enum gpumon_vulkan_loader gpumon_vulkan_loader(const char *root, char path[PATH_MAX])
{
	struct loaders loaders = { .root = root, .name = "libvulkan.so.1" };
	bool has_folder;

	find_loaders(&loaders);
	if (!loaders.count)
		return GPUMON_VULKAN_NONE;
	has_folder = has_word(loaders.first, GPUMON_VULKAN_ADD_PATH);
	snprintf(path, PATH_MAX, "%s", loaders.first);
	leave_out_root(path, root);
	return has_folder ? GPUMON_VULKAN_LAYERS : GPUMON_VULKAN_NO_FOLDER;
}

bool gpumon_opengl_library(const char *root, char path[PATH_MAX])
{
	static const char *const names[] = { "libEGL.so.1", "libGLX.so.0", "libGL.so.1" };
	bool found = false;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !found; i++)
		found = find_library(root, names[i], path);
	leave_out_root(path, found ? root : "");
	return found;
}

bool gpumon_hip_has_driver(const char *root)
{
	char path[PATH_MAX];

	return (size_t)snprintf(path, sizeof(path), "%s/dev/kfd", root) < sizeof(path) &&
	       !access(path, F_OK);
}

/* Of the file that a link such as libamdhip64.so.6 leads to: libamdhip64.so.6.4.43484. 0: none. */
static unsigned int version_of_file(const char *path, unsigned int *minor)
{
	char file[PATH_MAX];
	unsigned int major;
	const char *end;

	if (!realpath(path, file))
		return 0;
	end = strstr(file, "libamdhip64.so.");
	return end && sscanf(end, "libamdhip64.so.%u.%u", &major, minor) == 2 ? major : 0;
}

enum gpumon_hip_library gpumon_hip_library(const char *root, char path[PATH_MAX],
					   char version[GPUMON_HIP_VERSION_LEN])
{
	/* As inject/hip/tracer.c has them: those whose records are known. */
	static const struct {
		unsigned int major, from, to;
	} known[] = { { 5, 4, 7 }, { 6, 0, 4 }, { 7, 0, 2 } };
	unsigned int major, minor = 0;
	bool has_tracer, is_known;

	*version = '\0';
	if (!find_library(root, "libamdhip64.so.[0-9]*", path))
		return GPUMON_HIP_NONE;
	has_tracer = has_word(path, "hipRegisterTracerCallback");
	major = version_of_file(path, &minor);
	leave_out_root(path, root);
	is_known = !major;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		is_known |= major == known[i].major && minor >= known[i].from &&
			    minor <= known[i].to;
	if (major)
		snprintf(version, GPUMON_HIP_VERSION_LEN, "%u.%u", major, minor);
	return !has_tracer ? GPUMON_HIP_NO_TRACER :
	       !is_known   ? GPUMON_HIP_UNKNOWN_VERSION :
			     GPUMON_HIP_TRACED;
}
