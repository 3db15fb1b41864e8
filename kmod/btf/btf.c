// SPDX-License-Identifier: GPL-2.0-only
/*
 * The running kernel's types, from its BTF: prototypes of the functions and tracepoints that are
 * probed, and offsets of members of private types.
 *
 * The module reads BTF itself, from /sys/kernel/btf; userspace does not hand it over. So every
 * probe is checked before it is attached, sizes are known without a tool, and nothing outside the
 * kernel can give wrong layouts. The price is a parser in the kernel, parse.c. The kernel exports
 * no look-up by name and its own copy is not exported either, so these files are read.
 *
 * A module's file is there before its tracepoints can be attached: the kernel's notifier of BTF runs
 * before that of tracepoints. The file is read once, when the module comes, for all groups, also those
 * that are off; the results stay until the module is gone. It is read in the kernel's notifiers of
 * modules, under their locks, and not later in a task: a probe has to be there before the module's own
 * code runs.
 *
 * A module's types refer to the kernel's types. The kernel's file is read through when gpumon is loaded,
 * for all names that will be asked for. When a module comes, the results and a few pages that are read
 * again are enough, see parse.c.
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
 * Typedefs, const, volatile and restrict are looked through. The arguments of a tracepoint are those
 * of TP_PROTO. The result of a function is one token, or void.
 */
#include <linux/module.h>
#include <linux/string.h>

#include "btf.h"
#include "core/fault.h"
#include "core/field.h"
#include "read_file.h"

#define FOLDER "/sys/kernel/btf/"

#define NO_BTF "no BTF of "

/* All names that are asked for, in any file. */
static struct gpumon_btf_names names;

/* The kernel's own types. They are parsed at load; their file is open while modules are read. */
static struct gpumon_btf_module kernel;
static bool kernel_tried;

static const char *module_name_of(const char *module)
{
	return module ?: "vmlinux";
}

/**
 * gpumon_btf_want - a name will be asked for
 * @text: name of a type, a function, a tracepoint or a member, to stay there
 * @length: its length
 * @tracepoint: it is a tracepoint's
 *
 * Context: may sleep, nothing was read yet.
 * Return: 0, or a negative error as gpumon_btf_name_add().
 */
int gpumon_btf_want(const char *text, size_t length, bool tracepoint)
{
	return gpumon_btf_name_add(&names, text, length, tracepoint);
}

/* Opens a file of BTF; without one, says why in @read. */
static struct file *btf_open(struct gpumon_btf_module *read, const char *name)
{
	char path[sizeof(FOLDER) + MODULE_NAME_LEN];
	struct file *file;

	snprintf(path, sizeof(path), FOLDER "%s", name);
	file = GPUMON_REGISTER_OR_ERR("gpumon_file_open", path, gpumon_file_open(path));
	if (!IS_ERR(file))
		return file;
	read->error = PTR_ERR(file);
	snprintf(read->why_not, sizeof(read->why_not),
		 "BTF of %s unreadable, error %d" GPUMON_TRY_AGAIN, name, read->error);
	return NULL;
}

static void btf_load(struct gpumon_btf_module *read, struct gpumon_btf *base, const char *name)
{
	const char *wrong;
	struct file *file;

	memset(read, 0, sizeof(*read));
	file = btf_open(read, name);
	if (!file) {
		if (read->error == -ENOENT) {
			read->error = 0;
			snprintf(read->why_not, sizeof(read->why_not), NO_BTF "%s", name);
		}
		return;
	}
	read->error = gpumon_btf_parse(&read->own, base, &names, file, &wrong);
	if (!read->error) {
		read->btf = &read->own;
		return;
	}
	/* The error of a file that is odd is final: the file does not change. */
	if (read->error == -EINVAL)
		read->error = 0;
	snprintf(read->why_not, sizeof(read->why_not), "BTF of %s unreadable: %s%s", name, wrong,
		 read->error ? GPUMON_TRY_AGAIN : "");
	gpumon_btf_free(&read->own);
	gpumon_file_close(file);
}

/* Opens the kernel's file until gpumon_btf_done(), and parses it if it was not parsed before. */
static void kernel_open(void)
{
	if (kernel_tried)
		return;
	kernel_tried = true;
	if (!kernel.btf) {
		btf_load(&kernel, NULL, "vmlinux");
		return;
	}
	kernel.error = 0;
	kernel.own.file = btf_open(&kernel, "vmlinux");
}

/**
 * gpumon_btf_read - read what the kernel says of a module
 * @module: module, NULL for the kernel itself
 * @read: filled in, to be given to gpumon_btf_release()
 *
 * gpumon_btf_done() has to follow, after any number of modules.
 *
 * Context: may sleep, one at a time.
 */
void gpumon_btf_read(const char *module, struct gpumon_btf_module *read)
{
	const bool readable = (kernel_open(), kernel.btf && kernel.own.file);

	if (module && readable) {
		btf_load(read, kernel.btf, module);
		return;
	}
	memset(read, 0, sizeof(*read));
	read->btf = readable ? kernel.btf : NULL;
	read->error = kernel.error;
	strscpy(read->why_not, kernel.why_not, sizeof(read->why_not));
}

/**
 * gpumon_btf_release - give back the memory of gpumon_btf_read()
 * @read: as filled in
 *
 * Context: may sleep.
 */
void gpumon_btf_release(struct gpumon_btf_module *read)
{
	struct file *file = read->own.file;

	if (read->btf == &read->own) {
		gpumon_btf_free(&read->own);
		gpumon_file_close(file);
	}
	read->btf = NULL;
}

/**
 * gpumon_btf_done - for the time being no module is read
 *
 * Context: may sleep, as gpumon_btf_read().
 */
void gpumon_btf_done(void)
{
	gpumon_btf_forget_copies(&kernel.own);
	gpumon_file_close(kernel.own.file);
	kernel.own.file = NULL;
	kernel_tried = false;
}

/**
 * gpumon_btf_stop - forget all, also what was asked for
 *
 * Context: may sleep, after gpumon_btf_done().
 */
void gpumon_btf_stop(void)
{
	gpumon_btf_release(&kernel);
	gpumon_btf_names_free(&names);
}

/* Bytes that are held between look-ups. */
size_t gpumon_btf_memory(void)
{
	return gpumon_btf_bytes(&kernel.own);
}

/* Next type of a name and kinds: the module's own, or if there is none the kernel's. */
static u32 btf_find_type(struct gpumon_btf *btf, const char *name, bool tracepoint,
			 unsigned long kinds, struct gpumon_btf **in)
{
	u32 id = 0;

	for (*in = btf; *in; *in = (*in)->base) {
		id = gpumon_btf_find(*in, name, tracepoint, kinds, 0);
		if (id)
			break;
	}
	return id;
}

__printf(2, 3) static void field_unknown(struct gpumon_field *field, const char *format, ...)
{
	va_list args;

	WRITE_ONCE(field->offset, -1);
	field->differs = false;
	va_start(args, format);
	vscnprintf(field->reason, sizeof(field->reason), format, args);
	va_end(args);
}

/**
 * gpumon_btf_forget_field - the field's module is not there
 * @field: field
 *
 * Context: no probe that reads it runs.
 */
void gpumon_btf_forget_field(struct gpumon_field *field)
{
	field_unknown(field, "module %s is not loaded", module_name_of(field->module));
}

/* Advice for a reader whose field is unknown because there is no BTF. */
static const char *how_to_get_btf(const char *why_not)
{
	if (strstarts(why_not, NO_BTF "vmlinux"))
		return IS_ENABLED(CONFIG_DEBUG_INFO_BTF) ?
			       ", is sysfs mounted on /sys?" :
			       ", build the kernel with CONFIG_DEBUG_INFO_BTF";
	if (strstarts(why_not, NO_BTF))
		return ", pahole -J --btf_base adds it to the module's file";
	return "";
}

/**
 * gpumon_btf_resolve_field - find out where a field lies
 * @read: what was read of its module
 * @field: field, gets its place, or the reason why that is not known
 *
 * A module may have two types of one name, in different source files. The field is known only if
 * they agree.
 *
 * Context: no probe that reads it runs.
 */
void gpumon_btf_resolve_field(struct gpumon_btf_module *read, struct gpumon_field *field)
{
	struct gpumon_btf *btf = read->btf;
	const char *module = module_name_of(btf == &read->own ? field->module : NULL);
	unsigned long kinds = BIT(BTF_KIND_STRUCT) | BIT(BTF_KIND_UNION);
	struct gpumon_btf_place place = {}, other = {};
	struct gpumon_btf *in;
	int ret, first = 1;
	u32 id;

	if (!btf) {
		field_unknown(field, "%s%s", read->why_not, how_to_get_btf(read->why_not));
		return;
	}
	id = btf_find_type(btf, field->type, false, kinds, &in);
	if (!id) {
		kinds = BIT(BTF_KIND_TYPEDEF);
		id = btf_find_type(btf, field->type, false, kinds, &in);
	}
	if (!id) {
		field_unknown(field, "no type %s in BTF of %s", field->type, module);
		return;
	}
	for (; id; id = gpumon_btf_find(in, field->type, false, kinds, id)) {
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
		field->differs = field->built;
	} else if (first == -EOPNOTSUPP) {
		field_unknown(field, "a bitfield that cannot be read");
	} else if (first == -EINVAL) {
		field_unknown(field, "BTF of %s unreadable: odd type %s", module, field->type);
	} else if (first) {
		read->error = first;
		field_unknown(field, "BTF of %s unreadable, error %d" GPUMON_TRY_AGAIN, module,
			      first);
	} else if (field->size && !place.bit_size && place.size != field->size) {
		field_unknown(field, "size is %u, expected %u", place.size, field->size);
		field->differs = field->built;
	} else if (field->built && place.offset != field->built - 1) {
		field_unknown(field, "is at %u, gpumon was built for %u: build it for this module",
			      place.offset, field->built - 1);
		field->differs = true;
	} else {
		field->differs = false;
		field->reason[0] = '\0';
		field->found_size = place.size;
		field->bit_offset = place.bit_offset;
		field->bit_size = place.bit_size;
		/* Readers that find the offset must find the other members, too. */
		smp_store_release(&field->offset, place.offset);
	}
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

__printf(3, 4) static int not_checked(char *reason, size_t size, const char *format, ...)
{
	size_t length = scnprintf(reason, size, GPUMON_BTF_NOT_CHECKED);
	va_list args;

	va_start(args, format);
	vscnprintf(reason + length, size - length, format, args);
	va_end(args);
	return -ENODATA;
}

/**
 * gpumon_btf_check_prototype - does a function or tracepoint have the expected prototype
 * @read: what was read of the module that is asked, that of the function or the kernel's
 * @wanted: what is expected
 * @reason: why not, for a reader, "" if it does
 * @size: size of @reason in bytes
 *
 * Context: may sleep.
 * Return: 0 if it does, -EBADMSG if it does not, -ENODATA if that is unknown.
 */
int gpumon_btf_check_prototype(struct gpumon_btf_module *read,
			       const struct gpumon_btf_wanted *wanted, char *reason, size_t size)
{
	unsigned long kinds = BIT(wanted->tracepoint ? BTF_KIND_TYPEDEF : BTF_KIND_FUNC);
	struct gpumon_btf_prototype prototype;
	struct gpumon_btf *in;
	bool arguments, returns;
	u32 id;
	int ret;

	if (!read->btf)
		return not_checked(reason, size, ": %s", read->why_not);
	id = btf_find_type(read->btf, wanted->name, wanted->tracepoint, kinds, &in);
	if (!id)
		return not_checked(reason, size, ": not in BTF");
	/*
	 * If there are several functions of the name, any of them may be the probed one: each has
	 * to match.
	 */
	for (; id; id = gpumon_btf_find(in, wanted->name, wanted->tracepoint, kinds, id)) {
		ret = gpumon_btf_function(read->btf, id, wanted->tracepoint, &prototype);
		if (ret == -EINVAL || ret == -EOPNOTSUPP)
			return not_checked(reason, size, ": not understood");
		if (ret) {
			read->error = ret;
			return not_checked(reason, size,
					   ": BTF unreadable, error %d" GPUMON_TRY_AGAIN, ret);
		}
		arguments = !wanted->arguments || is_one_of(wanted->arguments, prototype.arguments);
		returns = !wanted->returns || is_one_of(wanted->returns, prototype.returns);
		if (arguments && returns)
			continue;
		/*
		 * A module's function may be missing in the module's BTF; then a function of the
		 * same name in the kernel's BTF is another one.
		 */
		if (!wanted->tracepoint && wanted->in_module && in != read->btf)
			return not_checked(reason, size, ": not in BTF");
		if (arguments)
			scnprintf(reason, size, "returns %s, expected %s", prototype.returns,
				  wanted->returns);
		else
			scnprintf(reason, size, "prototype is (%s), expected (%s)",
				  prototype.arguments, wanted->arguments);
		return -EBADMSG;
	}
	*reason = '\0';
	return 0;
}
