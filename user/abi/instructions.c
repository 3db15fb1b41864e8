// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * The frame pointer of a blocked thread, of which rsp is known and rbp is not.
 *
 * Call frame information says where a function has set rbp to rsp. That may be amid the function: compilers make a
 * frame only where it is needed, as in glibc's read(). From there on, instructions are decoded in their order: those
 * that move rsp by a known number, and an allow-list of those that leave it alone. If all up to the thread's
 * instruction are decoded, the distance from rsp to rbp is certain.
 *
 * Otherwise there is a jump, a call or an unknown instruction before. Compilers have taken all of the frame by the
 * first jump or call, and by an unknown instruction behind a subtraction. What may move rsp later is searched for in
 * all bytes up to the thread's instruction: for an array of any size, or for arguments of a call. Where something is
 * found, the distance is not known.
 *
 * The frame is used only if its return address is behind a call of this very function. That alone would not
 * do: earlier calls leave such words behind, and an array may have them. The saved rbp is not checked: a caller
 * without a frame pointer keeps anything in it.
 */
#include <string.h>

#include "instructions.h"

#ifdef __x86_64__

/* Length of call *operand, by the byte behind its opcode and the one behind that. */
static unsigned int indirect_length(uint8_t modrm, uint8_t sib)
{
	unsigned int mode = modrm >> 6;
	unsigned int memory = modrm & 7;
	unsigned int length = 2;

	if ((modrm >> 3 & 7) != 2)
		return 0;
	if (mode == 3)
		return length;
	if (memory == 4) {
		length++;
		if (!mode && (sib & 7) == 5)
			length += 4;
	}
	if ((!mode && memory == 5) || mode == 2)
		length += 4;
	else if (mode == 1)
		length++;
	return length;
}

bool gpumon_code_ends_with_call(const uint8_t bytes[GPUMON_CALL_MAX])
{
	uint8_t code[GPUMON_CALL_MAX +
		     1]; /* a byte more than is used: the second one behind an opcode at the end */

	memcpy(code, bytes, GPUMON_CALL_MAX);
	code[GPUMON_CALL_MAX] = 0;
	if (code[2] == 0xe8)
		return true;
	for (unsigned int length = 2; length <= GPUMON_CALL_MAX; length++) {
		const uint8_t *at = code + GPUMON_CALL_MAX - length;

		if (at[0] == 0xff && indirect_length(at[1], at[2]) == length)
			return true;
	}
	return false;
}

/* mov %rsp, %rbp, in both encodings */
static bool is_base_set(const uint8_t *code)
{
	return code[0] == 0x48 &&
	       ((code[1] == 0x89 && code[2] == 0xe5) || (code[1] == 0x8b && code[2] == 0xec));
}

/* Bytes behind it that are decoded, of a function that is not left there, and the longest instruction. */
#define BEGIN_MAX	96
#define INSTRUCTION_MAX 16

/* A larger function than that is not searched for instructions that move rsp. */
#define SEARCH_MAX   (256ull << 10)
#define SEARCH_CHUNK 2048

/* What an instruction does to rsp. */
enum effect {
	UNKNOWN = 0, /* it is none of those that are decoded */
	NONE,
	DOWN, /* it becomes less by a number that is known */
	MOVE, /* it becomes anything else */
	AWAY, /* the next instruction may not be what runs next */
};

/**
 * struct instruction - decoded
 * @effect: so
 * @length: bytes; 0 of a jump, or where it is not known
 * @down: by so many bytes
 */
struct instruction {
	enum effect effect;
	size_t length;
	uint64_t down;
};

/* Length of the operand that follows an operation's code. */
static size_t operand_length(const uint8_t *modrm)
{
	unsigned int mode = modrm[0] >> 6, memory = modrm[0] & 7;
	size_t length = 1;

	if (mode == 3)
		return length;
	if (memory == 4) {
		length++;
		if (!mode && (modrm[1] & 7) == 5)
			length += 4;
	}
	if (mode == 1)
		length++;
	else if (mode == 2 || (!mode && memory == 5))
		length += 4;
	return length;
}

/* What an operation writes to. */
enum target {
	OPERAND,	/* a register or memory, or nothing: it only compares */
	REGISTER,	/* the register that its second byte names */
	OTHER_REGISTERS /* of vectors: never rsp */
};

/* An operation, and the bytes of a number in it. */
struct operation {
	uint8_t code;
	uint8_t number;
	enum target target;
};

static const struct operation operations[] = {
	{ 0x89, 0, OPERAND }, /* mov, to memory or a register; then from there */
	{ 0x8b, 0, REGISTER }, { 0x8d, 0, REGISTER }, /* lea */
	{ 0x63, 0, REGISTER },			      /* movslq */
	{ 0x01, 0, OPERAND },  { 0x03, 0, REGISTER }, /* add */
	{ 0x09, 0, OPERAND },  { 0x0b, 0, REGISTER }, /* or */
	{ 0x21, 0, OPERAND },  { 0x23, 0, REGISTER }, /* and */
	{ 0x29, 0, OPERAND },  { 0x2b, 0, REGISTER }, /* sub */
	{ 0x31, 0, OPERAND },  { 0x33, 0, REGISTER }, /* xor */
	{ 0x38, 0, OPERAND },  { 0x39, 0, OPERAND },  /* cmp */
	{ 0x3a, 0, OPERAND },  { 0x3b, 0, OPERAND },
	{ 0x84, 0, OPERAND },  { 0x85, 0, OPERAND }, /* test */
	{ 0x88, 0, OPERAND },			     /* mov of a byte to memory */
	{ 0xc6, 1, OPERAND },  { 0xc7, 4, OPERAND }, /* mov of a number */
	{ 0x80, 1, OPERAND },  { 0x83, 1, OPERAND },
	{ 0x81, 4, OPERAND }, /* add and the like of one */
};

/* Those of two bytes, behind 0x0f. */
static const struct operation long_operations[] = {
	{ 0x10, 0, OTHER_REGISTERS },
	{ 0x11, 0, OTHER_REGISTERS }, /* movups, movdqu and the like */
	{ 0x28, 0, OTHER_REGISTERS },
	{ 0x29, 0, OTHER_REGISTERS },
	{ 0x6f, 0, OTHER_REGISTERS },
	{ 0x7f, 0, OTHER_REGISTERS },
	{ 0x57, 0, OTHER_REGISTERS },
	{ 0xef, 0, OTHER_REGISTERS }, /* xorps, pxor */
	{ 0x1e, 0, OTHER_REGISTERS },
	{ 0x1f, 0, OTHER_REGISTERS }, /* endbr64, nop */
	{ 0xb6, 0, REGISTER },
	{ 0xb7, 0, REGISTER }, /* movz, movs */
	{ 0xbe, 0, REGISTER },
	{ 0xbf, 0, REGISTER },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Of a table, at the operation's code; @rex: the prefix in front of it. */
static struct instruction look_up(const struct operation *table, size_t count, const uint8_t *code,
				  uint8_t rex)
{
	uint8_t modrm = code[1];

	for (size_t i = 0; i < count; i++) {
		if (table[i].code != code[0])
			continue;
		if (table[i].target == REGISTER && (modrm >> 3 & 7) == 4 && !(rex & 4))
			return (struct instruction){ .effect = MOVE };
		if (table[i].target == OPERAND && modrm >> 6 == 3 && (modrm & 7) == 4 && !(rex & 1))
			return (struct instruction){ .effect = MOVE };
		return (struct instruction){ NONE, 1 + operand_length(code + 1) + table[i].number,
					     0 };
	}
	return (struct instruction){ .effect = UNKNOWN };
}

static struct instruction goes_down(size_t length, int64_t down)
{
	if (down < 0)
		return (struct instruction){ .effect = MOVE };
	return (struct instruction){ DOWN, length, (uint64_t)down };
}

static int32_t number_of(const uint8_t *code)
{
	int32_t number;

	memcpy(&number, code, sizeof(number));
	return number;
}

/* sub, add or lea of a number to rsp, where it is that. */
static bool decode_adjustment(const uint8_t *code, struct instruction *found)
{
	if (code[0] != 0x48)
		return false;
	if (code[1] == 0x83 && code[2] == 0xec)
		*found = goes_down(4, (int8_t)code[3]);
	else if (code[1] == 0x81 && code[2] == 0xec)
		*found = goes_down(7, number_of(code + 3));
	else if (code[1] == 0x83 && code[2] == 0xc4)
		*found = goes_down(4, -(int64_t)(int8_t)code[3]);
	else if (code[1] == 0x81 && code[2] == 0xc4)
		*found = goes_down(7, -(int64_t)number_of(code + 3));
	else if (code[1] == 0x8d && code[2] == 0x64 && code[3] == 0x24)
		*found = goes_down(5, -(int64_t)(int8_t)code[4]);
	else if (code[1] == 0x8d && code[2] == 0xa4 && code[3] == 0x24)
		*found = goes_down(8, -(int64_t)number_of(code + 4));
	else
		return false;
	return true;
}

/* At most INSTRUCTION_MAX bytes are read. */
static struct instruction decode(const uint8_t *code)
{
	struct instruction found;
	bool has_prefix;
	uint8_t rex = 0;
	size_t at;

	if (decode_adjustment(code, &found))
		return found;
	/* What follows is relative to the thread's own memory; or an operation of vectors, or a nop. */
	at = code[0] == 0x64;
	has_prefix = code[at] == 0x66 || code[at] == 0xf2 || code[at] == 0xf3;
	at += has_prefix;
	if ((code[at] & 0xf0) == 0x40)
		rex = code[at++];
	if (code[at] == 0x0f && code[at + 1] == 0x05) /* syscall */
		return (struct instruction){ NONE, at + 2, 0 };
	if (code[at] == 0x0f && (code[at + 1] & 0xf0) == 0x80)
		return (struct instruction){ .effect = AWAY };
	if (code[at] == 0x0f && (code[at + 1] & 0xf0) == 0x90) { /* setcc: of a byte */
		if (code[at + 2] >> 6 == 3 && (code[at + 2] & 7) == 4 && rex)
			return (struct instruction){ .effect = MOVE };
		return (struct instruction){ NONE, at + 2 + operand_length(code + at + 2), 0 };
	}
	if (code[at] == 0x0f) {
		found = look_up(long_operations, COUNT(long_operations), code + at + 1, rex);
		found.length += at + 1;
		return found;
	}
	if (has_prefix)
		return (struct instruction){ .effect = UNKNOWN };
	if ((code[at] & 0xf8) == 0x50)
		return goes_down(at + 1, 8);
	if (code[at] == 0x6a)
		return goes_down(at + 2, 8);
	if (code[at] == 0x68)
		return goes_down(at + 5, 8);
	if (code[at] == 0x90)
		return (struct instruction){ NONE, at + 1, 0 };
	if ((code[at] & 0xf8) == 0xb8) { /* mov of a number to a register */
		if ((code[at] & 7) == 4 && !(rex & 1))
			return (struct instruction){ .effect = MOVE };
		return (struct instruction){ NONE, at + (rex & 8 ? 9 : 5), 0 };
	}
	if ((code[at] & 0xc7) == 0x04 ||
	    code[at] == 0xa8) /* al with a number: cmp, test and the like */
		return (struct instruction){ NONE, at + 2, 0 };
	if ((code[at] & 0xc7) == 0x05 || code[at] == 0xa9) /* eax or rax */
		return (struct instruction){ NONE, at + 5, 0 };
	if (code[at] == 0xe8)
		return (struct instruction){ AWAY, at + 5, 0 };
	if (code[at] == 0xff && (code[at + 1] >> 3 & 7) == 2) /* call *operand */
		return (struct instruction){ AWAY, at + 1 + operand_length(code + at + 1), 0 };
	if ((code[at] & 0xf0) == 0x70 || code[at] == 0xe9 || code[at] == 0xeb || code[at] == 0xc3)
		return (struct instruction){ .effect = AWAY };
	if ((code[at] & 0xf8) == 0x58 || code[at] == 0xc9) /* pop, leave */
		return (struct instruction){ .effect = MOVE };
	found = look_up(operations, COUNT(operations), code + at, rex);
	found.length += at;
	return found;
}

/*
 * Where a large frame is made page by page, each of which is touched: a loop up to r11. Returns its length, 0
 * where there is none.
 */
static size_t probing_loop(const uint8_t *code, uint64_t *down)
{
	static const uint8_t loop[] = {
		0x48, 0x81, 0xec, 0,	0x10, 0, 0, /* sub $4096, %rsp */
		0x48, 0x83, 0x0c, 0x24, 0,	    /* orq $0, (%rsp) */
		0x4c, 0x39, 0xdc,		    /* cmp %r11, %rsp */
		0x75, 0xef			    /* jne, to the first one */
	};
	static const uint8_t end[] = { 0x4c, 0x8d, 0x9c, 0x24 }; /* lea number(%rsp), %r11 */
	int64_t number = number_of(code + sizeof(end));

	if (memcmp(code, end, sizeof(end)) || memcmp(code + 8, loop, sizeof(loop)) || number >= 0 ||
	    number % 4096)
		return 0;
	*down = (uint64_t)-number;
	return 8 + sizeof(loop);
}

#define PROBING_LOOP_MAX 25

/* Do bytes look like an instruction that moves rsp by what only the program knows? Their place in it is not known. */
static bool moves_stack(const uint8_t *code)
{
	uint8_t rex = code[0], modrm = code[2];
	bool to_operand = (modrm & 0xc7) == 0xc4 && !(rex & 1);
	bool to_register = (modrm >> 3 & 7) == 4 && !(rex & 4);

	if ((rex & 0xf8) != 0x48)
		return false;
	switch (code[1]) {
	case 0x01: /* add, and, sub, mov */
	case 0x21:
	case 0x29:
	case 0x89:
		return to_operand;
	case 0x03:
	case 0x23:
	case 0x2b:
	case 0x8b:
		return to_register;
	case 0x81: /* and of a number */
	case 0x83:
		return modrm == 0xe4 && !(rex & 1);
	case 0x8d: /* lea; one from rbp takes back what the begin did */
		return to_register && (modrm & 7) != 5;
	}
	return false;
}

/* False also where something cannot be read, or is too much. */
static bool keeps_stack(const struct gpumon_code_reader *reader, uint64_t from, uint64_t end)
{
	uint8_t code[SEARCH_CHUNK + 2];

	if (end - from > SEARCH_MAX)
		return false;
	while (end - from > 2) {
		size_t size = end - from < sizeof(code) ? end - from : sizeof(code);

		if (!reader->copy(reader->data, from, code, size))
			return false;
		for (size_t i = 0; i + 2 < size; i++)
			if (moves_stack(code + i))
				return false;
		from += size - 2;
	}
	return true;
}

/* Does a call take words from the stack again, so that they were put there for it? @taken: by the begin. */
static bool has_arguments(const struct gpumon_code_reader *reader, uint64_t end, uint64_t taken)
{
	uint8_t code[7];
	int64_t number;

	if (!reader->copy(reader->data, end, code, sizeof(code)) || code[0] != 0x48 ||
	    code[2] != 0xc4)
		return false;
	if (code[1] == 0x83)
		number = (int8_t)code[3];
	else if (code[1] == 0x81)
		number = number_of(code + 3);
	else
		return false;
	/* With pushes only, one of them may have been for alignment. */
	return number > 0 && (uint64_t)number != (taken ? taken : 8);
}

bool gpumon_code_frame_size(const struct gpumon_code_reader *reader, uint64_t set, uint64_t end,
			    uint64_t *size)
{
	uint8_t code[3 + BEGIN_MAX + PROBING_LOOP_MAX] = { 0 };
	size_t at = 0, most, length;
	uint64_t taken = 0;

	_Static_assert(PROBING_LOOP_MAX >= INSTRUCTION_MAX, "what is behind the copy is read");
	*size = 0;
	if (set < sizeof(code) || end < set)
		return false;
	most = end - set < BEGIN_MAX ? end - set : BEGIN_MAX;
	if (!reader->copy(reader->data, set - 3, code, 3 + most) || !is_base_set(code))
		return false;
	for (; at < most; at += length) {
		const uint8_t *next = code + 3 + at;
		struct instruction found = { .effect = DOWN };

		length = probing_loop(next, &found.down);
		if (!length) {
			found = decode(next);
			length = found.length;
		}
		if (length > most - at)
			found.effect = UNKNOWN;
		/* A call is where the thread is. */
		if (found.effect == AWAY && length && at + length == end - set)
			continue;
		if (found.effect == MOVE || (found.effect == UNKNOWN && !taken))
			return false;
		if (found.effect == UNKNOWN || found.effect == AWAY)
			break;
		if (found.down == 8 && next[0] != 0x48)
			*size += 8;
		else
			taken += found.down;
	}
	*size += taken;
	/* All up to the end was decoded: there is nothing else to know. */
	if (at == end - set)
		return true;
	if (at >= most && !taken)
		return false;
	return keeps_stack(reader, set + at, end) && !has_arguments(reader, end, taken);
}

/* Does a word of the table of addresses have this one? */
static bool has_address(const struct gpumon_code_reader *reader, uint64_t slot, uint64_t function)
{
	uint64_t there;

	return reader->copy(reader->data, slot, &there, sizeof(there)) && there == function;
}

/* An entry of the procedure linkage table goes where its word says. */
static bool leads_to(const struct gpumon_code_reader *reader, uint64_t target, uint64_t function)
{
	uint8_t code[12];
	size_t at = 0;
	int32_t offset;

	if (target == function)
		return true;
	if (!reader->copy(reader->data, target, code, sizeof(code)))
		return false;
	if (code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3] == 0xfa)
		at = 4;
	at += code[at] == 0xf2;
	if (code[at] != 0xff || code[at + 1] != 0x25 || at + 6 > sizeof(code))
		return false;
	memcpy(&offset, code + at + 2, sizeof(offset));
	return has_address(reader, target + at + 6 + (uint64_t)(int64_t)offset, function);
}

enum gpumon_code_call gpumon_code_call_to(const struct gpumon_code_reader *reader, uint64_t address,
					  uint64_t function)
{
	uint8_t code[GPUMON_CALL_MAX];
	int32_t offset;

	if (address < 4096 || address >= GPUMON_CODE_USER_END ||
	    !reader->copy(reader->data, address - GPUMON_CALL_MAX, code, sizeof(code)))
		return GPUMON_CODE_NO_CALL;
	memcpy(&offset, code + 3, sizeof(offset));
	if (code[2] == 0xe8 && leads_to(reader, address + (uint64_t)(int64_t)offset, function))
		return GPUMON_CODE_THIS_CALL;
	if (code[1] == 0xff && code[2] == 0x15)
		return has_address(reader, address + (uint64_t)(int64_t)offset, function) ?
			       GPUMON_CODE_THIS_CALL :
			       GPUMON_CODE_NO_CALL;
	if (code[2] == 0xe8 || !gpumon_code_ends_with_call(code))
		return GPUMON_CODE_NO_CALL;
	return GPUMON_CODE_ANY_CALL;
}

#else

bool gpumon_code_ends_with_call(const uint8_t bytes[GPUMON_CALL_MAX])
{
	(void)bytes;
	return true;
}

bool gpumon_code_frame_size(const struct gpumon_code_reader *reader, uint64_t set, uint64_t end,
			    uint64_t *size)
{
	(void)reader;
	(void)set;
	(void)end;
	(void)size;
	return false;
}

enum gpumon_code_call gpumon_code_call_to(const struct gpumon_code_reader *reader, uint64_t address,
					  uint64_t function)
{
	(void)reader;
	(void)address;
	(void)function;
	return GPUMON_CODE_NO_CALL;
}

#endif
