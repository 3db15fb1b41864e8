/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A module that has the name and the tracepoints of another one, and does nothing but fire them
 * when its parameter is written. What includes this has a fire_once().
 */
#include <linux/module.h>
#include <linux/tracepoint.h>

static int fire(const char *text, const struct kernel_param *param)
{
	unsigned int i, count;
	int ret = kstrtouint(text, 0, &count);

	if (ret)
		return ret;
	for (i = 0; i < count; i++)
		fire_once();
	return 0;
}

static const struct kernel_param_ops fire_ops = {
	.set = fire,
};

module_param_cb(fire, &fire_ops, NULL, 0200);
MODULE_PARM_DESC(fire, "written: fire the tracepoints so many times");

static int __init wrong_module_init(void)
{
	return 0;
}

static void __exit wrong_module_exit(void)
{
#ifdef WRONG_MODULE_EXIT
	WRONG_MODULE_EXIT;
#endif
	tracepoint_synchronize_unregister();
}

module_init(wrong_module_init);
module_exit(wrong_module_exit);

MODULE_AUTHOR("The gpumon authors");
MODULE_LICENSE("GPL");
