// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "lib/json.h"
#include "server_show.h"
#include "lib/output_text.h"

int gpumon_probe_show_sheet(struct gpumon_context *context, struct gpumon_sheet *sheet,
			    struct gpumon_error *err)
{
	struct gpumon_term term;
	int ret;

	if (!sheet)
		return gpumon_error_memory(err);
	gpumon_term_get(&term, context->out);
	if (context->json)
		ret = gpumon_json_print(gpumon_sheet_json(sheet), !term.tty, context->out);
	else
		ret = gpumon_sheet_print(sheet, &term, context->out);
	gpumon_sheet_free(sheet);
	if (!ret)
		return 0;
	return gpumon_error_output(err);
}

void gpumon_probe_show_line(void *stream, const char *text)
{
	fputs("gpumon-user: ", stream);
	gpumon_text_plain(stream, text);
	fputc('\n', stream);
}
