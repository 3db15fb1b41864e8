// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <expat.h>
#include <fcntl.h>
#include <ftw.h>
#include <json.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

#define PATHS 16

uint8_t fuzz_u8(struct fuzz_input *input)
{
	if (!input->size)
		return 0;
	input->size--;
	return *input->data++;
}

uint16_t fuzz_u16(struct fuzz_input *input)
{
	uint16_t low = fuzz_u8(input);

	return (uint16_t)(low | fuzz_u8(input) << 8);
}

uint32_t fuzz_u32(struct fuzz_input *input)
{
	uint32_t low = fuzz_u16(input);

	return low | (uint32_t)fuzz_u16(input) << 16;
}

uint64_t fuzz_u64(struct fuzz_input *input)
{
	uint64_t low = fuzz_u32(input);

	return low | (uint64_t)fuzz_u32(input) << 32;
}

char *fuzz_text(struct fuzz_input *input)
{
	size_t size = fuzz_u8(input), used = 0;
	char *text;

	if (size > input->size)
		size = input->size;
	text = malloc(size + 1);
	MUST(text);
	for (; size; size--) {
		char c = (char)fuzz_u8(input);

		if (c)
			text[used++] = c;
	}
	text[used] = '\0';
	text = realloc(text, used + 1);
	MUST(text);
	return text;
}

uint8_t *fuzz_bytes(struct fuzz_input *input, size_t most, size_t *size)
{
	uint8_t *bytes;

	*size = input->size < most ? input->size : most;
	bytes = malloc(*size ? *size : 1);
	MUST(bytes);
	if (*size)
		memcpy(bytes, input->data, *size);
	input->data += *size;
	input->size -= *size;
	return bytes;
}

static char folder[64];
static pid_t owner;

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *ftw)
{
	(void)status;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static void remove_folder(void)
{
	if (getpid() == owner)
		nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *fuzz_folder(void)
{
	if (folder[0])
		return folder;
	/* tests/fuzz/run passes a folder, which it removes even if this process dies. */
	snprintf(folder, sizeof(folder), "%s/gpumon-fuzz-XXXXXX",
		 getenv("FUZZ_FOLDER")	       ? getenv("FUZZ_FOLDER") :
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" :
						 "/tmp");
	MUST(mkdtemp(folder));
	owner = getpid();
	atexit(remove_folder);
	return folder;
}

const char *fuzz_path(const char *format, ...)
{
	static char paths[PATHS][512];
	static unsigned int next;
	char *path = paths[next++ % PATHS];
	va_list args;
	int n = snprintf(path, sizeof(paths[0]), "%s/", fuzz_folder());

	va_start(args, format);
	vsnprintf(path + n, sizeof(paths[0]) - (size_t)n, format, args);
	va_end(args);
	return path;
}

void fuzz_folder_make(const char *name)
{
	MUST(!mkdir(fuzz_path("%s", name), 0700));
}

void fuzz_folder_remove(const char *name)
{
	MUST(!nftw(fuzz_path("%s", name), remove_one, 16, FTW_DEPTH | FTW_PHYS));
}

void fuzz_write(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	MUST(fd >= 0);
	MUST(write(fd, data, size) == (ssize_t)size);
	close(fd);
}

char *fuzz_read(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	char *text;

	MUST(fd >= 0 && !fstat(fd, &status));
	*size = (size_t)status.st_size;
	text = malloc(*size + 1);
	MUST(text && read(fd, text, *size) == status.st_size);
	text[*size] = '\0';
	close(fd);
	return text;
}

void fuzz_stream_begin(struct fuzz_stream *stream)
{
	stream->stream = open_memstream(&stream->data, &stream->size);
	MUST(stream->stream);
}

void fuzz_stream_end(struct fuzz_stream *stream)
{
	MUST(!fclose(stream->stream));
}

void fuzz_stream_free(struct fuzz_stream *stream)
{
	free(stream->data);
}

static struct json_object *parse_json(const char *text, size_t size, int flags)
{
	/* The deepest tree of a profile has this depth, with two levels of JSON for each node. */
	struct json_tokener *tokener = json_tokener_new_ex(4096);
	struct json_object *object;
	size_t end;

	MUST(tokener && size < INT32_MAX);
	json_tokener_set_flags(tokener, flags);
	object = json_tokener_parse_ex(tokener, text, (int)size);
	if (json_tokener_get_error(tokener) != json_tokener_success || !object) {
		fprintf(stderr, "%s at %zu of: %.2000s\n",
			json_tokener_error_desc(json_tokener_get_error(tokener)),
			json_tokener_get_parse_end(tokener), text);
		abort();
	}
	end = json_tokener_get_parse_end(tokener);
	while (end < size && (text[end] == ' ' || text[end] == '\n'))
		end++;
	MUST(end == size);
	json_tokener_free(tokener);
	return object;
}

struct json_object *fuzz_json(const char *text, size_t size)
{
	char *ascii = malloc(size + 1);

	/*
	 * The strict parser of json-c 0.18 takes bytes from 0x80 for control characters. So the
	 * grammar is checked with other bytes in their place, and UTF-8 without JSON_TOKENER_STRICT.
	 */
	MUST(ascii);
	for (size_t i = 0; i < size; i++)
		ascii[i] = text[i] & 0x80 ? 'x' : text[i];
	ascii[size] = '\0';
	json_object_put(parse_json(ascii, size, JSON_TOKENER_STRICT));
	free(ascii);
	return parse_json(text, size, JSON_TOKENER_VALIDATE_UTF8);
}

bool fuzz_same_json(const char *from, struct json_object *string)
{
	static const char replaced[] = "\xef\xbf\xbd";
	const char *to = json_object_get_string(string);

	if (!json_object_is_type(string, json_type_string) ||
	    strlen(to) != (size_t)json_object_get_string_len(string))
		return false;
	while (*from) {
		if (strncmp(to, replaced, 3) || !strncmp(from, replaced, 3)) {
			if (*to++ != *from++)
				return false;
			continue;
		}
		if ((unsigned char)*from++ < 0x80)
			return false;
		to += 3;
	}
	return !*to;
}

static void on_element(void *data, const XML_Char *name, const XML_Char **attributes)
{
	void (*each)(const char *name, const char **attributes) = data;

	if (each)
		each(name, attributes);
}

void fuzz_xml(const char *text, size_t size,
	      void (*each)(const char *name, const char **attributes))
{
	XML_Parser parser = XML_ParserCreate("UTF-8");

	MUST(parser && size < INT32_MAX);
	/* Functions and data pointers have the same size on all supported machines. */
	XML_SetUserData(parser, (void *)each);
	XML_SetStartElementHandler(parser, on_element);
	if (XML_Parse(parser, text, (int)size, 1) != XML_STATUS_OK) {
		fprintf(stderr, "%s\n", XML_ErrorString(XML_GetErrorCode(parser)));
		abort();
	}
	XML_ParserFree(parser);
}

void fuzz_is_text(const char *text, size_t size, const char *controls)
{
	const unsigned char *at = (const unsigned char *)text, *end = at + size;

	while (at < end) {
		unsigned int more = *at < 0x80 ? 0 :
				    *at < 0xc2 ? 9 :
				    *at < 0xe0 ? 1 :
				    *at < 0xf0 ? 2 :
				    *at < 0xf5 ? 3 :
						 9;
		uint32_t code = more ? *at & (0x3fu >> more) : *at;

		MUST(more < 4 && (size_t)(end - at) > more);
		for (unsigned int i = 1; i <= more; i++) {
			MUST((at[i] & 0xc0) == 0x80);
			code = code << 6 | (at[i] & 0x3f);
		}
		/* No overlong encoding, no surrogate. */
		MUST(more < 2 || code >= (more == 2 ? 0x800u : 0x10000u));
		MUST(code < 0x110000 && (code < 0xd800 || code > 0xdfff));
		MUST((code >= 0x20 && (code < 0x7f || code > 0x9f)) ||
		     (code && code < 0x80 && strchr(controls, (int)code)));
		at += more + 1;
	}
}
