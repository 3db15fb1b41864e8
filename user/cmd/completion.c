// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * What the words of user/completion/ for bash, zsh and fish come from. Options, and what they take, are read
 * from the commands' own help, so that a new command or option needs nothing here.
 */
#include <ctype.h>
#include <dirent.h>
#include <pwd.h>
#include <string.h>

#include "../kmod/uapi/gpumon_event.h"
#include "gpuprog/server/load.h"
#include "commands.h"

/* An option as a line of the help has it: "  -n, --count N   what it does". */
struct help_line {
	char letter;
	const char *name;
	size_t length;
	/* "N"; its length is 0 for a flag. */
	const char *value;
	size_t value_length;
	/* "--name=VALUE", or "--name[=VALUE]": the next word is not the value. */
	bool is_joined;
	bool is_optional;
	const char *text;
};

/* Words of options for which the help has a sentence. */
static const struct {
	const char *option;
	const char *words[5];
} known_words[] = {
	{ "source", { "auto", "module", "bpf" } },
	{ "format", { "openmetrics", "text" } },
	{ "listen", { "127.0.0.1", "localhost", "systemd" } },
	{ "wait", { "all", "first" } },
	{ "window", { "profiler", "range:" } },
	{ "records", { "all", "sampled" } },
	{ "graphs", { "nodes", "windows", "whole" } },
	{ "page", { "rings", "processes", ":groups" } },
};

static bool read_line(const char *line, struct help_line *option)
{
	const char *at = line + 6;

	*option = (struct help_line){ 0 };
	if (!strncmp(line, "  -", 3) && isalpha((unsigned char)line[3]) &&
	    !strncmp(line + 4, ", --", 4))
		option->letter = line[3];
	else if (strncmp(line, "      --", 8) != 0)
		return false;
	option->name = at + 2;
	option->length = strspn(option->name, "abcdefghijklmnopqrstuvwxyz-");
	at = option->name + option->length;
	option->is_optional = *at == '[';
	at += option->is_optional;
	option->is_joined = *at == '=';
	/* What a flag does stands two blanks or more behind it. */
	if (option->is_joined || (at[0] == ' ' && at[1] != ' ')) {
		option->value = at + 1;
		option->value_length = strcspn(option->value, option->is_optional ? "]\n" : "\n ");
		at = option->value + option->value_length + option->is_optional;
	}
	option->text = at + strspn(at, " ");
	return true;
}

/* The next option of a help; *@at: set behind it. */
static bool next_option(const char **at, struct help_line *option)
{
	while (**at) {
		const char *line = *at;

		*at = line + strcspn(line, "\n");
		*at += **at == '\n';
		if (read_line(line, option))
			return true;
	}
	return false;
}

/* By its name, which ends with a zero or "=", or by its letter. */
static bool find_option(const struct gpumon_command *command, const char *name, char letter,
			struct help_line *option)
{
	const char *at = command->help;
	size_t length = name ? strcspn(name, "=") : 0;

	while (next_option(&at, option)) {
		if (name ? option->length == length && !strncmp(option->name, name, length) :
			   option->letter == letter)
			return true;
	}
	return false;
}

static void put(FILE *out, const char *word, const char *text)
{
	fprintf(out, "%s\t%.*s\n", word, (int)strcspn(text, "\n"), text);
}

static void put_commands(FILE *out)
{
	const struct gpumon_command *command;

	for (size_t i = 0; (command = gpumon_command_at(i)); i++)
		put(out, command->name, command->summary);
}

static void put_options(FILE *out, const struct gpumon_command *command)
{
	const char *at = command->help;
	struct help_line option;

	while (next_option(&at, &option))
		fprintf(out, "--%.*s%s\t%.*s\n", (int)option.length, option.name,
			option.is_joined && !option.is_optional ? "=" : "",
			(int)strcspn(option.text, "\n"), option.text);
	put(out, "--help", "this text");
}

static void put_groups(FILE *out)
{
	static const char *const groups[] = {
#define EVENT_GROUP(number, enumerator, name, group) group,
		GPUMON_EVENTS(EVENT_GROUP)
#undef EVENT_GROUP
	};

	/* Events of a group follow each other, and the first is gpumon's own. */
	for (size_t i = 1; i < sizeof(groups) / sizeof(groups[0]); i++) {
		size_t before = 0;

		while (strcmp(groups[before], groups[i]))
			before++;
		if (before == i)
			put(out, groups[i], "group");
	}
}

static void put_tools(FILE *out)
{
	size_t n;
	const struct gpumon_gpuprog_tool *tools = gpumon_gpuprog_tools(&n);

	for (size_t i = 0; i < n; i++)
		put(out, tools[i].name, tools[i].summary);
}

/* Processes with their names, in which a shell gets no control characters. */
static void put_processes(FILE *out, const char *root)
{
	char path[512], name[64];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/proc", root);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		FILE *file;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "%s/proc/%s/comm", root, entry->d_name);
		file = fopen(path, "re");
		if (!file)
			continue;
		if (!fgets(name, sizeof(name), file))
			name[0] = '\0';
		fclose(file);
		name[strcspn(name, "\n")] = '\0';
		for (char *c = name; *c; c++)
			*c = isprint((unsigned char)*c) ? *c : '?';
		put(out, entry->d_name, name);
	}
	if (folder)
		closedir(folder);
}

static void put_users(FILE *out)
{
	struct passwd *entry;

	setpwent();
	while ((entry = getpwent()))
		put(out, entry->pw_name, "user");
	endpwent();
}

/* Whether "A|B" has the word. */
static bool has_word(const char *text, size_t length, const char *word)
{
	for (size_t at = 0; at <= length;) {
		size_t end = at;

		while (end < length && text[end] != '|')
			end++;
		if (end - at == strlen(word) && !strncmp(text + at, word, end - at))
			return true;
		at = end + 1;
	}
	return false;
}

static void put_value(struct gpumon_context *context, const struct help_line *option)
{
	static const char *const files[] = { "FILE", "FILE.bpf.o", "DIR", "IMAGE", "PATH" };
	const char *value = option->value;
	size_t length = option->value_length;

	for (size_t i = 0; i < sizeof(known_words) / sizeof(known_words[0]); i++) {
		if (strlen(known_words[i].option) != option->length ||
		    strncmp(known_words[i].option, option->name, option->length) != 0)
			continue;
		for (const char *const *word = known_words[i].words; *word; word++) {
			if (!strcmp(*word, ":groups"))
				put_groups(context->out);
			else
				put(context->out, *word, "");
		}
	}
	if (has_word(value, length, "GROUP"))
		put_groups(context->out);
	if (has_word(value, length, "PID"))
		put_processes(context->out, context->root);
	if (has_word(value, length, "USER"))
		put_users(context->out);
	if (has_word(value, length, "TOOL"))
		put_tools(context->out);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (has_word(value, length, files[i])) {
			fputs(":files\n", context->out);
			return;
		}
	}
}

/* @before: the operand before it, or NULL */
static void put_operand(struct gpumon_context *context, const struct gpumon_command *command,
			unsigned int n, const char *before)
{
	FILE *out = context->out;

	if (!strcmp(command->name, "set") && n % 2 == 0) {
		put(out, "event-ring", "events for trace");
		put(out, "hang", "limit for jobs on the hardware");
		put(out, "starved", "limit for jobs that wait");
		put_groups(out);
	} else if (!strcmp(command->name, "set")) {
		if (strcmp(before, "hang") != 0 && strcmp(before, "starved") != 0)
			put(out, "on", "");
		put(out, "off", "");
	} else if (strstr(command->usage, "[record|driver]")) {
		put(out, "record", "what recording programs needs");
		put(out, "driver", "what drivers' numbers need");
	} else if (strstr(command->usage, "DIR") || strstr(command->usage, "BEFORE")) {
		fputs(":files\n", out);
	} else if (strstr(command->usage, "TOOL")) {
		put_tools(out);
		fputs(":files\n", out);
	} else {
		put_options(out, command);
	}
}

int gpumon_complete(struct gpumon_context *context, int argc, char **argv)
{
	const struct gpumon_command *command = NULL, *each;
	const char *current = argc ? argv[argc - 1] : "", *before = NULL;
	struct help_line option = { 0 };
	unsigned int operands = 0;
	bool is_program = false, wants_value = false;

	for (size_t i = 0; argc > 1 && (each = gpumon_command_at(i)); i++)
		command = strcmp(each->name, argv[0]) ? command : each;
	if (argc <= 1 || (argc == 2 && !strcmp(argv[0], "help"))) {
		put_commands(context->out);
		if (argc <= 1) {
			put(context->out, "help", "Show the help of a command");
			put(context->out, "--help", "this program's commands");
			put(context->out, "--version", "version of this program");
		}
	}
	if (!command)
		return GPUMON_EXIT_OK;

	/* What the words before the last one are. In bash, "--name=value" is three words. */
	for (int i = 1; i < argc - 1 && !is_program; i++) {
		const char *word = argv[i];

		if (!strcmp(word, "=") && option.value_length) {
			wants_value = true;
		} else if (wants_value) {
			wants_value = false;
		} else if (!strcmp(word, "--")) {
			is_program = true;
		} else if (word[0] == '-' && word[1]) {
			const char *last = word + strlen(word) - 1;

			if (!find_option(command, word[1] == '-' ? word + 2 : NULL, *last, &option))
				option = (struct help_line){ 0 };
			wants_value = option.value_length && !option.is_joined &&
				      !strchr(word, '=');
		} else {
			before = word;
			operands++;
			is_program = strstr(command->usage, "[--] PROGRAM");
		}
	}
	if (is_program)
		fputs(":files\n", context->out);
	else if (wants_value || (!strcmp(current, "=") && option.value_length))
		put_value(context, &option);
	else if (!strncmp(current, "--", 2) && strchr(current, '=')) {
		if (find_option(command, current + 2, 0, &option) && option.value_length)
			put_value(context, &option);
	} else if (current[0] == '-') {
		put_options(context->out, command);
	} else {
		put_operand(context, command, operands, before);
	}
	return GPUMON_EXIT_OK;
}
