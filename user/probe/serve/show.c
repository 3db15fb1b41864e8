// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "base/json.h"
#include "probe/view/view.h"
#include "show.h"

int gpumon_probe_show_result(struct gpumon_context *context,
			     const struct gpumon_probe_result *result, struct gpumon_error *err)
{
	struct gpumon_term term;
	int ret;

	gpumon_term_get(&term, context->out);
	if (context->json)
		ret = gpumon_json_print(gpumon_probe_view_json(result), !term.tty, context->out);
	else
		ret = gpumon_probe_view_print(result, &term, context->out);
	if (!ret)
		return 0;
	return gpumon_error_output(err);
}
