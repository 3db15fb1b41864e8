// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Which key of a signed module is missing. Certificates and signatures are openssl's: sign-file of the kernel makes
 * the same. What /proc and the firmware's variables have is made up around them.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor_machine.h"
#include "lib/module_signature.h"

#define VARIABLE(name) "/sys/firmware/efi/efivars/" name "-605dab50-e046-4300-abb6-3dd810dd8b23"
#define MODULE	       "/lib/modules/" MACHINE_RELEASE "/updates/dkms/gpumon.ko"
#define MOK	       "/var/lib/dkms/mok.pub"
#define BYTES_MAX      8192

/* Keys that are made once: "mok" is that of dkms, "other" has the same kind. */
static char keys[] = "/tmp/gpumon-keys-XXXXXX";

struct bytes {
	char at[BYTES_MAX];
	size_t size;
};

__attribute__((format(printf, 1, 2))) static void run(const char *format, ...)
{
	char command[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	if (system(command))
		fail_msg("%s", command);
}

static struct bytes key_file(const char *name)
{
	struct bytes bytes;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", keys, name);
	file = fopen(path, "re");
	assert_non_null(file);
	bytes.size = fread(bytes.at, 1, sizeof(bytes.at), file);
	fclose(file);
	assert_true(bytes.size && bytes.size < sizeof(bytes.at));
	return bytes;
}

/* What openssl says of a certificate: "serial=01AB", "…:01:AB"; the digits as the kernel writes them. */
static void digits_of(const char *name, const char *what, char *digits)
{
	char command[256], line[256] = "", *at;
	FILE *stream;

	snprintf(command, sizeof(command), "openssl x509 -noout %s -in %s/%s.pem | tail -1", what,
		 keys, name);
	stream = popen(command, "re");
	assert_non_null(stream);
	assert_non_null(fgets(line, sizeof(line), stream));
	pclose(stream);
	at = strchr(line, '=') ? strchr(line, '=') + 1 : line;
	for (; *at; at++)
		if (isxdigit((unsigned char)*at))
			*digits++ = (char)tolower((unsigned char)*at);
	*digits = '\0';
}

/* @id: hash, or its bytes. */
static void make_key(const char *name, const char *subject, const char *id)
{
	run("cd %s && printf '[req]\\ndistinguished_name=d\\nx509_extensions=e\\n[d]\\n[e]\\nsubjectKeyIdentifier=%s\\n' "
	    ">%s.conf && openssl req -x509 -config %s.conf -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
	    "-days 2 -subj '%s' -keyout %s.key -out %s.pem 2>/dev/null && "
	    "openssl x509 -in %s.pem -outform DER -out %s.der",
	    keys, id, name, name, subject, name, name, name, name);
	/* As sign-file: no certificate in it, no attributes. */
	run("cd %s && : | openssl cms -sign -binary -signer %s.pem -inkey %s.key -outform DER -nocerts -noattr "
	    "-md sha256 -out %s.sig && : | openssl cms -sign -binary -signer %s.pem -inkey %s.key -outform DER "
	    "-nocerts -noattr -md sha256 -keyid -out %s.sig-by-id",
	    keys, name, name, name, name, name, name);
}

static int make_keys(void **state)
{
	(void)state;
	if (!mkdtemp(keys))
		return -1;
	/* A hash begins with a 0 in one of 256 cases. */
	make_key("mok", "/CN=DKMS module signing key", "00930ED66D576C75B12298CACB250D3163227E75");
	make_key("other", "/O=Example/CN=Example build key", "hash");
	return 0;
}

static int remove_keys(void **state)
{
	(void)state;
	run("rm -rf %s", keys);
	return 0;
}

/* A module that has nothing but its head, with this signature behind it; NULL: with none. */
static struct bytes module_of(const char *signature)
{
	struct {
		uint8_t algorithm, hash, id_type, signer, key_id, padding[3];
		uint32_t length;
	} trailer = { .id_type = 2 };
	Elf64_Ehdr head = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					 ELFDATA2LSB, EV_CURRENT },
			    .e_type = ET_REL,
			    .e_version = EV_CURRENT,
			    .e_ehsize = sizeof(head) };
	static const char ending[] = "~Module signature appended~\n";
	struct bytes module = { .size = sizeof(head) }, found;

	memcpy(module.at, &head, sizeof(head));
	if (!signature)
		return module;
	found = key_file(signature);
	trailer.length = htonl((uint32_t)found.size);
	memcpy(module.at + module.size, found.at, found.size);
	module.size += found.size;
	memcpy(module.at + module.size, &trailer, sizeof(trailer));
	module.size += sizeof(trailer);
	memcpy(module.at + module.size, ending, sizeof(ending) - 1);
	module.size += sizeof(ending) - 1;
	return module;
}

/* A machine with Secure Boot, on which the module is installed and not loaded. */
static void lock(const char *signature)
{
	struct bytes module = module_of(signature);

	machine_take_away("/sys/module/gpumon");
	machine_put("/sys/module/module/parameters/sig_enforce", "Y\n");
	machine_put_bytes(MODULE, module.at, module.size);
}

static void put_key(const char *path, const char *before, const char *name)
{
	struct bytes key = key_file(name), all = { .size = strlen(before) };

	memcpy(all.at, before, all.size);
	memcpy(all.at + all.size, key.at, key.size);
	machine_put_bytes(path, all.at, all.size + key.size);
}

static void put_kernel_keys(const char *subject, const char *id)
{
	char text[512];

	snprintf(
		text, sizeof(text),
		"00ce94d6 I------     1 perm 1f0b0000     0     0 keyring   .builtin_trusted_keys: 1\n"
		"1a2b3c4d I------     1 perm 1f030000     0     0 asymmetri %s: %s: X509.ecdsa %s []\n",
		subject, id, strlen(id) > 8 ? id + strlen(id) - 8 : id);
	machine_put("/proc/keys", text);
}

static void names_and_numbers(void **state)
{
	struct bytes certificate = key_file("mok.der"), module = module_of("mok.sig");
	char serial[GPUMON_KEY_ID_LEN], id[GPUMON_KEY_ID_LEN];
	struct gpumon_key_name key;

	(void)state;
	digits_of("mok", "-serial", serial);
	digits_of("mok", "-ext subjectKeyIdentifier", id);
	assert_true(gpumon_certificate_name(certificate.at, certificate.size, &key));
	assert_string_equal(key.name, "DKMS module signing key");
	assert_string_equal(key.serial, serial);
	assert_string_equal(key.id, id);
	assert_int_equal(gpumon_module_signature(module.at, module.size, &key),
			 GPUMON_SIGNATURE_GOOD);
	assert_string_equal(key.name, "DKMS module signing key");
	assert_string_equal(key.serial, serial);
	assert_string_equal(key.id, "");
	module = module_of("mok.sig-by-id");
	assert_int_equal(gpumon_module_signature(module.at, module.size, &key),
			 GPUMON_SIGNATURE_GOOD);
	assert_string_equal(key.id, id);
	module = module_of(NULL);
	assert_int_equal(gpumon_module_signature(module.at, module.size, &key),
			 GPUMON_SIGNATURE_NONE);
}

/* Cut anywhere, and with any byte changed: read within its bounds, or refused. */
static void bytes_that_are_not_trusted(void **state)
{
	static const unsigned char changes[] = { 0x01, 0x7f, 0x80, 0xff };
	struct bytes certificate = key_file("mok.der"), module = module_of("mok.sig");
	struct gpumon_key_name key;

	(void)state;
	for (size_t cut = 0; cut < module.size; cut++) {
		/* Of its own size, so that a read behind its end is one behind the allocation. */
		char *copy = memcpy(malloc(cut + 1), module.at + module.size - cut, cut);

		(void)gpumon_module_signature(copy, cut, &key);
		free(copy);
	}
	for (size_t cut = 0; cut < certificate.size; cut++) {
		char *copy = memcpy(malloc(cut + 1), certificate.at, cut);

		assert_false(gpumon_certificate_name(copy, cut, &key));
		free(copy);
	}
	for (size_t i = 0; i < module.size; i++) {
		for (size_t k = 0; k < sizeof(changes); k++) {
			char *copy = memcpy(malloc(module.size), module.at, module.size);

			copy[i] = (char)(copy[i] ^ changes[k]);
			(void)gpumon_module_signature(copy, module.size, &key);
			assert_true(strlen(key.serial) < sizeof(key.serial));
			free(copy);
		}
	}
	for (size_t i = 0; i < certificate.size; i++) {
		for (size_t k = 0; k < sizeof(changes); k++) {
			char *copy =
				memcpy(malloc(certificate.size), certificate.at, certificate.size);

			copy[i] = (char)(copy[i] ^ changes[k]);
			(void)gpumon_certificate_name(copy, certificate.size, &key);
			free(copy);
		}
	}
}

static void no_line(void)
{
	struct gpumon_doctor doctor = machine_look();

	assert_null(machine_find_if_there(&doctor, "module-key"));
	gpumon_doctor_free(&doctor);
}

static void where_nothing_is_required(void **state)
{
	(void)state;
	lock("mok.sig");
	machine_expect("module-key", GPUMON_DOCTOR_WARN, "signed by");
	machine_put("/sys/module/module/parameters/sig_enforce", "N\n");
	no_line();
	machine_put("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	machine_expect("module-key", GPUMON_DOCTOR_WARN, "signed by");
	/* What runs has been let in; what is not installed has no signature. */
	machine_put("/sys/module/gpumon/version", "1\n");
	no_line();
	machine_take_away("/sys/module/gpumon");
	machine_put("/lib/modules/" MACHINE_RELEASE "/modules.dep", "kernel/fs/ext4/ext4.ko:\n");
	no_line();
}

static void not_signed(void **state)
{
	struct bytes module = module_of("mok.sig");

	(void)state;
	lock(NULL);
	machine_expect("module-key", GPUMON_DOCTOR_WARN, "gpumon.ko is not signed");
	machine_expect_advice("module-key", "dkms build --force");
	module.at[sizeof(Elf64_Ehdr)] = 0;
	machine_put_bytes(MODULE, module.at, module.size);
	machine_expect("module-key", GPUMON_DOCTOR_WARN, "cannot be read");
	machine_put(MODULE, "no module");
	machine_expect("module-key", GPUMON_DOCTOR_WARN, "cannot be read");
	machine_take_away(MODULE);
	machine_expect("module-key", GPUMON_DOCTOR_WARN, "cannot be read");
}

/* The way of dkms' key: not imported, imported, enrolled, in the kernel. */
static void way_of_the_owners_key(void **state)
{
	char id[GPUMON_KEY_ID_LEN];

	(void)state;
	lock("mok.sig");
	put_key(MOK, "", "mok.der");
	put_kernel_keys("Debian Secure Boot CA", "6ccece7e4c6c0d1f6149f3dd27dfcc5cbb419ea1");
	machine_expect("module-key", GPUMON_DOCTOR_WARN, "\"DKMS module signing key\" (serial ");
	machine_expect("module-key", GPUMON_DOCTOR_WARN, "which is not enrolled");
	machine_expect_advice("module-key", "mokutil --import " MOK);
	put_key(VARIABLE("MokNew"), "\7", "mok.der");
	machine_expect("module-key", GPUMON_DOCTOR_WARN, "waits for the next boot");
	machine_expect_advice("module-key", "Enroll MOK");
	machine_take_away(VARIABLE("MokNew"));
	put_key(VARIABLE("MokListRT"), "\6", "other.der");
	machine_expect("module-key", GPUMON_DOCTOR_WARN, "which is not enrolled");
	put_key(VARIABLE("MokListRT"), "\6", "mok.der");
	machine_expect("module-key", GPUMON_DOCTOR_WARN, "this kernel has not taken");
	/* Others than root do not see the kernel's keys. */
	machine_take_away("/proc/keys");
	machine_expect("module-key", GPUMON_DOCTOR_OK, "which is enrolled");
	digits_of("mok", "-ext subjectKeyIdentifier", id);
	put_kernel_keys("DKMS module signing key", id);
	machine_expect("module-key", GPUMON_DOCTOR_OK, "which the kernel has");
	/* Another one of that name. */
	machine_take_away(VARIABLE("MokListRT"));
	put_kernel_keys("DKMS module signing key", "0123456789abcdef0123456789abcdef01234567");
	machine_expect("module-key", GPUMON_DOCTOR_WARN, "which is not enrolled");
}

/* The list as the kernel keeps it, without attributes before it; a signature by the key's identifier. */
static void lists_of_the_kernel(void **state)
{
	(void)state;
	lock("mok.sig-by-id");
	put_key("/var/lib/shim-signed/mok/MOK.der", "", "mok.der");
	put_key("/sys/firmware/efi/mok-variables/MokListRT", "", "mok.der");
	machine_expect("module-key", GPUMON_DOCTOR_OK, "which is enrolled");
}

static void signed_by_another_key(void **state)
{
	(void)state;
	lock("other.sig");
	machine_expect("module-key", GPUMON_DOCTOR_WARN, "is not known");
	machine_expect_advice("module-key", "as root");
	put_kernel_keys("Debian Secure Boot CA", "6ccece7e4c6c0d1f6149f3dd27dfcc5cbb419ea1");
	machine_expect("module-key", GPUMON_DOCTOR_WARN, "\"Example build key\"");
	machine_expect_advice("module-key", "mokutil --import CERTIFICATE");
	/* dkms made a new key after it had signed the module. */
	put_key(MOK, "", "mok.der");
	machine_expect("module-key", GPUMON_DOCTOR_WARN, MOK " is of another key");
	machine_expect_advice("module-key", "dkms build --force");
	put_kernel_keys("Example: Example build key", "6ccece7e4c6c0d1f6149f3dd27dfcc5cbb419ea1");
	machine_expect("module-key", GPUMON_DOCTOR_OK, "the kernel has a key of that name");
}

/* Debian 13 compresses its modules, and dkms does what it finds. */
static void compressed(void **state)
{
	(void)state;
	lock("mok.sig");
	run("xz %s%s", machine_root, MODULE);
	machine_put("/lib/modules/" MACHINE_RELEASE "/modules.dep", "updates/dkms/gpumon.ko.xz:\n");
	put_key(MOK, "", "mok.der");
	machine_expect("module-key", GPUMON_DOCTOR_WARN, "which is not enrolled");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, machine_setup, machine_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_and_numbers),	 TEST(bytes_that_are_not_trusted),
		TEST(where_nothing_is_required), TEST(not_signed),
		TEST(way_of_the_owners_key),	 TEST(lists_of_the_kernel),
		TEST(signed_by_another_key),	 TEST(compressed),
	};

	return cmocka_run_group_tests(tests, make_keys, remove_keys);
}
