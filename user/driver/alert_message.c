// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kmod/uapi/gpumon_xid.h"
#include "alert_message.h"
#include "lib/memory.h"

/* --- records */

static bool take_number(const char **at, const char *end, uint64_t *number)
{
	const char *digits = *at;

	*number = 0;
	for (; *at < end && isdigit((unsigned char)**at); ++*at) {
		unsigned int digit = (unsigned int)(**at - '0');

		if (*number > (UINT64_MAX - digit) / 10)
			return false;
		*number = *number * 10 + digit;
	}
	return *at > digits;
}

static bool take_field(const char **at, const char *end, uint64_t *number)
{
	return take_number(at, end, number) && *at < end && *(*at)++ == ',';
}

static int hex_digit(char c)
{
	return isdigit((unsigned char)c)  ? c - '0' :
	       isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 :
					    -1;
}

/*
 * The kernel writes each byte that is not printable ASCII as \xHH, and so a backslash, too. A zero,
 * which would end the text, becomes a question mark.
 */
static void remove_escapes(char *from, char *end)
{
	char *to = from;

	while (from < end) {
		int high = end - from >= 4 && from[0] == '\\' && from[1] == 'x' ?
				   hex_digit(from[2]) :
				   -1;
		int low = high >= 0 ? hex_digit(from[3]) : -1;

		if (low >= 0) {
			*to++ = (char)(high << 4 | low);
			from += 4;
		} else {
			*to++ = *from++;
		}
		if (!to[-1])
			to[-1] = '?';
	}
	*to = '\0';
}

/* "+pci:0000:01:00.0" names a device, "c226:0" and the like only a number. */
static const char *device_of(char *value)
{
	char *colon = *value == '+' ? strchr(value, ':') : NULL;

	return colon && colon[1] ? colon + 1 : NULL;
}

static void take_properties(char *line, const char *end, struct gpumon_log_record *record)
{
	static const char key[] = " DEVICE=";

	while (line < end) {
		char *stop = memchr(line, '\n', (size_t)(end - line));

		if (!stop)
			stop = (char *)end;
		if ((size_t)(stop - line) > strlen(key) && !memcmp(line, key, strlen(key))) {
			remove_escapes(line + strlen(key), stop);
			record->device = device_of(line + strlen(key));
		}
		line = stop + 1;
	}
}

int gpumon_log_record_parse(char *text, size_t size, struct gpumon_log_record *record)
{
	const char *at = text, *end = text + size;
	char *message, *stop;
	uint64_t priority;

	memset(record, 0, sizeof(*record));
	if (!take_field(&at, end, &priority) || !take_field(&at, end, &record->sequence) ||
	    !take_field(&at, end, &record->time_us) || priority > UINT32_MAX || at == end)
		return -EBADMSG;
	record->facility = (unsigned int)priority >> 3;
	record->level = (unsigned int)priority & 7;
	/*
	 * A flag follows, and maybe "caller=T123". The flag 'c', the rest of a line, does not tell: NVIDIA's
	 * driver writes whole lines with it (580 on an H200).
	 */
	message = memchr(at, ';', (size_t)(end - at));
	if (!message || memchr(at, '\n', (size_t)(message - at)))
		return -EBADMSG;
	message++;
	stop = memchr(message, '\n', (size_t)(end - message));
	if (stop)
		take_properties(stop + 1, end, record);
	remove_escapes(message, stop ? stop : text + size);
	record->message = message;
	return 0;
}

/* --- messages */

/* From where in a message the process is taken. */
enum process_form {
	PROCESS_NONE,
	PROCESS_FIELDS,	 /* NVIDIA: "pid=123, name=python3, " */
	PROCESS_BRACKET, /* Intel: " in python3 [123]" at the end; nouveau: " Xorg[123]]" */
	PROCESS_WORDS,	 /* amdgpu: "process python3 pid 123 thread ..." */
};

/**
 * struct message_form - messages of a driver
 * @driver: name of the driver, NULL for all others
 * @text: how they begin, without what names driver and device: '*' is a word, '#' a number
 * @kind: kind of the alert; NULL: no alert, another message of the same event is one
 * @process: where the process is
 */
static const struct message_form {
	const char *driver;
	const char *text;
	const char *kind;
	enum process_form process;
} forms[] = {
	{ "amdgpu", "ring * timeout", "timeout", PROCESS_WORDS },
	{ "amdgpu", "GPU reset(#) succeeded", "reset", PROCESS_NONE },
	{ "amdgpu", "GPU reset(#) failed", "reset", PROCESS_NONE },
	{ "amdgpu", "Ring * reset succeeded", "engine_reset", PROCESS_NONE },
	{ "amdgpu", "Ring * reset failed", "engine_reset", PROCESS_NONE },
	{ "amdgpu", "[*] page fault (", "fault", PROCESS_WORDS },
	{ "amdgpu", "[*] no-retry page fault (", "fault", PROCESS_WORDS },
	{ "amdgpu", "[*] retry page fault (", "fault", PROCESS_WORDS },
	{ "i915", "GPU HANG: ", "hang", PROCESS_BRACKET },
	{ "i915", "Resetting chip for ", "reset", PROCESS_NONE },
	{ "i915", "Resetting * for ", "engine_reset", PROCESS_NONE },
	{ "i915", "GUC: Engine reset failed ", "engine_reset", PROCESS_NONE },
	{ "i915", "GPU recovery timed out", "wedged", PROCESS_NONE },
	{ "i915", "GPU recovery failed", "wedged", PROCESS_NONE },
	{ "xe", "Timedout job: ", "timeout", PROCESS_BRACKET },
	{ "xe", "Engine reset: ", "engine_reset", PROCESS_NONE },
	{ "xe", "reset done", "reset", PROCESS_NONE },
	{ "xe", "reset failed", "reset", PROCESS_NONE },
	{ "xe", "Fault response: Unsuccessful", "fault", PROCESS_NONE },
	{ "xe", "Engine memory CAT error", "fault", PROCESS_NONE },
	{ "xe", "Engine memory cat error", "fault", PROCESS_NONE },
	{ "xe", "CRITICAL: Xe has declared device ", "wedged", PROCESS_NONE },
	{ "xe", "device wedged", NULL, PROCESS_NONE },
	{ "nouveau", "fifo: fault # [", "fault", PROCESS_BRACKET },
	{ "nouveau", "fifo: SCHED_ERROR ", "timeout", PROCESS_NONE },
	{ NULL, "device wedged, needs recovery", "wedged", PROCESS_NONE },
};

/* Does the text begin so? */
static bool begins(const char *text, const char *form)
{
	for (; *form; form++) {
		if (*form == '*') {
			while (*text && *text != ' ')
				if (begins(++text, form + 1))
					return true;
			return false;
		}
		if (*form == '#') {
			if (!isxdigit((unsigned char)*text))
				return false;
			while (isxdigit((unsigned char)*text))
				text++;
		} else if (*text++ != *form) {
			return false;
		}
	}
	return true;
}

static bool skip(const char **at, const char *text)
{
	size_t length = strlen(text);

	if (strncmp(*at, text, length) != 0)
		return false;
	*at += length;
	return true;
}

static bool skip_number(const char **at, uint64_t *number)
{
	return take_number(at, *at + strlen(*at), number);
}

/* "Tile0: ", "GT1: " */
static bool skip_part(const char **at, const char *name)
{
	const char *after = *at;
	uint64_t number;

	if (!skip(&after, name) || !skip_number(&after, &number) || !skip(&after, ": "))
		return false;
	*at = after;
	return true;
}

/**
 * struct head - who says it
 * @driver: name of the driver, and its length; empty for an unknown one
 * @device: name of the device, and its length; empty if it is not named
 * @text: what follows
 */
struct head {
	const char *driver;
	size_t driver_length;
	const char *device;
	size_t device_length;
	const char *text;
};

static bool is_name(const char *from, const char *to)
{
	for (const char *at = from; at < to; at++)
		if (!isalnum((unsigned char)*at) && !strchr("_-.:", *at))
			return false;
	return from < to;
}

/* "[drm:amdgpu_job_timedout [amdgpu]] ": without a device. */
static bool take_function(const char **at, struct head *head)
{
	const char *after = *at, *name, *stop;

	if (!skip(&after, "[drm:"))
		return false;
	stop = strchr(after, ']');
	name = strchr(after, '[');
	if (!stop || !name || name > stop || stop[1] != ']')
		return false;
	if (!head->driver_length) {
		head->driver = name + 1;
		head->driver_length = (size_t)(stop - name - 1);
	}
	*at = stop + 2;
	(void)skip(at, " ");
	return true;
}

/* "amdgpu 0000:03:00.0: ": how a driver names itself and its device. */
static void take_device(const char **at, struct head *head)
{
	const char *blank = strchr(*at, ' '), *stop = blank ? strstr(blank, ": ") : NULL;

	if (!stop || !is_name(*at, blank) || !is_name(blank + 1, stop))
		return;
	head->driver = *at;
	head->driver_length = (size_t)(blank - *at);
	head->device = blank + 1;
	head->device_length = (size_t)(stop - blank - 1);
	*at = stop + 2;
}

static struct head take_head(const char *message)
{
	struct head head = { .driver = "", .device = "" };
	const char *before;

	take_device(&message, &head);
	do {
		before = message;
		(void)(take_function(&message, &head) || skip(&message, "[drm] ") ||
		       skip(&message, "*ERROR* ") || skip(&message, "amdgpu: ") ||
		       skip_part(&message, "Tile") || skip_part(&message, "GT"));
	} while (message != before);
	head.text = message;
	return head;
}

static bool is_driver(const struct head *head, const char *name)
{
	return strlen(name) == head->driver_length &&
	       !memcmp(head->driver, name, head->driver_length);
}

static void set_process(struct gpumon_alert *alert, const char *name, size_t length, uint64_t pid)
{
	if (!pid || !length)
		return;
	free(alert->process);
	alert->process = gpumon_strndup(name, length);
	alert->pid = gpumon_value_of(pid);
}

/* The driver quotes what it does not know: "pid='<unknown>', name=<unknown>". */
static void process_of_fields(struct gpumon_alert *alert, const char *text)
{
	const char *at = strstr(text, "pid="), *stop;
	uint64_t pid;

	if (!at)
		return;
	at += strlen("pid=");
	if (!skip_number(&at, &pid) || !skip(&at, ", name="))
		return;
	stop = strchr(at, ',');
	set_process(alert, at, stop ? (size_t)(stop - at) : strlen(at), pid);
}

static void process_of_bracket(struct gpumon_alert *alert, const char *text)
{
	const char *open = strrchr(text, '['), *digits = open ? open + 1 : NULL, *name, *stop;
	uint64_t pid;

	if (!open || !skip_number(&digits, &pid) || *digits != ']')
		return;
	/* " in python3 [123]", or "[00ff7d6000 Xorg[123]]". */
	stop = open;
	if (stop > text && stop[-1] == ' ') {
		stop--;
		for (name = stop; name > text && strncmp(name, " in ", 4) != 0;)
			name--;
		name += name > text ? 4 : 0;
	} else {
		for (name = stop; name > text && name[-1] != ' ';)
			name--;
	}
	if (name > text && name < stop)
		set_process(alert, name, (size_t)(stop - name), pid);
}

static void process_of_words(struct gpumon_alert *alert, const char *text)
{
	const char *name = strstr(text, "process "), *stop, *digits;
	uint64_t pid;

	if (!name)
		name = strstr(text, "Process ");
	if (!name)
		return;
	name += strlen("process ");
	stop = strstr(name, " pid ");
	if (!stop)
		return;
	digits = stop + strlen(" pid ");
	if (skip_number(&digits, &pid))
		set_process(alert, name, (size_t)(stop - name), pid);
}

static void add_process(struct gpumon_alert *alert, enum process_form form, const char *text)
{
	if (form == PROCESS_FIELDS)
		process_of_fields(alert, text);
	else if (form == PROCESS_BRACKET)
		process_of_bracket(alert, text);
	else if (form == PROCESS_WORDS)
		process_of_words(alert, text);
}

/*
 * NVIDIA's "Xid (PCI:0000:01:00): 79, MESSAGE", with " GPU-I:05" and more before the bracket if it is
 * of a part of the GPU, and "SXid (PCI:0000:c1:00.0): 28006, MESSAGE" of a switch.
 */
static bool is_xid(const char *text, struct gpumon_alert *alert)
{
	const char *device, *part, *stop;
	bool is_switch = *text == 'S';
	uint64_t code;

	text += is_switch;
	if (!skip(&text, "Xid ("))
		return false;
	(void)skip(&text, "PCI:");
	device = text;
	stop = strchr(device, ')');
	if (!stop)
		return false;
	text = stop + 1;
	part = memchr(device, ' ', (size_t)(stop - device));
	if (!is_name(device, part ? part : stop) || !skip(&text, ": ") ||
	    !skip_number(&text, &code) || (*text && !skip(&text, ", ")))
		return false;
	/* A switch explains each of its errors on further lines. */
	if (is_switch && strncmp(text, "Fatal", 5) != 0 && strncmp(text, "Non-fatal", 9) != 0)
		return false;
	alert->kind = gpumon_strdup(is_switch ? "sxid" : "xid");
	alert->code = gpumon_value_of(code);
	/* The function of the PCI device is not named: it is the first one. */
	alert->device = gpumon_asprintf("%.*s%s", (int)((part ? part : stop) - device), device,
					memchr(device, '.', (size_t)(stop - device)) ? "" : ".0");
	alert->message =
		part ? gpumon_asprintf("(%.*s) %s", (int)(stop - part - 1), part + 1, text) :
		       gpumon_strdup(text);
	return true;
}

/* nouveau's with GSP: "gsp: Xid:13 MESSAGE" */
static bool is_nouveau_xid(const char *text, struct gpumon_alert *alert)
{
	uint64_t code;

	if (!skip(&text, "gsp: Xid:") || !skip_number(&text, &code) || !skip(&text, " "))
		return false;
	alert->kind = gpumon_strdup("xid");
	alert->code = gpumon_value_of(code);
	alert->message = gpumon_strdup(text);
	return true;
}

static bool is_nvidia(const char *message, struct gpumon_alert *alert)
{
	uint64_t number;

	if (!skip(&message, "NVRM: ") && !(skip(&message, "nvidia-nvswitch") &&
					   skip_number(&message, &number) && skip(&message, ": ")))
		return false;
	if (!is_xid(message, alert))
		return false;
	alert->group = gpumon_strdup("nvidia");
	return true;
}

static const struct message_form *form_of(const struct head *head)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if ((forms[i].driver ? is_driver(head, forms[i].driver) :
				       head->driver_length > 0) &&
		    begins(head->text, forms[i].text))
			return &forms[i];
	return NULL;
}

bool gpumon_log_alert(const struct gpumon_log_record *record, struct gpumon_alert *alert)
{
	const struct message_form *form;
	struct head head;

	/* Processes can write records of any other facility, with any text. */
	if (record->facility)
		return false;
	if (!is_nvidia(record->message, alert)) {
		head = take_head(record->message);
		form = form_of(&head);
		if (form && form->kind) {
			alert->kind = gpumon_strdup(form->kind);
			alert->message = gpumon_strdup(head.text);
			add_process(alert, form->process, head.text);
		} else if (form || !is_driver(&head, "nouveau") ||
			   !is_nouveau_xid(head.text, alert)) {
			return false;
		}
		alert->group = gpumon_strndup(head.driver, head.driver_length);
		if (head.device_length)
			alert->device = gpumon_strndup(head.device, head.device_length);
		else if (record->device)
			alert->device = gpumon_strdup(record->device);
	}
	gpumon_alert_complete(alert);
	return true;
}

bool gpumon_log_alert_waits(const struct gpumon_alert *alert)
{
	return !strcmp(alert->group, "amdgpu") && !alert->pid.known &&
	       (!strcmp(alert->kind, "timeout") || !strcmp(alert->kind, "fault"));
}

bool gpumon_log_alert_process(const struct gpumon_log_record *record, struct gpumon_alert *alert)
{
	struct head head;

	if (record->facility || !gpumon_log_alert_waits(alert))
		return false;
	head = take_head(record->message);
	while (*head.text == ' ')
		head.text++;
	if (!is_driver(&head, "amdgpu") ||
	    (alert->device && head.device_length &&
	     (strlen(alert->device) != head.device_length ||
	      memcmp(alert->device, head.device, head.device_length) != 0)) ||
	    (!begins(head.text, "Process ") && !begins(head.text, "in process ") &&
	     !begins(head.text, "for process ")))
		return false;
	process_of_words(alert, head.text);
	return alert->pid.known;
}

static const struct {
	unsigned int code;
	const char *meaning;
} meanings[] = {
#define MEANING(code, meaning) { code, meaning },
	GPUMON_XIDS(MEANING)
#undef MEANING
};

const char *gpumon_xid_meaning(uint64_t code)
{
	for (size_t i = 0; i < sizeof(meanings) / sizeof(*meanings); i++)
		if (meanings[i].code == code)
			return meanings[i].meaning;
	return NULL;
}

/*
 * gpumon's own words: "ring0: job on the hardware for 5012 ms, in python3 [123]". A name may have any
 * characters; "-" is an unknown one.
 */
static void process_of_job(struct gpumon_alert *alert)
{
	static const char before[] = " ms, in ";
	const char *name = strstr(alert->message, before), *open, *digits;
	uint64_t pid;

	open = name ? strrchr(name, '[') : NULL;
	if (!open)
		return;
	name += strlen(before);
	digits = open + 1;
	if (!skip_number(&digits, &pid) || strcmp(digits, "]") != 0 || open - name < 2)
		return;
	set_process(alert, name, (size_t)(open - name - 1), pid);
	if (alert->process && !strcmp(alert->process, "-")) {
		free(alert->process);
		alert->process = NULL;
	}
}

void gpumon_alert_complete(struct gpumon_alert *alert)
{
	if (alert->group && !strcmp(alert->group, "drm_sched") && alert->message)
		process_of_job(alert);
	if (!alert->kind || strcmp(alert->kind, "xid") != 0)
		return;
	alert->meaning = gpumon_xid_meaning(alert->code.v);
	if (alert->message && !alert->pid.known)
		process_of_fields(alert, alert->message);
}

void gpumon_alert_print_words(const struct gpumon_alert *alert, const struct gpumon_term *term,
			      FILE *out)
{
	char kind[128], process[64], message[2048];
	bool of_ring = alert->group && !strcmp(alert->group, "drm_sched");

	fprintf(out, "%s%s", gpumon_term_red(term),
		gpumon_format_name(kind, sizeof(kind), alert->kind));
	/* The message has the name of the ring, whose number is the code. */
	if (alert->code.known && !of_ring)
		fprintf(out, " %" PRIu64, alert->code.v);
	if (alert->meaning)
		fprintf(out, " (%s)", alert->meaning);
	fprintf(out, "%s  ", gpumon_term_reset(term));
	/* Most messages name it. */
	if (alert->process && !(alert->message && strstr(alert->message, alert->process)))
		fprintf(out, "%s[%" PRIu64 "]  ",
			gpumon_format_name(process, sizeof(process), alert->process), alert->pid.v);
	fputs(gpumon_format_name(message, sizeof(message), alert->message), out);
}
