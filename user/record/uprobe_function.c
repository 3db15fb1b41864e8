// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/elf_find.h"
#include "lib/memory.h"
#include "lib/array.h"
#include "uprobe_function.h"
#include "uprobe_process.h"

/*
 * Names without suffixes. Whole names, not prefixes: a program that contains the runtime has
 * functions of its own, too.
 */
static const struct function {
	const char *name;
	unsigned int kind;
} functions[] = {
#define LAUNCH	 GPUMON_FUNCTION_LAUNCH
#define BLOCKING GPUMON_FUNCTION_BLOCKING
#define BOTH	 (GPUMON_FUNCTION_LAUNCH | GPUMON_FUNCTION_BLOCKING)
#define PRESENT	 GPUMON_FUNCTION_PRESENT
#define SWAP	 (GPUMON_FUNCTION_BLOCKING | GPUMON_FUNCTION_PRESENT)
	/* CUDA's runtime */
	{ "__cudaLaunchKernel", LAUNCH },
	{ "cudaLaunch", LAUNCH },
	{ "cudaLaunchKernel", LAUNCH },
	{ "cudaLaunchKernelExC", LAUNCH },
	{ "cudaLaunchCooperativeKernel", LAUNCH },
	{ "cudaLaunchCooperativeKernelMultiDevice", LAUNCH },
	{ "cudaGraphLaunch", LAUNCH },
	{ "cudaMemcpy", BOTH },
	{ "cudaMemcpy2D", BOTH },
	{ "cudaMemcpy2DArrayToArray", BOTH },
	{ "cudaMemcpy2DAsync", LAUNCH },
	{ "cudaMemcpy2DFromArray", BOTH },
	{ "cudaMemcpy2DFromArrayAsync", LAUNCH },
	{ "cudaMemcpy2DToArray", BOTH },
	{ "cudaMemcpy2DToArrayAsync", LAUNCH },
	{ "cudaMemcpy3D", BOTH },
	{ "cudaMemcpy3DAsync", LAUNCH },
	{ "cudaMemcpy3DBatchAsync", LAUNCH },
	{ "cudaMemcpy3DPeer", BOTH },
	{ "cudaMemcpy3DPeerAsync", LAUNCH },
	{ "cudaMemcpyArrayToArray", BOTH },
	{ "cudaMemcpyAsync", LAUNCH },
	{ "cudaMemcpyBatchAsync", LAUNCH },
	{ "cudaMemcpyFromArray", BOTH },
	{ "cudaMemcpyFromArrayAsync", LAUNCH },
	{ "cudaMemcpyFromSymbol", BOTH },
	{ "cudaMemcpyFromSymbolAsync", LAUNCH },
	{ "cudaMemcpyPeer", BOTH },
	{ "cudaMemcpyPeerAsync", LAUNCH },
	{ "cudaMemcpyToArray", BOTH },
	{ "cudaMemcpyToArrayAsync", LAUNCH },
	{ "cudaMemcpyToSymbol", BOTH },
	{ "cudaMemcpyToSymbolAsync", LAUNCH },
	{ "cudaMemset", LAUNCH },
	{ "cudaMemset2D", LAUNCH },
	{ "cudaMemset2DAsync", LAUNCH },
	{ "cudaMemset3D", LAUNCH },
	{ "cudaMemset3DAsync", LAUNCH },
	{ "cudaMemsetAsync", LAUNCH },
	{ "cudaDeviceSynchronize", BLOCKING },
	{ "cudaThreadSynchronize", BLOCKING },
	{ "cudaStreamSynchronize", BLOCKING },
	{ "cudaEventSynchronize", BLOCKING },
	/* CUDA's driver */
	{ "cuLaunch", LAUNCH },
	{ "cuLaunchGrid", LAUNCH },
	{ "cuLaunchGridAsync", LAUNCH },
	{ "cuLaunchKernel", LAUNCH },
	{ "cuLaunchKernelEx", LAUNCH },
	{ "cuLaunchCooperativeKernel", LAUNCH },
	{ "cuLaunchCooperativeKernelMultiDevice", LAUNCH },
	{ "cuGraphLaunch", LAUNCH },
	{ "cuMemcpy", BOTH },
	{ "cuMemcpy2D", BOTH },
	{ "cuMemcpy2DAsync", LAUNCH },
	{ "cuMemcpy2DUnaligned", BOTH },
	{ "cuMemcpy3D", BOTH },
	{ "cuMemcpy3DAsync", LAUNCH },
	{ "cuMemcpy3DBatchAsync", LAUNCH },
	{ "cuMemcpy3DPeer", BOTH },
	{ "cuMemcpy3DPeerAsync", LAUNCH },
	{ "cuMemcpyAsync", LAUNCH },
	{ "cuMemcpyAtoA", BOTH },
	{ "cuMemcpyAtoD", BOTH },
	{ "cuMemcpyAtoH", BOTH },
	{ "cuMemcpyAtoHAsync", LAUNCH },
	{ "cuMemcpyBatchAsync", LAUNCH },
	{ "cuMemcpyDtoA", BOTH },
	{ "cuMemcpyDtoD", BOTH },
	{ "cuMemcpyDtoDAsync", LAUNCH },
	{ "cuMemcpyDtoH", BOTH },
	{ "cuMemcpyDtoHAsync", LAUNCH },
	{ "cuMemcpyHtoA", BOTH },
	{ "cuMemcpyHtoAAsync", LAUNCH },
	{ "cuMemcpyHtoD", BOTH },
	{ "cuMemcpyHtoDAsync", LAUNCH },
	{ "cuMemcpyPeer", BOTH },
	{ "cuMemcpyPeerAsync", LAUNCH },
	{ "cuMemsetD8", LAUNCH },
	{ "cuMemsetD8Async", LAUNCH },
	{ "cuMemsetD16", LAUNCH },
	{ "cuMemsetD16Async", LAUNCH },
	{ "cuMemsetD32", LAUNCH },
	{ "cuMemsetD32Async", LAUNCH },
	{ "cuMemsetD2D8", LAUNCH },
	{ "cuMemsetD2D8Async", LAUNCH },
	{ "cuMemsetD2D16", LAUNCH },
	{ "cuMemsetD2D16Async", LAUNCH },
	{ "cuMemsetD2D32", LAUNCH },
	{ "cuMemsetD2D32Async", LAUNCH },
	{ "cuCtxSynchronize", BLOCKING },
	{ "cuStreamSynchronize", BLOCKING },
	{ "cuEventSynchronize", BLOCKING },
	/* HIP */
	{ "hipLaunchKernel", LAUNCH },
	{ "hipLaunchKernelExC", LAUNCH },
	{ "hipLaunchByPtr", LAUNCH },
	{ "hipExtLaunchKernel", LAUNCH },
	{ "hipExtLaunchMultiKernelMultiDevice", LAUNCH },
	{ "hipLaunchCooperativeKernel", LAUNCH },
	{ "hipLaunchCooperativeKernelMultiDevice", LAUNCH },
	{ "hipModuleLaunchKernel", LAUNCH },
	{ "hipExtModuleLaunchKernel", LAUNCH },
	{ "hipHccModuleLaunchKernel", LAUNCH },
	{ "hipModuleLaunchCooperativeKernel", LAUNCH },
	{ "hipModuleLaunchCooperativeKernelMultiDevice", LAUNCH },
	{ "hipDrvLaunchKernelEx", LAUNCH },
	{ "hipGraphLaunch", LAUNCH },
	{ "hipDrvMemcpy2DUnaligned", BOTH },
	{ "hipDrvMemcpy3D", BOTH },
	{ "hipDrvMemcpy3DAsync", LAUNCH },
	{ "hipMemcpy", BOTH },
	{ "hipMemcpy2D", BOTH },
	{ "hipMemcpy2DArrayToArray", BOTH },
	{ "hipMemcpy2DAsync", LAUNCH },
	{ "hipMemcpy2DFromArray", BOTH },
	{ "hipMemcpy2DFromArrayAsync", LAUNCH },
	{ "hipMemcpy2DToArray", BOTH },
	{ "hipMemcpy2DToArrayAsync", LAUNCH },
	{ "hipMemcpy3D", BOTH },
	{ "hipMemcpy3DAsync", LAUNCH },
	{ "hipMemcpy3DBatchAsync", LAUNCH },
	{ "hipMemcpy3DPeer", BOTH },
	{ "hipMemcpy3DPeerAsync", LAUNCH },
	{ "hipMemcpyAsync", LAUNCH },
	{ "hipMemcpyAtoA", BOTH },
	{ "hipMemcpyAtoD", BOTH },
	{ "hipMemcpyAtoH", BOTH },
	{ "hipMemcpyAtoHAsync", LAUNCH },
	{ "hipMemcpyBatchAsync", LAUNCH },
	{ "hipMemcpyDtoA", BOTH },
	{ "hipMemcpyDtoD", BOTH },
	{ "hipMemcpyDtoDAsync", LAUNCH },
	{ "hipMemcpyDtoH", BOTH },
	{ "hipMemcpyDtoHAsync", LAUNCH },
	{ "hipMemcpyFromArray", BOTH },
	{ "hipMemcpyFromSymbol", BOTH },
	{ "hipMemcpyFromSymbolAsync", LAUNCH },
	{ "hipMemcpyHtoA", BOTH },
	{ "hipMemcpyHtoAAsync", LAUNCH },
	{ "hipMemcpyHtoD", BOTH },
	{ "hipMemcpyHtoDAsync", LAUNCH },
	{ "hipMemcpyParam2D", BOTH },
	{ "hipMemcpyParam2DAsync", LAUNCH },
	{ "hipMemcpyPeer", BOTH },
	{ "hipMemcpyPeerAsync", LAUNCH },
	{ "hipMemcpyToArray", BOTH },
	{ "hipMemcpyToSymbol", BOTH },
	{ "hipMemcpyToSymbolAsync", LAUNCH },
	{ "hipMemcpyWithStream", BOTH },
	{ "hipMemset", LAUNCH },
	{ "hipMemsetAsync", LAUNCH },
	{ "hipMemset2D", LAUNCH },
	{ "hipMemset2DAsync", LAUNCH },
	{ "hipMemset3D", LAUNCH },
	{ "hipMemset3DAsync", LAUNCH },
	{ "hipMemsetD8", LAUNCH },
	{ "hipMemsetD8Async", LAUNCH },
	{ "hipMemsetD16", LAUNCH },
	{ "hipMemsetD16Async", LAUNCH },
	{ "hipMemsetD32", LAUNCH },
	{ "hipMemsetD32Async", LAUNCH },
	{ "hipMemsetD2D8", LAUNCH },
	{ "hipMemsetD2D8Async", LAUNCH },
	{ "hipMemsetD2D16", LAUNCH },
	{ "hipMemsetD2D16Async", LAUNCH },
	{ "hipMemsetD2D32", LAUNCH },
	{ "hipMemsetD2D32Async", LAUNCH },
	{ "hipCtxSynchronize", BLOCKING },
	{ "hipDeviceSynchronize", BLOCKING },
	{ "hipStreamSynchronize", BLOCKING },
	{ "hipEventSynchronize", BLOCKING },
	/* Level Zero: an appended kernel runs later, but this last call shows its origin */
	{ "zeCommandListAppendImageCopy", LAUNCH },
	{ "zeCommandListAppendImageCopyFromMemory", LAUNCH },
	{ "zeCommandListAppendImageCopyFromMemoryExt", LAUNCH },
	{ "zeCommandListAppendImageCopyRegion", LAUNCH },
	{ "zeCommandListAppendImageCopyToMemory", LAUNCH },
	{ "zeCommandListAppendImageCopyToMemoryExt", LAUNCH },
	{ "zeCommandListAppendLaunchCooperativeKernel", LAUNCH },
	{ "zeCommandListAppendLaunchKernel", LAUNCH },
	{ "zeCommandListAppendLaunchKernelIndirect", LAUNCH },
	{ "zeCommandListAppendLaunchKernelWithArguments", LAUNCH },
	{ "zeCommandListAppendLaunchKernelWithParameters", LAUNCH },
	{ "zeCommandListAppendLaunchMultipleKernelsIndirect", LAUNCH },
	{ "zeCommandListAppendMemoryCopy", LAUNCH },
	{ "zeCommandListAppendMemoryCopyFromContext", LAUNCH },
	{ "zeCommandListAppendMemoryCopyRegion", LAUNCH },
	{ "zeCommandListAppendMemoryFill", LAUNCH },
	{ "zeCommandListImmediateAppendCommandListsExp", LAUNCH },
	{ "zeCommandQueueExecuteCommandLists", LAUNCH },
	{ "zeCommandListHostSynchronize", BLOCKING },
	{ "zeCommandQueueSynchronize", BLOCKING },
	{ "zeEventHostSynchronize", BLOCKING },
	{ "zeFenceHostSynchronize", BLOCKING },
	/* OpenCL: an argument says whether a read, write or map waits */
	{ "clEnqueueCopyBuffer", LAUNCH },
	{ "clEnqueueCopyBufferRect", LAUNCH },
	{ "clEnqueueCopyBufferToImage", LAUNCH },
	{ "clEnqueueCopyImage", LAUNCH },
	{ "clEnqueueCopyImageToBuffer", LAUNCH },
	{ "clEnqueueFillBuffer", LAUNCH },
	{ "clEnqueueFillImage", LAUNCH },
	{ "clEnqueueMapBuffer", BOTH },
	{ "clEnqueueMapImage", BOTH },
	{ "clEnqueueMigrateMemObjects", LAUNCH },
	{ "clEnqueueNDRangeKernel", LAUNCH },
	{ "clEnqueueNativeKernel", LAUNCH },
	{ "clEnqueueReadBuffer", BOTH },
	{ "clEnqueueReadBufferRect", BOTH },
	{ "clEnqueueReadImage", BOTH },
	{ "clEnqueueSVMMap", BOTH },
	{ "clEnqueueSVMMemFill", LAUNCH },
	{ "clEnqueueSVMMemcpy", BOTH },
	{ "clEnqueueSVMMigrateMem", LAUNCH },
	{ "clEnqueueSVMUnmap", LAUNCH },
	{ "clEnqueueTask", LAUNCH },
	{ "clEnqueueUnmapMemObject", LAUNCH },
	{ "clEnqueueWriteBuffer", BOTH },
	{ "clEnqueueWriteBufferRect", BOTH },
	{ "clEnqueueWriteImage", BOTH },
	{ "clFinish", BLOCKING },
	{ "clWaitForEvents", BLOCKING },
	/* Vulkan: work of command buffers, but not draws, of which a frame may have thousands */
	{ "vkCmdCopyBuffer", LAUNCH },
	{ "vkCmdCopyBuffer2", LAUNCH },
	{ "vkCmdCopyBufferToImage", LAUNCH },
	{ "vkCmdCopyBufferToImage2", LAUNCH },
	{ "vkCmdCopyImage", LAUNCH },
	{ "vkCmdCopyImage2", LAUNCH },
	{ "vkCmdCopyImageToBuffer", LAUNCH },
	{ "vkCmdCopyImageToBuffer2", LAUNCH },
	{ "vkCmdDispatch", LAUNCH },
	{ "vkCmdDispatchBase", LAUNCH },
	{ "vkCmdDispatchIndirect", LAUNCH },
	{ "vkCmdFillBuffer", LAUNCH },
	{ "vkCmdUpdateBuffer", LAUNCH },
	{ "vkQueueBindSparse", LAUNCH },
	{ "vkQueueSubmit", LAUNCH },
	{ "vkQueueSubmit2", LAUNCH },
	{ "vkDeviceWaitIdle", BLOCKING },
	{ "vkQueueWaitIdle", BLOCKING },
	{ "vkWaitForFences", BLOCKING },
	{ "vkWaitSemaphores", BLOCKING },
	{ "vkQueuePresentKHR", PRESENT },
	/* EGL and GLX: a call ends a frame, and waits for the one before, or for the display */
	{ "eglSwapBuffers", SWAP },
	{ "eglSwapBuffersWithDamageEXT", SWAP },
	{ "eglSwapBuffersWithDamageKHR", SWAP },
	{ "glXSwapBuffers", SWAP },
	{ "glXSwapBuffersMscOML", SWAP },
#undef LAUNCH
#undef BLOCKING
#undef BOTH
#undef PRESENT
#undef SWAP
};

/* "_v2", "_ptsz", "_v2_ptds", "_spt". A text without any counts, too. */
static bool only_suffixes(const char *text)
{
	static const char *const suffixes[] = { "_ptsz", "_ptds", "_spt" };

	while (*text) {
		size_t length = 0;

		for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
			if (!strncmp(text, suffixes[i], strlen(suffixes[i])))
				length = strlen(suffixes[i]);
		if (!length && text[0] == '_' && text[1] == 'v' && isdigit((unsigned char)text[2]))
			length = 2 + strspn(text + 2, "0123456789");
		if (!length)
			return false;
		text += length;
	}
	return true;
}

unsigned int gpumon_function_kind(const char *name)
{
	/* Quick exit for most symbols of a process. */
	if (strncmp(name, "cu", 2) && strncmp(name, "hip", 3) && strncmp(name, "ze", 2) &&
	    strncmp(name, "cl", 2) && strncmp(name, "vk", 2) && strncmp(name, "eglSwap", 7) &&
	    strncmp(name, "glXSwap", 7) && strncmp(name, "__cuda", 6))
		return 0;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		size_t length = strlen(functions[i].name);

		if (!strncmp(name, functions[i].name, length) && only_suffixes(name + length))
			return functions[i].kind;
	}
	return 0;
}

bool gpumon_function_of_runtime(const char *name)
{
	return gpumon_function_kind(name) || !strncmp(name, "libcudart_static_", 17) ||
	       !strncmp(name, "__cuda", 6) || !strncmp(name, "_ZN6cudart", 10) ||
	       !strncmp(name, "_ZNK6cudart", 11) ||
	       (!strncmp(name, "cuda", 4) && isupper((unsigned char)name[4]));
}

bool gpumon_library_of_api(const char *name)
{
	/* A version or the hash of a wheel (libcudart-d0da41ae.so.11.0) may follow. */
	static const char *const names[] = {
		"libcudart",
		"libcuda",
		"libcupti",
		"libamdhip64",
		"libze_loader",
		"libze_intel_",
		"libze_tracing_",
		"libze_validation_",
		"libOpenCL",
		"libpocl",
		"libRusticlOpenCL",
		"libMesaOpenCL",
		"libigdrcl",
		"libamdocl",
		"libnvidia-opencl",
		"libvulkan",
		"libVkLayer",
		"libnvperf",
		"libcuinj",
		"libgpumon-inject",
		"libEGL",
		"libGLX",
		"libGL",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t length = strlen(names[i]);

		if (!strncmp(name, names[i], length) &&
		    (names[i][length - 1] == '_' || !isalpha((unsigned char)name[length])))
			return true;
	}
	return false;
}

static bool jump_x86(const uint8_t *code, size_t size, int64_t *target)
{
	/* Frame code that a compiler leaves in a function that only jumps. */
	static const struct {
		uint8_t bytes[4];
		uint8_t length;
	} nothing[] = {
		{ { 0xf3, 0x0f, 0x1e, 0xfa }, 4 }, /* endbr64 */
		{ { 0x55 }, 1 },		   /* push %rbp */
		{ { 0x48, 0x89, 0xe5 }, 3 },	   /* mov %rsp,%rbp */
		{ { 0x5d }, 1 },		   /* pop %rbp */
		{ { 0xf2 }, 1 },		   /* bnd, before a jump */
	};
	size_t at = 0;
	int32_t distance;

	while (at < size) {
		size_t length = 0;

		for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++)
			if (size - at >= nothing[i].length &&
			    !memcmp(code + at, nothing[i].bytes, nothing[i].length))
				length = nothing[i].length;
		if (!length)
			break;
		at += length;
	}
	if (size - at >= 5 && code[at] == 0xe9) {
		memcpy(&distance, code + at + 1, sizeof(distance));
		*target = (int64_t)at + 5 + distance;
		return true;
	}
	if (size - at >= 2 && code[at] == 0xeb) {
		*target = (int64_t)at + 2 + (int8_t)code[at + 1];
		return true;
	}
	return false;
}

static bool jump_arm64(const uint8_t *code, size_t size, int64_t *target)
{
	uint32_t word;
	size_t at = 0;

	if (size < 8)
		return false;
	memcpy(&word, code, sizeof(word));
	if (word == 0xd503245f) { /* bti c */
		at = 4;
		memcpy(&word, code + at, sizeof(word));
	}
	if (word >> 26 != 5) /* b */
		return false;
	*target = (int64_t)at + (int64_t)((int32_t)(word << 6) >> 6) * 4;
	return true;
}

bool gpumon_function_jump(const uint8_t *code, size_t size, unsigned int machine, int64_t *target)
{
	if (machine == EM_X86_64)
		return jump_x86(code, size, target);
	if (machine == EM_AARCH64)
		return jump_arm64(code, size, target);
	return false;
}

bool gpumon_function_vulkan_entry(const uint8_t *code, size_t size, unsigned int machine,
				  uint32_t *offset)
{
	const uint64_t magic = GPUMON_VULKAN_TABLE;
	size_t at = 0;

	if (machine != EM_X86_64)
		return false;
	/* The function compares the number with the table's first word, and then uses the entry. */
	while (at + sizeof(magic) <= size && memcmp(code + at, &magic, sizeof(magic)) != 0)
		at++;
	for (at += sizeof(magic); at + 6 <= size; at++) {
		/* mov offset(%table),%register; jmp or call *offset(%table) */
		bool loads = code[at] == 0x8b && (code[at - 1] & 0xf8) == 0x48;
		bool jumps = code[at] == 0xff && (code[at + 1] & 0x38) == 0x20;
		bool calls = code[at] == 0xff && (code[at + 1] & 0x38) == 0x10;
		unsigned int mode = code[at + 1] >> 6;

		if ((!loads && !jumps && !calls) || (mode != 1 && mode != 2) ||
		    (code[at + 1] & 7) == 4)
			continue;
		*offset = code[at + 2];
		if (mode == 2)
			memcpy(offset, code + at + 2, sizeof(*offset));
		return *offset % sizeof(magic) == 0 && *offset < GPUMON_VULKAN_TABLE_MAX;
	}
	return false;
}

/* A function in a file that contains the runtime, by its first address. */
struct begin {
	uint64_t offset;
	bool runtime;
};

struct reader {
	struct gpumon_uprobe_file *file;
	uint64_t *addresses; /* addresses of sites */
	size_t address_count;
	struct begin *begins;
	size_t begin_count;
};

void gpumon_uprobe_file_add_site(struct gpumon_uprobe_file *file,
				 const struct gpumon_uprobe_site *site)
{
	struct gpumon_uprobe_site *added = GPUMON_GROW(file->sites, file->site_count);

	*added = *site;
}

/* Two names of one function are one site. The first name wins, unless it is an old version. */
static int read_site(void *data, const struct gpumon_elf_function *function)
{
	struct reader *reader = data;
	struct gpumon_uprobe_file *file = reader->file;
	unsigned int kind = gpumon_function_kind(function->name);
	struct gpumon_uprobe_site site = { .offset = function->offset, .kind = kind };
	uint64_t *address;

	if (!strcmp(function->name, "_dl_debug_state"))
		file->linker_offset = function->offset;
	if (!strcmp(function->name, "vkCreateDevice"))
		file->device_offset = function->offset;
	if (!kind || function->ifunc)
		return 0;
	for (unsigned int i = 0; i < file->site_count; i++)
		if (file->sites[i].offset == function->offset)
			return 0;
	address = GPUMON_GROW(reader->addresses, reader->address_count);
	*address = function->address;
	site.name = gpumon_strndup(function->name, strcspn(function->name, "@"));
	gpumon_uprobe_file_add_site(file, &site);
	return 0;
}

static int read_begin(void *data, const struct gpumon_elf_function *function)
{
	struct reader *reader = data;
	struct begin *begin = GPUMON_GROW(reader->begins, reader->begin_count);

	begin->offset = function->offset;
	begin->runtime = gpumon_function_of_runtime(function->name);
	return 0;
}

static int compare_begins(const void *a, const void *b)
{
	const struct begin *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (int)x->runtime - (int)y->runtime;
}

/* A span goes from a function of the runtime to the next function outside it. */
static void find_spans(struct reader *reader)
{
	struct gpumon_uprobe_file *file = reader->file;
	struct gpumon_uprobe_span *span;
	bool within = false;

	qsort(reader->begins, reader->begin_count, sizeof(*reader->begins), compare_begins);
	for (size_t i = 0; i < reader->begin_count; i++) {
		const struct begin *begin = &reader->begins[i];

		if (begin->runtime && !within) {
			span = GPUMON_GROW(file->spans, file->span_count);
			*span = (struct gpumon_uprobe_span){ begin->offset, UINT64_MAX };
		} else if (!begin->runtime && within) {
			file->spans[file->span_count - 1].end = begin->offset;
		}
		within = begin->runtime;
	}
}

static bool read_soname(Elf *elf, char *soname, size_t room)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Dyn entry;

	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNAMIC)
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag; i++) {
			const char *name;

			if (entry.d_tag != DT_SONAME)
				continue;
			name = elf_strptr(elf, header.sh_link, entry.d_un.d_val);
			if (!name)
				return false;
			snprintf(soname, room, "%s", name);
			return true;
		}
	}
	return false;
}

/*
 * Leave out functions that only jump to another probed one, or one call would count twice: nvcc
 * calls __cudaLaunchKernel, which does that.
 */
static void leave_out_jumps(struct reader *reader, unsigned int machine)
{
	struct gpumon_uprobe_file *file = reader->file;
	unsigned int left = 0;

	for (unsigned int i = 0; i < file->site_count; i++) {
		uint8_t code[32];
		int64_t distance = 0;
		ssize_t n = pread(file->fd, code, sizeof(code), (off_t)file->sites[i].offset);
		bool jumps = n > 0 && gpumon_function_jump(code, (size_t)n, machine, &distance);
		bool known = false;

		for (unsigned int j = 0; jumps && j < file->site_count; j++)
			if (j != i &&
			    reader->addresses[j] == reader->addresses[i] + (uint64_t)distance)
				known = true;
		/* Mark the offset, since other functions may jump to it in turn. */
		if (known)
			file->sites[i].kind = 0;
	}
	for (unsigned int i = 0; i < file->site_count; i++) {
		if (file->sites[i].kind)
			file->sites[left++] = file->sites[i];
		else
			free(file->sites[i].name);
	}
	file->site_count = left;
}

/*
 * If the code does not show the target of the jump, the name does. Loaders jump to functions of the
 * same name in a driver.
 */
static void find_successors(struct gpumon_uprobe_file *file, unsigned int machine)
{
	for (unsigned int i = 0; i < file->site_count; i++) {
		struct gpumon_uprobe_site *site = &file->sites[i];
		uint8_t code[96];
		ssize_t n;

		site->jumps_to = site->name;
		for (unsigned int j = 0; j < file->site_count; j++)
			if (!strncmp(site->name, "__", 2) &&
			    !strcmp(site->name + 2, file->sites[j].name))
				site->jumps_to = file->sites[j].name;
		if (strncmp(site->name, "vk", 2) != 0)
			continue;
		n = pread(file->fd, code, sizeof(code), (off_t)site->offset);
		if (n <= 0 ||
		    !gpumon_function_vulkan_entry(code, (size_t)n, machine, &site->vulkan_entry))
			site->vulkan_entry = 0;
	}
}

void gpumon_uprobe_file_keep(struct gpumon_uprobe_file *file, unsigned int kinds)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < file->site_count; i++) {
		if (file->sites[i].kind & kinds)
			file->sites[left++] = file->sites[i];
		else
			free(file->sites[i].name);
	}
	file->site_count = left;
}

void gpumon_uprobe_file_read(struct gpumon_uprobe_file *file)
{
	struct reader reader = { .file = file };
	const char *slash = strrchr(file->path, '/'), *why = "";
	unsigned int machine = EM_NONE;
	char soname[256];
	GElf_Ehdr header;
	int result;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(file->fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header)) {
		machine = header.e_machine;
		if (gelf_getclass(elf) != ELFCLASS64)
			machine = EM_NONE;
		file->api =
			gpumon_library_of_api(slash ? slash + 1 : file->path) ||
			(read_soname(elf, soname, sizeof(soname)) && gpumon_library_of_api(soname));
	}
	elf_end(elf);
	if (machine == EM_NONE)
		return;
	file->build_id_size = (uint8_t)gpumon_elf_build_id(file->fd, file->build_id);
	result = gpumon_elf_functions(file->fd, read_site, &reader, &why);
	if (result == -1)
		snprintf(file->why, sizeof(file->why), "its symbols cannot be read: %s", why);
	if (!result && file->site_count) {
		leave_out_jumps(&reader, machine);
		find_successors(file, machine);
		if (!file->api) {
			if (!gpumon_elf_functions(file->fd, read_begin, &reader, &why))
				find_spans(&reader);
		}
	}
	free(reader.addresses);
	free(reader.begins);
}
