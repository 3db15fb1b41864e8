// SPDX-License-Identifier: GPL-2.0-only
/*
 * The attach engine's kprobes and kretprobes: symbols, registration, and events that the kernel
 * missed.
 *
 * The symbol of a module's function is given as "module:name", so that a function of the same name
 * elsewhere is never probed; a built-in function as "name". Where the compiler has made another
 * function of it, the name has a suffix and the arguments may have moved.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "compat/kretprobe.h"
#include "core/fault.h"
#include "engine.h"

/* Suffixes of a function's name, in the order in which they are tried. */
static const char *const suffixes[] = { "", ".isra.0", ".constprop.0", ".part.0" };

/*
 * How much of nmissed is in our counters. The kernel sets nmissed to 0 at each registration. Its
 * rise is added to our counters before each read, and once more when the probe comes off.
 */
struct kprobe_account {
	bool registered;
	/* The kernel still uses the kprobe, see keep_for_ever(). */
	bool stuck;
	u64 counted;
};

static struct kprobe_account *accounts;

/* Protects accounts. The innermost lock. */
static DEFINE_MUTEX(account_lock);

/* Probes that come off together, for one wait instead of many. */
static struct gpumon_probe **leaving;
static void **leaving_kprobes;
static unsigned int leaving_count;

static bool is_kretprobe(const struct gpumon_probe *probe)
{
	return probe->kind == GPUMON_PROBE_KIND_KRETPROBE;
}

/* @probes: how many there are. The caller calls gpumon_kprobe_exit(), also after -ENOMEM. */
int gpumon_kprobe_init(u32 probes)
{
	accounts = kcalloc(probes, sizeof(*accounts), GFP_KERNEL);
	leaving = kcalloc(probes, sizeof(*leaving), GFP_KERNEL);
	leaving_kprobes = kcalloc(probes, sizeof(*leaving_kprobes), GFP_KERNEL);
	return accounts && leaving && leaving_kprobes ? 0 : -ENOMEM;
}

void gpumon_kprobe_exit(void)
{
	kfree(leaving_kprobes);
	kfree(leaving);
	kfree(accounts);
	leaving_kprobes = NULL;
	leaving = NULL;
	accounts = NULL;
}

static void account_collect(const struct gpumon_probe *probe)
{
	struct kprobe_account *account = &accounts[probe->number];
	local64_t *words;
	u64 missed;

	lockdep_assert_held(&account_lock);
	if (!account->registered)
		return;
	missed = READ_ONCE(probe->kprobe.nmissed);
	if (is_kretprobe(probe))
		missed += (u32)READ_ONCE(probe->kretprobe.nmissed);
	if (missed <= account->counted)
		return;
	/* No probe writes these words, they belong to CPUs without memory of their own. */
	words = gpumon_probe_counters.others + probe->number * GPUMON_PROBE_STRIDE;
	local64_add(missed - account->counted, &words[GPUMON_PROBE_DROPPED + GPUMON_DROP_MISSED]);
	account->counted = missed;
}

/*
 * Adds the events that the kernel missed to the counters of a probe, which may be a tracepoint's.
 * Any lock may be held.
 */
void gpumon_kprobe_collect(const struct gpumon_probe *probe)
{
	if (probe->kind == GPUMON_PROBE_KIND_TRACEPOINT)
		return;
	mutex_lock(&account_lock);
	account_collect(probe);
	mutex_unlock(&account_lock);
}

/* Memory that the kernel holds for the calls of a kretprobe that may be under way. */
size_t gpumon_kprobe_bytes(const struct gpumon_probe *probe)
{
	return probe->state == GPUMON_ATTACH_STATE_ATTACHED && is_kretprobe(probe) ?
		       gpumon_compat_kretprobe_bytes(&probe->kretprobe) :
		       0;
}

/* If the kernel itself lacks the function, a module may have one of that name. */
static bool is_in_module(void *address)
{
	char text[KSYM_SYMBOL_LEN];

	snprintf(text, sizeof(text), "%ps", address);
	return strchr(text, '[');
}

/* Looks a symbol up by registering a kprobe that is never armed. */
static int kprobe_find_symbol(const struct gpumon_probe *probe)
{
	struct kprobe *kprobe = kzalloc(sizeof(*kprobe), GFP_KERNEL);
	int ret;

	if (!kprobe)
		return -ENOMEM;
	kprobe->symbol_name = probe->symbol;
	kprobe->flags = KPROBE_FLAG_DISABLED;
	ret = GPUMON_REGISTER("register_kprobe (to find it)", probe->symbol,
			      register_kprobe(kprobe));
	if (!ret) {
		if (gpumon_followed(probe->module)->built_in && is_in_module(kprobe->addr))
			ret = -ENOENT;
		unregister_kprobe(kprobe);
	}
	kfree(kprobe);
	return ret;
}

/* Does the kernel list this kprobe? enable_kprobe() of an enabled kprobe only checks that. */
static bool kprobe_is_known(struct kprobe *kprobe)
{
	return !enable_kprobe(kprobe);
}

#ifdef CONFIG_KPROBES_ON_FTRACE
static void trap_over(struct kprobe *kprobe, struct pt_regs *regs, unsigned long flags)
{
}
#endif

/*
 * Registers a kprobe. On x86 one in the place of ftrace's call runs with interrupts on, and so does one
 * that was made a jump: a call of the function in an interrupt is missed then. The instruction behind
 * ftrace's call has the same arguments. A kprobe there is a trap, with interrupts off, and is not made a
 * jump if it has a post_handler.
 */
static int kprobe_register_body(struct gpumon_probe *probe)
{
	struct kprobe *kprobe = &probe->kprobe;
	int ret;

	kprobe->pre_handler = probe->body;
	ret = GPUMON_REGISTER("register_kprobe", probe->symbol, register_kprobe(kprobe));
#ifdef CONFIG_KPROBES_ON_FTRACE
	if (!ret && probe->in_interrupts && kprobe_ftrace(kprobe)) {
		unregister_kprobe(kprobe);
		memset(kprobe, 0, sizeof(*kprobe));
		kprobe->symbol_name = probe->symbol;
		kprobe->offset = MCOUNT_INSN_SIZE;
		kprobe->pre_handler = probe->body;
		kprobe->post_handler = trap_over;
		ret = register_kprobe(kprobe);
	}
#endif
	return ret;
}

static int kprobe_register(struct gpumon_probe *probe)
{
	struct kretprobe *kretprobe = &probe->kretprobe;
	int ret;

	if (accounts[probe->number].stuck)
		return -EALREADY;
	/* register_kretprobe() refuses a struct with left-overs of an earlier registration. */
	memset(kretprobe, 0, sizeof(*kretprobe));
	probe->kprobe.symbol_name = probe->symbol;
	if (is_kretprobe(probe)) {
		kretprobe->entry_handler = probe->body;
		kretprobe->handler = probe->on_return;
		kretprobe->data_size = probe->data_size;
		/* The function of an interrupt may run on each CPU at once. */
		kretprobe->maxactive = probe->maxactive ?: max_t(int, 64, num_online_cpus());
		ret = GPUMON_REGISTER("register_kretprobe", probe->symbol,
				      register_kretprobe(kretprobe));
	} else {
		ret = kprobe_register_body(probe);
	}
	/*
	 * Linux 7.3 returns 0 also if it had no memory to arm the kprobe and has removed it from
	 * its list.
	 */
	if (!ret && !kprobe_is_known(&probe->kprobe))
		ret = -ENOMEM;
	if (ret)
		return ret;
	mutex_lock(&account_lock);
	accounts[probe->number] = (struct kprobe_account){ .registered = true };
	mutex_unlock(&account_lock);
	return 0;
}

/*
 * Registers a kprobe or kretprobe whose prototype is right or not known. The result is in the
 * probe's state. Returns -ENOENT if there is no such function.
 */
int gpumon_kprobe_attach(struct gpumon_probe *probe)
{
	const char *module = gpumon_followed(probe->module)->built_in ? NULL : probe->module;
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(suffixes); i++) {
		snprintf(probe->symbol, sizeof(probe->symbol), "%s%s%s%s", module ?: "",
			 module ? ":" : "", probe->name, suffixes[i]);
		probe->arguments_trusted = !*suffixes[i];
		ret = 0;
		if (!module || (*suffixes[i] && !probe->count_if_suffixed))
			ret = kprobe_find_symbol(probe);
		if (!ret && *suffixes[i] && !probe->count_if_suffixed) {
			gpumon_probe_set_state(probe, GPUMON_ATTACH_STATE_MISSING,
					 "the kernel has only %s%s, its arguments are not known",
					 probe->name, suffixes[i]);
			return 0;
		}
		if (!ret)
			ret = kprobe_register(probe);
		if (ret != -ENOENT)
			break;
	}
	if (ret == -ENOENT)
		return ret;
	if (ret)
		gpumon_probe_set_failed(probe, ret);
	else if (!probe->arguments_trusted)
		gpumon_probe_set_state(probe, GPUMON_ATTACH_STATE_ATTACHED,
				 "%s%s: arguments not trusted, counted only", probe->name,
				 suffixes[i]);
	else
		gpumon_probe_set_attached(probe);
	return 0;
}

void gpumon_kprobe_detach(struct gpumon_probe *probe)
{
	probe->address = probe->kprobe.addr;
	leaving[leaving_count] = probe;
	leaving_kprobes[leaving_count++] = &probe->kprobe;
}

/*
 * Has the kernel kept a kprobe that was unregistered? Taking a kprobe off a function that ftrace
 * traces needs memory. Without memory the kernel warns and keeps the kprobe. The only sign is that
 * the kprobe has no address any more, but that is also so if its module is gone. @address: its
 * address before.
 */
static bool kprobe_was_kept(struct kprobe *kprobe, kprobe_opcode_t *address)
{
	if (kprobe->addr || !address)
		return false;
	kprobe->addr = address;
	return kprobe_is_known(kprobe);
}

/* A kprobe that the kernel keeps must not be called, registered again or freed. */
static void keep_for_ever(struct gpumon_probe *probe)
{
	probe->kprobe.flags |= KPROBE_FLAG_DISABLED;
	synchronize_rcu();
	accounts[probe->number].stuck = true;
	if (try_module_get(THIS_MODULE))
		pr_err("the kernel had no memory to take the kprobe on %s off: gpumon cannot be unloaded until the machine is booted again\n",
		       probe->symbol);
	else
		pr_err("the kernel had no memory to take the kprobe on %s off while gpumon is unloaded: boot the machine again\n",
		       probe->symbol);
}

/*
 * Is a kprobe a jump that becomes a trap when it is taken off? The kernel lists the kprobes of an
 * address in an entry. With another kprobe in the list the entry stays in use, and there is nothing
 * to wait for.
 */
static bool is_jump(const struct kprobe *kprobe)
{
	const struct list_head *next = READ_ONCE(kprobe->list.next);

	return next != &kprobe->list && next == READ_ONCE(kprobe->list.prev) &&
	       READ_ONCE(list_entry(next, struct kprobe, list)->flags) & KPROBE_FLAG_OPTIMIZED;
}

/*
 * The kernel makes a jump a trap again 5 ticks after its kprobe was taken off, and then frees the
 * entry. If the module goes in between, the entry stays for ever (kill_optimized_kprobe() of 7.3
 * asks for the queue after it has left it), and the next kprobe at that address is refused. So a
 * jump is first disabled, which makes it a trap, too, and taken off then. At most a second.
 */
static void wait_for_traps(void)
{
	unsigned int i, tries = 50;

	for (i = 0; i < leaving_count; i++)
		if (is_jump(leaving_kprobes[i]))
			disable_kprobe(leaving_kprobes[i]);
	for (i = 0; i < leaving_count; i++)
		for (; tries && is_jump(leaving_kprobes[i]); tries--)
			msleep(20);
}

/* No body of a probe given to gpumon_kprobe_detach() runs any more when this returns. */
void gpumon_kprobe_detached(void)
{
	unsigned int i, n;

	if (!leaving_count)
		return;
	wait_for_traps();
	for (i = 0; i < leaving_count; i += n) {
		for (n = 1; i + n < leaving_count && leaving[i + n]->kind == leaving[i]->kind; n++)
			;
		if (is_kretprobe(leaving[i]))
			unregister_kretprobes((struct kretprobe **)leaving_kprobes + i, n);
		else
			unregister_kprobes((struct kprobe **)leaving_kprobes + i, n);
	}
	for (i = 0; i < leaving_count; i++)
		if (kprobe_was_kept(&leaving[i]->kprobe, leaving[i]->address))
			keep_for_ever(leaving[i]);
	mutex_lock(&account_lock);
	for (i = 0; i < leaving_count; i++) {
		account_collect(leaving[i]);
		accounts[leaving[i]->number].registered = false;
	}
	mutex_unlock(&account_lock);
	leaving_count = 0;
}
