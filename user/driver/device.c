// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "lib/array.h"
#include "lib/files.h"
#include "lib/map.h"
#include "lib/memory.h"
#include "model_fields.h"

#define PCI    "/sys/bus/pci/devices"
#define NVIDIA "/proc/driver/nvidia/gpus"
#define POLICY "/sys/module/gpu_sched/parameters/sched_policy"

/* Classes of PCI functions, the highest byte. */
#define CLASS_DISPLAY	  0x03
#define CLASS_ACCELERATOR 0x12

/**
 * struct function - a PCI function that was looked at
 * @device: what it is called; the address is NULL if it is neither a display nor an accelerator
 * @seen: number of the reading that had it last
 */
struct function {
	struct gpumon_device device;
	uint64_t seen;
};

struct gpumon_devices {
	const char *root;
	uint64_t readings;
	struct gpumon_intern addresses; /* the number is that of the function, plus 1 */
	struct function *functions;
	size_t n_functions;
};

struct gpumon_devices *gpumon_devices_new(const char *root)
{
	struct gpumon_devices *devices = gpumon_calloc(1, sizeof(*devices));

	devices->root = root ? root : "";
	return devices;
}

void gpumon_devices_free(struct gpumon_devices *devices)
{
	if (!devices)
		return;
	for (size_t i = 0; i < devices->n_functions; i++)
		gpumon_fields_free(&gpumon_device_fields, &devices->functions[i].device);
	free(devices->functions);
	gpumon_intern_clear(&devices->addresses);
	free(devices);
}

/* The first line of a file of a function, without blanks around it; NULL if it has none. */
static char *read_line(const struct gpumon_devices *devices, const char *address, const char *file)
{
	char name[PATH_MAX], text[256], *begin = text;
	size_t length;

	snprintf(name, sizeof(name), PCI "/%s/%s", address, file);
	if (!gpumon_read_short(devices->root, name, text, sizeof(text)))
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	while (isspace((unsigned char)*begin))
		begin++;
	length = strlen(begin);
	while (length && isspace((unsigned char)begin[length - 1]))
		length--;
	return length ? gpumon_strndup(begin, length) : NULL;
}

static struct gpumon_value read_number(const struct gpumon_devices *devices, const char *address,
				       const char *file)
{
	char *text = read_line(devices, address, file), *end;
	struct gpumon_value value = { 0 };

	if (text && isxdigit((unsigned char)*text)) {
		value = gpumon_value_of(strtoul(text, &end, 16));
		if (*end || value.v > UINT32_MAX)
			value = (struct gpumon_value){ 0 };
	}
	free(text);
	return value;
}

/* The text behind "NAME:" of a line, without blanks around it; NULL if it is another line. */
static const char *line_value(char *line, const char *name)
{
	size_t length = strlen(name);

	if (strncmp(line, name, length) || line[length] != ':')
		return NULL;
	line += length + 1;
	line += strspn(line, " \t");
	length = strlen(line);
	while (length && isspace((unsigned char)line[length - 1]))
		line[--length] = '\0';
	return line;
}

/* NVIDIA's driver writes "Unknown", or question marks, before it has initialised a GPU. */
static void take_text(char **to, const char *text)
{
	if (!text || !*text || strchr(text, '?') || !strcmp(text, "Unknown"))
		return;
	free(*to);
	*to = gpumon_strdup(text);
}

/* False if it is not NVIDIA's driver that has it. */
static bool read_nvidia(const struct gpumon_devices *devices, struct gpumon_device *device)
{
	char path[PATH_MAX], line[256];
	FILE *stream;

	snprintf(path, sizeof(path), "%s" NVIDIA "/%s/information", devices->root, device->address);
	stream = fopen(path, "re");
	if (!stream)
		return false;
	while (fgets(line, sizeof(line), stream)) {
		take_text(&device->model, line_value(line, "Model"));
		take_text(&device->uuid, line_value(line, "GPU UUID"));
	}
	fclose(stream);
	return true;
}

/* "10de  NVIDIA Corporation", and below it with a tab the devices: four digits, two blanks, a name. */
static const char *id_name(const char *line, uint64_t id)
{
	char digits[8];

	snprintf(digits, sizeof(digits), "%04x", (unsigned int)(id & 0xffff));
	return !strncmp(line, digits, 4) && line[4] == ' ' ? line + 4 + strspn(line + 4, " ") :
							     NULL;
}

static FILE *open_ids(const struct gpumon_devices *devices)
{
	static const char *const places[] = {
		"/usr/share/misc/pci.ids",
		"/usr/share/hwdata/pci.ids",
	};
	char path[PATH_MAX];
	FILE *stream = NULL;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !stream; i++) {
		snprintf(path, sizeof(path), "%s%s", devices->root, places[i]);
		stream = fopen(path, "re");
	}
	return stream;
}

static void read_ids(const struct gpumon_devices *devices, struct gpumon_device *device)
{
	FILE *stream = open_ids(devices);
	bool vendor = false;
	const char *name = NULL;
	char line[512];

	while (stream && !name && fgets(line, sizeof(line), stream)) {
		line[strcspn(line, "\r\n")] = '\0';
		if (!*line || *line == '#')
			continue;
		if (*line != '\t') {
			/* Behind its devices comes another vendor. */
			if (vendor)
				break;
			vendor = id_name(line, device->vendor_id.v);
		} else if (vendor && line[1] != '\t') {
			name = id_name(line + 1, device->device_id.v);
		}
	}
	take_text(&device->model, name);
	if (stream)
		fclose(stream);
}

static bool is_gpu(const struct gpumon_devices *devices, const char *address)
{
	struct gpumon_value class = read_number(devices, address, "class");

	return class.known &&
	       (class.v >> 16 == CLASS_DISPLAY || class.v >> 16 == CLASS_ACCELERATOR);
}

/* @driver: the driver has it, whatever its class is. */
static void look_at(const struct gpumon_devices *devices, struct gpumon_device *device,
		    const char *address, bool driver)
{
	gpumon_fields_free(&gpumon_device_fields, device);
	memset(device, 0, sizeof(*device));
	if (!driver && !is_gpu(devices, address))
		return;
	device->address = gpumon_strdup(address);
	device->vendor_id = read_number(devices, address, "vendor");
	device->device_id = read_number(devices, address, "device");
	if (!read_nvidia(devices, device)) {
		/* Files of amdgpu. */
		device->model = read_line(devices, address, "product_name");
		device->uuid = read_line(devices, address, "unique_id");
	}
	if (!device->model && device->vendor_id.known && device->device_id.known)
		read_ids(devices, device);
}

static int is_entry(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Once a reading, though two folders may have it. */
static void add_function(struct gpumon_devices *devices, struct gpumon_model *model,
			 const char *address, bool driver)
{
	bool added;
	uint32_t number = gpumon_intern(&devices->addresses, address, &added);
	struct gpumon_device *device;
	struct function *function;

	if (added)
		GPUMON_GROW(devices->functions, devices->n_functions);
	function = &devices->functions[number - 1];
	if (function->seen == devices->readings)
		return;
	/* One that was away may be another. */
	if (added || function->seen + 1 != devices->readings)
		look_at(devices, &function->device, address, driver);
	function->seen = devices->readings;
	if (!function->device.address)
		return;
	device = gpumon_model_add_device(model);
	*device = function->device;
	gpumon_fields_copy(&gpumon_device_fields, device);
}

static void add_folder(struct gpumon_devices *devices, struct gpumon_model *model,
		       const char *folder, bool driver)
{
	struct dirent **entries;
	char path[PATH_MAX];
	int n;

	snprintf(path, sizeof(path), "%s%s", devices->root, folder);
	n = scandir(path, &entries, is_entry, alphasort);
	for (int i = 0; i < n; i++) {
		add_function(devices, model, entries[i]->d_name, driver);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

/*
 * Kernels without the parameter are not all of one policy: before 6.2 there was nothing to choose, and
 * later ones may have nothing again.
 */
static struct gpumon_value read_policy(const char *root)
{
	struct gpumon_value policy = { 0 };
	char text[32], *end;

	if (!gpumon_read_short(root, POLICY, text, sizeof(text)) || !isdigit((unsigned char)*text))
		return policy;
	policy.v = strtoul(text, &end, 10);
	policy.known = !strcmp(end, "\n") || !*end;
	return policy.known && policy.v <= INT_MAX ? policy : (struct gpumon_value){ 0 };
}

static int compare_devices(const void *a, const void *b)
{
	const struct gpumon_device *x = a, *y = b;

	return strverscmp(x->address, y->address);
}

void gpumon_devices_resolve(struct gpumon_devices *devices, struct gpumon_model *model)
{
	if (!devices)
		return;
	devices->readings++;
	model->sched_policy = read_policy(devices->root);
	/* A container may see NVIDIA's files without the whole of sysfs. */
	add_folder(devices, model, NVIDIA, true);
	add_folder(devices, model, PCI, false);
	if (model->n_devices)
		qsort(model->devices, model->n_devices, sizeof(*model->devices), compare_devices);
}
