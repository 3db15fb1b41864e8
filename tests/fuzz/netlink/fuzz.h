/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Shared by the parts of the fuzzer for the kernel module's interfaces. */
#ifndef GPUMON_FUZZ_H
#define GPUMON_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* --- the YNL spec as table.py writes it */

enum spec_type {
	TYPE_NONE,
	TYPE_U32,
	TYPE_U64,
	TYPE_S64,
	TYPE_STRING,
	TYPE_FLAG,
	TYPE_NEST,
	TYPE_PAD
};

struct spec_attr {
	const char *name;
	enum spec_type type;
	bool multi;
	int nest;
	unsigned int entries;
	uint32_t min;
	uint32_t max;
	unsigned int max_len;
};

struct spec_set {
	const char *name;
	const struct spec_attr *attrs;
	unsigned int count;
};

enum {
	KIND_DO,
	KIND_DUMP,
	KINDS
};

struct spec_op {
	const char *name;
	int set;
	bool event;
	struct {
		bool there;
		/* Attributes by number, as bits. */
		uint64_t request;
		uint64_t reply;
	} kinds[KINDS];
};

extern const struct spec_set spec_sets[];
extern const struct spec_op spec_ops[];
extern const unsigned int spec_op_count;

/* --- a case: what is done, in order; see case.c for its text */

#define SOCKETS	    4
#define FILES	    4
#define MAX_ACTIONS 40
#define MAX_BYTES   4096

/* Messages of this type go to the family, whose number differs from load to load. */
#define TYPE_FAMILY 0xfff0
/* A period from this value on is relative to the current one, which is + 4. */
#define RELATIVE_PERIOD 0x7ffe0000u

enum action_kind {
	ACTION_SOCKET, /* a: bits of enum socket_flag */
	ACTION_CLOSE,
	ACTION_SEND,	/* a: bits of enum send_flag; bytes: a datagram */
	ACTION_RECEIVE, /* a: size of the buffer, b: number of datagrams */
	ACTION_JOIN,
	ACTION_LEAVE,
	ACTION_OPEN,  /* a: which file, b: flags */
	ACTION_READ,  /* a: bytes */
	ACTION_PREAD, /* a: bytes, c: offset */
	ACTION_SEEK,  /* a: whence, c: offset */
	ACTION_READV, /* a, b: bytes of the parts */
	ACTION_WRITE, /* a: offset + 1 or 0 for none; bytes */
	ACTION_POLL,
	ACTION_MAP,    /* a: length, b: protection */
	ACTION_IOCTL,  /* a: request, c: argument */
	ACTION_SHUT,   /* of a file */
	ACTION_PIECES, /* a: which file, b: seed; odd pieces must give the same text */
	ACTION_KINDS
};

enum socket_flag {
	SOCKET_STRICT = 1,
	SOCKET_NO_CAP_ACK = 2,
	SOCKET_NO_EXT_ACK = 4,
	SOCKET_NOBODY = 8,
	SOCKET_SMALL = 16,
	SOCKET_FLAGS = 31
};

enum send_flag {
	SEND_AS_NOBODY = 1,
	/*
	 * To an address, not as by write(). Then the kernel checks the sender and not the opener of
	 * the socket, since a program that gives an address is responsible for the message.
	 */
	SEND_TO_ADDRESS = 2,
};

struct action {
	enum action_kind kind;
	unsigned int slot;
	uint32_t a;
	uint32_t b;
	uint64_t c;
	unsigned int length;
	unsigned char *bytes;
};

struct test_case {
	unsigned int count;
	struct action actions[MAX_ACTIONS];
};

void case_clear(struct test_case *test);
void case_copy(struct test_case *to, const struct test_case *from);
struct action *case_add(struct test_case *test, unsigned int at, const struct action *action);
void case_remove(struct test_case *test, unsigned int at);
void case_print(const struct test_case *test, FILE *file);
int case_read(struct test_case *test, FILE *file, const char *name, unsigned int *line);

/* --- chance; the same from the same seed */

extern uint64_t random_state;
uint32_t random_u32(void);
uint32_t random_below(uint32_t limit);
bool random_chance(unsigned int one_in);

/* --- making cases */

void generate_case(struct test_case *test);
void mutate_case(struct test_case *test, const struct test_case *other);
unsigned int mutate_message(unsigned char *bytes, unsigned int length);

/* --- attributes */

#define ALIGN4(n) (((n) + 3) & ~3u)

unsigned int put_attr(unsigned char *at, unsigned int type, const void *payload,
		      unsigned int length);
unsigned int get_u16(const unsigned char *at);
uint32_t get_u32(const unsigned char *at);
uint64_t get_u64(const unsigned char *at);
void set_u16(unsigned char *at, unsigned int value);
void set_u32(unsigned char *at, uint32_t value);

/* --- the expected result of a request */

#define MAX_GROUPS 16
#define MAX_ERRORS 8

/* The state of the module. */
struct model {
	/* Nobody else changes anything. */
	bool exact;
	uint32_t period;
	uint32_t ring_enabled;
	uint32_t ring_kib;
	unsigned int groups;
	char group[MAX_GROUPS][32];
	uint32_t group_enabled[MAX_GROUPS];
	/* Something was done with an unknown result. */
	bool unknown;
};

extern struct model model;

struct verdict {
	/* Not handled: not a request, or a message of the netlink layer itself. */
	bool ignored;
	bool may_pass;
	int errors[MAX_ERRORS];
	unsigned int error_count;
	/* Must a rejection give a reason? */
	bool says_why;
	const struct spec_op *op;
	int kind;
	bool has_period;
	uint32_t period;
};

void model_judge(const unsigned char *message, bool nobody, struct verdict *verdict);
bool model_period_kept(uint32_t period);

/* --- what an answer has to be; the first thing that is wrong, or NULL */

const char *decode_reply(const struct spec_op *op, int kind, const unsigned char *data,
			 unsigned int length);
bool decode_u32(int set, const char *name, const unsigned char *data, unsigned int length,
		uint32_t *value);
const char *decode_string(int set, const char *name, const unsigned char *data,
			  unsigned int length);

/* --- doing it */

extern unsigned int family_id, alerts_group;
extern unsigned long long executed_actions, executed_requests, answers_checked, answers_lost;
extern unsigned long long refusals, acceptances;
extern bool verbose;

__attribute__((noreturn, format(printf, 1, 2))) void found(const char *format, ...);
void execute_case(const struct test_case *test);
void sockets_begin(void);
void sockets_do(const struct action *action);
void sockets_end(void);
void sockets_state(void);
void sockets_compare_state(void);
void become_nobody(bool nobody);
void files_do(const struct action *action);
void files_end(void);

/* --- coverage */

bool coverage_begin(void);
void coverage_on(void);
void coverage_off(void);
unsigned int coverage_new(void);
void coverage_report(FILE *file);

#endif /* GPUMON_FUZZ_H */
