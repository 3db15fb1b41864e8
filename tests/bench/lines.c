// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * lines.so,out=FILE: a QEMU plugin that counts the instructions of the guest's CPUs between two
 * markers (marker.h), and finds the kernel's cache lines that one CPU writes and another one uses.
 * QEMU has no caches, but sharing does not depend on them.
 *
 * For each window it writes to FILE "window N", "cpu C INSTRUCTIONS" for each participating CPU,
 * "ran ADDRESS INSTRUCTIONS" for kernel code, and the output of lines_print(). Markers can be
 * anywhere in userspace. If one runs on several CPUs, each counts separately.
 *
 * The plugin interface is declared here, since Debian does not package the header. It is version 1,
 * of QEMU 4.2 to 8, or version 2 and later, of QEMU 9 and 10, where few things differ.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lines_table.h"
#include "marker.h"

#define CPUS 32

struct qemu_plugin_tb;
struct qemu_plugin_insn;

enum cb_flags {
	NO_REGISTERS
};
enum mem_rw {
	LOADS = 1,
	STORES,
	BOTH
};

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t plugin_id;

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
/* One function: since version 3 it copies. */
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t copy_insn_data(const struct qemu_plugin_insn *insn, void *to,
		      size_t size) __asm__("qemu_plugin_insn_data");
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
bool qemu_plugin_mem_is_store(uint32_t info);
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id,
					   void (*callback)(plugin_id id,
							    struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
					  void (*callback)(unsigned int cpu, void *data),
					  enum cb_flags flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*callback)(unsigned int cpu, void *data),
					    enum cb_flags flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
				      void (*callback)(unsigned int cpu, uint32_t info,
						       uint64_t address, void *data),
				      enum cb_flags flags, enum mem_rw rw, void *data);
void qemu_plugin_reset(plugin_id id, void (*callback)(plugin_id id));
/* Since version 2. */
int qemu_plugin_num_vcpus(void) __attribute__((weak));
/* Not of the plugin interface. QEMU 10 exports it, like current_cpu, a variable of each thread. */
void *qemu_get_cpu(int number) __attribute__((weak));

/* The beginning of it. */
struct plugin_info {
	const char *target;
	struct {
		int least;
		int current;
	} version;
};

EXPORT extern int qemu_plugin_version;
EXPORT int qemu_plugin_install(plugin_id id, const struct plugin_info *info, int argc, char **argv);

int qemu_plugin_version = 1;

static plugin_id self;
static bool copies;
static FILE *out;
static bool armed, open;
static unsigned int windows;
static bool counting[CPUS];
static uint64_t instructions[CPUS];

/* A block of code that always runs to its end, and how often it ran. */
struct block {
	struct block *next;
	uint64_t address;
	uint64_t times;
	unsigned int instructions;
};

/* Never freed, since code that QEMU has translated may refer to it. */
static struct block *blocks;

/*
 * The number of the CPU that runs. If one thread runs all CPUs, QEMU 10 passes callbacks the number
 * of the CPU that translated the code instead.
 */
static unsigned int running(unsigned int passed)
{
	static __thread void *const *current;
	static void *cpus[CPUS];
	unsigned int i;

	if (!qemu_get_cpu)
		return passed % CPUS;
	if (!current)
		current = dlsym(RTLD_DEFAULT, "current_cpu");
	for (i = 0; current && i < CPUS; i++) {
		if (!cpus[i])
			cpus[i] = qemu_get_cpu((int)i);
		if (cpus[i] && cpus[i] == *current)
			return i;
	}
	return passed % CPUS;
}

static void translated(plugin_id id, struct qemu_plugin_tb *tb);

static void rearm(plugin_id id)
{
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
}

static void open_window(void)
{
	struct block *b;

	lines_clear();
	memset(instructions, 0, sizeof(instructions));
	for (b = blocks; b; b = b->next)
		b->times = 0;
	open = true;
}

static void close_window(void)
{
	const struct block *b;
	unsigned int cpu;

	fprintf(out, "window %u\n", windows++);
	for (cpu = 0; cpu < CPUS; cpu++)
		if (instructions[cpu])
			fprintf(out, "cpu %u %" PRIu64 "\n", cpu, instructions[cpu]);
	for (b = blocks; b; b = b->next)
		if (b->times && b->address >> 63)
			fprintf(out, "ran %" PRIx64 " %" PRIu64 "\n", b->address,
				b->times * b->instructions);
	lines_print(out);
	fflush(out);
}

static void marked(unsigned int cpu, void *data)
{
	switch ((uintptr_t)data) {
	case MARKER_ARM:
		if (armed)
			return;
		armed = true;
		/* All code is translated again, this time with counting. */
		qemu_plugin_reset(self, rearm);
		return;
	case MARKER_OPEN:
		open_window();
		return;
	case MARKER_CLOSE:
		open = false;
		memset(counting, 0, sizeof(counting));
		close_window();
		return;
	case MARKER_BEGIN:
		counting[running(cpu)] = open;
		return;
	case MARKER_END:
		counting[running(cpu)] = false;
		return;
	}
}

static void executed(unsigned int cpu, void *data)
{
	struct block *b = data;

	cpu = running(cpu);
	if (!counting[cpu])
		return;
	instructions[cpu] += b->instructions;
	b->times++;
}

static void accessed(unsigned int cpu, uint32_t info, uint64_t address, void *data)
{
	cpu = running(cpu);
	/* Equal addresses in userspace may be different memory. */
	if (counting[cpu] && address >> 63)
		lines_add(cpu, address, (uintptr_t)data, qemu_plugin_mem_is_store(info));
}

static uint32_t marker_of(const struct qemu_plugin_insn *insn)
{
	static const unsigned char nopl[] = { 0x0f, 0x1f, 0x80 };
	unsigned char bytes[sizeof(nopl) + sizeof(uint32_t)];
	uint32_t number;

	if (qemu_plugin_insn_size(insn) != sizeof(bytes))
		return 0;
	if (copies)
		copy_insn_data(insn, bytes, sizeof(bytes));
	else
		memcpy(bytes, qemu_plugin_insn_data(insn), sizeof(bytes));
	if (memcmp(bytes, nopl, sizeof(nopl)))
		return 0;
	memcpy(&number, bytes + sizeof(nopl), sizeof(number));
	return number >= MARKER_ARM && number <= MARKER_END ? number : 0;
}

static struct block *new_block(uint64_t address, unsigned int count)
{
	struct block *b = calloc(1, sizeof(*b));

	if (!b) {
		perror("lines.so");
		exit(1);
	}
	b->address = address;
	b->instructions = count;
	b->next = blocks;
	blocks = b;
	return b;
}

static void translated(__attribute__((unused)) plugin_id id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb), i;
	uint64_t address = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0));
	bool kernel = address >> 63;

	if (armed)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, NO_REGISTERS,
						     new_block(address, n));
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		if (kernel) {
			if (armed)
				qemu_plugin_register_vcpu_mem_cb(
					insn, accessed, NO_REGISTERS, BOTH,
					(void *)(uintptr_t)qemu_plugin_insn_vaddr(insn));
			continue;
		}
		if (marker_of(insn))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, marked, NO_REGISTERS,
							       (void *)(uintptr_t)marker_of(insn));
	}
}

/* QEMU 9 and later refuse version 1. They read the version before they call anything else. */
__attribute__((constructor)) static void choose_version(void)
{
	if (qemu_plugin_num_vcpus)
		qemu_plugin_version = 2;
}

int qemu_plugin_install(plugin_id id, const struct plugin_info *info, int argc, char **argv)
{
	if (argc != 1 || strncmp(argv[0], "out=", 4)) {
		fprintf(stderr, "lines.so: it wants out=FILE\n");
		return -1;
	}
	out = fopen(argv[0] + 4, "we");
	if (!out) {
		perror(argv[0] + 4);
		return -1;
	}
	self = id;
	copies = info->version.current >= 3;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
