/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Prometheus' web configuration file, as far as gpumon has what it asks for: a certificate with its
 * key, and users with bcrypt hashes of their passwords. All else in it is refused by its name, since
 * a server that leaves out what its operator has asked for is less safe than he thinks.
 */
#ifndef GPUMON_LIB_WEB_CONFIG_H
#define GPUMON_LIB_WEB_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"

struct gpumon_web_user {
	char *name;
	char *hash;
};

/**
 * struct gpumon_web_config - what the file asks for
 * @certificate: contents of cert_file, NULL without TLS
 * @key: contents of key_file
 * @tls_13: not below TLS 1.3; otherwise not below 1.2
 * @users: who may read; without any everybody may
 * @n_users: number of @users
 */
struct gpumon_web_config {
	char *certificate;
	char *key;
	bool tls_13;
	struct gpumon_web_user *users;
	size_t n_users;
};

/**
 * gpumon_web_config_read() - read a file
 * @config: out; cleared with gpumon_web_config_clear() also on failure
 * @path: its name; the files that it names are relative to its folder
 * @err: out
 *
 * Return: 0, or -1 with @err, which names the line.
 */
int gpumon_web_config_read(struct gpumon_web_config *config, const char *path,
			   struct gpumon_error *err);
void gpumon_web_config_clear(struct gpumon_web_config *config);

/* Is it the password of that user? Takes some 50 ms, also where there is no such user. */
bool gpumon_web_config_allows(const struct gpumon_web_config *config, const char *name,
			      const char *password);

#endif /* GPUMON_LIB_WEB_CONFIG_H */
