/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Where asset.c finds the files that it includes. Only for that file, and for sqlite.c. */
#ifndef GPUMON_REPORT_ASSET_H
#define GPUMON_REPORT_ASSET_H

#pragma GCC visibility push(hidden)
extern const char gpumon_asset_flame_css[], gpumon_asset_flame_css_end[];
extern const char gpumon_asset_flame_js[], gpumon_asset_flame_js_end[];
extern const char gpumon_asset_report_css[], gpumon_asset_report_css_end[];
extern const char gpumon_asset_report_js[], gpumon_asset_report_js_end[];
extern const char gpumon_asset_sqlite_sql[], gpumon_asset_sqlite_sql_end[];
#pragma GCC visibility pop

#endif /* GPUMON_REPORT_ASSET_H */
