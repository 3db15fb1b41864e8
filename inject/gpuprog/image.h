/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Images that a program hands to one of CUDA's loaders. */
#ifndef GPUMON_INJECT_GPUPROG_IMAGE_H
#define GPUMON_INJECT_GPUPROG_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct inject_image - an image in the program's memory
 * @data: PTX, cubin or container of a fat binary, without its wrapper
 * @size: bytes
 * @has_ptx: there may be PTX in it
 * @file: name of the library or program that it is in, or of the file from which it is read, without folders;
 *        "": not known
 */
struct inject_image {
	const void *data;
	size_t size;
	bool has_ptx;
	char file[64];
};

/**
 * struct inject_new_image - what is loaded in the place of an image
 * @data: NULL: the program's own is
 * @size: bytes
 * @fd: of the file that it is in, negative: closed
 * @kernels: struct gpumon_wire_kernel of those in it that got programs, each with its name behind it
 * @kernels_size: bytes
 */
struct inject_new_image {
	void *data;
	size_t size;
	int fd;
	void *kernels;
	size_t kernels_size;
};

/* Frees all but @data, which a loaded image needs. */
void inject_new_image_close(struct inject_new_image *image);
void inject_new_image_clear(struct inject_new_image *image);

#define INJECT_IMAGE_ROOM SIZE_MAX

/**
 * inject_image_find - what is at an address that a program gives to CUDA
 * @given: as a loader without a size takes it; it is what CUDA would read
 * @room: bytes of a file's content, with a NUL behind it; INJECT_IMAGE_ROOM: as many as the image says
 * @image: out, but for @file
 *
 * Return: false where it is nothing that is known, or cut off.
 */
bool inject_image_find(const void *given, size_t room, struct inject_image *image);

/* Set @file to the name behind the last slash, as far as there is room. */
void inject_image_name(struct inject_image *image, const char *path);

/* Set @file to the library or program that @data is in. */
void inject_image_locate(struct inject_image *image);

#endif /* GPUMON_INJECT_GPUPROG_IMAGE_H */
