// SPDX-License-Identifier: GPL-2.0-only
/*
 * bare_probe: empty probes on the functions that its parameters name. They show the minimum
 * overhead of any probe.
 */
#include <linux/kprobes.h>
#include <linux/module.h>

#define LIMIT 8

static char *kprobe_names[LIMIT];
static int kprobe_count;
module_param_array_named(kprobe, kprobe_names, charp, &kprobe_count, 0);
MODULE_PARM_DESC(kprobe, "functions to be probed");

static char *kretprobe_names[LIMIT];
static int kretprobe_count;
module_param_array_named(kretprobe, kretprobe_names, charp, &kretprobe_count, 0);
MODULE_PARM_DESC(kretprobe, "functions whose return is to be probed");

static struct kprobe kprobes[LIMIT];
static struct kretprobe kretprobes[LIMIT];
static int kprobes_there, kretprobes_there;

static int nothing(struct kprobe *probe, struct pt_regs *regs)
{
	return 0;
}

static int nothing_returned(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	return 0;
}

static void remove_all(void)
{
	while (kretprobes_there)
		unregister_kretprobe(&kretprobes[--kretprobes_there]);
	while (kprobes_there)
		unregister_kprobe(&kprobes[--kprobes_there]);
}

static int __init bare_probe_init(void)
{
	int ret;

	while (kprobes_there < kprobe_count) {
		kprobes[kprobes_there].symbol_name = kprobe_names[kprobes_there];
		kprobes[kprobes_there].pre_handler = nothing;
		ret = register_kprobe(&kprobes[kprobes_there]);
		if (ret)
			goto fail;
		kprobes_there++;
	}
	while (kretprobes_there < kretprobe_count) {
		kretprobes[kretprobes_there].kp.symbol_name = kretprobe_names[kretprobes_there];
		kretprobes[kretprobes_there].entry_handler = nothing_returned;
		kretprobes[kretprobes_there].handler = nothing_returned;
		ret = register_kretprobe(&kretprobes[kretprobes_there]);
		if (ret)
			goto fail;
		kretprobes_there++;
	}
	return 0;

fail:
	remove_all();
	return ret;
}

static void __exit bare_probe_exit(void)
{
	remove_all();
}

module_init(bare_probe_init);
module_exit(bare_probe_exit);
MODULE_DESCRIPTION("Probes that do nothing, for comparison");
MODULE_LICENSE("GPL");
