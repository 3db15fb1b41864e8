// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include "asset.h"
#include "flamegraph.h"

/* The assembler searches the compiler's paths: user/, or those of -I. */
#define ASSET(name, file)                             \
	__asm__(".pushsection .rodata\n"              \
		".globl gpumon_asset_" #name "\n"     \
		".globl gpumon_asset_" #name "_end\n" \
		"gpumon_asset_" #name ":\n"           \
		".incbin \"report/" file "\"\n"       \
		"gpumon_asset_" #name "_end:\n"       \
		".popsection\n")

ASSET(flame_css, "flamegraph.css");
ASSET(flame_js, "flamegraph.js");
ASSET(report_css, "report.css");
ASSET(report_js, "report.js");
ASSET(sqlite_sql, "sqlite.sql");

void gpumon_asset_write(FILE *out, enum gpumon_asset asset)
{
	const char *begin = NULL, *end = NULL, *line;

	switch (asset) {
	case GPUMON_ASSET_FLAME_CSS:
		begin = gpumon_asset_flame_css;
		end = gpumon_asset_flame_css_end;
		break;
	case GPUMON_ASSET_FLAME_JS:
		begin = gpumon_asset_flame_js;
		end = gpumon_asset_flame_js_end;
		break;
	case GPUMON_ASSET_REPORT_CSS:
		begin = gpumon_asset_report_css;
		end = gpumon_asset_report_css_end;
		break;
	case GPUMON_ASSET_REPORT_JS:
		begin = gpumon_asset_report_js;
		end = gpumon_asset_report_js_end;
		break;
	}
	if (!begin)
		return;
	/* The output belongs to its user, so it has no licence line. */
	line = memchr(begin, '\n', (size_t)(end - begin));
	if (line)
		begin = line + 1;
	fwrite(begin, 1, (size_t)(end - begin), out);
}
