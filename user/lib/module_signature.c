// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "module_signature.h"

/* Tags of DER that occur here. */
#define INTEGER	 0x02
#define OCTETS	 0x04
#define OID	 0x06
#define SEQUENCE 0x30
#define SET	 0x31
#define FIELD(n) (0xa0 | (n)) /* [n], with values in it */
#define SHORT(n) (0x80 | (n)) /* [n], bytes */

/* What the kernel's sign-file writes behind a module: the signature, this, and the text. */
static const char ending[] = "~Module signature appended~\n";

struct trailer {
	uint8_t algorithm;
	uint8_t hash;
	uint8_t id_type;
	uint8_t signer_length;
	uint8_t key_id_length;
	uint8_t padding[3];
	uint32_t signature_length; /* big endian */
};

#define ID_TYPE_PKCS7 2

/* A part of the bytes. */
struct span {
	const uint8_t *at;
	size_t left;
};

/* Take the first value of @from if it has this tag: its contents into @value. */
static bool take(struct span *from, uint8_t tag, struct span *value)
{
	size_t length, head = 2;

	if (from->left < head || from->at[0] != tag)
		return false;
	length = from->at[1];
	if (length & 0x80) {
		size_t bytes = length & 0x7f;

		/* Four bytes are more than any module has. */
		if (!bytes || bytes > 4 || from->left < head + bytes)
			return false;
		length = 0;
		for (size_t i = 0; i < bytes; i++)
			length = length << 8 | from->at[head + i];
		head += bytes;
	}
	if (length > from->left - head)
		return false;
	*value = (struct span){ from->at + head, length };
	from->at += head + length;
	from->left -= head + length;
	return true;
}

static bool skip(struct span *from, uint8_t tag)
{
	struct span value;

	return take(from, tag, &value);
}

static bool is_oid(struct span oid, const char *bytes, size_t length)
{
	return oid.left == length && !memcmp(oid.at, bytes, length);
}

/* False if it is too long for a key's id or number. */
static bool write_digits(struct span bytes, char *text)
{
	if (!bytes.left || bytes.left * 2 >= GPUMON_KEY_ID_LEN)
		return false;
	for (size_t i = 0; i < bytes.left; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes.at[i]);
	return true;
}

static bool write_number(struct span number, char *text)
{
	/* A number whose first bit is set has a 0 before it, which neither the kernel nor others show. */
	if (number.left > 1 && !number.at[0]) {
		number.at++;
		number.left--;
	}
	return write_digits(number, text);
}

/* The common name of a Name; a name without one is not an error. */
static void read_common_name(struct span name, char *text, size_t room)
{
	struct span set, pair, oid;

	while (take(&name, SET, &set)) {
		while (take(&set, SEQUENCE, &pair)) {
			if (!take(&pair, OID, &oid) || !is_oid(oid, "\x55\x04\x03", 3))
				continue;
			/* The string is of one of several kinds: its contents are behind two bytes. */
			if (pair.left < 2 || (size_t)pair.at[1] != pair.left - 2 || !pair.at[1])
				continue;
			snprintf(text, room, "%.*s", (int)(pair.left - 2),
				 (const char *)pair.at + 2);
		}
	}
}

/* The one who signed: a SignerInfo of CMS. */
static bool read_signer(struct span info, struct gpumon_key_name *signer)
{
	struct span id, name, number;

	if (!skip(&info, INTEGER))
		return false;
	if (take(&info, SHORT(0), &id))
		return write_digits(id, signer->id);
	if (!take(&info, SEQUENCE, &id) || !take(&id, SEQUENCE, &name) ||
	    !take(&id, INTEGER, &number))
		return false;
	read_common_name(name, signer->name, sizeof(signer->name));
	return write_number(number, signer->serial);
}

static bool read_signature(struct span bytes, struct gpumon_key_name *signer)
{
	struct span message, field, data, signers, info;

	if (!take(&bytes, SEQUENCE, &message) || !skip(&message, OID) ||
	    !take(&message, FIELD(0), &field) || !take(&field, SEQUENCE, &data) ||
	    !skip(&data, INTEGER) || !skip(&data, SET) || !skip(&data, SEQUENCE))
		return false;
	/* Certificates and lists of revoked ones, which sign-file leaves out. */
	(void)skip(&data, FIELD(0));
	(void)skip(&data, FIELD(1));
	return take(&data, SET, &signers) && take(&signers, SEQUENCE, &info) &&
	       read_signer(info, signer);
}

enum gpumon_signature gpumon_module_signature(const void *module, size_t size,
					      struct gpumon_key_name *signer)
{
	const size_t text = sizeof(ending) - 1;
	const uint8_t *bytes = module;
	struct trailer trailer;
	size_t length;

	memset(signer, 0, sizeof(*signer));
	if (size < text || memcmp(bytes + size - text, ending, text) != 0)
		return GPUMON_SIGNATURE_NONE;
	size -= text;
	if (size < sizeof(trailer))
		return GPUMON_SIGNATURE_BROKEN;
	size -= sizeof(trailer);
	memcpy(&trailer, bytes + size, sizeof(trailer));
	length = ntohl(trailer.signature_length);
	if (trailer.id_type != ID_TYPE_PKCS7 || length > size ||
	    !read_signature((struct span){ bytes + size - length, length }, signer)) {
		memset(signer, 0, sizeof(*signer));
		return GPUMON_SIGNATURE_BROKEN;
	}
	return GPUMON_SIGNATURE_GOOD;
}

/* The subject key identifier among a certificate's extensions; one without is not an error. */
static void read_key_id(struct span extensions, char *text)
{
	struct span list, extension, oid, value, id;

	if (!take(&extensions, SEQUENCE, &list))
		return;
	while (take(&list, SEQUENCE, &extension)) {
		if (take(&extension, OID, &oid) && is_oid(oid, "\x55\x1d\x0e", 3) &&
		    take(&extension, OCTETS, &value) && take(&value, OCTETS, &id))
			(void)write_digits(id, text);
	}
}

bool gpumon_certificate_name(const void *certificate, size_t size, struct gpumon_key_name *key)
{
	struct span bytes = { certificate, size }, whole, body, number, subject, extensions;

	memset(key, 0, sizeof(*key));
	if (!take(&bytes, SEQUENCE, &whole) || !take(&whole, SEQUENCE, &body))
		return false;
	(void)skip(&body, FIELD(0));
	/* Number, algorithm, issuer, validity, subject, key. */
	if (!take(&body, INTEGER, &number) || !skip(&body, SEQUENCE) || !skip(&body, SEQUENCE) ||
	    !skip(&body, SEQUENCE) || !take(&body, SEQUENCE, &subject) || !skip(&body, SEQUENCE) ||
	    !write_number(number, key->serial))
		return false;
	read_common_name(subject, key->name, sizeof(key->name));
	(void)skip(&body, SHORT(1));
	(void)skip(&body, SHORT(2));
	if (take(&body, FIELD(3), &extensions))
		read_key_id(extensions, key->id);
	return true;
}
