// SPDX-License-Identifier: GPL-2.0-only
/*
 * fire_gpu/command: each written line is a command, and each read line is the result of one that
 * was carried out through this open file. A write fails with the error of the first failed command,
 * and the last line says why.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "fire_gpu.h"

#define FIRE_MAX_TEXT	(1UL << 20)
#define FIRE_MAX_WORDS	24

/**
 * struct fire_file - an open command file
 * @lock: protects the other members
 * @user: address of the written text in user memory
 * @result: text for read()
 * @used: bytes of @result
 * @read: bytes that were read
 */
struct fire_file {
	struct mutex lock;
	const char __user *user;
	char *result;
	size_t used;
	size_t read;
};

/* Creating, changing and freeing objects is exclusive. Any number of tasks may fire at once. */
static DECLARE_RWSEM(fire_objects_sem);

static __printf(2, 3) void fire_say(struct fire_file *file, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	file->used += vscnprintf(file->result + file->used, FIRE_MAX_TEXT - file->used, format,
				 args);
	va_end(args);
}

static int fire_number(const char *word, u64 *value)
{
	if (word[0] == '-')
		return kstrtos64(word, 0, (s64 *)value);
	return kstrtou64(word, 0, value);
}

/* object NAME SIZE [READABLE] */
static int fire_do_object(struct fire_file *file, int words, char **word)
{
	u64 size, readable;

	if (words < 3 || words > 4 || fire_number(word[2], &size))
		return -EINVAL;
	readable = size;
	if (words == 4 && fire_number(word[3], &readable))
		return -EINVAL;
	return fire_object_add(word[1], size, readable);
}

/* free NAME, free * */
static int fire_do_free(struct fire_file *file, int words, char **word)
{
	return words == 2 ? fire_object_free(word[1]) : -EINVAL;
}

/* set NAME OFFSET SIZE VALUE */
static int fire_do_set(struct fire_file *file, int words, char **word)
{
	unsigned long value;
	u64 offset, size;
	int ret;

	if (words != 5 || fire_number(word[2], &offset) || fire_number(word[3], &size))
		return -EINVAL;
	ret = fire_object_value(word[4], file->user, &value);
	return ret ?: fire_object_set(word[1], offset, size, value);
}

/* bits NAME BIT BITS VALUE */
static int fire_do_bits(struct fire_file *file, int words, char **word)
{
	u64 bit, bits, value;

	if (words != 5 || fire_number(word[2], &bit) || fire_number(word[3], &bits) ||
	    fire_number(word[4], &value) || bits > 64)
		return -EINVAL;
	return fire_object_bits(word[1], bit, bits, value);
}

/* string NAME OFFSET TEXT */
static int fire_do_string(struct fire_file *file, int words, char **word)
{
	u64 offset;

	if (words != 4 || fire_number(word[2], &offset))
		return -EINVAL;
	return fire_object_string(word[1], offset, word[3]);
}

/* wait NS */
static int fire_do_wait(struct fire_file *file, int words, char **word)
{
	u64 ns, end;

	if (words != 2 || fire_number(word[1], &ns) || ns > NSEC_PER_SEC)
		return -EINVAL;
	end = ktime_get_ns() + ns;
	if (ns > 100 * NSEC_PER_USEC)
		usleep_range((u32)ns / NSEC_PER_USEC, (u32)ns / NSEC_PER_USEC + 50);
	while (ktime_get_ns() < end)
		cpu_relax();
	return 0;
}

/* reset */
static int fire_do_reset(struct fire_file *file, int words, char **word)
{
	if (words != 1)
		return -EINVAL;
	fire_account_reset();
	return 0;
}

/* Parse an OPTION=VALUE of fire; 1 if the word is not an option. */
static int fire_option(struct fire_run *run, char *word)
{
	char *value = strchr(word, '=');
	u64 number = 0;

	if (!value)
		return 1;
	*value++ = '\0';
	if (!strcmp(word, "cpu") && !strcmp(value, "all")) {
		run->where = FIRE_ON_ALL_CPUS;
		return 0;
	}
	if (fire_number(value, &number) || number > UINT_MAX)
		return -EINVAL;
	if (!strcmp(word, "cpu")) {
		run->where = FIRE_ON_CPU;
		run->cpu = number;
	} else if (!strcmp(word, "irq") && number <= 1) {
		run->irq = number;
	} else if (!strcmp(word, "ms") && number && number <= 600000) {
		run->ms = number;
	} else {
		return -EINVAL;
	}
	return 0;
}

/* fire [cpu=N|all] [irq=1] [ms=N] MODULE TRACEPOINT COUNT ARG[~STEP]... */
static int fire_do_fire(struct fire_file *file, int words, char **word)
{
	struct fire_run *run;
	int ret = 0, i = 1, arg;
	u64 step;

	run = kzalloc(sizeof(*run), GFP_KERNEL);
	if (!run)
		return -ENOMEM;
	while (i < words) {
		ret = fire_option(run, word[i]);
		if (ret)
			break;
		i++;
	}
	if (ret < 0)
		goto out;
	ret = -EINVAL;
	if (words - i < 3 || words - i - 3 > FIRE_MAX_ARGS)
		goto out;
	if (fire_number(word[i + 2], &run->count) || !run->count)
		goto out;
	for (arg = 0; i + 3 + arg < words; arg++) {
		char *text = word[i + 3 + arg];
		char *tilde = strchr(text, '~');

		if (tilde) {
			*tilde++ = '\0';
			if (fire_number(tilde, &step))
				goto out;
			run->args[arg].step = step;
		}
		ret = fire_object_value(text, file->user, &run->args[arg].value);
		if (ret)
			goto out;
	}

	ret = fire_tracepoint_get(&run->target, word[i], word[i + 1]);
	if (ret)
		goto out;
	ret = fire_run(run);
	fire_say(file, "fired %lld %lld %lld\n", atomic64_read(&run->fires),
		 atomic64_read(&run->first_ns), atomic64_read(&run->last_ns));
	fire_tracepoint_put(&run->target);
out:
	kfree(run);
	return ret;
}

static const struct fire_verb {
	const char *name;
	int (*act)(struct fire_file *file, int words, char **word);
	/* The last word is the rest of the line. */
	int most;
	/* The command does not touch the objects. */
	bool shared;
	/* The command prints more than "ok". */
	bool says;
} fire_verbs[] = {
	{ "object", fire_do_object, FIRE_MAX_WORDS },
	{ "free", fire_do_free, FIRE_MAX_WORDS },
	{ "set", fire_do_set, FIRE_MAX_WORDS },
	{ "bits", fire_do_bits, FIRE_MAX_WORDS },
	{ "string", fire_do_string, 4 },
	{ "wait", fire_do_wait, FIRE_MAX_WORDS, .shared = true },
	{ "reset", fire_do_reset, FIRE_MAX_WORDS, .shared = true },
	{ "fire", fire_do_fire, FIRE_MAX_WORDS, .shared = true, .says = true },
};

static int fire_act(struct fire_file *file, const struct fire_verb *verb, int words, char **word)
{
	int ret;

	if (verb->shared)
		ret = down_read_killable(&fire_objects_sem);
	else
		ret = down_write_killable(&fire_objects_sem);
	if (ret)
		return ret;
	ret = verb->act(file, words, word);
	if (verb->shared)
		up_read(&fire_objects_sem);
	else
		up_write(&fire_objects_sem);
	return ret;
}

static int fire_line(struct fire_file *file, char *line)
{
	const struct fire_verb *verb = NULL;
	char *word[FIRE_MAX_WORDS];
	int words = 0, i;

	line = skip_spaces(line);
	if (!*line || *line == '#')
		return 0;
	while (line && *line) {
		if (words == FIRE_MAX_WORDS)
			return -E2BIG;
		word[words++] = line;
		if (verb && words == verb->most)
			break;
		line = strpbrk(line, " \t");
		if (line) {
			*line++ = '\0';
			line = skip_spaces(line);
		}
		for (i = 0; words == 1 && i < ARRAY_SIZE(fire_verbs); i++)
			if (!strcmp(fire_verbs[i].name, word[0]))
				verb = &fire_verbs[i];
		if (!verb)
			return -EINVAL;
	}
	i = fire_act(file, verb, words, word);
	if (!i && !verb->says)
		fire_say(file, "ok\n");
	return i;
}

static const char *fire_reason(int error)
{
	switch (error) {
	case -ENODEV:
		return "no such module or processor";
	case -ENOENT:
		return "no such tracepoint or object";
	case -ERANGE:
		return "not within the object's readable part";
	case -EEXIST:
		return "there is such an object";
	case -EOPNOTSUPP:
		return "a tracepoint that may sleep";
	case -EINTR:
		return "interrupted";
	case -ENOMEM:
		return "no memory";
	default:
		return "not understood";
	}
}

static ssize_t fire_command_write(struct file *filp, const char __user *user, size_t size,
				  loff_t *pos)
{
	struct fire_file *file = filp->private_data;
	unsigned int number = 0;
	char *text, *rest, *line, *copy;
	int ret = 0;

	if (size >= FIRE_MAX_TEXT)
		return -E2BIG;
	text = kvzalloc(size + 1, GFP_KERNEL);
	if (!text)
		return -ENOMEM;
	if (copy_from_user(text, user, size)) {
		kvfree(text);
		return -EFAULT;
	}

	mutex_lock(&file->lock);
	file->user = user;
	file->used = 0;
	file->read = 0;
	rest = text;
	while (!ret && (line = strsep(&rest, "\n"))) {
		number++;
		/* A copy for the error message, since parsing cuts up the line. */
		copy = kasprintf(GFP_KERNEL, "%.60s", line);
		ret = fire_line(file, line);
		if (ret)
			fire_say(file, "error %d line %u: %s: %s\n", ret, number, fire_reason(ret),
				 copy ?: "?");
		kfree(copy);
	}
	mutex_unlock(&file->lock);
	kvfree(text);
	return ret ?: size;
}

static ssize_t fire_command_read(struct file *filp, char __user *user, size_t size, loff_t *pos)
{
	struct fire_file *file = filp->private_data;
	ssize_t ret;

	mutex_lock(&file->lock);
	size = min(size, file->used - file->read);
	if (copy_to_user(user, file->result + file->read, size)) {
		ret = -EFAULT;
	} else {
		file->read += size;
		ret = size;
	}
	mutex_unlock(&file->lock);
	return ret;
}

static int fire_command_open(struct inode *inode, struct file *filp)
{
	struct fire_file *file;

	file = kzalloc(sizeof(*file), GFP_KERNEL);
	if (!file)
		return -ENOMEM;
	file->result = kvzalloc(FIRE_MAX_TEXT, GFP_KERNEL);
	if (!file->result) {
		kfree(file);
		return -ENOMEM;
	}
	mutex_init(&file->lock);
	filp->private_data = file;
	return stream_open(inode, filp);
}

static int fire_command_release(struct inode *inode, struct file *filp)
{
	struct fire_file *file = filp->private_data;

	kvfree(file->result);
	kfree(file);
	return 0;
}

static const struct file_operations fire_command_fops = {
	.owner = THIS_MODULE,
	.open = fire_command_open,
	.read = fire_command_read,
	.write = fire_command_write,
	.release = fire_command_release,
};

static int objects_show(struct seq_file *m, void *unused)
{
	down_read(&fire_objects_sem);
	fire_object_show(m);
	up_read(&fire_objects_sem);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(objects);

/**
 * fire_command_init() - create the files for commands
 * @dir: debugfs folder
 *
 * Return: 0 or a negative error.
 */
int fire_command_init(struct dentry *dir)
{
	struct dentry *file;

	file = debugfs_create_file("command", 0600, dir, NULL, &fire_command_fops);
	if (!IS_ERR(file))
		file = debugfs_create_file("objects", 0400, dir, NULL, &objects_fops);
	return PTR_ERR_OR_ZERO(file);
}
