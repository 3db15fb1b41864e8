// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/glibc.h"
#include "image.h"

#define WRAPPER	  0x466243b1u
#define CONTAINER 0xba55ed50u
#define KIND_PTX  1

/* Layouts as in user/gpuprog/image/layout.h. */
struct container {
	uint32_t magic;
	uint16_t version;
	uint16_t head_size;
	uint64_t size;
};

struct entry {
	uint16_t kind;
	uint16_t version;
	uint32_t head_size;
	uint64_t payload_size;
};

struct wrapper {
	uint32_t magic;
	uint32_t version;
	const void *container;
	const void *more;
};

static bool container_has_ptx(const char *data, size_t size)
{
	struct entry entry;
	size_t at = sizeof(struct container);

	while (at < size && size - at >= sizeof(entry)) {
		memcpy(&entry, data + at, sizeof(entry));
		if (entry.kind == KIND_PTX)
			return true;
		if (entry.head_size < sizeof(entry) || entry.head_size > size - at ||
		    entry.payload_size > size - at - entry.head_size)
			return false;
		at += entry.head_size + entry.payload_size;
	}
	return false;
}

/* More than @room: it is cut off. */
static size_t elf_size(const Elf64_Ehdr *header, size_t room)
{
	const char *base = (const char *)header;
	size_t end, section_end;
	Elf64_Shdr section;
	unsigned int i;

	if (room < sizeof(*header) || header->e_shoff > room)
		return SIZE_MAX;
	end = header->e_shoff + (size_t)header->e_shnum * sizeof(Elf64_Shdr);
	if (end > room)
		return end;
	for (i = 0; i < header->e_shnum; i++) {
		memcpy(&section, base + header->e_shoff + i * sizeof(section), sizeof(section));
		section_end = section.sh_offset + section.sh_size;
		if (section.sh_type != SHT_NOBITS && section_end > end)
			end = section_end;
	}
	section_end = header->e_phoff + (size_t)header->e_phnum * sizeof(Elf64_Phdr);
	return section_end > end ? section_end : end;
}

void inject_image_name(struct inject_image *image, const char *path)
{
	const char *slash = strrchr(path, '/');

	snprintf(image->file, sizeof(image->file), "%s", slash ? slash + 1 : path);
}

void inject_image_locate(struct inject_image *image)
{
	Dl_info info;

	image->file[0] = '\0';
	if (dladdr(image->data, &info) && info.dli_fname)
		inject_image_name(image, info.dli_fname);
}

bool inject_image_find(const void *given, size_t room, struct inject_image *image)
{
	struct container container;
	struct wrapper wrapper;
	uint32_t magic;

	if (!given)
		return false;
	/* A text may be shorter. No other form has a NUL in its first bytes. */
	magic = 0;
	memcpy(&magic, given, strnlen(given, sizeof(magic)));
	if (magic == WRAPPER && room == INJECT_IMAGE_ROOM) {
		memcpy(&wrapper, given, sizeof(wrapper));
		given = wrapper.container;
		if (!given)
			return false;
		memcpy(&magic, given, sizeof(magic));
	}
	image->data = given;
	if (magic == CONTAINER) {
		if (room < sizeof(container))
			return false;
		memcpy(&container, given, sizeof(container));
		if (container.size > room || container.head_size > room - container.size)
			return false;
		image->size = container.head_size + container.size;
		image->has_ptx = container_has_ptx(given, image->size);
		return true;
	}
	if (strncmp(given, ELFMAG, SELFMAG) == 0) {
		image->size = elf_size(given, room);
		image->has_ptx = false;
		return image->size <= room;
	}
	image->size = strlen(given) + 1;
	image->has_ptx = true;
	return image->size > 1;
}

void inject_new_image_close(struct inject_new_image *image)
{
	if (image->fd >= 0)
		close(image->fd);
	image->fd = -1;
	if (image->kernels)
		munmap(image->kernels, image->kernels_size);
	image->kernels = NULL;
}

void inject_new_image_clear(struct inject_new_image *image)
{
	inject_new_image_close(image);
	if (image->data)
		munmap(image->data, image->size);
	image->data = NULL;
}
