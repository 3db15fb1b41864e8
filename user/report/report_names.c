// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "lib/text.h"
#include "report_names.h"

/* Of a name: longer ones are cut. No page has room for thousands of characters, some templates have them. */
#define NAME_COLUMNS 600

/*
 * Class of its colour, name, label if that is another text, module, a line about it. The label is a text behind
 * "=", or the part of the name that begins at a byte, and has a number of bytes: "5,20".
 */
#define PARTS 5

static uint32_t intern_parts(struct gpumon_intern *intern, const char *const parts[PARTS])
{
	uint32_t number;
	char *text;
	size_t size;
	FILE *out = gpumon_memstream_open(&text, &size);

	for (unsigned int i = 0; i < PARTS; i++)
		fwrite(parts[i], 1, strlen(parts[i]) + 1, out);
	gpumon_memstream_close(out);
	number = gpumon_intern_bytes(intern, text, (uint32_t)size, NULL);
	free(text);
	return number - 1;
}

/* The script counts characters, and not bytes. */
static bool is_ascii(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (text[i] & 0x80)
			return false;
	}
	return true;
}

uint32_t gpumon_report_function(struct gpumon_report_names *names, enum gpumon_node_kind kind,
				const char *name, const char *module)
{
	char class[GPUMON_FLAME_CLASS], label[4096], whole[4096], part[4096] = "";
	const char *parts[PARTS] = {
		gpumon_flame_class(class, kind, name), whole, part, module ? module : "", "",
	};
	const char *at;

	gpumon_text_cut(whole, sizeof(whole), *name ? name : "[unknown]", NAME_COLUMNS);
	/* Of the whole name: where a parenthesis is cut off, its parameters cannot be told. */
	gpumon_text_function(label, sizeof(label), *name ? name : whole);
	at = strstr(whole, label);
	if (at && is_ascii(whole, (size_t)(at - whole) + strlen(label)))
		snprintf(part, sizeof(part), "%zu,%zu", (size_t)(at - whole), strlen(label));
	else
		snprintf(part, sizeof(part), "=%.*s", NAME_COLUMNS, label);
	if (!strcmp(label, whole))
		part[0] = '\0';
	return intern_parts(&names->functions, parts);
}

uint32_t gpumon_report_frame(struct gpumon_report_names *names, const struct gpumon_frame *frame)
{
	char class[GPUMON_FLAME_CLASS], name[4096], label[1024], about[64];
	const char *parts[PARTS] = {
		gpumon_flame_class(class, frame->kind, frame->name),
		name,
		label,
		frame->module,
		about,
	};

	if (!frame->joined)
		return gpumon_report_function(names, frame->kind,
					      *frame->name || frame->parent ? frame->name : "all",
					      frame->module);
	snprintf(name, sizeof(name), "%.2000s%s%.2000s", frame->name,
		 frame->joined > 1 ? " … " : ", ", frame->last + strlen(frame->module));
	snprintf(label, sizeof(label), "=%.900s, %u functions", frame->module, frame->joined + 1);
	snprintf(about, sizeof(about), "%u functions without a name", frame->joined + 1);
	return intern_parts(&names->functions, parts);
}

uint32_t gpumon_report_kernel(struct gpumon_report_names *names, enum gpumon_work_kind kind,
			      const char *name)
{
	static const enum gpumon_node_kind kinds[GPUMON_WORK_KINDS] = {
		[GPUMON_WORK_KERNEL] = GPUMON_NODE_KERNEL,
		[GPUMON_WORK_COPY] = GPUMON_NODE_COPY,
		[GPUMON_WORK_SET] = GPUMON_NODE_SET,
		[GPUMON_WORK_GRAPH] = GPUMON_NODE_WHOLE_GRAPH,
	};

	return gpumon_report_function(names, kinds[kind % GPUMON_WORK_KINDS], name, "");
}

uint32_t gpumon_report_line(struct gpumon_report_names *names, const char *line)
{
	return line && *line ? gpumon_intern(&names->lines, line, NULL) : 0;
}

/* A tab ends a part, and a line a function: in the texts both are question marks. */
void gpumon_report_names_write(FILE *out, const struct gpumon_report_names *names)
{
	fputs("<div hidden=\"\"><pre id=\"functions\">", out);
	for (uint32_t i = 0; i < names->functions.n; i++) {
		const char *text = names->functions.texts[i];
		size_t empty = 0;

		if (i)
			putc('\n', out);
		for (unsigned int part = 0; part < PARTS; part++) {
			if (*text) {
				for (; empty; empty--)
					putc('\t', out);
				gpumon_text_xml(out, text);
			}
			empty++;
			text += strlen(text) + 1;
		}
	}
	fputs("</pre>\n<pre id=\"lines\">", out);
	for (uint32_t i = 0; i < names->lines.n; i++) {
		if (i)
			putc('\n', out);
		gpumon_text_xml(out, names->lines.texts[i]);
	}
	fputs("</pre></div>\n", out);
}

void gpumon_report_names_clear(struct gpumon_report_names *names)
{
	gpumon_intern_clear(&names->functions);
	gpumon_intern_clear(&names->lines);
}
