// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef GPUMON_HTTP
#include <crypt.h>
#endif

#include "array.h"
#include "files.h"
#include "memory.h"
#include "web_config.h"

#define FILE_MAX (1 << 20)
/* A comparison takes 2^cost rounds: with 12 a quarter of a second, in which nobody else is served. */
#define COST_MAX 12

/* Of a user who does not exist, so that the time does not tell that. */
#define NOBODYS_HASH "$2b$10$abcdefghijklmnopqrstuuJG4AVSa5PnRh1tdTy5mvj8XL3lIGCbO"

enum section {
	SECTION_NONE,
	SECTION_TLS,
	SECTION_USERS
};

/**
 * struct reader - a file that is being read
 * @path: its name
 * @line: number of the line
 * @section: whose keys the indented lines are
 * @indent: how far they are indented
 * @cert_file: as it is written
 * @key_file: likewise
 */
struct reader {
	const char *path;
	unsigned int line;
	enum section section;
	size_t indent;
	char *cert_file;
	char *key_file;
	struct gpumon_web_config *config;
	struct gpumon_error *err;
};

static int refuse(const struct reader *reader, const char *what, const char *why)
{
	return gpumon_error_set(reader->err, GPUMON_EXIT_FAILED, -EINVAL, GPUMON_ERROR_UNSUPPORTED,
				"%.150s, line %u: %.80s%s", reader->path, reader->line, what, why);
}

/* The end of a text in quotes that begins at @at, or NULL; without the quotes it is shorter. */
static char *unquote(char *at)
{
	char quote = *at, *to = at, *from = at + 1;

	for (; *from; from++) {
		if (*from == quote && quote == '\'' && from[1] == '\'')
			from++;
		else if (*from == quote)
			break;
		else if (*from == '\\' && quote == '"' && (from[1] == '"' || from[1] == '\\'))
			from++;
		*to++ = *from;
	}
	if (!*from)
		return NULL;
	from++;
	*to = '\0';
	return from;
}

/* A plain text ends before a comment. */
static void cut_comment(char *text)
{
	size_t length;

	for (char *c = text; *c; c++)
		if (*c == '#' && (c == text || isspace((unsigned char)c[-1])))
			*c = '\0';
	length = strlen(text);
	while (length && isspace((unsigned char)text[length - 1]))
		text[--length] = '\0';
}

/* "key: value" from @at. *@value is "" without one. 0, or -1 with an error. */
static int split(const struct reader *reader, char *at, char **key, char **value)
{
	char *end;

	*key = at;
	if (*at == '"' || *at == '\'') {
		end = unquote(at);
		if (!end || *end != ':')
			return refuse(reader, "", "a key in quotes, and a colon, are expected");
	} else {
		end = strchr(at, ':');
		while (end && end[1] && !isspace((unsigned char)end[1]))
			end = strchr(end + 1, ':');
		if (!end)
			return refuse(reader, at, ": \"key: value\" is expected");
		*end = '\0';
	}
	at = end + 1;
	at += strspn(at, " ");
	*value = at;
	if (*at == '"' || *at == '\'') {
		end = unquote(at);
		if (!end)
			return refuse(reader, *key, ": the quotes have no end");
		cut_comment(end);
		if (*end)
			return refuse(reader, *key, ": there is something behind the quotes");
		return 0;
	}
	cut_comment(at);
	if (*at && strchr("[{&*!|>%@`", *at))
		return refuse(
			reader, *key,
			": this form of YAML is not read: write a plain text, or one in quotes");
	return 0;
}

static int take_section(struct reader *reader, const char *key, const char *value)
{
	reader->section = SECTION_NONE;
	reader->indent = 0;
	if (!strcmp(key, "tls_server_config"))
		reader->section = SECTION_TLS;
	else if (!strcmp(key, "basic_auth_users"))
		reader->section = SECTION_USERS;
	else
		return refuse(reader, key,
			      " is not supported; tls_server_config and basic_auth_users are");
	return *value ?
		       refuse(reader, key, ": what belongs to it is expected in lines of its own") :
		       0;
}

static int take_tls(struct reader *reader, const char *key, const char *value)
{
	char **file = !strcmp(key, "cert_file") ? &reader->cert_file :
		      !strcmp(key, "key_file")	? &reader->key_file :
						  NULL;

	if (file) {
		free(*file);
		*file = gpumon_strdup(value);
		return *value ? 0 : refuse(reader, key, " is empty");
	}
	if (strcmp(key, "min_version") != 0)
		return refuse(reader, key,
			      " is not supported; cert_file, key_file and min_version are");
	if (strcmp(value, "TLS12") != 0 && strcmp(value, "TLS13") != 0)
		return refuse(reader, value, " is not supported; TLS12 and TLS13 are");
	reader->config->tls_13 = !strcmp(value, "TLS13");
	return 0;
}

/* "$2y$10$" and 53 letters. */
static int take_user(struct reader *reader, const char *name, const char *hash)
{
	struct gpumon_web_user *user;
	long cost;

	if (strlen(hash) != 60 || hash[0] != '$' || hash[1] != '2' || !strchr("aby", hash[2]) ||
	    hash[3] != '$' || hash[6] != '$')
		return refuse(reader, name,
			      ": its password is no bcrypt hash (htpasswd -nBC 10 makes one)");
	cost = strtol(hash + 4, NULL, 10);
	if (cost < 4 || cost > COST_MAX)
		return refuse(
			reader, name,
			": the cost of its bcrypt hash is above 12, which would keep others waiting (htpasswd -nBC 10)");
	if (!*name || strchr(name, ':'))
		return refuse(reader, name, ": no name of a user may be empty or have a colon");
	user = GPUMON_GROW(reader->config->users, reader->config->n_users);
	user->name = gpumon_strdup(name);
	user->hash = gpumon_strdup(hash);
	return 0;
}

static int take_line(struct reader *reader, char *line)
{
	size_t indent = strspn(line, " ");
	char *key, *value = NULL, *text = line + indent;

	if (!*text || *text == '#' || *text == '\r' || !strcmp(line, "---"))
		return 0;
	if (*text == '\t')
		return refuse(reader, "", "a tab; YAML is indented by blanks");
	if (split(reader, text, &key, &value))
		return -1;
	if (!indent)
		return take_section(reader, key, value);
	if (reader->indent && indent != reader->indent)
		return refuse(reader, key, " is indented otherwise than the line before");
	reader->indent = indent;
	if (reader->section == SECTION_TLS)
		return take_tls(reader, key, value);
	if (reader->section == SECTION_USERS)
		return take_user(reader, key, value);
	return refuse(reader, key, " belongs to nothing");
}

/* A file that the configuration names. NULL with an error. */
static char *read_named(const struct reader *reader, const char *name, const char *key)
{
	const char *slash = strrchr(reader->path, '/');
	char path[PATH_MAX], *text;

	if (*name == '/' || !slash)
		snprintf(path, sizeof(path), "%s", name);
	else
		snprintf(path, sizeof(path), "%.*s%s", (int)(slash + 1 - reader->path),
			 reader->path, name);
	text = gpumon_read_file(AT_FDCWD, path, FILE_MAX);
	if (!text)
		gpumon_error_set(reader->err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_IO,
				 "%.100s: %s %.200s: %s", reader->path, key, path, strerror(errno));
	return text;
}

static int read_pair(struct reader *reader)
{
	if (!reader->cert_file != !reader->key_file)
		return gpumon_error_set(reader->err, GPUMON_EXIT_FAILED, -EINVAL,
					GPUMON_ERROR_UNSUPPORTED,
					"%.200s: cert_file and key_file go together", reader->path);
	if (!reader->cert_file)
		return 0;
	reader->config->certificate = read_named(reader, reader->cert_file, "cert_file");
	if (!reader->config->certificate)
		return -1;
	reader->config->key = read_named(reader, reader->key_file, "key_file");
	return reader->config->key ? 0 : -1;
}

int gpumon_web_config_read(struct gpumon_web_config *config, const char *path,
			   struct gpumon_error *err)
{
	struct reader reader = { .path = path, .config = config, .err = err };
	char *text = gpumon_read_file(AT_FDCWD, path, FILE_MAX), *next = text, *line;
	int ret = 0;

	memset(config, 0, sizeof(*config));
	if (!text)
		return gpumon_error_set(err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_IO,
					"--web-config %.300s: %s", path, strerror(errno));
	while (!ret && (line = strsep(&next, "\n"))) {
		reader.line++;
		line[strcspn(line, "\r")] = '\0';
		ret = take_line(&reader, line);
	}
	if (!ret)
		ret = read_pair(&reader);
	free(reader.cert_file);
	free(reader.key_file);
	free(text);
	return ret;
}

void gpumon_web_config_clear(struct gpumon_web_config *config)
{
	for (size_t i = 0; i < config->n_users; i++) {
		free(config->users[i].name);
		free(config->users[i].hash);
	}
	free(config->users);
	free(config->certificate);
	free(config->key);
	memset(config, 0, sizeof(*config));
}

#ifdef GPUMON_HTTP
/* Takes the same time whichever byte differs. */
static bool same_hash(const char *a, const char *b)
{
	size_t length = strlen(a);
	unsigned char differs = 0;

	if (strlen(b) != length)
		return false;
	for (size_t i = 0; i < length; i++)
		differs |= (unsigned char)(a[i] ^ b[i]);
	return !differs;
}

bool gpumon_web_config_allows(const struct gpumon_web_config *config, const char *name,
			      const char *password)
{
	const char *hash = NOBODYS_HASH, *made;
	struct crypt_data *data = gpumon_calloc(1, sizeof(*data));
	bool known = false, right;

	for (size_t i = 0; i < config->n_users; i++) {
		if (strcmp(config->users[i].name, name) != 0)
			continue;
		hash = config->users[i].hash;
		known = true;
	}
	made = crypt_r(password, hash, data);
	right = made && same_hash(made, hash) && known;
	explicit_bzero(data, sizeof(*data));
	free(data);
	return right;
}
#else
bool gpumon_web_config_allows(const struct gpumon_web_config *config, const char *name,
			      const char *password)
{
	(void)config;
	(void)name;
	(void)password;
	return false;
}
#endif
