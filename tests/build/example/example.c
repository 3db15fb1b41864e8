// SPDX-License-Identifier: GPL-2.0-only
/*
 * The driver of adding-a-driver.md: operations that begin and end. The parameters "begin" and "end"
 * begin or end that many operations, starting with the first.
 */
#include <linux/module.h>
#include <linux/platform_device.h>

#define CREATE_TRACE_POINTS
#include "example_trace.h"

#define BYTES 4096

static struct platform_device *device;
static u64 begun, ended;

static int begin(const char *text, const struct kernel_param *param)
{
	unsigned int count;
	int ret = kstrtouint(text, 0, &count);

	while (!ret && count--)
		trace_example_begin(&device->dev, ++begun, BYTES);
	return ret;
}

static int end(const char *text, const struct kernel_param *param)
{
	unsigned int count;
	int ret = kstrtouint(text, 0, &count);

	while (!ret && count--)
		trace_example_end(&device->dev, ++ended, BYTES);
	return ret;
}

static const struct kernel_param_ops begin_ops = { .set = begin };
static const struct kernel_param_ops end_ops = { .set = end };

module_param_cb(begin, &begin_ops, NULL, 0200);
MODULE_PARM_DESC(begin, "written: begin so many operations");
module_param_cb(end, &end_ops, NULL, 0200);
MODULE_PARM_DESC(end, "written: end so many operations");

static int __init example_init(void)
{
	device = platform_device_register_simple("example", 0, NULL, 0);
	return PTR_ERR_OR_ZERO(device);
}

static void __exit example_exit(void)
{
	platform_device_unregister(device);
	tracepoint_synchronize_unregister();
}

module_init(example_init);
module_exit(example_exit);

MODULE_AUTHOR("The gpumon authors");
MODULE_DESCRIPTION("A driver with two tracepoints, for a test of adding-a-driver.md");
MODULE_LICENSE("GPL");
