// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "common.h"

#include <errno.h>
#include <limits.h>
#include <linux/genetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void *append(struct message *message, size_t len)
{
	unsigned char *place;

	message->data = realloc(message->data, message->len + len);
	assert_non_null(message->data);
	place = message->data + message->len;
	memset(place, 0, len);
	message->len += len;
	((struct nlmsghdr *)message->data)->nlmsg_len = (uint32_t)message->len;
	return place;
}

void message_begin(struct message *message, int command)
{
	struct genlmsghdr *genl;

	memset(message, 0, sizeof(*message));
	append(message, NLMSG_HDRLEN);
	((struct nlmsghdr *)message->data)->nlmsg_type = 0x20;
	genl = append(message, GENL_HDRLEN);
	genl->cmd = (uint8_t)command;
	genl->version = GPUMON_FAMILY_VERSION;
}

void message_attr(struct message *message, int type, const void *data, size_t len)
{
	unsigned char *place = append(message, NLA_HDRLEN + NLA_ALIGN(len));
	struct nlattr header = { .nla_len = (uint16_t)(NLA_HDRLEN + len),
				 .nla_type = (uint16_t)type };

	memcpy(place, &header, sizeof(header));
	if (len)
		memcpy(place + NLA_HDRLEN, data, len);
}

void message_u32(struct message *message, int type, uint32_t value)
{
	message_attr(message, type, &value, sizeof(value));
}

void message_u64(struct message *message, int type, uint64_t value)
{
	message_attr(message, type, &value, sizeof(value));
}

void message_string(struct message *message, int type, const char *text)
{
	message_attr(message, type, text, strlen(text) + 1);
}

size_t message_nest(struct message *message, int type)
{
	size_t at = message->len;

	message_attr(message, type | NLA_F_NESTED, NULL, 0);
	return at;
}

void message_nest_end(struct message *message, size_t nest)
{
	((struct nlattr *)(message->data + nest))->nla_len = (uint16_t)(message->len - nest);
}

const struct nlmsghdr *message_header(const struct message *message)
{
	return (const struct nlmsghdr *)message->data;
}

struct message message_cut(const struct message *message, size_t len)
{
	struct message cut = { .data = malloc(len ? len : 1), .len = len };
	uint32_t length = (uint32_t)len;

	assert_non_null(cut.data);
	memcpy(cut.data, message->data, len);
	if (len >= sizeof(length))
		memcpy(cut.data, &length, sizeof(length));
	return cut;
}

void message_free(struct message *message)
{
	free(message->data);
	memset(message, 0, sizeof(*message));
}

uint64_t test_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

void message_parse_cut(const struct message_kind *kind,
		       size_t (*elements)(const struct gpumon_model *model))
{
	struct message message;

	kind->make(&message);
	for (size_t len = 0; len < message.len; len++) {
		struct gpumon_model model = { 0 };
		struct message cut = message_cut(&message, len);
		int ret = kind->parse(message_header(&cut), cut.len, &model);

		assert_true(ret == 0 || ret == -EBADMSG);
		assert_int_equal(elements(&model), ret ? 0 : 1);
		message_free(&cut);
		gpumon_model_free(&model);
	}
	message_free(&message);
}

size_t message_twists(const struct message *message)
{
	return message->len * 8 + 20000;
}

struct message message_twist(const struct message *message, size_t way, uint64_t *seed)
{
	struct message twisted = message_cut(message, message->len);

	if (way < message->len * 8) {
		twisted.data[way / 8] ^= (unsigned char)(1 << way % 8);
	} else {
		for (int n = 0; n < 4; n++)
			twisted.data[test_random(seed) % message->len] =
				(unsigned char)test_random(seed);
	}
	return twisted;
}

static char *copy(const char *text)
{
	char *string = strdup(text);

	assert_non_null(string);
	return string;
}

static void add_histogram(struct gpumon_model *model, uint64_t ring, const char *name,
			  uint64_t count)
{
	struct gpumon_histogram *histogram = gpumon_model_add_histogram(model);

	assert_non_null(histogram);
	histogram->group = copy("drm_sched");
	histogram->ring_id = gpumon_value_of(ring);
	histogram->name = copy(name);
	histogram->count = gpumon_value_of(count);
	histogram->sum = gpumon_value_of(count * 1100);
	if (!count)
		return;
	histogram->min = gpumon_value_of(1024);
	histogram->max = gpumon_value_of(2000);
	gpumon_histogram_add_bucket(histogram, 1024, 1280, count - 1);
	gpumon_histogram_add_bucket(histogram, 1792, 2048, 1);
}

static void add_probe(struct gpumon_group *group, const char *name, const char *module, int kind,
		      int state, const char *reason, uint64_t seen, uint64_t full)
{
	struct gpumon_probe *probe = gpumon_group_add_probe(group);

	assert_non_null(probe);
	probe->name = copy(name);
	probe->module = copy(module);
	probe->reason = copy(reason);
	probe->kind = gpumon_value_of((uint64_t)kind);
	probe->state = gpumon_value_of((uint64_t)state);
	probe->seen = gpumon_value_of(seen);
	probe->recorded = gpumon_value_of(seen - full);
	probe->dropped.table_full = gpumon_value_of(full);
	probe->dropped.recursion = gpumon_value_of(0);
}

void test_model(struct gpumon_model *model)
{
	static const char *const histograms[] = { "queue_ns", "run_ns" };
	struct gpumon_group *group;
	struct gpumon_process *process;

	memset(model, 0, sizeof(*model));
	model->parts = GPUMON_PART_ALL;
	model->info.version = copy("0.2.0");
	model->info.clock = copy("monotonic");
	model->info.schema = gpumon_value_of(GPUMON_SCHEMA);
	model->info.now_ns = gpumon_value_of(12000000000);
	model->info.since_ns = gpumon_value_of(2000000000);
	model->info.period = gpumon_value_of(3);
	model->info.possible_cpus = gpumon_value_of(4);
	model->info.max_rings = gpumon_value_of(64);
	model->info.rings = gpumon_value_of(3);
	model->info.rings_retired = gpumon_value_of(1);
	model->info.max_processes = gpumon_value_of(1024);
	model->info.processes = gpumon_value_of(2);
	model->info.processes_exited = gpumon_value_of(5);
	model->info.jobs_exited = gpumon_value_of(50);
	model->info.max_jobs = gpumon_value_of(8192);
	model->info.memory_bytes = gpumon_value_of(3 << 20);

	group = gpumon_model_add_group(model);
	assert_non_null(group);
	group->name = copy("drm_sched");
	group->reason = copy("");
	group->enabled = gpumon_value_of(1);
	group->state = gpumon_value_of(GPUMON_ATTACH_STATE_ATTACHED);
	add_probe(group, "drm_run_job", "gpu_sched", GPUMON_PROBE_KIND_TRACEPOINT,
		  GPUMON_ATTACH_STATE_ATTACHED, "", 1000, 7);
	add_probe(group, "drm_sched_job_run", "gpu_sched", GPUMON_PROBE_KIND_TRACEPOINT,
		  GPUMON_ATTACH_STATE_MISSING, "not in this kernel", 0, 0);
	add_probe(group, "drm_sched_fini", "gpu_sched", GPUMON_PROBE_KIND_KPROBE,
		  GPUMON_ATTACH_STATE_FAILED, "error -22", 0, 0);

	group = gpumon_model_add_group(model);
	assert_non_null(group);
	group->name = copy("other");
	group->reason = copy("switched off");
	group->enabled = gpumon_value_of(0);
	group->state = gpumon_value_of(GPUMON_ATTACH_STATE_OFF);

	for (uint64_t i = 0; i < 3; i++) {
		struct gpumon_ring *ring = gpumon_model_add_ring(model);

		assert_non_null(ring);
		ring->id = gpumon_value_of(i);
		ring->device = copy(i < 2 ? "0000:03:00.0" : "0000:0a:00.0");
		ring->name = copy(i == 1 ? "sdma0" : "gfx_0.0.0");
		ring->live = gpumon_value_of(1);
		ring->queued = gpumon_value_of(1000 * (i + 1));
		ring->run = gpumon_value_of(990 * (i + 1));
		ring->done = gpumon_value_of(980 * (i + 1));
		ring->errors = gpumon_value_of(i);
		ring->killed = gpumon_value_of(i);
		ring->dependency_waits = gpumon_value_of(77);
		ring->untracked = gpumon_value_of(0);
		ring->clock_backwards = gpumon_value_of(0);
		ring->abandoned = gpumon_value_of(0);
		ring->busy_ns = gpumon_value_of(3700000000 * i);
		/* The last one existed before the module was loaded, so its depths are unknown. */
		if (i < 2) {
			ring->queue_depth = gpumon_value_of(10);
			ring->queue_depth_max = gpumon_value_of(20);
			ring->hw_depth = gpumon_value_of(3);
			ring->hw_depth_max = gpumon_value_of(4);
		}
		for (size_t k = 0; k < 2; k++)
			add_histogram(model, i, histograms[k], i ? 100 * i : 0);
	}

	process = gpumon_model_add_process(model);
	assert_non_null(process);
	process->pid = gpumon_value_of(4242);
	process->start_ns = gpumon_value_of(99);
	process->comm = copy("glxgears");
	process->alive = gpumon_value_of(1);
	process->jobs = gpumon_value_of(5900);

	process = gpumon_model_add_process(model);
	assert_non_null(process);
	process->pid = gpumon_value_of(4243);
	process->start_ns = gpumon_value_of(100);
	/* Cut in the middle of a character, after an escape sequence. */
	process->comm = copy("\033[31m\xc3");
	process->alive = gpumon_value_of(0);
	process->jobs = gpumon_value_of(100);

	model->event_ring.enabled = gpumon_value_of(0);
	model->event_ring.size_kib = gpumon_value_of(64);
	model->event_ring.written = gpumon_value_of(500);
	model->event_ring.overwritten = gpumon_value_of(21);
	model->event_ring.delivered = gpumon_value_of(479);
	model->event_ring.pending = gpumon_value_of(0);
	model->event_ring.dropped = gpumon_value_of(0);
}

static struct gpumon_column *add_column(struct gpumon_row *row, const char *name, int kind)
{
	struct gpumon_column *column = gpumon_row_add_column(row);

	assert_non_null(column);
	column->name = copy(name);
	column->kind = gpumon_value_of((uint64_t)kind);
	return column;
}

static void add_row(struct gpumon_statistics *statistics, uint64_t number, const char *device,
		    const char *crtc, uint64_t count, struct gpumon_level level)
{
	struct gpumon_row *row = gpumon_statistics_add_row(statistics, gpumon_value_of(number));
	struct gpumon_label *label;
	struct gpumon_column *column;

	assert_non_null(row);
	label = gpumon_row_add_label(row);
	assert_non_null(label);
	label->name = copy("device");
	label->value = copy(device);
	label = gpumon_row_add_label(row);
	assert_non_null(label);
	label->name = copy("crtc");
	label->value = copy(crtc);
	label->number = true;

	add_column(row, "vblanks", GPUMON_COLUMN_KIND_COUNTER)->value = gpumon_value_of(count);
	add_column(row, "moved_bytes", GPUMON_COLUMN_KIND_COUNTER)->value =
		gpumon_value_of(count << 10);
	column = add_column(row, "pending", GPUMON_COLUMN_KIND_GAUGE);
	column->level = level;
	if (level.known)
		column->highest = gpumon_value_of(9);
	column = add_column(row, "interval_ns", GPUMON_COLUMN_KIND_HISTOGRAM);
	column->histogram.count = gpumon_value_of(count);
	column->histogram.sum = gpumon_value_of(count * 16000000);
	if (count) {
		column->histogram.min = gpumon_value_of(16000000);
		column->histogram.max = gpumon_value_of(17000000);
		gpumon_histogram_add_bucket(&column->histogram, 16000000, 17000001, count);
	}
	/* Needs a field that was not found. */
	add_column(row, "late", GPUMON_COLUMN_KIND_COUNTER);
}

static void add_layout(struct gpumon_model *model, const char *member, const char *reason)
{
	struct gpumon_layout *layout = gpumon_model_add_layout(model);

	assert_non_null(layout);
	layout->group = copy("drm_vblank");
	layout->module = copy("drm");
	layout->type = copy("drm_file");
	layout->member = copy(member);
	layout->reason = copy(reason);
	if (*reason)
		return;
	layout->offset = gpumon_value_of(16);
	layout->size = gpumon_value_of(8);
}

void test_tables(struct gpumon_model *model)
{
	struct gpumon_statistics *statistics;
	struct gpumon_group *group;
	struct gpumon_alert *alert;

	group = gpumon_model_add_group(model);
	assert_non_null(group);
	group->name = copy("drm_vblank");
	group->reason = copy("");
	group->enabled = gpumon_value_of(1);
	group->state = gpumon_value_of(GPUMON_ATTACH_STATE_ATTACHED);

	statistics = gpumon_model_add_statistics(model);
	assert_non_null(statistics);
	statistics->group = copy("drm_vblank");
	statistics->table = copy("crtcs");
	add_row(statistics, 5, "0000:03:00.0", "10", 600, gpumon_level_of(-2));
	add_row(statistics, 2, "-", "9", 0, (struct gpumon_level){ 0 });

	add_layout(model, "pid", "");
	add_layout(model, "minor", "no BTF of module drm");

	alert = gpumon_model_add_alert(model);
	assert_non_null(alert);
	alert->time_ns = gpumon_value_of(11000000000);
	alert->group = copy("drm_vblank");
	alert->kind = copy("xid");
	alert->device = copy("0000:65:00.0");
	alert->code = gpumon_value_of(79);
	alert->message = copy("GPU has fallen off the bus.\033[2J");
	alert->count = gpumon_value_of(3);
	alert->lost = gpumon_value_of(0);

	for (size_t i = 0; i < model->n_processes; i++) {
		struct gpumon_process *process = &model->processes[i];

		process->ioctls = gpumon_value_of(40 * i + 2);
		process->allocated_bytes = gpumon_value_of(3 << 20);
		process->open_handles = gpumon_value_of(i);
		if (!i)
			process->vram_bytes = gpumon_value_of(5 << 20);
		process->cgroup_id = gpumon_value_of(77 + i);
	}
}

static void add_text_label(struct gpumon_row *row, const char *name, const char *value)
{
	struct gpumon_label *label = gpumon_row_add_label(row);

	label->name = copy(name);
	label->value = copy(value);
}

static void add_number_label(struct gpumon_row *row, const char *name, uint64_t number)
{
	struct gpumon_label *label = gpumon_row_add_label(row);
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	label->name = copy(name);
	label->value = copy(text);
	label->number = true;
}

void test_dmem(struct gpumon_model *model, const char *container, const char *cgroup,
	       const char *region, struct gpumon_value bytes)
{
	struct gpumon_dmem *dmem = gpumon_model_add_dmem(model);

	dmem->container = container ? copy(container) : NULL;
	dmem->cgroup = copy(cgroup);
	dmem->region = copy(region);
	dmem->device = copy("0000:03:00.0");
	dmem->bytes = bytes;
	dmem->capacity_bytes = gpumon_value_of(16ULL << 30);
}

void test_usage_row(struct gpumon_model *model, uint64_t number, struct test_usage usage)
{
	struct gpumon_statistics *table = gpumon_model_statistics(model, "drm_sched", "usage");
	struct gpumon_row *row;

	if (!table) {
		table = gpumon_model_add_statistics(model);
		table->group = copy("drm_sched");
		table->table = copy("usage");
	}
	row = gpumon_statistics_add_row(table, gpumon_value_of(number));
	add_text_label(row, "device", usage.device);
	add_text_label(row, "ring", usage.ring);
	add_number_label(row, "process", usage.process);
	add_number_label(row, "client", usage.client);
	add_number_label(row, "cgroup", usage.cgroup);
	add_column(row, "jobs", GPUMON_COLUMN_KIND_COUNTER)->value = gpumon_value_of(usage.jobs);
	add_column(row, "gpu_ns", GPUMON_COLUMN_KIND_COUNTER)->value =
		gpumon_value_of(usage.gpu_ns);
	add_column(row, "queue_ns", GPUMON_COLUMN_KIND_COUNTER)->value =
		gpumon_value_of(usage.queue_ns);
	add_column(row, "errors", GPUMON_COLUMN_KIND_COUNTER)->value =
		gpumon_value_of(usage.errors);
}

struct captured capture(const char *root, ...)
{
	char *argv[32] = { "gpumon-user" };
	struct captured captured;
	struct gpumon_context context = { .root = root };
	size_t out_len, err_len;
	int argc = 1;
	va_list args;

	va_start(args, root);
	while (argc < 31 && (argv[argc] = va_arg(args, char *)))
		argc++;
	va_end(args);
	argv[argc] = NULL;

	context.out = open_memstream(&captured.out, &out_len);
	context.err = open_memstream(&captured.err, &err_len);
	assert_non_null(context.out);
	assert_non_null(context.err);
	captured.status = gpumon_run(&context, argc, argv);
	fclose(context.out);
	fclose(context.err);
	return captured;
}

void captured_free(struct captured *captured)
{
	free(captured->out);
	free(captured->err);
}

void test_line(const char *text, const char *begin, const char *want)
{
	char line[512];

	for (const char *at = text; at && *at;
	     at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
		size_t out = 0, len = strcspn(at, "\n");

		for (size_t i = 0; i < len && out < sizeof(line) - 1; i++) {
			if (at[i] != ' ' || (out && line[out - 1] != ' '))
				line[out++] = at[i];
		}
		while (out && line[out - 1] == ' ')
			out--;
		line[out] = '\0';
		if (strncmp(line, begin, strlen(begin)))
			continue;
		assert_string_equal(line, want);
		return;
	}
	fail_msg("no line begins with \"%s\" in:\n%s", begin, text);
}

void test_file(const char *root, const char *name, const char *text)
{
	char path[2 * PATH_MAX];
	FILE *stream;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	stream = fopen(path, "w");
	assert_non_null(stream);
	fputs(text, stream);
	fclose(stream);
}
