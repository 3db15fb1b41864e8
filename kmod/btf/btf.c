// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the running kernel says about itself: prototypes of what is probed, and
 * offsets of members of private types.
 *
 * The module reads BTF by itself, from /sys/kernel/btf, rather than having the
 * companion hand it over. So there is no time in which a probe is attached and
 * not checked, nor one in which sizes are unknown because nobody has run yet;
 * it works where there is no userspace to speak of; and what the answer hangs
 * on cannot be given wrongly from outside. The price is a parser in the kernel,
 * btf_parse.c. The kernel exports no look-up by name, and its own copy is not
 * reached by tricks: the files are what it offers.
 *
 * A module's file is there before its tracepoints can be attached: the
 * kernel's BTF hears of a module before tracepoints do. It is read once, when the
 * module comes, for all groups, also those that are off: what is found
 * stays until the module is gone. The files are in memory only while they are read.
 *
 * A prototype is written as the tokens of its arguments, with one space between them:
 *
 *   i8 u8 ... i64 u64 bool		integers, by size and signedness; char is i8
 *   u32				an enum, by size
 *   *name				pointer to struct or union name
 *   *char				pointer to char
 *   *					any other pointer
 *   struct:name			a struct or union itself
 *   ...				any more arguments
 *
 * Typedefs, const, volatile and restrict are looked through. Of a tracepoint they are the
 * arguments of TP_PROTO. What a function returns is one token, or void.
 */
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>

#include "attach/engine.h"
#include "core/fault.h"
#include "parse.h"
#include "read_file.h"

#define FOLDER "/sys/kernel/btf/"

/* The largest kernels have 8 MiB. */
#define MAX_FILE (256 << 20)

#define WHY_LEN	  112
#define NO_BTF	  "no BTF of "
#define TRY_AGAIN ", switch the group off and on to try again"

/* The kernel's own, while modules are looked at. */
static struct {
	struct gpumon_btf btf;
	bool read;
	char why_not[WHY_LEN];
	int error;
} kernel;

static const char *module_name_of(const char *module)
{
	return module ?: "vmlinux";
}

static bool same_module(const char *one, const char *other)
{
	return one && other ? !strcmp(one, other) : one == other;
}

/*
 * False, and why, if there is nothing in @btf to be freed. @error is set if it is worth
 * another try, and else 0.
 */
static bool load_file(struct gpumon_btf *btf, const struct gpumon_btf *base, const char *name,
		      char *why_not, int *error)
{
	char path[sizeof(FOLDER) + MODULE_NAME_LEN];
	const char *wrong;
	void *data = NULL;
	ssize_t size;

	*error = 0;
	snprintf(path, sizeof(path), FOLDER "%s", name);
	size = GPUMON_REGISTER("gpumon_read_whole_file", path,
			       gpumon_read_whole_file(path, &data, MAX_FILE));
	if (size == -ENOENT) {
		snprintf(why_not, WHY_LEN, NO_BTF "%s", name);
		return false;
	}
	if (size < 0) {
		snprintf(why_not, WHY_LEN, "BTF of %s unreadable, error %zd" TRY_AGAIN, name, size);
		*error = size;
		return false;
	}
	wrong = gpumon_btf_parse(btf, base, data, size);
	if (!wrong)
		return true;
	/* It is the kernel's own: only for want of memory is it another time another. */
	if (!strcmp(wrong, GPUMON_BTF_NO_MEMORY))
		*error = -ENOMEM;
	snprintf(why_not, WHY_LEN, "BTF of %s unreadable: %s%s", name, wrong,
		 *error ? TRY_AGAIN : "");
	gpumon_btf_free(btf);
	return false;
}

static bool load_kernel(void)
{
	if (!kernel.read) {
		kernel.why_not[0] = '\0';
		load_file(&kernel.btf, NULL, "vmlinux", kernel.why_not, &kernel.error);
		kernel.read = true;
	}
	return !kernel.why_not[0];
}

/* Types of a name: the module's own, or if it has none the kernel's that it shares. */
static u32 find_type(const struct gpumon_btf *btf, const char *name, unsigned long kinds,
		     const struct gpumon_btf **in)
{
	u32 id = 0;

	for (*in = btf; *in; *in = (*in)->base) {
		id = gpumon_btf_find(*in, name, kinds, 0);
		if (id)
			break;
	}
	return id;
}

__printf(2, 3) static void field_unknown(struct gpumon_field *field, const char *format, ...)
{
	va_list args;

	WRITE_ONCE(field->offset, -1);
	va_start(args, format);
	vscnprintf(field->reason, sizeof(field->reason), format, args);
	va_end(args);
}

/*
 * Two types of one name may be in a module, in different files of it. Which one
 * an object is of cannot be told: only if they agree there is an answer.
 */
static void resolve_field(const struct gpumon_btf *btf, struct gpumon_field *field)
{
	const char *module = module_name_of(field->module);
	unsigned long kinds = BIT(BTF_KIND_STRUCT) | BIT(BTF_KIND_UNION);
	struct gpumon_btf_place place = {}, other = {};
	const struct gpumon_btf *in;
	int ret, first = 1;
	u32 id;

	id = find_type(btf, field->type, kinds, &in);
	if (!id) {
		kinds = BIT(BTF_KIND_TYPEDEF);
		id = find_type(btf, field->type, kinds, &in);
	}
	if (!id) {
		field_unknown(field, "no type %s in BTF of %s", field->type, module);
		return;
	}
	for (; id; id = gpumon_btf_find(in, field->type, kinds, id)) {
		ret = gpumon_btf_member(btf, id, field->member, &other);
		if (first == 1) {
			first = ret;
			place = other;
		} else if (ret != first || (!ret && memcmp(&place, &other, sizeof(place)))) {
			field_unknown(field, "%s has types %s of different layout", module,
				      field->type);
			return;
		}
	}
	if (first == -ENOENT) {
		field_unknown(field, "%s in %s has no such member", field->type, module);
	} else if (first == -EOPNOTSUPP) {
		field_unknown(field, "a bitfield that cannot be read");
	} else if (first) {
		field_unknown(field, "BTF of %s unreadable: odd type %s", module, field->type);
	} else if (field->size && !place.bit_size && place.size != field->size) {
		field_unknown(field, "size is %u, expected %u", place.size, field->size);
	} else {
		field->reason[0] = '\0';
		field->found_size = place.size;
		field->bit_offset = place.bit_offset;
		field->bit_size = place.bit_size;
		/* Whoever sees the offset sees the others. */
		smp_store_release(&field->offset, place.offset);
	}
}

__printf(3, 4) static void probe_checked(struct gpumon_probe *probe, int check, const char *format,
					 ...)
{
	va_list args;

	probe->check = check;
	va_start(args, format);
	vscnprintf(probe->check_reason, sizeof(probe->check_reason), format, args);
	va_end(args);
}

/* Is @text one of those between the bars of @list? */
static bool is_one_of(const char *list, const char *text)
{
	size_t length, from, to;

	for (;; list += length + 1) {
		length = strcspn(list, "|");
		for (from = 0; from < length && list[from] == ' '; from++)
			;
		for (to = length; to > from && list[to - 1] == ' '; to--)
			;
		if (strlen(text) == to - from && !memcmp(text, list + from, to - from))
			return true;
		if (!list[length])
			return false;
	}
}

static void check_probe(const struct gpumon_btf *btf, struct gpumon_probe *probe)
{
	bool tracepoint = probe->kind == GPUMON_PROBE_KIND_TRACEPOINT;
	unsigned long kinds = BIT(tracepoint ? BTF_KIND_TYPEDEF : BTF_KIND_FUNC);
	char name[GPUMON_SYMBOL_LEN];
	struct gpumon_btf_prototype prototype;
	const struct gpumon_btf *in;
	bool arguments, returns;
	u32 id;

	snprintf(name, sizeof(name), "%s%s", tracepoint ? "btf_trace_" : "", probe->name);
	id = find_type(btf, name, kinds, &in);
	if (!id) {
		probe_checked(probe, -ENODATA, GPUMON_NOT_CHECKED ": not in BTF");
		return;
	}
	/* If there are several, which one is probed cannot be told: each has to be right. */
	for (; id; id = gpumon_btf_find(in, name, kinds, id)) {
		if (gpumon_btf_function(btf, id, tracepoint, &prototype)) {
			probe_checked(probe, -ENODATA, GPUMON_NOT_CHECKED ": not understood");
			return;
		}
		arguments = !probe->prototype || is_one_of(probe->prototype, prototype.arguments);
		returns = !probe->returns || is_one_of(probe->returns, prototype.returns);
		if (arguments && returns)
			continue;
		/*
		 * A module's function that is not in its own part of the BTF may be left
		 * out, and then this is another one of the same name.
		 */
		if (!tracepoint && probe->module && in != btf)
			probe_checked(probe, -ENODATA, GPUMON_NOT_CHECKED ": not in BTF");
		else if (arguments)
			probe_checked(probe, -EBADMSG, "returns %s, expected %s", prototype.returns,
				      probe->returns);
		else
			probe_checked(probe, -EBADMSG, "prototype is (%s), expected (%s)",
				      prototype.arguments, probe->prototype);
		return;
	}
	probe_checked(probe, 0, "%s", "");
}

static bool is_checked(const struct gpumon_probe *probe, const char *module)
{
	return (probe->prototype || probe->returns) && same_module(probe->module, module);
}

static bool is_asked(const char *module)
{
	const struct gpumon_group *group;
	const struct gpumon_probe *probe;
	const struct gpumon_field *field;
	unsigned int g;

	for_each_group(group, g) {
		for_each_probe(group, probe)
			if (is_checked(probe, module))
				return true;
		for_each_field(group, field)
			if (same_module(field->module, module))
				return true;
	}
	return false;
}

/* Answer everything that is asked about a module. */
static void answer(const char *module, const struct gpumon_btf *btf, const char *why_not)
{
	const char *how = "";
	struct gpumon_group *group;
	struct gpumon_probe *probe;
	struct gpumon_field *field;
	unsigned int g;

	if (why_not && strstarts(why_not, NO_BTF "vmlinux"))
		how = IS_ENABLED(CONFIG_DEBUG_INFO_BTF) ?
			      ", is sysfs mounted on /sys?" :
			      ", build the kernel with CONFIG_DEBUG_INFO_BTF";
	else if (why_not && strstarts(why_not, NO_BTF))
		how = ", build the module with CONFIG_DEBUG_INFO_BTF";
	for_each_group(group, g) {
		for_each_probe(group, probe) {
			if (!is_checked(probe, module))
				continue;
			if (btf)
				check_probe(btf, probe);
			else
				probe_checked(probe, -ENODATA, GPUMON_NOT_CHECKED ": %s", why_not);
		}
		for_each_field(group, field) {
			if (!same_module(field->module, module))
				continue;
			if (btf)
				resolve_field(btf, field);
			else
				field_unknown(field, "%s%s", why_not, how);
		}
	}
}

/**
 * gpumon_btf_module_came - check prototypes and find fields of a module
 * @module: module, NULL for the kernel itself
 *
 * Context: may sleep, gpumon_probe_lock held; gpumon_btf_done() has to follow, after any
 * number of modules.
 * Return: 0, also if there is no BTF; a negative error if there is and it could not be read now.
 */
int gpumon_btf_module_came(const char *module)
{
	char why_not[WHY_LEN];
	struct gpumon_btf btf;
	int error = 0;

	if (!is_asked(module))
		return 0;
	if (!load_kernel()) {
		error = kernel.error;
		answer(module, NULL, kernel.why_not);
	} else if (!module) {
		answer(module, &kernel.btf, NULL);
	} else if (load_file(&btf, &kernel.btf, module, why_not, &error)) {
		answer(module, &btf, NULL);
		gpumon_btf_free(&btf);
	} else {
		answer(module, NULL, why_not);
	}
	return error;
}

/**
 * gpumon_btf_done - give back the memory of gpumon_btf_module_came()
 *
 * Context: may sleep, gpumon_probe_lock held.
 */
void gpumon_btf_done(void)
{
	if (kernel.read)
		gpumon_btf_free(&kernel.btf);
	kernel.read = false;
}

/**
 * gpumon_btf_module_gone - forget what was found about a module
 * @module: module
 *
 * Context: gpumon_probe_lock held, no probe of the module runs.
 */
void gpumon_btf_module_gone(const char *module)
{
	struct gpumon_group *group;
	struct gpumon_probe *probe;
	struct gpumon_field *field;
	unsigned int g;

	for_each_group(group, g) {
		for_each_probe(group, probe)
			if (is_checked(probe, module))
				probe_checked(probe, -ENODATA, GPUMON_NOT_CHECKED);
		for_each_field(group, field)
			if (same_module(field->module, module))
				field_unknown(field, "module %s is not loaded", module);
	}
}

/**
 * gpumon_btf_init - nothing is known yet
 *
 * Context: before anything is attached.
 */
void gpumon_btf_init(void)
{
	struct gpumon_group *group;
	struct gpumon_field *field;
	unsigned int g;

	for_each_group(group, g)
		for_each_field(group, field)
			field_unknown(field, "module %s is not loaded",
				      module_name_of(field->module));
}

/**
 * gpumon_btf_show - the fields of all groups, as a section of a text
 * @m: text
 *
 * Context: may sleep, gpumon_probe_lock held.
 */
void gpumon_btf_show(struct seq_file *m)
{
	const struct gpumon_group *group;
	const struct gpumon_field *field;
	unsigned int g;

	seq_puts(m, "# layouts\nmodule member offset size reason\n");
	for_each_group(group, g) {
		if (!gpumon_group_shown(group))
			continue;
		for_each_field(group, field) {
			seq_printf(m, "%s %s.%s ", module_name_of(field->module), field->type,
				   field->member);
			if (!gpumon_field_known(field))
				seq_printf(m, "- - %s\n", field->reason);
			else if (field->bit_size)
				seq_printf(m, "%d.%u:%u %u -\n", field->offset, field->bit_offset,
					   field->bit_size, field->found_size);
			else
				seq_printf(m, "%d %u -\n", field->offset, field->found_size);
		}
	}
}

/**
 * gpumon_read_string_nofault - copy a string of which nothing is certain
 * @to: buffer, always ends with a NUL afterwards
 * @size: size of it in bytes, at least 1
 * @from: string, may be any value
 *
 * A string that does not fit is cut.
 *
 * Context: any.
 * Return: length without the NUL, -EFAULT if it cannot be read, @to is then "".
 */
long gpumon_read_string_nofault(char *to, size_t size, const char *from)
{
	size_t step, length, done = 0;

	while (done < size - 1) {
		/* An aligned word never reaches into another page. */
		step = sizeof(u64) - ((unsigned long)(from + done) & (sizeof(u64) - 1));
		step = min(step, size - 1 - done);
		if (copy_from_kernel_nofault(to + done, from + done, step)) {
			to[0] = '\0';
			return -EFAULT;
		}
		length = strnlen(to + done, step);
		done += length;
		if (length < step)
			return done;
	}
	to[done] = '\0';
	return done;
}
