// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <stdarg.h>

#include "gpuprog/object/program.h"
#include "text.h"

static void write_operand(FILE *out, char kind, va_list *args)
{
	switch (kind) {
	case 'd':
	case 'w':
	case 'p':
		fprintf(out, "%%g%c%" PRIu32, kind, va_arg(*args, uint32_t));
		break;
	case 'l':
		fprintf(out, "G%" PRIu32, va_arg(*args, uint32_t));
		break;
	case 'i':
		fprintf(out, "%d", va_arg(*args, int));
		break;
	case 'u':
		fprintf(out, "%" PRIu32, va_arg(*args, uint32_t));
		break;
	case 'x':
		fprintf(out, "0x%" PRIx64, va_arg(*args, uint64_t));
		break;
	default:
		fputs(va_arg(*args, const char *), out);
	}
}

void text_emit(struct text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputc('\t', text->out);
	for (; *format; format++) {
		if (*format == '$')
			write_operand(text->out, *++format, &args);
		else
			fputc(*format, text->out);
	}
	fputs(";\n", text->out);
	va_end(args);
}

void text_label(struct text *text, uint32_t label)
{
	fprintf(text->out, "G%" PRIu32 ":\n", label);
}

uint32_t text_wide(struct text *text)
{
	return text->wide++;
}

uint32_t text_word(struct text *text)
{
	return text->word++;
}

uint32_t text_predicate(struct text *text)
{
	return text->predicate++;
}

uint32_t text_new_label(struct text *text)
{
	return text->label++;
}

uint32_t text_register(const struct gpumon_gpuprog_step *step, uint8_t reg)
{
	return reg < 6 ? reg : reg + step->depth * TEXT_FRAME_REGS;
}

static void declare(FILE *out, const char *type, char kind, uint32_t count)
{
	if (count)
		fprintf(out, "\t.reg .%s %%g%c<%" PRIu32 ">;\n", type, kind, count);
}

void text_declare(const struct text *text, FILE *out)
{
	declare(out, "b64", 'd', text->wide);
	declare(out, "b32", 'w', text->word);
	declare(out, "pred", 'p', text->predicate);
}

void text_refuse(struct text *text, const char *format, ...)
{
	char reason[256];
	va_list args;

	if (text->failed)
		return;
	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	gpumon_gpuprog_refuse(text->program, text->program->steps[text->step].origin, text->err,
			      "%s", reason);
	text->failed = true;
}

uint32_t text_table(struct text *text, uint32_t entry)
{
	const char *space = text->target->global_table ? "global" : "const";
	uint32_t reg = text_wide(text);

	if (text->target->patch)
		text_emit(text, "ld.global.u64 $d, [$s+$u]", reg, GPUMON_GPUPROG_TABLE_REG,
			  8 * entry);
	else if (entry)
		text_emit(text, "ld.$s.u64 $d, [$s+$u]", space, reg, GPUMON_GPUPROG_TABLE,
			  8 * entry);
	else
		text_emit(text, "ld.$s.u64 $d, [$s]", space, reg, GPUMON_GPUPROG_TABLE);
	return reg;
}

void text_lose(struct text *text, enum gpumon_gpuprog_loss loss, int guard)
{
	uint32_t control = text_table(text, 0);
	uint32_t place = loss * sizeof(uint64_t);

	if (guard < 0)
		text_emit(text, "red.global.add.u64 [$d+$u], 1", control, place);
	else
		text_emit(text, "@$p red.global.add.u64 [$d+$u], 1", guard, control, place);
}

bool text_keeps_in_memory(const struct text *text)
{
	return text->target->patch || text->target->memory;
}

bool text_has_sync(const struct text *text)
{
	return text->target->isa >= 60;
}

bool text_has_volta(const struct text *text)
{
	return text->target->isa >= 60 && text->target->sm >= 70;
}
