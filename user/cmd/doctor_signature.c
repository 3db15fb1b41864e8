// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Where only signed modules load: with which key gpumon.ko is signed, whether the kernel has it, and if not, how far
 * it got on its way from dkms over the firmware's list of the machine owner's keys into the kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "lib/files.h"
#include "lib/memory.h"
#include "lib/module_file.h"
#include "lib/module_signature.h"

#define OK   GPUMON_DOCTOR_OK
#define WARN GPUMON_DOCTOR_WARN

#define VARIABLES	"/sys/firmware/efi/efivars/"
#define OF_SHIM		"-605dab50-e046-4300-abb6-3dd810dd8b23"
#define CERTIFICATE_MAX 65536
#define LIST_MAX	(1 << 20)
#define KEYS_MAX	(1 << 20)

/* A certificate of this machine's owner, for whose key modules are signed when they are built. */
struct owner_key {
	const char *path;
	char *bytes;
	size_t size;
	struct gpumon_key_name name;
};

/* The first file is dkms' own, the other one that of Ubuntu. */
static const char *const certificates[] = { "/var/lib/dkms/mok.pub",
					    "/var/lib/shim-signed/mok/MOK.der" };

/* All of a file below the root, and its size; NULL if it cannot be read. To be freed. */
static char *read_all(const struct gpumon_doctor *doctor, const char *name, size_t most,
		      size_t *size)
{
	char path[PATH_MAX];
	char *bytes;
	int fd;

	snprintf(path, sizeof(path), "%s%s", doctor->root, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	bytes = gpumon_read_whole(fd, most, size);
	close(fd);
	return bytes;
}

/* --- the module's file */

/* Its path, from the line "updates/dkms/gpumon.ko.xz:" of modules.dep. To be freed. */
static char *find_module(const struct gpumon_doctor *doctor)
{
	char release[128], path[PATH_MAX], line[4096], *found = NULL;
	FILE *stream;

	if (gpumon_doctor_read(doctor, "/proc/sys/kernel/osrelease", release, sizeof(release)))
		return NULL;
	snprintf(path, sizeof(path), "%s/lib/modules/%s/modules.dep", doctor->root, release);
	stream = fopen(path, "re");
	while (stream && !found && fgets(line, sizeof(line), stream)) {
		line[strcspn(line, ":")] = '\0';
		if (strstr(line, "/gpumon.ko"))
			found = gpumon_asprintf("/lib/modules/%s/%s", release, line);
	}
	if (stream)
		fclose(stream);
	return found;
}

/* False if it cannot be read. */
static bool read_module(const struct gpumon_doctor *doctor, const char *name,
			enum gpumon_signature *signature, struct gpumon_key_name *signer)
{
	char path[PATH_MAX], *bytes;
	size_t size;
	bool there;

	snprintf(path, sizeof(path), "%s%s", doctor->root, name);
	bytes = gpumon_module_file_read(path, &size);
	if (bytes)
		*signature = gpumon_module_signature(bytes, size, signer);
	there = bytes != NULL;
	free(bytes);
	return there;
}

/* --- keys */

/* The certificate whose key has signed it, or else the one that is there. False if there is none. */
static bool find_owner_key(const struct gpumon_doctor *doctor, const struct gpumon_key_name *signer,
			   struct owner_key *key)
{
	*key = (struct owner_key){ 0 };
	for (size_t i = 0; i < sizeof(certificates) / sizeof(certificates[0]); i++) {
		struct owner_key new = { .path = certificates[i] };

		new.bytes = read_all(doctor, new.path, CERTIFICATE_MAX, &new.size);
		if (!new.bytes || !gpumon_certificate_name(new.bytes, new.size, &new.name)) {
			free(new.bytes);
			continue;
		}
		if (!key->bytes || !strcmp(new.name.serial, signer->serial)) {
			free(key->bytes);
			*key = new;
		} else {
			free(new.bytes);
		}
	}
	return key->bytes;
}

static bool is_key_of(const struct owner_key *key, const struct gpumon_key_name *signer)
{
	if (*signer->serial)
		return !strcmp(key->name.serial, signer->serial);
	return *signer->id && !strcmp(key->name.id, signer->id);
}

static bool contains(const char *bytes, size_t size, const struct owner_key *key)
{
	for (; size >= key->size; bytes++, size--)
		if (!memcmp(bytes, key->bytes, key->size))
			return true;
	return false;
}

/* Is the certificate in a list of shim's? */
static bool is_listed(const struct gpumon_doctor *doctor, const char *list,
		      const struct owner_key *key)
{
	size_t size;
	char *bytes = read_all(doctor, list, LIST_MAX, &size);
	bool found = bytes && contains(bytes, size, key);

	free(bytes);
	return found;
}

static bool is_enrolled(const struct gpumon_doctor *doctor, const struct owner_key *key)
{
	return is_listed(doctor, VARIABLES "MokListRT" OF_SHIM, key) ||
	       is_listed(doctor, "/sys/firmware/efi/mok-variables/MokListRT", key);
}

/*
 * Is a key among those of the kernel? A line of /proc/keys has the certificate's subject and the key's identifier:
 * "… asymmetri NAME: 0123…: X509.rsa 89abcdef []". Only root sees these lines. -1: there are none.
 */
static int kernel_has(const struct gpumon_doctor *doctor, const struct gpumon_key_name *name)
{
	size_t size;
	char *text = read_all(doctor, "/proc/keys", KEYS_MAX, &size);
	char *rest = text, *line;
	int found = -1;

	while (rest && (line = strsep(&rest, "\n"))) {
		const char *key = strstr(line, " asymmetri ");

		if (!key)
			continue;
		if (found < 0)
			found = 0;
		if (*name->id ? strstr(key, name->id) != NULL :
				*name->name && strstr(key, name->name))
			found = 1;
	}
	free(text);
	return found;
}

/* --- what is said */

#define SIGN_ADVICE                                                                           \
	"dkms signs what it builds, with /var/lib/dkms/mok.key: dkms build --force and dkms " \
	"install --force; by hand: scripts/sign-file of the kernel's headers"
#define ENROL_ADVICE "mokutil --import %s, as root, then boot and choose \"Enroll MOK\""

/* "NAME (serial 01ab)" */
static void print_signer(const struct gpumon_key_name *signer, char *text, size_t room)
{
	char name[160];
	const char *digits = *signer->serial ? signer->serial : signer->id;

	gpumon_format_name(name, sizeof(name), *signer->name ? signer->name : "a key");
	snprintf(text, room, "\"%s\" (%s %s)", name, *signer->serial ? "serial" : "id", digits);
}

static void check_owner_key(struct gpumon_doctor *doctor, const struct owner_key *key,
			    const char *signer)
{
	int has = kernel_has(doctor, &key->name);
	char advice[256];

	if (has > 0) {
		gpumon_doctor_add(doctor, OK, "module-key", NULL,
				  "signed by %s, which the kernel has", signer);
	} else if (is_enrolled(doctor, key) && has < 0) {
		gpumon_doctor_add(doctor, OK, "module-key", NULL, "signed by %s, which is enrolled",
				  signer);
	} else if (is_enrolled(doctor, key)) {
		gpumon_doctor_add(
			doctor, WARN, "module-key",
			"boot; if that does not help, mokutil --enable-validation, as root, and boot",
			"signed by %s, which is enrolled, and which this kernel has not taken",
			signer);
	} else if (is_listed(doctor, VARIABLES "MokNew" OF_SHIM, key)) {
		gpumon_doctor_add(
			doctor, WARN, "module-key",
			"boot, and choose \"Enroll MOK\" at the console: it is asked only once",
			"signed by %s, whose import waits for the next boot", signer);
	} else {
		snprintf(advice, sizeof(advice), ENROL_ADVICE, key->path);
		gpumon_doctor_add(doctor, WARN, "module-key", advice,
				  "signed by %s, which is not enrolled", signer);
	}
}

static void check_signer(struct gpumon_doctor *doctor, const struct gpumon_key_name *signer)
{
	struct owner_key key;
	bool there = find_owner_key(doctor, signer, &key);
	char text[320];
	int has;

	print_signer(signer, text, sizeof(text));
	has = kernel_has(doctor, signer);
	if (there && is_key_of(&key, signer))
		check_owner_key(doctor, &key, text);
	else if (has > 0)
		gpumon_doctor_add(doctor, OK, "module-key", NULL,
				  "signed by %s; the kernel has a key of that name", text);
	else if (has < 0)
		gpumon_doctor_add(doctor, WARN, "module-key",
				  "run doctor as root, who sees the kernel's keys",
				  "signed by %s; which keys the kernel has is not known", text);
	else if (there)
		gpumon_doctor_add(
			doctor, WARN, "module-key", SIGN_ADVICE,
			"signed by %s, which the kernel does not have; %s is of another key", text,
			key.path);
	else
		gpumon_doctor_add(doctor, WARN, "module-key",
				  "mokutil --import CERTIFICATE of that key, as root, then boot",
				  "signed by %s, which the kernel does not have", text);
	free(key.bytes);
}

void gpumon_doctor_signature(struct gpumon_doctor *doctor)
{
	enum gpumon_signature signature = GPUMON_SIGNATURE_NONE;
	struct gpumon_key_name signer;
	char *module;

	/* What is loaded has been let in. */
	if (gpumon_doctor_exists(doctor, "/sys/module/gpumon"))
		return;
	module = find_module(doctor);
	if (!module)
		return;
	if (!read_module(doctor, module, &signature, &signer))
		gpumon_doctor_add(doctor, WARN, "module-key",
				  "modinfo gpumon names its key: signer, sig_key",
				  "%s cannot be read", module);
	else if (signature == GPUMON_SIGNATURE_NONE)
		gpumon_doctor_add(doctor, WARN, "module-key", SIGN_ADVICE, "%s is not signed",
				  module);
	else if (signature == GPUMON_SIGNATURE_BROKEN)
		gpumon_doctor_add(doctor, WARN, "module-key", SIGN_ADVICE,
				  "the signature of %s cannot be read", module);
	else
		check_signer(doctor, &signer);
	free(module);
}
