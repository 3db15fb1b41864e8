/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What uprobe.bpf.c and user/uprobe/ say to each other. Nothing here is an ABI:
 * both are built together.
 */
#ifndef GPUMON_BPF_UPROBE_H
#define GPUMON_BPF_UPROBE_H

/* Frames of a stack at most: a power of two, since the verifier has to see the bound. */
#define UPROBE_DEPTH 256
/* Of a thread's stack, copied where the walk does not know how to go on. */
#define UPROBE_COPY_PAGES 4
#define UPROBE_PAGE	  4096
#define UPROBE_COPY_MAX	  ((UPROBE_COPY_PAGES + 1) * UPROBE_PAGE)
/* Copies that userspace has not seen yet at most; beyond it stacks end early, marked. */
#define UPROBE_COPIES 128
/* Where libraries of the API have their code. */
#define UPROBE_RANGES	 64
#define UPROBE_COMM_SIZE 16
/* Rules that are found at once, by a few bits of a return address's hash. */
#define UPROBE_QUICK_BITS 12

/* A probe's cookie: number of the function, and what it is in the upper half. */
#define UPROBE_BLOCKING	   (1u << 0) /* its return is probed, too */
#define UPROBE_THUNK	   (1u << 1) /* may jump to another one, whose number is above the shift */
#define UPROBE_THUNK_SHIFT 8
#define UPROBE_NOWHERE	   (~0u)

enum uprobe_event_type {
	UPROBE_HIT = 1,
	UPROBE_STACK = 2,
	UPROBE_COPY = 3,
	UPROBE_THREAD = 4,
	UPROBE_LINKER = 5,
	UPROBE_EXEC = 6,
};

/* An outermost call; id of a stack 0: it has none. */
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
/* Its id is that of one hit, since the table has no room for the stack. */
#define UPROBE_ONCE (1u << 1)

struct uprobe_stack {
	__u32 type;
	__u32 id;
	__u32 count;
	__u32 flags;
	__u64 frames[UPROBE_DEPTH];
};

/**
 * struct uprobe_copy - a stack that is known up to its last frame, and how to go on from there
 * @stack: as above
 * @sp: stack pointer in the last frame
 * @fp: frame pointer there
 * @bytes: of @memory that could be read, which begins at @sp
 */
struct uprobe_copy {
	struct uprobe_stack stack;
	__u64 sp;
	__u64 fp;
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

/* How to leave the function that a return address is in. */
enum uprobe_rule_kind {
	UPROBE_RULE_END = 1,  /* nobody called it */
	UPROBE_RULE_SP = 2,   /* the frame is found from the stack pointer */
	UPROBE_RULE_FP = 3,   /* from the frame pointer */
	UPROBE_RULE_NONE = 4, /* it is not known how */
};

#define UPROBE_FP_SAME (-0x7fffffff) /* the function left the frame pointer as it was */

/**
 * struct uprobe_rule - of one return address
 * @pc: it
 * @kind: enum uprobe_rule_kind
 * @cfa: from that register to the frame's upper end
 * @ra: from there to the return address
 * @fp: from there to the saved frame pointer, or UPROBE_FP_SAME
 * @pc_again: @pc once more: an entry of a table that is deleted can be another one's before
 *            who has found it has read it, and both would not be right then
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

/* Of the per-CPU counters. seen = nested + sent + lost_*, once nothing is pending */
enum uprobe_counter {
	UPROBE_SEEN,		/* breakpoints at entries */
	UPROBE_NESTED,		/* within another call of the API */
	UPROBE_FOREIGN,		/* of a process that shares the memory, as after vfork() */
	UPROBE_SENT,		/* hits that are in the ring */
	UPROBE_LOST_RING,	/* hits for which it had no room */
	UPROBE_LOST_THREAD,	/* hits of threads for which there was no room, not numbered */
	UPROBE_LOST_STACK,	/* hits that were sent without their stack */
	UPROBE_STACK_NEW,	/* stacks that were sent */
	UPROBE_STACK_KNOWN,	/* hits with a stack that was sent before */
	UPROBE_STACK_NO_ROOM,	/* stacks sent for one hit alone: not in the table */
	UPROBE_STACK_TRUNCATED, /* hits whose stack is not whole */
	UPROBE_STACK_COPIED,	/* of these, walked further by userspace */
	UPROBE_RETURN_UNSEEN,	/* blocking calls whose return did not come by */
	UPROBE_COUNTERS
};

/* @file: which one, the same of all of its ranges */
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
 * struct uprobe_walk - where a walk is
 * @pc: return address in the function that is to be left
 * @sp: stack pointer there
 * @fp: frame pointer there
 * @hash: of the frames
 * @count: of the frames
 * @flags: as of a stack
 * @settled: what is known of addresses holds
 * @missed: it ended because no rule is known for @pc
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
};

/* Three addresses, and the files of the API that they are in; 0: in none. */
struct uprobe_places {
	__u64 ra;
	__u64 ip;
	__u64 inner;
	__u64 ra_file;
	__u64 ip_file;
	__u64 inner_file;
};

/**
 * struct uprobe_thread - what is known of a thread; only itself changes it
 * @number: of its last hit
 * @sp: of its last hit: where the return address is
 * @ra: return address of that
 * @ip: first instruction of that function
 * @inner: first instruction of the last one that was called within it, else of itself
 * @jumps_to: function that the one of that may be on its way to
 * @tid: in the target's pid namespace
 * @foreign: it is none of the target's
 * @announced: its UPROBE_THREAD was sent
 * @waiting: the call of its last hit has a probe at its return, which has not come
 * @pending: a blocking call that has not returned; time_ns 0 if there is none
 * @hit: the one that is made
 * @places: of its caller and others
 * @walk: of its stack
 * @stack: the stack itself
 *
 * @hit to @stack would be variables of the program, were it not that some kernels
 * keep a program's variables for each processor, once a function has 64 bytes of them: wrong for uprobes,
 * which can be preempted there by another thread's. And the verifier follows variables, but not what is in a map.
 */
struct uprobe_thread {
	__u64 number;
	__u64 sp;
	__u64 ra;
	__u64 inner;
	__u64 ip;
	__u32 jumps_to;
	__u32 tid;
	__u32 foreign;
	__u32 announced;
	__u32 waiting;
	__u32 reserved;
	struct uprobe_hit pending;
	struct uprobe_hit hit;
	struct uprobe_places places;
	struct uprobe_walk walk;
	struct uprobe_stack stack;
};

#endif /* GPUMON_BPF_UPROBE_H */
