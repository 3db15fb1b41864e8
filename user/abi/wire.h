/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * How the injection library in a program and gpumon-user probe speak. The library asks for the image that
 * replaces another, and copies the memory of maps; gpumon-user edits, reads and shows.
 *
 * gpumon-user listens on the SOCK_SEQPACKET socket in GPUMON_PROBE_SOCKET. The library opens
 * a connection for each request, because the program may close descriptors that it does not know. A request is one struct,
 * perhaps with a memfd; so is each message of the answer. Neither side trusts sizes of the other.
 *
 * The memory of a context on the GPU is one block: the control block, maps and the print ring at places
 * that gpumon-user chooses (struct gpumon_wire_settings). The shared memory of a context
 * (GPUMON_WIRE_AREA) is its copy.
 */
#ifndef GPUMON_ABI_WIRE_H
#define GPUMON_ABI_WIRE_H

#include <stdint.h>

#define GPUMON_WIRE_VARIABLE "GPUMON_PROBE_SOCKET"
#define GPUMON_WIRE_VERSION  8u

/* The control block, each map and the print ring. */
#define GPUMON_WIRE_PLACES	 (1 + 64 + 1)
#define GPUMON_WIRE_IMAGE_MAX	 (1u << 30) /* bytes of an image */
#define GPUMON_WIRE_NAMES	 4096	    /* bytes of a text in a message */
#define GPUMON_WIRE_CLEARS	 256	    /* ranges in a message */
#define GPUMON_WIRE_NOTE	 256
#define GPUMON_WIRE_PATH	 512  /* bytes of a path */
#define GPUMON_WIRE_POINTS	 8    /* kinds of instructions that are patched */
#define GPUMON_WIRE_KEPT_WORDS	 16   /* at most, of what a thread keeps */
#define GPUMON_WIRE_KEPT_THREADS 2048 /* of a processor at a time, at most: for so many is memory */

enum gpumon_wire_type {
	/* of the library */
	GPUMON_WIRE_HELLO = 1,	 /* answer: SETTINGS, with the first content of the memory */
	GPUMON_WIRE_EXCHANGE,	 /* with the image; answer: IMAGE and EDITED, or UNTOUCHED */
	GPUMON_WIRE_TOO_LARGE,	 /* a kernel is to be left alone; no answer */
	GPUMON_WIRE_NOT_LOADED,	 /* an image: its kernels are to be left alone; no answer */
	GPUMON_WIRE_CONTEXT,	 /* answer: AREA with the shared memory */
	GPUMON_WIRE_COPIED,	 /* answer: CLEAR, as many as necessary, and DONE */
	GPUMON_WIRE_ENDED,	 /* the context has; no answer */
	GPUMON_WIRE_LAUNCHES,	 /* answer: AREA with struct gpumon_wire_launches */
	GPUMON_WIRE_NAME,	 /* of a kernel in @context; no answer */
	GPUMON_WIRE_CLOCK,	 /* of a context; no answer */
	GPUMON_WIRE_TELL,	 /* for the user; no answer */
	GPUMON_WIRE_PATCHES,	 /* for machine code; answer: CODE with a cubin, or REFUSED */
	GPUMON_WIRE_MODULE,	 /* with its cubin; answer: KERNELS with these, or UNTOUCHED */
	GPUMON_WIRE_NOT_PATCHED, /* a kernel of KERNELS; no answer */
	GPUMON_WIRE_SHARED,	 /* a map of @shared; answer: AREA with its memory */
	GPUMON_WIRE_LOADED,	 /* a module was; no answer */
	/* of gpumon-user */
	GPUMON_WIRE_SETTINGS,
	GPUMON_WIRE_IMAGE,
	GPUMON_WIRE_UNTOUCHED,
	GPUMON_WIRE_AREA,
	GPUMON_WIRE_CLEAR,
	GPUMON_WIRE_DONE,
	GPUMON_WIRE_REFUSED,
	GPUMON_WIRE_CODE,
	GPUMON_WIRE_KERNELS,
	GPUMON_WIRE_EDITED, /* with the kernels of an image that were edited */
	/* of the library */
	GPUMON_WIRE_WITHDRAWN, /* an image: it is not used, another is asked for; no answer */
	GPUMON_WIRE_KERNEL_NOT_LOADED, /* a kernel: the driver refuses it with programs; no answer */
};

/* How programs get into kernels. */
enum gpumon_wire_way {
	GPUMON_WIRE_WAY_PTX,  /* images are exchanged, through CUPTI */
	GPUMON_WIRE_WAY_SASS, /* machine code is patched, by NVIDIA's sanitizer */
	GPUMON_WIRE_WAY_EACH, /* both, through the sanitizer: machine code where there is no PTX */
};

/**
 * struct gpumon_wire_request - what the library asks for
 * @type: of the library
 * @version: GPUMON_WIRE_VERSION
 * @pid: of the process, as it sees itself
 * @context: CONTEXT: number of a GPU of the driver; COPIED, ENDED, CLOCK: what AREA said; NAME: the kernel's
 *           number in this process; SHARED: number of the map; LOADED: number of the module; NOT_LOADED,
 *           WITHDRAWN: what IMAGE said; TOO_LARGE, NOT_PATCHED, KERNEL_NOT_LOADED: number of the kernel
 * @size: EXCHANGE, MODULE: bytes of the image in the memfd; NAME: of the name there; 0: it is in @text
 * @flags: GPUMON_WIRE_QUIET and so on
 * @sm: EXCHANGE, PATCHES: architecture of the GPU that it is for, such as 90; 0: not known yet
 * @offset_ns: CLOCK: what has to be added to the GPU's clock to get CLOCK_MONOTONIC
 * @error_ns: CLOCK: the result is right to within this
 * @took_ns: LOADED: how long the driver, or the sanitizer, took
 * @text: CONTEXT: name of the GPU; NAME: of the kernel; TELL: a sentence, or "";
 *        EXCHANGE: name of the file that the image is in, or ""; TOO_LARGE, KERNEL_NOT_LOADED: why, or ""
 * @first: EXCHANGE: number of the first kernel that is to get programs
 * @end: EXCHANGE: and one behind that of the last; 0: all are to
 */
struct gpumon_wire_request {
	uint32_t type;
	uint32_t version;
	uint32_t pid;
	uint32_t context;
	uint64_t size;
	uint32_t flags;
	uint32_t sm;
	int64_t offset_ns;
	uint64_t error_ns;
	uint64_t took_ns;
	char text[GPUMON_WIRE_NAMES];
	uint32_t first;
	uint32_t end;
};

/* COPIED: nothing ran on the GPU while it was copied. */
#define GPUMON_WIRE_QUIET 1u
/* TELL: nothing can be put into kernels of this process. */
#define GPUMON_WIRE_UNABLE 2u
/* EXCHANGE, MODULE: what is not exchanged comes as a module when it is loaded. LOADED: it was patched. */
#define GPUMON_WIRE_PATCHED 4u
/* EXCHANGE: device functions that kernels call are to get no programs. */
#define GPUMON_WIRE_NO_FUNCTIONS 8u

/**
 * struct gpumon_wire_range - a piece of a context's memory
 * @offset: from its start
 * @size: bytes
 */
struct gpumon_wire_range {
	uint64_t offset;
	uint64_t size;
};

/**
 * struct gpumon_wire_settings - what the library has to know
 * @type: SETTINGS
 * @version: GPUMON_WIRE_VERSION
 * @bytes: memory of a context; zeroes, but for @content
 * @places: of the control block and of each map: the table of addresses has them, from the block's address
 * @places_n: entries of the table
 * @content_n: pieces of @content
 * @content: what does not begin with zeroes: in the memfd at the same place
 * @pid_place: where the number of the process is to be, as get_current_pid_tgid gives it
 * @print_place: where the address of the print ring is to be
 * @print: place of the print ring; 0: there is none
 * @kept_place: where the address of what threads keep, and then the number of places, are to be
 * @kept_words: words for each place, which are behind @bytes; 0: nothing is kept in memory
 * @copy_ms: how often memory is copied while the program runs
 * @way: enum gpumon_wire_way
 * @sanitizer: SASS, EACH: path of its library
 * @shared: maps that are arrays of the kernel, a bit each: their memory is on the CPU
 */
struct gpumon_wire_settings {
	uint32_t type;
	uint32_t version;
	uint64_t bytes;
	uint64_t places[GPUMON_WIRE_PLACES];
	uint32_t places_n;
	uint32_t content_n;
	struct gpumon_wire_range content[GPUMON_WIRE_PLACES];
	uint64_t pid_place;
	uint64_t print_place;
	uint64_t print;
	uint64_t kept_place;
	uint32_t kept_words;
	uint32_t copy_ms;
	uint32_t way;
	char sanitizer[GPUMON_WIRE_PATH];
	uint64_t shared;
};

/**
 * struct gpumon_wire_point - a kind of instruction to be patched
 * @instruction: its number, as the sanitizer has it
 * @function: in the cubin
 */
struct gpumon_wire_point {
	uint32_t instruction;
	char function[28];
};

/**
 * struct gpumon_wire_kernel - a kernel that gets programs; its name with a NUL is behind it
 * @number: in gpumon-user
 * @programs: a bit each; of EDITED: GPUMON_WIRE_WAITS or 0
 * @name_size: bytes of the name, with the NUL
 */
struct gpumon_wire_kernel {
	uint32_t number;
	uint32_t programs;
	uint32_t name_size;
};

/* The kernel's blocks may wait for each other: all of them have to fit on the GPU. */
#define GPUMON_WIRE_WAITS 1u

/**
 * struct gpumon_wire_patch_data - what the functions of a patched kernel get, in the GPU's memory
 * @kernel: its number: what gpumon_kernel() gives
 * @programs: that run in it, 1 << index
 *
 * The table of addresses follows: user/gpuprog/object/map_memory.h.
 */
struct gpumon_wire_patch_data {
	uint32_t kernel;
	uint32_t programs;
};

/**
 * struct gpumon_wire_answer - what gpumon-user answers otherwise
 * @type: IMAGE, EDITED, UNTOUCHED, AREA, CLEAR, DONE, CODE, KERNELS or REFUSED
 * @count: CLEAR: of @clears; AREA: number of the context; CODE: of @points; KERNELS: of them
 * @size: IMAGE, EDITED, AREA, CODE, KERNELS: bytes of the memfd
 * @module: IMAGE, KERNELS: number of the module, for LOADED
 * @image: IMAGE, KERNELS: number of the image, for NOT_LOADED
 * @clears: CLEAR: what to set to zero, in this order
 * @points: CODE: what is to be patched
 * @why: REFUSED: a sentence
 */
struct gpumon_wire_answer {
	uint32_t type;
	uint32_t count;
	uint64_t size;
	uint32_t module;
	uint32_t image;
	union {
		struct gpumon_wire_range clears[GPUMON_WIRE_CLEARS];
		struct gpumon_wire_point points[GPUMON_WIRE_POINTS];
		char why[GPUMON_WIRE_NOTE];
	};
};

/**
 * struct gpumon_wire_launch - a launch of a kernel
 * @ns: CLOCK_MONOTONIC when the program called for it
 * @kernel: number of the kernel in this process, from 1; 0: not written yet
 * @context: as AREA said
 */
struct gpumon_wire_launch {
	uint64_t ns;
	uint32_t kernel;
	uint32_t context;
};

#define GPUMON_WIRE_LAUNCHES_MAX (1u << 20)

/**
 * struct gpumon_wire_launches - launches of a process, in shared memory
 * @count: how many there were: more than there is room for are only counted
 * @unknown: there were others of which the kernels are not known, such as those of graphs
 * @launches: the first ones
 */
struct gpumon_wire_launches {
	uint64_t count;
	uint64_t unknown;
	uint64_t reserved[6];
	struct gpumon_wire_launch launches[GPUMON_WIRE_LAUNCHES_MAX];
};

#endif /* GPUMON_ABI_WIRE_H */
