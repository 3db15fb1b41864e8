/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * With which key a kernel module is signed, and what a certificate calls its key. Only names and numbers are
 * read: whether the signature is right, says the kernel. Pure functions of bytes that are not trusted.
 */
#ifndef GPUMON_LIB_MODULE_SIGNATURE_H
#define GPUMON_LIB_MODULE_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>

/* Of a key's number, in hexadecimal digits. */
#define GPUMON_KEY_ID_LEN 130

/**
 * struct gpumon_key_name - by what a key is known. What is not known is empty
 * @name: of a signature its issuer's, of a certificate its subject's common name
 * @serial: number of the certificate
 * @id: subject key identifier
 */
struct gpumon_key_name {
	char name[128];
	char serial[GPUMON_KEY_ID_LEN];
	char id[GPUMON_KEY_ID_LEN];
};

enum gpumon_signature {
	GPUMON_SIGNATURE_NONE,
	GPUMON_SIGNATURE_GOOD,
	GPUMON_SIGNATURE_BROKEN, /* there is one, which cannot be read */
};

/* The signature behind the end of a module, which is not compressed. */
enum gpumon_signature gpumon_module_signature(const void *module, size_t size,
					      struct gpumon_key_name *signer);
/* False if these bytes are no X.509 certificate (DER). */
bool gpumon_certificate_name(const void *certificate, size_t size, struct gpumon_key_name *key);

#endif /* GPUMON_LIB_MODULE_SIGNATURE_H */
