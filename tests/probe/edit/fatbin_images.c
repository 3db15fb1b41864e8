// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * fatbin_images FILE [EVERY [FOLDER]]: lists the images of all containers in a file, or in the
 * sections of an ELF file that have some, a JSON object each. Every EVERYth is unpacked (1), and
 * written into FOLDER by its number.
 *
 * fatbin_images FILE OUT INDEX TEXT: writes the container with another PTX as image INDEX, and
 * without its SASS.
 *
 * fatbin_images FILE OUT: writes it without a change.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "gpuprog/ptx/edit.h"
#include "gpuprog/image/fatbin.h"

/* In the head of an entry: where and how long the source file's name and the assembler's options are. */
#define NAME	0x20 /* u32, u32 */
#define OPTIONS 0x14 /* u32, where u32, u32 are */

struct listing {
	unsigned long every;
	const char *folder;
	unsigned long images;
	unsigned long containers;
};

static void fail(const char *what)
{
	fprintf(stderr, "fatbin_images: %s\n", what);
	exit(1);
}

static const uint8_t *map_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *data;

	if (fd < 0 || fstat(fd, &status))
		fail(strerror(errno));
	*size = (size_t)status.st_size;
	data = mmap(NULL, *size ? *size : 1, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		fail(strerror(errno));
	close(fd);
	return data;
}

static int count_kernel(void *context, const char *name)
{
	unsigned long *n = context;

	*n += *name != 0;
	return 0;
}

static unsigned long kernels_of(const struct gpumon_fatbin_image *image, const uint8_t *data,
				size_t size)
{
	struct gpumon_edit_module module;
	struct gpumon_error err;
	unsigned long n = 0;

	if (image->kind == GPUMON_FATBIN_ELF) {
		gpumon_fatbin_elf_kernels(data, size, count_kernel, &n);
	} else if (image->kind == GPUMON_FATBIN_PTX) {
		if (gpumon_edit_open((const char *)data, size, &module, &err))
			fail(err.message);
		for (size_t i = 0; i < module.functions_n; i++)
			n += module.functions[i].kernel;
		gpumon_edit_close(&module);
	}
	return n;
}

static void write_image(const char *folder, unsigned long number, const uint8_t *data, size_t size)
{
	char path[4096];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%lu", folder, number);
	out = fopen(path, "wb");
	if (!out || fwrite(data, 1, size, out) != size || fclose(out))
		fail(strerror(errno));
}

/* A text in the head of an image, as JSON. @at: where its place and its size stand; 0: there is none. */
static void print_text(const char *key, const struct gpumon_fatbin_image *image, uint32_t at)
{
	uint32_t offset = 0, size = 0;

	if (at && at <= image->head_size - 8) {
		offset = gpumon_fatbin_u32(image->entry + at);
		size = gpumon_fatbin_u32(image->entry + at + 4);
	}
	if (offset < GPUMON_FATBIN_ENTRY_LEAST || offset > image->head_size ||
	    size > image->head_size - offset)
		size = 0;
	printf(", \"%s\": \"", key);
	for (size_t i = 0; i < size && image->entry[offset + i]; i++)
		printf("\\u%04x", image->entry[offset + i]);
	printf("\"");
}

static void list_image(struct listing *listing, const struct gpumon_fatbin_image *image)
{
	static const char *const packings[] = { "", "lz4", "zstd", "other" };
	struct gpumon_error err;
	uint8_t *data;
	size_t size;

	printf("{\"container\": %lu, \"kind\": %u, \"sm\": %u, \"specific\": %s, "
	       "\"version\": [%u, %u], \"packing\": \"%s\", \"packed\": %zu, \"size\": %zu",
	       listing->containers, image->kind, image->sm, image->specific ? "true" : "false",
	       image->major, image->minor, packings[image->packing], image->payload_size,
	       image->unpacked_size);
	printf(", \"stored\": %lu", crc32_z(0, image->entry, image->size));
	print_text("name", image, NAME);
	/* Of a cubin something else is there. */
	print_text("options", image,
		   image->kind == GPUMON_FATBIN_PTX ? gpumon_fatbin_u32(image->entry + OPTIONS) :
						      0);
	if (listing->every && listing->images % listing->every == 0) {
		if (gpumon_fatbin_unpack(image, &data, &size, &err))
			fail(err.message);
		printf(", \"unpacked\": %zu, \"crc\": %lu, \"kernels\": %lu", size,
		       crc32_z(0, data, size), kernels_of(image, data, size));
		if (listing->folder)
			write_image(listing->folder, listing->images, data, size);
		free(data);
	}
	printf("}\n");
	listing->images++;
}

static void list_containers(struct listing *listing, const uint8_t *data, size_t size)
{
	struct gpumon_fatbin fatbin;
	struct gpumon_error err;
	size_t at = 0;

	while (size - at >= 16) {
		/* They begin at multiples of 8, some with zeroes between them. */
		if (gpumon_fatbin_form(data + at) != GPUMON_FATBIN_CONTAINER) {
			at += 8;
			continue;
		}
		if (gpumon_fatbin_open(data + at, size - at, &fatbin, &err))
			fail(err.message);
		for (size_t i = 0; i < fatbin.images_n; i++)
			list_image(listing, &fatbin.images[i]);
		at += (fatbin.size + 7) & ~(size_t)7;
		if (at > size)
			at = size;
		listing->containers++;
		gpumon_fatbin_close(&fatbin);
	}
}

static void list_sections(struct listing *listing, const uint8_t *data, size_t size)
{
	Elf_Scn *section = NULL;
	size_t strings;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_memory((char *)(uintptr_t)data, size);
	if (!elf || elf_getshdrstrndx(elf, &strings))
		fail("no ELF file");
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(elf, strings, header.sh_name);
		if (name && (!strcmp(name, ".nv_fatbin") || !strcmp(name, "__nv_relfatbin")) &&
		    header.sh_offset <= size && header.sh_size <= size - header.sh_offset)
			list_containers(listing, data + header.sh_offset, header.sh_size);
	}
	elf_end(elf);
}

static void rewrite(const uint8_t *data, size_t size, char **argv)
{
	struct gpumon_fatbin_change *changes;
	struct gpumon_fatbin fatbin;
	struct gpumon_error err;
	FILE *out = fopen(argv[2], "wb");

	if (!out)
		fail(strerror(errno));
	if (gpumon_fatbin_open(data, size, &fatbin, &err))
		fail(err.message);
	changes = calloc(fatbin.images_n + 1, sizeof(*changes));
	for (size_t i = 0; argv[3] && i < fatbin.images_n; i++) {
		if (i == strtoul(argv[3], NULL, 10))
			changes[i].text = (const char *)map_file(argv[4], &changes[i].size);
		else
			changes[i].leave_out = fatbin.images[i].kind == GPUMON_FATBIN_ELF;
	}
	if (gpumon_fatbin_write(&fatbin, changes, out, &err))
		fail(err.message);
	fclose(out);
	free(changes);
	gpumon_fatbin_close(&fatbin);
}

int main(int argc, char **argv)
{
	struct listing listing = { .every = argc > 2 ? strtoul(argv[2], NULL, 10) : 0 };
	const uint8_t *data;
	size_t size;

	if (argc < 2)
		fail("FILE...");
	data = map_file(argv[1], &size);
	if (argc == 5 || (argc == 3 && !listing.every)) {
		rewrite(data, size, argv);
		return 0;
	}
	listing.folder = argc > 3 ? argv[3] : NULL;
	if (size >= 16 && gpumon_fatbin_form(data) == GPUMON_FATBIN_ELF_FILE)
		list_sections(&listing, data, size);
	else
		list_containers(&listing, data, size);
	munmap((void *)(uintptr_t)data, size);
	return 0;
}
