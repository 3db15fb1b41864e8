/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Shared by uprobe.bpf.c and user/record/uprobe*.c. This is not an ABI: both are built together. */
#ifndef GPUMON_BPF_UPROBE_H
#define GPUMON_BPF_UPROBE_H

/* Maximum number of frames. A power of two, since the verifier must see the bound. */
#define UPROBE_DEPTH 256
/* Pages of a thread's stack that are copied if a rule is missing. */
#define UPROBE_COPY_PAGES 4
#define UPROBE_PAGE	  4096
#define UPROBE_COPY_MAX	  ((UPROBE_COPY_PAGES + 1) * UPROBE_PAGE)
/*
 * Maximum number of copies that userspace has not seen yet. Beyond it, stacks are truncated. Copies
 * that decide whether a call is nested have room for as many again.
 */
#define UPROBE_COPIES 128
/* Words of a thread's stack that are searched if its frames are not known. */
#define UPROBE_WORDS 2048
/* Calls of a thread that may not have returned yet. */
#define UPROBE_CALLS 4
/* Maximum number of code ranges of API libraries. */
#define UPROBE_RANGES	 64
#define UPROBE_COMM_SIZE 16
/* Size of the table for a quick look-up of rules, indexed by a hash of the return address. */
#define UPROBE_QUICK_BITS 12

/* A probe's cookie: the number of the function, and these flags in the upper half. */
#define UPROBE_BLOCKING	   (1u << 0) /* its return is probed, too */
#define UPROBE_THUNK	   (1u << 1) /* may jump to a function (number above the shift) */
#define UPROBE_THUNK_SHIFT 8
#define UPROBE_NOWHERE	   (~0u)
/* The cookie of the probe that tells of a device, instead of a change by the dynamic linker. */
#define UPROBE_DEVICE 1
/*
 * Flag of a hit: the copy of its stack shows whether it is nested. The hit has no number of its
 * own.
 */
#define UPROBE_UNDECIDED (1u << 2)

enum uprobe_event_type {
	UPROBE_HIT = 1,
	UPROBE_STACK = 2,
	UPROBE_COPY = 3,
	UPROBE_THREAD = 4,
	UPROBE_LINKER = 5,
	UPROBE_EXEC = 6,
};

/* An outermost call. A stack id of 0 means no stack. */
struct uprobe_hit {
	__u32 type;
	__u32 function;
	__u64 time_ns;
	__u64 number;
	__u64 duration_ns;
	__u32 tid;
	__u32 host_tid;
	__u32 stack;
	__u32 flags; /* of the cookie */
};

/* The walk ended before the stack did. */
#define UPROBE_TRUNCATED (1u << 0)
/* The stack id is used by one hit only, since the stack does not fit the table. */
#define UPROBE_ONCE (1u << 1)

struct uprobe_stack {
	__u32 type;
	__u32 id;
	__u32 count;
	__u32 flags;
	__u64 frames[UPROBE_DEPTH];
};

/**
 * struct uprobe_outer - a call that may contain another one
 * @end: upper end of its function's frame; 0: no call
 * @ra: its return address; 0: unknown, since its return is probed
 * @ip: first instruction of its function
 * @inner: first instruction of the last function called within it
 */
struct uprobe_outer {
	__u64 end;
	__u64 ra;
	__u64 ip;
	__u64 inner;
};

/**
 * struct uprobe_copy - a partial stack, with the data to continue the walk
 * @stack: frames so far
 * @pc: return address in the function to unwind
 * @sp: stack pointer in that function
 * @fp: frame pointer in that function
 * @outer: calls that this one may be nested in
 * @bytes: readable bytes in @memory, which begins at @sp
 */
struct uprobe_copy {
	struct uprobe_stack stack;
	__u64 pc;
	__u64 sp;
	__u64 fp;
	struct uprobe_outer outer[UPROBE_CALLS];
	__u32 bytes;
	__u32 reserved;
	__u8 memory[UPROBE_COPY_MAX];
};

struct uprobe_thread_event {
	__u32 type;
	__u32 tid;
	__u32 host_tid;
	__u32 reserved;
	char comm[UPROBE_COMM_SIZE];
};

/* How to unwind the function of a return address. */
enum uprobe_rule_kind {
	UPROBE_RULE_END = 1,  /* it has no caller */
	UPROBE_RULE_SP = 2,   /* the frame is relative to the stack pointer */
	UPROBE_RULE_FP = 3,   /* the frame is relative to the frame pointer */
	UPROBE_RULE_NONE = 4, /* unknown */
};

#define UPROBE_FP_SAME (-0x7fffffff) /* the function left the frame pointer unchanged */

/**
 * struct uprobe_rule - unwind rule of a return address
 * @pc: return address
 * @kind: enum uprobe_rule_kind
 * @cfa: offset from the register to the frame's upper end
 * @ra: offset from there to the return address
 * @fp: offset from there to the saved frame pointer, or UPROBE_FP_SAME
 * @pc_again: @pc again, to detect that an entry was deleted and reused while it was read
 */
struct uprobe_rule {
	__u64 pc;
	__s32 kind;
	__s32 cfa;
	__s32 ra;
	__s32 fp;
	__u64 pc_again;
};

static inline __u32 uprobe_quick(__u64 pc)
{
	return (__u32)(pc * 0x9e3779b97f4a7c15ull >> (64 - UPROBE_QUICK_BITS));
}

/* Per-CPU counters. seen = nested + sent + lost_*, once nothing is pending. */
enum uprobe_counter {
	UPROBE_SEEN,		/* hits of probes at entries */
	UPROBE_NESTED,		/* within another call of the API */
	UPROBE_FOREIGN,		/* of a process that shares the memory, such as after vfork() */
	UPROBE_SENT,		/* hits put into the ring */
	UPROBE_LOST_RING,	/* hits that did not fit the ring */
	UPROBE_LOST_THREAD,	/* hits of threads that did not fit the table; not numbered */
	UPROBE_LOST_UNDECIDED,	/* calls that may be hits or nested */
	UPROBE_LOST_STACK,	/* hits sent without their stack */
	UPROBE_STACK_NEW,	/* new stacks sent */
	UPROBE_STACK_KNOWN,	/* hits with a stack sent before */
	UPROBE_STACK_NO_ROOM,	/* stacks sent for one hit only, since the table is full */
	UPROBE_STACK_TRUNCATED, /* hits with a truncated stack */
	UPROBE_STACK_COPIED,	/* of these, completed by userspace */
	UPROBE_RETURN_UNSEEN,	/* blocking calls whose return was not seen */
	UPROBE_COUNTERS
};

/* @file: number of the file, the same for all of its ranges */
struct uprobe_range {
	__u64 start;
	__u64 end;
	__u64 file;
};

struct uprobe_ranges {
	__u64 count;
	struct uprobe_range all[UPROBE_RANGES];
};

/**
 * struct uprobe_walk - state of a stack walk
 * @pc: return address in the function to unwind
 * @sp: stack pointer in that function
 * @fp: frame pointer in that function
 * @hash: hash of the frames
 * @count: number of frames
 * @flags: flags of the stack
 * @settled: the known rules are valid
 * @missed: it ended because there is no rule for @pc
 * @cut: it ended because it could not go on
 * @outer: where the outermost frame ends that is looked for; 0: the whole stack is wanted
 * @below: by call of the thread: the return address in its function's frame; 0: not found
 */
struct uprobe_walk {
	__u64 pc;
	__u64 sp;
	__u64 fp;
	__u64 hash;
	__u32 count;
	__u32 flags;
	__u32 settled;
	__u32 missed;
	__u32 cut;
	__u64 outer;
	__u64 below[UPROBE_CALLS];
};

/*
 * Three addresses of a hit, and the numbers of the API files that they belong to, 0 for none. The
 * code of the files of @ip and @inner lies between @first and @last.
 */
struct uprobe_places {
	__u64 ra;
	__u64 ip;
	__u64 inner;
	__u64 ra_file;
	__u64 ip_file;
	__u64 inner_file;
	__u64 first;
	__u64 last;
};

/**
 * struct uprobe_call - a call that may not have returned yet
 * @sp: position of its return address
 * @ra: return address
 * @ip: first instruction of the function; 0: there is no such call
 * @inner: first instruction of the last function called within it, otherwise its own
 * @waiting: its return is probed, and has not happened yet
 * @jumps_to: function to which it may be about to jump
 * @pending: its hit if it blocks and has not returned; time_ns is 0 if there is none
 */
struct uprobe_call {
	__u64 sp;
	__u64 ra;
	__u64 ip;
	__u64 inner;
	__u32 waiting;
	__u32 jumps_to;
	struct uprobe_hit pending;
};

/**
 * struct uprobe_thread - state of a thread, only changed by the thread itself
 * @number: number of its last hit
 * @tid: tid in the target's pid namespace
 * @foreign: it does not belong to the target
 * @announced: its UPROBE_THREAD was sent
 * @calls: its last hit; then calls that may be nested in one before them, from ever lower addresses
 * @hit: the hit under construction
 * @places: addresses of its caller and others
 * @walk: walk of its stack
 * @stack: the stack itself
 *
 * @hit to @stack are not local variables of the program, since some kernels keep these per CPU if a
 * function has 49 bytes or more of them. That is wrong for uprobes, which another thread's uprobe
 * can preempt there. Besides, the verifier tracks variables, but not the contents of maps.
 */
struct uprobe_thread {
	__u64 number;
	__u32 tid;
	__u32 foreign;
	__u32 announced;
	__u32 reserved;
	struct uprobe_call calls[UPROBE_CALLS];
	struct uprobe_hit hit;
	struct uprobe_places places;
	struct uprobe_walk walk;
	struct uprobe_stack stack;
};

#endif /* GPUMON_BPF_UPROBE_H */
